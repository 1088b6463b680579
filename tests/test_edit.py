"""Changing a memory: add, teach, edit, pin, lock, pause, and undo."""

from dataclasses import replace
from functools import wraps

import pytest
from spent_day import entry_of, everything, fact_of

from contrib_ai_memory import offload
from contrib_ai_memory.admin import edit, forget, inspect, undo_log
from contrib_ai_memory.records import Percept
from contrib_ai_memory.sleep import pruning, reconciliation
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import entry_memory_id, memory_id_for

wait = offload.wait


# --- editing and adding ---------------------------------------------------------------------------


def test_an_edited_entry_is_found_by_its_new_words_and_undone_exactly(day, builder, alice):
    before = everything(day)
    entry = entry_of(day, "ferry")
    wait(edit.edit(day, alice, str(entry.id), content="I keep the windmill at Millbrook."))
    assert day.memory.journal.get(entry.id).content == "I keep the windmill at Millbrook."
    found = wait(day.memory.recall("windmill")).memories[0].memory
    assert found.content == "I keep the windmill at Millbrook."
    told = [m.memory.content for m in wait(day.memory.recall("Who keeps the ferry?")).memories]
    assert "I keep the ferry at Millbrook." not in told
    shown = wait(inspect.show(day, str(entry.id)))
    assert [(row.old, row.event) for row in shown.history] == [(entry.content, "UPDATE")]
    wait(edit.undo(day, alice))
    assert everything(day) == before
    assert wait(inspect.show(day, str(entry.id))).history == ()


def test_a_fact_is_edited_and_weighed(night, alice):
    before = everything(night)
    fact = fact_of(night, "ferry")
    wait(edit.edit(night, alice, fact.id, content="Alice owns |rthe mill.", importance=9))
    [now] = memory_store.shared().get([fact.id])
    assert (now.content, now.importance) == ("Alice owns the mill.", 0.9)
    assert now.journal_ids == fact.journal_ids
    shown = wait(inspect.show(night, fact.id))
    assert [row.new for row in shown.history] == [fact.content, "Alice owns the mill."]
    wait(edit.undo(night, alice))
    assert everything(night) == before
    assert [row.event for row in wait(inspect.show(night, fact.id)).history] == ["ADD"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "Say what to change"),
        ({"content": " |n "}, "To take a memory away, forget it"),
        ({"importance": 11}, "whole number from 1 to 10"),
        ({"content": "I keep the ferry at Millbrook."}, "Nothing to change"),
    ],
)
def test_an_edit_that_cannot_be_is_refused_with_a_sentence(day, alice, fields, why):
    before = everything(day)
    with pytest.raises(ValueError, match=why):
        wait(edit.edit(day, alice, str(entry_of(day, "ferry").id), **fields))
    assert everything(day) == before and undo_log.acts(day) == []


def test_what_is_added_is_undone(day, alice):
    before = everything(day)
    entry = wait(edit.add(day, alice, "The cellar floods in spring.", 7))
    assert entry.importance == 7 and "conscious" in entry.tags
    wait(edit.undo(day, alice))
    now = everything(day)
    assert now[0] == before[0] and now[1:] == before[1:]
    with pytest.raises(undo_log.NothingToUndo):
        wait(edit.undo(day, alice))


def test_what_is_taught_is_undone_with_the_preference_that_it_changed(mara, alice):
    wait(edit.teach(mara, alice, "I prefer tea to coffee."))
    before, held = everything(mara), list(mara.memory.preferences)
    learned = wait(edit.teach(mara, alice, "I prefer coffee to tea."))
    assert learned.new and list(mara.memory.preferences) != held
    assert wait(edit.undo(mara, alice)).deed == "teach"
    assert everything(mara) == before
    assert list(mara.memory.preferences) == held


def test_a_forgotten_lesson_takes_its_preference_with_it(mara, alice):
    [memory] = wait(edit.teach(mara, alice, "I like green tea.")).memories
    assert list(mara.memory.preferences)
    wait(forget.forget(mara, alice, memory.id))
    assert list(mara.memory.preferences) == []
    wait(edit.undo(mara, alice))
    assert [each.memory_id for each in mara.memory.preferences] == [memory.id]


# --- what a builder writes outranks what was drawn from lines -------------------------------------

ABOUT_ALICE = ["what does Alice keep?", "who keeps the mill at Millbrook?", "tell me about Alice"]


def asked_as(says, asker, other, *questions):
    other.location, asker.location = None, asker.location or other.location
    return [says(asker, question) for question in questions]


