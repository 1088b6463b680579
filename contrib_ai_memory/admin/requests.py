"""Erasures that players have asked for, kept until staff grant or drop them.

One ServerConfig entry holds them. A request ends by itself when the NPC no longer knows the person,
for whatever reason. Reactor thread.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator
from dataclasses import asdict, dataclass, replace
from typing import Any

from evennia.server.models import ServerConfig
from twisted.internet import defer

from ..errors import InputError
from ..records import now_iso
from ..store.attributes import as_json
from . import access, audit, game_npcs, ids, inspect
from .jobs import in_turns

KEY = "ai_memory_erasure_requests"
KEPT = 500
READ_AT_ONCE = 4  # NPCs between two turns of the reactor


class UnknownRequest(InputError):
    """There is no request with that number."""


@dataclass(frozen=True, slots=True)
class Request:
    """One person to be erased from the memory of one NPC; `name` is the character's own."""

    npc_id: int
    npc: str
    identity: str
    name: str
    when: str


@dataclass(frozen=True, slots=True)
class AskedNPC:
    """An NPC that a player asked to be forgotten by; `may_erase` says whether you may grant it."""

    npc: int
    name: str
    may_erase: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A player who asked with `forgetme` to be forgotten."""

    identity: str
    name: str
    since: str
    npcs: tuple[AskedNPC, ...] = ()

    @property
    def may_erase(self) -> bool:
        return any(each.may_erase for each in self.npcs)


@dataclass(frozen=True, slots=True)
class Remembered:
    """An NPC that knows somebody: under which identity, how well, and whether erasure was asked for
    already."""

    npc: Any
    identity: str
    state: str
    asked: bool = False


@defer.inlineCallbacks
def who_remembers(character: Any) -> Generator[Any, Any, list[Remembered]]:
    """List the NPCs that know a character, masked or not, by name, as a Deferred list."""
    asked = {(request.npc_id, request.identity) for request in _read()}

    def knows(npc: Any) -> Remembered | None:
        identity = npc.get_memory_identity(character) if npc.pk else ""
        known_as = ids.guises_of(npc.memory, identity) if npc.pk and npc != character else []
        if not known_as:
            return None
        state = inspect.person(npc, known_as[-1]).person.state
        return Remembered(npc, identity, state, (npc.id, identity) in asked)

    found = yield in_turns(knows, game_npcs.npcs(), READ_AT_ONCE)
    return [*filter(None, found)]


def submit(character: Any, remembered: list[Remembered]) -> int:
    """Ask staff to erase a character from these memories. Returns how many requests are new."""
    known = _read()
    there = {(request.npc_id, request.identity) for request in known}
    new = [
        Request(each.npc.id, each.npc.key, each.identity, character.key, now_iso())
        for each in remembered
        if (each.npc.id, each.identity) not in there
    ]
    if len(known) + len(new) > KEPT:  # `waiting` drops those that ended, staff the others
        raise InputError("So many requests wait already that no more are taken. Please ask staff.")
    _write([*known, *new])
    return len(new)


@defer.inlineCallbacks
def waiting() -> Generator[Any, Any, list[Request]]:
    """List the requests to be granted, oldest first, as a Deferred list.

    Requests that were granted, or whose NPC is gone, are dropped.
    """

    def is_over(request: Request) -> bool:
        npc = game_npcs.npc_of(request.npc_id)
        return npc is None or not ids.guises_of(npc.memory, request.identity)

    known = _read()
    over = yield in_turns(is_over, known, READ_AT_ONCE)
    _drop({each for each, ends in zip(known, over, strict=True) if ends}.__contains__)
    return _read()


@defer.inlineCallbacks
def by_player(who: Any) -> Generator[Any, Any, list[Asked]]:
    """List players who asked to be forgotten. Those of NPCs that you may look at, oldest first. To
    grant a request, erase the person from each NPC."""
    found: dict[str, Asked] = {}
    for each in (yield waiting()):
        npc = game_npcs.npc_of(each.npc_id)
        if access.may(who, npc, "look"):
            known = found.get(each.identity) or Asked(each.identity, each.name, each.when)
            asked = AskedNPC(each.npc_id, each.npc, access.may(who, npc, "erase"))
            found[each.identity] = replace(known, npcs=(*known.npcs, asked))
    return [*found.values()]


def drop(who: Any, identity: str, npc_ids: Collection[int]) -> int:
    """Drop the requests of one person to these NPCs, and erase nothing. Returns how many."""
    dropped = _drop(lambda each: each.identity == identity and each.npc_id in npc_ids)
    numbers = (f"#{each.npc_id}" for each in dropped)
    audit.record(who, "drop a request of", None, identity, *numbers)
    return len(dropped)


def drop_granted(npc: Any) -> None:
    """Drop requests to an NPC that were granted just now, with the names in them."""
    _drop(lambda each: each.npc_id == npc.id and not ids.guises_of(npc.memory, each.identity))


def _drop(over: Callable[[Request], bool]) -> list[Request]:
    known = _read()
    dropped = [each for each in known if over(each)]
    if dropped:
        _write([each for each in known if each not in dropped])
    return dropped


def _read() -> list[Request]:
    text = ServerConfig.objects.conf(KEY, default="")
    return [Request(**plain) for plain in json.loads(text)] if text else []


def _write(requests: list[Request]) -> None:
    if requests:
        text = as_json([asdict(request) for request in requests])
        ServerConfig.objects.conf(KEY, value=text)
    else:
        ServerConfig.objects.conf(KEY, delete=True)
