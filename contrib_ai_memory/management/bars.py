"""Progress bars: one for each thing that is done, one below the other."""

from __future__ import annotations

from typing import Any

from tqdm import tqdm


class Bars:
    """A `Progress` of `tending`, as bars on the terminal.

    Used as a context: all bars end with it.
    """

    def __init__(self, unit: str = "") -> None:
        self._unit = unit
        self._bar: tqdm | None = None
        self._doing = ""

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *exc: Any) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, doing: str, done: int, total: int) -> None:
        if doing != self._doing:
            self.__exit__()
            self._doing = doing
            self._bar = tqdm(desc=doing, total=total or None, unit=self._unit, mininterval=0.3)
        self._bar.update(max(0, done - self._bar.n))
