"""Short ids that can be typed: a journal entry is its number, all else a few digits of its UUID."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from .. import offload
from ..ingest.index import to_memory
from ..records import Entry, MemoryRecord
from ..store import memory_store
from ..store.links import link_id
from ..store.payload import entry_memory_id

LENGTH = 8  # hex digits shown
LEAST = 4  # hex digits that must be typed
DRAWN = ("experience", "fact", "taught", "summary")  # what is no journal entry itself

LENGTH_OF_ALL = 36

_PREFIX = re.compile(r"[0-9a-f-]{4,36}")


class UnknownMemory(ValueError):
    """There is no memory of that id."""


class Ambiguous(ValueError):
    """The id fits several."""


class UnknownPerson(ValueError):
    """The NPC knows nobody of that name."""


def short(memory: MemoryRecord | Entry) -> str:
    """What a builder types for a memory: `12`, or `3fa2c1d0`."""
    if isinstance(memory, Entry):
        return str(memory.id)
    return short_link(link_id(memory))


def short_link(linked: str) -> str:
    """The same for an id under which `store.links` knows a memory."""
    return linked if linked.isdecimal() else linked[:LENGTH]


@defer.inlineCallbacks
def find(npc: Any, text: str) -> Generator[Any, Any, MemoryRecord]:
    """The memory of a typed id, as a Deferred `MemoryRecord`.

    An entry that the store does not hold (the NPC's own words, comings and goings) is made from
    the journal.

    Raises (in the Deferred):
        UnknownMemory: There is none; the message says how ids look.
        Ambiguous: The message names those that it fits.
    """
    memory, wanted = npc.memory, text.strip().lstrip("#").lower()
    if wanted.isdecimal() and len(wanted) < 10 and (entry := memory.journal.get(int(wanted))):
        record = yield _entry_memory(memory, entry)
        return record
    if not _PREFIX.fullmatch(wanted):
        raise UnknownMemory(_no_such(npc, text))
    found = yield offload.run(offload.MEMORY, of_prefix, memory.id, wanted, priority=offload.LOOK)
    if not found:
        raise UnknownMemory(_no_such(npc, text))
    if len(found) > 1:
        some = ", ".join(record.id[: len(wanted) + 4] for record in found[:8])
        raise Ambiguous(f"'{text}' fits {len(found)} memories: {some}. Type more of the id.")
    [record] = found
    entry_id = int(link_id(record)) if link_id(record).isdecimal() else None
    if entry_id and not memory.journal.get(entry_id):
        raise UnknownMemory(_no_such(npc, text))
    return record


def _no_such(npc: Any, text: str) -> str:
    number = text.strip().lstrip("#")
    if number.isdecimal() and 1 <= int(number) <= npc.memory.journal.last_id:
        return f"{npc.key} has forgotten entry {number}."
    return (
        f"{npc.key} has no memory '{text[:40]}'. An id is the number of a journal entry (12) or at "
        "least four digits of another memory's (3fa2c1d0), as lists and searches show them."
    )


@defer.inlineCallbacks
def _entry_memory(memory: Any, entry: Entry) -> Generator[Any, Any, MemoryRecord]:
    ids = [entry_memory_id(memory.id, entry.id)]
    stored = yield offload.run(offload.MEMORY, memory_store.get, ids, priority=offload.LOOK)
    return stored[0] if stored else to_memory(memory.id, entry)


def of_prefix(agent_id: str, prefix: str) -> list[MemoryRecord]:
    """The memories of a mind whose UUID begins so (worker thread)."""
    store = memory_store.shared()
    if len(prefix) == LENGTH_OF_ALL:
        for memory in store.get([prefix]):
            if is_of(agent_id, memory):
                return [memory]
        return []
    bare = prefix.replace("-", "")
    found = [
        memory
        for record in DRAWN
        for memory in store.list(agent_id, limit=None, record=record)
        if memory.id.replace("-", "").startswith(bare)
    ]
    return sorted(found, key=lambda memory: memory.id)


def is_of(agent_id: str, memory: MemoryRecord) -> bool:
    """Whether a memory of the shared store is one of this mind (worker thread)."""
    linked = link_id(memory)
    if linked.isdecimal():
        return entry_memory_id(agent_id, int(linked)) == memory.id
    return memory_store.shared().owners([memory.id]).get(memory.id) == agent_id


def person(npc: Any, text: str) -> str:
    """The memory identity of somebody the NPC knows, from the name it knows or an identity.

    Raises:
        UnknownPerson: It knows nobody of that name; the message names some whom it knows.
        Ambiguous: It knows several; the message tells their identities.
    """
    wanted = text.strip()
    memory = npc.memory
    if memory.people.get(wanted) or memory.profiles.get(wanted):
        return wanted
    named = {each.identity for each in memory.people if each.name.lower() == wanted.lower()}
    if not named:
        named = {each.identity for each in memory.people if _dbref(each.identity) == wanted}
    if not named:
        named = {
            each.identity
            for each in memory.people
            if wanted and wanted.lower() in each.name.lower()
        }
    if len(named) > 1:
        raise Ambiguous(
            f"{npc.key} knows {len(named)} people of the name '{wanted[:40]}': "
            f"{', '.join(sorted(named)[:8])}. Give one of these."
        )
    if not named:
        names = sorted(memory.people.names())
        some = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
        whom = f"It knows {some}." if names else "It has met nobody yet."
        raise UnknownPerson(f"{npc.key} knows nobody of the name '{wanted[:40]}'. {whom}")
    return named.pop()


def _dbref(identity: str) -> str:
    return identity.split("@")[0]
