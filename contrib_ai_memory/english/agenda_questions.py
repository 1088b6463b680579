"""Questions about the agenda: what is due, owed, promised, asked for, or on a day.

Rules on words as players type them. They tell whose commitments are asked for; which of them is
found by the day and the words that the question names.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Literal

from ..language import AgendaQuestion, Commitment, Side
from .due_dates import due
from .questions import asks
from .tokens import content_words

_WHAT = r"(?:what|wat|wot|whit|how much)"
_DID = r"(?:did|do|have|must|should|shall|was|were|am|are|is it)"
_YOU = r"(?:you|u|ye|ya)"
_SAID = (
    r"(?:promised?|swore|sworn|swear|vow(?:ed)?|do for (?:me|us)|to do|to begin|to bring|offer"
    r"|say (?:id|i'd|i would|i'll|you'd|you would|you'll)|said (?:id|i'd|you'd)|meant to"
    r"|supposed to|hang on to|keep for|keeping)\b"
)
_ALL: tuple[Commitment, ...] = ("promise", "debt", "request", "plan")
_OWED: tuple[Commitment, ...] = ("debt", "promise")
_DEEDS: tuple[Commitment, ...] = ("promise", "debt", "plan")
_ASKED: tuple[Commitment, ...] = ("request",)

# "does bram still owe me", "what do i owe you", "did anyone promise", "how much i owe"
_OWES = re.compile(
    rf"(?:(?:\b{_WHAT} )?\b(?:does|do|did|has|have)|{_WHAT}(?: is it)?(?= i (?:still )?owe\b))"
    rf" (?P<who>i|{_YOU}|(?!i\b|{_YOU}\b|it\b|that\b|some)[\w']+(?: [\w']+){{0,2}}?)(?: still)?"
    rf" (?P<does>owe|promised?|vow(?:ed)?)\b(?: (?:to )?(?P<to>me|{_YOU})\b)?"
)
_ALTOGETHER = re.compile(r"\b(?:altogether|all together|all told|in (?:all|total))\b")
_ANYBODY = re.compile(r"(?:any|every|no|people|folks?|they|we|who)")
_SETTLED = re.compile(
    r"\b(?:am i|are (?:we|you and i)|we(?:'?re| are| r)|that(?:'?s| makes) us)"
    r" (?:all |still |now |quite )*(?:paid up|paid off|square|clear|even|quits|settled"
    r"|out of debt)\b(?: (?:up|now|then|again))*"
    rf"(?: with {_YOU})?(?: (?:about|for|on|over) (?:the|my|that) \w+(?: now)?)?\W*$"
)
# the first that is found decides
_PATTERNS: tuple[tuple[str, Side, Side, tuple[Commitment, ...]], ...] = (
    (rf"{_WHAT} (?:did|have|(?:was|is) it,?(?: [\w']+,)?(?: that)?) i ask(?:ed)? (?:of )?{_YOU}\b",
     "listener", "asker", _ASKED),
    (rf"\bwho (?:all )?(?:still )?owes? {_YOU}\b", "", "listener", _OWED),
    (r"\bwho (?:still )?owes me\b|\bin my debt\b|\bam i (?:still )?owed\b", "", "asker", _OWED),
    (rf"(?:{_WHAT}(?: thing)?|(?:till?|until|by) when) {_DID} (?:it )?{_YOU} (?:still )?(?:have "
     rf"|got |to |do )*{_SAID}", "listener", "", _ALL),
    (r"\bwhen (?:do|did|should|must|will|am) i (?:(?:say|promise) (?:i'?d|i would|to) )?"
     r"(?:settle\b|pay(?:ing?)?\b(?! (?:attention|heed|a visit)))", "asker", "", _DEEDS),
    (rf"(?:(?:{_WHAT}|when) {_DID}|\b(?:did|have|am|was)) i (?:still )?(?:have |got )?{_SAID}",
     "asker", "", _DEEDS),
    (rf"{_WHAT}(?:'?s| is| does| did| has| was) (?!i\b|{_YOU}\b|it\b|the\b|that\b|this\b)"
     r"(?:[\w']+ ){1,3}?(?:have to do|got to do|to do\b|meant to|supposed to|bringing\b)",
     "named", "", _DEEDS),
)  # fmt: skip
_COMPILED = tuple((re.compile(pattern), who, to, kinds) for pattern, who, to, kinds in _PATTERNS)
_ON_A_DAY = re.compile(
    r"\b(?:what|wat|wot|whit)(?:'?s| is| are)? (?:thing )?(?:is |do we have )?"
    r"(?:on|up|due|planned|for|happen\w*|falls? due|to be (?:done|finished)|going on|set)\b"
    rf"|\b{_WHAT} (?:is )?happen\w*|\banything (?:is )?(?:due|planned|to do|up)\b"
    r"|\b(?:remind me|anything) .*\bon\b"
    rf"|\b{_WHAT} (?:do|have) (?:i|we) (?:have|got)(?: to do| on| planned)?\b"
)
_DAY = re.compile(r"\b(?:today|tonight|tomorrow|\w+day)\b")
_OWN = re.compile(r"\bfor me\b|\b(?:do|have) i (?:have|got)\b")
_OPEN = re.compile(
    rf"\b{_WHAT}(?:'?s| is) (?:still )?(?:due|owed|outstanding|open|on (?:your|ur|the)"
    r" (?:list|mind|agenda|slate))\b"
)
_DUE = re.compile(r"\b(?:due|owed|to do|outstanding|open)\b")
_PROMISED = re.compile(r"\b(?:promis\w*|swear|swore|sworn|vow\w*)\b")
_TO_WHOM = re.compile(r"\b(?:owe|promised?)(?: (?:to|the|old|my))? ([A-Z][\w'’-]+)")
_WEEK = re.compile(
    r"\b(?:(?P<next>next)|this|(?:the )?rest of the|the coming) (?P<unit>week|month)\b"
)
_WHETHER = re.compile(
    r"^(?:(?:so|and|well|now|ok|okay|but|oh),? )*(?:do|did|does|have|has|am|are|is) .*"
    r"\b(?:any\w*|something|a thing|money|coins?|cash|owed?|due|outstanding|open)\b"
)
_NO_MATTER = frozenset(
    "promis swear owe much ask say tell do happen thing want go on still again must mean suppos due"
    " be have begin start whole exact money coin cash anythin u ye ya anyon anybodi somebodi someon"
    " now yet left today"
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
    lower = re.sub(r"\b(any|some|no)thin'?(?!\w)", r"\1thing", lower)
    lower = re.sub(r"\bowt\b", "anything", lower)
    day, until, rest = _time_named(text, lower, now)
    about = frozenset(content_words(rest)) - _NO_MATTER
    settled = _SETTLED.search(_without_vocative(lower))
    if settled and (not settled[0].startswith(("we", "that")) or asks(text)):
        return AgendaQuestion("asker", "listener", _OWED, whether=True, settled=True)
    if found := _whose(lower):
        at, who, to, kinds = found
        asking = _without_vocative(lower[at:])
        whether = bool(_WHETHER.search(asking))
        if whether:
            about &= content_words(asking)
        best: Commitment | Literal[""] = "promise" if _PROMISED.search(lower) else ""
        named = _TO_WHOM.search(text)
        whom = about & (content_words(named[1]) if named else frozenset())
        if _ALTOGETHER.search(lower):
            about = whom  # what it names are examples
        return AgendaQuestion(who, to, kinds, best, day, until, about, whom, whether=whether)
    if day and _ON_A_DAY.search(lower):
        whether = bool(_DUE.search(lower))
        whose: Side = "asker" if _OWN.search(lower) else ""
        return AgendaQuestion(whose, "", (), "", day, until, about, by_day=True, whether=whether)
    return AgendaQuestion(day=day, about=about) if _OPEN.search(lower) else None


def _whose(lower: str) -> tuple[int, Side, Side, tuple[Commitment, ...]] | None:
    """Return where a question begins, who is to do it and for whom, and what kinds it asks for."""
    if found := _OWES.search(lower):
        who, to = _side(found["who"]), _side(found["to"] or "")
        if found["does"] == "owe":
            return found.start(), who, to, _OWED
        if who == "listener":
            return found.start(), who, "", _ALL
        return found.start(), who, to if (who, to) == ("named", "listener") else "", _DEEDS
    for pattern, who, to, kinds in _COMPILED:
        if found := pattern.search(lower):
            return found.start(), who, to, kinds
    return None


def _side(words: str) -> Side:
    """Return who is meant by "i", "you", a name, "anybody" or nothing."""
    if words in ("i", "me"):
        return "asker"
    if re.fullmatch(_YOU, words):
        return "listener"
    return "named" if words and not _ANYBODY.match(words) else ""


def _without_vocative(text: str) -> str:
    """Return a line without whom it calls at its end, and without "this house", where it is."""
    return re.sub(r",\s*[\w']+(?: [\w']+)?\W*$|\bthis \w+", "", text)


def _time_named(text: str, lower: str, now: str) -> tuple[str, str, str]:
    """Return the first and the last day that a question names, and the rest of it.

    The last one is "" for a single day; both are if it names none.
    """
    if found := _WEEK.search(lower):
        first, last = _span(date.fromisoformat(now[:10]), found["unit"], ahead=bool(found["next"]))
        return first.isoformat(), last.isoformat(), lower.replace(found[0], " ")
    named = due(text, now) or next(
        filter(None, (due(each, now) for each in _DAY.findall(lower))), None
    )
    return (named.iso, "", lower.replace(named.said.lower(), " ")) if named else ("", "", lower)


def _span(today: date, unit: str, *, ahead: bool) -> tuple[date, date]:
    """The days left of this week or month, or those of the next; Sunday looks at the next week."""
    if unit == "week":
        monday = today + timedelta(days=7 - today.weekday())
        if ahead:
            return monday, monday + timedelta(days=6)
        return today, monday - timedelta(days=1) if today.weekday() < 6 else today + timedelta(7)
    first = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    if ahead:
        return first, (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    return today, first - timedelta(days=1)
