"""Evennia Attributes of a memory, read and written as plain data.

Evennia rebuilds a whole `_Saver*` tree at each read of a container and saves the root at each
nested change; JSON text in a `strattr` Attribute costs a fifth of that. Reactor thread only.

Every Attribute of a memory is created with `LOCK`; `commands.examine` hides those that carry it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Generic, TypeVar

from django.db import DatabaseError, connection
from django.db.models import Q
from evennia.typeclasses.attributes import Attribute, AttributeHandler
from evennia.utils.dbserialize import deserialize
from evennia.utils.utils import make_iter
from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from ..log import logger

Record = TypeVar("Record")

CATEGORY = "ai_memory"
# JSON text (`strattr`): `@set`, `@cpattr` and `@mvattr` ask no lock, and see it as None
TEXTS = ("journal", "working_memory", "entity_profiles", "memory_links")
OWNER = "memory_owner"  # text too, since a plain value can be set by any builder (`owner`)
KEYS = ("memory_id", OWNER, *TEXTS)  # Attributes of a memory without a category
HEARTBEAT = "ai_memory_assistant"  # key of the script
HEARTBEAT_TEXTS = ("night", "night_records", "conversation_history")  # of the script, likewise
# its Attributes with memories, and one that an earlier version had
HEARTBEAT_KEYS = (*HEARTBEAT_TEXTS, "unanswered", "asked_asleep")
CATEGORIES = (CATEGORY, "memory_links", "preferences", "entity_profiles", "agenda", "reply_reasons")
LOCK = "attrread:false();attredit:false()"
DELETE_BATCH = 400  # rows; databases limit the number of ids in one query
KEY_LENGTH = 180  # characters of the readable part; an Attribute's key holds 255


class NPCAttributes(AttributeHandler):
    """The Attributes of an NPC; those of its memory are left out of `all`, and left alone.

    `@set`, `@cpattr` and `@mvattr` overwrite and remove by name, and ask no lock of the Attribute.
    Evennia uses `all` to copy an object, to make a prototype of it and to update it from one. So a
    memory is neither copied nor saved in a prototype nor removed as something the prototype lacks.
    """

    def all(
        self, category: str | None = None, accessing_obj: Any = None, default_access: bool = True
    ) -> list[Attribute]:
        found = super().all(category, accessing_obj, default_access)
        return found if category in CATEGORIES else [each for each in found if not self._ours(each)]

    def add(
        self, key: str, value: Any, category: str | None = None, *args: Any, **options: Any
    ) -> None:
        if not _is_text(key, category):
            super().add(key, value, category, *args, **options)

    def remove(
        self, key: Any = None, category: str | None = None, *args: Any, **options: Any
    ) -> None:
        """Without a key it is `clear`, which a deletion needs."""
        if key is not None:
            key = [each for each in make_iter(key) if not _is_text(each, category)]
        super().remove(key, category, *args, **options)

    def clear(self, *args: Any, **options: Any) -> None:
        # a missing one that was read stays in Evennia's cache as None, which its own `clear` takes
        # for an Attribute once all are cached, by `examine` or a copy
        self.backend.reset_cache()
        super().clear(*args, **options)

    def _ours(self, attribute: Attribute) -> bool:
        if attribute.category is None:
            return attribute.key in (*KEYS, *getattr(self.obj, "own_memory_keys", ()))
        return attribute.category in CATEGORIES


def _is_text(key: str, category: str | None) -> bool:
    if category is None:
        return str(key).strip().lower() in (OWNER, *TEXTS)
    return category.strip().lower() in CATEGORIES


# --- plain Attributes -----------------------------------------------------------------------------


def load(obj: Any, keys: Iterable[str]) -> None:
    """Have Evennia keep Attributes without a category by one query. One by one, each takes two."""
    if obj.pk is None:
        return
    rows = obj.db_attributes.filter(db_category=None, db_attrtype=None, db_key__in=list(keys))
    found = {row.db_key: row for row in rows}
    for key in keys:
        obj.attributes.backend._set_cache(key, None, found.get(key))


def read(obj: Any, key: str, default: Any = None) -> Any:
    """Return the value of an Attribute without a category as plain data.

    A text that an earlier version stored plainly is read too; a damaged one is returned as it is.
    `default` is returned if there is none, and instead of a value of another type.
    """
    attribute = obj.attributes.get(key, return_obj=True)
    if attribute is None:
        return default
    value = text = attribute.strvalue
    if text:
        with suppress(ValueError, RecursionError):
            value = json.loads(text)
    else:
        value = deserialize(attribute.value)
    if value is None:
        return default
    if default is not None and not isinstance(value, type(default)):
        logger().error("%s: its Attribute %s is damaged, and left out.", obj.dbref, key)
        return default
    return value


def write(obj: Any, key: str, value: Any) -> None:
    """Set an Attribute without a category: as JSON text if it is one of the texts.

    One UPDATE of one column; `attributes.add` on an existing Attribute makes two of all.
    """
    text = as_json(value) if key in (OWNER, *TEXTS, *HEARTBEAT_TEXTS) else None
    attribute = obj.attributes.get(key, return_obj=True)
    if attribute is None:
        backend = obj.attributes.backend
        backend.create_attribute(key, None, LOCK, text or value, strvalue=text is not None)
    elif text is None:
        attribute.value = value
    elif Attribute.objects.filter(pk=attribute.pk).update(db_strvalue=text, db_value=None):
        attribute.db_strvalue, attribute.db_value = text, None
    else:
        raise DatabaseError(f"The Attribute {key} of {obj} is not in the database.")


def write_as_text(obj: Any, keys: Iterable[str]) -> None:
    """Rewrite the texts among `keys` that an earlier version stored plainly."""
    plain = obj.db_attributes.filter(db_category=None, db_key__in=keys, db_strvalue=None)
    for key in plain.values_list("db_key", flat=True):
        # it may hold an object that somebody set: whoever reads it says what is wrong
        with suppress(PydanticSerializationError):
            write(obj, key, read(obj, key))


# --- JSON Attributes, read straight from their rows: old pages do not fill Evennia's cache --------


def read_json(obj: Any, key: str, category: str = CATEGORY) -> Any:
    return read_some_json(obj, [key.lower()], category).get(key.lower())


def read_all_json(obj: Any, category: str, prefix: str = "") -> list[Any]:
    """Return every JSON Attribute of a category whose key starts with `prefix`, in one query."""
    rows = _select(obj, "db_strvalue", category, prefix=prefix)
    return [json.loads(text) for (text,) in rows if text]


def read_some_json(obj: Any, keys: Sequence[str], category: str) -> dict[str, Any]:
    """Return the existing JSON Attributes among `keys` (lower case), in one query."""
    rows = _select(obj, "db_key, db_strvalue", category, keys)
    return {key: json.loads(text) for key, text in rows if text}


def read_text(obj: Any, key: str) -> str | None:
    for text, value in _rows(obj, CATEGORY, key).values_list("db_strvalue", "db_value"):
        return text or ("" if value is None else str(value))  # somebody has set a plain value
    return None


def keys_of(obj: Any, prefix: str, category: str = CATEGORY) -> list[str]:
    return [key for (key,) in _select(obj, "db_key", category, prefix=prefix)]


def write_json(obj: Any, key: str, value: Any, category: str = CATEGORY) -> None:
    """Write a JSON Attribute; Django admin's object page does not rewrite these."""
    write_some_json(obj, {key: value}, category)


