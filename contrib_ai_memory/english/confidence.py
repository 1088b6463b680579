"""Whether a line asks that it be kept in confidence: a learned score over its words.

The rules of `addressing` know the usual wordings ("don't tell anyone"); players have others ("u
didn't hear it from me, and the candle neither"). A logistic score over the words, pairs and threes
of words that a line has, written by `python -m benchmarks.confidences --fit`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

WEIGHTS = Path(__file__).with_name("confidence_weights.json")
LONGEST = 3  # words in a row
WORDS_READ = 200

_WORD = re.compile(r"[\w']+")


def load() -> None:
    """Read the weights, before a line is heard."""
    _weights()


def score(text: str) -> float:
    """Return how surely a line asks for confidence; from 0 on it does."""
    bias, weights = _weights()
    return bias + sum(weights.get(each, 0.0) for each in features(text))


def features(text: str) -> frozenset[str]:
    """Return the words of a text, and what stands in a row, in lower case."""
    words = _WORD.findall(text.lower().replace("’", "'"))[:WORDS_READ]
    return frozenset(_rows(words))


def _rows(words: list[str]) -> Iterator[str]:
    for first in range(len(words)):
        for length in range(1, LONGEST + 1):
            if first + length <= len(words):
                yield " ".join(words[first : first + length])


@lru_cache(maxsize=1)
def _weights() -> tuple[float, dict[str, float]]:
    stored = json.loads(WEIGHTS.read_text("utf-8"))
    return stored["bias"], stored["weights"]
