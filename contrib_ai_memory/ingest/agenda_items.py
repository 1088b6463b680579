"""Agenda items from lines of talk: what is promised, owed, asked of the NPC and planned, and what
was done about it.

`changes` is a function of plain data: the lines, the items so far, and a judge that says what kind
of commitment a sentence is. An item's id follows from its line, and a line that states or closes an
item is among its ids, so that reading a line again changes nothing.

With a language model the rules read only what the NPC itself says; what others say becomes items
and ends them as the model judges (`update_from_fact`).

Of what the NPC itself says only a promise or a plan of its own with a date becomes an item: a stock
phrase such as "I will remember that" is none, nor is what it retells, and it changes no item by
saying it again. What it was asked to do is its own to do. Items are as private as the lines that
they rest on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast, get_args

from twisted.internet import defer

from ..english import addressing, commitments, corrections
from ..english.commitments import LEAST_WORDS, Commitment
from ..english.due_dates import dates, due
from ..english.questions import sentences_of
from ..english.tokens import FUNCTION_WORDS, NUMBER_WORD, NUMBERS, content_words, stem, words_of
from ..llm import router
from ..local_time import day_of, local
from ..privacy import shared_privacy
from ..records import (
    RETOLD,
    TALK_KINDS,
    AgendaItem,
    Entry,
    FactDraft,
    MemoryRecord,
    seconds_between,
)

if TYPE_CHECKING:
    from ..llm.provider import Passage
    from ..store.evidence import Work
from ..store.removal import Removal

KINDS: frozenset[str] = frozenset(get_args(Commitment))

BARE = 3  # stems: a line with fewer says nothing without the one that it answers
LOOK_BACK = 8  # lines before, in which the one spoken to and the same matter are looked for
ANSWERED_WITHIN = 120.0  # seconds
TOLD_FROM = 0.6  # share of a message's stems in the words that pass it on
WHOLE_LINE = 240  # characters: a line up to this length is kept whole
TEXT_KEPT = 500  # characters of an item's text
EVIDENCE_KEPT = 20  # lines of one item: the first, and the newest
SAME_MATTER = 2  # shared stems: a line about an item of the same person

Judge = Callable[[Entry, str, bool], Commitment | None]  # (line, sentence, said to the NPC) → kind

_OF_ITSELF = re.compile(r"\b(?:I|[Ii]['’](?:ll|m)|we|We|we['’]ll|We['’]ll)\b")
_OF_SPEAKER = re.compile(r"\b(?:i|i['’]?(?:m|ll|ve)|me|my|we|us|our)\b", re.IGNORECASE)
_SETTLED = re.compile(
    r"\b(?:square|even|quits|clean|clear|the lot|paid (?:up|off|in full|you))\b", re.IGNORECASE
)
_SETTLED_WITH = re.compile(r"\b(?:settled|paid)\b", re.IGNORECASE)  # of somebody who is named
_MISSPOKE = re.compile(r"\bmisspoke\b", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z]\w*")
_NUMBER = re.compile(r"\d+")
_NUMBER_WORD = re.compile(rf"\b(?:{NUMBER_WORD})\b")
_SUREST: tuple[Commitment, ...] = ("request", "debt", "promise", "plan")
_GENERIC = frozenset("thing day week month time promis swear word owe pay back get give".split())
_MOVING = frozenset(  # stems: "no, make that monday instead", "sorry, i meant tuesday"
    "make instead mean rather better actual then sorri let no nay aye yes yeah ok okay well oh but "
    "ill i'll i'd let's lets chang move push friend latest lat by till until come sure mind on"
    .split()
)  # fmt: skip
# the name after a word of promising or owing: "i promised hobb to", "i owe hobb 3 coppers"
_PROMISED_TO = re.compile(
    r"\b(?:promis(?:e|ed|ing)|sw(?:ear|ore|orn) to|vow(?:ed)? to|owe[sd]?|my word to)"
    r" (?!an? |the |my |to |that |it |this |\d)(\w+)"
    r"(?= (?:to|that|an?|the|my|i|i'?d|i'?ll|\w+ \w+s)\b)",
    re.IGNORECASE,
)
_CALLS_YOU = frozenset("you u ye ya him her them".split())
_OWNER = re.compile(r"\b(\w+)['’]s\b")
_OATH = re.compile(
    r"\b(?:on|upon|by) (?:my|me|ma) [\w']+(?:'s \w+)?|\bcross (?:my|me|ma) \w+|\bhand on it\b",
    re.IGNORECASE,
)
_PAYS = re.compile(r"\b(?:pay|settle|owe|coins?|money)\b", re.IGNORECASE)
_PUT_OFF = re.compile(
    r"\b(?:moved|put off|pushed back|postponed|delayed|late|instead|never came|not till"
    r"|now it['’]?s|won['’]?t be (?:\w+ ){1,2}(?:till?|until))\b|\bnow\W*$",
    re.IGNORECASE,
)
_OF_PUTTING_OFF = content_words(
    "payday late life word honour promised moved pushed postponed delayed"
)
_GESTURE = re.compile(  # "gives up", "gives Bram a smile"
    r" gives (?:up|in|way|out|off|birth|chase|thanks)\b|\b(?:an?|two|three|some|more|another)"
    r" (?:[\w-]+ )?(?:smiles?|nods?|winks?|looks?|hugs?|kiss(?:es)?|waves?|shrugs?|grins?|bows?"
    r"|glares?|sighs?|laughs?|pats?|push|shove|slap|start|sign|wink|squeeze)\b",
    re.IGNORECASE,
)
_TO_YOU = re.compile(r"\b(?:you|your|yer|ur|ye|ya|u|we['’]re|we are)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Circle:
    """Whom the NPC knows when it reads lines.

    Attributes:
        npc: Its own memory identity.
        names: The forms of its name (`english.addressing.forms`).
        mentioned: Returns the identities of the people named in a text.
        called: Returns those whom it addresses by name.
    """

    npc: str
    names: tuple[str, ...]
    mentioned: Callable[[str], Sequence[str]]
    called: Callable[[str], Sequence[str]]


def by_rules(entry: Entry, sentence: str, to_npc: bool) -> Commitment | None:
    """Judge a sentence by the rules of English (`english.commitments`)."""
    return commitments.commitment(sentence, local(entry.timestamp), to_listener=to_npc)


@defer.inlineCallbacks
def update(
    memory: Any, entries: Sequence[Entry], work: Work, judge: Judge = by_rules
) -> Generator[Any, Any, int]:
    """Bring the agenda up to date with new journal entries (reactor thread).

    Args:
        memory: The NPC's MemoryHandler.
        entries: Oldest first.
        work: Rests on these entries.

    Returns (as a Deferred):
        How many items were added or changed.
    """
    changed = 0
    rules = router.rules_judge(memory.settings)
    for entry in entries:
        if rules or entry.origin == "self":
            changed += read(memory, entry, judge)
        yield work.breathe()
    return changed


def read(memory: Any, entry: Entry, judge: Judge = by_rules) -> int:
    """Bring the agenda up to date with one entry. Returns how many items changed."""
    before = list(memory.journal.read(entry.id - LOOK_BACK, entry.id - 1))
    new = changes([entry], memory.agenda, circle_of(memory), judge=judge, before=before)
    for item in new:
        memory.agenda.put(item)
    return len(new)


def update_from_fact(memory: Any, draft: FactDraft, passage: Passage, context: str) -> int:
    """Bring the agenda up to date with a fact that a language model drew (reactor thread).

    A promise, a debt, a request or a plan becomes an item, or changes the one whose fact it ends;
    any other fact closes the items whose facts it ends. Repeated, it changes nothing.

    Args:
        context: Journal ids of all that the model was shown (`store.journal.ranges_of`).

    Returns:
        How many items were added or changed.
    """
    lines = {entry.id: entry for entry in passage.entries}
    entries = [lines[number] for number in draft.journal_ids]
    named = {*(draft.ends or ()), draft.same_as}
    past = [fact for fact in passage.known if fact.id in named]
    agenda = memory.agenda if past else ()
    before = [item for item in agenda if _is_of(item, past, entries[0])]
    changed = sum(_put(memory, _gone_on(item, draft, entries, context)) for item in before)
    if draft.kind in KINDS and not before:
        changed += _put(memory, _item_of(memory, draft, entries, context))
    return changed


def messages_for(memory: Any, listener: str) -> list[AgendaItem]:
    """Return what the NPC was asked, not in confidence, to tell or give this listener."""
    name = memory.people.name_of(listener)
    return [
        item
        for item in memory.agenda
        if item.state == "open"
        and item.kind == "request"
        and not item.private
        and item.to != listener
        and addressing.named(commitments.recipient(item.text), addressing.forms([name]))
        is not addressing.Named.NOT
    ]


def close_messages(memory: Any, listener: str, said: Entry) -> int:
    """Close the messages to a listener that the NPC's own words have told (reactor thread).

    Returns:
        How many were told.
    """
    if listener not in said.witnesses:
        return 0
    words = content_words(said.words)
    told = []
    for item in messages_for(memory, listener):
        message = content_words(item.text)
        if len(message & words) >= TOLD_FROM * len(message):
            told.append(item)
    return sum(_put(memory, _close(item, "done", said)) for item in told)


def _put(memory: Any, item: AgendaItem | None) -> bool:
    """Write an item if it is new or changed. Returns whether it was."""
    if item is None or memory.agenda.get(item.id) == item:
        return False
    memory.agenda.put(item)
    return True


def _is_of(item: AgendaItem, facts: Iterable[MemoryRecord], entry: Entry) -> bool:
    """Whether an open item rests on the lines of one of these facts; one that a line touched too.

    The item of a line's own may have been closed or moved by it before a look was killed.
    """
    if item.audience != entry.audience or entry.id == int(item.id.partition(".")[0]):
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
    if not draft.ends or draft.kind == item.kind:
        first, *later = dict.fromkeys((*item.evidence, *draft.journal_ids))
        return replace(
            item,
            text=_words_of(entries) if draft.ends else item.text,
            told=draft.text[:TEXT_KEPT] if draft.ends else item.told,
            context=context if draft.ends else item.context,
            due=draft.date or item.due,
            evidence=(first, *later[1 - EVIDENCE_KEPT :]),
            updated=max(item.updated, last.timestamp),
        )
    if last.id in item.closed_by:
        return item
    return _close(item, "done", last)


def _item_of(
    memory: Any, draft: FactDraft, entries: Sequence[Entry], context: str
) -> AgendaItem | None:
    """The item that a fact states; None if nobody is named who is to do it."""
    npc = memory.owner.get_memory_identity(memory.owner)
    subject = draft.about or entries[0].source_entity or ""
    who, to = (npc, subject) if draft.kind == "request" else (subject, _called(memory, draft))
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


def _called(memory: Any, draft: FactDraft) -> str:
    """The identity of the one whom something is owed to; "" if unknown or nobody."""
    if draft.kind == "plan" or not draft.object:
        return ""
    if draft.object.lower() in {name.lower() for name in memory.names}:
        return memory.owner.get_memory_identity(memory.owner)
    named = memory.people.mentioned(draft.object)
    return named[0] if len(named) == 1 else ""


def _words(entry: Entry, circle: Circle) -> str:
    return addressing.without_address(entry.content, circle.names)


def _words_of(entries: Sequence[Entry]) -> str:
    """The words of the lines that state an item: the first, and the last if they are several."""
    first, last = entries[0], entries[-1]
    if first is last:
        return " ".join(first.words.split())[:TEXT_KEPT]
    return f"{first.with_speaker()} - {' '.join(last.words.split())}"[:TEXT_KEPT]


@defer.inlineCallbacks
def reread(memory: Any, entry: Entry) -> Generator[Any, Any, None]:
    """Bring the agenda up to date with an entry whose words were changed."""
    yield memory.agenda.take_out(Removal({entry.id}))
    read(memory, entry)


def circle_of(memory: Any) -> Circle:
    """Return whom an NPC knows."""
    npc = memory.owner
    people = memory.people

    def called(text: str) -> list[str]:
        return [who for who in people.mentioned(text) if calls(text, people.name_of(who))]

    names = addressing.forms(memory.names)
    return Circle(npc.get_memory_identity(npc), names, people.mentioned, called)


def calls(text: str, name: str) -> bool:
    """Return whether a line addresses the bearer of a name."""
    return addressing.named(text, addressing.forms([name])) is addressing.Named.CALLED


def changes(
    entries: Sequence[Entry],
    items: Iterable[AgendaItem],
    circle: Circle,
    *,
    judge: Judge = by_rules,
    before: Sequence[Entry] = (),
) -> list[AgendaItem]:
    """Return the items that lines add or change.

    Args:
        entries: New lines, oldest first.
        items: The agenda so far.
        before: The lines before the new ones.
    """
    agenda: dict[str, AgendaItem] | None = None  # read when it is needed: most lines commit nobody
    known: dict[str, AgendaItem] = {}
    recent = list(before)
    for entry in entries:
        stated = _stated(entry, recent, circle, judge) if _may_commit(entry) else []
        own = entry.origin == "self"
        corrects = not own and _may_commit(entry) and corrections.may_correct(_words(entry, circle))
        if stated or corrects or _may_close(entry) or _is_bare_date(entry, circle):
            if agenda is None:
                known = {item.id: item for item in items}
                agenda = dict(known)
            moved = None if own else _moved_by(entry, agenda.values(), circle, recent)
            closed = _closed_by(entry, agenda.values(), circle, recent)
            for item in [moved] if moved else closed:  # what is put off is not broken
                agenda[item.id] = item
            seen = {number for item in agenda.values() for number in item.evidence}
            if entry.id not in seen:
                if entry.kind == "give":
                    stated = _given_with(entry, recent, circle, judge, seen)
                for item in stated:
                    _add(agenda, item, circle, own=own)
        recent = [*recent, entry][-LOOK_BACK:]
    return [item for key, item in (agenda or {}).items() if known.get(key) != item]


# --- what is stated -------------------------------------------------------------------------------


def _may_commit(entry: Entry) -> bool:
    own = entry.origin == "self" and RETOLD not in entry.tags
    return (own or entry.learnable) and entry.kind in TALK_KINDS and bool(entry.source_entity)


def _is_own_plan(kind: Commitment, sentence: str, entry: Entry) -> bool:
    """Whether the NPC says what it will do, and when; of a plan, in the clause with the day."""
    found = due(sentence, local(entry.timestamp))
    if kind not in ("promise", "plan") or not found or found.iso <= day_of(entry.timestamp):
        return False
    told = [sentence]
    if kind == "plan":
        told = [each for each in re.split(r"[,.;:!?]", sentence) if found.said in each]
    return any(map(_OF_ITSELF.search, told))


def _stated(
    entry: Entry, recent: Sequence[Entry], circle: Circle, judge: Judge
) -> list[AgendaItem]:
    """Return the items that a line states: one, or one for each sentence with a date of its own."""
    listener = spoken_to(entry, recent, circle)
    # in company a request that calls nobody by name is the NPC's: it keeps, tells and sends things
    to_npc = listener == circle.npc or not circle.called(entry.content)
    whole = " ".join(entry.content.split())
    found = [
        (number, sentence, kind)
        for number, sentence in enumerate(_with_their_days(sentences_of(whole), entry))
        if (kind := judge(entry, _without_name(sentence, circle.names), to_npc))
    ]
    if not found and (kind := judge(entry, _without_name(whole, circle.names), to_npc)):
        found = [(0, whole, kind)]
    if entry.origin == "self":
        found = [each for each in found if _is_own_plan(each[2], each[1], entry)]
    dates = {day for _n, sentence, _k in found if (day := _due(sentence, entry))}
    if len(found) > 1 and len(dates) < 2:  # one matter, told in several sentences
        found = [min(found, key=lambda each: _SUREST.index(each[2]))]
    single = len(found) == 1
    replied = _replied_to(entry, recent) if single and len(_matter(whole)) < BARE else None
    made = []
    for number, sentence, kind in found:
        who, to = _parties(kind, entry, sentence, listener, circle)
        text = whole if single and len(whole) <= WHOLE_LINE else sentence
        private, witnesses = shared_privacy(filter(None, (replied, entry)))
        made.append(
            AgendaItem(
                id=str(entry.id) if single else f"{entry.id}.{number}",
                kind=kind,
                who=who,
                to=to,
                text=(f"{replied.with_speaker()} - {text}" if replied else text)[:TEXT_KEPT],
                due=_due(sentence, entry) or (_due(whole, entry) if single else ""),
                evidence=(replied.id, entry.id) if replied else (entry.id,),
                private=private,
                witnesses=witnesses,
                created=entry.timestamp,
                updated=entry.timestamp,
            )
        )
    return made


def _with_their_days(sentences: Sequence[str], entry: Entry) -> list[str]:
    """Put a bare day to the sentence before it: "We're getting married! The 12th of September."."""
    found: list[str] = []
    for sentence in sentences:
        few = len(sentence.split()) < LEAST_WORDS and not sentence.endswith("?")
        bare = few and _due(sentence, entry)
        if bare and found and not _due(found[-1], entry):
            found[-1] = f"{found[-1].rstrip(' .!?…~')}, {sentence}"
        else:
            found.append(sentence)
    return found


def _replied_to(entry: Entry, recent: Sequence[Entry]) -> Entry | None:
    """Return the question that a bare answer ("friday, on my life") answers; none of the NPC's.

    What the NPC says is no part of what somebody else has committed themselves to.
    """
    for earlier in reversed(recent):
        if seconds_between(earlier.timestamp, entry.timestamp) > ANSWERED_WITHIN:
            return None
        if earlier.kind not in TALK_KINDS or earlier.origin == "self":
            continue
        if earlier.source_entity != entry.source_entity:
            same_talk = earlier.session_id == entry.session_id
            heard = earlier.audience in (None, entry.audience)
            return earlier if same_talk and heard and earlier.is_question else None
    return None


def _given_with(
    gift: Entry, recent: Sequence[Entry], circle: Circle, judge: Judge, read: set[int]
) -> list[AgendaItem]:
    """Return what the NPC is asked to do with a gift, in words that came just before it."""
    if gift.origin == "self" or not gift.learnable or _receiver(gift, circle) != circle.npc:
        return []
    for line in reversed(recent):
        if seconds_between(line.timestamp, gift.timestamp) > ANSWERED_WITHIN:
            break
        if line.source_entity == gift.source_entity and _may_commit(line) and line.id not in read:
            asked = _stated(line, (), circle, lambda e, sentence, _to: judge(e, sentence, True))
            return [item for item in asked if item.kind == "request"]
    return []


def _without_name(sentence: str, names: Sequence[str]) -> str:
    """Return a sentence without the NPC's name in front: "mara keep this for me"."""
    lower = sentence.lower()
    for name in names:
        if lower.startswith(name) and not lower[len(name) : len(name) + 1].isalnum():
            rest = sentence[len(name) :].lstrip(" ,.!:")
            return rest if not lower[len(name) :].startswith("'") else sentence
    return sentence


