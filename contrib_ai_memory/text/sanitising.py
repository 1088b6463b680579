"""Sanitising: inbound text becomes harmless plain text before it is stored, shown or prompted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

MAX_NESTING = 20  # of `<memory>` blocks

_INJECTED = re.compile(r"<memory>(?:(?!<memory>).)*?</memory>", re.DOTALL | re.IGNORECASE)
_STRAY_TAG = re.compile(r"</?memory>", re.IGNORECASE)
_SPACES = re.compile(r"[^\S\n]+")
_AROUND_BREAKS = re.compile(r"[^\S\n]*\n[^\S\n]*")
_ROLE = re.compile(r"\b(system|assistant|user|developer|tool)\s*:", re.IGNORECASE)
_BRACKETS = str.maketrans({"<": "‹", ">": "›", "[": "(", "]": ")", "`": "'"})
_BRACES = re.compile(r"\{{2,}")
_RARE_SIGNS = range(0x4E00, 0x110000)  # more than any text has
_MANY_BREAKS = re.compile(r"\n{3,}")
# Cc control, Cf format (zero-width, bidi), Cs lone surrogates, Co private use, Cn unassigned
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
# speech in its frame: `Alice says, "…"`, `Alice whispers: "…"`, `You say, "…"`, `Alice sagt: „…“`
_FRAMED = re.compile(r'^[^"“„«»]{1,120}?[,:]\s*["“„«»](?P<speech>.*)["”“«»]\s*$', re.DOTALL)
# … and within that the frame that rpsystem puts around a whisper: `/Me whispers "…"`
_FRAMED_BY_RPSYSTEM = re.compile(
    r'^/me (?:whispers|says),?\s+["“](?P<speech>.*\S.*)["”]$', re.DOTALL | re.IGNORECASE
)


@lru_cache(maxsize=512)  # a line is heard by everybody in the room, and so are their names
def sanitise(text: str, limit: int = 4000) -> str:
    """Make plain text: NFC, no markup, no control, zero-width or bidi characters, cut at `limit`.

    Line breaks stay, at most two in a row [C §1.2]; other white space collapses to one blank.
    `<memory>` blocks are removed: their content was remembered once already.
    """
    text = text[: limit * 4].replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    # removing a hidden character may join the parts of a colour code: repeat until nothing changes
    while (plain := visible(_without_codes(text))) != text:
        text = plain
    text = without_injected(text)
    text = _AROUND_BREAKS.sub("\n", text)
    text = _MANY_BREAKS.sub("\n\n", _SPACES.sub(" ", text)).strip()
    return shortened(text, limit)


def shortened(text: str, limit: int) -> str:
    """Return at most so many characters; a text that is longer ends with "…"."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _without_codes(text: str) -> str:
    """Remove colour codes and links; Evennia alone would halve "{{"."""
    from evennia.utils.ansi import strip_ansi  # late: the store is opened without a game, too

    if "{{" not in text:
        return strip_ansi(text)
    stand_in = next(sign for sign in map(chr, _RARE_SIGNS) if sign not in text)
    return strip_ansi(text.replace("{", stand_in)).replace(stand_in, "{")


def as_shown(text: str) -> str:
    """Escape a text for the game's screens: Evennia's markup characters are doubled."""
    return _BRACES.sub(lambda braces: 2 * braces[0], text.replace("|", "||"))


def without_injected(text: str) -> str:
    """Remove `<memory>` blocks: what was injected into a prompt is not learned again."""
    for _ in range(MAX_NESTING):
        shorter = _INJECTED.sub("", text)
        if shorter == text:
            shorter = _STRAY_TAG.sub("", text)
        if shorter == text:
            return text
        text = shorter
    return text.replace("<", "‹")  # nested on purpose: no tag at all, then


def visible(text: str) -> str:
    """Remove invisible characters, as `sanitise` does; markup and line breaks stay."""
    return unicodedata.normalize(
        "NFC", "".join(c for c in text if c == "\n" or unicodedata.category(c) not in _INVISIBLE)
    )


def speech_in(line: str) -> str:
    """Return the speech inside a perceived line (`Alice says, "…"`), or the line without any."""
    found = _FRAMED.match(line)
    if not found or not found["speech"].strip():
        return line
    speech = found["speech"].strip()
    twice = _FRAMED_BY_RPSYSTEM.match(speech)
    return twice["speech"].strip() if twice else speech


def without_speech(line: str, speech: Iterable[str]) -> str:
    for said in speech:
        line = line.replace(said, " ", 1)
    return oneline(line)


def oneline(text: str) -> str:
    return " ".join(text.split())


def neutralise(text: str) -> str:
    """Make a text safe in a prompt: one line, no markup, block marks or chat roles."""
    return _ROLE.sub(r"\1 -", oneline(text).translate(_BRACKETS))
