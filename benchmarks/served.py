"""Judge a reply: is the one who asked served by it? benchmarks/data/stays/README.md defines it.

Plain Python, without a game or a model. `judge` is for a question and its reply, `touched` for a
line of talk and the reaction to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .evenings_data import NOT_ANSWERABLE, Groups, Ideal, Question

FREE = 14  # words without a memory in them that a reply may add: courtesy, voice
LONGEST = 45  # words of a reply that serves
PIECE = 300  # characters of a taught piece: only its sentences that hold `expect` are to the point
LONG_MEMORY = 160  # characters from which a recalled memory is cut into sentences

_SENTENCE = re.compile(r"(?<=[.!?…;])[\"”'’)]*\s+|\s+[—–-]+\s+")
_HEADING = re.compile(r"(^|\n)#+[^\n]*\n")
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")
_WORD = re.compile(r"[\w']+")
_NUMBERS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred".split()
)
_DOUBT = re.compile(
    r"\b(?:i (?:am|'m) not (?:\w+ )?(?:sure|certain)|i'm not (?:\w+ )?(?:sure|certain)"
    r"|not (?:quite |so )?(?:sure|certain) of|i (?:do not|don't) know for (?:certain|sure)"
    r"|i (?:could|can)(?: ?not|'t|n't) (?:say|tell|swear)"
    r"|i (?:might|may|could) be (?:wrong|mistaken)|if i (?:remember|recall)|if memory serves"
    r"|perhaps|maybe|possibly|i (?:think|believe|suppose|guess)\b|as far as i)",
    re.I,
)
_THINKS = re.compile(r"i (think|believe|suppose|guess)", re.I)
_ADMITS = re.compile(
    r"\b(?:(?:do|does|did|could|can|would|will|have|has|had)(?:n't| not)|cannot|never) (?:\w+ )?"
    r"(?:know|known|recall|remember|say|tell|hear|heard|see|seen|learn|think|met|a clue|an? idea)"
    r"|\b(?:never|not) (?:\w+ )?"
    r"(?:heard|told|said|learned|learnt|seen|known|mentioned|sure|met)\b"
    r"|\bno (?:idea|notion|memory|knowledge|word|clue)\b"
    r"|\b(?:nobody|no one|no-one|none)(?:'s| has| ever)? (?:\w+ )?"
    r"(?:told|said|says|knows|mentioned)\b"
    r"|\bknow (?:nothing|naught|no more|little)\b"
    r"|\bnothing (?:\w+ )?(?:about|of) (?:that|it|him|her|them)\b"
    r"|\b(?:unknown to|beyond|news to) me\b|\bunsure\b|\bdunno\b|\bbeats me\b|\bwho knows\b"
    r"|\b(?:you'd|you would|you'll|best) (?:have to |better )?ask\b"
    r"|\bthat i could(?: not|n't) say\b",
    re.I,
)
_BEFORE = re.compile(  # what follows is over
    r"\b(not|no longer|used to|was|were|before|until|till|instead of|rather than|than|once|first"
    r"|earlier|changed from|moved from|isn't|wasn't|never|don't|doesn't|didn't|aren't|nothing)"
    r"\W+(\w+\W+){0,4}$",
    re.I,
)
_AFTER = re.compile(  # what precedes is over
    r"^\W*(\w+\W+){0,2}(fell through|is off|was off|no longer|no more|not any ?more|not now"
    r"|is over|is done|was before|before that|is cancelled|was cancelled|used to)\b",
    re.I,
)
_DULL = frozenset(
    "a an the and or but so of to in on at by for from with as is are was were be been am do did "
    "does has have had that this these those it its he she they them their his her him i me my "
    "you your we our us not no yes there here what who when where which how told said says say "
    "tell also again earlier today yesterday days ago week two three will would can could about "
    "just well then than".split()
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of a reply.

    Attributes:
        served: It answers, with nothing beside the point and no doubt, and is not too long.
        right: It holds the answer, whatever else it says; an unknown is admitted, a secret kept.
        beside: Its sentences that are beside the point.
        doubt: Whether it doubts what it says, before the answer or in its sentence.
        betrayed: Whether it tells somebody else's secret.
        words: Their number.
    """

    served: bool
    right: bool
    beside: tuple[str, ...] = ()
    doubt: bool = False
    betrayed: bool = False
    words: int = 0


