"""Forgetting single memories, alone and with all that came of them."""

import pytest
from spent_day import add_insight, entry_of, everything, fact_of

from contrib_ai_memory import offload
from contrib_ai_memory.admin import edit, forget, ids
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import entry_memory_id, memory_id_for

wait = offload.wait


def test_a_forgotten_entry_is_nowhere_any_more_and_comes_back_exactly(night, alice):
    before = everything(night)
    entry = entry_of(night, "silver key")
    gone = wait(forget.forget(night, alice, str(entry.id)))
    assert gone.summary() == "1 journal entry" and gone.undoable
    assert night.memory.journal.get(entry.id) is None
    assert memory_store.shared().get([entry_memory_id(night.memory.id, entry.id)]) == []
    assert night.memory.links.of(entry.id) == {}
    assert fact_of(night, "silver key")  # what was drawn from it stays
    wait(edit.undo(night, alice))
    assert everything(night) == before


def test_a_cascade_takes_all_that_rests_on_an_entry_and_undo_brings_it_back(night, alice):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "ferry")
    insight = add_insight(night, fact.id)
    before = everything(night)
    identity = night.get_memory_identity(alice)
    known = night.memory.profiles.get(identity)
    going = wait(forget.select(night, [str(entry.id)], cascade=True))
    assert {"1 journal entry", "1 fact", "1 insight"} <= set(going.summary().split(", "))
    wait(forget.forget(night, alice, str(entry.id), cascade=True))
    assert memory_store.shared().get([fact.id]) == []
    assert night.memory.journal.get(insight.id) is None
    left = memory_store.shared().list(night.memory.id, limit=None)
    assert not [m for m in left if "ferry" in m.content and m.record != "entry"]
    profile = night.memory.profiles.get(identity)
    assert not any("ferry" in noted.text for noted in profile.observations)
    wait(edit.undo(night, alice))
    assert everything(night) == before
    assert night.memory.profiles.get(identity).observations == known.observations


def test_what_is_forgotten_leaves_no_vector_in_the_process(day, alice, monkeypatch):
    shared, asked = embedder.shared(), []
    embed = shared.model.encode
    monkeypatch.setattr(shared.model, "encode", lambda texts: asked.extend(texts) or embed(texts))
    entry = entry_of(day, "ferry")
    shared.encode([entry.content])
    asked.clear()
    wait(forget.forget(day, alice, str(entry.id)))
    shared.encode([entry.content])
    assert entry.content in asked


def test_the_lines_around_a_forgotten_one_are_not_found_by_its_words(day, alice):
    entry = entry_of(day, "ferry")
    wait(forget.forget(day, alice, str(entry.id)))
    found = wait(day.memory.recall("Who keeps the ferry?")).memories
    lines = [m for m in found if m.memory.record == "entry"]
    assert not any(m.score.clues["near"] or m.score.clues["wide"] for m in lines)


def test_what_a_forgotten_fact_had_ended_holds_again(night, alice):
    fact = fact_of(night, "ferry")
    later = MemoryRecord(
        id=memory_id_for(night.memory.id, "later"), content="Alice sold the ferry.", record="fact"
    )
    store = memory_store.shared()
    store.insert_new(night.memory.id, [later], embedder.shared().encode([later.content]))
    store.change(fact.id, superseded_by=later.id, invalid_at="2026-01-01T00:00:00+00:00")
    before = everything(night)
    wait(forget.forget(night, alice, later.id))
    [again] = store.get([fact.id])
    assert again.superseded_by is None and again.invalid_at is None
    wait(edit.undo(night, alice))
    assert everything(night) == before


def test_a_forgotten_preference_gives_way_to_the_one_before(mara, alice, tavern):
    for line in ("I like tea.", "I like coffee."):
        alice.execute_cmd(f"say {line}")
    wait(mara.memory.work_through(until_silent=True))
    identity = mara.get_memory_identity(alice)
    held = mara.memory.preferences.of(identity)
    entry = entry_of(mara, "coffee")
    wait(forget.forget(mara, alice, str(entry.id)))
    assert not any("coffee" in each.text for each in mara.memory.preferences.of(identity))
    wait(edit.undo(mara, alice))
    assert mara.memory.preferences.of(identity) == held


def test_a_preference_goes_with_the_line_that_states_it_whatever_memory_tells_it(day, alice):
    entry, identity = entry_of(day, "ferry"), day.get_memory_identity(alice)
    stated = day.memory.preferences.set(
        identity, "boats", "I like boats.", day.memory.clock(), entry.id, memory_id="a fact"
    )
    going = wait(forget.select(day, [str(entry.id)]))
    assert [each.text for each in going.before.preferences] == ["I like boats."]
    wait(forget.forget(day, alice, str(entry.id)))
    assert day.memory.preferences.get(identity, "boats") is None
    wait(edit.undo(day, alice))
    assert day.memory.preferences.get(identity, "boats") == stated


def test_forgetting_twice_says_that_it_is_forgotten(day, alice):
    entry = entry_of(day, "ferry")
    wait(forget.forget(day, alice, str(entry.id)))
    with pytest.raises(ids.UnknownMemory, match="has forgotten"):
        wait(forget.forget(day, alice, str(entry.id)))
