"""One evening played by an NPC of its own, in a game that is entered.

Its lines go through the replay of `evennia ai_memory replay`, in their own time; a night follows
each session. A day after the last line every person asks their questions as a player does: they
stand in the room with the NPC, alone, and say or whisper the words; what the NPC hears goes through
attention, queue, recall and reply to what it says. Whatever a question changed, in the game's
database and in the store, is taken back before the next one; only the word counts of the keyword
search keep the words of the first one.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from multiprocessing import Queue
from pathlib import Path
from typing import Any

from world.game import Game

from . import attention, evenings_ablation
from .evenings_data import Evening, Question, load
from .evenings_score import Attended, Exchange, Played, Stored
from .harness import enter, folder, make

NIGHT_AFTER = timedelta(hours=8)
ASKED_AFTER = timedelta(days=1)

_entered = ExitStack()  # the game of this process


def enter_copy(made: Path, places: Queue[Path]) -> None:
    """Enter a copy of a game in the next of `places`, for as long as this process lives."""
    place = places.get()
    shutil.copytree(made, place / "game")
    _entered.enter_context(enter(Game(place / "game")))


def play(
    file: Path, settings: dict[str, Any], parts: Sequence[str] = (), lacking: str = ""
) -> Played:
    """Play an evening in the game that is entered, with a store of its own.

    Args:
        parts: Of the memory (`evenings_ablation.ABLATED`): every question is also answered
            without each of them.
        lacking: A part that the NPC lacks all the time.
    """
    with own_store(settings), evenings_ablation.without(lacking) if lacking else nullcontext():
        return Playing(load(file)).whole(file, parts)


@contextmanager
def own_store(settings: dict[str, Any]) -> Iterator[None]:
    """Be in the game that is entered with an empty store and these settings."""
    from django.db import transaction
    from django.test.utils import override_settings
    from evennia.server.models import ServerConfig

    from contrib_ai_memory import sqlite_file
    from contrib_ai_memory.embedding import embedder
    from contrib_ai_memory.store import generations, memory_store

    with (
        folder() as place,
        override_settings(CONTRIB_AI_MEMORY={**settings, "DIR": str(place)}),
        transaction.atomic(),  # one for the evening: nothing here is worth a write to the disk
    ):
        (place / embedder.CACHE_FILE).symlink_to(embeddings())
        for key in (generations.KEY, generations.GENERATION):
            ServerConfig.objects.conf(key, delete=True)  # the store of the last evening is gone
        try:
            yield
        finally:
            memory_store.close_shared(for_good=False)
            sqlite_file.close_all()


def embeddings() -> Path:
    """The file that keeps embeddings of stored texts from one run to the next."""
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ai-memory-bench"
    own.mkdir(parents=True, exist_ok=True)
    return own / "embeddings.sqlite3"


class Playing:
    """An evening while it is played.

    Attributes:
        npc: Its NPC, in a room of its own.
        people: The characters of its people, by name; they come in to ask.
        seconds: What each part took.
    """

    def __init__(self, evening: Evening):
        self.evening = evening
        self.room = make("typeclasses.rooms.Room", evening.npc.room)
        self.room.db.desc = evening.npc.room_desc
        self.npc = make("typeclasses.npcs.AssistantNPC", evening.npc.name, self.room)
        self.people = {each.name: _character(each.name, self.room) for each in evening.people}
        self.seconds: dict[str, float] = {}

    def whole(self, file: Path, parts: Sequence[str]) -> Played:
        self.live_through(file)
        self._kept = {each.id: each for each in self._memories()}
        self._line_of = {entry.id: entry.ref for entry in self.npc.memory.journal.read()}
        stored = tuple(map(self._stored, self._kept.values()))
        told = tuple(self._told())
        heard = {
            entry.ref: entry.importance
            for entry in self.npc.memory.journal.read()
            if entry.ref and entry.origin != "self"
        }
        with self._timed("questions"):
            asked = [(each, *self._ask(each)) for each in self.evening.questions]
        with self._timed("ablation"):
            without = {
                part: tuple(self._ask_without(part, *each) for each in asked) for part in parts
            }
        exchanges = tuple(exchange for _question, exchange, _entry in asked)
        count = attention.count(attention.Ours, [attention.read(file)])
        attended = Attended(count.rightly, count.wrongly, count.missed)
        return Played(
            stored, told, heard, exchanges, attended, self.seconds, self._line_of, without
        )

    # --- the evening --------------------------------------------------------------------------

    def live_through(self, file: Path) -> None:
        """Hear the evening, with a night after each session."""
        from contrib_ai_memory.ingest.replay import BadLine, LogPerson, Replay, read_log

        session = None
        identities = {name: self.npc.get_memory_identity(who) for name, who in self.people.items()}
        with Replay(self.npc, identities) as replay:
            for line in read_log(file):
                if isinstance(line, BadLine):
                    raise SystemExit(f"{file}, line {line.number}: {line.problem}")
                if isinstance(line, LogPerson):
                    replay.introduce(line)
                    continue
                if session not in (None, line.session):
                    self._sleep(replay)
                session = line.session
                with self._timed("lines"):
                    replay.feed(line)
            self._sleep(replay)

    def _sleep(self, replay: Any) -> None:
        """End a session: work through what was heard, then sleep for a night, hours later."""
        from contrib_ai_memory import offload

        memory, script = self.npc.memory, self.npc.assistant
        with self._timed("lines"):
            while not offload.wait(memory.work_through(until_silent=True)):
                pass
            memory.flush()
        with self._timed("nights"):
            now = later(memory.clock(), NIGHT_AFTER)
            memory.clock = lambda: now
            passes = offload.wait(script.sleep.whole_night())
        if errors := [name for name, told in passes.items() if told["errors"]]:
            raise SystemExit(f"{self.evening.id}: the night failed at {', '.join(errors)}.")

    def _memories(self) -> list[Any]:
        from contrib_ai_memory.store import memory_store

        return sorted(
            memory_store.shared().list(self.npc.memory.id, limit=None), key=lambda each: each.id
        )

    def _stored(self, memory: Any) -> Stored:
        return Stored(
            memory.record,
            memory.memory_type,
            memory.content,
            self._lines(memory.journal_ids),
            not (memory.superseded_by or memory.invalid_at),
        )

    def _lines(self, journal_ids: Any) -> tuple[str, ...]:
        """The lines behind journal entries; an insight of the night is an entry without one."""
        return tuple(filter(None, (self._line_of.get(each) for each in journal_ids)))

    def _told(self) -> Iterator[str]:
        """What the profiles and the agenda say, as text."""
        from contrib_ai_memory.admin import inspect
        from contrib_ai_memory.offline.told_days import dated

        memory = self.npc.memory
        for identity in memory.profiles.identities():
            profile = memory.profiles.get(identity)
            for known in profile.attributes:
                yield f"{memory.people.name_of(identity)}: {known.type}: {known.value}"
        for each in inspect.agenda(self.npc):
            day = date.fromisoformat(each.item.due) if each.item.due else None
            due = (each.item.due, dated(day, day)) if day else ()
            said = (each.who, each.item.kind, each.to, each.item.text, *due)
            yield " ".join(filter(None, said))

    # --- the questions ------------------------------------------------------------------------

    def _ask(self, question: Question) -> tuple[Exchange, Any]:
        """Ask as a player does, and take back whatever that changed.

        Returns:
            What was said, and the journal entry that was answered, None if there was none.
        """
        with self._asking(question) as asker, _prompts() as prompts:
            last = len(self.npc.memory.journal)
            to = {"receivers": self.npc, "whisper": True} if question.private else {}
            asker.at_say(question.text, msg_self=False, **to)
            own = [e for e in self.npc.memory.journal.read(last + 1) if e.origin == "self"]
        said = " ".join(each.content for each in own)
        prompt = prompts[-1] if prompts else _Prompt()
        return self._exchange(question, said, prompt), prompt.entry

    def _ask_without(self, part: str, question: Question, asked: Exchange, entry: Any) -> Exchange:
        """Answer the entry of a question again, without a part of the memory."""
        if entry is None:
            return asked
        with self._asking(question), _prompts() as prompts:
            answer = evenings_ablation.answer_without(part, self.npc.memory, entry)
        return self._exchange(question, answer, prompts[-1])

    @contextmanager
    def _asking(self, question: Question) -> Iterator[Any]:
        """Have the asker in the room, a day after the last line. Yields them."""
        asker = self.people[question.asked_by]
        now = later(self.evening.lines[-1].time, ASKED_AFTER)
        with self._taken_back(), _no_errors():
            self.npc.memory.clock = lambda: now
            asker.location = self.room
            yield asker
            asker.location = None

    def _exchange(self, question: Question, reply: str, prompt: _Prompt) -> Exchange:
        return Exchange(
            question.id,
            reply,
            prompt.given,
            prompt.recalled,
            frozenset(self._lines(prompt.journal_ids)),
            prompt.tokens,
            prompt.given_tokens,
            prompt.request,
        )

    @contextmanager
    def _taken_back(self) -> Iterator[None]:
        """Undo every change of the game's database and the store; no memory stays open."""
        from django.db import transaction
        from evennia.typeclasses.attributes import Attribute

        with transaction.atomic():
            yield
            transaction.set_rollback(True)
        self._restore()
        Attribute.flush_instance_cache(force=True)
        script = self.npc.assistant
        for each in (self.npc, script, *self.people.values()):
            each.attributes.reset_cache()
        script.nattributes.clear()
        del self.npc.__dict__["memory"]

    def _restore(self) -> None:
        """Give the store the memories that were there before any question."""
        from contrib_ai_memory.store import memory_store

        store = memory_store.shared()
        now = {each.id: each for each in self._memories()}
        store.delete([each for each in now if each not in self._kept])
        for each in self._kept.values():
            if each != (other := now[each.id]):
                plain = {spec.name: getattr(each, spec.name) for spec in fields(each)}
                changed = {key: old for key, old in plain.items() if old != getattr(other, key)}
                store.change(each.id, **changed)

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - begin


