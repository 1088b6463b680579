"""Emotions: the 24 labels of Plutchik's wheel, and a classifier without a language model [B].

The labels are those of R. Plutchik, "The Nature of Emotions", American Scientist 89 (2001).
`python -m benchmarks.emotions` measures the classifier.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np

from .. import conf
from ..errors import InputError
from . import embedder

# the spokes of the wheel, each from the strongest to the mildest
FAMILIES = (
    ("ecstasy", "joy", "serenity"),
    ("admiration", "trust", "acceptance"),
    ("terror", "fear", "apprehension"),
    ("amazement", "surprise", "distraction"),
    ("grief", "sadness", "pensiveness"),
    ("loathing", "disgust", "boredom"),
    ("rage", "anger", "annoyance"),
    ("vigilance", "anticipation", "interest"),
)
LABELS = tuple(label for family in FAMILIES for label in family)
EMOTIONS = frozenset(LABELS)

# what somebody who feels it might say, the same number of lines for each label
PROTOTYPES: dict[str, list[str]] = json.loads(
    Path(__file__).with_suffix(".json").read_text("utf-8")
)

BEST_LINES = 2  # of a label, whose mean counts: a single one may be near by chance

# the frame of a quotation, which carries no feeling
_QUOTED = re.compile(r'(?:^|(?<=[.!?"]\s))[^".!?]{1,80} says: "([^"]*)"')


class UnknownEmotion(InputError):
    """A label is not in the taxonomy."""


def classify(texts: list[str]) -> list[tuple[str, ...]]:
    """Return the three nearest emotions of each text, nearest first (worker thread)."""
    if not texts:
        return []
    words = embedder.shared()
    prototypes = _prototypes(words)
    vectors = words.encode([_QUOTED.sub(r"\1", text) for text in texts])
    cosines = np.einsum("td,lpd->tlp", vectors, prototypes)
    nearness = np.sort(cosines, axis=2)[:, :, -BEST_LINES:].mean(axis=2)
    nearest = np.argsort(-nearness, axis=1, kind="stable")[:, : conf.EMOTIONS_PER_EXPERIENCE]
    return [tuple(LABELS[index] for index in row) for row in nearest]


def validated(labels: object) -> tuple[str, ...]:
    """Return the first three different labels of the taxonomy, or none if there are fewer."""
    if not isinstance(labels, (list, tuple)):
        return ()
    found = [label for label in _normalised(labels) if label in EMOTIONS]
    if len(found) < conf.EMOTIONS_PER_EXPERIENCE:
        return ()
    return tuple(found[: conf.EMOTIONS_PER_EXPERIENCE])


def known(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels in the spelling of the taxonomy (UnknownEmotion); a string is one label."""
    found = _normalised([labels] if isinstance(labels, str) else labels)
    if not found or not EMOTIONS.issuperset(found):
        unknown = ", ".join(label for label in found if label not in EMOTIONS) or "nothing"
        raise UnknownEmotion(
            f"{unknown} is not an emotion of the taxonomy. The emotions are: {', '.join(LABELS)}."
        )
    return found


def _normalised(labels: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(label).strip().lower() for label in labels))


@lru_cache(maxsize=2)
def _prototypes(words: embedder.Embedder) -> np.ndarray:
    """Return the vectors of PROTOTYPES, shape (labels, lines of a label, dimensions)."""
    lines = [line for label in LABELS for line in PROTOTYPES[label]]
    return words.encode(lines).reshape(len(LABELS), -1, words.dimensions)
