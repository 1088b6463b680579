"""Who may use the API, with a password or a session, and what the log says of it."""

from __future__ import annotations

import json

import pytest
from api_client import (
    ERASE,
    OF_THE_GAME,
    PREVIEW,
    READS,
    WRITES,
    APIClient,
    api_urls,
    make_account,
)
from django.test import Client

from contrib_ai_memory.admin import audit, inspect


def test_every_url_is_in_the_table_of_requests():
    told = {f"/{address}" for address in api_urls()}
    tested = {line.split("?")[0] for line in READS} | {line for _, line, _ in (*WRITES, PREVIEW)}
    tested = {each.replace("/1/", "/{id}/").replace("Alice", "{id}") for each in tested}
    assert told - tested == {"/openapi.json", "/", *OF_THE_GAME}


@pytest.mark.parametrize("who", [None, "Player", "Helper"])
def test_accounts_without_permission_are_refused_everywhere(asked, lived, who):
    ask = asked(who)
    expected = 401 if who is None else 403
    before = list(lived.memory.journal.read())
    calls = [("GET", each, {}) for each in ("/openapi.json", *OF_THE_GAME, *READS)]
    for method, address, body in (*calls, *WRITES, PREVIEW, ERASE):
        status, answer = ask(method, address.format(npc=lived.id), body)
        assert status == expected, (method, address, answer)
        assert set(answer) == {"type", "title", "status", "detail"}
    assert list(lived.memory.journal.read()) == before
    assert not lived.assistant.asleep


def test_a_refusal_does_not_reveal_whether_an_npc_exists(asked, lived):
    there = asked("Player")("GET", f"/npcs/{lived.id}/")
    nowhere = asked("Player")("GET", "/npcs/99999/")
    assert there == nowhere


def test_a_builder_can_look_and_edit_everywhere_but_not_erase(builder_api, lived):
    for address in READS:
        status, answer = builder_api("GET", address.format(npc=lived.id))
        assert status == 200, (address, answer)
    for method, address, body in (PREVIEW, *WRITES):
        status, answer = builder_api(method, address.format(npc=lived.id), body)
        assert status in (200, 201, 202), (method, address, answer)
    status, answer = builder_api(ERASE[0], ERASE[1].format(npc=lived.id))
    assert status == 403
    assert "Admin" in answer["detail"]


def test_an_admin_can_erase_a_person(admin_api, lived, alice):
    status, erased = admin_api(ERASE[0], ERASE[1].format(npc=lived.id))
    assert status == 200
    assert erased["entries"] == 2
    contents = [entry.content for entry in lived.memory.journal.read()]
    assert not any("ferry" in content for content in contents)
    assert admin_api("GET", f"/npcs/{lived.id}/people/Alice/")[0] == 404


def test_an_npcs_own_locks_apply(builder_api, admin_api, lived):
    lived.locks.add("memory_edit:false()")
    for method, address, body in WRITES:
        status, answer = builder_api(method, address.format(npc=lived.id), body)
        assert (status, "memory_edit" in answer["detail"]) == (403, True), address
    assert builder_api("GET", f"/npcs/{lived.id}/")[0] == 200
    lived.locks.add("memory_erase:false()")
    assert admin_api(ERASE[0], ERASE[1].format(npc=lived.id))[0] == 403
    lived.locks.add("memory_look:false()")
    for address in READS:
        assert builder_api("GET", address.format(npc=lived.id))[0] == 404, address
    assert builder_api("GET", "/npcs/")[1]["results"] == []


def test_a_staff_account_can_look(tavern, mara):
    account = make_account("staff")
    account.is_staff = True
    account.save()
    assert APIClient(account)("GET", "/npcs/")[1]["count"] == 1


