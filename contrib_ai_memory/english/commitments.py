"""Commitments: whether a sentence promises, owes, asks the listener for something, or plans.

Rules for talk as players type it. They abstain where they are not sure: a hope, a threat, an order
of the moment ("give me an ale") and a question commit nobody. `closes` is their counterpart: words
that say that something was done, is off, or will not be done.
"""

from __future__ import annotations

import itertools
import re
from typing import Literal

from .due_dates import due
from .questions import asks
from .tokens import (
    AUXILIARIES,
    FUNCTION_WORDS,
    IRREGULAR,
    NUMBER_WORD,
    NUMBERS,
    is_past,
    without_quotations,
    words_of,
)

Commitment = Literal["promise", "debt", "request", "plan"]
Closing = Literal["done", "off", "broken"]

LEAST_WORDS = 4  # of a plan

_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'"})
_YOU = r"(?:you|u|ye|ya|him|her|them|'em|em)"
_STOP = re.compile(r"[.!?;]+(?:\s|$)")
_OUT_OF_CHARACTER = re.compile(r"^\s*\(\(|\booc\b")
_SWEARS = re.compile(
    r"\b(?:i|we) (?:promise|swear|vow)\b|\b(?:promise|swear)[~!.]*$|\bcross (?:my|ma|me) \w+\b"
    r"|\b(?:on|upon|by) (?:my|me|ma|mine) (?:\w+'s )?(?:word|honou?r|life|oath|soul|memory|mother"
    r"|head|tusk|hammer|sword|faith)\b"
    r"|\bmy (?:word|hand|oath) on it\b|\byou(?:'ve| have) my word\b|\bi give (?:you|u) my word\b"
    r"|\bor i(?:'?m| am) (?:no|not)\b|\bswear on\b"
)
_DENIES = re.compile(
    r"\b(?:i|we)(?:'?d|'?ve)? (?:never|didn'?t|wasn'?t|haven'?t|don'?t|won'?t|wont|dont|can'?t"
    r"|cannot|would|could|wish|hope|might|should)\b|\bnever mind\b"
)
# "i promised jessa id fix her roof", "i gave hobb my word that"; not "the ale i promised"
_PROMISED = re.compile(
    r"\b(?:i|we)(?:'?ve| have| had|'d)? (?:just )?"
    r"(?:promised|swore|sworn|vowed|gave (?:\w+ )?my word)\b"
    r"(?: (?!to\b|when\b|if\b)[\w'-]+){0,3}? "
    r"(?:to|that|i'?d|i'?ll|i (?:would|will)|we'?d|an?|the|some|"
    rf"{NUMBER_WORD}|\d+) \w"
)
_PARTS = re.compile(
    r"\b(?:(?:i'?ll |we'?ll |will )?(?:see|c|catch|meet) (?:you|u|ya|ye|y'?all)(?: all)?|until|till"
    r"|bye+|goodbye|farewell|good ?night|night|gtg|g2g|ttyl|cya|later|laters|(?:gotta|got to) go)\b"
)
_HEDGED = re.compile(
    r"\b(?:thinking (?:of|about)|might|maybe|perhaps|wish|hope|hoping|dunno|consider(?:ing)?)\b"
)
_WILL = (
    r"\b(?:i'll|ill|i will|i shall|i'm going to|im going to|i'?m gonna|i gonna|ima|we'll|we will"
    r"|we shall|shall i|let me|i'm to|i)"
)
_SERVICE = (
    r"(?:bring|drop(?= you (?:off|round|a (?!line\b)|the |some |\d)|(?: \w+){1,4} (?:off|round)\b)"
    r"|pay|fetch|mend|fix|repair|send|give|show|teach|build|return|carry|write|find|sing"
    r"|play|cook|wake|guard|help|clean|polish|sew|darn|buy|settle|deliver|name|grind|hand|walk"
    r"|carve|forge|brew|bake|pick|plant|chop|paint|read|tell|keep|hold|save|make|stand|work|put"
    r"|take|have|get|come|be|post|draw|dig|feed|speak|ask|see to|count|trade|square|swap|lend"
    r"|learn|serve|fill|open|look)"
)
_SERVES = re.compile(
    rf"{_WILL} (?:just |then |also |gladly |personally )?(?P<verb>{_SERVICE})\b"
    r"(?! my leave\b| off\b| [\w' ]{1,30} to (?:it|that)\b)"
)
_EVERYDAY = frozenset("have get take be come see to make put keep hold tell look open ask".split())
_FOR_ANOTHER = re.compile(rf"\b{_YOU}\b|\b(?:your|yer|ur|back|for \w+)\b")
_YOU_GET = re.compile(
    r"\b(?:you|u|ye|ya)(?:'ll| shall| will|'d|ll)? (?:have|hae|get|gets) "
    r"(?:it|them|em|that|your|ur|yer|the|all|my|my|mine|\w+ of it|another|a|an|\d+|\w+ back)\b"
    r"|\b(?:it'll|it will|it shall|they'll|all \w+ will) be (?:yours|back|there|ready|done|in|on)\b"
)
_PAYS = re.compile(rf"{_WILL} (?:re)?(?:pay|settle)\b(?! (?:you |u |him |her )?a visit)")
_OWES = re.compile(
    r"\bowe(?:s|d)?\b"
    r"|\b(?:i'?m|i am|we'?re|he'?s|she'?s|is|are) in(?:to| hock to) [\w' -]{2,24}? for"
    rf" (?:(?:a|an|{NUMBER_WORD}|\d+) [\w'-]+|\w+pence)\b"
    r"|\b(?:haven'?t|havent|not) paid (?:him|her|them|you|u|ye)\b"
    r"|\b(?:on|to) (?:my|the|your|ur) (?:slate|tab)\b|\biou\b"
    r"|\bpay (?:you|u|ye|ya|him|her|them|it|that)(?: \w+)? (?:back|later|when|on|by|in|for)\b"
    r"|\bpay (?:you|u|ye|it|the) .{0,30}\b(?:rest|month|week|\w+day|tomorrow|tmrw)\b"
    r"|\b(?:rest|half|other \w+) .{0,30}\b(?:when|by|on|till?|at|next|tomorrow|\w+day)\b"
    r"|\b(?:lend|lent|loan(?:ed)?|lend us|borrow(?:ed)?)\b.{0,40}"
    r"\b(?:till?|until|by|back|for the|for a)\b"
    r"|\b(?:lent|lends) (?:me|him|her|you|u)\b"
    rf"|\b(?:i|we|i'?ve|we'?ve) (?:have )?borrowed (?:(?:a|an|{NUMBER_WORD}|\d+) [\w'-]+|\w+pence)"
    r" (?:from|off(?: of)?) (?!me\b)"
)
_ON_THE_SLATE = re.compile(
    r"(?:^|[.!?;:,]\s*|\b(?:and|please|pls|so|just|can you|could you|i'?ll) )(?:please |just )?"
    r"put (?!it\b|that\b|this\b).{2,60} (?:on|to) "
    r"(?:(?:my|our) (?:slate|tab|bill)|the (?:slate|tab))\b"
)
_OWED_TO_SPEAKER = re.compile(
    r"\b(?:you|u|ya|ye)(?: still)? owe\b(?! (?:him|her|them|it)\b)|\bowes? me\b"
    r"|\byou(?:'re| are) (?:still )?short\b"
)
_AMOUNT = rf"(?:a|an|the|your|{NUMBER_WORD}|\d+)"
# "the miller", "my old uncle", "hobb"
_CREDITOR = (
    r"(?:(?:the|my|our|his|her|their) (?:(?:old|young|poor) )?[^\W\d]['\w-]+|[^\W\d]['\w-]+)"
)
_OWED_AFTER = re.compile(
    rf"\bowe[sd]? (?:(?P<to>{_CREDITOR}) (?={_AMOUNT} )|(?!the |your ))"
    rf"(?P<what>{_AMOUNT} [\w'-]+(?: (?:of|and|for|more) (?!to\b)[\w' -]+)?)"
    rf"(?: to (?P<to_after>{_CREDITOR}))?",
    re.IGNORECASE,
)
# "i'm into ulla for sixpence"
_INTO = re.compile(
    rf"\bin(?:to| hock to) (?P<to>{_CREDITOR}) for (?P<what>{_AMOUNT} [\w'-]+|\w+pence)",
    re.IGNORECASE,
)
# "i borrowed six crowns off ulla"
_BORROWED = re.compile(
    rf"\bborrowed (?P<what>{_AMOUNT} [\w'-]+|\w+pence) (?:from|off(?: of)?) (?P<to>{_CREDITOR})",
    re.IGNORECASE,
)
_OWED_BEFORE = re.compile(
    rf"\b(?P<what>{_AMOUNT} [\w'-]+(?: [\w'-]+)?),? (?:i|you|u|he|she) (?:still )?owe"
    r"|\bput (?P<put>[\w' -]{2,60}?) (?:on|to) (?:my|our|the) (?:slate|tab|bill)\b",
    re.IGNORECASE,
)
_PAID_TO = re.compile(
    rf"\b(?:re)?(?:paid|payed) (?:(?:{NUMBER_WORD}|\d+) [\w'-]+ )?(?:back |off |up )?(?:to )?"
    rf"(?P<to>{_CREDITOR})|\b(?:settled|squared) (?:it |things |up )*with (?P<with>{_CREDITOR})"
    rf"|\b(?P<passive>{_CREDITOR})(?:'s| is| has been| got) (?:all )?paid\b",
    re.IGNORECASE,
)
_WHOM = r"(?P<whom>[\w'-]+(?: [\w'-]+)?)"
_PASS_ON = re.compile(
    rf"\b(?:tell|let|remind|warn|inform|give|pass|hand|send|bring|ask) {_WHOM}", re.IGNORECASE
)
_PASS_TO = re.compile(
    rf"\b(?:say|give|pass|hand|send|bring|deliver)\b[^.!?]{{1,80}}?\b(?:to|for) {_WHOM}",
    re.IGNORECASE,
)
_THEM = frozenset("him her them em 'em".split())
# whoever "him" is in "if bram comes by, tell him"
_COMES = re.compile(
    r"\b(?:if|when|whenever|once|should|as soon as|(?:the )?next time)"
    r" (?:(?:you|u|ye) see (?P<seen>[\w'-]+)|(?P<who>[\w'-]+(?: [\w'-]+)??)"
    r"(?:,| (?:comes?|turns?|shows?|drops?|calls?|stops?|gets?|asks?|walks?|passes|is|returns?)"
    r"\b))",
    re.IGNORECASE,
)
_NOBODY = frozenset(
    "i you u ye ya he she it they me him her them us we it that this for in up off back all my "
    "everybody everyone anybody anyone nobody none nothing what debt debts tab slate bill"
    .split()
)  # fmt: skip
_KEEPING = (
    r"(?:keep|hold|hold on to|hang on to|save|hide|lock|guard|stash|store|remind(?! me\b| us\b)"
    r"|wake|post|mail"
    r"|burn|look after|see that|see to it|make sure|watch over|look out|put aside|set aside"
    r"|lay aside|put by)"
)
_TELLING = (
    r"(?:tell|give|send|say|ring|feed|pass|hand|let|read|ask|put|bring|take|call|do|tie|write)"
)
_AT_ONCE = re.compile(
    r"\bkeep (?:your|yer|ur)\b|\b(?:keep|hold) (?:on(?! to)|up|still|going|walking|talking|quiet"
    r"|away|off|out|it down|calm|at|(?:your|yer|ur|his|her|the) (?:\w+ )?(?:hands?|voice|distance"
    r"|head|hair|tongue|breath|change"
    r"|eyes?|coat|wits|nose|feet|temper|horses|coin|money|mouth|hat|seat|fire))\b"
    r"|\b(?:tell|give|send|pass|hand|bring|ask|call|let|read|write) (?:me|us|it here|that here)\b"
    r"|\b(?:say|tell) (?:hello|hi|what|no more|that again|you what|u what|it again|please|cheese)\b"
    r"|\blet(?:'s|s| us)\b|\b(?:mind|watch|look out)(?:,|$| the step| your| yer| out)|\bsay,"
    r"|\bmake sure (?:you|u)\b|\bhide and\b"
)
_BEGINS = (
    r"^|[.!?;:,~]+\s*|\b(?:and|then|please|pls|so|but|just|also|otherwise|you|u|ye|ya|listen"
    r"|n|(?:would|could|can|will) (?:you|u|ya|ye)|ok|and if so|always)\s+"
)
_OPEN = rf"(?:{_BEGINS}|\bnever\s+)"
_KEEPS = re.compile(rf"{_OPEN}(?:please |kindly |just )?(?P<verb>{_KEEPING})\b(?!\W*$)")
_TELLS = re.compile(rf"{_OPEN}(?:please |kindly |just )?(?P<verb>{_TELLING})\b")
_NOT_TOLD = frozenset(
    "yourself yourselves others everything whatever whoever people folk folks strangers someone"
    " somebody stories tales lies jokes".split()
)
_MESSAGE = re.compile(  # "tell bram that the boat is mended", "let bram know", "pass this to bram"
    rf"(?:{_BEGINS})(?:please |kindly |just )?"  # "never tell bram" is none
    r"(?:(?:tell|warn|inform|remind) (?P<told>[\w'-]+)(?: \w+)?"
    r" (?:that|to|about|not|i|i'm|im|i'll|ill|ive|i've|we|we're|my|our|the|there|there's|theres"
    r"|his|her|it|it's|its|he|he's|hes|she|she's|shes|they|they're|thats|that's|no|you"
    r"|(?!wh|how|if\b)[\w-]+(?:'s| is| are| was| were| will| can| has| have| had| [\w-]{2,}ed"
    rf"| (?:{'|'.join(IRREGULAR)})))\b"
    r"|let (?P<knows>[\w'-]+)(?: \w+)? know\b"
    r"|(?:(?:pass|send|get) (?:the )?word (?:on )?|pass (?:it |this )?on )to (?P<word>[\w'-]+)"
    r"|(?:give|pass|hand|deliver|bring) (?:this|that|these|it|my|the|a)\b[^,.!?]{0,40}"
    r"\b(?:on to|to|for) (?P<gets>[\w'-]+))"
)
_THIS_YOU = re.compile(rf"\b(?:this|that|it) (?:you|u) (?:{_KEEPING}|{_TELLING})\b")
_DONT_LET = re.compile(
    r"\b(?:don'?t|do not|never) (?:let|give|sell|open|shake|drop|lose|show|tell|wake|touch)\b"
)
_CASE = re.compile(
    r"\b(?:if|when|once|should|unless|only if|in case|whoever|anyone|anybody|next time|till?"
    r"|until|as soon as|the moment)\b"
)
_IN_CASE_DO = re.compile(
    r"\b(?:if|when|once|should) .{2,60}(?<!\bi )(?<!\bhe )(?<!\bshe )(?<!\bthey )(?<!\bwe )"
    rf"(?<!\bto )(?<!\bwho )\b(?:{_KEEPING}|{_TELLING}) \w+"
)
_IN_CASE_SAY = re.compile(
    r"\b(?:if|should) (?!i\b|we\b).{1,50}\b(?:ask|asks|asking|comes?|calls?|turns? up|boards?"
    r"|looks? for|wants?)\b(?!.*\b(?:i'?ll|we'?ll|i will|we will)\b).*"
    r"(?:, |\b)(?:i|im|i'm|you|u|my|say|please|tell)\b"
)
_ASKS_WHETHER_DONE = re.compile(
    r"^\W*(?:and |so )?(?:(?:did|have|had) (?:you|u|ye)"
    r"|(?:do|does|did|am|have|has|had) (?:i|we|he|she|they|it|any\w+))\b"
)
_ASKS_WHAT = re.compile(
    r"^(?:what|who|where|why|how|which|whose"
    r"|(?:(?:till?|until|by|since) )?when (?:will|do|are|is))\b"
)
_GOES_TO = re.compile(r"\b(?:it|this|that|they) goes? to \w+|\b(?:thats|that's|this is) for \w+")
_SAVE_ME = re.compile(r"\b(?:keep|save|hold) (?:me|us|back|aside)\b")
_REMIND = re.compile(r"\bremind (?:me|us)\b")
_REMIND_TO = re.compile(
    r"\bremind (?:me|us) (?:please |again )?"
    r"(?:(?:not )?to|that|when|if|before|at|in|on)\b(?: (?P<what>.+))?"
    r"|\bremind (?:me|us)(?: about (?P<of>(?:the|my|a|an) .+))?$",
    re.IGNORECASE,
)
_LET_KNOW = re.compile(r"\b(?:wake|warn) (?:me|us)\b|\blet (?:me|us) know (?:when|if)\b")

