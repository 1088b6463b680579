"""A memory under another id, or in another body: every id in it that has to change is changed.

The ids of memories come from the id of their mind (docs/adr/001). Imported beside the NPC that it
was exported from, a memory becomes a mind of its own, and each of its memories gets the id that
follows from the new one.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

from ..store.payload import entry_memory_id

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


_NO_IDS = ("ref", "session_id", "run_id")  # what a log calls its lines may look like one of ours


def _is_ear(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("ear:")


class Renaming:
    """Old to new.

    Args:
        minds: The old and the new UUID of the mind.
        bodies: The old and the new memory identity of the NPC itself.
        entry_of: Gives the number of the journal entry that an old id is of, 0 for any other: the
            ids of entries follow from their numbers.
    """

    def __init__(
        self, minds: tuple[str, str], bodies: tuple[str, str], entry_of: Callable[[str], int]
    ):
        self._old_mind, self._mind = minds
        self._old_body, self._body = bodies
        self._entry_of = entry_of
        self._nothing = self._old_mind == self._mind and self._old_body == self._body

    def __call__(self, value: Any) -> Any:
        """Plain data with all ids in it changed, keys too."""
        if self._nothing:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {
                self(key): each if key in _NO_IDS and not _is_ear(each) else self(each)
                for key, each in value.items()
            }
        if isinstance(value, list):
            return [self(each) for each in value]
        return value

    def _text(self, text: str) -> str:
        if text == self._old_body:
            return self._body
        if text.startswith(f"ear:{self._old_body}@"):
            return text.replace(self._old_body, self._body, 1)
        if self._old_mind != self._mind and len(text) == 36 and _UUID.fullmatch(text):
            if text == self._old_mind:
                return self._mind
            if number := self._entry_of(text):
                return entry_memory_id(self._mind, number)
            return str(uuid.uuid5(uuid.UUID(self._mind), text))
        return text
