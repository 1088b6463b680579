"""The addressee of a line of talk: whom it calls or mentions, and whether it is in confidence.

There are three ways to name a person: as an address (`CALLED`: "Mara, a beer", "thanks mara"), as
the subject of the sentence (`TOLD_OF`: "Mara's stew is good", "the captain smiles"), and in any
other way (`NAMED`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..language import Named
from ..text.names import KEPT, folded
from . import commitments
from .questions import asked
from .word_score import WordScore

READ_LATELY = 256  # cached lines; the NPCs of a room hear the same
LOOK_BACK = 60  # characters before and after a name that are read

_HONORIFIC = (
    r"(?:(?:mr|mrs|ms|miss|sir|dame|lady|lord|master|mistress|madame?|old|good|dear|my)\.? )"
)
_OPENER = (
    r"(?:hello|hullo|hi+|hiya|he+y|yo|oi|ps+t|ho|hail|greetings|welcome|good day|"
    r"(?:good )?(?:morning|mornin'?|evening|evenin'?|afternoon|night)|well met|"
    r"thanks|thank you|thx|cheers|sorry|please|farewell|bye|goodbye|see you|"
    r"yes|yeah|aye|no|nope|oh|ah|ok|okay|well|so|and you|right|look|listen|wait)"
)
_DENIAL = r"(?:no|nah|nope|wait|sorry|actually)"
_BEGINS = re.compile(rf"(?:^|[.!?;:…\n(\"“*–—]|--)[\s\"“(*]*{_HONORIFIC}?$")
_OPENED = re.compile(rf"(?:^|[^\w]){_OPENER}[\s,!.]+{_HONORIFIC}?$")
_AND = re.compile(r",? (?:and|&|n|or) ")
_AFTER_COMMA = re.compile(rf",\s*{_HONORIFIC}?$")
_ENDS = re.compile(r"\s*(?:$|[,.!?;:…)\"”*–—]|--)")
_OF_ONE = re.compile(  # "the innkeeper", "do you like bram"
    r"(?:^|[^\w])(?:the|that|this|our|your|his|her|their|an?"
    r"|(?:you|u|ye|ya)(?:['’]?ve)? (?:ever |really )?"
    r"(?:like|love|trust|hate|fancy|miss|met|seen)) $"
)
# how a sentence about somebody goes on: "Mara is", "mara says"; not "mara did they mend it"
_PRONOUN = r"(?:i|you|u|we|they|he|she|it|the|this|that|these|those|my|your|our|there)\b"
_GOES_ON = re.compile(
    r"'s\b|\s+(?:says|said|told|tells|gave|gives|went|goes|came|comes|took|takes|made|makes|knows|"
    r"knew|heard|keeps|kept|thinks|thought|wants|wanted|looks|sells|sold|owes|got|gets|saw|sees|"
    r"never|always|just|already|also"
    r"|(?:is|was|has|had|did|does|will|would|can|could|might|may|must|should)(?:n't)?"
    rf" (?!{_PRONOUN})"
    r")\b"
)
# a question that begins with a name: "mara did alice promise"; not "mara is in, isn't she?"
_ASKED_OF = re.compile(
    r"\s+(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should|got|seen|heard)\b"
    r"(?!.*(?:n't (?:she|he|they|it)|\bright|\beh)\W*$)"
)

# what asks about somebody: "how much does Hanna owe you?", "what did alice order b4"
_ASKED_ABOUT = re.compile(
    r"\b(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should)(?:n't)? $"
)
_GOES_ON_ABOUT = re.compile(r"\s+(?!please|pls)\w")


@lru_cache(maxsize=READ_LATELY)
def named(text: str, names: tuple[str, ...]) -> Named:
    """How `text` names the bearer of `names` (see `forms`)."""
    text = folded(text)
    found = _pattern(names).finditer(text)
    return max((_how(text, each) for each in found), default=Named.NOT)


def beside(text: str, others: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether two people are named together: "Bram and Mara, good evening"."""
    for other in _pattern(others).finditer(folded(text)):
        joined = _AND.match(folded(text), other.end())
        if joined and _pattern(names).match(folded(text), joined.end()):
            return True
    return False


