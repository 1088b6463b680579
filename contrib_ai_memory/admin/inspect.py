"""Look into a memory; nothing is changed here.

Reactor thread; whatever asks the store gives a Deferred. The prompt of an answer is in
`prompt_preview`.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from functools import cache, partial
from typing import Annotated, Any, Generic, TypeVar

from twisted.internet import defer

from .. import conf, offload
from ..conf import PAGE_SIZE
from ..errors import InputError
from ..ingest.index import to_memory
from ..llm import router
from ..llm.usage import Spent
from ..npc import CATEGORY, OFF_TAG
from ..recall.mood import Mood
from ..records import (
    INSIGHT,
    LOCKED,
    PINNED,
    RETOLD,
    AgendaItem,
    Entry,
    MemoryRecord,
    RecallResult,
    Weighed,
)
from ..script import KEY, AssistantScript
from ..sleep.night import PASSES, TITLES, schedule_told
from ..store import memory_store, pause
from ..store.attributes import from_plain
from ..store.journal import Journal, page_name
from ..store.links import link_id, linked_memory_id
from ..store.npc_memory import Memory
from ..store.npc_settings import OWN
from ..store.payload import entry_memory_id
from ..store.preferences import Preference
from ..store.profiles import Profile, ProfileAttribute, ProfileObservation, Relationship
from ..store.removal import Removal
from ..text import plural
from ..text.redaction import redact
from . import access, audit, closure, game_npcs, ids
from . import arguments as args
from .arguments import LARGEST, PAGE, Argument, between
from .jobs import in_turns, journal_pages, link_pages, look_job

ANSWERS_SHOWN = 5  # by `why`
READ_AT_ONCE = 64  # entries read between two turns of the reactor
ROWS_AT_ONCE = 16  # of the database, likewise
PROFILES_AT_ONCE = 8  # each may be a row of the database
READ_AT_MOST = 4096  # entries read in one search of the journal
PAGES_READ = 64  # of the journal, the newest: for the others their rows are enough
COUNTED_AT_MOST = 20_000  # entries of `stats`, the newest
DAYS_SHOWN = 60  # in `stats`
EVIDENCE_SHOWN = 50
LINKS_SHOWN = 100
TRACED = 200  # memories of one trace
GRAPH_READ = 200  # nodes read at once for the graph, and how many at most
GRAPH_SEARCHED = 5000
INSIGHTS_READ = 4096  # the newest
VACANT_CHECKED = 16  # missing pages of the journal whose entries are looked up in the store

_DAY = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?", re.ASCII)


def parse_date(text: str) -> str:
    """Check a date, month or year that was typed, and return it."""
    try:
        if not _DAY.fullmatch(text):
            raise ValueError
        date.fromisoformat(f"{text}-01-01"[:10])
    except ValueError:
        raise InputError(
            f"'{text[:40]}' is not a date. Dates look like 2026-11-20, 2026-11 or 2026 (UTC)."
        ) from None
    return text


Day = Annotated[str, Argument("a day, month or year (UTC): 2026-11-20", most=10, check=parse_date)]


@dataclass(frozen=True, slots=True)
class SettingShown:
    """One setting of an NPC, as text."""

    name: str
    value: str
    source: str  # "default", "game", "typeclass Guard", "prototype guard" or "this NPC"
    about: str

    @property
    def of_npc(self) -> bool:
        """Whether it is not the game's."""
        return self.source not in ("default", "game")


