"""Recurring themes of talk: nouns and names that are rare in English and frequent in some texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .tokens import stem, zipf

THEMES = 3
RECURS = 2  # memories that a theme is found in, at least
TELLING_BELOW = 5.25  # Zipf frequency; `ferry` has 4.0, `church` 5.2, `family` 5.7
MOST_FREQUENT = 8.0  # Zipf frequency of `the`
NAME = 4.5  # what any name counts for

# a noun ends a phrase that a determiner begins, a name has a capital inside a sentence
_NOUN = re.compile(
    r"\b(?P<before>the|an?|my|our|your|his|her|their|this|that|no)(?: [a-z]+)??"
    r" (?P<noun>[a-z]{4,})(?=\W*$|[.,;:!?]| (?:is|are|was|were|has|had|will|can|of|in|on|at|to|for"
    r"|with|by|from|and|or|but|that|who|before|after|again|\w+ed|\w+s)\b)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[a-z] )[A-Z][a-z]{2,}\b")


@dataclass(frozen=True, slots=True)
class Theme:
    """The wording of a theme, and the indexes of the texts that it occurs in."""

    said: str
    places: tuple[int, ...]


def themes_of(texts: Sequence[str], passed: Collection[str] = ()) -> list[Theme]:
    """Return the themes that texts share, the most frequent and rarest first.

    Args:
        texts: What was said.
        passed: Lower-case words that are no themes here, such as the speaker's name.

    For worker threads: the first call loads a word list.
    """
    places: dict[str, list[int]] = {}
    forms: dict[str, Counter[str]] = {}
    for place, text in enumerate(texts):
        found = {(each["noun"].lower(), each["before"].lower()) for each in _NOUN.finditer(text)}
        found |= {(name, "") for name in _NAME.findall(text)}
        for word, before in found:
            if word.lower() in passed or (word.islower() and zipf(word) >= TELLING_BELOW):
                continue
            root = stem(word) if word.islower() else word
            if place not in places.setdefault(root, []):
                places[root].append(place)
            forms.setdefault(root, Counter())[f"the {word}" if before == "the" else word] += 1
    often = [root for root, found_in in places.items() if len(found_in) >= RECURS]
    rarity = {root: MOST_FREQUENT - (zipf(root) if root.islower() else NAME) for root in often}
    often.sort(key=lambda root: (-len(places[root]) * rarity[root], root))
    said = {root: max(sorted(forms[root]), key=forms[root].__getitem__) for root in often}
    return [Theme(said[root], tuple(places[root])) for root in often[:THEMES]]
