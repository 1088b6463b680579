"""Two checkouts of this repository side by side: what embedding, recall, nights and a server cost,
and what a telnet client feels in play while 20 NPCs sleep.

    git worktree add ../before COMMIT
    python -m benchmarks.versions ../before [--python PYTHON]

Each benchmark is run in the older checkout and in this one, in turn, on the same machine and with
the same data. `--python` is an environment in which the older one can run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from .evenings_data import files, load, stay_files
from .harness import Bar, Report, Row, arguments, progress

ROOT = Path(__file__).resolve().parent.parent
RUNS = 3  # of the embedding, each a process of its own; the median counts
TIMES = ("median ms", "p99 ms", "max ms")
SERVER = ("server MB", "memory process MB", "first answer s", "after a reload s")
EQUAL = 1e-5  # between two numbers of a vector, from which stores would have to be written anew

# run in either checkout: (texts file, vectors file) -> figures as JSON
EMBEDDING = """
import json, sys, time
began = time.process_time(), time.perf_counter()
import numpy as np
from contrib_ai_memory.embedding.model import open_model
model = open_model(None)
sentence = "Jinty asks what a crossing of the Millbrook costs with a cart and two mules."
model.encode([sentence])
ready = time.process_time() - began[0], time.perf_counter() - began[1]
texts = json.load(open(sys.argv[1]))

def cost(batch, times):
    begin = time.process_time()
    for _ in range(times):
        model.encode(batch)
    return 1000 * (time.process_time() - begin) / times

one, many = cost([sentence], 40), cost(texts[:32], 5)
told = dict(line.split(":", 1) for line in open("/proc/self/status"))
np.save(sys.argv[2], model.encode(texts))
print(json.dumps({
    "ready, CPU s": ready[0], "ready, s": ready[1], "one sentence, CPU ms": one,
    "batch of 32, CPU ms": many, "own memory MB": int(told["RssAnon"].split()[0]) / 1024,
    "with mapped files MB": int(told["VmRSS"].split()[0]) / 1024,
}))
"""


def texts() -> list[str]:
    """Every line and question of the evenings and stays."""
    played = map(load, [*files(), *stay_files()])
    every = [(*one.texts.values(), *(each.text for each in one.questions)) for one in played]
    return list(dict.fromkeys(chain.from_iterable(every)))


class Checkout:
    """A version and the Python that runs it."""

    def __init__(self, folder: Path, python: str):
        self.folder = folder.resolve()
        self.python = python

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.python, *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, 1):  # 1: a bar was missed
            raise SystemExit(f"{self.folder}: {' '.join(arguments)}:\n{done.stderr[-2000:]}")
        return done.stdout

    def benchmark(self, place: Path, name: str, *arguments: str) -> dict[str, Any]:
        out = place / f"{name}.json"
        out.unlink(missing_ok=True)
        told = self.run("-m", f"benchmarks.{name}", *arguments, "--json", str(out))
        if not out.exists():
            raise SystemExit(f"{self.folder}: benchmarks.{name} broke off:\n{told[-2000:]}")
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def embedding(place: Path, checkouts: dict[str, Checkout]) -> tuple[list[Row], float]:
    """Return rows of figures and the largest difference of two vectors."""
    (place / "texts.json").write_text(json.dumps(texts()))
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    for _ in progress(range(RUNS), "embedding", "run"):
        for name, each in checkouts.items():
            files = str(place / "texts.json"), str(place / f"{name}.npy")
            told = each.run("-c", EMBEDDING, *files).splitlines()[-1]
            figures[name].append(json.loads(told))
    keys = figures["this"][0]
    rows = [
        compared(key, *(float(np.median([f[key] for f in figures[name]])) for name in checkouts))
        for key in keys
    ]
    before, this = (np.load(place / f"{name}.npy") for name in checkouts)
    return rows, float(np.abs(before - this).max())


def compared(what: str, before: float, this: float) -> Row:
    return {"what": what, "before": before, "this": this, "ratio": this / before if before else 0}


def grown(before: dict[str, Any], this: dict[str, Any]) -> list[Row]:
    """What `benchmarks.growth` found of each size."""
    wanted = ("start s", "recall ms", "hear ms", "index ms", "night ms a line", "memory MB")
    pairs = zip(before["rows"], this["rows"], strict=False)
    return [
        compared(f"{old['memories']:,} memories: {key}", old[key], new[key])
        for old, new in pairs
        if "start s" in old and old["memories"] == new["memories"]
        for key in wanted
    ]


def stalled(before: dict[str, Any], this: dict[str, Any]) -> list[Row]:
    """What `benchmarks.stalls` found."""
    rows = []
    for old, new in zip(before["rows"], this["rows"], strict=True):
        where = ", ".join(str(old[key]) for key in ("jobs in", "server") if key in old)
        for key in (*TIMES, *SERVER):
            if key in old:
                rows.append(compared(f"{where}: {key}", old[key], new[key]))
    return rows


def lagged(before: dict[str, Any], this: dict[str, Any]) -> list[Row]:
    """What `benchmarks.lag` found on the server with the contrib, and on the one without."""
    rows = [
        {(row["server"], row["what"]): row for row in each["rows"] if "what" in row}
        for each in (before, this)
    ]
    return [
        compared(f"{server} the contrib, {what}: {key}", rows[0][server, what][key], row[key])
        for (server, what), row in rows[1].items()
        for key in ("median ms", "p99 ms")
    ]


def main() -> int:
    parser = arguments("Two checkouts of this repository side by side.")
    parser.add_argument("before", type=Path, help="the folder of the older checkout")
    parser.add_argument("--python", default=sys.executable, help="that runs the older checkout")
    parser.add_argument("--seconds", type=int, default=60, help="of sleep, and of talk")
    parser.add_argument("--sizes", nargs="*", default=["1000", "10000"], help="of growth")
    options = parser.parse_args()
    checkouts = {
        "before": Checkout(options.before, options.python),
        "this": Checkout(ROOT, sys.executable),
    }
    commits = [each.folder.name for each in checkouts.values()]
    report = Report("versions", f"{commits[0]} beside {commits[1]}, in turn on the same machine")
    columns = ("what", "before", "this", "ratio")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows, apart = embedding(place, checkouts)
        report.table(columns, rows)
        growth = ("--no-mem0", "--store-size", "0", "--sizes", *options.sizes)
        found = [each.benchmark(place, "growth", *growth) for each in checkouts.values()]
        report.table(columns, grown(*found))
        asleep = ("--seconds", str(options.seconds))
        found = [each.benchmark(place, "stalls", *asleep) for each in checkouts.values()]
        report.table(columns, stalled(*found))
        busy = ("--busy", str(options.seconds))
        found = [each.benchmark(place, "lag", *busy) for each in checkouts.values()]
        report.table(columns, lagged(*found))
    report.bars.append(Bar("largest difference of two numbers of a vector", apart, EQUAL))
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
