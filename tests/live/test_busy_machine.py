"""A machine with too much to do: `evennia start` gives up after ten seconds."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.live

SLOW_PORTAL = """
import sys
import time

if any("portal.py" in argument for argument in sys.argv):
    time.sleep(14)
"""


def test_a_start_that_timed_out_is_tried_again(live_game, capfd):
    with live_game({}) as game:
        settings = game.folder / "server" / "conf" / "secret_settings.py"
        settings.write_text(settings.read_text() + SLOW_PORTAL)
        game.start()
        assert game.is_running
    assert "try 1 of" in capfd.readouterr().out


def test_a_start_that_never_comes_up_says_so_in_the_end(live_game, monkeypatch):
    from world import game as games

    with live_game({}) as game:
        settings = game.folder / "server" / "conf" / "secret_settings.py"
        settings.write_text(settings.read_text() + SLOW_PORTAL.replace("14", "60"))
        monkeypatch.setattr(games, "START_ATTEMPTS", 1)
        monkeypatch.setattr(games, "PORTAL_SECONDS", 1)
        with pytest.raises(games.GameError, match="too busy just now"):
            game.start()
