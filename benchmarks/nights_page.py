"""What nights leave behind: the tables and samples that docs/nights.md is written from.

Two role-play evenings go into one NPC in five parts, as `evennia ai_memory replay` feeds them, with
a night after each, all of it with the offline provider. One LoCoMo conversation goes into another,
with one night in which a small server answers what was recorded of it (`recorded_server`): facts
and summaries as a language model wrote them, everything else offline.

Samples are drawn at random with a fixed seed, good and bad alike.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from .chat_server import ChatServer
from .harness import Report, arguments, game, make, progress
from .locomo_data import load
from .recorded_server import MODEL, Recorded

NIGHTS = 5
SEED = 1
SAMPLE = 10
FACTS = 60  # in the sample that is judged by hand
WIDTH = 500  # characters of a sample that are shown

PASS_COLUMNS = ("night", "pass", "read", "changed", "steps", "seconds")
COUNT_COLUMNS = (
    "night",
    "heard",
    "seconds",
    "experiences",
    "facts",
    "ended",
    "joined",
    "links",
    "profiles",
    "attributes",
    "insights",
    "summaries",
)


# --- the two evenings -----------------------------------------------------------------------------


def evenings(report: Report, files: Sequence[Path], room: Any) -> None:
    """Five nights over all lines of `files`, a fifth of them before each."""
    from contrib_ai_memory.ingest.replay import LogLine, Replay, read_log
    from contrib_ai_memory.management.commands.ai_memory import end_session

    lines = [line for file in files for line in read_log(file) if isinstance(line, LogLine)]
    npc = make("typeclasses.npcs.AssistantNPC", "Mara", room)
    share = -(-len(lines) // NIGHTS)
    rows = []
    for number in range(NIGHTS):
        with Replay(npc) as replay:
            part = lines[number * share : (number + 1) * share]
            with progress(part, f"day {number + 1}", "line") as bar:
                heard = sum([replay.feed(line) for line in bar])
                end_session(replay, bar)
        rows.append(left(npc, number + 1, heard))
    _tell(report, npc, rows)


# --- one conversation with what was recorded of it ------------------------------------------------


def conversation(report: Report, file: Path, name: str, room: Any) -> None:
    """One night over a LoCoMo conversation, its facts and summaries as they were recorded."""
    from django.test.utils import override_settings

    from contrib_ai_memory.ingest.replay import LogLine, Replay
    from contrib_ai_memory.management.commands.ai_memory import end_session

    plain = {each["sample_id"]: each for each in json.loads(file.read_text())}
    talk = next((each for each in load(file) if each.name == name), None)
    if talk is None:
        raise SystemExit(f"{file} holds no conversation {name!r}; it holds {', '.join(plain)}.")
    recorded = Recorded.of(plain[name], talk.turns)
    npc = make("typeclasses.npcs.AssistantNPC", f"Mara of {name}", room)
    with Replay(npc) as replay, progress(talk.turns, name, "line") as bar:
        for turn in bar:
            replay.feed(
                LogLine(
                    id=turn.id,
                    time=turn.when,
                    session=turn.session,
                    speaker=turn.speaker,
                    kind="say",
                    text=turn.text,
                )
            )
        end_session(replay, bar, night=False)
        with ChatServer(MODEL, recorded.answer) as server:
            llm = {"base_url": server.url, "model": MODEL, "retries": 0}
            with override_settings(CONTRIB_AI_MEMORY={"LLM": llm}):
                morning = (talk.turns[-1].when + timedelta(days=1)).isoformat()
                npc.memory.clock = lambda: morning
                end_session(replay, bar)
    _tell(report, npc, [left(npc, 1, len(talk.turns))])
    report.note(
        f"{len(recorded.observations)} observations and {len(recorded.summaries)} summaries are "
        f"recorded; the lines of {len(recorded.given)} observations were shown to the server. It "
        f"was asked: {told(recorded.told)}."
    )


# --- what is left ---------------------------------------------------------------------------------


def left(npc: Any, night: int, heard: int) -> dict[str, Any]:
    """What one NPC holds after a night, in numbers."""
    from contrib_ai_memory import offload

    counts = offload.wait(npc.memory.counts())
    facts = stored(npc, "fact")
    profiles = profiles_of(npc)
    record = npc.assistant.sleep.records[-1]
    return {
        "night": night,
        "heard": heard,
        "seconds": sum(told["seconds"] for told in record["passes"].values()),
        "experiences": counts["experience"],
        "facts": counts["fact"],
        "ended": sum(bool(fact.superseded_by) for fact in facts),
        "joined": sum(len(fact.journal_ids) > 1 for fact in facts),
        "links": npc.memory.links.count,
        "profiles": len(profiles),
        "attributes": sum(len(profile.attributes) for profile in profiles),
        "insights": counts["insight"],
        "summaries": counts["summary"],
    }


def stored(npc: Any, record: str) -> list[Any]:
    """The memories of one kind, oldest first."""
    from contrib_ai_memory.store import memory_store

    found = memory_store.shared().list(npc.memory.id, limit=None, record=record)
    return sorted(found, key=lambda memory: (memory.created_at, memory.id))


def profiles_of(npc: Any) -> list[Any]:
    profiles = npc.memory.profiles
    return [profiles.get(identity) for identity in profiles.identities()]


def _tell(report: Report, npc: Any, rows: Sequence[dict[str, Any]]) -> None:
    report.table(COUNT_COLUMNS, rows)
    passes = [
        {"night": number, "pass": name}
        | {column: done[column] for column in ("read", "changed", "steps", "seconds")}
        for number, record in enumerate(npc.assistant.sleep.records, start=1)
        for name, done in record["passes"].items()
    ]
    report.table(PASS_COLUMNS, passes)
    for record in npc.assistant.sleep.records:
        errors = [error for done in record["passes"].values() for error in done["errors"]]
        if errors or not record["whole"]:
            report.note(f"A night was not whole: {errors}")
    facts = stored(npc, "fact")
    lines = stored(npc, "entry")
    names = {profile.entity_id: profile.name for profile in profiles_of(npc)}
    _samples("Facts, at random", [_with_lines(npc, fact) for fact in facts], count=FACTS)
    often = sorted(facts, key=lambda fact: -len(fact.journal_ids))
    joined = [f"{len(f.journal_ids)} × {f.content}" for f in often if len(f.journal_ids) > 1]
    _samples("Facts heard more than once, most often first", joined, at_random=False)
    by_id = {memory.id: memory for memory in (*lines, *facts)}
    for title, memories in (("Facts", facts), ("Lines", lines)):
        ended = [
            f"{memory.speaker}: {memory.content}  →  {by.speaker}: {by.content}"
            for memory in memories
            if memory.superseded_by and (by := by_id.get(memory.superseded_by))
        ]
        _samples(f"{title} that were ended, and by what", ended)
    attributes = [
        f"{profile.name}, {known.type} {known.confidence:.2f} ({len(known.evidence)}): "
        f"{known.value}"
        for profile in profiles_of(npc)
        for known in profile.attributes
    ]
    _samples("Attributes of everybody, at random", attributes)
    for profile in profiles_of(npc):
        standing = profile.relationship
        _samples(
            f"{profile.name or profile.entity_id}: {standing.state}, favorability "
            f"{standing.favorability:g}, {standing.interactions} lines; attributes "
            f"{told(Counter(known.type for known in profile.attributes))}",
            [
                f"{known.type} {known.confidence:.2f} ({len(known.evidence)}): {known.value}"
                for known in profile.attributes
            ],
            count=6,
        )
    insights = [
        f"{entry.importance}, {len(entry.evidence)} cited: {entry.content}"
        for entry in npc.memory.journal.read()
        if entry.kind == "insight"
    ]
    _samples("Insights", insights, count=30, at_random=False)
    summaries = [f"{m.session_id}: {m.content}" for m in stored(npc, "summary")]
    _samples("Summaries", summaries, count=6, at_random=False)
    heaviest = sorted(stored(npc, "experience"), key=lambda memory: -memory.memory_weight)
    _samples("Experiences, the weightiest", [m.content for m in heaviest], at_random=False)
    about = Counter(names.get(fact.about, fact.about or "nobody") for fact in facts)
    report.note(f"Facts by who said them: {told(about)}.")


def _with_lines(npc: Any, fact: Any) -> str:
    """A fact and the first line that it rests on, to judge it by."""
    said = npc.memory.journal.get(fact.journal_ids[0])
    return f"{fact.content}  ←  {said.seen_as}: {said.content}" if said else fact.content


def told(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "none"


def _samples(
    title: str, texts: Iterable[str], *, count: int = SAMPLE, at_random: bool = True
) -> None:
    texts = list(texts)
    shown = texts[:count]
    if at_random and len(texts) > count:
        places = sorted(random.Random(SEED).sample(range(len(texts)), count))
        shown = [texts[place] for place in places]
    print(f"{title} ({len(texts)}):")
    for text in shown:
        flat = " ".join(text.split())
        print("  - " + (flat if len(flat) <= WIDTH else flat[: WIDTH - 1] + "…"))
    print()


def main() -> int:
    parser = arguments("What nights over two evenings and over one conversation leave behind.")
    parser.add_argument("evening", type=Path, nargs=2, help="an evening as replay lines")
    parser.add_argument("locomo", type=Path, help="conversations in LoCoMo's own format")
    parser.add_argument("--conversation", default="conv-26", help="which of them (%(default)s)")
    options = parser.parse_args()
    report = Report("nights_page", "five nights over two evenings, one over a conversation")
    with game():
        room = make("typeclasses.rooms.Room", "The Drowned Lantern")
        evenings(report, options.evening, room)
        conversation(report, options.locomo, options.conversation, room)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
