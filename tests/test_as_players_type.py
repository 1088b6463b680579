"""Lines as players type them, in the order of an evening, and what they hear without a model."""

import pytest
from evennia.utils.create import create_object

from contrib_ai_memory import offload

MONDAY = "2026-11-23T12:00:00+00:00"


@pytest.fixture
def says(mara, alice, bram):
    """says(alice, "who is here?") gives what Mara answers, "" for nothing."""
    mara.memory.clock = lambda: MONDAY
    bram.location = None

    def say(who, words, command="say "):
        before = len(mara.memory.journal)
        who.execute_cmd(f"{command}mara, {words}" if command == "say " else f"{command}{words}")
        offload.wait(mara.assistant.at_tick())
        own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
        mara.assistant.nattributes.clear()  # whoever asks is answered at once
        return own[-1].content if own else ""

    return say


def turn(alice, bram):
    """Bram comes in for Alice."""
    bram.location, alice.location = alice.location, None


# --- confidences and messages ---------------------------------------------------------------------


def test_who_is_not_to_be_told_is_not_told(says, alice, bram):
    says(alice, "dont tell bram ive been asking about his boat ok")
    assert "boat" in says(alice, "what have i been asking about?")
    turn(alice, bram)
    assert "boat" not in says(bram, "has alice been asking about me?")
    assert "boat" not in says(bram, "what do you know about alice?")


def test_a_message_is_for_the_last_who_was_named(says, alice, bram):
    says(alice, "if nell is out when bram comes by, tell him the key is under the mat")
    turn(alice, bram)
    assert "under the mat" in says(bram, "any messages for me?")


def test_a_message_for_whoever_comes_by_reaches_them(says, alice, bram):
    says(alice, "if bram comes by tell him his left goose is limping")
    turn(alice, bram)
    assert "goose is limping" in says(bram, "anyone leave me a message?")


def test_what_was_whispered_is_nobody_elses(says, alice, bram):
    says(alice, "Mara = i buried forty crowns under the pear tree", command="whisper ")
    turn(alice, bram)
    answer = says(bram, "what did alice whisper to you?")
    assert answer == "What is told to me in confidence stays with me, Bram."


# --- corrections ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "then", "question", "holds", "lacks"),
    [
        (
            "ive got a ferret called Thunder, she rides in my coat pocket",
            "oh wait i told you wrong, my ferret is called Lightning, not Thunder",
            "whats my ferrets name",
            "Lightning",
            "called Thunder,",
        ),
        (
            "i owe you for two ales, ill settle up on sunday",
            "nah its two meads i owe ya for, not ales",
            "what do i owe you?",
            "two meads",
            "two ales",
        ),
        (
            "my cat had four kittens in the loft",
            "sorry, five kittens, not four",
            "how many kittens did my cat have?",
            "five kittens",
            "four kittens",
        ),
        (
            "im takin sixty geese to Harrowgate market on saturday",
            "change of plan, im takin the geese to Thornby market on sunday, not Harrowgate",
            "where am i takin my geese?",
            "Thornby",
            "to Harrowgate",
        ),
        (
            "i'll bring you a new copper kettle on friday",
            "actually the copper kettle wont be ready friday, ill bring it monday instead",
            "when am i bringing the kettle?",
            "30 November",
            "27 November",
        ),
    ],
)
def test_only_what_was_said_last_is_told(says, alice, first, then, question, holds, lacks):
    says(alice, first)
    says(alice, then)
    answer = says(alice, question)
    assert holds in answer
    assert lacks not in answer


@pytest.mark.parametrize(
    ("first", "then", "question", "holds"),
    [
        (
            "my brother is called Wilkin",
            "I trust Nell, not Wilkin",
            "whats my brother called",
            "Wilkin",
        ),
        (
            "my sister has four dogs",
            "my sister has three cats, not four",
            "how many dogs has my sister",
            "four dogs",
        ),
        (
            "the fair is on friday",
            "the fair is not only on friday but also on saturday",
            "when is the fair?",
            "27 November",
        ),
    ],
)
def test_what_is_no_correction_ends_nothing(says, alice, first, then, question, holds):
    says(alice, first)
    says(alice, then)
    assert holds in says(alice, question)


