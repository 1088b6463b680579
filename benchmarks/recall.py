"""The time of one recall, beside the embedding alone and beside Mem0's own default store.

Timed in turn, each on a question that no cache has seen and all of the same number of tokens:

- ours: `search(RecallRequest(...))` with a listener, as an NPC's answer calls it, over Qdrant Edge;
- the same with nothing kept of what was written or looked at lately, as after a start;
- bare: the embedding of one question, the part of a recall that no store can save (DESIGN §9);
- theirs: `Memory.search` of Mem0 with the same MiniLM over its local Qdrant (pure Python).

The memories are made-up lines of talk, one NPC's. Up to 2,000 texts are embedded for real; beyond
that each memory takes the vector of one of those, moved by small seeded noise and brought back to
unit length, and the text of that one with a second sentence of its own. Both stores hold the same.
"""

from __future__ import annotations

import gc
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from . import talk
from .harness import Bar, Report, Timing, arguments, game, progress, stock_mem0

SIZES = (1_000, 10_000, 50_000, 100_000)
BAR_AT, BAR_RATIO = 10_000, 1.5  # DESIGN §9
QUERIES = 60
WARM_UP = 5  # rounds before the timed ones
EMBEDDED = 2_000  # texts with a vector of their own
NOISE = 0.3  # length of the noise beside a unit vector: cosine with the original about 0.96
BATCH = 500

MIND = "5f1f3c1e-8a0b-4c57-9d0e-6a1c2b3d4e5f"
NOW = datetime(2026, 3, 1, 20, tzinfo=UTC)
DAYS = 90  # the memories are spread over this time
PRIVATE_EVERY = 20  # one memory in so many was whispered

MEM0_FILL_SECONDS = 180  # theirs is left out at a size that would take longer to fill
MEM0_QUERY_SECONDS = 30  # for theirs at one size; three queries at least

COLUMNS = ("memories", "what", "queries", "p10 ms", "median ms", "p95 ms", "max ms", "x bare")


# --- what is remembered ---------------------------------------------------------------------------


class Past:
    """The memories of one NPC, number by number, with their vectors."""

    def __init__(self, count: int):
        from contrib_ai_memory.embedding import embedder

        self._lines = list(itertools.islice(talk.lines(), min(count, EMBEDDED)))
        keys = [self.entry(number).with_speaker() for number in range(len(self._lines))]
        vectors = []
        with progress(None, "embedding", "text", total=len(keys)) as bar:
            for start in range(0, len(keys), 100):
                vectors.append(embedder.shared().encode(keys[start : start + 100]))
                bar.update(len(vectors[-1]))
        self._vectors = np.concatenate(vectors)

    def entry(self, number: int) -> Any:
        """The journal entry behind memory `number`."""
        from contrib_ai_memory.records import Entry

        line = self._lines[number % len(self._lines)]
        text = line if number < len(self._lines) else talk.hearsay(line, number)
        # numbers come in no order of time, so that every size spans the same days
        when = NOW - timedelta(seconds=DAYS * 86_400 * (number * 0.618034 % 1))
        who = number % len(talk.NAMES)
        speaker, other = identity(who), identity(who + 1)
        private = number % PRIVATE_EVERY == 0
        return Entry(
            id=number + 1,
            timestamp=when.isoformat(timespec="milliseconds"),
            content=text,
            kind="whisper" if private else "say",
            seen_as=talk.NAMES[who],
            source_entity=speaker,
            entities=(speaker,),
            witnesses=(speaker,) if private else (speaker, other),
            private=private,
            location="#2",
            session_id=f"room:#2@{when:%Y-%m-%d}",
            importance=2 + number % 7,
        )

    def vectors(self, numbers: range) -> np.ndarray:
        """Unit vectors of these memories, float32, shape (len(numbers), dimensions)."""
        known = len(self._vectors)
        vectors = self._vectors[[number % known for number in numbers]].copy()
        for row, number in enumerate(numbers):
            if number >= known:
                noise = np.random.default_rng(number).standard_normal(vectors.shape[1])
                vectors[row] += NOISE * noise / np.linalg.norm(noise)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def identity(number: int) -> str:
    """The memory identity of one of the people."""
    return f"#{10 + number % len(talk.NAMES)}@67c30a40"


# --- those that are timed -------------------------------------------------------------------------


