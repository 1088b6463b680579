"""Words of time: the dates that a question names, and whether a statement says when."""

from __future__ import annotations

import re
from datetime import date, timedelta

from ..language import NamedDate
from .due_dates import past_day

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()
_NUMBER_OF = {month.lower(): number for number, month in enumerate(MONTHS, 1)}
_NUMBER_OF |= {month[:3].lower(): number for number, month in enumerate(MONTHS, 1)} | {"sept": 9}
_SHORT = "|".join([*(month[:3] for month in MONTHS if month != "May"), "Sept"])
# a short name counts beside a day alone: "Mar 3", "3 mar"
_DATE = re.compile(
    r"\b(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: of)? )?"
    rf"(?P<month>{'|'.join(MONTHS)}|(?:{_SHORT})(?=\.? \d)\.?|(?<=\d )(?:{_SHORT}))\b"
    r"(?: (?:the )?(?P<after>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,? (?:of )?(?P<year>\d{4})\b)?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_WEEKDAYS = rf"(?:{'|'.join(WEEKDAYS)})s?"
# without may, which is mostly the verb
_MONTH_NAMES = "|".join(month.lower() for month in MONTHS if month != "May")
_RELATIVE = r"yesterday|today|tonight|tomorrow|last|next|ago|night|weeks?|weekends?|months?|years?"
_TIME = re.compile(
    rf"\b(?:{_RELATIVE}|{_WEEKDAYS}|{_MONTH_NAMES}|morning|noon|evening|spring|summer|autumn|winter"
    r"|dawn|dusk|midnight)\b",
    re.IGNORECASE,
)
_WHEN_SAID = re.compile(
    rf"\b(?:{_RELATIVE}|{_WEEKDAYS}|{_MONTH_NAMES}|since|recently|just|soon|morning|few days"
    r"|the other day|(?:in|of|on) may|(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_BEFORE_MAY = re.compile(
    r"\b(?:in|of|during|since|early|late|mid|by|until|before|after|last|this)[ -]$", re.IGNORECASE
)
_LAST_WEEK = re.compile(r"\blast week\b", re.IGNORECASE)


def named_in(question: str, today: date) -> list[NamedDate]:
    """The dates in a question; a year alone counts only where no month is named."""
    found = [
        NamedDate(_number(m["year"]), _month(m["month"]), _number(m["day"] or m["after"]))
        for m in _DATE.finditer(question)
        if (m["month"] != "May" and m["month"][0].isupper())
        or m["day"]
        or m["after"]
        or m["year"]
        or _BEFORE_MAY.search(question[: m.start()])
    ]
    found = [named for named in found if named.year is None or named.year >= 1]
    if not found:  # "the Sunday before 25 October" names the date
        day = past_day(question, today)
        if day is None and _LAST_WEEK.search(question):
            day = today - timedelta(days=7)
        found = [NamedDate(day.year, day.month, day.day)] if day else []
    return found or [NamedDate(int(year)) for year in _YEAR.findall(question)]


def tells_time(text: str) -> bool:
    """Whether a text says when: yesterday, last, May, 1998 … (stored with a memory)."""
    return bool(_WHEN_SAID.search(text))


def times(text: str) -> set[str]:
    """Words of a time, in lower case: two statements with other times do not contradict."""
    return {word.lower() for word in _TIME.findall(text)}


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


def _month(name: str) -> int:
    return _NUMBER_OF[name.lower().rstrip(".")]
