"""Questions: recognise sentences that ask or request information, with or without question mark.

Without one the order of the words decides: a verb before its subject ("do i own a mill"), a
question word before such a verb ("where did i put my key"), a tag ("you are the smith, right").
Rules on the beginning and the end of a clause, not a parser; in doubt a clause is a statement.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import groupby

from ..text.segmentation import parts_between, sentence_ends
from . import tokens
from .tokens import AFTER_A_VERB, BE, DO, HAVE, MODALS, POSSESSIVES, QUESTION_WORDS, hearsay

CHARACTERS_READ = 400  # characters of a sentence that are looked at
CALLED = 3  # words before the verb that may be a name or a title: "captain haldane did you see"

_SENTENCE = re.compile(r"[^.!?…;\n]+[.!?…;\n]*")
_AFTER = re.compile(r"(?<=[.!?…;])\s+|(?<=[.!?…][\"'”’)])\s+")
_PART = re.compile(r"\s*,\s*|\s+[-–—]+\s+|:\s+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_DRESSING = " \"'”’)*~"

_REQUEST = re.compile(
    r"(?:^|[,.!?;:]\s*)(?:please\s+)?"
    r"(?:(?:tell|show)\s+(?:me|us)\b"
    # not "remind me to buy twine"
    r"|remind\s+(?:me|us)\b(?!\s+(?:please\s+|again\s+)?(?:not\s+)?"
    r"(?:to|that|if|before|at|in|on|by|next|today|tonight|tomorrow|tmrw)\b)"
    r"|(?:tell|say|explain|describe)\s+(?:again\s+)?(?:of|about|what|who|where|when|why|how|whether)\b)"
    # what somebody wonders is asked, in more words
    r"|\bI(?:['’]m| am| was)? (?:just )?wonder(?:ing)? (?:if|whether|what|who|where|when|why|how)\b"
    r"|\b(?:want|like) to know (?:if|whether|what|who|where|when|why|how)\b"
    r"|\b(?:you|u|ye) (?:still )?(?:remember|recall)"
    r" (?:about|of|if|what|who|where|when|why|how|my)\b"
    r"|\bany idea (?:if|what|who|where|when|why|how)\b|\bgimme what\b"
    # "say it back to me", "say me again what", "speak to me of Dax"
    r"|(?:^|[,.!?;:]\s*)(?:say|speak|talk) (?:(?:it|that|this) )?(?:again|back)? ?(?:to )?me\b",
    re.IGNORECASE,
)
_TAG_WORD = re.compile(r",\s*(?:right|eh|huh|innit)$|\bor (?:what|not)$", re.IGNORECASE)

_OPENERS = frozenset(
    "and but or so well oh ah hey hi hello yo ok okay now then um uh er hm hmm please wait sorry "
    "haha lol omg wow also anyway yes yeah no nah aye psst".split()
)
_URGES = (["come", "on"], ["go", "on"])
_SUBJECTS = frozenset("i you u ya ye he she we they thou".split())
_THINGS = frozenset(
    "it this that these those there anyone anybody anything someone somebody something everyone "
    "everybody everything nobody no-one".split()
)
_POSSESSIVES = POSSESSIVES | {"ur"}
_AUXILIARIES = BE | DO | HAVE | MODALS
_NEGATED = {  # "isn't", "isnt" and "dont"
    form: verb
    for verb, short in (
        *((verb, verb + "n") for verb in _AUXILIARIES - {"am", "may", "shall", "will", "can"}),
        ("will", "won"),
        ("can", "can"),
        ("am", "ain"),
    )
    for form in (f"{short}'t", f"{short}t")
}
_RELATIVE = frozenset("who whom whose which where when".split())
_CONTRACTED = {
    f"{word}{clitic}": word
    for word in QUESTION_WORDS
    for clitic in ("'s", "s", "'re", "'d", "d", "'ll", "'ve")
}
# how players spell question words
_SPELLED = {
    "wat": "what",
    "wot": "what",
    "whit": "what",
    "wats": "what's",
    "wots": "what's",
    "whaddya": "what'd",
    "whit's": "what's",
    "wen": "when",
    "wens": "when's",
    "wer": "where",
    "y": "why",
    "hw": "how",
    "duz": "does",
    "oo": "who",
    "oos": "who's",
}
_OF_STATE = frozenset("is was are were has".split())
# behind the subject of a question ("is Hobb in", "has Liora got a brother")
_BEHIND = frozenset(
    "a an the in at on from got still really ever any always going gone here there married".split()
)
_MEASURES = frozenset("much many long far old often come about".split())

# what stands before the verb in a statement ("neither do I", "never have I seen", "boy did I"),
# and what is nobody's name
_NO_NAME = (
    _SUBJECTS
    | _THINGS
    | _POSSESSIVES
    | QUESTION_WORDS
    | _AUXILIARIES
    | frozenset(_NEGATED)
    | frozenset(
        "so neither nor never rarely seldom hardly scarcely barely little only not such than as "
        "boy man sure nowhere here and but or to the a an i'm i've i'd i'll he's she's it's we're "
        "you're they're that's who's of in on at by with for from".split()
    )
)
_IF_VERBS = frozenset("had were should".split())
_THEN = frozenset("would could might should will shall 'd there'd i'd he'd she'd we'd".split())
_ORDERED = frozenset("dare worry forget ever mind bother go be let".split())  # "don't you dare"
_SUPERLATIVE = re.compile(r"^(?:only|first|last|same|best|worst|least|most|\w{3,}est)$")
_ANY = frozenset("any anyone anybody anything".split())
_ELIDED = frozenset("got need seen heard".split())  # "got any eels"


def asks(text: str) -> bool:
    """Whether a text ends by asking: its last sentence is a question or a request to be told.

    >>> [asks(said) for said in ("do i own a mill", "do come in", "who knows.", "what a day!")]
    [True, False, False, False]
    """
    sentences = _sentences(text)
    return bool(sentences) and _asks(sentences[-1])


_ASK_OF = frozenset("has did does can could would should".split())


def asks_about(text: str, names: Collection[str]) -> bool:
    """Whether a text begins as a question about one of `names` does, whatever it ends in.

    Args:
        names: Words, in lower case, that name people.

    >>> asks_about("is dessa married", {"dessa"}), asks_about("is a mill", {"dessa"})
    (True, False)
    """
    words = _words(text[:CHARACTERS_READ])
    return len(words) > 2 and words[0] in BE | _ASK_OF and words[1] in names


def asked(text: str) -> float:
    """The share of a text that asks, 0-1."""
    sentences = _sentences(text)
    asking = sum(len(sentence) for sentence in sentences if _asks(sentence))
    return asking / max(1, sum(map(len, sentences)))


def pieces(text: str) -> list[str]:
    """Split a text into its questions, one a piece, and the statements between them.

    >>> pieces("where is my key? i had it yesterday. it is of brass.")
    ['where is my key?', 'i had it yesterday. it is of brass.']
    """
    sentences = [each for each in map(str.strip, _AFTER.split(text)) if each]
    found = []
    for asking, run in groupby(sentences, key=asks):
        together = list(run)
        found += together if asking else [" ".join(together)]
    return found


def statements(text: str) -> str:
    """A text without its questions."""
    return " ".join(piece for piece in pieces(text) if not asks(piece))


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences; a question stands alone, with or without its question mark.

    A quotation stays in the sentence that says whose words it holds.
    """
    text = " ".join(text.split())
    quoted = hearsay(text)
    cuts = [
        cut
        for cut in sentence_ends(text)
        if not any(start < cut < end - 1 for start, end in quoted)
    ]
    return [
        piece
        for sentence in filter(None, map(str.strip, parts_between(text, cuts)))
        for piece in ([sentence] if hearsay(sentence) else pieces(sentence))
    ]


