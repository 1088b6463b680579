"""The memory of a deleted NPC goes with it, by whatever road it is deleted.

`destroy` and `obj.delete()` come through `MemoryMixin.delete`. Bulk deletion (the admin's,
`QuerySet.delete()`) calls no method of an object: there Django's signals tell of it, `before` while
the Attributes can still be read. What is to be forgotten is noted first, in the same transaction
(`deletion`), and the store forgets it when that is committed.

Memories whose NPC was deleted and which the store has not forgotten yet, noted in the database.

A note is written in the transaction that deletes the NPC, and taken away when the store is done:
killed in between, the next start of the game finds it (`start.forget_the_deleted`). That an NPC is
missing is no reason to forget its memory: the database may be an older one than the store.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from evennia.server.models import ServerConfig
from twisted.python import threadable

from . import offload
from .handler import forget_memories
from .store import owner

_GOING = "_memory_going"  # what `before` leaves on an object for `after`


def note(memory_id: str) -> None:
    """Note that a memory is about to lose its body."""
    note_deletion(memory_id)


def settle(memory_id: str, *, gone: bool) -> None:
    """Forget a noted memory, or drop the note where its NPC was not deleted."""
    if not gone:
        drop_note(memory_id)
    elif _on_reactor_thread():
        _forget(memory_id)
    else:  # a view of the admin, in a transaction of its own
        transaction.on_commit(partial(_hand_over, memory_id))


def before(obj: Any) -> None:
    """An object is about to be deleted from the database. Any thread."""
    if owner.carries_any(obj) and (memory_id := owner.id_of(obj)):
        note_deletion(memory_id)
        obj.__dict__[_GOING] = memory_id


def after(obj: Any) -> None:
    """It is deleted; that may still be taken back. Any thread."""
    if memory_id := obj.__dict__.pop(_GOING, ""):
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


# --- deleted --------------------------------------------------------------------------------------

KEY = "ai_memory_deleted_"


def note_deletion(memory_id: str) -> None:
    """Note that the memory is to be forgotten."""
    ServerConfig.objects.conf(KEY + memory_id, value=True)


def drop_note(memory_id: str) -> None:
    """The memory is forgotten, or its NPC is still there."""
    ServerConfig.objects.conf(KEY + memory_id, delete=True)


def noted_deletions() -> list[str]:
    """The ids of all memories that are to be forgotten."""
    keys = ServerConfig.objects.filter(db_key__startswith=KEY).values_list("db_key", flat=True)
    return sorted(key.removeprefix(KEY) for key in keys)
