"""The example game's cmdsets: Evennia's own, and the builders' @memory and @sleep."""

from evennia import default_cmds

from contrib_ai_memory import AIMemoryCmdSet


class CharacterCmdSet(default_cmds.CharacterCmdSet):
    key = "DefaultCharacter"

    def at_cmdset_creation(self) -> None:
        super().at_cmdset_creation()
        self.add(AIMemoryCmdSet)


class AccountCmdSet(default_cmds.AccountCmdSet):
    key = "DefaultAccount"


class UnloggedinCmdSet(default_cmds.UnloggedinCmdSet):
    key = "DefaultUnloggedin"


class SessionCmdSet(default_cmds.SessionCmdSet):
    key = "DefaultSession"
