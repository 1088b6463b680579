"""Who waits is answered in turn: a flood by one player silences the NPC for nobody else."""

from datetime import UTC, datetime, timedelta

import pytest
from evennia.utils.create import create_object
from twisted.internet import defer

from contrib_ai_memory import offload
from contrib_ai_memory.answer_queue import AnswerQueue
from contrib_ai_memory.store import memory_store


@pytest.fixture
def cerys(tavern):
    return create_object("typeclasses.characters.Character", key="Cerys", location=tavern)


@pytest.fixture
def busy(mara, alice, bram):
    """Mara while somebody looks after her memory: what is said to her waits."""
    alice.execute_cmd("say Mara, good day.")
    alice.execute_cmd("say Mara, I keep the ferry at Millbrook.")
    bram.execute_cmd("say Mara, I keep sheep at Thornwick.")
    offload.wait(mara.assistant.hold_still())
    return mara


def replies(npc, since):
    """What the NPC said of itself after entry `since`, in order."""
    return [e.content for e in npc.memory.journal.read(since + 1) if e.origin == "self"]


def test_a_flood_by_one_player_leaves_the_others_their_answers(busy, alice, bram, cerys):
    since = len(busy.memory.journal)
    for number in range(30):
        alice.execute_cmd(f"say Mara, look at number {number}!")
    bram.execute_cmd("say Mara, what do I keep at Thornwick?")
    cerys.execute_cmd("say Good evening, Mara.")
    busy.assistant.let_go()
    said = replies(busy, since)
    assert any("keep sheep at Thornwick" in line for line in said)
    assert any(line.endswith(("Well met, Cerys.", "Good to meet you, Cerys.")) for line in said)


def test_a_flood_is_excused_once_and_costs_no_more_than_one_answer(busy, alice, hears):
    since, heard = len(busy.memory.journal), hears(alice)
    for number in range(30):
        alice.execute_cmd(f"say Mara, look at number {number}!")
    busy.assistant.let_go()
    alice.execute_cmd("say Mara, are you deaf?")
    said = replies(busy, since)
    assert said[0] == "One thing at a time, Alice."
    assert len(said) == 2
    assert sum("One thing at a time" in line for line in heard) == 1


def test_a_flood_costs_a_model_no_more_than_one_call(busy, alice, server, speaks_through):
    speaks_through()
    before = len(server.requests)
    for number in range(30):
        alice.execute_cmd(f"say Mara, look at number {number}!")
    busy.assistant.let_go()
    assert len(server.requests) - before <= 1


def test_a_whispered_flood_is_excused_in_a_whisper(busy, alice, bram, hears):
    alices, brams = hears(alice), hears(bram)
    for number in range(10):
        alice.execute_cmd(f"whisper Mara = look at number {number}!")
    assert any("whispers" in line and "One thing at a time" in line for line in alices)
    assert not any("One thing" in line for line in brams)


def test_each_speaker_has_one_line_in_turn(busy, alice, bram, cerys):
    since = len(busy.memory.journal)
    alice.execute_cmd("say Mara, good day.")
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    bram.execute_cmd("say Mara, what do I keep at Thornwick?")
    alice.execute_cmd("say Thanks, Mara.")
    cerys.execute_cmd("say Good evening, Mara.")
    busy.assistant.let_go()
    first, second, third, fourth, fifth = replies(busy, since)
    assert first in ("Hello, Alice.", "And a good day to you, Alice.")  # they spoke before
    assert "Thornwick" in second
    assert third.startswith(("Good to meet you, Cerys.", "Well met, Cerys."))
    assert "Millbrook" in fourth
    assert fifth in ("Gladly, Alice.", "You are welcome, Alice.")


def test_nothing_that_waits_is_lost_when_the_memory_is_held_again_and_again(busy, alice, bram):
    since = len(busy.memory.journal)
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    again = busy.assistant.hold_still()
    busy.assistant.let_go()
    offload.wait(again)
    bram.execute_cmd("say Mara, what do I keep at Thornwick?")
    busy.assistant.let_go()
    said = replies(busy, since)
    assert len(said) == 2
    assert "Millbrook" in said[0] and "Thornwick" in said[1]


def test_an_answer_that_outlives_the_patience_of_whoever_holds_still_takes_no_turn_of_another(
    busy, alice, bram, monkeypatch
):
    script, waiting = busy.assistant, []
    monkeypatch.setattr(
        script, "_answer", lambda *_: waiting.append(defer.Deferred()) or waiting[-1]
    )
    script.let_go()
    alice.execute_cmd("say Mara, who are you?")
    offload.wait(script.hold_still())  # past its deadline, as no reactor runs
    bram.execute_cmd("say Mara, where is the inn?")
    script.let_go()
    late, present = waiting
    late.callback(None)
    assert script.state.answering, "the second is still answered"
    present.callback(None)
    assert not script.state.answering and len(waiting) == 2


def test_a_question_whose_answer_was_given_up_is_answered_later(busy, alice, bram, monkeypatch):
    script, answer, waiting = busy.assistant, type(busy.memory).answer, []

    @defer.inlineCallbacks
    def answer_late(self, entry, actions=None):
        with self.evidence.work_on([entry], priority=offload.REPLY) as work:
            if len(waiting) < 2:
                waiting.append(defer.Deferred())
                yield waiting[-1]
            work.check()
        return (yield answer(self, entry, actions))

    monkeypatch.setattr(type(busy.memory), "answer", answer_late)
    script.let_go()
    since = len(busy.memory.journal)
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    offload.wait(script.hold_still())  # past its deadline, as no reactor runs
    script.let_go()
    bram.execute_cmd("say Mara, what do I keep at Thornwick?")
    late, present = waiting
    late.callback(None)
    assert script.state.answering_line.speaker is bram, "a reload would not take his line up"
    assert replies(busy, since) == []
    present.callback(None)
    thornwick, millbrook = replies(busy, since)
    assert "Thornwick" in thornwick and "Millbrook" in millbrook
    assert not script.state.answering


