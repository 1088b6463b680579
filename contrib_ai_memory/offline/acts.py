"""Acts: what is done with the words of a line, whether the NPC is to answer it at once, and how.

A line is a greeting, a question, a debt, an alarm or several of them, each with its words (Austin
1962; Stolcke et al. 2000 tag dialogue by machine). Six layers of attention read the line with the
talk before it, and a head tags each word piece with its acts. Upper layers of their own say which
kind of reaction the line wants (`WANTED`), of the line with that talk and without it, and whether a
good NPC would answer. All were trained on talks of many authors (`python -m benchmarks.acts`,
`python -m benchmarks.wanted`); the words' embeddings are those of the bundled embedding model, so
only its installation is needed. Worker threads only.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..embedding import runtime
from ..embedding.model import ModelError, bundled_path, not_installed
from ..log import logger
from ..records import LINES_BEFORE, LineInTalk, LineReading, SpeechAct
from ..text.names import forms

GRAPH = Path(__file__).with_name("acts.onnx")
ACTS = (
    "greeting parting thanks apology praise insult feeling alarm joke boast chatter question "
    "request order promise debt plan settle claim_self claim_other world preference correction "
    "secret aside move"
).split()
# kinds of reaction that a line may want, in the order of the network's outputs; behind them stands
# whether it is to be answered
WANTED = (
    "greet call part thanked praised wished gift kindness invite sorry retract insult reproach "
    "corrects loss hardship fear low weary anger glad boast joke riddle grim news relief fire "
    "wound danger help order do message favour perform wager pledge owe pay plan secret confess "
    "self opinion agree know how view press show other"
).split()
LIKELY_WANTED = 0.05  # share from which a kind of reaction is told
MAX_TOKENS = 160  # of a line and the talk before it; the oldest talk is cut off
MAX_LINE = 400  # characters of a line that are read
OWN_TOKENS = 112  # of a line, at most; the rest is left to the talk before it
OTHERS_READ = 3  # as whom a line is read
ANSWER_OF_NOBODY = -6.0
# scores from which a word does an act, where it is not 0: by what was found in the stays
LEAST = {
    "correction": -1.5,
    "joke": -1.5,
    "request": -1.0,
    "insult": -0.5,
    "parting": -0.5,
    "promise": 1.0,
    "settle": 1.0,
    "order": 1.0,
    "alarm": 0.5,
}
_LEAST = np.array([LEAST.get(act, 0.0) for act in ACTS])
POSSIBLE = -3.0  # score from which a word may do an act
READ_LATELY = 256  # lines; what is answered was read for the agenda, or will be
GAP = 3  # characters between two stretches of one act that are one: a comma, a blank

Stretch = tuple[int, int, int, float]  # begin, end, number of the act, how surely

# whoever talks has the same names in every line that is read
_NPC, _SPEAKER = "martha", "tom"
_OTHERS = "anna bob carl dora emil frank greta hugo".split()
_DOES = {"whisper": " whispers", "pose": " does", "give": " gives"}

_opening = threading.Lock()
_reader: ActReader | None = None
_unusable = False


class ActReader:
    """The network."""

    def __init__(self) -> None:
        self._session = runtime.open_session(GRAPH, weights=bundled_path())
        self._tokenizer = tokenizer()
        self._whole = tokenizer(cut=False)

    def read(self, heard: LineInTalk) -> LineReading:
        """Read a line."""
        tokens, line, answer, wanted = self._run(heard)
        if heard.before:  # surer than by either reading
            alone = self._run(replace(heard, before=()))[3]
            wanted = [(one + other) / 2 for one, other in zip(wanted, alone, strict=True)]
        least = [(scores - _LEAST, start, end) for scores, start, end in tokens]
        stretches = sorted(_stretches(least)) or [_likeliest(least)]
        acts = _acts(stretches, line)
        possible = _acts(sorted(_stretches(tokens, POSSIBLE)), line)
        best, *others = sorted(zip(WANTED, wanted, strict=True), key=lambda kind: -kind[1])
        likely = (best, *(each for each in others if each[1] >= LIKELY_WANTED))
        return LineReading(acts, answer, possible, likely)

    def judge(self, heard: LineInTalk) -> np.ndarray:
        """Return how surely a line does each of `ACTS`; 0 is even."""
        tokens = self._run(heard)[0]
        return np.max([scores - _LEAST for scores, _, _ in tokens], axis=0)

    def lead(self, heard: LineInTalk) -> float:
        """Return how much more surely the NPC answers a line than anybody else who hears it.

        It is read as each of them hears it; of many, those who spoke last.
        """
        own, speaker = heard.npc[0], heard.line.speaker
        spoke = [each.speaker for each in reversed(heard.before)]
        others = [each for each in dict.fromkeys(heard.others) if each not in (own, speaker)]
        others.sort(key=lambda each: spoke.index(each) if each in spoke else len(spoke))
        answers = [
            self._run(replace(heard, npc=(each,), others=(*heard.others, own)))[2]
            for each in others[:OTHERS_READ]
        ]
        return self._run(heard)[2] - max(answers, default=ANSWER_OF_NOBODY)

    def _run(
        self, heard: LineInTalk
    ) -> tuple[list[tuple[np.ndarray, int, int]], Masked, float, list[float]]:
        before, line = as_read(heard)
        alone = self._whole.encode(line.text, add_special_tokens=False).offsets
        end = alone[OWN_TOKENS][0] if len(alone) > OWN_TOKENS else len(line.text)
        pair = self._tokenizer.encode(before, line.text[:end])
        given = {
            "ids": np.array([pair.ids]),
            "mask": np.array([pair.attention_mask]),
            "kinds": np.array([pair.type_ids]),
        }
        tags, wanted = self._session.run(["acts", "wanted"], given)
        kinds, answer = wanted[0][:-1], wanted[0][-1]
        likely = np.exp(kinds - kinds.max())
        own = [
            (scores, *offsets)
            for scores, offsets, kind in zip(tags[0], pair.offsets, pair.type_ids, strict=True)
            if kind and offsets[1] > offsets[0]
        ]
        return own, line, float(answer), (likely / likely.sum()).tolist()


def shared() -> ActReader | None:
    """Return the reader of this process, opened when it is first asked for (0.2 s).

    None where the bundled embedding model, whose words it reads, is not installed or damaged.
    """
    global _reader, _unusable
    with _opening:
        if _reader is None and not _unusable and not not_installed():
            try:
                _reader = ActReader()
            except (ModelError, OSError, RuntimeError) as problem:  # the last: ONNX Runtime
                _unusable = True
                logger().error("What is done with words is not known: %s", problem)
        return _reader


def read(heard: LineInTalk) -> LineReading | None:
    """Read a line, where the bundled embedding model is installed."""
    return _read(heard) if shared() and heard.line.text.strip() else None


@lru_cache(maxsize=READ_LATELY)
def lead(heard: LineInTalk) -> float:
    """Return `ActReader.lead` of a line, 0.0 where it cannot be read."""
    reader = shared()
    return reader.lead(heard) if reader else 0.0


@lru_cache(maxsize=READ_LATELY)
def _read(heard: LineInTalk) -> LineReading | None:
    reader = shared()
    return reader.read(heard) if reader else None


def tokenizer(*, cut: bool = True) -> Any:
    """Return the tokenizer of the talk before a line, whose beginning is cut off, and the line."""
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(bundled_path() / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    if cut:
        made.enable_truncation(MAX_TOKENS, strategy="only_first", direction="left")
    return made


# --- how it is written ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Masked:
    """A text in which everybody has the name that the network knows."""

    text: str
    said: str  # the text before that
    # for each character, where it or its name begins and ends in `said`; -1 for what was put before
    # it
    origin: tuple[tuple[int, int], ...]

    def original(self, start: int, end: int) -> str:
        """Return the original words of a stretch."""
        places = [each for each in self.origin[start:end] if each[0] >= 0]
        return self.said[places[0][0] : places[-1][1]].strip() if places else ""

    def after(self, words: str) -> Masked:
        """Return it with words before it."""
        return Masked(words + self.text, self.said, ((-1, -1),) * len(words) + self.origin)


def as_read(heard: LineInTalk) -> tuple[str, Masked]:
    """Write the talk before a line, and the line, as the network was trained to read them."""
    own, speaker = heard.npc[0], heard.line.speaker
    others = [each for each in heard.others if each not in (own, speaker)]
    called = {**dict.fromkeys(heard.npc, _NPC), speaker: _SPEAKER}
    last = len(_OTHERS) - 1
    called |= {each: _OTHERS[min(place, last)] for place, each in enumerate(others)}
    names = tuple(called.items())
    here = ", ".join(dict.fromkeys(called[each] for each in others)) or "nobody else"
    told = (
        f"{called.get(each.speaker, each.speaker)}{_DOES.get(each.kind, '')}: "
        f"{masked(each.text, names).text}"
        for each in heard.before[-LINES_BEFORE:]
    )
    before = f"here: {here}. {' '.join(told)}"
    line = masked(heard.line.text[:MAX_LINE], names)
    return before, line.after(f"{_SPEAKER}{_DOES.get(heard.line.kind, '')}: ")


def masked(text: str, names: Sequence[tuple[str, str]]) -> Masked:
    """Put other names for the names of people.

    >>> masked("Ask Old Tom, Nell.", (("Old Tom", "bob"), ("Nell", "anna"))).text
    'Ask bob, anna.'
    """
    pattern, known = _pattern(tuple(names))
    out: list[str] = []
    origin: list[tuple[int, int]] = []
    place = 0
    for found in pattern.finditer(text):
        out += text[place : found.start()]
        origin += ((at, at + 1) for at in range(place, found.start()))
        name = known.get(found[0].lower().replace("’", "'"), found[0])  # "Kım" is found as Kim
        out += name
        origin += [found.span()] * len(name)
        place = found.end()
    out += text[place:]
    origin += ((at, at + 1) for at in range(place, len(text)))
    return Masked("".join(out), text, tuple(origin))


@lru_cache(maxsize=256)
def _pattern(names: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    known: dict[str, str] = {}
    for name, called in names:
        for form in (name.lower(), *forms([name])):  # with accents and without
            known.setdefault(form, called)
    some = "|".join(re.escape(each) for each in sorted(known, key=len, reverse=True))
    some = some.replace("'", "['’]")
    return re.compile(rf"(?<!\w)(?:{some})(?!\w)" if some else r"(?!)", re.IGNORECASE), known


def _acts(stretches: Iterable[Stretch], line: Masked) -> tuple[SpeechAct, ...]:
    found = (SpeechAct(ACTS[act], line.original(a, b), sure) for a, b, act, sure in stretches)
    return tuple(each for each in found if each.text)


def _stretches(
    tokens: Sequence[tuple[np.ndarray, int, int]], least: float = 0.0
) -> Iterator[Stretch]:
    """Yield the stretches of a line by act."""
    for act in range(len(ACTS)):
        begin = end = -1
        sure = least
        for scores, start, stop in tokens:
            if scores[act] < least:
                continue
            if begin >= 0 and start - end > GAP:
                yield begin, end, act, sure
                begin, sure = -1, least
            begin, end = (start if begin < 0 else begin), stop
            sure = max(sure, float(scores[act]))
        if begin >= 0:
            yield begin, end, act, sure


def _likeliest(tokens: Sequence[tuple[np.ndarray, int, int]]) -> Stretch:
    """Return what a whole line does rather than anything else."""
    scores = np.max([scores for scores, _, _ in tokens], axis=0)
    return tokens[0][1], tokens[-1][2], int(scores.argmax()), float(scores.max())
