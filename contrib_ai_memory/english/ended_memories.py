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

from .. import conf
from ..embedding import embedder
from ..language import EndingVerdict, NewLine
from ..local_time import date_of, local
from ..offline import reader
from ..offline.reader import sentence_read
from ..records import TALK_KINDS, Entry, MemoryRecord
from ..text.names import forms, mentioned
from . import commitments, sentence_classifier, supersession
from .addressing import without_address
from .contradiction import changes, denies, numbers, of_one_thing, says_the_same
from .questions import sentences_of
from .sentence_classifier import AGENDA, AGENDA_KINDS, CORRECTION
from .small_talk import tells
from .supersession import ENDS, SURE, DatedStatement, Look
from .tokens import content_words

LINE_ENDS = 1.0  # probability from which a whole line ends: that of a rule, no learned one
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
    some = list(known)
    if known[0].record == "entry":  # a rule decides: most lines need no vectors
        some = [
            each
            for each in known
            if each.superseded_by == by
            or _is_corrected(each, line)
            or _is_changed(each, entry, called, near=True)
        ]
    verdicts = _judge(line, vectors, some, names, by)
    judged = {each.id: verdict for each, verdict in zip(some, verdicts, strict=True)}
    return [judged.get(each.id, EndingVerdict(False)) for each in known]


def _judge(
    line: NewLine,
    vectors: np.ndarray,
    known: Sequence[MemoryRecord],
    names: Sequence[str],
    by: str,
) -> list[EndingVerdict]:
    if not known:
        return []
    entry, called = line.entry, forms(names[:1])
    old = embedder.shared().encode([each.said for each in known])
    looks = _looks([_statement(each, names) for each in known], old, [_kind(e) for e in known])
    [new] = _looks([_new_statement(entry, names)], vectors[-1:], [entry.kind])
    scored = supersession.ended_by(new, vectors[-1], vectors[:-1], looks, old)
    near_in_meaning = (old @ vectors[-1] >= conf.CHANGE_COSINE).tolist()
    certain = np.array(
        [
            _is_changed(each, entry, called, near=near)
            for each, near in zip(known, near_in_meaning, strict=True)
        ]
    )
    corrected = [_is_corrected(each, line) for each in known]
    if any(corrected):  # it says which statement it ends
        certain = np.array(corrected)
    if certain.any():
        scored = certain.astype(float)
    read = known[0].record != "entry" and not certain.any()
    likely = _as_read(entry, known, scored) if read else scored
    called_off = commitments.closes(entry.content) == "off"
    commits = [
        _commits(look)
        and not (called_off and certain[place])
        and not _corrects(new)
        and not of_one_thing(entry.words, look.statement.text)  # "barrel 3 holds 21" is no promise
        for place, look in enumerate(looks)
    ]
    return [
        EndingVerdict(
            _ends(
                each, line, probability, by=by, commits=commits[place], corrected=corrected[place]
            ),
            sure=bool(scored[place] >= SURE) and probability >= SURE,
            meant=line.meant if corrected[place] else "",
            never=bool(corrected[place] and line.meant) or denies(entry.words, each.said),
        )
        for place, (each, probability) in enumerate(zip(known, likely.tolist(), strict=True))
    ]


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


def _ends(
    memory: MemoryRecord,
    line: NewLine,
    probability: float,
    *,
    by: str,
    commits: bool,
    corrected: bool,
) -> bool:
    entry = line.entry
    if memory.superseded_by == by:  # by a step that was killed
        return True
    if memory.superseded_by and probability < 1:
        return False
    claim_of_another = entry.kind in TALK_KINDS and memory.about != entry.source_entity
    is_line = memory.record == "entry"
    least = LINE_ENDS if is_line else SURE if claim_of_another else ENDS
    commits = commits and not entry.is_own  # what the NPC promises is kept by its agenda
    if probability < least or (is_line and not corrected and (commits or _says_more(memory))):
        return False
    return probability >= 1 or not _is_said_again(memory, entry)


def committing(facts: Sequence[MemoryRecord]) -> list[bool]:
    """Whether each fact promises, owes, asks or plans something; else its line told it besides."""
    if not facts:
        return []
    vectors = embedder.shared().encode([each.said for each in facts])
    statements = [_statement(each, ()) for each in facts]
    return [_commits(look) for look in _looks(statements, vectors, [_kind(e) for e in facts])]


def _is_changed(memory: MemoryRecord, entry: Entry, called: tuple[str, ...], *, near: bool) -> bool:
    """Whether a rule says that the speaker of a line has said otherwise now.

    Args:
        called: Forms of the NPC's name, by which both may address it.
        near: Whether the two are near in meaning.
    """
    if memory.about != entry.source_entity or not memory.is_said:
        return False
    new, known = (without_address(text, called) for text in (entry.words, memory.said))
    if not entry.is_own:
        return changes(new, known, near=near)
    # an answer is a courtesy or two and what it tells
    pairs = product(sentences_of(new), sentences_of(known))
    return any(changes(*pair, near=near) for pair in pairs)


def _is_said_again(memory: MemoryRecord, entry: Entry) -> bool:
    """Whether a sentence of a line says a memory in nearly the same words."""
    known = content_words(memory.said)
    return any(
        says_the_same(sentence, memory.said)
        and len(known & said) >= SAME_CONTENT * max(len(known | said), 1)
        for sentence in (*sentences_of(entry.content), entry.content)
        if (said := content_words(sentence))
    )


def _is_corrected(memory: MemoryRecord, line: NewLine) -> bool:
    """Whether a memory rests on the line that is corrected, and tells what was wrong in it."""
    if not line.corrects or memory.journal_ids != (line.corrects,):
        return False
    return memory.record == "entry" or not content_words(memory.said) <= content_words(line.meant)


def _commits(look: Look) -> bool:
    """Whether a statement promises, owes, asks or plans something."""
    kinds = look.statement.kinds or {}
    return look.flags["will"] or any(kinds.get(kind, 0.0) >= AGENDA for kind in AGENDA_KINDS)


def _corrects(look: Look) -> bool:
    return (look.statement.kinds or {}).get("correction", 0.0) >= CORRECTION


def _says_more(memory: MemoryRecord) -> bool:
    """Whether a line says more than one thing, which would end with it."""
    return sum(map(tells, sentences_of(memory.content))) > 1


def _kind(memory: MemoryRecord) -> str:
    """The kind of line that a memory is of, as far as it can be told."""
    if memory.is_said:
        return "whisper" if memory.private else "say"
    return "give" if " gives " in memory.content else "pose"


def _statement(memory: MemoryRecord, names: Collection[str]) -> DatedStatement:
    text, said = memory.said, memory.is_said
    return DatedStatement(
        text,
        memory.speaker,
        said=said,
        mentions=mentioned(text, names) - (set() if said else {memory.speaker}),
        time=local(memory.created_at),
    )


def _new_statement(entry: Entry, names: Collection[str]) -> DatedStatement:
    said = entry.kind in TALK_KINDS
    return DatedStatement(
        entry.words,
        entry.seen_as,
        said=said,
        mentions=mentioned(entry.words, names) - (set() if said else {entry.seen_as}),
        time=local(entry.timestamp),
    )


def _looks(
    statements: Sequence[DatedStatement], vectors: np.ndarray, kinds: Sequence[str]
) -> list[Look]:
    """Read statements, with their kinds where the classifier knows the embedding model."""
    model = embedder.shared()
    classifier = sentence_classifier.load(model.name, model.dimensions)
    statements = supersession.classified(statements, kinds, vectors, classifier)
    return [Look.of(each) for each in statements]
