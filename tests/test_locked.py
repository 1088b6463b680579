"""What is locked is changed by people alone: no talk, no night ends, joins, hides or forgets it."""

from __future__ import annotations

import re

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import inspect
from contrib_ai_memory.records import Percept
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import entry_memory_id

MONTHS_LATER = "2027-09-01T08:00:00+00:00"


def memory_of(npc, number):
    [found] = memory_store.shared().get([entry_memory_id(npc.memory.id, number)])
    return found


def fact_of(npc, words):
    [found] = offload.wait(inspect.memories(npc, text=words)).results
    return found


def everything(memory):
    """A memory but for how often it was told."""
    plain = memory.to_dict()
    return {name: plain[name] for name in plain if name not in ("access_count", "last_accessed")}


@pytest.fixture
def facts_of_all(settings, store_folder):
    """Every line that tells anything becomes a fact."""
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "MIN_IMPORTANCE": 1}


@pytest.fixture
def tea(facts_of_all, mara, alice, builder):
    """Alice loves tea; a builder has locked that line before anything else is said."""
    alice.execute_cmd("say I love tea.")
    offload.wait(mara.memory.work_through(until_silent=True))
    assert "is now locked" in builder("@memory/lock mara = 1")
    return mara


def test_a_locked_preference_is_not_superseded_by_what_is_said_later(tea, alice, builder):
    before = everything(memory_of(tea, 1))
    alice.execute_cmd("say I hate tea.")
    builder("@sleep/now mara")
    assert everything(memory_of(tea, 1)) == before
    [held] = [each for each in tea.memory.preferences if "tea" in each.text]
    assert held.text == "I love tea."
    shown = builder("@memory/search mara = What does Alice think of tea?")
    assert "I love tea." in shown and "I hate tea." not in shown
    assert "I love tea." in builder("@memory/profile mara = alice")
    hers = tea.get_memory_identity(alice)
    assert not any("hates" in each.value for each in tea.memory.profiles.get(hers).attributes)


def test_what_contradicts_it_is_kept_and_holds_once_it_is_unlocked(tea, alice, builder):
    alice.execute_cmd("say I hate tea.")
    offload.wait(tea.memory.index_pending())
    assert "I hate tea." in builder("@memory/journal mara = hate")
    builder("@memory/unlock mara = 1")
    alice.execute_cmd("say I hate tea so much.")
    offload.wait(tea.memory.index_pending())
    assert memory_of(tea, 1).superseded_by


@pytest.mark.parametrize(
    ("line", "drawn", "against"),
    [
        ("I love tea.", "Alice loves tea.", "I hate tea."),  # an experience
        (
            "I love tea with honey from Elmstead.",
            "Alice loves tea with honey from Elmstead.",
            "I hate tea with honey from Elmstead.",
        ),
    ],
)
def test_what_was_drawn_from_a_preference_and_locked_keeps_its_slot(
    facts_of_all, mara, alice, builder, line, drawn, against
):
    alice.execute_cmd(f"say {line}")
    builder("@sleep/now mara")
    every = [m for m in memory_store.shared().list(mara.memory.id) if m.content == drawn]
    locked = sorted(every, key=lambda memory: memory.record)[-1]
    builder(f"@memory/lock mara = {locked.id[:8]}")
    alice.execute_cmd(f"say {against}")
    builder("@sleep/now mara")
    assert not memory_store.shared().get([locked.id])[0].superseded_by
    assert not memory_of(mara, 1).superseded_by
    [held] = [each for each in mara.memory.preferences if "tea" in each.text]
    assert held.text == line


def test_a_locked_taught_preference_is_not_replaced_by_another_lesson(mara, alice, builder):
    mara.memory.people.meet(mara.get_memory_identity(alice), "Alice", mara.memory.clock())
    hers = mara.get_memory_identity(alice)
    offload.wait(mara.memory.ingest("I love tea with honey.", hers))
    [taught] = memory_store.shared().list(mara.memory.id, record="taught")
    builder(f"@memory/lock mara = {taught.id[:8]}")
    before = everything(memory_store.shared().get([taught.id])[0])
    offload.wait(mara.memory.ingest("I hate tea with honey.", hers))
    alice.execute_cmd("say I hate tea with honey.")
    offload.wait(mara.memory.index_pending())
    assert everything(memory_store.shared().get([taught.id])[0]) == before
    [held] = mara.memory.preferences.of(hers)
    assert held.text == "I love tea with honey."


