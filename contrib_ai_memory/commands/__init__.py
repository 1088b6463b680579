"""@memory, @sleep and `examine` for builders, memories and forgetme for players; their cmdset."""

from evennia import CmdSet

from .examine import CmdExamine
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

    Its `examine` is Evennia's, without what an NPC remembers. A game with an `examine` of its own
    derives that from `CmdExamine`, and adds it after this set.
    """

    key = "AIMemoryCmdSet"

    def at_cmdset_creation(self) -> None:
        self.add(CmdMemory())
        self.add(CmdSleep())
        self.add(CmdMemories())
        self.add(CmdForgetMe())
        self.add(CmdExamine())


__all__ = [
    "AIMemoryCmdSet",
    "CmdExamine",
    "CmdForgetMe",
    "CmdMemories",
    "CmdMemory",
    "CmdSleep",
]