def judge(question: Question, reply: str, texts: Mapping[str, str]) -> Verdict:
    """Judge the reply to a question.

    Args:
        texts: The words of every line and of every piece that a builder gave, by id.
    """
    kind, evidence = question.kind, [texts[e] for e in question.evidence if e in texts]
    rest = _without_answers(reply, evidence, question.expect)
    bad = forbidden(rest, question.forbid, old_allowed=kind in ("update", "agenda"))
    words = len(_WORD.findall(reply))
    short = words <= LONGEST
    if kind == "secret_of_another":
        return Verdict(not bad and bool(reply) and short, not bad, betrayed=bool(bad), words=words)
    if kind == "unknown":
        right = admits(reply) and not bad
        rest = " ".join(each for each in sentences(reply) if not admits(each))
        aside = _beside(rest, frozenset(), (), "", texts)
        return Verdict(right and not aside and short, right, aside, words=words)
    right = holds(reply, question.expect) and not bad
    aside = _beside(reply, question.evidence, question.expect, question.answer or "", texts)
    doubt = _doubts(reply, evidence, question.expect)
    return Verdict(right and not aside and not doubt and short, right, aside, doubt, words=words)


def touched(line: str, reply: str, ideal: Ideal) -> bool:
    """Return whether a reply to a line takes up its matter, as its ideal reply does."""
    heard, said = plain(line), plain(reply)
    groups = [
        [each for each in group if plain(each) not in heard] or group for group in ideal.touch
    ]
    copied = len(said) > 12 and re.sub(r"\W+", " ", said).strip() in re.sub(r"\W+", " ", heard)
    return (
        len(said.split()) >= 2
        and not copied
        and all(any(plain(each) in said for each in group) for group in groups)
        and not any(plain(each) in said for each in ideal.avoid)
    )


def first_and_best(
    question: Question, recalled: Iterable[str], texts: Mapping[str, str]
) -> tuple[bool, bool]:
    """Return whether the first sentence of what was recalled, told alone, serves, and any does.

    Args:
        recalled: The contents of memories, the best first.
    """
    if question.kind in NOT_ANSWERABLE:
        return False, False
    every = list(units(recalled))
    serves = [
        holds(each, question.expect) and judge(question, each, texts).served for each in every
    ]
    return any(serves[:1]), any(serves)


def units(recalled: Iterable[str]) -> Iterator[str]:
    """Cut memories into what could be told alone: short ones whole, long ones by sentence."""
    seen: set[str] = set()
    for content in recalled:
        whole = len(content) <= LONG_MEMORY
        pieces = [content] if whole else sentences(_HEADING.sub("\n", content + "\n"))
        for piece in pieces:
            unit = re.sub(r"\s+", " ", piece).strip()
            if len(unit) > 2 and unit.lower() not in seen:
                seen.add(unit.lower())
                yield unit


# --- what a text holds ----------------------------------------------------------------------------


@lru_cache(maxsize=10_000)
def plain(text: str) -> str:
    """Lower case, with one kind of apostrophe and of space."""
    return re.sub(r"\s+", " ", text.lower().replace("’", "'").replace("‘", "'"))


def holds(text: str, groups: Groups) -> bool:
    """Return whether a text holds an alternative of every group, and there are groups."""
    return bool(groups) and all(any(_has(text, each) for each in group) for group in groups)


def admits(text: str) -> bool:
    """Return whether a text admits not to know, in words of its own and not in a quotation."""
    return bool(_ADMITS.search(_own_words(text)))


