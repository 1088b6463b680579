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

from .tokens import HAVE, is_past

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTHS = (
    "January February March April May June July August September October November December"
).split()
FARTHEST = 270  # days ahead: a date without a year that is further off may as well be past

_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        (
            "monday mondy munday mon",
            "tuesday tuesdy teusday tusday tues tue",
            "wednesday wensday wednsday wendsday wednesdy weds wed",
            "thursday thursdy thurday thrusday thurs thur thu",
            "friday firday fridy fryday fri",
            "saturday saterday saturdy satuday satruday sat",
            "sunday sundy sun",
        )
    )
    for name in names.split()
}
_ALSO_WORDS = "mon|wed|sat|sun"  # short names that are words too count only after "on", "by" …
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february febuary feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_ONES = "first second third fourth fifth sixth seventh eighth ninth".split()
_TEENS = (
    "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth "
    "nineteenth"
).split()
_ORDINALS = {word: number for number, word in enumerate([*_ONES, *_TEENS], 1)}
_ORDINALS |= {"twentieth": 20, "thirtieth": 30, "thirty-first": 31}
_ORDINALS |= {f"twenty-{word}": 20 + number for number, word in enumerate(_ONES, 1)}
_COUNTS = {
    word: number
    for number, word in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen".split(),
        1,
    )
} | {"a": 1, "an": 1, "twenty": 20, "thirty": 30, "couple of": 2, "a couple of": 2}


def _any_of(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_DAYS = _any_of(name for name in _WEEKDAYS if name not in _ALSO_WORDS.split("|"))
DAY = rf"(?:{_DAYS}|(?<=\bon )(?:{_ALSO_WORDS})|(?<=\b(?:by|to) )(?:{_ALSO_WORDS})"
DAY += (
    rf"|(?<=\b(?:til|nxt) )(?:{_ALSO_WORDS})|(?<=\b(?:this|last|next|till|come) )(?:{_ALSO_WORDS})"
)
DAY += rf"|(?<=\buntil )(?:{_ALSO_WORDS})|(?:{_ALSO_WORDS})(?= (?:week|night|noon|morning)\b))"
TOMORROW = "tomorrow|tmrw|tmr|tmro|tomoro|tomoz|tomorow|tommorow|tommorrow|2moro|2morrow"
TONIGHT = "tonight|tonite|2nite|2night"
_MONTH = rf"(?P<month>{_any_of(_MONTHS)})"
_ORDINAL = (
    rf"(?:(?P<number>\d{{1,2}})(?:st|nd|rd|th)|(?P<word>{_any_of(_ORDINALS)}"
    rf"|{_any_of(word.replace('-', ' ') for word in _ORDINALS if '-' in word)}))"
)
_COUNT = rf"(?P<count>\d{{1,3}}|{_any_of(_COUNTS)})"
_UNIT = r"(?P<unit>day|night|sleep|sun|week|wk|fortnight|month)s?"
_YEAR = r"(?:,? (?P<year>\d{4})\b)?"
# what may follow a day of the month: after a noun, "the first bell" is none
_BEHIND = (
    r"(?=\s*(?:$|[.,;:!?)\"…~]|-(?!\w)|(?:at|in|by|for|if|when|and|n|or|is|it|its|it's|i|ill|i'll|you|u|"
    r"we|ye|not|before|after|with|w|to|on|from|then|instead|now|ok|right|please|pls|as|latest|"
    r"this|next|come|swear|promise|noon|midnight|dawn|dusk|morning|night|evening|of)\b))"
)
_LEAD = r"(?:on|by|till?|until|from|before|since|around|about|its|it's|be|is|for)"


_LEADING = re.compile(rf"^{_LEAD} (?=the )", re.IGNORECASE)


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
            if not past and _is_of_the_past(lower, start, end):
                continue
            if not past and _is_denied(lower, start, end):
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
    """Drop a weekday that a date beside it names more closely: "Saturday, the twenty-eighth"."""
    exact = {each.day for each in found if not is_weekday(each.said)}
    kept = []
    for each in found:
        closer = any(
            is_weekday(each.said) and day != each.day and day.weekday() == each.day.weekday()
            for day in exact
        )
        if not closer:
            kept.append(each)
    return kept


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


_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "\n": " ", "\t": " "})  # one for one


def _day_of(when: str | date) -> date:
    if isinstance(when, str):
        when = datetime.fromisoformat(when)
    return when.date() if isinstance(when, datetime) else when


# --- what is not due ------------------------------------------------------------------------------

