"""Generations: marks by which the store and the game's database are known to belong together.

Both carry the store's id and the mark of one generation (docs/adr/020). They are marked anew at
each start, after each backup, and every `GENERATION_SECONDS` in which the store was written: first
the store, as unsettled; then the database; then the store is settled. If the process is killed in
between, the store is one generation ahead, and still records the database's mark. On any other
difference neither is marked, and the store takes no writes until a person decides.

Reactor thread, unless a function says otherwise.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator
from typing import Any

from evennia.server.models import ServerConfig
from twisted.internet import defer

from .. import conf, offload
from . import condition, memory_store, metadata
from .condition import StoreUnpaired
from .metadata import Mark

KEY = "ai_memory_store_id"
GENERATION = "ai_memory_generation"

_marked_at: float | None = None  # monotonic; None: mark at the next beat
_marked_writes = 0
_marking = False


def of_store() -> dict[str, Any]:
    """Return the metadata of the store (worker thread)."""
    return metadata.read(conf.directory())


def id_of_database() -> str:
    """Return the id of the store that the game's database belongs to; "" before the first."""
    return ServerConfig.objects.conf(KEY, default="") or ""


def mark_of_database() -> Mark | None:
    found = ServerConfig.objects.conf(GENERATION, default=None)
    return list(found) if found else None


def pair(stored: dict[str, Any]) -> str:
    """Return an error text, or "" if it matches the database; a new one takes the store's id."""
    store_id, known = stored.get("store_id", ""), id_of_database()
    if not store_id:
        return ""
    if not known:
        _write_database(store_id, metadata.mark_of(stored))
        return ""
    return metadata.mismatch(stored, known, mark_of_database())


def expect() -> None:
    """Set what the store is compared with when it is opened, before anything is written."""
    memory_store.expected = id_of_database(), mark_of_database()


def compare(stored: dict[str, Any]) -> str:
    """`pair`, and stop or allow writes into the store. A mismatch is logged once."""
    if problem := pair(stored):
        condition.begin(condition.PAIR, problem)
    else:
        condition.end(condition.PAIR, "The memory store and the game's database match again.")
    return problem


# --- marking anew ---------------------------------------------------------------------------------


def due() -> bool:
    """Return whether the store was written since the last mark, and that is long enough ago."""
    if _marking or condition.held() or condition.writes() == _marked_writes:
        return False
    return _marked_at is None or time.monotonic() - _marked_at >= conf.GENERATION_SECONDS


def mark_soon() -> None:
    """Begin a new generation with the next write, as after a backup. Any thread."""
    global _marked_at
    _marked_at = None


@defer.inlineCallbacks
def mark_anew() -> Generator[Any, Any, None]:
    """Begin a new generation in store and database; StoreUnpaired if they do not match."""
    global _marked_at, _marked_writes, _marking
    if _marking:
        return
    _marking = True
    try:
        _marked_at, _marked_writes = time.monotonic(), condition.writes()
        before = mark_of_database()
        stored = yield offload.run(offload.MEMORY, _announce, before)
        if stored:
            _write_database(stored["store_id"], metadata.mark_of(stored))
            yield offload.run(offload.MEMORY, _confirm, metadata.mark_of(stored))
    finally:
        _marking = False


def _announce(before: Mark | None) -> dict[str, Any]:
    """Mark the store as unsettled (worker thread)."""
    folder = conf.directory()
    stored = metadata.read(folder)
    if not stored:
        return {}
    if problem := metadata.mismatch(stored, stored["store_id"], before):
        condition.begin(condition.PAIR, problem)
        raise StoreUnpaired(problem)
    generation = max((before or [0])[0], stored.get("generation", 0)) + 1
    metadata.note(
        folder, generation=generation, mark=secrets.token_hex(4), unsettled=list(before or [])
    )
    return metadata.read(folder)


def _confirm(mark: Mark) -> None:
    """Settle the store, as the database has the mark too (worker thread)."""
    folder = conf.directory()
    stored = metadata.read(folder)
    if metadata.mark_of(stored) == mark:
        total = memory_store.total()
        metadata.note(
            folder, unsettled=None, memories=stored.get("memories") if total is None else total
        )


def adopt(stored: dict[str, Any]) -> None:
    """Accept store and database as they are: from now on they belong together."""
    _write_database(stored["store_id"], metadata.mark_of(stored))
    condition.end(condition.PAIR, "The store and the game's database were accepted as a pair.")


def _write_database(store_id: str, mark: Mark | None) -> None:
    if memory_store.expected is not None:  # a memory process that starts anew compares with this
        memory_store.expected = store_id, mark
    ServerConfig.objects.conf(KEY, value=store_id)
    if mark is None:
        ServerConfig.objects.conf(GENERATION, delete=True)
    else:
        ServerConfig.objects.conf(GENERATION, value=mark)
