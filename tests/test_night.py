"""The whole night: what is tidied, what is reflected on, what is summarised."""

import pytest
from spent_day import add_insight, fact_of

from contrib_ai_memory import offload
from contrib_ai_memory.ingest import endings
from contrib_ai_memory.ingest.endings import End
from contrib_ai_memory.llm.provider import Pair, Relation, Statement
from contrib_ai_memory.offline.offline_provider import OfflineProvider
from contrib_ai_memory.records import INSIGHT, Percept
from contrib_ai_memory.sleep.reflection import run_reflection
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.links import Link
from contrib_ai_memory.store.payload import entry_memory_id

MONTHS_LATER = "2026-09-01T08:00:00+00:00"


@pytest.fixture
def hear(mara):
    """Perceives a line at a time: hear("2026-03-01T19:00", "Alice", "...", session="s1")."""

    def perceive(when, speaker, text, session=None, private=False, **more):
        return mara.memory.perceive(
            Percept(
                **{
                    "content": text,
                    "kind": "whisper" if private else "say",
                    "seen_as": speaker,
                    "source": f"#{speaker}",
                    "witnesses": (f"#{speaker}",) if private else ("#Alice", "#Bram"),
                    "private": private,
                    "location": "#1",
                    "session_id": session,
                    "timestamp": f"{when}:00+00:00",
                }
                | more
            )
        )

    return perceive


@pytest.fixture
def later(mara):
    mara.memory.clock = lambda: MONTHS_LATER
    return mara


def night(mara):
    return offload.wait(mara.assistant.sleep.whole_night())


def stored(mara, record):
    return memory_store.shared().list(mara.memory.id, limit=None, record=record)


def entries(mara):
    return list(mara.memory.journal.read())


def contents(mara):
    return [entry.content for entry in entries(mara)]


# --- tidying --------------------------------------------------------------------------------------


def test_small_talk_of_months_ago_is_forgotten_everywhere(later, hear):
    hear("2026-03-01T19:00", "Alice", "Well, well.")
    hear("2026-03-01T19:01", "Alice", "I keep the ferry at Millbrook.")
    hear("2026-08-31T19:00", "Bram", "Is it?")
    night(later)
    assert contents(later) == ["I keep the ferry at Millbrook.", "Is it?"]
    assert {m.content for m in stored(later, "entry")} == set(contents(later))
    assert (
        offload.wait(later.memory.recall("well, well")).memories[0].memory.content != "Well, well."
    )


def test_what_is_weighty_preferred_pinned_or_committed_stays(later, hear):
    hear("2026-03-01T19:00", "Alice", "I like tea.")
    hear("2026-03-01T19:01", "Alice", "Hm.", tags=("pinned",))
    offload.wait(later.memory.add("Ale.", importance=1))
    hear("2026-03-01T19:02", "Alice", "Hm, hm.")
    night(later)
    later.memory.clock = lambda: "2027-09-01T08:00:00+00:00"
    night(later)
    assert contents(later) == ["I like tea.", "Hm.", "Ale."]


def test_a_link_to_what_is_gone_is_taken_out_and_others_stay(mara, alice):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    night(mara)
    [fact] = stored(mara, "fact")
    now = mara.memory.clock()
    ghost = "00000000-0000-4000-8000-000000000000"
    mara.memory.links.add([Link("1", ghost, 0.9, "similar", now), Link("1", "77", 0.9, "x", now)])
    night(mara)
    linked = mara.memory.links.of(1)
    assert fact.id in linked
    assert ghost not in linked and "77" not in linked
    assert mara.memory.links.of(ghost) == {}


def test_a_conversation_that_is_over_leaves_the_working_memory(later, hear):
    hear("2026-03-01T19:00", "Alice", "I keep the ferry at Millbrook.")
    assert later.memory.conversations.get(entries(later)[0].session_id)
    night(later)
    assert later.memory.conversations.get(entries(later)[0].session_id) is None


# --- reflection -----------------------------------------------------------------------------------


FERRY = [
    ("Alice", "I keep the ferry at Millbrook, and the ferry keeps me."),
    ("Alice", "My brother Tom built the ferry before the flood."),
    ("Bram", "The wolves took two of my sheep near Harrow Hill."),
    ("Bram", "I saw wolves by the bridge again."),
    ("Alice", "The toll for the ferry rose to nine crowns."),
]


@pytest.fixture
def eventful(later, hear):
    for number in range(40):
        speaker, text = FERRY[number % len(FERRY)]
        hear(f"2026-08-30T19:{number:02d}", speaker, f"{text} That was {number} days ago.")
    hear("2026-08-30T20:00", "Alice", "I hide a silver heirloom key in Elmstead.", private=True)
    return later


def insights(mara):
    return [entry for entry in entries(mara) if entry.kind == "insight"]


def test_when_enough_has_happened_the_night_ends_in_insights_with_citations(eventful):
    night(eventful)
    found = insights(eventful)
    assert found
    for entry in found:
        assert (entry.origin, entry.source_type) == ("sleep", "inference")
        assert entry.importance in (8, 9)
        assert entry.evidence
        assert set(eventful.memory.links.of(entry.id)) >= set(entry.evidence)
    assert any("ferry" in entry.content and "Alice" in entry.content for entry in found)
    assert eventful.memory.journal.last_reflection == MONTHS_LATER


