"""Contradictions: which two statements of one speaker cannot both hold, and which say the same.

The rules look at what embeddings hardly see: numbers, negations, names and times. Ending a
statement that still holds hides the truth, so a rule that is not sure says no: an event with
another number may be another event, and what was false yesterday may be true today. Another name
is no contradiction either (somebody with a brother in Wick may have one in Elmstead), except where
the later statement says that it holds *now*, of something that can be one thing only: where
somebody lives, who the reeve is.
"""

from __future__ import annotations

import re

from ..text.segmentation import WORD, words_of
from . import tokens
from .questions import asks
from .time_words import times
from .tokens import NUMBER_WORD, NUMBERS, content_words, stem

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LABEL = re.compile(
    r"(?:^\W*|[,.;:!?]\s+|\b(?:the|an?|in|at|on|of|to|from|by|near|for|with|and|my|our|your|his|her|their|this"
    r"|that)\s+)(?P<thing>[^\W\d_]+)\s+(?P<number>\d+)\b"
)
_NUMBER_WORD = re.compile(rf"\b(?:{NUMBER_WORD})\b")
_IN_WORDS = re.compile(
    rf"\b(?:one(?= (?:hundred|thousand))|{NUMBER_WORD})\b"
    rf"(?: (?:hundred|thousand)\b"
    rf"(?: and (?:one|{NUMBER_WORD})\b(?! (?:hundred|thousand)\b)| (?:one|{NUMBER_WORD})\b)?)*"
)
_NOT = "not|no|never|nobody|nothing|none|without|cannot|neither|nor"
_NEGATION = re.compile(rf"\b(?:{_NOT})\b|n['’]t\b")
# negative in form alone: "can't wait", "not only"
_NO_DENIAL = re.compile(
    r"\b(?:can(?:['’]t|not| not) (?:wait|help|believe|imagine|stop|get enough)"
    r"|not (?:only|just|even|to mention)|no (?:doubt|wonder|matter|problem|worries|less)"
    r"|never mind|why (?:not|don['’]t)|nothing but|wouldn['’]t mind|if not)\b"
    r"|,\s*(?:is|are|was|were|do|does|did|have|has|can|could|wo|would|should)n['’]t"
    r" (?:i|you|he|she|it|we|they|there)\W*$"
)
_NAME = re.compile(r"(?<!^)(?<![.!?\"“] )\b[A-Z]\w+")
SAME_MATTER = 0.6  # share of the words that two statements on one matter have in common
OF_ITS_OWN = 1  # words that one of two counts may have and the other not

_NO_LONGER = re.compile(r"\bno longer\b|\bany ?more\b", re.IGNORECASE)
_FRAME = re.compile(r'^\S.{0,80}? (?:says: "(?P<said>.+)"|claims that (?P<claimed>.+))$', re.DOTALL)
_DENYING = re.compile(rf"\b(?:{_NOT}|longer|any ?more|ever)\b|\b\w+n['’]t\b")
# the number of a lasting state changes; an event with another number is another event
_STATE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|keeps?|owns?|owes?|costs?|takes?|weighs?|measures?"
    r"|holds?|counts?|needs?|earns?|charges?|asks?)\b|['’](?:s|m|re|ve)\b"
)
_ONE_THING = re.compile(r"\b(?:for|of|from) (?:the|my|this|that|their|his|her|our)\b")
_WILL = re.compile(r"\b(?:will|shall|won['’]t|gonna|going to)\b|['’]ll\b", re.IGNORECASE)
_MODAL = re.compile(
    r"\b(?P<modal>can|could|would|may|might|must|should|ought|used to)(?:n?['’]?t|not)?\b"
    r"|(?P<d>['’]d)\b",
    re.IGNORECASE,
)
_PRONOUNS = frozenset("i we you he she it they".split())
_IF = re.compile(r"\b(?:if|unless|whether)\b", re.IGNORECASE)


