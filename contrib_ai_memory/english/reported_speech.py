"""Reported speech: first person told in the third or second, and a pose told as its poser's claim.

Rules, not a parser: where they do not reach, the words are quoted instead.

A player may write anything into a pose: `Bram kneels. Liora says, "I stole it."` is no statement of
Liora's. What a pose shows of its poser counts as seen; the rest is the poser's claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from .questions import sentences_of
from .tokens import (
    BASES,
    FUNCTION_WORDS,
    IRREGULAR,
    MODALS,
    NUMBERS,
    SAME_IN_THE_PAST,
    hearsay,
    is_participle,
    is_past,
    quotes,
    third_singular,
    without_quotations,
)

_TOKEN = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*|[^A-Za-z]+")

# verb forms that stay as they are after a name: modals and irregular pasts
_SAME = (
    IRREGULAR.keys()
    | SAME_IN_THE_PAST
    | frozenset(
        "can cannot can't could couldn't will would won't wouldn't shall should shouldn't may "
        "might must mustn't ain't had hadn't did didn't was wasn't are ought used".split()
    )
)
_IRREGULAR = {
    "am": "is",
    "haven't": "hasn't",
    "don't": "doesn't",
    "wanna": "wants to",
    "gotta": "has to",
}
_CONTRACTED = {"m": "is", "ve": "has", "ll": "will", "d": "would"}
ADVERBS = frozenset(
    "always never ever often also still just really usually only sometimes rarely seldom even once "
    "already almost then now no longer both".split()
)
_FORMS = {
    "they": {"my": "their", "mine": "theirs", "me": "them", "myself": "themselves"}
    | {"we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves"},
    "you": {"my": "your", "mine": "yours", "me": "you", "myself": "yourself"}
    | {"you": "me", "your": "my", "yours": "mine", "yourself": "myself"},
}
_OF_US = frozenset("we us our ours ourselves".split())
_OWN_I = "\ue000"  # the NPC's "I" until all others are changed
_AND = "\ue001"  # where the subject of a second verb is left out
_SAME_SUBJECT = re.compile(r"^I(?:'\w+)? [^,.;:!?]*,? (?:and|but) I (?=[a-z])")
# "if you can", "you were late": the NPC is "I" there, and not "me"
_YOU = re.compile(
    r"(?P<opens>(?:^|[.,;:!?]\s*|\b(?:if|when|that|because|since|but|so|what|where|how|why"
    r"|until|before|after|while|than|whether) )(?!\w+ know\b))?"
    r"\byou(?P<short>'(?:ll|d|ve|re))?"
    r"(?P<verb> (?:can|could|will|would|shall|should|may|might|must|do|did|have|had|are|were|want"
    r"|wanted|need|know|cannot|can't|don't|didn't|won't|haven't|aren't|weren't))?\b",
    re.IGNORECASE,
)
_BE_I = {" are": " am", " were": " was", " aren't": " am not", " weren't": " wasn't", "'re": "'m"}
_OF_NPC = re.compile(r"\b(?:you|yours?|yourself)\b", re.IGNORECASE)
_OF_SELF = re.compile(r"\b(?:I|my|mine|me|myself)\b", re.IGNORECASE)
_OTHERS = re.compile(r"\b(?:they|them|theirs?|themselves)\b", re.IGNORECASE)
# "we" may be anybody; "my God, am I tired", "me and Bram went", "I said to Bram: you owe me"
_NOT_TOLD = re.compile(
    r"\b(?:we|us|ours?|ourselves)\b"
    r"|^\W*(?:me\b|i,|my \w+ and i\b|my (?:god|gods|word|lord|goodness|stars)\b)"
    r"|\bit['’]?s me\b|\bi['’]?d (?:an?|the|my)\b|\bbut (?:never|don['’]?t)\b"
    r"|\b(?:am|was|do|did|have|had|will|can|could|should|would|shall|must|may|might) i\b"
    r"|\b(?:sa(?:id|ys?)|t(?:old|ells?)|ask(?:ed|s)?|answer(?:ed|s)?)\b(?: [\w'’]+){0,3}\s*[,:]",
    re.IGNORECASE,
)


# --- first person told in the third or second -----------------------------------------------------


def third_person(text: str, name: str) -> str:
    """Tell first-person talk of `name` in the third person: first by name, then as they.

    >>> third_person("I keep the ferry, and my brother helps me.", "Alice")
    'Alice keeps the ferry, and their brother helps them.'
    >>> third_person("I take tea, and I hate rum.", "Alice")
    'Alice takes tea, and hates rum.'
    >>> third_person("i cant stand turnips, i like plums", "Alice")
    "Alice can't stand turnips, they like plums"
    >>> third_person("I am Alice, the smith.", "Alice")
    'Alice is the smith.'
    """
    text = _SAME_SUBJECT.sub(rf"\g<0>{_AND}", _introduced(with_apostrophes(text), name))
    text = text.replace(f"I {_AND}", _AND)
    return _with_capitals(capital(_retold(text, "they", name)))


def second_person(text: str) -> str:
    """Tell first-person talk to its own speaker, in the second person.

    What was "you" is the one who tells it now.

    >>> second_person("I am tired and my feet hurt me.")
    'you are tired and your feet hurt you.'
    >>> second_person("I owe you three crowns for your soup.")
    'you owe me three crowns for my soup.'
    >>> second_person("I'm Colm. i carry the post, im late")
    "you're Colm. you carry the post, you're late"
    >>> second_person("I want you to bake the cake, if you can")
    'you want me to bake the cake, if I can'
    """
    text = _YOU.sub(_i_as_subject, with_apostrophes(text))
    return _retold(text, "you").replace(_OWN_I, "I")


def _introduced(text: str, name: str) -> str:
    """Leave out a name that only says who speaks: "I am Ada, the smith"."""
    says_who = rf"^(?:I am|I'm|my name is|I'm called) {re.escape(name)},?"
    text = re.sub(rf"{says_who} (?:and )?(?=I\b|my\b)", "", text, flags=re.IGNORECASE)
    role = r"(?=(?:an?|the)\b|\w+ (?:on|at|of|in|for|from|to|by)\b)"
    return re.sub(rf"{says_who} {role}", "I am ", text, flags=re.IGNORECASE)


def _retold(text: str, subject: str, name: str = "") -> str:
    """Tell first-person talk of somebody who is "they" or "you" now, at first by name if given."""
    tokens = _TOKEN.findall(text)
    out: list[str] = []
    named = not name
    verb_of_name = False
    plural = False
    for place, token in enumerate(tokens):
        word, _, clitic = token.partition("'")
        lower = token.lower()
        if _AND in token:
            out.append(token.replace(_AND, ""))
            verb_of_name = bool(name)
        elif word == "I" and (not clitic or clitic.lower() in _CONTRACTED):
            if named:
                out.append(subject + {"": "", "m": "'re"}.get(clitic.lower(), f"'{clitic}"))
                plural = not clitic
            else:
                contracted = _CONTRACTED.get(clitic.lower(), "")
                if contracted == "would" and _is_participle(tokens[place + 2 :]):
                    contracted = "had"
                out.append(f"{name} {contracted}".rstrip())
                verb_of_name = not clitic
                named = True
        elif word.lower() in _OF_US and word.lower() in _FORMS[subject]:
            out.append(_FORMS[subject][word.lower()] + (f"'{clitic}" if clitic else ""))
        elif lower in _FORMS[subject]:
            by_name = f"{name}'s" if lower in ("my", "mine") else name
            out.append(_FORMS[subject][lower] if named else by_name)
            named = True
        elif verb_of_name and token[0].isalpha():
            if lower in ("and", "or"):
                verb_of_name = False  # "Alice and their brother sing"
            elif lower not in ADVERBS and not (lower.endswith("ly") and lower not in BASES):
                token, verb_of_name = _third(token), False
            out.append(token)
        elif plural and token[0].isalpha():
            out.append({"am": "are", "was": "were", "wasn't": "weren't"}.get(lower, token))
            plural = False
        else:
            out.append(token)
    return "".join(out)


def _third(verb: str) -> str:
    lower = verb.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    return verb if lower in _SAME or is_past(verb) else third_singular(verb)


def _is_participle(rest: list[str]) -> bool:
    """Whether "I'd" is "I had": "I'd been", "I'd always wanted"; and not "I'd like"."""
    words = [token.lower() for token in rest if token[0].isalpha() and token.lower() not in ADVERBS]
    return bool(words) and (is_participle(words[0]) or words[0] == "better")


def _i_as_subject(found: re.Match[str]) -> str:
    """Return "you" as the NPC says it where it is the subject: "if I can", "I was late"."""
    more = [(found["short"] or "").lower(), (found["verb"] or "").lower()]
    if found["opens"] is None and not any(more):
        return found[0]
    return (found["opens"] or "") + _OWN_I + "".join(_BE_I.get(each, each) for each in more)


_BARE_YOU = re.compile(r"\b(?:(?P<whose>ur|yer|thy|thi)|u|ye|ya|thee|thou|tha)\b", re.IGNORECASE)
_BARE_NOT = re.compile(
    r"(?<!my )(?<!his )(?<!her )(?<!the )\b(?P<verb>can|do|does|did|wo|is|are|was|were|could"
    r"|would|should|have|has|had)nt\b|\bcant\b",
    re.IGNORECASE,
)
_BARE_BE = re.compile(
    r"\b(?:(?:he|she|that|what|there|where|who)(?=s\b)|(?:you|they)(?=(?:re|ve)\b)"
    r"|it(?=s (?:an?|the|my|his|her|your|our|their|not|no|been|so|too|very|just|in|on|at)\b))",
    re.IGNORECASE,
)
_BARE_I = re.compile(
    r"\b(?:i(?P<rest>m|ve|)|I(?P<more>m|ve)"
    rf"|[iI](?P<will>ll?|d)(?= (?:be|not|never|like|rather|{'|'.join(sorted(BASES))})\b))\b"
)


def with_apostrophes(text: str) -> str:
    """Spell first-person talk as it is written: "im old, i cant walk" is "I'm old, I can't walk".

    "Ill" and "id" are words as well: they count only before a verb.
    """
    text = _BARE_BE.sub(r"\g<0>'", text.replace("’", "'"))
    text = _BARE_NOT.sub(lambda found: f"{found['verb']}n't" if found["verb"] else "can't", text)
    text = _BARE_YOU.sub(lambda found: "your" if found["whose"] else "you", text)
    return _BARE_I.sub(_with_apostrophe, text)


def _with_apostrophe(found: re.Match[str]) -> str:
    clitic = found[0][1:]
    return f"I'{'ll' if clitic == 'l' else clitic}" if clitic else "I"


# --- what others said, told on --------------------------------------------------------------------


def after_that(text: str, *, names: Collection[str] = ()) -> str:
    """Tell somebody what they said, as it stands after "you told me that".

    Args:
        names: Of people. Another word with a capital may be a name or only begin a sentence.

    Returns:
        "" where it claims nothing, or it would not be clear who or what is meant.

    >>> after_that("Tess is my godmother, she raised me.", names=["Tess"])
    'Tess is your godmother, she raised you.'
    >>> after_that("My hat is lost. A red one."), after_that("My cow is sick. Go away.")
    ('your hat is lost. A red one.', '')
    >>> after_that("Remind me to buy oil."), after_that("We are friends.")
    ('', '')
    """
    first = re.match(r"[A-Z][a-z]+", text)
    known = {word.lower() for name in names for word in name.split()} | _COMMON
    if first and first[0].lower() not in known:
        return ""
    return _small(_with_capitals(_each(text, _to_its_speaker)))


def of_speaker(text: str, name: str, *, to_teller: bool = False) -> str:
    """Tell others what somebody said, by name where it is of the speaker: "Ada fishes.".

    Args:
        to_teller: Whether "you" is the one who tells it.

    Returns:
        "" where it claims nothing, or it would not be clear who or what is meant.

    >>> of_speaker("I'm a ferryman, and my brother helps me.", "Ada")
    'Ada is a ferryman, and their brother helps them.'
    >>> of_speaker("I'll bring you a fleece for your bed, if you can wait.", "Ada", to_teller=True)
    'Ada will bring me a fleece for my bed, if I can wait.'
    >>> of_speaker("My boots were found, they are dry.", "Ada")
    "Ada's boots were found, they are dry."
    >>> of_speaker("I told them where I live.", "Ada"), of_speaker("You owe me four.", "Ada")
    ('', '')
    """
    once = len(_OF_SELF.findall(with_apostrophes(text))) == 1  # then the name alone stands for them
    told = _each(text, lambda each: _to_others(each, beside_others=once, to_teller=to_teller))
    told = _YOU.sub(_i_as_subject, third_person(told, name)) if told else ""
    as_me = _FORMS["you"]
    return _OF_NPC.sub(lambda you: as_me[you[0].lower()], told).replace(_OWN_I, "I")


def _each(text: str, tell: Callable[[str], str]) -> str:
    """Tell each sentence; "" where one of them cannot be told, or the first one claims nothing.

    What is no sentence leans on the one before it: "My hat is lost. A red one."
    """
    sentences = sentences_of(_with_capitals(text))
    if not sentences or not claims(sentences[0]):
        return ""
    told = [tell(each) if claims(each) or is_fragment(each) else "" for each in sentences]
    return " ".join([told[0], *map(capital, told[1:])]) if all(told) else ""


def _to_its_speaker(sentence: str) -> str:
    """One sentence of `after_that`."""
    plain = with_apostrophes(sentence)
    if _is_unclear(plain) or (_OF_NPC.search(plain) and not _is_clear_to_whom(plain)):
        return ""
    of_self = _OF_SELF.search(plain) or _OF_NPC.search(plain)
    return second_person(plain) if of_self else plain


def _to_others(sentence: str, *, beside_others: bool, to_teller: bool) -> str:
    """One sentence of `of_speaker`, still in the first person."""
    plain = with_apostrophes(sentence)
    of_several = _OF_SELF.search(plain) and _OTHERS.search(plain) and not beside_others
    to_whom = _OF_NPC.search(plain) and not (to_teller and _is_clear_to_whom(plain))
    return "" if _is_unclear(plain) or of_several or to_whom else plain


def _is_unclear(plain: str) -> bool:
    """Whether it tells what somebody else is said to have said, or of "we", who may be anybody."""
    return bool(quotes(plain) or _NOT_TOLD.search(plain))


def _is_clear_to_whom(plain: str) -> bool:
    """Whether a speaker tells of themselves, and "you" is no subject that `_YOU` does not know."""
    for found in _YOU.finditer(plain):
        behind = re.match(r"\W*(\w[\w'’]*)", plain[found.end() :])
        word = behind[1].lower() if behind else ""
        if (word in BASES or is_past(word)) and not (found["short"] or found["verb"]):
            return False
    return speaks_of_self(plain)


_BEGINS_NO_CLAIM = re.compile(
    r"^\W*(?:(?:please|yes|yeah|aye|no|nah|not|so|oh|well|and|but|or|ok|okay|then|if|because|cos"
    r"|let|lets|let's|got|gotta|gonna|any|here's|heres|wh(?:at|ere|o)['’]?s"
    r"|there(?!['’]?s\b| (?:is|are|was|were)\b))\b"
    r"|(?:is|are|am|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might"
    r"|must|don't|dont|didn't|won't)\b)",
    re.IGNORECASE,
)
_VERB = MODALS | frozenset(
    "am is are was were has have had do does did isn't isnt aren't wasn't ain't cannot".split()
)


def claims(sentence: str) -> bool:
    """Whether a sentence has a verb, and neither asks nor orders."""
    plain = with_apostrophes(sentence)
    words = [word.lower() for word in _TOKEN.findall(plain) if word[0].isalpha()]
    least = 2 if speaks_of_self(sentence) else 3
    if len(words) < least or _BEGINS_NO_CLAIM.match(plain) or words[0] in BASES:
        return False
    if any(word in _VERB or re.search(r"'(?:s|m|re|ve|ll|d)$", word) for word in words):
        return True
    return any(is_past(word) or word in BASES or _is_third(word) for word in words[1:])


def is_fragment(sentence: str) -> bool:
    """Whether words are neither a claim nor an order: "A red one."."""
    first = re.search(r"\w+", sentence)
    orders = _BEGINS_NO_CLAIM.match(sentence) or (first and first[0].lower() in BASES)
    return bool(first) and not (orders or claims(sentence))


def _is_third(word: str) -> bool:
    """Whether a word is a verb in the third person: "keeps"."""
    bases = (word[:-1], word[:-2], f"{word[:-3]}y")
    return any(base in BASES and third_singular(base) == word for base in bases)


def speaks_of_self(text: str) -> bool:
    """Whether the speaker is the subject: the text begins with I, my, or we and the like."""
    return bool(re.match(r"(?:I|my|mine|myself)\b", text, re.IGNORECASE))


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _with_capitals(text: str) -> str:
    """Begin each sentence after the first with a capital."""
    return re.sub(r"(?<=[.!?] )[a-z]", lambda first: first[0].upper(), text)


def _small(text: str) -> str:
    """Begin with a small letter, unless the first word is "I" or may be a name."""
    first = re.match(r"[A-Za-z'’]+", text)
    word = first[0].partition("'")[0] if first else ""
    common = word.lower() in _COMMON and word != "I"
    return text[:1].lower() + text[1:] if common else text


# --- clauses --------------------------------------------------------------------------------------

_BOUNDARY = re.compile(
    r"(?<=[.!?…;])[\"'”’)]*\s+|\s+[-–—]+\s+|,\s+(?:(?:and|&|n|so|but) )?|\s+(?:and|&|but) "
    r"|\s+(?=(?:because|cos|coz) )",
    re.I,
)
_SHE = r"(?:he|she|it|they|this|that|these|those|his|her|their|its|him|them)"
_SUBJECT = re.compile(
    rf"\W*(?:(?:I|you|u|we|there|{_SHE})(?:['’]?(?:m|s|re|ve|d|ll))?\b"
    r"|(?:my|your|our|the|an?) \w|(?-i:[A-Z])\w+)",
    re.I,
)
_LEANS = re.compile(rf"\W*(?:(?:and|&|n|so|but|then|also|now|or) )*{_SHE}(?:['’]?\w\w?)?\b", re.I)
_NAMED = re.compile(r"\b(?:named|called|known as)\b", re.I)  # "a dwarf named Borin" is no clause
_HOLDS_ANOTHER = re.compile(
    r"\b(?:that|if|whether|when|because|who|what|says?|said|told|thinks?|heard|claims?|swears?)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence, a clause of one, or what stands between commas."""

    start: int
    end: int
    leans: bool  # whether it is understood only after what stands before it


