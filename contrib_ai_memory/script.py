"""AssistantScript: the heartbeat of one NPC, and the queue of lines that wait for its answer.

Evennia calls `at_repeat` and does not wait for it, so ticks have a busy latch, a deadline and an
errback of their own. Everything runs on the reactor thread; the work itself goes to `offload`.
"""

from __future__ import annotations

import math
import random
import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import OperationalError
from evennia.scripts.scripts import DefaultScript
from evennia.utils.create import create_script
from twisted.internet import defer, task
from twisted.python.failure import Failure

from . import conf, hearing_queue, language, offload, store_opening
from .answer_queue import LINES_EACH, AnswerQueue, PendingLine, Verdict
from .attention import LEAN, Floor, HeardLine, is_spent, is_undecided, judged, may_be_anothers
from .handler import shed_copied
from .ingest.heard_line import heard
from .llm.router import rules_answer
from .log import logger
from .memory_process import client
from .recall import initiative
from .recall.open_items import close_told, has_word_for
from .recall.reply import Answer
from .recall.sheet import OWN, field_of, read_line
from .recall.tool_loop import ToolError
from .records import OF_NPC, TALK_KINDS, Entry, LineInTalk, Provenance, now_iso, seconds_between
from .sleep.chat_compaction import EMERGENCY, compact
from .sleep.night import PAUSE, NotNow, Sleep, SwitchedOff
from .store import attributes, condition, game_database, memory_store, pause
from .store.chat_log import exchange
from .store.condition import HELD, StoreUnreachable
from .store.evidence import EvidenceGone
from .store.npc_settings import NPCSettings
from .store.people import entity_type_of
from .store.reply_reasons import ReplyReasons
from .text.sanitising import oneline

KEY = attributes.HEARTBEAT
LOCK_SECONDS = 20.0  # that a stop waits for a locked database
ASKED_KEPT = 32  # entries remembered as passed to `wants_reply`
EXCHANGES_KEPT = 50  # people whose last exchange with the NPC is remembered
PEOPLE_SECONDS = 60.0  # between two writes of the index of people
RETURN_SECONDS = 3.0  # after a reload, until cut off answers are taken up
# why a line is answered later: a reload cut it off, the store's server is away, the NPC slept
CUT_OFF, PUT_OFF, ASLEEP = "cut off", "put off", "asleep"
KEPT_SECONDS = {CUT_OFF: 600, PUT_OFF: 300, ASLEEP: 3 * 86_400}  # age of those that still are
KEPT_IN_ALL = 50
HELD_STILL = "held still"  # in place of the turn of those who answer
READ_AT_ONCE = 2  # lines of one speaker
LET_ANOTHER_SECONDS = (0.5, 2.0)  # in which another NPC may answer, where it is as likely to
ATTEMPTS = 3  # at one answer, if its evidence is forgotten meanwhile
TICK_DEADLINE_SECONDS = 180.0  # after which a tick is abandoned
THINKING_AFTER_SECONDS = 2.0  # until THINKING_EMOTE is shown
JITTER = 0.1  # share of the tick by which the ticks of NPCs drift apart
ASLEEP_SECONDS = 60  # between two notices that the NPC is asleep

_READ_AT_START = (  # Attributes of ours and Evennia's
    *("_manually_paused", "_paused_time"),
    *("unanswered", "asked_asleep", "operating_mode", "sleep_schedule", "night"),
)


@dataclass(eq=False)
class HeartbeatState:
    """What a heartbeat knows until the server stops. Times without a zone are monotonic seconds."""

    edit_lock: defer.DeferredLock = field(default_factory=defer.DeferredLock)
    busy_since: float | None = None  # begin of the tick under way; infinite while held still
    last_beat: str = ""  # ISO 8601 UTC
    people_written: float = 0.0
    compacting: bool = False
    # lines that are heard
    floor: Floor = field(default_factory=Floor)  # the talk that is going on in the room
    attended_to: tuple[int, Floor] = (0, Floor())  # the last entry, and the floor before it
    reading: dict[int, tuple[Entry, bool]] = field(default_factory=dict)  # `attend`, by number
    # lines that are answered
    asked: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=ASKED_KEPT))
    answer_queue: AnswerQueue = field(default_factory=AnswerQueue)
    held: bool = False  # no line is answered: somebody holds the memory still, or wants to
    answering: object = None  # the turn of whoever answers the lines that wait, or HELD_STILL
    answering_line: PendingLine | None = None
    last_reply: float = 0.0
    told_asleep: float = -ASLEEP_SECONDS
    exchanges: dict[str | None, str] = field(default_factory=dict)  # last answers, by identity
    opened: deque[str] = field(default_factory=lambda: deque(maxlen=ASKED_KEPT))  # told unasked
    opened_at: str = ""  # ISO 8601 UTC


