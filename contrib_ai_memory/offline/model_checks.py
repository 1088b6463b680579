"""What a language model says of lines, held against the lines [DESIGN §7].

A small model draws facts that no line tells, cites the line above the right one, or gives one
speaker's words to another. A fact is kept where the lines that it cites tell it: they share its
words and are near it in meaning. Where another line of the passage does, that one is cited in their
place. The thresholds keep all 91 facts of a recorded strong model.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from ..embedding import embedder
from ..english.questions import asks, sentences_of
from ..english.tokens import content_words, without_quotations
from ..llm.provider import Digest, Passage
from ..records import TALK_KINDS, Entry, FactDraft, MemoryRecord
from .reported_lines import reported, without_name

# the share of a fact's telling words that stand in the lines it cites, and its cosine with them
NEAR = 0.5
TOLD = 1.0  # of both together
TOLD_BY_OTHER = 1.3  # with another line, which is then cited
NEAR_KNOWN = 0.3  # cosine of a fact with a known one that it repeats or ends

UNTOLD = "in none of the lines"
UNKNOWN_NAME = "names somebody whom no line names"
OF_ANOTHER = "gives one speaker's words to another"
ASKED = "was only asked"
NOT_REPORTED = "not in the third person"

_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w-]+")
_REPORTS = re.compile(
    r"^(?P<who>[A-Z][\w'’-]*) "
    r"(?:says?|said|claims?|claimed|tells?|told|thinks|asks?|admits|admitted)\b"
)
_FIRST_OR_SECOND = re.compile(
    r"\b(?:I|I['’]\w+|me|my|mine|myself|you|your|yours|yourself)\b", re.IGNORECASE
)
_DATES = content_words(" ".join((*calendar.day_name, *calendar.month_name, *calendar.month_abbr)))


@dataclass(frozen=True, slots=True)
class CheckedDigest:
    """A digest with what its lines tell.

    Attributes:
        refused: How many facts were not kept, by the reason.
        uncovered: Journal ids of the lines that only refused facts cited.
    """

    digest: Digest
    refused: Counter[str]
    uncovered: frozenset[int]

    def completed_by(self, own: Digest) -> CheckedDigest:
        """Add what the offline provider draws from the uncovered lines.

        Where more is refused than kept, the model's importance and experience give way as well, and
        every line that no kept fact cites is the offline provider's.
        """
        if not self.refused:
            return self
        kept = self.digest.facts
        covered = {line for fact in kept for line in fact.journal_ids}
        is_poor = self.refused.total() > len(kept)
        added = tuple(
            replace(fact, ends=())
            for fact in own.facts
            if (covered.isdisjoint if is_poor else self.uncovered.issuperset)(fact.journal_ids)
        )
        digest = own if is_poor else self.digest
        return replace(self, digest=replace(digest, facts=(*kept, *added)))


def checked(digest: Digest, passage: Passage) -> CheckedDigest:
    """Hold the facts of a digest against its passage (worker thread)."""
    if not digest.facts:
        return CheckedDigest(digest, Counter(), frozenset())
    lines = _Lines.of(digest.facts, passage)
    kept, refused, cited_in_vain = [], Counter[str](), set[int]()
    for number, fact in enumerate(digest.facts):
        told = lines.told(number, fact)
        if isinstance(told, str):
            refused[told] += 1
            cited_in_vain |= set(fact.journal_ids)
        else:
            kept.append(told)
    covered = {each for fact in kept for each in fact.journal_ids}
    return CheckedDigest(
        replace(digest, facts=tuple(kept)), refused, frozenset(cited_in_vain - covered)
    )


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of a passage with how near each fact of a digest is to them and to what is known.

    Attributes:
        facts_at, lines_at: Vectors of unit length, (facts, size) and (lines, size).
        near_known: (facts, known facts) cosines.
    """

    npc_name: str
    entries: tuple[Entry, ...]
    facts_at: np.ndarray
    lines_at: np.ndarray
    near_known: np.ndarray
    known: tuple[MemoryRecord, ...]
    names: Set[str]
    shown: Set[str]

    @classmethod
    def of(cls, facts: Sequence[FactDraft], passage: Passage) -> _Lines:
        entries = passage.entries
        texts = [fact.text for fact in facts]
        known = [fact.content for fact in passage.known]
        vectors = embedder.shared().encode([*texts, *map(_line, entries), *known], known=True)
        facts_at, rest = vectors[: len(texts)], vectors[len(texts) :]
        around = [*entries, *passage.around]
        people = (passage.npc_name, *passage.known_names, *(each.seen_as for each in around))
        return cls(
            passage.npc_name,
            entries,
            facts_at,
            rest[: len(entries)],
            facts_at @ rest[len(entries) :].T,
            passage.known,
            _stems(*people),
            _stems(*people, *map(_line, around), *known) | _DATES,
        )

    def told(self, number: int, fact: FactDraft) -> FactDraft | str:
        """Return a fact with the lines that tell it, or the reason why it is refused."""
        if not _stems(*_NAME.findall(fact.text)) <= self.shown:
            return UNKNOWN_NAME
        cited = [n for n, entry in enumerate(self.entries) if entry.id in fact.journal_ids]
        if self._support(cited, number, fact) < TOLD:
            support = [self._support([n], number, fact) for n in range(len(self.entries))]
            if max(support) < TOLD_BY_OTHER:
                return UNTOLD
            cited = [int(np.argmax(support))]
        told = [self.entries[n] for n in cited]
        reports = _REPORTS.match(fact.text)
        if reports and not any(each.seen_as.startswith(reports["who"]) for each in told):
            return OF_ANOTHER
        said = [each for entry in told for each in sentences_of(entry.words)]
        if all(entry.kind in TALK_KINDS for entry in told) and all(map(asks, said)):
            return ASKED
        text = fact.text
        if _FIRST_OR_SECOND.search(without_quotations(text)):
            if len(told) > 1 or told[0].kind not in TALK_KINDS:
                return NOT_REPORTED
            text = reported(without_name(told[0].words, self.npc_name), told[0])
        return replace(
            fact,
            text=text,
            journal_ids=tuple(entry.id for entry in told),
            same_as=fact.same_as if self._is_near(number, fact, fact.same_as) else "",
            ends=fact.ends and tuple(e for e in fact.ends if self._is_near(number, fact, e)),
        )

    def _support(self, cited: Sequence[int], number: int, fact: FactDraft) -> float:
        """How far some lines together tell a fact, 0-2."""
        if not cited:
            return 0.0
        lines = self.lines_at[list(cited)]
        together = lines.sum(axis=0)
        together /= max(float(np.linalg.norm(together)), 1e-9)
        near = float(max(self.facts_at[number] @ together, *(lines @ self.facts_at[number])))
        if near < NEAR:
            return 0.0
        return near + self._shared(fact, _stems(*(_line(self.entries[n]) for n in cited)))

    def _shared(self, fact: FactDraft, told: Set[str]) -> float:
        """The share of a fact's telling stems, names of people left out, among others."""
        telling = self._telling(fact)
        return len(telling & told) / len(telling) if telling else 1.0

    def _telling(self, fact: FactDraft) -> set[str]:
        """The stems of a fact that tell something: not who says it, no parts of its day."""
        day = {number.lstrip("0") for number in fact.date.split("-")}
        told = content_words(_REPORTS.sub("", fact.text)) - self.names - _DATES
        return {stem for stem in told if not stem.isdigit() or stem.lstrip("0") not in day}

    def _is_near(self, number: int, fact: FactDraft, known_id: str) -> bool:
        """Whether a fact and a known one, which it repeats or ends, have anything in common."""
        found = [n for n, known in enumerate(self.known) if known.id == known_id]
        return any(
            self.near_known[number, n] >= NEAR_KNOWN
            or self._telling(fact) & _stems(self.known[n].content)
            for n in found
        )


def _line(entry: Entry) -> str:
    return entry.with_speaker()


def _stems(*texts: str) -> Set[str]:
    return {stem for text in texts for stem in content_words(text)}
