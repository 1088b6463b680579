"""The forms of a model's answers: schemas for the requests, checks for the answers.

Texts leave this module as plain text that may be stored; every list is bounded.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
)
from pydantic_core import from_json

from ..embedding import emotions
from ..log import logger
from ..records import ExperienceDraft, FactDraft
from ..text.sanitising import oneline, sanitise, shortened
from . import tally
from .model_server_info import MOST_TOKENS, listed, mapping
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
from .spoken import without_thinking

FACTS = 100  # items of one answer, in each list whose length the request does not give
IDS = 200
LINES = 200
FIRST_KNOWN = 101  # number of the first known fact: none is mistaken for a line
ENDS_FROM = 4  # pairs of which a model may not end most: it would end whatever is known
QUESTIONS = 3  # Park et al. 2023


class Unfit(ProviderError):
    """The answer does not have the form asked for. The message may be shown to the model."""


# --- values as small models write them: mended where it is plain what was meant -------------------

_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")
_NONE = ("", "none", "null", "no", "n/a")


def lowered(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


def _text(value: Any) -> Any:
    """Null is "", a list of texts is one, a number is text."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return " ".join(value)
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if plain else value


def _listed(value: Any) -> Any:
    """Null is an empty list, one value in place of a list is a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _numbers(value: Any) -> Any:
    return _NUMBER.findall(value) if isinstance(value, str) else _listed(value)


def _labels(value: Any) -> list[str]:
    """Return the labels that are meant: "joy, trust" in a list of one is two."""
    labels = (each for each in _listed(value) if isinstance(each, str))
    return [part for each in labels for part in re.split(r"[,;]\s*", each)]


def _first_number(value: Any) -> Any:
    """ "7/10" is 7."""
    found = _NUMBER.search(value) if isinstance(value, str) else None
    return float(found[0]) if found else value


def _whole(value: Any) -> Any:
    """Null, "none" and an empty list are 0."""
    if isinstance(value, list) and len(value) < 2:
        value = value[0] if value else None
    if value is None or (isinstance(value, str) and value.lower() in _NONE):
        return 0
    value = _first_number(value)
    return round(value) if isinstance(value, float) and math.isfinite(value) else value


def _share(value: Any) -> Any:
    """7 and 70 are 0.7."""
    value = _first_number(value)
    if not isinstance(value, int | float) or not math.isfinite(value):
        return value
    return max(0.0, value if value <= 1 else min(value / (10 if value <= 10 else 100), 1.0))


Text = Annotated[str, BeforeValidator(_text)]
Line = Annotated[str, Field(min_length=1, max_length=300)]
Number = Annotated[int, BeforeValidator(_whole)]
Ids = Annotated[list[Number], Field(max_length=IDS), BeforeValidator(_numbers)]
Labels = Annotated[list[str], BeforeValidator(_labels)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(_share)]
Listed = BeforeValidator(_listed)


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


class DigestExperience(Plain):
    """What happened in lines of one audience [B]."""

    text: Annotated[Text, Field(max_length=2000)] = ""
    lines: Ids = []
    emotions: Labels = []
    weight: Share = 0.0
    lesson: Text = ""


class DigestAnswer(Plain):
    """Importance, facts and experiences of one passage [A, B]."""

    importance: Annotated[list[LineImportance], Listed] = Field(max_length=LINES)
    facts: Annotated[list[DigestFact], Listed] = Field(max_length=FACTS)
    over: Ids = []
    experiences: Annotated[list[DigestExperience], Listed] = Field([], max_length=FACTS)

    def drafts(self, passage: Passage) -> Digest:
        """Resolve the numbers; `Unfit` if most lines have no importance or all facts no ground."""
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
            tuple(
                _experience(each, numbers, lines)
                for each in self.experiences
                if each.text and (numbers := cited(each.lines, lines))
            ),
            self._confided(lines),
            {known[number]: 0 for number in cited(self.over, known)},
        )

    def _confided(self, lines: Mapping[int, int]) -> frozenset[int] | None:
        return None


class JudgingDigestAnswer(DigestAnswer):
    """The same of lines of which it is unknown whether they were said in confidence."""

    confided: Ids

    def _confided(self, lines: Mapping[int, int]) -> frozenset[int]:
        return frozenset(lines[number] for number in cited(self.confided, lines))


def _fact(
    fact: DigestFact, numbers: Sequence[int], lines: Mapping[int, int], known: Mapping[int, str]
) -> FactDraft:
    kind = fact.kind.lower() if fact.kind.lower() in FACT_KINDS else "other"
    preference = kind == "preference"
    return FactDraft(
        text=shortened(fact.text, 400),
        journal_ids=tuple(sorted(lines[number] for number in numbers)),
        memory_type="procedural" if preference else "semantic",
        slot=shortened(fact.to, 100).lower() if preference else "",
        kind=kind,
        subject=shortened(fact.about, 100),
        object="" if preference else shortened(fact.to, 100),
        date=_iso_date(fact.date),
        same_as=known.get(fact.same_as, ""),
        ends=tuple(known[number] for number in cited(fact.ends, known)),
    )


def _experience(
    experience: DigestExperience, numbers: Sequence[int], lines: Mapping[int, int]
) -> ExperienceDraft:
    return ExperienceDraft(
        essence=shortened(experience.text, 600),
        memory_weight=experience.weight,
        the_lesson=shortened(experience.lesson, 400),
        dominant_emotions=emotions.validated(experience.emotions),
        journal_ids=tuple(sorted(lines[number] for number in numbers)),
    )


def _iso_date(text: str) -> str:
    """Return the ISO date at the start of a text, "" if there is none."""
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


class SummaryAnswer(Plain):
    """Two or three sentences [C §3]."""

    summary: Text = Field(min_length=1, max_length=1200)

    def drafts(self) -> str:
        return self.summary


class Attribute(Plain):
    """An attribute of a person, the observations that show it, and known ones that it replaces."""

    type: AttributeType
    value: Text = Field(min_length=1, max_length=300)
    evidence: Ids
    confidence: Share = 0.5
    replaces: Ids = []


class AttributesAnswer(Plain):
    """A profile's attributes (O-MEM)."""

    attributes: Annotated[list[Attribute], Listed] = Field(max_length=FACTS)

    def drafts(self, observed: Mapping[int, int], known: Mapping[int, str]) -> list[AttributeDraft]:
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

    questions: Annotated[list[Line], Listed] = Field(min_length=1, max_length=20)

    def drafts(self) -> list[str]:
        return list(dict.fromkeys(self.questions))[:QUESTIONS]


