"""`status`: every NPC that has a memory, and the store, on one screen.

Reads the game database as it is, and starts no NPC's heartbeat, so that it may be asked while the
server runs: then without what only the store knows, since the server holds that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from .. import conf
from ..admin import erasure_plan, inspect
from ..admin.archive import MARK
from ..llm import router
from ..npc import CATEGORY, OFF_TAG
from ..script import KEY
from ..store import attributes, bulk, condition, facts, generations, opening, owner, pause
from ..store.errors import StoreError
from ..store.journal import Journal
from .console import server_runs

HEAD = ("NPC", "dbref", "state", "entries", "memories", "links", "people", "last night")


def status(command: BaseCommand, _options: dict[str, Any]) -> None:
    """One line for each NPC, and some on the store."""
    edge = conf.get().VECTOR_STORE.provider == "qdrant_edge"
    counts, problem = (None, "") if edge and server_runs() else _counts()
    rows = [_row(npc, counts) for npc in inspect.minds()]
    if rows:
        command.stdout.write("\n".join(_table([HEAD, *rows])))
    else:
        command.stdout.write("No object of this game has a memory: see the README, Installation.")
    command.stdout.write("")
    for name, value in _about_store(counts, problem):
        command.stdout.write(f"{name + ':':<12}{value}")


def _counts() -> tuple[dict[str, int] | None, str]:
    if not opening.written_by(conf.directory()):
        return {}, ""
    try:
        return bulk.minds(facts.shared()), ""
    except StoreError as error:
        return None, str(error)


def _row(npc: Any, counts: dict[str, int] | None) -> tuple[str, ...]:
    agent_id, [script] = owner.id_of(npc), npc.scripts.get(KEY)[:1] or [None]
    copied = owner.has_foreign_id(npc)  # it begins with an empty memory when it is used
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
    if attributes.read_json(npc, MARK):
        return "half imported"
    if erasure_plan.unfinished(npc):
        return "half erased"
    if not conf.get().ENABLED or OFF_TAG in npc.tags.get(category=CATEGORY, return_list=True):
        return "off"
    if pause.paused(npc):
        return "paused"
    if script is None:
        return "new"
    asleep = script.db.operating_mode == "sleep"
    return (script.db.sleep_phase or "compacting") if asleep else "awake"


def _about_store(counts: dict[str, int] | None, problem: str) -> list[tuple[str, str]]:
    folder, settings = conf.directory(), conf.get()
    written = opening.written_by(folder)
    told = [
        ("store", f"{settings.VECTOR_STORE.provider}, {folder}, {_megabytes(folder)}"),
        ("language", router.status()),
    ]
    if written:
        model = f"{written['embedding_model']}, {written['dimensions']} dimensions"
        told.insert(1, ("vectors", model))
        told.insert(2, ("store id", written["store_id"]))
        told.insert(3, ("generation", str(written.get("generation", 0))))
    if not settings.ENABLED:
        told.append(("switch", 'CONTRIB_AI_MEMORY["ENABLED"] is off: no NPC learns'))
    if counts is None and not problem:
        problem = "the server is running and holds the store; @memory tells the rest in the game"
    problems = [problem, generations.settle(written), condition.lack_of_room(folder)]
    if lost := written.get("lost"):
        problems.append(opening.told_of_loss(lost))
    return told + [("problem", each) for each in dict.fromkeys(problems) if each]


def _megabytes(folder: Path) -> str:
    """What the folder takes of the disk; files with holes take less than their length."""
    sizes = (each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())
    return f"{sum(sizes) / 1e6:.1f} MB on disk"


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
