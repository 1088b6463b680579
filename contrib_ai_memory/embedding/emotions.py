"""Emotions: Plutchik's wheel, 24 labels, and a classifier that needs no language model [B].

Source of the labels: R. Plutchik, "The Nature of Emotions", American Scientist 89 (2001).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from .. import conf
from . import embedder

# each label with a line that someone who feels it might say: the prototype in embedding space
PROTOTYPES = {
    "ecstasy": "I am overjoyed, this is the happiest day of my whole life!",
    "joy": "I am so happy and delighted about this.",
    "serenity": "I feel calm, peaceful and content.",
    "admiration": "I admire you greatly, you are a hero to me.",
    "trust": "I trust you completely and rely on you.",
    "acceptance": "That is all right, I accept it as it is.",
    "terror": "I am terrified, run for your lives!",
    "fear": "I am afraid, this is dangerous and it scares me.",
    "apprehension": "I am worried and uneasy about what may come.",
    "amazement": "I am utterly astonished, I have never seen such a wonder!",
    "surprise": "Oh! I did not expect that at all.",
    "distraction": "Sorry, my mind was elsewhere, what were you saying?",
    "grief": "My heart is broken, he is dead and I weep for him.",
    "sadness": "I am sad, I miss what is lost.",
    "pensiveness": "I sit and wonder about how things used to be.",
    "loathing": "I despise them, they are vile and repulsive to me.",
    "disgust": "That is disgusting, it makes me sick.",
    "boredom": "This is dull and tedious, nothing ever happens.",
    "rage": "I am furious, I will make them pay for this!",
    "anger": "I am angry about what they did.",
    "annoyance": "That is irritating, stop bothering me.",
    "vigilance": "Stay alert and keep watch, guard the door.",
    "anticipation": "I am looking forward to it, I can hardly wait.",
    "interest": "That is interesting, tell me more about it.",
}
EMOTIONS = frozenset(PROTOTYPES)


class UnknownEmotion(ValueError):
    """A label that the taxonomy does not have."""


def classify(texts: list[str]) -> list[tuple[str, ...]]:
    """The three nearest emotions of each text, nearest first (worker thread)."""
    if not texts:
        return []
    labels, prototypes = _prototypes(embedder.shared())
    similarity = embedder.shared().encode(texts) @ prototypes.T
    nearest = np.argsort(-similarity, axis=1)[:, : conf.EMOTIONS_PER_EXPERIENCE]
    return [tuple(labels[index] for index in row) for row in nearest]


def validated(labels: object) -> tuple[str, ...]:
    """Exactly three different labels of the taxonomy, or nothing: then the classifier decides."""
    if not isinstance(labels, (list, tuple)):
        return ()
    found = dict.fromkeys(str(label).strip().lower() for label in labels)
    found = [label for label in found if label in EMOTIONS]
    if len(found) < conf.EMOTIONS_PER_EXPERIENCE:
        return ()
    return tuple(found[: conf.EMOTIONS_PER_EXPERIENCE])


def known(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels as the taxonomy has them.

    Raises:
        UnknownEmotion: One of them is none, or there is none at all.
    """
    found = tuple(dict.fromkeys(label.strip().lower() for label in labels))
    if not found or not EMOTIONS.issuperset(found):
        strange = ", ".join(label for label in found if label not in EMOTIONS) or "nothing"
        raise UnknownEmotion(
            f"{strange} is no emotion of the taxonomy. Known are: {', '.join(PROTOTYPES)}."
        )
    return found


@lru_cache(maxsize=2)
def _prototypes(words: embedder.Embedder) -> tuple[list[str], np.ndarray]:
    return list(PROTOTYPES), words.encode(list(PROTOTYPES.values()))
