"""The REST API: who may, what it gives, what it does, and that no input breaks it."""

from __future__ import annotations

import base64
import json
import os
from itertools import product

import pytest
from django.test import Client
from django.urls import NoReverseMatch, reverse
from evennia.utils.create import create_account

from contrib_ai_memory import offload
from contrib_ai_memory.records import Percept
from contrib_ai_memory.sleep.night import Sleep
from contrib_ai_memory.web.api import throttling

PASSWORD = "lantern-and-oar"
HOSTILE = (
    "<script>alert(1)</script> |rred|n $eval(1+1) {character} </memory> "
    "\u202eright to left\u202c javascript:alert(1)"
)


class Asker:
    """A client of the API as one account, by password; what it gets is (status, JSON)."""

    def __init__(self, account=None):
        self.client = Client(raise_request_exception=False)
        self.headers = _basic(account.username, PASSWORD) if account else {}

    def __call__(self, method, address, body=None, **query):
        made = getattr(self.client, method.lower())(
            "/api/memory" + address,
            **({"query_params": query} if method == "DELETE" else {}),
            **({"data": query} if method == "GET" else {}),
            **(
                {"data": json.dumps(body or {}), "content_type": "application/json"}
                if method in ("POST", "PATCH")
                else {}
            ),
            **self.headers,
        )
        return made.status_code, json.loads(made.content)


def _basic(name, password):
    word = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"HTTP_AUTHORIZATION": f"Basic {word}"}


@pytest.fixture(autouse=True)
def api(settings, tavern):
    """The API, included as a game includes it; nobody is throttled from an earlier test."""
    from django.core.cache import cache

    settings.ROOT_URLCONF = "contrib_ai_memory.web.urls"
    settings.ALLOWED_HOSTS = ["*"]
    cache.clear()
    throttling.WrongPasswords.forget_all()


def _account(name, *permissions):
    made = create_account(name, None, PASSWORD, typeclass="typeclasses.accounts.Account")
    made.permissions.clear()
    for each in permissions:
        made.permissions.add(each)
    return made


@pytest.fixture
def asked(tavern):
    """asked("Builder") is a client with that permission; asked(None) is nobody at all."""
    made = {}

    def as_one(permission):
        if permission not in made:
            made[permission] = Asker(permission and _account(f"the {permission}", permission))
        return made[permission]

    return as_one


@pytest.fixture
def builder_api(asked):
    return asked("Builder")


@pytest.fixture
def admin_api(asked):
    return asked("Admin")


def says(npc, who, text, **more):
    identity = npc.get_memory_identity(who)
    return npc.memory.perceive(
        Percept(
            content=text,
            kind="say",
            seen_as=who.key,
            source=identity,
            witnesses=(identity,),
            entities=(identity,),
            location="#1",
            **more,
        )
    )


@pytest.fixture
def lived(mara, alice, bram):
    """Mara, who has heard and slept a little."""
    says(mara, alice, "I keep the ferry at Millbrook.")
    says(mara, alice, "My brother Corin sailed for Port Vane in spring.")
    says(mara, bram, "The mill burned down last winter.")
    offload.wait(mara.memory.add("The cellar floods in spring."))
    while not offload.wait(mara.memory.work_through(until_silent=True)):
        pass
    offload.wait(mara.assistant.sleep.whole_night())
    return mara


def fact_of(ask, npc):
    status, page = ask("GET", f"/npcs/{npc.id}/memories/", record="fact")
    assert status == 200 and page["count"]
    return page["results"][0]["id"]


# --- who may --------------------------------------------------------------------------------------

READS = (
    "/npcs/{npc}/",
    "/npcs/{npc}/journal/",
    "/npcs/{npc}/memories/",
    "/npcs/{npc}/memories/1/",
    "/npcs/{npc}/memories/1/trace/",
    "/npcs/{npc}/search/?q=ferry",
    "/npcs/{npc}/people/",
    "/npcs/{npc}/people/Alice/",
    "/npcs/{npc}/links/",
    "/npcs/{npc}/status/",
    "/npcs/{npc}/nights/",
    "/npcs/{npc}/cost/",
    "/npcs/{npc}/stats/",
    "/npcs/{npc}/acts/",
)
WRITES = (
    ("POST", "/npcs/{npc}/memories/", {"text": "The moon is full."}),
    ("PATCH", "/npcs/{npc}/memories/1/", {"importance": 9}),
    ("POST", "/npcs/{npc}/memories/1/pin/", {}),
    ("POST", "/npcs/{npc}/memories/1/unpin/", {}),
    ("POST", "/npcs/{npc}/memories/1/lock/", {}),
    ("POST", "/npcs/{npc}/memories/1/unlock/", {}),
    ("POST", "/npcs/{npc}/undo/", {}),
    ("DELETE", "/npcs/{npc}/memories/1/", {}),
    ("POST", "/npcs/{npc}/pause/", {}),
    ("POST", "/npcs/{npc}/resume/", {}),
    ("POST", "/npcs/{npc}/nights/", {}),
    ("POST", "/npcs/{npc}/wake/", {}),
)
PREVIEW = ("POST", "/npcs/{npc}/preview/", {"player": "Alice", "text": "What do I keep?"})
ERASE = ("DELETE", "/npcs/{npc}/people/Alice/", {})


