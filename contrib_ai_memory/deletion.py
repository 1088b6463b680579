"""The memory of a deleted NPC goes with it, by whatever road it is deleted.

`destroy` and `obj.delete()` come through `MemoryMixin.delete`. Bulk deletion (the admin's,
`QuerySet.delete()`) calls no method of an object: there Django's signals tell of it, `before` while
the Attributes can still be read. What is to be forgotten is noted first, in the same transaction
(`store.deleted`), and the store forgets it when that is committed.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db import transaction
from twisted.python import threadable

from . import offload
from .handler import forget_mind
from .store import deleted, owner

_GOING = "_memory_going"  # what `before` leaves on an object for `after`


def note(memory_id: str) -> None:
    """Note that a memory is about to lose its body."""
    deleted.note(memory_id)


def settle(memory_id: str, *, gone: bool) -> None:
    """Forget a noted memory, or drop the note where its NPC was not deleted."""
    if not gone:
        deleted.drop(memory_id)
    elif _on_reactor_thread():
        _forget(memory_id)
    else:  # a view of the admin, in a transaction of its own
        transaction.on_commit(partial(_hand_over, memory_id))


def before(obj: Any) -> None:
    """An object is about to be deleted from the database. Any thread."""
    if owner.carries_any(obj) and (memory_id := owner.id_of(obj)):
        deleted.note(memory_id)
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
    forgetting = forget_mind(memory_id)
    forgetting.addCallback(lambda _count: deleted.drop(memory_id))
    forgetting.addErrback(
        offload.log_failure, f"forgetting {memory_id} (tried again at the next start)"
    )
