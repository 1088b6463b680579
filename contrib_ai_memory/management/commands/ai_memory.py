"""`evennia ai_memory`: operate the memories of NPCs from the shell. Each action is a function."""

from __future__ import annotations

import json
import os
import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evennia
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.typeclasses.tags import Tag
from evennia.utils.search import search_object
from pydantic import ValidationError
from tqdm import tqdm

from contrib_ai_memory import conf, offload, preflight, start
from contrib_ai_memory.admin import archive, backup, doctor, erase, ids, inspect, move, reindex
from contrib_ai_memory.errors import ExpectedError
from contrib_ai_memory.ingest import pipeline
from contrib_ai_memory.ingest.replay import BadLine, LogPerson, Replay, read_log
from contrib_ai_memory.llm import local_server, router
from contrib_ai_memory.log import FILE as LOG
from contrib_ai_memory.memory_process import channel, client
from contrib_ai_memory.npc import CATEGORY, MemoryMixin, is_npc
from contrib_ai_memory.script import KEY
from contrib_ai_memory.store import (
    attributes,
    condition,
    game_database,
    generations,
    memory_store,
    metadata,
    npc_settings,
    owner,
)
from contrib_ai_memory.store.condition import StoreError
from contrib_ai_memory.store.journal import Journal
from contrib_ai_memory.store.qdrant_edge import size_on_disk
from contrib_ai_memory.text import plural
from contrib_ai_memory.text.redaction import shown

from ...admin import audit, game_npcs
from ...admin.operations import TABLE

PROCESS_ENDS_SECONDS = 30.0  # the memory process of a killed server may take


Say = Callable[[str], Any]  # prints a line


@dataclass(frozen=True, slots=True)
class Action:
    """What an action runs, and under which conditions."""

    run: Callable[..., None]  # called with what prints a line, and its arguments by name
    arguments: tuple[tuple[str, dict[str, Any]], ...]  # what `add_argument` takes, for each of them
    interrupted: str  # shown after Ctrl-C
    writes: bool  # whether it writes memories, so that store and database must match
    beside_server: bool  # whether it may run while the game does


ACTIONS: dict[str, Action] = {}


def _argument(name: str, about: str, **options: Any) -> tuple[str, dict[str, Any]]:
    return name, options | {"help": about}