def test_every_address_is_in_the_table_of_permissions():
    told = {f"/{address}" for address in _addresses()}
    tested = {line.split("?")[0] for line in READS} | {line for _, line, _ in (*WRITES, PREVIEW)}
    tested = {each.replace("/1/", "/{id}/").replace("Alice", "{id}") for each in tested}
    assert told - tested == {"/npcs/", "/openapi.json", "/"}


def _addresses():
    import re

    def walk(patterns, before=""):
        for each in patterns:
            here = before + str(each.pattern)
            if hasattr(each, "url_patterns"):
                yield from walk(each.url_patterns, here)
            else:
                yield here

    from contrib_ai_memory.web.api import routes

    for address in walk(routes.urlpatterns):
        address = address.replace("<int:npc_id>", "{npc}")
        yield re.sub(r"<\w+:\w+>", "{id}", address)


@pytest.mark.parametrize("who", [None, "Player", "Helper"])
def test_a_stranger_gets_nothing_anywhere(asked, lived, who):
    ask = asked(who)
    expected = 401 if who is None else 403
    before = list(lived.memory.journal.read())
    calls = [("GET", each, {}) for each in ("/npcs/", "/openapi.json", *READS)]
    for method, address, body in (*calls, *WRITES, PREVIEW, ERASE):
        status, answer = ask(method, address.format(npc=lived.id), body)
        assert status == expected, (method, address, answer)
        assert set(answer) == {"detail"}
    assert list(lived.memory.journal.read()) == before
    assert not lived.assistant.asleep


def test_a_stranger_is_not_told_which_npcs_there_are(asked, lived):
    there = asked("Player")("GET", f"/npcs/{lived.id}/")
    nowhere = asked("Player")("GET", "/npcs/99999/")
    assert there == nowhere


def test_a_builder_looks_and_edits_everywhere_and_does_not_erase(builder_api, lived):
    for address in READS:
        status, answer = builder_api("GET", address.format(npc=lived.id))
        assert status == 200, (address, answer)
    for method, address, body in (PREVIEW, *WRITES):
        status, answer = builder_api(method, address.format(npc=lived.id), body)
        assert status in (200, 201, 202), (method, address, answer)
    status, answer = builder_api(ERASE[0], ERASE[1].format(npc=lived.id))
    assert status == 403
    assert "Admin" in answer["detail"]


def test_an_admin_erases_a_person(admin_api, lived, alice):
    status, erased = admin_api(ERASE[0], ERASE[1].format(npc=lived.id))
    assert status == 200
    assert erased["entries"] == 2
    contents = [entry.content for entry in lived.memory.journal.read()]
    assert not any("ferry" in content for content in contents)
    assert admin_api("GET", f"/npcs/{lived.id}/people/Alice/")[0] == 404


def test_an_npcs_own_locks_hold(builder_api, admin_api, lived):
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


def test_a_staff_account_may_look(tavern, mara):
    account = _account("staff")
    account.is_staff = True
    account.save()
    assert Asker(account)("GET", "/npcs/")[1]["count"] == 1


def test_what_is_changed_stands_in_the_security_log(builder_api, lived, monkeypatch):
    from evennia.utils import logger

    lines = []
    monkeypatch.setattr(logger, "log_sec", lines.append)
    for method, address, body in WRITES:
        builder_api(method, address.format(npc=lived.id), body)
    deeds = " ".join(lines)
    for deed in ("add", "edit", "pin", "lock", "undo", "forget", "pause", "resume", "sleep"):
        assert f": {deed}" in deeds, deed
    assert "moon" not in deeds


