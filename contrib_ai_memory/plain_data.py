"""Plain data: what a job of the memory lane may be, take and return, wherever it is done.

Judged by type, so that a job which no other process could be given fails without one too. Plain
are scalars, arrays, containers of plain data, dataclasses with such fields, and functions of a
module. Of a dataclass the annotations count; its values only where these leave it open.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

_SCALARS = (types.NoneType, bool, int, float, complex, str, bytes, date, timedelta, UUID, Enum)
_CONTAINERS = (list, tuple, set, frozenset, dict)
_is_dataclass: Callable[[Any], bool] = is_dataclass
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


class NotPlain(TypeError):
    """Something that another process cannot be given."""


def check_job(job: Callable[..., Any], args: Iterable[Any]) -> None:
    """Check that a job is a function of a module, and its arguments plain data.

    Raises:
        NotPlain: Names what is not.
    """
    if not _is_named(job):
        raise NotPlain(f"{job!r} is no function of a module, which another process could import")
    try:
        _check_each(args)
    except NotPlain as error:
        raise NotPlain(f"{job.__qualname__}: {error}") from None


def check(value: Any) -> None:
    """Check that a value is plain data.

    Raises:
        NotPlain: Names what is not.
    """
    kind: Any = type(value)
    if _is_closed(kind):
        return
    if issubclass(kind, dict):
        _check_each(value)
        _check_each(value.values())
    elif issubclass(kind, _CONTAINERS):
        _check_each(value)
    elif _is_dataclass(kind):
        _check_each(getattr(value, name) for name in _open_fields(kind))
    elif not _is_named(value):
        raise NotPlain(f"{kind.__module__}.{kind.__qualname__} is no plain data")


def _check_each(values: Iterable[Any]) -> None:
    for value in values:
        check(value)


def _is_named(value: Any) -> bool:
    """Whether it is a function that its module has under its name."""
    if not isinstance(value, _FUNCTIONS) or value.__module__ not in sys.modules:
        return False
    found: Any = sys.modules[value.__module__]
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


@lru_cache(maxsize=1024)
def _is_closed(kind: Any) -> bool:
    """Whether every value of a type is plain data."""
    if issubclass(kind, (*_SCALARS, PurePath)) or kind.__module__ == "numpy":
        return True
    return _is_dataclass(kind) and not _open_fields(kind)


@lru_cache(maxsize=1024)
def _open_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a dataclass whose annotations also allow what is not plain data."""
    try:
        hints = get_type_hints(kind)
    except NameError:  # imported for the type checker alone
        hints = {}
    return tuple(
        field.name
        for field in fields(kind)
        if field.name not in hints or not _allows_plain_only(hints[field.name])
    )


def _allows_plain_only(hint: Any) -> bool:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal or hint in (None, Ellipsis):
        return True
    if origin is Annotated:
        return _allows_plain_only(args[0])
    if origin in (Union, types.UnionType) or (origin in _CONTAINERS and args):
        return all(map(_allows_plain_only, args))
    return isinstance(hint, type) and _is_closed(hint)
