"""What an NPC remembers, as lists: its overview, its journal, its facts, its people.

Nothing is changed here. One memory with all around it (`show`, `trace`) is in `tracing`, the link
`graph` in `graphing`, `nights`, `cost` and `stats` in `counting`, the prompt of an answer
(`preview`) in `previewing`. Reactor thread; what asks the store gives a Deferred.

Which memories of the store are this game's.

The store in the game's own folder is this game's alone: what no NPC has there is a leaving. A
collection on a server may hold the memories of other games, which nobody here knows of: nothing in
it is listed, deleted or made anew but by the minds that this game's database names.

The link graph of a whole mind: memories as nodes, links as edges. Reactor thread.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from evennia.objects.models import ObjectDB
from evennia.utils.utils import class_from_module
from twisted.internet import defer

from .. import conf, offload
from ..llm import router
from ..npc import CATEGORY, OFF_TAG, MemoryMixin
from ..records import Entry, MemoryRecord
from ..script import AssistantScript
from ..store import facts, owner, pause
from ..store.journal import PAGE_SIZE, Journal, page_name
from ..store.links import BUCKETS
from ..store.payload import entry_memory_id
from ..store.preferences import Preference
from ..store.profiles import Profile, ProfileAttribute, ProfileObservation, Relationship
from . import ids, provenance

PAGE = 50
READ_AT_ONCE = 64  # entries looked at between two turns of the reactor
PROFILES_AT_ONCE = 8  # each may be a row of the database
READ_AT_MOST = 4096  # entries looked at in one search of the journal
PAGES_READ = 64  # of the journal, the newest: the others are only glanced at
VACANT_LOOKED_AT = 16  # pages of the journal that are asked for in the store
ON_A_PAGE = range(1, PAGE_SIZE + 1)


_DAY = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?", re.ASCII)


class BadSearch(ValueError):
    """The journal cannot be searched for that; the message says how it can."""


class NoDay(BadSearch):
    """There is no such day."""


@dataclass(frozen=True, slots=True)
class Overview:
    """One NPC's memory on one line.

    Attributes:
        id: The mind's UUID.
        location: Name of the room; "" where it is nowhere.
        state: awake, compacting, dreaming, paused or off.
        entries: In the journal.
        pending: Entries that are not indexed yet.
        counts: How many memories of each record.
        last_night: When the last one ended, ISO 8601 UTC; "" where there was none.
        tokens: Of the language model, today (UTC).
        last_beat: Of its heartbeat; "" where the server has not seen one yet.
        language: Who answers for it.
        damaged: Of a look at one NPC alone, what of its journal cannot be read or is missing,
            each as "the page of entries 33 to 64".
    """

    id: str
    key: str
    dbref: str
    location: str
    state: str
    entries: int
    pending: int
    counts: dict[str, int]
    links: int
    people: int
    last_night: str
    tokens: int
    last_beat: str
    language: str
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Entries, newest first.

    Attributes:
        older: `before` of the next page; None where there is nothing older.
        searched_to: The oldest entry that was looked at.
    """

    entries: tuple[Entry, ...]
    older: int | None
    searched_to: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories of one record, newest first; `total` of those that were asked for."""

    memories: tuple[MemoryRecord, ...]
    total: int
    offset: int


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom the NPC knows. `observed` and `known` count what it noted and what it drew."""

    identity: str
    name: str
    entity_type: str
    interactions: int
    last_seen: str
    state: str
    favorability: float
    observed: int
    known: int


@dataclass(frozen=True, slots=True)
class PersonPage:
    """All that the NPC knows of somebody, secrets too.

    `course` is how the relationship came to where it is: (day, favorability), the newest last.
    """

    person: Person
    attributes: tuple[ProfileAttribute, ...]
    observations: tuple[ProfileObservation, ...]
    preferences: tuple[Preference, ...]
    course: tuple[tuple[str, float], ...] = ()


# --- NPCs -----------------------------------------------------------------------------------------


def minds() -> list[Any]:
    """All NPCs that have a memory, by name."""
    paths = ObjectDB.objects.values_list("db_typeclass_path", flat=True).distinct()
    remembering = [path for path in paths if _remembers(path)]
    found = ObjectDB.objects.filter(db_typeclass_path__in=remembering)
    return sorted(found, key=lambda npc: (npc.key.lower(), npc.id))