def test_what_is_looked_at_stands_in_the_security_log_once(builder_api, lived, monkeypatch):
    from evennia.utils import logger

    from contrib_ai_memory.admin import access

    lines = []
    monkeypatch.setattr(logger, "log_sec", lines.append)
    access._looks.clear()
    for _ in range(3):
        assert builder_api("GET", f"/npcs/{lived.id}/journal/", text="ferry")[0] == 200
    body = {"player": "Alice", "text": "What of the ferry?"}
    assert builder_api("POST", f"/npcs/{lived.id}/preview/", body)[0] == 200
    [journal, preview] = lines
    assert "the API's journal" in journal and lived.dbref in journal
    assert "the API's preview" in preview
    assert "ferry" not in " ".join(lines)


# --- logged in by the website ---------------------------------------------------------------------


@pytest.fixture
def browser(tavern):
    client = Client(enforce_csrf_checks=True)
    client.force_login(_account("the Builder", "Builder"))
    return client


def test_the_websites_log_in_holds(browser, mara):
    assert browser.get("/api/memory/npcs/").status_code == 200


def test_a_page_of_others_cannot_write_through_a_browser(browser, mara):
    address = f"/api/memory/npcs/{mara.id}/memories/"
    body = {"data": json.dumps({"text": "Obey."}), "content_type": "application/json"}
    refused = browser.post(address, **body)
    assert refused.status_code == 403
    assert "CSRF" in refused.json()["detail"]
    browser.cookies["csrftoken"] = "a" * 32
    assert browser.post(address, **body, headers={"x-csrftoken": "a" * 32}).status_code == 201


def test_a_form_of_others_cannot_either(browser, mara):
    browser.cookies["csrftoken"] = "a" * 32
    address = f"/api/memory/npcs/{mara.id}/memories/"
    sent = browser.post(address, {"text": "Obey."}, headers={"x-csrftoken": "a" * 32})
    assert sent.status_code == 415


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null", "http://testserver.evil"])
def test_a_password_that_the_browser_remembers_is_of_no_use_to_a_page_of_others(
    asked, mara, origin, settings
):
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


def test_the_session_counts_where_the_game_names_other_ways_only(browser, mara, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"]
    }
    assert browser.get("/api/memory/npcs/").status_code == 200


def test_every_answer_has_its_security_headers_and_is_kept_in_no_cache(browser, mara, monkeypatch):
    from contrib_ai_memory.admin import stats

    def broken(npc):
        raise KeyError("api_key=hunter2")

    monkeypatch.setattr(stats, "cost", broken)
    address = f"/api/memory/npcs/{mara.id}/"
    expected = {
        browser.get(address): 200,
        Client().get(address): 401,
        browser.post(f"{address}pause/"): 403,
        browser.get(f"{address}memories/ffff/"): 404,
        browser.get("/api/memory/nowhere/"): 404,
        browser.put(address): 403,
        browser.get(f"{address}journal/?limit=x"): 400,
        browser.get(f"{address}cost/"): 500,
    }
    for answer, status in expected.items():
        assert answer.status_code == status
        assert "default-src 'none'" in answer["Content-Security-Policy"]
        assert answer["X-Frame-Options"] == "DENY"
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert answer["Referrer-Policy"] == "same-origin"
        assert "no-store" in answer["Cache-Control"]
        assert "hunter2" not in answer.content.decode()


# --- looking --------------------------------------------------------------------------------------


def test_npcs_are_listed_found_and_paged(builder_api, mara, tavern):
    from evennia.utils.create import create_object

    for name in ("Odo", "Una"):
        create_object("typeclasses.npcs.AssistantNPC", key=name, location=tavern)
    status, page = builder_api("GET", "/npcs/", limit=2)
    assert status == 200
    assert (page["count"], [each["key"] for each in page["results"]]) == (3, ["Mara", "Odo"])
    assert page["previous"] is None
    assert "offset=2" in page["next"]
    rest = builder_api("GET", "/npcs/", limit=2, offset=2)[1]
    assert ([each["key"] for each in rest["results"]], rest["next"]) == (["Una"], None)
    assert builder_api("GET", "/npcs/", text="od")[1]["results"][0]["key"] == "Odo"


def test_one_npc_is_told_in_numbers(builder_api, lived):
    _, npc = builder_api("GET", f"/npcs/{lived.id}/")
    assert (npc["npc"], npc["key"], npc["state"]) == (lived.id, "Mara", "awake")
    assert npc["entries"] == len(lived.memory.journal)
    assert npc["counts"]["fact"] > 0


