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

_ANYONE = r"(?:any ?one|any ?body|a (?:living |single )?soul|no ?one|nobody|the others)\b"
_NOT_TO = (
    r"(?:do not|don'?t|never|not to|won'?t|will not|must not|mustn'?t|can ?not|can'?t) "
    r"(?:you |ever |dare |go ){0,2}(?:tell|telling|repeat|mention|breathe|whisper|say)\b"
)
_CONFIDES = re.compile(
    # "don't tell anyone", "never breathe a word of it to anybody"; not "I don't tell anyone"
    r"(?<!\bi )(?<!\bwe )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bwhy )"
    rf"\b{_NOT_TO}[^.!?\n]{{0,30}}?\b{_ANYONE}"
    r"|\btell (?:this |it |that )?(?:to )?(?:no ?one|nobody|not a soul)\b"
    # "not a word to the girl"; not "he said not a word"
    r"|(?:^|[.!?,;:-]\s*|\band |\bplease )not a word\b"
    r"(?: (?:about|of|to|please|now)\b|\s*(?:$|[.,!]))"
    r"|\bbetween (?:you and (?:me|i|us)|you n me|ourselves|the two of us|the three of us)\b"
    r"|\b(?:just|only|strictly|stays?|keep (?:it|this|that)) between us\b"
    r"|(?:^|[.!?,]\s*)between us\s*[.,:;-]|\bcan you keep a secret\b"
    r"|\bkeep (?:it|this|that|that one|what i \w+|my secret)(?: (?:all|strictly))?"
    r" (?:to|for) yoursel(?:f|ves)\b"
    r"|\bkeep (?:it|this|that) (?:a |our )?(?:secret|quiet|dark|under your hat)\b"
    r"|\bour little secret\b|\b(?:this|it|that)(?: is|'?s| stays| remains) our secret\b"
    r"|\bthis is (?:a |strictly |our )?(?:secret|confidential)\b"
    r"|\byou (?:did ?n'?t|never) hear (?:it|this|that) from me\b"
    r"|\byour ears (?:only|alone)\b"
    r"|\bin (?:strict |strictest )?confidence\b|\bstrictly confidential\b"
    r"|\b(?:no ?one|nobody) (?:else )?(?:must|may|can|should|is to|has to) (?:ever )?"
    r"(?:know|hear|find out|learn)\b"
    r"|\b(?:swear|promise)(?: me)?(?: that)?,? "
    r"(?:you (?:won'?t|will not|'?ll never|will never)|not to|never to) (?:ever )?tell\b",
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


def confides(text: str) -> bool:
    """Whether a speaker asks that what they say be kept: "don't tell anyone", "between you and me".

    >>> [confides(said) for said in ("Don't tell anyone: I am Dunstan.", "I don't tell anyone.")]
    [True, False]
    """
    return bool(_CONFIDES.search(text.replace("’", "'")))
