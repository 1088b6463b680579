"""The token budget [C §2.6] and the <memory> block [C §4].

Preferences that bear on the question come first, within their share of the budget, then the best
memories that fit. Only the contents are counted, as in the source; tags, dates and speakers in the
block are some fifteen tokens more for each memory (docs/adr/013).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date

from .. import language
from ..errors import InputError
from ..local_time import day_of
from ..records import BUILDER, OWN, MemoryRecord, Recalled, RecallRequest, ScoreParts
from ..text.sanitising import neutralise

PROCEDURAL_SHARE = 0.25  # of the budget, for preferences; they do not count for top_k
SAME_WORDS = 0.8  # share of common words that makes two memories copies
IN_CONFIDENCE = "(in confidence) "  # before what is private, in a prompt
HAPPENED = ("entry", "experience", "summary")  # records of a day; others are known
WORDS_OF_A_SPEAKER = ("entry", "taught")  # records whose content is shown with its speaker

_WORDS = re.compile(r"\w+")
_HEADING = re.compile(r"^#+[ \t]*(?P<words>[^\n]+?)[ \t:]*\n+", re.MULTILINE)

Loaded = tuple[MemoryRecord, ScoreParts]
# the tokens of a memory's content, and what loads it, None if it is gone meanwhile: most of what is
# found does not fit any more
Scored = tuple[int, Callable[[], Loaded | None]]


class BudgetExceeded(InputError):
    """Not even the smallest memory, of `needed` tokens, fits into the token budget."""

    def __init__(self, needed: int, token_budget: int):
        super().__init__(
            f"A token budget of {token_budget} holds no memory: the smallest that was found takes "
            f"{needed}. Give a larger token_budget (RECALL_TOKENS in the settings)."
        )
        self.needed = needed
        self.token_budget = token_budget


def fill(
    preferences: Iterable[Scored], memories: Iterable[Scored], request: RecallRequest
) -> list[Recalled]:
    """Choose memories that fit the budget, best first, skipping those that do not and near-copies.

    Preferences come first, within a quarter of the budget and outside `top_k` (`by_sources`: within
    the whole budget and `top_k`). Memories are read no further than needed.

    Raises:
        BudgetExceeded: There are memories, and not even the smallest fits (not `by_sources`).
    """
    chosen: list[Recalled] = []
    words_of: list[frozenset[str]] = []  # the chosen
    used, refused = 0, list[int]()  # tokens
    most = float(request.top_k) if request.by_sources else math.inf
    share = 1.0 if request.by_sources else PROCEDURAL_SHARE
    for scored, limit in (
        (preferences, int(share * request.token_budget)),
        (memories, request.token_budget),
    ):
        for tokens, load in scored:
            if len(chosen) >= most:
                break
            if used + tokens > limit:
                refused.append(tokens)
                continue
            if (loaded := load()) is None:
                continue
            memory, parts = loaded
            words = frozenset(_WORDS.findall(memory.content.lower()))
            if any(
                _is_copy(memory, words, other.memory, others)
                or (not request.include_compressed and _is_summarised(memory, other.memory))
                for other, others in zip(chosen, words_of, strict=True)
            ):
                continue
            chosen.append(Recalled(memory, parts, tokens))
            words_of.append(words)
            used += tokens
        most = request.top_k + (0 if request.by_sources else len(chosen))
    if refused and not chosen and not request.by_sources:
        raise BudgetExceeded(min(refused), request.token_budget)
    return chosen


def _is_summarised(memory: MemoryRecord, other: MemoryRecord) -> bool:
    """Return whether `other` is the summary of `memory` [C §3]."""
    same = memory.session_id == other.session_id and memory.audience == other.audience
    return memory.compressed and other.compression_source and same


def _is_copy(
    memory: MemoryRecord, words: frozenset[str], other: MemoryRecord, others: frozenset[str]
) -> bool:
    """Return whether two memories have one id or nearly the same words."""
    if memory.id == other.id:
        return True
    if len(words & others) < SAME_WORDS * max(len(words | others), 1):
        return False
    # a denial shares nearly all words with what it denies
    return language.get().says_the_same(memory.content, other.content)


def prompt_block(memories: list[MemoryRecord], *, by_sources: bool = False) -> str:
    """Return the <memory> block, one line a memory; empty without memories.

    What is known comes first, then what was heard and seen, each under its days, the newest last;
    `by_sources` in the order given, with tags and without who said it [C §4]. Content is data:
    nothing in it can end the block.
    """
    if not memories:
        return ""
    lines = map(_tagged, memories) if by_sources else _under_days(memories)
    return "\n".join(["<memory>", *lines, "</memory>"])


def _tagged(memory: MemoryRecord) -> str:
    """Return `[SEMANTIC] text`, or `[EPISODIC] 2026-03-02: text` with the day it happened."""
    text = _until(memory, IN_CONFIDENCE * memory.confided + neutralise(memory.content))
    if memory.memory_type == "episodic" and memory.created_at:
        text = f"{day_of(memory.created_at)}: {text}"
    return f"[{memory.memory_type.upper()}] {text}"


def _under_days(memories: Iterable[MemoryRecord]) -> Iterator[str]:
    """Yield headings of days and the memories under them."""
    told = sorted(memories, key=lambda each: (_happened(each), each.created_at))
    heading = ""
    for memory in told:
        dated = _happened(memory) or memory.record == "fact"
        day = day_of(memory.created_at) if dated else ""
        known = "" if _happened(memory) else "Known since "
        under = f"{known}{date.fromisoformat(day):%A} {day}:" if day else "Known:"
        if under != heading:
            yield under
        heading = under
        yield _until(memory, text_with_speaker(memory))


def _happened(memory: MemoryRecord) -> bool:
    """Whether a memory is of a day; what a builder notes holds at any time."""
    return memory.record in HAPPENED and BUILDER not in memory.tags


def _until(memory: MemoryRecord, text: str) -> str:
    """Mark what is over; a fact that tells what was may have been shown to be untrue."""
    if memory.held_until:
        return f"{text} (until {day_of(memory.held_until)})"
    if memory.invalid_at and memory.record == "fact":
        return f"{text} (no longer so since {day_of(memory.invalid_at)})"
    return text


def text_with_speaker(memory: MemoryRecord) -> str:
    """Return the neutralised content, with its speaker if the words are somebody's or its own."""
    content = neutralise(_HEADING.sub(r"\g<words>: ", memory.content))
    has_speaker = memory.record in WORDS_OF_A_SPEAKER and memory.speaker
    if has_speaker and memory.key != memory.content:
        speaker = "You" if OWN in memory.tags else neutralise(memory.speaker)
        return f"{speaker} said{' in confidence' if memory.confided else ''}: {content}"
    return IN_CONFIDENCE * memory.confided + content