class Ours:
    """The contrib's store, and its recall."""

    def __init__(self, past: Past):
        from contrib_ai_memory.store import memory_store

        self._past = past
        self._store = memory_store.shared()

    def put(self, numbers: range) -> None:
        from contrib_ai_memory.ingest.index import to_memory

        memories = [to_memory(MIND, self._past.entry(number)) for number in numbers]
        self._store.put(MIND, memories, self._past.vectors(numbers))

    def ask(self, question: str, turn: int) -> None:
        from contrib_ai_memory.recall.search import choose, find
        from contrib_ai_memory.records import RecallRequest

        result = choose(
            find(
                RecallRequest(
                    question,
                    agent_id=MIND,
                    top_k=5,
                    token_budget=2000,
                    score_profile="relevance",
                    now=NOW.isoformat(timespec="milliseconds"),
                    listeners=(identity(turn),),
                )
            )
        )
        if len(result.memories) < 5:
            raise SystemExit(f"Ours found {len(result.memories)} memories for {question!r}.")

    def ask_cold(self, question: str, turn: int) -> None:
        """The same where every payload is read from the store."""
        from contrib_ai_memory.store.qdrant_edge import RecentPayloads

        edge = self._store.mem0.vector_store
        kept, edge._recent = edge._recent, RecentPayloads(edge._payloads)
        try:
            self.ask(question, turn)
        finally:
            edge._recent = kept


class Theirs:
    """Mem0 over its local Qdrant, with the fields that its own `add` writes."""

    def __init__(self, past: Past, folder: Path):
        self._past = past
        self._mem0 = stock_mem0(folder, "memories")

    def put(self, numbers: range) -> None:
        from contrib_ai_memory.ingest.index import to_memory
        from contrib_ai_memory.store.payload import to_payload

        own = ("data", "text_lemmatized", "hash", "created_at", "updated_at", "agent_id", "user_id")
        memories = [to_memory(MIND, self._past.entry(number)) for number in numbers]
        payloads = [to_payload(MIND, memory) for memory in memories]
        self._mem0.vector_store.insert(
            vectors=self._past.vectors(numbers).tolist(),
            payloads=[{field: payload[field] for field in own} for payload in payloads],
            ids=[memory.id for memory in memories],
        )

    def ask(self, question: str, turn: int) -> None:
        found = self._mem0.search(question, top_k=5, filters={"agent_id": MIND})
        if len(found["results"]) < 5:
            raise SystemExit(f"Theirs found {len(found['results'])} memories for {question!r}.")

    def close(self) -> None:
        self._mem0.vector_store.client.close()
        self._mem0.close()


def embed(question: str, turn: int) -> None:
    """The bare embedding of a question."""
    from contrib_ai_memory.embedding import embedder

    embedder.shared().encode([question])


# --- filling --------------------------------------------------------------------------------------


@dataclass
class Filling:
    """A store as it grows from size to size, given up where that would take too long.

    Args:
        name: Whose it is, for the reader.
        put: Writes the memories of these numbers.
        bound: Seconds for one size.
    """

    name: str
    put: Callable[[range], None]
    bound: float = float("inf")
    filled: int = 0

    def to(self, size: int) -> tuple[bool, str]:
        """Fill it to `size` memories: (whether it holds that many, a sentence on how it went)."""
        began, start, seconds = time.perf_counter(), self.filled, 0.0
        with progress(None, f"filling {self.name} to {size:,}", "memory", size - start) as bar:
            while self.filled < size:
                numbers = range(self.filled, min(self.filled + BATCH, size))
                self.put(numbers)
                self.filled = numbers.stop
                bar.update(len(numbers))
                seconds = time.perf_counter() - began
                if seconds / (self.filled - start) * (size - start) > self.bound:
                    break
        pace = f"{1000 * seconds / max(self.filled - start, 1):.2f} ms a memory"
        if self.filled < size:
            return False, (
                f"{self.name} is left out at {size:,} memories: at {pace} filling it would take "
                f"longer than {self.bound:g} s."
            )
        return True, f"{self.name}: filled from {start:,} to {size:,} in {seconds:.1f} s, {pace}."


# --- asking ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contender:
    """Something timed: its name in the table, and what asks it."""

    name: str
    ask: Callable[[str, int], None]
    seconds: float = float("inf")  # of timed queries, three at least


