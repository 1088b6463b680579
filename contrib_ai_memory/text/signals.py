"""What a text holds that makes it worth keeping: names, numbers, preferences [C §1.5]."""

from __future__ import annotations

import re

NAMED_ENTITY, NUMBER_OR_DATE, PREFERENCE = 0.3, 0.2, 0.4  # [C §1.5]

_CAPITAL_INSIDE = re.compile(r"(?<![.!?…:\"“]\s)(?<!^)(?<=\s)[A-Z][\w'’-]+")
_NOT_NAMES = frozenset("I I'm I'd I'll I've I’m I’d I’ll I’ve OK".split())
_NUMBER = re.compile(
    r"\b\d[\d.,:]*\b|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|"
    r"thousand|first|second|third|monday|tuesday|wednesday|thursday|friday|saturday|sunday|"
    r"yesterday|tomorrow|tonight|midnight|noon|dawn|dusk|week|month|year)s?\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\bI(?: \w+ly| always| never| just| really)? (?:prefer|love|adore|enjoy|like|hate|loathe|"
    r"dislike|despise|cannot stand|can['’]t stand|cannot bear|can['’]t bear|don['’]t like)\b"
    r"|\bI (?:always|never)\b|\bmy favou?rite\b|\bI(?:['’]d| would) rather\b",
    re.IGNORECASE,
)


def salience(text: str, known_names: tuple[str, ...] = ()) -> float:
    """0-1: named entity 0.3, number or date 0.2, preference signal 0.4 [C §1.5]."""
    score = 0.0
    if names_someone(text, known_names):
        score += NAMED_ENTITY
    if _NUMBER.search(text):
        score += NUMBER_OR_DATE
    if states_preference(text):
        score += PREFERENCE
    return min(score, 1.0)


def states_preference(text: str) -> bool:
    """Whether the speaker says what they like, hate, always or never do [C §1.5]."""
    return bool(_PREFERENCE.search(text))


def names_someone(text: str, known_names: tuple[str, ...] = ()) -> bool:
    """A capital inside a sentence, or someone of the game by name however it is written."""
    if any(found not in _NOT_NAMES for found in _CAPITAL_INSIDE.findall(text)):
        return True
    lowered = text.lower()
    return any(
        name and re.search(rf"\b{re.escape(name.lower())}\b", lowered) for name in known_names
    )
