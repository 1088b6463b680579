"""Whether words tell a secret: an answer is whispered for what it says, not for what is known.

Words tell a secret if they share a word with it that nobody else knows of, or mean nearly the same.
The question counts, too: "yes" tells what was asked. What the speaker whispered itself ("that stays
between us") is a secret for what it repeats of one: it must be nearer in meaning. Measured by
`python -m benchmarks.secrecy`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import language, offload
from ..embedding import embedder
from ..store.condition import HELD

COMMON_FROM = 5.5  # Zipf frequency of words that tell nothing by themselves
SIMILAR_FROM = 0.45  # cosine of a sentence and a secret
ANSWERS_FROM = 0.5  # cosine of the question with its answer and a secret
OWN_FROM = 0.65  # both of them, for words that the speaker whispered itself
# where the speaker holds it for a secret
SIMILAR_IF_MARKED = 0.3
ANSWERS_IF_MARKED = 0.35

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Secret:
    """A private text that the speaker knows, and who may hear it."""

    text: str
    witnesses: tuple[str, ...]
    own: bool = False  # words of the speaker

    @property
    def audience(self) -> tuple[str, ...]:
        """The people who may hear of it."""
        return self.witnesses


def tells_secret(
    text: str, asked: str, secrets: Sequence[Secret], public: Iterable[str], *, marked: bool = False
) -> defer.Deferred:
    """Return, as a Deferred, whether words that answer `asked` tell one of several secrets.

    Where that cannot be found out in time they count as telling one: the embedding server is away,
    or the worker too busy. `public` is what the speaker has in mind that everybody may know of;
    `marked` are words that the speaker holds for a secret.
    """
    if not secrets:
        return defer.succeed(False)
    known = " ".join([*public, asked])
    return in_time(True, _tells, text, asked, marked, tuple(secrets), known)


@defer.inlineCallbacks
def in_time(otherwise: bool, judge: Callable[..., bool], *args: Any) -> Generator[Any, Any, bool]:
    """Judge on the memory worker for a reply; a Deferred, `otherwise` if that is not possible."""
    try:
        return (yield offload.read(judge, *args))
    except (*HELD, offload.Busy, offload.TimedOut):
        return otherwise


def _tells(text: str, asked: str, marked: bool, secrets: tuple[Secret, ...], known: str) -> bool:
    """Return whether words tell a secret (worker thread)."""
    hidden = set().union(*(telling(each.text) for each in secrets))
    said = telling(text) & hidden - telling(known)
    if said and (marked or any(language.get().frequency(word) < COMMON_FROM for word in said)):
        return True
    texts = [text, *language.get().sentences(text), f"{asked} {text}"]
    vectors = embedder.shared().encode([*texts, *(each.text for each in secrets)])
    similar = vectors[: len(texts)] @ vectors[len(texts) :].T
    alone, answer = (
        (SIMILAR_IF_MARKED, ANSWERS_IF_MARKED) if marked else (SIMILAR_FROM, ANSWERS_FROM)
    )
    own = np.array([each.own for each in secrets])
    near = similar[:-1].max(axis=0) > np.where(own, OWN_FROM, alone)
    return bool((near | (similar[-1] > np.where(own, OWN_FROM, answer))).any())


def telling(text: str) -> set[str]:
    """Return the stems of the words that carry meaning, and the numbers."""
    return language.get().content_words(text) | set(_NUMBER.findall(text))
