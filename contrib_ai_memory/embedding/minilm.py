"""The bundled all-MiniLM-L6-v2 [C §1.4] in torch, without sentence-transformers.

The first answer after a start waits for the model, and nearly all of that time is imports: torch
takes a second or two, sentence-transformers three times as long again. So the six layers of BERT
(Devlin et al. 2019) and the mean pooling (Reimers & Gurevych 2019) are implemented here. The
vectors are those of sentence-transformers; tests/test_models.py compares them.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

NAME = "all-MiniLM-L6-v2"


class MiniLM:
    """The bundled model, an `embedding.model.EmbeddingModel`.

    Args:
        folder: Its files, as on the Hugging Face hub.
        max_tokens: Longer texts are cut; [CLS] and [SEP] count.
        threads: Of torch; None is torch's own choice.
        batch_size: Texts computed at once.
    """

    def __init__(
        self, folder: Path, *, max_tokens: int, threads: int | None = None, batch_size: int = 32
    ):
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        if threads:
            torch.set_num_threads(threads)
        config = json.loads((folder / "config.json").read_text())
        self.name = NAME
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
        self._tokenizer.enable_truncation(min(max_tokens, config["max_position_embeddings"]))

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return unit vectors, float32, in order. Texts of similar length are computed together."""
        import torch

        found = np.empty((len(texts), self.dimensions), dtype=np.float32)
        ids = [each.ids for each in self._tokenizer.encode_batch(texts)]
        by_length = sorted(range(len(texts)), key=lambda place: -len(ids[place]))
        with torch.inference_mode():
            for start in range(0, len(texts), self._batch_size):
                places = by_length[start : start + self._batch_size]
                found[places] = self._vectors([ids[place] for place in places]).numpy()
        return found

    def count_tokens(self, text: str) -> int:
        """Count tokens without [CLS] and [SEP]."""
        return len(self._counter.encode(text, add_special_tokens=False).ids)

    def _vectors(self, batch: list[list[int]]) -> Any:
        """Return unit vectors of token ids: the mean of the last layer over the tokens."""
        import torch
        from torch.nn import functional

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
        return functional.normalize(mean, dim=1)

    def _embedded(self, ids: Any) -> Any:
        weights = self._weights
        words = weights["embeddings.word_embeddings.weight"][ids]
        places = weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kind = weights["embeddings.token_type_embeddings.weight"][0]
        return self._normed("embeddings.LayerNorm", words + places + kind)

    def _layer(self, name: str, hidden: Any, mask: Any) -> Any:
        from torch.nn import functional

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
        from torch.nn import functional

        weights = self._weights
        return functional.linear(given, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def _normed(self, name: str, given: Any) -> Any:
        from torch.nn import functional

        weights = self._weights
        return functional.layer_norm(
            given,
            (self.dimensions,),
            weights[f"{name}.weight"],
            weights[f"{name}.bias"],
            self._epsilon,
        )