def own_statements(text: str) -> str:
    """What a speaker states: without questions and quotations of others."""
    own = [sentence for sentence in sentences_of(text) if not hearsay(sentence)]
    return statements(" ".join(own))


def _sentences(text: str) -> list[str]:
    return [found for found in _SENTENCE.findall(text) if _WORD.search(found)]


# "Mara, did you hear, the barn burnt down": what follows is told
_NEWS = re.compile(
    r"^(?:[\w'’-]+[,:] )?(?:(?:did|have) (?:you|u|ye|ya) (?:hear|heard)|guess what"
    r"|(?:you|u)(?:['’]ll| will)? never guess)\s*[,:]+\s*"
    r"(?!(?:what|who|where|when|why|how|is|are|was|were|did|does|do|have|has)\b)",
    re.IGNORECASE,
)


# "have you heard?": news follows, or is to be asked for
_OPENS_NEWS = re.compile(
    r"(?:[\w'’-]+[,:] )?(?:(?:did|have) (?:you|u|ye|ya) (?:hear|heard)(?: the news)?|guess what"
    r"|(?:you|u)(?:['’]ll| will)? never guess)\W*",
    re.IGNORECASE,
)
# "did you know Nell's been made reeve?": told in the form of a question
_NO_RELATIVE = (
    r"(?!(?:what|who|whom|whose|where|when|why|how|which|that"
    r"|before|after|until|since|well|much)\b)"
)
_ENDS_OPEN = re.compile(r"\b(?:to|for|with|from|at|on|about|of)\W*$", re.IGNORECASE)
_TOLD_AS_ASKED = re.compile(
    r"^(?:[\w'’-]+[,:]? )?did (?:you|u|ye|ya) (?:know|hear)(?: that)?,? "
    r"(?!(?:if|whether|of|about|from|any\w*|the \w+ (?:i|you|he|she|they|(?-i:[A-Z])\w+))\b)"
    rf"(?:{_NO_RELATIVE}[\w'’-]+ ){{0,3}}?{_NO_RELATIVE}[\w-]+(?:['’]s (?:been|got|gone|going)"
    r"| (?:has|have|had|was|were|is|are|got|went|left|died|came|fell|burn(?:ed|t)|broke|sank|won"
    r"|lost|drowned|married|ran|sold|bought|found|stole|opened|closed|moved|collapsed|escaped|arrived))\b",
    re.IGNORECASE,
)


