"""What is said reaches a memory in the next turns of the reactor, as it was when it was said."""

import sqlite3
import time
from contextlib import closing, contextmanager

import pytest
from django.db import OperationalError
from evennia.utils.create import create_object
from twisted.internet import reactor

from contrib_ai_memory import hearing_queue, npc, offload
from contrib_ai_memory.admin import erase
from contrib_ai_memory.store import condition, memory_store
from contrib_ai_memory.store.journal import Journal
from contrib_ai_memory.store.people import entity_type_of
from world.game import locked

TURNS = 50  # of `turns`, at most, until what is waited for is there
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


def until(turns, held):
    for _ in range(TURNS):
        if held():
            return
        turns()
    assert held()


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


@pytest.fixture
def broken_bram(bram, monkeypatch):
    """broken_bram(error): whatever Bram says fails by itself, as by a faulty typeclass."""
    seen_as = entity_type_of

    @contextmanager
    def breaks(error):
        def fails(obj):
            if obj is bram:
                raise error
            return seen_as(obj)

        with monkeypatch.context() as broken:
            broken.setattr("contrib_ai_memory.npc.entity_type_of", fails)
            yield

    return breaks


def test_a_line_that_fails_by_itself_lets_the_others_by_and_is_tried_again(
    alice, bram, broken_bram, written, turns, monkeypatch, logged
):
    monkeypatch.setattr(hearing_queue, "HELD_SECONDS", 0.1)
    with broken_bram(ZeroDivisionError()):
        bram.execute_cmd("say I keep sheep.")
        alice.execute_cmd(f"say {WOLVES}")
        for _ in range(3):
            turns()
        assert written()[-1] == WOLVES
        assert sum("taking in what" in line for line in logged()) == 1
    until(turns, lambda: written()[-1] == "I keep sheep.")
    assert written().count("I keep sheep.") == 1


def test_what_is_said_after_a_line_that_failed_does_not_wait_until_that_is_tried_again(
    alice, bram, broken_bram, written, turns
):
    with broken_bram(ZeroDivisionError()):
        bram.execute_cmd("say I keep sheep.")
        turns()
        turns()
        alice.execute_cmd(f"say {WOLVES}")
        turns()
        turns()
        assert written()[-1] == WOLVES


def test_an_error_of_the_database_that_only_one_line_meets_lets_the_others_by(
    alice, bram, broken_bram, written, turns
):
    with broken_bram(OperationalError("no such table: game_guilds")):
        bram.execute_cmd("say I keep sheep.")
        alice.execute_cmd(f"say {WOLVES}")
        until(turns, lambda: written()[-1] == WOLVES)


def test_a_line_that_failed_is_tried_once_more_when_the_server_stops(
    mara, bram, broken_bram, written, turns, monkeypatch
):
    with broken_bram(ZeroDivisionError()):
        bram.execute_cmd("say I keep sheep.")
        turns()
        turns()
    with monkeypatch.context() as stop:
        stop.setattr(offload, "drain", lambda: None)
        stop.setattr(memory_store, "close_shared", lambda: None)
        mara.assistant.at_server_reload()
    assert [each.content for each in Journal(mara).read()][-1] == "I keep sheep."


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


# --- a database that another process holds --------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(hearing_queue, "RETRY_SECONDS", 0.02)


def test_lines_said_while_another_process_holds_the_database_are_all_kept_once_and_in_order(
    database_file, impatient, mara, alice, bram, turns, written, logged
):
    said = [f"Cart {number} carries barley to Harrow Hill." for number in range(9)]
    bram.execute_cmd("say Good day.")
    turns()
    before = len(written())
    with locked(database_file):
        for number, line in enumerate(said):
            (alice, bram)[number % 2].execute_cmd(f"say {line}")
            turns()
        assert len(condition.troubles()) == 1
    until(turns, lambda: len(written()) >= before + 9)
    until(turns, lambda: not mara.memory.unwritten)
    heard = [each.content for each in Journal(mara).read() if each.origin != "self"]
    assert heard[-9:] == said
    assert mara.memory.people.get(mara.get_memory_identity(bram)).interactions == 5
    assert condition.troubles() == []
    assert sum("held by another program" in line for line in logged()) == 1
    assert not any("failed" in line for line in logged())


def test_what_is_in_the_journal_when_the_database_is_locked_is_written_when_it_is_free(
    database_file, impatient, mara, alice, turns, written
):
    alice.execute_cmd(f"say {WOLVES}")
    until(turns, lambda: written()[-1] == WOLVES)
    with locked(database_file):
        mara.memory.flush()
        assert mara.memory.unwritten
    until(turns, lambda: not mara.memory.unwritten)
    assert [each.content for each in Journal(mara).read()][-1] == WOLVES


