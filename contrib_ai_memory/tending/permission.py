"""Who may look into a memory, change it, erase from it: asked by commands, pages and API alike."""

from __future__ import annotations

from typing import Any, Literal

Deed = Literal["look", "edit", "erase"]

_PERMISSION = {"look": "Builder", "edit": "Builder", "erase": "Admin"}


def may(who: Any, npc: Any, deed: Deed) -> bool:
    """Whether `who` may do that to the memory of `npc`.

    Looking and editing are for superusers, staff accounts and Builders; erasing is for superusers
    and Admins. Where the NPC has a lock of its own (`memory_look`, `memory_edit`, `memory_erase`),
    that must open too.

    Args:
        who: An Account, a Character, or None for somebody who is not logged in.
        npc: Whose memory; None asks for deeds that concern every NPC.
    """
    locks = getattr(who, "locks", None)
    if locks is None:
        return False
    allowed = locks.check_lockstring(who, f"dummy:perm({_PERMISSION[deed]})")
    if not allowed and not (deed != "erase" and _is_staff(who)):
        return False
    return npc is None or bool(npc.access(who, f"memory_{deed}", default=True))


def _is_staff(who: Any) -> bool:
    account = getattr(who, "account", None) or who
    return bool(getattr(account, "is_staff", False)) and not account.attributes.get("_quell")
