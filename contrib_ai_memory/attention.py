"""Which of the lines that an NPC hears it answers: DESIGN §4, as one function of plain data.

`attend` decides about one line; `Floor` is what it knows of the talk in the room so far. In play
the senses feed both; `benchmarks.attention` feeds them recorded evenings.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .english.addressing import Named, beside, named

UNASKED_AT_MOST = 2  # answers in a row to lines that do not name the NPC (DESIGN §4)


class Attention(enum.Enum):
    """What is made of something perceived: answered, kept, or not even noticed."""

    TRIGGER = "trigger"
    CONTEXT = "context"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Line:
    """Something that is said, whispered or given, as an NPC perceives it.

    Attributes:
        speaker: The identity of whoever says it.
        text: What is said; of an emote all of it.
        at: Seconds, from any beginning.
        kind: say, whisper or give: the last two are for the NPC itself.
        own_names: The forms of the NPC's names (`english.addressing.forms`).
        others: The forms of the names of each other person who hears it.
        barred: The NPC does not answer whoever says it: another NPC, or somebody locked out.
    """

    speaker: str
    text: str
    at: float
    kind: str = "say"
    own_names: tuple[str, ...] = ()
    others: tuple[tuple[str, ...], ...] = ()
    barred: bool = False

    @property
    def names_npc(self) -> Named:
        return named(self.text, self.own_names)

    @property
    def names_other(self) -> Named:
        return max((named(self.text, names) for names in self.others), default=Named.NOT)

    @property
    def is_for_npc(self) -> bool:
        """Whether its words say that the NPC is meant, and not somebody else who is there."""
        how = self.names_npc
        if how is Named.NAMED and self.names_other is Named.CALLED:
            return any(beside(self.text, names, self.own_names) for names in self.others)
        return how >= Named.NAMED

    @property
    def is_for_another(self) -> bool:
        return not self.is_for_npc and self.names_other is not Named.NOT


@dataclass(frozen=True, slots=True)
class Floor:
    """Whose exchange with the NPC is going on in the room.

    Attributes:
        partner: Whom it answered last; None where somebody else was named or has spoken since.
        since: When that was, in the seconds of `Line.at`.
        unasked: How many answers in a row it gave to lines that did not name it.
    """

    partner: str | None = None
    since: float = 0.0
    unasked: int = 0

    def heard(self, line: Line) -> Floor:
        """The floor once `line` is said, before any answer to it."""
        if line.kind == "say" and (line.speaker != self.partner or line.is_for_another):
            return Floor()
        return self

    def answered(self, line: Line) -> Floor:
        """The floor with the NPC's answer to `line`; a whispered one leaves it as it is."""
        if line.kind == "whisper":
            return self
        asked = line.kind == "give" or line.is_for_npc or not line.others
        return Floor(line.speaker, line.at, 0 if asked else self.unasked + 1)


def attend(line: Line, floor: Floor, exchange_seconds: float) -> Attention:
    """Decide about a line: the first rule of DESIGN §4 that fits.

    Args:
        line: What is said.
        floor: As it is once the line is said (`Floor.heard`).
        exchange_seconds: How long after an answer the talk still belongs to it.
    """
    if line.barred:
        return Attention.CONTEXT
    if line.kind == "give" or line.is_for_npc:
        return Attention.TRIGGER
    if line.is_for_another:
        return Attention.CONTEXT
    if line.kind == "whisper" or not line.others:
        return Attention.TRIGGER
    goes_on = floor.partner == line.speaker and line.at - floor.since <= exchange_seconds
    if goes_on and floor.unasked < UNASKED_AT_MOST:
        return Attention.TRIGGER
    return Attention.CONTEXT
