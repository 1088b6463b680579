"""An NPC's sleep: when it begins, how it advances, when it ends, and what is told of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from evennia.utils import gametime
from twisted.internet import defer, task

from . import conf
from .log import logger
from .records import now_iso, seconds_between
from .sleep.cycle import Night, run_sleep_tick
from .store import attributes, switches

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
        record = attributes.last_of(self, "night_records")
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
        if paused := switches.paused(self.obj):
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
