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

from ...admin import access, edit, erase, forget, ids, inspect, preview, undo_log
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
    @operation("list_npcs", page_of(NPCSerializer), input=PageQuery)
    def get(self, query: dict[str, Any]) -> Any:
        """List the NPCs with a memory that you may look at, by name."""
        total, found = gate.ask(self.request.user.pk, _npcs, query)
        return self.page(found, total, query)


@defer.inlineCallbacks
def _npcs(who: Any, query: dict[str, Any]) -> Any:
    text, start = query["text"].lower(), query["offset"]
    named = [npc for npc in inspect.npcs() if text in npc.key.lower()]
    found = [npc for npc in named if access.may(who, npc, "look")]
    overviews = yield inspect.overviews(found[start : start + query["limit"]])
    return len(found), overviews


class NPCResource(Resource):
    @operation("show_npc", NPCSerializer)
    def get(self, npc_id: int) -> Any:
        """Show one NPC's memory in numbers."""
        return self.ask(npc_id, lambda npc, who: inspect.overview(npc))


class StatusResource(Resource):
    @operation("show_status", StatusSerializer)
    def get(self, npc_id: int) -> Any:
        """Show the NPC's state and the progress of its night. Cheap enough to poll every second."""
        return self.ask(npc_id, _status)


def _status(npc: Any, who: Any) -> dict[str, Any]:
    return {"state": inspect.state_of(npc), "night": night_progress(npc)}


class PauseResource(Resource):
    @operation("pause", StatusSerializer)
    def post(self, npc_id: int) -> Any:
        """Pause the NPC's memory: it perceives nothing, learns nothing and does not sleep."""
        return self.ask(npc_id, _pause, True)


class ResumeResource(Resource):
    @operation("resume", StatusSerializer)
    def post(self, npc_id: int) -> Any:
        """Resume a paused memory."""
        return self.ask(npc_id, _pause, False)


def _pause(npc: Any, who: Any, on: bool) -> dict[str, Any]:
    edit.pause(npc, who, on)
    return _status(npc, who)


# --- journal and memories -------------------------------------------------------------------------


class JournalResource(Resource):
    @operation("read_journal", JournalSerializer, input=JournalQuery)
    def get(self, query: dict[str, Any], npc_id: int) -> Any:
        """Read the journal, newest first. A request looks at up to 4,096 entries: with a filter, a
        page may be short or empty although there are older matches behind `next`."""
        found = self.ask(npc_id, _journal, query)
        url = self.request.build_absolute_uri()
        return {
            "entries": found.entries,
            "older": found.older,
            "next": replace_query_param(url, "before", found.older) if found.older else None,
            "searched_to": found.searched_to,
        }


def _journal(npc: Any, who: Any, query: dict[str, Any]) -> Any:
    entity = ids.person(npc, query["entity"]) if query["entity"].strip() else ""
    return inspect.journal(npc, **query | {"entity": entity})


class MemoryListResource(Resource):
    """The memories of one kind."""

    @operation("list_memories", page_of(MemorySerializer), input=MemoriesQuery)
    def get(self, query: dict[str, Any], npc_id: int) -> Any:
        """List facts, experiences, taught texts, summaries, insights or entries, newest first."""
        found = self.ask(npc_id, lambda npc, who: inspect.memories(npc, **query))
        return self.page(found.memories, found.total, query)

    @operation("add_memory", EntrySerializer, input=NewMemory, code=201)
    def post(self, new: dict[str, Any], npc_id: int) -> Any:
        """Give the NPC a memory. It can be recalled at once and is never pruned."""
        return self.ask(npc_id, lambda npc, who: edit.add(npc, who, **new))