def _due(text: str, entry: Entry) -> str:
    found = due(text, local(entry.timestamp))
    return found.iso if found else ""


def _parties(
    kind: Commitment, entry: Entry, sentence: str, listener: str, circle: Circle
) -> tuple[str, str]:
    """Return who is to do it, and to whom it is owed."""
    speaker = entry.source_entity or ""
    others = [each for each in circle.mentioned(sentence) if each != speaker]
    if kind == "request":
        return circle.npc, speaker
    if kind == "plan":
        of_other = len(others) == 1 and not _OF_SPEAKER.search(sentence)
        return (others[0] if of_other else speaker), ""
    other = others[0] if len(others) == 1 else listener
    if named := _promised_to(kind, sentence):
        known = [each for each in circle.mentioned(named) if each != speaker]
        other = known[0] if len(known) == 1 else ""
        if addressing.named(named, circle.names) is not addressing.Named.NOT:
            other = circle.npc
    if kind == "debt" and commitments.owed_to_speaker(sentence):
        if not others and commitments.owed_by_another(sentence):  # whom it does not know
            return "", speaker
        return (other or speaker), (speaker if other else "")
    return speaker, other


def _promised_to(kind: Commitment, sentence: str) -> str:
    """In which words a sentence names whom something is owed to: "i owe the miller 12 silvers"."""
    if kind == "debt" and (named := commitments.creditor(sentence)):
        return named
    found = _PROMISED_TO.search(sentence)
    name = found[1].lower() if found else ""
    return "" if name in FUNCTION_WORDS or name in NUMBERS or name in _CALLS_YOU else name


