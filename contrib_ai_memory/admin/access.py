"""Permissions and their log: who may look into, edit or erase a memory, and who did.

Asked by commands, pages and API alike. What an NPC may tell a player is another question:
`records.may_hear`. The log holds names and ids, never what a memory says.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, Literal

from evennia.utils import logger

from ..text.sanitising import oneline, sanitise
from . import audit

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


# --- audit ----------------------------------------------------------------------------------------

IDS_LOGGED = 20
AGAIN_AFTER = 600.0  # seconds in which the same look is not logged again
LOOKS_KEPT = 4096

_looks: OrderedDict[tuple[str, str, int], float] = OrderedDict()  # when each was logged last


def record(who: Any, action: str, npc: Any, *ids: Any) -> None:
    """Write one line to the server's security log and, for staff, a record to the audit log.

    Args:
        who: An Account, a Character, or None for the server itself.
        action: A word for what was done: "edit", "forget".
        npc: Whose memory; None is all of them.
        ids: Short ids or memory identities it was done to.
    """
    told = tuple(oneline(sanitise(str(each), 80)) for each in ids[:IDS_LOGGED])
    more = (f"and {len(ids) - IDS_LOGGED} more",) if len(ids) > IDS_LOGGED else ()
    _log(who, action, npc, *told, *more)
    if who is None or may(who, None, "look"):  # players cannot fill it with requests of theirs
        whom = (_name_of(who), who.id) if who else ("the server", 0)
        audit.add(whom, action, (_name_of(npc), npc.id) if npc else ("", 0), (*told, *more))


def _log(who: Any, action: str, npc: Any, *told: str) -> None:
    what = f": {', '.join(told)}" if told else ""
    logger.log_sec(f"AI memory: {_named(who)}: {action} {_named(npc, 'all NPCs')}{what}")


def record_look(who: Any, what: str, npc: Any) -> None:
    """Write one line for a look into a memory, at most one in ten minutes for the same look.

    Args:
        who: An Account or a Character.
        what: What they looked at: "@memory/journal", "the page facts".
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
    _log(who, f"look with {what} into the memory of", npc)


def _named(obj: Any, nobody: str = "the server") -> str:
    if obj is None:
        return nobody
    return f"{_name_of(obj)} (#{obj.id})"


def _name_of(obj: Any) -> str:
    return oneline(sanitise(str(obj.key), 80))
