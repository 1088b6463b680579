"""The protocol of language providers, their errors, and the drafts that they return.

Two come with the contrib, `offline` and `openai_compatible`; the setting PROVIDER takes the path of
another. All methods take and return plain data and may block: they run on worker threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol, get_args, runtime_checkable

from ..records import Entry, ExperienceDraft, FactDraft, MemoryRecord, Reply, ReplyRequest, Snippet
from ..text.redaction import redact


class ProviderError(RuntimeError):
    """The provider gave no usable answer; the offline one does the work. The message says why."""

    def __init__(self, message: str):
        super().__init__(redact(message))


class Unreachable(ProviderError):
    """The server is not there, or refuses every request: the breaker opens.

    `retry_after` is the time in seconds that it asked for; None if it named none.
    """

    def __init__(self, message: str, retry_after: float | None = None):
        super().__init__(message)
        self.retry_after = retry_after


class Refused(ProviderError):
    """The server refuses this request; it may take others."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


@runtime_checkable
class Provider(Protocol):
    """A language provider. `openai` also has `converse`, talk with tools.

    Attributes:
        name: Kept with what it draws. "offline" marks what rules drew rather than a model.
        lane: offload.MEMORY or offload.MODEL.
        timeout: Seconds that one call may take, retries included.
    """

    name: str
    lane: str
    timeout: float

    def reply(self, request: ReplyRequest) -> Reply:
        """Answer a line as the NPC: plain text, never empty."""
        ...

    def extract_experience(self, snippet: Snippet) -> ExperienceDraft | None:
        """Extract the four dimensions of [B] from the new messages; None if nothing happened."""
        ...

    def score_importance(self, entries: Sequence[Entry], goals: str) -> list[int]:
        """Score each entry 1-10, in order [A]: relevance to `goals`, novelty, future utility."""
        ...

    def extract_facts(self, entries: Sequence[Entry], npc_name: str) -> list[FactDraft]:
        """Extract facts in the third person [A], each with the ids of the entries it rests on."""
        ...

    def summarise(self, lines: Sequence[str]) -> str:
        """Summarise a conversation in two or three sentences: names, numbers, decisions [C §3]."""
        ...

    def describe(self, name: str, observations: Sequence[Observation]) -> list[AttributeDraft]:
        """Describe a person by attributes, each with the journal ids it rests on (O-MEM)."""
        ...

    def ask_oneself(self, memories: Sequence[MemoryRecord], npc_name: str) -> list[str]:
        """Ask at most three questions that these memories raise (Park et al. 2023)."""
        ...

    def reflect(
        self, question: str, memories: Sequence[MemoryRecord], npc_name: str
    ) -> list[InsightDraft]:
        """Answer a question by insights, each with the ids of the memories it cites."""
        ...

    def compare(self, pairs: Sequence[Pair]) -> list[Relation]:
        """Relate each new statement to a known one of the same source, one relation a pair."""
        ...

    def outdated(self, endings: Sequence[Ending]) -> list[tuple[bool, ...]]:
        """Judge for each ending which of its texts say nothing but what has ended."""
        ...


# --- drafts ---------------------------------------------------------------------------------------

AttributeType = Literal["fact", "preference", "relationship", "trait", "occupation", "place"]
ATTRIBUTE_TYPES: tuple[str, ...] = get_args(AttributeType)
HIGHEST_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Observation:
    """Something seen or heard of a person (Pf, O-MEM), with the entry that it comes from."""

    text: str
    journal_id: int
    timestamp: str = ""
    private: bool = False
    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttributeDraft:
    """An attribute of a person, drawn from observations (Pa, O-MEM).

    `type` is one of `ATTRIBUTE_TYPES`; `evidence` are journal ids; `confidence` is 0-1.
    """

    type: str
    value: str
    evidence: tuple[int, ...]
    confidence: float


def combined_confidence(a: float, b: float) -> float:
    """Confidence in what two pieces of evidence show."""
    return round(max(a, b, min(HIGHEST_CONFIDENCE, 1 - (1 - a) * (1 - b))), 4)


@dataclass(frozen=True, slots=True)
class InsightDraft:
    """A conclusion of a reflection (Park et al. 2023), with the ids of the memories it cites."""

    text: str
    evidence: tuple[str, ...]


# --- comparisons ----------------------------------------------------------------------------------


class Relation(StrEnum):
    """How a new statement relates to a known one."""

    SAME = "same"
    CHANGES = "changes"  # the new one replaces the known one
    ENDS = "ends"  # the new one denies the known one
    UNRELATED = "unrelated"  # both may hold

    @property
    def supersedes(self) -> bool:
        """Whether the known statement no longer holds."""
        return self in (Relation.CHANGES, Relation.ENDS)


@dataclass(frozen=True, slots=True)
class Statement:
    """A text to be compared.

    Attributes:
        record: `MemoryRecord.record`, or "attribute".
        when: Since when it holds, ISO 8601; "" if unknown.
        quote: The speaker's own words, if it reports them.
        type: One of `ATTRIBUTE_TYPES`, for an attribute.
    """

    text: str
    record: str = "fact"
    when: str = ""
    quote: str = ""
    type: str = ""

    @classmethod
    def of(cls, memory: MemoryRecord) -> Statement:
        return cls(memory.content, memory.record, memory.valid_from, memory.quote)


@dataclass(frozen=True, slots=True)
class Pair:
    """A new statement and a known one; `similarity` is their cosine, if it was computed."""

    new: Statement
    known: Statement
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class Ending:
    """A statement that no longer holds, the one that replaces it, and texts that may tell it."""

    past: Statement
    by: Statement
    texts: tuple[Statement, ...]
