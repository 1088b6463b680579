"""Importance of a percept at the moment it is heard: the heuristic of [A] plus its content."""

from __future__ import annotations

import math

from .. import language
from ..records import Percept
from ..text.segmentation import WORD

BASE = 2
DIRECT_MESSAGE = 3
MENTION = 2
ENVIRONMENTAL = -1


def heuristic_importance(
    percept: Percept, keywords: tuple[str, ...], sender_bonus: int, *, by_content: bool = True
) -> int:
    """Importance 1-10 of a percept: how it was said [A] and, by `Language.importance`, what.

    Args:
        keywords: Words of the game and the NPC that add 1 each.
        sender_bonus: 0-2, by how well the NPC knows the sender.
        by_content: Whether what was said counts at once; [A] judges that at night only.
    """
    score = BASE + sender_bonus
    score += DIRECT_MESSAGE * percept.addressed + MENTION * percept.mentioned
    words = set(WORD.findall(percept.content.lower()))
    score += sum(keyword.lower() in words for keyword in keywords)
    if percept.source_type == "environmental":
        score += ENVIRONMENTAL
    return clamp(score + language.get().importance(percept.content) if by_content else score)


def clamp(score: float) -> int:
    """Round half up to a whole number 1-10 (`round` would take 2.5 and 1.5 both to 2)."""
    return max(1, min(10, math.floor(score + 0.5)))
