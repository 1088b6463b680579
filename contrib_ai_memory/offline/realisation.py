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

from ..english import corrections, reported_speech
from ..english.addressing import hushes, named, without_address
from ..english.due_dates import MONTHS, due, is_weekday
from ..english.questions import asks, pieces, sentences_of
from ..english.small_talk import is_idle
from ..english.tokens import (
    BASES,
    BE,
    FUNCTION_WORDS,
    HAVE,
    MODALS,
    content_words,
    holds_number,
    is_past,
)
from ..language import Named
from ..local_time import date_of, local
from ..records import MOVE_KINDS, MemoryRecord, ReplyRequest
from ..text.names import forms
from ..text.sanitising import oneline
from ..text.segmentation import words_of
from .told_days import dated, day_told, on_day

FINITE = (BE | HAVE | MODALS) - {"have"}
_NO_NAMES = FUNCTION_WORDS | MODALS | BASES | {"may", "march", "august"}
_DETERMINED = frozenset("a an the some my your his her their our".split())

_NOT_THEIRS = frozenset(  # behind a name with "'s", which is "is" or "has" then
    "not a an the in on at here there back got gone been late ill well very so too always never "
    "still just now my your his her their our no one out off up down over".split()
)
_CLAUSE_ENDS = re.compile(r"[,.;:!?]| (?:because|cos|when|while|who|that|if|and|but|so) ")
_LEFT_FOR = re.compile(r"(?P<who>.+?) is leaving .+, heading for (?P<place>[^.]+)\.")
_OF_A_MONTH = re.compile(r"(?<!of )\b(?:this|next) month\b", re.I)  # which names no day
_SAYS_IT = re.compile(r" (?:believes?|thinks?|says?|reckons?|hopes?|knows?|hears?|heard)\b", re.I)
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
    if found and re.search("|".join(MONTHS), found.said, re.IGNORECASE):
        return None  # "on the third of March" says it already
    if found and not coming and is_weekday(found.said):
        same = found.day.weekday() == date_of(then).weekday()
        if same or not _is_of_the_past(text):
            return None  # "I'll bring it monday", said on a Monday
    return found.day if found and found.iso != then[:10] else None


def _is_of_the_past(text: str) -> bool:
    return any(word in _AGO or is_past(word) for word in words_of(text))


def _told(memory: MemoryRecord, request: ReplyRequest, *, by_date: bool) -> tuple[str, str]:
    """Say who said something and when ("Bram said yesterday"), and what (': "Hens!"').

    Where nobody is quoted, the first is "" and the second a sentence.
    """
    head, said = _head_and_words(memory, request, by_date=by_date)
    if not request.now:
        return head, said
    today = date_of(request.now)
    if memory.held_until:
        until = on_day(date_of(memory.held_until), today).removeprefix("on ")
        said = f"{said} That was so until {until}."
    named = day_named(memory) if by_date else None
    if named is None or _OF_A_MONTH.search(memory.said):
        return head, said
    return head, f"{said} That {'was' if named < today else 'is'} {dated(named, today)}."


