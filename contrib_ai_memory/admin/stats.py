"""What the nights did, what language cost, and how a memory has grown: numbers for people.

Reactor thread; `stats` looks through the journal a page at a time and gives a Deferred.
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

READ_AT_ONCE = 64
READ_AT_MOST = 20_000  # of the newest entries
DAYS_SHOWN = 60


@dataclass(frozen=True, slots=True)
class PassDone:
    """One pass of a night: its name in [A], and what people read."""

    name: str
    title: str
    read: int
    changed: int
    steps: int
    seconds: float
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NightDone:
    """One night; `whole` is False where it was woken before its end."""

    started: str
    ended: str
    whole: bool
    passes: tuple[PassDone, ...]


@dataclass(frozen=True, slots=True)
class Spending:
    """Calls of the language model that were answered, and their tokens."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Cost:
    """What language cost today (UTC).

    Attributes:
        game, npc: All of it, and this NPC's share.
        by_purpose: Of the game, by the operation that was asked.
        game_limit, npc_limit: Tokens a day; None is no limit.
        language: Who answers now, in a sentence.
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
        entries: Looked at; of a very long journal the newest.
        importance: How many entries of each importance, 1-10.
        emotions: How many experiences felt like that, the most frequent first.
        growth: (day, entries) of each day (UTC) on which there were any, oldest first.
        kinds: How many entries of each kind.
        memories: How many of each record the store holds.
        cost: (day, tokens) of this NPC on the last thirty days that had any calls.
    """

    entries: int
    importance: dict[int, int] = field(default_factory=dict)
    emotions: tuple[tuple[str, int], ...] = ()
    growth: tuple[tuple[str, int], ...] = ()
    kinds: dict[str, int] = field(default_factory=dict)
    memories: dict[str, int] = field(default_factory=dict)
    cost: tuple[tuple[str, int], ...] = ()


def nights(npc: Any) -> tuple[NightDone, ...]:
    """What its last nights did, newest first."""
    return tuple(_night(record) for record in reversed(AssistantScript.of(npc).night_records))


def _night(record: dict[str, Any]) -> NightDone:
    passes = [
        PassDone(
            name,
            TITLES.get(name, name),
            told["read"],
            told["changed"],
            told.get("steps", 0),
            told["seconds"],
            tuple(told["errors"]),
        )
        for name, told in record["passes"].items()
    ]
    started, whole = record.get("started") or "", record.get("whole", True)
    return NightDone(started, record["ended"], whole, tuple(passes))


def cost(npc: Any) -> Cost:
    """What language cost today, this NPC and the whole game."""
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
    """What a memory consists of and how it grew, as a Deferred `Stats`."""
    memory = npc.memory
    importance: Counter = Counter()
    kinds: Counter = Counter()
    days: Counter = Counter()
    first = max(1, len(memory.journal) - READ_AT_MOST + 1)
    for start in range(first, len(memory.journal) + 1, READ_AT_ONCE):
        for entry in memory.journal.read(start, start + READ_AT_ONCE - 1):
            importance[entry.importance] += 1
            kinds[entry.kind] += 1
            days[entry.timestamp[:10]] += 1
        yield offload.breathe()
    counts, felt = yield offload.run(offload.MEMORY, counted, memory.id, priority=offload.LOOK)
    return Stats(
        entries=kinds.total(),
        importance={each: importance[each] for each in range(1, 11)},
        emotions=tuple(felt),
        growth=tuple(sorted(days.items())[-DAYS_SHOWN:]),
        kinds=dict(kinds.most_common()),
        memories=counts,
        cost=tuple(router.tokens_by_day(memory.id)),
    )


def counted(agent_id: str) -> tuple[dict[str, int], list[tuple[str, int]]]:
    """How many memories there are, and what the experiences felt like (worker thread)."""
    store = memory_store.shared()
    felt: Counter = Counter()
    for memory in store.list(agent_id, limit=None, record="experience"):
        felt.update(memory.dominant_emotions)
    return store.counts(agent_id), felt.most_common()
