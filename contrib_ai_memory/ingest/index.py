"""Journal entries as memories in the store: indexed, rewritten, and with their keys kept up.

The lines around a line of talk are part of its search keys (`store.lanes`). When a line is added,
changed or removed, the keys of its neighbours are recomputed. Worker threads only, except for
`index_pending` and `index_newest`, which read the journal on the reactor thread.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import conf, language
from ..embedding import embedder
from ..embedding.embedder import Stored
from ..records import INSIGHT, MOVE_KINDS, NO_EVIDENCE, OWN, Entry, MemoryRecord
from ..store import memory_store
from ..store.lanes import REACH, SPAN, Keys, keys_of_talk
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id, to_payload
from ..store.protocol import READY
from . import agenda_items, components, endings, preference_slots

LOOK_BACK = 2 * REACH  # entries: those whose keys change, and the neighbours of these
BATCH = 64  # entries indexed at once
NEWEST = 16  # entries that a recall indexes if more than a batch waits
CURSOR = "indexed"


@defer.inlineCallbacks
def index_pending(memory: Memory, priority: int) -> Generator[Any, Any, bool]:
    """Embed and index a batch of new journal entries, as a Deferred: whether nothing is left."""
    start = memory.journal.cursors.get(CURSOR, 0)
    end = min(start + BATCH, len(memory.journal))
    yield _index(memory, start, end, priority, settle=True)
    # another call may have got further meanwhile; indexing twice writes the same again
    memory.journal.advance_cursor(CURSOR, end)
    return memory.journal.cursors.get(CURSOR, 0) >= len(memory.journal)


@defer.inlineCallbacks
def index_newest(memory: Memory, priority: int) -> Generator[Any, Any, None]:
    """Index what a recall must find: new entries, or only the newest of a long backlog.

    A backlog (after a full disk, an import, a time without the store) is left to the ticks, which
    index the oldest first; an answer does not wait for it.
    """
    last = len(memory.journal)
    if last - memory.journal.cursors.get(CURSOR, 0) <= BATCH:
        yield index_pending(memory, priority)
    else:
        yield _index(memory, last - NEWEST, last, priority)


@defer.inlineCallbacks
def _index(
    memory: Memory, start: int, end: int, priority: int, *, settle: bool = False
) -> Generator[Any, Any, None]:
    """Index the entries after `start` up to `end`; settle preferences, agenda and endings."""
    entries = list(memory.journal.read(start + 1, end))
    if not entries:
        return
    before = list(memory.journal.read(start + 1 - LOOK_BACK, start))
    with memory.evidence.work_on([*before, *entries], priority=priority) as work:
        yield work.run(index_entries, memory.id, entries, before)
        if settle:
            yield preference_slots.fill_heard(memory, entries, work)
            changed = yield agenda_items.update(memory, entries, work)
            yield endings.apply(memory, entries, work)
            if changed:
                yield endings.end_closed(memory, entries, work)


def index_entries(agent_id: str, entries: Sequence[Entry], before: Sequence[Entry] = ()) -> int:
    """Embed entries that are recallable and write them as memories; idempotent.

    The `LOOK_BACK` entries `before` them get new keys. Returns how many were written.
    """
    new = [entry for entry in entries if entry.recallable]
    if not new:
        return 0
    earlier = [entry for entry in before if entry.recallable]
    found_by = _keys_of(new, earlier, _stored(agent_id, earlier))
    memories = components.completed([to_memory(agent_id, entry) for entry in new])
    keys = [found_by.pop(entry.id) for entry in new]
    vectors = np.stack([key.line for key in keys])
    store = memory_store.shared()
    known = {memory.id: memory for memory in store.get([memory.id for memory in memories])}
    drawn = [place for place, memory in enumerate(memories) if memory.record == INSIGHT]
    lines = [place for place in range(len(memories)) if place not in drawn]
    heard = [_as_known(memories[each], known.get(memories[each].id)) for each in lines]
    store.upsert(agent_id, heard, vectors[lines], [keys[each] for each in lines])
    store.insert_new(agent_id, [memories[each] for each in drawn], vectors[drawn])
    store.rekey({entry_memory_id(agent_id, entry_id): keys for entry_id, keys in found_by.items()})
    return len(memories)


def rekey_entries(agent_id: str, around: Sequence[Entry], wanted: Collection[int]) -> None:
    """Recompute the keys of the `wanted` entries, whose neighbours were added or removed; `around`
    are these entries and `REACH` before and after them."""
    lines = [entry for entry in around if entry.recallable]
    found_by = _keys_of(lines, [], _stored(agent_id, lines))
    memory_store.shared().rekey(
        {entry_memory_id(agent_id, each): found_by[each] for each in found_by if each in wanted}
    )


def rewrite_fields(agent_id: str, entries: Sequence[Entry], *names: str) -> None:
    """Write these fields of the payloads of entries that are stored; nothing is embedded."""
    payloads = [(each, to_payload(agent_id, to_memory(agent_id, each))) for each in entries]
    memory_store.shared().change_each(
        {
            # an empty list, as of tags, is in no payload
            entry_memory_id(agent_id, each.id): {name: payload.get(name, []) for name in names}
            for each, payload in payloads
        }
    )


def _stored(agent_id: str, entries: Sequence[Entry]) -> Stored:
    """Return what finds the vectors of entries that are in the store."""
    ids = {entry.words: entry_memory_id(agent_id, entry.id) for entry in entries}

    def find(texts: list[str]) -> dict[str, np.ndarray]:
        there = memory_store.shared().line_vectors([ids[each] for each in texts if each in ids])
        return {each: np.asarray(there[ids[each]]) for each in texts if ids.get(each) in there}

    return find


def _keys_of(new: Sequence[Entry], before: Sequence[Entry], stored: Stored) -> dict[int, Keys]:
    """The keys of new entries and of earlier ones that change with them."""
    ids = {entry.id for entry in new}
    talks: dict[Hashable, list[Entry]] = {}
    for entry in [*before, *new]:
        talks.setdefault(entry.circle if _is_talk(entry) else entry.id, []).append(entry)
    fresh = [talk for talk in talks.values() if talk[-1].id in ids]
    texts = [entry.words for talk in fresh for entry in talk]
    vectors = embedder.shared().encode(texts, stored)
    found: dict[int, Keys] = {}
    for talk in fresh:
        own, vectors = vectors[: len(talk)], vectors[len(talk) :]
        first_new = next(place for place, entry in enumerate(talk) if entry.id in ids)
        first = max(0, first_new - SPAN)
        words = [entry.with_speaker() for entry in talk]
        keys = keys_of_talk([entry.id for entry in talk], words, own, first)
        for entry, key in zip(talk[first:], keys, strict=True):
            if entry.id >= talk[first_new].id - REACH:
                found[entry.id] = key
    return found


def _is_talk(entry: Entry) -> bool:
    """Whether it belongs to a conversation; any other entry stands alone."""
    return bool(entry.session_id) and not entry.is_move


def _as_known(memory: MemoryRecord, known: MemoryRecord | None) -> MemoryRecord:
    """Keep the usage and the retirement of a memory that is stored already."""
    if known is None:
        return memory
    return replace(
        memory,
        access_count=known.access_count,
        last_accessed=known.last_accessed,
        **endings.End.of(known).fields,
    )


def to_memory(agent_id: str, entry: Entry) -> MemoryRecord:
    """Make a memory of an entry: its key names the speaker, its content is the words alone."""
    importance = entry.importance / 10
    if "conscious" in entry.tags:
        weight = conf.CONSCIOUS_WEIGHT
    else:
        weight = min(1.0, 0.6 * importance + 0.4 * language.get().salience(entry.content))
    if entry.is_move:  # small in itself, and can still be recalled
        importance = max(importance, conf.FORGOTTEN_BELOW)
    # what it is, of `NO_EVIDENCE`
    kind = (OWN,) if entry.is_own else (entry.kind,) if entry.is_move else ()
    return MemoryRecord(
        id=entry_memory_id(agent_id, entry.id),
        content=entry.words,
        shown=entry.content if entry.words != entry.content else "",
        key=entry.with_speaker(),
        record=INSIGHT if entry.kind == INSIGHT else "entry",
        memory_type=_type_of(entry),
        about=entry.source_entity,
        speaker=entry.seen_as,
        session_id=entry.session_id,
        importance=importance,
        memory_weight=weight,
        dominant_emotions=entry.emotions,
        the_lesson=entry.lesson,
        source_type=entry.source_type,
        source_trust=entry.source_trust,
        journal_ids=(entry.id,),
        entities=entry.entities,
        witnesses=entry.witnesses,
        private=entry.audience is not None,
        question=entry.is_question,
        created_at=entry.timestamp,
        last_accessed=entry.timestamp,
        tags=(*entry.tags, *kind),
        provider=entry.provider,
    )


def from_memory(memory: MemoryRecord) -> Entry:
    """Rebuild the journal entry that a memory was made of.

    The store does not keep its place, its original wording and whether a deed was a gift.
    """
    said = memory.key != memory.content
    if memory.record == INSIGHT:
        kind, origin = INSIGHT, "sleep"
    elif "builder" in memory.tags:
        kind, origin = "note", "builder"
    else:
        talk = "whisper" if memory.confided else "say"
        kind, origin = talk if said else "pose", "self" if OWN in memory.tags else "perceived"
    kind = next(iter(MOVE_KINDS.intersection(memory.tags)), kind)
    return Entry(
        id=memory.journal_ids[0],
        timestamp=memory.created_at,
        content=memory.shown or memory.content,
        kind=kind,
        seen_as=memory.speaker,
        origin=origin,
        source_type=memory.source_type,
        source_trust=memory.source_trust,
        source_entity=memory.about,
        entities=memory.entities,
        witnesses=memory.witnesses,
        private=memory.confided,
        session_id=memory.session_id,
        importance=min(10, max(1, round(memory.importance * 10))),
        scoring_method="offline",
        emotions=memory.dominant_emotions,
        lesson=memory.the_lesson,
        tags=tuple(tag for tag in memory.tags if tag not in NO_EVIDENCE),
        provider=memory.provider,
    )


def _type_of(entry: Entry) -> str:
    if entry.kind == INSIGHT:
        return "semantic"
    if entry.is_own or entry.is_move:
        return "episodic"
    return "procedural" if language.get().preferences(entry.content) else "episodic"


# --- rewriting ------------------------------------------------------------------------------------


def rewrite(
    agent_id: str, memory: MemoryRecord, around: Sequence[Entry] = (), *, before: str | None = None
) -> None:
    """Write one memory under the same id with new vectors.

    Args:
        around: For a journal entry, itself and `LOOK_BACK` entries before and after it.
        before: Its former content, if the change belongs into its history.
    """
    store = memory_store.shared()
    if before is not None and before != memory.content:
        store.mem0.update(memory.id, text=memory.content, metadata={READY: memory})
    else:
        vectors = embedder.shared().encode([memory.embedded])
        store.upsert(agent_id, [memory], vectors)
    own = memory.journal_ids[0] if memory.record == "entry" else 0
    for entry in around:
        if entry.id == own:
            rekey_around(agent_id, entry, around)


def rekey_around(agent_id: str, entry: Entry, around: Sequence[Entry]) -> None:
    """Recompute the keys of an entry's neighbours, and its own if it is among them."""
    talk = [each for each in around if each.id == entry.id or _one_talk(each, entry)]
    rekey_entries(agent_id, talk, {e.id for e in talk if abs(e.id - entry.id) <= REACH})


def _one_talk(a: Entry, b: Entry) -> bool:
    return _is_talk(a) and _is_talk(b) and a.circle == b.circle
