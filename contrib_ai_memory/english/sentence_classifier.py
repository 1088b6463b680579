"""Sentence classifier: how much a sentence is worth remembering, and what kind it is.

One logistic regression per label over the embedding that a line has anyway, a few cues, and the
short words that most talk shares. The weights are in sentence_classifier.npz;
`python -m benchmarks.sentences --train` fits them, and without `--train` measures them on evenings
left out of the fit. They fit one embedding model: with another, `load` returns None, and the
caller falls back to rules.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..text.segmentation import length
from . import questions, salience

FILE = Path(__file__).with_suffix(".npz")

KINDS = tuple(
    "greeting parting chatter question ooc move answer claim_self claim_other world event_seen "
    "preference relationship occupation place possession promise debt request_npc plan boast lie "
    "joke correction secret feeling".split()
)
WORTHS = ("worth 1", "worth 2", "worth 3")  # labels: is it worth at least so much?
LABELS = (*KINDS, *WORTHS)
LINE_KINDS = ("whisper", "pose", "arrive", "leave", "give")  # any other kind is judged as talk

# Scales of the three parts of the features, which set how strongly the fit shrinks each
VECTOR_SCALE, WORD_SCALE = 1.5, 0.5
TELLING_WORDS = 8  # rare words that make the cue 1

# Recommended thresholds; `python -m benchmarks.sentences` prints precision and recall at each
KEEP = 0.7  # of `worth_keeping`: worth storing as a fact
NOISE = 0.2  # of `at_least[0]`: below it nothing is worth a look
AGENDA = 0.5  # of any of AGENDA_KINDS
CORRECTION = 0.4  # of the kind
AGENDA_KINDS = ("promise", "debt", "request_npc", "plan")

_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+|[!?]")

CUES = (
    *LINE_KINDS,
    "own",
    "named",
    "said_before",
    "asked",
    "after a question",
    "number",
    "length",
    "telling words",
    "part",
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence to be judged, with what is known of the line that it is from."""

    text: str  # as it was said, without its speaker
    kind: str = "say"  # of the line: say, whisper, pose, arrive, leave, give
    own: bool = False  # whether the NPC itself says it
    named: bool = False  # whether it names the NPC, or is told to it
    before: str = ""  # the text of the line before in the same talk, "" if there is none
    # the highest cosine with the speaker's earlier lines (their last fifty or so), 0 if there are
    # none
    said_before: float = 0.0
    # whether it is one of several sentences of its line. `vectors` are then its own, the other
    # attributes those of the line
    part: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the classifier thinks of a sentence."""

    # probabilities that it is worth at least 1, 2 and 3: colour, worth knowing in a month, not to
    # be forgotten
    at_least: tuple[float, float, float]
    kinds: Mapping[str, float]  # the probability of each of `KINDS`; a sentence may be of several

    @property
    def worth(self) -> float:
        """The expected worth, 0-3."""
        return sum(self.at_least)

    @property
    def worth_keeping(self) -> float:
        """The probability that somebody will want to know it in a month."""
        return self.at_least[1]

    def any_of(self, *kinds: str) -> float:
        """The probability that it is of one of several kinds at least, taken as independent."""
        return 1 - math.prod(1 - self.kinds[kind] for kind in kinds)


@dataclass(frozen=True, eq=False)
class SentenceClassifier:
    """Logistic regressions that share their features."""

    weights: np.ndarray  # shape (features, labels): the vector's dimensions, `CUES`, `words`
    bias: np.ndarray  # shape (labels,), in the order of `LABELS`
    words: tuple[str, ...]  # words and pairs of neighbours, as `terms_of` writes them
    # the embedding model's name and dimensions, what it was trained on, and how well it does on
    # evenings left out
    about: Mapping[str, Any]

    def judge(self, vectors: np.ndarray, sentences: Sequence[Sentence]) -> list[Judgement]:
        """Judge sentences (worker thread: the first call loads a word list).

        Args:
            vectors: The unit vectors of their texts, shape (sentences, dimensions).
        """
        return [
            Judgement(tuple(row[len(KINDS) :]), dict(zip(KINDS, row, strict=False)))
            for row in self.probabilities(vectors, sentences).tolist()
        ]

    def probabilities(self, vectors: np.ndarray, sentences: Sequence[Sentence]) -> np.ndarray:
        """Return the probability of each of `LABELS`, shape (sentences, labels)."""
        scores = features(vectors, sentences, self.words) @ self.weights + self.bias
        return 1 / (1 + np.exp(-scores))

    def save(self, file: Path) -> None:
        """Write the data file; the weights in half precision."""
        named = {"words": self.words, "labels": LABELS, "cues": CUES, "about": self.about}
        text = json.dumps(named, ensure_ascii=False).encode()
        np.savez_compressed(
            file,
            weights=self.weights.astype(np.float16),
            bias=self.bias.astype(np.float32),
            named=np.frombuffer(text, dtype=np.uint8),
        )


@lru_cache(maxsize=2)
def load(model: str, dimensions: int, file: Path = FILE) -> SentenceClassifier | None:
    """Return the classifier of an embedding model, or None if it was trained on another.

    Args:
        model: The embedder's name.
        dimensions: Of its vectors.

    Raises:
        ValueError: The file is of another version of this module.
    """
    with np.load(file, allow_pickle=False) as data:
        weights, bias = data["weights"].astype(np.float32), data["bias"]
        named = json.loads(data["named"].tobytes())
    if (named["about"]["model"], named["about"]["dimensions"]) != (model, dimensions):
        return None
    if (tuple(named["labels"]), tuple(named["cues"])) != (LABELS, CUES):
        raise ValueError(f"{file} has other labels: run python -m benchmarks.sentences --train")
    return SentenceClassifier(weights, bias, tuple(named["words"]), named["about"])


# --- features -------------------------------------------------------------------------------------


def features(
    vectors: np.ndarray, sentences: Sequence[Sentence], words: Sequence[str]
) -> np.ndarray:
    """Return the features of sentences: vector, cues and words, float32, a row each."""
    column = {word: place for place, word in enumerate(words)}
    present = np.zeros((len(sentences), len(words)), dtype=np.float32)
    for row, sentence in enumerate(sentences):
        present[row, [column[term] for term in terms_of(sentence.text) if term in column]] = 1
    cues = np.array([cues_of(each) for each in sentences], dtype=np.float32)
    return np.hstack(
        [VECTOR_SCALE * vectors, cues.reshape(-1, len(CUES)), WORD_SCALE * present],
        dtype=np.float32,
    )


def cues_of(sentence: Sentence) -> tuple[float, ...]:
    """Return the cues of a sentence, 0-1 each, in the order of `CUES`."""
    text = sentence.text
    return (
        *(float(sentence.kind == kind) for kind in LINE_KINDS),
        float(sentence.own),
        float(sentence.named),
        sentence.said_before,
        questions.asked(text),
        float(questions.asks(sentence.before)),
        float(salience.has_number(text)),
        length(text),
        min(1.0, salience.telling_words(text) / TELLING_WORDS),
        float(sentence.part),
    )


def terms_of(text: str) -> set[str]:
    """Return the words of a text and its pairs of neighbours; ^ is its beginning, # a number.

    >>> sorted(terms_of("I'll pay 12"))
    ['#', "^ i'll", "i'll", "i'll pay", 'pay', 'pay #']
    """
    found = _TOKEN.findall(text.lower().replace("’", "'"))
    words = ["#" if word.isdigit() else word for word in found]
    pairs = zip(["^", *words], words, strict=False)
    return {*words, *(f"{first} {second}" for first, second in pairs)}
