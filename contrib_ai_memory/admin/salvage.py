"""Rebuild a store whose files are damaged. They are set aside, and nothing is deleted.

What cannot be read of them comes from exports, where it is still known by links of the game's
database and rests on lines that have not changed; entries come from the journals. Lines whose facts
could not be recovered are consolidated again by the next night.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Generator
from pathlib import Path
from typing import Any

from twisted.internet import defer

from .. import conf
from ..embedding import embedder
from ..log import logger
from ..sleep import consolidation
from ..store import generations, memory_store, metadata
from ..store.condition import StoreDamaged
from . import archive, reindex
from .archive_format import BadArchive, header_of
from .jobs import batch_job, link_pages, local_job, silent


@defer.inlineCallbacks
def set_aside(damage: StoreDamaged) -> Generator[Any, Any, str]:
    """Set damaged files aside, as a Deferred of what was done. A store is then to be rebuilt."""
    if damage.path.name == metadata.FILE:
        database = generations.id_of_database(), generations.mark_of_database()
        return (yield batch_job(_describe_anew, damage.path, *database))
    return (yield batch_job(_begin_anew, damage.path))


def rebuilding() -> bool:
    """Return whether a store was set aside and is not rebuilt yet (worker thread)."""
    return "rebuilding" in metadata.read(conf.directory())


@defer.inlineCallbacks
def rebuild() -> Generator[Any, Any, str]:
    """Copy what can be read of the store that was set aside, as a Deferred of what was done.

    Killed and called again, it begins anew; `settle` ends it.
    """
    done = yield batch_job(_copy_readable)
    yield reindex.reindex_all()  # keys of lines depend on the lines around them
    return done


def settle() -> None:
    """Note that the store is rebuilt (worker thread)."""
    folder = conf.directory()
    metadata.note(folder, rebuilding=None, memories=memory_store.shared().total())


@defer.inlineCallbacks
def restore_lost(npc: Any, stored: Collection[str]) -> Generator[Any, Any, tuple[int, int]]:
    """Restore an NPC's memories that its links name and the store lacks.

    Args:
        stored: Ids of the memories in the store.

    Returns (as a Deferred):
        How many came from exports, and how many could not be recovered.
    """
    lost: dict[str, set[int]] = {}  # journal ids that are its evidence, by memory id
    for page in link_pages(npc.memory.links):
        for linked, others in page:
            if not linked.isdecimal() and linked not in stored:
                lost[linked] = {
                    int(each)
                    for each, note in others.items()
                    if each.isdecimal() and note["kind"] == "evidence"
                }
    restored: set[str] = set()
    for file in sorted((conf.directory() / archive.FOLDER).glob("*.jsonl")) if lost else ():
        try:
            restored |= yield _restore_from(npc, file, lost.keys() - restored)
        except BadArchive as problem:
            logger().warning("Nothing is restored from an export: %s", problem)
    if again := set().union(*(lost[each] for each in lost.keys() - restored)):
        journal = npc.memory.journal
        journal.update({each: {"consolidated": False} for each in again})
        done = journal.cursors.get(consolidation.CURSOR, 0)
        journal.set_cursor(consolidation.CURSOR, min(done, min(again) - 1))
    return len(restored), len(lost) - len(restored)


@defer.inlineCallbacks
def _restore_from(
    npc: Any, file: Path, wanted: Collection[str]
) -> Generator[Any, Any, Collection[str]]:
    restored: set[str] = set()
    if (yield local_job(header_of, file)).agent_id != npc.memory.id:
        return restored
    checked = yield archive.check_file(file, silent)
    reader = yield local_job(archive.reopen, file, checked)
    same: set[int] = set()  # entries that are in the journal as they are in the file
    while lines := (yield local_job(reader.some, archive.LINES_AT_ONCE)):
        found = []
        for line in lines:
            if line["kind"] == "entry":
                entry = npc.memory.journal.get(line["value"]["id"])
                if entry and entry.content == line["value"]["content"]:
                    same.add(entry.id)
            elif line["kind"] == "memory" and line["id"] in wanted:
                found += [line] if same.issuperset(line["payload"].get("journal_ids", ())) else []
        if found:
            yield batch_job(archive.write_stored, found)
            restored.update(line["id"] for line in found)
    return restored


# --- on the worker thread -------------------------------------------------------------------------


def _aside(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.damaged_{number}") for number in itertools.count(1))
    return next(each for each in names if not each.exists())


def _describe_anew(path: Path, store_id: str, mark: metadata.Mark | None) -> str:
    """Write store.json from what the game's database and the settings say."""
    memory_store.close_shared(for_good=False)
    aside, model = path.rename(_aside(path)), embedder.shared()
    generation, text = mark or (None, None)
    metadata.note(
        path.parent,
        **({"store_id": store_id} if store_id else {}),
        embedding_model=model.name,
        dimensions=model.dimensions,
        generation=generation,
        mark=text,
    )
    return (
        f"{path.name} was damaged. It is set aside ({aside}), and written anew from the game's "
        f"database. The memories are taken to be embedded by the model of the settings, "
        f"{model.name}: if it was another, run evennia ai_memory reindex."
    )


def _begin_anew(path: Path) -> str:
    with contextlib.suppress(StoreDamaged):
        memory_store.close_shared(for_good=False)
    aside, folder = _aside(path), conf.directory()
    metadata.note(folder, rebuilding=str(aside), memories=None, lost=None)
    path.rename(aside)
    return f"The files of the store were damaged. They are set aside ({aside})."


def _copy_readable() -> str:
    from ..store import qdrant_edge

    aside, store = Path(metadata.read(conf.directory())["rebuilding"]), memory_store.shared()
    collection = conf.get().VECTOR_STORE.collection
    read = unreadable = 0
    try:
        for rows, damaged in qdrant_edge.readable_rows(aside, collection):
            if rows:
                store.upsert_rows(rows, reindex.keys_of(rows))
            read, unreadable = read + len(rows), unreadable + damaged
    except StoreDamaged as damage:
        return f"{read or 'None'} of its memories could be read ({damage.reason})."
    return f"{read} of its memories could be read, {unreadable} could not."
