"""What a builder wrote of an NPC, as the NPC says it: "Mara keeps her inn" is "I keep my inn".

Rules, not a parser. Whom "she" means is read from sentence to sentence: the NPC as long as it is
the subject, somebody else once another is. A sentence of others stays as it is but for the NPC's
name; one that begins with a pronoun for another is not understood without the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .reported_speech import ADVERBS, capital, leans_on_a_name
from .tokens import AFTER_A_VERB, BASES, FUNCTION_WORDS, quotes, third_singular

SHE, HE, THEY, YOU = "she", "he", "they", "you"
_FORMS = {  # subject, object, before a noun, alone, reflexive
    SHE: ("she", "her", "her", "hers", "herself"),
    HE: ("he", "him", "his", "his", "himself"),
    THEY: ("they", "them", "their", "theirs", "themselves"),
    YOU: ("you", "you", "your", "yours", "yourself"),
}
_I, _MY = "\ue000", "\ue001"  # the NPC by name, and what is its own
_TOKEN = re.compile(rf"[A-Za-z{_I}{_MY}]+(?:['’][A-Za-z]+)*|[^A-Za-z{_I}{_MY}]+")
_BASE_OF = {third_singular(base): base for base in BASES} | {
    "is": "am",
    "are": "am",
    "has": "have",
    "does": "do",
    "were": "was",
    "isn't": "am not",
    "aren't": "am not",
    "hasn't": "haven't",
    "doesn't": "don't",
    "weren't": "wasn't",
    "unties": "untie",
}
_BEFORE_AN_OBJECT = frozenset(
    "a an the his her my their its me him them it no nothing everything anything nobody".split()
)
_OPENS_A_CLAUSE = frozenset(
    "and but or so that who which if when while because since until till before after as than what "
    "where why how whether though although whatever whoever then".split()
)
_NO_NOUN = FUNCTION_WORDS | AFTER_A_VERB | _OPENS_A_CLAUSE
_NO_NOUN |= frozenset("all every everything anything nothing everywhere always often never".split())
_PROPER = re.compile(r"[A-Z][\w'’-]+")
_THEN = re.compile(r"\W*(?:then|later|afterwards)\b", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:I|I'\w+|[Mm]y|[Mm]ine|[Mm]yself)\b")

_TELLS_NOBODY = re.compile(  # "I hide the key and tell nobody of it"
    r"\bI\b[^.!?]{0,120}?\b(?:(?:tells?|told|mentions?)(?: \w+){0,3}?"
    r" (?:nobody|no ?one|not a soul)\b"
    r"|(?:never|not|\w+n't)(?: ever)? (?:tell|told|mention|reveal)\b[^.!?]{0,80}"
    r"\b(?:any ?(?:one|body)|a soul)\b"
    r"|keeps? (?:it|this|that) (?:an? |my )?(?:secret|to \w+sel(?:f|ves))\b(?! \w+\W*$))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class OwnSentence:
    """A sentence as the NPC says it."""

    text: str  # in the first person where it is about the NPC
    leans: bool = False  # whether it is understood only after the sentence before it
    own: bool = False  # whether the NPC is what it is about


def pronoun_of(texts: Iterable[str], given: str = "") -> str:
    """Return the pronoun that stands for an NPC in texts about it: the most frequent one.

    Args:
        given: A text in which it may be read if it stands in none of these.

    >>> pronoun_of(["Mara keeps the inn. She is old.", "His ladle was Sorrin's."])
    'she'
    """
    whole = " ".join(texts).lower()
    if re.match(r"\W*you(?:'re| are|r)?\b", whole):
        return YOU
    counts = {
        who: len(re.findall(rf"\b(?:{'|'.join({*_FORMS[who]})})\b", whole)) for who in (SHE, HE)
    }
    if any(counts.values()):
        return max(counts, key=lambda who: counts[who])
    return pronoun_of([given]) if given else THEY


def own_wish(wish: str, pronoun: str) -> str:
    """Tell what an NPC wants with "my" for what is its own, up to where somebody else is named.

    >>> own_wish("Buy back her father's boat, the Gannet's skiff", "she")
    "buy back my father's boat, the Gannet's skiff"
    >>> own_wish("help Odile find her brother", "she"), own_wish("see the sea", "they")
    ('help Odile find her brother', 'see the sea')
    """
    wish = wish[:1].lower() + wish[1:]
    if pronoun not in (SHE, HE):
        return wish
    named = _PROPER.search(wish)
    clear = named.start() if named else len(wish)
    owned = re.compile(rf"\b{_FORMS[pronoun][2]} (?=(\w+))")
    return (
        owned.sub(lambda found: found[0] if found[1] in _NO_NOUN else "my ", wish[:clear])
        + (wish[clear:])
    )


def own_sentences(
    sentences: Iterable[str], names: Sequence[str], pronoun: str, *, persona: bool = False
) -> list[OwnSentence]:
    """Tell the sentences of one text about an NPC, or about what it knows, in its own words.

    None of a text, unless it is a persona, that says that the NPC tells nobody of it.

    Args:
        names: The NPC's; only where they are written with a capital do they mean it.
        pronoun: As `pronoun_of` finds it.
        persona: Whether the text is about the NPC throughout.

    >>> told = own_sentences(["Mara Fisk was born here.", "She keeps her inn."], ["Mara"], "she")
    >>> [each.text for each in told]
    ['I was born here.', 'I keep my inn.']
    >>> told = own_sentences(["Mara's brother visits her every spring."], ["Mara"], "she")
    >>> [each.text for each in told]
    ['My brother visits me every spring.']
    >>> [each.leans for each in own_sentences(["Sorrin is dead.", "His ladle is here."], [], "she")]
    [False, True]
    """
    told: list[OwnSentence] = []
    topic, first_person = True, False  # a text that begins with "she" can only mean the NPC
    for sentence in sentences:
        text = sentence.replace("’", "'").strip()
        if _FIRST_PERSON.search(text) and not quotes(text):  # "she" is somebody else then
            first_person = True
            told.append(OwnSentence(text, _leans(text), own=True))
            continue
        means = not first_person and (persona or (topic and bool(told)))
        marked = _with_marks(text, tuple(names))
        told.append(_own_sentence(marked, pronoun, topic=topic and not first_person, means=means))
        topic = told[-1].own or persona
    begins = re.compile(rf"^{pronoun}\b", re.IGNORECASE)  # "She tells nobody of it."
    kept = any(_TELLS_NOBODY.search(begins.sub("I", each.text)) for each in told)
    return [] if kept and not persona else told


def _own_sentence(marked: str, pronoun: str, *, topic: bool, means: bool) -> OwnSentence:
    """Tell one sentence that is not in the first person.

    Args:
        topic: Whether the pronoun means the NPC where the sentence begins with it.
        means: Whether it does anywhere, if the sentence names nobody else.
    """
    words = re.findall(rf"[\w{_I}{_MY}]+", marked)
    first = words[0].lower() if words else ""
    own = first == _I or (topic and first in (_FORMS[pronoun][0], _FORMS[pronoun][2]))
    refers = own or first == _MY or (means and not _PROPER.search(marked.partition(" ")[2]))
    text = _retold(marked, pronoun, refers=refers, of_another=first == _MY)
    own |= refers and first != _MY and bool(_FIRST_PERSON.search(text))
    return OwnSentence(text, not own and _leans(text), own)


def _leans(text: str) -> bool:
    """Whether a sentence is understood only after the one before it: "Then she left"."""
    return leans_on_a_name(text) or bool(_THEN.match(text))


def _with_marks(text: str, names: tuple[str, ...]) -> str:
    """Mark the NPC's name, alone and before what is its own."""

    def mark(found: re.Match[str]) -> str:
        if not found["name"][:1].isupper():
            return found[0]
        if found["own"]:
            return _MY
        is_role = not found.start() and re.match(r" (?:to|for) ", text[found.end() :])
        return f"{_I} is {found[0].lower()}" if is_role else _I  # "Clerk to the ringmaster, …"

    return _named(names).sub(mark, text) if names else text


