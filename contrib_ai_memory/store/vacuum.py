"""VACUUM of the game's SQLite file after an erasure: due, run and noted as done.

It blocks, so in a running game it waits for the next start; elsewhere it runs at once. A module
apart from `game_database`, which is imported before Evennia's models are.
"""

from __future__ import annotations

from django.db import DatabaseError, connection
from evennia.server.models import ServerConfig

from ..log import logger
from . import game_database

KEY = "ai_memory_freed"


def note() -> None:
    """Note in the database that a VACUUM is due, if it is SQLite."""
    if game_database.is_sqlite():
        ServerConfig.objects.conf(KEY, value=True)


def is_noted() -> bool:
    """Returns whether a VACUUM is due."""
    return bool(ServerConfig.objects.conf(KEY))


def run_if_noted() -> None:
    """Run a VACUUM that is due, and drop the note. It blocks.

    The note stays for the next start after a failure, which is logged, and within a transaction.
    """
    if connection.in_atomic_block or not is_noted():
        return
    try:
        game_database.vacuum()
    except DatabaseError as problem:
        logger().error(
            "The game's database could not be written anew (%s): shreds of what was erased may be "
            "left in its free space. The next start of the game tries it again. It needs room for "
            "the file once more, and no other program that uses it.",
            problem,
        )
    else:
        ServerConfig.objects.conf(KEY, delete=True)
