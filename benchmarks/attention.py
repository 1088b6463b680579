"""When an NPC answers, beside when a good one would: precision and recall over recorded evenings.

Each line of an evening's file is labelled with whether a good NPC would answer it at once. The
lines are played in their own time through the rule that decides in play, `attention.attend`: who is
present follows from arrivals and departures; whispers and gifts show whom they are for, room talk
only by its words. Before a line stands the talk as it was recorded, with what the NPC said in it.
"By its own answers" passes the NPC's recorded lines over, and the answers that the rule gives stand
in their place: one missed greeting then breaks the whole exchange that was recorded after it.

Lines that name nobody are decided by what `recall.sheet.read_line` reads of them; "without the
local model" as they are heard alone.

The first version answered every line with its name in it, every whisper, whatever was said alone
with it, and all that somebody said within 60 s of its last answer to them; it thanked for no gift.

The weights of the scores are fitted on evenings, stays and company, other ones than are measured:
folds of four evenings, and of the stays that may have an author in common, and two authors of
company. `--fit` writes those of all but these two into the package, and those without each fold of
stays for `benchmarks.stays --live`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from contrib_ai_memory import attention as in_play
from contrib_ai_memory.attention import (
    WEIGHTS,
    Floor,
    HeardLine,
    Score,
    Weights,
    attend,
    features,
    is_open,
    is_spent,
    is_undecided,
    judged,
    read_features,
    wants,
)
from contrib_ai_memory.offline.acts import WANTED, ActReader
from contrib_ai_memory.offline.reactions import is_alarm, is_kept
from contrib_ai_memory.recall import sheet
from contrib_ai_memory.records import LineInTalk, LineReading, TalkLine
from contrib_ai_memory.text.names import forms

from . import company
from .evenings_data import stay_files
from .harness import Bar, Report, arguments, configure_alone, folder
from .talks import as_said

EVENINGS = Path(__file__).resolve().parent / "data" / "evenings"
EXCHANGE_SECONDS = 60.0
UNASKED_REPLIES = 2  # the default of the settings
WITHOUT = Path(__file__).resolve().parent / "data" / "attention_without.json"
FOLD = 4  # evenings left out at once
STAY_FOLDS = (
    ("barge-1", "orchard-1", "post-1", "sewer-1"),
    ("cable-1", "orbit-1", "theatre-1"),
    ("lodge-1", "stable-1"),
)
# what a line counts in the fit, by whether it is answered, as most lines of company are
COUNTS = {False: 1.0, True: 1.0}
COMPANY_COUNTS = {False: 0.5, True: 0.15}
C = 0.03  # inverse L2 of the fit
LEAST_SCALE = 0.1  # standard deviation that a feature counts as having, at least
MOST_STEPS = 1000
DECIMALS = 4
LEAST_PRECISION = 0.93
LEAST_RECALL = 0.80
COLUMNS = ("decided by", "lines", "answered", "rightly", "missed", "precision", "recall")
DIRECT = ("whisper", "give")
UNHEARD = "unheard"  # kind of what is whispered or given to somebody else
READER: list[ActReader] = []  # with it, what is done with words decides where it can


@dataclass(frozen=True, slots=True)
class Labelled:
    """A line of an evening as the NPC perceives it, and whether a good NPC would answer it.

    Attributes:
        sheet: What its builder made the NPC know.
    """

    line: HeardLine
    session: str
    wanted: bool
    heard: LineInTalk
    sheet: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the NPC said in the recorded talk; `to` is None if it was to nobody alone."""

    to: str | None
    at: float
    session: str


Evening = Sequence[Labelled | Spoken]


@cache
def _reading(heard: LineInTalk, known: tuple[str, ...]) -> LineReading:
    reader = READER[0]
    read = reader.read(heard)
    return replace(
        read,
        lead=reader.lead(heard),
        known=sheet.nearness(heard.line.text, known),
        errand=is_kept(heard.line.text),
        alarm=is_alarm(heard.line.text, read),
    )


