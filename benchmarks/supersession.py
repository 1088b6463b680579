"""Whether a later line ends an earlier one, fitted on evenings and measured on others.

Each line of another than the NPC is compared with the earlier lines that the game would compare it
with (`ingest.endings`). A pair is right where a gold fact that rests on the earlier line is ended
by the later one. Evenings are left out of the fit in folds of four, and so are the kinds of
sentences that the score builds on. The evenings label the ends of gold facts alone: some pairs that
count as wrong are changes of something else.

`--fit` writes the weights of all evenings into the package.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contrib_ai_memory.embedding.model import open_model
from contrib_ai_memory.english import supersession
from contrib_ai_memory.english.linear import Linear
from contrib_ai_memory.english.sentence_classifier import LABELS, Sentence
from contrib_ai_memory.llm.answer_selection import mentioned

from . import sentences
from .evenings_data import Evening, files, load
from .harness import Report, arguments

C = 0.005  # inverse L2
MOST_STEPS = 300
TOLERANCE = 1e-3
DECIMALS = 5
LEVELS = (0.05, 0.08, supersession.ENDS, 0.15, 0.2, 0.3, supersession.SURE, 0.5)
MOVES = ("arrive", "leave")

Features = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A line of an evening with the earlier ones that it is compared with.

    Attributes:
        known: Places of the earlier lines.
        ends: Whether it ends each of them.
        may_end: Whether anything says that it might.
    """

    place: int
    known: tuple[int, ...]
    features: Features
    ends: np.ndarray
    may_end: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """An evening whose lines are compared."""

    evening: Evening
    lines: tuple[Line, ...]


def compared(chosen: Sequence[Path]) -> list[Compared]:
    """Compare the lines of evenings; each line's kinds are judged by a fit on other evenings."""
    model = open_model(None)
    data = sentences.read(chosen, model)
    bare = [Sentence(each.sentence.text, each.sentence.kind) for each in data.lines]
    whole = data.where(lambda line: not line.sentence.part)
    kinds = np.zeros((len(data.lines), len(LABELS)))
    for fold in folds(len(chosen)):
        judged = whole & np.isin(data.evening, fold)
        classifier = sentences.fit(data.part(~np.isin(data.evening, fold)), model)
        some = [each for each, wanted in zip(bare, judged, strict=True) if wanted]
        kinds[judged] = classifier.probabilities(data.vectors[judged], some)
    found = []
    for number, file in enumerate(chosen):
        own = whole & (data.evening == number)
        evening = load(file)
        found.append(Compared(evening, tuple(_lines(evening, data.vectors[own], kinds[own]))))
    return found


def _lines(evening: Evening, vectors: np.ndarray, kinds: np.ndarray) -> Iterator[Line]:
    lines = evening.lines
    place = {each.id: number for number, each in enumerate(lines)}
    ends = {
        (place[line], place[fact.ended_by])
        for fact in evening.facts
        if fact.ended_by in place
        for line in fact.evidence
    }
    people = [evening.npc.name, *(each.name for each in evening.people)]
    looks = [
        supersession.Look.of(_statement(evening, number, people, kinds[number]))
        for number in range(len(lines))
    ]
    heard = [n for n, each in enumerate(lines) if _is_heard(each, evening)]
    for later in heard:
        line = lines[later]
        before = [n for n in heard if n < later and _audience(line) in (None, _audience(lines[n]))]
        before.sort(key=lambda n: -float(vectors[n] @ vectors[later]))
        own = [n for n in before if lines[n].speaker == line.speaker]
        known = tuple(sorted({*before[: supersession.NEAREST], *own[: supersession.NEAREST]}))
        if not known:
            continue
        context = [
            n
            for n in range(max(0, later - supersession.BEFORE), later)
            if lines[n].session == line.session
        ]
        columns = supersession.features(
            looks[later],
            vectors[later],
            vectors[context],
            [looks[n] for n in known],
            vectors[list(known)],
        )
        yield Line(
            later,
            known,
            columns,
            np.array([(n, later) in ends for n in known]),
            supersession.changes_something(looks[later], [looks[n] for n in known], columns),
        )


def _is_heard(line: Any, evening: Evening) -> bool:
    return line.speaker != evening.npc.name and line.kind not in MOVES


def _audience(line: Any) -> str | None:
    return line.speaker if line.kind == "whisper" else None


