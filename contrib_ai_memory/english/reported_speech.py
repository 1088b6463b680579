"""Reported speech: first person told in the third or second, and a pose told as its poser's claim.

Rules, not a parser: where they do not reach, the words are quoted instead.

A player may write anything into a pose: `Bram kneels. Liora says, "I stole it."` is no statement of
Liora's. What a pose shows of its poser counts as seen; the rest is the poser's claim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
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
    "they": {"my": "their", "mine": "theirs", "me": "them", "myself": "themselves"},
    "you": {"my": "your", "mine": "yours", "me": "you", "myself": "yourself"}
    | {"you": "me", "your": "my", "yours": "mine", "yourself": "myself"},
}
_OF_US = {
    "we": "they",
    "us": "them",
    "our": "their",
    "ours": "theirs",
    "ourselves": "themselves",
}
_US_AS_YOU = {"we": "you", "us": "you", "our": "your", "ours": "yours", "ourselves": "yourselves"}
_OWN_I = "\ue000"  # the NPC's "I" until all others are changed
_AS_TELLER = {"you": "\ue002", "your": "\ue003", "yours": "\ue004", "yourself": "\ue005"}
_TELLERS = str.maketrans(
    {_OWN_I: "I", "\ue002": "me", "\ue003": "my", "\ue004": "mine", "\ue005": "myself"}
)
_YOURS = re.compile(r"\b(?:you|yours?|yourself)\b", re.IGNORECASE)
_AND = "\ue001"  # where the subject of a second verb is left out
_SAME_SUBJECT = re.compile(r"^I(?:'\w+)? [^,.;:!?]*,? (?:and|but) I (?=[a-z])")
# "if you can", "you were late": the NPC is "I" there, and not "me"
_YOU = re.compile(
    r"(?P<opens>(?:^|[.,;:!?]\s*|\b(?:if|when|that|because|cos|since|but|so|what|where|how|why"
    r"|till|until|before|after|while|than|whether) )(?!\w+ know\b))?"
    r"\b(?:you|u|ye|ya)(?P<short>'(?:ll|d|ve|re))?"
    r"(?P<verb> (?:can|could|will|would|shall|should|may|might|must|do|did|have|had|are|were|want"
    r"|wanted|need|know|cannot|can't|don't|didn't|won't|haven't|aren't|weren't))?\b",
    re.IGNORECASE,
)
_YOU_KNOW = re.compile(r"(?<!\bas),? (?:you|u|ye|ya) know(?=\s*(?:[.,;!?]|$))", re.IGNORECASE)
# "she paid for me boots"; not "she paid for me yesterday"
_ME_FOR_MY = re.compile(
    r"\b(?P<behind>for|with|in|on|of|at|from|off|under) me "
    r"(?!yesterday|today|tonight|tomorrow|again|once|twice|now|then|too|either|instead|though|tho"
    r"|please|pls|here|there|lol|alone|home|back|all|both|anyway|always|lately|earlier|personally"
    r"|mostly|well|alright|since|first|last|really|already|still)"
    r"(?=(?:(?:new|old|best|good|little|big|own) )?[a-z]{3,}\s*(?:[.,;!?]|$))",
    re.IGNORECASE,
)
_ME_AS_MY = re.compile(  # "me brother got nicked", "i changed me mind"; not "me and Bram"
    r"(?P<behind>(?:^|[.!?;] )\W{0,3}(?:(?:and|but|so) )?|\bI(?:'\w+)? [a-z]+ "
    r"|\b(?:if|cos|because|when|since|till|until) )me "
    rf"(?=[a-z]{{3}})(?!(?:and|but|{'|'.join(sorted(FUNCTION_WORDS))})\b)"
    r"(?!too|either|neither|again|lad|love|once|twice|yesterday|to(?:day|night|morrow))",
    re.IGNORECASE,
)
_HAS_ME_FOR_MY = re.compile(  # "somebody's 'ad me belt", "you seen me belt"; not "he saw me dance"
    r"(?P<behind>(?:'a(?:d|s|ve)|\b(?:los[et]|stolen?|nicked|pinched|broken?)"
    r"|\b(?:you|u|ye|ya|any(?:one|body)) (?:seen|found|moved)) )me "
    r"(?=(?:\w+ )?(?!\w*(?:ed|ing?|ly)\b)[a-z]{3,}\s*[.,;!?]*$)"
    r"(?!(?:too|again|once|twice|there|here|then|first|yesterday|to(?:day|night))\b)",
    re.IGNORECASE,
)
_ME_TOO = re.compile(  # "I've hauled more than any man, me", "i hate cold water me": dialect
    r"(?P<said>^\W*I\b[^.!?;]*\w), me(?=\s*(?:[.!?;,]|$))"
    # not "I think he loves me"
    r"|(?P<plainly>^\W*I (?!(?:think|thought|know|knew|believe|suspect|fear|swear|swore|wish|hope"
    r"|guess|reckon|bet|sa(?:y|id)|hear|heard|feel|felt|doubt|promise|dream\w*)\b)"
    rf"(?:(?!(?:{'|'.join(sorted(FUNCTION_WORDS - {'a', 'an', 'the', 'my'}))}"
    r"|let|ma[dk]e|saw|see|had|watch\w*|him|over|behind|near|around|beside|past)(?![\w']))"
    r"[a-z']+ ){2,6})me(?=\W*$)",
    re.IGNORECASE,
)
_YER_AS_YOU = re.compile(  # "I'll do it for yer Thursday", "I told yer."
    r"\byer(?=\s*(?:[.,;!?]|$)|\s+(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|to(?:day|morrow|night)"
    r"|later|now|then|when|if|and|but|at|on|in|by|for|to|about|before|after)\b)",
    re.IGNORECASE,
)
_BE_I = {" are": " am", " were": " was", " aren't": " am not", " weren't": " wasn't", "'re": "'m"}
# "my God, am I tired", "me and Bram went", "I asked where am I", "I'ma get ale"
_NOT_TOLD = re.compile(
    r"^\W*(?:me\b|i,|my \w+ and i\b|my (?:god|gods|word|lord|goodness|stars)\b)|\bi['’]?ma\b"
    r"|\bit['’]?s me\b|\bi['’]?d (?:an?|the|my)\b"
    r"|\bbut (?:never|don['’]?t)\b"
    r"|\b(?:am|was|do|did|have|had|will|can|could|should|would|shall|must|may|might) i\b",
    re.IGNORECASE,
)
_OF_ONESELF = frozenset("i my mine me myself".split())
_OF_SELF = re.compile(r"\b(?:I|my|mine|me|myself)\b", re.IGNORECASE)
_US = _OF_US.keys()
_OF_A_COUPLE = re.compile(
    r"^(?:(?!\b(?:we|us|ours?|ourselves)\b)[^.;])*\bmy (?:wife|husband|spouse|partner|fianc[eé]e?"
    r"|betrothed|missus|family|kids|children)\b(?!(?: \w+)? and i\b)",
    re.IGNORECASE,
)
_THOU = frozenset("thee thou thy thine".split())
_SAYS = re.compile(  # "I said to Bram: you owe me four"
    r"\b(?:sa(?:id|ys?)|t(?:old|ells?)|ask(?:ed|s)?|answer(?:ed|s)?|shout\w*)\b"
    r"(?: [\w'’]+){0,3}\s*[,:]",
    re.IGNORECASE,
)
_OF_NPC = frozenset("you your yours u ur ye yer ya yourself".split())
_OTHERS = frozenset(
    "they them their theirs themselves".split()
)  # beside whom another would not be clear


def _introduced(text: str, name: str) -> str:
    """Leave out a name that only says who speaks: "I am Ada, the smith", "im ada, cook at sea"."""
    says_who = rf"(?:I am|I'm|my name is|my name's|I'm called|I am called) {re.escape(name)},?"
    text = re.sub(rf"^{says_who} (?:and )?(?=I\b|my\b)", "", text, flags=re.IGNORECASE)
    role = r"(?:(?:an?|the)\b|\w+ (?:on|at|of|in|for|from|to|by)\b)"
    return re.sub(rf"^{says_who} (?={role})", "I am ", text, flags=re.IGNORECASE)


def third_person(text: str, name: str) -> str:
    """Tell first-person talk of `name` in the third person: first by name, then as they.

    >>> third_person("I keep the ferry, and my brother helps me.", "Alice")
    'Alice keeps the ferry, and their brother helps them.'
    >>> third_person("I take tea, and I hate rum.", "Alice")
    'Alice takes tea, and hates rum.'
    >>> third_person("I fly a skiff", "Alice")
    'Alice flies a skiff'
    >>> third_person("i cant stand turnips, i like plums", "Alice")
    "Alice can't stand turnips, they like plums"
    >>> third_person("I am Alice, the smith.", "Alice"), third_person("I'm Alice, I fish.", "Alice")
    ('Alice is the smith.', 'Alice fishes.')
    """
    text = _introduced(_my_for_me(with_apostrophes(text)), name)
    text = _SAME_SUBJECT.sub(rf"\g<0>{_AND}", text)
    text = text.replace(f"I {_AND}", _AND)
    return _with_capitals(capital(_retold(text, "they", name)))


def _with_capitals(text: str) -> str:
    """Begin each sentence after the first with a capital."""
    return re.sub(r"(?<=[.!?] )[a-z]", lambda first: first[0].upper(), text)


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
        elif lower in _FORMS[subject]:
            by_name = f"{name}'s" if lower in ("my", "mine") else name
            out.append(_FORMS[subject][lower] if named else by_name)
            named = True
        elif word.lower() in _US and (not clitic or word.lower() == "we"):
            us = _OF_US if name else _US_AS_YOU
            out.append(us[word.lower()] + (f"'{clitic}" if clitic else ""))
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


_IN_EIGHT = re.compile(r"(?P<begins>\b(?:i|we|they) h)8\b", re.IGNORECASE)  # "i h8 eels"
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
    text = _IN_EIGHT.sub(r"\g<begins>ate", text.replace("’", "'"))
    text = _BARE_BE.sub(r"\g<0>'", text)
    text = _BARE_NOT.sub(lambda found: f"{found['verb']}n't" if found["verb"] else "can't", text)
    return _BARE_I.sub(_with_apostrophe, text)


def _with_apostrophe(found: re.Match[str]) -> str:
    clitic = found[0][1:]
    return f"I'{'ll' if clitic == 'l' else clitic}" if clitic else "I"


def _plain(text: str) -> str:
    """Return talk without "you know", with "my boots" for "me boots"."""
    text = _YOU_KNOW.sub("", with_apostrophes(text))
    text = _YER_AS_YOU.sub("you", text)
    text = re.sub(r"\b(?:u|ye|ya)\b", "you", re.sub(r"\b(?:ur|yer)\b", "your", text))
    return _my_for_me(text)


def _my_for_me(text: str) -> str:
    """Return talk with "my boots" for "me boots", and without "me" that only says "I" again.

    >>> _my_for_me("Me boots is wet, if me back's better."), _my_for_me("They 'ad me belt!")
    ("My boots is wet, if my back's better.", "They 'ad my belt!")
    >>> _my_for_me("I hate cold water me"), _my_for_me("I let the dog near me")
    ('I hate cold water', 'I let the dog near me')
    """
    text = _ME_TOO.sub(lambda found: (found["said"] or found["plainly"]).rstrip(), text)
    my = _ME_AS_MY.sub(lambda me: f"{me['behind']}{'My' if 'Me ' in me[0] else 'my'} ", text)
    return _ME_FOR_MY.sub(r"\g<behind> my ", _HAS_ME_FOR_MY.sub(r"\g<behind>my ", my))


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
    >>> second_person("I'll shift yer coal for yer Thursday.")
    "you'll shift my coal for me Thursday."
    >>> second_person("Ive paid for me boots, you know. Did you know my cousin?")
    "you've paid for your boots. Did I know your cousin?"
    """
    text = _YOU.sub(_i_as_subject, _plain(text))
    return _retold(text, "you").replace(_OWN_I, "I")