def test_the_journal_is_walked_to_its_beginning(builder_api, mara, alice):
    for number in range(1, 8):
        says(mara, alice, f"This is line {number}.")
    seen, older = [], {}
    while True:
        _, page = builder_api("GET", f"/npcs/{mara.id}/journal/", limit=3, **older)
        seen += [entry["id"] for entry in page["entries"]]
        if page["older"] is None:
            break
        assert f"before={page['older']}" in page["next"]
        older = {"before": page["older"]}
    assert seen == [7, 6, 5, 4, 3, 2, 1]


def test_the_journal_is_filtered(builder_api, lived, alice):
    def contents(**query):
        _, page = builder_api("GET", f"/npcs/{lived.id}/journal/", **query)
        return [entry["content"] for entry in page["entries"]]

    assert contents(text="MILL burned") == ["The mill burned down last winter."]
    assert contents(kind="note") == ["The cellar floods in spring."]
    assert len(contents(entity="Alice")) == 2
    assert contents(entity=lived.get_memory_identity(alice)) == contents(entity="Alice")
    assert contents(day="1999-01") == []


def test_memories_are_listed_shown_and_traced(builder_api, lived):
    fact = fact_of(builder_api, lived)
    status, shown = builder_api("GET", f"/npcs/{lived.id}/memories/{fact}/")
    assert status == 200
    assert shown["memory"]["record"] == "fact"
    assert shown["evidence"]
    short = builder_api("GET", f"/npcs/{lived.id}/memories/{fact[:8]}/")[1]
    assert short == shown
    _, trace = builder_api("GET", f"/npcs/{lived.id}/memories/{fact}/trace/")
    assert [step["memory"]["record"] for step in trace["sources"]] == ["entry"] * len(
        trace["sources"]
    )
    assert trace["sources"]


def test_a_search_tells_each_part_of_each_score(builder_api, lived):
    _, found = builder_api("GET", f"/npcs/{lived.id}/search/", q="Who keeps the ferry?")
    best = found["memories"][0]
    assert "ferry" in best["memory"]["content"]
    assert best["score"]["total"] > 0
    assert {"dense", "speaker"} & set(best["score"]["clues"])
    assert found["prompt_block"].startswith("<memory>")


def test_a_search_for_somebody_hides_the_secrets_of_others(builder_api, lived, alice, bram):
    says(lived, alice, "My silver key lies under the third step.", private=True)

    def found(**speaker):
        query = {"q": "Where is the silver key?", **speaker}
        _, result = builder_api("GET", f"/npcs/{lived.id}/search/", **query)
        return any("third step" in each["memory"]["content"] for each in result["memories"])

    assert found()
    assert found(speaker="Alice")
    assert not found(speaker="Bram")


def test_people_and_what_is_known_of_them(builder_api, lived, alice):
    _, page = builder_api("GET", f"/npcs/{lived.id}/people/")
    assert {each["name"] for each in page["results"]} == {"Alice", "Bram"}
    assert page["count"] == 2
    by_name = builder_api("GET", f"/npcs/{lived.id}/people/Alice/")
    identity = lived.get_memory_identity(alice).replace("#", "%23")
    assert builder_api("GET", f"/npcs/{lived.id}/people/{identity}/") == by_name
    assert by_name[1]["person"]["interactions"] == 2


def test_links_nights_cost_and_numbers(builder_api, lived):
    _, graph = builder_api("GET", f"/npcs/{lived.id}/links/")
    ids = {node["linked"] for node in graph["nodes"]}
    assert graph["edges"] and all({edge["a"], edge["b"]} <= ids for edge in graph["edges"])
    _, nights = builder_api("GET", f"/npcs/{lived.id}/nights/")
    assert nights["status"] == {"state": "awake", "night": None}
    assert {"name", "read", "changed"} <= set(nights["nights"][0]["passes"][0])
    assert builder_api("GET", f"/npcs/{lived.id}/cost/")[1]["game"]["calls"] == 0
    _, stats = builder_api("GET", f"/npcs/{lived.id}/stats/")
    assert stats["entries"] == len(lived.memory.journal)


def test_a_preview_sends_and_remembers_nothing(builder_api, lived):
    before = len(lived.memory.journal)
    body = {"player": "Alice", "text": "What do I keep?"}
    status, shown = builder_api("POST", f"/npcs/{lived.id}/preview/", body)
    assert status == 200
    assert "ferry" in json.dumps(shown["messages"])
    assert len(lived.memory.journal) == before