def _statement(
    evening: Evening, number: int, people: Sequence[str], kinds: np.ndarray
) -> supersession.DatedStatement:
    line = evening.lines[number]
    said = line.kind in ("say", "whisper")
    return supersession.DatedStatement(
        line.text,
        line.speaker,
        said=said,
        mentions=mentioned(line.text, people) - (set() if said else {line.speaker}),
        time=line.time,
        own=line.speaker == evening.npc.name,
        kinds=dict(zip(LABELS, kinds.tolist(), strict=True)),
    )


# --- the fit --------------------------------------------------------------------------------------


def fit(given: Sequence[Compared]) -> Linear:
    """Fit a logistic regression with L2 over standardised features."""
    from sklearn.linear_model import LogisticRegression

    lines = [line for each in given for line in each.lines]
    names = tuple(lines[0].features)
    table = np.vstack([np.stack([line.features[n] for n in names], axis=-1) for line in lines])
    mean, scale = table.mean(axis=0), table.std(axis=0)
    scale[scale < 1e-6] = 1.0
    fitted = LogisticRegression(C=C, max_iter=MOST_STEPS, tol=TOLERANCE).fit(
        (table - mean) / scale, np.hstack([line.ends for line in lines])
    )
    return Linear(names, mean, scale, fitted.coef_[0], float(fitted.intercept_[0]))


def left_out(given: Sequence[Compared]) -> list[Linear]:
    """For each evening, a score fitted on evenings of other folds."""
    found: dict[int, Linear] = {}
    for fold in folds(len(given)):
        score = fit([each for number, each in enumerate(given) if number not in fold])
        found |= dict.fromkeys(fold, score)
    return [found[number] for number in range(len(given))]


def folds(number: int) -> list[list[int]]:
    """Places of the evenings, four to a fold."""
    count = max(2, number // 4)
    return [list(range(first, number, count)) for first in range(min(count, number))]


def write(score: Linear, file: Path = supersession.WEIGHTS) -> None:
    """Write a score as a data file."""
    rows = zip(score.names, score.mean, score.scale, score.weights, strict=True)
    table = {name: [round(float(v), DECIMALS) for v in values] for name, *values in rows}
    stored = {"bias": round(score.bias, DECIMALS), "features": table}
    file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


# --- the run --------------------------------------------------------------------------------------


def measure(report: Report, given: Sequence[Compared], scores: Sequence[Linear]) -> None:
    """Tell how many gold facts end, and how many of the lines that end are right."""
    likely = [
        [np.where(line.may_end, 1 / (1 + np.exp(-score(line.features))), 0) for line in each.lines]
        for each, score in zip(given, scores, strict=True)
    ]
    truth = np.hstack([line.ends for each in given for line in each.lines])
    report.note(
        f"Average precision {sentences.average_precision(_flat(likely), truth):.3f} of "
        f"{len(truth):,} pairs, {int(truth.sum())} right."
    )
    rows = []
    for level in LEVELS:
        lines, right, gold, wanted = 0, 0, 0, 0
        for each, judged in zip(given, likely, strict=True):
            found, true = set(), set()
            for line, probabilities in zip(each.lines, judged, strict=True):
                chosen = np.flatnonzero(probabilities >= level)
                found |= {line.known[n] for n in chosen}
                true |= {line.known[n] for n in chosen if line.ends[n]}
            over = [fact for fact in each.evening.facts if fact.ended_by]
            ids = {each.evening.lines[n].id for n in found}
            lines, right = lines + len(found), right + len(true)
            gold, wanted = gold + sum(bool(f.evidence & ids) for f in over), wanted + len(over)
        rows.append(
            {
                "ended from": level,
                "lines": lines,
                "precision": right / max(1, lines),
                "gold facts ended": f"{gold}/{wanted}",
            }
        )
    report.table(tuple(rows[0]), rows)


def _flat(likely: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    return np.hstack([probabilities for each in likely for probabilities in each])


def main() -> int:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    parser.add_argument("--fit", action="store_true", help="write the weights into the package")
    options = parser.parse_args()
    chosen = files(options.files)
    report = Report("benchmarks.supersession", f"{len(chosen)} evenings, folds of 4 left out")
    given = compared(chosen)
    measure(report, given, left_out(given))
    if options.fit:
        write(fit(given))
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
