"""What every benchmark needs: a game of its own, timings, a table, and a verdict.

The game is a real one in a temporary folder, its database a SQLite file on disk with the pragmas
that Evennia's server sets; no server runs, so the measuring thread stands for the reactor's.
"""

from __future__ import annotations

import argparse
import ast
import json
import logging
import multiprocessing
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tqdm import tqdm

from world.game import Game

PACKAGES = ("evennia", "Django", "mem0ai", "qdrant-edge-py", "qdrant-client", "onnxruntime")
BUSY = 1.5  # load for each CPU; a benchmark by itself makes up to one

Row = dict[str, Any]


# --- the game -----------------------------------------------------------------------------------


@contextmanager
def game(settings: dict[str, Any] | None = None) -> Iterator[Path]:
    """A game made, migrated and entered; import Evennia and the contrib only inside.

    Args:
        settings: `CONTRIB_AI_MEMORY`; without it the defaults are measured.

    Yields:
        The temporary folder, for what a benchmark keeps besides. All of it is gone afterwards.
    """
    with folder() as place, enter(build(place / "game", settings)):
        yield place


def configure_alone() -> None:
    """Configure Django by Evennia's own settings, where it is not, for what needs no game."""
    import django
    from django.conf import settings
    from evennia import settings_default

    if settings.configured:
        return
    own = {
        name: getattr(settings_default, name) for name in dir(settings_default) if name.isupper()
    }
    settings.configure(**own | {"TIME_ZONE": "UTC"})
    django.setup()


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder, gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="ai-memory-bench-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def build(place: Path, settings: dict[str, Any] | None = None) -> Game:
    """Make a game in the folder `place` and migrate its database; it is not entered."""
    made = Game(place, f"CONTRIB_AI_MEMORY = {settings or {}!r}")
    for step in progress([made.build, made.migrate], "making a game", "step"):
        step()
    return made


@contextmanager
def enter(made: Game) -> Iterator[None]:
    """Be inside a game that is made, with its database as a server has it; its store is closed
    in the end, so that a server can be started there."""
    try:
        made.enter()
        _as_the_server_has_it()
        yield
    finally:
        _leave()


def _as_the_server_has_it() -> None:
    from django.conf import settings
    from django.db import connection

    database = settings.DATABASES["default"]
    if not Path(database["NAME"]).is_file():
        raise SystemExit(f"The benchmark needs a database file, not {database['NAME']!r}.")
    with connection.cursor() as cursor:
        for pragma in settings.SQLITE3_PRAGMAS:
            cursor.execute(pragma)
    from contrib_ai_memory.store import game_database

    game_database.keep_statistics()  # as at the start of the server
    # Mem0 says through its logger, at every search, which of its extras are not installed
    logging.getLogger("mem0").setLevel(logging.ERROR)


def _leave() -> None:
    if "contrib_ai_memory.store.memory_store" in sys.modules:
        from contrib_ai_memory.store import memory_store

        memory_store.close_shared()
    if "django.db" in sys.modules:
        from django.db import connection

        connection.close()


