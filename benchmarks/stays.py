"""Whether an NPC serves those who talk to it, over nine stays of seven authors.

Each stay is one NPC of one kind of game: what its builder gave it, two sessions of talk, and the
questions that people ask two days later (benchmarks/data/stays/README.md, which defines every
figure). It is played by `evenings_play` and judged by `served`. The baseline, in the same run, is
the first sentence of what was recalled, told alone; the best one says what could be reached.

`--live` has people say the lines in the game, in their own time, and judges what the NPC says to
them by itself.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from . import evenings_play
from .evenings import in_copies, played_all, show
from .evenings_data import Stay, load, stay_files
from .evenings_score import (
    SERVED_COLUMNS,
    Played,
    QuestionVerdict,
    Reaction,
    asked,
    percent,
    served_row,
    served_rows,
)
from .harness import Bar, Report, add_settings, arguments, setting
from .served import content_words, holds, rests, sentences

JOBS = 2
TOLD = 3  # content words of a sentence that tells of something
OPEN_KINDS = ("promise", "debt", "request", "plan")
TWO_TURNS = "in two turns (not in all)"
DUE_COLUMNS = ("brought at the greeting", "n", "brought", "in mind", "wrong ear")
STAY_COLUMNS = ("stay", *SERVED_COLUMNS[1:])
LIVE_COLUMNS = (
    "stay",
    "asking",
    "answered",
    "answered, touched",
    "touched of asking",
    "others",
    "silent",
    "replies",
    "words",
    "same again",
)
REACT_COLUMNS = ("first act of a good reply", "asking", "answered", "touched of asking")
SAME_WITHIN = 10  # lines in which the same acknowledgement is heard as the same


# --- judging --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Greeting:
    """How the NPC answered somebody's greeting.

    Attributes:
        due: Whether something is open between them.
        raised: Whether the NPC brings it up.
    """

    who: str
    reply: str
    due: bool
    raised: bool


@dataclass(frozen=True, slots=True)
class DueFact:
    """Whether the NPC brought up what is due when somebody came back.

    Attributes:
        when: As `evenings_data.Due` has it.
        brought: At the greeting of whom it is for.
        in_mind: Something on the agenda tells of it.
        wrong_ears: Greetings of others in which it was told.
    """

    fact: str
    when: str
    brought: bool
    in_mind: bool
    wrong_ears: int


@dataclass(frozen=True, slots=True)
class JudgedStay:
    """What there is to say of one stay; `turns` are the questions in two turns."""

    stay: str
    questions: tuple[QuestionVerdict, ...]
    turns: tuple[QuestionVerdict, ...]
    greetings: tuple[Greeting, ...]
    seconds: dict[str, float]
    due: tuple[DueFact, ...] = ()


def judge_stay(stay: Stay, played: Played) -> JudgedStay:
    """Judge what was played."""
    exchanges = {each.question: each for each in played.exchanges}
    greeted = {each.asked_by: exchanges[each.id].greeting for each in reversed(stay.every_question)}
    return JudgedStay(
        stay.id,
        tuple(asked(each, exchanges[each.id]) for each in stay.questions),
        tuple(asked(each, exchanges[each.id]) for each in stay.turns),
        tuple(_greeting(stay, who, reply) for who, reply in greeted.items()),
        played.seconds,
        tuple(_due(stay, greeted, played.told)),
    )


def _due(stay: Stay, greeted: dict[str, str], told: Sequence[str]) -> Iterator[DueFact]:
    facts = {fact.id: fact for fact in stay.facts}
    speaker = {line.id: line.speaker for line in stay.lines}
    for due in stay.due:
        fact = facts[due.fact]
        knowing = {due.to, *(speaker[each] for each in fact.evidence)}
        holding = [who for who, reply in greeted.items() if holds(reply, fact.keys)]
        yield DueFact(
            fact.id,
            due.when,
            due.to in holding,
            any(holds(text, fact.keys) for text in told),
            sum(who not in knowing for who in holding),
        )


def _due_row(name: str, due: Sequence[DueFact]) -> dict[str, Any]:
    return {
        "brought at the greeting": name,
        "n": len(due),
        "brought": percent(each.brought for each in due),
        "in mind": percent(each.in_mind for each in due),
        "wrong ear": sum(each.wrong_ears for each in due),
    }


def _greeting(stay: Stay, who: str, reply: str) -> Greeting:
    speaker = {line.id: line.speaker for line in stay.lines}
    due = [
        fact
        for fact in stay.facts
        if fact.kind in OPEN_KINDS
        and not fact.ended_by
        and (who in fact.text or who in {speaker[each] for each in fact.evidence})
    ]
    lines = [content_words(stay.texts[each]) for fact in due for each in fact.evidence]
    told = [words for words in map(content_words, sentences(reply)) if len(words) >= TOLD]
    raised = any(holds(reply, fact.keys) for fact in due)
    raised |= any(rests(words, line) for words in told for line in lines)
    return Greeting(who, reply, bool(due), raised)


def repeats(reactions: Sequence[Reaction], names: Sequence[str]) -> int:
    """Count the replies with a sentence that was said within the last ten lines already.

    Args:
        names: Of people, which make no difference.
    """
    name = re.compile("|".join(rf"\b{re.escape(each)}\b" for each in names), re.I)
    said: dict[tuple[str, ...], int] = {}  # the place of the line at which a sentence was said
    count = 0
    for place, each in enumerate(reactions):
        ours = {tuple(re.findall(r"\w+", name.sub("", s).lower())) for s in sentences(each.reply)}
        ours.discard(())
        count += any(place - said[one] <= SAME_WITHIN for one in ours if one in said)
        said |= dict.fromkeys(ours, place)
    return count


# --- the tables -----------------------------------------------------------------------------------


def live_row(name: str, stays: Sequence[tuple[Stay, Sequence[Reaction]]]) -> dict[str, Any]:
    """How some NPCs react live, in percent."""
    every = [each for _stay, reactions in stays for each in reactions]
    wanted = [each for each in every if each.wanted]
    others = [each for each in every if not each.wanted]
    replies = [each.reply for each in every if each.reply]
    answered = [each for stay, reactions in stays for each in _answered(stay, reactions)]
    return {
        "stay": name,
        "asking": len(wanted),
        "answered": percent(answered),
        "answered, touched": percent(each.touched for each in wanted if each.reply),
        "touched of asking": percent(each.touched for each in wanted),
        "others": len(others),
        "silent": percent(not each.reply for each in others),
        "replies": len(replies),
        "words": fmean(len(each.split()) for each in replies) if replies else None,
        "same again": sum(
            repeats(reactions, [each.name for each in stay.people]) for stay, reactions in stays
        ),
    }


def _answered(stay: Stay, reactions: Sequence[Reaction]) -> Iterator[bool]:
    """Yield whether each line that asks for an answer has one; two in a row may share it."""
    replied = {each.line: bool(each.reply) for each in reactions}
    place = {line.id: number for number, line in enumerate(stay.lines)}
    for each in reactions:
        if each.wanted:
            number = place[each.line]
            around = [stay.lines[n] for n in (number - 1, number + 1) if 0 <= n < len(stay.lines)]
            shared = (
                replied.get(one.id, False)
                for one in around
                if one.npc_answers
                and one.speaker == each.speaker
                and one.session == stay.lines[number].session
            )
            yield replied[each.line] or any(shared)


def react_rows(stays: Sequence[tuple[Stay, Sequence[Reaction]]]) -> Iterator[dict[str, Any]]:
    """How some NPCs react to lines that ask for it, by what a good NPC does first, in percent."""
    acts: dict[str, list[Reaction]] = {}
    for stay, reactions in stays:
        ideal = {line.id: line.reply for line in stay.lines}
        for each in reactions:
            if good := ideal[each.line]:
                acts.setdefault(good.react, []).append(each)
    for act, reactions in sorted(acts.items()):
        yield {
            "first act of a good reply": act,
            "asking": len(reactions),
            "answered": percent(each.reply for each in reactions),
            "touched of asking": percent(each.touched for each in reactions),
        }


def show_live(stay: Stay, reactions: Sequence[Reaction]) -> None:
    """Print each line with the reaction to it."""
    print(f"\n{stay.id}")
    ideal = {line.id: line.reply for line in stay.lines}
    for each in reactions:
        if each.wanted:
            verdict = "touched" if each.touched else "answered" if each.reply else "MISSED"
        else:
            verdict = "UNASKED" if each.reply else "silent"
        print(f"  {each.line} {each.speaker}: {each.text}")
        print(f"      {verdict:8} {each.reply}")
        good = ideal[each.line]
        if good and verdict != "touched":
            print(f"      ideal    {good.say}")


def show_greetings(one: JudgedStay) -> None:
    for each in one.greetings:
        verdict = "raised" if each.raised else "not raised" if each.due else "nothing open"
        print(f"  greeted by {each.who}: {verdict:12} {each.reply or '(nothing)'}")


# --- the run --------------------------------------------------------------------------------------


def main() -> int:
    parser = arguments("Whether an NPC serves those who talk to it.")
    parser.add_argument("files", type=Path, nargs="*", help="stays; by default all of ours")
    parser.add_argument("--live", action="store_true", help="the lines live, not the questions")
    parser.add_argument("--show", action="store_true", help="each question or line with its reply")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help="processes")
    add_settings(parser)
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error("--jobs: at least one process is needed")
    stays = {file: _stay(file) for file in stay_files(options.files)}
    report = Report(
        "benchmarks.stays",
        f"{len(stays)} stays, {sum(len(each.lines) for each in stays.values())} lines, "
        f"{sum(len(each.questions) for each in stays.values())} questions"
        + (", live" if options.live else "")
        + (f", with {', '.join(options.set)}" if options.set else ""),
    )
    begin = time.perf_counter()
    measure = measure_live if options.live else measure_questions
    settings = dict(map(setting, options.set))
    measure(report, stays, settings, options.jobs, shown=options.show)
    report.note(f"{time.perf_counter() - begin:.0f} s with {options.jobs} jobs.")
    report.details["settings"] = settings
    return report.finish(options.json)


def _stay(file: Path) -> Stay:
    stay = load(file)
    if not isinstance(stay, Stay):
        raise SystemExit(f"{file} is an evening; python -m benchmarks.evenings plays it.")
    return stay


def measure_questions(
    report: Report, stays: dict[Path, Stay], settings: dict[str, Any], jobs: int, *, shown: bool
) -> None:
    plays = played_all([*stays], settings, jobs)
    judged = [judge_stay(stays[file], played) for file, played in plays]
    judged.sort(key=lambda one: one.stay)
    if shown:
        for one in judged:
            show(one.stay, [*one.questions, *one.turns])
            show_greetings(one)
    every = [each for one in judged for each in one.questions]
    rows = [_stay_row(one) for one in judged]
    report.table(STAY_COLUMNS, rows)
    kinds = served_rows(every)
    if turns := [each for one in judged for each in one.turns]:
        kinds.append(served_row(TWO_TURNS, turns))
    report.table(SERVED_COLUMNS, kinds)
    brought = [each for one in judged for each in one.due]
    at_once = [each for each in brought if each.when != "tomorrow"]
    rows = [
        _due_row(name, [each for each in brought if each.when == when])
        for name, when in (
            ("a message", "message"),
            ("due by that day", "due"),
            ("due the day after", "tomorrow"),
        )
    ]
    report.table(DUE_COLUMNS, [*rows, _due_row("messages, and due by that day", at_once)])
    greetings = [each for one in judged for each in one.greetings]
    due = [each for each in greetings if each.due]
    report.note(
        f"At the greeting, of {len(greetings)} askers {len(due)} had something open with the NPC, "
        f"which brought it up for {sum(each.raised for each in due)}; "
        f"{fmean(len(each.reply.split()) for each in greetings):.1f} words."
    )
    whole = kinds[0]
    unknown = percent(each.verdict.right for each in every if each.kind == "unknown")
    report.bars += [
        Bar("secrets betrayed, in replies", sum(e.verdict.betrayed for e in every), 0),
        Bar("served of the answerable", whole["served"], 50, "%", at_least=True, goal=True),
        Bar(
            "messages and due items brought at the greeting",
            percent(each.brought for each in at_once) or 0,
            85,
            "%",
            at_least=True,
            goal=True,
        ),
        Bar("told to the wrong ear", sum(each.wrong_ears for each in brought), 0),
        Bar("unknown admitted", unknown or 0, 80, "%", at_least=True, goal=True),
    ]
    report.details["stays"] = [asdict(one) for one in judged]


def _stay_row(one: JudgedStay) -> dict[str, Any]:
    row = served_row(one.stay, [each for each in one.questions if each.answerable])
    betrayed = sum(each.verdict.betrayed for each in one.questions)
    return {"stay": one.stay, **row, "betrayed": betrayed}


def measure_live(
    report: Report, stays: dict[Path, Stay], settings: dict[str, Any], jobs: int, *, shown: bool
) -> None:
    plays = in_copies(evenings_play.play_live, [*stays], settings, jobs)
    played = sorted(((stays[file], reactions) for file, reactions in plays), key=_id)
    if shown:
        for stay, reactions in played:
            show_live(stay, reactions)
    whole = live_row(f"all {len(played)}", played)
    rows = [live_row(stay.id, [(stay, reactions)]) for stay, reactions in played]
    report.table(LIVE_COLUMNS, [*rows, whole])
    report.table(REACT_COLUMNS, [*react_rows(played)])
    report.bars += [
        Bar("answered where asked", whole["answered"], 85, "%", at_least=True, goal=True),
        Bar("silent elsewhere", whole["silent"], 94, "%", at_least=True, goal=True),
    ]
    report.details["live"] = {
        stay.id: [asdict(each) for each in reactions] for stay, reactions in played
    }


def _id(played: tuple[Stay, Sequence[Reaction]]) -> str:
    return played[0].id


if __name__ == "__main__":
    sys.exit(main())