def write_some_json(obj: Any, values: Mapping[str, Any], category: str) -> None:
    """Write several values of one category, found in one query.

    `attributes.get` compares without case, for which a database reads every row of the object.
    """
    texts = {key.lower(): as_json(value) for key, value in values.items()}
    known = dict(_select(obj, "db_key, attribute.id", category, [*texts]))
    for key, text in texts.items():
        if key not in known:
            obj.attributes.backend.create_attribute(key, category, LOCK, text, strvalue=True)
            continue
        Attribute.objects.filter(pk=known[key]).update(db_strvalue=text)
        if cached := Attribute.get_cached_instance(known[key]):
            cached.db_strvalue = text


def as_json(value: Any) -> str:
    return to_json(value).decode()  # in a third of the time that `json` takes


def remove_json(obj: Any, key: str, category: str = CATEGORY) -> None:
    obj.attributes.backend.delete_attribute(_rows(obj, category, key).first())


def key_with_digest(readable: str, *exact: str) -> str:
    """Return `readable` with a digest of `exact`, to tell apart keys that would be the same.

    Evennia stores keys in lower case and a key holds 255 characters.
    """
    digest = hashlib.blake2b("\x1f".join(exact).encode(), digest_size=8).hexdigest()
    return f"{readable[:KEY_LENGTH]}/{digest}"


# --- records as plain data ------------------------------------------------------------------------


def to_plain(record: Any) -> dict[str, Any]:
    """Return the fields of a record that differ from their defaults, and of the records in it."""
    cls: Any = type(record)
    return type_of(cls).dump_python(record, mode="json", exclude_defaults=True, warnings=False)


def from_plain(cls: Callable[..., Record], plain: Any) -> Record:
    """Return a record from what `to_plain` returned; unknown fields are ignored."""
    return type_of(cls).validate_python(plain)


@lru_cache(maxsize=64)
def type_of(cls: Any) -> TypeAdapter[Any]:
    return TypeAdapter(cls)


class Table(Generic[Record]):
    """Small records of one NPC in one Attribute, kept as objects. Reactor thread only."""

    attribute: str  # the key of the Attribute
    kind: Callable[..., Record]
    name: str  # the field of a record that is its key

    def __init__(self, npc: Any):
        self._npc = npc
        self._records: dict[str, Record] = {}
        for key, plain in read(npc, self.attribute, {}).items():
            with suppress(AttributeError, TypeError, ValueError):  # a damaged one is left out
                self._records[key] = from_plain(self.kind, {**plain, self.name: key})
        self._dirty = False

    def get(self, key: str | None) -> Record | None:
        return self._records.get(key or "")

    def mark_dirty(self) -> None:
        """Make the next flush write everything, as the database holds another NPC's data."""
        self._dirty = True

    def flush(self) -> None:
        if self._dirty:
            stored = {key: to_plain(record) for key, record in self._records.items()}
            for plain in stored.values():
                del plain[self.name]
            write(self._npc, self.attribute, stored)
            self._dirty = False

    def clear(self) -> None:
        self._records.clear()
        self._dirty = True
        self.flush()


