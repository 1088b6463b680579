"""The openai provider: any OpenAI-compatible server (OpenAI, vLLM, Ollama, llama.cpp).

Blocking; runs on the MODEL lane. Every call has a hard time-out and a bounded response, and every
failure that a server can cause is raised as a `ProviderError`. Importing this module takes a
second: `router` does it with the first call.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import openai
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from .. import conf, offload
from ..log import logger
from ..records import MemoryRecord
from . import prompts, schemas
from .model_server_info import listed, mapping
from .prompts import Messages
from .provider import (
    LONGEST,
    AttributeDraft,
    Digest,
    InsightDraft,
    Observation,
    Pair,
    Passage,
    ProviderError,
    Refused,
    Relation,
    Unreachable,
)
from .schemas import Unfit
from .spoken import NO_VOICE, Voice, closes_unopened, utterance
from .tools import Tool, Turn, turn_in, without_tools
from .usage import estimated

Counter = Callable[[str, int, int], None]  # purpose, tokens in, tokens out
# whether a text that is not finished holds all that is needed: nobody waits for a long tail
Enough = Callable[[str], bool]

ANSWER_BYTES = 2_000_000  # of one HTTP response: a long one is some 50 kB
REPAIR_LENGTH = 4000  # characters of an unusable answer that the model is shown to repair it
REFUSAL_BYTES = 4000  # of an error, which may repeat the prompt
LEAST_SECONDS = 0.05
CHECKED_EVERY = 24  # characters between two looks at the text of a streamed answer
CALLS_KEPT = 64

_FORM_REFUSED = (400, 422)
_BAD_REQUEST = (400, 413, 422)  # a filter, a long prompt: the next request may succeed
_NAMING = (400, 422, 500, 501)  # errors that may name a parameter (llama.cpp: 500)
# parameters that some servers or models refuse, and what is sent instead
_ADAPTATIONS = (
    ("max_tokens", "max_completion_tokens"),
    ("temperature", ""),
    ("stream_options", ""),
    ("stream", ""),
)
# how JSON is asked for, the strictest first, and whether with bounds of lists and numbers
_LADDER = ((prompts.FORMS[0], True), *((form, False) for form in prompts.FORMS))
_TOO_LONG = re.compile(r"context.{0,20}(?:length|size|window)|too (?:large|long)", re.IGNORECASE)
_RETRIED = (408, 409, 425, 429, 500, 502, 503, 504)
_BACKOFF = wait_random_exponential(multiplier=0.5, max=5)


class OpenAIProvider:
    """Chat Completions over HTTP; `count` is called for every answered call."""

    name = "openai"
    lane = offload.MODEL

    def __init__(self, settings: conf.LLMSettings, count: Counter = lambda *_: None):
        self.settings = settings
        self.timeout = settings.timeout
        self._rung = 0  # of `_LADDER`, the first one tried for a new response model
        self.takes_tools: bool | None = None  # unknown
        self.streamed = False  # the last answer came in pieces
        self._count = count
        self._rungs: dict[str, int] = {}  # response model → the one that the server takes for it
        # whether answers begin with reasoning that they only close; the first is read to its end
        self._begins_in_thought: bool | None = None
        self._parameters: dict[str, Any] = {  # replaced, never changed
            "max_tokens": settings.max_tokens,
            "temperature": settings.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        self._adapting_lock = threading.Lock()
        self._here = threading.local()  # the `_Exchange` of this thread
        self._client = openai.OpenAI(
            base_url=settings.base_url.get_secret_value(),
            api_key=settings.api_key.get_secret_value(),
            max_retries=0,  # tenacity retries, under one deadline
            default_headers={"Accept-Encoding": "identity"},  # so that the size read is bounded
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False,
                event_hooks={"response": [lambda response: self._here.exchange.read(response)]},
            ),
        )

    @property
    def form(self) -> str:
        """How JSON is asked for, one of `prompts.FORMS`."""
        return _LADDER[self._rung][0]

    @property
    def refused_parameters(self) -> list[tuple[str, str]]:
        """Parameters that it refused, each with what is sent instead ("" for nothing)."""
        return [each for each in _ADAPTATIONS if each[0] not in self._parameters]

    # --- the protocol -------------------------------------------------------------------------

    def converse(self, messages: Messages, tools: Sequence[Tool], voice: Voice = NO_VOICE) -> Turn:
        """Continue a talk: a text, or tool calls; not empty unless tools were called before.

        Every call in `messages` is followed by its result. The text is fit to be spoken.
        """

        def enough(text: str) -> bool:
            if self._begins_in_thought is None or (
                self._begins_in_thought and not closes_unopened(text)
            ):
                return False
            return utterance(text, voice, whole=False).ended

        answer = self._with_tools(messages, tools, time.monotonic() + self.timeout, enough)
        if answer.text.strip():
            self._begins_in_thought = self._begins_in_thought or closes_unopened(answer.text)
        told = messages[-1]["role"] == "tool"
        turn = turn_in(answer, tools, voice, after=told)
        if not (turn.text or turn.calls or turn.seen or told):
            written = "nothing that can be spoken" if answer.text.strip() else "an empty answer"
            raise ProviderError(f"{self.settings.base_url}: the model gave {written}")
        return turn

    def digest(self, passage: Passage) -> Digest:
        form = schemas.JudgingDigestAnswer if passage.unjudged else schemas.DigestAnswer
        bounds = schemas.digest_bounds(passage)
        return self._drafts("digest", prompts.digest(passage), form, passage, bounds=bounds)

    def summarise(self, lines: Sequence[str]) -> str:
        return self._drafts("summarise", prompts.summary(lines), schemas.SummaryAnswer)

    def describe(
        self, name: str, observations: Sequence[Observation], known: Sequence[str] = ()
    ) -> list[AttributeDraft]:
        observed = dict(enumerate((seen.journal_id for seen in observations), start=1))
        values = dict(enumerate(known, start=schemas.FIRST_KNOWN))
        asked = prompts.profile(name, observations, known)
        return self._drafts("describe", asked, schemas.AttributesAnswer, observed, values)

    def ask_oneself(self, memories: Sequence[MemoryRecord], npc_name: str) -> list[str]:
        asked = prompts.questions(memories, npc_name)
        return self._drafts("ask_oneself", asked, schemas.QuestionsAnswer)

    def reflect(
        self,
        questions: Sequence[tuple[str, Sequence[MemoryRecord]]],
        npc_name: str,
        known: Sequence[str] = (),
    ) -> list[InsightDraft]:
        evidence = {memory.id: memory for _, memories in questions for memory in memories}
        said = [question for question, _ in questions]
        asked = prompts.insights(said, list(evidence.values()), npc_name, known)
        ids = dict(enumerate(evidence, start=1))
        return self._drafts("reflect", asked, schemas.InsightsAnswer, ids)

    def compare(self, pairs: Sequence[Pair]) -> list[Relation]:
        asked = prompts.comparison(pairs)
        return self._drafts("compare", asked, schemas.ComparisonAnswer, len(pairs))

    # --- tools --------------------------------------------------------------------------------

    def _with_tools(
        self, messages: Messages, tools: Sequence[Tool], deadline: float, enough: Enough
    ) -> schemas.Completion:
        """Ask a server that may not support tools, and remember if it refuses them."""
        told = any(message["role"] == "tool" for message in messages)
        if (tools or told) and self.takes_tools is not False:
            options = {"tools": list(tools)} if tools else {}
            try:
                answer = self._answered("reply", messages, deadline, enough, **options)
            except Refused as refusal:
                # tools that were accepted before are not the reason, unless it names them: it may
                # have been started again, without them
                unlikely = refusal.status not in _FORM_REFUSED or (tools and self.takes_tools)
                if unlikely and not refusal.named:
                    raise
            else:
                self.takes_tools = bool(tools) or self.takes_tools
                return answer
        answer = self._answered("reply", without_tools(messages), deadline, enough)
        if tools and self.takes_tools is not False:
            self.takes_tools = False
            logger().info("model server: takes no tools, is asked without them.")
        return answer

    # --- structured answers -------------------------------------------------------------------

    def _drafts(
        self,
        purpose: str,
        messages: Messages,
        model: type[Any],
        *asked: Any,
        bounds: schemas.Bounds | None = None,
    ) -> Any:
        """Ask for an answer of a schema, and return its `drafts`; an unfit one is sent back once.

        One that was cut off is read as far as it is whole: the next would be as long.
        """
        deadline = time.monotonic() + self.timeout
        answer = self._formed(purpose, messages, model, deadline, bounds)
        try:
            return schemas.understood(model, answer.text, cut_off=answer.cut_off).drafts(*asked)
        except Unfit as error:
            if answer.cut_off:
                raise
            problem = error
        again = prompts.repair(messages, answer.text[:REPAIR_LENGTH], str(problem))
        try:
            answer = self._formed(purpose, again, model, deadline, bounds)
        except Unreachable:
            raise problem from None  # the server was there, but no time was left for the repair
        return schemas.understood(model, answer.text, cut_off=answer.cut_off).drafts(*asked)

    def _formed(
        self,
        purpose: str,
        messages: Messages,
        model: type[Any],
        deadline: float,
        bounds: schemas.Bounds | None,
    ) -> schemas.Completion:
        """Ask in the strictest form that this server accepts, `_LADDER` rung by rung."""
        settled = model.__name__ in self._rungs
        rung = first = max(self._rungs.get(model.__name__, self._rung), 0 if bounds else 1)
        while True:
            form, bounded = _LADDER[rung]
            asked, options = prompts.in_form(messages, model, form, bounds if bounded else None)
            try:
                answer = self._answered(purpose, asked, deadline, None, **options)
                break
            except Refused as refusal:
                # a form that was accepted before is not the reason
                if settled or refusal.status not in _FORM_REFUSED or rung == len(_LADDER) - 1:
                    raise
                rung += 1
        self._rungs[model.__name__] = rung
        if rung > max(first, self._rung):
            self._rung = rung
            refused = _LADDER[first][0] + " with bounds" * (rung == 1)
            logger().info("model server: takes no %s, is asked for %s.", refused, form)
        if not answer.text.strip():
            raise ProviderError(f"{self.settings.base_url}: the model gave an empty answer")
        return answer

    # --- one call -----------------------------------------------------------------------------

    def _answered(
        self,
        purpose: str,
        messages: Messages,
        deadline: float,
        enough: Enough | None,
        **options: object,
    ) -> schemas.Completion:
        """Ask, again after a passing fault and for each parameter that is refused by name."""
        settings = self.settings
        left = max(deadline - time.monotonic(), LEAST_SECONDS)
        attempts = Retrying(
            retry=retry_if_exception(self._is_passing),
            stop=stop_after_attempt(settings.retries + 1) | stop_before_delay(left),
            wait=_pause,
            reraise=True,
        )
        started = time.monotonic()
        try:
            while True:
                sent = self._parameters
                if "stream" not in sent:
                    sent = {key: sent[key] for key in sent if key != "stream_options"}
                try:
                    attempts(self._post, messages, deadline, enough, sent | options)
                    break
                except openai.APIStatusError:
                    if not self._adapt(sent):
                        raise
        except openai.OpenAIError as error:
            status = getattr(error, "status_code", 0)
            # without the server's text, which may repeat the prompt
            kind = type(error).__name__ + (f" (HTTP {status})" if status else "")
            seconds = time.monotonic() - started
            logger().info("%s: no answer, %.2f s, %s (%s)", purpose, seconds, settings.model, kind)
            problem = f"{settings.base_url}: {kind}"
            if status in _BAD_REQUEST:  # it may repeat words of the talk
                raise Refused(problem, status) from None
            if "tools" in options and self._refuses_tools():
                raise Refused(f"{problem}: takes no tools", status, named=True) from None
            raise Unreachable(problem, _pause_asked(error)) from None
        return self._counted(purpose, messages, time.monotonic() - started)

    def _post(
        self, messages: Messages, deadline: float, enough: Enough | None, sent: dict[str, Any]
    ) -> None:
        """Send one request; the `_Exchange` of this thread reads its response."""
        self._here.exchange = exchange = _Exchange(deadline, self.settings.timeout, enough)
        create = self._client.chat.completions.with_streaming_response.create
        with create(
            model=self.settings.model,
            messages=messages,
            timeout=max(deadline - time.monotonic(), LEAST_SECONDS),
            **sent,
        ) as response:
            self.streamed = exchange.streamed
            if exchange.slow:
                raise openai.APITimeoutError(response.http_request)

    def _refuses_tools(self) -> bool:
        """Whether the last error says so (llama.cpp without --jinja does by HTTP 500)."""
        return _names(self._here.exchange.refusal, "tools")

    def _is_passing(self, error: BaseException) -> bool:
        if isinstance(error, openai.APIStatusError):
            return error.status_code in _RETRIED and not self._refuses_tools()
        return isinstance(error, openai.APIConnectionError)

    def _adapt(self, sent: Container[str]) -> bool:
        """Change a parameter that the last refusal names; remembered for this server."""
        refusal = self._here.exchange.refusal
        if not refusal or _TOO_LONG.search(refusal):
            return False
        for name, instead in _ADAPTATIONS:
            if name in sent and _names(refusal, name):
                with self._adapting_lock:
                    if name in self._parameters:  # else another thread has changed it meanwhile
                        kept = {k: v for k, v in self._parameters.items() if k != name}
                        more = {instead: self.settings.max_tokens} if instead else {}
                        self._parameters = kept | more
                        told = "model server: takes no %s, is sent %s."
                        logger().info(told, name, instead or "none")
                return True
        return False

    def _counted(self, purpose: str, messages: Messages, seconds: float) -> schemas.Completion:
        """Parse this thread's response and count its tokens, also if it cannot be used."""
        settings, exchange = self.settings, self._here.exchange
        asked = prompts.tokens(messages)
        tokens = (asked, min(estimated(len(exchange.body)), settings.max_tokens))
        try:
            if exchange.problem:
                raise ProviderError(exchange.problem)
            answer = schemas.completion(exchange.body)
            tokens = answer.tokens or (asked, estimated(len(answer.text)))
        except ProviderError as error:
            raise ProviderError(f"{settings.base_url}: {error}") from None
        finally:
            told = "%s: %d tokens in, %d out, %.2f s, %s"
            logger().info(told, purpose, *tokens, seconds, settings.model)
            self._count(purpose, *tokens)
        if answer.cut_off:
            logger().info("%s: cut off at LLM.max_tokens, %d", purpose, settings.max_tokens)
        return answer


