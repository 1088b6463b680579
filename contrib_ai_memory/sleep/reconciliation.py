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

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import language
from ..embedding import embedder
from ..ingest.endings import KEPT_TAGS, End, end, remove_attributes, take_back
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

Relations = Mapping[tuple[str, str], Relation]  # (id of the new fact, id of the known one)
Outdated = Collection[tuple[str, str]]  # (id of the fact that ends, id of a memory that told it)


@dataclass(frozen=True, slots=True)
class New:
    """A new fact with those that it is compared with.

    Attributes:
        known: Facts of the same audience and speaker, with their similarity, nearest first.
        ended: Facts that it ended before a killed step runs again.
        stored: Whether the store has it, with all of its evidence.
    """

    fact: MemoryRecord
    vector: np.ndarray
    known: tuple[tuple[MemoryRecord, float], ...] = ()
    ended: tuple[MemoryRecord, ...] = ()
    stored: bool = False

    @property
    def pairs(self) -> dict[tuple[str, str], Pair]:
        """The pairs that the provider compares, by their ids."""
        return {
            (self.fact.id, known.id): Pair(Statement.of(self.fact), Statement.of(known), similarity)
            for known, similarity in self.known
            if known.id != self.fact.id
        }


@dataclass(frozen=True, slots=True)
class Source:
    """A line that told a fact which ends, with the experiences drawn from it."""

    line: MemoryRecord
    experiences: tuple[MemoryRecord, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """A fact that ends, the one that replaces it, and the lines that told it."""

    past: MemoryRecord
    by: MemoryRecord
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the provider that drew a fact said of known ones: which it repeats, which it ends."""

    same_as: str
    ends: Sequence[str]


@defer.inlineCallbacks
def reconcile(
    memory: Memory,
    facts: Sequence[MemoryRecord],
    work: Work,
    judged: Mapping[str, Judged] | None = None,
) -> Generator[Any, Any, list[str]]:
    """Store facts, join them to those that they repeat, or end those that they contradict.

    A step that was killed in between finishes when it runs again. Run again with the same evidence,
    nothing changes.

    Args:
        memory: The NPC's MemoryHandler.
        facts: Of one audience; none of them is written yet.
        work: Rests on their evidence.
        judged: By the text of a fact, where its provider was shown what is known; it is not asked
            again then. Either all facts are judged or none.

    Returns (as a Deferred):
        For each fact the id of the one that now holds its evidence.
    """
    if not facts:
        return []
    relations: Relations
    if judged:
        new, relations = yield work.run(named_candidates, facts, judged)
    else:
        new = yield work.run(candidates, memory.id, facts)
        pairs = {key: pair for each in new for key, pair in each.pairs.items()}
        found = yield compared(list(pairs.values()), work)
        relations = dict(zip(pairs, found, strict=True))
    ended: list[Ended] = []
    outdated: set[tuple[str, str]] = set()
    if any(relation.supersedes for relation in relations.values()) or any(e.ended for e in new):
        ended = yield work.run(endings, memory.id, new, relations)
        outdated = yield work.run(resting_on_ended, memory.id, ended)
    ids = yield work.run(store_facts, memory.id, new, relations, ended, outdated)
    for each in ended:
        remove_attributes(memory, each.past)
    return ids


@defer.inlineCallbacks
def compared(pairs: Sequence[Pair], work: Work) -> Generator[Any, Any, list[Relation]]:
    """Ask the chosen provider for the relation of each pair; without an answer it is unrelated."""
    relations: list[Relation] = []
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        some = pairs[start : start + PAIRS_AT_ONCE]
        found = yield work.judge("compare", some)
        relations += found or [Relation.UNRELATED] * len(some)
    return relations


# --- what is compared -----------------------------------------------------------------------------


def named_candidates(
    facts: Sequence[MemoryRecord], judged: Mapping[str, Judged]
) -> tuple[list[New], dict[tuple[str, str], Relation]]:
    """Find the known facts that new ones repeat or end (worker thread).

    One of another audience is left alone: a whisper neither strengthens nor ends what was said
    aloud.
    """
    store = memory_store.shared()
    vectors = embedder.shared().encode([fact.content for fact in facts], keep=True)
    named = {fact.content: judged.get(fact.content, Judged("", ())) for fact in facts}
    ids = {each for said in named.values() for each in (said.same_as, *said.ends) if each}
    there = {each.id: each for each in store.get({*ids, *(fact.id for fact in facts)})}
    new: list[New] = []
    relations: dict[tuple[str, str], Relation] = {}
    for fact, vector in zip(facts, vectors, strict=True):
        said = named[fact.content]
        ends = dict.fromkeys(said.ends, Relation.CHANGES)
        same = {said.same_as: Relation.SAME} if said.same_as and not ends else {}
        found = [
            there[each]
            for each in (ends or same)
            if each in there and each != fact.id and there[each].audience == fact.audience
        ]
        ended = tuple(known for known in found if known.superseded_by == fact.id)
        held = there.get(fact.id)
        stored = held is not None and (
            LOCKED in held.tags or set(fact.journal_ids) <= set(held.journal_ids)
        )
        known = tuple((each, 1.0) for each in found if not each.superseded_by)
        new.append(New(fact, vector, () if stored else known, ended, stored))
        relations |= {(fact.id, each): relation for each, relation in (ends or same).items()}
    return new, relations


def resting_on_ended(agent_id: str, ended: Sequence[Ended]) -> set[tuple[str, str]]:
    """Pairs of a fact that ends and a line or experience of which every fact has ended.

    (Worker thread.) What was drawn from a line is all that the line tells.
    """
    store = memory_store.shared()
    over = {each.past.id for each in ended}
    found = set()
    for each in ended:
        for source in each.sources:
            [vector] = store.vectors_of([source.line])
            near = store.nearest(agent_id, vector, FACTS_LOOKED_AT, record="fact")
            told = set(source.line.journal_ids)
            drawn = [hit.memory for hit in near if told & set(hit.memory.journal_ids)]
            if all(fact.id in over or fact.superseded_by for fact in drawn):
                found.add((each.past.id, source.line.id))
                found |= {
                    (each.past.id, experience.id)
                    for experience in source.experiences
                    if set(experience.journal_ids) <= set(each.past.journal_ids)
                }
    return found


def candidates(agent_id: str, facts: Sequence[MemoryRecord]) -> list[New]:
    """Find the facts that new ones are compared with, each other included (worker thread)."""
    store = memory_store.shared()
    vectors = embedder.shared().encode([fact.content for fact in facts], keep=True)
    own = {memory.id: memory for memory in store.get([fact.id for fact in facts])}
    # one more than is compared: the fact itself may be in the store
    near_each = store.nearest_each(agent_id, vectors, LOOKED_AT + 1, record="fact")
    new: list[New] = []
    for fact, vector, found in zip(facts, vectors, near_each, strict=True):
        ended = tuple(hit.memory for hit in found if hit.memory.superseded_by == fact.id)
        held = own.get(fact.id)
        if held and (LOCKED in held.tags or set(fact.journal_ids) <= set(held.journal_ids)):
            new.append(New(fact, vector, ended=ended, stored=True))
            continue
        near = {hit.memory.id: (hit.memory, hit.score) for hit in found[:LOOKED_AT]}
        for earlier in new:
            near.setdefault(earlier.fact.id, (earlier.fact, float(earlier.vector @ vector)))
        known = [
            (memory, similarity)
            for memory, similarity in near.values()
            if (memory.about, memory.audience) == (fact.about, fact.audience)
            and not memory.superseded_by
        ]
        known.sort(key=lambda found: -found[1])
        new.append(New(fact, vector, tuple(known[:LOOKED_AT]), ended))
    return new


# --- what ends ------------------------------------------------------------------------------------


def endings(agent_id: str, new: Sequence[New], relations: Relations) -> list[Ended]:
    """Find the facts that end, and the memories that told them (worker thread)."""
    store = memory_store.shared()
    found = []
    for each in new:
        related = [known for known, _ in each.known if _changes(each.fact, known, relations)]
        pairs = [(past, each.fact) for past in each.ended]
        for past, by in [*pairs, *_superseding(store, agent_id, each.fact, related)]:
            found.append(Ended(past, by, tuple(_sources(store, agent_id, past, by))))
    return found


def _changes(fact: MemoryRecord, known: MemoryRecord, relations: Relations) -> bool:
    relation = relations.get((fact.id, known.id))
    return relation is not None and relation.supersedes


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


def _sources(
    store: MemoryStore, agent_id: str, past: MemoryRecord, by: MemoryRecord
) -> Iterable[Source]:
    for line in store.get(entry_memory_id(agent_id, entry_id) for entry_id in past.journal_ids):
        # what was done or has happened is true for ever, unless it is denied
        happened = line.is_deed or language.get().of_the_past(line.said)
        if happened and not language.get().denies(by.said, line.said):
            continue
        if line.superseded_by in (None, by.id) and not KEPT_TAGS & set(line.tags):
            yield Source(line, tuple(_experiences(store, agent_id, line)))


def _experiences(store: MemoryStore, agent_id: str, line: MemoryRecord) -> list[MemoryRecord]:
    """The experiences that rest on a line."""
    [vector] = store.vectors_of([line])
    near = store.nearest(agent_id, vector, EXPERIENCES_LOOKED_AT, record="experience")
    return [
        hit.memory
        for hit in near
        if set(line.journal_ids) & set(hit.memory.journal_ids)
        and not KEPT_TAGS & set(hit.memory.tags)
    ]


# --- writing --------------------------------------------------------------------------------------


def store_facts(
    agent_id: str,
    new: Sequence[New],
    relations: Relations,
    ended: Sequence[Ended] = (),
    outdated: Outdated = (),
) -> list[str]:
    """Write compared facts, one after the other (worker thread).

    A fact is marked as ended before its replacement is written, and the memories that told it
    before that, so that a step that was killed finishes when it runs again.

    Returns:
        For each fact the id of the one that now holds its evidence.
    """
    store = memory_store.shared()
    told = {each.past.id: each.sources for each in ended}
    return [
        each.fact.id if each.stored else _store(store, agent_id, each, relations, told, outdated)
        for each in new
    ]


def _store(
    store: MemoryStore,
    agent_id: str,
    new: New,
    relations: Relations,
    told: Mapping[str, Sequence[Source]],
    outdated: Outdated,
) -> str:
    fact = new.fact
    there = {known.id: known for known in store.get([fact.id, *(k.id for k, _ in new.known)])}
    own = there.get(fact.id)
    # one that was joined to another, or ended, by a fact before this one is left out
    related = [there[known.id] for known, _ in new.known if known.id in there]
    related = [known for known in related if not known.superseded_by]
    for known in related:
        if known.id == fact.id or relations.get((fact.id, known.id)) is Relation.SAME:
            _reinforce(store, known, fact)
            return known.id
    changed = [known for known in related if _changes(fact, known, relations)]
    stored = fact
    for past, by in _superseding(store, agent_id, fact, changed):
        over = End(past.id, by.id, None if _never_held(past, by) else by.valid_from)
        for source in told.get(past.id, ()):
            if (past.id, source.line.id) in outdated:
                both = (each.id for each in (*source.experiences, source.line))
                only = [each for each in both if (past.id, each) in outdated]
                end(store, [replace(over, past=each) for each in only])
        if past is fact:
            stored = replace(stored, **over.fields)
        else:
            end(store, [over], spared=())
    if own:  # it held once, was ended, and holds again
        _revive(store, own, stored)
    else:
        store.insert_new(agent_id, [stored], new.vector[None])
    return fact.id


def _never_held(past: MemoryRecord, by: MemoryRecord) -> bool:
    """Whether what ends a fact denies that it ever held, or has held since before it (a lock)."""
    return by.valid_from < past.valid_from or language.get().denies(by.said, past.said)


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
            context=join_ranges(known.context, again.context),
        )


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
