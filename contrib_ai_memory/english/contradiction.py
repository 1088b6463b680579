"""Contradictions: which two statements of one speaker cannot both hold, and which say the same.

The rules look at what embeddings hardly see: numbers, negations, names and times. Ending a
statement that still holds hides the truth, so a rule that is not sure says no: an event with
another number may be another event, and what was false yesterday may be true today. Another name
is no contradiction either (somebody with a brother in Wick may have one in Elmstead), except where
the later statement says that something is otherwise *now*: where somebody lives, who the reeve is.
"""

from __future__ import annotations

import re

from ..text.segmentation import WORD, words_of
from . import tokens
from .time_words import times
from .tokens import NUMBER_WORD, NUMBERS, content_words, stem

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LABEL = re.compile(
    r"(?:^\W*|[,.;:!?]\s+|\b(?:the|an?|in|at|on|of|to|from|by|near|for|with|and|my|our|your|his|her"
    r"|their|this|that)\s+)(?P<thing>[^\W\d_]+)\s+(?P<number>\d+)\b"
)
_IN_WORDS = re.compile(
    rf"\b(?:one(?= (?:hundred|thousand))|{NUMBER_WORD})\b"
    rf"(?: (?:hundred|thousand)\b"
    rf"(?: and (?:one|{NUMBER_WORD})\b(?! (?:hundred|thousand)\b)| (?:one|{NUMBER_WORD})\b)?)*"
)
_NOT = "not|no|never|nobody|nothing|none|without|cannot|neither|nor"
_NEGATION = re.compile(rf"\b(?:{_NOT})\b|n['’]t\b")
# negative in form alone: "can't wait", "not only", "it is, isn't it?"
_NO_DENIAL = re.compile(
    r"\b(?:can(?:['’]t|not| not) (?:wait|help|believe|imagine)|not (?:only|just|even)"
    r"|no (?:doubt|wonder|matter|problem|worries)|never mind|nothing but"
    r"|why (?:not|don['’]t)|if not)\b"
    r"|,\s*\w+n['’]t (?:i|you|he|she|it|we|they|there)\W*$"
)
_DENYING = re.compile(rf"\b(?:{_NOT}|longer|any ?more|ever)\b|\b\w+n['’]t\b")
_NAME = re.compile(r"(?<!^)(?<![.!?\"“] )\b[A-Z]\w+")
_FRAME = re.compile(r'^\S.{0,80}? (?:says: "(?P<said>.+)"|claims that (?P<claimed>.+))$', re.DOTALL)
SAME_MATTER = 0.6  # share of the words that two statements on one matter have in common

