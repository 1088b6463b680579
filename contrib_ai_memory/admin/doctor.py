"""Looks for what does not fit together in the memories of a game, and mends it.

Nothing here should ever be found: it is what a restored backup, a full disk, an edit by hand or an
NPC that was deleted behind Evennia's back leave. What is found is told; it is changed only where
that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from evennia.objects.models import ObjectDB
from twisted.internet import defer

from .. import conf, offload
from ..conf import PAGE_SIZE
from ..handler import shed_copied
from ..ingest import index, novelty
from ..records import INSIGHT, Entry
from ..store import attributes, bulk, condition, facts, generations, links, opening, owner
from ..store.errors import StoreError
from ..store.journal import page_name
from ..store.payload import entry_memory_id
from . import archive, erasure, erasure_plan, inspect
from .erasure_plan import ENTRIES_AT_ONCE, ask

NO_JOURNAL_ID = ("links_checked",)  # cursors that count something else than entries
IDS_AT_ONCE = 64
BUCKETS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not fit.

    Attributes:
        where: The NPC's name and dbref, or "the store".
        what: One sentence, with what to do where it cannot be mended.
        count: Of how many things.
        mended: Whether it fits now.
    """

    where: str
    what: str
    count: int = 1
    mended: bool = False


@dataclass
class _Stored:
    """What the store has of one mind.

    Attributes:
        ids: Every id.
        entries: The ids of the lines by their journal id.
        lines: When each line was said, and the hash of its words, by its journal id.
        evidence: Of what is drawn from lines, their journal ids, and when it came about.
    """

    ids: set[str] = field(default_factory=set)
    entries: dict[int, str] = field(default_factory=dict)
    lines: dict[int, tuple[str, int]] = field(default_factory=dict)
    evidence: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)


@defer.inlineCallbacks
def doctor(
    npcs: Iterable[Any] | None = None,
    *,
    mend: bool = False,
    progress: Callable[[str], None] = lambda doing: None,
) -> Generator[Any, Any, list[Finding]]:
    """Check the store and the NPCs, as a Deferred list of what was found.

    Args:
        npcs: Only these, and not what belongs to none; None is all.
        mend: Change what can be mended.
        progress: Told what is looked at.
    """
    whole = npcs is None
    progress("the store")
    try:
        found = yield _check_store(mend, whole)
    except StoreError as problem:
        return [Finding("the store", str(problem))]
    npcs = inspect.minds() if npcs is None else list(npcs)
    found += _copies(None if whole else npcs, mend)
    for npc in npcs:
        if mend or not owner.has_foreign_id(npc):  # looked at, that would be mended
            progress(npc.key)
            found += yield check(npc, mend=mend)
    return found


def _copies(npcs: Iterable[Any] | None, mend: bool) -> list[Finding]:
    """Objects that carry another's memory id: of these NPCs, or of all there are."""
    found, wanted = [], None if npcs is None else {npc.id for npc in npcs}
    for carrier, number in owner.copies():
        if wanted is not None and carrier.object_id not in wanted:
            continue
        obj = ObjectDB.objects.get(id=carrier.object_id)
        original = ObjectDB.objects.filter(id=number).first()
        whose = f"{original.key} ({original.dbref})" if original else "an NPC that is no more"
        if mend:
            shed_copied(obj)
        what = f"It carries the memory id of {whose}. Its own memory begins empty."
        found.append(_finding(obj, what, 1, mend))
    return found


@defer.inlineCallbacks
def check(npc: Any, *, mend: bool = False) -> Generator[Any, Any, list[Finding]]:
    """Check one NPC, as a Deferred list of what was found."""
    script = npc.assistant
    if attributes.read_json(npc, archive.MARK):
        what = "An import broke off half way. Import the file again, or @memory/wipe it."
        return [_finding(npc, what, 1, False)]
    found = yield _unfinished(npc, mend)
    yield script.hold_still()
    try:
        found += _cursors(npc, mend)
        stored = yield _stored(npc.memory.id)
        found += yield _lost_entries(npc, stored, mend)
        found += yield _entries(npc, stored, mend)
        found += yield _evidence(npc, stored, mend)
        found += yield _links(npc, stored, mend)
        npc.memory.flush()
    finally:
        script.let_go()
    return found


