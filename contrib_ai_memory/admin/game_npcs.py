"""The NPCs of the game that have a memory, and which object each memory in the store belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from evennia.objects.models import ObjectDB
from evennia.utils.utils import class_from_module

from ..errors import InputError
from ..npc import MemoryMixin
from ..store import owner


def npcs() -> list[Any]:
    """Return all NPCs with a memory, by name."""
    paths = ObjectDB.objects.values_list("db_typeclass_path", flat=True).distinct()
    remembering = [path for path in paths if _remembers(path)]
    found = ObjectDB.objects.filter(db_typeclass_path__in=remembering)
    return sorted(found, key=lambda npc: (npc.key.lower(), npc.id))


def chosen(name: str, found: Iterable[Any]) -> Any:
    """Return the NPC among the objects that were found for a name or #dbref.

    Raises:
        InputError: There is none, or several.
    """
    objects = list(found)
    remembering: list[Any] = [each for each in objects if isinstance(each, MemoryMixin)]
    if not objects:
        raise InputError(
            f"No object is called '{name[:60]}'. Give the name or #dbref of an NPC; @memory lists "
            "those that have a memory."
        )
    if not remembering:
        raise InputError(
            f"{objects[0].key} has no memory. Give it a typeclass with MemoryMixin (@typeclass); "
            "see the README."
        )
    if len(remembering) > 1:
        which = ", ".join(f"{npc.key} ({npc.dbref})" for npc in remembering)
        raise InputError(f"Several NPCs match '{name[:60]}': {which}. Use the #dbref.")
    return remembering[0]


def npcs_that_heard(utterances: Iterable[str]) -> Iterator[Any]:
    """Yield the NPCs that ever heard one of the speakers of these (`Entry.utterance`)."""
    speakers = {each.partition(":")[0] for each in utterances}
    for npc in npcs():
        remembers = npc.pk and npc.attributes.has("memory_id")
        if remembers and any(map(npc.memory.journal.heard_from, speakers)):
            yield npc


def npc_of(number: int) -> Any | None:
    """Return the object of that number if it has a memory."""
    npc = ObjectDB.objects.filter(id=number).first() if number else None
    return npc if isinstance(npc, MemoryMixin) else None


def owners_of(agent_id: str) -> list[Any]:
    """Return the object of this game with that memory id, whatever its typeclass; at most one."""
    number = owner.owned().get(agent_id)
    return list(ObjectDB.objects.filter(id=number)) if number else []


def known_agent_ids(but: Any = None) -> set[str]:
    """Return the memory ids of this game's objects `but` one, whatever their typeclass is now. A
    copy that carries the id of another object does not count."""
    return {
        agent_id for agent_id, number in owner.owned().items() if but is None or number != but.id
    }


def _remembers(path: str) -> bool:
    try:
        return issubclass(class_from_module(path), MemoryMixin)
    except ImportError:  # a typeclass that is gone; Evennia logs it
        return False
