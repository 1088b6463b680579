"""Replay of a recorded log into a memory, in the log's own time and along the path of live talk.

A log (`.jsonl`) holds one JSON object per line:

- `id` and `session` (strings), `time` (ISO 8601), `speaker`, `kind`, `to` (the addressee, or null)
  and `text`. `kind` is say, whisper, pose, arrive, leave, give, get or drop. `"npc": true` marks a
  line of another NPC, whose words are no evidence.
- A person, before their lines: `{"kind": "person", "name": …}`, with `aliases` (other names under
  which lines speak of them), `"npc": true` if all their lines are those of another NPC, and for
  the NPC itself its `persona` and `goals`, which are set where it has none.

A `.json` file holds the same as one object: `npc` and `people` (persons) and `lines`.

Journal entries keep the id of their line, so that an interrupted replay continues where it stopped
and doubles nothing. Who is present follows from arrivals and departures; who speaks is present.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, Field, TypeAdapter, ValidationError, field_validator

from .. import conf, offload
from ..records import OF_NPC, TALK_KINDS, Percept, seconds_between
from ..text.names import as_name, forms
from ..text.sanitising import sanitise

LINES_A_TICK = 32
PEOPLE_KEPT = 50
SOURCE_TYPES = {"pose": "observation"} | dict.fromkeys(
    ("arrive", "leave", "event"), "environmental"
)


class LogLine(BaseModel):
    """One line of a log."""

    id: str = Field(min_length=1, max_length=200)
    time: AwareDatetime
    session: str = Field(min_length=1, max_length=200)
    speaker: str = Field(min_length=1, max_length=80)
    kind: Literal["say", "whisper", "pose", "arrive", "leave", "give", "get", "drop"]
    to: str | None = None
    text: str = Field(min_length=1)
    npc: bool = False

    @field_validator("session")
    @classmethod
    def _no_spaces(cls, session: str) -> str:
        return re.sub(r"\s+", "_", session)

    @property
    def when(self) -> str:
        return self.time.astimezone(UTC).isoformat(timespec="milliseconds")


class LogPerson(BaseModel):
    """Someone in a log, under all their names; `persona` and `goals` are for the NPC itself."""

    kind: Literal["person"] = "person"
    name: str = Field(min_length=1, max_length=80)
    aliases: tuple[str, ...] = ()
    persona: str = ""
    goals: str = ""
    npc: bool = False


_ANY: TypeAdapter[LogLine | LogPerson] = TypeAdapter(
    Annotated[LogLine | LogPerson, Field(discriminator="kind")]
)


class _Document(BaseModel):
    """A log as one object."""

    npc: LogPerson | None = None
    people: list[LogPerson] = []
    lines: list[Any]


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be replayed, and the reason; in a `.json` file, its place in the list."""

    number: int
    problem: str


def read_log(path: Path) -> Iterator[LogLine | LogPerson | BadLine]:
    """Read a log in order; a broken line becomes a `BadLine`, blank ones are skipped.

    Raises:
        OSError: The file cannot be read.
    """
    if path.suffix != ".json":
        with path.open("rb") as lines:
            for number, raw in enumerate(lines, start=1):
                if raw.strip():
                    yield _checked(number, _ANY.validate_json, raw)
        return
    log = _checked(1, _Document.model_validate_json, path.read_bytes())
    if isinstance(log, BadLine):
        yield log
        return
    yield from (*filter(None, [log.npc]), *log.people)
    for number, plain in enumerate(log.lines, start=1):
        yield _checked(number, LogLine.model_validate, plain)


def _checked(number: int, read: Callable[[Any], Any], plain: Any) -> Any:
    try:
        return read(plain)
    except ValidationError as error:
        problem = error.errors()[0]
        where = f"{problem['loc'][-1]}: " if problem["loc"] else ""
        return BadLine(number, where + problem["msg"])


