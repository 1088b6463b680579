"""`erase` a person from the memories of NPCs, and `uninstall` the contrib from a game."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.typeclasses.tags import Tag
from evennia.utils.search import search_object
from tqdm import tqdm

from .. import conf, offload
from ..admin import access, archive, inspect
from ..admin.erase import CannotErase, erase_everywhere, erase_person, unfinished
from ..log import FILE as LOG
from ..npc import CATEGORY
from ..script import KEY
from ..store import attributes, game_database, memory_store, metadata
from .console import confirm, find_npc, open_store


def erase(command: BaseCommand, options: dict[str, Any]) -> None:
    """Erase a person from one NPC's memory, or from all."""
    only = find_npc(options["npc"]) if options["npc"] else None
    npcs = [only] if only else inspect.npcs()
    identity, name = _person(options["person"], npcs)
    whose = f"of {only.key}" if only else f"of all {len(npcs)} NPCs"
    confirm(options, f"Erase {name} ({identity}) from the memory {whose}? This cannot be undone.")
    command.stdout.write(f"{name} is {identity}.")
    open_store(command)
    for npc in npcs:
        access.record(None, "erase a person", npc, identity)
    names = () if name == identity else (name,)
    try:
        if only:
            erased = offload.wait(erase_person(only, identity, names))
            done = {only.dbref: erased} if erased.anything else {}
        else:
            with tqdm(total=len(npcs), unit=" NPCs", desc="erasing") as bar:
                work = erase_everywhere(identity, names, lambda _npc: bar.update())
                done = offload.wait(work)
    except CannotErase as problem:
        raise CommandError(str(problem)) from None
    keys = {npc.dbref: npc.key for npc in npcs}
    for dbref, erased in done.items():
        command.stdout.write(f"{keys[dbref]} ({dbref}): {erased.summary()}")
    if not done:
        command.stdout.write(f"No NPC remembered anything of {name}.")
    for line in _out_of_reach():
        command.stdout.write(line)


def _person(text: str, npcs: list[Any]) -> tuple[str, str]:
    """The memory identity and the name of the one person who is meant.

    Raises:
        CommandError: There is nobody, or there are several.
    """
    found = _people_called(text, npcs)
    if not found:
        raise CommandError(
            f"Nobody is called {text!r}, and no NPC knows anybody of that name. To erase somebody "
            "whose character was deleted, give the identity that an export shows, such as "
            "#12@68f0c1a2."
        )
    if len(found) > 1:
        which = "\n".join(f"  {identity}  ({name})" for identity, name in sorted(found.items()))
        raise CommandError(f"Several people match {text!r}. Give the identity:\n{which}")
    return next(iter(found.items()))


def _people_called(person: str, npcs: Iterable[Any]) -> dict[str, str]:
    """Names by memory identity of everybody who matches: by dbref, key, identity or known name."""
    objects = [obj for obj in search_object(person, exact=True) if hasattr(obj, "locks")]
    found: dict[str, str] = {}
    for npc in npcs:
        found |= {npc.get_memory_identity(obj): obj.key for obj in objects if obj != npc}
        for known in npc.memory.people:
            if person == known.identity or (
                not person.startswith("#") and known.name.lower() == person.lower()
            ):
                found.setdefault(known.identity, known.name or known.identity)
        if profile := npc.memory.profiles.get(person):
            found.setdefault(person, profile.name or person)
        for plan in unfinished(npc):
            if person in (plan["identity"], *plan["names"]):
                found.setdefault(plan["identity"], person)
    if not found and ("@" in person or person.startswith("log:")):
        return {person: person}  # of a character that was deleted
    return found


def _out_of_reach() -> Iterable[str]:
    """Where copies of erased text may remain, as sentences."""
    exports = sorted((conf.directory() / archive.FOLDER).glob("*.jsonl"))
    if exports:
        files = ", ".join(path.name for path in exports)
        yield f"Exports are not changed: {exports[0].parent}: {files}"
    if game_database.is_vacuum_due():
        yield (
            "The game's database could not be vacuumed, because it is in use or there is no room "
            "on the disk; see ai_memory.log. The next start of the game does it."
        )
    if not game_database.is_sqlite():
        yield "The game's database is not SQLite: vacuum it to free what was deleted."
    provider = conf.get().VECTOR_STORE.provider
    if provider != "qdrant_edge":
        yield f"The store is {provider}, which frees deleted data in its own time."
    yield "Backups are not changed."


# --- uninstalling ---------------------------------------------------------------------------------

LOCKS = ("memory_look", "memory_edit", "memory_erase", "memory_talk")
CONFIG = "ai_memory"  # prefix of our keys in ServerConfig
KEYWORDS = "memory_keywords"  # a builder's Attribute, which a wiped memory keeps


def uninstall(command: BaseCommand, options: dict[str, Any]) -> None:
    """Remove Attributes, scripts, tags, locks, ServerConfig entries, the store and the log."""
    confirm(
        options,
        f"Remove the memories of {_remembering().count()} objects, the store and the exports in "
        f"{conf.directory()}, and everything else of the AI memory from this game? This cannot be "
        "undone.",
    )
    _clear_server_store()
    for obj in tqdm(list(_remembering()), unit=" objects", desc="memories"):
        attributes.delete_all(obj)
        obj.attributes.remove(KEYWORDS)
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
    command.stdout.write("Vacuuming the game's database ...")
    try:
        game_database.vacuum()
    except DatabaseError as problem:
        command.stdout.write(
            f"That failed ({problem}). Traces of deleted rows may be left in the database's file "
            "until you vacuum it."
        )
    command.stdout.write(
        "All data is removed. Now remove from your game: contrib_ai_memory from INSTALLED_APPS and "
        "CONTRIB_AI_MEMORY from the settings, MemoryMixin from your typeclasses, AIMemoryCmdSet "
        "from your cmdsets, contrib_ai_memory.web.urls from web/urls.py, and the link from the "
        "website's menu. Then: pip uninstall contrib_ai_memory. Attributes that you set on NPCs "
        "yourself (goals, persona) stay."
    )


def _remembering() -> Any:
    """Every object that has or had a memory."""
    return ObjectDB.objects.filter(db_attributes__db_key__in=("memory_id", KEYWORDS)).distinct()


def _clear_server_store() -> None:
    """Delete our memories from a store outside our folder, which other games may share."""
    if conf.get().VECTOR_STORE.provider == "qdrant_edge":
        return
    if not metadata.read(conf.directory()):
        return
    for obj in tqdm(list(_remembering()), unit=" NPCs", desc="store"):
        if agent_id := obj.attributes.get("memory_id"):
            memory_store.shared().delete_all(agent_id)
