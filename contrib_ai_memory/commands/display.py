"""How memories look on a screen of 78 columns: stored text made harmless, wrapped, shortened."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from evennia.utils.ansi import strip_ansi
from evennia.utils.evtable import EvTable

from ..admin import edit, ids
from ..records import Entry, MemoryRecord
from ..text.sanitising import as_shown, oneline, visible

WIDTH = 78
IN_LISTS = 300  # characters of one memory
WHOLE = 4000  # of one that is shown alone
BAR_WIDTH = 20  # of a share of 1

_LINK = re.compile(r"\|\|(?=l[cu])")  # of MXP: in a client that knows it, a click runs a command


def safe(text: Any) -> str:
    """Stored text for a screen: its markup shown, not carried out; nothing hidden in it."""
    shown = as_shown(visible(str(text)))
    shown = _LINK.sub("|||n", shown)  # a link is looked for after the strokes are single again
    if settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED:
        shown = shown.replace("$", "$$")
    return shown


def shortened(text: str, limit: int = IN_LISTS) -> str:
    """At most so much of a text, with its length where that is more. Not escaped yet."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()}… ({len(text):,} characters)"


def brief(text: str, limit: int = 24) -> str:
    """A name or a label of so many characters at most, escaped."""
    plain = oneline(visible(str(text)))
    return safe(plain if len(plain) <= limit else plain[: limit - 1] + "…")


def hanging(head: str, text: str, *, indent: int = 6, limit: int = IN_LISTS) -> str:
    """`head` (markup), and behind it stored text on as many lines as it needs."""
    plain = shortened(oneline(visible(text)), limit)
    return _wrapped(head, plain, indent)


def prose(text: str, *, indent: int = 2, limit: int = WHOLE) -> str:
    """Stored text with its own line breaks."""
    lines = shortened(visible(text), limit).split("\n")
    return "\n".join(_wrapped(" " * indent, line, indent) for line in lines)


def _wrapped(head: str, plain: str, indent: int) -> str:
    width = len(strip_ansi(head))
    lines = textwrap.wrap(
        plain, WIDTH, initial_indent=" " * width, subsequent_indent=" " * indent
    ) or [" " * width]
    first, *rest = lines
    return "\n".join([head + safe(first[width:]), *map(safe, rest)])


def dim(text: str, *, indent: int = 6) -> str:
    """A line of details in grey, wrapped."""
    lines = textwrap.wrap(
        oneline(visible(text)), WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent
    )
    return "\n".join(f"|x{safe(line)}|n" for line in lines)


def heading(text: str, beside: str = "") -> str:
    """The first line of a screen, or of a part of it."""
    return f"|w{safe(text)}|n" + (f" ({safe(beside)})" if beside else "")


def sentence(text: str) -> str:
    """Markup for a builder, wrapped; what is stored is escaped in it already."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]], right: Iterable[int] = ()) -> str:
    """Rows of stored text as a table; the columns of `right` are numbers."""
    made = EvTable(
        *(f"|w{header}|n" for header in headers),
        border="header",
        maxwidth=WIDTH,
        pad_left=0,
        pad_right=1,
    )
    for row in rows:
        made.add_row(*(safe(oneline(visible(str(cell)))) for cell in row))
    for column in right:
        made.reformat_column(column, align="r")
    # EvTable has carried out the markup by now: what strokes are left are to be seen
    lines = [line.rstrip() for line in as_shown(str(made)).split("\n")]
    return "\n".join(lines)


def bar(share: float, width: int = BAR_WIDTH) -> str:
    """A share of 1 as a bar."""
    return f"|g{'=' * max(int(share > 0), round(share * width))}|n"


def when(iso: str) -> str:
    """A timestamp to the minute."""
    return iso[:16].replace("T", " ") or "never"


def to_resume(npc: Any) -> str:
    """The command that lets a paused NPC hear and sleep again."""
    return f"@memory/resume {'all' if edit.paused(npc) == 'all' else safe(npc.key)}"


# --- memories -------------------------------------------------------------------------------------


def entry_line(entry: Entry) -> str:
    """One journal entry: number, time, kind, importance, and what was said."""
    mark = "|r*|n" if entry.private else " "
    kept = "|c!|n" if "pinned" in entry.tags else " "
    who = f"{entry.seen_as}: " if entry.seen_as and entry.kind in ("say", "whisper") else ""
    at, weight = when(entry.timestamp), f"{entry.importance:>2}"
    head = f"{entry.id:>5} |x{at}|n{mark}{entry.kind:<7} {weight}{kept}"
    return hanging(head, who + entry.content)


def memory_line(memory: MemoryRecord) -> str:
    """One memory of the store: short id, what it says, how important, and what it rests on."""
    mark = "|r*|n" if memory.private else " "
    kept = "|c!|n" if "pinned" in memory.tags else " "
    head = f"|y{ids.short(memory):<8}|n{mark}{kept}"
    evidence = ", ".join(map(str, memory.journal_ids[:8]))
    more = " …" if len(memory.journal_ids) > 8 else ""
    details = f"{round(memory.importance * 10)} of 10"
    if evidence and ids.short(memory) != evidence:
        details += f"; from {evidence}{more}"
    if memory.superseded_by:
        details += f"; ended by {memory.superseded_by[:8]}"
    elif memory.invalid_at:
        details += f"; ended {when(memory.invalid_at)}"
    return f"{hanging(head, memory.content, indent=10)}\n{dim(details, indent=10)}"


def memory_in_brief(memory: MemoryRecord, beside: str = "", indent: int = 2) -> str:
    """One memory on a line of a longer list: id, kind, and what it says."""
    mark = "|r*|n" if memory.private else " "
    head = f"{' ' * indent}|y{ids.short(memory):<8}|n{mark}{memory.record:<10} {safe(beside)}"
    return hanging(head, memory.content, indent=indent + 10, limit=200)
