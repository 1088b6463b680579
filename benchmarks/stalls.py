"""How long the reactor is kept from its work while 20 NPCs sleep, beside an idle server.

A real game is made, and 20 NPCs hear a day of talk. Then its server is started. It watches its own
reactor: every 5 ms it asks to be called, and notes how late that is; first with nothing to do, then
while all of them sleep, whose heartbeats do a piece of the night every few seconds, far oftener
than by default. A copy of the game does so twice: embeddings and store in a thread of the server,
and in the memory process (docs/adr/029); then the server is reloaded, and the seconds count until
the store has given its first answer.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from world.game import ROOT, Game

from .harness import Bar, Report, Timing, arguments, enter, make, progress
from .night import STALL_MAX_MS, STALL_P99_MS, lived
from .stall_watch import FIRST, OUT, WARM

NPCS, ENTRIES = 20, 400
IDLE, ASLEEP = 20, 120  # seconds
PACE = 5  # seconds between two ticks of a night; 60 by default
COLUMNS = ("jobs in", "the server", "looks", "median ms", "p95 ms", "p99 ms", "max ms")
PROCESSES = ("jobs in", "server MB", "memory process MB", "first answer s", "after a reload s")
THREAD, PROCESS = "a thread", "a process"

SETTINGS = """
import sys
sys.path.append({root!r})
AT_SERVER_STARTSTOP_MODULE = ["server.conf.at_server_startstop", "benchmarks.stall_watch"]
CONTRIB_AI_MEMORY = {{"TICK_RATE_SLEEP": {pace}, "MEMORY_PROCESS": {apart}}}
"""


def watch(game: Game, out: Path, asleep: int) -> dict:
    """Start the server, wait for what it saw, then reload it."""
    os.environ[OUT] = f"{out}|{IDLE}|{asleep}"
    game.start()
    told = _told(game, out, WARM + IDLE + asleep)
    first = out.with_suffix(FIRST)
    first.unlink()
    game.reload()
    return told | {"reloaded": _told(game, first, WARM)}


def _told(game: Game, out: Path, seconds: float) -> Any:
    deadline = time.monotonic() + seconds + 90
    while not out.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"The server told nothing:\n{game.log_tail()}")
        time.sleep(0.5)
    return json.loads(out.read_text())


def settings(apart: bool) -> str:
    return SETTINGS.format(root=str(ROOT), pace=PACE, apart=apart)


def main() -> int:
    parser = arguments("Stalls of the reactor while NPCs sleep, beside an idle server.")
    parser.add_argument("--npcs", type=int, default=NPCS, metavar="N")
    parser.add_argument("--entries", type=int, default=ENTRIES, metavar="N", help="of each NPC")
    parser.add_argument("--seconds", type=int, default=ASLEEP, metavar="N", help="asleep")
    options = parser.parse_args()
    report = Report(
        "stalls",
        f"{options.npcs} NPCs with {options.entries} entries each sleep on a running server, a "
        f"tick every {PACE} s each",
    )
    folder = Path(tempfile.mkdtemp(prefix="ai-memory-bench-"))
    game = Game(folder / "game", settings(apart=False))
    told = {}
    try:
        for step in progress([game.build, game.migrate, game.start, game.stop], "making", "step"):
            step()
        with enter(game):
            room = make("typeclasses.rooms.Room", "The Drowned Lantern")
            for number in range(options.npcs):
                npc = make("typeclasses.npcs.AssistantNPC", f"Mara {number}", room)
                lived(npc, options.entries + number)
        for jobs_in in (THREAD, PROCESS):
            copied = folder / jobs_in.replace(" ", "_") / "game"
            shutil.copytree(game.folder, copied)
            copy = Game(copied, settings(apart=jobs_in == PROCESS))
            copy.write_secret_settings()
            try:
                told[jobs_in] = watch(copy, copied.parent / "stalls.json", options.seconds)
            finally:
                copy.stop()
    finally:
        os.chdir(Path(__file__).parent)
        shutil.rmtree(folder, ignore_errors=True)
    timed = {
        (jobs_in, server): Timing.of(seen[server])
        for jobs_in, seen in told.items()
        for server in ("idle", "asleep")
    }
    report.table(
        COLUMNS,
        [
            dict(zip(COLUMNS, (*which, t.count, t.median, t.p95, t.p99, t.max), strict=True))
            for which, t in timed.items()
        ],
    )
    report.table(
        PROCESSES,
        [
            {
                "jobs in": jobs_in,
                "server MB": seen["server"],
                "memory process MB": seen["apart"],
                "first answer s": seen["first"],
                "after a reload s": seen["reloaded"],
            }
            for jobs_in, seen in told.items()
        ],
    )
    for jobs_in, seen in told.items():
        report.note(
            f"jobs in {jobs_in}: {seen['steps']:,} steps of nights in {options.seconds} s; "
            f"{seen['over']} nights over."
        )
        asleep = timed[jobs_in, "asleep"]
        report.bars += [
            Bar(f"jobs in {jobs_in}, 99 of 100 late by", asleep.p99, STALL_P99_MS, "ms"),
            Bar(f"jobs in {jobs_in}, the longest stall", asleep.max, STALL_MAX_MS, "ms"),
        ]
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