_BEGINS_NO_CLAIM = re.compile(
    r"^\W*(?:(?:please|yes|yeah|aye|no|nah|not|so|oh|well|and|but|or|ok|okay|then|if|because|cos"
    r"|let|lets|let's|got|gotta|any|here's|heres|wh(?:at|ere|o)['’]?s"
    r"|there(?!['’]?s\b| (?:is|are|was|were)\b))\b"
    r"|(?:is|are|am|was|were|do|does|did|have|has|had|can|could|will|would|shall|should|may|might"
    r"|must|don't|dont|didn't|won't)\b)",
    re.IGNORECASE,
)
_LEAVES_OUT_I = re.compile(  # "Can't swim a stroke."; not "Can't you swim"
    r"^\W*(?:ca|could|wo|would|did|have|had)n['’]?t"
    r" (?!(?:i|you|u|we|s?he|it|they|the|my|your|th(?:at|is|ere))\b)[^?]*$",
    re.IGNORECASE,
)
_VERB = frozenset(
    "am is are was were has have had do does did isn't isnt aren't wasn't ain't".split()
)


def after_that(text: str, *, names: Collection[str] = ()) -> str:
    """Tell somebody what they said, as it stands after "you told me that".

    Args:
        names: Of people. Another word with a capital may be a name or only begin a sentence.

    Returns:
        "" where it claims nothing, or it would not be clear who or what is meant.

    >>> after_that("Tess is my godmother, she raised me.", names=["Tess"])
    'Tess is your godmother, she raised you.'
    >>> after_that("The ferry sinks on monday.")
    'the ferry sinks on monday.'
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
    >>> of_speaker("The ferry sinks on monday. I saw it.", "Ada")
    'The ferry sinks on monday. Ada saw it.'
    >>> of_speaker("I'll bring you a fleece for your bed, if you can wait.", "Ada", to_teller=True)
    'Ada will bring me a fleece for my bed, if I can wait.'
    >>> of_speaker("me nan is blind, i h8 her cat.", "Ada")
    "Ada's nan is blind, they hate her cat."
    >>> of_speaker("My boots were found, they are dry.", "Ada")
    "Ada's boots were found, they are dry."
    >>> of_speaker("I told them where I live.", "Ada"), of_speaker("You owe me four.", "Ada")
    ('', '')
    """
    once = len(_OF_SELF.findall(_plain(text))) == 1  # then only the name stands for the speaker
    told = _each(text, lambda each: _to_others(each, beside_others=once, to_teller=to_teller))
    return third_person(told, name).translate(_TELLERS) if told else ""


