"""Whether the store and the game's database belong together: each carries the store's id.

A backup of one of them that is put back without the other would mix what an NPC lived through with
what another time of it knows. Reactor thread; the store's own id is read on the worker thread.
"""

from __future__ import annotations

from evennia.server.models import ServerConfig

from .. import conf
from . import opening

KEY = "ai_memory_store_id"


def id_of_store() -> str:
    """What the store's folder says; "" where there is none yet (worker thread)."""
    return opening.written_by(conf.directory()).get("store_id", "")


def id_of_database() -> str:
    """Which store the game's database belongs to; "" before the first."""
    return ServerConfig.objects.conf(KEY, default="") or ""


def settle(store_id: str) -> str:
    """Make a new pair, or say in a sentence what is wrong with this one. "" is: nothing.

    Args:
        store_id: From `id_of_store`.
    """
    known = id_of_database()
    if store_id and not known:
        adopt(store_id)
    elif store_id and store_id != known:
        return (
            f"The memory store in {conf.directory()} is another one ({store_id[:8]}) than the "
            f"game's database was written with ({known[:8]}): a backup of one was put back without "
            "the other, or the folder was changed. Put back what belongs together; or stop the "
            "game and accept this pair with: evennia ai_memory doctor --mend"
        )
    return ""


def adopt(store_id: str) -> None:
    """From now on the database belongs to this store."""
    ServerConfig.objects.conf(KEY, value=store_id)


def forget() -> None:
    """From now on the database belongs to none."""
    ServerConfig.objects.conf(KEY, delete=True)
