"""Supersession: whether a later line ends an earlier statement ("paid", "not the mill: the inn").

A linear score over cues of the pair: how alike they are, also beside the other statements that the
line might end and with the talk around it, the rare words and numbers that they share, who
speaks and who is spoken of, words of change, truth and payment, and the kinds of both by the
sentence classifier: a correction ends a boast, a move a place, a gift a debt. Its weights were
fitted on recorded evenings: `python -m benchmarks.supersession`. What it says is a probability,
for callers to weigh.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..text.segmentation import words_of
from .commitments import closes
from .contradiction import are_apart, negated, numbers, of_the_past
from .linear import Linear
from .questions import asks
from .sentence_classifier import LABELS, Sentence, SentenceClassifier
from .tokens import FUNCTION_WORDS, content_words, holds_number, stem, zipf

WEIGHTS = Path(__file__).with_name("supersession_weights.json")
RAREST = 8.0  # Zipf frequency of the commonest word
ENDS = 0.35  # recommended: probability from which a fact ends
SURE = 0.7  # from which the claim of another ends
SHARED_AT_MOST = 20.0  # rarity of shared words that counts in full
# Statements more alike than these are no likelier to end one another: they may say the same
ALIKE_AT_MOST, AROUND_AT_MOST, SHARE_AT_MOST, WORDS_AT_MOST = 0.55, 0.6, 0.45, 3.0
BELOW_AT_MOST = 0.5  # below the best of those that the line might end
CORRECTION = 0.25  # probability of the kind from which a line may end anything
SAME_SLOT = 0.15  # that both are of one kind of `CHANGING`
LASTS = 0.3  # that something told as past is of a kind that may end

_CUES = {
    "denies": r"\b(?:not|no|never|n['’]?t|isnt|aint|dont|wont|nae)\b",
    "is_over": r"\b(?:no longer|no more|any ?more|not any|used to|over|off|gone|dead|died|ended"
    r"|finished|quit|left|lost|broken?|broke|sold|cancel\w*)\b",
    "is_new": r"\b(?:now|from now|since|these days|instead|new|changed|moved|today|already)\b",
    "corrects": r"\b(?:actually|lied?|truth|confess\w*|misspoke|i meant|wrong|mistake|correction"
    r"|not true|was me|never was|made (?:it|that) up|forget|scratch that|turns out|after all)\b",
    "settles": r"\b(?:paid|pay|settled|square|even|here (?:is|are)|gave|gives|brought|delivered"
    r"|done|kept|as promised|owed)\b",
    "admits": r"^\W*(?:ok(?:ay)?|fine|alright|all right|very well|well|yes|ah|ach|no|so)\b",
    "will": r"\b(?:will|shall|going to|gonna|by|until|till?)\b|['’]ll\b",
}
_COMPILED = {name: re.compile(cue, re.IGNORECASE) for name, cue in _CUES.items()}

# Kinds of the sentence classifier that a line may have, of which one that follows ends the other
KINDS = (
    *"correction claim_self claim_other event_seen place occupation preference".split(),
    *"relationship possession promise debt plan boast lie joke secret world request_npc".split(),
    *"question answer feeling chatter move".split(),
    *("worth 1", "worth 2", "worth 3"),
)
# what ends a state: who was missing is found, what broke is mended
_UNDOES = re.compile(
    r"\b(?:found|back|safe|freed?|open(?:ed|s)?|mended|fixed|repaired|rebuilt|recovered|better"
    r"|passable|cured|healed)\b",
    re.IGNORECASE,
)
_TELLS_CHANGE = (
    "is_over",
    "is_new",
    "corrects",
    "settles",
    "gives",
    "done",
    "called_off",
    "admits",
)
_SETTLED = ("promise", "debt", "plan", "request_npc", "possession")
_TAKES_BACK = ("corrects", "admits", "called_off", "gives")
_LASTING = ("boast", "relationship", "debt", "place")  # "he asked me", "I borrowed", "I moved"
CHANGING = ("place", "occupation", "world", "possession", "preference", "plan")
SLOTS = ("place", "occupation", "preference", "relationship", "possession", "world", "plan")


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A line or a fact, oldest first in every sequence of them."""

    text: str
    speaker: str
    said: bool = True  # whether somebody said it; else it was done or seen
    mentions: frozenset[str] = frozenset()  # names of people in it
    time: str = ""  # ISO 8601
    # the probability of each kind (`sentence_classifier.KINDS`); None if unknown
    kinds: Mapping[str, float] | None = None


