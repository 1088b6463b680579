"""Corrections: "no wait, not the mill, the chapel" as the statement that its speaker meant.

A correction names what was wrong and what is right; the rest stands in a line before it. Completed,
it tells all that the older line told, so that the older line can end as a whole. It is read only
where what was wrong stands in the older line once, and what takes its place is clear.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from ..text.segmentation import words_of
from .tokens import AUXILIARIES, BASES, FUNCTION_WORDS, NUMBER_WORD, THIRD, content_words, is_past

LONGEST = 200  # characters of a correction
WORDS_AT_MOST = 4  # of what is right: more is a statement of its own

_OPENS = re.compile(
    r"^\W*(?:(?:no|nay|nah|wait|sorry|oops|ah|oh|well|actually|hold on|scratch that"
    r"|my (?:mistake|bad)|i misspoke|i (?:was|counted|told you) wrong"
    r"|(?:that|it)(?:['’]?s| is| was) wrong)"
    r"\b[\s,.;:!–—-]*)+",
    re.IGNORECASE,
)
_COUNT = (
    rf"(?:\d+|(?:an?|one|{NUMBER_WORD}) (?:hundred|thousand)(?: (?:and )?(?:one\b|{NUMBER_WORD}))*"
    rf"|{NUMBER_WORD})"
)
_NUMBER = re.compile(rf"\b{_COUNT}\b", re.IGNORECASE)
_DAY = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|tonight)\b", re.IGNORECASE
)
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?")
_DETERMINER = r"(?:(?:in|at|on|by|near|called|named|to|for) )?(?:(?:the|an?|my|our) )?"
_NOT_IT = re.compile(
    r"(?:^|[,;:.!–—] *|\b(?P<whom>it|he|she|that|they|there|i|we)"
    r"(?:['’]?[sm]|['’]?re| is| are| am) |\b)"
    rf"(?:and )?(?:not|rather than|instead of) {_DETERMINER}"
    rf"(?P<wrong>{_COUNT}|[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?)(?: any ?more)?"
    r"(?=\W*$|[,;:.!]|\s+[–—-]|\s+but\b|(?<=day)\b)[,;:.! –—-]*(?:but\s+)?",
    re.IGNORECASE,
)
_MEANT = re.compile(
    r"^\W*(?:but )?(?:(?:i|we) (?:meant?|said)(?: to say)?|make (?:that|it)"
    r"|(?:it|he|she|that|they|there)(?:['’]?s| is|['’]?re| are))(?: now)? +",
    re.IGNORECASE,
)
_MEANT_ONLY = re.compile(
    r"^\W*(?:(?:i|we) (?:meant|said)(?: to say)?|make (?:that|it))\s+(?P<right>[^.!?]+?)\W*$"
    r"|^\W*(?P<before>[^.!?,]+?),? (?:i|we) (?:said|meant)\W*$",
    re.IGNORECASE,
)
_THE = re.compile(r"\bthe (?:[^\W\d_]+ )??[^\W\d_]+\b(?=\W*$|[,.;!]| and\b)", re.IGNORECASE)
_ALONE = (_NUMBER, _DAY, _THE)  # what may stand alone in a correction
_MARKS = " ,;:.-–—!"
# "the kettle wont be ready friday, ill bring it monday instead"
_PUT_OFF = re.compile(
    rf"(?:\bnot|n['’]t|\bwont|\bcant)\b[^.!?]{{0,30}}?(?P<wrong>{_DAY.pattern})[^.!?]*?"
    rf"(?:['’]ll|\bill|\bwill|\binstead|\bmake it)\b[^.!?]{{0,40}}?(?P<right>{_DAY.pattern})",
    re.IGNORECASE,
)
_I = re.compile(r"\bi(?:['’]?(?:ve|m|ll))?\b", re.IGNORECASE)
_OWNS = re.compile(r"['’]s$")
_VAGUE = frozenset("call name come go live much many alway here".split())  # stems
_SUBJECTS = frozenset("i im we he hes she shes they you".split())


def completed(said: str, before: Sequence[str]) -> tuple[int, str] | None:
    """Return which line a correction corrects, and what its speaker meant to say.

    Args:
        before: Lines of the same speaker in the same talk, oldest first.

    >>> completed("No wait, not the mill, the chapel.", ["I weave, I live by the old mill."])
    (0, 'I weave, I live by the chapel.')
    """
    if not may_correct(said):
        return None
    bare = without_admission(said)
    for place in reversed(range(len(before))):
        meant = _replaced(bare, before[place], admits=bare != said)
        if meant and meant != before[place]:
            return place, meant
        if not _NOT_IT.search(bare):  # what is right alone is of the last line
            return None
    return None


def may_correct(said: str) -> bool:
    """Whether a line has the form of a correction, whatever stands before it; no question has."""
    if said.rstrip().endswith("?") or len(said) > LONGEST:
        return False
    bare = without_admission(said)
    found = _NOT_IT.search(bare)
    if found is None:
        return bool(_PUT_OFF.search(bare) or _right_alone(bare, admits=bare != said))
    rest = f"{bare[: found.start()]} {bare[found.end() :]}"
    return bool(content_words(rest) and content_words(found["wrong"]) - _VAGUE)


def without_admission(said: str) -> str:
    """Return a line without the words that only say that something was wrong.

    >>> without_admission("i misspoke, it is the chapel")
    'it is the chapel'
    """
    return _OPENS.sub("", said) or said


def changed(known: str, meant: str) -> str:
    """Return the words that a line has in place of others once it is corrected.

    "" if it differs in several places.

    >>> changed("I weave, I live by the old mill.", "I weave, I live by the chapel.")
    'chapel'
    """
    old, new = (re.sub(r"[^\w\s'’-]", "", text).split() for text in (known, meant))
    found = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    parts = [" ".join(new[first:last]) for tag, _i, _j, first, last in found if tag != "equal"]
    if len(parts) != 1:
        return ""
    counts = [n[0] for n in _NUMBER.finditer(" ".join(new)) if parts[0] in n[0].split()]
    return counts[0] if len(counts) == 1 else parts[0]


def _right_alone(bare: str, *, admits: bool) -> str:
    """Return what is right where a line says nothing else: "thursday, i said", "sorry, seven"."""
    found = _MEANT_ONLY.match(bare)
    right = (found["right"] or found["before"]) if found else bare if admits else ""
    right = re.sub(r"^(?:on|at) ", "", right.strip(_MARKS), flags=re.IGNORECASE)
    forms = _ALONE if found else (_NUMBER, _DAY)  # not "oh, the rain"
    return right if any(form.fullmatch(right) for form in forms) else ""


def _replaced(said: str, known: str, *, admits: bool) -> str:
    """Return the known line with what is right in place of what was wrong, "" if unclear."""
    found = _NOT_IT.search(said)
    if found is None and (put_off := _PUT_OFF.search(said)):
        days = list(re.finditer(rf"\b{put_off['wrong']}\b", known, re.IGNORECASE))
        of_it = len(days) == 1 and content_words(said) & content_words(known[: days[0].start()])
        return _in_place(known, days[0], put_off["right"]) if of_it else ""
    if found is None:
        return _put_in(_right_alone(said, admits=admits), known)
    wrong, rest = found["wrong"], f"{said[: found.start()]}. {said[found.end() :]}".strip(_MARKS)
    places = list(re.finditer(rf"\b{re.escape(wrong)}(?!['’\w])", known, re.IGNORECASE))
    again = re.search(rf"\b{re.escape(wrong)}\b", rest, re.IGNORECASE)
    if len(places) != 1 or not rest or again or not content_words(wrong) - _VAGUE:
        return ""
    meant = _MEANT.sub("", rest).strip(_MARKS)
    fragment = len(meant.split()) <= WORDS_AT_MOST and not _has_verb(meant)
    for form in (_DAY, _NUMBER, _NAME):
        if form.search(f"x {wrong}"):
            rights = [each[0] for each in form.finditer(f"x {meant}")]
            if not _OWNS.search(wrong):
                rights = [_OWNS.sub("", each) for each in rights]
            rights = [each for each in rights if not re.search(rf"\b{re.escape(each)}\b", known)]
            if len(rights) != 1:
                return ""
            besides = content_words(meant.replace(rights[0], " ")) - _VAGUE
            if besides and not besides & content_words(known):
                return ""
            if form is _NUMBER and not _counts_the_same(rest, rights[0], known):
                return ""
            return _in_place(known, places[0], rights[0])
    if not fragment or _has_verb(wrong) or (found["whom"] or "it").lower() != "it":
        return ""
    the = re.match(r"(?:the|an?|my|our) ", meant, re.IGNORECASE)
    described = re.search(rf"\b(?:the|an?|my|our) (?:[a-z-]+ )?{re.escape(wrong)}\b", known, re.I)
    if the and described:  # "by the old mill": the chapel need not be old
        return _in_place(known, described, meant)
    return _in_place(known, places[0], re.sub(rf"^{_DETERMINER}", "", meant, flags=re.IGNORECASE))


def _counts_the_same(rest: str, number: str, known: str) -> bool:
    """Whether a number is said of the same things of the same person as in the known line."""
    before, _, things = rest.partition(number)
    told = content_words(" ".join([*re.findall(r"\b[A-Z]\w+|(?<=\b[Mm]y )\w+", before), things]))
    return told <= content_words(known) and bool(_I.search(known) or not _I.search(before))


def _in_place(known: str, found: re.Match[str], right: str) -> str:
    return known[: found.start()] + right + known[found.end() :]


def _put_in(right: str, known: str) -> str:
    """Return the known line with the one number or thing that a correction gives anew."""
    for form in _ALONE:
        places = list(form.finditer(known)) if form.fullmatch(right) else []
        if len(places) == 1:
            return _in_place(known, places[0], right)
    return ""


def _has_verb(text: str) -> bool:
    words = words_of(text)
    verb = any(word in AUXILIARIES | _SUBJECTS or word in THIRD or is_past(word) for word in words)
    return verb or words[:1] == [] or words[0] in BASES or set(words) <= FUNCTION_WORDS
