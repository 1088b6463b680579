"""Answer types: what a question asks for, and whether a statement holds such an answer.

The types are those of factoid question answering (Li & Roth 2002), as far as surface words tell
them: a time, a number, a person, a place, a reason, a name, or a person as a whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .questions import asks_of_oneself, asks_when
from .time_words import tells_time

_NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand dozen half pair"
)
_NUMBER = re.compile(rf"\b(?:\d+|{'|'.join(_NUMBER_WORDS.split())})\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:in|at|behind|under|beneath|beside|by|on|near|from|to|inside|above|below|between)\s+"
    r"(?:the|my|our|his|her|a|an|your|this|that|[A-Z])"
)
_REASON = re.compile(r"\b(?:because|cos|cause|since|so that|for the|to keep|ordered)\b", re.I)
_PROPER = re.compile(r"(?<=\w )[A-Z][a-z]+")
_OF_TRADES = "er|or|ist|smith|wright|man|maid|herd|monk|nurse|cook|clerk|guard|hand|scribe"
_TRADE = re.compile(  # in one's own words
    r"\bby trade\b|\bfor a livin[g'’]?\b"
    rf"|\bi(?:['’]?m| am| was) (?:an?|the) (?:(?!good\b|bad\b)[\w-]+ ){{0,2}}?"
    rf"(?!monster|stranger|former|member|other|lover|loser|sister|brother)[\w-]{{2,}}(?:{_OF_TRADES})\b"
    r"|\b(?:i|we) (?:also |only |now )?(?:work|serve|run|herd|sell|make|bake|brew|weave|write|teach"
    r"|mend|build|grow|raise|breed|fish|hunt|farm|drive|sail|carve|forge|paint|sew|tend|guard|trade"
    r"|dye|tan|mine|shoe|keep|cook)\b(?! (?:mistakes?|sure|fun|[a-z]+ing)\b)",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:not|no longer|now|actually|any ?more|instead|misspoke|wrong|changed|new|since)\b", re.I
)

_HOW_MANY = re.compile(r"\bhow (?:many|much|old|olds|long|far|often)\b", re.I)
_WHO = re.compile(r"\bwho(?:m|se|s|['’]s)?\b|\bwhich (?:man|woman|one)\b", re.I)
_YEAR = re.compile(r"\b(?:what|which) year\b", re.I)
_YEAR_TOLD = re.compile(r"\b\d{3,4}\b")
_WHERE = re.compile(r"\bwhere\b|\b(?:what|which) (?:place|room|door)\b", re.I)
_WHY = re.compile(r"\bwhy\b|\bhow come\b", re.I)
_NAME = re.compile(r"\bnames?\b|\bcalled\b", re.I)
_WHAT_TRADE = re.compile(
    r"\b(?:for (?:an? livin[g'’]?|work)"
    r"|(?:what|wat|wot)(?:['’]?s| is| was) [\w'’]+"
    r" (?:trade|job|work|profession|craft|occupation|line of work)"
    r"|(?:what|wat|wot)(?:['’]?s| do| does) (?!it\b|that\b|this\b)\w+ (?:do|work (?:as|at))"
    r"|(?:what|wat|wot)(?:['’]?s| is| was) it(?: that)? \w+ do(?:es)?(?= for))"
    r"(?: for an? livin[g'’]?| for work)?(?: again| then| now)?\W*$",
    re.IGNORECASE,
)
# "what do I like to drink?", "what's Alice's favourite colour?"
_WHAT_TASTE = re.compile(
    r"\b(?:what|wat|which)\b[^.?!]{0,25}\b(?:do|does|did|d['’]?(?:you|ya))\b[^.?!]{0,20}"
    r"(?<!look )(?<!sound )(?<!smell )(?<!taste )(?<!feel )(?<!seem )"
    r"\b(?:like|love|prefer|enjoy|hate|dislike)\b(?!['’]?d?\s+(?:you|u|me)\s+to\b)"
    r"|\b(?:what|wat|which)\b[^.?!]{0,20}\bfavou?rite\b"
    r"|\b(?:what|wat|which)\b[^.?!]{0,20}\b(?:can['’]?t|cannot)\b[^.?!]{0,20}\b(?:stand|bear|abide)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\btell (?:me|us)(?: more)? (?:about|of)\b"
    r"|\b(?:what|wat|whit|wot)\b.{0,14}\b(?:know|kno|ken|heard?|remember)\b.{0,6}\b(?:of|about|abt|on)\b"
    r"|\bwho(?:['’]?s| is)\b.{0,20}(?:anyway|exactly|really)|\bdeal\b|\bdescribe\b|\bopinion\b"
    r"|\bwhat (?:sort|kind|manner) of (?:man|woman|person|one)\b|\b(?:make|think) of\b",
    re.I,
)
# "tell me about Alice's silver key", "what do you know of my brother?"
_OF_A_THING = re.compile(r"\b(?:of|about|abt|on)\s+(?:[\w-]+['’]s|my|our)\s+[^\W\d_]")
_NEWEST = re.compile(
    r"\b(?:now|nowadays|these days|still|current\w*|today|latest|in the end)\b", re.I
)
_GIVING = re.compile(
    r"\bg[ai]ve[sn]?\b|\bhand(?:ed)?\b|\bgift\b|\bbr(?:ing|ought)\b|\bpa(?:y|id)\b"
    r"|\b(?:left?|leave) (?:[\w'’]+ ){0,4}?(?:with|in (?:you|u|ye)r?|here)\b"
    r"|\bto keep\b|\bkeeping\b|\bhold(?:ing)?\b|\blen[dt]\b|\bslip(?:ped)?\b|\bpresented\b",
    re.I,
)
_FIRST_PERSON = re.compile(r"\b(?:i|my|mine|me|i['’]?m|i['’]?ve|we|our|us|this one|ma|ah)\b", re.I)
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|u|ur|ye|yer)\b", re.I)


@dataclass(frozen=True, slots=True)
class AnswerTypes:
    """What a question asks for. Several may be set.

    Attributes:
        year: In which year; its number.
        trade: What somebody does for a living.
        taste: What somebody likes or hates.
        portrait: A person as a whole ("tell me about Amabel").
        thing: Something or somebody of a person's ("tell me about Amabel's horse").
        newest: What holds now, of things that change.
        handover: Who gave, brought or paid what.
        of_oneself: It is about the one who asks, `of_you` about the one who is asked.
    """

    time: bool
    number: bool
    person: bool
    place: bool
    reason: bool
    name: bool
    year: bool
    trade: bool
    taste: bool
    portrait: bool
    thing: bool
    newest: bool
    handover: bool
    of_oneself: bool
    of_you: bool

    @classmethod
    def of(cls, question: str) -> AnswerTypes:
        def has(pattern: re.Pattern[str]) -> bool:
            return bool(pattern.search(question))

        return cls(
            time=asks_when(question),
            number=has(_HOW_MANY),
            person=has(_WHO),
            place=has(_WHERE),
            reason=has(_WHY),
            name=has(_NAME),
            year=has(_YEAR),
            trade=has(_WHAT_TRADE),
            taste=has(_WHAT_TASTE),
            portrait=has(_ABOUT) and not has(_OF_A_THING),
            thing=has(_ABOUT) and has(_OF_A_THING),
            newest=has(_NEWEST),
            handover=has(_GIVING),
            of_oneself=asks_of_oneself(question) or has(_FIRST_PERSON),
            of_you=has(_SECOND_PERSON),
        )


def holds(text: str) -> dict[str, bool]:
    """Return which answers a statement could hold: the types asked for, and a change."""
    return {
        "time": tells_time(text),
        "number": bool(_NUMBER.search(text)),
        "place": bool(_PLACE.search(text)),
        "reason": bool(_REASON.search(text)),
        "name": bool(_PROPER.search(text)),
        "year": bool(_YEAR_TOLD.search(text)),
        "trade": bool(_TRADE.search(text)),
        "change": bool(_CHANGE.search(text)),
    }


def names_in(text: str) -> set[str]:
    """Return the words of a text that may name somebody, in lower case.

    >>> sorted(names_in("Old Bram met Liora by the well."))
    ['bram', 'liora']
    """
    return {each.lower() for each in _PROPER.findall(text)}