# "sold the wren", "got two ferrets", "savin up for a boat", "cant swim": "I" is left out
_DETERMINED = (
    r"(?:the|an?|my|our|your|some|it|them|him|her|two|three|four|five|six|\d+|no|every|all|both)\b"
)
_LEFT_OUT_I = re.compile(
    rf"(?P<past>[a-z]{{2,}}) {_DETERMINED}"
    r"|(?P<ing>[a-z]{2,}in)[g'’]? (?:up|for|to|on|at|with|off|out|back|my|the|an?)\b"
    r"|(?:was|am|been|love|like|hate|need|want|prefer|own|live|know|think|reckon|hope) (?!you\b)\w",
    re.IGNORECASE,
)


def in_full(text: str) -> str:
    """Return talk with "I" where a speaker left it out, each sentence with a capital."""
    return " ".join(with_subjects(sentences_of(_with_capitals(text))))


def with_subjects(sentences: Sequence[str]) -> list[str]:
    """Put "I" where a speaker left it out, at first or behind a sentence of their own.

    >>> with_subjects(["sold the wren.", "Got a bigger boat now.", "The mast leans."])
    ['I sold the wren.', 'I got a bigger boat now.', 'The mast leans.']
    >>> with_subjects(["cant swim a stroke"]), with_subjects(["Keep the change."])
    (['I cant swim a stroke'], ['Keep the change.'])
    >>> with_subjects(["My kid is six.", "lost her front teeth"])
    ['My kid is six.', 'lost her front teeth']
    """
    told: list[str] = []
    own = True  # whether the sentence before is about its speaker
    for each in sentences:
        subject = _subject_left_out(each) if own else ""
        told.append(f"{subject} {each[:1].lower()}{each[1:]}" if subject else each)
        own = bool(subject) or bool(re.match(r"\W*I\b", each, re.IGNORECASE))
    return told


