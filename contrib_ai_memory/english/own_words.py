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

from .reported_speech import ADVERBS
from .tokens import AFTER_A_VERB, BASES, FUNCTION_WORDS, quotes, third_singular

SHE, HE, THEY, YOU = "she", "he", "they", "you"
_FORMS = {  # subject, object, before a noun, alone, reflexive
    SHE: ("she", "her", "her", "hers", "herself"),
    HE: ("he", "him", "his", "his", "himself"),
    THEY: ("they", "them", "their", "theirs", "themselves"),
    YOU: ("you", "you", "your", "yours", "yourself"),
}
_OTHER_PEOPLE = {
    SHE: "sister mother mum daughter wife aunt niece widow gran nan grandmother girl lady woman",
    HE: "brother father dad son husband uncle nephew granddad grandfather boy man lad",
    THEY: "",
    YOU: "",
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
}
_NO_S = frozenset("was as this his its us plus less always perhaps".split())
_BEFORE_AN_OBJECT = frozenset(
    "a an the his her my their its me him them it no nothing everything anything nobody".split()
)
_OPENS_A_CLAUSE = frozenset(
    "and but or so that who which if when while because since until till before after as than what "
    "where why how whether though although whatever whoever then".split()
)
_LEANS = re.compile(
    r"^\W*(?:(?:and|but|so|then|later|still|now|even so)\b[\s,]*)*"
    r"(?:he|she|they|it|his|her|their|its|this|these|that|those|none|both|each|another|all the"
    r" others|the others)\b"
    r"|^\W*(?:later|then|afterwards)\b|^[^,.]{0,20}\bof them\b|\bthere (?:now|too|still)\b",
    re.IGNORECASE,
)
_NO_NOUN = (
    FUNCTION_WORDS
    | AFTER_A_VERB
    | _OPENS_A_CLAUSE
    | frozenset(
        "all everything anything nothing everywhere always often never still every each another "
        "both once twice daily weekly yesterday today tomorrow tonight".split()
    )
)
_PROPER = re.compile(r"[A-Z][\w'’-]+")
_SOMEBODY = re.compile(rf"{_PROPER.pattern}(?: {_PROPER.pattern})*")
_DETERMINED = re.compile(r"\b(?:an?|the|his|her|their)\b", re.IGNORECASE)
SUBJECT_APART = 2  # words at most between a name and its object, where nobody else is spoken of
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
    """Tell what an NPC wants with "my" for what is its own, as far as nobody else is named.

    >>> own_wish("Buy back her father's boat, the Gannet's skiff", "she")
    "buy back my father's boat, the Gannet's skiff"
    >>> own_wish("help Odile find her brother", "she"), own_wish("see the sea", "they")
    ('help Odile find her brother', 'see the sea')
    """
    wish = wish[:1].lower() + wish[1:]
    if pronoun not in (SHE, HE):
        return wish
    of_others = rf"{_PROPER.pattern}|\b(?:an?|the|{_OTHER_PEOPLE[pronoun].replace(' ', '|')})\b"
    found = re.search(of_others, wish)
    clear = found.start() if found else len(wish)

    def in_own_words(found: re.Match[str]) -> str:
        ahead = _TOKEN.findall(wish[found.end() :])[:2]
        return "my" if found.start() < clear and _is_owned(ahead) else found[0]

    return re.sub(rf"\b{_FORMS[pronoun][2]}\b", in_own_words, wish)


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
        if _FIRST_PERSON.search(text) and not quotes(text):
            first_person = True
            told.append(OwnSentence(text, bool(_LEANS.search(text)), own=True))
            continue
        means = not first_person and (persona or (topic and bool(told)))
        marked = _with_marks(text, tuple(names))
        # after a sentence of somebody else "her" may mean them
        if not first_person and all(one.own for one in told):
            marked = _with_object(marked, _FORMS[pronoun][1])
        each = _own_sentence(marked, text, pronoun, topic=topic and not first_person, means=means)
        told.append(each)
        topic = each.own or persona
    begins = re.compile(rf"^{pronoun}\b", re.IGNORECASE)  # "She tells nobody of it."
    kept = any(_TELLS_NOBODY.search(begins.sub("I", each.text)) for each in told)
    return [] if kept and not persona else told


def _own_sentence(
    marked: str, written: str, pronoun: str, *, topic: bool, means: bool
) -> OwnSentence:
    """Tell one sentence that is not in the first person.

    Args:
        written: What it stays as where it names the NPC and who else "her" may be.
        topic: Whether the pronoun means the NPC where the sentence begins with it.
        means: Whether it does anywhere, if the sentence names nobody else.
    """
    subject, of_it, its_own, *_ = _FORMS[pronoun]
    words = re.findall(rf"[\w'{_I}{_MY}]+", marked)
    first = words[0].lower().partition("'")[0] if words else ""
    own = first == _I or (topic and first in (subject, its_own))
    rivals = first == _MY and any(each in _OTHER_PEOPLE[pronoun].split() for each in words[:5])
    refers = own or first == _MY or (means and not _PROPER.search(marked.partition(" ")[2]))
    unclear = re.search(rf"[{_I}{_MY}].*\b(?:{of_it}|{its_own})\b", marked)
    stays = unclear and not refers and pronoun in (SHE, HE)
    text = written if stays else _retold(marked, pronoun, refers=refers, rivals=rivals)
    own |= refers and bool(_FIRST_PERSON.search(text)) and not rivals
    return OwnSentence(text, not own and bool(_LEANS.search(text)), own)


