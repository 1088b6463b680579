"""The persona sheet: what builders gave an NPC, from which it answers for itself and its place.

Description, persona, voice, goals and direction are Attributes (`ATTRIBUTES`); sentences and texts
are memories like others, but looked for by themselves: hundreds of lines of talk may be nearer to
a question than the one sentence that a builder gave for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .. import language
from ..embedding import embedder
from ..embedding.model import ModelAway
from ..privacy import may_hear
from ..records import BUILDER, LineInTalk, LineReading, MemoryRecord
from ..store import memory_store

ATTRIBUTES = {  # by field
    "description": "desc",
    "persona": "persona",
    "voice": "voice",
    "goals": "goals",
    "direction": "direction",
}
OWN = ("description", "persona", "goals")  # fields whose sentences are the NPC's matter
NOTES = 16  # sentences of builders that are nearest to a question
TEXTS = 8  # pieces of taught texts that are


def given(
    agent_id: str, question: str, listeners: tuple[str, ...], now: str
) -> tuple[MemoryRecord, ...]:
    """Return what builders gave an NPC that is nearest to a question, holds at a time, ISO 8601,
    and that the listeners may hear (worker thread)."""
    try:
        vector = embedder.shared().encode([question])[0]
    except ModelAway:
        return ()
    store = memory_store.shared()
    found = [
        *store.nearest(agent_id, vector, NOTES, tags=BUILDER),
        *store.nearest(agent_id, vector, TEXTS, record="taught"),
    ]
    return tuple(
        each.memory
        for each in found
        if may_hear(each.memory.private, each.memory.witnesses, listeners)
        and not (each.memory.outranked or each.memory.invalid_at)
        and not (each.memory.expires_at and each.memory.expires_at <= now)
    )


def nearness(said: str, texts: Iterable[str]) -> float:
    """Return how near a line is to what an NPC knows (worker thread): the cosine with the nearest
    sentence, less that of `Language.any_lines`, which is higher the more there is in the texts."""
    split, lines = language.get().sentences, (line for text in texts for line in text.splitlines())
    sentences = {each for line in lines for each in split(line) if " " in each.strip()}
    if not sentences:
        return 0.0
    spoken = [said, *language.get().any_lines]
    try:
        vectors = embedder.shared().encode([*spoken, *sorted(sentences)])
    except ModelAway:
        return 0.0
    first = len(spoken)
    nearest = (vectors[:first] @ vectors[first:].T).max(axis=1)
    return float(nearest[0] - nearest[1:].sum() / max(1, first - 1))


def field_of(npc: Any, name: str) -> str:
    """Return a field of an NPC's sheet, "" where nobody wrote one."""
    return str(npc.attributes.get(ATTRIBUTES[name], default="") or "")


def as_told(npc: Any, text: str) -> list[str]:
    """Return the sentences of a text that a builder gives an NPC as it tells them."""
    described = [field_of(npc, name) for name in ("persona", "description")]
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return language.get().own_sentences(lines, (npc.key, *npc.aliases.all()), described)


def read_line(
    heard: LineInTalk, agent_id: str, own: Iterable[str], listeners: tuple[str, ...], now: str
) -> LineReading | None:
    """Read what is done with a line, for whom, and how near it is to what the NPC knows.

    For attention, where the bundled embedding model is installed (worker thread). `own` is what
    the sheet says of it (`OWN`).
    """
    said = heard.line.text
    found = given(agent_id, said, listeners, now)
    read = language.get().read(heard, found)
    told = (each.content for each in found)
    return read and replace(read, known=nearness(said, (*own, *told)))
