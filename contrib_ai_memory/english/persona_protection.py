"""Persona protection [A]: the night learns no facts about the NPC's own acts, nature or opinions.

The extraction prompt says so; this module checks the extracted facts, whether a model or rules drew
them. A fact is dropped if the NPC, under any of its names, is the subject of a main clause, or of
what somebody says or thinks there. A fact about somebody else may name the NPC, and give a reason
that lies with it. Rules on words and their order, not a parser.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from . import tokens

CHARACTERS_READ = 4000  # characters that are looked at
PHRASE = 4  # words before a name that belong to it

_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
_BREAK = re.compile(r"(?<=[.!?])\s+")  # before small letters too, where `sentences` does not cut

# what may stand before "I": "Yesterday, I …", "When asked, I …"
_OPENING = (
    r"(?:(?:in|on|at|during|after|before|when|whenever|while|if|as|for|with|since|upon|throughout|"
    r"until|because|once)\b[^,]{0,60},\s+|"
    r"(?:yesterday|today|tonight|earlier|later|once|then|now|also|however|meanwhile|\w+ly),?\s+)?"
)
_I = re.compile(
    rf"^(?i:{_OPENING})(?:I\b|(?i:my\b|we\s+(?:talked|spoke|discussed|chatted)\b))",
)
# how a model calls the character whose memory it writes
_ASSISTANT = (("assistant",), ("chatbot",), ("npc",), ("ai",), ("language", "model"))
_KEEPER = ("keeper",)  # "the keeper" of the extraction prompt; in a quotation it is anybody's word
_TITLES = frozenset(
    "the a an old young big little tall fat thin blind mad one-eyed lady lord sir captain master "
    "mistress king queen prince princess mother father brother sister uncle aunt doctor dr saint "
    "st mr mrs ms good black white red grey".split()
)


_TOKEN = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")
_OWN_NOUN = re.compile(
    r"(?:personality|character|nature|opinions?|views?|moods?|feelings?|attitude|beliefs?|goals?|"
    r"behaviou?r|responses?|repl(?:y|ies)|answers?|kindness|manners?|temper|thoughts?|favou?rites?|"
    r"voice|role|persona|advice|words|heart|soul)"
)
_DETERMINERS = frozenset("the our my your this that dear".split())
_INDEFINITE = frozenset("a an another some any no every each his her their two three".split())
_NO_MODIFIER = frozenset(
    "of in on at to for from with by about after before behind beside near under over between "
    "and or but nor so yet than as like that which who whom whose where when while if because "
    "since though although until unless whether how why what not i you he she it we they me him "
    "us them there here then now only just even also both either neither said".split()
)
_OF_A_VERB = _DETERMINERS | {"a", "an", "his", "her", "its", "their", "him", "them", "it", "all"}
_JOINING = frozenset("and but or so yet because since for though although however then".split())
_SUBORDINATE = frozenset("when whenever if while after before once as since until".split())
_SPEAKING = frozenset(
    "say says said tell tells told think thinks thought believe believes believed know knows knew "
    "claim claims claimed swear swears swore hear hears heard feel feels felt reckon reckons find "
    "finds found insist insists agree agrees admit admits suspect suspects hope hopes guess "
    "remember remembers declare declares consider considers".split()
)
_ADVERBS = frozenset(
    "always never often also still just once now then soon again even ever only not too quite "
    "very truly yesterday today tonight perhaps maybe clearly indeed all both no other than "
    "none".split()
)
_IS = frozenset("is was are were be been being".split())
_CLEFT_IS = frozenset("it's that's who's this's she's he's".split())
_IS_OR_HAS = _IS | frozenset("has had have isn't wasn't seems looks always never".split())
_AFTER_IS = frozenset("a an the not so very too always never just really been got quite".split())
_SPEAKERS = frozenset("i you we they".split())
_EVERYBODY = frozenset("everyone everybody nobody none people".split())
_ASIDES = frozenset("who the our an a as my your that bless".split())
_PAUSES = frozenset(", . ; : ! — – -".split())
_PERSON = re.compile(
    r"(?:keeper|monger|wright|smith|man|woman|maid|lady|lord|host|hostess|mistress|master|friend|"
    r"captain|soul|girl|boy|lass|lad|healer|priest|priestess|guard|cook)$"
)


def about_itself(text: str, npc_name: str, *aliases: str) -> bool:
    """Whether a fact is about the NPC itself: its acts, personality or opinions.

    A quotation counts too: the NPC does not learn about itself what others say of it. What it owes,
    and what it has that is no trait, are matters of the world.
    """
    text = text[:CHARACTERS_READ]
    plain = _QUOTED.sub("“…”", text)  # who "I" is in the words of others, they say
    if any(_I.match(sentence.strip(" -*•\t\n")) for sentence in _BREAK.split(plain)):
        return True
    names = (*_all_names(npc_name, aliases), *_ASSISTANT)
    said = [quoted[1:-1] for quoted in _QUOTED.findall(text)]
    return _is_subject(plain, (*names, _KEEPER)) or any(_is_subject(part, names) for part in said)


# --- who is the subject of a clause ---------------------------------------------------------------


def _is_subject(text: str, names: tuple[tuple[str, ...], ...]) -> bool:
    """Whether one of `names` is the subject, the predicate or the agent of a main clause."""
    whole = _TOKEN.findall(text.replace("’", "'"))
    words = _main_clauses(whole)
    return any(
        (_states(words, start, end) and not (words == whole and _owes_or_has(words, end)))
        or _predicate(words, start, end)
        or _acted(words, start, end)
        or _by_everybody(words, start, end)
        for start, end in _mentions(words, names)
    )


def _main_clauses(words: Sequence[str]) -> list[str]:
    """Return the words up to what each sentence adds to its main clause, a reason or a second one.

    "Alice owes Mara five silver, because Mara is out of flour." ends before "because".
    """
    kept: list[str] = []
    first, verb, added = 0, False, False  # of this sentence
    for word in words:
        if word in (".", "!", "?"):
            kept.append(word)
            first, verb, added = len(kept), False, False
            continue
        before = kept[-1].lower() if kept[first:] else ""
        joins = word.lower() in _JOINING | _SUBORDINATE | {",", ";", "–", "—"}
        opened = kept[first:] and kept[first].lower() in _NO_MODIFIER  # "if she is asked, she lies"
        goes_on = before in _SPEAKING or before == "that" or (opened and "," not in kept[first:])
        added = added or (joins and verb and not goes_on)
        does = _is_verb(word) or (before in _SPEAKERS and word in tokens.BASES)
        verb = verb or (word.islower() and does)
        if not added:
            kept.append(word)
    return kept


def _mentions(
    words: Sequence[str], names: tuple[tuple[str, ...], ...]
) -> Iterator[tuple[int, int]]:
    """The spans of names with their noun phrases: first token, and the one after the last.

    "Mara's temper" is one; "Mara's inn", "Mara River" and "a captain" are none.
    """
    lowered = [word.lower() for word in words]
    for start in range(len(words)):
        for name in names:
            end = start + len(name)
            found = tuple(lowered[start:end])
            if found == name:
                pass
            elif found[:-1] == name[:-1] and found[-1:] == (name[-1] + "'s",):
                own = _of_its_own(lowered, end)
                if own is None:
                    break
                end = own
            else:
                continue
            first = _phrase(words, lowered, start)
            another = end < len(words) and words[end][:1].isupper() and lowered[end] != "i"
            if name in (*_ASSISTANT, _KEEPER):  # not "the assistant of the smith"
                told_of = lowered[end : end + 1] not in (["of"], ["to"], ["at"])
                if name == _KEEPER:  # nor "the lighthouse keeper"
                    told_of = told_of and lowered[:start][-1:] == ["the"]
            else:
                told_of = lowered[first] not in _INDEFINITE
            if told_of and not another:
                yield first, end
            break


def _of_its_own(lowered: Sequence[str], end: int) -> int | None:
    """The end of the phrase behind "Mara's": after "temper", or at once if 's means "is"."""
    rest = lowered[end : end + 3]
    for place, word in enumerate(rest[:2]):
        if _OWN_NOUN.fullmatch(word):
            return end + place + 1
    is_verb = rest[:1] and (rest[0] in _AFTER_IS or rest[0].endswith("ing"))
    return end if is_verb else None


