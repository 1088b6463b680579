"""Open items: what an NPC says of its agenda to somebody, in sentences.

A question about what is due, owed or promised (`Language.agenda`) gets the items that it
asks for; any other line gets those that concern the speaker. Told is only what the listeners may
hear; what is private is brought up unasked in a whisper alone, a message that was whispered too.
Reactor thread: it reads the journal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from functools import partial

from .. import language
from ..attention import TALK_OVER
from ..ingest.index import to_memory
from ..language import AgendaQuestion, Intent, ItemWords, Named, Teller, Understood
from ..llm.router import rules_answer
from ..local_time import day_of, local
from ..records import TALK_KINDS, AgendaItem, Entry, MemoryRecord, OpenItem, seconds_between
from ..store.agenda import RECENTLY_DUE
from ..store.npc_memory import Memory
from ..text.names import forms
from .budget import IN_CONFIDENCE

TOLD = 3  # items of one answer
OF_A_MATTER = 3  # content words of a question; one with more asks about one thing
READ_BACK = 60  # last entries, for what was told in this talk
BROUGHT_UP = 4  # items that a reply is given unasked
SOON = timedelta(days=1)
EVIDENCE_TOLD = 3  # lines behind one sentence: the first, and the newest


def open_items(
    memory: Memory, entry: Entry, line: Understood | None = None
) -> tuple[tuple[OpenItem, ...], tuple[MemoryRecord, ...]]:
    """Choose what a reply to an entry may tell of the agenda, the most pressing first, and the
    memories that this rests on.

    Args:
        line: The entry as it is meant; None asks for nothing.
    """
    if not len(memory.agenda):
        return (), ()
    now = local(memory.clock())
    spoken, called = language.get().agenda, forms(memory.names)
    asker = entry.source_entity or ""
    # a model answers aloud what is said aloud
    may_whisper = entry.private or rules_answer(memory.settings)
    messages = messages_for(memory, entry, may_whisper=may_whisper)
    if line is not None and line.agenda is not None:
        items = _asked_for(memory, entry, line.meant, line.agenda)[:TOLD]
    else:
        text = line.meant if line else entry.content
        concerning = _concerning(memory, entry, text, now, may_whisper=may_whisper)
        items = [*messages, *(each for each in concerning if each not in messages)][:BROUGHT_UP]
    teller = Teller(memory.identity, called, asker, memory.people.name_of, now)
    told_before = _told_before(memory, entry)
    parts = line is not None and line.courtesy is Intent.PARTING
    told, evidence = [], dict[str, MemoryRecord]()
    for item in items:
        lines = _evidence(memory, item, entry)
        if not lines:
            continue
        records = [to_memory(memory.id, each) for each in lines]
        evidence |= {each.id: each for each in records}
        is_message = item in messages
        quoted = spoken.quoted(item, teller, message=is_message)
        heard_it = asker in item.witnesses  # of a message: they were there
        at_parting = parts and item.state == "open" and _words(item).at_parting
        if at_parting:
            waits = item.to == asker
        elif is_message:
            waits = not heard_it or _asks_after(memory, item, line.meant if line else "")
        else:
            waits = _is_pressing(item, asker, now)
        once = is_message or at_parting or (_reminds(item) and item.is_due(now))
        tell = partial(spoken.told, item, lines[0], teller, message=is_message)
        told.append(
            OpenItem(
                text=tell(noted=False),
                quoted=quoted,
                evidence=tuple(each.id for each in records),
                pressing=item.state == "open" and quoted not in told_before and waits,
                message=is_message or at_parting,
                private=item.private,
                done_by_telling=item.id if once else "",
                noted=IN_CONFIDENCE * item.private + tell(noted=True),
            )
        )
    return tuple(told), tuple(evidence.values())


def _words(item: AgendaItem) -> ItemWords:
    return language.get().agenda.words(item.text)


def close_told(memory: Memory, item_ids: Iterable[str], said: Entry) -> None:
    """Close the messages and reminders that the NPC's words have told (reactor thread)."""
    for item in filter(None, map(memory.agenda.get, item_ids)):
        if item.state == "open":
            closed_by = (*item.closed_by, said.id)
            memory.agenda.put(
                replace(item, state="done", closed_by=closed_by, updated=said.timestamp)
            )


def has_word_for(memory: Memory, entry: Entry) -> bool:
    """Whether a message that may be told aloud waits for the speaker of a line."""
    told, _evidence = open_items(memory, entry)
    return any(each.message and each.pressing and not each.private for each in told)