def _head_and_words(
    memory: MemoryRecord, request: ReplyRequest, *, by_date: bool
) -> tuple[str, str]:
    matters = by_date or memory.held_until or day_named(memory)  # "I'll pay on Friday", said when?
    when = day_told(memory.created_at, request.now, by_date=by_date) if matters else ""
    if memory.record not in ("entry", "taught") and not memory.quote:
        return "", ended(oneline(memory.content))
    called = forms((request.npc_name, *request.npc_names))
    said = to_the_point(memory.said, called)
    if corrections.may_correct(said):
        said = corrections.without_admission(said)
    said = _without_hushing(_without_echo(_A_PLEA_NOT_TO.sub("", said), request.utterance))
    as_typed = ended(oneline(said))
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
    others = [each for each in known if each != request.speaker]
    if memory.about and memory.about == request.speaker_id:
        spoken_to = names_addressee(as_typed, others)
        told = "" if spoken_to else reported_speech.after_that(as_typed, names=known)
        told = f" that {with_capitals(told, known)}" if told else f': "{said}"'
        return f"You told me {when}".rstrip(), told
    if not memory.speaker:
        return "", said
    others = [each for each in known if each != memory.speaker]
    of_npc = named(said, called) is not Named.NOT
    to_npc = named(memory.key or memory.said, called) is Named.CALLED
    told = ""
    if not (of_npc or names_addressee(as_typed, others)):
        told = with_capitals(
            reported_speech.of_speaker(as_typed, memory.speaker, to_teller=to_npc), known
        )
    if not told:
        return f"{memory.speaker} said {when}".rstrip(), f': "{said}"'
    told = reported_speech.capital(_as_theirs(told, request.speaker))
    others_too = any(re.search(rf"\b{re.escape(each)}\b", told) for each in others if each)
    of_self = told.startswith(reported_speech.capital(memory.speaker))
    says = _SAYS_IT.match(told.removeprefix(reported_speech.capital(memory.speaker)))
    if of_self and not when and (says or not others_too):
        return "", told
    by = f"{memory.speaker} said {when}" if others_too or not of_self else f"I heard {when}"
    return "", _attributed(told, by if when else f"{memory.speaker} says")


def _as_theirs(told: str, name: str) -> str:
    """Tell somebody of what is theirs: "your brother Tobb is in the cells".

    >>> _as_theirs("Jinx's brother Tobb is in the cells.", "Jinx")
    'your brother Tobb is in the cells.'
    >>> _as_theirs("Jinx's angry with Finn.", "Jinx"), _as_theirs("Old Jinx's mill burned.", "Jinx")
    ("Jinx's angry with Finn.", "Old Jinx's mill burned.")
    """

    def theirs(found: re.Match[str]) -> str:
        named_longer = told[: found.start()].split()[-1:]
        words = _CLAUSE_ENDS.split(told[found.end() :] + " ")[0].lower().split()
        is_noun = bool(words) and words[0] not in _NOT_THEIRS and not words[0].endswith("ing")
        has_verb = any(each in FINITE or is_past(each) for each in words[1:])
        other = named_longer and named_longer[0][:1].isupper()
        return "your" if is_noun and has_verb and not other else found[0]

    return re.sub(rf"\b{re.escape(name)}['’]s\b", theirs, told) if name else told


def _attributed(told: str, by: str) -> str:
    """Say behind words whose they are.

    >>> _attributed("Bram's afraid of water.", "Alice says")
    "Bram's afraid of water, so Alice says."
    """
    return f"{told.rstrip('.!… ')}, so {by}."


def names_addressee(said: str, names: Iterable[str]) -> bool:
    """Whether words call one of these people: "I will pay you, Bram."."""
    some = "|".join(map(re.escape, filter(None, names)))
    begins, ends = rf"(?:^|[.!?]\s+)\W*(?:{some})\s*[,:!]", rf",\s*(?:{some})\W*(?:$|[.!?])"
    within = rf"\b(?:(?:I|you) do|yes|aye|no),\s*(?:{some})\s*,"
    calls = f"{begins}|{ends}|{within}"
    return bool(some and re.search(calls, said, re.IGNORECASE))


def with_capitals(told: str, names: Iterable[str]) -> str:
    """Return words with names as they are written, where they are in small letters."""
    small = {each.lower(): each for each in names if each.lower() not in _NO_NAMES}
    some = "|".join(map(re.escape, sorted(small, key=len, reverse=True)))
    pattern = rf"(?<![\w’'])(?:{some})(?!\w)"
    return re.sub(pattern, lambda found: small[found[0]], told) if some else told


