"""AssistantScript: the heartbeat of one NPC. It answers, learns, sleeps.

Evennia calls `at_repeat` and waits for nothing: the busy latch, the deadline and the errback are
here. All of it runs on the reactor thread; the work itself is handed to `offload`.
"""

from __future__ import annotations

import gc
import math
import random
import time
from collections import deque
from collections.abc import Generator
from typing import Any

from django.db import OperationalError
from evennia.scripts.scripts import DefaultScript
from evennia.utils.create import create_script
from twisted.internet import defer, task
from twisted.python.failure import Failure

from . import conf, offload
from .embedding import embedder
from .handler import living
from .log import logger
from .recall.talking import CannotDo
from .records import Entry, now_iso
from .sleep.history import EMERGENCY, compact
from .sleeper import PAUSE, SCHEDULE, NotNow, SleepsAtNight, SwitchedOff
from .store import condition, facts, game_database, pairing, snapshot, switches
from .store.errors import StoreError, StoreHeld
from .store.history import exchange

KEY = "ai_memory_assistant"
REPLIES_WAITING = 5  # what is said beyond that while the NPC thinks is heard but not answered
PEOPLE_SECONDS = 60.0  # how often the index of people is written
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

        late = random.uniform(0, JITTER * self.interval)
        beat = task.deferLater(reactor, late, self.at_tick)
        beat.addErrback(lambda reason: reason.trap(StoreHeld))  # told when it began
        beat.addErrback(offload.log_failure, f"the tick of #{self.obj.id if self.obj else None}")

    # --- the tick -----------------------------------------------------------------------------

    def at_tick(self) -> defer.Deferred:
        """One beat: awake, the background loop; asleep, a bounded piece of the night.

        Skipped while the last one is still busy, unless that is past its deadline.
        """
        if not (conf.get().ENABLED and self.obj and self.obj.pk) or switches.paused(self.obj):
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

        return defer.maybeDeferred(self._beat).addBoth(release)

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
        mind = self.obj.memory
        if time.monotonic() - (self.ndb.people_written or 0) >= PEOPLE_SECONDS:
            self.ndb.people_written = time.monotonic()
            mind.people.flush()
        mind.conversations.clear_stale(mind.clock())
        if len(mind.journal):
            yield mind.work_through()
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
        try:
            until = time.monotonic() + conf.get().TICK_DEADLINE
            while self.ndb.busy_since is not None or self.ndb.answering:
                if not reactor.running or time.monotonic() >= until:
                    break  # nothing goes on behind anybody's back, or it was given up
                yield task.deferLater(reactor, PAUSE, lambda: None)
        except BaseException:
            self.tending.release()
            raise
        self.ndb.busy_since = math.inf
        self.ndb.answering = True

    def let_go(self) -> None:
        """Let the heartbeat and the answers go on, for who has held it still."""
        self.ndb.busy_since, self.ndb.answering = None, False
        if self.waiting_for_answers:
            self._begin_answering()
        self.tending.release()

    @property
    def tending(self) -> defer.DeferredLock:
        """Held by whoever looks after the memory: one at a time."""
        self.ndb.tending = self.ndb.tending or defer.DeferredLock()
        return self.ndb.tending

    # --- answering ----------------------------------------------------------------------------

    def wants_reply(self, entry: Entry, speaker: Any) -> None:
        """Answer `entry`, once, as soon as the answers before it are out."""
        asked = (entry.id, entry.timestamp)
        if asked in (self.ndb.asked or ()):
            return
        self.ndb.asked = [*(self.ndb.asked or ()), asked][-REPLIES_WAITING:]
        if self.asleep:
            self._murmur(speaker)
            return
        if len(self.waiting_for_answers) < REPLIES_WAITING:
            self.waiting_for_answers.append((entry, speaker))
        else:
            logger().info("#%s: entry %s is not answered, too many wait.", self.obj.id, entry.id)
        if not self.ndb.answering:
            self._begin_answering()

    def _begin_answering(self) -> None:
        self.ndb.answering = True
        self._answer_all().addErrback(offload.log_failure, f"an answer of #{self.db_obj_id}")

    @property
    def waiting_for_answers(self) -> deque:
        if self.ndb.waiting is None:
            self.ndb.waiting = deque()
        return self.ndb.waiting

    @defer.inlineCallbacks
    def _answer_all(self) -> Generator[Any, Any, None]:
        from twisted.internet import reactor

        try:
            while self.waiting_for_answers:
                entry, speaker = self.waiting_for_answers.popleft()
                wait = (self.ndb.last_reply or 0) + conf.get().REPLY_COOLDOWN - time.monotonic()
                if wait > 0 and reactor.running:
                    yield task.deferLater(reactor, wait, lambda: None)
                try:
                    yield self._answer(entry, speaker)
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
    def _answer(self, entry: Entry, speaker: Any) -> Generator[Any, Any, None]:
        npc, mind = self.obj, self.obj.memory
        hands = Hands(self, entry, speaker)
        answer = yield mind.answer(entry, hands)
        if not npc.pk:
            return  # deleted meanwhile
        own = npc.speak(answer.text, entry, speaker, answer.told) if answer.text else None
        mind.history.add(exchange(entry, answer.rounds, own, hands.spoken))
        mind.note_accessed(entry, answer.told)
        self.ndb.last_reply = time.monotonic()
        self._note_exchange(entry.source_entity)
        if hands.tired:
            self._nod_off(entry)
        if not self.ndb.compacting:  # nobody waits for it
            self.ndb.compacting = True
            compact(mind, EMERGENCY, offload.AWAKE).addErrback(
                offload.log_failure, f"compacting what #{self.obj.id} said"
            ).addCallback(lambda _: setattr(self.ndb, "compacting", False))

    def _nod_off(self, entry: Entry) -> None:
        """Fall asleep as was said, now that it is said, unless somebody else has come meanwhile."""
        try:
            self.go_to_sleep(entry.source_entity)
        except (NotNow, SwitchedOff) as problem:
            logger().info("#%s stays awake: %s", self.obj.id, problem)

    def _note_exchange(self, identity: str | None) -> None:
        exchanges = self.ndb.exchanges or {}
        exchanges[identity] = self.obj.memory.clock()
        self.ndb.exchanges = dict(list(exchanges.items())[-50:])

    def last_exchange_with(self, identity: str) -> str | None:
        """ISO timestamp of the last answer given to `identity` since the server started."""
        return (self.ndb.exchanges or {}).get(identity)

    def _murmur(self, speaker: Any) -> None:
        now = time.monotonic()
        if now - (self.ndb.last_murmur or -60) >= 60:
            self.ndb.last_murmur = now
            speaker.msg(f"{self.obj.get_display_name(speaker)} is fast asleep.")


