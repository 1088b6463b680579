"""The offline provider: how it tells things, without a model."""

import doctest

import pytest

from contrib_ai_memory.embedding import emotions
from contrib_ai_memory.llm import offline
from contrib_ai_memory.llm.offline import OfflineProvider
from contrib_ai_memory.records import Entry, MemoryRecord, Recalled, ReplyRequest, ScoreParts
from contrib_ai_memory.text import person

PARTS = ScoreParts(0.5, 0.5)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I keep the ferry.", "Alice keeps the ferry."),
        ("I carry water and I fish.", "Alice carries water and they fish."),
        ("I am tired.", "Alice is tired."),
        ("I'm tired and I was sick.", "Alice is tired and they were sick."),
        ("I've lost my cat.", "Alice has lost their cat."),
        ("I don't like him.", "Alice doesn't like him."),
        ("I never wash.", "Alice never washes."),
        ("I sold two oxen.", "Alice sold two oxen."),
        ("I can swim.", "Alice can swim."),
        ("My brother hates me.", "Alice's brother hates them."),
        ("I’ll go.", "Alice will go."),
    ],
)
def test_first_person_becomes_third(said, told):
    assert person.third_person(said, "Alice") == told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I am tired and my feet hurt me.", "you are tired and your feet hurt you."),
        ("I was there myself.", "you were there yourself."),
        ("I'd rather have mine.", "you'd rather have yours."),
    ],
)
def test_first_person_is_given_back_as_second(said, told):
    assert person.second_person(said) == told


def test_the_examples_in_the_docstrings_run():
    for module in (person, offline):
        assert doctest.testmod(module).failed == 0


def recalled(text, **more):
    memory = {"id": text, "content": text, "record": "entry", "key": f"Alice: {text}"} | more
    return Recalled(MemoryRecord(**memory), PARTS, 10)


def ask(question, *memories, speaker_id="#2"):
    request = ReplyRequest("Mara", "", "Bram", speaker_id, question, recalled=memories)
    return OfflineProvider().reply(request).text


FERRY = recalled("I keep the ferry at Millbrook.", speaker="Alice", about="#1")


def test_a_question_is_answered_with_the_words_of_whoever_told():
    assert ask("Who keeps the ferry?", FERRY) == 'Alice said: "I keep the ferry at Millbrook."'


def test_the_one_who_told_is_answered_in_the_second_person():
    answer = ask("Who keeps the ferry?", FERRY, speaker_id="#1")
    assert answer == "You told me that you keep the ferry at Millbrook."


def test_what_does_not_answer_the_question_is_not_told():
    assert ask("Where can I buy a sword?", FERRY) == "I know nothing about that, Bram."


def test_a_question_is_no_answer():
    asked = recalled("Who keeps the ferry?", speaker="Alice", question=True)
    assert "know nothing" in ask("Who keeps the ferry?", asked)


def test_a_request_to_be_told_is_no_answer_either():
    entry = Entry(1, "2026-01-01T00:00:00+00:00", "Mara, tell me about Alice's key.", "say")
    assert entry.is_question


def test_a_fact_and_the_entry_it_rests_on_are_told_once():
    entry = recalled("I keep the ferry.", speaker="Alice", about="#1", journal_ids=(4,))
    fact = recalled(
        "Alice keeps the ferry.",
        id="f",
        record="fact",
        key="",
        quote="I keep the ferry.",
        about="#1",
        journal_ids=(2, 4),
    )
    assert ask("Who keeps the ferry?", entry, fact, speaker_id="#1").count("ferry") == 1


def test_a_statement_is_acknowledged_and_always_in_the_same_way():
    assert ask("Wolves came.") == ask("Wolves came.")
    assert "know nothing" not in ask("Wolves came.")


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I keep the ferry at Millbrook.", ["Alice keeps the ferry at Millbrook."]),
        ("The bridge at Elmstead is broken.", ['Alice says: "The bridge at Elmstead is broken."']),
        ("Mara, wolves took two of my sheep.", ['Alice says: "Wolves took two of my sheep."']),
        ("Hello there! Where is the mayor of Elmstead?", []),
        ("You are the best cook in Millbrook, Mara.", []),
        ("Yes. No. Maybe so.", []),
        ("Mara, tell me about Alice's silver key.", []),
        ("Please remind us where the old mill of Elmstead stood.", []),
    ],
)
def test_facts_are_claims_and_never_about_the_npc(text, facts):
    entry = Entry(1, "2026-01-01T00:00:00+00:00", text, "say", seen_as="Alice")
    drafts = OfflineProvider().extract_facts([entry], "Mara")
    assert [draft.text for draft in drafts] == facts


# written for this test; the three nearest labels are asked, as an experience has three
FELT = [
    ("We won the fair! I could dance all night!", {"ecstasy", "joy"}),
    ("They buried my mother this morning.", {"grief", "sadness"}),
    ("There is something in the cellar, I dare not go down.", {"fear", "terror", "apprehension"}),
    ("That thief! I'll break his neck!", {"rage", "anger", "loathing"}),
    ("The meat was crawling with maggots, ugh.", {"disgust", "loathing"}),
    ("I can't wait for the harvest feast tomorrow!", {"anticipation", "joy", "interest"}),
    ("A dragon? Here? By the gods, look at that!", {"amazement", "surprise", "terror"}),
    ("You have never let me down, old friend.", {"trust", "admiration"}),
]


def test_emotions_are_three_labels_of_the_taxonomy_and_mostly_right(db, store_folder):
    found = emotions.classify([text for text, _ in FELT])
    assert all(len(set(labels)) == 3 and set(labels) <= emotions.EMOTIONS for labels in found)
    right = sum(bool(set(labels) & felt) for labels, (_, felt) in zip(found, FELT, strict=True))
    assert right >= 6


def test_labels_of_a_model_are_checked():
    assert emotions.validated(["Joy", "trust", "fear", "rage"]) == ("joy", "trust", "fear")
    assert emotions.validated(["joy", "joy", "trust"]) == ()
    assert emotions.validated(["joy", "happiness", "trust"]) == ()
    assert emotions.validated("joy") == ()
    assert len(emotions.EMOTIONS) == 24
