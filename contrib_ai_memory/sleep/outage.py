"""What rules did while the model server was away is done again by the model in a later night.

`note_outage` keeps the first entry of it as a cursor of the journal. Entries are scored and
consolidated anew; reconciliation finds the facts that are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..llm import router
from ..records import Entry
from ..store.npc_memory import Memory

OUTAGE = "outage"  # cursor: the first entry that rules worked on in place of a model
AT_MOST = 500  # entries that are done again; of a longer outage the newest


def note_outage(memory: Memory, entries: Sequence[Entry]) -> None:
    """Note entries that the offline provider works on in place of a model."""
    first = min(entry.id for entry in entries)
    memory.journal.set_cursor(OUTAGE, min(first, memory.journal.cursors.get(OUTAGE) or first))


def put_back_offline_work(memory: Memory, scored: str, consolidated: str) -> None:
    """Put the entries of an outage back as they were, as a new night begins and the server answers.

    `scored` and `consolidated` are the cursors of the passes that work on them again.
    """
    journal = memory.journal
    first = journal.cursors.get(OUTAGE, 0)
    settings = memory.settings
    chosen = router.model_server(settings, "digest")
    if not first or not chosen or router.is_away(settings, memory.id):
        return
    last = journal.cursors.get(scored, 0)
    first = max(first, last - AT_MOST + 1)
    entries = [entry for entry in journal.read(first, last) if entry.learnable]
    changes: dict[int, dict[str, Any]] = {entry.id: {"consolidated": False} for entry in entries}
    for entry in entries:
        if entry.scoring_method == "offline":
            changes[entry.id]["scoring_method"] = "heuristic"
    journal.update(changes)
    for cursor in (scored, consolidated):
        journal.set_cursor(cursor, min(journal.cursors.get(cursor, 0), first - 1))
    journal.set_cursor(OUTAGE, 0)
