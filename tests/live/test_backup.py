"""Backup and restore on a real game, as the operators' guide has them, word for word."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import pytest

from world.game import SUPERUSER, Game, GameError
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "operators.md"
SETTINGS = {"TICK_RATE": 1, "REPLY_COOLDOWN": 0}


def section(title: str) -> list[tuple[str, list[str]]]:
    """The commands of one section of the guide, each with what it says is printed."""
    text = GUIDE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    steps: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line)
    return steps


def type_in(game: Game, line: str) -> str:
    """Type a line of the guide in the game's folder."""
    words = shlex.split(line)
    if words == ["evennia", "stop"]:
        game.stop()
        return ""
    if words == ["evennia", "start"]:
        game.start()
        return ""
    if words[0] == "evennia":
        return game.evennia(*words[1:])
    done = subprocess.run(words, cwd=game.folder, capture_output=True, text=True, check=True)
    return done.stdout


def same(text: str) -> str:
    return re.sub(r"[\d.]+", "#", " ".join(text.split()))


def journal(game: Game, words: str) -> str:
    with Story(game).log_in(SUPERUSER, game.password) as builder:
        builder.send(f"@memory/journal {INNKEEPER} = {words}")
        return builder.drain(2)


def settled(game: Game) -> None:
    """Wait until what was said is indexed, and a generation lies behind it."""
    time.sleep(4)


def say(game: Game, *lines: str) -> None:
    story = Story(game)
    with story.enter("Alice") as alice:
        for line in lines:
            assert story.talk("Alice", alice, f"say {line}")
        story.leave("Alice", alice)
    settled(game)


def log_of(game: Game) -> str:
    return (game.folder / "server" / "logs" / "ai_memory.log").read_text()


def test_backup_and_restore_go_as_the_guide_says(live_game):
    with live_game(SETTINGS) as game:
        game.migrate()
        game.start()
        say(game, "Mara, I keep the ferry at Millbrook.", "Mara, my boat is called Heron.")
        steps = section("Backup and restore")
        assert len(steps) >= 8
        for number, (line, printed) in enumerate(steps):
            came = type_in(game, line)
            for each in printed:
                assert same(each) in same(came), (line, came)
            if number == 0:
                say(game, "Mara, the mill wheel is broken.")
                game.stop()
                game.evennia("ai_memory", "erase", "Alice", "--yes")
                game.start()
                assert "Heron" not in journal(game, "Heron").replace("= Heron", "")
                say(game, "Mara, a stranger came by.")
        if not game.is_running:
            game.start()
        assert "boat is called Heron" in journal(game, "Heron")
        assert "mill wheel is broken" not in journal(game, "wheel")
        story = Story(game)
        with story.enter("Alice") as alice:
            assert "Heron" in story.talk("Alice", alice, "say Mara, what is my boat called?")
        game.stop()
        assert "No problems found." in game.evennia("ai_memory", "doctor")


def test_a_backup_is_whole_while_talk_goes_on_and_the_game_does_not_stand_still(live_game):
    with live_game(SETTINGS) as game:
        game.migrate()
        game.start()
        say(game, "Mara, I keep the ferry at Millbrook.")
        story, over = Story(game), threading.Event()
        with story.enter("Alice") as alice, story.log_in(SUPERUSER, game.password) as builder:
            builder.send(f"py {_WATCH}")
            builder.drain(1)

            def talk() -> None:
                number = 0
                while not over.is_set():
                    number += 1
                    alice.send(f"say Mara, barrel {number} holds {number * 7} red apples.")
                    alice.read(0.2)

            talking = threading.Thread(target=talk, daemon=True)
            talking.start()
            try:
                for number in range(3):
                    game.evennia("ai_memory", "backup", f"b{number}.tar.gz")
            finally:
                over.set()
                talking.join()
            builder.send("py evennia.ai_memory_longest")
            shown, latest = "", time.monotonic() + 30  # a busy machine answers late
            while not (found := re.search(r"^(\d+\.\d+)", shown, re.MULTILINE)):
                assert time.monotonic() < latest, shown
                shown += builder.drain(1)
            longest = float(found[1])
        assert longest < 1.0, longest  # other work of a busy machine is in it
        assert "Traceback" not in log_of(game)
        game.stop()
        for number in range(3):
            game.evennia("ai_memory", "restore", f"b{number}.tar.gz", "--yes")
            told = _doctor(game)
            found = re.findall(r"^found: (.*)$", told, re.MULTILINE)
            assert found or "No problems found." in told
            assert all(line.endswith("wait to be indexed") for line in found), told


