"""Corrections: "no wait, not the mill, the chapel" as the statement that its speaker meant.

A correction is a fragment: it names what was wrong and what is right, and the rest stands in a line
before it. Completed, it tells all that the older line told, so that the older line can end as a
whole. Only forms are read that leave no doubt what is replaced by what.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from ..text.segmentation import words_of
from .tokens import (
    AUXILIARIES,
    BASES,
    FILLERS,
    FUNCTION_WORDS,
    NUMBER_WORD,
    NUMBERS,
    THIRD,
    content_words,
    is_past,
    zipf,
)

LONGEST = 200  # characters of a correction
COMMON = 5.5  # Zipf frequency from which a word says little of what a line is about
WORDS_AT_MOST = 4  # of what is right: more is a statement of its own

_OPENS = (
    r"^\W*(?:(?:no|nay|nah|nope|wait|sorry|oops|ah|oh|well|actually|hold on|hang on|correction"
    r"|scratch that|(?:oh )?silly me|i tell a lie|i counted(?: it| them)? wrong|i miscounted"
    r"|(?:that|it)(?:['’]?s| is| was)(?: all)? wrong|that(?:['’]?s| is) not (?:right|true)"
    r"|(?:i was|i told (?:you|u|ye)) wrong|my mistake)\b[\s,.;:!–—-]*)*"
)
_CLAUSE = (
    r"(?:^|(?<=[.,;:!–—]))\s*(?:(?:and|but|so|oh|no|nah|sorry|oops|wait|well|for the record),? )*"
)
# clauses that say no more than that something else was wrong
_ADMISSION = re.compile(
    rf"{_CLAUSE}(?:i (?:misspoke|was wrong|told (?:you|u|ya|ye) wrong"
    r"|(?:had|got) (?:it|that|this) wrong|mixed (?:it|them|that) up"
    r"|(?:must|should|have to|need to|better) correct (?:my )?[\w-]+)"
    r"|my (?:mistake|bad)|change of plans?)\s*(?:[.,;:!–—]+|$)",
    re.IGNORECASE,
)
# clauses that say no more than that something has changed
_CHANGED = re.compile(
    rf"{_CLAUSE}(?:(?:they|he|she|it|that|things|plans?)(?:['’]?ve|['’]?s| have| has)?"
    r" (?:been )?(?:moved|changed)(?: it)?)\s*(?:[.,;:!–—]+|$)",
    re.IGNORECASE,
)
_COUNT = (
    rf"(?:\d+|(?:an?|one|{NUMBER_WORD}) (?:hundred|thousand)(?: (?:and )?(?:one\b|{NUMBER_WORD}))*"
    rf"|{NUMBER_WORD})"
)
_OF_WHOM = (
    r"(?:(?:it|that|there|he|she|they|we|i|(?:the|my|our|his|her) [\w-]+|(?-i:[A-Z])[\w-]+)"
    r"(?:['’]?s|['’]?re|['’]?m| is| are| am| was| were))"
)
_MEANT = (
    r"(?:(?:i|we) (?:meant?|should have said)(?: to say)?|make (?:that|it)|it(?:['’]?s| is))\s+"
)
_DET = r"(?:the|an?|my|our|his|her|their|your)"
_PREPOSITION = r"(?:(?:in|at|on|by|near|called|named) )?"
_PART = rf"(?:{_COUNT}(?: [^\s,.;:!?]+){{0,3}}?|[^\s,.;:!?]+(?: [^\s,.;:!?]+){{0,3}}?)"
_NO_MORE = r"(?: any ?more| no more| neither| either| after all)?"
_NOT_BUT = re.compile(
    rf"{_OPENS}(?:{_MEANT}|(?P<of>{_OF_WHOM}) )?not {_PREPOSITION}(?P<wrong>{_PART}){_NO_MORE}"
    rf"(?:(?:\s*[.,;:–—]\s*(?:but )?| but )(?:{_MEANT}|(?P<then_of>{_OF_WHOM}) )"
    r"|\s*[,;:–—]\s*(?:but )?| but )(?:now )?"
    rf"{_PREPOSITION}(?P<right>{_PART})(?: now)?\W*$",
    re.IGNORECASE,
)
_BUT_NOT = re.compile(
    rf"{_OPENS}(?:{_MEANT})?{_PREPOSITION}(?P<right>{_PART})\s*[,;–—]\s*(?:and )?not "
    rf"{_PREPOSITION}(?P<wrong>{_PART})\W*$",
    re.IGNORECASE,
)
_MEANT_NOT = re.compile(
    rf"{_OPENS}(?:i|we) (?:meant|should have said)(?: to say)? {_PREPOSITION}(?P<right>{_PART}),?"
    rf" (?:and )?not {_PREPOSITION}(?P<wrong>{_PART})\W*$",
    re.IGNORECASE,
)
_MEANT_ONLY = re.compile(
    rf"{_OPENS}(?:(?:i|we) meant(?: to say)?|make (?:that|it)) {_PREPOSITION}"
    rf"(?P<right>{_PART})\W*$",
    re.IGNORECASE,
)
_DAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|tomorrow|tonight)"
# "its wednesday not tuesday he's coming": whatever else it says, two days tell what is wrong
_OTHER_DAY = re.compile(
    rf"\b(?P<right>{_DAY})(?:(?! not\b)[^.!?;]){{0,30}}?,? (?:and )?not (?:on )?(?P<wrong>{_DAY})\b"
    rf"|\bnot (?:on )?(?P<not>{_DAY}){_NO_MORE}[,;]? (?:but )?(?:it['’]?s )?(?:on )?"
    rf"(?P<but>{_DAY})\b",
    re.IGNORECASE,
)
# "the kettle wont be ready friday, ill bring it monday instead"
_NOR = r"(?!\b(?:maybe|perhaps|might|or|only|just|also|too|from|till|until|and|since|because)\b)"
_PUT_OFF = re.compile(
    rf"(?:\bnot|n['’]t|\bwont|\bcant|\bcannot)\b(?:{_NOR}[^.!?]){{0,30}}?\b(?P<wrong>{_DAY})\b"
    rf"(?=[^.!?]*(?:['’]ll\b|\bill\b|\bwill\b|\binstead\b|\bmake (?:it|that)\b))"
    rf"(?:{_NOR}(?!\bto\b)[^.!?]){{1,40}}?\b(?P<right>{_DAY})(?: instead)?\b",
    re.IGNORECASE,
)
# "my ferret is called Lightning, not Thunder": a whole sentence that says it anew
_SAYS_ANEW = re.compile(
    rf"(?P<anew>[^.!?]+?)(?:\s*[,;–—]\s*(?:and )?| and )(?:not|rather than|instead of) "
    rf"{_PREPOSITION}(?:to |for )?(?:the |my |our )?"
    r"(?P<wrong>[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?)(?:\W*$|[.!?]\s)",
    re.IGNORECASE,
)
# "it's not Thunder. the ferret is called Lightning"
_NOT_SO = re.compile(
    rf"^\W*(?:(?:no|nah|nope|wait|oh)\b[\s,]*)*{_OF_WHOM} not (?:called |named )?"
    r"(?P<wrong>[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?)\s*[.,;–—!]\s*(?:but )?(?P<anew>[^.!?]+)\W*$",
    re.IGNORECASE,
)
# "it's nineteen planks left not twenty"
_COUNTS_ANEW = re.compile(rf"(?P<anew>[^.!?]+?)\s+not (?P<wrong>{_COUNT})\W*$", re.IGNORECASE)
# "the magpie is Countess, Duchess was my old cat"
_WAS_ANOTHER = re.compile(
    r"(?P<anew>[^.!?]+?)\s*[,;–—]\s*(?:and |since |as )?"
    r"(?P<wrong>(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?) (?:was|were)"
    r" (?:my|our|the|an?|his|her|their|last|only|where|what|before)\b[^.!?]*\W*$",
    re.IGNORECASE,
)
_COUNTED = re.compile(rf"\b(?P<number>{_COUNT}) (?P<of>[^\W\d_]{{3,}})\b", re.IGNORECASE)
# "actually it's eleven hives, i split two"; not "sorry, eleven hives were stolen"
_COUNTS_INSTEAD = re.compile(
    r"^\W*(?:(?:no|nah|nope|wait|sorry|oops|actually|correction|scratch that|(?:oh )?silly me"
    r"|i counted wrong|i miscounted)[\s,.!:;–—-]+)+"
    r"(?P<whose>it['’]?s|it is|there(?:['’]?s| are)|make (?:it|that)"
    r"|(?:i|we)(?:['’]?ve)?(?: got| have| keep)?)? ?(?:only |just )?"
    rf"{_COUNTED.pattern}(?=\W*$|[,.;!])",
    re.IGNORECASE,
)
# "the oysters'll have to be saturday", "the wedding is put off till monday"
_PUT_ON = re.compile(
    r"^\W*(?:(?!if\b)[\w'’-]+,? ){0,2}?(?:the|my|our) (?P<what>[\w-]+)"
    r"(?:(?:['’]ll| will| has got| has| have| ['’]ll)? (?:have|need|got)? ?to be"
    r"|(?: is|['’]s| are| has been| have been| got) (?:put off|moved|shifted|pushed back|postponed)"
    r" (?:to|till?|until))"
    rf" (?:on )?(?P<right>{_DAY})\b(?! too\b| also\b)",
    re.IGNORECASE,
)
# "i told you wrong, …", "change of plan: …"
_ADMITS = re.compile(
    r"^\W*(?:[\w'’-]+,? ){0,3}?(?:no|nah|nope|nay|wait|sorry|oops|actually|correction"
    r"|change of plans?|scratch that|silly me|i tell a lie|i (?:counted wrong|miscounted)"
    r"|i (?:told (?:you|u|ye) wrong|was wrong|misspoke|had it wrong))\b",
    re.IGNORECASE,
)
_HAPPENS = frozenset(
    "come go arriv leav meet happen start actual sorri wait make bring instead ready done nor"
    " neither".split()
)  # stems
_OF_SPEAKER = re.compile(r"\b(?:i|we)\b|\bive\b", re.IGNORECASE)
_SUBJECTS = frozenset("i we they you it its it's that's thats he's hes she's shes there's".split())
_DETERMINED = re.compile(rf"^{_DET} ", re.IGNORECASE)
_THE = re.compile(r"\bthe (?:[^\W\d_]+ ){0,2}?[^\W\d_]+\b(?=\W*$|[,.;!]| and\b)", re.IGNORECASE)
_NUMBER = re.compile(rf"\b{_COUNT}\b", re.IGNORECASE)
_MOVED = re.compile(
    rf"{_OPENS}(?P<moved>(?:{_DET} )?(?:[\w'’-]+ )?(?P<who>[\w'’-]+?)"
    r"(?: has|['’]s| have|['’]ve)? moved (?:house |back |away ){0,2}to"
    r" (?:the )?(?P<to>[\w'’-]+).*)$",
    re.IGNORECASE | re.DOTALL,
)
_LIVES = re.compile(r"\b(?:live|dwell|reside)(?:s|d)?\W*$", re.IGNORECASE)


def completed(
    said: str, before: Sequence[str], *, names_wrong: bool = False
) -> tuple[int, str] | None:
    """Return which line a correction corrects, and what its speaker meant to say.

    Args:
        before: Lines of the same speaker in the same talk, oldest first.
        names_wrong: Read only what names what was wrong: "it's eleven hives" is of the same talk.

    >>> completed("No wait, not the mill, the chapel.", ["I weave, I live by the old mill."])
    (0, 'I weave, I live by the chapel.')
    >>> completed("That's wrong, Nell moved to Wick.", ["My sister Nell is a midwife in Harrow."])
    (0, 'Nell moved to Wick. My sister Nell is a midwife.')
    """
    if len(said) > LONGEST:
        return None
    said, admits = _read(said)
    for place in reversed(range(len(before))):
        meant = _replaced(said, before[place], names_wrong, admits) or _moved(said, before[place])
        if meant and meant != before[place]:
            return place, meant
        if _MEANT_ONLY.match(said):  # without what was wrong, it is of the last line
            return None
    return None


def changed(known: str, meant: str) -> str:
    """Return the words that a line has in place of others once it is corrected.

    "" if it differs in several places.

    >>> changed("I weave, I live by the old mill.", "I weave, I live by the chapel.")
    'chapel'
    """
    old, new = (re.sub(r"[^\w\s'’-]", "", text).split() for text in (known, meant))
    found = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    parts = [" ".join(new[first:last]) for tag, _i, _j, first, last in found if tag != "equal"]
    if len(parts) != 1:
        others = [word for word in new[1:] if _shape(word) == "name" and word not in old]
        return others[0] if len(others) == 1 else ""
    words = rf"\b{re.escape(parts[0])}\b"
    counts = [each[0] for each in _NUMBER.finditer(" ".join(new)) if re.search(words, each[0])]
    return counts[0] if parts[0] and len(counts) == 1 else parts[0]


def may_correct(said: str) -> bool:
    """Whether a line has the form of a correction, whatever stands before it; no question has."""
    if said.rstrip().endswith("?") or len(said) > LONGEST:
        return False
    said, admits = _read(said)
    forms = (
        _NOT_SO.match,
        _MEANT_ONLY.match,
        _MOVED.match,
        *(form.search for form in (_OTHER_DAY, _PUT_OFF, _PUT_ON, _SAYS_ANEW, _COUNTS_ANEW)),
    )
    if _correction(said) or any(form(said) for form in forms):
        return True
    return bool(_COUNTS_INSTEAD.match(said) or (admits and _WAS_ANOTHER.match(said)))


def meant_in(said: str) -> str:
    """What a line says without what it denies: "not the mill, the chapel" means the chapel.

    >>> meant_in("no wait, not the mill, the chapel")
    'the chapel'
    """
    found = _correction(said) or _MEANT_ONLY.match(said)
    return found["right"] if found else said


def without_admission(said: str) -> str:
    """Return a line without the clauses that only say that something was wrong.

    >>> without_admission("it is not the mill, i misspoke. it is the chapel")
    'it is not the mill, it is the chapel'
    """
    rest = " ".join(_ADMISSION.sub(" ", said).split())
    return rest if re.search(r"\w", rest) else said


def _read(said: str) -> tuple[str, bool]:
    """Return a line without what only says that it corrects, and whether it says so."""
    bare = without_admission(said)
    rest = " ".join(_CHANGED.sub(" ", bare).split())
    rest = rest if re.search(r"\w", rest) else bare
    return rest, rest != said or bool(_ADMITS.match(said))


def _correction(said: str) -> re.Match[str] | None:
    """What a fragment says is wrong and what is right, None if it is no such fragment."""
    for form in (_NOT_BUT, _BUT_NOT, _MEANT_NOT):
        found = form.match(said)
        if found and not (_has_verb(found["right"]) or _has_verb(found["wrong"])):
            return found
    return None


def _has_verb(text: str) -> bool:
    return any(
        word in AUXILIARIES or word in THIRD or is_past(word) or word in _SUBJECTS
        for word in words_of(text)
    )


def _replaced(said: str, known: str, names_wrong: bool, admits: bool) -> str:
    """The known line with what is right in place of what was wrong, "" if that is not clear."""
    if other := _OTHER_DAY.search(said):
        right, wrong = other["right"] or other["but"], other["wrong"] or other["not"]
        rest = re.sub(rf"\b(?:{right}|{wrong})\b", " ", said, flags=re.IGNORECASE)
        return _on_another_day(rest, right, wrong, known)
    put_off = _PUT_OFF.search(said)
    if put_off and not _is_told_of_the_past(known):
        rest = re.sub(rf"\b{_DAY}\b", " ", said, flags=re.IGNORECASE)
        return _on_another_day(rest, put_off["right"], put_off["wrong"], known)
    if not names_wrong and (put_on := _PUT_ON.search(said)):
        return _put_on(said, put_on, known)
    found = _correction(said)
    if found is None and (anew := _SAYS_ANEW.search(said) or _COUNTS_ANEW.search(said)):
        first, _, last = anew["wrong"].partition(" ")
        # "Port Crane, not Port Amber"
        shared = bool(last) and first.lower() in words_of(anew["anew"])
        return _said_anew(anew["anew"], last if shared else anew["wrong"], known, admits)
    if found is None and (anew := _NOT_SO.match(said)):
        return _said_anew(anew["anew"], anew["wrong"], known, admits=True, of_one_thing=True)
    if found is None and not names_wrong and (recounted := _recounted(said, known)):
        return recounted
    if found is None and admits and (was := _WAS_ANOTHER.match(said)):
        return _said_anew(was["anew"], was["wrong"], known, admits, of_one_thing=True)
    if found is None:
        meant = None if names_wrong else _MEANT_ONLY.match(said)
        if meant is None or _has_verb(meant["right"]):
            return ""
        right = meant["right"]
        the = right.lower().startswith("the ")
        form = _NUMBER if _NUMBER.fullmatch(right) else _THE if the else None
        places = list(form.finditer(known)) if form else []
        if len(places) != 1:
            return ""
        return known[: places[0].start()] + right + known[places[0].end() :]
    wrong, right = found["wrong"], found["right"]
    of_whom = [found.groupdict().get(name) or "" for name in ("of", "then_of")]
    if not all(_may_be_of(each, known) for each in of_whom if each):
        return ""
    if any(of_whom) and not _are_alike(wrong, right):
        return ""
    if not (content_words(wrong) or _NUMBER.fullmatch(wrong)):
        return ""
    bare = _DETERMINED.sub("", wrong)
    rule = rf"\b{re.escape(bare)}(?!['’\w])"
    if _DETERMINED.match(wrong) and _DETERMINED.match(right):  # with all that describes it
        whole = re.compile(rf"\b{_DET} (?P<like>(?:[\w'’-]+ ){{0,2}}?){rule}", re.IGNORECASE)
        places = [
            each
            for each in whole.finditer(known)
            if not any(word in FUNCTION_WORDS for word in each["like"].lower().split())
        ]
    else:
        right = _DETERMINED.sub("", right)
        places = list(re.finditer(rule, known, re.IGNORECASE))
    if len(places) != 1:
        return ""
    before, after = known[: places[0].start()], known[places[0].end() :]
    if " " in right and words_of(after)[:1] == words_of(right)[-1:]:
        right = right.rpartition(" ")[0]  # "St Bride's chapel", of "at St Ode's chapel"
    number = _NUMBER.match(right)
    if _NUMBER.fullmatch(wrong) and not number and " " in right:
        return ""
    if number and number[0] != right and _NUMBER.fullmatch(wrong):  # "nine hives, not eleven"
        counted = _is_counted(right, number[0], after, set(words_of(known)))
        return before + number[0] + after if counted else ""
    return before + right + after


def _are_alike(wrong: str, right: str) -> bool:
    """Whether two parts are of one kind: names, numbers or things, as long as one another."""
    parts = [_DETERMINED.sub("", each).split() for each in (wrong, right)]
    if _NUMBER.match(wrong) or _NUMBER.match(right):
        return bool(_NUMBER.match(wrong) and _NUMBER.match(right))
    (first, *_), (then, *_) = parts
    alike = _shape(first) == _shape(then) != "" and first.lower() != then.lower()
    return alike and abs(len(parts[0]) - len(parts[1])) <= 1


def _may_be_of(whom: str, known: str) -> bool:
    """Whether a line may tell of whom a correction names: "he's", "my horse is"."""
    first, *more = words_of(whom)
    first = first.partition("'")[0]
    if first in ("i", "im", "we", "were"):
        return _subjects(known) <= {"i"}
    if first in ("he", "hes", "she", "shes", "they", "theyre"):
        return bool(_subjects(known) - {"i"})
    if first in ("it", "its", "that", "thats", "there", "theres"):
        return True
    return (more[0].partition("'")[0] if _DETERMINED.match(whom) else first) in words_of(known)


def _said_anew(
    anew: str, wrong: str, known: str, admits: bool, *, of_one_thing: bool = False
) -> str:
    """The known line with what a sentence says in place of the word that it calls wrong.

    "" if that word is not in the line once, or it is not clear what stands in its place. "I saw
    Nell, not Bram" corrects nothing that is said of Bram.

    Args:
        admits: The line says that something is not so, was wrong or has changed.
        of_one_thing: Both have to name what it is said of, whatever the line admits.
    """
    places = list(re.finditer(rf"\b{re.escape(wrong)}(?!['’\w])", known, re.IGNORECASE))
    shape = _shape(wrong)
    if len(places) != 1 or not shape:
        return ""
    shared = [word for word in content_words(anew) & content_words(known) if zipf(word) < COMMON]
    alone = not content_words(known) - content_words(wrong)  # "it's to be at Gallows Field"
    told_so = bool(_ADMITS.match(anew)) or (admits and alone)
    if not (shared or (told_so and shape in ("name", "number") and not of_one_thing)):
        return ""
    told = set(words_of(known))
    first, *rest = re.findall(r"[\w'’-]+", anew)  # the first has a capital whatever it is
    fitting = [
        word
        for word in (_NUMBER.findall(anew) if shape == "number" else rest or [first])
        if _bare(word) not in told | FUNCTION_WORDS and _shape(word) == shape
    ]
    if len(fitting) != 1:
        return ""
    before, after = known[: places[0].start()], known[places[0].end() :]
    if shape == "number":
        whose = _subjects(anew), _subjects(known)
        if all(whose) and not whose[0] & whose[1]:
            return ""
        alike = _is_counted(anew, fitting[0], after, told)
    else:
        alike = admits or _last_word(anew.partition(fitting[0])[0]) == _last_word(before)
    if not alike:
        return ""
    if not shared and alone:
        return anew.strip()
    meant = before + fitting[0] + after
    days = [re.findall(rf"\b{_DAY}\b", text, re.IGNORECASE) for text in (anew, known)]
    if all(len(named) == 1 for named in days):
        meant = meant.replace(days[1][0], days[0][0])
    return meant


def _bare(word: str) -> str:
    return re.sub(r"['’]s$", "", word.lower())


def _recounted(said: str, known: str) -> str:
    """The known line with the number of a thing that a correction counts anew, "" if unsure."""
    now = _COUNTS_INSTEAD.match(said)
    counted = [each for each in _COUNTED.finditer(known) if now and each["of"] in _alike(now["of"])]
    if now is None or len(counted) != 1 or counted[0]["number"].lower() == now["number"].lower():
        return ""
    of_speaker, subjects = _OF_SPEAKER.search(now["whose"] or ""), _subjects(known)
    if (of_speaker and "i" not in subjects) or (not of_speaker and subjects - {"i"}):
        return ""
    place = counted[0]
    return known[: place.start()] + now["number"] + known[place.end("number") :]


def _alike(noun: str) -> set[str]:
    return {noun.lower(), noun.lower().removesuffix("s"), noun.lower() + "s"}


def _subjects(text: str) -> set[str]:
    """Of whom a text may tell: "i", the kin of "my brother", and names."""
    found = {each.lower() for each in re.findall(r"\b[A-Z][a-z]+(?:['’]s)?", text)}
    names = {each.partition("'")[0].partition("’")[0] for each in found}
    kin = {each.lower() for each in re.findall(r"\bmy ([a-z]+)", text, re.IGNORECASE)}
    own = {"i"} if re.search(r"\bi(?:['’]?ve|['’]?m)?\b|\bive\b", text, re.IGNORECASE) else set()
    return (names - FUNCTION_WORDS - FILLERS - NUMBERS.keys()) | kin | (own - kin)


def _is_counted(anew: str, number: str, after: str, told: set[str]) -> bool:
    """Whether a number counts the same thing as the one in the known line, before `after`."""
    counted = words_of(anew.partition(number)[2])[:1]
    now = words_of(after)[:1]
    bare = not now or now[0] in FUNCTION_WORDS or now == ["so"]  # "two hundred of them so far"
    return bool(counted) and (counted == now or (bare and counted[0] in told))


def _last_word(text: str) -> str:
    return (words_of(text) or [""])[-1]


def _shape(word: str) -> str:
    """What kind of word it looks like: a number, a name, several things, or none of these."""
    lower = word.lower()
    if _NUMBER.fullmatch(word):
        return "number"
    if word[:1].isupper():
        return "name"
    verb = lower in BASES or _has_verb(word)
    return "" if verb or not content_words(word) else "several" if lower.endswith("s") else "thing"


def _on_another_day(rest: str, right: str, wrong: str, known: str) -> str:
    """The known line with the day that is right, "" if it does not name the wrong one once.

    Args:
        rest: What else the correction says; it is of the line if it shares a word with it.
    """
    places = list(re.finditer(rf"\b{wrong}\b", known, re.IGNORECASE))
    about = content_words(rest) - _HAPPENS
    if len(places) != 1 or (about and not about & content_words(known)):
        return ""
    return known[: places[0].start()] + right + known[places[0].end() :]


def _put_on(said: str, found: re.Match[str], known: str) -> str:
    """The known line on another day, "" if it names no day to come of the same thing."""
    days = re.findall(rf"\b{_DAY}\b", known, re.IGNORECASE)
    if len(days) != 1 or days[0].lower() == found["right"].lower() or _is_told_of_the_past(known):
        return ""
    same = re.search(rf"\b(?:the|my|our|an?|of) {re.escape(found['what'])}\b", known, re.IGNORECASE)
    return known.replace(days[0], found["right"], 1) if same else ""


def _is_told_of_the_past(known: str) -> bool:
    return any(is_past(word) or word in ("was", "were") for word in words_of(known))


def _moved(said: str, known: str) -> str:
    """That somebody moved, with what else the known line says of them; "" if it says no place."""
    found = _MOVED.match(said)
    if found is None or found["to"].lower() in words_of(known):
        return ""
    who = re.escape(found["who"])
    lived = re.match(
        rf"^(?P<rest>(?:[\w'’-]+,? ){{0,3}}?{who}\b(?: (?!and\b|but\b)[^\s,;.]+){{1,6}}?)"
        r" (?:in|at|from|near|by) (?:the )?[\w'’-]+\W*$",
        known,
        re.IGNORECASE,
    )
    if lived is None:
        return ""
    moved = found["moved"].rstrip(".!; ")
    if _LIVES.search(lived["rest"]) or not re.search(
        r"\b(?:is|works|serves|keeps|has|am|are)\b", lived["rest"], re.IGNORECASE
    ):
        return moved + "." if _LIVES.search(lived["rest"]) else ""
    rest = lived["rest"]
    return f"{moved}. {rest[:1].upper()}{rest[1:]}."
