"""Whether a sentence asks, with its question mark and without.

    python -m benchmarks.questions            measures, authors left out of the fit in folds
    python -m benchmarks.questions --fit      writes the weights, fitted on all of them

Sentences that ask are the questions of the scenes and the paraphrases of intents; those that do not
are what people tell in the scenes. Talks and stays have both, labelled with their acts. Short ones
that are easily mistaken are in benchmarks/data/questions.txt.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from contrib_ai_memory.english import questions
from contrib_ai_memory.text.segmentation import split_sentences

from . import scenes, talks
from .evenings_score import percent
from .harness import Bar, Report, arguments
from .intents import PARAPHRASES

ASKING = ("question",)
NEITHER = ("request", "order", "joke", "insult", "preference")  # they may be put as questions
SHORT = PARAPHRASES.with_name("questions.txt")
TIMES = 4  # that each of those counts
CALLED = 6  # every so many lines once more with a name before it
NAMES = ("Mara", "hey Mara", "captain Haldane", "Bram", "so Nell", "old Hob", "oi Senna")
FOLDS = 5
STRENGTH = 1.0  # of the regularisation, inverse
LEAST_WEIGHT = 0.2  # smaller ones are not kept
DOUBT = 1.05  # how far from even: a statement taken for a question is not remembered
SEEN = 8  # sentences that have a row of words, at least
_MARKS = re.compile(r"[?!.…\s]+$")


@dataclass(frozen=True, slots=True)
class Line:
    author: str
    text: str
    asks: bool


def lines() -> Iterator[Line]:
    """Yield sentences of all authors; a question once with its mark and once without."""
    for number, line in enumerate(_labelled()):
        yield line
        bare = _MARKS.sub("", line.text)
        if bare and bare != line.text:
            yield Line(line.author, bare, line.asks)
        if number % CALLED == 0:  # by a name before it, which most of these lines have not
            who = NAMES[number % len(NAMES)]
            yield Line(line.author, f"{who} {bare[:1].lower()}{bare[1:]}", line.asks)


def _labelled() -> Iterator[Line]:
    for row in SHORT.read_text("utf-8").splitlines():
        if row[0] in "+-":
            yield from [Line("short", row[2:], row[0] == "+")] * TIMES
    for file in scenes.files():
        for scene in scenes.read(file):
            for each in scene.questions:
                yield Line(file.stem, split_sentences(each.text)[-1].strip(), True)
            for memory in scene.memories.values():
                told = [each.strip() for each in split_sentences(memory.text)]
                yield from (Line(file.stem, each, False) for each in told if "?" not in each)
    for file in talks.files():
        for line in talks.read(file):
            yield from _of_acts(file.stem, line)
    for line in talks.of_stays():
        yield from _of_acts(line.source, line)
    for number, author in enumerate(json.loads(PARAPHRASES.read_text("utf-8"))):
        for said in author.pop("NONE", ()):
            asks = bool(re.match(r"(?i)(?:wh|how|did|do|does|is|was|has)", said))
            if asks == said.endswith("?"):
                yield Line(f"intents {number}", said, asks)


def _of_acts(author: str, line: talks.Labelled) -> Iterator[Line]:
    kinds = {kind for kind, _ in line.acts}
    for kind, text in line.acts:
        if kind in ASKING:
            yield Line(author, text, True)
        elif kind not in NEITHER and "?" not in text:
            yield Line(author, text, False)
    last = line.acts[-1][0] if line.acts else ""
    if last in ASKING:
        yield Line(author, line.heard.line.text, True)
    elif kinds.isdisjoint((*ASKING, *NEITHER)) and "?" not in line.heard.line.text:
        yield Line(author, line.heard.line.text, False)


def fitted(known: Sequence[Line]) -> tuple[float, dict[str, float]]:
    """Fit bias and weights by maximum likelihood with some L2."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    counted = CountVectorizer(analyzer=questions.score.features, min_df=SEEN, binary=True)
    table = counted.fit_transform([each.text for each in known])
    model = LogisticRegression(C=STRENGTH, solver="liblinear")
    model.fit(table, [each.asks for each in known])
    weights = zip(counted.get_feature_names_out(), model.coef_[0], strict=True)
    kept = {name: round(float(w), 2) for name, w in weights if abs(w) >= LEAST_WEIGHT}
    return round(float(model.intercept_[0]) - DOUBT, 2), kept


def left_out(known: Sequence[Line]) -> np.ndarray:
    """Return a score for each line by what was fitted without its author."""
    authors = sorted({each.author for each in known})
    scores = np.zeros(len(known))
    for fold in range(FOLDS):
        out = set(authors[fold::FOLDS])
        bias, weights = fitted([each for each in known if each.author not in out])
        for place, each in enumerate(known):
            if each.author in out:
                rows = questions.score.features(each.text)
                scores[place] = bias + sum(weights.get(row, 0.0) for row in rows)
    return scores


def row(name: str, known: Sequence[Line], scores: np.ndarray) -> dict[str, Any]:
    asks, says = np.array([each.asks for each in known]), scores >= 0
    return {
        "sentences": name,
        "n": len(known),
        "asking": int(asks.sum()),
        "found": percent(says[asks]),
        "of others": percent(says[~asks]),
    }


def main() -> int:
    parser = arguments("Whether a sentence asks.")
    parser.add_argument("--fit", action="store_true", help="write the weights")
    options = parser.parse_args()
    known = [*lines()]
    scores = left_out(known)
    report = Report("benchmarks.questions", f"{len(known)} sentences")
    if options.fit:
        bias, weights = fitted(known)
        stored = {"bias": bias, "weights": dict(sorted(weights.items()))}
        questions.score.file.write_text(
            json.dumps(stored, separators=(",", ":"), ensure_ascii=False) + "\n"
        )
    marked = np.array(["?" in each.text for each in known])
    rows = []
    for name, which in (("with ?", marked), ("without", ~marked)):
        some = [each for each, chosen in zip(known, which, strict=True) if chosen]
        rows.append(row(name, some, scores[which]))
    report.table([*rows[0]], rows)
    report.bars.append(
        Bar("questions found without a mark", rows[1]["found"], 90, "%", at_least=True)
    )
    report.bars.append(Bar("statements taken for questions", rows[1]["of others"], 4, "%"))
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
