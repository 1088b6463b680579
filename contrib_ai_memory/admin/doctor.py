"""Check the memories of a game for damage and inconsistencies, and repair them if asked to.

Normally there is nothing to find. Damage is left by restored backups, full disks, edits by hand,
and NPCs deleted behind Evennia's back.

A store whose files are damaged is rebuilt. They are set aside, and nothing is deleted. What cannot
be read of them comes from exports, where it is still known by links of the game's database and
rests on lines that have not changed; entries come from the journals. Lines whose facts could not be
recovered are consolidated again by the next night.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Generator, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evennia.objects.models import ObjectDB
from twisted.internet import defer

from .. import conf, offload
from ..conf import PAGE_SIZE
from ..embedding import embedder
from ..handler import shed_copied
from ..ingest import index
from ..log import logger
from ..records import INSIGHT, Entry
from ..sleep import consolidation
from ..store import attributes, condition, generations, memory_store, metadata, owner
from ..store.condition import StoreDamaged, StoreError
from ..store.journal import beyond_end, page_name
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from . import archive, erase, game_npcs, jobs, reindex
from .archive_format import BadArchive, header_of
from .jobs import (
    ENTRIES_AT_ONCE,
    batch_job,
    compact_store,
    exclusively,
    journal_pages,
    link_pages,
    local_job,
    store_pages,
)

IDS_AT_ONCE = 64
DAMAGES_AT_MOST = 2  # that one run sets aside: store.json, and the files of the store
UNFINISHED = (
    "Its files were set aside as damaged, and it is not rebuilt yet. With the game stopped: "
    "evennia ai_memory doctor --mend"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that was found."""

    where: str  # the NPC's name and dbref, or "the store"
    what: str  # one sentence, with what to do if it cannot be repaired here
    count: int = 1  # of what is affected
    mended: bool = False  # whether it is repaired now


Problems = list[tuple[int, str]]  # how many things are affected, and what is wrong with them


@dataclass
class _Stored:
    """The memories of one NPC in the store."""

    ids: set[str] = field(default_factory=set)
    # by journal id: id, time and words of an entry
    entries: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    # by id: the journal ids that another memory rests on, and when it was made
    evidence: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)


@defer.inlineCallbacks
def check(
    npcs: Iterable[Any] | None = None,
    *,
    mend: bool = False,
    progress: Callable[[str], None] = lambda doing: None,
) -> Generator[Any, Any, list[Finding]]:
    """Check the store and the NPCs, as a Deferred list of `Finding`.

    Args:
        npcs: Only these NPCs, without orphaned memories; None is everything.
        mend: Repair what can be repaired.
        progress: Called with the name of each thing to be checked.
    """
    chosen = None if npcs is None else list(npcs)
    damaged: list[Finding] = []
    while True:
        try:
            return damaged + (yield _check(chosen, mend, progress))
        except StoreDamaged as damage:
            if not mend or chosen is not None or len(damaged) == DAMAGES_AT_MOST:
                return [*damaged, Finding("the store", str(damage))]
            if damage.path.name == metadata.FILE:
                database = generations.id_of_database(), generations.mark_of_database()
                done = yield batch_job(_describe_anew, damage.path, *database)
            else:
                done = yield batch_job(_begin_anew, damage.path)
            damaged.append(Finding("the store", done, 1, True))
        except StoreError as problem:
            return [*damaged, Finding("the store", str(problem))]


@defer.inlineCallbacks
def _check(
    chosen: list[Any] | None, mend: bool, progress: Callable[[str], None]
) -> Generator[Any, Any, list[Finding]]:
    progress("the store")
    found = []
    if rebuilding := (yield batch_job(_noted, "rebuilding")):
        if not mend or chosen is not None:
            return [Finding("the store", UNFINISHED)]
        found.append(Finding("the store", (yield batch_job(_copy_readable)), 1, True))
        yield reindex.reindex_all()  # keys of lines depend on the lines around them
    lost = yield batch_job(_noted, "lost", True)
    found += yield _check_store(mend, chosen is None)
    found += _copies(chosen, mend)
    for npc in game_npcs.npcs() if chosen is None else chosen:
        if mend or not owner.has_foreign_id(npc):  # opening its memory would repair that
            progress(npc.key)
            found += yield check_npc(npc, mend=mend, rebuilt=mend and (rebuilding or lost))
    if rebuilding:
        yield batch_job(_settle_rebuilt)
    return found


