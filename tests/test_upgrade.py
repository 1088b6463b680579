"""A game that an older version played goes on with this one; what is newer is refused in words."""

import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import game_process
import pytest

from contrib_ai_memory.store import metadata

KEPT = Path(__file__).parent / "old_games"
FIRST = "2026-11-21.tar.gz"

EVENING = """
evennia._init()
from contrib_ai_memory import offload
from evennia.utils.search import search_object
[mara], [alice], [bram] = map(search_object, ("Mara", "Alice", "Bram"))
def hear(text=None, **kwargs):
    print("alice hears:", text[0] if isinstance(text, tuple) else text)
alice.msg = hear
alice.execute_cmd("say Mara, who keeps the ferry at Millbrook?")
alice.execute_cmd("whisper Mara = Where do I hide a key?")
bram.execute_cmd("say I mend nets at Elmstead now.")
mara.memory.flush()
offload.wait(mara.assistant.at_tick())
offload.wait(mara.assistant.sleep.whole_night())
facts = offload.wait(mara.memory.counts())["fact"]
print("asleep:", mara.assistant.asleep, "entries:", len(mara.memory.journal), "facts:", facts)
mara.assistant.at_server_shutdown()
"""


@pytest.fixture
def game(db, tmp_path):
    """The folder of a game that the first release played (see old_games/make.py)."""
    with tarfile.open(KEPT / FIRST) as kept:
        kept.extractall(tmp_path, filter="data")
    return tmp_path


def class_paths(game):
    with closing(sqlite3.connect(game / game_process.DATABASE)) as opened:
        rows = opened.execute("SELECT db_key, db_typeclass_path FROM scripts_scriptdb")
        return [path for key, path in rows if key == "ai_memory_assistant"]


def test_an_npc_of_the_first_release_answers_from_its_memory_and_sleeps(game):
    assert class_paths(game) == ["contrib_ai_memory.assistant.AssistantScript"]
    printed = game_process.run(game, EVENING, "evennia", "shell")
    assert "Traceback" not in printed
    heard = [line for line in printed.splitlines() if line.startswith("alice hears: Mara")]
    assert "ferry" in heard[0] and "third step" in heard[1]
    assert "asleep: False entries: 15" in printed


def test_doctor_mends_what_the_first_release_left_and_finds_nothing_afterwards(game):
    assert "mended: Mara" in game_process.ai_memory(game, "doctor", "--mend")
    assert "No problems found." in game_process.ai_memory(game, "doctor")


def test_the_server_gives_heartbeats_of_the_first_release_their_present_class(game):
    server = "evennia._init(); reactor.callLater(0.2, reactor.stop); reactor.run()"
    game_process.run(game, server, "twistd", "--python=/lib/evennia/server/server.py")
    assert class_paths(game) == ["contrib_ai_memory.script.AssistantScript"]


def test_a_heartbeat_whose_class_is_gone_gets_the_present_one(game):
    with closing(sqlite3.connect(game / game_process.DATABASE)) as opened, opened:
        opened.execute("UPDATE scripts_scriptdb SET db_typeclass_path = 'contrib_ai_memory.a.B'")
    assert "mended: Mara" in game_process.ai_memory(game, "doctor", "--mend")
    assert class_paths(game) == ["contrib_ai_memory.script.AssistantScript"]


def test_a_store_says_which_format_it_has(game):
    game_process.ai_memory(game, "doctor", "--mend")
    game_process.ai_memory(game, "reindex")
    stored = json.loads((game / game_process.STORE / metadata.FILE).read_text())
    assert stored["format"] == metadata.FORMAT


@pytest.mark.parametrize("action", [("status",), ("doctor",), ("doctor", "--mend"), ("reindex",)])
def test_a_store_of_a_newer_version_is_refused_and_stays_as_it_is(game, action):
    file = game / game_process.STORE / metadata.FILE
    newer = json.loads(file.read_text()) | {"format": metadata.FORMAT + 1}
    file.write_text(json.dumps(newer))
    printed = game_process.ai_memory(game, *action, fails=True)
    assert "newer version of contrib_ai_memory" in printed and "Traceback" not in printed
    assert json.loads(file.read_text()) == newer