def of_one_length(texts: Iterator[str], wanted: int) -> tuple[int, Iterator[str]]:
    """`wanted` texts of the most common number of tokens: (that number, the texts)."""
    from contrib_ai_memory.embedding import embedder

    counted: dict[int, list[str]] = {}
    sizes: Counter[int] = Counter()
    for text in texts:
        tokens = embedder.shared().count_tokens(text)
        counted.setdefault(tokens, []).append(text)
        sizes[tokens] += 1
        if sizes[tokens] == wanted:
            return tokens, iter(counted[tokens])
    raise ValueError("the texts ran out")


def in_turn(
    contenders: Sequence[Contender], questions: Iterator[str], queries: int
) -> dict[str, Timing]:
    """Ask each once a round, in every order equally often.

    So noise hits all alike, and so does what the one before left in the caches.
    """
    took: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    orders = list(itertools.permutations(contenders))
    gc.collect()
    gc.freeze()  # Mem0's points are Python objects: walking through them is not ours to pay
    for turn in progress(range(-WARM_UP, queries), "asking", "round"):
        for contender in orders[turn % len(orders)]:
            mine = took[contender.name]
            if len(mine) >= 3 and sum(mine) >= contender.seconds:
                continue
            question = next(questions)
            start = time.perf_counter()
            contender.ask(question, turn)
            seconds = time.perf_counter() - start
            if turn >= 0:
                mine.append(seconds)
    gc.unfreeze()
    return {name: Timing.of(seconds) for name, seconds in took.items()}


def measure(report: Report, folder: Path, sizes: Sequence[int], queries: int) -> None:
    """Fill both stores from size to size and time all at each; a bar at 10,000."""
    past = Past(sizes[-1])
    rounds = (queries + WARM_UP) * len(sizes)
    tokens, questions = of_one_length(talk.questions(), 4 * rounds)
    ours, theirs = Ours(past), Theirs(past, folder / "theirs")
    fillings = {
        Contender("ours", ours.ask): Filling("Ours", ours.put),
        Contender("Mem0, local Qdrant", theirs.ask, MEM0_QUERY_SECONDS): Filling(
            "Mem0's local Qdrant", theirs.put, MEM0_FILL_SECONDS
        ),
    }
    rows = []
    for size in sizes:
        contenders = [Contender("bare embedding", embed)]
        for contender, filling in fillings.items():
            ready, said = filling.to(size)
            report.note(said)
            if ready:
                contenders.append(contender)
        contenders.insert(2, Contender("ours, after a start", ours.ask_cold))
        timings = in_turn(contenders, questions, queries)
        bare = timings["bare embedding"]
        rows += [_row(size, name, timing, bare) for name, timing in timings.items()]
        if size == BAR_AT:
            ratio = timings["ours"].median / bare.median
            what = f"median recall over {size:,} memories, in bare query embeddings"
            report.bars.append(Bar(what, ratio, BAR_RATIO))
    theirs.close()
    print()
    report.table(COLUMNS, rows)
    import torch

    report.note(
        f"Every question has {tokens} tokens; threads of the model: {torch.get_num_threads()}. "
        "x bare: the median beside the bare embedding's median."
    )


def _row(size: int, name: str, timing: Timing, bare: Timing) -> dict[str, Any]:
    return {
        "memories": size,
        "what": name,
        "queries": timing.count,
        "p10 ms": timing.p10,
        "median ms": timing.median,
        "p95 ms": timing.p95,
        "max ms": timing.max,
        "mean ms": timing.mean,
        "x bare": timing.median / bare.median,
    }


def main() -> int:
    parser = arguments("One recall, beside one bare query embedding and Mem0's local store.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--queries", type=int, default=QUERIES, metavar="N", help="at each size")
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="of the embedding model; else what the settings say",
    )
    options = parser.parse_args()
    sizes = sorted(set(options.sizes))
    if sizes[0] < 100 or options.queries < 1:
        parser.error("sizes of 100 memories and more, and at least one query")
    report = Report(
        "recall",
        f"one recall over memories of made-up talk; real MiniLM vectors of {EMBEDDED:,} texts, "
        "beyond these the same moved by small noise",
    )
    settings = {"EMBEDDING": {"threads": options.threads}} if options.threads else {}
    with game(settings) as folder:
        measure(report, folder, sizes, options.queries)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
