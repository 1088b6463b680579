"""The addresses that look: NPCs, journal, memories, search, people, links, numbers.

The addresses that change something: memories, people, nights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from twisted.internet import defer

from ... import offload
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
from ...records import RecallResult
from ...script import AssistantScript
from .. import bridge, gate
from ..views import night_now
from . import serializers as told
from .openapi import does, many
from .resource import Busy, Tending, page


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
    named = [npc for npc in inspect.npcs() if wanted in npc.key.lower()]
    found = [npc for npc in named if access.may(who, npc, "look")]
    overviews = yield inspect.overviews(found[start : start + asked["limit"]])
    return len(found), overviews


class Npc(Tending):
    """One NPC."""

    @does("show_npc", told.Npc)
    def get(self, request: Request, npc_id: int) -> Response:
        """One NPC's memory in numbers."""
        overview = self.ask(npc_id, lambda npc, who: inspect.overview(npc))
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
    return inspect.journal(npc, **asked | {"entity": entity})


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
        found = self.ask(npc_id, lambda npc, who: provenance.trace(npc, memory_id))
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
    people = yield inspect.people(npc, **asked)
    return total, people


class Graph(Tending):
    """How memories are linked."""

    throttle_scope = "ai_memory_work"

    @does("show_links", told.Graph, asked=told.GraphAsked)
    def get(self, request: Request, npc_id: int) -> Response:
        """The strongest links and what they link; `total` counts them all."""
        limit = self.asked(told.GraphAsked)["limit"]
        found = self.ask(npc_id, lambda npc, who: inspect.graph(npc, limit))
        return Response(told.Graph(found).data)


class Cost(Tending):
    """What language cost."""

    @does("show_cost", told.Cost)
    def get(self, request: Request, npc_id: int) -> Response:
        """What the language model cost today (UTC), this NPC and the whole game."""
        return Response(told.Cost(self.ask(npc_id, lambda npc, who: stats.cost(npc))).data)


class Stats(Tending):
    """How a memory has grown."""

    throttle_scope = "ai_memory_work"

    @does("show_stats", told.Stats)
    def get(self, request: Request, npc_id: int) -> Response:
        """Importance, emotions, growth and cost in numbers: what the charts show."""
        return Response(told.Stats(self.ask(npc_id, lambda npc, who: stats.stats(npc))).data)


class Status(Tending):
    """What an NPC is doing."""

    @does("show_status", told.Status)
    def get(self, request: Request, npc_id: int) -> Response:
        """Whether it is awake, and how far its night is: cheap enough to be asked every second."""
        return Response(told.Status(self.ask(npc_id, status)).data)


def status(npc: Any, who: Any) -> dict[str, Any]:
    """What `Status` tells, as plain data."""
    return {"state": inspect.state_of(npc), "night": night_now(npc)}


class Preview(Tending):
    """The prompt of an answer."""

    throttle_scope = "ai_memory_work"
    deeds = {"POST": "look"}

    @does("preview_prompt", told.Preview, body=told.Line)
    def post(self, request: Request, npc_id: int) -> Response:
        """The exact prompt that a line would send to the language model. Nothing is sent, said or
        remembered."""
        line = self.asked(told.Line)
        found = self.ask(npc_id, lambda npc, who: preview.preview(npc, **line))
        return Response(told.Preview(found).data)


class Acts(Tending):
    """What was changed by hand."""

    @does("list_acts", told.Act(many=True))
    def get(self, request: Request, npc_id: int) -> Response:
        """What was changed by hand and can be undone, newest first."""
        found = self.ask(npc_id, lambda npc, who: list(reversed(undo_log.acts(npc))))
        return Response(told.Act(found, many=True).data)