@pytest.fixture
def ferry(mara, alice, says):
    """The guide's evening: Alice has told of her ferry, and a night has made a fact of it."""
    says(alice, "I keep the ferry at Millbrook.")
    wait(mara.assistant.sleep.whole_night())
    return fact_of(mara, "ferry")


def test_what_a_command_corrects_is_what_is_said_next(mara, alice, bram, builder, says, ferry):
    short = ferry.id[:8]
    told = builder(f"@memory/edit mara = {short} Alice keeps the mill at Millbrook.")
    assert "@memory/edit Mara = 1 <new text>" in told
    for said in (
        *asked_as(says, alice, bram, "what do I keep?", "what do you know about me?"),
        *asked_as(says, bram, alice, *ABOUT_ALICE),
    ):
        assert "Alice keeps the mill at Millbrook." in said
        assert "ferry" not in said
    assert "ferry" not in says(bram, "who keeps the ferry?")


def test_an_undone_correction_lets_the_line_be_told_again(mara, alice, bram, says, ferry):
    before, known = everything(mara), mara.memory.profiles.get(ferry.about)
    wait(edit.edit(mara, alice, ferry.id, content="Alice keeps the mill at Millbrook."))
    assert "ferry" not in str(mara.memory.profiles.get(ferry.about))
    wait(edit.undo(mara, alice))
    assert everything(mara) == before
    assert mara.memory.profiles.get(ferry.about) == known
    [said] = asked_as(says, bram, alice, "what does Alice keep?")
    assert "ferry" in said and "mill at" not in said


def test_a_forgotten_correction_lets_the_line_be_told_again(mara, alice, bram, says, ferry):
    wait(edit.edit(mara, alice, ferry.id, content="Alice keeps the mill at Millbrook."))
    wait(forget.forget(mara, alice, ferry.id))
    [said] = asked_as(says, bram, alice, "what does Alice keep?")
    assert "ferry" in said


def test_a_corrected_line_is_told_in_place_of_what_was_drawn_from_it(
    mara, alice, bram, says, ferry
):
    wait(edit.edit(mara, alice, "1", content="I keep the mill at Millbrook."))
    for said in asked_as(says, bram, alice, *ABOUT_ALICE):
        assert "mill at Millbrook" in said and "ferry" not in said


def test_fact_and_line_are_corrected_one_after_the_other(mara, alice, bram, says, ferry):
    before = everything(mara)

    def correct():
        wait(edit.edit(mara, alice, ferry.id, content="Alice keeps the mill at Millbrook."))
        wait(edit.edit(mara, alice, "1", content="I keep the mill at Millbrook."))

    correct()
    wait(edit.undo(mara, alice))
    wait(edit.undo(mara, alice))
    assert everything(mara) == before
    correct()
    [line] = memory_store.shared().get([entry_memory_id(mara.memory.id, 1)])
    assert not line.superseded_by
    for said in asked_as(says, bram, alice, *ABOUT_ALICE):
        assert "mill at Millbrook" in said and "ferry" not in said


def test_what_else_a_corrected_line_told_stays(mara, alice, bram, says):
    says(alice, "I keep the ferry at Millbrook. My brother Jory guards the north gate.")
    wait(mara.assistant.sleep.whole_night())
    fact = fact_of(mara, "ferry")
    wait(edit.edit(mara, alice, fact.id, content="Alice keeps the mill at Millbrook."))
    said = asked_as(says, bram, alice, "who guards the north gate?", "what does Alice keep?")
    assert "Jory" in said[0] and "mill at Millbrook" in said[1]
    assert not any("ferry" in each for each in said)


def test_another_fact_of_the_same_line_and_person_stays(mara, alice, bram, says):
    bell = "The bell rings twice when the ferry comes. It was a gift of the abbot."
    says(alice, f"I keep the ferry at Millbrook. {bell}")
    wait(mara.assistant.sleep.whole_night())
    fact = fact_of(mara, "keeps the ferry")
    wait(edit.edit(mara, alice, fact.id, content="Alice keeps the mill at Millbrook."))
    [said] = asked_as(says, bram, alice, "whose gift was the bell?")
    assert "a gift of the abbot" in said


def test_a_corrected_debt_is_owed_as_it_was_corrected(mara, alice, bram, says):
    says(alice, "I owe Bram twelve marks for the boots.")
    wait(mara.assistant.sleep.whole_night())
    fact = fact_of(mara, "twelve")
    wait(edit.edit(mara, alice, fact.id, content="Alice owes Bram five marks for the boots."))
    for said in (
        *asked_as(says, alice, bram, "what do I owe Bram?"),
        *asked_as(says, bram, alice, "what does Alice owe me?"),
    ):
        assert "five marks" in said and "twelve" not in said


