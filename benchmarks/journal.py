"""Reactor time for one perceived line, at growing lengths of the journal (DESIGN §9).

Timed is all that runs on the reactor thread for one line in a room with three people: the ear
(`at_msg_receive`, down to the entry in the open page) and the flush it causes. A flush is timed
after every single line, the worst case: in a game one flush serves all lines of half a second.
Page seals are among the timed lines. Beside it, measured in the same run, what a contrib does
that keeps its journal in one Attribute: `npc.db.big["entries"].append(entry)`. Nothing is
embedded here: that is a worker thread's job.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import Any

from . import talk
from .harness import Bar, Report, Timing, arguments, game, make, progress, tavern

LENGTHS = (100, 1_000, 10_000, 50_000)
LINES = 256  # timed at each length: eight page seals are among them
TIMES_FASTER = {1_000: 25, 10_000: 250}  # than one big Attribute, by its length (DESIGN §9)
FLAT = 1.5  # times the median of the shortest journal, at the longest
BULK = 1_600  # entries between two flushes while the journal is filled

BASELINE_LINES = 64
BASELINE_SECONDS = 20  # no more appends than fit in this, but three at least
BASELINE_LEAST = 3

COLUMNS = ("entries", "what", "lines", "median ms", "mean ms", "p99 ms", "max ms")


def measure(report: Report, lengths: Sequence[int], lines: int) -> None:
    """Time ours and the baseline at each length."""
    room, npc, alice, bram = tavern()
    speech = talk.lines()
    rows = []
    medians = {}
    for length in lengths:
        _fill(npc, alice, length, speech)
        heard, flushed = _perceived(npc, (alice, bram), lines, speech)
        reached = len(npc.memory.journal)
        rows += [
            _row(length, reached, "perceive", heard),
            _row(length, reached, "perceive + flush", flushed),
        ]
        _check(npc, length, lines)
        medians[length] = flushed.median
        theirs, reached = _one_big_attribute(room, npc, length, speech)
        rows.append(_row(length, reached, "one big Attribute", theirs))
        if least := TIMES_FASTER.get(length):
            what = f"medians at {length:,} entries, one big Attribute / perceive + flush"
            report.bars.append(Bar(what, theirs.median / flushed.median, least, at_least=True))
    if len(medians) > 1:
        shortest, longest = min(medians), max(medians)
        what = f"median of perceive + flush at {longest:,} entries / at {shortest:,}"
        report.bars.append(Bar(what, medians[longest] / medians[shortest], FLAT))
    report.table(COLUMNS, rows)
    report.note(
        "entries: from the first timed line to the last. perceive + flush: a write to the "
        "database for every line."
    )


def _fill(npc: Any, speaker: Any, length: int, speech: Iterator[str]) -> None:
    """Bring the journal to `length` entries, as entries of talk, written in bulk."""
    from contrib_ai_memory.records import Percept

    journal = npc.memory.journal
    who = npc.get_memory_identity(speaker)
    missing = range(length - len(journal))
    for done in progress(missing, f"filling the journal to {length:,}", "entry"):
        npc.memory.perceive(
            Percept(
                content=next(speech),
                kind="say",
                seen_as=speaker.key,
                source=who,
                witnesses=(who,),
                entities=(who,),
                location=f"#{npc.location.id}",
            )
        )
        if done % BULK == 0:
            journal.flush()
    npc.memory.flush()
    gc.collect()


def _perceived(
    npc: Any, speakers: Sequence[Any], lines: int, speech: Iterator[str]
) -> tuple[Timing, Timing]:
    """The ear alone, and the ear with its flush, line after line."""
    heard, flushed = [], []
    spoken = [(speakers[n % len(speakers)], next(speech)) for n in range(lines)]
    for speaker, text in progress(spoken, "perceiving", "line"):
        dressed = (f'{speaker.key} says, "{text}"', {"type": "say"})
        start = time.perf_counter()
        npc.at_msg_receive(dressed, from_obj=speaker)
        middle = time.perf_counter()
        npc.memory.journal.flush()
        end = time.perf_counter()
        heard.append(middle - start)
        flushed.append(end - start)
    return Timing.of(heard), Timing.of(flushed)


def _check(npc: Any, length: int, lines: int) -> None:
    """What was timed must have been the whole of the work: a journal read anew holds it all."""
    from contrib_ai_memory.store.journal import Journal

    stored = Journal(npc)
    if len(stored) != length + lines or len(stored.tail(lines)) != lines:
        raise SystemExit(f"Of {lines} lines after entry {length} not all are on disk.")
    if npc.assistant.state.answering or npc.assistant.state.last_reply:
        raise SystemExit("A line was taken for a question; the benchmark would time the answer.")


def _one_big_attribute(
    room: Any, npc: Any, length: int, speech: Iterator[str]
) -> tuple[Timing, int]:
    """Appends to one Attribute that holds `length` entries. Also how many it holds then."""
    naive = make("typeclasses.characters.Character", "Naive", room)
    like = npc.memory.journal.get(len(npc.memory.journal)).to_dict()
    numbers = count(1)
    entries = [{**like, "id": next(numbers), "content": next(speech)} for _ in range(length)]
    naive.db.big = {"entries": entries}
    took: list[float] = []
    with progress(None, "one big Attribute", "append", total=BASELINE_LINES) as bar:
        while len(took) < BASELINE_LINES and (
            len(took) < BASELINE_LEAST or sum(took) < BASELINE_SECONDS
        ):
            entry = {**like, "id": next(numbers), "content": next(speech)}
            start = time.perf_counter()
            naive.db.big["entries"].append(entry)
            took.append(time.perf_counter() - start)
            bar.update()
    naive.delete()
    del entries
    gc.collect()
    return Timing.of(took), length + len(took)


def _row(length: int, reached: int, what: str, timing: Timing) -> dict[str, Any]:
    return {
        "entries": f"{length:,} to {reached:,}",
        "length": length,
        "what": what,
        "lines": timing.count,
        "median ms": timing.median,
        "mean ms": timing.mean,
        "p99 ms": timing.p99,
        "max ms": timing.max,
    }


def main() -> int:
    parser = arguments("Reactor time for one perceived line, beside one big Attribute.")
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, metavar="N")
    parser.add_argument(
        "--lines", type=int, default=LINES, metavar="N", help="timed at each length"
    )
    options = parser.parse_args()
    lengths = sorted(set(options.lengths))
    gaps = [later - earlier for earlier, later in pairwise(lengths)]
    if lengths[0] < 1 or any(gap <= options.lines for gap in gaps):
        parser.error("the journal grows while it is timed: put more than --lines between lengths")
    report = Report("journal", "reactor time for one perceived line")
    with game():
        measure(report, lengths, options.lines)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