_CORRECTED = re.compile(
    r"\bnot (?:called |named |in |at |on |the |an? |my )*(?P<wrong>[\w'’-]+)"
    r"(?:[,:;]| but\b| [-–—])",
    re.IGNORECASE,
)


def changes(new: str, known: str, *, near: bool) -> bool:
    """Whether a later statement of the same speaker surely ends a known one.

    Args:
        near: Whether the two are near in meaning.
    """
    # two places need not be near in meaning, nor a name and the one that was wrong
    if any(rule(new, known) for rule in (replaces, _corrects, undoes, _counts_anew)):
        return True
    over = filter(_NO_LONGER.search, _CLAUSE_END.split(new))
    if any(contradicts(clause, known) for clause in over):
        return True
    return (near or of_one_thing(new, known)) and contradicts(new, known)


def _corrects(new: str, known: str) -> bool:
    """Whether a statement names a word of a known one as wrong: "not Thunder, Lightning"."""
    wrong = [word for match in _CORRECTED.finditer(new) for word in content_words(match["wrong"])]
    return bool(set(wrong) & content_words(known))


def contradicts(new: str, known: str) -> bool:
    """Whether two statements on one matter cannot both hold.

    They contradict if one denies the other, gives another number, or says that something that can
    be one thing at a time has changed. Another name alone is no contradiction.

    >>> contradicts("The toll is nine crowns.", "The toll is 7 crowns.")
    True
    >>> contradicts("Alice sold nine oxen.", "Alice sold seven oxen.")
    False
    """
    new, known = _said(new), _said(known)
    if replaces(new, known):
        return True
    if of_one_thing(new, known):  # "9 apples left"
        new, known = (re.sub(r"\bleft\b", "", text) for text in (new, known))
    if times(new) != times(known) and not _NO_LONGER.search(new):
        return False
    if tense_and_mood(new) != tense_and_mood(known):
        return False
    if negated(new) != negated(known):
        return _denies(new, known) if negated(new) else _denies(known, new)
    return names(new) == names(known) and _counts_otherwise(new, known)


def says_the_same(a: str, b: str) -> bool:
    """Whether numbers, negations, names and days agree in two texts that are near in meaning."""
    if times(a) and times(b) and times(a) != times(b):
        return False
    return numbers(a) == numbers(b) and negated(a) == negated(b) and names(a) == names(b)


def negated(text: str) -> bool:
    """Whether a text is a negation.

    >>> negated("I did not sell it."), negated("I can't wait to sell it!")
    (True, False)
    """
    return bool(_NEGATION.search(_NO_DENIAL.sub(" ", text.lower())))


def numbers(text: str) -> set[str]:
    """The numbers of a text in figures.

    >>> sorted(numbers("Nine men paid 1,000 marks, and four hundred and twelve are owed."))
    ['1000', '412', '9']
    >>> sorted(numbers("between five hundred and six hundred marks"))
    ['500', '600']
    """
    lowered = text.lower()
    figures = {re.sub(r",(?=\d{3}\b)", "", number) for number in _NUMBER.findall(lowered)}
    return figures | {str(_value(words)) for words in _IN_WORDS.findall(lowered)}


def _value(words: str) -> int:
    whole = part = 0
    for word in words.replace(" and ", " ").split():
        value = sum(NUMBERS.get(each, 1) for each in word.split("-"))
        if value == 1000:
            whole, part = whole + max(part, 1) * value, 0
        else:
            part = max(part, 1) * value if value == 100 else part + value
    return whole + part


def labels(text: str) -> dict[str, str]:
    """The things that a text names by a number, each with it.

    >>> labels("Barrel 3 holds 21 apples, and I paid 9 crowns for room 12.")
    {'barrel': '3', 'room': '12'}
    """
    found = _LABEL.findall(text.lower())
    return {thing: number for thing, number in found if thing not in tokens.FUNCTION_WORDS}


def are_apart(a: str, b: str) -> bool:
    """Whether two texts are of two things of one sort: barrel 3 and barrel 4."""
    one, other = labels(a), labels(b)
    return any(one[thing] != other[thing] for thing in one.keys() & other.keys())