def clauses(text: str) -> list[Clause]:
    """Cut a line at its sentences, its clauses, and what may be left out at their ends.

    >>> line = "I take my tea black, and I hate rum, onions and figs. Always did."
    >>> [(line[each.start : each.end], each.leans) for each in clauses(line)][1:]
    [('I hate rum', False), ('onions and figs.', True), ('Always did.', True)]
    >>> [each.leans for each in clauses("… and she left. Came back in May.")]
    [False, True]
    """
    ends, starts, lean, quoted = [], [0], [False], hearsay(text)
    for found in _BOUNDARY.finditer(text):
        left, right = text[starts[-1] : found.start()], text[found.end() :]
        if any(start < found.end() < end for start, end in quoted):
            continue
        new_sentence = text[: found.end()].rstrip(" \"'”’)")[-1:] in ".!?…;"
        alone = new_sentence or _stand_alone(left, right)
        if alone or found[0].strip() not in ("and", "&", "but"):
            ends.append(found.start())
            starts.append(found.end())
            lean.append(not alone)
    cut = [
        each
        for each in zip(starts, [*ends, len(text)], lean, strict=True)
        if any(map(str.isalnum, text[each[0] : each[1]]))  # not the dots of "… and she left"
    ]
    return [
        Clause(start, end, bool(place) and (leans or _leans(text[start:end])))
        for place, (start, end, leans) in enumerate(cut)
    ]


