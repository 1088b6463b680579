"""What vectors and shared words hardly see: numbers, negations, names and times.

Which two statements of one speaker cannot both hold: rules on the words, and strict ones.

What is ended wrongly hides what is true, so that a rule that is not sure says no: an event with
another number may be another event, and what was not so yesterday may be so today.

What holds one thing at a time, and now holds another: where somebody lives, who the reeve is.

Two names in one place are no contradiction (who has a brother in Wick may have one in Elmstead).
They are where the later statement says that it is so *now*, of what can be one thing only.
"""

from __future__ import annotations

import re

from . import verbs
from .tokens import WORD, content_words, lowered, stem

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_FIGURES = {
    word: str(value)
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(),
        start=2,
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000"}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_FIGURES)})\b")
_NEGATION = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|without|cannot|neither|nor)\b|n['’]t\b"
)
# what is denied in the form alone: "can't wait" is joy, "not only" says more
_NO_DENIAL = re.compile(
    r"\b(?:can(?:['’]t|not| not) (?:wait|help|believe|imagine|stop|get enough)"
    r"|not (?:only|just|even|to mention)|no (?:doubt|wonder|matter|problem|worries|less)"
    r"|never mind|why (?:not|don['’]t)|nothing but|wouldn['’]t mind|if not)\b"
    r"|,\s*(?:is|are|was|were|do|does|did|have|has|can|could|wo|would|should)n['’]t"
    r" (?:i|you|he|she|it|we|they|there)\W*$"
)
_NAME = re.compile(r"(?<!^)(?<![.!?\"“] )\b[A-Z]\w+")
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|morning|noon|evening|night|week(?:end)?s?"
    r"|months?|years?|spring|summer|autumn|winter|dawn|dusk|midnight"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|january|february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)


def says_the_same(a: str, b: str) -> bool:
    """Near in meaning is not the same where numbers, negations or names differ."""
    return numbers(a) == numbers(b) and negated(a) == negated(b) and names(a) == names(b)


def without_numbers(text: str) -> str:
    return re.sub(_NUMBER_WORD, "", _NUMBER.sub("", text.lower()))


def numbers(text: str) -> set[str]:
    """The numbers of a text in figures: `nine` is 9, and `1,000` is 1000."""
    lowered = text.lower()
    figures = {re.sub(r",(?=\d{3}\b)", "", number) for number in _NUMBER.findall(lowered)}
    return figures | {_FIGURES[word] for word in _NUMBER_WORD.findall(lowered)}


def negated(text: str) -> bool:
    """Whether a text denies something.

    >>> negated("I did not sell it."), negated("I can't wait to sell it!")
    (True, False)
    """
    return bool(_NEGATION.search(_NO_DENIAL.sub(" ", text.lower())))


def names(text: str) -> set[str]:
    """Words with a capital that begin no sentence."""
    return set(_NAME.findall(text))


def times(text: str) -> set[str]:
    """Words of a time: what was not so yesterday may be so today."""
    return {word.lower() for word in _TIME.findall(text)}


# --- contradicting --------------------------------------------------------------------------------

SAME_MATTER = 0.6  # share of the words that two statements on one matter have in common
OF_ITS_OWN = 1  # words that one of two counts may have and the other not

_FRAME = re.compile(r'^\S.{0,80}? (?:says: "(?P<said>.+)"|claims that (?P<claimed>.+))$', re.DOTALL)
_DENYING = re.compile(
    r"\b(?:not|no|never|nobody|nothing|none|without|cannot|neither|nor|longer|any ?more|ever)\b"
    r"|\b\w+n['’]t\b"
)
# what lasts: of this the number changes, where an event that has another number is another event
_STATE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|keeps?|owns?|owes?|costs?|takes?|weighs?|measures?"
    r"|holds?|counts?|needs?|earns?|charges?|asks?)\b|['’](?:s|m|re|ve)\b"
)
_ONE_THING = re.compile(r"\b(?:for|of|from) (?:the|my|this|that|their|his|her|our)\b")


def contradicts(new: str, known: str) -> bool:
    """Whether two statements on one matter cannot both hold: a denial, another number, or, of what
    is one thing at a time, what it is now.

    Another name alone is no contradiction: who owns one dog may own two.

    >>> contradicts("The toll is nine crowns.", "The toll is 7 crowns.")
    True
    >>> contradicts("Alice sold nine oxen.", "Alice sold seven oxen.")
    False
    """
    new, known = _said(new), _said(known)
    if replaces(new, known):
        return True
    if times(new) != times(known) or verbs.mood_of(new) != verbs.mood_of(known):
        return False
    if negated(new) != negated(known):
        return _denies(new, known) if negated(new) else _denies(known, new)
    return names(new) == names(known) and _counts_otherwise(new, known)


def _said(text: str) -> str:
    """What was said, without the frame: `Sam says: "…"` makes any two sentences of Sam alike."""
    framed = _FRAME.match(text.strip())
    return (framed["said"] or framed["claimed"]) if framed else text


