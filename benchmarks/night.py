"""One whole night over growing numbers of pending entries, with the offline provider (DESIGN §6).

The entries are made-up talk in conversations over ten days, some of it whispered; the day's own
work (indexing, experiences) is done before the clock starts. Counted are the operations that are
asked of the provider. No reactor runs: what a worker thread would do is done in between, and what
is left between two such jobs is one piece of work that the reactor thread does at a stretch. That
is for one NPC; a worker that holds the interpreter while the reactor works is not in it.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from . import talk
from .harness import Bar, Report, Timing, arguments, game, make, progress

LENGTHS = (100, 1_000, 10_000)
DAYS = 10
LINES_A_TALK = 25
SECONDS_A_LINE = 30
WHISPERED = 10  # one conversation in so many
PRESENT = 3  # people in a conversation
PAGE = 1_600  # entries between two flushes while the journal is filled

LINEAR = 1.2  # times the price of one entry at the length before (DESIGN §9)
# What a night writes stays with the store, 10 to 20 kB for each fact with its vectors, words and
# caches: 120 MB were measured for the 6,000 facts of 10,000 entries. Beyond this, something grows.
GROWN_MB = 200
STALL_P99_MS, STALL_MAX_MS = 5.0, 50.0  # DESIGN §9, there for 20 NPCs on a running server

COLUMNS = (
    "entries",
    "seconds",
    "ms per entry",
    "CPU s",
    "CPU ms per entry",
    "calls",
    "facts",
    "links",
    "profiles",
    "MB grown",
)
PASS_COLUMNS = ("pass", "entries", "steps", "changed", "seconds", "CPU ms per entry", "MB grown")
STALL_COLUMNS = ("entries", "pass", "pieces", "median ms", "p95 ms", "p99 ms", "max ms")
CALL_COLUMNS = ("operation", "entries", "calls")


@dataclass
class Watch:
    """What a night does outside of the passes' own record.

    Attributes:
        doing: The pass that the present tick began with; what follows is put down to it.
        calls: Operations asked of a provider.
        pieces: Pass → seconds that the reactor thread works at a stretch.
        memory: MB of resident memory, looked at after each tick; the first before the night.
        growth: Pass → MB.
        worked: Pass → seconds of the processor.
    """

    doing: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    pieces: dict[str, list[float]] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)
    growth: Counter[str] = field(default_factory=Counter)
    worked: Counter[str] = field(default_factory=Counter)
    _since: float = 0.0

    def begin(self) -> None:
        self._since = time.perf_counter()

    def end(self) -> None:
        self.pieces.setdefault(self.doing, []).append(time.perf_counter() - self._since)

    def look(self) -> None:
        self.memory.append(resident())
        if len(self.memory) > 1:
            self.growth[self.doing] += self.memory[-1] - self.memory[-2]

    @property
    def grown(self) -> float:
        return max(self.memory) - self.memory[0]


@contextmanager
def watched() -> Iterator[Watch]:
    """A watch on `router.ask`, `offload.run` and `offload.breathe`, which pass through as ever."""
    from contrib_ai_memory import offload
    from contrib_ai_memory.llm import router

    watch = Watch()
    ask, run, breathe = router.ask, offload.run, offload.breathe

    def asked(operation: str, *args: Any, **options: Any) -> Any:
        watch.calls[operation] += 1
        return ask(operation, *args, **options)

    def elsewhere(job: Any, *args: Any, **options: Any) -> Any:
        watch.end()
        try:
            return job(*args, **options)
        finally:
            watch.begin()

    router.ask = asked
    offload.run = lambda *args, **options: elsewhere(run, *args, **options)
    offload.breathe = lambda *priority: elsewhere(breathe, *priority)
    try:
        yield watch
    finally:
        router.ask, offload.run, offload.breathe = ask, run, breathe


def resident() -> float:
    """MB that this process has in memory of its own: pages of mapped files, which can be dropped at
    any time, are left out where the system tells them apart."""
    status = Path("/proc/self/status")
    if status.exists():
        told = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(told.get("RssAnon", told["VmRSS"]).split()[0]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


# --- the day --------------------------------------------------------------------------------------


def lived(npc: Any, length: int) -> None:
    """Ten days of talk that the NPC heard, indexed and lived through: only the night is left."""
    from contrib_ai_memory import offload
    from contrib_ai_memory.records import Percept

    talks = max(1, length // LINES_A_TALK)
    apart = timedelta(days=DAYS) / talks
    begin = datetime(2026, 3, 1, 8, tzinfo=UTC)
    heard = progress(islice(talk.lines(length), length), f"hearing {length:,}", "line", length)
    for number, text in enumerate(heard):
        session, line = divmod(number, LINES_A_TALK)
        who = [(session + place) % len(talk.NAMES) for place in range(PRESENT)]
        speaker = who[line % PRESENT]
        whispered = session % WHISPERED == WHISPERED - 1
        if whispered:
            speaker = who[0]
        npc.memory.perceive(
            Percept(
                content=text,
                kind="whisper" if whispered else "say",
                seen_as=talk.NAMES[speaker],
                source=f"#{1000 + speaker}",
                witnesses=tuple(f"#{1000 + n}" for n in ([speaker] if whispered else who)),
                entities=(f"#{1000 + speaker}",),
                private=whispered,
                location="#2",
                session_id=f"talk {session}".replace(" ", "_"),
                timestamp=(
                    begin + session * apart + timedelta(seconds=SECONDS_A_LINE * line)
                ).isoformat(),
            )
        )
        if number % PAGE == PAGE - 1:
            npc.memory.flush()
    evening = (begin + timedelta(days=DAYS, hours=4)).isoformat()
    npc.memory.clock = lambda: evening
    with progress(None, f"living through {length:,}", "tick") as ticks:
        while not offload.wait(npc.memory.work_through(until_silent=True)):
            ticks.update()
    npc.memory.flush()
    gc.collect()
    gc.freeze()  # as the server does when all is loaded


# --- the night ------------------------------------------------------------------------------------


def night(npc: Any, watch: Watch) -> float:
    """Sleep a whole night, tick after tick. Returns its seconds."""
    from contrib_ai_memory import offload

    script = npc.assistant
    script.sleep.begin()
    watch.look()
    slept = 0.0
    with progress(None, f"a night of {npc.key}", "tick") as ticks:
        while script.asleep:
            script.sleep.make_due()
            watch.doing = script.sleep.night.pass_name
            start, worked = time.perf_counter(), time.process_time()
            watch.begin()
            offload.wait(script.at_tick())
            watch.end()
            slept += time.perf_counter() - start
            watch.worked[watch.doing] += time.process_time() - worked
            watch.look()
            ticks.set_postfix_str(watch.doing)
            ticks.update()
    return slept


def measure(report: Report, lengths: Sequence[int]) -> None:
    """A night at each length, each of an NPC of its own; bars between the two longest."""
    from contrib_ai_memory import offload

    room = make("typeclasses.rooms.Room", "The Drowned Lantern")
    rows, passes, stalls, calls = [], [], [], []
    for length in lengths:
        npc = make("typeclasses.npcs.AssistantNPC", f"Mara of {length}", room)
        lived(npc, length)
        with watched() as watch:
            seconds = night(npc, watch)
        busy = watch.worked.total()
        [record] = npc.assistant.sleep.records
        if not record["whole"] or any(told["errors"] for told in record["passes"].values()):
            raise SystemExit(f"The night over {length} entries did not come to its end: {record}")
        counts = offload.wait(npc.memory.counts())
        rows.append(
            {
                "entries": length,
                "seconds": seconds,
                "ms per entry": 1000 * seconds / length,
                "CPU s": busy,
                "CPU ms per entry": 1000 * busy / length,
                "calls": watch.calls.total(),
                "facts": counts["fact"],
                "links": npc.memory.links.count,
                "profiles": len(npc.memory.profiles),
                "MB grown": watch.grown,
                "MB before": watch.memory[0],
            }
        )
        passes += [_pass_row(name, length, told, watch) for name, told in record["passes"].items()]
        every = [piece for pieces in watch.pieces.values() for piece in pieces]
        stalls += [
            _stall_row(length, name, Timing.of(pieces))
            for name, pieces in [("all of them", every), *watch.pieces.items()]
        ]
        calls += [
            {"operation": name, "entries": length, "calls": count}
            for name, count in sorted(watch.calls.items())
        ]
    passes.sort(key=lambda row: row["pass"])
    calls.sort(key=lambda row: row["operation"])
    report.table(COLUMNS, rows)
    report.table(PASS_COLUMNS, passes)
    report.table(CALL_COLUMNS, calls)
    report.table(STALL_COLUMNS, stalls)
    report.note(
        "A piece is what the reactor thread does at a stretch, of one NPC; it, the memory and the "
        "processor's time are put down to the pass that a tick began with. The bar of DESIGN §9, "
        f"p99 ≤ {STALL_P99_MS:g} ms and max ≤ {STALL_MAX_MS:g} ms, is for 20 NPCs on a server."
    )
    _set_bars(report, rows)


def _pass_row(name: str, length: int, told: dict[str, Any], watch: Watch) -> dict[str, Any]:
    return {
        "pass": name,
        "entries": length,
        "steps": told["steps"],
        "changed": told["changed"],
        "seconds": float(told["seconds"]),
        "CPU ms per entry": 1000 * watch.worked[name] / length,
        "MB grown": float(watch.growth[name]),
    }


def _stall_row(length: int, name: str, timing: Timing) -> dict[str, Any]:
    return {
        "entries": length,
        "pass": name,
        "pieces": timing.count,
        "median ms": timing.median,
        "p95 ms": timing.p95,
        "p99 ms": timing.p99,
        "max ms": timing.max,
    }


def _set_bars(report: Report, rows: Sequence[dict[str, Any]]) -> None:
    if len(rows) < 2:
        return
    before, longest = rows[-2:]
    report.bars.append(
        Bar(
            f"CPU ms per entry at {longest['entries']:,}, of that at {before['entries']:,}",
            longest["CPU ms per entry"] / before["CPU ms per entry"],
            LINEAR,
            "×",
        )
    )
    report.bars.append(
        Bar(f"memory grown at {longest['entries']:,} entries", longest["MB grown"], GROWN_MB, "MB")
    )


def main() -> int:
    parser = arguments("One whole night over growing numbers of pending entries.")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, metavar="N")
    options = parser.parse_args()
    lengths = sorted(set(options.lengths))
    if lengths[0] < 1:
        parser.error("a night over no entries has nothing to measure")
    report = Report("night", "one whole night over pending entries, offline provider")
    with game():
        measure(report, lengths)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