def _copies(npcs: Iterable[Any] | None, mend: bool) -> list[Finding]:
    """Find objects that carry another's memory id: among these NPCs, or among all objects."""
    found, wanted = [], None if npcs is None else {npc.id for npc in npcs}
    for carrier, number in owner.copies():
        if wanted is not None and carrier.object_id not in wanted:
            continue
        obj = ObjectDB.objects.get(id=carrier.object_id)
        original = ObjectDB.objects.filter(id=number).first()
        whose = f"{original.key} ({original.dbref})" if original else "an NPC that is gone"
        if mend:
            shed_copied(obj)
        what = f"It carries the memory id of {whose}. Its own memory begins empty."
        found.append(_finding(obj, what, 1, mend))
    return found


@defer.inlineCallbacks
def check_npc(
    npc: Any, *, mend: bool = False, rebuilt: bool = False
) -> Generator[Any, Any, list[Finding]]:
    """Check one NPC, as a Deferred list of `Finding`.

    Args:
        rebuilt: What the store lacks was lost, and not removed on purpose: restore it.
    """
    if attributes.read_json(npc, erase.IMPORT_MARK):
        what = "An import broke off half way. Import the file again, or @memory/wipe it."
        return [_finding(npc, what, 1, False)]
    found = []
    if erase.half_wiped(npc):
        if mend:
            yield erase.wipe(npc, finish=True)
        found.append(_finding(npc, "A wipe of its memory broke off half way.", 1, mend))
    for plan in erase.unfinished(npc):
        if mend:
            yield erase.erase_person(npc, plan["identity"], plan["names"])
        found.append(_finding(npc, "The erasure of a person broke off half way.", 1, mend))
    problems = yield exclusively(npc, _check_held, mend, rebuilt)
    return found + [_finding(npc, what, count, mend) for count, what in problems if count]


@defer.inlineCallbacks
def _check_held(npc: Any, mend: bool, rebuilt: bool) -> Generator[Any, Any, Problems]:
    problems = _cursors(npc, mend)
    stored = yield _stored(npc.memory.id)
    if rebuilt:
        restored, lost = yield _restore_lost(npc, stored.ids)
        problems += [
            (restored, "memories were restored from exports"),
            (
                lost,
                "memories that only the store held could not be recovered; the next night draws "
                "facts anew from their journal entries",
            ),
        ]
        stored = yield _stored(npc.memory.id)
    for checked in (_lost_entries, _entries, _evidence, _links):
        problems += yield checked(npc, stored, mend)
    npc.memory.flush()
    return problems


def _finding(npc: Any, what: str, count: int, mended: bool) -> Finding:
    return Finding(f"{npc.key} ({npc.dbref})", what, count, mended)


# --- the store -----------------------------------------------------------------------


@defer.inlineCallbacks
def _check_store(mend: bool, whole: bool) -> Generator[Any, Any, list[Finding]]:
    counts = yield batch_job(_agent_counts)
    stored = yield batch_job(generations.of_store)
    if problem := generations.pair(stored):
        if mend:
            generations.adopt(stored)
            yield generations.mark_anew()
        # whose memories these are cannot be known now: none of them is an orphan
        return [Finding("the store", problem, 1, mend)]
    found = []
    if lost := stored.get("lost"):
        found.append(Finding("the store", metadata.loss_message(lost), 1, mend))
        if mend:
            yield batch_job(_settle_loss)
    known = game_npcs.known_agent_ids()
    for agent_id, count in sorted(counts.items()) if whole else ():
        if agent_id not in known:
            if mend:
                yield batch_job(memory_store.delete_all, agent_id)
            what = f"memories with the id {agent_id[:8]}, whose NPC was deleted"
            found.append(Finding("the store", what, count, mend))
    if found and mend:
        yield compact_store()
    return found


def _noted(key: str, opened: bool = False) -> bool:
    """Return whether store.json has a note: "rebuilding", of a store that was set aside and is not
    rebuilt yet, or "lost", once it is opened with far fewer memories than it had."""
    if opened:
        memory_store.shared()
    return key in metadata.read(conf.directory())