@dataclass(frozen=True, slots=True)
class Count:
    """Decisions over some lines."""

    lines: int = 0
    rightly: int = 0
    wrongly: int = 0
    missed: int = 0

    def plus(self, answered: bool, wanted: bool) -> Count:
        return Count(
            self.lines + 1,
            self.rightly + (answered and wanted),
            self.wrongly + (answered and not wanted),
            self.missed + (wanted and not answered),
        )

    def __add__(self, other: Count) -> Count:
        return Count(
            self.lines + other.lines,
            self.rightly + other.rightly,
            self.wrongly + other.wrongly,
            self.missed + other.missed,
        )

    @property
    def precision(self) -> float:
        return self.rightly / max(1, self.rightly + self.wrongly)

    @property
    def recall(self) -> float:
        return self.rightly / max(1, self.rightly + self.missed)

    def row(self, who: str) -> dict[str, Any]:
        return {
            "decided by": who,
            "lines": self.lines,
            "answered": self.rightly + self.wrongly,
            "rightly": self.rightly,
            "missed": self.missed,
            "precision": self.precision,
            "recall": self.recall,
        }


def read(file: Path) -> list[Labelled | Spoken]:
    """The talk of an evening, the lines of others each with who else is there.

    Raises:
        SystemExit: It is no evening; says which file and what is wrong.
    """
    try:
        return list(_perceived(json.loads(file.read_text(encoding="utf-8"))))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{file} is no evening ({type(error).__name__}: {error}).") from error


def _perceived(evening: dict[str, Any]) -> Iterable[Labelled | Spoken]:
    npc = evening["npc"]["name"]
    own_names = forms([npc, *evening["npc"]["aliases"]])
    known = tuple(_known(evening))
    npcs = {person["name"] for person in evening["people"] if person.get("npc")}
    session, here = None, []
    talk: list[TalkLine] = []
    for each in evening["lines"]:
        speaker, kind = each["speaker"], each["kind"]
        at = datetime.fromisoformat(each["time"]).timestamp()
        if each["session"] != session:
            session, here, talk = each["session"], [], []
        before, said = tuple(talk), as_said(speaker, each["text"], kind)
        talk.append(said)
        if kind == "leave" and speaker in here:
            here.remove(speaker)
        elif speaker not in (npc, *here):
            here.append(speaker)
        if speaker == npc and kind == "say":
            yield Spoken(each["addressee"] if each["addressee"] in here else None, at, session)
        if each["npc_answers"] is None:
            continue
        told = kind not in DIRECT or each["to"] == npc
        others = () if kind in DIRECT else tuple(forms([p]) for p in here if p != speaker)
        line = HeardLine(
            speaker=speaker,
            text=each["text"],
            at=at,
            kind=kind if told else UNHEARD,
            own_names=own_names,
            others=others,
            of_npc=speaker in npcs,
        )
        present = tuple(here) if told else ()
        heard = LineInTalk(said, (npc, *evening["npc"]["aliases"]), present, before)
        yield Labelled(line, each["session"], bool(each["npc_answers"]), heard, known)


def of_company(evening: company.Evening) -> list[Labelled | Spoken]:
    """Return an evening in company, in which the NPC replies to all that wants a reply."""
    own = forms([evening.npc])
    known = (*(each.text for each in evening.said if each.speaker == company.TAUGHT), evening.what)
    talk: list[Labelled | Spoken] = []
    for said, heard in company.heard(evening, replies=True):
        at = said.number * company.PACE.total_seconds()
        others = [forms([each]) for each in heard.others if each != said.speaker]
        line = HeardLine(
            speaker=said.speaker,
            text=said.text,
            at=at,
            kind=said.kind,
            own_names=own,
            others=() if said.kind in DIRECT else tuple(others),
        )
        if said.wants != company.EITHER:
            talk.append(Labelled(line, evening.id, bool(said.wants), heard, known))
        if said.wants not in ("", company.EITHER) and said.kind != "whisper":
            talk.append(Spoken(said.speaker, at, evening.id))
    return talk


