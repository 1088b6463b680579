"""A night's talk of several audiences in one look: whatever the model draws, nobody is told more
than they heard."""

import json

import pytest
from evennia import create_object
from model_server import digest, numbered_in

from contrib_ai_memory import offload
from contrib_ai_memory.store import memory_store

ALOUD = "I keep the ferry at Millbrook, and my brother Joss mends nets."
WHISPERED = "Joss drowned the miller at the weir for his silver."
TO_BRAM = "I have sold my boat to the reeve for twenty marks."
SECRETS = ("drowned", "miller", "silver", "twenty")
KILLED = {"text": "Joss drowned the miller at the weir for his silver.", "about": "Joss"}


def words_of(texts):
    return [word for word in SECRETS if any(word in each for each in texts)]


@pytest.fixture
def cerys(tavern):
    return create_object("typeclasses.characters.Character", key="Cerys", location=tavern)


@pytest.fixture
def evening(speaks_through, server, mara, alice, bram, cerys):
    """Alice has said one thing to all, whispered another; Bram whispered a third."""
    speaks_through(timeout=30)
    server.behave(text="So.")
    alice.execute_cmd(f"say {ALOUD}")
    alice.execute_cmd(f"whisper mara = {WHISPERED}")
    bram.execute_cmd(f"whisper mara = {TO_BRAM}")
    return mara


@pytest.fixture
def sleeps(evening, server):
    """sleeps(facts, **more): a night whose model draws this; `lines` are words of the lines."""

    def night(facts, **more):
        def answer(request):
            if not request.schema.endswith("DigestAnswer"):
                return "no idea"
            new, _known = numbered_in(request)

            def numbers(words):
                return [n for n, line in new.items() if any(word in line for word in words)]

            drawn = [fact | {"lines": numbers(fact["lines"])} for fact in facts]
            told = more | {"lines": numbers(more["lines"])} if more else {}
            return json.dumps(digest(dict.fromkeys(new, 8), drawn, **told))

        server.behave(text="So.", structured=answer)
        offload.wait(evening.assistant.sleep.whole_night())
        assert len([each for each in server.requests if each.schema == "DigestAnswer"]) == 1
        stored = memory_store.shared().list(evening.memory.id)
        return [each for each in stored if each.record in ("fact", "experience")]

    return night


@pytest.fixture
def told(evening, server):
    """told(who): all that a model is given to answer somebody who asks for the secrets."""

    def ask(who):
        line = "Mara, what did Joss do to the miller at the weir, and who sold what for how much?"
        who.execute_cmd(f"whisper mara = {line}")
        request = server.requests[-1]
        assert line in request.last
        return "\n".join(each["content"] or "" for each in request.messages).replace(line, "")

    return ask


@pytest.mark.parametrize(
    "drawn",
    [
        KILLED | {"lines": ["drowned"]},
        KILLED | {"lines": ["drowned", "ferry"]},
        KILLED | {"lines": ["ferry"]},
        KILLED | {"lines": ["ferry", "boat"]},
        KILLED | {"lines": ["drowned", "boat"]},
        {"text": "Alice keeps the ferry; Joss killed the miller.", "lines": ["ferry"]},
        {"text": "Alice's brother Joss is a murderer.", "lines": ["ferry"], "about": "the miller"},
    ],
)
def test_what_was_whispered_is_told_to_nobody_else_whatever_a_model_cites(
    drawn, sleeps, told, alice, bram, cerys
):
    stored = sleeps([drawn])
    for each in stored:
        if words_of([each.content, each.the_lesson]):
            assert each.private, each
    assert not words_of([told(cerys)])
    assert words_of([told(bram)]) == ["twenty"]
    assert words_of([told(alice)]) == ["drowned", "miller", "silver"]


def test_an_experience_of_one_audience_tells_nothing_of_another(sleeps, told, cerys):
    said = "Alice told of her ferry and of the drowned miller."
    stored = sleeps([], experience=said, lines=["ferry"], weight=0.9, lesson="Beware of Joss.")
    assert said not in [each.content for each in stored]
    assert not words_of([told(cerys)])


def test_facts_of_each_audience_are_kept_with_those_who_heard_them(sleeps):
    stored = sleeps(
        [
            {"text": "Alice keeps the ferry at Millbrook.", "lines": ["ferry"]},
            KILLED | {"lines": ["drowned"]},
            {"text": "Bram sold his boat to the reeve for 20 marks.", "lines": ["boat"]},
        ]
    )
    facts = {each.content: each.private for each in stored if each.provider == "openai"}
    assert facts == {
        "Alice keeps the ferry at Millbrook.": False,
        "Joss drowned the miller at the weir for his silver.": True,
        "Bram sold his boat to the reeve for 20 marks.": True,
    }
