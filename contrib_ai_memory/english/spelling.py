"""Spelling: words typed in haste, put right for a network that knows English words."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache

from .tokens import UNLISTED, zipf

CLOSE = 0.8  # share of its letters, from which a word is meant for another
SHORTEST = 4  # letters of a word that is put right
COMMON_WORDS = 7000  # that it may be meant for; they have a Zipf frequency of 4 at least

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_DROPPED_G = re.compile(r"(?<=[a-z]in)['’](?![\w'’])")
_SHORT = {"teh": "the", "hte": "the"}


def put_right(text: str, known: Collection[str] = ()) -> str:
    """Return a text with the words that English has not, as those that they are nearest to.

    Names with a capital and words of the talk stay, and what is near to nothing. Worker threads.

    Args:
        known: Words of the talk in small letters; a wrong one may be meant for these, too.

    >>> put_right("do you remeber what hapend to teh dog")
    'do you remember what happened to the dog'
    >>> put_right("wich freind of yours")
    'which friend of yours'
    >>> put_right("whos the wyvren afraid of", {"wyvern"}), put_right("is Gundobal killin' it")
    ('whos the wyvern afraid of', 'is Gundobal killing it')
    """
    own = frozenset(known)

    def right(found: re.Match[str]) -> str:
        word = found[0]
        if not word.islower() or word in own:
            return word
        if word in _SHORT:
            return _SHORT[word]
        if len(word) < SHORTEST or not word.isalpha() or zipf(word) > UNLISTED:
            return word
        near = get_close_matches(word, _alike(word, own), 1, CLOSE)
        return (near or [_nearest(word)])[0]

    return _WORD.sub(right, _DROPPED_G.sub("g", text))


def _alike(word: str, words: Collection[str]) -> list[str]:
    return [each for each in words if each[0] == word[0] and abs(len(each) - len(word)) <= 3]


@lru_cache(maxsize=4096)
def _nearest(word: str) -> str:
    """Return the common word that is nearest to a word, itself if none is near."""
    alike = _alike(word, _common())  # the most frequent first, which is taken of two as near
    near = sorted(get_close_matches(word, alike, 3, CLOSE), key=alike.index)
    return max(near, key=lambda each: SequenceMatcher(None, each, word).ratio(), default=word)


@lru_cache(maxsize=1)
def _common() -> tuple[str, ...]:
    from wordfreq import top_n_list  # late: see `tokens.zipf`

    some = top_n_list("en", COMMON_WORDS, wordlist="small")
    return tuple(each for each in some if each.isalpha() and len(each) >= SHORTEST - 1)
