"""The type of `npc.memory`, for the rooms below the handler."""

from typing import TYPE_CHECKING, Any

__all__ = ["Memory"]

if TYPE_CHECKING:
    from ..handler import MemoryHandler as Memory
else:
    Memory = Any
