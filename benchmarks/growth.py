"""What grows with the memories of one NPC, and with the NPCs in one store.

Each size is a game of its own. One process fills it in bulk, another one measures it, so that the
start and the memory are those of a fresh process:

- start: from a loaded embedding model to the first recall, which opens the store;
- hear, index: the reactor's time for one line (`perceive` and a flush), and the worker's;
- recall: `npc.memory.recall` with a listener, beside the bare embedding of a question, the part
  that no store can save; asked in turn, each question once, all of one number of tokens. "as
  answered" has the settings' top_k and budget, "after a start" nothing kept of what was read;
- night: a whole night over a day's lines, with all that was there before (`benchmarks.night` has
  the price of long days);
- the bare embedding as sentence-transformers computes it, where that is installed;
- Mem0 as installed with the same model and its local Qdrant, up to 10,000 memories.

The lines are made-up talk in conversations, a tenth whispered, with facts, experiences, links and
people. Up to 2,000 texts are embedded for real; each one beyond has the vector of one of those,
moved by small seeded noise and brought back to unit length, and the text of that one with a second
sentence of its own. What is asked, heard and slept over is embedded as ever. Search keys are made
as indexing makes them.
"""

from __future__ import annotations

import gc
import importlib.util
import itertools
import random
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from world.game import Game

from . import many_minds, talk
from .harness import (
    Bar,
    Report,
    Row,
    Timing,
    alone,
    arguments,
    build,
    enter,
    folder,
    make,
    progress,
    stock_mem0,
)
from .night import lived, night, resident, watched

SIZES, FULL_SIZES = (1_000, 10_000), (1_000, 10_000, 100_000)
STORE, FULL_STORE = 40_000, 400_000  # memories of all NPCs together
EACH = 400  # of each of these NPCs
QUERIES = 40
WARM_UP = 8  # rounds before the timed ones
WRITTEN = 64  # lines
A_DAY = 200  # lines before the night
EMBEDDED = 2_000  # texts with a vector of their own
NOISE = 0.3  # length of the noise beside a unit vector: cosine with the original about 0.96
AT_ONCE = 500  # points written
MEM0_UP_TO = 10_000
TOP_K, TOKENS = 5, 2_000  # as Mem0 is asked

RECALL_BARS = {10_000: 1.4, 100_000: 2.0}  # in bare query embeddings (DESIGN §9)
STORE_BAR = 1.4
NIGHT_BAR, WRITE_BAR = 1.2, 1.2  # times the price at a tenth of the size

COLUMNS = (
    "memories",
    "NPCs",
    "model s",
    "start s",
    "hear ms",
    "index ms",
    "recall ms",
    "x bare",
    "night ms a line",
    "disk MB",
    "memory MB",
)
GROWING = COLUMNS[3:7] + COLUMNS[8:]
RECALL_COLUMNS = ("memories", "NPCs", "what", "queries", "p10 ms", "median ms", "CPU ms", "x bare")


# --- what is remembered ---------------------------------------------------------------------------


class Past:
    """Texts without end, number by number, with their vectors.

    Args:
        kept: A file for the vectors that were embedded, for the next process.
        embedded: How many texts have a vector of their own, if the file is not there yet.
    """

    def __init__(self, kept: Path, embedded: int):
        self._lines = list(itertools.islice(talk.lines(), embedded))
        if not kept.exists():
            np.save(kept, self._embedded())
        self._vectors = np.load(kept)
        self._own = len(self._vectors)

    def _embedded(self) -> np.ndarray:
        from contrib_ai_memory.embedding import embedder

        starts = progress(range(0, len(self._lines), 100), "embedding", "100 texts")
        return np.concatenate([embedder.shared().encode(self._lines[n : n + 100]) for n in starts])

    def texts(self, first: int) -> Iterator[str]:
        """Texts from number `first` on."""
        for number in itertools.count(first):
            line = self._lines[number % self._own]
            yield line if number < self._own else talk.hearsay(line, number)

    def vectors(self, numbers: Iterable[int]) -> np.ndarray:
        """Unit vectors of these texts, float32, shape (numbers, dimensions)."""
        wanted = list(numbers)
        vectors = self._vectors[[number % self._own for number in wanted]].copy()
        for row, number in enumerate(wanted):
            if number >= self._own:
                noise = np.random.default_rng(number).standard_normal(vectors.shape[1])
                vectors[row] += NOISE * noise / np.linalg.norm(noise)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class Size:
    """What is filled: `each` journal entries of each of `npcs` NPCs."""

    npcs: int
    each: int

    @property
    def memories(self) -> int:
        return self.npcs * self.each


