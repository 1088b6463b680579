"""How an NPC remembers and answers over recorded evenings, by everything there is to know of them.

Each evening is one NPC of one kind of game over three sessions, labelled by hand
(benchmarks/data/evenings/README.md, which defines every figure). It is played by
`evenings_play` and judged by `evenings_score`; whether a reply serves is judged by `served`, beside
the first recalled sentence told alone and the best one. Without `LLM` in `--set` the offline
provider answers.

Each evening has characters and a store of its own: evenings do not change one another's figures,
whatever `--jobs` is and in whatever order they are played.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from . import evenings_ablation, evenings_play
from .evenings_data import LEARNED, NOT_ANSWERABLE, files, load
from .evenings_score import (
    SERVED_COLUMNS,
    Figures,
    Judged,
    Played,
    QuestionVerdict,
    evidence,
    figures,
    judge,
    of_kind,
    percent,
    served_rows,
)
from .harness import Bar, Report, add_settings, arguments, build, folder, progress, setting

JOBS = 2

COLUMNS = (
    "evening",
    "facts found",
    "facts right",
    "of",
    "stale",
    "worth",
    "evidence",
    "prompt",
    "right",
    "served",
    "betrayed",
    "precision",
    "recall",
    "tokens",
    "seconds",
)
KIND_COLUMNS = ("kind of question", "n", "evidence", "prompt", "right")


# --- playing --------------------------------------------------------------------------------------


def play_all(
    chosen: Sequence[Path], settings: dict[str, Any], jobs: int = JOBS
) -> Iterator[Judged]:
    """Play and judge evenings; the arguments are those of `played_all`."""
    for file, played in played_all(chosen, settings, jobs):
        yield judge(load(file), played)


def played_all(
    chosen: Sequence[Path],
    settings: dict[str, Any],
    jobs: int = JOBS,
    parts: Sequence[str] = (),
    lacking: str = "",
) -> Iterator[tuple[Path, Played]]:
    """Play evenings in `jobs` processes, each in a copy of one game. Yields them as they end.

    Args:
        settings: `CONTRIB_AI_MEMORY`; the defaults for what is not in it.
        parts, lacking: See `evenings_play.play`.
    """
    yield from in_copies(evenings_play.play, chosen, settings, jobs, parts, lacking)


def in_copies(
    play: Callable[..., Any],
    chosen: Sequence[Path],
    settings: dict[str, Any],
    jobs: int,
    *more: Any,
) -> Iterator[tuple[Path, Any]]:
    """Call `play(file, settings, *more)` for each file in `jobs` processes, each in a copy of one
    game. Yields files and results as they end."""
    with folder() as place:
        made = build(place / "game")
        spawn = multiprocessing.get_context("spawn")
        jobs = min(jobs, len(chosen))
        places = spawn.Queue()
        for number in range(jobs):
            places.put(place / f"job {number + 1}")
        with ProcessPoolExecutor(
            jobs, spawn, initializer=evenings_play.enter_copy, initargs=(made.folder, places)
        ) as pool:
            plays = [pool.submit(play, file.resolve(), settings, *more) for file in chosen]
            ended = dict(zip(plays, chosen, strict=True))
            try:
                for each in progress(as_completed(plays), "playing", "file", len(plays)):
                    yield ended[each], each.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def without_each(
    chosen: Sequence[Path], settings: dict[str, Any], jobs: int = JOBS
) -> dict[str, list[Judged]]:
    """Play and judge evenings with the whole memory, "", and without each part of it."""
    judged: dict[str, list[Judged]] = {}
    for file, played in played_all(chosen, settings, jobs, evenings_ablation.ABLATED):
        evening = load(file)
        judged.setdefault("", []).append(judge(evening, played))
        for part, exchanges in played.without.items():
            judged.setdefault(part, []).append(judge(evening, replace(played, exchanges=exchanges)))
    for part in evenings_ablation.NIGHTLY:
        plays = played_all(chosen, settings, jobs, lacking=part)
        judged[part] = [judge(load(file), played) for file, played in plays]
    return judged


# --- telling --------------------------------------------------------------------------------------


def row(name: str, found: Figures) -> dict[str, Any]:
    """The figures of some evenings as a row of the table."""
    return {
        "evening": name,
        "facts found": found.facts_found,
        "facts right": found.facts_right,
        "of": found.facts_stored,
        "stale": f"{found.stale}/{found.ended}",
        "worth": found.worth,
        "evidence": found.evidence,
        "prompt": found.prompt,
        "right": found.right,
        "served": found.served,
        "betrayed": found.betrayed,
        "precision": found.precision,
        "recall": found.recall,
        "tokens": found.tokens,
        "seconds": found.seconds,
    }


def kind_rows(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """The figures of each kind of question."""
    kinds = sorted({each.kind for one in judged for each in one.questions})
    rows = []
    for kind in kinds:
        asked = of_kind(judged, kind)
        answerable = kind not in NOT_ANSWERABLE
        rows.append(
            {
                "kind of question": kind,
                "n": len(asked),
                "evidence": evidence(asked) if answerable else None,
                "prompt": percent(each.prompt for each in asked) if answerable else None,
                "right": percent(each.right for each in asked),
            }
        )
    return rows


def show(name: str, questions: Sequence[QuestionVerdict]) -> None:
    """Print each question of an evening with its reply and the verdict."""
    print(f"\n{name}")
    for each in questions:
        verdict = "BETRAYED" if each.betrayed else "right" if each.right else "wrong"
        where = "" if not each.answerable else " in the prompt" if each.prompt else " not in prompt"
        print(f"  {each.id} {each.kind}, {each.asked_by}: {each.text}")
        print(f"      {verdict:8} {each.reply or '(nothing)'}")
        if verdict != "right":
            print(f"      expected {each.answer or 'not to be told'}{where}")
        if not each.verdict.served:
            doubt = ["a doubt"] if each.verdict.doubt else []
            why = [*doubt, *(f"beside the point: {one}" for one in each.verdict.beside)]
            why.append(f"{each.verdict.words} words")
            print("      does not serve: " + "\n          ".join(why))
    print()


def bars(judged: Sequence[Judged]) -> list[Bar]:
    """What is to be reached over all of our evenings."""
    found = figures(judged)
    unseen = [each for each in judged if each.evening not in LEARNED]
    every = [
        Bar("gold facts found", found.facts_found or 0, 68, "%", at_least=True),
        Bar("stored facts right", found.facts_right or 0, 90, "%", at_least=True),
        Bar("old facts that still stand", found.stale, 15),
        Bar("worth, Spearman", found.worth, 0.68, at_least=True),
        Bar("evidence recalled", found.evidence or 0, 90, "%", at_least=True),
        Bar("what the answer needs in the prompt", found.prompt or 0, 94, "%", at_least=True),
        Bar("tokens of memory in a prompt", found.tokens, 600),
        Bar("answers right of the answerable", found.right or 0, 60, "%", at_least=True),
        Bar(
            "served of the answerable, unseen", figures(unseen).served or 0, 50, "%", at_least=True
        ),
    ]
    for kind, least in KIND_BARS.items():
        right = percent(each.right for each in of_kind(judged, kind))
        if right is not None:
            every.append(Bar(f"{kind} right", right, least, "%", at_least=True))
    return [
        *every,
        Bar("attention, precision", found.precision, 0.93, at_least=True),
        Bar("attention, recall", found.recall, 0.8, at_least=True),
    ]


KIND_BARS = {"about_person": 60, "event": 65, "own_fact": 75, "update": 60, "unknown": 90}


# --- the run --------------------------------------------------------------------------------------


def main() -> int:
    parser = arguments("What an NPC keeps, finds and answers over recorded evenings.")
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    parser.add_argument("--show", action="store_true", help="each question with its reply")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help="processes")
    add_settings(parser)
    parser.add_argument(
        "--ablation", action="store_true", help="answer without each part of the memory, too"
    )
    parser.add_argument("--bars", action="store_true", help="exit 1 where a bar is missed, too")
    options = parser.parse_args()
    chosen = files(options.files)
    settings = dict(map(setting, options.set))
    if options.jobs < 1:
        parser.error("--jobs: at least one process is needed")
    evenings = [load(file) for file in chosen]
    report = Report(
        "benchmarks.evenings",
        f"{len(evenings)} evenings, {sum(len(each.lines) for each in evenings):,} lines, "
        f"{sum(len(each.questions) for each in evenings):,} questions"
        + (f", with {', '.join(options.set)}" if options.set else ""),
    )
    begin = time.perf_counter()
    if options.ablation:
        without = without_each(chosen, settings, options.jobs)
        judged = sorted(without[""], key=lambda one: one.evening)
    else:
        without = {}
        judged = sorted(play_all(chosen, settings, options.jobs), key=lambda one: one.evening)
    seconds = time.perf_counter() - begin
    if options.show:
        for one in judged:
            show(one.evening, one.questions)
    whole = figures(judged)
    rows = [row(one.evening, figures([one])) for one in judged]
    rows.append(row(f"all {len(judged)}", whole))
    unseen = [each for each in judged if each.evening not in LEARNED]
    if unseen and len(unseen) < len(judged):
        rows.append(row(f"{len(unseen)} that the reader has not seen", figures(unseen)))
    report.table(COLUMNS, rows)
    report.table(KIND_COLUMNS, kind_rows(judged))
    report.table(SERVED_COLUMNS, served_rows([each for one in judged for each in one.questions]))
    if without:
        table = evenings_ablation.rows(without)
        report.table(tuple(table[0]), table)
    report.note(
        f"{whole.tokens:.0f} tokens of memory in a prompt, {whole.given_tokens:.0f} with tags, "
        f"dates and speakers. {seconds:.0f} s with {options.jobs} jobs."
    )
    report.bars.append(Bar("secrets betrayed, in replies or prompts", whole.betrayed, 0))
    if not options.files:
        report.bars += [replace(bar, goal=not options.bars) for bar in bars(judged)]
    report.details = {
        "settings": settings,
        "figures": asdict(whole),
        "evenings": [asdict(one) for one in judged],
    }
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