def test_a_fact_that_rests_on_a_locked_line_is_not_ended(facts_of_all, mara, alice, builder):
    alice.execute_cmd("say The toll for the ferry is 7 crowns.")
    builder("@sleep/now mara")
    fact = fact_of(mara, "7 crowns")
    builder("@memory/lock mara = 1")
    alice.execute_cmd("say The toll for the ferry is nine crowns.")
    builder("@sleep/now mara")
    assert not memory_store.shared().get([fact.id])[0].superseded_by
    shown = builder("@memory/facts mara = ended")
    assert "nine crowns" in shown and "7 crowns" not in shown


def test_a_locked_fact_is_neither_ended_nor_joined_nor_revived(facts_of_all, mara, alice, builder):
    alice.execute_cmd("say The toll for the ferry is 7 crowns.")
    builder("@sleep/now mara")
    fact = fact_of(mara, "7 crowns")
    builder(f"@memory/lock mara = {fact.id[:8]}")
    before = everything(memory_store.shared().get([fact.id])[0])
    alice.execute_cmd("say The toll for the ferry is 7 crowns.")
    builder("@sleep/now mara")
    alice.execute_cmd("say The toll for the ferry is nine crowns.")
    builder("@sleep/now mara")
    assert everything(memory_store.shared().get([fact.id])[0]) == before


def test_a_fact_that_was_locked_when_it_had_ended_is_not_revived(
    facts_of_all, mara, alice, builder
):
    for line in ("7 crowns", "nine crowns"):
        alice.execute_cmd(f"say The toll for the ferry is {line}.")
        builder("@sleep/now mara")
    [past] = offload.wait(inspect.memories(mara, text="7 crowns", ended=True)).results
    builder(f"@memory/lock mara = {past.id[:8]}")
    before = everything(memory_store.shared().get([past.id])[0])
    alice.execute_cmd("say The toll for the ferry is 7 crowns.")
    builder("@sleep/now mara")
    assert everything(memory_store.shared().get([past.id])[0]) == before


def test_what_is_locked_and_unpinned_is_not_forgotten(mara, builder):
    for minute, text in enumerate(("Hm.", "Well, well.")):
        mara.memory.perceive(
            Percept(
                content=text,
                kind="say",
                source="#Alice",
                timestamp=f"2026-03-01T19:0{minute}:00+00:00",
            )
        )
    offload.wait(mara.memory.index_pending())
    builder("@memory/lock mara = 1")
    assert "is no longer pinned" in builder("@memory/unpin mara = 1")
    mara.memory.clock = lambda: MONTHS_LATER
    builder("@sleep/now mara")
    assert [entry.content for entry in mara.memory.journal.read()] == ["Hm."]
    assert memory_of(mara, 1)


def test_what_is_locked_and_unpinned_does_not_give_way_to_a_summary(mara, builder):
    for talk in range(1, 12):
        for minute in range(2):
            mara.memory.perceive(
                Percept(
                    content=f"On day {talk} I sold {talk + minute} oxen at Millbrook.",
                    kind="say",
                    seen_as="Alice",
                    source="#Alice",
                    witnesses=("#Alice",),
                    location="#1",
                    timestamp=f"2026-03-{talk:02d}T19:0{minute}:00+00:00",
                )
            )
    offload.wait(mara.memory.index_pending())
    builder("@memory/lock mara = 1")
    builder("@memory/unpin mara = 1")
    mara.memory.clock = lambda: "2026-03-20T08:00:00+00:00"
    builder("@sleep/now mara")
    assert memory_of(mara, 2).compressed
    assert not memory_of(mara, 1).compressed


def test_what_a_profile_says_on_a_locked_line_is_not_replaced(facts_of_all, mara, alice, builder):
    for line in ("I live in Wick.", "I keep the mill.", "I have a dog.", "I own two oxen."):
        alice.execute_cmd(f"say {line}")
    for _night in range(2):
        builder("@sleep/now mara")
    assert "Wick" in builder("@memory/profile mara = alice")
    number = next(e.id for e in mara.memory.journal.read() if "Wick" in e.content)
    builder(f"@memory/lock mara = {number}")
    for line in ("I live in Harbourtown now.", "I sold a cow.", "I bake bread.", "I brew ale."):
        alice.execute_cmd(f"say {line}")
    builder("@sleep/now mara")
    hers = mara.get_memory_identity(alice)
    known = [each.value for each in mara.memory.profiles.get(hers).attributes]
    assert any("Wick" in value for value in known)
    assert not any(re.search("Harbourtown", value) for value in known)