def classified(
    statements: Sequence[DatedStatement],
    line_kinds: Sequence[str],
    vectors: np.ndarray,
    classifier: SentenceClassifier | None,
) -> list[DatedStatement]:
    """Return statements with the probability of each kind; unchanged without a classifier.

    Args:
        line_kinds: Of each, "say" or one of `sentence_classifier.LINE_KINDS`.
        vectors: Their unit vectors, shape (n, dimensions).
    """
    if classifier is None or not statements:
        return list(statements)
    sentences = [
        Sentence(each.text, kind) for each, kind in zip(statements, line_kinds, strict=True)
    ]
    judged = classifier.probabilities(vectors, sentences).tolist()
    return [
        replace(each, kinds=dict(zip(LABELS, row, strict=True)))
        for each, row in zip(statements, judged, strict=True)
    ]


@lru_cache(maxsize=1)
def shipped() -> Linear:
    return Linear.read(json.loads(WEIGHTS.read_text("utf-8")))


def ended_by(
    new: Look,
    vector: np.ndarray,
    context: np.ndarray,
    known: Sequence[Look],
    vectors: np.ndarray,
) -> np.ndarray:
    """Return the probability that a new line ends each of the known statements.

    Args:
        vector: Of the line.
        context: Of the `BEFORE` lines of the same talk before it, shape (lines, dimensions).
        known: Everything that the line might end: each is also weighed beside the others.
    """
    if not known:
        return np.zeros(0)
    columns = features(new, vector, context, known, vectors)
    likely = 1 / (1 + np.exp(-shipped()(columns)))
    return np.where(changes_something(new, known, columns), likely, 0.0)


