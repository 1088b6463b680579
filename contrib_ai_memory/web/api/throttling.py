"""How often the API may be asked. The rates are settings of Django REST framework:

    REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = {"ai_memory_read": "600/min"}

replaces one of `RATES`; None in place of a rate switches it off.
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

from rest_framework.authentication import get_authorization_header
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

RATES = {
    "ai_memory_read": "300/min",  # lists and single memories
    "ai_memory_work": "60/min",  # what embeds a text or walks through a whole memory
    "ai_memory_write": "120/min",
    "ai_memory_password": "60/min",  # wrong passwords, of all accounts together
}

FREE_GUESSES = 5  # wrong passwords for one account before the next must wait
LONGEST_WAIT = 30.0  # seconds between two passwords for one account, at most
FORGOTTEN_AFTER = 900.0  # seconds without a wrong password
NAMES_KEPT = 4096
LONGEST_NAME = 150  # characters that a username may have, in Django

_TOO_MANY = (
    "There were too many wrong passwords {whose}. Try again in {wait} seconds, or log in on the "
    "website: a session is not delayed."
)


class _Scoped(SimpleRateThrottle):
    def get_rate(self) -> str | None:
        return (RATES | (api_settings.DEFAULT_THROTTLE_RATES or {}))[self.scope]


class ByDeed(_Scoped):
    """By account, and by what is asked: a view says `throttle_scope` where it is not the rule."""

    def __init__(self) -> None:
        pass  # the scope is not known before the request is

    def allow_request(self, request: Request, view: APIView) -> bool:
        reads = request.method in ("GET", "HEAD", "OPTIONS")
        rule = "ai_memory_read" if reads else "ai_memory_write"
        self.scope = getattr(view, "throttle_scope", None) or rule
        super().__init__()
        return super().allow_request(request, view)

    def get_cache_key(self, request: Request, view: APIView) -> str:
        return self.cache_format % {"scope": self.scope, "ident": request.user.pk}


@dataclass(slots=True)
class _Count:
    """Wrong passwords for one account name: how many, when the last was, when the next may be."""

    wrong: int = 0
    last: float = 0.0
    next: float = 0.0


class WrongPasswords(_Scoped):
    """Slows down who guesses passwords (HTTP Basic), by the account name that is tried.

    Behind the game's own web proxy every client has the address 127.0.0.1, and X-Forwarded-For is
    believed from there: an address tells nobody apart. So wrong passwords are counted by name
    (`normalised`), for names of nobody too. After `FREE_GUESSES` the next password for that name is
    looked at only after a delay that doubles up to `LONGEST_WAIT`: about 2,900 guesses a day.

    A stranger must not lock staff out with that. The delay is short and never grows into a ban; a
    session of the website is not delayed, and for its own account has a count of its own; and the
    rate `ai_memory_password`, which bounds guesses at many names, holds only for names that have
    not come in with their password lately. docs/adr/018 has the alternatives.

    The counts are this process's alone (Evennia has one Server process), in bounded memory, not in
    Django's cache: that may drop a count to make room for those that a stranger made up.
    """

    scope = "ai_memory_password"
    counts: OrderedDict[str, _Count] = OrderedDict()  # by key, the last wrong one last
    in_use: OrderedDict[str, float] = OrderedDict()  # names that came in, and when they did last
    all_wrong: deque[float] = deque()  # when each was, of the last `duration` seconds
    _lock = threading.Lock()  # web requests run in a pool of threads

    @classmethod
    def forget_all(cls) -> None:
        """Begin anew, as after a start of the server."""
        with cls._lock:
            cls.counts.clear()
            cls.in_use.clear()
            cls.all_wrong.clear()

    def key_of(self, request: Request) -> str | None:
        """Whose count a request belongs to; None where it has no password."""
        name = _name_in(request)
        if self.rate is None or name is None:
            return None
        visitor = request._request.user  # by the website's session
        if visitor.is_authenticated and normalised(visitor.get_username()) == name:
            return f"session:{visitor.pk}"
        return f"name:{name}"

    def check(self, key: str) -> None:
        """Let a password be looked at.

        Raises:
            Throttled: Not yet; it says when.
        """
        with self._lock:
            now = monotonic()
            self._forget_old(now)
            count = self.counts.get(key)
            if count and count.wrong >= FREE_GUESSES:
                if now < count.next:
                    raise _throttled("for this account", count.next - now)
                count.next = now + _delay(count.wrong)  # others at the same time wait for it
            elif len(self.all_wrong) >= self.num_requests and key not in self.in_use:
                raise _throttled("for many accounts", self.all_wrong[0] + self.duration - now)

    def refused(self, key: str) -> None:
        """Count a wrong password."""
        with self._lock:
            now = monotonic()
            self._forget_old(now)
            key = key[: LONGEST_NAME + 20]
            count = self.counts.setdefault(key, _Count())
            self.counts.move_to_end(key)
            count.wrong, count.last = count.wrong + 1, now
            count.next = now + _delay(count.wrong)
            self.all_wrong.append(now)
            while len(self.counts) > NAMES_KEPT:
                self.counts.popitem(last=False)
            while len(self.all_wrong) > self.num_requests:
                self.all_wrong.popleft()

    def came_in(self, key: str) -> None:
        """Note that a password was right. What was counted before stays: a stranger guesses on."""
        with self._lock:
            now = monotonic()
            self.in_use[key] = now
            self.in_use.move_to_end(key)
            if len(self.in_use) > NAMES_KEPT:
                self.in_use.popitem(last=False)
            if count := self.counts.get(key):
                count.next = now

    def _forget_old(self, now: float) -> None:
        while self.counts:
            key, oldest = next(iter(self.counts.items()))
            if now - oldest.last < FORGOTTEN_AFTER:
                break
            del self.counts[key]
        while self.all_wrong and now - self.all_wrong[0] >= self.duration:
            self.all_wrong.popleft()


def normalised(name: str) -> str:
    """An account name as every database might compare it: no case, no accents, no blanks around."""
    plain = unicodedata.normalize("NFKD", name.strip()[:LONGEST_NAME])
    bare = "".join(each for each in plain if not unicodedata.combining(each))
    return bare.upper().casefold()[:LONGEST_NAME]


def _name_in(request: Request) -> str | None:
    """The account name of an HTTP Basic header, read as Django REST framework does."""
    scheme, _, word = get_authorization_header(request).strip().partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        said = base64.b64decode(word.strip())
    except binascii.Error:
        return None
    try:
        text = said.decode("utf-8")
    except UnicodeDecodeError:
        text = said.decode("latin-1")
    return normalised(text.partition(":")[0])


def _delay(wrong: int) -> float:
    """Seconds until the next password, after so many wrong ones."""
    return min(LONGEST_WAIT, 2.0 ** min(wrong - FREE_GUESSES, 10)) if wrong >= FREE_GUESSES else 0.0


def _throttled(whose: str, wait: float) -> Throttled:
    seconds = max(1, math.ceil(wait))
    problem = Throttled(seconds)
    problem.detail = _TOO_MANY.format(whose=whose, wait=seconds)
    return problem
