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
    and Admins. Where the NPC has a lock of its own (`memory_look`, `memory_edit`, `memory_erase`),
    that must open too.

    Args:
        who: An Account, a Character, or None if nobody is logged in.
        npc: Whose memory; None asks for actions on all NPCs.
    """
    locks = getattr(who, "locks", None)
    if locks is None:
        return False
    allowed = locks.check_lockstring(who, f"dummy:perm({_PERMISSION[action]})")
    if not allowed and not (action != "erase" and _is_staff(who)):
        return False
    return npc is None or bool(npc.access(who, f"memory_{action}", default=True))


def _is_staff(who: Any) -> bool:
    account = getattr(who, "account", None) or who
    return bool(getattr(account, "is_staff", False)) and not account.attributes.get("_quell")
