"""@sleep: send an NPC to sleep, run a whole night, wake it, schedule its nights.

A switch is an operation of the table. Here are those that read what is typed, or show what they
give, in a way of their own; the command, with its help, is at the end.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from ..admin import edit, inspect, operations
from ..admin.operations import TABLE
from ..errors import InputError
from ..script import AssistantScript
from ..sleep.night import TITLES
from ..store.pause import paused
from .base import OperationCommand, help_text, own_way, resume_command
from .display import minute, safe

OWN: dict[str, Any] = {}  # read what is typed
VIEWS: dict[str, Any] = {}  # show what an operation gives

NIGHTS_SHOWN = 10


# --- asleep and awake -----------------------------------------------------------------------------


@own_way(OWN)
def _now(command: OperationCommand, npc: Any) -> Generator[Any, Any, None]:
    name, script = safe(npc.key), AssistantScript.of(npc)
    does = "sleeps on" if script.asleep else "falls asleep"
    script.sleep.begin()
    command.tell(f"{name} {does} ...")

    def show_pass(each: str) -> None:
        command.tell(f"|x  {name}: {TITLES.get(each, each)} ...|n")

    passes = yield TABLE["now"].run(npc, command.caller, progress=show_pass)
    command.tell(f"{name} wakes up rested{'.' if passes else ': its memory was wiped meanwhile.'}")
    for night in inspect.nights(npc)[: 1 if passes else 0]:
        command.page(*_night_lines(night))
        if night.trouble:
            command.tell(f"|r{safe(night.trouble)}|n")


@own_way(VIEWS)
def _status(command: OperationCommand, npc: Any, status: inspect.Status) -> None:
    name, night = safe(npc.key), status.night
    if night:
        wake = "; it will wake as soon as that is safe" if night.waking else ""
        command.tell(
            f"{name} is asleep ({night.phase}): pass {night.position} of {night.passes}, "
            f"{night.title}{wake}."
        )
    else:
        last = npc.assistant.sleep.last_night
        command.tell(f"{name} is awake.{f' Its last night ended {minute(last)}.' if last else ''}")
    if paused(npc):
        command.tell(f"It is paused and will not sleep. To resume: {resume_command(npc)}")
    else:
        command.tell(edit.schedule_of(npc).sentence)


# --- log and schedule -----------------------------------------------------------------------------


@own_way(VIEWS)
def _nights(command: OperationCommand, npc: Any, found: list[inspect.NightDone]) -> None:
    name, nights = safe(npc.key), found[:NIGHTS_SHOWN]
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
        lines += [f"    |rFailed: {safe(error)}|n" for error in done.errors]
    return lines if len(lines) > 1 else [*lines, "  nothing to do"]


_PLAN = re.compile(r"(\d{1,2})\s+(\d{1,2})(?:\s+(server|game))?", re.IGNORECASE)


@own_way(OWN)
def _set_schedule(command: OperationCommand, npc: Any, text: str) -> Any:
    """Read a schedule, or show the one there is."""
    plan = {"off": "off", "none": "off", "default": "default"}.get(text.lower())
    if not text:
        return command.tell(edit.schedule_of(npc).sentence)
    if plan:
        return command.carry_out(TABLE["set_schedule"], npc, {"plan": plan})
    found = _PLAN.fullmatch(text)
    if not found or int(found[1]) > 23 or not 1 <= int(found[2]) <= 24:
        raise InputError(
            f"Give the hour (0-23) and the number of hours (1-24): @sleep/schedule {npc.key} = 2 4"
        )
    hours = {"hour": int(found[1]), "hours": int(found[2]), "clock": (found[3] or "server").lower()}
    return command.carry_out(TABLE["set_schedule"], npc, {"plan": "own", **hours})


# --- the command ----------------------------------------------------------------------------------


_PROSE = """
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


class CmdSleep(OperationCommand):
    __doc__ = help_text("@sleep", "send an NPC to sleep", _PROSE)

    key = "@sleep"
    aliases = ("@npcsleep",)
    table = "@sleep"
    switch_options = tuple(filter(None, operations.switches(table)))
    own, views = OWN, VIEWS
