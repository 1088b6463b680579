"""Mem0's filter language (equality, lists, operators, AND / OR / NOT) as Qdrant's filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import qdrant_edge as edge

_RANGE = {"gt", "gte", "lt", "lte"}
_JOINS = {"AND": "must", "OR": "should", "NOT": "must_not"}


def to_filter(filters: dict[str, Any] | None) -> edge.Filter | None:
    """Mem0's filters (equality, lists, operators, AND / OR / NOT) as one Qdrant filter.

    Raises:
        ValueError: An operator that Mem0's language does not have.
    """
    parts: dict[str, list] = {"must": [], "should": [], "must_not": []}
    for key, value in (filters or {}).items():
        join = _JOINS.get(key.removeprefix("$").upper())
        if join:
            parts[join] += [built for built in map(to_filter, value) if built]
        elif value != "*":
            parts["must"].append(_condition(key, value))
    if not any(parts.values()):
        return None
    return edge.Filter(**{name: conditions or None for name, conditions in parts.items()})


def _condition(key: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return edge.FieldCondition(key=key, match=edge.MatchAny(list(value)))
    if isinstance(value, bool):
        raise ValueError(
            f"filter {key!r}: {value!r}: Edge matches no booleans; filter what it gives"
        )
    if not isinstance(value, dict):
        return edge.FieldCondition(key=key, match=edge.MatchValue(value))
    if value and set(value) <= _RANGE:
        return edge.FieldCondition(key=key, range=_range(value))
    if len(value) == 1:
        (operator, operand), *_ = value.items()
        if operator in _OPERATORS:
            return edge.FieldCondition(key=key, match=_OPERATORS[operator](operand))
    known = ", ".join(sorted(_RANGE | set(_OPERATORS)))
    raise ValueError(f"filter {key!r}: {value!r} is not one of Mem0's operators ({known})")


def _range(value: dict[str, Any]) -> Any:
    dates = any(isinstance(bound, str) for bound in value.values())
    return edge.RangeDateTime(**value) if dates else edge.RangeFloat(**value)


_OPERATORS: dict[str, Callable[[Any], Any]] = {
    "eq": edge.MatchValue,
    "ne": lambda operand: edge.MatchExcept([operand]),
    "in": lambda operand: edge.MatchAny(list(operand)),
    "nin": lambda operand: edge.MatchExcept(list(operand)),
    "contains": edge.MatchText,
    "icontains": edge.MatchText,
}