def _asks(sentence: str) -> bool:
    """Whether one sentence asks."""
    bare = sentence.strip(_DRESSING + "\n")
    told = _TOLD_AS_ASKED.match(bare) and not _ENDS_OPEN.search(bare)
    if told or _OPENS_NEWS.fullmatch(bare):
        return False
    if bare.endswith("?"):
        return True
    bare = _NEWS.sub("", bare[:CHARACTERS_READ].rstrip(".!…;").strip(_DRESSING))
    if _REQUEST.search(bare) or _TAG_WORD.search(bare):
        return True
    parts = [_words(part) for part in _PART.split(bare)]
    parts = [part for part in parts if part]
    if not parts:
        return False
    return _is_tagged(parts) or any(
        _inverted(part, last=place == len(parts) - 1, follows=not _may_open(parts[:place]))
        for place, part in enumerate(parts)
        # "Liora, who is my sister, keeps bees"
        if place in (0, len(parts) - 1) or part[0] not in _RELATIVE
    )


def _words(text: str) -> list[str]:
    words = (word.lower().replace("’", "'") for word in _WORD.findall(text))
    return [_SPELLED.get(word, word) for word in words]


def _may_open(before: Sequence[Sequence[str]]) -> bool:
    """Whether a question may begin behind these parts: a name, a cry, a clause of "if"."""
    return all(
        len(part) <= CALLED or part[0] in ("if", "when", "since", "because") for part in before
    )


def _inverted(words: list[str], *, last: bool, follows: bool) -> bool:
    """Whether a part of a sentence begins as questions do.

    Args:
        last: It is the last part.
        follows: More stands before it than a name: then only a pronoun behind the verb tells.
    """
    if words[:2] in _URGES and len(words) > 3:
        words = words[2:]
    while len(words) > 2 and words[0] in _OPENERS and not _agrees(words):
        words = words[1:]
    if follows:
        return last and words[0] not in _IF_VERBS and _strictly(words)
    if _opens(words, last=last):
        return True
    for place in range(1, min(CALLED + 1, len(words) - 1)):
        if words[place - 1] in _NO_NAME:
            return False
        if _strictly(words[place:]):
            return True
    return False


def _agrees(words: list[str]) -> bool:
    """ "so do I", "and so will we": nothing is asked."""
    return words[0] == "so" and len(words) == 3 and _verb_first(words[1:], strictly=True)


def _strictly(words: list[str]) -> bool:
    """Whether words ask wherever they stand: a verb before a pronoun, with a question word or
    without ("did you", "where is it"), or "what about"."""
    head, rest = words[0], words[1:]
    if head in ("what", "how") and rest[:1] == ["about"]:
        return True
    if head in _CONTRACTED:
        return bool(rest) and rest[0] in _SUBJECTS | _POSSESSIVES | {"it", "that", "this"}
    return _verb_first(rest if head in QUESTION_WORDS else words, strictly=True)