def _action(
    *arguments: tuple[str, dict[str, Any]],
    interrupted: str = "Nothing was changed.",
    writes: bool = False,
    beside_server: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make the decorated function the action of its name; its docstring is the help."""

    def register(run: Callable[..., None]) -> Callable[..., None]:
        action = Action(run, arguments, interrupted, writes, beside_server)
        ACTIONS[run.__name__.removeprefix("_")] = action
        return run

    return register


_NPC = _argument("npc_key", "name or #dbref of the NPC", metavar="npc")
_FOR_NPC = _argument("--npc", "name or #dbref of the NPC", required=True)
_YES = _argument("--yes", "do not ask for confirmation", action="store_true")


def _file(about: str) -> tuple[str, dict[str, Any]]:
    return _argument("file", about, type=Path)


# --- status ---------------------------------------------------------------------------------------

HEAD = ("NPC", "dbref", "state", "entries", "memories", "links", "people", "last night")


@_action(beside_server=True)
def _status(say: Say) -> None:
    """Show all NPCs with a memory, and the store.

    It starts no NPC's heartbeat and may run beside the server. If the server itself holds the
    store, what only the store knows is left out; its memory process is asked for it.
    """
    own = conf.get().VECTOR_STORE.is_own
    held = own and server_runs() and not (conf.get().MEMORY_PROCESS and client.lives())
    counts, problem = (None, "") if held else _counts_by_npc()
    rows = [_row(npc, counts) for npc in game_npcs.npcs()]
    if rows:
        say("\n".join(_table([HEAD, *rows])))
    else:
        say("No object of this game has a memory. See Installation in the README.")
    say("")
    for name, value in _store_lines(counts, problem):
        say(f"{name + ':':<12}{value}")


def _counts_by_npc() -> tuple[dict[str, int] | None, str]:
    if not metadata.read(conf.directory()):
        return {}, ""
    try:
        return offload.wait(offload.run(offload.MEMORY, memory_store.agents)), ""
    except StoreError as error:
        return None, str(error)


def _row(npc: Any, counts: dict[str, int] | None) -> tuple[str, ...]:
    agent_id, [script] = owner.id_of(npc), npc.scripts.get(KEY)[:1] or [None]
    copied = owner.has_foreign_id(npc)  # a copy: its memory will be emptied at its first use
    nights = (attributes.read(script, "night_records") or []) if script else []
    links, people = (
        {} if copied else attributes.read(npc, key) or {}
        for key in ("memory_links", "entity_profiles")
    )
    return (
        npc.key,
        npc.dbref,
        _state(npc),
        "0" if copied else _entries(Journal(npc)),
        "?" if counts is None else str(counts.get(agent_id, 0)),
        str(links.get("links", 0)),
        str(len(people)),
        nights[-1]["ended"][:16].replace("T", " ") if nights else "none yet",
    )


def _entries(journal: Journal) -> str:
    return str(sum(1 for _ in journal.read()) if journal.removed is None else journal.count)


def _state(npc: Any) -> str:
    if attributes.read_json(npc, erase.IMPORT_MARK):
        return "half imported"
    if erase.unfinished(npc) or erase.half_wiped(npc):
        return "half erased"
    return inspect.state_of(npc)


def _store_lines(counts: dict[str, int] | None, problem: str) -> list[tuple[str, str]]:
    folder, settings = conf.directory(), conf.get()
    written = metadata.read(folder)
    size = f"{size_on_disk(folder) / 1e6:.1f} MB on disk"
    lines = [("store", f"{settings.VECTOR_STORE.provider}, {folder}, {size}")]
    if written:
        lines += [
            ("vectors", f"{written['embedding_model']}, {written['dimensions']} dimensions"),
            ("store id", written["store_id"]),
            ("generation", str(written.get("generation", 0))),
        ]
    lines.append(("language", router.status()))
    if not settings.ENABLED:
        lines.append(("switch", 'CONTRIB_AI_MEMORY["ENABLED"] is False: no NPC learns'))
    if counts is None and not problem:
        problem = "the server is running and holds the store; use @memory in the game for the rest"
    problems = [problem, generations.pair(written), condition.lack_of_room(folder)]
    if lost := written.get("lost"):
        problems.append(metadata.loss_message(lost))
    return lines + [("problem", each) for each in dict.fromkeys(problems) if each]


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


# --- files of one NPC -----------------------------------------------------------------------------

BAD_LINES_SHOWN = 20


@_action(
    _NPC,
    _file("Markdown or plain text, UTF-8"),
    interrupted="What was learned so far is kept. To continue, run the same command again.",
    writes=True,
)
def _teach(say: Say, npc: Any, file: Path) -> None:
    """Teach an NPC a text file."""
    text = _text_of(file)
    _open_store(say)
    with progress_bars() as bars:
        learned = offload.wait(
            pipeline.ingest(
                npc.memory, text, progress=lambda done, total: bars(npc.key, done, total)
            )
        )
    npc.memory.flush()
    say(f"{npc.key} was taught {learned.told()}.")


def _text_of(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{file} is not UTF-8 text ({error.reason} at byte {error.start}). Only Markdown and "
            "plain text can be taught: convert it first."
        ) from None
    if "\0" in text:
        raise CommandError(f"{file} is not text: it contains binary data.")
    if not text.strip():
        raise CommandError(f"{file} is empty: there is nothing to learn.")
    return text


# --- archives -------------------------------------------------------------------------------------


@_action(_NPC, _file("file to write; replaced if it exists"), interrupted="No file was written.")
def _export(say: Say, npc: Any, file: Path) -> None:
    """Write an NPC's memory to a file."""
    _check_writable(file)
    _open_store(say)
    with progress_bars() as bars:
        done = offload.wait(TABLE["export"].run(npc, None, path=file, progress=bars))
    say(TABLE["export"].done(npc, done))


@_action(
    _file("a file written by export"),
    _FOR_NPC,
    _argument("--replace", "replace its present memory", action="store_true"),
    interrupted="If the import had begun to write, the NPC is half imported and paused: run the "
    "same command again, which starts over.",
    writes=True,
)
def _import(say: Say, file: Path, npc: Any, replace: bool) -> None:
    """Load an exported memory into an NPC."""
    _open_store(say)
    with progress_bars() as bars:
        work = TABLE["import"].run(npc, None, path=file, replace=replace, progress=bars)
        done = offload.wait(work)
    say(TABLE["import"].done(npc, done))


# --- logs -----------------------------------------------------------------------------------------


@_action(
    _file("JSON lines (id, time, speaker, …), or JSON"),
    _FOR_NPC,
    _argument("--sleep", "run a night after each session", action="store_true"),
    interrupted="The lines read so far are kept. To continue, run the same command again.",
    writes=True,
)
def _replay(say: Say, file: Path, npc: Any, sleep: bool) -> None:
    """Let an NPC hear a log of past talk."""
    total = sum(not isinstance(line, LogPerson) for line in read_log(file))
    _open_store(say)
    new = known = bad = 0
    with (
        Replay(npc, _identities_by_name(npc), _names_of_npcs()) as replay,
        tqdm(total=total, unit=" lines", desc=npc.key, mininterval=0.5) as bar,
    ):
        if npc.assistant.asleep:
            _sleep_through(npc, bar)  # an interrupted night comes first
        session = None
        for line in read_log(file):
            if isinstance(line, LogPerson):
                replay.introduce(line)
                continue
            bar.update()
            if isinstance(line, BadLine):
                bad += 1
                if bad <= BAD_LINES_SHOWN:
                    bar.write(f"line {line.number} skipped: {line.problem}")
                elif bad == BAD_LINES_SHOWN + 1:
                    bar.write("More lines are skipped; they are counted at the end.")
                continue
            if sleep and session not in (None, line.session):
                end_session(replay, bar)
            session = line.session
            known += replay.knows(line)
            new += replay.feed(line)
        end_session(replay, bar, night=sleep)
    counts = offload.wait(npc.memory.counts())
    say(
        f"{total} lines: {new} new, {known} already known, {bad} skipped, "
        f"{total - new - known - bad} not heard by {npc.key}. {npc.key} has "
        f"{len(npc.memory.journal)} journal entries, {counts['experience']} experiences, "
        f"{counts['fact']} facts, {npc.memory.links.count} links."
    )


def end_session(replay: Replay, bar: tqdm, *, night: bool = True) -> None:
    """Process the rest of a session, then sleep unless a night has covered it already."""
    memory = replay.memory
    while not offload.wait(memory.work_through(until_silent=True)):
        bar.refresh()
    memory.flush()
    if night and memory.journal.cursors.get("linked", 0) < len(memory.journal):
        _sleep_through(replay.npc, bar)


def _sleep_through(npc: Any, bar: tqdm) -> None:
    """Run a whole night tick by tick, with its progress beside the bar."""
    script = npc.assistant
    script.sleep.begin()
    while script.asleep:
        script.sleep.make_due()
        offload.wait(script.at_tick())
        bar.set_postfix_str(f"asleep, {script.db.sleep_phase or 'rested'}")
    bar.set_postfix_str("")


def _identities_by_name(npc: Any) -> dict[str, str]:
    """Memory identities of the game's player characters by name; ambiguous names are left out."""
    names: dict[str, list[Any]] = {}
    for character in evennia.DefaultCharacter.objects.all_family():
        if not isinstance(character, MemoryMixin):
            names.setdefault(character.key, []).append(character)
    return {name: npc.get_memory_identity(who[0]) for name, who in names.items() if len(who) == 1}


def _names_of_npcs() -> frozenset[str]:
    """Names of the game's NPCs with a memory, whose words in a log are no evidence."""
    characters = evennia.DefaultCharacter.objects.all_family()
    return frozenset(character.key for character in characters if is_npc(character))


# --- erasing a person -----------------------------------------------------------------------------


@_action(
    _argument("person", "name, #dbref or memory identity"),
    _argument("--npc", "erase from this NPC only"),
    _YES,
    interrupted="The erasure may be incomplete. To complete it, run the same command again with "
    "the identity printed above instead of the name.",
    writes=True,
)
def _erase(say: Say, person: str, npc: Any, yes: bool) -> None:
    """Erase a person from the memories of NPCs."""
    npcs = [npc] if npc else game_npcs.npcs()
    identity, name = _person(person, npcs)
    whose = f"of {npc.key}" if npc else f"of all {len(npcs)} NPCs"
    _confirm(yes, f"Erase {name} ({identity}) from the memory {whose}? This cannot be undone.")
    say(f"{name} is {identity}.")
    _open_store(say)
    for each in npcs:
        audit.record(None, "erase a person", each, identity)
    names = () if name == identity else (name,)
    with tqdm(total=len(npcs), unit=" NPCs", desc="erasing") as bar:
        only = [npc] if npc else None
        work = erase.erase_everywhere(identity, names, lambda _npc: bar.update(), only)
        done = offload.wait(work)
    keys = {each.dbref: each.key for each in npcs}
    for dbref, erased in done.items():
        say(f"{keys[dbref]} ({dbref}): {erased.summary()}")
    if not done:
        say(f"No NPC remembered anything of {name}.")
    for line in _out_of_reach():
        say(line)


def _person(person: str, npcs: list[Any]) -> tuple[str, str]:
    """Return memory identity and name of who is meant by a #dbref, key, identity or known name."""
    objects = [obj for obj in search_object(person, exact=True) if hasattr(obj, "locks")]
    found: dict[str, str] = {}
    for npc in npcs:
        found |= {npc.get_memory_identity(obj): obj.key for obj in objects if obj != npc}
        for known in npc.memory.people:
            if known.name.lower() == person.lower() and not person.startswith("#"):
                found.setdefault(known.identity, known.name)
        if ids.knows(npc, person):
            found.setdefault(person, ids.name_of(npc, person))
        for plan in erase.unfinished(npc):
            if person in (plan["identity"], *plan["names"]):
                found.setdefault(plan["identity"], person)
    if len(found) == 1:
        return found.popitem()
    if found:
        which = "\n".join(f"  {identity}  ({name})" for identity, name in sorted(found.items()))
        raise CommandError(f"Several people match {person!r}. Give the identity:\n{which}")
    if "@" in person or person.startswith("log:"):
        return person, person  # of a character that was deleted
    raise CommandError(
        f"Nobody is called {person!r}, and no NPC knows anybody of that name. To erase somebody "
        "whose character was deleted, give the identity that an export shows, such as #12@68f0c1a2."
    )


def _out_of_reach() -> Iterable[str]:
    """Where copies of erased text may remain, as sentences."""
    exports = sorted((conf.directory() / archive.FOLDER).glob("*.jsonl"))
    if exports:
        files = ", ".join(path.name for path in exports)
        yield f"Exports are not changed: {exports[0].parent}: {files}"
    if game_database.is_vacuum_due():
        yield (
            "The game's database could not be vacuumed, because it is in use or there is no room "
            "on the disk; see ai_memory.log. The next start of the game does it."
        )
    if not game_database.is_sqlite():
        yield "The game's database is not SQLite: vacuum it to free what was deleted."
    store = conf.get().VECTOR_STORE
    if not store.is_own:
        yield f"The store is {store.provider}, which frees deleted data in its own time."
    yield "Backups are not changed."


# --- the whole store ------------------------------------------------------------------------------


@_action(
    _file("a .tar.gz to write; replaced if it exists"),
    interrupted="No file was written.",
    beside_server=True,
)
def _backup(say: Say, file: Path) -> None:
    """Back up database and store of one moment; the game may run."""
    _check_writable(file)
    with progress_bars() as bars:
        if not (running := server_runs()):
            client.end(PROCESS_ENDS_SECONDS)
        made = backup.create(file, running=running, progress=bars)
    say(
        f"{file}: {file.stat().st_size / 1e6:.1f} MB, generation {made['generation'] or 0}. It "
        "contains in plain text whatever NPCs were told: keep it safe."
    )
    if not made["database"]:
        say(
            f"The game's database ({backup.database_kind()}) is NOT in it. Dump it with its own "
            "tools: stop the game, make this backup, dump the database, start the game, so that "
            "both are of one moment. Both carry a generation. They are compared at each start, and "
            "a mismatch is reported in the log and by @memory, status and doctor."
        )
    store = conf.get().VECTOR_STORE
    if not store.is_own:
        how = (
            f"Make a snapshot of the collection {store.collection} (POST /collections/"
            f"{store.collection}/snapshots, on each node of a cluster)"
            if store.provider == "qdrant"
            else f"Dump the table {store.collection} (pg_dump)"
        )
        say(
            f"The memories are on a server ({store.provider}) and are NOT in it. {how} while the "
            "game is stopped."
        )


@_action(
    _file("a file written by backup"),
    _YES,
    interrupted="Run the same command again before you start the game: the previous data is kept "
    "until everything is in place.",
)
def _restore(say: Say, file: Path, yes: bool) -> None:
    """Replace database and store by those of a backup."""
    manifest = backup.read_manifest(file)
    made = f"{manifest['made'][:16].replace('T', ' ')} UTC"
    _confirm(
        yes,
        f"Replace the store and the game's database by the backup of {made}? Everything newer "
        "is lost.",
    )
    memory_store.close_shared(for_good=False)
    with progress_bars() as bars:
        backup.restore(file, bars)
    restored = (
        "Game database and store are as they were"
        if manifest["database"]
        else "The store is as it was"
    )
    say(f"{restored} on {made}. To check them: evennia ai_memory doctor")
    if not manifest["database"]:
        say(
            "The game's database is not in this backup: restore its dump of the same time, "
            f"generation {manifest['generation'] or 0}."
        )


@_action(
    _argument("npc_key", "this NPC only", metavar="npc", nargs="?"),
    _argument("--mend", "repair what was found", action="store_true"),
    interrupted="What was mended so far is kept. To continue, run the same command again.",
)
def _doctor(say: Say, npc: Any, mend: bool) -> None:
    """Find inconsistencies, or repair them."""
    with tqdm(desc="checking", unit="", leave=False) as bar:

        def progress(task: str) -> None:
            bar.set_description(task)
            bar.update()

        found = offload.wait(doctor.check([npc] if npc else None, mend=mend, progress=progress))
    for each in found:
        # a whole sentence contains the number already
        what = each.what if each.what[:1].isupper() else f"{each.count} {each.what}"
        say(f"{'mended' if each.mended else 'found'}: {each.where}: {what}")
    for note in preflight.without_reader():
        say(f"note: {note}")
    left = sum(1 for each in found if not each.mended)
    if not found:
        say("No problems found.")
    elif left and not mend:
        raise CommandError(f"{plural(left, 'finding')}. To mend: evennia ai_memory doctor --mend")
    elif left:
        raise CommandError(
            f"{plural(left, 'finding')} cannot be mended here. See above for what to do."
        )


@_action(interrupted="Nothing is lost. Run the same command again.", writes=True)
def _reindex(say: Say) -> None:
    """Rebuild vectors and keys."""
    say("Loading the embedding model ...")
    with progress_bars() as bars:
        count = offload.wait(reindex.reindex_all(bars))
    say(f"{plural(count, 'memory', 'memories')} reindexed.")


@_action(
    _argument(
        "--to",
        "VECTOR_STORE as it will be: qdrant_edge, or JSON; - reads it from standard input",
        required=True,
        metavar="STORE",
    ),
    _argument("--replace", "it may hold memories of this game already", action="store_true"),
    interrupted="Nothing is lost. To continue, run the same command again.",
    writes=True,
)
def _move(say: Say, to: str, replace: bool) -> None:
    """Copy all memories into another store, compare them, and print the setting to change."""
    target = _store_named(to)
    _open_store(say)
    with progress_bars() as bars:
        moved, left = offload.wait(move.move(target, replace=replace, progress=bars))
    here, there = memory_store.place(conf.get().VECTOR_STORE), memory_store.place(target)
    say(
        f"{plural(moved, 'memory', 'memories')} are in {there}, each compared with the one in "
        f"{here}."
    )
    if left:
        say(
            f"{plural(left, 'memory', 'memories')} of the old store belong to no object of "
            "this game and stayed there: they may be another game's."
        )
    say(
        "Before you start the game, change the setting (with your own password or key, which is "
        f'not shown):\n\n    CONTRIB_AI_MEMORY["VECTOR_STORE"] = {shown("", dict(target))}\n\n'
        "The old store keeps its copy, which no later erasure reaches. When the game runs with the "
        f"new one, delete it: {_way_to_delete(conf.get().VECTOR_STORE)}"
    )


def _store_named(text: str) -> conf.VectorStoreSettings:
    """Read VECTOR_STORE from a provider's name, or from JSON: with "-" in standard input."""
    text = sys.stdin.read() if text == "-" else text
    try:
        given = json.loads(text) if text.lstrip().startswith("{") else {"provider": text}
        return conf.VectorStoreSettings.model_validate(given)
    except json.JSONDecodeError as error:
        raise CommandError(
            f"--to is not JSON ({error}). Give the new VECTOR_STORE, in quotes: --to "
            '\'{"provider": "qdrant", "config": {"url": "http://localhost:6333"}}\''
        ) from None
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, each['loc'])) or 'VECTOR_STORE'}: "
            f"{each['msg'].removeprefix('Value error, ')}"
            for each in error.errors(include_input=False)
        ]
        raise CommandError(
            f"--to does not name a supported store. {'; '.join(problems).rstrip('.')}."
        ) from None


