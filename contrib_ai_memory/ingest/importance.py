"""How much a thing matters at the moment it is heard: the heuristic of [A]."""

from __future__ import annotations

import re

from ..records import Percept

BASE = 2
DIRECT_MESSAGE = 3
MENTION = 2
ENVIRONMENTAL = -1

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def heuristic_importance(percept: Percept, keywords: tuple[str, ...], sender_bonus: int) -> int:
    """Importance at once, 1-10 [A].

    Args:
        percept: What was perceived.
        keywords: Words that add one each (the game's and the NPC's own).
        sender_bonus: 0-2, from what the NPC knows of the sender.
    """
    score = BASE + sender_bonus
    score += DIRECT_MESSAGE * percept.addressed + MENTION * percept.mentioned
    words = {word.lower() for word in _WORD.findall(percept.content)}
    score += sum(keyword.lower() in words for keyword in keywords)
    if percept.source_type == "environmental":
        score += ENVIRONMENTAL
    return clamp(score)


def clamp(score: float) -> int:
    """To the whole numbers 1-10."""
    return max(1, min(10, round(score)))
