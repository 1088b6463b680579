"""Commitments in words: who owes whom, what waits to be done, told or kept, and what ends it.

Which words of a line commit somebody is judged elsewhere (`offline.acts`). These rules read such
words as players type them: whose debt it is, for whom a message is, whether a request waits.
`closes` tells words that say that something was done, is off, or will not be done.
"""

from __future__ import annotations

import itertools
import re
from typing import Literal

from ..text.segmentation import words_of
from .questions import asks
from .tokens import AUXILIARIES, FUNCTION_WORDS, NUMBER_WORD, NUMBERS, is_past, without_quotations

Closing = Literal["done", "off", "broken"]

_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'"})
_STOP = re.compile(r"[.!?;]+(?:\s|$)")
_AMOUNT = rf"(?:a|an|the|your|{NUMBER_WORD}|\d+)"
# "the miller", "my old uncle", "hobb"
_CREDITOR = (
    r"(?:(?:the|my|our|his|her|their) (?:(?:old|young|poor) )?[^\W\d]['\w-]+|[^\W\d]['\w-]+)"
)
_OWED = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"\bowe[sd]? (?:{_CREDITOR} (?={_AMOUNT} )|(?!the |your ))"
        rf"(?P<what>{_AMOUNT} [\w'-]+(?: (?:of|and|for|more) (?!to\b)[\w' -]+)?)",
        # "i'm into ulla for sixpence", "i borrowed six crowns off ulla"
        rf"\bin(?:to| hock to) {_CREDITOR} for (?P<what>{_AMOUNT} [\w'-]+|\w+pence)",
        rf"\bborrowed (?P<what>{_AMOUNT} [\w'-]+|\w+pence) (?:from|off)\b",
        rf"\b(?P<what>{_AMOUNT} [\w'-]+(?: [\w'-]+)?),? (?:i|you|u|he|she) (?:still )?owe",
        r"\bput (?P<what>[\w' -]{2,60}?) (?:on|to) (?:my|our|the) (?:slate|tab|bill)\b",
    )
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
    r" (?:(?:you|u|ye) (?:next )?see (?:the )?(?P<seen>[\w'-]+)|(?P<who>[\w'-]+(?: [\w'-]+)??)"
    r"(?:,| (?:comes?|turns?|shows?|drops?|calls?|stops?|looks?|gets?|asks?|walks?|passes|is"
    r"|returns?)\b))",
    re.IGNORECASE,
)
_NOBODY = frozenset(
    "i you u ye ya he she it they me him her them us we it that this for in up off back all my "
    "everybody everyone anybody anyone nobody none nothing what debt debts tab slate bill money "
    "coin coins".split()
)  # fmt: skip
# where what is asked for begins: at the head of a clause, after "please", "could you"
_HEAD = (
    r"(?:^|[.!?;:,~]\s*|\b(?:and|then|please|pls|so|but|just|also|n|ok|kindly"
    r"|(?:can|could|will|would|wud) (?:you|u|ye|ya))\s+)"
)
# "keep my token", "look after it", "put me down for the race": it waits, whenever that is
_KEEPS = re.compile(
    rf"{_HEAD}(?:keep|hold|save|hide|lock|guard|stash|store|watch over|look (?:after|out)"
    r"|(?:put|set|lay) (?:\w+ )?(?:aside|by)|see (?:that|to)|make sure|wake|warn|put me down"
    r"|let (?:me|us) know)\b(?!\W*$)",
    re.IGNORECASE,
)
_AT_ONCE = re.compile(  # "hold your tongue", "keep quiet"
    r"\b(?:keep|hold|watch)(?: (?:your|yer|ur)\b| (?:on(?! to)|up|still|going|quiet|away|off|out"
    r"|calm|it down)\b)",
    re.IGNORECASE,
)
# a message; it may begin in a case too: "if bram comes by tell him"
_ERRAND = re.compile(
    rf"(?:{_HEAD}|\b(?:you|u|ye|ya)\s+|\b(?:if|when|once|should|(?:the )?next time)\b[^.!?]*?\s)"
    r"(?P<verb>(?:tell|warn|inform|remind|let|(?:pass|send|get) (?:the |a )?word|pass"
    r"|(?:give|hand|deliver|send|bring|take) (?:this|that|these|them|it|my|him|her)) )",
    re.IGNORECASE,
)
_ASKS_WHETHER = re.compile(
    r"\b(?:did|have|had|do|does|dont|don't|not|never)(?: \w+)? ?$", re.IGNORECASE
)
_IN_A_CASE = re.compile(
    r"\b(?:if|when|once|should|unless|whoever|any(?:one|body)|next time|till?|until|as soon as"
    r"|the moment|before|after)\b",
    re.IGNORECASE,
)
_SECRECY = re.compile(r"\b(?:don'?t|do not|never|nobody|no one)\b", re.IGNORECASE)
_REMIND = re.compile(r"\bremind (?:me|us)\b", re.IGNORECASE)
_REMIND_TO = re.compile(
    r"\bremind (?:me|us) (?:please |again )?"
    r"(?:(?:not )?to|that|when|if|before|at|in|on)\b(?: (?P<what>.+))?"
    r"|\bremind (?:me|us)(?:(?: (?:on )?[\w-]+)? about (?P<of>(?:the|my|a|an) .+))?$",
    re.IGNORECASE,
)
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
    r"|\bowes? (?:\w+ )?(?:nothing|nobody|no)\b|\bowes? .*\bany ?more\b"
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


