"""The pause switch: a paused NPC neither perceives nor learns nor sleeps.

For one NPC it is a tag, which builders can see and search like any other; for all NPCs it is a
ServerConfig entry. Reactor thread only.
"""

from __future__ import annotations

from typing import Any

from evennia.server.models import ServerConfig

TAG = "memory_paused"
CATEGORY = "ai_memory"
KEY = "ai_memory_paused"

_all_paused: bool | None = None  # None: not read yet; cached since each perceived line asks


def paused(npc: Any) -> str:
    """Return "npc" if this NPC is paused, "all" if all NPCs are, else ""."""
    if _is_tagged(npc):
        return "npc"
    return "all" if all_paused() else ""


def all_paused() -> bool:
    global _all_paused
    if _all_paused is None:
        _all_paused = ServerConfig.objects.conf(KEY, default=False) is not False
    return _all_paused


def pause(npc: Any, on: bool) -> bool:
    """Pause or resume an NPC. Returns whether that changed anything."""
    before = _is_tagged(npc)
    if on:
        npc.tags.add(TAG, category=CATEGORY)
    else:
        npc.tags.remove(TAG, category=CATEGORY)
    return before != on


def pause_all(on: bool) -> bool:
    """Pause or resume all NPCs, including future ones. Returns whether that changed anything."""
    global _all_paused
    before = all_paused()
    if on:
        ServerConfig.objects.conf(KEY, value=True)
    else:
        ServerConfig.objects.conf(KEY, delete=True)
    _all_paused = on
    return before != on


def _is_tagged(npc: Any) -> bool:
    return TAG in npc.tags.get(category=CATEGORY, return_list=True)
