"""Commitments in words: who owes whom, what waits to be done, told or kept, and what ends it.

Which words of a line commit somebody is judged elsewhere (`offline.acts`). These rules read such
words: whom something is owed to or passed on to, what is put into somebody's keeping, and whether
something was done, is off, or will not be done.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from typing import Literal

from ..text.segmentation import words_of
from .questions import asks
from .tokens import AUXILIARIES, BASES, FUNCTION_WORDS, NUMBER_WORD, is_past, without_quotations

Closing = Literal["done", "off", "broken"]
# "I said Monday, but it's Tuesday": what was said before it is wrong
SAID_WRONG = (
    r"\b(?:i|we) (?:said|told (?:you|u)|did say)\b(?P<wrong>[^.!?;]{1,40}?)\bbut\b"
    r"(?: (?:i|we) (?:meant?|should have said)\b)?"
)

_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'"})
_STOP = re.compile(r"[.!?;]+(?:\s|$)")
_WHOM = r"(?P<whom>[\w'-]+(?: [\w'-]+)?)"
# "tell my partner Dorrit, when he comes, that"; not "tell my fortune"
_OF_MINE = (
    r"(?:(?:my|our) (?=[\w'-]+(?: [\w'-]+)?,? (?:that|to|not|about|when|if|i|i'\w+|he|she|we|they"
    r"|it|the|his|her|their|there|know)\b))?"
)
_PASS_ON = re.compile(
    rf"\b(?:(?:tell|let|remind|warn|inform) {_OF_MINE}|(?:give|pass|hand|send|bring|ask) ){_WHOM}",
    re.IGNORECASE,
)
_PASS_TO = re.compile(
    rf"\b(?:say|give|pass|hand|send|bring|deliver)\b[^.!?]{{1,80}}?\b(?:to|for) {_WHOM}",
    re.IGNORECASE,
)
_THEM = frozenset("him her them em 'em".split())
# whoever "him" is in "if bram comes by, tell him"
_COMES = re.compile(
    r"\b(?:if|when|whenever|once|should|as soon as|(?:the )?next time)"
    r" (?:(?:you|u|ye) (?:next )?see (?:the )?(?P<seen>[\w'-]+)"
    r"|(?P<is>[\w-]+)'s (?:not|around|here|in|back|away|out|gone)\b|(?P<who>[\w'-]+(?: [\w'-]+)??)"
    r"(?:,| (?:comes?|turns?|shows?|drops?|calls?|stops?|looks?|gets?|asks?|walks?|passes|is"
    r"|returns?)\b))",
    re.IGNORECASE,
)
_SAY = re.compile(r"\bsay\b(?! (?:to|it|so)\b)", re.IGNORECASE)
_NOBODY = frozenset(
    "i you u ye ya he she it they me him her them us we it that this for in up off back around all "
    "my everybody everyone anybody anyone nobody none nothing what debt debts tab slate bill "
    "money coin coins yourself himself herself themselves myself".split()
)
# "tell bram il pay him", "tell bram hes an ox"; not "tell old wes", "tell old hel"
_PRONOUN_VERB = re.compile(
    r"(?:i'?(?:m|ve|ll?|d)|(?:s?he|it|there|that)'?(?:s|ll|d)|(?:they|we|you)'?(?:ve|ll|d|re))"
)
_OWN = frozenset("i me my we us our".split())
_PROMISES = re.compile(  # not "as i promised", which is done with that
    r"(?<!\bas )(?<!\bas i )\b(?:promised?|swore|swear|my word)\b", re.IGNORECASE
)
_PRONOUNS = frozenset("i he she they me him her them".split())
_ITS_HOUSE = frozenset("inn house tavern shop forge mill stall bar us we".split())
# where what is asked for begins: at the head of a clause, after "please", "could you"
_HEAD = (
    r"(?:^|[.!?;:,~]\s*|\b(?:and|then|please|pls|so|but|just|also|n|ok|kindly"
    r"|(?:can|could|will|would|wud) (?:you|u|ye|ya)(?: be so (?:kind|good)(?: as)? to)?)\s+)"
)
# "keep my token", "look after it", "put me down for the race": it waits, whenever that is
_KEEPS = re.compile(
    rf"{_HEAD}(?:keep|hold|save|hide|lock|guard|stash|store|watch over|look (?:after|out)"
    r"|(?:put|set|lay) (?:\w+ )?(?:aside|by)|see (?:that|to)|make sure|wake|warn|put me down"
    r"|let (?:me|us) know)\b(?!\W*$)",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    rf"{_HEAD}(?:don'?t|do not|never) let (?:any|no) ?(?:one|body)"
    r" (?!(?:else )?on\b|[^.!?;]*\b(?:know|(?:over)?hear|see|find|learn|guess|tell|say|get wind"
    r"|discover|notice|suspect|reali[sz]e)\b)\w",
    re.IGNORECASE,
)
_AT_ONCE = re.compile(  # "hold your tongue", "keep quiet", "keep it to yourself"
    r"\b(?:keep|hold|watch)(?: (?:your|yer|ur)\b| (?:\w+ )?to (?:your|yer|ur)sel\w*"
    r"| (?:on(?! to)|up|still|going|quiet|away|off|out|calm"
    r"|it down)\b)",
    re.IGNORECASE,
)
_KEEPS_ON = re.compile(r"\bkeep (?:\w+ ){1,3}?(?P<does>\w+)ing\b", re.IGNORECASE)
# a message; it may begin in a case too: "if bram comes by tell him"
_ERRAND = re.compile(
    rf"(?:{_HEAD}|\b(?:if|when|once|should|(?:the )?next time)\b[^.!?]*?\s)"
    r"(?P<verb>(?:tell|warn|inform|remind|let|(?:pass|send|get) (?:the |a )?word|pass"
    r"|(?:give|hand|deliver|send|bring|take) (?:this|that|these|them|it|my|him|her)"
    r"|ask(?= [\w'-]+(?: [\w'-]+)? (?:if|whether|when|where|what|who|why|how|to|about)\b)) )",
    re.IGNORECASE,
)
_IN_A_CASE = re.compile(
    r"\b(?:if(?! (?:(?:i|we) (?:could|had|were|was)|(?:you|u|ye) (?:like|please))\b)|when|once"
    r"|should|unless|whoever|any(?:one|body)|next time|till?|until|as soon as|the moment"
    r"|before|after)\b",
    re.IGNORECASE,
)
_A_THING = re.compile(r"\W*(?:an?|another|some|more)\b", re.IGNORECASE)
_IF_THERE_IS = re.compile(  # "warm cider, if the house has it"
    r",? if (?:you|u|ye|ya|the \w+|there)(?:['’]?(?:ve|s|re)| is| are)?"
    r" (?:have|has|got|any|some)\b(?: (?:it|one|any|some|left|to spare))*\W*(?=[.!?;]|$)",
    re.IGNORECASE,
)
_SECRECY = re.compile(r"\b(?:don'?t|do not|never|nobody|no one)\b", re.IGNORECASE)
_REMIND = re.compile(r"\bremind (?:me|us)\b", re.IGNORECASE)
_REMIND_TO = re.compile(
    r"\bremind (?:me|us) (?:please |again )?"
    r"(?:to|(?=not to\b)|that|when|if|before|at|in|on)\b(?: ?(?P<what>.+))?"
    r"|\bremind (?:me|us)(?:(?: (?:on )?[\w-]+)? about (?P<of>(?:the|my|a|an) .+))?$",
    re.IGNORECASE,
)
_AS_I_GO = re.compile(
    r"\b(?:when(?:ever)?|before|if|once|as) (?:i|we)(?:'?m| am|'?re| are)?"
    r" (?:leav(?:e|ing)|go|going|head(?:ing)? (?:off|out|home)|set(?:ting)? off|part)\b"
    r"(?! (?:to|up|down|in|into|on)\b)|\b(?:before|on) (?:leaving|my way out)\b",
    re.IGNORECASE,
)
_SETTLES = (
    r"\b(?:paid|payed|settled)(?: (?:up|off|back|you))?\b"
    r"|\b(?:we(?:'?re| are| r)|that'?s(?: us)?) (?:all )?(?:square|even|quits|settled"
    r"|straight(?=\W*$|[.,!;]| (?:now|then|again)\b))\b"
    r"|(?:^|[.!,;] ?)count (?:it|'?em|them)\b(?! (?:yourself|tomorrow|as)\b)"
)
_PAYS = re.compile(
    rf"{_SETTLES}|\b(?:{NUMBER_WORD}|\d+)\b"
    r"|\b(?:here|there)(?:'?s| is| are) (?:(?:your|ur)\b|.*\b(?:money|coins?|cash|payment)\b)"
)
# "that's the two pennies i borrowed": what is owed, in the hand; not "so that's 12 i owe ya"
_PAYS_BACK = re.compile(
    r"\b(?:here(?:'?s| is| are)|th(?:is|at|ose|ese)(?:'?s| is| are) (?:the|your|ur|yer|what))"
    r"\b[^.!?:,]*\b(?:(?:i(?:'?d)?|you|u)(?: had)? (?:borrowed|owed?|lent|loaned)"
    r"|i(?:'?d)?(?: had)? promised)\b",
    re.IGNORECASE,
)
# a tale: "i lent my brother a cow once and never saw it again"
_TOLD = re.compile(
    r"\b(?:i|we) once\b"
    r"|(?<!\bat )(?<!\bthis )(?<!\bfor )\bonce(?! and for all)(?=\W*$|,? (?:and|but|or)\b)",
    re.IGNORECASE,
)
# what is owed is handed over where it is named: "I owe you a penny for the towel. Here it is."
_HANDS_OVER = re.compile(
    r"(?:^|[.!?,;:-] *)(?:(?:so|and|now|well) )?(?:here|there)"
    r"(?:(?:'?s it| it is| they are| (?:you|u|ya|ye) (?:go|are))(?=\W*$|[.!,;]| now\b)|\W*$)"
    r"|(?<!not )(?<!n't )(?<!ll )\btake (?:it|them)[^\w?]*$"
)
_A_SUM = rf"(?:{NUMBER_WORD}|\d+|(?:an?|one) (?:\w*penny|coin|copper|silver|shilling|mark|crown))\b"
_HERE_IS = re.compile(rf"(?:^|[.!?,;:] *)(?:so |and )?here(?:'?s| is| are) (?P<sum>{_A_SUM})")
_REST = r"\bthe (?:rest|remainder|other half)\b"
_LEAVES_REST = re.compile(
    rf"(?:\b(?:owe|will|shall|can|could|may|pay|bring|give)\b|'ll\b|\b(?:ill|il|giv)\b)[^.!?]*{_REST}"
    rf"|{_REST} (?:later|tomorrow|tonight|next|on|by|when|after|\w+day)\b"
)
# what somebody has is not what they owe: "i only got 2 pence on me, can i owe u the rest"
_HAS = re.compile(
    r"\b(?:i|we)(?:'?ve)? (?:(?:have|got|had) )*(?:(?:only|just|but) (?:(?:have|got|had) )*)+"
    rf"(?:an?|one|{NUMBER_WORD}|\d+)\b(?: \w+)?|\ball (?:that )?i(?:'?ve)? (?:have|got)[^.,;!?]*",
    re.IGNORECASE,
)
_DONE = re.compile(
    rf"{_SETTLES}|{_PAYS_BACK.pattern}|\b(?:here|there)(?:'?s| is| are) (?:your|ur|the|my)\b"
    r"|\b(?:is|was|are|it'?s) (?:mended|fixed|back|finished|done|delivered)\b"
    r"|\bi(?:'?ve)? (?:brought|mended|fixed|finished|delivered|returned)\b"
)
_NOT_YET = re.compile(r"\b(?:not|never|\w+n'?t|if|when|once|unless|till?)(?: [\w']+){0,4}\W*$")
_OFF = re.compile(
    r"(?:\bnot|n't)(?: [\w']+){0,8} (?:any ?more|after all)\b"
    r"|\b(?:is|are|it'?s) (?:all )?off\b(?! to\b)"
    r"|\b(?:no longer|no need|never ?mind|nvm|don'?t bother|called off|cancell?ed|misspoke"
    r"|(?<!you )(?<!u )forget (?:it|about|what)|changed my mind|take (?:it|that) back)\b"
    r"|\bi'?m not (?:taking|coming|selling|buying|marrying|doing|bringing)\b"
)
_BROKEN = re.compile(r"\b(?:i|we) (?:can'?t|cannot|couldn'?t|won'?t be able|broke my word)\b")

# who owes whom, in the order of their certainty; "lent" turns it round
_PERSON = r"(?:(?:the|my|our) (?:old )?)?[^\W\d][\w'-]*"
_OWING = tuple(
    # from the beginning of a word: a line that is one long word would be read once a letter
    (re.compile(rf"(?<![\w-])(?<!\w')(?P<who>{_PERSON}){form}", re.IGNORECASE), forward)
    for form, forward in (
        (
            rf"(?: here| still| really| now)* ow(?:e[sd]?|in)\b(?: (?P<to>{_PERSON}))?"
            rf"(?:[^.!?]*?\bto (?P<further>{_PERSON}))?",
            True,
        ),
        (rf" into (?P<to>{_PERSON}) for\b(?P<further>)", True),
        (rf" borrow(?:ed)?\b(?P<to>)(?:.*?\b(?:from|off) (?P<further>{_PERSON}))?", True),
        (rf" (?:lent|loaned)\b(?: (?P<to>{_PERSON}))?(?P<further>)", False),
        (r" (?:slate|tab|bill)\b(?P<to>)(?P<further>)", True),
        (rf" (?:promised|swore)\b(?: (?P<to>{_PERSON}))?(?P<further>)", True),
        (rf"(?: will| shall| to)* (?:re)?pay\b(?: (?P<to>{_PERSON}))?(?P<further>)", True),
    )
)
_PAY_ME = re.compile(  # "Bram, pay me on Friday"
    r"(?:(?:^|[.,!?;:] )(?:just )?|\bplease |\b(?:you|u) (?:(?:must|just|have|need|got|to) ){0,3})"
    r"(?:re)?pay (?P<to>me|us)\b",
    re.IGNORECASE,
)
_DEBTS = 5  # of these forms; the others tell of what will be done
_OF_A_THING = re.compile(
    rf"(?:an?|your|all|(?:the )?(?:{NUMBER_WORD}|rest|remainder|\d+))\b", re.IGNORECASE
)


_NOT_OWED = re.compile(
    r"\b(?:not|never|\w+n'?t|no longer)\b[^.!?]*\bowe|\bowes? (?:\w+ )?(?:nothing|nobody|no)\b",
    re.IGNORECASE,
)
_OWES_WORDS = re.compile(r"\bow(?:e[sd]?|ing?)\b[^.,!?]{0,20} (?:apolog|thanks|explanation)", re.I)


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


def recipient(text: str) -> str:
    """Return the words for whoever a message or a thing is to be passed on to; "" if nobody is.

    >>> recipient("tell old tom that the boat is mended"), recipient("give this to bram")
    ('old tom', 'bram')
    >>> recipient("if bram comes by tell him the boat is mended"), recipient("tell bram hes an ox")
    ('bram', 'bram')
    >>> recipient("if bram's not around when I've gone, can u tell him the boat is mended")
    'bram'
    >>> recipient("tell my partner Nell that I am off"), recipient("tell my fortune")
    ('partner nell', '')
    >>> recipient("tell Wes that his boat is mended"), recipient("let Hel know it")
    ('wes', 'hel')
    """
    said = _told_to_them(" ".join(text.translate(_QUOTES).split()))
    found = _PASS_TO.search(said) or _PASS_ON.search(said)
    if not found:
        return ""
    words = found["whom"].lower().split()
    does = words_of(said[found.end() :])[:1]
    if len(words) > 1 and does and (is_past(does[0]) or does[0] in AUXILIARIES):
        words = words[:1]  # "tell nell rolf had puppies"
    sentence = _STOP.split(said[: found.start()])[-1]
    if words[0] in _THEM:
        comes = (next(filter(None, each.groups())).lower() for each in _COMES.finditer(sentence))
        others = [each for each in comes if re.split(r"\W", each)[0] not in _PRONOUNS]
        words = others[-1].split() if others else words
    named = list(itertools.takewhile(_may_be_of_a_name, words))
    return "" if named and named[0] in _NOBODY else " ".join(named)


def pays(text: str) -> bool:
    """Whether a text pays or settles something, if it hands anything over.

    >>> [pays(each) for each in ("we are quits", "here's your money", "here is my hand")]
    [True, True, False]
    >>> pays("heres my flute till i have the coin")
    False
    """
    return bool(_PAYS.search(_IN_A_CASE.split(text.translate(_QUOTES).lower())[0]))


def pays_back(text: str) -> bool:
    """Whether a text hands over what was borrowed, lent or owed."""
    return bool(_PAYS_BACK.search(text.translate(_QUOTES)))


def hands_over(text: str) -> bool:
    """Whether the speaker names what they owe and pays all of it in the same breath.

    >>> said = "i owe u 2 pence, here you go", "i owe you 5. here you go, the rest on friday"
    >>> [hands_over(each) for each in (*said, "i owe you for a bun. here's a penny")]
    [True, False, True]
    """
    plain = text.translate(_QUOTES).lower()
    here = _HERE_IS.search(plain)
    owed = plain[: here.start()] if here else ""
    in_full = here and (here["sum"] in owed or not re.search(_A_SUM, owed))
    # "There you are, Mara! I owe you five" only greets
    handed = (
        "are" not in each[0].split() or owes(plain[: each.start()])
        for each in _HANDS_OVER.finditer(plain)
    )
    if not (in_full or any(handed)) or leaves_rest(plain):
        return False
    return owes(plain) and sides(plain, most=_DEBTS)[0] in _OWN


def said_wrong(text: str) -> tuple[str, str] | None:
    """Return what a text takes back of what its speaker has said, and what it says instead.

    >>> said_wrong("I said Monday, but it's Tuesday I'm going")
    (' Monday, ', " it's Tuesday I'm going")
    """
    found = re.search(SAID_WRONG, text, re.IGNORECASE)
    return (found["wrong"], text[found.end() :]) if found else None


def promises(text: str) -> bool:
    """Whether a text says that its speaker promises, not "as I promised"."""
    return bool(_PROMISES.search(text.translate(_QUOTES)))


def leaves_rest(text: str) -> bool:
    """Whether a text leaves a part of what is owed for later."""
    return bool(_LEAVES_REST.search(text.translate(_QUOTES).lower()))


def without_means(text: str) -> str:
    """Return a text without what its speaker says to have, of which another sum is owed.

    >>> without_means("i only got 2 pence on me can i owe u the rest")
    ' on me can i owe u the rest'
    """
    return _HAS.sub("", text.translate(_QUOTES)) if leaves_rest(text) else text


def is_told(text: str) -> bool:
    """Whether a text tells of what was once, which commits nobody."""
    return bool(_TOLD.search(text))


def _may_be_of_a_name(word: str) -> bool:
    return word not in FUNCTION_WORDS | {"whether"} and not _PRONOUN_VERB.fullmatch(word)


def message(text: str) -> str:
    """Return what a text asks to pass on, the whole of it where that is not clear.

    >>> message("would you let nell know i need her to sign?")
    'i need her to sign'
    >>> message("if Alice comes by say ill meet her at noon"), recipient("if Alice comes say hi")
    ('ill meet her at noon', 'alice')
    >>> message("pass on to Bram that his boat is mended")
    'his boat is mended'
    >>> message("tell Bram, when he returns, that I owe him nothing")
    'I owe him nothing'
    >>> message("Would you please ask Oriel whether the school needs a stove? I have one.")
    'whether the school needs a stove? I have one.'
    """
    whom = recipient(text)
    said = _told_to_them(" ".join(text.split()))
    found = whom and re.search(
        r"\b(?:tell|warn|inform|let|remind|ask(?= \S+(?: \S+)? (?:if|whether)\b)"
        r"|(?:say|pass|get|send)\b[^.!?]{0,20}\bto)\s+"
        rf"(?:(?:(?:my|our) )?{re.escape(whom)}|him|her|them)\b(?: know\b)?"
        r"(?:,? (?:quietly|please|from me|for me|when [^,.!?]{2,40}?(?=,? that\b)))*"
        r"(?:[,:]| that\b)*"
        r"\s+(?P<what>(?!know\b|about\b|to\b|not\b|what\b|how\b|when\b|where\b|why\b).{8,})$",
        said,
        re.IGNORECASE,
    )
    return found["what"].rstrip("? ") if found else text


def reminder(text: str) -> str:
    """Return of what a text asks to be reminded, "" if it does not.

    >>> reminder("remind me to buy twine"), reminder("remind me what I owe")
    ('buy twine', '')
    >>> reminder("remind me when i leave that i need eggs")
    'i need eggs'
    """
    said = " ".join(text.translate(_QUOTES).split()).rstrip(".! ")
    said = re.sub(rf"(?i:(\bremind (?:me|us)) (?:{_AS_I_GO.pattern}),?)", r"\1", said)
    found = _REMIND_TO.search(said)
    return (found["what"] or found["of"] or "").strip() if found else ""


def reminds(text: str) -> bool:
    """Whether a text asks to be reminded of something to do; not "remind me what I owe"."""
    return bool(_REMIND_TO.search(text.translate(_QUOTES)))


def reminds_at_parting(text: str) -> bool:
    """Whether a text asks for a reminder as its speaker goes: "remind me when I leave"."""
    return reminds(text) and bool(_AS_I_GO.search(text.translate(_QUOTES)))


def errand(text: str, *, dated: bool = False) -> bool:
    """Whether a text asks for a reminder, or to tell or give somebody something.

    >>> errand("tell bram that the boat is mended"), errand("did you tell bram?")
    (True, False)
    """
    if reminds(text) or (dated and _REMIND.search(text) and not asks(text)):
        return True
    return passes_on(text)


def passes_on(text: str) -> bool:
    """Whether a text asks to tell or give somebody something."""
    said = _told_to_them(" ".join(text.translate(_QUOTES).split()))
    return bool(_ERRAND.search(said) and recipient(text))


def _told_to_them(said: str) -> str:
    """Return "if Alice comes by say I am out" as "if Alice comes by tell them I am out"."""
    comes = _COMES.search(said)
    if not comes:
        return said
    return said[: comes.end()] + _SAY.sub("tell them", said[comes.end() :], count=1)


def keeps(text: str) -> bool:
    """Whether a text asks to keep, hold or watch something, or to be woken.

    >>> keeps("keep my ring for me"), keeps("keep the fire burning")
    (True, False)
    """
    goes_on = _KEEPS_ON.search(text)
    if goes_on and {goes_on["does"].lower(), goes_on["does"].lower() + "e"} & BASES:
        return False
    return forbids(text) or bool(_KEEPS.search(_AT_ONCE.sub(" ", text.translate(_QUOTES))))


def forbids(text: str) -> bool:
    """Whether a text asks to let nobody do something; not "don't let anyone know".

    >>> forbids("it has eggs in so dont let no one sit on it"), forbids("I don't let anyone sit.")
    (True, False)
    """
    return bool(_FORBIDS.search(text.translate(_QUOTES)))


def in_a_case(text: str) -> bool:
    """Whether a text tells of a case, in which something is to be done: "if it rains".

    A thing that is wanted now is no deed, whatever its case: "a pint before i die".
    """
    found = _IN_A_CASE.search(_IF_THERE_IS.sub("", text))
    if found is None or _SECRECY.search(text):
        return False
    return not _A_THING.match(text) or any(
        word in BASES for word in words_of(text[: found.start()])
    )


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
