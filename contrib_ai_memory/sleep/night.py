"""The night [A]: the order of its passes, one bounded tick of them, and when an NPC sleeps.

`run_sleep_tick` advances a `Night`. Each pass keeps its own cursor in the journal, so a night that
was killed goes on where it was. `Sleep` says when a night begins and ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import OperationalError
from evennia.utils import gametime
from twisted.internet import defer, task

from .. import conf, offload
from ..errors import ExpectedError
from ..llm.tally import Tally
from ..log import logger
from ..records import PassReport, now_iso
from ..store import attributes, game_database, pause
from ..store.condition import HELD
from ..store.evidence import EvidenceGone
from ..store.npc_memory import Memory
from ..text.redaction import redact
from . import (
    association,
    chat_compaction,
    compression,
    consolidation,
    entity_consolidation,
    outage,
    pruning,
    reflection,
    scoring,
)

Phase = Literal["compacting", "dreaming"]  # [A] of a night
COMPACTING: Phase = "compacting"
DREAMING: Phase = "dreaming"

STEPS_A_TICK = 8
SECONDS_A_TICK = 5.0
ATTEMPTS = 3  # at a step that fails, before the night leaves the pass out
PAUSE = 0.02  # seconds that the game has to itself between the ticks of `Sleep.whole_night`
NIGHTS_KEPT = 30


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of the night; `title` is what builders and admins read."""

    title: str
    phase: Phase
    step: Callable[[Any], defer.Deferred]

    @property
    def name(self) -> str:
        """Its name in [A]."""
        return self.step.__name__


PASSES = (
    Pass("weighing the day", COMPACTING, scoring.score_pending_entries),
    Pass("drawing facts", COMPACTING, consolidation.run_sleep_consolidation),
    Pass("linking memories", DREAMING, association.run_dreaming_tick),
    Pass("cutting dangling links", DREAMING, pruning.prune_orphaned_memory_links),
    Pass("describing people", DREAMING, entity_consolidation.run_entity_consolidation_batch),
    Pass("reflecting", DREAMING, reflection.run_reflection),
    Pass("summarising old talk", DREAMING, compression.compress_sessions),
    Pass("forgetting small talk", DREAMING, pruning.prune_low_importance_entries),
    Pass("closing conversations", DREAMING, pruning.clear_stale_conversations),
    Pass("shortening conversations", DREAMING, chat_compaction.compact_conversation_history),
)
TITLES = {each.name: each.title for each in PASSES}


@dataclass(frozen=True, slots=True)
class Night:
    """The state of a night: the pass it is in, and what each pass did so far."""

    position: int = 0  # of the pass in `PASSES`
    # by name: "read", "changed", "steps", "seconds", "errors", and the attributes of `Tally`
    passes: dict[str, dict[str, Any]] = field(default_factory=dict)
    started: str = ""  # ISO 8601
    failures: int = 0  # of the current pass, one after the other

    @property
    def whole(self) -> bool:
        """Whether all passes are done."""
        return self.position >= len(PASSES)

    @property
    def pass_name(self) -> str:
        return PASSES[min(self.position, len(PASSES) - 1)].name

    @property
    def phase(self) -> Phase:
        return PASSES[min(self.position, len(PASSES) - 1)].phase

    @property
    def may_wake(self) -> bool:
        """Whether a wake is honoured now; while compacting it is deferred."""
        return self.whole or self.phase == DREAMING

    def after(self, report: PassReport, seconds: float, tally: Tally) -> Night:
        """The night after one step of the current pass."""
        done = self._done(tally)
        done["read"] += report.read
        done["changed"] += report.changed
        done["steps"] += 1
        done["seconds"] = round(done["seconds"] + seconds, 3)
        return self._with(done, over=report.done)

    def failed(self, error: Exception, tally: Tally) -> Night:
        """The night after a step that raised: the step is tried again, `ATTEMPTS` times in all."""
        done = self._done(tally)
        message = redact(f"{type(error).__name__}: {error}")[:300]
        done["errors"] = [*done["errors"], message][-ATTEMPTS:]
        failures = (self.failures + 1) % ATTEMPTS
        return replace(self._with(done, over=not failures), failures=failures)

    def _done(self, tally: Tally) -> dict[str, Any]:
        """What the current pass did so far, with who did the step that is over."""
        empty = {"read": 0, "changed": 0, "steps": 0, "seconds": 0.0, "errors": []}
        done = empty | self.passes.get(self.pass_name, {})
        return done | tally.added_to(done)

    def _with(self, done: dict[str, Any], *, over: bool) -> Night:
        passes = {**self.passes, self.pass_name: done}
        return replace(self, position=self.position + over, passes=passes, failures=0)


