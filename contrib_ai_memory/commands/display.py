"""Formatting for a screen of 78 columns: stored text escaped, wrapped, shortened; tables."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings
from evennia.utils.ansi import strip_ansi
from evennia.utils.evtable import EvTable

from ..text.sanitising import as_shown, oneline, visible

WIDTH = 78
LIST_LIMIT = 300  # characters of a memory in a list
FULL_LIMIT = 4000  # characters of a memory shown alone

_MXP_LINK = re.compile(r"\|\|(?=l[cu])")  # in an MXP client a click on one runs a command


def safe(text: Any) -> str:
    """Escape stored text: markup in it is shown, not carried out, and nothing is invisible."""
    shown = as_shown(visible(str(text)))
    shown = _MXP_LINK.sub("|||n", shown)  # Evennia looks for links after it has unescaped `||`
    if settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED:
        shown = shown.replace("$", "$$")
    return shown


def shortened(text: str, limit: int = LIST_LIMIT) -> str:
    """Cut a text that is longer than `limit`, and add its length. Not escaped."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()}… ({len(text):,} characters)"


def label(text: Any, limit: int = 24) -> str:
    """A name of at most `limit` characters, escaped."""
    plain = oneline(visible(str(text)))
    return safe(plain if len(plain) <= limit else plain[: limit - 1] + "…")


def hanging(head: str, text: str, *, indent: int = 6, limit: int = LIST_LIMIT) -> str:
    """`head` (markup) followed by stored text, wrapped with a hanging indent."""
    return _hang(head, shortened(oneline(visible(text)), limit), indent)


def prose(text: str, *, indent: int = 2, limit: int = FULL_LIMIT) -> str:
    """Stored text with its own line breaks."""
    lines = shortened(visible(text), limit).split("\n")
    return "\n".join(_hang(" " * indent, line, indent) for line in lines)


def dim(text: str, *, indent: int = 6) -> str:
    """Details in grey, wrapped."""
    lines = textwrap.wrap(
        oneline(visible(text)), WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent
    )
    return "\n".join(f"|x{safe(line)}|n" for line in lines)


def heading(text: str, detail: str = "") -> str:
    """The first line of a screen or of a section."""
    return f"|w{safe(text)}|n" + (f" ({safe(detail)})" if detail else "")


def wrapped(text: str) -> str:
    """Wrap markup in which stored text is escaped already."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]], right: Iterable[int] = ()) -> str:
    """A table of stored text; the columns in `right` are aligned to the right."""
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
    # EvTable has parsed the markup; pipes that are left in it are text and need escaping again
    lines = [line.rstrip() for line in as_shown(str(made)).split("\n")]
    return "\n".join(lines)


def minute(iso: str) -> str:
    """An ISO timestamp to the minute; "never" for an empty one."""
    return iso[:16].replace("T", " ") or "never"


def private_mark(private: bool) -> str:
    """The red asterisk of what was whispered, or a space."""
    return "|r*|n" if private else " "


def _hang(head: str, plain: str, indent: int) -> str:
    width = len(strip_ansi(head))
    lines = textwrap.wrap(
        plain, WIDTH, initial_indent=" " * width, subsequent_indent=" " * indent
    ) or [" " * width]
    first, *rest = lines
    return "\n".join([head + safe(first[width:]), *map(safe, rest)])
