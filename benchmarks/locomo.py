"""Retrieval quality on LoCoMo: the share of a question's evidence turns that recall brings to mind.

Each conversation is replayed into one NPC through the real journal path, in its own time; each
question goes through the real recall. Beside it, on the same turns in the same run, stands Mem0 as
it is installed, with the same embedding model. Categories: 1 multi-hop, 2 temporal, 3 open,
4 single-hop; 5 is adversarial (mostly the speaker swapped) and reported apart.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from .harness import Bar, Report, arguments, game, make, progress

DEPTHS = (5, 10, 25, 50)
BUDGETS = (250, 500, 1000, 2000)
BARS = {5: 74.0, 10: 83.0, 25: 90.0, 50: 94.0}
BUDGET_BARS = {500: 84.0, 1000: 89.5}
MULTI_HOP_AT_10 = 50.0
SECONDS_A_TURN = 30
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
PLENTY = 1_000_000  # a token budget that nothing meets


@dataclass(frozen=True)
class Turn:
    id: str
    session: str
    when: datetime
    speaker: str
    text: str


@dataclass(frozen=True)
class Asked:
    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class Conversation:
    name: str
    turns: list[Turn]
    questions: list[Asked]


# --- the data -----------------------------------------------------------------------------------


def load(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file; evidence that names no turn is left out."""
    return [_conversation(plain) for plain in json.loads(path.read_text())]


def _conversation(plain: dict[str, Any]) -> Conversation:
    talk = plain["conversation"]
    numbers = sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key)))
    turns = [turn for number in numbers for turn in _session(talk, number)]
    known = {turn.id for turn in turns}
    questions = [
        Asked(str(qa["question"]), qa["category"], frozenset(_evidence(qa)) & known)
        for qa in plain["qa"]
    ]
    return Conversation(plain["sample_id"], turns, [q for q in questions if q.evidence])


def _session(talk: dict[str, Any], number: int) -> Iterator[Turn]:
    when = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
    for index, line in enumerate(talk[f"session_{number}"]):
        caption = line.get("blip_caption")
        shared = f" [shares a photo: {caption}]" if caption else ""
        yield Turn(
            line["dia_id"],
            f"session_{number}",
            when.replace(tzinfo=UTC) + timedelta(seconds=SECONDS_A_TURN * index),
            line["speaker"],
            line["text"] + shared,
        )


def _evidence(qa: dict[str, Any]) -> list[str]:
    found = re.findall(r"D(\d+):(\d+)", " ".join(map(str, qa.get("evidence", []))))
    return [f"D{int(session)}:{int(turn)}" for session, turn in found]


# --- ours ---------------------------------------------------------------------------------------


class Ours:
    """One NPC that lived through a conversation."""

    name = "contrib_ai_memory"

    def __init__(self, conversation: Conversation, room: Any):
        from contrib_ai_memory.ingest.replay import LogLine, Replay

        self.npc = make("typeclasses.npcs.AssistantNPC", f"Mara of {conversation.name}", room)
        with Replay(self.npc) as replay:
            for turn in conversation.turns:
                replay.feed(
                    LogLine(
                        id=turn.id,
                        time=turn.when,
                        session=turn.session,
                        speaker=turn.speaker,
                        kind="say",
                        text=turn.text,
                    )
                )
            replay.tick()
        self.mind = self.npc.memory
        from contrib_ai_memory import offload

        while not offload.wait(self.mind.work_through(until_silent=True)):
            pass
        self.turn_of = {entry.id: entry.ref for entry in self.mind.journal.read()}
        now = (conversation.turns[-1].when + timedelta(days=1)).isoformat()
        self.mind.clock = lambda: now

    def ranked(
        self, question: str, top_k: int, budget: int = PLENTY, **options: Any
    ) -> list[str]:
        """The turns of what comes to mind, best first, each once."""
        from contrib_ai_memory import offload
        from contrib_ai_memory.recall import bringing
        from contrib_ai_memory.recall.budget import BudgetExceeded

        asked = bringing.recall(
            self.mind, question, listeners=None, top_k=top_k, token_budget=budget, **options
        )
        try:
            result = offload.wait(asked)
        except BudgetExceeded:
            return []
        best = sorted(result.memories, key=lambda item: -item.score.total)
        turns = (self.turn_of[i] for item in best for i in item.memory.journal_ids)
        return list(dict.fromkeys(turns))

    def found(self, question: str) -> Any:
        """The candidates of a question with their clues, as the real recall weighs them."""
        from contrib_ai_memory.recall import bringing, recall

        asked = recall.Question(self.mind.id, question, self.mind.clock(), top_k=DEPTHS[-1])
        return recall.find(bringing.with_people(self.mind, asked))


# --- theirs -------------------------------------------------------------------------------------


class Theirs:
    """Mem0 as installed: its default store, its own search, the same embedding model."""

    name = "Mem0"

    def __init__(self, conversation: Conversation, folder: Path):
        self.mem0 = _mem0(folder / conversation.name)
        for turn in conversation.turns:
            self.mem0.add(
                f"{turn.speaker}: {turn.text}",
                user_id=conversation.name,
                metadata={"turn": turn.id},
                infer=False,
            )
        self.user = conversation.name

    def ranked(self, question: str, top_k: int, budget: int = PLENTY) -> list[str]:
        found = self.mem0.search(question, top_k=top_k, filters={"user_id": self.user}, threshold=0)
        return list(dict.fromkeys(hit["metadata"]["turn"] for hit in found["results"]))


