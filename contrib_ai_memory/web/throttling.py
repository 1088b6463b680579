"""Rate limits of the API. Rates are set in Django REST framework's settings:

    REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = {"ai_memory_read": "600/min"}

replaces one of `RATES`; None instead of a rate disables the limit.
"""

from __future__ import annotations

import base64
import binascii
import math
import threading
import unicodedata
from collections import OrderedDict, deque
from time import monotonic
from typing import Any

from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import ScopedRateThrottle

from ..text import plural

RATES = {
    "ai_memory_read": "300/min",  # lists and single memories
    "ai_memory_work": "60/min",  # requests that embed a text or read a whole memory
    "ai_memory_write": "120/min",
}

FREE_ATTEMPTS = 5  # wrong passwords for one account before the next attempt is delayed
LONGEST_DELAY = 30.0  # seconds between two attempts for one account
OF_ALL, WITHIN = 60, 60.0  # wrong passwords of all accounts together, in so many seconds
EXPIRY = 900.0  # seconds without a wrong password after which a count is dropped
NAMES_KEPT = 4096
LONGEST_NAME = 150  # characters of a username in Django


class AccessThrottle(ScopedRateThrottle):
    """Limits requests per account, by the endpoint's `throttle_scope`."""

    def get_rate(self) -> str | None:
        return (RATES | (api_settings.DEFAULT_THROTTLE_RATES or {}))[self.scope]


class PasswordDelay:
    """Slows down password guessing (HTTP Basic), per account name and of all (docs/adr/018).

    After `FREE_ATTEMPTS` wrong passwords the next one for that name is checked only after a delay
    that doubles up to `LONGEST_DELAY`: about 2,900 guesses a day. It never becomes a ban, and a
    website session is not delayed. `OF_ALL` limits guesses across many names, but for names that
    came in with their password lately. Counts are kept in this process, in bounded memory.
    """

    def __init__(self) -> None:
        # by name, the latest last: wrong passwords, and when the next one is checked (`monotonic`)
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._of_all: deque[float] = deque(maxlen=OF_ALL)  # times of the last wrong passwords
        self._came_in: OrderedDict[str, None] = OrderedDict()  # names, the latest last
        self._lock = threading.Lock()  # requests run in a pool of threads

    def check(self, name: str) -> None:
        """Allow a password to be checked.

        Raises:
            Throttled: It must wait; the error says how long.
        """
        with self._lock:
            count, until = self._known(name)
            if count >= FREE_ATTEMPTS:
                if (wait := until - monotonic()) > 0:
                    raise _throttled("for this account", wait)
                self._note(name, count)  # concurrent attempts wait for this one
                return
            wait = self._of_all[0] + WITHIN - monotonic() if len(self._of_all) == OF_ALL else 0.0
            if wait > 0 and name not in self._came_in:
                raise _throttled("for many accounts", wait)

    def checked(self, name: str, *, right: bool) -> None:
        """Count a wrong password. A right one leaves the count, but the next need not wait."""
        with self._lock:
            count, _until = self._known(name)
            if not right:
                self._note(name, count + 1)
                self._of_all.append(monotonic())
                return
            _put(self._came_in, name, None)
            if count:
                self._failures[name] = count, monotonic()

    def reset(self) -> None:
        """Forget all counts, as a start of the server does."""
        with self._lock:
            self._failures.clear()
            self._of_all.clear()
            self._came_in.clear()

    def _known(self, name: str) -> tuple[int, float]:
        count, until = self._failures.get(name, (0, 0.0))
        return (count, until) if monotonic() - until < EXPIRY else (0, 0.0)

    def _note(self, name: str, count: int) -> None:
        delay = min(LONGEST_DELAY, 2.0 ** min(count - FREE_ATTEMPTS, 10))
        _put(self._failures, name, (count, monotonic() + delay))


def _put(kept: OrderedDict[str, Any], name: str, value: Any) -> None:
    kept[name] = value
    kept.move_to_end(name)
    if len(kept) > NAMES_KEPT:
        kept.popitem(last=False)


def _throttled(whose: str, wait: float) -> Throttled:
    problem = Throttled(math.ceil(wait))
    problem.detail = (
        f"Too many wrong passwords {whose}. Try again in {plural(math.ceil(wait), 'second')}, or "
        "log in on the website: sessions are not delayed."
    )
    return problem


passwords = PasswordDelay()


def name_in(request: Request) -> str | None:
    """Return the account name of an HTTP Basic header, without case, accents and outer blanks,
    which databases may ignore; None if there is none."""
    scheme, _, credentials = get_authorization_header(request).strip().partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        text = base64.b64decode(credentials.strip()).decode("utf-8", "replace")
    except binascii.Error:
        return None
    name = unicodedata.normalize("NFKD", text.partition(":")[0].strip()[:LONGEST_NAME])
    bare = "".join(each for each in name if not unicodedata.combining(each))
    return bare.casefold()[:LONGEST_NAME]
