"""Step 1 of [C §1]: text made clean, its formatting and its code left as they are."""

from __future__ import annotations

import re
import unicodedata

from ..text.clean import without_injected

_LINE_BREAKS = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
# Cc control characters, Cs lone surrogates, which no database takes
_DROPPED = frozenset({"Cc", "Cs"})


def cleaned(text: str) -> str:
    """`text` stripped, in NFC, at most one blank line in a row [C §1.2].

    Indentation, formatting marks and code stay. Control characters go, and so does a `<memory>`
    block: what was put into a prompt is never learned back from it (DESIGN §5).
    """
    text = _TERMINAL_CODES.sub("", _LINE_BREAKS.sub("\n", text))
    text = "".join(
        char for char in text if char in "\n\t" or unicodedata.category(char) not in _DROPPED
    )
    text = unicodedata.normalize("NFC", without_injected(text))
    return _BLANK_LINES.sub("\n\n", text).strip()
