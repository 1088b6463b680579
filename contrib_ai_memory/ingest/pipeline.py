"""The ingest pipeline [C §1]: a text is cleaned, chunked, embedded, weighed, routed and stored.

The reactor thread hands out the work in batches, so that an answer to a player can go between two
of them, and writes the preferences, which are Attributes. The ids of memories derive from their
text: a text that is taught again, even after a crash half way, results in the same memories with
the same weights, since it is not compared with itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Generator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import conf, language
from ..embedding import embedder
from ..language import Part
from ..records import MEMORY_TYPES, NO_EVIDENCE, WORKING, MemoryRecord
from ..store import memory_store
from ..store.npc_memory import Memory
from ..store.payload import memory_id_for
from ..store.protocol import filters_of
from ..text import plural
from ..text.sanitising import without_injected
from . import components, preference_slots
from .chunk import chunks_of
from .endings import End
from .preference_slots import Draft

RECORD = "taught"
BATCH = 4  # chunks embedded in one job: an answer to a player waits for no more than one
KNOWN_AT_MOST = 4096  # memories of one person that a text is compared with


@dataclass(frozen=True, slots=True)
class Lesson:
    """A text to ingest, whom it is about, who may hear of it, and the time of ingestion."""

    agent_id: str
    text: str
    now: str
    user: str | None = None
    user_name: str = ""
    session_id: str | None = None
    hint: str | None = None
    private: bool = False
    witnesses: tuple[str, ...] = ()
    known_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk with its drafts of memories; `known` if all of them are in the store already."""

    text: str
    drafts: tuple[Draft, ...]
    known: bool


@dataclass(frozen=True, slots=True)
class Learned:
    """The memories of a text, in order, and how many of its chunks are new, known or dropped."""

    memories: tuple[MemoryRecord, ...] = ()
    new: int = 0
    known: int = 0
    dropped: int = 0

    def told(self) -> str:
        """The counts as a sentence for a builder."""
        chunks = self.new + self.known + self.dropped
        counts = f"{self.new} kept, {self.dropped} dropped as unimportant"
        known = f", {self.known} known already" if self.known else ""
        return f"{plural(chunks, 'piece')}: {counts}{known}"


