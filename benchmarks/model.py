"""What a language model is sent: calls, tokens, shared beginnings of requests, alternating roles.

An evening is replayed with its nights, then its people ask their questions in one conversation, a
day later, while others in the room talk among themselves; and 500 lines that two people say in one
day are replayed, with the night after them. A server on this machine gives stock answers over HTTP
(`stock_server`). Tokens are estimated from characters, schemas and tools included, as the contrib
does where a server reports none.

A reply's request shares its beginning with the one before it, which servers keep in their prompt
caches: measured in characters, the tools in front, between the first requests of two successive
replies, as a share of the later one and of its part before scene, memories and newest line. How
much of the whole that is grows with the talk (`--rounds` asks all questions several times).
Whispered lines are told to nobody else, so a request after one shares less.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import evenings_play
from .evenings_data import FOLDER, files, load
from .evenings_play import NIGHT_AFTER, later
from .harness import Bar, Report, Row, arguments, game, make, progress
from .stock_server import MODEL, Asked, StockServer, words_of

EVENING = FOLDER / "keep-1.json"
LINES = 500  # of two people
BETWEEN_LINES = timedelta(seconds=40)
BYSTANDER_EVERY = 3  # questions: before one of them others talk in the room
REPLY = "Reply"
CHARACTERS_PER_TOKEN = 4

COLUMNS = ("requests", "purpose", "calls", "prompt", "tools", "output")
REPLY_COLUMNS = (
    "replies",
    "requests",
    "shared",
    "of the talk",
    "alternate",
    "tools",
    "prompt",
    "new",
)

CALLS_A_DAY, PROMPT_A_DAY = 60, 90_000
CALLS_AN_EVENING, PROMPT_AN_EVENING = 12, 14_000
SHARED, TOOLS = 80, 250


# --- playing --------------------------------------------------------------------------------------


def evening(
    server: StockServer, file: Path, settings: dict[str, Any], rounds: int = 1
) -> Iterator[list[Asked]]:
    """Yield what is asked over an evening with its nights, then for its questions."""
    with evenings_play.own_store(settings):
        playing = evenings_play.Playing(load(file))
        playing.live_through(file)
        yield _taken(server)
        for line, text, whispered, who in _questions(playing, rounds):
            playing.npc.memory.clock = lambda now=line: now
            to = {"receivers": playing.npc, "whisper": True} if whispered else {}
            who.at_say(text, msg_self=False, **to)
        yield _taken(server)


def _questions(playing: Any, rounds: int) -> Iterator[tuple[str, str, bool, Any]]:
    """Yield what is said a day later: (when, text, whether whispered, who)."""
    name, people = playing.npc.key, playing.people
    for each in people.values():
        each.location = playing.room
    now = later(playing.evening.lines[-1].time, playing.evening.ASKED_AFTER)
    for number, asked in enumerate(playing.evening.questions * rounds):
        now = later(now, BETWEEN_LINES)
        if number % BYSTANDER_EVERY == 0:
            others = [each for each in people.values() if each.key != asked.asked_by]
            yield now, f"I will be off then, {asked.asked_by}.", False, others[number % len(others)]
        yield now, f"{name}, {asked.text}", asked.private, people[asked.asked_by]


def day(server: StockServer, length: int, settings: dict[str, Any]) -> list[Asked]:
    """Return what is asked over so many lines of two people and the night after them."""
    from contrib_ai_memory import offload
    from contrib_ai_memory.ingest.replay import LogLine, Replay

    with evenings_play.own_store(settings):
        room = make("typeclasses.rooms.Room", "The Drowned Lantern")
        npc = make("typeclasses.npcs.AssistantNPC", "Mara", room)
        people = [
            make("typeclasses.characters.Character", name, room) for name in ("Alice", "Bram")
        ]
        identities = {each.key: npc.get_memory_identity(each) for each in people}
        now = "2026-05-09T08:00:00+00:00"
        with Replay(npc, identities) as replay:
            for number, text in enumerate(progress(_said(length), "a day", "line", length)):
                now = later(now, BETWEEN_LINES)
                who = people[number % 2].key
                replay.feed(
                    LogLine(
                        id=f"{number}", time=now, session="1", speaker=who, kind="say", text=text
                    )
                )
        while not offload.wait(npc.memory.work_through(until_silent=True)):
            pass
        npc.memory.flush()
        night = later(now, NIGHT_AFTER)
        npc.memory.clock = lambda: night
        offload.wait(npc.assistant.sleep.whole_night())
        return _taken(server)


def _said(length: int) -> list[str]:
    """Return lines that people say in the evenings, one evening after the other."""
    said = (line.text for file in files() for line in load(file).lines if line.kind == "say")
    return [text for text, _number in zip(said, range(length), strict=False)]


def _taken(server: StockServer) -> list[Asked]:
    taken = list(server.asked)
    server.asked.clear()
    return taken


# --- counting -------------------------------------------------------------------------------------


def tokens(*texts: str) -> int:
    """Estimate the tokens of texts."""
    return -(-sum(map(len, texts)) // CHARACTERS_PER_TOKEN)


def purposes(name: str, asked: Sequence[Asked]) -> list[Row]:
    """Count the calls and tokens of each purpose, and of all together."""
    kinds = sorted({each.purpose for each in asked})
    groups = [(kind, [each for each in asked if each.purpose == kind]) for kind in kinds]
    if len(kinds) > 1:
        groups.append(("all", list(asked)))
    return [
        {
            "requests": name,
            "purpose": kind,
            "calls": len(group),
            "prompt": sum(tokens(each.talk, each.tools, each.schema) for each in group),
            "tools": sum(tokens(each.tools) for each in group),
            "output": sum(tokens(each.answer) for each in group),
        }
        for kind, group in groups
    ]


def shared(replies: Sequence[Asked]) -> tuple[float, float, float]:
    """Compare the first requests of successive replies.

    Returns:
        The percentage of a request that the one before it began with; the same of its part in
        front of scene, memories and newest line; and the tokens of a request that are new.
    """
    same, whole, in_front = 0, 0, 0
    for one, other in pairwise(replies):
        common = _common(one.tools + one.talk, other.tools + other.talk)
        length = len(other.tools + other.talk)
        tail = other.talk[other.talk.rfind("<scene>") :]
        same, whole, in_front = same + common, whole + length, in_front + length - len(tail)
    pairs = max(1, len(replies) - 1)
    new = (whole - same) / CHARACTERS_PER_TOKEN / pairs
    return 100 * same / max(1, whole), 100 * same / max(1, in_front), new


def _common(one: str, other: str) -> int:
    """Return the length of the beginning that two texts share."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