def spoken_to(entry: Entry, recent: Sequence[Entry], circle: Circle) -> str:
    """Return whom a line is said to: the NPC, somebody named, or whoever spoke last; "" if unsure.

    Args:
        recent: The lines before it.
    """
    speaker = entry.source_entity or ""
    alone = set(entry.witnesses) <= {speaker, circle.npc}
    if alone or (entry.private and entry.kind == "whisper"):
        return circle.npc
    named = addressing.named(entry.content, circle.names)
    if named is addressing.Named.CALLED:
        return circle.npc
    called = [each for each in circle.called(entry.content) if each != speaker]
    if called:
        return called[0] if len(called) == 1 else ""
    if named is addressing.Named.NAMED:
        return circle.npc
    for earlier in reversed(recent):
        if earlier.session_id != entry.session_id or earlier.audience not in (None, entry.audience):
            continue
        if seconds_between(earlier.timestamp, entry.timestamp) > ANSWERED_WITHIN:
            break
        if _is_gift(earlier) and earlier.source_entity == speaker:
            return _receiver(earlier, circle)
        if earlier.source_entity == speaker and earlier.kind in TALK_KINDS:
            return spoken_to(earlier, recent[: recent.index(earlier)], circle)
        if earlier.kind in TALK_KINDS:
            return circle.npc if earlier.origin == "self" else (earlier.source_entity or "")
    return ""