class Nowhere(Tending):
    """What is no address of the API: said in JSON, as everything here is."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        self.http_method_names = ()  # whatever the method is
        return super().dispatch(request, *args, **kwargs)

    def http_method_not_allowed(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        raise Http404("There is no such address here. openapi.json tells which there are.")


# --- views_mending --------------------------------------------------------------------------------

ERASING_SECONDS = 60.0


class Memories(Tending):
    """The memories of one record."""

    @does("list_memories", many(told.Memory), asked=told.MemoriesAsked)
    def get(self, request: Request, npc_id: int) -> Response:
        """Facts, experiences, what it was taught, summaries or insights, newest first."""
        asked = self.asked(told.MemoriesAsked)
        found = self.ask(npc_id, lambda npc, who: inspect.memories(npc, **asked))
        return page(request, told.Memory(found.memories, many=True).data, found.total, asked)

    @does("add_memory", told.Entry, body=told.MemoryAdded, code=201)
    def post(self, request: Request, npc_id: int) -> Response:
        """Give the NPC a memory: recalled at once, never cleaned away."""
        asked = self.asked(told.MemoryAdded)
        entry = self.ask(npc_id, lambda npc, who: edit.add(npc, who, **asked))
        return Response(told.Entry(entry).data, status=201)


class Memory(Tending):
    """One memory. Its id is its UUID, the beginning of one, or the number of a journal entry."""

    @does("show_memory", told.Shown)
    def get(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """One memory whole: evidence, links, what it ended and what ended it, history."""
        found = self.ask(npc_id, lambda npc, who: provenance.show(npc, memory_id))
        return Response(told.Shown(found).data)

    @does("edit_memory", told.Memory, body=told.MemoryEdited)
    def patch(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Change what a memory says, how important it is, how it felt. Undo takes that back."""
        asked = self.asked(told.MemoryEdited)
        memory = self.ask(npc_id, lambda npc, who: edit.edit(npc, who, memory_id, **asked))
        return Response(told.Memory(memory).data)

    @does("forget_memory", told.Forgotten, asked=told.Cascade)
    def delete(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Forget a memory; with `cascade` all that was drawn from it too. Undo takes that back."""
        cascade = self.asked(told.Cascade)["cascade"]
        gone = self.ask(npc_id, lambda npc, who: forget.forget(npc, who, memory_id, cascade))
        shorts = [ids.short(memory) for memory in gone.memories]
        plain = {"ids": shorts, "told": gone.summary, "undoable": gone.undoable}
        return Response(told.Forgotten(plain).data)


class _Kept(Tending):
    act: Callable[..., Any]

    def _done(self, npc_id: int, memory_id: str) -> Response:
        act = type(self).act
        memory = self.ask(npc_id, lambda npc, who: edit.accept_done(act(npc, who, memory_id)))
        return Response(told.Memory(memory).data)


class Pin(_Kept):
    """Exempts a memory from cleaning."""

    act = staticmethod(edit.pin)

    @does("pin_memory", told.Memory)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Pin a memory: nothing cleans it away."""
        return self._done(npc_id, memory_id)


class Unpin(_Kept):
    """Takes that back."""

    act = staticmethod(edit.unpin)

    @does("unpin_memory", told.Memory)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Let a memory be cleaned away again."""
        return self._done(npc_id, memory_id)


class Lock(_Kept):
    """Exempts a memory from change."""

    act = staticmethod(edit.lock)

    @does("lock_memory", told.Memory)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Pin a memory, and let no night change or end it."""
        return self._done(npc_id, memory_id)


class Unlock(_Kept):
    """Takes that back."""

    act = staticmethod(edit.unlock)

    @does("unlock_memory", told.Memory)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Let the nights change a memory again; it stays pinned."""
        return self._done(npc_id, memory_id)


class Undo(Tending):
    """Takes back what was done by hand."""

    @does("undo", told.Act)
    def post(self, request: Request, npc_id: int) -> Response:
        """Take back the last change that somebody made to this memory by hand."""
        return Response(told.Act(self.ask(npc_id, edit.undo)).data)


# --- people ---------------------------------------------------------------------------------------


class Person(Tending):
    """Somebody whom the NPC knows, by identity or name."""

    deeds = {"DELETE": "erase"}

    @does("show_person", told.PersonPage)
    def get(self, request: Request, npc_id: int, person: str) -> Response:
        """All that the NPC knows of somebody, secrets too."""
        found = self.ask(npc_id, lambda npc, who: inspect.person(npc, ids.person(npc, person)))
        return Response(told.PersonPage(found).data)

    @does("erase_person", told.Erased)
    def delete(self, request: Request, npc_id: int, person: str) -> Response:
        """Erase a person from the NPC's memory, everywhere and for ever. It takes Admin.

        `at_next_start`: the next reload clears what SQLite keeps in its free space."""
        erased = self.ask(npc_id, _erase, person, timeout=ERASING_SECONDS)
        return Response(told.Erased(erased).data)


@defer.inlineCallbacks
def _erase(npc: Any, who: Any, person: str) -> Any:
    identity = ids.person(npc, person)
    erased = yield erasure.erase_person(npc, identity)
    access.record(who, "erase person", npc, identity)
    return erased


# --- nights ---------------------------------------------------------------------------------------


class Nights(Tending):
    """Sleep."""

    @does("list_nights", told.Nights)
    def get(self, request: Request, npc_id: int) -> Response:
        """Where the present night stands, and what each pass of the last ones did."""
        return Response(told.Nights(self.ask(npc_id, _nights)).data)

    @does("start_night", told.Status, body=told.NightAsked, code=202)
    def post(self, request: Request, npc_id: int) -> Response:
        """Send the NPC to sleep. Answered at once; `status` and `nights` tell how it goes on."""
        at_once = self.asked(told.NightAsked)["at_once"]
        return Response(told.Status(self.ask(npc_id, _sleep, at_once)).data, status=202)


def _nights(npc: Any, who: Any) -> dict[str, Any]:
    return {"status": status(npc, who), "nights": stats.nights(npc)}


def _sleep(npc: Any, who: Any, at_once: bool) -> dict[str, Any]:
    script = AssistantScript.of(npc)
    if script.asleep:
        raise Busy(f"{npc.key} is asleep already. Wake it first, or wait for the morning.")
    script.sleep.begin()
    if at_once:
        night = script.sleep.whole_night()
        night.addErrback(offload.log_failure, f"the night of #{npc.id}")
    access.record(who, "sleep now" if at_once else "sleep", npc)
    return status(npc, who)


class Wake(Tending):
    """Ends a night."""

    @does("wake", told.Status, code=202)
    def post(self, request: Request, npc_id: int) -> Response:
        """Wake the NPC as soon as that is safe; what the night has not done waits for the next."""
        return Response(told.Status(self.ask(npc_id, _wake)).data, status=202)


def _wake(npc: Any, who: Any) -> dict[str, Any]:
    script = AssistantScript.of(npc)
    if not script.asleep:
        raise Busy(f"{npc.key} is awake.")
    script.sleep.wake()
    access.record(who, "wake", npc)
    return status(npc, who)


class Pause(Tending):
    """Stops a memory."""

    @does("pause", told.Status)
    def post(self, request: Request, npc_id: int) -> Response:
        """Pause the NPC: it neither perceives nor learns nor sleeps."""
        return Response(told.Status(self.ask(npc_id, _pause, True)).data)


class Resume(Tending):
    """Lets it go on."""

    @does("resume", told.Status)
    def post(self, request: Request, npc_id: int) -> Response:
        """Let a paused NPC go on."""
        return Response(told.Status(self.ask(npc_id, _pause, False)).data)


def _pause(npc: Any, who: Any, on: bool) -> dict[str, Any]:
    edit.pause(npc, who, on)
    return status(npc, who)
