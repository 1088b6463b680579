"""Due dates, read from recorded evenings.

Each gold fact of an evening that is a promise, a debt, a request or a plan, or that has
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

from contrib_ai_memory.english.due_dates import due

from .harness import Bar, Report, Row, arguments

EVENINGS = Path(__file__).resolve().parent / "data" / "evenings"
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
    parser = arguments("Due dates, read from recorded evenings.")
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    options = parser.parse_args()
    files = options.files or sorted(EVENINGS.glob("*-*.json"))
    evenings = [read(file) for file in files]
    lines = sum(len(evening["lines"]) for evening in evenings)
    report = Report("due_dates", f"{lines:,} lines of {len(evenings)} evenings")
    measure_dates(report, evenings)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
