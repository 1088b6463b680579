"""Reconciliation of new facts with known ones: a repetition, a change, or news.

Only facts of one audience and one speaker are compared: a whisper neither strengthens nor ends what
was said aloud, and two people's statements are two claims. The nearest by meaning are the
candidates; the provider decides between them (`Provider.compare`). Where a language model is chosen
and gives no answer, nothing is joined or ended (docs/adr/023).

When a fact ends, the lines that told it are retired, with the experiences drawn from them, where
every fact of theirs has ended, and the attributes of people that tell it are removed. Nothing is
lost: a retired line stays in the journal and in the store, with the time since when it no longer
holds and the fact that replaced it, which recall returns instead, and beside it where the past is
asked for. A line that tells what was done or has happened is retired only if that is denied.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import language
from ..embedding import embedder
from ..ingest.endings import KEPT_TAGS, End, end, remove_attributes, take_back
from ..ingest.experiences import reinforce
from ..llm.provider import Pair, Relation, Statement
from ..records import LOCKED, MemoryRecord
from ..store import memory_store
from ..store.evidence import Work
from ..store.journal import join_ranges
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from ..store.protocol import MemoryStore

LOOKED_AT = 8  # known facts nearest to a new one
PAIRS_AT_ONCE = 64  # in one request to the provider
EXPERIENCES_LOOKED_AT = 8  # nearest to a line that is retired
FACTS_LOOKED_AT = 16  # the same, of facts that may rest on it

Names = tuple[str, str]  # of the new statement and the known one: of facts, their ids
Relations = Mapping[Names, Relation]
Named = Mapping[str, Mapping[str, Relation]]  # text of a new fact → id of a known one


@dataclass(frozen=True, slots=True)
class New:
    """A new fact with those that it is compared with."""

    fact: MemoryRecord
    vector: np.ndarray
    known: tuple[tuple[MemoryRecord, float], ...]  # with their similarity, nearest first
    ended: tuple[MemoryRecord, ...]  # by it, before a killed step ran again
    stored: bool  # whether the store has it, with all of its evidence


@defer.inlineCallbacks
def reconcile(
    memory: Memory, facts: Sequence[MemoryRecord], work: Work, named: Named | None = None
) -> Generator[Any, Any, list[str]]:
    """Store facts of one audience, join them to those that they repeat, or end those that they
    contradict.

    A step that was killed in between finishes when it runs again. Run again with the same evidence,
    nothing changes.

    Args:
        named: What the facts repeat or end, where their provider was shown what is known; it is not
            asked again then.

    Returns (as a Deferred):
        For each fact the id of the one that now holds its evidence.
    """
    if not facts:
        return []
    new = yield work.run(candidates, memory.id, facts, named or {})
    relations: Relations
    if named:
        relations = {
            (fact.id, known): relation
            for fact in facts
            for known, relation in named.get(fact.content, {}).items()
        }
    else:
        pairs = {
            (each.fact.id, known.id): Pair(Statement.of(each.fact), Statement.of(known), similarity)
            for each in new
            for known, similarity in each.known
            if known.id != each.fact.id
        }
        relations = yield compared(pairs, work)
    ids, ended = yield work.run(store_facts, memory.id, new, relations)
    for past in ended:
        remove_attributes(memory, past)
    return ids


@defer.inlineCallbacks
def compared(pairs: Mapping[Names, Pair], work: Work) -> Generator[Any, Any, Relations]:
    """Ask the chosen provider for the relation of each pair; without an answer it is unrelated."""
    relations = dict.fromkeys(pairs, Relation.UNRELATED)
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        some = [*pairs][start : start + PAIRS_AT_ONCE]
        found = yield work.judge("compare", [pairs[each] for each in some])
        relations.update(zip(some, found, strict=True) if found else ())
    return relations


def candidates(agent_id: str, facts: Sequence[MemoryRecord], named: Named) -> list[New]:
    """Find the facts of their audience that new ones are compared with, each other included, or
    those that were named for them (worker thread)."""
    store = memory_store.shared()
    vectors = embedder.shared().encode([fact.content for fact in facts])
    wanted = [named.get(fact.content, {}) for fact in facts]
    there = {each.id: each for each in store.get({*chain(*wanted), *(f.id for f in facts)})}
    # one more than is compared: the fact itself may be in the store
    near = [] if named else store.nearest_each(agent_id, vectors, LOOKED_AT + 1, record="fact")
    new: list[New] = []
    for place, (fact, vector) in enumerate(zip(facts, vectors, strict=True)):
        if named:
            found = {each: (there[each], 1.0) for each in wanted[place] if each in there}
            found.pop(fact.id, None)
        else:
            found = {hit.memory.id: (hit.memory, hit.score) for hit in near[place]}
            for earlier in new:
                found.setdefault(earlier.fact.id, (earlier.fact, float(earlier.vector @ vector)))
        own = [
            (known, similarity)
            for known, similarity in sorted(found.values(), key=lambda each: -each[1])
            if known.audience == fact.audience and (named or known.about == fact.about)
        ]
        held = there.get(fact.id)
        stored = held is not None and (
            LOCKED in held.tags or set(fact.journal_ids) <= set(held.journal_ids)
        )
        known = () if stored else tuple(each for each in own if not each[0].superseded_by)
        ended = tuple(past for past, _ in own if past.superseded_by == fact.id)
        new.append(New(fact, vector, known[:LOOKED_AT], ended, stored))
    return new


# --- writing --------------------------------------------------------------------------------------


def store_facts(
    agent_id: str, new: Sequence[New], relations: Relations
) -> tuple[list[str], list[MemoryRecord]]:
    """Write compared facts, one after the other (worker thread).

    A fact is marked as ended before its replacement is written, and the memories that told it
    before that, so that a step that was killed finishes when it runs again. Returns for each fact
    the id of the one that now holds its evidence, and the facts that have ended.
    """
    store = memory_store.shared()
    ended = [past for each in new for past in each.ended]
    ids = [
        each.fact.id if each.stored else _store(store, agent_id, each, relations, ended)
        for each in new
    ]
    return ids, ended


def _store(
    store: MemoryStore, agent_id: str, new: New, relations: Relations, ended: list[MemoryRecord]
) -> str:
    fact = new.fact
    there = {known.id: known for known in store.get([fact.id, *(k.id for k, _ in new.known)])}
    own = there.get(fact.id)
    # one that was joined to another, or ended, by a fact before this one is left out
    related = [there[known.id] for known, _ in new.known if known.id in there]
    related = [known for known in related if not known.superseded_by]
    relation_to = {known.id: relations.get((fact.id, known.id)) for known in related}
    for known in related:
        if known.id == fact.id or relation_to[known.id] is Relation.SAME:
            reinforce(known, fact, importance=max(known.importance, fact.importance))
            return known.id
    changed = [known for known in related if (to := relation_to[known.id]) and to.supersedes]
    stored = fact
    for past, by in _superseding(store, agent_id, fact, changed):
        over = End(past.id, by.id, None if _never_held(past, by) else by.valid_from)
        for each in _told_nothing_else(store, agent_id, past, by):
            end(store, [replace(over, past=each.id)])
        if past is fact:
            stored = replace(stored, **over.fields)
        else:
            end(store, [over], spared=())
        ended.append(past)
    if own:  # it held once, was ended, and holds again
        _revive(store, own, stored)
    else:
        store.insert_new(agent_id, [stored], new.vector[None])
    return fact.id


def _superseding(
    store: MemoryStore, agent_id: str, fact: MemoryRecord, changed: Sequence[MemoryRecord]
) -> list[tuple[MemoryRecord, MemoryRecord]]:
    """Pairs of the fact that ends and the one that replaces it: the newer one holds.

    A fact that contradicts a locked one ends none, and does not hold.
    """
    locked = [known for known in changed if store.is_locked(agent_id, known)]
    if locked:
        return [(fact, locked[0])]
    return [
        (known, fact) if fact.valid_from >= known.valid_from else (fact, known) for known in changed
    ]


def _told_nothing_else(
    store: MemoryStore, agent_id: str, past: MemoryRecord, by: MemoryRecord
) -> list[MemoryRecord]:
    """Find the lines that told a fact which ends, each behind the experiences drawn from it.

    Where another fact of a line holds, the line stays: what was drawn from it is all that it tells.
    """
    over = []
    for line in store.get(entry_memory_id(agent_id, entry_id) for entry_id in past.journal_ids):
        # what was done or has happened is true for ever, unless it is denied
        happened = line.is_deed or language.get().of_the_past(line.said)
        if happened and not language.get().denies(by.said, line.said):
            continue
        if line.superseded_by not in (None, by.id) or KEPT_TAGS & set(line.tags):
            continue
        told = set(line.journal_ids)
        [vector] = store.vectors_of([line])
        near = store.nearest(agent_id, vector, FACTS_LOOKED_AT, record="fact")
        drawn = [hit.memory for hit in near if told & set(hit.memory.journal_ids)]
        if all(fact.id == past.id or fact.superseded_by for fact in drawn):
            near = store.nearest(agent_id, vector, EXPERIENCES_LOOKED_AT, record="experience")
            over += [
                hit.memory
                for hit in near
                if told & set(hit.memory.journal_ids)
                and set(hit.memory.journal_ids) <= set(past.journal_ids)
            ]
            over.append(line)
    return over


def _never_held(past: MemoryRecord, by: MemoryRecord) -> bool:
    """Whether what ends a fact denies that it ever held, or has held since before it (a lock)."""
    return by.valid_from < past.valid_from or language.get().denies(by.said, past.said)


def _revive(store: MemoryStore, own: MemoryRecord, again: MemoryRecord) -> None:
    more = {
        "valid_from": again.valid_from,
        "last_accessed": max(own.last_accessed, again.last_accessed),
        "journal_ids": list(dict.fromkeys([*own.journal_ids, *again.journal_ids])),
        "context": join_ranges(own.context, again.context),
    }
    if again.superseded_by:
        end(store, [End.of(again)], spared=(), anew=True, **more)
    else:
        take_back(store, [own.id], **more)
