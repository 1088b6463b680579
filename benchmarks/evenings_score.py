"""The figures of evenings: what was played (`evenings_play`), judged by what there is to know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from scipy.stats import spearmanr

from contrib_ai_memory.records import ReplyRequest

from .evenings_data import NOT_ANSWERABLE, Evening, Fact, Groups, Question
from .served import Verdict, admits, forbidden, plain

KEEPS = ("fact", "insight", "summary")  # records in which a gold fact is found
WORTH_KNOWING = 2  # least `worth` of a line that a right fact rests on


# --- what was played ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory after the last night; `lines` are those it rests on, `current` not ended.

    `provider` is the name of the one that drew it.
    """

    record: str
    type: str
    text: str
    lines: tuple[str, ...]
    current: bool
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question as it was played.

    Attributes:
        given: The prompt without its static rules and the question.
        recalled: Texts of what the recall brought up.
        lines: The lines behind them.
        tokens: Of the contents recalled, as the budget counts them.
        given_tokens: Of all that is `given`.
        verdict: Whether the reply serves.
        first, best: Whether the first sentence that was recalled, told alone, would serve, and
            whether any of them would.
        greeting: What the NPC said before, when it was greeted.
        request: What the provider was asked; None if nothing was.
    """

    question: str
    reply: str
    given: str
    recalled: tuple[str, ...]
    lines: frozenset[str]
    tokens: int
    given_tokens: int
    verdict: Verdict
    first: bool = False
    best: bool = False
    greeting: str = ""
    request: ReplyRequest | None = None


@dataclass(frozen=True, slots=True)
class Reaction:
    """What the NPC said to a line that it heard live, "" for nothing.

    Attributes:
        wanted: Whether a good NPC answers the line.
        touched: Whether it takes up the matter of the line.
    """

    line: str
    speaker: str
    text: str
    wanted: bool
    reply: str
    touched: bool


@dataclass(frozen=True, slots=True)
class Attended:
    """Decisions about lines that others said and did."""

    rightly: int
    wrongly: int
    missed: int


@dataclass(frozen=True, slots=True)
class Played:
    """An evening as the NPC lived it.

    Attributes:
        told: Attributes of profiles and agenda items, as text.
        without: The exchanges without each part of the memory (`evenings_ablation`).
        importance: Of lines by others, after the nights.
        seconds: By part: lines, nights, questions.
        line_of: Line ids by journal id.
    """

    stored: tuple[Stored, ...]
    told: tuple[str, ...]
    importance: dict[str, int]
    exchanges: tuple[Exchange, ...]
    attention: Attended
    seconds: dict[str, float]
    line_of: dict[int, str]
    without: dict[str, tuple[Exchange, ...]] = field(default_factory=dict)


# --- verdicts -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FactVerdict:
    """A gold fact: `found` is the text that holds it, `stale` the old one that still stands."""

    fact: str
    kind: str
    text: str
    ended: bool
    found: str | None
    stale: str | None


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A stored fact; `wrong` says why it is, "" if it is right."""

    text: str
    type: str
    lines: tuple[str, ...]
    current: bool
    wrong: str


@dataclass(frozen=True, slots=True)
class QuestionVerdict:
    """A question, its reply, and what is to be said of it.

    Attributes:
        right: As the README of the evenings says, `verdict.right` as that of the stays does.
        evidence: The share of its lines that was recalled.
        first, best: As in `Exchange`.
    """

    id: str
    kind: str
    asked_by: str
    private: bool
    text: str
    answer: str | None
    reply: str
    right: bool
    verdict: Verdict
    first: bool
    best: bool
    prompt: bool
    evidence: float | None
    missing: tuple[str, ...]
    betrayed_in_reply: tuple[str, ...]
    betrayed_in_prompt: tuple[str, ...]
    tokens: int
    given_tokens: int
    recalled: tuple[str, ...]

    @property
    def answerable(self) -> bool:
        return self.kind not in NOT_ANSWERABLE

    @property
    def betrayed(self) -> bool:
        return bool(self.betrayed_in_reply or self.betrayed_in_prompt)


@dataclass(frozen=True, slots=True)
class Judged:
    """Everything there is to say of one evening."""

    evening: str
    facts: tuple[FactVerdict, ...]
    stored: tuple[StoredVerdict, ...]
    questions: tuple[QuestionVerdict, ...]
    worth: float
    attention: Attended
    seconds: dict[str, float]


