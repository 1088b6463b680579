"""The token budget [C §2.6]: preferences first within their share, then the best that fit.

What is counted is the content of a memory, as the source has it. Its tag, its date and its speaker
in the prompt block are some fifteen tokens more for each memory (docs/adr/013).

The <memory> block, exactly as [C §4] has it. Content is data: it cannot end it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..english.contradiction import says_the_same
from ..records import MemoryRecord, Recalled, ScoreParts
from ..text.sanitising import neutralise

PROCEDURAL_SHARE = 0.25  # preferences get at most this much of the budget, outside top_k
SAME_WORDS = 0.8  # two memories that share this much of their words are copies

_WORDS = re.compile(r"\w+")

Scored = tuple[MemoryRecord, ScoreParts, int]  # with the tokens of its content


class BudgetExceeded(ValueError):
    """Not even the smallest of the memories fits into the token budget.

    Attributes:
        needed: Tokens of the smallest.
        token_budget: Tokens there were.
    """

    def __init__(self, needed: int, token_budget: int):
        super().__init__(
            f"A token budget of {token_budget} holds no memory: the smallest that came to mind "
            f"takes {needed}. Ask with a larger token_budget (RECALL_TOKENS in the settings)."
        )
        self.needed = needed
        self.token_budget = token_budget


def fill(
    preferences: Iterable[Scored],
    memories: Iterable[Scored],
    *,
    top_k: int,
    token_budget: int,
    give_way: bool = True,
) -> list[Recalled]:
    """Choose what fits, skipping what does not, and near-copies of what is in.

    Args:
        preferences: Those of the one who is spoken with, best first; they come first, within a
            quarter of the budget, and take no place of `top_k`.
        memories: Everything, best first, read no further than needed.
        give_way: Whether what is compressed gives way to its summary, where that is in.

    Raises:
        BudgetExceeded: There are memories, and not even the smallest fits.
    """
    filling = _Filling(give_way)
    for scored in preferences:
        filling.take(*scored, within=int(PROCEDURAL_SHARE * token_budget))
    bound = top_k + len(filling.chosen)
    for scored in memories:
        if len(filling.chosen) >= bound:
            break
        filling.take(*scored, within=token_budget)
    if filling.smallest_refused and not filling.chosen:
        raise BudgetExceeded(filling.smallest_refused, token_budget)
    return filling.chosen


class _Filling:
    """What is chosen so far, and what it costs."""

    def __init__(self, give_way: bool):
        self._give_way = give_way
        self.chosen: list[Recalled] = []
        self.smallest_refused = 0
        self._spent = 0
        self._words: list[frozenset[str]] = []

    def take(self, memory: MemoryRecord, parts: ScoreParts, tokens: int, within: int) -> None:
        words = frozenset(_WORDS.findall(memory.content.lower()))
        if any(
            _copies(memory, words, other.memory, theirs)
            or (self._give_way and _summarised(memory, other.memory))
            for other, theirs in zip(self.chosen, self._words, strict=True)
        ):
            return
        if self._spent + tokens > within:
            self.smallest_refused = min(self.smallest_refused or tokens, tokens)
            return
        self.chosen.append(Recalled(memory, parts, tokens))
        self._words.append(words)
        self._spent += tokens


def _summarised(memory: MemoryRecord, other: MemoryRecord) -> bool:
    """Whether `other` is the summary that stands for `memory` [C §3]."""
    same = memory.session_id == other.session_id and memory.audience == other.audience
    return memory.compressed and other.compression_source and same


def _copies(
    memory: MemoryRecord, words: frozenset[str], other: MemoryRecord, others: frozenset[str]
) -> bool:
    """The same memory, the same words, or two tellings of one and the same journal entry."""
    if memory.id == other.id:
        return True
    if len(memory.journal_ids) == 1 and memory.journal_ids == other.journal_ids:
        return True
    if len(words & others) < SAME_WORDS * max(len(words | others), 1):
        return False
    # a denial shares nearly all words with what it denies
    return says_the_same(memory.content, other.content)


# --- prompt ---------------------------------------------------------------------------------------

WORDS_OF_SOMEBODY = ("entry", "taught")


def block(memories: list[MemoryRecord]) -> str:
    """The memories as the prompt has them, one line each; no memories give an empty string."""
    if not memories:
        return ""
    return "\n".join(["<memory>", *map(line, memories), "</memory>"])


def line(memory: MemoryRecord) -> str:
    """`[SEMANTIC] text`, and `[EPISODIC] 2026-03-02: text` with the day it happened."""
    text = spoken(memory)
    if memory.memory_type == "episodic" and memory.created_at:
        text = f"{memory.created_at[:10]}: {text}"
    return f"[{memory.memory_type.upper()}] {text}"


def spoken(memory: MemoryRecord) -> str:
    """What is remembered, with its speaker where the words are somebody's, made harmless."""
    content = neutralise(memory.content)
    if memory.record in WORDS_OF_SOMEBODY and memory.key != memory.content and memory.speaker:
        return f"{neutralise(memory.speaker)} said: {content}"
    return content
