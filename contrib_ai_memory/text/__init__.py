"""Plain text: sanitising, redaction of secrets, and counts in words."""

from __future__ import annotations


def plural(number: int, one: str, many: str = "") -> str:
    """Return `1 entry`, `2 entries`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
