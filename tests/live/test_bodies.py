"""What a builder types in a real game: an NPC is copied and destroyed; a typeclass is wrong."""

from __future__ import annotations

import time

import pytest

from world.game import SUPERUSER, Telnet

pytestmark = pytest.mark.live

BACKWARDS = """

class Backwards(DefaultCharacter, MemoryMixin):
    pass
"""


def typed(line, command, *wanted):
    line.send(command)
    return line.expect(*wanted)


def test_a_copy_is_somebody_else_and_a_misplaced_mixin_is_told_of_at_every_start(live_game):
    with live_game({"TICK_RATE": 1}) as game:
        with (game.folder / "typeclasses" / "npcs.py").open("a") as file:
            file.write(BACKWARDS)
        game.start()
        with Telnet(game.ports.telnet) as line:
            line.expect("connect <username>")
            typed(line, f"connect {SUPERUSER} {game.password}", "become")
            typed(line, "create/drop Nerys:typeclasses.npcs.AssistantNPC", "You create")
            typed(line, "create/drop Osric:typeclasses.npcs.Backwards", "You create")
            typed(line, "whisper Nerys = I hide a silver key in Elmstead.", "You whisper")
            time.sleep(4)  # it is indexed
            typed(line, "copy Nerys = Zelda", "Copied Nerys")
            shown = typed(line, "@memory/journal Zelda", "nothing yet", "silver key")
            assert "silver key" not in shown
            typed(line, "destroy/force Zelda", "Zelda was destroyed")
            time.sleep(3)
            typed(line, "@memory/search Nerys = silver key", "I hide")  # the line may be wrapped
            typed(line, "destroy/force Nerys", "Nerys was destroyed")
        log = game.folder / "server" / "logs" / "ai_memory.log"
        told = log.read_text().count("typeclasses.npcs.Backwards hears and remembers nothing")
        assert told >= 1
        game.reload()
        deadline = time.monotonic() + 30
        while log.read_text().count("class Backwards(MemoryMixin, DefaultCharacter)") <= told:
            assert time.monotonic() < deadline, "it was not told of at the start"
            time.sleep(0.5)
        assert "hears and remembers nothing" in game.log_tail(200)
        assert "Traceback" not in log.read_text() + game.log_tail(1000)