def _phrase(words: Sequence[str], lowered: Sequence[str], start: int) -> int:
    """The start of the noun phrase of the name at `start`: "the old innkeeper Mara"."""
    first = start
    while first > 0 and start - first < PHRASE:
        word = lowered[first - 1]
        if word == "that" and words[max(0, first - 2)][:1].isalpha() and first > 1:
            break  # "knows that Mara", not "that Mara"
        if word in _DETERMINERS or word in _INDEFINITE:
            return first - 1
        titled = words[first - 1][:1].isupper() and first == start
        if not word[:1].isalpha() or word in _NO_MODIFIER or (_is_verb(word) and not titled):
            break
        if word.endswith("s") and not word.endswith("ss"):
            break  # "the cat scratches Mara"
        first -= 1
    # without an article only a title, or what is said to be good or old, belongs to a name
    told = all(lowered[place] in _TITLES for place in range(first, start))
    titled = first == start - 1 and words[first][:1].isupper() and first == 0
    return first if told or titled else start


def _states(words: Sequence[str], first: int, end: int) -> bool:
    """Whether a phrase is the subject of a verb: "the innkeeper Mara, bless her, is"."""
    before = words[first - 1].lower() if first else ""
    after = words[end] if end < len(words) else ""
    own = words[end - 1].lower()
    if own.endswith("'s") or _OWN_NOUN.fullmatch(own):  # "Mara's a thief", "Mara's mood"
        return _opens_clause(words, first)
    if " ".join(words[max(0, first - 2) : first]).lower() == "according to":
        return True
    if (before, after) == ("(", ")"):  # "She (Mara) is"
        return _verb_at(words, end + 1)
    if (before, after) == (",", ",") and _is_person(words, first - 1):  # "our host, Mara, is"
        return _verb_at(words, end + 1)
    if (not before or before in ".!?") and after not in (",", "(", "of", "at", "in", "from"):
        return True  # it begins the sentence, whatever its verb is
    on = _behind_aside(words, end) if after in (",", "(") else end
    if on is not None and _verb_at(words, on):
        return _opens_clause(words, first)
    return _goes_on_with_pronoun(words, end)


