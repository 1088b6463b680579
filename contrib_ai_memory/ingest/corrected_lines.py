"""Corrections in the journal: which earlier line of the same speaker a new line corrects.

What a correction means is read from the journal each time (`Language.corrected`): when the older
line is forgotten, nothing of it stays in the newer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import language
from ..records import TALK_KINDS, Entry
from ..store.npc_memory import Memory
from ..text.names import forms

WITHIN = 120  # journal entries before a correction, the NPC's own among them


def corrected(
    entry: Entry, before: Sequence[Entry], names: Iterable[str]
) -> tuple[Entry, str] | None:
    """Return the line that an entry corrects and the statement that it means, or None.

    Args:
        before: Entries of any conversation just before it, oldest first.
        names: Names of the NPC, by which the line may call it.
    """
    said = _said(entry, names)
    if not said:
        return None
    spoken = language.get()
    lines = [each for each in before if _may_be_corrected(each, entry)]
    meant: list[str] = []
    for line in lines:  # a correction may be corrected in its turn
        told = spoken.without_address(line.content, forms(names))
        found = spoken.corrected(told, meant) if spoken.may_correct(told) else None
        meant.append(found[1] if found else told)
    found = spoken.corrected(said, meant)
    return (lines[found[0]], found[1]) if found else None


def corrected_before(memory: Memory, entry: Entry) -> tuple[Entry, str] | None:
    """As `corrected`, with the entries that the journal has before it. Reactor thread."""
    if not _said(entry, memory.names):
        return None
    before = tuple(memory.journal.read(entry.id - WITHIN, entry.id - 1))
    return corrected(entry, before, memory.names)


def set_right(memory: Memory, entry: Entry) -> str:
    """Return what an entry says in place of words of its speaker just before it, or "".

    Reactor thread.
    """
    found = corrected_before(memory, entry)
    if found is None:
        return ""
    spoken = language.get()
    known = spoken.without_address(found[0].content, forms(memory.names))
    return spoken.changed(known, found[1])


def _said(entry: Entry, names: Iterable[str]) -> str:
    """Return the words of an entry that may correct another, "" if it corrects none."""
    if entry.kind not in TALK_KINDS:
        return ""
    said = language.get().without_address(entry.content, forms(names))
    return said if language.get().may_correct(said) else ""


def _may_be_corrected(known: Entry, entry: Entry) -> bool:
    return (
        known.id < entry.id
        and known.kind in TALK_KINDS
        and known.learnable
        and known.source_entity == entry.source_entity
        and known.audience == entry.audience
        and not known.is_question
    )
