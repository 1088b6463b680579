"""Surface realisation: memories as sentences that an NPC can say.

What others said is told as theirs: reported where the rules of `english.reported_speech` reach,
quoted where they do not, with who said it, and when where that matters: where a time is asked for,
the words name a day, or they hold no longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import pairwise

from ..english import reported_speech
from ..english.addressing import hushes, named, without_address
from ..english.due_dates import MONTHS, due, is_weekday
from ..english.questions import asks, sentences_of
from ..english.small_talk import is_idle
from ..english.tokens import BASES, FUNCTION_WORDS, MODALS, holds_number, is_past
from ..language import Named
from ..local_time import date_of, local
from ..records import MOVE_KINDS, MemoryRecord, ReplyRequest
from ..text.names import forms
from ..text.sanitising import oneline
from ..text.segmentation import words_of
from .told_days import dated, day_told, on_day

_NO_NAMES = FUNCTION_WORDS | MODALS | BASES | {"may", "march", "august"}
_DETERMINED = frozenset("a an the some my your his her their our".split())
_LEFT_FOR = re.compile(r"(?P<who>.+?) is leaving .+, heading for (?P<place>[^.]+)\.")
_OF_A_MONTH = re.compile(r"(?<!of )\b(?:this|next) month\b", re.I)  # which names no day
_AGO = frozenset("was were did had last ago since yesterday".split())


def tell_all(
    memories: Iterable[MemoryRecord], request: ReplyRequest, *, by_date: bool = False
) -> str:
    """Say memories to the one who asks: each once, and what one said on one day together.

    Args:
        by_date: Name days by their dates, as an answer to "when": that of a memory, and the one
            that its words name ("on Friday").
    """
    told: dict[tuple[str, str], dict[str, None]] = {}
    for memory in memories:
        head, said = _told(memory, request, by_date=by_date)
        told.setdefault((head, "" if head else said), {})[said] = None
    return " ".join(f"{head}{' Also'.join(said)}" for (head, _said), said in told.items())


def day_named(memory: MemoryRecord) -> date | None:
    """Return the day that the words of a memory name, None if that is the day they are from."""
    text, then = memory.said, local(memory.created_at)
    coming = then and due(text, then)
    found = then and (coming or due(text, then, past=True))
    if not found or found.iso == then[:10]:
        return None
    if re.search("|".join(MONTHS), found.said, re.IGNORECASE):
        return None  # "on the third of March" says it already
    past = any(word in _AGO or is_past(word) for word in words_of(text))
    same = found.day.weekday() == date_of(then).weekday()
    if not coming and is_weekday(found.said) and (same or not past):
        return None  # "I'll bring it monday", said on a Monday
    return found.day


def _told(memory: MemoryRecord, request: ReplyRequest, *, by_date: bool) -> tuple[str, str]:
    """Say who said something and when ("Bram said yesterday"), and what (': "Hens!"').

    Where nobody is quoted, the first is "" and the second a sentence.
    """
    matters = by_date or memory.held_until or day_named(memory)  # "I'll pay on Friday", said when?
    when = day_told(memory.created_at, request.now, by_date=by_date) if matters else ""
    head, said = _head_and_words(memory, request, when)
    if not request.now:
        return head, said
    today = date_of(request.now)
    if memory.held_until:
        until = on_day(date_of(memory.held_until), today).removeprefix("on ")
        said = f"{said} That was so until {until}."
    day = day_named(memory) if by_date and not _OF_A_MONTH.search(memory.said) else None
    if day:
        said = f"{said} That {'was' if day < today else 'is'} {dated(day, today)}."
    return head, said


def _head_and_words(memory: MemoryRecord, request: ReplyRequest, when: str) -> tuple[str, str]:
    if memory.record not in ("entry", "taught") and not memory.quote:
        return "", ended(oneline(memory.content))
    called = forms((request.npc_name, *request.npc_names))
    as_typed = ended(oneline(to_the_point(memory.said, called)))
    said = reported_speech.capital(as_typed)
    if gift := _gift(memory, request):
        return "", " ".join(filter(None, [gift, when])) + "."
    moves = MOVE_KINDS.intersection(memory.tags)
    if moves and (left := _LEFT_FOR.fullmatch(said)):  # as Evennia tells of it
        return "", f"{left['who']} left for {left['place']} {when}".rstrip() + "."
    if memory.is_deed:  # a deed is nobody's words
        return (f"I saw it {when}", f": {said}") if when else ("", said)
    if memory.speaker == request.npc_name:
        return f"I said {when}".rstrip(), f': "{said}"'
    known = (*request.situation.known_names, request.speaker)
    others = [each for each in known if each != memory.speaker]
    spoken_to = names_addressee(as_typed, others)
    if memory.about and memory.about == request.speaker_id:
        told = "" if spoken_to else reported_speech.after_that(as_typed, names=known)
        told = f" that {with_capitals(told, known)}" if told else f': "{said}"'
        return f"You told me {when}".rstrip(), told
    if not memory.speaker:
        return "", said
    told = ""
    if not spoken_to and named(said, called) is Named.NOT:
        to_npc = named(memory.key or memory.said, called) is Named.CALLED
        told = reported_speech.of_speaker(as_typed, memory.speaker, to_teller=to_npc)
    if not told:
        return f"{memory.speaker} said {when}".rstrip(), f': "{said}"'
    told = reported_speech.capital(with_capitals(told, known))
    others_too = any(re.search(rf"\b{re.escape(each)}\b", told) for each in others if each)
    of_self = told.startswith(reported_speech.capital(memory.speaker)) and not others_too
    if of_self and not when:
        return "", told
    by = f"{memory.speaker} says" if not when else f"{memory.speaker} said {when}"
    return "", f"{told.rstrip('.!… ')}, so {f'I heard {when}' if of_self else by}."


def names_addressee(said: str, names: Iterable[str]) -> bool:
    """Whether words call one of these people: "I will pay you, Bram."."""
    some = "|".join(map(re.escape, filter(None, names)))
    begins, ends = rf"(?:^|[.!?]\s+)\W*(?:{some})\s*[,:!]", rf",\s*(?:{some})\W*(?:$|[.!?])"
    return bool(some and re.search(f"{begins}|{ends}", said, re.IGNORECASE))


def with_capitals(told: str, names: Iterable[str]) -> str:
    """Return words with names as they are written, where they are in small letters."""
    small = {each.lower(): each for each in names if each.lower() not in _NO_NAMES}
    some = "|".join(map(re.escape, sorted(small, key=len, reverse=True)))
    pattern = rf"(?<![\w’'])(?:{some})(?!\w)"
    return re.sub(pattern, lambda found: small[found[0]], told) if some else told


_SUBJECT = r"(?:i(?:['’]?(?:m|ve|ll|d))?|we|my|our|s?he(?:['’]?s)?|it(?:['’]?s)?|there)\b"
_CHAT = r"(?:lo+l|lmao|rofl|a?(?:ha){2,}h?|btw|by the way|tb[hf]|ngl|imh?o|fyi|omg|tho)"
_ASIDES = re.compile(  # ":)", "my cat is called Mia btw shes nine"
    rf"(?:\s*[:;=]['’]?-?[()DPp/|]+(?!\w)|[\s,]+(?:{_CHAT}|pl[sz])\b)+", re.IGNORECASE
)
# "Actually I'll take it", "oh, anyways my sister plays", "No, I swim"
_OPENERS = re.compile(
    r"^\W*(?:(?:(?:oh(?: no)?|ah|h+m+|u+[hgm]+|e+rm+|wow|actually|anyways?|honestly"
    rf"|to be honest|guess what|{_CHAT})\b|(?:thanks|cheers|look|listen|mind you|you see),"
    r"|(?:ok(?:ay)?|well|so|and|but|yes|yeah|aye|no(?:pe)?|hi|hello|hey"
    rf"|good (?:day|morning|afternoon|evening)),?(?= (?:so )?{_SUBJECT}))[\s,.:;!–—-]*)+(?=\w)",
    re.IGNORECASE,
)
_BEFORE_A_SMALL_LETTER = re.compile(r"(?<=[a-z]{2}[.!?])\s+(?=[a-z])")


def to_the_point(said: str, called: tuple[str, ...]) -> str:
    """Return words without the NPC's name in each sentence, greetings and interjections.

    >>> to_the_point("Good evening. Isbet, I have moved.", ("isbet",))
    'I have moved.'
    >>> to_the_point("black beer's my favourite, isbet, not wine", ("isbet",))
    "black beer's my favourite, not wine"
    >>> to_the_point("Oh, i sold my boat haha. for ninety!", ("isbet",))
    'i sold my boat. for ninety!'
    >>> to_the_point("i broke a tile isbet im realy sorry :(", ("isbet",))
    'i broke a tile, im realy sorry'
    """
    plain = without_vocatives(without_address(said, called), called)
    plain = _ASIDES.sub(_with_a_mark, plain) or plain
    kept = []
    sentences = (
        part for each in sentences_of(plain) for part in _BEFORE_A_SMALL_LETTER.split(each)
    )
    for before, each in pairwise(["", *sentences]):
        rest = _OPENERS.sub("", without_address(each, called))
        if asks(before) or not is_idle(rest):  # what answers a question is no interjection
            kept.append(rest)
    return _without_hushing(" ".join(kept) or plain)


def _without_hushing(said: str) -> str:
    """Return words without what asks for confidence at their beginning or end.

    >>> _without_hushing("The gold is buried, keep it to yourself")
    'The gold is buried'
    >>> _without_hushing("dont tell no1 but i hid the gold")
    'i hid the gold'
    """
    first, *rest = re.split(r"[,:]\s+(?:but )?| but ", said, maxsplit=1)
    if rest and hushes(first):
        return rest[0]
    told, comma, last = said.rpartition(", ")
    return told if comma and hushes(last) else said


def _with_a_mark(found: re.Match[str]) -> str:
    """Return the mark that stands in the place of a smiley or "btw" between two clauses."""
    before, after = found.string[: found.start()], found.string[found.end() :].lstrip()
    if not (before[-1:].isalnum() and after[:1].isalnum()) or re.match(r"(?:and|but|so)\b", after):
        return ""
    return "," if after[0].islower() else "."


def without_vocatives(said: str, called: Iterable[str]) -> str:
    """Return words without the NPC's name between commas, or between two clauses of a speaker."""
    some = "|".join(map(re.escape, called)) or r"(?!)"
    return re.sub(
        rf",\s*(?:{some})\s*,|(?<=[a-z])\s+(?:{some})(?=\s+i(?:['’]?(?:m|ve|ll|d))?\s)",
        ",",
        said,
        flags=re.I,
    )


