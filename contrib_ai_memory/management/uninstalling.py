"""`uninstall`: everything that the contrib has put into a game, out of it again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.server.models import ServerConfig
from evennia.typeclasses.tags import Tag
from tqdm import tqdm

from .. import conf
from ..assistant import KEY
from ..handler import forget_attributes
from ..log import FILE as LOG
from ..store import facts, game_database, opening
from .people import ask

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
    facts.close_shared()
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
    if conf.get().VECTOR_STORE.provider == "qdrant_edge" or not opening.written_by(
        conf.directory()
    ):
        return
    for obj in tqdm(list(objects_with_memory()), unit=" minds", desc="store"):
        if mind := obj.attributes.get("memory_id"):
            facts.shared().delete_mind(mind)