def _subject_left_out(sentence: str) -> str:
    if _LEAVES_OUT_I.match(sentence):
        return "I"
    if re.match(r"(?:gonna|gunna)\b", sentence, re.IGNORECASE):
        return "I'm"
    found = _LEFT_OUT_I.match(sentence)
    if not found or sentence.endswith("?"):
        return ""
    if found["ing"]:
        base = found["ing"].lower().removesuffix("in")
        known = any(each in BASES for each in (base, f"{base}e", base[:-1]))
        return "I'm" if known else ""
    if past := (found["past"] or "").lower():
        return "I" if is_past(past) and past not in BASES else ""
    return "" if found[0].lower().startswith("like ") else "I"


def _each(text: str, tell: Callable[[str], str]) -> str:
    """Tell each sentence; "" where one of them cannot be told, or the first one claims nothing.

    What is no sentence leans on the one before it: "My hat is lost. A red one."
    """
    sentences = sentences_of(in_full(text))
    if not sentences or not claims(sentences[0]):
        return ""
    told = [tell(each) if claims(each) or is_fragment(each) else "" for each in sentences]
    return " ".join([told[0], *map(capital, told[1:])]) if all(told) else ""


def _to_its_speaker(sentence: str) -> str:
    """One sentence of `after_that`."""
    plain, meant = _plain(sentence), _meant(sentence)
    if _is_unclear(sentence, meant):
        return ""
    if meant & _OF_NPC:
        return second_person(plain) if speaks_of_self(plain) and _is_object(plain) else ""
    return second_person(plain) if meant & _OF_ONESELF else plain