_WATCH = (
    "exec('''import evennia, time\\nfrom twisted.internet import task\\n"
    "evennia.ai_memory_longest = 0.0\\nevennia.ai_memory_last = time.monotonic()\\n"
    "def look():\\n    now = time.monotonic()\\n"
    "    evennia.ai_memory_longest = max(evennia.ai_memory_longest, "
    "now - evennia.ai_memory_last - 0.005)\\n    evennia.ai_memory_last = now\\n"
    "task.LoopingCall(look).start(0.005)''')"
)


def _doctor(game: Game) -> str:
    try:
        return game.evennia("ai_memory", "doctor")
    except GameError as found:
        return str(found)


@pytest.mark.parametrize("older", ["database", "store"])
def test_half_a_backup_is_noticed_at_the_start_after_a_little_more_talk(live_game, older):
    with live_game(SETTINGS) as game:
        game.migrate()
        game.start()
        say(game, "Mara, I keep the ferry at Millbrook.")
        game.evennia("ai_memory", "backup", "b.tar.gz")
        say(game, "Mara, my boat is called Heron.")
        game.kill_server()
        game.stop()
        with tarfile.open(game.folder / "b.tar.gz") as tar:
            tar.extractall(game.folder / "half", filter="data")
        if older == "database":
            shutil.copy(game.folder / "half" / "database", game.folder / "server" / "evennia.db3")
        else:
            shutil.rmtree(game.folder / "server" / "ai_memory")
            shutil.copytree(
                game.folder / "half" / "ai_memory", game.folder / "server" / "ai_memory"
            )
        game.start()
        with Story(game).log_in(SUPERUSER, game.password) as builder:
            builder.send("@memory")
            shown = " ".join(builder.drain(8).split())
        assert f"{older} is older than" in shown
        assert f"{older} is older than" in log_of(game)
        assert f"{older} is older than" in game.evennia("ai_memory", "status")
        game.stop()
        assert f"{older} is older than" in _doctor(game)
        game.evennia("ai_memory", "restore", "b.tar.gz", "--yes")
        assert "No problems found." in _doctor(game)
        shutil.rmtree(game.folder / "half")


def test_a_restore_that_is_killed_is_run_again_and_ends_whole(live_game):
    with live_game(SETTINGS) as game:
        game.migrate()
        game.start()
        say(game, "Mara, I keep the ferry at Millbrook.")
        game.stop()
        game.evennia("ai_memory", "backup", "b.tar.gz")
        game.start()
        say(game, "Mara, my boat is called Heron.")
        game.stop()
        killed = 0
        for place in (1, 2, 3):  # each begins where the one before was killed
            try:
                game.evennia("shell", "-c", _KILLED_AT.format(place=place))
            except GameError:
                killed += 1
            if (game.folder / "server" / "ai_memory.restoring").exists():
                assert "interrupted" in _doctor(game)
        assert killed >= 2, "it was hardly killed: this test shows nothing"
        game.evennia("ai_memory", "restore", "b.tar.gz", "--yes")
        left = [path.name for path in (game.folder / "server").iterdir()]
        assert not [name for name in left if ".restor" in name or ".before" in name], left
        assert "No problems found." in _doctor(game)
        game.start()
        assert "Heron" not in journal(game, "Heron").replace("= Heron", "")
        assert "ferry at Millbrook" in journal(game, "ferry")


_KILLED_AT = """
import os, pathlib
from contrib_ai_memory.admin import backup
renames, rename = [], pathlib.Path.rename
def killed(self, target):
    renames.append(target)
    if len(renames) == {place}:
        os.kill(os.getpid(), 9)
    return rename(self, target)
pathlib.Path.rename = killed
backup.restore(pathlib.Path("b.tar.gz"))
"""