def test_a_question_asked_while_the_database_is_locked_is_answered_once_afterwards(
    database_file, impatient, mara, alice, turns, written, hears
):
    alice.execute_cmd("say Mara, I keep the ferry at Millbrook.")
    until(turns, lambda: any(line.startswith("I see") for line in written()))  # its answer
    heard = hears(alice)
    with locked(database_file):
        alice.execute_cmd("say Mara, what do I keep at Millbrook?")
        for _ in range(3):
            turns()
    until(turns, lambda: any("Mara says" in line for line in heard))
    assert sum("Mara says" in line for line in heard) == 1
    assert "ferry" in heard[-1]


def test_a_question_whose_turn_comes_while_the_database_is_locked_is_answered_afterwards(
    database_file, impatient, settings, mara, alice, turns, written, hears, logged
):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"REPLY_COOLDOWN": 0.5}
    alice.execute_cmd("say Mara, I keep the ferry at Millbrook.")
    until(turns, lambda: any("ferry" in line for line in written()))
    heard = hears(alice)
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    until(turns, lambda: bool(mara.assistant.state.answer_queue))
    with locked(database_file):
        mara.attributes.reset_cache()  # its own settings are read from the database again
        for _ in range(3):
            time.sleep(0.3)
            turns()
    until(turns, lambda: any("ferry" in line for line in heard))
    assert not any("failed" in line for line in logged())


@pytest.fixture
def unread(mara, monkeypatch):
    """The first read of a line that Mara hears fails, as that of a locked database does."""
    read, left = npc._is_switched_off, [1]

    def fails_once(obj):
        if obj is mara and left and left.pop():
            raise OperationalError("database is locked")
        return read(obj)

    monkeypatch.setattr(npc, "_is_switched_off", fails_once)


def test_a_whisper_that_could_not_be_read_at_once_keeps_all_who_heard_it(
    mara, alice, bram, turns, written, unread
):
    hearing_queue.take_in(mara, lambda: None)  # the queue is under way already
    alice.execute_cmd(f"whisper mara,bram = {WOLVES}")
    until(turns, lambda: written()[-1] == WOLVES)
    line = mara.memory.journal.tail(1)[0]
    assert set(line.witnesses) == {mara.get_memory_identity(each) for each in (alice, bram)}


def test_words_of_another_npc_that_could_not_be_read_at_once_can_still_be_followed(
    mara, alice, tavern, turns, written, unread
):
    odo = create_object(type(mara), key="Odo", location=tavern)
    own = odo.speak(WOLVES, alice, private=False)
    until(turns, lambda: written()[-1] == WOLVES)
    [line] = mara.memory.journal.tail(1)
    assert line.utterance == f"{odo.memory.id}:{own.id}"


def test_beyond_its_bound_lines_are_lost_and_the_log_says_how_many_of_whom(
    database_file, impatient, mara, alice, turns, written, logged, monkeypatch
):
    monkeypatch.setattr(hearing_queue, "LINES_KEPT", 5)
    mara.memory.flush()
    with locked(database_file):
        for number in range(8):
            alice.execute_cmd(f"say Barrel {number} holds apples.")
    until(turns, lambda: "Barrel 4 holds apples." in written())
    turns()
    assert "Barrel 5 holds apples." not in written()
    told = [line for line in logged() if mara.dbref in line]
    assert "no more are kept" in told[0] and "3 lines that it heard are lost" in told[1]


def test_lines_lost_behind_a_full_journal_are_counted_too(
    database_file, impatient, mara, alice, turns, written, logged, monkeypatch
):
    monkeypatch.setattr(hearing_queue, "LINES_KEPT", 5)
    with monkeypatch.context() as full:  # as on a full disk
        full.setattr(Journal, "unwritten", property(lambda self: 5))
        for number in range(3):
            alice.execute_cmd(f"say Barrel {number} holds apples.")
            turns()
    until(turns, lambda: any("3 lines that it heard are lost" in line for line in logged()))
    assert sum("no more are kept" in line for line in logged()) == 1


def test_a_reader_that_keeps_the_database_from_being_written_is_waited_for_as_a_lock_is(
    database_file, impatient, mara, alice, turns, written, logged
):
    mara.memory.flush()
    with closing(sqlite3.connect(database_file, isolation_level=None)) as backup:
        backup.execute("BEGIN")
        backup.execute("SELECT count(*) FROM sqlite_master").fetchone()
        alice.execute_cmd(f"say {WOLVES}")
        until(turns, lambda: written()[-1] == WOLVES)
        for _ in range(3):
            mara.memory.flush()
        assert mara.memory.unwritten and condition.troubles()
    until(turns, lambda: not mara.memory.unwritten)
    assert sum("held by another program" in line for line in logged()) == 1
    assert [each.content for each in Journal(mara).read()][-1] == WOLVES
