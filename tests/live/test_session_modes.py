"""Games with several characters or sessions a player, in another language and time zone."""

from __future__ import annotations

import pytest

from world.game import SUPERUSER, Game, Telnet
from world.story import INNKEEPER

pytestmark = pytest.mark.live

PASSWORD = "millbrook-1"
GREEN, INN = "The Village Green", "The Drowned Lantern"
SETTINGS = """
MULTISESSION_MODE = {mode}
AUTO_CREATE_CHARACTER_WITH_ACCOUNT = False
AUTO_PUPPET_ON_LOGIN = False
MAX_NR_CHARACTERS = 5
MAX_NR_SIMULTANEOUS_PUPPETS = 5
USE_I18N = True
LANGUAGE_CODE = {language!r}
TIME_ZONE = {zone!r}
"""


@pytest.mark.parametrize(
    ("mode", "language", "zone"), [(2, "de", "Asia/Kolkata"), (3, "fr", "America/New_York")]
)
def test_each_character_of_a_player_is_somebody_and_each_line_is_heard_once(
    live_game, mode, language, zone
):
    with live_game({}) as game:
        secret = game.folder / "server" / "conf" / "secret_settings.py"
        secret.write_text(
            secret.read_text() + SETTINGS.format(mode=mode, language=language, zone=zone)
        )
        game.start()
        player = ("Player", PASSWORD)
        with session(game, *player, new=True) as first, session(game, *player) as again:
            for name in ("Alice", "Bram"):
                first.send(f"charcreate {name}")
                first.expect(f"ic {name}")
            become(first, "Alice")
            become(again, "Alice" if mode == 3 else "Bram")
            answer = ask(first, f"say {INNKEEPER}, I keep the ferry at Millbrook.")
            assert answer
            if mode == 3:  # the same body in two sessions: both see the one answer, once
                assert again.drain(1).count(answer) == 1
                become(again, "Bram")
            answer = ask(first, f"whisper {INNKEEPER} = I hide a silver key under the third step.")
            assert "whispers" in answer
            again.drain(1)
            said = ask(again, f"say {INNKEEPER}, where does Alice keep her key?")
            assert "third step" not in said, "another character of the player was told"
            assert "Millbrook" in ask(again, f"say {INNKEEPER}, what does Alice keep?")
            again.send("out")
            again.drain(0.5)
            assert "third step" in ask(first, "say Where did I hide my key?")
        with session(game, SUPERUSER, game.password) as keeper:
            become(keeper, SUPERUSER)
            keeper.send(f"@memory/journal {INNKEEPER} = ferry at Millbrook")
            journal = keeper.drain(3)
            assert " ".join(journal.split()).count("I keep the ferry at Millbrook.") == 1, journal
            for kind in ("arrive", "leave"):
                keeper.send(f"@memory/journal {INNKEEPER} = {kind}")
                assert "Bram" in keeper.drain(3), kind


def session(game: Game, name: str, password: str, *, new: bool = False) -> Telnet:
    """A connection that is logged in, without a body yet."""
    line = Telnet(game.ports.telnet)
    line.expect("connect <username>")
    line.drain(0.3)
    if new:
        line.send(f"create {name} {password}")
        line.expect("[Y]/N?")
        line.send("Y")
        line.expect(name, timeout=60)
    line.send(f"connect {name} {password}")
    return line


def become(line: Telnet, character: str) -> None:
    """Take a body, and go to the inn with it where it is not there yet."""
    line.drain(1)
    line.send(f"ic {character}")
    if GREEN in line.expect(GREEN, INN, timeout=60):
        line.send("tavern")
        line.expect(INN, timeout=60)


def ask(line: Telnet, typed: str) -> str:
    """Say or whisper something; returns the line with which the innkeeper answers."""
    line.drain(0.2)
    line.send(typed)
    came = line.expect(f"{INNKEEPER} says, ", f"{INNKEEPER} whispers: ", timeout=60)
    return came.strip().splitlines()[-1]
