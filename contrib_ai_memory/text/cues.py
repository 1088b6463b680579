"""What a line looks like to recall, whatever it says: does it tell a time, how long.

Measured once when a memory is stored; a question is looked at when it is asked. English.
"""

from __future__ import annotations

import math
import re

LONG_WORDS = 40  # a line of this many words is a long one

_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|since|recently|just|soon|morning|night"
    r"|few days|the other day|weeks?|weekends?|months?|years?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|january|february|march|april|june|july|august|september|october|november|december"
    r"|(?:in|of|on) may|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_OF_ASKING = re.compile(
    r"\b(?:ask(?:s|ed|ing)?|questions?|inquir\w+|wonder\w*|wants? to know|wanted to know)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:date|day|week|month|year|season|time)\b",
    re.IGNORECASE,
)
# "tell me" and "where can I find" ask, and are not about whoever asks
_OF_ONESELF = re.compile(
    r"\b(?:my|mine|myself|our|ours)\b|\b(?:about|know|of|remember) (?:me|us)\b"
    r"|\b(?:do|did|am|was|have|had) (?:i|we)\b"
    r"|\b(?:i|we) (?:said|told|mentioned|like|love|hate|prefer|promised|asked)\b",
    re.IGNORECASE,
)


def length(text: str) -> float:
    """How much a text holds, 0-1: the logarithm of its words, 1 at forty."""
    return min(1.0, math.log1p(len(text.split())) / math.log1p(LONG_WORDS))


def asks_of_asking(question: str) -> bool:
    """Whether it is about what somebody asked: "what did Bram want to know?"."""
    return bool(_OF_ASKING.search(question))


def tells_time(text: str) -> bool:
    """Whether a text has a word of time in it: yesterday, last, May, 1998 …"""
    return bool(_TIME.search(text))


def asks_when(question: str) -> bool:
    return bool(_WHEN.search(question))


def speaks_of_self(question: str) -> bool:
    """Whether a question is about whoever asks it, as in "where is my brother"."""
    return bool(_OF_ONESELF.search(question))
