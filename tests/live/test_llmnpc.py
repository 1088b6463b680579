"""A game with Evennia's LLMNPC changes one base class, reloads, and its NPC remembers."""

from __future__ import annotations

import pytest
from llm_server import LLMServer

from world.game import SUPERUSER
from world.story import PASSWORD, Story

pytestmark = pytest.mark.live

AS_IT_WAS = """
from evennia.contrib.rpg.llm import LLMNPC


class Barkeep(LLMNPC):
    pass
"""
ONE_BASE_CLASS = AS_IT_WAS.replace("evennia.contrib.rpg.llm", "contrib_ai_memory").replace(
    "LLMNPC", "MemoryLLMNPC"
)
TALK = """

from evennia.contrib.rpg.llm.llm_npc import CmdLLMTalk

_made = CharacterCmdSet.at_cmdset_creation


def _with_talk(self):
    _made(self)
    self.add(CmdLLMTalk)


CharacterCmdSet.at_cmdset_creation = _with_talk
"""


def test_a_game_with_llmnpc_changes_one_base_class(live_game):
    with live_game({"TICK_RATE": 1, "QUIET_SECONDS": 1}) as game, LLMServer() as server:
        typeclass = game.folder / "typeclasses" / "barkeep.py"
        typeclass.write_text(AS_IT_WAS)
        with (game.folder / "commands" / "default_cmdsets.py").open("a") as cmdsets:
            cmdsets.write(TALK)
        with (game.folder / "server" / "conf" / "secret_settings.py").open("a") as settings:
            settings.write(f"LLM_HOST = {server.url!r}\n")
        game.start()
        story = Story(game)
        with story.log_in(SUPERUSER, game.password) as builder, story.enter("Alice") as alice:
            builder.send("tavern")
            builder.drain(1)
            builder.send("@create/drop Odo:typeclasses.barkeep.Barkeep")
            builder.expect("Odo")
            server.text = "Well met."
            alice.send("talk Odo I keep the ferry at Millbrook.")
            alice.expect("Well met.")
        typeclass.write_text(ONE_BASE_CLASS)
        game.reload()
        with story.log_in("Alice", PASSWORD) as alice:
            alice.drain(1)
            server.text = "The ferry, of course."
            alice.send("talk Odo What did I tell you that I keep?")
            alice.expect("The ferry, of course.")
            heard = alice.drain(2)
        assert "The ferry, of course." not in heard, "it answered twice"
        block = server.prompts[-1].partition("</memory>")[0]
        assert block.startswith("<scene>")
        assert "I keep the ferry at Millbrook." in block
        with story.log_in(SUPERUSER, game.password) as builder:
            builder.send("@memory/journal Odo")
            journal = builder.expect("The ferry, of course.")
        for line in ("I keep the ferry", "Well met.", "What did I tell you", "The ferry, of"):
            assert journal.count(line) == 1
