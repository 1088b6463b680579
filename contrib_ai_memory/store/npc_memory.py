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
    """All that an NPC remembers: `handler.MemoryHandler`. Reactor thread only."""

    owner: Any  # the NPC, an Evennia object
    id: str  # the UUID under which the store keeps its memories
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
    looked_at: int  # the newest entry when `sleep.consolidation.look_awake` last looked

    def perceive(self, percept: Percept) -> Entry: ...
    def index_pending(self, priority: int = AWAKE) -> Deferred: ...
    def work_through(self, *, until_silent: bool = False, priority: int = AWAKE) -> Deferred: ...
    def flush(self) -> None: ...
    def clock(self) -> str: ...  # ISO 8601 UTC; a replay has the log's time

    @property
    def settings(self) -> Settings: ...
    @property
    def name(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...  # with aliases
    @property
    def phrases(self) -> dict[str, tuple[str, ...]]: ...
    @property
    def goals(self) -> str: ...
