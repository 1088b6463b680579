"""Due dates, and the NPC's agenda, read from recorded evenings.

Due dates: each gold fact of an evening that is a promise, a debt, a request or a plan, or that has
a due date, rests on some lines. Each line is read at its own time; the date of a fact is that of
the last of its lines that names one. Libraries are measured beside it where they are installed
(dateparser, parsedatetime, timefhuman), with the same rule: several dates in a line count as none.

No part is trained; the rules were written with these evenings at hand, so other talk will be read
a little worse.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from contrib_ai_memory.english import addressing
from contrib_ai_memory.english.due_dates import due
from contrib_ai_memory.english.questions import asks
from contrib_ai_memory.ingest.agenda_items import Circle, Judge, by_rules, calls, changes
from contrib_ai_memory.records import ASKS, OF_NPC, AgendaItem, Entry

from .harness import Bar, Report, Row, arguments

EVENINGS = Path(__file__).resolve().parent / "data" / "evenings"
WORTH_KEEPING = 2  # label of a line: worth knowing in a month
KINDS = ("promise", "debt", "request", "plan")
COLUMNS = ("dates read by", "facts with a date", "read", "rightly", "precision", "recall", "µs")

Reader = Callable[[str, str], str | None]  # (text, ISO time of the line) → ISO date


@dataclass(frozen=True, slots=True)
class GoldFact:
    """A fact of an evening: its kind, its due date or "", and its lines as (text, time)."""

    kind: str
    due: str
    lines: tuple[tuple[str, str], ...]


def read(file: Path) -> dict[str, Any]:
    """An evening's file.

    Raises:
        SystemExit: It is no evening; says which file and what is wrong.
    """
    try:
        evening = json.loads(file.read_text(encoding="utf-8"))
        return {name: evening[name] for name in ("npc", "people", "lines", "facts")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{file} is no evening ({type(error).__name__}: {error}).") from error


def facts_of(evening: dict[str, Any]) -> Iterator[GoldFact]:
    lines = {line["id"]: line for line in evening["lines"]}
    for fact in evening["facts"]:
        if fact["kind"] in KINDS or fact["due"]:
            evidence = (lines[each] for each in fact["evidence"])
            told = tuple((line["text"], line["time"]) for line in evidence)
            yield GoldFact(fact["kind"], fact["due"] or "", told)


# --- who reads dates ------------------------------------------------------------------------------


def ours(text: str, said_at: str) -> str | None:
    found = due(text, said_at)
    return found.iso if found else None


def _by_dateparser(text: str, said_at: str) -> str | None:
    from dateparser.search import search_dates

    settings = {
        "RELATIVE_BASE": datetime.fromisoformat(said_at).replace(tzinfo=None),
        "PREFER_DATES_FROM": "future",
    }
    found = search_dates(text, languages=["en"], settings=settings) or []
    return _only({when.date().isoformat() for _words, when in found})


def _by_parsedatetime(text: str, said_at: str) -> str | None:
    import parsedatetime

    then = datetime.fromisoformat(said_at).replace(tzinfo=None)
    found = parsedatetime.Calendar().nlp(text, sourceTime=then) or ()
    return _only({when.date().isoformat() for when, flag, *_rest in found if flag & 1})


def _by_timefhuman(text: str, said_at: str) -> str | None:
    from timefhuman import tfhConfig, timefhuman

    then = datetime.fromisoformat(said_at).replace(tzinfo=None)
    found = timefhuman(text, tfhConfig(now=then))
    found = found if isinstance(found, list) else [found]
    days = {each.date() for each in found if isinstance(each, datetime)}
    days |= {each for each in found if isinstance(each, date) and not isinstance(each, datetime)}
    return _only({day.isoformat() for day in days})


def _only(days: set[str]) -> str | None:
    return days.pop() if len(days) == 1 else None


LIBRARIES: dict[str, Reader] = {
    "dateparser": _by_dateparser,
    "parsedatetime": _by_parsedatetime,
    "timefhuman": _by_timefhuman,
}


def count(name: str, reader: Reader, facts: list[GoldFact]) -> Row:
    """How many due dates a reader finds, and how many of its dates are right."""
    dated = found = rightly = calls = 0
    begun = time.perf_counter()
    for fact in facts:
        days = [day for text, when in fact.lines if (day := reader(text, when))]
        calls += len(fact.lines)
        dated += bool(fact.due)
        found += bool(days)
        rightly += bool(days) and days[-1] == fact.due
    return {
        "dates read by": name,
        "facts with a date": dated,
        "read": found,
        "rightly": rightly,
        "precision": rightly / max(1, found),
        "recall": rightly / max(1, dated),
        "µs": round(1e6 * (time.perf_counter() - begun) / max(1, calls)),
    }


# --- the agenda -----------------------------------------------------------------------------------


def entries_of(evening: dict[str, Any]) -> list[Entry]:
    """The journal that the NPC of an evening would have; people are their names."""
    npc = evening["npc"]["name"]
    npcs = {person["name"] for person in evening["people"] if person.get("npc")}
    found, session, here = [], "", set[str]()
    for number, line in enumerate(evening["lines"], start=1):
        if line["session"] != session:
            session, here = line["session"], set()
        speaker, whispered = line["speaker"], line["kind"] == "whisper"
        here.add(speaker)
        witnesses = {speaker, line["to"]} if whispered else set(here)
        tags = (OF_NPC,) if speaker in npcs else ()
        found.append(
            Entry(
                id=number,
                timestamp=line["time"],
                content=line["text"],
                kind=line["kind"],
                seen_as=speaker,
                source_entity=speaker,
                origin="self" if speaker == npc else "perceived",
                witnesses=tuple(sorted(witnesses - {npc, None})),
                private=whispered,
                session_id=str(session),
                tags=(*tags, ASKS) if asks(line["text"]) else tags,
                ref=line["id"],
            )
        )
        if line["kind"] == "leave":
            here.discard(speaker)
    return found


def circle_of(evening: dict[str, Any]) -> Circle:
    npc = evening["npc"]
    forms = {person["name"]: addressing.forms([person["name"]]) for person in evening["people"]}

    def mentioned(text: str) -> list[str]:
        return [name for name, own in forms.items() if addressing.named(text, own)]

    def called(text: str) -> list[str]:
        return [name for name in mentioned(text) if calls(text, name)]

    names = addressing.forms([npc["name"], *npc["aliases"]])
    return Circle(npc["name"], names, mentioned, called)


AGENDA_COLUMNS = ("kind", "facts", "found", "kind right", "date right", "closed", "of ended")


def agenda_rows(evening: dict[str, Any], judge: Judge) -> tuple[list[Row], list[AgendaItem]]:
    """One row a gold fact, and the items that the evening leaves on the agenda."""
    entries = entries_of(evening)
    number = {entry.ref: entry.id for entry in entries}
    agenda: dict[str, AgendaItem] = {}
    for entry in entries:  # one at a time, as they are heard
        before = entries[max(0, entry.id - 9) : entry.id - 1]
        for item in changes(
            [entry], agenda.values(), circle_of(evening), judge=judge, before=before
        ):
            agenda[item.id] = item
    rows = []
    for fact in evening["facts"]:
        if fact["kind"] in KINDS or fact["due"]:
            lines = {number[each] for each in fact["evidence"]}
            items = [item for item in agenda.values() if lines & {*item.evidence}]
            rows.append(
                {
                    "kind": fact["kind"] if fact["kind"] in KINDS else "other, with a date",
                    "text": fact["text"],
                    "lines": sorted(lines),
                    "facts": 1,
                    "found": bool(items),
                    "kind right": any(item.kind == fact["kind"] for item in items),
                    "date right": any(item.due == (fact["due"] or "") for item in items),
                    "closed": bool(fact["ended_by"])
                    and any(item.state != "open" for item in items),
                    "of ended": bool(fact["ended_by"]) and bool(items),
                    "closed wrongly": not fact["ended_by"]
                    and any(item.state != "open" for item in items),
                }
            )
    return rows, list(agenda.values())


def measure_agenda(report: Report, evenings: list[dict[str, Any]], judge: Judge, who: str) -> None:
    report.note(f"The agenda, judged by {who}:")
    rows, right, total = [], 0, 0
    for evening in evenings:
        some, items = agenda_rows(evening, judge)
        worth = {number: line["worth"] for number, line in enumerate(evening["lines"], start=1)}
        gold = {number for row in some for number in row["lines"]}
        rows += some
        total += len(items)
        right += sum(
            bool(gold & {*item.evidence}) or max(worth[e] for e in item.evidence) >= WORTH_KEEPING
            for item in items
        )
    kinds = (*KINDS, "other, with a date")
    grouped = [{"kind": kind} | _sums([r for r in rows if r["kind"] == kind]) for kind in kinds]
    every = _sums(rows)
    report.table(AGENDA_COLUMNS, [*grouped, {"kind": "all"} | every])
    report.note(
        f"{total} items, {right / max(1, total):.1%} of them on a line worth keeping; "
        f"{every['closed wrongly']} closed without reason."
    )
    report.bars.append(Bar("agenda items right", right / max(1, total), 0.85, at_least=True))
    asked = [row for row in rows if row["kind"] in KINDS]
    found = sum(row["found"] for row in asked) / max(1, len(asked))
    report.bars.append(Bar("agenda facts found", found, 0.7, at_least=True))


def _sums(rows: list[Row]) -> Row:
    names = (*AGENDA_COLUMNS[1:], "closed wrongly")
    return {name: sum(int(row[name]) for row in rows) for name in names}


# --- the run --------------------------------------------------------------------------------------


def measure_dates(report: Report, evenings: list[dict[str, Any]]) -> None:
    facts = [fact for evening in evenings for fact in facts_of(evening)]
    own = count("ours", ours, facts)
    rows = [own]
    installed = {name: read for name, read in LIBRARIES.items() if find_spec(name)}
    rows += [count(name, reader, facts) for name, reader in installed.items()]
    report.table(COLUMNS, rows)
    best = {name: max((row[name] for row in rows[1:]), default=0.0) for name in COLUMNS[4:6]}
    report.bars += [
        Bar(f"{name} of due dates", own[name], max(0.9, best[name]), at_least=True) for name in best
    ]
    for name in LIBRARIES.keys() - installed.keys():
        report.note(f"{name} is not installed, so it is not measured.")


def main() -> int:
    parser = arguments("Due dates and the agenda, read from recorded evenings.")
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    options = parser.parse_args()
    files = options.files or sorted(EVENINGS.glob("*-*.json"))
    evenings = [read(file) for file in files]
    lines = sum(len(evening["lines"]) for evening in evenings)
    report = Report("due_dates", f"{lines:,} lines of {len(evenings)} evenings")
    measure_dates(report, evenings)
    measure_agenda(report, evenings, by_rules, "rules")
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
