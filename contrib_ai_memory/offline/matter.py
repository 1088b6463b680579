"""The matter of what somebody says, in words that can be said back: "Saturday, the watch".

Whoever keeps a counter says back the day, the sum, the name or the thing, and both know that it was
heard. No grammar: days and sums are known by their form, things by the word before them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice

from ..english.commitments import COINS, SAID_WRONG, closes, leaves_rest
from ..english.due_dates import DAY, MONTHS, TOMORROW, TONIGHT, WEEKDAYS, spelt
from ..english.tokens import BASES, FILLERS, FUNCTION_WORDS, NUMBER_WORD, NUMBERS, is_past, zipf

COMMON = 5.3  # Zipf frequency from which a noun says nothing: "the thing", "my way"
MOST = 2  # parts

_DAY = re.compile(
    rf"\b(?:(?P<soon>{TOMORROW}|{TONIGHT}|today|noon|midnight|dawn|dusk)|(?P<day>{DAY}|tues|weds"
    r"|thurs)s?|(?P<nth>(?:the )?\d{1,2}(?:st|nd|rd|th)))(?![\w’'])",
    re.IGNORECASE,
)
_SPELT = {value: word for word, value in NUMBERS.items() if "-" in word or " " not in word}
_NO_UNIT = (
    r"(?!(?:and|or|of|for|is|was|then|now|to|on|here|there|by|in|at|all|i|but|when|me|you|u|please"
    r"|from|with|it|more|times?|the|that|a|if|so|this|next|till?|old|last|back|left|just|again|oh"
    r"|already|still|each|ago|n|not|no|cos|because|we|he|she|they|its|dont|who|much|many|o['’]?clock)\b)"
)
_COIN = (  # which is one with an article, too: "a penny"; not "a silver token"
    rf"{COINS}\b"
    rf"(?! (?!(?:{'|'.join(sorted(FUNCTION_WORDS))}|more|now|today|down|each|across|along|back"
    r"|beside|into|onto|over|toward|towards)\b)[a-z])"
)
_FOR = r"4 (?:me|u|you|the|an?|my|it|us|him|her|them|this|that|2nite|tonight|now)\b"  # "for"
_SUM = re.compile(
    rf"\b(?!{_FOR})(?:(?P<number>\d{{1,6}}(?:[.,]\d{{1,3}})?|{NUMBER_WORD}|one|half)"
    rf"(?: (?P<of>{_NO_UNIT}[a-z][a-z'’-]+))?"
    rf"|(?P<pence>\w{{3,}}pence)|(?P<coin>(?:an?|another) {_COIN}))(?![\w’'])",
    re.IGNORECASE,
)
_HANDS_MONEY = re.compile(
    r"\W*(?:counts?|toss\w*|flips?|drops?|slides?|push\w*|hands?|pays?|puts?|lays?|gives?|throws?"
    r"|plac\w+|press\w*|slaps?|slips?|sets?|leaves?|holds? out)\b"
    r"(?!.*(?:\bat\b|\b(?:his|her|their|its) (?:own )?(?:purse|pocket|pouch|bag|boot)))",
    re.IGNORECASE,
)
_MONEY = re.compile(rf"{COINS}$", re.IGNORECASE)
_COUNT = rf"an?|another|some|one|{NUMBER_WORD}|\d+"
_ORDERED = re.compile(
    r"(?:^\W*(?:then |so |and |ok(?:ay)?,? )?"
    r"|\b(?:i(?:['’]?d| would) (?:like|love|fancy)|i(?:['’]?ll| shall| will) (?:have|take)"
    r"|(?:can|may|might|could) (?:i|we) (?:please )?(?:have|get|buy|order)"
    r"|give me|gimme|bring me|get me) (?:please )?)"
    rf"(?P<what>(?:{_COUNT})(?:(?: |, (?=(?:{_COUNT}) ))"
    r"(?!(?:to|4|for|if|please|pls|plz|with|when|until|till?|so|because|cos|that|which|from"
    r"|before|then|now|too|me|is|was|are|of (?:you|it|that))\b)"
    r"(?:[a-z'’-]+|(?<=[,nd&] )\d+\b)){1,12})",
    re.IGNORECASE,
)
# "hamo not hanno", "Hadlow, not Hadley"
_DENIED = re.compile(
    # "I lodge with the widow no longer"
    r"(?:^[^.;!?:]*:|(?<![^.,;!?]))[^.,;!?]{0,80}?\b(?:no longer|(?:not|never|\w{1,9}n['’]?t)\b"
    r"[^.,;!?]{0,40}? any ?(?:more|longer))\b[^.,;!?]*"
    r"|[\s,;.]*\b(?:(?:is|was|its|it['’]s|hes|shes) )?(?:not|never|isn['’]?t|instead of|rather than"
    r"|no longer) (?:(?:on|at|in|till?|until|for|from|behind|by|with) )?(?:(?:the|an?|my) )?"
    r"(?:(?:mr|mrs|miss)\.? )?[\w'’-]+",
    re.IGNORECASE,
)
# words that end a noun: "the boat that", "my leg hurts"
_END = [
    *sorted(FUNCTION_WORDS),
    *"now then too all ok right alright like lol bye thanks hello last across onto toward".split(),
    *"towards along through near under before after until till til n cos because im ive u".split(),
    *"than up down out off over back away went gone got came goes gets only next every".split(),
    *"without into inside wont cant dont isnt wasnt didnt doesnt gona gonna her his comes".split(),
    *"needs wants looks feels tastes smells hurts w btw tho pls mate anyway alone behind".split(),
    *"beside between myself yourself never always already once twice today tomorrow".split(),
    *"tonight yesterday ill id hes shes theyre youre theres whats thats hows wheres whos".split(),
    *"lets mean means thing stuff".split(),
]
_THING = re.compile(
    r"(?<!\blike )(?<!\bas )\b(?P<of>my|the|an?|our|her|his|their|your|ur|that|this|some|dem|yer) "
    r"(?!(?:my|the|an?|our|her|his|their|your)\b)"
    rf"(?P<thing>(?:(?!(?:{'|'.join(_END)})\b)[a-z][a-z'’-]+ ?){{1,3}})",
    re.IGNORECASE,
)
_CORRECTED = re.compile(rf"\b(?:no|nah|wait|scratch|i mean|rather)\b|{SAID_WRONG}", re.IGNORECASE)
_MEANT = re.compile(
    rf"^\W*(?:no|nah|wait|scratch that)\b|\b(?:i meant?|actually)\b|{SAID_WRONG}", re.I
)
_AS_SAID_BACK = {"my": "your", "our": "your", "your": "my", "ur": "my", "yer": "my"}
_AS_SAID_BACK |= dict.fromkeys(("that", "this", "some", "dem"), "the")
_BY_DAY = frozenset("plan promise".split())  # of which the day alone is said back
_DATED = _BY_DAY | {"request", "order", "debt"}  # said with the day, which a debt may lack
_NAME = re.compile(
    r"(?<![.!?] )(?<!^)\b(?:(?:Mr|Mrs|Miss|Old|Captain|Nurse|Doctor|Dr|Lady|Lord|Dame)\.? )?"
    r"[A-Z][a-z]+(?:['’-][A-Za-z]+)?(?: [A-Z][a-z]+)?\b"
)
_CLAUSE = re.compile(r"[.,;!?]+")
_WORD = re.compile(r"[A-Za-z][a-z'’-]{2,}")
_NO_MATTER = frozenset(
    [
        *"kindness favour favor honour pleasure liberty".split(),
        *_END,
        *FILLERS,
        *WEEKDAYS,
        *map(str.lower, MONTHS),
        *TONIGHT.split("|"),
        *TOMORROW.split("|"),
    ]
)


def matter_of(said: str, kind: str, names: Collection[str] = ()) -> str:
    """Return what the words of an act are about, "" where nothing of it can be said back.

    Args:
        said: The words, in the first person of their speaker.
        kind: The act, one of `offline.acts.ACTS`, or glad, a feeling.
        names: Words by which speaker and NPC are called, in lower case.

    >>> matter_of("remind me weds the trapdoor wants oil", "request")
    'the trapdoor, Wednesday'
    >>> matter_of("ate 2 much", "feeling")
    ''
    >>> matter_of("It is Hadlow, not Hadley", "correction"), matter_of("7 marks innit", "debt")
    ('Hadlow', 'seven marks')
    """
    told = _DENIED.sub("", said) if kind == "correction" else said
    told = "" if kind == "debt" and leaves_rest(said) else told
    if not (_WORD.search(told) or _SUM.search(told)):
        return ""  # it only denies
    on = ",".join(each for each in _CLAUSE.split(told) if closes(each) not in ("off", "broken"))
    days, sums = list(dict.fromkeys(days_in(on))), sums_in(told)
    denied = " ".join(found[0] for found in _DENIED.finditer(said))
    days = [each for each in days if each not in {*days_in(denied)}]  # "thursday not tuesday"
    things = _things(told, names)
    people = [each for each in _people(told, names) if each not in denied]
    counted = [each for each in sums if " " in each]  # "dryer two is on fire" is not about two
    if meant := _CORRECTED.search(told):  # "saturday, no, sunday, fridays is all pies"
        days = [*islice(days_in(told[meant.end() :]), 1)] or days[-1:]
    own = [each for each in things if each.startswith(("your ", "the "))]
    first = {
        "settle": sums or things,
        "debt": sums or things,
        "correction": (sums_in(denied) and sums) or days[-1:] or people or sums or things,
        "request": [e for e in things if e.startswith("your ")] or things or sums or people,
        "order": things or sums or people,
        "feeling": own or people,  # "I am sorry about her boots" is worse than nothing
    }
    parts = [] if kind in _BY_DAY else first.get(kind, things or people or counted)[:1]
    if kind in _DATED:
        parts = [*parts, *days[:1]] if days or kind == "debt" else []
    return ", ".join(parts[:MOST])


def ordered(said: str) -> str:
    """Return what an order is for, "" where it names nothing that is counted or has an article.

    >>> ordered("Then I shall have one mug of the dark ale and a bowl of the stew, please.")
    'one mug of the dark ale and a bowl of the stew'
    >>> ordered("gimme one soap, 2 towels and a comb"), ordered("one soap and")
    ('one soap, 2 towels and a comb', 'one soap')
    >>> ordered("can i get a room 4 2nite"), ordered("another 1 pls"), ordered("I'd like to sit")
    ('a room', '', '')
    """
    found = _ORDERED.search(said)
    return re.sub(r" (?:and|n|or)$", "", found["what"].strip()) if found else ""


def sets_right(said: str) -> bool:
    """Whether words name what is wrong beside what is right: "Sunday, not Friday"."""
    return bool(_DENIED.search(said) or _MEANT.search(said))


def thing_of(said: str, names: Collection[str] = ()) -> str:
    """Return the first thing or person that words name, in the second person, or "".

    >>> thing_of("the vet says my mule has a bad tooth")
    'your mule'
    """
    things = _things(said, names)
    known = [each for of in ("your ", "the ") for each in things if each.startswith(of)]
    return next(iter((*known, *_people(said, names))), "")


def days_in(said: str) -> Iterator[str]:
    """Yield the days that words name, in full: "Wednesday", "tomorrow", "the 17th"."""
    for found in _DAY.finditer(said):
        if found["nth"]:
            yield f"the {found['nth'].lower().removeprefix('the ')}"
        else:
            yield spelt(found["soon"] or found["day"])


def sums_in(said: str) -> list[str]:
    """Return the sums and amounts that words name: "three marks", "sixpence"."""
    return list(dict.fromkeys(_sums(said)))


def paid_by(done: str, *, pays: bool = False) -> str:
    """Return the sum that somebody hands over by what they do, "" if none.

    Args:
        pays: Whether it is known that they do.

    >>> paid_by("presses a penny into Mara's palm"), paid_by("throws two coins at Mara")
    ('a penny', '')
    """
    paid = sums_in(done) if pays or _HANDS_MONEY.match(done) else ()
    return next((each for each in paid if _MONEY.search(each)), "")


def _sums(said: str) -> Iterator[str]:
    for found in _SUM.finditer(said):
        number, of = (found["number"] or "").lower(), (found["of"] or "").lower()
        of = "" if of in _NO_MATTER else of
        if whole := found["pence"] or found["coin"]:
            yield whole.lower()
        elif of or number not in ("one", "half"):
            word = _SPELT.get(int(number), number) if number.isdigit() else number
            yield f"{word} {of}".strip()


def _things(said: str, names: Collection[str]) -> list[str]:
    things = (
        _as_said_back(found["of"], words)
        for found in _THING.finditer(said)
        if (words := _noun(found["thing"], names))
    )
    return list(dict.fromkeys(islice(things, MOST)))


def _noun(thing: str, names: Collection[str]) -> list[str]:
    """Return the words of a noun, without what follows it."""
    words = thing.split()
    while words and (
        words[-1].lower() in _NO_MATTER or words[-1].lower() in names or words[-1][-2:] == "ly"
    ):
        words.pop()
    # "your dog" of "my dog died" and "my dog limping"; nothing of "my heads splitting"
    verbs = (n for n, word in enumerate(words) if n and (is_past(word) or _is_ing(word)))
    begins = next(verbs, None)
    is_short_for_is = begins and _is_ing(words[begins]) and words[begins - 1][-1] == "s"
    words = [] if is_short_for_is else words[:begins]
    if words and words[-1][-2:] in ("'s", "’s"):
        return []
    last = words[-1].lower() if words and not (len(words) == 1 and is_past(words[0])) else ""
    return words if last and zipf(last) < COMMON else []


def _is_ing(word: str) -> bool:
    return word[-3:] == "ing" and word.lower() not in BASES  # "a silver ring"


def _as_said_back(of: str, words: Collection[str]) -> str:
    told = (word.lower() if word.isupper() else word for word in words)
    return " ".join([_AS_SAID_BACK.get(of.lower(), of.lower()), *told]).strip()


def _people(said: str, names: Collection[str]) -> list[str]:
    found = (each[0] for each in _NAME.finditer(said))
    return [
        each
        for each in found
        if not {each.lower(), each.split()[-1].lower()} & {*names, *_NO_MATTER}
        and not (each.isupper() or (each[-1] == "s" and each[-2] in "'’"))
    ]
