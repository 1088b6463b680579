"""An evening with its nights, with answers that were recorded (benchmarks/data/recorded)."""

import re

import pytest
from played_evening import live_through

from benchmarks.evenings_data import FOLDER, load
from benchmarks.evenings_score import holds
from benchmarks.recorded_model import RecordedModel
from contrib_ai_memory.store import memory_store

CALLS_AN_EVENING = 12


@pytest.fixture
def played(server, speaks_through, tavern):
    """The NPC of the evening after its three nights, and the model."""
    evening = load(FOLDER / "keep-1.json")
    speaks_through(timeout=60)
    model = RecordedModel("keep-1")
    server.behave(structured=lambda request: (model.answer(request.body) or {}).get("content"))
    return live_through("keep-1", tavern), model, evening


@pytest.mark.slow
def test_what_a_model_answered_of_an_evening_is_found_and_what_ended_has_ended(played):
    npc, model, evening = played
    assert not model.unknown
    assert len(model.asked) <= CALLS_AN_EVENING
    stored = memory_store.shared().list(npc.memory.id, limit=None)
    kept = [each for each in stored if each.record == "fact"]
    line_of = {entry.id: entry.ref for entry in npc.memory.journal.read()}
    missing, stale = [], []
    for gold in evening.facts:
        holding = [
            fact
            for fact in kept
            if holds(fact.content, gold.keys)
            and {line_of[each] for each in fact.journal_ids} & set(gold.evidence)
        ]
        if not holding:
            missing.append(gold.text)
        if gold.ended_by and any(not fact.superseded_by for fact in holding):
            stale.append(gold.text)
    assert (missing, stale) == ([], [])
    due = {item.kind: item.due for item in npc.memory.agenda if item.due == "2026-06-01"}
    assert due == {"request": "2026-06-01"}
    secrets = [fact for fact in kept if re.search("Dunstan|sally door|K'eth", fact.content)]
    assert len(secrets) == 3
    assert all(fact.private for fact in secrets)
