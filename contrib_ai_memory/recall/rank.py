"""Scores: how relevant, how weighty, how recent, how often needed [B §3]."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import MemoryRecord, ScoreParts, seconds_between

SIMILARITY, WEIGHT, RECENCY, FREQUENCY = 0.45, 0.25, 0.20, 0.10  # [B §3]
EMOTION_BONUS = 0.05  # [B §3] once, if any emotion overlaps
RECENCY_HALF_HOURS = 72.0  # [B] recency = 1 / (1 + age / 72 h)
FREQUENCY_FULL = 10  # [B] accesses that count as "often"

DENSE_SHARE, KEYWORD_SHARE = 0.6, 0.4
KEYWORD_FLOOR = 4.0  # a best BM25 score below this is no full match: one common word is not a hit


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory with what each search lane said: cosine -1..1, BM25 0.. (0: not found there)."""

    memory: MemoryRecord
    dense: float = 0.0
    keyword: float = 0.0


def score(
    candidates: list[Candidate], now: str, emotions: tuple[str, ...] = ()
) -> list[tuple[Candidate, ScoreParts]]:
    """Every candidate with its score, best first. `now` is an ISO timestamp."""
    best_keyword = max((candidate.keyword for candidate in candidates), default=0.0)
    keyword_scale = max(best_keyword, KEYWORD_FLOOR)
    scored = [
        (candidate, _parts(candidate, keyword_scale, now, set(emotions)))
        for candidate in candidates
    ]
    # ties by id: the same store and question give the same answer
    return sorted(scored, key=lambda pair: (-pair[1].total, pair[0].memory.id))


def _parts(candidate: Candidate, keyword_scale: float, now: str, emotions: set[str]) -> ScoreParts:
    memory = candidate.memory
    dense = max(0.0, candidate.dense)
    keyword = candidate.keyword / keyword_scale
    similarity = DENSE_SHARE * dense + KEYWORD_SHARE * keyword
    recency = recency_of(memory.last_accessed or memory.created_at, now)
    frequency = min(memory.access_count / FREQUENCY_FULL, 1.0)
    emotion = EMOTION_BONUS if emotions & set(memory.dominant_emotions) else 0.0
    total = (
        SIMILARITY * similarity
        + WEIGHT * memory.memory_weight
        + RECENCY * recency
        + FREQUENCY * frequency
        + emotion
    )
    return ScoreParts(
        total=total,
        similarity=similarity,
        weight=memory.memory_weight,
        recency=recency,
        frequency=frequency,
        emotion=emotion,
        dense=dense,
        keyword=keyword,
    )


def recency_of(when: str, now: str) -> float:
    """1 / (1 + age_hours / 72) [B]; 1 for what is dated in the future."""
    if not when:
        return 0.0
    hours = max(0.0, seconds_between(when, now) / 3600)
    return 1 / (1 + hours / RECENCY_HALF_HOURS)
