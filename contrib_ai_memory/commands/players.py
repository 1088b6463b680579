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
MATCHES_ERASED = 3  # NPCs that one name may match: each erasure by name rewrites the store
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
        found = [each for each in found if _may_know_of(self.caller, each)]
        if not found:
            self.tell(_NOBODY)
            return
        rows = [(_name(self.caller, each), _relation(each)) for each in found]
        self.page(
            "|wThose who remember you|n",
            table(("who", "you are to them"), rows),
            _HOW_TO_BE_FORGOTTEN[conf.get().PLAYER_ERASURE],
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
        visible = {
            each.npc.id: _name(self.caller, each)
            for each in found
            if _may_know_of(self.caller, each)
        }
        if not visible:
            self.tell(_NOBODY)
            return
        chosen = _matching(typed, found, visible) if typed else found
        if not chosen:
            self.tell(f"Nobody called '{safe(typed)}' remembers you. See memories.")
            return
        shown = [safe(visible[each.npc.id]) for each in chosen if each.npc.id in visible]
        names = ", ".join(dict.fromkeys(shown[:NAMES_SHOWN]))
        if len(shown) > NAMES_SHOWN:
            names += f" and {len(shown) - NAMES_SHOWN} more"
        at_once = conf.get().PLAYER_ERASURE == "self"
        if at_once and typed and len(chosen) > MATCHES_ERASED:
            self.tell(
                f"'{safe(typed)}' matches {len(chosen)}: {names}. Type more of the name, or "
                "forgetme alone for everybody."
            )
            return
        sure = yield self.confirm(
            f"Everything about you in the memory of {names} will be erased for good. Continue"
            if at_once
            else f"The staff will be asked to let {names} forget you for good. Continue",
            refused="They still remember you.",
        )
        if sure and at_once:
            yield self._erase(chosen, names, everywhere=not typed)
        elif sure:
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
        """Erase at once; everywhere rewrites the store's files once, however many NPCs forget."""
        player, now = self.caller.account or self.caller, time.monotonic()
        wait = COOLDOWN - (now - (player.ndb.ai_memory_forgotten or -COOLDOWN))
        if wait > 0:
            minutes = plural(math.ceil(wait / 60), "minute")
            self.tell(f"You were forgotten a short while ago. Try again in {minutes}.")
            return
        player.ndb.ai_memory_forgotten = now
        self.tell("This takes a while ...")
        if everywhere:
            for identity in dict.fromkeys(each.identity for each in chosen):  # may differ by NPC
                audit.record(self.caller, "erase themselves from", None, identity)
                yield erase.erase_everywhere(identity)
        else:
            for each in chosen:
                audit.record(self.caller, "erase themselves", each.npc, each.identity)
                yield erase.erase_person(each.npc, each.identity)
        self.tell(f"You are forgotten by {names}.")


def _matching(
    typed: str, found: list[requests.Remembered], visible: dict[int, str]
) -> list[requests.Remembered]:
    """The visible NPCs of that name; if there is none, those whose name contains it."""
    wanted = typed.lower()
    named = [(each, visible[each.npc.id].lower()) for each in found if each.npc.id in visible]
    exact = [each for each, name in named if name == wanted]
    return exact or [each for each, name in named if wanted in name]


def _may_know_of(caller: Any, remembered: requests.Remembered) -> bool:
    """Whether the player may learn that the NPC exists: one may be listening unseen."""
    return bool(remembered.npc.access(caller, "view"))


def _relation(remembered: requests.Remembered) -> str:
    relation = _RELATIONS.get(remembered.state, remembered.state)
    return f"{relation}; the staff has your request" if remembered.asked else relation


def _name(caller: Any, remembered: requests.Remembered) -> str:
    """The name the player sees, so that a disguise holds."""
    return strip_ansi(remembered.npc.get_display_name(caller))
