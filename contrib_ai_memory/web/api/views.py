"""The addresses that look: NPCs, journal, memories, search, people, links, numbers."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from twisted.internet import defer

from ...records import RecallResult
from ...tending import counting, graphing, ids, looking, permission, previewing, tracing, undo
from .. import bridge, gate
from ..views_looking import night_now
from . import serializers as told
from .answering import Tending, page
from .telling import does, many


class Npcs(Tending):
    """The NPCs that have a memory."""

    @does("list_npcs", many(told.Npc), asked=told.NpcsAsked)
    def get(self, request: Request) -> Response:
        """All NPCs with a memory that you may look at, by name."""
        asked = self.asked(told.NpcsAsked)
        total, found = bridge.on_reactor(gate.with_visitor, request.user.pk, _npcs, asked)
        return page(request, told.Npc(found, many=True).data, total, asked)


@defer.inlineCallbacks
def _npcs(who: Any, asked: dict[str, Any]) -> Any:
    wanted, start = asked["text"].lower(), asked["offset"]
    named = [npc for npc in looking.minds() if wanted in npc.key.lower()]
    found = [npc for npc in named if permission.may(who, npc, "look")]
    overviews = yield looking.overviews(found[start : start + asked["limit"]])
    return len(found), overviews


class Npc(Tending):
    """One NPC."""

    @does("show_npc", told.Npc)
    def get(self, request: Request, npc_id: int) -> Response:
        """One NPC's memory in numbers."""
        overview = self.ask(npc_id, lambda npc, who: looking.overview(npc))
        return Response(told.Npc(overview).data)


class Journal(Tending):
    """What an NPC perceived."""

    @does("read_journal", told.JournalPage, asked=told.JournalAsked)
    def get(self, request: Request, npc_id: int) -> Response:
        """The journal, newest first. One request looks at 4,096 entries at most: with a filter, a
        page may be short or empty and there is more behind `next` all the same."""
        found = self.ask(npc_id, _journal, self.asked(told.JournalAsked))
        here = request.build_absolute_uri()
        older = replace_query_param(here, "before", found.older) if found.older else None
        plain = {"entries": found.entries, "older": found.older, "next": older}
        return Response(told.JournalPage(plain | {"searched_to": found.searched_to}).data)


def _journal(npc: Any, who: Any, asked: dict[str, Any]) -> Any:
    entity = ids.person(npc, asked["entity"]) if asked["entity"].strip() else ""
    return looking.journal(npc, **asked | {"entity": entity})


class Search(Tending):
    """What comes to an NPC's mind."""

    throttle_scope = "ai_memory_work"

    @does("search", told.Search, asked=told.SearchAsked)
    def get(self, request: Request, npc_id: int) -> Response:
        """What comes to mind for a question, best first, with the parts of each score."""
        result: RecallResult = self.ask(npc_id, _search, self.asked(told.SearchAsked))
        return Response(told.Search(result).data)


def _search(npc: Any, who: Any, asked: dict[str, Any]) -> Any:
    speaker = asked["speaker"].strip()
    return npc.memory.recall(
        asked["q"],
        speaker=ids.person(npc, speaker) if speaker else None,
        top_k=asked["top_k"],
        token_budget=asked["tokens"],
        memory_types=asked["memory_types"] or None,
        emotions=asked["emotions"],
        include_compressed=asked["include_compressed"],
    )


class Trace(Tending):
    """Where a memory came from."""

    throttle_scope = "ai_memory_work"

    @does("trace_memory", told.Trace)
    def get(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """What a memory came from, and what came of it."""
        found = self.ask(npc_id, lambda npc, who: tracing.trace(npc, memory_id))
        return Response(told.Trace(found).data)


class People(Tending):
    """Whom an NPC knows."""

    @does("list_people", many(told.Person), asked=told.Paged)
    def get(self, request: Request, npc_id: int) -> Response:
        """Whom the NPC knows, the last seen first."""
        asked = self.asked(told.Paged)
        total, found = self.ask(npc_id, _people, asked)
        return page(request, told.Person(found, many=True).data, total, asked)


@defer.inlineCallbacks
def _people(npc: Any, who: Any, asked: dict[str, Any]) -> Any:
    wanted = asked["text"].lower().strip()
    total = sum(wanted in each.name.lower() for each in npc.memory.people)
    people = yield looking.people(npc, **asked)
    return total, people


class Graph(Tending):
    """How memories are linked."""

    throttle_scope = "ai_memory_work"

    @does("show_links", told.Graph, asked=told.GraphAsked)
    def get(self, request: Request, npc_id: int) -> Response:
        """The strongest links and what they link; `total` counts them all."""
        limit = self.asked(told.GraphAsked)["limit"]
        found = self.ask(npc_id, lambda npc, who: graphing.graph(npc, limit))
        return Response(told.Graph(found).data)


class Cost(Tending):
    """What language cost."""

    @does("show_cost", told.Cost)
    def get(self, request: Request, npc_id: int) -> Response:
        """What the language model cost today (UTC), this NPC and the whole game."""
        return Response(told.Cost(self.ask(npc_id, lambda npc, who: counting.cost(npc))).data)


class Stats(Tending):
    """How a memory has grown."""

    throttle_scope = "ai_memory_work"

    @does("show_stats", told.Stats)
    def get(self, request: Request, npc_id: int) -> Response:
        """Importance, emotions, growth and cost in numbers: what the charts show."""
        return Response(told.Stats(self.ask(npc_id, lambda npc, who: counting.stats(npc))).data)


class Status(Tending):
    """What an NPC is doing."""

    @does("show_status", told.Status)
    def get(self, request: Request, npc_id: int) -> Response:
        """Whether it is awake, and how far its night is: cheap enough to be asked every second."""
        return Response(told.Status(self.ask(npc_id, status)).data)


def status(npc: Any, who: Any) -> dict[str, Any]:
    """What `Status` tells, as plain data."""
    return {"state": looking.state_of(npc), "night": night_now(npc)}


class Preview(Tending):
    """The prompt of an answer."""

    throttle_scope = "ai_memory_work"
    deeds = {"POST": "look"}

    @does("preview_prompt", told.Preview, body=told.Line)
    def post(self, request: Request, npc_id: int) -> Response:
        """The exact prompt that a line would send to the language model. Nothing is sent, said or
        remembered."""
        line = self.asked(told.Line)
        found = self.ask(npc_id, lambda npc, who: previewing.preview(npc, **line))
        return Response(told.Preview(found).data)


class Acts(Tending):
    """What was changed by hand."""

    @does("list_acts", told.Act(many=True))
    def get(self, request: Request, npc_id: int) -> Response:
        """What was changed by hand and can be undone, newest first."""
        found = self.ask(npc_id, lambda npc, who: list(reversed(undo.acts(npc))))
        return Response(told.Act(found, many=True).data)


class Nowhere(Tending):
    """What is no address of the API: said in JSON, as everything here is."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        self.http_method_names = ()  # whatever the method is
        return super().dispatch(request, *args, **kwargs)

    def http_method_not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        raise Http404("There is no such address here. openapi.json tells which there are.")
