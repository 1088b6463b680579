"""What game and memory process share: where they meet, the proof of a secret, their messages.

They meet at a Unix socket in a folder that only its owner may enter. Messages are pickles, which
can run any code when they are read; so none is read before the other side has proved by HMAC that
it knows the key in that folder (`multiprocessing.connection`, both ways). Who can read the key runs
as the game's user, and could change the game itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from logging import LogRecord
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings

from .. import conf
from ..store.condition import Changes

SOCKET, PEER, LOCK = "socket", "peer.json", "lock"  # files in the folder
PATH_BYTES = 100  # of a socket's path; the kernel's limit is 108 on Linux and 104 elsewhere
# the first byte of what a client sends
HELLO, JOB, END = b"H", b"J", b"E"

Message = TypeVar("Message")


@dataclass(frozen=True, slots=True)
class Greeting:
    """The first message of a client.

    Attributes:
        settings: Their fingerprint.
        game: Whether it is the game's server: a process with other settings then makes room.
    """

    settings: str
    game: bool


@dataclass(frozen=True, slots=True)
class Welcome:
    """The answer to a `Greeting`.

    Attributes:
        stale: The process has other settings or older code; it ends if the game greeted it.
    """

    pid: int
    stale: bool


@dataclass(frozen=True, slots=True)
class GameState:
    """What the game knows, and the process needs with each job.

    Attributes:
        expected: `memory_store.expected`.
        troubles: `condition.known()`.
    """

    expected: tuple[str, Any] | None
    troubles: dict[str, str]


@dataclass(frozen=True, slots=True)
class Job:
    """One job; `state` is None if it is not the game that asks."""

    job: Callable[..., Any]
    args: tuple[Any, ...]
    state: GameState | None


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one job.

    Attributes:
        value: The result, or the exception if it failed.
        log: Lines for the game's log.
    """

    value: Any
    failed: bool
    changes: Changes
    log: tuple[LogRecord, ...] = ()


# --- where they meet ------------------------------------------------------------------------------


def folder() -> Path:
    """Return the folder of socket, key and lock, beside the store's: no backup copies it."""
    store = conf.directory()
    return store.with_name(store.name + ".process")


def connect() -> Connection | None:
    """Return a connection to the living memory process of this game; None if there is none.

    Raises:
        multiprocessing.AuthenticationError: It does not know the key.
    """
    try:
        peer = json.loads((folder() / PEER).read_text())
        return Client(peer["address"], authkey=bytes.fromhex(peer["key"]))
    except (OSError, EOFError, ValueError):
        return None


def fingerprint() -> str:
    """Return a hash of the settings that a memory process reads."""
    read = getattr(settings, conf.SETTING, {}), settings.LOG_DIR, settings.TIME_ZONE
    return hashlib.sha256(repr(read).encode()).hexdigest()


# --- messages -------------------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Pickles exceptions by their arguments and attributes, whatever their `__init__` takes."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, BaseException):
            return _error, (type(value), value.args, value.__dict__)
        return NotImplemented


def _error(kind: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def dumps(message: Any) -> bytes:
    """Return a message as bytes."""
    written = io.BytesIO()
    _Pickler(written, pickle.HIGHEST_PROTOCOL).dump(message)
    return written.getvalue()


def loads(data: bytes, kind: type[Message]) -> Message:
    """Return the message in `data`, which must come from a peer that has proved the key."""
    message = pickle.loads(data)
    if not isinstance(message, kind):
        raise TypeError(f"a {type(message).__name__} instead of a {kind.__name__}")
    return message


def portable(error: BaseException) -> BaseException:
    """Return an exception that can be sent, with its traceback in a note."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(dumps(error))
    except Exception:  # noqa: BLE001 - whatever a foreign exception raises
        sent = RuntimeError(f"{type(error).__name__}: {error}")
        sent.add_note(error.__notes__[-1])
        return sent
    return error


def can_run() -> bool:
    """Return whether this system has what the memory process needs."""
    return os.name == "posix"
