"""How the benchmark of stays judges replies, and how it plays a stay."""

import json
import random
from functools import cache
from itertools import pairwise
from statistics import fmean

import pytest

from benchmarks import stays
from benchmarks.evenings_data import (
    TWO_TURNS,
    Ideal,
    Question,
    Stay,
    files,
    load,
    stay_files,
)
from benchmarks.evenings_play import Playing
from benchmarks.evenings_score import Reaction
from benchmarks.served import first_and_best, judge, plain, touched, units

KINDS = {  # of questions, with their least number in a stay
    "builder": 10,
    "self": 6,
    "own_fact": 5,
    "third_party": 5,
    "update": 5,
    "agenda": 4,
    "when": 3,
    "event": 3,
    "unknown": 5,
    "secret_owner": 2,
    "secret_of_another": 2,
}


@cache
def our_stays():
    return [load(file) for file in stay_files()]


def question(kind="own_fact", **more):
    plain = {
        "id": "q1",
        "asked_by": "Alice",
        "private": False,
        "text": "What do I keep?",
        "kind": kind,
        "answer": "The ferry at Millbrook.",
        "evidence": ["l1"],
        "expect": [["ferry"]],
        "forbid": [],
    }
    return Question.model_validate(plain | more)


TEXTS = {
    "l1": "I keep the ferry at Millbrook, me and my brother.",
    "l2": "The miller drowned his grey cat in the weir last winter.",
}


# --- the judge ------------------------------------------------------------------------------------


def shares(pairs):
    """How many of some replies serve, in percent."""
    return 100 * fmean(judge(asked, reply, texts).served for asked, reply, texts in pairs)


def answerable(evenings):
    for each in evenings:
        texts = each.texts
        for asked in each.questions:
            if asked.answer:
                yield each, asked, texts


def test_an_ideal_answer_serves_always():
    every = [*our_stays(), *map(load, files())]
    assert shares((q, q.answer, texts) for _each, q, texts in answerable(every)) == 100


def test_a_line_in_the_npcs_voice_beside_the_ideal_answer_does_little_harm():
    voiced = [
        (q, f"{q.answer} {line}", texts)
        for stay, q, texts in answerable(our_stays())
        for line in stay.npc.voice.lines
    ]
    assert 94 <= shares(voiced) <= 100


def test_a_memory_that_has_nothing_to_do_with_it_spoils_an_ideal_answer():
    dice = random.Random(1)
    ballast = [
        (q, f"{q.answer} {dice.choice([*texts.values()])}", texts)
        for _each, q, texts in answerable([*our_stays(), *map(load, files())])
    ]
    assert 8 <= shares(ballast) <= 30


def test_everything_that_was_heard_serves_nobody():
    joined = [(q, "; ".join(texts.values()), texts) for _stay, q, texts in answerable(our_stays())]
    assert shares(joined) == 0


def test_a_memory_at_random_serves_hardly_anybody():
    dice = random.Random(1)
    alone = [
        (q, dice.choice([*texts.values()]), texts)
        for _each, q, texts in answerable([*our_stays(), *map(load, files())])
    ]
    assert shares(alone) <= 2


@pytest.mark.parametrize("reply", ["Beats me.", "No one's told me.", "I don't know. Ask Korv."])
def test_an_admission_serves_where_nothing_is_known(reply):
    assert judge(question("unknown", answer=None, expect=[], evidence=[]), reply, TEXTS).served


def test_a_told_memory_beside_the_answer_is_beside_the_point():
    verdict = judge(question(), "The ferry. The miller drowned his grey cat in the weir.", TEXTS)
    assert verdict.right and not verdict.served
    assert verdict.beside == ("The miller drowned his grey cat in the weir.",)


def test_some_words_of_courtesy_are_free_and_a_speech_is_not():
    assert judge(question(), "Why, the ferry, Alice. Mind the step.", TEXTS).served
    speech = "I am so very glad that you came by, since it has been so dreadfully quiet all day."
    assert not judge(question(), f"The ferry. {speech}", TEXTS).served


def test_a_doubt_before_the_answer_does_not_serve():
    verdict = judge(question(), "I am not sure. The ferry?", TEXTS)
    assert verdict.right and verdict.doubt and not verdict.served


def test_what_is_over_may_be_named_as_over():
    asked = question("update", forbid=["mill"])
    assert judge(asked, "The ferry, not the mill.", TEXTS).served
    assert not judge(asked, "The mill and the ferry.", TEXTS).right


def test_the_opinion_of_an_npc_is_no_doubt_and_a_later_one_spoils_no_answer():
    texts = {"b1": "Mara thinks the kings ruined pepper when they taxed it."}
    asked = question("builder", answer="They ruined pepper.", evidence=["b1"], expect=[["pepper"]])
    assert judge(asked, "I think they ruined pepper.", texts).served
    assert judge(asked, "I believe they ruined pepper.", texts).doubt
    assert not judge(question(), "The ferry. The oars too, I suppose.", TEXTS).doubt
    assert judge(question(), "The ferry, I suppose.", TEXTS).doubt


