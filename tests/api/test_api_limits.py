"""Rate limits of the API, and of passwords that are guessed."""

from __future__ import annotations

import pytest
from api_client import (
    PASSWORD,
    basic_auth,
)
from django.test import Client

from contrib_ai_memory.web import throttling


def test_too_many_requests_are_throttled_by_scope(admin_api, mara, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": {"ai_memory_work": "2/min"}
    }
    search = f"/npcs/{mara.id}/search/"
    assert [admin_api("GET", search, q="x")[0] for _ in range(3)] == [200, 200, 429]
    assert "throttled" in admin_api("GET", search, q="x")[1]["detail"]
    assert admin_api("GET", "/npcs/")[0] == 200, "other addresses have a rate of their own"


def test_accounts_are_throttled_separately(asked, mara, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": {"ai_memory_read": "1/min"}
    }
    assert [asked("Admin")("GET", "/npcs/")[0] for _ in range(2)] == [200, 429]
    assert asked("Builder")("GET", "/npcs/")[0] == 200


def test_a_rate_of_none_disables_the_limit(admin_api, mara, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": {"ai_memory_read": None}
    }
    assert {admin_api("GET", "/npcs/")[0] for _ in range(5)} == {200}


@pytest.fixture
def clock(monkeypatch):
    """The clock of the throttle of passwords: `clock.now += 10` lets time pass."""

    class Clock:
        now = 1000.0

    clock = Clock()
    monkeypatch.setattr(throttling, "monotonic", lambda: clock.now)
    return clock


def try_password(name, password, client=None, **more):
    return (client or Client()).get("/api/memory/npcs/", **basic_auth(name, password), **more)


def test_guessing_does_not_lock_other_accounts_out(asked, mara, clock):
    """Behind the game's own web proxy every client has one address."""
    for n in range(30):
        try_password("the Builder", f"guess {n}")
    assert asked("Admin")("GET", "/npcs/")[0] == 200


def test_guesses_at_one_account_are_delayed_whatever_address_they_claim(asked, mara, clock):
    asked("Builder")
    statuses = [
        try_password("the Builder", f"guess {n}", HTTP_X_FORWARDED_FOR=f"10.0.0.{n}").status_code
        for n in range(12)
    ]
    assert statuses == [401] * 5 + [429] * 7


def test_spellings_of_a_name_count_as_one_account(asked, mara, clock):
    asked("Builder")
    for n in range(5):
        try_password("THE bUILDER" if n % 2 else " the Builder ", f"guess {n}")
    assert try_password("the Builder", "guess").status_code == 429


def test_unknown_names_are_refused_like_known_ones(asked, mara, clock):
    asked("Builder")
    answers = {
        name: [
            (made.status_code, made.json(), made.get("Retry-After"))
            for made in (try_password(name, f"guess {n}") for n in range(8))
        ]
        for name in ("the Builder", "nobody of that name")
    }
    assert answers["the Builder"] == answers["nobody of that name"]


def test_the_right_password_works_after_half_a_minute_at_most(asked, mara, clock):
    """However long a stranger goes on guessing: nobody is locked out for good."""
    asked("Builder")
    for n in range(600):
        try_password("the Builder", f"guess {n}")
        clock.now += 1
    refused = try_password("the Builder", PASSWORD)
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) <= 30
    assert "log in on the website" in refused.json()["detail"]
    clock.now += int(refused["Retry-After"])
    assert try_password("the Builder", PASSWORD).status_code == 200
    assert try_password("the Builder", PASSWORD).status_code == 200


def test_a_session_works_while_a_stranger_guesses(browser, mara, clock):
    for n in range(30):
        try_password("the Builder", f"guess {n}")
    assert browser.get("/api/memory/npcs/").status_code == 200


def test_guesses_at_many_accounts_are_limited_but_not_for_accounts_in_use(asked, mara, clock):
    assert asked("Builder")("GET", "/npcs/")[0] == 200
    names = [f"account {n}" for n in range(100)]
    statuses = [try_password(name, "12345").status_code for name in names]
    assert statuses == [401] * 60 + [429] * 40
    assert asked("Builder")("GET", "/npcs/")[0] == 200, "it came in with its password before"
    clock.now += 61
    assert try_password("account 99", "12345").status_code == 401


def test_the_memory_of_the_throttle_is_bounded(monkeypatch):
    monkeypatch.setattr(throttling, "NAMES_KEPT", 50)
    delay = throttling.PasswordDelay()
    for n in range(150):
        delay.checked(f"name {n}", right=False)
    assert len(delay._failures) == 50


def test_a_count_ends_after_a_quarter_of_an_hour(asked, mara, clock):
    asked("Builder")
    for n in range(6):
        try_password("the Builder", f"guess {n}")
    clock.now += 1000
    assert {try_password("the Builder", f"guess {n}").status_code for n in range(5)} == {401}
