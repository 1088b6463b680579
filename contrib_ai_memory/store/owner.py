"""Which body a memory belongs to: `memory_owner` beside `memory_id` (DESIGN §3).

`copy`, prototypes and game code clone Attributes without any hook of ours. So an NPC's `memory_id`
counts only with a `memory_owner` that names it together with the body's dbref and creation time; a
body that carries the id of another begins with a new, empty memory. NPCs of earlier versions have
no `memory_owner`: of several bodies with one such id, the oldest has the memory. Reactor thread,
but for `id_of` and `owned`, which any thread may call that may ask the database.
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

    `body` is its dbref and creation time, `owner` what its `memory_owner` says ("" if it has none).
    """

    object_id: int
    body: str
    memory_id: str
    owner: str

    @property
    def owned_id(self) -> str:
        """The memory that its mark gives to this very body; "" without such a mark."""
        memory_id, _, body = self.owner.partition(" ")
        return memory_id if body and body == self.body else ""

    @property
    def foreign(self) -> bool:
        """Whether its mark names another body."""
        return bool(self.owner) and not self.owned_id


def body_of(obj: Any) -> str:
    """The dbref of an object with its creation time in seconds: `#12@65f3a1b0`."""
    return _body(obj.id, obj.date_created)


def id_of(obj: Any) -> str:
    """The id of the memory that is this object's own; "" if it has none, or carries another's."""
    carrier = _carrier(obj)
    if carrier.owner or not carrier.memory_id:
        return carrier.owned_id
    return carrier.memory_id if owned().get(carrier.memory_id) == obj.id else ""


def carries_anothers(obj: Any) -> bool:
    """Whether an object carries the memory id of another body."""
    carrier = _carrier(obj)
    return bool(carrier.memory_id or carrier.owner) and not id_of(obj)


def carries_any(obj: Any) -> bool:
    """Whether an object, of any typeclass, carries a memory id. One question to the database."""
    return obj.db_attributes.filter(db_key__in=(ID, OWNER)).exists()


def is_marked(obj: Any, memory_id: str) -> bool:
    """Whether id and mark of an object are those of this memory. Asks the database nothing."""
    carrier = _carrier(obj)
    return carrier.owned_id == carrier.memory_id == memory_id


def claim(obj: Any, memory_id: str) -> None:
    """Make a memory that of an object. A memory of an earlier version gets its locks, too."""
    if not _carrier(obj).owner:
        attributes.lock_all(obj)
    for key, value in ((OWNER, f"{memory_id} {body_of(obj)}"), (ID, memory_id)):
        if obj.attributes.get(key) != value:
            attributes.write(obj, key, value)


def carriers() -> list[Carrier]:
    """Every object that carries a memory id or a mark, whatever its typeclass is, by its number."""
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
    """Every memory id with the number of the object whose memory it is."""
    found: dict[str, int] = {}
    known = carriers()
    for carrier in known:
        if carrier.owned_id:
            found[carrier.owned_id] = carrier.object_id
    for carrier in known:  # the oldest first
        if carrier.memory_id and not carrier.owner:
            found.setdefault(carrier.memory_id, carrier.object_id)
    return found


def copies() -> Iterator[tuple[Carrier, int | None]]:
    """Carriers of another body's memory id, each with the number of the object that owns it."""
    mine = owned()
    for carrier in carriers():
        if not carrier.owned_id and mine.get(carrier.memory_id) != carrier.object_id:
            yield carrier, mine.get(carrier.memory_id)


def _carrier(obj: Any) -> Carrier:
    memory_id, owner = (str(obj.attributes.get(key) or "") for key in (ID, OWNER))
    return Carrier(obj.id, body_of(obj), memory_id, owner)


def _body(object_id: int, created: Any) -> str:
    return f"#{object_id}@{int(created.timestamp()):x}"