def test_the_words_of_a_secret_are_corrected_for_its_witnesses_alone(mara, alice, bram, says):
    says(alice, "I owe Bram twelve marks for the boots.")
    wait(mara.assistant.sleep.whole_night())
    fact = fact_of(mara, "twelve")
    confided = {"private": True, "witnesses": (mara.get_memory_identity(alice),)}
    memory_store.shared().change(fact.id, **confided)  # it rests on a whisper too
    wait(edit.edit(mara, alice, fact.id, content="Alice owes Bram five marks for the boots."))
    for said in asked_as(says, bram, alice, "what does Alice owe me?", "what is due?"):
        assert "five marks" not in said


def test_no_night_draws_the_old_words_again(mara, alice, bram, says, ferry):
    wait(edit.edit(mara, alice, ferry.id, content="Alice keeps the mill at Millbrook."))
    mara.memory.journal.update({1: {"consolidated": False}})  # as after a model's outage
    mara.memory.journal.set_cursor("consolidated", 0)
    wait(mara.assistant.sleep.whole_night())
    for said in asked_as(says, bram, alice, *ABOUT_ALICE):
        assert "mill at Millbrook" in said and "ferry" not in said


def test_an_edit_that_leaves_the_words_leaves_what_was_said_of_them(mara, alice, says, ferry):
    assert "ferry" in says(alice, "what do I keep?")
    before = list(mara.memory.chat_log.messages)
    told = {link for message in before for link in message["told"]}
    for each in told:
        wait(edit.edit(mara, alice, each, importance=9))
    assert told
    assert list(mara.memory.chat_log.messages) == before


# --- undo -----------------------------------------------------------------------------------------


def test_ten_acts_are_kept_within_64_kilobytes_and_can_be_forgotten(mara, alice):
    for number in range(12):
        wait(edit.add(mara, alice, f"Fact number {number}. " + "x" * 900))
    assert [act.ids for act in undo_log.acts(mara)] == [(str(n),) for n in range(12, 2, -1)]
    for entry_id in range(1, 13):
        wait(edit.edit(mara, alice, str(entry_id), content="y" * 3900))
        wait(edit.edit(mara, alice, str(entry_id), content="z" * 3900))
    row = mara.attributes.get("undo", category="ai_memory", return_obj=True, strattr=True)
    assert 0 < len(row.encode() if isinstance(row, str) else row.strvalue.encode()) <= 64_000
    assert 1 <= len(undo_log.acts(mara)) <= 10
    assert undo_log.clear(mara) >= 1
    assert undo_log.acts(mara) == []


def test_acts_are_undone_last_first(day, alice):
    entry = entry_of(day, "ferry")
    wait(edit.pin(day, alice, str(entry.id)))
    wait(edit.edit(day, alice, str(entry.id), content="I keep the weir at Millbrook."))
    assert wait(edit.undo(day, alice)).deed == "edit"
    assert "pinned" in day.memory.journal.get(entry.id).tags
    assert wait(edit.undo(day, alice)).deed == "pin"
    assert day.memory.journal.get(entry.id) == entry


def test_only_the_act_that_was_taken_back_is_kept_no_longer(day, alice, monkeypatch):
    entry = entry_of(day, "ferry")
    wait(edit.edit(day, alice, str(entry.id), importance=9))
    step = edit._restore_stored

    def meanwhile(*args):
        undo_log.add(day, alice, "another", [], undo_log.Before())
        return step(*args)

    monkeypatch.setattr(edit, "_restore_stored", wraps(step)(meanwhile))
    assert wait(edit.undo(day, alice)).deed == "edit"
    assert [act.deed for act in undo_log.acts(day)] == ["another"]


def test_what_a_night_ended_stays_ended_when_an_edit_is_undone(night, alice):
    fact = fact_of(night, "ferry")
    wait(edit.edit(night, alice, fact.id, content="Alice owns the mill."))
    since = {"superseded_by": "later", "invalid_at": "2026-01-01T00:00:00+00:00"}
    memory_store.shared().change(fact.id, **since, access_count=7, compressed=True)
    memory_store.shared().mem0.db.add_history(fact.id, "a night", "noted this", "UPDATE")
    wait(edit.undo(night, alice))
    [now] = memory_store.shared().get([fact.id])
    assert now == replace(fact, **since, access_count=7, compressed=True)
    said = [row[1] for row in memory_store.shared().history.of(fact.id)]
    assert "noted this" in said and "Alice owns the mill." not in said


