"""Working memory: what is being talked about, and with whom, right now.

`character.db.working_memory` = {session id: {participants, messages, started, last_activity,
pending_actions}}. A conversation is over after an hour of silence. Everything here is small and
bounded; it is kept as objects and written with the journal.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from ..records import Message, seconds_between
from . import attributes

ATTRIBUTE = "working_memory"
MESSAGES_KEPT = 20
CONVERSATIONS_KEPT = 8
ACCESSED_KEPT = 200


@dataclass
class Conversation:
    """One conversation: its people, its last messages, and what was already brought to mind."""

    session_id: str
    started: str
    last_activity: str
    participants: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    accessed: list[str] = field(default_factory=list)
    pending_actions: list[Any] = field(default_factory=list)

    def take_part(self, identity: str | None, when: str) -> None:
        self.last_activity = max(self.last_activity, when)
        if identity and identity not in self.participants:
            self.participants.append(identity)

    def say(self, message: Message) -> None:
        self.messages = [*self.messages, message][-MESSAGES_KEPT:]

    def heard_by(self, listeners: tuple[str, ...]) -> tuple[Message, ...]:
        """The messages that everyone of `listeners` may hear again, oldest first."""
        return tuple(
            message
            for message in self.messages
            if not message.private or (listeners and set(listeners) <= set(message.witnesses))
        )

    def first_access(self, memory_ids: list[str]) -> list[str]:
        """Those of `memory_ids` that this conversation had not brought to mind before."""
        new = [memory_id for memory_id in memory_ids if memory_id not in self.accessed]
        self.accessed = [*self.accessed, *new][-ACCESSED_KEPT:]
        return new


class Conversations:
    """The conversations of one NPC that are still fresh."""

    def __init__(self, owner: Any, stale_after: float):
        self._owner = owner
        self._stale_after = stale_after
        self._dirty = False
        stored = attributes.read(owner, ATTRIBUTE) or {}
        self._open = {key: _conversation(key, plain) for key, plain in stored.items()}

    def join(self, place: str, when: str, session_id: str | None = None) -> Conversation:
        """The conversation going on at `place`, or a new one when that is over.

        Args:
            place: What makes talk one conversation: a room, or a whisperer's ear.
            when: ISO timestamp of the message.
            session_id: A session that is given from outside, as in a replayed log.
        """
        self._dirty = True
        if session_id is None:
            for conversation in reversed(self._open.values()):
                if conversation.session_id.startswith(f"{place}@") and self._fresh(
                    conversation, when
                ):
                    return conversation
            session_id = f"{place}@{when}"
        if session_id not in self._open:
            self._open[session_id] = Conversation(session_id, when, when)
            while len(self._open) > CONVERSATIONS_KEPT:
                others = [key for key in self._open if key != session_id]
                del self._open[min(others, key=lambda k: self._open[k].last_activity)]
        return self._open[session_id]

    def get(self, session_id: str | None) -> Conversation | None:
        return self._open.get(session_id or "")

    def clear_stale(self, now: str) -> int:
        """Drop the conversations that are over. Returns how many [A]."""
        stale = [key for key, talk in self._open.items() if not self._fresh(talk, now)]
        for key in stale:
            del self._open[key]
            self._dirty = True
        return len(stale)

    def busy(self, now: str, within: float) -> bool:
        """Whether anybody spoke within the last `within` seconds."""
        return any(
            seconds_between(talk.last_activity, now) <= within for talk in self._open.values()
        )

    def flush(self) -> None:
        if not self._dirty:
            return
        self._dirty = False
        stored = {}
        for key, talk in self._open.items():
            stored[key] = {k: v for k, v in asdict(talk).items() if k != "session_id"}
            for message in stored[key]["messages"]:
                message["witnesses"] = list(message["witnesses"])
        attributes.write(self._owner, ATTRIBUTE, stored)

    def _fresh(self, conversation: Conversation, now: str) -> bool:
        if not conversation.last_activity:
            return False
        return seconds_between(conversation.last_activity, now) <= self._stale_after


def _conversation(session_id: str, plain: dict[str, Any]) -> Conversation:
    """From what is stored, which a builder's hand may have changed: what is unknown is left out."""
    known = {spec.name for spec in fields(Conversation)} - {"session_id", "messages"}
    talk = Conversation(session_id, **{"started": "", "last_activity": ""} | _only(known, plain))
    names = {spec.name for spec in fields(Message)}
    for stored in plain.get("messages", []):
        message = _only(names, stored)
        if {"entry_id", "role", "name", "content"} <= set(message):
            message["witnesses"] = tuple(message.get("witnesses", ()))
            talk.messages.append(Message(**message))
    return talk


def _only(names: set[str], plain: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plain.items() if name in names}
