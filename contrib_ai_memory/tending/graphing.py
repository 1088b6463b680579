"""The link graph of a whole mind: memories as nodes, links as edges. Reactor thread."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from twisted.internet import defer

from .. import offload
from ..store.links import BUCKETS
from . import ids, tracing

BUCKETS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Node:
    """A memory in the link graph. `linked` is its id in links, `id` what is typed for it."""

    linked: str
    id: str
    text: str
    record: str
    importance: float
    private: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two nodes, by their `linked`."""

    a: str
    b: str
    score: float
    kind: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The link graph: the nodes with the strongest links; `total` of nodes that have any."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    total: int


@defer.inlineCallbacks
def graph(npc: Any, limit: int = 500) -> Generator[Any, Any, Graph]:
    """The links of a mind, as a Deferred `Graph` of its `limit` most strongly linked memories."""
    mind = npc.memory
    edges: dict[tuple[str, str], Edge] = {}
    for first in range(0, BUCKETS, BUCKETS_AT_ONCE):
        numbers = range(first, min(first + BUCKETS_AT_ONCE, BUCKETS))
        for a, notes in mind.links.in_buckets(numbers):
            for b, note in notes.items():
                pair = (a, b) if a < b else (b, a)
                edges[pair] = Edge(*pair, note["score"], note["kind"])
        yield offload.breathe()
    strength: dict[str, float] = {}
    for edge in edges.values():
        for end in (edge.a, edge.b):
            strength[end] = strength.get(end, 0.0) + edge.score
    chosen = sorted(strength, key=lambda each: (-strength[each], each))[:limit]
    found = yield tracing.of_links(mind, chosen)
    nodes = [
        Node(each, ids.short_link(each), m.content, m.record, m.importance, m.private)
        for each in chosen
        if (m := found.get(each))
    ]
    there = {node.linked for node in nodes}
    kept = [edge for edge in edges.values() if edge.a in there and edge.b in there]
    return Graph(tuple(nodes), tuple(kept), len(strength))
