"""The game folder of demo and tests: how its server is stopped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = """
import pathlib, signal, sys, time
def end(*_):
    pathlib.Path("saved").write_text("")
    sys.exit()
signal.signal(signal.SIGTERM, {on_term})
print("up", flush=True)
time.sleep(60)
"""


@pytest.fixture
def stuck(tmp_path, monkeypatch):
    """stuck(on_term): a game whose server ignores `evennia stop`, and that server."""
    from world import game

    for name in ("STOP_TIMEOUT", "END_SECONDS", "TERM_SECONDS"):
        monkeypatch.setattr(game, name, 0.3)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    started = []

    def make(on_term):
        for name in ("bin", "game/server"):
            (tmp_path / name).mkdir(parents=True)
        evennia = tmp_path / "bin" / "evennia"
        evennia.write_text("#!/bin/sh\nexec sleep 60\n")
        evennia.chmod(0o755)
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER.format(on_term=on_term)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
        )
        started.append(server)
        server.stdout.readline()
        (tmp_path / "game" / "server" / "server.pid").write_text(str(server.pid))
        return game.Game(tmp_path / "game", python=tmp_path / "bin" / "python"), server

    yield make
    for server in started:
        server.kill()
        server.wait()
        server.stdout.close()


def test_a_server_that_does_not_stop_when_asked_may_save_and_that_is_said(stuck, tmp_path, capsys):
    game, server = stuck("end")
    game.stop()
    assert server.wait() == 0 and (tmp_path / "saved").exists()
    assert "server did not stop when asked: SIGTERM" in capsys.readouterr().out
    assert not Path(game.folder, "server", "server.pid").exists()


def test_only_what_ignores_that_too_is_killed_and_that_is_said(stuck, capsys):
    game, server = stuck("signal.SIG_IGN")
    game.stop()
    assert server.wait() == -9
    assert "what was not saved is lost: SIGKILL" in capsys.readouterr().out


def test_a_busy_machine_is_given_more_time(monkeypatch):
    from world import game

    waits = []
    for load in (0.1, 3, 100):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load * os.cpu_count(), 0, 0))
        waits.append(game._patience(60))
    assert waits == [60, 180, 300]


def test_games_that_are_made_at_once_have_ports_of_their_own(tmp_path):
    from world.game import Game

    made = [Game(tmp_path / name) for name in ("one", "two", "three")]
    for game in made:
        (game.folder / "server" / "conf").mkdir(parents=True)
        game.write_secret_settings(190)
    assert len({game.ports.telnet for game in made}) == 3
    before = made[0].ports
    made[0].write_secret_settings(190)  # made again, it keeps nothing from itself
    assert made[0].ports == before
