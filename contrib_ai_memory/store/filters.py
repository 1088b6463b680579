"""Mem0's filter language in the terms of a Qdrant engine: equality, lists, operators, AND/OR/NOT.

Qdrant Edge and the client of a Qdrant server have the same filters, as classes of two modules.
"""

from __future__ import annotations

from typing import Any

Filters = dict[str, Any] | None  # in Mem0's filter language

_RANGE = {"gt", "gte", "lt", "lte"}
_MATCHES = {  # operator → class of the match, the name of its argument
    "eq": ("MatchValue", "value"),
    "ne": ("MatchExcept", "except"),
    "in": ("MatchAny", "any"),
    "nin": ("MatchExcept", "except"),
    "contains": ("MatchText", "text"),
    "icontains": ("MatchText", "text"),
}
_JOINS = {"AND": "must", "OR": "should", "NOT": "must_not"}


def to_filter(filters: Filters, kinds: Any) -> Any:
    """Translate a filter; None if it asks for nothing.

    Args:
        kinds: The module of the engine's classes.

    Raises:
        ValueError: An operator that Mem0's language does not have.
    """
    parts: dict[str, list[Any]] = {"must": [], "should": [], "must_not": []}
    for key, value in (filters or {}).items():
        join = _JOINS.get(key.removeprefix("$").upper())
        if join:
            parts[join] += [built for each in value if (built := to_filter(each, kinds))]
        elif value != "*":
            parts["must"].append(_condition(key, value, kinds))
    if not any(parts.values()):
        return None
    return kinds.Filter(**{join: some or None for join, some in parts.items()})


def _condition(key: str, value: Any, kinds: Any) -> Any:
    if isinstance(value, bool) and kinds.__name__ == "qdrant_edge":
        raise ValueError(
            f"filter {key!r}: {value!r}: Qdrant Edge matches no booleans; filter the results"
        )
    if not isinstance(value, dict):
        value = {"in" if isinstance(value, list | tuple) else "eq": value}
    if value and set(value) <= _RANGE:
        times = any(isinstance(bound, str) for bound in value.values())
        names = ("DatetimeRange", "RangeDateTime") if times else ("Range", "RangeFloat")
        range_of = next(getattr(kinds, name) for name in names if hasattr(kinds, name))
        return kinds.FieldCondition(key=key, range=range_of(**value))
    operator, wanted = next(iter(value.items()), ("", []))
    if len(value) != 1 or operator not in _MATCHES:
        known = ", ".join(sorted(_RANGE | set(_MATCHES)))
        raise ValueError(f"filter {key!r}: {value!r} is not one of Mem0's operators ({known})")
    kind, argument = _MATCHES[operator]
    if argument in ("any", "except"):
        wanted = [wanted] if operator == "ne" else list(wanted)
    return kinds.FieldCondition(key=key, match=getattr(kinds, kind)(**{argument: wanted}))
