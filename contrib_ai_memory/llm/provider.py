"""What a provider of language must be able to do. Two exist: `offline` and `openai_compatible`.

All methods take and give plain data and may block: they run on worker threads.

What a provider draws from the journal at night, before it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..records import Entry, ExperienceDraft, FactDraft, MemoryRecord, Reply, ReplyRequest, Snippet
from ..text.redaction import redact


class ProviderError(RuntimeError):
    """The provider gave no usable answer. The message says why, for the log and for builders."""

    def __init__(self, message: str):
        super().__init__(redact(message))


class Unreachable(ProviderError):
    """The server is not there, or refuses: it is left alone for a while.

    `retry_after` is how many seconds it asked for, None where it did not say.
    """

    def __init__(self, message: str, retry_after: float | None = None):
        super().__init__(message)
        self.retry_after = retry_after


class Refused(ProviderError):
    """The server does not take this request; another one it may take."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


class Provider(Protocol):
    """The protocol of a language provider. `openai` has `converse` besides: talk with tools."""

    name: str
    lane: str  # offload.MEMORY or offload.MODEL
    timeout: float  # seconds that one call may take, its retries included

    def reply(self, request: ReplyRequest) -> Reply:
        """What the NPC says: plain text, never empty."""
        ...

    def extract_experience(self, snippet: Snippet) -> ExperienceDraft | None:
        """The four dimensions of [B] for the new messages, or None where nothing happened."""
        ...

    def score_importance(self, entries: Sequence[Entry], goals: str) -> list[int]:
        """1-10 for each entry, in order [A]: relevance to `goals`, novelty, future utility."""
        ...

    def extract_facts(self, entries: Sequence[Entry], npc_name: str) -> list[FactDraft]:
        """Facts in the third person [A], each with the ids of the entries that it rests on."""
        ...

    def summarise(self, lines: Sequence[str]) -> str:
        """Two or three sentences with the names, numbers and decisions of a conversation [C §3]."""
        ...

    def describe(self, name: str, observations: Sequence[Observation]) -> list[AttributeDraft]:
        """What somebody is like, each attribute with the journal ids that it rests on (O-MEM)."""
        ...

    def ask_oneself(self, memories: Sequence[MemoryRecord], npc_name: str) -> list[str]:
        """At most three questions that these memories raise (Park et al. 2023)."""
        ...

    def reflect(
        self, question: str, memories: Sequence[MemoryRecord], npc_name: str
    ) -> list[InsightDraft]:
        """Insights that answer a question, each with the ids of the memories that it cites."""
        ...


# --- drafts ---------------------------------------------------------------------------------------

ATTRIBUTE_TYPES = ("fact", "preference", "relationship", "trait", "occupation", "place")


@dataclass(frozen=True, slots=True)
class Observation:
    """Something seen or heard of somebody (Pf, O-MEM), with the entry that it comes from."""

    text: str
    journal_id: int
    timestamp: str = ""
    private: bool = False
    witnesses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttributeDraft:
    """What somebody is like, drawn from observations (Pa, O-MEM).

    `type` is one of `ATTRIBUTE_TYPES`; `evidence` are journal ids; `confidence` is 0-1.
    """

    type: str
    value: str
    evidence: tuple[int, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class InsightDraft:
    """What a reflection came to (Park et al. 2023), with the ids of the memories it cites."""

    text: str
    evidence: tuple[str, ...]
