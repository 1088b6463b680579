"""Small talk by its form: greetings, partings, thanks, laughter, sentences that tell nothing."""

from __future__ import annotations

import re

from ..language import Intent
from .addressing import hushes
from .questions import asks
from .reported_speech import speaks_of_self
from .tokens import FILLERS

_GREETS = re.compile(
    r"^\W*(?:h?[aeu]llo+|oi,? oi|hi+(?:ya)?|hey+[ao]?|wotcha|alright(?=,|\W*$)"
    r"|yo|ey ?up|hail|howdy|greetings|well met|evenin['’]?g?"
    r"|mornin['’]?g?|good (?:morning|day|evening|afternoon|morrow)|salut\w*|welcome back)\b",
    re.IGNORECASE,
)
_GREETED_FIRST = re.compile(rf"{_GREETS.pattern}(?: [\w'’-]+){{0,2}}[.!,]+\s+(?=\w)", re.IGNORECASE)
_PARTS = re.compile(
    r"\b(?:(?<!said )(?<!says )(?:good ?)?bye+|farewell|good ?night|g['’]?ni(?:ght|te)"
    r"|(?:(?<!\w )|(?<=night ))ni(?:ght|te)(?=(?: then| all| folks)?(?: x+)?\W*$)"
    r"|(?:see|c|cu) ?(?:you|ya|u)|cya|cu"
    r"|laters?(?=\W*$)|ttyl|brb|g[2t]g|(?:got to|gotta|have to|must) (?:go|run|dash)"
    r"|(?:sleep tight|ta[ -]ra|ta[ -]ta)(?=\W*$)|(?<!\w )cheerio"
    r"|(?:(?<!\w )|(?<=right )|(?<=ok ))i(?:['’]?m| am)"
    r" (?:(?:away|off) (?:home|to (?:my )?bed)"
    r"|off(?=\W*$|[\s,.!]+(?:ta|thanks?|thx|cheers|bye|see|good|night|then|all)\b))"
    r"|until (?:next time|tomorrow)|i(?:['’]ll| will| must| have to|['’]ve got to| should)?"
    r" (?:be going|be off|get going|take my leave|go now)|so long|safe (?:travels|journey)"
    r"|take care)\b",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"\b(?:(?<!says )(?<!said )(?:thanks?|thank you)"
    r"(?! to (?!you\b|u\b|ye\b|all\b|everyone\b)\w)|thx|cheers|much obliged|ta)\b",
    re.IGNORECASE,
)
_CRIES_OUT = re.compile(r"\W*(?:help|fire)\b\s*[,!]", re.IGNORECASE)
_DO_SOMETHING = r"\b(?:do (?:something|summat|smth|sth)|get help)\b"
CRIES = re.compile(rf"\b(?:help|(?<!the )fire|hurry|quick(?:ly)?)\b|{_DO_SOMETHING}", re.IGNORECASE)
_EXCLAIMS = re.compile(rf"!|{_DO_SOMETHING}|\b(?:help|hurry|quick)\W*$", re.IGNORECASE)
_COLLAPSES = re.compile(
    r"^(?!.*\b(?:laugh|giggl|grin|pretend))(?:\W*(?:(?!\w+['’]s )[\w'’-]+ ){0,3}|.*(?:, |\band ))"
    r"(?:faints|swoons|keels over|bleeds|chokes|passes out(?=\W*$)"
    r"|(?:collapses|crumples|slumps|sinks|falls) (?:on)?to the (?:floor|ground))\b",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    r"\b(?:please|pls|plz|(?:could|can|may|might|would|will|do|have) (?:i|you|u|ye) (?!not\b)"
    r"|i(?:[’']?ll have|[’']?d like| would like| want| need)|give me|gimme"
    r"|(?:is|are) there|any)\b",
    re.IGNORECASE,
)


def without_greeting(text: str) -> str:
    """Return a line without a greeting before what it wants: "evening! anyone about?"."""
    rest = _GREETED_FIRST.sub("", text)
    bare = _GREETS.sub("", rest).lstrip(" ,.!")  # "heya hows tricks"
    return bare if len(bare.split()) > 1 else rest


_CHATTER = re.compile(
    r"\W*(?:lol|lmao|rofl|(?:ha)+h?|(?:he)+h?|h+m+|ok(?:ay)?|sure|nice|cool|wow|o+h+|ah+|right|indeed"
    r"|really|well|haha\w*|yes|no|nope|yeah|yep|aye|nay)(?:[\s,.!?]+(?:lol|ok(?:ay)?|then|sure|right))?"
    r"\W*",
    re.IGNORECASE,
)


def is_chatter(text: str) -> bool:
    """Return whether a line says nothing: a laugh, "ok", "hm"."""
    return _CHATTER.fullmatch(text) is not None


def courtesy_of(text: str) -> Intent | None:
    """Return whether a line greets, thanks or parts; what else it says does not count."""
    if _PARTS.search(text):
        return Intent.PARTING
    if _THANKS.search(text):
        return Intent.THANKS
    return Intent.GREETING if _GREETS.search(text) else None


def cries_out(text: str) -> bool:
    """Return whether a line begins with a cry for help: "Help, he bleeds!"."""
    return bool(_CRIES_OUT.match(text))


def exclaims(text: str) -> bool:
    """Return whether a line may be a cry, by its form alone."""
    return bool(_EXCLAIMS.search(text))


def collapses(text: str) -> bool:
    """Return whether somebody falls down or bleeds in a pose.

    >>> [collapses(each) for each in ("Bram keels over.", "Bram collapses into a chair, grinning.")]
    [True, False]
    """
    return bool(_COLLAPSES.search(text))


def requests(text: str) -> bool:
    """Return whether a line asks to be served or helped: "any sherry", "could you mend it".

    >>> [requests(said) for said in ("any sherry", "Soup, please.", "I sell horses.")]
    [True, True, False]
    """
    return bool(_REQUESTS.search(text))


_ANSWERS = frozenset("no yes nope yep yeah aye nay ok okay".split())
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")
_OPENS_IDLY = re.compile(
    r"^\W*(?:hello|hi|hey|greetings|good (?:morning|day|evening|afternoon|night|luck|job|for you)|"
    r"well met|hail|thanks|thank you|welcome|congrat\w*|cheers|sorry|farewell|good ?bye|see you|"
    r"way to go|well done|have (?:a|fun))\b",
    re.IGNORECASE,
)


def tells(sentence: str) -> bool:
    """Whether a sentence is more than a question, a greeting, filler or a plea to keep quiet."""
    if asks(sentence) or hushes(sentence) or _OPENS_IDLY.match(sentence):
        return False
    words = [word.lower().replace("’", "'") for word in _WORD.findall(sentence)]
    telling = sum(word not in FILLERS for word in words)
    return telling >= 2 or (telling > 0 and speaks_of_self(sentence) and len(words) >= 3)


def is_idle(sentence: str) -> bool:
    """Whether a sentence only greets, fills or asks to keep quiet, and holds nothing to tell.

    >>> [is_idle(each) for each in ("Good morning to you all.", "Oh well.", "Plums.", "No.")]
    [True, True, False, False]
    """
    if tells(sentence) or asks(sentence):
        return False
    if hushes(sentence) or _OPENS_IDLY.match(sentence):
        return True
    words = {word.lower() for word in _WORD.findall(sentence)}
    return words <= FILLERS - _ANSWERS
