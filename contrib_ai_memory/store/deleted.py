"""Memories whose NPC was deleted and which the store has not forgotten yet, noted in the database.

A note is written in the transaction that deletes the NPC, and taken away when the store is done:
killed in between, the next start of the game finds it (`start.forget_the_deleted`). That an NPC is
missing is no reason to forget its memory: the database may be an older one than the store.
"""

from __future__ import annotations

from evennia.server.models import ServerConfig

KEY = "ai_memory_deleted_"


def note(memory_id: str) -> None:
    """Note that the memory is to be forgotten."""
    ServerConfig.objects.conf(KEY + memory_id, value=True)


def drop(memory_id: str) -> None:
    """The memory is forgotten, or its NPC is still there."""
    ServerConfig.objects.conf(KEY + memory_id, delete=True)


def noted() -> list[str]:
    """The ids of all memories that are to be forgotten."""
    keys = ServerConfig.objects.filter(db_key__startswith=KEY).values_list("db_key", flat=True)
    return sorted(key.removeprefix(KEY) for key in keys)
