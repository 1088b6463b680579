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
from ..log import logger
from ..records import PassReport
from ..redaction import redact
from ..store.errors import StoreHeld
from ..store.evidence import EvidenceGone
from . import (
    cleaning,
    compression,
    consolidation,
    history,
    linking,
    profiles,
    reflection,
    scoring,
)

COMPACTING: conf.Phase = "compacting"
DREAMING: conf.Phase = "dreaming"

STEPS_A_TICK = 8
SECONDS_A_TICK = 5.0
ATTEMPTS = 3  # of a pass that breaks off, before the night goes on without it


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of the night, by its name in [A]; `title` is what builders and admins read."""

    name: str
    title: str
    phase: conf.Phase
    step: Callable[[Any], defer.Deferred]


PASSES = (
    Pass("score_pending_entries", "weighing the day", COMPACTING, scoring.score_pending_entries),
    Pass(
        "run_sleep_consolidation",
        "drawing facts",
        COMPACTING,
        consolidation.run_sleep_consolidation,
    ),
    Pass("run_dreaming_tick", "linking memories", DREAMING, linking.run_dreaming_tick),
    Pass(
        "prune_orphaned_memory_links",
        "cutting dangling links",
        DREAMING,
        cleaning.prune_orphaned_memory_links,
    ),
    Pass(
        "run_entity_consolidation_batch",
        "describing people",
        DREAMING,
        profiles.run_entity_consolidation_batch,
    ),
    Pass("run_reflection", "reflecting", DREAMING, reflection.run_reflection),
    Pass("compress_sessions", "summarising old talk", DREAMING, compression.compress_sessions),
    Pass(
        "prune_low_importance_entries",
        "forgetting small talk",
        DREAMING,
        cleaning.prune_low_importance_entries,
    ),
    Pass(
        "clear_stale_conversations",
        "closing conversations",
        DREAMING,
        cleaning.clear_stale_conversations,
    ),
    Pass(
        "compact_conversation_history",
        "shortening conversations",
        DREAMING,
        history.compact_conversation_history,
    ),
)
TITLES = {each.name: each.title for each in PASSES}


@dataclass(frozen=True, slots=True)
class Night:
    """Where a night stands: the pass it is in, and what each pass did so far.

    Attributes:
        position: Of the pass in `PASSES`.
        done: {name: {"read", "changed", "steps", "seconds", "errors"}}.
        started: ISO timestamp.
        failures: Of the pass it is in, in a row.
    """

    position: int = 0
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    started: str = ""
    failures: int = 0

    @property
    def over(self) -> bool:
        return self.position >= len(PASSES)

    @property
    def pass_name(self) -> str:
        return PASSES[min(self.position, len(PASSES) - 1)].name

    @property
    def phase(self) -> conf.Phase:
        return PASSES[min(self.position, len(PASSES) - 1)].phase

    @property
    def may_wake(self) -> bool:
        """A wake is deferred while compacting, and honoured between the passes of dreaming."""
        return self.over or self.phase == DREAMING

    def after(self, report: PassReport, seconds: float = 0.0) -> Night:
        """The night after one step of the pass it is in."""
        told = self._told()
        told["read"] += report.read
        told["changed"] += report.changed
        told["steps"] += 1
        told["seconds"] = round(told["seconds"] + seconds, 3)
        return replace(
            self, position=self.position + int(report.done), done=self._with(told), failures=0
        )

    def failed(self, error: Exception) -> Night:
        """The night after a step that broke off: tried again, and left out after three times."""
        told = self._told()
        told["errors"] = [*told["errors"], redact(f"{type(error).__name__}: {error}")[:300]][
            -ATTEMPTS:
        ]
        failures = self.failures + 1
        over = failures >= ATTEMPTS
        return replace(
            self,
            position=self.position + int(over),
            done=self._with(told),
            failures=0 if over else failures,
        )

    def _told(self) -> dict[str, Any]:
        empty = {"read": 0, "changed": 0, "steps": 0, "seconds": 0.0, "errors": []}
        return empty | self.done.get(self.pass_name, {})

    def _with(self, told: dict[str, Any]) -> dict[str, dict[str, Any]]:
        return {**self.done, self.pass_name: told}


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
        begun = time.monotonic()
        try:
            report = (yield step(mind)) if step else PassReport(done=True)
        except EvidenceGone:
            break  # what is there now is read at the next tick
        except StoreHeld:
            raise  # no fault of the pass: it is done when the store takes writes again
        except Exception as error:  # noqa: BLE001 - the record tells of it, the night goes on
            logger().exception("#%s: %s broke off.", mind.owner.id, night.pass_name)
            night = night.failed(error)
            break
        night = night.after(report, time.monotonic() - begun)
        if time.monotonic() - started > SECONDS_A_TICK:
            break
    mind.flush()
    return night
