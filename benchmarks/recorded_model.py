"""Evenings with a language model, whose answers were recorded, beside the offline provider.

The requests of the nights and the questions were answered by hand, from nothing but the request, as
a model of middling size would (benchmarks/data/recorded/README.md). A look at lines is answered as
its lines were, each audience in a look of its own then, with other numbers; a question as it was
when it was asked; nobody is described and nothing understood. What was never asked is refused, and
counted.
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

NOTABLE = 4  # importance of lines that an experience rests on

_NUMBERED = re.compile(r"^(\d+) (?:\[[A-Z]\] )?(.*)$", re.MULTILINE)
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
        self._importance: dict[str, int] = {}
        self._facts: list[dict[str, Any]] = []
        self._experiences: list[dict[str, Any]] = []
        self._replies = json.loads((RECORDED / f"{name}.replies.json").read_text("utf-8"))
        for line in (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines():
            plain = json.loads(line)
            told = json.loads(plain["answer"]["content"])
            self._note_look(*_numbered(plain["request"]), told)

    def answer(self, body: dict[str, Any]) -> Message | None:
        """Answer a request as `ChatServer` does."""
        form = _form_of(body)
        self.asked.append(form)
        if form == "DigestAnswer":
            told = self._look(body)
        elif form:
            told = _NOTHING.get(form)
        else:
            told = self._replies.get(_last(body).rpartition("\n")[2])
        if told is None:
            self.unknown.append(body)
            return None
        return said(told)

    def _note_look(self, new: dict[int, str], known: dict[int, str], told: dict[str, Any]) -> None:
        """Note what was told of lines, with texts in place of numbers."""
        importance = {new[each["line"]]: each["importance"] for each in told["importance"]}
        self._importance |= importance
        self._facts += [
            fact
            | {
                "lines": [new[each] for each in fact["lines"]],
                "ends": [known[each] for each in fact["ends"]],
                "same_as": known.get(fact["same_as"], ""),
            }
            for fact in told["facts"]
        ]
        if told["experience"]:
            most = max(importance.values())
            lines = [line for line, score in importance.items() if score >= min(most, NOTABLE)]
            felt = {name: told[name] for name in ("emotions", "weight", "lesson")}
            self._experiences.append({"text": told["experience"], "lines": lines} | felt)

    def _look(self, body: dict[str, Any]) -> dict[str, Any] | None:
        new, known = _numbered(body)
        line_of = {text: number for number, text in new.items()}
        fact_of = {text: number for number, text in known.items()}
        if line_of.keys() - self._importance.keys():
            return None
        facts = [each for each in self._facts if line_of.keys() >= {*each["lines"]}]
        told = {each["text"] for each in facts}
        # as it stands at the end of the lines
        over = {text for each in facts for text in each["ends"]} & told
        return {
            "importance": [
                {"line": number, "importance": self._importance[text]}
                for number, text in new.items()
            ],
            "facts": [
                each
                | {
                    "lines": [line_of[line] for line in each["lines"]],
                    "ends": [fact_of[text] for text in each["ends"] if text in fact_of],
                    "same_as": fact_of.get(each["same_as"], 0),
                }
                for each in facts
                if each["text"] not in over and each["same_as"] not in told
            ],
            "experiences": [
                each | {"lines": [line_of[line] for line in each["lines"]]}
                for each in self._experiences
                if line_of.keys() >= {*each["lines"]}
            ],
        }


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
