"""The journal: everything perceived, in order, at a price that does not grow with its length.

`character.db.journal` holds the open page (at most 32 entries) and the cursors of the background
work; full pages are sealed as JSON in Attributes of their own, found from an entry's id alone
(docs/adr/002). The copy of the open page in memory is the authority while the server runs. Reactor
thread only.

An entry that was taken out leaves its id behind. What is neither there nor was taken out is
missing: a page that cannot be read whole gives what it has, its text is kept aside before the page
is written, and `admin.doctor` rebuilds it from the store (docs/adr/017).
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from itertools import islice
from typing import Any

from django.db import DatabaseError, transaction

from ..conf import PAGE_SIZE
from ..log import logger
from ..records import Entry
from . import attributes, validation

ATTRIBUTE = "journal"
PAGES_IN_MEMORY = 16
ASIDE = "_damaged_"  # + number: behind the key of a page, its text that could not be read
HEARD = "heard:"  # + mind: the cursor at the first words of another NPC
_BEGINS = '[{"id":'  # the text of a page that was written here
_REMOVED = "removed"  # in place of an entry that was taken out

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
        self.damage: dict[int, str] = {}  # number of a page → why it cannot be read whole
        self.last_id = 0
        # how many of these ids are no more; None where that has to be counted
        self.removed: int | None = 0
        self.last_reflection: str | None = None
        self.cursors: dict[str, Any] = {}
        self._open: list[Plain] = []
        self._pages: OrderedDict[int, list[Plain]] = OrderedDict()
        self._dirty_pages: set[int] = set()
        self._dirty = False
        self._aside: dict[int, str] = {}  # damaged text that is to be kept at the next write
        self._load(attributes.read(owner, ATTRIBUTE))

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
                if plain["id"] == entry_id and not _is_removed(plain):
                    page[index] = Entry.from_dict({**plain, **fields}).to_dict()
                    self._mark(number)

    def remove(self, entry_ids: Iterable[int]) -> int:
        """Take entries out; the ids of the others stay. Returns how many were there."""
        removed = 0
        for entry_id in entry_ids:
            number, page = self._locate(entry_id)
            for index, plain in enumerate(page):
                if plain["id"] == entry_id and not _is_removed(plain):
                    removed += 1
                    page[index] = {"id": entry_id, _REMOVED: True}
                    self._mark(number)
        self._count_removed(removed)
        return removed

    def begin_again(self, last_id: int, last_reflection: str | None, cursors: Plain) -> None:
        """Be empty, with so many entries behind it: `put_back` puts them into their places."""
        self.clear()
        self.last_id, self.last_reflection = last_id, last_reflection
        self.removed = last_id
        self.cursors = dict(cursors)
        self._changed()

    def put_back(self, entries: Iterable[Entry]) -> None:
        """Put entries into the places of their ids, whether they were taken out or changed."""
        for entry in entries:
            number, page = self._locate(entry.id)
            if number >= 0:
                others = [plain for plain in page if plain["id"] != entry.id]
                self._count_removed(-(self.get(entry.id) is None))
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

    def note_heard(self, utterance: str, entry_id: int) -> None:
        """Note from which entry on words of another NPC are in here (`Entry.utterance`)."""
        name = HEARD + utterance.partition(":")[0]
        if name not in self.cursors:
            self.set_cursor(name, entry_id)

    def heard_from(self, agent_id: str) -> int | None:
        """The first entry with words of another NPC's mind; None where there are none."""
        return self.cursors.get(HEARD + agent_id)

    def flush(self) -> None:
        """Write what changed, pages and open page in one transaction: both or neither."""
        if not self._dirty:
            return
        try:
            with transaction.atomic() if self._dirty_pages or self._aside else nullcontext():
                self._keep_aside()
                for number in sorted(self._dirty_pages):
                    attributes.write_json(self._owner, _page_key(number), self._page(number))
                attributes.write(self._owner, ATTRIBUTE, self._stored())
        except DatabaseError:  # as on a full disk: all of it is written at the next try
            pages = [(_page_key(number), attributes.CATEGORY) for number in self._dirty_pages]
            attributes.forget_rolled_back(self._owner, [*pages, (ATTRIBUTE, None)])
            raise
        self._dirty_pages.clear()
        self._dirty = False

    def written_over(self) -> None:
        """What is in memory is not what lies in the database: the next flush writes it."""
        self._dirty_pages.update(self._pages)
        self._changed()

    def clear(self) -> None:
        """Forget every entry and start again at id 1."""
        while attributes.remove_some(self._owner, attributes.CATEGORY, 64, _page_key("")):
            pass
        self.last_id, self.last_reflection = 0, None
        self.removed = 0
        self.cursors, self._open = {}, []
        self._pages.clear()
        self._dirty_pages.clear()
        self.damage.clear()
        self._aside.clear()
        self._changed()
        self.flush()

    def _stored(self) -> Plain:
        return {
            "entries": [dict(plain) for plain in self._open],
            "entry_count": self.last_id,
            "removed": self.removed,
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

    def set_removed(self, count: int) -> None:
        """Note how many of its ids are no more, where that was not known."""
        self.removed = count
        self._changed()

    def _count_removed(self, change: int) -> None:
        if self.removed is not None:
            self.removed += change

    # --- reading ----------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of entries ever written, those removed since included."""
        return self.last_id

    @property
    def count(self) -> int:
        """The number of entries that are there."""
        return self.last_id - (self.removed or 0)

    def get(self, entry_id: int) -> Entry | None:
        """One entry, in O(1) pages."""
        _number, page = self._locate(entry_id)
        for plain in page:
            if plain["id"] == entry_id and not _is_removed(plain):
                return Entry.from_dict(plain)
        return None

    def holds(self, entry: Entry) -> bool:
        """Whether an entry that was read still says what it said, to those who heard it."""
        _number, page = self._locate(entry.id)
        for plain in page:
            if plain["id"] == entry.id and not _is_removed(plain):
                said = plain["content"], plain.get("private", False), plain.get("witnesses", ())
                return said[:2] == (entry.content, entry.private) and (
                    tuple(said[2]) == entry.witnesses
                )
        return False

    def was_removed(self, entry_id: int) -> bool:
        """Whether an entry was there and was taken out on purpose."""
        _number, page = self._locate(entry_id)
        return any(plain["id"] == entry_id and _is_removed(plain) for plain in page)

    def read(self, first: int = 1, last: int | None = None) -> Iterator[Entry]:
        """The entries with ids from `first` to `last` (both included), oldest first."""
        last = self.last_id if last is None else min(last, self.last_id)
        first = max(first, 1)
        for number in range((first - 1) // PAGE_SIZE, (last - 1) // PAGE_SIZE + 1):
            for plain in list(self._page(number)):
                if first <= plain["id"] <= last and not _is_removed(plain):
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
            self._pages[number] = self._read_page(number)
        self._pages.move_to_end(number)
        while len(self._pages) > PAGES_IN_MEMORY:
            oldest = next(iter(self._pages))
            if oldest in self._dirty_pages:
                break  # not on disk yet: the next flush frees it
            del self._pages[oldest]
        return self._pages[number]

    # --- what was damaged -------------------------------------------------------------------

    def damaged(self) -> list[int]:
        """The numbers of the pages that cannot be read whole, as far as that shows at a glance:
        what looks sound is not read for it."""
        strange = self._rows.exclude(db_strvalue__startswith=_BEGINS, db_strvalue__endswith="}]")
        found = strange | self._rows.filter(db_strvalue=None)
        for key in found.values_list("db_key", flat=True):
            number = _number_of(key)
            if number is not None and number < self._sealed_pages:
                self._page(number)
        return sorted({*self.damage, *self._waiting_aside()})

    def vacant(self, limit: int) -> list[int]:
        """The numbers of up to `limit` pages with nothing in them, not even what was taken out.

        An import leaves such pages where entries had been forgotten; but so does a lost row.
        """
        there = set(self._rows.exclude(db_strvalue="[]").values_list("db_key", flat=True))
        found = (each for each in range(self._sealed_pages) if _page_key(each) not in there)
        return list(islice(found, limit))

    def grow(self, last_id: int) -> None:
        """Let the journal end at an id; `put_back` fills the places between."""
        before = self._sealed_pages
        self._count_removed(max(0, last_id - self.last_id))
        self.last_id = max(self.last_id, last_id)
        if self._sealed_pages > before:
            self._pages[before], self._open = self._open, []
            self._dirty_pages.add(before)
        self._changed()

    def settle(self, number: int) -> None:
        """Take a page as it is now for whole; its damaged text stays aside."""
        self._mark(number)
        self.flush()
        self.damage.pop(number, None)
        for key in self._keys_aside(number):
            kept = attributes.read_json(self._owner, key)
            attributes.write_json(self._owner, key, kept | {"mended": True})

    def drop_damaged(self) -> None:
        """Drop the text that could not be read: nobody can say whose words are in it."""
        for number in self.damaged():
            self._mark(number)
        self._aside.clear()
        self.flush()
        for key in self._keys_aside():
            attributes.remove_json(self._owner, key)

    @property
    def _rows(self) -> Any:
        category, prefix = attributes.CATEGORY, _page_key("")
        return self._owner.db_attributes.filter(db_category=category, db_key__startswith=prefix)

    def _load(self, stored: Any) -> None:
        """Take over the open page and the cursors, or what is left of them."""
        whole = stored if isinstance(stored, dict) else {}
        when, cursors = whole.get("last_reflection"), whole.get("cursors")
        self.last_reflection = when if isinstance(when, str) else None
        if isinstance(cursors, dict):
            self.cursors = {name: value for name, value in cursors.items() if type(value) is int}
        count, entries = whole.get("entry_count"), whole.get("entries", [])
        if problem := self._is_lost(stored, count, entries):
            self._begin_behind(stored, entries, problem)
            return
        self.last_id = count or 0
        removed = whole.get("removed", None if self.last_id else 0)
        self.removed = removed if type(removed) is int else None
        self._open, wrong = _readable(entries, self._sealed_pages)
        if wrong:
            self._note_damage(self._sealed_pages, wrong, repr(stored))

    def _is_lost(self, stored: Any, count: Any, entries: Any) -> str:
        """Why it is not known which ids were given already; "" where it is."""
        if stored is None:
            return "its open page is missing" if self._rows.exists() else ""
        if not isinstance(stored, dict):
            return "its open page is no dict"
        if type(count) is not int or count < 0:
            return "its open page does not count the entries"
        if attributes.read_text(self._owner, _page_key(count // PAGE_SIZE)) is not None:
            return "its open page is older than the others"
        kept, _wrong = _readable(entries, count // PAGE_SIZE)
        return (
            "its open page has entries behind its end"
            if kept[-1:] and (kept[-1]["id"] > count)
            else ""
        )

    def _begin_behind(self, stored: Any, entries: Any, problem: str) -> None:
        """Go on a page behind the last that is known: no id is given twice."""
        numbers = [_number_of(key) for key in self._rows.values_list("db_key", flat=True)]
        lost = max((number for number in numbers if number is not None), default=-1) + 1
        self.last_id = (lost + 1) * PAGE_SIZE
        self._pages[lost], _wrong = _readable(entries, lost)
        self._note_damage(lost, problem, repr(stored))
        self._mark(lost)

    def _read_page(self, number: int) -> list[Plain]:
        text = attributes.read_text(self._owner, _page_key(number))
        if text is None:
            return []
        found, problem = _parsed(text)
        kept, wrong = _readable(found, number)
        if problem or wrong:
            self._note_damage(number, problem or wrong, text)
        return kept

    def _note_damage(self, number: int, problem: str, text: str) -> None:
        self._aside.setdefault(number, text)
        self.removed = None
        if number not in self.damage:
            self.damage[number] = problem
            logger().error(
                "#%s: %s of its journal cannot be read whole: %s. It goes on with what it has. "
                "With the server down, `evennia ai_memory doctor --mend` rebuilds what the store "
                "holds.",
                self._owner.id,
                span_of(number),
                problem,
            )

    def _keep_aside(self) -> None:
        """Keep the text of damaged pages that are about to be written."""
        for number in sorted(self._aside):
            if number in self._dirty_pages or number >= self._sealed_pages:
                text = self._aside.pop(number)
                key = f"{_page_key(number)}{ASIDE}{len(self._keys_aside(number)) + 1}"
                attributes.write_json(self._owner, key, {"text": text, "mended": False})

    def _keys_aside(self, number: int | str = "") -> list[str]:
        keys = attributes.keys_of(self._owner, _page_key(number))
        return [key for key in keys if _is_aside(key, number)]

    def _waiting_aside(self) -> set[int]:
        """The pages whose damaged text is aside, and that nobody has mended."""
        return {
            int(key.removeprefix(_page_key("")).partition(ASIDE)[0])
            for key in self._keys_aside()
            if not attributes.read_json(self._owner, key)["mended"]
        }


def span_of(number: int) -> str:
    """The entries of a page, in words."""
    return f"the page of entries {number * PAGE_SIZE + 1} to {(number + 1) * PAGE_SIZE}"


def _is_removed(plain: Plain) -> bool:
    return _REMOVED in plain


def _parsed(text: str) -> tuple[list[Any], str]:
    """The entries that a page's text holds, and why these are not all."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return _salvaged(text), "it is no JSON" if text else "it is empty"
    return (found, "") if isinstance(found, list) else ([], "it is no list of entries")


def _salvaged(text: str) -> list[Any]:
    """The entries before the place where a page's text breaks off."""
    found: list[Any] = []
    decoder, place = json.JSONDecoder(), 1
    while text.startswith("[") and place < len(text):
        try:
            entry, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            break
        found.append(entry)
        place += 1  # the comma
    return found


def _readable(found: Any, number: int) -> tuple[list[Plain], str]:
    """Those of these entries that are whole and belong on a page, and what is wrong elsewhere."""
    if not isinstance(found, list):
        return [], "it is no list of entries"
    kept: dict[int, Plain] = {}
    problem = ""
    for plain in found:
        try:
            entry_id = _checked_id(plain)
        except validation.Invalid as wrong:
            problem = problem or str(wrong)
            continue
        if (entry_id - 1) // PAGE_SIZE == number:
            kept.setdefault(entry_id, plain)
        else:
            problem = problem or f"entry {entry_id} does not belong there"
    return [kept[entry_id] for entry_id in sorted(kept)], problem


def _checked_id(plain: Any) -> int:
    if isinstance(plain, dict) and _is_removed(plain) and type(plain.get("id")) is int:
        return plain["id"]
    return validation.entry_of(plain).id


def _page_key(number: int | str) -> str:
    return f"journal_page_{number}"


def _number_of(key: str) -> int | None:
    """The number of the page that lies under a key; None of what is no page."""
    number = key.removeprefix(_page_key(""))
    return int(number) if number.isdecimal() else None


def _is_aside(key: str, number: int | str) -> bool:
    page, mark, _count = key.removeprefix(_page_key("")).partition(ASIDE)
    return bool(mark) and page.isdecimal() and str(number) in ("", page)
