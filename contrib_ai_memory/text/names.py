"""Names of people: the forms that they take in a text, and whom a text names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache

from .segmentation import words_of

SHORTEST = 2  # characters of a name; one of a single letter would be found everywhere
SHORTEST_PART = 3  # of a part of a longer name
KEPT = 4096  # names whose patterns are cached
READ_LATELY = 256  # cached texts; the NPCs of a room hear the same

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})
_ARTICLE = re.compile(r"^(?:an?|the|some)\s+")
# parts of a name that identify nobody
_TITLES = frozenset(
    "mr mrs ms miss sir dame lady lord master mistress madam madame old young big little saint st "
    "captain doctor dr brother sister father mother uncle aunt king queen prince princess the of "
    "von van de der la le el and".split()
)
_PRONOUNS = frozenset("i me you he him she her it we us they them".split())
# nouns for anybody
_ANYBODY = frozenset("man woman person guy girl boy lad lass figure stranger people folk".split())


def forms(names: Iterable[str]) -> tuple[str, ...]:
    """The forms that name the bearer of `names`, the longest first.

    "Old Tom Tanner" is also "tom" and "tanner"; "a stout innkeeper" is also "innkeeper".
    """
    return _forms(tuple(sorted({name for name in names if name})))


def as_name(name: str) -> str:
    """Quote a name that reads as a pronoun: a player called You is not who is spoken to.

    >>> as_name("You"), as_name("Yoo")
    ('"You"', 'Yoo')
    """
    return f'"{name}"' if name.lower() in _PRONOUNS else name


@lru_cache(maxsize=KEPT)
def whole_forms(name: str) -> frozenset[str]:
    """The forms of a name that are the name itself, but for an article and apostrophes."""
    whole = _ARTICLE.sub("", folded(name))
    return frozenset({folded(name), whole, whole.replace("'", "")})


@lru_cache(maxsize=KEPT)
def _forms(names: tuple[str, ...]) -> tuple[str, ...]:
    found = set()
    for name in names:
        whole = _ARTICLE.sub("", folded(name))
        found.add(whole)
        parts = whole.split()
        if len(parts) > 1:
            proper = name[:1].isupper() and all(p[:1].isupper() for p in name.split()[-1:])
            some = parts if proper else parts[-1:]
            found |= {p for p in some if len(p) >= SHORTEST_PART and p not in _TITLES | _ANYBODY}
    found |= {name.replace("'", "") for name in found}
    return tuple(sorted((n for n in found if len(n) >= SHORTEST), key=lambda n: (-len(n), n)))


@lru_cache(maxsize=READ_LATELY)
def folded(text: str) -> str:
    """Normalise a text for comparing names: lower case, no accents, single blanks."""
    plain = unicodedata.normalize("NFKD", text.translate(_APOSTROPHES).lower())
    return " ".join("".join(c for c in plain if not unicodedata.combining(c)).split())


def names(name: str) -> set[str]:
    """Return the words by which somebody may be named, in lower case, of three letters or more.

    >>> sorted(names("T'sala of Windside"))
    ["t'sala", 'tsala', 'windside']
    """
    lowered = name.lower().replace("’", "'")
    words = set(re.findall(r"[^\W\d_]+(?:['-][^\W\d_]+)*", lowered))
    words |= {word.replace("'", "") for word in words}
    return {word for word in words if len(word) > 2}


def mentioned(text: str, people: Collection[str]) -> frozenset[str]:
    said = set(words_of(text))
    return frozenset(name for name in people if names(name) & said)
