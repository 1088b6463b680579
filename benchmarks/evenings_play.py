"""One evening or stay played by an NPC of its own, in a game that is entered.

What a builder gave it is typed as commands. Its lines go through the replay of `evennia ai_memory
replay`, in their own time; a night follows each session. A day after the last line (of a stay, two)
every person asks their questions as a player does: they stand in the room with the NPC, alone, and
say or whisper the words; what the NPC hears goes through attention, queue, recall and reply to what
it says. At a stay they come in and greet it first. Whatever a question changed, in the game's
database and in the store, is taken back before the next one; only the word counts of the keyword
search keep the words of the first one.

`play_live` has people say the lines of a stay in the game instead, and the NPC answers by itself.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from multiprocessing import Queue
from pathlib import Path
from typing import Any

import numpy as np

from world.game import Game

from . import attention, evenings_ablation
from .evenings_data import Evening, Given, Question, Someone, Stay, StayLine, load
from .evenings_score import Attended, Exchange, Played, Reaction, Stored
from .harness import enter, folder, make
from .served import first_and_best, judge, touched

NIGHT_AFTER = timedelta(hours=8)
GIVEN_BEFORE = timedelta(days=1)  # what a builder gave, before the first line
GREETING = "Hello, {}."
NPC = "typeclasses.npcs.AssistantNPC"
CHARACTER = "typeclasses.characters.Character"

_entered = ExitStack()  # the game of this process


def enter_copy(made: Path, places: Queue[Path]) -> None:
    """Enter a copy of a game in the next of `places`, for as long as this process lives."""
    place = places.get()
    shutil.copytree(made, place / "game")
    _entered.enter_context(enter(Game(place / "game")))


def play(
    file: Path, settings: dict[str, Any], parts: Sequence[str] = (), lacking: str = ""
) -> Played:
    """Play an evening or a stay in the game that is entered, with a store of its own.

    Args:
        parts: Of the memory (`evenings_ablation.ABLATED`): every question is also answered
            without each of them.
        lacking: A part that the NPC lacks all the time.
    """
    with ExitStack() as stack:
        stack.enter_context(own_store(settings))
        if lacking:
            stack.enter_context(evenings_ablation.without(lacking))
        return Playing(load(file)).whole(file, parts)


def play_live(file: Path, settings: dict[str, Any]) -> tuple[Reaction, ...]:
    """Play the lines of a stay live in the game that is entered, with a store of its own.

    The NPC decides whom to answer by weights that were fitted without the authors of the stay.
    """
    stay = load(file)
    unseen = attention.weights_without(stay.id)
    with own_store(settings), unseen:
        return tuple(Playing(stay).live())


@contextmanager
def own_store(settings: dict[str, Any]) -> Iterator[None]:
    """Be in the game that is entered with an empty store and these settings."""
    from django.db import transaction
    from django.test.utils import override_settings
    from evennia.server.models import ServerConfig

    from contrib_ai_memory.embedding import embedder
    from contrib_ai_memory.store import generations, memory_store

    with (
        folder() as place,
        override_settings(CONTRIB_AI_MEMORY={**settings, "DIR": str(place)}),
        transaction.atomic(),  # one for the evening: nothing here is worth a write to the disk
    ):
        words = embedder.shared()
        if not isinstance(words.model, KeptVectors):
            words.model = KeptVectors(words.model)
        for key in (generations.KEY, generations.GENERATION):
            ServerConfig.objects.conf(key, delete=True)  # the store of the last evening is gone
        try:
            yield
        finally:
            memory_store.close_shared(for_good=False)


class KeptVectors:
    """An embedding model whose vectors are kept in a file from one run to the next."""

    def __init__(self, model: Any):
        own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ai-memory-bench"
        own.mkdir(parents=True, exist_ok=True)
        self._model = model
        self._file = sqlite3.connect(
            own / f"vectors of {model.name}.sqlite3", timeout=60, check_same_thread=False
        )
        self._file.execute("CREATE TABLE IF NOT EXISTS kept (text TEXT PRIMARY KEY, vector BLOB)")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def encode(self, texts: list[str]) -> np.ndarray:
        known = {}
        for text in texts:
            for (vector,) in self._file.execute("SELECT vector FROM kept WHERE text = ?", (text,)):
                known[text] = np.frombuffer(vector, dtype=np.float32)
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known |= dict(zip(new, self._model.encode(new), strict=True))
            with self._file:
                rows = [(text, known[text].tobytes()) for text in new]
                self._file.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)
        return np.stack([known[text] for text in texts])


class Playing:
    """An evening or a stay while it is played.

    Attributes:
        npc: Its NPC, in a room of its own.
        outside: Where people come from who come in.
        people: The characters of its people, by name; they come in to ask.
        seconds: What each part took.
    """

    def __init__(self, evening: Evening):
        self.evening = evening
        self.room = make("typeclasses.rooms.Room", evening.npc.room)
        self.room.db.desc = evening.npc.room_desc
        self.outside = make("typeclasses.rooms.Room", "Outside")
        self.npc = make(NPC, evening.npc.name, self.room)
        self.people = {each.name: _character(each.name, self.room) for each in evening.people}
        self.seconds: dict[str, float] = {}
        self.nights: list[dict[str, Any]] = []  # what each pass of each night did

    def whole(self, file: Path, parts: Sequence[str]) -> Played:
        self._be_given()
        self.live_through(file)
        self._kept = {each.id: each for each in self._memories()}
        self._line_of = {entry.id: entry.ref for entry in self.npc.memory.journal.read()}
        self._lived = self.npc.memory.journal.last_id  # what is said later belongs to a visit
        stored = tuple(map(self._stored, self._kept.values()))
        told = tuple(self._told())
        heard = {
            entry.ref: entry.importance
            for entry in self.npc.memory.journal.read()
            if entry.ref and entry.origin != "self"
        }
        with self._timed("questions"):
            asked = [(each, *self._ask(each)) for each in self.evening.every_question]
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

    # --- what a builder gave ------------------------------------------------------------------

    def _be_given(self) -> None:
        """Make the NPC of a stay what its builder made it, and type what it was given."""
        if not isinstance(self.evening, Stay):
            return
        sheet = self.evening.npc
        self.npc.db.desc, self.npc.db.persona, self.npc.db.goals = (
            sheet.desc,
            sheet.persona,
            sheet.goals,
        )
        if sheet.voice:
            self.npc.db.voice = "\n".join((sheet.voice.manner, *sheet.voice.lines))
        self.npc.aliases.add(list(sheet.aliases))
        builder = _character("Builder", self.room)
        builder.permissions.add("Builder")
        self._at(later(self.evening.lines[0].time, -GIVEN_BEFORE))
        with self._timed("builder"), _no_errors():
            for given in self.evening.builder:
                self._type(builder, given)

    def _type(self, builder: Any, given: Given) -> None:
        """Type the command that gives the NPC a sentence or a text."""
        text = given.text if given.how == "add" else given.document.replace("\n", "|/")
        known = {each.id for each in self._memories()}
        builder.execute_cmd(f"@memory/{given.how} {self.npc.dbref} = {text}")
        if not any(each.id not in known for each in self._memories()):
            raise SystemExit(f"{self.evening.id}: nothing was kept of {given.id}.")

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
                    self._sleep()
                session = line.session
                with self._timed("lines"):
                    replay.feed(line)
            self._sleep()

    def _sleep(self) -> None:
        """End a session: work through what was heard, then sleep for a night, hours later."""
        from contrib_ai_memory import offload

        memory, script = self.npc.memory, self.npc.assistant
        with self._timed("lines"):
            while not offload.wait(memory.work_through(until_silent=True)):
                pass
            memory.flush()
        with self._timed("nights"):
            self._at(later(memory.clock(), NIGHT_AFTER))
            passes = offload.wait(script.sleep.whole_night())
        self.nights.append(passes)
        if errors := [name for name, told in passes.items() if told["errors"]]:
            raise SystemExit(f"{self.evening.id}: the night failed at {', '.join(errors)}.")

    def _at(self, time: str) -> None:
        """Have it be this time, ISO 8601, for the NPC."""
        self.npc.memory.clock = lambda: time

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
            memory.provider,
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
            greeting = self._greet(asker)
            for words in question.before:
                self._hear(asker, words, private=question.private)
            prompts.clear()
            reply = self._hear(asker, question.text, private=question.private)
        prompt = prompts[-1] if prompts else _Prompt()
        return self._exchange(question, reply, prompt, greeting), prompt.entry

    def answer_to(self, speaker: str, words: str) -> str:
        """Return what the NPC says to words, and take back whatever that changed."""
        said = Question(
            id="said",
            asked_by=speaker,
            private=False,
            text=words,
            kind="said",
            answer=None,
            evidence=frozenset(),
            expect=(),
            forbid=(),
        )
        return self._ask(said)[0].reply

    def _greet(self, asker: Any) -> str:
        """Greet the NPC of a stay. Returns what it says to that."""
        if not isinstance(self.evening, Stay):
            return ""
        return self._hear(asker, GREETING.format(self.evening.npc.name))

    def _hear(self, speaker: Any, words: str, *, private: bool = False) -> str:
        """Have the NPC hear words. Returns what it says to that."""
        to = {"receivers": self.npc, "whisper": True} if private else {}
        return self._said_to(lambda: speaker.at_say(words, msg_self=False, **to))

    def _said_to(self, act: Callable[[], object]) -> str:
        """Return what the NPC says to an act."""
        last = len(self.npc.memory.journal)
        act()
        own = [e for e in self.npc.memory.journal.read(last + 1) if e.origin == "self"]
        return " ".join(each.content for each in own)

    def _ask_without(self, part: str, question: Question, asked: Exchange, entry: Any) -> Exchange:
        """Answer the entry of a question again, without a part of the memory."""
        if entry is None:
            return asked
        with self._asking(question), _prompts() as prompts:
            answer = evenings_ablation.answer_without(part, self.npc.memory, entry)
        return self._exchange(question, answer, prompts[-1])

    @contextmanager
    def _asking(self, question: Question) -> Iterator[Any]:
        """Have the asker in the room, some time after the last line. Yields them."""
        asker = self.people[question.asked_by]
        with self._taken_back(), _no_errors():
            self._at(later(self.evening.lines[-1].time, self.evening.ASKED_AFTER))
            if isinstance(self.evening, Stay):
                self._come_in(asker)
            else:
                asker.location = self.room
            yield asker
            asker.location = None

    def _come_in(self, who: Any) -> None:
        """Have somebody come in so that the NPC sees it."""
        who.location = self.outside
        who.move_to(self.room)

    def _exchange(
        self, question: Question, reply: str, prompt: _Prompt, greeting: str = ""
    ) -> Exchange:
        texts = self.evening.texts
        found = prompt.request.recalled if prompt.request else ()
        recalled = [e.memory for e in sorted(found, key=lambda each: -each.score.total)]
        lived = [e.content for e in recalled if max(e.journal_ids, default=0) <= self._lived]
        first, best = first_and_best(question, lived, texts)
        return Exchange(
            question.id,
            reply,
            prompt.given,
            prompt.recalled,
            frozenset(self._lines(prompt.journal_ids)),
            prompt.tokens,
            prompt.given_tokens,
            judge(question, reply, texts),
            first,
            best,
            greeting,
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

    # --- live ---------------------------------------------------------------------------------

    def live(self) -> Iterator[Reaction]:
        """Have people say the lines of a stay in their own time, with a night after each session.

        What the NPC says is its own: its lines of the file are left out. Yields its reactions to
        the lines that are labelled.
        """
        from contrib_ai_memory import offload

        assert isinstance(self.evening, Stay)
        self._be_given()
        self.people = {each.name: _present(each, self.outside) for each in self.evening.people}
        session = None
        for line in self.evening.lines:
            if session not in (None, line.session):
                self._everybody_leaves()
                self._sleep()
            session = line.session
            self._at(later(line.time, timedelta()))
            with _no_errors():
                offload.wait(self.npc.assistant.at_tick())
                reply = "" if line.speaker == self.evening.npc.name else self._live_line(line)
            if line.npc_answers is not None:
                took_up = line.reply is not None and touched(line.text, reply, line.reply)
                yield Reaction(line.id, line.speaker, line.text, line.npc_answers, reply, took_up)

    def _live_line(self, line: StayLine) -> str:
        """Have somebody say or do a line. Returns what the NPC says to that."""
        who, npc = self.people[line.speaker], self.npc
        if line.kind == "arrive":
            return self._said_to(lambda: self._come_in(who))
        if line.kind == "leave":
            return self._said_to(lambda: who.move_to(self.outside))
        who.location = self.room  # who speaks is there
        if line.kind == "whisper" and line.to == npc.key:
            return self._hear(who, line.text, private=True)
        if line.kind == "say":
            return self._hear(who, line.text)
        if line.kind == "give" and line.to == npc.key:
            return self._said_to(lambda: self._give(who, line))
        words = line.text if line.text.startswith(who.key) else f"{who.key} {line.text}"
        pose = (words, {"type": "pose"})
        return self._said_to(lambda: self.room.msg_contents(pose, from_obj=who))

    def _give(self, who: Any, line: StayLine) -> None:
        """Give the NPC the thing that a line tells of: "gives Mara an apple"."""
        names = "|".join(map(re.escape, (self.npc.key, *self.evening.npc.aliases)))
        key = re.sub(rf"^(?:.*?\bgives (?:{names}) )?", "", line.text).rstrip(".")
        thing = make("typeclasses.objects.Object", key, who)
        thing.move_to(self.npc, quiet=True, move_type="give")

    def _everybody_leaves(self) -> None:
        for who in self.people.values():
            who.location = self.outside

    # --- time ---------------------------------------------------------------------------------

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[part] = self.seconds.get(part, 0.0) + time.perf_counter() - begin


def later(when: str, delta: timedelta) -> str:
    """Return the ISO 8601 time so much later, in UTC."""
    moment = datetime.fromisoformat(when).astimezone(UTC) + delta
    return moment.isoformat(timespec="milliseconds")


def _present(someone: Someone, place: Any) -> Any:
    """Somebody who talks live; another NPC leaves the answers to this one."""
    made = make(NPC if someone.npc else CHARACTER, someone.name, place)
    if someone.npc:
        made.locks.add("memory_talk:false()")
    return made


def _character(name: str, room: Any) -> Any:
    """A character whom somebody has played, away from the room."""
    made = make(CHARACTER, name, room)
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
        sum(item.tokens for item in loop.recalled),
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
