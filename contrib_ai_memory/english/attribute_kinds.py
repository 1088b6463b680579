"""Kinds of attributes: whether a sentence about somebody tells something that lasts.

Kin, trade, home, taste, a trait or another fact. Sentences are in the third person and begin with a
name. What somebody is about to do, feels just now or did only once does not count.
"""

from __future__ import annotations

import re

from .salience import signals_of
from .stated_preferences import stated
from .tokens import content_words

LEAST_WORDS = 3  # of what is told of something of theirs
FACT_WORDS = 3  # that say something, the name left out, in a plain fact
A_TURN_OF_LIFE = 1.5  # importance of the words alone
# kin and other people of theirs
_KIN = re.compile(
    r"\b(?:brother|sister|wife|husband|father|mother|mom|mum|dad|son|daughter|kids?|children|child"
    r"|cousin|uncle|aunt|niece|nephew|grand(?:mother|father|ma|pa)|twin|friend|enemy|rival|master"
    r"|apprentice|betrothed|fianc[eé]e?|girlfriend|boyfriend|partner|widow(?:er)?|family|parents?"
    r"|married|engaged)s?\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"^(?:live|dwell|hail|come|stay|reside)s? (?:in|at|from|on|near|by)\b"
    r"|^(?:lived|was born|were born|grew up|was raised|moved|comes) (?:in|at|from|to|near|here)\b"
    r"|^(?:\w+ )?(?:home|house|village|town|hometown)\b",
    re.IGNORECASE,
)
# "keeps the ferry": a trade
_WORKS = re.compile(
    r"^(?:keeps|runs (?:an?|the|their|his|her)|works|serves|trades|sells|farms|guards|brews|bakes|"
    r"teaches|commands|owns|leads|hunts|fishes|heals|writes|studies|worked|served)\b",
    re.IGNORECASE,
)
# "is a smith"
_IS_A = re.compile(
    r"^(?:is|was) (?:an?|the) (?P<what>(?:[\w'’-]+ ){0,4}?[\w'’-]+)"
    r"(?=[.,;!]|$| (?:of|in|at|to|for|from|who|and|with|by)\b)",
    re.IGNORECASE,
)
# "is very kind"
_IS_LIKE = re.compile(
    r"^is (?:very |quite |rather |too |not |so |really |always |also )*(?P<how>[a-z-]+)"
    r"(?: (?:and|but) (?:[a-z-]+))?[.!]*$",
    re.IGNORECASE,
)
_JUST_NOW = frozenset(
    "tired glad happy sad sorry sure ready here there hungry thirsty angry late excited done back "
    "busy okay ok fine good well awake asleep gone wrong right next close near up down out in off "
    "alone scared afraid worried sick drunk cold hot wet thankful grateful proud lucky confused "
    "curious surprised serious kidding interested stuck free available nervous stoked".split()
)
# what somebody does, thinks or wants at the moment
_NOT_LASTING = re.compile(
    r"^(?:is|are|was|were|['’]s) (?:\w+ly |just |still |also |so |not |now )*"
    r"(?:going|about|gonna|trying|looking|thinking|getting|taking|coming|doing|saying|telling|glad|"
    r"happy|sorry|sure|ready|here|there|tired|excited|lucky|thankful|proud)\b"
    r"|^(?:will|would|can|could|might|may|should|shall|must|let|lets|did|didn['’]t|wo|won['’]t|"
    r"gonna|wants?|tries|tried|gets?|got|goes|went|takes|took|looks?|looked|turns?|turned|walks?|"
    r"moves|feels?|felt|thinks?|thought|says?|said|asks?|asked|sees?|saw|hopes?|guess(?:es)?|bets?|"
    r"means?|agrees?|appreciates?|wishes|gives|gave|makes|made|puts?|starts?|begins?|needs?|"
    r"remembers?|just|doesn['’]t (?:know|think|want|see|care)|can['’]t|couldn['’]t|rolls|rolled|"
    r"casts?|attacks?|shoots?|runs (?:up|over|in|out|to|away|back|down))\b",
    re.IGNORECASE,
)
# "has two sons", "grew up", "used to": what stays true
_LASTS = re.compile(
    r"^(?:has|owns|owes|belongs|used to|grew|learned|learnt|joined|married|lost|won(?!['’])|bought|"
    r"sold|inherited|founded|built|adopted|graduated|passed|became|retired|survived|killed|"
    r"signed up|is (?:\w+ )?(?:from|called|named|known|allergic|able|afraid of|drawn|good at|"
    r"bad at|famous|wanted|lucky to have|married|engaged)|usually|often|never|always|"
    r"doesn['’]t|isn['’]t|is no)\b",
    re.IGNORECASE,
)
# begins as what stays true does, and passes
_PASSES = re.compile(
    r"^has (?:to|no idea|a feeling|had|just|got to|gotten|(?:some|a lot of|lots of) (?:other )?"
    r"(?:stuff|things)|(?:\w+ )?been (?:\w+ )?(?:feeling|busy|swamped|blessed|thinking|looking|"
    r"dreaming|trying|taking|around|chasing|drinking|doing|going|getting|able|wanting|hit))\b"
    r"|^(?:lost|won|bought|sold|passed) (?:it|out|by|that|this|sight|track)\b",
    re.IGNORECASE,
)
_HABITS = frozenset(
    "plays sings speaks knows fears hides wears collects breeds raises grows believes cherishes "
    "volunteers practices practises trains rides reads paints dances helps cares travels sails "
    "worships prays suffers drinks smokes gathers supports coaches mentors competes cooks trusts "
    "distrusts dreams snores limps stutters depends earns visits forgets misses avoids carries "
    "supplies mends makes builds grinds weaves spins smuggles steals begs".split()
)
_LIKES = re.compile(
    r"\b(?:prefer|love|adore|enjoy|like|hate|loathe|dislike|despise|detest)(?:s|d|red)?\b"
    r"|\bfavou?rite|\b(?:cannot|can['’]t|couldn['’]t) (?:stand|bear)\b|\brather\b",
    re.IGNORECASE,
)
# "feels like", "looks like": no liking
_IS_AS_IF = re.compile(r"^(?:\w+ly )?(?:feel|felt|look|sound|seem|think|thought|act|was|is)", re.I)
_ADVERB = re.compile(
    r"^(?:\w+ly|also|always|never|often|still|just|even|now|once|currently|already) ", re.IGNORECASE
)
_LIKING_OF = re.compile(
    r"^(?:\w+ly |also |still )*(?:is|was)(?: \w+ly)? (?:an? )?(?:big |huge |great )?(?:fan of|"
    r"fond of|keen on|obsessed with|in love with|passionate about)\b",
    re.IGNORECASE,
)
# "painted this", "has been busy with those": of what, is not in the sentence
_OBJECT_UNRESOLVED = re.compile(
    r"^(?:[\w'’]+ ){1,3}(?:it|this|that|these|those|them|him|how|what|one|something|stuff"
    r"|her(?=\W*$|[,.;!]| (?:and|at|for|from|in|so|to|when|with)\b))\b",
    re.IGNORECASE,
)
_YOU = re.compile(r"\byou(?:rs?|['’]\w+)?\b", re.IGNORECASE)
_CLAIMED = re.compile(r" says: | claims that ")  # of whom they speak, they are no trait


