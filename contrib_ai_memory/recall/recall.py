"""Recall: what an NPC brings to mind for one question, for those who listen [B §3, C §2].

Runs on the memory worker thread, over plain data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..conf import CANDIDATES_PER_RESULT, FORGOTTEN_BELOW
from ..embedding import embedder
from ..records import MemoryRecord, RecallResult
from ..store import facts
from . import budget, prompt, rank
from .rank import Candidate

PREFERENCES_LOOKED_AT = 8


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a memory. `listeners` are identities; None looks from outside the game."""

    mind: str
    query: str
    now: str
    listeners: tuple[str, ...] | None = None
    top_k: int = 5
    token_budget: int = 2000
    memory_types: tuple[str, ...] | None = None
    include_compressed: bool = False
    emotions: tuple[str, ...] = ()
    without_entries: frozenset[int] = frozenset()


def recall(question: Question) -> RecallResult:
    """The memories that answer best, within the token budget.

    Raises:
        StoreInUse, StoreMismatch: The store cannot be opened; the message says what to do.
    """
    candidates = [c for c in find(question) if may_be_told(c.memory, question)]
    scored = rank.score(candidates, question.now, question.emotions)
    chosen = budget.fill(
        scored,
        top_k=question.top_k,
        token_budget=question.token_budget,
        count_tokens=embedder.shared().count_tokens,
    )
    tokens = sum(recalled.tokens for recalled in chosen)
    return RecallResult(
        memories=tuple(chosen),
        total_tokens=tokens,
        budget_used=tokens / question.token_budget,
        prompt_block=prompt.block([recalled.memory for recalled in chosen]),
    )


def find(question: Question) -> list[Candidate]:
    """Candidates by meaning and by words: what only its words betray must be able to enter."""
    store = facts.shared()
    mind, limit = question.mind, max(question.top_k * CANDIDATES_PER_RESULT, 20)
    # one listener is filtered in the store, so that secrets of others cannot crowd out the rest
    speaker = question.listeners[0] if question.listeners else None
    vector = embedder.shared().encode([question.query])[0]
    found: dict[str, Candidate] = {}

    dense = store.nearest(mind, vector, limit, listener=speaker)
    if speaker:
        dense += store.nearest(
            mind,
            vector,
            PREFERENCES_LOOKED_AT,
            listener=speaker,
            memory_type="procedural",
            user_id=speaker,
        )
    for hit in dense:
        found[hit.memory.id] = Candidate(hit.memory, dense=hit.score)
    by_words = store.by_words(mind, question.query, limit, listener=speaker)
    words_only = [hit.memory for hit in by_words if hit.memory.id not in found]
    for memory, cosine in zip(words_only, store.cosines(vector, words_only), strict=True):
        found[memory.id] = Candidate(memory, dense=cosine)
    for hit in by_words:
        found[hit.memory.id] = replace(found[hit.memory.id], keyword=hit.score)
    return list(found.values())


def may_be_told(memory: MemoryRecord, question: Question) -> bool:
    """The filters of DESIGN §5.3, privacy above all."""
    if question.listeners is not None and not memory.visible_to(question.listeners):
        return False
    if memory.importance < FORGOTTEN_BELOW or memory.invalid_at or memory.superseded_by:
        return False
    if memory.compressed and not question.include_compressed:
        return False
    if memory.expires_at and memory.expires_at <= question.now:
        return False
    if question.memory_types and memory.memory_type not in question.memory_types:
        return False
    return not (memory.journal_ids and set(memory.journal_ids) <= question.without_entries)
