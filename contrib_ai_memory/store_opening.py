"""Loads the model and opens the store, once per process, before anybody has to wait for them.

It also marks the store and the game's database as one generation (docs/adr/020).
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from . import conf, hearing_queue, language, offload
from .embedding import embedder
from .handler import open_memories
from .llm.router import without_model
from .log import logger
from .store import condition, generations, memory_store, snapshot
from .store.condition import HELD

_warming = False
_compared = False  # whether the store was opened and compared with the game's database


def warm_up() -> None:
    global _warming
    if _warming:
        return
    _warming = True
    if offload.in_game():
        generations.expect()
        snapshot.watch(_flush_all)
    _open().addErrback(lambda reason: reason.trap(*HELD)).addErrback(  # which is logged already
        lambda reason: logger().error("NPC memories do not work: %s", reason.getErrorMessage())
    )
    for load, here in ((_load_here, True), (_load_for_memory, False)):  # queued answers go first
        more = offload.run(offload.MEMORY, load, priority=offload.NIGHT, timeout=300, here=here)
        more.addErrback(offload.log_failure, "loading what later answers need")


@defer.inlineCallbacks
def _open() -> Generator[Any, Any, None]:
    """Open the store; mark it and the game's database as one generation, if they match."""
    global _compared
    stored = yield offload.run(offload.MEMORY, _open_all, priority=offload.REPLY, timeout=300)
    _compared = True
    if not generations.compare(stored):
        yield generations.mark_anew()


@defer.inlineCallbacks
def _flush_all() -> Generator[Any, Any, None]:
    """Write what all NPCs heard to the game's database."""
    hearing_queue.catch_up_all()
    for memory in open_memories():
        if memory.owner.pk:
            memory.flush()
            if memory.unwritten:
                raise RuntimeError("it takes no writes")
        yield offload.breathe()


@defer.inlineCallbacks
def mark_generation() -> Generator[Any, Any, None]:
    """Mark store and database as a new generation where that is due; first open the store."""
    if not _compared:
        yield _open()
    if condition.held():
        yield offload.run(offload.MEMORY, memory_store.check_writable)
    if generations.due():
        yield generations.mark_anew()


def _open_all() -> dict[str, Any]:
    embedder.shared()
    memory_store.shared()
    return generations.of_store()


def _load_here() -> None:
    if conf.get().LLM is not None:
        import openai.resources.chat  # noqa: F401 - takes 0.4 s: not during the first answer
    language.get().load()
    gc.freeze()


def _load_for_memory() -> None:
    without_model().load(answers=conf.get().LLM is None)
    # a full collection stops the process for 0.2 s with the model loaded: it leaves out what is
    # loaded by now
    gc.freeze()
