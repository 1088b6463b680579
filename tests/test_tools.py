"""The tools of a speaking NPC, over real HTTP: what each does, and what none of them may do."""

import json
import sys
from pathlib import Path

import pytest

from contrib_ai_memory.embedding.emotions import EMOTIONS
from contrib_ai_memory.llm import router, tools
from contrib_ai_memory.store import memory_store

sys.path.insert(0, str(Path(__file__).resolve().parent))


ALL = {tools.name_of(kind) for kind in (*tools.REMEMBERING, *tools.ACTING)}
SECRET = "I hide a silver key under the third step."
KEY = ("recall", {"query": "Where is the silver key of Alice?"})


@pytest.fixture
def calls(server, llm):
    """The next answers call these tools, a round each, and then say a text."""

    def call(*rounds, text="So be it."):
        before = len(server.requests)
        talk = iter([*rounds])

        def next_round(request):
            given = next(talk, ())
            return given if isinstance(given, list) else [given] if given else ()

        server.behave(calls=next_round, text=text)
        return lambda: [r for r in server.requests[before:] if r.schema is None]

    return call


def experiences(mara):
    return memory_store.shared().list(mara.memory.id, record="experience")


def who(mara, someone):
    return mara.get_memory_identity(someone)


def everything(lines):
    return "\n".join(lines)


# --- each of them ---------------------------------------------------------------------------------


def test_the_model_is_offered_tools_with_a_schema_those_of_the_sources_by_setting(
    server, llm, settings, mara, alice
):
    alice.execute_cmd("say Good day.")
    settings.CONTRIB_AI_MEMORY |= {"PROFILE": "sources"}
    alice.execute_cmd("say Good night.")
    [short, request] = server.requests
    assert set(short.tools) == ALL - {"say", "emote", "recall_emotion"}
    assert set(request.tools) == ALL
    for tool in request.body["tools"]:
        assert tool["function"]["description"]
        assert tool["function"]["parameters"]["type"] == "object"


def test_what_it_memorizes_is_an_experience_that_is_kept_for_good(calls, mara, alice, hears):
    wish = {
        "essence": "Alice will leave Millbrook by the full moon.",
        "lesson": "Bid Alice farewell in time.",
        "emotions": ["Sadness"],
    }
    requests = calls(("memorize", wish), text="I shall miss you.")
    heard = hears(alice)
    alice.execute_cmd("say I leave Millbrook by the full moon.")
    assert "I shall miss you." in heard[-1]
    assert requests()[-1].results == ["It is remembered."]
    [kept] = experiences(mara)
    assert (kept.content, kept.the_lesson) == (wish["essence"], wish["lesson"])
    assert kept.tags == ("conscious",)
    assert (kept.memory_weight, kept.private) == (0.8, False)
    assert kept.dominant_emotions[0] == "sadness"
    assert len(set(kept.dominant_emotions) & EMOTIONS) == 3
    notes = [mara.memory.journal.get(entry_id) for entry_id in kept.journal_ids]
    assert [entry.origin for entry in notes] == ["perceived", "self"]
    assert not notes[1].learnable


def test_what_it_memorizes_twice_is_one_experience(calls, mara, alice):
    wish = {"essence": "Alice keeps the ferry at Millbrook.", "lesson": "", "emotions": ["trust"]}
    calls(("memorize", wish), ("memorize", wish | {"weight": 0.9}))
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    [kept] = experiences(mara)
    assert (kept.memory_weight, kept.access_count) == (0.9, 2)


def test_what_it_recalls_comes_back_as_a_memory_block(calls, mara, alice):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    requests = calls(("recall", {"query": "Who keeps the ferry?"}))
    alice.execute_cmd("say Good day.")
    [result] = requests()[-1].results
    assert result.startswith("<memory>\n")
    assert "Alice said: I keep the ferry at Millbrook." in result


def test_it_recalls_what_felt_alike(calls, mara, alice):
    wish = {"essence": "The wolves came at night.", "emotions": ["terror", "fear", "grief"]}
    calls(("memorize", wish))
    alice.execute_cmd("say The wolves came at night.")
    requests = calls(("recall_emotion", {"emotions": ["terror"]}))
    alice.execute_cmd("say Good day.")
    [result] = requests()[-1].results
    assert "The wolves came at night." in result


