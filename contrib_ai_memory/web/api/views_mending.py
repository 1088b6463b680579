"""The addresses that change something: memories, people, nights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from twisted.internet import defer

from ... import offload
from ...assistant import AssistantScript
from ...tending import audit, counting, erasing, ids, looking, mending, tracing
from . import serializers as told
from .answering import Busy, Tending, page
from .telling import does, many
from .views import status

ERASING_SECONDS = 60.0


class Memories(Tending):
    """The memories of one record."""

    @does("list_memories", many(told.Memory), asked=told.MemoriesAsked)
    def get(self, request: Request, npc_id: int) -> Response:
        """Facts, experiences, what it was taught, summaries or insights, newest first."""
        asked = self.asked(told.MemoriesAsked)
        found = self.ask(npc_id, lambda npc, who: looking.memories(npc, **asked))
        return page(request, told.Memory(found.memories, many=True).data, found.total, asked)

    @does("add_memory", told.Entry, body=told.MemoryAdded, code=201)
    def post(self, request: Request, npc_id: int) -> Response:
        """Give the NPC a memory: recalled at once, never cleaned away."""
        asked = self.asked(told.MemoryAdded)
        entry = self.ask(npc_id, lambda npc, who: mending.add(npc, who, **asked))
        return Response(told.Entry(entry).data, status=201)


class Memory(Tending):
    """One memory. Its id is its UUID, the beginning of one, or the number of a journal entry."""

    @does("show_memory", told.Shown)
    def get(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """One memory whole: evidence, links, what it ended and what ended it, history."""
        found = self.ask(npc_id, lambda npc, who: tracing.show(npc, memory_id))
        return Response(told.Shown(found).data)

    @does("edit_memory", told.Memory, body=told.MemoryEdited)
    def patch(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Change what a memory says, how important it is, how it felt. Undo takes that back."""
        asked = self.asked(told.MemoryEdited)
        memory = self.ask(npc_id, lambda npc, who: mending.edit(npc, who, memory_id, **asked))
        return Response(told.Memory(memory).data)

    @does("forget_memory", told.Forgotten, asked=told.Cascade)
    def delete(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Forget a memory; with `cascade` all that was drawn from it too. Undo takes that back."""
        cascade = self.asked(told.Cascade)["cascade"]
        gone = self.ask(npc_id, lambda npc, who: mending.forget(npc, who, memory_id, cascade))
        shorts = [ids.short(memory) for memory in gone.memories]
        plain = {"ids": shorts, "told": gone.told, "undoable": gone.undoable}
        return Response(told.Forgotten(plain).data)


class _Kept(Tending):
    act: Callable[..., Any]

    def _done(self, npc_id: int, memory_id: str) -> Response:
        act = type(self).act
        memory = self.ask(npc_id, lambda npc, who: mending.once(act(npc, who, memory_id)))
        return Response(told.Memory(memory).data)


class Pin(_Kept):
    """Exempts a memory from cleaning."""

    act = staticmethod(mending.pin)

    @does("pin_memory", told.Memory)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Pin a memory: nothing cleans it away."""
        return self._done(npc_id, memory_id)


class Unpin(_Kept):
    """Takes that back."""

    act = staticmethod(mending.unpin)

    @does("unpin_memory", told.Memory)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Let a memory be cleaned away again."""
        return self._done(npc_id, memory_id)


class Lock(_Kept):
    """Exempts a memory from change."""

    act = staticmethod(mending.lock)

    @does("lock_memory", told.Memory)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Pin a memory, and let no night change or end it."""
        return self._done(npc_id, memory_id)


class Unlock(_Kept):
    """Takes that back."""

    act = staticmethod(mending.unlock)

    @does("unlock_memory", told.Memory)
    def post(self, request: Request, npc_id: int, memory_id: str) -> Response:
        """Let the nights change a memory again; it stays pinned."""
        return self._done(npc_id, memory_id)


class Undo(Tending):
    """Takes back what was done by hand."""

    @does("undo", told.Act)
    def post(self, request: Request, npc_id: int) -> Response:
        """Take back the last change that somebody made to this memory by hand."""
        return Response(told.Act(self.ask(npc_id, mending.undo)).data)


# --- people ---------------------------------------------------------------------------------------


class Person(Tending):
    """Somebody whom the NPC knows, by identity or name."""

    deeds = {"DELETE": "erase"}

    @does("show_person", told.PersonPage)
    def get(self, request: Request, npc_id: int, person: str) -> Response:
        """All that the NPC knows of somebody, secrets too."""
        found = self.ask(npc_id, lambda npc, who: looking.person(npc, ids.person(npc, person)))
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
    erased = yield erasing.erase_person(npc, identity)
    audit.record(who, "erase person", npc, identity)
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
    return {"status": status(npc, who), "nights": counting.nights(npc)}


def _sleep(npc: Any, who: Any, at_once: bool) -> dict[str, Any]:
    script = AssistantScript.of(npc)
    if script.asleep:
        raise Busy(f"{npc.key} is asleep already. Wake it first, or wait for the morning.")
    script.fall_asleep()
    if at_once:
        night = script.sleep_through()
        night.addErrback(offload.log_failure, f"the night of #{npc.id}")
    audit.record(who, "sleep now" if at_once else "sleep", npc)
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
    script.wake()
    audit.record(who, "wake", npc)
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
    mending.pause(npc, who, on)
    return status(npc, who)
