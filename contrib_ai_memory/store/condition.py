"""Condition of the store: its errors, whether it may be written now, and what staff need to know.

While it takes no writes journals go on in the game's database; what they get is indexed afterwards,
as no cursor moves past a refused write. Each trouble is logged once when it begins and once when it
is over. Any thread.
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Self

from .. import conf
from ..embedding import embedder
from ..embedding.model import ModelAway
from ..errors import ExpectedError
from ..log import logger
from ..text.redaction import redact

# --- errors ---------------------------------------------------------------------------------------


class StoreError(ExpectedError):
    """The memory store cannot be used now. The message says what happened and what to do, without
    secrets of the settings, whatever a client wrote into its own error."""

    def __init__(self, message: str):
        super().__init__(redact(message))


class StoreInUse(StoreError):
    """Another process holds the store."""


class StoreUnusable(StoreError):
    """The store of the settings cannot be opened."""


class StoreDamaged(StoreError):
    """Files of the store cannot be read; `path` is to be set aside (`admin.doctor`)."""

    def __init__(self, path: Path, error: BaseException):
        reason = str(error).strip()
        super().__init__(
            f"{path} is damaged ({reason}). Stop the game. A backup brings all back "
            "(evennia ai_memory restore FILE). Without one, evennia ai_memory doctor --mend sets "
            "the damaged files aside, deletes nothing, and rebuilds the store from what can be "
            "read of them, from journals and from exports."
        )
        self.path, self.reason = path, redact(reason)


class StoreUnreachable(StoreError):
    """The store's server does not answer."""

    def __init__(self, provider: str, error: Exception | str):
        reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        super().__init__(
            f"The memory store ({provider}) does not answer: {reason.strip()}. NPCs go on hearing, "
            "and remember and answer again when it is back. Check that server, or correct "
            'CONTRIB_AI_MEMORY["VECTOR_STORE"].'
        )


class StoreRefused(StoreError):
    """The store's server understood a request and refuses it."""

    def __init__(self, provider: str, error: Exception):
        todo = (
            "That is a limit of the collection's strict mode: raise it or remove it."
            if any(word in str(error) for word in ("Help:", " limit of "))
            else 'Check the api_key and the collection in CONTRIB_AI_MEMORY["VECTOR_STORE"], and '
            "that the server is recent enough (docs/guides/operators.md)."
        )
        super().__init__(
            f"The memory store ({provider}) refuses a request: {str(error).strip()}. {todo}"
        )


class StoreMismatch(StoreError):
    """The store on disk was written by another embedding model, or another version."""

    @classmethod
    def of_form(cls, what: str) -> Self:
        """Return the error for a collection of another form ("… has other columns")."""
        return cls(
            f"{what} than this contrib writes: it is another program's. Name another "
            'collection_name in CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"].'
        )

    @classmethod
    def of_size(cls, what: str, theirs: int | None, ours: int) -> Self:
        return cls(
            f"{what} holds vectors of {theirs} numbers, and the embedding model makes {ours}. Name "
            'another collection_name in CONTRIB_AI_MEMORY["VECTOR_STORE"]["config"], or put the '
            'old model back into CONTRIB_AI_MEMORY["EMBEDDING"].'
        )


class StoreClosed(StoreError):
    """The server is stopping: the store takes no more work."""


class StoreHeld(StoreError):
    """The store takes no writes for now; only the journal goes on, and is indexed later."""


class StoreFull(StoreHeld):
    """The disk has too little room."""


class StoreUnpaired(StoreHeld):
    """The store and the game's database are of different generations."""


# Nothing is lost: what was heard is indexed later
HELD = (StoreHeld, ModelAway)


# --- troubles -------------------------------------------------------------------------------------

ROOM, DATABASE, LOCKED, PAIR, LOST = "room", "database", "locked", "pair", "lost"
HOLDING = (ROOM, PAIR)  # the store takes no writes

_lock = threading.Lock()
_troubles: dict[str, str] = {}
_writes = 0
_embedder_apart = ""  # trouble of the embedder in the memory process


def troubles() -> list[str]:
    return [*_troubles.values(), *filter(None, [embedder.trouble() or _embedder_apart])]


def held() -> bool:
    """Return whether the store took no writes when it was last checked."""
    return any(each.split()[0] in HOLDING for each in list(_troubles))


def writes() -> int:
    """Return how often this process has begun to write into the store."""
    return _writes


def begin(trouble: str, sentence: str) -> None:
    with _lock:
        new = trouble not in _troubles
        _troubles[trouble] = sentence
    if new:
        logger().error("%s", sentence)


def end(trouble: str, sentence: str) -> None:
    with _lock:
        was = _troubles.pop(trouble, None)
    if was:
        logger().warning("%s", sentence)


def forget() -> None:
    _troubles.clear()


# --- the memory process ---------------------------------------------------------------------------


def known() -> dict[str, str]:
    with _lock:
        return dict(_troubles)


def take_over(
    before: dict[str, str], now: dict[str, str], writes: int = 0, embedder_trouble: str = ""
) -> None:
    """Take over, unlogged, what has changed in the condition of the other process meanwhile."""
    global _writes, _embedder_apart
    with _lock:
        _troubles.update({name: text for name, text in now.items() if before.get(name) != text})
        for name in before.keys() - now.keys():
            _troubles.pop(name, None)
        _writes += writes
        _embedder_apart = embedder_trouble


# --- checks before a write ------------------------------------------------------------------------


def check(folder: Path) -> None:
    """Check that the store may be written (StoreHeld): the first step of every write."""
    global _writes
    check_writable(folder)
    _writes += 1


def check_writable(folder: Path) -> None:
    """Raise what `check` would raise, without a write to follow."""
    check_room(folder)
    if PAIR in _troubles:
        raise StoreUnpaired(_troubles[PAIR])


def check_room(folder: Path, needed: int = 0) -> None:
    """Check the room on the disk of a folder, which need not exist yet (StoreFull).

    A large task says how many bytes it takes; a write of a batch needs none beyond the reserve.
    """
    trouble = f"{ROOM} {_nearest(folder).stat().st_dev}"
    if sentence := lack_of_room(folder, needed):
        if not needed:  # one large task that must wait is no trouble of the store
            begin(trouble, sentence)
        raise StoreFull(sentence)
    end(trouble, f"The disk of {folder} has room again: what was said meanwhile is indexed now.")


def lack_of_room(folder: Path, needed: int = 0) -> str:
    free = shutil.disk_usage(_nearest(folder)).free
    wanted = conf.DISK_RESERVE + needed
    if free >= wanted:
        return ""
    return (
        f"The disk of {folder} has only {free / 1e6:.0f} MB free, and the memory store needs "
        f"{wanted / 1e6:.0f} MB to be written safely. Journals go on, and nothing else is "
        "remembered until you free some space; what was said meanwhile is indexed then."
    )


def _nearest(folder: Path) -> Path:
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())
