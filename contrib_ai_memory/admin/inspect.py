"""Look into a memory: overview, journal, memories of the store, people, link graph.

Nothing is changed here. One memory with its evidence and links is in `provenance`, numbers over
time in `stats`, the prompt of an answer in `preview`. Reactor thread; whatever asks the store gives
a Deferred.

Also here: which memories of the store are this game's. In the game's own folder all are, and those
whose NPC is gone are orphans. A collection on a server may hold the memories of other games:
nothing there is listed, deleted or remade except for the memory ids in this game's database.
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
from ..conf import PAGE_SIZE
from ..llm import router
from ..npc import CATEGORY, OFF_TAG, MemoryMixin
from ..records import AgendaItem, Entry, MemoryRecord
from ..script import AssistantScript
from ..store import memory_store, owner, pause
from ..store.journal import Journal, page_name
from ..store.payload import entry_memory_id
from ..store.preferences import Preference
from ..store.profiles import Profile, ProfileAttribute, ProfileObservation, Relationship
from . import ids, provenance
from .jobs import link_pages, look_job

OWN_PROVIDER = "qdrant_edge"  # the provider whose files lie in the game's folder
PAGE = 50
READ_AT_ONCE = 64  # entries read between two turns of the reactor
PROFILES_AT_ONCE = 8  # each may be a row of the database
READ_AT_MOST = 4096  # entries read in one search of the journal
PAGES_READ = 64  # of the journal, the newest: for the others their rows are enough
VACANT_CHECKED = 16  # missing pages of the journal whose entries are looked up in the store

_DAY = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?", re.ASCII)


class InvalidSearch(ValueError):
    """The journal cannot be searched for that; the message says how it can."""


class InvalidDate(InvalidSearch):
    """There is no such date."""


@dataclass(frozen=True, slots=True)
class Overview:
    """One NPC's memory on one line.

    Attributes:
        id: The memory's UUID.
        location: Name of the room, or "".
        state: awake, compacting, dreaming, paused or off.
        entries: In the journal.
        pending: Entries that are not indexed yet.
        counts: How many memories of each record.
        last_night: When the last one ended, ISO 8601 UTC, or "".
        tokens: Of the language model, today (UTC).
        last_beat: Of its heartbeat; "" before the first.
        language: Which provider answers.
        damaged: Pages of the journal that cannot be read or are missing, each as "the page of
            entries 33 to 64"; only from `overview`.
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
        searched_to: The oldest entry that was read.
    """

    entries: tuple[Entry, ...]
    older: int | None
    searched_to: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """Memories of one record, newest first; `total` counts all that match."""

    memories: tuple[MemoryRecord, ...]
    total: int
    offset: int


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody the NPC knows. `observed` counts observations, `known` attributes."""

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
    """All that the NPC knows of somebody, secrets included.

    `course` is the history of the relationship: (day, favorability), the newest last.
    """

    person: Person
    attributes: tuple[ProfileAttribute, ...]
    observations: tuple[ProfileObservation, ...]
    preferences: tuple[Preference, ...]
    course: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class AgendaEntry:
    """An agenda item with its state by now (open, due, overdue, done, broken) and its people.

    `who` is to do it, `to` is whom it is owed to: names, identities of people with none, or "".
    """

    item: AgendaItem
    state: str
    who: str
    to: str


# --- NPCs -----------------------------------------------------------------------------------------


def npcs() -> list[Any]:
    """All NPCs that have a memory, by name."""
    paths = ObjectDB.objects.values_list("db_typeclass_path", flat=True).distinct()
    remembering = [path for path in paths if _remembers(path)]
    found = ObjectDB.objects.filter(db_typeclass_path__in=remembering)
    return sorted(found, key=lambda npc: (npc.key.lower(), npc.id))


def npcs_that_heard(utterances: Iterable[str]) -> Iterator[Any]:
    """Yield the NPCs that ever heard one of the speakers of these (`Entry.utterance`)."""
    speakers = {each.partition(":")[0] for each in utterances}
    for npc in npcs():
        remembers = npc.pk and npc.attributes.has("memory_id")
        if remembers and any(map(npc.memory.journal.heard_from, speakers)):
            yield npc


