"""A wrong CONTRIB_AI_MEMORY stops the game at its start, with words that help."""

from __future__ import annotations

import pytest

from world.game import GameError

pytestmark = pytest.mark.live

KNOWN_KEYS = "TICK_RATE, TICK_RATE_SLEEP"


@pytest.mark.parametrize(
    ("settings", "command", "words"),
    [
        ({"TICK_RATE": "fast"}, "start", ("['TICK_RATE'] = 'fast'", "a valid integer")),
        ({"TICK_RATE": -1}, "migrate", ("['TICK_RATE'] = -1", "greater than or equal to 1")),
        ({"TICKRATE": 5}, "migrate", ("['TICKRATE'] = 5", "no such key", KNOWN_KEYS)),
        ({"ENABLED": "perhaps"}, "check", ("['ENABLED'] = 'perhaps'", "a valid boolean")),
        (
            {"LLM": {"base_url": "nonsense", "model": "m"}},
            "check",
            ("['LLM']['base_url'] = 'nonsense'", "https?://"),
        ),
        ({"LLM": {"model": "m"}}, "check", ("['LLM']['base_url']", "is missing")),
        (
            {"ENABLED": "perhaps", "TICKRATE": 5},
            "reload",
            ("['ENABLED'] = 'perhaps'", "['TICKRATE'] = 5"),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_wrong_setting_is_named_with_its_value_and_what_is_allowed(
    live_game, settings, command, words
):
    with live_game(settings) as game:
        try:
            printed = game.evennia(command, timeout=60)
        except GameError as refused:
            printed = str(refused)
        for word in words:
            assert word in printed
        assert not game.is_running


def test_a_wrong_setting_is_told_without_a_stack_trace_and_fails_the_command(live_game):
    with live_game({"TICK_RATE": "fast"}) as game:
        with pytest.raises(GameError) as refused:
            game.evennia("start", timeout=60)
        printed = str(refused.value)
        assert "settings.CONTRIB_AI_MEMORY['TICK_RATE'] = 'fast'" in printed
        assert "Traceback" not in printed
        assert "one of three reasons" not in printed, "Evennia guesses, after it was told"