@dataclass
class _Exchange:
    """One request, and its response as far as it is read."""

    deadline: float
    patience: float
    enough: Enough | None  # ends the reading of a streamed answer, when it is true of its text
    body: bytes = b""
    problem: str = ""  # why the body cannot be used
    refusal: str = ""  # beginning of an error, which may name a parameter; never shown or logged
    streamed: bool = False
    slow: bool = False

    def read(self, response: Any) -> None:
        """Hook of the HTTP client: read a response within its bounds, in time and size."""
        if not response.is_success:
            self._read_refusal(response)
            return
        body = bytearray()
        self.streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        stream = _Stream(self.enough) if self.streamed else None
        last = self.deadline + (LONGEST - 1) * self.patience
        try:
            for part in response.iter_raw():
                body += part
                written = stream.length if stream else 0
                if stream and stream.feed(part):
                    break
                if len(body) > ANSWER_BYTES:
                    self.problem = f"an answer of more than {ANSWER_BYTES // 1_000_000} MB"
                    break
                if stream and stream.length > written:
                    self.deadline = min(last, time.monotonic() + self.patience)
                if time.monotonic() > self.deadline:
                    self.slow = not (stream and stream.length)
                    break
        except Exception:  # of the HTTP library that openai brings
            if not (stream and stream.length and self.enough):
                raise  # else what was written is spoken as far as it is whole
        response.close()  # a server that is still writing stops
        self.body = bytes(body)
        if stream:
            self.problem = self.problem or stream.error
            self.body = stream.body()

    def _read_refusal(self, response: Any) -> None:
        text = bytearray()
        if response.status_code in _NAMING:
            # not by iter_raw: the client would then expect the whole text to have been read
            for part in response.stream:
                text += part
                if len(text) > REFUSAL_BYTES or time.monotonic() > self.deadline:
                    break
        response.close()
        self.refusal = bytes(text[:REFUSAL_BYTES]).decode("utf-8", "replace")


