"""Evenings and stays as they lie in files.

benchmarks/data/evenings/README.md and benchmarks/data/stays/README.md say what is in them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

DATA = Path(__file__).resolve().parent / "data"
FOLDER = DATA / "evenings"
STAYS = DATA / "stays"
PLAYS = DATA / "plays"
TWO_TURNS = STAYS / "two_turns.json"
DUE = STAYS / "due.json"
LEARNED = frozenset(  # evenings from which the reader has learned
    "camp-1 court-1 goblin-1 harbour-1 keep-1 manor-1 noir-1 ronin-1 station-1 temple-1 train-1"
    " village-1".split()
)
NOT_ANSWERABLE = ("unknown", "secret_of_another")

Groups = tuple[tuple[str, ...], ...]


class Voice(BaseModel):
    """How an NPC speaks, with lines that it might say."""

    manner: str
    lines: tuple[str, ...]


class Npc(BaseModel):
    """The NPC of an evening, and where it stands; `desc` is what players see of it."""

    name: str
    aliases: tuple[str, ...] = ()
    desc: str = ""
    persona: str = ""
    voice: Voice | None = None
    goals: str = ""
    room: str
    room_desc: str = ""


class Someone(BaseModel):
    """Who comes by; `npc` marks another NPC."""

    name: str
    npc: bool = False


class Line(BaseModel):
    """What the benchmark needs of a line besides what the replay reads; `worth` is 0-3.

    `kinds` are those of the README of the evenings, the best first.
    """

    id: str
    time: str
    session: str
    speaker: str
    text: str
    worth: int
    kind: str = "say"
    kinds: tuple[str, ...] = ()


class Fact(BaseModel):
    """What a good storyteller would keep; `ended_by` is the line that ends it."""

    id: str
    text: str
    kind: str
    evidence: frozenset[str]
    keys: Groups
    ended_by: str | None = None


class Question(BaseModel):
    """What somebody asks afterwards.

    Attributes:
        private: It is whispered.
        before: What they say first, in the same visit.
        answer: None cannot be told.
    """

    id: str
    asked_by: str
    private: bool
    before: tuple[str, ...] = ()
    text: str
    kind: str
    answer: str | None
    evidence: frozenset[str]
    expect: Groups
    forbid: tuple[str, ...]


class Trap(BaseModel):
    """A line that must not become a fact as it stands."""

    line: str


class Evening(BaseModel):
    """One NPC over some sessions, and what there is to know of it."""

    ASKED_AFTER: ClassVar[timedelta] = timedelta(days=1)  # from the last line to the questions

    id: str
    npc: Npc
    people: tuple[Someone, ...]
    lines: tuple[Line, ...]
    facts: tuple[Fact, ...]
    questions: tuple[Question, ...]
    traps: tuple[Trap, ...]

    @property
    def every_question(self) -> tuple[Question, ...]:
        return self.questions

    @property
    def texts(self) -> dict[str, str]:
        """The words of everything that the NPC heard or was given, by id."""
        return {line.id: line.text for line in self.lines}


class Given(BaseModel):
    """What a builder gave an NPC: a sentence, or a piece of Markdown."""

    id: str
    how: Literal["add", "teach"]
    text: str
    title: str = ""

    @property
    def document(self) -> str:
        """The text under its title."""
        titled = self.text.startswith("# ") or not self.title
        return self.text if titled else f"# {self.title}\n{self.text}"


class Ideal(BaseModel):
    """How a good NPC reacts to a line; `touch` is what it takes up, `avoid` words it must not
    hold."""

    say: str
    react: str
    touch: Groups
    avoid: tuple[str, ...] = Field(alias="not")


class Act(BaseModel):
    """What is done with some words of a line."""

    act: str
    text: str


class StayLine(Line):
    """A line of a stay; `npc_answers` is None of the NPC's own lines and of moves."""

    worth: int = 0
    to: str | None
    npc_answers: bool | None
    acts: tuple[Act, ...] = ()
    reply: Ideal | None = None


class StayFact(Fact):
    """A fact with whom it is about."""

    about: str


class Due(BaseModel):
    """A fact that a good NPC brings up when somebody comes back for the questions.

    Attributes:
        when: "message" was left for them; else it is due by the "due" day, or the day after.
    """

    fact: str
    to: str
    when: Literal["message", "due", "tomorrow"]


class Stay(Evening):
    """One NPC with what its builder gave it, over two sessions.

    `turns` are further questions, asked in two turns; they and `due` lie in files of their own.
    """

    ASKED_AFTER: ClassVar[timedelta] = timedelta(days=2)

    builder: tuple[Given, ...]
    lines: tuple[StayLine, ...]
    facts: tuple[StayFact, ...]
    turns: tuple[Question, ...] = ()
    due: tuple[Due, ...] = ()

    @property
    def every_question(self) -> tuple[Question, ...]:
        return (*self.questions, *self.turns)

    @property
    def texts(self) -> dict[str, str]:
        return super().texts | {each.id: each.text for each in self.builder}


def files(chosen: Sequence[Path] = ()) -> list[Path]:
    """The evenings to play: those chosen, else all of ours."""
    return list(chosen) or sorted(FOLDER.glob("*.json"))


def stay_files(chosen: Sequence[Path] = ()) -> list[Path]:
    """The stays to play: those chosen, else all of ours."""
    return list(chosen) or sorted(STAYS.glob("*-*.json"))


def play_files() -> list[Path]:
    """The plays that are there to learn from alone (benchmarks/data/plays/README.md)."""
    return sorted(PLAYS.glob("*.json"))


def learned_files() -> list[Path]:
    """What the reader learns from: the plays, and half of our evenings."""
    return [*play_files(), *(each for each in files() if each.stem in LEARNED)]


def unseen_files() -> list[Path]:
    """Our evenings of which the reader has learned nothing."""
    return [each for each in files() if each.stem not in LEARNED]


def load(file: Path) -> Evening:
    """Read an evening or a stay.

    Raises:
        SystemExit: It is none; says which file and what is wrong.
    """
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        if "builder" not in read:
            return Evening.model_validate(read)
        beside = {
            name: json.loads(more.read_text(encoding="utf-8")).get(read["id"], ())
            for name, more in (("turns", TWO_TURNS), ("due", DUE))
        }
        return Stay.model_validate({**read, **beside})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SystemExit(f"{file} is neither an evening nor a stay: {error}") from error
