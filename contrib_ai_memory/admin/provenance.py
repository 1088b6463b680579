"""Follow one memory: what it rests on, what came of it, what it is linked with.

`show` gives one memory with everything next to it, `trace` follows it in both directions. The link
graph of a whole memory is in `inspect`. Reactor thread; each gives a Deferred.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

from twisted.internet import defer

from .. import offload
from ..ingest.index import to_memory
from ..records import INSIGHT, LOCKED, PINNED, Entry, MemoryRecord
from ..store import memory_store
from ..store.links import link_id, linked_memory_id
from ..store.payload import entry_memory_id
from . import ids
from .jobs import look_job

EVIDENCE_SHOWN = 50
LINKS_SHOWN = 100
TRACED = 200  # memories of one trace
# kinds of `Drawn` that are no attributes of a profile, and that go with a single line
NO_ATTRIBUTES = ("observation", "preference", "agenda item")
BY_THEMSELVES = ("preference", "agenda item")
READ_AT_ONCE = 16  # rows of the database between two turns of the reactor
INSIGHTS_READ = 4096  # the newest


@dataclass(frozen=True, slots=True)
class LinkShown:
    """A link and its other end; `text` is empty if that was forgotten."""

    linked: str
    id: str
    record: str
    text: str
    score: float
    kind: str
    created: str
    private: bool


@dataclass(frozen=True, slots=True)
class Change:
    """One row of Mem0's history: the text before and after; `event` is ADD or UPDATE."""

    old: str
    new: str
    event: str
    when: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One memory with everything next to it.

    Attributes:
        entry: Its journal entry, if it is one.
        evidence: The journal entries that it rests on.
        forgotten: Ids of those that were forgotten.
        superseded_by, superseded: What superseded it, and what it superseded.
        tags: Such as pinned and locked.
    """

    id: str
    memory: MemoryRecord
    entry: Entry | None
    evidence: tuple[Entry, ...]
    forgotten: tuple[int, ...]
    links: tuple[LinkShown, ...]
    superseded_by: MemoryRecord | None
    superseded: tuple[MemoryRecord, ...]
    history: tuple[Change, ...]
    tags: tuple[str, ...]

    @property
    def pinned(self) -> bool:
        return PINNED in self.tags

    @property
    def locked(self) -> bool:
        return LOCKED in self.tags


@dataclass(frozen=True, slots=True)
class Step:
    """A memory in a trace, `depth` steps from the root, reached from `came_by` (a short id)."""

    memory: MemoryRecord
    id: str
    depth: int
    came_by: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """An item of a person's profile that rests on a traced memory."""

    identity: str
    name: str
    kind: str  # of the attribute, or one of `NO_ATTRIBUTES`
    text: str
    private: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """A memory, its sources and its results, nearest first.

    `whole` is False if there were more than `TRACED` of either.
    """

    root: Step
    sources: tuple[Step, ...]
    results: tuple[Step, ...]
    profiles: tuple[Drawn, ...]
    whole: bool = True


# --- one memory -----------------------------------------------------------------------------------


@defer.inlineCallbacks
def show(npc: Any, memory_id: str) -> Generator[Any, Any, Shown]:
    """Show one memory by its short id, as a Deferred `Shown`.

    Raises (in the Deferred):
        ids.UnknownMemory, ids.Ambiguous
    """
    memory = npc.memory
    record = yield ids.find(npc, memory_id)
    entry = ids.entry_of(memory, link_id(record))
    evidence = [] if entry and entry.kind != INSIGHT else list(record.journal_ids)
    found = [memory.journal.get(each) for each in evidence[:EVIDENCE_SHOWN]]
    history, by, over = yield look_job(_stored_context, memory.id, record)
    links = yield _links_of(npc.memory, record)
    return Shown(
        id=ids.short(record),
        memory=record,
        entry=entry,
        evidence=tuple(each for each in found if each and each.id != getattr(entry, "id", 0)),
        forgotten=tuple(
            number for number, each in zip(evidence, found, strict=False) if each is None
        ),
        links=links,
        superseded_by=by,
        superseded=tuple(over),
        history=history,
        tags=tuple(dict.fromkeys((*record.tags, *(entry.tags if entry else ())))),
    )


def _stored_context(
    agent_id: str, memory: MemoryRecord
) -> tuple[tuple[Change, ...], MemoryRecord | None, list[MemoryRecord]]:
    """Read its history, what superseded it and what it superseded (worker thread)."""
    store = memory_store.shared()
    by = store.get([memory.superseded_by]) if memory.superseded_by else []
    over = store.list(agent_id, limit=EVIDENCE_SHOWN, superseded_by=memory.id)
    rows = [Change(*row) for row in memory_store.shared().history.of(memory.id)]
    return tuple(rows), by[0] if by else None, over


@defer.inlineCallbacks
def _links_of(memory: Any, record: MemoryRecord) -> Generator[Any, Any, tuple[LinkShown, ...]]:
    """List the links of a memory, the strongest first, as a Deferred tuple."""
    notes = memory.links.of(link_id(record))
    strongest = sorted(notes, key=lambda each: (-notes[each]["score"], each))[:LINKS_SHOWN]
    others = yield of_links(memory, strongest)
    return tuple(
        LinkShown(
            linked=each,
            id=ids.short_link(each),
            record=others[each].record if each in others else "",
            text=others[each].content if each in others else "",
            private=others[each].private if each in others else False,
            **notes[each],
        )
        for each in strongest
    )