def kind_of(sentence: str, name: str) -> str | None:
    """The type of attribute that a sentence about somebody states, or None.

    >>> kind_of("Alice keeps the ferry at Millbrook.", "Alice")
    'occupation'
    >>> kind_of("Alice is going to the market.", "Alice") is None
    True
    """
    begins = re.match(rf"{re.escape(name)}(?P<owns>['’]s?)? +(?P<rest>.+)", sentence, re.DOTALL)
    if not name or not begins or _CLAIMED.search(sentence) or _YOU.search(sentence):
        return None
    rest = begins["rest"]
    if begins["owns"]:
        return _of_theirs(rest)
    if _OBJECT_UNRESOLVED.match(rest):
        return None
    liking = _preference(sentence, rest, name)
    if liking is not None:
        return liking or None
    plain = _ADVERB.sub("", rest)
    if _PLACE.search(plain):
        return "place"
    is_a = _IS_A.match(plain)
    if _WORKS.match(plain) or is_a:
        return "relationship" if _KIN.search(is_a["what"] if is_a else "") else "occupation"
    is_like = _IS_LIKE.match(plain)
    if is_like:
        return None if is_like["how"].lower() in _JUST_NOW else "trait"
    return _fact(plain)


def _of_theirs(rest: str) -> str | None:
    """Of what is theirs: their kin, their home, or something else that they have."""
    if len(rest.split()) < LEAST_WORDS:
        return None
    if _KIN.search(" ".join(rest.split()[:2])):
        return "relationship"
    return "place" if _PLACE.search(rest) else "fact"


def _preference(sentence: str, rest: str, name: str) -> str | None:
    """ "preference", or "" for a liking of the moment; None where none is stated."""
    if _LIKING_OF.match(rest):
        return "preference"
    said = stated(sentence) if _LIKES.search(rest) and not _IS_AS_IF.match(rest) else None
    if said is None or said.subject.split(" ")[:1] != name.lower().split()[:1]:
        return None
    if re.match(r"(?:\w+ly )?(?:would|will|never will|always will)\b|['’]d\b", rest):
        return ""
    return "preference"


def _fact(rest: str) -> str | None:
    if _PASSES.match(rest) or len(content_words(rest)) < FACT_WORDS:
        return None
    if _LASTS.match(rest):
        owned = re.match(r"(?:has|is lucky to have)\b", rest)
        return "relationship" if owned and _KIN.search(" ".join(rest.split()[:9])) else "fact"
    if _NOT_LASTING.match(rest):
        return None
    turn = sum(signals_of(rest).values()) >= A_TURN_OF_LIFE
    return "fact" if turn or rest.split()[0].lower() in _HABITS else None
