"""What lines of talk change on an agenda: who commits himself to what, and what became of it.

A function of plain data: lines, what is done with their words (`offline.acts`), the items so far.
An item's id follows from its line, and a line that states, moves or closes an item is among its
ids, so that reading a line again changes nothing.

A promise, a debt or a plan that somebody states is an item; so is what the NPC is asked to do, if
it waits. Who owes it to whom is read from the pronouns and names beside its verb. What is set right
moves an item, what is settled, given or called off closes it. Of what the NPC says itself only a
promise or a plan of its own with a date becomes an item: what it retells is none, and it changes no
item by saying it again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, cast

from ..language import Circle, Commitment, Named
from ..local_time import day_of, local
from ..offline.matter import paid_by
from ..privacy import shared_privacy
from ..records import (
    LOOK_BACK,
    RETOLD,
    TALK_KINDS,
    TEXT_KEPT,
    AgendaItem,
    Entry,
    LineReading,
    SpeechAct,
    seconds_between,
)
from ..text.segmentation import words_of
from . import addressing, agenda_questions, commitments
from .contradiction import numbers
from .due_dates import WEEKDAYS, dates, due
from .questions import asks, sentences_of
from .tokens import NUMBERS, content_words, stem

ANSWERED_WITHIN = 120.0  # seconds
TOLD_FROM = 0.5  # share of a message's stems in the words that pass it on
WHOLE_LINE = 240  # characters: a line up to this length is kept whole
# from which score on an act counts, of words that name a day to come and of others
LEAST: dict[str, tuple[float, float]] = {
    "promise": (-2.0, 1.5),
    "debt": (-2.0, -0.5),
    "plan": (-1.0, 2.0),
    "request": (-1.0, 0.0),
    "order": (0.5, 2.0),
}
# kinds of reaction that bear an act out, and their share, at least
BORNE_OUT_BY: dict[str, frozenset[str]] = {
    "debt": frozenset("owe pay pledge favour order".split()),
}
LEAST_BORNE_OUT = 0.1
CALM_FROM = 0.75  # share of relief from which nothing is settled but an alarm
OWN = 0.5  # of what the NPC says itself
KEEPS = -1.5  # of a request to keep something
SETTLES, HALF_SETTLES = 0.0, -1.5  # alone, with words of paying
CORRECTS = -1.0  # of what sets a day right
NEVER = 99.0
ASSERTS = 1.0  # of a commitment in a question
PAYS = 1.0  # of what settles a debt in the sentence that names it
ERRAND = 9.0  # of what is asked for by its form
ANSWERS = 1.8  # score of the answer, from which a line that names nobody is for the NPC
SAME_MATTER = 2  # shared stems: a line about an item of the same person

Readings = Mapping[int, LineReading]  # of lines, by their journal ids

_ASKED = ("request", "order")
_SUREST: tuple[Commitment, ...] = ("debt", "promise", "plan")
_FIRST = frozenset("i ill im ive me we us my".split())
_SECOND = frozenset("you u ye ya yer ur your youll".split())
_THIRD = frozenset("he she they him her them em".split())
_OF_ITSELF = re.compile(r"\b(?:I|you shall have)\b")
_OF_SPEAKER = re.compile(r"\b(?:i|i['’]?(?:m|ll|ve)|me|my|we|us|our)\b", re.IGNORECASE)
_OF_OTHERS = re.compile(
    r"\b(?:(?:s?he|they)(?:['’]?(?:s|d|ll|re|ve))?|his|him|hers?|their|them|some(?:one|body|1))\b",
    re.IGNORECASE,
)
_OF_US = re.compile(
    r"\b(?:(?:i|we|you|u|ye)(?:['’]?(?:m|d|ll|ve|re))?|me|us|your|ur)\b", re.IGNORECASE
)
_NAME = re.compile(r"\b[A-Z]\w*")
_SUM = re.compile(r"\d+(?:\.\d+)?")
_PAYS = re.compile(r"\b(?:pay|settle|owe|slate|tab)\b", re.IGNORECASE)
_PAID_BACK = re.compile(
    r"\bpa(?:id|yed)\b(?: \w+)? (?:back|up|off)\b|\b(?:square|even|quits|straight)\b", re.IGNORECASE
)
_OATH = re.compile(r"\b(?:on|upon|by|cross) (?:my|me|ma) \w+(?:'s \w+)?", re.IGNORECASE)
_INSTEAD = re.compile(
    r"\b(?:scratch that|instead|changed? my (?:mind|plans?)|change of plans?|after all|never came"
    r"|(?:been |got |is |was )?(?:moved|shunted|put off|pushed back|postponed|delayed|shifted))\b"
    r"|\b(?:won['’]?t|does ?n['’]?t|can['’]?t|cannot) (?:work|do|make|manage)\b|\bno good\b"
    rf"|\bnow (?:it['’]?s )?|{commitments.SAID_WRONG}",
    re.IGNORECASE,
)
_RIGHT = re.compile(  # "friday. no, saturday", "i said friday but it's saturday"
    r"\b(?:(?:no|nah|wait|hang on|scratch that|i mean|forgive me|sorry)\b\W+)+"
    rf"|{commitments.SAID_WRONG}\W+",
    re.IGNORECASE,
)
_GIVEN_UP = re.compile(rf"\b(?:not|instead of|rather than) (?:on )?({'|'.join(WEEKDAYS)})\b")
_SO_THEN = re.compile(  # "ill bring em sunday ok?" asks nothing
    r"\b(?:i|we)(?:['’]?ll| will| shall)\b[^.!?]*,? (?:ok(?:ay)?|k|al+ ?right|right|yeah)\s*\?\W*$",
    re.IGNORECASE,
)
_WILL = re.compile(r"\b(?:i|we)(?:['’]?ll| will| shall)\b", re.IGNORECASE)
# stems that tell one matter from another as little as a day does
_GENERIC = frozenset(
    "thing day week month time promis swear word owe pay paid back get give payday make instead"
    " mean rather better actual then sorri let no nay aye yes yeah ok okay well oh but ill i'll i'd"
    " let's lets chang move push friend latest lat by till until come sure mind on scratch wait"
    " hang squar even settl count plan work hand abl gonna gotta u ya ur ye yer n thi that im ive"
    " dont cant wont aint didnt isnt told tell ok so only go got want one all now teh da yet"
    " haven't havent suit afraid imposs possibl manag good fine say pleas right alright case nah"
    " nope after"
    .split()
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence with what is done in it: a commitment, and the day that it names or ""."""

    place: int
    sentence: str
    kind: Commitment
    day: str
    sure: float


