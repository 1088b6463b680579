"""What is read of a line on a worker, for attention: what is done with it, for whom, of what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .. import language
from ..records import LineInTalk, LineReading
from . import sheet

# fields of the sheet whose sentences are the NPC's matter
OWN = ("description", "persona", "goals")


def read_line(
    heard: LineInTalk, agent_id: str, own: Iterable[str], listeners: tuple[str, ...], now: str
) -> LineReading | None:
    """Read a line, where the bundled embedding model is installed (worker thread).

    Args:
        agent_id: Of the NPC.
        own: What its sheet says of it (`OWN`).
        listeners, now: As of `sheet.given`.
    """
    read = language.get().read_for_whom(heard)
    if read is None:
        return None
    said = heard.line.text
    given = (each.content for each in sheet.given(agent_id, said, listeners, now))
    known = sheet.nearness(said, (*own, *given))
    return replace(read, known=known)
