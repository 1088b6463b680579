"""An optional cross-encoder [C §2.5]: it reads question and memory together, and is slow.

Worker threads only. One that cannot be loaded is told of once in the log; recall goes on without.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ..log import logger

_loading = threading.Lock()
_loaded: dict[str, Any] = {}


def scores(source: str, question: str, texts: Sequence[str]) -> list[float] | None:
    """How well each text answers the question, 0-1; None where there is no such cross-encoder.

    Args:
        source: A model directory or hub name, for sentence-transformers' CrossEncoder.
    """
    model = _model(source)
    if model is None:
        return None
    if not texts:
        return []
    import torch

    pairs = [(question, text) for text in texts]
    found = model.predict(pairs, activation_fn=torch.nn.Sigmoid(), show_progress_bar=False)
    return [float(score) for score in found]


def _model(source: str) -> Any | None:
    with _loading:
        if source not in _loaded:
            _loaded[source] = _load(source)
        return _loaded[source]


def _load(source: str) -> Any | None:
    from sentence_transformers import CrossEncoder

    try:
        return CrossEncoder(source, device="cpu", num_labels=1)
    except (OSError, ValueError) as error:
        logger().warning(
            'The cross-encoder CONTRIB_AI_MEMORY["RERANKER"] = %r cannot be loaded: %s. Recall '
            "blends relevance with importance instead.",
            source,
            error,
        )
        return None