_DONE = re.compile(
    r"\b(?:paid|payed|settled up|settled with)(?: (?:in full|up|off|back|you|it|him|her|them))?\b"
    r"|\b(?:we'?re|we r|we are|i'?m|im|you'?re|ur|that'?s|thats|call (?:it|us)|it'?s) (?:all )?"
    r"(?:square|even|quits|quit|clear|clean|settled|paid|the lot)\b"
    r"|\b(?:that|this|it) (?:squares|makes us (?:even|square|quits))\b"
    r"|\b(?:that|this|it) (?:settles|clears) (?:it|us|(?:my|the|your) (?:debt|tab|slate|score))\b"
    r"|\bslate'?s clean\b|\b(?:debt|tab|slate)(?:'s| is) (?:paid|clear|clean|settled)\b"
    r"|\bkept (?:your|his|her|my|ur|their|yer) (?:word|promise)\b"
    r"|\bas (?:i )?promised\b"
    r"|\b(?:here(?:'s| is| are|s)|there(?:'s| is|s)) (?:your|ur|yer|the|my)\b"
    r"|\b(?:it'?s|all|they'?re) (?:done|mended|fixed|finished|ready)\b|\bi(?:'ve| have|ve)? "
    r"(?:brought|mended|fixed|finished|delivered|gave|sent|told|returned|posted|fetched|made)\b"
    r"|\b(?:got|had|has) (?:his|her|their|it|the) \w+(?: back)?\b|\bcame off\b"
    r"|\b(?:is|was|are) (?:mended|fixed|back|paid|finished|done|delivered|posted|sent)\b"
)
# what somebody else has paid for is owed to them: "i owe bram ten groats, he paid for my boots"
_PAID_FOR = re.compile(
    r"(?<!\bi )(?<!\bive )(?<!\bi've )(?<!\bwe )(?<!\bwe've )\bpa(?:id|yed) for\b"
)
_NOT_OWED = re.compile(
    r"\b(?:not|never|don'?t|doesn'?t|no longer|who says)\b.*\bowe"
    r"|\bowes? (?:\w+ )?(?:nothing|nobody|no)\b"
)
# before what is done: "i haven't paid", "when i have paid"
_NOT_YET = re.compile(
    r"\b(?:not|never|\w+n'?t|if|when|once|unless|until|till?|before)"
    r"(?: (?!and\b|but\b)[\w']+){0,4}\W*$"
)
_OFF = re.compile(
    r"(?:\bnot|n't)(?: [\w']+){0,5} any ?more\b"
    r"|\b(?:the|my|our|that|this) \w+(?:'?s| is| are)(?: all)? off\b(?! to\b)"
    r"|\b(?:no longer|no more|no need|never mind|nevermind|nvm|don'?t bother"
    r"|dont bother|forget (?:it|about|what|that)|called off|cancell?ed|struck out|is off"
    r"|it'?s off|misspoke|changed (?:my|her|his) mind|take (?:it|that) back|i take back"
    r"|(?:don'?t|dont|do not) (?:burn|send|tell|give|keep(?! me waiting)|post|wake))\b"
    r"|\b(?:i'?m|i am|we'?re|we are) not (?:taking|coming|selling|buying|marrying|doing|bringing)\b"
)
_WITHDRAWS = re.compile(
    r"\bmisspoke\b|\bforget (?:it|what i (?:said|asked)|about it)\b|\bnever ?mind\b|\bnvm\b"
    r"|\btake (?:it|that) back\b"
)
_DENIED = re.compile(r"\b(?:never|not|(?:do|wo|ca|must)n'?t)(?: (?:you|u|ye|ya|we|i))?\s+$")
_BROKEN = re.compile(
    r"\b(?:i|we) (?:can'?t|cannot|cant|couldn'?t|couldnt|could not|won'?t be able|wont be able"
    r"|am not able|broke (?:my|our) (?:word|promise))\b"
)


