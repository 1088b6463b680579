"""Recurring themes of talk: words that are rare in English and frequent in some texts.

A theme is usually a noun or a name. A noun that always has the same word beside it makes one theme
with it: "pottery class".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..text.segmentation import WORD
from . import tokens
from .tokens import stem, zipf

THEMES = 3
RECURS = 2  # memories that a theme is found in, at least
TELLING_BELOW = 5.25  # Zipf frequency; `ferry` has 4.0, `church` 5.2, `family` 5.7
MOST_FREQUENT = 8.0  # Zipf frequency of `the`
NAME = 4.5  # what any name counts for
NAME_BELOW = 5.6  # of a name: `john` has 5.3, `have` 6.7
NAMED_AT_LEAST = 2  # times that a word has a capital inside a sentence, to be a name
NOUN = 0.5  # share of a word's mentions in which it ends a phrase, as nouns do
BESIDE = 0.6  # share of a theme's mentions that have the same word beside them

# rare enough to be themes by their frequency, and said of anything
_TALK = frozenset(
    "amazing awesome cool dude evening fantastic feelings folks forward glad god gotta haha hello "
    "herself hey hour idea ideas image incredible itself kinda lots lovely minute minutes moment "
    "myself negative okay ourselves personal positive proud safe sense sorry sort sorta stuff "
    "super thanks themselves today tomorrow tonight tough twice various wanna ways weekend "
    "wonderful worse wow yeah yesterday yourself".split()
)
_BEFORE_A_QUALITY = frozenset(
    "is are was were be been being so very really too more most less feel feels felt it's that's "
    "i'm how as pretty super quite totally all been get gets got look looks become became".split()
)
_AFTER_A_NOUN = frozenset(
    "a an the of in on at to for with by from and or but as than that which who if so not into "
    "over under through near before after during since until while when where because about "
    "against my your his her its our their this these those i we you he she they it again last "
    "this next yesterday today tomorrow tonight beside behind above below along around off out up "
    "down".split()
)
_TOKEN = re.compile(rf"{WORD.pattern}|[.,!?;:…-]")
# whoever is spoken to is not spoken of: "Thanks, Caroline!", "Caroline, that is great"
_CALLED = re.compile(
    r",\s+[A-Z]\w+(?=\s*(?:[.!?,;]|$))|^[A-Z]\w+,|(?<=[.!?] )[A-Z]\w+,"
    r"|\s[A-Z]\w+(?=\s*[!?])"
    r"|\b(?i:thanks|thank you|hey|hi|hello|yeah|yes|wow|ok|okay|sure|here|too)\s+[A-Z]\w+"
)


@dataclass(frozen=True, slots=True)
class Theme:
    """The wording of a theme, and the indexes of the texts that it occurs in."""

    said: str
    places: tuple[int, ...]


def themes_of(texts: Sequence[str], passed: Collection[str] = ()) -> list[Theme]:
    """The themes that texts share, the most frequent and rarest first.

    Args:
        texts: What was said.
        passed: Lower-case words that are no themes here, such as the speaker's name.

    For worker threads: the first call loads a word list.
    """
    words = [_TOKEN.findall(_CALLED.sub(" ", text.replace("’", "'"))) for text in texts]
    inside = Counter(
        word
        for each in words
        for before, word in pairwise(each)
        if before[-1].isalpha() and _may_name(word)
    )
    small = {word for each in words for word in each if word.islower()}
    places: dict[str, list[int]] = {}
    forms: dict[str, Counter[str]] = {}
    for place, each in enumerate(words):
        for word in dict.fromkeys(each):
            bare = word.removesuffix("'s")
            lower = bare.lower()
            named = inside[word] >= NAMED_AT_LEAST and lower not in small
            common = _is_telling(lower) and (bare.islower() or lower in small)
            if lower in passed or not (named or common):
                continue
            root = bare if named else stem(lower)
            if place not in places.setdefault(root, []):
                places[root].append(place)
            forms.setdefault(root, Counter())[bare if named else lower] += 1
    often = [root for root, found in places.items() if len(found) >= RECURS]
    often.sort(key=lambda root: (-len(places[root]) * _rarity(_usual(forms[root])), root))
    found: list[Theme] = []
    for root in often:
        if len(found) == THEMES:
            break
        said = _as_said(forms[root], words, passed)
        within = {part.lower() for each in found for part in each.said.split()}
        if said and not within & {part.lower() for part in said.split() if part != "the"}:
            found.append(Theme(said, tuple(places[root])))
    return found


def _may_name(word: str) -> bool:
    lower = word.lower()
    common = lower in _TALK or lower in tokens.AUXILIARIES or lower in tokens.BASES
    plain = word[:1].isupper() and len(word) > 2 and "'" not in word.removesuffix("'s")
    return plain and not common and zipf(lower.removesuffix("'s")) < NAME_BELOW


def _is_telling(word: str) -> bool:
    if len(word) <= 3 or word in _TALK or "'" in word:
        return False
    base = tokens.base_form(word)
    doing = base in tokens.BASES or word in tokens.THIRD or tokens.is_past(word)
    if doing or word.endswith(("ing", "ly", "able", "ful")):
        return False
    return zipf(word) < TELLING_BELOW


def _usual(forms: Counter[str]) -> str:
    """The most frequent form of a word."""
    return min(forms, key=lambda form: (-forms[form], form))


def _rarity(word: str) -> float:
    return MOST_FREQUENT - (zipf(word) if word.islower() else NAME)


def _as_said(forms: Counter[str], words: Sequence[Sequence[str]], passed: Collection[str]) -> str:
    """A word with the one that is always beside it, or "the" where that always stands before it.

    Empty where it is no noun: those end a phrase, where "tough" and "creative" go before one or
    after "is" and "so".
    """
    form = _usual(forms)
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    ends = count = 0
    for each in words:
        for place, word in enumerate(each):
            if (
                word.removesuffix("'s").lower() not in forms
                and word.removesuffix("'s") not in forms
            ):
                continue
            count += 1
            ahead = each[place - 1] if place else ""
            behind = each[place + 1] if place + 1 < len(each) else "."
            before[ahead] += 1
            after[behind.removesuffix("'s")] += 1
            ends += _ends_a_phrase(ahead.lower(), behind.lower())
    beside = max(RECURS, BESIDE * count)
    for word, times in after.most_common(1):
        if times >= beside and _is_beside(word.lower(), passed):
            return f"{form} {word}"
    if form.islower() and ends < NOUN * count:
        return ""
    for word, times in before.most_common(1):
        if times >= beside and _is_beside(word.lower(), passed) and _is_telling(word.lower()):
            return f"{word} {form}"
    the = before["the"] + before["The"]
    return f"the {form}" if form.islower() and the >= BESIDE * count else form


def _ends_a_phrase(ahead: str, behind: str) -> bool:
    doing = behind in tokens.AUXILIARIES or behind in tokens.THIRD or tokens.is_past(behind)
    return ahead not in _BEFORE_A_QUALITY and (
        doing or not behind[:1].isalpha() or behind in _AFTER_A_NOUN or behind in tokens.BASES
    )


def _is_beside(word: str, passed: Collection[str]) -> bool:
    doing = word in tokens.AUXILIARIES or tokens.is_past(word) or word in tokens.THIRD
    plain = len(word) > 3 and word.isalpha() and word not in _TALK and word not in passed
    plain = plain and zipf(word) < NAME_BELOW
    return plain and not doing and word not in _AFTER_A_NOUN and word not in tokens.BASES
