"""The optional cross-encoder [C §2.5], which reads query and memory together, and is slow.

Worker threads only. A failure is logged once, recall goes on without it, and it is tried again
later.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..log import logger
from ..records import RecallRequest
from . import budget
from .rank import Ranked, ordered

RERANKED = 50  # the best candidates, which are reranked: so many, or top_k where that is more
BLEND_RELEVANCE, BLEND_IMPORTANCE = 0.8, 0.2  # [C §2.5] where the cross-encoder fails
RETRY_SECONDS = 600.0  # after a failure

_loading = threading.Lock()
_rerankers: dict[str, _Reranker] = {}


def rerank(request: RecallRequest, ranked: Sequence[Ranked]) -> list[Ranked]:
    """Order the best candidates by the cross-encoder of the request, with the rest behind them."""
    depth = max(RERANKED, request.top_k)
    first, rest = ranked[:depth], ranked[depth:]
    texts = [budget.text_with_speaker(each.candidate.whole()) for each in first]
    return [*reordered(first, scores(request.reranker or "", request.query, texts)), *rest]


def reordered(ranked: Sequence[Ranked], verdicts: Sequence[float] | None) -> list[Ranked]:
    """Order by the scores of a cross-encoder in place of the similarity [C §2.5].

    Args:
        verdicts: Its scores of `ranked`, 0-1. None if it failed: then the total is 0.8 relevance +
            0.2 importance.
    """
    if verdicts is None:
        blended = [
            BLEND_RELEVANCE * each.similarity + BLEND_IMPORTANCE * each.candidate.importance
            for each in ranked
        ]
        return ordered([replace(e, total=t) for e, t in zip(ranked, blended, strict=True)])
    return ordered([replace(e, total=v, reranked=v) for e, v in zip(ranked, verdicts, strict=True)])


def scores(source: str, question: str, texts: Sequence[str]) -> list[float] | None:
    """Score how well each text answers the question, 0-1; None if the cross-encoder fails.

    Args:
        source: Directory or hub name of a CrossEncoder of sentence-transformers.
    """
    with _loading:
        reranker = _rerankers.setdefault(source, _Reranker(source))
    return reranker.scores(question, texts)


@dataclass
class _Reranker:
    """A cross-encoder, loaded when it is first used.

    Attributes:
        failing: Whether its failure was logged.
        retry_at: When a failed one is tried again, in seconds of `clock`.
    """

    source: str
    model: Any = None
    failing: bool = False
    retry_at: float = 0.0
    clock: Callable[[], float] = time.monotonic

    def scores(self, question: str, texts: Sequence[str]) -> list[float] | None:
        if self.failing and self.clock() < self.retry_at:
            return None
        try:
            found = self._read(question, texts)
        except Exception as error:  # noqa: BLE001  (foreign models may raise anything)
            self._fail(error)
            return None
        if self.failing:
            self.failing = False
            logger().info("The cross-encoder %r works again.", self.source)
        return found

    def _read(self, question: str, texts: Sequence[str]) -> list[float]:
        if self.model is None:
            from sentence_transformers import CrossEncoder

            self.model = CrossEncoder(self.source, device="cpu", num_labels=1)
        if not texts:
            return []
        import torch

        found = self.model.predict(
            [(question, text) for text in texts],
            activation_fn=torch.nn.Sigmoid(),
            show_progress_bar=False,
        )
        verdicts = [float(score) for score in found]
        if not all(map(math.isfinite, verdicts)):
            raise ValueError("it returned scores that are not finite")
        return verdicts

    def _fail(self, error: Exception) -> None:
        self.retry_at = self.clock() + RETRY_SECONDS
        if not self.failing:
            self.failing = True
            logger().warning(
                'The cross-encoder CONTRIB_AI_MEMORY["RERANKER"] = %r does not work: %s: %s. '
                "Recall blends relevance with importance instead and retries it every %.0f "
                "minutes.",
                self.source,
                type(error).__name__,
                error,
                RETRY_SECONDS / 60,
            )
