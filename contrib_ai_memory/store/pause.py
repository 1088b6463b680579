"""The pause switch: a paused NPC neither perceives nor learns nor sleeps.

For one NPC it is a tag, which builders can see and search like any other; for all NPCs it is a
ServerConfig entry with the ids of the exceptions. Reactor thread only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evennia.server.models import ServerConfig

TAG = "memory_paused"
CATEGORY = "ai_memory"
KEY = "ai_memory_paused"

_exempt: frozenset[int] = frozenset()  # ids of NPCs that a pause of all does not affect
_all_paused: bool | None = None  # None: not read yet; cached since each perceived line asks


def paused(npc: Any) -> str:
    """Return "npc" if this NPC is paused, "all" if all NPCs are, "" if it is not paused."""
    if _is_tagged(npc):
        return "npc"
    return "all" if all_paused() and npc.id not in _exempt else ""


def all_paused() -> bool:
    global _all_paused, _exempt
    if _all_paused is None:
        stored = ServerConfig.objects.conf(KEY, default=False)
        _exempt = frozenset() if isinstance(stored, bool) else frozenset(stored)
        _all_paused = stored is not False
    return _all_paused


def pause(npc: Any, on: bool) -> bool:
    """Pause or resume an NPC. Returns whether that changed anything."""
    before = _is_tagged(npc)
    if on:
        npc.tags.add(TAG, category=CATEGORY)
    else:
        npc.tags.remove(TAG, category=CATEGORY)
    return before != on


def pause_all(on: bool, untouched: Iterable[Any] = ()) -> bool:
    """Pause or resume all NPCs, including future ones. Returns whether that changed anything.

    Args:
        on: Whether to pause them.
        untouched: NPCs that stay as they are, paused or not.
    """
    global _all_paused, _exempt
    before = (all_paused(), _exempt)
    untouched = list(untouched)
    if on:
        exempt = sorted(npc.id for npc in untouched if not paused(npc))
        ServerConfig.objects.conf(KEY, value=exempt or True)
        _all_paused, _exempt = True, frozenset(exempt)
    else:
        for npc in untouched:
            if paused(npc) == "all":
                pause(npc, True)
        ServerConfig.objects.conf(KEY, delete=True)
        _all_paused, _exempt = False, frozenset()
    return before != (_all_paused, _exempt)


def _is_tagged(npc: Any) -> bool:
    return TAG in npc.tags.get(category=CATEGORY, return_list=True)