def test_the_evidence_told_word_for_word_is_no_wrong_answer():
    texts = {"b1": "A jar of honey is seven pips, or five if you bring the empty one back."}
    asked = question(
        "builder", answer="Five.", evidence=["b1"], expect=[["five"]], forbid=["seven pips"]
    )
    assert judge(asked, f"It is so: {texts['b1']}", texts).served
    assert not judge(asked, "Five pips. No, seven pips.", texts).right


def test_the_baseline_is_the_first_of_the_sentences_that_were_recalled():
    piece = (
        "# Millbrook\nThe village lies in a bend of the river, behind two rows of old willows. "
        "Its people grow flax and hops, and they quarrel about the water. Alice has the ferry."
    )
    assert [*units([piece])][-1] == "Alice has the ferry."
    assert first_and_best(question(), [TEXTS["l2"], TEXTS["l1"]], TEXTS) == (False, True)
    assert first_and_best(question(), [TEXTS["l1"]], TEXTS) == (True, True)
    assert first_and_best(question(), [], TEXTS) == (False, False)


def test_a_reaction_is_touched_if_it_takes_up_the_matter_and_is_no_echo():
    ideal = Ideal.model_validate(
        {"say": "Salt is on the hook.", "react": "answer", "touch": [["salt"]], "not": ["egg"]}
    )
    line = "a leech fell in my boot"
    assert touched(line, "There is salt for that.", ideal)
    assert not touched(line, "I will not forget that.", ideal)
    assert not touched(line, "Salt and an egg.", ideal)
    assert not touched(line, "A leech fell in my boot.", ideal)


def reaction(reply, wanted=True):
    return Reaction("l1", "Alice", "…", wanted, reply, touched=False)


def test_an_acknowledgement_that_is_heard_again_is_counted_whoever_it_is_for():
    twice = [reaction("I will not forget that, Alice."), reaction("I will not forget that, Bram.")]
    names = ("Alice", "Bram")
    assert stays.repeats(twice, names) == 1
    silence = [reaction("")] * 10
    assert stays.repeats([twice[0], *silence, twice[1]], names) == 0
    assert stays.repeats([reaction("Yes?"), reaction("No.")], names) == 0


def test_two_lines_in_a_row_may_share_a_reply_and_two_of_two_people_may_not():
    stay = next(each for each in our_stays() if each.id == "theatre-1")
    lines = {each.id: each for each in stay.lines}

    def answered(asked, unanswered):
        reactions = [
            Reaction(line.id, line.speaker, line.text, True, reply, touched=bool(reply))
            for line, reply in ((lines[asked], "I will tell him."), (lines[unanswered], ""))
        ]
        return stays.live_row("one", [(stay, reactions)])["answered"]

    assert answered("s1.27", "s1.28") == 100
    assert answered("s1.28", "s1.29") == 50


# --- the data -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stay", our_stays(), ids=lambda stay: stay.id)
def test_a_stay_is_whole(stay):
    people = {each.name for each in stay.people}
    assert all((stay.npc.desc, stay.npc.persona, stay.npc.voice, stay.npc.goals, stay.npc.room))
    how = [each.how for each in stay.builder]
    assert how.count("add") >= 6 and how.count("teach") >= 2
    assert len(stay.texts) == len(stay.lines) + len(stay.builder)
    assert all(one.time <= other.time for one, other in pairwise(stay.lines))
    for line in stay.lines:
        assert line.speaker in {*people, stay.npc.name}
        assert (line.npc_answers is True) is (line.reply is not None)
        if line.reply:
            said = plain(line.reply.say)
            assert all(any(plain(each) in said for each in group) for group in line.reply.touch)
            assert not any(plain(each) in said for each in line.reply.avoid)
    kinds = [each.kind for each in stay.questions]
    assert all(kinds.count(kind) >= least for kind, least in KINDS.items())
    assert {*kinds} == {*KINDS}


@pytest.mark.parametrize("stay", our_stays(), ids=lambda stay: stay.id)
def test_every_question_of_a_stay_can_be_judged(stay):
    people = {each.name for each in stay.people}
    ids = [each.id for each in stay.every_question]
    assert len({*ids}) == len(ids)
    for each in stay.every_question:
        assert each.asked_by in people
        assert each.evidence <= {*stay.texts, "persona"}
        if each.kind in ("unknown", "secret_of_another"):
            assert each.answer is None
        else:
            assert judge(each, each.answer, stay.texts).served


def test_the_questions_in_two_turns_are_of_our_stays():
    written = json.loads(TWO_TURNS.read_text(encoding="utf-8"))
    assert {*written} <= {stay.id for stay in our_stays()}
    turns = [each for stay in our_stays() for each in stay.turns]
    assert len(turns) == sum(map(len, written.values())) >= 10
    assert all(each.before for each in turns)


# --- playing --------------------------------------------------------------------------------------


def say(number, speaker, text, session="s1", **more):
    day = {"s1": 12, "s2": 14}[session]
    return {
        "id": f"{session}.{number}",
        "time": f"2026-10-{day}T18:{30 + number}:00+00:00",
        "session": session,
        "speaker": speaker,
        "kind": "say",
        "to": None,
        "text": text,
        "addressee": None,
        "npc_answers": None if speaker == "Mara" else False,
    } | more