def _way_to_delete(store: conf.VectorStoreSettings) -> str:
    """Return how to delete a store that is not used any more."""
    config, name = store.revealed(), store.collection
    if store.provider == "pgvector":
        return f'DROP TABLE "{name}"; (unless another game uses it)'
    if store.provider == "qdrant" and not config.get("path"):
        return f"the collection {name!r} (unless another game uses it)"
    return f"rm -r {config.get('path') or conf.directory() / 'qdrant_edge'}"


# --- uninstalling ---------------------------------------------------------------------------------

LOCKS = ("memory_look", "memory_edit", "memory_erase", "memory_talk")
CONFIG = "ai_memory"  # prefix of our keys in ServerConfig
OF_BUILDERS = ("memory_keywords", npc_settings.KEY)  # Attributes that a wiped memory keeps


@_action(_YES, interrupted="The removal is incomplete. Run the same command again for the rest.")
def _uninstall(say: Say, yes: bool) -> None:
    """Remove all data of this contrib."""
    _confirm(
        yes,
        f"Remove the memories of {_remembering().count()} objects, the store and the exports in "
        f"{conf.directory()}, and everything else of the AI memory from this game? This cannot be "
        "undone.",
    )
    _clear_server_store()
    for obj in tqdm(list(_remembering()), unit=" objects", desc="memories"):
        attributes.delete_all(obj)
        for key in OF_BUILDERS:
            obj.attributes.remove(key)
    for script in ScriptDB.objects.filter(db_key=KEY):
        script.delete()
    for obj in ObjectDB.objects.filter(db_lock_storage__contains="memory_"):
        for lock in LOCKS:
            obj.locks.remove(lock)
    Tag.objects.filter(db_category=CATEGORY).delete()
    ServerConfig.objects.filter(db_key__startswith=CONFIG).delete()
    memory_store.close_shared()
    shutil.rmtree(conf.directory(), ignore_errors=True)
    shutil.rmtree(channel.folder(), ignore_errors=True)
    for log in Path(settings.LOG_DIR).glob(f"{Path(LOG).stem}*"):
        log.unlink()
    say("Vacuuming the game's database ...")
    try:
        game_database.vacuum()
    except DatabaseError as problem:
        say(
            f"That failed ({problem}). Traces of deleted rows may be left in the database's file "
            "until you vacuum it."
        )
    say(
        "All data is removed. Now remove from your game: contrib_ai_memory from INSTALLED_APPS and "
        "CONTRIB_AI_MEMORY from the settings, MemoryMixin and memory_settings from your "
        "typeclasses, AIMemoryCmdSet from your cmdsets, contrib_ai_memory.web.urls from "
        "web/urls.py, and the link from the website's menu. Then: pip uninstall "
        "contrib_ai_memory. Attributes that you set on NPCs yourself (goals, persona) stay."
    )


