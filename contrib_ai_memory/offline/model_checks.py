"""What a language model says of lines, held against the lines [DESIGN §7].

A language model draws facts that no line tells, cites the line above the right one, or gives one
speaker's words to another. A fact is kept where the lines that it cites tell it: they share its
words and are near it in meaning, as they stand or with what they answer. Where another line of the
passage does, that one is cited in their place. Its names and numbers, in words or figures, are
those of the passage; so are the days with which it dates what it tells. It repeats or ends a known
fact only where their words agree, and is a promise, debt, request or plan only where that is done
in one of its lines. The thresholds keep all facts of a strong model that was recorded.

What the model left out or what was refused is completed by the offline provider.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from ..embedding import embedder
from ..english import tokens
from ..english.contradiction import numbers
from ..english.due_dates import dates
from ..english.questions import asks, sentences_of
from ..english.tokens import content_words, holds_number, is_english, without_quotations
from ..llm.provider import Digest, Passage
from ..local_time import date_of, local
from ..records import (
    LINES_BEFORE,
    MOVE_KINDS,
    TALK_KINDS,
    Entry,
    FactDraft,
    LineInTalk,
    TalkLine,
)
from ..text.segmentation import WORD, sentence_ends
from .acts import read
from .reported_lines import reported, without_name

# the share of a fact's telling words that stand in the lines it cites, and its cosine with them
NEAR = 0.4
TOLD = 1.0  # of both together
TOLD_BY_OTHER = 1.3  # with another line, which is then cited, or with what the cited ones answer
ANSWERED = 2  # lines just before a line, which it may answer
AGREES = 0.5  # the share of a known fact's words in a new one and its lines, and their cosine

UNTOLD = "in none of the lines"
UNKNOWN_NAME = "names somebody whom no line names"
UNKNOWN_NUMBER = "has a number that no line has"
OF_ANOTHER = "gives one speaker's words to another"
ASKED = "was only asked"
NOT_REPORTED = "not in the third person"
NO_COMMITMENT = "a promise, debt, request or plan that no line makes"
UNRELATED = "ends or repeats what has nothing to do with it"
# acts of a line (`acts`) in which a fact of a kind is stated
_DONE_BY = {
    "promise": {"promise", "plan"},
    "debt": {"debt"},
    "request": {"request", "order"},
    "plan": {"plan", "promise"},
}
_COMMITMENTS = {act for acts in _DONE_BY.values() for act in acts}

_REPORTS = re.compile(
    r"^(?P<who>[A-Z][\w'’-]*) "
    r"(?:says?|said|claims?|claimed|tells?|told|thinks|asks?|admits|admitted)\b"
)
_FIRST_OR_SECOND = re.compile(
    r"\b(?:I|I['’]\w+|me|my|myself|you|your|yours|yourself)\b"
    r"|(?:^|\b(?:is|are|was|were|be|of|than|and|to|with) )mine\b",  # a mine is a place
    re.IGNORECASE,
)
_DATES = content_words(" ".join((*calendar.day_name, *calendar.month_name, *calendar.month_abbr)))
_NUMBER_WORDS = content_words(" ".join(tokens.NUMBERS))


@dataclass(frozen=True, slots=True)
class CheckedDigest:
    """A digest with what its lines tell."""

    digest: Digest
    refused: Counter[str]  # how many facts, or parts of them, were not kept, by the reason

    def completed_by(self, own: Digest) -> CheckedDigest:
        """Add the facts that the offline provider draws from lines that no kept fact cites.

        Where the model gave no importance, or more is refused than kept, its importance and
        experience give way as well. Where an experience is left to rules, theirs is taken.
        """
        kept = self.digest.facts
        covered = {line for fact in kept for line in fact.journal_ids}
        added = tuple(fact for fact in own.facts if covered.isdisjoint(fact.journal_ids))
        is_poor = not self.digest.importance or self.refused.total() > len(kept)
        digest = own if is_poor else self.digest
        if digest.experiences is None:
            digest = replace(digest, experiences=own.experiences)
        return replace(self, digest=replace(digest, facts=(*kept, *added)))


def checked(digest: Digest, passage: Passage) -> CheckedDigest:
    """Hold the facts of a digest against its passage (worker thread)."""
    if not (digest.facts or digest.over):
        return CheckedDigest(digest, Counter())
    lines = _Lines(digest.facts, passage)
    kept, refused = [], Counter[str]()
    for number, fact in enumerate(digest.facts):
        told = lines.told(number, fact)
        if isinstance(told, str):
            refused[told] += 1
            continue
        related = lines.related(number, told)
        stated = related if _commits(related, passage) else replace(related, kind="other")
        refused[UNRELATED] += related != told
        refused[NO_COMMITMENT] += stated != related
        kept.append(stated)
    found = {each: by or lines.own_words_that_end(each) for each, by in digest.over.items()}
    over = {each: by for each, by in found.items() if by}
    refused[UNRELATED] += len(digest.over) - len(over)
    return CheckedDigest(replace(digest, facts=tuple(kept), over=over), +refused)


def _commits(fact: FactDraft, passage: Passage) -> bool:
    """Whether a line of a fact does what the fact states, as far as lines in English are read.

    Where none commits anybody by its words, a day does, or the number of what is owed.
    """
    acts = _DONE_BY.get(fact.kind)
    told = [entry for entry in passage.entries if entry.id in fact.journal_ids]
    if acts is None or not all(is_english(entry.words) for entry in told):
        return True
    readings = [read(_heard(entry, passage)) for entry in told]
    done = {act.kind for reading in readings if reading for act in reading.acts}
    if acts & done or not any(readings):
        return True
    if done & _COMMITMENTS:
        return False
    owes = fact.kind == "debt" and any(holds_number(entry.words) for entry in told)
    return owes or bool(fact.date)  # "In ten days they are in the yard."


def _heard(entry: Entry, passage: Passage) -> LineInTalk:
    """Return a line with the talk before it."""
    around = sorted((*passage.around, *passage.entries), key=lambda each: each.id)
    before = [_said(each) for each in around if each.id < entry.id][-LINES_BEFORE:]
    others = {each.seen_as for each in passage.entries} - {entry.seen_as, ""}
    return LineInTalk(_said(entry), (passage.npc_name,), tuple(sorted(others)), tuple(before))


def _said(entry: Entry) -> TalkLine:
    return TalkLine(entry.seen_as, entry.content, entry.kind)


class _Lines:
    """The lines of a passage with how near each fact of a digest is to them and to what is known.

    Attributes:
        lines: Of the entries, then of what stands around them.
        facts_at, lines_at: Vectors of unit length, (facts, size) and (lines, size).
        near_known: (facts, known facts) cosines; known_at: their vectors.
        speakers, names, shown: Stems of who speaks, of everybody's names, of all that is shown.
        days: Those on which the lines were said, and those that they name.
    """

    def __init__(self, facts: Sequence[FactDraft], passage: Passage):
        self.passage, self.entries = passage, passage.entries
        self.around = [*passage.entries, *passage.around]
        self.lines = [each.with_speaker() for each in self.around]
        texts, known = [fact.text for fact in facts], [fact.content for fact in passage.known]
        vectors = embedder.shared().encode([*texts, *self.lines, *known])
        self.facts_at, rest = vectors[: len(texts)], vectors[len(texts) :]
        self.lines_at = rest[: len(self.lines)]
        self.known_at = rest[len(self.lines) :]
        self.near_known = self.facts_at @ self.known_at.T
        self.speakers = _stems(*(each.seen_as for each in self.around))
        self.names = self.speakers | _stems(passage.npc_name, *passage.known_names)
        self.shown = self.names | _stems(*self.lines, *known) | _DATES
        self.days = {day for entry in self.around for day in _days_of(entry)}
        self._order = sorted(range(len(self.around)), key=lambda each: self.around[each].id)

    def told(self, number: int, fact: FactDraft) -> FactDraft | str:
        """Return a fact with the lines that tell it, or the reason why it is refused."""
        if not _stems(*_names_in(fact.text)) <= self.shown:
            return UNKNOWN_NAME
        if not numbers(fact.text) <= self.shown | self._dated(fact):
            return UNKNOWN_NUMBER
        cited = [n for n, entry in enumerate(self.entries) if entry.id in fact.journal_ids]
        if self._support(cited, number, fact) < TOLD and not self._answers(cited, number, fact):
            support = [self._support([n], number, fact) for n in range(len(self.entries))]
            if max(support) < TOLD_BY_OTHER:
                return UNTOLD
            cited = [int(np.argmax(support))]
        told = [self.entries[n] for n in cited]
        reports = _REPORTS.match(fact.text)
        if (
            reports
            and not any(each.seen_as.startswith(reports["who"]) for each in told)
            and not self._is_absent(reports["who"], cited)
        ):
            return OF_ANOTHER
        near = _stems(*(self.lines[n] for n in {*cited, *self._before(cited, LINES_BEFORE)}))
        others = _stems(fact.text) & self.speakers - near - _stems(self.passage.npc_name)
        if not all(self._is_meant(who, cited, fact) for who in others):
            return OF_ANOTHER
        said = [each for entry in told for each in sentences_of(entry.words)]
        only_asks = all(entry.kind in TALK_KINDS for entry in told) and all(map(asks, said))
        if only_asks and fact.kind != "request":
            return ASKED
        text = fact.text
        if _FIRST_OR_SECOND.search(without_quotations(text)):
            if len(told) > 1 or told[0].kind not in TALK_KINDS:
                return NOT_REPORTED
            text = reported(without_name(told[0].words, self.passage.npc_name), told[0])
        return replace(fact, text=text, journal_ids=tuple(entry.id for entry in told))

    def related(self, number: int, fact: FactDraft) -> FactDraft:
        """Return a fact without the known ones that it has nothing to do with."""
        return replace(
            fact,
            same_as=fact.same_as if self._agrees(number, fact, fact.same_as) else "",
            ends=fact.ends and tuple(e for e in fact.ends if self._agrees(number, fact, e)),
        )

    def own_words_that_end(self, known_id: str) -> int:
        """Return the journal id of those of the NPC's own words after a known fact that tell of the
        same, with what they answer; 0 if none do."""
        place = self._place_of(known_id)
        if place is None:
            return 0
        known = self.passage.known[place]
        best, found = AGREES, 0
        for n, entry in enumerate(self.around):
            if not entry.is_own or entry.id < max(known.journal_ids, default=0):
                continue
            if entry.audience not in (None, known.audience):
                continue
            together = [n, *self._before([n], ANSWERED)]
            near = self.lines_at[together].sum(axis=0) @ self.known_at[place]
            near /= max(float(np.linalg.norm(self.lines_at[together].sum(axis=0))), 1e-9)
            agrees = float(near) + self._shared(place, *(self.lines[each] for each in together))
            if agrees >= best:
                best, found = agrees, entry.id
        return found

    def _is_meant(self, who: str, cited: Sequence[int], fact: FactDraft) -> bool:
        """Whether lines may mean somebody who is not near them and whom a fact does not name first:
        they speak of a thing ("her egg") of which that one spoke, or which is known of them."""
        named = (_stems(each[0]) & self.speakers for each in WORD.finditer(fact.text))
        if who in next(filter(None, named), set()):
            return False
        things = self._telling(fact) & _stems(*(self.lines[n] for n in cited))
        told = (*self.lines, *(each.content for each in self.passage.known))
        return any(who in words and things & words for words in map(_stems, told))

    def _answers(self, cited: Sequence[int], number: int, fact: FactDraft) -> bool:
        """Whether lines tell a fact together with what they answer, which is no coming or going,
        and the known fact that is nearest to it."""
        before = self._before(cited, ANSWERED)
        together = {*cited, *(n for n in before if self.around[n].kind not in MOVE_KINDS)}
        near = self.near_known[number]
        known = self.passage.known[int(near.argmax())].content if near.size else ""
        return (
            self._near(cited, number) >= NEAR
            and self._support([*together], number, fact, known) >= TOLD_BY_OTHER
        )

    def _before(self, cited: Sequence[int], count: int) -> set[int]:
        """Return the places of the lines just before each of some."""
        at = [self._order.index(place) for place in cited]
        return {n for place in at for n in self._order[max(0, place - count) : place]}

    def _is_absent(self, who: str, cited: Sequence[int]) -> bool:
        """Whether the lines name somebody who says nothing in the passage."""
        name = _stems(who)
        return not name & self.speakers and name <= _stems(*(self.lines[n] for n in cited))

    def _near(self, cited: Sequence[int], number: int) -> float:
        """How near a fact is to the nearest of some lines, or to all together; a cosine."""
        if not cited:
            return 0.0
        lines = self.lines_at[list(cited)]
        together = lines.sum(axis=0)
        together /= max(float(np.linalg.norm(together)), 1e-9)
        return float(max(self.facts_at[number] @ together, *(lines @ self.facts_at[number])))

    def _support(
        self, cited: Sequence[int], number: int, fact: FactDraft, known: str = ""
    ) -> float:
        """How far some lines together tell a fact, beside what is known, 0-2."""
        near = self._near(cited, number)
        if near < NEAR:
            return 0.0
        telling, told = self._telling(fact), _stems(known, *(self.lines[n] for n in cited))
        return near + (len(telling & told) / len(telling) if telling else 1.0)

    def _telling(self, fact: FactDraft) -> Set[str]:
        """The stems and numbers of a fact that tell something: not who says it, no dates."""
        return _stems(_REPORTS.sub("", fact.text)) - self.names - _DATES - self._dated(fact)

    def _dated(self, fact: FactDraft) -> set[str]:
        """The numbers with which a fact may date what it tells; it may also count one."""
        days = self.days | ({date.fromisoformat(fact.date)} if fact.date else set())
        parts = {part for day in days for part in (day.year, day.month, day.day)}
        return {"1", "00", *(f"{part:{width}}" for part in parts for width in ("", "02"))}

    def _agrees(self, number: int, fact: FactDraft, known_id: str) -> bool:
        """Whether a known fact, which a fact repeats or ends, tells of the same."""
        place = self._place_of(known_id)
        if place is None:
            return False
        told = [entry.with_speaker() for entry in self.entries if entry.id in fact.journal_ids]
        shared = self._shared(place, fact.text, *told)
        return float(self.near_known[number, place]) + shared >= AGREES

    def _place_of(self, known_id: str) -> int | None:
        every = self.passage.known
        return next((n for n, known in enumerate(every) if known.id == known_id), None)

    def _shared(self, place: int, *texts: str) -> float:
        """The share of the words of a known fact that stand in texts."""
        known = content_words(_REPORTS.sub("", self.passage.known[place].content)) - _DATES
        return len(known & _stems(*texts)) / len(known) if known else 0.0


def _stems(*texts: str) -> Set[str]:
    """The stems of texts, and their numbers in figures."""
    return {
        each for text in texts for each in (content_words(text) - _NUMBER_WORDS) | numbers(text)
    }


def _names_in(text: str) -> list[str]:
    """The words of a text in capitals, at the beginning of a sentence those that are no common
    ones."""
    firsts = {0, *sentence_ends(text)}
    found = [(each.start() in firsts, each[0]) for each in WORD.finditer(text)]
    names = [(first, name) for first, name in found if name[0].isupper()]
    return [name for first, name in names if not (first and _is_common(name))]


def _is_common(word: str) -> bool:
    return tokens.zipf(word.lower().split("'")[0]) >= tokens.COMMON


def _days_of(entry: Entry) -> set[date]:
    named = (dates(entry.words, local(entry.timestamp), past=past) for past in (False, True))
    return {date_of(entry.timestamp), *(each.day for found in named for each in found)}