@lru_cache(maxsize=256)
def _named(names: tuple[str, ...]) -> re.Pattern[str]:
    some = "|".join(
        re.escape(each) for each in sorted(names, key=len, reverse=True) if len(each) > 2
    )
    no_name = "|".join(sorted(each for each in FUNCTION_WORDS if each.isalpha()))
    before = rf"(?:(?!(?i:{no_name})\b)(?-i:[A-Z])[\w'’-]*\.? ){{0,2}}?"
    return re.compile(
        rf"(?<!\w){before}(?P<name>(?i:{some}))(?: (?-i:[A-Z])[\w-]+){{0,2}}(?P<own>'s\b)?(?![\w'])"
    )


def _retold(marked: str, pronoun: str, *, refers: bool, of_another: bool) -> str:
    """Put the NPC's forms into the first person.

    Args:
        refers: Whether the pronoun means the NPC.
        of_another: Whether that is not the subject: of "her" and "she" only what is an object is.
    """
    subject, of_it, its_own, alone, itself = _FORMS[pronoun]
    means = refers and not of_another
    tokens = _TOKEN.findall(marked)
    out: list[str] = []
    verb = acts = False  # a verb of the NPC's is to come; it is the subject
    for place, token in enumerate(tokens):
        word, _, short = token.lower().partition("'")
        if word in _OPENS_A_CLAUSE and _PROPER.match("".join(tokens[place + 2 : place + 3])):
            refers = means = False  # "thinks that Bram is a cheat with his thumb on the scale"
        begins = _begins_clause(tokens, place) and place + 2 < len(tokens)
        owns = token == _MY or (word == its_own and means)
        if owns and _is_owned(tokens[place + 1 : place + 3]):
            out.append("my")
        elif token == _MY or (word == alone and means):
            out.append("mine")
        elif word == itself and means:
            out.append("myself")
        elif (token == _I and begins) or (word == subject and means and (word != of_it or begins)):
            out.append({"": "I", "s": "I'm", "re": "I'm"}.get(short, f"I'{short}"))
            verb, acts = not short, True
        elif token == _I or (word == of_it and refers):
            out.append("me")
        elif not token[0].isalpha():
            out.append(token)
            verb &= not token.startswith(",")  # an apposition
        elif verb:
            verb = word in ADVERBS or word.endswith("ly")
            out.append(token if verb else _base(token))
        elif acts and _goes_on(tokens, place):
            out.append(_base(token))
        else:
            acts &= word not in ("who", "which")  # what follows is of another
            out.append(token)
    return capital("".join(out))


