"""The contrib's own log file, `server/logs/ai_memory.log`.

It has ids only, no player's words above DEBUG, and no secret of the settings, not even in a
traceback. A thread of its own writes it, so that the reactor never waits for the disk.
"""

from __future__ import annotations

import logging
import queue
import sys
from functools import lru_cache
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path

from django.conf import settings

FILE = "ai_memory.log"
MAX_BYTES = 1_000_000
BACKUPS = 3


class _File(RotatingFileHandler):
    """The log file. Lines lost on a full disk are counted, and the count is logged afterwards.

    A traceback for each would fill the game's own log.
    """

    lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream and not Path(self.baseFilename).exists():  # somebody deleted the file
            self.close()
        before = self.lost
        if before:
            text = f"This log could not be written for a while: {before} lines may be missing."
            note = logging.LogRecord(record.name, logging.WARNING, "", 0, text, (), None)
            super().emit(note)
            if self.lost > before:  # the note was lost, too
                return
            self.lost = 0
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        if isinstance(sys.exc_info()[1], OSError):
            self.lost += 1
        else:
            super().handleError(record)


def send_to(handler: logging.Handler) -> None:
    """Hand all lines to `handler` in place of the file, which only the game itself writes."""
    global _elsewhere
    _elsewhere = handler


_elsewhere: logging.Handler | None = None


@lru_cache(maxsize=1)
def logger() -> logging.Logger:
    """Return the logger `contrib_ai_memory`; the first call attaches its file."""
    log = logging.getLogger("contrib_ai_memory")
    log.setLevel(logging.INFO)
    log.propagate = False
    if _elsewhere is not None:
        log.addHandler(_elsewhere)
        return log
    folder = Path(getattr(settings, "LOG_DIR", None) or ".")
    folder.mkdir(parents=True, exist_ok=True)
    target = _File(
        folder / FILE, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8", delay=True
    )
    target.setFormatter(_Redacting("%(asctime)s %(levelname)s %(message)s"))
    lines: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    log.addHandler(QueueHandler(lines))
    QueueListener(lines, target).start()  # a daemon thread
    return log


class _Redacting(logging.Formatter):
    """Formatter that redacts secrets in the message and its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        from .text.redaction import redact  # its library takes long: only where something is logged

        return redact(super().format(record))