def _owes_or_has(words: Sequence[str], end: int) -> bool:
    """ "Mara owes Bram", "Mara has a fever", "had two rooms"; not "has a warm heart"."""
    verb, *rest = [word.lower() for word in words[end:]] or [""]
    if verb not in ("has", "had"):
        return verb in ("owes", "owed")
    counted = any(word in _INDEFINITE or word.isdigit() for word in rest[:1])
    return counted and not any(map(_OWN_NOUN.fullmatch, rest))


def _verb_at(words: Sequence[str], place: int) -> bool:
    """Whether a verb that says what a subject does stands there, behind an adverb or two.

    What it is asked to do is nothing that it did: "Bram fell ill; Mara is to tell his wife".
    """
    for at in range(place, min(place + 3, len(words))):
        word, after = words[at].lower(), [each.lower() for each in words[at + 1 : at + 2]]
        if _is_verb(word):
            return word not in ("must", "should") and not (word in _IS_OR_HAS and after == ["to"])
        if word.endswith("s") and word.isalpha() and not _OF_A_VERB.isdisjoint(after):
            return True  # "waters the ale"
        if not (word in _ADVERBS or word.endswith("ly")):
            return False
    return False


def _is_verb(word: str) -> bool:
    return (
        word in tokens.AUXILIARIES
        or word in tokens.THIRD
        or word in tokens.SAME_IN_THE_PAST
        or tokens.is_past(word)
        or word.endswith("n't")
    )


def _opens_clause(words: Sequence[str], first: int) -> bool:
    """Whether a clause begins there that tells something of its own: the sentence, what is said
    or thought, a reason; not "the inn that Mara keeps", nor "when Mara slept"."""
    if first == 0 or not words[first - 1][:1].isalpha():
        return True
    before = words[first - 1].lower()
    if before in _SUBORDINATE:
        return first == 1 and _resumed(words, first)
    if before in _JOINING or before in _SPEAKING or before.endswith("ly") or before in _ADVERBS:
        return True
    if before == "that" or before in ("if", "whether", "how"):
        said = [word.lower() for word in words[max(0, first - 4) : first - 1]]
        return not _SPEAKING.isdisjoint(said)
    # "in truth Mara hates elves"
    introduced = words[0].lower() in _NO_MODIFIER and first <= PHRASE
    return introduced and before not in _NO_MODIFIER and not any(map(_is_verb, words[:first]))


def _resumed(words: Sequence[str], first: int) -> bool:
    """ "If Mara is asked, she lies": the clause behind it is of the same person."""
    comma = _index(words, ",", first)
    return comma is not None and any(
        word.lower() in ("she", "he", "they") for word in words[comma + 1 : comma + 2]
    )


