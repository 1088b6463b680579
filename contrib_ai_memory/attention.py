"""Attention: which of the lines that it hears an NPC answers (DESIGN §4), over plain data.

`attend` decides about a line from the `Floor`, the state of the talk in the room. Lines in company
that name nobody it can only guess, by a linear score over the line and the talk before it
(docs/adr/025); where the local model is installed, `judged` decides about them by what was read of
them on a worker too (`recall.sheet.read_line`). Both scores are fitted on recorded evenings and
stays (`python -m benchmarks.attention --fit`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from . import conf, language
from .language import Intent, Named
from .records import LineReading

WEIGHTS = Path(__file__).with_name("attention_weights.json")
# by TALKATIVENESS: what a line that names nobody needs beyond its usual score
LEAN: Mapping[str, float] = {"quiet": 1.5, "normal": 0.0, "talkative": -1.5}
# from which a line that was read is answered; one that may be another NPC's; a third one in a row
# that asks; and any other third one, or one about the NPC
READ_FROM, OR_ANOTHER_FROM, SURER_FROM, SURELY_FROM = -0.3, -0.1, 0.2, 1.6
COURTEOUS_FROM = -1.6  # a greeting or a farewell after a talk with it
COURTEOUS = 0.4  # share of these kinds of reaction
FIRST_FROM = 1.0  # what is read of the first line in a silent room that wants an answer
# acts that want somebody to answer, whoever it is
CALLING = frozenset("question request order alarm greeting thanks apology secret settle".split())
MOST_UNASKED = 3  # answers in a row to somebody who neither names the NPC nor asks, at most
TURNED_SECONDS = 60.0  # after a pose, in which what its poser says is for whom it names
PAYS, PAYS_FROM = "pay", 0.5  # kind of reaction, and its share, that a pose wants which pays
SERVED_LATELY = 6  # lines after an answer, in which who pays has been served
LIKELY_FROM = 0.5  # what is read of a line that is answered soon after an alarm
ALARM_SECONDS = 120.0
TALK_OVER = 1800.0  # seconds of silence after which a talk begins anew
SPEAKERS_KEPT = 50  # of whom the floor knows how they talked
FEW_WORDS = 5
MANY_LINES = 20  # more lines count as this


@dataclass(frozen=True, slots=True)
class HeardLine:
    """Something said, whispered, given or done, as an NPC perceives it."""

    speaker: str  # identity of the speaker
    text: str  # what is said; of an emote, all of it
    at: float  # seconds since any moment
    kind: str = "say"  # say, pose, or whisper or give, which are directed to the NPC
    own_names: tuple[str, ...] = ()  # forms of the NPC's names (`text.names.forms`)
    others: tuple[tuple[str, ...], ...] = ()  # forms of the names of each other person who hears it
    # whether the NPC never answers the speaker: somebody locked out, or another NPC that says what
    # its memory made it say
    barred: bool = False
    of_npc: bool = False  # whether an NPC says it that nobody plays
    shared: bool = False  # whether another NPC that might answer hears it
    # whom the speaker turned to just before: the NPC (True), somebody else (False)
    turned_to: bool | None = None

    @property
    def names_npc(self) -> Named:
        return language.get().named(self.text, self.own_names)

    @property
    def names_other(self) -> Named:
        named = language.get().named
        return max((named(self.text, names) for names in self.others), default=Named.NOT)

    @property
    def is_for_npc(self) -> bool:
        """Whether its words address the NPC and not somebody else who is there.

        A pose has no address: it is for whom it names ("turns to the smith").
        """
        how = self.names_npc
        if self.kind == "pose":
            return how is not Named.NOT and self.names_other is Named.NOT
        if how is Named.NAMED and self.names_other is Named.CALLED:
            beside = language.get().beside
            return any(beside(self.text, names, self.own_names) for names in self.others)
        return how >= Named.NAMED or (self.turned_to is True and self.names_other is Named.NOT)

    @property
    def is_for_another(self) -> bool:
        """Whether its words address somebody else who is there."""
        if self.kind == "pose":
            return self.names_other is not Named.NOT
        turned_away = self.turned_to is False
        return not self.is_for_npc and (turned_away or self.names_other >= Named.NAMED)


@dataclass(frozen=True, slots=True)
class Participation:
    """Somebody's part in the talk."""

    said: int = 0  # number of lines
    answered: float = -math.inf  # time of the NPC's last answer to them, as `HeardLine.at`
    answered_line: int = -MANY_LINES  # `Floor.lines` at that answer
    to_another: bool = False  # whether their last line was for somebody else
    turned: HeardLine | None = None  # their last pose that names somebody here, until they speak


