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
from pathlib import Path

from ..embedding import runtime
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
    """Order by the scores of a cross-encoder, 0-1, in place of the similarity [C §2.5]; where it
    failed (None), the total is 0.8 relevance + 0.2 importance."""
    if verdicts is None:
        blended = [
            BLEND_RELEVANCE * each.similarity + BLEND_IMPORTANCE * each.candidate.importance
            for each in ranked
        ]
        return ordered([replace(e, total=t) for e, t in zip(ranked, blended, strict=True)])
    return ordered([replace(e, total=v, reranked=v) for e, v in zip(ranked, verdicts, strict=True)])


def scores(source: str, question: str, texts: Sequence[str]) -> list[float] | None:
    """Score how well each text answers the question, 0-1; None if the cross-encoder fails."""
    with _loading:
        reranker = _rerankers.setdefault(source, _Reranker(source))
    return reranker.scores(question, texts)


@dataclass
class _Reranker:
    """A cross-encoder, loaded when it is first used."""

    source: str
    model: CrossEncoder | None = None
    retry_at: float = 0.0  # of one that failed, in seconds of `clock`; 0.0 while it works
    clock: Callable[[], float] = time.monotonic

    def scores(self, question: str, texts: Sequence[str]) -> list[float] | None:
        if self.clock() < self.retry_at:
            return None
        try:
            self.model = self.model or _open(self.source)
            found = self.model(question, texts) if texts else []
            if not all(map(math.isfinite, found)):
                raise ValueError("it returned scores that are not finite")
        except Exception as error:  # noqa: BLE001  (foreign models may raise anything)
            if not self.retry_at:
                logger().warning(
                    'The cross-encoder CONTRIB_AI_MEMORY["RERANKER"] = %r does not work: %s: %s. '
                    "Recall blends relevance with importance instead and retries it every %.0f "
                    "minutes.",
                    self.source,
                    type(error).__name__,
                    error,
                    RETRY_SECONDS / 60,
                )
            self.retry_at = self.clock() + RETRY_SECONDS
            return None
        if self.retry_at:
            self.retry_at = 0.0
            logger().info("The cross-encoder %r works again.", self.source)
        return found


# --- cross-encoders -------------------------------------------------------------------------------

CrossEncoder = Callable[[str, Sequence[str]], list[float]]  # question, texts -> 0-1 each

_GRAPHS = ("onnx/model.onnx", "model.onnx")  # where exported cross-encoders keep it
_MAX_TOKENS = 512
_BATCH = 32


def _open(source: str) -> CrossEncoder:
    """Load a cross-encoder: by ONNX Runtime where its directory has a graph (`onnx/model.onnx`)
    with a `tokenizer.json`, else by sentence-transformers."""
    folder = Path(source)
    for name in _GRAPHS:
        if (folder / name).is_file() and (folder / "tokenizer.json").is_file():
            return _of_graph(folder / name, folder / "tokenizer.json")
    return _of_sentence_transformers(source)


def _of_graph(graph: Path, tokens: Path) -> CrossEncoder:
    from tokenizers import Tokenizer

    session = runtime.open_session(graph)
    tokenizer = Tokenizer.from_file(str(tokens))
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MAX_TOKENS, strategy="longest_first")
    inputs = {each.name for each in session.get_inputs()}

    def read(question: str, texts: Sequence[str]) -> list[float]:
        pairs = tokenizer.encode_batch([(question, text) for text in texts])
        verdicts = [0.0] * len(texts)
        for places in runtime.batches([len(each.ids) for each in pairs], _BATCH):
            ids, mask = runtime.padded([pairs[place].ids for place in places])
            kinds, _ = runtime.padded([pairs[place].type_ids for place in places])
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
            [logits, *_] = session.run(None, {name: given[name] for name in inputs})
            for place, logit in zip(places, logits.reshape(len(places)), strict=True):
                verdicts[place] = 1 / (1 + math.exp(-float(logit)))
        return verdicts

    return read


def _of_sentence_transformers(source: str) -> CrossEncoder:
    from sentence_transformers import CrossEncoder as Loaded

    model = Loaded(source, device="cpu", num_labels=1)

    def read(question: str, texts: Sequence[str]) -> list[float]:
        from torch.nn import Sigmoid

        pairs = [(question, text) for text in texts]
        found = model.predict(pairs, activation_fn=Sigmoid(), show_progress_bar=False)
        return [float(score) for score in found]

    return read
