"""The endpoints of the API. The docstrings of their methods appear in the OpenAPI schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from twisted.internet import defer

from ...admin import (
    access,
    edit,
    erasure,
    forget,
    ids,
    inspect,
    preview,
    provenance,
    stats,
    undo_log,
)
from ...script import AssistantScript
from ...sleep.night import NotNow
from .. import actions, gate
from ..views import night_progress
from .openapi import operation, page_of
from .resource import Resource
from .serializers import (
    ActSerializer,
    CostSerializer,
    EntrySerializer,
    ErasedSerializer,
    ForgetQuery,
    ForgottenSerializer,
    GraphQuery,
    GraphSerializer,
    JournalQuery,
    JournalSerializer,
    MemoriesQuery,
    MemoryChanges,
    MemoryDetailSerializer,
    MemorySerializer,
    NewMemory,
    NightsSerializer,
    NightStart,
    NPCSerializer,
    PageQuery,
    PersonDetailSerializer,
    PersonSerializer,
    PreviewLine,
    PreviewSerializer,
    RecallSerializer,
    SearchQuery,
    StatsSerializer,
    StatusSerializer,
    TraceSerializer,
)

ERASURE_TIMEOUT = 60.0  # seconds

VERSION = "1"
TITLE = "NPC memories"
DESCRIPTION = """\
Read, search and edit what NPCs remember, and start and end their nights. Permissions are those of
the in-game commands: Builder to look and to edit, Admin to erase, and each NPC's own locks
memory_look, memory_edit and memory_erase. With a session of the website, requests that change
something must carry its CSRF token. Every error is {"detail": a sentence}."""


# --- NPCs -----------------------------------------------------------------------------------------


class NPCListResource(Resource):
    """The NPCs that have a memory."""

    @operation("list_npcs", page_of(NPCSerializer), query=PageQuery)
    def get(self, request: Request) -> Response:
        """List the NPCs with a memory that you may look at, by name."""
        query = self.validated(PageQuery)
        total, found = gate.ask(request.user.pk, _npcs, query)
        return self.page(NPCSerializer(found, many=True).data, total, query)


@defer.inlineCallbacks
def _npcs(who: Any, query: dict[str, Any]) -> Any:
    text, start = query["text"].lower(), query["offset"]
    named = [npc for npc in inspect.npcs() if text in npc.key.lower()]
    found = [npc for npc in named if access.may(who, npc, "look")]
    overviews = yield inspect.overviews(found[start : start + query["limit"]])
    return len(found), overviews


class NPCResource(Resource):
    """One NPC."""

    @operation("show_npc", NPCSerializer)
    def get(self, request: Request, npc_id: int) -> Response:
        """Show one NPC's memory in numbers."""
        overview = self.ask(npc_id, lambda npc, who: inspect.overview(npc))
        return Response(NPCSerializer(overview).data)


class StatusResource(Resource):
    """The state of an NPC."""

    @operation("show_status", StatusSerializer)
    def get(self, request: Request, npc_id: int) -> Response:
        """Show the NPC's state and the progress of its night. Cheap enough to poll every second."""
        return Response(StatusSerializer(self.ask(npc_id, _status)).data)


def _status(npc: Any, who: Any) -> dict[str, Any]:
    return {"state": inspect.state_of(npc), "night": night_progress(npc)}


class PauseResource(Resource):
    """Pausing a memory."""

    @operation("pause", StatusSerializer)
    def post(self, request: Request, npc_id: int) -> Response:
        """Pause the NPC's memory: it perceives nothing, learns nothing and does not sleep."""
        return Response(StatusSerializer(self.ask(npc_id, _pause, True)).data)


class ResumeResource(Resource):
    """Resuming a memory."""

    @operation("resume", StatusSerializer)
    def post(self, request: Request, npc_id: int) -> Response:
        """Resume a paused memory."""
        return Response(StatusSerializer(self.ask(npc_id, _pause, False)).data)


def _pause(npc: Any, who: Any, on: bool) -> dict[str, Any]:
    edit.pause(npc, who, on)
    return _status(npc, who)


# --- journal and memories -------------------------------------------------------------------------


