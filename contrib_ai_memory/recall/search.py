"""Recall: what an NPC brings to mind for one question, for those who listen [B §3, C §2].

Two steps on the memory worker thread, over plain data: `find` the candidates, `choose` among them
and what they are linked with. Between the two the reactor thread looks up the links (`bringing`).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..conf import CANDIDATES_PER_RESULT, FORGOTTEN_BELOW
from ..embedding import embedder, reranker
from ..english import questions
from ..records import RecallResult, may_hear
from ..store import facts
from ..store.links import link_id
from ..store.payload import Candidate, PointId
from . import budget, rank
from .rank import Ranked

LANE_DEPTH = 30  # the best of each lane that become candidates, at least
LINKED_FROM = 5  # the best so many bring in what they are linked with, one hop
RERANKED = 4  # times top_k that a cross-encoder reads


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a memory.

    Attributes:
        named: (identity, name as written) of those whom the question names.
        preferences: Ids of what the one who asks prefers: it comes up whatever was asked [C §2.6].
        who: Identities whose own words are favoured: those named, or the one who asks.
        listeners: Identities of all who will hear; None looks from outside the game.
        profile: One of `rank.PROFILES`.
        only_emotions: Nothing but what shares one of `emotions`.
        reranker: Directory or name of a cross-encoder; None is none.
    """

    agent_id: str
    query: str
    now: str
    listeners: tuple[str, ...] | None = None
    top_k: int = 5
    token_budget: int = 2000
    memory_types: tuple[str, ...] | None = None
    include_compressed: bool = False
    emotions: tuple[str, ...] = ()
    only_emotions: bool = False
    without_entries: frozenset[int] = frozenset()
    named: tuple[tuple[str, str], ...] = ()
    who: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    profile: str = "relevance"
    reranker: str | None = None
    weights: rank.Weights | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A question as the store was asked it, and what may be told of all that came up."""

    question: Question
    search: facts.Search
    ranked: list[Ranked]

    def best_links(self) -> list[str]:
        """What the best are linked under."""
        return [link_id(each.candidate) for each in self.ranked[:LINKED_FROM]]


def recall(question: Question) -> RecallResult:
    """The memories that answer best, within the token budget; links are not followed.

    Raises:
        StoreInUse, StoreMismatch: The store cannot be opened; the message says what to do.
        BudgetExceeded: Something came to mind, and not even the smallest of it fits.
    """
    return choose(find(question))


def find(question: Question) -> Found:
    """Candidates by meaning and by words: what only its words betray must be able to enter."""
    store = facts.shared()
    words = searched(question)
    search = store.search(question.agent_id, embedder.shared().encode([words])[0], words)
    where = _where(question)
    depth = max(LANE_DEPTH, question.top_k * CANDIDATES_PER_RESULT)
    ids = store.candidates(search, depth, **where)
    ids.update(map(uuid.UUID, question.preferences))
    candidates = _tellable(store, question, search, ids)
    if question.listeners and len(candidates) < depth <= len(ids):
        # secrets of others, or what was asked before, may have crowded out the rest; asking the
        # store for neither costs three times more
        where["listener"] = question.listeners[0]
        if not questions.asks_of_asking(question.query):
            where["tells"] = "something"
        ids |= store.candidates(search, depth, **where)
        candidates = _tellable(store, question, search, ids)
    return Found(question, search, _ranked(question, candidates))


def choose(found: Found, linked: Collection[str] = ()) -> RecallResult:
    """What is told of it, with what it is linked with.

    Args:
        linked: Ids of memories that may not have come up themselves.
    """
    question, ranked = found.question, found.ranked
    if more := set(linked) - {each.candidate.id for each in ranked}:
        candidates = [each.candidate for each in ranked]
        candidates += _tellable(facts.shared(), question, found.search, more)
        ranked = _ranked(question, candidates)
    if question.reranker:
        ranked = _reread(question, ranked)
    preferences = [each for each in ranked if each.candidate.id in question.preferences]
    chosen = budget.fill(
        _loaded(question, preferences),
        _loaded(question, ranked),
        top_k=question.top_k,
        token_budget=question.token_budget,
        give_way=not question.include_compressed,
    )
    tokens = sum(recalled.tokens for recalled in chosen)
    return RecallResult(
        memories=tuple(chosen),
        total_tokens=tokens,
        budget_used=tokens / question.token_budget,
        prompt_block=budget.block([recalled.memory for recalled in chosen]),
    )


def searched(question: Question) -> str:
    """The question without the one name that it has: that person's words are favoured anyway.

    With two names or none it stays whole.
    """
    if len({identity for identity, _name in question.named}) != 1:
        return question.query
    name = question.named[0][1]
    rest = re.sub(rf"\b{re.escape(name)}\b(?:['’]s)?", "", question.query, flags=re.IGNORECASE)
    rest = re.sub(r"\s+([?.,!])", r"\1", " ".join(rest.split()))
    return rest if re.search(r"\w", rest) else question.query


def may_be_told(memory: Candidate, question: Question) -> bool:
    """The filters of DESIGN §5.3, privacy above all."""
    if not may_hear(memory.private, memory.witnesses, question.listeners):
        return False
    if memory.importance < FORGOTTEN_BELOW or memory.invalid_at or memory.superseded_by:
        return False
    if memory.expires_at and memory.expires_at <= question.now:
        return False
    if question.listeners is not None and _asks_only(memory, question):
        return False
    if question.only_emotions and not set(question.emotions) & set(memory.dominant_emotions):
        return False
    if question.memory_types and memory.memory_type not in question.memory_types:
        return False
    return not (memory.journal_ids and set(memory.journal_ids) <= question.without_entries)


def _asks_only(memory: Candidate, question: Question) -> bool:
    """Whether it is nothing but a question. Players ask the same again and again: what they asked
    before would take the places of what answers it."""
    return memory.tells == "nothing" and not questions.asks_of_asking(question.query)


def _where(question: Question) -> dict[str, Any]:
    """What the store itself looks for nothing else than."""
    where: dict[str, Any] = {}
    if question.only_emotions:
        where["dominant_emotions"] = {"in": list(question.emotions)}
    if question.memory_types:
        where["memory_type"] = {"in": list(question.memory_types)}
    return where


def _tellable(
    store: facts.FactStore, question: Question, search: facts.Search, ids: Collection[PointId]
) -> list[Candidate]:
    candidates = store.weighed(search, ids)
    return [candidate for candidate in candidates if may_be_told(candidate, question)]


def _ranked(question: Question, candidates: Sequence[Candidate]) -> list[Ranked]:
    return rank.score(
        candidates,
        rank.Asked.of(question.query, question.who, question.now),
        now=question.now,
        profile=question.profile,
        emotions=question.emotions,
        weights=question.weights,
    )


def _reread(question: Question, ranked: list[Ranked]) -> list[Ranked]:
    """The best of them read by a cross-encoder, the rest behind them."""
    first, rest = ranked[: question.top_k * RERANKED], ranked[question.top_k * RERANKED :]
    texts = [budget.spoken(each.candidate.whole()) for each in first]
    verdicts = reranker.scores(question.reranker, question.query, texts)
    return rank.reranked(first, verdicts) + rest


def _loaded(question: Question, ranked: list[Ranked]) -> Iterator[budget.Scored]:
    """The memories whole, one after the other: most are never looked at."""
    for each in ranked:
        memory = each.candidate.whole()
        tokens = each.candidate.tokens or embedder.shared().count_tokens(memory.content)
        yield memory, each.parts(question.now, question.emotions), tokens