# --- mending --------------------------------------------------------------------------------------


def test_what_is_added_is_recalled_at_once(builder_api, mara):
    status, entry = builder_api(
        "POST", f"/npcs/{mara.id}/memories/", {"text": "The bridge is closed.", "importance": 9}
    )
    assert (status, entry["importance"], entry["origin"]) == (201, 9, "builder")
    _, found = builder_api("GET", f"/npcs/{mara.id}/search/", q="Is the bridge open?")
    assert found["memories"][0]["memory"]["content"] == "The bridge is closed."


def test_what_is_edited_is_edited_and_undone(builder_api, lived):
    fact = fact_of(builder_api, lived)
    address = f"/npcs/{lived.id}/memories/{fact}/"
    before = builder_api("GET", address)[1]["memory"]["content"]
    status, memory = builder_api("PATCH", address, {"content": "The ferry is gone."})
    assert (status, memory["content"]) == (200, "The ferry is gone.")
    assert builder_api("GET", address)[1]["memory"]["content"] == "The ferry is gone."
    acts = builder_api("GET", f"/npcs/{lived.id}/acts/")[1]
    assert acts[0]["deed"] == "edit"
    assert builder_api("POST", f"/npcs/{lived.id}/undo/")[0] == 200
    assert builder_api("GET", address)[1]["memory"]["content"] == before


def test_what_is_forgotten_goes_alone_or_with_what_came_of_it(builder_api, lived):
    fact = fact_of(builder_api, lived)
    source = builder_api("GET", f"/npcs/{lived.id}/memories/{fact}/")[1]["evidence"][0]["id"]
    address = f"/npcs/{lived.id}/memories/{source}/"
    status, gone = builder_api("DELETE", address, cascade="true")
    assert status == 200
    assert len(gone["ids"]) > 1 and gone["undoable"]
    assert builder_api("GET", address)[0] == 404
    assert builder_api("GET", f"/npcs/{lived.id}/memories/{fact}/")[0] == 404
    assert builder_api("POST", f"/npcs/{lived.id}/undo/")[0] == 200
    assert builder_api("GET", address)[0] == 200


def test_a_pinned_memory_is_pinned_until_it_is_not(builder_api, lived):
    fact = fact_of(builder_api, lived)
    address = f"/npcs/{lived.id}/memories/{fact}/"
    assert "pinned" in builder_api("POST", address + "lock/")[1]["tags"]
    assert "locked" in builder_api("GET", address)[1]["tags"]
    assert "locked" not in builder_api("POST", address + "unlock/")[1]["tags"]
    assert "pinned" not in builder_api("POST", address + "unpin/")[1]["tags"]


# --- nights ---------------------------------------------------------------------------------------


def test_a_night_is_started_watched_and_ended(builder_api, lived, alice):
    address = f"/npcs/{lived.id}/nights/"
    status, told = builder_api("POST", address)
    assert (status, told["state"]) == (202, "compacting")
    assert told["night"]["position"] == 1
    status, answer = builder_api("POST", address)
    assert (status, answer["detail"]) == (
        409,
        "Mara is asleep already. Wake it first, or wait for the morning.",
    )
    status, told = builder_api("POST", f"/npcs/{lived.id}/wake/")
    assert status == 202
    assert told["night"]["waking"], "in compacting, waking waits for the end of the phase"
    while lived.assistant.asleep:
        lived.assistant.ndb.last_sleep_tick = None
        offload.wait(lived.assistant.at_tick())
    assert builder_api("GET", f"/npcs/{lived.id}/status/")[1] == {"state": "awake", "night": None}
    assert len(builder_api("GET", address)[1]["nights"]) == 2
    assert builder_api("POST", f"/npcs/{lived.id}/wake/")[0] == 409


def test_a_whole_night_is_not_waited_for(builder_api, lived, monkeypatch):
    from twisted.internet import defer

    begun = []

    def never_ends(self):
        begun.append(self)
        return defer.Deferred()

    monkeypatch.setattr(Sleep, "whole_night", never_ends)
    status, told = builder_api("POST", f"/npcs/{lived.id}/nights/", {"at_once": True})
    assert (status, told["state"], len(begun)) == (202, "compacting", 1)