def fill(made: Game, size: Size, kept: Path, embedded: int) -> int:
    """Fill a game (a process of its own). Returns the dbid of the NPC that is measured."""
    with enter(made):
        past = Past(kept, embedded)
        npc = make("typeclasses.npcs.AssistantNPC", "Mara", make("typeclasses.rooms.Room", "Inn"))
        dice = random.Random(7)
        bar = progress(None, f"filling {size.memories:,}", "memory", size.memories)
        for number in range(size.npcs):
            first = number * size.each
            journal = many_minds.journal_of(dice, past.texts(first), size.each)
            mind = npc.memory.id if number == 0 else str(uuid.UUID(int=number))
            drawn = list(many_minds.memories_of(mind, dice, journal))
            if number == 0:
                _remember(npc, dice, journal, drawn)
            _store(mind, journal, drawn, past, first)
            bar.update(size.each)
        bar.close()
        return npc.id


def _remember(npc: Any, dice: random.Random, journal: list[Any], drawn: list[Any]) -> None:
    """Write what the NPC has in Attributes."""
    buckets = many_minds.links_of(dice, drawn, len(journal))
    rows = [*many_minds.pages_of(journal), *many_minds.profiles_of(dice, journal)]
    rows += [(f"links_{n}", "memory_links", bucket) for n, bucket in buckets.items()]
    many_minds.write_rows(npc, rows)
    links = sum(len(e["linked_to"]) for b in buckets.values() for e in b.values()) // 2
    many_minds.write_attributes(npc, dice, journal, links=links)


def _store(mind: str, journal: list[Any], drawn: list[Any], past: Past, first: int) -> None:
    """Write journal entries with the keys of their talks, and what was drawn from them."""
    from contrib_ai_memory.ingest.index import to_memory
    from contrib_ai_memory.store import memory_store
    from contrib_ai_memory.store.lanes import keys_of_talk

    store = memory_store.shared()
    for start in range(0, len(journal), AT_ONCE):
        some = journal[start : start + AT_ONCE]
        vectors = past.vectors(first + entry.id - 1 for entry in some)
        talks: dict[Any, list[int]] = {}
        for place, entry in enumerate(some):
            talks.setdefault(entry.circle, []).append(place)
        keys: list[Any] = [None] * len(some)
        for places in talks.values():
            ids = [some[place].id for place in places]
            words = [some[place].with_speaker() for place in places]
            for place, key in zip(places, keys_of_talk(ids, words, vectors[places]), strict=True):
                keys[place] = key
        store.upsert(mind, [to_memory(mind, entry) for entry in some], vectors, keys)
    for start in range(0, len(drawn), AT_ONCE):
        few = drawn[start : start + AT_ONCE]
        store.upsert(mind, few, past.vectors(first + each.journal_ids[0] - 1 for each in few))


# --- what is measured -----------------------------------------------------------------------------


