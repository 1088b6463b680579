"""Usage of the model server: calls and tokens of each day (UTC) by purpose and NPC, and budgets.

The counts are kept in `llm_usage.json` beside the store, so that they survive a reload. They are
counted and written on the worker thread that made the call; the reactor thread reads that one small
file, once after a start, and then numbers in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from .. import atomic_file, conf
from ..log import logger
from ..text import plural
from .provider import ProviderError

FILE = "llm_usage.json"
CHARACTERS_PER_TOKEN = 4  # an estimate, where a server reports none
DAYS_KEPT = 30
REPLY = "reply"  # the purpose of calls that somebody waits for


class BudgetUsedUp(ProviderError):
    """Today's tokens are spent: the offline provider answers until the day is over."""


Number = Annotated[int, Field(ge=0)]


@dataclass
class Spent:
    """Answered calls of the language model, and their tokens."""

    calls: Number = 0
    tokens_in: Number = 0
    tokens_out: Number = 0

    def __str__(self) -> str:
        calls = plural(self.calls, "call")
        return f"{calls}, {self.tokens_in:,} tokens in, {self.tokens_out:,} tokens out"

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def add(self, other: Spent) -> None:
        self.calls += other.calls
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out


class Day(BaseModel):
    """One day in the file: by operation, and by the agent id of the NPC; an ISO date in UTC."""

    day: str = ""
    purposes: dict[str, Spent] = Field(default_factory=dict)
    npcs: dict[str, Spent] = Field(default_factory=dict)

    @property
    def whole(self) -> Spent:
        """All that the game spent."""
        total = Spent()
        for each in self.purposes.values():
            total.add(each)
        return total

    def of_npc(self, npc: str | None) -> Spent:
        """What one NPC spent."""
        return self.npcs.get(npc or "", Spent())


class Days(BaseModel):
    """The file: the last days, oldest first."""

    days: list[Day] = Field(min_length=1)


def today() -> str:
    """Return the date in UTC, ISO 8601."""
    return datetime.now(UTC).date().isoformat()


def estimated(text_length: int) -> int:
    """Estimate the tokens of a text of this many characters."""
    return -(-text_length // CHARACTERS_PER_TOKEN)


class Usage:
    """Usage of one game, kept in the file `path`."""

    def __init__(self, path: Path, date: Callable[[], str] = today):
        self.path = path
        self._date = date
        self._days = self._read() or [Day(day=date())]
        self._logged: set[str] = set()  # whose budget was logged as used up today
        self._unwritable = False
        self._lock = threading.Lock()  # of the numbers: held for moments
        self._file = threading.Lock()  # of the file: held while a disk is slow

    def count(self, purpose: str, npc: str | None, tokens_in: int, tokens_out: int) -> None:
        """Count one answered call and write the file (worker thread)."""
        call = Spent(1, tokens_in, tokens_out)
        with self._lock:
            day = self._present()
            day.purposes.setdefault(purpose, Spent()).add(call)
            if npc is not None:
                day.npcs.setdefault(npc, Spent()).add(call)
        self._write()

    def check(
        self, npc: str | None, settings: conf.LLMSettings, background: int | None = None
    ) -> None:
        """Raise BudgetUsedUp, logged once a day, if no tokens are left; of `background`, if given,
        for all but replies."""
        with self._lock:
            day = self._present()
            replies = day.purposes.get(REPLY, Spent()).tokens
            own, whole = day.of_npc(npc).tokens, day.whole.tokens
            for whose, tokens, limit in (
                ("the game", whole, settings.daily_tokens),
                ("nights and background work", whole - replies, background),
                (f"NPC {npc}", own, settings.daily_tokens_per_npc),
            ):
                if not limit or tokens < limit:
                    continue
                problem = f"the day's {limit} tokens of {whose} are used up"
                if whose not in self._logged:
                    self._logged.add(whose)
                    until = "the offline provider answers until the day is over (UTC)"
                    logger().warning("%s: %s.", problem, until)
                raise BudgetUsedUp(problem)

    def today(self) -> Day:
        """Return what was spent so far today."""
        with self._lock:
            return self._present().model_copy(deep=True)

    def by_day(self, npc: str) -> list[tuple[str, int]]:
        """Return (day, tokens) of one NPC for the last thirty days with any calls, oldest first."""
        with self._lock:
            self._present()
            return [(day.day, day.of_npc(npc).tokens) for day in self._days]

    def _present(self) -> Day:
        if self._days[-1].day != self._date():
            spent = [day for day in self._days if day.purposes]
            self._days = [*spent, Day(day=self._date())][-DAYS_KEPT:]
            self._logged.clear()
        return self._days[-1]

    def _read(self) -> list[Day]:
        try:
            return Days.model_validate_json(self.path.read_bytes()).days
        except FileNotFoundError:
            return []
        except (ValidationError, OSError) as error:
            kind = type(error).__name__
            logger().warning("%s cannot be read (%s): the counts start from zero.", self.path, kind)
            return []

    def _write(self) -> None:
        with self._file:
            with self._lock:
                text = Days(days=self._days).model_dump_json()
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                atomic_file.write(self.path, text)
            except OSError as error:
                if not self._unwritable:
                    logger().warning(
                        "%s cannot be written (%s): today's counts will be lost at a reload.",
                        self.path,
                        error,
                    )
                self._unwritable = True
            else:
                self._unwritable = False