def commitment(text: str, said_at: str, *, to_listener: bool = False) -> Commitment | None:
    """Return what kind of commitment a sentence is, or None.

    Args:
        text: A sentence or a line of talk.
        said_at: When it was said, ISO 8601: a plan needs a date.
        to_listener: Whether it is said to the listener, without whom there is no request.
    """
    plain = without_quotations(text.translate(_QUOTES)).strip()
    lower = plain.lower()
    if not lower or _OUT_OF_CHARACTER.search(lower):
        return None
    named = due(plain, said_at)
    later = named is not None and named.iso > said_at[:10]
    if _ON_THE_SLATE.search(lower) and not _DONE.search(lower):
        return "debt"
    if to_listener and _requests(lower, dated=later):
        return "request"
    if asks(plain) and not (later and _YOU_GET.search(lower)):
        return None
    if _OWES.search(lower) and not _DONE.search(_without_loan(lower)):
        return "debt"
    if _promises(lower, dated=named is not None):
        return "debt" if _PAYS.search(lower) else "promise"
    if named and later and _plans(lower, named.said.lower()):
        return "plan"
    return None


def _plans(lower: str, said: str) -> bool:
    """Whether a sentence that names a day tells what will be, and neither parts nor hopes."""
    if _told_in(lower, said) < LEAST_WORDS:
        return False
    clause = next((part for part in re.split(r"[,.;:!?]", lower) if said in part), lower)
    rest = _PARTS.sub(" ", clause).replace(said, " ").split()
    parts = len(rest) < LEAST_WORDS - 1 and _PARTS.search(clause)
    return not (parts or _HEDGED.search(clause))


