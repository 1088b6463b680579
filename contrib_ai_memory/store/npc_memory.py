"""`npc.memory` as the rooms below the handler know it."""

from __future__ import annotations

from typing import Any, Protocol

from twisted.internet.defer import Deferred

from ..conf import Settings
from ..offload import AWAKE
from ..records import Entry, Percept
from .agenda import Agenda
from .chat_log import ChatLog
from .conversations import Conversations
from .evidence import Evidence
from .journal import Journal
from .links import Links
from .npc_settings import NPCSettings
from .people import People
from .preferences import Preferences
from .profiles import Profiles
from .reply_reasons import Reasons


class Memory(Protocol):
    """All that an NPC remembers. Reactor thread only; `handler.MemoryHandler` is the one there is.

    Attributes:
        owner: The NPC, an Evennia object.
        id: The UUID under which the store keeps its memories.
        names: Its name and aliases.
        goals: What it wants, as builders wrote it.
        clock: The present, ISO 8601 UTC; a replay has the log's time.
        looked_at: The newest entry when `sleep.consolidation.look_awake` last looked.
    """

    owner: Any
    id: str
    journal: Journal
    evidence: Evidence
    conversations: Conversations
    people: People
    links: Links
    preferences: Preferences
    agenda: Agenda
    profiles: Profiles
    chat_log: ChatLog
    reasons: Reasons
    own_settings: NPCSettings
    looked_at: int

    def perceive(self, percept: Percept) -> Entry: ...
    def index_pending(self, priority: int = AWAKE) -> Deferred: ...
    def work_through(self, *, until_silent: bool = False, priority: int = AWAKE) -> Deferred: ...
    def flush(self) -> None: ...
    def clock(self) -> str: ...

    @property
    def settings(self) -> Settings: ...
    @property
    def name(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def phrases(self) -> dict[str, tuple[str, ...]]: ...
    @property
    def goals(self) -> str: ...
