"""Stated preferences: whether a sentence states one, and the slot that it fills.

"I love tea" and "I hate tea" fill one slot, `tea`, so that the later replaces the earlier. In doubt
the rules choose two slots: both are remembered then, and the newer comes first.
"""

from __future__ import annotations

import re

from ..language import Stated
from .questions import own_statements

SLOT_WORDS = 6
CHARACTERS_READ = 500  # characters of a sentence that are looked at

# verbs that find the slot of a preference; `_STATES` decides whether a text states one at all
_VERBS = (
    r"(?:prefer|love|adore|enjoy|like|hate|loathe|dislike|despise|detest)(?:s|d|red)?|despises|"
    r"(?:cannot|can not|can['’]t|could not|couldn['’]t) (?:stand|bear)"
)
_BETWEEN = (
    r"(?:(?:\w+ly|always|never|just|do|does|did|not|don['’]t|doesn['’]t|didn['’]t|no longer|still|"
    r"also|now|so|much|would|simply|even|rather|quite|too|kind of|sort of) ){0,4}?"
)
_I = r"\b(?P<subject>I|we)(?:['’](?:d|ve|m|re))?"
_SOMEBODY = r"\b(?P<subject>[\w'’-]+(?: [\w'’-]+){0,2}?)"
_LIKING = rf" {_BETWEEN}(?P<verb>{_VERBS}) (?P<object>.+)"
_HABIT = rf" {_BETWEEN}(?:always|never) (?P<object>.+)"


def _rules(rest: str) -> tuple[re.Pattern, ...]:
    """The speaker first: in "at home I like tea" it is not the home that likes it."""
    return tuple(re.compile(who + rest, re.IGNORECASE | re.DOTALL) for who in (_I, _SOMEBODY))


_LIKES = _rules(_LIKING)
_ABOUT = re.compile(  # "made like 15 tickets", "needs like three of those"
    r" like (?:\d|(?:two|three|four|five|six|seven|eight|nine|ten|a (?:dozen|hundred|thousand))\b)",
    re.IGNORECASE,
)
_MINE = re.compile(r"\b(?:I|we) like\b", re.IGNORECASE)
_HABITS = _rules(_HABIT)
_RATHER = re.compile(
    r"\b(?P<subject>I|we|\w+)(?:['’]d| would)(?: much)? rather (?P<object>.+)",
    re.IGNORECASE | re.DOTALL,
)
_FAVOURITE = re.compile(
    r"\b(?P<subject>my|our|[\w-]+['’]s) favou?rite"
    r"(?: (?!(?:is|are|was|were|of)\b)(?P<object>.+?))?"
    r"(?= (?:is|are|was|were|has|of|in)\b|[.!?,;:]|$)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^\W*(?P<object>[^\W\d_][\w '’-]{1,40}):\s+\S")

_CLAUSE_END = re.compile(
    r"[.!?;:,\n]|\s(?:because|when|whenever|if|while|since|unless|until|although|though|but|so|"
    r"who|which|that|and (?:I|we|he|she|they|hate|love|like|dislike|prefer)|as (?:it|they|I))\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\s(?:(?:more|better|rather) than|over|instead of|than)\s", re.IGNORECASE)
_COMPARED_BY_TO = re.compile(r"\sto\s", re.IGNORECASE)
_MEASURE = re.compile(
    r"\b(?:cup|mug|glass|pint|bit|lot|piece|slice|bowl|kind|sort)s? of\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SMALL = frozenset(
    "a an the my your his her its our their this that these those some any all every each most "
    "much many more very really so too quite just also even only always never still now ever "
    "i he she it we they me him them us is are was were am be been being do does did of to "
    "lot best most least again anymore already one ones".split()
)
_NOUNS_IN_ING = frozenset("morning evening wedding string spring ceiling sibling".split())
_SELF = frozenset("i we my our me us he she they user the the-user".split())


def stated(sentence: str) -> Stated | None:
    """The liking, favourite or habit that a sentence states; None if no rule finds one."""
    flat = " ".join(sentence[:CHARACTERS_READ].split())
    for rule in (_favourite, _rather, _liking, _habit):
        found = rule(flat)
        if found:
            subject, slot, mentions = found
            return Stated(sentence, slot, _subject(subject), mentions)
    return None


