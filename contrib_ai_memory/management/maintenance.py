"""`backup`, `restore`, `doctor`, `reindex`: upkeep of the whole store and the game's database."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from .. import conf, offload, sqlite_file
from ..admin import backup as backups
from ..admin import doctor as diagnosis
from ..admin import reindex as reindexing
from ..store import memory_store, snapshot
from ..text import plural
from .console import ProgressBars, confirm, find_npc, server_runs, writable


def backup(command: BaseCommand, options: dict[str, Any]) -> None:
    """Write database and store of one moment to a file, even while the game runs."""
    file = writable(options["file"])
    try:
        with ProgressBars() as bars:
            made = backups.create(file, running=server_runs(), progress=bars)
    except (snapshot.NoAnswer, backups.BadBackup) as problem:
        raise CommandError(str(problem)) from None
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error}") from None
    command.stdout.write(
        f"{made.path}: {made.size / 1e6:.1f} MB, generation {made.generation or 0}. It contains "
        "in plain text whatever NPCs were told: keep it safe."
    )
    if not made.database:
        command.stdout.write(
            f"The game's database ({backups.database_kind()}) is NOT in it. Dump it with its own "
            "tools: stop the game, make this backup, dump the database, start the game, so that "
            "both are of one moment. Both carry a generation. They are compared at each start, and "
            "a mismatch is reported in the log and by @memory, status and doctor."
        )
    if not made.store:
        command.stdout.write(
            f"The memories are on a server ({conf.get().VECTOR_STORE.provider}) and are NOT in "
            "it. Make a snapshot there while the game is stopped."
        )


def restore(command: BaseCommand, options: dict[str, Any]) -> None:
    """Replace database and store by those of a backup."""
    file = options["file"]
    try:
        manifest = backups.read_manifest(file)
        made = f"{manifest['made'][:16].replace('T', ' ')} UTC"
        confirm(
            options,
            f"Replace the store and the game's database by the backup of {made}? Everything newer "
            "is lost.",
        )
        memory_store.close_shared(for_good=False)
        sqlite_file.close_all()
        with ProgressBars() as bars:
            backups.restore(file, bars)
    except backups.BadBackup as problem:
        raise CommandError(str(problem)) from None
    except OSError as error:
        raise CommandError(
            f"{file} was not restored: {error}. The previous data is kept; run the command again."
        ) from None
    restored = (
        "Game database and store are as they were"
        if manifest["database"]
        else "The store is as it was"
    )
    command.stdout.write(f"{restored} on {made}. To check them: evennia ai_memory doctor")
    if not manifest["database"]:
        command.stdout.write(
            "The game's database is not in this backup: restore its dump of the same time, "
            f"generation {manifest['generation'] or 0}."
        )


def doctor(command: BaseCommand, options: dict[str, Any]) -> None:
    """Report inconsistencies; with --mend, repair them."""
    npcs = [find_npc(options["npc_key"])] if options["npc_key"] else None
    with tqdm(desc="checking", unit="", leave=False) as bar:

        def progress(task: str) -> None:
            bar.set_description(task)
            bar.update()

        found = offload.wait(diagnosis.check(npcs, mend=options["mend"], progress=progress))
    for each in found:
        # a whole sentence tells its number itself
        what = each.what if each.what[:1].isupper() else f"{each.count} {each.what}"
        command.stdout.write(f"{'mended' if each.mended else 'found'}: {each.where}: {what}")
    left = sum(1 for each in found if not each.mended)
    if not found:
        command.stdout.write("Everything fits together.")
    elif left and not options["mend"]:
        raise CommandError(f"{plural(left, 'finding')}. To mend: evennia ai_memory doctor --mend")
    elif left:
        raise CommandError(
            f"{plural(left, 'finding')} cannot be mended here. See above for what to do."
        )


def reindex(command: BaseCommand, options: dict[str, Any]) -> None:
    """Rebuild the vectors and keys of one NPC or of the whole store."""
    npc = find_npc(options["npc_key"]) if options["npc_key"] else None
    command.stdout.write("Loading the embedding model ...")
    with ProgressBars() as bars:
        work = reindexing.reindex(npc, bars) if npc else reindexing.reindex_all(bars)
        count = offload.wait(work)
    command.stdout.write(f"{plural(count, 'memory', 'memories')} reindexed.")