def _finding(npc: Any, what: str, count: int, mended: bool) -> Finding:
    return Finding(f"{npc.key} ({npc.dbref})", what, count, mended)


# --- what belongs to no NPC -----------------------------------------------------------------------


@defer.inlineCallbacks
def _check_store(mend: bool, whole: bool) -> Generator[Any, Any, list[Finding]]:
    counts = yield ask(_minds)
    stored = yield ask(generations.of_store)
    if problem := generations.settle(stored):
        if mend:
            generations.adopt(stored)
            yield generations.mark_anew()
        # whose memories these are cannot be known now: none of them is taken for a leaving
        return [Finding("the store", problem, 1, mend)]
    found = []
    if lost := stored.get("lost"):
        found.append(Finding("the store", opening.told_of_loss(lost), 1, mend))
        if mend:
            yield ask(_settle_loss)
    known = inspect.known_minds()
    for agent_id, count in sorted(counts.items()) if whole else ():
        if agent_id not in known:
            if mend:
                yield ask(_forget_mind, agent_id)
            what = f"memories of mind {agent_id[:8]}, which no NPC has: it was deleted"
            found.append(Finding("the store", what, count, mend))
    if found and mend and (yield ask(facts.ask, "begin_rewriting")):
        while not (yield ask(facts.ask, "rewrite_some")):
            pass
    return found


def _settle_loss() -> None:
    opening.note(conf.directory(), lost=None)
    facts.shared().note_total()
    condition.end(condition.LOST, "What the store lost is taken as lost.")


def _minds() -> dict[str, int]:
    """Whose memories there are, as far as they are this game's to judge."""
    store = facts.shared()
    return bulk.minds(store) if store.provider == inspect.OWN else {}


def _forget_mind(agent_id: str) -> None:
    novelty.forget(agent_id)
    facts.shared().delete_mind(agent_id)


# --- one NPC --------------------------------------------------------------------------------------


@defer.inlineCallbacks
def _unfinished(npc: Any, mend: bool) -> Generator[Any, Any, list[Finding]]:
    found = []
    for plan in erasure_plan.unfinished(npc):
        if mend:
            yield erasure.erase_person(npc, plan["identity"], plan["names"])
        found.append(_finding(npc, "The erasure of a person broke off half way.", 1, mend))
    return found


def _cursors(npc: Any, mend: bool) -> list[Finding]:
    journal = npc.memory.journal
    beyond = {
        name: value
        for name, value in journal.cursors.items()
        if name not in NO_JOURNAL_ID and isinstance(value, int) and value > len(journal)
    }
    if mend:
        for name in beyond:
            journal.set_cursor(name, len(journal))
    what = f"cursors lie behind the journal's end: {', '.join(sorted(beyond))}"
    return [_finding(npc, what, len(beyond), mend)] if beyond else []


@defer.inlineCallbacks
def _stored(agent_id: str) -> Generator[Any, Any, _Stored]:
    stored, offset = _Stored(), None
    while True:
        page, offset = yield ask(_stored_page, agent_id, offset)
        for memory_id, entry_id, said, journal_ids, created_at in page:
            stored.ids.add(memory_id)
            if entry_id:
                stored.entries[entry_id] = memory_id
                stored.lines[entry_id] = created_at, said
            elif journal_ids:
                stored.evidence[memory_id] = journal_ids, created_at
        if offset is None:
            return stored


def _stored_page(agent_id: str, offset: Any) -> tuple[list[tuple], Any]:
    memories, offset = facts.shared().page(agent_id, offset)
    return [
        (
            m.id,
            m.journal_ids[0] if m.record in ("entry", INSIGHT) and m.journal_ids else 0,
            hash(m.content),
            m.journal_ids,
            m.created_at,
        )
        for m in memories
    ], offset


