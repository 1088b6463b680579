"""Whether the store and the game's database are of one moment: both carry the store's id, and the
mark of one generation.

A backup of one of them that is put back without the other would mix what an NPC lived through with
what another time of it knows: new lines would take the numbers of lines that memories rest on. So
both halves are marked anew at each start, after each backup, and every `GENERATION_SECONDS` in
which the store was written. The store is marked first, as not settled yet; then the database; then
the store is settled. Killed in between, the store is one ahead and names the mark that the database
still has: that is no mismatch. Anything else is. While the two do not match neither is marked, and
the store takes no writes, so that every start tells of it until somebody has decided.

Reactor thread, but for what is said to be of the worker's.
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
from .errors import StoreUnpaired
from .metadata import Mark

KEY = "ai_memory_store_id"
GENERATION = "ai_memory_generation"

_marked_at: float | None = None  # monotonic; None: mark at the next beat
_marked_writes = 0
_marking = False


def of_store() -> dict[str, Any]:
    """What the store's folder says of itself (`metadata.read`). Worker thread."""
    return metadata.read(conf.directory())


def id_of_database() -> str:
    """Which store the game's database belongs to; "" before the first."""
    return ServerConfig.objects.conf(KEY, default="") or ""


def mark_of_database() -> Mark | None:
    """The generation of the game's database; None before the first."""
    found = ServerConfig.objects.conf(GENERATION, default=None)
    return list(found) if found else None


def settle(stored: dict[str, Any]) -> str:
    """Make a new pair, or say in a few sentences what is wrong with this one; "" if they match.

    Args:
        stored: From `of_store`.
    """
    store_id, known = stored.get("store_id", ""), id_of_database()
    if not store_id:
        return ""
    if not known:
        _write_database(store_id, metadata.mark_of(stored))
        return ""
    return metadata.mismatch(stored, known, mark_of_database())


def expect() -> None:
    """Tell the store what it is compared with when it is opened, before anything is written."""
    memory_store.expected = id_of_database(), mark_of_database()


def compare(stored: dict[str, Any]) -> str:
    """`settle`, and hold the store or let it go. What does not match is told to the log, once."""
    if problem := settle(stored):
        condition.begin(condition.PAIR, problem)
    else:
        condition.end(condition.PAIR, "The memory store and the game's database match again.")
    return problem


# --- marking anew ---------------------------------------------------------------------------------


def due() -> bool:
    """Whether the store was written since it was marked last, and that is long enough ago."""
    if _marking or condition.held() or condition.writes() == _marked_writes:
        return False
    return _marked_at is None or time.monotonic() - _marked_at >= conf.GENERATION_SECONDS


def mark_soon() -> None:
    """Have the next write begin a new generation, as after a backup. Any thread."""
    global _marked_at
    _marked_at = None


@defer.inlineCallbacks
def mark_anew() -> Generator[Any, Any, None]:
    """Begin a new generation in both halves, as a Deferred.

    Raises (in the Deferred):
        StoreUnpaired: They do not match.
    """
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
    """Mark the store, not settled yet (worker thread)."""
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
    """The database has it too (worker thread)."""
    folder = conf.directory()
    stored = metadata.read(folder)
    if metadata.mark_of(stored) == mark:
        total = memory_store.total()
        metadata.note(
            folder, unsettled=None, memories=stored.get("memories") if total is None else total
        )


def adopt(stored: dict[str, Any]) -> None:
    """From now on the database belongs to this store, as both are."""
    _write_database(stored["store_id"], metadata.mark_of(stored))
    condition.end(condition.PAIR, "The memory store and the game's database are taken as a pair.")


def _write_database(store_id: str, mark: Mark | None) -> None:
    ServerConfig.objects.conf(KEY, value=store_id)
    if mark is None:
        ServerConfig.objects.conf(GENERATION, delete=True)
    else:
        ServerConfig.objects.conf(GENERATION, value=mark)


def forget() -> None:
    """From now on the database belongs to none."""
    for key in (KEY, GENERATION):
        ServerConfig.objects.conf(key, delete=True)