def _may_commit(entry: Entry) -> bool:
    """Whether an entry may state, move or close an item by its words."""
    own = entry.origin == "self" and RETOLD not in entry.tags
    return (own or entry.learnable) and entry.kind in TALK_KINDS and bool(entry.source_entity)


def commits(entry: Entry) -> bool:
    """Whether what is done with the words of an entry may change the agenda."""
    told = entry.origin != "self" or _due(entry.content, entry) > day_of(entry.timestamp)
    return told and _may_commit(entry) and bool(entry.content.strip())


def changes(
    entries: Sequence[Entry],
    items: Iterable[AgendaItem],
    circle: Circle,
    readings: Readings,
    *,
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
        line = Line(entry, readings.get(entry.id) or by_rules(entry), circle, recent)
        stated = line.stated()
        if stated or line.may_change:
            if agenda is None:
                known = {item.id: item for item in items}
                agenda = dict(known)
            done = line.settled(agenda.values())
            moved = [] if done else line.moved(agenda.values())
            agenda |= {item.id: item for item in (*done, *moved)}
            for item in () if moved else stated:
                if item.id not in agenda and not (done and item.kind == "debt"):
                    _add(agenda, item, circle, own=line.own)
        recent = [*recent, entry][-LOOK_BACK:]
    return [item for key, item in (agenda or {}).items() if known.get(key) != item]


def ended(item: AgendaItem, by: Entry, circle: Circle) -> Literal["done", "broken", ""]:
    """Return how a line closes an item, as `language.AgendaLanguage.ended`.

    It is said by or of those whom the item concerns, and shares a sum or a matter with it, or
    settles what is owed. Another sum is another matter.
    """
    parties = {by.source_entity, *circle.mentioned(by.content)}
    named, owed = (_numbers(_without_days(e, by.timestamp)) for e in (by.content, item.text))
    if parties.isdisjoint((item.who, item.to)) or (named and owed and named.isdisjoint(owed)):
        return ""
    old, new = _about(item.text, item.created, circle), _about(by.content, by.timestamp, circle)
    how = commitments.closes(by.content)
    if not (old & new or named & owed or (how == "done" and item.kind == "debt")):
        return ""
    return "broken" if how == "broken" else "done"


def by_rules(entry: Entry) -> LineReading:
    """Read a line by its plainest forms, where the local model is not installed."""
    acts = []
    for sentence in sentences_of(entry.content) if not asks(entry.content) else ():
        later = _due(sentence, entry) > day_of(entry.timestamp)
        kind = ("promise" if _WILL.search(sentence) else "plan") if later else ""
        if commitments.sides(sentence)[0] and (later or _numbers(sentence)):
            kind = "debt"
        if commitments.closes(sentence) == "done":
            kind = "settle"
        acts.append(SpeechAct("request" if commitments.keeps(sentence) else kind, sentence, 2.0))
    return LineReading((), 0.0, tuple(each for each in acts if each.kind))


class Line:
    """A line with what is done in it and the lines before it."""

    def __init__(self, entry: Entry, read: LineReading, circle: Circle, recent: Sequence[Entry]):
        self.entry, self.circle, self.recent = entry, circle, recent
        self.own = entry.origin == "self"
        self.speaker = entry.source_entity or ""
        self.acts = read.possible if _may_commit(entry) else ()
        self.answer = read.answer
        self.wanted = read.wanted
        self.listener = spoken_to(entry, recent, circle, answers=read.answer)
        self.words = self._asked(entry.content)
        self.gift = bool(_handed(entry)) and (entry.learnable or self.own)
        days = [each.iso for each in dates(entry.content, local(entry.timestamp))]
        given_up = {*_GIVEN_UP.findall(entry.content.lower())}
        self.days = [each for each in days if _weekday(each) not in given_up] or days
        self.day = self.days[0] if len({*self.days}) == 1 else ""
        self.owes = self._sure("debt") >= LEAST["debt"][0]
        self.settles = self._sure("settle")
        self.right = [a for a in self.acts if a.kind == "correction" and a.sure >= CORRECTS]
        self.closing = self._closing()
        self.instead = bool(given_up or _INSTEAD.search(entry.content))

    def _sure(self, kind: str) -> float:
        return max((each.sure for each in self.acts if each.kind == kind), default=-NEVER)

    @property
    def may_change(self) -> bool:
        """Whether the line may end or move an item."""
        moves = self.right or self.instead or self.day
        return bool(self.own or self.gift or self.closing or moves)

    # --- what is stated ---

    def stated(self) -> list[AgendaItem]:
        """Return the items that the line states: one, or one for each day or errand."""
        found = [*self._commitments()]
        if not found:
            return []
        whole = " ".join(self.entry.content.split())
        single = len(found) == 1
        private, witnesses = shared_privacy([self.entry])
        made = []
        for said in found:
            who, to = self._parties(said)
            text = whole if single and len(whole) <= WHOLE_LINE else said.sentence
            made.append(
                AgendaItem(
                    id=str(self.entry.id) if single else f"{self.entry.id}.{said.place}",
                    kind=said.kind,
                    who=who,
                    to=to,
                    text=text[:TEXT_KEPT],
                    due=said.day or (self.day if single else ""),
                    evidence=(self.entry.id,),
                    private=private,
                    witnesses=witnesses,
                    created=self.entry.timestamp,
                    updated=self.entry.timestamp,
                )
            )
        return made

    def _commitments(self) -> Iterator[Said]:
        """Yield what each sentence commits to; one matter told in several sentences is one."""
        sentences = sentences_of(" ".join(self.entry.content.split()))
        if not _may_commit(self.entry) or self.entry.content.lstrip().startswith("(("):
            return  # out of character
        found: list[Said | None] = []
        pays_all = commitments.hands_over(self.entry.content)
        settles = [act.text for act in self.acts if act.kind == "settle" and act.sure >= PAYS]
        paid = {place for text in settles for place in _places(text, sentences)}
        for place, sentence in enumerate(sentences) if not self.own else ():
            day = _due(sentence, self.entry)
            if self._to_npc and commitments.errand(self._asked(sentence), dated=bool(day)):
                found.append(Said(place, sentence, "request", day, ERRAND))
            owes = commitments.owes(sentence) and not (pays_all or place in paid)
            if owes and _numbers(sentence) and not asks(sentence):
                found.append(self._said(SpeechAct("debt", sentence, ASSERTS), place, sentence))
        for act in self.acts:
            if act.kind in LEAST and not (act.kind == "debt" and pays_all):
                places = _places(act.text, sentences)
                if act.kind in ("debt", "promise") and _is_of_others(sentences[places[0]]):
                    continue  # "he gets out if someone pays. twelve silver."
                found += (self._said(act, place, sentences[place]) for place in places)
        best: dict[int, Said] = {}
        # an errand counts before what is promised, that before what else is asked for
        for said in sorted(
            filter(None, found), key=lambda s: (s.sure == ERRAND, s.kind != "request", s.sure)
        ):
            best[said.place] = said
        for errands in (False, True):
            some = [said for _, said in sorted(best.items()) if (said.kind == "request") == errands]
            if len({said.day for said in some if said.day}) < 2 and len(some) > 1:
                day = next((said.day for said in some if said.day), "")
                first = some[0] if errands else min(some, key=lambda s: _SUREST.index(s.kind))
                some = [replace(first, day=first.day or day)]
            yield from some

    def _said(self, act: SpeechAct, place: int, sentence: str) -> Said | None:
        """Return what an act commits to; None if that is unsure, or nothing to keep."""
        day = self._day(act, sentence)
        later = day > day_of(self.entry.timestamp)
        kind = cast(Commitment, "request" if act.kind in _ASKED else act.kind)
        if act.sure < self._least(act, later=later) or not self._is_borne_out(act, sentence):
            return None
        if kind == "plan" and commitments.promises(sentence):
            kind = "promise"
        if kind == "promise" and (_PAYS.search(sentence) or (self.owes and _numbers(sentence))):
            kind = "debt"
        owed = later or any(commitments.sides(sentence)) or _numbers(sentence)
        if kind == "debt" and not (owed or _PAYS.search(sentence)):
            return None  # "they have raised my wages"
        if kind == "request" and asks(act.text) and _SECOND.isdisjoint(words_of(sentence)):
            return None  # "if i bring a jar back what do i get"
        if kind == "request" and (self.own or not self._to_npc or not self._about(sentence)):
            return None
        if kind != "request" and commitments.denies_debt(sentence):
            return None
        said = self._asked(sentence)
        only_asks = asks(act.text) and act.sure < ASSERTS
        only_asks |= asks(said) and bool(agenda_questions.read(said, self.entry.timestamp))
        if kind != "request" and only_asks and not commitments.leaves_rest(sentence):
            return None  # "what do i owe you?", not "may i owe you the rest?"
        kept = kind == "request" and commitments.keeps(self._asked(act.text))
        parting = [a for a in self.acts if a.kind == "parting" and a.text in sentence]
        if not kept and any(a.sure > act.sure for a in parting):
            return None  # "see you tomorrow"
        will = kind in ("promise", "plan") and act.sure >= OWN
        if self.own and not (will and later and self._will_itself(sentence)):
            return None
        return Said(place, sentence, kind, day, ERRAND if kept else act.sure)

    def _is_borne_out(self, act: SpeechAct, sentence: str) -> bool:
        """Whether the reaction that a line wants may be to such an act: a boast is no debt."""
        kinds = BORNE_OUT_BY.get(act.kind)
        if not (kinds and self.wanted) or commitments.owes(sentence):
            return True
        return sum(share for kind, share in self.wanted if kind in kinds) >= LEAST_BORNE_OUT

    def _asked(self, text: str) -> str:
        return addressing.without_address(text, self.circle.names)

    def _least(self, act: SpeechAct, *, later: bool) -> float:
        """Return from which score on an act counts."""
        with_day, without = LEAST[act.kind]
        if act.kind == "promise" and commitments.promises(act.text):
            return with_day
        if act.kind in _ASKED:
            if commitments.keeps(self._asked(act.text)):
                return KEEPS
            without = without if commitments.in_a_case(act.text) else NEVER
        return with_day if later else without

    def _about(self, text: str) -> set[str]:
        return _about(text, self.entry.timestamp, self.circle)

    @property
    def _to_npc(self) -> bool:
        """Whether something may be asked of the NPC: in company, by what calls nobody by name."""
        if self.listener == self.circle.npc:
            return True
        return self.answer >= 0 and not self.circle.called(self.entry.content)

    def _day(self, act: SpeechAct, sentence: str) -> str:
        """Return which day words name; what is set right in the same line counts before them."""
        said_at, whole = local(self.entry.timestamp), self.entry.content
        for found in _RIGHT.finditer(whole):
            before, after = whole[: found.start()], dates(whole[found.end() :], said_at)
            if after and dates(before, said_at):
                return after[0].iso
        day = _due(act.text, self.entry)
        if act.text in sentence and day not in {each.iso for each in dates(sentence, said_at)}:
            day = ""  # what the words beside it tell was: "Monday at dawn I saw you"
        return day or _due(sentence, self.entry)

    def _will_itself(self, sentence: str) -> bool:
        """Whether the NPC says of itself what it will do, in the clause with the day."""
        found = due(sentence, local(self.entry.timestamp))
        before, _day, after = sentence.partition(found.said if found else sentence)
        clause = re.split(r"[.;:!?]|, ", before)[-1] + re.split(r"[.,;:!?]", after)[0]
        return bool(_OF_ITSELF.search(before) or _OF_ITSELF.search(clause))

    def _parties(self, said: Said) -> tuple[str, str]:
        """Return who is to do it, and to whom it is owed."""
        named = [e for e in self.circle.mentioned(said.sentence) if e != self.speaker]
        if said.kind == "request":
            return self.circle.npc, self.speaker
        if said.kind == "plan":
            of_other = len(named) == 1 and not _OF_SPEAKER.search(said.sentence)
            return (named[0] if of_other else self.speaker), ""
        who, to = commitments.sides(said.sentence)
        debtor = self._whom(who, named) if who else self.speaker
        if debtor is None:
            debtor = "" if to.lower() in _FIRST else self.speaker
        creditor = self._whom(to, named) if to else None
        if debtor != self.speaker:
            return debtor, self.speaker if creditor is None else creditor
        if creditor in (None, self.speaker):
            other = named[0] if len(named) == 1 else self.listener
            creditor = "" if commitments.creditor(said.sentence) else other
        return debtor, creditor

    def _whom(self, words: str, named: Sequence[str]) -> str | None:
        """Return who is meant by words, "" for somebody unknown, None where they name nobody."""
        last = re.split("['’]", words.lower().split()[-1])[0]
        if last in _FIRST:
            return self.speaker
        if last in _SECOND:
            called = [e for e in self.circle.called(self.words) if e != self.speaker]
            if len(called) == 1:
                return called[0]  # "mara, bram, i owe you six"
            return self.listener or (named[0] if len(named) == 1 else "")
        if last in _THIRD:
            return named[0] if len(named) == 1 else None
        if addressing.named(words, self.circle.names) is not Named.NOT:
            return self.circle.npc
        known = [each for each in self.circle.mentioned(words) if each != self.speaker]
        return known[0] if len(known) == 1 else None

    # --- what is moved ---

    def moved(self, items: Iterable[AgendaItem]) -> list[AgendaItem]:
        """Return the item that the line sets right or puts on another day."""
        asks_only = self.entry.is_question and not _SO_THEN.search(self.entry.content)
        if self.own or not _may_commit(self.entry) or asks_only:
            return []
        mine = [
            item
            for item in items
            if item.state == "open"
            and item.audience == self.entry.audience
            and self.entry.id not in item.evidence
            and self.speaker in ((item.to,) if item.kind == "request" else (item.who,))
            and not (item.kind == "request" and _PAYS.search(self.words))
        ]
        day = self.days[-1] if self.days else ""
        about = self._about(_OATH.sub(" ", self.entry.content))
        just = self._just_said(mine)
        if day > day_of(self.entry.timestamp) and not about and len(just) == 1:
            return [self._again(just[0], day)]
        if not (self.right or self.instead):
            return []
        named = {each for each in WEEKDAYS if each in self.words.lower()} - {_weekday(day)}
        wrong = [item for item in mine if _weekday(item.due) in named]
        shared = {i.id: len(about & _about(i.text, i.created, self.circle)) for i in mine}
        best = max(mine, key=lambda i: (shared[i.id], i.updated), default=None)
        opens = _RIGHT.match(self.words)
        sure = bool(opens or self.instead)
        if day and len(wrong) == 1:  # "i said thursday but it's friday"
            chosen = wrong[0]
        elif best and shared[best.id] and (day or sure):
            chosen = best
        elif len(just) == 1 and opens and (day or not about):
            chosen = just[0]
        else:
            return []
        text = f"{chosen.text} - {' '.join(self.words.split())}"[:TEXT_KEPT]
        return [replace(self._again(chosen, day), text=text)]

    def _again(self, item: AgendaItem, day: str) -> AgendaItem:
        return item.repeated(day, (self.entry.id,), self.entry)

    def _just_said(self, items: Iterable[AgendaItem]) -> list[AgendaItem]:
        """Return the items that rest on what the speaker said last, a moment ago."""
        own = (
            each
            for each in reversed(self.recent)
            if each.source_entity == self.speaker
            and each.kind in TALK_KINDS
            and not each.is_question
        )
        last = next(own, None)
        if last is None or seconds_between(last.timestamp, self.entry.timestamp) > ANSWERED_WITHIN:
            return []
        return [item for item in items if last.id in item.evidence]

    # --- what is done ---

    def settled(self, items: Collection[AgendaItem]) -> list[AgendaItem]:
        """Return the open items that the line closes, closed."""
        open_items = [
            item
            for item in items
            if item.state == "open"
            and self.entry.id not in item.evidence
            and item.created <= self.entry.timestamp
            and self.entry.audience in (None, item.audience)
        ]
        if self.gift:
            found = [item for item in open_items if _is_given(self.entry, item, self.circle)]
            if paid_by(f"gives {_handed(self.entry)}"):  # one sum pays one debt, the same first
                found.sort(key=lambda item: (not _owed_sums(item), item.updated))
                found = found[:1]
            return [item.closed("done", self.entry) for item in found]
        if self.own:
            return [item.closed("done", self.entry) for item in open_items if self._tells(item)]
        how = self.closing
        if how is None:
            return []
        named = {*self.circle.mentioned(self.entry.content)} - {self.speaker}
        between = {self.listener, *named} - {""}
        mine = [item for item in open_items if item.concerns(self.speaker)]
        chosen = self._chosen(mine, how, between)
        return (
            [chosen.closed("broken" if how == "broken" else "done", self.entry)] if chosen else []
        )

    def _tells(self, item: AgendaItem) -> bool:
        """Whether the NPC tells a message to whom it is for, when they have spoken to it."""
        words = commitments.recipient(item.text) if item.kind == "request" else ""
        spoke = [e.source_entity for e in self.recent if e.origin != "self" and not e.is_move][-1:]
        to = [*self.circle.mentioned(words)]
        meant = not item.private and {*to} & {*spoke, *self.circle.called(self.entry.content)}
        message = _matter(item.text)
        told = len(message & _matter(self.entry.words))
        return bool(meant) and told >= TOLD_FROM * len(message)

    def _closing(self) -> commitments.Closing | None:
        if not _may_commit(self.entry):
            return None
        how = commitments.closes(self.entry.content)
        days = {each.iso for each in dates(self.entry.content, local(self.entry.timestamp))}
        if (how == "broken" and len(days) > 1) or (how == "off" and days and self.right):
            return None  # it is only put off
        calm = sum(share for kind, share in self.wanted if kind == "relief") >= CALM_FROM
        return "done" if how is None and self.settles >= SETTLES and not calm else how

    def _may_settle(self, item: AgendaItem) -> bool:
        """Whether one word in common is enough to settle an item: the eggs, the four silver."""
        return item.kind == "debt" or (item.kind == "promise" and self.settles >= SETTLES)

    def _chosen(
        self, mine: Sequence[AgendaItem], how: commitments.Closing, between: set[str]
    ) -> AgendaItem | None:
        """Return which of the open items of the speaker is closed; None where that is unsure."""
        if how == "broken":
            mine = [item for item in mine if item.who == self.speaker]
        if how == "done":
            mine = [i for i in mine if not (i.kind == "debt" and self._pays_in_part(i))]
        off = [each for each in sentences_of(self.words) if commitments.closes(each) == "off"]
        if how == "off" and off and all(map(_is_of_others, off)):  # "she isn't coming after all"
            mine = [item for item in mine if item.kind == "plan"]
        spans = " ".join(a.text for a in self.acts if a.kind == "settle" and a.sure >= HALF_SETTLES)
        own = {stem(word) for name in self.circle.names for word in name.split()}
        about, sums = _matter((how == "done" and spans) or self.words) - own, _numbers(self.words)
        shared = {i.id: len(about & _matter(i.text)) + bool(sums & _owed_sums(i)) for i in mine}
        alike = [
            item
            for item in mine
            if shared[item.id] >= (1 if how == "done" and self._may_settle(item) else SAME_MATTER)
            if not (item.kind == "debt" and item.to and between) or between & {item.who, item.to}
        ]
        if alike:
            return max(
                alike, key=lambda i: (bool(between & {i.who, i.to}), shared[i.id], i.updated)
            )
        if how == "off" and len(_matter(self.words)) <= SAME_MATTER:  # "never mind"
            return next(iter(self._just_said(mine)), None)
        if not (
            how == "done"
            and commitments.pays(self.words)
            and (self.settles >= SETTLES or _PAID_BACK.search(self.words))
        ):
            return None  # "here is my hand" pays nothing
        debts = [item for item in mine if item.kind == "debt" and between & {item.who, item.to}]
        return debts[0] if len(debts) == 1 else None

    def _pays_in_part(self, item: AgendaItem) -> bool:
        """Whether the line names another sum than what is owed, or leaves a part of it."""
        paid, owed = _numbers(self.words), _owed_sums(item)
        other = paid and owed and (min(paid) < max(owed) or paid.isdisjoint(owed))
        return bool(other) or commitments.leaves_rest(self.words)


def _is_of_others(sentence: str) -> bool:
    """Whether a sentence names neither speaker nor listener, nor who owes something to whom."""
    others = _OF_OTHERS.search(sentence) and not _OF_US.search(sentence)
    return bool(others) and not any(commitments.sides(sentence))


def _places(words: str, sentences: Sequence[str]) -> list[int]:
    """Return which sentences some words cover by half, or else have most of them."""
    own = words.lower().split()
    split = [each.lower().split() for each in sentences]
    shared = [sum(word in own for word in each) for each in split]
    covered = [n for n, each in enumerate(split) if 2 * shared[n] >= len(each) > 2]
    return covered or [shared.index(max(shared))]


def _weekday(day: str) -> str:
    return WEEKDAYS[date.fromisoformat(day).weekday()] if day else ""


def _due(text: str, entry: Entry) -> str:
    found = due(text, local(entry.timestamp))
    return found.iso if found else ""


def spoken_to(
    entry: Entry, recent: Sequence[Entry], circle: Circle, *, answers: float = 0.0
) -> str:
    """Return whom a line is said to: the NPC, somebody named, or whoever spoke last; "" if unsure.

    Args:
        recent: The lines before it.
        answers: How surely a good NPC answers the line at once.
    """
    speaker = entry.source_entity or ""
    npc = "" if entry.origin == "self" else circle.npc  # who does not speak to itself
    alone = set(entry.witnesses) <= {speaker, circle.npc}
    if alone or (entry.private and entry.kind == "whisper"):
        return npc
    named = addressing.named(entry.content, circle.names)
    if named is Named.CALLED:
        return npc
    called = [each for each in circle.called(entry.content) if each != speaker]
    if called:
        return called[0] if len(called) == 1 else ""
    if npc and (named is Named.NAMED or answers >= ANSWERS):
        return npc
    for earlier in reversed(recent):
        if earlier.session_id != entry.session_id or earlier.audience not in (None, entry.audience):
            continue
        if seconds_between(earlier.timestamp, entry.timestamp) > ANSWERED_WITHIN:
            break
        if earlier.kind in TALK_KINDS and earlier.source_entity != speaker:
            return circle.npc if earlier.origin == "self" else (earlier.source_entity or "")
    return ""


def _handed(entry: Entry) -> str:
    """Return what somebody gives to the NPC or is seen to give to another, "" if nothing."""
    if entry.kind not in ("give", "pose"):
        return ""
    _, gives, given = entry.content.partition(" gives ")
    return given if gives else paid_by(entry.content.removeprefix(entry.seen_as).strip())


def _receiver(entry: Entry, circle: Circle) -> str:
    """Return who is given something: "Alice gives Mara a key."; "" if unknown."""
    _, gives, after = entry.content.partition(" gives ")
    to = " ".join(after.split()[:2]) if gives else entry.content
    after = after or entry.content
    others = [e for e in circle.mentioned(after) if e not in (entry.source_entity, circle.npc)]
    if addressing.named(to, circle.names) != Named.NOT:
        return "" if others and not gives else circle.npc  # "slides it to Joss, nodding to Mara"
    return others[0] if len(others) == 1 else ""


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
                agenda[known.id] = known.repeated(item.due, item.evidence, item)
            return
    agenda[item.id] = item


def _is_same(known: AgendaItem, item: AgendaItem, circle: Circle) -> bool:
    """Whether a new item is an open one again: of the same people, about the same thing."""
    if known.state != "open" or known.audience != item.audience or known.who != item.who:
        return False
    kinds = {known.kind, item.kind}
    # a debt that is promised to be paid; what somebody has promised another, and will do
    if len(kinds) > 1 and kinds not in ({"promise", "debt"}, {"promise", "plan"}):
        return False
    # "i promised Hobb", whom it does not know, and "i will"; "i have not paid him yet"
    unnamed = not (known.to and item.to) and (kinds == {"promise"} or not _numbers(item.text))
    if known.to != item.to and "plan" not in kinds and not unnamed:
        return False
    if not set(known.evidence).isdisjoint(item.evidence):
        return True
    if kinds == {"debt"} and commitments.leaves_rest(item.text):
        return True  # "here's two, i'll bring the rest on friday"
    old, new = (_about(each.text, each.created, circle) for each in (known, item))
    owed = [_numbers(each.text) for each in (known, item)]
    if kinds == {"debt"} and not owed[1] | new:
        return True  # "i haven't paid him yet", "i'll pay her on friday"
    if kinds == {"debt"} and owed[0] and owed[0] == owed[1] and old & new:
        return True  # in the debtor's words and the creditor's
    # most of what the shorter says: to mend a fence and to mend a roof are two promises
    return 2 * len(old & new) > min(len(old), len(new))


def _about(text: str, said_at: str, circle: Circle) -> set[str]:
    """Return the stems of what a text is about, without days, names and numbers."""
    plain = _without_days(text, said_at)
    named = {name[0].lower() for name in _NAME.finditer(plain) if name.start()}
    named |= {*commitments.sides(plain)[1].lower().split(), *circle.names}
    words = [w for w in words_of(plain) if w in named or w in NUMBERS or circle.mentioned(w)]
    return _matter(plain) - {stem(word) for word in words}


def _matter(text: str) -> set[str]:
    """Return the stems of what a text is about, without words of promising and moving."""
    return content_words(text) - _GENERIC


def _without_days(text: str, said_at: str) -> str:
    for each in dates(text, said_at):
        text = text.replace(each.said, " ")
    return text


def _is_given(entry: Entry, item: AgendaItem, circle: Circle) -> bool:
    """Whether a gift is what an item asked for: from the one who owes it to the one it is owed."""
    giver = circle.npc if entry.origin == "self" else (entry.source_entity or "")
    if item.who != giver or item.kind == "plan" or commitments.leaves_rest(item.text):
        return False
    receiver = _receiver(entry, circle)
    if item.kind != "request" and (not receiver or (item.to and receiver != item.to)):
        return False
    thing = _NAME.sub(" ", _handed(entry))
    given, owed = _numbers(thing), _owed_sums(item)
    if given and owed:
        return max(given) in owed and max(given) >= max(owed)
    if item.kind == "debt" and paid_by(f"gives {thing.strip()}"):
        return not owed
    about = _matter(_OATH.sub(" ", _without_days(item.text, item.created)))
    dated = item.kind != "request" and item.to and item.due
    return bool(_matter(thing) & about or (dated and not about))  # "friday, cross my heart"


def _owed_sums(item: AgendaItem) -> set[float]:
    """Return the numbers of what an item owes."""
    return _numbers(_without_days(item.text, item.created))


def _numbers(text: str) -> set[float]:
    figures = (each.replace(",", ".") for each in numbers(text) if len(each) < 9)
    return {float(each) for each in figures if _SUM.fullmatch(each)}
