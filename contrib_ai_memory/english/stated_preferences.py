"""Stated preferences: whether a sentence states one, and the slot that it fills.

"I love tea" and "I hate tea" fill one slot, `tea`, so that the later replaces the earlier. In doubt
the rules choose two slots: both are remembered then, and the newer comes first.
"""

from __future__ import annotations

import re

from ..language import Stated
from .questions import own_statements
from .tokens import is_past

SLOT_WORDS = 6
CHARACTERS_READ = 500  # characters of a sentence that are looked at

# verbs that find the slot of a preference; `_STATES` decides whether a text states one at all
_VERBS = (
    r"(?:prefer|love|adore|enjoy|like|hate|loathe|dislike|despise|detest)(?:s|d|red)?|despises|"
    r"(?:cannot|can not|can['’]t|could not|couldn['’]t) (?:stand|bear)"
)
_BETWEEN = (
    r"(?:(?:\w+ly|always|never|just|do|does|did|not|don['’]t|doesn['’]t|didn['’]t|no longer|still|"
    r"also|now|so|would|even|rather|quite|too) ){0,4}?"
)
# the speaker first: in "at home I like tea" it is not the home that likes it
_WHO = (
    r"\b(?P<subject>I|we)(?:['’](?:d|ve|m|re))?",
    r"\b(?P<subject>[\w'’-]+(?: [\w'’-]+){0,2}?)",
)
_RULES = tuple(
    re.compile(rf"{who} {_BETWEEN}(?P<verb>{verbs}) (?P<object>.+)", re.IGNORECASE | re.DOTALL)
    for verbs in ("(?<=['’]d )rather|(?<=would )rather", _VERBS, "always|never")
    for who in _WHO
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
    if found := _FAVOURITE.search(flat):
        slot = f"favourite {head_words(found['object'] or '')}".strip()
        return Stated(sentence, slot, _subject(found["subject"]))
    found = next(filter(None, (rule.search(flat) for rule in _RULES)), None)
    if not found:
        return None
    clause = _CLAUSE_END.split(re.sub(r"^to ", "", found["object"], flags=re.IGNORECASE))[0]
    sides = _COMPARED.split(clause, maxsplit=1)
    if len(sides) == 1 and found["verb"].lower().startswith("prefer"):
        sides = re.split(r"\sto\s", clause, maxsplit=1, flags=re.IGNORECASE)
    slot, *mentions = map(head_words, sides)
    if not slot:
        return None
    return Stated(sentence, slot, _subject(found["subject"]), tuple(filter(None, mentions)))


def labelled(text: str) -> Stated:
    """Take any text as a preference: its slot is the label before a colon, or its first words."""
    flat = " ".join(text[:CHARACTERS_READ].split())
    label = _LABEL.match(flat)
    slot = head_words(label["object"]) if label else ""
    return Stated(text, slot or head_words(flat) or flat.lower()[:80])


_STATES = re.compile(
    r"\bI(?: \w+ly| always| never| just| do not| don['’]t| no longer){0,2} (?:prefer|love|adore|"
    r"enjoy|like|hate|loathe|dislike|despise|(?:cannot|can['’]t) (?:stand|bear))\b"
    r"|\bI (?:always|never) (?!(?:was|had|did|been)\b)(?P<habit>\w+)"
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
    # "I never sold it" tells what was done, not what is done always
    return sum(
        not (found["habit"] and is_past(found["habit"]))
        for found in _STATES.finditer(own_statements(text))
    )


def _subject(words: str) -> str:
    kept = [word for word in map(str.lower, _WORD.findall(words)) if word not in _SELF]
    return " ".join(_slot_word(word) for word in kept)


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