def _opens(words: list[str], *, last: bool) -> bool:
    head, rest = words[0], words[1:]
    if head in QUESTION_WORDS or head in _CONTRACTED:
        return _by_question_word(words, last=last)
    if head in _ANY:
        return last and not any(map(_is_finite, rest[head == "any" :]))
    if head in _ELIDED:
        return rest[:1] == ["any"]
    if head in ("you", "u") and rest:
        return rest[0].endswith("ing") and (len(rest) == 1 or rest[1] in AFTER_A_VERB)
    return (last or head not in _IF_VERBS) and _verb_first(words)


def _is_finite(word: str) -> bool:
    if word in _AUXILIARIES or word in _NEGATED or word in tokens.THIRD:
        return True
    return word in ("who", "that")  # "any man who": more is said of him


def _verb_first(words: list[str], *, strictly: bool = False) -> bool:
    """Whether words begin with a verb and its subject: "do i", "isn't the mill", "did wolves".

    Args:
        strictly: Only pronouns are subjects: what stands before it may be anything.
    """
    if len(words) < 2:
        return False
    verb, subject, rest = _NEGATED.get(words[0], words[0]), words[1], words[2:]
    if verb not in _AUXILIARIES:
        return False
    if words[0] in _NEGATED and verb == "do" and rest and rest[0] in _ORDERED:
        return False  # "don't you dare"
    if verb == "may" and subject not in ("i", "we"):
        return False  # "may you live long"
    if verb in _IF_VERBS and _THEN.intersection(rest):
        return False  # "had I known, I would have come"
    if subject in _SUBJECTS:
        return True
    if subject in ("it", "there") and (verb in BE | MODALS or not strictly):
        return verb not in ("do", "have", "had") and (bool(rest) or verb in BE)
    if strictly or not rest or subject in QUESTION_WORDS or subject == "not":
        return False
    if subject in _THINGS:
        return verb not in ("do", "have")
    determined = subject in _POSSESSIVES or subject == "the"
    if words[0] in _NEGATED:
        return verb != "do" and determined
    if verb == "do":  # "do wolves hunt", and not "do come in" or "do the dishes"
        then = rest[determined : determined + 1]
        return subject not in tokens.BASES and bool(then) and then[0] in tokens.BASES
    if verb in ("does", "did"):
        return subject not in ("a", "an", "some", "no")
    if verb == "are":  # nobody leaves "we" or "they" out before it
        return subject not in ("a", "an", "so", "too", "all", "both")
    if verb == "have":
        return False
    if determined:
        return len(rest) > 1 and not _SUPERLATIVE.match(rest[0])
    if verb not in _OF_STATE or len(rest) < 2:
        return False
    return rest[0] in _POSSESSIVES | {"been"} | _BEHIND or rest[0].endswith("ing")


def _by_question_word(words: list[str], *, last: bool) -> bool:
    word, rest = _CONTRACTED.get(words[0], words[0]), words[1:]
    contracted = words[0] not in QUESTION_WORDS
    if not rest:
        return last and not contracted  # "what", "who"
    after = rest[0]
    if word in ("what", "how") and after in ("a", "an", "nice", "lovely"):
        return False  # "what a day"
    if word == "why":
        return True
    if word == "who":
        return contracted or after not in ("knows", "cares")
    if contracted:
        return not (word == "what" and after in ("more", "done"))
    if after in _AUXILIARIES or after in _NEGATED:
        # "when is the fair" asks; "when the fair is over" tells
        return word in ("what", "where", "how", "when") or _verb_first(rest, strictly=True)
    if word == "when":  # "when I was young" tells, "when you coming" asks
        return last and _goes_on(rest)
    if after in ("you", "u", "ya"):
        return last and not any(each in _AUXILIARIES for each in rest[2:])
    if word == "how":
        return after in _MEASURES or (len(rest) > 1 and _verb_first(rest[1:]))
    if after.partition("'")[0] in _SUBJECTS | _THINGS:
        return False  # "what I need", "where I come from"
    if word == "where":
        return any(_verb_first(rest[place:], strictly=True) for place in range(1, len(rest)))
    return last and not (word == "which" and len(rest) == 1)