@defer.inlineCallbacks
def _lost_entries(npc: Any, stored: _Stored, mend: bool) -> Generator[Any, Any, list[Finding]]:
    """Find entries that the journal lost, page by page, and rebuild them from the store.

    The store's copy is the last one: it is deleted only of what was taken out on purpose.
    """
    agent_id, journal = npc.memory, npc.memory.journal
    lost: dict[int, list[str]] = {}
    for first in range(1, len(journal) + 1, ENTRIES_AT_ONCE):
        there = {entry.id for entry in journal.read(first, first + ENTRIES_AT_ONCE - 1)}
        for number in range(first, first + ENTRIES_AT_ONCE):
            if number in stored.entries and number not in there:
                _note_lost(agent_id, number, stored, lost)
        yield offload.breathe()
    for number in stored.entries:
        if number > len(journal):
            _note_lost(agent_id, number, stored, lost)
    problems = {
        number: journal.damage.get(number, "") for number in {*lost, *journal.damaged_pages()}
    }
    for number in sorted(problems) if mend else ():
        memories = yield ask(facts.ask, "get", lost.get(number, []))
        entries = [_rebuilt(agent_id, index.from_memory(memory)) for memory in memories]
        journal.extend_to(max((entry.id for entry in entries), default=0))
        journal.restore(entries)
        journal.mark_mended(number)
        yield offload.breathe()
    return [
        _finding(npc, _told_lost(number, why, len(lost.get(number, []))), 1, mend)
        for number, why in sorted(problems.items())
    ]


