"""Questions about the agenda: what is due, owed, promised, asked for, or on a day.

Rules on words as players type them. They tell whose commitments are asked for; which of them is
found by the day and the words that the question names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .commitments import Commitment
from .due_dates import due
from .tokens import content_words

Side = Literal["", "asker", "listener", "named"]


@dataclass(frozen=True, slots=True)
class AgendaQuestion:
    """Which commitments a question asks for.

    Attributes:
        who: Whose they are to keep; "named" is the person whom it names, "" is anybody.
        to: To whom they are owed, alike.
        kinds: Only of these kinds; empty is any.
        day: The ISO date that it names, or "".
        about: The stems of what else it names.
        by_day: Whether it asks for whatever is on that day.
        whether: Whether it asks if there is any: "do i owe you anything?".
    """

    who: Side = ""
    to: Side = ""
    kinds: tuple[Commitment, ...] = ()
    day: str = ""
    about: frozenset[str] = frozenset()
    by_day: bool = False
    whether: bool = False


_WHAT = r"(?:what|wat|wot|whit|how much)"
_DID = r"(?:did|do|have|must|should|shall|was|were|am|are|is it)"
_YOU = r"(?:you|u|ye|ya)"
_SAID = (
    r"(?:promised?|swore|sworn|swear|vow(?:ed)?|owe|say (?:id|i'd|i would|i'll|you'd|you would"
    r"|you'll)|said (?:id|i'd|you'd)|offer|to do|do for|to begin|to bring|meant to|supposed to"
    r"|hang on to|keep for|keeping)\b"
)
_ALL: tuple[Commitment, ...] = ("promise", "debt", "request", "plan")
_OWED: tuple[Commitment, ...] = ("debt", "promise")
_DEEDS: tuple[Commitment, ...] = ("promise", "debt", "plan")
_ASKED: tuple[Commitment, ...] = ("request",)

# the first that is found decides
_PATTERNS: tuple[tuple[str, Side, Side, tuple[Commitment, ...]], ...] = (
    (rf"{_WHAT} (?:did|have) i ask(?:ed)? (?:of )?{_YOU}\b", "listener", "asker", _ASKED),
    (rf"\b(?:do|does|did|what) {_YOU} (?:still )?owe me\b", "listener", "asker", _OWED),
    (r"\bwho (?:still )?owes me\b|\bam i (?:still )?owed\b", "", "asker", _OWED),
    (rf"{_WHAT} (?:does|do) .{{2,30}} (?:still )?owe me\b", "named", "asker", _OWED),
    (rf"\b(?:do|did) i (?:still )?owe {_YOU}\b|{_WHAT} .{{0,9}}\bi (?:still )?owe {_YOU}\b",
     "asker", "listener", _OWED),
    (rf"\b(?:do|did) i (?:still )?owe\b|{_WHAT} .{{0,9}}\bi (?:still )?owe\b|\bin the hole for\b",
     "asker", "", _OWED),
    (rf"(?:{_WHAT}(?: thing)?|(?:till?|until|by) when) {_DID} (?:it )?{_YOU} (?:still )?(?:have "
     rf"|got |to |do )*{_SAID}", "listener", "", _ALL),
    (rf"{_WHAT}(?:'s| is) it {_YOU} (?:do|have|must|will|are) ", "listener", "", _ALL),
    (rf"\b(?:did|have) {_YOU} (?:promise|swear)", "listener", "", _ALL),
    (rf"(?:(?:{_WHAT}|when) {_DID}|\b(?:did|have|am|was)) i (?:still )?(?:have |got )?{_SAID}",
     "asker", "", _DEEDS),
    (rf"{_WHAT}(?:'?s| is| does| did| has| was) (?!i\b|{_YOU}\b|it\b|the\b|that\b|this\b)"
     r"(?:[\w']+ ){1,3}?(?:have to do|got to do|to do\b|owe\b|promised?\b|meant to|supposed to"
     r"|bringing\b|doing for\b)", "named", "", _DEEDS),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), who, to, kinds) for pattern, who, to, kinds in _PATTERNS)
_ON_A_DAY = re.compile(
    rf"\b{_WHAT}(?:'?s| is| are)? (?:thing )?(?:is |do we have )?(?:on|up|due|planned|for|happen\w*"
    rf"|falls? due|to be (?:done|finished)|going on|set)\b|\b{_WHAT} (?:is )?happen\w*"
    r"|\b(?:remind me|anything) .*\bon\b"
)
_DAY = re.compile(r"\b(?:today|tonight|tomorrow|\w+day)\b")
_OPEN = re.compile(
    rf"\b{_WHAT}(?:'?s| is) (?:still )?(?:due|owed|outstanding|open|on (?:your|ur|the)"
    r" (?:list|mind|agenda|slate))\b"
)
_WHETHER = re.compile(
    r"^(?:(?:so|and|well|now|ok|okay|but|oh),? )*(?:do|did|does|have|has|am|are|is) .*"
    r"\b(?:anything|something|any ?more|a thing|any \w+|owed?|due|outstanding|open)\b"
)
_NO_MATTER = frozenset(
    "promis swear owe much ask say tell do happen thing want go on still again must mean suppos due"
    " be have begin start whole exact"
    .split()
)  # fmt: skip


def read(text: str, now: str) -> AgendaQuestion | None:
    """Return which commitments a question asks for, or None if it asks for something else.

    Args:
        text: A line without the name of whom it is addressed to.
        now: When it is asked, ISO 8601.

    >>> read("what did i promise Bram?", "2026-03-04T19:00:00+00:00").who
    'asker'
    """
    lower = " ".join(text.lower().replace("’", "'").split())
    lower = re.sub(r"\b(what|wat|wot)s\b", r"\1's", lower)
    named = due(text, now) or next(
        filter(None, (due(each, now) for each in _DAY.findall(lower))), None
    )
    day = named.iso if named else ""
    about = frozenset(content_words(lower.replace(named.said.lower(), " ") if named else lower))
    about -= _NO_MATTER
    for pattern, who, to, kinds in _COMPILED:
        if pattern.search(lower):
            whether = bool(_WHETHER.search(lower))
            return AgendaQuestion(who, to, kinds, day, about, whether=whether)
    if day and _ON_A_DAY.search(lower):
        return AgendaQuestion(day=day, about=about, by_day=True)
    return AgendaQuestion(day=day, about=about) if _OPEN.search(lower) else None
