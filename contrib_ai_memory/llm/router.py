"""The router: chooses the provider of an operation, and asks it off the reactor thread.

The model server or the game's own class is asked first if the setting PROVIDER chooses it; the
offline provider does the work if it gives no answer. The breaker and the token budgets decide
whether the model server is asked at all. Reactor thread.

`settings` are those of an NPC; None is the game's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from functools import lru_cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from twisted.internet import defer

from .. import conf, language, offload
from .breaker import Breaker
from .findings import UNUSABLE, give_up
from .provider import LONGEST, SILENT, Provider, ProviderError, Unreachable
from .tally import Tally, of_call
from .usage import FILE, BudgetUsedUp, Day, Usage

# who may be asked: the model server, the game's own provider, and that of the game's language,
# which does without a model
MODEL, OWN, OFFLINE = "openai", "own", "offline"
ANYBODY, WITHOUT_MODEL = (MODEL, OWN, OFFLINE), (OWN, OFFLINE)
CONVERSE = "converse"  # the operation that somebody waits for
DIGEST = "digest"  # the operation that keeps the memory
breaker = Breaker(meanwhile="The offline provider does the work of nights and background")
reply_breaker = Breaker()  # its own: a slow night sends no reply to the offline provider


@defer.inlineCallbacks
def ask(
    operation: str,
    *args: Any,
    by: Sequence[str] = ANYBODY,
    priority: int = offload.AWAKE,
    npc: str | None = None,
    settings: conf.Settings | None = None,
    tally: Tally | None = None,
) -> Generator[Any, Any, tuple[str, Any]]:
    """Call one operation of the provider protocol off the reactor thread.

    Args:
        operation: A method of `Provider`; of MODEL, `converse` in place of `reply`.
        by: Who is asked until one answers: MODEL, OWN, OFFLINE.
        priority: offload.REPLY, LOOK, AWAKE or NIGHT.
        npc: The agent id charged for it; None charges the game alone.
        settings: Those of the NPC, which choose its provider; None is the game's.
        tally: Counts who does it.

    Returns (as a Deferred):
        The name of the provider that answered, and its answer; "" and None if none did.
    """
    tally = tally or Tally()
    for each in by:
        if each == MODEL:
            name, answer = yield _ask_model(operation, args, priority, npc, settings, tally)
        else:
            name, answer = yield _ask_class(each, operation, args, priority, settings, tally)
        if name:
            tally.made(name)
            return name, answer
    return "", None


@defer.inlineCallbacks
def judge(
    operation: str, *args: Any, settings: conf.Settings | None = None, **asked: Any
) -> Generator[Any, Any, Any]:
    """`ask` the provider that the settings choose, and no other; None if it gives no answer.

    Where a language model is chosen, the rules of the offline provider do not judge in its place
    what is to be retired (docs/adr/023).
    """
    chosen = OFFLINE
    if model_server(settings, operation) is not None:
        chosen = MODEL
    elif own_provider(settings) is not None:
        chosen = OWN
    _name, answer = yield ask(operation, *args, by=(chosen,), settings=settings, **asked)
    return answer


def without_model() -> Any:
    """Return the provider of the game's language, which does the work without a language model."""
    return language.get().provider or SILENT


def rules_judge(settings: conf.Settings | None = None) -> bool:
    """Whether nights are kept by rules, as where the model is small."""
    rules = without_model()
    compares = getattr(type(own_provider(settings) or rules), "compare", None)
    return model_server(settings, "compare") is None and compares is type(rules).compare


def rules_answer(settings: conf.Settings | None = None) -> bool:
    """Whether rules answer what is asked: there is no other provider, or the model is small."""
    chosen = model_server(settings)
    return (chosen is None or chosen.settings.plain) and own_provider(settings) is None


def chosen_name(settings: conf.Settings | None = None) -> str:
    """Return the name of the provider that the settings choose for nights."""
    if model_server(settings, DIGEST) is not None:
        return MODEL
    return (own_provider(settings) or without_model()).name


