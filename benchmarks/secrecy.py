"""Whether the answers that tell a secret are known from those that tell none.

Judged are the questions of the recorded evenings for which a secret comes to mind, each with the
answer that was written for it by hand: it tells a secret if it rests on a private line. The
baseline whispers whenever a secret comes to mind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contrib_ai_memory import offload
from contrib_ai_memory.recall.told_secrets import Secret, tells_secret
from contrib_ai_memory.records import OWN

from . import evenings
from .evenings_data import Evening, files, load
from .evenings_score import percent
from .harness import Bar, Report, arguments, game

COLUMNS = ("whispered", "of those that tell a secret", "of the others")


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its gold answer and what came to mind, private and public."""

    asked: str
    answer: str
    secrets: tuple[Secret, ...]
    public: tuple[str, ...]
    tells: bool


def cases(evening: Evening, played: Any) -> Iterator[Case]:
    """Yield the answerable questions of an evening for which a secret comes to mind."""
    questions = {each.id: each for each in evening.questions}
    for exchange in played.exchanges:
        question, request = questions[exchange.question], exchange.request
        memories = [each.memory for each in request.recalled] if request else []
        private = [each for each in memories if each.private]
        if not private or not question.answer:
            continue
        behind = {played.line_of.get(number) for each in private for number in each.journal_ids}
        yield Case(
            question.text,
            question.answer,
            tuple(Secret(each.said, each.witnesses, own=OWN in each.tags) for each in private),
            (
                *(each.content for each in memories if not each.private),
                *(request.persona, request.npc_name, request.speaker),
            ),
            not behind.isdisjoint(question.evidence),
        )


def share(found: Sequence[Case], judge: Callable[[Case], bool], *, tells: bool) -> float:
    """Return how many answers of one kind are whispered, in percent."""
    return percent(judge(each) for each in found if each.tells is tells) or 0.0


def by_deed(case: Case, *, marked: bool = False) -> bool:
    told = tells_secret(case.answer, case.asked, case.secrets, case.public, marked=marked)
    return bool(offload.wait(told))


def main() -> int:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    parser.add_argument("--jobs", type=int, default=evenings.JOBS, metavar="N", help="processes")
    options = parser.parse_args()
    chosen = files(options.files)
    played = dict(evenings.played_all(chosen, {}, options.jobs))
    found = [each for file in chosen for each in cases(load(file), played[file])]
    secret = sum(each.tells for each in found)
    report = Report(
        "benchmarks.secrecy", f"{secret} answers with a secret, {len(found) - secret} without"
    )
    rows = {
        "whenever a secret comes to mind": lambda case: True,
        "where the answer tells one": by_deed,
        "where the model marked it, too": lambda case: by_deed(case, marked=True),
    }
    with game():
        shares = {
            name: [share(found, judge, tells=tells) for tells in (True, False)]
            for name, judge in rows.items()
        }
    report.table(
        COLUMNS, [dict(zip(COLUMNS, (name, *both), strict=True)) for name, both in shares.items()]
    )
    told, needless = shares["where the answer tells one"]
    report.bars += [
        Bar("answers that tell a secret, whispered", told, 95, "%", at_least=True),
        Bar("answers that tell none, whispered", needless, 5, "%"),
    ]
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