@defer.inlineCallbacks
def run_sleep_tick(
    memory: Memory, night: Night, wake_requested: Callable[[], bool] = lambda: False
) -> Generator[Any, Any, Night]:
    """Run one tick of the night: a bounded number of steps, for a bounded time.

    It ends at the first point where a requested wake may be honoured. Returns the new state.
    """
    started = time.monotonic()
    # lines heard last are indexed and extracted before the night works on them
    if not (yield memory.work_through(until_silent=True, priority=offload.NIGHT)):
        return night
    for _ in range(STEPS_A_TICK):
        if night.whole or (night.may_wake and wake_requested()):
            break
        begun = time.monotonic()
        memory.evidence.tally = tally = Tally()
        try:
            report = yield PASSES[night.position].step(memory)
        except EvidenceGone:
            break  # the next tick reads what is there then
        except HELD:
            raise  # not the pass's fault: it is run when the store takes writes again
        except Exception as error:  # kept in the record; the night goes on
            if isinstance(error, OperationalError) and game_database.note_unavailable(error):
                raise  # nor is this: the next beat tries it again
            if memory.owner.pk:  # else it was deleted meanwhile
                logger().exception("#%s: %s failed.", memory.owner.id, night.pass_name)
                night = night.failed(error, tally)
            break
        night = night.after(report, time.monotonic() - begun, tally)
        if time.monotonic() - started > SECONDS_A_TICK:
            break
    memory.flush()
    return night


# --- when an NPC sleeps ---------------------------------------------------------------------------


class SwitchedOff(ExpectedError):
    """The contrib is switched off by setting, or the NPC is paused or was deleted."""


class NotNow(ExpectedError):
    """The NPC does not fall asleep of its own will now. The message says why."""


