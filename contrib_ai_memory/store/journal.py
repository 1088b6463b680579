"""The journal: everything perceived, in order, at a price that does not grow with its length.

`character.db.journal` holds the open page (at most 32 entries) and the cursors of the background
work; full pages are sealed as JSON in Attributes of their own, found from an entry's id alone
(docs/adr/002). The copy of the open page in memory is the authority while the server runs. Reactor
thread only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from django.db import DatabaseError, transaction

from ..conf import PAGE_SIZE
from ..records import Entry
from . import attributes

ATTRIBUTE = "journal"
PAGES_IN_MEMORY = 16

Plain = dict[str, Any]


class Journal:
    """One NPC's journal as a sequence of entries with ids 1, 2, 3 ….

    Args:
        owner: The character whose Attributes hold it.
        on_change: Called after each change that is not on disk yet, to have `flush` called soon.
    """

    def __init__(self, owner: Any, on_change: Callable[[], None] = lambda: None):
        self._owner = owner
        self._on_change = on_change
        stored = attributes.read(owner, ATTRIBUTE) or {}
        self.last_id: int = stored.get("entry_count", 0)
        self.last_reflection: str | None = stored.get("last_reflection")
        self.cursors: dict[str, Any] = stored.get("cursors", {})
        self._open: list[Plain] = stored.get("entries", [])
        self._pages: OrderedDict[int, list[Plain]] = OrderedDict()
        self._dirty_pages: set[int] = set()
        self._dirty = False

    @property
    def changed(self) -> bool:
        """Whether something is not in the game's database yet."""
        return self._dirty

    @property
    def _sealed_pages(self) -> int:
        return self.last_id // PAGE_SIZE

    # --- writing ----------------------------------------------------------------------------

    def append(self, make: Callable[[int], Entry]) -> Entry:
        """Add the entry that `make` builds from the next id."""
        entry = make(self.last_id + 1)
        self.last_id = entry.id
        self._open.append(entry.to_dict())
        if self.last_id % PAGE_SIZE == 0:
            self._seal()
        self._changed()
        return entry

    def update(self, changes: Mapping[int, Mapping[str, Any]]) -> None:
        """Change fields of entries: {id: {field: value}}. Unknown ids are passed over."""
        for entry_id, fields in changes.items():
            number, page = self._locate(entry_id)
            for index, plain in enumerate(page):
                if plain["id"] == entry_id:
                    page[index] = Entry.from_dict({**plain, **fields}).to_dict()
                    self._mark(number)

    def remove(self, entry_ids: Iterable[int]) -> int:
        """Take entries out; the ids of the others stay. Returns how many were there."""
        removed = 0
        for entry_id in entry_ids:
            number, page = self._locate(entry_id)
            kept = [plain for plain in page if plain["id"] != entry_id]
            if len(kept) < len(page):
                removed += 1
                page[:] = kept
                self._mark(number)
        return removed

    def begin_again(self, last_id: int, last_reflection: str | None, cursors: Plain) -> None:
        """Be empty, with so many entries behind it: `put_back` puts them into their places."""
        self.clear()
        self.last_id, self.last_reflection = last_id, last_reflection
        self.cursors = dict(cursors)
        self._changed()

    def put_back(self, entries: Iterable[Entry]) -> None:
        """Put entries into the places of their ids, whether they were taken out or changed."""
        for entry in entries:
            number, page = self._locate(entry.id)
            if number >= 0:
                others = [plain for plain in page if plain["id"] != entry.id]
                page[:] = sorted([*others, entry.to_dict()], key=lambda plain: plain["id"])
                self._mark(number)

    def set_cursor(self, name: str, value: Any) -> None:
        """Note how far a pass has come; on disk together with the entries."""
        if self.cursors.get(name) != value:
            self.cursors[name] = value
            self._changed()

    def advance_cursor(self, name: str, value: int) -> None:
        """Move a cursor on; a pass that was overtaken does not move it back."""
        self.set_cursor(name, max(self.cursors.get(name, 0), value))

    def flush(self) -> None:
        """Write what changed, pages and open page in one transaction: both or neither."""
        if not self._dirty:
            return
        try:
            with transaction.atomic() if self._dirty_pages else nullcontext():
                for number in sorted(self._dirty_pages):
                    attributes.write_json(self._owner, _page_key(number), self._page(number))
                attributes.write(self._owner, ATTRIBUTE, self._stored())
        except DatabaseError:  # as on a full disk: all of it is written at the next try
            pages = [(_page_key(number), attributes.CATEGORY) for number in self._dirty_pages]
            attributes.forget_rolled_back(self._owner, [*pages, (ATTRIBUTE, None)])
            raise
        self._dirty_pages.clear()
        self._dirty = False

    def clear(self) -> None:
        """Forget every entry and start again at id 1."""
        while attributes.remove_some(self._owner, attributes.CATEGORY, 64, _page_key("")):
            pass
        self.last_id, self.last_reflection = 0, None
        self.cursors, self._open = {}, []
        self._pages.clear()
        self._dirty_pages.clear()
        self._changed()
        self.flush()

    def _stored(self) -> Plain:
        return {
            "entries": [dict(plain) for plain in self._open],
            "entry_count": self.last_id,
            "last_reflection": self.last_reflection,
            "consolidated_entry_ids": [p["id"] for p in self._open if p.get("consolidated")],
            "cursors": dict(self.cursors),
        }

    def _seal(self) -> None:
        number = self._sealed_pages - 1
        self._pages[number] = self._open
        self._open = []
        self._dirty_pages.add(number)

    def _mark(self, number: int) -> None:
        if number < self._sealed_pages:
            self._dirty_pages.add(number)
        self._changed()

    def _changed(self) -> None:
        self._dirty = True
        self._on_change()

    # --- reading ----------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of entries ever written, those removed since included."""
        return self.last_id

    def get(self, entry_id: int) -> Entry | None:
        """One entry, in O(1) pages."""
        _number, page = self._locate(entry_id)
        for plain in page:
            if plain["id"] == entry_id:
                return Entry.from_dict(plain)
        return None

    def read(self, first: int = 1, last: int | None = None) -> Iterator[Entry]:
        """The entries with ids from `first` to `last` (both included), oldest first."""
        last = self.last_id if last is None else min(last, self.last_id)
        first = max(first, 1)
        for number in range((first - 1) // PAGE_SIZE, (last - 1) // PAGE_SIZE + 1):
            for plain in list(self._page(number)):
                if first <= plain["id"] <= last:
                    yield Entry.from_dict(plain)

    def tail(self, count: int) -> list[Entry]:
        """The newest `count` entries, oldest first."""
        return list(self.read(self.last_id - count + 1))

    def _locate(self, entry_id: int) -> tuple[int, list[Plain]]:
        if not 1 <= entry_id <= self.last_id:
            return -1, []
        number = (entry_id - 1) // PAGE_SIZE
        return number, self._page(number)

    def _page(self, number: int) -> list[Plain]:
        if number >= self._sealed_pages:
            return self._open
        if number not in self._pages:
            self._pages[number] = attributes.read_json(self._owner, _page_key(number)) or []
        self._pages.move_to_end(number)
        while len(self._pages) > PAGES_IN_MEMORY:
            oldest = next(iter(self._pages))
            if oldest in self._dirty_pages:
                break  # not on disk yet: the next flush frees it
            del self._pages[oldest]
        return self._pages[number]


def _page_key(number: int | str) -> str:
    return f"journal_page_{number}"
