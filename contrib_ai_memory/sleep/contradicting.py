"""Which two statements of one speaker cannot both hold: rules on the words, and strict ones.

What is ended wrongly hides what is true, so that a rule that is not sure says no: an event with
another number may be another event, and what was not so yesterday may be so today.
"""

from __future__ import annotations

import re

from ..llm.words import WORD, content_words, lowered, stem
from ..text import verbs
from ..text.sameness import names, negated, numbers, times, without_numbers
from .replacing import replaces

SAME_MATTER = 0.6  # share of the words that two statements on one matter have in common
OF_ITS_OWN = 1  # words that one of two counts may have and the other not

_FRAME = re.compile(r'^\S.{0,80}? (?:says: "(?P<said>.+)"|claims that (?P<claimed>.+))$', re.DOTALL)
_DENYING = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|without|cannot|neither|nor|longer|any ?more|ever)\b"
    r"|\b\w+n['’]t\b"
)
# what lasts: of this the number changes, where an event that has another number is another event
_STATE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|keeps?|owns?|owes?|costs?|takes?|weighs?|measures?"
    r"|holds?|counts?|needs?|earns?|charges?|asks?)\b|['’](?:s|m|re|ve)\b"
)
_ONE_THING = re.compile(r"\b(?:for|of|from) (?:the|my|this|that|their|his|her|our)\b")


def contradicts(new: str, known: str) -> bool:
    """Whether two statements on one matter cannot both hold: a denial, another number, or, of what
    is one thing at a time, what it is now.

    Another name alone is no contradiction: who owns one dog may own two.

    >>> contradicts("The toll is nine crowns.", "The toll is 7 crowns.")
    True
    >>> contradicts("Alice sold nine oxen.", "Alice sold seven oxen.")
    False
    """
    new, known = _said(new), _said(known)
    if replaces(new, known):
        return True
    if times(new) != times(known) or verbs.mood_of(new) != verbs.mood_of(known):
        return False
    if negated(new) != negated(known):
        return _denies(new, known) if negated(new) else _denies(known, new)
    return names(new) == names(known) and _counts_otherwise(new, known)


def _said(text: str) -> str:
    """What was said, without the frame: `Sam says: "…"` makes any two sentences of Sam alike."""
    framed = _FRAME.match(text.strip())
    return (framed["said"] or framed["claimed"]) if framed else text


def _words(text: str) -> set[str]:
    plain = _DENYING.sub(" ", without_numbers(text))
    return content_words(WORD.sub(lambda word: verbs.base(word[0]), plain))


def _subject(text: str) -> list[str]:
    """The words before the verb: who does not keep the ferry is not whose brother keeps it."""
    before: list[str] = []
    for word in WORD.findall(text.lower().replace("’", "'")):
        doing = verbs.is_past(word) or word in verbs.THIRD or word in verbs.AUXILIARIES
        if before and (doing or word.endswith("n't") or before[-1] in ("i", "we", "they")):
            break
        if word not in ("not", "no", "longer", "never"):
            before.append(word)
    return before


def _in_order(text: str) -> list[str]:
    said = _words(text)
    plain = WORD.sub(lambda word: verbs.base(word[0]), text.lower())
    return [root for root in map(stem, lowered(plain)) if root in said]


def _denies(denial: str, claim: str) -> bool:
    """Who denies less than was claimed denies it; who denies more denies something else."""
    if not (names(denial) <= names(claim) and numbers(denial) <= numbers(claim)):
        return False
    if _subject(denial) != _subject(claim):
        return False
    denied, claimed = _words(denial), _words(claim)
    words = iter(_in_order(claim))
    if not all(word in words for word in _in_order(denial)):
        return False  # the uncle sold, and not to the uncle was sold
    return len(denied) >= 2 and denied <= claimed and len(denied) >= SAME_MATTER * len(claimed)


def _counts_otherwise(new: str, known: str) -> bool:
    if not numbers(new) or not numbers(known) or numbers(new) == numbers(known):
        return False
    if len(numbers(new)) != len(numbers(known)):
        return False
    if _subject(without_numbers(new)) != _subject(without_numbers(known)):
        return False
    a, b = _words(new), _words(known)
    if len(a & b) < 2 or len(a ^ b) > OF_ITS_OWN:
        return False
    return all(_STATE.search(text) or _ONE_THING.search(text) for text in (new, known))
