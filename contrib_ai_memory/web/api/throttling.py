"""How often the API may be asked. The rates are settings of Django REST framework:

    REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"] = {"ai_memory_read": "600/min"}

replaces one of `RATES`; None in place of a rate switches it off.
"""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, Throttled
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import SimpleRateThrottle

RATES = {
    "ai_memory_read": "300/min",  # lists and single memories
    "ai_memory_work": "60/min",  # what embeds a text or walks through a whole memory
    "ai_memory_write": "120/min",
    "ai_memory_password": "10/min",  # wrong passwords, by address
}


class _Scoped(SimpleRateThrottle):
    def get_rate(self) -> str | None:
        return (RATES | (api_settings.DEFAULT_THROTTLE_RATES or {}))[self.scope]


class ByDeed(_Scoped):
    """By account, and by what is asked: a view says `throttle_scope` where it is not the rule."""

    def __init__(self) -> None:
        pass  # the scope is not known before the request is

    def allow_request(self, request: Request, view: Any) -> bool:
        reads = request.method in ("GET", "HEAD", "OPTIONS")
        rule = "ai_memory_read" if reads else "ai_memory_write"
        self.scope = getattr(view, "throttle_scope", None) or rule
        super().__init__()
        return super().allow_request(request, view)

    def get_cache_key(self, request: Request, view: Any) -> str:
        return self.cache_format % {"scope": self.scope, "ident": request.user.pk}


class WrongPasswords(_Scoped):
    """Counts refused passwords of an address, and nothing else: no one can lock others out."""

    scope = "ai_memory_password"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        if "HTTP_AUTHORIZATION" not in request.META:
            return None
        address = getattr(request, "origin_ip", request.META.get("REMOTE_ADDR", ""))
        return self.cache_format % {"scope": self.scope, "ident": address}

    def throttle_success(self) -> bool:
        return True  # counted is what fails

    def check(self, request: Request, view: Any) -> None:
        """Raise Throttled where there were too many."""
        if not self.allow_request(request, view):
            raise Throttled(self.wait())

    def note(self, refused: Exception) -> None:
        """Count a request that was refused for its password."""
        failed = isinstance(refused, (AuthenticationFailed, NotAuthenticated))
        if failed and getattr(self, "key", None):
            self.cache.set(self.key, [self.now, *self.history], self.duration)
