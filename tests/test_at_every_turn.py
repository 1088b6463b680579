"""Whatever is done to a memory at any turn of a day, an answer or a night, and of one another.

Something is done (`THINGS`) while something goes on (`WORKS`), at a turn and with an order of turns
that hypothesis chooses (`turns`). Afterwards nothing that was to go is anywhere: journal, store,
undo log, records of nights, the other NPC, and the store's bytes where a person was erased. Nothing
else is lost, each line is there once, and the doctor finds nothing.

There are a few plays of each kind, always the same. `make soak` has `TURN_PLAYS` of them.
"""

from __future__ import annotations

import itertools
import logging
import os
import random
from dataclasses import dataclass, field

import pytest
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.typeclasses.attributes import Attribute
from evennia.utils.create import create_object
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from test_witness_oracle import VOCABULARY
from turns import Turns
from twisted.internet import defer

from contrib_ai_memory import deletion, offload
from contrib_ai_memory.admin import archive, doctor, erase, forget, ids, jobs, undo_log
from contrib_ai_memory.log import logger
from contrib_ai_memory.sleep.night import SwitchedOff
from contrib_ai_memory.store import memory_store

THINGS = ("forget", "forget all", "wipe", "erase", "delete", "copy", "rename", "import", "kill")
RARE = ("import", "export") if "TURN_PLAYS" in os.environ else ()
WORKS = ("day", "answer", "night", "wipe", "erase", *RARE)
KINDS = list(itertools.product(THINGS, WORKS))
NOT_SLOW = ("answer", "night")  # works, for `make test`
FEW = 1  # plays of each kind
CHOICES = 400
PLAYS = int(os.environ.get("TURN_PLAYS", "0")) // len(KINDS)
# turns of a work, about: past them the thing is done afterwards
TURNS = {"day": 20, "answer": 16, "night": 90, "wipe": 30, "erase": 70, "import": 60, "export": 30}
# what a work or a deed may come to when the other was quicker
EXPECTED = (ids.UnknownMemory, jobs.NpcDeleted, SwitchedOff)

_words = map("".join, itertools.product(VOCABULARY, VOCABULARY))


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Said:
    """A line with a word that nobody says again."""

    who: str
    word: str
    number: int = 0  # of its entry
    private: bool = False