_BEFORE_A_NAME = re.compile(
    r"\b(?:of|about|from|to|by|with|for|the|a|an|is|are|was|and|or"
    r"|our|your|his|her|their|my|this|that|new|old|called|named|sister|brother"
    r"|(?:seen?|saw|know|knew|met|meet|like|love|trust|hate|ask|tell|told)(?=[^,]*$))\W*$"
)


# before what somebody looks like, at the end of a question: "whose is it, a tall man?" (rpsystem)
_BY_LOOKS = re.compile(r",\s+(?:an?|the)\s+$", re.IGNORECASE)


def without_address(text: str, names: tuple[str, ...]) -> str:
    """Strip the names by which a line addresses somebody.

    They stand at its beginning, at its end, or before a mark within it. A word of greeting goes
    with the name; what denies or corrects stays.

    Args:
        names: See `forms`.

    >>> without_address("captain. what wont i eat", ("captain",))
    'what wont i eat'
    >>> without_address("Who owes me coin, Captain?", ("captain",))
    'Who owes me coin?'
    >>> without_address("tell me about the captain", ("captain",))
    'tell me about the captain'
    >>> without_address("Hello, Ingram Pask.", ("ingram pask", "ingram", "pask"))
    'Hello.'
    >>> without_address("nah mara its eleven", ("mara",))
    'nah its eleven'
    >>> without_address("where am i mara? had one too many", ("mara",))
    'where am i? had one too many'
    >>> without_address("i like it hot, mara. wakes the bones", ("mara",))
    'i like it hot. wakes the bones'
    """
    name = "|".join(re.escape(each).replace("'", "['’]") for each in names)
    if not name:
        return text
    begins = re.compile(
        rf"^\W*(?:(?P<denial>(?:{_DENIAL}[\s,]+)+)|{_OPENER}[\s,]+)?@?{_HONORIFIC}?"
        rf"(?:{name})(?!['’]s|\s+(?:{name})\b)\b[\s,:;!.–—-]*(?=\w)",
        re.I,
    )
    ends = re.compile(rf"[\s,]+@?{_HONORIFIC}?(?:{name})\b(?=\s*[?!]|(?: x+)?\W*$)", re.I)
    rest = begins.sub(lambda found: found["denial"] or "", text, count=1)
    for found in reversed([*ends.finditer(rest)]):
        if "," in found[0] or not _BEFORE_A_NAME.search(rest[: found.start()].lower()):
            rest = rest[: found.start()] + rest[found.end() :]
    within = rf"(?<!not)(?P<word> [\w'-]+),\s+@?{_HONORIFIC}?(?:{name})(?=[.;])"
    rest = re.sub(within, r"\g<word>", rest, flags=re.I)
    return rest if re.search(r"\w", rest) else text


@lru_cache(maxsize=KEPT)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    some = "|".join(map(re.escape, names))
    return re.compile(rf"(?<!\w)@?(?:{some})(?!\w)" if names else r"(?!)")


def _how(text: str, found: re.Match[str]) -> Named:
    start = found.start()
    before = text[:start] if start <= LOOK_BACK else "x" + text[start - LOOK_BACK : start]
    after = text[found.end() : found.end() + LOOK_BACK]
    if found.group().startswith("@"):
        return Named.CALLED
    begins = _BEGINS.search(before) or _OPENED.search(before)
    if begins and _ASKED_OF.match(after) and asked(text):
        return Named.CALLED
    if _BY_LOOKS.search(before) and after.startswith("?"):
        return Named.CALLED
    about = _ASKED_ABOUT.search(before) and _GOES_ON_ABOUT.match(after) and asked(text)
    if about or _GOES_ON.match(after) or _OF_ONE.search(before):
        return Named.TOLD_OF
    if begins or (_AFTER_COMMA.search(before) and _ENDS.match(after)):
        return Named.CALLED
    return Named.NAMED


# --- confidences ---------------------------------------------------------------------------------

# players have other wordings ("u didn't hear it from me"): `python -m benchmarks.confidences`
confidence = WordScore(Path(__file__).with_name("confidence_weights.json"))

