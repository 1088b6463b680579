"""What players see of all this: which NPCs remember them, and how to be forgotten."""

from __future__ import annotations

import math
import time
from collections.abc import Generator
from typing import Any

from evennia.utils.ansi import strip_ansi
from twisted.internet import defer

from .. import conf
from ..admin import access, erasure, requests
from ..text.plural import plural
from .base import MemoryCommand
from .display import safe, table

COOLDOWN = 300.0  # seconds between two erasures that a player asks for: each rewrites the store
BY_NAME = 3  # NPCs that one name may mean there

_AS = {
    "stranger": "a stranger",
    "acquaintance": "an acquaintance",
    "friend": "a friend",
    "close": "somebody close",
}
_FORGETTING = {
    "ask": "forgetme asks the staff of the game to let them forget you.",
    "self": "forgetme lets them forget you.",
    "off": "If you wish to be forgotten, ask the staff of the game.",
}


class CmdMemories(MemoryCommand):
    """
    see who remembers you

    Usage:
      memories

    Some characters of this game remember those whom they meet: what was said
    to them and around them, and who said it. This tells which of them know
    you, and how well. What exactly they remember stays with them; ask them.

    See |whelp forgetme|n for how to be forgotten.
    """

    key = "memories"
    locks = "cmd:all()"
    help_category = "General"

    def func(self) -> None:
        self.when(requests.who_remembers(self.caller), self._show)

    def _show(self, found: list[requests.Remembered]) -> None:
        found = [each for each in found if _seen(self.caller, each)]
        if not found:
            self.tell("Nobody here remembers you.")
            return
        rows = [(_name(self.caller, each), _how_well(each)) for each in found]
        self.page(
            "\n".join(
                [
                    "|wThose who remember you|n",
                    table(("who", "you are to them"), rows),
                    _FORGETTING[conf.get().PLAYER_ERASURE],
                ]
            )
        )


class CmdForgetMe(MemoryCommand):
    """
    be forgotten

    Usage:
      forgetme            - by everybody who remembers you
      forgetme <name>     - by one of them

    Lets the characters of this game that remember forget you: what you said
    to them and near them, what they concluded from it, and what they think
    of you, and what others said that names you. You are asked first. It
    cannot be undone, and they will meet you as a stranger.

    As the staff has set the game, this is done at once, or your wish is put
    before them and they do it, or they do it only when you ask them yourself:
    the command tells you which.

    See |whelp memories|n for who remembers you.
    """

    key = "forgetme"
    aliases = ("forget me",)
    locks = "cmd:all()"
    help_category = "General"

    def func(self) -> None:
        if conf.get().PLAYER_ERASURE == "off":
            self.tell(
                "In this game only the staff can let somebody be forgotten. Please ask them; "
                "memories tells who remembers you."
            )
            return
        self.when(requests.who_remembers(self.caller), self._ask)

    def _ask(self, found: list[requests.Remembered]) -> None:
        """Ask first. Nobody is named whom the player does not see; without a name these forget
        them with the others."""
        name = self.args.strip().lower()
        shown = {
            each.npc.id: _name(self.caller, each) for each in found if _seen(self.caller, each)
        }
        if not shown:
            self.tell("Nobody here remembers you.")
            return
        seen = [each for each in found if each.npc.id in shown]
        chosen = seen if name else found
        if name:
            chosen = [each for each in seen if shown[each.npc.id].lower() == name]
            chosen = chosen or [each for each in seen if name in shown[each.npc.id].lower()]
        if not chosen:
            self.tell(f"Nobody called '{safe(self.args.strip())}' remembers you: see memories.")
            return
        told = [safe(shown[each.npc.id]) for each in chosen if each.npc.id in shown]
        names = ", ".join(dict.fromkeys(told[:10]))
        more = f" and {len(told) - 10} more" if len(told) > 10 else ""
        if conf.get().PLAYER_ERASURE == "self":
            if name and len(chosen) > BY_NAME:  # each by name is a rewriting of the store
                self.tell(
                    f"'{safe(self.args.strip())}' are {len(chosen)}: {names}{more}. Give more of "
                    "the name; forgetme alone is for all of them."
                )
                return
            self.ask(
                f"All that {names}{more} remember of you is erased, for ever. Do you want that:",
                lambda: self._erase(chosen, f"{names}{more}", everywhere=not name),
                "You stay as you are in their memory.",
            )
        else:
            self.ask(
                f"The staff is asked to let {names}{more} forget you, for ever. Do you want that:",
                lambda: self._request(chosen),
                "You stay as you are in their memory.",
            )

    def _request(self, chosen: list[requests.Remembered]) -> None:
        try:
            new = requests.submit(self.caller, chosen)
        except requests.TooMany as problem:
            self.tell(str(problem))
            return
        access.record(self.caller, "ask to be forgotten by", None, *(r.npc.dbref for r in chosen))
        self.tell(
            "The staff will see your request; memories tells when it is done."
            if new
            else "You have asked for that already; the staff will see to it."
        )

    def _erase(self, chosen: list[requests.Remembered], names: str, *, everywhere: bool) -> None:
        """Erase at once: the store's files are written anew once, however many NPCs forget."""
        player, now = self.caller.account or self.caller, time.monotonic()
        left = COOLDOWN - (now - (player.ndb.ai_memory_forgotten or -COOLDOWN))
        if left > 0:
            minutes = math.ceil(left / 60)
            self.tell(
                "You were forgotten a short while ago. Ask again in "
                f"{plural(minutes, 'minute', 'minutes')}."
            )
            return
        player.ndb.ai_memory_forgotten = now
        self.tell("That takes a while ...")
        gone = self._erase_everywhere(chosen) if everywhere else self._erase_from(chosen)
        self.when(gone, lambda _gone: self.tell(f"{names} remember nothing of you now."))

    @defer.inlineCallbacks
    def _erase_everywhere(self, chosen: list[requests.Remembered]) -> Generator[Any, Any, None]:
        for identity in dict.fromkeys(each.identity for each in chosen):  # a game may have several
            access.record(self.caller, "erase themselves from", None, identity)
            yield erasure.erase_everywhere(identity)

    @defer.inlineCallbacks
    def _erase_from(self, chosen: list[requests.Remembered]) -> Generator[Any, Any, None]:
        for each in chosen:  # one, mostly: those of a name
            access.record(self.caller, "erase themselves", each.npc, each.identity)
            yield erasure.erase_person(each.npc, each.identity)


def _seen(caller: Any, remembered: requests.Remembered) -> bool:
    """Whether a player may know of that NPC at all: not of one who listens unseen."""
    return remembered.npc.access(caller, "view")


def _how_well(remembered: requests.Remembered) -> str:
    known = _AS.get(remembered.state, remembered.state)
    return f"{known}; the staff has your request" if remembered.asked else known


def _name(caller: Any, remembered: requests.Remembered) -> str:
    """What the player knows that NPC as: one in disguise stays in it."""
    return strip_ansi(remembered.npc.get_display_name(caller))