def test_insights_come_to_mind_and_no_secret_is_in_them(eventful):
    night(eventful)
    assert {m.content for m in stored(eventful, "insight")} == {
        entry.content for entry in insights(eventful)
    }
    assert not any("heirloom" in e.content or "Elmstead" in e.content for e in insights(eventful))
    asked = offload.wait(eventful.memory.recall("What does Alice often speak of?", top_k=8))
    assert "insight" in {item.memory.record for item in asked.memories}


def test_an_insight_ends_with_what_it_rests_on(night):
    fact, new = fact_of(night, "ferry"), fact_of(night, "silver key")
    insight = add_insight(night, fact.id)
    offload.wait(run_reflection(night.memory))
    [known] = memory_store.get([entry_memory_id(night.memory.id, insight.id)])
    assert not known.superseded_by
    end = End(fact.id, new.id, "2026-03-01T00:00:00+00:00")
    endings.end(memory_store.shared(), [end])
    offload.wait(run_reflection(night.memory))
    [known] = memory_store.get([entry_memory_id(night.memory.id, insight.id)])
    assert (known.superseded_by, known.invalid_at) == (new.id, "2026-03-01T00:00:00+00:00")


def test_the_counter_starts_anew_and_too_little_makes_no_insight(eventful, hear):
    night(eventful)
    before = insights(eventful)
    hear("2026-08-31T19:00", "Alice", "I sold two oxen.")
    night(eventful)
    assert insights(eventful) == before


def test_insights_name_people_and_repeat_none_in_another_order(eventful):
    night(eventful)
    assert all(entry.content.split()[0] in ("Alice", "Bram") for entry in insights(eventful))
    said = "Alice often speaks of the ferry and wolves."
    again = "Alice often speaks of wolves and the ferry."
    other = "Alice often speaks of the ferry and sheep."
    pairs = [Pair(Statement(new, INSIGHT), Statement(said, INSIGHT)) for new in (again, other)]
    assert OfflineProvider().compare(pairs) == [Relation.SAME, Relation.UNRELATED]


def test_insights_are_not_learned_from_as_if_somebody_had_said_them(eventful):
    night(eventful)
    night(eventful)
    told = {entry.content for entry in insights(eventful)}
    assert not told & {fact.content for fact in stored(eventful, "fact")}


# --- compression ----------------------------------------------------------------------------------


@pytest.fixture
def soon(mara):
    mara.memory.clock = lambda: "2026-03-20T08:00:00+00:00"
    return mara


def talk_of(hear, session, private=False):
    day = f"2026-03-{session:02d}"
    hear(
        f"{day}T19:00",
        "Alice",
        f"On day {session} I sold {session} oxen at Millbrook.",
        None,
        private,
    )
    hear(f"{day}T19:01", "Bram" if not private else "Alice", "Good for you!", None, private)
    hear(f"{day}T19:02", "Alice", f"My brother Tom paid {session} crowns for it.", None, private)


def test_above_ten_conversations_the_oldest_five_are_summarised(soon, hear):
    for session in range(1, 12):
        talk_of(hear, session)
    night(soon)
    summaries = sorted(stored(soon, "summary"), key=lambda m: m.created_at)
    assert [m.created_at[:10] for m in summaries] == [f"2026-03-{n:02d}" for n in range(1, 6)]
    assert summaries[0].content == (
        'Alice says: "On day 1 I sold 1 oxen at Millbrook." '
        "Alice's brother Tom paid 1 crowns for it."
    )
    for number, summary in enumerate(summaries, 1):
        assert f"{number} oxen" in summary.content and f"{number} crowns" in summary.content
        assert "Good for you" not in summary.content
        assert (summary.memory_type, summary.compression_source) == ("semantic", True)
    compressed = {m.journal_ids[0] for m in stored(soon, "entry") if m.compressed}
    assert compressed == set(range(1, 16))
    night(soon)
    assert len(stored(soon, "summary")) == 5


def test_whispers_are_summarised_for_those_who_heard_them_alone(soon, hear):
    for session in range(1, 13):
        talk_of(hear, session, private=session == 1)
    night(soon)
    first = min(stored(soon, "summary"), key=lambda m: m.created_at)
    assert (first.private, first.witnesses) == (True, ("#Alice",))
    told = offload.wait(soon.memory.recall("day 1 oxen", speaker="#Bram", top_k=50)).memories
    assert first.content not in [item.memory.content for item in told]


def test_a_conversation_that_goes_on_is_left_alone(mara, hear):
    mara.memory.clock = lambda: "2026-03-11T19:10:00+00:00"
    for session in range(1, 12):
        talk_of(hear, session)
    night(mara)
    assert stored(mara, "summary") == []


def test_a_line_that_tells_anything_is_not_forgotten_by_rules_alone(later, hear):
    hear("2026-03-01T19:00", "Alice", "So Tom it was.")
    hear("2026-03-01T19:01", "Alice", "Hm, hm.")
    hear("2026-03-01T19:02", "Alice", "Yeah, me too! Pottery is so soothing.")
    hear("2026-03-01T19:03", "Alice", "That would be really great, yeah.")
    mara = later.memory
    mara.journal.update({number: {"importance": 1} for number in range(1, 5)})
    night(later)
    assert contents(later) == ["So Tom it was.", "Yeah, me too! Pottery is so soothing."]


def test_what_a_model_found_unimportant_is_forgotten_whatever_it_names(later, hear):
    hear("2026-03-01T19:00", "Alice", "So Tom it was, and pottery is soothing.")
    later.memory.journal.update({1: {"importance": 2, "scoring_method": "llm"}})
    night(later)
    assert contents(later) == []
