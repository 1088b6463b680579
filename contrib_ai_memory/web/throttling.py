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
from dataclasses import dataclass
from time import monotonic
from typing import ClassVar

from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import ScopedRateThrottle, SimpleRateThrottle

RATES = {
    "ai_memory_read": "300/min",  # lists and single memories
    "ai_memory_work": "60/min",  # requests that embed a text or read a whole memory
    "ai_memory_write": "120/min",
    "ai_memory_password": "60/min",  # wrong passwords, of all accounts together
}

FREE_ATTEMPTS = 5  # wrong passwords for one account before the next attempt is delayed
LONGEST_DELAY = 30.0  # seconds between two attempts for one account
EXPIRY = 900.0  # seconds without a wrong password after which a count is dropped
NAMES_KEPT = 4096
LONGEST_NAME = 150  # characters of a username in Django

_TOO_MANY = (
    "Too many wrong passwords {whose}. Try again in {wait} seconds, or log in on the website: "
    "sessions are not delayed."
)


class _SettingsRate:
    """Takes the rate of a throttle from the settings or from `RATES`."""

    scope: str

    def get_rate(self) -> str | None:
        return (RATES | (api_settings.DEFAULT_THROTTLE_RATES or {}))[self.scope]


class AccessThrottle(_SettingsRate, ScopedRateThrottle):
    """Limits requests per account, by the endpoint's `throttle_scope`."""


@dataclass(slots=True)
class _Failures:
    """Wrong passwords for one account name. Times are in seconds of `monotonic`.

    Attributes:
        last: Time of the last one.
        next: Time from which the next password is checked.
    """

    count: int = 0
    last: float = 0.0
    next: float = 0.0


class PasswordThrottle(_SettingsRate, SimpleRateThrottle):
    """Slows down password guessing (HTTP Basic), per account name.

    Behind the game's own web proxy every client has the address 127.0.0.1, and X-Forwarded-For is
    trusted from there, so an address identifies nobody. Wrong passwords are therefore counted by
    normalised name, also for accounts that do not exist. After `FREE_ATTEMPTS` the next password
    for that name is checked only after a delay that doubles up to `LONGEST_DELAY`: about 2,900
    guesses a day.

    This must not let a stranger lock staff out. The delay is short and never becomes a ban; a
    website session is not delayed and has a count of its own for its own account; and the rate
    `ai_memory_password`, which limits guesses across many names, applies only to names without a
    recent successful login. docs/adr/018 has the alternatives.

    The counts are kept in this process (Evennia has one Server process), in bounded memory. The
    Django cache might drop a count to make room for made-up names.
    """

    scope = "ai_memory_password"
    failures: ClassVar[OrderedDict[str, _Failures]] = OrderedDict()  # by key, the latest last
    logins: ClassVar[OrderedDict[str, float]] = OrderedDict()  # time of the last login by key
    all_failures: ClassVar[deque[float]] = deque()  # times, of the last `duration` seconds
    _lock = threading.Lock()  # requests run in a pool of threads

    @classmethod
    def reset(cls) -> None:
        """Forget all counts, as a start of the server does."""
        with cls._lock:
            cls.failures.clear()
            cls.logins.clear()
            cls.all_failures.clear()

    def key_of(self, request: Request) -> str | None:
        """Return the key that a request is counted under; None if it has no password."""
        name = _name_in(request)
        if self.rate is None or name is None:
            return None
        account = request._request.user  # of the website's session
        if account.is_authenticated and normalised(account.get_username()) == name:
            return f"session:{account.pk}"
        return f"name:{name}"

    def check(self, key: str) -> None:
        """Allow a password to be checked.

        Raises:
            Throttled: It must wait; the error says how long.
        """
        with self._lock:
            now = monotonic()
            self._expire(now)
            failed = self.failures.get(key)
            if failed and failed.count >= FREE_ATTEMPTS:
                if now < failed.next:
                    raise _throttled("for this account", failed.next - now)
                failed.next = now + _delay(failed.count)  # concurrent attempts wait for this one
            elif len(self.all_failures) >= self.num_requests and key not in self.logins:
                raise _throttled("for many accounts", self.all_failures[0] + self.duration - now)

    def record_failure(self, key: str) -> None:
        """Count a wrong password."""
        with self._lock:
            now = monotonic()
            self._expire(now)
            key = key[: LONGEST_NAME + 20]
            failed = self.failures.setdefault(key, _Failures())
            self.failures.move_to_end(key)
            failed.count, failed.last = failed.count + 1, now
            failed.next = now + _delay(failed.count)
            self.all_failures.append(now)
            while len(self.failures) > NAMES_KEPT:
                self.failures.popitem(last=False)
            while len(self.all_failures) > self.num_requests:
                self.all_failures.popleft()

    def record_success(self, key: str) -> None:
        """Note a right password. The count stays, since somebody else may be guessing."""
        with self._lock:
            now = monotonic()
            self.logins[key] = now
            self.logins.move_to_end(key)
            if len(self.logins) > NAMES_KEPT:
                self.logins.popitem(last=False)
            if failed := self.failures.get(key):
                failed.next = now

    def _expire(self, now: float) -> None:
        while self.failures:
            key, oldest = next(iter(self.failures.items()))
            if now - oldest.last < EXPIRY:
                break
            del self.failures[key]
        while self.all_failures and now - self.all_failures[0] >= self.duration:
            self.all_failures.popleft()


def normalised(name: str) -> str:
    """Return a name without case, accents and outer blanks: databases may ignore these."""
    plain = unicodedata.normalize("NFKD", name.strip()[:LONGEST_NAME])
    bare = "".join(each for each in plain if not unicodedata.combining(each))
    return bare.upper().casefold()[:LONGEST_NAME]


def _name_in(request: Request) -> str | None:
    """Return the account name of an HTTP Basic header, parsed as Django REST framework does."""
    scheme, _, credentials = get_authorization_header(request).strip().partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        decoded = base64.b64decode(credentials.strip())
    except binascii.Error:
        return None
    try:
        text = decoded.decode("utf-8")
    except UnicodeDecodeError:
        text = decoded.decode("latin-1")
    return normalised(text.partition(":")[0])


def _delay(failures: int) -> float:
    """Return the seconds until the next attempt."""
    if failures < FREE_ATTEMPTS:
        return 0.0
    return min(LONGEST_DELAY, 2.0 ** min(failures - FREE_ATTEMPTS, 10))


def _throttled(whose: str, wait: float) -> Throttled:
    seconds = max(1, math.ceil(wait))
    problem = Throttled(seconds)
    problem.detail = _TOO_MANY.format(whose=whose, wait=seconds)
    return problem
