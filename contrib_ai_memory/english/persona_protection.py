"""Persona protection [A]: the night learns no facts about the NPC's own acts, nature or opinions.

The extraction prompt says so; this module checks the extracted facts, whether a model or rules drew
them. A fact is dropped if the NPC, under any of its names, is the subject of a sentence or of what
somebody says there. A fact about somebody else may name the NPC. What the NPC owes or has in number
is a matter of the world.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

CHARACTERS_READ = 4000  # characters that are looked at

_ASSISTANT = ("assistant", "ai assistant", "chatbot", "npc", "ai", "language model")
_TITLES = frozenset("the a an old young lady lord sir captain master mistress mr mrs good".split())
# "Yesterday, I …", "When asked, I …"
_OPENING = (
    r"^[\s*•-]*(?:(?:in|on|at|during|after|before|when|while|if|as|for|with|since|once)\b[^,]{0,60},"
    r"\s+|(?:yesterday|today|tonight|earlier|later|then|now|also|\w+ly),?\s+)?"
)
_I = re.compile(rf"(?i:{_OPENING})(?:I\b|(?i:my\b|we (?:talked|spoke|discussed|chatted)\b))")
_SAYS = (
    r"(?:says?|said|tells? \w+|told \w+|thinks?|thought|believes?|knows?|claims?|swears?|feels?"
    r"|hears?|heard)(?: that)? "
)
_OWN = (
    r"(?:personality|character|nature|opinions?|views?|moods?|feelings?|goals?|behaviou?r"
    r"|favou?rites?|temper|heart|voice|role|persona)"
)
# not "Mara, wolves came", "Mara River", "the keeper of the light", "Mara has no room"
_FOLLOWS = (
    rf"(?!(?:of|at|in|from|to|owes|owed)\b|ha[sd] (?:an?|no|two|three|some|\d+)\b(?![^.]*{_OWN}))"
    r"(?-i:[a-z])"
)
# "Everyone likes …", "There is nobody kinder than …"
_PEOPLE = r"(?:there(?: is|'s) )?(?:every|any|some|no) ?(?:one|body)\b|none\b|people\b|folk\b|all\b"
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
_BREAK = re.compile(r"(?<=[.!?])\s+|[\"“”]")


def about_itself(text: str, npc_name: str, *aliases: str) -> bool:
    """Whether a fact is about the NPC itself: its acts, personality or opinions.

    A quotation counts too: the NPC does not learn about itself what others say of it.
    """
    text = text[:CHARACTERS_READ].replace("’", "'")
    own_words = _BREAK.split(_QUOTED.sub(" ", text))  # who "I" is in the words of others, they say
    if any(map(_I.match, own_words)):
        return True
    subject = _subject((npc_name, *aliases, *_ASSISTANT))
    keeper = _subject(("keeper",))  # of the extraction prompt; in a quotation it is anybody
    return any(map(subject.search, _BREAK.split(text))) or any(map(keeper.search, own_words))


@lru_cache(maxsize=256)
def _subject(names: Sequence[str]) -> re.Pattern[str]:
    """Return what finds one of these names as the subject of a sentence."""
    words = [name.strip() for name in names]
    words += [part for name in words for part in name.split() if part.lower() not in _TITLES]
    called = "|".join(re.escape(each) for each in words if re.search(r"\w", each))
    name = rf"(?:(?:the|our|an|this) )?(?:(?:good|old|[\w-]+(?:keeper|er|or|lady)),? )*(?:{called})"
    return re.compile(
        # "Alice was helped by Mara.", "A warm soul, that Mara.", "Alice and Mara are friends."
        rf"(?:\b(?:that|is|was|\w+(?:ed|en) by|and) |\()(?:that )?{name}"
        r"(?:[.!)]|,? (?:are|were|she|he)\b|$)"
        rf"|(?:{_OPENING}|\b{_SAYS})(?:{_PEOPLE})(?! (?:who|owes?)\b)[^.]*\b(?:{called})\b"
        rf"|(?:{_OPENING}|\b{_SAYS})(?:it(?: was|'s) )?"
        rf"(?:{name}|(?:our|the) \w+, {name},)"
        rf"(?:'s (?:{_OWN}\b|(?-i:an?) |not |so |very )|(?:, the [^,]+,)? {_FOLLOWS})",
        re.IGNORECASE,
    )
