"""Evenings with a language model, whose answers were recorded, beside the offline provider.

The requests of the nights and the questions were answered by hand, from nothing but the request, as
a model of middling size would (benchmarks/data/recorded/README.md). A look at lines is answered as
it was for the same lines, though known facts may have other numbers now; a question as it was when
it was asked. What was never asked is refused, and counted.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .chat_server import ChatServer, Message, said
from .evenings import COLUMNS, play_all, row
from .evenings_data import FOLDER, load
from .evenings_score import Judged, figures
from .harness import Bar, Report, arguments

RECORDED = FOLDER.parent / "recorded"
MODEL = "answers-by-hand"
FIRST_KNOWN = 101  # numbers of known facts begin with it; lines are below
TIMEOUT = 60

_NUMBERED = re.compile(r"^(\d+) (.*)$", re.MULTILINE)
_NOTHING = {
    "QuestionsAnswer": {"questions": ["Whom can it trust?"]},
    "InsightsAnswer": {"insights": []},
    "AttributesAnswer": {"attributes": []},
}


class RecordedModel:
    """Answers the requests of one evening.

    Attributes:
        asked: The name of the form of each request; "" is a reply.
        unknown: Those to which nothing was recorded.
    """

    def __init__(self, name: str):
        self.asked: list[str] = []
        self.unknown: list[dict[str, Any]] = []
        self._looks: dict[tuple[str, ...], tuple[dict[str, Any], dict[int, str]]] = {}
        self._replies = json.loads((RECORDED / f"{name}.replies.json").read_text("utf-8"))
        self._others: dict[str, str] = {}
        for line in (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines():
            plain = json.loads(line)
            request, content = plain["request"], plain["answer"]["content"]
            if _form_of(request) == "DigestAnswer":
                new, known = _numbered(request)
                self._looks[tuple(new.values())] = (json.loads(content), known)
            else:
                self._others[_last(request)] = content

    def answer(self, body: dict[str, Any]) -> Message | None:
        """Answer a request as `ChatServer` does."""
        form = _form_of(body)
        self.asked.append(form)
        if form == "DigestAnswer":
            told = self._look(body)
        elif form:
            told = self._others.get(_last(body)) or _NOTHING.get(form)
        else:
            told = self._replies.get(_last(body).rpartition("\n")[2])
        if told is None:
            self.unknown.append(body)
            return None
        return said(told)

    def _look(self, body: dict[str, Any]) -> dict[str, Any] | None:
        new, known = _numbered(body)
        if tuple(new.values()) not in self._looks:
            return None
        answer, then = self._looks[tuple(new.values())]
        number_of = {text: number for number, text in known.items()}
        facts = [
            fact
            | {
                "ends": [number_of[then[each]] for each in fact["ends"] if then[each] in number_of],
                "same_as": number_of.get(then.get(fact["same_as"], ""), 0),
            }
            for fact in answer["facts"]
        ]
        return answer | {"facts": facts}


def _form_of(request: dict[str, Any]) -> str:
    return request.get("response_format", {}).get("json_schema", {}).get("name", "")


def _last(request: dict[str, Any]) -> str:
    return request["messages"][-1]["content"]


def _numbered(request: dict[str, Any]) -> tuple[dict[int, str], dict[int, str]]:
    """Return the new lines and the known facts of a look, by their numbers."""
    given = _NUMBERED.findall(request["messages"][1]["content"])
    found = {int(number): text for number, text in given}
    new = {number: text for number, text in found.items() if number < FIRST_KNOWN}
    return new, {number: text for number, text in found.items() if number >= FIRST_KNOWN}


# --- the run --------------------------------------------------------------------------------------


def by_model(file: Path, report: Report) -> Judged:
    """Play and judge an evening with its recorded model."""
    model = RecordedModel(file.stem)
    with ChatServer(MODEL, model.answer) as server:
        llm = {"base_url": server.url, "model": MODEL, "timeout": TIMEOUT}
        [judged] = play_all([file], {"LLM": llm}, jobs=1)
    looks = len(model.asked) - model.asked.count("")
    report.note(f"{file.stem}: {looks} requests of nights; {len(model.unknown)} never answered.")
    return judged


def bars(judged: Sequence[Judged]) -> list[Bar]:
    found = figures(judged)
    aloud = sum(bool(each.betrayed_in_reply) for one in judged for each in one.questions)
    return [
        Bar("gold facts found", found.facts_found or 0, 95, "%", at_least=True),
        Bar("old facts that still stand", found.stale, found.ended / 6),
        Bar("answers right of the answerable", found.right or 0, 92, "%", at_least=True),
        Bar("secrets betrayed in replies", aloud, 0),
    ]


def main() -> int:
    options = arguments(__doc__.partition("\n")[0]).parse_args()
    names = sorted(each.name.partition(".")[0] for each in RECORDED.glob("*.replies.json"))
    chosen = [FOLDER / f"{name}.json" for name in names]
    lines = sum(len(load(file).lines) for file in chosen)
    report = Report("benchmarks.recorded_model", f"{', '.join(names)}: {lines} lines")
    offline = sorted(play_all(chosen, {}, jobs=1), key=lambda one: one.evening)
    judged = [by_model(file, report) for file in chosen]
    report.table(
        COLUMNS,
        [
            row(f"{one.evening}, {how}", figures([one]))
            for both in zip(offline, judged, strict=True)
            for how, one in zip(("offline", "model"), both, strict=True)
        ],
    )
    report.bars += bars(judged)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
