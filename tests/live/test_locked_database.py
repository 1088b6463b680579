"""A game database that another process holds: what players say meanwhile is kept, once a line."""

from __future__ import annotations

import re
import time

import pytest

from world.game import SUPERUSER, locked
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

HELD_SECONDS = 14  # longer than Django waits for a lock, and than two of its waits
LINES = 9


def test_what_was_said_while_the_database_was_locked_is_in_the_journal_on_disk(live_game):
    with live_game({"TICK_RATE": 2, "REPLY_COOLDOWN": 0}) as game:
        game.start()
        story = Story(game)
        with story.enter("Alice") as alice, story.enter("Bram") as bram:
            assert story.talk("Alice", alice, "say Mara, good day.")
            with locked(game.database):
                until = time.monotonic() + HELD_SECONDS
                for number in range(LINES):
                    (alice, bram)[number % 2].send(f"say Barrel {number} holds apples.")
                    time.sleep(HELD_SECONDS / LINES / 2)
                time.sleep(max(0.0, until - time.monotonic()))
            for number in range(LINES):
                alice.expect(f"Barrel {number} holds apples.", timeout=60)
            time.sleep(4)
            game.kill_server()  # what is not on the disk by now is gone
        game.start()
        with story.log_in(SUPERUSER, game.password) as builder:
            builder.send(f"@memory/journal {INNKEEPER} = Barrel")
            shown = builder.drain(3)
        seen = [int(each) for each in re.findall(r"Barrel (\d+) holds", shown)]
        assert sorted(seen) == list(range(LINES)), shown
        log = (game.folder / "server" / "logs" / "ai_memory.log").read_text()
        assert log.count("is held by another program") == 1, log
        assert "Traceback" not in log, log
