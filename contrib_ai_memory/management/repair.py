"""`doctor` and `reindex`: what does not fit is found and mended, what is derived is made anew."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from .. import offload
from ..admin import doctor as memory_doctor
from ..admin import reindex as reindexing
from .console import Bars, find_npc


def doctor(command: BaseCommand, options: dict[str, Any]) -> None:
    """Tell what does not fit together; with --mend, mend it."""
    npcs = [find_npc(options["npc_key"])] if options["npc_key"] else None
    with tqdm(desc="looking", unit="", leave=False) as bar:

        def progress(doing: str) -> None:
            bar.set_description(doing)
            bar.update()

        found = offload.wait(memory_doctor.check(npcs, mend=options["mend"], progress=progress))
    for each in found:
        state = "mended" if each.mended else "found"
        command.stdout.write(f"{state}: {each.where}: {_counted(each)}")
    left = sum(1 for each in found if not each.mended)
    if not found:
        command.stdout.write("Everything fits together.")
    elif left and not options["mend"]:
        found = "1 finding" if left == 1 else f"{left} findings"
        raise CommandError(f"{found}. To mend: evennia ai_memory doctor --mend")
    elif left:
        raise CommandError(f"{left} findings cannot be mended here; each says what to do.")


def _counted(finding: memory_doctor.Finding) -> str:
    sentence = finding.what[:1].isupper()
    return finding.what if sentence else f"{finding.count} {finding.what}"


def reindex(command: BaseCommand, options: dict[str, Any]) -> None:
    """Make the vectors and keys of one NPC or of the whole store anew."""
    npc = find_npc(options["npc_key"]) if options["npc_key"] else None
    command.stdout.write("Loading the embedding model and opening the store ...")
    with Bars() as bars:
        work = reindexing.reindex(npc, bars) if npc else reindexing.reindex_all(bars)
        count = offload.wait(work)
    command.stdout.write(f"{count} memories have new vectors and keys.")
