"""What asks, with a question mark and without: it is never learned, and never an answer."""

import json
import re
from pathlib import Path

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.english.questions import asked, asks

EVENINGS = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "evenings"

ASKS = [
    "do i own a mill",
    "who was here yesterday",
    "where did i put my key",
    "what is my horse called",
    "whos lund",
    "how long u been here",
    "how many crowns did you pay",
    "mara do i own a mill",
    "captain haldane did you see my horse",
    "so, who won",
    "Do I own a mill",
    "does he sing",
    "is there any of that cheese",
    "is my boat still here",
    "are the wolves back",
    "can i have your boots",
    "have you seen my dog",
    "you are the smith, aren't you",
    "you sell eels, do you",
    "this isnt from january is it",
    "if i sold it would you help me, and what would you pay",
    "any news from Millbrook",
    "got any eels",
    "anyone want a pickled eel",
    "what about the mill",
    "why you two always fight",
    "when you coming back",
    "tell me of the bridge",
    "i wonder who stole it",
    "I own a mill?",
    "I had it yesterday. where did i put my key",
    "what i did give you to keep",
    "with who does Cal marry",
    "when zoe sing at the deck",
    "on what day was i last in here",
    "this woman whose mill is dry, where is her husband",
    "the one of us who owes, which bed he has now",
    "if the bell rings what do you do",
]

STATES = [
    "do the dishes before dusk",
    "have a seat",
    "have it your way",
    "who knows.",
    "what a day!",
    "when I was young I lived in Millbrook",
    "what I need is a new oar",
    "what you need is a drink",
    "so do I",
    "and so will we",
    "neither can he",
    "never have I seen such a storm",
    "only then did he pay",
    "had I known, I would have come",
    "were I prior here, there would be wine",
    "don't you dare",
    "i know who stole the chalice",
    "i know where it is",
    "he did it",
    "nature has that effect on me too",
    "the ale is that good",
    "any fool can see that",
    "anyway, the bridge is down",
    "was a good day",
    "Liora, who is my sister, keeps bees",
    "that's how it is",
    "the smith pays on friday",
    "I keep the ferry at Millbrook.",
    "I am proud of what you did",
    "",
]


@pytest.mark.parametrize("text", ASKS)
def test_it_asks(text):
    assert asks(text)


@pytest.mark.parametrize("text", STATES)
def test_it_states(text):
    assert not asked(text)


@pytest.mark.skipif(not EVENINGS.is_dir(), reason="the evenings are not here")
def test_questions_of_labelled_evenings_are_found_without_their_marks():
    found = wrong = missed = 0
    for file in sorted(EVENINGS.glob("*.json")):
        for line in json.loads(file.read_text())["lines"]:
            if line["kind"] not in ("say", "whisper"):
                continue
            bare = re.sub(r"\?+", ".", re.sub(r"[?!]*\?[?!]*(?=\s*\W*$)", "", line["text"].lower()))
            judged, labelled = asked(bare) > 0, "question" in line["kinds"]
            found += judged and labelled
            wrong += judged and not labelled
            missed += labelled and not judged
    # the rest are declarative or of one word ("fresh", "truck still coughing"), and questions that
    # are labelled as what else the line is ("evenin marit ye wee miracle whats in the pot")
    assert found / (found + wrong) > 0.7
    assert found / (found + missed) > 0.5


# --- as it is played ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("do i own a mill in Elmstead", "mill"),
        ("where did i put my silver key yesterday", "key"),
        ("who stole the golden chalice of Elmstead", "chalice"),
        ("you stole the golden chalice of Elmstead, right", "chalice"),
    ],
)
def test_a_question_without_its_mark_is_no_fact_and_no_answer(
    mara, alice, bram, builder, hears, typed, told
):
    alice.execute_cmd(f"say {typed}")
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    builder("@sleep/now mara")
    facts = builder("@memory/facts mara")
    assert "Alice keeps the ferry at Millbrook." in facts
    assert told not in facts
    experiences = builder("@memory/search mara = Elmstead and my silver key")
    assert "Alice says" not in experiences
    heard = hears(alice)
    alice.execute_cmd(f"whisper Mara = {typed}")
    [answer] = [line for line in heard if line.startswith("Mara whispers")]
    assert told not in answer


@pytest.mark.parametrize(
    "typed",
    [
        "when I was young I lived in Millbrook with my uncle Tom.",
        "Where I come from the ferry at Millbrook is free on Fridays.",
    ],
)
def test_a_statement_that_begins_like_a_question_is_a_fact(mara, alice, bram, builder, typed):
    alice.execute_cmd(f"say {typed}")
    builder("@sleep/now mara")
    assert "Millbrook" in builder("@memory/facts mara")


def test_to_ask_what_one_likes_changes_no_preference(mara, alice, bram, builder):
    alice.execute_cmd("say I love smoked eel.")
    alice.execute_cmd("say do i hate smoked eel")
    alice.execute_cmd("say mara do I love boiled leeks")
    offload.wait(mara.memory.work_through(until_silent=True))
    identity = mara.get_memory_identity(alice)
    assert [each.text for each in mara.memory.preferences if each.identity == identity] == [
        "I love smoked eel."
    ]


def test_a_question_is_answered_with_a_mark_and_without(mara, alice, bram, hears, builder):
    bram.execute_cmd("say I keep the ferry at Millbrook.")
    heard = hears(alice)
    alice.execute_cmd("say Mara, is there a ferry at Millbrook")
    assert any("Bram keeps the ferry at Millbrook" in line for line in heard if "Mara" in line)


@pytest.mark.parametrize(
    "line", ["mara what is the bridge", "hey mara where is the well", "MARA WHATS THE BRIDGE"]
)
def test_a_question_behind_her_bare_name_is_neither_promised_to_be_kept_nor_a_fact(
    mara, alice, builder, hears, line
):
    heard = hears(alice)
    alice.execute_cmd(f"say {line}")
    assert any(entry.is_question for entry in mara.memory.journal.tail(3))
    said = " ".join(text for text in heard if "Mara" in text)
    assert "remember" not in said
    assert "keep that in mind" not in said
    assert "not forget" not in said
    builder("@sleep/now mara")
    assert "knows no facts yet" in builder("@memory/facts mara")