def _with_object(marked: str, of_it: str) -> str:
    """Mark "her" where it can only be the NPC: "Maud visits her" names nobody else."""
    begins, found = _SOMEBODY.match(marked), re.search(rf"\b{of_it}\b", marked)
    if not (begins and found) or begins[0].split()[0].lower() in FUNCTION_WORDS:
        return marked
    if begins[0].endswith("'s"):  # "Maud's mare threw her"
        return marked
    between, after = marked[begins.end() : found.start()], marked[found.end() :]
    others = _PROPER.search(between) or _DETERMINED.search(between)
    near = _I in between or _MY in between or len(between.split()) <= SUBJECT_APART
    if others or not near or of_it not in ("her", "him") or _is_owned(_TOKEN.findall(after)[:2]):
        return marked
    return f"{marked[: found.start()]}{_I}{after}"


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


def _retold(marked: str, pronoun: str, *, refers: bool, rivals: bool) -> str:
    """Put the NPC's forms into the first person.

    Args:
        refers: Whether the pronoun means the NPC.
        rivals: Whether it may mean somebody else whom the sentence is about too.
    """
    subject, of_it, its_own, alone, itself = _FORMS[pronoun]
    tokens = _TOKEN.findall(marked)
    out: list[str] = []
    verb = present = False  # a verb of the NPC's is to come; its last one was in the present
    acts = False  # the NPC was the subject of one
    for place, token in enumerate(tokens):
        word, _, short = token.lower().partition("'")
        ahead = tokens[place + 1 : place + 3]
        begins = _begins_clause(tokens, place) and bool(ahead[1:])
        if word in ("who", "which"):  # what follows is of somebody or something else
            present = acts = False
        if token == _MY and not _is_owned(ahead):
            out.append("mine")
        elif token == _MY or (word == its_own and refers and not rivals and _is_owned(ahead)):
            out.append("my")
        elif token == _I and not begins:
            out.append("me")
        elif token == _I or (
            word == subject and refers and not rivals and (word != of_it or begins)
        ):
            out.append({"": "I", "s": "I'm", "re": "I'm"}.get(short, f"I'{short}"))
            verb, acts = not short, True
        elif word == of_it and refers:
            out.append("me")
        elif word in (alone, itself) and refers and not rivals:
            out.append("mine" if word == alone else "myself")
        elif not token[0].isalpha():
            out.append(token)
            verb &= not token.startswith(",")  # an apposition
        elif verb:
            verb = word in ADVERBS or word.endswith("ly")
            present = not verb and _base(token) != token
            out.append(token if verb else _base(token))
        elif (present or (acts and word in ("is", "has"))) and _goes_on(tokens, place):
            out.append(_base(token))
        else:
            out.append(token)
    told = "".join(out)
    return told[:1].upper() + told[1:]


def _is_owned(ahead: list[str]) -> bool:
    """Whether "her" stands before a noun: "her inn", not "behind her."."""
    return len(ahead) == 2 and ahead[0].isspace() and ahead[1].lower() not in _NO_NOUN


def _begins_clause(tokens: Sequence[str], place: int) -> bool:
    before = [token for token in tokens[:place] if token.strip()]
    return not before or before[-1].lower() in _OPENS_A_CLAUSE or not before[-1][-1:].isalpha()


def _goes_on(tokens: Sequence[str], place: int) -> bool:
    """Whether a word is one more verb of the NPC's: "stamps letters and sorts them"."""
    last = next(token for token in reversed(tokens[:place]) if token.strip()).lower()
    word = tokens[place].lower()
    ahead = next((each.lower() for each in tokens[place + 1 :] if each[0].isalpha()), "")
    if last.strip() == ",":  # "dislikes braggarts, loves gossip"; not "nets, hooks and lines"
        follows = "".join(tokens[place + 1 : place + 2]).isspace()
        return follows and word in _BASE_OF and ahead not in ("and", "or")
    if last not in ("and", "or", "but"):
        return False
    third = word.endswith("s") and word not in _NO_S and ahead in _BEFORE_AN_OBJECT
    return word in _BASE_OF or third


def _base(verb: str) -> str:
    """Return a third person singular as it stands after "I"."""
    lower = verb.lower()
    if lower in _BASE_OF:
        return _BASE_OF[lower]
    if len(lower) < 4 or not lower.endswith("s") or lower.endswith("ss") or lower in _NO_S:
        return verb
    if lower.endswith("ies") and lower[:-1] not in ("tie", "untie", "die", "lie", "belie", "vie"):
        return f"{verb[:-3]}y"
    return verb[:-2] if lower.endswith(("shes", "ches", "sses", "xes", "oes")) else verb[:-1]