@defer.inlineCallbacks
def of_links(memory: Any, linked: Iterable[str]) -> Generator[Any, Any, dict[str, MemoryRecord]]:
    """Read the memories of link ids, as a Deferred dict; entries not indexed yet included."""
    wanted = {linked_memory_id(memory.id, each): each for each in linked}
    stored = yield look_job(memory_store.get, list(wanted))
    found = {wanted[record.id]: record for record in stored}
    for number, each in enumerate(sorted(set(wanted.values()) - set(found)), start=1):
        if number % READ_AT_ONCE == 0:
            yield offload.breathe()
        if entry := ids.entry_of(memory, each):
            found[each] = to_memory(memory.id, entry)
    return found


# --- sources and results ----------------------------------------------------------


@defer.inlineCallbacks
def trace(npc: Any, memory_id: str) -> Generator[Any, Any, Trace]:
    """Trace a memory to its sources and to its results, as a Deferred `Trace`.

    Raises (in the Deferred):
        ids.UnknownMemory, ids.Ambiguous
    """
    root = yield ids.find(npc, memory_id)
    sources = yield _follow(npc.memory, root, _sources_of)
    drawn = yield look_job(drawn_of, npc.memory.id)
    insights = yield _insights(npc.memory)
    results = yield _follow(
        npc.memory, root, lambda memory, each: _results_of(memory, each, drawn, insights)
    )
    reached = (root, *(step.memory for step in results))
    profiles = yield profiled(npc.memory, set(ids.entry_ids(reached)))
    return Trace(
        root=_step(root),
        sources=tuple(sources[:TRACED]),
        results=tuple(results[:TRACED]),
        profiles=profiles,
        whole=max(len(sources), len(results)) <= TRACED,
    )


def _step(memory: MemoryRecord, depth: int = 0, came_by: str = "") -> Step:
    return Step(memory, ids.short(memory), depth, came_by)


@defer.inlineCallbacks
def _follow(memory: Any, root: MemoryRecord, next_of: Any) -> Generator[Any, Any, list[Step]]:
    """Collect all that is reached from `root` by `next_of(memory, record)`, breadth first."""
    seen = {root.id}
    reached: list[Step] = []
    layer = [_step(root)]
    while layer and len(reached) <= TRACED:
        following: list[Step] = []
        for step in layer:
            found = yield defer.maybeDeferred(next_of, memory, step.memory)
            for record in found:
                if record.id not in seen:
                    seen.add(record.id)
                    following.append(_step(record, step.depth + 1, step.id))
            yield offload.breathe()
        reached += following
        layer = following
    return reached


@defer.inlineCallbacks
def _sources_of(memory: Any, record: MemoryRecord) -> Generator[Any, Any, list[MemoryRecord]]:
    linked = link_id(record)
    if linked.isdecimal():
        entry = memory.journal.get(int(linked))
        cited = list(entry.evidence) if entry else []
    else:
        cited = [str(number) for number in record.journal_ids]
    found = yield of_links(memory, cited[: TRACED + 1])
    return [found[each] for each in cited if each in found]


def _results_of(
    memory: Any, record: MemoryRecord, drawn: list[MemoryRecord], insights: list[Entry]
) -> list[MemoryRecord]:
    linked = link_id(record)
    found = [each for each in drawn if linked.isdecimal() and int(linked) in each.journal_ids]
    cite = [to_memory(memory.id, entry) for entry in insights if linked in entry.evidence]
    return sorted([*found, *cite], key=lambda each: (each.created_at, each.id))


def drawn_of(agent_id: str) -> list[MemoryRecord]:
    """Read all memories of an NPC that are no journal entries (worker thread)."""
    store = memory_store.shared()
    return [m for record in ids.DRAWN for m in store.list(agent_id, limit=None, record=record)]


@defer.inlineCallbacks
def _insights(memory: Any) -> Generator[Any, Any, list[Entry]]:
    """Read the newest insights from the journal: only there stands what they cite."""
    found = yield look_job(memory_store.newest, memory.id, INSIGHT, INSIGHTS_READ)
    entries = []
    for number, record in enumerate(found, start=1):
        entries.append(memory.journal.get(record.journal_ids[0]))
        if number % READ_AT_ONCE == 0:
            yield offload.breathe()
    return [entry for entry in entries if entry]


@defer.inlineCallbacks
def profiled(memory: Any, entries: set[int]) -> Generator[Any, Any, tuple[Drawn, ...]]:
    """Find what in profiles, preferences and the agenda rests on these entries, as a Deferred
    tuple."""
    found: list[Drawn] = []
    own = {entry_memory_id(memory.id, each) for each in entries}
    for identity in memory.profiles.identities():
        yield offload.breathe()
        profile = memory.profiles.get(identity)
        if profile is None:
            continue
        who = identity, profile.name or memory.people.name_of(identity)
        found += [
            Drawn(*who, known.type, known.value, known.private)
            for known in profile.attributes
            if not entries.isdisjoint(known.evidence)
        ]
        found += [
            Drawn(*who, "observation", noted.text, noted.private)
            for noted in profile.observations
            if noted.journal_id in entries
        ]
    for number, held in enumerate(memory.preferences, start=1):
        if number % READ_AT_ONCE == 0:
            yield offload.breathe()
        if held.journal_id in entries or held.memory_id in own:
            name = memory.people.name_of(held.identity)
            found.append(Drawn(held.identity, name, "preference", held.text, held.private))
    for item in memory.agenda:
        if not entries.isdisjoint(item.evidence):
            name = memory.people.name_of(item.who)
            found.append(Drawn(item.who, name, "agenda item", item.text, item.private))
    return tuple(found[:TRACED])
