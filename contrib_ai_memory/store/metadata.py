"""store.json: what wrote the store in a folder, how far it is, and what it has lost.

Keys: format; store_id, embedding_model, dimensions; generation, mark, unsettled (`generations`);
memories, lost; moving: the place of a store that memories are being moved into (`admin.move`);
rebuilding: the folder of the damaged files while the store is rebuilt (`admin.doctor`).
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from .. import atomic_file, conf
from ..records import now_iso
from . import condition
from .condition import StoreDamaged, StoreMismatch, StoreUnusable

FILE = "store.json"
# Of store.json, payloads and Attributes of a memory. Older formats are read, those without a number
# too. Raise it with a change that older versions cannot read, and note it in
# docs/guides/operators.md, Upgrading.
FORMAT = 1

Mark = list[Any]  # generation and random text: two branches of one game may count alike


def read(folder: Path) -> dict[str, Any]:
    """Return the metadata of the store in a folder; empty if there is no store."""
    file = folder / FILE
    if not file.exists():
        return {}
    try:
        known = json.loads(file.read_text())
        if not isinstance(known, dict) or not {"store_id", "embedding_model"} <= set(known):
            raise ValueError("it has no store_id or no embedding_model")
        newer = int(known.get("format", FORMAT)) > FORMAT
    except ValueError as broken:
        raise StoreDamaged(file, broken) from None
    if newer:
        raise StoreMismatch(
            f"The memory store in {folder} has format {known['format']}, and this version reads up "
            f"to {FORMAT}: a newer version of contrib_ai_memory wrote it. Install that version "
            "again, or restore a backup that was made before the upgrade."
        )
    return known


def note(folder: Path, **changes: Any) -> None:
    """Change some of the metadata; None removes a key. The file is replaced whole or not at all."""
    known = read(folder) or {"store_id": str(uuid.uuid4())}
    written = known | {"format": FORMAT} | changes
    changed = {key: value for key, value in written.items() if value is not None}
    if changed != known or not (folder / FILE).exists():
        atomic_file.write(folder / FILE, json.dumps(changed, indent=1))


def store_id(folder: Path) -> str:
    if not (known := read(folder)):
        raise StoreUnusable(f"There is no memory store in {folder} yet: start the game once.")
    return known["store_id"]


def check_model(folder: Path, name: str, dimensions: int, known_id: str = "") -> None:
    """Check that this embedding model wrote the store; a new one gets it, and `known_id` or one."""
    mine = {"embedding_model": name, "dimensions": dimensions}
    theirs = read(folder)
    if not theirs:
        note(folder, **({"store_id": known_id} if known_id else {}), **mine)
        return
    if any(theirs[key] != mine[key] for key in mine):
        raise StoreMismatch(
            f"The memory store in {folder} was written with the embedding model "
            f"{theirs['embedding_model']!r} ({theirs['dimensions']} dimensions); the settings name "
            f"{name!r} ({dimensions}). Vectors of two models cannot be compared. Stop the game and "
            "make them anew (evennia ai_memory reindex), or put the old model back into "
            'CONTRIB_AI_MEMORY["EMBEDDING"].'
        )


# --- generations ----------------------------------------------------------------------------------

_WHAT_TO_DO = (
    "Until this is settled, journals go on but NPCs remember nothing new: the store takes no "
    "writes. Stop the game and restore both from one backup (evennia ai_memory restore FILE); or "
    "accept them as they are, with the game's database as the truth: evennia ai_memory doctor "
    "--mend"
)


def mark_of(stored: dict[str, Any]) -> Mark | None:
    """Return the generation mark in `stored` metadata; None before the first."""
    return [stored["generation"], stored["mark"]] if "generation" in stored else None


def mismatch(stored: dict[str, Any], store_id: str, mark: Mark | None) -> str:
    """Compare a store's metadata with what the database has. Returns an error text, or ""."""
    own = mark_of(stored)
    if not stored or not store_id:
        return ""
    folder = conf.directory()
    if stored["store_id"] != store_id:
        return (
            f"The memory store in {folder} is another one ({stored['store_id'][:8]}) than the "
            f"game's database was written with ({store_id[:8]}): one was restored without the "
            f"other, or the folder was changed. {_WHAT_TO_DO}"
        )
    # killed while both were marked: the store is ahead, and names what the database still has
    if own == mark or (own and stored.get("unsettled") == (mark or [])):
        return ""
    mine, theirs = (own or [0])[0], (mark or [0])[0]
    if mine > theirs:
        older = "the game's database is older than the store"
    elif mine < theirs:
        older = "the store is older than the game's database"
    else:
        older = "each of them went its own way"
    return (
        f"The memory store in {folder} is of generation {mine} and the game's database of "
        f"generation {theirs}: {older}. One was restored without the other. {_WHAT_TO_DO}"
    )


# --- loss -----------------------------------------------------------------------------------------


def note_total(folder: Path, total: int | None) -> None:
    """Note how many memories there are now: fewer at the next start are lost."""
    known = read(folder)
    if known and "lost" not in known and total is not None:
        note(folder, memories=total)


def find_lost(folder: Path, total: int | None) -> None:
    """Compare with the number noted last: a shard whose files were cut off opens empty."""
    known = read(folder)
    noted, lost = known.get("memories") or 0, known.get("lost")
    if total is not None and total < noted / 2 and not lost:
        lost = {"had": noted, "found": total, "seen": now_iso()}
        note(folder, lost=lost)
    if lost:
        condition.begin(condition.LOST, loss_message(lost))


def loss_message(lost: dict[str, Any]) -> str:
    return (
        f"The memory store in {conf.directory()} had {lost['had']} memories and was opened with "
        f"{lost['found']}: its files were truncated or removed. Stop the game and restore a backup "
        "(evennia ai_memory restore FILE). Without one, evennia ai_memory doctor --mend rebuilds "
        "what was heard from the journals; facts, experiences and summaries that only the store "
        "had are lost."
    )