def owners_of(agent_id: str) -> list[Any]:
    """Return the object of this game with that memory id, whatever its typeclass; at most one."""
    number = owner.owned().get(agent_id)
    return list(ObjectDB.objects.filter(id=number)) if number else []


def known_agent_ids(but: Any = None) -> set[str]:
    """Return the memory ids of this game's objects, whatever their typeclass is now.

    A copy that carries the id of another object does not count.

    Args:
        but: An object to leave out.
    """
    return {
        agent_id for agent_id, number in owner.owned().items() if but is None or number != but.id
    }


def store_is_own() -> bool:
    """Whether the store of the settings is this game's alone."""
    return conf.get().VECTOR_STORE.provider == OWN_PROVIDER


def _remembers(path: str) -> bool:
    try:
        return issubclass(class_from_module(path), MemoryMixin)
    except ImportError:  # a typeclass that is gone; Evennia logs it
        return False


def state_of(npc: Any) -> str:
    """Return awake, compacting, dreaming, paused or off."""
    if not conf.get().ENABLED or OFF_TAG in npc.tags.get(category=CATEGORY, return_list=True):
        return "off"
    if pause.paused(npc):
        return "paused"
    script = AssistantScript.of(npc)
    return (script.db.sleep_phase or "compacting") if script.asleep else "awake"


@defer.inlineCallbacks
def overview(npc: Any) -> Generator[Any, Any, Overview]:
    """Count what is in one NPC's memory, as a Deferred `Overview`."""
    [found] = yield overviews([npc])
    pages = yield damaged_pages(npc)
    return replace(found, damaged=tuple(map(page_name, pages)))


@defer.inlineCallbacks
def damaged_pages(npc: Any) -> Generator[Any, Any, list[int]]:
    """Find pages of a journal that cannot be read, or that are missing although the store holds
    entries of them, as a Deferred list of page numbers."""
    journal = npc.memory.journal
    newest = max(1, len(journal) - PAGES_READ * PAGE_SIZE)
    for first in range(newest, len(journal) + 1, PAGE_SIZE):
        journal.get(first)  # reads its page, and notes what is wrong with it
        yield offload.breathe()
    damaged, vacant = journal.damaged_pages(), journal.empty_pages(VACANT_CHECKED)
    yield offload.breathe()
    if vacant:
        job = _stored_pages, npc.memory.id, vacant
        vacant = yield look_job(*job)
    return sorted({*damaged, *vacant})


def _stored_pages(agent_id: str, pages: Iterable[int]) -> list[int]:
    """Those of the journal pages of which the store holds an entry (worker thread)."""
    store = memory_store.shared()
    on_page = range(1, PAGE_SIZE + 1)
    return [
        number
        for number in pages
        if store.get(entry_memory_id(agent_id, number * PAGE_SIZE + each) for each in on_page)
    ]


@defer.inlineCallbacks
def overviews(npcs: Sequence[Any]) -> Generator[Any, Any, list[Overview]]:
    """The same for several, with one job for the store, as a Deferred list."""
    ids = []
    for npc in npcs:
        ids.append(npc.memory.id)
        if npc.memory.journal.removed is None:
            yield _count_removed(npc.memory.journal)
        yield offload.breathe()
    counted = yield look_job(_counts_of, ids)
    found = []
    for npc in npcs:
        if npc.pk:
            found.append(_overview(npc, counted[npc.memory.id]))
        yield offload.breathe()
    return found


@defer.inlineCallbacks
def _count_removed(entries: Journal) -> Generator[Any, Any, None]:
    """Count the removed entries of a journal that was never counted."""
    last, there = entries.last_id, 0
    for first in range(1, last + 1, READ_AT_ONCE):
        there += sum(1 for _ in entries.read(first, min(first + READ_AT_ONCE - 1, last)))
        yield offload.breathe()
    if entries.removed is None:
        entries.set_removed(last - there)