def labelled(text: str) -> Stated:
    """Take any text as a preference: its slot is the label before a colon, or its first words."""
    flat = " ".join(text[:CHARACTERS_READ].split())
    label = _LABEL.match(flat)
    slot = head_words(label["object"]) if label else ""
    return Stated(text, slot or head_words(flat) or flat.lower()[:80])


_STATES = re.compile(
    r"\bI(?: \w+ly| always| never| just| do not| don['’]t| no longer){0,2} (?:prefer|love|adore|"
    r"enjoy|like|hate|loathe|dislike|despise|(?:cannot|can['’]t) (?:stand|bear))\b"
    # "I never sold it" tells what was done, not what is done always
    r"|\bI (?:always|never)\b(?! \w+ed\b)(?! (?:was|had|did|said|told|saw|went|took|gave|came|met|"
    r"knew|heard|made|thought|sold|bought|lost|found|left|kept|paid|got|been)\b)"
    r"|\bmy favou?rite\b|\bI(?:['’]d| would) rather\b",
    re.IGNORECASE,
)


def states_preference(text: str) -> bool:
    """Whether the speaker says what they like, hate, always or never do [C §1.5].

    The question "do I like tea" does not count.
    """
    return preferences_in(text) > 0


def preferences_in(text: str) -> int:
    """How many preferences the speaker of a text states."""
    if not _STATES.search(text):
        return 0  # the usual case
    return len(_STATES.findall(own_statements(text)))


# --- rules: subject, slot, mentions ---------------------------------------------------------------

_Found = tuple[str, str, tuple[str, ...]] | None


def _favourite(sentence: str) -> _Found:
    found = _FAVOURITE.search(sentence)
    if not found:
        return None
    return found["subject"], f"favourite {head_words(found['object'] or '')}".strip(), ()


def _rather(sentence: str) -> _Found:
    found = _RATHER.search(sentence)
    return _about(found, _COMPARED) if found else None


def _liking(sentence: str) -> _Found:
    found = _first(_LIKES, sentence)
    if not found or (_ABOUT.search(sentence) and not _MINE.search(sentence)):
        return None
    prefers = found["verb"].lower().startswith("prefer")
    return _about(found, _COMPARED, _COMPARED_BY_TO if prefers else None)


def _habit(sentence: str) -> _Found:
    found = _first(_HABITS, sentence)
    return _about(found) if found else None


def _first(patterns: tuple[re.Pattern, ...], sentence: str) -> re.Match | None:
    return next(filter(None, (pattern.search(sentence) for pattern in patterns)), None)


def _about(found: re.Match, *compared: re.Pattern | None) -> _Found:
    rest = re.sub(r"^to ", "", found["object"], flags=re.IGNORECASE)
    clause = _CLAUSE_END.split(rest, maxsplit=1)[0]
    sides = [clause]
    for pattern in filter(None, compared):
        sides = pattern.split(clause, maxsplit=1)
        if len(sides) > 1:
            break
    slot, *mentions = [head_words(side) for side in sides]
    return (found["subject"], slot, tuple(filter(None, mentions))) if slot else None


def _subject(words: str) -> str:
    kept = [word for word in map(str.lower, _WORD.findall(words)) if word not in _SELF]
    return " ".join(_slot_word(word) for word in kept)


# --- words ----------------------------------------------------------------------------------------


def head_words(phrase: str) -> str:
    """The first content words of a phrase, as they stand in a slot."""
    phrase = _MEASURE.sub(" ", phrase)
    words = [word for word in map(str.lower, _WORD.findall(phrase)) if word not in _SMALL]
    return " ".join(_slot_word(word) for word in words[:SLOT_WORDS])


def _slot_word(word: str) -> str:
    """A word as it stands in a slot: `dogs` as `dog`, `swimming` as `swim`, `colour` as `color`.

    Slots are stored, so that this rule must not change; `tokens.stem` is for everything else.

    >>> [_slot_word(word) for word in ("dogs", "berries", "dishes", "swimming", "colour", "glass")]
    ['dog', 'berry', 'dish', 'swim', 'color', 'glass']
    """
    word = re.sub(r"['’]s$", "", word)
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if re.search(r"(?:s|x|z|ch|sh)es$", word):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 5 and word.endswith("ing") and word not in _NOUNS_IN_ING:
        return re.sub(r"([^aeiouls])\1$", r"\1", word[:-3])
    if len(word) > 4 and word.endswith("our"):
        return word[:-3] + "or"
    return word