def company_evenings(*, held_out: bool) -> list[Evening]:
    """Return the evenings in company by the authors who are only measured, or by the others."""
    files = [each for each in company.files() if (each.stem in company.HELD_OUT) == held_out]
    return [of_company(evening) for file in files for evening in company.read(file)]


def _known(evening: dict[str, Any]) -> Iterable[str]:
    npc = evening["npc"]
    goals = npc.get("goals") or ""
    yield from (npc.get("desc") or "", npc.get("persona") or "")
    yield goals if isinstance(goals, str) else " ".join(goals)
    for given in evening.get("builder", ()):
        yield given.get("text") or given.get("document") or ""


# --- those who decide -----------------------------------------------------------------------------


@dataclass
class Ours:
    """The rule in play, after the talk as it was recorded; by default with the shipped weights."""

    weights: Weights | None = None
    floor: Floor = field(default_factory=Floor)

    def answers(self, each: Labelled) -> bool:
        line = each.line
        if line.kind == UNHEARD:
            return False
        line = replace(line, turned_to=self.floor.turned_to(line))
        if READER and is_undecided(line, UNASKED_REPLIES):
            read = _reading(each.heard, each.sheet)
            answered = judged(
                read,
                line,
                self.floor,
                spent=is_spent(line, self.floor, UNASKED_REPLIES),
                weights=self.weights,
            )
        else:
            answered = attend(line, self.floor, UNASKED_REPLIES, weights=self.weights)
        self.floor = self.floor.heard(line)
        self.note(line, answered)
        return answered

    def note(self, line: HeardLine, answered: bool) -> None:
        """Note an answer of the rule."""

    def spoke(self, words: Spoken) -> None:
        """Note what the NPC said in the record."""
        last = self.floor.last
        if words.to is None or last is None:
            return
        if last.speaker == words.to:
            self.floor = self.floor.answered(last)
        else:
            self.floor = self.floor.spoken(words.to, words.at)


class ByOwnAnswers(Ours):
    """The same after its own answers, in place of what the NPC said in the record."""

    def note(self, line: HeardLine, answered: bool) -> None:
        if answered:
            self.floor = self.floor.answered(line)

    def spoke(self, words: Spoken) -> None:
        pass


@dataclass
class First:
    """The rule of the first version, after the talk as it was recorded."""

    last: dict[str, float] = field(default_factory=dict)

    def answers(self, each: Labelled) -> bool:
        line = each.line
        if line.kind not in ("say", "whisper") or line.of_npc:
            return False
        answered = (
            line.kind == "whisper"
            or not line.others
            or any(re.search(rf"\b{re.escape(n)}\b", line.text, re.I) for n in line.own_names)
            or line.at - self.last.get(line.speaker, -EXCHANGE_SECONDS - 1) <= EXCHANGE_SECONDS
        )
        self.note(line, answered)
        return answered

    def note(self, line: HeardLine, answered: bool) -> None:
        pass

    def spoke(self, words: Spoken) -> None:
        if words.to:
            self.last[words.to] = words.at


class FirstByOwnAnswers(First):
    """The same after its own answers."""

    def note(self, line: HeardLine, answered: bool) -> None:
        if answered:
            self.last[line.speaker] = line.at

    def spoke(self, words: Spoken) -> None:
        pass


def count(decider: Callable[[], Any], evenings: Sequence[Evening], *kinds: str) -> Count:
    """The decisions of one kind of decider over evenings, each session begun anew."""
    found = Count()
    for evening in evenings:
        session, rule = None, decider()
        for each in evening:
            if each.session != session:
                session, rule = each.session, decider()
            if isinstance(each, Spoken):
                rule.spoke(each)
                continue
            answered = rule.answers(each)
            if not kinds or each.line.kind in kinds:
                found = found.plus(answered, each.wanted)
    return found


