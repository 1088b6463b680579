"""Whether a later line ends an earlier one, fitted on evenings and measured on others.

Each line of another than the NPC is compared with the earlier lines that the game would compare it
with (`ingest.endings`). A pair is right where a gold fact that rests on the earlier line is ended
by the later one. Evenings are left out of the fit in folds of four, and so are the kinds of
sentences that the score builds on. The evenings label the ends of gold facts alone: some pairs that
count as wrong are changes of something else.

`benchmarks/data/endings.json` is fitted on beside them: scenes of short lines in which much ends,
and long-winded talk in which hardly anything does, by authors who knew nothing of the evenings.
What the score ends in talk of other kinds, where nearly nothing ends, is counted too.

`--fit` writes the weights of all evenings into the package.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel

from contrib_ai_memory.embedding.model import EmbeddingModel, open_model
from contrib_ai_memory.english import supersession
from contrib_ai_memory.english.linear import Linear
from contrib_ai_memory.english.sentence_classifier import LABELS, Sentence, SentenceClassifier
from contrib_ai_memory.english.sentence_classifier import load as load_classifier
from contrib_ai_memory.language import BEFORE, NEAREST
from contrib_ai_memory.text.names import mentioned

from . import sentences
from .evenings_data import LEARNED, Evening, files, load
from .harness import Report, arguments
from .locomo_data import load as load_locomo

C = 0.005  # inverse L2
MOST_STEPS = 300
TOLERANCE = 1e-3
DECIMALS = 5
LEVELS = tuple(sorted({0.1, 0.2, 0.3, 0.4, 0.5, 0.6, supersession.ENDS, supersession.SURE}))
UNFAMILIAR_LEVELS = (supersession.ENDS, supersession.SURE)
MOST_LINES = 400  # of one talk of another kind
MOVES = ("arrive", "leave")
TOGETHER = 6  # scenes played as one talk
PLAYERS = ("Ada", "Brom", "Cyla", "Dorn", "Esk", "Fay", "Gil")
NPC = "Zed"
SCENES = Path(__file__).resolve().parent / "data" / "endings.json"

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


class SceneLine(BaseModel):
    """A line of a scene; `kind` is say, whisper, pose or give."""

    day: int
    who: str
    kind: str
    text: str


class Scene(BaseModel):
    """Talk of a few days; `ends` has pairs of an earlier line and the one that ends it."""

    place: str
    npc: str
    lines: tuple[SceneLine, ...]
    ends: tuple[tuple[int, int], ...]


class TalkLine(NamedTuple):
    """A line of an evening or a scene; `day` is an ISO date."""

    speaker: str
    kind: str
    text: str
    day: str


@dataclass(frozen=True, slots=True)
class Talk:
    """Lines, oldest first.

    Attributes:
        ends: Places of an earlier line and of the one that ends it.
        over: Of each fact that ends, the places of the lines that it rests on.
    """

    npc: str
    people: tuple[str, ...]
    lines: tuple[TalkLine, ...]
    ends: frozenset[tuple[int, int]]
    over: tuple[frozenset[int], ...]

    @classmethod
    def of_evening(cls, evening: Evening) -> Talk:
        place = {each.id: number for number, each in enumerate(evening.lines)}
        facts = [each for each in evening.facts if each.ended_by in place]
        return cls(
            evening.npc.name,
            tuple(each.name for each in evening.people),
            tuple(TalkLine(e.speaker, e.kind, e.text, e.time[:10]) for e in evening.lines),
            frozenset(
                (place[line], place[fact.ended_by or ""])
                for fact in facts
                for line in fact.evidence
            ),
            tuple(frozenset(place[line] for line in fact.evidence) for fact in facts),
        )

    @classmethod
    def of_scenes(cls, scenes: Sequence[Scene]) -> Talk:
        """Play scenes one after another, by the same people: the first of each is one person."""
        lines: list[TalkLine] = []
        ends: list[tuple[int, int]] = []
        day = date(2026, 1, 1)
        for scene in scenes:
            people = list(dict.fromkeys(e.who for e in scene.lines if e.who != scene.npc))
            cast = dict(zip(people, PLAYERS, strict=False)) | {scene.npc: NPC}
            called = re.compile(rf"\b(?:{'|'.join(map(re.escape, cast))})\b")
            ends += [(len(lines) + old, len(lines) + new) for old, new in scene.ends]
            lines += [
                TalkLine(
                    cast[each.who],
                    each.kind,
                    called.sub(lambda found: cast[found[0]], each.text),  # noqa: B023
                    (day + timedelta(each.day)).isoformat(),
                )
                for each in scene.lines
            ]
            day += timedelta(max(each.day for each in scene.lines) + 1)
        over = tuple(frozenset([old]) for old, _new in ends)
        return cls(NPC, PLAYERS, tuple(lines), frozenset(ends), over)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Talk whose lines are compared."""

    talk: Talk
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
        talk = Talk.of_evening(load(file))
        found.append(Compared(talk, tuple(_lines(talk, data.vectors[own], kinds[own]))))
    return found


