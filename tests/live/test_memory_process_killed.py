"""The memory process is killed again and again during talk and nights: nothing is lost.

Four times here; AI_MEMORY_KILLS=50 for more.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Iterator

import pytest

from world.game import SUPERUSER, Game, Telnet
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

KILLS = int(os.environ.get("AI_MEMORY_KILLS", "4"))
GONE_WITHIN = 30  # s after the game was stopped
THINGS = ("copper", "salt", "wool", "tar", "candles", "nails", "barley", "rope", "honey", "glass")


@pytest.fixture(scope="module")
def game(live_game) -> Iterator[Game]:
    settings = {"TICK_RATE": 1, "TICK_RATE_SLEEP": 1, "REPLY_COOLDOWN": 0, "MEMORY_PROCESS": True}
    with live_game(settings) as game:
        game.start()
        yield game


def test_killed_during_talk_and_nights_it_comes_back_and_nothing_is_lost(game):
    story, dice = Story(game), random.Random(KILLS)
    server = _pid_file(game)
    with story.enter("Alice") as alice:
        assert story.talk("Alice", alice, "say Mara, good evening.")
        last, killed = 0, []
        for number in range(1, KILLS + 1):
            last = _living(game, after=last)
            killed.append(last)
            line = f"Mara, my crate {number} is full of {THINGS[number % len(THINGS)]}."
            if number % 2:
                alice.send(f"say {line}")
                time.sleep(dice.uniform(0.0, 1.5))
                os.kill(last, signal.SIGKILL)
            else:
                alice.send(f"say {line}")
                with story.log_in(SUPERUSER, game.password) as builder:
                    builder.send(f"@sleep/now {INNKEEPER}")
                    time.sleep(dice.uniform(0.2, 3.0))
                    os.kill(last, signal.SIGKILL)
                    builder.drain(0.5)
            time.sleep(0.5)
        _rest(story, game)
        answer = story.talk("Alice", alice, f"say Mara, what is in my crate {KILLS}?")
        assert THINGS[KILLS % len(THINGS)] in answer, answer
        story.leave("Alice", alice)
    assert len(set(killed)) == KILLS
    assert _pid_file(game) == server, "the game itself was restarted"
    entries = story.journal_length()
    assert entries >= KILLS
    game.stop()
    assert "No problems found." in game.evennia("ai_memory", "doctor"), _log(game)


def test_an_exported_memory_is_imported_and_exported_again_the_same(game):
    game.start()
    story = Story(game)
    with story.enter("Alice") as alice:
        assert story.talk("Alice", alice, "say Mara, my ferry has a new rope.")
        story.leave("Alice", alice)
    with story.log_in(SUPERUSER, game.password) as builder:
        builder.send(f"@memory/export {INNKEEPER} = first")
        came = _until(builder, "secrets in plain text", seconds=120)
        assert "secrets" in came, _log(game)
        builder.send(f"@memory/import {INNKEEPER} = first")
        _until(builder, "Replace them", seconds=60)
        builder.send("yes")
        came = _until(builder, f"{INNKEEPER} remembers", seconds=120)
        assert re.search(rf"{INNKEEPER} remembers [1-9]\d* journal entries, [1-9]", came), _log(
            game
        )
        builder.send(f"@memory/export {INNKEEPER} = second")
        _until(builder, "secrets in plain text", seconds=120)
    exports = game.folder / "server" / "ai_memory" / "exports"
    assert (exports / "first.jsonl").read_bytes() == (exports / "second.jsonl").read_bytes()
    game.stop()


def test_after_a_reload_it_is_met_again_and_after_a_stop_it_is_gone(game):
    game.start()
    story = Story(game)
    with story.enter("Bram") as bram:
        assert story.talk("Bram", bram, "say Mara, two of my sheep are gone.")
        before, server = _living(game), _pid_file(game)
        game.reload()
        assert _pid_file(game) != server
        began = time.monotonic()
        assert "sheep" in story.talk("Bram", bram, "say Mara, what did I say of my sheep?")
        assert time.monotonic() - began < 30
        assert _living(game) == before
        status = game.evennia("ai_memory", "status")
        assert re.search(rf"{INNKEEPER} +#\d+ +awake +\d+ +[1-9]", status), status
        story.leave("Bram", bram)
    game.stop()
    deadline = time.monotonic() + GONE_WITHIN
    while game.memory_processes() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert game.memory_processes() == []


def _rest(story: Story, game: Game) -> None:
    """Let a whole night pass that nobody disturbs."""
    with story.log_in(SUPERUSER, game.password) as builder:
        for _ in range(20):
            builder.send(f"@sleep/now {INNKEEPER}")
            came = _until(builder, "wakes up rested", seconds=60)
            if "wakes up rested" in came:
                return
            time.sleep(3)  # a process that was killed many times is not started at once
    pytest.fail(f"no night came to its end: {came}\n{_log(game)}")


def _until(line: Telnet, wanted: str, seconds: float) -> str:
    try:
        return line.expect(wanted, "went wrong", "does not answer", timeout=seconds)
    except TimeoutError as late:
        return str(late)


def _pid_file(game: Game) -> int:
    return int((game.folder / "server" / "server.pid").read_text())


def _living(game: Game, after: int = 0, seconds: float = 60) -> int:
    """Wait for a memory process other than `after`, and return its number."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := [each for each in game.memory_processes() if each != after]:
            return found[0]
        time.sleep(0.1)
    raise AssertionError(f"no memory process came.\n{_log(game)}")


def _log(game: Game) -> str:
    return (game.folder / "server" / "logs" / "ai_memory.log").read_text()[-3000:]
