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
from collections import OrderedDict
from time import monotonic

from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import ScopedRateThrottle

RATES = {
    "ai_memory_read": "300/min",  # lists and single memories
    "ai_memory_work": "60/min",  # requests that embed a text or read a whole memory
    "ai_memory_write": "120/min",
}

FREE_ATTEMPTS = 5  # wrong passwords for one account before the next attempt is delayed
LONGEST_DELAY = 30.0  # seconds between two attempts for one account
EXPIRY = 900.0  # seconds without a wrong password after which a count is dropped
NAMES_KEPT = 4096
LONGEST_NAME = 150  # characters of a username in Django


class AccessThrottle(ScopedRateThrottle):
    """Limits requests per account, by the endpoint's `throttle_scope`."""

    def get_rate(self) -> str | None:
        return (RATES | (api_settings.DEFAULT_THROTTLE_RATES or {}))[self.scope]


class PasswordDelay:
    """Slows down password guessing (HTTP Basic), per account name (docs/adr/018).

    After `FREE_ATTEMPTS` wrong passwords the next one for that name is checked only after a delay
    that doubles up to `LONGEST_DELAY`: about 2,900 guesses a day. It never becomes a ban, and a
    website session is not delayed. Counts are kept in this process, in bounded memory.
    """

    def __init__(self) -> None:
        # by name, the latest last: wrong passwords, and when the next one is checked (`monotonic`)
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()  # requests run in a pool of threads

    def check(self, name: str) -> None:
        """Allow a password to be checked.

        Raises:
            Throttled: It must wait; the error says how long.
        """
        with self._lock:
            count, until = self._known(name)
            if count < FREE_ATTEMPTS:
                return
            if (wait := until - monotonic()) > 0:
                seconds = math.ceil(wait)
                problem = Throttled(seconds)
                problem.detail = (
                    f"Too many wrong passwords for this account. Try again in {seconds} seconds, "
                    "or log in on the website: sessions are not delayed."
                )
                raise problem
            self._note(name, count)  # concurrent attempts wait for this one

    def checked(self, name: str, *, right: bool) -> None:
        """Count a wrong password. A right one leaves the count, but the next need not wait."""
        with self._lock:
            count, _until = self._known(name)
            if not right:
                self._note(name, count + 1)
            elif count:
                self._failures[name] = count, monotonic()

    def reset(self) -> None:
        """Forget all counts, as a start of the server does."""
        with self._lock:
            self._failures.clear()

    def _known(self, name: str) -> tuple[int, float]:
        count, until = self._failures.get(name, (0, 0.0))
        return (count, until) if monotonic() - until < EXPIRY else (0, 0.0)

    def _note(self, name: str, count: int) -> None:
        delay = min(LONGEST_DELAY, 2.0 ** min(count - FREE_ATTEMPTS, 10))
        self._failures[name] = count, monotonic() + delay
        self._failures.move_to_end(name)
        if len(self._failures) > NAMES_KEPT:
            self._failures.popitem(last=False)


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
