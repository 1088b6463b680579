"""A small model (`LLM.style`): it makes small talk, and rules answer and keep the memory."""

import json
import time
from io import StringIO

import pytest
from django.core.management import call_command

from contrib_ai_memory import conf, offload, preflight
from contrib_ai_memory.english.tokens import share_of_english
from contrib_ai_memory.llm import findings, prompts, schemas
from contrib_ai_memory.llm.provider import ProviderError, Relation
from contrib_ai_memory.offline import offline_reply
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


def test_one_that_is_too_small_to_talk_is_not_asked(
    speaks_through, server, mara, alice, hears, builder
):
    speaks_through(model="smollm2-135m")
    heard = hears(alice)
    alice.execute_cmd("say Good evening!")
    assert "Mara says" in heard[-1] and not server.requests
    assert "is too small to talk" in " ".join(builder("@memory mara").split())


def test_small_talk_is_asked_for_in_bare_words_without_tools_memory_and_rules(
    plain, mara, alice, hears
):
    mara.db.persona = "Mara keeps the Drowned Lantern."
    plain.behave(text="Good evening, Alice.")
    heard = hears(alice)
    alice.execute_cmd("say Good evening!")
    assert "Good evening, Alice." in heard[-1]
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    plain.behave(text="Ha, very good.")
    alice.execute_cmd("say haha")
    request = plain.requests[-1]
    assert request.tools == [] and request.last == "haha"
    said = [message["content"] for message in request.messages]
    assert "Mara keeps the Drowned Lantern." in said[0] and "Alice is here" in said[0]
    assert said[-5:-2] == [
        "Good evening!",
        "Good evening, Alice.",
        "I keep the ferry at Millbrook.",
    ]
    for other in ("<memory>", "<scene>", "whisper", "instruction"):
        assert other not in request.text


def test_a_request_for_small_talk_fits_its_window_however_long_people_speak(
    plain, mara, alice, hears
):
    plain.behave(text="Aye.")
    for number in range(2):
        alice.execute_cmd(f"say Mara, {'my river is wide and slow ' * 60}{number}.")
    alice.execute_cmd("say thanks, Mara!")
    asked = plain.requests[-1]
    assert asked.last == "thanks, Mara!"
    assert prompts.tokens(asked.messages) <= prompts.PLAIN_TOKENS
    assert sum("wide and slow" in each["content"] for each in asked.messages) == 1


def test_one_that_says_its_last_words_again_is_answered_for(plain, mara, alice, hears):
    plain.behave(text="I am feeling a bit tired, but I am trying my best.")
    heard = hears(alice)
    alice.execute_cmd("say Good evening, Mara!")
    assert "tired" in heard[-1]
    alice.execute_cmd("say cheers mara")
    assert "Mara says" in heard[-1] and "tired" not in heard[-1]


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
    alice.execute_cmd("say Good evening!")
    assert "It floats in my cellar." in heard[-1]
    asked = len(plain.requests)
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd(f"say {line}")
    assert told in heard[-1] and "cellar" not in heard[-1]
    assert len(plain.requests) == asked
    speaks_through(style="full")
    alice.execute_cmd(f"say {line}")
    assert len(plain.requests) == asked + 1


@pytest.mark.parametrize(
    "line",
    [
        "nim is my sister. she sell oyster at the north steps",
        "Fella in a camel coat gave me a dollar to carry it up, miss. Gold tooth, left side.",
        "The Dove. I had a fever that night. She went up in my place.",
        "You would take a song for rent? Then done, and gladly, from tonight.",
        "dont hurt him tho??",
    ],
)
def test_a_line_that_tells_something_is_no_small_talk_whatever_else_it_is(
    plain, mara, alice, hears, line
):
    plain.behave(text="I sold him a goose.")
    heard = hears(alice)
    alice.execute_cmd(f"say {line}")
    assert "Mara says" in heard[-1] and not plain.requests


@pytest.mark.parametrize("line", ["sorry mara i didnt mean it", "tell me a story mara"])
def test_what_a_small_model_answers_badly_is_left_to_rules(plain, mara, alice, hears, line):
    plain.behave(text="I made a mistake.")
    heard = hears(alice)
    alice.execute_cmd(f"say {line}")
    assert "Mara says" in heard[-1] and not plain.requests