IDEAL = {"say": "Three silver.", "react": "answer", "touch": [["three"]], "not": []}
SMALL = {
    "id": "small-1",
    "npc": {
        "name": "Mara",
        "aliases": ["keeper"],
        "desc": "A tall woman with a grey plait.",
        "persona": "Mara keeps the Drowned Lantern.",
        "voice": {"manner": "Short and dry.", "lines": ["Sit."]},
        "goals": "To keep the roof on.",
        "room": "The Drowned Lantern",
    },
    "builder": [
        {"id": "b1", "how": "add", "text": "A bunk costs three silver a night = the rule."},
        {
            "id": "b2",
            "how": "teach",
            "title": "The Lantern",
            "text": "The Drowned Lantern stands on forty oak piles.\n\nOld Tamsin built it.",
        },
    ],
    "people": [{"name": "Alice"}, {"name": "Bram"}, {"name": "Tiv", "npc": True}],
    "lines": [
        say(0, "Alice", "comes in.", kind="arrive", npc_answers=None),
        say(1, "Alice", "Mara, what does a bunk cost?", to="Mara", npc_answers=True, reply=IDEAL),
        say(2, "Mara", "Three silver.", to="Alice"),
        say(3, "Bram", "Alice, I sold my boat to the miller."),
        say(4, "Tiv", "Bram, the tide is out."),
        say(1, "Alice", "I keep the ferry at Millbrook now.", session="s2", to="Mara"),
    ],
    "facts": [
        {
            "id": "f1",
            "text": "Alice keeps the ferry.",
            "about": "Alice",
            "kind": "occupation",
            "evidence": ["s2.1"],
            "keys": [["ferry"]],
        }
    ],
    "questions": [
        question(
            "builder",
            text="What does a bunk cost, Mara?",
            answer="Three silver.",
            evidence=["b1"],
            expect=[["three"]],
        ).model_dump(mode="json"),
        question(id="q2", evidence=["s2.1"]).model_dump(mode="json"),
        question(
            "secret_owner", id="q3", private=True, text="Where do I keep it?", evidence=["s2.1"]
        ).model_dump(mode="json"),
    ],
    "traps": [],
}


@pytest.fixture
def small(tmp_path, db, store_folder):
    """A file with a small stay, in a game with a store of its own."""
    file = tmp_path / "small-1.json"
    file.write_text(json.dumps(SMALL))
    return file


@pytest.mark.slow
def test_a_stay_is_played_by_the_roads_of_its_users(small):
    stay = load(small)
    assert isinstance(stay, Stay)
    turn = question("builder", id="t1", before=["What does a bunk cost?"], text="And who built it?")
    playing = Playing(stay.model_copy(update={"turns": (turn,)}))
    played = playing.whole(small, ())

    contents = [each.content for each in playing._memories()]
    assert "A bunk costs three silver a night = the rule." in contents
    assert any("forty oak piles" in each for each in contents)
    npc = playing.npc
    assert npc.get_persona() == "Mara keeps the Drowned Lantern."
    assert (npc.db.desc, npc.db.voice) == (
        "A tall woman with a grey plait.",
        "Short and dry.\nSit.",
    )
    assert npc.is_named("keeper, a bunk")

    builder, own, whispered, turn = played.exchanges
    assert "three" in builder.reply.lower()
    assert builder.verdict == judge(stay.questions[0], builder.reply, stay.texts)
    assert builder.best
    assert "ferry" in own.reply.lower()
    assert builder.greeting == own.greeting != ""  # each visit begins anew
    assert builder.greeting not in builder.reply
    assert whispered.reply and turn.reply
    lived = {line.id for line in stay.lines if line.kind != "arrive"}
    assert {each.ref for each in npc.memory.journal.read() if each.ref} >= lived  # as it was

    judged = stays.judge_stay(stay, played)
    assert [each.id for each in judged.questions] == ["q1", "q2", "q3"]
    [greeted] = judged.greetings
    assert (greeted.who, greeted.due) == ("Alice", False)


@pytest.mark.slow
def test_a_stay_is_answered_live_by_the_npc_itself(small):
    playing = Playing(load(small))
    reactions = {each.line: each for each in playing.live()}
    assert [*reactions] == ["s1.1", "s1.3", "s1.4", "s2.1"]
    assert reactions["s1.1"].touched
    assert reactions["s1.3"].reply == reactions["s1.4"].reply == ""
    own = [each for each in playing.npc.memory.journal.read() if each.origin == "self"]
    assert reactions["s1.1"].reply in {each.content for each in own}
    assert all(each.content != "Three silver." for each in own)  # its recorded line is left out
    times = {each.content: each.timestamp for each in playing.npc.memory.journal.read()}
    assert times["Alice, I sold my boat to the miller."].startswith("2026-10-12T18:33")

    row = stays.live_row("small-1", [(load(small), [*reactions.values()])])
    assert (row["asking"], row["answered"], row["touched of asking"]) == (1, 100, 100)
    assert (row["others"], row["same again"]) == (3, 0)
