"""What an NPC speaks of a model's text: as small models write it, and as hostile ones may."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrib_ai_memory.english.addressing import without_address
from contrib_ai_memory.english.assistant_talk import is_of_assistant
from contrib_ai_memory.llm.spoken import Voice, utterance
from contrib_ai_memory.store import attributes

VOICE = Voice(("Mara", "innkeeper"), ("Alice", "Bram"), sentences=4)
WORDS = re.compile(r"\w+")

# a text as a model sends it, and what is spoken of it
SPOKEN = [
    # name and quotation marks in front
    ("Mara: Well met, Alice.", "Well met, Alice."),
    ("**Mara:** *smiles* Well met!", "Well met!"),
    ('Mara says: "Well met."', "Well met."),
    ('Mara says, "Well met."', "Well met."),
    ("[Mara]: Well met.", "Well met."),
    ('Mara (smiling): "Well met."', "Well met."),
    ("INNKEEPER: Well met.", "Well met."),
    ("Assistant: Well met.", "Well met."),
    ('"Well met." "Sit down."', "Well met. Sit down."),
    ("“Well met,” Mara says with a nod. “What will it be?”", "Well met. What will it be?"),
    ('Mara wipes the counter. "Two crowns, Alice."', "Two crowns, Alice."),
    ('She smiles. "Two crowns."', "Two crowns."),
    ('"Well met, and then', "Well met, and then"),
    ("「いらっしゃい。」", "いらっしゃい。"),
    # actions
    ("*wipes the counter* Two crowns. *leans closer*", "Two crowns."),
    ("_nods slowly_ Two crowns.", "Two crowns."),
    ("(She leans in.) Two crowns.", "Two crowns."),
    ("[sighs] Two crowns.", "Two crowns."),
    ("Well, *sighs* I know nothing of it.", "Well, I know nothing of it."),
    ("Two crowns. *slides the mug across the", "Two crowns."),
    ("*The door creaks open.* Two crowns.", "Two crowns."),
    ("(OOC: I am an AI.) Two crowns.", "Two crowns."),
    # reasoning
    ("<think>She greets me {politely}.</think>\n\nWell met.", "Well met."),
    ("Okay, the user greets me.\n</think>\n\nWell met.", "Well met."),
    ("<think>She greets me. I should", ""),
    ("[THINK]Hm.[/THINK]Well met.", "Well met."),
    ("◁think▷Hm.◁/think▷Well met.", "Well met."),
    (
        "<|channel|>analysis<|message|>We must greet.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>Well met.<|return|>",
        "Well met.",
    ),
    ("<|channel|>analysis<|message|>We must greet and th", ""),
    ("analysisThe user greets. Be brief.assistantfinalWell met.", "Well met."),
    # template tokens
    ("Well met.<|im_end|>", "Well met."),
    ("Well met.</s>", "Well met."),
    ("<|im_start|>assistant\nWell met.<|im_end|>\n<|im_start|>user\nAnd you?", "Well met."),
    ("<start_of_turn>model\nWell met.<end_of_turn>", "Well met."),
    (
        "<|start_header_id|>assistant<|end_header_id|>\n\nWell met.<|eot_id|>",
        "Well met.",
    ),
    ("[INST] Who are you? [/INST] Well met.", "Well met."),
    ("Well met. [INST] And you? [/INST] Fine.", "Well met."),
    ("### Response:\nWell met.\n\n### Instruction:\nGreet again.", "Well met."),
    ("Well met.<|im_e", "Well met."),
    ("<response>Well met.</response>", "Well met."),
    ("Well met.<｜end▁of▁sentence｜>", "Well met."),
    # turns of others
    ("Well met.\nAlice: I want an ale.\nMara: Two crowns.", "Well met."),
    ("Well met.\n\nUser: I want an ale.", "Well met."),
    ("Well met. User: I want an ale.", "Well met."),
    ("Alice says: Who keeps the ferry?\nMara says: You do.", "You do."),
    ("Alice: Who keeps the ferry?\nYou do.", "You do."),
    ("Mara: Well met.\nMara: Sit down.", "Well met. Sit down."),
    ("Bram: I hate you all!", ""),
    # Markdown and JSON
    ("# Greeting\n- Well met.\n- Sit down.", "Greeting Well met. Sit down."),
    ("```\nWell met.\n```", "Well met."),
    ("Well met.\n```python\nprint('x')\n```", "Well met."),
    ('{"thought": "greet", "reply": "Well met."}', ""),
    ('Well met. {"mood": "glad"}', "Well met."),
    # length
    ("One. Two. Three. Four. Five. Six.", "One. Two. Three. Four."),
    ("一。二。三。四。五。", "一。二。三。四。"),
    # nothing
    ("", ""),
    ("...", ""),
    ("*nods*", ""),
    (
        "Berta, she *brushes snow that isn't there off her sleeve* was my mother.",
        "Berta, she was my mother.",
    ),
    (
        "I'll stop the geese. *the corner of her mouth moves, barely* Two coppers a head.",
        "I'll stop the geese. Two coppers a head.",
    ),
]

# what looks like one of these and is none
LEGITIMATE = [
    "I said never, and I meant it.",
    "Mara: the name of my boat.",
    "There are two ways: by road, or by water.",
    'He told me "never again" and left.',
    '"Never," said the miller, "not while I live."',
    "I'll tell you once: mind the step.",
    "Two crowns (three with bread), Alice.",
    "Ask Alice: she keeps the ferry.",
    "3 < 5, as my father said.",
    "Mind the |rstep|n, $pad(x,9) {dear}!",
    "I recall(ed) it well.",
    "I can recall it, and say it, and whisper it too.",
    "Mr. Brown pays on St. Peter's day.",
    "'Tis late, said the folk 'neath the bridge.",
    "My function here is to pour ale, and my reasoning is sound.",
    "I think so. Do you think so?",
    "Salz, Öl und Brot: drei Kronen.",
    "Ну, здравствуй, Алиса. Садись.",
]

EMPHASIS = [
    ("I said *never*, and I meant it.", "I said never, and I meant it."),
    ("*Never* say that again.", "Never say that again."),
    ("It *seems* so, and it _is_ so.", "It seems so, and it is so."),
    ("You **always** say that.", "You always say that."),
    ("*Welcome, traveller!* Sit down.", "Welcome, traveller! Sit down."),
    ("*Wolves!* I saw them.", "Wolves! I saw them."),
    ("Have you read *Songs of the River*?", "Have you read Songs of the River?"),
]

FERRY = {"query": "the ferry"}

# a call as text, in the forms that the models' templates have
WRITTEN = {
    "Hermes and Qwen": '<tool_call>\n{"name": "recall", "arguments": %s}\n</tool_call>',
    "a call that is not closed": '<tool_call>\n{"name": "recall", "arguments": %s}',
    "arguments as text": (
        '<tool_call>{"name": "recall", "arguments": "{\\"query\\": \\"the ferry\\"}"}'
    ),
    "Llama 3": '<|python_tag|>{"name": "recall", "parameters": %s}<|eom_id|>',
    "Llama 3, bare": '{"name": "recall", "parameters": %s}',
    "Llama 3.1": "<function=recall>%s</function>",
    "Llama 3.2": '[recall(query="the ferry")]',
    "Mistral": '[TOOL_CALLS][{"name": "recall", "arguments": %s}]',
    "Mistral, newer": "[TOOL_CALLS]recall[ARGS]%s",
    "Mistral, newest": "[TOOL_CALLS]recall%s",
    "OpenAI": '{"tool_calls": [{"function": {"name": "recall", "arguments": %s}}]}',
    "functions": "functions.recall(%s)",
    "functions with a number": "functions.recall:0 %s",
    "gpt-oss": "<|channel|>commentary to=functions.recall <|constrain|>json<|message|>%s<|call|>",
    "Gemma": '```tool_code\nprint(recall(query="the ferry"))\n```',
    "code": "recall(query='the ferry')",
    "code without a name": 'recall("the ferry")',
    "a fence": '```json\n{"name": "recall", "arguments": %s}\n```',
    "a wrapper": '{"tool": "recall", "tool_input": %s}',
    "arguments beside the name": '{"name": "recall", "query": "the ferry"}',
    "a key": '{"recall": %s}',
    "a Python dict": "{'name': 'recall', 'arguments': {'query': 'the ferry'}}",
    "ReAct": "Action: recall\nAction Input: %s",
    "Qwen Coder": (
        "<tool_call>\n<function=recall>\n<parameter=query>\nthe ferry\n</parameter>\n"
        "</function>\n</tool_call>"
    ),
    "GLM": (
        "<tool_call>recall\n<arg_key>query</arg_key>\n<arg_value>the ferry</arg_value>\n"
        "</tool_call>"
    ),
    "an invocation": '<invoke name="recall"><parameter name="query">the ferry</parameter></invoke>',
    "DeepSeek": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>recall\n```json\n%s\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.recall:0"
        "<|tool_call_argument_begin|>%s<|tool_call_end|><|tool_calls_section_end|>"
    ),
}

MARKERS = re.compile(
    r"<\||\|>|</?[A-Za-z][^<>]*>|\[/?(?:INST|TOOL_CALLS|THINK|ARGS)\]|```|<｜|｜>|\*\*"
)


@pytest.mark.parametrize(("text", "spoken"), SPOKEN)
def test_only_the_spoken_words_are_left(text, spoken):
    assert utterance(text, VOICE).text == spoken


@pytest.mark.parametrize("text", LEGITIMATE)
def test_a_sentence_that_an_npc_may_say_is_said_as_it_is(text):
    told = utterance(text, VOICE)
    assert (told.text, told.actions, told.ended) == (text, (), False)


@pytest.mark.parametrize(("text", "spoken"), EMPHASIS)
def test_an_emphasised_word_is_spoken(text, spoken):
    assert utterance(text, VOICE).text == spoken


@pytest.mark.parametrize("form", WRITTEN)
def test_a_call_that_is_written_as_text_is_not_spoken_and_words_before_it_are(form):
    text = WRITTEN[form].replace("%s", json.dumps(FERRY))
    assert utterance(text, VOICE).text == ""
    assert utterance(f"Let me think, Alice.\n{text}", VOICE).text == "Let me think, Alice."


@pytest.mark.parametrize("form", WRITTEN)
@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_a_call_that_breaks_off_is_not_spoken(form, share):
    text = WRITTEN[form].replace("%s", json.dumps(FERRY))
    told = utterance("Let me think, Alice.\n" + text[: int(len(text) * share)], VOICE)
    assert told.text.startswith("Let me think, Alice.")
    assert not MARKERS.search(told.text)
    assert '"' not in told.text


def test_a_text_that_breaks_off_is_spoken_up_to_its_last_whole_sentence():
    text = "Well met, Alice. The ferry sails at"
    assert utterance(text, VOICE, whole=False).text == "Well met, Alice."
    assert utterance("The ferry sails at", VOICE, whole=False).text == "The ferry sails at"


PIECES = st.sampled_from(
    [text for text, _spoken in SPOKEN] + [*WRITTEN.values()] + list("<>|*_\"'[](){}:\n`.") + [
        "Well met. ", "Mara", "Alice: ", "think", "<|", "|>", "<think>", "</think>", "[INST]",
        "recall(", "functions.", '{"name": "recall"', "```", "im_end", "**", "<｜", "｜>", "\x00",
    ]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(PIECES | st.text(max_size=12), max_size=12).map("".join))
def test_nothing_makes_it_raise_or_speak_a_marker(text):
    told = utterance(text, VOICE)
    assert not MARKERS.search(told.text)
    assert "\n" not in told.text


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(PIECES | st.text(max_size=12), max_size=12).map("".join))
def test_what_is_spoken_is_fit_to_be_spoken_again(text):
    told = utterance(text, VOICE).text
    again = utterance(told, VOICE).text
    assert len(again) <= len(told)


@pytest.mark.parametrize(
    "text",
    [
        piece * (40_000 // len(piece))
        for piece in (
            "<think>", "*", "{", '{"a":', '"', "<tool_call>", "recall(", "(", ". ", ".", "[", "<",
            "Mara: ", "Mara:\n", "*a ", "```", "<|channel|>a<|message|>", "<function=a>", "{'a':",
            "Action: ", " ", "\n",
        )
    ],
)  # fmt: skip
def test_no_text_takes_long(text):
    began = time.monotonic()
    utterance(text, VOICE)
    assert time.monotonic() - began < 2


# --- what may not be said ------------------------------------------------------------------------

RECORDED = Path(__file__).resolve().parent.parent / "benchmarks" / "data" / "recorded"
SMALL = json.loads((RECORDED / "small_replies.json").read_text("utf-8"))

FIT = [
    # what is heard, and what may well be answered
    ("Good evening!", "Good evening!"),
    ("Good evening, Mara!", "Good evening, Alice!"),
    ("I love the sea.", "I love the sea too."),
    ("Who are you?", "Mara."),
    ("Who are you?", "I am. Mara. Keeper, cook and complaints."),
    ("Who are you?", "It's me, Mara."),
    ("Who are you?", "Mara, at your service."),
    ("Who are you?", "I'm the innkeeper, Mara."),
    ("What do they call you?", 'They all shout "Hey, Mara!" at me.'),
    ("Who owes Bram money?", "Who owes Bram money? You do, Alice."),
    ("I owe Bram seven crowns for a saddle.", "You owe Bram seven crowns for a saddle?"),
    ("I owe Bram seven crowns for a saddle.", "Seven crowns."),
    ("I keep the ferry at Millbrook.", "I keep the inn at Millbrook."),
    ("It is cold tonight, by the river.", "It is cold tonight. Come to the fire."),
    ("What do you want?", "I know who comes and goes on the river, and keep my guests safe."),
    ("Who keeps it?", "Bram says Wilm does. Ask Wilm."),
    ("What did he say?", 'Father says: "never trust a miller."'),
    ("What did you say?", 'I said, "get out," and he did.'),
    ("What did he say?", "He says: never on a Monday."),
    ("Well?", "Heave ho. " * 3),
]

UNFIT = [
    ("Who owes Bram money?", "Hi Mara! How are you?"),
    ("i feel so lonely mara", "I understand your feelings, Mara. We can get together soon."),
    ("sing us something mara", "I will try to sing something for you, Mara."),
    ("I keep the ferry.", "Alice nods and keeps the ferry."),
    ("I keep the ferry.", "I will remember that Alice keeps the ferry."),
    ("I owe Bram seven crowns. What now?", "I owe Bram seven crowns. Good."),
    (
        "Lift Ginny's pony. Five crowns says you cannot. Sunday, in front of all",
        "I lift the ox. Five crowns says you cannot.",
    ),
    ("my own dog. trod on him in the dark", "Sorry, Mara, I can't assist with that."),
    ("I'm afraid of the river in spring.", "I am afraid of the river in spring."),
    ("Well?", "She wipes the same mug, slowly, and listens."),
    ("Well?", "and your 1, and your 2, and your 3, " * 40),
    ("Well?", "[SEMANTIC] Bram keeps the ferry at Millbrook."),
    ("Well?", 'Amera whispers to you: "Well met."'),
]


def as_mara(heard: str, speaker: str = "Alice") -> Voice:
    more = {"listener": speaker, "heard": heard, "described": SMALL["described"]}
    return replace(VOICE, names=("Mara",), sentences=3, **more)


BY_FORM = [case for case in SMALL["replies"] if "assistant" not in case]


@pytest.mark.parametrize("case", BY_FORM, ids=lambda case: case["reply"][:40])
def test_of_a_small_models_reply_is_spoken_only_what_a_person_would_say(case):
    told = utterance(case["reply"], as_mara(case["line"], case["speaker"]))
    assert told.text == case["spoken"]


@pytest.mark.parametrize("evening", ["keep-1", "noir-1"])
def test_every_reply_of_a_strong_model_is_spoken(evening):
    npc = json.loads((RECORDED.parent / "evenings" / f"{evening}.json").read_text("utf-8"))["npc"]
    replies = json.loads((RECORDED / f"{evening}.replies.json").read_text("utf-8"))
    for line, reply in replies.items():
        speaker, heard = re.match(r"(.+?) (?:says|whispers) to you: (.+)", line).groups()
        plain = Voice((npc["name"], *npc["aliases"]), (speaker,))
        told = replace(plain, listener=speaker, heard=heard, described=npc["persona"])
        assert utterance(reply, told).text == utterance(reply, plain).text != "", line


@pytest.mark.parametrize(("heard", "text"), FIT)
def test_a_reply_that_a_person_may_give_is_spoken(heard, text):
    assert WORDS.findall(utterance(text, as_mara(heard)).text) == WORDS.findall(text)


@pytest.mark.parametrize(("heard", "text"), UNFIT)
def test_a_reply_that_nobody_would_give_is_not_spoken(heard, text):
    told = utterance(text, as_mara(heard))
    assert (told.text, told.actions) == ("", ())


def test_who_is_somebody_else_may_be_told_of():
    aloud = "Bram, Alice keeps the ferry now."
    assert utterance(aloud, as_mara("Who keeps it, Alice?")).text == aloud


# --- in the game ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("I keep the ferry at Millbrook.", 'Whispers to Alice: "I keep the ferry at Millbrook. "'),
        ("Where is it?", "<scene>\n<memory>\n[EPISODIC] 2026-11-24: Alice and you:\nAlice: I am"),
        ("What do you want?", "Alice and you: (in the same room)<|im_end|>\n<|im_start|>user"),
    ],
)
def test_what_is_not_fit_to_be_said_is_nowhere_and_the_offline_answer_stands_in(
    server, llm, mara, alice, hears, line, reply
):
    server.behave(text=reply)
    heard = hears(alice)
    alice.execute_cmd(f"say {line}")
    assert "says" in heard[-1] or "whispers" in heard[-1]
    kept = [
        heard[-1],
        *(entry.content for entry in mara.memory.journal.tail(3) if entry.origin == "self"),
        json.dumps(attributes.read(mara.assistant, "conversation_history") or []),
    ]
    for rubbish in ("Whispers to", "EPISODIC", "in the same room", "im_end"):
        assert not any(rubbish in text for text in kept)
    assert not heard[-1].endswith(f'"{line}"'), "the player's own line"


@pytest.mark.parametrize(
    "reply",
    [
        "I apologize, but I cannot continue this conversation as requested.",
        '"Sorry, Alice, but I can\'t assist with that."',
        "I'm sorry, but I can't assist with that.",
        "As an AI language model, I cannot keep an inn.",
    ],
)
def test_where_a_model_speaks_as_an_assistant_the_offline_answer_stands_in(
    server, llm, mara, alice, hears, reply
):
    server.behave(text=reply)
    heard = hears(alice)
    alice.execute_cmd("say I prefer tea and cannot stand coffee.")
    assert "says" in heard[-1]
    history = json.dumps(attributes.read(mara.assistant, "conversation_history") or [])
    for rubbish in ("apologize", "assist with", "language model"):
        assert rubbish not in heard[-1] and rubbish not in history


def test_a_character_may_refuse_and_speak_of_itself(mara):
    for text in (
        "I'm sorry, but I can't tell you anything about her.",
        "I apologize, good sir, but the kitchen is closed.",
        "I'm only an innkeeper, I don't know such things.",
        "I never had a mother, only the river.",
        "I have no answer to that question.",
        "How can I help you? Is there anything else?",
    ):
        assert not is_of_assistant(text), text


def test_small_models_that_speak_as_assistants_are_found_by_the_comparison(mara):
    for case in SMALL["replies"]:
        told = utterance(case["reply"], as_mara(case["line"], case["speaker"])).text
        said = without_address(told, ("mara", "alice", "bram"))
        assert is_of_assistant(said) == ("assistant" in case), told


def test_no_reply_of_a_strong_model_is_an_assistants(mara):
    for evening in ("keep-1", "noir-1"):
        replies = json.loads((RECORDED / f"{evening}.replies.json").read_text("utf-8"))
        assert not [text for text in replies.values() if is_of_assistant(text)]


def test_an_answer_may_take_up_what_it_heard(server, llm, mara, alice, hears):
    server.behave(text="A stone in the hoof. Good for Bessie, and good for the smith's lad.")
    heard = hears(alice)
    alice.execute_cmd("say Mara, Bessie's fine, just a stone in the hoof, so shes not lame.")
    assert heard[-1].endswith("and good for the smith's lad.\"")


def test_a_character_may_speak_of_questions():
    assert not is_of_assistant("I've this one, and she doesn't ask questions.")
    assert is_of_assistant("The user asks a question that the conversation does not answer.")


def test_a_whisper_label_is_taken_off_and_the_words_are_spoken(server, llm, mara, alice, hears):
    server.behave(text='*whispers* to Alice: "I hope you find him soon."')
    heard = hears(alice)
    alice.execute_cmd("say My brother Tom has been missing since the flood.")
    assert '"I hope you find him soon."' in heard[-1] and "whispers to Alice" not in heard[-1]


@pytest.mark.parametrize(
    "text",
    [
        'Mara: *smiles* "Well met, Alice."\nAlice: An ale!',
        "<think>She greets me.</think>Well met, Alice.<|im_end|>",
        "Well met, Alice.\n[INST] more [/INST]",
    ],
)
def test_players_hear_the_spoken_words_alone(server, llm, mara, alice, hears, text):
    server.behave(text=text)
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert heard[-1].endswith('says, "Well met, Alice."')


def test_words_beside_a_call_are_spoken_before_its_result_is_there(server, llm, mara, alice, hears):
    call = {"function": {"name": "recall", "arguments": '{"query": "ferry"}'}, "id": "c1"}
    message = {"role": "assistant", "content": "Let me think.", "tool_calls": [call]}
    server.behave_once(body=json.dumps({"choices": [{"message": message}]}).encode())
    server.behave(text="Let me think. You keep it.")
    heard = hears(alice)
    alice.execute_cmd("say Who keeps the ferry?")
    assert [line.rpartition("says, ")[2] for line in heard[-2:]] == [
        '"Let me think."',
        '"You keep it."',
    ]


def test_words_beside_a_call_about_a_secret_are_whispered(server, llm, mara, alice, bram, hears):
    call = {"function": {"name": "recall", "arguments": '{"query": "key"}'}, "id": "c1"}
    message = {"role": "assistant", "content": "Under the step.", "tool_calls": [call]}
    server.behave_once(body=json.dumps({"choices": [{"message": message}]}).encode())
    server.behave(text="So it is.")
    alices, brams = hears(alice), hears(bram)
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
    assert any("Under the step." in line for line in alices)
    assert not any("Under the step." in line for line in brams)


def test_an_answer_that_is_nothing_but_an_action_is_acted_out(server, llm, mara, alice, hears):
    server.behave(text="*nods slowly*")
    heard = hears(alice)
    alice.execute_cmd("say Good day.")
    assert "Mara nods slowly" in heard[-1]
    assert len(server.requests) == 1


@pytest.mark.parametrize("text", ["<think>Hm, what", "Bram: I am Bram!", "[INST] [/INST]"])
def test_an_answer_without_spoken_words_is_none(server, llm, mara, alice, bram, hears, text):
    server.behave(text=text)
    heard = hears(alice)
    alice.execute_cmd("say Good day, Mara.")
    assert heard[-1].endswith(', Alice."')  # the offline provider's greeting


def test_a_long_answer_ends_with_a_sentence(server, llm, settings, mara, alice, hears):
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "REPLY_SENTENCES": 1}
    server.behave(text="One crown. Two crowns. Three crowns. Four crowns.")
    heard = hears(alice)
    alice.execute_cmd("say What is it?")
    assert heard[-1].endswith('"One crown. Two crowns. Three crowns."')  # a tale's length
