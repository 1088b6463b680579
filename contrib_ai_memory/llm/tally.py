"""Count the work of a provider for one pass of the night: who did it, and what was lost.

A `Tally` goes with the calls of a work (`store.evidence.Work`). What a provider leaves out of an
answer while it reads it, on its worker thread, is counted by `refuse` into the tally of the call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

REASONS_KEPT = 8  # of a pass; further ones are counted together
REASON_LENGTH = 200
OTHER = "other reasons"


@dataclass
class Tally:
    """Who did the work of a pass. No reason quotes what was said: records of nights keep them."""

    made_by: Counter[str] = field(default_factory=Counter)  # pieces of work, by their provider
    calls: int = 0  # of a language model, retries of the same request not counted
    tokens: int = 0
    # work for which the chosen provider gave no usable answer or was not asked, by the reason
    unanswered: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)  # parts of answers, by the reason

    def made(self, provider: str) -> None:
        self.made_by[provider] += 1

    def fail(self, reason: object) -> None:
        self.unanswered[str(reason)[:REASON_LENGTH]] += 1

    def refuse(self, reason: str, count: int = 1) -> None:
        if count:
            self.refused[reason] += count

    def added_to(self, done: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record of a pass with this tally added; the keys are the attributes."""
        return {
            name: _sum(done.get(name), own) if isinstance(own, Counter) else done.get(name, 0) + own
            for name, own in vars(self).items()
        }


def _sum(before: Mapping[str, int] | None, more: Mapping[str, int]) -> dict[str, int]:
    total = dict(before or {})
    for reason, count in more.items():
        key = reason if reason in total or len(total) < REASONS_KEPT else OTHER
        total[key] = total.get(key, 0) + count
    return total


of_call: ContextVar[Tally | None] = ContextVar("tally", default=None)  # of this thread's call


def refuse(reason: str, count: int = 1) -> None:
    """Count parts of an answer that the provider itself does not keep (worker thread)."""
    if tally := of_call.get():
        tally.refuse(reason, count)
