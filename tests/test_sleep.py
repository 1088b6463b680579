"""The night: the journal is weighed, becomes facts, and is linked; a wake is deferred."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.english import contradiction
from contrib_ai_memory.records import FactDraft, PassReport
from contrib_ai_memory.sleep import consolidation
from contrib_ai_memory.sleep import night as night_module
from contrib_ai_memory.sleep.night import COMPACTING, DREAMING, PASSES, Night
from contrib_ai_memory.store import memory_store


@pytest.fixture
def day(mara, alice, bram):
    """A day of talk in the tavern."""
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("say My brother Tom has been missing since the flood.")
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step in Elmstead.")
    bram.execute_cmd("say Mara, wolves took two of my sheep.")
    bram.execute_cmd("say Mara, where is the mayor?")
    bram.execute_cmd("say Mara, you are the best cook in Millbrook.")
    return mara


def night(mara):
    return offload.wait(mara.assistant.sleep.whole_night())


def known(mara):
    return memory_store.shared().list(mara.memory.id, limit=None, record="fact")


def state(mara):
    """Everything that a night changes, but for the time it happened."""
    store = memory_store.shared()
    memories = sorted(store.list(mara.memory.id, limit=None), key=lambda m: m.id)
    links = {m.id: sorted(mara.memory.links.of(m.id)) for m in memories}
    links |= {e.id: sorted(mara.memory.links.of(e.id)) for e in mara.memory.journal.read()}
    entries = [e.to_dict() for e in mara.memory.journal.read()]
    return entries, memories, links, dict(mara.memory.journal.cursors)


def test_talk_becomes_facts_in_the_third_person(day):
    night(day)
    texts = {fact.content for fact in known(day)}
    assert "Alice keeps the ferry at Millbrook." in texts
    assert "Alice's brother Tom has been missing since the flood." in texts


def test_questions_and_talk_about_the_npc_make_no_facts(day):
    night(day)
    texts = " ".join(fact.content for fact in known(day))
    assert "mayor" not in texts
    assert "cook" not in texts


def test_what_a_provider_says_of_the_npc_itself_is_never_stored(day, monkeypatch):
    from contrib_ai_memory.offline.offline_provider import OfflineProvider

    def flattering(self, entries, npc_name, around=()):
        ids = (entries[0].id,)
        return [
            FactDraft("Mara was kind to Alice.", ids),
            FactDraft("The assistant helped Alice.", ids),
            FactDraft("Alice keeps the ferry at Millbrook.", ids),
        ]

    monkeypatch.setattr(OfflineProvider, "extract_facts", flattering)
    night(day)
    assert {fact.content for fact in known(day)} == {"Alice keeps the ferry at Millbrook."}


def test_the_npcs_own_words_make_no_facts(mara, alice, bram):
    mara.execute_cmd("say I was born in Elmstead in the year of the flood.")
    night(mara)
    assert known(mara) == []


def test_a_fact_from_a_whisper_is_as_private_as_the_whisper(day, alice):
    night(day)
    [secret] = [fact for fact in known(day) if "key" in fact.content]
    assert secret.private
    assert secret.witnesses == (day.get_memory_identity(alice),)


def test_entries_are_scored_consolidated_and_linked_with_their_facts(day):
    night(day)
    entry = day.memory.journal.get(1)
    assert entry.scoring_method == "offline"
    assert entry.consolidated
    [fact] = [fact for fact in known(day) if "ferry" in fact.content]
    assert fact.journal_ids == (1,)
    assert day.memory.links.of(1)[fact.id]["kind"] == "evidence"
    assert "1" in day.memory.links.of(fact.id)


def test_similar_memories_are_linked_in_both_directions(mara, alice, bram):
    alice.execute_cmd("say My brother Tom drowned in the flood at Millbrook.")
    bram.execute_cmd("say My friend Tom drowned in the flood at Millbrook.")
    night(mara)
    assert mara.memory.links.of(1)["2"]["kind"] == "similar"
    assert mara.memory.links.of(2)["1"] == mara.memory.links.of(1)["2"]


def test_a_second_night_over_the_same_day_changes_nothing(day):
    night(day)
    before = state(day)
    night(day)
    assert state(day) == before


@pytest.mark.parametrize("forgotten", ["scored", "consolidated", "linked", "indexed", "extracted"])
def test_a_pass_that_lost_its_place_ends_in_the_same_state(day, forgotten):
    """Killed after its work and before its cursor was written, a pass does that work again."""
    night(day)
    before = state(day)
    day.memory.journal.set_cursor(forgotten, 0)
    if forgotten == "consolidated":
        day.memory.journal.update(
            {e.id: {"consolidated": False} for e in day.memory.journal.read()}
        )
    night(day)
    _entries, memories, links, cursors = state(day)
    assert memories == before[1]
    assert links == before[2]
    assert cursors == before[3]


def test_what_is_new_the_next_day_is_taken_up_the_next_night(day, alice):
    night(day)
    alice.execute_cmd("say I sold my old ferry to Cora in Elmstead.")
    night(day)
    assert any("Cora" in fact.content for fact in known(day))


def test_the_same_fact_told_again_gains_evidence_not_a_twin(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    night(mara)
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    night(mara)
    [fact] = known(mara)
    assert len(fact.journal_ids) == 2
    assert fact.access_count == 2


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Bram lost two of 12 sheep.", "Bram lost two of 12 sheep!", True),
        ("Bram lost 2 sheep.", "Bram lost 3 sheep.", False),
        ("Bram likes Alice.", "Bram doesn't like Alice.", False),
        ("The ferry goes to Elmstead.", "The ferry goes to Millbrook.", False),
    ],
)
def test_numbers_negations_and_names_keep_facts_apart(a, b, same):
    assert contradiction.says_the_same(a, b) is same


def test_a_fact_from_several_entries_is_as_private_as_the_most_private(mara, day):
    entries = [day.memory.journal.get(1), day.memory.journal.get(3)]
    draft = FactDraft("Alice has a ferry and a key.", (entries[0].id, entries[1].id))
    assert entries[1].private
    [fact] = consolidation.facts_of(day.memory.id, [draft], entries, "llm")
    assert fact.private
    assert fact.witnesses == entries[1].witnesses


# --- asleep and awake ----------------------------------------------------------------------------


def test_asleep_it_hears_but_does_not_answer(mara, alice, hears):
    mara.assistant.sleep.begin()
    heard = hears(alice)
    alice.execute_cmd("say Good day, Mara.")
    alice.execute_cmd("say Mara?")
    assert [entry.origin for entry in mara.memory.journal.read()] == ["perceived"] * 2
    assert [line for line in heard if "asleep" in line] == ["Mara is fast asleep."]


@pytest.fixture
def answers(mara):
    """What Mara said of itself since."""
    before = len(mara.memory.journal)

    def read():
        return [e for e in mara.memory.journal.read(before + 1) if e.origin == "self"]

    return read


def test_what_it_is_asked_asleep_it_answers_on_waking(mara, alice, answers):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    mara.assistant.sleep.begin()
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    alice.execute_cmd("say Are you awake, Mara?")
    alice.execute_cmd("say It rains.")
    before = len(answers())
    mara.assistant.sleep.interrupt()
    [answer] = answers()[before:]
    assert answer.content.startswith(
        'Alice, you asked me something while I slept: "Mara, what do I keep at Millbrook?"'
    )
    assert "ferry" in answer.content
    mara.assistant.sleep.begin()
    mara.assistant.sleep.interrupt()
    assert len(answers()) == before + 1, "it is answered once"


def test_of_what_one_person_asks_asleep_the_last_is_answered(mara, alice, bram, answers):
    mara.assistant.sleep.begin()
    alice.execute_cmd("say Mara, where is my brother?")
    bram.execute_cmd("say Mara, where is my dog?")
    alice.execute_cmd("say Mara, where is my boat?")
    mara.assistant.sleep.interrupt()
    told = [each.content for each in answers() if "while I slept" in each.content]
    assert ["dog" in told[0], "boat" in told[1], len(told)] == [True, True, 2]


def test_who_has_left_is_answered_when_they_speak_to_it_again(mara, alice, bram, answers, tavern):
    mara.assistant.sleep.begin()
    alice.execute_cmd("say Mara, where is my brother?")
    alice.location = None
    mara.assistant.sleep.interrupt()
    bram.execute_cmd("say Mara, good morning.")
    assert not any("while I slept" in each.content for each in answers())
    alice.location = tavern
    alice.execute_cmd("say Good morning, Mara.")
    *_, greeting, answer = answers()
    assert "while I slept" not in greeting.content
    assert 'while I slept: "Mara, where is my brother?"' in answer.content


def test_the_schedule_that_earlier_versions_wrote_to_every_npc_is_not_its_own(mara):
    hours = {"enabled": False, "sleep_start_hour": 2, "sleep_duration_hours": 4, "clock": "server"}
    mara.assistant.db.sleep_schedule = hours | {"tick_rate_sleep": 60}
    assert mara.assistant.sleep.own_schedule == {}
    mara.assistant.db.sleep_schedule = hours | {"tick_rate_sleep": 60, "sleep_start_hour": 3}
    assert mara.assistant.sleep.own_schedule == hours | {"sleep_start_hour": 3}


def test_what_was_whispered_asleep_is_answered_in_a_whisper(mara, alice, bram, hears, answers):
    mara.assistant.sleep.begin()
    alice.execute_cmd("whisper Mara = Where is the hidden key?")
    alices, brams = hears(alice), hears(bram)
    mara.assistant.sleep.interrupt()
    assert any("hidden key" in line for line in alices)
    assert not any("hidden key" in line for line in brams)
    assert answers()[-1].private


def test_a_question_that_was_forgotten_meanwhile_is_not_answered(mara, alice, answers):
    mara.assistant.sleep.begin()
    alice.execute_cmd("say Mara, where is my brother?")
    mara.memory.journal.remove([len(mara.memory.journal)])
    mara.assistant.sleep.interrupt()
    assert answers() == []


def test_a_wake_while_compacting_is_deferred_until_dreaming(day):
    script = day.assistant
    script.sleep.begin()
    assert script.db.sleep_phase == COMPACTING
    assert script.sleep.wake() is False
    assert script.asleep
    for _ in range(10):
        script.sleep.make_due()
        offload.wait(script.at_tick())
        if not script.asleep:
            break
    assert not script.asleep
    cursors = day.memory.journal.cursors
    assert cursors["consolidated"] == len(day.memory.journal)
    assert "linked" not in cursors  # left for the next night


def test_a_wake_while_dreaming_is_honoured_at_once(day):
    script = day.assistant
    script.sleep.begin()
    first_dream = next(i for i, p in enumerate(PASSES) if p.phase == DREAMING)
    script.sleep._put(Night(first_dream))
    assert script.sleep.wake() is True
    assert not script.asleep


def test_what_a_wake_left_is_done_the_next_night(day):
    test_a_wake_while_compacting_is_deferred_until_dreaming(day)
    night(day)
    assert day.memory.journal.cursors["linked"] > 0


def test_the_night_goes_on_where_it_was_after_a_restart(day):
    script = day.assistant
    script.sleep.begin()
    offload.wait(script.at_tick())
    position = script.sleep.night.position
    assert position > 0
    script.nattributes.clear()  # what a restart does
    assert script.sleep.night.position == position
    assert script.asleep


def test_the_tick_of_the_night_is_slower_than_the_awake_one(day, settings):
    script = day.assistant
    script.sleep.begin()
    offload.wait(script.at_tick())
    before = script.sleep.night
    offload.wait(script.at_tick())  # within TICK_RATE_SLEEP
    assert script.sleep.night == before


def test_one_tick_does_a_bounded_number_of_steps(mara, monkeypatch):
    steps = []

    def endless(agent_id):
        from twisted.internet import defer

        steps.append(1)
        return defer.succeed(PassReport(done=False, read=1))

    monkeypatch.setattr(
        night_module, "PASSES", (night_module.Pass("endless", COMPACTING, endless),)
    )
    result = offload.wait(night_module.run_sleep_tick(mara.memory, Night()))
    assert len(steps) == night_module.STEPS_A_TICK
    told = result.passes["endless"]
    assert (told["read"], told["steps"]) == (night_module.STEPS_A_TICK, night_module.STEPS_A_TICK)


def test_a_pass_that_breaks_off_is_tried_again_then_left_out_and_told_of(mara, monkeypatch):
    from twisted.internet import defer

    tried, rest = [], []

    def broken(agent_id):
        tried.append(1)
        return defer.fail(RuntimeError("the |rdisk|n is full"))

    def fine(agent_id):
        rest.append(1)
        return defer.succeed(PassReport(done=True, read=1))

    passes = (
        night_module.Pass("broken", COMPACTING, broken),
        night_module.Pass("fine", DREAMING, fine),
    )
    monkeypatch.setattr(night_module, "PASSES", passes)
    done = night(mara)
    assert len(tried) == night_module.ATTEMPTS
    assert (
        done["broken"]["errors"] == ["RuntimeError: the |rdisk|n is full"] * night_module.ATTEMPTS
    )
    assert rest == [1]
    assert not mara.assistant.asleep


def test_every_pass_of_the_source_has_its_place():
    assert [p.name for p in PASSES if p.phase == COMPACTING] == [
        "score_pending_entries",
        "run_sleep_consolidation",
    ]
    assert "run_reflection" in [p.name for p in PASSES if p.phase == DREAMING]


def test_what_is_heard_while_a_batch_is_scored_is_scored_too(mara, alice, bram, monkeypatch):
    from contrib_ai_memory.llm import router
    from contrib_ai_memory.sleep import scoring

    alice.execute_cmd("say I keep the ferry at Millbrook.")
    ask = router.ask

    def interrupted(*args, **kwargs):
        alice.execute_cmd("say I sold a boat to Cora in Elmstead.")
        return ask(*args, **kwargs)

    monkeypatch.setattr(router, "ask", interrupted)
    offload.wait(scoring.score_pending_entries(mara.memory))
    monkeypatch.setattr(router, "ask", ask)
    assert mara.memory.journal.cursors["scored"] == 1
    night(mara)
    assert mara.memory.journal.get(2).scoring_method == "offline"


# --- when it sleeps -------------------------------------------------------------------------------


def test_it_does_not_go_to_sleep_of_its_own_will_where_that_would_be_rude(mara, alice):
    from contrib_ai_memory.answer_queue import PendingLine
    from contrib_ai_memory.sleep.night import NotNow

    alice.execute_cmd("say Mara, I keep the ferry.")
    with pytest.raises(NotNow, match="middle of a conversation"):
        mara.assistant.sleep.go_to_sleep()
    mara.memory.clock = lambda: "2100-01-01T00:00:00+00:00"
    entry = mara.memory.journal.get(1)
    mara.assistant.state.answer_queue.add(PendingLine(entry, alice))
    with pytest.raises(NotNow, match="somebody to answer"):
        mara.assistant.sleep.go_to_sleep()
    mara.assistant.state.answer_queue.clear()
    mara.assistant.sleep.go_to_sleep()
    with pytest.raises(NotNow, match="asleep already"):
        mara.assistant.sleep.go_to_sleep()


def test_a_schedule_sends_it_to_sleep_once_in_its_hours(mara):
    from datetime import datetime

    script = mara.assistant
    hour = datetime.now().hour
    script.sleep.set_schedule(
        enabled=True, sleep_start_hour=(hour + 2) % 24, sleep_duration_hours=1
    )
    offload.wait(script.at_tick())
    assert not script.asleep
    script.sleep.set_schedule(sleep_start_hour=hour, sleep_duration_hours=2)
    offload.wait(script.at_tick())
    assert script.asleep
    while script.asleep:
        script.sleep.make_due()
        offload.wait(script.at_tick())
    offload.wait(script.at_tick())
    assert not script.asleep  # once is enough for these hours
    assert len(script.sleep.records) == 1


def test_the_last_nights_are_recorded_and_no_more_than_thirty(mara, alice):
    from contrib_ai_memory.sleep.night import NIGHTS_KEPT

    alice.execute_cmd("say I keep the ferry at Millbrook.")
    night(mara)
    [record] = mara.assistant.sleep.records
    assert record["whole"] and record["started"] <= record["ended"]
    assert record["passes"]["run_sleep_consolidation"]["changed"] == 1
    assert record["passes"]["run_sleep_consolidation"]["seconds"] >= 0
    for _ in range(NIGHTS_KEPT):
        night(mara)
    assert len(mara.assistant.sleep.records) == NIGHTS_KEPT
    assert record not in mara.assistant.sleep.records
