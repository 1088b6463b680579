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

from ..language import BEFORE
from ..text.segmentation import words_of
from .commitments import closes
from .contradiction import are_apart, negated, numbers, tense_and_mood
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
_ENDED_BY = {
    "boast_corrected": ("boast", "correction"),
    "lie_corrected": ("lie", "correction"),
    "claim_corrected": ("claim_self", "correction"),
    "secret_told": ("secret", "claim_self"),
    "secret_corrected": ("secret", "correction"),
    "debt_settled": ("debt", "debt"),
    "debt_paid": ("debt", "event_seen"),
    "promise_kept": ("promise", "event_seen"),
    "promise_moved": ("promise", "promise"),
    "promise_answered": ("promise", "claim_self"),
    "request_done": ("request_npc", "event_seen"),
    "request_changed": ("request_npc", "request_npc"),
    "plan_done": ("plan", "event_seen"),
    "plan_corrected": ("plan", "correction"),
    "world_corrected": ("world", "correction"),
}


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A line or a fact, oldest first in every sequence of them.

    Attributes:
        said: Whether somebody said it; else it was done or seen.
        mentions: Names of people in it.
        time: ISO 8601.
        own: The NPC said it.
        kinds: The probability of each kind (`sentence_classifier.KINDS`); None if unknown.
    """

    text: str
    speaker: str
    said: bool = True
    mentions: frozenset[str] = frozenset()
    time: str = ""
    own: bool = False
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


def ended(
    statements: Sequence[DatedStatement], vectors: np.ndarray, score: Linear | None = None
) -> np.ndarray:
    """Return the probability that each statement is ended by each later one.

    Args:
        statements: Oldest first.
        vectors: Their unit vectors, shape (n, dimensions).

    Returns:
        Shape (n, n); row: the earlier one, column: the later one; 0 where the order is wrong.
    """
    found = np.zeros((len(statements), len(statements)))
    looks = [Look.of(each) for each in statements]
    for later in range(1, len(looks)):
        if not looks[later].statement.own:  # what the NPC says ends nothing
            context = vectors[max(0, later - BEFORE) : later]
            found[:later, later] = ended_by(
                looks[later], vectors[later], context, looks[:later], vectors[:later], score
            )
    return found


def ended_by(
    new: Look,
    vector: np.ndarray,
    context: np.ndarray,
    known: Sequence[Look],
    vectors: np.ndarray,
    score: Linear | None = None,
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
    likely = 1 / (1 + np.exp(-(score or shipped())(columns)))
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
    found |= columns["new_correction"] >= CORRECTION
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
    """What is read of one statement.

    Attributes:
        words: Content words, without names.
        said: All its content words, in order.
        happened: It tells what was done.
    """

    statement: DatedStatement
    words: frozenset[str]
    said: tuple[str, ...]
    weights: Mapping[str, float]
    numbers: frozenset[str]
    flags: Mapping[str, bool]
    happened: bool

    @classmethod
    def of(cls, statement: DatedStatement) -> Look:
        text = statement.text
        words = frozenset(content_words(text) - set(words_of(" ".join(statement.mentions))))
        closing = closes(text) if statement.said else None
        will, _modals, past, _condition = tense_and_mood(text)
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
            past and not will,
        )


def features(
    new: Look, vector: np.ndarray, context: np.ndarray, known: Sequence[Look], vectors: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the features of a line with each known statement, arrays of shape (known,)."""
    b = new.statement
    olds = [each.statement for each in known]

    def each_of(read: Callable[[Look], object]) -> np.ndarray:
        return np.array([float(read(old)) for old in known])  # type: ignore[arg-type]

    cosine = vectors @ vector
    near = (vectors @ context.T).max(axis=1) if len(context) else np.zeros(len(known))
    both = np.maximum(cosine, near)
    alike, around = np.minimum(cosine, ALIKE_AT_MOST), np.minimum(both, AROUND_AT_MOST)
    rarity = [[old.weights[word] for word in old.words & new.words] for old in known]
    share = np.array([min(sum(each), SHARED_AT_MOST) / SHARED_AT_MOST for each in rarity])
    shared = np.minimum(share, SHARE_AT_MOST)
    same = np.array([a.speaker == b.speaker for a in olds], dtype=float)
    numbers_same = each_of(lambda old: bool(old.numbers & new.numbers))
    numbers_both = each_of(lambda old: bool(old.numbers and new.numbers))
    found: dict[str, np.ndarray] = {
        "alike": alike,
        "alike_around": around,
        "alike_squared": alike * alike,
        "alike_below_best": _below(cosine),
        "around_below_best": _below(both),
        "alike_below_best_same": same * _below(cosine, same),
        "around_below_best_same": same * _below(both, same),
        "shared_below_best": _below(share),
        "shared": shared,
        "rarest": np.array([max(each, default=0.0) / RAREST for each in rarity]),
        "words_shared": np.array([min(float(len(each)), WORDS_AT_MOST) for each in rarity]),
        "same_speaker": same,
        "of_own": np.array([float(a.own) for a in olds]),
        "same_person": np.array([float(bool(a.mentions & b.mentions)) for a in olds]),
        "mentions_new_speaker": np.array([float(b.speaker in a.mentions) for a in olds]),
        "mentions_old_speaker": np.array([float(a.speaker in b.mentions) for a in olds]),
        "numbers": numbers_both,
        "numbers_same": numbers_same,
        "numbers_differ": numbers_both * (1 - numbers_same),
        "same_day": np.array([float(a.time[:10] == b.time[:10]) for a in olds]),
        "old_words": each_of(lambda old: len(old.words) / 10),
        "new_words": each_of(lambda _old: len(new.words) / 10),
        "negated_differs": each_of(lambda old: old.flags["negated"] != new.flags["negated"]),
        "denied": each_of(lambda old: new.flags["negated"] and not old.flags["negated"]),
    }
    for name, flag in new.flags.items():
        found[f"new_{name}"] = np.full(len(known), float(flag))
        found[f"old_{name}"] = np.array([float(old.flags[name]) for old in known])
    for name in ("corrects", "is_new", "is_over", "gives", "denies", "done"):
        found[f"alike_x_{name}"] = alike * new.flags[name]
        found[f"same_x_{name}"] = same * new.flags[name]
    found["alike_x_speaker"] = alike * same
    found["shared_x_speaker"] = shared * same
    found["shared_x_alike"] = shared * alike
    found["numbers_x_gives"] = numbers_same * found["new_gives"]
    found["shared_x_gives"] = shared * found["new_gives"]
    return found | _by_kind(new, known, same, alike, shared)