_ANYONE = r"(?:any ?one|any ?body|a (?:living |single )?soul|no ?one|nobody|the others)\b"
_NOT_TO = (
    r"(?:do not|don'?t|never|not to|won'?t|will not|must not|mustn'?t|can ?not|can'?t) "
    r"(?:you |ever |dare |go ){0,2}(?:tell|telling|repeat|mention|breathe|whisper|say)\b"
)
_NOT_OF_OTHERS = r"(?<!\bi )(?<!\bwe )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bwhy )(?<!\bwho )"
_SOMEBODY = (
    r"(?:(?:the|my|your|his|her|our) (?!truth\b))?"
    r"(?!me\b|us\b|you\b|u\b|it\b|th(?:at|is)\b|lies?\b|tales?\b|fibs?\b|jokes?\b|stories\b)"
    r"[\w'-]+"
)
_WHAT_NOT = (
    r"(?=\s*(?:$|[.,!;:])"
    r"| (?:but|that|this|about|of|what|where|why|ever|please|pls|lol|ok|i|i'm|im|we)\b)"
)
# "forget what i said about the sheriff", "pretend i never told you"; not "I forget what you said"
_UNSAID = (
    r"(?:"
    r"(?:\b(?:can|could|would|will) (?:you|u|ye) (?:please |just |now )?"
    r"|(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bu )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bnot )"
    r"(?<!n't )(?<!\bdont )(?<!\bwont )(?<!\bnever )(?<!\bto )(?<!\bever ))"
    r"\bforget (?:all |everything |anything |about )*(?:(?:what|whatever|that) )?"
    r"|\bpretend (?:that )?)"
    r"(?:i|we)(?:'ve| have)? (?:ever |never |just |did ?n'?t )*"
    r"(?:sa(?:y|id)|t(?:ell|old)|mention(?:ed)?|whisper(?:ed)?|confess(?:ed)?|admit(?:ted)?)\b"
)
_CONFIDES = re.compile(
    # "don't tell anyone", "never breathe a word of it to anybody"; not "I don't tell anyone"
    rf"{_NOT_OF_OTHERS}\b{_NOT_TO}[^.!?\n]{{0,30}}?\b{_ANYONE}"
    # "dont tell the prior", "pls dont tell"; not "don't tell lies", "don't tell me"
    rf"|{_NOT_OF_OTHERS}\b(?:do not|don'?t|never) (?:you |ever |dare |go )*"
    rf"tell(?: {_SOMEBODY})?{_WHAT_NOT}"
    # "dont tell bram hes getting a boat"; not "you don't tell bram how to bake"
    r"|(?:^|[.!?,;:-]\s*|\b(?:and|but|so|please|pls) )(?:do not|don'?t|never)"
    r" (?:you |ever |dare |go )*"
    rf"tell (?!(?:yourself|people|folks?|strangers|time|fortunes)\b){_SOMEBODY}"
    r" (?:ive|i've|ill|i'll|id|he|he's|hes|she|she's|shes|they|theyre|there|there's|theres"
    r"|my|our|his|her|who|when|how|if|anything|a thing|(?-i:[A-Z])[\w'-]+)\b"
    rf"|{_UNSAID}"
    r"|\btell (?:this |it |that )?(?:to )?(?:no ?one|nobody|not a soul)\b"
    # "not a word to the girl"; not "he said not a word"
    r"|(?:^|[.!?,;:-]\s*|\band |\bplease )not a word\b"
    r"(?: (?:about|of|to|please|now)\b|\s*(?:$|[.,!]))"
    r"|\bbetween (?:(?:you|u|ya|ye)(?: and| an'?| n'?| 'n'?| &)+ (?:me|i|us)|ourselves"
    r"|the (?:two|three) of us)\b"
    r"|\b(?:do not|don'?t|never|mustn'?t) let (?:this|a word of (?:it|this))"
    r" (?:slip|get (?:out|round|around|about)|go (?:any )?further)\b"
    r"|(?:^|[.!?,;]\s*|\b(?:but|and|please|pls) )(?:do not|don'?t) let on\b(?! (?:who|much)\b)"
    r"|\b(?:this|what i (?:say|tell you)) (?:goes|must go|is to go|mustn'?t go) no further\b"
    r"(?! than)|\bmum'?s the word\b|\bkeep sc?htum\b|\bkeep mum(?=\W*$| about\b)"
    r"|\bkeep (?:your|ur|yer) (?:mouth|trap|gob) shut (?:about|on|over)\b"
    r"|\bi should(?: not|n'?t) (?:be telling|tell) (?:you|u|ya|ye) this\b"
    r"|\b(?:just|only|strictly|stays?|keep (?:it|this|that)) between us\b"
    r"|(?:^|[.!?,]\s*)between us\s*[.,:;-]|\bcan you keep a secret\b"
    r"|\bkeep (?:it|this|that|that one|what i \w+|my secret)(?: (?:all|strictly))?"
    r" (?:to|for) yoursel(?:f|ves)\b"
    r"|\bkeep (?:it|this|that) (?:a |our )?(?:secret|quiet|dark|under (?:your|ur|yer|ya) hat)\b"
    r"|\bour little secret\b|\b(?:this|it|that)(?: is|'?s| stays| remains) our secret\b"
    r"|\bthis(?: stays|'?s to stay| must stay) (?:with us|in this room)\b"
    r"|\bwhat i (?:say|said|tell you|told you) stays\b"
    # "Sal's not to know", "he mustn't find out"; not "you must not know him"
    r"|(?<!\byou )\b(?!i\b|we\b|you\b|u\b)[\w-]+"
    r"(?:'s not to| is not to| isn'?t to| mustn'?t| must (?:not|never))"
    r" (?:ever )?(?:know(?! (?:how|what it)\b)|find out|get wind|learn of (?:it|this))\b"
    r"|\b(?:this is|it'?s) (?:a |strictly |our )?(?:secret|confidential)\b"
    r"|\b(?:do not|don'?t|never) say (?:anything|a word|nothing) to\b"
    r"|\b(?:you|u|ya|ye) (?:did ?n'?t|never) hear (?:it|this|that) from me\b"
    r"|\b(?:your|ur|yer) ears (?:only|alone)\b"
    r"|\bin (?:strict |strictest )?confidence\b|\bstrictly confidential\b"
    r"|\b(?:no ?one|nobody) (?:else )?(?:must|may|can|should|is to|has to) (?:ever )?"
    r"(?:know|hear|find out|learn)\b"
    r"|\b(?:swear|promise)(?: me)?(?: that)?,? (?:(?:you|u|ya|ye) (?:won'?t|will not|'?ll never"
    r"|will never|wont)|not to|never to) (?:ever )?"
    r"(?:tell|breathe a word|repeat (?:this|that|it|what i)\b)",
    re.IGNORECASE,
)


