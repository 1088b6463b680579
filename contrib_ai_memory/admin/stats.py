"""Numbers for people: what the nights did, what language models cost, how a memory has grown.

Reactor thread; `stats` reads the journal a page at a time and gives a Deferred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..llm import router
from ..script import AssistantScript
from ..sleep.night import TITLES
from ..store import memory_store
from .jobs import journal_pages, look_job

READ_AT_MOST = 20_000  # of the newest entries
DAYS_SHOWN = 60


@dataclass(frozen=True, slots=True)
class PassDone:
    """One pass of a night: its name in [A], and a title for people."""

    name: str
    title: str
    read: int
    changed: int
    steps: int
    seconds: float
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NightDone:
    """One night; `whole` is False if the NPC was woken before its end."""

    started: str
    ended: str
    whole: bool
    passes: tuple[PassDone, ...]


@dataclass(frozen=True, slots=True)
class Spending:
    """Answered calls of the language model, and their tokens."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Cost:
    """What the language model cost today (UTC).

    Attributes:
        game, npc: Of the whole game, and this NPC's share.
        by_purpose: Of the game, by operation.
        game_limit, npc_limit: Tokens a day, or None.
        language: Which provider answers now, in a sentence.
    """

    day: str
    game: Spending
    npc: Spending
    by_purpose: dict[str, Spending]
    game_limit: int | None
    npc_limit: int | None
    language: str


@dataclass(frozen=True, slots=True)
class Stats:
    """What the charts show.

    Attributes:
        entries: Counted; of a very long journal the newest.
        importance: How many entries of each importance, 1-10.
        emotions: How many experiences had each emotion, the most frequent first.
        growth: (day, entries) of each day (UTC) with any, oldest first.
        kinds: How many entries of each kind.
        memories: How many of each record the store holds.
        cost: (day, tokens) of this NPC on the last thirty days with any calls.
    """

    entries: int
    importance: dict[int, int] = field(default_factory=dict)
    emotions: tuple[tuple[str, int], ...] = ()
    growth: tuple[tuple[str, int], ...] = ()
    kinds: dict[str, int] = field(default_factory=dict)
    memories: dict[str, int] = field(default_factory=dict)
    cost: tuple[tuple[str, int], ...] = ()


def nights(npc: Any) -> tuple[NightDone, ...]:
    """List what the last nights did, newest first."""
    return tuple(_night(record) for record in reversed(AssistantScript.of(npc).sleep.records))


def _night(record: dict[str, Any]) -> NightDone:
    passes = [
        PassDone(
            name,
            TITLES.get(name, name),
            done["read"],
            done["changed"],
            done.get("steps", 0),
            done["seconds"],
            tuple(done["errors"]),
        )
        for name, done in record["passes"].items()
    ]
    started, whole = record.get("started") or "", record.get("whole", True)
    return NightDone(started, record["ended"], whole, tuple(passes))


def cost(npc: Any) -> Cost:
    """Return what the language model cost today, for this NPC and the whole game."""
    spent, llm = router.usage(), conf.get().LLM
    return Cost(
        day=spent["day"],
        game=_spending(spent),
        npc=_spending(spent["by_npc"].get(npc.memory.id, {})),
        by_purpose={name: _spending(each) for name, each in spent["by_purpose"].items()},
        game_limit=llm.daily_tokens if llm else None,
        npc_limit=llm.daily_tokens_per_npc if llm else None,
        language=router.status(),
    )


def _spending(plain: dict[str, Any]) -> Spending:
    return Spending(**{name: plain.get(name, 0) for name in Spending.__dataclass_fields__})


@defer.inlineCallbacks
def stats(npc: Any) -> Generator[Any, Any, Stats]:
    """Count what a memory consists of and how it grew, as a Deferred `Stats`."""
    memory = npc.memory
    importance: Counter = Counter()
    kinds: Counter = Counter()
    days: Counter = Counter()
    first = max(1, len(memory.journal) - READ_AT_MOST + 1)
    for page in journal_pages(memory.journal, first):
        for entry in page:
            importance[entry.importance] += 1
            kinds[entry.kind] += 1
            days[entry.timestamp[:10]] += 1
        yield offload.breathe()
    counts, felt = yield look_job(_counts, memory.id)
    return Stats(
        entries=kinds.total(),
        importance={each: importance[each] for each in range(1, 11)},
        emotions=tuple(felt),
        growth=tuple(sorted(days.items())[-DAYS_SHOWN:]),
        kinds=dict(kinds.most_common()),
        memories=counts,
        cost=tuple(router.tokens_by_day(memory.id)),
    )


def _counts(agent_id: str) -> tuple[dict[str, int], list[tuple[str, int]]]:
    """Count memories by record, and the emotions of experiences (worker thread)."""
    store = memory_store.shared()
    felt: Counter = Counter()
    for memory in store.list(agent_id, limit=None, record="experience"):
        felt.update(memory.dominant_emotions)
    return store.counts(agent_id), felt.most_common()