def _is_gift(entry: Entry) -> bool:
    """Whether somebody gives a thing to the NPC, or is seen to give it to another."""
    seen = entry.kind == "pose" and " gives " in entry.content
    return entry.kind == "give" or (seen and not _GESTURE.search(entry.content))


def _receiver(entry: Entry, circle: Circle) -> str:
    """Return who is given something: "Alice gives Mara a key."; "" if unknown."""
    after = entry.content.partition(" gives ")[2]
    if addressing.named(" ".join(after.split()[:2]), circle.names) != addressing.Named.NOT:
        return circle.npc
    others = [e for e in circle.mentioned(after) if e != entry.source_entity]
    return others[0] if len(others) == 1 else ""


def _is_bare_date(entry: Entry, circle: Circle) -> bool:
    """Whether a line of somebody else gives nothing but a day to come: "make that monday"."""
    if entry.origin == "self" or not _may_commit(entry) or entry.is_question:
        return False
    if _due(entry.content, entry) <= day_of(entry.timestamp):
        return False
    return not _about(entry.content, entry.timestamp, circle)


def _moved_by(
    entry: Entry, items: Iterable[AgendaItem], circle: Circle, recent: Sequence[Entry]
) -> AgendaItem | None:
    """Return the item that a line moves to another day, moved.

    "I'll bring the kettle monday instead, not friday" says which; a bare date means the one that
    the speaker has just stated.
    """
    said = _words(entry, circle)
    for item in items if corrections.may_correct(said) else ():
        meant = corrections.completed(said, [item.text])
        moved = item.state == "open" and item.audience == entry.audience and meant
        if moved and item.who == entry.source_entity and entry.id not in item.evidence:
            day = _due(moved[1], entry)
            if day and day != item.due:
                return replace(repeated(item, day, (entry.id,), entry), text=moved[1][:TEXT_KEPT])
    if not _is_bare_date(entry, circle):
        return None
    before = _said_before(entry, recent)
    stated = [
        item
        for item in items
        if before
        and item.state == "open"
        and before.id in item.evidence
        and item.audience == entry.audience
    ]
    if len(stated) != 1 or entry.id in stated[0].evidence:
        return None
    return repeated(stated[0], _due(entry.content, entry), (entry.id,), entry)