def _told_in(lower: str, said: str) -> int:
    """Return the number of words of the sentence that names a date."""
    return max((len(part.split()) for part in _STOP.split(lower) if said in part), default=0)


def withdraws(text: str) -> bool:
    """Whether a speaker takes back what they have just said: "I misspoke", "forget it"."""
    return _says(_WITHDRAWS, text.translate(_QUOTES).lower())


def _says(pattern: re.Pattern[str], lower: str) -> bool:
    """Whether words stand in a line, and not denied: "forget it", but not "don't you forget it"."""
    return any(not _DENIED.search(lower[: found.start()]) for found in pattern.finditer(lower))


def owed_to_speaker(text: str) -> bool:
    """Whether a debt is what the listener, or somebody else, owes the speaker."""
    return bool(_OWED_TO_SPEAKER.search(text.translate(_QUOTES).lower()))


def owed_by_another(text: str) -> bool:
    """Whether a debt is what somebody but the listener owes the speaker: "the miller owes me"."""
    return bool(re.search(r"\bowes me\b", text, re.IGNORECASE))


def owed(text: str) -> str:
    """Return what a text says is owed, "" if that cannot be told.

    >>> owed("three marks i owe you. end of the month?")
    'three marks'
    """
    plain = text.translate(_QUOTES)
    forms = (_OWED_AFTER, _INTO, _BORROWED, _OWED_BEFORE)
    found = next(filter(None, (form.search(plain) for form in forms)), None)
    return (found["what"] or found.groupdict().get("put") or "").strip() if found else ""