# the first of these verbs that is found, and whether who owes stands before it
_OWING = tuple(
    (re.compile(verb, re.IGNORECASE), first)
    for verb, first in (
        (r"\bow(?:e[sd]?|in)\b", True),
        (r"\bborrow(?:ed|d|s)?\b", True),
        (r"\b(?:len[dt]s?|loan(?:ed)?)\b", False),
        (r"\bin(?:to| hock to)\b", True),
        (r"\b(?:promised|swore)\b", True),
        (r"\b(?:re)?pay\b", True),
    )
)
_NOT_A_SIDE = frozenset(
    "here there still really also now do does did shall will would can could to gotta got have had "
    "has then so and just only already all both even that which a an the".split()
)
_I_WILL = {"ill": "i", "im": "i", "ive": "i", "i'll": "i", "i'm": "i", "i've": "i", "youll": "you"}
_AFTER = re.compile(
    rf"\W*(?:back )?(?:(?:to|from|off) )?(?!(?:{_AMOUNT})\b(?! (?:old |young )?\w+ {_AMOUNT}))"
    rf"(?P<to>{_CREDITOR})",
    re.IGNORECASE,
)
_FURTHER = re.compile(rf".*?\b(?:to|from|off) (?P<to>{_CREDITOR})", re.IGNORECASE)


def sides(text: str, *, pays: bool = True) -> tuple[str, str]:
    """Return in which words a text names who owes or promises, and to whom; "" if it names nobody.

    Args:
        pays: Read who pays whom too.

    >>> sides("you still owe me five pips"), sides("could you lend me 20"), sides("i'll pay bram")
    (('you', 'me'), ('me', 'you'), ('i', 'bram'))
    """
    plain = text.translate(_QUOTES)
    for verb, first in _OWING if pays else _OWING[:-1]:
        if found := verb.search(plain):
            said = words_of(_STOP.split(plain[: found.start()])[-1])
            before = next((word for word in reversed(said) if word not in _NOT_A_SIDE), "")
            rest = plain[found.end() :]
            to = _AFTER.match(rest) or _FURTHER.match(rest)
            pair = (_I_WILL.get(before, before), to["to"] if to else "")
            return pair if first else pair[::-1]
    return "", ""


def withdraws(text: str) -> bool:
    """Whether a speaker takes back what they have just said: "I misspoke", "forget it"."""
    return _says(_WITHDRAWS, text.translate(_QUOTES).lower())


def _says(pattern: re.Pattern[str], lower: str) -> bool:
    """Whether words stand in a line, and not denied: "forget it", but not "don't you forget it"."""
    return any(not _DENIED.search(lower[: found.start()]) for found in pattern.finditer(lower))


def owed(text: str) -> str:
    """Return what a text says is owed, "" if that cannot be told.

    >>> owed("three marks i owe you. end of the month?")
    'three marks'
    """
    plain = text.translate(_QUOTES)
    found = next(filter(None, (form.search(plain) for form in _OWED)), None)
    return found["what"].strip() if found else ""


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
    return _somebody(sides(text, pays=False)[1])


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


def denies_debt(text: str) -> bool:
    """Whether a text says that nothing is owed, or no longer."""
    return bool(_NOT_OWED.search(text.lower()))


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


def errand(text: str, *, dated: bool = False) -> bool:
    """Whether a text asks for a reminder, or to tell or give somebody something.

    >>> errand("tell bram that the boat is mended"), errand("did you tell bram?")
    (True, False)
    """
    if reminds(text) or (dated and _REMIND.search(text) and not asks(text)):
        return True
    said = " ".join(text.translate(_QUOTES).split())
    found = _ERRAND.search(said)
    return bool(found and recipient(text) and not _ASKS_WHETHER.search(said[: found.start("verb")]))


def keeps(text: str) -> bool:
    """Whether a text asks to keep, hold or watch something, or to be woken."""
    return bool(_KEEPS.search(_AT_ONCE.sub(" ", text.translate(_QUOTES))))


def in_a_case(text: str) -> bool:
    """Whether a text tells of a case, in which something is to be done: "if it rains"."""
    return bool(_IN_A_CASE.search(text)) and not _SECRECY.search(text)