@dataclass
class Play:
    """One NPC and what happens to its memory.

    Attributes:
        gone: Words that are to be nowhere at Mara.
        kept: Lines that are to be there, each once.
    """

    thing: str
    work: str
    folder: object
    room: object
    lines: list[Said] = field(default_factory=list)
    late: list[Said] = field(default_factory=list)

    def __post_init__(self):
        self.turns = Turns()
        self.people = {
            name: create_object(f"typeclasses.{path}", key=name, location=self.room, home=self.room)
            for name, path in (
                ("Alice", "characters.Character"),
                ("Bram", "characters.Character"),
                ("Mara", "npcs.AssistantNPC"),
                ("Odo", "npcs.AssistantNPC"),
            )
        }
        self.numbers = {name: each.id for name, each in self.people.items()}
        self.identity = self.mara.get_memory_identity(self.people["Alice"])
        self.odo = self.mara.get_memory_identity(self.people["Odo"])  # who may answer what is said
        self.memory_id = self.mara.memory.id

    @property
    def mara(self):
        return self.people["Mara"]

    # --- before -------------------------------------------------------------------------------

    def say(self, who, text, private=False):
        line = Said(who, next(_words), private=private)
        said = text.format(word=line.word, Word=line.word.title())
        command = "whisper Mara = " if private else "say "
        self.people[who].execute_cmd(command + said)
        if self.mara.pk:
            heard = [e for e in self.mara.memory.journal.tail(6) if line.word in e.content.lower()]
            line.number = heard[0].id if heard else 0
            for name in ("Mara", "Odo"):
                self.people[name].memory.flush()
        return line

    def prepare(self, slept):
        told = (
            ("Alice", "I hide the ledger under the {word} stone.", False),
            ("Bram", "My brother Tomas lives in {Word}.", False),
            ("Alice", "I love {word} with honey.", True),
            ("Bram", "I promise to bring the nets to {Word} on Friday.", False),
            ("Alice", "The toll at {Word} is 7 crowns.", False),
            ("Bram", "I owe the miller nine crowns for the {word}.", True),
        )
        for number, (who, text, private) in enumerate(told):
            self.lines.append(self.say(who, text, private))
            if slept and number == 3:
                for name in ("Mara", "Odo"):
                    offload.wait(self.people[name].assistant.sleep.whole_night())
        if "import" in (self.thing, self.work):
            offload.wait(archive.export(self.mara, self.folder))
            self.lines.append(self.say("Bram", "Wolves came to {Word}."))  # not in the file

    # --- meanwhile ----------------------------------------------------------------------------

    def do(self, deed):
        """Begin one of `THINGS` or `WORKS`. Returns a Deferred, which may have fired."""
        mara, script = self.mara, self.mara.assistant
        if deed == "day":
            return script.at_tick()
        if deed == "answer":
            self.people["Bram"].execute_cmd("say Mara, where is the ledger?")
        elif deed == "night":
            return script.sleep.whole_night()
        elif deed in ("forget", "forget all"):
            number = str(self.lines[0].number)
            entry = mara.memory.journal.get(self.lines[0].number)
            if entry is None or self.lines[0].word not in entry.content:
                return defer.succeed(None)  # a wiped journal begins at 1 again
            return forget.forget(mara, self.people["Bram"], number, cascade=deed == "forget all")
        elif deed == "wipe":
            return erase.wipe(mara)
        elif deed == "erase":
            return erase.erase_everywhere(self.identity)
        elif deed == "import":
            return archive.import_(mara, self.folder, replace=True)
        elif deed == "export":
            return archive.export(mara, self.folder.with_suffix(".second"))
        elif deed == "delete":
            mara.delete()
        elif deed == "copy":
            self.people["Twin"] = ObjectDB.objects.copy_object(mara, new_key="Twin")
            self.people["Twin"].location = None  # and hears nothing
            self.numbers["Twin"] = self.people["Twin"].id
        elif deed == "rename":
            self.people["Alice"].key, mara.key = "Alys", "Marabel"
        elif deed == "kill":
            raise Killed
        return defer.succeed(None)

    def run(self, turn, choices):
        """Do the work, and the thing at one of its turns."""
        self.turns.begin(choices)
        outcomes = []
        try:
            outcomes.append(self.watched(self.do(self.work)))
            self.turns.until(lambda: self.turns.given >= turn)
            note(f"{self.thing} at turn {self.turns.given} of {self.work}")
            if self.mara.pk:
                self.late.append(self.say("Bram", "I planted {word} today."))
            outcomes.append(self.watched(self.do(self.thing)))
            if self.mara.pk:
                self.late.append(self.say("Bram", "The {word} is in bloom."))
            self.turns.end()
        except Killed:
            self.turns.kill()
            self.turns.end()
            self.restart()
        else:
            assert all(each for each in outcomes), f"never ended: {self.work}, {self.thing}"
        if self.thing == "kill" and self.work in ("erase", "import"):
            offload.wait(self.do(self.work))
        elif self.thing == "kill":
            offload.wait(doctor.check([self.mara, self.people["Odo"]], mend=True))

    def watched(self, outcome):
        ended = []
        outcome.addErrback(lambda reason: reason.trap(*EXPECTED))
        outcome.addBoth(ended.append)
        outcome.addBoth(lambda _: self.raise_of(ended))
        return ended

    def raise_of(self, ended):
        if ended and hasattr(ended[0], "raiseException"):
            self.failures = [*getattr(self, "failures", []), ended[0]]

    def restart(self):
        """Another process: nothing is left of what was in memory alone."""
        memory_store.close_shared(for_good=False)
        for model in (ObjectDB, ScriptDB, Attribute):
            model.flush_instance_cache(force=True)
        for name, number in self.numbers.items():
            self.people[name] = ObjectDB.objects.get(id=number)

    # --- afterwards ---------------------------------------------------------------------------

    def settle(self):
        """A tick and a night more: what was begun is finished."""
        for name in ("Mara", "Odo"):
            npc = self.people[name]
            if npc.pk:
                offload.wait(npc.assistant.at_tick())
                offload.wait(npc.assistant.sleep.whole_night())
                undo_log.clear(npc)

    def expected(self):
        """The lines that are to be there, those that are to be gone, and those that may be either.

        A late line is said right before the thing or right after it has begun.
        """
        done = {self.thing, self.work}
        lines = {line.word: line for line in (*self.lines, *self.late)}
        there = set(lines)
        open_ = {line.word for line in self.late} if done & {"import", "wipe"} else set()
        gone = set()
        if "import" in done:
            gone = {self.lines[-1].word}
            if done & {"wipe", "erase", "forget", "forget all"}:
                open_ |= there - gone  # the file came before or after that
        elif "wipe" in done:
            gone = {line.word for line in self.lines}
            if self.work == "wipe" and self.thing not in ("wipe", "erase"):
                open_ = set()
        if "erase" in done and "import" not in done:
            gone |= {line.word for line in self.lines if line.who == "Alice"}
        if done & {"forget", "forget all"} and "import" not in done:
            gone |= {self.lines[0].word}
        return there - gone - open_, gone - open_, lines

    def problems(self):
        found = [each.getErrorMessage() for each in getattr(self, "failures", [])]
        there, gone, lines = self.expected()
        if not self.mara.pk:
            left = memory_store.shared().count(self.memory_id)
            found += [f"{left} memories of the deleted are left"] * bool(left)
            found += [f"noted: {each}" for each in deletion.noted_deletions()]
            there = gone = set()
        else:
            text = self.everything("Mara", "Odo")
            if self.thing == "forget" and self.work != "erase":
                heard = [e for e in self.mara.memory.journal.read() if e.origin != "self"]
                text = "\n".join(each.content.lower() for each in heard)
            found += [f"{word} of {lines[word].who} is left" for word in gone if word in text]
            heard = [
                each.content.lower()
                for each in self.mara.memory.journal.read()
                if each.origin != "self" and each.source_entity != self.odo
            ]
            for word in there:
                times = sum(word in content for content in heard)
                found += [f"{word} of {lines[word].who} is there {times} times"] * (times != 1)
            checked = [self.mara, self.people["Odo"]]
            found += [f"{each.where}: {each.what}" for each in offload.wait(doctor.check(checked))]
        if "erase" in (self.thing, self.work) and "import" not in (self.thing, self.work):
            found += self.left_of_alice(lines)
        if twin := self.people.get("Twin"):
            twins = str(twin.db_attributes.values_list("db_value", "db_strvalue")).lower()
            found += [f"the copy has {word}" for word in lines if word in twins]
        return found

    def everything(self, name, other):
        """All that is kept by one NPC, and by nobody; the history of facts has no owner."""
        npc, store = self.people[name], memory_store.shared()
        npc.memory.flush()
        others = self.people[other]
        known = {each.id for each in store.list(others.memory.id, limit=None)} if others.pk else ()
        memories = [each.to_dict() for each in store.list(npc.memory.id, limit=None)]
        history = store.mem0.db.connection.execute("SELECT * FROM history").fetchall()
        history = [row for row in history if known.isdisjoint(row)] if known else history
        rows = [
            row
            for obj in (npc, npc.assistant)
            for row in obj.db_attributes.values_list("db_key", "db_value", "db_strvalue")
        ]
        return "\n".join(map(str, [*rows, *memories, *history])).lower()

    def left_of_alice(self, lines):
        words = [word for word, line in lines.items() if line.who == "Alice"]
        odos = self.everything("Odo", "Mara")
        found = [f"Odo has {word}" for word in words if word in odos]
        if self.mara.pk:
            for path in self.folder.parent.rglob("*"):
                if path.is_file() and path.suffix not in (".jsonl", ".second"):
                    held = path.read_bytes().lower()
                    found += [f"{path.name} has {word}" for word in words if word.encode() in held]
        return found

    def end(self):
        for each in self.people.values():
            if each.pk:
                each.delete()


