"""Who hears what: a secret stays between two people, and what is switched off is not perceived."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from model_server import MODEL, ModelServer

from world.game import SUPERUSER, Game, Telnet
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

SECRET = "My heirloom is buried beneath the old willow."
SECRET_WORDS = ("buried", "willow")
BRAM_ASKS = "Mara, what do you know of Alice and her heirloom?"


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def game(live_game, model_server) -> Iterator[Game]:
    settings = {
        "TICK_RATE": 1,
        "QUIET_SECONDS": 3,  # what is said in a row below is learned from together
        "REPLY_COOLDOWN": 0,
        "LLM": {"base_url": model_server.url, "model": MODEL, "retries": 0},
    }
    with live_game(settings) as game:
        game.start()
        yield game


def test_a_model_is_never_shown_a_secret_for_somebody_who_was_not_told_it(game, model_server):
    story = Story(game)
    with story.enter("Alice") as alice, story.enter("Bram") as bram:
        assert story.talk("Alice", alice, "say Good evening, Mara."), "she thinks quickly by now"
        model_server.behave(text="I will keep that to myself.")
        assert story.talk("Alice", alice, f"whisper {INNKEEPER} = {SECRET}")

        # Alice asks aloud, with Bram beside her: her prompt has it, and the answer is whispered
        model_server.behave(text="It is buried beneath the willow.")
        told = story.talk("Alice", alice, "say Mara, where did I put my heirloom?")
        assert "whispers" in told
        assert "willow" in told
        hers = model_server.wait_for_request(lambda r: "where did I put" in r.last)
        assert "willow" in hers.text, "the secret is not recalled at all: this test shows nothing"

        model_server.behave(text="Ask her yourself.")
        assert story.talk("Bram", bram, f"say {BRAM_ASKS}")
        about_his = [r for r in model_server.requests if BRAM_ASKS in r.text]
        assert any(request.schema is None for request in about_his)
        shown = [word for word in SECRET_WORDS for r in about_his if word in r.text.lower()]
        assert not shown
        heard = bram.drain()
        assert not [word for word in SECRET_WORDS if word in heard.lower()], heard
        story.leave("Bram", bram)
        story.leave("Alice", alice)


@pytest.mark.parametrize("switched_off", ["here", "Alice", INNKEEPER])
def test_what_is_said_where_memory_is_switched_off_is_neither_journalled_nor_answered(
    game, model_server, switched_off
):
    model_server.behave(text="Is that so?")
    story = Story(game)
    with story.enter("Alice") as alice, story.log_in(SUPERUSER, game.password) as builder:
        builder.send("out")  # if she was left in there
        builder.send("tavern")
        builder.expect(INNKEEPER)
        unheard, heard = (f"Mara, the {what} is for {switched_off}." for what in ("lamp", "key"))

        _tag(builder, "@tag", switched_off, "Added tag")
        try:
            alice.send(f"say {unheard}")
            alice.expect("You say, ")
            assert f"{INNKEEPER} says" not in alice.drain(2)
        finally:
            _tag(builder, "@tag/del", switched_off, "Removed tag")
        assert story.talk("Alice", alice, f"say {heard}"), "she should hear again by now"

        builder.drain()
        builder.send(f"@memory/journal {INNKEEPER} = is for {switched_off}")
        journal = builder.expect(heard)
        assert unheard not in journal
        builder.send("out")
        story.leave("Alice", alice)


def _tag(builder: Telnet, command: str, what: str, answer: str) -> None:
    builder.send(f"{command} {what} = memory_off:ai_memory")
    builder.expect(answer)
