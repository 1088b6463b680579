"""Whispers to several: who else hears what is being whispered (docs/adr/015).

Evennia sends a whisper to each receiver apart, and tells none of them of the others. While a say or
a whisper goes out, `receivers` gives whom it was meant for.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from evennia.utils.utils import make_iter

_to: ContextVar[tuple[Any, tuple[Any, ...]] | None] = ContextVar("_to", default=None)


def receivers(speaker: Any) -> tuple[Any, ...]:
    """Whom `speaker` is whispering to at this moment; empty where that is not known."""
    whispering = _to.get()
    return whispering[1] if whispering and whispering[0] is speaker else ()


def note_receivers() -> None:
    """Have `DefaultObject.at_say` say whom it speaks to while it speaks; done once a process."""
    from evennia.objects.objects import DefaultObject

    at_say = DefaultObject.at_say
    if hasattr(at_say, "notes_receivers"):
        return

    @functools.wraps(at_say)
    def noted(
        self: Any,
        message: str,
        msg_self: Any = None,
        msg_location: Any = None,
        receivers: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        with _whispering(self, make_iter(receivers) if receivers else ()):
            return at_say(self, message, msg_self, msg_location, receivers, *args, **kwargs)

    noted.notes_receivers = True
    DefaultObject.at_say = noted


@contextmanager
def _whispering(speaker: Any, to: Any):
    before = _to.set((speaker, tuple(to)))
    try:
        yield
    finally:
        _to.reset(before)