def _counts_of(agent_ids: Iterable[str]) -> dict[str, dict[str, int]]:
    """Count the memories of each record for each NPC (worker thread)."""
    store = memory_store.shared()
    return {agent_id: store.counts(agent_id) for agent_id in agent_ids}


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
        last_night=script.sleep.last_night,
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
    """Read a page of the journal backwards, as a Deferred `JournalPage`.

    Args:
        before: Only entries with smaller ids; None begins with the newest.
        limit: Entries on the page.
        text: Only entries that contain this text, in any case.
        entity: Only entries of or about this memory identity.
        day: Only of this date (UTC): 2026-11-20, 2026-11 or 2026.
        kind: Only of this kind: say, whisper, note …

    Raises (in the Deferred):
        InvalidDate
    """
    day = parse_date(day) if day else ""
    entries = npc.memory.journal
    last = len(entries) if before is None else min(before - 1, len(entries))
    first = max(1, last - READ_AT_MOST + 1)
    wanted = text.lower().strip()
    found: list[Entry] = []
    searched_to = last + 1
    while searched_to > first and len(found) < limit:
        start = max(first, searched_to - READ_AT_ONCE)
        for entry in reversed(list(entries.read(start, searched_to - 1))):
            if len(found) == limit:
                break
            searched_to = entry.id
            if _fits(entry, wanted, entity, day, kind):
                found.append(entry)
        else:
            searched_to = start
        if day and searched_to > 1 and _is_past(entries.get(searched_to), day):
            break
        yield offload.breathe()
    over = searched_to <= 1 or bool(day and _is_past(entries.get(searched_to), day))
    return JournalPage(tuple(found), None if over else searched_to, searched_to)


def _fits(entry: Entry, text: str, entity: str, day: str, kind: str) -> bool:
    if kind and entry.kind != kind:
        return False
    if day and not entry.timestamp.startswith(day):
        return False
    if entity and entity != entry.source_entity and entity not in entry.entities:
        return False
    return not text or text in entry.with_speaker().lower()


def parse_date(text: str) -> str:
    """Check a date, month or year that was typed, and return it.

    Raises:
        InvalidDate: The message says how dates look.
    """
    year, month, day = ([*text.split("-"), "01", "01"])[:3]
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        date(int(year), int(month), int(day))
    except ValueError:
        raise InvalidDate(
            f"'{text[:40]}' is not a date. Dates look like 2026-11-20, 2026-11 or 2026 (UTC)."
        ) from None
    return text


def _is_past(entry: Entry | None, day: str) -> bool:
    """Whether a journal read backwards has passed that date."""
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
    """List memories of one record, newest first, as a Deferred `MemoryPage`.

    Args:
        record: entry, experience, fact, taught, summary or insight.
        text: Only those that contain this text, in any case.
        ended: Those that were superseded or are invalid, instead of those that hold.
    """
    job = _memories_of, npc.memory.id, record, offset, limit, text.lower().strip(), ended
    return look_job(*job)


def _memories_of(
    agent_id: str, record: str, offset: int, limit: int, text: str, ended: bool
) -> MemoryPage:
    """The store's part of `memories` (worker thread)."""
    found = [
        memory
        for memory in memory_store.shared().list(agent_id, limit=None, record=record)
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
    """List whom the NPC knows, the last seen first, as a Deferred; `text` is part of the name."""
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
    """Return all that the NPC knows of somebody; `ids.person` finds the identity for a name."""
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


def agenda(npc: Any) -> list[AgendaEntry]:
    """List what is on the NPC's agenda, secrets included, the newest due date first."""
    memory, own = npc.memory, npc.get_memory_identity(npc)

    def name(identity: str) -> str:
        return npc.key if identity == own else memory.people.name_of(identity) or identity

    now = memory.clock()
    return [
        AgendaEntry(item, item.state_at(now), name(item.who), name(item.to))
        for item in memory.agenda.items()
    ]


# --- the link graph ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Node:
    """A memory in the link graph. `linked` is its link id, `id` what is typed for it."""

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
    """Collect the links of a memory, as a Deferred `Graph` of its `limit` most linked nodes."""
    memory = npc.memory
    edges: dict[tuple[str, str], Edge] = {}
    for page in link_pages(memory.links):
        for a, notes in page:
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
