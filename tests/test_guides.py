"""Every example in the guides for builders and developers is run, and comes out as it says."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent

import pytest
from twisted.internet import defer

from contrib_ai_memory import offload

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guides"

GOES_ON = "…"  # the rest of what is printed is left out
# what differs between two evenings; an id stands for the same memory all through the page
CHANGING = re.compile(
    r"(?P<id>\b[0-9a-f]{8}\b)|\d{4}-\d\d-\d\d( \d\d:\d\d)?|#\d+(@[0-9a-f]+)?"
    r"|\d\.\d{3}|\d+ tokens|\d+%"
)


def blocks(page: str, *kinds: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page of these kinds: (kind, text)."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", (GUIDES / page).read_text(), re.M | re.S)
    return [(kind, text) for kind, text in found if kind in kinds]


class Evening:
    """Types the examples and compares; learns which id on the page is which in the game."""

    def __init__(self, builder, people):
        self.builder = builder
        self.people = people
        self.ids: dict[str, str] = {}

    def play(self, kind: str, text: str) -> None:
        if kind == "talk":
            for line in text.splitlines():
                name, _, typed = line.partition("> ")
                self.people[name].execute_cmd(typed)
            return
        for step in re.split(r"^> ", text, flags=re.M)[1:]:
            typed, _, expected = step.partition("\n")
            real = re.sub(r"\b[0-9a-f]{8}\b", lambda found: self.ids[found[0]], typed)
            self.compare(typed, expected.splitlines(), self.builder(real).splitlines())

    def compare(self, typed: str, expected: list[str], printed: list[str]) -> None:
        if GOES_ON in expected:
            expected = expected[: expected.index(GOES_ON)]
            printed = printed[: len(expected)]
        for told, real in zip(expected, printed, strict=False):
            for mine, theirs in zip(_ids(told), _ids(real), strict=False):
                self.ids.setdefault(mine, theirs)
        assert [_same(line, self.ids) for line in expected] == [_same(line) for line in printed], (
            typed
        )


def _ids(line: str) -> list[str]:
    return [found["id"] for found in CHANGING.finditer(line) if found["id"]]


def _same(line: str, ids: dict[str, str] | None = None) -> str:
    """A line without what differs; its ids as they are in the game."""
    known = ids or {}
    return CHANGING.sub(
        lambda found: known.get(found["id"], found["id"]) if found["id"] else "·", line
    ).rstrip()


def test_the_builders_guide_is_an_evening_that_goes_so(mara, alice, bram, builder):
    evening = Evening(builder, {"Alice": alice, "Bram": bram})
    for kind, text in blocks("builders.md", "talk", "game"):
        evening.play(kind, text)


def test_the_builders_guide_names_every_switch():
    from contrib_ai_memory.commands.memory import CmdMemory
    from contrib_ai_memory.commands.sleep import CmdSleep

    page = (GUIDES / "builders.md").read_text()
    shown_elsewhere = {"export", "import", "wipe", "links", "unpin", "unlock", "wake", "resume"}
    for switch in {*CmdMemory.switch_options, *CmdSleep.switch_options} - shown_elsewhere:
        assert f"/{switch} " in page or f"/{switch}`" in page or f"/{switch}\n" in page, switch


def test_an_example_that_says_something_else_is_noticed(mara, alice, bram, builder):
    evening = Evening(builder, {})
    with pytest.raises(AssertionError):
        evening.play("game", "> @memory/add mara = A cat.\nMara will forget that.\n")


@pytest.mark.parametrize("number", range(len(blocks("developers.md", "python"))))
def test_every_example_for_developers_runs(number, mara, alice, bram, settings):
    """Examples stand alone; `npc` and `character` are there, and a Deferred is waited for."""
    from contrib_ai_memory.admin import access

    builder = alice
    builder.permissions.add("Builder")
    assert access.may(builder, mara, "edit")
    alice.execute_cmd("say Mara, I keep the ferry at Millbrook.")
    _kind, source = blocks("developers.md", "python")[number]
    names = {"npc": mara, "character": alice, "builder": builder, "settings": settings}
    exec(f"def example():\n{indent(source, '    ')}\n    yield nothing", names)
    names["nothing"] = defer.succeed(None)
    steps, result = names["example"](), None
    while True:
        try:
            result = offload.wait(steps.send(result))
        except StopIteration:
            break
