"""Ended memories: which of the memories near to a new line that line ends.

A rule decides about a whole line, since it may tell more; a learned score about facts
(`supersession`). What is promised stays in mind when it is done: the fact is over, the line was
true. What somebody else says is a claim, which ends nothing unless it is nearly certain.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import product

import numpy as np

from ..embedding import embedder
from ..language import EndingVerdict, NewLine
from ..local_time import date_of, local
from ..offline import reader
from ..offline.reader import sentence_read
from ..records import TALK_KINDS, Entry, MemoryRecord
from ..text.names import forms, mentioned
from . import commitments, sentence_classifier, supersession
from .addressing import without_address
from .contradiction import are_apart, contradicts, denies, numbers, says_the_same
from .questions import sentences_of
from .sentence_classifier import AGENDA, AGENDA_KINDS
from .small_talk import tells
from .supersession import ENDS, SURE, DatedStatement, Look
from .tokens import content_words

WORTH_READING = 0.02  # of the score, from which the reader is asked
READ = 0.2  # of the reader, below which no fact ends
READ_SURELY = 0.9  # from which its word counts where it is surer
_ONE = re.compile(r"\bone\b", re.IGNORECASE)
SAME_CONTENT = 0.8  # share of a memory's words in a line that says it again


def ended(
    line: NewLine,
    vectors: np.ndarray,
    known: Sequence[MemoryRecord],
    names: Sequence[str],
    by: str,
) -> list[EndingVerdict]:
    """Judge which memories a line ends, as `language.Language.ended`."""
    entry, called = line.entry, forms(names[:1])
    corrected = [_is_corrected(each, line) for each in known]
    certain = corrected  # it says which statement it ends
    if not any(corrected):
        certain = [_is_changed(each, entry, called) for each in known]
    if any(certain) or known[0].record == "entry":
        scored = likely = np.array(certain, dtype=float)
    else:
        scored, likely = _likely(line, vectors, known, names)
    called_off = commitments.closes(entry.words) == "off"
    return [
        EndingVerdict(
            each.superseded_by == by  # by a step that was killed
            or _ends(each, entry, probability, corrected=corrects),
            sure=bool(probability >= SURE and (score >= SURE or called_off)),
            meant=line.meant if corrects else "",
            never=bool(corrects and line.meant) or denies(entry.words, each.said),
        )
        for each, score, probability, corrects in zip(
            known, scored.tolist(), likely.tolist(), corrected, strict=True
        )
    ]


def _ends(memory: MemoryRecord, entry: Entry, probability: float, *, corrected: bool) -> bool:
    """Whether a line ends a memory that it probably ends; a whole line only by a rule."""
    if probability == 1:
        return corrected or memory.record == "fact" or not _tells_more(memory, entry)
    claim_of_another = entry.kind in TALK_KINDS and memory.about != entry.source_entity
    least = SURE if claim_of_another else ENDS
    if probability < least or memory.superseded_by or are_apart(entry.words, memory.said):
        return False
    return not _is_said_again(memory, entry)


# --- rules ----------------------------------------------------------------------------------------


def _is_corrected(memory: MemoryRecord, line: NewLine) -> bool:
    """Whether a memory rests on the line that is corrected, and tells what was wrong in it."""
    if not line.corrects or memory.journal_ids != (line.corrects,):
        return False
    return memory.record == "entry" or not content_words(memory.said) <= content_words(line.meant)


def _is_changed(memory: MemoryRecord, entry: Entry, called: tuple[str, ...]) -> bool:
    """Whether a rule says that the speaker of a line has said otherwise now.

    Args:
        called: Forms of the NPC's name, by which both may address it.
    """
    if memory.about != entry.source_entity or not memory.is_said:
        return False
    new, known = (without_address(text, called) for text in (entry.words, memory.said))
    if not entry.is_own:
        return contradicts(new, known)
    # an answer is a courtesy or two and what it tells
    return any(contradicts(*pair) for pair in product(sentences_of(new), sentences_of(known)))


def _tells_more(memory: MemoryRecord, entry: Entry) -> bool:
    """Whether a line tells something besides what is over: more than one sentence, or what its
    speaker promises, owes, asks or plans."""
    if sum(map(tells, sentences_of(memory.content))) > 1:
        return True
    # what the NPC promises is kept by its agenda
    settled = entry.is_own or commitments.closes(entry.content) == "off"
    return not settled and any(committing([memory]))


def committing(facts: Sequence[MemoryRecord]) -> list[bool]:
    """Whether each fact promises, owes, asks or plans something; else its line told it besides."""
    if not facts:
        return []
    vectors = embedder.shared().encode([each.said for each in facts])
    looks = _looks([_of_memory(each) for each in facts], vectors, [_kind(e) for e in facts])
    return [
        look.flags["will"]
        or any((look.statement.kinds or {}).get(kind, 0.0) >= AGENDA for kind in AGENDA_KINDS)
        for look in looks
    ]


def _is_said_again(memory: MemoryRecord, entry: Entry) -> bool:
    """Whether a sentence of a line says a memory in nearly the same words."""
    known = content_words(memory.said)
    return any(
        says_the_same(sentence, memory.said)
        and len(known & said) >= SAME_CONTENT * max(len(known | said), 1)
        for sentence in (*sentences_of(entry.content), entry.content)
        if (said := content_words(sentence))
    )


# --- learned scores -------------------------------------------------------------------------------


def _likely(
    line: NewLine, vectors: np.ndarray, known: Sequence[MemoryRecord], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return how probably a line ends each fact, by the score alone and with the reader."""
    old = embedder.shared().encode([each.said for each in known])
    looks = _looks([_of_memory(each, names) for each in known], old, [_kind(e) for e in known])
    entry = line.entry
    said = entry.kind in TALK_KINDS
    told = _statement(entry.words, entry.seen_as, names, said=said, time=entry.timestamp)
    [new] = _looks([told], vectors[-1:], [entry.kind])
    scored = supersession.ended_by(new, vectors[-1], vectors[:-1], looks, old)
    return scored, _as_read(entry, known, scored)


