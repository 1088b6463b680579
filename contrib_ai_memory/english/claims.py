"""Claims: whether a sentence tells something."""

from __future__ import annotations

import re

from .addressing import hushes
from .questions import asks
from .reported_speech import speaks_of_self
from .tokens import FILLERS

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")
_GREETS = re.compile(
    r"^\W*(?:hello|hi|hey|greetings|good (?:morning|day|evening|afternoon|night|luck|job|for you)|"
    r"well met|hail|thanks|thank you|welcome|congrat\w*|cheers|sorry|farewell|good ?bye|see you|"
    r"way to go|well done|have (?:a|fun))\b",
    re.IGNORECASE,
)


def tells(sentence: str) -> bool:
    """Whether a sentence is more than a question, a greeting, filler or a plea to keep quiet."""
    if asks(sentence) or hushes(sentence) or _GREETS.match(sentence):
        return False
    words = [word.lower().replace("’", "'") for word in _WORD.findall(sentence)]
    telling = sum(word not in FILLERS for word in words)
    return telling >= 2 or (telling > 0 and speaks_of_self(sentence) and len(words) >= 3)


def is_idle(sentence: str) -> bool:
    """Whether a sentence only greets, fills or asks to keep quiet, and holds nothing to tell.

    >>> [is_idle(each) for each in ("Good morning to you all.", "Oh well.", "Plums.", "No.")]
    [True, True, False, False]
    """
    if tells(sentence) or asks(sentence):
        return False
    if hushes(sentence) or _GREETS.match(sentence):
        return True
    words = {word.lower() for word in _WORD.findall(sentence)}
    return words <= FILLERS - _ANSWERS


_ANSWERS = frozenset("no yes nope yep yeah aye nay ok okay".split())
