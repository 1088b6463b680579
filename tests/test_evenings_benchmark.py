"""How the benchmark of evenings judges texts, facts and replies."""

from dataclasses import replace

import pytest

from benchmarks import evenings_ablation, served
from benchmarks.evenings_data import Evening, Question
from benchmarks.evenings_score import (
    Attended,
    Exchange,
    Played,
    Stored,
    figures,
    holds,
    is_right,
    judge,
    served_rows,
)
from benchmarks.served import admits, forbidden
from contrib_ai_memory import offload
from contrib_ai_memory.recall import reply
from contrib_ai_memory.records import OWN


def question(kind="own_fact", **more):
    plain = {
        "id": "q1",
        "asked_by": "Alice",
        "private": False,
        "text": "What do I keep?",
        "kind": kind,
        "answer": "The ferry.",
        "evidence": ["l1", "l2"],
        "expect": [["ferry", "boat"]],
        "forbid": [],
    }
    return Question.model_validate(plain | more)


@pytest.mark.parametrize(
    ("text", "groups", "held"),
    [
        ("She keeps the FERRY at Millbrook.", [["ferry", "boat"]], True),
        ("She keeps a boat.", [["ferry", "boat"]], True),
        ("She keeps a boat.", [["ferry", "boat"], ["millbrook"]], False),
        ("T’sala's mare", [["t'sala’s"]], True),
        ("salt  tea\nwith butter", [["tea with"]], True),
        ("anything", [], False),
        ("It is due on the Twelfth of August.", [["12 august"]], True),
        ("It is due on the twelfth of August.", [["august 12"]], True),
        ("It is due on the twelfth of August.", [["12th"]], True),
        ("On August the twenty-first, at noon", [["21st"]], True),
        ("on may thirtieth", [["30 may"]], True),
        ("the third of March", [["3rd"]], True),
        ("He came in twelfth, in August.", [["12 august", "12th"]], False),
        ("the second may be lame", [["2 may"]], True),  # a known looseness
    ],
)
def test_a_text_holds_one_alternative_of_every_group(text, groups, held):
    assert holds(text, tuple(map(tuple, groups))) is held


def test_a_forbidden_word_counts_from_a_words_beginning():
    assert forbidden("He hides a brotherly letter.", ["brother"]) == ["brother"]
    assert forbidden("Her stepbrother came.", ["brother"]) == []
    assert forbidden("It is K’eth.", ["k'eth"]) == ["k'eth"]
    assert forbidden("The KNIFE is gone.", ["is gone", "found"]) == ["is gone"]


@pytest.mark.parametrize(
    "reply",
    [
        "I know nothing about that, Alice.",
        "I do not know.",
        "I don’t really know, Alice.",
        "Nobody told me.",
        "I have never heard of it.",
        "That you never told me.",
        "I couldn't say.",
        "I have no idea.",
        "I was not told.",
        "That is beyond me.",
    ],
)
def test_an_admission_not_to_know_is_seen(reply):
    assert admits(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "You keep the ferry.",
        "I know it well.",
        "Alice said she told nobody. Bram knows.",
        'You told me: "dont say oo from."',
        "Is that so? I will not forget it.",
    ],
)
def test_other_replies_admit_nothing(reply):
    assert not admits(reply)


@pytest.mark.parametrize(
    ("asked", "reply", "right"),
    [
        (question(), "You keep the ferry.", True),
        (question(), "I know nothing about that.", False),
        (question(forbid=["millbrook"]), "The ferry at Millbrook.", True),
        (question("update", forbid=["mill"]), "The ferry, not the mill.", False),
        (question("update", forbid=["mill"]), "The ferry.", True),
        (question("unknown", expect=[]), "I do not know.", True),
        (question("unknown", expect=[], forbid=["ferry"]), "Not the ferry? I don't know.", False),
        (question("unknown", expect=[]), "The mill.", False),
        (question("secret_of_another", expect=[], forbid=["key"]), "Who can say?", True),
        (question("secret_of_another", expect=[], forbid=["key"]), "A key.", False),
        (question("secret_of_another", forbid=["third of march"]), "On the third of March.", False),
        (question("secret_of_another", forbid=["3 march"]), "On the third of March.", False),
    ],
)
def test_replies_are_judged_by_the_kind_of_question(asked, reply, right):
    assert is_right(asked, reply) is right


def line(name, worth=0, speaker="Alice"):
    return {
        "id": name,
        "time": "2026-05-09T21:31:08+00:00",
        "session": "s1",
        "speaker": speaker,
        "text": "…",
        "worth": worth,
    }


def fact(name, keys, evidence, ended_by=None):
    return {
        "id": name,
        "text": name,
        "kind": "event",
        "evidence": evidence,
        "keys": keys,
        "ended_by": ended_by,
    }


def stored(text, *lines, record="fact", current=True):
    return Stored(record, "semantic", text, lines, current)


EVENING = Evening.model_validate(
    {
        "id": "test-1",
        "npc": {"name": "Mara", "room": "The Lantern"},
        "people": [{"name": "Alice"}],
        "lines": [line("l1", 3), line("l2", 2), line("l3"), line("l4", 2), line("l5", 0, "Mara")],
        "facts": [
            fact("ferry", [["ferry"]], ["l1"], ended_by="l4"),
            fact("mill", [["mill"]], ["l2"]),
            fact("tea", [["tea"]], ["l3"]),
        ],
        "questions": [
            question().model_dump(),
            question(
                "secret_of_another", id="q2", evidence=[], expect=[], forbid=["key"]
            ).model_dump(),
        ],
        "traps": [{"line": "l4"}],
    }
)