class Sleep:
    """The sleep of one NPC: when it begins, how it advances, when it ends. Reactor thread only.

    Its state is kept on its `AssistantScript`. db: operating_mode, sleep_phase, wake_requested,
    night, night_records, sleep_schedule, scheduled_night.
    """

    def __init__(self, script: Any):
        self._script = script
        self._npc = script.obj

    @property
    def night(self) -> Night:
        return Night(**attributes.read(self._script, "night", {}))

    @property
    def records(self) -> list[dict[str, Any]]:
        """The last nights, newest last: started, ended, whole, and each pass by name."""
        return attributes.read(self._script, "night_records", [])

    @property
    def last_night(self) -> str:
        """When the last night ended, ISO 8601 UTC; "" if there was none."""
        records = self.records
        return records[-1]["ended"] if records else ""

    @property
    def schedule(self) -> dict[str, Any]:
        """When it falls asleep by itself [A]: SLEEP_SCHEDULE of its settings, or its own."""
        return self._npc.memory.settings.SLEEP_SCHEDULE.model_dump() | self.own_schedule

    @property
    def own_schedule(self) -> dict[str, Any]:
        """What was set for this NPC by `set_schedule`."""
        stored = attributes.read(self._script, "sleep_schedule", {})
        own = {key: stored[key] for key in stored if key in conf.SleepSchedule.model_fields}
        # earlier versions wrote the defaults to every NPC, and had another key
        return {} if own == conf.SleepSchedule().model_dump() else own

    def set_schedule(self, **changes: Any) -> None:
        """Change the NPC's own schedule (`conf.SleepSchedule`); without changes, remove it."""
        own = self.own_schedule | changes if changes else None
        attributes.write(self._script, "sleep_schedule", own)
        self._script.db.scheduled_night = None

    # --- falling asleep -----------------------------------------------------------------------

    def begin(self) -> None:
        """Fall asleep, or raise SwitchedOff; the night advances with the heartbeat."""
        self._check_switched_on()
        if not self._script.asleep:
            self._script.db.operating_mode = "sleep"
            self._script.db.wake_requested = False
            self.make_due()
            outage.put_back_offline_work(
                self._script.obj.memory, scoring.CURSOR, consolidation.CURSOR
            )
            self._put(Night(started=now_iso()))

    def go_to_sleep(self, asked_by: str | None = None) -> None:
        """Fall asleep of its own will, as the tool of the same name does [A].

        Args:
            asked_by: Identity of a person whose own talk does not keep it awake.

        Raises:
            NotNow: It is asleep already, in a conversation, or has somebody to answer.
            SwitchedOff: The contrib is switched off, or the NPC is paused.
        """
        self.check_may_begin(asked_by)
        self.begin()

    def check_may_begin(self, asked_by: str | None = None) -> None:
        """Raise what `go_to_sleep` would raise."""
        self._check_switched_on()
        reason = "is asleep already" if self._script.asleep else self._script.engaged(asked_by)
        if reason:
            raise NotNow(f"{self._npc.key} {reason}.")

    def begin_on_schedule(self) -> None:
        """Fall asleep if the schedule says so, once each time that its hours begin."""
        due = self._scheduled_night()
        if due and due != self._script.db.scheduled_night:
            with suppress(NotNow):  # tried again at the next beat
                self.go_to_sleep()
                self._script.db.scheduled_night = due

    def _check_switched_on(self) -> None:
        if not conf.get().ENABLED:
            raise SwitchedOff("CONTRIB_AI_MEMORY['ENABLED'] is off: no NPC sleeps or learns.")
        if paused := pause.paused(self._npc):
            whose, key = ("All NPCs are", "all") if paused == "all" else ("It is", self._npc.key)
            raise SwitchedOff(f"{whose} paused: none sleeps or learns. @memory/resume {key}")

    def _scheduled_night(self) -> str | None:
        """Begin of the scheduled hours that it is now, as text; None outside of them."""
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
        """Ask the NPC to wake, after compacting if it is. Returns whether it is awake now."""
        if self._script.asleep and self.night.may_wake and self._script.state.busy_since is None:
            self._end(self.night)
        elif self._script.asleep:
            self._script.db.wake_requested = True
        return not self._script.asleep

    def interrupt(self) -> None:
        """Wake the NPC now. The cursors keep what the night has done."""
        self._end(self.night)

    def _end(self, night: Night) -> None:
        # the record first: killed before it is awake, the NPC ends the night again and replaces it
        record = {
            "started": night.started,
            "ended": now_iso(),
            "whole": night.whole,
            "passes": night.passes,
        }
        others = [each for each in self.records if each["started"] != night.started]
        attributes.write(self._script, "night_records", [*others, record][-NIGHTS_KEPT:])
        self._script.db.operating_mode = "awake"
        self._script.db.sleep_phase = None
        self._script.db.wake_requested = False
        self._script.at_wake()
        game_database.keep_statistics()  # nights write the most rows

    # --- the night ----------------------------------------------------------------------------

    @defer.inlineCallbacks
    def whole_night(
        self, progress: Callable[[str], None] = lambda name: None
    ) -> Generator[Any, Any, dict[str, dict[str, Any]]]:
        """Sleep a whole night now, tick after tick, and wake up.

        `progress` is called with the name of each pass that a tick begins with, once. Returns what
        each pass did, as `Night.passes`.

        Raises (in the Deferred):
            SwitchedOff: The contrib was switched off meanwhile, the NPC paused or deleted.
            TimedOut: The memory worker gave no answer at `ATTEMPTS` ticks one after the other. The
                NPC was woken; what is left is done in its next night.
        """
        from twisted.internet import reactor

        self.begin()
        name_of_npc, shown, late = self._npc.key, None, 0
        try:
            while self._script.asleep and self._script.obj is not None:
                self._check_switched_on()
                self.make_due()
                if (name := self.night.pass_name) != shown:
                    progress(name)
                    shown = name
                try:
                    yield self._script.at_tick()
                    late = 0
                except (offload.TimedOut, offload.Busy) as problem:
                    late += 1
                    if late == ATTEMPTS:
                        raise offload.TimedOut(
                            f"{name_of_npc} was woken early: {problem}, {ATTEMPTS} times. What is "
                            "left of its night is done in the next one."
                        ) from problem
                if reactor.running:  # also where the heartbeat's own tick is under way
                    yield task.deferLater(reactor, PAUSE, lambda: None)
        except BaseException:
            if self._npc.pk:
                self.interrupt()  # never left asleep
            raise
        if not self._npc.pk:
            raise SwitchedOff(f"{name_of_npc} was deleted meanwhile.")
        records = self.records  # none where the memory was wiped meanwhile
        return records[-1]["passes"] if records else {}

    def begin_anew(self) -> None:
        """Begin the running night once more, as nothing of what it worked on is left."""
        if self._script.asleep:
            self._put(Night(started=now_iso()))

    def make_due(self) -> None:
        """Let the next beat run a tick, however short a time ago the last one ran."""
        self._script.ndb.last_sleep_tick = None

    @defer.inlineCallbacks
    def beat(self) -> Generator[Any, Any, None]:
        """Run one tick of the night, where one is due."""
        script = self._script
        last = script.ndb.last_sleep_tick
        rate = self._npc.memory.settings.TICK_RATE_SLEEP
        if last is not None and time.monotonic() - last < rate:
            return
        script.ndb.last_sleep_tick = time.monotonic()
        try:
            night = yield run_sleep_tick(
                self._npc.memory, self.night, lambda: bool(script.db.wake_requested)
            )
        except BaseException:
            if self._npc.pk and script.db.wake_requested:
                self.interrupt()
            raise
        if not self._npc.pk:
            raise EvidenceGone  # it was deleted meanwhile, and its script with it
        self._put(night)
        if night.whole or (night.may_wake and script.db.wake_requested):
            self._end(night)
            logger().info("#%s: a night is over.", self._npc.id)

    def _put(self, night: Night) -> None:
        attributes.write(self._script, "night", asdict(night))
        if self._script.db.sleep_phase != night.phase:
            self._script.db.sleep_phase = night.phase


def schedule_told(plan: dict[str, Any]) -> str:
    """Return a schedule (the fields of `conf.SleepSchedule`) as a phrase; "none" without one."""
    if not plan["enabled"]:
        return "none"
    return (
        f"every day at {plan['sleep_start_hour']}:00 ({plan['clock']} time), for "
        f"{plan['sleep_duration_hours']} hours at most"
    )
