"""Find a memory or a person by what was typed: a short id, a name.

The short id of a journal entry is its number, that of any other memory the start of its UUID.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import Any

from twisted.internet import defer

from ..errors import InputError
from ..ingest.index import to_memory
from ..privacy import unmasked
from ..records import Entry, MemoryRecord
from ..store import memory_store
from ..store.links import link_id
from ..store.npc_memory import Memory
from ..store.payload import entry_memory_id
from .jobs import look_job

LENGTH = 8  # hex digits shown
UUID_LENGTH = 36
DRAWN = ("experience", "fact", "taught", "summary")  # records that are no journal entries

_PREFIX = re.compile(r"[0-9a-f-]{4,36}")


class UnknownMemory(InputError):
    """There is no memory with that id."""


class Ambiguous(InputError):
    """The id or name fits several memories or people."""


class UnknownPerson(InputError):
    """The NPC knows nobody by that name."""


def short(memory: MemoryRecord | Entry) -> str:
    """Return the short id of a memory: `12`, or `3fa2c1d0`."""
    if isinstance(memory, Entry):
        return str(memory.id)
    return short_link(link_id(memory))


def short_link(linked: str) -> str:
    """Return the short id for a link id (`store.links`)."""
    return linked if linked.isdecimal() else linked[:LENGTH]


def entry_ids(memories: Iterable[MemoryRecord]) -> list[int]:
    """Return the journal ids of those of the memories that are journal entries."""
    return [int(linked) for linked in map(link_id, memories) if linked.isdecimal()]


def entry_of(memory: Memory, linked: str) -> Entry | None:
    """Return the journal entry with a link id, if it is one."""
    return memory.journal.get(int(linked)) if linked.isdecimal() else None


@defer.inlineCallbacks
def find(npc: Any, text: str) -> Generator[Any, Any, MemoryRecord]:
    """Find a memory by a typed id, as a Deferred `MemoryRecord`.

    An entry that the store does not hold (the NPC's own words, arrivals and departures) is made
    from the journal.

    Raises (in the Deferred):
        UnknownMemory, Ambiguous
    """
    memory, wanted = npc.memory, text.strip().lstrip("#").lower()
    if wanted.isdecimal() and len(wanted) < 10 and (entry := memory.journal.get(int(wanted))):
        stored = yield look_job(memory_store.get, [entry_memory_id(memory.id, entry.id)])
        return stored[0] if stored else to_memory(memory.id, entry)
    found = (yield look_job(_of_prefix, memory.id, wanted)) if _PREFIX.fullmatch(wanted) else []
    if len(found) > 1:
        some = ", ".join(record.id[: len(wanted) + 4] for record in found[:8])
        raise Ambiguous(f"'{text}' fits {len(found)} memories: {some}. Type more of the id.")
    if not found or (entry_ids(found) and entry_of(memory, link_id(found[0])) is None):
        raise UnknownMemory(_no_such(npc, text))
    return found[0]


def _no_such(npc: Any, text: str) -> str:
    number = text.strip().lstrip("#")
    if number.isdecimal() and 1 <= int(number) <= npc.memory.journal.last_id:
        return f"{npc.key} has forgotten entry {number}."
    return (
        f"{npc.key} has no memory '{text[:40]}'. An id is the number of a journal entry (12) or at "
        "least four digits of another memory's (3fa2c1d0), as lists and searches show them."
    )


def _of_prefix(agent_id: str, prefix: str) -> list[MemoryRecord]:
    """Find the memories of an NPC whose UUID starts so (worker thread)."""
    store = memory_store.shared()
    if len(prefix) == UUID_LENGTH:
        return store.get([prefix]) if store.owners([prefix]).get(prefix) == agent_id else []
    bare = prefix.replace("-", "")
    found = [
        memory
        for record in DRAWN
        for memory in store.list(agent_id, limit=None, record=record)
        if memory.id.replace("-", "").startswith(bare)
    ]
    return sorted(found, key=lambda memory: memory.id)


def knows(npc: Any, identity: str) -> bool:
    """Return whether an NPC knows the person of a memory identity."""
    memory = npc.memory
    return bool(memory.people.get(identity) or memory.profiles.get(identity))


def name_of(npc: Any, identity: str) -> str:
    """Return the name by which an NPC knows somebody; their identity if it knows none."""
    profile = npc.memory.profiles.get(identity)
    return npc.memory.people.name_of(identity) or (profile.name if profile else "") or identity


def guises_of(memory: Memory, identity: str) -> list[str]:
    """Return the identities under which an NPC knows a person: of each mask, their own last."""
    known = {*(each.identity for each in memory.people), *memory.profiles.identities()}
    return sorted((each for each in known if unmasked(each) == identity), key=len, reverse=True)


def person(npc: Any, text: str) -> str:
    """Find the memory identity of somebody the NPC knows, by name, #dbref or identity.

    Whoever it knows only behind masks is found by #dbref and identity as one of those.

    Raises:
        UnknownPerson, Ambiguous
    """
    memory, wanted = npc.memory, text.strip()
    if knows(npc, wanted):
        return wanted
    name, known = wanted.lower(), list(memory.people)
    bodies = {unmasked(each.identity) for each in known}
    named = (
        {each.identity for each in known if each.name.lower() == name}
        or {
            guises_of(memory, body)[-1]
            for body in bodies
            if wanted in (body, body.partition("@")[0])
        }
        or {each.identity for each in known if name and name in each.name.lower()}
    )
    if len(named) > 1:
        raise Ambiguous(
            f"{npc.key} knows {len(named)} people called '{wanted[:40]}': "
            f"{', '.join(sorted(named)[:8])}. Give one of these."
        )
    if not named:
        names = sorted(memory.people.names())
        some = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
        whom = f"It knows {some}." if names else "It has met nobody yet."
        raise UnknownPerson(f"{npc.key} knows nobody called '{wanted[:40]}'. {whom}")
    return named.pop()
