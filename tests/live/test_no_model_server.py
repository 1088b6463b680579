"""A language model is set, and nobody is at home: the NPC answers, and it is said once."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from world.game import SUPERUSER
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

SAID = ("I prefer tea.", "I keep the ferry at Millbrook.", "What do I keep?", "What do I prefer?")


def test_an_unreachable_model_server_is_reported_once_and_npcs_answer_without_it(live_game):
    url = f"http://127.0.0.1:{_port_where_nothing_listens()}/v1"
    llm = {"base_url": url, "model": "m", "retries": 1, "retry_after": 0.5, "timeout": 10}
    with live_game({"LLM": llm, "TICK_RATE": 1, "QUIET_SECONDS": 1}) as game:
        game.start()
        story = Story(game)
        with story.enter("Alice") as alice:
            answers = []
            for line in SAID:  # each time the server is asked again
                answers.append(story.talk("Alice", alice, f"say {line}"))
                time.sleep(0.6)
            assert all(answers)
            assert "ferry" in answers[2], "the offline provider answers from memory"
        with story.log_in(SUPERUSER, game.password) as builder:
            builder.send(f"@memory {INNKEEPER}")
            shown = " ".join(builder.expect(url).split())
        assert "language: offline provider, because the model server does not answer:" in shown

        log = _settled(game.folder / "server" / "logs" / "ai_memory.log")
        warnings = [line for line in log.splitlines() if " INFO " not in line]
        assert len(warnings) == 1, log
        assert " WARNING model server: " in warnings[0]
        assert url in warnings[0]
        assert "Millbrook" not in log, "the log holds what a player said"


def _port_where_nothing_listens() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _settled(log: Path) -> str:
    """The log's text once its own thread has written what is due."""
    time.sleep(1)
    return log.read_text()
