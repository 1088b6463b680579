"""LLM_NIGHT: a model, a breaker and a budget of their own for what nobody waits for; outages."""

import json

import pytest
from model_server import ModelServer

from contrib_ai_memory import conf, offload
from contrib_ai_memory.admin import inspect
from contrib_ai_memory.llm import router
from contrib_ai_memory.llm.provider import Passage
from contrib_ai_memory.records import Entry
from contrib_ai_memory.store import attributes, memory_store

ENTRY = Entry(4, "2026-01-01T00:00:00+00:00", "I keep the ferry.", "say", seen_as="Alice")


@pytest.fixture
def night_llm(llm, settings):
    """Sets LLM_NIGHT beside an LLM."""

    def use(**chosen):
        settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"LLM_NIGHT": chosen}

    return use


def score():
    return offload.wait(router.ask("digest", Passage("Mara", (ENTRY,))))[0]


def test_without_settings_of_its_own_it_is_as_llm_but_without_chance(server, llm, mara, alice):
    llm(temperature=0.9, max_tokens=77)
    score()
    alice.execute_cmd("say Good day.")
    scored, said = (request.body for request in server.requests)
    assert (scored["model"], scored["max_tokens"], scored["temperature"]) == ("m", 77, 0)
    assert (said["model"], said["temperature"]) == ("m", 0.9)


def test_a_night_goes_to_its_own_server_and_replies_to_theirs(server, llm, night_llm, mara, alice):
    with ModelServer() as other:
        llm(api_key="of-the-replies")
        night_llm(base_url=other.url, model="large")
        score()
        alice.execute_cmd("say Good day.")
        [scored] = other.requests
        assert (scored.body["model"], scored.body["temperature"]) == ("large", 0)
        assert [request.body["model"] for request in server.requests] == ["m"]


def test_offline_nights_are_kept_by_rules_and_the_model_only_speaks(
    server, llm, settings, mara, alice
):
    llm()
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"LLM_NIGHT": "offline"}
    server.behave(text="Good day to you, traveller.")
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    replies = len(server.requests)
    assert replies
    offload.wait(mara.assistant.sleep.whole_night())
    assert len(server.requests) == replies
    facts = memory_store.shared().list(mara.memory.id, record="fact")
    assert [fact.content for fact in facts] == ["Alice keeps the ferry at Millbrook."]
    assert facts[0].provider == router.OFFLINE


def test_the_key_of_one_server_is_not_sent_to_another(llm, night_llm):
    llm(api_key="of-the-replies")
    night_llm(model="large")
    assert conf.get().background_llm.api_key.get_secret_value() == "of-the-replies"
    night_llm(base_url="http://127.0.0.1:9/v1")
    assert conf.get().background_llm.api_key.get_secret_value() == "none"


def test_a_night_that_fails_leaves_the_replies_to_the_model(
    server, llm, night_llm, mara, alice, hears
):
    night_llm(base_url="http://127.0.0.1:9/v1")
    assert score() == "offline"
    assert router.breaker.problem
    assert "nights and background work" in router.status()
    server.behave(text="I am here.")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "I am here." in heard[-1]


def test_replies_that_fail_leave_the_night_to_the_model(server, llm, night_llm, mara, alice):
    with ModelServer() as other:
        night_llm(base_url=other.url)
        server.behave(status=500)
        alice.execute_cmd("say Good day.")
        assert router.reply_breaker.problem
        assert score() == "openai"


def test_the_budget_of_the_nights_leaves_tokens_for_replies(
    server, llm, night_llm, mara, alice, hears
):
    llm(daily_tokens=100_000)
    night_llm(daily_tokens=50)
    server.behave(text="I am here.", usage={"prompt_tokens": 60, "completion_tokens": 1})
    assert (score(), score()) == ("openai", "offline")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "I am here." in heard[-1]


def facts(mara):
    found = memory_store.shared().list(mara.memory.id, record="fact")
    return [fact for fact in found if not fact.superseded_by]


def test_what_an_outage_left_to_rules_is_done_again_by_the_model_in_a_later_night(
    server, llm, mara, alice
):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    [first] = [entry for entry in mara.memory.journal.read() if entry.learnable]
    router.breaker.reset()
    server.behave(status=500)
    offload.wait(mara.assistant.sleep.whole_night())
    assert mara.memory.journal.get(first.id).scoring_method == "offline"
    assert [fact.provider for fact in facts(mara)] == ["offline"]

    server.behave()
    router.breaker.reset()
    asked = len(server.requests)
    offload.wait(mara.assistant.sleep.whole_night())
    assert mara.memory.journal.get(first.id).scoring_method == "llm"
    drawn = [r for r in server.requests[asked:] if r.schema == "DigestAnswer"]
    assert any("ferry at Millbrook" in request.last for request in drawn)
    asked = len(server.requests)
    offload.wait(mara.assistant.sleep.whole_night())
    assert not [r for r in server.requests[asked:] if r.schema == "DigestAnswer"]  # done once


def test_without_a_model_nothing_is_left_for_one(mara, alice):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    offload.wait(mara.assistant.sleep.whole_night())
    assert not mara.memory.journal.cursors.get("outage")


# --- what the record of a night says of it --------------------------------------------------------


def test_a_night_whose_model_failed_says_so(server, llm, mara, alice, builder):
    server.behave(status=500)
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    told = builder("@sleep/now mara")
    assert "The language model gave no usable answer" in told and "HTTP 500" in told
    shown = builder("@sleep/log mara")
    assert "model failed" in shown
    [facts] = [each for each in inspect.nights(mara)[0].passes if each.title == "drawing facts"]
    assert facts.made_by == {"offline": 1} and facts.calls == 1
    assert "by the offline provider" in shown and "no answer: " in shown
    assert any("HTTP 500" in reason for reason in facts.unanswered)


def test_a_night_of_the_model_says_that_the_model_made_it(server, llm, mara, alice, builder):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    builder("@sleep/now mara")
    shown = builder("@sleep/log mara")
    assert "by the language model" in shown and "1 call of the language model, 2 tokens" in shown
    assert "model failed" not in shown and inspect.nights(mara)[0].trouble == ""


def test_a_night_without_a_model_says_that_rules_made_it(mara, alice, builder):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    builder("@sleep/now mara")
    shown = builder("@sleep/log mara")
    assert "by the offline provider" in shown
    assert "language model" not in shown and "model failed" not in shown


def test_facts_that_cite_nothing_are_counted_in_the_record(server, llm, mara, alice, builder):
    facts = [
        {"text": text, "lines": lines, "kind": "occupation", "about": "Alice", "to": "", "date": ""}
        for text, lines in (("Alice keeps the ferry at Millbrook.", [1]), ("Ann is tall.", [77]))
    ]
    answer = {"importance": [{"line": 1, "importance": 6}], "facts": facts, "experience": None}
    server.behave(structured=json.dumps(answer))
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    builder("@sleep/now mara")
    assert "not kept: cites nothing that was given" in builder("@sleep/log mara")


def test_a_night_recorded_by_an_older_version_is_still_shown(mara, alice, builder):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    builder("@sleep/now mara")
    [record] = mara.assistant.sleep.records
    for done in record["passes"].values():
        for key in ("made_by", "calls", "tokens", "unanswered", "refused"):
            del done[key]
    attributes.write(mara.assistant, "night_records", [record])
    assert "drawing facts" in builder("@sleep/log mara")
