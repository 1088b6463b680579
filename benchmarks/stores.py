"""The same memories in every store that is offered: what is found, and what it takes.

One conversation of LoCoMo is lived through on Qdrant Edge. Its memories are then moved
(`evennia ai_memory move`) from store to store and back, and every question with evidence is asked
in each: "@10" is the share of the evidence in the ten best memories, as in `benchmarks.locomo`. A
recall is timed when its question has been embedded already, so that it is the store's own time and
the ranking's. A write is one of `PAGE` memories with vectors and keys that are there already.

Qdrant's local engine is the pure Python one of its client. A Qdrant server takes part where
`QDRANT_URL` names one. PostgreSQL is the one that `PGVECTOR_URL` names, else pgserver's.
"""

from __future__ import annotations

import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .harness import Bar, Report, Timing, arguments, game, make, progress
from .locomo import DEPTHS, PLENTY, Ours, ask_all, scored, share_found
from .locomo_data import load

EDGE = {"provider": "qdrant_edge"}
NAMES = {"edge": "Qdrant Edge", "local": "Qdrant's local engine", "server": "Qdrant server"}
NAMES |= {"back": "Qdrant Edge, moved there and back", "pgvector": "PostgreSQL with pgvector"}
COLUMNS = (
    "store", "memories", *(f"@{depth}" for depth in DEPTHS), "recall ms", "p95 ms",
    "write ms", "move s",
)  # fmt: skip
NOISE = 1.0  # points of @10 between two stores
TIMED = 10  # memories of a timed recall


def main() -> int:
    parser = arguments("The same memories in every store: evidence recall and time.")
    parser.add_argument("file", type=Path, help="conversations in LoCoMo's own format")
    parser.add_argument("--only", metavar="NAME", help="the conversation; the first without it")
    parser.add_argument(
        "--store", action="append", choices=("local", "server", "pgvector"), help="beside Edge"
    )
    options = parser.parse_args()
    wanted = options.only
    conversations = [c for c in load(options.file) if c.name == (wanted or c.name)]
    if not conversations:
        parser.error(f"--only {options.only}: there is no such conversation.")
    talk = conversations[0]
    about = f"{talk.name}, {len(talk.turns)} turns, {len(talk.questions)} questions with evidence."
    report = Report("benchmarks.stores", about)
    with game() as folder, _postgres(folder) as postgres:
        stores = _stores(folder, postgres)
        chosen = {name: each for name, each in stores.items() if name in (options.store or stores)}
        lived = Ours(talk, make("typeclasses.rooms.Room", "The Drowned Lantern"))
        rows = [_row("edge", lived, None)]
        for name, store in progress(chosen.items(), "moving and asking", "store"):
            rows.append(_row(name, lived, _move(store)))
            back = _move(EDGE)
        rows.append(_row("back", lived, back))
    report.table(COLUMNS, rows)
    for row in rows[1:]:
        apart = abs(row["@10"] - rows[0]["@10"])
        report.bars.append(Bar(f"{row['store']}, @10 beside Edge", apart, NOISE, "points"))
    return report.finish(options.json)


def _stores(folder: Path, postgres: str) -> dict[str, dict[str, Any]]:
    """Return VECTOR_STORE of each store beside Edge."""
    name = f"memories_{uuid.uuid4().hex[:12]}"
    stores = {"local": {"provider": "qdrant", "config": {"path": str(folder / "qdrant")}}}
    if url := os.environ.get("QDRANT_URL"):
        stores["server"] = {"provider": "qdrant", "config": {"url": url, "collection_name": name}}
    config = {"connection_string": postgres, "collection_name": name}
    return stores | {"pgvector": {"provider": "pgvector", "config": config}}


@contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    """The connection string of a PostgreSQL with pgvector."""
    if url := os.environ.get("PGVECTOR_URL"):
        yield url
        return
    import pgserver

    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))
    server = pgserver.get_server(folder / "postgres")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def _move(store: dict[str, Any]) -> float:
    """Move all memories into a store and let the settings name it. Returns the seconds it took."""
    from django.conf import settings

    from contrib_ai_memory import conf, offload
    from contrib_ai_memory.admin import move
    from contrib_ai_memory.store import memory_store

    begun = time.perf_counter()
    target = conf.VectorStoreSettings.model_validate(store)
    offload.wait(move.move(target, replace=True))
    took = time.perf_counter() - begun
    memory_store.close_shared(for_good=False)
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "VECTOR_STORE": store}
    return took


def _row(name: str, lived: Ours, moved: float | None) -> dict[str, Any]:
    """Ask and write in the store of the settings."""
    from contrib_ai_memory.store import memory_store

    questions = lived.conversation.questions
    results = scored(ask_all(lived, DEPTHS[-1], PLENTY, questions))
    times = []
    for asked in questions:
        begun = time.perf_counter()
        lived.ranked(asked.text, TIMED)
        times.append(time.perf_counter() - begun)
    recall = Timing.of(times)
    return {
        "store": NAMES[name],
        "memories": memory_store.shared().count(lived.memory.id),
        **{f"@{depth}": share_found(results, depth) for depth in DEPTHS},
        "recall ms": recall.median,
        "p95 ms": recall.p95,
        "write ms": _write_ms(lived.memory.id),
        "move s": moved,
    }


def _write_ms(agent_id: str) -> float:
    """Write every memory once more as it is; ms for one, the median of the pages."""
    from contrib_ai_memory.store import memory_store

    store, offset, times = memory_store.shared(), None, []
    while True:
        rows, offset = store.rows(agent_id, offset)
        keys = store.lane_vectors([each for each, _ in rows])
        begun = time.perf_counter()
        store.upsert_rows(rows, [keys[each] for each, _ in rows])
        times.append((time.perf_counter() - begun) / len(rows))
        if offset is None:
            return Timing.of(times).median


if __name__ == "__main__":
    sys.exit(main())
