"""The heartbeat: latch, deadline, re-arming; what it answers, and how."""

import pytest
from twisted.internet import defer

from contrib_ai_memory import offload
from contrib_ai_memory.offline.phrases import PHRASES
from contrib_ai_memory.script import KEY, AssistantScript
from contrib_ai_memory.store import memory_store


def test_an_npc_has_one_heartbeat_however_often_it_is_asked_for(mara, alice):
    alice.execute_cmd("say Good day.")
    assert mara.assistant == mara.assistant
    assert len(mara.scripts.get(KEY)) == 1


def test_a_tick_indexes_what_was_heard(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry.")
    offload.wait(mara.assistant.at_tick())
    assert memory_store.shared().count(mara.memory.id, record="entry") == 1
    assert mara.memory.journal.cursors["indexed"] == 1


def test_a_tick_is_skipped_while_the_last_one_is_busy(mara, monkeypatch):
    started, held = [], defer.Deferred()

    def slow():
        started.append(1)
        return held

    script = mara.assistant
    monkeypatch.setattr(script, "_awake_beat", slow)
    script.at_tick()
    script.at_tick()
    assert len(started) == 1
    held.callback(None)
    script.at_tick()
    assert len(started) == 2


def test_a_tick_past_its_deadline_is_given_up(mara, monkeypatch):
    monkeypatch.setattr("contrib_ai_memory.script.TICK_DEADLINE_SECONDS", 0.001)
    started = []

    def stuck():
        started.append(1)
        return defer.Deferred()

    script = mara.assistant
    monkeypatch.setattr(script, "_awake_beat", stuck)
    script.at_tick()
    import time

    time.sleep(0.01)
    script.at_tick()
    assert len(started) == 2


def test_a_failed_tick_frees_the_latch(mara, monkeypatch):
    script = mara.assistant
    monkeypatch.setattr(script, "_awake_beat", lambda: 1 / 0)
    failed = []
    script.at_tick().addErrback(failed.append)
    assert failed[0].check(ZeroDivisionError)
    assert script.state.busy_since is None


def test_switched_off_the_heart_stands_still(mara, monkeypatch, settings):
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "ENABLED": False}
    script = mara.assistant
    monkeypatch.setattr(script, "_awake_beat", lambda: pytest.fail("it beat"))
    offload.wait(script.at_tick())


def test_it_is_rearmed_at_server_start_when_its_timer_is_gone(mara):
    script = mara.assistant
    script.ndb._task = None  # as after kill -9
    script.at_server_start()
    assert script.ndb._task is not None and script.ndb._task.running


def test_a_heartbeat_that_a_builder_paused_stays_paused(mara):
    script = mara.assistant
    script.pause()
    script.at_server_start()
    assert script.ndb._task is None


def test_a_new_typeclass_gets_its_heartbeat_with_the_first_word(tavern, alice):
    from evennia.utils.create import create_object

    npc = create_object("typeclasses.characters.Character", key="Odo", location=tavern)
    npc.swap_typeclass("typeclasses.npcs.AssistantNPC", run_start_hooks=None)
    alice.execute_cmd("say Good day, Odo.")
    assert isinstance(npc.scripts.get(KEY)[0], AssistantScript)


# --- answering ----------------------------------------------------------------------------------


def test_it_answers_from_what_it_was_told(mara, alice, hears):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    heard = hears(alice)
    alice.execute_cmd("say What do I keep at Millbrook?")
    assert heard[-1].endswith('says, "You told me that you keep the ferry at Millbrook."')


def test_a_secret_is_whispered_back_where_others_listen(mara, alice, bram, hears):
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
    alices, brams = hears(alice), hears(bram)
    alice.execute_cmd("say Mara, where did I hide my key?")
    assert "third step" in alices[-1]
    assert "whispers" in alices[-1]
    assert not any("third step" in line for line in brams)


def test_a_secret_told_aloud_to_its_owner_alone_stays_a_secret(mara, alice, bram, tavern, hears):
    bram.location = None
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
    alice.execute_cmd("say Where did I hide my key?")
    own = [entry for entry in mara.memory.journal.read() if "third step" in entry.content][-1]
    assert (own.origin, own.private) == ("self", True)
    bram.location = tavern
    heard = hears(bram)
    bram.execute_cmd("say Mara, what is under the third step?")
    assert "key" not in heard[-1]


def test_an_answer_without_a_secret_in_it_is_given_aloud(mara, alice, bram, hears):
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    heard = hears(bram)
    alice.execute_cmd("say Mara, who keeps the ferry at Millbrook?")
    told = 'says, "You told me that you keep the ferry'
    assert any(told in line for line in heard), heard


def test_a_reply_is_a_value_never_a_template(mara, alice, bram, hears):
    alice.execute_cmd("say I carve |rred|n $pad(x,50) {location} <b>signs</b> for the ferry.")
    heard = hears(bram)
    bram.execute_cmd("say Mara, what do you know about Alice?")
    assert "$pad(x,50) {location} <b>signs</b>" in heard[-1]


