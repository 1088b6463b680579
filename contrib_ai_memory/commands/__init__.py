"""@memory and @sleep, and the cmdset that brings them."""

from evennia import CmdSet

from .memory import CmdMemory
from .sleep import CmdSleep


class AIMemoryCmdSet(CmdSet):
    """Add it to the CharacterCmdSet: `self.add(AIMemoryCmdSet)`.

    A game with a `sleep` command of its own adds this set after it and reaches the builders'
    command by its alias, `@npcsleep`.
    """

    key = "AIMemoryCmdSet"

    def at_cmdset_creation(self) -> None:
        self.add(CmdMemory())
        self.add(CmdSleep())


__all__ = ["AIMemoryCmdSet", "CmdMemory", "CmdSleep"]
