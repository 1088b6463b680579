"""Sentences and words, as far as the offline provider needs to tell them apart."""

from __future__ import annotations

import re

from .testimony import sentences_of as sentences_of

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SMALL = frozenset(
    "a an the and or but if of in on at to for from with about by as is are was were be been "
    "am do does did have has had what who where when why how which whose i me my mine you your "
    "yours he she it its they them their we us our this that these those there here know knows "
    "knew tell told say said says remember recall anything something please can could would "
    "will shall should may might must any some not no so just again ever really think hear "
    "heard he's she's it's what's who's where's i'm you're".split()
)


def lowered(text: str) -> list[str]:
    """The words of a text in small letters, without a possessive ending."""
    found = []
    for word in WORD.findall(text):
        word = word.lower().replace("’", "'")
        found.append(word.removesuffix("'s"))
    return found


def content_words(text: str) -> set[str]:
    """The stems of the words that say something."""
    return {stem(word) for word in lowered(text) if word not in _SMALL}


def stem(word: str) -> str:
    """A rough stem, enough to meet `keeps` with `keep` and `hides` with `hide`."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
