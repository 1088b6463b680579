"""The contrib's own log file, `server/logs/ai_memory.log`: ids only, no player's words above DEBUG,
and no secret of the settings, not in a traceback either.

Written by a thread of its own, so that no log line makes the reactor wait for a disk.
"""

from __future__ import annotations

import logging
import queue
import sys
from functools import lru_cache
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from pathlib import Path

from django.conf import settings

from .text.redaction import redact

FILE = "ai_memory.log"
MAX_BYTES = 1_000_000
BACKUPS = 3


class _File(RotatingFileHandler):
    """The log file. Lines that a full disk takes no more are counted, and the count is told when
    it takes some again; a traceback for each would fill the game's own log."""

    lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream and not Path(self.baseFilename).exists():  # somebody took the file away
            self.close()
        before = self.lost
        if before:
            told = f"The disk took no lines of this log for a while: {before} may be missing."
            note = logging.LogRecord(record.name, logging.WARNING, "", 0, told, (), None)
            super().emit(note)
            if self.lost > before:  # nor this one
                return
            self.lost = 0
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        if isinstance(sys.exc_info()[1], OSError):
            self.lost += 1
        else:
            super().handleError(record)


@lru_cache(maxsize=1)
def logger() -> logging.Logger:
    """The logger `contrib_ai_memory`, its file attached at the first call."""
    log = logging.getLogger("contrib_ai_memory")
    folder = Path(getattr(settings, "LOG_DIR", None) or ".")
    folder.mkdir(parents=True, exist_ok=True)
    target = _File(
        folder / FILE, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8", delay=True
    )
    target.setFormatter(_Redacting("%(asctime)s %(levelname)s %(message)s"))
    lines: queue.SimpleQueue = queue.SimpleQueue()
    log.addHandler(QueueHandler(lines))
    log.setLevel(logging.INFO)
    log.propagate = False
    QueueListener(lines, target).start()  # a daemon thread
    return log


class _Redacting(logging.Formatter):
    """Takes the secrets out of the whole text: the message, and the tracebacks behind it."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
