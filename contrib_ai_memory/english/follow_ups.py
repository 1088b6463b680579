"""Follow-ups: questions that take their subject from the talk before them.

"And how much did he pay for it?", "why?", "what about her brother?", "and Bram?" are completed from
the question before, or from the answer to it: whom "he" means, what "it" is, what is asked of
"Bram". Rules on single sentences; a question that names its subject stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..language import TURNS_READ, SaidBefore
from ..text.names import folded
from ..text.segmentation import words_of
from .questions import asks, sentences_of
from .small_talk import courtesy_of
from .tokens import AUXILIARIES, BASES, FILLERS, QUESTION_WORDS, is_past

LONGEST = 200  # characters of a line that is completed

_OPENING = re.compile(r"^\W*(?:(?:and|but|so|then|ok|okay|well|oh|hm+)\b[\s,]*)+", re.IGNORECASE)
_AND = re.compile(r"^\W*(?:and|n)\b", re.IGNORECASE)
_BARE = re.compile(
    r"(?:but |and )?(?P<word>why|when|where|how|who|whom|how much|how many|how long|since when"
    r"|what for|with whom|from whom|to whom|which one)(?: (?:not|exactly|then|so|was (?:that|it)"
    r"|is (?:that|it)))?",
    re.IGNORECASE,
)
_WHAT_ABOUT = re.compile(r"(?:what|how) about (?P<whom>.+)", re.IGNORECASE)
_PERSON = re.compile(r"\b(?P<whom>he|she|him|her|his|hers|they|them|their)\b", re.IGNORECASE)
_THING = re.compile(r"\b(?:it|that one|this one)\b(?!['’])", re.IGNORECASE)
# "what was it for", "how much did he pay for it"; not "how long does it take"
_OF_IT = re.compile(
    r"(?:what|who|why|when|where|how)\b.*\bit(?: (?:for|about|from|with|of|like))?$",
    re.IGNORECASE,
)
# "what is it that Bram eats", "which show is it makes the money", "what do they call this": nobody
# and nothing is meant
_OF_NOTHING = re.compile(
    r"\b(?:is|was|were|are|['’]?s) (?:it|there)\b(?= (?!(?:for|about|from|with|of|like|to|in|at|on"
    r"|now|then|today|yet|still|all|again|over|done|true|worth|here|ready)\b)\w)"
    r"|\b(?:what|how) (?:do|did|would) they (?:call|say)\b|\bthey (?:call|say)\b",
    re.IGNORECASE,
)
_THERE = re.compile(r"\bthere\b$", re.IGNORECASE)
_NOBODY = frozenset("you me us i we yourself this that it".split())
_OWNING = frozenset("his their hers".split())
_NOT_AFTER_HER = FILLERS | QUESTION_WORDS
_PROPER = r"[A-Z](?:[\w-]|['’](?!s\b))*[a-z]\w*"
_KIN = (
    r"(?:brother|sister|mother|father|son|daughter|wife|husband|uncle|aunt|cousin|friend|master"
    r"|partner|neighbou?r|boss|boy|girl)"
)
_NOUN = re.compile(
    r"\b(?P<phrase>(?:my|your|the|an?|his|her|their|our) (?:(?!of\b)[a-z]+ )?(?P<noun>[a-z]{3,}))\b"
)
_OWN_THING = re.compile(
    r"\b(?:my|your|the|an?|his|her|their|our|that|this)(?: [a-z]+)? [a-z]{3,}\b"
)
_QUESTION_WORD = re.compile(
    rf"^\W*(?:{'|'.join(sorted(QUESTION_WORDS, key=len, reverse=True))})\b\s*", re.IGNORECASE
)


def completed(line: str, turns: Sequence[SaidBefore], names: Iterable[str]) -> str:
    """Return a question with what it takes from the talk; the line itself if it takes nothing.

    Args:
        turns: What was said before, the newest at the end.
        names: Names of the people who are known.

    >>> completed("what did he pay for it?", [SaidBefore("Did Bram buy the boat?")], ["Bram"])
    'what did Bram pay for the boat?'
    >>> completed("why?", [SaidBefore("Why did Liora leave?")], ["Liora"])
    'why did Liora leave?'
    >>> completed("and for a cart", [SaidBefore("What is the toll for a rider?")], [])
    'What is the toll for a cart?'
    >>> completed("and Bram?", [SaidBefore("What does Liora sell?")], ["Liora", "Bram"])
    'What does Bram sell?'
    """
    bare = _OPENING.sub("", line.strip()).rstrip(" ?!.…")
    turns = turns[-TURNS_READ:]
    if not turns or len(line) > LONGEST or not (asks(line) or _is_elliptic(line, bare)):
        return line
    names = [*names]
    question = _asked_before(turns, names)
    if found := _BARE.fullmatch(bare):
        rest = _QUESTION_WORD.sub("", _OPENING.sub("", question))
        first = rest.partition(" ")[0]
        rest = first.lower() + rest[len(first) :] if first.lower() in FILLERS else rest
        return f"{found['word'].lower()} {rest}?" if rest else line
    about = _WHAT_ABOUT.fullmatch(bare)
    whom = about["whom"] if about else bare if _is_elliptic(line, bare) else ""
    if folded(whom) in _NOBODY:
        return line
    filled = _filled(whom or bare, turns, names)
    if whom and question:
        if subject := _person_in(question, names):
            return f"{question.replace(subject, filled, 1)}?"
        if like := _like(filled, question):
            return f"{question[: like.start()]}{filled}{question[like.end() :]}?"
        return f"{question} {filled}?"
    if filled == (whom or bare):
        rest = _QUESTION_WORD.sub("", _OPENING.sub("", question))
        return f"{bare}, {rest}?" if rest and _OF_IT.match(bare) else line
    return f"what about {filled}?" if whom else f"{filled}?"


def _asked_before(turns: Sequence[SaidBefore], names: Sequence[str]) -> str:
    """Return the newest question of others, completed if it was a follow-up itself."""
    for place in range(len(turns) - 1, -1, -1):
        turn = turns[place]
        bare = _OPENING.sub("", turn.text.strip()).rstrip(" ?!.…")
        if not turn.own and (asks(turn.text) or _is_elliptic(turn.text, bare)):
            whole = completed(turn.text, turns[:place], names)
            return sentences_of(whole)[-1].rstrip(" ?!.…")
    return ""


def _is_elliptic(line: str, bare: str) -> bool:
    """Whether a line is "and Bram?" or "why": no clause, and it begins or ends as questions do."""
    if _BARE.fullmatch(bare):
        return True
    if line.rstrip().endswith("?"):
        return line.strip() != bare + "?" and len(bare.split()) <= 3
    if not _AND.match(line) or not 0 < len(bare.split()) <= 3 or courtesy_of(bare):
        return False
    return not any(each in AUXILIARIES or each in BASES or is_past(each) for each in words_of(bare))


def _like(phrase: str, question: str) -> re.Match[str] | None:
    """Find what stands in a question where a phrase is to: "for a rider" for "for a cart"."""
    first, *others = phrase.split()
    words = rf"\b{re.escape(first)}(?: [\w'’-]+){{{len(others)}}}(?: of [\w'’-]+)?"
    return next(reversed([*re.finditer(words, question, re.IGNORECASE)]), None) if others else None


def _filled(text: str, turns: Sequence[SaidBefore], names: list[str]) -> str:
    """Put the people and things for which the pronouns of a text stand in their place."""
    if _OF_NOTHING.search(text):
        return text
    found = _PERSON.search(text)
    person = _newest(turns, lambda said: _people_in(said, names)) if found else ""
    if found and person and not _person_in(text, names):
        text = _PERSON.sub(lambda one: _in_place(one, text, person), text, count=1)
    thing = _THING.search(text) or _THERE.search(text)
    own = thing and _OWN_THING.search(text[: thing.start()])  # "the coat that nobody wears it"
    if thing and not own and (what := _newest(turns, _things_in)):
        at = "at " if thing.group().lower() == "there" else ""
        text = text[: thing.start()] + at + what + text[thing.end() :]
    return text


def _in_place(found: re.Match[str], text: str, person: str) -> str:
    word = found["whom"].lower()
    behind = text[found.end() :].split()
    owns = word in _OWNING or (
        word == "her" and bool(behind) and behind[0].lower() not in _NOT_AFTER_HER
    )
    return f"{person}'s" if owns else person


def _newest(turns: Sequence[SaidBefore], find: Callable[[str], Sequence[str]]) -> str:
    """Return what the newest turn with something to find speaks of, as the asker would say it.

    The last that somebody said, but the first of what the NPC told: its best answer comes first.
    """
    for turn in reversed(turns):
        if found := find(turn.text):
            return _MINE.sub(lambda of: _TURNED[of[0].lower()], found[0]) if turn.own else found[-1]
    return ""


_MINE = re.compile(r"^(?:my|your)\b", re.IGNORECASE)
_TURNED = {"my": "your", "your": "my"}


def _person_in(text: str, names: Sequence[str]) -> str:
    """Return the person whom a text is about, as it names them: "Liora's brother", "my aunt"."""
    low = folded(text)
    for name in names:
        if found := re.search(rf"\b{re.escape(folded(name))}\b", low):
            start, end = found.span()
            if len(low) != len(text):
                return name
            owned = re.match(rf"['’]s {_KIN}\b", text[end:])
            return text[start : end + (owned.end() if owned else 0)]
    if kin := re.search(rf"\b(?:my|your) {_KIN}\b", text, re.IGNORECASE):
        return kin.group()
    # an unknown name behind a preposition is as often that of a place
    proper = re.search(
        r"(?<=[a-z,] )(?<!\b(?:in|at|to|of|on|by) )(?<!\b(?:from|near|into) )"
        rf"({_PROPER}(?:['’]s {_KIN})?)",
        text,
    )
    return proper.group() if proper else ""


def _people_in(text: str, names: Sequence[str]) -> list[str]:
    person = _person_in(text, names)
    return [person] if person else []


def _things_in(text: str) -> list[str]:
    """Return the things that a text speaks of, with their determiners."""
    return [
        found["phrase"]
        for found in _NOUN.finditer(text)
        if found["noun"] not in FILLERS and not re.fullmatch(_KIN, found["noun"])
    ]