def _by_kind(
    new: Look, known: Sequence[Look], same: np.ndarray, alike: np.ndarray, shared: np.ndarray
) -> dict[str, np.ndarray]:
    """Features of the kinds; NaN, which counts as the mean, where a kind is unknown."""
    later, mentions = new.statement.kinds, new.statement.mentions

    def old_is(kind: str) -> np.ndarray:
        return np.array(
            [np.nan if (of := each.statement.kinds) is None else of[kind] for each in known]
        )

    def new_is(kind: str) -> np.ndarray:
        return np.full(len(known), np.nan if later is None else later[kind])

    found = {f"new_{kind}": new_is(kind) for kind in KINDS}
    found |= {f"old_{kind}": old_is(kind) for kind in KINDS}
    for kind in SLOTS:
        both = old_is(kind) * new_is(kind)
        found[f"both_{kind}"] = both
        found[f"both_{kind}_same"] = both * same
        found[f"both_{kind}_alike"] = both * alike
    for name, (old_kind, new_kind) in _ENDED_BY.items():
        both = old_is(old_kind) * new_is(new_kind)
        found[name] = both
        found[f"{name}_same"] = both * same
        found[f"{name}_shared"] = both * shared
    to_old = np.array([float(each.statement.speaker in mentions) for each in known])
    gives = float(new.flags["gives"])
    for kind in ("debt", "promise", "request_npc", "possession"):
        found[f"{kind}_given"] = gives * old_is(kind) * np.maximum(same, to_old)
        found[f"{kind}_given_shared"] = gives * old_is(kind) * shared
    for kind in ("correction", "place", "occupation", "event_seen", "debt"):
        found[f"alike_x_{kind}"] = alike * new_is(kind)
        found[f"same_x_{kind}"] = same * new_is(kind)
    return found


def _below(values: np.ndarray, among: np.ndarray | None = None) -> np.ndarray:
    """How far each value is below the greatest, of all or of those that count."""
    counted = values if among is None else values[among > 0]
    return np.maximum(values - counted.max(initial=-1.0), -BELOW_AT_MOST)
