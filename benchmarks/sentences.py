"""How well sentences are judged: worth and kind of the lines of recorded evenings.

Each line of an evening's file is labelled with its worth (0-3) and its kinds. The classifier of
`english.sentence_classifier` is fitted on twenty evenings and judges the four left out, six times;
its figures are beside those of the rules that judge where no classifier is. Figures count the lines
of others, unless they say otherwise.

Of a line with several sentences, those that hold the keys of a fact which rests on the line are
worth what the line is, those that hold none are worth nothing, and the rest are left out: so the
worth of single sentences is learned and measured too. Their kinds are not known.

`--train` writes the data file from all evenings, with the figures of the evenings left out in it.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from contrib_ai_memory.embedding.model import EmbeddingModel, open_model
from contrib_ai_memory.english import questions, small_talk
from contrib_ai_memory.english.addressing import confides, named
from contrib_ai_memory.english.questions import sentences_of
from contrib_ai_memory.english.sentence_classifier import (
    AGENDA,
    AGENDA_KINDS,
    CORRECTION,
    CUES,
    FILE,
    KEEP,
    KINDS,
    LABELS,
    NOISE,
    WORTHS,
    Sentence,
    SentenceClassifier,
    features,
    load,
    terms_of,
)
from contrib_ai_memory.english.stated_preferences import states_preference
from contrib_ai_memory.ingest.importance import heuristic_importance
from contrib_ai_memory.language import Named
from contrib_ai_memory.records import OF_NPC, Entry, Percept
from contrib_ai_memory.text.names import forms

from . import importance
from .harness import Bar, Report, arguments, configure_alone, progress

HERE = Path(__file__).resolve().parent / "data" / "evenings"
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data" / "evenings"
FOLDS = 6
SAID_BEFORE = 50  # earlier lines of a speaker that a line is compared with

REGULARISATION = 0.5  # weight of the errors beside that of the squared weights
ITERATIONS = 400
PART_WEIGHT = 0.5  # of a sentence of a line; at 1 lines are judged worse
HOLDS = 0.5  # share of a fact's keys from which a sentence holds it
WORD_IN = 0.5  # a word is a feature if it occurs in this share of the evenings

WORTH_BAR = 0.68  # of DESIGN §9; a language model reaches 0.86
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PRECISIONS = (0.7, 0.8, 0.9)
KEYWORDS = ("goal", "quest", "name")  # [A], the default of the settings

WORTH_COLUMNS = ("judged by", "lines", "Spearman", "of talk", "n", "P", "R", "F1")
KEEP_COLUMNS = ("worth ≥ 2 from", "judged so", "precision", "recall", "really so")
KIND_COLUMNS = ("kind", "lines", "AP", "P", "R", "F1", "rule", "rule P", "rule R", "rule F1")
PRECISE_COLUMNS = ("kind", *(f"{what} {p}" for p in PRECISIONS for what in ("from", "R at")))
THRESHOLD_COLUMNS = ("judged", "lines", "n", "P", "R", "F1")
ABLATION_COLUMNS = ("features", "mean AP", "worth ≥ 2 AP", "Spearman", "of talk")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A line of an evening or a sentence of one, its labels, and what the rules need to know.

    Attributes:
        kinds: None of a sentence, where they are not known.
    """

    sentence: Sentence
    speaker: str
    of_npc: bool
    worth: int
    kinds: tuple[str, ...] | None

    @property
    def is_talk(self) -> bool:
        return self.sentence.kind in ("say", "whisper", "pose")


@dataclass(frozen=True, eq=False)
class Data:
    """All lines with their vectors; `evening` is the number of each line's evening."""

    lines: list[Labelled]
    vectors: np.ndarray
    evening: np.ndarray
    names: list[str]

    @property
    def sentences(self) -> list[Sentence]:
        return [line.sentence for line in self.lines]

    @property
    def labels(self) -> np.ndarray:
        """Which of LABELS each line has, shape (lines, labels)."""
        return np.array(
            [
                [kind in (line.kinds or ()) for kind in KINDS]
                + [line.worth > at for at in range(3)]
                for line in self.lines
            ]
        )

    @property
    def counted(self) -> np.ndarray:
        """How much each label counts in the fit, shape (lines, labels)."""
        of_line = [1.0] * len(LABELS)
        of_part = [0.0] * len(KINDS) + [PART_WEIGHT] * len(WORTHS)
        return np.array(
            [of_part if line.sentence.part else of_line for line in self.lines], dtype=np.float32
        )

    def where(self, fits: Callable[[Labelled], bool]) -> np.ndarray:
        return np.array([fits(line) for line in self.lines])

    def part(self, where: np.ndarray) -> Data:
        lines = [line for line, wanted in zip(self.lines, where, strict=True) if wanted]
        return Data(lines, self.vectors[where], self.evening[where], self.names)