def changes_something(
    new: Look, known: Sequence[Look], columns: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return for each known statement whether anything says that it might be over.

    Two statements about one thing mostly both hold, however alike they are: "my father saw a ship"
    does not end "my father loves the sea". What has happened is over only if it is taken back. What
    is said again ("I still prefer tea") holds, and so does what is said of another thing of its
    sort (barrel 3, barrel 4).
    """
    found = (columns["denied"] > 0) | (columns["numbers_differ"] > 0)
    telling = {name for name in _TELLS_CHANGE if new.flags[name]}
    if telling == {"settles"}:  # what was given or paid ends what was owed, no feeling
        for kind in _SETTLED:
            found |= columns[f"old_{kind}"] >= LASTS
    else:
        found |= bool(telling)
    found |= (columns["new_correction"] >= CORRECTION) | bool(_UNDOES.search(new.statement.text))
    for kind in CHANGING:
        found |= columns[f"both_{kind}"] >= SAME_SLOT
    corrects = columns["new_correction"] >= CORRECTION
    corrects |= (columns["denied"] > 0) | any(new.flags[name] for name in _TAKES_BACK)
    lasts = np.array([not each.happened for each in known])
    for kind in _LASTING:
        lasts |= columns[f"old_{kind}"] >= LASTS
    apart = np.array(
        [
            _repeats(new, each) or are_apart(new.statement.text, each.statement.text)
            for each in known
        ]
    )
    return found & (corrects | lasts) & ~apart


def _repeats(new: Look, old: Look) -> bool:
    """Whether a statement says all of another again, in its order, and nothing against it."""
    if new.numbers != old.numbers or new.flags["negated"] != old.flags["negated"]:
        return False
    if any(new.flags[name] and not old.flags[name] for name in _TELLS_CHANGE):
        return False
    later = iter(new.said)
    return all(word in later for word in old.said)


@dataclass(frozen=True, slots=True)
class Look:
    """What is read of one statement."""

    statement: DatedStatement
    words: frozenset[str]  # content words, without names
    said: tuple[str, ...]  # all its content words, in order
    weights: Mapping[str, float]
    numbers: frozenset[str]
    flags: Mapping[str, bool]
    happened: bool  # it tells what was done

    def is_of(self, kind: str) -> float:
        """How probably it is of a kind; NaN if that is unknown."""
        return np.nan if self.statement.kinds is None else self.statement.kinds[kind]

    @classmethod
    def of(cls, statement: DatedStatement) -> Look:
        text = statement.text
        words = frozenset(content_words(text) - set(words_of(" ".join(statement.mentions))))
        closing = closes(text) if statement.said else None
        return cls(
            statement,
            words,
            tuple(stem(word) for word in words_of(text) if word not in FUNCTION_WORDS),
            {word: max(0.5, RAREST - zipf(word)) for word in words},
            frozenset(numbers(text)),
            {name: bool(cue.search(text)) for name, cue in _COMPILED.items()}
            | {
                "asks": asks(text),
                "number": holds_number(text),
                "gives": not statement.said and " gives " in text,
                "deed": not statement.said,
                "negated": negated(text),
                "done": closing == "done",
                "called_off": closing in ("off", "broken"),
            },
            of_the_past(text),
        )


def features(
    new: Look, vector: np.ndarray, context: np.ndarray, known: Sequence[Look], vectors: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the features of a line with each known statement, arrays of shape (known,).

    What the line says counts more of what is of the same speaker or alike. A kind that is unknown
    is NaN, which counts as the mean.
    """
    cosine = vectors @ vector
    near = (vectors @ context.T).max(axis=1) if len(context) else np.zeros(len(known))
    both = np.maximum(cosine, near)
    rarity = [[old.weights[word] for word in old.words & new.words] for old in known]
    share = np.array([min(sum(each), SHARED_AT_MOST) / SHARED_AT_MOST for each in rarity])
    b = new.statement
    same = _of_each(known, lambda old: old.statement.speaker == b.speaker)
    numbers_both = _of_each(known, lambda old: bool(old.numbers and new.numbers))
    numbers_same = _of_each(known, lambda old: bool(old.numbers & new.numbers))
    found: dict[str, np.ndarray] = {
        "alike": np.minimum(cosine, ALIKE_AT_MOST),
        "alike_around": np.minimum(both, AROUND_AT_MOST),
        "alike_below_best": _below(cosine),
        "around_below_best": _below(both),
        "alike_below_best_same": same * _below(cosine, same),
        "around_below_best_same": same * _below(both, same),
        "shared_below_best": _below(share),
        "shared": np.minimum(share, SHARE_AT_MOST),
        "rarest": np.array([max(each, default=0.0) / RAREST for each in rarity]),
        "words_shared": np.array([min(float(len(each)), WORDS_AT_MOST) for each in rarity]),
        "same_speaker": same,
        "same_person": _of_each(known, lambda old: bool(old.statement.mentions & b.mentions)),
        "mentions_new_speaker": _of_each(known, lambda old: b.speaker in old.statement.mentions),
        "mentions_old_speaker": _of_each(known, lambda old: old.statement.speaker in b.mentions),
        "numbers": numbers_both,
        "numbers_same": numbers_same,
        "numbers_differ": numbers_both * (1 - numbers_same),
        "same_day": _of_each(known, lambda old: old.statement.time[:10] == b.time[:10]),
        "old_words": _of_each(known, lambda old: len(old.words) / 10),
        "new_words": _of_each(known, lambda _old: len(new.words) / 10),
        "denied": _of_each(known, lambda old: new.flags["negated"] and not old.flags["negated"]),
    }
    for side, looks in (("new", [new] * len(known)), ("old", known)):
        for name in new.flags:
            found[f"{side}_{name}"] = _of_each(looks, lambda look: look.flags[name])  # noqa: B023
        for kind in KINDS:
            found[f"{side}_{kind}"] = _of_each(looks, lambda look: look.is_of(kind))  # noqa: B023
    found |= {f"both_{kind}": found[f"old_{kind}"] * found[f"new_{kind}"] for kind in SLOTS}
    weighed = [name for name in found if name.startswith(("new_", "both_"))]
    return found | {
        f"{name}_x_{by}": found[name] * found[by]
        for name in weighed
        for by in ("same_speaker", "alike")
    }


def _of_each(looks: Sequence[Look], read: Callable[[Look], float]) -> np.ndarray:
    return np.array([float(read(look)) for look in looks])


def _below(values: np.ndarray, among: np.ndarray | None = None) -> np.ndarray:
    """How far each value is below the greatest, of all or of those that count."""
    counted = values if among is None else values[among > 0]
    return np.maximum(values - counted.max(initial=-1.0), -BELOW_AT_MOST)
