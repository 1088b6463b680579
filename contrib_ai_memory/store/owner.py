"""The owner of a memory: the Attribute `memory_owner` beside `memory_id` (DESIGN §3).

`copy`, prototypes and game code clone Attributes without calling any hook of ours. So a `memory_id`
is valid only with a `memory_owner` that names it together with the object's dbref and creation
time. `memory_owner` is text (`strattr`), which no command sets: a builder could give an NPC of
their own the memory of another. NPCs of earlier versions have none: their `memory_id` counts while
no other object has a text for that memory; of several, the oldest owns it. Reactor thread, except
`id_of` and `owned`, which any thread with database access may call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from evennia.objects.models import ObjectDB

from . import attributes

ID = "memory_id"
OWNER = attributes.OWNER


@dataclass(frozen=True, slots=True)
class Carrier:
    """An object with a `memory_id`, whether the memory is its own or not."""

    object_id: int  # the number in its dbref
    body: str  # its dbref and creation time (`body_of`)
    memory_id: str  # "" without one
    owner: str  # the text of its `memory_owner`, "" without one

    @property
    def owned_id(self) -> str:
        """The memory that is surely its own; "" if there is none."""
        memory_id, _, body = self.owner.partition(" ")
        return memory_id if body == self.body else ""

    @property
    def claimed_id(self) -> str:
        """The memory that is its own unless it is surely another's."""
        return self.owned_id if self.owner else self.memory_id


def body_of(obj: Any) -> str:
    """Return the dbref of an object with its creation time in seconds: `#12@65f3a1b0`."""
    return _body(obj.id, obj.db_date_created)


def id_of(obj: Any) -> str:
    carrier = _carrier(obj)
    claimed = carrier.claimed_id
    surely = carrier.owner or not claimed
    return claimed if surely or owned().get(claimed) == obj.id else ""


def has_foreign_id(obj: Any) -> bool:
    carrier = _carrier(obj)
    return bool(carrier.memory_id or carrier.owner) and not id_of(obj)


def has_id(obj: Any) -> bool:
    return obj.db_attributes.filter(db_key__in=(ID, OWNER)).exists()


def owns(obj: Any, memory_id: str) -> bool:
    """Return whether an object's two Attributes name this memory, without a database query."""
    carrier = _carrier(obj)
    return carrier.owned_id == carrier.memory_id == memory_id


def claim(obj: Any, memory_id: str) -> None:
    """Make an object the owner of a memory."""
    carrier = _carrier(obj)
    if not carrier.owner:
        attributes.lock_all(obj)
    if carrier.owned_id != memory_id:
        attributes.write(obj, OWNER, f"{memory_id} {body_of(obj)}")
    if carrier.memory_id != memory_id:
        attributes.write(obj, ID, memory_id)


def carriers() -> list[Carrier]:
    """Return every object with a memory id or owner, ordered by dbref."""
    rows = ObjectDB.objects.filter(db_attributes__db_key__in=(ID, OWNER)).order_by("id")
    found: dict[int, Carrier] = {}
    columns = (f"db_attributes__{column}" for column in ("db_key", "db_value", "db_strvalue"))
    for number, created, key, value, text in rows.values_list("id", "db_date_created", *columns):
        known = found.get(number) or Carrier(number, _body(number, created), "", "")
        if key == ID:
            found[number] = replace(known, memory_id=str(value or ""))
        else:
            found[number] = replace(known, owner=_text_of(text))
    return list(found.values())


def owned() -> dict[str, int]:
    """Return every memory id with the number of the object that owns it."""
    found: dict[str, int] = {}
    # the surest first, then the oldest
    for carrier in sorted(carriers(), key=lambda each: not each.owner):
        if carrier.claimed_id:
            found.setdefault(carrier.claimed_id, carrier.object_id)
    return found


def copies() -> Iterator[tuple[Carrier, int | None]]:
    """Yield objects with another one's memory id, each with the number of the true owner."""
    mine = owned()
    for carrier in carriers():
        if not carrier.owned_id and mine.get(carrier.memory_id) != carrier.object_id:
            yield carrier, mine.get(carrier.memory_id)


def _carrier(obj: Any) -> Carrier:
    owner = obj.attributes.get(OWNER, return_obj=True)
    memory_id = str(attributes.read(obj, ID) or "")
    return Carrier(obj.id, body_of(obj), memory_id, _text_of(owner and owner.strvalue))


def _text_of(text: str | None) -> str:
    return str(json.loads(text)) if text else ""


def _body(object_id: int, created: Any) -> str:
    return f"#{object_id}@{int(created.timestamp()):x}"
