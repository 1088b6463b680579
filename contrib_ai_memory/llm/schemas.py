"""The forms of a model's answers: schemas for the requests, checks for the answers.

Texts leave this module as plain text that may be stored; every list is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from ..embedding import emotions
from ..log import logger
from ..records import Entry, ExperienceDraft, FactDraft
from ..text.sanitising import oneline, sanitise
from .provider import AttributeDraft, AttributeType, InsightDraft, ProviderError, Relation
from .spoken import without_thinking

FACTS = 100  # items of one answer, in each list whose length the request does not give
IDS = 200
QUESTIONS = 3  # Park et al. 2023
MOST_TOKENS = 10_000_000  # a reported usage above this is wrong


class Unfit(ProviderError):
    """The answer does not have the form asked for. The message may be shown to the model."""


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _within_one(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return min(max(value, 0), 1)
    return value


Line = Annotated[str, Field(min_length=1, max_length=300)]
Ids = Annotated[list[int], Field(max_length=IDS)]
Confidence = Annotated[float, BeforeValidator(_within_one), Field(ge=0, le=1)]


class Plain(BaseModel):
    """A model's output whose texts may be stored: no markup, no hidden characters."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _plain(cls, value: Any) -> Any:
        """Sanitise every text: a model's output derives from what players said."""
        if isinstance(value, list):
            return [cls._plain(item) for item in value]
        if not isinstance(value, str):
            return value
        plain = oneline(sanitise(value, max(len(value), 1)))
        if value and not plain:
            raise ValueError("has no readable text")
        return plain


class ExperienceAnswer(Plain):
    """The four dimensions of one experience [B]."""

    essence: str = Field(min_length=1, max_length=600)
    dominant_emotions: list[str] = Field(min_length=1, max_length=6)
    memory_weight: float = Field(ge=0, le=1)
    the_lesson: str = Field(max_length=400)

    def draft(self) -> ExperienceDraft:
        return ExperienceDraft(
            essence=self.essence,
            memory_weight=self.memory_weight,
            the_lesson=self.the_lesson,
            dominant_emotions=emotions.validated(self.dominant_emotions),
        )


class ScoresAnswer(Plain):
    """One importance for each entry, in order [A]."""

    scores: list[int] = Field(max_length=1000)

    def of(self, wanted: int) -> list[int]:
        """The scores, if there is one for each of so many entries."""
        if len(self.scores) != wanted:
            raise Unfit(f"the model scored {len(self.scores)} entries where {wanted} were asked")
        if not all(1 <= score <= 10 for score in self.scores):
            raise Unfit("the model gave an importance outside 1-10")
        return self.scores


class Fact(Plain):
    """One fact and the ids of the entries that it rests on."""

    text: str = Field(min_length=1, max_length=400)
    entry_ids: Annotated[Ids, Field(min_length=1)]
    preference: bool = False
    topic: str = Field("", max_length=100)


class FactsAnswer(Plain):
    """Facts, each with the entries that it rests on [A]."""

    facts: list[Fact] = Field(max_length=FACTS)

    def drafts(self, entries: Sequence[Entry]) -> list[FactDraft]:
        known = {entry.id: entry for entry in entries}
        drafts = []
        for fact, evidence in founded("facts", self.facts, lambda f: cited(f.entry_ids, known)):
            about = {known[entry_id].source_entity for entry_id in evidence}
            drafts.append(
                FactDraft(
                    text=fact.text,
                    journal_ids=evidence,
                    about=about.pop() if len(about) == 1 else None,
                    memory_type="procedural" if fact.preference else "semantic",
                    slot=fact.topic.lower() if fact.preference else "",
                )
            )
        return drafts


class SummaryAnswer(Plain):
    """Two or three sentences [C §3]."""

    summary: str = Field(min_length=1, max_length=1200)


class Attribute(Plain):
    """An attribute of a person and the observations that show it."""

    type: AttributeType
    value: str = Field(min_length=1, max_length=300)
    evidence: Ids
    confidence: Confidence = 0.5


class AttributesAnswer(Plain):
    """A profile's attributes (O-MEM)."""

    attributes: list[Attribute] = Field(max_length=FACTS)

    def drafts(self, known: Container[int]) -> list[AttributeDraft]:
        found = founded("attributes", self.attributes, lambda a: cited(a.evidence, known))
        return [
            AttributeDraft(one.type, one.value, evidence, one.confidence) for one, evidence in found
        ]


class QuestionsAnswer(Plain):
    """Questions that the memories raise."""

    questions: list[Line] = Field(min_length=1, max_length=20)


class Insight(Plain):
    """One insight and the numbers of the memories that it cites."""

    insight: str = Field(min_length=1, max_length=600)
    because_of: Ids


class InsightsAnswer(Plain):
    """The insights of a reflection."""

    insights: list[Insight] = Field(max_length=20)

    def drafts(self, ids: Mapping[int, str]) -> list[InsightDraft]:
        found = founded("insights", self.insights, lambda i: cited(i.because_of, ids))
        return [
            InsightDraft(one.insight, tuple(ids[number] for number in numbers))
            for one, numbers in found
        ]