def _words(text: str) -> set[str]:
    plain = _DENYING.sub(" ", without_numbers(text))
    return content_words(WORD.sub(lambda word: verbs.base(word[0]), plain))


def _subject(text: str) -> list[str]:
    """The words before the verb: who does not keep the ferry is not whose brother keeps it."""
    before: list[str] = []
    for word in WORD.findall(text.lower().replace("’", "'")):
        doing = verbs.is_past(word) or word in verbs.THIRD or word in verbs.AUXILIARIES
        if before and (doing or word.endswith("n't") or before[-1] in ("i", "we", "they")):
            break
        if word not in ("not", "no", "longer", "never"):
            before.append(word)
    return before


def _in_order(text: str) -> list[str]:
    said = _words(text)
    plain = WORD.sub(lambda word: verbs.base(word[0]), text.lower())
    return [root for root in map(stem, lowered(plain)) if root in said]


def _denies(denial: str, claim: str) -> bool:
    """Who denies less than was claimed denies it; who denies more denies something else."""
    if not (names(denial) <= names(claim) and numbers(denial) <= numbers(claim)):
        return False
    if _subject(denial) != _subject(claim):
        return False
    denied, claimed = _words(denial), _words(claim)
    words = iter(_in_order(claim))
    if not all(word in words for word in _in_order(denial)):
        return False  # the uncle sold, and not to the uncle was sold
    return len(denied) >= 2 and denied <= claimed and len(denied) >= SAME_MATTER * len(claimed)


def _counts_otherwise(new: str, known: str) -> bool:
    if not numbers(new) or not numbers(known) or numbers(new) == numbers(known):
        return False
    if len(numbers(new)) != len(numbers(known)):
        return False
    if _subject(without_numbers(new)) != _subject(without_numbers(known)):
        return False
    a, b = _words(new), _words(known)
    if len(a & b) < 2 or len(a ^ b) > OF_ITS_OWN:
        return False
    return all(_STATE.search(text) or _ONE_THING.search(text) for text in (new, known))


# --- replacing ------------------------------------------------------------------------------------

_NOW = re.compile(
    r"\b(?:now|nowadays|these days|from now on|currently|at present|instead)\b", re.IGNORECASE
)
_BESIDE = re.compile(r"\b(?:also|too|as well|still|both|another|sometimes|often)\b", re.IGNORECASE)
_WHO = r"^(?P<who>[\w'’-]+?(?: [\w'’-]+){0,4}?)"
_AM = r"(?:['’](?:m|s|re|ve)| am| is| are| have| has)?(?: been)?"
_PLACE = re.compile(
    _WHO + _AM + r" (?:(?P<home>liv|dwell|resid)|work|serv)(?:es?|s|ing)?"
    r"(?: with(?: [\w'’-]+){1,3}?)? (?:in|at|on) (?P<what>.+)$",
    re.IGNORECASE,
)
_MOVED = re.compile(
    _WHO + r"(?: have| has|['’]ve|['’]s)? moved (?:house |back |away ){0,2}to (?P<what>.+)$",
    re.IGNORECASE,
)
_HOLDER = re.compile(
    r"^(?P<who>(?:the|my|our|his|her|their) [\w'’-]+(?: [\w'’-]+){0,4}?) (?:is|are)"
    r" (?:called |named )?(?P<what>.+)$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"^(?:(?:the|old|young|master|mistress) )?(?P<name>[A-Z][\w'’-]+)")
_COMMON = re.compile(r"^(?:the|a|an|my|our|his|her|their) (?P<name>[a-z][\w'’-]+)", re.IGNORECASE)


def replaces(new: str, known: str) -> bool:
    """Whether `new` says what took the place of `known`: of one subject, as it is now.

    >>> replaces("I live in Harbourtown now.", "I live in Wick.")
    True
    >>> replaces("I live in Harbourtown.", "I live in Wick.")
    False
    """
    after, before = _held(new), _held(known)
    if after is None or before is None or after[:2] != before[:2] or times(new) != times(known):
        return False
    if _BESIDE.search(new) or negated(new) or negated(known):
        return False
    changed = _NOW.search(new) or _MOVED.match(new)
    return bool(changed) and after[2] != before[2] and after[2] not in known.lower()


def _held(text: str) -> tuple[str, str, str] | None:
    """Whose, which kind of thing, and what it is; None where it is not of one thing at a time."""
    flat = " ".join(_NOW.sub(" ", text).split()).strip(".,!? ")
    for kind, rule in (("home", _MOVED), ("place", _PLACE), ("holder", _HOLDER)):
        found = rule.match(flat)
        if found is None:
            continue
        if kind == "place":
            kind = "home" if found["home"] else "work"
        name = _NAMED.match(found["what"])
        if name is None and kind == "work":
            name = _COMMON.match(found["what"])
        return (found["who"].lower(), kind, name["name"].lower()) if name else None
    return None
