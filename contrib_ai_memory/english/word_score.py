"""Learned scores over the words of a text and over those that stand in a row.

Logistic regressions in plain Python, quick enough for the reactor thread. Their weights are data
files, each fitted by a benchmark of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

LONGEST = 3  # words in a row
WORDS_READ = 200

_WORD = re.compile(r"[\w']+")
_WORD_OR_MARK = re.compile(r"[\w']+|\?")


class WordScore:
    """A score of a text; from 0 on, what is asked for is likely.

    Args:
        ends: Whether question marks, and where the text begins and ends, count as words.
    """

    def __init__(self, file: Path, *, ends: bool = False):
        self.file = file
        self._ends = ends

    def __call__(self, text: str) -> float:
        bias, weights = self._stored
        return bias + sum(weights.get(each, 0.0) for each in self.features(text))

    def load(self) -> None:
        """Read the weights, before a line is heard."""
        _ = self._stored

    def features(self, text: str) -> frozenset[str]:
        """Return the words of a text, and what stands in a row, in lower case."""
        form = _WORD_OR_MARK if self._ends else _WORD
        words = form.findall(text.lower().replace("’", "'"))[:WORDS_READ]
        return frozenset(_rows(["^", *words, "$"] if self._ends else words))

    @cached_property
    def _stored(self) -> tuple[float, dict[str, float]]:
        stored = json.loads(self.file.read_text("utf-8"))
        return stored["bias"], stored["weights"]


def _rows(words: list[str]) -> Iterator[str]:
    for first in range(len(words)):
        for length in range(1, LONGEST + 1):
            if first + length <= len(words):
                yield " ".join(words[first : first + length])
