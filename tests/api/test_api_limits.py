"""Rate limits of the API."""

from __future__ import annotations


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
