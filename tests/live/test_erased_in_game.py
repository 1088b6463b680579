"""A builder lets an NPC forget a player in a running game: after the next reload no file holds it.

SQLite leaves shreds of rows in the free space of pages that it has rearranged, whatever is
overwritten at once; the start of the server writes the file anew.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from world.game import SUPERUSER, Game, Telnet
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

SETTINGS = {
    "TICK_RATE": 1,
    "REPLY_COOLDOWN": 0,
    "QUIET_SECONDS": 1,
    "MIN_OBSERVATIONS": 2,
    "REFLECT_AT": 10,
}
NAME = "Wilhelmina"
WORDS = ("zanzibar", "quixotic", "xylophone", "marzipan")
NIGHTS = 2
TALK = (  # few words a person, so that their rows share pages with others' and are moved about
    ("her", "say I sailed to zanzibar with my quixotic uncle."),
    ("her", "say I love marzipan."),
    ("him", "say Wolves took two of my sheep near Harrow Hill."),
    ("her", f"whisper {INNKEEPER} = I hide a xylophone below the stairs."),
    ("him", "say I hate porridge."),
    ("him", f"say {INNKEEPER}, where has {NAME} been?"),
    ("her", "say I hate marzipan."),
    ("him", "say My sheep graze in the north field."),
)
OWN_OF_EVENNIA = re.compile(
    r"server/logs/(server|portal|http_requests|lockwarnings|channel_\w+)\.log.*"
)


def test_an_erased_player_is_in_no_file_after_the_next_reload(live_game):
    with live_game(SETTINGS) as game:
        game.start()
        story = Story(game)
        with (
            story.log_in(SUPERUSER, game.password) as builder,
            story.enter(NAME) as her,
            story.enter("Bram") as him,
        ):
            for _ in range(NIGHTS):
                _talk({"her": her, "him": him})
                builder.send(f"@sleep/now {INNKEEPER}")
                builder.expect("wakes up rested", timeout=120)
            _destroy(builder)  # the rows of the game's own that hold the name
            before = _holding(game)
            assert {NAME, *WORDS} <= set().union(*before.values()), before
            told = _forget(builder)
            assert "next reload" in told
        size = _database(game).stat().st_size
        game.reload()
        # a file of SQLite's gets smaller by that alone; whether pages keep shreds is up to chance
        assert _database(game).stat().st_size < size, "the database was not written anew"
        assert _holding(game) == {}
        assert "Traceback" not in game.log_tail(1000)
        with story.log_in(SUPERUSER, game.password) as builder:
            builder.send(f"@memory/search {INNKEEPER} = Who took the sheep?")
            builder.expect("Harrow Hill")


def _talk(people: dict[str, Telnet]) -> None:
    for who, line in TALK:
        people[who].send(line)
        time.sleep(1)
    for line in people.values():
        line.drain(1)
    time.sleep(2)  # the talk is over, and what was said is indexed


def _destroy(builder: Telnet) -> None:
    """Take away the account and the character, whose names are the game's own."""
    builder.drain(0.3)
    builder.send(f"accounts/delete {NAME}")
    builder.expect("Are you sure")
    builder.send("yes")
    builder.expect("successfully deleted")
    builder.send(f"find {NAME}")
    [dbref] = re.findall(rf"{NAME}\((#\d+)\)", builder.expect("typeclasses.characters"))
    builder.send(f"destroy/force {dbref}")
    builder.expect("was destroyed")


def _forget(builder: Telnet) -> str:
    builder.drain(0.3)
    builder.send(f"@memory/forget {INNKEEPER} = about {NAME}")
    builder.expect("cannot be undone")
    builder.drain(0.5)
    builder.send("yes")
    return builder.expect("knows", timeout=120) + builder.drain(2)


def _database(game: Game) -> Path:
    return game.folder / "server" / "evennia.db3"


def _holding(game: Game) -> dict[str, set[str]]:
    """Which files of a game hold the name or a word of hers, but for Evennia's own logs."""
    held = {path: _words_in(path) for path in game.folder.rglob("*") if path.is_file()}
    named = {str(path.relative_to(game.folder)): words for path, words in held.items() if words}
    return {name: words for name, words in named.items() if not OWN_OF_EVENNIA.fullmatch(name)}


def _words_in(path: Path) -> set[str]:
    content = path.read_bytes().lower()
    return {
        word
        for word in (NAME, *WORDS)
        if word.lower().encode() in content or word.lower().encode("utf-16-le") in content
    }
