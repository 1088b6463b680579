"""How the offline provider selects answers, fitted on evenings and measured on others.

The evenings are played as in `benchmarks.evenings`; what the provider was given for each question
is kept, and two linear scores are fitted to it: which memories answer
(`offline.answer_selection`), and whether what is told holds the answer. What a later line ends is
judged as `benchmarks.supersession` fits it. Evenings are left out of the fits in folds of four; the
baseline is the order in which the recall brings them.

`--fit` writes the weights of all evenings into the package. `--plays` keeps what was played, to
fit again without playing.
"""

from __future__ import annotations

import json
import pickle
import random
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.offline import answer_selection, memory_answers, realisation
from contrib_ai_memory.offline.answer_selection import AnswerCandidate, AnswerWeights, Linear
from contrib_ai_memory.records import ReplyRequest

from . import evenings, evenings_play, fitting, supersession
from .evenings_data import NOT_ANSWERABLE, Evening, Question, files, load
from .evenings_score import is_right
from .harness import Bar, Report, arguments, game, progress
from .supersession import folds

FOLD = 4  # evenings left out at once
SHOWN = (1, 2, 3, 5)  # memories told
DECIMALS = 5
L2 = 0.03  # of the score of answers
C = {"confidence": 1.0}  # inverse L2
MOST_STEPS = 200  # of a fit
TOLERANCE = 1e-3
UNKNOWN_COUNTS = 6.0  # weight of a question without an answer in the confidence: there are few
FEW = 6  # memories of an NPC that remembers little
SEED = 7
LEVELS = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # of confidence
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

    def holds_evidence(self, told: Sequence[AnswerCandidate]) -> bool:
        ids = {each.memory.id for each in told}
        recalled = zip(self.request.recalled, self.evidence, strict=True)
        return any(evidence and each.memory.id in ids for each, evidence in recalled)


# --- data -----------------------------------------------------------------------------------------


def cases(evening: Evening, played: Any) -> list[Case]:
    """Return the questions of an evening that reached the provider."""
    asked = {each.id: each for each in evening.questions}
    found = []
    for exchange in played.exchanges:
        if exchange.request is None or not exchange.request.recalled:
            continue
        question = asked[exchange.question]
        request = memory_answers.tellable(exchange.request)
        lines = [
            {played.line_of.get(number) for number in each.memory.journal_ids}
            for each in request.recalled
        ]
        if not lines:
            continue
        evidence = np.array([bool(each & question.evidence) for each in lines])
        found.append(Case.of(question, request, evidence))
    return found


