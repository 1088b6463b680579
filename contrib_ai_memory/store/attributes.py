"""Plain data in and out of Evennia Attributes, at the price they really have.

Evennia rebuilds a whole `_Saver*` tree at each read of a container and saves the root at each
nested change: read once as plain data, change that, write once. JSON text in a `strattr`
Attribute costs about a fifth (EVENNIA.md). Reactor thread only.

Every Attribute of a memory is made with `LOCK`; `commands.examine` hides what carries it.
"""

from __future__ import annotations

import json
from typing import Any

from django.db.models import Q
from evennia.typeclasses.attributes import Attribute, AttributeHandler
from evennia.utils.dbserialize import deserialize

CATEGORY = "ai_memory"
KEYS = (  # of the Attributes of a memory that have no category
    "memory_id",
    "memory_owner",
    "journal",
    "working_memory",
    "entity_profiles",
    "memory_links",
)
HEARTBEAT = "ai_memory_assistant"  # key of the script; what of its Attributes is memory:
HEARTBEAT_KEYS = ("night", "night_records", "conversation_history")
CATEGORIES = (CATEGORY, "memory_links", "preferences", "entity_profiles")
LOCK = "attrread:false();attredit:false()"
DELETED_AT_ONCE = 400  # rows; databases bound the number of ids in one question


class NPCAttributes(AttributeHandler):
    """The Attributes of an NPC, of which `all` leaves out those of its memory.

    What copies an object, makes a prototype of it or updates it from one goes by `all`: a memory
    is neither copied nor kept in prototypes, and not taken for something that a prototype lacks.
    """

    def all(
        self, category: str | None = None, accessing_obj: Any = None, default_access: bool = True
    ) -> list[Attribute]:
        """All Attributes but those of the memory; these too where their category is asked for."""
        found = super().all(category, accessing_obj, default_access)
        return found if category in CATEGORIES else [each for each in found if not self._ours(each)]

    def _ours(self, attribute: Attribute) -> bool:
        if attribute.category is None:
            return attribute.key in (*KEYS, *getattr(self.obj, "own_memory_keys", ()))
        return attribute.category in CATEGORIES


def _rows_of(obj: Any, keys: tuple[str, ...] = ()) -> Any:
    of_a_memory = Q(db_category__in=CATEGORIES) | Q(db_category=None, db_key__in=(*KEYS, *keys))
    return obj.db_attributes.filter(of_a_memory, db_attrtype=None)


def lock_all(obj: Any) -> None:
    """Lock the Attributes of a memory that was made before they had locks, in one UPDATE."""
    unlocked = _rows_of(obj).exclude(db_lock_storage=LOCK).values("pk")
    Attribute.objects.filter(pk__in=unlocked).update(db_lock_storage=LOCK)


def forget_all(obj: Any, *keys: str) -> int:
    """Delete every Attribute of a memory, and those of `keys`. Returns how many there were."""
    ids = list(_rows_of(obj, keys).values_list("pk", flat=True))
    for first in range(0, len(ids), DELETED_AT_ONCE):
        Attribute.objects.filter(pk__in=ids[first : first + DELETED_AT_ONCE]).delete()
    obj.attributes.reset_cache()
    return len(ids)


def forget_nights(obj: Any) -> None:
    """Take out of the heartbeat of an object what it keeps of nights and conversations."""
    for script in obj.scripts.get(HEARTBEAT):
        for key in HEARTBEAT_KEYS:
            script.attributes.remove(key)


def read(obj: Any, key: str, default: Any = None) -> Any:
    """The value of `obj.db.<key>` as plain data."""
    value = obj.attributes.get(key)
    return default if value is None else deserialize(value)


def last_of(obj: Any, key: str) -> Any:
    """The last item of a list Attribute as plain data; the rest of it is not rebuilt."""
    attribute = obj.attributes.get(key, return_obj=True)
    stored = attribute.db_value if attribute else None
    return deserialize(stored[-1]) if stored else None


