"""Servers as they are: parameters they refuse, answers in pieces, values that are nearly right."""

import json
import sys
import time
from pathlib import Path

import pytest

from contrib_ai_memory.llm import schemas
from contrib_ai_memory.llm.provider import Passage, Refused
from contrib_ai_memory.records import Entry, ReplyRequest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from model_server import digest

WHEN = "2026-01-01T00:00:00+00:00"
ENTRIES = [
    Entry(number, WHEN, f"Line {number}.", "say", seen_as="Alice", source_entity="#1")
    for number in (4, 7)
]
PASSAGE = Passage("Mara", tuple(ENTRIES))
REQUEST = ReplyRequest("Mara", "An innkeeper.", "Alice", "#1", "Who keeps the ferry?")
ANSWERS = [
    schemas.DigestAnswer,
    schemas.SummaryAnswer,
    schemas.AttributesAnswer,
    schemas.QuestionsAnswer,
    schemas.InsightsAnswer,
    schemas.ComparisonAnswer,
]

TAKEN = set("type properties required additionalProperties items enum title description".split())
NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)
NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0.7 with this model. "
    "Only the default (1) value is supported."
)
SCORES = {1: 9, 2: 2}


# --- parameters -----------------------------------------------------------------------------------


def test_a_parameter_that_is_refused_by_name_is_changed_once_and_remembered(server, llm, logged):
    server.behave(forbids={"max_tokens": NO_MAX_TOKENS, "temperature": NO_TEMPERATURE}, text="Aye.")
    provider = llm(max_tokens=100)
    assert provider.reply(REQUEST).text == "Aye."
    assert provider.reply(REQUEST).text == "Aye."
    sent = [set(request.body) & {"max_tokens", "max_completion_tokens", "temperature"}
            for request in server.requests]  # fmt: skip
    assert sent == [
        {"max_tokens", "temperature"},
        {"max_completion_tokens", "temperature"},
        {"max_completion_tokens"},
        {"max_completion_tokens"},
    ]
    assert server.requests[-1].body["max_completion_tokens"] == 100
    assert len([line for line in logged() if "takes no" in line]) == 2


def test_a_refused_parameter_does_not_cost_the_form_of_json(server, llm):
    server.behave(forbids={"temperature": NO_TEMPERATURE})
    assert llm().digest(PASSAGE).importance == {4: 5, 7: 5}
    assert {request.form for request in server.requests} == {"json_schema"}


@pytest.mark.parametrize(
    "refusal",
    [
        "This model's maximum context length is 4096 tokens: 'max_tokens' is too large.",
        "The prompt was filtered: Alice says: what is the temperature?",
    ],
)
def test_a_refusal_for_another_reason_changes_no_parameter(server, llm, refusal):
    provider = llm()
    body = json.dumps({"error": {"message": refusal}}).encode()
    server.behave_once(status=400, body=body)
    with pytest.raises(Refused):
        provider.reply(REQUEST)
    provider.reply(REQUEST)
    assert {"max_tokens", "temperature"} <= set(server.requests[-1].body)


def test_a_server_that_cannot_stream_with_tools_is_asked_without(server, llm, mara, alice, hears):
    server.behave_once(status=500, body=b'{"error": {"message": "Cannot use tools with stream"}}')
    server.behave(text="Well met.")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "Well met." in heard[-1]
    assert [request.streamed for request in server.requests] == [True, False]


# --- answers in pieces ----------------------------------------------------------------------------


def test_a_streamed_reply_is_spoken_when_its_sentences_are_whole(server, llm, mara, alice, hears):
    mara.memory.own_settings.set("REPLY_SENTENCES", 1)  # of a tale three
    alice.execute_cmd("say Good day.")  # the first answer of a model is read to its end
    server.behave(
        text="Aye. You keep it. So you said. At Millbrook." + " And so on." * 500, pace=0.02
    )
    heard = hears(alice)
    began = time.monotonic()
    alice.execute_cmd("say Who keeps the ferry?")
    assert heard[-1].endswith('"Aye. You keep it. So you said."')
    assert time.monotonic() - began < 4  # all of it would take 20 s
    assert server.events_sent < 200


def test_reasoning_that_a_template_opened_is_not_spoken_for_being_streamed(
    server, llm, mara, alice, hears
):
    reasoning = (
        "She greets me. I answer. In one line. As Mara. It is evening. So be it.\n</think>\n"
    )
    mara.memory.own_settings.set("REPLY_SENTENCES", 1)  # of a tale three
    server.behave(text=reasoning + "Well met." + " And so on." * 20)
    heard = hears(alice)
    for _ in range(2):
        alice.execute_cmd("say Good day.")
        assert heard[-1].endswith('"Well met. And so on. And so on."')


