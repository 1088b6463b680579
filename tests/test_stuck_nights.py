"""No night stops for ever: every pass goes past what an erasure or a flood left in the journal."""

from __future__ import annotations

import json

import pytest
from model_server import WELL_FORMED

from contrib_ai_memory import offload
from contrib_ai_memory.records import Entry, Percept
from contrib_ai_memory.sleep import compression
from contrib_ai_memory.store import memory_store

MONTHS_LATER = "2026-09-01T08:00:00+00:00"
LEARNING = ("indexed", "extracted", "scored", "consolidated", "linked", "observed", "pruned")
GAP = 600  # entries: two batches or more of every pass but one


@pytest.fixture
def later(mara):
    mara.memory.clock = lambda: MONTHS_LATER
    return mara


def hear(npc, minute, text, who="#Alice", session=None, **more):
    return npc.memory.perceive(
        Percept(
            content=text,
            kind="say",
            seen_as=who[1:],
            source=who,
            witnesses=("#Alice", "#Bram"),
            location="#1",
            session_id=session,
            timestamp=f"2026-03-{1 + minute // 1440:02d}T{minute // 60 % 24:02d}:{minute % 60:02d}"
            ":00+00:00",
            **more,
        )
    )


def stored(npc, record):
    return memory_store.shared().list(npc.memory.id, limit=None, record=record)


def a_gap(npc, length):
    """Entries that are erased before a night has seen them."""
    journal = npc.memory.journal
    first = len(journal) + 1
    for minute in range(length):
        hear(npc, minute, "Hm.", who="#Flood")
    journal.remove(range(first, len(journal) + 1))
    npc.memory.flush()


def test_every_pass_of_a_night_goes_past_what_an_erasure_left(later, builder):
    hear(later, 0, "I keep the ferry at Millbrook.")
    a_gap(later, GAP)
    hear(later, 700, "Well, well.")
    hear(later, 701, "My brother Tom built the bridge at Elmstead.")
    assert "wakes up rested" in builder("@sleep/now mara")
    end = len(later.memory.journal)
    cursors = later.memory.journal.cursors
    assert {name: cursors.get(name) for name in LEARNING} == dict.fromkeys(LEARNING, end)
    assert any("Elmstead" in each.content for each in stored(later, "fact"))
    assert any("Elmstead" in each.content for each in stored(later, "experience"))
    assert later.memory.journal.get(602) is None, "small talk behind the gap is never forgotten"


def test_pruning_waits_for_what_is_young_and_not_for_what_is_gone(later, builder):
    hear(later, 0, "Well, well.")
    a_gap(later, GAP)
    young = later.memory.perceive(
        Percept(content="Hm.", kind="say", source="#Alice", timestamp="2026-08-31T19:00:00+00:00")
    )
    builder("@sleep/now mara")
    assert later.memory.journal.get(1) is None
    assert later.memory.journal.get(young.id)
    later.memory.clock = lambda: "2026-12-01T08:00:00+00:00"
    builder("@sleep/now mara")
    assert later.memory.journal.get(young.id) is None


def only_compress(npc):
    """Everything else is done already: the night has nothing but talk to summarise."""
    journal = npc.memory.journal
    for name in (*LEARNING, "reflected", "insights_linked"):
        journal.set_cursor(name, len(journal))


def write(npc, count, **fields):
    journal = npc.memory.journal
    for _ in range(count):
        journal.append(
            lambda number: Entry(
                id=number,
                timestamp=f"2026-03-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:"
                f"{number % 60:02d}+00:00",
                content="The ferry has 9 oars.",
                kind="say",
                seen_as="Alice",
                source_entity="#Alice",
                **fields,
            )
        )


def summaries(npc):
    return sorted(each.session_id for each in stored(npc, "summary"))


def test_long_conversations_are_summarised_though_few_of_them_fill_the_journal(later, builder):
    for talk in range(3):
        write(later, compression.READ_AT_MOST // 2, session_id=f"talk {talk}")
    only_compress(later)
    builder("@sleep/now mara")
    assert "talk 0" in summaries(later)


def test_a_conversation_that_never_ends_does_not_keep_the_others_from_being_summarised(
    later, builder
):
    write(later, 300, session_id="the long one")
    for talk in range(11):
        write(later, 3, session_id=f"talk {talk:02}")
    write(later, compression.READ_AT_MOST, session_id="the long one")
    only_compress(later)
    later.memory.clock = lambda: "2026-03-01T01:30:00+00:00"  # the long one goes on
    builder("@sleep/now mara")
    assert set(summaries(later)) >= {"the long one", "talk 00"}


@pytest.mark.parametrize("left", ["own words", "a gap"])
def test_talk_behind_what_nothing_is_learned_from_is_summarised(later, builder, left):
    write(later, 2 * compression.READ_AT_MOST, origin="self")
    if left == "a gap":
        later.memory.journal.remove(range(1, len(later.memory.journal) + 1))
    for talk in range(11):
        write(later, 3, session_id=f"talk {talk:02}")
    only_compress(later)
    builder("@sleep/now mara")
    assert summaries(later) == [f"talk {talk:02}" for talk in range(5)]


def test_an_insight_of_a_language_model_comes_to_mind(later, builder, server, speaks_through):
    """It says more than the lines that it rests on: it is not ranked as one that quotes them."""
    for minute in range(40):
        hear(later, minute, f"The ferry at Millbrook leaks, {minute} buckets a day.")
    speaks_through()

    def structured(request):
        if request.schema == "InsightsAnswer":
            said = "Alice is afraid that her livelihood will sink with the ferry."
            return json.dumps({"insights": [{"insight": said, "because_of": [1, 2, 3]}]})
        if request.schema == "QuestionsAnswer":
            return json.dumps({"questions": ["What troubles Alice about the ferry?"]})
        return json.dumps(WELL_FORMED[request.schema](request))

    server.behave(structured=structured)
    builder("@sleep/now mara")
    [insight] = stored(later, "insight")
    assert insight.provider == "openai"
    assert "livelihood" in builder("@memory/search mara = What is Alice afraid of?")
    offload.wait(later.memory.index_pending())