@pytest.fixture
def often(settings, store_folder):
    """Nights describe, reflect and compress after little."""
    settings.CONTRIB_AI_MEMORY |= {
        "REFLECT_AT": 10,
        "MIN_OBSERVATIONS": 1,
        "COMPRESS_ABOVE": 1,
        "MIN_IMPORTANCE": 2,
        "REPLY_COOLDOWN": 0,
    }


@pytest.fixture
def errors():
    """What the contrib's log has of errors."""
    seen = []

    class Handler(logging.Handler):
        def emit(self, record):
            seen.append(record.getMessage())

    handler = Handler(logging.ERROR)
    logger().addHandler(handler)
    yield seen
    logger().removeHandler(handler)


@pytest.mark.parametrize(
    ("thing", "work"),
    [pytest.param(*kind, marks=[] if kind[1] in NOT_SLOW else pytest.mark.slow) for kind in KINDS],
)
def test_nothing_forgotten_is_left_and_nothing_else_is_lost(
    tavern, often, store_folder, errors, thing, work
):
    @settings(
        max_examples=PLAYS or FEW,
        deadline=None,
        database=None,
        derandomize=not PLAYS,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink) if PLAYS else (Phase.generate,),
    )
    @given(st.integers(0, 2**16))
    def play(seed):
        dice = random.Random(f"{thing} {work} {seed}")
        slept, turn = dice.random() < 0.5, dice.randrange(TURNS[work])
        choices = [dice.randrange(20) for _ in range(dice.choice((0, CHOICES)))]
        errors.clear()
        scene = Play(thing, work, store_folder / "memory.jsonl", tavern)
        try:
            scene.prepare(slept)
            scene.run(turn, choices)
            scene.settle()
            problems = scene.problems() + errors
        finally:
            scene.turns.kill()
            scene.turns.end()
            scene.end()
        assert not problems, "\n".join(problems)

    play()
