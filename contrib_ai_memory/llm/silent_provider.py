"""The silent provider: what a game whose language has no provider does without a model.

It draws nothing, judges nothing, and says no more than the setting PHRASES gives for "nothing".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import offload
from ..records import Entry, ExperienceDraft, FactDraft, MemoryRecord, Reply, ReplyRequest, Snippet
from .provider import (
    AttributeDraft,
    Digest,
    InsightDraft,
    Observation,
    Pair,
    Passage,
    Relation,
)

SAID = "nothing"  # kind of the phrases that it answers with


@dataclass(frozen=True, slots=True)
class UncheckedDigest:
    """A language model's digest as it is."""

    digest: Digest
    refused: Counter[str] = field(default_factory=Counter)


class SilentProvider:
    """Every operation of `Provider`, and those that rules are asked for, without any words."""

    name = "offline"
    lane = offload.MEMORY
    timeout = 60.0

    def load(self, *, answers: bool) -> None:
        """There is nothing to load."""

    def reply(self, request: ReplyRequest) -> Reply:
        said = next(iter(request.phrases.get(SAID) or ()), "")
        return Reply(said.replace("{name}", request.speaker), told=(), row=SAID, small_talk=True)

    def extract_experience(self, snippet: Snippet) -> ExperienceDraft | None:
        return None

    def score_importance(self, entries: Sequence[Entry], goals: str) -> list[int]:
        return [entry.importance for entry in entries]

    def extract_facts(
        self, entries: Sequence[Entry], npc_name: str, around: Sequence[Entry] = ()
    ) -> list[FactDraft]:
        return []

    def digest(self, passage: Passage) -> Digest:
        return Digest({})

    def checked(self, digest: Digest, passage: Passage) -> UncheckedDigest:
        return UncheckedDigest(digest)

    def summarise(self, lines: Sequence[str]) -> str:
        return max(lines, key=len, default="")

    def describe(
        self, name: str, observations: Sequence[Observation], known: Sequence[str] = ()
    ) -> list[AttributeDraft]:
        return []

    def ask_oneself(self, memories: Sequence[MemoryRecord], npc_name: str) -> list[str]:
        return []

    def reflect(
        self,
        questions: Sequence[tuple[str, Sequence[MemoryRecord]]],
        npc_name: str,
        known: Sequence[str] = (),
    ) -> list[InsightDraft]:
        return []

    def compare(self, pairs: Sequence[Pair]) -> list[Relation]:
        return [Relation.UNRELATED for _ in pairs]


SILENT = SilentProvider()
