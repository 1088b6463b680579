"""The agenda of an NPC, kept line by line over stays and evenings, beside what they commit to.

Gold are the facts that are a promise, a debt, a request or a plan. One is found where an item rests
on a line of its evidence; one that ends is closed where such an item is closed, or moved by the
line that ends it. An item is false that rests on no line of such a fact, or of one with a day, nor
(of a stay) on one whose acts commit somebody, nor (of an evening) on one worth knowing in a month.

The baseline has only the plainest forms (`agenda_changes.by_rules`), which are all that is left
where the local model is not installed. The network learned nothing of either; which score an act
needs was chosen on the evenings, the steps after it were written with both at hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from contrib_ai_memory.english import addressing
from contrib_ai_memory.english.agenda_changes import by_rules, changes, commits
from contrib_ai_memory.english.questions import asks
from contrib_ai_memory.language import Circle, Named
from contrib_ai_memory.offline.acts import ActReader
from contrib_ai_memory.records import (
    ASKS,
    LINES_BEFORE,
    LOOK_BACK,
    OF_NPC,
    AgendaItem,
    Entry,
    LineInTalk,
    LineReading,
    TalkLine,
)
from contrib_ai_memory.text.names import forms

from .due_dates import KINDS, read
from .evenings_data import FOLDER, stay_files
from .harness import Bar, Report, Row, arguments, configure_alone, progress

WORTH_KEEPING = 2  # label of a line: worth knowing in a month
COLUMNS = ("kind", "gold", "found", "kind right", "day right", "ending, found", "closed")
FOUND, FALSE, CLOSED = 0.85, 0.05, 0.8


def entries_of(talk: dict[str, Any]) -> list[Entry]:
    """The journal that the NPC of an evening or a stay would have; people are their names."""
    npc = talk["npc"]["name"]
    npcs = {person["name"] for person in talk["people"] if person.get("npc")}
    found, session, here = [], "", set[str]()
    for number, line in enumerate(talk["lines"], start=1):
        if line["session"] != session:
            session, here = line["session"], set()
        speaker, whispered, text = line["speaker"], line["kind"] == "whisper", line["text"]
        if line["kind"] == "give" and " gives " not in text:
            text = f"{speaker} gives {line['to'] or npc} {text}."
        here.add(speaker)
        witnesses = {speaker, line["to"]} if whispered else set(here)
        tags = (OF_NPC,) if speaker in npcs else ()
        found.append(
            Entry(
                id=number,
                timestamp=line["time"],
                content=text,
                kind=line["kind"],
                seen_as=speaker,
                source_entity=speaker,
                origin="self" if speaker == npc else "perceived",
                witnesses=tuple(sorted(witnesses - {npc, None})),
                private=whispered,
                session_id=str(session),
                tags=(*tags, ASKS) if asks(text) else tags,
                ref=line["id"],
            )
        )
        if line["kind"] == "leave":
            here.discard(speaker)
    return found


def circle_of(talk: dict[str, Any]) -> Circle:
    npc = talk["npc"]
    known = {person["name"]: forms([person["name"]]) for person in talk["people"]}

    def mentioned(text: str) -> list[str]:
        return [name for name, own in known.items() if addressing.named(text, own)]

    def called(text: str) -> list[str]:
        return [
            name for name in mentioned(text) if addressing.named(text, known[name]) is Named.CALLED
        ]

    names = forms([npc["name"], *npc["aliases"]])
    return Circle(npc["name"], names, mentioned, called)


def heard(entry: Entry, before: Sequence[Entry], npc: dict[str, Any]) -> LineInTalk:
    """A line as it is read; one of the NPC's own as whoever spoke last hears it."""
    lines = [
        TalkLine("" if each.is_move else each.seen_as, each.content, each.kind)
        for each in (*before[-LINES_BEFORE:], entry)
        if each.session_id == entry.session_id
    ]
    others = tuple(each for each in entry.witnesses if each != entry.source_entity)
    names = (npc["name"], *npc["aliases"])
    if entry.origin == "self":
        spoke = [each.speaker for each in lines if each.speaker not in ("", npc["name"])]
        names, others = (spoke[-1] if spoke else "",), (*others, npc["name"])
    return LineInTalk(lines[-1], names, others, tuple(lines[:-1]))