def measure(
    made: Game, size: Size, npc_id: int, queries: int, day: int, mem0: Path | None
) -> list[Row]:
    """Measure a filled game (a process of its own). Returns its row, then those of its recalls."""
    with enter(made):
        from evennia.objects.models import ObjectDB

        from contrib_ai_memory import conf
        from contrib_ai_memory.embedding import embedder
        from contrib_ai_memory.store.qdrant_edge import size_on_disk

        npc = ObjectDB.objects.get(id=npc_id)
        disk = size_on_disk(conf.directory()) + (made.folder / "server/evennia.db3").stat().st_size
        began = time.perf_counter()
        embedder.shared().encode(["What is it?"])
        loaded = time.perf_counter()
        model = resident()
        contenders, questions, tokens = _contenders(npc, queries)
        opening = time.perf_counter()
        contenders[1].ask(next(questions), 0)
        started = time.perf_counter()
        if mem0:
            contenders.append(_theirs(npc, mem0, size))
        timings = in_turn(contenders, questions, queries)
        row: Row = {
            "memories": size.memories,
            "NPCs": size.npcs,
            "model s": loaded - began,
            "start s": started - opening,
            "memory MB": resident() - model,
            "disk MB": disk / 2**20,
            "tokens": tokens,
        }
        bare, ours = timings[contenders[0].name], timings[contenders[1].name]
        row["recall ms"] = ours.wall.median
        row["x bare"] = ours.wall.p10 / bare.wall.p10
        row["hear ms"], row["index ms"] = _written(npc)
        row["night ms a line"] = _night(npc, day)
        if importlib.util.find_spec("sentence_transformers"):
            stock = Contender("bare embedding, sentence-transformers", _stock_embedding())
            timings[stock.name] = in_turn([contenders[0], stock], questions, queries)[stock.name]
        return [row, *(_recall_row(size, name, each, bare) for name, each in timings.items())]


@dataclass(frozen=True, slots=True)
class Contender:
    """Something timed: its name in the table, and what asks it."""

    name: str
    ask: Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Took:
    """The clock's and the processor's time of one contender."""

    wall: Timing
    cpu: Timing


def _contenders(npc: Any, queries: int) -> tuple[list[Contender], Iterator[str], int]:
    """What is timed, with enough questions of the same number of tokens."""
    from contrib_ai_memory import offload
    from contrib_ai_memory.embedding import embedder
    from contrib_ai_memory.store import memory_store
    from contrib_ai_memory.store.qdrant_edge import RecentCandidates

    def bare(question: str, turn: int) -> None:
        embedder.shared().encode([question])

    def ours(question: str, turn: int) -> None:
        _recalled(question, turn, top_k=TOP_K, token_budget=TOKENS)

    def answered(question: str, turn: int) -> None:
        _recalled(question, turn)

    def _recalled(question: str, turn: int, **bounds: int) -> None:
        who = f"log:{talk.NAMES[turn % many_minds.PEOPLE]}"
        found = offload.wait(npc.memory.recall(question, speaker=who, **bounds))
        if len(found.memories) < TOP_K:
            raise SystemExit(f"Ours found {len(found.memories)} memories for {question!r}.")

    def cold(question: str, turn: int) -> None:
        edge = memory_store.shared()
        kept, edge._recent = edge._recent, RecentCandidates(edge._read)
        try:
            ours(question, turn)
        finally:
            edge._recent = kept

    tokens, questions = of_one_length(talk.questions(), 7 * (queries + WARM_UP) + 1)
    named = {
        "bare embedding": bare,
        "ours": ours,
        "ours, after a start": cold,
        "ours, as answered": answered,
    }
    return [Contender(name, ask) for name, ask in named.items()], questions, tokens