_KEEPS_QUIET = re.compile(
    r"(?:(?:please|pls|plz|just|now|and|so|but|oh|well|ok(?:ay)?|then|mind|remember),? )*"
    rf"(?:{_UNSAID}[^,;:.!?]*"
    rf"|(?:{_CONFIDES.pattern})"
    r"(?:,? (?:to (?:the |my )?\w+|(?:about )?(?:it|this|that|what (?:i|we) \w+)"
    r"|about (?:the |my )?\w+))*)"
    r"(?:,? (?:please|pls|plz|ok(?:ay)?|lol|now|either|ever|again))*",
    re.IGNORECASE,
)


def confides(text: str) -> bool:
    """Whether a speaker asks for confidence: "don't tell anyone", "forget what I said".

    >>> [confides(said) for said in ("Don't tell anyone: I am Dunstan.", "I don't tell anyone.")]
    [True, False]
    """
    if asks_in_known_words(text):
        return True
    # "tell Kaspo that his boot is in the piano" is a message, however it sounds
    return confidence(text) >= 0 and not commitments.passes_on(text)


def asks_in_known_words(text: str) -> bool:
    """Whether a text asks for confidence in one of the usual wordings."""
    return bool(_CONFIDES.search(text.replace("’", "'")))


def hushes(text: str) -> bool:
    """Whether a sentence asks for confidence or to forget, and tells nothing.

    >>> [hushes(said) for said in ("Please don't tell anyone.", "Don't tell anyone: I am Dunstan.")]
    [True, False]
    """
    bare = text.replace("’", "'").strip(' \t\n.,!?;:…"()-–—~*')
    return bool(_KEEPS_QUIET.fullmatch(bare))
