"""Play at a table: talk in which dice are rolled and a game master tells what happens.

Most of it is in the present tense and over with the next roll ("I take my staff and strike"), which
reads like news of the world and is none. What is told of the past ("Percy was the third child of
seven") stays true.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from ..text.segmentation import WORD
from . import tokens
from .claims import names_before_pronouns

# lines about dice and rules that make a talk play: so many, and such a share
AT_PLAY, SHARE_AT_PLAY = 2, 0.01

# "I rolled a 23", "make a stealth check": of a game's rules, not of its world
_GAME_RULES = re.compile(
    r"\b(?:"
    r"(?:re-?)?roll(?:s|ed|ing)?\s+(?:an?\s+)?(?:\d+|natural|nat|initiative|damage|perception|"
    r"stealth|for (?:damage|initiative)|(?:with )?(?:dis)?advantage)"
    r"|(?:natural|nat) (?:\d+|one|twenty)"
    r"|\d+ (?:to hit|hits)"
    r"|(?:points? of|\d+)(?: \w+)? damage|damage (?:is )?halved"
    r"|with (?:the |an? )?(?:dis)?advantage"
    r"|saving throws?|hit points?|armou?r class|spell slots?|bonus actions?"
    r"|\d*d(?:4|6|8|10|12|20|100)s?"
    r"|(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten) (?:plus|minus|times) "
    r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)"
    r"|(?:skill|ability|perception|stealth|strength|dexterity|wisdom|charisma|constitution|"
    r"intelligence|insight|investigation|acrobatics|athletics|persuasion|intimidation) "
    r"(?:checks?|rolls?|saves?)"
    r")\b",
    re.IGNORECASE,
)
_STATES = frozenset(
    "live love like hate own work keep hail come need fear owe serve sell adore dislike say hear"
    " know believe mean remember want trust doubt agree".split()
)
_THE_PRESENT = re.compile(
    r"\b(?:now|just|tonight|at (?:which|this) point|(?:seconds?|moments?|minutes?|hours?) ago)\b|"
    r"\b(?:is|are|am|has|have|will|can|may|might|gonna|does|do)\b"
    r"|\b(?:I|we|you|he|she|it|they|that|there|here)['’](?:m|re|s|ll|ve)\b"
    r"|\b(?:is|are|do|does|can|wo|has|have)n['’]t\b",
    re.IGNORECASE,
)


def of_game_rules(text: str) -> bool:
    """Whether a sentence is about dice and the rules of a game, not about its world.

    >>> [of_game_rules(said) for said in ("I rolled a 23.", "The cart rolled into the ditch.")]
    [True, False]
    """
    return bool(_GAME_RULES.search(text))


def at_play(lines: Sequence[str]) -> bool:
    """Whether dice are rolled in a talk."""
    return sum(map(of_game_rules, lines)) >= max(AT_PLAY, int(SHARE_AT_PLAY * len(lines)))


def tells_the_past(text: str) -> bool:
    """Whether a statement tells what has happened, of somebody it names or of its speaker.

    >>> told = "Percy was the third child of seven.", "Percy takes the cup.", "He took the cup."
    >>> [tells_the_past(each) for each in told]
    [True, False, False]
    """
    words = [word.lower() for word in WORD.findall(text)]
    pairs = itertools.pairwise((*words[1:], ""))
    verbs = ((word, after) for word, after in pairs if _is_past(word) or word in tokens.THIRD)
    past = _is_predicate(*next(verbs, ("", "")))
    in_the_past = past and not _THE_PRESENT.search(text) and not acts_now(text)
    return in_the_past and names_before_pronouns(text)


def _is_predicate(word: str, after: str) -> bool:
    """Whether a past form is a verb, by the word behind it: not "a mildly rotted leg"."""
    if word.endswith("ed"):
        return after in tokens.AFTER_A_VERB or tokens.is_past(after) or after.endswith("ing")
    return _is_past(word)


def _is_past(word: str) -> bool:
    return word in ("was", "were", "had", "did") or tokens.is_past(word)


def acts_now(text: str) -> bool:
    """Whether somebody does something in the present: "I take", "you see"; not "I live".

    >>> [acts_now(said) for said in ("I walk down to the cellar.", "I live in the cellar.")]
    [True, False]
    """
    words = [word.lower() for word in WORD.findall(text)]
    return any(
        subject in ("i", "we", "you", "they")
        and verb in tokens.BASES
        and verb not in tokens.SAME_IN_THE_PAST | _STATES
        for subject, verb in itertools.pairwise(words)
    )