def to_the_point(said: str, called: tuple[str, ...]) -> str:
    """Return words without the NPC's name in each sentence, greetings and interjections.

    >>> to_the_point("Good evening. Isbet, I have moved.", ("isbet",))
    'I have moved.'
    >>> to_the_point("black beer's my favourite, isbet, not wine", ("isbet",))
    "black beer's my favourite, not wine"
    >>> to_the_point("Good news, Isbet: guess what! i sold my boat haha. for ninety!", ("isbet",))
    'i sold my boat. for ninety!'
    >>> to_the_point("i broke a tile isbet im realy sorry", ("isbet",))
    'i broke a tile, im realy sorry'
    >>> to_the_point("Oh, sorry to hear it. anyways my boat sank :( i lost it all, honest.", ())
    'my boat sank, i lost it all.'
    """
    some = "|".join(map(re.escape, called)) or r"(?!)"
    opening = re.match(rf"(?P<is>[^.!?:]+),\s*(?:{some})(?: [a-z]+)?\s*[:.!–—]\s*", said, re.I)
    rest = said[opening.end() :] if opening else ""
    if opening and rest and _opens(opening["is"]) and not _SOMEBODY.search(rest):
        said = rest
    plain = without_vocatives(without_address(said, called), called)
    plain = _ASIDES.sub("", _with_marks_for_smileys(plain)) or plain
    sentences = [
        without_address(each, called)
        for sentence in sentences_of(plain)
        for each in _BEFORE_A_SMALL_LETTER.split(sentence)
    ]
    kept = []
    for before, each in pairwise(["", *sentences]):
        rest = _OPENERS.sub("", each)
        only_opens = rest != each and " " not in rest  # "Thanks, friend."
        # what answers a question is no interjection
        if asks(before) or not (only_opens or is_idle(rest)):
            kept.append(rest)
    return " ".join(kept) or plain


def without_vocatives(said: str, called: Iterable[str]) -> str:
    """Return words without the NPC's name between commas, or between two clauses of a speaker."""
    some = "|".join(map(re.escape, called)) or r"(?!)"
    return re.sub(
        rf",\s*(?:{some})\s*,|(?<=[a-z])\s+(?:{some})(?=\s+i(?:['’]?(?:m|ve|ll|d))?\s)",
        ",",
        said,
        flags=re.I,
    )


_SOMEBODY = re.compile(r"\b(?:s?he|it|they|him|her|them|there)\b", re.IGNORECASE)
_CHAT = r"(?:lo+l|lmao|rofl|a?(?:ha){2,}h?|(?:he){2,}h?|btw|by the way|tb[hf]|ngl|imh?o|fyi|omg)"
_SUBJECT = r"(?:i(?:['’]?(?:m|ve|ll|d))?|we|my|our|s?he(?:['’]?s)?|it(?:['’]?s)?|there)\b"
_ENDS_HERE = r"(?=\s*(?:$|[.,;!?]))"
_ASIDES = re.compile(
    r"^\W*guess what\s*[.,:;!?–—-]\W*(?=\w)"
    r"|(?<![\s,])(?<!\bis)(?<!\bwas)(?<!named)(?<!called)(?<!\bhim)(?<!\bher)"
    rf"[\s,]+(?:{_CHAT}|tho)\b(?=\s*(?:$|[.,;!?]| (?:and|but|so)\b))"
    r"|,\s*(?:(?:to be )?honest(?:ly|(?!,))|(?:i )?can['’]?t wait|yay|please)\b"
    rf"{_ENDS_HERE}|[\s,]+(?:pls|plz)\b{_ENDS_HERE}"
    r"|(?:^|[\s,]+)(?:but )?(?:don['’]?t|do not) get me wrong\b(?:\s*[.,:;!])?",
    re.IGNORECASE,
)
_BEFORE_A_SMALL_LETTER = re.compile(r"(?<=[a-z]{2}[.!?])\s+(?=[a-z])")
_BETWEEN_CLAUSES = re.compile(  # ":)", "my cat is called Mia btw shes nine"
    r"(?:\s*(?:(?<!\w)[:;=]['’]?-?[()DPp/|]+|[:;]['’]?[()]+|\s[xX]D+|(?<!\w)<3(?!\s+[a-z]+s\b))(?!\w))+"
    rf"|(?<=\w)\s+(?:{_CHAT}|tho)(?= {_SUBJECT})",
    re.IGNORECASE,
)
# "Actually I'll take it", "oh, anyways my sister plays", "Bad news, the trip is off", "No, I swim"
_OPENERS = re.compile(
    r"^\W*(?:(?:(?:oh(?: no)?|ah|h+m+|u+[hgm]+|e+rm*|wow|yay|actually|anyways?|honestly"
    rf"|to be honest|{_CHAT})\b|(?:good|bad|great|sad|big) news\s*[,:!–—-]"
    r"|(?:thanks|cheers|look|listen|just so|mind you|you see|(?:a )?correction),"
    r"|(?:ok(?:ay)?|well|so|and|but|yes|yeah|yep|aye|nah|no(?:pe)?"
    r"|hi|hello|hey|good (?:day|morning|afternoon|evening))"
    rf",?(?= (?:(?:well|so) )?{_SUBJECT}))[\s,.:;!–—-]*)+(?=\w)",
    re.IGNORECASE,
)
_A_PLEA_NOT_TO = re.compile(  # "im allergic to nuts so pls no nuts"
    r"(?<=\w),? (?:and so|so|and) (?:pls|plz|please),? (?:no|not|don['’]?t|do not|never)\b"
    r"(?! (?:ever )?forget\b)[^.!?;]*",
    re.I,
)


