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

from model_server import WELL_FORMED, Request

INVENTED = "Alice murdered the king."
SAID = "I keep the ferry at Millbrook."
FACT = "Alice keeps the ferry at Millbrook."


def only_where(schema: str, answer: dict):
    """Nonsense in the answer to one question, and sense in those to the others."""

    def structured(request: Request) -> str:
        if request.schema == schema:
            return json.dumps(answer)
        if request.schema == "FactsAnswer":
            [entry] = map(json.loads, request.messages[1]["content"].splitlines())
            return json.dumps({"facts": [{"text": FACT, "entry_ids": [entry["id"]]}]})
        return json.dumps(WELL_FORMED[request.schema](request))

    return structured


def invented(**more) -> dict:
    return {"facts": [{"text": INVENTED, "entry_ids": [1], **more}]}


# what the server does; what the log says of it, in one warning
MALICE = {
    "slow beyond the time-out": ({"delay": 5}, "Timeout"),
    "a body that trickles in": ({"drip": 0.2}, "Timeout"),
    "a body that is cut off": ({"cut": 0.5}, "Connection"),
    "cut off in the middle of the JSON": (
        {"structured": json.dumps(invented())[:-20], "finish": "length"},
        "not JSON",
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
        {"structured": '{"facts": "many", "scores": {}, "essence": 3}'},
        "the model's answer has",
    ),
    "facts of wrong types": (
        {"structured": only_where("FactsAnswer", invented(entry_ids="all"))},
        "entry_ids",
    ),
    "scores out of range": (
        {"structured": only_where("ScoresAnswer", {"scores": [999]})},
        "outside 1-10",
    ),
    "scores that are no numbers": (
        {"structured": only_where("ScoresAnswer", {"scores": [float("nan")]})},
        "scores.0",
    ),
    "scores for nobody": (
        {"structured": only_where("ScoresAnswer", {"scores": [5] * 500})},
        "no importance for the ids",
    ),
    "a weight that is no number": (
        {
            "structured": only_where(
                "ExperienceAnswer",
                {
                    "essence": INVENTED,
                    "dominant_emotions": ["joy"],
                    "memory_weight": float("inf"),
                    "the_lesson": "",
                },
            )
        },
        "memory_weight",
    ),
    "invented ids": (
        {"structured": only_where("FactsAnswer", invented(entry_ids=[9999, -1, 10**30]))},
        "cite nothing that was given",
    ),
    "ten thousand facts": (
        {"structured": only_where("FactsAnswer", {"facts": invented()["facts"] * 10_000})},
        "at most 100",
    ),
    "a fact without an end": (
        {"structured": only_where("FactsAnswer", invented(text=INVENTED * 10_000))},
        "facts.0.text",
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
        "compressed",
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
    llm(timeout=1, retries=1)
    server.behave(**behaviour)
    asked, began = len(server.requests), time.monotonic()

    offload.wait(mara.assistant.sleep.whole_night())

    assert time.monotonic() - began < 20
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
