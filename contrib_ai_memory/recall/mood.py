"""The present mood of an NPC: what its newest experiences felt like [B].

A look from outside the game: secrets count too, so nothing of it is for the ears of players.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..records import MemoryRecord
from ..store import memory_store
from .rank import recency_of

LOOKED_AT = 20  # the newest experiences that a mood is made of
SHOWN = 5  # of these, the newest that a mood gives as its reasons


@dataclass(frozen=True, slots=True)
class Mood:
    """What an NPC feels, and by what.

    Attributes:
        shares: (label, share 0-1) of every emotion felt, the strongest first; they add up to 1.
            Empty where nothing was experienced.
        experiences: The newest of those that it rests on, newest first.
    """

    shares: tuple[tuple[str, float], ...] = ()
    experiences: tuple[MemoryRecord, ...] = ()


def mood_of(agent_id: str, now: str) -> Mood:
    """The mood of a mind at a time (worker thread).

    Args:
        agent_id: The mind's UUID.
        now: ISO timestamp.
    """
    return felt(memory_store.shared().newest(agent_id, "experience", LOOKED_AT), now)


def felt(experiences: Sequence[MemoryRecord], now: str) -> Mood:
    """What experiences add up to: each counts by its weight and by how fresh it is.

    Fresh is, as in a score, what happened or was brought to mind lately [B §3].

    Args:
        experiences: The newest first.
        now: ISO timestamp.
    """
    strength: Counter[str] = Counter()
    for experience in experiences:
        fresh = recency_of(experience.last_accessed or experience.created_at, now)
        for label in experience.dominant_emotions:
            strength[label] += experience.memory_weight * fresh
    whole = sum(strength.values())
    if not whole:
        return Mood()
    strongest = sorted(strength.items(), key=lambda pair: (-pair[1], pair[0]))
    shares = tuple((label, value / whole) for label, value in strongest if value)
    reasons = [one for one in experiences if one.dominant_emotions and one.memory_weight]
    return Mood(shares, tuple(reasons[:SHOWN]))
