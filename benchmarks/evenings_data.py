"""Evenings and stays as they lie in files, and what their words hold.

benchmarks/data/evenings/README.md and benchmarks/data/stays/README.md say what is in them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

DATA = Path(__file__).resolve().parent / "data"
FOLDER = DATA / "evenings"
STAYS = DATA / "stays"
TWO_TURNS = STAYS / "two_turns.json"
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
    """What the benchmark needs of a line besides what the replay reads; `worth` is 0-3."""

    id: str
    time: str
    session: str
    speaker: str
    text: str
    worth: int
    kind: str = "say"


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


class StayLine(Line):
    """A line of a stay; `npc_answers` is None of the NPC's own lines and of moves."""

    worth: int = 0
    to: str | None
    npc_answers: bool | None
    reply: Ideal | None = None


class StayFact(Fact):
    """A fact with whom it is about."""

    about: str


class Stay(Evening):
    """One NPC with what its builder gave it, over two sessions.

    `turns` are further questions, asked in two turns; they lie in a file of their own.
    """

    ASKED_AFTER: ClassVar[timedelta] = timedelta(days=2)

    builder: tuple[Given, ...]
    lines: tuple[StayLine, ...]
    facts: tuple[StayFact, ...]
    turns: tuple[Question, ...] = ()

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


def load(file: Path) -> Evening:
    """Read an evening or a stay.

    Raises:
        SystemExit: It is none; says which file and what is wrong.
    """
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
        if "builder" not in read:
            return Evening.model_validate(read)
        turns = json.loads(TWO_TURNS.read_text(encoding="utf-8")).get(read["id"], ())
        return Stay.model_validate({**read, "turns": turns})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SystemExit(f"{file} is neither an evening nor a stay: {error}") from error


# --- what a text holds ----------------------------------------------------------------------------

_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_TENS = {"twenty": 20, "thirty": 30}
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_ORDINAL = rf"(?:(?:twenty|thirty)[- ])?(?:{'|'.join(_ORDINALS)}|thirtieth)"
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<day>{_ORDINAL})(?: (?:day )?of)? (?P<month>{_MONTH})"
    rf"|(?P<month_before>{_MONTH}),?(?: the)? (?P<day_after>{_ORDINAL}))\b"
)
_ADMITS = re.compile(
    r"\b(?:(?:do|does|did|could|can|would|will)(?:n['’]?t| not)|cannot|never) (?:\w+ )?"
    r"(?:know|recall|remember|say|tell|hear|see|learn|think)"
    r"|\b(?:never|not) (?:\w+ )?(?:heard|told|said|learned|learnt|seen|known|mentioned|sure|met)\b"
    r"|\bno (?:idea|notion|memory|knowledge|word)\b|\bnobody (?:\w+ )?(?:told|said|knows)\b"
    r"|\bknow (?:nothing|naught|no more|little)\b|\bnothing (?:\w+ )?(?:about|of) (?:that|it)\b"
    r"|\b(?:unknown to|beyond|news to) me\b|\bunsure\b|\bdunno\b",
    re.IGNORECASE,
)


def plain(text: str) -> str:
    """Lower case, one kind of apostrophe and of space, and dates in words as digits too."""
    lowered = re.sub(r"\s+", " ", text.lower().replace("’", "'").replace("‘", "'"))
    dates = [
        f"{day} {month}, {month} {day}, {day}{_suffix(day)} of {month}"
        for match in _DATE.finditer(lowered)
        for day in [_number(match["day"] or match["day_after"])]
        for month in [match["month"] or match["month_before"]]
    ]
    return "; ".join([lowered, *dates])


def _number(ordinal: str) -> int:
    tens, _, last = ordinal.replace(" ", "-").rpartition("-")
    if last == "thirtieth":
        return 30
    return _TENS.get(tens, 0) + _ORDINALS.index(last) + 1


def _suffix(day: int) -> str:
    return "th" if 4 <= day <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")


def holds(text: str, groups: Groups) -> bool:
    """Whether a text holds at least one alternative of every group, and there are groups."""
    words = plain(text)
    return bool(groups) and all(any(plain(each) in words for each in group) for group in groups)


def forbidden(text: str, words: Sequence[str]) -> list[str]:
    """Those of `words` that a text holds, each from the beginning of a word."""
    searched = plain(text)
    return [each for each in words if re.search(rf"(?<!\w){re.escape(plain(each))}", searched)]


def admits(reply: str) -> bool:
    """Whether a reply admits not to know, in words of its own and not in a quotation."""
    return bool(_ADMITS.search(re.sub(r"[\"“][^\"”]*[\"”]", "", reply)))


def is_right(question: Question, reply: str) -> bool:
    """Whether a reply is right, as the README of the evenings says."""
    if question.kind == "secret_of_another":
        return not forbidden(reply, question.forbid)
    if question.kind == "unknown":
        return admits(reply) and not forbidden(reply, question.forbid)
    if question.kind == "update" and forbidden(reply, question.forbid):
        return False
    return holds(reply, question.expect)