def alone(job: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a job returns that is done in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(job, *arguments).result()


def make(typeclass: str, key: str, room: Any = None) -> Any:
    """An object in the game: a room without `room`, else someone who stands in it."""
    from evennia.utils.create import create_object

    return create_object(typeclass, key=key, location=room, home=room, nohome=room is None)


def tavern() -> tuple[Any, Any, Any, Any]:
    """A room with an NPC that remembers and two people: (room, Mara, Alice, Bram)."""
    room = make("typeclasses.rooms.Room", "The Drowned Lantern")
    npc = make("typeclasses.npcs.AssistantNPC", "Mara", room)
    people = [make("typeclasses.characters.Character", name, room) for name in ("Alice", "Bram")]
    return room, npc, *people


def stock_mem0(place: Path, collection: str) -> Any:
    """Mem0 as installed, the baseline: its own local Qdrant in a new folder, and our embedder."""
    from mem0 import Memory
    from mem0.vector_stores.configs import VectorStoreConfig

    from contrib_ai_memory.embedding import embedder
    from contrib_ai_memory.store import mem0_adapter

    (place / "mem0").mkdir(parents=True)
    config = {
        "path": str(place / "qdrant"),
        "embedding_model_dims": embedder.shared().dimensions,
        "on_disk": True,
        "collection_name": collection,
    }
    stock = VectorStoreConfig(provider="qdrant", config=config)
    return Memory(mem0_adapter.config_over(stock, place))


# --- measuring ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timing:
    """What a list of durations comes to, in milliseconds."""

    count: int
    p10: float
    median: float
    mean: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        ordered = sorted(1000 * value for value in seconds)

        def percentile(share: float) -> float:
            return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

        return cls(
            count=len(ordered),
            p10=percentile(0.1),
            median=statistics.median(ordered),
            mean=statistics.fmean(ordered),
            p95=percentile(0.95),
            p99=percentile(0.99),
            max=ordered[-1],
        )


def progress(items: Any, doing: str, unit: str, total: int | None = None) -> tqdm:
    """A progress bar on stderr that leaves nothing behind."""
    return tqdm(items, desc=doing, unit=unit, total=total, leave=False, file=sys.stderr)


# --- telling ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bar:
    """A promise of DESIGN §9 beside what was measured: at most `limit`, or at least it.

    A `goal` is still to be reached: the run does not fail where it is missed.
    """

    what: str
    measured: float
    limit: float
    unit: str = ""
    at_least: bool = False
    goal: bool = False

    @property
    def held(self) -> bool:
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        unit = f" {self.unit}" if self.unit else ""
        verdict = "held" if self.held else "not yet" if self.goal else "MISSED"
        return f"{verdict:7} {self.what}: {figure(self.measured)}{unit} ({sign} {self.limit:g})"


class Report:
    """Prints a benchmark as it goes, and in the end its verdict and its JSON.

    Args:
        name: The module's name.
        about: What is measured, in a few lines for the reader.
    """

    def __init__(self, name: str, about: str):
        self.name = name
        self.rows: list[Row] = []
        self.bars: list[Bar] = []
        self.notes: list[str] = []
        self.details: dict[str, Any] = {}  # for the JSON alone
        self._machine = machine()
        print(f"{name}: {about}\n{self._machine}\n")

    def table(self, columns: Sequence[str], rows: Sequence[Row]) -> None:
        """Print rows under `columns`, their keys; more keys are for the JSON alone."""
        self.rows += rows
        cells = [list(columns)]
        cells += [[_cell(row.get(column)) for column in columns] for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        numeric = [any(isinstance(row.get(c), (int, float)) for row in rows) for c in columns]
        for line, row in enumerate(cells):
            padded = [
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, numeric, strict=True)
            ]
            print("  ".join(padded).rstrip())
            if line == 0:
                print("  ".join("-" * width for width in widths))
        print()

    def note(self, text: str) -> None:
        """A sentence that the reader of the figures needs."""
        self.notes.append(text)
        print(text)

    def finish(self, out: Path | None) -> int:
        """Print the verdict, write the JSON. Returns the exit status: 1 where a bar is missed."""
        load = os.getloadavg()[0]
        if load > BUSY * (os.cpu_count() or 1):
            self.note(
                f"The machine is busy (load {load:.1f}): take no figure here for the last word."
            )
        missed = sum(not (bar.held or bar.goal) for bar in self.bars)
        if out:
            plain = {
                "benchmark": self.name,
                "machine": self._machine,
                "rows": self.rows,
                "notes": self.notes,
                "bars": [asdict(bar) | {"held": bar.held} for bar in self.bars],
                "held": not missed,
                **self.details,
            }
            out.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n")
        if self.notes:
            print()
        for bar in self.bars:
            print(bar)
        if not self.bars:
            print(f"{self.name}: no bar applies to what was run.")
        else:
            ahead = sum(bar.goal and not bar.held for bar in self.bars)
            verdict = f"{missed} bars MISSED" if missed else "every bar held"
            print(f"{self.name}: {verdict}" + (f", {ahead} goals ahead." if ahead else "."))
        return 1 if missed else 0


def machine() -> str:
    """What the figures were measured on, and how busy it was before, in one line."""
    return (
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}; {', '.join(_versions())}"
    )


def _versions() -> Iterator[str]:
    """Yield each package that is installed, with its version."""
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            yield f"{name} {version(name)}"


def figure(value: float) -> str:
    """Three digits that matter, thousands apart."""
    size = abs(value)
    return f"{value:,.{0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3}f}"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return figure(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


# --- the command line ---------------------------------------------------------------------------


def arguments(about: str) -> argparse.ArgumentParser:
    """A parser with what every benchmark takes: `--json OUT`."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures there too")
    return parser


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add `--set NAME=VALUE`, which `setting` reads."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of CONTRIB_AI_MEMORY, such as RECALL_TOP_K=40",
    )


def setting(given: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is no Python literal is text."""
    name, _, value = given.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
