"""What processes that are not the Server do with the contrib: Evennia's launcher and the Portal."""

import os
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from contrib_ai_memory import conf, deletion
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

PROCESS = """
import os, sys
sys.path.insert(0, os.getcwd())
from twisted.internet import reactor
import evennia.server.evennia_launcher
import django
django.setup()
BODY
print(*sys.modules)
"""
PORTAL = "import evennia; evennia._init(portal_mode=True)"
RUNS = "reactor.callLater(0.2, reactor.stop); reactor.run()"


@pytest.fixture
def process(settings, tmp_path):
    """`process(argv, body)`: the modules of a process of this game that ran `body`."""
    own = f"""
        from server.conf.settings import *
        CONTRIB_AI_MEMORY = {getattr(settings, conf.SETTING)!r}
        LOG_DIR = {str(tmp_path)!r}
        DATABASES["default"] = {{
            "ENGINE": "django.db.backends.sqlite3", "NAME": {str(tmp_path / "game.db3")!r}
        }}
    """
    (tmp_path / "process_settings.py").write_text(textwrap.dedent(own))

    def run(argv, body=""):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                f"import sys; sys.argv = {argv!r}\n" + PROCESS.replace("BODY", body),
            ],
            cwd=settings.GAME_DIR,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "process_settings",
                "PYTHONPATH": os.pathsep.join(map(str, (settings.GAME_DIR, tmp_path, *sys.path))),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0 and done.stdout.strip(), done.stderr
        return set(done.stdout.splitlines()[-1].split())

    return run


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
def test_no_process_but_the_server_loads_what_is_heavy(process, argv, body, allowed):
    assert sorted(process(argv, body).intersection(HEAVY).difference(allowed)) == []


@pytest.fixture
def database(db, tmp_path):
    """The game's database as the file that `process` uses, on which work of the start is noted."""
    from django.db import connection

    if connection.vendor != "sqlite":
        pytest.skip("a database in a file of its own")
    game_database.note_vacuum()
    deletion.note("00000000-0000-4000-8000-000000000001")
    connection.ensure_connection()
    with closing(sqlite3.connect(tmp_path / "game.db3")) as copy:
        copy.executescript("\n".join(connection.connection.iterdump()))
    return tmp_path / "game.db3"


def notes(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as opened:
        rows = opened.execute("SELECT db_key FROM server_serverconfig ORDER BY db_key")
        return [key for [key] in rows if key.startswith("ai_memory")]


def test_a_launcher_whose_reactor_runs_leaves_the_work_of_the_servers_start_alone(
    process, database, store_folder
):
    before = notes(database)
    assert len(before) == 2
    process(["evennia", "status"], RUNS)
    assert notes(database) == before


def test_the_server_does_the_work_of_its_start(process, database, store_folder):
    process(["twistd", "--python=/lib/evennia/server/server.py"], "evennia._init()\n" + RUNS)
    assert game_database.KEY not in notes(database)