class MemoryResource(Resource):
    """One memory. Its id is a UUID, the start of one, or the number of a journal entry."""

    @operation("show_memory", MemoryDetailSerializer)
    def get(self, npc_id: int, memory_id: str) -> Any:
        """Show one memory with its evidence, links, history, and what it superseded or what
        superseded it."""
        return self.ask(npc_id, lambda npc, who: inspect.show(npc, memory_id))

    @operation("edit_memory", MemorySerializer, input=MemoryChanges)
    def patch(self, changes: dict[str, Any], npc_id: int, memory_id: str) -> Any:
        """Change a memory's text, importance, emotions or lesson. This can be undone."""
        return self.ask(npc_id, lambda npc, who: edit.edit(npc, who, memory_id, **changes))

    @operation("forget_memory", ForgottenSerializer, input=ForgetQuery)
    def delete(self, query: dict[str, Any], npc_id: int, memory_id: str) -> Any:
        """Forget a memory and, with `cascade`, everything derived from it. This can be undone."""
        cascade = query["cascade"]
        gone = self.ask(npc_id, lambda npc, who: forget.forget(npc, who, memory_id, cascade))
        shorts = [ids.short(memory) for memory in gone.memories]
        return {"ids": shorts, "told": gone.summary, "undoable": gone.undoable}


class TraceResource(Resource):
    throttle_scope = "ai_memory_work"

    @operation("trace_memory", TraceSerializer)
    def get(self, npc_id: int, memory_id: str) -> Any:
        """Show what a memory was derived from, and what was derived from it."""
        return self.ask(npc_id, lambda npc, who: inspect.trace(npc, memory_id))


class TagResource(Resource):
    """Base class of pin and lock, and of their opposites."""

    def change(self, tag: Callable[..., Any], npc_id: int, memory_id: str) -> Any:
        """Change a tag; a memory that has it already is no error."""
        return self.ask(npc_id, lambda npc, who: edit.accept_done(tag(npc, who, memory_id)))


class PinResource(TagResource):
    @operation("pin_memory", MemorySerializer)
    def post(self, npc_id: int, memory_id: str) -> Any:
        """Pin a memory: it is never pruned."""
        return self.change(edit.pin, npc_id, memory_id)


class UnpinResource(TagResource):
    @operation("unpin_memory", MemorySerializer)
    def post(self, npc_id: int, memory_id: str) -> Any:
        """Unpin a memory: it may be pruned again."""
        return self.change(edit.unpin, npc_id, memory_id)


class LockResource(TagResource):
    @operation("lock_memory", MemorySerializer)
    def post(self, npc_id: int, memory_id: str) -> Any:
        """Lock a memory: it is pinned, and no night changes or supersedes it."""
        return self.change(edit.lock, npc_id, memory_id)


class UnlockResource(TagResource):
    @operation("unlock_memory", MemorySerializer)
    def post(self, npc_id: int, memory_id: str) -> Any:
        """Unlock a memory: nights may change it again. It stays pinned."""
        return self.change(edit.unlock, npc_id, memory_id)


class ChangeListResource(Resource):
    @operation("list_acts", ActSerializer, many=True)
    def get(self, npc_id: int) -> Any:
        """List the changes made by hand that can be undone, newest first."""
        return self.ask(npc_id, lambda npc, who: list(reversed(undo_log.acts(npc))))


class UndoResource(Resource):
    @operation("undo", ActSerializer)
    def post(self, npc_id: int) -> Any:
        """Undo the last change made to this memory by hand."""
        return self.ask(npc_id, edit.undo)


# --- recall ---------------------------------------------------------------------------------------


class SearchResource(Resource):
    throttle_scope = "ai_memory_work"

    @operation("search", RecallSerializer, input=SearchQuery)
    def get(self, query: dict[str, Any], npc_id: int) -> Any:
        """Recall memories for a query, best first, with the parts of each score."""
        return self.ask(npc_id, _search, query)


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
    throttle_scope = "ai_memory_work"
    access_types = {"POST": "look"}

    @operation("preview_prompt", PreviewSerializer, input=PreviewLine)
    def post(self, line: dict[str, Any], npc_id: int) -> Any:
        """Show the exact prompt a line would send to the language model. Nothing is sent, said or
        remembered."""
        return self.ask(npc_id, lambda npc, who: preview.preview(npc, **line))


