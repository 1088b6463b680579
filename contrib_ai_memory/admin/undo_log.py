"""Log of the last actions of builders on a memory, with the state before each, for undo.

`edit.undo` undoes the newest. One JSON Attribute holds the log. It keeps forgotten text too, so an
erasure calls `clear` first. Reactor thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from twisted.internet import defer

from ..errors import InputError
from ..records import AgendaItem, Entry, MemoryRecord, now_iso
from ..store import attributes
from ..store.attributes import from_plain, to_plain
from ..store.preferences import Preference
from ..store.profiles import ProfileAttribute, ProfileObservation
from .jobs import unless_deleted

KEY = "undo"
ACTS_KEPT = 10
LARGEST = 64_000  # bytes of the whole log


class NothingToUndo(InputError):
    """Nothing was done to this memory, or it was done too long ago."""


# identity, name, observations and attributes of a profile
Notes = tuple[str, str, tuple[ProfileObservation, ...], tuple[ProfileAttribute, ...]]


@dataclass(frozen=True, slots=True)
class Before:
    """The state before an action."""

    entries: tuple[Entry, ...] = ()
    memories: tuple[MemoryRecord, ...] = ()
    # rows of `store.history` of each memory
    history: dict[str, list[list[Any]]] = field(default_factory=dict)
    links: tuple[tuple[str, str, float, str, str], ...] = ()  # a, b, score, kind, created
    # memories that were not rewritten: id, {field: value}
    payload: tuple[tuple[str, dict[str, Any]], ...] = ()
    made: tuple[str, ...] = ()  # link ids of memories that the action made
    profiles: tuple[Notes, ...] = ()  # what it removed
    preferences: tuple[Preference, ...] = ()
    agenda: tuple[AgendaItem, ...] = ()
    # what it changed in entries, memories and preferences; empty where it removed them
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """One action: who did what to which memories, and when (ISO 8601 UTC)."""

    deed: str
    who: str
    when: str
    ids: tuple[str, ...] = ()
    before: Before = Before()

    def summary(self) -> str:
        """Return the action in words, without the texts of the memories."""
        some = ", ".join(self.ids[:6]) + (" …" if len(self.ids) > 6 else "")
        return f"{self.deed} {some} by {self.who}, {self.when[:16].replace('T', ' ')}"


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
    kept = [act, *acts(npc)][:ACTS_KEPT]
    while kept and len(attributes.as_json(list(map(to_plain, kept))).encode()) > LARGEST:
        kept.pop()
    if kept:
        _write(npc, kept)
    return bool(kept)


def acts(npc: Any) -> list[Act]:
    """Show builders' changes that can be undone. Newest first."""
    return [from_plain(Act, plain) for plain in reversed(attributes.read_json(npc, KEY) or [])]


def holds(npc: Any, utterances: Collection[str]) -> bool:
    """Return whether an undo would bring back what the NPC heard of these (`Entry.utterance`)."""
    return any(entry.utterance in utterances for act in acts(npc) for entry in act.before.entries)


def clear(npc: Any) -> int:
    """Drop everything that could be undone. Returns how many actions that were."""
    count = len(attributes.read_json(npc, KEY) or [])
    if count:
        attributes.remove_json(npc, KEY)
    return count


def remove(npc: Any, act: Act) -> None:
    """Remove one action, which was undone; others stay, later ones too."""
    kept = acts(npc)
    if act in kept:
        kept.remove(act)  # the newest of several equal ones
        _write(npc, kept)


def _write(npc: Any, kept: list[Act]) -> None:
    if kept:
        attributes.write_json(npc, KEY, list(map(to_plain, reversed(kept))))
    else:
        attributes.remove_json(npc, KEY)
