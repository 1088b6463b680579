"""Agenda items: what is promised, owed, asked of the NPC and planned (reactor thread).

What is done with the words of a line is read on a worker (`Language.read`); what that changes, the
language says. A language model may add to that at night (`update_from_fact`), and lines that the
language does not read are its alone. Items are as private as the lines that they rest on.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

from twisted.internet import defer

from .. import language, offload
from ..language import Circle, Commitment, Named
from ..llm import router
from ..privacy import shared_privacy
from ..records import (
    EVIDENCE_KEPT,
    LOOK_BACK,
    TEXT_KEPT,
    AgendaItem,
    Entry,
    FactDraft,
    LineInTalk,
    LineReading,
    MemoryRecord,
)
from ..store.npc_memory import Memory
from ..store.removal import Removal
from ..text.names import forms
from .heard_line import heard

if TYPE_CHECKING:
    from ..llm.provider import Passage
    from ..store.evidence import Work

KINDS: frozenset[str] = frozenset(get_args(Commitment))


@defer.inlineCallbacks
def update(memory: Memory, entries: Sequence[Entry], work: Work) -> Generator[Any, Any, int]:
    """Bring the agenda up to date with new journal entries, oldest first. Returns (as a Deferred)
    how many items were added or changed."""
    changed = 0
    commits = language.get().agenda.commits
    lines = {entry.id: heard(memory, entry) for entry in entries if commits(entry)}
    if lines and not router.rules_judge(memory.settings):
        lines = yield work.run(_readable, lines)
        entries = [entry for entry in entries if entry.id in lines or not commits(entry)]
    readings = (yield work.run(_read, lines)) if lines else {}
    for entry in entries:
        changed += _apply(memory, entry, readings)
        yield work.breathe()
    return changed


@defer.inlineCallbacks
def reread(memory: Memory, entry: Entry) -> Generator[Any, Any, None]:
    """Bring the agenda up to date with an entry whose words were changed."""
    yield memory.agenda.take_out(Removal({entry.id}))
    lines = {entry.id: heard(memory, entry)} if language.get().agenda.commits(entry) else {}
    readings = yield offload.run(offload.MEMORY, _read, lines)
    _apply(memory, entry, readings)


def _readable(lines: Mapping[int, LineInTalk]) -> dict[int, LineInTalk]:
    """Return the lines that are in the game's language (worker thread)."""
    reads = language.get().reads
    return {number: line for number, line in lines.items() if reads(line.line.text)}


def _read(lines: Mapping[int, LineInTalk]) -> dict[int, LineReading]:
    """Read lines, by their journal ids (worker thread); none without the local model."""
    readings = {number: language.get().read(line) for number, line in lines.items()}
    return {number: reading for number, reading in readings.items() if reading}


def _apply(memory: Memory, entry: Entry, readings: Mapping[int, LineReading]) -> int:
    """Bring the agenda up to date with one entry. Returns how many items changed."""
    before = list(memory.journal.read(entry.id - LOOK_BACK, entry.id - 1))
    new = language.get().agenda.changes(
        [entry], memory.agenda, circle_of(memory), readings, before=before
    )
    for item in new:
        memory.agenda.put(item)
    return len(new)


def update_from_fact(memory: Memory, draft: FactDraft, passage: Passage, context: str) -> None:
    """Bring the agenda up to date with a fact that a language model drew.

    A promise, a debt, a request or a plan becomes an item, or changes the one whose fact it ends;
    any other fact, and one whose lines state an item of their own, closes the items whose facts it
    ends. Repeated, it changes nothing.

    Args:
        context: Journal ids of all that the model was shown (`store.journal.ranges_of`).
    """
    lines = {entry.id: entry for entry in passage.entries}
    entries = [lines[number] for number in draft.journal_ids]
    found = _stated(memory, draft, entries)
    stated, again = next(iter(found), None), found[1:]
    before = _items_of(memory, passage, draft.ends or (), entries[0])
    repeated = _items_of(memory, passage, (draft.same_as,), entries[0])
    if stated and (first := next((e for e in repeated if e.who == stated.who), None)):
        if first.id != stated.id:
            again.append(stated)
            due = stated.due or first.due
            stated = first.repeated(due, draft.journal_ids, entries[-1])
    elif not stated:
        before += repeated
    items = [
        item.closed("done", entries[-1]) if stated else _gone_on(item, draft, entries, context)
        for item in before
        if not stated or item.id != stated.id
    ]
    for item in again:  # of several lines that one fact sums up
        memory.agenda.remove(item.id)
    if stated:  # in the words and with the day of the fact
        due = stated.due or draft.date
        items.append(replace(stated, told=draft.text[:TEXT_KEPT], due=due, context=context))
    elif draft.kind in KINDS and not before:
        items += filter(None, [_item_of(memory, draft, entries, context)])
    for item in items:
        if memory.agenda.get(item.id) != item:
            memory.agenda.put(item)


