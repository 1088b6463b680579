"""The endpoints of the API. The docstrings of their methods appear in the OpenAPI schema."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.viewsets import ViewSetMixin
from twisted.internet import defer

from ..admin import audit, edit, erase, forget, ids, inspect, persona, prompt_preview, undo_log
from ..script import AssistantScript
from ..sleep.night import NotNow
from . import actions, erasure, game_pages, gate, views
from .resource import Resource, operation, page_of
from .serializers import (
    ActSerializer,
    AgendaItemSerializer,
    ChangeRecordSerializer,
    CostSerializer,
    EntrySerializer,
    ErasedSerializer,
    ForgetQuery,
    ForgetRequestSerializer,
    ForgottenSerializer,
    GraphQuery,
    GraphSerializer,
    JournalQuery,
    JournalSerializer,
    LearnedSerializer,
    LogQuery,
    MemoriesQuery,
    MemoryChanges,
    MemoryDetailSerializer,
    MemorySerializer,
    NewMemory,
    NewSchedule,
    NewSheetField,
    NewText,
    NightsSerializer,
    NightStart,
    NPCSerializer,
    NPCSettingsSerializer,
    PageQuery,
    PersonDetailSerializer,
    PersonSerializer,
    PreviewLine,
    PreviewSerializer,
    RecallSerializer,
    ScheduleSerializer,
    SearchQuery,
    SheetFieldSerializer,
    StatsSerializer,
    StatusSerializer,
    TraceSerializer,
)

ERASURE_TIMEOUT = TEACHING_TIMEOUT = 60.0  # seconds

VERSION = "1"
TITLE = "NPC memories"
DESCRIPTION = """\
Read, search and edit what NPCs remember, and start and end their nights. Permissions are those of
the in-game commands: Builder to look and to edit, Admin to erase, and each NPC's own locks
memory_look, memory_edit and memory_erase. With a session of the website, requests that change
something must carry its CSRF token. Every error is a problem (RFC 9457) whose `detail` is a
sentence. A POST with an Idempotency-Key may be sent again: it is done once."""


class MemoryAPI(ViewSetMixin, Resource):
    """All endpoints; the name of a method is the id of its operation in the schema."""

    # --- NPCs -------------------------------------------------------------------------------------

    @operation(page_of(NPCSerializer), input=PageQuery)
    def list_npcs(self, query: dict[str, Any]) -> Any:
        """List the NPCs with a memory that you may look at, by name."""
        wanted = query["text"], query["offset"], query["limit"]
        total, found = gate.ask(self.request.user.pk, game_pages.npcs, *wanted)
        return self.page(found, total, query)

    @operation(page_of(ChangeRecordSerializer), input=LogQuery)
    def list_log(self, query: dict[str, Any]) -> Any:
        """List who of the staff changed what, newest first, for NPCs that you may look at."""
        wanted = query["npc"], query["text"].lower().strip()
        found = gate.ask(self.request.user.pk, game_pages.log_records, *wanted)
        start = query["offset"]
        records = [record for record, _there in found[start : start + query["limit"]]]
        return self.page(records, len(found), query)

    @operation(ForgetRequestSerializer, many=True)
    def list_requests(self) -> Any:
        """List the players who asked to be forgotten, for NPCs that you may look at, oldest first.

        To grant a request, erase the person from each NPC."""
        return gate.ask(self.request.user.pk, erasure.asked_by_players)

    @operation(NPCSerializer)
    def show_npc(self, npc_id: int) -> Any:
        """Show one NPC's memory in numbers."""
        return self.ask(npc_id, lambda npc, who: inspect.overview(npc))

    @operation(NPCSettingsSerializer)
    def show_settings(self, npc_id: int) -> Any:
        """Show what can be set for one NPC: the value in use, and where it comes from."""
        return self.ask(npc_id, lambda npc, who: inspect.settings(npc))

    @operation(SheetFieldSerializer, many=True)
    def show_persona(self, npc_id: int) -> Any:
        """Show the NPC's persona sheet: what it answers about itself from."""
        return self.ask(npc_id, lambda npc, who: persona.fields(npc))

    @operation(SheetFieldSerializer, input=NewSheetField)
    def write_persona(self, new: dict[str, Any], npc_id: int) -> Any:
        """Write one field of the persona sheet; an empty text removes it."""
        return self.ask(npc_id, lambda npc, who: persona.write(npc, who, new["name"], new["text"]))

    @operation(StatusSerializer)
    def show_status(self, npc_id: int) -> Any:
        """Show the NPC's state and the progress of its night. Cheap enough to poll every second."""
        return self.ask(npc_id, _status)

    @operation(StatusSerializer)
    def pause(self, npc_id: int) -> Any:
        """Pause the NPC's memory: it perceives nothing, learns nothing and does not sleep."""
        return self.ask(npc_id, _pause, True)

    @operation(StatusSerializer)
    def resume(self, npc_id: int) -> Any:
        """Resume a paused memory."""
        return self.ask(npc_id, _pause, False)

    # --- journal and memories ---------------------------------------------------------------------

    @operation(JournalSerializer, input=JournalQuery)
    def read_journal(self, query: dict[str, Any], npc_id: int) -> Any:
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

    @operation(page_of(MemorySerializer), input=MemoriesQuery)
    def list_memories(self, query: dict[str, Any], npc_id: int) -> Any:
        """List facts, experiences, taught texts, summaries, insights or entries, newest first."""
        found = self.ask(npc_id, lambda npc, who: inspect.memories(npc, **query))
        return self.page(found.memories, found.total, query)

    @operation(EntrySerializer, input=NewMemory, code=201)
    def add_memory(self, new: dict[str, Any], npc_id: int) -> Any:
        """Give the NPC a memory. It can be recalled at once and is never pruned."""
        return self.ask(npc_id, lambda npc, who: edit.add(npc, who, **new))

    @operation(LearnedSerializer, input=NewText, throttle_scope="ai_memory_work")
    def teach(self, new: dict[str, Any], npc_id: int) -> Any:
        """Teach the NPC a text: what is new and informative in it is kept. This can be undone."""
        return self.ask(
            npc_id, lambda npc, who: edit.teach(npc, who, new["text"]), timeout=TEACHING_TIMEOUT
        )

    @operation(AgendaItemSerializer, many=True)
    def list_agenda(self, npc_id: int) -> Any:
        """List promises, debts, requests and plans, secrets included, the newest due date first."""
        return self.ask(npc_id, lambda npc, who: inspect.agenda(npc))

    @operation(MemoryDetailSerializer)
    def show_memory(self, npc_id: int, memory_id: str) -> Any:
        """Show one memory with its evidence, links, history, and what it superseded or what
        superseded it."""
        return self.ask(npc_id, lambda npc, who: inspect.show(npc, memory_id))

    @operation(MemorySerializer, input=MemoryChanges)
    def edit_memory(self, changes: dict[str, Any], npc_id: int, memory_id: str) -> Any:
        """Change a memory's text, importance, emotions or lesson. This can be undone.

        A new text supersedes the lines behind the memory (`journal_ids`) and whatever else tells
        the old text. To correct these lines too, edit them by their ids."""
        return self.ask(npc_id, lambda npc, who: edit.edit(npc, who, memory_id, **changes))

    @operation(ForgottenSerializer, input=ForgetQuery)
    def forget_memory(self, query: dict[str, Any], npc_id: int, memory_id: str) -> Any:
        """Forget a memory and, with `cascade`, everything derived from it. This can be undone."""
        cascade = query["cascade"]
        gone = self.ask(npc_id, lambda npc, who: forget.forget(npc, who, memory_id, cascade))
        shorts = [ids.short(memory) for memory in gone.memories]
        return {"ids": shorts, "told": gone.summary, "undoable": gone.undoable}

    @operation(TraceSerializer, throttle_scope="ai_memory_work")
    def trace_memory(self, npc_id: int, memory_id: str) -> Any:
        """Show what a memory was derived from, and what was derived from it."""
        return self.ask(npc_id, lambda npc, who: inspect.trace(npc, memory_id))

    @operation(MemorySerializer)
    def pin_memory(self, npc_id: int, memory_id: str) -> Any:
        """Pin a memory: it is never pruned."""
        return self.ask(npc_id, actions.once(edit.pin), memory_id)

    @operation(MemorySerializer)
    def unpin_memory(self, npc_id: int, memory_id: str) -> Any:
        """Unpin a memory: it may be pruned again."""
        return self.ask(npc_id, actions.once(edit.unpin), memory_id)

    @operation(MemorySerializer)
    def lock_memory(self, npc_id: int, memory_id: str) -> Any:
        """Lock a memory: it is pinned, and no night changes or supersedes it."""
        return self.ask(npc_id, actions.once(edit.lock), memory_id)

    @operation(MemorySerializer)
    def unlock_memory(self, npc_id: int, memory_id: str) -> Any:
        """Unlock a memory: nights may change it again. It stays pinned."""
        return self.ask(npc_id, actions.once(edit.unlock), memory_id)

    @operation(ActSerializer, many=True)
    def list_acts(self, npc_id: int) -> Any:
        """List the changes made by hand that can be undone, newest first."""
        return self.ask(npc_id, lambda npc, who: list(reversed(undo_log.acts(npc))))

    @operation(ActSerializer)
    def undo(self, npc_id: int) -> Any:
        """Undo the last change made to this memory by hand."""
        return self.ask(npc_id, edit.undo)

    # --- recall -----------------------------------------------------------------------------------

    @operation(RecallSerializer, input=SearchQuery, throttle_scope="ai_memory_work")
    def search(self, query: dict[str, Any], npc_id: int) -> Any:
        """Recall memories for a query, best first, with the parts of each score."""
        return self.ask(npc_id, _search, query)

    @operation(
        PreviewSerializer, input=PreviewLine, throttle_scope="ai_memory_work", access_type="look"
    )
    def preview_prompt(self, line: dict[str, Any], npc_id: int) -> Any:
        """Show what would be said to a line, and the exact prompt that it would send to a language
        model. Nothing is sent, said or remembered."""
        return self.ask(npc_id, lambda npc, who: prompt_preview.preview(npc, **line))

    # --- people -----------------------------------------------------------------------------------

    @operation(page_of(PersonSerializer), input=PageQuery)
    def list_people(self, query: dict[str, Any], npc_id: int) -> Any:
        """List the people the NPC knows, the last seen first."""
        total, found = self.ask(npc_id, _people, query)
        return self.page(found, total, query)

    @operation(PersonDetailSerializer)
    def show_person(self, npc_id: int, person: str) -> Any:
        """Show everything the NPC knows about a person, secrets included."""
        return self.ask(npc_id, lambda npc, who: inspect.person(npc, ids.person(npc, person)))

    @operation(ErasedSerializer, access_type="erase")
    def erase_person(self, npc_id: int, person: str) -> Any:
        """Erase a person from the NPC's memory for good. Requires Admin.

        `at_next_start`: the next reload clears traces in the free space of the SQLite database."""
        return self.ask(npc_id, _erase, person, timeout=ERASURE_TIMEOUT)

    # --- nights -----------------------------------------------------------------------------------

    @operation(NightsSerializer)
    def list_nights(self, npc_id: int) -> Any:
        """Show the progress of the current night, and what each pass of past nights did."""
        return self.ask(npc_id, _nights)

    @operation(StatusSerializer, input=NightStart, code=202)
    def start_night(self, start: dict[str, Any], npc_id: int) -> Any:
        """Send the NPC to sleep. Returns at once; poll `status` or `nights` for progress."""
        return self.ask(npc_id, _sleep, start["at_once"])

    @operation(StatusSerializer, code=202)
    def wake(self, npc_id: int) -> Any:
        """Wake the NPC as soon as it is safe. Unfinished passes wait for the next night."""
        return self.ask(npc_id, _wake)

    @operation(ScheduleSerializer)
    def show_schedule(self, npc_id: int) -> Any:
        """Show when the NPC falls asleep by itself."""
        return self.ask(npc_id, lambda npc, who: edit.schedule_of(npc))

    @operation(ScheduleSerializer, input=NewSchedule)
    def set_schedule(self, plan: dict[str, Any], npc_id: int) -> Any:
        """Set when the NPC falls asleep by itself."""
        return self.ask(npc_id, _schedule, plan)

    # --- numbers ----------------------------------------------------------------------------------

    @operation(GraphSerializer, input=GraphQuery, throttle_scope="ai_memory_work")
    def show_links(self, query: dict[str, Any], npc_id: int) -> Any:
        """Show the most strongly linked memories and the links between them."""
        return self.ask(npc_id, lambda npc, who: inspect.graph(npc, **query))

    @operation(CostSerializer)
    def show_cost(self, npc_id: int) -> Any:
        """Show today's (UTC) use of the language model by this NPC and by the whole game."""
        return self.ask(npc_id, lambda npc, who: inspect.cost(npc))

    @operation(StatsSerializer, throttle_scope="ai_memory_work")
    def show_stats(self, npc_id: int) -> Any:
        """Show importance, emotions, growth and cost in numbers, as the charts do."""
        return self.ask(npc_id, lambda npc, who: inspect.stats(npc))


