"""Log of the last actions of builders on a memory, with the state before each, for undo.

`edit.undo` undoes the newest. One JSON Attribute holds the log. It keeps forgotten text too, so an
erasure calls `clear` first. Reactor thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from functools import wraps
from typing import Any

from twisted.internet import defer

from ..errors import InputError
from ..records import now_iso
from ..store import attributes
from .jobs import unless_deleted

KEY = "undo"
ACTS_KEPT = 10
LARGEST = 64_000  # bytes of the whole log


class NothingToUndo(InputError):
    """Nothing was done to this memory, or it was done too long ago."""


@dataclass(frozen=True, slots=True)
class Before:
    """The state before an action, as plain data."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    memories: list[dict[str, Any]] = field(default_factory=list)
    # rows of `store.history` of each memory
    history: dict[str, list[list[str]]] = field(default_factory=dict)
    links: list[list[Any]] = field(default_factory=list)  # [a, b, score, kind, created]
    # [memory id, {field: value}] of memories that were not rewritten
    payload: list[list[Any]] = field(default_factory=list)
    made: list[str] = field(default_factory=list)  # link ids of memories that the action made
    # [identity, name, observations, attributes] that it removed
    profiles: list[list[Any]] = field(default_factory=list)
    preferences: list[dict[str, Any]] = field(default_factory=list)
    agenda: list[dict[str, Any]] = field(default_factory=list)
    # what it changed in entries, memories and preferences; empty where it removed them
    fields: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Act:
    """One action: who did what to which memories, and when (ISO 8601 UTC)."""

    action: str
    who: str
    when: str
    ids: tuple[str, ...]
    before: Before

    def summary(self) -> str:
        """Return the action in words, without the texts of the memories."""
        some = ", ".join(self.ids[:6]) + (" …" if len(self.ids) > 6 else "")
        return f"{self.action} {some} by {self.who}, {self.when[:16].replace('T', ' ')}"

    def to_dict(self) -> dict[str, Any]:
        plain = asdict(self)
        return {"deed": plain.pop("action"), **plain}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Act:
        before = Before(**plain["before"])
        return cls(plain["deed"], plain["who"], plain["when"], tuple(plain["ids"]), before)


def one_at_a_time(action: Callable[..., defer.Deferred]) -> Callable[..., defer.Deferred]:
    """Serialise actions per NPC with its lock, the erasure of a person among them."""

    @wraps(action)
    def serialised(npc: Any, *args: Any, **options: Any) -> defer.Deferred:
        def run(npc: Any) -> defer.Deferred:
            return npc.assistant.state.edit_lock.run(unless_deleted, action, npc, *args, **options)

        return unless_deleted(run, npc)

    return serialised


def add(npc: Any, who: Any, action: str, ids: Sequence[str], before: Before) -> bool:
    """Log an action so that it can be undone. Returns False where it is too large to be kept.

    The oldest are dropped above ten actions, or 64 kB.
    """
    act = Act(action, str(who.key) if who else "the server", now_iso(), tuple(ids), before)
    kept = [*acts(npc), act][-ACTS_KEPT:]
    while kept and len(attributes.as_json([each.to_dict() for each in kept]).encode()) > LARGEST:
        kept.pop(0)
    if kept:
        attributes.write_json(npc, KEY, [each.to_dict() for each in kept])
    return bool(kept)


def acts(npc: Any) -> list[Act]:
    """Return the actions that can be undone, oldest first."""
    return [Act.from_dict(plain) for plain in attributes.read_json(npc, KEY) or []]


def newest(npc: Any) -> list[Act]:
    """Show builders' changes that can be undone. Newest first."""
    return acts(npc)[::-1]


def holds(npc: Any, utterances: Collection[str]) -> bool:
    """Return whether an undo would bring back what the NPC heard of these (`Entry.utterance`)."""
    return any(
        entry.get("utterance") in utterances for act in acts(npc) for entry in act.before.entries
    )


def clear(npc: Any) -> int:
    """Drop everything that could be undone. Returns how many actions that were."""
    count = len(attributes.read_json(npc, KEY) or [])
    if count:
        attributes.remove_json(npc, KEY)
    return count


def drop_newest(npc: Any) -> None:
    """Drop the newest action, which was undone."""
    if kept := acts(npc)[:-1]:
        attributes.write_json(npc, KEY, [act.to_dict() for act in kept])
    else:
        attributes.remove_json(npc, KEY)
