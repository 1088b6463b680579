"""The last acts of builders on a memory, with all that is needed to take each back (`restoring`).

One JSON Attribute holds them. It holds what was forgotten, too: whoever erases a person calls
`forget`. Reactor thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..records import now_iso
from ..store import attributes
from ..store.preferences import Preference

KEY = "undo"
ACTS_KEPT = 10
LARGEST = 64_000  # bytes of all of them


class NothingToUndo(ValueError):
    """Nothing was done to this memory, or it was done too long ago."""


@dataclass(frozen=True, slots=True)
class Before:
    """What an act changed, as it was: plain data.

    Attributes:
        entries, memories: Journal entries and memories as they were.
        history: Rows of `store.history` of each memory.
        links: [a, b, score, kind, created].
        payload: [memory id, {field: value}] of what was not rewritten.
        made: Ids of memories that the act made, as `store.links` knows them.
        profiles: [identity, name, observations, attributes] that it took out.
        preferences: As they were.
        fields: What of the entries, memories and preferences the act changed; none is all of them,
            as of what it took away.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    memories: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, list[list[str]]] = field(default_factory=dict)
    links: list[list[Any]] = field(default_factory=list)
    payload: list[list[Any]] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    profiles: list[list[Any]] = field(default_factory=list)
    preferences: list[dict[str, Any]] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Act:
    """One act: who did what to which memories, and when (ISO 8601 UTC)."""

    deed: str
    who: str
    when: str
    ids: tuple[str, ...]
    before: Before

    def told(self) -> str:
        """The act in words, without what the memories say."""
        some = ", ".join(self.ids[:6]) + (" …" if len(self.ids) > 6 else "")
        return f"{self.deed} {some} by {self.who}, {self.when[:16].replace('T', ' ')}"


# --- keeping --------------------------------------------------------------------------------------


def keep(npc: Any, who: Any, deed: str, ids: Sequence[str], before: Before) -> bool:
    """Keep an act so that it can be undone. Returns whether it could be kept: it may be too large.

    The oldest go where there are more than ten, or more than 64 kB of them.
    """
    act = Act(deed, str(who.key) if who else "the server", now_iso(), tuple(ids), before)
    own = _size([act])
    if own > LARGEST:
        return False
    kept = [*acts(npc), act][-ACTS_KEPT:]
    while _size(kept) > LARGEST:
        kept.pop(0)
    _write(npc, kept)
    return True


def acts(npc: Any) -> list[Act]:
    """What can be undone, oldest first."""
    stored = attributes.read_json(npc, KEY) or []
    return [
        Act(**plain | {"ids": tuple(plain["ids"]), "before": Before(**plain["before"])})
        for plain in stored
    ]


def forget(npc: Any) -> int:
    """Forget what could be undone: it holds text. Returns how many acts that were."""
    count = len(attributes.read_json(npc, KEY) or [])
    if count:
        attributes.remove_json(npc, KEY)
    return count


def drop(npc: Any, act: Act) -> None:
    """This act is taken back; others stay, also those that came after it."""
    kept = acts(npc)
    for place in range(len(kept) - 1, -1, -1):
        if kept[place] == act:
            _write(npc, [*kept[:place], *kept[place + 1 :]])
            return


def _write(npc: Any, kept: list[Act]) -> None:
    if kept:
        attributes.write_json(npc, KEY, [asdict(act) for act in kept])
    else:
        attributes.remove_json(npc, KEY)


def _size(kept: list[Act]) -> int:
    return len(attributes.as_json([asdict(act) for act in kept]).encode())


def preference_as_plain(preference: Preference) -> dict[str, Any]:
    """A preference as `Before` keeps it."""
    return asdict(preference)
