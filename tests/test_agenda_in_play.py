"""Promises and debts as a player tells them to an NPC without a language model."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.english.questions import asks
from contrib_ai_memory.ingest import agenda_items
from contrib_ai_memory.llm.provider import Passage
from contrib_ai_memory.records import FactDraft, MemoryRecord

WEDNESDAY = "2026-03-04T19:00:00+00:00"


@pytest.fixture
def says(mara, bram):
    """says(alice, "mara, hello") gives what Mara answers, "" for nothing."""
    mara.memory.clock = lambda: WEDNESDAY

    def say(who, words):
        before = len(mara.memory.journal)
        who.execute_cmd(f"say {words}")
        offload.wait(mara.assistant.at_tick())
        own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
        mara.assistant.nattributes.clear()  # whoever asks is answered at once
        return own[-1].content if own else ""

    return say


def dues(mara):
    return sorted(item.due for item in mara.memory.agenda)


def states(mara):
    return {item.text: item.state for item in mara.memory.agenda}


def test_a_promise_that_is_not_to_be_forgotten_stays_open(says, mara, alice, bram):
    bram.location = None
    says(alice, "mara, i'll pay you the five silver on friday")
    says(alice, "and dont u forget it")
    assert list(states(mara).values()) == ["open"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            "mara, i promised Hobb to mend his fence by friday",
            "mara i promised hobb to shear his sheep by monday",
        ),
        ("mara, i'll mend your roof by friday", "mara, i'll mend your cart by monday"),
        ("mara, i'll bring hobb's rope by friday", "mara, i'll paint hobb's door by monday"),
    ],
)
def test_two_promises_to_one_person_are_two_items(says, mara, alice, bram, first, second):
    bram.location = None
    says(alice, first)
    says(alice, second)
    assert dues(mara) == ["2026-03-06", "2026-03-09"]
    told = says(alice, "mara, what have i promised?")
    assert "Friday, 6 March" in told and "Monday, 9 March" in told
    for each in (first, second):
        assert each.partition("by ")[0].split()[-1] in told


@pytest.mark.parametrize(
    "moving",
    [
        "make that monday",
        "mara, no, make that monday instead",
        "mara, i will mend hobb's fence by monday",
        "the fence by monday, i promise",
    ],
)
def test_the_same_matter_or_a_bare_date_right_after_moves_the_date(says, mara, alice, bram, moving):
    bram.location = None
    says(alice, "mara, i promised Hobb to mend his fence by friday")
    says(alice, moving)
    assert dues(mara) == ["2026-03-09"]


def test_a_bare_date_after_something_else_moves_nothing(says, mara, alice, bram):
    bram.location = None
    says(alice, "mara, i promised Hobb to mend his fence by friday")
    says(alice, "mara, the ale is sour tonight")
    says(alice, "make that monday")
    assert "2026-03-06" in dues(mara)
    assert [item.due for item in mara.memory.agenda if "fence" in item.text] == ["2026-03-06"]


def test_the_npcs_answer_is_no_part_of_what_is_owed(says, mara, alice):
    says(alice, "mara, bram said the soup is free on fridays")
    answer = says(alice, "mara, is the soup free?")
    says(alice, "i owe you 3 coppers for the soup")
    assert "bram said" in answer.lower()
    assert list(states(mara)) == ["i owe you 3 coppers for the soup"]
    told = says(alice, "mara, do i owe you anything?")
    assert "3 coppers for the soup" in told and "bram said" not in told.lower()


def test_a_debt_that_is_paid_is_closed_and_nothing_is_left_open(says, mara, alice):
    says(alice, "mara, i owe you 3 coppers for the soup")
    says(alice, "mara, i owe Hobb 3 coppers for the rope")
    says(alice, "mara, here are your 3 coppers, we're even")
    assert [state for text, state in states(mara).items() if "soup" in text] == ["done"]
    assert [state for text, state in states(mara).items() if "rope" in text] == ["open"]
    told = says(alice, "mara, do i owe you anything?")
    assert "Nothing is open" in told and "copper" not in told
    assert "rope" in says(alice, "mara, what do i owe?")
    assert says(alice, "mara, do i still owe you for the soup?").startswith("No. Nothing is open")


@pytest.mark.parametrize("even", ["were even now mara", "that makes us square, mara"])
def test_who_is_even_has_still_to_keep_what_they_promised(says, mara, alice, even):
    says(alice, "i'll bring you a copper kettle on friday, mara")
    says(alice, even)
    assert list(states(mara).values()) == ["open"]


def test_an_npc_who_is_owed_nothing_says_so(says, alice, bram):
    bram.location = None
    assert "Nothing is open" in says(alice, "mara, do i owe you anything?")


def test_two_debts_are_two_items_and_the_one_paid_is_closed(says, mara, alice, bram):
    bram.location = None
    says(alice, "mara, i owe you 3 coppers for the soup")
    says(alice, "mara, i owe you 5 coppers for the bed")
    says(alice, "mara, here are your 5 coppers")
    assert [state for text, state in states(mara).items() if "soup" in text] == ["open"]
    assert [state for text, state in states(mara).items() if "bed" in text] == ["done"]


def test_what_was_just_promised_can_be_taken_back(says, mara, alice):
    says(alice, "mara, i'll mend your roof by friday")
    says(alice, "never mind")
    assert [item.state for item in mara.memory.agenda] == ["done"]


@pytest.mark.parametrize(
    ("owed", "whom", "paid"),
    [
        ("i owe the miller 12 silvers, ugh", "the miller", "mara i paid the miller btw"),
        ("mara, i owe 12 silvers to hobb", "hobb", "mara, i've paid hobb back"),
        ("mara, i owe my uncle 12 silvers", "my uncle", "mara, my uncle is paid"),
    ],
)
def test_a_debt_to_somebody_unknown_is_told_and_paid(says, mara, alice, bram, owed, whom, paid):
    bram.location = None
    says(alice, owed)
    told = says(alice, f"how much do i owe {whom}")
    assert told.startswith(f"You owe {whom.replace('my', 'your')} twelve silvers.")
    says(alice, f"mara, i haven't paid {whom} yet")
    assert "You owe" in says(alice, f"mara, do i still owe {whom} anything?")
    says(alice, paid)
    assert list(states(mara).values()) == ["done"]
    told = says(alice, f"mara, do i still owe {whom} anything?")
    assert "Nothing is open" in told and "12" not in told


def test_what_is_owed_to_one_is_no_answer_about_another(says, mara, alice, bram):
    bram.location = None
    says(alice, "mara, i owe the miller 12 silvers")
    says(alice, "mara, i owe you 3 coppers for the soup")
    says(alice, "mara, i promised hobb to mend his fence")
    says(alice, "mara, i paid the miller")
    assert "Nothing is open" in says(alice, "mara, do i still owe the miller?")
    told = says(alice, "mara, what do i owe you?")
    assert "3 coppers" in told and "miller" not in told


def test_who_pays_a_player_is_quits_with_them_alone(says, mara, alice, bram):
    says(alice, "mara, i owe Bram 3 coppers")
    says(alice, "mara, i owe you 3 coppers")
    says(alice, "mara, i paid bram")
    assert states(mara) == {
        "mara, i owe Bram 3 coppers": "done",
        "mara, i owe you 3 coppers": "open",
    }


def test_a_promise_that_is_told_is_one_to_whom_it_was_given(says, mara, alice, bram):
    bram.location = None
    says(alice, "my brother Aldo comes on saturday with a cart of salt")
    says(alice, "i promised jessa id fix her roof before the frost")
    assert {item.kind for item in mara.memory.agenda} == {"plan", "promise"}
    told = says(alice, "mara, what did i promise?")
    assert "roof" in told and "salt" not in told and "promised me" not in told


@pytest.mark.parametrize(
    "words",
    [
        "gtg, see u tomorrow mara",
        "good night mara, see you on friday",
    ],
)
def test_a_parting_is_no_plan(says, mara, alice, bram, words):
    bram.location = None
    says(alice, words)
    assert not list(mara.memory.agenda)


def test_a_meeting_is_a_plan(says, mara, alice, bram):
    bram.location = None
    says(alice, "bye, i'll see you at the mill on friday with the money")
    assert dues(mara) == ["2026-03-06"]


def test_a_reminder_is_promised_listed_and_brought_up_in_time(says, mara, alice, bram):
    bram.location = None
    said = says(alice, "mara, remind me to buy twine tomorrow morning")
    assert said.startswith("Buy twine, tomorrow")
    says(alice, "gtg, see u tomorrow mara")
    said = says(alice, "mara will you save me a seat on friday?")
    assert "Friday" in said and "know" not in said
    mara.memory.clock = lambda: "2026-03-05T09:00:00+00:00"
    mara.memory.conversations.clear()
    greeted = says(alice, "mornin mara")
    assert "twine" in greeted and "That is due today" in greeted and "see u" not in greeted


def test_what_is_to_be_kept_is_promised_with_its_secrecy_asked_for(says, mara, alice, bram):
    bram.location = None
    says(alice, "Keep this letter for me. Don't tell anyone.")  # answered in a whisper
    [promised] = [each for each in mara.memory.journal.read() if each.origin == "self"]
    assert promised.content in {"It stays with me, Alice.", "Nobody will hear it from me, Alice."}


def test_a_reminder_without_a_day_is_brought_up_the_next_time(says, mara, alice, bram):
    bram.location = None
    assert says(alice, "remind me to feed my cat").startswith("Feed your cat")
    mara.memory.conversations.clear()
    assert "feed" not in says(alice, "hello mara"), "not on the same day"
    mara.memory.clock = lambda: "2026-03-05T09:00:00+00:00"
    mara.memory.conversations.clear()
    assert "cat" in says(alice, "hello mara")


def test_what_is_due_in_a_week_is_told_and_nothing_else(says, mara, alice, bram):
    bram.location = None
    assert "Nothing is open" in says(alice, "mara, what's due this week?")
    says(alice, "mara, remind me to buy twine on friday")
    says(alice, "mara, i'll mend your roof by tuesday")
    says(alice, "mara, i'm getting married on the 5th of june in harrow!")
    told = says(alice, "mara, what's due this week?")
    assert "twine" in told and "roof" not in told and "married" not in told
    told = says(alice, "mara, what is due next week?")
    assert "roof" in told and "twine" not in told


@pytest.mark.parametrize(
    ("words", "asking"),
    [
        ("remind me to buy twine tomorrow", False),
        ("remind me what i owe", True),
        ("remind me about my brother", True),
        ("tell me of the ferry", True),
    ],
)
def test_a_reminder_is_asked_for_or_a_memory(words, asking):
    assert asks(words) is asking


def open_requests(mara):
    return [i.text for i in mara.memory.agenda if i.kind == "request" and i.state == "open"]


def test_a_message_is_given_to_whom_it_is_for_and_once_alone(says, mara, alice, bram):
    bram.location = None
    says(alice, "mara, tell bram that the boat is mended and waits at the north jetty")
    assert "jetty" in open_requests(mara)[0]
    assert "jetty" not in says(alice, "good evening mara")
    bram.location, alice.location = alice.location, None
    told = says(bram, "good evening, mara")
    assert "Alice left word for you" in told
    assert "north jetty" in told
    assert open_requests(mara) == []
    mara.memory.clock = lambda: "2026-03-06T19:00:00+00:00"
    assert "jetty" not in says(bram, "good evening, mara")


def test_a_message_told_in_confidence_is_not_passed_on_aloud(says, mara, alice, bram):
    alice.execute_cmd("whisper mara = please tell bram that the boat is mended")
    offload.wait(mara.assistant.at_tick())
    says(bram, "good evening, mara")
    own = [e for e in mara.memory.journal.read() if e.origin == "self" and "boat is" in e.content]
    assert [(e.private, e.witnesses) for e in own] == [
        (True, (mara.get_memory_identity(who),)) for who in (alice, bram)
    ]


def test_who_asks_for_messages_is_given_them_and_a_question_is_none(says, mara, alice, bram):
    says(alice, "mara, tell bram that the boat is mended and waits at the north jetty")
    says(alice, "mara, did you tell bram about the barrels?")
    assert len(open_requests(mara)) == 1
    assert "north jetty" in says(bram, "mara, got any messages for me?")
    assert "north jetty" in says(bram, "mara, is there any word for me?"), "in the same talk"


# --- what a language model adds at night ----------------------------------------------------------


def drawn(mara, text, *ids, **more):
    """Bring the agenda up to date with a fact that a model drew of lines."""
    entries = tuple(map(mara.memory.journal.get, ids))
    known = more.pop("known", ())
    draft = FactDraft(text, ids, about=entries[0].source_entity, kind="promise", ends=(), **more)
    passage = Passage(mara.key, entries, known=known)
    agenda_items.update_from_fact(mara.memory, draft, passage, "")


def test_a_promise_of_several_lines_is_one_item_in_the_words_of_the_fact(says, mara, alice, bram):
    bram.location = None
    says(alice, "mara, i'll fix your roof")
    says(alice, "i'll do it by friday, the roof")
    first, last = (e.id for e in mara.memory.journal.read() if e.origin == "perceived")
    drawn(mara, "Alice promised to fix Mara's roof by 6 March.", first, last, date="2026-03-06")
    [item] = mara.memory.agenda
    assert (item.told, item.due) == ("Alice promised to fix Mara's roof by 6 March.", "2026-03-06")


def test_a_promise_that_is_made_again_stays_one(says, mara, alice, bram):
    bram.location = None
    says(alice, "mara, i'll fix your roof by friday")
    says(alice, "mara, i promise that i come and finish that roof by friday")
    first, last = (e.id for e in mara.memory.journal.read() if e.origin == "perceived")
    known = MemoryRecord("roof", "Alice promised to fix the roof.", "fact", journal_ids=(first,))
    for _ in range(2):  # a look that was killed is made again
        drawn(mara, "Alice promised again.", last, same_as="roof", known=(known,))
        [item] = mara.memory.agenda
        assert (item.id, item.told) == (str(first), "Alice promised again.")
        assert {first, last} <= {*item.evidence} and item.state == "open"
