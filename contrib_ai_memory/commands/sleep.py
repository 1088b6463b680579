"""@sleep: send an NPC to sleep, run a whole night, wake it, schedule its nights."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from ..admin import access
from ..script import AssistantScript
from ..sleep.night import PASSES, TITLES
from ..text import plural
from .base import MemoryCommand
from .display import minute, safe
from .memory_views import resume_command

NIGHTS_SHOWN = 10

_RESULTS = {
    "score_pending_entries": ("entry scored", "entries scored"),
    "run_sleep_consolidation": ("fact found or reinforced", "facts found or reinforced"),
    "run_dreaming_tick": ("link made", "links made"),
    "prune_orphaned_memory_links": ("dangling link removed", "dangling links removed"),
    "run_entity_consolidation_batch": ("trait learned", "traits learned"),
    "run_reflection": ("insight", "insights"),
    "compress_sessions": ("conversation summarised", "conversations summarised"),
    "prune_low_importance_entries": ("entry pruned", "entries pruned"),
}
_ALWAYS_SHOWN = ("score_pending_entries", "run_sleep_consolidation", "run_dreaming_tick")


class CmdSleep(MemoryCommand):
    """
    send an NPC to sleep

    Usage:
      @sleep <npc>                  - sleep, working through the night bit by bit
      @sleep/now <npc>              - run a whole night at once, then wake up
      @sleep/wake <npc>             - wake it as soon as that is safe
      @sleep/status <npc>           - progress of the night; its schedule
      @sleep/log <npc>              - what its last nights did
      @sleep/schedule <npc> = <hour> <hours> [game]
      @sleep/schedule <npc> = off
      @sleep/schedule <npc>         - show its schedule

    Examples:
      @sleep/now mara
      @sleep/schedule mara = 2 4       - daily at 2:00, for 4 hours at most
      @sleep/schedule mara = 22 8 game - at 22:00 on the game's own clock

    Asleep, an NPC hears but does not answer. First it is |wcompacting|n: it
    scores the journal and makes facts of it; a wake waits until that is done.
    Then it is |wdreaming|n: it links memories, describes people, summarises old
    conversations, and prunes what is unimportant. Work that is not finished
    is continued in the next night. Pinned and locked memories are left alone:
    see |whelp @memory|n.

    If your game has a sleep command of its own, |wsleep|n runs that one. Use
    |w@sleep|n or |w@npcsleep|n for this command.
    """

    key = "@sleep"
    aliases = ("@npcsleep",)
    switch_options = ("now", "wake", "status", "log", "schedule")

    def func(self) -> None:
        name = self.switch()
        if name is None:
            return
        if not self.lhs or (self.rhs is not None and name != "schedule"):
            typed = f"@sleep/{name} <npc>" if name else "@sleep[/<switch>] <npc>"
            self.tell(f"Usage: {typed}. See help @sleep.")
            return
        npc = self.find_npc(self.lhs, "look" if name in ("status", "log") else "edit")
        if npc is not None:
            self.run(_SWITCHES[name], self, npc, AssistantScript.of(npc))


# --- asleep and awake -----------------------------------------------------------------------------


def _fall_asleep(command: CmdSleep, npc: Any, script: AssistantScript) -> None:
    name = safe(npc.key)
    if script.asleep:
        command.tell(f"{name} is already asleep ({script.db.sleep_phase}).")
        return
    script.sleep.begin()
    access.record(command.caller, "sleep", npc)
    command.tell(f"{name} falls asleep. To wake it: @sleep/wake {name}")


@defer.inlineCallbacks
def _run_night(command: CmdSleep, npc: Any, script: AssistantScript) -> Generator[Any, Any, None]:
    name = safe(npc.key)
    does = "sleeps on" if script.asleep else "falls asleep"
    script.sleep.begin()
    access.record(command.caller, "sleep now", npc)
    command.tell(f"{name} {does} ...")

    def show_pass(each: str) -> None:
        command.tell(f"|x  {name}: {TITLES.get(each, each)} ...|n")

    passes: dict[str, dict[str, Any]] = yield script.sleep.whole_night(show_pass)
    results = [
        plural(passes[each]["changed"], *words)
        for each, words in _RESULTS.items()
        if each in passes and (each in _ALWAYS_SHOWN or passes[each]["changed"])
    ]
    failed = [TITLES.get(each, each) for each, done in passes.items() if done["errors"]]
    trouble = f" Failed: {', '.join(failed)}; see @sleep/log {name}." if failed else ""
    command.tell(f"{name} wakes up rested: {', '.join(results)}.{trouble}")


def _wake(command: CmdSleep, npc: Any, script: AssistantScript) -> None:
    name = safe(npc.key)
    if not script.asleep:
        command.tell(f"{name} is awake.")
        return
    access.record(command.caller, "wake", npc)
    if script.sleep.wake():
        command.tell(f"{name} wakes up.")
    else:
        command.tell(f"{name} is {script.db.sleep_phase} and will wake as soon as that is safe.")


def _show_status(command: CmdSleep, npc: Any, script: AssistantScript) -> None:
    name = safe(npc.key)
    if script.asleep:
        night = script.sleep.night
        wake = "; it will wake as soon as that is safe" if script.db.wake_requested else ""
        command.tell(
            f"{name} is asleep ({night.phase}): pass {night.position + 1} of {len(PASSES)}, "
            f"{TITLES[night.pass_name]}{wake}."
        )
    else:
        records = script.sleep.records
        ended = f" Its last night ended {minute(records[-1]['ended'])}." if records else ""
        command.tell(f"{name} is awake.{ended}")
    if paused(npc):
        command.tell(f"It is paused and will not sleep. To resume: {resume_command(npc)}")
    else:
        command.tell(_schedule_text(script))


# --- log and schedule -----------------------------------------------------------------------------


def _show_log(command: CmdSleep, npc: Any, script: AssistantScript) -> None:
    name, records = safe(npc.key), script.sleep.records[-NIGHTS_SHOWN:]
    if records:
        lines = [line for record in records for line in _night_lines(record)]
        command.page(f"|wNights of {name}|n, newest last", *lines)
    else:
        command.tell(f"{name} has not slept yet. Try @sleep/now {name}")


def _night_lines(record: dict[str, Any]) -> list[str]:
    """When the night was, and the passes that did anything."""
    woken = "" if record.get("whole", True) else ", woken early"
    began = minute(record.get("started") or "?")
    lines = [f"|w{began}|n to {record['ended'][11:16]}{woken}"]
    for name, done in record["passes"].items():
        if done["read"] or done["changed"] or done["errors"]:
            figures = f"{done['read']:>6} read {done['changed']:>6} changed"
            lines.append(f"  {TITLES.get(name, name):<24} {figures} {done['seconds']:>8.2f} s")
        lines += [f"    |r{safe(error)}|n" for error in done["errors"]]
    return lines if len(lines) > 1 else [*lines, "  nothing to do"]


_SCHEDULE = re.compile(r"(\d{1,2})\s+(\d{1,2})(?:\s+(server|game))?", re.IGNORECASE)


def _set_schedule(command: CmdSleep, npc: Any, script: AssistantScript) -> None:
    """Show the schedule, or set it if one is given."""
    text = command.rhs or ""
    if text.lower() in ("off", "none"):
        script.sleep.set_schedule(enabled=False)
        access.record(command.caller, "schedule the sleep of", npc, "off")
    elif text:
        found = _SCHEDULE.fullmatch(text)
        if not found or int(found[1]) > 23 or not 1 <= int(found[2]) <= 24:
            command.tell(
                "Give the hour (0-23) and the number of hours (1-24): "
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
        access.record(command.caller, "schedule the sleep of", npc, found[1], found[2], clock)
    command.tell(_schedule_text(script))


def _schedule_text(script: AssistantScript) -> str:
    plan = script.sleep.schedule
    if not plan["enabled"]:
        return "It has no sleep schedule. To set one: @sleep/schedule"
    return (
        f"It sleeps every day at {plan['sleep_start_hour']}:00 ({plan['clock']} time), for "
        f"{plan['sleep_duration_hours']} hours at most."
    )


_SWITCHES = {
    "": _fall_asleep,
    "now": _run_night,
    "wake": _wake,
    "status": _show_status,
    "log": _show_log,
    "schedule": _set_schedule,
}
