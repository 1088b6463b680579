"""The day that a line of talk names, worked out from the day on which it was said."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contrib_ai_memory.english.due_dates import dates, due

WEDNESDAY = "2026-03-04T19:00:00.000+00:00"
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("i'll be there tomorrow noon", "2026-03-05"),
        ("c u tmrw", "2026-03-05"),
        ("the day after tomorrow", "2026-03-06"),
        ("tonight, by the well", "2026-03-04"),
        ("friday", "2026-03-06"),
        ("on Friday at noon", "2026-03-06"),
        ("ill bring it thurs", "2026-03-05"),
        ("by weds then", "2026-03-11"),
        ("on sat at dusk", "2026-03-07"),
        ("saterday night", "2026-03-07"),
        ("sunday week", "2026-03-15"),
        ("a week on friday", "2026-03-13"),
        ("next monday", "2026-03-09"),
        ("saturday after next", "2026-03-14"),
        ("in ten days", "2026-03-14"),
        ("i pay in 3 days, promise", "2026-03-07"),
        ("Grakk bring in eight sleeps", "2026-03-12"),
        ("a week from today", "2026-03-11"),
        ("in a fortnight", "2026-03-18"),
        ("in two months' time", "2026-05-04"),
        ("end of the month?", "2026-03-31"),
        ("by the end of April", "2026-04-30"),
        ("the end of the year", "2026-12-31"),
        ("the first of the month", "2026-04-01"),
        ("i owe you 3 crowns, i wont forget friday", "2026-03-06"),
        ("no later than friday", "2026-03-06"),
        ("so we've shifted the wedding to the tenth of may", "2026-05-10"),
        ("they moved the fair to friday", "2026-03-06"),
        ("next week", "2026-03-15"),
        ("by lady day, the 25th of March", "2026-03-25"),
        ("first of september", "2026-09-01"),
        ("on fifteenth march", "2026-03-15"),
        ("sign on may fourth", "2026-05-04"),
        ("on his bday, 3 july", "2026-07-03"),
        ("10 March 2027", "2027-03-10"),
        ("the ninth", "2026-03-09"),
        ("by the twenty-first", "2026-03-21"),
        ("by the twenty first", "2026-03-21"),
        ("on the second", "2026-04-02"),
        ("after the fourth of july, not before", "2026-07-05"),
        ("not before the 15th of june", "2026-06-15"),
        ("if i dont ask for it by the fifteenth it goes to suzu", "2026-03-15"),
        ("Saturday week, the fourteenth, at seven", "2026-03-14"),
        ("2026-04-01", "2026-04-01"),
    ],
)
def test_a_day_is_worked_out_from_when_it_was_said(text: str, day: str) -> None:
    found = due(text, WEDNESDAY)
    assert found is not None and found.iso == day


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the third time i ask",
        "the first bell",
        "i was second in the line",
        "i sat by the fire in the sun",
        "thirty mon for the blade",
        "may i come again",
        "we march past the gate",
        "every friday",
        "fridays",
        "friday or saturday",
        "in a day or two",
        "in a few days",
        "next friday",  # of this week, or of the next
        "wednesday",  # said on a Wednesday
        "not on monday",
        "robbers. on a sunday",
        "saturday's dance",
        "the 31st of february",
        "3/4",
        "easter",
        "i come on monday. you pay me on friday",
    ],
)
def test_in_doubt_there_is_no_day(text: str) -> None:
    assert due(text, WEDNESDAY) is None


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("the mare foaled on tuesday", "2026-03-03"),
        ("i saw her yesterday", "2026-03-03"),
        ("she left last friday", "2026-02-27"),
        ("monday at dawn i saw you in oxley, buying loaves", "2026-03-02"),
        ("on monday i sold the mare", "2026-03-02"),
        ("two days ago", "2026-03-02"),
        ("it burned on the ninth", "2026-02-09"),
    ],
)
def test_what_was_is_no_due_date_and_is_read_backwards_on_request(text: str, day: str) -> None:
    assert due(text, WEDNESDAY) is None
    found = due(text, WEDNESDAY, past=True)
    assert found is not None and found.iso == day


def test_the_words_that_name_the_day_are_kept_as_typed() -> None:
    found = due("You'll have it back on Sunday Week, my word on it", WEDNESDAY)
    assert found is not None and found.said == "Sunday Week"


def test_all_days_of_a_line_are_told_in_order() -> None:
    found = dates("He comes home on the 26th. And on sunday I cook", WEDNESDAY)
    assert [each.iso for each in found] == ["2026-03-26", "2026-03-08"]


def test_a_time_a_day_and_an_iso_text_are_the_same_moment() -> None:
    moments = WEDNESDAY, date(2026, 3, 4), datetime(2026, 3, 4, 23, 59, tzinfo=UTC)
    assert {due("in ten days", each) for each in moments} == {due("in ten days", WEDNESDAY)}


@given(st.text(max_size=200), st.dates(), st.booleans())
def test_any_text_is_read_without_an_error(text: str, said_at: date, past: bool) -> None:
    due(text, said_at, past=past)


@given(st.sampled_from(DAYS), st.dates(date(1990, 1, 1), date(2100, 1, 1)))
def test_a_named_weekday_is_the_next_one_or_the_last_one(name: str, said_at: date) -> None:
    coming, gone = due(f"on {name}", said_at), due(f"on {name}", said_at, past=True)
    assert coming is not None and gone is not None
    assert DAYS[coming.day.weekday()] == DAYS[gone.day.weekday()] == name
    assert timedelta() < coming.day - said_at <= timedelta(days=7)
    assert timedelta() < said_at - gone.day <= timedelta(days=7)


@given(st.integers(1, 31), st.dates(date(1990, 1, 1), date(2100, 1, 1)), st.booleans())
def test_a_day_of_the_month_is_within_two_months(number: int, said_at: date, past: bool) -> None:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 != 1 else 0, "th")
    found = due(f"by the {number}{suffix}", said_at, past=past)
    if number == said_at.day:
        assert found is None
    else:
        assert found is not None and found.day.day == number
        away = (said_at - found.day if past else found.day - said_at).days
        assert 0 < away <= 62


@given(st.sampled_from(["tomorrow", "friday week", "in 5 days", "the 9th of may"]))
def test_letters_may_be_large_or_small(text: str) -> None:
    forms = {due(form, WEDNESDAY).day for form in (text, text.upper(), text.title())}  # type: ignore[union-attr]
    assert len(forms) == 1
