"""The staff pages that erase a person: from one NPC, or as a player has asked.

A page shows how much would go; what is shown there has to be typed before anything is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from twisted.internet import defer

from ..admin import access, audit, erase, ids, requests
from ..text import plural
from . import gate, tasks
from .actions import FormView
from .forms import ConfirmForm
from .game_pages import GameView
from .views import is_number

_KEPT = "Other NPCs may still remember them, and earlier exports and backups still contain them."


@dataclass(frozen=True, slots=True)
class Going:
    """What an erasure would remove: whose, under which name, and how much of it."""

    identity: str
    name: str
    counts: erase.Erased


class ErasePersonView(FormView):
    """Preview and confirmation of the erasure of a person from one NPC."""

    template = "ai_memory/erase_person.html"
    tab = "people"
    access_type = "erase"
    timeout = gate.WHOLE_MEMORY
    heading = "Erase person"
    about = (
        "Everything about this person is erased for good: what they said and what was said to "
        "them, what was derived from it, their profile, and what other NPCs heard of it. What "
        "others said stays. This cannot be undone."
    )
    button = "Erase"
    danger = True

    @defer.inlineCallbacks
    def read(self, npc: Any, *where: str) -> Any:
        identity = ids.person(npc, *where)
        counts = yield erase.preview_person(npc, identity)
        return Going(identity, known_as(npc, identity), counts)

    def form(self, found: Going, data: Any = None, files: Any = None) -> ConfirmForm:
        return ConfirmForm(found.name, data)

    def act(self, npc: Any, who: Any, form: Any, *where: str) -> str:
        identity = ids.person(npc, *where)
        name = known_as(npc, identity)
        work = partial(_erase, [npc], who, identity)
        people = reverse("ai_memory:people", args=[npc.id])
        return tasks.start(who, f"Erase {name} from the memory of {npc.key}", people, work)

    def after(self, request: HttpRequest, npc_id: int, task: str, *where: str) -> HttpResponse:
        return HttpResponseRedirect(reverse("ai_memory:task", args=[task]))

    def back(self, npc_id: int, *where: str) -> str:
        return reverse("ai_memory:person", args=[npc_id, *where])


def known_as(npc: Any, identity: str) -> str:
    """Return the name by which an NPC knows somebody; their identity if it knows none."""
    memory = npc.memory
    profile = memory.profiles.get(identity)
    return memory.people.name_of(identity) or (profile.name if profile else "") or identity


@defer.inlineCallbacks
def _erase(npcs: Sequence[Any], who: Any, identity: str, note: Any) -> Any:
    """Erase a person from some NPCs, as a Deferred sentence of what was erased."""
    done = 0

    def progress(npc: Any) -> None:
        nonlocal done
        done += 1
        note(told=f"{done} of {plural(len(npcs), 'NPC')} done.")

    for npc in npcs:
        audit.record(who, "erase a person", npc, identity)
    keys = {npc.dbref: npc.key for npc in npcs}
    erased: dict[str, erase.Erased] = yield erase.erase_from(npcs, identity, progress=progress)
    told = [f"Erased from {keys[dbref]}: {each.summary()}." for dbref, each in erased.items()]
    left = next((each.left_on_disk for each in erased.values() if each.at_next_start), "")
    return " ".join(filter(None, [*(told or ["There was nothing left to erase."]), _KEPT, left]))


# --- requests of players --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """The requests of one player: to be erased from `npcs`, each an id, a name and whether the
    visitor may erase there."""

    identity: str
    name: str
    since: str
    npcs: tuple[tuple[int, str, bool], ...]

    @property
    def may_erase(self) -> bool:
        return any(may for _id, _key, may in self.npcs)


@defer.inlineCallbacks
def asked_by_players(who: Any) -> Any:
    """Return the requests about NPCs that `who` may look at, by player, oldest first."""
    waiting: list[requests.Request] = yield requests.waiting()
    found: dict[str, list[requests.Request]] = {}
    for each in waiting:
        if access.may(who, requests.npc_of(each), "look"):
            found.setdefault(each.identity, []).append(each)
    return [
        Asked(identity, of_one[0].name, of_one[0].when, tuple(_npcs(who, of_one)))
        for identity, of_one in found.items()
    ]


def _npcs(who: Any, asked: Sequence[requests.Request]) -> Any:
    for each in asked:
        yield each.npc_id, each.npc, access.may(who, requests.npc_of(each), "erase")


class RequestListView(GameView):
    """The players who asked to be forgotten."""

    template = "ai_memory/requests.html"
    title = "Requests to be forgotten"
    tab = "requests"

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.show(asked=gate.ask(request.user.pk, asked_by_players))


@dataclass(frozen=True, slots=True)
class GoingFrom:
    """What granting a request would remove from one NPC."""

    npc_id: int
    npc: str
    counts: erase.Erased


class RequestView(GameView):
    """Preview of one player's requests: grant them, which has to be confirmed, or drop them."""

    template = "ai_memory/request.html"
    title = "Request to be forgotten"
    tab = "requests"

    def get(self, request: HttpRequest, identity: str) -> HttpResponse:
        asked, going = self._look(identity)
        return self._page(asked, going, ConfirmForm(asked.name))

    def post(self, request: HttpRequest, identity: str) -> HttpResponse:
        chosen = {int(each) for each in request.POST.getlist("npc") if is_number(each)}
        if "drop" in request.POST:
            count = gate.ask(request.user.pk, _drop, identity, chosen)
            messages.success(request, f"{plural(count, 'request')} dropped. Nothing was erased.")
            return HttpResponseRedirect(reverse("ai_memory:requests"))
        asked, going = self._look(identity)
        form = ConfirmForm(asked.name, request.POST)
        if form.is_valid():
            task = gate.ask(request.user.pk, _grant, identity, chosen)
            return HttpResponseRedirect(reverse("ai_memory:task", args=[task]))
        response = self._page(asked, going, form)
        response.status_code = 400
        return response

    def _look(self, identity: str) -> tuple[Asked, list[GoingFrom]]:
        return gate.ask(self.request.user.pk, _going, identity, timeout=gate.WHOLE_MEMORY)

    def _page(self, asked: Asked, going: list[GoingFrom], form: ConfirmForm) -> HttpResponse:
        return self.show(asked=asked, going=going, form=form)