def _stand_alone(left: str, right: str) -> bool:
    """Whether both clauses at a comma, a dash or "and" have a subject and a verb."""
    clause = _BOUNDARY.split(right, maxsplit=1)[0]
    both = _SUBJECT.match(clause) and claims(_NAMED.sub("", clause)) and claims(left)
    return bool(both) and not _HOLDS_ANOTHER.search(left)  # "he says … and …"


def _leans(clause: str) -> bool:
    first = next(iter(re.findall(r"[^\W\d_]+", clause)), "")
    verb = _is_third(first.lower()) or is_past(first)  # "Makes good honey."
    return verb or bool(_LEANS.match(clause)) or not (_SUBJECT.match(clause) and claims(clause))


def leans_on_a_name(sentence: str) -> bool:
    """Whether a sentence begins with somebody who is named before it: "She lives by the mill"."""
    return bool(_LEANS.match(sentence))


# --- poses ----------------------------------------------------------------------------------------

_NAME = re.compile(r"(?!I\b|I['’])[A-Z][\w'’-]*")
_NAME_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_PRONOUNS = frozenset("he she they it his her their its him them".split())
_BEGINNINGS = frozenset(
    "the a an this that these those there it he she they his her their its some all every no "
    "each many most in on at by with after before when while if as for from to".split()
)