def test_changes_are_logged_without_content(builder_api, lived, monkeypatch):
    from evennia.utils import logger

    lines = []
    monkeypatch.setattr(logger, "log_sec", lines.append)
    for method, address, body in WRITES:
        builder_api(method, address.format(npc=lived.id), body)
    deeds = " ".join(lines)
    for deed in ("add", "edit", "pin", "lock", "undo", "forget", "pause", "resume", "sleep"):
        assert f": {deed}" in deeds, deed
    assert "moon" not in deeds


def test_each_look_is_logged_once_without_content(builder_api, lived, monkeypatch):
    from evennia.utils import logger

    lines = []
    monkeypatch.setattr(logger, "log_sec", lines.append)
    audit._looks.clear()
    for _ in range(3):
        assert builder_api("GET", f"/npcs/{lived.id}/journal/", text="ferry")[0] == 200
    body = {"player": "Alice", "text": "What of the ferry?"}
    assert builder_api("POST", f"/npcs/{lived.id}/preview/", body)[0] == 200
    [journal, preview] = lines
    assert "the API's journal" in journal and lived.dbref in journal
    assert "the API's preview" in preview
    assert "ferry" not in " ".join(lines)


def test_a_session_of_the_website_is_accepted(browser, mara):
    assert browser.get("/api/memory/npcs/").status_code == 200


def test_a_cross_site_request_with_a_session_needs_a_csrf_token(browser, mara):
    address = f"/api/memory/npcs/{mara.id}/memories/"
    body = {"data": json.dumps({"text": "Obey."}), "content_type": "application/json"}
    refused = browser.post(address, **body)
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["detail"]
    browser.cookies["csrftoken"] = "a" * 32
    assert browser.post(address, **body, headers={"x-csrftoken": "a" * 32}).status_code == 201


def test_a_form_is_refused_because_only_json_is_accepted(browser, mara):
    browser.cookies["csrftoken"] = "a" * 32
    address = f"/api/memory/npcs/{mara.id}/memories/"
    sent = browser.post(address, {"text": "Obey."}, headers={"x-csrftoken": "a" * 32})
    assert sent.status_code == 415


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "http://testserver.evil"])
def test_a_cross_site_request_with_a_stored_password_is_refused(asked, mara, origin, settings):
    ask = asked("Builder")
    address = f"/api/memory/npcs/{mara.id}/pause/"
    refused = ask.client.post(address, **ask.headers, HTTP_ORIGIN=origin)
    assert refused.status_code == 403
    assert "another site" in refused.json()["detail"]
    assert ask("GET", f"/npcs/{mara.id}/status/")[1]["state"] == "awake"
    settings.CSRF_TRUSTED_ORIGINS = [origin]
    assert ask.client.post(address, **ask.headers, HTTP_ORIGIN=origin).status_code == 200
    own = ask.client.post(
        address.replace("pause", "resume"), **ask.headers, HTTP_ORIGIN="http://testserver"
    )
    assert own.status_code == 200


def test_a_session_is_accepted_whatever_authentication_the_game_configures(browser, mara, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"]
    }
    assert browser.get("/api/memory/npcs/").status_code == 200


def test_every_response_has_security_headers_and_forbids_caching(browser, mara, monkeypatch):
    def broken(agent_id):
        raise KeyError("api_key=hunter2")

    monkeypatch.setattr(inspect, "_counts", broken)
    address = f"/api/memory/npcs/{mara.id}/"
    expected = {
        browser.get(address): 200,
        Client().get(address): 401,
        browser.post(f"{address}pause/"): 403,
        browser.get(f"{address}memories/ffff/"): 404,
        browser.get("/api/memory/nowhere/"): 404,
        browser.put(address): 403,
        browser.get(f"{address}journal/?limit=x"): 400,
        browser.get(f"{address}stats/"): 500,
    }
    for answer, status in expected.items():
        assert answer.status_code == status
        assert "default-src 'none'" in answer["Content-Security-Policy"]
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        assert "no-store" in answer["Cache-Control"]
        assert "hunter2" not in answer.content.decode()