class _Stream:
    """A streamed answer so far: server-sent events become one Chat Completions response."""

    def __init__(self, enough: Enough | None):
        self._enough = enough
        self._rest = b""
        self._text: list[str] = []
        self.length = self._checked = 0  # characters
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish: str | None = None
        self._usage: Any = None
        self._done = False
        self.error = ""

    def feed(self, part: bytes) -> bool:
        """Take a piece of the body. Returns whether no more is needed."""
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._event(line[5:].strip())
        if self._enough and self.length - self._checked >= CHECKED_EVERY and not self._done:
            self._checked = self.length
            self._done = self._enough("".join(self._text))
        return self._done

    def body(self) -> bytes:
        """Return it as the body of a response that was not streamed."""
        message = {"content": "".join(self._text), "tool_calls": list(self._calls.values())}
        broken_off = self._finish is None and not self._done
        choice = {"message": message, "finish_reason": "length" if broken_off else self._finish}
        return json.dumps({"choices": [choice], "usage": self._usage}).encode()

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self._done = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self.error = "a streamed answer that is not JSON"
            return
        event = mapping(event)
        if event.get("error"):
            self.error = "an error in the middle of its answer"
        self._usage = event.get("usage") or self._usage
        for choice in map(mapping, listed(event.get("choices"))[:1]):
            finish = choice.get("finish_reason")
            self._finish = finish if isinstance(finish, str) else self._finish
            self._add(mapping(choice.get("delta")))

    def _add(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if isinstance(content, str):
            self._text.append(content)
            self.length += len(content)
        for place, piece in enumerate(map(mapping, listed(delta.get("tool_calls")))):
            number = piece.get("index")
            number = number if isinstance(number, int) else len(self._calls) + place
            if number not in self._calls and len(self._calls) >= CALLS_KEPT:
                continue
            call = self._calls.setdefault(
                number, {"id": None, "function": {"name": "", "arguments": ""}}
            )
            call["id"] = call["id"] or piece.get("id")
            for key in ("name", "arguments"):
                given = mapping(piece.get("function")).get(key)
                if isinstance(given, dict):
                    given = json.dumps(given)  # some servers send the object itself
                if isinstance(given, str):
                    call["function"][key] += given


def _names(refusal: str, parameter: str) -> bool:
    """Whether an error names a parameter as its reason, rather than repeats a word of the talk."""
    if parameter == "stream":
        return bool(re.search(r"\bstream(?:ing)?\b", refusal))
    said = rf"['\"`]{parameter}\b|\b{parameter}(?::| (?:is|does|must|not|cannot|param)\b)"
    return bool(re.search(said, refusal))


def _pause(state: RetryCallState) -> float:
    """Return the seconds before the next attempt: Retry-After, else a random backoff."""
    asked = _pause_asked(state.outcome.exception() if state.outcome else None)
    return _BACKOFF(state) if asked is None else asked


def _pause_asked(error: BaseException | None) -> float | None:
    return retry_after(error.response.headers) if isinstance(error, openai.APIStatusError) else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read `Retry-After` in seconds; None for anything else."""
    asked = headers.get("retry-after", "").strip()
    return float(asked[:9]) if asked.isascii() and asked.isdigit() else None
