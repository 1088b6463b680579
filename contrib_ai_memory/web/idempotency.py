"""Idempotency keys of the API: a POST that is sent again with its key is answered, not repeated.

A client that got no answer sends the request again with the same header `Idempotency-Key`. The
first answer is kept for a day, per account; the newest 1,000 keys are kept, in memory, so that no
file holds what was answered. Any web thread.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from . import gate

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
LONGEST_KEY = 255
KEPT = 1000
KEPT_SECONDS = 86_400.0


class KeyReused(APIException):
    """The key belongs to another request."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_detail = (
        f"This {HEADER} was sent with another request. Use a new key for each new request."
    )


class StillRunning(APIException):
    """The first request with the key is not over, or ended without an answer."""

    status_code = status.HTTP_409_CONFLICT
    default_detail = (
        f"The first request with this {HEADER} was begun, and has not been answered. Look whether "
        "its change is done before you send it again with a new key."
    )


@dataclass(slots=True)
class _Kept:
    """A key: the request it belongs to, when it was sent, and its answer, None until there is."""

    request: str
    at: float
    answer: Response | None = None


_lock = threading.Lock()
_kept: OrderedDict[tuple[int, str], _Kept] = OrderedDict()


def once(request: Request, answer: Callable[[], Response]) -> Response:
    """Return `answer()`, or what it returned for the first request with the same key.

    A request that was refused or not begun may be sent again with its key. One that was begun and
    took too long may not, as its change may still be made.

    Raises:
        ValidationError, KeyReused, StillRunning
        Whatever `answer` raises.
    """
    key = request.headers.get(HEADER)
    if key is None or request.method != "POST":
        return answer()
    if not 0 < len(key) <= LONGEST_KEY or not (key.isascii() and key.isprintable()):
        problem = f"Give a key of 1 to {LONGEST_KEY} printable ASCII characters."
        raise ValidationError({HEADER: [problem]})
    mine = request.user.pk, key
    first = _begin(mine, _digest(request))
    if first is not None:
        return Response(first.data, status=first.status_code, headers={REPLAYED: "true"})
    try:
        made = answer()
    except gate.TooSlow as slow:
        if not slow.begun:
            _free(mine)
        raise
    except BaseException:
        _free(mine)
        raise
    with _lock:
        if mine in _kept:
            _kept[mine].answer = made
    return made


def reset() -> None:
    """Forget all keys."""
    with _lock:
        _kept.clear()


def _begin(mine: tuple[int, str], digest: str) -> Response | None:
    with _lock:
        while _kept and (
            len(_kept) >= KEPT or monotonic() - next(iter(_kept.values())).at > KEPT_SECONDS
        ):
            _kept.popitem(last=False)
        known = _kept.get(mine)
        if known is None:
            _kept[mine] = _Kept(digest, monotonic())
            return None
    if known.request != digest:
        raise KeyReused
    if known.answer is None:
        raise StillRunning
    return known.answer


def _free(mine: tuple[int, str]) -> None:
    with _lock:
        _kept.pop(mine, None)


def _digest(request: Request) -> str:
    """Return what tells a request from others: its URL and its body as it was parsed."""
    text = f"{request.get_full_path()}\n{request.data!r}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
