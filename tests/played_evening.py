"""An evening of the benchmarks (benchmarks/data/evenings), lived through by an NPC of a test."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.evenings_data import FOLDER, load


def live_through(name: str, room: Any) -> Any:
    """Make the NPC of an evening, and have it hear the lines, with a night after each session."""
    from evennia.utils.create import create_object

    from contrib_ai_memory.ingest.replay import LogPerson, Replay, read_log

    file: Path = FOLDER / f"{name}.json"
    evening = load(file)
    npc = create_object("typeclasses.npcs.AssistantNPC", key=evening.npc.name, location=room)
    npc.db.goals = evening.npc.goals
    session = None
    with Replay(npc, {each.name: f"#{each.name}" for each in evening.people}) as replay:
        for line in read_log(file):
            if isinstance(line, LogPerson):
                replay.introduce(line)
                continue
            if session not in (None, line.session):
                _sleep(npc)
            session = line.session
            replay.feed(line)
        _sleep(npc)
    return npc


def _sleep(npc: Any) -> None:
    from contrib_ai_memory import offload

    while not offload.wait(npc.memory.work_through(until_silent=True)):
        pass
    night = datetime.fromisoformat(npc.memory.clock()) + timedelta(hours=8)
    npc.memory.clock = lambda: night.isoformat()
    passes = offload.wait(npc.assistant.sleep.whole_night())
    assert not [name for name, told in passes.items() if told["errors"]]
