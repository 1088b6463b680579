"""Of two answers on one matter the later one is told."""

import pytest

from contrib_ai_memory import offload

pytestmark = pytest.mark.django_db

DAYS = [f"2026-03-{day:02}T12:00:00+00:00" for day in range(1, 10)]


@pytest.fixture
def says(mara, alice, bram):
    """says(0, alice, "the inn is full") gives what Mara says to it on the first day."""

    def say(day, who, words):
        mara.memory.clock = lambda: DAYS[day]
        before = len(mara.memory.journal)
        who.execute_cmd(f"say Mara, {words}")
        offload.wait(mara.assistant.at_tick())
        own = [each for each in mara.memory.journal.read(before + 1) if each.origin == "self"]
        mara.assistant.nattributes.clear()  # whoever asks is answered at once
        return own[-1].content if own else ""

    bram.location = None
    return say


def test_what_has_changed_since_is_told_without_what_was(says, alice, bram, tavern):
    says(0, alice, "the pass is shut, all of it. snow to the belly of a horse.")
    bram.location = tavern
    says(3, bram, "the pass is open since yesterday. and my cart is two days late.")
    answer = says(4, bram, "is the pass shut or open?")
    assert "open since" in answer and "belly" not in answer


def test_another_day_for_the_same_thing_takes_its_place(says, alice, bram, tavern):
    says(0, alice, "mind, the market shifts on the eleventh. new arches, by the tannery.")
    bram.location = tavern
    says(3, bram, "no bell, no market. it shifts on the twenty-fifth now, tell everybody.")
    answer = says(4, bram, "what day does the market shift to the new arches?")
    assert "twenty-fifth" in answer and "eleventh" not in answer


def test_the_past_is_told_to_one_who_asks_for_it(says, alice):
    says(0, alice, "i mind the mules here, nine years by now. touch brisket and she bites.")
    says(3, alice, "i am off the mules now. the captain put me in the pikes.")
    assert "nine years" in says(4, alice, "how long did i mind the mules?")