def _to_others(sentence: str, *, beside_others: bool, to_teller: bool) -> str:
    """One sentence of `of_speaker`, still in the first person."""
    plain, meant = _plain(sentence), _meant(sentence)
    of_several = meant & _OF_ONESELF and meant & _OTHERS and not beside_others
    if _is_unclear(sentence, meant) or of_several:
        return ""
    if not meant & _OF_NPC:
        return plain
    clear = to_teller and speaks_of_self(plain) and _is_object(plain)
    subjects = _YOU.sub(_i_as_subject, plain) if clear else ""
    return _YOURS.sub(lambda found: _AS_TELLER[found[0].lower()], subjects)


def _meant(sentence: str) -> set[str]:
    return {token.lower().partition("'")[0] for token in _TOKEN.findall(_plain(sentence))}


def _is_unclear(sentence: str, meant: set[str]) -> bool:
    """Whether it tells what somebody else is said to have said, or of "we", who may be anybody.

    Beside "my wife", "we" are the two.
    """
    plain = _plain(sentence)
    said = quotes(sentence) or _SAYS.search(plain) or _NOT_TOLD.search(plain)
    unclear = _THOU if _OF_A_COUPLE.match(plain) and not meant & _OF_NPC else _US | _THOU
    return bool(meant & unclear or said)


def _is_object(text: str) -> bool:
    """Whether "you" is nowhere the subject of a verb that `second_person` does not know."""
    for found in _YOU.finditer(text):
        behind = re.match(r"\W*(\w[\w'’]*)", text[found.end() :])
        word = behind[1].lower() if behind else ""
        before = re.findall(r"[\w'’]+", text[: found.start()])[-1:]
        turned = before and before[0].lower() in ("as", *_VERB)  # "as were you"
        unclear = turned or word in BASES or is_past(word)
        if unclear and not (found["short"] or found["verb"]):
            return False
    return True


