"""Links between memories: journal id or Mem0 id → {"linked_to": {id: {score, kind, created}}}.

One shape, both directions always written together, spread over JSON buckets so that one write
stays small. `character.db.memory_links` is the small index: how many links there are.
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
BUCKETS = 2048  # so many that one stays small: a write reads and writes it whole


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two memories; `score` 0-1, `kind` says why (evidence, similar)."""

    a: str
    b: str
    score: float
    kind: str
    created: str


class Links:
    """The links of one NPC's memories. Reactor thread only."""

    def __init__(self, owner: Any):
        self._owner = owner

    @property
    def count(self) -> int:
        index = attributes.read(self._owner, ATTRIBUTE) or {}
        return index.get("links", 0)

    def of(self, memory_id: str | int) -> dict[str, dict[str, Any]]:
        """What one memory is linked to: {id: {"score", "kind", "created"}}."""
        bucket = self._bucket(_bucket_of(str(memory_id)))
        return bucket.get(str(memory_id), {}).get("linked_to", {})

    def add(self, links: Iterable[Link]) -> int:
        """Write links, both directions in one transaction. Known ones are renewed, not doubled.

        Returns:
            How many were new.
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
        """`add`, one after another, the game going on in between. Fires with how many are new."""
        new = 0
        for link in links:
            new += self.add([link])
            yield offload.breathe()
        return new

    def remove(self, memory_ids: Iterable[str]) -> int:
        """Take memories out of every link that touches them. Returns how many links went."""
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
        """Take one direction of a link out: the other direction is not there."""
        buckets: dict[int, dict[str, Any]] = {}
        self._open(buckets, memory_id).get(memory_id, {}).get("linked_to", {}).pop(other, None)
        self._write(buckets, 0)

    def _put(self, buckets: dict, source: str, target: str, note: dict[str, Any]) -> bool:
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
        return attributes.read_json(self._owner, f"links_{number}", CATEGORY) or {}

    def _read(self, numbers: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Those of these buckets that there are, in one query."""
        keys = {f"links_{number}": number for number in numbers}
        found = attributes.read_some_json(self._owner, list(keys), CATEGORY)
        return {keys[key]: bucket for key, bucket in found.items()}

    def _write(
        self, buckets: dict[int, dict[str, Any]], change: int, new: Collection[int] = ()
    ) -> None:
        with transaction.atomic():
            for number, bucket in buckets.items():
                write = attributes.add_json if number in new else attributes.write_json
                write(self._owner, f"links_{number}", bucket, CATEGORY)
            attributes.write(self._owner, ATTRIBUTE, {"links": self.count + change})

    def ids_in(self, buckets: Iterable[int]) -> list[str]:
        """Everything that has links, a few of the `BUCKETS` at a time."""
        return [linked for bucket in self._read(buckets).values() for linked in bucket]

    def in_buckets(self, buckets: Iterable[int]) -> list[tuple[str, dict[str, dict[str, Any]]]]:
        """The same with what each is linked to, as `of` gives it."""
        found = self._read(buckets).values()
        return [(linked, each["linked_to"]) for bucket in found for linked, each in bucket.items()]

    def clear(self) -> None:
        self._owner.attributes.clear(category=CATEGORY)
        attributes.write(self._owner, ATTRIBUTE, {"links": 0})


def link_id(memory: MemoryRecord | Candidate) -> str:
    """What is in the journal is linked by its journal id, everything else by its Mem0 id."""
    in_journal = memory.record in ("entry", INSIGHT)
    return str(memory.journal_ids[0]) if in_journal else memory.id


def linked_memory_id(agent_id: str, linked: str) -> str:
    """The store's id of what is linked under `linked`."""
    return entry_memory_id(agent_id, int(linked)) if linked.isdecimal() else linked


def _bucket_of(memory_id: str) -> int:
    return zlib.crc32(memory_id.encode()) % BUCKETS
