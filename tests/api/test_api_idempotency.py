"""Idempotency keys: a POST that is sent again with its key is done once."""

from __future__ import annotations

import json

import pytest

from contrib_ai_memory.web import gate, idempotency


@pytest.fixture
def send(builder_api, mara):
    """send(key, body) posts a memory; returns status, JSON and whether it is a replay."""

    def post(key, text="The moon is full.", who=builder_api, path="memories/"):
        made = who.client.post(
            f"/api/memory/npcs/{mara.id}/{path}",
            json.dumps({"text": text}),
            content_type="application/json",
            **who.headers,
            **({} if key is None else {"HTTP_IDEMPOTENCY_KEY": key}),
        )
        return made.status_code, made.json(), made.headers.get(idempotency.REPLAYED)

    return post


def test_a_post_that_is_sent_again_with_its_key_is_done_once(send, mara):
    first = send("k1")
    again = send("k1")
    assert first[0] == 201 and first[2] is None
    assert again == (201, first[1], "true")
    assert len(mara.memory.journal) == 1
    send(None)
    send(None)
    send("k2")
    assert len(mara.memory.journal) == 4


def test_a_key_belongs_to_one_request_and_one_account(send, asked, mara):
    send("k1")
    status, answer, _ = send("k1", "The moon is new.")
    assert status == 422 and "new key" in answer["detail"]
    assert send("k1", path="undo/")[0] == 422
    assert send("k1", who=asked("Admin"))[0] == 201, "another account's keys are its own"
    assert len(mara.memory.journal) == 2


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "a\tb"])
def test_an_invalid_key_is_refused(send, mara, key):
    status, answer, _ = send(key)
    assert status == 400 and "printable ASCII" in answer["detail"]
    assert len(mara.memory.journal) == 0


def test_a_refused_request_may_be_corrected_and_sent_with_its_key(send, mara):
    assert send("k1", "\u200b")[0] == 400
    assert send("k1")[0] == 201


def test_a_request_that_may_still_be_running_is_not_repeated(send, mara, monkeypatch):
    def slow(begun):
        def on_reactor(*args, **kwargs):
            raise gate.TooSlow("No answer within 10 s.", begun)

        monkeypatch.setattr(gate, "ask_npc", on_reactor)

    slow(begun=False)
    assert send("k1")[0] == 503
    slow(begun=True)
    assert send("k1")[0] == 503, "it was not begun, so it may be sent again"
    monkeypatch.undo()
    status, answer, _ = send("k1")
    assert status == 409 and "Look whether" in answer["detail"]
    assert len(mara.memory.journal) == 0


def test_two_requests_with_one_key_at_once_are_done_once(send, mara, monkeypatch):
    seen = []
    add = mara.memory.add

    def add_and_send_again(*args, **options):
        if not seen:
            seen.append(send("k1"))
        return add(*args, **options)

    monkeypatch.setattr(mara.memory, "add", add_and_send_again)
    assert send("k1")[0] == 201
    assert seen[0][0] == 409 and len(mara.memory.journal) == 1


def test_keys_are_bounded_in_number_and_time(send, mara, monkeypatch):
    monkeypatch.setattr(idempotency, "KEPT", 3)
    for number in range(5):
        send(f"k{number}")
    assert len(idempotency._kept) == 3
    assert send("k4")[2] == "true" and send("k0")[2] is None
    monkeypatch.setattr(idempotency, "KEPT_SECONDS", -1.0)
    assert send("k4")[2] is None
