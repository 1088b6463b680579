"""What processes that are not the Server do with the contrib: Evennia's launcher and the Portal."""

import sqlite3
from contextlib import closing
from pathlib import Path

import game_process
import pytest

from contrib_ai_memory import deletion
from contrib_ai_memory.store import game_database

HEAVY = (
    "numpy",
    "openai",
    "httpx",
    "mem0",
    "qdrant_edge",
    "qdrant_client",
    "pydantic",
    "snowballstemmer",
    "wordfreq",
    "torch",
    "contrib_ai_memory.handler",
    "contrib_ai_memory.llm",
    "contrib_ai_memory.offline",
)
NEEDED_TO_CHECK_SETTINGS = ("pydantic",)

PORTAL = "evennia._init(portal_mode=True)"
RUNS = "reactor.callLater(0.2, reactor.stop); reactor.run()"


@pytest.mark.parametrize(
    ("argv", "body", "allowed"),
    [
        (["evennia", "status"], "", ()),
        (["evennia", "stop"], "", ()),
        (["evennia", "shell"], "", ()),
        (["twistd", "--python=evennia/server/portal/portal.py"], PORTAL, ()),
        (["evennia", "start"], "", NEEDED_TO_CHECK_SETTINGS),
        (["evennia", "migrate"], "", NEEDED_TO_CHECK_SETTINGS),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_process_but_the_server_loads_what_is_heavy(tmp_path, argv, body, allowed):
    printed = game_process.run(tmp_path, f"{body}\nprint(*sys.modules)", *argv)
    loaded = set(printed.split()).intersection(HEAVY)
    assert "contrib_ai_memory.apps" in printed and sorted(loaded.difference(allowed)) == []


@pytest.fixture
def database(db, tmp_path):
    """The game's database as the file of a process, on which work of the start is noted."""
    from django.db import connection

    if connection.vendor != "sqlite":
        pytest.skip("a database in a file of its own")
    game_database.note_vacuum()
    deletion.note("00000000-0000-4000-8000-000000000001")
    connection.ensure_connection()
    with closing(sqlite3.connect(tmp_path / game_process.DATABASE)) as copy:
        copy.executescript("\n".join(connection.connection.iterdump()))
    return tmp_path / game_process.DATABASE


def notes(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as opened:
        rows = opened.execute("SELECT db_key FROM server_serverconfig ORDER BY db_key")
        return [key for [key] in rows if key.startswith("ai_memory")]


def test_a_launcher_whose_reactor_runs_leaves_the_work_of_the_servers_start_alone(
    tmp_path, database
):
    before = notes(database)
    assert len(before) == 2
    game_process.run(tmp_path, RUNS, "evennia", "status")
    assert notes(database) == before


def test_the_server_does_the_work_of_its_start(tmp_path, database):
    program = "evennia._init()\n" + RUNS
    game_process.run(tmp_path, program, "twistd", "--python=/lib/evennia/server/server.py")
    assert game_database.KEY not in notes(database)