# --- on the reactor thread ------------------------------------------------------------------------


def _status(npc: Any, who: Any) -> dict[str, Any]:
    return {"state": inspect.state_of(npc), "night": views.night_progress(npc)}


def _pause(npc: Any, who: Any, on: bool) -> dict[str, Any]:
    edit.pause(npc, who, on)
    return _status(npc, who)


def _journal(npc: Any, who: Any, query: dict[str, Any]) -> Any:
    entity = ids.person(npc, query["entity"]) if query["entity"].strip() else ""
    return inspect.journal(npc, **query | {"entity": entity})


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


@defer.inlineCallbacks
def _people(npc: Any, who: Any, query: dict[str, Any]) -> Any:
    text = query["text"].lower().strip()
    total = sum(text in each.name.lower() for each in npc.memory.people)
    people = yield inspect.people(npc, **query)
    return total, people


@defer.inlineCallbacks
def _erase(npc: Any, who: Any, person: str) -> Any:
    identity = ids.person(npc, person)
    erased = yield erase.erase_person(npc, identity)
    audit.record(who, "erase person", npc, identity)
    return erased


def _nights(npc: Any, who: Any) -> dict[str, Any]:
    return {"status": _status(npc, who), "nights": inspect.nights(npc)}


def _sleep(npc: Any, who: Any, at_once: bool) -> dict[str, Any]:
    if AssistantScript.of(npc).asleep:
        raise NotNow(f"{npc.key} is already asleep. Wake it first, or wait until it wakes up.")
    actions.start_night(npc, who, at_once=at_once)
    return _status(npc, who)


def _schedule(npc: Any, who: Any, plan: dict[str, Any]) -> edit.Schedule:
    edit.set_schedule(npc, who, **plan)
    return edit.schedule_of(npc)


def _wake(npc: Any, who: Any) -> dict[str, Any]:
    if not actions.wake(npc, who):
        raise NotNow(f"{npc.key} is already awake.")
    return _status(npc, who)


# --- the API itself -------------------------------------------------------------------------------


class SchemaResource(Resource, SpectacularJSONAPIView):
    """The OpenAPI schema, for the URL under which the game includes the API."""

    renderer_classes = SpectacularJSONAPIView.renderer_classes

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
