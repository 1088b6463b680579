"""Questions as players type them of an NPC that was taught, and what is told of others' lines."""

import pytest
from talk_scene import MONDAY

from contrib_ai_memory import offload
from contrib_ai_memory.english import reported_speech
from contrib_ai_memory.offline.reported_lines import reported, without_name
from contrib_ai_memory.records import Entry

TAUGHT = (
    "If the gauge goes past the red mark, turn the red wheel to the left and open the door.",
    "If somebody faints in the heat, get them out of the water and send for Doctor Pell.",
    "The middle tub leaks and is closed until Ansel the plumber has mended it.",
    "A hot tub costs three pence an hour, and the cold plunge costs a penny.",
    "A towel is a penny to hire, and a cake of soap is a ha'penny.",
)
WHEEL, FAINT, TUB, PRICE, TOWEL = TAUGHT


@pytest.fixture
def keeper(says, mara, alice, builder):
    """`says` of Mara, keeper of baths; Alice is alone with her."""
    for note in TAUGHT:
        builder(f"@memory/add Mara = {note}")
    for each in mara.location.contents:
        if each.key == "Builder":
            each.location = None
    return says


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("is teh middle tub free i only got 20 min", TUB),
        ("is the midle tub opne", TUB),
        ("what do we do if sombody fainst?", FAINT),
    ],
)
def test_a_question_is_understood_however_it_is_typed(keeper, alice, question, answer):
    assert keeper(alice, question) == answer


@pytest.mark.parametrize(
    "said",
    [
        "ur water is lukewarm and so is ur face",
        "your water stinks and you stink worse",
        "you promise?",
    ],
)
def test_what_asks_for_no_knowledge_is_not_answered_with_any(keeper, alice, said):
    answer = keeper(alice, said)
    assert answer and answer not in TAUGHT and "know nothing" not in answer


def test_a_message_to_another_does_not_stand_before_an_answer(says, alice):
    says(alice, "my dog died last nite")
    says(alice, "tell bram i borrowd his comb lol")
    assert "your dog died" in says(alice, "do u rember what hapend to my dog")


@pytest.mark.parametrize("question", ["that's us square then?", "so that makes us quits?"])
def test_whether_all_is_paid_is_no_question_of_the_place(says, alice, question):
    assert "Lantern" not in says(alice, question)


@pytest.mark.parametrize(
    ("said", "to_its_speaker", "to_others"),
    [
        ("She saw me yesterday.", "she saw you yesterday.", "She saw Bram yesterday."),
        ("The dog found me first.", "the dog found you first.", "The dog found Bram first."),
        (
            "I suspect Nell robbed me",
            "you suspect Nell robbed you",
            "Bram suspects Nell robbed them",
        ),
        ("She gave me bread.", "she gave you bread.", "She gave Bram bread."),
        ("I let the dog near me.", "you let the dog near you.", "Bram let the dog near them."),
    ],
)
def test_what_is_said_of_me_is_told_of_whom_it_means(said, to_its_speaker, to_others):
    assert reported_speech.after_that(said) == to_its_speaker
    assert reported_speech.of_speaker(said, "Bram", to_teller=True) == to_others


def test_the_npcs_name_within_a_line_is_not_told(says, alice):
    says(alice, "i broke a tile mara im realy sorry")
    assert "mara" not in says(alice, "did i say sorry for that tile yet?").lower()
    assert without_name("My boots stay on, Mara, it is cold.", "Mara") == (
        "My boots stay on, it is cold."
    )


def test_a_note_quotes_what_is_said_to_the_npc():
    entry = Entry(1, MONDAY, "I ain't yer mam, Cole.", "say", seen_as="Bram")
    assert reported(entry.content, entry) == 'Bram says: "I ain\'t yer mam, Cole."'


DOG = "My dog is called Button. He bites tax collectors."


@pytest.fixture
def newcomer(says, mara, alice, builder):
    """Returns a function: what Mara, of whom a builder wrote two sentences, says to Alice."""
    builder("@memory/persona Mara = persona: ferrywoman at Reedy Crossing, dry, fond of eels")
    for note in (DOG, "The chapel is up the path behind the willows."):
        builder(f"@memory/add Mara = {note}")
    for each in mara.location.contents:
        if each.key == "Builder":
            each.location = None
    return lambda said: says(alice, said)


@pytest.mark.parametrize("question", ["who are you?", "what do you do here?"])
def test_a_persona_without_a_verb_says_what_it_is(newcomer, question):
    assert newcomer(question) == "I am Mara, ferrywoman at Reedy Crossing."


def test_what_a_newcomer_asks_first_is_not_mistaken(newcomer, mara):
    assert newcomer("is that your dog?") == DOG
    assert newcomer("what is this place?") == f"This is {mara.location.key}."
    assert "You are Alice." in newcomer("do you remember my name?")
    assert "enough" not in newcomer("whats the weather like?")
    assert "No harm" not in newcomer("oh no, im so sorry about your brother")
    assert newcomer("would you marry me? haha").startswith(("Ha!", "You and your tongue"))


def test_a_sentence_that_was_just_told_is_told_in_part(newcomer):
    assert newcomer("is that your dog?") == DOG
    assert newcomer("will he bite me?") == "He bites tax collectors."


def test_what_was_said_a_moment_ago_answers_nobody_elses_question(newcomer, says, bram, mara):
    bram.location = mara.location
    says(bram, "only eggs and a little thyme, alice")
    assert "eggs" not in newcomer("whats the king had for breakfast today")
    assert "eggs" in newcomer("what did bram say about eggs?")


def test_a_note_of_what_the_npc_thinks_of_another_leaves_that_one_his_thumb(says, alice, builder):
    builder("@memory/persona Mara = persona: She keeps the mill and weighs her own corn.")
    builder("@memory/add Mara = Mara thinks that Ada Crake is a cheat who weighs with her thumb.")
    assert "her thumb" in says(alice, "what do you think of Ada Crake?")


def test_a_pose_pays_whatever_stands_before_it(says, mara, alice):
    says(alice, "i owe you five pence")
    alice.execute_cmd("pose digs in her apron and lays five pence in Mara's hand.")
    offload.wait(mara.assistant.at_tick())
    own = [each.content for each in mara.memory.journal.read(1) if each.origin == "self"]
    assert "ive pence" in own[-1]