@dataclass(frozen=True, slots=True)
class NPCSettingsShown:
    """The settings of an NPC, and a sentence for each value that cannot be used."""

    settings: tuple[SettingShown, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """One NPC's memory on one line."""

    id: str  # the memory's UUID
    key: str
    dbref: str
    location: str  # name of the room, or ""
    state: str  # see `state_of`
    entries: int  # in the journal
    pending: int  # entries that are not indexed yet
    counts: dict[str, int]  # memories of each record
    links: int
    people: int
    last_night: str  # when the last one ended, ISO 8601 UTC, or ""
    tokens: int  # of the language model, today (UTC)
    last_beat: str  # of its heartbeat; "" before the first
    language: str  # which provider answers
    # only from `overview`: parts of the journal that are damaged ("the page of entries 33 to 64"),
    # settings that are not the game's, problems with settings
    damaged: tuple[str, ...] = ()
    settings: tuple[SettingShown, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Entries, newest first."""

    entries: tuple[Entry, ...]
    older: int | None  # `before` of the next page; None where there is nothing older
    searched_to: int  # the oldest entry that was read


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list; `total` counts all that match."""

    results: Sequence[Item]
    total: int


@dataclass(frozen=True, slots=True)
class PersonShown:
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
    """Everything that the NPC knows of somebody, secrets included."""

    person: PersonShown
    attributes: tuple[ProfileAttribute, ...]
    observations: tuple[ProfileObservation, ...]
    preferences: tuple[Preference, ...]
    course: tuple[tuple[str, float], ...] = ()  # (day, favorability), the newest last


@dataclass(frozen=True, slots=True)
class AgendaEntry:
    """An agenda item with its state by now (open, due, overdue, done, broken) and its people."""

    item: AgendaItem
    state: str
    who: str  # who is to do it: a name, the identity of somebody without one, or ""
    to: str  # whom it is owed to, likewise


# --- NPCs -----------------------------------------------------------------------------------------


@defer.inlineCallbacks
def visible(
    who: Any, limit: args.Limit = PAGE, offset: args.Offset = 0, text: args.Words = ""
) -> Generator[Any, Any, Page[Overview]]:
    """List the NPCs with a memory that you may look at, by name."""
    named = [npc for npc in game_npcs.npcs() if text.lower().strip() in npc.key.lower()]
    found = [npc for npc in named if access.may(who, npc, "look")]
    seen = yield overviews(found[offset : offset + limit])
    return Page(seen, len(found))


@dataclass(frozen=True, slots=True)
class LogRecord(audit.Record):
    """One action of staff; `there` says whether its NPC still is."""

    there: bool = False


def changes(
    who: Any,
    limit: args.Limit = PAGE,
    offset: args.Offset = 0,
    text: args.Words = "",
    npc: Annotated[int, between("its number; 0 is all NPCs", 0, LARGEST)] = 0,
) -> Page[LogRecord]:
    """List who of the staff changed what, newest first, for NPCs that you may look at. The text is
    looked for in names and actions."""
    there = cache(game_npcs.npc_of)

    @cache
    def may_see(number: int) -> bool:
        return there(number) is None or access.may(who, there(number), "look")

    wanted = text.lower().strip()
    found = [
        LogRecord(**asdict(record), there=there(record.npc_id) is not None)
        for record in audit.records()
        if npc in (0, record.npc_id)
        and wanted in f"{record.who} {record.action} {record.npc}".lower()
        and may_see(record.npc_id)
    ]
    return Page(found[offset : offset + limit], len(found))


def state_of(npc: Any) -> str:
    """Return awake, compacting, dreaming, paused or off; new without a heartbeat."""
    if not conf.get().ENABLED or OFF_TAG in npc.tags.get(category=CATEGORY, return_list=True):
        return "off"
    if pause.paused(npc):
        return "paused"
    for script in npc.scripts.get(KEY):
        asleep = script.db.operating_mode == "sleep"
        return (script.db.sleep_phase or "compacting") if asleep else "awake"
    return "new"


@defer.inlineCallbacks
def overview(npc: Any) -> Generator[Any, Any, Overview]:
    """Show its memory in numbers."""
    [found] = yield overviews([npc])
    pages = yield damaged_pages(npc)
    shown = settings(npc)
    return replace(
        found,
        damaged=tuple(map(page_name, pages)),
        settings=tuple(each for each in shown.settings if each.of_npc),
        problems=shown.problems,
    )


def settings(npc: Any) -> NPCSettingsShown:
    """Show its settings, and where each value comes from."""
    memory = npc.memory
    current, sources = memory.settings, memory.own_settings.sources()
    values = {name: _setting_text(getattr(current, name)) for name in sources}
    values["LLM"] = _llm_text(current)
    # Attributes and commands of their own, older than these settings
    values["PHRASES"] = ", ".join(sorted(memory.phrases)) or "none of its own"
    if own := memory.owner.attributes.get("memory_keywords"):
        values["KEYWORDS"] = _setting_text((*current.KEYWORDS, *own))
        sources["KEYWORDS"] = OWN
    sleep = AssistantScript.of(npc).sleep
    if sleep.own_schedule:
        sources["SLEEP_SCHEDULE"] = OWN
    values["SLEEP_SCHEDULE"] = schedule_told(sleep.schedule)
    shown = (
        SettingShown(name, redact(values[name]), source, conf.about(conf.Settings, name))
        for name, source in sources.items()
    )
    return NPCSettingsShown(tuple(shown), tuple(map(redact, memory.own_settings.problems)))


def _setting_text(value: Any) -> str:
    if value in (None, (), ""):
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _llm_text(current: conf.Settings) -> str:
    llm, game = current.LLM, conf.get().LLM
    if llm is None:
        return "none"
    own = {name: getattr(llm, name) for name in conf.LLM_OF_NPC if name != "model"}
    changed = ", ".join(
        f"{name} {value}" for name, value in own.items() if value != getattr(game, name)
    )
    return f"{llm.model} ({changed})" if changed else llm.model


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
        vacant = yield look_job(_stored_pages, npc.memory.id, vacant)
    return sorted({*damaged, *vacant})


def _stored_pages(agent_id: str, pages: Iterable[int]) -> list[int]:
    """Return those of the journal pages that the store has an entry of (worker thread)."""
    store = memory_store.shared()
    on_page = range(1, PAGE_SIZE + 1)
    return [
        number
        for number in pages
        if store.get(entry_memory_id(agent_id, number * PAGE_SIZE + each) for each in on_page)
    ]


@defer.inlineCallbacks
def overviews(npcs: Sequence[Any]) -> Generator[Any, Any, list[Overview]]:
    """Count what is in several memories, with one job for the store, as a Deferred list."""
    for npc in npcs:
        if npc.memory.journal.removed is None:
            yield _count_removed(npc.memory.journal)
        yield offload.breathe()
    counted = yield look_job(_counts_of, [npc.memory.id for npc in npcs])
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
        tokens=router.usage().of_npc(memory.id).tokens,
        last_beat=script.state.last_beat,
        language=router.status(memory.settings, memory.id),
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
    before: Annotated[int | None, between("only older entries", 1, LARGEST)] = None,
    limit: args.Limit = PAGE,
    text: args.Words = "",
    entity: args.Person = "",
    day: Day = "",
    kind: Annotated[str, Argument("say, whisper, arrive ...", most=20)] = "",
) -> Generator[Any, Any, JournalPage]:
    """Read what it perceived. Newest first; `entity` is whom entries are of or about, and `text`
    leaves out what the NPC only repeated. A request looks at up to 4,096 entries: with a filter, a
    page may be short or empty although there are older matches."""
    day = parse_date(day) if day else ""
    entity = ids.person(npc, entity) if entity.strip() else ""
    entries = npc.memory.journal
    last = len(entries) if before is None else min(before - 1, len(entries))
    first = max(1, last - READ_AT_MOST + 1)
    wanted = text.lower().strip()
    found: list[Entry] = []
    searched_to, over = last + 1, last < 1
    while not over and searched_to > first and len(found) < limit:
        start = max(first, searched_to - READ_AT_ONCE)
        for entry in reversed(list(entries.read(start, searched_to - 1))):
            if len(found) == limit:
                break
            searched_to = entry.id
            if _fits(entry, wanted, entity, day, kind):
                found.append(entry)
        else:
            searched_to = start
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
    return not text or (RETOLD not in entry.tags and text in entry.with_speaker().lower())


def _is_past(entry: Entry | None, day: str) -> bool:
    """Return whether a journal read backwards has passed that date."""
    return entry is not None and entry.timestamp[: len(day)] < day


def memories(
    npc: Any,
    record: args.Kind = "fact",
    *,
    limit: args.Limit = PAGE,
    offset: args.Offset = 0,
    text: args.Words = "",
    ended: bool = False,
) -> defer.Deferred[Page[MemoryRecord]]:
    """List the facts it knows. Or its experiences, taught texts, summaries, insights or journal
    entries, newest first; with `ended` those that were superseded or are invalid, instead of those
    that hold."""
    wanted = text.lower().strip()
    return look_job(_memories_of, npc.memory.id, record, offset, limit, wanted, ended)


def _memories_of(
    agent_id: str, record: str, offset: int, limit: int, text: str, ended: bool
) -> Page[MemoryRecord]:
    """List memories of the store (worker thread)."""
    found = [
        memory
        for memory in memory_store.shared().list(agent_id, limit=None, record=record)
        if bool(memory.superseded_by or memory.invalid_at) is ended
        and (not text or text in memory.content.lower())
    ]
    found.sort(key=lambda memory: (memory.created_at, memory.id), reverse=True)
    return Page(tuple(found[offset : offset + limit]), len(found))


def search(
    npc: Any,
    q: args.Query,
    speaker: args.Person = "",
    top_k: Annotated[int, between("how many", 1, 50)] = 20,
    tokens: Annotated[int, between("of all together", 50, 20_000)] = 2000,
) -> defer.Deferred[RecallResult]:
    """Search what it recalls for a question, with each score. Best first; with a speaker, only what
    that person may hear. Without one, secrets are included."""
    return npc.memory.recall(
        q,
        speaker=ids.person(npc, speaker) if speaker.strip() else None,
        top_k=top_k,
        token_budget=tokens,
    )


def mood(npc: Any) -> defer.Deferred[Mood]:
    """Show what it feels, and why."""
    return npc.memory.mood()


# --- people ---------------------------------------------------------------------------------------


@defer.inlineCallbacks
def people(
    npc: Any, *, limit: args.Limit = PAGE, offset: args.Offset = 0, text: args.Words = ""
) -> Generator[Any, Any, Page[PersonShown]]:
    """List the people it knows, or show one of them. The last seen first; the text is looked for in
    names."""
    memory = npc.memory
    wanted = text.lower().strip()
    known = [each for each in memory.people if wanted in each.name.lower()]
    known.sort(key=lambda each: (each.last_seen, each.identity), reverse=True)
    some = (each.identity for each in known[offset : offset + limit])
    found = yield in_turns(partial(_person, memory), some, PROFILES_AT_ONCE)
    return Page(found, len(known))


def person(npc: Any, person: args.Person) -> PersonPage:
    """Show everything it knows about a person, secrets included."""
    memory, identity = npc.memory, ids.person(npc, person)
    profile = memory.profiles.get(identity) or Profile(identity)
    return PersonPage(
        person=_person(memory, identity),
        attributes=profile.attributes,
        observations=profile.observations,
        preferences=tuple(memory.preferences.of(identity)),
        course=profile.relationship.course,
    )


def _person(memory: Memory, identity: str) -> PersonShown:
    met, profile = memory.people.get(identity), memory.profiles.get(identity)
    standing = profile.relationship if profile else Relationship()
    return PersonShown(
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
    """List promises, debts, requests and plans. Secrets included, the newest due date first."""
    memory, own = npc.memory, npc.get_memory_identity(npc)

    def name(identity: str) -> str:
        return npc.key if identity == own else memory.people.name_of(identity) or identity

    now = memory.clock()
    return [
        AgendaEntry(item, item.state_at(now), name(item.who), name(item.to))
        for item in memory.agenda.items()
    ]


# --- one memory -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkShown:
    """A link and its other end; `text` is empty if that was forgotten."""

    linked: str
    id: str
    record: str
    text: str
    private: bool
    score: float
    kind: str
    created: str


@dataclass(frozen=True, slots=True)
class Change:
    """One row of Mem0's history: the text before and after; `event` is ADD or UPDATE."""

    old: str
    new: str
    event: str
    when: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One memory with everything next to it."""

    id: str
    memory: MemoryRecord
    entry: Entry | None  # its journal entry, if it is one
    evidence: tuple[Entry, ...]  # the journal entries that it rests on
    forgotten: tuple[int, ...]  # ids of those that were forgotten
    links: tuple[LinkShown, ...]
    superseded_by: MemoryRecord | None
    superseded: tuple[MemoryRecord, ...]
    history: tuple[Change, ...]
    tags: tuple[str, ...]  # such as pinned and locked

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
    kind: str  # of the attribute, or "observation", "preference", "agenda item"
    text: str
    private: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """A memory, its sources and its results, nearest first."""

    root: Step
    sources: tuple[Step, ...]
    results: tuple[Step, ...]
    profiles: tuple[Drawn, ...]
    whole: bool = True  # False if there were more than `TRACED` of either


@defer.inlineCallbacks
def show(npc: Any, memory_id: args.Id) -> Generator[Any, Any, Shown]:
    """Show one memory in full. With its evidence, links, history, and what it superseded or what
    superseded it."""
    memory = npc.memory
    record = yield ids.find(npc, memory_id)
    entry = ids.entry_of(memory, link_id(record))
    evidence = [] if entry and entry.kind != INSIGHT else list(record.journal_ids)
    found = [memory.journal.get(each) for each in evidence[:EVIDENCE_SHOWN]]
    history, by, over = yield look_job(_stored_context, memory.id, record)
    notes = memory.links.of(link_id(record))
    strongest = sorted(notes, key=lambda each: (-notes[each]["score"], each))[:LINKS_SHOWN]
    others = yield of_links(memory, strongest)
    return Shown(
        id=ids.short(record),
        memory=record,
        entry=entry,
        evidence=tuple(each for each in found if each and each.id != getattr(entry, "id", 0)),
        forgotten=tuple(
            number for number, each in zip(evidence, found, strict=False) if each is None
        ),
        links=tuple(_linked(each, others.get(each), notes[each]) for each in strongest),
        superseded_by=by,
        superseded=tuple(over),
        history=history,
        tags=tuple(dict.fromkeys((*record.tags, *(entry.tags if entry else ())))),
    )


def _stored_context(
    agent_id: str, record: MemoryRecord
) -> tuple[tuple[Change, ...], MemoryRecord | None, list[MemoryRecord]]:
    """Read its history, what superseded it and what it superseded (worker thread)."""
    store = memory_store.shared()
    by = store.get([record.superseded_by]) if record.superseded_by else []
    over = store.list(agent_id, limit=EVIDENCE_SHOWN, superseded_by=record.id)
    rows = [Change(*row) for row in store.history.of(record.id)]
    return tuple(rows), by[0] if by else None, over


def _linked(linked: str, other: MemoryRecord | None, note: dict[str, Any]) -> LinkShown:
    shown = (other.record, other.content, other.private) if other else ("", "", False)
    return LinkShown(linked, ids.short_link(linked), *shown, **note)


@defer.inlineCallbacks
def of_links(memory: Memory, linked: Iterable[str]) -> Generator[Any, Any, dict[str, MemoryRecord]]:
    """Read the memories of link ids, as a Deferred dict; entries not indexed yet included."""
    wanted = {linked_memory_id(memory.id, each): each for each in linked}
    stored = yield look_job(memory_store.get, list(wanted))
    found = {wanted[record.id]: record for record in stored}
    missing = sorted(set(wanted.values()) - set(found))
    entries = yield in_turns(partial(ids.entry_of, memory), missing, ROWS_AT_ONCE)
    there = ((each, entry) for each, entry in zip(missing, entries, strict=True) if entry)
    return found | {each: to_memory(memory.id, entry) for each, entry in there}


# --- why it said what it said ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Why:
    """A reply of an NPC, and the memories that were weighed for it, by their link ids; the text of
    one that a night has pruned since is empty."""

    asked: str
    asker: str
    said: str
    when: str
    private: bool
    weighed: tuple[Weighed, ...]
    row: str = ""  # the kind of stock phrase that it began with, and for what


@defer.inlineCallbacks
def why(npc: Any, limit: int = ANSWERS_SHOWN) -> Generator[Any, Any, list[Why]]:
    """Show what its last answers were chosen from. The newest first."""
    memory = npc.memory
    talked = ((memory.journal.get(x.asked), memory.journal.get(x.said), x) for x in memory.reasons)
    found = [*itertools.islice((each for each in talked if each[0] and each[1]), limit)]
    linked = {each for *_, why in found for each, *_ in why.weighed if each}
    known = yield of_links(memory, linked)
    return [
        Why(
            asked.content,
            asked.seen_as,
            said.content,
            said.timestamp,
            asked.private or said.private,
            tuple(_weighed(known.get(each), each, *rest) for each, *rest in why.weighed),
            why.row,
        )
        for asked, said, why in found
    ]


def _weighed(record: MemoryRecord | None, linked: str, score: float, told: bool) -> Weighed:
    if not linked:
        return Weighed("its persona", score, "", told)
    text, private = (record.content, record.private) if record else ("", False)
    return Weighed(text, score, linked, told, private)


# --- sources and results --------------------------------------------------------------------------


@defer.inlineCallbacks
def trace(npc: Any, memory_id: args.Id) -> Generator[Any, Any, Trace]:
    """Show what a memory was derived from, and what was derived from it."""
    memory = npc.memory
    root = yield ids.find(npc, memory_id)
    drawn = yield look_job(_drawn_of, memory.id)
    insights = yield _insights(memory)
    sources = yield _follow(root, lambda each: _sources_of(memory, each))
    results = yield _follow(root, lambda each: _results_of(memory.id, each, drawn, insights))
    reached = ids.entry_ids([root, *(step.memory for step in results)])
    return Trace(
        root=_step(root),
        sources=tuple(sources[:TRACED]),
        results=tuple(results[:TRACED]),
        profiles=(yield profiled(memory, set(reached))),
        whole=max(len(sources), len(results)) <= TRACED,
    )


def _step(memory: MemoryRecord, depth: int = 0, came_by: str = "") -> Step:
    return Step(memory, ids.short(memory), depth, came_by)


@defer.inlineCallbacks
def _follow(
    root: MemoryRecord, next_of: Callable[[MemoryRecord], Any]
) -> Generator[Any, Any, list[Step]]:
    """Collect all that is reached from `root` by `next_of`, breadth first."""
    seen, layer = {root.id}, [_step(root)]
    reached: list[Step] = []
    while layer and len(reached) <= TRACED:
        following: list[Step] = []
        for step in layer:
            found = yield defer.maybeDeferred(next_of, step.memory)
            new = {record.id: record for record in found if record.id not in seen}
            seen.update(new)
            following += [_step(record, step.depth + 1, step.id) for record in new.values()]
            yield offload.breathe()
        reached += following
        layer = following
    return reached


@defer.inlineCallbacks
def _sources_of(memory: Memory, record: MemoryRecord) -> Generator[Any, Any, list[MemoryRecord]]:
    linked = link_id(record)
    entry = ids.entry_of(memory, linked)
    cited = [*map(str, record.journal_ids)]
    if linked.isdecimal():
        cited = list(entry.evidence) if entry else []
    found = yield of_links(memory, cited[: TRACED + 1])
    return [found[each] for each in cited if each in found]


def _results_of(
    agent_id: str, record: MemoryRecord, drawn: list[MemoryRecord], insights: list[Entry]
) -> list[MemoryRecord]:
    linked = link_id(record)
    found = [each for each in drawn if linked.isdecimal() and int(linked) in each.journal_ids]
    found += [to_memory(agent_id, entry) for entry in insights if linked in entry.evidence]
    return sorted(found, key=lambda each: (each.created_at, each.id))


def _drawn_of(agent_id: str) -> list[MemoryRecord]:
    """Read all memories of an NPC that are no journal entries (worker thread)."""
    store = memory_store.shared()
    return [m for record in ids.DRAWN for m in store.list(agent_id, limit=None, record=record)]


@defer.inlineCallbacks
def _insights(memory: Memory) -> Generator[Any, Any, list[Entry]]:
    """Read the newest insights from the journal: only there stands what they cite."""
    found = yield look_job(memory_store.newest, memory.id, INSIGHT, INSIGHTS_READ)
    numbers = (record.journal_ids[0] for record in found)
    entries = yield in_turns(memory.journal.get, numbers, ROWS_AT_ONCE)
    return [*filter(None, entries)]


@defer.inlineCallbacks
def profiled(memory: Memory, entries: set[int]) -> Generator[Any, Any, tuple[Drawn, ...]]:
    """Find what in profiles, preferences and the agenda rests on these entries, as a Deferred
    tuple."""
    removal = Removal(entries, {entry_memory_id(memory.id, each) for each in entries})
    name_of, found = memory.people.name_of, list[Drawn]()
    for identity, name, noted, known in (yield closure.notes(memory, removal)):
        who = identity, name or name_of(identity)
        found += [Drawn(*who, each.type, each.value, each.private) for each in known]
        found += [Drawn(*who, "observation", each.text, each.private) for each in noted]
    preferences = memory.preferences
    held = yield in_turns(lambda each: each, preferences, ROWS_AT_ONCE)
    found += [
        Drawn(each.identity, name_of(each.identity), "preference", each.text, each.private)
        for each in held
        if preferences.without(each, removal) != each
    ]
    found += [
        Drawn(each.who, name_of(each.who), "agenda item", each.text, each.private)
        for each in memory.agenda.resting_on(removal)
    ]
    return tuple(found[:TRACED])


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
    """The nodes with the strongest links, and their links; `total` counts all linked nodes, of any
    kind."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    total: int


@defer.inlineCallbacks
def graph(
    npc: Any,
    limit: Annotated[int, between("how many memories", 1, 2000)] = 500,
    records: args.Kinds = (),
) -> Generator[Any, Any, Graph]:
    """Show the most strongly linked memories and the links between them. What was drawn from talk
    (facts, experiences, summaries) comes before the talk itself."""
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
    ordered = sorted(strength, key=lambda each: (each.isdecimal(), -strength[each], each))
    nodes: list[Node] = []
    at_once = max(limit, GRAPH_READ)
    for first in range(0, min(len(ordered), GRAPH_SEARCHED), at_once):
        chosen = ordered[first : first + at_once]
        found = yield of_links(memory, chosen)
        nodes += [
            Node(each, ids.short_link(each), m.content, m.record, m.importance, m.private)
            for each in chosen
            if (m := found.get(each)) and (not records or m.record in records)
        ]
        if len(nodes) >= limit:
            break
    nodes = nodes[:limit]
    there = {node.linked for node in nodes}
    kept = [edge for edge in edges.values() if edge.a in there and edge.b in there]
    return Graph(tuple(nodes), tuple(kept), len(strength))


# --- numbers: nights, cost, growth ---


@dataclass(frozen=True, slots=True)
class PassDone:
    """One pass of a night: its name in [A], a title for people, and who did it (`Tally`)."""

    name: str
    title: str
    read: int
    changed: int
    seconds: float
    errors: tuple[str, ...]
    steps: int = 0
    made_by: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    tokens: int = 0
    unanswered: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def told(self) -> tuple[str, ...]:
        """Who did it, why another did it instead, and what was not kept, as phrases."""
        told = []
        if self.made_by:
            who = (f"the {_PROVIDERS.get(name, name)}" for name in self.made_by)
            told.append(f"by {' and '.join(who)}")
        if self.calls:
            calls, tokens = plural(self.calls, "call"), plural(self.tokens, "token")
            told.append(f"{calls} of the language model, {tokens}")
        told += [f"no answer: {_times(*each)}" for each in self.unanswered.items()]
        told += [f"not kept: {_times(*each)}" for each in self.refused.items()]
        return tuple(told)


_PROVIDERS = {router.MODEL: "language model", router.OFFLINE: "offline provider"}


def _times(reason: str, count: int) -> str:
    return f"{reason} ({count} times)" if count > 1 else reason


@dataclass(frozen=True, slots=True)
class NightDone:
    """One night."""

    started: str
    ended: str
    whole: bool  # False if the NPC was woken before its end
    passes: tuple[PassDone, ...]
    trouble: str = ""  # what the language model did not do, in a sentence


@dataclass(frozen=True, slots=True)
class NightProgress:
    """How far the current night is: the pass it is in, from 1, of `passes`."""

    phase: str | None
    position: int
    passes: int
    name: str | None
    title: str
    waking: bool


@dataclass(frozen=True, slots=True)
class Status:
    """An NPC's state: awake, compacting, dreaming, paused or off. `night` is null while awake."""

    state: str
    night: NightProgress | None
    changed: bool = True  # False if pausing or resuming it changed nothing


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of the language model today (UTC)."""

    day: str
    game: Spent
    npc: Spent  # this NPC's share
    by_purpose: dict[str, Spent]  # of the game, by operation
    game_limit: int | None  # tokens a day
    npc_limit: int | None
    language: str  # which provider answers now, in a sentence


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts for the charts; days are those of UTC."""

    entries: int  # counted; of a very long journal the newest
    importance: dict[int, int] = field(default_factory=dict)  # 1-10: entries
    emotions: tuple[tuple[str, int], ...] = ()  # of experiences, the most frequent first
    growth: tuple[tuple[str, int], ...] = ()  # (day, entries), oldest first
    kinds: dict[str, int] = field(default_factory=dict)  # of entries
    memories: dict[str, int] = field(default_factory=dict)  # in the store, of each record
    cost: tuple[tuple[str, int], ...] = ()  # (day, tokens) of the last thirty days with any calls


def status(npc: Any) -> Status:
    """Show whether it is awake, and the progress of its night. Cheap enough to poll every
    second."""
    script, progress = AssistantScript.of(npc), None
    if script.asleep:
        night = script.sleep.night
        progress = NightProgress(
            phase=night.phase,
            position=min(night.position + 1, len(PASSES)),
            passes=len(PASSES),
            name=night.pass_name,
            title=TITLES.get(night.pass_name, ""),
            waking=bool(script.db.wake_requested),
        )
    return Status(state_of(npc), progress)


def nights(npc: Any) -> list[NightDone]:
    """Show what each of the last nights did. Newest first."""
    return [_night(record) for record in reversed(AssistantScript.of(npc).sleep.records)]


def _night(record: dict[str, Any]) -> NightDone:
    passes = [
        from_plain(PassDone, {**done, "name": name, "title": TITLES.get(name, name)})
        for name, done in record["passes"].items()
    ]
    started, whole = record.get("started") or "", record.get("whole", True)
    return NightDone(started, record["ended"], whole, tuple(passes), _trouble(passes))


def _trouble(passes: Sequence[PassDone]) -> str:
    """Return a sentence if the language model did not do all that was asked of it."""
    failed = [each for each in passes if each.unanswered]
    if not failed:
        return ""
    reasons = dict.fromkeys(reason for each in failed for reason in each.unanswered)
    return (
        f"The language model gave no usable answer ({'; '.join(reasons)}). "
        f"Done without it: {', '.join(each.title for each in failed)}."
    )


def cost(npc: Any) -> Cost:
    """Show today's use of the language model. By this NPC and by the whole game; the days are those
    of UTC."""
    settings = npc.memory.settings
    spent, whole, own = router.usage(), conf.get().LLM, settings.LLM
    return Cost(
        day=spent.day,
        game=spent.whole,
        npc=spent.of_npc(npc.memory.id),
        by_purpose=spent.purposes,
        game_limit=whole.daily_tokens if whole else None,
        npc_limit=own.daily_tokens_per_npc if own else None,
        language=router.status(settings, npc.memory.id),
    )


@defer.inlineCallbacks
def stats(npc: Any) -> Generator[Any, Any, Stats]:
    """Show growth, importance and emotions in numbers."""
    memory = npc.memory
    importance: Counter = Counter()
    kinds: Counter = Counter()
    days: Counter = Counter()
    first = max(1, len(memory.journal) - COUNTED_AT_MOST + 1)
    for page in journal_pages(memory.journal, first):
        for entry in page:
            importance[entry.importance] += 1
            kinds[entry.kind] += 1
            days[entry.timestamp[:10]] += 1
        yield offload.breathe()
    counts, felt = yield look_job(_counts, memory.id)
    return Stats(
        entries=kinds.total(),
        importance={each: importance[each] for each in range(1, 11)},
        emotions=tuple(felt),
        growth=tuple(sorted(days.items())[-DAYS_SHOWN:]),
        kinds=dict(kinds.most_common()),
        memories=counts,
        cost=tuple(router.tokens_by_day(memory.id)),
    )


def _counts(agent_id: str) -> tuple[dict[str, int], list[tuple[str, int]]]:
    """Count memories by record, and the emotions of experiences (worker thread)."""
    store = memory_store.shared()
    felt: Counter = Counter()
    for memory in store.list(agent_id, limit=None, record="experience"):
        felt.update(memory.dominant_emotions)
    return store.counts(agent_id), felt.most_common()
