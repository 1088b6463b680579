"""Step 2 of [C §1]: a text in chunks of 50 to 300 tokens, cut where its sense allows it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from ..conf import MAX_CHUNK_TOKENS, MIN_CHUNK_TOKENS

Count = Callable[[str], int]

PARAGRAPH = "\n\n"
LAST_WORD = 12  # characters looked at for an abbreviation before a full stop

_FENCE = re.compile(r"^[^\S\n]*(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)")
# what may lie between the end of a sentence and the blank before the next one, and after it
_SENTENCE_END = re.compile(r"[.!?]+[\"'”’)\]*_]*\s+(?=[\"'“‘(\[*_¿¡]*(?P<next>\w))")
_ABBREVIATED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|Capt|Sgt|No|vs|etc|e\.g|i\.e)\.\s+$")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of text, and the white space that parted it from what came before."""

    text: str
    gap: str = PARAGRAPH
    code: bool = False


def chunks_of(text: str, count_tokens: Count) -> list[str]:
    """A cleaned text in chunks, in order, nothing lost [C §1.3].

    No chunk has more than 300 tokens but a fenced code block, which stays whole. A chunk has fewer
    than 50 only where it fits to neither neighbour.

    Args:
        text: From `cleaned`.
        count_tokens: Gives the tokens of a text in the embedding model's own tokenizer.
    """
    pieces = [part for piece in paragraphs(text) for part in split(piece, count_tokens)]
    # A heading belongs to what follows it: first forwards, and backwards only what is left
    pieces = merge(pieces, count_tokens, backwards=False)
    pieces = merge(pieces, count_tokens, backwards=True)
    return [piece.text for piece in pieces]


# --- paragraphs -----------------------------------------------------------------------------------


def paragraphs(text: str) -> list[_Piece]:
    """The text at its blank lines; a fenced block is one paragraph, blank lines and all."""
    pieces: list[_Piece] = []
    gap = ""
    for block, code in _blocks(text):
        if code:
            pieces.append(_Piece(block.rstrip("\n"), gap, code=True))
            gap = _trailing_breaks(block)
            continue
        leading = len(block) - len(block.lstrip("\n"))
        gap = (gap + block[:leading])[:2]
        for paragraph in filter(str.strip, block.strip("\n").split(PARAGRAPH)):
            pieces.append(_Piece(paragraph, gap))
            gap = PARAGRAPH
        gap = _trailing_breaks(block) if block.strip() else gap
    return pieces


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Stretches of prose and of fenced code in turn, each with its line breaks."""
    lines = text.splitlines(keepends=True)
    fences = {at: mark for at, line in enumerate(lines) if (mark := _FENCE.match(line))}
    closing = [(at, mark["mark"]) for at, mark in fences.items() if not mark["info"].strip()]
    prose: list[str] = []
    at = 0
    while at < len(lines):
        end = _fence_end(at, fences.get(at), closing)
        if end is None:
            prose.append(lines[at])
            at += 1
            continue
        yield "".join(prose), False
        yield "".join(lines[at:end]), True
        prose = []
        at = end
    yield "".join(prose), False


def _fence_end(start: int, opened: re.Match | None, closing: list[tuple[int, str]]) -> int | None:
    """The line after the block that is opened at `start`; None where none is, or never closed."""
    if opened is None or "`" in opened["info"]:
        return None
    after = bisect_right(closing, start, key=lambda fence: fence[0])
    for at, mark in islice(closing, after, None):
        if mark.startswith(opened["mark"]):
            return at + 1
    return None


def _trailing_breaks(block: str) -> str:
    return block[len(block.rstrip("\n")) :][:2]


# --- splitting ------------------------------------------------------------------------------------


def split(piece: _Piece, count_tokens: Count) -> list[_Piece]:
    """A paragraph of more than 300 tokens at its sentences, else as it is; code is not cut."""
    total = count_tokens(piece.text)
    if piece.code or total <= MAX_CHUNK_TOKENS:
        return [piece]
    # parts of like size: a greedy filling would leave a tail too short to stand alone
    target = total / -(-total // MAX_CHUNK_TOKENS)
    units = [half for each in sentences(piece.text) for half in halves(each, count_tokens)]
    parts = []
    gap = piece.gap
    for part in _packed(units, count_tokens, target):
        bare = part.rstrip()
        if bare:
            parts.append(_Piece(bare, gap))
        gap = part[len(bare) :]
    return parts


def sentences(text: str) -> list[str]:
    """`text` cut after `.`, `!` or `?` where a blank and a capital follow, blanks kept [C §1.3]."""
    cuts = [
        found.end()
        for found in _SENTENCE_END.finditer(text)
        if found["next"].isupper()
        and not _ABBREVIATED.search(text[max(0, found.end() - LAST_WORD) : found.end()])
    ]
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def halves(sentence: str, count_tokens: Count) -> list[str]:
    """A sentence of more than 300 tokens halved until it fits: between words, if it has any."""
    if count_tokens(sentence) <= MAX_CHUNK_TOKENS or len(sentence) < 2:
        return [sentence]
    middle = len(sentence) // 2
    blanks = [found.end() for found in _BLANKS.finditer(sentence, 1)]
    blanks = [at for at in blanks if at < len(sentence)]
    cut = min(blanks, key=lambda at: abs(at - middle)) if blanks else middle
    return [*halves(sentence[:cut], count_tokens), *halves(sentence[cut:], count_tokens)]


def _packed(units: list[str], count_tokens: Count, target: float) -> Iterator[str]:
    """Units joined up to about `target` tokens, never above 300."""
    sizes = [count_tokens(unit) for unit in units]
    start = 0
    while start < len(units):
        end = start + 1
        while end < len(units) and sum(sizes[start:end]) < target:
            end += 1
        # what a tokenizer makes of the parts need not add up to what it makes of the whole
        while end > start + 1 and count_tokens("".join(units[start:end])) > MAX_CHUNK_TOKENS:
            end -= 1
        yield "".join(units[start:end])
        start = end


# --- merging --------------------------------------------------------------------------------------


def merge(pieces: list[_Piece], count_tokens: Count, *, backwards: bool) -> list[_Piece]:
    """Short pieces joined to the one after them, or `backwards` to the one before, up to 300."""
    merged: list[_Piece] = []
    for piece in pieces:
        if merged:
            last = merged[-1]
            short = count_tokens(last.text) < MIN_CHUNK_TOKENS or (
                backwards and count_tokens(piece.text) < MIN_CHUNK_TOKENS
            )
            together = replace(last, text=last.text + piece.gap + piece.text)
            if short and count_tokens(together.text) <= MAX_CHUNK_TOKENS:
                merged[-1] = together
                continue
        merged.append(piece)
    return merged
