"""Embeddings of an OpenAI-compatible server: Ollama, vLLM, TEI, LM Studio, OpenAI.

It is asked from worker threads, with a deadline, a few retries and a circuit breaker: while it is
away every call fails at once, and says so.
"""

from __future__ import annotations

import math
import time
from typing import Any

import httpx
import numpy as np
from pydantic import BaseModel, ValidationError
from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from ..conf import EmbeddingSettings
from ..log import logger
from .model import ModelAway, ModelError

TIMEOUT_SECONDS = 10.0  # for one answer, retries included
RETRIES = 2  # after a temporary error
RETRY_AFTER_SECONDS = 15.0  # before a server that did not answer is asked again
BATCH = 32  # texts embedded at once
ANSWER_BYTES = 64_000_000  # 1,024 vectors of 3,072 numbers
CHARACTERS_PER_TOKEN = 4  # of English; the server's tokenizer is not here to count
LEAST_SECONDS = 0.05
_TEMPORARY = (408, 409, 425, 429, 500, 502, 503, 504)


class _Temporary(Exception):
    """Worth another try."""


class _Embedding(BaseModel):
    index: int
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Embedding]


class EndpointModel:
    """A model behind `base_url`/embeddings.

    Its methods raise a ModelAway if the server does not answer, and a ModelError if it answers
    something else than vectors of the expected size.
    """

    def __init__(self, settings: EmbeddingSettings):
        assert settings.base_url is not None and settings.model is not None
        self.name = settings.model
        self._settings = settings
        self._url = settings.base_url.get_secret_value().rstrip("/") + "/embeddings"
        self._dimensions = settings.dimensions
        self._away_until = 0.0
        self.problem = ""  # of the server, while it is away
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {settings.api_key.get_secret_value()}"},
            follow_redirects=False,
        )

    @property
    def dimensions(self) -> int:
        """Numbers of one vector; the server is asked once unless the settings say so."""
        if self._dimensions is None:
            self._dimensions = self._vectors(["dimensions"], None).shape[1]
        return self._dimensions

    def encode(self, texts: list[str]) -> np.ndarray:
        """Return unit vectors, float32, shape (len(texts), dimensions)."""
        starts = range(0, len(texts), BATCH)
        found = [self._vectors(texts[each : each + BATCH], self.dimensions) for each in starts]
        return np.concatenate(found) if found else np.empty((0, self.dimensions), np.float32)

    def count_tokens(self, text: str) -> int:
        """Estimate them."""
        return math.ceil(len(text) / CHARACTERS_PER_TOKEN)

    def _vectors(self, texts: list[str], dimensions: int | None) -> np.ndarray:
        if time.monotonic() < self._away_until:
            raise ModelAway(self.problem)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        attempts = Retrying(
            retry=retry_if_exception_type(_Temporary),
            stop=stop_after_attempt(RETRIES + 1) | stop_before_delay(TIMEOUT_SECONDS),
            wait=wait_random_exponential(multiplier=0.2, max=2),
            reraise=True,
        )
        try:
            body = attempts(self._post, texts, deadline)
        except _Temporary as error:
            raise self._is_away(str(error)) from None
        if self.problem:
            logger().warning("embedding server: answers again.")
            self.problem = ""
        return self._understood(body, len(texts), dimensions)

    def _is_away(self, why: str) -> ModelAway:
        error = ModelAway(
            f"The embedding server {self._settings.base_url} does not answer: {why}. NPCs go on "
            "hearing, and what they hear is indexed when it is back. Check that server, or correct "
            'CONTRIB_AI_MEMORY["EMBEDDING"].'
        )
        if not self.problem:
            logger().warning("%s", error)
        self.problem = str(error)
        self._away_until = time.monotonic() + RETRY_AFTER_SECONDS
        return error

    def _post(self, texts: list[str], deadline: float) -> bytes:
        asked: dict[str, Any] = {"model": self.name, "input": texts, "encoding_format": "float"}
        if self._settings.dimensions:
            asked["dimensions"] = self._settings.dimensions
        left = max(deadline - time.monotonic(), LEAST_SECONDS)
        body = bytearray()
        try:
            with self._client.stream("POST", self._url, json=asked, timeout=left) as response:
                status = response.status_code
                if status in _TEMPORARY:
                    raise _Temporary(f"HTTP {status}")
                if status >= 300:
                    raise self._unfit(f"refuses the model {self.name!r}: HTTP {status}")
                for part in response.iter_bytes():
                    body += part
                    if len(body) > ANSWER_BYTES:
                        raise self._unfit("answers more than 64 MB")
                    if time.monotonic() > deadline:
                        raise _Temporary(f"no whole answer in {TIMEOUT_SECONDS:g} s")
        except httpx.HTTPError as error:
            raise _Temporary(f"{type(error).__name__}: {error}".rstrip(": ")) from None
        return bytes(body)

    def _understood(self, body: bytes, count: int, dimensions: int | None) -> np.ndarray:
        """Return unit vectors, in the order of the texts."""
        try:
            data = sorted(_Answer.model_validate_json(body).data, key=lambda each: each.index)
        except ValidationError:
            raise self._unfit("answers no embeddings") from None
        if [each.index for each in data] != list(range(count)):
            raise self._unfit(f"answers {len(data)} embeddings of {count} texts")
        sizes = {len(each.embedding) for each in data}
        if len(sizes) != 1 or 0 in sizes or (dimensions and sizes != {dimensions}):
            shown = " and ".join(map(str, sorted(sizes)))
            wanted = f" instead of {dimensions}" if dimensions else ""
            raise self._unfit(f"answers vectors of {shown} numbers{wanted}")
        vectors = np.array([each.embedding for each in data], dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._unfit("answers vectors that are not numbers, or zero")
        return vectors / lengths

    def _unfit(self, does: str) -> ModelError:
        return ModelError(
            f"The embedding server {self._settings.base_url} {does}. "
            'Correct CONTRIB_AI_MEMORY["EMBEDDING"], or that server.'
        )