class AssistantScript(DefaultScript):
    """The heartbeat of one NPC; `script.obj` is the NPC, `script.sleep` its sleep.

    db: operating_mode (awake | sleep); unanswered, the lines that are answered later (number, time,
    why, whether they were asked asleep); sleep_phase, night, night_records, sleep_schedule and the
    rest belong to `Sleep`.
    """

    def at_script_creation(self) -> None:
        self.key = KEY
        self.desc = "The memory of an NPC: answers, background loop, sleep"
        self.interval = conf.get().TICK_RATE
        self.start_delay = True
        self.persistent = True
        self.db.operating_mode = "awake"
        self.db.sleep_phase = None
        if self.obj:
            shed_copied(self.obj)  # `copy` creates the scripts after cloning the Attributes

    @classmethod
    def of(cls, npc: Any) -> AssistantScript:
        """Return the heartbeat of `npc`, created and started if it has none."""
        known = npc.ndb.ai_memory_assistant
        if known is not None and known.pk:
            return known
        found = npc.scripts.get(KEY)
        script = found[0] if found else create_script(cls, key=KEY, obj=npc)
        give_present_class(script)
        npc.ndb.ai_memory_assistant = script
        script.rearm()
        return script

    @property
    def state(self) -> HeartbeatState:
        if self.ndb.state is None:
            self.ndb.state = HeartbeatState()
        return self.ndb.state

    @property
    def sleep(self) -> Sleep:
        return Sleep(self)

    @property
    def asleep(self) -> bool:
        return bool(self.db.operating_mode == "sleep")

    # --- the timer ----------------------------------------------------------------------------

    def at_start(self, **kwargs: Any) -> None:
        if conf.get().ENABLED:
            store_opening.warm_up()

    def at_server_start(self) -> None:
        """Restart the timer: after a crash a persistent Script has none (EVENNIA.md)."""
        attributes.load(self, _READ_AT_START)
        attributes.write_as_text(self, attributes.HEARTBEAT_TEXTS)
        self.rearm()
        self.at_start()
        self._take_over_former()
        if self.db.unanswered:
            self._take_up().addErrback(offload.log_failure, f"taking up the talk of {self.obj}")

    def _take_over_former(self) -> None:
        """Take over what earlier versions kept: `asked_asleep`, and bare numbers."""
        kept = [(*each, ASLEEP, True) for each in self.db.asked_asleep or ()]
        for each in self.db.unanswered or ():
            if not isinstance(each, int):
                kept.append(each)
            elif entry := self.obj.memory.journal.get(each):
                kept.append((each, entry.timestamp, CUT_OFF, False))
        if kept != [*(self.db.unanswered or ())]:
            self.db.unanswered = kept
        if self.db.asked_asleep is not None:
            self.attributes.remove("asked_asleep")

    @defer.inlineCallbacks
    def _take_up(self) -> Generator[Any, Any, None]:
        """Answer the lines whose answers a reload cut off, to those who are still here."""
        from twisted.internet import reactor

        if reactor.running:  # the players' connections come back first
            yield task.deferLater(reactor, RETURN_SECONDS, lambda: None)
        if self.obj and self.obj.pk:
            self.answer_kept(CUT_OFF, PUT_OFF)

    def at_server_reload(self) -> None:
        self._settle(keep_waiting=True)

    def at_server_shutdown(self) -> None:
        self._settle()
        if conf.get().MEMORY_PROCESS:
            client.end()

    def _settle(self, *, keep_waiting: bool = False) -> None:
        """Write the last lines (departures are heard late); then close the store."""
        if not offload.stopping():  # the first NPC waits for all, so that the stop comes to an end
            game_database.wait_for_lock(LOCK_SECONDS)
        hearing_queue.release(self.obj)
        heard = hearing_queue.catch_up_all()
        if keep_waiting:
            state = self.state
            read = [PendingLine(each, None) for each, answers in state.reading.values() if answers]
            for line in (state.answering_line, *state.answer_queue.lines, *read):
                if line:
                    self._keep(line, CUT_OFF)
        for npc in [self.obj, *heard]:
            if npc is not None and npc.pk:
                npc.memory.flush()
                if lost := hearing_queue.unwritten(npc):
                    logger().error("%s: %s lines that it heard are lost.", npc.dbref, lost)
        offload.drain()
        memory_store.close_shared()

    def rearm(self) -> None:
        """Start the timer if it should be running and is not, or runs at an old rate."""
        if not self.is_active or self.db._manually_paused or self.obj is None:
            return
        # not by `npc.memory`, which rearms the heartbeat when it is made
        rate = NPCSettings(self.obj).get().TICK_RATE
        if self.ndb._task is not None and self.interval != rate:
            self.stop()  # a running timer that is started anew is left inactive by Evennia
        if self.ndb._task is None:
            self.start(interval=rate)

    def at_repeat(self, **kwargs: Any) -> None:
        from twisted.internet import reactor

        if self.obj and AssistantScript.of(self.obj) is not self:
            self.delete()  # a copied NPC has a heartbeat of its own and a clone of another
            return
        late = random.uniform(0, JITTER * self.interval)
        beat = task.deferLater(reactor, late, self.at_tick)
        beat.addErrback(lambda reason: reason.trap(*HELD))  # logged when it began
        _log_failure(beat, f"the tick of #{self.obj.id if self.obj else None}")

    # --- the tick -----------------------------------------------------------------------------

    @defer.inlineCallbacks
    def at_tick(self) -> Generator[Any, Any, None]:
        """Run one beat: awake, the background loop; asleep, a bounded piece of the night.

        Skipped while the last one is still busy, unless that is past its deadline.
        """
        if not (conf.get().ENABLED and self.obj and self.obj.pk) or pause.paused(self.obj):
            return
        state = self.state
        if state.busy_since is not None:
            if time.monotonic() - state.busy_since < TICK_DEADLINE_SECONDS:
                return
            logger().error("#%s: a tick passed its deadline and was abandoned.", self.obj.id)
        state.busy_since = mine = time.monotonic()
        try:
            yield self._beat()
        except EvidenceGone as problem:
            logger().info("#%s: %s", self.db_obj_id, problem)
        finally:
            if state.busy_since == mine:
                state.busy_since = None

    @defer.inlineCallbacks
    def _beat(self) -> Generator[Any, Any, None]:
        try:
            self.obj.memory.flush(people=False)
            if self.obj.memory.unwritten:
                return  # no work on lines that a crash would lose
            yield store_opening.mark_generation()
            yield self.sleep.beat() if self.asleep else self._awake_beat()
        except HELD:  # only the journal goes on; nobody waits for the end of a night
            if self.asleep:
                self.sleep.interrupt()
            raise
        except OperationalError as error:  # tried again at the next beat
            if not game_database.note_unavailable(error):
                raise

    @defer.inlineCallbacks
    def _awake_beat(self) -> Generator[Any, Any, None]:
        memory, state = self.obj.memory, self.state
        if time.monotonic() - state.people_written >= PEOPLE_SECONDS:
            state.people_written = time.monotonic()
            memory.people.flush()
        memory.conversations.clear_stale(memory.clock())
        yield offload.breathe(offload.AWAKE)
        if len(memory.journal):
            yield memory.work_through()
        if not (self.obj and self.obj.pk):
            return  # it was deleted meanwhile
        self.answer_kept(PUT_OFF)  # the store has done the work of this beat
        if memory.settings.INITIATIVE:
            yield self._take_initiative()
        state.last_beat = now_iso()
        self.sleep.begin_on_schedule()

    @defer.inlineCallbacks
    def _take_initiative(self) -> Generator[Any, Any, None]:
        """Say something unasked, where there is an occasion (`recall.initiative`)."""
        npc, memory, state = self.obj, self.obj.memory, self.state
        if state.answer_queue or state.answering or state.reading or state.held:
            return
        here = {npc.get_memory_guise(each): each for each in npc.seen_here()}
        people = [
            who
            for who, each in here.items()
            if entity_type_of(each) == "player" and npc.answers_now(each)
        ]
        seconds = 60.0 * memory.settings.INITIATIVE
        found = initiative.occasion(memory, people, state.opened_at, seconds)
        if found is None:
            return
        entry, came_in = found
        opened = tuple(state.opened)
        answer = yield initiative.opening(memory, entry, [*here], came_in=came_in, told=opened)
        person = self.obj.here_as(entry.source_entity) if self.obj and self.obj.pk else None
        if person is None or state.answer_queue or state.answering:
            return
        if not came_in:
            state.opened_at = memory.clock()
        if answer is None:
            return
        state.opened.extend(each.memory.id for each in answer.recalled)
        line = PendingLine(entry, person)
        if own := self._say(answer, line):
            self._note_said(own, answer, entry)
            self._note_exchange(line)

    # --- holding still ------------------------------------------------------------------------

    @defer.inlineCallbacks
    def hold_still(self) -> Generator[Any, Any, None]:
        """Wait until no work on the memory is under way, and start none until `let_go`.

        One caller at a time: the next waits for `let_go`. Lines said meanwhile are journalled, and
        answered afterwards.
        """
        from twisted.internet import reactor

        state = self.state
        yield state.edit_lock.acquire()
        state.held = True  # lines go on waiting for their answers
        try:
            until = time.monotonic() + TICK_DEADLINE_SECONDS
            while state.busy_since is not None or state.answering:
                if not reactor.running or time.monotonic() >= until:
                    break  # without a reactor nothing else can run; past the deadline: abandoned
                yield task.deferLater(reactor, PAUSE, lambda: None)
        except BaseException:
            self._resume()
            raise
        state.busy_since, state.answering = math.inf, HELD_STILL
        self.obj.memory.evidence.void_all()  # void the work that did not finish in time

    def let_go(self) -> None:
        """Let the heartbeat and the answers go on after `hold_still`."""
        self.state.busy_since = self.state.answering = None
        self._resume()

    def _resume(self) -> None:
        self.state.held = False
        self._start_answering()
        self.state.edit_lock.release()

    # --- answering ----------------------------------------------------------------------------

    def attend(self, entry: Entry, speaker: Any, line: HeardLine, *, answers: bool) -> None:
        """Answer a line, or not; where its words alone tell, by what is done with them. Called
        again after a failure, it goes on.

        What `attention.attend` said, `answers`, stands where the line is not read: asleep, while
        two of this speaker are being read, and where reading fails.
        """
        state = self.state
        number, before = state.attended_to
        if number != entry.id:
            before = state.floor
            state.attended_to = (entry.id, before)
            state.floor = before.heard(line)
        settings, who = self.obj.memory.settings, entry.source_entity
        of_speaker = sum(each.source_entity == who for each, _ in state.reading.values())
        read = not self.asleep and of_speaker < READ_AT_ONCE
        if read and is_undecided(line, settings.UNASKED_REPLIES):
            whole = heard(self.obj.memory, entry)
            state.reading[entry.id] = (entry, answers)
            done = self._read_line(entry, speaker, line, whole, before, answers=answers)
            _log_failure(done, f"reading entry {entry.id} of {self.obj}")
        elif answers:
            self._answer_line(entry, speaker, line)

    @defer.inlineCallbacks
    def _read_line(
        self,
        entry: Entry,
        speaker: Any,
        line: HeardLine,
        whole: LineInTalk,
        before: Floor,
        *,
        answers: bool,
    ) -> Generator[Any, Any, None]:
        from twisted.internet import reactor

        try:
            sheet = [field_of(self.obj, each) for each in OWN]
            asked = whole, self.obj.memory.id, sheet, entry.witnesses, entry.timestamp
            read = yield offload.read(read_line, *asked)
        except Exception as problem:  # noqa: BLE001 - whatever keeps it from reading, it can guess
            logger().warning("#%s: entry %s was not read: %s", self.db_obj_id, entry.id, problem)
            read = None
        finally:
            self.state.reading.pop(entry.id, None)
        if read is not None and may_be_anothers(line, before) and reactor.running:
            yield task.deferLater(reactor, random.uniform(*LET_ANOTHER_SECONDS), lambda: None)
        npc = self.obj
        if not (npc and npc.pk and speaker.pk) or npc.memory.journal.get(entry.id) is None:
            return
        settings = npc.memory.settings
        if read is not None:
            spent = is_spent(line, self.state.floor, settings.UNASKED_REPLIES)
            lean = LEAN[settings.TALKATIVENESS]
            answers = judged(read, line, before, spent=spent, lean=lean)
            if not (answers or spent or line.is_for_another):
                answers = has_word_for(npc.memory, entry)
            if answers and may_be_anothers(line, before):  # two who answer are a chorus
                since = npc.memory.journal.read(entry.id + 1)
                answers = not any(OF_NPC in each.tags for each in since)
        if answers and npc.answers_now(speaker):
            self._answer_line(entry, speaker, line)

    def _answer_line(self, entry: Entry, speaker: Any, line: HeardLine) -> None:
        if self.wants_reply(entry, speaker):
            self.state.floor = self.state.floor.answered(line)

    def wants_reply(self, entry: Entry, speaker: Any) -> bool:
        """Queue `entry` for an answer, once. Returns whether it is new."""
        state, asked = self.state, (entry.id, entry.timestamp)
        if asked in state.asked:
            return False
        if self.asleep:
            spoken = language.get()
            if spoken.asks(entry.content) and not spoken.asks_if_awake(entry.content):
                self._keep(PendingLine(entry, speaker, asleep=True), ASLEEP)
            self._tell_asleep(speaker)
        else:
            self._queue(PendingLine(entry, speaker))
            self.answer_kept(ASLEEP, people=[speaker])
        state.asked.append(asked)
        if not self.asleep:
            self._start_answering()
        return True

    def _queue(self, line: PendingLine) -> None:
        entry, speaker = line.entry, line.speaker
        verdict = self.state.answer_queue.add(line)
        if verdict is not Verdict.QUEUED:
            logger().info("#%s: entry %s is not answered, too many wait.", self.obj.id, entry.id)
        if verdict in (Verdict.TOO_FAST, Verdict.CROWDED):
            crowded = verdict is Verdict.CROWDED
            self.obj.put_off(entry, speaker, self.obj.get_memory_excuse(speaker, crowded=crowded))

    def at_wake(self) -> None:
        """Answer what was asked asleep by those who are still here."""
        self.answer_kept(ASLEEP)

    def _keep(self, line: PendingLine, why: str) -> bool:
        """Keep a line for `answer_kept`: the first LINES_EACH of each speaker, or the newest
        question that was asked asleep. Returns whether nothing else of its speaker was kept."""
        entry, get, kept = line.entry, self.obj.memory.journal.get, [*(self.db.unanswered or ())]
        own = [
            each
            for each in kept
            if each[2] == why and (e := get(each[0])) and e.source_entity == entry.source_entity
        ]
        if why == ASLEEP:
            kept = [each for each in kept if each not in own]
        if why == ASLEEP or len(own) < LINES_EACH:
            kept.append((entry.id, entry.timestamp, why, line.asleep))
            self.db.unanswered = kept[-KEPT_IN_ALL:]
        return not own

    def answer_kept(self, *whys: str, people: Sequence[Any] | None = None) -> None:
        """Queue lines that were kept, of people who are here, if neither forgotten nor old.

        What others asked asleep is answered when they next speak to it; the rest is dropped.
        """
        kept, left, wanted = [*(self.db.unanswered or ())], [], []
        if not any(why in whys for _number, _when, why, _asleep in kept):
            return
        npc, memory = self.obj, self.obj.memory
        people = npc.seen_here() if people is None else people
        here = {npc.get_memory_guise(each): each for each in people}
        for each in kept:
            number, when, why, asleep = each
            entry, age = memory.journal.get(number), seconds_between(when, memory.clock())
            if entry is None or entry.timestamp != when or age > KEPT_SECONDS[why]:
                continue
            if why in whys and entry.source_entity in here:
                wanted.append((entry, here[entry.source_entity], why, asleep))
            elif why == ASLEEP or why not in whys:
                left.append(each)
        if left != kept:
            self.db.unanswered = left
        for entry, speaker, why, asleep in wanted:
            if why == CUT_OFF:  # it may be asleep by now
                self.wants_reply(entry, speaker)
            else:
                self._queue(PendingLine(entry, speaker, asleep=asleep, put_off=why == PUT_OFF))
        self._start_answering()

    def engaged(self, asked_by: str | None = None) -> str:
        """Return why the NPC cannot fall asleep by itself now, as part of a sentence, or "".

        Args:
            asked_by: Identity of the person who wants it to sleep: their own talk does not keep
                it awake.
        """
        if self.state.answer_queue:
            return "still has somebody to answer"
        now, within = self.obj.memory.clock(), conf.EXCHANGE_SECONDS
        if asked_by is None:
            talking = self.obj.memory.conversations.busy(now, within)
        else:
            others = (last for who, last in self.state.exchanges.items() if who != asked_by)
            talking = any(seconds_between(last, now) <= within for last in others)
        return "is in the middle of a conversation" if talking else ""

    def _start_answering(self) -> None:
        state = self.state
        if state.answering or state.held or not state.answer_queue:
            return
        state.answering = turn = object()
        answered = self._answer_all(turn)
        answered.addErrback(offload.log_failure, f"an answer of #{self.db_obj_id}")

    @defer.inlineCallbacks
    def _answer_all(self, turn: object) -> Generator[Any, Any, None]:
        """Answer all that wait, until `hold_still` takes the `turn` away."""
        from twisted.internet import reactor

        state = self.state
        try:
            yield offload.breathe(offload.REPLY)  # who was heard first is answered in a later turn
            while self._has_turn(turn) and state.answer_queue and not state.held:
                wait = self._seconds_to_wait()
                if wait > 0 and reactor.running:
                    yield task.deferLater(reactor, wait, lambda: None)
                    continue  # the memory may be held still by now
                line = state.answer_queue.take()
                number = line.entry.id
                try:
                    yield self._answer(line, turn)
                except EvidenceGone as problem:
                    logger().info("#%s: %s", self.db_obj_id, problem)
                except Exception as problem:  # noqa: BLE001  (the lines behind it are still answered)
                    if not (self.obj and self.obj.pk):
                        break  # it was deleted meanwhile
                    if not game_database.note_unavailable(problem):
                        doing = f"answering entry {number} of #{self.obj.id}"
                        offload.log_failure(Failure(), doing)
        finally:
            if state.answering is turn:
                state.answering = None

    def _seconds_to_wait(self) -> float:
        """Return for how long no line is answered: the cooldown, and a locked database."""
        if game_database.still_locked():
            return hearing_queue.RETRY_SECONDS
        try:
            cooldown = self.obj.memory.settings.REPLY_COOLDOWN
        except OperationalError as problem:  # the NPC's own settings are an Attribute
            if not game_database.note_unavailable(problem):
                raise
            return hearing_queue.RETRY_SECONDS
        return self.state.last_reply + cooldown - time.monotonic()

    def _put_off(self, line: PendingLine) -> None:
        """Keep a line until the store's server is back, and tell its speaker once."""
        if self._keep(line, PUT_OFF) and not line.put_off:
            text = self.obj.memory.phrase("cannot think", name=line.entry.seen_as)
            self.obj.put_off(line.entry, line.speaker, text)

    def _has_turn(self, turn: object) -> bool:
        return bool(self.obj and self.obj.pk) and self.state.answering is turn

    @defer.inlineCallbacks
    def _answer(self, line: PendingLine, turn: object) -> Generator[Any, Any, None]:
        npc, memory, entry, state = self.obj, self.obj.memory, line.entry, self.state
        actions = ReplyActions(self, entry, line.speaker)
        state.answering_line = line
        thinking = self._think_aloud(line, actions)
        try:
            answer = yield self._compose(entry, actions, turn)
            own = self._say(answer, line) if answer.text else None
        except OperationalError as problem:
            locked = game_database.note_unavailable(problem) == condition.LOCKED
            if actions.spoken or not locked or not offload.in_game():
                raise
            self._queue(line)  # nothing was said yet
            return
        except StoreUnreachable as problem:
            if actions.spoken or not self._has_turn(turn):
                raise
            logger().error("#%s cannot answer now: %s", self.db_obj_id, problem)
            self._put_off(line)
            while state.answer_queue:  # asked one by one, each would wait for a time-out
                self._put_off(state.answer_queue.take())
            return
        except EvidenceGone:
            there = self.obj and self.obj.pk and memory.journal.get(entry.id)
            if not there or actions.spoken or self._has_turn(turn):
                raise
            self._queue(line)  # nothing was wrong but that its turn was taken away
            self._start_answering()
            return
        finally:
            if state.answering_line is line:
                state.answering_line = None
            thinking.cancel()
        acted = map(memory.journal.get, actions.spoken)
        every = [*filter(None, acted), *([own] if own else [])]
        said = exchange(entry, answer.rounds, every, answer.provenance)
        memory.chat_log.add([*answer.overheard, *said])
        if own:
            self._note_said(own, answer, entry)
        yield offload.breathe(offload.REPLY)
        if not npc.pk:
            return  # it was deleted meanwhile
        memory.note_answered(entry, answer)
        state.last_reply = time.monotonic()
        self._note_exchange(line, in_alarm=answer.row.startswith("alarm"))
        if actions.wants_sleep:
            self._fall_asleep(entry)
        if not state.compacting:  # nobody waits for it
            state.compacting = True
            compacting = compact(memory, EMERGENCY, offload.AWAKE)
            compacting.addErrback(lambda reason: reason.trap(EvidenceGone))
            _log_failure(compacting, f"compacting what #{npc.id} said")
            compacting.addBoth(lambda _: setattr(state, "compacting", False))

    def _say(self, answer: Answer, line: PendingLine) -> Entry | None:
        """Speak an answer. Returns the entry of the words."""
        text, entry = answer.text, line.entry
        if line.asleep:
            asked = {"name": entry.seen_as, "question": oneline(entry.content)}
            text = f"{self.obj.memory.phrase('asked asleep', **asked)} {text}".strip()
        elif self._others_spoke_since(entry) and rules_answer(self.obj.memory.settings):
            text = language.get().phrases.addressed(text, entry.seen_as)
        return self.obj.speak(
            text,
            line.speaker,
            private=entry.private or answer.private,
            session_id=entry.session_id,
            provenance=answer.provenance,
        )

    def _others_spoke_since(self, entry: Entry) -> bool:
        return not entry.private and any(
            each.kind in TALK_KINDS and each.source_entity != entry.source_entity
            for each in self.obj.memory.journal.read(entry.id + 1)
            if each.origin == "perceived" and not each.private
        )

    def _think_aloud(self, line: PendingLine, actions: ReplyActions) -> defer.Deferred:
        """Show that the NPC thinks where its answer takes long; to be cancelled."""
        from twisted.internet import reactor

        def show() -> None:
            if self.obj.memory.settings.THINKING_EMOTE and not actions.spoken:
                self.obj.at_memory_thinking(line.speaker, private=line.entry.private)

        thinking = task.deferLater(reactor, THINKING_AFTER_SECONDS, show)
        thinking.addErrback(lambda reason: reason.trap(defer.CancelledError))
        return thinking.addErrback(offload.log_failure, f"the thinking of #{self.db_obj_id}")

    @defer.inlineCallbacks
    def _compose(
        self, entry: Entry, actions: ReplyActions, turn: object
    ) -> Generator[Any, Any, Any]:
        """Make an `Answer`, anew where something that it rested on was forgotten meanwhile."""
        memory = self.obj.memory
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return (yield memory.answer(entry, actions))
            except EvidenceGone:
                yield memory.evidence.settled()
                still_there = self._has_turn(turn) and memory.journal.get(entry.id)
                if attempt == ATTEMPTS or actions.spoken or not still_there:
                    raise

    def _fall_asleep(self, entry: Entry) -> None:
        """Fall asleep after the answer that announced it, unless somebody else came meanwhile."""
        try:
            self.sleep.go_to_sleep(entry.source_entity)
        except (NotNow, SwitchedOff) as problem:
            logger().info("#%s stays awake: %s", self.obj.id, problem)

    def _note_said(self, own: Entry, answer: Answer, entry: Entry) -> None:
        memory = self.obj.memory
        if answer.weighed or answer.row:
            reasons = ReplyReasons.of(own, entry, answer.weighed, answer.row)
            memory.reasons.note(reasons, conf.WHY_DAYS)
        close_told(memory, answer.done_by_telling, own)

    def _note_exchange(self, line: PendingLine, *, in_alarm: bool = False) -> None:
        now, identity, state = self.obj.memory.clock(), line.entry.source_entity, self.state
        state.exchanges[identity] = now
        state.exchanges = dict([*state.exchanges.items()][-EXCHANGES_KEPT:])
        if identity and line.entry.kind != "whisper":
            at = datetime.fromisoformat(now).timestamp()
            state.floor = state.floor.spoken(identity, at)
            if in_alarm:
                state.floor = replace(state.floor, alarmed=at)

    def _tell_asleep(self, speaker: Any) -> None:
        now = time.monotonic()
        if now - self.state.told_asleep >= ASLEEP_SECONDS:
            self.state.told_asleep = now
            speaker.msg(f"{self.obj.get_display_name(speaker)} is fast asleep.")


