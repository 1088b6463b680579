"""Intents: what a line wants besides being remembered, such as who is here or what time it is.

A multinomial logistic regression over the embedding of the line, in which one name stands for
whoever is named. The weights are in intents.npz; `python -m benchmarks.intents --fit` fits them on
benchmarks/data/intents.json, with questions and lines of recorded evenings as counter-examples;
without `--fit` it measures classifiers fitted without the paraphrases that they judge. They fit one
embedding model: with another, `load` returns None, and no line has an intent.
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
from ..english.questions import asked, asks, asks_of_a_life, sentences_of
from ..english.small_talk import courtesy_of, without_greeting
from ..language import Intent, Understood
from ..records import LineInTalk, LineReading
from ..text.names import forms
from . import acts

FILE = Path(__file__).with_suffix(".npz")
SOMEBODY = "Bram"  # stands for every name
NONE = "NONE"  # the class of what wants nothing of this
LONGEST_LINE = 16  # words; whoever says more has more to say than this
LIKELY = 0.5  # probability from which a question has an intent, and a courtesy is one
SURE = 0.7  # from which a line has one that does not ask
SURELY = 0.9  # from which it can hardly mean anything else
SURELY_OF_SOMEBODY = 0.8  # the same, where it names somebody too
OF_THE_NPC = (Intent.NAME, Intent.ROLE, Intent.SERVICE, Intent.TIME, Intent.WELLBEING)
_OF_ME = re.compile(r"\bmy\b|\b(?:do|did|am|was|have|had) i\b", re.IGNORECASE)  # of the speaker
_YOU = re.compile(r"\b(?:you|your|u|ur|ye|yer|yourself)\b|\byou['’]", re.IGNORECASE)
_DOES = re.compile(r"\b(?:does|did|has)\b", re.IGNORECASE)
_OF_ANOTHER = re.compile(
    r"\b(?:s?he|they|it|him|her|them|his|their)\b|\bthe \w+s (?:\w+ )?name\b", re.I
)
_TIME = re.compile(
    r"\b(?:time|hour|day|date|month|year|season|late|early|o['’]?clock|clock|today|morning|noon"
    r"|night|evening|bells?|sun|dark)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\b(?:wh?ere|wh[ao]t|w[ao]t|lost|which (?!.*\bafter\b))(?:['’]?s)?", re.I)
OF_SOMEBODY = (Intent.LAST_SEEN, Intent.OPINION, Intent.ABOUT, Intent.WHISPERED)
COURTESIES = (Intent.GREETING, Intent.PARTING, Intent.THANKS)


def understood(said: str, completed: str, names: Collection[str], heard: LineInTalk) -> Understood:
    """Return the first five of `language.Understood` (worker thread).

    The completed line is what is meant unless the line alone says what it wants: "what do they call
    this place?".
    """
    read = acts.read(heard) or LineReading((), 0.0)
    done = read.acts
    intent, surely = intent_of(said, names)
    if intent in COURTESIES and not surely and done:
        does = {act.kind for act in done}
        intent = intent if intent.name.lower() in does else None  # two judges agree
    asking = [act.text for act in done if act.kind == "question"]
    # "put it on my slate, and who are you?"; not "what day was it i got my legs wet"
    if intent is None and len(asking) == 1 and _ends_a_clause(asking[0], said):
        intent, surely = intent_of(asking[0], names)[0], False
    if completed == said or (intent and intent not in OF_SOMEBODY):
        return Understood(said, intent, surely, done, read.wanted)
    return Understood(completed, *intent_of(completed, names), done, read.wanted)


def _ends_a_clause(words: str, said: str) -> bool:
    """Whether nothing goes on behind words of a line."""
    behind = said.partition(words)[2]
    return not behind.strip() or bool(re.match(r"\s*(?:[.,;:!?…]|[-–—]\s|and\b|but\b)", behind))


def intent_of(said: str, names: Collection[str]) -> tuple[Intent | None, bool]:
    """Return what a line wants, if anything, and whether it surely does (worker thread).

    A line is taken as a whole, or by the one sentence of it that asks.

    Args:
        said: A line without the name of whom it is addressed to.
        names: Names of everyone whom the NPC knows.
    """
    said = without_greeting(said)
    if courtesy_of(said):
        return None, False
    asking = [each for each in sentences_of(said) if asks(each)]
    for each in dict.fromkeys([said, *(asking if len(asking) == 1 else ())]):
        intent, probability = _judged(each, names)
        if intent is not None:
            of_somebody = intent in (*OF_SOMEBODY, Intent.GIVEN, Intent.MESSAGES)
            return intent, probability >= (SURELY_OF_SOMEBODY if of_somebody else SURELY)
    return None, False


def _judged(said: str, names: Collection[str]) -> tuple[Intent | None, float]:
    nothing = None, 0.0
    if not 0 < len(said.split()) <= LONGEST_LINE:
        return nothing
    lower = said.lower()
    named = [form for name in names for form in forms([name]) if form in lower]
    try:
        model = embedder.shared()
        classifier = load(model.name, model.dimensions)
        if classifier is None:
            return nothing
        intent, probability = classifier.judge(model.encode([masked(said, named)])[0])
    except ModelAway:
        return nothing
    asking = asked(said)
    if intent in OF_THE_NPC and _OF_ME.search(said):
        return nothing
    if intent in (Intent.NAME, Intent.ROLE) and _OF_ANOTHER.search(said) and not _YOU.search(said):
        return nothing  # "what's she do?", "wots the prompters real name"
    if intent in (Intent.NAME, Intent.ROLE, Intent.TALE) and asks_of_a_life(said):
        return nothing  # "do you like working here?"
    if intent is Intent.OPINION and _DOES.search(said) and not _YOU.search(said):
        return nothing  # "what does the smith think of Bram?"
    if intent is Intent.TIME and not _TIME.search(said):
        return nothing  # "and when is it due?"
    if intent is Intent.PLACE and not _PLACE.search(said):
        return nothing  # "that's us square then?"
    if intent is Intent.PLACE and _OF_ANOTHER.search(said) and "name" in said.lower():
        return nothing  # "theres a cat! whats its name"
    if intent in COURTESIES and asking:
        return nothing
    least = LIKELY if asking or intent in COURTESIES else SURE
    return (intent, probability) if intent and probability >= least else nothing


@dataclass(frozen=True, eq=False)
class IntentClassifier:
    """One score for each class."""

    classes: tuple[str, ...]  # names of `Intent`, and `NONE`
    weights: np.ndarray  # shape (dimensions, classes)
    bias: np.ndarray  # shape (classes,)

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