def _remembering() -> Any:
    """Every object that has or had a memory."""
    return ObjectDB.objects.filter(db_attributes__db_key__in=("memory_id", *OF_BUILDERS)).distinct()


def _clear_server_store() -> None:
    """Delete our memories from a store outside our folder, which other games may share."""
    if conf.get().VECTOR_STORE.is_own or not metadata.read(conf.directory()):
        return
    store = memory_store.shared()
    ids = set(game_npcs.known_agent_ids())
    if store.scoped:
        ids.update(store.agents())  # of this game alone, with those whose NPC is gone
    for agent_id in tqdm(sorted(ids), unit=" NPCs", desc="store"):
        store.delete_all(agent_id)


# --- what the actions share -----------------------------------------------------------------------


def _open_store(say: Say) -> None:
    """Open the store before a progress bar begins: the embedding model takes seconds to load."""
    say("Loading the embedding model and opening the store ...")
    memory_store.shared()


def _confirm(yes: bool, question: str) -> None:
    """Ask a question that only "yes" or the option --yes answers."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Not a terminal: to confirm, add --yes.")
    if input(f"{question} Type yes to continue: ").strip().lower() != "yes":
        raise CommandError("Nothing was changed.")


def _check_writable(file: Path) -> None:
    """Check that a file can be written there."""
    if file.is_dir():
        raise CommandError(f"{file} is a folder: give the name of a file in it.")
    if not file.absolute().parent.is_dir():
        raise CommandError(f"There is no folder {file.absolute().parent}: create it first.")


# --- the game server ------------------------------------------------------------------------------


def server_runs() -> bool:
    """Whether the game's server process is alive."""
    pid_file = Path(settings.GAME_DIR) / "server" / "server.pid"
    try:
        os.kill(int(pid_file.read_text()), 0)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        return False
    return True


