"""A small model (`LLM.style`): plain requests, and nights kept by rules, whose facts it words."""

import json
import time
from io import StringIO

import pytest
from django.core.management import call_command
from model_server import numbered_in

from contrib_ai_memory import conf, offload
from contrib_ai_memory.llm import findings, schemas
from contrib_ai_memory.llm.provider import ProviderError, Relation
from contrib_ai_memory.records import ReplyRequest
from contrib_ai_memory.store import memory_store


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("qwen2.5-coder:1.5b", True),
        ("SmolLM2-135M-Instruct.Q4_1", True),
        ("Llama-3.2-3B-Instruct", True),
        ("gemma-3-270m", True),
        ("llama3.1:8b", False),
        ("Mixtral-8x7B", False),
        ("qwen.gguf", False),
        ("gpt-4o-mini", False),
    ],
)
def test_the_name_of_a_model_says_whether_it_is_small(name, plain):
    chosen = {"base_url": "http://127.0.0.1/v1", "model": name}
    assert conf.LLMSettings(**chosen).plain is plain
    assert conf.LLMSettings(**chosen, style="full").plain is False
    assert conf.LLMSettings(**chosen, style="plain").plain is True


@pytest.fixture
def plain(speaks_through, server):
    speaks_through(style="plain", timeout=30)
    return server


def test_a_reply_is_asked_for_without_tools_whisper_and_silence(plain, mara, alice, hears):
    plain.behave(text="Good evening, Alice.")
    heard = hears(alice)
    alice.execute_cmd("say Good evening!")
    [request] = plain.requests
    assert request.tools == []
    assert request.last.endswith("Alice says to you: Good evening!\n(Answer as Mara.)")
    assert "whisper" not in request.text and "nothing, answer" not in request.text
    assert "Good evening, Alice." in heard[-1]


def test_one_that_says_nothing_is_answered_for(plain, mara, alice, hears):
    plain.behave(text="...")
    heard = hears(alice)
    alice.execute_cmd("say Good evening!")
    assert "Mara says" in heard[-1]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Where do I keep the ferry?", "Millbrook"),
        ("What is my mother's name?", "Alice"),  # "I know nothing about that, Alice."
        ("I promise to bring you two sacks of flour tomorrow.", "Alice"),
    ],
)
def test_rules_answer_what_is_asked_or_binds_and_the_model_only_talks(
    plain, speaks_through, mara, alice, hears, line, told
):
    plain.behave(text="It floats in my cellar.")
    heard = hears(alice)
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    assert "It floats in my cellar." in heard[-1]
    asked = len(plain.requests)
    alice.execute_cmd(f"say {line}")
    assert told in heard[-1] and "cellar" not in heard[-1]
    assert len(plain.requests) == asked
    speaks_through(style="full")
    alice.execute_cmd(f"say {line}")
    assert len(plain.requests) == asked + 1


def test_what_rules_cannot_read_the_model_answers(plain, mara, alice, hears):
    plain.behave(text="Am Steg hinter dem Haus.")
    heard = hears(alice)
    alice.execute_cmd("say Mara, wo liegt denn eigentlich deine Fähre?")
    assert "Am Steg hinter dem Haus." in heard[-1]


SAID = "i keep the ferry at millbrook now and my brother tom is dead"


def night_of(npc, who, *said):
    for line in said:
        who.execute_cmd(f"say {line}")
    offload.wait(npc.assistant.sleep.whole_night())
    found = memory_store.shared().list(npc.memory.id, record="fact")
    return {fact.content: fact.provider for fact in found if not fact.superseded_by}


def says_of(word, text):
    def structured(request):
        assert request.schema == "PlainFactsAnswer"
        new, _known = numbered_in(request)
        return json.dumps(
            {"facts": [{"line": n, "text": text} for n, line in new.items() if word in line]}
        )

    return structured


def test_its_words_stand_for_what_rules_drew_where_they_tell_as_much(plain, mara, alice):
    text = "Alice now keeps the ferry at Millbrook, and her brother Tom is dead."
    plain.behave(structured=says_of("ferry", text))
    assert night_of(mara, alice, SAID) == {text: "openai"}


@pytest.mark.parametrize(
    "text", ["Alice keeps a ferry.", "Bram keeps the ferry at Millbrook.", "The moon is green."]
)
def test_what_tells_less_or_else_is_left_to_rules(plain, mara, alice, text):
    plain.behave(structured=says_of("ferry", text))
    [(told, provider)] = night_of(mara, alice, SAID).items()
    assert "millbrook" in told.lower() and "dead" in told and provider == "offline"


