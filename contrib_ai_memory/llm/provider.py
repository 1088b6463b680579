"""The protocol of language providers, their errors, and the drafts that they return.

Two come with the contrib, `offline.offline_provider` and `llm.openai_compatible`; the setting
PROVIDER takes the path of another. All methods take and return plain data and may block: they run
on worker threads.

Where rules judge (`router.rules_judge`), that is with the offline provider or a class that inherits
it, the night asks `score_importance` and `extract_facts`, and the background loop
`extract_experience`, all of `offline.offline_provider.OfflineProvider`; with any other provider
both ask `digest`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, get_args, runtime_checkable

from .. import offload
from ..records import Entry, ExperienceDraft, FactDraft, MemoryRecord, Reply, ReplyRequest
from ..text.redaction import redact

LONGEST = 4  # times `LLM.timeout`: a streamed answer that goes on being written


class ProviderError(RuntimeError):
    """The provider gave no usable answer; the offline one does the work. The message says why."""

    def __init__(self, message: str):
        super().__init__(redact(message))


class Unreachable(ProviderError):
    """The server is not there, or refuses every request: the breaker opens."""

    def __init__(self, message: str, retry_after: float | None = None):
        super().__init__(message)
        self.retry_after = retry_after  # seconds that it asked for


class Refused(ProviderError):
    """The server refuses this request; it may take others."""

    def __init__(self, message: str, status: int, *, named: bool = False):
        super().__init__(message)
        self.status = status
        self.named = named  # it names tools as the reason


@runtime_checkable
class Provider(Protocol):
    """A language provider; one that inherits this class draws nothing where it says nothing else.

    `openai` has `converse`, talk with tools, in place of `reply`.

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

    def digest(self, passage: Passage) -> Digest:
        """Look once at lines of talk: importance, facts and experiences [A, B]."""
        return Digest({})

    def summarise(self, lines: Sequence[str]) -> str:
        """Summarise a conversation in two or three sentences: names, numbers, decisions [C §3]."""
        return max(lines, key=len, default="")

    def describe(
        self, name: str, observations: Sequence[Observation], known: Sequence[str] = ()
    ) -> list[AttributeDraft]:
        """Describe a person by attributes, each with the journal ids it rests on (O-MEM).

        Args:
            known: Values of the attributes that are known; given where rules do not judge.
        """
        return []

    def ask_oneself(self, memories: Sequence[MemoryRecord], npc_name: str) -> list[str]:
        """Ask at most three questions that these memories raise (Park et al. 2023)."""
        return []

    def reflect(
        self,
        questions: Sequence[tuple[str, Sequence[MemoryRecord]]],
        npc_name: str,
        known: Sequence[str] = (),
    ) -> list[InsightDraft]:
        """Answer questions by insights, each with the ids of the memories it cites.

        Args:
            questions: Each with its evidence.
            known: Insights that are known already, which are not to be repeated.
        """
        return []

    def compare(self, pairs: Sequence[Pair]) -> list[Relation]:
        """Relate each new statement to a known one of the same source, one relation a pair."""
        return [Relation.UNRELATED for _ in pairs]


# --- one look at lines of talk --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Passage:
    """New lines of talk, and what helps to understand them."""

    npc_name: str
    entries: tuple[Entry, ...]  # new, oldest first; `Entry.audience` says who may hear of each
    around: tuple[Entry, ...] = ()  # before and between them; nothing is drawn from these
    known: tuple[MemoryRecord, ...] = ()  # facts that the lines may repeat, change or end
    goals: str = ""
    known_names: tuple[str, ...] = ()
    least_importance: int = 1  # 1-10, of lines that facts are drawn from

    @property
    def unjudged(self) -> bool:
        """Whether it is to be judged which of the new lines were said in confidence."""
        return any(entry.unjudged for entry in self.entries)


@dataclass(frozen=True, slots=True)
class Digest:
    """What one look at a passage gives; facts and experiences cite journal ids of its new lines."""

    importance: Mapping[int, int]  # 1-10 by journal id; a line that is left out keeps what it has
    facts: tuple[FactDraft, ...] = ()
    # at most one of each audience; None if rules make them
    experiences: tuple[ExperienceDraft, ...] | None = ()
    # journal ids of unjudged lines that were said in confidence; None if they are still unjudged
    confided: frozenset[int] | None = None
    # ids of known facts that end without a fact of their audience, each with the journal id of the
    # line that ends it; 0 is the NPC's own words or deeds, until it is found which they are
    over: Mapping[str, int] = field(default_factory=dict)


# --- drafts ---------------------------------------------------------------------------------------

# kinds of facts; the first four make an agenda item
FACT_KINDS = (
    *("promise", "debt", "request", "plan"),
    *("relationship", "occupation", "place", "possession", "preference"),
    *("event", "secret", "world", "other"),
)
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
    """An attribute of a person, drawn from observations (Pa, O-MEM)."""

    type: str  # of `ATTRIBUTE_TYPES`
    value: str
    evidence: tuple[int, ...]  # journal ids
    confidence: float  # 0-1
    # values of known attributes that it repeats or outdates; None if the provider was not asked
    replaces: tuple[str, ...] | None = None


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
    """A text to be compared."""

    text: str
    record: str = "fact"  # `MemoryRecord.record`, or "attribute"
    when: str = ""  # since when it holds, ISO 8601; "" if unknown
    quote: str = ""  # the speaker's own words, if it reports them
    type: str = ""  # of `ATTRIBUTE_TYPES`, for an attribute

    @classmethod
    def of(cls, memory: MemoryRecord) -> Statement:
        return cls(memory.content, memory.record, memory.valid_from, memory.quote)


@dataclass(frozen=True, slots=True)
class Pair:
    """A new statement and a known one; `similarity` is their cosine, if it was computed."""

    new: Statement
    known: Statement
    similarity: float = 0.0


# --- where there is none --------------------------------------------------------------------------

SAID = "nothing"  # kind of the phrases that the silent provider answers with


@dataclass(frozen=True, slots=True)
class UncheckedDigest:
    """A language model's digest as it is."""

    digest: Digest
    refused: Counter[str] = field(default_factory=Counter)


class SilentProvider(Provider):
    """What a game whose language has no provider does without a model: it draws and judges nothing.

    It says no more than the setting PHRASES gives for "nothing".
    """

    name = "offline"
    lane = offload.MEMORY
    timeout = 60.0

    def load(self, *, answers: bool) -> None:
        """There is nothing to load."""

    def reply(self, request: ReplyRequest) -> Reply:
        said = next(iter(request.phrases.get(SAID) or ()), "")
        return Reply(said.replace("{name}", request.speaker), told=(), row=SAID, small_talk=True)

    def extract_experience(self, passage: Passage) -> ExperienceDraft | None:
        return None

    def score_importance(self, entries: Sequence[Entry], goals: str) -> list[int]:
        return [entry.importance for entry in entries]

    def extract_facts(
        self, entries: Sequence[Entry], npc_name: str, around: Sequence[Entry] = ()
    ) -> list[FactDraft]:
        return []

    def checked(self, digest: Digest, passage: Passage) -> UncheckedDigest:
        return UncheckedDigest(digest)


SILENT = SilentProvider()
