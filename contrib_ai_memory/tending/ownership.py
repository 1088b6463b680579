"""Which memories of the store are this game's.

The store in the game's own folder is this game's alone: what no NPC has there is a leaving. A
collection on a server may hold the memories of other games, which nobody here knows of: nothing in
it is listed, deleted or made anew but by the minds that this game's database names.
"""

from __future__ import annotations

from typing import Any

from .. import conf
from ..store import owner

OWN = "qdrant_edge"  # the provider whose files lie in the game's folder


def store_is_own() -> bool:
    """Whether the store of the settings is this game's alone."""
    return conf.get().VECTOR_STORE.provider == OWN


def known_minds(but: Any = None) -> set[str]:
    """The minds that objects of this game have, whatever their typeclass is now.

    A copy that carries the id of another body's does not have it.

    Args:
        but: An object whose mind does not count.
    """
    return {
        memory_id for memory_id, number in owner.owned().items() if but is None or number != but.id
    }
