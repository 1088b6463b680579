"""The night's order [A]: which pass follows which, and how much one tick of it does.

`run_sleep_tick` advances a `Night` and never loses its place: the state lives with the caller, the
passes keep their own cursors in the journal, so a night that was killed goes on where it was.

An NPC's sleep: when it begins, how it advances, when it ends, and what is told of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from evennia.utils import gametime
from twisted.internet import defer, task

from .. import conf, offload
from ..log import logger
from ..records import PassReport, now_iso, seconds_between
from ..store import attributes, pause
from ..store.errors import StoreHeld
from ..store.evidence import EvidenceGone
from ..text.redaction import redact
from . import (
    association,
    chat_compaction,
    compression,
    consolidation,
    entity_consolidation,
    pruning,
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
    Pass("run_dreaming_tick", "linking memories", DREAMING, association.run_dreaming_tick),
    Pass(
        "prune_orphaned_memory_links",
        "cutting dangling links",
        DREAMING,
        pruning.prune_orphaned_memory_links,
    ),
    Pass(
        "run_entity_consolidation_batch",
        "describing people",
        DREAMING,
        entity_consolidation.run_entity_consolidation_batch,
    ),
    Pass("run_reflection", "reflecting", DREAMING, reflection.run_reflection),
    Pass("compress_sessions", "summarising old talk", DREAMING, compression.compress_sessions),
    Pass(
        "prune_low_importance_entries",
        "forgetting small talk",
        DREAMING,
        pruning.prune_low_importance_entries,
    ),
    Pass(
        "clear_stale_conversations",
        "closing conversations",
        DREAMING,
        pruning.clear_stale_conversations,
    ),
    Pass(
        "compact_conversation_history",
        "shortening conversations",
        DREAMING,
        chat_compaction.compact_conversation_history,
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
    memory: Any, night: Night, wake_requested: Callable[[], bool] = lambda: False
) -> Generator[Any, Any, Night]:
    """One tick of the night: a bounded number of steps, in a bounded time.

    Args:
        memory: The NPC's MemoryHandler.
        night: Where the night stands.
        wake_requested: Whether somebody wants the NPC awake by now.

    Returns (as a Deferred):
        Where it stands now. It stops at the first point where a requested wake may be honoured.
    """
    started = time.monotonic()
    # what was heard last is indexed and lived through before the night works on it
    if not (yield memory.work_through(until_silent=True, priority=offload.NIGHT)):
        return night
    for _ in range(STEPS_A_TICK):
        if night.over or (night.may_wake and wake_requested()):
            break
        step = PASSES[night.position].step
        begun = time.monotonic()
        try:
            report = (yield step(memory)) if step else PassReport(done=True)
        except EvidenceGone:
            break  # what is there now is read at the next tick
        except StoreHeld:
            raise  # no fault of the pass: it is done when the store takes writes again
        except Exception as error:  # noqa: BLE001 - the record tells of it, the night goes on
            logger().exception("#%s: %s broke off.", memory.owner.id, night.pass_name)
            night = night.failed(error)
            break
        night = night.after(report, time.monotonic() - begun)
        if time.monotonic() - started > SECONDS_A_TICK:
            break
    memory.flush()
    return night


# --- sleeper --------------------------------------------------------------------------------------

PAUSE = 0.02  # seconds that the game has to itself between the ticks of a night at once
NIGHTS_KEPT = 30
SCHEDULE = {
    "enabled": False,
    "sleep_start_hour": 2,
    "sleep_duration_hours": 4,
    "tick_rate_sleep": 60,
    "clock": "server",  # or "game"
}  # [A]


class SwitchedOff(RuntimeError):
    """The whole contrib is switched off by setting."""


class NotNow(RuntimeError):
    """The NPC does not go to sleep of its own will now. The message says why."""


class SleepsAtNight:
    """The sleeping half of `AssistantScript`; `self.obj` is the NPC. Reactor thread only."""

    @property
    def asleep(self) -> bool:
        return self.db.operating_mode == "sleep"

    @property
    def night(self) -> Night:
        return Night(**(attributes.read(self, "night") or {}))

    @property
    def night_records(self) -> list[dict[str, Any]]:
        """What the last nights did, newest last: started, ended, and each pass by name."""
        return attributes.read(self, "night_records") or []

    @property
    def last_night(self) -> str:
        """When the last one ended, ISO 8601 UTC; "" where there was none."""
        record = attributes.read_last(self, "night_records")
        return record["ended"] if record else ""

    @property
    def schedule(self) -> dict[str, Any]:
        """When it sleeps by itself [A]: what is set, and the defaults for the rest."""
        return SCHEDULE | (attributes.read(self, "sleep_schedule") or {})

    def set_schedule(self, **changes: Any) -> None:
        """Change when it sleeps by itself; the keys are those of `SCHEDULE`."""
        attributes.write(self, "sleep_schedule", self.schedule | changes)
        self.db.scheduled_night = None

    # --- falling asleep -----------------------------------------------------------------------

    def fall_asleep(self) -> None:
        """Go to sleep; the night advances with the heartbeat.

        Raises:
            SwitchedOff: The contrib is switched off, or the NPC is paused.
        """
        self._refuse_switched_off()
        if not self.asleep:
            self.db.operating_mode = "sleep"
            self.db.wake_requested = False
            self.ndb.last_sleep_tick = None
            self._put_night(Night(started=now_iso()))

    def _refuse_switched_off(self) -> None:
        if not conf.get().ENABLED:
            raise SwitchedOff("CONTRIB_AI_MEMORY['ENABLED'] is off: no NPC sleeps or learns.")
        if paused := pause.paused(self.obj):
            whose, key = ("All NPCs are", "all") if paused == "all" else ("It is", self.obj.key)
            raise SwitchedOff(f"{whose} paused: none sleeps or learns. @memory/resume {key}")

    def go_to_sleep(self, asked_by: str | None = None) -> None:
        """Go to sleep of its own will, as the tool of the same name does [A].

        Args:
            asked_by: Identity of whoever wants it to sleep: their own talk does not keep it awake.

        Raises:
            NotNow: It is asleep already, somebody is talking with it, or waits for an answer.
            SwitchedOff: The contrib is switched off.
        """
        self.refuse_rude_sleep(asked_by)
        self.fall_asleep()

    def refuse_rude_sleep(self, asked_by: str | None = None) -> None:
        """Raise what `go_to_sleep` raises, and do nothing else."""
        self._refuse_switched_off()
        if self.asleep:
            raise NotNow(f"{self.obj.key} is asleep already.")
        if self.waiting_for_answers:
            raise NotNow(f"{self.obj.key} still has somebody to answer.")
        if self._in_conversation(asked_by):
            raise NotNow(f"{self.obj.key} is in the middle of a conversation.")

    def _in_conversation(self, asked_by: str | None) -> bool:
        """Whether it talks with somebody else; asked by nobody, whether anybody talks at all."""
        now, within = self.obj.memory.clock(), conf.get().EXCHANGE_SECONDS
        if asked_by is None:
            return self.obj.memory.conversations.busy(now, within)
        others = {who: last for who, last in (self.ndb.exchanges or {}).items() if who != asked_by}
        return any(seconds_between(last, now) <= within for last in others.values())

    def sleep_on_schedule(self) -> None:
        """Fall asleep where the schedule says so, once for each time that its hours begin."""
        due = self._scheduled_night()
        if due is None or due == self.db.scheduled_night:
            return
        try:
            self.go_to_sleep()
        except NotNow:
            return  # at one of the next beats
        self.db.scheduled_night = due

    def _scheduled_night(self) -> str | None:
        """The begin of the scheduled hours that it is now, as text; None outside of them."""
        schedule = self.schedule
        if not schedule["enabled"]:
            return None
        now = gametime.gametime(absolute=True) if schedule["clock"] == "game" else time.time()
        here = datetime.fromtimestamp(now)
        begin = here.replace(hour=schedule["sleep_start_hour"], minute=0, second=0, microsecond=0)
        begin -= timedelta(days=int(begin > here))
        lasts = timedelta(hours=schedule["sleep_duration_hours"])
        return begin.isoformat() if here < begin + lasts else None

    # --- waking -------------------------------------------------------------------------------

    def wake(self) -> bool:
        """Ask to wake. In compacting that is deferred until the phase is over.

        Returns:
            Whether the NPC is awake now.
        """
        if self.asleep and self.night.may_wake and self.ndb.busy_since is None:
            self._wake_up(self.night)
        elif self.asleep:
            self.db.wake_requested = True
        return not self.asleep

    def _wake_up(self, night: Night) -> None:
        # the record first: killed before it is awake, it wakes once more and writes it again
        record = {
            "started": night.started,
            "ended": now_iso(),
            "whole": night.over,
            "passes": night.done,
        }
        others = [each for each in self.night_records if each["started"] != night.started]
        attributes.write(self, "night_records", [*others, record][-NIGHTS_KEPT:])
        self.db.operating_mode = "awake"
        self.db.sleep_phase = None
        self.db.wake_requested = False

    # --- the night ----------------------------------------------------------------------------

    @defer.inlineCallbacks
    def sleep_through(
        self, progress: Callable[[str], None] = lambda name: None
    ) -> Generator[Any, Any, dict[str, dict[str, Any]]]:
        """Sleep a whole night now, tick after tick, and wake up.

        Args:
            progress: Told the name of each pass that a tick begins with, once.

        Returns (as a Deferred):
            What each pass did: {name: {"read": n, "changed": n, ...}}.
        """
        from twisted.internet import reactor

        self.fall_asleep()
        told = None
        try:
            while self.asleep and self.obj is not None:
                self._refuse_switched_off()
                self.ndb.last_sleep_tick = None
                if (name := self.night.pass_name) != told:
                    progress(name)
                    told = name
                yield self.at_tick()
                if reactor.running:  # also where the heartbeat itself has the night in hand
                    yield task.deferLater(reactor, PAUSE, lambda: None)
        except BaseException:
            self._wake_up(self.night)  # nobody finds it asleep for ever; the cursors keep the work
            raise
        return self.night_records[-1]["passes"]

    @defer.inlineCallbacks
    def _sleep_beat(self) -> Generator[Any, Any, None]:
        last = self.ndb.last_sleep_tick
        rate = min(conf.get().TICK_RATE_SLEEP, self.schedule["tick_rate_sleep"])
        if last is not None and time.monotonic() - last < rate:
            return
        self.ndb.last_sleep_tick = time.monotonic()
        try:
            night = yield run_sleep_tick(
                self.obj.memory, self.night, lambda: bool(self.db.wake_requested)
            )
        except BaseException:
            if self.db.wake_requested:
                self._wake_up(self.night)
            raise
        self._put_night(night)
        if night.over or (night.may_wake and self.db.wake_requested):
            self._wake_up(night)
            logger().info("#%s: a night is over.", self.obj.id)

    def _put_night(self, night: Night) -> None:
        attributes.write(self, "night", asdict(night))
        if self.db.sleep_phase != night.phase:
            self.db.sleep_phase = night.phase