def of_one_thing(a: str, b: str) -> bool:
    """Whether two texts are of one thing that has a number: barrel 3."""
    return bool(labels(a).items() & labels(b).items()) and not are_apart(a, b)


def names(text: str) -> set[str]:
    """Capitalised words inside sentences."""
    return set(_NAME.findall(text))


def _said(text: str) -> str:
    """The statement without its frame: `Sam says: "…"` makes any two sentences of Sam alike."""
    framed = _FRAME.match(text.strip())
    return (framed["said"] or framed["claimed"]) if framed else text


def _without_numbers(text: str) -> str:
    return _NUMBER_WORD.sub("", _NUMBER.sub("", text.lower()))


def _matter(text: str) -> set[str]:
    """The content words of a text without its numbers and negations."""
    return content_words(_DENYING.sub(" ", _without_numbers(text)))


def _subject(text: str) -> list[str]:
    """The words before the verb: "I keep the ferry" and "my brother keeps the ferry" differ."""
    before: list[str] = []
    for word in WORD.findall(text.lower().replace("’", "'")):
        doing = tokens.is_past(word) or word in tokens.THIRD or word in tokens.AUXILIARIES
        if before and (doing or word.endswith("n't") or before[-1] in ("i", "we", "they")):
            break
        if word not in ("not", "no", "longer", "never"):
            before.append(word)
    return before


def _in_order(text: str) -> list[str]:
    matter = _matter(text)
    return [root for root in map(stem, words_of(text)) if root in matter]


def _denies(denial: str, claim: str) -> bool:
    """Whether a denial denies a claim: it says no more than the claim does, in the same order."""
    if not (names(denial) <= names(claim) and numbers(denial) <= numbers(claim)):
        return False
    if _subject(denial) != _subject(claim):
        return False
    denied, claimed = _matter(denial), _matter(claim)
    rest = iter(_in_order(claim))
    if not all(root in rest for root in _in_order(denial)):
        return False  # "the uncle sold it" is not denied by "it was not sold to the uncle"
    least = 0 if _NO_LONGER.search(denial) else SAME_MATTER * len(claimed)
    return denied <= claimed and len(denied) >= max(2, least)


def _counts_otherwise(new: str, known: str) -> bool:
    """Whether both state a lasting number of the same thing, and not the same number."""
    if not numbers(new) or not numbers(known) or numbers(new) == numbers(known):
        return False
    if len(numbers(new)) != len(numbers(known)) or are_apart(new, known):
        return False
    if _subject(_without_numbers(new)) != _subject(_without_numbers(known)):
        return False
    a, b = _matter(new), _matter(known)
    if len(a & b) < 2 or (len(a ^ b) > OF_ITS_OWN and not of_one_thing(new, known)):
        return False
    return all(_STATE.search(text) or _ONE_THING.search(text) for text in (new, known))


def _counts_anew(new: str, known: str) -> bool:
    """Whether a statement says a known one again with another number, from now on.

    >>> _counts_anew("From tomorrow I close at ten.", "I close at nine.")
    True
    >>> _counts_anew("Tomorrow I close at ten.", "I close at nine.")
    False
    """
    again, known = (_ANEW.sub(" ", _said(each)) for each in (new, known))
    same = words_of(_without_numbers(again)) == words_of(_without_numbers(known))
    counts, before = numbers(again), numbers(known)
    differ = counts != before and len(counts) == len(before)
    apart = are_apart(*(_IN_WORDS.sub(_in_figures, each.lower()) for each in (again, known)))
    return same and differ and tells_change(new) and not apart and not of_the_past(again)


def _in_figures(words: re.Match[str]) -> str:
    return str(_value(words[0]))