def _theirs(npc: Any, place: Path, size: Size) -> Contender:
    """Mem0 over its local Qdrant, with the fields that its own `add` writes."""
    from contrib_ai_memory.store import memory_store
    from contrib_ai_memory.store.payload import to_payload

    mem0, store, mind = stock_mem0(place, "memories"), memory_store.shared(), npc.memory.id
    own = ("data", "text_lemmatized", "hash", "created_at", "updated_at", "agent_id", "user_id")
    offset = None
    for _ in progress(range(2 * size.each // AT_ONCE + 2), "filling Mem0's store", "page"):
        memories, offset = store.page(mind, offset, AT_ONCE)
        payloads = [to_payload(mind, memory) for memory in memories]
        mem0.vector_store.insert(
            vectors=store.vectors_of(memories).tolist(),
            payloads=[
                {each: payload[each] for each in own if each in payload} for payload in payloads
            ],
            ids=[memory.id for memory in memories],
        )
        if offset is None:
            break

    def ask(question: str, turn: int) -> None:
        found = mem0.search(question, top_k=TOP_K, filters={"agent_id": mind})
        if len(found["results"]) < TOP_K:
            raise SystemExit(f"Mem0 found {len(found['results'])} memories for {question!r}.")

    return Contender("Mem0, local Qdrant", ask)


def _stock_embedding() -> Callable[[str, int], None]:
    """The same model as sentence-transformers computes it; loaded last, as it takes memory."""
    from contrib_ai_memory.embedding.model import SentenceTransformerModel, bundled_path

    model = SentenceTransformerModel(str(bundled_path()))

    def ask(question: str, turn: int) -> None:
        model.encode([question])

    return ask


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
) -> dict[str, Took]:
    """Ask each once a round, in every order equally often.

    So noise hits all alike, and so does what the one before left in the caches.
    """
    wall: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    worked: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    orders = list(itertools.permutations(contenders))
    gc.collect()
    gc.freeze()  # Mem0's points are Python objects: walking through them is not ours to pay
    for turn in progress(range(-WARM_UP, queries), "asking", "round"):
        for contender in orders[turn % len(orders)]:
            question = next(questions)
            start, busy = time.perf_counter(), time.process_time()
            contender.ask(question, turn)
            if turn >= 0:
                wall[contender.name].append(time.perf_counter() - start)
                worked[contender.name].append(time.process_time() - busy)
    gc.unfreeze()
    return {name: Took(Timing.of(wall[name]), Timing.of(worked[name])) for name in wall}


def _recall_row(size: Size, name: str, took: Took, bare: Took) -> Row:
    return {
        "memories": size.memories,
        "NPCs": size.npcs,
        "what": name,
        "queries": took.wall.count,
        "p10 ms": took.wall.p10,
        "median ms": took.wall.median,
        "CPU ms": took.cpu.median,
        "x bare": took.wall.p10 / bare.wall.p10,
        "x bare, median": took.wall.median / bare.wall.median,
        "x bare, CPU": took.cpu.median / bare.cpu.median,
    }


def _written(npc: Any) -> tuple[float, float]:
    """Milliseconds of the processor for one new line: on the reactor thread, and to index it."""
    from contrib_ai_memory import offload
    from contrib_ai_memory.records import Percept

    heard, indexed = [], []
    for number, text in enumerate(itertools.islice(talk.lines(11), WRITTEN)):
        name = talk.NAMES[number % 2]
        who = f"log:{name}"
        percept = Percept(
            text, "say", who, seen_as=name, witnesses=(who,), entities=(who,), location="#2"
        )
        start = time.process_time()
        npc.memory.perceive(percept)
        npc.memory.flush()
        middle = time.process_time()
        offload.wait(npc.memory.index_pending())
        heard.append(middle - start)
        indexed.append(time.process_time() - middle)
    return Timing.of(heard).median, Timing.of(indexed).median


def _night(npc: Any, day: int) -> float:
    """Milliseconds of the processor that a night takes for each line of a day."""
    lived(npc, day)
    with watched() as watch:
        night(npc, watch)
    [*_, record] = npc.assistant.sleep.records
    if not record["whole"] or any(told["errors"] for told in record["passes"].values()):
        raise SystemExit(f"The night did not come to its end: {record}")
    return 1000 * watch.worked.total() / (day + WRITTEN)


# --- the whole ------------------------------------------------------------------------------------


def measured(
    place: Path, size: Size, queries: int, day: int, embedded: int, *, mem0: bool
) -> list[Row]:
    """Make, fill and measure the game of one size."""
    here = place / f"{size.npcs}-{size.each}"
    made = build(here / "game")
    began = time.perf_counter()
    npc = alone(fill, made, size, place / "vectors.npy", embedded)
    filled = time.perf_counter() - began
    theirs = here / "theirs" if mem0 and size.memories <= MEM0_UP_TO else None
    [row, *recalls] = alone(measure, made, size, npc, queries, day, theirs)
    return [row | {"filled s": filled}, *recalls]


def tell(report: Report, rows: Sequence[Row], recalls: Sequence[Row], sizes: int) -> None:
    """Print the tables and set the bars; the first `sizes` rows are of one NPC."""
    report.table(COLUMNS, rows)
    growth = [
        {"from": before["memories"], "to": row["memories"]}
        | {name.rsplit(" ", 1)[0]: row[name] / before[name] for name in GROWING}
        for before, row in itertools.pairwise(rows[:sizes])
    ]
    if growth:
        report.note("Times what it is at the size before:")
        report.table(list(growth[0]), growth)
    report.table(RECALL_COLUMNS, recalls)
    report.note(
        f"Every question has {rows[0]['tokens']} tokens. x bare: the quietest tenth beside that of "
        "the bare embedding. hear, index and night are the processor's time, so that other work on "
        "the machine counts little."
    )
    for row in rows[:sizes]:
        if limit := RECALL_BARS.get(row["memories"]):
            what = f"one recall over {row['memories']:,} memories, in bare query embeddings"
            report.bars.append(Bar(what, row["x bare"], limit))
    for row in rows[sizes:]:
        what = f"one recall in a store of {row['memories']:,} memories, in bare query embeddings"
        report.bars.append(Bar(what, row["x bare"], STORE_BAR))
    for name, limit in (("night ms a line", NIGHT_BAR), ("hear ms", WRITE_BAR)):
        for before, row in itertools.pairwise(rows[:sizes]):
            what = f"{name} at {row['memories']:,}, of that at {before['memories']:,}"
            report.bars.append(Bar(what, row[name] / before[name], limit, "×"))


def main() -> int:
    parser = arguments("What grows with the memories of one NPC, and with the NPCs of a store.")
    parser.add_argument("--sizes", type=int, nargs="*", metavar="N", help="memories of one NPC")
    parser.add_argument("--store-size", type=int, metavar="N", help=f"of NPCs with {EACH} each")
    parser.add_argument("--full", action="store_true", help="also 100,000, and a store of 400,000")
    parser.add_argument("--queries", type=int, default=QUERIES, metavar="N", help="at each size")
    parser.add_argument("--day", type=int, default=A_DAY, metavar="N", help="lines of the night")
    parser.add_argument("--no-mem0", action="store_true", help="leave out Mem0's own store")
    options = parser.parse_args()
    default = FULL_SIZES if options.full else SIZES
    sizes = sorted(set(default if options.sizes is None else options.sizes))
    store = options.store_size
    if store is None:
        store = FULL_STORE if options.full else STORE
    if min([*sizes, 100]) < 100 or options.queries < 1:
        parser.error("sizes of 100 memories and more, and at least one query")
    if not sizes and store < EACH:
        parser.error("nothing to measure")
    wanted = [Size(1, each) for each in sizes]
    wanted += [Size(store // EACH, EACH)] if store >= EACH else []
    report = Report("growth", "the price of memories and NPCs as they become more")
    rows: list[Row] = []
    recalls: list[Row] = []
    embedded = min(EMBEDDED, max(size.memories for size in wanted))
    with folder() as place:
        for size in wanted:
            [row, *asked] = measured(
                place, size, options.queries, options.day, embedded, mem0=not options.no_mem0
            )
            rows.append(row)
            recalls += asked
    tell(report, rows, recalls, len(sizes))
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
