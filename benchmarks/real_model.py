"""Evenings whose memory a real language model keeps on a real server, beside the offline provider.

`AI_MEMORY_LLM` names the server (`llama_server`). Each evening is replayed with its nights, then
the first of its questions are asked, as `evenings` does, and lines are said to the NPC of the
sessions that it did not live through. An agenda item is false where no line
that it rests on is labelled as a promise, debt, request or plan. Whether facts are faithful and
replies fit to be spoken, a reader judges: `--json` writes them all, with the lines that each fact
cites.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import evenings_play, llama_server
from .evenings_data import FOLDER, load
from .evenings_score import Figures, Judged, Played, figures, judge
from .harness import Bar, Report, Row, arguments, game, progress

EVENING = "keep-1"
REPLIES = 20
TALK = 20
TIMEOUT = 300  # seconds of one call: two cores read 60 tokens a second and write 25
COMMITS = frozenset({"promise", "debt", "request_npc", "plan"})

COLUMNS = (
    *("evening", "by", "facts found", "facts right", "of", "stale", "of model", "refused"),
    *("agenda", "false", "calls", "replies", "right", "replies of model"),
    *("nights s", "replies s"),
    *("talk", "talk of model", "talk s"),
)


def live(
    file: Path, settings: dict[str, Any], talk: Sequence[dict[str, Any]] = ()
) -> tuple[Judged, dict[str, Any]]:
    """Live through an evening, and ask its questions.

    Args:
        talk: Lines that are said to the NPC then, each as if it were the first.

    Returns:
        The verdicts, and what a reader judges: facts with the lines that they cite, agenda items,
        replies, and what the passes of the nights did.
    """
    from contrib_ai_memory import conf
    from contrib_ai_memory.llm import findings

    evening = load(file)
    texts = {line.id: f"{line.speaker}: {line.text}" for line in evening.lines}
    with evenings_play.own_store(settings):
        if llm := conf.get().LLM:
            findings.size_of(llm)  # as the start of the game does: a file's name may not tell it
        speaks = llm is not None and llm.speaks
        playing = evenings_play.Playing(evening)
        playing.npc.db.persona, playing.npc.db.goals = evening.npc.persona, evening.npc.goals
        with _spoken() as spoken:
            played = playing.whole(file, ())
            began = time.monotonic()
            answered = [(line, playing.answer_to(line["speaker"], line["text"])) for line in talk]
            talked = time.monotonic() - began
        agenda = [*_agenda(playing, played)]
    judged = judge(evening, played)
    return judged, {
        "facts": [
            {"text": each.text, "by": each.provider, "current": each.current}
            | {"lines": [texts[line] for line in each.lines]}
            for each in played.stored
            if each.record == "fact"
        ],
        "agenda": agenda,
        "replies": [
            {"question": each.text, "reply": each.reply, "right": each.right}
            | {"of_model": each.text in spoken}
            for each in judged.questions
        ],
        "talk": [
            {"line": f"{line['speaker']}: {line['text']}", "acts": line["kinds"], "reply": reply}
            | {"of_model": line["text"] in spoken}
            for line, reply in answered
        ],
        "speaks": speaks,
        "talk s": round(talked, 1),
        "nights": playing.nights,
    }


def beginning(file: Path, sessions: int, questions: int, place: Path) -> Path:
    """Write the first sessions of an evening, with what can be known of them, to a folder.

    Args:
        sessions: 0 for all.
        questions: So many are asked.
    """
    plain = json.loads(file.read_text("utf-8"))
    names = list(dict.fromkeys(line["session"] for line in plain["lines"]))[: sessions or None]
    plain["lines"] = [line for line in plain["lines"] if line["session"] in names]
    known = {line["id"] for line in plain["lines"]}
    for part in ("facts", "questions"):
        plain[part] = [each for each in plain[part] if known.issuperset(each["evidence"])]
    for fact in plain["facts"]:
        fact["ended_by"] = fact["ended_by"] if fact["ended_by"] in known else None
    plain["questions"] = plain["questions"][:questions]
    made = place / file.name
    made.write_text(json.dumps(plain), "utf-8")
    return made


def talk_after(file: Path, sessions: int, count: int) -> list[dict[str, Any]]:
    """Return lines that others say after the first sessions of an evening, spread evenly.

    Args:
        sessions: As of `beginning`.
        count: At most so many.
    """
    plain = json.loads(file.read_text("utf-8"))
    lines, name = plain["lines"], plain["npc"]["name"]
    lived = set(list(dict.fromkeys(line["session"] for line in lines))[: sessions or None])
    said = [
        line
        for line in lines
        if line["session"] not in lived and line["kind"] == "say" and line["speaker"] != name
    ]
    return said[:: max(1, len(said) // count)][:count] if count else []


def _agenda(playing: Any, played: Played) -> Iterator[dict[str, Any]]:
    """Yield the agenda items, each with the lines that it rests on and whether it is false."""
    from contrib_ai_memory.admin import inspect

    lines = {line.id: line for line in playing.evening.lines}
    for each in inspect.agenda(playing.npc):
        rests = [lines[played.line_of[n]] for n in each.item.evidence if played.line_of.get(n)]
        own = bool(rests) and all(line.speaker == playing.npc.key for line in rests)
        yield {
            "kind": each.item.kind,
            "text": each.item.told or each.item.text,
            "state": each.item.state,
            "lines": [f"{line.speaker}: {line.text}" for line in rests],
            "false": not own and not any(COMMITS & set(line.kinds) for line in rests),
        }


@contextmanager
def _spoken() -> Iterator[set[str]]:
    """Collect the lines that the model answered."""
    from contrib_ai_memory.recall.tool_loop import ToolLoop

    run, spoken = ToolLoop.run, set[str]()

    def noted(loop: Any, work: Any, actions: Any) -> Any:
        def note(text: str | None) -> str | None:
            if text is not None:
                spoken.add(loop._request.utterance)
            return text

        return run(loop, work, actions).addCallback(note)

    ToolLoop.run = noted  # type: ignore[method-assign]
    try:
        yield spoken
    finally:
        ToolLoop.run = run  # type: ignore[method-assign]


# --- the run --------------------------------------------------------------------------------------


def row(by: str, judged: Judged, seen: dict[str, Any]) -> Row:
    """The figures of an evening as a row of the table."""
    found, by_model = figures([judged]), Counter(fact["by"] for fact in seen["facts"])
    nights = [each for night in seen["nights"] for each in night.values()]
    return {
        "evening": judged.evening,
        "by": by,
        "facts found": found.facts_found,
        "facts right": found.facts_right,
        "of": found.facts_stored,
        "stale": f"{found.stale}/{found.ended}",
        "of model": by_model["openai"],
        "refused": sum(sum(each.get("refused", {}).values()) for each in nights),
        "agenda": len(seen["agenda"]),
        "false": sum(each["false"] for each in seen["agenda"]),
        "calls": sum(each.get("calls", 0) for each in nights),
        "replies": len(seen["replies"]),
        "right": found.right,
        "replies of model": sum(each["of_model"] for each in seen["replies"]),
        "nights s": judged.seconds.get("nights", 0.0),
        "replies s": judged.seconds.get("questions", 0.0),
        "talk": len(seen["talk"]),
        "talk of model": sum(each["of_model"] for each in seen["talk"]),
        "talk s": seen["talk s"],
    }


def main() -> int:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("evenings", nargs="*", default=[EVENING], help=f"by default {EVENING}")
    parser.add_argument("--model", action="append", help="one of those that are there; else all")
    parser.add_argument("--sessions", type=int, default=0, metavar="N", help="the first N alone")
    parser.add_argument("--replies", type=int, default=REPLIES, metavar="N", help="questions asked")
    parser.add_argument("--talk", type=int, default=TALK, metavar="N", help="lines said to it")
    options = parser.parse_args()
    place = os.environ.get(llama_server.PLACE, "")
    try:
        models = options.model or llama_server.models(place)
    except llama_server.NoServer as problem:
        raise SystemExit(str(problem)) from None
    report = Report("benchmarks.real_model", f"{', '.join(options.evenings)}: {', '.join(models)}")
    rows, seen = [], {}
    with game() as folder:
        for name in options.evenings:
            whole = FOLDER / f"{name}.json"
            file = beginning(whole, options.sessions, options.replies, folder)
            talk = talk_after(whole, options.sessions, options.talk)
            alone, details = live(file, {}, talk)
            offline = figures([alone])
            rows.append(row("offline", alone, details))
            seen[f"{name}, offline"] = details
            for model in progress(models, name, "model"):
                with llama_server.served(place, model) as url:
                    llm = {"base_url": url, "model": model, "timeout": TIMEOUT}
                    judged, details = live(file, {"LLM": llm}, talk)
                rows.append(row(model, judged, details))
                seen[f"{name}, {model}"] = details
                report.bars += bars(f"{name}, {model}", figures([judged]), offline, rows[-1])
    report.table(COLUMNS, rows)
    report.details = {"seen": seen}
    return report.finish(options.json)


def bars(name: str, found: Figures, offline: Figures, told: Row) -> list[Bar]:
    """With a small model, memory and answers are not worse than without."""
    least = (offline.facts_found or 0) - 0.01
    return [
        Bar(f"facts found, {name}", found.facts_found or 0, least, "%", at_least=True),
        Bar(f"old facts that still stand, {name}", found.stale, offline.stale),
        Bar(f"false agenda items, {name}", told["false"], 0),
        Bar(
            f"answered right, {name}",
            found.right or 0,
            (offline.right or 0) - 0.01,
            "%",
            at_least=True,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
