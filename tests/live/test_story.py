"""The story that `make demo` tells, on a game that has never run before."""

from __future__ import annotations

import pytest

from world.game import GameError
from world.story import Story

pytestmark = pytest.mark.live


def test_every_step_of_the_story_holds_on_a_fresh_game(live_game):
    transcript: list[str] = []
    with live_game({}) as game:
        game.start()
        story = Story(game, transcript.append)
        try:
            story.play()
        except (GameError, OSError) as problem:  # time-outs are OSErrors
            pytest.fail("\n".join([*transcript, "", f"The story broke off: {problem}"]))
    assert story.failed == [], "\n".join(transcript)
    assert transcript[-1].strip() == "(Alice leaves)", "the story is not played to its end"
