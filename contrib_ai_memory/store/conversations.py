"""Conversations in progress: the working memory of an NPC.

`character.db.working_memory` = {session id: {participants, messages, started, last_activity,
pending_actions}}. A conversation is over after an hour of silence. Everything here is small and
bounded; it is kept as objects and written together with the journal.
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
    """One conversation: its people, its latest messages, and the memories recalled in it.

    `lessons` are the ids of the experiences whose lessons a model was told.
    """

    session_id: str
    started: str
    last_activity: str
    participants: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    accessed: list[str] = field(default_factory=list)
    lessons: list[str] = field(default_factory=list)
    pending_actions: list[Any] = field(default_factory=list)

    def take_part(self, identity: str | None, when: str) -> None:
        """Add a participant, unless already there, and record the time."""
        self.last_activity = max(self.last_activity, when)
        if identity and identity not in self.participants:
            self.participants.append(identity)

    def say(self, message: Message) -> None:
        """Append a message; the oldest beyond `MESSAGES_KEPT` are dropped."""
        self.messages = [*self.messages, message][-MESSAGES_KEPT:]

    def heard_by(self, listeners: tuple[str, ...]) -> tuple[Message, ...]:
        """Return the messages that all `listeners` may hear again, oldest first."""
        return tuple(
            m for m in self.messages if may_hear(m.private or m.unjudged, m.witnesses, listeners)
        )

    def first_access(self, memory_ids: list[str]) -> list[str]:
        """Return the ids among `memory_ids` that are recalled first in this conversation."""
        new = [memory_id for memory_id in memory_ids if memory_id not in self.accessed]
        self.accessed = [*self.accessed, *new][-ACCESSED_KEPT:]
        return new

    def note_lessons(self, memory_ids: Iterable[str]) -> None:
        """Remember the experiences whose lessons were told: once in a conversation is enough."""
        self.lessons = [*self.lessons, *memory_ids][-ACCESSED_KEPT:]


class Conversations:
    """The conversations of one NPC, by session id."""

    counted = "messages"

    def __init__(self, npc: Any):
        self._npc = npc
        self._dirty = False
        stored = attributes.read(npc, ATTRIBUTE, {})
        self._open = {key: _conversation(key, plain) for key, plain in stored.items()}

    def join(self, place: str, when: str, session_id: str | None = None) -> Conversation:
        """Return the conversation going on at `place`, or a new one if it is over.

        Args:
            place: A room, or the ear of one whispering person.
            when: ISO timestamp of the message.
            session_id: A session given from outside, as in a replayed log.
        """
        self._dirty = True
        if session_id is None:
            going_on = self.going_on(place, when)
            session_id = going_on.session_id if going_on else f"{place}@{when}"
        if session_id not in self._open:
            self._open[session_id] = Conversation(session_id, when, when)
            while len(self._open) > CONVERSATIONS_KEPT:
                others = [key for key in self._open if key != session_id]
                del self._open[min(others, key=lambda k: self._open[k].last_activity)]
        return self._open[session_id]

    def going_on(self, place: str, when: str) -> Conversation | None:
        """Return the conversation at `place` that is not over at that time."""
        for conversation in reversed(self._open.values()):
            at_place = conversation.session_id.startswith(f"{place}@")
            if at_place and self._fresh(conversation, when):
                return conversation
        return None

    def get(self, session_id: str | None) -> Conversation | None:
        return self._open.get(session_id or "")

    def clear_stale(self, now: str) -> int:
        """[A] Drop conversations that are over. Returns how many."""
        stale = [key for key, talk in self._open.items() if not self._fresh(talk, now)]
        for key in stale:
            del self._open[key]
            self._dirty = True
        return len(stale)

    def take_out(self, removal: Removal) -> int:
        """Remove the messages that go, and a person from every conversation. Not written to disk
        before the next flush. See `MemoryPart`."""
        who, gone = removal.subject.identity, 0
        for key, talk in list(self._open.items()):
            kept = [message for message in talk.messages if not removal.takes_message(message)]
            gone += len(talk.messages) - len(kept)
            if who and (key.startswith(f"ear:{who}@") or (talk.participants == [who] and not kept)):
                del self._open[key]
                continue
            talk.messages = [replace(m, witnesses=removal.others(m.witnesses)) for m in kept]
            talk.participants = [*removal.others(talk.participants)]
        self._dirty = True
        return gone

    def note_judged(self, confided: Mapping[int, bool]) -> None:
        """Record which entries were said in confidence, and which aloud to everybody."""
        for talk in self._open.values():
            talk.messages = [
                replace(m, private=confided[m.entry_id], unjudged=False)
                if m.entry_id in confided
                else m
                for m in talk.messages
            ]
        self._dirty = True

    def mark_dirty(self) -> None:
        """Make the next flush write everything, as the database holds another NPC's data."""
        self._dirty = True

    def clear(self) -> None:
        """Remove every conversation."""
        self._open.clear()
        self._dirty = True
        self.flush()

    def busy(self, now: str, within: float) -> bool:
        """Return whether anybody spoke within the last `within` seconds."""
        return any(
            seconds_between(talk.last_activity, now) <= within for talk in self._open.values()
        )

    def flush(self) -> None:
        if not self._dirty:
            return
        stored = {key: attributes.to_plain(talk) for key, talk in self._open.items()}
        for plain in stored.values():
            del plain["session_id"]
        attributes.write(self._npc, ATTRIBUTE, stored)
        self._dirty = False

    def _fresh(self, conversation: Conversation, now: str) -> bool:
        if not conversation.last_activity:
            return False
        return seconds_between(conversation.last_activity, now) <= conf.CONVERSATION_IDLE_SECONDS


def _conversation(session_id: str, stored: dict[str, Any]) -> Conversation:
    known = {"started": "", "last_activity": ""} | attributes.known_fields(Conversation, stored)
    messages = []
    for each in known.get("messages", []):
        message = attributes.known_fields(Message, each)
        if {"entry_id", "role", "name", "content"} <= set(message):
            message["witnesses"] = tuple(message.get("witnesses", ()))
            messages.append(Message(**message))
    return Conversation(**known | {"session_id": session_id, "messages": messages})
