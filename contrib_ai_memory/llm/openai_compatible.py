"""The openai provider: any OpenAI-compatible server (OpenAI, vLLM, Ollama, llama.cpp).

Blocking; runs on the MODEL lane. Every call has a hard time-out, and every failure that a server
can cause ends as one `ProviderError`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from tenacity import (
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from .. import conf, offload
from ..embedding import emotions
from ..records import Entry, ExperienceDraft, FactDraft, Reply, ReplyRequest, Snippet
from . import prompts, responses
from .provider import ProviderError, Unreachable

Answer = TypeVar("Answer", bound=BaseModel)

_OUR_FAULT = (400, 413, 422)  # a filter, a prompt too long: the next request may do
_RETRIED = (408, 409, 425, 429, 500, 502, 503, 504)


class OpenAIProvider:
    """Chat Completions over HTTP."""

    name = "openai"
    lane = offload.MODEL

    def __init__(self, settings: conf.LLMSettings):
        import openai

        self._errors = openai.OpenAIError
        self._status_error = openai.APIStatusError
        self._network_errors = (openai.APIConnectionError, openai.APITimeoutError)
        self._settings = settings
        self.timeout = settings.timeout
        self._client = openai.OpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key,
            timeout=settings.timeout,
            max_retries=0,  # tenacity does that, under one deadline
        )

    def reply(self, request: ReplyRequest) -> Reply:
        text = self._complete(prompts.reply(request)).strip().strip('"“”').strip()
        if not text:
            raise ProviderError("the model answered nothing")
        return Reply(text)

    def extract_experience(self, snippet: Snippet) -> ExperienceDraft | None:
        answer = self._structured(prompts.experience(snippet), responses.ExperienceAnswer)
        return ExperienceDraft(
            essence=answer.essence,
            memory_weight=answer.memory_weight,
            the_lesson=answer.the_lesson,
            dominant_emotions=emotions.validated(answer.dominant_emotions),
        )

    def score_importance(self, entries: Sequence[Entry], goals: str) -> list[int]:
        answer = self._structured(prompts.scores(entries, goals), responses.ScoresAnswer)
        if len(answer.scores) != len(entries):
            raise ProviderError(
                f"the model scored {len(answer.scores)} entries where {len(entries)} were asked"
            )
        if not all(1 <= score <= 10 for score in answer.scores):
            raise ProviderError("the model gave an importance outside 1-10")
        return answer.scores

    def extract_facts(self, entries: Sequence[Entry], npc_name: str) -> list[FactDraft]:
        answer = self._structured(prompts.facts(entries, npc_name), responses.FactsAnswer)
        known = {entry.id: entry for entry in entries}
        drafts = []
        for fact in answer.facts:
            evidence = tuple(dict.fromkeys(i for i in fact.entry_ids if i in known))
            if evidence:  # a fact that rests on nothing the NPC perceived is invented
                about = {known[entry_id].source_entity for entry_id in evidence}
                drafts.append(
                    FactDraft(
                        text=fact.text,
                        journal_ids=evidence,
                        about=about.pop() if len(about) == 1 else None,
                        memory_type="procedural" if fact.preference else "semantic",
                    )
                )
        return drafts

    # --- one call -----------------------------------------------------------------------------

    def _structured(self, messages: list[dict[str, str]], model: type[Answer]) -> Answer:
        schema = {"name": model.__name__, "schema": model.model_json_schema()}
        form = {"type": "json_schema", "json_schema": schema}
        text = self._complete(messages, response_format=form)
        try:
            return model.model_validate(_json_in(text))
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, problem["loc"]))
            raise ProviderError(f"the model's answer has {where}: {problem['msg']}") from None

    def _complete(self, messages: list[dict[str, str]], **options: object) -> str:
        settings = self._settings
        attempts = Retrying(
            retry=retry_if_exception(self._worth_another_try),
            stop=stop_after_attempt(settings.retries + 1) | stop_before_delay(settings.timeout),
            wait=wait_random_exponential(multiplier=0.5, max=5),
            reraise=True,
        )
        try:
            answer = attempts(
                self._client.chat.completions.create,
                model=settings.model,
                messages=messages,
                max_tokens=settings.max_tokens,
                temperature=settings.temperature,
                **options,
            )
        except self._errors as error:
            problem = f"{settings.base_url}: {_told(error)}"
            if isinstance(error, self._status_error) and error.status_code in _OUR_FAULT:
                raise ProviderError(problem) from None  # this request, not the server
            raise Unreachable(problem) from None
        choices = getattr(answer, "choices", None)
        content = choices[0].message.content if choices else None
        if not content or not isinstance(content, str):
            raise ProviderError(f"{settings.base_url}: the model gave an empty answer")
        return content

    def _worth_another_try(self, error: BaseException) -> bool:
        if isinstance(error, self._status_error):
            return error.status_code in _RETRIED
        return isinstance(error, self._network_errors)


def _json_in(text: str) -> object:
    start, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[start : end + 1])
    except ValueError:
        raise ProviderError("the model's answer is not JSON") from None


def _told(error: Exception) -> str:
    """The kind of an error. A server's own words may repeat the prompt: they are left out."""
    status = getattr(error, "status_code", None)
    return type(error).__name__ + (f" (HTTP {status})" if status else "")
