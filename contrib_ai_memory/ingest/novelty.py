"""Novelty of a text [C §1.5]: its cosine distance to what the NPC knows through one person.

That is what was taught about them, and what they said. Worker threads only.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..embedding import embedder
from ..records import NO_EVIDENCE
from ..store import memory_store
from ..store.protocol import filters_of

KNOWN_AT_MOST = 4096  # memories of one person that are looked at


def known_through(agent_id: str, person: str | None, but: Collection[str] = ()) -> np.ndarray:
    """Return the sum of the unit vectors of what an NPC knows through a person.

    Args:
        person: A memory identity; None for what was taught about nobody in particular.
        but: Ids of memories to leave out: a text that is taught again is not compared with itself.

    Returns:
        Shape (dimensions,), which has the direction of their mean; zeros without any.
    """
    store = memory_store.shared()
    where = {"user_id": person} if person else {"record": "taught"}
    ids = [
        memory_id
        for memory_id, payload in store.every_row(filters_of(agent_id, where), KNOWN_AT_MOST)
        if payload.get("record") in ("entry", "taught")
        and (payload.get("user_id") or None) == person
        and NO_EVIDENCE.isdisjoint(payload.get("tags", ()))
        and memory_id not in but
    ]
    total = np.zeros(embedder.shared().dimensions)
    return sum(map(np.asarray, store.line_vectors(ids).values()), total) if ids else total


def novelty(vectors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the cosine distance of each unit vector to `known`, 0-1; 1 if nothing is known yet."""
    length = float(np.linalg.norm(known))
    if length == 0.0:
        return np.ones(len(vectors))
    return np.clip(1.0 - vectors @ known / length, 0.0, 1.0)