# --- the evenings ---------------------------------------------------------------------------------


def read(files: Sequence[Path], model: EmbeddingModel) -> Data:
    """The lines of evenings, embedded.

    Raises:
        SystemExit: One is no evening; says which.
    """
    lines: list[Labelled] = []
    vectors, evening = [], []
    for number, file in enumerate(progress(files, "embedding", "evening")):
        try:
            found, embedded = _lines(json.loads(file.read_text(encoding="utf-8")), model)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SystemExit(f"{file} is no evening ({type(error).__name__}: {error}).") from error
        lines += found
        vectors.append(embedded)
        evening += [number] * len(found)
    return Data(lines, np.concatenate(vectors), np.array(evening), [f.stem for f in files])


def _lines(evening: dict[str, Any], model: EmbeddingModel) -> tuple[list[Labelled], np.ndarray]:
    npc = evening["npc"]["name"]
    own_names = forms([npc, *evening["npc"]["aliases"]])
    npcs = {person["name"] for person in evening["people"] if person.get("npc")}
    vectors = model.encode([each["text"] for each in evening["lines"]])
    earlier: dict[str, list[int]] = defaultdict(list)
    found, parts, session, before = [], [], None, ""
    for number, each in enumerate(evening["lines"]):
        speaker, text, kind = each["speaker"], each["text"], each["kind"]
        said = vectors[earlier[speaker][-SAID_BEFORE:]] @ vectors[number]
        sentence = Sentence(
            text,
            kind,
            own=speaker == npc,
            named=each["to"] == npc or named(text, own_names) is not Named.NOT,
            before=before if each["session"] == session else "",
            said_before=float(said.max(initial=0.0)),
        )
        line = Labelled(sentence, speaker, speaker in npcs, each["worth"], tuple(each["kinds"]))
        found.append(line)
        session, before = each["session"], text
        if line.is_talk:
            earlier[speaker].append(number)
            keys = [fact["keys"] for fact in evening["facts"] if each["id"] in fact["evidence"]]
            parts += _parts(line, keys)
    if parts:
        vectors = np.concatenate([vectors, model.encode([each.sentence.text for each in parts])])
    return found + parts, vectors


def _parts(line: Labelled, facts: Sequence[list[list[str]]]) -> Iterable[Labelled]:
    """The sentences of a line whose worth is known, if there are several."""
    texts = sentences_of(line.sentence.text)
    held = [max((_held(text, keys) for keys in facts), default=0.0) for text in texts]
    if len(texts) < 2 or (line.worth and max(held) < HOLDS):
        return
    for text, share in zip(texts, held, strict=True):
        if line.worth == 0 or share in (0.0, max(held)):
            sentence = replace(line.sentence, text=text, part=True)
            yield replace(line, sentence=sentence, worth=line.worth * bool(share), kinds=None)


def _held(text: str, keys: list[list[str]]) -> float:
    """The share of a fact's keys that a text holds."""
    lowered = text.lower()
    return sum(any(each.lower() in lowered for each in group) for group in keys) / len(keys)


# --- the fit --------------------------------------------------------------------------------------


def fit(
    data: Data, model: EmbeddingModel, *, without: Sequence[str] = (), **about: Any
) -> SentenceClassifier:
    """Fit a classifier; the same data give the same weights.

    Args:
        without: Features to leave at 0: "vectors", "words", or cues.
        about: What is to be written into the data file.
    """
    words = common_words(data)
    kept = columns(data.vectors.shape[1], len(words), without)
    given = features(data.vectors, data.sentences, words)[:, kept]
    weights = np.zeros((len(kept), len(LABELS)), dtype=np.float32)
    weights[kept], bias = logistic(given, data.labels, data.counted)
    weights = weights.astype(np.float16).astype(np.float32)  # as it is shipped
    about |= {"model": model.name, "dimensions": model.dimensions}
    about["lines"] = int(data.where(lambda line: not line.sentence.part).sum())
    return SentenceClassifier(weights, bias, tuple(words), about)