def _said_before(entry: Entry, recent: Sequence[Entry]) -> Entry | None:
    """Return what the speaker said last; None if somebody has asked something since."""
    for earlier in reversed(recent):
        if seconds_between(earlier.timestamp, entry.timestamp) > ANSWERED_WITHIN:
            return None
        if earlier.kind not in TALK_KINDS or earlier.session_id != entry.session_id:
            continue
        if earlier.source_entity == entry.source_entity:
            return earlier
        if earlier.origin != "self" and earlier.is_question:
            return None
    return None


def repeated(
    known: AgendaItem, day: str, evidence: Sequence[int], line: AgendaItem | Entry
) -> AgendaItem:
    """Return an item with the line that repeats, confirms or moves it."""
    private, witnesses = shared_privacy([known, line])
    first, *later = dict.fromkeys((*known.evidence, *evidence))
    return replace(
        known,
        due=day or known.due,
        evidence=(first, *later[1 - EVIDENCE_KEPT :]),
        private=private,
        witnesses=witnesses,
        updated=line.timestamp if isinstance(line, Entry) else line.updated,
    )


def _add(agenda: dict[str, AgendaItem], item: AgendaItem, circle: Circle, *, own: bool) -> None:
    """Add an item, or the line to the item that it repeats, confirms or moves.

    Args:
        own: Whether the NPC said it: what it says again leaves the item as it is.
    """
    line = item.evidence[-1]
    earlier = [each for each in agenda.values() if line not in each.evidence]
    for known in sorted(earlier, key=lambda each: each.updated, reverse=True):
        if _is_same(known, item, circle):
            if not own:
                agenda[known.id] = repeated(known, item.due, item.evidence, item)
            return
    if moved := _moved_to(item, earlier, circle):
        agenda[moved.id] = repeated(moved, item.due, item.evidence, item)
        return
    agenda[item.id] = item


