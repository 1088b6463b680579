"""A trial of a model server: what it takes, how fast it is, and what to set.

Some ten small calls. Blocking; for the command line. Nothing of the game is sent. Each call is
waited for longer than the game would (`PATIENCE`), so that a slow server is told from one that
cannot do a thing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import conf
from ..records import Entry
from . import prompts, tools
from .findings import note
from .model_server_info import context_length, models, parameters
from .openai_compatible import OpenAIProvider
from .provider import Passage, ProviderError, Refused, Unreachable
from .usage import CHARACTERS_PER_TOKEN

OK, POOR, BAD = "ok", "poor", "bad"
PASSWORD = "heron"  # told at the beginning of a prompt of CONTEXT_TOKENS, and asked for at its end
SLOW_SECONDS = 10.0  # for a reply
PATIENCE = 300.0  # seconds that a call of the trial is waited for
SPARE = 1.5  # times what was measured, for a busier machine
ENTRY = Entry(
    1, "2026-01-01T00:00:00+00:00", "I keep the ferry at Millbrook.", "say", seen_as="Alice"
)
GREETING = [
    {"role": "system", "content": "You are Mara, an innkeeper. Answer in one short sentence."},
    {"role": "user", "content": "Good evening!"},
]


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One thing that was tried, what was seen, and what to set."""

    what: str
    verdict: str  # OK, POOR or BAD
    seen: str
    advice: str = ""
    wanted: Mapping[str, Any] = field(default_factory=dict)  # settings with which it was better


def trial(settings: conf.LLMSettings, context_tokens: int) -> Iterator[TrialResult]:
    """Try a server, and keep what was found. Ends early if it does not answer at all."""
    patient = settings.model_copy(update={"timeout": max(settings.timeout, PATIENCE)})
    provider = OpenAIProvider(patient)
    first = _reply(provider, settings)
    yield first
    if first.verdict == BAD:
        return
    yield from _size(settings)
    if not settings.speaks:
        return
    if provider.streamed:
        yield TrialResult("streaming", OK, "the answer came in pieces")
    else:
        yield TrialResult("streaming", POOR, "the answer came in one piece")
    if not settings.plain:
        yield _json(provider, settings)
        yield _tools(provider)
    for refused, instead in provider.refused_parameters:
        seen = f"the server takes no {refused}" + (f", but {instead}" if instead else "")
        yield TrialResult("parameters", OK, f"{seen}; that is done")
    yield _context(provider, settings, prompts.window(context_tokens, plain=settings.plain))


def _reply(provider: OpenAIProvider, settings: conf.LLMSettings) -> TrialResult:
    try:
        text, seconds = _greeting(provider)
        if seconds > SLOW_SECONDS:  # the first call may load the model
            text, seconds = _greeting(provider)
    except ProviderError as problem:
        known = ", ".join(models(settings)[:8])
        advice = f"The server has the models {known}." if known else "Check LLM.base_url."
        return TrialResult("a reply", BAD, str(problem), advice)
    seen = f"{text!r} in {seconds:.1f} s"
    if seconds > settings.timeout / 2:
        longer = math.ceil(seconds * 2 * SPARE)
        advice = f"Raise LLM.timeout to {longer}, or take a smaller model."
        return TrialResult("a reply", POOR, seen, advice, {"timeout": longer})
    if seconds > SLOW_SECONDS:
        return TrialResult("a reply", POOR, seen, "Players wait long: take a smaller model.")
    return TrialResult("a reply", OK, seen)


def _greeting(provider: OpenAIProvider) -> tuple[str, float]:
    """Return an answer to a greeting, and the seconds that it took."""
    began = time.monotonic()
    return provider.converse(GREETING, ()).text, time.monotonic() - began


def _size(settings: conf.LLMSettings) -> Iterator[TrialResult]:
    """Find out whether a model is small; kept for the game, where `style` is not set."""
    if size := parameters(settings):
        note(settings.name, style=conf.manner_of(size))
        asked = " It is small: rules answer questions and keep the memory, and it makes small talk."
        seen = f"{size:.2g}B parameters."
        if settings.speaks:
            yield TrialResult("size", OK, seen + asked * settings.plain)
        else:
            advice = f"It is not asked: take a model of 1B or more, at least {conf.SPEAKS_FROM:g}B."
            yield TrialResult("size", BAD, f"{seen} It is too small to talk.", advice)


UNUSABLE = "it wrote no JSON when it was tried"
NIGHTS = "Rules keep the memory from now on, and the model only speaks, until a trial succeeds."
TRY_AGAIN = "Whether it can keep the memory was not found out: mend that, and try again."