def _require_stopped_server() -> None:
    """Refuse to work beside the server, whose open journal pages would overwrite ours."""
    if server_runs():
        raise CommandError(
            "The game server is running and holds the memories. Stop it first: evennia stop"
        )
    client.end(PROCESS_ENDS_SECONDS)  # of a server that was killed: it would wait for the next


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Give a `Progress` callback that shows a bar for each task."""
    bar = tqdm(disable=True)

    def show(task: str, done: int, total: int) -> None:
        nonlocal bar
        if bar.disable or task != bar.desc:
            bar.close()
            bar = tqdm(desc=task, total=total or None, unit="", mininterval=0.3)
        bar.update(max(0, done - bar.n))

    try:
        yield show
    finally:
        bar.close()


# --- model ----------------------------------------------------------------------------------------

Found = tuple[conf.LLMSettings, dict[str, Any], list[str]]  # with what LLM would be; other models


@_action(
    _argument("--night", "try the server of LLM_NIGHT", action="store_true"),
    _argument("--serve", "serve a GGUF file by llama.cpp, and try it", type=Path, metavar="FILE"),
    _argument(
        "--ports",
        "look on these ports of this machine (default: those of Ollama, LM Studio and llama.cpp, "
        "if LLM is not set)",
        type=int,
        nargs="+",
        metavar="PORT",
    ),
    beside_server=True,
)
def _model(say: Say, night: bool, serve: Path | None, ports: list[int] | None) -> None:
    """Try the model server of the settings, else those on this machine, and say what to set.

    A dozen small calls are made. Fails if no model can be used.
    """
    chosen = conf.get().night_llm if night else conf.get().LLM
    failure = "The model cannot be used as it is set."
    found: list[Found]
    if serve:
        file = serve.expanduser().resolve()
        found = [(_serve(say, file), {"serve": str(file)}, [])]
    elif night and chosen is None and conf.get().LLM:
        raise CommandError("No model is asked at night: LLM_NIGHT is 'offline'.")
    elif chosen and not ports:
        found = [(chosen, {}, [])]
    else:
        found, failure = _models_here(ports), "No model on this machine can be used."
    usable = False
    for llm, offered, others in found:
        wanted, unusable = _try(say, llm)
        if not unusable:
            say("The model can be used.")
        if others:
            say(f"  It has other models too: {', '.join(others[:8])}.")
        if offered and (wanted or not unusable):
            _offer(say, offered, wanted)
        usable = usable or not unusable or bool(offered and wanted)
    if not usable:
        raise CommandError(failure)


def _models_here(ports: list[int] | None) -> list[Found]:
    """Return the first model of each server on this machine."""
    from contrib_ai_memory.llm import model_server_info

    looked = ports or model_server_info.PORTS
    servers = list(model_server_info.on_this_machine(looked))
    if not servers:
        raise CommandError(
            f"There is no model: settings.CONTRIB_AI_MEMORY['LLM'] is not set, and no model server "
            f"answers on this machine (ports {', '.join(map(str, looked))}). Start Ollama, LM "
            "Studio or llama.cpp, or serve a file: evennia ai_memory model --serve FILE.gguf."
        )
    named = [({"base_url": url, "model": names[0]}, names[1:]) for url, names in servers]
    return [(conf.LLMSettings.model_validate(llm), llm, others) for llm, others in named]


def _try(say: Say, llm: conf.LLMSettings) -> tuple[dict[str, Any], bool]:
    """Try a model, and show what was found. Returns settings with which it would be better, by
    name, and whether it cannot be used without them."""
    from contrib_ai_memory.llm import probe  # its libraries take a second

    say(llm.name)
    wanted, unusable = dict[str, Any](), False
    for finding in probe.trial(llm, conf.get().CONTEXT_TOKENS):
        say(f"  {finding.verdict:<5}{finding.what}: {finding.seen}")
        if finding.advice:
            say(f"       {finding.advice}")
        wanted |= {key: max(each, wanted.get(key, 0)) for key, each in finding.wanted.items()}
        unusable = unusable or finding.verdict == probe.BAD
    return wanted, unusable


def _offer(say: Say, llm: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Show the settings to write for a model; `wanted` is what `_try` returns."""
    beside = dict(wanted)
    if "timeout" in beside:
        llm = llm | {"timeout": beside.pop("timeout")}
    shown = ", ".join(f"{key!r}: {each!r}" for key, each in ({"LLM": llm} | beside).items())
    say(f"Write into the settings, and reload the game:\nCONTRIB_AI_MEMORY = {{..., {shown}}}")


