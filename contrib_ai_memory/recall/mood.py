"""The present mood of an NPC, from its newest experiences [B].

Secrets count too, so the whole of it is for staff only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..embedding import emotions
from ..records import MemoryRecord, may_hear
from ..store import memory_store
from .rank import recency_of

NEWEST = 20  # experiences that count
REASONS = 5  # newest of these that are given as reasons
STRONGEST = 3  # emotions of the mood that colour a recall


@dataclass(frozen=True, slots=True)
class Mood:
    """What an NPC feels, and why.

    Attributes:
        shares: (label, share 0-1) of every emotion, strongest first; they add up to 1. Empty
            without experiences.
        experiences: The newest of its reasons, newest first.
    """

    shares: tuple[tuple[str, float], ...] = ()
    experiences: tuple[MemoryRecord, ...] = ()


def mood_of(agent_id: str, now: str) -> Mood:
    """Return the mood of an NPC (worker thread)."""
    return mood_from(memory_store.shared().newest(agent_id, "experience", NEWEST), now)


def felt_at(agent_id: str, now: str, said: str, listeners: tuple[str, ...]) -> tuple[str, ...]:
    """Return the emotions of a line and of the mood in which it is heard (worker thread).

    The mood is of the experiences that the listeners may know.
    """
    newest = memory_store.shared().newest(agent_id, "experience", NEWEST)
    heard = [each for each in newest if may_hear(each.private, each.witnesses, listeners)]
    mood = (label for label, _share in mood_from(heard, now).shares[:STRONGEST])
    return tuple(dict.fromkeys((*emotions.classify([said])[0], *mood)))


def mood_from(experiences: Sequence[MemoryRecord], now: str) -> Mood:
    """Add up experiences, newest first: each counts by its weight and its recency [B §3]."""
    strength: defaultdict[str, float] = defaultdict(float)
    for experience in experiences:
        recency = recency_of(experience.last_accessed or experience.created_at, now)
        for label in experience.dominant_emotions:
            strength[label] += experience.memory_weight * recency
    total = sum(strength.values())
    if not total:
        return Mood()
    strongest = sorted(strength.items(), key=lambda pair: (-pair[1], pair[0]))
    shares = tuple((label, value / total) for label, value in strongest if value)
    reasons = [one for one in experiences if one.dominant_emotions and one.memory_weight]
    return Mood(shares, tuple(reasons[:REASONS]))
