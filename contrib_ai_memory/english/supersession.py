"""Supersession: whether a later statement ends an earlier one ("paid", "not the mill: the inn").

A linear score over cues of the pair: how alike they are, the rare words that they share, who speaks
and who is spoken of, words of change, truth and payment. Its weights were fitted on recorded
evenings: `python -m benchmarks.answers`. What it says is a probability, for callers to weigh.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from .answer_types import holds
from .linear import Linear
from .questions import asks
from .tokens import content_words, words_of, zipf

WEIGHTS = Path(__file__).with_name("supersession_weights.json")
RAREST = 8.0  # Zipf frequency of the commonest word
ALIKE = 0.2  # cosine from which a pair without a common word is looked at

_CUES = {
    "denies": r"\b(?:not|no|never|n['’]?t|isnt|aint|dont|wont|nae)\b",
    "is_over": r"\b(?:no longer|no more|any ?more|not any|used to|over|off|gone|dead|died|ended"
    r"|finished|quit|left|lost|broken?|broke|sold|cancel\w*)\b",
    "is_new": r"\b(?:now|from now|since|these days|instead|new|changed|moved|today|already)\b",
    "corrects": r"\b(?:actually|lied?|truth|confess\w*|misspoke|i meant|wrong|mistake|correction"
    r"|not true|was me|never was|made (?:it|that) up|forget|scratch that|turns out|after all)\b",
    "settles": r"\b(?:paid|pay|settled|square|even|here (?:is|are)|gave|gives|brought|delivered"
    r"|done|kept|as promised|owed)\b",
}
_COMPILED = {name: re.compile(cue, re.IGNORECASE) for name, cue in _CUES.items()}


@dataclass(frozen=True, slots=True)
class DatedStatement:
    """A line or a fact, oldest first in every sequence of them.

    Attributes:
        said: Whether somebody said it; else it was done or seen.
        mentions: Names of people in it.
        time: ISO 8601.
    """

    text: str
    speaker: str
    said: bool = True
    mentions: frozenset[str] = frozenset()
    time: str = ""
    own: bool = False  # the NPC said it


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
    pairs, table = features(statements, vectors)
    if not pairs:
        return found
    columns = {name: np.array([row[name] for row in table]) for name in table[0]}
    likely = 1 / (1 + np.exp(-(score or shipped())(columns)))
    found[tuple(zip(*pairs, strict=True))] = likely
    return found


def ends(
    pairs: Sequence[tuple[DatedStatement, DatedStatement]],
    alike: Sequence[float],
    score: Linear | None = None,
) -> np.ndarray:
    """Return the probability that each earlier statement is ended by the later one of its pair.

    Args:
        alike: The cosine of each pair.
    """
    if not pairs:
        return np.zeros(0)
    table = [
        _pair(_Look.of(old), _Look.of(new), cosine, cosine)
        for (old, new), cosine in zip(pairs, alike, strict=True)
    ]
    columns = {name: np.array([row[name] for row in table]) for name in table[0]}
    return 1 / (1 + np.exp(-(score or shipped())(columns)))


def features(
    statements: Sequence[DatedStatement], vectors: np.ndarray
) -> tuple[list[tuple[int, int]], list[dict[str, float]]]:
    """Return the pairs that have anything in common, and the features of each."""
    looks = [_Look.of(statement) for statement in statements]
    alike = vectors @ vectors.T
    pairs, table = [], []
    for later, new in enumerate(looks):
        if new.statement.own:
            continue  # what the NPC says ends nothing
        for earlier in range(later):
            old = looks[earlier]
            shared = old.words & new.words
            if alike[earlier, later] < ALIKE and not shared:
                continue
            around = float(alike[earlier, max(0, later - 2) : later + 1].max())
            pairs.append((earlier, later))
            table.append(_pair(old, new, float(alike[earlier, later]), around))
    return pairs, table


@dataclass(frozen=True, slots=True)
class _Look:
    """What is read of one statement."""

    statement: DatedStatement
    words: frozenset[str]
    cues: dict[str, bool]
    number: bool
    asks: bool
    gives: bool

    @classmethod
    def of(cls, statement: DatedStatement) -> _Look:
        text = statement.text
        return cls(
            statement,
            frozenset(content_words(text) - set(words_of(" ".join(statement.mentions)))),
            {name: bool(cue.search(text)) for name, cue in _COMPILED.items()},
            holds(text)["number"],
            asks(text),
            not statement.said and " gives " in text,
        )


def _pair(old: _Look, new: _Look, alike: float, around: float) -> dict[str, float]:
    a, b = old.statement, new.statement
    shared = old.words & new.words
    rarity = [max(0.5, RAREST - zipf(word)) for word in shared]
    weight = min(sum(rarity), 20) / 20
    found: dict[str, float] = {
        "alike": alike,
        "alike_around": around,
        "alike_squared": alike * alike,
        "shared": weight,
        "rarest": max(rarity, default=0.0) / RAREST,
        "words_shared": len(shared),
        "same_speaker": a.speaker == b.speaker,
        "of_own": a.own,
        "same_person": bool(a.mentions & b.mentions),
        "mentions_new_speaker": b.speaker in a.mentions,
        "mentions_old_speaker": a.speaker in b.mentions,
        "numbers": old.number and new.number,
        "old_asks": old.asks,
        "new_asks": new.asks,
        "same_day": a.time[:10] == b.time[:10],
        "new_gives": new.gives,
        "new_is_deed": not b.said,
        "old_gives": old.gives,
        "old_words": len(old.words) / 10,
        "new_words": len(new.words) / 10,
        "alike_x_speaker": alike * (a.speaker == b.speaker),
        "alike_x_gives": alike * new.gives,
        "shared_x_alike": weight * alike,
    }
    for name in _COMPILED:
        found[f"new_{name}"] = new.cues[name]
        found[f"old_{name}"] = old.cues[name]
    for name in ("corrects", "is_new", "is_over"):
        found[f"alike_x_{name}"] = alike * new.cues[name]
    return {name: float(value) for name, value in found.items()}
