"""AssistantScript: the heartbeat of one NPC. It answers, learns, sleeps.

Evennia calls `at_repeat` and waits for nothing: the busy latch, the deadline and the errback are
here. All of it runs on the reactor thread; the work itself is handed to `offload`.

Turns: the lines that wait for an answer, one line of each speaker in turn.

A speaker's next line waits behind those of the others. Somebody who says more than can wait is
excused once; while they go on, none of it is answered.
"""

from __future__ import annotations

import enum
import gc
import math
import random
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import OperationalError
from evennia.scripts.scripts import DefaultScript
from evennia.utils.create import create_script
from twisted.internet import defer, task
from twisted.python.failure import Failure

from . import conf, offload
from .attention import Floor
from .embedding import embedder
from .english import salience
from .handler import living, shed_copied
from .log import logger
from .recall.tool_loop import CannotDo
from .records import Entry, ToldFrom, now_iso
from .sleep.chat_compaction import EMERGENCY, compact
from .sleep.night import PAUSE, SCHEDULE, NotNow, SleepsAtNight, SwitchedOff
from .store import attributes, condition, facts, game_database, generations, pause, snapshot
from .store.chat_log import exchange
from .store.errors import StoreError, StoreHeld
from .store.evidence import EvidenceGone

KEY = attributes.HEARTBEAT
ASKED_KEPT = 32  # entries of which it is known that an answer was wished for
PEOPLE_SECONDS = 60.0  # how often the index of people is written
ATTEMPTS = 3  # at one answer, while memories are forgotten under it
JITTER = 0.1  # share of the tick by which NPCs drift apart


