"""The forms of a model's answers: schemas for the requests, checks for the answers.

Texts leave this module as plain text that may be stored; every list is bounded.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo

from ..embedding import emotions
from ..log import logger
from ..records import ExperienceDraft, FactDraft
from ..text.sanitising import oneline, sanitise
from . import tally
from .model_server_info import MOST_TOKENS
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


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _as_labels(value: object) -> object:
    """Return the labels that are meant: "joy, trust" in a list of one is two."""
    if not isinstance(value, list):
        return value
    return [part for each in value if isinstance(each, str) for part in re.split(r"[,;]\s*", each)]


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NONE = ("", "none", "null", "no", "n/a")

Line = Annotated[str, Field(min_length=1, max_length=300)]
Ids = Annotated[list[int], Field(max_length=IDS)]
Labels = Annotated[list[str], BeforeValidator(_as_labels)]
Share = Annotated[float, Field(ge=0, le=1)]


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


class Mended(Plain):
    """An answer whose values are mended before they are refused, as small models write them.

    7 of 0-1 is 0.7, "7/10" is 7, null is false or empty, one value in place of a list is a list.
    """

    @model_validator(mode="before")
    @classmethod
    def _mended(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        fields = cls.model_fields
        return {
            key: mended(value, fields[key].annotation, _is_share(fields[key]))
            if key in fields
            else value
            for key, value in data.items()
        }


def _is_share(field: FieldInfo) -> bool:
    return field.annotation is float and any(getattr(each, "le", 0) == 1 for each in field.metadata)


def mended(value: Any, kind: Any, share: bool = False) -> Any:
    """Return a value as one of a type, where it is plain what was meant; else unchanged.

    Args:
        kind: bool, int, float, str, or a list of something.
        share: Whether it is a number of 0-1; what is given of ten or of a hundred is scaled.
    """
    if get_origin(kind) is list:
        [item] = get_args(kind)
        if value is None:
            return []
        if isinstance(value, str) and item is int:
            value = _NUMBER.findall(value)
        return [mended(each, item) for each in (value if isinstance(value, list) else [value])]
    if kind is int and isinstance(value, list) and len(value) < 2:
        value = value[0] if value else None
    if kind is int and (value is None or (isinstance(value, str) and value.lower() in _NONE)):
        return 0
    if kind is bool:
        return False if value is None else value
    if kind is str:
        if value is None:
            return ""
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return " ".join(value)
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return str(value) if plain else value
    if kind not in (int, float) or isinstance(value, bool):
        return value
    if isinstance(value, str):
        numbers = _NUMBER.findall(value)
        value = float(numbers[0]) if numbers else value
    if isinstance(value, int | float) and math.isfinite(value):
        if kind is int:
            return round(value)
        if share and value > 1:
            value = min(value / (10 if value <= 10 else 100), 1)
        return max(value, 0) if share else value
    return value


class LineImportance(Mended):
    """The importance of one numbered line, 1-10 [A]."""

    line: int
    importance: int


class DigestFact(Mended):
    """One fact of a passage; its lines and the known facts are numbers of the request."""

    text: Annotated[str, Field(max_length=2000)] = ""
    lines: Ids = []
    kind: Annotated[str, Field(json_schema_extra={"enum": [*FACT_KINDS]})] = "other"
    about: str = ""
    to: str = ""
    date: str = ""
    same_as: int = 0
    ends: Ids = []


class DigestExperience(Mended):
    """What happened in lines of one audience [B]."""

    text: Annotated[str, Field(max_length=2000)] = ""
    lines: Ids = []
    emotions: Labels = []
    weight: Share = 0.0
    lesson: str = ""


class DigestAnswer(Mended):
    """Importance, facts and experiences of one passage [A, B]."""

    importance: list[LineImportance] = Field(max_length=LINES)
    facts: list[DigestFact] = Field(max_length=FACTS)
    experiences: list[DigestExperience] = Field([], max_length=FACTS)

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
            tuple(
                _experience(each, numbers, lines)
                for each in self.experiences
                if each.text and (numbers := cited(each.lines, lines))
            ),
            self._confided(lines),
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


def _experience(
    experience: DigestExperience, numbers: Sequence[int], lines: Mapping[int, int]
) -> ExperienceDraft:
    return ExperienceDraft(
        essence=_cut(experience.text, 600),
        memory_weight=experience.weight,
        the_lesson=_cut(experience.lesson, 400),
        dominant_emotions=emotions.validated(experience.emotions),
        journal_ids=tuple(sorted(lines[number] for number in numbers)),
    )


def _iso_date(text: str) -> str:
    """Return the ISO date at the start of a text, "" if there is none."""
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


class SummaryAnswer(Mended):
    """Two or three sentences [C §3]."""

    summary: str = Field(min_length=1, max_length=1200)


class Attribute(Mended):
    """An attribute of a person, the observations that show it, and known ones that it replaces."""

    type: AttributeType
    value: str = Field(min_length=1, max_length=300)
    evidence: Ids
    confidence: Share = 0.5
    replaces: Ids = []


class AttributesAnswer(Mended):
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


class QuestionsAnswer(Mended):
    """Questions that the memories raise."""

    questions: list[Line] = Field(min_length=1, max_length=20)


class Insight(Mended):
    """One insight and the numbers of the memories that it cites."""

    insight: str = Field(min_length=1, max_length=600)
    because_of: Ids


class InsightsAnswer(Mended):
    """The insights of a reflection."""

    insights: list[Insight] = Field(max_length=20)

    def drafts(self, ids: Mapping[int, str]) -> list[InsightDraft]:
        found = founded("insights", self.insights, lambda i: cited(i.because_of, ids))
        return [
            InsightDraft(one.insight, tuple(ids[number] for number in numbers))
            for one, numbers in found
        ]


class PairRelation(Mended):
    """The relation of one numbered pair."""

    pair: int
    relation: Annotated[Relation, BeforeValidator(_lower)]


class ComparisonAnswer(Mended):
    """The relations of those pairs that have one."""

    relations: list[PairRelation] = Field(max_length=IDS)

    def of(self, pairs: int) -> list[Relation]:
        """The relation of each of so many pairs; one that is not named is unrelated.

        Raises:
            Unfit: It ends most of several.
        """
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

    Every property is required and no other allowed; no references, no unions with null.

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
    if "anyOf" in schema:
        kinds = [each for each in schema["anyOf"] if each.get("type") != "null"]
        if len(kinds) == 1:
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return _strict({**kinds[0], **rest}, defined)
    plain = {key: value for key, value in schema.items() if key not in _DROPPED}
    if "const" in plain:
        plain["enum"] = [plain.pop("const")]
    if "items" in plain:
        plain["items"] = _strict(plain["items"], defined)
    if "anyOf" in plain:
        plain["anyOf"] = [_strict(each, defined) for each in plain["anyOf"]]
    if "properties" in plain:
        inner = {name: _strict(each, defined) for name, each in plain["properties"].items()}
        plain |= {"properties": inner, "required": list(inner), "additionalProperties": False}
    return plain


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


_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")

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


def understood(model: type[Schema], text: str, *, cut_off: bool = False) -> Schema:
    """Read the JSON object in a model's answer, ignoring reasoning and any text around it.

    Args:
        cut_off: Whether the text breaks off; it is read as far as it is whole.

    Raises:
        Unfit: There is none, or it does not have the form asked for.
    """
    text = without_thinking(text)
    start, end = text.find("{"), text.rfind("}")
    try:
        data = parsed(closed(text[max(start, 0) :]) if cut_off else text[start : end + 1])
    except ValueError:
        raise Unfit("the model's answer is not JSON") from None
    return fitting(model, data)


def closed(text: str) -> str:
    """Close a JSON text that breaks off, after the last list, object or item of a list.

    >>> closed('{"facts": [{"line": 1, "text": "a"}, {"line": 2, "te')
    '{"facts": [{"line": 1, "text": "a"}]}'
    """
    whole, ends, quoted, escaped = "", "", False, False
    for place, sign in enumerate(text):
        if quoted:
            quoted = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            quoted = True
        elif sign in "{[":
            ends = ("}" if sign == "{" else "]") + ends
        elif sign in "}]":
            ends = ends[1:]
            whole = text[: place + 1] + ends
            if not ends:
                break
        elif sign == "," and ends.startswith("]"):
            whole = text[:place] + ends
    return whole


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
        tally.refuse("cites nothing that was given", invented)
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
