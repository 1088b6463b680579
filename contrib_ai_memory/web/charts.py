"""Charts as plain shapes: numbers in, the geometry of an SVG out. The templates draw it.

Drawn on the server, so that they need no library, print, and read without a script; the numbers of
each stand in a table beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 520, 220
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 26
EDGE = 32
ROW = 20  # of a chart whose bars lie
NAMES = 110
LABELS_BELOW = 6  # as many dates as fit without running into each other


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its label and its value as text."""

    x: float
    y: float
    width: float
    height: float
    label: str
    value: str
    label_x: float
    label_y: float
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """A line across, at a value."""

    y: float
    value: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart. `points` is the path of a curve, where it is one."""

    name: str
    title: str
    first: str
    second: str
    rows: tuple[tuple[str, str], ...]
    width: int
    height: int
    bars: tuple[Bar, ...] = ()
    lines: tuple[Line, ...] = ()
    points: str = ""
    lying: bool = False
    note: str = ""


def columns(
    name: str,
    title: str,
    labels: tuple[str, str],
    values: Sequence[tuple[str, float]],
    note: str = "",
) -> Chart:
    """Bars that stand, one for each value, left to right."""
    top = _round_up(max((value for _, value in values), default=0))
    wide = (WIDTH - LEFT - RIGHT) / max(len(values), 1)
    every = max(1, -(-len(values) // LABELS_BELOW)) if len(values) > 12 else 1
    bars = tuple(
        Bar(
            x=round(LEFT + place * wide + wide * 0.1, 1),
            y=round(_y(value, top), 1),
            width=round(wide * 0.8, 1),
            height=round(HEIGHT - BOTTOM - _y(value, top), 1),
            label=label,
            value=_told(value),
            label_x=round(LEFT + (place + 0.5) * wide, 1),
            label_y=HEIGHT - 8,
            shown=place % every == 0,
        )
        for place, (label, value) in enumerate(values)
    )
    return Chart(name, title, *labels, _rows(values), WIDTH, HEIGHT, bars, _lines(top), note=note)


def rows(
    name: str,
    title: str,
    labels: tuple[str, str],
    values: Sequence[tuple[str, float]],
    note: str = "",
) -> Chart:
    """Bars that lie under each other, each with its name: for words rather than dates."""
    top = max((value for _, value in values), default=0) or 1
    room = WIDTH - NAMES - 60
    bars = tuple(
        Bar(
            x=NAMES,
            y=place * ROW + 4,
            width=round(value / top * room, 1),
            height=ROW - 6,
            label=label,
            value=_told(value),
            label_x=NAMES - 8,
            label_y=place * ROW + 15,
        )
        for place, (label, value) in enumerate(values)
    )
    height = max(len(values), 1) * ROW + 8
    return Chart(name, title, *labels, _rows(values), WIDTH, height, bars, lying=True, note=note)


def curve(
    name: str,
    title: str,
    labels: tuple[str, str],
    values: Sequence[tuple[str, float]],
    *,
    top: float | None = None,
    note: str = "",
) -> Chart:
    """A line from value to value."""
    top = top or _round_up(max((value for _, value in values), default=0))
    first = LEFT + EDGE  # so that the dates at both ends have room
    wide = (WIDTH - first - EDGE) / max(len(values) - 1, 1)
    places = [
        (round(first + place * wide, 1), round(_y(value, top), 1))
        for place, (_, value) in enumerate(values)
    ]
    every = max(1, -(-len(values) // LABELS_BELOW))
    marks = tuple(
        Bar(x - 3, y - 3, 6, 6, label, _told(value), x, HEIGHT - 8, place % every == 0)
        for place, ((x, y), (label, value)) in enumerate(zip(places, values, strict=True))
    )
    path = " ".join(f"{x},{y}" for x, y in places)
    shape = WIDTH, HEIGHT, marks, _lines(top), path
    return Chart(name, title, *labels, _rows(values), *shape, note=note)


def _y(value: float, top: float) -> float:
    return TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)


def _lines(top: float) -> tuple[Line, ...]:
    steps = 4 if top >= 4 or top <= 1 else int(top)
    return tuple(
        Line(round(_y(top * step / steps, top), 1), _told(top * step / steps))
        for step in range(steps + 1)
    )


def _round_up(value: float) -> float:
    """The next of 4, 8, 20, 40, 80, 200 …: round, and a quarter of it is a whole number."""
    size = 4
    while size < value:
        size = size * 5 // 2 if str(size)[0] == "8" else size * 2
    return float(size)


def _rows(values: Sequence[tuple[str, float]]) -> tuple[tuple[str, str], ...]:
    return tuple((label, _told(value)) for label, value in values)


def _told(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.2f}"
