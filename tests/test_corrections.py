"""What a speaker corrects in their next line is told as they meant it."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import forget
from contrib_ai_memory.english.contradiction import contradicts
from contrib_ai_memory.english.corrections import changed, completed
from contrib_ai_memory.store import memory_store

pytestmark = pytest.mark.django_db


@pytest.fixture
def says(mara, alice, bram):
    """says("where do i live?") gives what Mara says to it."""

    def say(words):
        before = len(mara.memory.journal)
        alice.execute_cmd(f"say {words}")
        offload.wait(mara.assistant.at_tick())
        own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
        mara.assistant.nattributes.clear()  # whoever asks is answered at once
        return own[-1].content if own else ""

    bram.location = None
    return say


def ended(mara):
    stored = memory_store.shared().list(mara.memory.id, limit=None, record="entry")
    return {memory.content for memory in stored if memory.superseded_by}


@pytest.mark.parametrize("night", [False, True])
def test_a_place_corrected_in_the_next_line_is_told_alone(mara, says, night):
    says("im a weaver, i live by the old mill")
    answer = says("no wait, not the mill, the chapel")
    assert "chapel" in answer.lower() and "mill" not in answer.lower()
    if night:
        offload.wait(mara.assistant.sleep.whole_night())
    where, whole = says("where do i live?"), says("what do you know about me?")
    assert "you live by the chapel" in where and "mill" not in where
    assert "weaver" in whole and "you live by the chapel" in whole and "mill" not in whole


def test_a_correction_ends_no_other_line_with_the_same_word(mara, says):
    says("the wheel of the mill broke in the flood")
    says("im a weaver, i live by the old mill")
    says("no wait, not the mill, the chapel")
    assert ended(mara) == {"im a weaver, i live by the old mill"}


def test_a_name_meant_otherwise_is_told_and_the_rest_of_the_line_stays(mara, says):
    says("my dog is called rufus and i keep three hens")
    says("i meant rolf, not rufus")
    answer = says("what is my dog called?")
    assert "rolf" in answer and "rufus" not in answer
    assert "hens" in says("how many hens do i keep?")


@pytest.mark.parametrize(
    "correction", ["no, thursday i said", "sorry, thursday", "i said thursday"]
)
def test_a_day_that_is_said_again_alone_is_told_in_place_of_the_first(mara, says, correction):
    says("ill bring your boots on friday")
    assert "thursday" in says(correction).lower()
    answer = says("when do i bring your boots?").lower()
    assert "boots on thursday" in answer and "boots on friday" not in answer


def test_what_is_only_exclaimed_corrects_nothing():
    assert completed("oh, the rain", ["i hate the mud"]) is None
    assert completed("no, five", ["i have 3 hens and 4 ducks"]) is None


SUNDAY, MONDAY, WEDNESDAY = (f"2026-11-{day}T15:00:00+00:00" for day in (22, 23, 25))


def profile_of(mara, alice):
    found = mara.memory.profiles.get(mara.get_memory_identity(alice))
    return " ".join(each.value for each in found.attributes) if found else ""


@pytest.mark.parametrize("night", [False, True])
def test_another_day_is_told_and_brought_up_in_place_of_the_wrong_one(mara, alice, says, night):
    mara.memory.clock = lambda: SUNDAY
    says("my brother Aldo is comming on tuesday w/ a cart of salt")
    says("i mend nets down by the weir")
    for chatter in ("who is here?", "where are we?", "what time is it?", "thanks mara"):
        says(chatter)
    says("actually its wednesday not tuesday he's coming")
    if night:
        offload.wait(mara.assistant.sleep.whole_night())
    [item] = mara.memory.agenda
    assert (item.due, item.state) == ("2026-11-25", "open") and "wednesday" in item.text
    answer = says("so when does my brother come?")
    assert "Wednesday, 25 November" in answer and "uesday" not in answer
    assert "tuesday" not in profile_of(mara, alice)
    mara.memory.clock = lambda: WEDNESDAY
    mara.memory.conversations.clear()
    assert "Aldo" in says("hello mara")


@pytest.mark.parametrize(
    ("before", "ends"),
    [
        (
            "im getting married on the 5th of december in harrow!",
            "the wedding's off. im not marrying anymore",
        ),
        (
            "My brother Tom has been missing since the flood.",
            "they found my brother! tom is alive, he was in Harrow",
        ),
    ],
)
def test_what_is_over_is_no_fact_and_no_plan_any_more(mara, alice, says, before, ends):
    mara.memory.clock = lambda: SUNDAY
    says(before)
    offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.clock = lambda: MONDAY
    says(ends)
    known = memory_store.shared().list(mara.memory.id, limit=None, record="fact")
    assert known and all(fact.superseded_by for fact in known)
    assert not any(item.state == "open" for item in mara.memory.agenda)
    offload.wait(mara.assistant.sleep.whole_night())
    assert before not in profile_of(mara, alice)


def test_what_somebody_does_no_longer_is_told_no_more(mara, alice, says):
    mara.memory.clock = lambda: SUNDAY
    says("i mend nets down by the weir")
    offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.clock = lambda: MONDAY
    says("i no longer mend nets, old Harl took me on")
    assert ended(mara) == {"i mend nets down by the weir"}
    assert "weir" not in says("what do you know about me?") + profile_of(mara, alice)


def test_when_the_corrected_line_is_forgotten_nothing_of_it_is_told(mara, alice, says):
    says("im a weaver, i live by the old mill")
    old = next(each for each in mara.memory.journal.read() if "weaver" in each.content)
    says("no wait, not the mill, the chapel")
    offload.wait(forget.forget(mara, alice, str(old.id)))
    assert "weaver" not in says("what do you know about me?")


@pytest.mark.parametrize(
    ("said", "before", "meant"),
    [
        ("No, rolf, not rufus.", "My dog is called rufus.", "My dog is called rolf."),
        ("i meant the chapel", "i live by the old mill", "i live by the chapel"),
        ("i meant six", "i have five hens", "i have six hens"),
        ("its friday not monday", "the fair is on monday", "the fair is on friday"),
        ("not red but blue", "my boat is red", "my boat is blue"),
        (
            "Not Thunder, my horse is called Lightning.",
            "My horse is called Thunder.",
            "My horse is called Lightning.",
        ),
        (
            "no no its not Button, i misspoke. the hedgehog is Bobbin",
            "ive got a hedgehog, calls himself Button",
            "ive got a hedgehog, calls himself Bobbin",
        ),
        (
            "i must correct myself. two hundred and twenty one houses, not two hundred and twelve",
            "ive counted two hundred and twelve houses",
            "ive counted two hundred and twenty one houses",
        ),
        (
            "i meant St Bride's chapel not St Ode's",
            "i'll wed on the first of may at St Ode's chapel",
            "i'll wed on the first of may at St Bride's chapel",
        ),
        (
            "i told you wrong, my brother's name is Alaric and not Aldous",
            "my brother Aldous paints in Thornby",
            "my brother Alaric paints in Thornby",
        ),
    ],
)
def test_a_correction_is_completed_from_the_line_before(said, before, meant):
    assert completed(said, [before]) == (0, meant)


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("not today, thanks", "i sell fish today"),
        ("not the mill, the chapel", "i live by the river"),
        ("not the mill, the chapel", "the mill is by the other mill"),
        ("i meant the chapel", "the smith lives by the old mill, near the ford"),
        ("Not Thunder, my horse is called Lightning.", "My dog is called Thunder."),
        ("that's not Bram! that's Rolf over there", "I owe Bram six silvers"),
        ("it's not Bram. ask Nell, she knows", "Bram stole my purse"),
        ("i was wrong. i should trust Nell, not Bram", "I bought my horse from Bram"),
        ("my mistake, the abbey opened in Harrow, not Wick", "my sister lives in Wick"),
        ("she's not Nell. ask Tilda", "I married Nell last spring"),
        ("Nell is not Bram's. Rolf courts her", "Nell is Bram's wife"),
        ("no, he's not Bram. Bram is taller than Rolf", "Bram is my brother"),
        ("that's not much, three silvers", "I dont earn much"),
        ("he's not home, he's at work", "I'll be home by noon"),
        ("I'm not a fool. I'm a smith", "my brother is a fool"),
        ("I like tea and not coffee", "I drink coffee every morning"),
        ("tom moved to wick", "nell lives in harrow"),
        ("the fair is on friday not monday", "tom comes on monday"),
        ("its friday not monday", "tom comes on sunday"),
    ],
)
def test_what_leaves_a_doubt_is_no_correction(said, before):
    found = completed(said, [before])
    assert found is None


@pytest.mark.parametrize(
    ("said", "known", "over"),
    [
        ("they have not found tom", "My brother Tom has been missing since the flood.", False),
        ("have they found tom?", "My brother Tom has been missing since the flood.", False),
        ("they found my purse", "My brother Tom has been missing since the flood.", False),
        ("my brother Jack is back", "My brother Tom is missing.", False),
        ("im better now", "my brother is sick", False),
        ("i found a coin", "i lost my purse", False),
        ("if tom is back i'll be glad", "My brother Tom is missing.", False),
        ("the bridge is open again", "the bridge is closed", True),
        ("i don't drink ale anymore", "i drink ale every evening", True),
        ("i don't love him anymore", "i love my dog", False),
        ("I close at eleven now.", "I close at ten now.", True),
        ("Room two is yours now.", "Room three is yours.", False),
        ("I lent Bram three marks again.", "I lent Bram two marks.", False),
    ],
)
def test_a_state_ends_when_its_end_is_told(said, known, over):
    assert contradicts(said, known) is over


@pytest.mark.parametrize(
    ("known", "meant", "told"),
    [
        (
            "i keep two hundred and twelve hens",
            "i keep two hundred and ten hens",
            "two hundred and ten",
        ),
        ("i live with rolf and keep seven hens", "i live with eve and keep seven hens", "eve"),
        ("by the old mill, i keep three hens", "by the mill, i keep three hens", ""),
    ],
)
def test_what_was_set_right_is_told_alone(known, meant, told):
    assert changed(known, meant) == told
