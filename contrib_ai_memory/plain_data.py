"""Plain data: what a job of the memory lane may be, take and return, wherever it is done.

Judged by type, so that a job which no other process could be given fails without one too. Plain
are scalars, arrays, containers of plain data, dataclasses with such fields, and functions of a
module.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

_SCALARS = (
    types.NoneType, bool, int, float, complex, str, bytes, date, timedelta, UUID, Enum, PurePath,
)  # fmt: skip
_COMMON = frozenset((types.NoneType, bool, int, float, str))
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)


class NotPlain(TypeError):
    """Something that another process cannot be given."""


def check_job(job: Callable[..., Any], args: Iterable[Any]) -> None:
    """Check that a job is a function of a module, and its arguments plain data (NotPlain)."""
    if not _is_named(job):
        raise NotPlain(f"{job!r} is no function of a module, which another process could import")
    try:
        _check_each(args)
    except NotPlain as error:
        raise NotPlain(f"{job.__qualname__}: {error}") from None


def check(value: Any) -> None:
    """Check that a value is plain data (NotPlain names what is not)."""
    kind: Any = type(value)
    if kind in _COMMON or issubclass(kind, _SCALARS) or kind.__module__ == "numpy":
        return
    if issubclass(kind, dict):
        _check_each(value)
        _check_each(value.values())
    elif issubclass(kind, (list, tuple, set, frozenset)):
        _check_each(value)
    elif hasattr(kind, "__dataclass_fields__"):
        _check_each(getattr(value, name) for name in kind.__dataclass_fields__)
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