def recipient(text: str) -> str:
    """Return the words for whoever a message or a thing is to be passed on to; "" if nobody is.

    >>> recipient("tell old tom that the boat is mended"), recipient("give this to bram")
    ('old tom', 'bram')
    >>> recipient("if bram comes by tell him that the boat is mended")
    'bram'
    """
    said = " ".join(text.translate(_QUOTES).split())
    found = _PASS_TO.search(said) or _PASS_ON.search(said)
    if not found:
        return ""
    words = found["whom"].lower().split()
    does = words_of(said[found.end() :])[:1]
    if len(words) > 1 and does and (is_past(does[0]) or does[0] in AUXILIARIES):
        words = words[:1]  # "tell nell rolf had puppies"
    sentence = _STOP.split(said[: found.start()])[-1]
    if words[0] in _THEM and (comes := [*_COMES.finditer(sentence)]):
        words = (comes[-1]["seen"] or comes[-1]["who"]).lower().split()
    named = list(itertools.takewhile(lambda word: word not in FUNCTION_WORDS, words))
    return "" if named and named[0] in _NOBODY else " ".join(named)


def message(text: str) -> str:
    """Return what a text asks to pass on, the whole of it where that is not clear.

    >>> message("would you let nell know i need her to sign?")
    'i need her to sign'
    >>> message("pass on to Bram that his boat is mended")
    'his boat is mended'
    """
    whom = recipient(text)
    said = " ".join(text.split())
    found = whom and re.search(
        r"\b(?:tell|warn|inform|let|(?:say|pass|get|send)\b[^.!?]{0,20}\bto)\s+"
        rf"{re.escape(whom)}\b(?: know\b)?(?:[,:]| that\b)?"
        r"\s+(?P<what>(?!know\b|about\b|to\b|not\b|what\b|how\b|when\b|where\b|why\b).{8,})$",
        said,
        re.IGNORECASE,
    )
    return found["what"].rstrip("? ") if found else text