def _moved_to(item: AgendaItem, earlier: Iterable[AgendaItem], circle: Circle) -> AgendaItem | None:
    """Return what somebody says is put off: "payday got moved. monday."; None if that is unsure."""
    if not (item.due and _PUT_OFF.search(item.text)) or item.kind == "request":
        return None
    dated = [
        known
        for known in earlier
        if known.state == "open"
        and known.kind != "request"
        and known.who == item.who
        and known.due
        and known.due != item.due
        and known.audience == item.audience
    ]
    about = _about(item.text, item.created, circle) - _OF_PUTTING_OFF
    chosen = [known for known in dated if about & _about(known.text, known.created, circle)]
    if not about:
        chosen = dated
    return chosen[0] if len(chosen) == 1 else None


def _is_same(known: AgendaItem, item: AgendaItem, circle: Circle) -> bool:
    """Whether a new item is an open one again: of the same people, about the same thing."""
    if known.state != "open" or known.audience != item.audience:
        return False
    kinds = {known.kind, item.kind}
    # a debt that is promised to be paid; what somebody has promised another, and will do
    if len(kinds) > 1 and kinds not in ({"promise", "debt"}, {"promise", "plan"}):
        return False
    if known.who != item.who:
        return False
    # "i promised Hobb", whom it does not know, and "i will" are one promise
    unnamed = kinds == {"promise"} and not (known.to and item.to)
    if known.to != item.to and "plan" not in kinds and not unnamed:
        return False
    if not set(known.evidence).isdisjoint(item.evidence):
        return True
    old, new = (_about(each.text, each.created, circle) for each in (known, item))
    owed = [_numbers(each.text) for each in (known, item)]
    same_sum = kinds == {"debt"} and owed[0] and owed[0] == owed[1] and old & new
    if same_sum and not corrections.may_correct(item.text):
        return True  # in the debtor's words and the creditor's
    # most of what the shorter says: to mend a fence and to mend a roof are two promises
    return 2 * len(old & new) > min(len(old), len(new))