def judge(evening: Evening, played: Played) -> Judged:
    """Judge what was played by what there is to know."""
    exchanges = {each.question: each for each in played.exchanges}
    return Judged(
        evening.id,
        tuple(_fact(fact, played) for fact in evening.facts),
        tuple(_stored(evening, each) for each in played.stored if each.record == "fact"),
        tuple(asked(each, exchanges[each.id]) for each in evening.questions),
        _worth(evening, played.importance),
        played.attention,
        played.seconds,
    )


def _fact(fact: Fact, played: Played) -> FactVerdict:
    rest = [each for each in played.stored if fact.evidence & set(each.lines)]
    holding = [each for each in rest if each.record == "fact" and holds(each.text, fact.keys)]
    others = [each.text for each in played.stored if each.record in KEEPS and each.record != "fact"]
    texts = [
        *(each.text for each in holding),
        *_holding(others, fact),
        *_holding(played.told, fact),
    ]
    stale = [each.text for each in holding if each.current] if fact.ended_by else []
    return FactVerdict(
        fact.id,
        fact.kind,
        fact.text,
        fact.ended_by is not None,
        next(iter(texts), None),
        next(iter(stale), None),
    )


def _holding(texts: Iterable[str], fact: Fact) -> list[str]:
    return [text for text in texts if holds(text, fact.keys)]


def _stored(evening: Evening, stored: Stored) -> StoredVerdict:
    worth = {line.id: line.worth for line in evening.lines}
    traps = {trap.line for trap in evening.traps} & set(stored.lines)
    wrong = ""
    if traps:
        wrong = f"rests on the trap {', '.join(sorted(traps))}"
    elif not any(worth.get(line, 0) >= WORTH_KNOWING for line in stored.lines):
        wrong = "rests on nothing worth knowing"
    return StoredVerdict(stored.text, stored.type, stored.lines, stored.current, wrong)


def asked(question: Question, exchange: Exchange) -> QuestionVerdict:
    """Judge a question as it was played."""
    secret = question.forbid if question.kind == "secret_of_another" else ()
    answerable = question.kind not in NOT_ANSWERABLE
    found = question.evidence & exchange.lines
    return QuestionVerdict(
        id=question.id,
        kind=question.kind,
        asked_by=question.asked_by,
        private=question.private,
        text=question.text,
        answer=question.answer,
        reply=exchange.reply,
        right=is_right(question, exchange.reply),
        verdict=exchange.verdict,
        first=exchange.first,
        best=exchange.best,
        prompt=answerable and holds(exchange.given, question.expect),
        evidence=len(found) / len(question.evidence) if question.evidence else None,
        missing=tuple(sorted(question.evidence - found)),
        betrayed_in_reply=tuple(forbidden(with_dates(exchange.reply), secret)),
        betrayed_in_prompt=tuple(forbidden(with_dates(exchange.given), secret)),
        tokens=exchange.tokens,
        given_tokens=exchange.given_tokens,
        recalled=exchange.recalled,
    )


def _worth(evening: Evening, importance: dict[str, int]) -> float:
    """Spearman of the importance with `worth`, over the lines that have one."""
    pairs = [(importance[each.id], each.worth) for each in evening.lines if each.id in importance]
    return float(spearmanr(*zip(*pairs, strict=True)).statistic)


# --- figures --------------------------------------------------------------------------------------