def test_what_is_owed_is_told_to_the_one_who_owes_it(says, alice, bram):
    bram.location = alice.location
    says(bram, "im bram")
    says(alice, "bram here owes me four crowns for a jug he broke")
    assert "You owe Alice four crowns for a jug you broke." in says(bram, "do i owe anyone money?")


# --- who was here ---------------------------------------------------------------------------------


@pytest.fixture
def bram_left(says, alice, bram):
    bram.location = alice.location
    says(bram, "i sell eels")
    bram.move_to(create_object("typeclasses.rooms.Room", key="The Green"))


@pytest.mark.parametrize(
    "question",
    [
        "when did you last see bram?",
        "when did bram leave?",
        "is bram still here?",
        "have you seen bram lately",
    ],
)
def test_somebody_who_has_just_left_is_said_to_have(says, bram_left, alice, question):
    assert says(alice, question) == "Bram left for The Green just now."


@pytest.mark.parametrize(
    "question", ["who came by while i was gone?", "who's been in today?", "who was in here tonight"]
)
def test_visitors_are_named(says, bram_left, alice, question):
    assert says(alice, question).startswith("Bram was here")


@pytest.mark.parametrize("question", ["anyone else about?", "who's in the room with us?"])
def test_who_is_here_is_named(says, alice, bram, question):
    bram.location = alice.location
    assert "Bram" in says(alice, question)


# --- talk -----------------------------------------------------------------------------------------


def test_it_says_who_told_it(says, alice, bram):
    says(alice, "i keep bees on the hill, eleven hives")
    turn(alice, bram)
    assert "eleven hives" in says(bram, "how many hives has alice got")
    assert says(bram, "who told you that?") == "Alice told me earlier today."


@pytest.mark.parametrize(
    "question", ["who's the queen of france", "how deep is the well on the green"]
)
def test_what_nobody_spoke_of_is_not_known(says, alice, question):
    for line in (
        "ive got a ferret, she rides in my coat pocket",
        "my brother Anselm went off to sea, he cooks on a whaler",
        "i cant stand turnips",
    ):
        says(alice, line)
    assert says(alice, question).startswith("I know nothing about that, Alice.")


def test_what_was_never_given_is_not_made_up(says, alice):
    says(alice, "i cant stand turnips")
    answer = says(alice, "what did i just give you?")
    assert answer == "You have given me nothing that I remember, Alice."


def test_news_is_taken_as_told(says, alice, bram):
    assert '"' not in says(alice, "did you hear, the miller's barn burnt to the ground last nite")
    turn(alice, bram)
    assert "miller's barn" in says(bram, "what happened to the miller's barn?")


@pytest.mark.parametrize(
    "line", ["im taking sixty geese to Harrowgate market", "no, hes called Ansel"]
)
def test_a_place_or_a_name_just_given_is_not_asked_about(says, alice, line):
    assert "Who is" not in says(alice, line)


@pytest.mark.parametrize("line", ["mornin, sleep well?", "heya hows tricks", "hows it goin"])
def test_it_is_well_enough(says, alice, line):
    answer = says(alice, line)
    assert "Well enough" in answer or "cannot complain" in answer


@pytest.mark.parametrize(
    "line", ["my daughter Tara turned six", "when i'm off to bed my dog howls"]
)
def test_these_do_not_part(says, alice, line):
    answer = says(alice, line)
    assert "Farewell" not in answer and "Safe travels" not in answer


@pytest.mark.parametrize("line", ["im away home, sleep tight", "ta ra"])
def test_these_part(says, alice, line):
    answer = says(alice, line)
    assert "Farewell" in answer or "Safe travels" in answer


def test_what_it_thinks_of_the_speaker_quotes_nobody(says, alice):
    says(alice, "i cant stand turnips")
    assert '"' not in says(alice, "do you like me?")
