"""Pairs: a newer statement beside older ones, some of which it ends or repeats.

What the reader learns of endings (`python -m benchmarks.reader --train`): the relations that the
authors of scenes labelled, the scenes of `benchmarks.supersession`, and the evenings that the
reader learns from (`LEARNED`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from contrib_ai_memory.embedding.model import EmbeddingModel, open_model
from contrib_ai_memory.offline.reader import sentence_read

from . import scenes, supersession
from .evenings_data import LEARNED, files, load

NEAR = 10  # earlier lines nearest to a line, and as many of its speaker's
SHOWN = 6  # older statements of one newer in a step
ENDED = 3  # of these, at most, that it ends or repeats


@dataclass(frozen=True, slots=True)
class Older:
    """An older statement as the reader reads it; whether a newer one repeats it may be unknown."""

    read: str
    ends: bool
    repeats: bool | None


@dataclass(frozen=True, slots=True)
class Compared:
    """A newer statement as the reader reads it, with older ones."""

    newer: str
    older: tuple[Older, ...]

    @property
    def tells(self) -> bool:
        """Whether it ends or repeats any."""
        return any(each.ends or each.repeats for each in self.older)


def every() -> list[Compared]:
    """Return all that the reader learns from."""
    model = open_model(None)
    stored = [
        supersession.Scene.model_validate(each)
        for each in json.loads(supersession.SCENES.read_text("utf-8"))
    ]
    step = -(-len(stored) // supersession.TOGETHER)
    talks = [supersession.Talk.of_scenes(stored[first::step]) for first in range(step)]
    evenings = [each for each in files() if each.stem in LEARNED]
    talks += [supersession.Talk.of_evening(load(each)) for each in evenings]
    return [
        *(pair for file in scenes.files() for pair in of_scenes(file)),
        *(pair for talk in talks for pair in of_talk(talk, model)),
    ]


def of_scenes(file: Path) -> Iterator[Compared]:
    """Yield every memory of each scene with those that may be older."""
    for scene in scenes.read(file):
        relation = {(newer, older): what for newer, what, older in scene.relations}
        read = {n: sentence_read(m.speaker, m.days, m.text) for n, m in scene.memories.items()}
        for number, memory in scene.memories.items():
            older = tuple(
                Older(read[other], what in ("changes", "ends"), what == "same")
                for other, one in scene.memories.items()
                if other != number and (other, number) not in relation
                for what in [relation.get((number, other))]
                if what or None in (one.days, memory.days) or one.days >= memory.days
            )
            if older:
                yield Compared(read[number], older)


def of_talk(talk: supersession.Talk, model: EmbeddingModel) -> Iterator[Compared]:
    """Yield each line that is heard with the earlier ones that are near to it."""
    lines = talk.lines
    vectors = model.encode([each.text for each in lines])
    for later, before in supersession.heard_before(talk):
        before.sort(key=lambda n: -float(vectors[n] @ vectors[later]))
        own = [n for n in before if lines[n].speaker == lines[later].speaker]
        ended = {n for n in before if (n, later) in talk.ends}
        near = sorted({*before[:NEAR], *own[:NEAR], *ended})
        today = lines[later].day
        older = tuple(Older(as_read(lines[n], today), n in ended, None) for n in near)
        if older:
            yield Compared(as_read(lines[later], today), older)


def as_read(line: supersession.TalkLine, today: str) -> str:
    """Write a line as the reader reads it on a day."""
    if line.kind not in ("say", "whisper"):
        return line.text
    days = (date.fromisoformat(today) - date.fromisoformat(line.day)).days
    return sentence_read(line.speaker, days, line.text)


def picked(pair: Compared) -> list[Older]:
    """Pick the older statements of a step."""
    told = [each for each in pair.older if each.ends or each.repeats]
    others = [each for each in pair.older if not (each.ends or each.repeats)]
    told = random.sample(told, min(ENDED, len(told)))
    return told + random.sample(others, min(SHOWN - len(told), len(others)))


def ends_as_read(
    talk: supersession.Talk, lines: Sequence[supersession.Line], likely: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Weigh in what the reader makes of lines, as the game does (`english.ended_memories`)."""
    from contrib_ai_memory.english.ended_memories import WORTH_READING, is_part, weighed
    from contrib_ai_memory.offline import reader

    network = reader.shared()
    assert network, "the bundled embedding model is not installed"
    found = []
    for line, chances in zip(lines, likely, strict=True):
        places = np.flatnonzero(chances >= WORTH_READING)
        newer = talk.lines[line.place]
        older = [as_read(talk.lines[line.known[n]], newer.day) for n in places]
        read = network.changes(as_read(newer, newer.day), older)[:, 0]
        found.append(chances.copy())
        olds = [talk.lines[line.known[n]].text for n in places]
        part = np.array([is_part(newer.text, each) for each in olds], dtype=bool)
        found[-1][places] = weighed(chances[places], read, part)
    return found