def that_heard(utterances: Iterable[str]) -> Iterator[Any]:
    """The NPCs that ever heard another one whose words some of these are (`Entry.utterance`)."""
    froms = {each.partition(":")[0] for each in utterances}
    for npc in minds():
        remembers = npc.pk and npc.attributes.has("memory_id")
        if remembers and any(map(npc.memory.journal.heard_from, froms)):
            yield npc


def bodies_of(agent_id: str) -> list[Any]:
    """The object of this game whose mind this is, whatever its typeclass is now; or nothing."""
    number = owner.owned().get(agent_id)
    return list(ObjectDB.objects.filter(id=number)) if number else []


def _remembers(path: str) -> bool:
    try:
        return issubclass(class_from_module(path), MemoryMixin)
    except ImportError:  # of a typeclass that is no more; Evennia tells of it itself
        return False


def state_of(npc: Any) -> str:
    """What it is doing: awake, compacting, dreaming; or paused, or off."""
    if not conf.get().ENABLED or OFF_TAG in npc.tags.get(category=CATEGORY, return_list=True):
        return "off"
    if pause.paused(npc):
        return "paused"
    script = AssistantScript.of(npc)
    return (script.db.sleep_phase or "compacting") if script.asleep else "awake"


@defer.inlineCallbacks
def overview(npc: Any) -> Generator[Any, Any, Overview]:
    """The memory of one NPC in numbers, as a Deferred `Overview`."""
    [found] = yield overviews([npc])
    pages = yield damaged_pages(npc)
    return replace(found, damaged=tuple(map(page_name, pages)))


@defer.inlineCallbacks
def damaged_pages(npc: Any) -> Generator[Any, Any, list[int]]:
    """The pages of a journal that cannot be read whole, or that are missing while the store holds
    entries of them, as a Deferred list of their numbers."""
    journal = npc.memory.journal
    newest = max(1, len(journal) - PAGES_READ * PAGE_SIZE)
    for first in range(newest, len(journal) + 1, PAGE_SIZE):
        journal.get(first)  # its page is read, and what is wrong with it is noted
        yield offload.breathe()
    damaged, vacant = journal.damaged_pages(), journal.empty_pages(VACANT_LOOKED_AT)
    yield offload.breathe()
    if vacant:
        job = held_of, npc.memory.id, vacant
        vacant = yield offload.run(offload.MEMORY, *job, priority=offload.LOOK)
    return sorted({*damaged, *vacant})


def held_of(agent_id: str, pages: Iterable[int]) -> list[int]:
    """Those of these journal pages of which the store holds an entry (worker thread)."""
    store = facts.shared()
    return [
        number
        for number in pages
        if store.get(entry_memory_id(agent_id, number * PAGE_SIZE + each) for each in ON_A_PAGE)
    ]


@defer.inlineCallbacks
def overviews(npcs: Sequence[Any]) -> Generator[Any, Any, list[Overview]]:
    """The same of several, with one question to the store, as a Deferred list."""
    ids = []
    for npc in npcs:
        ids.append(npc.memory.id)
        if npc.memory.journal.removed is None:
            yield count_removed(npc.memory.journal)
        yield offload.breathe()
    counted = yield offload.run(offload.MEMORY, counts_of, ids, priority=offload.LOOK)
    found = []
    for npc in npcs:
        if npc.pk:
            found.append(_overview(npc, counted[npc.memory.id]))
        yield offload.breathe()
    return found


@defer.inlineCallbacks
def count_removed(entries: Journal) -> Generator[Any, Any, None]:
    """Count the entries that are no more in a journal which has not been counted yet."""
    last, there = entries.last_id, 0
    for first in range(1, last + 1, READ_AT_ONCE):
        there += sum(1 for _ in entries.read(first, min(first + READ_AT_ONCE - 1, last)))
        yield offload.breathe()
    if entries.removed is None:
        entries.set_removed(last - there)


def counts_of(minds_: Iterable[str]) -> dict[str, dict[str, int]]:
    """How many memories of each record each mind has (worker thread)."""
    store = facts.shared()
    return {agent_id: store.counts(agent_id) for agent_id in minds_}


