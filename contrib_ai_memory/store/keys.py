"""Search keys of a memory: its own words and the talk around it (DESIGN §5.2).

A line of talk often does not name what it is about: "Yes, since spring!" The lines around it do.
Four search lanes follow: `line`, the vector of the words alone; `window`, a weighted mean of the
vectors of three lines before and after; `near` and `wide`, BM25 over four and ten lines before and
after. Only the line itself is embedded.

The caller passes lines of one conversation before one audience: a line must not get into the keys
of another one that other people may hear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SPAN = 10  # lines before and after that are part of a line's keys
REACH = 40  # journal entries; lines further apart belong to different talks, whatever the session
# weights by distance, fitted by leave-one-conversation-out (docs/how_a_score_came_about.md)
WINDOW = tuple(0.6**distance for distance in range(4))
NEAR = tuple(0.55**distance for distance in range(5))
WIDE = (1.0,) * (SPAN + 1)


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The search keys of one memory.

    Attributes:
        line: Unit vector of its own words, shape (dimensions,).
        window: Unit vector of the talk around it, the same shape.
        around: (distance in lines, words) of the lines around it; its own have distance 0.
    """

    line: np.ndarray
    window: np.ndarray
    around: tuple[tuple[int, str], ...]


def alone(vector: np.ndarray, words: str) -> Keys:
    """Return the keys of a memory without talk around it: a fact, a note."""
    return Keys(vector, vector, ((0, words),))


def of_talk(ids: Sequence[int], words: Sequence[str], vectors: np.ndarray) -> list[Keys]:
    """Return the keys of consecutive lines of one conversation, before one audience.

    Args:
        ids: Their journal ids, ascending.
        words: Their words, with the speaker's name.
        vectors: Their unit vectors, shape (len(ids), dimensions).
    """
    found = []
    for place, line_id in enumerate(ids):
        around = [
            (abs(other - place), other)
            for other in range(max(0, place - SPAN), min(len(ids), place + SPAN + 1))
            if abs(ids[other] - line_id) <= REACH
        ]
        near = [pair for pair in around if pair[0] < len(WINDOW)]
        found.append(
            Keys(
                line=vectors[place],
                window=_mean(vectors, near),
                around=tuple((distance, words[other]) for distance, other in around),
            )
        )
    return found


def _mean(vectors: np.ndarray, near: list[tuple[int, int]]) -> np.ndarray:
    weights = np.array([WINDOW[distance] for distance, _other in near], dtype=np.float32)
    mean = weights @ vectors[[other for _distance, other in near]]
    return mean / (np.linalg.norm(mean) or 1.0)
