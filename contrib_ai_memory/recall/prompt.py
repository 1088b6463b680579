"""The <memory> block, exactly as [C §4] has it. Content is data: it cannot end it."""

from __future__ import annotations

from ..records import MemoryRecord
from ..text.clean import neutralise

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