class PairRelation(Plain):
    """The relation of one numbered pair."""

    pair: int
    relation: Annotated[Relation, BeforeValidator(_lower)]


class ComparisonAnswer(Plain):
    """The relations of those pairs that have one."""

    relations: list[PairRelation] = Field(max_length=IDS)

    def of(self, pairs: int) -> list[Relation]:
        """The relation of each of so many pairs; one that is not named is unrelated."""
        known = range(1, pairs + 1)
        found = founded("relations", self.relations, lambda one: cited([one.pair], known))
        relation_of = {number: Relation(one.relation) for one, (number,) in found}
        return [relation_of.get(number, Relation.UNRELATED) for number in known]


class OutdatedAnswer(Plain):
    """The numbers of the texts that say nothing but what has ended."""

    outdated: Ids

    def of(self, sizes: Sequence[int]) -> list[tuple[bool, ...]]:
        """The judgements on groups of so many texts, which were numbered in one row."""
        first, judged = 1, []
        for size in sizes:
            judged.append(tuple(number in self.outdated for number in range(first, first + size)))
            first += size
        return judged


# --- the server's response ------------------------------------------------------------------------


def _text_of_parts(value: object) -> object:
    """Join the text parts of a content in parts; parts of another type are no text."""
    if not isinstance(value, list):
        return value
    texts = (each.get("text") for each in value if isinstance(each, dict))
    return "".join(text for text in texts if isinstance(text, str))


class _Message(BaseModel):
    content: Annotated[str | None, BeforeValidator(_text_of_parts)] = None
    tool_calls: Any = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: int = Field(ge=0, le=MOST_TOKENS)
    completion_tokens: int = Field(ge=0, le=MOST_TOKENS)


class Completion(BaseModel):
    """The parts of a Chat Completions response that are used."""

    choices: list[_Choice] = Field(max_length=100)
    usage: Any = None

    @property
    def text(self) -> str:
        """The model's text, without lone surrogates, which nothing can store."""
        content = self.choices[0].message.content if self.choices else None
        return (content or "").encode("utf-8", "ignore").decode()

    @property
    def tool_calls(self) -> list[Any]:
        """The tool calls, unchecked."""
        calls = self.choices[0].message.tool_calls if self.choices else None
        return calls if isinstance(calls, list) else []

    @property
    def cut_off(self) -> bool:
        return bool(self.choices) and self.choices[0].finish_reason == "length"

    @property
    def tokens(self) -> tuple[int, int] | None:
        """Tokens in and out as the server reports them; None without a plausible report."""
        try:
            counted = _Tokens.model_validate(self.usage)
        except ValidationError:
            return None
        return counted.prompt_tokens, counted.completion_tokens


Schema = TypeVar("Schema", bound=BaseModel)


def completion(body: bytes) -> Completion:
    """Parse the server's response.

    Raises:
        ProviderError: It is no Chat Completions response.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise ProviderError("the server's answer is not UTF-8") from None
    try:
        return fitting(Completion, parsed(text))
    except ValueError:
        raise ProviderError("the server's answer is not JSON") from None
    except Unfit as problem:
        raise ProviderError(f"no Chat Completions answer: {problem}") from None


def understood(model: type[Schema], text: str) -> Schema:
    """Read the JSON object in a model's answer, ignoring any text around it.

    Raises:
        Unfit: There is none, or it does not have the form asked for.
    """
    text = without_thinking(text)
    start, end = text.find("{"), text.rfind("}")
    try:
        data = parsed(text[start : end + 1])
    except ValueError:
        raise Unfit("the model's answer is not JSON") from None
    return fitting(model, data)


def fitting(model: type[Schema], data: object) -> Schema:
    """Validate an answer against the schema that was asked for.

    Raises:
        Unfit: Names the first violation, without quoting the answer.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, problem["loc"])) or "its form"
        raise Unfit(f"the model's answer has {where}: {problem['msg']}") from None


def cited(numbers: Sequence[int], known: Container[int]) -> tuple[int, ...]:
    """Those numbers that were shown to the model, each once."""
    return tuple(dict.fromkeys(number for number in numbers if number in known))


def founded(
    what: str, found: Sequence[Schema], evidence_of: Callable[[Schema], tuple[int, ...]]
) -> list[tuple[Schema, tuple[int, ...]]]:
    """Pair each item with its evidence; drop those that cite nothing that was shown.

    Raises:
        Unfit: All of them are invented: the work is done again rather than lost.
    """
    kept = [(one, evidence) for one in found if (evidence := evidence_of(one))]
    invented = len(found) - len(kept)
    if invented and not kept:
        raise Unfit(f"the model's {invented} {what} cite nothing that was given")
    if invented:
        logger().info(
            "%d of %d %s cite nothing that was given: dropped", invented, len(found), what
        )
    return kept


def parsed(text: str) -> object:
    """Parse JSON text.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
