"""Recall as the reactor thread sees it: whom a question names, and what the best is linked with."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..embedding.emotions import known
from ..english import questions
from ..records import RecallResult
from ..store.errors import StoreHeld
from ..store.evidence import EvidenceGone
from ..store.links import linked_memory_id
from ..text.sanitising import sanitise
from . import search as recalling
from .search import Question

PREFERENCES_TOLD = 8
LINKS_FOLLOWED = 20  # the strongest, over all that they start from


@defer.inlineCallbacks
def recall(
    memory: Any,
    query: str,
    *,
    listeners: tuple[str, ...] | None,
    top_k: int | None = None,
    token_budget: int | None = None,
    memory_types: Sequence[str] | None = None,
    emotions: Sequence[str] = (),
    without_entries: Sequence[int] = (),
    profile: str | None = None,
    priority: int = offload.REPLY,
    **more: Any,
) -> Generator[Any, Any, RecallResult]:
    """`MemoryHandler.recall`, which tells of the arguments; what is new is indexed first."""
    settings = conf.get()
    # a line that is forgotten just now comes to mind no more; where the store takes no writes, what
    # is known is found all the same
    with suppress(EvidenceGone, StoreHeld):
        yield memory.index_newest(priority)
    question = Question(
        agent_id=memory.id,
        query=sanitise(query, settings.MAX_LINE),
        now=memory.clock(),
        listeners=listeners,
        top_k=top_k or settings.RECALL_TOP_K,
        token_budget=token_budget or settings.RECALL_TOKENS,
        memory_types=tuple(memory_types) if memory_types else None,
        emotions=tuple(emotions),
        without_entries=frozenset(without_entries),
        profile=profile or settings.RECALL_PROFILE,
        reranker=settings.RERANKER,
        **more,
    )
    result = yield bring_to_mind(memory, question, priority)
    return result


@defer.inlineCallbacks
def recall_emotion(
    memory: Any,
    emotions: Sequence[str],
    query: str,
    *,
    speaker: str | None = None,
    listeners: Sequence[str] = (),
    **options: Any,
) -> Generator[Any, Any, RecallResult]:
    """`MemoryHandler.recall_emotion`: ranked by [B], whose score knows of emotions."""
    felt = known(emotions)
    result = yield recall(
        memory,
        query or ", ".join(felt),
        listeners=(speaker, *listeners) if speaker else None,
        emotions=felt,
        only_emotions=True,
        profile="salience",
        **options,
    )
    return result


@defer.inlineCallbacks
def bring_to_mind(
    memory: Any, question: Question, priority: int
) -> Generator[Any, Any, RecallResult]:
    """What comes to mind for a question, and what that is linked with, one hop.

    Args:
        memory: The NPC's MemoryHandler.
    """
    question = with_people(memory, question)
    if not memory.links.count:
        result = yield offload.run(offload.MEMORY, recalling.recall, question, priority=priority)
        return result
    found = yield offload.run(offload.MEMORY, recalling.find, question, priority=priority)
    linked = _linked(memory, found.best_links())
    result = yield offload.run(offload.MEMORY, recalling.choose, found, linked, priority=priority)
    return result


def with_people(memory: Any, question: Question) -> Question:
    """Whom a question names; one that names nobody and speaks of "me" means whoever asks it."""
    named = tuple(
        (identity, memory.people.name_of(identity))
        for identity in memory.people.mentioned(question.query)
    )
    who = tuple(identity for identity, _name in named)
    if not who and question.listeners and questions.asks_of_oneself(question.query):
        who = question.listeners[:1]
    return replace(question, named=named, who=who, preferences=_preferences(memory, question))


def _preferences(memory: Any, question: Question) -> tuple[str, ...]:
    """What the one who asks prefers, newest first, as far as all who listen may hear it."""
    if not question.listeners:
        return ()
    held = memory.preferences.of(question.listeners[0], question.listeners)
    return tuple(each.memory_id for each in held[:PREFERENCES_TOLD] if each.memory_id)


def _linked(memory: Any, starts: list[str]) -> list[str]:
    """The store's ids of what these are linked with, the strongest links first."""
    strength: dict[str, float] = {}
    for start in starts:
        for other, note in memory.links.of(start).items():
            strength[other] = max(strength.get(other, 0.0), note["score"])
    strongest = sorted(strength, key=lambda other: (-strength[other], other))
    return [linked_memory_id(memory.id, other) for other in strongest[:LINKS_FOLLOWED]]
