"""What the builders' commands share: finding the NPC, waiting for a Deferred, printing safely."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia.commands.default.muxcommand import MuxCommand
from evennia.utils.evmore import EvMore
from twisted.internet import defer
from twisted.python import failure

from .. import offload
from ..embedding.model import ModelError
from ..handler import NothingToRemember
from ..recall.budget import BudgetExceeded
from ..senses import MemoryMixin
from ..sleeper import SwitchedOff
from ..store.errors import StoreError

EXPECTED = (
    StoreError,
    ModelError,
    NothingToRemember,
    SwitchedOff,
    BudgetExceeded,
    offload.TimedOut,
    offload.Busy,
)


class MemoryCommand(MuxCommand):
    """A builder's command on an NPC that has a memory."""

    locks = "cmd:perm(Builder)"
    help_category = "AI memory"
    usage = ""

    def find_npc(self, name: str) -> Any | None:
        """The NPC called `name`, here or by #dbref or name anywhere; else a sentence was said."""
        if not name:
            self.caller.msg(f"Usage: {safe(self.usage)}")
            return None
        found = self.caller.search(name, quiet=True) or self.caller.search(
            name, global_search=True, quiet=True
        )
        found = found if isinstance(found, list) else list(filter(None, [found]))
        minds = [obj for obj in found if isinstance(obj, MemoryMixin)]
        if len(minds) > 1:
            which = ", ".join(f"{safe(npc.key)} ({npc.dbref})" for npc in minds)
            self.caller.msg(f"'{safe(name)}' is more than one: {which}. Give the #dbref.")
            return None
        npc = (minds or found or [None])[0]
        if not npc:
            self.caller.msg(
                f"There is no '{safe(name)}' here, and no object of that name or #dbref."
            )
            return None
        if not isinstance(npc, MemoryMixin):
            self.caller.msg(
                f"{safe(npc.key)} has no memory. Its typeclass needs MemoryMixin: see the README, "
                "or give it a typeclass that has one with @typeclass."
            )
            return None
        return npc

    def when(self, result: defer.Deferred, show: Callable[[Any], None]) -> None:
        """Call `show` with what comes of a Deferred; what went wrong is told in a sentence."""
        result.addCallback(show)
        result.addErrback(self._explain)

    def _explain(self, reason: failure.Failure) -> None:
        if reason.check(*EXPECTED):
            self.caller.msg(f"|r{safe(reason.getErrorMessage())}|n")
            return
        self.caller.msg("|rThat went wrong; server/logs/ai_memory.log says how.|n")
        offload.log_failure(reason, self.key)

    def page(self, text: str) -> None:
        """Show text a screen at a time; at once to a caller that nobody is connected to."""
        if not self.caller.sessions.count():
            self.caller.msg(text)
            return
        EvMore(self.caller, text, always_page=False, exit_on_lastpage=True)


def safe(text: Any) -> str:
    """Stored text for a builder's screen: its markup shown, not carried out."""
    return str(text).replace("|", "||")
