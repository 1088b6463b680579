"""A trial of the configured model server: what it takes, how fast it is, and what to set.

Some ten small calls. Blocking; for the command line. Nothing of the game is sent.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from .. import conf
from ..records import Entry
from . import prompts, tools
from .findings import note
from .model_server_info import context_length, models, parameters
from .openai_compatible import OpenAIProvider
from .provider import Passage, ProviderError
from .usage import CHARACTERS_PER_TOKEN

OK, POOR, BAD = "ok", "poor", "bad"
PASSWORD = "heron"  # told at the beginning of a prompt of CONTEXT_TOKENS, and asked for at its end
SLOW_SECONDS = 10.0  # for a reply
ENTRY = Entry(
    1, "2026-01-01T00:00:00+00:00", "I keep the ferry at Millbrook.", "say", seen_as="Alice"
)
GREETING = [
    {"role": "system", "content": "You are Mara, an innkeeper. Answer in one short sentence."},
    {"role": "user", "content": "Alice says: Good evening!"},
]


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One thing that was tried: its verdict (OK, POOR or BAD), what was seen, what to set."""

    what: str
    verdict: str
    seen: str
    advice: str = ""


def trial(settings: conf.LLMSettings, context_tokens: int) -> Iterator[TrialResult]:
    """Try a server, and keep what was found. Ends early if it does not answer at all."""
    provider = OpenAIProvider(settings)
    first = _reply(provider, settings)
    yield first
    if first.verdict == BAD:
        return
    yield from _size(settings)
    yield _streaming(provider)
    json = _json(provider)
    note(settings.name, nights=UNUSABLE if json.advice == NIGHTS else "")
    yield json
    if not settings.plain:
        yield _tools(provider)
    yield from _parameters(provider)
    yield _context(provider, settings, context_tokens)


def _reply(provider: OpenAIProvider, settings: conf.LLMSettings) -> TrialResult:
    began = time.monotonic()
    try:
        turn = provider.converse(GREETING, ())
    except ProviderError as problem:
        known = ", ".join(models(settings)[:8])
        advice = f"The server has the models {known}." if known else "Check LLM.base_url."
        return TrialResult("a reply", BAD, str(problem), advice)
    seconds = time.monotonic() - began
    seen = f"{turn.text!r} in {seconds:.1f} s"
    if seconds > settings.timeout / 2:
        advice = f"Raise LLM.timeout to {round(seconds * 4)}, or take a smaller model."
        return TrialResult("a reply", POOR, seen, advice)
    if seconds > SLOW_SECONDS:
        return TrialResult("a reply", POOR, seen, "Players wait long: take a smaller model.")
    return TrialResult("a reply", OK, seen)


def _size(settings: conf.LLMSettings) -> Iterator[TrialResult]:
    """Find out whether a model is small; kept for the game, where `style` is not set."""
    if size := parameters(settings):
        small = size < conf.SMALL_BELOW
        note(settings.name, style="plain" if small else "full")
        asked = " It is asked plainly: no tools; rules keep the nights, and it words facts."
        seen = f"{size:.2g}B parameters." + asked * settings.plain
        yield TrialResult("size", OK, seen)


def _streaming(provider: OpenAIProvider) -> TrialResult:
    if provider.streamed:
        return TrialResult("streaming", OK, "the answer came in pieces")
    return TrialResult("streaming", POOR, "the answer came in one piece")


UNUSABLE = "it wrote no JSON when it was tried"
NIGHTS = "Rules keep the memory from now on, and the model only speaks, until a trial succeeds."


def _json(provider: OpenAIProvider) -> TrialResult:
    """Ask for JSON in the strictest form that the server takes, as a night does."""
    try:
        began = time.monotonic()
        provider.digest(Passage("Mara", (ENTRY,)))
        seconds = time.monotonic() - began
    except ProviderError as problem:
        return TrialResult("JSON", POOR, str(problem), NIGHTS)
    form = provider.form
    seen = f"by {form}, in {seconds:.1f} s"
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
        return TrialResult("tools", BAD, str(problem), "NPCs answer without tools.")
    if provider.takes_tools is False:
        advice = "Start vLLM with --enable-auto-tool-choice, llama.cpp with --jinja."
        return TrialResult("tools", POOR, "the server refuses them", advice)
    if not turn.calls:
        return TrialResult("tools", POOR, "taken, but the model called none", "")
    return TrialResult("tools", OK, f"the model called {turn.calls[0].name}")


def _parameters(provider: OpenAIProvider) -> Iterator[TrialResult]:
    for refused, instead in provider.refused_parameters:
        seen = f"the server takes no {refused}" + (f", but {instead}" if instead else "")
        yield TrialResult("parameters", OK, f"{seen}; that is done")


def _context(
    provider: OpenAIProvider, settings: conf.LLMSettings, context_tokens: int
) -> TrialResult:
    """Send a prompt as long as the settings allow, and see whether its beginning was read."""
    line = "The river is calm today, and the ferry goes as it always does.\n"
    answer_tokens = min(settings.max_tokens, context_tokens // 8)
    room = int((context_tokens - answer_tokens) * 0.9) * CHARACTERS_PER_TOKEN
    told = f"The password is {PASSWORD}. Remember it.\n"
    asked = [
        {"role": "user", "content": told + line * (room // len(line)) + "What is the password?"}
    ]
    known = context_length(settings)
    try:
        turn = provider.converse(asked, ())
    except ProviderError as problem:
        shorter = f"Set CONTEXT_TOKENS to {known or context_tokens // 2}, or start the server with "
        return TrialResult("context", BAD, str(problem), shorter + "a longer context.")
    if known and known < context_tokens:
        return _too_short(f"the server says {known} tokens", known)
    if PASSWORD not in turn.text.lower():
        return _too_short("the beginning of a long prompt was not read", known)
    return TrialResult("context", OK, f"{context_tokens} tokens were read" + _says(known))


def _too_short(seen: str, known: int | None) -> TrialResult:
    advice = (
        f"Ollama: set OLLAMA_CONTEXT_LENGTH or num_ctx to CONTEXT_TOKENS; vLLM: --max-model-len; "
        f"llama.cpp: -c. Or set CONTEXT_TOKENS to {known or 4096}."
    )
    return TrialResult("context", BAD, seen, advice)


def _says(known: int | None) -> str:
    return f"; the server says {known}" if known else ""
