"""The benchmark of what a model is sent: what it counts, and its server."""

import json
import urllib.request

import pytest

from benchmarks.model import alternates, purposes, shared
from benchmarks.stock_server import Asked, StockServer, least
from contrib_ai_memory.llm import schemas

SYSTEM = {"role": "system", "content": "You are Mara."}
ASKS = {"role": "user", "content": "Alice says to you: Hello."}
SAYS = {"role": "assistant", "content": "Well met."}
CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "function": {"name": "recall", "arguments": "{}"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "Nothing."}


@pytest.mark.parametrize(
    ("messages", "in_turn"),
    [
        ([SYSTEM, ASKS], True),
        ([SYSTEM, ASKS, SAYS, ASKS], True),
        ([SYSTEM, ASKS, CALLS, RESULT, SAYS, ASKS], True),
        ([SYSTEM, ASKS, CALLS, RESULT, CALLS, RESULT], True),
        ([SYSTEM, ASKS, ASKS], False),
        ([SYSTEM, SAYS, ASKS], False),
        ([SYSTEM, ASKS, SYSTEM], False),
        ([SYSTEM, ASKS, CALLS, RESULT, ASKS], False),
        ([SYSTEM, ASKS, CALLS, SAYS], False),
        ([SYSTEM, ASKS, RESULT], False),
    ],
)
def test_roles_alternate_as_the_strictest_templates_demand(messages, in_turn):
    assert alternates(messages) is in_turn


def asked(*contents):
    messages = [{"role": "user", "content": content} for content in contents]
    return Asked("Reply", messages, "", "", "Well.")


def test_the_shared_beginning_ends_at_the_first_other_character():
    same, whole = "x" * 43, asked("x" * 43, "<scene>" + "a" * 43)
    of_all, of_talk, new = shared([asked(same, "<scene>b"), whole])
    assert of_all == pytest.approx(100 * 66 / len(whole.talk))
    assert of_talk > 100, "the mark of the scene is shared as well"
    assert new == pytest.approx((len(whole.talk) - 66) / 4)


def test_tokens_are_counted_for_each_purpose_and_for_all():
    facts = Asked("Facts", [ASKS], "", "s" * 400, "a" * 40)
    reply = Asked("Reply", [ASKS], "t" * 800, "", "a" * 8)
    rows = {row["purpose"]: row for row in purposes("x", [facts, reply, reply])}
    assert (rows["Reply"]["calls"], rows["Reply"]["tools"], rows["Reply"]["output"]) == (2, 400, 4)
    assert rows["all"]["prompt"] == rows["Facts"]["prompt"] + rows["Reply"]["prompt"]


@pytest.mark.parametrize(
    "form", [schemas.DigestAnswer, schemas.ComparisonAnswer, schemas.SummaryAnswer]
)
def test_the_least_answer_fits_an_unknown_form(form):
    schema = form.model_json_schema()
    made = least(schema, schema)
    assert schemas.fitting(form, made)


def test_the_server_answers_in_the_form_that_is_asked_for_and_keeps_the_request():
    line = "Friday 2026-05-08\n1 Alice says: I keep the old ferry down at Millbrook."
    schema = {"name": "DigestAnswer", "schema": schemas.DigestAnswer.model_json_schema()}
    body = {
        "messages": [SYSTEM, {"role": "user", "content": line}],
        "response_format": {"type": "json_schema", "json_schema": schema},
    }
    with StockServer() as server:
        request = urllib.request.Request(
            f"{server.url}/chat/completions", json.dumps(body).encode()
        )
        answer = json.load(urllib.request.urlopen(request))
    [fact] = json.loads(answer["choices"][0]["message"]["content"])["facts"]
    assert fact["lines"] == [1] and "ferry" in fact["text"]
    assert [each.purpose for each in server.asked] == ["Digest"]