class Insight(Plain):
    """One insight and the numbers of the memories that it cites."""

    insight: Text = Field(min_length=1, max_length=600)
    because_of: Ids


class InsightsAnswer(Plain):
    """The insights of a reflection."""

    insights: Annotated[list[Insight], Listed] = Field(max_length=20)

    def drafts(self, ids: Mapping[int, str]) -> list[InsightDraft]:
        found = founded("insights", self.insights, lambda i: cited(i.because_of, ids))
        return [
            InsightDraft(one.insight, tuple(ids[number] for number in numbers))
            for one, numbers in found
        ]


class PairRelation(Plain):
    """The relation of one numbered pair."""

    pair: Number
    relation: Annotated[Relation, BeforeValidator(lowered)]


class ComparisonAnswer(Plain):
    """The relations of those pairs that have one."""

    relations: Annotated[list[PairRelation], Listed] = Field(max_length=IDS)

    def drafts(self, pairs: int) -> list[Relation]:
        """The relation of each pair, mostly none; `Unfit` if it ends most of several."""
        known = range(1, pairs + 1)
        found = founded("relations", self.relations, lambda one: cited([one.pair], known))
        relation_of = {number: Relation(one.relation) for one, (number,) in found}
        over = sum(relation.supersedes for relation in relation_of.values())
        if pairs >= ENDS_FROM and 2 * over > pairs:
            raise Unfit(f"the model ends {over} of {pairs} known statements")
        return [relation_of.get(number, Relation.UNRELATED) for number in known]


# --- the schema of a request ----------------------------------------------------------------------

_DROPPED = frozenset(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems "
    "maxItems uniqueItems pattern format default title description $defs".split()
)


Bounds = Mapping[str, Mapping[str, Any]]  # keywords of a schema by a path, "facts.lines"


def strict(model: type[BaseModel], bounds: Bounds | None = None) -> dict[str, Any]:
    """Return the JSON Schema of an answer as OpenAI (strict), vLLM, llama.cpp and Ollama take it.

    Every property is required and no other allowed; there are no references.

    Args:
        bounds: Of lists and numbers, for servers that hold a model to them: a small model ends no
            list by itself. Answers are checked here in any case, and less strictly.
    """
    whole = model.model_json_schema()
    schema = {"title": model.__name__} | _strict(whole, whole.get("$defs", {}))
    for path, keywords in (bounds or {}).items():
        inner = schema
        for name in path.split("."):
            inner = inner.get("items", inner)["properties"][name]
        inner |= keywords
    return schema