class JournalResource(Resource):
    """The journal of an NPC."""

    @operation("read_journal", JournalSerializer, query=JournalQuery)
    def get(self, request: Request, npc_id: int) -> Response:
        """Read the journal, newest first. A request looks at up to 4,096 entries: with a filter, a
        page may be short or empty although there are older matches behind `next`."""
        found = self.ask(npc_id, _journal, self.validated(JournalQuery))
        url = request.build_absolute_uri()
        page = {
            "entries": found.entries,
            "older": found.older,
            "next": replace_query_param(url, "before", found.older) if found.older else None,
            "searched_to": found.searched_to,
        }
        return Response(JournalSerializer(page).data)


def _journal(npc: Any, who: Any, query: dict[str, Any]) -> Any:
    entity = ids.person(npc, query["entity"]) if query["entity"].strip() else ""
    return inspect.journal(npc, **query | {"entity": entity})


class MemoryListResource(Resource):
    """The memories of one kind."""

    @operation("list_memories", page_of(MemorySerializer), query=MemoriesQuery)
    def get(self, request: Request, npc_id: int) -> Response:
        """List facts, experiences, taught texts, summaries, insights or entries, newest first."""
        query = self.validated(MemoriesQuery)
        found = self.ask(npc_id, lambda npc, who: inspect.memories(npc, **query))
        return self.page(MemorySerializer(found.memories, many=True).data, found.total, query)

    @operation("add_memory", EntrySerializer, body=NewMemory, code=201)
    def post(self, request: Request, npc_id: int) -> Response:
        """Give the NPC a memory. It can be recalled at once and is never pruned."""
        new = self.validated(NewMemory)
        entry = self.ask(npc_id, lambda npc, who: edit.add(npc, who, **new))
        return Response(EntrySerializer(entry).data, status=201)