def _with_marks_for_smileys(said: str) -> str:
    """Return words without smileys, with a mark for one, or for "btw", between two clauses."""

    def mark(found: re.Match[str]) -> str:
        before, after = said[: found.start()], said[found.end() :].lstrip()
        within = before[-1:].isalnum() and after[:1].isalnum()
        return ("," if after[:1].islower() else ".") if within else ""

    return _BETWEEN_CLAUSES.sub(mark, said)


def _opens(words: str) -> bool:
    """Whether words before the NPC's name only open what is told: "A correction, Mara: …"."""
    return len(words.split()) > 1 and reported_speech.is_fragment(words) and not holds_number(words)


def _without_echo(said: str, asked: str) -> str:
    """Return words without the question that is asked again now.

    Other questions stay: "no onion for me? it makes my throat close" says what does.
    """
    now = content_words(asked)
    rest = [piece for piece in pieces(said) if not (asks(piece) and content_words(piece) <= now)]
    return " ".join(rest) or said


# "Bram said, keep it to yourself", "my motto is, not a word"
_LEADS_TO_WORDS = re.compile(
    r"^\W*(?:if|when|unless)\b|\b(?:sa(?:id|ys?)|told|tells?|ask(?:s|ed)?|begg?(?:s|ed)|whispered"
    r"|is|was|please)\W*(?:me|us|him|her|them)?\W*$",
    re.I,
)


def _without_hushing(said: str) -> str:
    """Return words without what asks for confidence at their beginning or end.

    >>> _without_hushing("The gold is buried, keep it to yourself")
    'The gold is buried'
    >>> _without_hushing("dont tell no1 but i hid the gold")
    'i hid the gold'
    >>> _without_hushing("Between ourselves, the gold is buried.")
    'the gold is buried.'
    >>> _without_hushing("The mill sign says, tell no one")
    'The mill sign says, tell no one'
    """
    first, *after = re.split(r"[,:]\s+| (?=but )", said, maxsplit=1)
    if after and hushes(first) and not re.match(r"(?:not even|tell|or)\b", after[0], re.I):
        return re.sub(r"^(?:but|because|cos) ", "", after[0], flags=re.I)
    told, _comma, rest = said.rpartition(",")
    if not told.strip() or _LEADS_TO_WORDS.search(told):
        return said
    return told if hushes(rest) else said


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
