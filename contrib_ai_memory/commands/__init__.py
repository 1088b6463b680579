"""@memory and @sleep for builders, memories and forgetme for players, and their cmdset."""

from evennia import CmdSet

from .memory import CmdMemory
from .players import CmdForgetMe, CmdMemories
from .sleep import CmdSleep


class AIMemoryCmdSet(CmdSet):
    """Add it to the CharacterCmdSet: `self.add(AIMemoryCmdSet)`.

    A game with a `sleep` command of its own keeps it: `sleep` is then the game's, `@sleep` and
    `@npcsleep` are the builders'. Where the game has an `@sleep` too, the one that is added later
    takes the place of the other; give this one another name in a subclass of the set:

        class CmdNPCSleep(CmdSleep):
            key = "@npcsleep"
            aliases = ()
    """

    key = "AIMemoryCmdSet"

    def at_cmdset_creation(self) -> None:
        self.add(CmdMemory())
        self.add(CmdSleep())
        self.add(CmdMemories())
        self.add(CmdForgetMe())


__all__ = ["AIMemoryCmdSet", "CmdForgetMe", "CmdMemories", "CmdMemory", "CmdSleep"]
