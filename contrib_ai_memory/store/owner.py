"""The owner of a memory: the Attribute `memory_owner` beside `memory_id` (DESIGN §3).

`copy`, prototypes and game code clone Attributes without calling any hook of ours. So a `memory_id`
is valid only with a `memory_owner` that names it together with the object's dbref and creation
time; an object with the id of another one starts with a new, empty memory. NPCs of earlier versions
have no `memory_owner`: of several objects with one such id, the oldest owns the memory. Reactor
thread, except `id_of` and `owned`, which any thread with database access may call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evennia.objects.models import ObjectDB

from . import attributes

ID = "memory_id"
OWNER = "memory_owner"


@dataclass(frozen=True, slots=True)
class Carrier:
    """An object with a `memory_id`, whether the memory is its own or not.

    Attributes:
        object_id: The number in its dbref.
        body: Its dbref and creation time (`body_of`).
        memory_id: Its `memory_id`, "" without one.
        owner: Its `memory_owner`, "" without one.
    """

    object_id: int
    body: str
    memory_id: str
    owner: str

    @property
    def owned_id(self) -> str:
        """The memory that its `memory_owner` assigns to this object; "" if it names another."""
        memory_id, _, body = self.owner.partition(" ")
        return memory_id if body and body == self.body else ""


def body_of(obj: Any) -> str:
    """Return the dbref of an object with its creation time in seconds: `#12@65f3a1b0`."""
    return _body(obj.id, obj.db_date_created)


def id_of(obj: Any) -> str:
    """Return the id of the memory this object owns; "" if it owns none."""
    carrier = _carrier(obj)
    if carrier.owner or not carrier.memory_id:
        return carrier.owned_id
    return carrier.memory_id if owned().get(carrier.memory_id) == obj.id else ""


def has_foreign_id(obj: Any) -> bool:
    """Return whether an object has the memory id of another one."""
    carrier = _carrier(obj)
    return bool(carrier.memory_id or carrier.owner) and not id_of(obj)


def has_id(obj: Any) -> bool:
    """Return whether an object, of any typeclass, has a memory id, with one database query."""
    return obj.db_attributes.filter(db_key__in=(ID, OWNER)).exists()


def owns(obj: Any, memory_id: str) -> bool:
    """Return whether an object's two Attributes name this memory, without a database query."""
    carrier = _carrier(obj)
    return carrier.owned_id == carrier.memory_id == memory_id


def claim(obj: Any, memory_id: str) -> None:
    """Make an object the owner of a memory; lock the Attributes of an earlier version's memory."""
    if not _carrier(obj).owner:
        attributes.lock_all(obj)
    for key, value in ((OWNER, f"{memory_id} {body_of(obj)}"), (ID, memory_id)):
        if obj.attributes.get(key) != value:
            attributes.write(obj, key, value)


def carriers() -> list[Carrier]:
    """Return every object with a memory id or owner, of any typeclass, ordered by dbref."""
    rows = ObjectDB.objects.filter(db_attributes__db_key__in=(ID, OWNER)).order_by("id")
    found: dict[int, dict[str, Any]] = {}
    for object_id, created, key, value in rows.values_list(
        "id", "db_date_created", "db_attributes__db_key", "db_attributes__db_value"
    ):
        found.setdefault(object_id, {"created": created})[key] = str(value or "")
    return [
        Carrier(number, _body(number, each["created"]), each.get(ID, ""), each.get(OWNER, ""))
        for number, each in found.items()
    ]


def owned() -> dict[str, int]:
    """Return every memory id with the number of the object that owns it."""
    found: dict[str, int] = {}
    known = carriers()
    for carrier in known:
        if carrier.owned_id:
            found[carrier.owned_id] = carrier.object_id
    for carrier in known:  # oldest first
        if carrier.memory_id and not carrier.owner:
            found.setdefault(carrier.memory_id, carrier.object_id)
    return found


def copies() -> Iterator[tuple[Carrier, int | None]]:
    """Yield objects with another one's memory id, each with the number of the true owner."""
    mine = owned()
    for carrier in carriers():
        if not carrier.owned_id and mine.get(carrier.memory_id) != carrier.object_id:
            yield carrier, mine.get(carrier.memory_id)


def _carrier(obj: Any) -> Carrier:
    memory_id, owner = (str(obj.attributes.get(key) or "") for key in (ID, OWNER))
    return Carrier(obj.id, body_of(obj), memory_id, owner)


def _body(object_id: int, created: Any) -> str:
    return f"#{object_id}@{int(created.timestamp()):x}"