def claims(sentence: str) -> bool:
    """Whether a sentence has a verb, and neither asks nor orders."""
    plain = _plain(sentence)
    words = [word.lower() for word in _TOKEN.findall(plain) if word[0].isalpha()]
    least = 2 if speaks_of_self(sentence) else 3
    if len(words) < least or _BEGINS_NO_CLAIM.match(plain) or words[0] in BASES:
        return False
    clitics = any(re.search(r"'(?:s|m|re|ve|ll|d)$", word) for word in words)
    if clitics or not _VERB.isdisjoint(words) or not (MODALS | {"cannot"}).isdisjoint(words):
        return True
    return any(is_past(word) or word in BASES or _is_third(word) for word in words[1:])


def is_fragment(sentence: str) -> bool:
    """Whether words are neither a claim nor an order: "A red one."."""
    first = re.search(r"\w+", sentence)
    orders = _BEGINS_NO_CLAIM.match(sentence) or (first and first[0].lower() in BASES)
    orders = orders and not _LEAVES_OUT_I.match(sentence)
    return bool(first) and not (orders or claims(sentence))


def _is_third(word: str) -> bool:
    """Whether a word is a verb in the third person: "keeps"."""
    bases = (word[:-1], word[:-2], f"{word[:-3]}y")
    return any(base in BASES and third_singular(base) == word for base in bases)


def _small(text: str) -> str:
    """Begin with a small letter, unless the first word is "I" or may be a name."""
    first = re.match(r"[A-Za-z'’]+", text)
    word = first[0].partition("'")[0] if first else ""
    common = word.lower() in _COMMON and word != "I"
    return text[:1].lower() + text[1:] if common else text


def _i_as_subject(found: re.Match[str]) -> str:
    """Return "you" as the NPC says it where it is the subject: "if I can", "I was late"."""
    more = [(found["short"] or "").lower(), (found["verb"] or "").lower()]
    if found["opens"] is None and not any(more):
        return found[0]
    return (found["opens"] or "") + _OWN_I + "".join(_BE_I.get(each, each) for each in more)


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
_UNDER_ANOTHER = re.compile(
    r"\W*(?:if|when|whenever|while|since|because|cos|after|before|until|unless|although|though|once"
    r"|as)\b",
    re.I,
)
_HOLDS_ANOTHER = re.compile(
    r"\b(?:that|if|whether|when|who|what|where|how|why|says?|said|told|thinks?|hears?|heard"
    r"|hopes?|claims?|dream\w*|swears?|doubts?|believes?|reckons?|pretends?|wish\w*)\b",
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
    if not (_SUBJECT.match(clause) and claims(clause) and claims(left)):
        return False
    return not (_HOLDS_ANOTHER.search(left) or _UNDER_ANOTHER.match(left))  # "he says … and …"


def _leans(clause: str) -> bool:
    first = next(iter(re.findall(r"[^\W\d_]+", clause)), "")
    verb = _is_third(first.lower()) or is_past(first)  # "Makes good honey."
    return verb or bool(_LEANS.match(clause)) or not (_SUBJECT.match(clause) and claims(clause))


def leans_on_a_name(sentence: str) -> bool:
    """Whether a sentence begins with somebody who is named before it: "She lives by the mill"."""
    return bool(_LEANS.match(sentence))


def speaks_of_self(text: str) -> bool:
    """Whether the speaker is the subject: the text begins with I, my, or we and the like."""
    return bool(re.match(r"(?:I\b|my\b|mine\b|me\b|myself\b)", text, re.IGNORECASE))


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_participle(rest: list[str]) -> bool:
    """Whether "I'd" is "I had": "I'd been", "I'd always wanted"; and not "I'd like"."""
    words = [token.lower() for token in rest if token[0].isalpha() and token.lower() not in ADVERBS]
    return bool(words) and (is_participle(words[0]) or words[0] == "better")


def _third(verb: str) -> str:
    lower = verb.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    return verb if lower in _SAME or is_past(verb) else third_singular(verb)


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
