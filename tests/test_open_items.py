"""What an NPC says of its agenda: asked, when somebody comes in, and to a language model."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import erase, forget
from contrib_ai_memory.english.agenda_questions import read
from contrib_ai_memory.recall import reply
from contrib_ai_memory.records import NO_PROVENANCE

WEDNESDAY = "2026-03-04T19:00:00+00:00"
THURSDAY = "2026-03-05T19:00:00+00:00"
NEXT_WEEK = "2026-03-11T19:00:00+00:00"


@pytest.fixture
def says(mara, bram):
    """says(alice, "hello!") gives what Mara says to it; whisper=True whispers it."""
    bram.location = None
    mara.memory.clock = lambda: WEDNESDAY

    def say(who, words, *, whisper=False):
        before = len(mara.memory.journal)
        who.execute_cmd(f"whisper Mara = {words}" if whisper else f"say Mara, {words}")
        offload.wait(mara.assistant.at_tick())
        own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
        mara.assistant.nattributes.clear()  # whoever asks is answered at once
        return own[-1].content if own else ""

    return say


def come_in(npc, who, others=()):
    """Leave `who` alone with the NPC, in a conversation of its own."""
    for each in others:
        each.location = None
    who.location = npc.location
    npc.memory.conversations.clear()


def test_who_owes_is_told_what_and_until_when(says, mara, alice):
    says(alice, "I owe you three marks for the boots. You get it back on Friday.")
    mara.memory.clock = lambda: THURSDAY
    answer = says(alice, "what do I owe you?")
    assert answer.startswith("You owe me three marks. You said yesterday: ")
    assert answer.endswith("That is due tomorrow, Friday, 6 March.")


def test_who_asks_after_the_matter_of_a_message_is_told_it_though_they_were_there(
    says, mara, alice, bram
):
    bram.location = mara.location
    says(bram, "if Alice asks after her ink tell her I've two bottles of it left in my bag")
    bram.location = None
    assert "bottles" not in says(alice, "when did the last barge leave?")
    answer = says(alice, "does Bram have my ink?")
    assert (
        answer == 'Bram left word for you earlier today: "I\'ve two bottles of it left in my bag."'
    )


def test_who_comes_back_and_calls_nobody_is_told_the_message_that_waits(says, mara, alice, bram):
    alice.location, bram.location = None, mara.location
    says(bram, "tell Alice that the dice game is off")
    alice.location = mara.location
    before = len(mara.memory.journal)
    alice.execute_cmd("say I saw nine geese on the long road.")
    own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
    assert ["The dice game is off" in each.content for each in own] == [True]


def test_what_is_said_of_whom_a_message_is_for_is_told_as_theirs(says, mara, alice, bram):
    alice.location, bram.location = None, mara.location
    says(bram, "when Alice returns, please tell her that her parcel is lying at the gatehouse")
    alice.location = mara.location
    assert 'word for you earlier today: "Your parcel is lying' in says(alice, "good evening Mara")


def test_whom_something_is_to_be_asked_is_told_the_question(says, mara, alice, bram):
    alice.location, bram.location = None, mara.location
    says(bram, "would you please ask Alice whether the school needs a new stove?")
    alice.location = mara.location
    asked = 'left a question for you earlier today: "Whether the school needs a new stove."'
    assert asked in says(alice, "good evening Mara")


def test_a_message_that_was_told_in_passing_makes_nobody_be_answered(says, mara, alice, bram):
    alice.location, bram.location = None, mara.location
    says(bram, "tell Alice that the dice game is off")
    alice.location = mara.location
    mara.execute_cmd("say Oh, Alice. The dice game is off.")
    before = len(mara.memory.journal)
    for number in range(3, 8):
        alice.execute_cmd(f"say I saw {number} ducks on the long road.")
    own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
    assert own == []


def test_who_promised_is_told_in_their_own_words(says, mara, alice):
    says(alice, "I promise to bring you a new ladle by Friday.")
    mara.memory.clock = lambda: THURSDAY
    answer = says(alice, "what did I promise you?")
    assert answer.startswith("You promised me yesterday to bring me a new ladle by Friday.")


def test_who_tells_of_their_promise_to_another_is_told_it_once(says, mara, alice, bram):
    bram.location = mara.location
    says(alice, "I promised Bram that I would take him up in the new skiff on Friday.")
    answer = says(alice, "what did I promise to Bram?")
    assert answer.startswith(
        "You promised Bram earlier today that you would take him up in the new"
    )


def test_who_asks_what_they_owe_altogether_is_told_of_every_debt(says, mara, alice):
    says(alice, "I owe you six pennies for the room.")
    says(alice, "I owe you three pennies for the curtain.")
    answer = says(alice, "how much do I owe you altogether, with the mug and the curtain?")
    assert "six pennies" in answer and "three pennies" in answer


def test_who_asks_whether_they_are_square_now_is_told_what_is_open(says, mara, alice):
    says(alice, "I owe you six pennies for the room.")
    assert "six pennies" in says(alice, "so we're square about the room now, aren't we?")
    says(alice, "here are your six pennies for the room.")
    asked = says(alice, "so we're square about the room now, aren't we?")
    assert asked.startswith("Yes. Nothing is open")


def test_the_question_itself_is_no_answer(says, mara, alice):
    says(alice, "keep my oilcloth till Friday.")
    answer = says(alice, "please keep what of mine, and till when do you keep it?")
    assert "please keep what" not in answer.lower()
    assert "oilcloth" in says(alice, "till when do you hang on to my oilcloth?")


def test_what_is_asked_for_a_day_is_on_that_day(says, mara, alice, bram):
    says(alice, "I promise to bring you a new ladle by Friday.")
    says(alice, "We will go for the bridge on Sunday at dawn.")
    answer = says(alice, "what is on for Sunday?")
    assert "bridge" in answer and "ladle" not in answer


def test_without_anything_on_the_agenda_the_memory_answers(says, mara, alice):
    says(alice, "Rosa sold me a grey mare, and I owe her nothing any more.")
    assert "grey mare" in says(alice, "what do I owe Rosa for the mare?")


def test_a_greeting_brings_up_what_is_due_once(says, mara, alice):
    says(alice, "I promise to bring you a new ladle by Friday.")
    come_in(mara, alice)
    assert "ladle" not in says(alice, "hello!"), "it is not due before the day after tomorrow"
    mara.memory.clock = lambda: THURSDAY
    come_in(mara, alice)
    assert "You promised me yesterday" in says(alice, "hello!")
    assert "ladle" not in says(alice, "hello again!")
    mara.memory.clock = lambda: NEXT_WEEK
    come_in(mara, alice)
    assert "That was due on Friday, 6 March." in says(alice, "hello!")


def test_others_are_not_reminded(says, mara, alice, bram):
    says(alice, "I promise to bring you a new ladle by Friday.")
    mara.memory.clock = lambda: THURSDAY
    come_in(mara, bram, others=[alice])
    assert "ladle" not in says(bram, "hello!")


def test_what_was_whispered_is_told_in_a_whisper_to_its_witness_alone(says, mara, alice, bram):
    says(alice, "I promise to bring you the silver key by Thursday.", whisper=True)
    mara.memory.clock = lambda: THURSDAY
    come_in(mara, alice)
    for line in ("hello!", "what did I promise you?"):
        said = says(alice, line)
        [own] = [each for each in mara.memory.journal.read() if each.content == said]
        assert "silver key" in said and own.private
    come_in(mara, bram, others=[alice])
    for line in ("what did Alice promise you?", "what is due today?", "hello!"):
        assert "key" not in says(bram, line)


def test_a_language_model_is_given_the_same_sentences(says, mara, alice):
    says(alice, "I promise to bring you a <b>ladle</b> by Friday.")
    says(alice, "nice weather.")
    heard = mara.memory.journal.get(len(mara.memory.journal) - 1)
    loop, request = offload.wait(reply.prepare(mara.memory, heard))
    [item] = request.situation.agenda
    last = loop.opening[-1]["content"]
    scene = last.partition("</scene>")[0]
    assert f"\nOpen: {item.noted[:30]}" in scene
    assert item.noted.startswith("Alice promised you ")
    assert "<b>" not in last
    assert loop.provenance != NO_PROVENANCE
    assert {each.memory.id for each in request.recalled} >= set(item.evidence)


def test_the_line_of_an_open_matter_is_still_told_with_all_else_that_it_says(says, mara, alice):
    says(alice, "I owe you three marks for the boots. My brother drowned at the weir.")
    mara.memory.clock = lambda: THURSDAY
    mara.memory.chat_log.clear()  # long ago: the conversation is not shown any more
    come_in(mara, alice)
    says(alice, "what happened to my brother at the weir?")
    [heard] = [e for e in mara.memory.journal.read() if "what happened" in e.content]
    loop, _request = offload.wait(reply.prepare(mara.memory, heard))
    prompt = loop.opening[-1]["content"]
    assert "\nOpen: " in prompt
    assert "drowned at the weir" in prompt.partition("<memory>")[2]


def test_a_language_model_is_told_which_open_matters_are_secret(says, mara, alice):
    says(alice, "I promise to bring you the silver key by Friday.", whisper=True)
    says(alice, "Nice weather.", whisper=True)
    heard = mara.memory.journal.get(len(mara.memory.journal) - 1)
    _loop, request = offload.wait(reply.prepare(mara.memory, heard))
    [item] = request.situation.agenda
    assert item.noted.startswith("(in confidence) Alice promised you ")


def test_an_erasure_follows_what_was_told_of_the_agenda(says, mara, alice, bram):
    bram.location = mara.location
    says(alice, "I promise to bring you a new ladle by Friday.")
    mara.memory.clock = lambda: THURSDAY
    come_in(mara, bram, others=[alice])
    told = says(bram, "what did Alice promise you?")
    assert "ladle" in told
    offload.wait(erase.erase_person(mara, mara.get_memory_identity(alice)))
    assert not len(mara.memory.agenda)
    assert told not in [each.content for each in mara.memory.journal.read()]


def test_what_was_told_goes_with_the_line_when_it_is_forgotten(says, mara, alice):
    says(alice, "I promise to bring you a new ladle by Friday.")
    mara.memory.clock = lambda: THURSDAY
    come_in(mara, alice)
    told = says(alice, "hello!")
    [item] = mara.memory.agenda
    offload.wait(forget.forget(mara, alice, item.id, cascade=True))
    assert "ladle" in told and told not in [each.content for each in mara.memory.journal.read()]


@pytest.mark.parametrize(
    ("text", "who", "to", "day"),
    [
        ("what do i owe rurik", "asker", "", ""),
        ("wat did i promise rurik and by when", "asker", "", ""),
        ("What have I sworn to mend?", "asker", "", ""),
        ("did i promise you somethin for sunday?", "asker", "", "2026-03-08"),
        ("who owes me coin", "", "asker", ""),
        ("what did you promise me about the bell?", "listener", "", ""),
        ("what did I ask of you should my brother come?", "listener", "asker", ""),
        ("whats dex meant to do today", "named", "", "2026-03-04"),
        ("whats on friday", "", "", "2026-03-06"),
        ("what's still due?", "", "", ""),
    ],
)
def test_a_question_says_whose_commitments_it_asks_for(text, who, to, day):
    asked = read(text, WEDNESDAY)
    assert (asked.who, asked.to, asked.day) == (who, to, day)


@pytest.mark.parametrize(
    "text",
    [
        "how much for a packed lunch tomorrow?",
        "what did you see on friday?",
        "what did i tell you about my brother?",
        "i owe you three marks",
        "who was here on friday?",
        "what are you doing here?",
    ],
)
def test_other_questions_are_not_about_the_agenda(text):
    assert read(text, WEDNESDAY) is None


def test_own_items_alone_are_told_where_what_is_on_for_oneself_is_asked(says, mara, alice, bram):
    says(alice, "I owe you two coppers for the soap, I will pay you on Friday.")
    come_in(mara, bram, [alice])
    says(bram, "I owe Alice six crowns, and will pay her on Saturday.")
    assert "coppers" not in says(bram, "what's on for me friday?")
    assert "six crowns" in says(bram, "what's on for me on saturday?")
    assert "six crowns" in says(bram, "when am i payin Alice back?")
    says(bram, "I promise to bring you a new ladle by Friday.")
    come_in(mara, alice, [bram])
    promised = says(alice, "what has Bram promised you?")
    assert "ladle" in promised and "crowns" not in promised