def _gift(memory: MemoryRecord, request: ReplyRequest) -> str:
    """Tell a gift to the NPC as the giver or somebody else would hear it: "You gave me a coin".

    "" for any other memory.
    """
    called = "|".join(map(re.escape, forms((request.npc_name, *request.npc_names))))
    head = re.match(rf"{re.escape(memory.speaker)} gives (?:{called}) ", memory.content, re.I)
    if not (memory.is_deed and memory.speaker and head):
        return ""
    thing = memory.content[head.end() :].rstrip(".")
    giver = "You" if memory.about == request.speaker_id else memory.speaker
    return f"{giver} gave me {with_article(thing)}"


def with_article(thing: str) -> str:
    """Return a thing with "a" or "an", if it is one and has none.

    >>> [with_article(thing) for thing in ("copper brooch", "old coin", "the key", "fifteen mon")]
    ['a copper brooch', 'an old coin', 'the key', 'fifteen mon']
    """
    first, last = thing.split()[0].lower(), thing.partition(" of ")[0].split()[-1].lower()
    several = last.endswith("s") and not last.endswith("ss")
    if first in _DETERMINED or thing[0].isupper() or several or holds_number(first):
        return thing
    return f"{'an' if first[0] in 'aeiou' else 'a'} {thing}"


def ended(text: str) -> str:
    """Give a sentence its full stop.

    >>> ended("I leave on Saturday;"), ended("Is it so?")
    ('I leave on Saturday.', 'Is it so?')
    """
    text = text.rstrip(",;: ")
    bare = text.rstrip("\"”'’)] ")
    return text if bare.endswith((".", "!", "?", "…")) else text + "."


def listed(said: Sequence[str]) -> str:
    """Join names: "Alice, Bram and Liora"."""
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
