"""What players feel of the contrib on a busy server, beside the same server without it.

Two real games have the same rooms and the same people: 20 sleepers, 50 NPCs in ten busy rooms where
somebody says something all the time, 1,000 who stand alone. In one of them the NPCs remember: the
sleepers do a piece of their nights every minute, as by default (`--pace 5`: twelve times as much),
those in the busy rooms hear and answer over a model server that takes two seconds, the thousand
wait. In the other one they are plain characters. Each server runs by itself, the one without the
contrib before and after the other, while something else keeps a processor busy:

- a telnet client in a busy room says a line and looks around, and waits for what comes of each;
- the server asks itself every 5 ms to be called, and notes how late that is (`lag_watch`);
- before all talk it counts the share of a processor that it uses;
- in the end it is reloaded: seconds until the client's first command is answered, and the first
  question to an NPC.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from world.game import ROOT, SUPERUSER, Game, GameError, Telnet

from .harness import Bar, Report, Row, Timing, alone, arguments, enter, folder, make, progress
from .lag_watch import SLEEPER, SPEC, TALKER, TALKING
from .night import STALL_MAX_MS, STALL_P99_MS, lived
from .stock_server import StockServer

SLEEPERS, ENTRIES = 20, 200
ROOMS, IN_A_ROOM = 10, 5
HALL = "Hall"
IDLE_NPCS, IDLE_IN_A_ROOM = 1_000, 10
WARM = 15  # seconds after a start until the embedding model is loaded
IDLE, BUSY = 30, 90  # seconds
BUSY_PROCESSES = 1
PACE = 60  # seconds between two ticks of a night, as by default
MODEL_SECONDS = 2.0
PAUSE = 0.2  # seconds between two commands of the client
OUT_SECONDS = 120.0  # that the server may be late with what it tells
RELOAD_SECONDS, ANSWER_SECONDS = 120.0, 120.0
FIRST_PORTS = 170

ROUND_TRIP = 1.2  # times that of the server without the contrib
IDLE_SHARE = 1.0  # per cent of a processor

COLUMNS = ("server", "what", "n", "median ms", "p95 ms", "p99 ms", "max ms")
SHARE_COLUMNS = ("server", "idle, % of a CPU", "busy, % of a CPU", "first command s", "answer s")

WATCHED = """
import sys
sys.path[:0] = {paths!r}
AT_SERVER_STARTSTOP_MODULE = ["server.conf.at_server_startstop", "benchmarks.lag_watch"]
"""
WITH, WITHOUT = "with", "without"


def _watched(place: Path) -> str:
    """Settings of a game that watches itself; its own modules come before the repository's."""
    return WATCHED.format(paths=[str(place), str(ROOT)])


class PlainGame(Game):
    """A game as Evennia makes it, without the contrib."""

    def build(self, first_block: int = 0) -> None:
        self.init()
        self.write_secret_settings(first_block)


class SlowServer(StockServer):
    """A model server that takes its time."""

    def _answered(self, body: dict[str, Any]) -> Any:
        time.sleep(MODEL_SECONDS)
        return super()._answered(body)


def populate(made: Game, typeclass: str, sleepers: int, entries: int, idle: int) -> None:
    """Make rooms and people (a process of its own); sleepers with a memory have a day to sleep
    over."""
    with enter(made):
        from django.db import transaction
        from evennia.objects.models import ObjectDB
        from evennia.utils.create import create_object

        plain = "typeclasses.characters.Character"
        dormitory = make("typeclasses.rooms.Room", "The Dormitory")
        for number in range(sleepers):
            sleeper = make(typeclass, f"{SLEEPER} {number}", dormitory)
            if typeclass != plain:
                lived(sleeper, entries + number)
        with transaction.atomic():
            # rooms of their own, since what the example game has made in #2 is not in the other
            rooms = [make("typeclasses.rooms.Room", f"{HALL} {n}") for n in range(ROOMS)]
            for here, there in itertools.pairwise([*rooms, rooms[0]]):
                create_object("typeclasses.exits.Exit", "onward", here, destination=there)
            client = ObjectDB.objects.get(id=1)
            client.location = client.home = rooms[0]
            for number, room in enumerate(rooms):
                make(plain, f"{TALKER} {number}", room)
                for place in range(IN_A_ROOM):
                    make(typeclass, f"Mara {number * IN_A_ROOM + place}", room)
            for number in progress(range(idle), "making NPCs that wait", "NPC"):
                if number % IDLE_IN_A_ROOM == 0:
                    cell = make("typeclasses.rooms.Room", f"Cell {number // IDLE_IN_A_ROOM}")
                make(typeclass, f"Idler {number}", cell)