def _serve(say: Say, file: Path) -> conf.LLMSettings:
    """Serve a model by llama.cpp's server, until the game ends, or this command if none runs."""
    from contrib_ai_memory.llm import model_server_info

    if not file.is_file():
        raise CommandError(f"There is no file {file}.")
    chosen = conf.LLMSettings.model_validate({"serve": file})
    try:
        start.serve(Path(settings.GAME_DIR), chosen)
    except local_server.NoProgram as problem:
        raise CommandError(str(problem)) from None
    say("Loading the model ...")
    if not model_server_info.is_ready(chosen, start.LOADS_WITHIN):
        log = conf.directory() / local_server.LOG
        raise CommandError(f"llama.cpp's server does not answer: see {log}.")
    return chosen


# --- the command ----------------------------------------------------------------------------------


class Command(BaseCommand):
    """Parses the arguments and runs one of `ACTIONS`."""

    help = "Operate the memories of NPCs from the shell."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parsers = parser.add_subparsers(dest="action", required=True)
        for name, action in ACTIONS.items():
            about = (action.run.__doc__ or "").partition("\n")[0]
            added = parsers.add_parser(name, help=about, description=about)
            for argument, options in action.arguments:
                added.add_argument(argument, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        action = ACTIONS[options["action"]]
        if not action.beside_server:
            _require_stopped_server()
        if evennia.DefaultCharacter is None:
            evennia._init()  # the evennia launcher leaves that to the server
        try:
            if action.writes:  # if they do not match, memories would cite the wrong lines
                if problem := generations.pair(generations.of_store()):
                    raise CommandError(problem)
                offload.wait(generations.mark_anew())
            named = [name.removeprefix("--") for name, _options in action.arguments]
            given = {name.removesuffix("_key"): options[name] for name in named}
            if given.get("npc"):
                given["npc"] = game_npcs.chosen(given["npc"], search_object(given["npc"]))
            action.run(self.stdout.write, **given)
        except ExpectedError as problem:
            raise CommandError(str(problem)) from None
        except OSError as error:
            if not options.get("file"):
                raise
            verb = "written" if options["action"] in ("export", "backup") else "read"
            told = f"{options['file']} cannot be {verb}: {error.strerror or error}."
            raise CommandError(f"{told} {action.interrupted}") from None
        except KeyboardInterrupt:
            raise CommandError(f"Interrupted. {action.interrupted}", returncode=130) from None
