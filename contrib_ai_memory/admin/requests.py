"""Erasures that players have asked for, kept until staff grant or drop them.

One ServerConfig entry holds them. A request ends by itself when the NPC no longer knows the person,
for whatever reason. Reactor thread.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Generator
from dataclasses import asdict, dataclass
from typing import Any

from evennia.server.models import ServerConfig
from twisted.internet import defer

from .. import offload
from ..errors import InputError
from ..records import now_iso
from ..store.attributes import as_json
from . import access, game_npcs, ids, inspect

KEY = "ai_memory_erasure_requests"
KEPT = 500
READ_AT_ONCE = 4  # NPCs between two turns of the reactor


class UnknownRequest(InputError):
    """There is no request with that number."""


class TooMany(InputError):
    """The list of requests is full."""


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
    npcs: tuple[AskedNPC, ...]

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
    found = []
    asked = {(request.npc_id, request.identity) for request in _read()}
    for number, npc in enumerate(game_npcs.npcs()):
        if npc == character or not npc.pk:
            continue
        identity = npc.get_memory_identity(character)
        if known_as := ids.guises_of(npc.memory, identity):
            person = inspect.person(npc, known_as[-1]).person
            there = (npc.id, identity) in asked
            found.append(Remembered(npc, identity, person.state, there))
        if number % READ_AT_ONCE == 0:
            yield offload.breathe()
    return found


def submit(character: Any, remembered: list[Remembered]) -> int:
    """Ask staff to erase a character from these memories. Returns how many requests are new.

    Raises:
        TooMany
    """
    known = _read()
    there = {(request.npc_id, request.identity) for request in known}
    new = [
        Request(each.npc.id, each.npc.key, each.identity, character.key, now_iso())
        for each in remembered
        if (each.npc.id, each.identity) not in there
    ]
    if len(known) + len(new) > KEPT:  # `waiting` drops those that ended, staff the others
        raise TooMany("So many requests wait already that no more are taken. Please ask staff.")
    _write([*known, *new])
    return len(new)


@defer.inlineCallbacks
def waiting() -> Generator[Any, Any, list[Request]]:
    """List the requests to be granted, oldest first, as a Deferred list.

    Requests that were granted, or whose NPC is gone, are dropped.
    """
    known, over = [], set()
    for number, request in enumerate(_read(), start=1):
        npc = game_npcs.npc_of(request.npc_id)
        if npc is not None and ids.guises_of(npc.memory, request.identity):
            known.append(request)
        else:
            over.add(request)
        if number % READ_AT_ONCE == 0:
            yield offload.breathe()
    if over:
        _write([request for request in _read() if request not in over])
    return known


@defer.inlineCallbacks
def by_player(who: Any) -> Generator[Any, Any, list[Asked]]:
    """List players who asked to be forgotten. Those of NPCs that you may look at, oldest first. To
    grant a request, erase the person from each NPC."""
    known: list[Request] = yield waiting()
    found: dict[str, list[tuple[Request, AskedNPC]]] = {}
    for each in known:
        npc = game_npcs.npc_of(each.npc_id)
        if access.may(who, npc, "look"):
            asked = AskedNPC(each.npc_id, each.npc, access.may(who, npc, "erase"))
            found.setdefault(each.identity, []).append((each, asked))
    return [
        Asked(identity, of_one[0][0].name, of_one[0][0].when, tuple(asked for _, asked in of_one))
        for identity, of_one in found.items()
    ]


def drop(identity: str, npc_ids: Collection[int]) -> list[Request]:
    """Drop the requests of one person to these NPCs, and erase nothing. Returns them."""
    known = _read()
    dropped = [each for each in known if each.identity == identity and each.npc_id in npc_ids]
    if dropped:
        _write([request for request in known if request not in dropped])
    return dropped


def drop_granted(npc: Any) -> None:
    """Drop requests to an NPC that were granted just now, with the names in them."""
    known = _read()
    left = [
        each for each in known if each.npc_id != npc.id or ids.guises_of(npc.memory, each.identity)
    ]
    if len(left) < len(known):
        _write(left)


def _read() -> list[Request]:
    text = ServerConfig.objects.conf(KEY, default="")
    return [Request(**plain) for plain in json.loads(text)] if text else []


def _write(requests: list[Request]) -> None:
    if requests:
        text = as_json([asdict(request) for request in requests])
        ServerConfig.objects.conf(KEY, value=text)
    else:
        ServerConfig.objects.conf(KEY, delete=True)
