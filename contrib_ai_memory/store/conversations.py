"""Conversations in progress: the working memory of an NPC.

`character.db.working_memory` = {session id: {participants, messages, started, last_activity,
pending_actions}}. A conversation is over after an hour of silence. All is written together with the
journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .. import conf
from ..privacy import may_hear
from ..records import Message, seconds_between
from . import attributes
from .removal import Removal

ATTRIBUTE = "working_memory"
MESSAGES_KEPT = 20
CONVERSATIONS_KEPT = 8
ACCESSED_KEPT = 200


@dataclass
class Conversation:
    """One conversation: its people, its latest messages, and the memories recalled in it."""

    session_id: str
    started: str = ""
    last_activity: str = ""
    participants: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    accessed: list[str] = field(default_factory=list)
    lessons: list[str] = field(default_factory=list)  # ids of experiences whose lessons were told
    pending_actions: list[Any] = field(default_factory=list)

    def take_part(self, identity: str | None, when: str) -> None:
        self.last_activity = max(self.last_activity, when)
        if identity and identity not in self.participants:
            self.participants.append(identity)

    def say(self, message: Message) -> None:
        self.messages = [*self.messages, message][-MESSAGES_KEPT:]

    def heard_by(self, listeners: tuple[str, ...]) -> tuple[Message, ...]:
        """Return the messages that all `listeners` may hear again, oldest first."""
        return tuple(
            m for m in self.messages if may_hear(m.private or m.unjudged, m.witnesses, listeners)
        )

    def first_access(self, memory_ids: list[str]) -> list[str]:
        """Return those that are recalled first in this conversation."""
        new = [memory_id for memory_id in memory_ids if memory_id not in self.accessed]
        self.accessed = [*self.accessed, *new][-ACCESSED_KEPT:]
        return new

    def note_lessons(self, memory_ids: Iterable[str]) -> None:
        """Note experiences whose lessons were told: once in a conversation is enough."""
        self.lessons = [*self.lessons, *memory_ids][-ACCESSED_KEPT:]


class Conversations(attributes.Table[Conversation]):
    """The conversations of one NPC, by session id."""

    counted = "messages"
    attribute, kind, name = ATTRIBUTE, Conversation, "session_id"

    def join(self, place: str, when: str, session_id: str | None = None) -> Conversation:
        """Return the conversation going on at `place`, or a new one if it is over.

        Args:
            place: A room, or the ear of one whispering person.
            session_id: A session given from outside, as in a replayed log.
        """
        self._dirty = True
        if session_id is None:
            going_on = self.going_on(place, when)
            session_id = going_on.session_id if going_on else f"{place}@{when}"
        if session_id not in self._records:
            self._records[session_id] = Conversation(session_id, when, when)
            while len(self._records) > CONVERSATIONS_KEPT:
                others = [key for key in self._records if key != session_id]
                del self._records[min(others, key=lambda k: self._records[k].last_activity)]
        return self._records[session_id]

    def going_on(self, place: str, when: str) -> Conversation | None:
        """Return the conversation at `place` that is not over at that time."""
        for conversation in reversed(self._records.values()):
            at_place = conversation.session_id.startswith(f"{place}@")
            if at_place and self._fresh(conversation, when):
                return conversation
        return None

    def clear_stale(self, now: str) -> int:
        """[A] Drop conversations that are over. Returns how many."""
        stale = [key for key, talk in self._records.items() if not self._fresh(talk, now)]
        for key in stale:
            del self._records[key]
            self._dirty = True
        return len(stale)

    def take_out(self, removal: Removal) -> int:
        """Remove the messages that go, and a person from every conversation. Not written to disk
        before the next flush. See `MemoryPart`."""
        who, gone = removal.subject.identity, 0
        for key, talk in list(self._records.items()):
            kept = [message for message in talk.messages if not removal.takes_message(message)]
            gone += len(talk.messages) - len(kept)
            if who and (key.startswith(f"ear:{who}@") or (talk.participants == [who] and not kept)):
                del self._records[key]
                continue
            talk.messages = [replace(m, witnesses=removal.others(m.witnesses)) for m in kept]
            talk.participants = [*removal.others(talk.participants)]
        self._dirty = True
        return gone

    def note_judged(self, confided: Mapping[int, bool]) -> None:
        """Record which entries were said in confidence, and which aloud to everybody."""
        for talk in self._records.values():
            talk.messages = [
                replace(m, private=confided[m.entry_id], unjudged=False)
                if m.entry_id in confided
                else m
                for m in talk.messages
            ]
        self._dirty = True

    def busy(self, now: str, within: float) -> bool:
        return any(
            seconds_between(talk.last_activity, now) <= within for talk in self._records.values()
        )

    def _fresh(self, conversation: Conversation, now: str) -> bool:
        if not conversation.last_activity:
            return False
        return seconds_between(conversation.last_activity, now) <= conf.CONVERSATION_IDLE_SECONDS