def _settle_rebuilt() -> None:
    metadata.note(conf.directory(), rebuilding=None, memories=memory_store.shared().total())


def _settle_loss() -> None:
    metadata.note(conf.directory(), lost=None)
    metadata.note_total(conf.directory(), memory_store.shared().total())
    condition.end(condition.LOST, "What the store lost is taken as lost.")


def _agent_counts() -> dict[str, int]:
    """Count the memories of each NPC of this game, if the store knows which those are."""
    store = memory_store.shared()
    return store.agents() if store.scoped else {}


# --- what was damaged or lost ---------------------------------------------------------------------


@defer.inlineCallbacks
def _restore_lost(npc: Any, stored: Collection[str]) -> Generator[Any, Any, tuple[int, int]]:
    """Restore an NPC's memories that its links name and the store, with these ids, lacks.

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
    checked = yield archive.check_file(file, jobs.silent)
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


# --- one NPC --------------------------------------------------------------------------------------


def _cursors(npc: Any, mend: bool) -> Problems:
    journal = npc.memory.journal
    beyond = beyond_end(journal.cursors, len(journal))
    for name in beyond if mend else ():
        journal.set_cursor(name, len(journal))
    return [(len(beyond), f"cursors lie beyond the journal's end: {', '.join(sorted(beyond))}")]


@defer.inlineCallbacks
def _stored(agent_id: str) -> Generator[Any, Any, _Stored]:
    stored = _Stored()

    def add(page: list[tuple]) -> None:
        for memory_id, entry_id, words, journal_ids, created_at in page:
            stored.ids.add(memory_id)
            if entry_id:
                stored.entries[entry_id] = memory_id, created_at, words
            elif journal_ids:
                stored.evidence[memory_id] = journal_ids, created_at

    yield store_pages(_stored_page, agent_id, on_page=add)
    return stored


def _stored_page(agent_id: str, offset: Any) -> tuple[list[tuple], Any]:
    memories, offset = memory_store.shared().page(agent_id, offset)
    rows = []
    for each in memories:
        is_entry = each.record in ("entry", INSIGHT) and each.journal_ids
        entry_id = each.journal_ids[0] if is_entry else 0
        rows.append((each.id, entry_id, each.content, each.journal_ids, each.created_at))
    return rows, offset


@defer.inlineCallbacks
def _lost_entries(npc: Any, stored: _Stored, mend: bool) -> Generator[Any, Any, Problems]:
    """Find entries that the journal lost, page by page, and rebuild them from the store.

    The store's copy is the last one: it is deleted only if the entry was removed on purpose.
    """
    memory, journal = npc.memory, npc.memory.journal
    there: set[int] = set()
    for page in journal_pages(journal):
        there.update(entry.id for entry in page)
        yield offload.breathe()
    lost: dict[int, list[str]] = {}  # by the number of their page
    for number, (memory_id, _when, _words) in sorted(stored.entries.items()):
        own = number not in there and memory_id == entry_memory_id(memory.id, number)
        if own and not journal.was_removed(number):
            lost.setdefault((number - 1) // PAGE_SIZE, []).append(memory_id)
    problems = {
        number: journal.damage.get(number, "") for number in {*lost, *journal.damaged_pages()}
    }
    for number in sorted(problems) if mend else ():
        records = yield batch_job(memory_store.get, lost.get(number, []))
        entries = [_rebuilt(memory, index.from_memory(record)) for record in records]
        journal.extend_to(max((entry.id for entry in entries), default=0))
        journal.restore(entries)
        journal.mark_mended(number)
        yield offload.breathe()
    found = []
    for number, why in sorted(problems.items()):
        reason = f" cannot be read whole ({why})" if why else " was damaged, or lacks entries"
        page_of = f"{page_name(number)[0].upper()}{page_name(number)[1:]} of the journal{reason}"
        held = len(lost.get(number, []))
        found.append((1, f"{page_of}; the store holds {held} of the missing entries."))
    return found


def _rebuilt(memory: Memory, entry: Entry) -> Entry:
    """Restore from the links what an entry cites, and whether it became a fact."""
    drawn = [
        linked for linked, note in memory.links.of(entry.id).items() if note["kind"] == "evidence"
    ]
    if entry.kind == INSIGHT:
        return replace(entry, evidence=tuple(sorted(drawn)))
    return replace(entry, consolidated=any(not linked.isdecimal() for linked in drawn))


@defer.inlineCallbacks
def _entries(npc: Any, stored: _Stored, mend: bool) -> Generator[Any, Any, Problems]:
    """Check that journal and store hold the same entries."""
    memory, journal = npc.memory, npc.memory.journal
    indexed = journal.cursors.get("indexed", 0)
    missing = waiting = other = 0
    for page in journal_pages(journal):
        lost = [e for e in page if e.recallable and e.id <= indexed and e.id not in stored.entries]
        changed = [
            entry
            for entry in page
            if entry.id in stored.entries
            and stored.entries[entry.id][1:] != (entry.timestamp, entry.words)
        ]
        missing, other = missing + len(lost), other + len(changed)
        waiting += sum(1 for entry in page if entry.recallable and entry.id > indexed)
        if mend and (lost or changed):
            entries = sorted([*lost, *changed], key=lambda entry: entry.id)
            first = entries[0].id
            before = list(journal.read(first - index.LOOK_BACK, first - 1))
            yield batch_job(index.index_entries, memory.id, entries, before)
            stored.ids.update(entry_memory_id(memory.id, entry.id) for entry in lost)
        yield offload.breathe()
    if mend:
        while not (yield memory.index_pending()):
            pass
    # only those removed on purpose: of all others this is the last copy (`_lost_entries`)
    gone = [row[0] for number, row in stored.entries.items() if journal.was_removed(number)]
    for first in range(0, len(gone) if mend else 0, IDS_AT_ONCE):
        some = gone[first : first + IDS_AT_ONCE]
        yield batch_job(memory_store.delete, some)
        stored.ids.difference_update(some)
    return [
        (missing, "indexed journal entries are missing in the store"),
        (other, "journal entries differ from the lines that the store has under their numbers"),
        (waiting, "journal entries wait to be indexed"),
        (len(gone), "memories of removed journal entries"),
    ]


@defer.inlineCallbacks
def _evidence(npc: Any, stored: _Stored, mend: bool) -> Generator[Any, Any, Problems]:
    """Check that memories rest on entries within the journal, and not newer than themselves.

    Forgotten entries leave gaps in the journal; what was drawn from them may stay.
    """
    journal = npc.memory.journal
    beyond = later = 0
    for place, (memory_id, (journal_ids, created_at)) in enumerate(list(stored.evidence.items())):
        kept = [each for each in journal_ids if each <= len(journal)]
        first = journal.get(min(journal_ids))
        if first is not None and first.timestamp > created_at:
            later, kept = later + 1, []
        elif len(kept) < len(journal_ids):
            beyond += 1
        else:
            continue
        if mend and kept:
            yield batch_job(_rest_on, memory_id, kept)
        elif mend:
            yield batch_job(memory_store.delete, [memory_id])
            stored.ids.discard(memory_id)
        if place % ENTRIES_AT_ONCE == 0:
            yield offload.breathe()
    return [
        (beyond, "memories rest on journal entries beyond the journal's end"),
        (later, "memories rest on journal entries that are newer than they are"),
    ]


def _rest_on(memory_id: str, journal_ids: list[int]) -> None:
    memory_store.shared().change(memory_id, journal_ids=journal_ids)


@defer.inlineCallbacks
def _links(npc: Any, stored: _Stored, mend: bool) -> Generator[Any, Any, Problems]:
    """Check that both ends of each link exist."""
    memory, dangling = npc.memory, set[str]()

    def exists(linked: str) -> bool:
        if not linked.isdecimal():
            return linked in stored.ids
        return memory.journal.get(int(linked)) is not None or int(linked) in stored.entries

    for page in link_pages(memory.links):
        for linked, _others in page:  # each end has its own row
            dangling |= set() if exists(linked) else {linked}
            yield offload.breathe()
    for each in sorted(dangling) if mend else ():
        memory.links.remove([each])
        yield offload.breathe()
    return [(len(dangling), "linked memories do not exist")]
