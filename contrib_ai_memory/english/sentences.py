"""The sentence splitter, and what of a text is a quotation of somebody else."""

from __future__ import annotations

import re

from .questions import pieces, statements

_LAST_WORD = 12  # characters looked at for an abbreviation before a full stop

# what may lie between the end of a sentence and the blank before the next one, and after it
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*\s+(?=[\"'“‘(\[*_¿¡]*(?P<next>\w))")
_ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Sgt|No|vs|etc|e\.g|i\.e)\.\s+$")
_QUOTED = re.compile(
    r"\"[^\"]*(?:\"|$)|“[^”]*(?:”|$)"
    r"|(?<=[,:] )['‘](?=[A-Z]).*?[.!?,…]['’](?!\w)"
)
_SAYING = re.compile(
    r"\s*(?:[\w'’-]+ ){0,3}(?:says?|said|cries|cried|asks?|asked|claims?|claimed|repl(?:y|ies|ied)|"
    r"whisper(?:s|ed)?|shouts?|shouted|mutter(?:s|ed)?)\b"
)


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences; a question stands alone, with or without its question mark.

    A quotation stays in the sentence that says whose words it holds.
    """
    text = " ".join(text.split())
    quoted = _hearsay(text)
    cuts = [cut for cut in ends(text) if not any(start < cut < end - 1 for start, end in quoted)]
    return [
        piece
        for sentence in filter(None, map(str.strip, _parts(text, cuts)))
        for piece in ([sentence] if _hearsay(sentence) else pieces(sentence))
    ]


def split(text: str) -> list[str]:
    """Split a text into sentences, the white space after each kept."""
    return _parts(text, ends(text))


def own_statements(text: str) -> str:
    """What a speaker states: without questions and quotations of others."""
    own = [sentence for sentence in sentences_of(text) if not _hearsay(sentence)]
    return statements(" ".join(own))


def quotes(text: str) -> bool:
    """Whether there is a quotation in a text."""
    return bool(_QUOTED.search(text))


def without_quotations(text: str) -> str:
    return _QUOTED.sub(" ", text)


def ends(text: str) -> list[int]:
    """Offsets at which a next sentence begins: at a capital or a digit, behind no abbreviation."""
    return [
        found.end()
        for found in _END.finditer(text)
        if (found["next"].isupper() or found["next"].isdigit())
        and not _ABBREVIATED.search(text[max(0, found.end() - _LAST_WORD) : found.end()])
    ]


def _parts(text: str, cuts: list[int]) -> list[str]:
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _hearsay(text: str) -> list[tuple[int, int]]:
    """Spans of quotations that have their speaker named before or behind them."""
    found = []
    for quoted in _QUOTED.finditer(text):
        before = text[: quoted.start()].rstrip()
        if (before and before[-1] not in ".!?…") or _SAYING.match(text, quoted.end()):
            found.append(quoted.span())
    return found