class AssistantScript(SleepsAtNight, DefaultScript):
    """One NPC's heartbeat; `script.obj` is the NPC.

    db: operating_mode (awake | sleep), sleep_phase (compacting | dreaming | None), night (where
    the night stands), night_records, sleep_schedule.
    """

    def at_script_creation(self) -> None:
        self.key = KEY
        self.desc = "The memory of an NPC: answers, background loop, sleep"
        self.interval = conf.get().TICK_RATE
        self.start_delay = True
        self.persistent = True
        self.db.operating_mode = "awake"
        self.db.sleep_phase = None
        self.db.sleep_schedule = dict(SCHEDULE)
        if self.obj:
            shed_copied(self.obj)  # `copy` makes the scripts when the Attributes are cloned

    @classmethod
    def of(cls, npc: Any) -> AssistantScript:
        """The heartbeat of `npc`, made and started if it has none."""
        known = npc.ndb.ai_memory_assistant
        if known is not None and known.pk:
            return known
        found = npc.scripts.get(KEY)
        script = found[0] if found else create_script(cls, key=KEY, obj=npc)
        npc.ndb.ai_memory_assistant = script
        script.rearm()
        return script

    # --- staying alive ------------------------------------------------------------------------

    def at_start(self, **kwargs: Any) -> None:
        if conf.get().ENABLED:
            _warm_up()

    def at_server_start(self) -> None:
        """After a crash a persistent Script is active but has no timer (EVENNIA.md)."""
        self.rearm()
        if conf.get().ENABLED:
            _warm_up()

    def at_server_reload(self) -> None:
        self._rest()

    def at_server_shutdown(self) -> None:
        self._rest()

    def _rest(self) -> None:
        """The last lines on disk (partings are heard late), and no more work for the store."""
        if self.obj is not None:
            self.obj.memory.flush()
        offload.settle()
        facts.close_shared()

    def rearm(self) -> None:
        """Start the timer if it should be running and is not, or runs at another rate."""
        rate = conf.get().TICK_RATE
        if not self.is_active or self.db._manually_paused:
            return
        if self.ndb._task is None or self.interval != rate:
            self.start(interval=rate)

    def at_repeat(self, **kwargs: Any) -> None:
        from twisted.internet import reactor

        if self.obj and AssistantScript.of(self.obj) is not self:
            self.delete()  # of a copy that had a heartbeat before it got its original's
            return
        late = random.uniform(0, JITTER * self.interval)
        beat = task.deferLater(reactor, late, self.at_tick)
        beat.addErrback(lambda reason: reason.trap(StoreHeld))  # told when it began
        beat.addErrback(offload.log_failure, f"the tick of #{self.obj.id if self.obj else None}")

    # --- the tick -----------------------------------------------------------------------------

    def at_tick(self) -> defer.Deferred:
        """One beat: awake, the background loop; asleep, a bounded piece of the night.

        Skipped while the last one is still busy, unless that is past its deadline.
        """
        if not (conf.get().ENABLED and self.obj and self.obj.pk) or pause.paused(self.obj):
            return defer.succeed(None)
        busy_since = self.ndb.busy_since
        if busy_since is not None:
            if time.monotonic() - busy_since < conf.get().TICK_DEADLINE:
                return defer.succeed(None)
            logger().error("#%s: a tick passed its deadline and was given up.", self.obj.id)
        self.ndb.busy_since = mine = time.monotonic()

        def release(result: Any) -> Any:
            if self.ndb.busy_since == mine:
                self.ndb.busy_since = None
            return result

        return defer.maybeDeferred(self._beat).addBoth(release).addErrback(self._tell_overtaken)

    def _tell_overtaken(self, reason: Failure) -> None:
        """Something was forgotten under the tick's hands, or the NPC is no more."""
        reason.trap(EvidenceGone)
        logger().info("#%s: %s", self.db_obj_id, reason.getErrorMessage())

    @defer.inlineCallbacks
    def _beat(self) -> Generator[Any, Any, None]:
        try:
            self.obj.memory.flush_talk()
            if self.obj.memory.unwritten:
                return  # nothing is worked on that a crash would take away
            yield _mark_anew()
            yield self._sleep_beat() if self.asleep else self._awake_beat()
        except StoreHeld:  # the journal alone goes on, and nobody is kept waiting for a night
            if self.asleep:
                self._wake_up(self.night)
            raise
        except OperationalError as error:
            if not game_database.note_full(error):
                raise

    @defer.inlineCallbacks
    def _awake_beat(self) -> Generator[Any, Any, None]:
        memory = self.obj.memory
        if time.monotonic() - (self.ndb.people_written or 0) >= PEOPLE_SECONDS:
            self.ndb.people_written = time.monotonic()
            memory.people.flush()
        memory.conversations.clear_stale(memory.clock())
        if len(memory.journal):
            yield memory.work_through()
        self.ndb.last_beat = now_iso()
        self.sleep_on_schedule()

    # --- holding still ------------------------------------------------------------------------

    @defer.inlineCallbacks
    def hold_still(self) -> Generator[Any, Any, None]:
        """Wait until nothing works on the memory, and let nothing begin until `let_go`.

        One at a time: whoever comes second waits for the `let_go` of the first. What is said
        meanwhile is heard and kept, and answered afterwards.
        """
        from twisted.internet import reactor

        yield self.tending.acquire()
        self.ndb.held = True  # whoever waits for an answer goes on waiting
        try:
            until = time.monotonic() + conf.get().TICK_DEADLINE
            while self.ndb.busy_since is not None or self.ndb.answering:
                if not reactor.running or time.monotonic() >= until:
                    break  # nothing goes on behind anybody's back, or it was given up
                yield task.deferLater(reactor, PAUSE, lambda: None)
        except BaseException:
            self._go_on()
            raise
        self.ndb.busy_since = math.inf
        self.ndb.answering = True
        self.obj.memory.evidence.void_all()  # what did not come to its end in time

    def let_go(self) -> None:
        """Let the heartbeat and the answers go on, for who has held it still."""
        self.ndb.busy_since, self.ndb.answering = None, False
        self._go_on()

    def _go_on(self) -> None:
        self.ndb.held = False
        self._begin_answering()
        self.tending.release()

    @property
    def tending(self) -> defer.DeferredLock:
        """Held by whoever looks after the memory: one at a time."""
        self.ndb.tending = self.ndb.tending or defer.DeferredLock()
        return self.ndb.tending

    # --- answering ----------------------------------------------------------------------------

    def wants_reply(self, entry: Entry, speaker: Any, floor: Floor | None = None) -> None:
        """Answer `entry`, once, when it is its speaker's turn.

        Args:
            floor: Whose exchange it is with the answer; by default the speaker's.
        """
        asked = (entry.id, entry.timestamp)
        if asked in (self.ndb.asked or ()):
            return
        self.ndb.asked = [*(self.ndb.asked or ()), asked][-ASKED_KEPT:]
        if self.asleep:
            self._murmur(speaker)
            return
        floor = floor or Floor(entry.source_entity)
        verdict = self.waiting_for_answers.add(Waiting(entry, speaker, floor))
        if verdict is not Verdict.WAITS:
            logger().info("#%s: entry %s is not answered, too many wait.", self.obj.id, entry.id)
        if verdict in (Verdict.TOO_FAST, Verdict.CROWDED):
            self.obj.excuse(entry, speaker, crowded=verdict is Verdict.CROWDED)
        self._begin_answering()

    def _begin_answering(self) -> None:
        if self.ndb.answering or self.ndb.held or not self.waiting_for_answers:
            return
        self.ndb.answering = True
        self._answer_all().addErrback(offload.log_failure, f"an answer of #{self.db_obj_id}")

    @property
    def waiting_for_answers(self) -> Turns:
        """The lines that wait for an answer, in turn."""
        if self.ndb.waiting is None:
            self.ndb.waiting = Turns()
        return self.ndb.waiting

    @property
    def floor(self) -> Floor:
        """Whose exchange with the NPC is going on; nobody's after a start."""
        return self.ndb.floor or Floor()

    @floor.setter
    def floor(self, floor: Floor) -> None:
        self.ndb.floor = floor

    @defer.inlineCallbacks
    def _answer_all(self) -> Generator[Any, Any, None]:
        from twisted.internet import reactor

        try:
            while self.waiting_for_answers and not self.ndb.held:
                wait = (self.ndb.last_reply or 0) + conf.get().REPLY_COOLDOWN - time.monotonic()
                if wait > 0 and reactor.running:
                    yield task.deferLater(reactor, wait, lambda: None)
                    continue  # somebody may have begun to look after the memory
                waiting = self.waiting_for_answers.take()
                entry = waiting.entry
                try:
                    yield self._answer(waiting)
                except EvidenceGone as problem:
                    logger().info(
                        "#%s: entry %s is not answered. %s", self.db_obj_id, entry.id, problem
                    )
                except StoreError as problem:
                    logger().error("#%s cannot answer: %s", self.obj.id, problem)
                except (offload.TimedOut, offload.Busy) as problem:
                    logger().warning(
                        "#%s did not answer entry %s: %s", self.obj.id, entry.id, problem
                    )
                except OperationalError as problem:
                    if not game_database.note_full(problem):
                        offload.log_failure(Failure(), f"answering entry {entry.id}")
                except Exception:  # noqa: BLE001  (those who wait behind it are answered)
                    offload.log_failure(Failure(), f"answering entry {entry.id} of #{self.obj.id}")
        finally:
            if self.ndb.busy_since != math.inf:  # else it is held still, and was given up
                self.ndb.answering = False

    @defer.inlineCallbacks
    def _answer(self, waiting: Waiting) -> Generator[Any, Any, None]:
        npc, memory = self.obj, self.obj.memory
        entry, speaker = waiting.entry, waiting.speaker
        hands = Hands(self, entry, speaker)
        answer = yield self._thought_out(entry, hands)
        said = answer.text, entry, speaker, answer.told, answer.told_from
        own = npc.speak(*said) if answer.text else None
        memory.history.add(exchange(entry, answer.rounds, own, hands.spoken, answer.told_from))
        memory.note_accessed(entry, answer.told)
        self.ndb.last_reply = time.monotonic()
        self._note_exchange(waiting)
        if hands.tired:
            self._nod_off(entry)
        if not self.ndb.compacting:  # nobody waits for it
            self.ndb.compacting = True
            compact(memory, EMERGENCY, offload.AWAKE).addErrback(self._tell_overtaken).addErrback(
                offload.log_failure, f"compacting what #{self.obj.id} said"
            ).addCallback(lambda _: setattr(self.ndb, "compacting", False))

    @defer.inlineCallbacks
    def _thought_out(self, entry: Entry, hands: Hands) -> Generator[Any, Any, Any]:
        """An `Answer`; thought out anew where what it rested on was forgotten meanwhile."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return (yield self.obj.memory.answer(entry, hands))
            except EvidenceGone:
                asked_still = self.obj and self.obj.pk and self.obj.memory.journal.get(entry.id)
                if attempt == ATTEMPTS or hands.spoken or not asked_still:
                    raise

    def _nod_off(self, entry: Entry) -> None:
        """Fall asleep as was said, now that it is said, unless somebody else has come meanwhile."""
        try:
            self.go_to_sleep(entry.source_entity)
        except (NotNow, SwitchedOff) as problem:
            logger().info("#%s stays awake: %s", self.obj.id, problem)

    def _note_exchange(self, waiting: Waiting) -> None:
        now, identity = self.obj.memory.clock(), waiting.entry.source_entity
        exchanges = self.ndb.exchanges or {}
        exchanges[identity] = now
        self.ndb.exchanges = dict(list(exchanges.items())[-50:])
        if waiting.entry.kind != "whisper":
            floor = self.floor if self.floor.partner == identity else waiting.floor
            self.floor = replace(floor, since=datetime.fromisoformat(now).timestamp())

    def _murmur(self, speaker: Any) -> None:
        now = time.monotonic()
        if now - (self.ndb.last_murmur or -60) >= 60:
            self.ndb.last_murmur = now
            speaker.msg(f"{self.obj.get_display_name(speaker)} is fast asleep.")


class Hands:
    """What an NPC does in the world while it thinks about an answer: `recall.tool_loop.Hands`."""

    def __init__(self, script: AssistantScript, entry: Entry, speaker: Any):
        self._script = script
        self._npc = script.obj
        self._entry = entry
        self.speaker = speaker
        self.spoken: list[int] = []
        self.tired = False

    def present(self, name: str) -> str | None:
        seen = self._npc.seen_here(name)
        if len(seen) > 1:
            raise CannotDo(f"{len(seen)} people here are called {name}")
        return self._npc.get_memory_identity(seen[0]) if seen else None

    def say(self, text: str, told_from: ToldFrom, *, private: bool) -> None:
        self._utter(text, told_from, self.speaker, private, self._entry.session_id)

    def whisper(self, name: str, text: str, told_from: ToldFrom) -> None:
        [listener] = self._npc.seen_here(name)
        same = listener == self.speaker and self._entry.private
        self._utter(text, told_from, listener, True, self._entry.session_id if same else None)

    def emote(self, text: str, told_from: ToldFrom) -> None:
        session_id = self._entry.session_id
        done = self._npc.act_out(text, session_id=session_id, told_from=told_from)
        self.spoken.append(done.id)

    def go_to_sleep(self) -> None:
        try:
            self._script.refuse_rude_sleep(self._entry.source_entity)
        except (NotNow, SwitchedOff) as problem:
            raise CannotDo(str(problem)) from None
        self.tired = True  # it says so first

    def _utter(
        self,
        text: str,
        told_from: ToldFrom,
        listener: Any,
        private: bool,
        session_id: str | None,
    ) -> None:
        own = self._npc.utter(
            text, listener, private=private, session_id=session_id, told_from=told_from
        )
        if own is None:
            raise CannotDo("whoever may hear it is not here")
        self.spoken.append(own.id)


_warming = False
_paired = False  # whether the store was opened and compared with the game's database


def _warm_up() -> None:
    """Load the model and open the store before anybody waits for them, once a process."""
    global _warming
    if _warming:
        return
    _warming = True
    from twisted.internet import reactor

    if reactor.running:
        generations.expect()
        snapshot.watch(_write_all)
    _open().addErrback(_report_unusable)
    # what not every answer needs; answers that wait already go first
    more = offload.run(offload.MEMORY, _load_the_rest, priority=offload.NIGHT, timeout=300)
    more.addErrback(offload.log_failure, "loading what later answers need")


@defer.inlineCallbacks
def _open() -> Generator[Any, Any, None]:
    """Open the store, and mark it and the game's database as of one moment, if they are."""
    global _paired
    stored = yield offload.run(offload.MEMORY, _open_all, priority=offload.REPLY, timeout=300)
    _paired = True
    if not generations.compare(stored):
        yield generations.mark_anew()