@dataclass
class Replay:
    """Feeds log lines to one NPC.

    Args:
        npc: A character with MemoryMixin.
        identities: Memory identities, by name, of people in the log whom the game knows.
        npcs: Names of the game's own NPCs.
    """

    npc: Any
    identities: dict[str, str] = field(default_factory=dict)
    npcs: Collection[str] = ()

    def __post_init__(self) -> None:
        self.memory = self.npc.memory
        self._clock = self.memory.clock
        self._known = {entry.ref for entry in self.memory.journal.read() if entry.ref}
        self._people: dict[str, list[str]] = {}
        self._name_of: dict[str, str] = {}  # names and aliases of persons, in lower case
        self._marked_npcs: set[str] = set()
        self._since_tick = 0
        self._last: str | None = None

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *exc: object) -> None:
        self.memory.flush()
        self.memory.clock = self._clock

    def introduce(self, person: LogPerson) -> None:
        """Take note of a person's aliases; give the NPC itself the traits that it lacks."""
        if self._is_me(person.name):
            aliases, attributes = self.npc.aliases, self.npc.attributes
            aliases.add([each for each in person.aliases if each not in aliases.all()])
            if person.persona and not self.npc.get_persona():
                attributes.add("persona", person.persona)
            if person.goals and not self.memory.goals:
                attributes.add("goals", person.goals)
        if person.npc:
            self._marked_npcs.add(person.name)
        self._name_of[person.name.lower()] = person.name  # it outranks an alias of somebody else
        for alias in person.aliases:
            self._name_of.setdefault(alias.lower(), person.name)

    def knows(self, line: LogLine) -> bool:
        return line.id in self._known

    def feed(self, line: LogLine) -> bool:
        """Perceive one line if it is new and the NPC could hear it. Returns whether it did."""
        speaker = self.identity_of(line.speaker)
        people = self._people.setdefault(line.session, [])
        if speaker not in people and len(people) < PEOPLE_KEPT:
            people.append(speaker)
        present = list(people)
        if line.kind == "leave" and speaker in people:
            people.remove(speaker)
        text = sanitise(self._shown(line), conf.MAX_LINE)
        heard = line.kind != "whisper" or self._is_me(line.to) or self._is_me(line.speaker)
        if self.knows(line) or not heard or not text:
            return False
        self.memory.clock = lambda: line.when
        quiet = self.memory.settings.QUIET_SECONDS
        if self._last and seconds_between(self._last, line.when) >= quiet:
            self.tick()  # a silence lies before this line: process what was said first
        self._known.add(line.id)
        self._last = line.when
        self.memory.perceive(self._percept(line, text, speaker, present))
        self._since_tick += 1
        if self._since_tick >= LINES_A_TICK:
            self.tick()
        return True

    def _shown(self, line: LogLine) -> str:
        """Return the words of a line; an act with the name of who does it, as a game shows it."""
        who = self._called(line.speaker)
        told = line.text.lower().startswith((*forms([who]), "gives "))
        if line.kind == "give" and line.to and not told:  # the thing alone
            return f"{who} gives {self._called(line.to)} {line.text.rstrip('.')}."
        acts = line.kind not in TALK_KINDS and line.text[:1].islower()
        return f"{who} {line.text}" if acts else line.text

    def tick(self) -> None:
        """Run one awake tick of the heartbeat, in the log's time.

        Raises:
            StoreError: The store cannot be used.
        """
        self._since_tick = 0
        offload.wait(self.npc.assistant.at_tick())

    def _percept(self, line: LogLine, text: str, speaker: str, present: list[str]) -> Percept:
        own = self._is_me(line.speaker)
        whispered = line.kind == "whisper"
        witnesses = (speaker,) if whispered else tuple(present)
        if own and whispered and line.to:
            witnesses = (self.identity_of(line.to),)
        kind = self._kind_in_play(line)
        talk = kind in TALK_KINDS
        return Percept(
            content=text,
            kind=kind,
            seen_as=self.npc.key if own else as_name(self._called(line.speaker)),
            source=speaker,
            witnesses=tuple(who for who in witnesses if who != self._me),
            entities=(speaker,),
            private=whispered,
            timestamp=line.when,
            session_id=line.session,
            origin="self" if own else "perceived",
            source_type=SOURCE_TYPES.get(kind, "direct"),
            addressed=talk and not own and (self._is_me(line.to) or self.npc.is_named(text)),
            ref=line.id,
            tags=(OF_NPC,) if self._is_of_npc(line) else (),
        )

    def _kind_in_play(self, line: LogLine) -> str:
        """Return the kind of its percept: a gift to somebody else is an act that is seen."""
        if line.kind == "give" and not self._is_me(line.to):
            return "pose"
        if line.kind in ("get", "drop"):
            return "event"
        return line.kind

    def _is_of_npc(self, line: LogLine) -> bool:
        """Whether another NPC speaks: marked in the log, or by the name of an NPC of the game."""
        name = self._called(line.speaker)
        marked = line.npc or name in self._marked_npcs or name in self.npcs
        return marked and not self._is_me(line.speaker)

    @property
    def _me(self) -> str:
        return self.npc.get_memory_identity(self.npc)

    def _called(self, name: str) -> str:
        """Return the name of a person for one of their names."""
        return self._name_of.get(name.lower(), name)

    def _is_me(self, name: str | None) -> bool:
        return name is not None and self._called(name).lower() == self.npc.key.lower()

    def identity_of(self, name: str) -> str:
        """The memory identity of a name: of the game if it is known there, else of the log."""
        if self._is_me(name):
            return self._me
        name = self._called(name)
        return self.identities.get(name) or "log:" + re.sub(r"\s+", "_", name)
