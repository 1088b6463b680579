"""What the builders' commands share: finding the NPC, permission, waiting, asking, printing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia.commands.default.muxcommand import MuxCommand
from evennia.utils.evmenu import get_input
from evennia.utils.evmore import EvMore
from twisted.internet import defer
from twisted.python import failure

from .. import offload
from ..admin import access, archive_format, edit, erasure, ids, inspect, preview, requests, undo_log
from ..embedding.emotions import UnknownEmotion
from ..embedding.model import ModelError
from ..handler import NothingToRemember
from ..npc import MemoryMixin
from ..recall.budget import BudgetExceeded
from ..sleep.night import SwitchedOff
from ..store.errors import StoreError
from .display import safe, sentence, shortened

EXPECTED = (
    StoreError,
    ModelError,
    UnknownEmotion,
    NothingToRemember,
    SwitchedOff,
    BudgetExceeded,
    offload.TimedOut,
    offload.Busy,
    ids.UnknownMemory,
    ids.Ambiguous,
    ids.UnknownPerson,
    inspect.InvalidSearch,
    edit.CannotEdit,
    preview.NothingSaid,
    undo_log.NothingToUndo,
    requests.TooMany,
    requests.UnknownRequest,
    erasure.CannotErase,
    archive_format.BadArchive,
    OSError,
)

_REFUSED = {
    "look": "look into",
    "edit": "change",
    "erase": "erase from",
}


class MemoryCommand(MuxCommand):
    """A command on an NPC that has a memory."""

    locks = "cmd:perm(Builder)"
    help_category = "AI memory"
    usage = ""

    # --- whom and whether ---------------------------------------------------------------------

    def misspelt(self) -> bool:
        """Whether the switch is none of this command's, or there are several; then it was said.

        Without this a slip of the finger would do what the command does without a switch.
        """
        typed = self.raw_string.split()[0].count("/") if self.raw_string.split() else 0
        if typed > 1:
            self.tell(f"One switch at a time: help {self.key} tells what each does.")
        elif typed and not self.switches:
            self.tell(f"Nothing was done. help {self.key} tells of its switches.")
        return typed > 1 or (typed > 0 and not self.switches)

    def find_npc(self, name: str, deed: access.Action = "look") -> Any | None:
        """The NPC called `name`, here or by #dbref or name anywhere; else a sentence was said.

        Args:
            deed: What the caller is about to do to its memory.
        """
        if not name:
            self.tell(f"Usage: {safe(self.usage)}")
            return None
        found = self.caller.search(name, quiet=True) or self.caller.search(
            name, global_search=True, quiet=True
        )
        found = found if isinstance(found, list) else list(filter(None, [found]))
        minds = [obj for obj in found if isinstance(obj, MemoryMixin)]
        if len(minds) > 1:
            which = ", ".join(f"{safe(npc.key)} ({npc.dbref})" for npc in minds)
            self.tell(f"'{safe(name)}' is more than one: {which}. Give the #dbref.")
            return None
        npc = (minds or found or [None])[0]
        if not npc:
            self.tell(
                f"There is no '{safe(shortened(name, 60))}' here, and no object of that name or "
                "#dbref. @memory alone lists all NPCs that have a memory."
            )
            return None
        if not isinstance(npc, MemoryMixin):
            self.tell(
                f"{safe(npc.key)} has no memory. Its typeclass needs MemoryMixin: see the README, "
                "or give it a typeclass that has one with @typeclass."
            )
            return None
        return npc if self.may(npc, deed) else None

    def may(self, npc: Any | None, deed: access.Action) -> bool:
        """Whether the caller may do that; if not, a sentence was said."""
        if access.may(self.caller, npc, deed):
            return True
        if not access.may(self.caller, None, deed):
            need = "Admin" if deed == "erase" else "Builder"
            self.tell(f"Only those with the permission {need} may {_REFUSED[deed]} a memory.")
        else:
            self.tell(
                f"The lock memory_{deed} of {safe(npc.key)} does not let you {_REFUSED[deed]} its "
                f"memory. Who controls it can change that: @lock {safe(npc.key)}"
            )
        return False

    # --- waiting and asking -------------------------------------------------------------------

    def when(self, result: defer.Deferred, show: Callable[[Any], None]) -> None:
        """Call `show` with what comes of a Deferred; what went wrong is told in a sentence."""
        result.addCallback(show)
        result.addErrback(self._explain)

    def _explain(self, reason: failure.Failure) -> None:
        if reason.check(*EXPECTED):
            self.tell(f"|r{safe(reason.getErrorMessage())}|n")
            return
        self.tell("|rThat went wrong; server/logs/ai_memory.log says how.|n")
        offload.log_failure(reason, self.key)

    def ask(self, question: str, yes: Callable[[], None], no: str = "Nothing was done.") -> None:
        """Ask a question, and call `yes` where the answer is yes."""

        def answered(caller: Any, _prompt: str, answer: str) -> None:
            if answer.strip().lower() in ("y", "yes"):
                yes()
            else:
                caller.msg(sentence(no))

        get_input(self.caller, sentence(f"{question} |wyes/no|n?"), answered)

    # --- printing -----------------------------------------------------------------------------

    def tell(self, text: str) -> None:
        """Say a sentence or two."""
        self.caller.msg(sentence(text))

    def page(self, text: str) -> None:
        """Show text a screen at a time; at once to a caller that nobody is connected to."""
        if not self.caller.sessions.count():
            self.caller.msg(text)
            return
        EvMore(self.caller, text, always_page=False, exit_on_lastpage=True)
