"""The audit line: who looked into or changed whose memory. Names and ids, never what it says."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from evennia.utils import logger

from ..text.clean import oneline, sanitise

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