def test_what_a_night_did_to_an_entry_stays_when_its_pin_is_undone(day, alice):
    entry = entry_of(day, "ferry")
    wait(edit.pin(day, alice, str(entry.id)))
    since = {"consolidated": True, "importance": 8, "scoring_method": "model"}
    day.memory.journal.update({entry.id: since})
    wait(edit.undo(day, alice))
    assert day.memory.journal.get(entry.id) == replace(entry, **since)


def test_an_edit_writes_over_nothing_that_came_meanwhile(night, alice, monkeypatch):
    fact = fact_of(night, "ferry")
    since = {"superseded_by": "later", "invalid_at": "2026-01-01T00:00:00+00:00"}
    step = undo_log.add

    def meanwhile(*args):
        memory_store.shared().change(fact.id, **since, access_count=7)
        return step(*args)

    monkeypatch.setattr(undo_log, "add", meanwhile)
    wait(edit.edit(night, alice, fact.id, content="Alice owns the mill.", importance=9))
    [now] = memory_store.shared().get([fact.id])
    assert (now.content, now.importance) == ("Alice owns the mill.", 0.9)
    assert (now.superseded_by, now.access_count) == ("later", 7)


def test_what_was_deleted_since_is_not_made_again_by_an_undone_edit(night, alice):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "arches")
    wait(edit.edit(night, alice, fact.id, content="Alice owns the mill."))
    wait(edit.edit(night, alice, str(entry.id), content="The bridge has fallen."))
    own = entry_memory_id(night.memory.id, entry.id)
    memory_store.shared().delete([fact.id, own])  # as a night prunes
    night.memory.journal.remove([entry.id])
    stored, *rest = everything(night)
    for _ in range(2):
        wait(edit.undo(night, alice))
    again, *now = everything(night)
    assert again.keys() == stored.keys() and now == rest
    assert not any(memory.superseded_by for memory, _vector in again.values())


def test_an_entry_that_is_not_indexed_yet_is_edited_and_undone(mara, alice):
    line = "I keep the ferry at Millbrook."
    hers = mara.get_memory_identity(alice)
    mara.memory.perceive(Percept(content=line, kind="say", seen_as="Alice", source=hers))
    wait(edit.edit(mara, alice, "1", content="I keep the windmill."))
    wait(mara.memory.index_pending())
    [stored] = memory_store.shared().list(mara.memory.id)
    assert stored.content == "I keep the windmill."
    wait(edit.undo(mara, alice))
    [stored] = memory_store.shared().list(mara.memory.id)
    assert (stored.content, mara.memory.journal.get(1).content) == (line, line)


def test_a_preference_keeps_what_came_since_when_its_edit_is_undone(mara, alice):
    alice.execute_cmd("say I like tea.")
    wait(mara.memory.work_through(until_silent=True))
    wait(edit.edit(mara, alice, str(entry_of(mara, "tea").id), content="I like green tea."))
    assert [each.text for each in mara.memory.preferences] == ["I like green tea."]
    [now] = mara.memory.preferences
    mara.memory.preferences.put(replace(now, seen="2027-01-01"))
    wait(edit.undo(mara, alice))
    assert list(mara.memory.preferences) == [replace(now, text="I like tea.", seen="2027-01-01")]


# --- pin, lock, pause -----------------------------------------------------------------------------


def test_a_pinned_entry_is_never_pruned(day, alice, monkeypatch):
    entry = entry_of(day, "ferry")
    wait(edit.pin(day, alice, str(entry.id)))
    assert not pruning._forgettable(day.memory.journal.get(entry.id), 10)
    assert "pinned" in memory_store.shared().get([entry_memory_id(day.memory.id, entry.id)])[0].tags
    wait(edit.unpin(day, alice, str(entry.id)))
    assert pruning._forgettable(day.memory.journal.get(entry.id), 10)
    wait(edit.unpin(day, alice, str(entry.id)))
    assert len(undo_log.acts(day)) == 2, "what changed nothing is not noted"


def test_a_pinned_entry_is_not_hidden_behind_a_summary(day, alice):
    from contrib_ai_memory.sleep import compression

    entry = entry_of(day, "ferry")
    other = entry_of(day, "bridge")
    wait(edit.pin(day, alice, str(entry.id)))
    session = [day.memory.journal.get(entry.id), other]
    compression.store_summary(day.memory.id, session, "They talked.", "offline")
    pinned, plain = memory_store.shared().get(
        [entry_memory_id(day.memory.id, each.id) for each in (entry, other)]
    )
    assert plain.compressed and not pinned.compressed


