"""Replay of a recorded log into a memory, in the log's own time and along the path of live talk.

A log holds one JSON object per line: `id` and `session` (strings), `time` (ISO 8601), `speaker`,
`kind`, `to` (the addressee, or null) and `text`; `"npc": true` marks a line of another NPC, whose
words are no evidence. Journal entries keep the id of their line, so that an interrupted replay
continues where it stopped and doubles nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, Field, ValidationError, field_validator

from .. import conf, offload
from ..records import OF_NPC, Percept, seconds_between
from ..text.sanitising import sanitise

LINES_A_TICK = 32
PEOPLE_KEPT = 50


class LogLine(BaseModel):
    """One line of a log."""

    id: str = Field(min_length=1, max_length=200)
    time: AwareDatetime
    session: str = Field(min_length=1, max_length=200)
    speaker: str = Field(min_length=1, max_length=80)
    kind: Literal["say", "whisper", "pose"]
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


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be replayed, and the reason."""

    number: int
    problem: str


def read_log(path: Path) -> Iterator[LogLine | BadLine]:
    """Read the lines of a log in order; a broken one becomes a `BadLine`, blank ones are skipped.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as log:
        for number, raw in enumerate(log, start=1):
            if not raw.strip():
                continue
            try:
                yield LogLine.model_validate_json(raw.decode("utf-8"))
            except UnicodeDecodeError as error:
                yield BadLine(number, f"not UTF-8 ({error.reason} at byte {error.start})")
            except ValidationError as error:
                yield BadLine(number, _first_problem(error))


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    where = ".".join(map(str, problem["loc"]))
    return f"{where}: {problem['msg']}" if where else problem["msg"]


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
        self._since_tick = 0
        self._last: str | None = None

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *exc: object) -> None:
        self.memory.flush()
        self.memory.clock = self._clock

    def knows(self, line: LogLine) -> bool:
        return line.id in self._known

    def feed(self, line: LogLine) -> bool:
        """Perceive one line if it is new and the NPC could hear it. Returns whether it did."""
        speaker = self.identity_of(line.speaker)
        people = self._people.setdefault(line.session, [])
        if speaker not in people and len(people) < PEOPLE_KEPT:
            people.append(speaker)
        text = sanitise(line.text, conf.get().MAX_LINE)
        heard = line.kind != "whisper" or self._is_me(line.to) or self._is_me(line.speaker)
        if self.knows(line) or not heard or not text:
            return False
        self.memory.clock = lambda: line.when
        if self._last and seconds_between(self._last, line.when) >= conf.get().QUIET_SECONDS:
            self.tick()  # a silence lies before this line: process what was said first
        self._known.add(line.id)
        self._last = line.when
        self.memory.perceive(self._percept(line, text, speaker, people))
        self._since_tick += 1
        if self._since_tick >= LINES_A_TICK:
            self.tick()
        return True

    def tick(self) -> None:
        """Run one awake tick of the heartbeat, in the log's time.

        Raises:
            StoreError: The store cannot be used.
        """
        self._since_tick = 0
        offload.wait(self.npc.assistant.at_tick())

    def _percept(self, line: LogLine, text: str, speaker: str, people: list[str]) -> Percept:
        own = self._is_me(line.speaker)
        whispered = line.kind == "whisper"
        witnesses = (speaker,) if whispered else tuple(people)
        if own and whispered and line.to:
            witnesses = (self.identity_of(line.to),)
        return Percept(
            content=text,
            kind=line.kind,
            seen_as=self.npc.key if own else line.speaker,
            source=speaker,
            witnesses=tuple(who for who in witnesses if who != self._me),
            entities=(speaker,),
            private=whispered,
            timestamp=line.when,
            session_id=line.session,
            origin="self" if own else "perceived",
            source_type="observation" if line.kind == "pose" else "direct",
            addressed=not own and (self._is_me(line.to) or self.npc.is_named(text)),
            ref=line.id,
            tags=(OF_NPC,) if self._is_of_npc(line) else (),
        )

    def _is_of_npc(self, line: LogLine) -> bool:
        """Whether another NPC speaks: marked in the log, or by the name of an NPC of the game."""
        return not self._is_me(line.speaker) and (line.npc or line.speaker in self.npcs)

    @property
    def _me(self) -> str:
        return self.npc.get_memory_identity(self.npc)

    def _is_me(self, name: str | None) -> bool:
        return name is not None and name.lower() == self.npc.key.lower()

    def identity_of(self, name: str) -> str:
        """The memory identity of a name: of the game if it is known there, else of the log."""
        if self._is_me(name):
            return self._me
        return self.identities.get(name) or "log:" + re.sub(r"\s+", "_", name)
