"""Endings: what is over, by whom and since when, is written here and taken back here, by whichever
pass it was found: a new line, a night, a preference, a builder's edit.

A memory that ended stays in the store, and is recalled as past; what never held (it was corrected
or denied, and has no time since when it is over) gives way to what is told in its place. When the
newer line is forgotten, the memories hold again (`admin.forget`).

Each new line of others ends at once what it says holds no longer among the nearest lines and facts
(`Language.ended`), in profiles and agenda too; with a language model, where the language reads it
(docs/adr/023). The NPC's own words end what it said itself before, and what a model finds that they
settle between it and somebody (`end_by_lines`): they are no evidence of others, nor others' words
of what it says. A line ends only what all who heard it may
know, and nothing that is locked or pinned. A correction ends the line that it corrects as a whole:
completed, it tells all else of that line too (`ingest.corrected_lines`). A fact ends sooner than
the line that told it, since a line may tell more.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet import defer

from .. import language
from ..embedding import embedder
from ..language import BEFORE, NEAREST, EndingVerdict, NewLine
from ..llm import router
from ..local_time import local
from ..records import (
    LOCKED,
    MOVE_KINDS,
    OWN,
    PINNED,
    TALK_KINDS,
    TEXT_KEPT,
    AgendaItem,
    Entry,
    MemoryRecord,
)
from ..store import memory_store
from ..store.evidence import Work
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from ..store.profiles import ProfileAttribute, audience_of
from ..store.protocol import MemoryStore
from ..store.removal import Removal
from .agenda_items import circle_of
from .corrected_lines import corrected_before

KEPT_TAGS = frozenset({"conscious", PINNED, LOCKED})  # ended or pruned by no pass
SAME_CONTENT = 0.8  # share of a memory's words in an attribute that tells it


@dataclass(frozen=True, slots=True)
class End:
    """That a memory is over."""

    past: str  # its id
    by: str = ""  # id of the memory that says so; "" if it is not stored
    # since when it holds no longer, ISO 8601; None if it never held, or if the other one says the
    # same and is told in its place
    since: str | None = None

    @classmethod
    def of(cls, memory: MemoryRecord) -> End:
        return cls(memory.id, memory.superseded_by or "", memory.invalid_at)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a `MemoryRecord` that tell it."""
        return {"superseded_by": self.by or None, "invalid_at": self.since}


def end(
    store: MemoryStore,
    ends: Iterable[End],
    *,
    spared: Collection[str] = KEPT_TAGS,
    anew: bool = False,
    **more: Any,
) -> None:
    """Mark memories as over (worker thread), and write `more` fields. Done again, it changes
    nothing.

    Args:
        spared: Tags of memories that do not end.
        anew: Also end those that another memory has ended.
    """
    by_past = {each.past: each for each in ends}
    for memory in store.get(by_past):
        holds = anew or not memory.superseded_by
        if holds and set(spared).isdisjoint(memory.tags):
            store.change(memory.id, **by_past[memory.id].fields, **more)


def take_back(store: MemoryStore, ids: Iterable[str], **more: Any) -> None:
    """Let memories hold again (worker thread); `more` as for `end`."""
    for memory_id in ids:
        store.change(memory_id, **End(memory_id).fields, **more)


@defer.inlineCallbacks
def apply(
    memory: Memory, entries: Sequence[Entry], work: Work, records: Sequence[str] = ("entry", "fact")
) -> Generator[Any, Any, None]:
    """End what new lines, oldest first and stored, say is over of these records. Done again, it
    changes nothing."""
    lines = [_with_context(memory, entry) for entry in entries if may_end(entry)]
    if lines and not router.rules_judge(memory.settings):
        lines = yield work.run(_readable, lines)
    if not lines:
        return
    names = (memory.name, *memory.people.names())
    ended = yield work.run(end_in_store, memory.id, lines, names, tuple(records))
    for by, past, verdict in ended:
        remove_attributes(memory, past)
        if verdict.sure and not by.is_own:  # its own items are changed as they are read
            _end_in_agenda(memory, past, by, verdict)
        yield work.breathe()


