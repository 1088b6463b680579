"""Words and sentences of a text, in any language with an alphabet.

A sentence ends at a mark before a capital or a digit, behind no abbreviation of a title.
"""

from __future__ import annotations

import math
import re

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")

LONG_WORDS = 40  # a text of this many words has length 1
_LAST_WORD = 12  # characters looked at for an abbreviation before a full stop
# what may lie between the end of a sentence and the blank before the next one, and after it
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*\s+(?=[\"'“‘(\[*_¿¡]*(?P<next>\w))")
_ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Sgt|No|vs|etc|e\.g|i\.e)\.\s+$")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without a possessive ending."""
    found = (word.lower().replace("’", "'") for word in WORD.findall(text))
    return [word.removesuffix("'s") for word in found]


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences, the white space after each kept."""
    return parts_between(text, sentence_ends(text))


def sentence_ends(text: str) -> list[int]:
    """Offsets at which a next sentence begins: at a capital or a digit, behind no abbreviation."""
    return [
        found.end()
        for found in _SENTENCE_END.finditer(text)
        if (found["next"].isupper() or found["next"].isdigit())
        and not _ABBREVIATED.search(text[max(0, found.end() - _LAST_WORD) : found.end()])
    ]


def parts_between(text: str, cuts: list[int]) -> list[str]:
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def length(text: str) -> float:
    """Length of a text, 0-1: the logarithm of its count of words, 1 at forty (stored)."""
    return min(1.0, math.log1p(len(text.split())) / math.log1p(LONG_WORDS))