def percent(verdicts: Iterable[object]) -> float | None:
    """The share of true ones in percent; None of none."""
    every = [bool(each) for each in verdicts]
    return 100 * fmean(every) if every else None


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of some evenings, shares in percent; `worth` is a mean over the evenings."""

    facts_found: float | None
    facts_right: float | None
    facts_stored: int
    stale: int
    ended: int
    worth: float
    evidence: float | None
    prompt: float | None
    right: float | None
    served: float | None
    betrayed: int
    precision: float
    recall: float
    tokens: float
    given_tokens: float
    seconds: float


def figures(judged: Sequence[Judged]) -> Figures:
    """All figures over some evenings."""
    facts = [each for one in judged for each in one.facts]
    stored = [each for one in judged for each in one.stored]
    questions = [each for one in judged for each in one.questions]
    answerable = [each for each in questions if each.answerable]
    rightly = sum(one.attention.rightly for one in judged)
    return Figures(
        facts_found=percent(each.found is not None for each in facts),
        facts_right=percent(not each.wrong for each in stored),
        facts_stored=len(stored),
        stale=sum(each.stale is not None for each in facts),
        ended=sum(each.ended for each in facts),
        worth=fmean(one.worth for one in judged),
        evidence=evidence(answerable),
        prompt=percent(each.prompt for each in answerable),
        right=percent(each.right for each in answerable),
        served=percent(each.verdict.served for each in answerable),
        betrayed=sum(each.betrayed for each in questions),
        precision=rightly / max(1, rightly + sum(one.attention.wrongly for one in judged)),
        recall=rightly / max(1, rightly + sum(one.attention.missed for one in judged)),
        tokens=fmean(each.tokens for each in questions),
        given_tokens=fmean(each.given_tokens for each in questions),
        seconds=sum(sum(one.seconds.values()) for one in judged),
    )


def evidence(questions: Iterable[QuestionVerdict]) -> float | None:
    """The mean share of evidence recalled, in percent, of questions that have any."""
    shares = [each.evidence for each in questions if each.evidence is not None]
    return 100 * fmean(shares) if shares else None


SERVED_COLUMNS = (
    "kind of question",
    "n",
    "served",
    "right",
    "beside",
    "doubt",
    "words",
    "betrayed",
    "first sentence",
    "best sentence",
)


def served_rows(questions: Sequence[QuestionVerdict]) -> list[dict[str, Any]]:
    """How the questions are served: all that can be answered, and each kind."""
    answerable = [each for each in questions if each.answerable]
    rows = [served_row(f"all {len(answerable)} answerable", answerable)]
    for kind in sorted({each.kind for each in questions}):
        rows.append(served_row(kind, [each for each in questions if each.kind == kind]))
    return rows


def served_row(name: str, questions: Sequence[QuestionVerdict]) -> dict[str, Any]:
    """How some questions are served, in percent; sentences beside the point and words a reply."""
    verdicts = [each.verdict for each in questions]
    answerable = [each for each in questions if each.answerable]
    row = {
        "kind of question": name,
        "n": len(questions),
        "served": percent(each.served for each in verdicts),
        "right": percent(each.right for each in verdicts),
        "beside": fmean(len(each.beside) for each in verdicts) if verdicts else None,
        "words": fmean(each.words for each in verdicts) if verdicts else None,
    }
    if answerable:
        row |= {
            "doubt": percent(each.doubt for each in verdicts if each.right),
            "first sentence": percent(each.first for each in answerable),
            "best sentence": percent(each.best for each in answerable),
        }
    if any(each.kind == "secret_of_another" for each in questions):
        row["betrayed"] = sum(each.betrayed for each in verdicts)
    return row


def of_kind(judged: Sequence[Judged], kind: str) -> list[QuestionVerdict]:
    """The questions of one kind."""
    return [each for one in judged for each in one.questions if each.kind == kind]


# --- whether a reply is right ---------------------------------------------------------------------

_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_TENS = {"twenty": 20, "thirty": 30}
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_ORDINAL = rf"(?:(?:twenty|thirty)[- ])?(?:{'|'.join(_ORDINALS)}|thirtieth)"
_MONTH = "|".join(_MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<day>{_ORDINAL})(?: (?:day )?of)? (?P<month>{_MONTH})"
    rf"|(?P<month_before>{_MONTH}),?(?: the)? (?P<day_after>{_ORDINAL}))\b"
)


def is_right(question: Question, reply: str) -> bool:
    """Whether a reply is right, as the README of the evenings says."""
    bad = forbidden(with_dates(reply), question.forbid)
    if question.kind == "secret_of_another":
        return not bad
    if question.kind == "unknown":
        return admits(reply) and not bad
    if question.kind == "update" and bad:
        return False
    return holds(reply, question.expect)


def holds(text: str, groups: Groups) -> bool:
    """Whether a text holds at least one alternative of every group, and there are groups.

    In contrast to `served.holds` a part of a word counts: published figures were judged so.
    """
    words = with_dates(text)
    return bool(groups) and all(any(plain(each) in words for each in group) for group in groups)


def with_dates(text: str) -> str:
    """A plain text with its dates in words as digits too."""
    text = plain(text)
    dates = [
        f"{day} {month}, {month} {day}, {day}{_suffix(day)} of {month}"
        for match in _DATE.finditer(text)
        for day in [_number(match["day"] or match["day_after"])]
        for month in [match["month"] or match["month_before"]]
    ]
    return "; ".join([text, *dates])


def _number(ordinal: str) -> int:
    tens, _, last = ordinal.replace(" ", "-").rpartition("-")
    if last == "thirtieth":
        return 30
    return _TENS.get(tens, 0) + _ORDINALS.index(last) + 1


def _suffix(day: int) -> str:
    return "th" if 4 <= day <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
