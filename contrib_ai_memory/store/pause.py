"""The pause switch: an NPC, or all of them, neither perceives nor learns nor sleeps for a while.

One NPC's is a tag, so that it is seen and searched like any other; that of all is a ServerConfig
entry, with the ids of those that it leaves out. Reactor thread only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evennia.server.models import ServerConfig

TAG = "memory_paused"
CATEGORY = "ai_memory"
KEY = "ai_memory_paused"

_spared: frozenset[int] = frozenset()  # ids of NPCs that the pause of all leaves out
_all_paused: bool | None = None  # None: not read yet; each perceived line asks


def paused(npc: Any) -> str:
    """Whether an NPC is paused: "npc" it alone, "all" with all others, "" not at all."""
    if TAG in npc.tags.get(category=CATEGORY, return_list=True):
        return "npc"
    return "all" if all_paused() and npc.id not in _spared else ""


def all_paused() -> bool:
    """Whether the memories of all NPCs are paused, but for those that were left out."""
    global _all_paused, _spared
    if _all_paused is None:
        stored = ServerConfig.objects.conf(KEY, default=False)
        _spared = frozenset() if isinstance(stored, bool) else frozenset(stored)
        _all_paused = stored is not False
    return _all_paused


def pause(npc: Any, on: bool) -> bool:
    """Pause an NPC, or let it go on. Returns whether that changed anything."""
    before = TAG in npc.tags.get(category=CATEGORY, return_list=True)
    if on:
        npc.tags.add(TAG, category=CATEGORY)
    else:
        npc.tags.remove(TAG, category=CATEGORY)
    return before != on


def pause_all(on: bool, untouched: Iterable[Any] = ()) -> bool:
    """Pause all NPCs, those to come too, or let them go on. Returns whether that changed anything.

    Args:
        untouched: NPCs that stay as they are, paused or not.
    """
    global _all_paused, _spared
    before = (all_paused(), _spared)
    untouched = list(untouched)
    if on:
        spared = sorted(npc.id for npc in untouched if not paused(npc))
        ServerConfig.objects.conf(KEY, value=spared or True)
        _all_paused, _spared = True, frozenset(spared)
    else:
        for npc in untouched:
            if paused(npc) == "all":
                pause(npc, True)
        ServerConfig.objects.conf(KEY, delete=True)
        _all_paused, _spared = False, frozenset()
    return before != (_all_paused, _spared)
