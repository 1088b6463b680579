"""Base of all commands: switches, the NPC that is meant, access, waiting, confirming, showing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evennia.commands.default.muxcommand import MuxCommand
from evennia.utils.evmenu import get_input
from evennia.utils.evmore import EvMore
from twisted.internet import defer
from twisted.python import failure

from .. import offload
from ..admin import access
from ..admin.jobs import is_expected
from ..npc import MemoryMixin
from ..store.pause import paused
from .display import safe, shortened, wrapped

_VERBS = {"look": "view", "edit": "change", "erase": "erase"}


@dataclass(frozen=True, slots=True)
class Switch:
    """What a switch does.

    Attributes:
        run: Called with the command, the NPC, and the argument if the switch takes one.
        argument: What follows `=`, as the usage line shows it; in brackets if it may be left out,
            "" if there is none.
        access_type: Access to the memory that it needs.
        of_npc: Whether it is about one NPC. If not, `run` gets none.
    """

    run: Callable[..., Any]
    argument: str = ""
    access_type: access.Action = "look"
    of_npc: bool = True


class Switches(dict[str, Switch]):
    """The switches of a command by name; "" is the command without a switch."""

    def add(
        self,
        argument: str = "",
        *,
        access_type: access.Action = "look",
        of_npc: bool = True,
        name: str | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Make the decorated function a switch of its own name, without the underscore."""

        def register(run: Callable[..., Any]) -> Callable[..., Any]:
            called = run.__name__.removeprefix("_") if name is None else name
            self[called] = Switch(run, argument, access_type, of_npc)
            return run

        return register


class MemoryCommand(MuxCommand):
    """A command that runs its actions with `run`, which takes Deferreds and reports failures."""

    locks = "cmd:perm(Builder)"
    help_category = "AI memory"

    def run(self, act: Callable[..., Any], *args: Any) -> None:
        """Call a function that may return a Deferred, and show what it fails with."""
        defer.maybeDeferred(act, *args).addErrback(self._explain)

    def _explain(self, reason: failure.Failure) -> None:
        if is_expected(reason.value):
            self.tell(f"|r{safe(reason.getErrorMessage())}|n")
            return
        self.tell("|rThat went wrong. See server/logs/ai_memory.log.|n")
        offload.log_failure(reason, self.key)

    # --- arguments and access -----------------------------------------------------------------

    def switch(self) -> str | None:
        """The switch that was typed, "" without one. None if it was rejected with a message.

        MuxCommand ignores an unknown switch, and a typo would run the command without one.
        """
        typed = self.raw_string.split()[0].count("/") if self.raw_string.split() else 0
        if typed > 1:
            self.tell(f"Use one switch at a time. See help {self.key}.")
            return None
        if typed and not self.switches:
            self.tell(f"Nothing was done. See help {self.key} for its switches.")
            return None
        return self.switches[0] if self.switches else ""

    def arguments(self, name: str, switch: Switch) -> list[Any] | None:
        """The arguments for `switch.run`. None if a message says what is wrong with them."""
        argument = self.rhs or ""
        given = [argument] if switch.argument else []
        if not switch.of_npc:
            return [self, *given] if self.may(None, switch.access_type) else None
        optional = switch.argument.startswith("[")
        wrong = not argument and not optional if switch.argument else self.rhs is not None
        if not self.lhs or wrong:
            after = f" [= {switch.argument[1:-1]}]" if optional else f" = {switch.argument}"
            usage = f"{self.key}{f'/{name}' if name else '[/<switch>]'} <npc>"
            self.tell(f"Usage: {usage}{after if switch.argument else ''}. See help {self.key}.")
            return None
        npc = self.find_npc(self.lhs, switch.access_type)
        return None if npc is None else [self, npc, *given]

    def find_npc(self, name: str, access_type: access.Action = "look") -> Any | None:
        """Find an NPC that the caller may access. None if a message says why there is none.

        Args:
            name: Name of somebody in the room, or any object's name or #dbref.
            access_type: What is to be done to its memory.
        """
        found = self.caller.search(name, quiet=True) or self.caller.search(
            name, global_search=True, quiet=True
        )
        found = found if isinstance(found, list) else list(filter(None, [found]))
        npcs: list[Any] = [obj for obj in found if isinstance(obj, MemoryMixin)]
        if len(npcs) == 1:
            return npcs[0] if self.may(npcs[0], access_type) else None
        if npcs:
            which = ", ".join(f"{safe(npc.key)} ({npc.dbref})" for npc in npcs)
            self.tell(f"Several NPCs match '{safe(name)}': {which}. Use the #dbref.")
        elif found:
            self.tell(
                f"{safe(found[0].key)} has no memory. Give it a typeclass with MemoryMixin "
                "(@typeclass); see the README."
            )
        else:
            self.tell(
                f"There is no '{safe(shortened(name, 60))}' here, nor an object of that name or "
                "#dbref. @memory lists all NPCs with a memory."
            )
        return None

    def may(self, npc: Any | None, access_type: access.Action) -> bool:
        """Whether the caller has access to the memory; if not, a message says why."""
        if access.may(self.caller, npc, access_type):
            return True
        if npc is None or not access.may(self.caller, None, access_type):
            needed = "Admin" if access_type == "erase" else "Builder"
            self.tell(f"You need the permission {needed} to {_VERBS[access_type]} a memory.")
        else:
            name = safe(npc.key)
            lock = access.closed_lock(self.caller, npc, access_type)
            self.tell(
                f"The lock {lock} of {name} does not let you {_VERBS[access_type]} its memory. "
                f"Its owner can change that: @lock {name}"
            )
        return False

    # --- talking to the caller ----------------------------------------------------------------

    def confirm(self, question: str, refused: str = "Nothing was done.") -> defer.Deferred:
        """Ask a yes/no question. The Deferred fires with the answer, and never without one.

        Args:
            refused: Shown after a no.
        """
        answered: defer.Deferred = defer.Deferred()

        def answer(_caller: Any, _prompt: str, text: str) -> None:
            yes = text.strip().lower() in ("y", "yes")
            if not yes:
                self.tell(refused)
            answered.callback(yes)

        get_input(self.caller, wrapped(f"{question} |wyes/no|n?"), answer)
        return answered

    def tell(self, text: str) -> None:
        """Show a message, wrapped."""
        self.caller.msg(wrapped(text))

    def page(self, *lines: str) -> None:
        """Show lines a screen at a time; all at once to a caller without a session."""
        text = "\n".join(lines)
        if self.caller.sessions.count():
            EvMore(self.caller, text, always_page=False, exit_on_lastpage=True)
        else:
            self.caller.msg(text)


def resume_command(npc: Any) -> str:
    """The command that resumes a paused NPC."""
    return f"@memory/resume {'all' if paused(npc) == 'all' else safe(npc.key)}"
