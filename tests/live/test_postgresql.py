"""PostgreSQL as the game's database: the story of `make demo`, then an erasure from the shell."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
import real_stores

from world.game import SUPERUSER, GameError
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live


@pytest.fixture
def database() -> Iterator[dict[str, str]]:
    """A new database of a real PostgreSQL, as Django's settings name it."""
    import psycopg

    name = f"evennia_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(real_stores.postgres(), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        yield real_stores.game_database(name)
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def journal(game, words):
    with Story(game).log_in(SUPERUSER, game.password) as builder:
        builder.send(f"@memory/journal {INNKEEPER} = {words}")
        return builder.drain(2).replace(f"= {words}", "")


def test_the_story_and_an_erasure_hold_on_postgresql(live_game, database):
    transcript: list[str] = []
    with live_game({}, database) as game:
        game.start()
        story = Story(game, transcript.append)
        try:
            story.play()
        except (GameError, OSError) as problem:  # time-outs are OSErrors
            pytest.fail("\n".join([*transcript, "", f"The story broke off: {problem}"]))
        assert story.failed == [], "\n".join(transcript)
        assert "ferry at Millbrook" in journal(game, "ferry")
        game.stop()
        assert not (game.folder / "server" / "evennia.db3").exists(), "SQLite was used after all"
        assert "No problems found." in game.evennia("ai_memory", "doctor")
        assert "database is not SQLite" in game.evennia("ai_memory", "erase", "Alice", "--yes")
        assert "(postgresql) is NOT in it" in game.evennia("ai_memory", "backup", "b.tar.gz")
        assert "No problems found." in game.evennia("ai_memory", "doctor")
        game.start()
        assert "ferry at Millbrook" not in journal(game, "ferry")
        assert "wolves" in journal(game, "wolves").lower(), "more was erased than Alice"
