"""Whether the model server is to be asked: a circuit breaker, and what it makes known of itself.

Closed, every call goes through. A server that cannot be reached opens it: nobody asks for
`retry_after` seconds. After that it is half-open: one call goes through as a trial, the others stay
away until it is known how that ended. Each trial that fails doubles the time, up to eight times.
Reactor thread only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ..log import logger
from .provider import Unreachable

LONGEST = 8  # times `retry_after`, however often the server fails


@dataclass(frozen=True, slots=True)
class Ticket:
    """One call that was let through; a trial decides whether the breaker closes."""

    trial: bool = False


@dataclass
class Health:
    """What is known of the configured server. `since` and `pause` are seconds of `clock`."""

    problem: str = ""
    since: float = 0.0
    pause: float = 0.0
    failures: int = 0
    on_trial: bool = False
    unusable: dict[str, str] = field(default_factory=dict)  # operation → what its answers lack
    clock: Callable[[], float] = time.monotonic

    def admit(self) -> Ticket | None:
        """A ticket for a call, None where the server is to be left alone.

        Whoever gets one hands it back with `over`, whatever became of the call.
        """
        if not self.problem:
            return Ticket()
        if self.on_trial or self.clock() - self.since < self.pause:
            return None
        self.on_trial = True
        return Ticket(trial=True)

    def fail(self, ticket: Ticket, error: Exception, retry_after: float) -> None:
        """The server was not reached.

        Args:
            retry_after: Seconds of the settings. The server's own wish may make them more.
        """
        if self.problem and not ticket.trial:
            return  # it was under way before the breaker opened: nothing new
        if not self.problem:
            logger().warning(
                "model server: %s. NPCs answer through the offline provider until it is back.",
                error,
            )
        self.problem = str(error)
        self.failures += 1
        self.since = self.clock()
        longest = retry_after * LONGEST
        wished = error.retry_after or 0.0 if isinstance(error, Unreachable) else 0.0
        self.pause = min(max(retry_after * 2 ** (self.failures - 1), wished), longest)
        if ticket.trial:
            logger().info("model server: %s. Asked again in %g s.", error, self.pause)

    def succeed(self, operation: str) -> None:
        """The server gave an answer that could be used."""
        self.unusable.pop(operation, None)
        self._close()

    def misanswered(self, operation: str, error: Exception) -> None:
        """The server is there, but its answer cannot be used."""
        self._close()
        self.complain(operation, error)

    def complain(self, operation: str, error: Exception) -> None:
        """Say that the offline provider did it: a warning for the first, until that went well."""
        say = logger().info if self.unusable else logger().warning
        say("%s: %s. The offline provider did it instead.", operation, error)
        self.unusable[operation] = str(error)

    def over(self, ticket: Ticket) -> None:
        """A call is over. A trial that came to no end leaves the next one to try."""
        if ticket.trial:
            self.on_trial = False

    def reset(self) -> None:
        """Nothing is known any more, as after a start."""
        self.problem = ""
        self.failures, self.since, self.pause = 0, 0.0, 0.0
        self.on_trial = False
        self.unusable.clear()

    def _close(self) -> None:
        if self.problem:
            logger().info("model server: answers again.")
        self.problem = ""
        self.failures = 0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to be left alone, from `Retry-After`: a number or an HTTP date."""
    wish = headers.get("retry-after", "").strip()
    if not wish:
        return None
    if wish.isascii() and wish.isdigit():
        return float(wish[:9])
    try:
        date = parsedate_to_datetime(wish)
    except (ValueError, OverflowError):
        return None  # nothing that can be honoured
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
