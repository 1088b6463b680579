"""The condition of the store: whether it may be written now, and what staff have to know of it.

Where the disk has too little room, or the game's database is of another time than the store, the
store takes no writes. The journal alone goes on, in the game's database; what it gets meanwhile is
indexed as soon as the store may be written again, since no cursor passes what was refused. Each
trouble is told to the log once when it begins and once when it is over. Any thread.
"""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from .. import conf
from ..log import logger
from .errors import StoreFull, StoreUnpaired

ROOM, DATABASE, PAIR, LOST = "room", "database", "pair", "lost"
HOLDING = (ROOM, PAIR)  # those in which nothing is written into the store

_lock = threading.Lock()
_troubles: dict[str, str] = {}
_writes = 0


def troubles() -> list[str]:
    """What is wrong now, a sentence or two each."""
    return list(_troubles.values())


def held() -> bool:
    """Whether the store was last seen to take no writes."""
    return any(each.split()[0] in HOLDING for each in list(_troubles))


def writes() -> int:
    """How often this process has begun to write into the store."""
    return _writes


def begin(trouble: str, sentence: str) -> None:
    """Note a trouble; the log is told once for as long as it lasts."""
    with _lock:
        new = trouble not in _troubles
        _troubles[trouble] = sentence
    if new:
        logger().error("%s", sentence)


def end(trouble: str, sentence: str) -> None:
    """Note that a trouble is over; the log is told if there was one."""
    if trouble in _troubles:
        with _lock:
            was = _troubles.pop(trouble, None)
        if was:
            logger().warning("%s", sentence)


def forget() -> None:
    """Begin anew, as with a store that is opened for the first time."""
    _troubles.clear()


def check(folder: Path, needed: int = 0) -> None:
    """Look whether the store may be written; the first thing of every write. One system call.

    Args:
        folder: Where its files are, or will be.
        needed: Bytes that the write takes, where that is more than a batch.

    Raises:
        StoreFull: The disk has too little room.
        StoreUnpaired: The game's database is of another time.
    """
    global _writes
    check_writable(folder, needed)
    _writes += 1


def check_writable(folder: Path, needed: int = 0) -> None:
    """The same without a write behind it."""
    check_room(folder, needed)
    if PAIR in _troubles:
        raise StoreUnpaired(_troubles[PAIR])


def check_room(folder: Path, needed: int = 0) -> None:
    """Look at the room on the disk of `folder`.

    Raises:
        StoreFull
    """
    trouble = f"{ROOM} {_nearest(folder).stat().st_dev}"
    if sentence := lack_of_room(folder, needed):
        if not needed:  # a single large piece of work that must wait is no trouble of the store
            begin(trouble, sentence)
        raise StoreFull(sentence)
    end(trouble, f"The disk of {folder} has room again: what waited is indexed now.")


def lack_of_room(folder: Path, needed: int = 0) -> str:
    """Returns a sentence where the disk of `folder` has too little room, or ""."""
    free = shutil.disk_usage(_nearest(folder)).free
    wanted = conf.DISK_RESERVE + needed
    if free >= wanted:
        return ""
    return (
        f"The disk of {folder} has only {free / 1e6:.0f} MB free, and the memory store needs "
        f"{wanted / 1e6:.0f} MB to be written safely. Journals go on, and nothing else is "
        "remembered until there is room: make some; what was said meanwhile is indexed then."
    )


def _nearest(folder: Path) -> Path:
    """The folder, or the lowest of those above it that is there."""
    return next(each for each in (folder, *folder.absolute().parents) if each.exists())
