"""What vectors and shared words hardly see: numbers, negations and names."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER_WORD = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen"
    r"|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|hundred|thousand)\b"
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|without|cannot|neither|nor)\b|n['’]t\b"
)
_NAME = re.compile(r"(?<!^)(?<![.!?\"“] )\b[A-Z]\w+")


def says_the_same(a: str, b: str) -> bool:
    """Near in meaning is not the same where numbers, negations or names differ."""
    return numbers(a) == numbers(b) and negated(a) == negated(b) and names(a) == names(b)


def without_numbers(text: str) -> str:
    return _NUMBER_WORD.sub("", _NUMBER.sub("", text))


def numbers(text: str) -> set[str]:
    """The numbers of a text, in figures or in words."""
    lowered = text.lower()
    return {*_NUMBER.findall(lowered), *_NUMBER_WORD.findall(lowered)}


def negated(text: str) -> bool:
    return bool(_NEGATION.search(text.lower()))


def names(text: str) -> set[str]:
    """Words with a capital that begin no sentence."""
    return set(_NAME.findall(text))
