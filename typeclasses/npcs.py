"""NPCs with a memory."""

from evennia import DefaultCharacter

from contrib_ai_memory import MemoryMixin


class AssistantNPC(MemoryMixin, DefaultCharacter):
    """Someone who listens, remembers and answers.

    Make one in the game with `@create/drop Mara:typeclasses.npcs.AssistantNPC`.
    """

    def at_object_creation(self) -> None:
        super().at_object_creation()
        self.locks.add("get:false();call:false()")
