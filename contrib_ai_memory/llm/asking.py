"""Asking for language: the configured model first, the offline provider where it does not answer.

Reactor thread. An unreachable server is left alone for a while, and said so once.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..log import logger
from .offline import OfflineProvider
from .provider import Provider, ProviderError, Unreachable


@dataclass
class Health:
    """Whether the configured model server answers. `since` is monotonic seconds."""

    problem: str = ""
    since: float = 0.0

    def fail(self, error: Exception) -> None:
        if not self.problem:
            logger().warning(
                "model server: %s. NPCs answer through the offline provider until it is back.",
                error,
            )
        self.problem = str(error)
        self.since = time.monotonic()

    def succeed(self) -> None:
        if self.problem:
            logger().info("model server: answers again.")
        self.problem = ""


OFFLINE = OfflineProvider()
health = Health()
_models: dict[str, Provider] = {}


def model() -> Provider | None:
    """The provider for the configured server, or None where the settings name none."""
    settings = conf.get().LLM
    if settings is None:
        return None
    key = repr(settings)
    if key not in _models:
        _models.clear()
        _models[key] = _LazyModel(settings)
    return _models[key]


class _LazyModel:
    """The openai provider, imported and made on the worker thread that first uses it."""

    name = "openai"
    lane = offload.MODEL

    def __init__(self, settings: conf.LLMSettings):
        self._settings = settings
        self._provider: Provider | None = None
        self.timeout = settings.timeout

    def __getattr__(self, operation: str) -> Any:
        def call(*args: Any) -> Any:
            if self._provider is None:
                from .openai_compatible import OpenAIProvider

                self._provider = OpenAIProvider(self._settings)
            return getattr(self._provider, operation)(*args)

        return call


@defer.inlineCallbacks
def ask(
    operation: str, *args: Any, priority: int = offload.AWAKE
) -> Generator[Any, Any, tuple[str, Any]]:
    """Call one operation of the provider protocol off the reactor thread.

    Args:
        operation: A method of `Provider`.
        priority: offload.REPLY, AWAKE or NIGHT.

    Returns (as a Deferred):
        The name of the provider that answered, and its answer.
    """
    provider = model()
    if provider is not None and _may_ask():
        try:
            answer = yield offload.run(
                provider.lane,
                getattr(provider, operation),
                *args,
                priority=priority,
                timeout=provider.timeout + 1,
            )
        except (Unreachable, offload.TimedOut) as error:
            health.fail(error)
        except (ProviderError, offload.Busy) as error:
            logger().warning("%s: %s. The offline provider did it instead.", operation, error)
        else:
            health.succeed()
            return provider.name, answer
    answer = yield offload.run(
        OFFLINE.lane,
        getattr(OFFLINE, operation),
        *args,
        priority=priority,
        timeout=OFFLINE.timeout,
    )
    return OFFLINE.name, answer


def _may_ask() -> bool:
    settings = conf.get().LLM
    return not health.problem or time.monotonic() - health.since >= settings.retry_after


def status() -> str:
    """One sentence for builders: who answers, and what is wrong if something is."""
    settings = conf.get().LLM
    if settings is None:
        return "offline provider (no language model is set)"
    if health.problem:
        return f"offline provider, because the model server does not answer: {health.problem}"
    return f"{settings.model} at {settings.base_url}"
