"""Reconciliation of new facts with known ones: a repetition, a change, or news.

Only facts of one audience are compared: a whisper neither strengthens nor ends what was said aloud.
The nearest by meaning are the candidates; numbers, negations and names, which vectors hardly show,
decide between them.

When a fact ends, the lines that told it are retired, with the experiences drawn from them. Nothing
is lost: a retired line stays in the journal and in the store, with the time since when it no
longer holds and the fact that replaced it, which recall returns instead. A line that tells anything
else is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from .. import conf
from ..english.claims import tells
from ..english.contradiction import contradicts, replaces, says_the_same
from ..english.sentences import sentences_of
from ..english.tokens import content_words
from ..records import LOCKED, PINNED, MemoryRecord
from ..store import memory_store
from ..store.payload import entry_memory_id
from ..store.people import ProfileAttribute, audience_of
from ..store.protocol import MemoryStore

LOOKED_AT = 8  # known facts nearest to a new one
EXPERIENCES_LOOKED_AT = 8  # nearest to a line that is retired
SAME_CONTENT = 0.8  # share of a fact's words in an experience that tells it
KEPT_TAGS = frozenset({"conscious", PINNED, LOCKED})  # never retired or pruned


class Relation(Enum):
    """How a new fact relates to a known one."""

    SAME = "same"
    CHANGE = "change"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Ended:
    """A fact that no longer holds and its replacement, as a profile needs to know it.

    Attributes:
        by: What the replacement says.
        since: The newest journal entry that the replacement rests on.
    """

    text: str
    by: str
    since: int
    journal_ids: tuple[int, ...]
    people: tuple[str, ...]
    audience: tuple[str, ...] | None

    @classmethod
    def of(cls, past: MemoryRecord, holds: MemoryRecord) -> Ended:
        people = tuple(sorted({*filter(None, [past.about]), *past.entities}))
        since = max(holds.journal_ids, default=0)
        return cls(past.content, holds.content, since, past.journal_ids, people, past.audience)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What became of a new fact.

    Attributes:
        fact_id: The id of the fact that now holds its evidence.
        ended: The facts that it ended, also those of a step that was killed and runs again.
    """

    fact_id: str
    ended: tuple[Ended, ...]


def reconcile(agent_id: str, fact: MemoryRecord, vector: np.ndarray) -> Reconciled:
    """Store a fact, join it to the one that it repeats, or end those that it contradicts.

    A fact is marked as ended before its replacement is written, and the lines that told it before
    that: a step that was killed in between finishes when it runs again. Run again with the same
    evidence, nothing changes (worker thread).
    """
    store = memory_store.shared()
    own = next(iter(store.get([fact.id])), None)
    # one more than is compared: the fact itself may be in the store
    found = store.nearest(agent_id, vector, LOOKED_AT + 1, record="fact")
    ended = [hit.memory for hit in found if hit.memory.superseded_by == fact.id]

    def reconciled(fact_id: str) -> Reconciled:
        return Reconciled(fact_id, tuple(Ended.of(past, fact) for past in ended))

    if own and (LOCKED in own.tags or set(fact.journal_ids) <= set(own.journal_ids)):
        return reconciled(own.id)
    related = [
        (hit.memory, relation(fact, hit.memory, hit.score))
        for hit in found[:LOOKED_AT]
        if hit.memory.audience == fact.audience and not hit.memory.superseded_by
    ]
    for known, how in related:
        if how is Relation.SAME:
            _reinforce(store, known, fact)
            return reconciled(known.id)
    changed = [known for known, how in related if how is Relation.CHANGE]
    # a fact that contradicts a locked one ends no other either
    locked = [known for known in changed if store.is_locked(agent_id, known)]
    stored = fact
    for known in locked[:1] or changed:
        if stored.valid_from >= known.valid_from and not locked:
            _end(store, agent_id, known, stored.id, stored.valid_from)
            ended.append(known)
        else:
            retire_sources(store, agent_id, stored, known.id, known.valid_from)
            stored = replace(stored, invalid_at=known.valid_from, superseded_by=known.id)
    if own:  # it held once, was ended, and holds again
        _revive(store, own, stored)
    else:
        store.insert_new(agent_id, [stored], vector[None])
    return reconciled(fact.id)


