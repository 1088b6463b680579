"""What is told to a few stays with them: whispers to several, and what is confided aloud."""

import pytest
from evennia.utils.create import create_object

from contrib_ai_memory import npc, offload
from contrib_ai_memory.english.addressing import confides, hushes


@pytest.fixture
def cerys(tavern):
    return create_object("typeclasses.characters.Character", key="Cerys", location=tavern)


def ids(npc, *people):
    return {npc.get_memory_identity(who) for who in people}


def heard(npc):
    return [e for e in npc.memory.journal.read() if e.origin == "perceived"]


def test_a_whisper_to_several_is_known_to_all_of_them(mara, alice, bram, cerys):
    alice.execute_cmd("whisper Mara, Bram = I hide a silver key under the third step.")
    [entry] = heard(mara)
    assert entry.private
    assert set(entry.witnesses) == ids(mara, alice, bram)


def test_a_whisper_to_several_is_told_again_to_each_of_them_and_to_nobody_else(
    mara, alice, bram, cerys, hears
):
    alice.execute_cmd("whisper Bram, Mara = I hide a silver key under the third step.")
    brams, ceryss = hears(bram), hears(cerys)
    bram.execute_cmd("whisper Mara = Where is the silver key?")
    assert any("third step" in line for line in brams)
    cerys.execute_cmd("whisper Mara = Where is the silver key?")
    assert not any("third step" in line for line in ceryss)


def test_a_whisper_to_one_is_known_to_nobody_else(mara, alice, bram):
    alice.execute_cmd("whisper Mara, Bram = Good evening.")
    alice.execute_cmd("whisper Mara = I hide a silver key.")
    assert set(heard(mara)[-1].witnesses) == ids(mara, alice)
    assert npc.receivers(alice) == ()


def test_a_whisper_to_several_that_calls_another_of_them_is_not_answered(mara, alice, bram):
    alice.execute_cmd("whisper Mara, Bram = Bram, wait outside.")
    alice.execute_cmd("whisper Mara = Bram is a fool.")
    answers = [e for e in mara.memory.journal.read() if e.origin == "self"]
    assert len(answers) == 1


def test_what_somebody_whispers_through_the_npc_is_known_to_whoever_it_was_whispered_to(
    mara, alice, bram, cerys
):
    mara.execute_cmd("whisper Alice, Bram = Come at midnight.")
    [entry] = [e for e in mara.memory.journal.read() if e.kind == "whisper"]
    assert entry.private and set(entry.witnesses) == ids(mara, alice, bram)


@pytest.mark.parametrize(
    "line",
    [
        "Mara, don't tell anyone: I hide a silver key under the third step.",
        "Mara, between you and me, I hide a silver key under the third step.",
        "Mara, I hide a silver key under the third step. Keep it to yourself!",
    ],
)
def test_what_is_confided_aloud_is_for_those_present_only(mara, alice, bram, cerys, hears, line):
    cerys.location = None
    alice.execute_cmd(f"say {line}")
    entry = heard(mara)[0]
    assert entry.private
    assert set(entry.witnesses) == ids(mara, alice, bram)
    cerys.move_to(mara.location, quiet=True)
    ceryss, brams = hears(cerys), hears(bram)
    cerys.execute_cmd("say Mara, where is the silver key under the step?")
    bram.execute_cmd("whisper Mara = Where is the silver key of Alice?")
    assert not any("third step" in line for line in ceryss)
    assert any("third step" in line for line in brams)


@pytest.mark.parametrize(
    "line",
    [
        "dont tell anybody but im dunstan",
        "Don’t breathe a word of this to anyone.",
        "you can NOT tell anyone. i signed",
        "im selling the orchard. not a word to the girl",
        "It stays between us.",
        "This is our little secret.",
        "You didn't hear it from me.",
        "Promise me you won't tell.",
        "Nobody else must know.",
        "In confidence: I mean to leave.",
        "dont tell the prior lol",
        "dont tell szymon EVER",
        "Don't tell Bram, but I mean to leave.",
        "can you forget i told you that",
        "Pretend I never said it.",
    ],
)
def test_a_confidence_is_known_by_how_people_ask_for_it(line):
    assert confides(line)


@pytest.mark.parametrize(
    "line",
    [
        "I don't tell anyone my age.",
        "Why don't you tell anyone?",
        "He said not a word.",
        "The bridge between us and the town is gone.",
        "Tell everybody.",
        "Don't tell me you forgot.",
        "They keep to themselves.",
        "Is there a secret door?",
        "I forget what I said.",
        "Don't forget what I told you.",
        "Did you forget what I said?",
        "Don't tell me lies, don't tell lies.",
    ],
)
def test_talk_of_secrets_is_no_confidence(line):
    assert not confides(line)


