"""Company: evenings at an NPC's place, each line with the reaction that it wants and what answers.

benchmarks/data/company/README.md defines the form of the files.

    python -m benchmarks.company FILE …     has the lines said in the game; writes what the NPC says

What is said to them is for people to judge; nothing here counts it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from contrib_ai_memory.offline.phrases import PHRASES
from contrib_ai_memory.offline.reactions import WANTED as REACTIONS
from contrib_ai_memory.records import LINES_BEFORE, LineInTalk, TalkLine

FOLDER = Path(__file__).parent / "data" / "company"
HELD_OUT = ("tg", "uh")  # files of which nothing is to be learned
EITHER = "?"  # a line to which a good NPC may react, or not
TAUGHT, OWN = "b", "self"
BEGINS = datetime(2026, 11, 24, 18, 0, tzinfo=UTC)  # when it is played
BY_ACTS = {  # rows of phrases for what `reactions` answers by the acts of a line
    "greet": "greeted again",
    "fire": "alarm of fire",
    "wound": "alarm of a wound",
    "danger": "alarm",
    "secret": "confided",
    "message": "asked for",
}
PACE = timedelta(seconds=20)  # from line to line

_HEAD = re.compile(r"EVENING (?P<id>\S+) \| (?P<npc>[^,]+)(?:, ?(?P<what>.*))?")
_LINE = re.compile(
    r"(?P<number>\d+) (?P<who>[^:]+?)(?: (?P<days>\d+)d)?"
    r"(?: (?P<how>does|whispers))?(?:: (?P<text>.+?)| (?P<moves>comes|goes)\.?)"
    r"(?:\s*->\s*(?P<wants>\?|\w+)\s*(?P<answers>[-\d, ]*))?"
)
_KINDS = {None: "say", "does": "pose", "whispers": "whisper", "comes": "arrive", "goes": "leave"}


@dataclass(frozen=True, slots=True)
class Said:
    """A line of an evening, or a sentence that the NPC was taught.

    Attributes:
        speaker: `TAUGHT` for what its builder gave it, `OWN` for its own words.
        days: How many days before the evening it was said.
        wants: The kind of reaction (`acts.WANTED`, or "refuse"), `EITHER`, "" for none.
        answers: Numbers of the lines each of which, told alone, is a good answer.
    """

    number: int
    speaker: str
    kind: str
    text: str
    days: int = 0
    wants: str = ""
    answers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Evening:
    """An NPC and what is said around it."""

    id: str
    npc: str
    what: str  # who it is
    said: tuple[Said, ...]


def files() -> list[Path]:
    """The files of all authors."""
    return sorted(FOLDER.glob("*.txt"))


def read(file: Path) -> Iterator[Evening]:
    """Yield the evenings of a file.

    Raises:
        ValueError: A line is not understood; names file and line.
    """
    head: re.Match[str] | None = None
    said: list[Said] = []
    for place, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        line = line.strip()
        if found := _HEAD.fullmatch(line):
            if head:
                yield _evening(head, said)
            head, said = found, []
        elif line and (head is None or not (found := _LINE.fullmatch(line))):
            raise ValueError(f"{file}, line {place}: {line!r} is not understood.")
        elif found := _LINE.fullmatch(line):
            said.append(_said(found))
    if head:
        yield _evening(head, said)


def _evening(head: re.Match[str], said: Sequence[Said]) -> Evening:
    return Evening(head["id"], head["npc"].strip(), head["what"] or "", tuple(said))


def _said(found: re.Match[str]) -> Said:
    return Said(
        int(found["number"]),
        found["who"],
        _KINDS[found["how"] or found["moves"]],
        found["text"] or "",
        int(found["days"] or 0),
        found["wants"] or "",
        frozenset(map(int, re.findall(r"\d+", found["answers"] or ""))),
    )


def heard(evening: Evening, *, replies: bool = False) -> Iterator[tuple[Said, LineInTalk]]:
    """Yield the lines that others say or do on the evening, as the NPC hears them.

    Args:
        replies: Whether the talk before a line holds a reply (`reply`) to all that wants one.
    """
    here: list[str] = []
    talk: list[TalkLine] = []
    present = [each for each in evening.said if each.speaker != TAUGHT and not each.days]
    for each, after in zip(present, [*present[1:], None], strict=True):
        if each.kind == "leave":
            here = [who for who in here if who != each.speaker]
        elif each.speaker not in (OWN, *here):
            here.append(each.speaker)
        if not each.text:
            continue
        speaker = evening.npc if each.speaker == OWN else each.speaker
        line = TalkLine(speaker, each.text, each.kind)
        if each.speaker != OWN:
            before = tuple(talk[-LINES_BEFORE:])
            yield each, LineInTalk(line, (evening.npc,), tuple(here), before)
        if each.kind == "whisper":
            continue
        talk.append(line)
        if replies and each.wants not in ("", EITHER) and not (after and after.speaker == OWN):
            talk.append(TalkLine(evening.npc, reply(each, evening), "say"))


def reply(said: Said, evening: Evening) -> str:
    """Return what the NPC might say to a line: what answers it, or a phrase."""
    if said.wants != "know":
        row = BY_ACTS.get(said.wants) or REACTIONS.get(said.wants, "heard")
        phrases = PHRASES[row]
        phrase = phrases[said.number % len(phrases)]
        return phrase.format(name=said.speaker, topic="that", when="then")
    if not said.answers:
        return f"I know nothing about that, {said.speaker}."
    told = {each.number: each for each in evening.said}[min(said.answers)]
    if told.speaker in (TAUGHT, OWN):
        return told.text
    if told.kind == "pose":
        return f"{told.speaker} {told.text}"
    return f'{"You" if told.speaker == said.speaker else told.speaker} said: "{told.text}"'


# --- in the game ----------------------------------------------------------------------------------


def as_stay(evening: Evening) -> dict[str, Any]:
    """Return an evening in the form of a stay (benchmarks/data/stays/README.md)."""
    lines: list[dict[str, Any]] = []
    talk = (each for each in evening.said if each.speaker != TAUGHT)
    for place, each in enumerate(talk):
        heard_now = each.speaker != OWN and not each.days and each.text
        lines.append(
            {
                "id": f"{evening.id}.{each.number}",
                "time": (BEGINS + place * PACE - timedelta(days=each.days)).isoformat(),
                "session": f"{each.days} days before",
                "speaker": evening.npc if each.speaker == OWN else each.speaker,
                "kind": each.kind,
                "to": evening.npc if each.kind == "whisper" else None,
                "text": each.text or f"{each.kind}s.",
                "addressee": evening.npc if each.wants else None,
                "npc_answers": each.wants not in ("", EITHER) if heard_now else None,
            }
        )
    lines.sort(key=lambda each: each["time"])
    people = dict.fromkeys(
        each.speaker for each in evening.said if each.speaker not in (TAUGHT, OWN)
    )
    taught = [each for each in evening.said if each.speaker == TAUGHT]
    return {
        "id": evening.id,
        "npc": {
            "name": evening.npc,
            "persona": evening.what,
            "room": "the place",
        },
        "builder": [{"id": f"b{e.number}", "how": "add", "text": e.text} for e in taught],
        "people": [{"name": each} for each in people],
        "lines": lines,
        "facts": [],
        "questions": [],
        "traps": [],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Has evenings in company said in the game.")
    parser.add_argument("files", nargs="+", type=Path, help="of benchmarks/data/company")
    parser.add_argument("--most", type=int, default=None, help="evenings of each file")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes that play")
    options = parser.parse_args()
    from .evenings import in_copies
    from .evenings_play import play_live

    every = [each for file in options.files for each in [*read(file)][: options.most]]
    with tempfile.TemporaryDirectory() as place:
        stays = {Path(place, f"{each.id}.json"): each for each in every}
        for file, evening in stays.items():
            file.write_text(json.dumps(as_stay(evening)))
        for file, reactions in in_copies(play_live, [*stays], {}, options.jobs):
            wants = {f"{file.stem}.{said.number}": said for said in stays[file].said}
            for each in reactions:
                said = wants[each.line]
                print(f"{each.line} {said.wants or '-'} {said.kind} {each.speaker}: {each.text}")
                print(f"    -> {each.reply or '(silent)'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
