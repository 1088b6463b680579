"""@sleep: send an NPC to sleep, run a whole night, wake it, schedule its nights.

Each switch is a function of its name; the command, with its help, is at the end.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from twisted.internet import defer

from ..admin import audit, edit, inspect
from ..script import AssistantScript
from ..sleep.night import PASSES, TITLES
from ..store.pause import paused
from ..text import plural
from .base import MemoryCommand, Switches, resume_command
from .display import minute, safe

SWITCHES = Switches()

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


# --- asleep and awake -----------------------------------------------------------------------------


@SWITCHES.add(access_type="edit", name="")
def _sleep(command: MemoryCommand, npc: Any) -> None:
    name, script = safe(npc.key), AssistantScript.of(npc)
    if script.asleep:
        command.tell(f"{name} is already asleep ({script.db.sleep_phase}).")
        return
    script.sleep.begin()
    audit.record(command.caller, "sleep", npc)
    command.tell(f"{name} falls asleep. To wake it: @sleep/wake {name}")


@SWITCHES.add(access_type="edit")
@defer.inlineCallbacks
def _now(command: MemoryCommand, npc: Any) -> Generator[Any, Any, None]:
    name, script = safe(npc.key), AssistantScript.of(npc)
    does = "sleeps on" if script.asleep else "falls asleep"
    script.sleep.begin()
    audit.record(command.caller, "sleep now", npc)
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
    done = ", ".join(results) or "its memory was wiped meanwhile"
    command.tell(f"{name} wakes up rested: {done}.{trouble}")
    without_model = [each.trouble for each in inspect.nights(npc)[:1] if each.trouble]
    if without_model:
        command.tell(f"|r{safe(without_model[0])}|n")


@SWITCHES.add(access_type="edit")
def _wake(command: MemoryCommand, npc: Any) -> None:
    name, script = safe(npc.key), AssistantScript.of(npc)
    if not script.asleep:
        command.tell(f"{name} is awake.")
        return
    audit.record(command.caller, "wake", npc)
    if script.sleep.wake():
        command.tell(f"{name} wakes up.")
    else:
        command.tell(f"{name} is {script.db.sleep_phase} and will wake as soon as that is safe.")


@SWITCHES.add()
def _status(command: MemoryCommand, npc: Any) -> None:
    name, script = safe(npc.key), AssistantScript.of(npc)
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


@SWITCHES.add()
def _log(command: MemoryCommand, npc: Any) -> None:
    name, nights = safe(npc.key), inspect.nights(npc)[:NIGHTS_SHOWN]
    if nights:
        lines = [line for night in reversed(nights) for line in _night_lines(night)]
        command.page(f"|wNights of {name}|n, newest last", *lines)
    else:
        command.tell(f"{name} has not slept yet. Try @sleep/now {name}")


def _night_lines(night: inspect.NightDone) -> list[str]:
    """When the night was, and the passes that did anything, with who did it."""
    woken = "" if night.whole else ", woken early"
    without = ", |rmodel failed|n" if night.trouble else ""
    lines = [f"|w{minute(night.started or '?')}|n to {night.ended[11:16]}{woken}{without}"]
    for done in night.passes:
        if done.read or done.changed or done.errors or done.told:
            figures = f"{done.read:>6} read {done.changed:>6} changed"
            lines.append(f"  {done.title:<24} {figures} {done.seconds:>8.2f} s")
        lines += [f"    {safe(phrase)}" for phrase in done.told]
        lines += [f"    |r{safe(error)}|n" for error in done.errors]
    return lines if len(lines) > 1 else [*lines, "  nothing to do"]


_PLAN = re.compile(r"(\d{1,2})\s+(\d{1,2})(?:\s+(server|game))?", re.IGNORECASE)


@SWITCHES.add("[<hour> <hours> [game], or off, or default]", access_type="edit")
def _schedule(command: MemoryCommand, npc: Any, text: str) -> None:
    """Show the schedule, or set it if one is given."""
    if text.lower() in ("off", "none"):
        edit.set_schedule(npc, command.caller, "off")
    elif text.lower() == "default":
        edit.set_schedule(npc, command.caller, "default")
    elif text:
        found = _PLAN.fullmatch(text)
        if not found or int(found[1]) > 23 or not 1 <= int(found[2]) <= 24:
            command.tell(
                "Give the hour (0-23) and the number of hours (1-24): "
                f"@sleep/schedule {safe(npc.key)} = 2 4"
            )
            return
        clock = (found[3] or "server").lower()
        edit.set_schedule(npc, command.caller, "own", int(found[1]), int(found[2]), clock)
    command.tell(_schedule_text(AssistantScript.of(npc)))


def _schedule_text(script: AssistantScript) -> str:
    if not script.sleep.schedule["enabled"]:
        return "It has no sleep schedule. To set one: @sleep/schedule"
    return f"It sleeps {script.sleep.schedule_told()}."


# --- the command ----------------------------------------------------------------------------------


class CmdSleep(MemoryCommand):
    """
    send an NPC to sleep

    Usage:
      @sleep <npc>                  - fall asleep; the night runs in small steps
      @sleep/now <npc>              - run a whole night at once, then wake up
      @sleep/wake <npc>             - wake up as soon as it is safe
      @sleep/status <npc>           - asleep or awake; progress; schedule
      @sleep/log <npc>              - what each of the last nights did
      @sleep/schedule <npc>         - show the schedule
      @sleep/schedule <npc> = <hour> <hours> [game]
      @sleep/schedule <npc> = off
      @sleep/schedule <npc> = default  - that of its settings: @memory/settings

    Examples:
      @sleep/now mara
      @sleep/schedule mara = 2 4       - daily at 2:00, for 4 hours at most
      @sleep/schedule mara = 22 8 game - at 22:00 on the game's own clock

    A sleeping NPC hears but does not answer. A night has two phases. While
    |wcompacting|n, the NPC scores its journal and extracts facts from it. While
    |wdreaming|n, it links memories, describes people, summarises old
    conversations, and prunes unimportant entries. If it is woken while
    compacting, it wakes up at the end of that phase. Unfinished work goes on
    in the next night. A night never prunes a pinned memory and never changes
    a locked one: see |whelp @memory|n.

    If your game has a sleep command of its own, |wsleep|n runs that one. Use
    |w@sleep|n or |w@npcsleep|n for this command.
    """

    key = "@sleep"
    aliases = ("@npcsleep",)
    switch_options = tuple(filter(None, SWITCHES))

    def func(self) -> None:
        name = self.switch()
        if name is None:
            return
        arguments = self.arguments(name, SWITCHES[name])
        if arguments is not None:
            self.run(SWITCHES[name].run, *arguments)