def reminds(text: str) -> bool:
    """Whether a text asks to be reminded of something to do; not "remind me what I owe"."""
    return bool(_REMIND_TO.search(text.translate(_QUOTES)))


def reminder(text: str) -> str:
    """Return of what a text asks to be reminded, "" if it does not.

    >>> reminder("remind me to buy twine"), reminder("remind me what I owe")
    ('buy twine', '')
    """
    found = _REMIND_TO.search(" ".join(text.translate(_QUOTES).split()).rstrip(".! "))
    return (found["what"] or found["of"] or "").strip() if found else ""


def creditor(text: str) -> str:
    """Return in which words a text names whom something is owed to, "" for a pronoun or nobody.

    >>> creditor("i owe the miller 12 silvers, ugh"), creditor("I owe you three marks.")
    ('the miller', '')
    """
    plain = text.translate(_QUOTES)
    found = _OWED_AFTER.search(plain) or _INTO.search(plain) or _BORROWED.search(plain)
    return _somebody(found["to"] or found.groupdict().get("to_after")) if found else ""


def paid_to(text: str) -> str:
    """Return in which words a text names who was paid, "" for a pronoun or nobody.

    >>> paid_to("i paid the miller btw"), paid_to("I paid you.")
    ('the miller', '')
    """
    found = _PAID_TO.search(text.translate(_QUOTES))
    return _somebody(found["to"] or found["with"] or found["passive"]) if found else ""