def test_what_rules_cannot_read_the_model_answers(plain, mara, alice, hears):
    plain.behave(text="Am Steg hinter dem Haus.")
    heard = hears(alice)
    alice.execute_cmd("say Mara, wo liegt denn eigentlich deine Fähre?")
    assert "Am Steg hinter dem Haus." in heard[-1]


def test_a_line_of_names_is_no_foreign_one():
    least = offline_reply.FOREIGN_BELOW
    assert share_of_english("lefty orbach. he collects for marchetti") >= least
    assert share_of_english("Ich heiße Alice und komme aus Mühlbach.") < least


def test_rules_keep_the_memory_of_a_small_model(plain, mara, alice, builder):
    alice.execute_cmd("say I keep the ferry at Millbrook and my brother Tom is dead.")
    alice.execute_cmd("say I owe you seven crowns, I pay on friday.")
    asked = len(plain.requests)
    offload.wait(mara.assistant.sleep.whole_night())
    assert len(plain.requests) == asked
    facts = memory_store.shared().list(mara.memory.id, record="fact")
    assert "Millbrook" in " ".join(fact.content for fact in facts)
    assert {fact.provider for fact in facts} == {"offline"}
    assert [item.kind for item in mara.memory.agenda] == ["debt"]
    assert "rules keep the nights, because it is small" in " ".join(builder("@memory mara").split())


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
        ({"/v1/models": {"data": [{"id": "m.gguf", "meta": {"n_params": 1.5e9}}]}}, True),
        ({"/v1/models": {"data": [{"id": "a", "meta": {"n_params": 1.5e9}}, {"id": "b"}]}}, False),
        ({}, False),
    ],
)
def test_a_trial_finds_out_whether_the_model_is_small(server, llm, get, plain):
    server.behave(text="Good evening, heron.", get=get)
    call_command("ai_memory", "model", stdout=StringIO())
    assert conf.get().LLM.plain is plain


@pytest.mark.parametrize(("size", "plain"), [(1_543_714_304, True), (8e9, False)])
def test_the_start_of_the_game_finds_out_too(server, llm, size, plain):
    server.behave(get={"/v1/models": {"data": [{"id": "m", "meta": {"n_params": size}}]}})
    told = [doubt for doubt in preflight.doubts() if "1.5B parameters" in doubt]
    assert conf.get().LLM.plain is plain and bool(told) is plain
    assert not [doubt for doubt in preflight.doubts() if "parameters" in doubt]


# --- answers that break off -----------------------------------------------------------------------

INSIGHTS = '{"insights": [{"insight": "Ann bakes.", "because_of": [1]}, {"insight": "Tom, he sa'


def test_an_answer_that_was_cut_off_is_kept_as_far_as_it_is_whole():
    [found] = schemas.understood(schemas.InsightsAnswer, INSIGHTS, cut_off=True).insights
    assert (found.insight, found.because_of) == ("Ann bakes.", [1])
    asked = schemas.understood(schemas.QuestionsAnswer, '{"questions": ["Who?", "Wh', cut_off=True)
    assert asked.questions == ["Who?"]
    with pytest.raises(schemas.Unfit):
        schemas.understood(schemas.InsightsAnswer, INSIGHTS)
    with pytest.raises(schemas.Unfit):
        schemas.understood(schemas.QuestionsAnswer, '{"questions": ["Wh', cut_off=True)


def test_what_was_said_in_confidence_is_never_read_in_part():
    drawn = {"importance": [{"line": 1, "importance": 5}], "facts": [], "experiences": []}
    text = json.dumps(drawn)[:-1] + ', "confided": [1, 2'
    with pytest.raises(schemas.Unfit):
        schemas.understood(schemas.JudgingDigestAnswer, text, cut_off=True)
    assert schemas.understood(schemas.JudgingDigestAnswer, text + "]}").confided == [1, 2]


def test_one_that_was_cut_off_is_not_asked_for_again(server, llm):
    server.behave(structured='{"summary": "It was a long', finish="length")
    with pytest.raises(ProviderError):
        llm().summarise(["Alice: I keep the ferry."])
    assert len(server.requests) == 1


def test_a_comparison_that_ends_most_pairs_is_refused():
    def ends(*numbers):
        named = [{"pair": number, "relation": "changes"} for number in numbers]
        return schemas.ComparisonAnswer.model_validate({"relations": named}).drafts(4)

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