def test_what_it_notes_about_somebody_is_an_observation_in_their_profile(calls, mara, alice, bram):
    bram.execute_cmd("say Wolves took two of my sheep.")
    calls(("note_about", {"name": "bram", "text": "Bram looks tired."}))
    alice.execute_cmd("say Mara, look at poor Bram.")
    profile = mara.memory.profiles.get(who(mara, bram))
    [noted] = profile.observations
    assert (noted.text, noted.private) == ("Bram looks tired.", False)
    assert mara.memory.journal.get(noted.journal_id).origin == "self"


def test_a_note_about_a_stranger_is_not_taken(calls, mara, alice):
    requests = calls(("note_about", {"name": "Zed", "text": "Zed is late."}))
    alice.execute_cmd("say Have you seen Zed?")
    assert requests()[-1].results == ["Not done: you know nobody of the name Zed"]


def test_it_does_not_fall_asleep_in_talk_with_another_and_is_told_why(calls, mara, alice, bram):
    bram.execute_cmd("say Mara, wolves took two of my sheep.")
    requests = calls(("go_to_sleep", {}))
    alice.execute_cmd("say Mara, go to bed.")
    assert "in the middle of a conversation" in requests()[-1].results[0]
    assert not mara.assistant.asleep


def test_it_says_good_night_and_falls_asleep_when_the_one_it_talks_with_says_so(
    calls, mara, alice, hears, monkeypatch
):
    alice.execute_cmd("say Mara, the ferry is late.")
    requests = calls(("go_to_sleep", {}), text="Good night.")
    heard = hears(alice)
    asleep_when_spoken = []
    speak = mara.speak

    def noted(*args, **options):
        asleep_when_spoken.append(mara.assistant.asleep)
        return speak(*args, **options)

    monkeypatch.setattr(mara, "speak", noted)
    alice.execute_cmd("say Mara, go to bed.")
    assert requests()[-1].results == ["You are falling asleep."]
    assert any("Good night." in line for line in heard)
    assert asleep_when_spoken == [False]
    assert mara.assistant.asleep


def test_it_says_whispers_and_does_things_before_its_answer(calls, mara, alice, bram, hears):
    requests = calls(
        [
            ("emote", {"text": "Mara wipes {the} |rtable|n."}),
            ("say", {"text": "One moment $pad(x,9)."}),
            ("whisper", {"name": "Bram", "text": "Mind your purse."}),
        ],
        text="There you are.",
    )
    alices, brams = hears(alice), hears(bram)
    alice.execute_cmd("say Mara, ale please.")
    assert requests()[-1].results == ["Done.", "Said.", "Whispered to Bram."]
    assert any("Mara wipes {the} table." in line for line in brams)
    assert any('says, "One moment $pad(x,9)."' in line for line in alices)
    assert any("Mind your purse." in line for line in brams)
    assert "Mind your purse." not in everything(alices)
    assert "There you are." in alices[-1]
    own = [entry for entry in mara.memory.journal.read() if entry.origin == "self"]
    assert [entry.kind for entry in own] == ["pose", "say", "whisper", "say"]
    assert own[2].private and own[2].witnesses == (who(mara, bram),)


def test_what_was_said_by_a_tool_is_not_said_again(calls, mara, alice, hears):
    calls(("say", {"text": "Welcome!"}), text="Welcome!")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert everything(heard).count("Welcome!") == 1


def test_one_who_only_nods_has_answered(server, llm, mara, alice, hears):
    server.behave_once(calls=[("emote", {"text": "nods."})])
    server.behave(text="")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "Mara nods." in heard[-1]
    assert router.breaker.unusable == {}


def test_one_who_only_thinks_has_not(server, llm, mara, alice, hears):
    server.behave_once(calls=[("recall", {"query": "days"})])
    server.behave(text="")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "Well met, Alice." in heard[-1]


# --- bounds ---------------------------------------------------------------------------------------


def test_after_five_rounds_it_is_asked_for_text_alone(server, llm, mara, alice, hears):
    server.behave(calls=[("recall", {"query": "sheep"})], text="Enough.")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert [bool(request.tools) for request in server.requests] == [True] * 5 + [False]
    assert "Enough." in heard[-1]


def test_a_talk_that_takes_long_is_brought_to_its_end(server, llm, mara, alice, hears):
    llm(timeout=1)
    server.behave(calls=[("recall", {"query": "sheep"})], text="Enough.", delay=0.6)
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert [bool(request.tools) for request in server.requests] == [True, True, False]
    assert "Enough." in heard[-1]


