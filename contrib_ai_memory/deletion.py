"""Deletion of an NPC: the store forgets its memory, however the object was deleted.

`destroy` and `obj.delete()` go through `MemoryMixin.delete`. Bulk deletion (the admin's,
`QuerySet.delete()`) calls no method of an object; there Django's signals call `before`, while the
Attributes can still be read, and `after`.

The deletion is noted in the database in the same transaction, with a VACUUM that is due then. The
store forgets the memory once that is committed; if the server is killed in between, its next start
finds the note (`start.forget_the_deleted`). A missing NPC alone is no reason to forget its memory:
the database may be older than the store.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from evennia.server.models import ServerConfig
from twisted.python import threadable

from . import offload
from .handler import forget_memories
from .store import game_database, owner

KEY = "ai_memory_deleted_"  # + memory id: a ServerConfig entry
_MEMORY_ID = "_deleted_memory_id"  # set on an object by `before` for `after`


def note(memory_id: str) -> None:
    """Note that the NPC of a memory is about to be deleted, and that a VACUUM is due then."""
    ServerConfig.objects.conf(KEY + memory_id, value=True)
    game_database.note_vacuum()


def drop_note(memory_id: str) -> None:
    """Drop the note: the memory is forgotten, or its NPC still exists."""
    ServerConfig.objects.conf(KEY + memory_id, delete=True)


def noted_deletions() -> list[str]:
    """Return the ids of all memories the store has yet to forget."""
    keys = ServerConfig.objects.filter(db_key__startswith=KEY).values_list("db_key", flat=True)
    return sorted(key.removeprefix(KEY) for key in keys)


def finish(memory_id: str, *, gone: bool) -> None:
    """Forget a noted memory, or drop the note if its NPC was not deleted."""
    if not gone:
        drop_note(memory_id)
    elif _on_reactor_thread():
        _forget(memory_id)
    else:  # a view of the admin, in a transaction of its own
        transaction.on_commit(partial(_hand_over, memory_id))


def before(obj: Any) -> None:
    """Note the memory of an object that is about to be deleted from the database. Any thread."""
    if owner.has_id(obj) and (memory_id := owner.id_of(obj)):
        note(memory_id)
        obj.__dict__[_MEMORY_ID] = memory_id


def after(obj: Any) -> None:
    """Forget the memory of a deleted object once the deletion is committed. Any thread."""
    if memory_id := obj.__dict__.pop(_MEMORY_ID, ""):
        transaction.on_commit(partial(_hand_over, memory_id))


def _on_reactor_thread() -> bool:
    from twisted.internet import reactor

    return not reactor.running or threadable.isInIOThread()


def _hand_over(memory_id: str) -> None:
    from twisted.internet import reactor

    if _on_reactor_thread():
        _forget(memory_id)
    else:
        reactor.callFromThread(_forget, memory_id)


def _forget(memory_id: str) -> None:
    forgetting = forget_memories(memory_id)
    forgetting.addCallback(lambda _count: drop_note(memory_id))
    forgetting.addErrback(
        offload.log_failure, f"forgetting {memory_id} (tried again at the next start)"
    )
