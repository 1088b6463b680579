"""Wrong input and failures: every error of the API is a sentence."""

from __future__ import annotations

from functools import wraps

import pytest
from api_client import (
    READS,
    says,
)

from contrib_ai_memory import offload
from contrib_ai_memory.admin import ids, inspect
from contrib_ai_memory.store import memory_store

HOSTILE = (
    "<script>alert(1)</script> |rred|n $eval(1+1) {character} </memory> "
    "\u202eright to left\u202c javascript:alert(1)"
)


@pytest.mark.parametrize(
    ("method", "address", "body", "expected", "words"),
    [
        ("GET", "/npcs/99999/", None, 404, "no NPC with a memory"),
        ("GET", "/npcs/Mara/", None, 404, "no such URL"),
        ("POST", "/nowhere/at/all", {}, 404, "no such URL"),
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
        ("GET", "/npcs/{npc}/links/?records=hunger", None, 400, "not a valid choice"),
        ("POST", "/npcs/{npc}/memories/", {}, 400, "text: This field is required"),
        ("POST", "/npcs/{npc}/memories/", {"text": "\u200b"}, 400, "nothing to remember"),
        ("POST", "/npcs/{npc}/memories/", {"text": "x", "importance": 11}, 400, "importance:"),
        ("POST", "/npcs/{npc}/memories/", [1], 400, "Invalid data"),
        ("PATCH", "/npcs/{npc}/memories/1/", {}, 400, "Say what to change"),
        ("PATCH", "/npcs/{npc}/memories/1/", {"importance": "high"}, 400, "importance:"),
        ("POST", "/npcs/{npc}/undo/", {}, 409, "undo"),
        ("POST", "/npcs/{npc}/preview/", {"player": "Nobody", "text": "x"}, 404, "Nobody"),
        ("DELETE", "/npcs/{npc}/people/Mara/", None, 404, "knows nobody"),
    ],
)
def test_invalid_input_is_answered_with_a_sentence(
    admin_api, mara, alice, method, address, body, expected, words
):
    says(mara, alice, "I keep the ferry at Millbrook.")
    status, answer = admin_api(method, address.format(npc=mara.id), body)
    assert status == answer["status"] == expected, answer
    assert words in answer["detail"]
    assert answer["type"] == "about:blank" and answer["title"]


def test_every_error_is_sent_as_a_problem(asked, admin_api, mara):
    def kind(made):
        return made.status_code, made["Content-Type"]

    problem = "application/problem+json"
    here = f"/api/memory/npcs/{mara.id}/"
    client, headers = admin_api.client, admin_api.headers
    assert kind(client.get(here + "memories/77/", **headers)) == (404, problem)
    assert kind(client.get(here + "search/", **headers)) == (400, problem)
    assert kind(client.get("/api/memory/nowhere/", **headers)) == (404, problem)
    assert kind(client.delete(here, **headers)) == (405, problem)
    refused = client.get(here)
    assert kind(refused) == (401, problem) and refused.json()["title"] == "Unauthorized"
    assert kind(client.post(here + "undo/", **headers)) == (409, problem)
    fine = client.get(here, **headers)
    assert kind(fine) == (200, "application/json")


def test_invalid_json_is_answered_with_a_sentence(admin_api, mara):
    address = f"/api/memory/npcs/{mara.id}/memories/"
    sent = admin_api.client.post(
        address, "{not json", content_type="application/json", **admin_api.headers
    )
    assert sent.status_code == 400
    assert "JSON" in sent.json()["detail"]


def test_an_ambiguous_id_is_answered_with_advice(admin_api, mara, monkeypatch):

    def of_two(agent_id, prefix):
        two = [f"aaaa{n}000-0000-5000-8000-000000000000" for n in (1, 2)]
        return [ids.MemoryRecord(id=each, content="x", record="fact") for each in two]

    monkeypatch.setattr(ids, "_of_prefix", wraps(ids._of_prefix)(of_two))
    status, answer = admin_api("GET", f"/npcs/{mara.id}/memories/aaaa/")
    assert (status, "Type more of the id" in answer["detail"]) == (400, True)


def test_an_unavailable_store_is_503(admin_api, mara, store_folder, settings):
    says(mara, mara, "x")
    memory_store.close_shared(for_good=False)
    nobody = {"provider": "qdrant", "config": {"url": "http://127.0.0.1:9"}}
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"VECTOR_STORE": nobody}
    status, answer = admin_api("GET", f"/npcs/{mara.id}/memories/")
    assert status == 503
    assert "127.0.0.1:9" in answer["detail"] and "VECTOR_STORE" in answer["detail"]


def test_a_busy_memory_is_503_with_retry_after(admin_api, mara, monkeypatch):
    def full(*args, **kwargs):
        raise offload.Busy("the memory worker has 256 jobs waiting")

    monkeypatch.setattr(offload, "run", full)
    made = admin_api.client.get(f"/api/memory/npcs/{mara.id}/memories/", **admin_api.headers)
    assert (made.status_code, made["Retry-After"]) == (503, "5")
    assert "256 jobs" in made.json()["detail"]


def test_an_internal_error_reveals_no_details(admin_api, mara, monkeypatch):
    def fails(*args, **kwargs):
        raise KeyError("a secret of the insides")

    monkeypatch.setattr(inspect, "look_job", fails)
    status, answer = admin_api("GET", f"/npcs/{mara.id}/memories/")
    assert status == 500
    assert "insides" not in answer["detail"]
    assert "ai_memory.log" in answer["detail"]


def test_hostile_text_is_returned_as_stored(admin_api, mara, alice):
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
