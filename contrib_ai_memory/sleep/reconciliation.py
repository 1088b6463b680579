"""A new fact beside what is known: the same again, a change, or news (worker thread).

Compared are facts of one audience: what was whispered neither strengthens nor ends what was said
aloud. The nearest by meaning are looked at, so that the twin is always among them; what they say is
then compared by numbers, negations and names, which vectors hardly see.

What goes with a fact that ends: the lines that told it, and what was drawn from them alone.

Nothing is lost: a line that is retired stays in the journal and in the store, with the time since
when it holds no longer and the fact that took its place; recall brings that one to mind. A line
that tells anything besides is left alone, since it would go with it.
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
from ..english.tokens import content_words, sentences_of
from ..records import LOCKED, PINNED, MemoryRecord
from ..store import facts
from ..store.locked_memories import is_locked
from ..store.payload import entry_memory_id

LOOKED_AT = 8


class Relation(Enum):
    """What a new fact is to a known one."""

    SAME = "same"
    CHANGE = "change"
    OTHER = "other"


def reconcile(agent_id: str, fact: MemoryRecord, vector: np.ndarray) -> str:
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
        for hit in store.nearest(agent_id, vector, LOOKED_AT, record="fact")
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
    locked = [known for known in changed if is_locked(store, agent_id, known)]
    for known in locked[:1] or changed:
        fact = _end_one(store, agent_id, known, fact, locked=bool(locked))
    if own:  # it held once, was ended, and holds again
        _revive(store, own, fact)
    else:
        store.add(agent_id, [fact], vector[None])
    return fact.id


def ended_by(agent_id: str, fact: MemoryRecord, vector: np.ndarray) -> list[Ended]:
    """What a fact has ended: looked up, so that a step that is run again finds it too."""
    near = facts.shared().nearest(agent_id, vector, LOOKED_AT + 1, record="fact")
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
    store: facts.FactStore, agent_id: str, known: MemoryRecord, new: MemoryRecord, *, locked: bool
) -> MemoryRecord:
    """End the older of two that contradict each other, and what told it: the new one, where the
    known one is `locked`. Gives `new` as it is to be stored."""
    if new.valid_from >= known.valid_from and not locked:
        retire_sources(store, agent_id, known, new.id, new.valid_from)
        store.change(known.id, invalid_at=new.valid_from, superseded_by=new.id)
        return new
    retire_sources(store, agent_id, new, known.id, known.valid_from)
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


# --- retiring -------------------------------------------------------------------------------------

KEPT_TAGS = frozenset({"conscious", PINNED, LOCKED})  # what somebody wished to be kept
EXPERIENCES_LOOKED_AT = 8  # nearest to a line that is retired
TELLS_OF_IT = 0.8  # share of a fact's words in an experience that tells it


@dataclass(frozen=True, slots=True)
class Ended:
    """A fact that holds no longer, and what took its place, as a profile needs to know it.

    Attributes:
        by: What the other says.
        since: The newest journal entry that this other rests on.
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


def retire_sources(
    store: facts.FactStore, agent_id: str, past: MemoryRecord, by: str, when: str
) -> None:
    """Retire what told a fact, before the fact itself is ended (worker thread).

    Killed anywhere and done again, since the fact still holds then, it ends in the same state.

    Args:
        past: The fact that ends, in the store or not yet in it.
        by: The id of the fact that takes its place.
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
    """Take out of profiles what rests on facts that ended (reactor thread)."""
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


def _is_locked(memory: Any, known: Any) -> bool:
    """Return whether an attribute rests on a journal entry that is locked."""
    entries = map(memory.journal.get, known.evidence)
    return any(LOCKED in entry.tags for entry in entries if entry)


def _rests_on(known: Any, fact: Ended) -> bool:
    audience = tuple(sorted(known.witnesses)) if known.private else None
    if audience != fact.audience:
        return False
    if set(known.evidence) <= set(fact.journal_ids) and _tells(known.value, fact.text):
        return True
    return max(known.evidence, default=0) < fact.since and contradicts(fact.by, known.value)


def _is_kept(line: MemoryRecord) -> bool:
    return bool(KEPT_TAGS & set(line.tags))


def _says_more(line: MemoryRecord, past: MemoryRecord) -> bool:
    """Whether a line tells anything besides one fact; a greeting is nothing."""
    told = [sentence for sentence in sentences_of(line.content) if tells(sentence)]
    if not past.quote:
        return len(told) > 1
    own = content_words(past.quote)
    return any(len(content_words(sentence) - own) > 1 for sentence in told)


def _experiences(
    store: facts.FactStore, agent_id: str, line: MemoryRecord, past: MemoryRecord
) -> list[MemoryRecord]:
    """Those that rest on a line and tell what it told."""
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
    return len(words & content_words(text)) >= TELLS_OF_IT * len(words)
