"""Links between memories: journal id or Mem0 id → {"linked_to": {id: {score, kind, created}}}.

Both directions are always written together, spread over JSON buckets to keep each write small.
`character.db.memory_links` is the small index: the number of links.
"""

from __future__ import annotations

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

ATTRIBUTE = "memory_links"
CATEGORY = "memory_links"
BUCKETS = 2048  # many, to keep each small: a write reads and rewrites whole buckets


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

    def __init__(self, npc: Any):
        self._npc = npc

    @property
    def count(self) -> int:
        """The number of links."""
        index = attributes.read(self._npc, ATTRIBUTE) or {}
        return index.get("links", 0)

    def of(self, memory_id: str | int) -> dict[str, dict[str, Any]]:
        """Return the links of one memory: {id: {"score", "kind", "created"}}."""
        bucket = self._bucket(_bucket_of(str(memory_id)))
        return bucket.get(str(memory_id), {}).get("linked_to", {})

    def add(self, links: Iterable[Link]) -> int:
        """Write links, both directions in one transaction. Returns how many are new.

        A known link is kept, or replaced if the score is higher.
        """
        links = [link for link in links if link.a != link.b]
        numbers = {_bucket_of(end) for link in links for end in (link.a, link.b)}
        there = self._read(numbers)
        buckets = {number: there.get(number, {}) for number in numbers}
        new = 0
        for link in links:
            note = {"score": round(link.score, 4), "kind": link.kind, "created": link.created}
            new += self._put(buckets, link.a, link.b, note)
            self._put(buckets, link.b, link.a, note)
        if buckets:
            self._write(buckets, new, numbers - there.keys())
        return new

    @defer.inlineCallbacks
    def add_gently(self, links: Iterable[Link]) -> Generator[Any, Any, int]:
        """`add` one link at a time, yielding to the reactor. Fires with how many are new."""
        new = 0
        for link in links:
            new += self.add([link])
            yield offload.breathe()
        return new

    def remove(self, memory_ids: Iterable[str]) -> int:
        """Remove every link of these memories. Returns how many links were removed."""
        buckets: dict[int, dict[str, Any]] = {}
        gone = 0
        for memory_id in map(str, memory_ids):
            home = self._open(buckets, memory_id)
            for other in home.pop(memory_id, {}).get("linked_to", {}):
                far = self._open(buckets, other).get(other, {}).get("linked_to", {})
                gone += far.pop(memory_id, None) is not None
        if buckets:
            self._write(buckets, -gone)
        return gone

    def drop_end(self, memory_id: str, other: str) -> None:
        """Remove one direction of a broken link whose other direction is missing."""
        buckets: dict[int, dict[str, Any]] = {}
        self._open(buckets, memory_id).get(memory_id, {}).get("linked_to", {}).pop(other, None)
        self._write(buckets, 0)

    def _put(
        self, buckets: dict[int, dict[str, Any]], source: str, target: str, note: dict[str, Any]
    ) -> bool:
        linked = self._open(buckets, source).setdefault(source, {"linked_to": {}})["linked_to"]
        is_new = target not in linked
        if is_new or linked[target]["score"] < note["score"]:
            linked[target] = note
        return is_new

    def _open(self, buckets: dict[int, dict[str, Any]], memory_id: str) -> dict[str, Any]:
        number = _bucket_of(memory_id)
        if number not in buckets:
            buckets[number] = self._bucket(number)
        return buckets[number]

    def _bucket(self, number: int) -> dict[str, Any]:
        return attributes.read_json(self._npc, f"links_{number}", CATEGORY) or {}

    def _read(self, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Return the existing ones among these buckets, in one query."""
        keys = {f"links_{number}": number for number in numbers}
        found = attributes.read_some_json(self._npc, list(keys), CATEGORY)
        return {keys[key]: bucket for key, bucket in found.items()}

    def _write(
        self, buckets: dict[int, dict[str, Any]], change: int, new: Collection[int] = ()
    ) -> None:
        with transaction.atomic():
            for number, bucket in buckets.items():
                write = attributes.add_json if number in new else attributes.write_json
                write(self._npc, f"links_{number}", bucket, CATEGORY)
            attributes.write(self._npc, ATTRIBUTE, {"links": self.count + change})

    def ids_in(self, buckets: Iterable[int]) -> list[str]:
        """Return the ids that have links, from a few of the `BUCKETS` at a time."""
        return [linked for linked, _links in self.in_buckets(buckets)]

    def in_buckets(self, buckets: Iterable[int]) -> list[tuple[str, dict[str, dict[str, Any]]]]:
        """Return the ids that have links, each with its links as `of` returns them."""
        found = self._read(buckets).values()
        return [(linked, each["linked_to"]) for bucket in found for linked, each in bucket.items()]

    def clear(self) -> None:
        """Delete all links."""
        self._npc.attributes.clear(category=CATEGORY)
        attributes.write(self._npc, ATTRIBUTE, {"links": 0})


def link_id(memory: MemoryRecord | Candidate) -> str:
    """Return the id a memory is linked by: the journal id of a journal entry, else the Mem0 id."""
    in_journal = memory.record in ("entry", INSIGHT)
    return str(memory.journal_ids[0]) if in_journal else memory.id


def linked_memory_id(agent_id: str, linked: str) -> str:
    """Return the store's id of the memory with this link id."""
    return entry_memory_id(agent_id, int(linked)) if linked.isdecimal() else linked


def _bucket_of(memory_id: str) -> int:
    return zlib.crc32(memory_id.encode()) % BUCKETS
