"""Commitments in words: who owes whom, what waits to be done, told or kept, and what ends it.

Which words of a line commit somebody is judged elsewhere (`offline.acts`). These rules read such
words: whom something is owed to or passed on to, what is put into somebody's keeping, and whether
something was done, is off, or will not be done.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from .questions import asks
from .tokens import FUNCTION_WORDS, NUMBER_WORD, without_quotations

Closing = Literal["done", "off", "broken"]
# "I said Monday, but it's Tuesday": what was said before it is wrong
SAID_WRONG = (
    r"\b(?:i|we) (?:said|told (?:you|u)|did say)\b[^.!?;]{1,40}?\bbut\b"
    r"(?: (?:i|we) (?:meant?|should have said)\b)?"
)
COINS = (
    r"(?:penn(?:y|ies)|pence|coins?|coppers?|silvers?|golds?|crowns?|marks?|shillings?|farthings?"
    r"|ducats?|florins?|guineas?|dollars?|euros?|cents?|credits?|quid|sovereigns?|groats?|thalers?"
    r"|pips?)"
)

_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'"})

# --- who owes whom --------------------------------------------------------------------------------

_PERSON = r"(?:(?:the|my|our) (?:old )?)?[^\W\d][\w'-]*"
# in the order of their certainty; "lent" turns it round
_OWING = tuple(
    # from the beginning of a word: a line that is one long word would be read once a letter
    (re.compile(rf"(?<![\w-])(?<!\w')(?P<who>{_PERSON}){form}", re.IGNORECASE), forward)
    for form, forward in (
        (
            rf"(?: here| still| really| now)* ow(?:e[sd]?|in)\b(?: (?P<to>{_PERSON}))?"
            rf"(?:[^.!?]*?\bto (?P<further>{_PERSON}))?",
            True,
        ),
        (rf" borrow(?:ed)?\b(?P<to>)(?:.*?\b(?:from|off) (?P<further>{_PERSON}))?", True),
        (rf" (?:lent|loaned)\b(?: (?P<to>{_PERSON}))?(?P<further>)", False),
        (r" (?:slate|tab|bill)\b(?P<to>)(?P<further>)", True),
        (rf" (?:promised|swore)\b(?: (?P<to>{_PERSON}))?(?P<further>)", True),
        (rf"(?: will| shall| to)* (?:re)?pay\b(?: (?P<to>{_PERSON}))?(?P<further>)", True),
    )
)
_DEBTS = 4  # of these forms; the others tell of what will be done
_PAY_ME = re.compile(  # "Bram, pay me on Friday"
    r"(?:(?:^|[.,!?;:] )(?:just )?|\bplease |\b(?:you|u) (?:(?:must|just|have|need|got|to) ){0,3})"
    r"(?:re)?pay (?P<to>me|us)\b",
    re.IGNORECASE,
)
_OF_A_THING = re.compile(
    rf"(?:an?|your|all|(?:the )?(?:{NUMBER_WORD}|rest|remainder|\d+))\b", re.IGNORECASE
)
_NOT_OWED = re.compile(
    r"\b(?:not|never|\w+n'?t|no longer)\b[^.!?]*\bowe|\bowes? (?:\w+ )?(?:nothing|nobody|no)\b"
    r"|\bonce owe",
    re.IGNORECASE,
)
_OWES_WORDS = re.compile(r"\bow(?:e[sd]?|ing?)\b[^.,!?]{0,20} (?:apolog|thanks|explanation)", re.I)
_OWN = frozenset("i me my we us our".split())
_PRONOUNS = frozenset("i he she they me him her them".split())
_NOBODY = _PRONOUNS | frozenset(
    "you u ye ya it us we that this for in up off back around all my everybody everyone anybody "
    "anyone nobody none nothing what debt debts tab slate bill money coin coins yourself himself "
    "herself themselves myself".split()
)
_ITS_HOUSE = frozenset("inn house tavern shop forge mill stall bar us we".split())
_PROMISES = re.compile(  # not "as i promised", which is done with that
    r"(?<!\bas )(?<!\bas i )\b(?:promised?|swore|swear|my word)\b", re.IGNORECASE
)


def sides(text: str, *, most: int | None = None) -> tuple[str, str]:
    """Return in which words a text names who owes or promises, and to whom; "" if it names nobody.

    >>> sides("you still owe me five pips"), sides("i lent bram 20"), sides("i'll pay bram")
    (('you', 'me'), ('bram', 'i'), ("i'll", 'bram'))
    """
    plain = text.translate(_QUOTES)
    if demands := _PAY_ME.search(plain):
        return "you", demands["to"]
    for form, forward in _OWING[:most]:
        found = form.search(plain)
        if found and found["who"].lower() != "the":  # "my slate", not "the slate"
            named = [to for to in (found["to"], found["further"]) if to]
            to = next((each for each in named if not _OF_A_THING.match(each)), "")
            return (found["who"], to) if forward else (to, found["who"])
    return "", ""


def owes(text: str) -> bool:
    """Whether a text says that somebody owes something."""
    return any(sides(text, most=_DEBTS)) and not denies_debt(text)


def between_others(text: str, listener: Collection[str]) -> bool:
    """Whether a text names who owes something and to whom, and neither has the listener's names.

    >>> said = "bram lent me 20", "i owe mara 2", "i owe 2", "i owe the inn 3", "bram owes us 2"
    >>> [between_others(each, ["mara"]) for each in said]
    [True, False, False, False, False]
    """
    parties = [each.lower().split() for each in sides(text, most=_DEBTS)]
    nobody = (_NOBODY - _PRONOUNS) | _ITS_HOUSE | {*listener}
    return all(parties) and all(nobody.isdisjoint(each) for each in parties)


def denies_debt(text: str) -> bool:
    """Whether a text says that nothing is owed, or nothing but words."""
    return bool(_NOT_OWED.search(text.translate(_QUOTES))) or owes_words(text)


def owes_words(text: str) -> bool:
    """Whether a text says that somebody owes an apology or thanks."""
    return bool(_OWES_WORDS.search(text))


def creditor(text: str) -> str:
    """Return in which words a text names whom something is owed to, "" for a pronoun or nobody.

    >>> creditor("i owe the miller 12 silvers, ugh"), creditor("I owe you three marks.")
    ('the miller', '')
    """
    to = sides(text)[1]
    return "" if not to or to.lower().split()[-1] in _NOBODY else to


def promises(text: str) -> bool:
    """Whether a text says that its speaker promises, not "as I promised"."""
    return bool(_PROMISES.search(text.translate(_QUOTES)))


# --- what is asked for ----------------------------------------------------------------------------

# where what is asked for begins: at the head of a clause, after "please", "could you"
_HEAD = (
    r"(?:^|[.!?;:,~]\s*|\b(?:and|then|please|pls|so|but|just|also|n|ok|kindly"
    r"|(?:can|could|will|would|wud) (?:you|u|ye|ya)(?: be so (?:kind|good)(?: as)? to)?)\s+)"
)
_WHOM = r"(?P<whom>(?:old )?[\w'-]+(?: (?-i:[A-Z][a-z])[\w'-]*)?)"
_PASS_ON = re.compile(
    r"\b(?:tell|let|remind|warn|inform|give|pass|hand|send|bring|ask) "
    rf"(?:(?:my|our) (?=\w+ (?-i:[A-Z])))?{_WHOM}",  # "tell my partner Dorrit"
    re.IGNORECASE,
)
_PASS_TO = re.compile(
    rf"\b(?:say|give|pass|hand|send|bring|deliver)\b[^.!?]{{1,80}}?\b(?:to|for) {_WHOM}",
    re.IGNORECASE,
)
# a message; it may begin in a case too: "if bram comes by tell him"
_ERRAND = re.compile(
    rf"(?:{_HEAD}|\b(?:if|when|once|should|(?:the )?next time)\b[^.!?]*?\s)"
    r"(?:tell|warn|inform|remind|let|(?:pass|send|get) (?:the |a )?word|pass"
    r"|(?:give|hand|deliver|send|bring|take) (?:this|that|these|them|it|my|him|her)"
    r"|ask(?= [\w'-]+(?: [\w'-]+)? (?:if|whether|when|where|what|who|why|how|to|about)\b)) ",
    re.IGNORECASE,
)
_PLEASE = re.compile(
    r",? (?:please|pls|plz|(?:would|will|could|can) (?:you|u|ye)(?: please)?)\W*$",
    re.IGNORECASE,
)
_TELL_THEM = re.compile(
    r"\b(?:tell|let|warn|inform|give|ask) (?:him|her|them|'?em)\b", re.IGNORECASE
)
_THEM = frozenset("him her them em 'em".split())
_SAY = re.compile(r"\bsay(?: to (?:him|her|them))?\b(?! (?:it|so)\b)", re.IGNORECASE)
# whoever "him" is in "if bram comes by, tell him"
_COMES = re.compile(
    r"\b(?:if|when|whenever|once|should|as soon as|next time)"
    r" (?:(?:you|u|ye) (?:next )?see (?:the )?(?P<seen>[\w-]+)"
    r"|(?:the |(?:an?|some|my|our) (?:[\w-]+ (?:called|named|by the name of) )?)?"
    r"(?P<who>[\w-]+(?: [\w-]+)??)(?:,|'s (?:not|here|around|in|back|away|out|gone)\b"
    r"| (?:comes?|turns?|shows?|drops?|calls?|stops?|looks?|gets?|asks?|is|returns?)\b))",
    re.IGNORECASE,
)
# "keep my token", "look after it", "put me down for the race": it waits, whenever that is; not
# "keep quiet", "keep it to yourself"
_KEEPS = re.compile(
    rf"{_HEAD}(?:(?:keep|hold|watch(?= over))(?! (?:your|yer|ur|on(?! to)|up|still|going|quiet|away"
    r"|off|out|calm)\b| (?:\w+ )?to (?:your|yer|ur)sel)|save|hide|lock|guard|stash|store"
    r"|look (?:after|out)|(?:put|set|lay) (?:\w+ )?(?:aside|by)|see (?:that|to)|make sure|wake|warn"
    r"|put me down|let (?:me|us) know)\b(?!\W*$)",
    re.IGNORECASE,
)
_IN_A_CASE = re.compile(
    r"\b(?:if(?! (?:(?:i|we) (?:could|had|were|was)|(?:you|u|ye) (?:like|please))\b)|when|once"
    r"|should|unless|whoever|next time|till?|until|as soon as|the moment"
    r"|before|after)\b",
    re.IGNORECASE,
)
_REMIND = re.compile(r"\bremind (?:me|us)\b", re.IGNORECASE)
_REMIND_TO = re.compile(
    r"\bremind (?:me|us) (?:please |again )?"
    r"(?:to|not to|that|about (?:the|my|an?)|when|if|before|at|in|on)\b",
    re.IGNORECASE,
)
_REMIND_OF = re.compile(
    r"\bremind (?:me|us)\b.*?\b(?:to|that|about|(?=not to\b)) ?\b(?P<what>.+)", re.IGNORECASE
)
_AS_I_GO = re.compile(
    r"\b(?:when|before|if|as) (?:i|we)(?:'?m| am)? (?:leav(?:e|ing)|go|going|set(?:ting)? off)\b"
    r"(?! (?:to|up|down|in|into|on)\b)",
    re.IGNORECASE,
)


def errand(text: str, *, dated: bool = False) -> bool:
    """Whether a text asks for a reminder, or to tell or give somebody something.

    >>> errand("tell bram that the boat is mended"), errand("did you tell bram?")
    (True, False)
    """
    if reminds(text) or reminds_at_parting(text) or passes_on(text):
        return True
    return dated and bool(_REMIND.search(text)) and not asks(text)


def passes_on(text: str) -> bool:
    """Whether a text asks to tell or give somebody something."""
    said = _in_one_form(text)
    to_them = in_a_case(text) and _TELL_THEM.search(said)  # "when she comes, tell her …"
    return bool(_ERRAND.search(said) and (recipient(text) or to_them))


def _in_one_form(text: str) -> str:
    """Return "if Alice comes by say I am out" as "if Alice comes by tell them I am out"."""
    said = " ".join(text.translate(_QUOTES).split())
    end = comes.end() if (comes := _COMES.search(said)) else len(said)
    return said[:end] + _SAY.sub("tell them", said[end:], count=1)


def recipient(text: str) -> str:
    """Return the words for whoever a message or a thing is to be passed on to; "" if nobody is.

    >>> recipient("tell old tom that the boat is mended"), recipient("give this to bram")
    ('old tom', 'bram')
    >>> recipient("if bram comes by tell him the boat is mended"), recipient("tell my fortune")
    ('bram', '')
    >>> recipient("if a lad called Rolf comes by tonight, tell him I have his cloak")
    'rolf'
    """
    said = _in_one_form(text)
    found = _PASS_TO.search(said) or _PASS_ON.search(said)
    if not found:
        return ""
    whom = found["whom"].lower()
    if whom in _THEM:
        comes = [(e["seen"] or e["who"]).lower() for e in _COMES.finditer(said[: found.start()])]
        whom = next((each for each in reversed(comes) if each not in _PRONOUNS), whom)
    first = whom.split()[0]
    return "" if first in _NOBODY or first in FUNCTION_WORDS or first.endswith("'s") else whom


def message(text: str) -> str:
    """Return what a text asks to pass on, the whole of it where that is not clear.

    >>> message("would you let nell know i need her to sign?")
    'i need her to sign'
    >>> message("if Alice comes by say ill meet her at noon")
    'ill meet her at noon'
    >>> message("Would you please ask Oriel whether the school needs a stove? I have one.")
    'whether the school needs a stove? I have one.'
    >>> message("if Tobin comes in, tell him his oilskins are at the pier would you")
    'his oilskins are at the pier'
    """
    whom = recipient(text)
    found = whom and re.search(
        r"\b(?:tell|warn|inform|let|remind|ask|to) "
        rf"(?:(?:(?:my|our) )?{re.escape(whom)}|him|her|them)\b"
        r"(?: know\b)?(?:,? (?:please|from me|for me|when [^,.!?]{2,40}?(?=,? that\b)))*"
        r"(?:[,:]| that\b)* "
        r"(?P<what>(?!know\b|about\b|to\b|not\b|what\b|how\b|when\b|where\b|why\b).{8,})$",
        _in_one_form(text),
        re.IGNORECASE,
    )
    return _PLEASE.sub("", found["what"]).rstrip("? ") if found else text


def reminder(text: str) -> str:
    """Return of what a text asks to be reminded, "" if it does not say.

    >>> reminder("remind me to buy twine"), reminder("remind me what I owe")
    ('buy twine', '')
    """
    found = _REMIND_OF.search(" ".join(text.translate(_QUOTES).split()).rstrip(".! "))
    return found["what"] if found else ""


def reminds(text: str) -> bool:
    """Whether a text asks to be reminded of something to do; not "remind me what I owe"."""
    return bool(_REMIND_TO.search(text.translate(_QUOTES)))


def reminds_at_parting(text: str) -> bool:
    """Whether a text asks for a reminder as its speaker goes: "remind me when I leave"."""
    plain = text.translate(_QUOTES)
    return bool(_REMIND.search(plain) and _AS_I_GO.search(plain))


def keeps(text: str) -> bool:
    """Whether a text asks to keep, hold or watch something, or to be woken."""
    return bool(_KEEPS.search(text.translate(_QUOTES)))


def in_a_case(text: str) -> bool:
    """Whether a text tells of a case, in which something is to be done: "if it rains"."""
    return bool(_IN_A_CASE.search(text))


# --- what ends it ---------------------------------------------------------------------------------

_SETTLES = (
    r"\b(?:paid|payed|settled)(?: (?:up|off|back|you))?\b"
    r"|\b(?:we(?:'?re| are| r)|that'?s(?: us)?) (?:all )?(?:square|even|quits|settled"
    r"|straight(?= now|\W*$|[.,!]))\b"
    r"|(?:^|[.!,;] ?)count (?:it|'?em|them)\b(?! (?:yourself|tomorrow|as)\b)"
)
_PAYS = re.compile(
    rf"{_SETTLES}|\b(?:{NUMBER_WORD}|\d+)\b"
    r"|\b(?:here|there)(?:'?s| is| are) (?:(?:your|ur)\b|.*\b(?:money|coins?|cash|payment)\b)"
)
# what is owed is handed over where it is named: "I owe you a penny for the towel. Here it is."
_HERE_IT_IS = re.compile(
    r"\b(?:here|there)(?:'?s it| it is| they are| (?:you|u|ya) (?:go|are))(?=\W*$|[.!,;]| now\b)"
    rf"|\bhere(?:'?s| is) an? (?:{COINS})\b"
)
_REST = rf"\bthe (?:rest|remainder|other (?:half|{NUMBER_WORD}|\d+))\b"
_LEAVES_REST = re.compile(
    rf"(?:\b(?:owe|will|shall|can|could|may|pay|bring|give)\b|'ll\b|\b(?:ill|il|giv)\b)[^.!?]*{_REST}"
    rf"|{_REST} (?:later|tomorrow|tonight|next|on|by|when|after|\w+day)\b"
)
_DONE = re.compile(
    rf"{_SETTLES}|\b(?:here|there)(?:'?s| is| are) (?:your|ur|the|my)\b"
    r"|\b(?:is|was|are|it'?s) (?:mended|fixed|back|finished|done|delivered)\b"
    r"|\bi(?:'?ve)? (?:brought|mended|fixed|finished|delivered|returned)\b"
)
_NOT_YET = re.compile(r"\b(?:not|never|\w+n'?t|if|when|once|unless|till?)(?: [\w']+){0,4}\W*$")
_OFF = re.compile(
    r"(?:\bnot|n't)(?: [\w']+){0,8} (?:any ?more|after all)\b"
    r"|\b(?:is|are|it'?s) (?:all )?off\b(?! to\b)"
    r"|\b(?:no longer|no need|never ?mind|nvm|don'?t bother|called off|cancell?ed"
    r"|(?<!you )(?<!u )forget (?:it|about|what)"
    r"|(?:^|[.!?,;] |\bso )forget (?:the|my|that)|changed my mind|take (?:it|that) back)\b"
    r"|\bi'?m not (?:taking|coming|selling|buying|marrying|doing|bringing)\b"
)
_BROKEN = re.compile(r"\b(?:i|we) (?:can'?t|cannot|couldn'?t|won'?t be able|broke my word)\b")
_STOP = re.compile(r"[.!?;]+(?:\s|$)")


def closes(text: str) -> Closing | None:
    """Return how a text ends a commitment, if it does: done, off or broken."""
    lower = without_quotations(text.translate(_QUOTES)).lower()
    if _OFF.search(lower):
        return "off"
    if _BROKEN.search(lower):
        return "broken"
    if hands_over(lower):
        return "done"
    done = _DONE.search(lower)
    so_far = _STOP.split(lower[: done.start()])[-1] if done else ""
    return "done" if done and not (_NOT_YET.search(so_far) or asks(text)) else None


def pays(text: str) -> bool:
    """Whether a text pays or settles something, if it hands anything over.

    >>> [pays(each) for each in ("we are quits", "here's your money", "here is my hand")]
    [True, True, False]
    """
    return bool(_PAYS.search(_IN_A_CASE.split(text.translate(_QUOTES).lower())[0]))


def hands_over(text: str) -> bool:
    """Whether the speaker names what they owe and pays all of it in the same breath.

    >>> said = "i owe u 2 pence, here you go", "i owe you 5. here you go, the rest on friday"
    >>> [hands_over(each) for each in said]
    [True, False]
    """
    plain = text.translate(_QUOTES).lower()
    found = _HERE_IT_IS.search(plain)
    owed = plain[: found.start()] if found and not leaves_rest(plain) else ""
    return owes(owed) and sides(owed, most=_DEBTS)[0] in _OWN


def leaves_rest(text: str) -> bool:
    """Whether a text leaves a part of what is owed for later."""
    return bool(_LEAVES_REST.search(text.translate(_QUOTES).lower()))
