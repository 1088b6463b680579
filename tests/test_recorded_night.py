"""An evening with its nights, with answers that were recorded (benchmarks/data/recorded)."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.evenings_data import holds, load
from benchmarks.recorded_model import RecordedModel
from contrib_ai_memory import offload
from contrib_ai_memory.ingest.replay import LogPerson, Replay, read_log
from contrib_ai_memory.store import memory_store

DATA = Path(__file__).resolve().parent.parent / "benchmarks" / "data"
CALLS_AN_EVENING = 20


@pytest.fixture
def played(server, speaks_through, tavern):
    """The NPC of the evening after its three nights, and the model."""
    from evennia.utils.create import create_object

    evening = load(DATA / "evenings" / "keep-1.json")
    speaks_through(timeout=60)
    model = RecordedModel("keep-1")
    server.behave(structured=lambda request: (model.answer(request.body) or {}).get("content"))
    npc = create_object("typeclasses.npcs.AssistantNPC", key=evening.npc.name, location=tavern)
    npc.db.goals = evening.npc.goals
    session = None
    with Replay(npc, {each.name: f"#{each.name}" for each in evening.people}) as replay:
        for line in read_log(DATA / "evenings" / "keep-1.json"):
            if isinstance(line, LogPerson):
                replay.introduce(line)
                continue
            if session not in (None, line.session):
                _sleep(npc)
            session = line.session
            replay.feed(line)
        _sleep(npc)
    return npc, model, evening


def _sleep(npc):
    while not offload.wait(npc.memory.work_through(until_silent=True)):
        pass
    night = datetime.fromisoformat(npc.memory.clock()) + timedelta(hours=8)
    npc.memory.clock = lambda: night.isoformat()
    passes = offload.wait(npc.assistant.sleep.whole_night())
    assert not [name for name, told in passes.items() if told["errors"]]


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