def forbidden(text: str, words: Iterable[str], *, old_allowed: bool = False) -> list[str]:
    """Return the forbidden words that a text holds.

    Args:
        old_allowed: Whether they may stand there as over ("not five", "the fair is off").
    """
    text, found = plain(text), []
    for each in words:
        for at in re.finditer(rf"(?<!\w){re.escape(plain(each))}", text):
            over = _BEFORE.search(text[max(0, at.start() - 60) : at.start()])
            if not (old_allowed and (over or _AFTER.search(text[at.end() : at.end() + 40]))):
                found.append(each)
                break
    return found


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, at semicolons and dashes too."""
    return [each.strip() for each in _SENTENCE.split(text.strip()) if each.strip(" \"”'’")]


@lru_cache(maxsize=10_000)
def content_words(text: str) -> frozenset[str]:
    """The words of a text that carry its matter."""
    return frozenset(word.strip("'") for word in _WORD.findall(plain(text))) - _DULL


@lru_cache(maxsize=10_000)
def stem(words: str) -> re.Pattern[str]:
    """A pattern for an alternative of `expect`, which is a stem.

    A short one counts from the beginning of a word; "six" is not in "sixteen", nor "1" in "14".
    """
    words = plain(words)
    left = r"(?<!\w)" if len(words) <= 3 or words in _NUMBERS else ""
    right = r"(?!teen|een|ty)" if words in _NUMBERS else r"(?!\d)" if words[-1:].isdigit() else ""
    return re.compile(left + re.escape(words) + right)


def _has(text: str, words: str) -> bool:
    return bool(stem(words).search(plain(text)))


def _without_answers(reply: str, evidence: Sequence[str], expect: Groups) -> str:
    """A reply without the evidence that it tells word for word: "seven pips, or five if you bring
    the empty one" answers the question for the price with the empty one."""
    left = plain(reply)
    for text in evidence:
        for each in [text] if len(text) <= PIECE else sentences(text):
            if holds(each, expect):
                left = left.replace(plain(each).rstrip(".!?… "), "")
    return left


def _doubts(reply: str, evidence: Sequence[str], expect: Groups) -> bool:
    """Return whether a reply doubts before the answer or in its sentence.

    What the evidence thinks is no doubt: "I think they ruined pepper" of an NPC that thinks so.
    """
    every = sentences(reply)
    holding = (place for place, each in enumerate(every) if _holds_any(each, expect))
    opening = " ".join(every[: next(holding, len(every)) + 1])
    known = " ".join(map(plain, evidence))
    return any(
        not (thinks := _THINKS.fullmatch(each[0])) or thinks[1] not in known
        for each in _DOUBT.finditer(_own_words(opening))
    )


def _holds_any(text: str, expect: Groups) -> bool:
    return any(_has(text, each) for group in expect for each in group)


def _own_words(text: str) -> str:
    """A text without what it quotes."""
    return _QUOTED.sub("", plain(text))


# --- beside the point -----------------------------------------------------------------------------


def _beside(
    reply: str,
    evidence: frozenset[str],
    expect: Groups,
    ideal: str,
    texts: Mapping[str, str],
) -> tuple[str, ...]:
    """Return the sentences beside the point: memories that are no evidence, and more than a few
    free words."""
    to_the_point = [
        content_words(text) for key, text in texts.items() if key in evidence and len(text) <= PIECE
    ]
    to_the_point.append(content_words(ideal))
    others = [content_words(text) for key, text in texts.items() if key not in evidence]
    free, found = FREE, []
    for each in sentences(reply):
        words = content_words(each)
        if (
            not words
            or _holds_any(each, expect)
            or any(rests(words, text) for text in to_the_point)
        ):
            continue
        told = any(len(words & other) >= 3 and rests(words, other) for other in others)
        free -= len(_WORD.findall(each))
        if told or free < 0:
            found.append(each)
    return tuple(found)


def rests(words: frozenset[str], text: frozenset[str]) -> bool:
    """Return whether half of the content words of a sentence are those of a text."""
    return len(words & text) >= max(1, len(words) / 2)