def test_what_is_confided_in_a_pose_is_for_those_present_only(mara, alice, bram, cerys, hears):
    cerys.location = None
    alice.execute_cmd(
        'pose leans close. "Don\'t tell anyone: I hide a silver key under the third step."'
    )
    [entry] = [e for e in heard(mara) if e.kind == "pose"]
    assert entry.private
    assert set(entry.witnesses) == ids(mara, alice, bram)
    cerys.move_to(mara.location, quiet=True)
    ceryss, brams = hears(cerys), hears(bram)
    cerys.execute_cmd("say Mara, where is the silver key under the step?")
    bram.execute_cmd("whisper Mara = Where is the silver key of Alice?")
    assert not any("third step" in line for line in ceryss)
    assert any("third step" in line for line in brams)


@pytest.mark.parametrize(
    ("line", "tells"),
    [
        ("forget what i said about the sheriff", False),
        ("keep it to yourself pls", False),
        ("Please don't tell anyone about it.", False),
        ("dont tell corin about the sheriff", False),
        ("don't tell anyone but i stole the weathercock", True),
        ("keep the change", True),
    ],
)
def test_a_mere_request_to_keep_quiet_tells_nothing(line, tells):
    assert hushes(line) is not tells


@pytest.mark.parametrize("night", [False, True])
def test_a_request_to_forget_is_promised_and_told_to_nobody(mara, alice, bram, hears, night):
    alice.execute_cmd("whisper Mara = The sheriff pays me 5 gold to spy on Bram.")
    bram.location = None
    alices = hears(alice)
    alice.execute_cmd("say forget what i said about the sheriff")
    offload.wait(mara.assistant.at_tick())
    assert any("stays with me" in line or "from me" in line for line in alices)
    asked = heard(mara)[-1]
    assert asked.private and asked.is_question
    if night:
        offload.wait(mara.assistant.sleep.whole_night())
    alice.location, bram.location = None, mara.location
    brams = hears(bram)
    for question in ("what did Alice say about the sheriff?", "what do you know about Alice?"):
        bram.execute_cmd(f"say Mara, {question}")
        offload.wait(mara.assistant.at_tick())
    assert brams and not any("sheriff" in line.lower() for line in brams if "Mara" in line[:4])
    bram.location, alice.location = None, mara.location
    alices.clear()
    alice.execute_cmd("say what do you know about me?")
    offload.wait(mara.assistant.at_tick())
    assert alices and not any("orget what" in line for line in alices)


@pytest.mark.parametrize(
    "said",
    [
        "ok but dont tell any1 k?? teh harbour troupe wrote me, they want me",
        "We are alone, I think. Please repeat this to no one. I was never sent.",
        "listen while theres nobody here. i cant do heights, dont tell them",
    ],
)
def test_players_have_wordings_of_their_own_for_a_confidence(said):
    assert confides(said)


@pytest.mark.parametrize(
    "said",
    [
        "I forged the will, dont let nobody ever find out",
        "I killed Rolf. Don't let anyone at the inn hear of it.",
        "I am wanted in Hull, never let anyone here know it",
        "its a secret what's in the box, dont let anyone open it",
    ],
)
def test_who_is_to_let_nobody_know_it_is_told_in_confidence(said):
    assert confides(said)


@pytest.mark.parametrize(
    "said",
    [
        "tell bram theres no hurry about the oars",
        "I keep the ferry at Millbrook, and nobody else may.",
        "if tib asks can u tell him i took his green boots 2 hoskins the cobbler",
        "did anyone tell you that the mill burned down?",
        "",
    ],
)
def test_what_is_to_be_passed_on_or_asked_is_none(said):
    assert not confides(said)


def test_a_confidence_that_ends_in_question_marks_is_answered_as_one(says, alice):
    said = says(alice, "ok but dont tell any1 k?? i painted the reeves pig blue")
    assert "stays with me" in said or "from me" in said


@pytest.mark.django_db
@pytest.mark.parametrize(
    "asked",
    [
        "what did i ask you to keep to yourself?",
        "what was it i told you in confidence?",
        "do you recall what i whispered to you?",
    ],
)
def test_what_was_said_in_confidence_is_told_to_whoever_said_it_and_asks(says, alice, asked):
    says(alice, "mara = keep this to yourself, i cant swim. not a stroke.", "whisper ")
    says(alice, "would you tell Bram that his boots are mended?")
    says(alice, "i keep bees behind the chapel, forty hives of them.")
    assert "swim" in says(alice, f"mara = {asked}", "whisper ")
