"""The keys of a memory as Qdrant has them: two dense vectors and two sparse ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import qdrant_edge as edge

from . import keys
from .keys import Keys

LINE, WINDOW, NEAR, WIDE = "", "window", "near", "wide"  # vectors; Mem0 knows the unnamed one

# BM25 over counts that are weighted by distance: (weights, average length, reach of its rarity),
# fitted with the rest
K1, B = 1.2, 0.75
WORD_LANES = {NEAR: (keys.NEAR, 40.0, 5.0), WIDE: (keys.WIDE, 220.0, 10.0)}

INDEXED = tuple(
    "agent_id user_id run_id record memory_type audience dominant_emotions tells".split()
)  # fields of the payload

# b = 0: the value of a term tells how often it came, and the lengths are counted here
_TOKENIZER = edge.Bm25(edge.Bm25Config(k=K1, b=0.0, avg_len=16.0, ascii_folding=True))


@lru_cache(maxsize=4096)
def _term_counts(words: str) -> tuple[tuple[int, int], ...]:
    """(term, count) pairs, tokenised, stemmed and freed of stop words by Edge's own tokeniser."""
    terms = _TOKENIZER.embed_document(words)
    return tuple(
        (term, round(K1 * value / (K1 + 1 - value)))
        for term, value in zip(terms.indices, terms.values, strict=True)
    )


def add_index(shard: edge.EdgeShard, name: str) -> None:
    """Index one field of the payloads, one of `INDEXED`."""
    keyword = edge.PayloadSchemaType.Keyword
    shard.update(edge.UpdateOperation.create_field_index(name, keyword))


def terms_of(words: str) -> list[int]:
    """The different terms of a text; none where all are stop words."""
    return [term for term, _count in _term_counts(words)]


def words_query(rarity: Mapping[int, float], lane: str) -> edge.Query:
    """BM25 in one lane: every term of the question by how rare it is."""
    return edge.Query.Nearest(edge.SparseVector(list(rarity), list(rarity.values())), using=lane)


def alone(vector: Sequence[float], payload: Mapping[str, Any]) -> Keys:
    """The keys of what Mem0 writes: a vector and a payload of its own."""
    return keys.alone(np.asarray(vector, dtype=np.float32), words_of(payload))


def words_of(payload: Mapping[str, Any]) -> str:
    """What a point is searched by, from Mem0's own payload fields."""
    return payload.get("text_lemmatized") or payload.get("data") or ""


def vectors_of(found_by: Keys) -> dict[str, Any]:
    """Every key by the name of its vector."""
    vectors: dict[str, Any] = {LINE: found_by.line.tolist(), WINDOW: found_by.window.tolist()}
    for lane, (weights, average, _reach) in WORD_LANES.items():
        values = _bm25(found_by.around, weights, average)
        if values:
            vectors[lane] = edge.SparseVector(list(values), list(values.values()))
    return vectors


def _bm25(
    around: Sequence[tuple[int, str]], weights: Sequence[float], average: float
) -> dict[int, float]:
    """BM25's document side over counts weighted by distance (Robertson & Zaragoza 2009)."""
    counts: Counter[int] = Counter()
    for distance, words in around:
        if distance < len(weights):
            for term, count in _term_counts(words):
                counts[term] += weights[distance] * count
    norm = K1 * (1 - B + B * sum(counts.values()) / average)
    return {term: count * (K1 + 1) / (count + norm) for term, count in counts.items()}
