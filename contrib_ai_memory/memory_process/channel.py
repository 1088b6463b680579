"""What game and memory process share: where they meet, the proof of a secret, their messages.

They meet at a Unix socket; its address and a key are in a folder that only its owner may enter.
Messages are pickles, which can run any code when they are read; so none is read before the other
side has proved by HMAC that it knows that key (`multiprocessing.connection`, both ways).
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import traceback
from collections.abc import Callable
from logging import LogRecord
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings

from .. import conf

PEER, LOCK = "peer.json", "lock"  # files in the folder
# The first byte of what a client sends. HELLO: whether it is the game's server (1 or 0), and the
# fingerprint of its settings; it is answered by the process's number and whether that is stale.
HELLO, JOB, END = b"H", b"J", b"E"


class Job(NamedTuple):
    job: Callable[..., Any]
    args: tuple[Any, ...]
    expected: tuple[str, Any] | None  # `memory_store.expected` of the game
    troubles: dict[str, str] | None  # `condition.known()` of the game; None if another one asks


class Done(NamedTuple):
    value: Any  # the result, or the exception if it failed
    failed: bool
    troubles: dict[str, str]  # this and the next two: for `condition.take_over`
    writes: int
    embedder_trouble: str
    log: tuple[LogRecord, ...]  # for the game's log


# --- where they meet ------------------------------------------------------------------------------


def folder() -> Path:
    """Return the folder of address, key and lock, beside the store's: no backup copies it."""
    store = conf.directory()
    return store.with_name(store.name + ".process")


def connect() -> Connection | None:
    """Return a connection to the living memory process of this game; None if there is none."""
    try:
        peer = json.loads((folder() / PEER).read_text())
        return Client(peer["address"], authkey=bytes.fromhex(peer["key"]))
    except (OSError, EOFError, ValueError):
        return None


def fingerprint() -> str:
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
    written = io.BytesIO()
    _Pickler(written, pickle.HIGHEST_PROTOCOL).dump(message)
    return written.getvalue()


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
