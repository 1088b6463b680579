"""What is forgotten while a model thinks about it stays forgotten, whatever the model answers.

A real server, and a model server that keeps one answer back until the line that it was drawn from
is forgotten, by the command that a builder types.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from model_server import MODEL, WELL_FORMED, ModelServer, Request, digest, numbered_in

from world.game import SUPERUSER, Game, Telnet
from world.story import INNKEEPER, Story

pytestmark = pytest.mark.live

SETTINGS = {
    "TICK_RATE": 1,
    "REPLY_COOLDOWN": 0,
    "QUIET_SECONDS": 1,
    "MIN_OBSERVATIONS": 1,
    "REFLECT_AT": 1,
    "COMPRESS_ABOVE": 1,
}
# conversations are over at once, and all of them are summarised, not the oldest alone
NO_WAITING = (
    "from contrib_ai_memory import conf; conf.CONVERSATION_IDLE_SECONDS = 0.5; "
    "conf.COMPRESS_SHARE = 8; self.msg(str(conf.COMPRESS_SHARE))"
)


class KeepsBack:
    """Answers of one schema about one word are kept back until `release`; then they tell the word.

    Everything else is answered at once by what fits and tells nothing.
    """

    def __init__(self, schema: str | None, word: str):
        self.schema, self.word = schema, word
        self.asked, self.release = threading.Event(), threading.Event()

    def __call__(self, request: Request) -> str:
        if request.schema != self.schema or self.word not in request.text:
            return json.dumps(WELL_FORMED[request.schema](request))
        first = not self.asked.is_set()
        self.asked.set()
        assert self.release.wait(90)
        told = _telling(request, self.word) if first else WELL_FORMED[request.schema](request)
        return json.dumps(told)


def _ids(request: Request, word: str) -> list[int]:
    """The numbers of the lines that have the word."""
    return [number for number, line in numbered_in(request)[0].items() if word in line]


def _telling(request: Request, word: str) -> dict[str, Any]:
    text = f"The {word} lies in the well of the old mill."
    if request.schema == "DigestAnswer":
        new, _known = numbered_in(request)
        fact = {"text": text, "lines": [number for number, line in new.items() if word in line]}
        more = {"experience": text, "weight": 0.9, "lesson": f"Look after the {word}."}
        return digest(dict.fromkeys(new, 8), [fact], **more)
    numbers = _ids(request, word)
    answers = {
        "SummaryAnswer": {"summary": text},
        "AttributesAnswer": {
            "attributes": [{"type": "fact", "value": text, "evidence": numbers, "confidence": 0.9}]
        },
        "InsightsAnswer": {"insights": [{"insight": text, "because_of": numbers}]},
    }
    return answers[request.schema]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def game(live_game, server) -> Iterator[Game]:
    llm = {"base_url": server.url, "model": MODEL, "retries": 0, "timeout": 100}
    with live_game(SETTINGS | {"LLM": llm}) as game:
        game.start()
        with Story(game).log_in(SUPERUSER, game.password) as builder:
            _type(builder, f"py {NO_WAITING}", "8")
        yield game


def _type(builder: Telnet, command: str, *wanted: str) -> str:
    builder.drain(0.2)
    builder.send(command)
    return builder.expect(*wanted, timeout=60) + builder.drain(0.5)


def _id_of(builder: Telnet, word: str) -> str:
    shown = _type(builder, f"@memory/search {INNKEEPER} = {word}", "Mara recalls")
    return re.search(rf"(\d+) \[entry, \w+\] Alice: Mara, [^\[]*{word}", shown)[1]


def _forget(builder: Telnet, number: str) -> None:
    # rules draw facts of the line beside the model, which are to go with it
    _type(builder, f"@memory/forget {INNKEEPER} = {number} all", "yes/no")
    _type(builder, "y", "has forgotten")


def _all_it_knows(builder: Telnet, word: str) -> str:
    searched = _type(
        builder, f"@memory/search {INNKEEPER} = {word} well of the old mill", "Mara recalls"
    )
    return searched + "".join(
        _type(builder, f"@memory/{listed} {INNKEEPER}", INNKEEPER)
        for listed in ("facts", "journal", "profile")
    )


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ("DigestAnswer", "candlestick"),
        ("AttributesAnswer", "tankard"),
        ("InsightsAnswer", "goblet"),
        ("SummaryAnswer", "hourglass"),
    ],
)
def test_what_a_model_draws_from_a_line_that_was_forgotten_meanwhile_is_not_written(
    game, server, schema, word
):
    story = Story(game)
    kept_back = KeepsBack(schema, word)
    server.behave(text="I see.", structured=kept_back)
    with story.enter("Alice") as alice, story.log_in(SUPERUSER, game.password) as builder:
        story.talk("Alice", alice, "say Mara, good evening to you.")
        time.sleep(2)  # another conversation begins
        story.talk("Alice", alice, f"say Mara, my name for the red {word} is Firefly.")
        time.sleep(3)  # the talk is over
        builder.send(f"@sleep/now {INNKEEPER}")
        assert kept_back.asked.wait(60), f"the model was not asked for {schema} about the {word}"
        _forget(builder, _id_of(builder, word))
        kept_back.release.set()
        builder.expect("wakes up rested", "went wrong", timeout=120)
        known = _all_it_knows(builder, word)
        story.leave("Alice", alice)
    lines = [line for line in known.splitlines() if word in line and "search" not in line]
    assert not [line for line in lines if "lies in the well" in line or "Firefly" in line]


def test_a_reply_that_rests_on_a_line_that_was_forgotten_meanwhile_is_not_spoken(game, server):
    story = Story(game)
    server.behave(text="I see.")
    with story.enter("Alice") as alice, story.log_in(SUPERUSER, game.password) as builder:
        story.talk("Alice", alice, "say Mara, I keep the brass compass under the stairs.")
        number = _id_of(builder, "compass")
        server.behave(text="Under the stairs, of course.", delay=5)
        alice.send("say Mara, where is my thing of brass?")
        asked = server.wait_for_request(lambda request: "thing of brass" in request.last)
        assert "under the stairs" in asked.text, "it is not recalled: this test shows nothing"
        _forget(builder, number)
        server.behave(text="I could not say.")
        heard = alice.expect("I could not say.", timeout=60)
        story.leave("Alice", alice)
    assert "Under the stairs" not in heard
    asked = server.wait_for_request(lambda request: "thing of brass" in request.last)
    assert "under the stairs" not in asked.text
