"""When an NPC answers, beside when a good one would: precision and recall over recorded evenings.

Each line of an evening's file is labelled with whether a good NPC would answer it at once. The
lines are played in their own time through the rule that decides in play, `attention.attend`: who is
present follows from arrivals and departures; whispers and gifts show whom they are for, room talk
only by its words. An answer is given at once; the NPC's own lines in the file are passed over, the
answers that the rule gives stand in their place.

The first version answered every line with its name in it, every whisper, whatever was said alone
with it, and all that somebody said within 60 s of its last answer to them; it thanked for no gift.
Nothing is fitted to the labels; each fourth of the evenings is shown by itself all the same.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from contrib_ai_memory.attention import Attention, Floor, HeardLine, attend
from contrib_ai_memory.english.addressing import forms

from .harness import Bar, Report, arguments

EVENINGS = Path(__file__).resolve().parent / "data" / "evenings"
EXCHANGE_SECONDS = 60.0  # the default of the settings
FOLDS = 4
COLUMNS = ("decided by", "lines", "answered", "rightly", "missed", "precision", "recall")
DIRECT = ("whisper", "give")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A line of an evening as the NPC perceives it, and whether a good NPC would answer it."""

    line: HeardLine
    session: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class Count:
    """Decisions over some lines."""

    lines: int = 0
    rightly: int = 0
    wrongly: int = 0
    missed: int = 0

    def plus(self, answered: bool, wanted: bool) -> Count:
        return Count(
            self.lines + 1,
            self.rightly + (answered and wanted),
            self.wrongly + (answered and not wanted),
            self.missed + (wanted and not answered),
        )

    @property
    def precision(self) -> float:
        return self.rightly / max(1, self.rightly + self.wrongly)

    @property
    def recall(self) -> float:
        return self.rightly / max(1, self.rightly + self.missed)

    def row(self, who: str) -> dict[str, Any]:
        return {
            "decided by": who,
            "lines": self.lines,
            "answered": self.rightly + self.wrongly,
            "rightly": self.rightly,
            "missed": self.missed,
            "precision": self.precision,
            "recall": self.recall,
        }


def read(file: Path) -> list[Labelled]:
    """The lines of an evening that others say and do, each with who else is there.

    Raises:
        SystemExit: It is no evening; says which file and what is wrong.
    """
    try:
        return list(_perceived(json.loads(file.read_text(encoding="utf-8"))))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{file} is no evening ({type(error).__name__}: {error}).") from error


def _perceived(evening: dict[str, Any]) -> Iterable[Labelled]:
    npc = evening["npc"]["name"]
    own_names = forms([npc, *evening["npc"]["aliases"]])
    npcs = {person["name"] for person in evening["people"] if person.get("npc")}
    session, here = None, []
    for each in evening["lines"]:
        speaker, kind = each["speaker"], each["kind"]
        if each["session"] != session:
            session, here = each["session"], []
        if kind == "leave" and speaker in here:
            here.remove(speaker)
        elif speaker not in (npc, *here):
            here.append(speaker)
        if each["npc_answers"] is None:
            continue
        told = kind not in DIRECT or each["to"] == npc
        others = () if kind in DIRECT else tuple(forms([p]) for p in here if p != speaker)
        line = HeardLine(
            speaker=speaker,
            text=each["text"],
            at=datetime.fromisoformat(each["time"]).timestamp(),
            kind=kind if told else "pose",
            own_names=own_names,
            others=others,
            barred=speaker in npcs,
        )
        yield Labelled(line, each["session"], bool(each["npc_answers"]))


# --- those who decide -----------------------------------------------------------------------------


@dataclass
class Ours:
    """The rule in play."""

    floor: Floor = field(default_factory=Floor)

    def answers(self, line: HeardLine) -> bool:
        if line.kind == "pose":
            return False
        self.floor = self.floor.heard(line)
        answered = attend(line, self.floor, EXCHANGE_SECONDS) is Attention.TRIGGER
        if answered:
            self.floor = self.floor.answered(line)
        return answered


@dataclass
class First:
    """The rule of the first version."""

    last: dict[str, float] = field(default_factory=dict)

    def answers(self, line: HeardLine) -> bool:
        if line.kind not in ("say", "whisper") or line.barred:
            return False
        answered = (
            line.kind == "whisper"
            or not line.others
            or any(re.search(rf"\b{re.escape(n)}\b", line.text, re.I) for n in line.own_names)
            or line.at - self.last.get(line.speaker, -EXCHANGE_SECONDS - 1) <= EXCHANGE_SECONDS
        )
        if answered:
            self.last[line.speaker] = line.at
        return answered


def count(decider: type, evenings: Sequence[Sequence[Labelled]], *kinds: str) -> Count:
    """The decisions of one kind of decider over evenings, each session begun anew."""
    found = Count()
    for evening in evenings:
        session, rule = None, decider()
        for each in evening:
            if each.session != session:
                session, rule = each.session, decider()
            answered = rule.answers(each.line)
            if not kinds or each.line.kind in kinds:
                found = found.plus(answered, each.wanted)
    return found


# --- the run --------------------------------------------------------------------------------------


def measure(report: Report, evenings: list[list[Labelled]]) -> None:
    ours, first = count(Ours, evenings), count(First, evenings)
    rows = [ours.row("ours"), first.row("the first version")]
    talk = "say", "whisper"
    rows.append(count(Ours, evenings, *talk).row("ours, talk alone"))
    rows.append(count(First, evenings, *talk).row("the first version, talk alone"))
    if len(evenings) >= FOLDS:
        for fold in range(FOLDS):
            some = evenings[fold::FOLDS]
            rows.append(count(Ours, some).row(f"ours, fourth {fold + 1}"))
            rows.append(count(First, some).row(f"the first version, fourth {fold + 1}"))
    report.table(COLUMNS, rows)
    report.bars.append(Bar("precision", ours.precision, first.precision, at_least=True))
    report.bars.append(Bar("recall", ours.recall, first.recall, at_least=True))


def main() -> int:
    parser = arguments("When an NPC answers, beside when a good one would.")
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    options = parser.parse_args()
    files = options.files or sorted(EVENINGS.glob("*-*.json"))
    evenings = [read(file) for file in files]
    lines = sum(map(len, evenings))
    report = Report("attention", f"{lines:,} lines of {len(evenings)} evenings")
    measure(report, evenings)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