def later(when: str, delta: timedelta) -> str:
    """Return the ISO 8601 time so much later, in UTC."""
    moment = datetime.fromisoformat(when).astimezone(UTC) + delta
    return moment.isoformat(timespec="milliseconds")


def _character(name: str, room: Any) -> Any:
    """A character whom somebody has played, away from the room."""
    made = make("typeclasses.characters.Character", name, room)
    made.db.prelogout_location = room
    made.location = None
    return made


# --- looking at an answer -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Prompt:
    """What a language model is given for an answer, or would be."""

    given: str = ""
    recalled: tuple[str, ...] = ()
    journal_ids: tuple[int, ...] = ()
    tokens: int = 0
    given_tokens: int = 0
    request: Any = None
    entry: Any = None


@contextmanager
def _prompts() -> Iterator[list[_Prompt]]:
    """Collect what answers are prepared with; `reply.prepare` works as ever."""
    from twisted.internet import defer

    from contrib_ai_memory.recall import reply

    seen: list[_Prompt] = []
    prepare = reply.prepare

    @defer.inlineCallbacks
    def prepared(memory: Any, entry: Any, *more: Any) -> Any:
        loop, request = yield prepare(memory, entry, *more)
        seen.append(_seen(loop, request, entry))
        return loop, request

    reply.prepare = prepared
    try:
        yield seen
    finally:
        reply.prepare = prepare