def tense_and_mood(text: str) -> tuple[bool, frozenset[str], bool, bool]:
    """Tense and mood of a statement: future, its modals, past, conditional."""
    modals = {(found["modal"] or "would").lower() for found in _MODAL.finditer(text)}
    found = [word.lower() for word in WORD.findall(text)]
    past = any(word in ("was", "were", "had", "did") or tokens.is_past(word) for word in found)
    past = past or bool(re.search(r"\b(?:was|were|had|did)n['’]t\b", text, re.IGNORECASE))
    return bool(_WILL.search(text)), frozenset(modals), past, bool(_IF.search(text))


# "it's", "I'm", "she'd"; not "Alice's"
_SHORTENED = re.compile(
    rf"(?:{'|'.join(tokens.QUESTION_WORDS)}|it|he|she|that|this|there|here)'s|\w+'(?:m|re|ll|d)"
)
_PERFECT_WITHIN = 3  # words between "has" and its participle: "has the old miller paid?"


def of_the_past(text: str) -> bool:
    """Whether a question asks for, or a statement tells, what was or what happened.

    The first auxiliary decides; without one, any verb in the past tense.

    >>> [of_the_past(each) for each in ("Where did I live?", "Has Bram paid?", "Tom's mare died.")]
    [True, True, True]
    >>> [of_the_past(each) for each in ("Is the bridge closed?", "My horse is called Thunder.")]
    [False, False]
    """
    words = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    for place, whole in enumerate(words):
        word = whole.removesuffix("n't")
        following = words[place + 1 : place + 2 + _PERFECT_WITHIN]
        if word in tokens.HAVE - {"had"} or whole.endswith("'ve"):
            done = next((n for n, each in enumerate(following) if tokens.is_participle(each)), None)
            return done is not None and not {"a", "an"} & set(following[:done])
        did = whole.endswith("'d") and whole[:-2] in tokens.QUESTION_WORDS
        if did or word in ("was", "were", "did", "had", "used") or following[:1] == ["used"]:
            return True
        if word in tokens.AUXILIARIES or _SHORTENED.fullmatch(whole):
            return False
    return any(map(tokens.is_past, words))


def denies(new: str, known: str) -> bool:
    """Whether a statement that ends a known one says that it never was so.

    It names a word of it as wrong, or tells otherwise what the other tells as past. What held and
    has changed is not denied.

    >>> denies("I did not sell the mare.", "I sold the mare.")
    True
    >>> denies("I do not live in Wick any more.", "I live in Wick.")
    False
    """
    if _corrects(new, known):
        return True
    new, known = _said(new), _said(known)
    if not of_the_past(known) or tells_change(new):
        return False
    return negated(new) != negated(known) or contradicts(new, known)


# --- replacement ----------------------------------------------------------------------------------