def test_a_paused_npc_does_not_sleep_until_it_goes_on(builder_api, mara):
    assert builder_api("POST", f"/npcs/{mara.id}/pause/")[1]["state"] == "paused"
    status, answer = builder_api("POST", f"/npcs/{mara.id}/nights/")
    assert (status, "paused" in answer["detail"]) == (409, True)
    assert builder_api("POST", f"/npcs/{mara.id}/resume/")[1]["state"] == "awake"
    assert builder_api("POST", f"/npcs/{mara.id}/nights/")[0] == 202


# --- wrong input and trouble ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "address", "body", "expected", "words"),
    [
        ("GET", "/npcs/99999/", None, 404, "no NPC of that number"),
        ("GET", "/npcs/Mara/", None, 404, "no such address"),
        ("POST", "/nowhere/at/all", {}, 404, "no such address"),
        ("POST", "/npcs/", {}, 405, "not allowed"),
        ("GET", "/npcs/{npc}/memories/ffffffff/", None, 404, "has no memory 'ffffffff'"),
        ("GET", "/npcs/{npc}/memories/9999/", None, 404, "has no memory"),
        ("GET", "/npcs/{npc}/people/Nobody/", None, 404, "knows nobody called 'Nobody'"),
        ("GET", "/npcs/{npc}/journal/?before=soon", None, 400, "before: A valid integer"),
        ("GET", "/npcs/{npc}/journal/?limit=100000", None, 400, "less than or equal to 200"),
        ("GET", "/npcs/{npc}/journal/?day=yesterday", None, 400, "day:"),
        ("GET", "/npcs/{npc}/journal/?entity=Nobody", None, 404, "knows nobody"),
        ("GET", "/npcs/{npc}/memories/?record=dream", None, 400, "not a valid choice"),
        ("GET", "/npcs/{npc}/search/", None, 400, "q: This field is required"),
        ("GET", "/npcs/{npc}/search/?q=x&emotions=hunger", None, 400, "not a valid choice"),
        ("POST", "/npcs/{npc}/memories/", {}, 400, "text: This field is required"),
        ("POST", "/npcs/{npc}/memories/", {"text": "\u200b"}, 400, "nothing to remember"),
        ("POST", "/npcs/{npc}/memories/", {"text": "x", "importance": 11}, 400, "importance:"),
        ("POST", "/npcs/{npc}/memories/", [1], 400, "Invalid data"),
        ("PATCH", "/npcs/{npc}/memories/1/", {}, 400, "Say what to change"),
        ("PATCH", "/npcs/{npc}/memories/1/", {"emotions": ["hunger"]}, 400, "emotions.0:"),
        ("POST", "/npcs/{npc}/undo/", {}, 409, "undo"),
        ("POST", "/npcs/{npc}/preview/", {"player": "Nobody", "text": "x"}, 404, "Nobody"),
        ("DELETE", "/npcs/{npc}/people/Mara/", None, 404, "knows nobody"),
    ],
)
def test_wrong_input_is_answered_by_a_sentence(
    admin_api, mara, alice, method, address, body, expected, words
):
    says(mara, alice, "I keep the ferry at Millbrook.")
    status, answer = admin_api(method, address.format(npc=mara.id), body)
    assert status == expected, answer
    assert words in answer["detail"]


def test_what_is_no_json_is_answered_by_a_sentence(admin_api, mara):
    address = f"/api/memory/npcs/{mara.id}/memories/"
    sent = admin_api.client.post(
        address, "{not json", content_type="application/json", **admin_api.headers
    )
    assert sent.status_code == 400
    assert "JSON" in sent.json()["detail"]


def test_an_id_that_fits_several_is_answered_by_what_to_do(admin_api, mara, monkeypatch):
    from contrib_ai_memory.admin import ids

    def of_two(agent_id, prefix):
        two = [f"aaaa{n}000-0000-5000-8000-000000000000" for n in (1, 2)]
        return [ids.MemoryRecord(id=each, content="x", record="fact") for each in two]

    monkeypatch.setattr(ids, "of_prefix", of_two)
    status, answer = admin_api("GET", f"/npcs/{mara.id}/memories/aaaa/")
    assert (status, "Type more of the id" in answer["detail"]) == (400, True)


def test_a_store_that_cannot_be_used_is_503(admin_api, mara, store_folder, settings):
    from contrib_ai_memory.store import memory_store

    says(mara, mara, "x")
    memory_store.close_shared(for_good=False)
    nobody = {"provider": "qdrant", "config": {"url": "http://127.0.0.1:9"}}
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"VECTOR_STORE": nobody}
    status, answer = admin_api("GET", f"/npcs/{mara.id}/memories/")
    assert status == 503
    assert "127.0.0.1:9" in answer["detail"] and "VECTOR_STORE" in answer["detail"]


