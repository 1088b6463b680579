"""The persona sheet of an NPC (`recall.sheet`): read it and write it. Reactor thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from .. import conf
from ..errors import InputError
from ..recall import sheet
from ..text.sanitising import sanitise
from . import audit
from .arguments import LONGEST_TEXT, Argument

ABOUT = {
    "description": "What players see. It answers about its looks from it.",
    "persona": "Who it is. It answers about itself from it.",
    "voice": "How it speaks: the manner, then a line for each example. It greets with an example.",
    "goals": "What it wants. They make what bears on them more important.",
    "direction": "What only a language model that plays it is told: secrets, how to act. Never "
    "said.",
}
TOLD = 3  # sentences of what was given

Field = Annotated[str, Argument("of the sheet", choices=tuple(ABOUT), label="Field")]
Words = Annotated[
    str, Argument("the text; none removes the field", most=LONGEST_TEXT, label="Text", rows=8)
]


@dataclass(frozen=True, slots=True)
class SheetField:
    """A field of the sheet: its text, "" where nobody wrote one, and what it is for."""

    field: str
    text: str
    about: str


def sheet_of(npc: Any) -> list[SheetField]:
    """Show the persona sheet: what it answers about itself from."""
    return [SheetField(name, sheet.field_of(npc, name), ABOUT[name]) for name in ABOUT]


def write(npc: Any, who: Any, field: Field, text: Words = "") -> SheetField:
    """Write a field of the persona sheet; without a text it is removed."""
    if field not in ABOUT:
        raise InputError(f"The sheet has no field '{field[:40]}', but {', '.join(ABOUT)}.")
    if len(text) > (longest := conf.MAX_LINE):
        raise InputError(f"The text has {len(text):,} characters; a field holds {longest:,}.")
    text = sanitise(text, longest)
    if text:
        npc.attributes.add(sheet.ATTRIBUTES[field], text)
    else:
        npc.attributes.remove(sheet.ATTRIBUTES[field])
    audit.record(who, "write the persona sheet of", npc, field)
    return SheetField(field, text, ABOUT[field])


def asked_so(npc: Any, text: str) -> str:
    """Return what an NPC says when it is asked for what a builder gave it: its first sentences."""
    told = sheet.as_told(npc, text)
    if not told:
        return f"Asked for it, {npc.key} says nothing of it."
    more = " …" if len(told) > TOLD else ""
    return f"Asked for it, {npc.key} says: {' '.join(told[:TOLD])}{more}"