def with_fewer(given: Sequence[Case]) -> list[Case]:
    """Make, for each question, the case of an NPC that remembers little.

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
    return fewer


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


@dataclass(frozen=True, slots=True)
class Told:
    """What is told for a case, by scores that do not know its evening."""

    case: Case
    answers: Sequence[AnswerCandidate]
    told: Sequence[AnswerCandidate]
    certainty: dict[str, float]

    @classmethod
    def of(cls, case: Case, score: Linear, over: Linear) -> Told:
        answers = answer_selection.ranked(case.request, score(case.features))
        told = answer_selection.told_of(case.request, answers, over)
        return cls(case, answers, told, answer_selection.certainty(case.request, told))


def fit_confidence(given: Sequence[Told]) -> Linear:
    """Fit how likely evidence is among what is told."""
    asked = [each for each in given if each.case.question.kind != "secret_of_another"]
    return fit(
        [{name: np.array([value]) for name, value in each.certainty.items()} for each in asked],
        [np.array([each.case.holds_evidence(each.told)]) for each in asked],
        [np.array([_counts(each.case)]) for each in asked],
        C["confidence"],
    )


def _fit_score(given: Sequence[Sequence[Case]]) -> Linear:
    """Fit the score of answers listwise, over standardised features.

    One more candidate, that nothing answers, has the score 0: it is right where no evidence was
    recalled.
    """
    cases = [
        case
        for of_evening in given
        for case in of_evening
        if case.question.kind != "secret_of_another"
    ]
    names = tuple(cases[0].features)
    tables = [np.stack([case.features[name] for name in names], axis=-1) for case in cases]
    whole = np.vstack(tables)
    mean, scale = whole.mean(axis=0), whole.std(axis=0)
    scale[scale < 1e-6] = 1.0
    nothing = np.zeros(len(names) + 1)
    lists = [
        fitting.Case(
            np.vstack(
                [np.pad((table - mean) / scale, ((0, 0), (0, 1)), constant_values=1), nothing]
            ),
            np.append(case.evidence, not case.evidence.any()),
        )
        for table, case in zip(tables, cases, strict=True)
    ]
    weights = fitting.listwise(lists, nothing, L2)
    return Linear(names, mean, scale, weights[:-1], float(weights[-1]))


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


def measure(each: Told, confidence: Linear) -> Verdict:
    case = each.case
    order = {item.memory.id: place for place, item in enumerate(case.request.recalled)}
    ranked = [order[answer.memory.id] for answer in each.answers]
    weights = AnswerWeights(confidence, confidence)
    return Verdict(
        case.question.kind,
        tuple(_share(case, ranked[:count]) for count in SHOWN),
        tuple(_share(case, range(count)) for count in SHOWN),
        _is_right(case, each.told),
        answer_selection.confidence(case.request, each.told, weights),
        len(each.told),
    )


def _share(case: Case, places: Collection[int]) -> float:
    places = [place for place in places if place < len(case.evidence)]
    return float(case.evidence[places].sum()) / max(1, len(case.question.evidence))


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
    parser.add_argument("--plays", type=Path, metavar="FOLDER", help="keep the plays, or use them")
    parser.add_argument("--jobs", type=int, default=evenings.JOBS, metavar="N", help="processes")
    options = parser.parse_args()
    chosen = files(options.files)
    loaded = [load(file) for file in chosen]
    played = plays(chosen, options.jobs, options.plays)
    report = Report("benchmarks.answers", f"{len(chosen)} evenings, folds of {FOLD} left out")
    with game():
        _keep_embeddings()
        given = [cases(each, played[file]) for file, each in zip(chosen, loaded, strict=True)]
        over = supersession.left_out(supersession.compared(chosen), supersession.scenes())
        _measure_and_fit(report, given, over, write=options.fit)
    return report.finish(options.json)


def plays(chosen: Sequence[Path], jobs: int, kept: Path | None) -> dict[Path, Any]:
    """Play evenings, or read those that were kept before."""
    if kept is None:
        return dict(evenings.played_all(chosen, {}, jobs))
    kept.mkdir(parents=True, exist_ok=True)
    places = {file: kept / f"{file.stem}.pickle" for file in chosen}
    if missing := [file for file, place in places.items() if not place.exists()]:
        for file, played in evenings.played_all(missing, {}, jobs):
            places[file].write_bytes(pickle.dumps(played))
    return {file: pickle.loads(place.read_bytes()) for file, place in places.items()}


def _keep_embeddings() -> None:
    """Use the embeddings of stored texts that the plays left."""
    from contrib_ai_memory import conf

    place = conf.directory()
    place.mkdir(parents=True, exist_ok=True)
    (place / embedder.CACHE_FILE).symlink_to(evenings_play.embeddings())


def _measure_and_fit(
    report: Report, given: Sequence[Sequence[Case]], over: Sequence[Linear], *, write: bool
) -> None:
    def score_without(places: Collection[int]) -> Linear:
        return _fit_score([each for place, each in enumerate(whole) if place not in places])

    fewer = [with_fewer(each) for each in given]
    whole = [[*each, *few] for each, few in zip(given, fewer, strict=True)]
    told: dict[int, list[Told]] = {}
    few: dict[int, list[Told]] = {}
    for fold in progress(folds(len(given)), "fitting", "fold"):
        score = score_without(fold)
        for place in fold:
            told[place] = [Told.of(case, score, over[place]) for case in given[place]]
            few[place] = [Told.of(case, score, over[place]) for case in fewer[place]]

    def confidence_without(places: Collection[int]) -> Linear:
        rest = [place for place in told if place not in places]
        return fit_confidence([each for place in rest for each in told[place] + few[place]])

    verdicts: list[Verdict] = []
    for fold in folds(len(given)):
        confidence = confidence_without(fold)
        verdicts += [measure(each, confidence) for place in fold for each in told[place]]
    _tell(report, verdicts)
    if write:
        fitted = {
            "score": _stored(score_without(())),
            "confidence": _stored(confidence_without(())),
        }
        _write(answer_selection.WEIGHTS, fitted)


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
        report.table(
            ("doubted below", "unknown", "wrong", "right"),
            [
                {
                    "doubted below": level,
                    "unknown": 100 * fmean(each <= level for each in unknown),
                    "wrong": 100 * fmean(e.sure <= level for e in answerable if not e.right),
                    "right": 100 * fmean(e.sure <= level for e in answerable if e.right),
                }
                for level in LEVELS
            ],
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