def _stated(memory: Memory, draft: FactDraft, entries: Sequence[Entry]) -> list[AgendaItem]:
    """Return the items of whoever is bound that were read in the lines of a promise, debt, request
    or plan as they were heard: the one of its kind and day first, then those that other lines
    alone state."""
    if draft.kind not in KINDS:
        return []
    who, _to = _sides(memory, draft, entries)
    found = [
        item
        for item in memory.agenda.resting_on(Removal({*draft.journal_ids}))
        if item.who == who and not set(item.evidence).isdisjoint(draft.journal_ids)
    ]
    found.sort(key=lambda item: (item.kind != draft.kind, item.due != draft.date))
    return found[:1] + [
        item
        for item in found[1:]
        if _line_of(item) != _line_of(found[0])
        and set(item.evidence) <= {*draft.journal_ids}
        and not item.told  # which another fact states
        and {item.kind, draft.kind} <= {"promise", "plan"}
    ]


def _items_of(
    memory: Memory, passage: Passage, ids: Collection[str], entry: Entry
) -> list[AgendaItem]:
    """Return the open items of these facts of a passage, before the line of an entry."""
    past = [fact for fact in passage.known if fact.id in ids]
    return [item for item in memory.agenda if _is_of(item, past, entry)] if past else []


def _line_of(item: AgendaItem) -> int:
    """The journal id of the line that states an item."""
    return int(item.id.partition(".")[0])


def _sides(memory: Memory, draft: FactDraft, entries: Sequence[Entry]) -> tuple[str, str]:
    """Return who is to do what a fact states, and to whom it is owed."""
    subject = draft.about or entries[0].source_entity or ""
    asked = draft.kind == "request"
    return (memory.identity, subject) if asked else (subject, _called(memory, draft))


def _is_of(item: AgendaItem, facts: Iterable[MemoryRecord], entry: Entry) -> bool:
    """Whether an open item rests on the lines of one of these facts; one that a line touched too.

    The item of a line's own may have been closed or moved by it before a look was killed.
    """
    if item.audience != entry.audience or entry.id == _line_of(item):
        return False
    touched = entry.id in (*item.evidence, *item.closed_by)
    return (item.state == "open" or touched) and any(
        not set(item.evidence).isdisjoint(fact.journal_ids) for fact in facts
    )


def _gone_on(
    item: AgendaItem, draft: FactDraft, entries: Sequence[Entry], context: str
) -> AgendaItem:
    """The item after a fact that repeats, changes or ends it."""
    last = entries[-1]
    if not draft.ends or draft.kind in KINDS:  # rules and a model may name it differently
        closed_by = tuple(each for each in item.closed_by if each != last.id)
        told: dict[str, Any] = {}
        if draft.ends:
            told = {"text": _words_of(entries), "told": draft.text[:TEXT_KEPT], "context": context}
        return replace(
            item.repeated(draft.date, draft.journal_ids, last),
            state=item.state if closed_by else "open",  # where rules took a new day for the end
            closed_by=closed_by,
            updated=max(item.updated, last.timestamp),
            **told,
        )
    return item.closed("done", last)


def _item_of(
    memory: Memory, draft: FactDraft, entries: Sequence[Entry], context: str
) -> AgendaItem | None:
    """The item that a fact states; None if nobody is named who is to do it."""
    who, to = _sides(memory, draft, entries)
    taken = {item.id: item for item in memory.agenda}
    number, count = str(entries[0].id), 0
    while (held := taken.get(number)) and (held.kind, held.due) != (draft.kind, draft.date):
        count += 1
        number = f"{entries[0].id}.{count}"
    if held:
        return None
    private, witnesses = shared_privacy(entries)
    return AgendaItem(
        id=number,
        kind=cast(Commitment, draft.kind),
        who=who,
        to=to,
        text=_words_of(entries),
        told=draft.text[:TEXT_KEPT],
        context=context,
        due=draft.date,
        evidence=draft.journal_ids[:EVIDENCE_KEPT],
        private=private,
        witnesses=witnesses,
        created=entries[0].timestamp,
        updated=entries[-1].timestamp,
    )


def _called(memory: Memory, draft: FactDraft) -> str:
    """The identity of the one whom something is owed to; "" if unknown or nobody."""
    if draft.kind == "plan" or not draft.object:
        return ""
    if draft.object.lower() in {name.lower() for name in memory.names}:
        return memory.identity
    named = memory.people.mentioned(draft.object)
    return named[0] if len(named) == 1 else ""


def _words_of(entries: Sequence[Entry]) -> str:
    """The words of the lines that state an item: the first, and the last if they are several."""
    first, last = entries[0], entries[-1]
    if first is last:
        return " ".join(first.words.split())[:TEXT_KEPT]
    return f"{first.with_speaker()} - {' '.join(last.words.split())}"[:TEXT_KEPT]


def circle_of(memory: Memory) -> Circle:
    """Return whom an NPC knows."""
    people = memory.people

    def called(text: str) -> list[str]:
        named = language.get().named
        return [
            who
            for who in people.mentioned(text)
            if named(text, forms([people.name_of(who)])) is Named.CALLED
        ]

    return Circle(memory.identity, forms(memory.names), people.mentioned, called)