def alternates(messages: Sequence[dict[str, Any]]) -> bool:
    """Return whether roles follow one another as the strictest chat templates demand.

    That is: at most one system message, in front; then a user's and the assistant's in turn, where
    an assistant's message with tool calls is followed by the result of each, and does not count.
    """
    rest = list(messages[1:] if messages[0]["role"] == "system" else messages)
    wanted = [(call["id"]) for each in rest for call in each.get("tool_calls") or ()]
    given = [each.get("tool_call_id") for each in rest if each["role"] == "tool"]
    turns = [e["role"] for e in rest if e["role"] != "tool" and not e.get("tool_calls")]
    in_turn = all(role == ("user", "assistant")[n % 2] for n, role in enumerate(turns))
    after_calls = all(
        other["role"] == "tool" for one, other in pairwise(rest) if one.get("tool_calls")
    ) and all(
        one["role"] == "tool" or one.get("tool_calls")
        for one, other in pairwise(rest)
        if other["role"] == "tool"
    )
    return in_turn and after_calls and wanted == given


def reply_row(name: str, asked: Sequence[Asked]) -> Row:
    """Describe the requests of replies in one conversation."""
    first = [each for each in asked if each.messages[-1]["role"] != "tool"]
    of_all, of_talk, new = shared(first)
    return {
        "replies": name,
        "requests": len(asked),
        "shared": of_all,
        "of the talk": of_talk,
        "new": new,
        "alternate": 100 * sum(alternates(each.messages) for each in asked) / max(1, len(asked)),
        "tools": max((tokens(each.tools) for each in asked), default=0),
        "prompt": sum(tokens(each.talk, each.tools) for each in asked) / max(1, len(asked)),
    }


# --- the run --------------------------------------------------------------------------------------


def main() -> int:
    parser = arguments("What a language model is sent.")
    parser.add_argument("file", type=Path, nargs="?", default=EVENING, help="an evening")
    parser.add_argument("--lines", type=int, default=LINES, help="lines of two people; 0: none")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="of all questions")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the N-th reply")
    options = parser.parse_args()
    report = Report(
        "benchmarks.model",
        f"what a language model is sent: {options.file.stem}, {options.lines} lines",
    )
    with StockServer() as server, game() as _place:
        settings = {"LLM": {"base_url": server.url, "model": MODEL}}
        night, talk = evening(server, options.file, settings, options.rounds)
        whole_day = day(server, options.lines, settings) if options.lines else []
    name = options.file.stem
    rows = purposes(name, night) + purposes(f"{name}, talk", talk)
    rows += purposes(f"{options.lines} lines", whole_day)
    report.table(COLUMNS, rows)
    replies = reply_row(name, [each for each in talk if each.purpose == REPLY])
    report.table(REPLY_COLUMNS, [replies])
    [whole] = [each for each in rows if each["requests"] == name and each["purpose"] == "all"]
    report.bars += [
        Bar("replies, shared beginning", replies["shared"], SHARED, "%", at_least=True, goal=True),
        Bar("replies, shared talk", replies["of the talk"], SHARED, "%", at_least=True),
        Bar("replies, roles alternate", replies["alternate"], 100, "%", at_least=True),
        Bar("tokens of tools", replies["tools"], TOOLS),
        Bar(f"calls besides replies, {name}", whole["calls"], CALLS_AN_EVENING, goal=True),
        Bar(f"prompt tokens of these, {name}", whole["prompt"], PROMPT_AN_EVENING, goal=True),
    ]
    if whole_day:
        total = rows[-1]
        report.bars += [
            Bar(f"calls, {options.lines} lines", total["calls"], CALLS_A_DAY, goal=True),
            Bar(f"prompt tokens, {options.lines} lines", total["prompt"], PROMPT_A_DAY, goal=True),
        ]
    if options.show:
        _show([each for each in talk if each.purpose == REPLY][options.show - 1])
    return report.finish(options.json)


def _show(asked: Asked) -> None:
    for each in asked.messages:
        print(f"[{each['role']}] {words_of(each)}")
    print(f"-> {asked.answer}\n")


if __name__ == "__main__":
    sys.exit(main())
