"""`erase`: a person out of the memories of NPCs, and out of the files they lie in.

`uninstall`: everything that the contrib has put into a game, out of it again.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.typeclasses.tags import Tag
from evennia.utils.search import search_object
from tqdm import tqdm

from .. import conf, offload
from ..admin import access, archive, erasure, erasure_plan, inspect
from ..handler import forget_attributes
from ..log import FILE as LOG
from ..script import KEY
from ..store import game_database, memory_store, metadata
from .console import find_npc, open_store


def erase(command: BaseCommand, options: dict[str, Any]) -> None:
    """Erase a person, everywhere or from one NPC."""
    npcs = [find_npc(options["npc"])] if options["npc"] else inspect.minds()
    person = options["person"]
    found = people_called(person, npcs)
    if not found:
        raise CommandError(
            f"Nobody is called {person!r}, and no NPC knows anybody of that name. Somebody who was "
            "deleted is erased by the identity that an export shows, such as #12@68f0c1a2."
        )
    if len(found) > 1:
        which = "\n".join(f"  {identity}  ({name})" for identity, name in sorted(found.items()))
        raise CommandError(f"{person!r} is more than one. Give the identity:\n{which}")
    [(identity, name)] = found.items()
    whose = f"of {npcs[0].key}" if options["npc"] else f"of all {len(npcs)} NPCs"
    ask(options, f"Erase {name} ({identity}) from the memory {whose}? This cannot be undone.")
    command.stdout.write(f"{name} is {identity}.")
    open_store(command)
    for npc in npcs:
        access.record(None, "erase a person", npc, identity)
    try:
        done = _erase(npcs, identity, name, everywhere=not options["npc"])
    except erasure.CannotErase as problem:
        raise CommandError(str(problem)) from None
    keys = {npc.dbref: npc.key for npc in npcs}
    for dbref, erased in done.items():
        command.stdout.write(f"{keys[dbref]} ({dbref}): {erased.told()}")
    if not done:
        command.stdout.write(f"No NPC remembered anything of {name}.")
    for line in what_stays():
        command.stdout.write(line)


def _erase(
    npcs: list[Any], identity: str, name: str, *, everywhere: bool
) -> dict[str, erasure.Erased]:
    names = () if name == identity else (name,)
    if not everywhere:
        erased = offload.wait(erasure.erase_person(npcs[0], identity, names))
        return {npcs[0].dbref: erased} if erased.anything else {}
    with tqdm(total=len(npcs), unit=" NPCs", desc="erasing") as bar:
        return offload.wait(erasure.erase_everywhere(identity, names, lambda npc: bar.update()))


def what_stays() -> Iterable[str]:
    """What an erasure cannot reach, to be told."""
    exports = sorted((conf.directory() / archive.FOLDER).glob("*.jsonl"))
    if exports:
        files = ", ".join(path.name for path in exports)
        yield f"Exports hold what they held: {exports[0].parent}: {files}"
    if game_database.is_freed_noted():
        yield (
            "The game's database could not be written anew, for want of room or since it is in "
            "use: ai_memory.log says why. The next start of the game does it."
        )
    if not game_database.is_sqlite():
        yield "The game's database is not SQLite: its own vacuum frees what was deleted in it."
    provider = conf.get().VECTOR_STORE.provider
    if provider != "qdrant_edge":
        yield f"The store is {provider}: it frees what was deleted in its own time."
    yield "Backups hold what they held."


def people_called(person: str, npcs: Iterable[Any]) -> dict[str, str]:
    """Memory identity → name of everybody who is meant: by dbref, key, identity or known name."""
    objects = [obj for obj in search_object(person, exact=True) if hasattr(obj, "locks")]
    found: dict[str, str] = {}
    for npc in npcs:
        found |= {npc.get_memory_identity(obj): obj.key for obj in objects if obj != npc}
        for known in npc.memory.people:
            if person == known.identity or (
                not person.startswith("#") and known.name.lower() == person.lower()
            ):
                found.setdefault(known.identity, known.name or known.identity)
        for identity in npc.memory.profiles.identities():
            if identity == person:
                found.setdefault(identity, npc.memory.profiles.get(identity).name or identity)
        for plan in erasure_plan.unfinished(npc):
            if person in (plan["identity"], *plan["names"]):
                found.setdefault(plan["identity"], person)
    if not found and ("@" in person or person.startswith("log:")):
        return {person: person}  # somebody who is no more
    return found


def ask(options: dict[str, Any], question: str) -> None:
    """Go on only after a yes, typed or given with --yes.

    Raises:
        CommandError: It was no yes, or there is nobody to type one.
    """
    if options["yes"]:
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Nobody is here to say so: add --yes.")
    if input(f"{question} Type yes to go on: ").strip().lower() != "yes":
        raise CommandError("Nothing was changed.")


# --- uninstalling ---------------------------------------------------------------------------------

CATEGORY = "ai_memory"
LOCKS = ("memory_look", "memory_edit", "memory_erase", "memory_talk")
CONFIG = "ai_memory"  # what keys of ServerConfig begin with
ATTRIBUTES = ("memory_keywords",)  # besides those of a mind


def uninstall(command: BaseCommand, options: dict[str, Any]) -> None:
    """Take out Attributes, scripts, tags, locks, ServerConfig entries, the store and the log."""
    count = objects_with_memory().count()
    ask(
        options,
        f"Take the memories of {count} objects, the store and the exports in {conf.directory()} "
        "and everything else of the AI memory out of this game? This cannot be undone.",
    )
    _from_server_store()
    for obj in tqdm(list(objects_with_memory()), unit=" objects", desc="memories"):
        forget_attributes(obj)
        for key in ATTRIBUTES:
            obj.attributes.remove(key)
    for script in ScriptDB.objects.filter(db_key=KEY):
        script.delete()
    for obj in ObjectDB.objects.filter(db_lock_storage__contains="memory_"):
        for lock in LOCKS:
            obj.locks.remove(lock)
    Tag.objects.filter(db_category=CATEGORY).delete()
    ServerConfig.objects.filter(db_key__startswith=CONFIG).delete()
    memory_store.close_shared()
    shutil.rmtree(conf.directory(), ignore_errors=True)
    for log in Path(settings.LOG_DIR).glob(f"{LOG}*"):
        log.unlink()
    command.stdout.write("Writing the game's database anew ...")
    game_database.vacuum()
    command.stdout.write(
        'Nothing of it is left. Now take "contrib_ai_memory" out of INSTALLED_APPS and '
        "CONTRIB_AI_MEMORY out of the settings, MemoryMixin out of your typeclasses, "
        "AIMemoryCmdSet out of your cmdsets, contrib_ai_memory.web.urls out of web/urls.py and "
        "the link out of the website's menu; then: pip uninstall contrib_ai_memory. What you set "
        "on NPCs yourself (goals, persona) stays."
    )


def objects_with_memory() -> Any:
    """Every object that has or had a mind."""
    return ObjectDB.objects.filter(db_attributes__db_key__in=("memory_id", *ATTRIBUTES)).distinct()


def _from_server_store() -> None:
    """Out of a store that is not in our folder, and may hold the memories of other games."""
    if conf.get().VECTOR_STORE.provider == "qdrant_edge" or not metadata.read(conf.directory()):
        return
    for obj in tqdm(list(objects_with_memory()), unit=" minds", desc="store"):
        if agent_id := obj.attributes.get("memory_id"):
            memory_store.shared().delete_all(agent_id)
