"""Links between memories: journal id or Mem0 id → {"linked_to": {id: {score, kind, created}}}.

Both directions are always written together, spread over JSON buckets to keep each write small.
`character.db.memory_links` is the small index: the number of links.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from twisted.internet import defer

from .. import offload
from ..records import INSIGHT, MemoryRecord
from . import attributes
from .payload import Candidate, entry_memory_id
from .removal import Removal

ATTRIBUTE = "memory_links"
CATEGORY = "memory_links"
BUCKETS = 2048  # many, to keep each small: a write reads and rewrites whole buckets
# links of one memory in one write, which share its bucket, the index and the transaction: half of
# the time that they take one by one, and still a small piece of the reactor's
AT_ONCE = 3
REMOVED_AT_ONCE = 4  # memories: each touches several rows
READ_AT_ONCE = 64  # memories whose links are looked up at once


_Buckets = dict[int, dict[str, Any]]  # by number; each id → {"linked_to": …}


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two memories; `score` 0-1, `kind` is its reason (evidence, similar)."""

    a: str
    b: str
    score: float
    kind: str
    created: str


class Links:
    """The links of one NPC's memories. Reactor thread only."""

    counted, category = "links", CATEGORY

    def __init__(self, npc: Any):
        self._npc = npc

    @property
    def count(self) -> int:
        index = attributes.read(self._npc, ATTRIBUTE, {})
        return index.get("links", 0)

    def of(self, memory_id: str | int) -> dict[str, dict[str, Any]]:
        """Return {id: {"score", "kind", "created"}}."""
        return self.of_each([str(memory_id)])[str(memory_id)]

    def of_each(self, memory_ids: Collection[str]) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the links of several memories, each as `of` returns them, in one query."""
        buckets = self._read(set(map(_bucket_of, memory_ids)))
        return {
            each: buckets.get(_bucket_of(each), {}).get(each, {}).get("linked_to", {})
            for each in memory_ids
        }

    def add(self, links: Iterable[Link]) -> int:
        """Write links, both directions in one transaction. Returns how many are new.

        A known link is kept, or replaced if the score is higher.
        """
        links = [link for link in links if link.a != link.b]
        buckets, absent = self._buckets_of(end for link in links for end in (link.a, link.b))
        new = 0
        for link in links:
            score = round(min(link.score, 1.0), 4)  # a store's cosine may be 1.00006
            note = {"score": score, "kind": link.kind, "created": link.created}
            for source, target in ((link.a, link.b), (link.b, link.a)):
                bucket = buckets[_bucket_of(source)]
                linked = bucket.setdefault(source, {"linked_to": {}})["linked_to"]
                new += source == link.a and target not in linked
                if target not in linked or linked[target]["score"] < note["score"]:
                    linked[target] = note
        self._write(buckets, absent, new)
        return new

    @defer.inlineCallbacks
    def add_gently(
        self, links: Iterable[Link], priority: int = offload.LOOK
    ) -> Generator[Any, Any, int]:
        """`add` a few links at a time, yielding to the reactor."""
        new = 0
        for _memory_id, of_it in itertools.groupby(links, key=lambda link: link.a):
            while some := list(itertools.islice(of_it, AT_ONCE)):
                new += self.add(some)
                yield offload.breathe(priority)
        return new

    def remove(self, memory_ids: Iterable[str]) -> int:
        """Remove every link of these memories. Returns how many links were removed."""
        ids = [*map(str, memory_ids)]
        others = [other for linked in self.of_each(ids).values() for other in linked]
        buckets, absent = self._buckets_of([*ids, *others])
        gone = 0
        for each in ids:
            for other in buckets[_bucket_of(each)].pop(each, {}).get("linked_to", {}):
                gone += _unlink(buckets, other, each)
        self._write(buckets, absent, -gone)
        return gone

    @defer.inlineCallbacks
    def take_out(self, removal: Removal) -> Generator[Any, Any, int]:
        """Remove the links of all that goes, a few at a time. See `MemoryPart`."""
        ids, gone = sorted(removal.linked), 0
        for first in range(0, len(ids), READ_AT_ONCE):
            found = self.of_each(ids[first : first + READ_AT_ONCE])
            linked = [each for each, links in found.items() if links]
            for some in range(0, len(linked), REMOVED_AT_ONCE):
                gone += self.remove(linked[some : some + REMOVED_AT_ONCE])
                yield offload.breathe()
            yield offload.breathe()
        return gone

    def _buckets_of(self, memory_ids: Iterable[str]) -> tuple[_Buckets, Collection[int]]:
        """Return the buckets of these memories, and the numbers of those that have no row yet."""
        numbers = set(map(_bucket_of, memory_ids))
        there = self._read(numbers)
        return {number: there.get(number, {}) for number in numbers}, numbers - there.keys()

    def _read(self, numbers: Iterable[int]) -> _Buckets:
        keys = {f"links_{number}": number for number in numbers}
        found = attributes.read_some_json(self._npc, list(keys), CATEGORY)
        return {keys[key]: bucket for key, bucket in found.items()}

    def _write(self, buckets: _Buckets, absent: Collection[int], change: int) -> None:
        if not buckets:
            return
        changed = {
            f"links_{number}": bucket
            for number, bucket in buckets.items()
            if bucket or number not in absent
        }
        with transaction.atomic():
            attributes.write_some_json(self._npc, changed, CATEGORY)
            attributes.write(self._npc, ATTRIBUTE, {"links": self.count + change})

    def ids_in(self, buckets: Iterable[int]) -> list[str]:
        """Return the ids that have links, from a few of the `BUCKETS` at a time."""
        return [linked for linked, _links in self.in_buckets(buckets)]

    def in_buckets(self, buckets: Iterable[int]) -> list[tuple[str, dict[str, dict[str, Any]]]]:
        """Return the ids that have links, each with its links as `of` returns them."""
        found = self._read(buckets).values()
        return [(linked, each["linked_to"]) for bucket in found for linked, each in bucket.items()]

    def clear(self) -> None:
        self._npc.attributes.clear(category=CATEGORY)
        attributes.write(self._npc, ATTRIBUTE, {"links": 0})


def link_id(memory: MemoryRecord | Candidate) -> str:
    """Return the id a memory is linked by: the journal id of a journal entry, else the Mem0 id."""
    in_journal = memory.record in ("entry", INSIGHT)
    return str(memory.journal_ids[0]) if in_journal else memory.id


def linked_memory_id(agent_id: str, linked: str) -> str:
    """Return the store's id of the memory with this link id."""
    return entry_memory_id(agent_id, int(linked)) if linked.isdecimal() else linked


def _unlink(buckets: _Buckets, memory_id: str, other: str) -> bool:
    """Drop one direction of a link, and the memory with its last one. Whether it was there."""
    linked = buckets[_bucket_of(memory_id)].get(memory_id, {}).get("linked_to", {})
    was_there = linked.pop(other, None) is not None
    if not linked:
        buckets[_bucket_of(memory_id)].pop(memory_id, None)
    return was_there


def _bucket_of(memory_id: str) -> int:
    return zlib.crc32(memory_id.encode()) % BUCKETS