def _somebody(words: str | None) -> str:
    """Return words that name somebody, "" if they do not."""
    last = (words or "").lower().split()[-1:]
    return (words or "") if last and last[0] not in _NOBODY | NUMBERS.keys() else ""


def closes(text: str) -> Closing | None:
    """Return how a text ends a commitment, if it does: done, off or broken."""
    lower = without_quotations(text.translate(_QUOTES)).lower()
    if _says(_OFF, lower):
        return "off"
    if _BROKEN.search(lower):
        return "broken"
    lower = _without_loan(lower)
    done = _DONE.search(lower)
    so_far = _STOP.split(lower[: done.start()])[-1] if done else ""
    return "done" if done and not (_NOT_YET.search(so_far) or asks(text)) else None


def _without_loan(lower: str) -> str:
    """Return a line that owes without what another has paid for: it is no payment of the debt."""
    still_owed = re.search(r"\bowes?\b", lower) and not _NOT_OWED.search(lower)
    return _PAID_FOR.sub(" ", lower) if still_owed else lower


def _requests(lower: str, *, dated: bool) -> bool:
    if _ASKS_WHAT.search(lower) or _ASKS_WHETHER_DONE.search(lower):
        return False
    if reminds(lower) or (dated and _REMIND.search(lower)):
        return True
    if _LET_KNOW.search(lower) or _IN_CASE_SAY.search(lower) or _THIS_YOU.search(lower):
        return True
    if any(map(_passes_on, _MESSAGE.finditer(lower))):
        return True
    bare = _AT_ONCE.sub(" ", lower)
    if _KEEPS.search(bare) or _SAVE_ME.search(bare):
        return True
    in_a_case = bool(_CASE.search(bare)) or dated
    if in_a_case and (_TELLS.search(bare) or _GOES_TO.search(bare) or _IN_CASE_DO.search(bare)):
        return True
    return bool(_DONT_LET.search(bare) and in_a_case) or bool(_GOES_TO.search(bare) and dated)


def _passes_on(found: re.Match[str]) -> bool:
    """Whether a message is for somebody who goes by name."""
    whom = found["told"] or found["knows"] or found["word"] or found["gets"]
    return whom not in _NOBODY | _NOT_TOLD | FUNCTION_WORDS


def _promises(lower: str, *, dated: bool) -> bool:
    if _PROMISED.search(lower):
        return True
    if _DENIES.search(lower):
        return False
    if _YOU_GET.search(lower) and (dated or _SWEARS.search(lower) or "back" in lower):
        return True
    found = _SERVES.search(lower)
    if found:
        bare_i = found[0].startswith("i ")
        helps = _FOR_ANOTHER.search(lower, found.end())
        by_then = re.search(r"\b(?:by|till?|until)\b", lower[found.end() :])
        if dated and (helps or by_then or found["verb"] not in _EVERYDAY):
            return True
        if helps and not bare_i and found["verb"] not in _EVERYDAY:
            return True
    return bool(_SWEARS.search(lower)) and (dated or bool(found))
