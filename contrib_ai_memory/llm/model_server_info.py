"""What a model server tells of itself. Blocking, for three seconds a look at most."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import httpx

from .. import conf

PEEK_SECONDS = 3.0  # for one look
MOST_TOKENS = 10_000_000  # a context window or a usage above this is wrong
# the ports on which servers of language models listen by default
PORTS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp"}
_EMBEDS = re.compile(r"embed|\bbge\b|minilm|rerank", re.IGNORECASE)  # names of no language models


def mapping(value: object) -> dict[str, Any]:
    """Return an object of what a server sent, which may be anything; else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """Return a list of what a server sent; else an empty one."""
    return value if isinstance(value, list) else []


def context_length(settings: conf.LLMSettings) -> int | None:
    """Return the context window that the server names for the model; None if it names none.

    vLLM tells it in /v1/models, llama.cpp in /props, Ollama in /api/ps once the model is loaded.
    """
    if length := _length(_of_model(settings, "/models", "data"), "max_model_len"):
        return length
    generation = _get(settings, "/props", root=True).get("default_generation_settings")
    if length := _length(mapping(generation), "n_ctx"):
        return length
    return _length(_of_model(settings, "/api/ps", "models", root=True), "context_length")


def parameters(settings: conf.LLMSettings) -> float | None:
    """Return the model's billions of parameters; None if neither its server nor its name says.

    llama.cpp tells it in /v1/models, Ollama in /api/tags.
    """
    count = mapping(_of_model(settings, "/models", "data").get("meta")).get("n_params")
    if isinstance(count, int | float) and count > 0:
        return count / 1e9
    details = mapping(_of_model(settings, "/api/tags", "models", root=True).get("details"))
    return conf.billions(str(details.get("parameter_size")) if details else settings.model)


def is_ready(settings: conf.LLMSettings, seconds: float) -> bool:
    """Wait until llama.cpp's server has loaded its model. Returns whether it has."""
    until, pause = time.monotonic() + seconds, threading.Event()
    while time.monotonic() < until:
        if _get(settings, "/health", root=True).get("status") == "ok":
            return True
        pause.wait(0.5)
    return False


def models(settings: conf.LLMSettings) -> list[str]:
    """Return the names of the models that a server lists."""
    return [str(mapping(each).get("id")) for each in listed(_get(settings, "/models").get("data"))]


def on_this_machine(ports: Iterable[int] = PORTS) -> Iterator[tuple[str, list[str]]]:
    """Yield the URL, up to and including /v1, of each server on ports of 127.0.0.1 that lists
    models, with their names."""
    for port in ports:
        url = f"http://127.0.0.1:{port}/v1"
        known = models(conf.LLMSettings.model_validate({"base_url": url, "model": "any"}))
        if named := [each for each in known if not _EMBEDS.search(each)]:
            yield url, named


def _of_model(
    settings: conf.LLMSettings, path: str, key: str, *, root: bool = False
) -> dict[str, Any]:
    """Return what a server lists of the model, or of its only one, which it uses whatever it is
    called (llama.cpp); empty if it lists others."""
    names = (settings.model, f"{settings.model}:latest")
    known = [*map(mapping, listed(_get(settings, path, root=root).get(key)))]
    for each in known:
        if any(each.get(name) in names for name in ("id", "name", "model")):
            return each
    return known[0] if len(known) == 1 else {}


def _length(known: dict[str, Any], key: str) -> int | None:
    value = known.get(key)
    return value if isinstance(value, int) and 0 < value <= MOST_TOKENS else None


def _get(settings: conf.LLMSettings, path: str, *, root: bool = False) -> dict[str, Any]:
    """Ask the server for a JSON object; empty if it has none there."""
    base = settings.base_url.get_secret_value().rstrip("/")
    url = (base.removesuffix("/v1") if root else base) + path
    headers = {"Authorization": f"Bearer {settings.api_key.get_secret_value()}"}
    try:
        with httpx.Client(follow_redirects=False) as client:
            answer = client.get(url, headers=headers, timeout=min(settings.timeout, PEEK_SECONDS))
        found = json.loads(answer.content[:1_000_000]) if answer.is_success else {}
    except Exception:  # noqa: BLE001 - whatever a server does here, it tells nothing of itself
        return {}
    return mapping(found)
