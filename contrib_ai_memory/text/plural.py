"""Counts of things, as people are told them."""

from __future__ import annotations


def plural(number: int, one: str, many: str = "") -> str:
    """`1 entry`, `2 entries`.

    Args:
        many: More of it; `one` with an s where it is left out.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