@defer.inlineCallbacks
def _ask_model(
    operation: str,
    args: tuple[Any, ...],
    priority: int,
    npc: str | None,
    settings: conf.Settings | None,
    tally: Tally,
) -> Generator[Any, Any, tuple[str, Any]]:
    """Ask the model server, unless none is set, its breaker is open or its tokens are used up."""
    chosen = model_server(settings, operation)
    if chosen is None:
        return "", None
    guard = breaker_of(chosen, operation)
    if (ticket := guard.admit()) is None:
        tally.fail(guard.problem)
        return "", None
    begun: list[float] = []
    asked, patience = time.monotonic(), chosen.settings.timeout

    def job() -> Any:
        if time.monotonic() - asked > patience:
            raise offload.TimedOut(f"its turn did not come within {patience:g} s")
        begun.append(time.monotonic())
        return chosen.do(operation, args, npc, tally)

    try:
        answer = yield offload.run(chosen.lane, job, priority=priority, timeout=chosen.timeout + 1)
    except (ProviderError, offload.TimedOut, offload.Busy) as error:
        tally.fail(error)
        late = isinstance(error, offload.TimedOut) and begun
        if isinstance(error, Unreachable) or (
            late and time.monotonic() - begun[0] >= chosen.timeout
        ):
            guard.fail(ticket, error, chosen.settings.retry_after)
        elif not isinstance(error, ProviderError):  # it waited behind other calls
            guard.complain(operation, error)
        elif not isinstance(error, BudgetUsedUp):  # which `Usage` logs
            guard.misanswered(operation, error)
            chosen.unusable += operation == DIGEST
            if chosen.unusable == UNUSABLE:
                name, chosen.unusable = chosen.settings.name, 0
                yield offload.run(offload.MEMORY, give_up, name, priority=offload.NIGHT)
        return "", None
    finally:
        guard.over(ticket)
    guard.succeed(operation)
    chosen.unusable = 0
    return MODEL, answer


@defer.inlineCallbacks
def _ask_class(
    which: str,
    operation: str,
    args: tuple[Any, ...],
    priority: int,
    settings: conf.Settings | None,
    tally: Tally,
) -> Generator[Any, Any, tuple[str, Any]]:
    """Ask the game's OWN provider, if it has one, or the OFFLINE one."""
    own = which == OWN
    provider = own_provider(settings) if own else without_model()
    if provider is None:
        return "", None
    try:
        answer = yield offload.run(
            provider.lane,
            answer_of,
            str((settings or conf.get()).PROVIDER) if own else OFFLINE,
            operation,
            *args,
            priority=priority,
            timeout=provider.timeout,
            reads=not own,
        )
    except (ProviderError, offload.TimedOut, offload.Busy) as error:
        if not own:
            raise
        tally.fail(type(error).__name__)  # its message may quote what was said
        breaker.complain(operation, error)
        return "", None
    if own:
        breaker.succeed(operation)
    return provider.name if own else OFFLINE, answer


def answer_of(provider: str, operation: str, *args: Any) -> Any:
    """Call one operation of a provider, "offline" or the path of a class (worker thread)."""
    chosen = without_model() if provider == OFFLINE else _instance_of(import_string(provider))
    return getattr(chosen, operation)(*args)


# --- the providers that the settings choose -------------------------------------------------------


class ModelServer:
    """The openai provider behind its token budgets, created on the thread that first uses it."""

    def __init__(
        self, settings: conf.LLMSettings, counts: Usage, lane: str, background: int | None
    ):
        self.settings = settings
        self.lane = lane
        self._background = background  # tokens a day, where it does no replies
        self.counts = counts
        self.breaker = Breaker()  # for a model that is not the game's
        self.unusable = 0  # answers at night in a row
        # of a streamed answer, `timeout` counts from one piece to the next
        self.timeout = settings.timeout * LONGEST
        self._provider: Any = None  # an OpenAIProvider
        self._creating = threading.Lock()
        self._here = threading.local()  # the NPC that this thread's call is charged to

    def do(
        self, operation: str, args: tuple[Any, ...], npc: str | None, tally: Tally | None = None
    ) -> Any:
        """Call one operation, charged to `npc` (worker thread)."""
        self.check(npc)
        with self._creating:
            if self._provider is None:
                from .openai_compatible import OpenAIProvider

                self._provider = OpenAIProvider(self.settings, self._count)
        self._here.npc = npc
        if tally:
            tally.calls += 1
        counting = of_call.set(tally)
        try:
            return getattr(self._provider, operation)(*args)
        finally:
            of_call.reset(counting)

    def check(self, npc: str | None) -> None:
        """Raise BudgetUsedUp if there are no tokens left for such work."""
        self.counts.check(npc, self.settings, self._background)

    def _count(self, purpose: str, tokens_in: int, tokens_out: int) -> None:
        self.counts.count(purpose, self._here.npc, tokens_in, tokens_out)
        if tally := of_call.get():
            tally.tokens += tokens_in + tokens_out


