"""Persona protection [A]: the night learns nothing about the NPC's own acts, nature or opinions.

The prompt of the extraction says so; this looks at what came of it. Rules on the subject of each
sentence, not a parser: a fact *about* somebody else may well name the NPC.
"""

from __future__ import annotations

import re
from functools import lru_cache

_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
_SENTENCE = re.compile(r"(?<=[.!?])\s+")

# what may stand before the subject: "Yesterday, Mara …", "When asked, the assistant …"
_OPENING = (
    r"(?:(?:in|on|at|during|after|before|when|whenever|while|if|as|for|with|since|upon|throughout|"
    r"until|because|once)\b[^,]{0,60},\s+|"
    r"(?:yesterday|today|tonight|earlier|later|once|then|now|also|however|meanwhile|\w+ly),?\s+)?"
)
_ASSISTANT = (
    r"(?:(?:the|this|an?|my)\s+)?(?:(?:helpful|friendly|ai|virtual|language)\s+)*"
    r"(?:assistant|chatbot|npc|ai|language model)\b(?!\s+(?:of|to|at)\b)(?![-\w])"
)
# "Mara's …" is about Mara where it is of her mind or her talk; her inn is a part of the world
_OF_ITS_OWN = (
    r"['’]s?\s+(?:\w+\s+)?(?:personality|character|nature|opinions?|views?|moods?|feelings?|attitude|"
    r"beliefs?|goals?|behaviou?r|responses?|repl(?:y|ies)|answers?|kindness|manners?|temper|"
    r"thoughts?|favou?rites?|voice|role|persona|advice|words)\b"
)
_SPEAKS = r"(?:help|tell|told|greet|serv|inform|ask|advis|warn|thank|remind|assur|comfort|welcom)"
_I = re.compile(
    rf"^(?i:{_OPENING})(?:I\b|(?i:my\b|we\s+(?:talked|spoke|discussed|chatted)\b))",
)
_TITLES = frozenset(
    "the a an old young big little tall fat thin blind mad one-eyed lady lord sir captain master "
    "mistress king queen prince princess mother father brother sister uncle aunt doctor dr saint "
    "st mr mrs ms good black white red grey".split()
)


def about_itself(text: str, npc_name: str) -> bool:
    """Whether a fact speaks of the NPC itself: its acts, its personality, its opinions.

    >>> about_itself("Mara told Alice that the ferry is late.", "Mara")
    True
    >>> about_itself("Alice says that Mara is kind.", "Mara")
    False
    """
    plain = _QUOTED.sub("“…”", text)  # the words of others are theirs
    sentences = [sentence.strip(" -*•\t") for sentence in _SENTENCE.split(plain)]
    return any(
        pattern.search(sentence) for sentence in sentences for pattern in _patterns(npc_name)
    )


@lru_cache(maxsize=256)
def _patterns(npc_name: str) -> tuple[re.Pattern[str], ...]:
    name = "|".join(re.escape(known) for known in _names(npc_name))
    # "Mara River" and "Mara-on-Sea" are somewhere else; "Mara, wolves came" speaks to her
    named = rf"(?:[Tt]he\s+)?(?:{name})(?![-\w])(?!\s+[A-Z])"
    subject = (
        rf"(?:{named}(?!['’])(?!,\s+(?!(?:who|the|an?|as)\b[^,]*,))|(?i:{_ASSISTANT})(?!['’]))"
    )
    either = rf"(?:{named}|(?i:{_ASSISTANT}))"
    others = r"(?:[A-Z][\w'’-]*(?:,\s+|\s+and\s+|,\s+and\s+)){1,5}"
    opening = rf"^(?i:{_OPENING})"
    return (
        _I,
        re.compile(rf"{opening}(?:{subject}|{either}(?i:{_OF_ITS_OWN}))"),
        re.compile(rf"{opening}{others}{subject}"),
        re.compile(rf"^(?i:according to|in the (?:opinion|words) of)\s+{either}"),
        re.compile(
            rf"\b(?:is|are|was|were|been|being)\s+(?:\w+ly\s+)?{_SPEAKS}(?:ed|d)?\s+(?:\w+\s+){{0,4}}by\s+{subject}"
        ),
    )


def _names(npc_name: str) -> list[str]:
    """What the NPC may be called: its whole name, and of "Mara Vane" or "Old Mara" also Mara."""
    whole = npc_name.strip()
    words = [w for w in whole.split() if w.lower() not in _TITLES and w[:1].isupper()]
    names = [whole, re.sub(r"^(?:the|an?)\s+", "", whole, flags=re.IGNORECASE)]
    if len(whole.split()) > 1 and words:
        names.append(words[0])
    return sorted(dict.fromkeys(names), key=len, reverse=True)