def kept(talk: dict[str, Any], reader: ActReader | None) -> dict[str, AgendaItem]:
    """The items that a talk leaves on the agenda, by their ids."""
    entries, circle = entries_of(talk), circle_of(talk)
    agenda: dict[str, AgendaItem] = {}
    for entry in entries:  # one at a time, as they are heard
        before = entries[max(0, entry.id - 1 - LOOK_BACK) : entry.id - 1]
        readings: dict[int, LineReading] = {}
        if commits(entry):
            line = heard(entry, before, talk["npc"])
            readings[entry.id] = reader.read(line) if reader else by_rules(entry)
        for item in changes([entry], agenda.values(), circle, readings, before=before):
            agenda[item.id] = item
    return agenda


def rows_of(talk: dict[str, Any], agenda: dict[str, AgendaItem]) -> Iterator[Row]:
    """Yield a row for each fact that commits somebody."""
    number = {line["id"]: place for place, line in enumerate(talk["lines"], start=1)}
    for fact in talk["facts"]:
        if fact["kind"] not in KINDS:
            continue
        lines = {number[each] for each in fact["evidence"]}
        items = [item for item in agenda.values() if lines & {*item.evidence}]
        end = number.get(fact["ended_by"] or "", 0)
        moved = [
            end in item.evidence and (item.due != (fact["due"] or "") or end not in lines)
            for item in items
        ]
        closed = any(item.state != "open" for item in items) or any(moved)
        yield {
            "text": fact["text"],
            "kind": fact["kind"],
            "gold": 1,
            "found": bool(items),
            "kind right": any(item.kind == fact["kind"] for item in items),
            "day right": any(item.due == (fact["due"] or "") for item in items),
            "ending, found": bool(end and items),
            "closed": bool(end) and closed,
            "closed wrongly": not end and any(item.state != "open" for item in items),
        }


def false_of(talk: dict[str, Any], agenda: dict[str, AgendaItem]) -> list[AgendaItem]:
    """The items that rest on no line that commits anybody."""
    gold = {
        each
        for fact in talk["facts"]
        if fact["kind"] in KINDS or fact["due"]
        for each in fact["evidence"]
    }
    gold |= {
        line["id"]
        for line in talk["lines"]
        if line.get("worth", 0) >= WORTH_KEEPING
        or any(act["act"] in KINDS for act in line.get("acts") or ())
    }
    names = [line["id"] for line in talk["lines"]]
    return [i for i in agenda.values() if gold.isdisjoint(names[each - 1] for each in i.evidence)]


def measure(
    report: Report, name: str, files: Sequence[Path], reader: ActReader | None
) -> tuple[float, float, float]:
    """Tell how the agenda of some talks is kept. Returns the shares found, false and closed."""
    rows: list[Row] = []
    items, wrong = 0, 0
    for file in progress(files, name, "talk"):
        talk = read(file)
        agenda = kept(talk, reader)
        rows += rows_of(talk, agenda)
        items += len(agenda)
        wrong += len(false_of(talk, agenda))
    report.note(f"{name}:")
    every = _sums(rows)
    grouped = [{"kind": kind} | _sums([r for r in rows if r["kind"] == kind]) for kind in KINDS]
    report.table(COLUMNS, [*grouped, {"kind": "all"} | every])
    found, false = every["found"] / max(1, every["gold"]), wrong / max(1, items)
    closed = every["closed"] / max(1, every["ending, found"])
    report.note(
        f"Found {found:.0%}; of {items} items {false:.0%} false; of those that end and are found "
        f"{closed:.0%} closed, {every['closed wrongly']} of the others.\n"
    )
    return found, false, closed


def _sums(rows: Sequence[Row]) -> Row:
    return {name: sum(int(row[name]) for row in rows) for name in (*COLUMNS[1:], "closed wrongly")}


def main() -> int:
    parser = arguments("The agenda, kept over stays and evenings.")
    options = parser.parse_args()
    configure_alone()
    evenings = sorted(FOLDER.glob("*-*.json"))
    report = Report("agenda", f"{len(stay_files())} stays and {len(evenings)} evenings")
    reader = ActReader()
    measure(report, "stays, the plainest forms", stay_files(), None)
    found, false, closed = measure(report, "stays", stay_files(), reader)
    measure(report, "evenings", evenings, reader)
    report.bars += [
        Bar("facts found, stays", found, FOUND, at_least=True, goal=True),
        Bar("false items, stays", false, FALSE, goal=True),
        Bar("closed of those that end, stays", closed, CLOSED, at_least=True, goal=True),
    ]
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
