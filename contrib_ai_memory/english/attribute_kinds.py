"""Kinds of attributes: whether a sentence about somebody tells something that lasts.

Kin, trade, home, taste or another fact. Sentences are in the third person and begin with a name.
"""

from __future__ import annotations

import re

from .questions import asks_of_you
from .salience import signals_of
from .stated_preferences import stated
from .tokens import content_words, is_past

LEAST_WORDS = 3  # that say something, the name left out
A_TURN_OF_LIFE = 1.5  # importance of the words alone

_PLACE = re.compile(
    r"^(?:live|dwell|hail|come|stay|reside)s? (?:in|at|from|on|near|by)\b"
    r"|^(?:lived|was born|were born|grew up|was raised|moved) (?:in|at|from|to|near|here)\b"
    r"|^(?:home|house|village|town|hometown)\b",
    re.IGNORECASE,
)
# "keeps the ferry", "is a smith"
_TRADE = re.compile(
    r"^(?:keeps|runs (?:an?|the|their|his|her)|works|serves|trades|sells|farms|guards|brews|bakes|"
    r"teaches|commands|owns|leads|hunts|fishes|heals|writes|worked|served)\b"
    r"|^(?:is|was) (?:an?|the) ",
    re.IGNORECASE,
)
# "has two sons", "used to": what stays true
_LASTS = re.compile(
    r"^(?:has(?! (?:to|no idea|had|just|got|gotten|(?:\w+ )?been)\b)|belongs|used to|learn(?:ed|t)"
    r"|joined|married|inherited|founded|built|became|retired|survived|killed|lost|sold|bought"
    r"|hides|knows|speaks|is (?:from|called|named|known|allergic|good at|bad at|married|engaged)"
    r"|usually|often|never|always|doesn['’]t (?!know|think|want|see|care)|isn['’]t|is no)\b",
    re.IGNORECASE,
)
# what somebody does, thinks or wants at the moment, or may do
_PASSES = re.compile(
    r"^(?:(?:is|are|was|were) (?:just |still |so |not |now )*(?:\w+ing|about)"
    r"|will|would|can(?!(?:['’]t|not| not)? (?:stand|bear)\b)|could|may|might|shall|should|must"
    r"|did|do|won['’]t|wants?|feels?|felt|thinks?|thought|says?|said|asks?|asked|hopes?|needs?)\b",
    re.IGNORECASE,
)
# "painted this", "loves how it looks": of what, is not in the sentence
_OBJECT_UNRESOLVED = re.compile(
    r"^(?:[\w'’]+ ){1,2}(?:it|this|that|these|those|them|him|how|what)\b", re.IGNORECASE
)
_CLAIMED = re.compile(r" says: | claims that ")  # of whom they speak, they are no trait


def kind_of(sentence: str, name: str) -> str | None:
    """The type of attribute that a sentence about somebody states, or None.

    >>> kind_of("Alice keeps the ferry at Millbrook.", "Alice")
    'occupation'
    >>> kind_of("Alice is going to the market.", "Alice") is None
    True
    """
    begins = re.match(rf"{re.escape(name)}(?P<owns>['’]s?)? +(?P<rest>.+)", sentence, re.DOTALL)
    if not name or not begins or _CLAIMED.search(sentence) or asks_of_you(sentence):
        return None
    rest = begins["rest"]
    words = rest.split()
    if begins["owns"]:
        if len(words) < LEAST_WORDS:
            return None
        of_kin = "ties" in signals_of(" ".join(words[:2]))
        return "relationship" if of_kin else "place" if _PLACE.search(rest) else "fact"
    if _OBJECT_UNRESOLVED.match(rest) or _PASSES.match(rest):
        return None
    said = stated(sentence)
    if said and said.subject.split() == name.lower().split():
        return None if is_past(said.slot.split()[0]) else "preference"
    if _PLACE.search(rest):
        return "place"
    of_kin = "ties" in signals_of(" ".join(words[:9]))
    if _TRADE.match(rest):
        return "relationship" if of_kin and rest.startswith(("is", "was")) else "occupation"
    lasts = _LASTS.match(rest) or sum(signals_of(rest).values()) >= A_TURN_OF_LIFE
    if not lasts or len(content_words(rest)) < LEAST_WORDS:
        return None
    return "relationship" if of_kin and rest.startswith("has ") else "fact"
