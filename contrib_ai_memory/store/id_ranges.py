"""Sets of journal ids as short text: "3-9,12".

Used where one record has many ids: the talk that was in the prompt of an answer, the lines that a
summary replaces. Of more than `MOST` ranges the oldest become one, so that an erasure may then
follow too many ids, never too few.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

MOST = 64


def of(ids: Iterable[int]) -> str:
    """Return the ranges of some journal ids.

    >>> of([4, 3, 12, 5])
    '3-5,12'
    """
    return _written((number, number) for number in ids)


def joined(*ranges: str) -> str:
    """Return the union of some ranges.

    >>> joined("3-5,12", "6,40")
    '3-6,12,40'
    """
    return _written(pair for each in ranges for pair in _read(each))


def has_any(ranges: str, ids: Collection[int]) -> bool:
    """Return whether the ranges contain one of `ids` (a set)."""
    return any(
        any(number in ids for number in range(first, last + 1))
        if last - first < len(ids)
        else any(first <= number <= last for number in ids)
        for first, last in _read(ranges)
    )


def _read(ranges: str) -> Iterator[tuple[int, int]]:
    for each in filter(None, ranges.split(",")):
        first, _, last = each.partition("-")
        yield int(first), int(last or first)


def _written(pairs: Iterable[tuple[int, int]]) -> str:
    found: list[list[int]] = []
    for first, last in sorted(pairs):
        if found and first <= found[-1][1] + 1:
            found[-1][1] = max(found[-1][1], last)
        else:
            found.append([first, last])
    if len(found) > MOST:
        found[: 1 - MOST] = [[found[0][0], found[-MOST][1]]]
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in found)