@defer.inlineCallbacks
def ingest(
    memory: Memory,
    text: str,
    user_id: str | None = None,
    session_id: str | None = None,
    memory_type_hint: str | None = None,
    *,
    private: bool = False,
    witnesses: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Generator[Any, Any, Learned]:
    """Ingest a text [C §1]. Reactor thread.

    Args:
        text: Prose, Markdown, code.
        user_id: Memory identity of the person it is about or comes from; None for nobody.
        session_id: The conversation that it belongs to.
        memory_type_hint: Memory type of the whole text, in place of routing.
        private, witnesses: Who may hear of it, as with a journal entry.
        progress: Called with the number of chunks done and of all.

    Raises (in the Deferred):
        ValueError: `memory_type_hint` is not one of the four types.
    """
    if memory_type_hint is not None and memory_type_hint not in MEMORY_TYPES:
        raise ValueError(
            f"{memory_type_hint!r} is not a memory type. Use one of {', '.join(MEMORY_TYPES)}."
        )
    lesson = Lesson(
        agent_id=memory.id,
        text=text,
        now=memory.clock(),
        user=user_id,
        user_name=memory.people.name_of(user_id),
        session_id=session_id,
        hint=memory_type_hint,
        private=private,
        witnesses=tuple(sorted(witnesses)),
        known_names=memory.people.names(),
    )
    drafts: list[Draft] = []
    new: set[str] = set()
    with memory.evidence.work_on() as work:
        chunks, others = yield work.run(chunks_to_learn, lesson)
        for start in range(0, len(chunks), BATCH):
            batch = [_with_people(memory, chunk) for chunk in chunks[start : start + BATCH]]
            weighed, written = yield work.run(learn, lesson, batch, others)
            drafts += weighed
            new.update(written)
            if progress:
                progress(start + len(batch), len(chunks))
        locked: set[str] = set()
        if any(draft.preference for draft in drafts):
            known = {each.memory_id for each in memory.preferences.of(lesson.user or "")}
            locked = yield work.run(memory_store.locked_among, memory.id, known - {""})
        preferred, superseded = preference_slots.fill(memory, lesson.user, drafts, locked)
        stored = [draft for draft in drafts if draft.kept and draft.preference is None] + preferred
        stored.sort(key=lambda draft: draft.place)
        written = yield work.run(finish, lesson, preferred, superseded)
        new.update(written)
        ids = list(dict.fromkeys(draft.memory.id for draft in stored))
        memories = yield work.run(memory_store.get, ids)
    kept = {draft.place[0] for draft in stored}
    kept_new = {draft.place[0] for draft in stored if draft.memory.id in new}
    return Learned(
        memories=tuple(memories),
        new=len(kept_new),
        known=len(kept - kept_new),
        dropped=len(chunks) - len(kept),
    )


def _with_people(memory: Memory, chunk: Chunk) -> Chunk:
    """Fill in the people that each draft names, from the index of people (reactor thread)."""
    named = [
        replace(
            draft, memory=replace(draft.memory, entities=memory.people.mentioned(draft.memory.key))
        )
        for draft in chunk.drafts
    ]
    return replace(chunk, drafts=tuple(named))


# --- on the worker thread -------------------------------------------------------------------------


def chunks_to_learn(lesson: Lesson) -> tuple[list[Chunk], np.ndarray]:
    """Clean, chunk and route a text, and look up which of its memories are known. Returns the
    chunks, and what else is `known_through` the person."""
    texts = chunks_of(cleaned(lesson.text), embedder.shared().count_tokens)
    drafts = [
        [
            _draft(lesson, (number, place), part)
            for place, part in enumerate(language.get().parts(text, lesson.hint))
        ]
        for number, text in enumerate(texts)
    ]
    ids = list(dict.fromkeys(draft.memory.id for group in drafts for draft in group))
    known = memory_store.shared().existing(ids)
    chunks = [
        Chunk(text, tuple(group), known=all(draft.memory.id in known for draft in group))
        for text, group in zip(texts, drafts, strict=True)
    ]
    return chunks, known_through(lesson.agent_id, lesson.user, but=known)


def _draft(lesson: Lesson, place: tuple[int, int], part: Part) -> Draft:
    """One memory as it would be stored, not weighed yet."""
    circle = lesson.witnesses if lesson.private else ()
    content, quote = part.text, ""
    if part.preference and lesson.user_name:
        told = language.get().in_third_person(part.text, lesson.user_name)
        content, quote = (told, part.text) if told else (part.text, "")
    expires = None
    if part.memory_type == WORKING:
        lasts = timedelta(seconds=conf.WORKING_MEMORY_SECONDS)
        expires = (datetime.fromisoformat(lesson.now) + lasts).isoformat(timespec="milliseconds")
    memory = MemoryRecord(
        id=memory_id_for(lesson.agent_id, RECORD, lesson.user or "", part.text, *circle),
        content=content,
        key=part.text,
        quote=quote,
        record=RECORD,
        memory_type=part.memory_type,
        about=lesson.user,
        speaker=lesson.user_name,
        session_id=lesson.session_id,
        source_trust=conf.TRUST["direct"],
        private=lesson.private,
        witnesses=lesson.witnesses,
        created_at=lesson.now,
        last_accessed=lesson.now,
        valid_from=lesson.now,
        expires_at=expires,
    )
    return Draft(memory, place, part.preference)


def learn(lesson: Lesson, chunks: list[Chunk], others: np.ndarray) -> tuple[list[Draft], list[str]]:
    """Embed and weigh some chunks, and store those of their memories that are no preference.
    Returns all drafts of the chunks, and the ids of new memories."""
    texts = [chunk.text for chunk in chunks]
    keys = [draft.memory.key for chunk in chunks for draft in chunk.drafts]
    vectors = embedder.shared().encode(texts + keys)
    weights = weigh(texts, vectors[: len(texts)], others, lesson.known_names)
    of_keys = iter(vectors[len(texts) :])
    drafts = [
        replace(
            draft,
            memory=replace(draft.memory, importance=weight, memory_weight=weight),
            vector=next(of_keys),
            kept=chunk.known or weight >= conf.DISCARD_BELOW,
        )
        for chunk, weight in zip(chunks, weights, strict=True)
        for draft in chunk.drafts
    ]
    return drafts, write(lesson, [d for d in drafts if d.kept and d.preference is None])


def weigh(
    texts: list[str], vectors: np.ndarray, others: np.ndarray, known_names: tuple[str, ...] = ()
) -> list[float]:
    """Importance 0-1 of each text: 0.6 novelty + 0.4 salience [C §1.5].

    Novelty is the cosine distance to what is known through the person; 1 if that is nothing.

    Args:
        vectors: Embeddings of the texts, of unit length.
        others: What is known already, as `known_through` returns it.
        known_names: Names of people of the game, which count as named entities in any case.
    """
    found = [language.get().salience(text, known_names, taught=True) for text in texts]
    length = float(np.linalg.norm(others))
    new = np.clip(1.0 - vectors @ others / length, 0.0, 1.0) if length else np.ones(len(texts))
    return [
        round(float(conf.NOVELTY_SHARE * novel + conf.SALIENCE_SHARE * salient), 4)
        for salient, novel in zip(found, new, strict=True)
    ]


def known_through(agent_id: str, person: str | None, but: Collection[str] = ()) -> np.ndarray:
    """Return the sum of the unit vectors of what an NPC knows through a person: what was taught
    about them, and what they said.

    Args:
        person: A memory identity; None for what was taught about nobody in particular.
        but: Ids of memories to leave out.

    Returns:
        Shape (dimensions,), which has the direction of their mean; zeros without any.
    """
    store = memory_store.shared()
    where = {"user_id": person} if person else {"record": RECORD}
    ids = [
        memory_id
        for memory_id, payload in store.every_row(filters_of(agent_id, where), KNOWN_AT_MOST)
        if payload.get("record") in ("entry", RECORD)
        and (payload.get("user_id") or None) == person
        and NO_EVIDENCE.isdisjoint(payload.get("tags", ()))
        and memory_id not in but
    ]
    total = np.zeros(embedder.shared().dimensions)
    return sum(map(np.asarray, store.line_vectors(ids).values()), total) if ids else total


def write(lesson: Lesson, drafts: Sequence[Draft]) -> list[str]:
    """Store memories in one batch; known ones stay unchanged. Returns the ids of new ones."""
    unique = list({draft.memory.id: draft for draft in drafts}.values())
    if not unique:
        return []
    memories = components.completed([draft.memory for draft in unique])
    vectors = np.stack([draft.vector for draft in unique if draft.vector is not None])
    return list(memory_store.shared().insert_new(lesson.agent_id, memories, vectors))


def finish(lesson: Lesson, preferred: list[Draft], superseded: list[End]) -> list[str]:
    """Store the preferences, and retire what they replace. Returns the ids of new memories."""
    new = write(lesson, preferred)
    preference_slots.retire(lesson.agent_id, superseded)
    return new


# --- cleaning -------------------------------------------------------------------------------------

_LINE_BREAKS = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
# Cc control characters, Cs lone surrogates, which no database takes
_DROPPED = frozenset({"Cc", "Cs"})


def cleaned(text: str) -> str:
    """Clean a text [C §1.2]: stripped, in NFC, at most one blank line in a row.

    Indentation, formatting marks and code stay. Control characters are removed, and `<memory>`
    blocks too: what was injected into a prompt is not learned again (DESIGN §5).
    """
    text = _TERMINAL_CODES.sub("", _LINE_BREAKS.sub("\n", text))
    text = "".join(
        char for char in text if char in "\n\t" or unicodedata.category(char) not in _DROPPED
    )
    text = unicodedata.normalize("NFC", without_injected(text))
    return _BLANK_LINES.sub("\n\n", text).strip()