@defer.inlineCallbacks
def _write_all() -> Generator[Any, Any, None]:
    """Write to the game's database what NPCs heard, as a Deferred."""
    for memory in living():
        if memory.owner.pk:
            memory.flush()
            if memory.unwritten:
                raise RuntimeError("its disk has no room")
        yield offload.breathe()


@defer.inlineCallbacks
def _mark_anew() -> Generator[Any, Any, None]:
    """Mark store and database anew, where that is due; one that was not opened yet is.

    Raises (in the Deferred):
        StoreHeld: The store takes no writes.
    """
    if not _paired:
        yield _open()
    if condition.held():
        yield offload.run(offload.MEMORY, facts.check_writable)
    if generations.due():
        yield generations.mark_anew()


def _open_all() -> dict[str, Any]:
    embedder.shared()
    facts.shared()
    return generations.of_store()


def _load_the_rest() -> None:
    salience.load()
    if conf.get().LLM is not None:
        import openai.resources.chat  # noqa: F401 - takes 0.4 s: not amid the first answer
    gc.freeze()  # a full collection would look at every object of the model: 0.2 s, on any thread


def _report_unusable(reason: Any) -> None:
    if not reason.check(StoreHeld):  # that was told
        logger().error("NPC memories do not work: %s", reason.getErrorMessage())


