"""The log of what staff changed: who, when, what, and the ids it was done to, never a text.

ServerConfig entries hold it, a page of records each; the newest 2,000 records stay. Looks are only
in the server's security log (`access`). Reactor thread.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from evennia.server.models import ServerConfig

from ..records import now_iso
from ..store.attributes import as_json

KEY = "ai_memory_audit_"  # + the number of the page
RECORDS_OF_PAGE = 50
PAGES_KEPT = 40


@dataclass(frozen=True, slots=True)
class Record:
    """One action of staff.

    Attributes:
        when: ISO 8601 UTC.
        who: Name of the account or character; "the server" for the command line.
        who_id: Its number; 0 for the server.
        action: A word for it: "edit", "forget".
        npc: Name of the NPC; "" for actions on all of them.
        npc_id: Its number; 0 for actions on all of them.
        ids: Short ids or memory identities it was done to.
    """

    when: str
    who: str
    who_id: int
    action: str
    npc: str = ""
    npc_id: int = 0
    ids: tuple[str, ...] = ()


def add(who: tuple[str, int], action: str, npc: tuple[str, int], ids: tuple[str, ...]) -> None:
    """Add a record of what was done just now.

    Args:
        who, npc: Name and number.
    """
    pages = _pages()
    page = pages[-1] if pages else 1
    records = _read(page)
    if len(records) >= RECORDS_OF_PAGE:
        page, records = page + 1, []
        pages.append(page)
    plain = asdict(Record(now_iso(), *who, action, *npc, ids))
    ServerConfig.objects.conf(_key(page), value=as_json([*records, plain]))
    for old in pages[:-PAGES_KEPT]:
        ServerConfig.objects.conf(_key(old), delete=True)


def records() -> list[Record]:
    """Return all records, newest first."""
    found = []
    for page in reversed(_pages()):
        for plain in reversed(_read(page)):
            found.append(Record(**plain | {"ids": tuple(plain["ids"])}))
    return found


def _pages() -> list[int]:
    keys = ServerConfig.objects.filter(db_key__startswith=KEY).values_list("db_key", flat=True)
    return sorted(int(key.removeprefix(KEY)) for key in keys)


def _read(page: int) -> list[dict[str, Any]]:
    text = ServerConfig.objects.conf(_key(page), default="")
    return json.loads(text) if text else []


def _key(page: int) -> str:
    return f"{KEY}{page}"
