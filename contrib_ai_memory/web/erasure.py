"""The staff pages that erase a person: from one NPC, or as a player has asked.

A page shows how much would go; what is shown there has to be typed before anything is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from twisted.internet import defer

from ..admin import audit, erase, game_npcs, ids, requests
from ..admin.operations import TABLE
from ..text import plural
from . import gate, tasks
from .actions import TaskFormView
from .forms import ConfirmForm
from .game_pages import GameView
from .views import is_number


@defer.inlineCallbacks
def _preview(npc: Any, identity: str) -> Any:
    """Return what an erasure would remove from one NPC: whose, under which name, how much."""
    counts = yield erase.preview_person(npc, identity)
    name = ids.name_of(npc, identity)
    whose = {"npc_id": npc.id, "npc": npc.key, "identity": identity, "name": name}
    return whose | {"counts": counts}


class ErasePersonView(TaskFormView):
    """Preview and confirmation of the erasure of a person from one NPC."""

    template = "ai_memory/erase_person.html"
    tab = "people"
    heading = "Erase person"
    operation = TABLE["erase"]

    def read(self, npc: Any, **where: str) -> Any:
        return _preview(npc, ids.person(npc, where["identity"]))

    def form_of(self, found: Any, *sent: Any) -> ConfirmForm:
        return ConfirmForm(found["name"], *sent)

    def act(self, npc: Any, who: Any, form: Any, **where: str) -> str:
        identity = ids.person(npc, where["identity"])
        name = ids.name_of(npc, identity)
        work = partial(_erase, [npc], who, identity)
        people = reverse("ai_memory:people", args=[npc.id])
        return tasks.start(who, f"Erase {name} from the memory of {npc.key}", people, work)

    def back(self, npc_id: int, **where: str) -> str:
        return reverse("ai_memory:person", args=[npc_id, where["identity"]])


@defer.inlineCallbacks
def _erase(npcs: Sequence[Any], who: Any, identity: str, note: Any) -> Any:
    """Erase a person from some NPCs, as a Deferred sentence of what was erased."""
    done = count(1)

    def progress(npc: Any) -> None:
        note(told=f"{next(done)} of {plural(len(npcs), 'NPC')} done.")

    for npc in npcs:
        audit.record(who, "erase a person", npc, identity)
    keys = {npc.dbref: npc.key for npc in npcs}
    erased: dict[str, erase.Erased] = yield erase.erase_everywhere(
        identity, progress=progress, npcs=npcs
    )
    told = [f"Erased from {keys[dbref]}: {each.summary()}." for dbref, each in erased.items()]
    left = erase.AT_NEXT_START if any(each.at_next_start for each in erased.values()) else ""
    told = told or ["There was nothing left to erase."]
    return " ".join(filter(None, [*told, erase.ELSEWHERE, left]))


# --- requests of players --------------------------------------------------------------------------


class RequestListView(GameView):
    """The players who asked to be forgotten."""

    template = "ai_memory/requests.html"
    title = "Requests to be forgotten"
    tab = "requests"

    @defer.inlineCallbacks
    def read(self, who: Any) -> Any:
        return {"asked": (yield requests.by_player(who))}


class RequestView(GameView):
    """Preview of one player's requests: grant them, which has to be confirmed, or drop them."""

    template = "ai_memory/request.html"
    title = "Request to be forgotten"
    tab = "requests"

    def get(self, request: HttpRequest, **where: Any) -> HttpResponse:
        return self._page(**where)

    def post(self, request: HttpRequest, **where: Any) -> HttpResponse:
        chosen = {int(each) for each in request.POST.getlist("npc") if is_number(each)}
        if "drop" in request.POST:
            dropped = self._ask(_drop, where["identity"], chosen)
            messages.success(request, f"{plural(dropped, 'request')} dropped. Nothing was erased.")
            return HttpResponseRedirect(reverse("ai_memory:requests"))
        return self._page(request.POST, chosen=chosen, **where)

    def _page(self, *sent: Any, identity: str, chosen: set[int] | None = None) -> HttpResponse:
        asked, going = self._ask(_going, identity)
        form = ConfirmForm(asked.name, *sent)
        if form.is_valid():  # from the NPCs that were shown; a request made since waits
            task = self._ask(_grant, identity, chosen)
            return HttpResponseRedirect(reverse("ai_memory:task", args=[task]))
        status = 400 if form.is_bound else 200
        return self.show(status=status, asked=asked, going=going, form=form)

    def _ask(self, work: Any, identity: str, chosen: set[int] | None = None) -> Any:
        """Return `work(who, asked, npcs)`: one player's requests, and the NPCs from which this
        visitor may erase, all or those that were chosen."""
        account, seconds = self.request.user.pk, gate.WHOLE_MEMORY
        return gate.ask(account, _with_requests, identity, chosen, work, timeout=seconds)


@defer.inlineCallbacks
def _with_requests(who: Any, identity: str, chosen: set[int] | None, work: Any) -> Any:
    known = yield requests.by_player(who)
    asked = next((each for each in known if each.identity == identity), None)
    if asked is None:
        raise requests.UnknownRequest("There is no such request; it may be granted already.")
    if not asked.may_erase:
        raise gate.NotPermitted("Granting and dropping requests takes the permission Admin.")
    numbers = [each.npc for each in asked.npcs if each.may_erase]
    npcs = [game_npcs.npc_of(each) for each in numbers if chosen is None or each in chosen]
    result = yield work(who, asked, [*filter(None, npcs)])
    return result


@defer.inlineCallbacks
def _going(_who: Any, asked: requests.Asked, npcs: Sequence[Any]) -> Any:
    going = []
    for npc in npcs:
        going.append((yield _preview(npc, asked.identity)))
    return asked, going


def _grant(who: Any, asked: requests.Asked, npcs: Sequence[Any]) -> str:
    work = partial(_erase, npcs, who, asked.identity)
    return tasks.start(
        who, f"Erase {asked.name} as they asked", reverse("ai_memory:requests"), work
    )


def _drop(who: Any, asked: requests.Asked, npcs: Sequence[Any]) -> int:
    return requests.drop(who, asked.identity, [npc.id for npc in npcs])