_CLAUSE = re.compile(r"[.,;:!?…]+(?:\s|$)|\s-\s|\b(?:but|because|cos)\b")
_WORD = re.compile(r"[a-z']+")
_TO_COME = re.compile(
    r"\b(?:will|'?ll|ill|shall|gonna|going|goin|gotta|must|by|till?|until|before|next|due|swear|"
    r"promised?|starting|want|wants|may|can|come|be|shan't|won't|wont)\b"
)
_DENIED = re.compile(
    r"\b(?:not|never|no|isn't|isnt|aren't|arent|don't|dont|won't|wont|can't|cant|cannot"
    r"|struck out|was to \w+"
    r"|were to \w+|instead of)"
    r"(?: \w+){0,3}$"
)
_AFTER = re.compile(r"\bafter $")
_IF = re.compile(r"\b(?:if|unless)\b")
_NOT_BEFORE = re.compile(
    r"(?:\b(?:not|wont|cant|cannot|dont)|n't) (?:\w+ ){0,3}(?:before|until|till?)$"
)
# "i won't fail you friday", "no later than friday"
_KEPT_TO = re.compile(
    r"\b(?:won't|wont|can't|cant|cannot) (?:fail|forget|let|mind|miss|need|be late)\b"
    r"|\b(?:by|than)$"
)
# "we've shifted the wedding to the tenth of may"
_MOVED_TO = re.compile(
    r"\b(?:shifted|moved|postponed|pushed|put)\b.{0,40}\b(?:to|till?|until)(?: the)?$"
)
_STRUCK = re.compile(r"^ (?:is|was) (?:off|struck|cancelled|moved)\b|^ got away\b")

# behind a day with which a clause begins; what was said then may bind
_DID_THEN = re.compile(
    r"(?: (?:morning|noon|afternoon|evening|night)| (?:at|in|by) (?:the )?\w+)*,?"
    r" (?:i|you|u|we|he|she|they) (?!said|told|promised|swore|agreed)(?P<verb>\w+)\b"
)


def _is_of_the_past(lower: str, start: int, end: int) -> bool:
    """Whether the clause around a day tells of what was."""
    before = lower[:start]
    if re.search(r"\b(?:since|last)$", before.rstrip()) or lower.startswith("since", start):
        return True
    if re.match(r" (?:last|ago)\b", lower[end:]):
        return True
    clause = _CLAUSE.split(before)[-1]
    if _TO_COME.search(clause) or re.search(r"\b(?:by|till?|until)\b", lower[start:end]):
        return False
    if _MOVED_TO.search(clause.rstrip()):
        return False
    told = _DID_THEN.match(lower[end:])  # "Monday at dawn I saw you"
    if told and clause.strip() in ("", "on") and is_past(told["verb"]):
        return True
    words = _WORD.findall(clause)
    return any(
        (is_past(word) or word in ("was", "were", "did", "didn't", "had"))
        and not (place and words[place - 1] in (*HAVE, *"be is got get getting".split()))
        for place, word in enumerate(words)
    )


def _is_denied(lower: str, start: int, end: int) -> bool:
    before = _CLAUSE.split(lower[:start])[-1].rstrip()
    if _STRUCK.match(lower[end:]):
        return True
    if _IF.search(before) or _NOT_BEFORE.search(before) or _KEPT_TO.search(before):
        return False
    return bool(_DENIED.search(before))


# --- one rule a form ------------------------------------------------------------------------------


Read = Callable[[re.Match[str], date, bool], date | None]  # of a match, today, reading backwards


def _days_off(days: int) -> Read:
    """A day that has passed is read in a report alone."""
    return lambda _match, today, past: today + timedelta(days) if days >= 0 or past else None


_UNTIL = re.compile(r"\b(?:by|till?|until) $")
_LED = re.compile(r"\b(?:make (?:it|that)|on|by|til|till|until|before|come|a|one) $")


def _weekday(match: re.Match[str], today: date, past: bool) -> date | None:
    wanted = _WEEKDAYS[match["day"]]
    more = (match["more"] or "").strip()
    ahead = (wanted - today.weekday() - 1) % 7 + 1  # 1-7: on a Friday, "friday" is the next one
    if past:
        to_come = more or (match["before"] or "").startswith(("next", "nxt"))
        to_come = to_come or _UNTIL.search(match.string[: match.start("day")])
        return None if to_come else today - timedelta(days=(7 - ahead) or 7)
    before = (match["before"] or "").strip()
    led = _LED.search(match.string[: match.start("day")])
    another = match.string.startswith(" instead", match.end())
    if ahead == 7 and not (more or before or led or another):
        return None  # said on such a day: this one, or the next
    if led and led[0].strip() in ("a", "one"):
        return None
    if more == "week" or before.startswith("a week") or more == "after next":
        ahead += 7
    elif more == "fortnight" or before.startswith("a fortnight"):
        ahead += 14
    elif before in ("next", "nxt") and today.weekday() + ahead < 7:
        return None  # of this week, or of the next
    return today + timedelta(days=ahead)


