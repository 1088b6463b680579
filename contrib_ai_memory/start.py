"""What is done once when the game's server starts.

The database is written anew after an erasure, typeclasses are looked at, deletions finished.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import evennia
from evennia.objects.models import ObjectDB
from evennia.utils.utils import class_from_module
from twisted.internet import defer

from . import conf, deletion, offload
from .handler import forget_memories
from .store import game_database, generations, owner


def at_server_start() -> None:
    """Called when the reactor runs; the Portal, which has the same settings, has nothing to do."""
    if evennia.PORTAL_MODE:
        return
    # the first of these blocks, and does so before any player is served
    for work in (game_database.run_due_vacuum, check_typeclasses, forget_the_deleted):
        defer.maybeDeferred(work).addErrback(offload.log_failure, f"{work.__name__} at the start")


def check_typeclasses() -> None:
    """Load the typeclasses of all objects: what is wrong with one, `MemoryMixin` says then."""
    paths = ObjectDB.objects.order_by().values_list("db_typeclass_path", flat=True).distinct()
    for path in paths:
        loading = defer.execute(class_from_module, path)
        # of a typeclass that is no more Evennia tells itself
        loading.addErrback(lambda reason: reason.trap(ImportError))
        loading.addErrback(offload.log_failure, f"loading {path}")


@defer.inlineCallbacks
def forget_the_deleted() -> Generator[Any, Any, None]:
    """Finish deletions that the last server was killed amid."""
    noted = deletion.noted_deletions()
    if not noted or not conf.get().ENABLED:
        return
    stored = yield offload.run(offload.MEMORY, generations.of_store, priority=offload.NIGHT)
    if generations.settle(stored):
        return  # the store of another time, which is told of where it is opened
    for memory_id in noted:
        if memory_id not in owner.owned():
            yield forget_memories(memory_id)
        deletion.drop_note(memory_id)