def _overview(npc: Any, counts: dict[str, int]) -> Overview:
    memory, script = npc.memory, AssistantScript.of(npc)
    spent = router.usage()["by_npc"].get(memory.id, {})
    return Overview(
        id=memory.id,
        key=npc.key,
        dbref=npc.dbref,
        location=npc.location.key if npc.location else "",
        state=state_of(npc),
        entries=memory.journal.count,
        pending=_pending(memory.journal),
        counts=counts,
        links=memory.links.count,
        people=len(memory.people),
        last_night=script.last_night,
        tokens=spent.get("tokens_in", 0) + spent.get("tokens_out", 0),
        last_beat=script.ndb.last_beat or "",
        language=router.status(),
    )


def _pending(entries: Journal) -> int:
    start = entries.cursors.get("indexed", 0)
    near = list(entries.read(start + 1, start + READ_AT_ONCE))
    return len(near) + max(0, len(entries) - start - READ_AT_ONCE)


# --- journal and store ----------------------------------------------------------------------------


@defer.inlineCallbacks
def journal(
    npc: Any,
    *,
    before: int | None = None,
    limit: int = PAGE,
    text: str = "",
    entity: str = "",
    day: str = "",
    kind: str = "",
) -> Generator[Any, Any, JournalPage]:
    """A page of the journal, read backwards, as a Deferred `JournalPage`.

    Args:
        before: Only entries with smaller ids; None begins with the newest.
        limit: Entries on the page.
        text: Only entries with these words in them, in any case.
        entity: Only entries of or about this memory identity.
        day: Only of this day (UTC), 2026-11-20 or the beginning of one, 2026-11.
        kind: Only of this kind: say, whisper, note …

    Raises (in the Deferred):
        NoDay
    """
    day = day_of(day) if day else ""
    entries = npc.memory.journal
    last = len(entries) if before is None else min(before - 1, len(entries))
    first = max(1, last - READ_AT_MOST + 1)
    wanted = text.lower().strip()
    found: list[Entry] = []
    looked_to = last + 1
    while looked_to > first and len(found) < limit:
        start = max(first, looked_to - READ_AT_ONCE)
        for entry in reversed(list(entries.read(start, looked_to - 1))):
            if len(found) == limit:
                break
            looked_to = entry.id
            if _fits(entry, wanted, entity, day, kind):
                found.append(entry)
        else:
            looked_to = start
        if day and looked_to > 1 and _is_past(entries.get(looked_to), day):
            break
        yield offload.breathe()
    over = looked_to <= 1 or bool(day and _is_past(entries.get(looked_to), day))
    return JournalPage(tuple(found), None if over else looked_to, looked_to)


def _fits(entry: Entry, text: str, entity: str, day: str, kind: str) -> bool:
    if kind and entry.kind != kind:
        return False
    if day and not entry.timestamp.startswith(day):
        return False
    if entity and entity != entry.source_entity and entity not in entry.entities:
        return False
    return not text or text in entry.told().lower()


def day_of(text: str) -> str:
    """A day, or the beginning of one, as it was typed.

    Raises:
        NoDay: There is no such day; the message says how days look.
    """
    year, month, day = ([*text.split("-"), "01", "01"])[:3]
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        date(int(year), int(month), int(day))
    except ValueError:
        raise NoDay(
            f"'{text[:40]}' is no day. A day is 2026-11-20, a month 2026-11, a year 2026 (UTC)."
        ) from None
    return text


def _is_past(entry: Entry | None, day: str) -> bool:
    """Whether the journal, read backwards, has come to before that day."""
    return entry is not None and entry.timestamp[: len(day)] < day


def memories(
    npc: Any,
    record: str = "fact",
    *,
    offset: int = 0,
    limit: int = PAGE,
    text: str = "",
    ended: bool = False,
) -> defer.Deferred:
    """Memories of one record, newest first, as a Deferred `MemoryPage`.

    Args:
        record: entry, experience, fact, taught, summary or insight.
        text: Only those with these words in them, in any case.
        ended: Those that hold no longer, instead of those that hold.
    """
    job = memories_of, npc.memory.id, record, offset, limit, text.lower().strip(), ended
    return offload.run(offload.MEMORY, *job, priority=offload.LOOK)


def memories_of(
    agent_id: str, record: str, offset: int, limit: int, text: str, ended: bool
) -> MemoryPage:
    """`memories` on the worker thread."""
    found = [
        memory
        for memory in facts.shared().list(agent_id, limit=None, record=record)
        if bool(memory.superseded_by or memory.invalid_at) is ended
        and (not text or text in memory.content.lower())
    ]
    found.sort(key=lambda memory: (memory.created_at, memory.id), reverse=True)
    return MemoryPage(tuple(found[offset : offset + limit]), len(found), offset)