_COMMON = (  # words that are no names, wherever they stand
    FUNCTION_WORDS
    | _BEGINNINGS
    | NUMBERS.keys()
    | frozenset(
        "yesterday today tonight tomorrow last next everyone everybody someone somebody nobody "
        "everything nothing maybe perhaps sometimes lately".split()
    )
)


def as_posed(text: str, poser: str) -> str:
    """Tell a pose as the acts of its poser and, for the rest, as the poser's claims.

    >>> as_posed('Bram kneels. Liora says, "I stole it."', "Bram")
    'Bram kneels. Bram claims that Liora says, "I stole it."'
    """
    sentences = sentences_of(text)
    told = [claimed(sentence, poser) for sentence in sentences]
    return text if told == sentences else " ".join(told)


def claimed(sentence: str, poser: str) -> str:
    """One sentence of a pose; unless it shows the poser's own act, as the poser's claim."""
    if not poser or _is_of(sentence, poser):
        return sentence
    if speaks_of_self(sentence):
        sentence = third_person(sentence, poser)
    first, _, rest = sentence.partition(" ")
    first = first.lower() if first.lower() in _BEGINNINGS else first
    return f"{poser} claims that {first} {rest}".rstrip()


def _is_of(sentence: str, poser: str) -> bool:
    """Whether a sentence shows an act of the poser: nobody else is its subject or is quoted."""
    words = _NAME_WORD.findall(without_quotations(sentence))
    if not words:
        return not quotes(sentence)
    own = {word.lower() for word in _NAME_WORD.findall(poser)}
    bare = [re.sub(r"['’]s?$", "", word) for word in words]
    begins = bare[0].lower() in own | _PRONOUNS or bare[0].islower()
    others = any(_NAME.match(word) and word.lower() not in own for word in bare[1:])
    names_poser = not own.isdisjoint(word.lower() for word in bare)
    return (begins and not (others and quotes(sentence))) or (names_poser and not others)
