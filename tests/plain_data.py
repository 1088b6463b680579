"""Whether a job of the memory lane could be given to another process, judged by type.

With the setting MEMORY_PROCESS it is. `conftest` checks it in every test, without a process too.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from enum import Enum
from functools import wraps
from pathlib import PurePath
from typing import Any
from uuid import UUID

_SCALARS = (
    types.NoneType, bool, int, float, complex, str, bytes, date, timedelta, UUID, Enum, PurePath,
)  # fmt: skip
_COMMON = frozenset((types.NoneType, bool, int, float, str))


class NotPlain(TypeError):
    """Something that another process cannot be given."""


def checking(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `offload.run` with a check of each job of the memory lane and of its result."""
    from contrib_ai_memory import offload

    @wraps(run)
    def checked(lane: str, job: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if lane != offload.MEMORY or options.get("here"):
            return run(lane, job, *args, **options)
        _check_job(job, args)
        return run(lane, job, *args, **options).addCallback(_checked)

    return checked


def _check_job(job: Callable[..., Any], args: Iterable[Any]) -> None:
    if not _is_named(job):
        raise NotPlain(f"{job!r} is no function of a module, which another process could import")
    try:
        _check_each(args)
    except NotPlain as error:
        raise NotPlain(f"{job.__qualname__}: {error}") from None


def _checked(value: Any) -> Any:
    """Check that it is a scalar, an array, a function of a module, or made of such."""
    kind: Any = type(value)
    if kind in _COMMON or issubclass(kind, _SCALARS) or kind.__module__ == "numpy":
        return value
    if issubclass(kind, dict):
        _check_each(value)
        _check_each(value.values())
    elif issubclass(kind, (list, tuple, set, frozenset)):
        _check_each(value)
    elif hasattr(kind, "__dataclass_fields__"):
        _check_each(getattr(value, name) for name in kind.__dataclass_fields__)
    elif not _is_named(value):
        raise NotPlain(f"{kind.__module__}.{kind.__qualname__} is no plain data")
    return value


def _check_each(values: Iterable[Any]) -> None:
    for value in values:
        _checked(value)


def _is_named(value: Any) -> bool:
    """Return whether it is a function that its module has under its name."""
    if not isinstance(value, types.FunctionType | types.BuiltinFunctionType):
        return False
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value
