"""Permissions: who may look into, edit or erase a memory.

Asked by commands, pages and API alike. What an NPC may tell a player is another question:
`privacy.may_hear`. What was done is in `audit`.
"""

from __future__ import annotations

from typing import Any, Literal

Action = Literal["look", "edit", "erase"]

_PERMISSION = {"look": "Builder", "edit": "Builder", "erase": "Admin"}


def may(who: Any, npc: Any, action: Action) -> bool:
    """Return whether `who` may look into, edit or erase the memory of `npc`.

    Looking and editing are for superusers, staff accounts and Builders; erasing is for superusers
    and Admins. Where the NPC has locks of its own (`memory_look`, `memory_edit`, `memory_erase`),
    that of the action must open too, and `memory_look` for every action: each shows what it
    changes. `who` is an Account, a Character, or None if nobody is logged in; without an NPC,
    actions on all of them are asked for.
    """
    locks = getattr(who, "locks", None)
    if locks is None:
        return False
    allowed = locks.check_lockstring(who, f"dummy:perm({_PERMISSION[action]})")
    if not allowed and not (action != "erase" and _is_staff(who)):
        return False
    return npc is None or closed_lock(who, npc, action) is None


def closed_lock(who: Any, npc: Any, action: Action) -> str | None:
    """Return the lock of `npc` that keeps `who` from an action; None if none does."""
    locks = dict.fromkeys(("memory_look", f"memory_{action}"))
    return next((lock for lock in locks if not npc.access(who, lock, default=True)), None)


def _is_staff(who: Any) -> bool:
    account = getattr(who, "account", None) or who
    return bool(getattr(account, "is_staff", False)) and not account.attributes.get("_quell")