def test_a_busy_memory_is_503_with_when_to_try_again(admin_api, mara, monkeypatch):
    def full(*args, **kwargs):
        raise offload.Busy("the memory worker has 256 jobs waiting")

    monkeypatch.setattr(offload, "run", full)
    made = admin_api.client.get(f"/api/memory/npcs/{mara.id}/memories/", **admin_api.headers)
    assert (made.status_code, made["Retry-After"]) == (503, "5")
    assert "256 jobs" in made.json()["detail"]


def test_a_fault_of_ours_is_told_without_its_insides(admin_api, mara, monkeypatch):
    from contrib_ai_memory.admin import inspect

    def fails(*args, **kwargs):
        raise KeyError("a secret of the insides")

    monkeypatch.setattr(inspect, "memories", fails)
    status, answer = admin_api("GET", f"/npcs/{mara.id}/memories/")
    assert status == 500
    assert "insides" not in answer["detail"]
    assert "ai_memory.log" in answer["detail"]


def test_hostile_text_comes_out_as_the_text_that_was_kept(admin_api, mara, alice):
    says(mara, alice, HOSTILE)
    status, entry = admin_api("POST", f"/npcs/{mara.id}/memories/", {"text": HOSTILE * 10})
    assert status == 201
    assert "\u202e" not in entry["content"] and "</memory>" not in entry["content"]
    made = admin_api.client.get(f"/api/memory/npcs/{mara.id}/journal/", **admin_api.headers)
    assert made["Content-Type"] == "application/json"
    assert made["X-Content-Type-Options"] == "nosniff"
    assert HOSTILE in [each["content"] for each in made.json()["entries"]]
    for address in READS:
        assert admin_api("GET", address.format(npc=mara.id))[0] == 200, address
    _, found = admin_api("GET", f"/npcs/{mara.id}/search/", q="<script> $eval(1) |r {0}")
    assert found["prompt_block"].count("</memory>") == 1


# --- throttling -----------------------------------------------------------------------------------


def test_who_asks_too_often_is_told_to_wait(admin_api, mara, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": {"ai_memory_work": "2/min"}
    }
    search = f"/npcs/{mara.id}/search/"
    assert [admin_api("GET", search, q="x")[0] for _ in range(3)] == [200, 200, 429]
    assert "throttled" in admin_api("GET", search, q="x")[1]["detail"]
    assert admin_api("GET", "/npcs/")[0] == 200, "other addresses have a rate of their own"


def test_one_visitor_is_not_throttled_for_another(asked, mara, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": {"ai_memory_read": "1/min"}
    }
    assert [asked("Admin")("GET", "/npcs/")[0] for _ in range(2)] == [200, 429]
    assert asked("Builder")("GET", "/npcs/")[0] == 200


def test_no_rate_is_no_limit(admin_api, mara, settings):
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
    return (client or Client()).get("/api/memory/npcs/", **_basic(name, password), **more)


def test_a_stranger_who_guesses_does_not_lock_other_accounts_out(asked, mara, clock):
    """Behind the game's own web proxy every client has one address."""
    for n in range(30):
        try_password("the Builder", f"guess {n}")
    assert asked("Admin")("GET", "/npcs/")[0] == 200


def test_guesses_at_one_account_become_slow_whatever_address_they_claim(asked, mara, clock):
    asked("Builder")
    statuses = [
        try_password("the Builder", f"guess {n}", HTTP_X_FORWARDED_FOR=f"10.0.0.{n}").status_code
        for n in range(12)
    ]
    assert statuses == [401] * 5 + [429] * 7


def test_a_name_spelt_otherwise_is_the_same_account(asked, mara, clock):
    asked("Builder")
    for n in range(5):
        try_password("THE bUILDER" if n % 2 else " the Builder ", f"guess {n}")
    assert try_password("the Builder", "guess").status_code == 429


def test_a_name_of_nobody_is_refused_as_one_of_somebody_is(asked, mara, clock):
    asked("Builder")
    answers = {
        name: [
            (made.status_code, made.json(), made.get("Retry-After"))
            for made in (try_password(name, f"guess {n}") for n in range(8))
        ]
        for name in ("the Builder", "nobody of that name")
    }
    assert answers["the Builder"] == answers["nobody of that name"]


def test_the_right_password_gets_in_after_half_a_minute_at_most(asked, mara, clock):
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