def digest_bounds(passage: Passage) -> Bounds:
    """The bounds of an answer to a passage: its lines are 1 to n, each is weighed once."""
    n = len(passage.entries)
    number = {"type": "integer", "minimum": 1, "maximum": n}
    judged: Bounds = {"confided": {"items": number, "maxItems": n}} if passage.unjudged else {}
    return {
        **judged,
        "importance": {"minItems": n, "maxItems": n},
        "importance.line": number,
        "importance.importance": {"minimum": 1, "maximum": 10},
        "facts": {"maxItems": 2 * n},
        "facts.lines": {"items": number, "minItems": 1, "maxItems": 4},
        "facts.ends": {"maxItems": 4},
        "over": {"maxItems": 4},
        "experiences": {"maxItems": len({entry.circle[1] for entry in passage.entries})},
        "experiences.lines": {"items": number, "minItems": 1, "maxItems": n},
        "experiences.emotions": {
            "items": {"type": "string", "enum": sorted(emotions.EMOTIONS)},
            "minItems": 3,
            "maxItems": 3,
        },
        "experiences.weight": {"minimum": 0, "maximum": 1},
    }


def _strict(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        named = defined[schema["$ref"].rpartition("/")[2]]
        return _strict({**named, **{k: v for k, v in schema.items() if k != "$ref"}}, defined)
    plain = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "items" in plain:
        plain["items"] = _strict(plain["items"], defined)
    if "properties" in plain:
        inner = {name: _strict(each, defined) for name, each in plain["properties"].items()}
        plain |= {"properties": inner, "required": list(inner), "additionalProperties": False}
    return plain


# --- the server's response ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Completion:
    """The parts of a Chat Completions response that are used."""

    text: str  # without lone surrogates, which nothing can store
    tool_calls: list[Any]  # unchecked
    cut_off: bool
    tokens: tuple[int, int] | None  # in and out; None without a plausible report


def completion(body: bytes) -> Completion:
    """Parse the server's response; a `ProviderError` if it is no Chat Completions response."""
    try:
        answer = mapping(json.loads(body.decode()))
    except UnicodeDecodeError:
        raise ProviderError("the server's answer is not UTF-8") from None
    except (ValueError, RecursionError):
        raise ProviderError("the server's answer is not JSON") from None
    choices, usage = answer.get("choices"), mapping(answer.get("usage"))
    if not isinstance(choices, list):
        raise ProviderError("no Chat Completions answer")
    choice = mapping(next(iter(choices), None))
    message = mapping(choice.get("message"))
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (mapping(each).get("text") for each in parts)  # parts of another type are no text
    text = "".join(each for each in texts if isinstance(each, str))
    tokens: tuple[Any, Any] = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Completion(
        text.encode("utf-8", "ignore").decode(),
        listed(message.get("tool_calls")),
        choice.get("finish_reason") == "length",
        tokens if all(isinstance(n, int) and 0 <= n <= MOST_TOKENS for n in tokens) else None,
    )


Schema = TypeVar("Schema", bound=BaseModel)


def understood(model: type[Schema], text: str, *, cut_off: bool = False) -> Schema:
    """Read the JSON object in a model's answer, ignoring reasoning and any text around it; where
    the text breaks off (`cut_off`), as far as it is whole. `Unfit` if there is none of this form.
    """
    text = without_thinking(text)
    start, end = max(text.find("{"), 0), text.rfind("}") + 1
    if cut_off:  # up to the last object that is whole, else without the text that breaks off
        end = end or len(text)
    try:
        data = from_json(text[start:end], allow_partial=cut_off)
    except ValueError:
        raise Unfit("the model's answer is not JSON") from None
    return fitting(model, data)


def fitting(model: type[Schema], data: object) -> Schema:
    """Validate an answer; `Unfit` names the first violation, without quoting the answer."""
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

    `Unfit` if all of them are invented: the work is done again rather than lost.
    """
    kept = [(one, evidence) for one in found if (evidence := evidence_of(one))]
    invented = len(found) - len(kept)
    if invented and not kept:
        raise Unfit(f"the model's {invented} {what} cite nothing that was given")
    if invented:
        tally.refuse("cites nothing that was given", invented)
        logger().info(
            "%d of %d %s cite nothing that was given: dropped", invented, len(found), what
        )
    return kept
