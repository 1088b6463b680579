"""How long the reactor is kept from its work while 20 NPCs sleep, beside an idle server.

A real game is made, and 20 NPCs hear a day of talk. Then its server is started. It watches its own
reactor: every 5 ms it asks to be called, and notes how late that is; first with nothing to do, then
while all of them sleep, whose heartbeats do a piece of the night every few seconds, far oftener
than by default, embeddings and store in the worker thread of the same process.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from world.game import ROOT, Game

from .harness import Bar, Report, Timing, arguments, enter, make, progress
from .night import STALL_MAX_MS, STALL_P99_MS, lived
from .stall_watch import OUT, WARM

NPCS, ENTRIES = 20, 400
IDLE, ASLEEP = 20, 120  # seconds
PACE = 5  # seconds between two ticks of a night; 60 by default
COLUMNS = ("the server", "looks", "median ms", "p95 ms", "p99 ms", "max ms")

SETTINGS = f"""
import sys
sys.path.append({str(ROOT)!r})
AT_SERVER_STARTSTOP_MODULE = ["server.conf.at_server_startstop", "benchmarks.stall_watch"]
CONTRIB_AI_MEMORY = {{"TICK_RATE_SLEEP": {PACE}}}
"""


def watch(game: Game, out: Path, asleep: int) -> dict:
    """Start the server and wait for what it saw."""
    os.environ[OUT] = f"{out}|{IDLE}|{asleep}"
    game.start()
    deadline = time.monotonic() + WARM + IDLE + asleep + 60
    while not out.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"The server told nothing:\n{game.log_tail()}")
        time.sleep(0.5)
    return json.loads(out.read_text())


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
    game = Game(folder / "game", SETTINGS)
    try:
        for step in progress([game.build, game.migrate, game.start, game.stop], "making", "step"):
            step()
        with enter(game):
            room = make("typeclasses.rooms.Room", "The Drowned Lantern")
            for number in range(options.npcs):
                npc = make("typeclasses.npcs.AssistantNPC", f"Mara {number}", room)
                lived(npc, options.entries + number)
        told = watch(game, folder / "stalls.json", options.seconds)
    finally:
        os.chdir(Path(__file__).parent)
        game.stop()
        shutil.rmtree(folder, ignore_errors=True)
    rows = []
    for server in ("idle", "asleep"):
        timing = Timing.of(told[server])
        rows.append(
            {
                "the server": server,
                "looks": timing.count,
                "median ms": timing.median,
                "p95 ms": timing.p95,
                "p99 ms": timing.p99,
                "max ms": timing.max,
            }
        )
    report.table(COLUMNS, rows)
    report.note(
        f"{told['steps']:,} steps of nights in {options.seconds} s; {told['over']} nights over."
    )
    report.bars += [
        Bar("99 of 100 looks asleep, late by", rows[1]["p99 ms"], STALL_P99_MS, "ms"),
        Bar("the longest stall asleep", rows[1]["max ms"], STALL_MAX_MS, "ms"),
    ]
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
