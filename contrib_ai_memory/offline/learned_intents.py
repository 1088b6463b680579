"""Learned intents: what a line wants of the NPC where no rule of `english.intents` says it.

A multinomial logistic regression over the embedding of the line, in which one name stands for
whoever is named. The weights are in learned_intents.npz; `python -m benchmarks.intents --fit` fits
them on the paraphrases of benchmarks/data/intents.json, with questions and lines of recorded
evenings as counter-examples; without `--fit` it measures classifiers fitted without the paraphrases
that they judge. They fit one embedding model: with another, `load` returns None, and only the rules
remain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..embedding import embedder
from ..embedding.model import ModelAway
from ..english.intents import courtesy_of, intent_of, small_talk_in, without_greeting
from ..english.questions import asked
from ..language import Intent
from ..records import LineInTalk, SpeechAct
from ..text.names import forms
from . import acts

FILE = Path(__file__).with_suffix(".npz")
SOMEBODY = "Bram"  # stands for every name
NONE = "NONE"  # the class of what wants nothing of this
LONGEST_LINE = 16  # words; whoever says more has more to say than this
LIKELY = 0.5  # probability from which a question has an intent, and a courtesy is one
SURE = 0.7  # from which a line has one that does not ask
OF_THE_NPC = (Intent.NAME, Intent.ROLE, Intent.SERVICE, Intent.TIME, Intent.WELLBEING)
_OF_ME = re.compile(r"\bmy\b|\b(?:do|did|am|was|have|had) i\b", re.IGNORECASE)  # of the speaker
OF_SOMEBODY = (Intent.LAST_SEEN, Intent.OPINION, Intent.ABOUT, Intent.WHISPERED)
COURTESIES = (Intent.GREETING, Intent.PARTING, Intent.THANKS)


def understood(
    said: str, completed: str, names: Collection[str], heard: LineInTalk
) -> tuple[str, str, tuple[SpeechAct, ...]]:
    """Return a line as it is meant, the name of its intent as of `learned_intent`, and its acts.

    Worker thread.

    Args:
        completed: The line with the subject that it takes from the talk before it. It is what is
            meant unless the line alone says what it wants: "what do they call this place?".
        heard: The line with the talk before it.
    """
    read = acts.read(heard)
    done = read.acts if read else ()
    intent = learned_intent(said, names)
    if completed == said or (intent and Intent[intent] not in OF_SOMEBODY):
        return said, intent, done
    return completed, learned_intent(completed, names), done


def learned_intent(said: str, names: Collection[str]) -> str:
    """Return the name of the intent of a line that no rule knows, "" for none (worker thread).

    Args:
        said: A line without the name of whom it is addressed to.
        names: Names of everyone whom the NPC knows.
    """
    said = without_greeting(said)
    if (
        intent_of(said)
        or courtesy_of(said)
        or small_talk_in(said)
        or not 0 < len(said.split()) <= LONGEST_LINE
    ):
        return ""
    try:
        model = embedder.shared()
        classifier = load(model.name, model.dimensions)
        if classifier is None:
            return ""
        lower = said.lower()
        every_form = [form for name in names for form in forms([name]) if form in lower]
        vector = model.encode([masked(said, every_form)])[0]
    except ModelAway:
        return ""
    intent, probability = classifier.judge(vector)
    if intent is None:
        return ""
    asking = asked(said)
    if intent in OF_THE_NPC and _OF_ME.search(said):
        return ""
    if intent in COURTESIES:
        return "" if asking or probability < LIKELY else intent.name
    return intent.name if probability >= (LIKELY if asking else SURE) else ""


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