def _goes_on(words: list[str]) -> bool:
    return len(words) > 1 and words[0] in _SUBJECTS and words[1].endswith("ing")


def _is_tagged(parts: list[list[str]]) -> bool:
    """Whether a question is hung on: "…, is it", "… isn't he"."""
    *_, end = parts
    if len(end) < 2 or sum(map(len, parts)) < 4:
        return False
    verb, subject = end[-2:]
    if subject not in _SUBJECTS | {"it", "there"}:
        return False
    if verb in _NEGATED:
        return True
    if verb not in _AUXILIARIES:
        return False
    if len(end) == 2:
        return subject != "it" or verb in BE | MODALS | {"does"}
    before = [word for part in parts for word in part][:-2]
    return any(_NEGATED.get(word) == verb for word in before)


# before a question word at the beginning of a line or of its last part: "with who does Cal marry"
_BEFORE_WH = frozenset("with from to for of on in at by since until till after before".split())
_ASKED_BY_ONE_CLAUSE = 9  # words of "when Zoe sing at the deck", which tells nothing by itself
_PERSONS = _SUBJECTS | frozenset("it there im ur youre".split())
_ASKED_LAST = frozenset("where when who whom".split())
# "I know who", "he did not say when", "tomorrow or when"
_TAKES_QUESTION_WORD = frozenset(
    "know knows knew known say says said saying tell tells told guess forget forgets forgot"
    " forgotten remember remembers matter and or n no but sure wonder idea see care cares ask"
    " asks asked depends find found recall".split()
)
_BEFORE_NO_QUESTION = frozenset("me him us you exactly just out to for up time".split())
_TITLES = frozenset("mr mrs ms miss mister master lady lord sir dame old young doctor dr".split())
_ENDS_SENTENCE = re.compile(r"(?<=[.!?…;])\s+")


def seems_to_ask(text: str, names: Collection[str] = ()) -> bool:
    """Whether a line said to somebody asks, in whatever order its words are.

    Looser than `asks`: "what I did give you to keep", "with who does Cal marry", "which team she
    has now". Of lines that tell it takes a few for questions.

    Args:
        names: Words, in lower case, that name people.

    >>> [seems_to_ask(said) for said in ("when Zoe sing at the deck", "what I need is a drink")]
    [True, False]
    >>> [seems_to_ask(said) for said in ("Callie works where", "he does not know when")]
    [True, False]
    """
    sentences = [
        each for each in _ENDS_SENTENCE.split(text[:CHARACTERS_READ]) if _WORD.search(each)
    ]
    return any(
        _seems_to_ask(
            [part for part in map(_words, _PART.split(each)) if part],
            names,
            alone=len(sentences) == 1,
        )
        for each in sentences
    )


def _seems_to_ask(parts: list[list[str]], names: Collection[str], *, alone: bool) -> bool:
    if not parts:
        return False
    first, last = parts[0], parts[-1]
    if any(_asks_within(part) for part in parts):
        return True
    while len(first) > 2 and first[0] in _OPENERS:
        first = first[1:]
    if len(first) > 2 and first[0] in BE and first[1] in _TITLES and first[2] in names:
        return True  # "is Miss Lottie a married woman or no"
    for called in range(min(CALLED, len(first))):  # "Hattie with who does Cal marry"
        if called and first[called - 1] not in names and first[called - 1] not in _TITLES:
            break
        if _asks_whatever_follows(first[called:], alone=alone and len(parts) == 1):
            return True
    return (len(parts) > 1 and _asks_at_the_end(last)) or _ends_on_what_is_asked(last)


def _ends_on_what_is_asked(words: list[str]) -> bool:
    """Whether the last word asks: "Callie works where"; not "he needn't know why"."""
    *before, end = words
    if len(before) < 2 or end not in _ASKED_LAST or before[-1] in _BEFORE_NO_QUESTION:
        return False
    own = before[0] in ("i", "i'm", "i'll", "we")
    return not own and not _TAKES_QUESTION_WORD.intersection(before) and not _denies(before)


def _denies(words: Sequence[str]) -> bool:
    return any(word in _NEGATED or word in ("not", "never", "dont", "cant") for word in words)


def _asks_within(words: list[str]) -> bool:
    """Whether words ask anywhere within: "if the bell rings what do you do"."""
    return any(
        word in QUESTION_WORDS and _verb_first(words[place + 1 :], strictly=True)
        for place, word in enumerate(words)
    )