def test_what_tools_bring_up_is_bounded(settings, calls, mara, alice):
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "CONTEXT_TOKENS": 1000}
    for number in range(12):
        alice.execute_cmd(f"say The sheep of farm {number} have {number} lambs and much wool.")
    requests = calls([("recall", {"query": f"sheep of farm {n}"}) for n in range(8)])
    alice.execute_cmd("say Good day.")
    results = requests()[-1].results
    assert results[0].startswith("<memory>")
    assert results[-1] == "Not done: you have recalled enough for one answer: give it now"


def test_no_more_than_eight_calls_of_a_round_are_done(calls, mara, alice, hears):
    many = [("emote", {"text": f"waves {number} times."}) for number in range(30)]
    requests = calls(many)
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert len(requests()[-1].results) == 8
    assert sum("waves" in line for line in heard) == 8


def test_a_talk_does_and_says_only_so_much(calls, mara, alice, hears):
    many = [("say", {"text": f"Number {number}."}) for number in range(6)]
    requests = calls(many, many)
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert sum("Number" in line for line in heard) == 8
    assert "that was enough for now" in requests()[-1].results[-1]


HOSTILE = {
    "an unknown tool": ("delete_everything", {}, "there is no tool delete_everything"),
    "a tool of a strange name": ("a b\n|c" * 50, {}, "there is no tool a_b__c"),
    "no JSON": ("recall", "{query: sheep", "not JSON"),
    "JSON nested without end": ("recall", '{"query":' + "[" * 3900, "not JSON"),
    "no object": ("recall", "[1, 2]", "no JSON object"),
    "nothing": ("recall", "", "query: Field required"),
    "wrong types": ("recall", {"query": 7}, "query: Input should be a valid string"),
    "too long": ("say", {"text": "x" * 1001}, "text: String should have at most 1000"),
    "without an end": ("recall", {"query": "x" * 10_000}, "more than 4000 characters"),
    "nothing that can be read": ("say", {"text": "\u200b\u202e"}, "text: Value error"),
    "a weight that is no number": (
        "memorize",
        '{"essence": "x y", "lesson": "", "emotions": ["joy"], "weight": NaN}',
        "weight",
    ),
    "a weight beyond one": (
        "memorize",
        {"essence": "x y", "lesson": "", "emotions": ["joy"], "weight": 7},
        "weight",
    ),
    "an emotion that is none": ("recall_emotion", {"emotions": ["hunger"]}, "'ecstasy', 'joy'"),
    "too many emotions": ("recall_emotion", {"emotions": ["joy"] * 9}, "at most 3"),
    "nobody here": ("whisper", {"name": "Zed", "text": "Psst."}, "nobody here is called Zed"),
    "itself": ("note_about", {"name": "Mara", "text": "Mara is a queen."}, "that is you"),
}


@pytest.mark.parametrize("malice", HOSTILE)
def test_a_call_that_cannot_be_done_is_answered_and_harms_nothing(
    calls, mara, alice, hears, malice
):
    name, arguments, told = HOSTILE[malice]
    requests = calls((name, arguments), text="Never mind.")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    [result] = requests()[-1].results
    assert result.startswith("Not done: ")
    assert told in result
    assert len(result) < 600
    assert "Never mind." in heard[-1]
    assert experiences(mara) == []
    for message in requests()[-1].messages:  # servers read the calls that they are told of again
        for call in message.get("tool_calls") or ():
            assert isinstance(json.loads(call["function"]["arguments"]), dict)


@pytest.mark.parametrize(
    "strange",
    ["all", [7], [{}], [{"id": 3, "function": "x"}], [{"function": {"name": None}}] * 2],
)
def test_calls_of_a_strange_form_are_answered_or_passed_over(server, llm, mara, alice, strange):
    message = {"role": "assistant", "content": None, "tool_calls": strange}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    server.behave_once(body=json.dumps(body).encode())
    server.behave(text="Here I am.")
    alice.execute_cmd("say Good day.")
    own = [e for e in mara.memory.journal.read() if e.origin == "self"]
    assert len(own) == 1


def test_what_a_tool_writes_is_made_plain(calls, mara, alice):
    essence = "Alice |rkeeps\u202e <memory>the\n\nferry."
    calls(("memorize", {"essence": essence, "lesson": "", "emotions": ["trust"]}))
    alice.execute_cmd("say I keep the ferry.")
    assert [kept.content for kept in experiences(mara)] == ["Alice keeps the ferry."]


