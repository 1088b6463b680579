"""The journal: everything an NPC perceived, in order, at a write cost independent of its length.

The Attribute `journal` holds the open page (at most 32 entries) and the cursors of the background
work; full pages are sealed in Attributes of their own, found from an entry's id alone
(docs/adr/002). All are JSON text, which commands on Attributes do not show (`attributes.TEXTS`).
The copy of the open page in memory is the authority while the server runs. Reactor thread only.

A removed entry leaves its id behind. An id with neither entry nor removal mark is missing: of a
damaged page the readable entries are used, its text is kept aside before the page is written, and
`admin.doctor` rebuilds the rest from the store (docs/adr/017).
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import DatabaseError, transaction
from pydantic import ValidationError
from pydantic_core import to_json

from ..conf import PAGE_SIZE
from ..log import logger
from ..records import Entry
from . import attributes

ATTRIBUTE = "journal"
PAGES_IN_MEMORY = 16
ASIDE = "_damaged_"  # + number: after the key of a page, its unreadable text
_ASIDE_KEY = re.compile(rf"journal_page_(\d+){ASIDE}\d+")
HEARD = "heard:"  # + agent id: the cursor at the first words of another NPC
NO_JOURNAL_ID = ("links_checked",)  # cursors that count something else than entries
_PAGE_START = '[{"id":'  # of the text of a sealed page
_REMOVED = "removed"  # marks the place of a removed entry

Plain = dict[str, Any]


def beyond_end(cursors: Mapping[str, int], last_id: int) -> dict[str, int]:
    """Return the cursors that lie beyond the end of a journal."""
    return {
        name: value
        for name, value in cursors.items()
        if value > last_id and name not in NO_JOURNAL_ID
    }


class Journal:
    """One NPC's journal as a sequence of entries with ids 1, 2, 3 …."""

    def __init__(self, npc: Any, on_change: Callable[[], None] = lambda: None):
        self._npc = npc
        self._on_change = on_change  # called after each change, to schedule a `flush`
        self.damage: dict[int, str] = {}  # number of a page → why it cannot be read completely
        self.last_id = 0
        self.removed: int | None = 0  # ids without an entry; None if that has to be counted
        self.last_reflection: str | None = None
        self.cursors: dict[str, Any] = {}  # how far each pass has come, by its name
        self._open: list[Plain] = []
        self._pages: OrderedDict[int, list[Plain]] = OrderedDict()
        self._dirty_pages: set[int] = set()
        self._dirty = False
        self._aside: dict[int, str] = {}  # damaged text to be kept at the next write
        self._load(attributes.read(npc, ATTRIBUTE))
        self._written_id = self.last_id

    # --- reading ----------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.last_id

    @property
    def count(self) -> int:
        return self.last_id - (self.removed or 0)

    @property
    def changed(self) -> bool:
        """Whether something is not in the game's database yet."""
        return self._dirty

    @property
    def unwritten(self) -> int:
        """How many new entries are not in the game's database yet."""
        return max(0, self.last_id - self._written_id)

    def get(self, entry_id: int) -> Entry | None:
        plain = self._present(entry_id)
        return Entry.from_dict(plain) if plain else None

    def holds(self, entry: Entry) -> bool:
        """Return whether an entry that was read still has its words, privacy and witnesses."""
        now = self._present(entry.id)
        if now is None:
            return False
        kept = now["content"], now.get("private", False), tuple(now.get("witnesses", ()))
        return kept == (entry.content, entry.private, entry.witnesses)

    def was_removed(self, entry_id: int) -> bool:
        """Return whether an entry existed and was removed on purpose."""
        return self._find(entry_id) is not None and self._present(entry_id) is None

    def read(self, first: int = 1, last: int | None = None) -> Iterator[Entry]:
        """Yield the entries from `first` to `last` (both included), oldest first."""
        last = self.last_id if last is None else min(last, self.last_id)
        first = max(first, 1)
        for number in range((first - 1) // PAGE_SIZE, (last - 1) // PAGE_SIZE + 1):
            for plain in list(self._page(number)):
                if first <= plain["id"] <= last and _REMOVED not in plain:
                    yield Entry.from_dict(plain)

    def tail(self, count: int) -> list[Entry]:
        return list(self.read(self.last_id - count + 1))

    # --- writing ----------------------------------------------------------------------------

    def append(self, make: Callable[[int], Entry]) -> Entry:
        """Append the entry that `make` builds from the next id."""
        entry = make(self.last_id + 1)
        self.last_id = entry.id
        self._open.append(entry.to_dict())
        if self.last_id % PAGE_SIZE == 0:
            self._seal(self._sealed_pages - 1)
        self._changed()
        return entry

    def update(self, changes: Mapping[int, Mapping[str, Any]]) -> None:
        """Change fields of entries: {id: {field: value}}. Unknown ids are ignored."""
        for entry_id, changed in changes.items():
            if plain := self._present(entry_id):
                self._replace(Entry.from_dict({**plain, **changed}).to_dict())

    def remove(self, entry_ids: Iterable[int]) -> int:
        """Remove entries; the others keep their ids. Returns how many existed."""
        removed = 0
        for entry_id in entry_ids:
            if self._present(entry_id):
                self._replace({"id": entry_id, _REMOVED: True})
                removed += 1
        self._count_removed(removed)
        return removed

    def restore(self, entries: Iterable[Entry]) -> None:
        """Put entries back in place of removed, missing or changed ones with their ids."""
        for entry in entries:
            if 1 <= entry.id <= self.last_id:
                self._count_removed(-(self._present(entry.id) is None))
                self._replace(entry.to_dict())

    def reset(self, last_id: int, last_reflection: str | None, cursors: Plain) -> None:
        """Clear it, but let it end at `last_id`; `restore` fills the places before."""
        self.clear()
        self.last_id = self.removed = last_id
        self.last_reflection, self.cursors = last_reflection, dict(cursors)
        self._changed()

    def extend_to(self, last_id: int) -> None:
        """Let the journal end at `last_id` or later; `restore` fills the places between."""
        before = self._sealed_pages
        self._count_removed(max(0, last_id - self.last_id))
        self.last_id = max(self.last_id, last_id)
        if self._sealed_pages > before:
            self._seal(before)
        self._changed()

    def set_cursor(self, name: str, value: Any) -> None:
        """Record how far a pass has come; written to disk together with the entries."""
        if self.cursors.get(name) != value:
            self.cursors[name] = value
            self._changed()

    def advance_cursor(self, name: str, value: int) -> None:
        """Move a cursor forward; never back, even if another pass has overtaken this one."""
        self.set_cursor(name, max(self.cursors.get(name, 0), value))

    def note_heard(self, utterance: str, entry_id: int) -> None:
        """Record the first entry with words of another NPC (`Entry.utterance`)."""
        name = HEARD + utterance.partition(":")[0]
        if name not in self.cursors:
            self.set_cursor(name, entry_id)

    def heard_from(self, agent_id: str) -> int | None:
        """Return the id of the first entry with words of another NPC; None if there is none."""
        return self.cursors.get(HEARD + agent_id)

    def set_removed(self, count: int) -> None:
        self.removed = count
        self._changed()

    def mark_dirty(self) -> None:
        """Make the next flush write everything, as the database holds another NPC's data."""
        self._dirty_pages.update(self._pages)
        self._changed()

    def flush(self) -> None:
        """Write what changed, pages and open page in one transaction: both or neither."""
        if not self._dirty:
            return
        try:
            with transaction.atomic() if self._dirty_pages or self._aside else nullcontext():
                kept_aside = self._keep_aside()
                for number in sorted(self._dirty_pages):
                    attributes.write_json(self._npc, _page_key(number), self._page(number))
                attributes.write(self._npc, ATTRIBUTE, self._stored())
        except DatabaseError:  # as on a full disk: all of it is written at the next try
            attributes.reload_after_rollback(self._npc)
            raise
        for number in kept_aside:
            del self._aside[number]
        self._dirty_pages.clear()
        self._dirty = False
        self._written_id = self.last_id

    def clear(self, until: int | None = None) -> None:
        """Delete every entry, or those up to `until`, and start again at id 1 if none is left."""
        last_id = self.last_id
        later = [] if until is None else list(self.read(until + 1))
        with transaction.atomic() if later else nullcontext():
            for key in attributes.keys_of(self._npc, _page_key("")):
                attributes.remove_json(self._npc, key)
            self.last_id = self.removed = last_id if later else 0
            self.last_reflection, self.cursors, self._open = None, {}, []
            for kept in (self._pages, self._dirty_pages, self.damage, self._aside):
                kept.clear()
            self.restore(later)
            for entry in later:
                if entry.utterance:
                    self.note_heard(entry.utterance, entry.id)
            self._changed()
            self.flush()

    def page_keys_behind(self, entry_id: int) -> list[str]:
        return [_page_key(n) for n in range(entry_id // PAGE_SIZE, self._sealed_pages)]

    # --- pages ------------------------------------------------------------------------------

    @property
    def _sealed_pages(self) -> int:
        return self.last_id // PAGE_SIZE

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

    def _find(self, entry_id: int) -> Plain | None:
        if not 1 <= entry_id <= self.last_id:
            return None
        page = self._page((entry_id - 1) // PAGE_SIZE)
        return next((plain for plain in page if plain["id"] == entry_id), None)

    def _present(self, entry_id: int) -> Plain | None:
        plain = self._find(entry_id)
        return None if plain is None or _REMOVED in plain else plain

    def _replace(self, plain: Plain) -> None:
        number = (plain["id"] - 1) // PAGE_SIZE
        page = self._page(number)
        others = [each for each in page if each["id"] != plain["id"]]
        page[:] = sorted([*others, plain], key=lambda each: each["id"])
        self._mark(number)

    def _seal(self, number: int) -> None:
        self._pages[number], self._open = self._open, []
        self._dirty_pages.add(number)

    def _mark(self, number: int) -> None:
        if number < self._sealed_pages:
            self._dirty_pages.add(number)
        self._changed()

    def _changed(self) -> None:
        self._dirty = True
        self._on_change()

    def _count_removed(self, change: int) -> None:
        if self.removed is not None:
            self.removed += change

    def _stored(self) -> Plain:
        return {
            "entries": self._open,
            "entry_count": self.last_id,
            "removed": self.removed,
            "last_reflection": self.last_reflection,
            "consolidated_entry_ids": [p["id"] for p in self._open if p.get("consolidated")],
            "cursors": self.cursors,
        }

    # --- damage -----------------------------------------------------------------------------

    def damaged_pages(self) -> list[int]:
        """Return the numbers of pages that cannot be read completely, by start and end of text."""
        strange = self._rows.exclude(
            db_strvalue__startswith=_PAGE_START, db_strvalue__endswith="}]"
        )
        found = strange | self._rows.filter(db_strvalue=None)
        for key in found.values_list("db_key", flat=True):
            number = _number_of(key)
            if number is not None and number < self._sealed_pages:
                self._page(number)
        unmended = {
            number
            for key, number in self._keys_aside().items()
            if not attributes.read_json(self._npc, key)["mended"]
        }
        return sorted({*self.damage, *unmended})

    def empty_pages(self, limit: int) -> list[int]:
        """Return up to `limit` pages without entry or removal mark, as an import or a lost row
        leaves them."""
        present = set(self._rows.exclude(db_strvalue="[]").values_list("db_key", flat=True))
        found = (each for each in range(self._sealed_pages) if _page_key(each) not in present)
        return list(islice(found, limit))

    def mark_mended(self, number: int) -> None:
        """Accept a page as it is now as complete; its damaged text stays aside."""
        self._mark(number)
        self.flush()
        self.damage.pop(number, None)
        for key in self._keys_aside(number):
            kept = attributes.read_json(self._npc, key)
            attributes.write_json(self._npc, key, kept | {"mended": True})

    def drop_damaged(self) -> None:
        """Delete all unreadable text: nobody can say whose words are in it."""
        for number in self.damaged_pages():
            self._mark(number)
        self._aside.clear()
        self.flush()
        for key in self._keys_aside():
            attributes.remove_json(self._npc, key)

    @property
    def _rows(self) -> Any:
        category, prefix = attributes.CATEGORY, _page_key("")
        return self._npc.db_attributes.filter(db_category=category, db_key__startswith=prefix)

    def _load(self, stored: Any) -> None:
        """Take over the open page and the cursors, or whatever is left of them."""
        usable = stored if isinstance(stored, dict) else {}
        when, cursors = usable.get("last_reflection"), usable.get("cursors")
        self.last_reflection = when if isinstance(when, str) else None
        if isinstance(cursors, dict):
            self.cursors = {name: value for name, value in cursors.items() if type(value) is int}
        if stored is None and not self._rows.exists():
            return
        count: Any = usable.get("entry_count")
        entries = usable.get("entries", [])
        number = count // PAGE_SIZE if type(count) is int and count >= 0 else -1
        kept, wrong = _readable(entries, number)
        sealed = number < 0 or attributes.read_text(self._npc, _page_key(number)) is not None
        if sealed or (kept and kept[-1]["id"] > count):
            self._start_behind(stored, entries)
            return
        self.last_id, self._open = count, kept
        removed = usable.get("removed", None if count else 0)
        self.removed = removed if type(removed) is int else None
        if wrong:
            self._note_damage(number, wrong, repr(stored))

    def _start_behind(self, stored: Any, entries: Any) -> None:
        """Continue one page after the last known one, so that no id is given twice."""
        numbers = [_number_of(key) for key in self._rows.values_list("db_key", flat=True)]
        lost = max((number for number in numbers if number is not None), default=-1) + 1
        self.last_id = (lost + 1) * PAGE_SIZE
        self._pages[lost], _wrong = _readable(entries, lost)
        self._note_damage(lost, "its open page is missing, damaged or too old", repr(stored))
        self._mark(lost)

    def _read_page(self, number: int) -> list[Plain]:
        text = attributes.read_text(self._npc, _page_key(number))
        if text is None:
            return []
        try:
            found, problem = json.loads(text), ""
        except (ValueError, RecursionError):
            found, problem = _salvaged(text), "it is not valid JSON" if text else "it is empty"
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
                "#%s: %s of its journal cannot be read completely: %s. The NPC continues with the "
                "readable entries. With the server down, `evennia ai_memory doctor --mend` "
                "rebuilds the others as far as the store holds them.",
                self._npc.id,
                page_name(number),
                problem,
            )

    def _keep_aside(self) -> list[int]:
        """Keep the text of damaged pages that are about to be overwritten; their numbers."""
        kept = []
        for number in sorted(self._aside):
            if number in self._dirty_pages or number >= self._sealed_pages:
                key = f"{_page_key(number)}{ASIDE}{len(self._keys_aside(number)) + 1}"
                text = self._aside[number]
                attributes.write_json(self._npc, key, {"text": text, "mended": False})
                kept.append(number)
        return kept

    def _keys_aside(self, number: int | str = "") -> dict[str, int]:
        """Return the keys of damaged text, each with its page's number."""
        keys = attributes.keys_of(self._npc, _page_key(number))
        found = {key: int(parts[1]) for key in keys if (parts := _ASIDE_KEY.fullmatch(key))}
        return {key: page for key, page in found.items() if number in ("", page)}


def page_name(number: int) -> str:
    return f"the page of entries {number * PAGE_SIZE + 1} to {(number + 1) * PAGE_SIZE}"


def _salvaged(text: str) -> list[Any]:
    """Return the entries before the place where a page's text breaks off."""
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
    if not isinstance(found, list):
        return [], "it is not a list of entries"
    kept: dict[int, Plain] = {}
    problem = ""
    for plain in found:
        try:
            entry_id = _checked_id(plain)
        except ValueError as wrong:
            problem = problem or str(wrong)
            continue
        if (entry_id - 1) // PAGE_SIZE == number:
            kept.setdefault(entry_id, plain)
        else:
            problem = problem or f"entry {entry_id} belongs to another page"
    return [kept[entry_id] for entry_id in sorted(kept)], problem


def _checked_id(plain: Any) -> int:
    """Return the id of an entry or a removal mark; a ValueError says what is wrong with it."""
    if isinstance(plain, dict) and _REMOVED in plain and type(plain.get("id")) is int:
        return plain["id"]
    text = to_json(plain, inf_nan_mode="null")
    try:
        entry = attributes.type_of(Entry).validate_json(text, strict=True)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, found['loc']))}: {found['msg']}") from None
    if entry.id < 1:
        raise ValueError(f"id: {entry.id} is not a valid entry id")
    if datetime.fromisoformat(entry.timestamp).tzinfo is None:  # not to be compared with others
        raise ValueError(f"timestamp: {entry.timestamp} has no time zone")
    return entry.id


