"""How much a thing matters at the moment it is heard: the heuristic of [A], and what was said."""

from __future__ import annotations

import math
import re

from ..english.salience import content_importance
from ..records import Percept

BASE = 2
DIRECT_MESSAGE = 3
MENTION = 2
ENVIRONMENTAL = -1

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def heuristic_importance(percept: Percept, keywords: tuple[str, ...], sender_bonus: int) -> int:
    """Importance at once, 1-10: how it was said [A], and what, by `content_importance`.

    [A] leaves what was said to the night. Without it all talk that is not addressed to the NPC is
    alike until then, and for good where no language model weighs it again.

    Args:
        percept: What was perceived.
        keywords: Words that add one each (the game's and the NPC's own).
        sender_bonus: 0-2, from what the NPC knows of the sender.
    """
    score = BASE + sender_bonus
    score += DIRECT_MESSAGE * percept.addressed + MENTION * percept.mentioned
    score += _keywords_in(percept.content.lower(), keywords)
    if percept.source_type == "environmental":
        score += ENVIRONMENTAL
    return clamp(score + content_importance(percept.content))


def _keywords_in(lowered: str, keywords: tuple[str, ...]) -> int:
    likely = [word for keyword in keywords if (word := keyword.lower()) in lowered]
    if not likely:
        return 0  # the usual case, told from the others without taking the text apart
    words = set(_WORD.findall(lowered))
    return sum(keyword in words for keyword in likely)


def clamp(score: float) -> int:
    """To the whole numbers 1-10, halves upwards: `round` would take 2.5 and 1.5 both to 2."""
    return max(1, min(10, math.floor(score + 0.5)))
