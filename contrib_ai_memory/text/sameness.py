"""What vectors and shared words hardly see: numbers, negations, names and times."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_FIGURES = {
    word: str(value)
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(),
        start=2,
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000"}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_FIGURES)})\b")
_NEGATION = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|without|cannot|neither|nor)\b|n['’]t\b"
)
# what is denied in the form alone: "can't wait" is joy, "not only" says more
_NO_DENIAL = re.compile(
    r"\b(?:can(?:['’]t|not| not) (?:wait|help|believe|imagine|stop|get enough)"
    r"|not (?:only|just|even|to mention)|no (?:doubt|wonder|matter|problem|worries|less)"
    r"|never mind|why (?:not|don['’]t)|nothing but|wouldn['’]t mind|if not)\b"
    r"|,\s*(?:is|are|was|were|do|does|did|have|has|can|could|wo|would|should)n['’]t"
    r" (?:i|you|he|she|it|we|they|there)\W*$"
)
_NAME = re.compile(r"(?<!^)(?<![.!?\"“] )\b[A-Z]\w+")
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|morning|noon|evening|night|week(?:end)?s?"
    r"|months?|years?|spring|summer|autumn|winter|dawn|dusk|midnight"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|january|february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)


def says_the_same(a: str, b: str) -> bool:
    """Near in meaning is not the same where numbers, negations or names differ."""
    return numbers(a) == numbers(b) and negated(a) == negated(b) and names(a) == names(b)


def without_numbers(text: str) -> str:
    return re.sub(_NUMBER_WORD, "", _NUMBER.sub("", text.lower()))


def numbers(text: str) -> set[str]:
    """The numbers of a text in figures: `nine` is 9, and `1,000` is 1000."""
    lowered = text.lower()
    figures = {re.sub(r",(?=\d{3}\b)", "", number) for number in _NUMBER.findall(lowered)}
    return figures | {_FIGURES[word] for word in _NUMBER_WORD.findall(lowered)}


def negated(text: str) -> bool:
    """Whether a text denies something.

    >>> negated("I did not sell it."), negated("I can't wait to sell it!")
    (True, False)
    """
    return bool(_NEGATION.search(_NO_DENIAL.sub(" ", text.lower())))


def names(text: str) -> set[str]:
    """Words with a capital that begin no sentence."""
    return set(_NAME.findall(text))


def times(text: str) -> set[str]:
    """Words of a time: what was not so yesterday may be so today."""
    return {word.lower() for word in _TIME.findall(text)}