_NOW = re.compile(
    r"\b(?:now|nowadays|these days|from now on|currently|at present|instead)\b", re.IGNORECASE
)
_ANEW = re.compile(
    r"\b(?:now|nowadays|again|no longer|any ?more|instead|moved|changed|these days|as of"
    r"|(?:from|starting) (?:now|today|tonight|tomorrow)(?: on)?|since (?:\w+day|this))\b",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\b(?:also|too|as well|still|both|another|sometimes|often)\b", re.IGNORECASE)
_WHO = r"^(?P<who>[\w'’-]+?(?: [\w'’-]+){0,4}?)"
_AM = r"(?:['’](?:m|s|re|ve)| am| is| are| have| has)?(?: been)?"
_PLACE = re.compile(
    _WHO + _AM + r" (?:(?P<home>liv|dwell|resid)|work|serv)(?:es?|s|ing)?"
    r"(?: with(?: [\w'’-]+){1,3}?)? (?:in|at|on) (?P<what>.+)$",
    re.IGNORECASE,
)
_MOVED = re.compile(
    _WHO + r"(?: have| has|['’]ve|['’]s)? moved (?:house |back |away ){0,2}to (?P<what>.+)$",
    re.IGNORECASE,
)
_HOLDER = re.compile(
    r"^(?P<who>(?:the|my|our|his|her|their) [\w'’-]+(?: [\w'’-]+){0,4}?) (?:is|are)"
    r" (?:called |named )?(?P<what>.+)$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"^(?:(?:the|old|young|master|mistress) )?(?P<name>[A-Z][\w'’-]+)")
_COMMON = re.compile(r"^(?:the|a|an|my|our|his|her|their) (?P<name>[a-z][\w'’-]+)", re.IGNORECASE)


def replaces(new: str, known: str) -> bool:
    """Whether `new` says that what `known` states has changed.

    >>> replaces("I live in Harbourtown now.", "I live in Wick.")
    True
    >>> replaces("I live in Harbourtown.", "I live in Wick.")
    False
    """
    after, before = _held(new), _held(known)
    if after is None or before is None or after[:2] != before[:2] or times(new) != times(known):
        return False
    if _BESIDE.search(new) or negated(new) or negated(known):
        return False
    changed = _NOW.search(new) or _MOVED.match(new)
    return bool(changed) and after[2] != before[2] and after[2] not in known.lower()


def tells_change(text: str) -> bool:
    """Whether a statement says that something is no longer as it was.

    >>> tells_change("Radios are on seven now."), tells_change("Radios are on four.")
    (True, False)
    """
    return bool(_ANEW.search(text))


def has_changed(new: str, known: str) -> bool:
    """Whether a statement says that what a known one tells of the same subject is so no longer."""
    subject = _subject(new)
    return tells_change(new) and subject == _subject(known) and not _PRONOUNS.issuperset(subject)


def _held(text: str) -> tuple[str, str, str] | None:
    """Subject, kind (home, work, holder) and value of a statement about one thing at a time."""
    flat = " ".join(_NOW.sub(" ", text).split()).strip(".,!? ")
    for kind, rule in (("home", _MOVED), ("place", _PLACE), ("holder", _HOLDER)):
        found = rule.match(flat)
        if found is None:
            continue
        if kind == "place":
            kind = "home" if found["home"] else "work"
        name = _NAMED.match(found["what"])
        if name is None and kind == "work":
            name = _COMMON.match(found["what"])
        return (found["who"].lower(), kind, name["name"].lower()) if name else None
    return None


# --- states that end ------------------------------------------------------------------------------

_BACK = r"(?:is|are|was|were|['’]s|['’]re|came|comes|got|made it) (?:[\w'’]+ )?"
_PLACED = r"\b(?:of|on|at|in|by|to|over|near|from|with|above|below|under|behind)\b"
_THING = rf"^\W*(?P<what>\w(?:(?!{_PLACED})[\w'’ -])*?)(?: {_PLACED}[^.]*)?"
# what somebody or something is in, what is said when they no longer are, and whether "I was ill"
# and "I am well" are surely of one state
_STATES = tuple(
    (re.compile(state, re.IGNORECASE), re.compile(over, re.IGNORECASE), own)
    for state, over, own in (
        (
            r"\b(?:missing|lost|vanished|disappeared|stolen|kidnapped|captured|imprisoned|run away"
            r"|ran away|(?:is|are|was|were|been) (?:gone|taken))\b",
            rf"\b(?:found|turned up|returned|recovered|rescued|freed|released|escaped)\b"
            rf"|{_BACK}(?:alive|safe|back|home|free)\b",
            False,
        ),
        (
            r"\b(?:ill|sick|unwell|hurt|wounded|injured|dying|feverish|in bed|has a fever)\b",
            r"\b(?:recovered|healed|cured)\b"
            r"|\b(?:is|are|am|i['’]?m|['’]s|feel|feels|got|getting) (?:[\w'’]+ )?"
            r"(?:better|well|healthy|on (?:his|her|my|their) feet)\b",
            True,
        ),
        (r"\b(?:closed|shut|blocked|flooded)\b", r"\b(?:re)?open(?:s|ed)?\b|\bpassable\b", False),
        (
            # of the thing itself: "the flag on the bridge is down" says nothing of the bridge
            rf"{_THING}(?: (?:is|are|(?:has|have) been)|['’](?:s|re|ve)(?: been)?)(?: still| now)?"
            r" (?:washed (?:out|away)|cut off|impassable"
            r"|down(?=\W*$| (?:again|now|still|since|today|tonight)\b))\b",
            r"\b(?:re)?open(?:s|ed)?\b|\bpassable\b|\b(?:mended|fixed|repaired|rebuilt)\b"
            r"|\b(?:is|are|['’]s) (?:back )?up (?:again|and)\b|\bstands? again\b",
            False,
        ),
        (
            rf"{_THING} (?:was|were) (?:washed (?:out|away)|cut off)\b",  # once, or still
            r"\b(?:mended|fixed|repaired|rebuilt)\b",
            False,
        ),
        (r"\b(?:is|are|['’]s) open\b", r"\b(?:closed|shut)\b", False),
        (
            r"\b(?:broken|ruined|torn|leaks|leaking)\b",  # that it broke once stays true
            r"\b(?:mended|fixed|repaired|rebuilt)\b|\bworks again\b",
            False,
        ),
        (
            r"\b(?:engaged|betrothed|marrying|(?:getting|be|get) married|marry|my wedding)\b",
            r"\b(?:wedding|engagement|betrothal|marriage)(?:['’]?s| is| was| has been)?(?: all)?"
            r" (?:off|called off|cancell?ed|broken off)\b|\bbroke (?:it|things) off\b",
            True,
        ),
    )
)
_OF_ONESELF = re.compile(
    r"^\W*(?:i|i['’]?m|im|i['’]?ve|i['’]?ll|we|we['’]?re|our|the wedding)\b", re.I
)
_I_AM = re.compile(r"\b(?:im|i['’]m|ive|i['’]ve)\b", re.IGNORECASE)
_OF_MINE = re.compile(r"\b(?:[Mm]y|[Oo]ur) [a-z]+,? (?P<name>[A-Z]\w+)")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")  # players begin sentences in lower case
_CLAUSE_END = re.compile(r"(?<=[.!?;,:])\s+|\s+(?=but\b|because\b)")


def undoes(new: str, known: str) -> bool:
    """Whether a statement tells the end of a state: who was missing is found, what broke is mended.

    >>> undoes("They found my brother!", "My brother Tom has been missing since the flood.")
    True
    >>> undoes("They found my brother!", "My purse is missing.")
    False
    >>> undoes("The bridge is open again.", "The bridge is down, nobody can cross.")
    True
    """
    new, known = _said(new), _said(known)
    of_new, of_known = _OF_MINE.search(new), _OF_MINE.search(known)
    if of_new and of_known and of_new["name"] != of_known["name"]:
        return False
    told = [each for each in _SENTENCE_END.split(new) if not (asks(each) or _IF.search(each))]
    for sentence in (clause for each in told for clause in _CLAUSE_END.split(each)):
        if _WILL.search(sentence):
            continue
        for state, over, own in _STATES:
            ending = over.search(sentence)
            stated = _stated(state, known) if ending else ""
            if not ending or not stated or (negated(sentence) and not negated(ending[0])):
                continue
            alike = _shared(_without(sentence, ending), stated)
            if alike or (own and _OF_ONESELF.match(sentence) and _OF_ONESELF.match(known)):
                return True
    return False


def _stated(state: re.Pattern[str], known: str) -> str:
    """Return what a statement says to be in a state, "" if no clause of it says that."""
    found = [state.search(each) for each in _CLAUSE_END.split(known) if not negated(each)]
    things = [each.groupdict().get("what") or state.sub(" ", known) for each in found if each]
    return " ".join(things)


def _of_what(text: str) -> set[str]:
    return content_words(_I_AM.sub(" ", text))


def _shared(a: str, b: str) -> set[str]:
    """The content words that two texts share, but for those of being and becoming."""
    return (_of_what(a) & _of_what(b)) - {"get", "go", "come", "back", "sinc", "today", "yesterday"}


def _without(text: str, found: re.Match[str]) -> str:
    return text[: found.start()] + " " + text[found.end() :]
