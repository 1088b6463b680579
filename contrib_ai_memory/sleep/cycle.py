"""The night's order [A]: which pass follows which, and how much one tick of it does.

`run_sleep_tick` advances a `Night` and never loses its place: the state lives with the caller, the
passes keep their own cursors in the journal, so a night that was killed goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from twisted.internet import defer

from .. import conf, offload
from ..records import PassReport
from . import cleaning, compression, consolidation, linking, reflection, scoring

COMPACTING: conf.Phase = "compacting"
DREAMING: conf.Phase = "dreaming"

STEPS_A_TICK = 8
SECONDS_A_TICK = 5.0


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of the night; without a step it has its place here and comes later."""

    name: str
    phase: conf.Phase
    step: Callable[[Any], defer.Deferred] | None = None


PASSES = (
    Pass("score_pending_entries", COMPACTING, scoring.score_pending_entries),
    Pass("run_sleep_consolidation", COMPACTING, consolidation.run_sleep_consolidation),
    Pass("run_dreaming_tick", DREAMING, linking.run_dreaming_tick),
    Pass("prune_orphaned_memory_links", DREAMING, cleaning.prune_orphaned_memory_links),
    Pass("run_entity_consolidation_batch", DREAMING),
    Pass("run_reflection", DREAMING, reflection.run_reflection),
    Pass("compress_sessions", DREAMING, compression.compress_sessions),
    Pass("prune_low_importance_entries", DREAMING, cleaning.prune_low_importance_entries),
    Pass("clear_stale_conversations", DREAMING, cleaning.clear_stale_conversations),
    Pass("compact_conversation_history", DREAMING),
)


@dataclass(frozen=True, slots=True)
class Night:
    """Where a night stands: the pass it is in, and what each pass did so far."""

    position: int = 0
    done: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return self.position >= len(PASSES)

    @property
    def phase(self) -> conf.Phase:
        return PASSES[min(self.position, len(PASSES) - 1)].phase

    @property
    def may_wake(self) -> bool:
        """A wake is deferred while compacting, and honoured between the passes of dreaming."""
        return self.over or self.phase == DREAMING

    def after(self, report: PassReport) -> Night:
        name = PASSES[self.position].name
        before = self.done.get(name, {"read": 0, "changed": 0})
        counts = {
            "read": before["read"] + report.read,
            "changed": before["changed"] + report.changed,
        }
        return replace(
            self,
            position=self.position + int(report.done),
            done={**self.done, name: counts},
        )


@defer.inlineCallbacks
def run_sleep_tick(
    mind: Any, night: Night, wake_requested: Callable[[], bool] = lambda: False
) -> Generator[Any, Any, Night]:
    """One tick of the night: a bounded number of steps, in a bounded time.

    Args:
        mind: The NPC's MemoryHandler.
        night: Where the night stands.
        wake_requested: Whether somebody wants the NPC awake by now.

    Returns (as a Deferred):
        Where it stands now. It stops at the first point where a requested wake may be honoured.
    """
    started = time.monotonic()
    # what was heard last is indexed and lived through before the night works on it
    if not (yield mind.work_through(until_silent=True, priority=offload.NIGHT)):
        return night
    for _ in range(STEPS_A_TICK):
        if night.over or (night.may_wake and wake_requested()):
            break
        step = PASSES[night.position].step
        report = (yield step(mind)) if step else PassReport(done=True)
        night = night.after(report)
        if time.monotonic() - started > SECONDS_A_TICK:
            break
    mind.flush()
    return night
