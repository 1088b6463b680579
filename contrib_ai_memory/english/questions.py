"""Questions: sentences that ask or request information, with or without question mark.

A learned score over the words tells them (`python -m benchmarks.questions`); what a question is
about is read by rules.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from ..text.segmentation import parts_between, sentence_ends
from .tokens import hearsay
from .word_score import WordScore

CHARACTERS_READ = 400  # characters of a sentence that are looked at

score = WordScore(Path(__file__).with_name("question_weights.json"), ends=True)

_SENTENCE = re.compile(r"[^.!?…;\n]+[.!?…;\n]*")
_AFTER = re.compile(r"(?<=[.!?…;])\s+|(?<=[.!?…][\"'”’)])\s+")
_WORD = re.compile(r"[^\W_]")
_DRESSING = " \"'”’)*~\n"


def asks(text: str) -> bool:
    """Whether a text ends by asking: its last sentence is a question or a request to be told.

    >>> [asks(said) for said in ("do i own a mill", "do sit down", "who knows.", "what a day!")]
    [True, False, False, False]
    """
    sentences = _sentences(text)
    return bool(sentences) and _asks(sentences[-1])


def asked(text: str) -> float:
    """The share of a text that asks, 0-1."""
    sentences = _sentences(text)
    asking = sum(len(sentence) for sentence in sentences if _asks(sentence))
    return asking / max(1, sum(map(len, sentences)))


def pieces(text: str) -> list[str]:
    """Split a text into its questions, one a piece, and the statements between them.

    >>> pieces("where is my key? i had it yesterday. it is of brass.")
    ['where is my key?', 'i had it yesterday. it is of brass.']
    """
    sentences = [each for each in map(str.strip, _AFTER.split(text)) if each]
    found = []
    for asking, run in groupby(sentences, key=asks):
        together = list(run)
        found += together if asking else [" ".join(together)]
    return found


def statements(text: str) -> str:
    """A text without its questions."""
    return " ".join(piece for piece in pieces(text) if not asks(piece))


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences; a question stands alone, with or without its question mark.

    A quotation stays in the sentence that says whose words it holds.
    """
    text = " ".join(text.split())
    quoted = hearsay(text)
    cuts = [
        cut
        for cut in sentence_ends(text)
        if not any(start < cut < end - 1 for start, end in quoted)
    ]
    return [
        piece
        for sentence in filter(None, map(str.strip, parts_between(text, cuts)))
        for piece in ([sentence] if hearsay(sentence) else pieces(sentence))
    ]


def own_statements(text: str) -> str:
    """What a speaker states: without questions and quotations of others."""
    own = [sentence for sentence in sentences_of(text) if not hearsay(sentence)]
    return statements(" ".join(own))


def _sentences(text: str) -> list[str]:
    return [found for found in _SENTENCE.findall(text) if _WORD.search(found)]


# "have you heard?": news follows, or is to be asked for
_OPENS_NEWS = re.compile(
    r"(?:[\w'’-]+[,:] )?(?:(?:did|have) (?:you|u|ye|ya) (?:hear|heard)(?: the news)?|guess what"
    r"|(?:you|u)(?:['’]ll| will)? never guess)\W*",
    re.IGNORECASE,
)


def _asks(sentence: str) -> bool:
    bare = sentence[:CHARACTERS_READ].strip(_DRESSING)
    return not _OPENS_NEWS.fullmatch(bare) and score(bare) >= 0


# --- what a question is about ---------------------------------------------------------------------

_OF_ASKING = re.compile(
    r"\b(?:ask(?:s|ed|ing)?|questions?|inquir\w+|wonder\w*|wants? to know|wanted to know)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:date|day|week|month|year|season|time)\b",
    re.IGNORECASE,
)
# "tell me" and "where can I find" ask, and are not about whoever asks
_OF_ONESELF = re.compile(
    r"\b(?:my|mine|myself|our|ours)\b|\b(?:about|know|of|remember) (?:me|us)\b"
    r"|\b(?:do|did|am|was|have|had) (?:i|we)\b"
    r"|\b(?:i|we) (?:said|told|mentioned|like|love|hate|prefer|promised|asked|do for)\b",
    re.IGNORECASE,
)


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return bool(_WHEN.search(question))