def _asks_whatever_follows(words: list[str], *, alone: bool) -> bool:
    """Whether a line that begins with these words asks.

    Args:
        alone: The line has no other part.
    """
    if len(words) < 3:
        return False
    head, rest = words[0], words[1:]
    if head in _BEFORE_WH:
        return rest[0] in {"who", "whom", "when"} or (
            rest[0] in {"what", "which"} and _finite(rest[1:]) < 2
        )
    word = _CONTRACTED.get(head, head)
    if word == "when":
        return alone and len(words) <= _ASKED_BY_ONE_CLAUSE and _persons(rest) < 2
    if word == "how":
        return head != word and rest[0] in ("old", "olds", "big", "far", "long")
    if head in _ANY:
        return rest[0] in _SUBJECTS | _POSSESSIVES | {"the"}
    if word == "what":
        if rest[0] in ("a", "an", "matters", "counts"):
            return False
        if rest[0] in BE or _verb_first(rest[1:]):  # "what trade is the lady after"
            return True
        return not BE.intersection(rest[1:]) and _finite(rest[2:]) < 2
    return word in ("which", "whose") and rest[0] not in BE | MODALS


def _asks_at_the_end(words: list[str]) -> bool:
    """Whether the last part of a line asks: "which team she has now", "to who goes the ring"."""
    if len(words) < 3:
        return False
    head, rest = words[0], words[1:]
    if head in ("with", "to"):
        return rest[0] in ("who", "whom")
    if _CONTRACTED.get(head, head) == "what":
        return head != "what" or rest[0] in BE or bool(_SUBJECTS.intersection(rest[:2]))
    if head == "where":
        return rest[0] in BE and rest[1] in _POSSESSIVES | {"the"} | _SUBJECTS
    return (
        head == "which" and rest[0] not in _AUXILIARIES and bool(_SUBJECTS.intersection(rest[1:3]))
    )


def _finite(words: Sequence[str]) -> int:
    return sum(word in _AUXILIARIES or word in _NEGATED for word in words)


def _persons(words: Sequence[str]) -> int:
    return sum(word.partition("'")[0] in _PERSONS for word in words)


# --- what a question is about ---------------------------------------------------------------------

_OF_ASKING = re.compile(
    r"\b(?:ask(?:s|ed|ing)?|questions?|inquir\w+|wonder\w*|wants? to know|wanted to know)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"\bwhen\b|\bhow long\b|\b(?:what|which) (?:date|day|week|month|year|season|time)\b",
    re.IGNORECASE,
)
# "tell me" and "where can I find" ask, and are not about whoever asks
_OF_ONESELF = re.compile(
    r"\b(?:my|mine|myself|our|ours)\b|\b(?:about|know|of|remember) (?:me|us)\b"
    r"|\b(?:do|did|am|was|have|had) (?:i|we)\b"
    r"|\b(?:i|we) (?:said|told|mentioned|like|love|hate|prefer|promised|asked|do for)\b",
    re.IGNORECASE,
)


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return bool(_WHEN.search(question))


_SEVERAL = re.compile(
    r"\bhow many\b|\bwhat (?:all|else)\b|\b(?:kind|type|sort)s? of\b|\bnames\b"
    # "which cities has he seen", "what are her hobbies": a plural near the question word
    r"|\b(?:what|which)\b(?:\s+(?:are|were|the|other|of)\b)*"
    r"(?:\s+(?!(?:do|did|have|had|is|was)\b)[^\W\d_]+(?:['’]s)?){0,3}?"
    r"\s+(?!(?:does|has|is|was|this|his|its)\b)[^\W\d_]*[^s\W\d_]s\b"
    # "where has he been": over a whole past
    r"|\b(?:what|which|where|whom?)\b.*?\b(?:has|have|['’]ve)\b",
    re.IGNORECASE,
)


def asks_for_several(question: str) -> bool:
    """Whether the answer may be a list, gathered from several occasions."""
    return bool(_SEVERAL.search(question))


def asks_of_asking(question: str) -> bool:
    """Whether a question is about what somebody asked: "what did Bram want to know?"."""
    return bool(_OF_ASKING.search(question))


