"""Scores: how relevant a memory is to a question, and two profiles of what else counts.

Relevance is a weighted sum of clues: four search lanes (`store.keys`), whose words they were, the
date that is asked for, whether a time is asked and told, whether the line asks or tells, how much
it holds, and whether it only retells, as the offline provider does. The weights were fitted by
leave-one-conversation-out on LoCoMo; docs/measured.md has what each gives,
docs/how_a_score_came_about.md an example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from datetime import date, datetime
from functools import lru_cache

import numpy as np
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from ..english.dates import NamedDate, named_in
from ..english.questions import asks_when
from ..records import ScoreParts, seconds_between
from ..store.payload import OF_NIGHTS, RETOLD, Candidate

# [B §3] score = 0.45 similarity + 0.25 weight + 0.20 recency + 0.10 frequency (+ 0.05)
SIMILARITY, WEIGHT, RECENCY, FREQUENCY = 0.45, 0.25, 0.20, 0.10
EMOTION_BONUS = 0.05  # [B §3] once, if any emotion overlaps
RECENCY_HALF_HOURS = 72.0  # [B] recency = 1 / (1 + age / 72 h)
FREQUENCY_FULL = 10  # [B] accesses that count as "often"
BLEND_RELEVANCE, BLEND_IMPORTANCE = 0.8, 0.2  # [C §2.5] where the cross-encoder cannot be loaded

# a best score below this is no full match: one common word, or a faint likeness, is not a hit
LANE_FLOORS = np.array([0.3, 0.3, 4.0, 4.0])  # in the order of `LANES`

QUOTING = ("", "offline")  # providers whose retellings say no more than the lines that they quote

PROFILES = ("relevance", "salience")


@dataclass(frozen=True, slots=True)
class Weights:
    """What each clue counts. The lanes add up to about 1."""

    line: float = 0.16
    window: float = 0.28
    near: float = 0.36
    wide: float = 0.16
    speaker: float = 0.26
    date: float = 0.52
    when: float = 0.20
    asking: float = -0.20
    length: float = 0.19
    retold: float = -0.60


CLUES = tuple(spec.name for spec in fields(Weights))


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question tells of the memory that would answer it.

    Attributes:
        who: Identities of those whom it names, or of the speaker where it speaks of them.
        dates: The dates that it names.
        when: Whether it asks for a time.
    """

    who: frozenset[str] = frozenset()
    dates: tuple[NamedDate, ...] = ()
    when: bool = False

    @classmethod
    def of(cls, query: str, who: Sequence[str], now: str) -> Asked:
        today = datetime.fromisoformat(now).date()
        return cls(frozenset(who), tuple(named_in(query, today)), asks_when(query))


@dataclass(slots=True, eq=False)
class Ranked:
    """A candidate with its score. Some hundreds a question: its parts are told only when asked."""

    candidate: Candidate
    total: float
    similarity: float
    clues: tuple[float, ...]
    reranked: float | None = None

    def parts(self, now: str, emotions: Sequence[str] = ()) -> ScoreParts:
        """Where the score came from."""
        memory = self.candidate
        return ScoreParts(
            total=self.total,
            similarity=self.similarity,
            weight=memory.memory_weight,
            recency=recency_of(memory.last_accessed or memory.created_at, now),
            frequency=min(memory.access_count / FREQUENCY_FULL, 1.0),
            emotion=EMOTION_BONUS if set(emotions) & set(memory.dominant_emotions) else 0.0,
            importance=memory.importance,
            clues=self.clues,
            reranked=self.reranked,
        )


def clues(candidates: Sequence[Candidate], asked: Asked) -> np.ndarray:
    """Every clue of every candidate, 0-1, shape (len(candidates), len(CLUES)).

    A lane's best is 1: of what was lived through awake, so that what a night retells does not move
    the scores of what it was drawn from.
    """
    lanes = np.array([c.lanes for c in candidates], dtype=float).reshape(len(candidates), -1)
    lanes = lanes.clip(min=0)
    awake = np.array([c.record not in OF_NIGHTS for c in candidates])
    best = lanes[awake if awake.any() else ~awake].max(axis=0)
    lanes = (lanes / np.maximum(best, LANE_FLOORS)).clip(max=1)
    looks = [
        (
            c.about in asked.who,
            _date_clue(c.created_at[:10], asked.dates),
            asked.when and c.tells_time,
            c.asking,
            c.length,
            c.record in RETOLD and c.provider in QUOTING,
        )
        for c in candidates
    ]
    return np.hstack([lanes, np.array(looks, dtype=float)])


