"""The players' commands: `memories` lists who remembers them, `forgetme` has them forgotten."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from typing import Any

from evennia.utils.ansi import strip_ansi
from twisted.internet import defer

from .. import conf
from ..admin import audit, erase, requests
from ..text import plural
from .base import MemoryCommand
from .display import safe, table

COOLDOWN = 300.0  # seconds between two erasures by one player: each rewrites the store
NAMES_SHOWN = 10

_RELATIONS = {
    "stranger": "a stranger",
    "acquaintance": "an acquaintance",
    "friend": "a friend",
    "close": "close to them",
}
_HOW_TO_BE_FORGOTTEN = {
    "ask": "With forgetme you ask the staff to let them forget you.",
    "self": "With forgetme you let them forget you.",
    "off": "If you want to be forgotten, please ask the staff.",
}
_NOBODY = "Nobody here remembers you."


class CmdMemories(MemoryCommand):
    """
    see who remembers you

    Usage:
      memories

    Some characters in this game remember the people they meet: what was said
    to them and near them, and who said it. This command lists those who
    remember you, and how well they know you. To find out what exactly they
    remember, ask them.

    To be forgotten, see |whelp forgetme|n.
    """

    key = "memories"
    locks = "cmd:all()"
    help_category = "General"

    def func(self) -> None:
        self.run(self._list)

    @defer.inlineCallbacks
    def _list(self) -> Generator[Any, Any, None]:
        found: list[requests.Remembered] = yield requests.who_remembers(self.caller)
        rows = [(name, _relation(each)) for each, name in _known_to(self.caller, found)]
        how = _HOW_TO_BE_FORGOTTEN[conf.get().PLAYER_ERASURE]
        self.listing(
            "|wThose who remember you|n",
            [table(("who", "you are to them"), rows), how] if rows else [],
            _NOBODY,
        )


class CmdForgetMe(MemoryCommand):
    """
    have characters forget you

    Usage:
      forgetme            - be forgotten by everybody who remembers you
      forgetme <name>     - be forgotten by one of them

    The characters then forget what you said to them and near them, what they
    concluded from it, what they think of you, and anything others said about
    you. They will meet you as a stranger. This cannot be undone, so
    you are asked to confirm it first.

    Depending on the game you are forgotten at once, or the staff is asked to
    do it, or you have to ask the staff yourself. The command tells you which.

    To see who remembers you, see |whelp memories|n.
    """

    key = "forgetme"
    aliases = ("forget me",)
    locks = "cmd:all()"
    help_category = "General"

    def func(self) -> None:
        if conf.get().PLAYER_ERASURE == "off":
            self.tell(
                "In this game only the staff can have you forgotten. Please ask them. To see who "
                "remembers you: memories"
            )
        else:
            self.run(self._forget, self.args.strip())

    @defer.inlineCallbacks
    def _forget(self, typed: str) -> Generator[Any, Any, None]:
        """Confirm and carry out. NPCs that the player cannot see are never named; without a name
        they forget the player along with the others."""
        found: list[requests.Remembered] = yield requests.who_remembers(self.caller)
        known = _known_to(self.caller, found)
        if not known:
            self.tell(_NOBODY)
            return
        chosen = found
        if typed:
            known = _matching(typed, known)
            chosen = [each for each, _name in known]
        if not chosen:
            self.tell(f"Nobody called '{safe(typed)}' remembers you. See memories.")
            return
        names = ", ".join(dict.fromkeys(safe(name) for _each, name in known[:NAMES_SHOWN]))
        if len(known) > NAMES_SHOWN:
            names += f" and {len(known) - NAMES_SHOWN} more"
        at_once = conf.get().PLAYER_ERASURE == "self"
        yield self.confirm(
            f"Everything about you in the memory of {names} will be erased for good. Continue"
            if at_once
            else f"The staff will be asked to let {names} forget you for good. Continue",
            refused="They still remember you.",
        )
        if at_once:
            yield self._erase(chosen, names, everywhere=not typed)
        else:
            self._request(chosen)

    def _request(self, chosen: list[requests.Remembered]) -> None:
        new = requests.submit(self.caller, chosen)
        npcs = (each.npc.dbref for each in chosen)
        audit.record(self.caller, "ask to be forgotten by", None, *npcs)
        self.tell(
            "The staff will see your request. To see when it is done: memories"
            if new
            else "You have asked for that already. The staff will take care of it."
        )

    @defer.inlineCallbacks
    def _erase(
        self, chosen: list[requests.Remembered], names: str, *, everywhere: bool
    ) -> Generator[Any, Any, None]:
        """Erase at once; the store's files are rewritten once, however many NPCs forget."""
        player, now = self.caller.account or self.caller, time.monotonic()
        wait = COOLDOWN - (now - (player.ndb.ai_memory_forgotten or -COOLDOWN))
        if wait > 0:
            minutes = plural(math.ceil(wait / 60), "minute")
            self.tell(f"You were forgotten a short while ago. Try again in {minutes}.")
            return
        player.ndb.ai_memory_forgotten = now
        self.tell("This takes a while ...")
        for identity in dict.fromkeys(each.identity for each in chosen):  # may differ by NPC
            npcs = [each.npc for each in chosen if each.identity == identity]
            for npc in [None] if everywhere else npcs:
                audit.record(self.caller, "erase themselves", npc, identity)
            # everywhere: where others only spoke of them, too
            yield erase.erase_everywhere(identity, npcs=None if everywhere else npcs)
        self.tell(f"You are forgotten by {names}.")


Known = list[tuple[requests.Remembered, str]]


def _known_to(caller: Any, found: list[requests.Remembered]) -> Known:
    """Those whom the player may know of, with the name that the player sees: somebody may listen
    unseen, and a disguise holds."""
    return [
        (each, strip_ansi(each.npc.get_display_name(caller)))
        for each in found
        if each.npc.access(caller, "view")
    ]


def _matching(typed: str, known: Known) -> Known:
    """Those of that name; if there is none, those whose name contains it."""
    wanted = typed.lower()
    exact = [(each, name) for each, name in known if name.lower() == wanted]
    return exact or [(each, name) for each, name in known if wanted in name.lower()]


def _relation(remembered: requests.Remembered) -> str:
    relation = _RELATIONS.get(remembered.state, remembered.state)
    return f"{relation}; the staff has your request" if remembered.asked else relation
