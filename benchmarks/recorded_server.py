"""A model that knows one LoCoMo conversation and says what was recorded of it (`chat_server`).

It answers two questions of the night: facts, with the recorded
observations whose evidence is among the entries that it is shown, and summaries, with the recorded
summary of the session that the lines are of. Nothing of it is the same, changed or outdated.
Everything else it refuses, and the offline provider does it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .chat_server import Message, said

MODEL = "what-was-recorded"
FACT_LENGTH, SUMMARY_LENGTH = 400, 1200  # characters that an answer may have

IMPORTANCE = 6  # of every line

_NUMBERED = re.compile(r"^([1-9]\d?) (.*)$", re.MULTILINE)  # new lines; known facts begin with 101
_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D\d+:\d+")
_SENTENCE_END = re.compile(r"[.!?](?= |$)")


@dataclass(frozen=True)
class Recorded:
    """What is known of one conversation.

    Attributes:
        turns: The words of a turn → the ids of those who say them.
        observations: (text, ids of the turns that it rests on).
        summaries: Session → its summary.
        told: How often something was answered, by operation.
        given: The observations that were.
    """

    turns: dict[str, tuple[str, ...]]
    observations: tuple[tuple[str, tuple[str, ...]], ...]
    summaries: dict[str, str]
    told: Counter[str] = field(default_factory=Counter)
    given: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, plain: dict[str, Any], turns: list[Any]) -> Recorded:
        """From one conversation of a LoCoMo file, and its turns as they are replayed."""
        of_words: dict[str, tuple[str, ...]] = {}
        for turn in turns:
            words = _as_heard(turn.text)
            of_words[words] = (*of_words.get(words, ()), turn.id)
        observations = [
            (_oneline(text)[:FACT_LENGTH], tuple(_TURN.findall(str(evidence))))
            for session in plain["observation"].values()
            for of_speaker in session.values()
            for text, evidence in of_speaker
        ]
        summaries = {
            _SESSION.match(name)[0]: _bounded(_oneline(text))
            for name, text in plain["session_summary"].items()
        }
        return cls(of_words, tuple(observations), summaries)

    def facts(self, lines: list[dict[str, Any]]) -> dict[str, Any]:
        """The observations that rest on these entries, with the entries that bear them out."""
        entry_of = {
            turn: line["id"]
            for line in lines
            for turn in self.turns.get(_as_heard(line["text"]), ())
        }
        found = []
        for text, evidence in self.observations:
            ids = sorted({entry_of[turn] for turn in evidence if turn in entry_of})
            if ids:
                found.append({"text": text, "entry_ids": ids, "preference": False})
                self.given.add(text)
        return {"facts": found}

    def digest(self, lines: list[dict[str, Any]]) -> dict[str, Any]:
        """The same, in answer to one look at lines; all are worth remembering."""
        blank = {"kind": "other", "about": "", "to": "", "date": "", "same_as": 0, "ends": []}
        facts = [
            {"text": each["text"], "lines": each["entry_ids"], **blank}
            for each in self.facts(lines)["facts"]
        ]
        scores = [{"line": line["id"], "importance": IMPORTANCE} for line in lines]
        return {"importance": scores, "facts": facts, "experiences": []}

    def answer(self, body: dict[str, Any]) -> Message | None:
        """Answer a request as `ChatServer` does, and count it."""
        asked = body.get("response_format", {}).get("json_schema", {}).get("name", "")
        known: dict[str, Callable[[list[dict[str, Any]]], dict[str, Any] | None]] = {
            "DigestAnswer": self.digest,
            "SummaryAnswer": self.summary,
            "ComparisonAnswer": lambda _lines: {"relations": []},
        }
        answer = None
        if asked in known:
            given = body["messages"][1]["content"]
            found = _NUMBERED.findall(given) if asked == "DigestAnswer" else given.splitlines()
            answer = known[asked]([_line(each) for each in found])
        self.told[f"{asked}, {'answered' if answer else 'refused'}"] += 1
        return said(answer) if answer else None

    def summary(self, lines: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The summary of the session that most of the lines are of."""
        sessions: Counter[str] = Counter()
        for line in lines:
            _speaker, _colon, words = line["line"].partition(": ")
            sessions.update({_session_of(turn) for turn in self.turns.get(_as_heard(words), ())})
        for session, _count in sessions.most_common():
            if session in self.summaries:
                return {"summary": self.summaries[session]}
        return None


def _line(given: str | tuple[str, str]) -> dict[str, Any]:
    """One line of a request: JSON, or its number and the words that follow who says them."""
    if isinstance(given, str):
        return json.loads(given)
    number, text = given
    return {"id": int(number), "text": text.partition(" says: ")[2] or text}


def _oneline(text: str) -> str:
    return " ".join(text.split())


def _as_heard(text: str) -> str:
    """As it comes back in a prompt; only to be had inside a game."""
    from contrib_ai_memory.text.sanitising import neutralise, sanitise

    return neutralise(sanitise(text))


def _session_of(turn: str) -> str:
    return "session_" + turn.removeprefix("D").split(":")[0]


def _bounded(text: str) -> str:
    """As many whole sentences as fit."""
    if len(text) <= SUMMARY_LENGTH:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text[:SUMMARY_LENGTH])]
    return text[: ends[-1] if ends else SUMMARY_LENGTH]
