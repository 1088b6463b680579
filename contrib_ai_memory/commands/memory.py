"""@memory: the command, its help, and the table of its switches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..admin import access
from . import memory_changes, memory_files, memory_views
from .base import MemoryCommand


@dataclass(frozen=True, slots=True)
class Switch:
    """What a switch does.

    Attributes:
        run: Called with the command and the NPC, and with the argument if the switch takes one.
        argument: What follows `=`, as the usage line shows it; in brackets if it may be left out,
            "" if there is none.
        access_type: The access that it needs.
    """

    run: Callable[..., Any]
    argument: str = ""
    access_type: access.Action = "look"


_NO_SWITCH = Switch(memory_views.overview)
SWITCHES = {
    "journal": Switch(memory_views.journal, "[<search>]"),
    "facts": Switch(memory_views.facts, "[<search>]"),
    "search": Switch(memory_views.search, "<question>"),
    "show": Switch(memory_views.show, "<id>"),
    "links": Switch(memory_views.links, "<id>"),
    "trace": Switch(memory_views.trace, "<id>"),
    "profile": Switch(memory_views.profile, "[<name>]"),
    "agenda": Switch(memory_views.agenda),
    "mood": Switch(memory_views.mood),
    "preview": Switch(memory_views.prompt, "<player>: <line>"),
    "history": Switch(memory_views.history),
    "stats": Switch(memory_views.growth),
    "cost": Switch(memory_views.cost),
    "add": Switch(memory_changes.add, "<text>", "edit"),
    "teach": Switch(memory_changes.teach, "<text>", "edit"),
    "edit": Switch(memory_changes.reword, "<id> <new text>", "edit"),
    "forget": Switch(memory_changes.forget_memory, "<id>, or <id> all, or about <player>", "edit"),
    "pin": Switch(memory_changes.pin, "<id>", "edit"),
    "unpin": Switch(memory_changes.unpin, "<id>", "edit"),
    "lock": Switch(memory_changes.lock, "<id>", "edit"),
    "unlock": Switch(memory_changes.unlock, "<id>", "edit"),
    "undo": Switch(memory_changes.undo, "[clear]", "edit"),
    "pause": Switch(memory_changes.pause, access_type="edit"),
    "resume": Switch(memory_changes.resume, access_type="edit"),
    "export": Switch(memory_files.export, "[<file name>]"),
    "import": Switch(memory_files.import_, "<file name>", "edit"),
    "wipe": Switch(memory_changes.wipe, access_type="erase"),
}


class CmdMemory(MemoryCommand):
    """
    view and change what an NPC remembers

    Usage:
      @memory                             - list all NPCs with a memory
      @memory <npc>                       - overview of one NPC
      @memory/<switch> <npc> [= <argument>]

    View:
      journal <npc> [= <search>]          - what it perceived
      facts <npc> [= <words>]             - what it knows
      facts <npc> = ended [<words>]       - what it used to know
      facts <npc> = lessons [<words>]     - what it was taught; also experiences,
                                            summaries, insights
      search <npc> = <question>           - what it recalls, and each score
      show <npc> = <id>                   - one memory in full
      links <npc> = <id>                  - the memories linked with it
      trace <npc> = <id>                  - its sources, and what came of it
      profile <npc> [= <name>]            - the people it knows, or one of them
      agenda <npc>                        - promises, debts, requests and plans
      mood <npc>                          - what it feels, and why
      preview <npc> = <player>: <line>    - the prompt for an answer to that line
      history <npc>                       - its conversation; builders' changes
      stats <npc>, cost <npc>             - growth; today's model usage

    Change:
      add <npc> = <text>                  - add a memory, which is never pruned
      teach <npc> = <text>                - teach it a longer text
      edit <npc> = <id> <new text>        - reword a memory
      edit <npc> = <id> importance 8      - also: emotions joy, fear; lesson ...
      forget <npc> = <id>                 - forget one memory
      forget <npc> = <id> all             - and everything derived from it
      forget <npc> = about <player>       - erase a person (Admin)
      pin, unpin <npc> = <id>             - never prune it
      lock, unlock <npc> = <id>           - let only builders change it
      undo <npc>                          - undo the last change

    Whole memory:
      pause, resume <npc> or all          - stop hearing, learning and sleeping
      export <npc> [= <file name>]        - save it to a file on the server
      import <npc> = <file name>          - load an exported file
      wipe <npc>                          - erase all of it (Admin)
      requests [= drop <number>]          - players who asked to be forgotten

    <npc> is somebody in the room, or any object's name or #dbref. An <id> is
    the number of a journal entry (12) or the first digits of another memory's
    id (3fa2c1d0), as lists and searches show it. A journal <search> is words,
    about <name>, a kind (say, whisper, arrive ...), a day or month (UTC), before
    <entry number>, or several of these, with commas between them.

    Examples:
      @memory/journal mara = ferry
      @memory/journal mara = about Alice, 2026-11-20
      @memory/journal mara = whisper, before 120
      @memory/facts mara = ended ferry
      @memory/facts mara = insights
      @memory/search mara = who keeps the ferry?
      @memory/edit mara = 12 I keep the mill at Millbrook.
      @memory/forget mara = about Alice
      @memory/preview mara = Alice: Where did I hide my key?
      @memory/teach mara = # The ferry||/The ferry crosses at dawn. It is ...

    A red |r*|n marks what was whispered, a |c!|n what is pinned. A search sees
    everything, secrets too; the NPC itself tells each listener only what they
    may know, as a preview shows. Below each result are the parts of its score.
    Weight, recency and frequency count if RECALL_PROFILE is "salience".

    An added text is kept word for word. A taught text is cut into pieces, and
    the new and informative ones are kept; ||/ begins a new line in it.

    The last ten changes can be undone. The old text is kept for that long;
    |wundo <npc> = clear|n deletes it. A person who was erased and a memory that
    was wiped cannot be brought back.
    """

    key = "@memory"
    switch_options = (*SWITCHES, "requests")

    def func(self) -> None:
        name = self.switch()
        if name is None:
            return
        if name == "requests":
            self.run(memory_changes.erasure_requests, self, self.rhs or "")
        elif not name and not self.args:
            self.run(memory_views.roster, self)
        elif name in ("pause", "resume") and self.lhs.lower() == "all":
            self.run(memory_changes.pause_all, self, name == "pause")
        else:
            self._of_npc(name)

    def _of_npc(self, name: str) -> None:
        typed = f"@memory/{name}" if name else "@memory"
        switch = SWITCHES[name] if name else _NO_SWITCH
        argument = self.rhs or ""
        required = switch.argument and not switch.argument.startswith("[")
        if not self.lhs or (required and not argument) or (argument and not switch.argument):
            after = f" = {switch.argument}" if required else f" [= {switch.argument[1:-1]}]"
            usage = f"{typed} <npc>{after if switch.argument else ''}"
            self.tell(f"Usage: {usage}. See help @memory.")
            return
        npc = self.find_npc(self.lhs, switch.access_type)
        if npc is None:
            return
        if switch.access_type == "look" and name != "export":  # an export is logged with its file
            access.record_look(self.caller, typed, npc)
        self.run(switch.run, self, npc, *([argument] if switch.argument else []))