# of taste, of a way of life: what it did, heard or promised is a matter of memory
_OF_LIFE = re.compile(
    r"\b(?:your|ur|yer) (?:own )?(?:favou?rite|age|family|childhood|dreams?|hobby|hobbies|husband"
    r"|wife|children|kids|parents)\b"
    r"|\b(?:do|don['’]?t|would|could|did) (?:you|u|ye) (?:ever |really |actually |also |even )*"
    r"(?:like|enjoy|prefer|love|hate|mind|fear|dream|sleep|drink|eat|sing|dance|cook|pray|believe"
    r" in|get (?:lonely|bored|tired))\b"
    r"|\bhow long (?:have|had) (?:you|u|ye)\b|\bhow old (?:are|r) (?:you|u|ye)\b"
    r"|\bwhy (?:do|don['’]?t|are|r) (?:you|u|ye) (?!think|believe|ask|say|want|need|know|tell)"
    r"|^\W*(?:are|r) (?:you|u|ye) (?!sure|certain|going|coming|still|aware|free|able|open)\w+\W*$"
    r"|\bwhere (?:do|did|are|r|were) (?:you|u|ye) (?:come from|from|live|sleep|grow up|born)\b"
    r"|\b(?:what|which) (?:city|town|village|country|land|part) (?:do|did|are|were) (?:you|u|ye)"
    r" (?:really |originally )?(?:come |born |grow up )?\b"
    r"|\bfrom (?:what|which) (?:city|town|village|country|land) (?:do|did|are) (?:you|u|ye)\b"
    r"|\b(?:do|have) (?:you|u|ye) (?:have|got) (?:an? |any )?(?:family|children|kids|husband|wife"
    r"|brothers?|sisters?|sweetheart)\b",
    re.IGNORECASE,
)
_ABOUT_OTHERS = re.compile(r"\b(?:i|me|my|mine|us|we|our|him|her|them|they|he|she)\b", re.I)


def asks_of_a_life(question: str) -> bool:
    """Whether a question is about the life or the taste of whom it asks, and about nobody else.

    >>> [asks_of_a_life(said) for said in ("do you like the rain?", "do you like my hat?")]
    [True, False]
    """
    return bool(_OF_LIFE.search(question)) and not _ABOUT_OTHERS.search(question)


_OF_YOU = re.compile(r"\b(?:you|your|yours|yourself|ya|ye|ur|u(?!\.))\b", re.IGNORECASE)


def asks_of_you(question: str) -> bool:
    """Whether a question speaks of the one who is asked: "what did you promise"."""
    return bool(_OF_YOU.search(question))


def asks_of_oneself(question: str) -> bool:
    """Whether a question is about the person who asks it: "where is my brother"."""
    return bool(_OF_ONESELF.search(question))


_OF_A_WHOLE = re.compile(
    r"\btell (?:me|us)(?: more)? (?:about|of)\b"
    r"|\b(?:what|wat|whit|wot)\b.{0,14}\b(?:know|kno|ken|heard?|remember)\b.{0,6}\b(?:of|about|abt|on)\b"
    r"|\bwho(?:['’]?s| is)\b.{0,20}(?:anyway|exactly|really)|\bdeal\b|\bdescribe\b|\bopinion\b"
    r"|\bwhat (?:sort|kind|manner) of (?:man|woman|person|one)\b|\b(?:make|think) of\b",
    re.I,
)
# "tell me about Alice's silver key", "what do you know of my brother?"
_OF_A_THING = re.compile(r"\b(?:of|about|abt|on)\s+(?:[\w-]+['’]s|my|our)\s+[^\W\d_]")


_OF_ONE_WHO_ASKS = re.compile(
    r"\b(?:know|heard?|think|tell me)\b.{0,6}\b(?:of|about) me\b", re.IGNORECASE
)


def asks_of_a_whole(question: str) -> bool:
    """Whether a question asks for all of somebody or something: "tell me about Bram"."""
    return bool(_OF_A_WHOLE.search(question))


def asks_of_a_thing(question: str) -> bool:
    """Whether it asks so for something or somebody of a person's: "tell me of Bram's horse"."""
    return bool(_OF_A_WHOLE.search(question) and _OF_A_THING.search(question))


def asks_of_oneself_as_a_whole(question: str) -> bool:
    """Whether it asks so for the one who asks: "what do you know about me?"."""
    return bool(_OF_ONE_WHO_ASKS.search(question))
