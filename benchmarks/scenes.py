"""Scenes: small worlds in each of which questions name the sentence that answers them.

benchmarks/data/scenes/README.md defines the form of the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "scenes"

_SCENE = re.compile(r"SCENE (?P<id>\S+) \| (?P<npc>[^,]+)")
_MEMORY = re.compile(
    r"(?P<number>\d+) (?:(?P<kind>b|fact)|(?P<own>self|did)(?: (?P<own_days>\d+)d)?"
    r"|(?P<who>.+?) (?P<days>\d+)d(?P<whisper> whisper)?)\s*: (?P<text>.+)"
)
_RELATION = re.compile(r"R (?P<newer>\d+) (?P<what>changes|ends|same) (?P<older>\d+)")
_QUESTION = re.compile(r"Q (?P<asker>.+?): (?P<text>.+?)\s*-> (?P<answers>-|[\d, ]+)")


@dataclass(frozen=True, slots=True)
class SceneMemory:
    """A memory of a scene.

    Attributes:
        speaker: Whose words it is, the NPC's own for what it was taught; "" for a note or a deed.
        days: How long ago; None for what has no day.
        to: The only one who may hear it, "" for everybody.
    """

    text: str
    speaker: str = ""
    days: int | None = None
    to: str = ""


@dataclass(frozen=True, slots=True)
class SceneQuestion:
    """A question, and the numbers of the memories each of which answers it by itself."""

    asker: str
    text: str
    answers: frozenset[int]


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene: memories by number, questions, relations (newer, "changes", older)."""

    id: str
    npc: str
    memories: dict[int, SceneMemory] = field(default_factory=dict)
    questions: list[SceneQuestion] = field(default_factory=list)
    relations: list[tuple[int, str, int]] = field(default_factory=list)


def files() -> list[Path]:
    """The files of all authors."""
    return sorted(FOLDER.glob("*.txt"))


def read(file: Path) -> Iterator[Scene]:
    """Yield the scenes of a file.

    Raises:
        ValueError: A line is not understood; names file and line.
    """
    scene: Scene | None = None
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if found := _SCENE.match(line):
            if scene:
                yield scene
            scene = Scene(found["id"], found["npc"].strip())
        elif line.strip() and (scene is None or not _take_in(scene, line.strip())):
            raise ValueError(f"{file}, line {number}: {line!r} is not understood.")
    if scene:
        yield scene


def _take_in(scene: Scene, line: str) -> bool:
    if found := _RELATION.fullmatch(line):
        relation = int(found["newer"]), found["what"], int(found["older"])
        scene.relations.append(relation)
    elif found := _QUESTION.fullmatch(line):
        answers = frozenset(map(int, re.findall(r"\d+", found["answers"])))
        scene.questions.append(SceneQuestion(found["asker"], found["text"], answers))
    elif found := _MEMORY.fullmatch(line):
        scene.memories[int(found["number"])] = _memory(scene.npc, found)
    return found is not None


def _memory(npc: str, found: re.Match[str]) -> SceneMemory:
    days = found["own_days"] or found["days"]
    speaker = npc if found["kind"] == "b" or found["own"] == "self" else found["who"] or ""
    ago = int(days) + 1 if days else None  # they are asked of on the next day
    return SceneMemory(found["text"], speaker, ago, found["who"] if found["whisper"] else "")
