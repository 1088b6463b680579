"""Whether a line said aloud asks for confidence: by the rules, by what was learned, by both.

    python -m benchmarks.confidences            measures, each author's talks left out of the fit
    python -m benchmarks.confidences --fit      writes the weights, fitted on all talks

Talks are those of benchmarks/data/talks, whose authors label each line with its acts. The lines of
the stays, of which nothing is learned here, are judged by the weights that are shipped.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contrib_ai_memory.english import addressing

from .evenings_data import load, stay_files
from .harness import Bar, Report, arguments

TALKS = Path(__file__).parent / "data" / "talks"
SILENCE = 0.997  # share of other lines that are to be left alone
STRENGTH = 0.3  # of the regularisation, inverse
LEAST_WEIGHT = 0.02  # smaller ones are not kept
SEEN = 2  # lines that have a row of words, at least
_LINE = re.compile(r"(?P<who>.+?)(?P<to> whispers.*?)?> (?P<said>[^|]+)\|\| [+-] \|\| (?P<acts>.+)")


@dataclass(frozen=True, slots=True)
class Line:
    author: str
    text: str
    secret: bool
    aloud: bool


def lines() -> Iterator[Line]:
    """Yield the labelled lines of all talks."""
    for file in sorted(TALKS.glob("*.txt")):
        for found in map(_LINE.match, file.read_text("utf-8").splitlines()):
            if found:
                acts = {each.partition(":")[0].strip() for each in found["acts"].split(" | ")}
                yield Line(file.stem, found["said"].strip(), "secret" in acts, not found["to"])


def of_stays() -> Iterator[Line]:
    """Yield the lines of others that are said aloud in the stays."""
    for file in stay_files():
        for line in load(file).lines:
            if line.acts:
                secret = any(each.act == "secret" for each in line.acts)
                yield Line(file.stem, line.text, secret, line.kind != "whisper")


def fitted(known: Sequence[Line]) -> tuple[float, dict[str, float]]:
    """Fit bias and weights by maximum likelihood with some L2; both kinds of lines weigh alike."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    counted = CountVectorizer(analyzer=addressing.confidence.features, min_df=SEEN, binary=True)
    table = counted.fit_transform([each.text for each in known])
    model = LogisticRegression(C=STRENGTH, class_weight="balanced", solver="liblinear")
    model.fit(table, [each.secret for each in known])
    weights = zip(counted.get_feature_names_out(), model.coef_[0], strict=True)
    kept = {name: round(float(w), 3) for name, w in weights if abs(w) >= LEAST_WEIGHT}
    return float(model.intercept_[0]), kept


def score(text: str, bias: float, weights: dict[str, float]) -> float:
    return bias + sum(weights.get(each, 0.0) for each in addressing.confidence.features(text))


def left_out(known: Sequence[Line]) -> np.ndarray:
    """Return a score for each line by what was fitted without its author."""
    scores = np.zeros(len(known))
    for author in sorted({each.author for each in known}):
        model = fitted([each for each in known if each.author != author])
        for place, each in enumerate(known):
            if each.author == author:
                scores[place] = score(each.text, *model)
    return scores


def row(name: str, judged: Sequence[tuple[Line, bool]]) -> dict[str, Any]:
    secret = [found for line, found in judged if line.secret]
    other = [found for line, found in judged if not line.secret]
    return {
        "judged by": name,
        "secrets aloud": len(secret),
        "found": 100 * float(np.mean(secret)),
        "of others": 100 * float(np.mean(other)),
    }


def main() -> int:
    parser = arguments("Whether a line asks for confidence.")
    parser.add_argument("--fit", action="store_true", help="write the weights")
    options = parser.parse_args()
    known = [*lines()]
    scores = left_out(known)
    aloud = np.array([each.aloud for each in known])
    secret = np.array([each.secret for each in known])
    least = float(np.quantile(scores[aloud & ~secret], SILENCE))
    report = Report("benchmarks.confidences", f"{len(known)} lines of talks")
    if options.fit:
        bias, weights = fitted(known)
        stored = {"bias": round(bias - least, 3), "weights": dict(sorted(weights.items()))}
        addressing.confidence.file.write_text(
            json.dumps(stored, indent=0, ensure_ascii=False) + "\n"
        )
    told = [(each, each.text) for each in known if each.aloud]
    by_rule = [addressing.asks_in_known_words(text) for _, text in told]
    learned = [bool(each) for each in scores[aloud] >= least]
    both = [one or other for one, other in zip(by_rule, learned, strict=True)]
    talks = [
        row(name, [(line, found) for (line, _), found in zip(told, judged, strict=True)])
        for name, judged in (("rules", by_rule), ("learned", learned), ("both", both))
    ]
    report.table([*talks[0]], talks)
    stays = [each for each in of_stays() if each.aloud]
    kinds = {"rules": addressing.asks_in_known_words, "both": addressing.confides}
    told_there = [row(name, [(e, f(e.text)) for e in stays]) for name, f in kinds.items()]
    report.note("In the stays:")
    report.table([*told_there[0]], told_there)
    report.bars.append(Bar("secrets found", talks[2]["found"], 25, "%", at_least=True))
    report.bars.append(Bar("other lines taken for secrets", talks[2]["of others"], 0.5, "%"))
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
