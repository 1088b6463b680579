"""Scores of candidates: their relevance to a request, and the score profiles that add the rest.

Relevance is a weighted sum of clues: four search lanes (`store.lanes`), the speaker, a date in the
query, whether a time is asked for and given, whether the memory asks, its length, and whether it
only retells other memories. The weights were fitted by leave-one-conversation-out on LoCoMo:
docs/measured.md lists the effect of each, docs/how_a_score_came_about.md has an example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import date
from functools import lru_cache

import numpy as np
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from .. import language
from ..language import Language, NamedDate, QueryReading
from ..local_time import date_of, day_of
from ..records import RecallRequest, ScoreParts, seconds_between
from ..store.payload import DRAWN_RECORDS, OF_NIGHTS, Candidate

# [B §3] score = 0.45 similarity + 0.25 weight + 0.20 recency + 0.10 frequency (+ 0.05)
SIMILARITY, WEIGHT, RECENCY, FREQUENCY = 0.45, 0.25, 0.20, 0.10
EMOTION_BONUS = 0.05  # [B §3] once, if any emotion overlaps
RECENCY_HALF_HOURS = 72.0  # [B] recency = 1 / (1 + age / 72 h)
FREQUENCY_FULL = 10  # [B] accesses that count as "often"

# best scores of a lane below this are not scaled up to 1: one common word is no full match
LANE_FLOORS = np.array([0.3, 0.3, 4.0, 4.0])  # in the order of `LANES`

# a list is gathered from several occasions: what it takes from the score of a memory to have others
# of the same talk before it, in the order of their distance in journal entries
SAME_OCCASION = 0.2 * 0.6 ** np.arange(5)
SPREAD_OVER = 60  # the best so many; a recall brings at most 50 by default

QUOTING = ("", "offline")  # providers that only quote what they retell

SCORE_PROFILES = ("relevance", "salience")  # built in, see `score_profile`


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each clue. Those of the lanes add up to about 1."""

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


def asked_for(query: str, now: str) -> QueryReading:
    """Return what a query asks for at an ISO 8601 time."""
    return _asked_for(language.get(), query, date_of(now))


@lru_cache(maxsize=64)
def _asked_for(spoken: Language, query: str, today: date) -> QueryReading:
    return spoken.query(query, today)


@dataclass(slots=True, eq=False)
class Ranked:
    """A candidate with its score. `parts` are made on demand: there are hundreds of candidates."""

    candidate: Candidate
    total: float
    similarity: float
    clues: Sequence[float]
    reranked: float | None = None

    def parts(self, request: RecallRequest) -> ScoreParts:
        """Return the parts of the score."""
        memory = self.candidate
        same_mood = set(request.emotions) & set(memory.dominant_emotions)
        return ScoreParts(
            total=self.total,
            similarity=self.similarity,
            weight=memory.memory_weight,
            recency=recency_of(memory.last_accessed or memory.created_at, request.now),
            frequency=min(memory.access_count / FREQUENCY_FULL, 1.0),
            emotion=EMOTION_BONUS if same_mood else 0.0,
            importance=memory.importance,
            clues=dict(zip(CLUES, self.clues, strict=True)),
            reranked=self.reranked,
        )


def score(
    candidates: Sequence[Candidate], request: RecallRequest, best: np.ndarray | None = None
) -> list[Ranked]:
    """Score candidates by the request's score profile and weights, best first; `best_of_lanes` of
    those that they are ranked with is by default their own."""
    if not candidates:
        return []
    table = clues(candidates, request, best_of_lanes(candidates) if best is None else best)
    if request.by_sources:  # the cosine as it is [B §3, C §2.5]
        similar = np.array([each.lanes[0] for each in candidates])
    else:
        similar = relevance(table, request)
    bounded = similar.clip(0, 1).tolist()
    ranked = list(map(Ranked, candidates, similar.tolist(), bounded, table.tolist()))
    if total_of := score_profile(request.score_profile):
        for each in ranked:
            each.total = total_of(each.parts(request))
    elif request.emotions and not request.only_emotions:
        for each in ranked:
            each.total += each.parts(request).emotion
    return ordered(ranked)


def arranged(ranked: Sequence[Ranked], request: RecallRequest) -> list[Ranked]:
    """Order scored candidates best first, spread over occasions where a list is asked for."""
    several = asked_for(request.query, request.now).several and not request.by_sources
    return spread(ranked) if several else ordered(ranked)


