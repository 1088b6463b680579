"""The forms of a model's answers: schemas for the requests, checks for the answers.

Texts leave this module as plain text that may be stored; every list is bounded.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from ..embedding import emotions
from ..log import logger
from ..records import ExperienceDraft, FactDraft
from ..text.sanitising import oneline, sanitise
from .provider import (
    FACT_KINDS,
    AttributeDraft,
    AttributeType,
    Digest,
    InsightDraft,
    Passage,
    ProviderError,
    Relation,
)

FACTS = 100  # items of one answer, in each list whose length the request does not give
IDS = 200
LINES = 200
FIRST_KNOWN = 101  # number of the first known fact: none is mistaken for a line
NOTABLE = 4  # 1-10, of lines that an experience rests on
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


def _as_number(value: object) -> object:
    """Return the whole number that is meant: of "7", 7.4, [7]; 0 of null, "" and []."""
    if isinstance(value, list):
        value = value[0] if value else 0
    if isinstance(value, str):
        digits = re.search(r"-?\d{1,9}", value)
        return int(digits[0]) if digits else 0
    if isinstance(value, float) and math.isfinite(value):
        return round(value)
    return 0 if value is None else value


def _as_numbers(value: object) -> object:
    """Return a list of whole numbers; one alone is a list of one, 0 and null are an empty one."""
    given = value if isinstance(value, list) else [value]
    numbers = [_as_number(each) for each in given if not isinstance(each, list | dict)]
    return [each for each in numbers if each != 0]


def _as_text(value: object) -> object:
    return "" if value is None else str(value) if isinstance(value, int | float) else value


def _as_texts(value: object) -> object:
    given = re.split(r"[,;]\s*", value) if isinstance(value, str) else value
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


Line = Annotated[str, Field(min_length=1, max_length=300)]
Number = Annotated[int, BeforeValidator(_as_number)]
Ids = Annotated[list[int], BeforeValidator(_as_numbers), Field(max_length=IDS)]
Text = Annotated[str, BeforeValidator(_as_text)]
Texts = Annotated[list[str], BeforeValidator(_as_texts)]
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


class LineImportance(Plain):
    """The importance of one numbered line, 1-10 [A]."""

    line: Number
    importance: Number


class DigestFact(Plain):
    """One fact of a passage; its lines and the known facts are numbers of the request."""

    text: Annotated[Text, Field(max_length=2000)] = ""
    lines: Ids = []
    kind: Annotated[Text, Field(json_schema_extra={"enum": [*FACT_KINDS]})] = "other"
    about: Text = ""
    to: Text = ""
    date: Text = ""
    same_as: Number = 0
    ends: Ids = []


class DigestAnswer(Plain):
    """Importance, facts and experience of one passage [A, B]."""

    importance: list[LineImportance] = Field(max_length=LINES)
    facts: list[DigestFact] = Field(max_length=FACTS)
    experience: Annotated[Text, Field(max_length=2000)] = ""
    emotions: Texts = []
    weight: Confidence = 0.0
    lesson: Text = ""

    def digest(self, passage: Passage) -> Digest:
        """Resolve the numbers of an answer.

        Raises:
            Unfit: Most lines have no importance, or all facts rest on nothing that was given.
        """
        lines = dict(enumerate((entry.id for entry in passage.entries), start=1))
        scores = {lines[one.line]: one.importance for one in self.importance if one.line in lines}
        if 2 * len(scores) < len(lines):
            raise Unfit(f"the model gave {len(scores)} of {len(lines)} lines an importance")
        known = dict(enumerate((fact.id for fact in passage.known), start=FIRST_KNOWN))
        told = [fact for fact in self.facts if fact.text]
        founded_facts = founded("facts", told, lambda fact: cited(fact.lines, lines))
        return Digest(
            {line: min(10, max(1, score)) for line, score in scores.items()},
            tuple(_fact(fact, numbers, lines, known) for fact, numbers in founded_facts),
            self._experience(scores),
        )

    def _experience(self, scores: Mapping[int, int]) -> ExperienceDraft | None:
        if not self.experience:
            return None
        most = max(scores.values())
        return ExperienceDraft(
            essence=_cut(self.experience, 600),
            memory_weight=self.weight,
            the_lesson=_cut(self.lesson, 400),
            dominant_emotions=emotions.validated(self.emotions),
            journal_ids=tuple(
                line for line, score in sorted(scores.items()) if score >= min(most, NOTABLE)
            ),
        )


def _fact(
    fact: DigestFact, numbers: Sequence[int], lines: Mapping[int, int], known: Mapping[int, str]
) -> FactDraft:
    kind = fact.kind.lower() if fact.kind.lower() in FACT_KINDS else "other"
    preference = kind == "preference"
    return FactDraft(
        text=_cut(fact.text, 400),
        journal_ids=tuple(sorted(lines[number] for number in numbers)),
        memory_type="procedural" if preference else "semantic",
        slot=_cut(fact.to, 100).lower() if preference else "",
        kind=kind,
        subject=_cut(fact.about, 100),
        object="" if preference else _cut(fact.to, 100),
        date=_iso_date(fact.date),
        same_as=known.get(fact.same_as, ""),
        ends=tuple(known[number] for number in cited(fact.ends, known)),
    )


def _iso_date(text: str) -> str:
    """Return the ISO date at the start of a text, "" if there is none."""
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


class SummaryAnswer(Plain):
    """Two or three sentences [C §3]."""

    summary: str = Field(min_length=1, max_length=1200)


class Attribute(Plain):
    """An attribute of a person, the observations that show it, and known ones that it replaces."""

    type: AttributeType
    value: str = Field(min_length=1, max_length=300)
    evidence: Ids
    confidence: Confidence = 0.5
    replaces: Ids = []


class AttributesAnswer(Plain):
    """A profile's attributes (O-MEM)."""

    attributes: list[Attribute] = Field(max_length=FACTS)

    def drafts(self, observed: Mapping[int, int], known: Mapping[int, str]) -> list[AttributeDraft]:
        """Resolve the numbers of observations and of known attributes."""
        found = founded("attributes", self.attributes, lambda a: cited(a.evidence, observed))
        return [
            AttributeDraft(
                one.type,
                one.value,
                tuple(dict.fromkeys(observed[number] for number in evidence)),
                one.confidence,
                tuple(known[number] for number in cited(one.replaces, known)),
            )
            for one, evidence in found
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


class _Message(BaseModel):
    content: str | None = None
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
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


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


def without_thinking(text: str) -> str:
    """Strip the <think> blocks that some models write before their answer."""
    return _THINKING.sub("", text)


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
