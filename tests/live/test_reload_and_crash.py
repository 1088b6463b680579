"""Reloaded, killed, or met by a second process: the game comes back and no memory is lost."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from model_server import MODEL, ModelServer

from world.game import SUPERUSER, Game, Telnet
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

BACK_WITHIN = 45  # s; a reload takes six on a quiet machine
TO_END = 0.5  # s of CPU time that a program may take to end; with torch loaded it can be two


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def started(live_game, model_server) -> Iterator[Game]:
    settings = {
        "TICK_RATE": 1,
        "REPLY_COOLDOWN": 0,
        "LLM": {"base_url": model_server.url, "model": MODEL, "timeout": 60, "retries": 0},
        "VECTOR_STORE": {"provider": "qdrant_edge", "config": {"lock_wait": 3}},
    }
    with live_game(settings) as game:
        game.start()
        yield game


@pytest.fixture
def game(started, model_server) -> Game:
    """The game, up again if the test before left it down, and its model in good health."""
    model_server.behave(text="All is well.")
    if not started.is_running:
        started.start()
    return started


def test_a_reload_comes_back_by_itself_while_a_model_call_is_in_flight(game, model_server):
    story = Story(game)
    before = _pid(game)
    with story.enter("Alice") as alice:
        model_server.behave(text="Much too late.", delay=30)
        alice.send("say Good evening, Mara!")
        model_server.wait_for_request(lambda request: "Good evening" in request.last)
        alice.expect("Mara thinks it over.")
        model_server.behave(text="Good evening to you.")

        game.evennia("reload", timeout=BACK_WITHIN)
        game.wait_until_up(timeout=BACK_WITHIN)
        alice.drain()
        alice.send("look")
        alice.expect("The Drowned Lantern")
        assert _pid(game) != before, "this is the process of before: nothing was reloaded"

        model_server.wait_for_request(lambda request: request.last.endswith("Good evening, Mara!"))
        alice.expect("Good evening to you.")  # the question that the reload cut off
        model_server.behave(text="The river is high tonight.")
        answer = story.talk("Alice", alice, "say Mara, how is the river?")
        assert "The river is high tonight." in answer
        story.leave("Alice", alice)


def test_the_old_process_is_gone_as_soon_as_a_reload_has_stopped_it(game):
    """The new process meets the old one's ports if that still takes its modules apart."""
    story = Story(game)
    with story.enter("Alice") as alice:  # from here on the model is loaded and the store is open
        assert story.talk("Alice", alice, "say Mara, are you awake?")
        assert _cpu_seconds_after_shutdown(game) < TO_END
        story.leave("Alice", alice)


def test_a_second_reload_comes_back_too_while_the_model_is_still_being_loaded(game):
    story = Story(game)
    for _ in range(2):
        game.evennia("reload", timeout=BACK_WITHIN)
        game.wait_until_up(timeout=BACK_WITHIN)
    with story.enter("Alice") as alice:
        assert story.talk("Alice", alice, "say Mara, is all well?")
        story.leave("Alice", alice)


def test_the_heartbeat_ticks_again_after_kill_9_and_no_entry_is_lost(game):
    story = Story(game)
    with story.enter("Alice") as alice:
        assert story.talk("Alice", alice, "say Mara, the mill wheel is broken.")
        story.leave("Alice", alice)
    entries = story.journal_length()
    time.sleep(1.2)  # a perceived line is on disk within a second

    game.kill_server()
    game.start()

    with story.log_in(SUPERUSER, game.password) as builder:
        # read from afar: whatever looks at npc.memory would itself set the heart beating
        beat = "evennia.search_script('ai_memory_assistant')[0].state.last_beat"
        _ask_until(builder, f"py {beat}", r"^\d{4}-\d\d-\d\dT", seconds=20)
        builder.send("py len(evennia.search_script('ai_memory_assistant'))")
        assert re.search(r"^1$", builder.drain(1), re.MULTILINE), "an NPC has one heartbeat"
        builder.send(f"@memory {INNKEEPER}")
        overview = builder.expect("language:")
        assert re.search(r"heartbeat: +\d{4}-\d\d-\d\d \d\d:", overview), overview
    assert story.journal_length() == entries


def test_a_second_process_is_told_in_words_that_the_server_holds_the_store(game):
    story = Story(game)
    with story.enter("Alice") as alice:
        assert story.talk("Alice", alice, "say Mara, lock the door.")
        printed = game.evennia("shell", "-c", _OPEN_THE_STORE)
        assert "refused with StoreInUse: Another process holds the memory store in" in printed
        assert "most likely the running game server. Stop it first (evennia stop)" in printed
        assert "Traceback" not in printed
        assert story.talk("Alice", alice, "say Mara, is it locked?"), "the server lost its store"
        story.leave("Alice", alice)


_OPEN_THE_STORE = """
from contrib_ai_memory.store import condition, memory_store
try:
    memory_store.shared()
except condition.StoreError as refused:
    print(f"refused with {type(refused).__name__}: {refused}")
"""


# --- looking at the processes ---------------------------------------------------------------------


def _pid(game: Game) -> int:
    return int((game.folder / "server" / "server.pid").read_text())


def _cpu_seconds_after_shutdown(game: Game) -> float:
    """Reload; how long the old process still computes after it has called itself shut down."""
    pid, log = _pid(game), game.folder / "server" / "logs" / "server.log"
    shut_down = log.read_text().count("Server Shut Down")
    with ThreadPoolExecutor(1) as pool:
        reloading = pool.submit(game.reload)
        while log.read_text().count("Server Shut Down") == shut_down and not reloading.done():
            time.sleep(0.01)
        first = last = _cpu_ticks(pid)
        while (now := _cpu_ticks(pid)) is not None:
            last = now
            time.sleep(0.01)
        reloading.result()
    return (last - first) / 100 if first is not None else 0.0


def _cpu_ticks(pid: int) -> int | None:
    """User and system time of a process in 1/100 s; None when it has ended."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if state == "Z" else int(fields[10]) + int(fields[11])


def _ask_until(line: Telnet, command: str, wanted: str, seconds: float) -> None:
    """Send `command` again and again until a line of its answer matches `wanted`."""
    deadline = time.monotonic() + seconds
    came = ""
    while time.monotonic() < deadline:
        line.send(command)
        came = line.drain(0.5)
        if re.search(wanted, came, re.MULTILINE):
            return
    pytest.fail(f"{command!r} never answered {wanted!r} in {seconds:g} s. Last: {came!r}")
