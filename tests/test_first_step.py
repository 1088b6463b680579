"""What an NPC says unasked, and to whom: what waits for somebody, a greeting, its own subjects."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import model

THURSDAY = "2026-03-05T19:00:00+00:00"
FRIDAY = "2026-03-06T19:00:00+00:00"


@pytest.fixture
def types(mara, alice, bram):
    """types(alice, "say hello") gives the entries of what Mara says to it."""
    mara.memory.own_settings.set("REPLY_COOLDOWN", 0)
    mara.memory.clock = lambda: "2026-03-04T12:00:00+00:00"
    for player in (alice, bram):
        player.db.prelogout_location = mara.location

    def type_in(who, command):
        before = len(mara.memory.journal)
        who.execute_cmd(command)
        return spoken(mara, before)

    return type_in


def spoken(mara, before):
    return [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]


def beat(mara):
    """What Mara says at a beat of her heart."""
    before = len(mara.memory.journal)
    offload.wait(mara.assistant.at_tick())
    return [each.content for each in spoken(mara, before)]


def goes(who):
    who.location = None


def comes(mara, who, when=THURSDAY):
    """Somebody comes in later, when what was said before is worked through."""
    offload.wait(mara.assistant.at_tick())
    mara.memory.clock = lambda: when
    mara.memory.conversations.clear()
    who.location = mara.location
    message = f"{who.key} arrives to {mara.location.key} from The Village Green."
    mara.location.msg_contents((message, {"type": "move"}), from_obj=who, exclude=[who])


# --- what waits for somebody ----------------------------------------------------------------------


def test_a_message_comes_behind_the_first_answer_whatever_it_is_and_once(types, mara, alice, bram):
    goes(bram)
    types(alice, "say Mara, tell Bram that the boat is mended.")
    goes(alice)
    comes(mara, bram)
    [own] = types(bram, "say Mara, who is here?")
    assert (
        own.content.startswith("Nobody but you and me, Bram.") and "boat is mended" in own.content
    )
    assert not own.private
    [item] = mara.memory.agenda
    assert item.state == "done"
    assert "boat" not in types(bram, "say Mara, thank you.")[0].content


def test_who_asks_for_a_message_that_was_told_in_this_talk_is_told_it_again(
    types, mara, alice, bram
):
    goes(bram)
    types(alice, "say Mara, tell Bram that the boat is mended.")
    goes(alice)
    comes(mara, bram)
    assert "boat is mended" in types(bram, "say Mara, hello.")[0].content
    assert "boat is mended" in types(bram, "say Mara, any messages for me?")[0].content
    goes(bram)
    comes(mara, bram, FRIDAY)
    assert "boat" not in types(bram, "say Mara, any messages for me?")[0].content


def test_a_message_that_sounds_like_a_confidence_is_one_to_pass_on(types, mara, alice, bram):
    goes(bram)
    boot = "his other boot is inside the piano. I did not put it there."
    types(alice, f"say Mara, please tell Bram that {boot}")
    goes(alice)
    comes(mara, bram)
    assert "inside the piano" in types(bram, "say Mara, hello.")[0].content


def test_a_message_that_was_whispered_is_whispered_to_whom_it_is_for_alone(
    types, mara, alice, bram
):
    goes(bram)
    types(alice, "whisper Mara = tell Bram that the key is under the step.")
    comes(mara, alice)
    assert "key" not in types(alice, "say Mara, hello.")[0].content
    goes(alice)
    comes(mara, bram, FRIDAY)
    [own] = types(bram, "say Mara, hello.")
    assert "the key is under the step" in own.content.lower()
    assert own.private and own.witnesses == (mara.get_memory_identity(bram),)


def test_a_message_in_confidence_is_kept(types, mara, alice, bram):
    goes(bram)
    types(alice, "whisper Mara = don't tell Bram that I sold his boat, keep it between us.")
    goes(alice)
    comes(mara, bram)
    assert "boat" not in types(bram, "say Mara, hello.")[0].content


@pytest.mark.skipif(bool(model.not_installed()), reason="who cries out is known by the model")
def test_nothing_stands_behind_the_answer_to_an_alarm(types, mara, alice, bram):
    goes(bram)
    types(alice, "say Mara, tell Bram that the boat is mended.")
    goes(alice)
    comes(mara, bram)
    assert "boat" not in types(bram, "say Mara, help, the roof is on fire!")[0].content
    assert "boat" in types(bram, "say Mara, thank you.")[0].content


def test_who_heard_the_message_themselves_is_not_told(types, mara, alice, bram):
    types(alice, "say Mara, tell Bram that the boat is mended.")
    comes(mara, bram)
    assert "boat" not in types(bram, "say Mara, hello.")[0].content


def test_a_reminder_is_told_on_its_day_and_then_done(types, mara, alice, bram):
    goes(bram)
    types(alice, "say Mara, remind me on Friday to buy twine.")
    comes(mara, alice, FRIDAY)
    assert "buy twine" in types(alice, "say Mara, hello.")[0].content
    [item] = mara.memory.agenda
    assert item.state == "done"


# --- greeting -------------------------------------------------------------------------------------


def test_a_known_person_is_greeted_by_what_they_spoke_of(types, mara, alice, bram):
    goes(bram)
    types(alice, "say Mara, my mule has a bad tooth.")
    comes(mara, alice)
    assert "your mule" in types(alice, "say Mara, hello.")[0].content


def test_what_was_whispered_is_not_what_a_greeting_is_about(types, mara, alice, bram):
    types(alice, "whisper Mara = my mule has a bad tooth.")
    comes(mara, alice)
    assert "mule" not in types(alice, "say Mara, hello.")[0].content


def test_no_sentence_is_said_twice_to_several_who_thank(types, mara, alice, bram):
    said = [
        sentence.replace(who.key, "").strip(" ,.!")
        for who in (alice, bram, alice, bram)
        for own in types(who, "say Mara, thank you!")
        for sentence in own.content.split(". ")
    ]
    assert len(said) == len(set(said)) == 4


# --- initiative -----------------------------------------------------------------------------------


@pytest.fixture
def quiet(types, mara, alice, bram):
    """Bram has told something and gone; Alice sits with Mara in silence. quiet(seconds) later."""
    types(bram, "say Mara, the ferry at Millbrook sank on Monday.")
    types(alice, "say Mara, hello.")
    goes(bram)
    offload.wait(mara.assistant.at_tick())

    def later(seconds):
        minutes, rest = divmod(seconds, 60)
        mara.memory.clock = lambda: f"2026-03-04T12:{minutes:02d}:{rest:02d}+00:00"

    return later


def test_without_the_setting_it_opens_no_subject(quiet, mara):
    quiet(300)
    assert beat(mara) == []


def test_it_opens_a_subject_into_a_silence_and_waits_for_an_answer(quiet, types, mara, alice):
    mara.memory.own_settings.set("INITIATIVE", 10)
    quiet(60)
    assert beat(mara) == [], "it is not quiet for long enough"
    quiet(180)
    [said] = beat(mara)
    assert "Bram" in said and "ferry at Millbrook" in said
    quiet(1800)
    assert beat(mara) == [], "nobody has said anything since"
    types(alice, "say Mara, poor Bram.")
    quiet(1860)
    assert beat(mara) == []
    mara.db.goals = "To keep everyone fed; and to own a mill."
    quiet(2400)
    [said] = beat(mara)
    assert "keep everyone fed" in said, "the same news is not opened with again"


def test_it_opens_no_subject_sooner_than_the_setting_says(quiet, types, mara, alice):
    mara.memory.own_settings.set("INITIATIVE", 30)
    mara.db.goals = "To keep everyone fed."
    quiet(180)
    assert len(beat(mara)) == 1
    quiet(190)
    types(alice, "say Mara, I see.")
    quiet(1200)
    assert beat(mara) == []
    quiet(2400)
    assert len(beat(mara)) == 1


def test_it_tells_nobody_what_was_whispered_and_opens_nothing_in_a_crowd(
    types, mara, alice, bram, tavern
):
    from evennia.utils.create import create_object

    mara.memory.own_settings.set("INITIATIVE", 1)
    types(bram, "whisper Mara = the ferry at Millbrook sank on Monday.")
    types(alice, "say Mara, hello.")
    goes(bram)
    mara.memory.clock = lambda: "2026-03-04T12:05:00+00:00"
    assert beat(mara) == []
    mara.db.goals = "To keep everyone fed."
    for name in ("Nell", "Colm", "Una"):
        guest = create_object("typeclasses.characters.Character", key=name, location=tavern)
        guest.db.prelogout_location = tavern
    types(alice, "say Mara, I see.")
    mara.memory.clock = lambda: "2026-03-04T12:15:00+00:00"
    assert beat(mara) == []


def test_with_initiative_a_message_is_told_to_somebody_who_comes_in(types, mara, alice, bram):
    mara.memory.own_settings.set("INITIATIVE", 30)
    goes(bram)
    types(alice, "say Mara, tell Bram that the boat is mended.")
    goes(alice)
    comes(mara, bram)
    [said] = beat(mara)
    assert "Bram" in said and "boat is mended" in said.lower()
    assert beat(mara) == []


# --- several speakers -----------------------------------------------------------------------------


def test_two_who_speak_at_once_each_get_their_answer_by_name(types, mara, alice, bram):
    offload.wait(mara.assistant.hold_still())
    before = len(mara.memory.journal)
    alice.execute_cmd("say Mara, what is this place?")
    bram.execute_cmd("say Mara, what is this place?")
    mara.assistant.let_go()
    offload.wait(mara.assistant.at_tick())
    said = [each.content for each in spoken(mara, before)]
    assert [each.split()[-1] for each in said] == ["Alice.", "Lantern."]


def test_who_turns_to_somebody_speaks_to_them(types, mara, alice, bram):
    types(alice, "say Mara, good day.")
    types(alice, "pose turns to Bram.")
    assert not types(alice, "say Can you shoe a pony by Friday?")
    types(alice, "pose turns to Mara.")
    assert types(alice, "say I keep the ferry.")
    types(alice, "pose turns to Mara.")
    assert not types(alice, "say Bram, did you hear that?"), "a name is more than a turn"


# --- how talkative --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "talkative, answers", [("quiet", False), ("normal", True), ("talkative", True)]
)
@pytest.mark.skipif(bool(model.not_installed()), reason="the model reads what is done with words")
def test_how_talkative_it_is_decides_about_lines_that_name_nobody(
    types, mara, alice, bram, talkative, answers
):
    mara.memory.own_settings.set("TALKATIVENESS", talkative)
    assert bool(types(alice, "say What a storm tonight.")) == answers
    assert types(alice, "say Mara, good day."), "a name is answered anyway"


@pytest.mark.parametrize("talkative, answers", [("normal", 2), ("talkative", 3)])
@pytest.mark.skipif(bool(model.not_installed()), reason="the model reads what is done with words")
def test_a_talkative_one_answers_more_in_a_row(types, mara, alice, bram, talkative, answers):
    mara.memory.own_settings.set("TALKATIVENESS", talkative)
    types(alice, "say Mara, good day.")
    lines = ("I keep the ferry.", "It rained all day.", "The wind is up.")
    assert sum(bool(types(alice, f"say {each}")) for each in lines) == answers
