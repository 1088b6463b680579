"""The pause switch: an NPC, or all of them, neither perceives nor learns nor sleeps for a while.

One NPC's is a tag, so that it is seen and searched like any other; that of all is a ServerConfig
entry. Reactor thread only.
"""

from __future__ import annotations

from typing import Any

from evennia.server.models import ServerConfig

TAG = "memory_paused"
CATEGORY = "ai_memory"
KEY = "ai_memory_paused"

_all_paused: bool | None = None  # None: not read yet; each perceived line asks


def paused(npc: Any) -> str:
    """Whether an NPC is paused: "npc" it alone, "all" with all others, "" not at all."""
    if TAG in npc.tags.get(category=CATEGORY, return_list=True):
        return "npc"
    return "all" if all_paused() else ""


def all_paused() -> bool:
    """Whether the memories of all NPCs are paused."""
    global _all_paused
    if _all_paused is None:
        _all_paused = bool(ServerConfig.objects.conf(KEY, default=False))
    return _all_paused


def pause(npc: Any | None, on: bool) -> bool:
    """Pause an NPC (None: all of them), or let it go on. Returns whether that changed anything."""
    global _all_paused
    if npc is None:
        before = all_paused()
        if on:
            ServerConfig.objects.conf(KEY, value=True)
        else:
            ServerConfig.objects.conf(KEY, delete=True)
        _all_paused = on
        return before != on
    before = TAG in npc.tags.get(category=CATEGORY, return_list=True)
    if on:
        npc.tags.add(TAG, category=CATEGORY)
    else:
        npc.tags.remove(TAG, category=CATEGORY)
    return before != on
