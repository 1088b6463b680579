"""The pages of how things hang together: people, one memory whole, the link graph, charts."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from twisted.internet import defer

from ..tending import counting, graphing, ids, looking, tracing
from . import charts
from .forms import MemoryFilter
from .views import Header, MindPage, query_with, start_of
from .views_looking import PAGE

GRAPH_SIZES = (100, 300, 1000, 2000)
FIRST_SIZE = 300
NODE_TEXT = 160  # characters of a memory that the graph page holds
ROWS = 100  # links on one page of the table
EMOTIONS_SHOWN = 24


# --- people ---------------------------------------------------------------------------------------


class People(MindPage):
    """Whom an NPC knows, the last seen first."""

    template = "ai_memory/people.html"
    tab = "people"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        form = MemoryFilter(request.GET)
        wanted = form.cleaned_data["text"] if form.is_valid() else ""
        offset = start_of(request)
        npc, (people, total) = self.ask_mind(npc_id, _people, offset, wanted)
        more = len(people) > PAGE
        return self.show(
            npc=npc,
            people=people[:PAGE],
            total=total,
            text=wanted,
            older=query_with(request, **{"from": offset + PAGE}) if more else "",
            newer=query_with(request, **{"from": max(offset - PAGE, 0) or None}) if offset else "",
        )


@defer.inlineCallbacks
def _people(npc: Any, offset: int, wanted: str) -> Any:
    people = yield looking.people(npc, offset=offset, limit=PAGE + 1, text=wanted)
    return people, len(npc.memory.people)


class Person(MindPage):
    """All that an NPC knows of somebody, and how it came to stand with them."""

    template = "ai_memory/person.html"
    tab = "people"

    def get(self, request: HttpRequest, npc_id: int, identity: str) -> HttpResponse:
        npc, (page, course) = self.ask_mind(npc_id, _person, identity)
        chart = None
        if len(course) > 1:
            labels = "Day", "Favorability"
            chart = charts.curve("course", "Favorability over time", labels, course, top=1.0)
        return self.show(npc=npc, page=page, course=course, chart=chart)


def _person(npc: Any, identity: str) -> Any:
    identity = ids.person(npc, identity)  # a name as well; else every address has a page of nobody
    profile = npc.memory.profiles.get(identity)
    course = profile.relationship.course if profile else ()
    return looking.person(npc, identity), course


# --- one memory -----------------------------------------------------------------------------------


class Memory(MindPage):
    """One memory with everything around it."""

    template = "ai_memory/memory.html"
    tab = "memory"

    def get(self, request: HttpRequest, npc_id: int, memory_id: str) -> HttpResponse:
        npc, (shown, trace) = self.ask_mind(npc_id, _memory, memory_id)
        return self.show(npc=npc, shown=shown, trace=trace, memory=shown.memory)


@defer.inlineCallbacks
def _memory(npc: Any, memory_id: str) -> Any:
    shown = yield tracing.show(npc, memory_id)
    trace = yield tracing.trace(npc, memory_id)
    return shown, trace


# --- the link graph -------------------------------------------------------------------------------


class Graph(MindPage):
    """The link graph to look at, and as a table."""

    template = "ai_memory/graph.html"
    tab = "graph"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        asked = request.GET.get("size", "")
        size = int(asked) if asked in map(str, GRAPH_SIZES) else FIRST_SIZE
        first = start_of(request)
        npc, graph = self.ask_mind(npc_id, graphing.graph, limit=size)
        by_linked = {node.linked: node for node in graph.nodes}
        strongest = sorted(graph.edges, key=lambda edge: (-edge.score, edge.a, edge.b))
        rows = strongest[first : first + ROWS]
        return self.show(
            npc=npc,
            graph=graph,
            size=size,
            sizes=GRAPH_SIZES,
            drawn=drawn(npc, graph),
            rows=[(edge, by_linked[edge.a], by_linked[edge.b]) for edge in rows],
            first=first + 1,
            last=first + len(rows),
            older=query_with(request, **{"from": first + ROWS})
            if first + ROWS < len(strongest)
            else "",
            newer=query_with(request, **{"from": max(first - ROWS, 0) or None}) if first else "",
        )


def drawn(npc: Header, graph: graphing.Graph) -> dict[str, Any]:
    """The graph for the page's script, which puts texts into the page as text alone."""
    place = {node.linked: number for number, node in enumerate(graph.nodes)}
    return {
        "nodes": [
            {
                "id": number,
                "name": node.id,
                "text": node.text[:NODE_TEXT] + ("…" if len(node.text) > NODE_TEXT else ""),
                "record": node.record,
                "importance": round(node.importance, 2),
                "secret": node.private,
                "url": reverse("ai_memory:memory", args=[npc.id, node.id]),
            }
            for number, node in enumerate(graph.nodes)
        ],
        "links": [
            {
                "source": place[edge.a],
                "target": place[edge.b],
                "score": round(edge.score, 2),
                "kind": edge.kind,
            }
            for edge in graph.edges
        ],
    }


# --- charts ---------------------------------------------------------------------------------------


class Charts(MindPage):
    """What a memory consists of, how it grew and what it cost."""

    template = "ai_memory/charts.html"
    tab = "charts"

    def get(self, request: HttpRequest, npc_id: int) -> HttpResponse:
        npc, stats = self.ask_mind(npc_id, counting.stats)
        return self.show(npc=npc, stats=stats, charts=_charts(stats) if stats.entries else [])


def _charts(stats: counting.Stats) -> list[charts.Chart]:
    importance = [(str(number), count) for number, count in stats.importance.items()]
    felt, stored = stats.emotions[:EMOTIONS_SHOWN], [*stats.memories.items()]
    return [
        charts.columns(
            "importance", "How important the entries are", ("Importance", "Entries"), importance
        ),
        charts.rows("emotions", "What experiences felt like", ("Emotion", "Experiences"), felt),
        charts.columns("growth", "Entries a day", ("Day", "Entries"), stats.growth),
        charts.rows("kinds", "What was perceived", ("Kind", "Entries"), [*stats.kinds.items()]),
        charts.rows("memories", "What is stored", ("Record", "Memories"), stored),
        charts.columns("cost", "Tokens of the language model", ("Day", "Tokens"), stats.cost),
    ]