def _as_read(entry: Entry, known: Sequence[MemoryRecord], likely: np.ndarray) -> np.ndarray:
    """Weigh in what the reader makes of a line and each fact of which a score says that it may end
    it."""
    network = reader.shared()
    places = np.flatnonzero(likely >= WORTH_READING)
    if network is None or not places.size:
        return likely
    today = date_of(entry.timestamp)
    newer = sentence_read(entry.seen_as if entry.kind in TALK_KINDS else "", 0, entry.words)
    older = [
        sentence_read(
            each.speaker if each.is_said else "", (today - date_of(each.created_at)).days, each.said
        )
        for each in (known[place] for place in places.tolist())
    ]
    said = [known[place].said for place in places.tolist()]
    part = np.array([is_part(entry.words, each) for each in said])
    found = likely.copy()
    found[places] = weighed(likely[places], network.changes(newer, older)[:, 0], part)
    return found


def is_part(new: str, known: str) -> bool:
    """Whether a statement has other numbers than a known one, of which it may be a part.

    >>> is_part("I paid one crown of it.", "I owe you five."), is_part("Five paid.", "I owe five.")
    (True, False)
    """
    told = numbers(known)
    return bool(told) and bool(numbers(_ONE.sub("1", new)) - told)


def weighed(likely: np.ndarray, read: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return how probable endings are by a score and by the reader, arrays of one shape.

    Args:
        part: Where the reader cannot be sure (`is_part`).
    """
    surely = (read >= READ_SURELY) & ~part
    return np.where(surely, np.maximum(likely, read), likely * (read >= READ))


def _kind(memory: MemoryRecord) -> str:
    """The kind of line that a memory is of, as far as it can be told."""
    if memory.is_said:
        return "whisper" if memory.private else "say"
    return "give" if " gives " in memory.content else "pose"


def _statement(
    text: str, speaker: str, names: Collection[str], *, said: bool, time: str
) -> DatedStatement:
    people = mentioned(text, names) - (set() if said else {speaker})
    return DatedStatement(text, speaker, said=said, mentions=people, time=local(time))


def _of_memory(memory: MemoryRecord, names: Collection[str] = ()) -> DatedStatement:
    said = memory.is_said
    return _statement(memory.said, memory.speaker, names, said=said, time=memory.created_at)


def _looks(
    statements: Sequence[DatedStatement], vectors: np.ndarray, kinds: Sequence[str]
) -> list[Look]:
    """Read statements, with their kinds where the classifier knows the embedding model."""
    model = embedder.shared()
    classifier = sentence_classifier.load(model.name, model.dimensions)
    statements = supersession.classified(statements, kinds, vectors, classifier)
    return [Look.of(each) for each in statements]
