"""How well it is understood what a line wants.

`benchmarks/data/intents.json` has paraphrases of each intent by three authors who knew nothing of
each other's, as players might type them, and a fourth list of the usual forms: "{X}" for a name,
and under NONE what is like them and none. Against them stand the questions of the evenings that ask
for something to be remembered, too, and lines that tell something. The classifier is fitted without
one author and a third of the evenings, and judges those, three times; the usual forms are always
learned.

`--fit` writes the data file from all of them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contrib_ai_memory.embedding.model import EmbeddingModel, open_model
from contrib_ai_memory.english.addressing import without_address
from contrib_ai_memory.english.questions import asks_of_a_thing, asks_of_a_whole
from contrib_ai_memory.english.small_talk import courtesy_of
from contrib_ai_memory.offline.intents import (
    FILE,
    LIKELY,
    NONE,
    SOMEBODY,
    SURE,
    SURELY,
    IntentClassifier,
    masked,
)
from contrib_ai_memory.text.names import forms

from .evenings_data import files, load
from .harness import Report, arguments

PARAPHRASES = Path(__file__).resolve().parent / "data" / "intents.json"
INVERSE_L2 = 30.0
THRESHOLDS = (0.3, LIKELY, SURE, SURELY)
AUTHORS = 3  # left out in turn; the usual forms stand behind them
USUAL = 3.0  # how much a usual form counts
COLUMNS = ("from", "paraphrases known, %", "of them right, %", "false: questions, %", "lines, %")


@dataclass(frozen=True, eq=False)
class Data:
    """Texts, the class of each, whether it is a question, and the fold that it is left out in."""

    texts: list[str]
    classes: np.ndarray
    question: np.ndarray
    fold: np.ndarray


def data() -> Data:
    """Read the paraphrases, and what the evenings have against them."""
    texts, classes, question, fold = [], [], [], []
    authors = json.loads(PARAPHRASES.read_text("utf-8"))
    for number, paraphrases in enumerate(authors):
        for intent, said in paraphrases.items():
            texts += [each.replace("{X}", SOMEBODY) for each in said]
            classes += [intent] * len(said)
            question += [True] * len(said)
            fold += [number] * len(said)
    known = {text.lower() for text in texts}
    for number, file in enumerate(files([])):
        evening = load(file)
        own = forms([evening.npc.name, *evening.npc.aliases])
        people = [form for person in evening.people for form in forms([person.name])]
        asked = [(each.text, True) for each in evening.questions]
        told = [
            (each.text, False)
            for each in evening.lines
            if each.kind in ("say", "whisper") and each.worth
        ]
        for text, asks in (*asked, *told):
            said = masked(without_address(text, own), people)
            portrait = asks_of_a_whole(said.lower()) and not asks_of_a_thing(said.lower())
            if said and not (said.lower() in known or courtesy_of(said) or portrait):
                texts.append(said)
                classes.append(NONE)
                question.append(asks)
                fold.append(number % AUTHORS)
    return Data(texts, np.array(classes), np.array(question), np.array(fold))


def fitted(vectors: np.ndarray, classes: np.ndarray, fold: np.ndarray) -> IntentClassifier:
    """Fit the classifier by maximum likelihood with a little L2."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=INVERSE_L2, max_iter=500)
    model.fit(vectors, classes, np.where(fold == AUTHORS, USUAL, 1.0))
    return IntentClassifier(tuple(model.classes_), model.coef_.T, model.intercept_)


def left_out(vectors: np.ndarray, found: Data) -> list[tuple[str, float]]:
    """Judge each text by a classifier that was fitted without its author or evening."""
    judged: list[tuple[str, float]] = [("", 0.0)] * len(found.texts)
    for fold in range(AUTHORS):
        known = found.fold != fold
        classifier = fitted(vectors[known], found.classes[known], found.fold[known])
        for place in np.flatnonzero(~known):
            intent, probability = classifier.judge(vectors[place])
            judged[place] = (intent.name if intent else NONE, probability)
    return judged


def vectors_of(model: EmbeddingModel, texts: list[str]) -> np.ndarray:
    return np.concatenate([model.encode(texts[at : at + 200]) for at in range(0, len(texts), 200)])


def main() -> int:
    parser = arguments("How well it is understood what a line wants.")
    parser.add_argument("--fit", action="store_true", help=f"write {FILE.name}")
    options = parser.parse_args()
    report = Report("intents", "what a line wants, paraphrases left out of the fit")
    model = open_model(None)
    found = data()
    vectors = vectors_of(model, found.texts)
    judged = left_out(vectors, found)
    named = np.array([name for name, _ in judged])
    sure = np.array([probability for _, probability in judged])
    judges = found.fold < AUTHORS
    wanted = judges & (found.classes != NONE)
    against = judges & (found.classes == NONE)
    rows = []
    for least in THRESHOLDS:
        known = (named != NONE) & (sure >= least)
        right = (named == found.classes)[wanted & known].mean()
        rows.append(
            dict(
                zip(
                    COLUMNS,
                    (
                        least,
                        100 * (known & (named == found.classes))[wanted].mean(),
                        100 * right,
                        100 * known[against & found.question].mean(),
                        100 * known[against & ~found.question].mean(),
                    ),
                    strict=True,
                )
            )
        )
    report.table(COLUMNS, rows)
    report.note(
        f"{wanted.sum()} paraphrases of {len(set(found.classes)) - 1} intents, "
        f"{(against & found.question).sum()} questions and {(against & ~found.question).sum()} "
        "lines against them."
    )
    if options.fit:
        fitted(vectors, found.classes, found.fold).save(FILE, model.name)
        report.note(f"Written: {FILE.name}, {FILE.stat().st_size:,} bytes.")
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
