"""The audit log: who changed what and when, with ids or names, never the text of a memory.

ServerConfig entries hold it, a page of records each; about the newest 2,000 are kept. Looks, and
what players do, are only in the server's security log. Reactor thread.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import Any

from evennia.server.models import ServerConfig
from evennia.utils import logger

from ..records import now_iso
from ..store.attributes import as_json
from ..text.sanitising import oneline, sanitise
from .access import may

KEY = "ai_memory_audit_"  # + the number of the page
RECORDS_OF_PAGE = 50
PAGES_KEPT = 40
IDS_LOGGED = 20
AGAIN_AFTER = 600.0  # seconds in which the same look is not logged again
LOOKS_KEPT = 4096

_looks: OrderedDict[tuple[str, str, int], float] = OrderedDict()  # when each was logged last


@dataclass(frozen=True, slots=True)
class Record:
    """One action of staff."""

    when: str  # ISO 8601 UTC
    who: str  # name of the account or character; "the server" for the command line
    who_id: int  # its number; 0 for the server
    action: str  # a word for it: "edit", "forget"
    npc: str = ""  # its name; "" for actions on all of them
    npc_id: int = 0  # its number; 0 for actions on all of them
    ids: tuple[str, ...] = ()  # short ids or memory identities it was done to


def records() -> list[Record]:
    """Return all records, newest first."""
    return [
        Record(**plain | {"ids": tuple(plain["ids"])})
        for page in reversed(_pages())
        for plain in reversed(_read(page))
    ]


def _pages() -> list[int]:
    keys = ServerConfig.objects.filter(db_key__startswith=KEY).values_list("db_key", flat=True)
    return sorted(int(key.removeprefix(KEY)) for key in keys)


def _read(page: int) -> list[dict[str, Any]]:
    return json.loads(ServerConfig.objects.conf(f"{KEY}{page}", default="[]"))


def record(who: Any, action: str, npc: Any, *ids: Any) -> None:
    """Write one line to the server's security log and, for staff, a record to the audit log. `who`
    is an Account, a Character, or None for the server itself; without an NPC, it is all of them."""
    told = tuple(oneline(sanitise(str(each), 80)) for each in ids[:IDS_LOGGED])
    if len(ids) > IDS_LOGGED:
        told += (f"and {len(ids) - IDS_LOGGED} more",)
    _log(who, action, npc, *told)
    if who is not None and not may(who, None, "look"):
        return  # players cannot fill it with requests of theirs
    whom: tuple[str, int] = (_name_of(who), who.id) if who else ("the server", 0)
    of_npc: tuple[str, int] = (_name_of(npc), npc.id) if npc else ("", 0)
    pages = _pages() or [1]
    kept = _read(pages[-1])
    if len(kept) >= RECORDS_OF_PAGE:
        kept = []
        pages.append(pages[-1] + 1)
    kept.append(asdict(Record(now_iso(), *whom, action, *of_npc, told)))
    ServerConfig.objects.conf(f"{KEY}{pages[-1]}", value=as_json(kept))
    for old in pages[:-PAGES_KEPT]:
        ServerConfig.objects.conf(f"{KEY}{old}", delete=True)


def _log(who: Any, action: str, npc: Any, *told: str) -> None:
    what = f": {', '.join(told)}" if told else ""
    logger.log_sec(f"AI memory: {_named(who)}: {action} {_named(npc, 'all NPCs')}{what}")


def record_look(who: Any, what: str, npc: Any) -> None:
    """Write one line for a look into a memory ("@memory/journal", "the page facts"), at most one in
    ten minutes for the same look."""
    look, now = (_named(who), what, npc.id), time.monotonic()
    last = _looks.get(look)
    if last is not None and now - last < AGAIN_AFTER:
        return
    _looks[look] = now
    _looks.move_to_end(look)
    if len(_looks) > LOOKS_KEPT:
        _looks.popitem(last=False)
    _log(who, f"look with {what} into the memory of", npc)


def _named(obj: Any, nobody: str = "the server") -> str:
    return nobody if obj is None else f"{_name_of(obj)} (#{obj.id})"


def _name_of(obj: Any) -> str:
    return oneline(sanitise(str(obj.key), 80))
