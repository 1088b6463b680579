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
from ..admin import access, audit, game_npcs, operations
from ..admin.arguments import REQUIRED
from ..admin.jobs import is_expected
from ..admin.operations import Operation
from ..errors import InputError
from ..records import MemoryRecord
from ..store.pause import paused
from .display import FULL_LIMIT, WIDTH, hanging, heading, label, prose, safe, wrapped

HELP_COLUMN = 36
_VERBS = {"look": "view", "edit": "change", "erase": "erase"}


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

    def switch(self) -> str:
        """The switch that was typed, "" without one.

        MuxCommand ignores an unknown switch, and a typo would run the command without one.
        """
        typed = self.raw_string.split()[0].count("/") if self.raw_string.split() else 0
        if typed > 1:
            raise InputError(f"Use one switch at a time. See help {self.key}.")
        if typed and not self.switches:
            raise InputError(f"Nothing was done. See help {self.key} for its switches.")
        return self.switches[0] if self.switches else ""

    def find_npc(self, name: str, access_type: access.Action = "look") -> Any:
        """Find an NPC that the caller may access, by name or #dbref."""
        found = self.caller.search(name, quiet=True) or self.caller.search(
            name, global_search=True, quiet=True
        )
        found = found if isinstance(found, list) else filter(None, [found])
        npc = game_npcs.chosen(name, found)
        self.check(npc, access_type)
        return npc

    def check(self, npc: Any | None, access_type: access.Action) -> None:
        """Check that the caller has access to the memory."""
        if access.may(self.caller, npc, access_type):
            return
        verb = _VERBS[access_type]
        if npc is None or not access.may(self.caller, None, access_type):
            needed = "Admin" if access_type == "erase" else "Builder"
            raise InputError(f"You need the permission {needed} to {verb} a memory.")
        lock = access.closed_lock(self.caller, npc, access_type)
        raise InputError(
            f"The lock {lock} of {npc.key} does not let you {verb} its memory. "
            f"Its owner can change that: @lock {npc.key}"
        )

    # --- talking to the caller ----------------------------------------------------------------

    def confirm(self, question: str, refused: str = "Nothing was done.") -> defer.Deferred:
        """Ask a yes/no question. The Deferred fires after a yes; after a no, `refused` is shown."""
        answered: defer.Deferred = defer.Deferred()

        def answer(_caller: Any, _prompt: str, text: str) -> None:
            if text.strip().lower() in ("y", "yes"):
                answered.callback(None)
            else:
                self.tell(refused)

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

    By name of an operation, functions (`own_way`) read what was typed: called with the command, the
    NPC if there is one, and the text after `=` if there may be any. Or they show what it gives:
    called with the command, the NPC, and that.
    """

    table: ClassVar[str]  # the command that the rows of the table name, whatever a game calls it
    own: ClassVar[dict[str, Callable[..., Any]]]
    views: ClassVar[dict[str, Callable[..., Any]]]

    def parse(self) -> None:
        self.switch_options = tuple(filter(None, operations.switches(self.table)))
        super().parse()

    def func(self) -> None:
        self.run(self.begin)

    def begin(self) -> Any:
        """Carry out what was typed; returns a Deferred."""
        switch = self.switch()
        operation = operations.switches(self.table)[switch]
        npc = None
        self._check_usage(switch, operation)
        if operation.of_npc:
            npc = self.find_npc(self.lhs, operation.access)
            # an export is logged with its file
            if operation.access == "look" and operation.name != "export":
                audit.record_look(self.caller, f"{self.key}/{switch}".rstrip("/"), npc)
        else:
            self.check(None, operation.access)
        return self._do(operation, npc)

    def _check_usage(self, switch: str, operation: Operation) -> None:
        """Check that an NPC is named where one is meant, and what is to follow it."""
        usage, typed = operation.usage, self.rhs or ""
        wrong = not typed and not usage.startswith("[") if usage else self.rhs is not None
        if wrong or bool(self.lhs) != operation.of_npc:
            named = f"{self.key}{f'/{switch}' if switch else '[/<switch>]'}"
            whose = " <npc>" if operation.of_npc else ""
            raise InputError(f"Usage: {named}{whose}{_after(usage)}. See help {self.key}.")

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
            raise InputError(f"Give {operation.usage} after the =. See help {self.key}.")
        yield self.carry_out(operation, npc, dict(zip(needed, words, strict=False)))

    @defer.inlineCallbacks
    def carry_out(
        self, operation: Operation, npc: Any, arguments: dict[str, Any]
    ) -> Generator[Any, Any, Any]:
        """Ask first where the operation does, run it, and show what was done. Returns the result,
        as a Deferred."""
        self.check(npc, operation.access)
        if operation.question and operation.asks:
            question = yield operation.question(npc, **arguments)
            yield self.confirm(safe(question))
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
        head = f"{' ' * indent}{label(str(name).replace('_', ' '))}:"
        inner = [*value.values()] if isinstance(value, dict) else value
        if any(map(_has_fields, inner if isinstance(inner, (list, tuple)) else [inner])):
            lines += [head, *record_lines(value, indent + 2)]
        else:
            lines.append(hanging(f"{head} ", _in_words(value), indent=indent + 4, limit=FULL_LIMIT))
    return lines


def _has_fields(value: Any) -> bool:
    return is_dataclass(value) and type(value).__str__ is object.__str__


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, (list, tuple)):
        pairs = (each if isinstance(each, tuple) else (each,) for each in value)
        return ", ".join(" ".join(map(str, each)) for each in pairs) or "none"
    if value is None:
        return "none"
    return f"{value:,}" if type(value) is int else str(value)


def resume_command(npc: Any) -> str:
    """The command that resumes a paused NPC."""
    return f"@memory/resume {'all' if paused(npc) == 'all' else safe(npc.key)}"