class Rows(Generic[Record]):
    """The records of one NPC that have an Attribute each, in a category of their own."""

    category: str
    counted: str  # see `MemoryPart`
    kind: Callable[..., Record]

    def __init__(self, npc: Any):
        self._npc = npc

    def __len__(self) -> int:
        return len(self.keys())

    def __iter__(self) -> Iterator[Record]:
        return self.some("")

    def some(self, prefix: str) -> Iterator[Record]:
        """Yield the records whose key starts with `prefix`; a damaged one is left out."""
        for key, text in _select(self._npc, "db_key, db_strvalue", self.category, prefix=prefix):
            if text and (record := self._loaded(key, text)) is not None:
                yield record

    def keys(self) -> list[str]:
        return keys_of(self._npc, "", self.category)

    def row(self, key: str) -> Record | None:
        rows = _select(self._npc, "db_strvalue", self.category, [key.lower()])
        return next((self._loaded(key, text) for (text,) in rows if text), None)

    def _loaded(self, key: str, text: str) -> Record | None:
        try:
            return from_plain(self.kind, json.loads(text))
        except (ValueError, RecursionError):
            name = self._npc.dbref
            logger().warning("%s: its Attribute %s is damaged, and left out.", name, key)
            return None

    def key(self, record: Record) -> str:
        raise NotImplementedError

    def put(self, record: Record) -> None:
        write_json(self._npc, self.key(record), to_plain(record), self.category)

    def remove(self, key: str) -> None:
        remove_json(self._npc, key, self.category)

    def clear(self) -> None:
        self._npc.attributes.clear(category=self.category)


# --- a whole memory -------------------------------------------------------------------------------


def lock_all(obj: Any) -> None:
    """Lock the Attributes of a memory that an older version made without locks."""
    unlocked = _rows_of_memory(obj).exclude(db_lock_storage=LOCK).values("pk")
    Attribute.objects.filter(pk__in=unlocked).update(db_lock_storage=LOCK)


def delete_all(obj: Any, *keys: str) -> int:
    """Delete every Attribute of a memory, and those of `keys`. Returns how many."""
    ids = list(_rows_of_memory(obj, keys).values_list("pk", flat=True))
    for first in range(0, len(ids), DELETE_BATCH):
        Attribute.objects.filter(pk__in=ids[first : first + DELETE_BATCH]).delete()
    obj.attributes.reset_cache()
    return len(ids)


def delete_heartbeat_records(obj: Any) -> None:
    """Delete the records of nights and conversations from the heartbeat script of an object."""
    for script in obj.scripts.get(HEARTBEAT):
        for key in HEARTBEAT_KEYS:
            script.attributes.remove(key)


def reload_after_rollback(obj: Any) -> None:
    """Drop cached Attributes after a write that failed.

    Evennia keeps those that a transaction created although their rows are gone; every later write
    of one of them would fail.
    """
    for attribute in filter(None, obj.attributes.backend._cache.values()):
        attribute.flush_from_cache(force=True)
    obj.attributes.reset_cache()


def _rows(obj: Any, category: str, key: str) -> Any:
    return obj.db_attributes.filter(db_category=category, db_key=key.lower())


def _select(
    obj: Any, columns: str, category: str, keys: Sequence[str] | None = None, prefix: str = ""
) -> list[tuple[Any, ...]]:
    """Return columns of the JSON Attributes of a category, by key: those of `keys`, or all.

    In SQL: to build the same query of Django's objects takes four times as long as the query.
    """
    owned = obj.db_attributes
    where, values = "", [obj.pk, category]
    if keys is not None:
        if not keys:
            return []
        where, values = f" AND db_key IN ({', '.join(['%s'] * len(keys))})", [*values, *keys]
    elif prefix:
        where, values = " AND SUBSTR(db_key, 1, %s) = %s", [*values, len(prefix), prefix.lower()]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {Attribute._meta.db_table} AS attribute "
            f"INNER JOIN {owned.through._meta.db_table} AS owned "
            f"ON attribute.id = owned.{owned.target_field.column} "
            f"WHERE owned.{owned.source_field.column} = %s AND db_category = %s{where} "
            "ORDER BY db_key",
            values,
        )
        return cursor.fetchall()


def _rows_of_memory(obj: Any, keys: tuple[str, ...] = ()) -> Any:
    of_memory = Q(db_category__in=CATEGORIES) | Q(db_category=None, db_key__in=(*KEYS, *keys))
    return obj.db_attributes.filter(of_memory, db_attrtype=None)
