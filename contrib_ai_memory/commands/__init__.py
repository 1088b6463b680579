"""The game's commands: @memory, @sleep, `examine`, memories, forgetme; and their cmdset."""

from evennia import CmdSet

from .examine import CmdExamine
from .memory import CmdMemory
from .players import CmdForgetMe, CmdMemories
from .sleep import CmdSleep


class AIMemoryCmdSet(CmdSet):
    """Add it to the CharacterCmdSet: `self.add(AIMemoryCmdSet)`.

    A game that has a `sleep` command keeps it: `sleep` runs the game's, `@sleep` and `@npcsleep`
    run this one. If the game has an `@sleep` too, whichever is added later replaces the other.
    Rename this one in a subclass and add that after this set:

        class CmdNPCSleep(CmdSleep):
            key = "@npcsleep"
            aliases = ()

    Its `examine` is Evennia's, except that it hides what an NPC remembers. A game with an
    `examine` of its own derives that from `CmdExamine` and adds it after this set.
    """

    key = "AIMemoryCmdSet"

    def at_cmdset_creation(self) -> None:
        self.add(CmdMemory())
        self.add(CmdSleep())
        self.add(CmdMemories())
        self.add(CmdForgetMe())
        self.add(CmdExamine())


__all__ = ["AIMemoryCmdSet", "CmdExamine", "CmdForgetMe", "CmdMemories", "CmdMemory", "CmdSleep"]
