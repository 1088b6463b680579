"""`evennia ai_memory move` on a real game: Edge to PostgreSQL and back, killed in the middle."""

from __future__ import annotations

import json
import re
import time

import pytest
import real_stores

from world.game import Game, GameError
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

SETTINGS = {"TICK_RATE": 1, "REPLY_COOLDOWN": 0}
LINES = (
    "say Mara, I keep the ferry at Millbrook.",
    "say Mara, my boat is called Heron.",
    "whisper Mara = I hide a silver key under the third step.",
    "say Mara, I prefer tea and cannot stand coffee.",
)


def exported(game: Game, name: str) -> bytes:
    game.evennia("ai_memory", "export", INNKEEPER, name)
    return (game.folder / name).read_bytes()


def move(game: Game, store: dict, *options: str) -> dict:
    """Move the memories, change the setting as the command says, and return the setting."""
    printed = game.evennia("ai_memory", "move", "--to", json.dumps(store), *options)
    assert "each compared" in printed, printed
    return store


def use(game: Game, store: dict) -> None:
    changed = f"\nCONTRIB_AI_MEMORY['VECTOR_STORE'] = {store!r}"
    game.extra_settings = game.extra_settings.partition("\nCONTRIB_AI_MEMORY['V")[0] + changed
    game.write_secret_settings()


def recalled(game: Game) -> dict[str, list[str]]:
    """What Alice, Bram and nobody in particular bring to Mara's mind, and Mem0's own list."""
    printed = game.evennia("shell", "-c", _RECALL)
    return json.loads(re.search(r"^RECALLED (.*)$", printed, re.MULTILINE)[1])


def ids(found: dict[str, list[str]]) -> set[str]:
    return {json.loads(each)["id"] for each in found["mem0"]}


_RECALL = """
import json
from evennia.utils.search import search_object
from contrib_ai_memory import offload
from contrib_ai_memory.store import memory_store
[mara] = search_object("Mara")
found = {}
for name in ("Alice", "Bram", ""):
    [who] = search_object(name) if name else [None]
    options = {"speaker": mara.get_memory_identity(who)} if who else {}
    for query in ("where is the silver key?", "what is the boat called?", "tea or coffee"):
        result = offload.wait(mara.memory.recall(query, **options))
        found[name + query] = sorted(item.memory.content for item in result.memories)
mem0 = memory_store.shared().mem0
listed = mem0.get_all(filters={"agent_id": mara.memory.id}, top_k=1000)["results"]
found["mem0"] = sorted(json.dumps(each, sort_keys=True, default=str) for each in listed)
print("RECALLED", json.dumps(found))
"""

_KILLED_AT = """
import os
from django.core.management import call_command
from contrib_ai_memory.admin import move
from contrib_ai_memory.store.pgvector import PostgresStore
move.AT_ONCE = 2
pages, write = [], PostgresStore.upsert_rows
def killed(*args, **more):
    pages.append(args)
    if len(pages) == 3:
        os.kill(os.getpid(), 9)
    write(*args, **more)
PostgresStore.upsert_rows = killed
call_command("ai_memory", "move", "--to", {store!r})
"""


def test_a_game_moves_to_postgresql_is_killed_goes_on_and_comes_back(live_game, tmp_path):
    with real_stores.config_of("pgvector", tmp_path) as table, live_game(SETTINGS) as game:
        game.migrate()
        game.start()
        story = Story(game)
        with story.enter("Bram") as bram:
            assert story.talk("Bram", bram, "say Mara, wolves took two of my sheep.")
            with story.enter("Alice") as alice:
                for line in LINES:
                    story.talk("Alice", alice, line)
                with pytest.raises(GameError, match="evennia stop"):
                    game.evennia("ai_memory", "move", "--to", json.dumps(table))
                story.leave("Alice", alice)
            story.leave("Bram", bram)
        time.sleep(4)  # until what was said is indexed
        game.stop()
        first, before = exported(game, "a.jsonl"), recalled(game)
        assert any("silver key" in text for text in before["Alicewhere is the silver key?"])
        assert not any("silver key" in text for text in before["Bramwhere is the silver key?"])

        with pytest.raises(GameError):
            game.evennia("shell", "-c", _KILLED_AT.format(store=json.dumps(table)))
        with pytest.raises(GameError, match="was interrupted"):
            use(game, table)
            exported(game, "half.jsonl")
        use(game, {"provider": "qdrant_edge"})
        move(game, table)
        use(game, table)
        after = recalled(game)
        assert exported(game, "b.jsonl") == first
        assert after == before
        assert not any("silver key" in text for text in after["Bramwhere is the silver key?"])
        assert any("silver key" in text for text in after["Alicewhere is the silver key?"])

        game.start()
        with story.enter("Alice") as alice:
            assert "Heron" in story.talk("Alice", alice, "say Mara, what is my boat called?")
            story.leave("Alice", alice)
        time.sleep(4)
        game.stop()
        later = exported(game, "c.jsonl")
        move(game, {"provider": "qdrant_edge"}, "--replace")
        use(game, {"provider": "qdrant_edge"})
        assert exported(game, "d.jsonl") == later
        back = recalled(game)
        assert ids(before) <= ids(back)
        assert not any("silver key" in text for text in back["Bramwhere is the silver key?"])
        assert "No problems found." in game.evennia("ai_memory", "doctor")
