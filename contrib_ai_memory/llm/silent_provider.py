"""The silent provider: what a game whose language has no provider does without a model.

It draws nothing, judges nothing, and says no more than the setting PHRASES gives for "nothing".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import offload
from ..records import Entry, ExperienceDraft, FactDraft, Reply, ReplyRequest
from .provider import Digest, Passage, Provider

SAID = "nothing"  # kind of the phrases that it answers with


@dataclass(frozen=True, slots=True)
class UncheckedDigest:
    """A language model's digest as it is."""

    digest: Digest
    refused: Counter[str] = field(default_factory=Counter)


class SilentProvider(Provider):
    """The operations of `Provider`, and those that rules are asked for, without any words."""

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