_NO_LONGER = re.compile(r"\bno longer\b|\bany ?more\b", re.IGNORECASE)
_ANEW = re.compile(
    r"\b(?:now|nowadays|again|no longer|any ?more|instead|moved|changed|these days|as of"
    r"|(?:from|starting) (?:now|today|tonight|tomorrow)(?: on)?|since (?:\w+day|this))\b",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\b(?:also|too|as well|still|both|another|sometimes|often)\b", re.IGNORECASE)
_MOVED_TO = re.compile(r"(?:\b(?:have|has) |['’](?:ve|s) )?\bmoved to\b", re.IGNORECASE)
# "The reeve is", "I live in", "My brother works at"; and of what
_FRAMED = re.compile(
    r"^\W*(?P<frame>(?!it\b|he\b|she\b|they\b|we\b|i['’]?m?\b)(?:[\w'’-]+ ){1,5}?(?:is|are)"
    r"|(?:[\w'’-]+ ){1,5}?(?:live|work|stay|serve|open|close)s? (?:in|at|on))"
    r" (?P<value>[^,.;!?]+)",
    re.IGNORECASE,
)
_PLACED = re.compile(r"^(?:in|at|on|of|to|from|with|for|by|near)\b", re.IGNORECASE)
# the number of a lasting state changes; an event with another number is another event
_STATE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|keeps?|owns?|owes?|costs?|takes?|weighs?|measures?"
    r"|holds?|counts?|needs?|earns?|charges?|asks?)\b|['’](?:s|m|re|ve)\b"
)
_ONE_THING = re.compile(r"\b(?:for|of|from) (?:the|my|this|that|their|his|her|our)\b")
_WILL = re.compile(r"\b(?:will|shall|won['’]t|gonna|going to)\b|['’]ll\b", re.IGNORECASE)
_MODAL = re.compile(r"\b(can|could|would|may|might|must|should|ought)(?:n?['’]?t|not)?\b|['’]d\b")
_IF = re.compile(r"\b(?:if|unless|whether)\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"(?<=[.!?;,:])\s+|\s+(?=but\b|because\b)")


# --- what cannot both hold ------------------------------------------------------------------------


def contradicts(new: str, known: str) -> bool:
    """Whether two statements on one matter cannot both hold.

    They contradict if one denies the other, gives another number, or says that something that can
    be one thing at a time has changed. Another name alone is no contradiction.

    >>> contradicts("The toll is nine crowns.", "The toll is 7 crowns.")
    True
    >>> contradicts("Alice sold nine oxen.", "Alice sold seven oxen.")
    False
    """
    new, known = _said(new), _said(known)
    over = filter(_NO_LONGER.search, _CLAUSE_END.split(new))
    if replaces(new, known) or any(_contradicts(clause, known) for clause in over):
        return True
    return _contradicts(new, known)


def _contradicts(new: str, known: str) -> bool:
    if times(new) != times(known) and not _NO_LONGER.search(new):
        return False
    if _tense_and_mood(new) != _tense_and_mood(known):
        return False
    if negated(new) != negated(known):
        return _denies(new, known) if negated(new) else _denies(known, new)
    return _names(new) == _names(known) and _counts_otherwise(new, known)


def replaces(new: str, known: str) -> bool:
    """Whether `new` says that what `known` states is otherwise from now on.

    >>> replaces("I live in Harbourtown now.", "I live in Wick.")
    True
    >>> replaces("I live in Harbourtown.", "I live in Wick.")
    False
    >>> replaces("From tomorrow I close at ten.", "I close at nine.")
    True
    """
    new, known = _said(new), _said(known)
    first = _CLAUSE_END.split(known)[0]
    if not tells_change(new) or _BESIDE.search(new) or negated(new) or negated(first):
        return False
    again = " ".join(_ANEW.sub(" ", _MOVED_TO.sub("live in", new)).split())
    before = _ANEW.sub(" ", first)
    if times(again) != times(before) or of_the_past(again) or of_the_past(before):
        return False
    if words_of(_without_numbers(again)) == words_of(_without_numbers(before)):
        counts, counted = numbers(again), numbers(before)
        return counts != counted and len(counts) == len(counted) and not are_apart(again, before)
    now, then = _FRAMED.match(again), _FRAMED.match(before)
    if not now or not then or now["frame"].lower() != then["frame"].lower():
        return False
    value, held = now["value"].strip(), then["value"].strip()
    alike = bool(_names(f"x {value}")) == bool(_names(f"x {held}"))  # no cottage in place of Wick
    return alike and value.lower() not in known.lower() and not _PLACED.match(value)


def denies(new: str, known: str) -> bool:
    """Whether a statement that ends a known one says that it never was so.

    What held and has changed is not denied.

    >>> denies("I did not sell the mare.", "I sold the mare.")
    True
    >>> denies("I do not live in Wick any more.", "I live in Wick.")
    False
    """
    new, known = _said(new), _said(known)
    if not of_the_past(known) or tells_change(new):
        return False
    return negated(new) != negated(known) or contradicts(new, known)


def tells_change(text: str) -> bool:
    """Whether a statement says that something is no longer as it was.

    >>> tells_change("Radios are on seven now."), tells_change("Radios are on four.")
    (True, False)
    """
    return bool(_ANEW.search(text))


def are_apart(a: str, b: str) -> bool:
    """Whether two texts are of two things of one sort that have numbers.

    >>> are_apart("Barrel 3 holds 21 apples.", "Barrel 4 holds 9 apples.")
    True
    """
    one, other = (dict(_LABEL.findall(_in_figures(text))) for text in (a, b))
    things = one.keys() & other.keys() - tokens.FUNCTION_WORDS
    return any(one[thing] != other[thing] for thing in things)


def _denies(denial: str, claim: str) -> bool:
    """Whether a denial denies a claim: it says no more than the claim does, in the same order."""
    if not (_names(denial) <= _names(claim) and numbers(denial) <= numbers(claim)):
        return False
    if not _begin_alike(denial, claim):
        return False
    denied, claimed = _matter(denial), _matter(claim)
    rest = iter(_in_order(claim))
    if not all(root in rest for root in _in_order(denial)):
        return False  # "the uncle sold it" is not denied by "it was not sold to the uncle"
    least = 0 if _NO_LONGER.search(denial) else SAME_MATTER * len(claimed)
    return denied <= claimed and len(denied) >= max(2, least)


def _counts_otherwise(new: str, known: str) -> bool:
    """Whether both state a lasting number of the same thing, and not the same number."""
    counts, counted = numbers(new), numbers(known)
    if not counts or counts == counted or len(counts) != len(counted) or are_apart(new, known):
        return False
    if not _begin_alike(_without_numbers(new), _without_numbers(known)):
        return False
    a, b = _matter(new), _matter(known)
    if len(a & b) < 2 or len(a ^ b) > 1:
        return False
    return all(_STATE.search(text) or _ONE_THING.search(text) for text in (new, known))


# --- what they say --------------------------------------------------------------------------------


def says_the_same(a: str, b: str) -> bool:
    """Whether numbers, negations, names and days agree in two texts that are near in meaning."""
    if times(a) and times(b) and times(a) != times(b):
        return False
    return numbers(a) == numbers(b) and negated(a) == negated(b) and _names(a) == _names(b)


def negated(text: str) -> bool:
    """Whether a text is a negation.

    >>> negated("I did not sell it."), negated("I can't wait to sell it!")
    (True, False)
    """
    return bool(_NEGATION.search(_NO_DENIAL.sub(" ", text.lower())))


def numbers(text: str) -> set[str]:
    """The numbers of a text in figures.

    >>> sorted(numbers("Nine men paid 1,000 marks, and four hundred and twelve are owed."))
    ['1000', '412', '9']
    >>> sorted(numbers("between five hundred and six hundred marks"))
    ['500', '600']
    """
    return {re.sub(r",(?=\d{3}\b)", "", each) for each in _NUMBER.findall(_in_figures(text))}


def of_the_past(text: str) -> bool:
    """Whether a question asks for, or a statement tells, what was or what happened.

    The first auxiliary decides; without one, any verb in the past tense.

    >>> [of_the_past(each) for each in ("Where did I live?", "Has Bram paid?", "Tom's mare died.")]
    [True, True, True]
    >>> [of_the_past(each) for each in ("Is the bridge closed?", "My horse is called Thunder.")]
    [False, False]
    """
    words = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    for place, whole in enumerate(words):
        word = whole.removesuffix("n't")
        following = words[place + 1 : place + 2 + _PERFECT_WITHIN]
        if word in tokens.HAVE - {"had"} or whole.endswith("'ve"):
            done = next((n for n, each in enumerate(following) if tokens.is_participle(each)), None)
            return done is not None and not {"a", "an"} & set(following[:done])
        did = whole.endswith("'d") and whole[:-2] in tokens.QUESTION_WORDS
        if did or word in ("was", "were", "did", "had", "used") or following[:1] == ["used"]:
            return True
        if word in tokens.AUXILIARIES or _SHORTENED.fullmatch(whole):
            return False
    return any(map(tokens.is_past, words))


# "it's", "I'm", "she'd"; not "Alice's"
_SHORTENED = re.compile(
    rf"(?:{'|'.join(tokens.QUESTION_WORDS)}|it|he|she|that|this|there|here)'s|\w+'(?:m|re|ll|d)"
)
_PERFECT_WITHIN = 3  # words between "has" and its participle: "has the old miller paid?"


def _tense_and_mood(text: str) -> tuple[bool, list[str], bool, bool]:
    """Future, modals, past, conditional."""
    modals = sorted(_MODAL.findall(text.lower()))
    return bool(_WILL.search(text)), modals, of_the_past(text), bool(_IF.search(text))


def _said(text: str) -> str:
    """The statement without its frame: `Sam says: "…"` makes any two sentences of Sam alike."""
    framed = _FRAME.match(text.strip())
    return (framed["said"] or framed["claimed"]) if framed else text


def _names(text: str) -> set[str]:
    """Capitalised words inside sentences."""
    return set(_NAME.findall(text))


def _in_figures(text: str) -> str:
    """A text in lower case with its numbers in figures."""
    return _IN_WORDS.sub(lambda words: str(_value(words[0])), text.lower())


def _value(words: str) -> int:
    whole = part = 0
    for word in words.replace(" and ", " ").split():
        value = sum(NUMBERS.get(each, 1) for each in word.split("-"))
        if value == 1000:
            whole, part = whole + max(part, 1) * value, 0
        else:
            part = max(part, 1) * value if value == 100 else part + value
    return whole + part


def _without_numbers(text: str) -> str:
    return _NUMBER.sub("", _in_figures(text))


def _matter(text: str) -> set[str]:
    """The content words of a text without its numbers and negations."""
    return content_words(_DENYING.sub(" ", _without_numbers(text)))


def _begin_alike(a: str, b: str) -> bool:
    """Whether two texts are of one subject: "I keep the ferry", "my brother keeps it" are not."""
    return words_of(a)[:1] == words_of(b)[:1]


def _in_order(text: str) -> list[str]:
    matter = _matter(text)
    return [root for root in map(stem, words_of(text)) if root in matter]
