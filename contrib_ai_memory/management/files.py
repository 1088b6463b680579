"""`export` and `import`: a whole memory to a file and back."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from .. import offload
from ..tending import moving
from .bars import Bars
from .finding import find_npc, open_store


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
            done = offload.wait(moving.export(npc, file, bars))
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
            work = moving.import_(npc, options["file"], replace=options["replace"], progress=bars)
            done = offload.wait(work)
    except (moving.BadArchive, moving.NotEmpty) as problem:
        raise CommandError(str(problem)) from None
    copied = " It is a mind of its own: another NPC has the one it was." if done.copied else ""
    command.stdout.write(
        f"{npc.key} remembers {done.entries} journal entries and {done.memories} memories.{copied}"
    )