def _goes_on_with_pronoun(words: Sequence[str], end: int) -> bool:
    """ "Everyone loves Mara, because she is kind"; in "when Bram met Mara, he was" he is Bram."""
    if words[0].lower() in _SUBORDINATE:
        return False
    place = end
    while place < len(words) and (words[place] in _PAUSES or words[place].lower() in _JOINING):
        place += 1
    if place == end or place + 1 >= len(words):
        return False
    pronoun, _, clitic = words[place].lower().partition("'")
    if pronoun not in ("she", "he", "they"):
        return False
    return clitic in ("s", "re") or words[place + 1].lower() in _IS_OR_HAS


def _predicate(words: Sequence[str], first: int, end: int) -> bool:
    """ "It was Mara who", "the kindest soul here is Mara": the NPC is whom it is told of.

    So it is in "a warm soul, that Mara", which has no verb.
    """
    if words[max(0, first - 1) : first] == [","] and words[end : end + 1] in ([], ["."], ["!"]):
        sentence = words[: first - 1][::-1]
        told = itertools.takewhile(lambda word: word not in ".!?", sentence)
        return not any(_is_verb(word.lower()) for word in told)
    before = [word.lower() for word in words[max(0, first - 3) : first]]
    while before and (before[-1] in _ADVERBS | {"that"} or before[-1].endswith("ly")):
        before.pop()
    if not before or (before[-1] not in _IS and not before[-1].endswith("'s")):
        return False
    if before[-1].endswith("'s") and before[-1] not in _CLEFT_IS:
        return False
    after = words[end].lower() if end < len(words) else ""
    return not after[:1].isalpha() or after in ("who", "that", "whom", "and")


def _acted(words: Sequence[str], first: int, end: int) -> bool:
    """ "The bread was baked by Mara": who did it."""
    lowered = [word.lower() for word in words[max(0, first - 9) : first]]
    if not lowered or lowered[-1] != "by":
        return False
    return any(
        word in _IS and any(map(tokens.is_participle, lowered[place + 1 : -1]))
        for place, word in enumerate(lowered)
    )


def _by_everybody(words: Sequence[str], first: int, end: int) -> bool:
    """ "Everyone likes Mara", "there is nobody kinder than Mara": told of whom it ends with."""
    if words[end : end + 1] not in ([], ["."], ["!"], ["?"]):
        return False
    lowered = [word.lower() for word in words[:first]]
    for place, word in enumerate(lowered):
        before, after = lowered[:place], lowered[place + 1 : place + 2]
        if word in _EVERYBODY or (word == "no" and after == ["one"]):
            opens = not before or before[-1] in _PAUSES or before[-1] in _SPEAKING | {"that"}
            does = opens and any(map(_is_verb, lowered[place + 1 :]))
            return (does or before[-2:-1] == ["there"]) and after not in (["who"], ["that"])
    return False


def _is_person(words: Sequence[str], comma: int) -> bool:
    """Whether the words before a comma are a person: "she", "our host"; not "the bridge"."""
    if comma < 1:
        return False
    noun = words[comma - 1].lower()
    return noun in ("she", "he", "they", "who") or bool(_PERSON.search(noun))


def _behind_aside(words: Sequence[str], begins: int) -> int | None:
    """The token behind an aside: ", the innkeeper," or "(the innkeeper)"."""
    if words[begins] == "(":
        closing = _index(words, ")", begins)
    elif any(word.lower() in _ASIDES for word in words[begins + 1 : begins + 2]):
        closing = _index(words, ",", begins + 1)
    else:
        return None
    return closing + 1 if closing is not None else None


def _index(words: Sequence[str], sign: str, start: int) -> int | None:
    return next((at for at in range(start, len(words)) if words[at] == sign), None)


@lru_cache(maxsize=256)
def _all_names(npc_name: str, aliases: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The names as lower-case tokens, the longest first."""
    known = {
        tuple(_TOKEN.findall(name.lower().replace("’", "'")))
        for each in (npc_name, *aliases)
        for name in _names(each)
    }
    return tuple(sorted(filter(None, known), key=len, reverse=True))


def _names(npc_name: str) -> list[str]:
    """The names of an NPC: the whole name, and "Mara" of "Mara Vane" or "Old Mara"."""
    whole = npc_name.strip()
    words = [w for w in whole.split() if w.lower() not in _TITLES and w[:1].isupper()]
    names = [whole, re.sub(r"^(?:the|an?)\s+", "", whole, flags=re.IGNORECASE)]
    if len(whole.split()) > 1 and words:
        names.append(words[0])
    return sorted(dict.fromkeys(names), key=len, reverse=True)