class MemoryResource(Resource):
    """One memory. Its id is a UUID, the start of one, or the number of a journal entry."""

    @operation("show_memory", MemoryDetailSerializer)
    def get(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Show one memory with its evidence, links, history, and what it superseded or what
        superseded it."""
        found = self.ask(npc_id, lambda npc, who: provenance.show(npc, memory_id))
        return Response(MemoryDetailSerializer(found).data)

    @operation("edit_memory", MemorySerializer, body=MemoryChanges)
    def patch(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Change a memory's text, importance, emotions or lesson. This can be undone."""
        changes = self.validated(MemoryChanges)
        memory = self.ask(npc_id, lambda npc, who: edit.edit(npc, who, memory_id, **changes))
        return Response(MemorySerializer(memory).data)

    @operation("forget_memory", ForgottenSerializer, query=ForgetQuery)
    def delete(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Forget a memory and, with `cascade`, everything derived from it. This can be undone."""
        cascade = self.validated(ForgetQuery)["cascade"]
        gone = self.ask(npc_id, lambda npc, who: forget.forget(npc, who, memory_id, cascade))
        shorts = [ids.short(memory) for memory in gone.memories]
        forgotten = {"ids": shorts, "told": gone.summary, "undoable": gone.undoable}
        return Response(ForgottenSerializer(forgotten).data)


class TraceResource(Resource):
    """The provenance of a memory."""

    throttle_scope = "ai_memory_work"

    @operation("trace_memory", TraceSerializer)
    def get(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Show what a memory was derived from, and what was derived from it."""
        found = self.ask(npc_id, lambda npc, who: provenance.trace(npc, memory_id))
        return Response(TraceSerializer(found).data)


class TagResource(Resource):
    """Base class of pin and lock, and of their opposites."""

    tag: Callable[..., Any]

    def respond(self, npc_id: int, memory_id: str) -> Response:
        """Change the tag; a memory that has it already is no error."""
        tag = type(self).tag
        memory = self.ask(npc_id, lambda npc, who: edit.accept_done(tag(npc, who, memory_id)))
        return Response(MemorySerializer(memory).data)


class PinResource(TagResource):
    tag = staticmethod(edit.pin)

    @operation("pin_memory", MemorySerializer)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Pin a memory: it is never pruned."""
        return self.respond(npc_id, memory_id)


class UnpinResource(TagResource):
    tag = staticmethod(edit.unpin)

    @operation("unpin_memory", MemorySerializer)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Unpin a memory: it may be pruned again."""
        return self.respond(npc_id, memory_id)


class LockResource(TagResource):
    tag = staticmethod(edit.lock)

    @operation("lock_memory", MemorySerializer)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Lock a memory: it is pinned, and no night changes or supersedes it."""
        return self.respond(npc_id, memory_id)


class UnlockResource(TagResource):
    tag = staticmethod(edit.unlock)

    @operation("unlock_memory", MemorySerializer)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Unlock a memory: nights may change it again. It stays pinned."""
        return self.respond(npc_id, memory_id)


class ChangeListResource(Resource):
    """The log of changes made by hand."""

    @operation("list_acts", ActSerializer(many=True))
    def get(self, request: Request, npc_id: int) -> Response:
        """List the changes made by hand that can be undone, newest first."""
        found = self.ask(npc_id, lambda npc, who: list(reversed(undo_log.acts(npc))))
        return Response(ActSerializer(found, many=True).data)


class UndoResource(Resource):
    """Undoing changes made by hand."""

    @operation("undo", ActSerializer)
    def post(self, request: Request, npc_id: int) -> Response:
        """Undo the last change made to this memory by hand."""
        return Response(ActSerializer(self.ask(npc_id, edit.undo)).data)


# --- recall ---------------------------------------------------------------------------------------


class SearchResource(Resource):
    """Recall from an NPC's memory."""

    throttle_scope = "ai_memory_work"

    @operation("search", RecallSerializer, query=SearchQuery)
    def get(self, request: Request, npc_id: int) -> Response:
        """Recall memories for a query, best first, with the parts of each score."""
        result = self.ask(npc_id, _search, self.validated(SearchQuery))
        return Response(RecallSerializer(result).data)


def _search(npc: Any, who: Any, query: dict[str, Any]) -> Any:
    speaker = query["speaker"].strip()
    return npc.memory.recall(
        query["q"],
        speaker=ids.person(npc, speaker) if speaker else None,
        top_k=query["top_k"],
        token_budget=query["tokens"],
        memory_types=query["memory_types"] or None,
        emotions=query["emotions"],
        include_compressed=query["include_compressed"],
    )


class PreviewResource(Resource):
    """The prompt of a reply."""

    throttle_scope = "ai_memory_work"
    access_types = {"POST": "look"}

    @operation("preview_prompt", PreviewSerializer, body=PreviewLine)
    def post(self, request: Request, npc_id: int) -> Response:
        """Show the exact prompt a line would send to the language model. Nothing is sent, said or
        remembered."""
        line = self.validated(PreviewLine)
        found = self.ask(npc_id, lambda npc, who: preview.preview(npc, **line))
        return Response(PreviewSerializer(found).data)


# --- people ---------------------------------------------------------------------------------------


class PersonListResource(Resource):
    """The people an NPC knows."""

    @operation("list_people", page_of(PersonSerializer), query=PageQuery)
    def get(self, request: Request, npc_id: int) -> Response:
        """List the people the NPC knows, the last seen first."""
        query = self.validated(PageQuery)
        total, found = self.ask(npc_id, _people, query)
        return self.page(PersonSerializer(found, many=True).data, total, query)


@defer.inlineCallbacks
def _people(npc: Any, who: Any, query: dict[str, Any]) -> Any:
    text = query["text"].lower().strip()
    total = sum(text in each.name.lower() for each in npc.memory.people)
    people = yield inspect.people(npc, **query)
    return total, people


class PersonResource(Resource):
    """A person the NPC knows, by identity or name."""

    access_types = {"DELETE": "erase"}

    @operation("show_person", PersonDetailSerializer)
    def get(self, request: Request, npc_id: int, person: str) -> Response:
        """Show everything the NPC knows about a person, secrets included."""
        found = self.ask(npc_id, lambda npc, who: inspect.person(npc, ids.person(npc, person)))
        return Response(PersonDetailSerializer(found).data)

    @operation("erase_person", ErasedSerializer)
    def delete(self, request: Request, npc_id: int, person: str) -> Response:
        """Erase a person from the NPC's memory for good. Requires Admin.

        `at_next_start`: the next reload clears traces in the free space of the SQLite database."""
        erased = self.ask(npc_id, _erase, person, timeout=ERASURE_TIMEOUT)
        return Response(ErasedSerializer(erased).data)


@defer.inlineCallbacks
def _erase(npc: Any, who: Any, person: str) -> Any:
    identity = ids.person(npc, person)
    erased = yield erasure.erase_person(npc, identity)
    access.record(who, "erase person", npc, identity)
    return erased


# --- nights ---------------------------------------------------------------------------------------


class NightListResource(Resource):
    """The nights of an NPC."""

    @operation("list_nights", NightsSerializer)
    def get(self, request: Request, npc_id: int) -> Response:
        """Show the progress of the current night, and what each pass of past nights did."""
        return Response(NightsSerializer(self.ask(npc_id, _nights)).data)

    @operation("start_night", StatusSerializer, body=NightStart, code=202)
    def post(self, request: Request, npc_id: int) -> Response:
        """Send the NPC to sleep. Returns at once; poll `status` or `nights` for progress."""
        at_once = self.validated(NightStart)["at_once"]
        return Response(StatusSerializer(self.ask(npc_id, _sleep, at_once)).data, status=202)


def _nights(npc: Any, who: Any) -> dict[str, Any]:
    return {"status": _status(npc, who), "nights": stats.nights(npc)}


def _sleep(npc: Any, who: Any, at_once: bool) -> dict[str, Any]:
    if AssistantScript.of(npc).asleep:
        raise NotNow(f"{npc.key} is already asleep. Wake it first, or wait until it wakes up.")
    actions.start_night(npc, who, at_once=at_once)
    return _status(npc, who)


class WakeResource(Resource):
    """Waking an NPC."""

    @operation("wake", StatusSerializer, code=202)
    def post(self, request: Request, npc_id: int) -> Response:
        """Wake the NPC as soon as it is safe. Unfinished passes wait for the next night."""
        return Response(StatusSerializer(self.ask(npc_id, _wake)).data, status=202)


def _wake(npc: Any, who: Any) -> dict[str, Any]:
    if not actions.wake(npc, who):
        raise NotNow(f"{npc.key} is already awake.")
    return _status(npc, who)


# --- numbers --------------------------------------------------------------------------------------


class GraphResource(Resource):
    """The link graph of a memory."""

    throttle_scope = "ai_memory_work"

    @operation("show_links", GraphSerializer, query=GraphQuery)
    def get(self, request: Request, npc_id: int) -> Response:
        """Show the most strongly linked memories and the links between them."""
        limit = self.validated(GraphQuery)["limit"]
        found = self.ask(npc_id, lambda npc, who: inspect.graph(npc, limit))
        return Response(GraphSerializer(found).data)


class CostResource(Resource):
    """The cost of the language model."""

    @operation("show_cost", CostSerializer)
    def get(self, request: Request, npc_id: int) -> Response:
        """Show today's (UTC) use of the language model by this NPC and by the whole game."""
        return Response(CostSerializer(self.ask(npc_id, lambda npc, who: stats.cost(npc))).data)


class StatsResource(Resource):
    """Statistics of a memory."""

    throttle_scope = "ai_memory_work"

    @operation("show_stats", StatsSerializer)
    def get(self, request: Request, npc_id: int) -> Response:
        """Show importance, emotions, growth and cost in numbers, as the charts do."""
        return Response(StatsSerializer(self.ask(npc_id, lambda npc, who: stats.stats(npc))).data)


# --- the API itself -------------------------------------------------------------------------------


class SchemaResource(Resource, SpectacularJSONAPIView):
    """The OpenAPI schema, for the URL under which the game includes the API."""

    renderer_classes = SpectacularJSONAPIView.renderer_classes
    urlconf = ["contrib_ai_memory.web.api.routes"]

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        root = reverse("ai_memory_api:npcs").removesuffix("/npcs/")
        self.custom_settings = {
            "TITLE": TITLE,
            "DESCRIPTION": DESCRIPTION,
            "VERSION": VERSION,
            "SERVERS": [{"url": root}],
            "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
            "SCHEMA_PATH_PREFIX": "",
        }
        return super().get(request, *args, **kwargs)


class UnknownResource(Resource):
    """Every other URL: a 404 as JSON, for all HTTP methods."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        self.http_method_names = ()
        return super().dispatch(request, *args, **kwargs)

    def http_method_not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        raise Http404("There is no such URL. See openapi.json for those that exist.")
