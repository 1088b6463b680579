"""How an NPC stands with somebody: favorability, and the state and the course that it makes [A]."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_FAVORABILITY = 0.1
STATES = ((0.25, "stranger"), (0.5, "acquaintance"), (0.75, "friend"))  # below; then "close"
COURSE_KEPT = 90  # days on which a relationship moved, the newest


def state_of(favorability: float) -> str:
    """How the NPC stands with somebody: stranger, acquaintance, friend or close."""
    return next((state for below, state in STATES if favorability < below), "close")


@dataclass(frozen=True, slots=True)
class Relationship:
    """How it stands with somebody: `favorability` 0-1, `interactions` counts what they said.

    `course` is how it came to that: (day, favorability at its end), the newest last. `gained` is
    what the last conversations gave: (session, favorability).
    """

    favorability: float = FIRST_FAVORABILITY
    interactions: int = 0
    last_seen: str = ""
    course: tuple[tuple[str, float], ...] = ()
    gained: tuple[tuple[str, float], ...] = ()

    @property
    def state(self) -> str:
        return state_of(self.favorability)

    def course_with(self, day: str, favorability: float) -> tuple[tuple[str, float], ...]:
        """Its course, when a day has come to that favorability."""
        others = tuple(each for each in self.course if each[0] != day)
        return (*others, (day, favorability))[-COURSE_KEPT:]


AT_FIRST = Relationship()  # with somebody whom it never met