def relation(new: MemoryRecord, known: MemoryRecord, cosine: float) -> Relation:
    """Relate `new` to `known`, two facts of one audience."""
    if new.about != known.about:
        return Relation.OTHER  # two people's statements are two claims
    if cosine >= conf.DEDUP_COSINE and says_the_same(new.content, known.content):
        return Relation.SAME
    said = _as_said(new, known)
    if replaces(*said) or (cosine >= conf.CHANGE_COSINE and contradicts(*said)):
        return Relation.CHANGE  # two places need not be near in meaning
    return Relation.OTHER


def _as_said(new: MemoryRecord, known: MemoryRecord) -> tuple[str, str]:
    if new.quote and known.quote:
        return new.quote, known.quote
    return new.content, known.content


def _end(store: MemoryStore, agent_id: str, known: MemoryRecord, by: str, when: str) -> None:
    retire_sources(store, agent_id, known, by, when)
    store.change(known.id, invalid_at=when, superseded_by=by)


def _reinforce(store: MemoryStore, known: MemoryRecord, again: MemoryRecord) -> None:
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


def _revive(store: MemoryStore, own: MemoryRecord, again: MemoryRecord) -> None:
    store.change(
        own.id,
        invalid_at=again.invalid_at,
        superseded_by=again.superseded_by,
        valid_from=again.valid_from,
        last_accessed=max(own.last_accessed, again.last_accessed),
        journal_ids=list(dict.fromkeys([*own.journal_ids, *again.journal_ids])),
    )


# --- what told a fact that ended ------------------------------------------------------------------


def retire_sources(
    store: MemoryStore, agent_id: str, past: MemoryRecord, by: str, when: str
) -> None:
    """Retire the lines that told a fact, before the fact itself is ended (worker thread).

    Killed anywhere, it is run again, since the fact still holds then, and ends in the same state.

    Args:
        past: The fact that ends, in the store or not yet in it.
        by: The id of the fact that replaces it.
        when: ISO timestamp since when.
    """
    lines = store.get(entry_memory_id(agent_id, entry_id) for entry_id in past.journal_ids)
    for line in lines:
        if line.superseded_by not in (None, by) or _is_kept(line) or _says_more(line, past):
            continue
        for memory in (*_experiences(store, agent_id, line, past), line):  # the line last
            if not memory.superseded_by:
                store.change(memory.id, invalid_at=when, superseded_by=by)


def end_attributes(memory: Any, ended: Iterable[Ended]) -> None:
    """Remove from profiles the attributes that rest on ended facts (reactor thread)."""
    for fact in ended:
        for identity in fact.people:
            profile = memory.profiles.get(identity)
            if profile is None:
                continue
            held = tuple(
                known
                for known in profile.attributes
                if not _rests_on(known, fact) or _is_locked(memory, known)
            )
            if held != profile.attributes:
                memory.profiles.put(replace(profile, attributes=held))


def _is_locked(memory: Any, known: ProfileAttribute) -> bool:
    """Whether an attribute rests on a locked journal entry."""
    entries = map(memory.journal.get, known.evidence)
    return any(LOCKED in entry.tags for entry in entries if entry)


def _rests_on(known: ProfileAttribute, fact: Ended) -> bool:
    if audience_of(known) != fact.audience:
        return False
    if set(known.evidence) <= set(fact.journal_ids) and _tells(known.value, fact.text):
        return True
    return max(known.evidence, default=0) < fact.since and contradicts(fact.by, known.value)


def _is_kept(line: MemoryRecord) -> bool:
    return bool(KEPT_TAGS & set(line.tags))


def _says_more(line: MemoryRecord, past: MemoryRecord) -> bool:
    """Whether a line tells anything besides one fact; greetings do not count."""
    told = [sentence for sentence in sentences_of(line.content) if tells(sentence)]
    if not past.quote:
        return len(told) > 1
    own = content_words(past.quote)
    return any(len(content_words(sentence) - own) > 1 for sentence in told)


def _experiences(
    store: MemoryStore, agent_id: str, line: MemoryRecord, past: MemoryRecord
) -> list[MemoryRecord]:
    """The experiences that rest on a line and tell the fact that it told."""
    [vector] = store.vectors_of([line])
    near = store.nearest(agent_id, vector, EXPERIENCES_LOOKED_AT, record="experience")
    return [
        hit.memory
        for hit in near
        if set(line.journal_ids) & set(hit.memory.journal_ids)
        and not _is_kept(hit.memory)
        and _tells(hit.memory.content, past.content)
    ]


def _tells(text: str, fact: str) -> bool:
    words = content_words(fact)
    return len(words & content_words(text)) >= SAME_CONTENT * len(words)
