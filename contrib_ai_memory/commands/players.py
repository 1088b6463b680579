"""What players see of all this: which NPCs remember them, and how to be forgotten."""

from __future__ import annotations

from .. import conf
from ..tending import audit, erasing, requests
from .base import MemoryCommand
from .showing import safe, table

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
        if not found:
            self.tell("Nobody here remembers you.")
            return
        rows = [(each.npc.key, _AS.get(each.state, each.state)) for each in found]
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
    of you. You are asked first. It cannot be undone, and they will meet you
    as a stranger. What others said about you stays theirs.

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
        name = self.args.strip().lower()
        if not found:
            self.tell("Nobody here remembers you.")
            return
        chosen = [each for each in found if not name or each.npc.key.lower() == name]
        chosen = chosen or [each for each in found if name in each.npc.key.lower()]
        if not chosen:
            self.tell(f"Nobody called '{safe(self.args.strip())}' remembers you: see memories.")
            return
        names = ", ".join(dict.fromkeys(safe(each.npc.key) for each in chosen[:10]))
        more = f" and {len(chosen) - 10} more" if len(chosen) > 10 else ""
        if conf.get().PLAYER_ERASURE == "self":
            self.ask(
                f"All that {names}{more} remember of you is erased, for ever. Do you want that:",
                lambda: self._erase(chosen, []),
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
            new = requests.ask(self.caller, chosen)
        except requests.TooMany as problem:
            self.tell(str(problem))
            return
        audit.record(self.caller, "ask to be forgotten by", None, *(r.npc.dbref for r in chosen))
        self.tell(
            "The staff will see your request; memories tells when it is done."
            if new
            else "You have asked for that already; the staff will see to it."
        )

    def _erase(self, left: list[requests.Remembered], done: list[str]) -> None:
        """Erase from one memory after the other."""
        if not left:
            self.tell(f"{', '.join(done)} remember nothing of you now.")
            return
        first, rest = left[0], left[1:]
        audit.record(self.caller, "erase themselves", first.npc, first.identity)
        gone = erasing.erase_person(first.npc, first.identity)
        self.when(gone, lambda _gone: self._erase(rest, [*done, safe(first.npc.key)]))