def _note_lost(memory: Any, number: int, stored: _Stored, lost: dict[int, list[str]]) -> None:
    memory_id = stored.entries[number]
    if memory_id == entry_memory_id(memory.id, number) and not memory.journal.was_removed(number):
        lost.setdefault((number - 1) // PAGE_SIZE, []).append(memory_id)


def _rebuilt(memory: Any, entry: Entry) -> Entry:
    """An entry with what its links tell of it: what it cites, and whether it became a fact."""
    drawn = [
        linked for linked, note in memory.links.of(entry.id).items() if note["kind"] == "evidence"
    ]
    if entry.kind == INSIGHT:
        return replace(entry, evidence=tuple(sorted(drawn)))
    return replace(entry, consolidated=any(not linked.isdecimal() for linked in drawn))


def _told_lost(number: int, why: str, count: int) -> str:
    page = f"{page_name(number)[0].upper()}{page_name(number)[1:]}"
    reason = f" cannot be read whole ({why})" if why else " was damaged, or lacks entries"
    return f"{page} of the journal{reason}; the store holds {count} of those that are missing."


@defer.inlineCallbacks
def _entries(npc: Any, stored: _Stored, mend: bool) -> Generator[Any, Any, list[Finding]]:
    """Entries and the store: each of the one has its other."""
    memory, journal = npc.memory, npc.memory.journal
    indexed = journal.cursors.get("indexed", 0)
    missing = waiting = other = 0
    for first in range(1, len(journal) + 1, ENTRIES_AT_ONCE):
        page = list(journal.read(first, first + ENTRIES_AT_ONCE - 1))
        lost = [e for e in page if e.recallable and e.id <= indexed and e.id not in stored.entries]
        missing += len(lost)
        changed = [
            entry
            for entry in page
            if stored.lines.get(entry.id, (entry.timestamp, hash(entry.words)))
            != (entry.timestamp, hash(entry.words))
        ]
        other += len(changed)
        if (lost or changed) and mend:
            yield _index(memory, sorted([*lost, *changed], key=lambda entry: entry.id))
            stored.ids.update(entry_memory_id(memory.id, entry.id) for entry in lost)
        yield offload.breathe()
        waiting += sum(1 for entry in page if entry.recallable and entry.id > indexed)
    if mend:
        while not (yield memory.index_pending()):
            pass
    # what was taken out on purpose; of anything else this is the last copy (`_lost_entries`)
    gone = [
        memory_id for number, memory_id in stored.entries.items() if journal.was_removed(number)
    ]
    for first in range(0, len(gone) if mend else 0, IDS_AT_ONCE):
        some = gone[first : first + IDS_AT_ONCE]
        yield ask(facts.ask, "delete_points", some)
        stored.ids.difference_update(some)
    told = (
        (missing, "journal entries that were indexed are not in the store"),
        (other, "journal entries are not the lines that the store has under their numbers"),
        (waiting, "journal entries wait to be indexed"),
        (len(gone), "memories of journal entries that are no more"),
    )
    return [_finding(npc, what, count, mend) for count, what in told if count]


@defer.inlineCallbacks
def _evidence(npc: Any, stored: _Stored, mend: bool) -> Generator[Any, Any, list[Finding]]:
    """What is drawn from lines rests on lines that are there, and no later than itself.

    Lines that were forgotten leave gaps in the journal; what was drawn from them may stay.
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
            yield ask(_rest_on, memory_id, kept)
        elif mend:
            yield ask(facts.ask, "delete_points", [memory_id])
            stored.ids.discard(memory_id)
        if place % ENTRIES_AT_ONCE == 0:
            yield offload.breathe()
    told = (
        (beyond, "memories rest on journal entries beyond the journal's end"),
        (later, "memories rest on journal entries that were written after they came about"),
    )
    return [_finding(npc, what, count, mend) for count, what in told if count]


def _rest_on(memory_id: str, journal_ids: list[int]) -> None:
    facts.shared().change(memory_id, journal_ids=journal_ids)


def _index(memory: Any, entries: list[Entry]) -> defer.Deferred:
    first = entries[0].id
    before = list(memory.journal.read(first - index.LOOK_BACK, first - 1))
    return ask(index.index_entries, memory.id, entries, before)


@defer.inlineCallbacks
def _links(npc: Any, stored: _Stored, mend: bool) -> Generator[Any, Any, list[Finding]]:
    """Links have two ends, each of them a memory, and know each other."""
    memory = npc.memory
    ends = 0
    dangling: set[str] = set()
    single: list[links.Link] = []
    for first in range(0, links.BUCKETS, BUCKETS_AT_ONCE):
        found = memory.links.in_buckets(range(first, first + BUCKETS_AT_ONCE))
        for linked, others in found:
            ends += len(others)
            for other, note in others.items():
                if linked not in memory.links.of(other):
                    single.append(
                        links.Link(linked, other, note["score"], note["kind"], note["created"])
                    )
            dangling |= {each for each in (linked, *others) if not _exists(memory, each, stored)}
            yield offload.breathe()
    lame = [each for each in single if each.a not in dangling and each.b not in dangling]
    if mend:
        for each in sorted(dangling):
            memory.links.remove([each])
            yield offload.breathe()
        yield memory.links.add_gently(lame)
        yield _drop_ends(memory, dangling)
    wrong = memory.links.count * 2 != ends
    if mend and (wrong or dangling or lame):
        yield _recount(npc)
    told = (
        (len(dangling), "linked memories are no more"),
        (len(lame), "links are known at one end alone"),
        (int(wrong and not dangling and not lame), "the number of links is not what it is said"),
    )
    return [_finding(npc, what, count, mend) for count, what in told if count]


def _exists(memory: Any, linked: str, stored: _Stored) -> bool:
    if linked.isdecimal():
        return memory.journal.get(int(linked)) is not None or int(linked) in stored.entries
    return linked in stored.ids


@defer.inlineCallbacks
def _drop_ends(memory: Any, dangling: set[str]) -> Generator[Any, Any, None]:
    """What is known at one end alone, and leads to nothing."""
    for first in range(0, links.BUCKETS, BUCKETS_AT_ONCE):
        for linked, others in memory.links.in_buckets(range(first, first + BUCKETS_AT_ONCE)):
            for other in dangling & set(others):
                memory.links.drop_end(linked, other)
                yield offload.breathe()


@defer.inlineCallbacks
def _recount(npc: Any) -> Generator[Any, Any, None]:
    ends = 0
    for first in range(0, links.BUCKETS, BUCKETS_AT_ONCE):
        found = npc.memory.links.in_buckets(range(first, first + BUCKETS_AT_ONCE))
        ends += sum(len(others) for _linked, others in found)
        yield offload.breathe()
    attributes.write(npc, links.ATTRIBUTE, {"links": ends // 2})
