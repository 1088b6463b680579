"""Circuit breaker for the model server, with its log messages.

Closed, it lets every call through. A failure opens it: no call for `retry_after` seconds. Then it
is half-open: one call goes through as a trial, and the others are refused until it ends. Each
failed trial doubles the pause, up to eight times `retry_after`. Reactor thread only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..log import logger
from .provider import Unreachable

LONGEST_PAUSE = 8  # times `retry_after`


@dataclass(frozen=True, slots=True)
class Ticket:
    """One call that was let through; the outcome of a trial opens or closes the breaker."""

    trial: bool = False


@dataclass
class Breaker:
    """The breaker of one use of a model server. `since` and `pause` are seconds of `clock`."""

    problem: str = ""
    since: float = 0.0
    pause: float = 0.0
    failures: int = 0
    on_trial: bool = False
    unusable: dict[str, str] = field(default_factory=dict)  # operation → what its answers lack
    clock: Callable[[], float] = time.monotonic
    meanwhile: str = "NPCs answer through the offline provider"

    def admit(self) -> Ticket | None:
        """Return a ticket for a call, to be handed back with `over`; None while it is open."""
        if not self.problem:
            return Ticket()
        if self.on_trial or self.clock() - self.since < self.pause:
            return None
        self.on_trial = True
        return Ticket(trial=True)

    def fail(self, ticket: Ticket, error: Exception, retry_after: float) -> None:
        """Note that the server was not reached; leave it alone for `retry_after` s, or longer."""
        if self.problem and not ticket.trial:
            return  # it began before the breaker opened
        if not self.problem:
            logger().warning("model server: %s. %s until it is back.", error, self.meanwhile)
        self.problem = str(error)
        self.failures += 1
        self.since = self.clock()
        longest = retry_after * LONGEST_PAUSE
        asked = error.retry_after or 0.0 if isinstance(error, Unreachable) else 0.0
        self.pause = min(max(retry_after * 2 ** (self.failures - 1), asked), longest)
        if ticket.trial:
            logger().info("model server: %s. Asked again in %g s.", error, self.pause)

    def succeed(self, operation: str) -> None:
        """Note a usable answer."""
        self.unusable.pop(operation, None)
        self._close()

    def misanswered(self, operation: str, error: Exception) -> None:
        """Note an unusable answer: the server is there."""
        self._close()
        self.complain(operation, error)

    def complain(self, operation: str, error: Exception) -> None:
        """Log that the offline provider did it: the first as a warning, until a call succeeds."""
        say = logger().info if self.unusable else logger().warning
        say("%s: %s. The offline provider did it instead.", operation, error)
        self.unusable[operation] = str(error)

    def over(self, ticket: Ticket) -> None:
        """Take a ticket back. An unfinished trial leaves the next call to try."""
        if ticket.trial:
            self.on_trial = False

    def reset(self) -> None:
        """Forget everything, as after a start."""
        self.problem = ""
        self.failures, self.since, self.pause = 0, 0.0, 0.0
        self.on_trial = False
        self.unusable.clear()

    def _close(self) -> None:
        if self.problem:
            logger().info("model server: answers again.")
        self.problem = ""
        self.failures = 0
