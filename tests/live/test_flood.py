"""One player floods an NPC over telnet while another asks it something."""

from __future__ import annotations

import pytest

from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

FLOOD = 40


def test_a_player_is_answered_while_another_floods_the_npc(live_game):
    with live_game({"TICK_RATE": 1, "REPLY_COOLDOWN": 1}) as game:
        game.start()
        story = Story(game)
        with story.enter("Alice") as alice, story.enter("Bram") as bram:
            assert story.talk("Bram", bram, f"say {INNKEEPER}, I keep sheep at Thornwick.")
            alice.drain(1)
            alice.send(f"whisper {INNKEEPER}, Bram = I hide a copper bell under the altar.")
            bram.expect("under the altar")
            assert "altar" in story.talk("Bram", bram, f"whisper {INNKEEPER} = Where is the bell?")
            alice.drain(1)
            bram.drain(0.5)
            for number in range(FLOOD):
                alice.send(f"say {INNKEEPER}, look at number {number}!")
            alice.expect(f"number {FLOOD // 2}!", timeout=60)  # amid the flood
            bram.send(f"say {INNKEEPER}, what do I keep at Thornwick?")
            bram.expect("keep sheep at Thornwick", timeout=60)
            heard = alice.drain(4)
        spoken = [line for line in heard.splitlines() if line.startswith(f"{INNKEEPER} says")]
        excuses = [line for line in spoken if "One thing at a time" in line]
        assert len(excuses) <= 1
        assert len(spoken) <= 5, f"replies were spent on the flood: {spoken}"
