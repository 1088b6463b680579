"""A lasting memory for any character in an Evennia game.

MemoryMixin gives a Character typeclass its memory, AssistantScript is its heartbeat,
MemoryHandler is `npc.memory`, AIMemoryCmdSet holds @memory and @sleep, MemoryLLMNPC replaces the
LLMNPC of Evennia's contribs. They are imported at first access, since Evennia's typeclasses need a
configured Django.
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "MemoryMixin": "npc",
    "AssistantScript": "script",
    "MemoryHandler": "handler",
    "AIMemoryCmdSet": "commands",
    "MemoryLLMNPC": "llmnpc",
}
__all__ = ["AIMemoryCmdSet", "AssistantScript", "MemoryHandler", "MemoryLLMNPC", "MemoryMixin"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
