"""Access control of pages and API: each request is checked and answered on the reactor thread.

An account without access to memories gets the same answer whether an NPC exists or not. An account
with access gets "no such NPC" for one whose lock keeps it out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB

from ..admin import access, ids
from ..npc import MemoryMixin
from . import bridge


class NotStaff(PermissionError):
    """The account is neither staff nor a Builder."""


class NotPermitted(PermissionError):
    """The account may look at this memory, but not change it or erase from it."""


class UnknownNPC(LookupError):
    """No NPC with a memory has that id, or the account may not see it."""


FORBIDDEN = (NotStaff, NotPermitted)
NOT_FOUND = (UnknownNPC, ids.UnknownMemory, ids.UnknownPerson)

_REFUSALS = {
    "edit": "You may view {npc}'s memory but not change it (lock memory_edit).",
    "erase": "Erasing from {npc}'s memory requires the Admin permission (lock memory_erase).",
}


def ask(account_id: int | None, function: Callable[..., Any], *args: Any) -> Any:
    """Return `function(account, *args)`, called on the reactor thread.

    Raises:
        NotStaff
        bridge.TooSlow
    """
    return bridge.on_reactor(lambda: function(staff_account(account_id), *args))


def ask_npc(
    account_id: int | None,
    npc_id: int,
    access_type: access.Action,
    function: Callable[..., Any],
    *args: Any,
    timeout: float = bridge.TIMEOUT,
) -> Any:
    """Return `function(npc, account, *args)`, called on the reactor thread.

    Raises:
        NotStaff, UnknownNPC, NotPermitted
        bridge.TooSlow
    """

    def checked() -> Any:
        account = staff_account(account_id)
        return function(npc_for(account, npc_id, access_type), account, *args)

    return bridge.on_reactor(checked, timeout=timeout)


def staff_account(account_id: int | None) -> Any:
    """Return the account if it has access to memories.

    Raises:
        NotStaff
    """
    account = AccountDB.objects.filter(id=account_id).first() if account_id else None
    if not access.may(account, None, "look"):
        raise NotStaff("These pages are for the staff of the game.")
    return account


def npc_for(account: Any, npc_id: int, access_type: access.Action = "look") -> Any:
    """Return the NPC with that id if `account` has this access to its memory.

    Raises:
        UnknownNPC: There is none, or the account may not see it.
        NotPermitted: The account may look at it, and no more.
    """
    npc = ObjectDB.objects.filter(id=npc_id).first()
    has_memory = isinstance(npc, MemoryMixin)
    if not has_memory or not access.may(account, npc, "look"):
        raise UnknownNPC("There is no NPC with a memory under that number.")
    if not access.may(account, npc, access_type):
        raise NotPermitted(_REFUSALS[access_type].format(npc=npc.key))
    return npc
