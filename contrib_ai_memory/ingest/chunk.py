"""Chunks of 50 to 300 tokens [C §1.3], cut at paragraphs and sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ..conf import MAX_CHUNK_TOKENS, MIN_CHUNK_TOKENS
from ..text.segmentation import split_sentences

Count = Callable[[str], int]

PARAGRAPH = "\n\n"

_FENCE = re.compile(r"^[^\S\n]*(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text and the white space before it."""

    text: str
    gap: str = PARAGRAPH
    code: bool = False


def chunks_of(text: str, count_tokens: Count) -> list[str]:
    """Cut a cleaned text into chunks, in order, nothing lost [C §1.3].

    No chunk has more than 300 tokens, except a fenced code block, which stays whole. A chunk has
    fewer than 50 only if it fits neither neighbour.

    Args:
        text: From `pipeline.cleaned`.
        count_tokens: Counts the tokens of a text with the embedding model's tokenizer.
    """
    pieces = [part for piece in paragraphs(text) for part in _split(piece, count_tokens)]
    # a heading belongs to what follows it: merge forwards first, backwards only what is left
    pieces = _merge(pieces, count_tokens, backwards=False)
    pieces = _merge(pieces, count_tokens, backwards=True)
    return [piece.text.rstrip() for piece in pieces]


# --- paragraphs -----------------------------------------------------------------------------------


def paragraphs(text: str) -> list[Piece]:
    """Split a text at its blank lines; a fenced code block is one paragraph."""
    lines = text.splitlines(keepends=True)
    code = _fenced(lines)
    pieces: list[Piece] = []
    at, gap = 0, ""
    while at < len(lines):
        end = code.get(at, at + 1)
        while at not in code and lines[at] != "\n" and end < len(lines):
            if lines[end] == "\n" or end in code:
                break
            end += 1
        block = "".join(lines[at:end])
        bare = block.rstrip("\n")
        if bare.strip():
            pieces.append(Piece(bare, gap[:2], code=at in code))
            gap = ""
        gap += block[len(bare) :]
        at = end
    return pieces


def _fenced(lines: list[str]) -> dict[int, int]:
    """Return where fenced code blocks begin, and the line after each."""
    fences = {at: fence for at, line in enumerate(lines) if (fence := _FENCE.match(line))}
    closing = [(at, fence["mark"]) for at, fence in fences.items() if not fence["info"].strip()]
    unclosed: set[str] = set()  # marks that no later line closes
    found: dict[int, int] = {}
    behind = 0
    for at, fence in fences.items():
        mark = fence["mark"]
        if at < behind or "`" in fence["info"] or mark in unclosed:
            continue
        end = next((end for end, other in closing if end > at and other.startswith(mark)), 0)
        if end:
            found[at] = behind = end + 1
        else:
            unclosed.add(mark)
    return found


# --- splitting ------------------------------------------------------------------------------------


def _split(piece: Piece, count_tokens: Count) -> list[Piece]:
    """Cut a paragraph of more than 300 tokens at its sentences; code is never cut."""
    total = count_tokens(piece.text)
    if piece.code or total <= MAX_CHUNK_TOKENS:
        return [piece]
    # parts of like size: a greedy filling would leave a tail too short to stand alone
    target = total / -(-total // MAX_CHUNK_TOKENS)
    units = [half for each in split_sentences(piece.text) for half in _halves(each, count_tokens)]
    parts = []
    gap = piece.gap
    for part in _packed(units, count_tokens, target):
        bare = part.rstrip()
        if bare:
            parts.append(Piece(bare, gap))
        gap = part[len(bare) :]
    return parts


def _halves(sentence: str, count_tokens: Count) -> list[str]:
    """Halve a sentence of more than 300 tokens until it fits, between words if there are any."""
    if count_tokens(sentence) <= MAX_CHUNK_TOKENS or len(sentence) < 2:
        return [sentence]
    middle = len(sentence) // 2
    blanks = [found.end() for found in _BLANKS.finditer(sentence, 1)]
    blanks = [at for at in blanks if at < len(sentence)]
    cut = min(blanks, key=lambda at: abs(at - middle)) if blanks else middle
    return [*_halves(sentence[:cut], count_tokens), *_halves(sentence[cut:], count_tokens)]


def _packed(units: list[str], count_tokens: Count, target: float) -> Iterator[str]:
    """Join units up to about `target` tokens, never more than 300."""
    sizes = [count_tokens(unit) for unit in units]
    start = 0
    while start < len(units):
        end = start + 1
        while end < len(units) and sum(sizes[start:end]) < target:
            end += 1
        # the token counts of the parts need not add up to that of the whole
        while end > start + 1 and count_tokens("".join(units[start:end])) > MAX_CHUNK_TOKENS:
            end -= 1
        yield "".join(units[start:end])
        start = end


# --- merging --------------------------------------------------------------------------------------


def _merge(pieces: list[Piece], count_tokens: Count, *, backwards: bool) -> list[Piece]:
    """Join short pieces to the next, or `backwards` to the one before, up to 300 tokens."""
    merged: list[Piece] = []
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