def test_whoever_looks_after_the_memory_comes_between_two_answers(busy, alice, bram, monkeypatch):
    script, spoken = busy.assistant, busy.at_memory_reply
    script.let_go()
    since = len(busy.memory.journal)

    def meanwhile(*args, **kwargs):
        monkeypatch.setattr(busy, "at_memory_reply", spoken)
        script.hold_still()
        bram.execute_cmd("say Mara, what do I keep at Thornwick?")
        spoken(*args, **kwargs)

    monkeypatch.setattr(busy, "at_memory_reply", meanwhile)
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    assert len(replies(busy, since)) == 1
    script.let_go()
    assert len(replies(busy, since)) == 2


def test_whoever_has_flooded_is_answered_again_when_they_have_been_quiet(busy, alice):
    now = [0.0]
    busy.assistant.state.answer_queue = AnswerQueue(lambda: now[0])
    for number in range(9):
        alice.execute_cmd(f"say Mara, look at number {number}!")
    busy.assistant.let_go()
    since = len(busy.memory.journal)
    now[0] = 9.0
    alice.execute_cmd("say Mara, good day.")
    now[0] = 18.0
    alice.execute_cmd("say Mara, good day.")
    assert replies(busy, since) == [], "nine seconds are not quiet yet"
    now[0] = 28.5
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    [answer] = replies(busy, since)
    assert "Millbrook" in answer


def test_a_crowd_waits_within_bounds_and_everybody_else_is_excused(busy, tavern):
    since = len(busy.memory.journal)
    crowd = [
        create_object("typeclasses.characters.Character", key=f"Guest{n}", location=tavern)
        for n in range(33)
    ]
    for guest in crowd:
        guest.execute_cmd("say Good evening, Mara.")
    assert len(busy.assistant.state.answer_queue) == 30
    assert replies(busy, since) == [
        f"Not now, Guest{n}: there are too many before you." for n in (30, 31, 32)
    ]


# --- lines that are answered later ----------------------------------------------------------------


@pytest.fixture
def reloads(monkeypatch):
    def reload(npc):
        with monkeypatch.context() as stop:
            stop.setattr(offload, "drain", lambda: None)
            stop.setattr(memory_store, "close_shared", lambda: None)
            npc.assistant.at_server_reload()
        npc.assistant.ndb.state = None
        npc.assistant.at_server_start()

    return reload


def test_what_waited_at_a_reload_is_answered_after_it_to_those_who_are_still_here(
    busy, alice, bram, reloads
):
    since = len(busy.memory.journal)
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    bram.execute_cmd("say Mara, what do I keep at Thornwick?")
    alice.execute_cmd("say Thanks, Mara.")
    bram.location = None
    reloads(busy)
    millbrook, thanks = replies(busy, since)
    assert "Millbrook" in millbrook and thanks in ("Gladly, Alice.", "You are welcome, Alice.")
    bram.location = busy.location
    reloads(busy)
    assert len(replies(busy, since)) == 2, "it is answered once, or never"


def test_three_lines_of_a_speaker_outlast_a_reload_and_none_for_longer_than_ten_minutes(
    busy, alice, reloads
):
    since = len(busy.memory.journal)
    for text in ("what do I keep at Millbrook?", "good day.", "thank you."):
        alice.execute_cmd(f"say Mara, {text}")
    reloads(busy)
    assert len(replies(busy, since)) == 3
    offload.wait(busy.assistant.hold_still())
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    late = datetime.now(UTC) + timedelta(minutes=11)
    busy.memory.clock = late.isoformat
    reloads(busy)
    assert len(replies(busy, since)) == 3


def test_a_question_that_a_reload_cut_off_while_it_slept_is_answered_on_waking(
    busy, alice, reloads
):
    since = len(busy.memory.journal)
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    busy.assistant.db.operating_mode = "sleep"
    reloads(busy)
    assert replies(busy, since) == []
    busy.assistant.sleep.interrupt()
    [answer] = replies(busy, since)
    assert "while I slept" in answer and "Millbrook" in answer


def test_what_an_earlier_version_kept_is_answered_once(busy, alice, bram, reloads):
    busy.assistant.let_go()
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    bram.execute_cmd("say Mara, what do I keep at Thornwick?")
    questions = [e for e in busy.memory.journal.read() if "what do I keep" in e.content]
    hers, his = [each for each in questions if each.origin == "perceived"]
    since, script = len(busy.memory.journal), busy.assistant
    script.db.unanswered = [hers.id, 999]
    script.db.asked_asleep = [(his.id, his.timestamp)]
    script.ndb.state = None
    script.at_server_start()
    [answer] = replies(busy, since)
    assert "Millbrook" in answer and not script.attributes.has("asked_asleep")
    bram.execute_cmd("say Thanks, Mara.")
    *_, answer = replies(busy, since)
    assert "while I slept" in answer and "Thornwick" in answer
    count = len(replies(busy, since))
    reloads(busy)
    bram.execute_cmd("say Thanks, Mara.")
    assert len(replies(busy, since)) == count + 1
