"""Follow-ups: questions that take their subject from the talk before them.

"why?", "and Bram?" and "what about her brother?" ask anew what was asked before. In a question that
names nobody and nothing itself, "he" and "it" are who and what was spoken of last; "when was that?"
is asked together with the question before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..language import TURNS_READ, SaidBefore
from ..text.names import folded
from ..text.segmentation import words_of
from .questions import asks, asks_of_oneself, asks_of_you, sentences_of
from .salience import telling_words
from .small_talk import courtesy_of
from .tokens import AUXILIARIES, BASES, FILLERS, QUESTION_WORDS, is_past

LONGEST = 200  # characters of a line that is completed
FEW_WORDS = 3  # "and the old mill?"

_AND = re.compile(r"^\W*(?:and|n|an['’])(?!\w)", re.IGNORECASE)
_OPENING = re.compile(
    r"^\W*(?:(?:and|but|so|then|ok|okay|well|oh|omg|n|an['’])(?!\w)[\s,]*)+", re.I
)
_QUESTION_WORD = rf"(?:{'|'.join(sorted(QUESTION_WORDS, key=len, reverse=True))})"
_BARE = re.compile(rf"(?:since )?{_QUESTION_WORD}(?: (?:much|many|long|for|not|time|day))?", re.I)
_BEGINS = re.compile(rf"^\W*{_QUESTION_WORD}\b\s*", re.IGNORECASE)
_WHAT_ABOUT = re.compile(r"(?:wh?at|how) about (?P<whom>.+)", re.IGNORECASE)
_PERSON = re.compile(r"\b(?:he|she|him|her|his|hers|they|their)\b", re.IGNORECASE)
_THING = re.compile(r"(?<!nt )(?<!n['’]t )\b(?:it|that one|this one)(?= costs?$|$)", re.IGNORECASE)
_LEANS = re.compile(  # "it" may mean nothing: "will it rain?"
    rf"\b(?:that|this|there|then|else|he|she|him|her|they|them|we|us)\b"
    rf"|^{_QUESTION_WORD}\b.* it$",
    re.IGNORECASE,
)
_NOBODY = frozenset("you me us i we yourself this that it".split())
_KIN = (
    r"(?:(?:little|big|old|young|elder|eldest) )?"
    r"(?:(?:step|grand)?(?:brother|sister|mother|father|son|daughter)|wife|husband|uncle|aunt"
    r"|cousin|niece|nephew|twin|friend|partner|neighbou?r|boss|boy|girl|kid|child|baby"
    r"|mum|mom|mam|dad|da|nan|gran|apprentice|little one)"
)
# a name that nobody bears yet; behind a preposition it is as often that of a place
_PROPER = re.compile(
    r"(?<=[a-z,] )(?<!\b(?:in|at|to|of|on|by) )(?<!\bfrom )"
    rf"(?!I['’])[A-Z](?:[\w-]|['’](?!s\b))*[a-z]\w*(?: [A-Z][\w-]*[a-z])*(?:['’]s {_KIN}\b)?"
)
_NOUN = re.compile(r"\b(?:my|your|the|an?|our) (?:(?!of\b)[a-z]+ )?(?P<noun>[a-z]{3,})\b")


def completed(line: str, turns: Sequence[SaidBefore], names: Iterable[str]) -> str:
    """Return a question with what it takes from the talk; the line itself if it takes nothing.

    Args:
        turns: What was said before, the newest at the end.
        names: Names of the people who are known.

    >>> completed("what did he pay for it?", [SaidBefore("Did Bram buy the boat?")], ["Bram"])
    'what did Bram pay for the boat?'
    >>> completed("when was that?", [SaidBefore("Did Bram buy the boat?")], ["Bram"])
    'Did Bram buy the boat and when was that?'
    >>> completed("why?", [SaidBefore("Why did Liora leave?")], ["Liora"])
    'why did Liora leave?'
    >>> completed("and for a cart", [SaidBefore("What is the toll for a rider?")], [])
    'What is the toll for a cart?'
    >>> completed("and Bram?", [SaidBefore("What does Liora sell?")], ["Liora", "Bram"])
    'What does Bram sell?'
    """
    turns, names, bare = turns[-TURNS_READ:], [*names], _bare(line)
    about = _WHAT_ABOUT.fullmatch(bare)
    whom = about["whom"] if about else bare if _is_elliptic(line, bare) else ""
    if not turns or len(line) > LONGEST or folded(whom) in _NOBODY:
        return line
    question = _asked_before(turns, names)
    if not whom:
        if _person_in(bare, names) or _NOUN.search(bare) or not asks(line):
            return line
        filled = _filled(bare, turns, names)
        if filled != bare:
            return f"{filled}?"
        return line if not question or _is_whole(line) else f"{question} and {bare}?"
    if _BARE.fullmatch(bare):
        first, *rest = _BEGINS.sub("", _OPENING.sub("", question)).split() or [""]
        first = first.lower() if first.lower() in FILLERS else first
        return f"{' '.join([bare.lower(), first, *rest])}?" if first else line
    filled = _filled(whom, turns, names)
    return f"{_with_another(question, filled, names)}?" if question else f"what about {filled}?"


def _with_another(question: str, what: str, names: Sequence[str]) -> str:
    """Return a question with somebody or something else in it: "for a cart" for "for a rider"."""
    first, *others = what.split()
    like = rf"\b{re.escape(first)}(?: [\w'’-]+){{{len(others)}}}(?: of [\w'’-]+)?"
    found = [*re.finditer(like, question, re.IGNORECASE)] if others else []
    if found:
        return f"{question[: found[-1].start()]}{what}{question[found[-1].end() :]}"
    subject = _person_in(question, names)
    return question.replace(subject, what, 1) if subject else f"{question} {what}"


def asks_on(line: str) -> bool:
    """Whether a line asks about what was said just before it.

    >>> [asks_on(each) for each in ("And how much was it?", "when did he die", "how are you?")]
    [True, True, False]
    """
    bare = _bare(line)
    leans = _AND.match(line) or _LEANS.search(line) or _WHAT_ABOUT.fullmatch(bare)
    return bool(leans) and (asks(line) or asks(bare))


def _bare(line: str) -> str:
    return _OPENING.sub("", line.strip()).rstrip(" ?!.…")


def _is_whole(line: str) -> bool:
    """Whether a question that names nobody is understood without the talk before it."""
    leans = _AND.match(line) or _LEANS.search(_bare(line))
    return not leans or asks_of_you(line) or asks_of_oneself(line) or telling_words(line) > 0


def _is_elliptic(line: str, bare: str) -> bool:
    """Whether a line is "and Bram?" or "why": no clause, and it begins or ends as questions do."""
    if _BARE.fullmatch(bare):
        return True
    opened = _OPENING.match(line)
    if not opened or _BEGINS.match(bare) or not 0 < len(bare.split()) <= FEW_WORDS:
        return False
    if line.rstrip().endswith("?"):
        return True
    does = any(each in AUXILIARIES | BASES or is_past(each) for each in words_of(bare))
    return bool(_AND.match(line)) and not does and courtesy_of(bare) is None


def _asked_before(turns: Sequence[SaidBefore], names: Sequence[str]) -> str:
    """Return the newest question of others, completed if it was a follow-up itself."""
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        if not turn.own and (asks(turn.text) or _is_elliptic(turn.text, _bare(turn.text))):
            whole = completed(turn.text, turns[:place], names)
            return sentences_of(whole)[-1].rstrip(" ?!.…")
    return ""


def _filled(text: str, turns: Sequence[SaidBefore], names: Sequence[str]) -> str:
    """Put whom and what was spoken of last in the place of the pronouns of a text.

    It is the last that somebody said, but the first of what the NPC told: its best answer. Whom
    a question was about is meant sooner than who else the answer to it names.
    """
    said = [*[each for each in turns if not each.own][-1:], *reversed(turns)]
    for form, find in ((_PERSON, _person_in), (_THING, _thing_in)):
        told = (find(each.text, names, own=each.own) for each in said)
        found, what = form.search(text), next(filter(None, told), "")
        if found and what:
            word, behind = found[0].lower(), text[found.end() :]
            after = behind.lower().split()[:1]
            owns = word in ("his", "their", "hers")
            owns |= word == "her" and bool(after) and after[0] not in FILLERS
            text = f"{text[: found.start()]}{what}{chr(39) + 's' if owns else ''}{behind}"
    return text


def _person_in(text: str, names: Sequence[str], *, own: bool = False) -> str:
    """Return the person whom a text is about, as the asker names them: "my aunt"."""
    low = folded(text)
    for name in names:
        if found := re.search(rf"\b{re.escape(folded(name))}\b", low):
            if len(low) != len(text):
                return name
            start, end = found.span()
            owned = re.match(rf"['’]s {_KIN}\b", text[end:])
            return text[start : end + (owned.end() if owned else 0)]
    kin = re.search(rf"\b(?:my|your) {_KIN}\b", text, re.IGNORECASE)
    found = kin or _PROPER.search(text)
    return _turned(found[0], own=own) if found else ""


def _thing_in(text: str, _names: Sequence[str], *, own: bool = False) -> str:
    """Return the thing that a text speaks of, with its determiner, or ""."""
    found = [
        each[0]
        for each in _NOUN.finditer(text)
        if each["noun"] not in FILLERS and not re.fullmatch(_KIN, each["noun"])
    ]
    return _turned(found[0 if own else -1], own=own) if found else ""


def _turned(what: str, *, own: bool) -> str:
    """Return what the NPC calls mine as the asker would: yours."""
    first, space, rest = what.partition(" ")
    return {"my": "your", "your": "my"}.get(first.lower(), first) + space + rest if own else what
