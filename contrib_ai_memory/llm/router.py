"""Asking for language: the configured model first, the offline provider where it does not answer.

Reactor thread. Whether the server is asked at all is for the breaker and the budgets to say.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from .breaker import Health, Ticket
from .offline import OfflineProvider
from .provider import Provider, ProviderError, Unreachable
from .usage import FILE, BudgetUsedUp, Usage

OFFLINE = OfflineProvider()
health = Health()
_models: dict[tuple[conf.LLMSettings, Path], Model] = {}
_usages: dict[Path, Usage] = {}


class Model:
    """The openai provider behind its budgets, made on the thread that first uses it."""

    name = "openai"
    lane = offload.MODEL

    def __init__(self, settings: conf.LLMSettings, counts: Usage):
        self.settings = settings
        self.counts = counts
        self.timeout = settings.timeout
        self._provider: Provider | None = None
        self._making = threading.Lock()
        self._here = threading.local()  # for whom this thread asks

    def do(self, operation: str, args: tuple[Any, ...], npc: str | None) -> Any:
        """One operation of the protocol, on account of `npc` (worker thread)."""
        self.counts.load()
        self.counts.check(npc, self.settings)
        with self._making:
            if self._provider is None:
                from .openai_compatible import OpenAIProvider

                self._provider = OpenAIProvider(self.settings, self._count)
        self._here.npc = npc
        return getattr(self._provider, operation)(*args)

    def _count(self, purpose: str, tokens_in: int, tokens_out: int) -> None:
        self.counts.count(purpose, self._here.npc, tokens_in, tokens_out)


def model() -> Model | None:
    """The model of the configured server, or None where the settings name none."""
    settings = conf.get().LLM
    if settings is None:
        return None
    counts = _counts()
    key = settings, counts.path
    if key not in _models:
        _models.clear()
        _models[key] = Model(settings, counts)
    return _models[key]


def _counts() -> Usage:
    path = conf.directory() / FILE
    if path not in _usages:
        _usages.clear()
        _usages[path] = Usage(path)
    return _usages[path]


@defer.inlineCallbacks
def ask(
    operation: str, *args: Any, priority: int = offload.AWAKE, npc: str | None = None
) -> Generator[Any, Any, tuple[str, Any]]:
    """Call one operation of the provider protocol off the reactor thread.

    Args:
        operation: A method of `Provider`.
        priority: offload.REPLY, AWAKE or NIGHT.
        npc: The mind on whose account it is; None counts for the game alone.

    Returns (as a Deferred):
        The name of the provider that answered, and its answer.
    """
    answered, answer = yield ask_model(operation, *args, priority=priority, npc=npc)
    if answered:
        return Model.name, answer
    answer = yield ask_offline(operation, *args, priority=priority)
    return OFFLINE.name, answer


@defer.inlineCallbacks
def ask_model(
    operation: str, *args: Any, priority: int = offload.AWAKE, npc: str | None = None
) -> Generator[Any, Any, tuple[bool, Any]]:
    """The same, of the model alone.

    Returns (as a Deferred):
        Whether it answered, and its answer. It does not where none is set, where it is left alone
        for a while, and where its tokens are used up.
    """
    chosen = model()
    ticket = health.admit() if chosen is not None and _affords(chosen, npc) else None
    if chosen is None or ticket is None:
        return False, None
    try:
        answer = yield _ask_model(chosen, ticket, operation, args, priority, npc)
    finally:
        health.over(ticket)
    return answer


def ask_offline(operation: str, *args: Any, priority: int = offload.AWAKE) -> defer.Deferred:
    """The same, of the offline provider, as a Deferred answer."""
    job = getattr(OFFLINE, operation)
    return offload.run(OFFLINE.lane, job, *args, priority=priority, timeout=OFFLINE.timeout)


@defer.inlineCallbacks
def _ask_model(
    chosen: Model,
    ticket: Ticket,
    operation: str,
    args: tuple[Any, ...],
    priority: int,
    npc: str | None,
) -> Generator[Any, Any, tuple[bool, Any]]:
    begun: list[float] = []

    def job() -> Any:
        begun.append(time.monotonic())
        return chosen.do(operation, args, npc)

    deadline = chosen.timeout + 1
    fail = partial(health.fail, ticket, retry_after=chosen.settings.retry_after)
    try:
        answer = yield offload.run(chosen.lane, job, priority=priority, timeout=deadline)
    except Unreachable as error:
        fail(error)
    except BudgetUsedUp:
        pass  # the log knows
    except ProviderError as error:
        health.misanswered(operation, error)
    except offload.TimedOut as error:
        if begun and time.monotonic() - begun[0] >= chosen.timeout:
            fail(error)
        else:  # it waited behind other calls: that says nothing about the server
            health.complain(operation, error)
    except offload.Busy as error:
        health.complain(operation, error)
    else:
        health.succeed(operation)
        return True, answer
    return False, None


def _affords(chosen: Model, npc: str | None) -> bool:
    try:
        chosen.counts.check(npc, chosen.settings)
    except BudgetUsedUp:
        return False
    return True


def usage() -> dict[str, Any]:
    """What the model cost today (UTC), as plain data.

    Returns:
        {"day", "calls", "tokens_in", "tokens_out", "by_purpose": {operation: {"calls",
        "tokens_in", "tokens_out"}}, "by_npc": {mind: {the same}}}. The first look after a start
        reads one small file.
    """
    counts = _counts()
    counts.load()
    return counts.plain()


def tokens_by_day(agent_id: str) -> list[tuple[str, int]]:
    """(day, tokens) of one mind on the last days, oldest first, today last."""
    counts = _counts()
    counts.load()
    return counts.by_day(agent_id)


def status() -> str:
    """One sentence for builders: who answers, and what is wrong if something is."""
    chosen = model()
    if chosen is None:
        return "offline provider (no language model is set)"
    if health.problem:
        return f"offline provider, because the model server does not answer: {health.problem}"
    try:
        chosen.counts.check(None, chosen.settings)
    except BudgetUsedUp as problem:
        return f"offline provider until midnight UTC, because {problem}"
    return f"{chosen.settings.model} at {chosen.settings.base_url}"
