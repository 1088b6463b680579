"""@sleep: send an NPC to sleep, through the night, or wake it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from twisted.internet import defer

from ..admin import access, edit
from ..script import AssistantScript
from ..sleep.night import PASSES, TITLES
from ..text.plural import plural
from .base import MemoryCommand
from .display import safe, to_resume

_PASS_TEXTS = {
    "score_pending_entries": ("entry weighed", "entries weighed"),
    "run_sleep_consolidation": ("fact found or strengthened", "facts found or strengthened"),
    "run_dreaming_tick": ("link made", "links made"),
    "prune_orphaned_memory_links": ("dangling link taken out", "dangling links taken out"),
    "run_entity_consolidation_batch": ("thing learned of people", "things learned of people"),
    "run_reflection": ("insight", "insights"),
    "compress_sessions": ("conversation summarised", "conversations summarised"),
    "prune_low_importance_entries": ("entry forgotten", "entries forgotten"),
}
_ALWAYS_TOLD = ("score_pending_entries", "run_sleep_consolidation", "run_dreaming_tick")
_SCHEDULE = re.compile(r"(\d{1,2})\s+(\d{1,2})(?:\s+(server|game))?", re.IGNORECASE)
NIGHTS_SHOWN = 10


class CmdSleep(MemoryCommand):
    """
    send an NPC to sleep

    Usage:
      @sleep <npc>                        - it works through its day bit by bit
      @sleep/now <npc>                    - a whole night at once, then it wakes
      @sleep/wake <npc>                   - wake it, as soon as that is safe
      @sleep/status <npc>                 - how far the night is; when the next is
      @sleep/log <npc>                    - what its last nights did
      @sleep/schedule <npc> = <hour> <hours> [game]  - every day, for so long
      @sleep/schedule <npc> = off

    Examples:
      @sleep/now mara
      @sleep/schedule mara = 2 4
      @sleep/schedule mara = 22 8 game

    Asleep, an NPC hears but does not answer. First it is |wcompacting|n: the
    journal is weighed and becomes facts; a wake waits until that is done. Then
    it is |wdreaming|n: memories are linked, people described, old talk summarised,
    and what nobody will miss is forgotten. Whatever a night has not done when
    it ends waits for the next. Hours are those of the server, or of the game's
    own clock.

    If your game has a sleep command of its own, |wsleep|n is the game's, and this
    answers to |w@sleep|n and |w@npcsleep|n. What a night must leave alone is pinned
    or locked with |w@memory/pin|n and |w@memory/lock|n.
    """

    key = "@sleep"
    aliases = ("@npcsleep",)
    switch_options = ("now", "wake", "status", "log", "schedule")
    usage = "@sleep[/now|/wake|/status|/log] <npc>, or @sleep/schedule <npc> = <hour> <hours> | off"

    def func(self) -> None:
        if self.misspelt():
            return
        action = self.switches[0] if self.switches else "sleep"
        npc = self.find_npc(self.lhs, "look" if action in ("status", "log") else "edit")
        if npc is None:
            return
        script = AssistantScript.of(npc)
        getattr(self, f"do_{action}")(npc, script)

    def do_sleep(self, npc: Any, script: AssistantScript) -> None:
        if script.asleep:
            self.tell(f"{safe(npc.key)} is asleep already ({script.db.sleep_phase}).")
        else:
            self.when(defer.maybeDeferred(script.sleep.begin), lambda _: self._asleep(npc))

    def _asleep(self, npc: Any) -> None:
        access.record(self.caller, "sleep", npc)
        self.tell(f"{safe(npc.key)} falls asleep. @sleep/wake {safe(npc.key)} wakes it.")

    def do_now(self, npc: Any, script: AssistantScript) -> None:
        does = "sleeps on" if script.asleep else "falls asleep"
        self.when(
            defer.maybeDeferred(script.sleep.begin), lambda _: self._through(npc, script, does)
        )

    def _through(self, npc: Any, script: AssistantScript, does: str) -> None:
        access.record(self.caller, "sleep now", npc)
        self.tell(f"{safe(npc.key)} {does} ...")
        told = self._progress(npc)
        self.when(script.sleep.whole_night(told), lambda passes: self._rested(npc, passes))

    def do_wake(self, npc: Any, script: AssistantScript) -> None:
        if not script.asleep:
            self.tell(f"{safe(npc.key)} is awake.")
            return
        access.record(self.caller, "wake", npc)
        if script.sleep.wake():
            self.tell(f"{safe(npc.key)} wakes up.")
        else:
            self.tell(
                f"{safe(npc.key)} is {script.db.sleep_phase} and will wake as soon as that is safe."
            )

    def do_status(self, npc: Any, script: AssistantScript) -> None:
        if script.asleep:
            night = script.sleep.night
            wake = "; it will wake as soon as that is safe" if script.db.wake_requested else ""
            self.tell(
                f"{safe(npc.key)} is asleep ({night.phase}): "
                f"pass {night.position + 1} of {len(PASSES)}, "
                f"{TITLES[night.pass_name]}{wake}."
            )
        else:
            self.tell(f"{safe(npc.key)} is awake. {self._last(script)}")
        if edit.paused(npc):
            self.tell(f"It is paused and will not sleep: {to_resume(npc)}")
        else:
            self.tell(self._when(script))

    def do_log(self, npc: Any, script: AssistantScript) -> None:
        records = script.sleep.records[-NIGHTS_SHOWN:]
        if not records:
            self.tell(f"{safe(npc.key)} has not slept yet: @sleep/now {safe(npc.key)}")
            return
        lines = [line for record in records for line in night_lines(record)]
        self.page("\n".join([f"|wNights of {safe(npc.key)}|n, newest last", *lines]))

    def do_schedule(self, npc: Any, script: AssistantScript) -> None:
        if not self.rhs:
            self.tell(self._when(script))
            return
        if self.rhs.lower() in ("off", "none"):
            script.sleep.set_schedule(enabled=False)
            access.record(self.caller, "schedule the sleep of", npc, "off")
            self.tell(f"{safe(npc.key)} sleeps only when it is told to.")
            return
        found = _SCHEDULE.fullmatch(self.rhs)
        if not found or int(found[1]) > 23 or not 1 <= int(found[2]) <= 24:
            self.tell(
                "Say the hour (0-23) and for how many hours (1-24): "
                f"@sleep/schedule {safe(npc.key)} = 2 4"
            )
            return
        clock = (found[3] or "server").lower()
        script.sleep.set_schedule(
            enabled=True,
            sleep_start_hour=int(found[1]),
            sleep_duration_hours=int(found[2]),
            clock=clock,
        )
        access.record(self.caller, "schedule the sleep of", npc, found[1], found[2], clock)
        self.tell(self._when(script))

    # --- telling ------------------------------------------------------------------------------

    def _progress(self, npc: Any) -> Callable[[str], None]:
        """Tells each pass of a night as it begins."""
        return lambda name: self.tell(f"|x  {safe(npc.key)}: {TITLES.get(name, name)} ...|n")

    def _rested(self, npc: Any, passes: dict[str, dict[str, Any]]) -> None:
        did = [
            plural(passes[name]["changed"], *words)
            for name, words in _PASS_TEXTS.items()
            if name in passes and (name in _ALWAYS_TOLD or passes[name]["changed"])
        ]
        broke = [TITLES.get(name, name) for name, told in passes.items() if told["errors"]]
        trouble = (
            f" Broke off: {', '.join(broke)}; see @sleep/log {safe(npc.key)}." if broke else ""
        )
        self.tell(f"{safe(npc.key)} wakes up rested: {', '.join(did)}.{trouble}")

    def _last(self, script: AssistantScript) -> str:
        records = script.sleep.records
        return f"Its last night ended {records[-1]['ended'][:16]}." if records else ""

    def _when(self, script: AssistantScript) -> str:
        plan = script.sleep.schedule
        if not plan["enabled"]:
            return "It sleeps only when it is told to (@sleep/schedule sets hours)."
        return (
            f"It sleeps every day at {plan['sleep_start_hour']}:00 ({plan['clock']} time), for "
            f"{plan['sleep_duration_hours']} hours at most."
        )


def night_lines(record: dict[str, Any]) -> list[str]:
    """One night: when it was, and what each pass did that did anything."""
    whole = "" if record.get("whole", True) else ", woken before it was over"
    began = (record.get("started") or "?")[:16].replace("T", " ")
    lines = [f"|w{began}|n to {record['ended'][11:16]}{whole}"]
    for name, told in record["passes"].items():
        if told["read"] or told["changed"] or told["errors"]:
            figures = f"{told['read']:>6} read {told['changed']:>6} changed"
            title = TITLES.get(name, name)
            lines.append(f"  {title:<24} {figures} {told['seconds']:>8.2f} s")
        lines += [f"    |r{safe(error)}|n" for error in told["errors"]]
    return lines if len(lines) > 1 else [*lines, "  nothing was to be done"]