def _seen(loop: Any, request: Any, entry: Any) -> _Prompt:
    from contrib_ai_memory.embedding import embedder
    from contrib_ai_memory.llm import prompts
    from contrib_ai_memory.records import ReplyRequest

    bare = ReplyRequest(
        npc_name=request.npc_name,
        persona=request.persona,
        speaker=request.speaker,
        speaker_id=request.speaker_id,
        utterance=request.utterance,
        kind=request.kind,
    )
    static = set(_lines_of(prompts.talk(bare, [])))
    given = "\n".join(line for line in _lines_of(loop.opening) if line not in static)
    memories = [item.memory for item in request.recalled]
    return _Prompt(
        given,
        tuple(f"{each.record}: {each.content}" for each in memories),
        tuple(number for each in memories for number in each.journal_ids),
        sum(item.tokens for item in request.recalled),
        embedder.shared().count_tokens(given),
        request,
        entry,
    )


def _lines_of(messages: list[dict[str, Any]]) -> list[str]:
    return [line for each in messages for line in (each["content"] or "").splitlines()]


@contextmanager
def _no_errors() -> Iterator[None]:
    """Let what the contrib logs as an error end the run: a player would have got no answer."""
    from contrib_ai_memory.log import logger

    logged: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            logged.append(self.format(record))

    handler = Keeping(logging.ERROR)
    logger().addHandler(handler)
    try:
        yield
    finally:
        logger().removeHandler(handler)
    if logged:
        raise RuntimeError("\n".join(logged))
