"""NPCs with a memory."""

from evennia.objects.objects import DefaultCharacter

from contrib_ai_memory import MemoryMixin


class AssistantNPC(MemoryMixin, DefaultCharacter):
    """Someone who listens, remembers and answers.

    Make one in the game with `@create/drop Mara:typeclasses.npcs.AssistantNPC`.
    """

    def at_object_creation(self) -> None:
        super().at_object_creation()
        self.locks.add("get:false();call:false()")


class GuardNPC(AssistantNPC):
    """A guard, who keeps little, answers only to its name, and needs no language model."""

    memory_settings = {
        "LLM": None,
        "UNASKED_REPLIES": 0,
        "RECALL_TOKENS": 150,
        "MIN_IMPORTANCE": 6,
        "PRUNE_AT_MOST": 5,
        "PRUNE_AFTER_DAYS": 7,
        "PHRASES": {"greeting": "State your business, {name}."},
    }


class CompanionNPC(AssistantNPC):
    """A companion, who is easily drawn into talk and keeps everything."""

    memory_settings = {
        "UNASKED_REPLIES": 8,
        "RECALL_TOKENS": 1500,
        "MIN_IMPORTANCE": 1,
        "PRUNE_AT_MOST": 0,
    }
