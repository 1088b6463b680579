"""Corrections in the journal: which line of its speaker a new line corrects, and what it means.

What a correction means is read from the journal each time (`english.corrections`): when the older
line is forgotten, nothing of it stays in the newer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..english import corrections
from ..english.corrections import WITHIN
from ..records import TALK_KINDS, Entry


def corrected(entry: Entry, before: Sequence[Entry]) -> tuple[Entry, str] | None:
    """Return the line that an entry corrects and the statement that it means, or None.

    Args:
        before: Entries of any conversation just before it, oldest first.
    """
    if entry.kind not in TALK_KINDS or not corrections.may_correct(entry.content):
        return None
    lines = [each for each in before if _may_be_corrected(each, entry)]
    meant: list[str] = []
    for place, line in enumerate(lines):  # a correction may be corrected in its turn
        found = corrections.completed(line.content, meant) if place else None
        meant.append(found[1] if found else line.content)
    found = corrections.completed(entry.content, meant)
    return (lines[found[0]], found[1]) if found else None


def corrected_before(memory: Any, entry: Entry) -> tuple[Entry, str] | None:
    """As `corrected`, with the entries that the journal has before it. Reactor thread."""
    if entry.kind not in TALK_KINDS or not corrections.may_correct(entry.content):
        return None
    return corrected(entry, tuple(memory.journal.read(entry.id - WITHIN, entry.id - 1)))


def _may_be_corrected(known: Entry, entry: Entry) -> bool:
    return (
        known.id < entry.id
        and known.kind in TALK_KINDS
        and known.learnable
        and known.source_entity == entry.source_entity
        and known.circle == entry.circle
        and not known.is_question
    )