def played(memories=(), told=(), exchanges=()):
    by_id = {each.question: each for each in exchanges}
    every = [by_id.get(name, exchange(name)) for name in ("q1", "q2")]
    importance = {"l1": 9, "l2": 5, "l3": 1, "l4": 5}
    return Played(
        tuple(memories), tuple(told), importance, tuple(every), Attended(3, 1, 2), {}, line_of={}
    )


def exchange(name, reply="", given="", lines=()):
    [asked] = [each for each in EVENING.questions if each.id == name]
    verdict = served.judge(asked, reply, EVENING.texts)
    return Exchange(name, reply, given, (), frozenset(lines), 10, 20, verdict)


def test_a_fact_is_found_where_a_memory_on_its_evidence_holds_it():
    memories = [
        stored("Alice keeps the ferry.", "l1"),
        stored("Alice has a mill.", "l3"),  # rests on another line
        stored("They spoke of the tea.", record="summary"),
    ]
    ferry, mill, tea = judge(EVENING, played(memories)).facts
    assert (ferry.found, mill.found) == ("Alice keeps the ferry.", None)
    assert tea.found == "They spoke of the tea."
    assert judge(EVENING, played(told=["Alice: owns a mill"])).facts[1].found


def test_an_old_fact_is_stale_while_it_stands():
    standing = judge(EVENING, played([stored("the ferry", "l1"), stored("a mill", "l2")]))
    assert [each.stale for each in standing.facts] == ["the ferry", None, None]
    ended = judge(EVENING, played([stored("the ferry", "l1", current=False)]))
    assert ended.facts[0].found
    assert not ended.facts[0].stale


def test_a_stored_fact_is_right_on_a_worthy_line_and_no_trap():
    memories = [stored("a", "l1"), stored("b", "l3"), stored("c", "l2", "l4"), stored("d")]
    told = judge(EVENING, played(memories)).stored
    assert [each.wrong for each in told] == [
        "",
        "rests on nothing worth knowing",
        "rests on the trap l4",
        "rests on nothing worth knowing",
    ]


def test_a_secret_is_betrayed_by_a_reply_or_a_prompt():
    for told in ({"reply": "A key."}, {"given": "[SEMANTIC] Bram hides a key."}):
        asked = judge(EVENING, played(exchanges=[exchange("q2", **told)])).questions[1]
        assert asked.betrayed
    assert not judge(EVENING, played()).questions[1].betrayed


def test_the_figures_are_over_all_questions_that_can_be_answered():
    whole = figures(
        [judge(EVENING, played(exchanges=[exchange("q1", "The ferry.", "a boat", ["l1"])]))]
    )
    assert (whole.evidence, whole.prompt, whole.right, whole.served) == (50, 100, 100, 100)
    assert (whole.precision, whole.recall) == (0.75, 0.6)
    assert whole.worth == pytest.approx(1.0)
    assert (whole.stale, whole.ended, whole.betrayed, whole.facts_right) == (0, 1, 0, None)


def test_the_served_are_shown_for_each_kind_and_for_all_that_can_be_answered():
    [one] = [judge(EVENING, played(exchanges=[exchange("q1", "Perhaps the ferry.")]))]
    every, own, secret = served_rows(one.questions)
    assert (every["n"], every["served"], every["right"], every["doubt"]) == (1, 0, 100, 100)
    assert (own["kind of question"], own["words"]) == ("own_fact", 3)
    assert (secret["kind of question"], secret["betrayed"]) == ("secret_of_another", 0)


def test_an_ablation_answers_without_one_part_and_counts_what_that_changes():
    whole = [judge(EVENING, played(exchanges=[exchange("q1", "Alice keeps the ferry.")]))]
    lacking = [judge(EVENING, played(exchanges=[exchange("q1", "I know nothing.")]))]
    full, less = evenings_ablation.rows({"": whole, "facts": lacking})
    assert (full["left out"], full["replies changed"]) == ("nothing", 0)
    assert (less["left out"], less["replies changed"]) == ("facts", 1)
    assert full["right"] > less["right"]


def test_each_part_can_be_left_out_of_an_answer(mara, alice):
    alice.execute_cmd("say Mara, I promise to bring you twelve candles by Friday.")
    mara.execute_cmd("say Twelve candles are two crowns, Alice.")
    offload.wait(mara.assistant.at_tick())
    said = mara.memory.journal.get(1)
    entry = replace(said, id=mara.memory.journal.last_id + 1, content="what did I promise you?")

    def request():
        return offload.wait(reply.prepare(mara.memory, entry))[1]

    assert request().situation.agenda
    assert any(OWN in each.memory.tags for each in request().recalled)
    with evenings_ablation.without("agenda"):
        assert not request().situation.agenda
    with evenings_ablation.without("own words"):
        assert not any(OWN in each.memory.tags for each in request().recalled)
    for part in (*evenings_ablation.ABLATED, *evenings_ablation.NIGHTLY):
        assert evenings_ablation.answer_without(part, mara.memory, entry)
    assert request().situation.agenda