def test_nights_are_as_without_a_model_where_it_fails(plain, mara, alice, settings):
    plain.behave(structured="no idea")
    lines = (SAID, "I owe you seven crowns, I pay on friday.")
    assert set(night_of(mara, alice, *lines).values()) == {"offline"}
    assert [item.kind for item in mara.memory.agenda] == ["debt"]


def test_after_many_answers_that_cannot_be_used_rules_keep_the_nights(
    speaks_through, server, mara, alice, builder, logged
):
    speaks_through(timeout=30)
    server.behave(structured="no idea")
    for number in range(findings.UNUSABLE):
        assert conf.get().background_llm
        alice.execute_cmd(f"say I keep the ferry at Millbrook, and pier {number}.")
        offload.wait(mara.assistant.sleep.whole_night())
    assert conf.get().background_llm is None and conf.get().LLM
    said = "rules keep the nights, because 12 answers in a row could not be used"
    assert said in " ".join(builder("@memory mara").split())
    asked = len(server.requests)
    alice.execute_cmd("say I owe Bram seven crowns.")
    offload.wait(mara.assistant.sleep.whole_night())
    assert not [each for each in server.requests[asked:] if each.schema]
    findings.note(conf.get().LLM.name, nights="")
    assert conf.get().background_llm


@pytest.mark.parametrize(
    ("get", "plain"),
    [
        ({"/v1/models": {"data": [{"id": "m", "meta": {"n_params": 1_543_714_304}}]}}, True),
        ({"/v1/models": {"data": [{"id": "m", "meta": {"n_params": 8e9}}]}}, False),
        ({"/api/tags": {"models": [{"name": "m", "details": {"parameter_size": "3.2B"}}]}}, True),
        ({}, False),
    ],
)
def test_a_trial_finds_out_whether_the_model_is_small(server, llm, get, plain):
    server.behave(text="Good evening, heron.", get=get)
    call_command("ai_memory", "model", stdout=StringIO())
    assert conf.get().LLM.plain is plain


# --- answers that break off -----------------------------------------------------------------------

FACTS = '{"facts": [{"line": 1, "text": "Ann bakes."}, {"line": 2, "text": "Tom, he sa'


def test_an_answer_that_was_cut_off_is_kept_as_far_as_it_is_whole():
    [fact] = schemas.understood(schemas.PlainFactsAnswer, FACTS, cut_off=True).facts
    assert (fact.line, fact.text) == (1, "Ann bakes.")
    asked = schemas.understood(schemas.QuestionsAnswer, '{"questions": ["Who?", "Wh', cut_off=True)
    assert asked.questions == ["Who?"]
    with pytest.raises(schemas.Unfit):
        schemas.understood(schemas.PlainFactsAnswer, FACTS)
    with pytest.raises(schemas.Unfit):
        schemas.understood(schemas.PlainFactsAnswer, '{"facts": [{"line": 1, "te', cut_off=True)


def test_one_that_was_cut_off_is_not_asked_for_again(server, llm):
    server.behave(structured='{"summary": "It was a long', finish="length")
    with pytest.raises(ProviderError):
        llm().summarise(["Alice: I keep the ferry."])
    assert len(server.requests) == 1


def test_a_comparison_that_ends_most_pairs_is_refused():
    def ends(*numbers):
        named = [{"pair": number, "relation": "changes"} for number in numbers]
        return schemas.ComparisonAnswer.model_validate({"relations": named}).of(4)

    assert ends(1, 2).count(Relation.CHANGES) == 2
    with pytest.raises(schemas.Unfit, match="ends 3 of 4"):
        ends(1, 2, 3)


# --- time -----------------------------------------------------------------------------------------

REQUEST = ReplyRequest("Mara", "", "Alice", None, "Hello!")


def test_an_answer_that_goes_on_being_written_is_waited_for(server, llm):
    provider = llm(timeout=0.6)
    server.behave(text="Aye, the river is low tonight, and the ferry waits.", pace=0.12)
    began = time.monotonic()
    assert provider.reply(REQUEST).text.endswith("the ferry waits.")
    assert time.monotonic() - began > 0.6


def test_what_was_streamed_before_the_server_stalls_is_spoken(server, llm):
    provider = llm(timeout=1)
    first = {"choices": [{"delta": {"content": "The river is low. The ferry wai"}}]}
    body = f"data: {json.dumps(first)}\n\n".encode() * 2
    server.behave(body=body, headers={"Content-Type": "text/event-stream"}, cut=0.6)
    assert provider.reply(REQUEST).text == "The river is low."


def test_a_server_that_writes_for_ever_is_left(server, llm):
    provider = llm(timeout=0.3)
    server.behave(structured="well " * 1000, pace=0.1)
    began = time.monotonic()
    with pytest.raises(ProviderError):
        provider.summarise(["Alice: I keep the ferry."])
    assert time.monotonic() - began < 5
