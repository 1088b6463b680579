"""Geometry of the SVG charts; `_chart.html` renders it.

Rendered on the server, charts need no library, print, and work without JavaScript. Each has a table
of its numbers beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 520, 220
LEFT, RIGHT, TOP, BOTTOM = 44, 8, 10, 26  # margins of the plot
INSET = 32  # room for the dates at both ends of a line chart
ROW_HEIGHT = 20
LABEL_WIDTH = 110
LABELS_BELOW = 6  # dates that fit below the x axis

Values = Sequence[tuple[str, float]]  # (label, value)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar with its label and its formatted value."""

    x: float
    y: float
    width: float
    height: float
    label: str
    value: str
    label_x: float
    label_y: float
    label_shown: bool = True


@dataclass(frozen=True, slots=True)
class GridLine:
    """A horizontal line at a value of the y axis."""

    y: float
    value: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    Attributes:
        name: Its HTML id.
        headings: Column headings of the table of numbers.
        rows: Labels and formatted values.
        points: The path of a line chart, as SVG's `points`.
        horizontal: Whether the bars lie, each beside its label.
    """

    name: str
    title: str
    headings: tuple[str, str]
    rows: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    width: int = WIDTH
    height: int = HEIGHT
    grid: tuple[GridLine, ...] = ()
    points: str = ""
    horizontal: bool = False


def column_chart(name: str, title: str, headings: tuple[str, str], values: Values) -> Chart:
    """Return a chart of vertical bars, for values over time or on a scale."""
    top = _round_up(max((value for _, value in values), default=0))
    step = (WIDTH - LEFT - RIGHT) / max(len(values), 1)
    every = _label_interval(values) if len(values) > 12 else 1
    bars = tuple(
        Bar(
            x=round(LEFT + (place + 0.1) * step, 1),
            y=round(_y(value, top), 1),
            width=round(step * 0.8, 1),
            height=round(HEIGHT - BOTTOM - _y(value, top), 1),
            label=label,
            value=_formatted(value),
            label_x=round(LEFT + (place + 0.5) * step, 1),
            label_y=HEIGHT - 8,
            label_shown=place % every == 0,
        )
        for place, (label, value) in enumerate(values)
    )
    return Chart(name, title, headings, _rows(values), bars, grid=_grid(top))


def bar_chart(name: str, title: str, headings: tuple[str, str], values: Values) -> Chart:
    """Return a chart of horizontal bars, for values with names."""
    top = max((value for _, value in values), default=0) or 1
    room = WIDTH - LABEL_WIDTH - 60
    bars = tuple(
        Bar(
            x=LABEL_WIDTH,
            y=place * ROW_HEIGHT + 4,
            width=round(value / top * room, 1),
            height=ROW_HEIGHT - 6,
            label=label,
            value=_formatted(value),
            label_x=LABEL_WIDTH - 8,
            label_y=place * ROW_HEIGHT + 15,
        )
        for place, (label, value) in enumerate(values)
    )
    height = max(len(values), 1) * ROW_HEIGHT + 8
    return Chart(name, title, headings, _rows(values), bars, height=height, horizontal=True)


def line_chart(
    name: str, title: str, headings: tuple[str, str], values: Values, *, top: float | None = None
) -> Chart:
    """Return a chart of a line from value to value; `top` is the end of the y axis."""
    top = top or _round_up(max((value for _, value in values), default=0))
    start = LEFT + INSET
    step = (WIDTH - start - INSET) / max(len(values) - 1, 1)
    every = _label_interval(values)
    marks, points = [], []
    for place, (label, value) in enumerate(values):
        x, y = round(start + place * step, 1), round(_y(value, top), 1)
        points.append(f"{x},{y}")
        shown = place % every == 0
        marks.append(Bar(x - 3, y - 3, 6, 6, label, _formatted(value), x, HEIGHT - 8, shown))
    rows = _rows(values)
    return Chart(
        name, title, headings, rows, tuple(marks), grid=_grid(top), points=" ".join(points)
    )


def _label_interval(values: Values) -> int:
    return max(1, -(-len(values) // LABELS_BELOW))


def _y(value: float, top: float) -> float:
    return TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM)


def _grid(top: float) -> tuple[GridLine, ...]:
    steps = 4 if top >= 4 or top <= 1 else int(top)
    return tuple(
        GridLine(round(_y(top * step / steps, top), 1), _formatted(top * step / steps))
        for step in range(steps + 1)
    )


def _round_up(value: float) -> float:
    """Return the next of 4, 8, 20, 40, 80, 200 …: round numbers whose quarter is an integer."""
    size = 4
    while size < value:
        size = size * 5 // 2 if str(size)[0] == "8" else size * 2
    return float(size)


def _rows(values: Values) -> tuple[tuple[str, str], ...]:
    return tuple((label, _formatted(value)) for label, value in values)


def _formatted(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.2f}"
