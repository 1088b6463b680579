"""Words, their stems, and the lists of words that several rules share."""

from __future__ import annotations

import re
from functools import lru_cache

import snowballstemmer

from . import verbs

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
UNLISTED = 2.0  # Zipf frequency of a word that the short list leaves out (it ends at 3)
STEMS_KEPT = 20_000  # words whose stem is cached; the stemmer takes 40 µs a word

POSSESSIVES = frozenset("my your his her its our their".split())
QUESTION_WORDS = frozenset("who whom whose what which where when why how".split())
NUMBERS = {
    word: value
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(),
        start=2,
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "thousand": 1000}
# a line of nothing but these tells nothing
FILLERS = frozenset(
    "a ah aha ahh all alright amen and are aw aww awesome aye be bye cheers come congrats "
    "congratulations cool day do eh er evening exactly fine for god good gosh great ha haha hah "
    "have heh hello hey hi hm hmm hmmm huh i i'm indeed is it it's just kay la laughter laughs "
    "like lol man me mhm mm mmhm mmm morning my nah nay nice night no nope now of oh ohh ok okay "
    "on ooh oops ouch ow perfect please really right so sorry sure ta thank thanks that that's "
    "the then there this to too uh uhh um umm us very wait we well what whoa with wow yay yea "
    "yeah yep yes you your yup".split()
)
# words that carry no meaning of their own
FUNCTION_WORDS = frozenset(
    "a an the and or but if of in on at to for from with about by as is are was were be been "
    "am do does did have has had what who where when why how which whose i me my mine you your "
    "yours he she it its they them their we us our this that these those there here know knows "
    "knew tell told say said says remember recall anything something please can could would "
    "will shall should may might must any some not no so just again ever really think hear "
    "heard he's she's it's what's who's where's i'm you're".split()
)


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without a possessive ending."""
    found = (word.lower().replace("’", "'") for word in WORD.findall(text))
    return [word.removesuffix("'s") for word in found]


def content_words(text: str) -> set[str]:
    """The stems of the words that carry meaning."""
    return {stem(word) for word in words_of(text) if word not in FUNCTION_WORDS}


@lru_cache(maxsize=STEMS_KEPT)
def stem(word: str) -> str:
    """The Snowball stem of a word (docs/adr/022); of an irregular past tense that of its base.

    >>> [stem(word) for word in ("keeps", "kept", "hiding")]
    ['keep', 'keep', 'hide']
    """
    # a stemmer of its own for each call: one holds the word that it works on, and threads share it
    return str(snowballstemmer.stemmer("english").stemWord(verbs.base(word)))


@lru_cache(maxsize=10_000)
def zipf(word: str) -> float:
    """The Zipf frequency of a word: `the` has 8, `ferry` 4. For worker threads."""
    # Imported late and from its short list: wordfreq costs 0.1 s to import, its long list holds
    # the interpreter for 20 ms at once when it is read, and the reactor with it
    from wordfreq import zipf_frequency

    return float(zipf_frequency(word, "en", wordlist="small", minimum=UNLISTED))
