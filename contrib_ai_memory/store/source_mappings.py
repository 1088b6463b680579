"""The Attributes that [A §5] describes, as lazy read-only mappings over the parts of a memory.

`npc.db.journal`, `npc.db.memory_links` and `npc.db.entity_profiles` read as the source's; what is
stored is in pages, buckets and rows (docs/adr/002). Reactor thread only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from evennia.typeclasses.attributes import DbHolder

from .journal import Journal
from .links import BUCKETS, Links
from .npc_memory import Memory
from .profiles import Profiles, to_plain


class MemoryDb(DbHolder):
    """`npc.db`, with the memory's Attributes as mappings."""

    def __init__(self, npc: Any):
        super().__init__(npc, "attributes")
        object.__setattr__(self, "_npc", npc)

    def __getattribute__(self, name: str) -> Any:
        if name in MAPPINGS:
            return MAPPINGS[name](object.__getattribute__(self, "_npc").memory)
        return super().__getattribute__(name)


class Entries(Sequence[dict[str, Any]]):
    """The entries of a journal, oldest first, each as a dict."""

    def __init__(self, journal: Journal):
        self._journal = journal

    def __len__(self) -> int:
        return self._journal.count

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (entry.to_dict() for entry in self._journal.read())

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return list(self)[place]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        place %= len(self)
        # without removed entries the id is the place, so that no earlier page is read
        first = 1 if self._journal.removed else place + 1
        return next(islice(self._journal.read(first), place + 1 - first, None)).to_dict()


class _Items(Mapping[str, Any]):
    """A mapping of a key to what a function returns for it; None is no value."""

    def __init__(self, keys: Callable[[], Sequence[str]], read: Callable[[str], Any]):
        self._keys, self._read = keys, read

    def __getitem__(self, key: object) -> Any:
        if (value := self._read(str(key))) is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return len(self._keys())


def journal_mapping(memory: Memory) -> Mapping[str, Any]:
    """Return {"entries", "entry_count", "last_reflection", "consolidated_entry_ids"}."""
    journal: Journal = memory.journal
    read: dict[str, Callable[[], Any]] = {
        "entries": lambda: Entries(journal),
        "entry_count": lambda: journal.count,
        "last_reflection": lambda: journal.last_reflection or "",
        "consolidated_entry_ids": lambda: [e.id for e in journal.read() if e.consolidated],
    }
    return _Items(lambda: tuple(read), lambda key: read[key]() if key in read else None)


def links_mapping(memory: Memory) -> Mapping[str, Any]:
    """Return {journal id: [ids], Mem0 id: {"linked_to": [ids], "created": ISO 8601}}."""
    links: Links = memory.links

    def read(key: str) -> Any:
        if not (linked := links.of(key)):
            return None
        if key.isdecimal():
            return list(linked)
        return {"linked_to": list(linked), "created": min(n["created"] for n in linked.values())}

    return _Items(lambda: links.ids_in(range(BUCKETS)), read)


def profiles_mapping(memory: Memory) -> Mapping[str, Any]:
    """Return {memory identity: {"observations": […], "attributes": [{"type", "value", …}], …}}."""
    profiles: Profiles = memory.profiles

    def read(identity: str) -> Any:
        profile = profiles.get(identity)
        return profile and {"observations": [], "attributes": [], **to_plain(profile)}

    return _Items(profiles.identities, read)


MAPPINGS: dict[str, Callable[[Any], Mapping[str, Any]]] = {
    "journal": journal_mapping,
    "memory_links": links_mapping,
    "entity_profiles": profiles_mapping,
}