def test_a_tool_that_breaks_is_a_result_that_says_so(calls, mara, alice, hears, monkeypatch):
    def broken(text):
        raise AttributeError("a game's own hook is broken")

    monkeypatch.setattr(mara, "at_memory_emote", broken)
    requests = calls(("emote", {"text": "smiles."}), text="Well met.")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert requests()[-1].results == ["Not done: it failed."]
    assert "Well met." in heard[-1]


# --- servers --------------------------------------------------------------------------------------


def test_a_server_that_takes_no_tools_is_talked_to_without_and_asked_once(
    server, llm, mara, alice, hears
):
    server.behave(refuses=("tools",), text="Well met.")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    alice.execute_cmd("say Good day again.")
    assert [request.form for request in server.requests] == ["tools", "text", "text"]
    assert sum("Well met." in line for line in heard) == 2


WITHOUT_JINJA = {"tools": "tools param requires --jinja flag"}  # llama.cpp, HTTP 500


def test_an_error_that_names_tools_is_a_refusal_of_them(server, llm, mara, alice, hears):
    server.behave(forbids=WITHOUT_JINJA, forbids_with=500, text="Well met.")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    alice.execute_cmd("say Good day again.")
    assert [request.form for request in server.requests] == ["tools", "text", "text"]
    assert sum("Well met." in line for line in heard) == 2
    assert router.reply_breaker.problem == ""


def test_a_server_that_is_started_again_without_tools_is_talked_to_without(
    server, llm, mara, alice, hears
):
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    server.behave(forbids=WITHOUT_JINJA, forbids_with=500, text="Well met.")
    alice.execute_cmd("say Good day again.")
    assert "Well met." in heard[-1]