# --- fitting --------------------------------------------------------------------------------------


Example = tuple[dict[str, float], bool, float]  # features, whether it is answered, its weight


def examples(evenings: Sequence[Evening], counts: Mapping[bool, float]) -> Iterable[Example]:
    """Yield the open lines, after the talk as it was recorded; `counts` is what one counts, by
    whether it is answered."""
    for evening in evenings:
        session, rule = None, Ours()
        for each in evening:
            if each.session != session:
                session, rule = each.session, Ours()
            if isinstance(each, Spoken):
                rule.spoke(each)
                continue
            line = each.line
            if line.kind == UNHEARD:
                continue
            line = replace(line, turned_to=rule.floor.turned_to(line))
            if is_open(line):
                found = features(line, rule.floor.at(line))
                read = read_features(_reading(each.heard, each.sheet)) if READER else {}
                yield found | read, each.wanted, counts[each.wanted]
            rule.floor = rule.floor.heard(line)


def fitted(evenings: Sequence[Evening], stays: Sequence[Evening]) -> Weights:
    """Fit the scores of open lines; what was read only where there is a reader.

    The score of what is only heard is fitted on evenings alone; stays and company made it worse,
    since people there name the NPC less often and speak to it more. The network has learned from
    the lines of company that the other score is fitted on, and reads these more surely than others.
    """
    some = list(examples(evenings, COUNTS))
    heard = list(features(HeardLine("", "", 0.0), Floor()))
    read = [*heard, *read_features(LineReading((), 0.0)), *map(wants, WANTED)]
    every = [*some, *examples(stays, COUNTS), *(_in_company() if READER else ())]
    return {"heard": _score(some, heard), "read": _score(every, read)}


@cache
def _in_company() -> list[Example]:
    """Return the lines of company, as `READER` reads them."""
    return [*examples(company_evenings(held_out=False), COMPANY_COUNTS)]


def _score(some: Sequence[Example], names: Sequence[str]) -> Score:
    """Fit a logistic regression with L2 over standardised features."""
    from sklearn.linear_model import LogisticRegression

    table = np.array([[found.get(name, 0.0) for name in names] for found, _, _ in some])
    wanted, counts = [each[1] for each in some], [each[2] for each in some]
    mean, scale = table.mean(axis=0), table.std(axis=0)
    scale = np.maximum(scale, LEAST_SCALE)
    fit = LogisticRegression(C=C, max_iter=MOST_STEPS)
    fit.fit((table - mean) / scale, wanted, sample_weight=counts)
    weights = fit.coef_[0] / scale
    rounded = (round(float(each), DECIMALS) for each in weights)
    bias = round(float(fit.intercept_[0] - mean @ weights), DECIMALS)
    return Score(bias, dict(zip(names, rounded, strict=True)))


def left_out(
    decider: type[Ours], evenings: Sequence[Evening], stays: Sequence[Evening], *kinds: str
) -> list[Count]:
    """The decisions over each fold, by weights fitted on the other evenings and the stays."""
    found = []
    for start in range(0, len(evenings), FOLD):
        others = [*evenings[:start], *evenings[start + FOLD :]]
        weights = _fitted_without(start, others, stays)
        some = evenings[start : start + FOLD]
        found.append(count(lambda weights=weights: decider(weights), some, *kinds))
    return found


_fits: dict[tuple[int, bool], Weights] = {}


def _fitted_without(start: int, others: Sequence[Evening], stays: Sequence[Evening]) -> Weights:
    key = (start, bool(READER))
    if key not in _fits:
        _fits[key] = fitted(others, stays)
    return _fits[key]


def _plain(weights: Weights) -> dict[str, Any]:
    return {name: asdict(score) for name, score in weights.items()}


