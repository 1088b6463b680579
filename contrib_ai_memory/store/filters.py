"""Mem0's filter language in the terms of a Qdrant engine: equality, lists, operators, AND/OR/NOT.

Qdrant Edge and the client of a Qdrant server have the same filters as different classes; a
`Dialect` names those of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Filters = dict[str, Any] | None  # in Mem0's filter language

_RANGE = {"gt", "gte", "lt", "lte"}
_JOINS = {"AND": "must", "OR": "should", "NOT": "must_not"}


class Dialect(NamedTuple):
    """What makes the parts of a filter.

    Attributes:
        filter: Of `must`, `should` and `must_not`, each a list or None.
        field: Of `key` and either `match` or `range`.
        value, any_of, none_of, text: Matches.
        numbers, times: Ranges, of `gt`, `gte`, `lt` and `lte`.
        booleans: Whether it matches booleans.
    """

    filter: Callable[..., Any]
    field: Callable[..., Any]
    value: Callable[[Any], Any]
    any_of: Callable[[list[Any]], Any]
    none_of: Callable[[list[Any]], Any]
    text: Callable[[str], Any]
    numbers: Callable[..., Any]
    times: Callable[..., Any]
    booleans: bool = True


def to_filter(filters: Filters, dialect: Dialect) -> Any:
    """Translate a filter; None if it asks for nothing.

    Raises:
        ValueError: An operator that Mem0's language does not have.
    """
    parts: dict[str, list[Any]] = {"must": [], "should": [], "must_not": []}
    for key, value in (filters or {}).items():
        join = _JOINS.get(key.removeprefix("$").upper())
        if join:
            parts[join] += [built for each in value if (built := to_filter(each, dialect))]
        elif value != "*":
            parts["must"].append(_condition(key, value, dialect))
    if not any(parts.values()):
        return None
    return dialect.filter(**{join: some or None for join, some in parts.items()})


def _condition(key: str, value: Any, dialect: Dialect) -> Any:
    if isinstance(value, (list, tuple)):
        return dialect.field(key=key, match=dialect.any_of(list(value)))
    if isinstance(value, bool) and not dialect.booleans:
        raise ValueError(
            f"filter {key!r}: {value!r}: Qdrant Edge matches no booleans; filter the results"
        )
    if not isinstance(value, dict):
        return dialect.field(key=key, match=dialect.value(value))
    if value and set(value) <= _RANGE:
        times = any(isinstance(bound, str) for bound in value.values())
        return dialect.field(key=key, range=(dialect.times if times else dialect.numbers)(**value))
    operators: dict[str, Callable[[Any], Any]] = {
        "eq": dialect.value,
        "ne": lambda operand: dialect.none_of([operand]),
        "in": lambda operand: dialect.any_of(list(operand)),
        "nin": lambda operand: dialect.none_of(list(operand)),
        "contains": dialect.text,
        "icontains": dialect.text,
    }
    if len(value) == 1:
        [(operator, operand)] = value.items()
        if operator in operators:
            return dialect.field(key=key, match=operators[operator](operand))
    known = ", ".join(sorted(_RANGE | set(operators)))
    raise ValueError(f"filter {key!r}: {value!r} is not one of Mem0's operators ({known})")