def test_who_is_logged_in_on_the_website_gets_in_while_a_stranger_guesses(browser, mara, clock):
    for n in range(30):
        try_password("the Builder", f"guess {n}")
    assert browser.get("/api/memory/npcs/").status_code == 200
    assert try_password("the Builder", PASSWORD, browser).status_code == 200


def test_who_is_logged_in_cannot_guess_for_ever_either(browser, mara, clock):
    statuses = [try_password("the Builder", f"guess {n}", browser).status_code for n in range(7)]
    assert statuses == [401] * 5 + [429] * 2
    assert try_password("the Builder", PASSWORD).status_code == 200, "their own count, no other's"


def test_guesses_at_many_accounts_are_bounded_and_those_in_use_go_on(asked, mara, clock):
    assert asked("Builder")("GET", "/npcs/")[0] == 200
    names = [f"account {n}" for n in range(100)]
    statuses = [try_password(name, "12345").status_code for name in names]
    assert statuses == [401] * 60 + [429] * 40
    assert asked("Builder")("GET", "/npcs/")[0] == 200, "it came in with its password before"
    clock.now += 61
    assert try_password("account 99", "12345").status_code == 401


def test_what_the_throttle_keeps_is_bounded(asked, mara, clock, settings):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": {"ai_memory_password": "1000000/sec"}
    }
    passwords = throttling.WrongPasswords()
    for n in range(3 * throttling.NAMES_KEPT):
        passwords.refused(f"name:{n}")
    assert len(throttling.WrongPasswords.counts) <= throttling.NAMES_KEPT
    passwords.refused("name:" + "x" * 100_000)
    assert max(map(len, throttling.WrongPasswords.counts)) < 200


def test_no_rate_of_passwords_is_no_limit_of_them(asked, mara, settings, clock):
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": {"ai_memory_password": None}
    }
    asked("Builder")
    assert {try_password("the Builder", f"guess {n}").status_code for n in range(80)} == {401}


# --- the schema -----------------------------------------------------------------------------------


def test_without_the_urls_there_is_no_api(settings, mara):
    settings.ROOT_URLCONF = "evennia.web.urls"
    with pytest.raises(NoReverseMatch):
        reverse("ai_memory_api:npcs")


@pytest.fixture
def schema(admin_api, mara):
    status, found = admin_api("GET", "/openapi.json")
    assert status == 200
    return found


def test_the_schema_tells_every_address(schema):
    told = {each.replace("{npc_id}", "{npc}") for each in schema["paths"]}
    told = {each.replace("{memory_id}", "{id}").replace("{person}", "{id}") for each in told}
    assert told == {f"/{each}" for each in _addresses()} - {"/openapi.json", "/"}
    assert schema["servers"] == [{"url": "/api/memory"}]


def test_every_operation_of_the_schema_says_what_it_does(schema):
    operations = [each for path in schema["paths"].values() for each in path.values()]
    assert all(each.get("description") for each in operations)
    names = [each["operationId"] for each in operations]
    assert len(names) == len(set(names))


EXAMPLES = int(os.environ.get("API_EXAMPLES", "3"))  # of each operation, well formed and not


def test_no_input_that_the_schema_allows_or_forbids_is_a_fault(admin_api, lived, settings):
    import schemathesis
    from django.core.wsgi import get_wsgi_application
    from hypothesis import HealthCheck, given
    from hypothesis import settings as bounded
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {
        "DEFAULT_THROTTLE_RATES": dict.fromkeys(
            ("ai_memory_read", "ai_memory_work", "ai_memory_write"), None
        )
    }
    headers = {"Authorization": admin_api.headers["HTTP_AUTHORIZATION"]}
    schema = schemathesis.openapi.from_wsgi(
        "/api/memory/openapi.json", get_wsgi_application(), headers=headers
    )
    checks = [
        not_a_server_error,
        content_type_conformance,
        status_code_conformance,
        response_schema_conformance,
    ]
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        here = {"npc_id": lived.id, "memory_id": "1", "person": "Alice"}
        for mode, known in product(GenerationMode, (here, {"npc_id": lived.id}, None)):
            strategy = operation.as_strategy(generation_mode=mode, path_parameters=known)

            @bounded(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                derandomize=EXAMPLES < 10,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=strategy)
            def holds(case):
                nonlocal asked
                asked += 1
                case.call_and_validate(headers=headers, checks=checks)

            holds()
    assert asked > 100