@dataclass(frozen=True, slots=True)
class Floor:
    """The talk that is going on in the room."""

    partner: str | None = None  # whom the NPC answered last
    unasked: int = 0  # number of answers in a row to lines that did not name it
    last: HeardLine | None = None  # the last line that was said aloud or given
    spoke_to: str | None = None  # whom the NPC answered since that line; None if it has not spoken
    lines: int = 0  # number of lines
    alarmed: float = -math.inf  # time at which the NPC last said what is to be done at once
    # everybody's part, by identity, who spoke last at the end
    parts: Mapping[str, Participation] = field(default_factory=dict)

    def part(self, who: str) -> Participation:
        return self.parts.get(who, Participation())

    def _with(self, who: str, part: Participation) -> dict[str, Participation]:
        kept = {name: each for name, each in self.parts.items() if name != who}
        return dict([*kept.items(), (who, part)][-SPEAKERS_KEPT:])

    def at(self, line: HeardLine) -> Floor:
        """Return the floor on which a line is said: a new one after a long silence."""
        return self if self.last and line.at - self.last.at < TALK_OVER else Floor()

    def turned_to(self, line: HeardLine) -> bool | None:
        """Return whom the speaker of a line has just turned to, as `HeardLine` has it."""
        pose = self.part(line.speaker).turned
        if pose is None or line.at - pose.at > TURNED_SECONDS:
            return None
        to_npc, to_other = (each is not Named.NOT for each in (pose.names_npc, pose.names_other))
        return None if to_npc and to_other else to_npc

    def heard(self, line: HeardLine) -> Floor:
        """Return the floor after `line`, before any answer to it; a whisper does not change it."""
        if line.kind == "whisper":
            return self
        if line.kind == "pose":  # "turns to the smith"
            if line.names_npc is Named.NOT and line.names_other is Named.NOT:
                return self
            part = replace(self.part(line.speaker), turned=line)
            return replace(self, parts=self._with(line.speaker, part))
        floor = self.at(line)
        part = floor.part(line.speaker)
        if line.kind == "say":
            part = replace(part, said=part.said + 1, to_another=line.is_for_another, turned=None)
        return replace(
            floor,
            last=line,
            spoke_to=None,
            lines=floor.lines + 1,
            parts=floor._with(line.speaker, part),
        )

    def answered(self, line: HeardLine) -> Floor:
        """Return the floor after the NPC's answer to `line`; a whispered one does not change it."""
        if line.kind == "whisper":
            return self
        asked = line.kind == "give" or line.is_for_npc or (not line.others and not line.of_npc)
        unasked = 0 if asked else self.unasked + 1 if line.speaker == self.partner else 1
        return replace(self.spoken(line.speaker, line.at), unasked=unasked)

    def in_alarm(self, line: HeardLine) -> bool:
        """Return whether a line is said soon after an alarm that the NPC answered."""
        return line.at - self.alarmed <= ALARM_SECONDS

    def spoken(self, to: str, at: float) -> Floor:
        """Return the floor after the NPC's words to somebody."""
        part = replace(self.part(to), answered=at, answered_line=self.lines)
        unasked = self.unasked if to == self.partner else 0
        parts = self._with(to, part)
        return replace(self, partner=to, unasked=unasked, spoke_to=to, parts=parts)