def _about(text: str, said_at: str, circle: Circle) -> set[str]:
    """Return the stems of what a text is about, without names as well."""
    plain = text
    for each in dates(text, said_at):
        plain = plain.replace(each.said, " ")
    named = {found[1].lower() for found in _PROMISED_TO.finditer(plain)}
    named |= {found[1].lower() for found in _OWNER.finditer(plain)}
    named |= {name[0].lower() for name in _NAME.finditer(plain) if name.start()}
    bare = [
        word
        for word in words_of(plain)
        if word not in named
        and word not in circle.names
        and word not in NUMBERS
        and word not in FUNCTION_WORDS
        and not circle.mentioned(word)
    ]
    return {stem(word) for word in bare} - _GENERIC - _MOVING


def _matter(text: str) -> set[str]:
    """Return the stems of what a text is about, without dates and words of promising."""
    return content_words(text) - _GENERIC


# --- what is done ---------------------------------------------------------------------------------


def _may_close(entry: Entry) -> bool:
    """Whether a line may say that something is done; what the NPC says itself proves nothing."""
    if _is_gift(entry):
        return entry.learnable or entry.origin == "self"
    talk = _may_commit(entry) and entry.origin != "self"
    return talk and commitments.closes(entry.content) is not None


def _closed_by(
    entry: Entry, items: Iterable[AgendaItem], circle: Circle, recent: Sequence[Entry]
) -> list[AgendaItem]:
    """Return the open items that a line closes, closed."""
    if not _may_close(entry):
        return []
    open_items = [
        item
        for item in items
        if item.state == "open"
        and entry.id not in item.evidence
        and item.created <= entry.timestamp
        and (entry.audience in (None, item.audience) or _takes_back(entry, item))
    ]
    if _is_gift(entry):
        found = [item for item in open_items if _is_given(entry, item, circle)]
        return [_close(item, "done", entry) for item in found]
    how = commitments.closes(entry.content) if _may_commit(entry) else None
    if how is None:
        return []
    if _MISSPOKE.search(entry.content) and corrections.may_correct(_words(entry, circle)):
        return []  # "it's not Button, i misspoke: Bobbin" is of something else
    between = _sides(entry, circle, recent)
    open_items = [item for item in open_items if _is_between(item, entry, between)]
    ended = [item for item in open_items if _is_ended(entry, item, how, circle)]
    settled = bool(_SETTLED.search(entry.content))
    if not ended and how == "done" and (settled or _SETTLED_WITH.search(entry.content)):
        named = {*circle.mentioned(entry.content)} - {entry.source_entity}
        anybody = settled and not named
        debts = [
            item
            for item in open_items
            if item.kind == "debt"
            and item.concerns(entry.source_entity or "")
            and (anybody or named & {item.who, item.to})
        ]
        ended = debts if len(debts) == 1 else []
    if not ended and how == "off" and commitments.withdraws(entry.content):
        ended = [item for item in open_items if _is_just_said(entry, item)]
    if not ended:
        return []
    best = max(ended, key=lambda item: (_shared(entry.content, item.text), item.updated))
    return [_close(best, "broken" if how == "broken" else "done", entry)]


