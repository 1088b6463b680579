"""Attention: which of the lines that it hears an NPC answers (DESIGN §4), over plain data.

`attend` decides about a line from the `Floor`, the state of the talk in the room. `npc` calls it in
the game, `benchmarks.attention` with recorded evenings.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from .english.addressing import Named, beside, named

MAX_UNASKED = 2  # answers in a row to lines that do not name the NPC (DESIGN §4)


class Attention(enum.Enum):
    """Whether a line is answered or only remembered.

    The third of DESIGN §4, to ignore a line, is decided before: what is switched off is not heard.
    """

    TRIGGER = "trigger"
    CONTEXT = "context"


@dataclass(frozen=True, slots=True)
class HeardLine:
    """Something said, whispered or given, as an NPC perceives it.

    Attributes:
        speaker: Identity of the speaker.
        text: What is said; of an emote, all of it.
        at: Seconds since any moment.
        kind: say, whisper or give; the last two are directed to the NPC.
        own_names: Forms of the NPC's names (`english.addressing.forms`).
        others: Forms of the names of each other person who hears it.
        barred: Whether the NPC never answers the speaker: another NPC, somebody locked out.
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
        """Whether its words address the NPC and not somebody else who is there."""
        how = self.names_npc
        if how is Named.NAMED and self.names_other is Named.CALLED:
            return any(beside(self.text, names, self.own_names) for names in self.others)
        return how >= Named.NAMED

    @property
    def is_for_another(self) -> bool:
        """Whether its words address somebody else who is there."""
        return not self.is_for_npc and self.names_other is not Named.NOT


@dataclass(frozen=True, slots=True)
class Floor:
    """The exchange with the NPC that is going on in the room.

    Attributes:
        partner: Whom it answered last; None if somebody else was named or has spoken since.
        since: The time of that answer, as `HeardLine.at`.
        unasked: Number of answers in a row to lines that did not name it.
    """

    partner: str | None = None
    since: float = 0.0
    unasked: int = 0

    def heard(self, line: HeardLine) -> Floor:
        """Return the floor after `line`, before any answer to it."""
        if line.kind == "say" and (line.speaker != self.partner or line.is_for_another):
            return Floor()
        return self

    def answered(self, line: HeardLine) -> Floor:
        """Return the floor after the NPC's answer to `line`; a whispered one does not change it."""
        if line.kind == "whisper":
            return self
        asked = line.kind == "give" or line.is_for_npc or not line.others
        return Floor(line.speaker, line.at, 0 if asked else self.unasked + 1)


def attend(
    line: HeardLine, floor: Floor, exchange_seconds: float, max_unasked: int = MAX_UNASKED
) -> Attention:
    """Decide about a line by the first rule of DESIGN §4 that fits.

    Args:
        floor: The floor after the line (`Floor.heard`).
        exchange_seconds: How long an exchange goes on after an answer.
        max_unasked: Answers in a row to lines that do not name the NPC.
    """
    if line.barred:
        return Attention.CONTEXT
    if line.kind == "give" or line.is_for_npc:
        return Attention.TRIGGER
    if line.is_for_another:
        return Attention.CONTEXT
    if line.kind == "whisper" or not line.others:
        return Attention.TRIGGER
    continues = floor.partner == line.speaker and line.at - floor.since <= exchange_seconds
    if continues and floor.unasked < max_unasked:
        return Attention.TRIGGER
    return Attention.CONTEXT