# --- turns ----------------------------------------------------------------------------------------

LINES_EACH = 3  # of one speaker that wait at once
LINES_IN_ALL = 30
QUIET_SECONDS = 10.0  # without a line of theirs until a speaker who flooded is heard again
EXCUSED_AGAIN = 60.0  # seconds until the same speaker is given another excuse
SPEAKERS_KEPT = 200  # of whom it is remembered that they flooded or were excused


@dataclass(frozen=True, slots=True)
class Waiting:
    """A line that is to be answered: its entry, who said it, and the floor with its answer."""

    entry: Entry
    speaker: Any
    floor: Floor


class Verdict(enum.Enum):
    """What becomes of a line that asks for an answer."""

    WAITS = "waits"
    TOO_FAST = "too fast"  # it is not answered, and the speaker is to be told so
    CROWDED = "crowded"  # the same, for too many speakers wait already
    DROPPED = "dropped"  # it is not answered, and the speaker has been told


class Turns:
    """The lines that wait, in the order in which they are answered.

    Args:
        clock: Gives monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._lines: OrderedDict[str | None, deque[Waiting]] = OrderedDict()
        self._flooding: OrderedDict[str | None, float] = OrderedDict()
        self._excused: OrderedDict[str | None, float] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __iter__(self) -> Iterator[Waiting]:
        for lines in self._lines.values():
            yield from lines

    def add(self, waiting: Waiting) -> Verdict:
        """Let a line wait, if it may.

        One line too many of a speaker is a flood: their first waiting line is still answered, the
        others are not, nor what they say until they have been quiet for a while.
        """
        who, now = waiting.entry.source_entity, self._clock()
        if now - self._flooding.get(who, -QUIET_SECONDS) < QUIET_SECONDS:
            _keep(self._flooding, who, now)
            return Verdict.DROPPED
        self._flooding.pop(who, None)
        own = self._lines.get(who, ())
        if len(own) >= LINES_EACH:
            self._lines[who] = deque([own[0]])
            _keep(self._flooding, who, now)
            verdict = Verdict.TOO_FAST
        elif len(self) < LINES_IN_ALL:
            self._lines.setdefault(who, deque()).append(waiting)
            return Verdict.WAITS
        else:
            verdict = Verdict.CROWDED
        if now - self._excused.get(who, -EXCUSED_AGAIN) < EXCUSED_AGAIN:
            return Verdict.DROPPED
        _keep(self._excused, who, now)
        return verdict

    def take(self) -> Waiting:
        """The line whose turn it is; the next one of its speaker goes behind all others.

        Raises:
            KeyError: Nothing waits.
        """
        who, lines = self._lines.popitem(last=False)
        if len(lines) > 1:
            self._lines[who] = lines
        return lines.popleft()

    def drop(self, identity: str | None) -> None:
        """Forget a speaker and what they wait for."""
        for known in (self._lines, self._flooding, self._excused):
            known.pop(identity, None)

    def clear(self) -> None:
        for known in (self._lines, self._flooding, self._excused):
            known.clear()


def _keep(seconds: OrderedDict[str | None, float], who: str | None, now: float) -> None:
    seconds[who] = now
    seconds.move_to_end(who)
    while len(seconds) > SPEAKERS_KEPT:
        seconds.popitem(last=False)