def _sides(entry: Entry, circle: Circle, recent: Sequence[Entry]) -> set[str]:
    """Return with whom something is settled in words to "you"; empty if that is unsure."""
    if not _TO_YOU.search(entry.content):
        return set()
    listener = spoken_to(entry, recent, circle)
    return {listener, *circle.mentioned(entry.content)} if listener else set()


def _is_between(item: AgendaItem, entry: Entry, sides: set[str]) -> bool:
    """Whether a debt is between the speaker and one of these, or nobody knows with whom."""
    if item.kind != "debt" or not sides:
        return True
    other = item.to if item.who == entry.source_entity else item.who
    return not other or other in sides


def _takes_back(entry: Entry, item: AgendaItem) -> bool:
    """Whether "forget what i said", which is confided, is of an item that the same people heard."""
    if entry.kind == "whisper" or not commitments.withdraws(entry.content):
        return False
    return set(item.witnesses) <= set(entry.witnesses) and _is_just_said(entry, item)


def _is_just_said(entry: Entry, item: AgendaItem) -> bool:
    """Whether the speaker of a line has said or asked this a moment ago."""
    own = item.to if item.kind == "request" else item.who
    recently = seconds_between(item.updated, entry.timestamp) <= ANSWERED_WITHIN
    return own == entry.source_entity and recently


def _is_ended(entry: Entry, item: AgendaItem, how: commitments.Closing, circle: Circle) -> bool:
    """Whether words that end something are about this item."""
    speaker = entry.source_entity or ""
    shared = _shared(_words(entry, circle), item.text)
    if how == "broken" and item.who != speaker:
        return False
    if how == "done" and item.kind == "debt" and _partly_paid(entry.content, item.text):
        return False
    paid = how == "done" and item.kind == "debt" and _is_paid(entry.content, item, circle)
    return item.concerns(speaker) and (paid or shared >= SAME_MATTER)


def _is_paid(text: str, item: AgendaItem, circle: Circle) -> bool:
    """Whether words say that the one was paid whom a debt is owed to."""
    paid = commitments.paid_to(text)
    if not paid or item.to:
        return bool(paid) and item.to in circle.mentioned(paid)
    return bool(_matter(paid) & _matter(commitments.creditor(item.text)))


def _is_given(entry: Entry, item: AgendaItem, circle: Circle) -> bool:
    """Whether a gift is what an item asked for: from the one who owes it to the one it is owed."""
    giver = circle.npc if entry.origin == "self" else (entry.source_entity or "")
    if item.who != giver or item.kind == "plan":
        return False
    receiver = _receiver(entry, circle)
    if item.kind != "request" and (not receiver or (item.to and receiver != item.to)):
        return False
    thing = _NAME.sub(" ", entry.content.partition(" gives ")[2])
    text = _without_days(item.text, item.created)
    given, owed = _numbers(thing), _numbers(text)
    if given and owed:
        return max(given) in owed and max(given) >= max(owed)
    if item.kind != "request" and item.to and item.due and not _matter(_OATH.sub(" ", text)):
        return not _PAYS.search(text) or bool(given)  # "friday, cross my heart"
    return bool(_matter(thing) & _matter(text))


def _without_days(text: str, said_at: str) -> str:
    for each in dates(text, said_at):
        text = text.replace(each.said, " ")
    return text


def _partly_paid(text: str, owed: str) -> bool:
    paid, whole = _numbers(text), _numbers(owed)
    return bool(paid and whole) and max(paid) < max(whole)


def _shared(text: str, stated: str) -> int:
    """Return how many stems two texts share; an amount in figures is one: "your 3 coppers"."""
    same_amount = bool(_figures(text) & _figures(stated))
    return len(_matter(text) & _matter(stated)) + same_amount


def _figures(text: str) -> set[str]:
    return {each for each in _NUMBER.findall(text)[:8] if len(each) < 9}


def _numbers(text: str) -> set[int]:
    words = {NUMBERS[word] for word in _NUMBER_WORD.findall(text.lower())}
    return words | set(map(int, _figures(text)))


def _close(item: AgendaItem, state: Any, entry: Entry) -> AgendaItem:
    return replace(
        item, state=state, closed_by=(*item.closed_by, entry.id), updated=entry.timestamp
    )
