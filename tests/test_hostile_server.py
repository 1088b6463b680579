"""A night with a model server that is slow, broken or lies: nothing is lost, nothing invented."""

import json
import logging
import sys
import time
from pathlib import Path

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.store import memory_store

sys.path.insert(0, str(Path(__file__).resolve().parent))

from model_server import WELL_FORMED, Request, digest

INVENTED = "Alice murdered the king."
SAID = "I keep the ferry at Millbrook."
FACT = "Alice keeps the ferry at Millbrook."


def only_where(schema: str, answer: dict):
    """Nonsense in the answer to one question, and sense in those to the others."""

    def structured(request: Request) -> str:
        if request.schema == schema:
            return json.dumps(answer)
        if request.schema == "DigestAnswer":
            return json.dumps(digest({1: 5}, [{"text": FACT, "lines": [1]}]))
        return json.dumps(WELL_FORMED[request.schema](request))

    return structured


def invented(**more) -> dict:
    return digest({1: 5}, [{"text": INVENTED, "lines": [1], **more}])


# what the server does; what the log says of it, in one warning
MALICE = {
    "slow beyond the time-out": ({"delay": 5}, "Timeout"),
    "a body that trickles in": ({"drip": 0.2}, "Timeout"),
    "a body that is cut off": ({"cut": 0.5}, "Connection"),
    "cut off in the middle of the JSON": (
        {"structured": json.dumps(invented())[:9], "finish": "length"},
        "importance: Field required",
    ),
    "empty text": ({"structured": ""}, "empty answer"),
    "an empty body": ({"body": b""}, "not JSON"),
    "a web page": ({"body": b"<html>Please log in.</html>"}, "not JSON"),
    "no choices": ({"body": b'{"choices": []}'}, "empty answer"),
    "choices of another kind": ({"body": b'{"choices": {"a": 1}}'}, "no Chat Completions answer"),
    "a body nested without end": ({"body": b"[" * 200_000}, "not JSON"),
    "JSON nested without end": ({"structured": '{"facts":' + "[" * 50_000 + "}"}, "not JSON"),
    "text that is not JSON": ({"structured": f"Certainly! {INVENTED}"}, "not JSON"),
    "a body that is not UTF-8": (
        {"body": b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'},
        "not UTF-8",
    ),
    "a lone surrogate": (
        {"body": b'{"choices": [{"message": {"content": "\\ud800"}}]}'},
        "empty answer",
    ),
    "wrong types": (
        {"structured": '{"facts": "many", "importance": {}, "experience": 3}'},
        "the model's answer has",
    ),
    "facts of wrong types": (
        {"structured": only_where("DigestAnswer", digest({1: 5}) | {"facts": ["so", "it", "is"]})},
        "facts.0",
    ),
    "facts of all lines": (
        {"structured": only_where("DigestAnswer", invented(lines="all"))},
        "cite nothing that was given",
    ),
    "importances that are no numbers": (
        {"structured": only_where("DigestAnswer", digest({1: float("nan")}))},
        "importance.0",
    ),
    "importances for nobody": (
        {"structured": only_where("DigestAnswer", digest(dict.fromkeys(range(7, 100), 5)))},
        "0 of 1 lines",
    ),
    "importances without end": (
        {"structured": only_where("DigestAnswer", digest(dict.fromkeys(range(1, 500), 5)))},
        "at most 200",
    ),
    "a weight that is no number": (
        {
            "structured": only_where(
                "DigestAnswer", digest({1: 5}, experience=INVENTED, weight=float("nan"))
            )
        },
        "weight",
    ),
    "invented ids": (
        {"structured": only_where("DigestAnswer", invented(lines=[9999, -1, 10**30]))},
        "cite nothing that was given",
    ),
    "ten thousand facts": (
        {"structured": only_where("DigestAnswer", digest({1: 5}, invented()["facts"] * 10_000))},
        "more than 2 MB",
    ),
    "a fact without an end": (
        {"structured": only_where("DigestAnswer", invented(text=INVENTED * 10_000))},
        "more than 2 MB",
    ),
    "429 and come again in an hour": (
        {"status": 429, "headers": {"Retry-After": "3600"}},
        "RateLimitError (HTTP 429)",
    ),
    "500": ({"status": 500}, "HTTP 500"),
    "500 with a body of 20 MB": ({"status": 500, "body": b"x" * 20_000_000}, "HTTP 500"),
    "400 to everything": ({"status": 400}, "HTTP 400"),
    "the connection is hung up": ({"hangs_up": True}, "Connection"),
    "the connection is reset": ({"resets": True}, "Connection"),
    "a body of 20 MB": ({"body": b'{"choices": "' + b"x" * 20_000_000 + b'"}'}, "more than 2 MB"),
    "a packed body": (
        {"body": b"\x1f\x8b" * 500, "headers": {"Content-Encoding": "gzip"}},
        "not UTF-8",
    ),
    "a bill that is no bill": (
        {"usage": {"prompt_tokens": 1e300, "completion_tokens": "all"}, "structured": "Sorry."},
        "not JSON",
    ),
}


@pytest.mark.parametrize("malice", MALICE)
def test_a_night_with_a_hostile_server_ends_unharmed(server, llm, mara, alice, logged, malice):
    behaviour, told = MALICE[malice]
    alice.execute_cmd(f"say {SAID}")
    # a busy machine may take a second over an answer that is only nonsense
    llm(timeout=1 if told == "Timeout" else 15, retries=1)
    server.behave(**behaviour)
    asked, began = len(server.requests), time.monotonic()

    offload.wait(mara.assistant.sleep.whole_night())

    assert time.monotonic() - began < 60
    assert not mara.assistant.asleep
    assert len(server.requests) > asked
    [line] = logged(logging.WARNING)
    assert told in line
    assert SAID not in line
    assert INVENTED not in line

    kept = memory_store.shared().list(mara.memory.id)
    assert [memory.content for memory in kept if memory.record == "fact"] == [FACT]
    assert not [memory for memory in kept if INVENTED in memory.content]
    journal = mara.memory.journal
    [entry] = [entry for entry in journal.read(1, len(journal)) if entry.learnable]
    assert entry.consolidated
    assert entry.scoring_method in ("offline", "llm")
    assert 1 <= entry.importance <= 10
