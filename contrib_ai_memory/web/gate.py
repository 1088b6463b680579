"""Who may come in: the first question of every page, asked on the reactor thread.

Somebody who may not look at memories at all gets the same answer whether an NPC is there or not;
somebody who may, but not at this one, is told that it is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB

from ..admin import access
from ..npc import MemoryMixin


class Stranger(PermissionError):
    """Neither staff nor a Builder: no page of these is theirs."""


class NoSuchMind(LookupError):
    """There is no NPC of that number with a memory, for this visitor."""


class MayNot(PermissionError):
    """They may look at this memory, but not do that to it. The message is a sentence."""


_REFUSED = {
    "edit": "You may look at the memory of {npc}, not change it: its lock memory_edit says so.",
    "erase": "To erase from the memory of {npc} takes the permission Admin and an open lock.",
}


def visitor(account_id: int | None) -> Any:
    """The account, if it may look at memories.

    Raises:
        Stranger: It may not.
    """
    who = AccountDB.objects.filter(id=account_id).first() if account_id else None
    if not access.may(who, None, "look"):
        raise Stranger("These pages are for the staff of the game.")
    return who


def mind_for(who: Any, npc_id: int, deed: access.Action = "look") -> Any:
    """The NPC of that number, if `who` may do that to its memory.

    Raises:
        NoSuchMind: There is none, or it is not theirs to see.
        MayNot: They may look, and no more.
    """
    npc = ObjectDB.objects.filter(id=npc_id).first()
    if not isinstance(npc, MemoryMixin) or not access.may(who, npc, "look"):
        raise NoSuchMind("There is no NPC of that number that has a memory.")
    if not access.may(who, npc, deed):
        raise MayNot(_REFUSED[deed].format(npc=npc.key))
    return npc


def with_visitor(account_id: int | None, function: Callable[..., Any], *args: Any) -> Any:
    """`function(who, *args)`, for pages that are about no single NPC."""
    return function(visitor(account_id), *args)


def with_mind(
    account_id: int | None,
    npc_id: int,
    deed: access.Action,
    function: Callable[..., Any],
    *args: Any,
) -> Any:
    """`function(npc, who, *args)`, after both were let through."""
    who = visitor(account_id)
    return function(mind_for(who, npc_id, deed), who, *args)