@defer.inlineCallbacks
def _of(who: Any, identity: str) -> Any:
    """Return the requests of one player, of NPCs from which `who` may erase.

    Raises:
        requests.UnknownRequest, gate.NotPermitted
    """
    known = yield asked_by_players(who)
    asked = next((each for each in known if each.identity == identity), None)
    if asked is None:
        raise requests.UnknownRequest("There is no such request; it may be granted already.")
    if not asked.may_erase:
        raise gate.NotPermitted("Granting and dropping requests takes the permission Admin.")
    return asked


def _npcs_of(asked: Asked, chosen: set[int] | None = None) -> list[Any]:
    return [
        npc
        for npc_id, _key, may in asked.npcs
        if may and (chosen is None or npc_id in chosen)
        if (npc := gate.find_npc(npc_id)) is not None
    ]


@defer.inlineCallbacks
def _going(who: Any, identity: str) -> Any:
    asked = yield _of(who, identity)
    going = []
    for npc in _npcs_of(asked):
        counts = yield erase.preview_person(npc, identity)
        going.append(GoingFrom(npc.id, npc.key, counts))
    return asked, going


@defer.inlineCallbacks
def _grant(who: Any, identity: str, chosen: set[int]) -> Any:
    """Start the erasure at the NPCs that were shown; a request made since waits."""
    asked = yield _of(who, identity)
    npcs = _npcs_of(asked, chosen)
    work = partial(_erase, npcs, who, identity)
    heading = f"Erase {asked.name} as they asked"
    return tasks.start(who, heading, reverse("ai_memory:requests"), work)


@defer.inlineCallbacks
def _drop(who: Any, identity: str, chosen: set[int]) -> Any:
    asked = yield _of(who, identity)
    npcs = [npc.id for npc in _npcs_of(asked, chosen)]
    dropped = requests.drop_of(identity, npcs)
    numbers = (f"#{each.npc_id}" for each in dropped)
    audit.record(who, "drop a request of", None, identity, *numbers)
    return len(dropped)
