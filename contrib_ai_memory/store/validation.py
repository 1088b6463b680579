"""Checks of plain data that somebody else may have changed: rows of the database, lines of a file.

A record is made only of what has the right types; times are ISO 8601 with a time zone, without
which no two of them can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ..records import Entry

Record = TypeVar("Record")
_STRICT = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)


class Invalid(ValueError):
    """Plain data is no record of that kind; the message names the field and what is wrong."""


def record_of(cls: type[Record], plain: Any) -> Record:
    """Return the record that plain data holds; fields that `cls` does not have are left out.

    Raises:
        Invalid
    """
    if not isinstance(plain, dict):
        raise Invalid(f"{_shown(plain)} is no object with fields")
    names = {spec.name for spec in fields(cls)}
    try:
        known = {name: _tuples(value) for name, value in plain.items() if name in names}
        _model(cls).model_validate(known)
    except ValidationError as error:
        raise Invalid(_first(error)) from None
    except RecursionError:
        raise Invalid("it is nested too deep") from None
    return cls(**known)


def entry_of(plain: Any) -> Entry:
    """Return the journal entry that plain data holds.

    Raises:
        Invalid
    """
    entry = record_of(Entry, plain)
    if entry.id < 1:
        raise Invalid(f"id: {entry.id} is no number of an entry")
    check_time("timestamp", entry.timestamp)
    return entry


def check_time(name: str, when: Any) -> None:
    """Check that a value is an ISO 8601 time with a time zone.

    Raises:
        Invalid
    """
    try:
        known = isinstance(when, str) and datetime.fromisoformat(when).tzinfo is not None
    except ValueError:
        known = False
    if not known:
        raise Invalid(f"{name}: {_shown(when)} is no time (ISO 8601 with a time zone)")


@lru_cache(maxsize=64)
def _model(cls: Any) -> type[BaseModel]:
    """A pydantic model with the fields of a dataclass, which converts nothing."""
    hints = get_type_hints(cls)
    model_fields: dict[str, Any] = {
        spec.name: (hints[spec.name], _default(spec)) for spec in fields(cls)
    }
    return create_model(f"Plain{cls.__name__}", __config__=_STRICT, **model_fields)


def _default(spec: Field[Any]) -> Any:
    if spec.default is not MISSING:
        return spec.default
    return ... if spec.default_factory is MISSING else spec.default_factory()


def _tuples(value: Any) -> Any:
    """Lists as the tuples that records have; an object in them is left as it is."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, found["loc"]))
    return f"{where}: {found['msg'][:1].lower()}{found['msg'][1:]}" if where else found["msg"]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def plain_object(value: Any) -> Mapping[str, Any]:
    """Return a value that is an object with fields.

    Raises:
        Invalid
    """
    if not isinstance(value, dict):
        raise Invalid(f"{_shown(value)} is no object with fields")
    return value
