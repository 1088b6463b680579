"""Sets of journal ids as short text: "3-9,12".

Kept where many ids belong to one thing: the talk that an answer was given, the lines that a
summary stands for. Of a set with more than `MOST` spans the oldest become one: what erasing follows
may then be too much, never too little.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

MOST = 64


def of(ids: Iterable[int]) -> str:
    """The spans of some journal ids.

    >>> of([4, 3, 12, 5])
    '3-5,12'
    """
    return _written((number, number) for number in ids)


def joined(*spans: str) -> str:
    """The spans of all ids that are in any of these.

    >>> joined("3-5,12", "6,40")
    '3-6,12,40'
    """
    return _written(pair for each in spans for pair in _read(each))


def has_any(spans: str, ids: Collection[int]) -> bool:
    """Whether one of `ids` (a set) is in there."""
    return any(
        any(number in ids for number in range(first, last + 1))
        if last - first < len(ids)
        else any(first <= number <= last for number in ids)
        for first, last in _read(spans)
    )


def _read(spans: str) -> Iterator[tuple[int, int]]:
    for span in filter(None, spans.split(",")):
        first, _, last = span.partition("-")
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
