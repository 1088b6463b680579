"""Base of all commands: switches, the NPC that is meant, access, waiting, confirming, showing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Generator, Iterable
from dataclasses import fields, is_dataclass
from inspect import isgeneratorfunction
from typing import Any, ClassVar

from evennia.commands.default.muxcommand import MuxCommand
from evennia.utils.evmenu import get_input
from evennia.utils.evmore import EvMore
from twisted.internet import defer
from twisted.python import failure

from .. import offload
from ..admin import access, audit, operations
from ..admin.arguments import REQUIRED
from ..admin.jobs import is_expected
from ..admin.operations import Operation
from ..errors import InputError
from ..npc import MemoryMixin
from ..records import MemoryRecord
from ..store.pause import paused
from .display import WIDTH, hanging, heading, label, prose, safe, shortened, wrapped

HELP_COLUMN = 36
_VERBS = {"look": "view", "edit": "change", "erase": "erase"}


class Mistyped(InputError):
    """What was typed cannot be read; the message says what to type."""


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

    def listing(
        self, head: str, lines: Iterable[str], empty: str, after: Iterable[str] = ()
    ) -> None:
        """Show a list with what stands before and after it, or tell that it is empty."""
        if shown := list(lines):
            self.page(head, *shown, *after)
        else:
            self.tell(empty)


class OperationCommand(MemoryCommand):
    """A command whose switches are the operations of the table.

    Attributes:
        table: The command that the rows of the table name, whatever a game calls it.
        own: Functions that read what was typed in a way of their own: called with the command, the
            NPC if there is one, and the text after `=` if there may be any.
        views: Functions that show what an operation gives: called with the command, the NPC, and
            that. Both by name of the operation; see `own_way`.
    """

    table: ClassVar[str]
    own: ClassVar[dict[str, Callable[..., Any]]]
    views: ClassVar[dict[str, Callable[..., Any]]]

    def parse(self) -> None:
        self.switch_options = tuple(filter(None, operations.switches(self.table)))
        super().parse()

    def func(self) -> None:
        switch = self.switch()
        if switch is None:
            return
        operation = operations.switches(self.table)[switch]
        npc = None
        if not operation.of_npc:
            if not self.may(None, operation.access):
                return
        else:
            if self._is_complete(switch, operation):
                npc = self.find_npc(self.lhs, operation.access)
            if npc is None:
                return
            # an export is logged with its file
            if operation.access == "look" and operation.name != "export":
                audit.record_look(self.caller, f"{self.key}/{switch}".rstrip("/"), npc)
        self.run(self._do, operation, npc)

    def _is_complete(self, switch: str, operation: Operation) -> bool:
        """Whether an NPC is named, and what is to follow it. If not, a message says so."""
        usage, typed = operation.usage, self.rhs or ""
        optional = usage.startswith("[")
        wrong = not typed and not optional if usage else self.rhs is not None
        if self.lhs and not wrong:
            return True
        named = f"{self.key}{f'/{switch}' if switch else '[/<switch>]'} <npc>{_after(usage)}"
        self.tell(f"Usage: {named}. See help {self.key}.")
        return False

    @defer.inlineCallbacks
    def _do(self, operation: Operation, npc: Any) -> Generator[Any, Any, None]:
        typed = self.rhs or ""
        if own := self.own.get(operation.name):
            given = [npc] if operation.of_npc else []
            yield own(self, *given, *([typed] if operation.usage else []))
            return
        needed = [each.name for each in operation.arguments if each.default is REQUIRED]
        words = typed.split(None, len(needed) - 1) if len(needed) > 1 else [typed]
        if len(needed) > len(words):
            raise Mistyped(f"Give {operation.usage} after the =. See help {self.key}.")
        yield self.carry_out(operation, npc, dict(zip(needed, words, strict=False)))

    @defer.inlineCallbacks
    def carry_out(
        self, operation: Operation, npc: Any, arguments: dict[str, Any]
    ) -> Generator[Any, Any, Any]:
        """Ask first where the operation does, run it, and show what was done. Returns the result,
        as a Deferred; None if it was not run."""
        if not self.may(npc, operation.access):
            return None
        if operation.question and operation.asks:
            question = yield operation.question(npc, **arguments)
            if not (yield self.confirm(safe(question))):
                return None
        if operation.access == "erase":
            self.tell("This takes a while ...")
        result = yield operation.run(npc, self.caller, **arguments)
        if view := self.views.get(operation.name):
            view(self, npc, result)
        elif operation.access == "look":
            self.page(heading(f"{npc.key}: {operation.name}"), *record_lines(result))
        else:
            self.tell_done(operation, npc, result)
        return result

    def tell_done(self, operation: Operation, npc: Any, result: Any, done: str = "") -> None:
        """Show what was done, and how to take it back."""
        done = done or operation.done(npc, result)
        if isinstance(result, MemoryRecord):
            done = f"{done.removesuffix('.')}: {result.content}"
        back = operation.reversal(npc, result)
        told = "\n".join(hanging("", line, limit=1000) for line in done.split("\n"))
        self.caller.msg(told + (f"\n|x{safe(back)}|n" if back else ""))


def own_way(own: dict[str, Callable[..., Any]]) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for functions of `OperationCommand`, by their names; generators become
    `inlineCallbacks`."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        waits = isgeneratorfunction(function)
        own[function.__name__.strip("_")] = defer.inlineCallbacks(function) if waits else function
        return function

    return register


def help_text(command: str, intro: str, prose: str) -> str:
    """Return the help of a command: a line for each usage of its operations, then the prose."""
    lines = [intro.strip("\n"), "", "Usage:"]
    for switch, operation in operations.switches(command).items():
        first = operation.about.partition(". ")[0].rstrip(".")
        for usage, about in ((operation.usage, first[0].lower() + first[1:]), *operation.more_help):
            typed = f"  {command}{f'/{switch}' if switch else ''}"
            typed += f"{' <npc>' if operation.of_npc else ''}{_after(usage)}"
            told = textwrap.wrap(about, WIDTH - HELP_COLUMN - 2)
            if len(typed) >= HELP_COLUMN:
                lines.append(typed.replace("|", "||"))
                typed = ""
            for number, line in enumerate(told):
                lines.append(f"{typed:<{HELP_COLUMN}}{'  ' if number else '- '}{line}")
                typed = ""
    return "\n".join([*lines, "", prose.strip("\n")]) + "\n"


def _after(usage: str) -> str:
    if usage.startswith("["):
        return f" [= {usage[1:-1]}]"
    return f" = {usage}" if usage else ""


def record_lines(record: Any, indent: int = 2) -> list[str]:
    """Return a record field by field, a list record by record; one with `__str__` in its words."""
    if _has_fields(record):
        named = [(spec.name, getattr(record, spec.name)) for spec in fields(record)]
    elif isinstance(record, dict):
        named = list(record.items())
    elif isinstance(record, (list, tuple)):
        return [line for each in record for line in record_lines(each, indent)]
    else:
        return [prose(str(record), indent=indent)]
    lines = []
    for name, value in named:
        head = f"{' ' * indent}{label(name.replace('_', ' '))}:"
        inner = [*value.values()] if isinstance(value, dict) else value
        if any(map(_has_fields, inner if isinstance(inner, (list, tuple)) else [inner])):
            lines += [head, *record_lines(value, indent + 2)]
        else:
            lines.append(hanging(f"{head} ", _in_words(value), indent=indent + 4))
    return lines


def _has_fields(value: Any) -> bool:
    return is_dataclass(value) and type(value).__str__ is object.__str__


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, (list, tuple)):
        pairs = (each if isinstance(each, tuple) else (each,) for each in value)
        return ", ".join(" ".join(map(str, each)) for each in pairs) or "none"
    return f"{value:,}" if type(value) is int else str(value)


def resume_command(npc: Any) -> str:
    """The command that resumes a paused NPC."""
    return f"@memory/resume {'all' if paused(npc) == 'all' else safe(npc.key)}"