def _mem0(folder: Path) -> Any:
    from contrib_ai_memory.embedding import embedder
    from contrib_ai_memory.store import opening

    folder.mkdir(parents=True)
    config = {
        "path": str(folder / "qdrant"),
        "embedding_model_dims": embedder.shared().dimensions,
        "on_disk": True,
        "collection_name": "turns",
    }
    (folder / "mem0").mkdir()
    return opening.make_mem0(folder, "qdrant", config, embedder.shared().dimensions)


# --- the measure --------------------------------------------------------------------------------


Results = list[tuple[Asked, list[str]]]


def share_found(results: Results, depth: int | None = None) -> float:
    """Mean share of the evidence among the first `depth` turns, in percent."""
    return 100 * fmean(
        len(asked.evidence & set(turns[:depth])) / len(asked.evidence) for asked, turns in results
    )


def ask_all(
    memory: Any, questions: Sequence[Asked], top_k: int, budget: int, step: Callable[[], object]
) -> Results:
    results = []
    for asked in questions:
        results.append((asked, memory.ranked(asked.text, top_k, budget)))
        step()
    return results


def scored(results: Results) -> Results:
    return [(asked, turns) for asked, turns in results if asked.category != 5]


def depth_row(name: str, results: Results) -> dict[str, Any]:
    return {"memory": name, "questions": len(results)} | {
        f"@{depth}": share_found(results, depth) for depth in DEPTHS
    }


# --- the run ------------------------------------------------------------------------------------


def main() -> int:
    parser = arguments("Retrieval quality on LoCoMo, beside Mem0 as installed.")
    parser.add_argument("file", type=Path, help="conversations in LoCoMo's own format")
    parser.add_argument("--no-mem0", action="store_true", help="leave the baseline out")
    parser.add_argument("--no-budgets", action="store_true", help="leave the token budgets out")
    options = parser.parse_args()
    conversations = load(options.file)
    questions = sum(len(c.questions) for c in conversations)
    report = Report(
        "benchmarks.locomo",
        f"evidence recall, {len(conversations)} conversations, "
        f"{sum(len(c.turns) for c in conversations)} turns, {questions} questions with evidence.",
    )
    with game() as folder:
        ours, budgets, theirs = _run(conversations, folder, options)
    _tell(report, ours, budgets, theirs)
    return report.finish(options.json)


def _run(
    conversations: list[Conversation], folder: Path, options: Any
) -> tuple[Results, dict[int, Results], Results]:
    ours: Results = []
    theirs: Results = []
    budgets: dict[int, Results] = {budget: [] for budget in BUDGETS}
    room = make("typeclasses.rooms.Room", "The Drowned Lantern")
    for conversation in progress(conversations, "conversations", "conversation"):
        asked = conversation.questions
        memory = Ours(conversation, room)
        with progress(None, memory.name, "question", len(asked)) as bar:
            ours += ask_all(memory, asked, DEPTHS[-1], PLENTY, bar.update)
        if not options.no_budgets:
            for budget in progress(BUDGETS, "budgets", "budget"):
                budgets[budget] += ask_all(memory, asked, 200, budget, lambda: None)
        if not options.no_mem0:
            with progress(None, Theirs.name, "question", len(asked)) as bar:
                theirs += ask_all(
                    Theirs(conversation, folder / "theirs"), asked, DEPTHS[-1], 0, bar.update
                )
    return ours, budgets, theirs


def _tell(report: Report, ours: Results, budgets: dict[int, Results], theirs: Results) -> None:
    columns = ["memory", "questions", *(f"@{depth}" for depth in DEPTHS)]
    rows = [depth_row(Ours.name, scored(ours))]
    if theirs:
        rows.append(depth_row(Theirs.name, scored(theirs)))
    report.table(columns, rows)
    for category, name in CATEGORIES.items():
        of_category = [(asked, turns) for asked, turns in ours if asked.category == category]
        if of_category:
            report.rows.append(row := depth_row(name, of_category))
            rows.append(row)
    report.table(columns, rows[-len(CATEGORIES) :])
    found = [bool(asked.evidence & set(turns[:10])) for asked, turns in scored(ours)]
    whole = [asked.evidence <= set(turns[:10]) for asked, turns in scored(ours)]
    report.note(f"@10: any evidence {100 * fmean(found):.1f}, all of it {100 * fmean(whole):.1f}.")
    held = rows[0]
    report.bars += [
        Bar(f"recall @{depth}", held[f"@{depth}"], least, "%", at_least=True)
        for depth, least in BARS.items()
    ]
    multi_hop = [(asked, turns) for asked, turns in ours if asked.category == 1]
    if multi_hop:
        reached = share_found(multi_hop, 10)
        report.bars.append(Bar("multi-hop @10", reached, MULTI_HOP_AT_10, "%", at_least=True))
    if budgets[BUDGETS[0]]:
        rows = [
            {"tokens": budget, "recall": share_found(scored(results))}
            for budget, results in budgets.items()
        ]
        report.table(["tokens", "recall"], rows)
        report.bars += [
            Bar(f"recall within {row['tokens']} tokens", row["recall"], least, "%", at_least=True)
            for row in rows
            if (least := BUDGET_BARS.get(row["tokens"]))
        ]


if __name__ == "__main__":
    sys.exit(main())
