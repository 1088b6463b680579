"""`backup` and `restore`: a whole game's memories, database and store of one moment.

`export` and `import`: a whole memory to a file and back.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from .. import conf, offload
from ..admin import archive
from ..admin import backup as backups
from ..embedding import sqlite_file
from ..store import memory_store, snapshot
from .console import Bars, find_npc, open_store, server_runs
from .removal import ask


def backup(command: BaseCommand, options: dict[str, Any]) -> None:
    """Write a backup, while the game runs or with it down."""
    file = options["file"]
    if file.is_dir():
        raise CommandError(f"{file} is a folder: give the name of a file in it.")
    if not file.absolute().parent.is_dir():
        raise CommandError(f"There is no folder {file.absolute().parent}: make it first.")
    try:
        with Bars() as bars:
            made = backups.make(file, running=server_runs(), progress=bars)
    except (snapshot.NoAnswer, backups.BadBackup) as problem:
        raise CommandError(str(problem)) from None
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error}") from None
    command.stdout.write(
        f"{made.path}: {made.size / 1e6:.1f} MB, generation {made.generation or 0}. Whatever NPCs "
        "were told is in it, readable: keep it as you would keep that."
    )
    if not made.database:
        command.stdout.write(
            f"The game's database ({backups.database_kind()}) is NOT in it: dump it with its own "
            "tools, with the game stopped before this backup and started after the dump, so that "
            "both are of one moment. Both carry their generation: at each start the two are "
            "compared, and where they do not match, the log, @memory, status and doctor say so."
        )
    if not made.store:
        command.stdout.write(
            f"The memories lie on a server ({conf.get().VECTOR_STORE.provider}) and are NOT in it: "
            "make a snapshot there, with the game stopped."
        )


def restore(command: BaseCommand, options: dict[str, Any]) -> None:
    """Put back a backup in the place of what is there."""
    file = options["file"]
    try:
        held = backups.manifest_of(file)
        ask(
            options,
            f"Put back the backup of {held['made'][:16].replace('T', ' ')} UTC, in the place of "
            "the store and the game's database as they are now? What is newer is lost.",
        )
        memory_store.close_shared(for_good=False)
        sqlite_file.close_all()
        with Bars() as bars:
            backups.restore(file, bars)
    except backups.BadBackup as problem:
        raise CommandError(str(problem)) from None
    except OSError as error:
        raise CommandError(
            f"{file} was not put back: {error}. What was there is kept; run the command again."
        ) from None
    what = "Game database and store are" if held["database"] else "The store is"
    command.stdout.write(
        f"{what} as {'they were' if held['database'] else 'it was'} on "
        f"{held['made'][:16].replace('T', ' ')} UTC. Look with: evennia ai_memory doctor"
    )
    if not held["database"]:
        command.stdout.write(
            "The game's database is not in this backup: put back its dump of the same time, "
            f"generation {held['generation'] or 0}."
        )


# --- files ----------------------------------------------------------------------------------------


def export(command: BaseCommand, options: dict[str, Any]) -> None:
    """Write the memory of an NPC to a file."""
    npc, file = find_npc(options["npc_key"]), options["file"]
    if file.is_dir():
        raise CommandError(f"{file} is a folder: give the name of a file in it.")
    if not file.absolute().parent.is_dir():
        raise CommandError(f"There is no folder {file.absolute().parent}: make it first.")
    open_store(command)
    try:
        with Bars() as bars:
            done = offload.wait(archive.export(npc, file, bars))
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}") from None
    command.stdout.write(
        f"The memory of {npc.key} is in {done.path}: {done.entries} journal entries, "
        f"{done.memories} memories. Secrets are in it, readable: keep it as you would keep them."
    )


def import_(command: BaseCommand, options: dict[str, Any]) -> None:
    """Make the memory of a file that of an NPC."""
    npc = find_npc(options["npc"])
    open_store(command)
    try:
        with Bars() as bars:
            work = archive.import_(npc, options["file"], replace=options["replace"], progress=bars)
            done = offload.wait(work)
    except (archive.BadArchive, archive.NotEmpty) as problem:
        raise CommandError(str(problem)) from None
    copied = " It is a mind of its own: another NPC has the one it was." if done.copied else ""
    command.stdout.write(
        f"{npc.key} remembers {done.entries} journal entries and {done.memories} memories.{copied}"
    )
