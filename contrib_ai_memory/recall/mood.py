"""The present mood of an NPC, from its newest experiences [B].

Staff see all of it. A reply is made from the part that its listener may know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..embedding import emotions
from ..llm import router
from ..privacy import may_hear
from ..records import MemoryRecord
from ..store import memory_store
from .rank import recency_of

NEWEST = 20  # experiences that count
REASONS = 5  # newest of these that are given as reasons
FELT = 2  # strongest emotions that a reply is told
# what a reply is told: what most of the newest experiences share, as strong as one weighty
# experience of today; a mood passes
FELT_FROM = 0.2  # share of the mood
STRONG = 0.5  # of `Mood.strength`
# attention to what is said and what will come, which talk of any kind asks for, is no mood
ATTENTION = frozenset(("vigilance", "anticipation", "interest"))


@dataclass(frozen=True, slots=True)
class Mood:
    """What an NPC feels, and why."""

    shares: tuple[tuple[str, float], ...] = ()  # 0-1 of every emotion, strongest first: 1 in sum
    experiences: tuple[MemoryRecord, ...] = ()  # the newest of its reasons, newest first
    strength: float = 0.0  # that the shares are of: an experience of now adds its weight by emotion

    @property
    def felt(self) -> tuple[str, ...]:
        """The labels of the strongest emotions that are a mood; mostly there are none."""
        least = max(FELT_FROM, STRONG / self.strength) if self.strength else 1.0
        felt = [label for label, share in self.shares if share >= least and label not in ATTENTION]
        return tuple(felt[:FELT])


def mood_of(agent_id: str, now: str) -> Mood:
    """Return the mood of an NPC (worker thread)."""
    return mood_from(memory_store.shared().newest(agent_id, "experience", NEWEST), now)


def mood_towards(
    agent_id: str, now: str, listener: str, private: bool, *, guessed: bool = False
) -> Mood:
    """Return the mood as far as a listener may know its reasons (worker thread).

    Its `experiences` are all that the emotions of `felt` come from. What is private counts if
    nobody else hears the answer, and labels of the offline provider, which are guessed, if asked.
    """
    newest = memory_store.shared().newest(agent_id, "experience", NEWEST)
    known = [
        each
        for each in newest
        if may_hear(each.private, each.witnesses, (listener,))
        and (private or not each.private)
        and (guessed or each.provider != router.OFFLINE)
    ]
    mood = mood_from(known, now)
    felt = set(mood.felt)
    return replace(
        mood, experiences=tuple(each for each in known if felt & set(each.dominant_emotions))
    )


def felt_at(agent_id: str, now: str, said: str, listener: str, private: bool) -> tuple[str, ...]:
    """Return the emotions of a line and of the mood in which it is heard (worker thread)."""
    mood = mood_towards(agent_id, now, listener, private, guessed=True)
    return tuple(dict.fromkeys((*emotions.classify([said])[0], *mood.felt)))


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
    return Mood(shares, tuple(reasons[:REASONS]), total)