def _page_key(number: int | str) -> str:
    return f"journal_page_{number}"


def _number_of(key: str) -> int | None:
    number = key.removeprefix(_page_key(""))
    return int(number) if number.isdecimal() else None


# --- sets of journal ids, as text -----------------------------------------------------------------

MOST_RANGES = 64


def ranges_of(ids: Iterable[int]) -> str:
    """Return journal ids as ranges, where one record has many: the talk in the prompt of an answer.

    Of more than `MOST_RANGES` the oldest become one, so that an erasure may follow too many ids,
    never too few.

    >>> ranges_of([4, 3, 12, 5])
    '3-5,12'
    """
    return _ranges((number, number) for number in ids)


def join_ranges(*ranges: str) -> str:
    """Return the union of some ranges.

    >>> join_ranges("3-5,12", "6,40")
    '3-6,12,40'
    """
    return _ranges(pair for each in ranges for pair in _pairs(each))


def ranges_include(ranges: str, ids: Collection[int]) -> bool:
    """Return whether the ranges include any of `ids` (a set)."""
    return any(
        any(number in ids for number in range(first, last + 1))
        if last - first < len(ids)
        else any(first <= number <= last for number in ids)
        for first, last in _pairs(ranges)
    )


def _pairs(ranges: str) -> Iterator[tuple[int, int]]:
    for each in filter(None, ranges.split(",")):
        first, _, last = each.partition("-")
        yield int(first), int(last or first)


def _ranges(pairs: Iterable[tuple[int, int]]) -> str:
    found: list[list[int]] = []
    for first, last in sorted(pairs):
        if found and first <= found[-1][1] + 1:
            found[-1][1] = max(found[-1][1], last)
        else:
            found.append([first, last])
    if len(found) > MOST_RANGES:
        found[: 1 - MOST_RANGES] = [[found[0][0], found[-MOST_RANGES][1]]]
    return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in found)
