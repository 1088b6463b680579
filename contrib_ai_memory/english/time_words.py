"""Words of time: the dates that a question names, and whether a statement says when."""

from __future__ import annotations

import re
from datetime import date, timedelta

from ..language import NamedDate
from .due_dates import MONTHS, WEEKDAYS

_SHORT = "|".join(month[:3] for month in MONTHS if month != "May") + "|Sept"
# a short name counts beside a day alone: "Mar 3", "3 mar"
_DATE = re.compile(
    r"\b(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: of)? )?"
    rf"(?P<month>{'|'.join(MONTHS)}|(?:{_SHORT})(?=\.? \d)\.?|(?<=\d )(?:{_SHORT}))\b"
    r"(?: (?:the )?(?P<after>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? (?:of )?(?P<year>\d{4})\b)?",
    re.IGNORECASE,
)
_NUMBER_OF = {month[:3].lower(): number for number, month in enumerate(MONTHS, 1)}
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# without may, which is mostly the verb
_NAMES = "|".join([*(f"{day}s?" for day in WEEKDAYS), *(each for each in MONTHS if each != "May")])
_RELATIVE = r"yesterday|today|tonight|tomorrow|last|next|ago|night|weeks?|weekends?|months?|years?"
_TIME = re.compile(
    rf"\b(?:{_RELATIVE}|{_NAMES}|morning|noon|evening|spring|summer|autumn|winter|dawn|dusk"
    r"|midnight)\b",
    re.IGNORECASE,
)
_WHEN_SAID = re.compile(
    rf"\b(?:{_RELATIVE}|{_NAMES}|since|recently|just|soon|morning|few days|the other day"
    r"|(?:in|of|on) may|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_BEFORE_MAY = re.compile(
    r"\b(?:in|of|during|since|early|late|mid|by|until|before|after|last|this)[ -]$", re.IGNORECASE
)
_COUNTS = {word: n for n, word in enumerate("one two three four five six seven eight".split(), 1)}
_COUNTS |= {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "a": 1, "an": 1}
_COUNTS |= {"a couple of": 2, "couple of": 2, "a few": 3}
_DAYS_IN = {"day": 1, "night": 1, "week": 7, "fortnight": 14}
_AGO = re.compile(
    rf"\b(\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))}) "
    rf"({'|'.join(_DAYS_IN)})s? (?:ago|back)\b",
    re.IGNORECASE,
)
_LATELY = {
    "the day before yesterday": 2,
    "the night before last": 2,
    "yesterday": 1,
    "last night": 1,
    "last evening": 1,
    "last week": 7,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this evening": 0,
    "this afternoon": 0,
}
_LATELY_SAID = re.compile(rf"\b(?:{'|'.join(_LATELY)})\b", re.IGNORECASE)
# a short name counts behind a word of time alone: "sun" and "mon" are words too
_ON_WEEKDAY = re.compile(
    r"(?P<to_come>\b(?:next|coming|every|each|till|until|by) )?"
    rf"\b(?P<day>{'|'.join(WEEKDAYS)}"
    rf"|(?:(?<=\bon )|(?<=\blast )|(?<=\bthis ))(?:{'|'.join(day[:3] for day in WEEKDAYS)}))\b",
    re.IGNORECASE,
)


def named_in(question: str, today: date) -> list[NamedDate]:
    """The dates in a question; a year alone counts only where no month is named."""
    found = [
        NamedDate(int(m["year"] or 0) or None, _NUMBER_OF[m["month"][:3].lower()], _day(m))
        for m in _DATE.finditer(question)
        if (m["month"] != "May" and m["month"][0].isupper())
        or _day(m)
        or m["year"]
        or _BEFORE_MAY.search(question[: m.start()])
    ]
    ago = _ago(question)
    if not found:  # "the Sunday before 25 October" names the date
        ago += _weekdays(question, today)
    days = [today - timedelta(days=each) for each in ago]
    found += [NamedDate(each.year, each.month, each.day) for each in days]
    return found or [NamedDate(int(year)) for year in _YEAR.findall(question)]


def _day(found: re.Match[str]) -> int | None:
    day = found["day"] or found["after"]
    return int(day) if day else None


def _ago(question: str) -> list[int]:
    counted = [(m[1].lower(), _DAYS_IN[m[2].lower()]) for m in _AGO.finditer(question)]
    days = [(_COUNTS.get(count) or int(count)) * each for count, each in counted]
    return days + [_LATELY[m[0].lower()] for m in _LATELY_SAID.finditer(question)]


def _weekdays(question: str, today: date) -> list[int]:
    """How many days ago the weekdays of a question were last; those to come are left out."""
    numbers = {day[:3]: number for number, day in enumerate(WEEKDAYS)}
    return [
        (today.weekday() - numbers[m["day"].lower()[:3]] - 1) % 7 + 1
        for m in _ON_WEEKDAY.finditer(question)
        if not m["to_come"]
    ]


def tells_time(text: str) -> bool:
    """Whether a text says when: yesterday, last, May, 1998 … (stored with a memory)."""
    return bool(_WHEN_SAID.search(text))


def times(text: str) -> set[str]:
    """Words of a time, in lower case: two statements with other times do not contradict."""
    return {word.lower() for word in _TIME.findall(text)}
