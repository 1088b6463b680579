"""An optional cross-encoder [C §2.5]: it reads question and memory together, and is slow.

Worker threads only. One that fails, at its import, loading or reading, is told of once in the log
and left alone for a while; recall goes on without it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..log import logger

RETRY_SECONDS = 600.0  # a failed cross-encoder is left alone for this long

_loading = threading.Lock()
_rerankers: dict[str, _Reranker] = {}


def scores(source: str, question: str, texts: Sequence[str]) -> list[float] | None:
    """How well each text answers the question, 0-1; None where the cross-encoder does not work.

    Args:
        source: A model directory or hub name, for sentence-transformers' CrossEncoder.
    """
    with _loading:
        reranker = _rerankers.setdefault(source, _Reranker(source))
    return reranker.scores(question, texts)


@dataclass
class _Reranker:
    """One cross-encoder, loaded when it is first needed.

    Attributes:
        failing: Whether the log was told that it does not work.
        rests_until: Not tried before, in seconds of `clock`.
    """

    source: str
    model: Any = None
    failing: bool = False
    rests_until: float = 0.0
    clock: Callable[[], float] = time.monotonic

    def scores(self, question: str, texts: Sequence[str]) -> list[float] | None:
        if self.failing and self.clock() < self.rests_until:
            return None
        try:
            found = self._read(question, texts)
        except Exception as error:  # noqa: BLE001  (any fault of a model of somebody else)
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
            raise ValueError("it gave scores that are no numbers")
        return verdicts

    def _fail(self, error: Exception) -> None:
        self.rests_until = self.clock() + RETRY_SECONDS
        if not self.failing:
            self.failing = True
            logger().warning(
                'The cross-encoder CONTRIB_AI_MEMORY["RERANKER"] = %r does not work: %s: %s. '
                "Recall blends relevance with importance instead, and tries it again every "
                "%.0f minutes.",
                self.source,
                type(error).__name__,
                error,
                RETRY_SECONDS / 60,
            )