def scenes() -> list[Compared]:
    """Compare the lines of the scenes; their kinds are judged by the shipped classifier.

    Six are played one after another by the same people: so each line has before it what is like
    its matter and not ended by it, as in a life of more than one evening.
    """
    model = open_model(None)
    classifier = load_classifier(model.name, model.dimensions)
    if classifier is None:
        raise SystemExit("The classifier of sentences is of another embedding model.")
    stored = [Scene.model_validate(each) for each in json.loads(SCENES.read_text("utf-8"))]
    step = -(-len(stored) // TOGETHER)
    talks = [Talk.of_scenes(stored[first::step]) for first in range(step)]
    return [as_heard(talk, model, classifier) for talk in talks]


def as_heard(talk: Talk, model: EmbeddingModel, classifier: SentenceClassifier) -> Compared:
    """Compare the lines of talk that is not labelled with kinds."""
    vectors = model.encode([each.text for each in talk.lines])
    kinds = classifier.probabilities(vectors, [Sentence(e.text, e.kind) for e in talk.lines])
    return Compared(talk, tuple(_lines(talk, vectors, kinds)))


def _lines(talk: Talk, vectors: np.ndarray, kinds: np.ndarray) -> Iterator[Line]:
    lines = talk.lines
    people = [talk.npc, *talk.people]
    looks = [
        supersession.Look.of(_statement(talk, number, people, kinds[number]))
        for number in range(len(lines))
    ]
    for later, before in heard_before(talk):
        line = lines[later]
        before.sort(key=lambda n: -float(vectors[n] @ vectors[later]))
        own = [n for n in before if lines[n].speaker == line.speaker]
        known = tuple(sorted({*before[:NEAREST], *own[:NEAREST]}))
        if not known:
            continue
        context = [n for n in range(max(0, later - BEFORE), later) if lines[n].day == line.day]
        olds = [looks[n] for n in known]
        columns = supersession.features(
            looks[later], vectors[later], vectors[context], olds, vectors[list(known)]
        )
        ends = np.array([(n, later) in talk.ends for n in known])
        may_end = supersession.may_change(looks[later], columns)
        yield Line(later, known, columns, ends, may_end)


def heard_before(talk: Talk) -> Iterator[tuple[int, list[int]]]:
    """Yield the place of each line that the NPC hears, and of those before it that it may end."""
    lines = talk.lines
    heard = [n for n, each in enumerate(lines) if _is_heard(each, talk)]
    for later in heard:
        told_to = _audience(lines[later])
        yield later, [n for n in heard if n < later and told_to in (None, _audience(lines[n]))]


def _is_heard(line: TalkLine, talk: Talk) -> bool:
    return line.speaker != talk.npc and line.kind not in MOVES


def _audience(line: TalkLine) -> str | None:
    return line.speaker if line.kind == "whisper" else None


def _statement(
    talk: Talk, number: int, people: Sequence[str], kinds: np.ndarray
) -> supersession.DatedStatement:
    line = talk.lines[number]
    said = line.kind in ("say", "whisper")
    return supersession.DatedStatement(
        line.text,
        line.speaker,
        said=said,
        mentions=mentioned(line.text, people) - (set() if said else {line.speaker}),
        time=line.day,
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


def left_out(given: Sequence[Compared], beside: Sequence[Compared]) -> list[Linear]:
    """For each evening, a score fitted on evenings of other folds and what is beside them."""
    found: dict[int, Linear] = {}
    for fold in folds(len(given)):
        others = [each for number, each in enumerate(given) if number not in fold]
        score = fit([*others, *beside])
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


def measure(
    report: Report, given: Sequence[Compared], likely: Sequence[Sequence[np.ndarray]]
) -> None:
    """Tell how many gold facts end, and how many of the lines that end are right."""
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
            for line, found_likely in zip(each.lines, judged, strict=True):
                chosen = np.flatnonzero(found_likely >= level)
                found |= {line.known[n] for n in chosen}
                true |= {line.known[n] for n in chosen if line.ends[n]}
            over = each.talk.over
            lines, right = lines + len(found), right + len(true)
            gold, wanted = gold + sum(bool(fact & found) for fact in over), wanted + len(over)
        rows.append(
            {
                "ended from": level,
                "lines": lines,
                "precision": right / max(1, lines),
                "gold facts ended": f"{gold}/{wanted}",
            }
        )
    report.table(tuple(rows[0]), rows)


def measure_read(
    report: Report,
    chosen: Sequence[Path],
    given: Sequence[Compared],
    likely: Sequence[Sequence[np.ndarray]],
) -> None:
    """Tell the same of the evenings that the reader has not learned from, with and without it."""
    from .pairs import ends_as_read

    unseen = [n for n, file in enumerate(chosen) if file.stem not in LEARNED]
    if not unseen:
        return
    some, before = [given[n] for n in unseen], [likely[n] for n in unseen]
    report.note(f"{len(unseen)} evenings that the reader has not seen, by the score alone:")
    measure(report, some, before)
    report.note("The same, read again by the reader:")
    read = [ends_as_read(e.talk, e.lines, old) for e, old in zip(some, before, strict=True)]
    measure(report, some, read)


def probabilities(given: Compared, score: Linear) -> list[np.ndarray]:
    """Return for each line the probability that it ends each line it is compared with."""
    return [
        np.where(line.may_end, 1 / (1 + np.exp(-score(line.features))), 0) for line in given.lines
    ]


def unfamiliar(files: Sequence[Path]) -> Iterator[tuple[str, Compared]]:
    """Compare lines of other talk: LoCoMo's (.json), or a replay's (.jsonl)."""
    model = open_model(None)
    classifier = load_classifier(model.name, model.dimensions)
    for file in files if classifier else ():
        talks: dict[str, list[TalkLine]]
        if file.suffix == ".json":
            talks = {
                talk.name: [
                    TalkLine(each.speaker, "say", each.text, each.when.date().isoformat())
                    for each in talk.turns
                ]
                for talk in load_locomo(file)
            }
        else:
            rows = map(json.loads, file.read_text("utf-8").splitlines())
            talks = {
                file.stem: [
                    TalkLine(row["speaker"], "say", row["text"], row["time"][:10])
                    for row in rows
                    if row["kind"] == "say"
                ]
            }
        for name, lines in talks.items():
            some = tuple(lines[:MOST_LINES])
            people = tuple(sorted({each.speaker for each in some}))
            talk = Talk("", people, some, frozenset(), ())
            yield name, as_heard(talk, model, classifier)


def measure_unfamiliar(report: Report, talk: Sequence[tuple[str, Compared]], score: Linear) -> None:
    """Tell how many lines would end in talk in which nearly nothing does."""
    rows = []
    for name, given in talk:
        likely = probabilities(given, score)
        row: dict[str, object] = {"talk": name, "lines": len(given.talk.lines)}
        for level in UNFAMILIAR_LEVELS:
            over = {
                line.known[n]
                for line, found in zip(given.lines, likely, strict=True)
                for n in np.flatnonzero(found >= level)
            }
            row[f"ended from {level}"] = len(over)
        rows.append(row)
    report.table(tuple(rows[0]), rows)


def _flat(likely: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    return np.hstack([probabilities for each in likely for probabilities in each])


def main() -> int:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    parser.add_argument(
        "--unfamiliar",
        type=Path,
        nargs="*",
        default=(),
        help="talk in which nearly nothing ends: LoCoMo's own format (.json), or a replay (.jsonl)",
    )
    parser.add_argument("--fit", action="store_true", help="write the weights into the package")
    options = parser.parse_args()
    chosen = files(options.files)
    report = Report("benchmarks.supersession", f"{len(chosen)} evenings, folds of 4 left out")
    given, beside = compared(chosen), scenes()
    likely = [
        probabilities(each, score)
        for each, score in zip(given, left_out(given, beside), strict=True)
    ]
    measure(report, given, likely)
    measure_read(report, chosen, given, likely)
    if options.fit or options.unfamiliar:
        score = fit([*given, *beside])
        if options.unfamiliar:
            measure_unfamiliar(report, list(unfamiliar(options.unfamiliar)), score)
        if options.fit:
            write(score)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
