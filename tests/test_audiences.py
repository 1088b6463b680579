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


def test_a_secret_that_is_told_aloud_is_over_whatever_fact_tells_it(evening, server, mara, alice):
    secret = "Joss drowned the miller at the weir for his silver."
    told = {"text": secret, "kind": "secret", "about": "Joss"}
    public = {"text": "Alice owned up that Joss drowned the miller at the weir.", "ends": []}

    def answer(request):
        if not request.schema.endswith("DigestAnswer"):
            return "no idea"
        new, known = numbered_in(request)
        ends = [number for number, text in known.items() if text.startswith(secret)]
        lines = {n: line for n, line in new.items() if "drowned" in line}
        facts = [(public | {"ends": ends} if ends else told) | {"lines": [n]} for n in lines]
        return json.dumps(digest(dict.fromkeys(new, 8), facts))

    server.behave(text="So.", structured=answer)
    offload.wait(mara.assistant.sleep.whole_night())
    alice.execute_cmd("whisper mara = Now it shall be known at last.")
    alice.execute_cmd("say Hear me all: my brother Joss drowned the miller at the weir!")
    offload.wait(mara.assistant.sleep.whole_night())
    facts = memory_store.shared().list(mara.memory.id, limit=None, record="fact")
    [fact] = [each for each in facts if each.content == secret]
    assert fact.private and fact.superseded_by


def test_common_words_of_a_whisper_are_no_secret(evening, server, mara, alice, sleeps):
    alice.execute_cmd("whisper mara = I have not been well since then, nor before.")
    mended = {"text": "Alice keeps the ferry at Millbrook since her brother Joss mends nets."}
    stored = sleeps([mended | {"lines": ["ferry"]}])
    assert mended["text"] in [each.content for each in stored]


def test_an_experience_of_one_audience_tells_nothing_of_another(sleeps, told, cerys):
    said = "Alice told of her ferry and of the drowned miller."
    stored = sleeps([], experience=said, lines=["ferry"], weight=0.9, lesson="Beware of Joss.")
    assert said not in [each.content for each in stored]
    assert not words_of([told(cerys)])


# in common words, or in none of the whisper's
@pytest.mark.parametrize(
    ("experience", "lesson"),
    [
        ("Alice told of her ferry.", "Joss did it for money."),
        ("Alice told of her ferry, and that her brother Joss took a life.", "Watch Joss."),
    ],
)
def test_what_happened_is_told_by_rules_to_whom_not_all_was_said(sleeps, experience, lesson):
    stored = sleeps([], experience=experience, lines=["ferry"], weight=0.9, lesson=lesson)
    assert not [each for each in stored if experience in each.content or lesson in each.the_lesson]


def test_a_day_that_was_whispered_is_on_no_agenda_for_others(mara, alice, sleeps):
    mara.memory.clock = lambda: "2027-01-02T18:00:00.000+00:00"
    alice.execute_cmd("say I leave for the coast soon.")
    alice.execute_cmd("whisper mara = I go to the coast on 17 February.")
    plan = {"text": "Alice plans to leave for the coast soon.", "kind": "plan", "about": "Alice"}
    sleeps([plan | {"lines": ["soon"], "date": "2027-02-17"}])
    assert not [
        each for each in mara.memory.agenda if each.due == "2027-02-17" and not each.private
    ]


def test_what_happened_rests_on_every_talk_that_it_tells_of(
    speaks_through, server, mara, alice, bram
):
    speaks_through(timeout=30)
    server.behave(text="So.")
    for who, when, line in (
        (alice, "18", "my sister keeps the ferry at Millbrook."),
        (bram, "22", "my dog Rufus drowned in the mill pond."),
    ):
        mara.memory.clock = lambda when=when: f"2027-01-02T{when}:00:00.000+00:00"
        who.execute_cmd(f"say Mara, {line}")
    said = "Alice spoke of her sister's ferry, and Bram's dog Rufus drowned."

    def answer(request):
        if not request.schema.endswith("DigestAnswer"):
            return "no idea"
        new, _known = numbered_in(request)
        lines = [n for n, line in new.items() if "ferry" in line or "Rufus" in line]
        scores = dict.fromkeys(new, 8)
        return json.dumps(digest(scores, [], experience=said, lines=lines, weight=0.9, lesson="."))

    server.behave(structured=answer)
    offload.wait(mara.assistant.sleep.whole_night())
    entries = {
        e.id for e in mara.memory.journal.read() if "Rufus" in e.content or "sister" in e.content
    }
    stored = memory_store.shared().list(mara.memory.id)
    [kept] = [each for each in stored if each.content == said]
    assert entries <= {*kept.journal_ids}


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
