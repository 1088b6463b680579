"""Conversations in LoCoMo's own format (Maharana et al. 2024): turns, questions, evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

SECONDS_A_TURN = 30


@dataclass(frozen=True)
class Turn:
    id: str
    session: str
    when: datetime
    speaker: str
    text: str


@dataclass(frozen=True)
class Asked:
    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class Conversation:
    name: str
    turns: list[Turn]
    questions: list[Asked]


def load(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file; evidence that names no turn is left out."""
    return [_conversation(plain) for plain in json.loads(path.read_text())]


def _conversation(plain: dict[str, Any]) -> Conversation:
    talk = plain["conversation"]
    numbers = sorted(int(m[1]) for key in talk if (m := re.fullmatch(r"session_(\d+)", key)))
    turns = [turn for number in numbers for turn in _session(talk, number)]
    known = {turn.id for turn in turns}
    questions = [
        Asked(str(qa["question"]), qa["category"], frozenset(_evidence(qa)) & known)
        for qa in plain["qa"]
    ]
    return Conversation(plain["sample_id"], turns, [q for q in questions if q.evidence])


def _session(talk: dict[str, Any], number: int) -> Iterator[Turn]:
    when = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
    for index, line in enumerate(talk[f"session_{number}"]):
        caption = line.get("blip_caption")
        shared = f" [shares a photo: {caption}]" if caption else ""
        yield Turn(
            line["dia_id"],
            f"session_{number}",
            when.replace(tzinfo=UTC) + timedelta(seconds=SECONDS_A_TURN * index),
            line["speaker"],
            line["text"] + shared,
        )


def _evidence(qa: dict[str, Any]) -> list[str]:
    found = re.findall(r"D(\d+):(\d+)", " ".join(map(str, qa.get("evidence", []))))
    return [f"D{int(session)}:{int(turn)}" for session, turn in found]
