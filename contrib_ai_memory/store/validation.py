"""Validation of plain data that somebody may have edited: database rows, lines of a file.

Values must have the exact types of a record's fields; times must be ISO 8601 with a time zone,
since times without one cannot be compared with the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ..records import Entry
from . import attributes

Record = TypeVar("Record")
_STRICT = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)


class Invalid(ValueError):
    """Plain data is not a valid record; the message names the field and what is wrong."""


def record_of(cls: Callable[..., Record], plain: Any) -> Record:
    """Return the record that plain data describes; unknown fields are ignored.

    Args:
        cls: A dataclass.
        plain: Anything.

    Raises:
        Invalid: A value is missing or has another type.
    """
    if not isinstance(plain, dict):
        raise Invalid(f"{_shown(plain)} is not an object with fields")
    try:
        known = {
            name: _tuples(value) for name, value in attributes.known_fields(cls, plain).items()
        }
        _model(cls).model_validate(known)
    except ValidationError as error:
        raise Invalid(_first(error)) from None
    except RecursionError:
        raise Invalid("it is nested too deeply") from None
    return cls(**known)


def entry_of(plain: Any) -> Entry:
    """Return the journal entry that plain data describes.

    Raises:
        Invalid: It is not a valid entry.
    """
    entry = record_of(Entry, plain)
    if entry.id < 1:
        raise Invalid(f"id: {entry.id} is not a valid entry id")
    check_time("timestamp", entry.timestamp)
    return entry


def check_time(name: str, when: Any) -> None:
    """Check that a value is an ISO 8601 time with a time zone.

    Raises:
        Invalid: It is not.
    """
    try:
        valid = isinstance(when, str) and datetime.fromisoformat(when).tzinfo is not None
    except ValueError:
        valid = False
    if not valid:
        raise Invalid(f"{name}: {_shown(when)} is not a time (ISO 8601 with a time zone)")


@lru_cache(maxsize=64)
def _model(cls: Any) -> type[BaseModel]:
    """Return a strict pydantic model with the fields of a dataclass."""
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
    """Return lists as the tuples of a record; dicts inside are left as they are."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _first(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, found["loc"]))
    return f"{where}: {found['msg'][:1].lower()}{found['msg'][1:]}" if where else found["msg"]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