def attend(
    line: HeardLine,
    floor: Floor,
    max_unasked: int,
    weights: Weights | None = None,
    lean: float = 0.0,
) -> bool:
    """Return whether a line is answered, by the first rule of DESIGN §4 that fits.

    Args:
        floor: The floor before the line.
        max_unasked: Answers in a row to lines that do not name the NPC; 0: to none of them.
        weights: By default the shipped ones.
        lean: Of `LEAN`.
    """
    floor = floor.at(line)
    if line.barred:
        return False
    if line.kind == "give" or line.is_for_npc:
        return True
    spent = is_spent(line, floor, max_unasked)
    if not spent and asks_on(line, floor):
        return True
    if line.is_for_another:
        return False
    if line.kind == "whisper":
        return True
    if line.kind == "pose":
        return not line.of_npc and language.get().manner(line.text).collapses
    if not line.others:
        return not (line.of_npc and spent)  # no endless talk between NPCs
    if not is_undecided(line, max_unasked) or (spent and not _wants_an_answer(line.text)):
        return False
    if may_be_anothers(line, floor):
        return False  # no chorus
    return (weights or shipped())["heard"].of(features(line, floor)) >= lean


def is_undecided(line: HeardLine, max_unasked: int) -> bool:
    """Return whether only what is done with its words tells if a line is answered.

    That is so of a cry too, whomever it names: "Bram has fainted!"; and of a pose that names
    nobody.
    """
    if line.barred or line.of_npc or not max_unasked:
        return False
    if line.kind == "pose":
        return not (line.is_for_npc or line.is_for_another)
    cries = line.kind == "say" and line.is_for_another and language.get().manner(line.text).exclaims
    return is_open(line) or (cries and bool(line.others))


def may_be_anothers(line: HeardLine, floor: Floor) -> bool:
    """Return whether another NPC that hears a line is as likely to answer it."""
    return line.shared and floor.at(line).spoke_to != line.speaker


def asks_on(line: HeardLine, floor: Floor) -> bool:
    """Return whether a line asks on where the NPC has just answered a question or an alarm: "Who is
    Greta?" - "Bram's cousin." - "And how is she related to Dessa?". It calls nobody, whomever it
    names, and may be another's than the question.
    """
    last = floor.last
    return (
        line.kind == "say"
        and line.turned_to is not False
        and not (line.barred or line.of_npc)
        and line.names_other is not Named.CALLED
        and last is not None
        and last.speaker == floor.spoke_to
        and (language.get().asks(last.text) or floor.in_alarm(line))
        and language.get().manner(line.text).asks_on
    )


def judged(
    read: LineReading,
    line: HeardLine,
    floor: Floor,
    *,
    spent: bool,
    weights: Weights | None = None,
    lean: float = 0.0,
) -> bool:
    """Return whether an undecided line is answered, by what was read of it and what the talk does.

    The arguments are those of `attend`; `spent` is as `is_spent` finds it now.
    """
    manner, floor = language.get().manner(line.text), floor.at(line)
    if line.kind == "pose":
        served = floor.lines - floor.part(line.speaker).answered_line <= SERVED_LATELY
        pays = any(kind == PAYS and share >= PAYS_FROM for kind, share in read.wanted)
        return manner.collapses or (pays and (served or not line.others))
    if manner.cries_out or read.alarm:
        return True  # whoever is meant
    if not spent and asks_on(line, floor):
        return True
    if line.is_for_another:
        return False
    # it reports: "it is dropping", "the danger is over"
    if floor.in_alarm(line) and read.answer >= LIKELY_FROM:
        return True
    if read.errand and read.answer >= LIKELY_FROM and read.lead >= 0:
        return True  # "tell Bram that …", said to nobody
    told_of = line.names_npc is Named.TOLD_OF  # "the innkeeper has a cellar"
    calls = any(act.kind in CALLING for act in read.acts)
    if floor.unasked >= MOST_UNASKED and spent and not _wants_an_answer(line.text):
        return False  # "I see", and no end of it
    if floor.lines == 0 and calls and not told_of:  # no talk tells for whom it is
        return read.answer >= FIRST_FROM + lean
    found = features(line, floor) | read_features(read)
    # said into a room in which it has not spoken: "I keep the ferry"
    to_nobody = floor.partner is None and not calls
    least = COURTEOUS_FROM if _is_courtesy_to_it(read, line, floor) else READ_FROM
    if told_of or to_nobody or (spent and not _wants_an_answer(line.text)):
        least = SURELY_FROM
    elif spent:
        least = SURER_FROM
    elif may_be_anothers(line, floor):
        least = max(least, OR_ANOTHER_FROM)
    return (weights or shipped())["read"].of(found) >= least + lean


