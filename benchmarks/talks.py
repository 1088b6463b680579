"""Talks: live talk around an NPC, each line labelled with its acts and whether the NPC answers.

benchmarks/data/talks/README.md defines the form of the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from contrib_ai_memory.offline.acts import ACTS
from contrib_ai_memory.records import LineInTalk, TalkLine

from .evenings_data import load, stay_files

FOLDER = Path(__file__).parent / "data" / "talks"

_HEAD = re.compile(r"TALK (?P<id>\S+) \| (?P<npc>[^|]+) \| (?P<who>[^|]*) \| (?P<people>.+)")
_LINE = re.compile(
    r"(?P<who>[^>|]+?)(?P<whispers> whispers)?(?: to (?P<to>[^>]+?))?> (?P<said>[^|]+)"
    r"(?:\|\| (?P<answers>[+-]) \|\| (?P<acts>.+))?$"
)
_NPC = re.compile(r"\s*\(npc\)")
_LEAVES = re.compile(r"\b(?:leaves?|goes|gone|departs?|exits?)\b|\bout\b")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A line of somebody else as the NPC hears it.

    Attributes:
        acts: Each with its words.
        answers: Whether a good NPC answers at once.
        source: The author of the talk, or the stay.
        of_npc: Whether another NPC says it.
    """

    heard: LineInTalk
    acts: tuple[tuple[str, str], ...]
    answers: bool
    source: str
    of_npc: bool = False


@dataclass
class Talk:
    """A talk while it is read: who is there, and what was said."""

    npc: tuple[str, ...]
    people: list[str]
    npcs: set[str]
    here: list[str]
    said: list[TalkLine]


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def read(file: Path) -> Iterator[Labelled]:
    """Yield the lines of others in the talks of a file.

    Raises:
        ValueError: A line is not understood; says which.
    """
    for talk in re.split(r"\n\s*\n", file.read_text("utf-8").strip()):
        yield from _talk(talk.splitlines(), file)


def _talk(lines: list[str], file: Path) -> Iterator[Labelled]:
    head = _HEAD.match(lines[0])
    if not head:
        raise ValueError(f"{file.name}: no talk begins so: {lines[0][:60]}")
    names = [each.strip() for each in head["people"].split(",")]
    npcs = {_NPC.sub("", each) for each in names if _NPC.search(each)}
    people = [_NPC.sub("", each) for each in names]
    arriving = {each for each in people for line in lines if line[:1] == "@" and each in line}
    talk = Talk((head["npc"].strip(),), people, npcs, [p for p in people if p not in arriving], [])
    for line in filter(None, map(str.strip, lines[1:])):
        if line.startswith("@"):
            _event(talk, line[1:].strip())
        elif found := _LINE.match(line):
            yield from _line(talk, found, file.stem)
        else:
            raise ValueError(f"{file.name}: not understood: {line[:60]}")


def _event(talk: Talk, text: str) -> None:
    for each in talk.people:
        if each in text and _LEAVES.search(text) and each in talk.here:
            talk.here.remove(each)
        elif each in text and each not in talk.here:
            talk.here.append(each)
    talk.said.append(TalkLine("", text, "event"))


def _line(talk: Talk, found: re.Match[str], source: str) -> Iterator[Labelled]:
    who, text = found["who"], found["said"].strip()
    posed = text.startswith("*") and text.endswith("*")
    kind = "whisper" if found["whispers"] else "pose" if posed else "say"
    said = TalkLine(who, text.strip("*") if posed else text, kind)
    if who not in (*talk.npc, *talk.here):
        talk.here.append(who)
    if found["acts"] and (not found["to"] or found["to"] in talk.npc):
        pairs = (each.partition(":") for each in found["acts"].split(" | "))
        acts = tuple((act.strip(), words.strip()) for act, _, words in pairs)
        if unknown := {act for act, _ in acts} - {*ACTS}:
            raise ValueError(f"{source}: no acts: {', '.join(unknown)}")
        heard = LineInTalk(said, talk.npc, tuple(talk.here), tuple(talk.said))
        yield Labelled(heard, acts, found["answers"] == "+", source, who in talk.npcs)
    talk.said.append(said)


def as_said(speaker: str, text: str, kind: str) -> TalkLine:
    """Return a line of an evening or a stay as the network reads it, a pose without its poser."""
    if kind == "pose":
        text = text.removeprefix(f"{speaker} ")
    moves = kind in ("arrive", "leave", "event")
    return TalkLine("" if moves else speaker, text, "event" if moves else kind)


def of_stays() -> Iterator[Labelled]:
    """Yield the lines of others of the stays, of which nothing is learned."""
    yield from _of(stay_files())


def _of(files: Sequence[Path]) -> Iterator[Labelled]:
    for file in files:
        stay = load(file)
        session, here, said = "", [], []
        for line in stay.lines:
            if line.session != session:
                session, here, said = line.session, [], []
            if line.kind == "leave" and line.speaker in here:
                here.remove(line.speaker)
            elif line.speaker not in (stay.npc.name, *here):
                here.append(line.speaker)
            one = as_said(line.speaker, line.text, line.kind)
            to_npc = line.kind != "whisper" or line.to == stay.npc.name
            if line.npc_answers is not None and line.speaker != stay.npc.name and to_npc:
                heard = LineInTalk(
                    one, (stay.npc.name, *stay.npc.aliases), tuple(here), tuple(said)
                )
                acts = tuple((each.act, each.text) for each in line.acts or ())
                npcs = {each.name for each in stay.people if each.npc}
                yield Labelled(heard, acts, line.npc_answers, stay.id, line.speaker in npcs)
            said.append(one)
