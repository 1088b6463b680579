"""Who may look into a memory, change it, erase from it: asked by commands, pages and API alike.

The audit line: who looked into or changed whose memory. Names and ids, never what it says.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, Literal

from evennia.utils import logger

from ..text.sanitising import oneline, sanitise

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


# --- audit ----------------------------------------------------------------------------------------

IDS_TOLD = 20
AGAIN_AFTER = 600.0  # seconds in which the same look is not told again
LOOKS_KEPT = 4096

_looks: OrderedDict[tuple[str, str, int], float] = OrderedDict()  # when each was told last


def record(who: Any, deed: str, npc: Any, *ids: Any) -> None:
    """Write one line to the server's security log.

    Args:
        who: An Account, a Character, or None for the server itself.
        deed: A word for what was done: "edit", "forget".
        npc: Whose memory; None is all of them.
        ids: Short ids or memory identities that it was done to.
    """
    told = ", ".join(map(_one_word, ids[:IDS_TOLD]))
    more = f" and {len(ids) - IDS_TOLD} more" if len(ids) > IDS_TOLD else ""
    what = f": {told}{more}" if told else ""
    logger.log_sec(f"AI memory: {_named(who)}: {deed} {_named(npc, 'all NPCs')}{what}")


def looked(who: Any, what: str, npc: Any) -> None:
    """Write one line for a look into a memory; the same again within ten minutes writes none.

    Args:
        who: An Account or a Character.
        what: What was looked at: "@memory/journal", "the page facts".
        npc: Whose memory.
    """
    look, now = (_named(who), what, npc.id), time.monotonic()
    last = _looks.get(look)
    if last is not None and now - last < AGAIN_AFTER:
        return
    _looks[look] = now
    _looks.move_to_end(look)
    if len(_looks) > LOOKS_KEPT:
        _looks.popitem(last=False)
    record(who, f"look with {what} into the memory of", npc)


def _named(obj: Any, nobody: str = "the server") -> str:
    if obj is None:
        return nobody
    return f"{oneline(sanitise(str(obj.key), 80))} (#{obj.id})"


def _one_word(text: Any) -> str:
    return oneline(sanitise(str(text), 80))
