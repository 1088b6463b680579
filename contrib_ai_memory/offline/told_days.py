"""Days in words: "two days ago", "on Saturday, 9 May", and the past day that a question names.

Days are those of the game's TIME_ZONE (`local_time`).
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

from ..english.due_dates import MONTHS, WEEKDAYS, due
from ..local_time import date_of, local

_TODAY = re.compile(r"\b(?:today|tonight|earlier|this (?:morning|evening|afternoon))\b", re.I)
DAYS_BY_NUMBER = 10  # older days are told by their date
_DAYS = [day.capitalize() for day in WEEKDAYS]
_HOURS = ((5, "night"), (12, "morning"), (17, "afternoon"), (22, "evening"), (24, "night"))
_NUMBERS = "two three four five six seven eight nine ten".split()


def day_asked(question: str, now: str) -> date | None:
    """Return the past day, or today, that a question names: "who was here on Monday?"."""
    if not now:
        return None
    today = date_of(now)
    found = due(question, today, past=True)
    if found is None:
        return today if _TODAY.search(question) else None
    return found.day if found.day <= today else None


def on_day(day: date, today: date) -> str:
    """Say when a day was: "today", "yesterday", "on Monday, 9 March"."""
    past = (today - day).days
    return {0: "today", 1: "yesterday"}.get(past, f"on {dated(day, today)}")


def day_told(then: str, now: str, *, by_date: bool = False) -> str:
    """Return when something was: "two days ago", or "on 9 May"; "" without a time.

    Args:
        by_date: Name the day, by its date and weekday.

    >>> day_told("2026-05-09T21:00:00+00:00", "2026-05-11T09:00:00+00:00")
    'two days ago'
    >>> day_told("2026-05-09T21:00:00+00:00", "2026-05-11T09:00:00+00:00", by_date=True)
    'on Saturday, 9 May'
    """
    if not then or not now:
        return ""
    day, today = (date_of(each) for each in (then, now))
    past = (today - day).days
    if by_date and past:
        return f"on {dated(day, today)}"
    if not 0 <= past <= DAYS_BY_NUMBER:
        return f"on {_without_weekday(day, today)}"
    if past < 2:
        return ("earlier today", "yesterday")[past]
    return f"{_NUMBERS[past - 2]} days ago"


def dated(day: date, today: date) -> str:
    """Name a day, with its year if it is another one."""
    return f"{_DAYS[day.weekday()]}, {_without_weekday(day, today)}"


def _without_weekday(day: date, today: date) -> str:
    year = f" {day.year}" if day.year != today.year else ""
    return f"{day.day} {MONTHS[day.month - 1]}{year}"


def age(then: str, now: str) -> timedelta:
    """Return the time from one moment to a later one."""
    return datetime.fromisoformat(now) - datetime.fromisoformat(then)


def moment_told(now: str) -> str:
    """Say a time as people do: "Saturday, 9 May, in the evening"."""
    when = datetime.fromisoformat(local(now))
    part = next(name for until, name in _HOURS if when.hour < until)
    within = "at night" if part == "night" else f"in the {part}"
    return f"{_DAYS[when.weekday()]}, {when.day} {MONTHS[when.month - 1]}, {within}"