def _last_weekday(match: re.Match[str], today: date, past: bool) -> date | None:
    if not (past and match["day"]):
        return None
    return today - timedelta(days=(today.weekday() - _WEEKDAYS[match["day"]] - 1) % 7 + 1)


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
_NTH = rf"\b(?:the )?{_ORDINAL}"
_RULES: tuple[tuple[re.Pattern[str], Read], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"\b\d{4}-\d\d-\d\d\b", lambda match, _today, _past: date.fromisoformat(match[0])),
        # no one day
        (rf"\b(?:every|each|most)(?: other)? (?:{_DAYS}|day|night|week|month)s?\b", _no_day),
        (r"\bin (?:an?|one|two|\d+) (?:\w+ )?or (?:two|three|so|more)\b(?: \w+s\b)?", _no_day),
        # day and month
        (rf"\b(?:the )?(?P<digits>\d{{1,2}})(?! may\b) {_MONTH}\b{_YEAR}", _month_day),
        (rf"{_NTH}(?: of)? {_MONTH}\b{_YEAR}", _month_day),
        (
            rf"\b{_MONTH}\.?,? (?:the )?(?:{_ORDINAL}"
            rf"|(?P<digits>\d{{1,2}})\b(?! ?(?:am|pm|o'clock|:)))(?![\w:]){_YEAR}",
            _month_day,
        ),
        # parts of a month, a week, a year
        (rf"\b(?:the )?end of {_MONTH}\b", _end_of_named_month),
        (
            r"\b(?:the )?(?:end of (?:the|this) month|month'?s end|month end)\b",
            lambda _match, today, _past: _last_of_month(today, 0),
        ),
        (
            r"\b(?:the )?end of next month\b|\bnext month\b",
            lambda _match, today, _past: _last_of_month(today, 1),
        ),
        (
            r"\b(?:the )?(?:end of (?:the|this) week|week'?s end)\b",
            lambda _match, today, _past: today + timedelta(days=6 - today.weekday()),
        ),
        (
            r"\b(?:the )?end of next week\b|\bnext week\b(?! on\b)",
            lambda _match, today, _past: today + timedelta(days=13 - today.weekday()),
        ),
        (
            r"\b(?:the )?(?:end of (?:the|this) year|year'?s end)\b",
            lambda _match, today, _past: date(today.year, 12, 31),
        ),
        # days from now, and ago
        (rf"\b{_COUNT} {_UNIT} (?:from (?:now|today|tonight)|hence)\b", _counted(1)),
        (rf"\b(?:in|within) {_COUNT} {_UNIT}\b(?:'? time\b)?", _counted(1)),
        (rf"\b{_COUNT} {_UNIT} (?:ago|back)\b", _counted(-1)),
        (rf"\bday after (?:{TOMORROW})\b", _days_off(2)),
        (r"\btomorrow week\b", _days_off(8)),
        (rf"\b(?:{TOMORROW}){_PART}\b(?!'s\b)", _days_off(1)),
        (rf"\b(?:{TONIGHT}|today|this (?:evening|afternoon))\b(?!'s\b)", _days_off(0)),
        (r"\b(?:day before yesterday|night before last)\b", _days_off(-2)),
        (r"\b(?:yesterday|last night)\b", _days_off(-1)),
        (r"\bthis morning\b", lambda _match, today, past: today if past else None),
        # weekdays
        (rf"\blast (?P<day>{DAY})\b|\b(?:{_DAYS}) last\b", _last_weekday),
        (
            rf"(?P<before>\b(?:next|nxt|a week|a fortnight)(?: on| from)? )?\b(?P<day>{DAY})"
            rf"\b(?!'s\b)(?P<more> week\b| fortnight\b| after next\b| next\b)?{_PART}",
            _weekday,
        ),
        # a day of the month
        (rf"{_NTH} of (?:the|this) month\b", _day_of_month),
        (rf"\b{_LEAD} the {_ORDINAL}{_BEHIND}", _day_of_month),
        (rf"\bthe (?!first\b|second\b|third\b){_ORDINAL}\b{_BEHIND}", _day_of_month),
        (rf"(?<=day )(?:the )?{_ORDINAL}{_BEHIND}", _day_of_month),
    )
)
