"""A lasting memory for any character in an Evennia game.

MemoryMixin gives a Character typeclass its memory, AssistantScript is its heartbeat,
MemoryHandler is `npc.memory`, AIMemoryCmdSet holds @memory and @sleep, MemoryLLMNPC stands in for
the LLMNPC of Evennia's contribs. They are imported when they are first asked for, since Evennia's
typeclasses need a configured Django.
"""

from importlib import import_module

_PUBLIC = {
    "MemoryMixin": "npc",
    "AssistantScript": "script",
    "MemoryHandler": "handler",
    "AIMemoryCmdSet": "commands",
    "MemoryLLMNPC": "llmnpc",
}
__all__ = ["AIMemoryCmdSet", "AssistantScript", "MemoryHandler", "MemoryLLMNPC", "MemoryMixin"]


def __getattr__(name: str):
    if name in _PUBLIC:
        return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
