"""How often the offline classifier of emotions is right, beside chance and beside common words.

The sentences are those of `tests/emotion_sentences.py`: four for each of the 24 labels of
Plutchik's wheel, as characters would say them. The classifier was made by the first two of each;
the last two are held out. Each is classified as it was said, and as the experience tells it that
the offline provider makes of it.

A label is right if it is the one that the sentence was written for, a family (one of the wheel's
eight spokes) if that label is in it. Of two sentences a label nothing is to be concluded for the
label by itself: its rows are there to see what is taken for what.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Bar, Report, arguments, game

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from emotion_sentences import DEVELOPMENT, HELD_OUT, SENTENCES

Guess = tuple[str, ...]  # the likeliest first
Classifier = Callable[[list[str]], list[Guess]]

PARTS = {"development": DEVELOPMENT, "held out": HELD_OUT}
BAR = 0.60  # of the held-out sentences the family is one of three; three at random: 0.34
NAMED = 3  # labels of one experience [B]

COLUMNS = (
    "sentences",
    "classified by",
    "n",
    "label first",
    "label in 3",
    "family first",
    "family in 3",
)
BY_FAMILY = ("family", "part", "n", "label first", "label in 3", "family first", "family in 3")
BY_LABEL = ("label", "development", "held out", "held-out sentences are taken for")

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, the label that it was written for, and whether it is held out or not."""

    text: str
    label: str
    part: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence and what it was taken for."""

    sentence: Sentence
    guess: Guess


def sentences() -> list[Sentence]:
    return [
        Sentence(text, label, part)
        for part, which in PARTS.items()
        for label, texts in SENTENCES.items()
        for text in texts[which]
    ]


# --- those who classify ---------------------------------------------------------------------------


def ours(texts: list[str]) -> list[Guess]:
    from contrib_ai_memory.embedding import emotions

    return emotions.classify(texts)


def one_line_a_label(texts: list[str]) -> list[Guess]:
    """The nearest three, were there one prototype for each label."""
    from contrib_ai_memory.embedding import embedder, emotions

    words = embedder.shared()
    prototypes = words.encode([emotions.PROTOTYPES[label][0] for label in emotions.LABELS])
    nearest = np.argsort(-(words.encode(texts) @ prototypes.T), axis=1, kind="stable")
    return [tuple(emotions.LABELS[index] for index in row[:NAMED]) for row in nearest]


def common_words(texts: list[str]) -> list[Guess]:
    """Labels whose prototypes share words with the text, rare words first; maybe none."""
    from contrib_ai_memory.embedding import emotions

    of_label = {label: _words(" ".join(emotions.PROTOTYPES[label])) for label in emotions.LABELS}
    used_by = Counter(word for words in of_label.values() for word in words)
    guesses = []
    for text in texts:
        said = _words(text)
        worth = {
            label: sum(math.log(len(of_label) / used_by[word]) for word in said & words)
            for label, words in of_label.items()
        }
        best = sorted((label for label in worth if worth[label] > 0), key=lambda one: -worth[one])
        guesses.append(tuple(best[:NAMED]))
    return guesses


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def as_experience(text: str) -> str:
    """A sentence as the offline provider's experience tells it: in the third person, or quoted."""
    from contrib_ai_memory.english.questions import sentences_of
    from contrib_ai_memory.offline import reported_lines
    from contrib_ai_memory.records import Entry, now_iso

    entry = Entry(1, now_iso(), text, "say", seen_as="Alice")
    told = sentences_of(text)[:2]
    return " ".join(reported_lines.reported(sentence, entry) for sentence in told)


# --- how often they are right ---------------------------------------------------------------------


def accuracy(judged: Sequence[Judged]) -> dict[str, Any]:
    """The four shares that are right, and of how many sentences."""
    return {
        "n": len(judged),
        "label first": _share(each.sentence.label in each.guess[:1] for each in judged),
        "label in 3": _share(each.sentence.label in each.guess for each in judged),
        "family first": _share(_right_family(each.sentence, each.guess[:1]) for each in judged),
        "family in 3": _share(_right_family(each.sentence, each.guess) for each in judged),
    }


def chance() -> dict[str, float]:
    """Three different labels drawn at random."""
    labels, families = len(SENTENCES), len(SENTENCES) / 3
    none_of_family = math.comb(labels - 3, NAMED) / math.comb(labels, NAMED)
    return {
        "label first": 1 / labels,
        "label in 3": NAMED / labels,
        "family first": 1 / families,
        "family in 3": 1 - none_of_family,
    }


def _share(right: Any) -> float:
    return float(np.mean([bool(each) for each in right]))


def _right_family(sentence: Sentence, guess: Guess) -> bool:
    return any(_family(label) == _family(sentence.label) for label in guess)


def _family(label: str) -> str:
    """A family goes by its middle shade: joy, trust, fear …"""
    from contrib_ai_memory.embedding import emotions

    return next(family[1] for family in emotions.FAMILIES if label in family)


# --- the run --------------------------------------------------------------------------------------


def measure(report: Report) -> float:
    """Print the tables. Returns the share of held-out sentences with the family among three."""
    asked = sentences()
    texts = [sentence.text for sentence in asked]
    told = [as_experience(text) for text in texts]
    guesses = {
        "common words": common_words(texts),
        "one prototype a label": one_line_a_label(texts),
        "the classifier": ours(texts),
        "one prototype a label, of the experience": one_line_a_label(told),
        "the classifier, of the experience": ours(told),
    }
    judged = {
        who: [Judged(*pair) for pair in zip(asked, guessed, strict=True)]
        for who, guessed in guesses.items()
    }
    rows = []
    for part in PARTS:
        rows.append({"sentences": part, "classified by": "chance"} | chance())
        rows += [
            {"sentences": part, "classified by": who} | accuracy(_of_part(each, part))
            for who, each in judged.items()
        ]
    report.table(COLUMNS, rows)
    mine = judged["the classifier"]
    report.table(BY_FAMILY, list(by_family(mine)))
    report.table(BY_LABEL, list(by_label(mine)))
    return accuracy(_of_part(mine, "held out"))["family in 3"]


def by_family(judged: Sequence[Judged]) -> Any:
    for family in dict.fromkeys(map(_family, SENTENCES)):
        for part in PARTS:
            some = [
                each for each in _of_part(judged, part) if _family(each.sentence.label) == family
            ]
            yield {"family": family, "part": part} | accuracy(some)


def by_label(judged: Sequence[Judged]) -> Any:
    for label in SENTENCES:
        own = [each for each in judged if each.sentence.label == label]
        row: dict[str, Any] = {"label": label}
        for part in PARTS:
            found = accuracy(_of_part(own, part))
            row[part] = "first {label first:.0%}, in 3 {label in 3:.0%}".format(**found)
        taken = [", ".join(each.guess) for each in _of_part(own, "held out")]
        yield row | {"held-out sentences are taken for": "; ".join(taken)}


def _of_part(judged: Sequence[Judged], part: str) -> list[Judged]:
    return [each for each in judged if each.sentence.part == part]


def main() -> int:
    parser = arguments("The offline classifier of emotions on sentences written for it.")
    options = parser.parse_args()
    report = Report("emotions", f"{len(sentences())} sentences, {len(SENTENCES)} labels")
    with game():
        found = measure(report)
    report.note(
        "The development half chose the prototypes and how they are weighed: only the held-out "
        "half says how it does. Both were written by the same hand."
    )
    what = "held-out sentences whose family is among the three labels"
    report.bars.append(Bar(what, found, BAR, at_least=True))
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