def test_a_locked_fact_is_neither_ended_nor_joined_by_what_a_night_finds(night, alice):
    agent_id, store = night.memory.id, memory_store.shared()
    entry = entry_of(night, "bridge")
    fact = fact_of(night, "bridge")
    wait(edit.lock(night, alice, fact.id))
    [locked] = store.get([fact.id])
    assert set(locked.tags) >= {"pinned", "locked"}
    again = replace(locked, id=memory_id_for(agent_id, "again"), journal_ids=(99,), tags=())
    with night.memory.evidence.work_on() as work:
        assert wait(reconciliation.reconcile(night.memory, [again], work)) == [fact.id]
    assert store.get([fact.id]) == [locked]
    text, quote = (each.replace("12", "14") for each in (locked.content, locked.quote))
    changed = replace(again, id=memory_id_for(agent_id, "changed"), content=text, quote=quote)
    with night.memory.evidence.work_on() as work:
        wait(reconciliation.reconcile(night.memory, [changed], work))
    assert store.get([fact.id]) == [locked]
    assert store.get([changed.id])[0].superseded_by == fact.id
    assert entry.id in locked.journal_ids


def test_a_locked_entry_is_not_weighed_again_by_the_night(day, alice):
    entry = entry_of(day, "ferry")
    wait(edit.lock(day, alice, str(entry.id)))
    before = day.memory.journal.get(entry.id)
    wait(day.assistant.sleep.whole_night())
    after = day.memory.journal.get(entry.id)
    assert (after.importance, after.scoring_method) == (before.importance, "heuristic")
    assert entry_of(day, "bridge").scoring_method == "offline"


def test_a_locked_experience_is_not_reinforced(day, alice):
    from contrib_ai_memory.ingest import experiences

    page = wait(inspect.memories(day, "experience", text="ferry"))
    [known] = page.results
    wait(edit.lock(day, alice, known.id))
    [locked] = memory_store.shared().get([known.id])
    again = replace(known, id=memory_id_for(day.memory.id, "again"), journal_ids=(50,))
    assert experiences.remember_or_reinforce(day.memory.id, again) == known.id
    assert memory_store.shared().get([known.id]) == [locked]


def test_a_paused_npc_perceives_learns_and_sleeps_not_until_it_goes_on(day, alice):
    from contrib_ai_memory.sleep.night import SwitchedOff

    heard = len(day.memory.journal)
    assert edit.pause(day, alice).changed
    alice.execute_cmd("say The weir is broken.")
    assert len(day.memory.journal) == heard
    assert inspect.state_of(day) == "paused"
    with pytest.raises(SwitchedOff, match="@memory/resume Mara"):
        day.assistant.sleep.begin()
    assert not edit.pause(day, alice).changed
    assert edit.resume(day, alice).changed
    alice.execute_cmd("say The weir is broken.")
    assert entry_of(day, "weir").id == heard + 1


def test_all_npcs_are_paused_at_once_and_it_lasts(day, alice):
    from contrib_ai_memory.store import pause

    assert edit.pause_all(alice)
    try:
        pause._all_paused = None  # as after a restart
        heard = len(day.memory.journal)
        alice.execute_cmd("say The weir is broken.")
        assert len(day.memory.journal) == heard
        assert inspect.state_of(day) == "paused"
    finally:
        edit.pause_all(alice, on=False)
    assert inspect.state_of(day) == "awake"


def test_the_weight_of_a_line_follows_its_importance_there_and_back(day, alice):
    def weight():
        return memory_store.shared().get([entry_memory_id(day.memory.id, 1)])[0].memory_weight

    before = weight()
    wait(edit.edit(day, alice, "1", importance=10))
    assert weight() > before
    wait(edit.undo(day, alice))
    assert weight() == before


def test_undone_an_added_memory_is_not_known_by_what_was_drawn_from_it_either(day, alice):
    wait(edit.add(day, alice, "Alice owns nine boats at Harrow."))
    wait(day.assistant.sleep.whole_night())
    assert wait(inspect.memories(day, text="nine boats")).total
    wait(edit.undo(day, alice))
    assert wait(inspect.memories(day, text="nine boats")).total == 0
    assert wait(inspect.memories(day, text="keeps the ferry")).total