def write(obj: Any, key: str, value: Any) -> None:
    """Set `obj.db.<key>` with one UPDATE (`attributes.add` on an existing key makes two)."""
    attribute = obj.attributes.get(key, return_obj=True)
    if attribute is None:
        obj.attributes.add(key, value, lockstring=LOCK)
    else:
        attribute.value = value


def read_text(obj: Any, key: str, category: str = CATEGORY) -> str | None:
    """The text of a JSON Attribute as it lies there; None where there is no such row."""
    rows = obj.db_attributes.filter(db_key=key.lower(), db_category=category)
    row = rows.values_list("db_strvalue", "db_value").first()
    if row is None:
        return None
    text, value = row
    return text or ("" if value is None else str(value))  # somebody has set a plain value


def keys_of(obj: Any, prefix: str, category: str = CATEGORY) -> list[str]:
    """The keys of the Attributes of a category that begin so."""
    rows = obj.db_attributes.filter(db_category=category, db_key__startswith=prefix.lower())
    return list(rows.values_list("db_key", flat=True))


def read_json(obj: Any, key: str, category: str = CATEGORY) -> Any:
    """A JSON Attribute, read straight from its row: old pages do not pile up in Evennia's cache."""
    rows = obj.db_attributes.filter(db_key=key.lower(), db_category=category)
    text = rows.values_list("db_strvalue", flat=True).first()
    return json.loads(text) if text else None


def read_all_json(obj: Any, category: str, prefix: str = "") -> list[Any]:
    """Every JSON Attribute of a category whose key begins with `prefix`, in one query."""
    rows = obj.db_attributes.filter(db_category=category).order_by("db_key")
    if prefix:
        rows = rows.filter(db_key__startswith=prefix.lower())
    return [json.loads(text) for text in rows.values_list("db_strvalue", flat=True) if text]


def read_some_json(obj: Any, keys: list[str], category: str) -> dict[str, Any]:
    """The JSON Attributes of these keys (in lower case) that there are, in one query."""
    rows = obj.db_attributes.filter(db_category=category, db_key__in=keys).order_by("db_key")
    return {
        key: json.loads(text) for key, text in rows.values_list("db_key", "db_strvalue") if text
    }


def write_json(obj: Any, key: str, value: Any, category: str = CATEGORY) -> None:
    """Write a JSON Attribute; Django admin's object page leaves these alone."""
    text = as_json(value)
    attribute = obj.attributes.get(key, category=category, return_obj=True)
    if attribute is None:
        obj.attributes.add(key, text, category=category, strattr=True, lockstring=LOCK)
    else:
        attribute.strvalue = text


def add_json(obj: Any, key: str, value: Any, category: str = CATEGORY) -> None:
    """Write a JSON Attribute that is not there yet; nobody looks for it first."""
    obj.attributes.backend.create_attribute(key, category, LOCK, as_json(value), strvalue=True)


def as_json(value: Any) -> str:
    """The text of a JSON Attribute."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def remove_some(obj: Any, category: str, limit: int, prefix: str = "") -> int:
    """Remove up to `limit` Attributes of a category whose key begins so. Returns how many."""
    rows = obj.db_attributes.filter(db_category=category, db_key__startswith=prefix.lower())
    keys = list(rows.values_list("db_key", flat=True)[:limit])
    for key in keys:
        obj.attributes.remove(key, category=category)
    return len(keys)


def remove_json(obj: Any, key: str, category: str = CATEGORY) -> None:
    obj.attributes.remove(key, category=category)


def forget_rolled_back(obj: Any, rows: list[tuple[str, str | None]]) -> None:
    """Have Evennia read Attributes anew after a transaction of theirs was rolled back.

    It keeps those that were made in it, though their rows are no more: to write one of them again
    would fail for ever.

    Args:
        rows: (key, category) of each.
    """
    for key, category in rows:
        attribute = obj.attributes.get(key, category=category, return_obj=True)
        if attribute is not None:
            attribute.flush_from_cache(force=True)
    obj.attributes.reset_cache()