def logistic(
    given: np.ndarray, wanted: np.ndarray, counted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a logistic regression per label, all in one descent.

    Args:
        counted: How much each label of a row counts, shape as `wanted`.

    Returns:
        The weights, shape (features, labels), and the biases, shape (labels,), both float32.
    """
    from scipy.optimize import minimize

    rows, width = given.shape
    targets = wanted.astype(np.float32)
    shape = (width + 1, targets.shape[1])
    inputs = np.hstack([given, np.ones((rows, 1), dtype=np.float32)])

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        scores = inputs @ weights.astype(np.float32)
        error = counted * (1 / (1 + np.exp(-scores)) - targets)
        slope = REGULARISATION * (inputs.T @ error).astype(np.float64)
        slope[:-1] += weights[:-1]
        missed = counted * (np.logaddexp(0, scores) - targets * scores)
        value = REGULARISATION * missed.sum(dtype=np.float64) + (weights[:-1] ** 2).sum() / 2
        return value, slope.ravel()

    options = {"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS, "ftol": 1e-7, "gtol": 1e-3}
    found = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=options)
    weights = found.x.reshape(shape).astype(np.float32)
    return weights[:-1], weights[-1]


def common_words(data: Data) -> list[str]:
    """Words and pairs of words that occur in half of the evenings: those of any game."""
    seen: dict[str, set[int]] = defaultdict(set)
    for sentence, evening in zip(data.sentences, data.evening.tolist(), strict=True):
        for term in terms_of(sentence.text):
            seen[term].add(evening)
    least = WORD_IN * len(set(data.evening.tolist()))
    return sorted(term for term, evenings in seen.items() if len(evenings) >= max(2, least))


def columns(dimensions: int, words: int, without: Sequence[str]) -> np.ndarray:
    """Which features a fit may use."""
    cues = [cue not in without for cue in CUES]
    return np.array(
        ["vectors" not in without] * dimensions + cues + ["words" not in without] * words
    )


def left_out(data: Data, model: EmbeddingModel, without: Sequence[str] = ()) -> np.ndarray:
    """The probability of each label, each evening judged by a fit on others."""
    found = np.zeros((len(data.lines), len(LABELS)))
    folds = min(FOLDS, len(data.names))
    for fold in progress(range(folds), "fitting", "fold"):
        judged = data.evening % folds == fold
        part = data.part(judged)
        found[judged] = fit(data.part(~judged), model, without=without).probabilities(
            part.vectors, part.sentences
        )
    return found


# --- the rules ------------------------------------------------------------------------------------


def heard(line: Labelled) -> Percept:
    return Percept(
        line.sentence.text,
        line.sentence.kind,
        seen_as=line.speaker,
        source=line.speaker,
        private=line.sentence.kind == "whisper",
        addressed=line.sentence.named,
        source_type="observation" if line.sentence.kind == "pose" else "direct",
        tags=(OF_NPC,) if line.of_npc else (),
    )


def when_heard(line: Labelled) -> float:
    """The importance that a line has at once."""
    return heuristic_importance(heard(line), KEYWORDS, sender_bonus=0)


def entry(line: Labelled) -> Entry:
    return heard(line).to_entry(id=1, timestamp="2026-01-01T20:00:00", importance=when_heard(line))


def after_the_night(line: Labelled) -> float:
    """The importance that the offline provider's night gives it."""
    from contrib_ai_memory.offline.offline_provider import OfflineProvider

    return OfflineProvider().score_importance([entry(line)], "")[0]


def becomes_fact(line: Labelled) -> bool:
    """Whether the offline provider draws a fact from it."""
    from contrib_ai_memory.offline.offline_provider import OfflineProvider

    return bool(OfflineProvider().extract_facts([entry(line)], ""))


RULES: dict[str, tuple[str, Callable[[Labelled], bool]]] = {
    "question": ("questions.asks", lambda line: questions.asks(line.sentence.text)),
    "chatter": ("not small_talk.tells", lambda line: not small_talk.tells(line.sentence.text)),
    "preference": ("states_preference", lambda line: states_preference(line.sentence.text)),
    "secret": (
        "whispered or confided",
        lambda line: line.sentence.kind == "whisper" or confides(line.sentence.text),
    ),
}


# --- figures --------------------------------------------------------------------------------------


def precision_recall(judged: np.ndarray, wanted: np.ndarray) -> tuple[float, float, float]:
    """Precision, recall and their harmonic mean."""
    rightly = int((judged & wanted).sum())
    precision = rightly / max(1, int(judged.sum()))
    recall = rightly / max(1, int(wanted.sum()))
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def average_precision(scores: np.ndarray, wanted: np.ndarray) -> float:
    """The mean of the precisions at each line that is wanted, best score first."""
    ranked = wanted[np.argsort(-scores, kind="stable")]
    precisions = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(precisions[ranked].mean()) if ranked.any() else 0.0


def by_evening(scores: np.ndarray, worth: np.ndarray, evening: np.ndarray) -> float:
    """Spearman's rank correlation with the worth, the mean over evenings."""
    return float(
        np.mean(
            [
                importance.spearman(scores[evening == each], worth[evening == each])
                for each in np.unique(evening)
            ]
        )
    )


def precise_from(scores: np.ndarray, wanted: np.ndarray, least: float) -> tuple[float, float]:
    """The lowest threshold whose precision is `least`, and its recall; (1, 0) if there is none."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(wanted[order])
    good = np.flatnonzero(hits / np.arange(1, len(order) + 1) >= least)
    if not len(good) or hits[good[-1]] < 3:
        return 1.0, 0.0
    return float(scores[order[good[-1]]]), float(hits[good[-1]] / wanted.sum())


def worth_rows(data: Data, found: np.ndarray) -> list[dict[str, Any]]:
    worth = np.array([line.worth for line in data.lines])
    talk = data.where(lambda line: line.is_talk)
    facts = data.where(becomes_fact)

    def row(who: str, scores: np.ndarray, keeps: np.ndarray | None) -> dict[str, Any]:
        made: dict[str, Any] = {
            "judged by": who,
            "lines": len(worth),
            "Spearman": by_evening(scores, worth, data.evening),
            "of talk": by_evening(scores[talk], worth[talk], data.evening[talk]),
        }
        if keeps is not None:
            precision, recall, both = precision_recall(keeps, worth >= 2)
            made |= {"n": int(keeps.sum()), "P": precision, "R": recall, "F1": both}
        return made

    at_once = np.array([when_heard(line) for line in data.lines])
    night = np.array([after_the_night(line) for line in data.lines])
    words = np.array([len(line.sentence.text.split()) for line in data.lines])
    keep = found[:, LABELS.index("worth 2")]
    return [
        row("the classifier, worth ≥ 2 from 0.5", found[:, -len(WORTHS) :].sum(axis=1), keep > 0.5),
        row("importance when heard", at_once, at_once >= 5),
        row("importance after a night, offline", night, night >= 5),
        row("facts of the offline provider", facts.astype(float), facts),
        row("length in words", words, words >= 10),
    ]


def keep_rows(data: Data, found: np.ndarray) -> list[dict[str, Any]]:
    """Precision and recall at thresholds, and how often it is so in the tenth above each."""
    wanted = np.array([line.worth >= 2 for line in data.lines])
    scores = found[:, LABELS.index("worth 2")]
    rows = []
    for threshold in THRESHOLDS:
        precision, recall, _ = precision_recall(scores >= threshold, wanted)
        tenth = (scores >= threshold) & (scores < threshold + 0.1)
        rows.append(
            {
                "worth ≥ 2 from": threshold,
                "judged so": int((scores >= threshold).sum()),
                "precision": precision,
                "recall": recall,
                "really so": float(wanted[tenth].mean()) if tenth.any() else None,
            }
        )
    return rows


def kind_rows(data: Data, found: np.ndarray) -> list[dict[str, Any]]:
    rows = []
    for label, kind in enumerate(KINDS):
        wanted, scores = data.labels[:, label], found[:, label]
        precision, recall, both = precision_recall(scores > 0.5, wanted)
        row: dict[str, Any] = {
            "kind": kind,
            "lines": int(wanted.sum()),
            "AP": average_precision(scores, wanted),
            "P": precision,
            "R": recall,
            "F1": both,
        }
        for least in PRECISIONS:
            threshold, reached = precise_from(scores, wanted, least)
            if reached:
                row |= {f"from {least}": threshold, f"R at {least}": reached}
        if kind in RULES:
            name, rule = RULES[kind]
            precision, recall, both = precision_recall(data.where(rule), wanted)
            row |= {"rule": name, "rule P": precision, "rule R": recall, "rule F1": both}
        rows.append(row)
    return rows


def summary(data: Data, found: np.ndarray) -> dict[str, float]:
    """What a fit comes to, in four figures."""
    worth = np.array([line.worth for line in data.lines])
    talk = data.where(lambda line: line.is_talk)
    expected = found[:, -len(WORTHS) :].sum(axis=1)
    labels = data.labels
    precisions = [average_precision(found[:, n], labels[:, n]) for n in range(len(KINDS))]
    return {
        "mean AP": float(np.mean(precisions)),
        "worth ≥ 2 AP": average_precision(found[:, LABELS.index("worth 2")], worth >= 2),
        "Spearman": by_evening(expected, worth, data.evening),
        "of talk": by_evening(expected[talk], worth[talk], data.evening[talk]),
    }


# --- the run --------------------------------------------------------------------------------------


def others(data: Data, found: np.ndarray, *, parts: bool = False) -> tuple[Data, np.ndarray]:
    """The lines that others say, or else the sentences of them."""
    where = data.where(lambda line: not line.sentence.own and line.sentence.part == parts)
    return data.part(where), found[where]


def recommended_rows(data: Data, found: np.ndarray) -> list[dict[str, Any]]:
    """Precision and recall at the thresholds that the classifier recommends."""
    labels = data.labels
    agenda = [KINDS.index(kind) for kind in AGENDA_KINDS]
    correction, (colour, keep, _) = KINDS.index("correction"), range(len(KINDS), len(LABELS))
    rows = []
    for what, judged, wanted in (
        (f"worth keeping ≥ {KEEP}", found[:, keep] >= KEEP, labels[:, keep]),
        (f"noise: worth ≥ 1 < {NOISE}", found[:, colour] < NOISE, ~labels[:, colour]),
        (
            f"agenda: {', '.join(AGENDA_KINDS)} ≥ {AGENDA}",
            1 - (1 - found[:, agenda]).prod(axis=1) >= AGENDA,
            labels[:, agenda].any(axis=1),
        ),
        (f"correction ≥ {CORRECTION}", found[:, correction] >= CORRECTION, labels[:, correction]),
    ):
        precision, recall, both = precision_recall(judged, wanted)
        row = {"judged": what, "lines": int(wanted.sum()), "n": int(judged.sum())}
        rows.append(row | {"P": precision, "R": recall, "F1": both})
    return rows


def part_rows(data: Data, found: np.ndarray) -> list[dict[str, Any]]:
    """As `keep_rows` of single sentences."""

    def row(who: str, keeps: np.ndarray) -> dict[str, Any]:
        precision, recall, both = precision_recall(keeps, wanted)
        made: dict[str, Any] = {"judged": who, "lines": int(wanted.sum()), "n": int(keeps.sum())}
        return made | {"P": precision, "R": recall, "F1": both}

    wanted = data.labels[:, LABELS.index("worth 2")]
    scores = found[:, LABELS.index("worth 2")]
    return [row(f"worth ≥ 2 from {each}", scores >= each) for each in THRESHOLDS]


def measure(report: Report, data: Data, found: np.ndarray) -> None:
    heard_of, judged = others(data, found)
    rows = worth_rows(heard_of, judged)
    report.table(WORTH_COLUMNS, rows)
    report.table(KEEP_COLUMNS, keep_rows(heard_of, judged))
    kinds = kind_rows(heard_of, judged)
    report.table(KIND_COLUMNS, kinds)
    report.table(PRECISE_COLUMNS, kinds)
    report.table(THRESHOLD_COLUMNS, recommended_rows(heard_of, judged))
    report.note("Sentences of lines:")
    report.table(THRESHOLD_COLUMNS, part_rows(*others(data, found, parts=True)))
    report.bars.append(
        Bar("Spearman with the worth", rows[0]["Spearman"], WORTH_BAR, at_least=True)
    )
    rule = max(row["Spearman"] for row in rows[1:])
    report.bars.append(Bar("beside the best rule's", rows[0]["Spearman"], rule, at_least=True))


def ablation(report: Report, data: Data, model: EmbeddingModel, found: np.ndarray) -> None:
    """The same fits without one feature each."""
    rows = [{"features": "all"} | summary(*others(data, found))]
    for feature in ("vectors", "words", *CUES):
        without = left_out(data, model, [feature])
        rows.append({"features": f"without {feature}"} | summary(*others(data, without)))
    report.table(ABLATION_COLUMNS, rows)


def transfer(report: Report, file: Path, judge: SentenceClassifier, model: EmbeddingModel) -> None:
    """The worth beside a language model's ratings of observations, alone and with the heuristic."""
    observations = importance.read(file)
    texts = [observation.text for observation in observations]
    judged = judge.judge(model.encode(texts), [Sentence(text, "note") for text in texts])
    worth = dict(zip(texts, (each.worth for each in judged), strict=True))
    rows = [importance.agreement("heuristic", importance.heuristic, observations)]
    for share in (0.25, 0.5, 0.75, 1.0):

        def blend(observation: importance.Observation, share: float = share) -> float:
            of_ten = 1 + 3 * worth[observation.text]
            return share * of_ten + (1 - share) * importance.heuristic(observation)

        rows.append(importance.agreement(f"classifier {share:.0%}", blend, observations))
    report.table(importance.COLUMNS, rows)


def show(data: Data, model: EmbeddingModel, count: int) -> None:
    """Print sentences of lines with what a fit on other evenings makes of them."""
    judged = data.evening % FOLDS == 0
    classifier = fit(data.part(~judged), model)
    split = [
        replace(line.sentence, text=text, part=True)
        for line in data.part(judged).lines
        if line.is_talk and not line.sentence.own and not line.sentence.part
        for text in sentences_of(line.sentence.text)
        if text != line.sentence.text
    ]
    chosen = np.random.default_rng(0).choice(len(split), min(count, len(split)), replace=False)
    some = [split[number] for number in sorted(chosen)]
    vectors = model.encode([each.text for each in some])
    for sentence, each in zip(some, classifier.judge(vectors, some), strict=True):
        likely = sorted(each.kinds, key=lambda kind: -each.kinds[kind])[:3]
        named_so = ", ".join(f"{kind} {each.kinds[kind]:.2f}" for kind in likely)
        print(f"{each.worth_keeping:.2f} {sentence.text} | {named_so}")


def main() -> int:
    parser = arguments("How well sentences are judged, on evenings left out of the fit.")
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    parser.add_argument("--train", action="store_true", help=f"write {FILE.name}")
    parser.add_argument("--ablation", action="store_true", help="fit without each feature too")
    parser.add_argument("--ratings", type=Path, help="observations as benchmarks.importance reads")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N sentences judged")
    options = parser.parse_args()
    configure_alone()
    files = options.files or sorted((HERE if HERE.is_dir() else BESIDE).glob("*-*.json"))
    if len(files) < 2:
        raise SystemExit("At least two evenings are needed: one is left out of the fit.")
    model = open_model(None)
    data = read(files, model)
    lines = data.where(lambda line: not line.sentence.part).sum()
    report = Report("sentences", f"{lines:,} lines of {len(files)} evenings")
    found = left_out(data, model)
    measure(report, data, found)
    if options.ablation:
        ablation(report, data, model, found)
    if options.train:
        figures = {name: round(value, 3) for name, value in summary(*others(data, found)).items()}
        fit(data, model, evenings=data.names, left_out=figures).save(FILE)
        load.cache_clear()
        report.note(f"{FILE.name}: {FILE.stat().st_size:,} bytes")
    if options.ratings:
        shipped = load(model.name, model.dimensions)
        if shipped is None:
            raise SystemExit(f"{FILE.name} is of another embedding model: use --train.")
        transfer(report, options.ratings, shipped, model)
    if options.show:
        show(data, model, options.show)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