# --- a run ----------------------------------------------------------------------------------------


def run(game: Game, out: Path, warm: float, idle: float, busy: float) -> dict[str, Any]:
    """Start a server, measure it, reload and stop it."""
    out.unlink(missing_ok=True)
    talking = Path(f"{out}{TALKING}")
    talking.unlink(missing_ok=True)
    os.environ[SPEC] = f"{out}|{warm}|{idle}|{busy}"
    game.start()
    try:
        with Telnet(game.ports.telnet) as client:
            client.expect("connect <username>")
            client.send(f"connect {SUPERUSER} {game.password}")
            client.drain(3)
            _wait(talking.exists, warm + idle + OUT_SECONDS, game)
            trips: dict[str, list[float]] = {"say": [], "look": []}
            until = time.monotonic() + busy
            while time.monotonic() < until:
                number = len(trips["say"])
                trips["say"].append(_trip(client, f"say Number {number}.", f"Number {number}."))
                client.drain(PAUSE)
                trips["look"].append(_trip(client, "look", f"{HALL} 0(#"))
                client.drain(PAUSE)
            _wait(out.exists, OUT_SECONDS, game)
            told = json.loads(out.read_text()) | trips
            told["command"] = _reloaded(client)
            told["answer"] = None if isinstance(game, PlainGame) else _answered(client)
            return told
    finally:
        game.stop()


def _trip(client: Telnet, line: str, wanted: str) -> float:
    """Seconds from a command to its echo, whatever else is said meanwhile."""
    client.heard = ""
    start = time.perf_counter()
    client.send(line)
    client.expect(wanted)
    return time.perf_counter() - start


def _reloaded(client: Telnet) -> float:
    """Seconds from a reload to the first command's answer."""
    start = time.perf_counter()
    client.send("reload")
    client.expect("restarted", timeout=RELOAD_SECONDS)
    _trip(client, "say Back again.", "Back again.")
    return time.perf_counter() - start


def _answered(client: Telnet) -> float:
    """Seconds from the first question after a reload to an NPC's answer."""
    start = time.perf_counter()
    client.send("whisper Mara 0 = Who lives in the mill?")
    client.expect("Mara 0 whispers", timeout=ANSWER_SECONDS)
    return time.perf_counter() - start


def _wait(happened: Callable[[], bool], seconds: float, game: Game) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise GameError(f"The server told nothing:\n{game.log_tail()}")
        time.sleep(0.2)


@contextmanager
def something_else(processes: int) -> Iterator[None]:
    """Keep processors busy meanwhile."""
    context = multiprocessing.get_context("spawn")
    busy = [context.Process(target=_work, args=[os.getpid()]) for _ in range(processes)]
    for each in busy:
        each.start()
    try:
        yield
    finally:
        for each in busy:
            each.terminate()


def _work(parent: int) -> None:
    while os.getppid() == parent:  # else it was killed
        sum(range(10_000))


# --- the whole ------------------------------------------------------------------------------------