def model_server(
    settings: conf.Settings | None = None, operation: str = CONVERSE
) -> ModelServer | None:
    """Return the model for an operation; None if the settings choose another provider."""
    settings = settings or conf.get()
    if settings.LLM is None or settings.PROVIDER not in (None, MODEL):
        return None
    if operation == CONVERSE:
        if not settings.LLM.speaks:
            return None
        return _model_server_of(settings.LLM, _counts(), offload.MODEL, None)
    night, background = settings.LLM_NIGHT, settings.background_llm
    if night is None or background is None:
        return None
    return _model_server_of(background, _counts(), offload.BACKGROUND_MODEL, night.daily_tokens)


def breaker_of(chosen: ModelServer, operation: str) -> Breaker:
    """Return a model's breaker: the game's have one for replies and one for the rest, and a wrong
    name in one NPC's settings stops no other NPC."""
    if chosen is not model_server(None, operation):
        return chosen.breaker
    return reply_breaker if operation == CONVERSE else breaker


def own_provider(settings: conf.Settings | None = None) -> Provider | None:
    """Return the instance of the class that PROVIDER names; None if it names none.

    Raises:
        ImproperlyConfigured: There is no such class, or it is no provider.
    """
    path = (settings or conf.get()).PROVIDER
    if path in (None, OFFLINE, MODEL):
        return None
    try:
        provider = _instance_of(import_string(path))
    except Exception as error:  # the game's own code runs here
        raise ImproperlyConfigured(
            f"it cannot be loaded ({type(error).__name__}: {error})."
        ) from error
    if not isinstance(provider, Provider):
        raise ImproperlyConfigured(
            "it is no provider: it needs the methods of contrib_ai_memory.llm.provider.Provider."
        )
    return provider


_model_server_of = lru_cache(maxsize=64)(ModelServer)  # two for each model that an NPC is set to


@lru_cache(maxsize=1)
def _instance_of(kind: type[Provider]) -> Provider:
    return kind()


# --- what it costs, and who answers ---------------------------------------------------------------


def usage() -> Day:
    """Return what the model cost today (UTC)."""
    return _counts().today()


def tokens_by_day(agent_id: str) -> list[tuple[str, int]]:
    """Return (day, tokens) of one NPC for the last days, oldest first, today last."""
    return _counts().by_day(agent_id)


def status(settings: conf.Settings | None = None, npc: str | None = None) -> str:
    """Return a phrase for builders: who answers an NPC of that id, and what is wrong."""
    settings = settings or conf.get()
    own = own_provider(settings)
    if own is not None:
        return f"{own.name} ({settings.PROVIDER}), a provider of the game's own"
    chosen = model_server(settings)
    if settings.LLM and not settings.LLM.speaks:
        return f"offline provider, because {settings.LLM.name} is too small to talk"
    if chosen is None and (model_server() or own_provider()):
        return "offline provider (this NPC is set to do without a language model)"
    if chosen is None:
        return "offline provider (no language model is set)"
    replying = breaker_of(chosen, CONVERSE).problem
    background = model_server(settings, "digest")
    if problem := replying or (background and breaker_of(background, "digest").problem):
        whose = "" if replying else " for nights and background work"
        return f"offline provider{whose}, because the model server does not answer: {problem}"
    if used_up := _spent(chosen, npc):
        return f"offline provider until midnight UTC, because {used_up}"
    told = chosen.settings.name
    night = settings.night_llm
    if night is None or settings.background_llm:
        return told
    why = conf.found_of(night).get("nights") or "it is small"
    return f"{told}; rules keep the nights, because {why}"


def is_away(settings: conf.Settings, npc: str | None) -> bool:
    """Whether a model is set for nights and is not asked now: unreachable, or its tokens spent."""
    chosen = model_server(settings, "digest")
    return chosen is not None and bool(breaker.problem or _spent(chosen, npc))


def _spent(chosen: ModelServer, npc: str | None) -> str:
    """Return which tokens are used up, "" if there are some left."""
    try:
        chosen.check(npc)
    except BudgetUsedUp as used:
        return str(used)
    return ""


_usage_in = lru_cache(maxsize=1)(Usage)


def _counts() -> Usage:
    return _usage_in(conf.directory() / FILE)