def test_what_reached_a_reply_counts_as_accessed_once_a_conversation(mara, alice):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    for _ in range(3):
        alice.execute_cmd("say Where do I keep the ferry?")
    memory = memory_store.shared().list(mara.memory.id, record="entry")
    [ferry] = [m for m in memory if m.content.startswith("I keep")]
    assert ferry.access_count == 2


def test_a_deleted_npc_leaves_nothing_in_the_store(mara, alice):
    alice.execute_cmd("say I keep the ferry.")
    offload.wait(mara.assistant.at_tick())
    agent_id = mara.memory.id
    assert memory_store.shared().count(agent_id) > 0
    mara.delete()
    assert memory_store.shared().count(agent_id) == 0


def test_one_answer_that_fails_does_not_silence_the_npc(mara, alice, monkeypatch, hears):
    spoken = mara.at_memory_reply

    def broken(*args, **kwargs):
        raise AttributeError("a game's own hook is broken")

    monkeypatch.setattr(mara, "at_memory_reply", broken)
    alice.execute_cmd("say Good day.")
    monkeypatch.setattr(mara, "at_memory_reply", spoken)
    heard = hears(alice)
    alice.execute_cmd("say Good day again.")
    assert any(phrase.format(name="Alice") in heard[-1] for phrase in PHRASES["greeted again"]), (
        heard
    )


def test_someone_without_an_identity_is_a_witness_of_nothing(mara, alice, bram, monkeypatch, hears):
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
    identity = mara.get_memory_identity
    monkeypatch.setattr(
        mara, "get_memory_identity", lambda obj: "" if obj == bram else identity(obj)
    )
    heard = hears(bram)
    bram.execute_cmd("say Mara, where is the silver key?")
    assert not any("third step" in line for line in heard)


def test_switched_off_nobody_is_sent_to_sleep(mara, settings):
    from contrib_ai_memory.sleep.night import SwitchedOff

    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "ENABLED": False}
    with pytest.raises(SwitchedOff, match="ENABLED"):
        offload.wait(mara.assistant.sleep.whole_night())
    assert not mara.assistant.asleep


def test_a_night_that_cannot_be_slept_leaves_the_npc_awake(mara, alice):
    from contrib_ai_memory.store.condition import StoreClosed

    alice.execute_cmd("say I keep the ferry.")
    memory_store.close_shared()
    with pytest.raises(StoreClosed):
        offload.wait(mara.assistant.sleep.whole_night())
    assert not mara.assistant.asleep


def _late(times):
    """A memory process that is too late with its first jobs."""
    left = [times]

    def do(job, args, reads):
        if left[0]:
            left[0] -= 1
            raise offload.TimedOut("the memory worker gave no answer in 60 s")
        return job(*args)

    return do


def test_a_night_whose_worker_is_late_twice_is_slept_to_its_end(mara, alice, monkeypatch):
    alice.execute_cmd("say I keep the ferry.")
    monkeypatch.setattr(offload, "_apart", _late(2))
    offload.wait(mara.assistant.sleep.whole_night())
    assert mara.assistant.sleep.records[-1]["whole"] and not mara.assistant.asleep


def test_a_night_whose_worker_stays_late_is_broken_off_in_words_that_say_so(
    mara, alice, builder, monkeypatch
):
    alice.execute_cmd("say I keep the ferry.")
    with monkeypatch.context() as busy:
        busy.setattr(offload, "_apart", _late(99))
        told = builder("@sleep/now mara")
    assert "Mara was woken early" in told and "next one" in told
    assert not mara.assistant.asleep
    offload.wait(mara.assistant.sleep.whole_night())
    assert mara.assistant.sleep.records[-1]["whole"]


def test_a_deleted_npc_leaves_nothing_in_mem0s_history_either(mara, alice, store_folder):
    alice.execute_cmd("say I hide an xylophone in Elmstead since the flood.")
    offload.wait(mara.assistant.sleep.whole_night())
    history = store_folder / "mem0" / "history.db"
    assert b"xylophone" in history.read_bytes()
    mara.delete()
    assert b"xylophone" not in history.read_bytes()


def test_what_talks_to_a_model_is_loaded_at_start_and_only_where_there_is_one(
    settings, store_folder, db, monkeypatch
):
    import sys

    name = "openai.resources.chat"
    monkeypatch.delitem(sys.modules, name, raising=False)
    from contrib_ai_memory import store_opening

    store_opening._open_all()
    store_opening._load_here()
    assert name not in sys.modules
    settings.CONTRIB_AI_MEMORY |= {"LLM": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}}
    store_opening._load_here()
    assert name in sys.modules


def test_an_answer_waits_for_no_backlog_and_knows_what_was_said_last(mara, alice, bram, hears):
    for number in range(200):
        bram.execute_cmd(f"say Barrel {number} is full of salted herring.")
    alice.execute_cmd("say The bell of the ferry is green.")
    heard = hears(alice)
    alice.execute_cmd("say Mara, what colour is the bell of the ferry?")
    assert "green" in heard[-1]
    stored = offload.wait(mara.memory.counts())["entry"]
    assert stored <= 20, "the rest is for the ticks"
    while not offload.wait(mara.memory.index_pending()):
        pass
    assert offload.wait(mara.memory.counts())["entry"] >= 201
