"""Due dates: the day that a line of talk names, worked out from the day on which it was said.

`due` reads a promise, a debt or a plan forwards: "friday" is the next one. With `past` it reads a
report backwards: "on tuesday" is the last one. Players type in lower case, with typos and short
names of days. A day that cannot be told for certain is left out: two days that differ, a day that
comes every week.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from .tokens import HAVE, NUMBERS, is_past

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()
FARTHEST = 270  # days ahead: a date without a year that is further off may as well be past

_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mon",
            "tuesday tues tue",
            "wednesday wensday wednsday weds wed",
            "thursday thurs thur thu",
            "friday fri",
            "saturday saterday sat",
            "sunday sun",
        )
    )
    for name in names.split()
}
_MONTHS = {
    name: number
    for number, month in enumerate(map(str.lower, MONTHS), 1)
    for name in (month, month[:3])
} | {"sept": 9}
_TO_TWENTY = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_ORDINALS = {word: number for number, word in enumerate(_TO_TWENTY, 1)}
_ORDINALS |= {f"twenty-{word}": 20 + number for number, word in enumerate(_TO_TWENTY[:9], 1)}
_ORDINALS |= {"thirtieth": 30, "thirty-first": 31}
_COUNTS = {word: number for word, number in NUMBERS.items() if word.isalpha() and number <= 30}
_COUNTS |= {"a": 1, "an": 1, "one": 1, "couple of": 2, "a couple of": 2}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_WORDS_TOO = "mon|wed|sat|sun"  # which name a day in some places alone
_DAYS = _any_of(_WEEKDAYS.keys() - {*_WORDS_TOO.split("|")})
_LED = "|".join(
    rf"(?<=\b{word} )(?:{_WORDS_TOO})"
    for word in "on by to til till until this next nxt last come".split()
)
DAY = rf"(?:{_DAYS}|{_LED}|(?:{_WORDS_TOO})(?= (?:week|night|noon|morning)\b))"
TOMORROW = "tomorrow|tmrw|tmr|tmro|tomoro|tomoz|tomorow|tommorow|tommorrow|2moro|2morrow"
TONIGHT = "tonight|tonite|2nite|2night"
_MONTH = rf"(?P<month>{_any_of(_MONTHS)})"
_ORDINAL = (
    r"(?:(?P<number>\d{1,2})(?:st|nd|rd|th)|(?P<word>"
    rf"{_any_of(word.replace('-', '[ -]') for word in _ORDINALS)}))"
)
_COUNT = rf"(?P<count>\d{{1,3}}|{_any_of(_COUNTS)})"
_UNIT = r"(?P<unit>day|night|sleep|week|wk|fortnight|month)s?"
_YEAR = r"(?:,? (?P<year>\d{4})\b)?"
# what may follow a day of the month: after a noun, "the first bell" is none
_BEHIND = (
    r"(?=\s*(?:$|[.,;:!?)\"…~]|-(?!\w)|(?:at|in|by|for|if|when|and|n|or|is|it|its|it's|i|ill|i'll|you|u"
    r"|we|not|before|after|with|to|on|from|then|instead|now|as|latest|this|next|come|noon|midnight"
    r"|dawn|dusk|morning|night|evening)\b))"
)
_LEAD = r"(?:on|by|till?|until|from|before|since|around|about|its|it's|be|is|for)"
_LEADING = re.compile(rf"^{_LEAD} (?=the )", re.IGNORECASE)
_AFTER = re.compile(r"\bafter $")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "\n": " ", "\t": " "})  # one for one


@dataclass(frozen=True, slots=True)
class DueDate:
    """A day, and the words that name it."""

    day: date
    said: str

    @property
    def iso(self) -> str:
        return self.day.isoformat()


def due(text: str, said_at: str | date, *, past: bool = False) -> DueDate | None:
    """Return the day that a text names, or None if it names none or several.

    A week or a month that is named as a whole is due on its last day.

    Args:
        text: A sentence or a line of talk.
        said_at: When it was said: a day, a time, or an ISO 8601 text of one.
        past: Look back: "friday" is the last one.
    """
    found = dates(text, said_at, past=past)
    days = {each.day for each in found}
    return found[0] if len(days) == 1 else None


def dates(text: str, said_at: str | date, *, past: bool = False) -> list[DueDate]:
    """Return every day that a text names, in the order of the text.

    Left out are, in a reading forwards, days of what is told of the past or denied ("not on
    Monday").
    """
    today = _day_of(said_at)
    plain = text.translate(_QUOTES)
    lower = plain.lower()
    taken: list[tuple[int, int]] = []
    found: list[tuple[int, DueDate]] = []
    for pattern, read in _RULES:
        for match in pattern.finditer(lower):
            start, end = match.span()
            if any(start < last and first < end for first, last in taken):
                continue
            taken.append((start, end))
            if not past and (_is_of_the_past(lower, start, end) or _is_denied(lower[:start])):
                continue
            try:
                day = read(match, today, past)
                if day is not None and _AFTER.search(lower[:start]):
                    day += timedelta(days=1)
            except (ValueError, OverflowError):  # 31 February, the year 10000
                continue
            if day is not None:
                said = _LEADING.sub("", plain[start:end].strip())
                found.append((start, DueDate(day, said)))
    found.sort(key=lambda each: each[0])
    return _without_weekdays_of([each for _start, each in found])


def _without_weekdays_of(found: list[DueDate]) -> list[DueDate]:
    """Leave out weekdays that a date names more closely: "Saturday, the twenty-eighth"."""
    exact = {each.day.weekday() for each in found if not is_weekday(each.said)}
    return [e for e in found if not (is_weekday(e.said) and e.day.weekday() in exact)]


def spelt(said: str) -> str:
    """Return a day in its full spelling: "weds" is "Wednesday", "tmrw" tomorrow."""
    word = said.lower()
    if word in _WEEKDAYS:
        return WEEKDAYS[_WEEKDAYS[word]].capitalize()
    named = {"tomorrow": TOMORROW, "tonight": TONIGHT}
    return next((name for name, forms in named.items() if word in forms.split("|")), word)


def is_weekday(said: str) -> bool:
    """Whether a text names a day of the week."""
    return any(word in _WEEKDAYS for word in said.lower().split())


def _day_of(when: str | date) -> date:
    if isinstance(when, str):
        when = datetime.fromisoformat(when)
    return when.date() if isinstance(when, datetime) else when


# --- what is not due ------------------------------------------------------------------------------

_CLAUSE = re.compile(r"[.,;:!?…]+(?:\s|$)|\s-\s|\b(?:but|because|cos)\b")
_WORD = re.compile(r"[a-z']+")
_TO_COME = re.compile(  # "we've shifted the wedding to the tenth of may", too
    r"\b(?:will|'?ll|ill|shall|gonna|going|goin|gotta|must|by|till?|until|before|next|due|swear|"
    r"promised?|meant|starting|want|wants|may|can|come|be|shan't|won't|wont)\b"
    r"|\b(?:shifted|moved|postponed|pushed|put)\b.{0,40}\b(?:to|till?|until)(?: the)?$"
)
_UNTIL = re.compile(r"\b(?:by|till?|until) $")
_DENIED = re.compile(r"\b(?:not|never|no|cannot|(?:is|are|do|wo|ca)n'?t|instead of)(?: \w+){0,3}$")
# "if … friday", "not before friday", "no later than friday", "i won't fail you friday"
_BINDS = re.compile(
    r"\b(?:if|unless)\b|\b(?:before|until|till?|by|than)$"
    r"|\b(?:won't|wont|can't|cant|cannot) (?:fail|forget|let|miss|be late)\b"
)
_DID_THEN = re.compile(r"(?: (?:at|in) \w+)? (?:i|you|we|he|she|they) (?P<verb>\w+)\b")


def _is_of_the_past(lower: str, start: int, end: int) -> bool:
    """Whether the clause around a day tells of what was."""
    before, after = lower[:start], lower[end:]
    if re.search(r"\b(?:since|last) $", before) or lower.startswith("since", start):
        return True
    if after.startswith((" last", " ago")):
        return True
    clause = _CLAUSE.split(before)[-1].rstrip()
    if _TO_COME.search(clause) or _UNTIL.search(before):
        return False
    told = _DID_THEN.match(after)  # "on Monday I saw you"
    if told and clause.strip() in ("", "on") and is_past(told["verb"]):
        return True
    words = _WORD.findall(clause)
    return any(
        (is_past(word) or word in ("was", "were", "did", "didn't", "had"))
        and not (place and words[place - 1] in (*HAVE, *"be is got get getting".split()))
        for place, word in enumerate(words)
    )


def _is_denied(before: str) -> bool:
    clause = _CLAUSE.split(before)[-1].rstrip()
    return bool(_DENIED.search(clause)) and not _BINDS.search(clause)


# --- one rule a form ------------------------------------------------------------------------------


Read = Callable[[re.Match[str], date, bool], date | None]  # of a match, today, reading backwards


def _days_off(days: int) -> Read:
    """A day that has passed is read in a report alone."""
    return lambda _match, today, past: today + timedelta(days) if days >= 0 or past else None


def _weekday(match: re.Match[str], today: date, past: bool) -> date | None:
    wanted, before = _WEEKDAYS[match["day"]], match["before"] or ""
    ahead = (wanted - today.weekday() - 1) % 7 + 1  # 1-7: on a Friday, "friday" is the next one
    led = match.string[: match.start("day")]
    if past:
        last = match["more"] is None and before not in ("next ", "nxt ") and not _UNTIL.search(led)
        return today - timedelta(days=(7 - ahead) or 7) if last else None
    if match["more"] or before.startswith("a week"):
        ahead += 7
    elif before and today.weekday() + ahead < 7:
        return None  # of this week, or of the next
    elif ahead == 7 and not (before or _NEXT.search(led)):
        return None  # said on such a day: this one, or the next
    return None if _SOME.search(led) else today + timedelta(days=ahead)


_NEXT = re.compile(r"\b(?:make (?:it|that)|on|by|till?|until|before|come) $")
_SOME = re.compile(r"\b(?:a|one) $")


def _last_weekday(match: re.Match[str], today: date, past: bool) -> date | None:
    days = (today.weekday() - _WEEKDAYS[match["day"]] - 1) % 7 + 1
    return today - timedelta(days) if past else None


def _counted(sign: int) -> Read:
    """What is ago is read in a report alone, and what is to come nowhere else."""
    return lambda match, today, past: _moved(match, today, sign) if past == (sign < 0) else None


def _moved(match: re.Match[str], today: date, sign: int) -> date:
    count, unit = match["count"], match["unit"]
    number = sign * (int(count) if count.isdecimal() else _COUNTS[count])
    if unit == "month":
        last = _last_of_month(today, number)
        return last.replace(day=min(today.day, last.day))
    return today + timedelta(days={"week": 7, "wk": 7, "fortnight": 14}.get(unit, 1) * number)


def _last_of_month(today: date, ahead: int) -> date:
    year, month = divmod(today.year * 12 + today.month - 1 + ahead, 12)
    return date(year, month + 1, monthrange(year, month + 1)[1])


def _end(match: re.Match[str], today: date, _past: bool) -> date | None:
    """The last day of this or the next week or month, or of this year."""
    ahead = " next " in f" {match[0]}"
    if match["period"] == "week":
        return today + timedelta(days=6 - today.weekday() + 7 * ahead)
    if match["period"] == "month":
        return _last_of_month(today, ahead)
    return None if ahead else date(today.year, 12, 31)


def _month_day(match: re.Match[str], today: date, past: bool) -> date | None:
    day = int(match["digits"]) if match.groupdict().get("digits") else _ordinal(match)
    return _nearest(today, _MONTHS[match["month"]], day, match["year"], past)


def _ordinal(match: re.Match[str]) -> int:
    if match["number"]:
        return int(match["number"])
    return _ORDINALS[match["word"].replace(" ", "-")]


def _nearest(today: date, month: int, day: int, year: str | None, past: bool) -> date | None:
    if year:
        return date(int(year), month, day)
    years = (today.year, today.year - 1) if past else (today.year, today.year + 1)
    days = (date(each, month, day) for each in years if day <= monthrange(each, month)[1])
    fitting = (each for each in days if (each <= today if past else each >= today))
    found = next(fitting, None)
    return found if found and abs((found - today).days) <= FARTHEST else None


def _day_of_month(match: re.Match[str], today: date, past: bool) -> date | None:
    """The next such day of a month; that of today is left out, as it may be either."""
    day, step = _ordinal(match), -1 if past else 1
    if day == today.day:
        return None
    this_month = day < today.day if past else day > today.day
    months = (_last_of_month(today, step * ahead) for ahead in range(0 if this_month else 1, 3))
    return next((last.replace(day=day) for last in months if day <= last.day), None)


def _end_of_named_month(match: re.Match[str], today: date, past: bool) -> date | None:
    month = _MONTHS[match["month"]]
    return _nearest(today, month, monthrange(today.year, month)[1], None, past)


def _no_day(_match: re.Match[str], _today: date, _past: bool) -> date | None:
    """Words of time that name no one day, so that no other rule reads them."""
    return None


_PART = r"(?: (?:night|noon|morning|evening|afternoon|midnight))?"
_RULES: tuple[tuple[re.Pattern[str], Read], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"\b\d{4}-\d\d-\d\d\b", lambda match, _today, _past: date.fromisoformat(match[0])),
        # no one day
        (rf"\b(?:every|each|most)(?: other)? (?:{_DAYS}|day|night|week|month)s?\b", _no_day),
        (r"\bin (?:an?|one|two|\d+) (?:\w+ )?or (?:two|three|so|more)\b(?: \w+s\b)?", _no_day),
        # day and month
        (rf"\b(?:the )?(?P<digits>\d{{1,2}})(?! may\b) {_MONTH}\b{_YEAR}", _month_day),
        (rf"\b(?:the )?{_ORDINAL}(?: of)? {_MONTH}\b{_YEAR}", _month_day),
        (
            rf"\b{_MONTH}\.?,? (?:the )?(?:{_ORDINAL}"
            rf"|(?P<digits>\d{{1,2}})\b(?! ?(?:am|pm|o'clock|:)))(?![\w:]){_YEAR}",
            _month_day,
        ),
        # the end of a time
        (rf"\b(?:the )?end of {_MONTH}\b", _end_of_named_month),
        (
            r"\b(?:(?:the )?end of (?:the|this|next)|next) (?P<period>week|month|year)\b(?! on\b)",
            _end,
        ),
        # days from now, and ago
        (rf"\b{_COUNT} {_UNIT} (?:from (?:now|today)|hence)\b", _counted(1)),
        (rf"\b(?:in|within) {_COUNT} {_UNIT}\b(?:'? time\b)?", _counted(1)),
        (rf"\b{_COUNT} {_UNIT} (?:ago|back)\b", _counted(-1)),
        (rf"\bday after (?:{TOMORROW})\b", _days_off(2)),
        (rf"\b(?:{TOMORROW}){_PART}\b(?!'s\b| week\b)", _days_off(1)),
        (rf"\b(?:{TONIGHT}|today|this (?:evening|afternoon))\b(?!'s\b)", _days_off(0)),
        (r"\bday before yesterday\b", _days_off(-2)),
        (r"\b(?:yesterday|last night)\b", _days_off(-1)),
        (r"\bthis morning\b", lambda _match, today, past: today if past else None),
        # weekdays
        (rf"\blast (?P<day>{DAY})\b", _last_weekday),
        (
            rf"(?P<before>\b(?:next|nxt|a week (?:on|from)) )?\b(?P<day>{DAY})"
            rf"\b(?!'s\b)(?P<more> week\b| after next\b)?{_PART}",
            _weekday,
        ),
        # a day of the month
        (
            rf"\b(?:{_LEAD} the |(?<=day )(?:the )?|the (?!(?:first|second|third)\b(?! of th)))"
            rf"{_ORDINAL}(?: of (?:the|this) month\b|{_BEHIND})",
            _day_of_month,
        ),
    )
)
