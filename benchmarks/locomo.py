"""Retrieval quality on LoCoMo: the share of a question's evidence turns that recall brings to mind.

Each conversation is replayed into one NPC through the real journal path, in its own time; each
question goes through the real recall. A memory made from a turn counts for that turn; "@10" is
what the ten best memories were made from. Beside it, on the same turns in the same run, stands
Mem0 as it is installed, with the same embedding model. Categories: 1 multi-hop, 2 temporal, 3 open,
4 single-hop; 5 is adversarial (mostly the speaker swapped) and reported apart.

`--loco` fits the weights of the clues anew for each conversation on all others, and measures the
real recall with those: the figure that says what to expect of other people's talk.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from . import fitting
from .harness import Bar, Report, add_settings, arguments, game, make, progress, setting, stock_mem0
from .locomo_data import Asked, Conversation, load

DEPTHS = (5, 10, 25, 50)
BUDGETS = (250, 500, 1000, 2000)
BARS = {5: 77.1, 10: 84.1, 25: 90.0, 50: 93.9}
BUDGET_BARS = {500: 84.0, 1000: 89.5}
PLAYER_BAR = 86.0
MULTI_HOP_AT_10 = 56.8
MULTI_HOP_GOAL = 62.0
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = 5
PLENTY = 1_000_000  # a token budget that nothing meets
MOST = 200  # memories of a recall that only its token budget bounds

Turns = frozenset[str]
Results = list[tuple[Asked, list[Turns]]]


# --- ours ---------------------------------------------------------------------------------------


class Ours:
    """One NPC that lived through a conversation."""

    name = "contrib_ai_memory"

    def __init__(self, conversation: Conversation, room: Any):
        from contrib_ai_memory import offload
        from contrib_ai_memory.ingest.replay import LogLine, Replay

        self.conversation = conversation
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
            self._asker = replay.identity_of(conversation.turns[0].speaker)
        self.memory = self.npc.memory
        while not offload.wait(self.memory.work_through(until_silent=True)):
            pass
        now = (conversation.turns[-1].when + timedelta(days=1)).isoformat()
        self.memory.clock = lambda: now
        self._turn_of = {entry.id: entry.ref for entry in self.memory.journal.read()}

    def sleep(self) -> None:
        """A whole night, with whatever provider the settings name."""
        from contrib_ai_memory import offload
        from contrib_ai_memory.sleep.night import Night, run_sleep_tick

        night = Night()
        while not night.whole:
            night = offload.wait(run_sleep_tick(self.memory, night))

    def ranked(
        self, question: str, top_k: int, budget: int = PLENTY, **options: Any
    ) -> list[Turns]:
        """What comes to mind, best first: of each memory the turns that it was made from."""
        from contrib_ai_memory import offload
        from contrib_ai_memory.recall.budget import BudgetExceeded
        from contrib_ai_memory.recall.search import recall
        from contrib_ai_memory.records import RecallRequest

        asked = recall(
            self.memory,
            RecallRequest(question, top_k=top_k, token_budget=budget, **options),
        )
        try:
            result = offload.wait(asked)
        except BudgetExceeded:
            return []
        best = sorted(result.memories, key=lambda item: -item.score.total)
        return [self.turns(item.memory.journal_ids) for item in best]

    def brought_to_mind(self, question: str) -> tuple[Turns, int]:
        """The turns that a recall for a player brings up by default, and its tokens.

        The one who spoke first in the conversation asks.
        """
        from contrib_ai_memory import offload
        from contrib_ai_memory.recall.search import recall
        from contrib_ai_memory.records import RecallRequest

        request = RecallRequest(question, listeners=(self._asker,))
        result = offload.wait(recall(self.memory, request))
        found = [self.turns(item.memory.journal_ids) for item in result.memories]
        return among(found), result.total_tokens

    def turns(self, journal_ids: Sequence[int]) -> Turns:
        """The turns behind journal entries; an insight of the night is an entry without one."""
        return frozenset(self._turn_of[each] for each in journal_ids if each in self._turn_of)

    def found(self, question: str) -> Any:
        """The candidates of a question with their clues, as the real recall weighs them."""
        from contrib_ai_memory.recall.search import completed, find
        from contrib_ai_memory.records import RecallRequest

        return find(completed(self.memory, RecallRequest(question, top_k=DEPTHS[-1])))

    def cases(self) -> list[fitting.Case]:
        """What this conversation teaches of the weights.

        Lines alone: that a retelling of two lines counts for both would make it look better than
        it is, where a place in the result is what is scarce.
        """
        from contrib_ai_memory.store.payload import DRAWN_RECORDS

        cases = []
        for asked in self.conversation.questions:
            if asked.category != ADVERSARIAL:
                found = self.found(asked.text).ranked
                ranked = [each for each in found if each.candidate.record not in DRAWN_RECORDS]
                turns = [self.turns(each.candidate.journal_ids) for each in ranked]
                evidence = [bool(some & asked.evidence) for some in turns]
                clues = np.array([each.clues for each in ranked])
                cases.append(fitting.Case(clues, np.array(evidence)))
        return cases


# --- theirs -------------------------------------------------------------------------------------


class Theirs:
    """Mem0 as installed: its default store, its own search, the same embedding model."""

    name = "Mem0"

    def __init__(self, conversation: Conversation, folder: Path):
        self.mem0 = stock_mem0(folder / conversation.name, "turns")
        for turn in conversation.turns:
            self.mem0.add(
                f"{turn.speaker}: {turn.text}",
                user_id=conversation.name,
                metadata={"turn": turn.id},
                infer=False,
            )
        self.user = conversation.name

    def ranked(self, question: str, top_k: int, budget: int = PLENTY) -> list[Turns]:
        found = self.mem0.search(question, top_k=top_k, filters={"user_id": self.user}, threshold=0)
        return [frozenset([hit["metadata"]["turn"]]) for hit in found["results"]]


# --- the measure --------------------------------------------------------------------------------


def share_found(results: Results, depth: int | None = None) -> float:
    """Mean share of the evidence that the first `depth` memories were made from, in percent."""
    return 100 * fmean(
        len(asked.evidence & among(memories[:depth])) / len(asked.evidence)
        for asked, memories in results
    )


def among(memories: list[Turns]) -> Turns:
    """The turns that some memories were made from."""
    return frozenset().union(*memories)


def ask_all(
    memory: Any, top_k: int, budget: int, questions: Sequence[Asked], **options: Any
) -> Results:
    return [(each, memory.ranked(each.text, top_k, budget, **options)) for each in questions]


def scored(results: Results) -> Results:
    return [(asked, memories) for asked, memories in results if asked.category != ADVERSARIAL]


def depth_row(name: str, results: Results) -> dict[str, Any]:
    return {"memory": name, "questions": len(results)} | {
        f"@{depth}": share_found(results, depth) for depth in DEPTHS
    }


class Outcome:
    """All answers of one way to recall, by depth and by token budget."""

    def __init__(self, name: str):
        self.name = name
        self.by_depth: Results = []
        self.by_budget: dict[int, Results] = {}

    def ask(self, ours: Ours, budgets: Sequence[int], **options: Any) -> None:
        questions = ours.conversation.questions
        self.by_depth += ask_all(ours, DEPTHS[-1], PLENTY, questions, **options)
        for budget in budgets:
            results = ask_all(ours, MOST, budget, questions, **options)
            self.by_budget.setdefault(budget, []).extend(results)

    def row(self) -> dict[str, Any]:
        budgets = {
            f"{budget} tok": share_found(scored(results))
            for budget, results in self.by_budget.items()
        }
        return depth_row(self.name, scored(self.by_depth)) | budgets

    def of_category(self, category: int) -> Results:
        return [
            (asked, memories) for asked, memories in self.by_depth if asked.category == category
        ]


# --- the run ------------------------------------------------------------------------------------


def main() -> int:
    from contrib_ai_memory.recall.rank import SCORE_PROFILES

    parser = arguments("Retrieval quality on LoCoMo, beside Mem0 as installed.")
    parser.add_argument("file", type=Path, help="conversations in LoCoMo's own format")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="one conversation, without bars"
    )
    add_settings(parser)
    parser.add_argument("--profile", choices=SCORE_PROFILES, help="another score profile")
    parser.add_argument("--loco", action="store_true", help="weights fitted on the others")
    parser.add_argument("--ablate", action="store_true", help="without each clue in turn")
    parser.add_argument("--night", action="store_true", help="ask after a night's sleep too")
    parser.add_argument("--no-mem0", action="store_true", help="leave the baseline out")
    parser.add_argument("--no-budgets", action="store_true", help="leave the token budgets out")
    options = parser.parse_args()
    conversations = [c for c in load(options.file) if c.name in (options.only or [c.name])]
    if not conversations:
        parser.error(f"--only {', '.join(options.only)}: there is no such conversation.")
    settings = dict(map(setting, options.set))
    if options.loco and len(conversations) < 2:
        parser.error("--loco needs two conversations or more: it fits on the others.")
    report = Report(
        "benchmarks.locomo",
        f"evidence recall, {len(conversations)} conversations, "
        f"{sum(len(c.turns) for c in conversations)} turns, "
        f"{sum(len(c.questions) for c in conversations)} questions with evidence.",
    )
    with game(settings) as folder:
        _measure(report, conversations, folder, options)
    return report.finish(options.json)


def _measure(report: Report, conversations: list[Conversation], folder: Path, options: Any) -> None:
    budgets = () if options.no_budgets else BUDGETS
    room = make("typeclasses.rooms.Room", "The Drowned Lantern")
    minds = [Ours(c, room) for c in progress(conversations, "living through", "conversation")]
    profile = {"score_profile": options.profile} if options.profile else {}
    ours = Outcome(Ours.name + (f", {options.profile}" if options.profile else ""))
    for agent_id in progress(minds, "asking", "conversation"):
        ours.ask(agent_id, budgets, **profile)
    held, outcomes = ours, [ours]
    if options.loco:
        held = _loco(report, minds, budgets)
        outcomes.insert(0, held)
    rows = [outcome.row() for outcome in outcomes]
    if not options.no_mem0:
        theirs: Results = []
        for c in progress(conversations, "Mem0", "conversation"):
            theirs += ask_all(Theirs(c, folder / "theirs"), DEPTHS[-1], 0, c.questions)
        rows.append(depth_row(Theirs.name, scored(theirs)))
    if options.ablate:
        _ablate(report, minds)
    if options.night:
        rows.append(_after_a_night(minds, budgets))
    columns = ["memory", "questions", *(f"@{depth}" for depth in DEPTHS)]
    report.table([*columns, *(f"{budget} tok" for budget in budgets)], rows)
    by_category = [
        depth_row(name, results)
        for category, name in CATEGORIES.items()
        if (results := held.of_category(category))
    ]
    report.table(columns, by_category)
    for depth in DEPTHS:
        any_of = [bool(a.evidence & among(m[:depth])) for a, m in scored(held.by_depth)]
        whole = [a.evidence <= among(m[:depth]) for a, m in scored(held.by_depth)]
        report.note(
            f"@{depth}: any evidence {100 * fmean(any_of):.1f}, all {100 * fmean(whole):.1f}."
        )
    _set_bars(report, held)
    _ask_as_a_player(report, minds)
    if options.only:
        report.bars.clear()  # they are of all five


def _ask_as_a_player(report: Report, minds: list[Ours]) -> None:
    """The default recall of a player who asks, bounded by the settings."""
    from contrib_ai_memory import conf

    shares, tokens = [], []
    for memory in progress(minds, "asking as a player", "conversation"):
        for asked in memory.conversation.questions:
            if asked.category != ADVERSARIAL:
                found, taken = memory.brought_to_mind(asked.text)
                shares.append(100 * len(asked.evidence & found) / len(asked.evidence))
                tokens.append(taken)
    budget = conf.get().RECALL_TOKENS
    report.note(
        f"As a player asks, by default: {fmean(shares):.1f} % in {fmean(tokens):.0f} tokens."
    )
    what = f"as a player asks, within {budget} tokens"
    report.bars.append(Bar(what, fmean(shares), PLAYER_BAR, "%", at_least=True))


def _set_bars(report: Report, held: Outcome) -> None:
    row = held.row()
    reached = {f"recall @{depth}": (row[f"@{depth}"], least) for depth, least in BARS.items()}
    if multi_hop := held.of_category(1):
        found = share_found(multi_hop, 10)
        reached["multi-hop @10"] = (found, MULTI_HOP_AT_10)
        what = f"{held.name}: multi-hop @10, to be reached"
        report.bars.append(Bar(what, found, MULTI_HOP_GOAL, "%", at_least=True, goal=True))
    for budget, least in BUDGET_BARS.items():
        if budget in held.by_budget:
            reached[f"recall within {budget} tokens"] = (row[f"{budget} tok"], least)
    report.bars += [
        Bar(f"{held.name}: {what}", value, least, "%", at_least=True)
        for what, (value, least) in reached.items()
    ]


def _loco(report: Report, minds: list[Ours], budgets: Sequence[int]) -> Outcome:
    """Each conversation with weights that were fitted on all others."""
    from contrib_ai_memory.recall.rank import Weights

    cases = [memory.cases() for memory in progress(minds, "looking at clues", "conversation")]
    outcome = Outcome("left out of the fit")
    rows = []
    for held, memory in enumerate(progress(minds, "asking", "conversation")):
        others = [case for index, some in enumerate(cases) if index != held for case in some]
        weights = replace(fitting.fitted(others, Weights()), retold=Weights().retold)
        rows.append(_weights_row(f"without {memory.conversation.name}", weights))
        outcome.ask(memory, budgets, weights=astuple(weights))
    everything = fitting.fitted([case for some in cases for case in some], Weights())
    rows += [_weights_row("all", everything), _weights_row("in force", Weights())]
    report.table(list(rows[0]), rows)
    return outcome


def _weights_row(name: str, weights: Any) -> dict[str, Any]:
    return {"fitted": name} | {
        spec.name: round(getattr(weights, spec.name), 2) for spec in fields(weights)
    }


def _ablate(report: Report, minds: list[Ours]) -> None:
    """The same candidates ordered without one clue or another; weights are not fitted anew."""
    from contrib_ai_memory.recall import rank

    found = [
        (memory, asked, memory.found(asked.text))
        for memory in progress(minds, "ablation", "conversation")
        for asked in memory.conversation.questions
        if asked.category != ADVERSARIAL
    ]
    whole = rank.Weights()
    without = {f"- {clue}": (clue,) for clue in rank.CLUES}
    without |= {"- both dense": ("line", "window"), "- both BM25": ("near", "wide")}
    without |= {"lanes alone": rank.CLUES[4:], "the line alone": rank.CLUES[1:]}
    rows = []
    for name, clues in ({"all clues": ()} | without).items():
        weights = replace(whole, **dict.fromkeys(clues, 0.0))
        results = []
        for memory, asked, seen in found:
            request = replace(seen.request, weights=astuple(weights))
            candidates = [each.candidate for each in seen.ranked]
            order = rank.arranged(rank.score(candidates, request), request)
            best = order[: DEPTHS[-1]]
            results.append((asked, [memory.turns(r.candidate.journal_ids) for r in best]))
        rows.append({"ranked by": name} | depth_row("", results))
    report.table(["ranked by", *(f"@{depth}" for depth in DEPTHS)], rows)


def _after_a_night(minds: list[Ours], budgets: Sequence[int]) -> dict[str, Any]:
    after = Outcome("after a night")
    for memory in progress(minds, "sleeping", "conversation"):
        memory.sleep()
        after.ask(memory, budgets)
    return after.row()


if __name__ == "__main__":
    sys.exit(main())