def spread(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Order best first, with less for a memory the more of its own talk stands before it.

    The lines around a good one score well too, since they share its keys; where a list is asked
    for, they would take the places of other occasions.
    """
    waiting = ordered(ranked)
    totals = np.array([each.total for each in waiting])
    entries = np.array(
        [next(iter(each.candidate.journal_ids), np.nan) for each in waiting], dtype=float
    )
    left = np.ones(len(waiting), dtype=bool)
    for _ in range(min(SPREAD_OVER, len(waiting))):
        best = int(np.argmax(np.where(left, totals, -np.inf)))
        left[best] = False
        distance = np.abs(entries - entries[best])
        near = left & (distance < len(SAME_OCCASION))
        totals[near] -= SAME_OCCASION[distance[near].astype(int)]
    for each, total in zip(waiting, totals.tolist(), strict=True):
        each.total = total
    return ordered(waiting)


def best_of_lanes(candidates: Sequence[Candidate]) -> np.ndarray:
    """Return the best score in each lane, those of memories written by a night left out.

    They would lower the scores of what they retell. `candidates` must not be empty.
    """
    awake = [each for each in candidates if each.record not in OF_NIGHTS] or candidates
    return np.array([each.lanes for each in awake], dtype=float).clip(min=0).max(axis=0)


def clues(candidates: Sequence[Candidate], request: RecallRequest, best: np.ndarray) -> np.ndarray:
    """Return the clues of the candidates, 0-1, shape (len(candidates), len(CLUES)); `best`, shape
    (lanes,), are the scores that become 1."""
    asked = asked_for(request.query, request.now)
    lanes = np.array([each.lanes for each in candidates], dtype=float).clip(min=0)
    lanes = (lanes / np.maximum(best, LANE_FLOORS)).clip(max=1)
    looks = [
        (
            c.about in request.who,
            _date_clue(day_of(c.created_at), asked.dates) if asked.dates else 0.0,
            asked.when and c.tells_time,
            c.asking,
            c.length,
            c.record in DRAWN_RECORDS and c.provider in QUOTING,
        )
        for c in candidates
    ]
    return np.hstack([lanes, np.array(looks, dtype=float)])


def relevance(table: np.ndarray, request: RecallRequest) -> np.ndarray:
    """Return the weighted sums of `clues`, scaled to 1 for all clues that this query can have."""
    worth = astuple(Weights(*request.weights))
    asked = asked_for(request.query, request.now)
    silent = {"speaker": not request.who, "date": not asked.dates, "when": not asked.when}
    possible = sum(
        max(0.0, value) for clue, value in zip(CLUES, worth, strict=True) if not silent.get(clue)
    )
    return table @ np.array(worth) / (possible or 1.0)


def score_profile(name: str) -> Callable[[ScoreParts], float] | None:
    """Return the function that makes the total from the parts of a score.

    None for "relevance" [C §2.5]: the similarity as it is, with the bonus of emotions that were
    asked for [B §3]. With "salience" [B §3] weight, recency, frequency and emotions count too. Any
    other name is the path of a function of the game; ImproperlyConfigured if there is none.
    """
    if name in SCORE_PROFILES:
        return salience if name == "salience" else None
    try:
        return import_string(name)
    except ImportError as problem:
        raise ImproperlyConfigured(
            f"settings.CONTRIB_AI_MEMORY['RECALL_PROFILE'] = {name!r}: {problem}. It must be "
            "relevance, salience, or the path of a function of records.ScoreParts."
        ) from None


def ordered(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Sort best first, ties by id, so that the same request gives the same result."""
    return sorted(ranked, key=lambda each: (-each.total, each.candidate.id))


def salience(parts: ScoreParts) -> float:
    """Return the total of [B §3]."""
    return (
        SIMILARITY * parts.similarity
        + WEIGHT * parts.weight
        + RECENCY * parts.recency
        + FREQUENCY * parts.frequency
        + parts.emotion
    )


def recency_of(when: str, now: str) -> float:
    """Return 1 / (1 + age_hours / 72) [B]; 1 for dates in the future, 0 without a date."""
    if not when:
        return 0.0
    hours = max(0.0, seconds_between(when, now) / 3600)
    return 1 / (1 + hours / RECENCY_HALF_HOURS)


@lru_cache(maxsize=4096)
def _date_clue(day: str, dates: tuple[NamedDate, ...]) -> float:
    if not day:
        return 0.0
    return max(named.nearness(date.fromisoformat(day)) for named in dates)