def give_present_class(script: Any) -> bool:
    """Give a heartbeat of an older version the class by its present path. Returns whether it had.

    Evennia loads `DefaultScript` where a stored path leads nowhere: the NPC would be mute.
    """
    loaded = isinstance(script, AssistantScript)
    if script.typeclass_path == AssistantScript.path:
        return False
    if loaded and type(script) is not AssistantScript:
        return False  # a class of the game's own
    script.typeclass_path = AssistantScript.path
    script.__class__ = AssistantScript  # Evennia's swap_typeclass refuses scripts with a timer
    if not loaded:
        logger().warning("The heartbeat of #%s had a class that is gone.", script.db_obj_id)
    return True


def _log_failure(work: defer.Deferred, doing: str) -> None:
    """Log how work fails that nobody waits for; that the database is locked is said once."""
    work.addErrback(lambda reason: None if game_database.note_unavailable(reason.value) else reason)
    work.addErrback(offload.log_failure, doing)


class ReplyActions:
    """What an NPC does in the game while it composes an answer: `recall.tool_loop.Actions`."""

    def __init__(self, script: AssistantScript, entry: Entry, speaker: Any):
        self._script = script
        self._npc = script.obj
        self._entry = entry
        self.speaker = speaker
        self.spoken: list[int] = []  # journal ids of what it said and did
        self.wants_sleep = False  # the model called `go_to_sleep`; done after the answer

    def present(self, name: str) -> str | None:
        seen = self._npc.seen_here(name)
        if len(seen) > 1:
            raise ToolError(f"{len(seen)} people here are called {name}")
        return self._npc.get_memory_guise(seen[0]) if seen else None

    def say(self, text: str, provenance: Provenance, *, private: bool) -> None:
        self._speak(text, self.speaker, provenance, private, self._entry.session_id)

    def whisper(self, name: str, text: str, provenance: Provenance) -> None:
        [listener] = self._npc.seen_here(name)
        same = listener == self.speaker and self._entry.private
        self._speak(text, listener, provenance, True, self._entry.session_id if same else None)

    def emote(self, text: str, provenance: Provenance) -> None:
        session_id = self._entry.session_id
        self._note(self._npc.act_out(text, session_id=session_id, provenance=provenance))

    def go_to_sleep(self) -> None:
        try:
            self._script.sleep.check_may_begin(self._entry.source_entity)
        except (NotNow, SwitchedOff) as problem:
            raise ToolError(str(problem)) from None
        self.wants_sleep = True

    def _speak(
        self, text: str, to: Any, provenance: Provenance, private: bool, session_id: str | None
    ) -> None:
        own = self._npc.speak(
            text, to, private=private, session_id=session_id, provenance=provenance
        )
        if own is None:
            raise ToolError("the one who may hear it is not here")
        self._note(own)

    def _note(self, own: Entry) -> None:
        self.spoken.append(own.id)
        self._script.state.answering_line = None  # a reload does not have it answered once more