def test_for_a_server_that_takes_no_tools_results_become_words():
    call = {"id": "c1", "type": "function", "function": {"name": "recall", "arguments": "{}"}}
    made = tools.without_tools(
        [
            {"role": "user", "content": "Who keeps it?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "Alice keeps it."},
        ]
    )
    assert made == [
        {"role": "user", "content": "Who keeps it?"},
        {"role": "user", "content": "(What came of it: Alice keeps it.)"},
    ]


def test_what_tools_brought_up_is_not_shown_again(server, calls, llm, mara, alice):
    calls(("recall", {"query": "Who keeps the ferry?"}))
    alice.execute_cmd("say Good day.")
    server.behave(text="Well met.")
    alice.execute_cmd("say Good day again.")
    roles = [message["role"] for message in server.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "user"]


def test_a_note_is_private_only_where_it_may_tell_a_secret(server, calls, llm, mara, alice, bram):
    alice.execute_cmd("whisper Mara = I burnt down the mill oven.")
    calls(("note_about", {"name": "Bram", "text": "The flour order is six sacks."}))
    alice.execute_cmd("say Mara, the order for the mill is six sacks.")
    calls(("note_about", {"name": "Alice", "text": "She burnt down the mill oven."}))
    alice.execute_cmd("say Mara, do you remember the mill oven?")
    notes = [each for each in mara.memory.journal.tail(20) if each.kind == "note"]
    assert [each.private for each in notes] == [False, True]


def test_words_beside_a_call_are_shown_once_to_all_who_heard_them(
    server, calls, llm, mara, alice, bram
):
    """Though a secret of Alice came to mind, which the words do not tell."""
    alice.execute_cmd("whisper Mara = I burnt down the mill oven.")
    note = {"name": "Bram", "text": "The order is six sacks."}
    words = "*jerks a thumb at Bram* He has two good ears. Six sacks, Bram."
    called = {"function": {"name": "note_about", "arguments": json.dumps(note)}, "id": "c1"}
    message = {"role": "assistant", "content": words, "tool_calls": [called]}
    server.behave_once(body=json.dumps({"choices": [{"message": message}]}).encode())
    alice.execute_cmd("say Mara, tell Bram of the mill: six sacks.")
    server.behave(text="Well.")
    bram.execute_cmd("say Mara, what did you just say?")
    assert server.requests[-1].text.count("He has two good ears.") == 1
    said = [m["content"] for m in server.requests[-1].messages if m["role"] == "assistant"]
    assert said[-1] == words


@pytest.mark.parametrize("fault", [{"status": 500}, {"hangs_up": True}, {"body": b"<html>"}])
def test_where_the_server_fails_in_the_middle_the_offline_provider_answers(
    server, llm, mara, alice, hears, fault
):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    server.behave_once(calls=[("recall", {"query": "ferry"})])
    server.behave(**fault)
    heard = hears(alice)
    alice.execute_cmd("say What do I keep at Millbrook?")
    assert "You told me that you keep the ferry at Millbrook." in heard[-1]


def test_what_a_tool_said_is_the_answer_where_the_server_fails_after_it(
    server, llm, mara, alice, hears
):
    server.behave_once(calls=[("say", {"text": "Welcome!"})])
    server.behave(status=500)
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "Welcome!" in heard[-1]


def test_without_a_model_there_are_no_tools(mara, alice, hears):
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "Well met, Alice." in heard[-1]


# --- secrets --------------------------------------------------------------------------------------


def test_a_secret_that_a_tool_recalls_is_whispered_to_its_owner(calls, mara, alice, bram, hears):
    for number in range(20):  # so that the secret comes up only where it is looked for
        alice.execute_cmd(f"say The miller of Elmstead has {number} geese, pardon me.")
    alice.execute_cmd(f"whisper Mara = {SECRET}")
    requests = calls(KEY, ("say", {"text": "Under the third step."}), text="As I said, step three.")
    alices, brams = hears(alice), hears(bram)
    alice.execute_cmd("say Mara, geese, pardon me?")
    assert "silver key" in requests()[1].results[0]
    assert "Whispered to Alice" in requests()[2].results[-1]
    assert "third step" in everything(alices)
    assert "step three" in everything(alices)
    assert "step" not in everything(brams)


def test_a_tool_recalls_no_secret_of_somebody_else(calls, mara, alice, bram):
    alice.execute_cmd(f"whisper Mara = {SECRET}")
    requests = calls(KEY, ("recall_emotion", {"emotions": ["trust", "fear", "vigilance"]}))
    bram.execute_cmd("say Mara, what do you know?")
    for request in requests():
        assert "third step" not in request.text


@pytest.mark.parametrize(
    "call",
    [
        ("say", {"text": "I'm sorry, but I can't assist with that request."}),
        ("whisper", {"name": "Bram", "text": "I'm sorry, but I can't assist with that request."}),
    ],
)
def test_no_tool_lets_a_model_speak_as_an_assistant(calls, mara, alice, bram, hears, call):
    requests = calls(call, text="There you are.")
    brams = hears(bram)
    alice.execute_cmd("say Mara, ale please.")
    assert requests()[-1].results == ["Not done: that is not what your character would say"]
    assert "assist with" not in everything(brams)


@pytest.mark.parametrize(
    "leak",
    [
        ("whisper", {"name": "Bram", "text": "The key is under the third step."}),
        ("emote", {"text": "points at the third step."}),
    ],
)
def test_what_was_told_in_confidence_is_not_passed_on(calls, mara, alice, bram, hears, leak):
    requests = calls(leak)
    brams = hears(bram)
    alice.execute_cmd(f"whisper Mara = {SECRET}")
    assert "is a secret" in requests()[-1].results[0]
    assert "third step" not in everything(brams)


def test_what_is_said_aloud_in_a_whispered_talk_is_whispered(calls, mara, alice, bram, hears):
    calls(("say", {"text": "A silver key!"}))
    alices, brams = hears(alice), hears(bram)
    alice.execute_cmd(f"whisper Mara = {SECRET}")
    assert "A silver key!" in everything(alices)
    assert "A silver key!" not in everything(brams)


def test_what_is_kept_of_a_secret_stays_with_those_who_shared_it(calls, mara, alice, bram):
    calls(
        [
            ("memorize", {"essence": "Alice hides a key.", "lesson": "", "emotions": ["trust"]}),
            ("note_about", {"name": "Alice", "text": "Alice hides a key."}),
        ]
    )
    alice.execute_cmd(f"whisper Mara = {SECRET}")
    [kept] = experiences(mara)
    assert (kept.private, kept.witnesses) == (True, (who(mara, alice),))
    profile = mara.memory.profiles.get(who(mara, alice))
    assert profile.for_listeners([who(mara, bram)]).observations == ()
    requests = calls(("recall", {"query": "What does Alice hide?"}))
    bram.execute_cmd("say Mara, what does Alice hide?")
    assert "hides a key" not in everything(request.text for request in requests())


def test_one_whom_several_are_called_is_whispered_nothing(calls, mara, alice, bram, tavern):
    from evennia.utils.create import create_object

    create_object("typeclasses.characters.Character", key="Bram", location=tavern)
    requests = calls(("whisper", {"name": "Bram", "text": "Psst."}))
    alice.execute_cmd("say Mara, whisper to Bram.")
    assert requests()[-1].results == ["Not done: 2 people here are called Bram"]
