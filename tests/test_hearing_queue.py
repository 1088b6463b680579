"""What is said reaches a memory in the next turns of the reactor, as it was when it was said."""

import pytest
from twisted.internet import reactor

from contrib_ai_memory import hearing_queue, offload
from contrib_ai_memory.admin import erase

WOLVES = "Wolves took two sheep at Thornwick."


@pytest.fixture(autouse=True)
def nothing_scheduled():
    """Nothing that earlier tests scheduled happens here: their NPCs are no more."""
    cancel_what_is_scheduled()
    yield
    cancel_what_is_scheduled()


def cancel_what_is_scheduled():
    for call in reactor.getDelayedCalls():
        if call.active():  # cancelling one may have cancelled another
            call.cancel()


@pytest.fixture
def turns(mara, alice, bram, monkeypatch):
    """As in a running game; turns() lets the reactor do what waits."""
    alice.execute_cmd("say Mara, good day.")

    def go():
        for _ in range(20):
            reactor.iterate(hearing_queue.LATER / 5)

    monkeypatch.setattr(reactor, "running", True)
    yield go
    go()


@pytest.fixture
def written(mara):
    """What is in the journal, without looking at what waits."""
    journal = mara.memory.journal
    return lambda: [entry.content for entry in journal.read()]


def test_a_line_is_taken_in_when_its_speaker_has_seen_it(mara, alice, written, turns, hears):
    seen = hears(alice)
    alice.execute_cmd(f"say {WOLVES}")
    assert any(WOLVES in line for line in seen)
    assert WOLVES not in written()
    turns()
    assert written()[-1] == WOLVES


def test_lines_are_taken_in_in_order_and_whoever_looks_sees_them_all(mara, alice, bram, turns):
    for number in range(5):
        (alice, bram)[number % 2].execute_cmd(f"say The river has risen {number} feet.")
    last = [entry.content for entry in mara.memory.journal.tail(5)]
    assert last == [f"The river has risen {number} feet." for number in range(5)]
    turns()
    assert [entry.content for entry in mara.memory.journal.tail(5)] == last


def test_its_own_words_come_behind_what_it_heard_before(mara, alice, turns):
    alice.execute_cmd(f"say {WOLVES}")
    mara.speak("That is bad news.", alice, private=False)
    assert [entry.content for entry in mara.memory.journal.tail(2)] == [WOLVES, "That is bad news."]


def test_who_was_there_is_who_was_there_when_it_was_said(mara, alice, bram, turns):
    bram.location = None
    alice.execute_cmd(f"say {WOLVES}")
    bram.location = mara.location
    turns()
    [line] = [entry for entry in mara.memory.journal.read() if entry.content == WOLVES]
    assert line.witnesses == (mara.get_memory_identity(alice),)


def test_a_line_that_waits_is_erased_with_its_speaker(mara, alice, written, turns, monkeypatch):
    alice.execute_cmd(f"say {WOLVES}")
    monkeypatch.setattr(reactor, "running", False)
    offload.wait(erase.erase_person(mara, mara.get_memory_identity(alice)))
    turns()
    assert WOLVES not in written()


def test_the_last_words_of_somebody_who_is_deleted_are_kept(mara, bram, written, turns):
    bram.execute_cmd(f"say {WOLVES}")
    bram.delete()
    turns()
    assert written()[-1] == WOLVES


def test_a_hook_that_fails_costs_one_line(mara, alice, written, turns):
    hearing_queue.take_in(mara, lambda: 1 / 0)
    alice.execute_cmd(f"say {WOLVES}")
    turns()
    assert written()[-1] == WOLVES


def test_what_a_deleted_npc_heard_is_dropped(mara, alice, written, turns):
    alice.execute_cmd(f"say {WOLVES}")
    mara.delete()
    turns()
    assert WOLVES not in written()


def test_what_npcs_say_while_all_is_caught_up_is_taken_in_too(mara, alice, written, turns):
    said = []
    hearing_queue.take_in(mara, lambda: said.append("first"))
    hearing_queue.take_in(
        alice, lambda: hearing_queue.take_in(mara, lambda: said.append("what came of it"))
    )
    assert hearing_queue.catch_up_all() == [mara, alice]
    assert said == ["first", "what came of it"]