def tell(report: Report, runs: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Print the tables; the runs without the contrib are one baseline."""
    every = {server: [told for name, told in runs if name == server] for server in (WITHOUT, WITH)}
    timings: dict[tuple[str, str], Timing] = {}
    for what in ("say", "look", "late", "idle late"):
        for server, told in every.items():
            timings[server, what] = Timing.of([each for one in told for each in one[what]])
    named = {"late": "reactor, late by", "idle late": "reactor before the talk, late by"}
    report.table(
        COLUMNS,
        [
            {
                "server": server,
                "what": named.get(what, what),
                "n": timing.count,
                "median ms": timing.median,
                "p95 ms": timing.p95,
                "p99 ms": timing.p99,
                "max ms": timing.max,
            }
            for (server, what), timing in timings.items()
        ],
    )
    shares: list[Row] = []
    for server, told in every.items():
        mean = {
            name: sum(one[name] for one in told) / len(told)
            for name in ("idle share", "share", "command")
        }
        shares.append(
            {
                "server": server,
                "idle, % of a CPU": 100 * mean["idle share"],
                "busy, % of a CPU": 100 * mean["share"],
                "first command s": mean["command"],
                "answer s": told[-1]["answer"],
            }
        )
    report.table(SHARE_COLUMNS, shares)
    [ours] = every[WITH]
    report.note(
        f"{ours['steps']:,} steps of nights, {ours['over']} nights over. An answer includes "
        f"{MODEL_SECONDS:g} s of the model server."
    )
    for what in ("say", "look"):
        bare, mine = timings[WITHOUT, what], timings[WITH, what]
        report.bars += [
            Bar(f"{what}, median round trip", mine.median / bare.median, ROUND_TRIP, "×"),
            Bar(f"{what}, p99 of the round trip", mine.p99 / bare.p99, ROUND_TRIP, "×"),
        ]
    bare, mine = timings[WITHOUT, "late"], timings[WITH, "late"]
    report.bars += [
        Bar("99 of 100 looks, later than without", mine.p99 - bare.p99, STALL_P99_MS, "ms"),
        Bar("the longest stall, beyond that without", mine.max - bare.max, STALL_MAX_MS, "ms"),
        Bar(
            "NPCs that wait, beyond plain characters",
            shares[1]["idle, % of a CPU"] - shares[0]["idle, % of a CPU"],
            IDLE_SHARE,
            "% of a CPU",
        ),
        Bar(
            "the first command after a reload",
            shares[1]["first command s"] / shares[0]["first command s"],
            ROUND_TRIP,
            "×",
            goal=True,
        ),
    ]


def main() -> int:
    parser = arguments("A client's lag on a busy server, beside the same server without memories.")
    parser.add_argument("--sleepers", type=int, default=SLEEPERS, metavar="N")
    parser.add_argument("--entries", type=int, default=ENTRIES, metavar="N", help="of a sleeper")
    parser.add_argument("--idle-npcs", type=int, default=IDLE_NPCS, metavar="N")
    parser.add_argument("--warm", type=int, default=WARM, metavar="SECONDS", help="before all else")
    parser.add_argument("--idle", type=int, default=IDLE, metavar="SECONDS", help="before the talk")
    parser.add_argument("--busy", type=int, default=BUSY, metavar="SECONDS", help="of talk")
    parser.add_argument(
        "--pace", type=int, default=PACE, metavar="SECONDS", help="between two pieces of a night"
    )
    parser.add_argument("--process", action="store_true", help="with the memory process")
    parser.add_argument("--others", type=int, default=BUSY_PROCESSES, metavar="N", help="processes")
    options = parser.parse_args()
    report = Report(
        "lag",
        f"{options.sleepers} sleepers, {ROOMS * IN_A_ROOM} NPCs in busy rooms, "
        f"{options.idle_npcs:,} who wait; a piece of each night in {options.pace} s; "
        f"{options.others} other busy processes",
    )
    runs = []
    with folder() as place, SlowServer() as model:
        memory = {
            "TICK_RATE_SLEEP": options.pace,
            "MEMORY_PROCESS": options.process,
            "LLM": {"base_url": model.url, "model": model.model, "timeout": 30},
        }
        games = {
            WITHOUT: PlainGame(place / "plain", _watched(place / "plain")),
            WITH: Game(place / "game", f"{_watched(place / 'game')}CONTRIB_AI_MEMORY = {memory!r}"),
        }
        people = {
            WITHOUT: "typeclasses.characters.Character",
            WITH: "typeclasses.npcs.AssistantNPC",
        }
        for number, (name, game) in enumerate(games.items()):
            game.build(FIRST_PORTS + number)
            for step in progress([game.migrate, game.start, game.stop], f"making {name}", "step"):
                step()
            alone(
                populate,
                game,
                people[name],
                options.sleepers,
                options.entries,
                options.idle_npcs,
            )
        with something_else(options.others):
            for name in (WITHOUT, WITH, WITHOUT):
                out = place / "lag.json"
                runs.append((name, run(games[name], out, options.warm, options.idle, options.busy)))
    tell(report, runs)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