@defer.inlineCallbacks
def end_closed(memory: Memory, entries: Sequence[Entry], work: Work) -> Generator[Any, Any, None]:
    """End the facts of agenda items that are closed by now, and that entries state or close.

    Done again, it changes nothing.
    """
    closed = []
    for item in memory.agenda.resting_on(Removal({entry.id for entry in entries})):
        by = memory.journal.get(item.closed_by[-1]) if item.closed_by else None
        if item.state != "open" and by is not None:
            closed.append((item, by))
    if closed:
        yield work.run(end_closed_in_store, memory.id, closed)


@defer.inlineCallbacks
def end_by_lines(
    memory: Memory, over: Mapping[str, int], known: Sequence[MemoryRecord], work: Work
) -> Generator[Any, Any, None]:
    """End facts that a language model found lines to end. Done again, it changes nothing.

    The NPC's own words end what is owed, promised or asked between it and somebody, and nothing
    else.

    Args:
        over: Journal ids of the lines, by the ids of the facts.
    """
    for fact in known:
        if (by := memory.journal.get(over.get(fact.id, 0))) is None:
            continue
        items = [
            item
            for item in memory.agenda.resting_on(Removal({*fact.journal_ids}))
            if item.concerns(memory.identity) or not by.is_own
            if not set(item.evidence).isdisjoint(fact.journal_ids)
        ]
        for item in items:
            if item.state == "open":
                memory.agenda.put(item.closed("done", by))
        if items or not by.is_own:
            yield work.run(_end_by, memory.id, fact, by)


def may_end(entry: Entry) -> bool:
    """Whether an entry may end anything: what others say or are seen to do and what the NPC says,
    and no question."""
    heard = entry.origin == "perceived" and entry.recallable and entry.learnable
    says = entry.is_own and entry.kind in TALK_KINDS
    tells = not entry.is_move and not entry.is_question
    return (heard or says) and tells and bool(language.get().content_words(entry.words))


def _with_context(memory: Memory, entry: Entry) -> NewLine:
    last = memory.journal.read(entry.id - BEFORE, entry.id - 1)
    before = tuple(each for each in last if each.circle == entry.circle)
    if corrected := corrected_before(memory, entry):
        return NewLine(entry, before, corrected[0].id, corrected[1])
    return NewLine(entry, before)


# --- what ends (worker thread) --------------------------------------------------------------------


def _readable(lines: Sequence[NewLine]) -> list[NewLine]:
    return [line for line in lines if language.get().reads(line.entry.words)]


def end_in_store(
    agent_id: str, lines: Sequence[NewLine], names: Sequence[str], records: Sequence[str]
) -> list[tuple[Entry, MemoryRecord, EndingVerdict]]:
    """Mark the memories that lines end, and return them, with those that they had ended before."""
    store = memory_store.shared()
    found = []
    for line in lines:
        by = entry_memory_id(agent_id, line.entry.id)
        for record in records:
            for past, verdict in _ended_by(store, agent_id, line, names, record):
                found.append((line.entry, past, verdict))
                drawn = store.derived_from(agent_id, past) if record == "entry" else []
                since = None if verdict.never else line.entry.timestamp
                own, *others = (End(m.id, by, since) for m in (past, *drawn))
                if past.superseded_by != by:
                    end(store, [own], anew=True)
                end(store, others)
    return found


def _end_by(agent_id: str, fact: MemoryRecord, entry: Entry) -> None:
    store = memory_store.shared()
    by = entry_memory_id(agent_id, entry.id)
    known = bool(store.get([by]))  # what the NPC said by heart is not stored
    if not store.is_locked(agent_id, fact):
        end(store, [End(fact.id, by if known else "", entry.timestamp)])


def end_closed_in_store(agent_id: str, closed: Sequence[tuple[AgendaItem, Entry]]) -> None:
    """End the facts that state what is closed by now, each item with the line that closed it."""
    store = memory_store.shared()
    for item, entry in closed:
        by = entry_memory_id(agent_id, entry.id)
        lines = store.get([entry_memory_id(agent_id, each) for each in item.evidence])
        drawn = {each.id: each for line in lines for each in store.derived_from(agent_id, line)}
        facts = [
            each
            for each in drawn.values()
            if each.record == "fact"
            and not each.invalid_at
            and _may_be_ended(each, entry, by)
            and _shared(each, item.text) > 0.5
        ]
        known = bool(facts) and bool(store.get([by]))  # what the NPC said by heart is not stored
        for fact, commits in zip(facts, language.get().committing(facts), strict=True):
            if commits and not store.is_locked(agent_id, fact):
                end(store, [End(fact.id, by if known else "", entry.timestamp)], anew=True)


