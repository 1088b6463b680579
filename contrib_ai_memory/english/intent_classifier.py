"""Intent classifier: what a line wants where no rule of `english.intents` says it.

A multinomial logistic regression over the embedding of the line, in which one name stands for
whoever is named. The weights are in intent_classifier.npz; `python -m benchmarks.intents --fit`
fits them on the paraphrases of benchmarks/data/intents.json, against questions and lines of the
evenings that want none of it, and without `--fit` measures them on paraphrases left out. They fit
one embedding model: with another, `load` returns None, and the rules are alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from .intents import Intent

FILE = Path(__file__).with_suffix(".npz")
SOMEBODY = "Bram"  # stands for every name
NONE = "NONE"  # the class of what wants nothing of this
LONGEST = 16  # words; whoever says more has more to say than this


@dataclass(frozen=True, eq=False)
class IntentClassifier:
    """One score for each class.

    Attributes:
        classes: Names of `Intent`, and `NONE`.
        weights: Shape (dimensions, classes).
        bias: Shape (classes,).
    """

    classes: tuple[str, ...]
    weights: np.ndarray
    bias: np.ndarray

    def judge(self, vector: np.ndarray) -> tuple[Intent | None, float]:
        """Return the likeliest intent, None for none of them, and its probability.

        Args:
            vector: The unit vector of a `masked` line.
        """
        scores = vector @ self.weights + self.bias
        shares = np.exp(scores - scores.max())
        best = int(shares.argmax())
        name = self.classes[best]
        return (None if name == NONE else Intent[name]), float(shares[best] / shares.sum())

    def save(self, file: Path, model: str) -> None:
        """Write the data file; the weights in half precision."""
        about = {"classes": self.classes, "model": model}
        np.savez_compressed(
            file,
            weights=self.weights.astype(np.float16),
            bias=self.bias.astype(np.float32),
            about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8),
        )


@lru_cache(maxsize=2)
def load(model: str, dimensions: int, file: Path = FILE) -> IntentClassifier | None:
    """Return the classifier of an embedding model, or None if it was fitted on another.

    Args:
        model: The embedder's name.
        dimensions: Of its vectors.
    """
    with np.load(file, allow_pickle=False) as data:
        weights, bias = data["weights"].astype(np.float32), data["bias"]
        about = json.loads(data["about"].tobytes())
    if (about["model"], len(weights)) != (model, dimensions):
        return None
    return IntentClassifier(tuple(about["classes"]), weights, bias)


def masked(text: str, names: Collection[str]) -> str:
    """Return a line with one name for whoever is named.

    >>> masked("has Old Tom been in?", ["Old Tom", "Nell"])
    'has Bram been in?'
    """
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", SOMEBODY, text, flags=re.IGNORECASE)
    return text