def messages_for(memory: Memory, entry: Entry, *, may_whisper: bool) -> list[AgendaItem]:
    """Return what the NPC was asked to tell or give the speaker of a line.

    What was whispered too, but not what they are not to know.
    """
    listener = entry.source_entity
    if not listener:
        return []
    name = forms([memory.people.name_of(listener) or entry.seen_as])
    spoken = language.get()
    return [
        item
        for item in memory.agenda
        if _stands(memory, item, entry)
        and item.kind == "request"
        and item.to != listener
        and spoken.named(_words(item).recipient, name) is not Named.NOT
        and (not item.private or (may_whisper and not spoken.confides(item.text)))
    ]


def _stands(memory: Memory, item: AgendaItem, entry: Entry) -> bool:
    """Whether an item is open, or closed by being told in this talk: who asks is told again."""
    if item.state == "open":
        return True
    if not rules_answer(memory.settings):
        return False  # a model has the talk before it
    said = memory.journal.get(item.closed_by[-1]) if item.closed_by else None
    if said is None or said.origin != "self" or said.kind not in TALK_KINDS:
        return False
    return _is_of_this_talk(said, entry)


def _is_of_this_talk(said: Entry, entry: Entry) -> bool:
    """Whether the NPC said something to the speaker of a line in the same talk."""
    near = abs(seconds_between(said.timestamp, entry.timestamp)) < TALK_OVER
    return near and entry.source_entity in said.witnesses


def _told_before(memory: Memory, entry: Entry) -> str:
    """Return what the NPC has said to the speaker of a line in this talk."""
    return "\n".join(
        each.content
        for each in memory.journal.tail(READ_BACK)
        if each.origin == "self" and _is_of_this_talk(each, entry)
    )


def _concerning(
    memory: Memory, entry: Entry, text: str, now: str, *, may_whisper: bool
) -> list[AgendaItem]:
    """Return the items to bring up unasked: of the speaker, the NPC or whom the text names."""
    if not entry.source_entity:
        return []
    sides = {entry.source_entity, memory.identity, *memory.people.mentioned(text)}
    return [
        item
        for item in memory.agenda.due_for(entry.source_entity, now)
        if (may_whisper or not item.private) and not sides.isdisjoint((item.who, item.to))
    ]


def _evidence(memory: Memory, item: AgendaItem, entry: Entry) -> list[Entry]:
    """Return lines behind an item, the one that states it first.

    Empty if that is gone, or is the line that is answered.
    """
    stating = memory.journal.get(int(item.id.partition(".")[0]))
    if stating is None or stating.id == entry.id:
        return []
    others = [n for n in (*item.evidence, *item.closed_by) if n != stating.id]
    newest = map(memory.journal.get, others[-EVIDENCE_TOLD + 1 :])
    return [stating, *filter(None, newest)]


def _asks_after(memory: Memory, item: AgendaItem, text: str) -> bool:
    """Whether a question is about what a message tells: "has Bram got my ink?"."""
    spoken, known = language.get(), map(memory.people.name_of, (item.who, *item.witnesses))
    names = spoken.content_words(" ".join((*memory.names, *known)))
    asked = spoken.content_words(text) - names
    return spoken.asks(text) and 2 * len(asked & spoken.content_words(item.text)) >= len(asked) > 0


def _is_pressing(item: AgendaItem, identity: str, now: str) -> bool:
    """Whether the person has it due by tomorrow, or lately overdue; a past plan is over.

    What somebody wants to be reminded of, without a day, is due the next time they come.
    """
    if item.state != "open" or not item.concerns(identity) or day_of(item.created) >= now[:10]:
        return False  # nobody needs to hear what they have said today
    if not item.due:
        return _reminds(item)
    late = date.fromisoformat(now[:10]) - date.fromisoformat(item.due)
    if late > timedelta(0) and item.kind == "plan":
        return False
    return -SOON <= late <= timedelta(days=RECENTLY_DUE)


def _reminds(item: AgendaItem) -> bool:
    return item.kind == "request" and _words(item).reminds


# --- what is asked for ----------------------------------------------------------------------------


