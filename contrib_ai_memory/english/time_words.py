"""Words of time: the dates that a question names, and whether a statement says when."""

from __future__ import annotations

import re
from datetime import date, timedelta

from ..language import NamedDate
from .due_dates import MONTHS, WEEKDAYS, dates, is_weekday

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
_OF_A_DAY = re.compile(r"(?<=day)['’]s\b")  # "saturday's wedding"
_LAST_WEEK = re.compile(r"\blast week\b", re.IGNORECASE)


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
    weekdays = not found  # "the Sunday before 25 October" names the date
    days = [
        each.day
        for each in dates(_OF_A_DAY.sub("", question), today, past=True)
        if each.day <= today and (weekdays or not is_weekday(each.said))
    ]
    days += [today - timedelta(days=7)] * bool(_LAST_WEEK.search(question))
    known = {(each.month, each.day) for each in found}
    found += [
        NamedDate(each.year, each.month, each.day)
        for each in days
        if (each.month, each.day) not in known
    ]
    return found or [NamedDate(int(year)) for year in _YEAR.findall(question)]


def _day(found: re.Match[str]) -> int | None:
    day = found["day"] or found["after"]
    return int(day) if day else None


def tells_time(text: str) -> bool:
    """Whether a text says when: yesterday, last, May, 1998 … (stored with a memory)."""
    return bool(_WHEN_SAID.search(text))


def times(text: str) -> set[str]:
    """Words of a time, in lower case: two statements with other times do not contradict."""
    return {word.lower() for word in _TIME.findall(text)}
