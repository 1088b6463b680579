"""A new fact beside what is known: the same again, a change, or news (worker thread).

Compared are facts of one audience: what was whispered neither strengthens nor ends what was said
aloud. The nearest by meaning are looked at, so that the twin is always among them; what they say is
then compared by numbers, negations and names, which vectors hardly see.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

import numpy as np

from .. import conf
from ..records import LOCKED, MemoryRecord
from ..store import facts
from ..store.locks import is_locked
from ..text.sameness import says_the_same
from .contradicting import contradicts
from .replacing import replaces
from .retiring import Ended, retire_sources

LOOKED_AT = 8


class Relation(Enum):
    """What a new fact is to a known one."""

    SAME = "same"
    CHANGE = "change"
    OTHER = "other"


def reconcile(mind: str, fact: MemoryRecord, vector: np.ndarray) -> str:
    """Store a fact, or join it to the one that it repeats, or let it end the one it contradicts.

    What it ends is marked before it is written, and what told that before it: killed in between
    and run again, it is written then. Done again with the same evidence, nothing changes.

    Returns:
        The id of the fact that now holds the evidence.
    """
    store = facts.shared()
    [own] = store.get([fact.id]) or [None]
    if own and (LOCKED in own.tags or set(fact.journal_ids) <= set(own.journal_ids)):
        return own.id
    near = [
        hit
        for hit in store.nearest(mind, vector, LOOKED_AT, record="fact")
        if hit.memory.audience == fact.audience and not hit.memory.superseded_by
    ]
    for hit in near:
        if relation(fact, hit.memory, hit.score) is Relation.SAME:
            _reinforce(store, hit.memory, fact)
            return hit.memory.id
    changed = [
        hit.memory for hit in near if relation(fact, hit.memory, hit.score) is Relation.CHANGE
    ]
    # what contradicts something locked ends nothing else either
    locked = [known for known in changed if is_locked(store, mind, known)]
    for known in locked[:1] or changed:
        fact = _end_one(store, mind, known, fact, locked=bool(locked))
    if own:  # it held once, was ended, and holds again
        _revive(store, own, fact)
    else:
        store.add(mind, [fact], vector[None])
    return fact.id


def ended_by(mind: str, fact: MemoryRecord, vector: np.ndarray) -> list[Ended]:
    """What a fact has ended: looked up, so that a step that is run again finds it too."""
    near = facts.shared().nearest(mind, vector, LOOKED_AT + 1, record="fact")
    return [Ended.of(hit.memory, fact) for hit in near if hit.memory.superseded_by == fact.id]


def relation(new: MemoryRecord, known: MemoryRecord, cosine: float) -> Relation:
    """What `new` is to `known`, of one audience."""
    if new.about != known.about:
        return Relation.OTHER  # what two people say is two claims
    if cosine >= conf.DEDUP_COSINE and says_the_same(new.content, known.content):
        return Relation.SAME
    said = _as_said(new, known)
    if replaces(*said) or (cosine >= conf.CHANGE_COSINE and contradicts(*said)):
        return Relation.CHANGE  # two places are far apart, and still one takes the other's place
    return Relation.OTHER


def _as_said(new: MemoryRecord, known: MemoryRecord) -> tuple[str, str]:
    if new.quote and known.quote:
        return new.quote, known.quote
    return new.content, known.content


def _end_one(
    store: facts.FactStore, mind: str, known: MemoryRecord, new: MemoryRecord, *, locked: bool
) -> MemoryRecord:
    """End the older of two that contradict each other, and what told it: the new one, where the
    known one is `locked`. Gives `new` as it is to be stored."""
    if new.valid_from >= known.valid_from and not locked:
        retire_sources(store, mind, known, new.id, new.valid_from)
        store.change(known.id, invalid_at=new.valid_from, superseded_by=new.id)
        return new
    retire_sources(store, mind, new, known.id, known.valid_from)
    return replace(new, invalid_at=known.valid_from, superseded_by=known.id)


def _reinforce(store: facts.FactStore, known: MemoryRecord, again: MemoryRecord) -> None:
    new = [entry_id for entry_id in again.journal_ids if entry_id not in known.journal_ids]
    if new and LOCKED not in known.tags:
        store.change(
            known.id,
            access_count=known.access_count + 1,
            last_accessed=max(known.last_accessed, again.last_accessed),
            importance=max(known.importance, again.importance),
            memory_weight=max(known.memory_weight, again.memory_weight),
            journal_ids=[*known.journal_ids, *new],
        )


def _revive(store: facts.FactStore, own: MemoryRecord, again: MemoryRecord) -> None:
    store.change(
        own.id,
        invalid_at=again.invalid_at,
        superseded_by=again.superseded_by,
        valid_from=again.valid_from,
        last_accessed=max(own.last_accessed, again.last_accessed),
        journal_ids=list(dict.fromkeys([*own.journal_ids, *again.journal_ids])),
    )