def _is_courtesy_to_it(read: LineReading, line: HeardLine, floor: Floor) -> bool:
    """Whether somebody greets who has just come, or takes their leave after a talk with the NPC."""
    wanted, part = dict(read.wanted), floor.part(line.speaker)
    courtesy = language.get().manner(line.text).courtesy
    greets = courtesy is Intent.GREETING or wanted.get("greet", 0.0) >= COURTEOUS
    leaves = courtesy is Intent.PARTING or wanted.get("part", 0.0) >= COURTEOUS
    return (greets and not part.said) or (leaves and part.answered > -math.inf)


def is_spent(line: HeardLine, floor: Floor, max_unasked: int) -> bool:
    """Return whether the NPC has answered this speaker often enough without being named."""
    floor = floor.at(line)
    return floor.partner == line.speaker and floor.unasked >= max_unasked


def _wants_an_answer(text: str) -> bool:
    manner = language.get().manner(text)
    return language.get().asks(text) or manner.requests or manner.courtesy is not None


@dataclass(frozen=True, slots=True)
class Score:
    """The weights of the features of a line that names nobody."""

    bias: float
    weights: Mapping[str, float]

    def of(self, found: Mapping[str, float]) -> float:
        """Return how likely a line is for the NPC, in log odds."""
        return self.bias + sum(each * found.get(name, 0) for name, each in self.weights.items())


Weights = Mapping[str, Score]  # of a line as it is "heard", and of one that was "read" too


@cache
def shipped() -> Weights:
    """The weights of the package."""
    kept = json.loads(WEIGHTS.read_text("utf-8"))
    return {name: Score(**score) for name, score in kept.items()}


def is_open(line: HeardLine) -> bool:
    """Return whether neither the words of a line nor who hears it tell whom it is for."""
    directed = line.kind != "say" or line.is_for_npc or line.is_for_another
    return not (directed or line.barred or line.of_npc) and bool(line.others)


def features(line: HeardLine, floor: Floor) -> dict[str, float]:
    """Return what tells for whom an open line is: its words, and the talk before it."""
    part, last = floor.part(line.speaker), floor.last
    asks, manner = language.get().asks, language.get().manner(line.text)
    greeting = manner.courtesy is Intent.GREETING
    first = part.said == 0
    own = last is not None and last.speaker == line.speaker
    other = last is not None and not own
    answered = floor.spoke_to is not None
    found = {
        "question": asks(line.text),
        "request": manner.requests,
        "greeting": greeting,
        "few words": len(line.text.split()) <= FEW_WORDS,
        "past": manner.tells_past,
        "first": first,
        "greeting first": first and greeting,
        "lines said": math.log1p(part.said),
        "last was to another": part.to_another,
        "after own, answered": own and floor.spoke_to == line.speaker,
        "after own": own and not answered,
        "after gift": last is not None and last.kind == "give",
        "after another": other and not answered,
        "after another's question": other and not answered and last is not None and asks(last.text),
        "after another's, answered": other and floor.spoke_to == line.speaker,
        "answered lately": line.at - part.answered <= conf.EXCHANGE_SECONDS,
        "lines since": math.log1p(min(floor.lines - part.answered_line, MANY_LINES)),
    }
    return {name: float(value) for name, value in found.items()}


def wants(kind: str) -> str:
    """Name the feature of a kind of reaction that a line may want."""
    return f"wants {kind}"


def read_features(read: LineReading) -> dict[str, float]:
    """Return what tells for whom an open line is: what was read of it."""
    asking = [each.sure for each in read.possible if each.kind in ("question", "request")]
    asks_for = max((1 / (1 + math.exp(-sure)) for sure in asking), default=0.0)
    wanted = {wants(kind): share for kind, share in read.wanted}
    return wanted | {
        "answer": read.answer,
        "lead": read.lead,
        "errand": float(read.errand),
        "known": read.known,
        "known, asked": read.known * asks_for,
    }
