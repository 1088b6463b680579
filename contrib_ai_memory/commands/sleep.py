"""@sleep: send an NPC to sleep, through the night, or wake it."""

from __future__ import annotations

from typing import Any

from .. import conf
from ..assistant import AssistantScript
from .base import MemoryCommand

_PASS_TEXTS = {
    "score_pending_entries": "entries weighed",
    "run_sleep_consolidation": "facts found or strengthened",
    "run_dreaming_tick": "links made",
}


class CmdSleep(MemoryCommand):
    """
    send an NPC to sleep

    Usage:
      @sleep <npc>       - it falls asleep, and works through its day bit by bit
      @sleep/now <npc>   - a whole night at once; it wakes when it is done
      @sleep/wake <npc>  - wake it; while it is compacting it wakes when that is done

    Asleep, an NPC hears but does not answer. First it is |wcompacting|n (the journal is weighed
    and becomes facts), then |wdreaming|n (memories are linked).

    If your game has a sleep command of its own, use @npcsleep.
    """

    key = "@sleep"
    aliases = ("@npcsleep",)
    switch_options = ("now", "wake")
    usage = "@sleep[/now|/wake] <npc>"

    def func(self) -> None:
        npc = self.find_npc(self.args.strip())
        if npc is None:
            return
        script = AssistantScript.of(npc)
        if "wake" in self.switches:
            self._wake(npc, script)
        elif "now" in self.switches:
            self.caller.msg(f"{npc.key} falls asleep ...")
            self.when(script.sleep_through(), lambda passes: self._rested(npc, passes))
        elif script.asleep:
            self.caller.msg(f"{npc.key} is asleep already ({script.db.sleep_phase}).")
        elif not conf.get().ENABLED:
            self.caller.msg("CONTRIB_AI_MEMORY['ENABLED'] is off: no NPC sleeps or learns.")
        else:
            script.fall_asleep()
            self.caller.msg(f"{npc.key} falls asleep. @sleep/wake {npc.key} wakes it.")

    def _wake(self, npc: Any, script: AssistantScript) -> None:
        if not script.asleep:
            self.caller.msg(f"{npc.key} is awake.")
        elif script.wake():
            self.caller.msg(f"{npc.key} wakes up.")
        else:
            self.caller.msg(
                f"{npc.key} is {script.db.sleep_phase} and will wake as soon as that is safe."
            )

    def _rested(self, npc: Any, passes: dict[str, dict[str, int]]) -> None:
        did = [
            f"{passes[name]['changed']} {text}"
            for name, text in _PASS_TEXTS.items()
            if name in passes
        ]
        self.caller.msg(f"{npc.key} wakes up rested: {', '.join(did)}.")