def _matching(
    memory: Memory, asker: str, text: str, question: AgendaQuestion
) -> tuple[list[AgendaItem], set[str]]:
    """Return the items of whom and of what a question asks, as far as the asker may know, and the
    people of the agenda whom it names."""
    own = memory.identity
    visible = memory.agenda.items((asker,) if asker else ())
    people = {who for item in visible for who in (item.who, item.to)} - {"", own, asker}
    named = {who for who in people if _names(text, memory.people.name_of(who))}
    sides = {"asker": {asker}, "listener": {own}, "named": named}
    stems = language.get().content_words
    found = [
        item
        for item in visible
        if (
            not question.who
            or item.who in sides[question.who]
            or (question.by_day and item.to in sides[question.who])
        )
        and (not question.to or item.to in sides[question.to])
        and (not question.kinds or item.kind in question.kinds)
        and (not question.by_day or question.covers(item.due))
        and (
            not question.whom
            or question.whom & stems(f"{memory.people.name_of(item.to)} {item.text}")
        )
    ]
    owed = [item for item in found if _creditor(item) & question.about]
    return owed or found, named


def _asked_for(
    memory: Memory, entry: Entry, text: str, question: AgendaQuestion
) -> list[AgendaItem]:
    """Return the items that a question asks for, best first; none where that is unsure."""
    asker = entry.source_entity or ""
    found, named = _matching(memory, asker, text, question)
    named |= {*memory.people.mentioned(text)} - {memory.identity, asker}
    standing = [item for item in found if _stands(memory, item, entry)]
    soonest = sorted(standing, key=lambda item: (not item.concerns(asker), item.due or "~"))
    if question.by_day:
        return _about(soonest, question.about) or soonest
    if not (question.day or question.about or question.kinds):
        return soonest
    if question.day:
        standing = [item for item in standing if question.covers(item.due)] or standing
    if named and question.who != "named" and question.to != "named":
        standing = [
            item
            for item in standing
            if named & {item.who, item.to}
            or any(_names(item.text, memory.people.name_of(who)) for who in named)
        ]
    if fitting := _about(standing, question.about):
        return fitting
    if len(question.about) > OF_A_MATTER and not question.day:
        return []  # it is about something that nobody has promised, owed or planned
    if question.kinds and "plan" not in question.kinds:  # a promise is owed only if named
        standing = [item for item in standing if item.kind in ("debt", "request")]
    standing = [item for item in standing if question.best in ("", item.kind)]
    exact = bool(question.day) and all(question.covers(item.due) for item in standing)
    return standing if exact or len(standing) <= TOLD else []


def nothing_open(memory: Memory, entry: Entry, line: Understood) -> bool:
    """Whether a line asks in general for what somebody owes or has promised, and none is open.

    A question that does not ask whether there is any ("what do i owe you?") counts if there was
    some: what was owed may have been said in words that made no item.
    """
    question = line.agenda
    if question is None or line.of_the_past:
        return False  # what was owed may be told from memory
    asked_for, named = _matching(memory, entry.source_entity or "", line.meant, question)
    if question.by_day:
        return question.whether and not any(_stands(memory, each, entry) for each in asked_for)
    if not (question.who and question.kinds) or question.day:
        return False
    content_words = language.get().content_words
    names = set().union(*(content_words(memory.people.name_of(who)) for who in named))
    names |= set().union(*map(_creditor, asked_for))
    told_of = set().union(*(content_words(item.text) for item in asked_for))
    of_a_matter = question.about - names
    if of_a_matter.isdisjoint(told_of) if of_a_matter else question.who == "named" and not told_of:
        return False  # "what do i owe you for the mare?", of which it knows nothing
    found = [
        item
        for item in asked_for
        if not named or named & {item.who, item.to}
        if item.kind in question.kinds
        if not of_a_matter or of_a_matter & content_words(item.text)
    ]
    standing = any(_stands(memory, item, entry) for item in found)
    return not standing and (question.whether or bool(found))


def _creditor(item: AgendaItem) -> set[str]:
    """The stems of the words for somebody unknown whom a debt is owed to: "the miller"."""
    if item.kind != "debt" or item.to:
        return set()
    return language.get().content_words(_words(item).creditor)


def _about(items: Iterable[AgendaItem], about: frozenset[str]) -> list[AgendaItem]:
    """Return the items with the most words of a question in them; empty if none has any."""
    content_words = language.get().content_words
    shared = [(len(about & content_words(item.text)), item) for item in items]
    most = max((count for count, _item in shared), default=0)
    return [item for count, item in shared if count == most] if most else []


def _names(text: str, name: str) -> bool:
    """Whether a text names somebody, with or without the apostrophes of the name."""
    if not name:
        return False
    bare = name.lower().replace("'", "").replace("’", "")
    return bare in text.lower().split() or bool(language.get().named(text, forms([name])))