def _is_owned(ahead: list[str]) -> bool:
    """Whether "her" stands before a noun: "her inn", not "behind her."."""
    return len(ahead) == 2 and ahead[0].isspace() and ahead[1].lower() not in _NO_NOUN


def _begins_clause(tokens: Sequence[str], place: int) -> bool:
    before = [token for token in tokens[:place] if token.strip()]
    return not before or before[-1].lower() in _OPENS_A_CLAUSE or not before[-1][-1:].isalpha()


def _goes_on(tokens: Sequence[str], place: int) -> bool:
    """Whether a word is one more verb of the NPC's: "stamps letters and sorts them"."""
    last = next(token for token in reversed(tokens[:place]) if token.strip()).lower().strip()
    word = tokens[place].lower()
    ahead = next((each.lower() for each in tokens[place + 1 :] if each[0].isalpha()), "")
    if last == ",":  # "dislikes braggarts, loves gossip"; not "nets, hooks and lines"
        return word in _BASE_OF and ahead not in ("and", "or")
    third = word.endswith("s") and ahead in _BEFORE_AN_OBJECT
    return last in ("and", "or", "but") and (word in _BASE_OF or third)


def _base(verb: str) -> str:
    """Return a third person singular as it stands after "I"."""
    lower = verb.lower()
    if lower in _BASE_OF:
        return _BASE_OF[lower]
    if len(lower) < 4 or not lower.endswith("s") or lower.endswith("ss"):
        return verb
    if lower.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if lower.endswith(("shes", "ches", "sses", "xes", "oes")) else verb[:-1]