def without_stays(evenings: Sequence[Evening], stays: Mapping[str, Evening]) -> dict[str, Weights]:
    """Fit the weights for each stay without the stays of its fold."""
    found = {}
    for fold in STAY_FOLDS:
        others = [stay for name, stay in stays.items() if name not in fold]
        found |= dict.fromkeys(fold, fitted(evenings, others))
    return found


# --- the run --------------------------------------------------------------------------------------


def measure(report: Report, evenings: list[Evening], stays: dict[str, Evening]) -> None:
    others = [*stays.values()]
    fit = len(evenings) > FOLD
    guessed = sum(left_out(Ours, evenings, others) if fit else [count(Ours, evenings)], Count())
    READER.append(ActReader())
    ours, own, talk = (
        sum(left_out(decider, evenings, others, *kinds), Count())
        if fit
        else count(decider, evenings, *kinds)
        for decider, kinds in ((Ours, ()), (ByOwnAnswers, ()), (Ours, ("say", "whisper")))
    )
    first = count(First, evenings)
    rows = [
        ours.row("ours"),
        guessed.row("without the local model"),
        first.row("the first version"),
        talk.row("ours, talk alone"),
        own.row("ours, by its own answers"),
        count(FirstByOwnAnswers, evenings).row("the first version, by its own answers"),
    ]
    if fit:
        weights = without_stays(evenings, stays)
        for name, decider in (("stays", Ours), ("stays, by its own answers", ByOwnAnswers)):
            counts = [count(lambda w=w, d=decider: d(w), [stays[s]]) for s, w in weights.items()]
            rows.append(sum(counts, Count()).row(name))
    in_company = company_evenings(held_out=True)
    rows.append(count(Ours, in_company).row("company"))
    rows.append(count(ByOwnAnswers, in_company).row("company, by its own answers"))
    READER.clear()
    report.table(COLUMNS, rows)
    report.bars.append(Bar("precision", ours.precision, LEAST_PRECISION, at_least=True))
    report.bars.append(Bar("recall", ours.recall, LEAST_RECALL, at_least=True))
    report.bars.append(
        Bar("precision by its own answers", own.precision, first.precision, at_least=True)
    )


@contextmanager
def weights_without(stay: str) -> Iterator[None]:
    """Have NPCs decide by the weights fitted without the fold of a stay, if it has one."""
    known = json.loads(WITHOUT.read_text("utf-8")).get(stay)
    with folder() as place:
        if known:
            in_play.WEIGHTS = place / WEIGHTS.name
            in_play.WEIGHTS.write_text(json.dumps(known), "utf-8")
        in_play.shipped.cache_clear()
        try:
            yield
        finally:
            in_play.WEIGHTS = WEIGHTS
            in_play.shipped.cache_clear()


def fit(evenings: Sequence[Evening], stays: Mapping[str, Evening]) -> None:
    """Write the weights of all into the package, and those without each fold of stays."""
    READER.append(ActReader())
    made = fitted(evenings, [*stays.values()])
    WEIGHTS.write_text(json.dumps(_plain(made), indent=1) + "\n", "utf-8")
    each = {name: _plain(found) for name, found in without_stays(evenings, stays).items()}
    WITHOUT.write_text(json.dumps(each, indent=1) + "\n", "utf-8")
    READER.clear()


def main() -> int:
    parser = arguments("When an NPC answers, beside when a good one would.")
    parser.add_argument("files", type=Path, nargs="*", help="evenings; by default all of ours")
    parser.add_argument("--fit", action="store_true", help="write the weights into the package")
    options = parser.parse_args()
    configure_alone()
    files = options.files or sorted(EVENINGS.glob("*-*.json"))
    evenings = [read(file) for file in files]
    stays: dict[str, Evening] = {file.stem: read(file) for file in stay_files()}
    if options.fit:
        fit(evenings, stays)
    lines = sum(isinstance(each, Labelled) for evening in evenings for each in evening)
    report = Report("attention", f"{lines:,} lines of {len(evenings)} evenings")
    measure(report, evenings, stays)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