def _json(provider: OpenAIProvider, settings: conf.LLMSettings) -> TrialResult:
    """Ask for JSON in the strictest form that the server takes, as a night does."""
    try:
        began = time.monotonic()
        provider.digest(Passage("Mara", (ENTRY,)))
        seconds = time.monotonic() - began
    except Unreachable as problem:
        return TrialResult("JSON", POOR, f"{problem}: it was too slow, or failed", TRY_AGAIN)
    except Refused as problem:
        return TrialResult("JSON", POOR, f"{problem}: its context may be too short", TRY_AGAIN)
    except ProviderError as problem:
        note(settings.name, nights=UNUSABLE)
        return TrialResult("JSON", POOR, str(problem), NIGHTS)
    note(settings.name, nights="")
    form = provider.form
    seen = f"by {form}, in {seconds:.1f} s"
    if seconds > settings.timeout:
        longer = math.ceil(seconds * SPARE)
        advice = f"Nights give up before that: set LLM_NIGHT.timeout to {longer}."
        return TrialResult("JSON", POOR, seen, advice, {"timeout": longer})
    if form == prompts.FORMS[0]:
        return TrialResult("JSON", OK, seen)
    return TrialResult(
        "JSON", POOR, seen, "A server that takes json_schema gives fewer bad answers."
    )


def _tools(provider: OpenAIProvider) -> TrialResult:
    offered = tools.offered([tools.Recall])
    asked = [
        {"role": "system", "content": "You are Mara. Call the tool recall before you answer."},
        {"role": "user", "content": "Alice says: What did I tell you of the ferry?"},
    ]
    try:
        turn = provider.converse(asked, offered)
    except ProviderError as problem:
        return TrialResult("tools", POOR, str(problem), "NPCs answer without tools.")
    if provider.takes_tools is False:
        advice = "Start vLLM with --enable-auto-tool-choice, llama.cpp with --jinja."
        return TrialResult("tools", POOR, "the server refuses them", advice)
    if not turn.calls:
        return TrialResult("tools", POOR, "taken, but the model called none", "")
    return TrialResult("tools", OK, f"the model called {turn.calls[0].name}")


def _context(
    provider: OpenAIProvider, settings: conf.LLMSettings, context_tokens: int
) -> TrialResult:
    """Send a prompt of up to so many tokens, and see whether its beginning was read."""
    known = context_length(settings)
    if known and known < context_tokens:
        return _too_short(f"the server says {known} tokens", known, settings)
    line = "The river is calm today, and the ferry goes as it always does.\n"
    answer_tokens = min(settings.max_tokens, context_tokens // 8)
    tokens = int((context_tokens - answer_tokens) * 0.9)
    told = f"The password is {PASSWORD}. Remember it.\n"
    lines = line * (tokens * CHARACTERS_PER_TOKEN // len(line))
    asked = [{"role": "user", "content": told + lines + "What is the password?"}]
    began = time.monotonic()
    try:
        turn = provider.converse(asked, ())
    except Refused as problem:
        return _too_short(str(problem), known, settings)
    except ProviderError as problem:
        return TrialResult("context", BAD, f"{problem}: {tokens} tokens were not read", SHORTER)
    seconds = time.monotonic() - began
    if not known and PASSWORD not in turn.text.lower():
        return _too_short("the beginning of a long prompt was not read", known, settings)
    says = f"; the server says {known}" if known else ""
    seen = f"{tokens} tokens were read in {seconds:.0f} s{says}"
    if seconds <= settings.timeout:
        return TrialResult("context", OK, seen)
    longer = math.ceil(seconds * SPARE)
    fewer = int(tokens / seconds * settings.timeout / SPARE) // 100 * 100
    shorter = "" if settings.plain else f", or CONTEXT_TOKENS to {fewer}"
    advice = f"Set LLM.timeout to {longer}{shorter}."
    return TrialResult("context", POOR, seen, advice, {"timeout": longer})


NEEDS = f"It needs {prompts.PLAIN_WINDOW}."
SHORTER = "Lower CONTEXT_TOKENS, or take a smaller model."


def _too_short(seen: str, known: int | None, settings: conf.LLMSettings) -> TrialResult:
    if settings.plain:  # another setting would not make its prompts shorter
        advice = f"Ollama: set OLLAMA_CONTEXT_LENGTH or num_ctx; llama.cpp: -c. {NEEDS}"
        return TrialResult("context", BAD, seen, advice)
    fitting = known or 4096
    advice = (
        "Ollama: set OLLAMA_CONTEXT_LENGTH or num_ctx to CONTEXT_TOKENS; vLLM: --max-model-len; "
        f"llama.cpp: -c. Or set CONTEXT_TOKENS to {fitting}."
    )
    return TrialResult("context", BAD, seen, advice, {"CONTEXT_TOKENS": fitting})