def relevance(table: np.ndarray, asked: Asked, weights: Weights) -> np.ndarray:
    """The weighted sum of `clues`: 1 where all that this question lets count is there."""
    worth = astuple(weights)
    silent = {"speaker": not asked.who, "date": not asked.dates, "when": not asked.when}
    possible = sum(
        max(0.0, value) for clue, value in zip(CLUES, worth, strict=True) if not silent.get(clue)
    )
    return table @ np.array(worth) / (possible or 1.0)


def score(
    candidates: Sequence[Candidate],
    asked: Asked,
    *,
    now: str,
    profile: str = "relevance",
    emotions: Sequence[str] = (),
    weights: Weights | None = None,
) -> list[Ranked]:
    """Every candidate with its score, best first.

    Args:
        now: ISO timestamp.
        profile: "relevance" [C §2.5] is the similarity as it is; "salience" [B §3] weighs it with
            weight, recency, frequency and emotions; or the path of another function.
        emotions: Labels of the present mood; [B] favours memories that share one.
    """
    if not candidates:
        return []
    table = clues(candidates, asked)
    similar = relevance(table, asked, weights or Weights())
    ranked = [
        Ranked(candidate, total, min(1.0, max(0.0, total)), tuple(row))
        for candidate, total, row in zip(candidates, similar.tolist(), table.tolist(), strict=True)
    ]
    weighed = profile_of(profile)
    if weighed:
        for each in ranked:
            each.total = weighed(each.parts(now, emotions))
    return ordered(ranked)


def profile_of(name: str) -> Callable[[ScoreParts], float] | None:
    """The function of a score profile: one of ours, or by its path one of the game's own.

    Returns:
        What makes the total of a score's parts; None where the relevance is the total.

    Raises:
        ImproperlyConfigured: There is no such function.
    """
    if name in PROFILES:
        return salience if name == "salience" else None
    try:
        return import_string(name)
    except ImportError as problem:
        raise ImproperlyConfigured(
            f"settings.CONTRIB_AI_MEMORY['RECALL_PROFILE'] = {name!r}: {problem}. It must be "
            "relevance, salience, or the path of a function of records.ScoreParts."
        ) from None


def ordered(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Best first; ties by id: the same store and question give the same answer."""
    return sorted(ranked, key=lambda each: (-each.total, each.candidate.id))


def salience(parts: ScoreParts) -> float:
    """[B §3] how relevant, how weighty, how recent, how often needed, and of the same mood."""
    return (
        SIMILARITY * parts.similarity
        + WEIGHT * parts.weight
        + RECENCY * parts.recency
        + FREQUENCY * parts.frequency
        + parts.emotion
    )


def reranked(ranked: Sequence[Ranked], verdicts: Sequence[float] | None) -> list[Ranked]:
    """[C §2.5] a cross-encoder's scores (0-1) take the place of the similarity.

    Args:
        ranked: Those that it read.
        verdicts: One for each; None where the cross-encoder cannot be loaded, and then 0.8
            relevance + 0.2 importance decide.
    """
    if verdicts is None:
        blended = [
            BLEND_RELEVANCE * each.similarity + BLEND_IMPORTANCE * each.candidate.importance
            for each in ranked
        ]
        return ordered([replace(e, total=t) for e, t in zip(ranked, blended, strict=True)])
    return ordered([replace(e, total=v, reranked=v) for e, v in zip(ranked, verdicts, strict=True)])


def recency_of(when: str, now: str) -> float:
    """1 / (1 + age_hours / 72) [B]; 1 for what is dated in the future."""
    if not when:
        return 0.0
    hours = max(0.0, seconds_between(when, now) / 3600)
    return 1 / (1 + hours / RECENCY_HALF_HOURS)


@lru_cache(maxsize=4096)
def _date_clue(day: str, dates: tuple[NamedDate, ...]) -> float:
    if not dates or not day:
        return 0.0
    return max(named.nearness(date.fromisoformat(day)) for named in dates)