def test_a_streamed_call_is_put_together(server, llm, mara, alice, hears):
    server.behave_once(calls=[("emote", {"text": "pours an ale."}), ("emote", {"text": "nods."})])
    server.behave(text="There.")
    heard = hears(alice)
    alice.execute_cmd("say An ale!")
    assert [line for line in heard if "pours an ale." in line or "nods." in line][-2:]
    assert server.requests[-1].results == ["Done.", "Done."]
    assert "There." in heard[-1]


def test_a_stream_that_breaks_off_is_spoken_up_to_its_last_whole_sentence(server, llm):
    events = [{"choices": [{"delta": {"content": "Aye, Alice. The ferry sails at"}}]}]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    server.behave(body=body, headers={"Content-Type": "text/event-stream"})
    assert llm().reply(REQUEST).text == "Aye, Alice."


@pytest.mark.parametrize("event", ["nonsense", "[]", "[1]", '{"choices": 3}', '{"choices": [7]}'])
def test_a_strange_event_harms_nothing(server, llm, event):
    good = json.dumps({"choices": [{"delta": {"content": "Aye."}, "finish_reason": "stop"}]})
    body = f": a comment\n\ndata: {event}\n\ndata: {good}\n\ndata: [DONE]\n\n".encode()
    server.behave_once(body=body, headers={"Content-Type": "text/event-stream"})
    server.behave(text="Aye.")
    try:
        assert llm().reply(REQUEST).text == "Aye."
    except schemas.ProviderError as problem:
        assert event == "nonsense" and "not JSON" in str(problem)


def test_a_server_that_does_not_stream_is_understood(server, llm):
    server.behave(streams=False, text="Aye.")
    assert llm().reply(REQUEST).text == "Aye."


def test_a_content_in_parts_is_read(server, llm):
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Aye."}]
    server.behave(body=json.dumps({"choices": [{"message": {"content": parts}}]}).encode())
    assert llm().reply(REQUEST).text == "Aye."


def test_reasoning_beside_the_content_is_not_spoken(server, llm, mara, alice, hears):
    message = {"content": "", "reasoning_content": "The user greets me."}
    server.behave(body=json.dumps({"choices": [{"message": message}]}).encode())
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "The user" not in heard[-1]
    assert heard[-1].endswith(', Alice."')


# --- JSON Schema ----------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.__name__)
def test_a_schema_is_in_the_form_that_every_server_takes(answer):
    def check(schema):
        assert set(schema) <= TAKEN
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            for inner in schema["properties"].values():
                check(inner)
        elif schema["type"] == "array":
            check(schema["items"])

    check(schemas.strict(answer))


def test_a_schema_is_sent_as_strict(server, llm):
    llm().digest(PASSAGE)
    assert server.requests[-1].body["response_format"]["json_schema"]["strict"] is True


# --- values nearly right --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "meant"),
    [(7, 0.7), ("0.7", 0.7), (70, 0.7), ("7/10", 0.7), (-1, 0.0), (1, 1.0), (0, 0.0), (700, 1.0)],
)
def test_a_weight_of_ten_or_of_a_hundred_is_scaled(server, llm, given, meant):
    server.behave(structured=json.dumps(digest(SCORES, experience="So.", weight=given)))
    [experience] = llm().digest(PASSAGE).experiences
    assert experience.memory_weight == pytest.approx(meant)
    assert len(server.requests) == 1


@pytest.mark.parametrize("lines", [1, "1", ["1"], [1.0], "1, 99", "#1", ["line 1"]])
def test_numbers_are_read_however_they_are_written(server, llm, lines):
    fact = {"text": "Alice keeps the ferry.", "lines": lines, "kind": None, "ends": None}
    server.behave(structured=json.dumps(digest(SCORES) | {"facts": fact}))
    [draft] = llm().digest(PASSAGE).facts
    assert (draft.journal_ids, draft.memory_type, draft.ends) == ((4,), "semantic", ())


@pytest.mark.parametrize("nothing", [None, []])
def test_null_in_place_of_a_list_is_an_empty_one(server, llm, nothing):
    server.behave(structured=json.dumps(digest(SCORES) | {"facts": nothing}))
    assert llm().digest(PASSAGE).facts == ()


@pytest.mark.parametrize(
    "scores",
    [
        [{"line": 2, "importance": 2}, {"line": 1, "importance": 9}],
        [{"line": "2", "importance": "2"}, {"line": "1", "importance": "9/10"}],
        [{"line": 2, "importance": 2}, {"line": 1, "importance": 9}, {"line": 9, "importance": 1}],
    ],
)
def test_importances_belong_to_lines_by_number_whatever_their_order(server, llm, scores):
    server.behave(structured=json.dumps(digest(SCORES) | {"importance": scores}))
    assert llm().digest(PASSAGE).importance == {4: 9, 7: 2}
    assert len(server.requests) == 1


def test_reasoning_before_an_answer_in_json_is_passed_over(server, llm):
    answer = json.dumps(digest(SCORES))
    server.behave(structured=f'<think>{{"facts": 3}} or</think>\n```json\n{answer}\n```')
    assert llm().digest(PASSAGE).importance == {4: 9, 7: 2}