_SEVERAL = re.compile(
    r"\bhow many\b|\bwhat (?:all|else)\b|\b(?:kind|type|sort)s? of\b|\bnames\b"
    # "which cities has he seen", "what are her hobbies": a plural near the question word
    r"|\b(?:what|which)\b(?:\s+(?:are|were|the|other|of)\b)*"
    r"(?:\s+(?!(?:do|did|have|had|is|was)\b)[^\W\d_]+(?:['’]s)?){0,3}?"
    r"\s+(?!(?:does|has|is|was|this|his|its)\b)[^\W\d_]*[^s\W\d_]s\b"
    # "where has he been": over a whole past
    r"|\b(?:what|which|where|whom?)\b.*?\b(?:has|have|['’]ve)\b",
    re.IGNORECASE,
)


def asks_for_several(question: str) -> bool:
    """Whether the answer may be a list, gathered from several occasions."""
    return bool(_SEVERAL.search(question))


def asks_of_asking(question: str) -> bool:
    """Whether a question is about what somebody asked: "what did Bram want to know?"."""
    return bool(_OF_ASKING.search(question))


# of taste, of a way of life: what it did, heard or promised is a matter of memory
_OF_LIFE = re.compile(
    r"\byour (?:own )?(?:favou?rite|age|family|childhood|hobby|husband|wife|children|parents)\b"
    r"|\b(?:do|don['’]?t|would|did) (?:you|u) (?:ever |really )*(?:like|enjoy|prefer|love|hate"
    r"|mind|fear|dream|sleep|drink|eat|sing|dance|pray|get (?:lonely|bored|tired))\b"
    r"|\bhow (?:old are|long have) (?:you|u)\b"
    r"|\bwhere (?:do|did|are|were) (?:you|u) (?:come from|from|live|sleep|grow up|born)\b"
    r"|\b(?:do|have) (?:you|u) (?:have|got) (?:an? |any )?(?:family|children|kids|husband|wife"
    r"|brothers?|sisters?)\b",
    re.IGNORECASE,
)


def asks_of_a_life(question: str) -> bool:
    """Whether a question is about the life or the taste of whom it asks."""
    return bool(_OF_LIFE.search(question))


_OF_YOU = re.compile(r"\b(?:you|your|yours|yourself|ya|ye|yer|ur|u(?!\.))\b", re.IGNORECASE)


def asks_of_you(question: str) -> bool:
    """Whether a question speaks of the one who is asked: "what did you promise"."""
    return bool(_OF_YOU.search(question))


def asks_of_oneself(question: str) -> bool:
    """Whether a question is about the person who asks it: "where is my brother"."""
    return bool(_OF_ONESELF.search(question))


_OF_A_WHOLE = re.compile(
    r"\btell (?:me|us)(?: more)? (?:about|of)\b"
    r"|\bwh?[ao]t\b.{0,14}\b(?:know|heard?|remember)\b.{0,6}\b(?:of|about|on)\b"
    r"|\bwho(?:['’]?s| is)\b.{0,20}(?:anyway|exactly|really)|\bdeal\b|\bdescribe\b|\bopinion\b"
    r"|\bwhat (?:sort|kind) of (?:man|woman|person|one)\b|\b(?:make|think) of\b",
    re.I,
)
# "tell me about Alice's silver key", "what do you know of my brother?"
_OF_A_THING = re.compile(r"\b(?:of|about|on)\s+(?:[\w-]+['’]s|my|our)\s+[^\W\d_]")
_OF_ONE_WHO_ASKS = re.compile(r"\b(?:know|heard?|think|tell me)\b.{0,6}\b(?:of|about) me\b", re.I)


def asks_of_a_whole(question: str) -> bool:
    """Whether a question asks for all of somebody or something: "tell me about Bram"."""
    return bool(_OF_A_WHOLE.search(question))


def asks_of_a_thing(question: str) -> bool:
    """Whether it asks so for something or somebody of a person's: "tell me of Bram's horse"."""
    return bool(_OF_A_WHOLE.search(question) and _OF_A_THING.search(question))


def asks_of_oneself_as_a_whole(question: str) -> bool:
    """Whether it asks so for the one who asks: "what do you know about me?"."""
    return bool(_OF_ONE_WHO_ASKS.search(question))
