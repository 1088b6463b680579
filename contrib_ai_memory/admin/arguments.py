"""The arguments of operations: types that say what a value is, for the API's schema and for forms.

A function of `admin` that is an operation annotates its parameters with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

REQUIRED: Any = Parameter.empty  # default of an argument that must be given
LONGEST_QUERY = 400
LONGEST_TEXT = 20_000  # characters accepted; `conf.MAX_LINE` limits what is stored
LONGEST_NAME = 255
LARGEST = 2**31 - 1
PAGE, LONGEST_PAGE = 50, 200
RECORDS = {  # kinds of memory besides journal entries: what one is called, and several
    "fact": ("fact", "facts"),
    "experience": ("experience", "experiences"),
    "taught": ("lesson", "lessons"),
    "insight": ("insight", "insights"),
    "summary": ("summary", "summaries"),
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of an operation."""

    about: str = ""
    least: int | None = None  # of a number
    most: int | None = None  # of a number, of the characters of a text, of several choices
    choices: Sequence[str] = ()
    check: Callable[[str], Any] | None = None  # raises a ValueError for a value that is not valid
    label: str = ""  # of its field in a form
    rows: int = 0  # lines of its field; 0 for a single line
    name: str = ""  # this and the next two: those of the parameter
    type: Any = str  # str, int, bool, or tuple where several of the choices may be given
    default: Any = REQUIRED  # None leaves it out


def between(about: str, least: int, most: int, label: str = "") -> Argument:
    """Return an argument that is a number."""
    return Argument(about, least, most, label=label)


Id = Annotated[str, Argument("the number of a journal entry, or the id of another memory")]
Person = Annotated[str, Argument("a name the NPC knows, or an identity", most=LONGEST_NAME)]
Limit = Annotated[int, between("how many", 1, LONGEST_PAGE)]
Offset = Annotated[int, between("how many to skip", 0, LARGEST)]
Words = Annotated[str, Argument("words to look for, in any case", most=200)]
Query = Annotated[str, Argument("a question or a line of talk", most=LONGEST_QUERY)]
Kind = Annotated[str, Argument("the kind", choices=(*RECORDS, "entry"))]
Kinds = Annotated[tuple, Argument("of these kinds only", choices=(*RECORDS, "entry"))]
Text = Annotated[str, Argument("the text", most=LONGEST_TEXT, label="Text", rows=5)]
LongText = Annotated[str, Argument("the text", most=LONGEST_TEXT, label="Text", rows=16)]
Importance = Annotated[int, between("1-10", 1, 10, "Importance (1–10)")]
Plan = Annotated[
    str,
    Argument(
        "own: as the other arguments say; off; default: as its settings say",
        choices=("own", "off", "default"),
        label="Schedule",
    ),
]
Hour = Annotated[int, between("0-23", 0, 23, "Falls asleep at (hour, 0–23)")]
Hours = Annotated[int, between("1-24", 1, 24, "Sleeps for at most (hours, 1–24)")]
Clock = Annotated[str, Argument("whose hours", choices=("server", "game"), label="By the clock of")]
File = Annotated[Path, Argument("a file on the server", label="File")]