# --- people ---------------------------------------------------------------------------------------


class PersonListResource(Resource):
    @operation("list_people", page_of(PersonSerializer), input=PageQuery)
    def get(self, query: dict[str, Any], npc_id: int) -> Any:
        """List the people the NPC knows, the last seen first."""
        total, found = self.ask(npc_id, _people, query)
        return self.page(found, total, query)


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
    def get(self, npc_id: int, person: str) -> Any:
        """Show everything the NPC knows about a person, secrets included."""
        return self.ask(npc_id, lambda npc, who: inspect.person(npc, ids.person(npc, person)))

    @operation("erase_person", ErasedSerializer)
    def delete(self, npc_id: int, person: str) -> Any:
        """Erase a person from the NPC's memory for good. Requires Admin.

        `at_next_start`: the next reload clears traces in the free space of the SQLite database."""
        return self.ask(npc_id, _erase, person, timeout=ERASURE_TIMEOUT)


@defer.inlineCallbacks
def _erase(npc: Any, who: Any, person: str) -> Any:
    identity = ids.person(npc, person)
    erased = yield erase.erase_person(npc, identity)
    access.record(who, "erase person", npc, identity)
    return erased


# --- nights ---------------------------------------------------------------------------------------


class NightListResource(Resource):
    """The current night and the past ones."""

    @operation("list_nights", NightsSerializer)
    def get(self, npc_id: int) -> Any:
        """Show the progress of the current night, and what each pass of past nights did."""
        return self.ask(npc_id, _nights)

    @operation("start_night", StatusSerializer, input=NightStart, code=202)
    def post(self, start: dict[str, Any], npc_id: int) -> Any:
        """Send the NPC to sleep. Returns at once; poll `status` or `nights` for progress."""
        return self.ask(npc_id, _sleep, start["at_once"])


def _nights(npc: Any, who: Any) -> dict[str, Any]:
    return {"status": _status(npc, who), "nights": inspect.nights(npc)}


def _sleep(npc: Any, who: Any, at_once: bool) -> dict[str, Any]:
    if AssistantScript.of(npc).asleep:
        raise NotNow(f"{npc.key} is already asleep. Wake it first, or wait until it wakes up.")
    actions.start_night(npc, who, at_once=at_once)
    return _status(npc, who)


class WakeResource(Resource):
    @operation("wake", StatusSerializer, code=202)
    def post(self, npc_id: int) -> Any:
        """Wake the NPC as soon as it is safe. Unfinished passes wait for the next night."""
        return self.ask(npc_id, _wake)


def _wake(npc: Any, who: Any) -> dict[str, Any]:
    if not actions.wake(npc, who):
        raise NotNow(f"{npc.key} is already awake.")
    return _status(npc, who)


# --- numbers --------------------------------------------------------------------------------------


class GraphResource(Resource):
    throttle_scope = "ai_memory_work"

    @operation("show_links", GraphSerializer, input=GraphQuery)
    def get(self, query: dict[str, Any], npc_id: int) -> Any:
        """Show the most strongly linked memories and the links between them."""
        return self.ask(npc_id, lambda npc, who: inspect.graph(npc, query["limit"]))


class CostResource(Resource):
    @operation("show_cost", CostSerializer)
    def get(self, npc_id: int) -> Any:
        """Show today's (UTC) use of the language model by this NPC and by the whole game."""
        return self.ask(npc_id, lambda npc, who: inspect.cost(npc))


class StatsResource(Resource):
    throttle_scope = "ai_memory_work"

    @operation("show_stats", StatsSerializer)
    def get(self, npc_id: int) -> Any:
        """Show importance, emotions, growth and cost in numbers, as the charts do."""
        return self.ask(npc_id, lambda npc, who: inspect.stats(npc))


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
