"""`status`: every NPC with a memory, and the store, on one screen.

Reads the game's database and starts no NPC's heartbeat, so it may run beside the server. What only
the store knows is left out then, as the server holds that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from .. import conf
from ..admin import erase, inspect
from ..llm import router
from ..npc import CATEGORY, OFF_TAG
from ..script import KEY
from ..store import attributes, condition, generations, memory_store, metadata, owner, pause
from ..store.condition import StoreError
from ..store.journal import Journal
from .console import server_runs

HEAD = ("NPC", "dbref", "state", "entries", "memories", "links", "people", "last night")


def status(command: BaseCommand, _options: dict[str, Any]) -> None:
    """Print a line for each NPC, then the state of the store."""
    edge = conf.get().VECTOR_STORE.provider == "qdrant_edge"
    counts, problem = (None, "") if edge and server_runs() else _counts()
    rows = [_row(npc, counts) for npc in inspect.npcs()]
    if rows:
        command.stdout.write("\n".join(_table([HEAD, *rows])))
    else:
        command.stdout.write("No object of this game has a memory. See Installation in the README.")
    command.stdout.write("")
    for name, value in _store_lines(counts, problem):
        command.stdout.write(f"{name + ':':<12}{value}")


def _counts() -> tuple[dict[str, int] | None, str]:
    if not metadata.read(conf.directory()):
        return {}, ""
    try:
        return memory_store.shared().agents(), ""
    except StoreError as error:
        return None, str(error)


def _row(npc: Any, counts: dict[str, int] | None) -> tuple[str, ...]:
    agent_id, [script] = owner.id_of(npc), npc.scripts.get(KEY)[:1] or [None]
    copied = owner.has_foreign_id(npc)  # a copy: its memory will be emptied at its first use
    nights = (attributes.read(script, "night_records") or []) if script else []
    journal, links, people = (
        {} if copied else attributes.read(npc, key) or {}
        for key in ("journal", "memory_links", "entity_profiles")
    )
    entries = _entries(npc, journal) if isinstance(journal, dict) else "?"
    return (
        npc.key,
        npc.dbref,
        _state(npc, script),
        entries,
        "?" if counts is None else str(counts.get(agent_id, 0)),
        str(links.get("links", 0)),
        str(len(people)),
        nights[-1]["ended"][:16].replace("T", " ") if nights else "none yet",
    )


def _entries(npc: Any, stored: dict[str, Any]) -> str:
    if not stored:
        return "0"
    if stored.get("removed") is None:
        return str(sum(1 for _ in Journal(npc).read()))
    return str(stored["entry_count"] - stored["removed"])


def _state(npc: Any, script: Any) -> str:
    if attributes.read_json(npc, erase.IMPORT_MARK):
        return "half imported"
    if erase.unfinished(npc):
        return "half erased"
    if not conf.get().ENABLED or OFF_TAG in npc.tags.get(category=CATEGORY, return_list=True):
        return "off"
    if pause.paused(npc):
        return "paused"
    if script is None:
        return "new"
    asleep = script.db.operating_mode == "sleep"
    return (script.db.sleep_phase or "compacting") if asleep else "awake"


def _store_lines(counts: dict[str, int] | None, problem: str) -> list[tuple[str, str]]:
    folder, settings = conf.directory(), conf.get()
    written = metadata.read(folder)
    lines = [
        ("store", f"{settings.VECTOR_STORE.provider}, {folder}, {_megabytes(folder)}"),
        ("language", router.status()),
    ]
    if written:
        model = f"{written['embedding_model']}, {written['dimensions']} dimensions"
        lines.insert(1, ("vectors", model))
        lines.insert(2, ("store id", written["store_id"]))
        lines.insert(3, ("generation", str(written.get("generation", 0))))
    if not settings.ENABLED:
        lines.append(("switch", 'CONTRIB_AI_MEMORY["ENABLED"] is False: no NPC learns'))
    if counts is None and not problem:
        problem = "the server is running and holds the store; use @memory in the game for the rest"
    problems = [problem, generations.settle(written), condition.lack_of_room(folder)]
    if lost := written.get("lost"):
        problems.append(metadata.loss_message(lost))
    return lines + [("problem", each) for each in dict.fromkeys(problems) if each]


def _megabytes(folder: Path) -> str:
    """Disk usage of a folder; sparse files take less than their length."""
    sizes = (each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())
    return f"{sum(sizes) / 1e6:.1f} MB on disk"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
