"""@memory: look into what an NPC remembers, and mend it. Its help, and which switch does what."""

from __future__ import annotations

from ..admin import access
from .base import MemoryCommand, safe
from .memory_life import Living
from .memory_lists import Lists
from .memory_mend import Mending
from .memory_one import OneMemory
from .memory_whole import WholeMemory

_OF_ONE = ("show", "links", "trace", "pin", "unpin", "lock", "unlock")
_NEEDS = {
    "search": "<question>",
    "add": "<text>",
    "teach": "<text>",
    "edit": "<id> <new text>",
    "forget": "<id>, or <id> all, or about <player>",
    "preview": "<player>: <what they would say>",
    "import": "<file name>",
} | dict.fromkeys(_OF_ONE, "<id>")
_ALONE = "overview mood history stats cost pause resume wipe".split()  # a name, and no more
_DEEDS = {
    "edit": "edit add teach forget pin unpin lock unlock undo pause resume import".split(),
    "erase": ["wipe"],
}


class CmdMemory(Lists, Living, OneMemory, Mending, WholeMemory, MemoryCommand):
    """
    look into what an NPC remembers, and mend it

    Usage:
      @memory                             - all NPCs that have a memory
      @memory <npc>                       - an overview of one
      @memory/<switch> <npc> [= <more>]

    Looking:
      journal <npc> [= <search>]          - what it perceived
      facts <npc> [= [ended] <words>]     - what it knows, or knew; also with
                                            experiences, lessons, summaries or
                                            insights before the words
      search <npc> = <question>           - what comes to its mind, and why
      show <npc> = <id>                   - one memory, with all around it
      links <npc> = <id>                  - what that is linked with
      trace <npc> = <id>                  - what it came from, what came of it
      profile <npc> [= <name>]            - whom it knows; what it knows of one
      mood <npc>                          - what it feels, and why
      preview <npc> = <player>: <words>   - the prompt for an answer to that
      history <npc>                       - what it said; what builders did
      stats <npc>, cost <npc>             - how it grew; what it cost today

    Mending:
      add <npc> = <text>                  - a memory; never cleaned away
      teach <npc> = <text>                - a longer text, to be learned
      edit <npc> = <id> <new text>        - what one memory says
      edit <npc> = <id> importance 8      - also emotions joy, fear; lesson ...
      forget <npc> = <id>                 - one memory
      forget <npc> = <id> all             - and all that was drawn from it
      forget <npc> = about <player>       - a person, whole (Admin)
      pin, unpin <npc> = <id>             - never cleaned away
      lock, unlock <npc> = <id>           - nor changed by the night
      undo <npc>                          - take the last change back

    The whole:
      pause, resume <npc> or all          - no hearing, learning or sleeping
      export <npc> [= <file>]             - to a file of the game's
      import <npc> = <file>               - from one
      wipe <npc>                          - empty its memory (Admin)
      requests [= drop <number>]          - players who ask to be forgotten

    <npc> is somebody here, or any object's name or #dbref. An <id> is the
    number of a journal entry (12) or the first digits of another memory's
    (3fa2c1d0), as lists and searches show them.

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
    everything, secrets too: what each listener would get is decided when the
    NPC answers; a preview shows it. Under each memory that was found stands
    what its score is made of: the similarity with its clues, and weight,
    recency and frequency, which count where RECALL_PROFILE is "salience".

    What is added is kept as it is. What is taught is cut into pieces, of which
    those are kept that are new and say something; begin a new line with ||/.

    What was changed or forgotten can be taken back, the last ten times; its
    words are kept for that long. |wundo <npc> = clear|n drops them. A person who
    is forgotten, and a memory that is wiped, do not come back.
    """

    key = "@memory"
    switch_options = (
        *("journal", "facts", "search", "show", "links", "trace", "profile", "mood", "preview"),
        *("history", "stats", "cost", "add", "teach", "edit", "forget", "pin", "unpin", "lock"),
        *("unlock", "undo", "pause", "resume", "export", "import", "wipe", "requests"),
    )
    usage = "@memory[/<switch>] <npc> [= <more>]. help @memory tells of all."

    def func(self) -> None:
        action = self.switches[0] if self.switches else "overview"
        if self.misspelt():
            return
        if action == "overview" and not self.args.strip():
            self.do_roster()
        elif action == "requests":
            self.do_requests()
        elif action in ("pause", "resume") and self.lhs.lower() == "all":
            self.do_all(action == "pause")
        else:
            self._one_npc(action)

    def _one_npc(self, action: str) -> None:
        more = f" = {_NEEDS[action]}" if action in _NEEDS else ""
        if more and not (self.lhs and self.rhs):
            self.tell(f"Usage: @memory/{action} <npc>{more}")
            return
        if not self.lhs:
            self.tell(f"Usage: @memory/{action} <npc>. {safe(self.usage)}")
            return
        deed = next((name for name, actions in _DEEDS.items() if action in actions), "look")
        npc = self.find_npc(self.lhs, deed)
        if npc is None:
            return
        if action in _ALONE and self.rhs:
            does = "@memory" if action == "overview" else f"@memory/{action}"
            self.tell(f"{does} takes a name, and nothing after it. help @memory tells of all.")
        else:
            if deed == "look" and action != "export":  # that has a line of its own
                access.record_look(self.caller, f"@memory/{action}", npc)
            getattr(self, f"do_{action}")(npc)