def _ended_by(
    store: MemoryStore, agent_id: str, line: NewLine, names: Sequence[str], record: str
) -> list[tuple[MemoryRecord, EndingVerdict]]:
    entry = line.entry
    by = entry_memory_id(agent_id, entry.id)
    words = [each.words for each in (*line.before, entry)]
    vectors = embedder.shared().encode(words)
    own = entry.is_own
    tags = {"tags": OWN} if own else {}
    near = store.nearest(agent_id, vectors[-1], 2 * NEAREST, record=record, **tags)
    past = [e.memory for e in near if _may_be_ended(e.memory, entry, by, own=own)][:NEAREST]
    if line.corrects:  # the fragment need not be near in meaning to what it corrects
        told = store.get([entry_memory_id(agent_id, line.corrects)])
        told += [each for old in told for each in store.derived_from(agent_id, old)]
        past += [e for e in told if e.record == record and _may_be_ended(e, entry, by, own=own)]
    known = list({each.id: each for each in past}.values())
    if not known:
        return []
    verdicts = language.get().ended(line, vectors, known, names, by)
    return [
        (each, verdict)
        for each, verdict in zip(known, verdicts, strict=True)
        if verdict.ends and (each.superseded_by == by or not store.is_locked(agent_id, each))
    ]


def _may_be_ended(memory: MemoryRecord, entry: Entry, by: str, *, own: bool = False) -> bool:
    """Whether a line may end a memory; a fact that ended may be ended by what denies it.

    Args:
        own: Whether only the NPC's own words may end.
    """
    if not memory.journal_ids or (memory.invalid_at or "") > entry.timestamp:
        return False
    if memory.superseded_by not in (None, by) and memory.record != "fact":
        return False
    if max(memory.journal_ids) >= entry.id or memory.created_at > entry.timestamp:
        return False
    tags = set(memory.tags)
    if tags & (KEPT_TAGS | MOVE_KINDS) or (OWN in tags) != own:
        return False
    return entry.audience in (None, memory.audience)


# --- profiles and agenda (reactor thread) ---------------------------------------------------------


def remove_attributes(memory: Memory, past: MemoryRecord) -> None:
    """Remove the attributes of profiles that tell what ended.

    None of another audience, and none that rests on a locked line.
    """
    for identity in sorted({*filter(None, [past.about]), *past.entities}):
        if profile := memory.profiles.get(identity):
            held = tuple(e for e in profile.attributes if not _tells(memory, past, e))
            if len(held) < len(profile.attributes):
                memory.profiles.put(replace(profile, attributes=held))


def _tells(memory: Memory, past: MemoryRecord, known: ProfileAttribute) -> bool:
    """Whether an attribute rests on the lines of a memory alone, and has most of its words."""
    if audience_of(known) != past.audience or not set(known.evidence) <= set(past.journal_ids):
        return False
    if any(LOCKED in line.tags for line in filter(None, map(memory.journal.get, known.evidence))):
        return False
    return _shared(past, known.value) >= SAME_CONTENT


def _shared(memory: MemoryRecord, text: str) -> float:
    """The share of a memory's content words that a text has."""
    words = language.get().content_words(memory.said)
    return len(words & language.get().content_words(text)) / max(1, len(words))


def _end_in_agenda(memory: Memory, past: MemoryRecord, by: Entry, verdict: EndingVerdict) -> None:
    """Close the items that what ended stated; a correction changes them."""
    spoken, circle = language.get().agenda, circle_of(memory)
    for item in memory.agenda.resting_on(Removal({*past.journal_ids})):
        stated = item.evidence[0] in past.journal_ids
        if item.state != "open" or not stated or (by.id in item.evidence and not verdict.meant):
            continue
        if verdict.meant:
            day = language.get().due(verdict.meant, local(by.timestamp))
            memory.agenda.remove(str(by.id))  # what it says by itself
            moved = item.repeated(day, (by.id,), by)
            memory.agenda.put(replace(moved, text=verdict.meant[:TEXT_KEPT]))
        elif how := spoken.ended(item, by, circle):
            memory.agenda.put(item.closed(how, by))


def as_over(memory: MemoryRecord, by: str | None, since: str | None) -> MemoryRecord:
    """Return a recalled memory as one that is over; nothing is stored."""
    return replace(memory, superseded_by=by, invalid_at=since)