# --- people ---------------------------------------------------------------------------------------


@defer.inlineCallbacks
def people(
    npc: Any, *, offset: int = 0, limit: int = PAGE, text: str = ""
) -> Generator[Any, Any, list[Person]]:
    """Whom the NPC knows, the last seen first, as a Deferred list; `text` is in their name."""
    memory = npc.memory
    wanted = text.lower().strip()
    known = [each for each in memory.people if wanted in each.name.lower()]
    known.sort(key=lambda each: (each.last_seen, each.identity), reverse=True)
    found = []
    for number, each in enumerate(known[offset : offset + limit], start=1):
        found.append(_person(memory, each.identity))
        if number % PROFILES_AT_ONCE == 0:
            yield offload.breathe()
    return found


def person(npc: Any, identity: str) -> PersonPage:
    """All that the NPC knows of somebody. `ids.person` gives an identity for a name."""
    memory = npc.memory
    profile = memory.profiles.get(identity) or Profile(identity)
    return PersonPage(
        person=_person(memory, identity),
        attributes=profile.attributes,
        observations=profile.observations,
        preferences=tuple(memory.preferences.of(identity)),
        course=profile.relationship.course,
    )


def _person(memory: Any, identity: str) -> Person:
    met, profile = memory.people.get(identity), memory.profiles.get(identity)
    standing = profile.relationship if profile else Relationship()
    return Person(
        identity=identity,
        name=(met.name if met else "") or (profile.name if profile else ""),
        entity_type=profile.entity_type if profile else (met.entity_type if met else "player"),
        interactions=met.interactions if met else standing.interactions,
        last_seen=met.last_seen if met else standing.last_seen,
        state=standing.state,
        favorability=standing.favorability,
        observed=len(profile.observations) if profile else 0,
        known=len(profile.attributes) if profile else 0,
    )


# --- ownership ------------------------------------------------------------------------------------

OWN = "qdrant_edge"  # the provider whose files lie in the game's folder


def store_is_own() -> bool:
    """Whether the store of the settings is this game's alone."""
    return conf.get().VECTOR_STORE.provider == OWN


def known_minds(but: Any = None) -> set[str]:
    """The minds that objects of this game have, whatever their typeclass is now.

    A copy that carries the id of another body's does not have it.

    Args:
        but: An object whose mind does not count.
    """
    return {
        memory_id for memory_id, number in owner.owned().items() if but is None or number != but.id
    }


# --- graphing -------------------------------------------------------------------------------------

BUCKETS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Node:
    """A memory in the link graph. `linked` is its id in links, `id` what is typed for it."""

    linked: str
    id: str
    text: str
    record: str
    importance: float
    private: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two nodes, by their `linked`."""

    a: str
    b: str
    score: float
    kind: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The link graph: the nodes with the strongest links; `total` of nodes that have any."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    total: int


@defer.inlineCallbacks
def graph(npc: Any, limit: int = 500) -> Generator[Any, Any, Graph]:
    """The links of a mind, as a Deferred `Graph` of its `limit` most strongly linked memories."""
    memory = npc.memory
    edges: dict[tuple[str, str], Edge] = {}
    for first in range(0, BUCKETS, BUCKETS_AT_ONCE):
        numbers = range(first, min(first + BUCKETS_AT_ONCE, BUCKETS))
        for a, notes in memory.links.in_buckets(numbers):
            for b, note in notes.items():
                pair = (a, b) if a < b else (b, a)
                edges[pair] = Edge(*pair, note["score"], note["kind"])
        yield offload.breathe()
    strength: dict[str, float] = {}
    for edge in edges.values():
        for end in (edge.a, edge.b):
            strength[end] = strength.get(end, 0.0) + edge.score
    chosen = sorted(strength, key=lambda each: (-strength[each], each))[:limit]
    found = yield provenance.of_links(memory, chosen)
    nodes = [
        Node(each, ids.short_link(each), m.content, m.record, m.importance, m.private)
        for each in chosen
        if (m := found.get(each))
    ]
    there = {node.linked for node in nodes}
    kept = [edge for edge in edges.values() if edge.a in there and edge.b in there]
    return Graph(tuple(nodes), tuple(kept), len(strength))
