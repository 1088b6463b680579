"""The token budget [C §2.6]: preferences first within their share, then the best that fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ..records import MemoryRecord, Recalled, ScoreParts
from . import prompt
from .rank import Candidate

PROCEDURAL_SHARE = 0.25  # preferences get at most this much of the budget, outside top_k
SAME_WORDS = 0.8  # two memories that share this much of their words are copies

_WORDS = re.compile(r"\w+")


def fill(
    scored: Iterable[tuple[Candidate, ScoreParts]],
    *,
    top_k: int,
    token_budget: int,
    count_tokens: Callable[[str], int],
) -> list[Recalled]:
    """Choose from `scored` (best first) what fits, skipping what does not and near-copies.

    Returns:
        At most `top_k` memories and, before them, the preferences that fit in their share.
    """
    first: list[Recalled] = []
    rest: list[Recalled] = []
    spent_first = spent = 0
    chosen: list[tuple[MemoryRecord, frozenset[str]]] = []
    for candidate, parts in scored:
        memory = candidate.memory
        procedural = memory.memory_type == "procedural"
        if not procedural and len(rest) >= top_k:
            continue
        words = frozenset(_WORDS.findall(memory.content.lower()))
        if any(_copies(memory, words, *other) for other in chosen):
            continue
        tokens = count_tokens(prompt.line(memory))
        if spent + tokens > token_budget:
            continue
        if procedural and spent_first + tokens <= PROCEDURAL_SHARE * token_budget:
            first.append(Recalled(memory, parts, tokens))
            spent_first += tokens
        elif len(rest) < top_k:
            rest.append(Recalled(memory, parts, tokens))
        else:
            continue
        chosen.append((memory, words))
        spent += tokens
    return first + rest


def _copies(
    memory: MemoryRecord, words: frozenset[str], other: MemoryRecord, others: frozenset[str]
) -> bool:
    """The same words, or two tellings of one and the same journal entry."""
    if len(memory.journal_ids) == 1 and memory.journal_ids == other.journal_ids:
        return True
    return len(words & others) >= SAME_WORDS * max(len(words | others), 1)
