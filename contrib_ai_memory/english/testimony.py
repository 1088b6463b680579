"""Whose word a sentence is: sentences kept whole where they quote somebody, poses as claims.

Whoever poses may write anything: `Bram kneels. Liora says, "I stole it."` is no statement of
Liora's. What a pose shows of its own poser is what was seen; the rest is what the poser claims.
"""

from __future__ import annotations

import re

from . import verbs
from .person import speaks_of_self, third_person
from .questions import apart, statements

_ENDS = re.compile(r"(?<=[.!?…])[\"'”’]?\s+(?=[\"'“‘A-Z0-9])")
_QUOTED = re.compile(
    r"\"[^\"]*(?:\"|$)|“[^”]*(?:”|$)"
    r"|(?<=[,:] )['‘](?=[A-Z]).*?[.!?,…]['’](?!\w)"
)
_SAYING = re.compile(
    r"\s*(?:[\w'’-]+ ){0,3}(?:says?|said|cries|cried|asks?|asked|claims?|claimed|repl(?:y|ies|ied)|"
    r"whisper(?:s|ed)?|shouts?|shouted|mutter(?:s|ed)?)\b"
)
_NAME = re.compile(r"(?!I\b|I['’])[A-Z][\w'’-]*")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_PRONOUN = frozenset("he she they it his her their its him them".split())
_BEFORE_THE_POSER = frozenset(
    "with without then and but after before as while when in on at from for to into over still "
    "just now again once one both all".split()
)
_SMALL = frozenset(
    "the a an this that these those there it he she they his her their its some all every no "
    "each many most in on at by with after before when while if as for from to".split()
)


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, cut where one ends and a capital begins, or where one asks.

    What somebody quotes of another stays in the sentence that says whose words they are.
    """
    text = " ".join(text.split())
    kept = _hearsay(text)
    found, start = [], 0
    for end in _ENDS.finditer(text):
        at = end.start()
        if any(begin < at < close - 1 for begin, close in kept):
            continue
        closing = at + 1 if any(close - 1 == at for _, close in kept) else at
        found.append(text[start:closing])
        start = end.end()
    found.append(text[start:])
    return [
        piece
        for sentence in map(str.strip, found)
        if sentence
        for piece in ([sentence] if _hearsay(sentence) else apart(sentence))
    ]


def _hearsay(text: str) -> list[tuple[int, int]]:
    """Where a text quotes what somebody says: with who says it before it, or behind it."""
    found = []
    for quoted in _QUOTED.finditer(text):
        before = text[: quoted.start()].rstrip()
        if (before and before[-1] not in ".!?…") or _SAYING.match(text, quoted.end()):
            found.append(quoted.span())
    return found


def own_statements(text: str) -> str:
    """What somebody states of their own: without what they ask and what they quote of others."""
    own = [piece for piece in sentences_of(text) if not _hearsay(piece)]
    return statements(" ".join(own))


def as_posed(text: str, poser: str) -> str:
    """A pose as what it is: what its poser does, and what the poser claims.

    >>> as_posed('Bram kneels. Liora says, "I stole it."', "Bram")
    'Bram kneels. Bram claims that Liora says, "I stole it."'
    """
    sentences = sentences_of(text)
    told = [claimed(sentence, poser) for sentence in sentences]
    return text if told == sentences else " ".join(told)


def claimed(sentence: str, poser: str) -> str:
    """One sentence of a pose, as a claim of the poser's where it is not of the poser."""
    if not poser or _is_of(sentence, poser):
        return sentence
    if speaks_of_self(sentence):
        sentence = third_person(sentence, poser)
    first, _, rest = sentence.partition(" ")
    first = first.lower() if first.lower() in _SMALL else first
    return f"{poser} claims that {first} {rest}".rstrip()


def _is_of(sentence: str, poser: str) -> bool:
    """Whether a sentence shows what the poser does: the poser, or nobody, is named before its
    verb, and nobody else is quoted in it."""
    bare = _QUOTED.sub(" ", sentence)
    own = {word.lower() for word in _WORD.findall(poser)}
    begins = _WORD.findall(bare)
    if not begins:
        return not _QUOTED.search(sentence)
    head = begins[0].lower()
    named = [
        name
        for place, name in enumerate(_NAME.findall(bare))
        if not (place == 0 and bare.lstrip().startswith(name) and head in _SMALL | _PRONOUN)
        and _bare(name) not in own
        and not (bare.lstrip().startswith(name) and _acts(head))
    ]
    of_poser = _bare(head) in own or sentence.lower().startswith(poser.lower())
    if _QUOTED.search(sentence):
        return not named and (of_poser or head in _PRONOUN)
    if of_poser:
        return True
    if head in _PRONOUN or _acts(head):
        first = next(iter(_NAME.findall(bare)[bare.lstrip()[:1].isupper() :]), "")
        return not first or _bare(first) in own or head in _PRONOUN
    return False


def _bare(name: str) -> str:
    return re.sub(r"['’]s?$", "", name.lower())


def _acts(word: str) -> bool:
    """Whether a sentence that begins so leaves its subject out, or puts something before it."""
    return (
        word in _BEFORE_THE_POSER
        or word in verbs.THIRD
        or (word.endswith(("ly", "ing")) and len(word) > 4)
    )
