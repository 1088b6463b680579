"""How the offline provider selects answers, fitted on evenings and measured on others.

The evenings are played as in `benchmarks.evenings`; what the provider was given for each question
is kept, and two linear scores are fitted to it: which memories answer (`llm.answer_selection`), and
whether what is told holds the answer. What a later line ends is judged as `benchmarks.supersession`
fits it. Evenings are left out of the fits in folds of four; the baseline is the order in which the
recall brings them.

`--fit` writes the weights of all evenings into the package.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from contrib_ai_memory.llm import answer_selection, realisation
from contrib_ai_memory.llm.answer_selection import AnswerCandidate, AnswerWeights, Linear
from contrib_ai_memory.records import ReplyRequest

from . import evenings, supersession
from .evenings_data import NOT_ANSWERABLE, Evening, Question, files, is_right, load
from .harness import Bar, Report, arguments, game
from .supersession import folds

FOLD = 4  # evenings left out at once
SHOWN = (1, 2, 3, 5)  # memories told
DECIMALS = 5
C = {"alone": 1.0, "among": 1.0, "confidence": 1.0}  # inverse L2
MOST_STEPS = 200  # of a fit
TOLERANCE = 1e-3
UNKNOWN_COUNTS = 3.0  # weight of a question without an answer: there are few
FEW = 6  # memories of an NPC that remembers little
SEED = 7
DOUBTED = 0.9  # of the questions without an answer that are to be answered with a doubt

Features = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Case:
    """A question with what the provider was given, and which of it is evidence."""

    question: Question
    request: ReplyRequest
    evidence: np.ndarray
    features: Features

    @classmethod
    def of(cls, question: Question, request: ReplyRequest, evidence: np.ndarray) -> Case:
        return cls(question, request, evidence, answer_selection.features(request))

    def among(self, alone: Linear) -> Features:
        """Return the features of the second score."""
        scores = alone(self.features)
        return self.features | answer_selection.around(
            self.request.recalled, scores, self.features["asks"]
        )


# --- data -----------------------------------------------------------------------------------------


def cases(evening: Evening, played: Any) -> list[Case]:
    """Return the questions of an evening that reached the provider."""
    asked = {each.id: each for each in evening.questions}
    found = []
    for exchange in played.exchanges:
        if exchange.request is None or not exchange.request.recalled:
            continue
        question = asked[exchange.question]
        request = _telling(exchange.request)
        lines = [
            {played.line_of.get(number) for number in each.memory.journal_ids}
            for each in request.recalled
        ]
        evidence = np.array([bool(each & question.evidence) for each in lines])
        found.append(Case.of(question, request, evidence))
    return found


def with_fewer(given: Sequence[Case]) -> list[Case]:
    """Add, for each question, the case of an NPC that remembers little.

    A few of its memories are drawn, with the evidence or without it.
    """
    draw = random.Random(SEED)
    fewer = []
    for case in given:
        count = draw.randint(1, FEW)
        places = [p for p in range(len(case.evidence)) if not case.evidence[p]]
        chosen = draw.sample(places, min(count, len(places)))
        if draw.random() < 0.5:
            chosen += np.flatnonzero(case.evidence).tolist()
        if not chosen:
            continue
        chosen.sort()
        recalled = tuple(case.request.recalled[place] for place in chosen)
        request = replace(case.request, recalled=recalled)
        fewer.append(Case.of(case.question, request, case.evidence[chosen]))
    return [*given, *fewer]


def _telling(request: ReplyRequest) -> ReplyRequest:
    """Leave out what the provider never tells."""
    from contrib_ai_memory.llm.offline_reply import may_tell

    return replace(request, recalled=tuple(each for each in request.recalled if may_tell(each)))


# --- fitting --------------------------------------------------------------------------------------


def fit(
    features: Sequence[Features],
    labels: Sequence[np.ndarray],
    weights: Sequence[np.ndarray] | None = None,
    c: float = 1.0,
) -> Linear:
    """Fit a logistic regression with L2 over standardised features."""
    from sklearn.linear_model import LogisticRegression

    names = tuple(features[0])
    table = np.vstack([np.stack([np.atleast_1d(f[n]) for n in names], axis=-1) for f in features])
    mean, scale = table.mean(axis=0), table.std(axis=0)
    scale[scale < 1e-6] = 1.0
    fitted = LogisticRegression(C=c, max_iter=MOST_STEPS, tol=TOLERANCE).fit(
        (table - mean) / scale,
        np.hstack(labels),
        sample_weight=None if weights is None else np.hstack(weights),
    )
    return Linear(names, mean, scale, fitted.coef_[0], float(fitted.intercept_[0]))


def fit_selection(given: Sequence[Sequence[Case]], over: Sequence[Linear]) -> AnswerWeights:
    """Fit which memories answer, and how surely.

    The second score and the confidence are fitted on scores of evenings left out of the first.

    Args:
        given: The cases of each evening.
        over: The score of supersession to use for each evening.
    """
    alone = [[case.features for case in cases] for cases in given]
    first = _left_out(alone, given)
    among = [
        [case.among(score) for case in cases] for cases, score in zip(given, first, strict=True)
    ]
    second = _left_out(among, given)
    certain, right, counts = [], [], []
    for features, cases, score, ending in zip(among, given, second, over, strict=True):
        for f, case in zip(features, cases, strict=True):
            if case.question.kind == "secret_of_another":
                continue
            told = answer_selection.told_of(case.request, _ranked(case, score(f)), ending)
            row = answer_selection.certainty(case.request, told)
            certain.append({name: np.array([value]) for name, value in row.items()})
            right.append(np.array([_is_right(case, told)]))
            counts.append(np.array([_counts(case)]))
    return AnswerWeights(
        _fit_on(alone, given, C["alone"]),
        _fit_on(among, given, C["among"]),
        fit(certain, right, counts, C["confidence"]),
    )


def _left_out(
    features: Sequence[Sequence[Features]], given: Sequence[Sequence[Case]]
) -> list[Linear]:
    """For each evening, a score fitted on the others."""
    found: list[Linear] = [None] * len(given)  # type: ignore[list-item]
    for fold in folds(len(given)):
        rest = [place for place in range(len(given)) if place not in fold]
        score = _fit_on([features[p] for p in rest], [given[p] for p in rest], C["alone"])
        for place in fold:
            found[place] = score
    return found


def _fit_on(
    features: Sequence[Sequence[Features]], given: Sequence[Sequence[Case]], c: float
) -> Linear:
    chosen = [
        (f, case.evidence)
        for evening, cases in zip(features, given, strict=True)
        for f, case in zip(evening, cases, strict=True)
        if case.evidence.any()
    ]
    return fit(
        [f for f, _ in chosen],
        [evidence for _, evidence in chosen],
        [np.where(each, 10 / each.sum(), 1.0) for _, each in chosen],
        c,
    )


def _counts(case: Case) -> float:
    return UNKNOWN_COUNTS if case.question.kind == "unknown" else 1.0


# --- measuring ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """A question answered with weights that do not know its evening."""

    kind: str
    evidence: tuple[float, ...]  # share of it among the best of `SHOWN`
    baseline: tuple[float, ...]
    right: bool
    sure: float
    told: int


def measure(case: Case, weights: AnswerWeights, over: Linear) -> Verdict:
    answers = answer_selection.select(case.request, weights)
    told = answer_selection.told_of(case.request, answers, over)
    order = {each.memory.id: place for place, each in enumerate(case.request.recalled)}
    ranked = [order[each.memory.id] for each in answers]
    return Verdict(
        case.question.kind,
        tuple(_share(case, ranked[:count]) for count in SHOWN),
        tuple(_share(case, range(count)) for count in SHOWN),
        _is_right(case, told),
        answer_selection.confidence(case.request, told, weights),
        len(told),
    )


def _share(case: Case, places: Collection[int]) -> float:
    places = [place for place in places if place < len(case.evidence)]
    return float(case.evidence[places].sum()) / max(1, len(case.question.evidence))


def _ranked(case: Case, scores: np.ndarray) -> list[AnswerCandidate]:
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return [
        AnswerCandidate(case.request.recalled[place].memory, float(scores[place]))
        for place in order
    ]


def _is_right(case: Case, told: Sequence[AnswerCandidate]) -> bool:
    """Whether what is told holds the answer."""
    if case.question.kind in NOT_ANSWERABLE:
        return False
    said = realisation.tell_all((each.memory for each in told), case.request, by_date=True)
    return is_right(case.question, said)


# --- the run --------------------------------------------------------------------------------------


def main() -> int:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    parser.add_argument("--fit", action="store_true", help="write the weights into the package")
    parser.add_argument("--jobs", type=int, default=evenings.JOBS, metavar="N", help="processes")
    options = parser.parse_args()
    chosen = files(options.files)
    loaded = [load(file) for file in chosen]
    played = dict(evenings.played_all(chosen, {}, options.jobs))
    report = Report("benchmarks.answers", f"{len(chosen)} evenings, folds of {FOLD} left out")
    with game():
        given = [cases(each, played[file]) for file, each in zip(chosen, loaded, strict=True)]
        over = supersession.left_out(supersession.compared(chosen))
        _measure_and_fit(report, given, over, write=options.fit)
    return report.finish(options.json)


def _measure_and_fit(
    report: Report, given: Sequence[Sequence[Case]], over: Sequence[Linear], *, write: bool
) -> None:
    fewer = [with_fewer(each) for each in given]
    verdicts: list[Verdict] = []
    for fold in folds(len(given)):
        rest = [place for place in range(len(given)) if place not in fold]
        weights = fit_selection([fewer[p] for p in rest], [over[p] for p in rest])
        verdicts += [measure(case, weights, over[p]) for p in fold for case in given[p]]
    _tell(report, verdicts)
    if write:
        weights = fit_selection(fewer, over)
        _write(
            answer_selection.WEIGHTS,
            {name: _stored(getattr(weights, name)) for name in ("alone", "among", "confidence")},
        )


def _tell(report: Report, verdicts: Sequence[Verdict]) -> None:
    by_kind: dict[str, list[Verdict]] = defaultdict(list)
    for each in verdicts:
        by_kind[each.kind].append(each)
    answerable = [each for each in verdicts if each.kind not in NOT_ANSWERABLE]
    rows = [
        _row(kind, each) for kind, each in sorted(by_kind.items()) if kind not in NOT_ANSWERABLE
    ]
    columns = ("kind", "n", *(f"@{n}" for n in SHOWN), *(f"recall @{n}" for n in SHOWN), "right")
    report.table(columns, [*rows, _row("all", answerable)])
    unknown = [each.sure for each in verdicts if each.kind == "unknown"]
    if unknown:
        threshold = float(np.quantile(unknown, DOUBTED))
        doubted = fmean(each.sure <= threshold for each in answerable)
        sure = [each.right for each in answerable if each.sure > threshold]
        report.note(
            f"A confidence of {threshold:.2f} doubts {DOUBTED:.0%} of the questions without an "
            f"answer, and {doubted:.0%} of the others; of those told without a doubt "
            f"{fmean(sure or [0]):.0%} hold the answer. {fmean(e.told for e in answerable):.1f} "
            "memories told."
        )
    right = 100 * fmean(each.right for each in answerable)
    report.bars.append(Bar("told holds the answer", right, 60, "%", at_least=True))


def _row(kind: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": kind, "n": len(verdicts)}
    for place, count in enumerate(SHOWN):
        row[f"@{count}"] = 100 * fmean(each.evidence[place] for each in verdicts)
        row[f"recall @{count}"] = 100 * fmean(each.baseline[place] for each in verdicts)
    row["right"] = 100 * fmean(each.right for each in verdicts)
    return row


def _stored(score: Linear) -> dict[str, Any]:
    rows = zip(score.names, score.mean, score.scale, score.weights, strict=True)
    table = {name: [round(float(v), DECIMALS) for v in values] for name, *values in rows}
    return {"bias": round(score.bias, DECIMALS), "features": table}


def _write(file: Path, stored: dict[str, Any]) -> None:
    file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