class Hands:
    """What an NPC does in the world while it thinks about an answer: `recall.talking.Hands`."""

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

    def say(self, text: str, *, private: bool) -> None:
        self._utter(text, self.speaker, private, self._entry.session_id)

    def whisper(self, name: str, text: str) -> None:
        [listener] = self._npc.seen_here(name)
        same = listener == self.speaker and self._entry.private
        self._utter(text, listener, True, self._entry.session_id if same else None)

    def emote(self, text: str) -> None:
        done = self._npc.act_out(text, session_id=self._entry.session_id)
        self.spoken.append(done.id)

    def go_to_sleep(self) -> None:
        try:
            self._script.refuse_rude_sleep(self._entry.source_entity)
        except (NotNow, SwitchedOff) as problem:
            raise CannotDo(str(problem)) from None
        self.tired = True  # it says so first

    def _utter(self, text: str, listener: Any, private: bool, session_id: str | None) -> None:
        own = self._npc.utter(text, listener, private=private, session_id=session_id)
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
        pairing.expect()
        snapshot.watch(_write_all)
    _open().addErrback(_report_unusable)


@defer.inlineCallbacks
def _open() -> Generator[Any, Any, None]:
    """Open the store, and mark it and the game's database as of one moment, if they are."""
    global _paired
    stored = yield offload.run(offload.MEMORY, _open_all, priority=offload.NIGHT, timeout=300)
    _paired = True
    if not pairing.compare(stored):
        yield pairing.mark_anew()


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
    if pairing.due():
        yield pairing.mark_anew()


def _open_all() -> dict[str, Any]:
    embedder.shared()
    facts.shared()
    if conf.get().LLM is not None:
        import openai.resources.chat  # noqa: F401 - takes 0.4 s: not amid the first answer
    gc.freeze()  # a full collection would look at every object of the model: 0.2 s, on any thread
    return pairing.of_store()


def _report_unusable(reason: Any) -> None:
    if not reason.check(StoreHeld):  # that was told
        logger().error("NPC memories do not work: %s", reason.getErrorMessage())
