"""Words, stems, verb forms and sentences: the word lists and the splitter that all rules share.

Word lists, not a grammar: a word that is also a noun ("watch", "rose") counts as a verb here, and
the rules that use these lists look at its neighbours.
"""

from __future__ import annotations

import re
from functools import lru_cache

import snowballstemmer

from ..text.segmentation import words_of

UNLISTED = 2.0  # Zipf frequency of a word that the short list leaves out (it ends at 3)
COMMON = 3.8  # Zipf frequency of a word that other languages hardly use
STEMS_KEPT = 20_000  # words whose stem is cached; the stemmer takes 40 µs a word

QUESTION_WORDS = frozenset("who whom whose what which where when why how".split())
_UNITS = "one two three four five six seven eight nine".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
# the longest first, as a regular expression needs them; "one" alone counts nothing
NUMBERS = {
    f"{ten}{between}{unit}": 10 * tens + units
    for tens, ten in enumerate(_TENS, start=2)
    for units, unit in enumerate(_UNITS, start=1)
    for between in " -"
}
NUMBERS |= {
    word: value
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen".split(),
        start=2,
    )
}
NUMBERS |= {ten: 10 * tens for tens, ten in enumerate(_TENS, start=2)}
NUMBERS |= {"hundred": 100, "thousand": 1000}
NUMBER_WORD = "|".join(NUMBERS)  # the alternatives of a regular expression
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
    return str(snowballstemmer.stemmer("english").stemWord(base_form(word)))


@lru_cache(maxsize=10_000)
def zipf(word: str) -> float:
    """The Zipf frequency of a word: `the` has 8, `ferry` 4. For worker threads."""
    # Imported late and from its short list: wordfreq costs 0.1 s to import, its long list holds
    # the interpreter for 20 ms at once when it is read, and the reactor with it
    from wordfreq import zipf_frequency

    return float(zipf_frequency(word, "en", wordlist="small", minimum=UNLISTED))


def is_english(text: str) -> bool:
    """Whether most words of a text are common in English. For worker threads."""
    return share_of_english(text) >= 0.5


def share_of_english(text: str) -> float:
    """Return the share of the words of a text that are common in English, 1 of none (worker)."""
    words = words_of(text)
    return sum(zipf(word) >= COMMON for word in words) / len(words) if words else 1.0


# --- verbs ----------------------------------------------------------------------------------------

# past tense or participle → base form
IRREGULAR = dict(
    pair.split(":")
    for pair in (
        "became:become began:begin bent:bend bit:bite bled:bleed blew:blow bought:buy bound:bind "
        "bred:breed broke:break brought:bring built:build burnt:burn came:come caught:catch "
        "chose:choose clung:cling crept:creep dealt:deal drank:drink dreamt:dream drew:draw "
        "drove:drive dug:dig ate:eat fed:feed fell:fall felt:feel fled:flee flew:fly fought:fight "
        "forbade:forbid forgave:forgive forgot:forget found:find froze:freeze gave:give got:get "
        "grew:grow heard:hear held:hold hid:hide kept:keep knelt:kneel knew:know laid:lay "
        "learnt:learn led:lead left:leave lent:lend lit:light lost:lose made:make meant:mean "
        "met:meet overheard:overhear paid:pay ran:run rang:ring rode:ride rose:rise said:say "
        "sang:sing sank:sink sat:sit saw:see sent:send shone:shine shook:shake shot:shoot "
        "slept:sleep slid:slide slung:sling sold:sell sought:seek spat:spit spent:spend "
        "spilt:spill spoke:speak sprang:spring stank:stink stole:steal stood:stand struck:strike "
        "stuck:stick stung:sting swam:swim swept:sweep swore:swear swung:swing taught:teach "
        "thought:think threw:throw told:tell took:take tore:tear trod:tread understood:understand "
        "went:go wept:weep woke:wake won:win wore:wear wound:wind wove:weave wrote:write "
        "drowned:drown broken:break stolen:steal fallen:fall given:give taken:take gone:go"
    ).split()
)
# verbs whose past tense is their base form
SAME_IN_THE_PAST = frozenset(
    "beat burst cast cost cut hit hurt let put quit read set shed shut slit split spread".split()
)
BE = frozenset("am is are was were".split())
DO = frozenset("do does did".split())
HAVE = frozenset("have has had".split())
MODALS = frozenset("can could will would shall should may might must".split())
AUXILIARIES = (
    BE | DO | HAVE | MODALS | frozenset("be been being ought cannot gonna wanna used".split())
)
# words that often follow a verb, and tell it from a noun
AFTER_A_VERB = frozenset(
    "a an the my your his her its our their this that these those it him them me us in on at to "
    "for from with up down out off over about away back any all some here there home again alone "
    "now today tomorrow tonight".split()
)
BASES = (
    frozenset(IRREGULAR.values())
    | SAME_IN_THE_PAST
    | frozenset(
        "accept act add admire adopt adore agree answer appear apply appreciate arrive ask attack "
        "attend avoid bake be beg believe belong bet bless borrow brew bring burn bury call camp "
        "care carry cast celebrate chase check cherish claim clean climb close collect come "
        "compete complain cook cough count cover craft create cross cry curse cut dance decide "
        "defend deliver depend despise destroy die dislike do doubt dread drop dye earn end enjoy "
        "enter escape expect explain explore express farm fear feel fetch fight fill finish fish "
        "fix focus follow forge gather get give go grab greet grieve guard guess guide handle "
        "hang happen harvest hate haul have head heal help hike hire hope host hunt imagine "
        "inspire intend invent invite join joke jump keep kick kill kiss knit knock lack land "
        "laugh lead learn leave lie like listen live load loathe look love make manage mark "
        "marry mend mention mine miss mourn move need notice observe offer open order organize "
        "own owe pack paint pass pay perform pick plan plant play plot point pour practice "
        "practise praise pray prefer prepare preserve promise protect prove pull push put rage "
        "raise read realize receive record refill refuse regret remain remember remind rent "
        "repair rescue rest return ride rob roll rule run sail save say seem serve share shout "
        "show sign smell smile smoke sneak sound speak spend stab start stay stop study suffer "
        "support swear take talk taste teach tend test thank tie touch trade train travel treat "
        "trust try turn use visit volunteer wait walk want warn wash waste watch wave wear weave "
        "wish wonder work worry worship write".split()
    )
)

_VERB_PREFIX = re.compile(r"^(?:re|over|under|out|mis|un|up)(?=[a-z]{3})")
_IN_ED_BASES = frozenset(
    "need feed seed heed speed bleed breed weed succeed proceed exceed".split()
)
_IN_ED = frozenset("bed red shed sled wed hundred sacred wicked naked".split()) | _IN_ED_BASES


def is_past(verb: str) -> bool:
    """Whether the form of a word is that of a past tense."""
    lower = verb.lower()
    regular = lower.endswith("ed") and len(lower) > 3 and lower not in _IN_ED
    return regular or lower in IRREGULAR or _VERB_PREFIX.sub("", lower) in IRREGULAR


def base_form(word: str) -> str:
    """The base form of an irregular past tense; any other word unchanged."""
    return IRREGULAR.get(word, word)


def is_participle(word: str) -> bool:
    """Whether a word can follow "had": been, gone, sold, lived."""
    return word in ("been", "had", "done", "gone", "seen", "known", "grown") or is_past(word)


def third_singular(verb: str) -> str:
    """The third person singular of a verb in the present tense.

    >>> [third_singular(verb) for verb in ("go", "carry", "keep", "watch")]
    ['goes', 'carries', 'keeps', 'watches']
    """
    lower = verb.lower()
    if lower in ("have", "do", "go"):
        return {"have": "has", "do": "does", "go": "goes"}[lower]
    if re.search(r"(?:s|x|z|ch|sh|o)$", lower):
        return verb + "es"
    if re.search(r"[^aeiou]y$", lower):
        return verb[:-1] + "ies"
    return verb + "s"


THIRD = frozenset(map(third_singular, BASES))


# --- sentences ------------------------------------------------------------------------------------

_QUOTED = re.compile(
    r"\"[^\"]*(?:\"|$)|“[^”]*(?:”|$)"
    r"|(?<=[,:] )['‘](?=[A-Z]).*?[.!?,…]['’](?!\w)"
)
_SAYING = re.compile(
    r"\s*(?:[\w'’-]+ ){0,3}(?:says?|said|cries|cried|asks?|asked|claims?|claimed|repl(?:y|ies|ied)|"
    r"whisper(?:s|ed)?|shouts?|shouted|mutter(?:s|ed)?)\b"
)


def quotes(text: str) -> bool:
    """Whether there is a quotation in a text."""
    return bool(_QUOTED.search(text))


def without_quotations(text: str) -> str:
    return _QUOTED.sub(" ", text)


def hearsay(text: str) -> list[tuple[int, int]]:
    """Spans of quotations that have their speaker named before or behind them."""
    found = []
    for quoted in _QUOTED.finditer(text):
        before = text[: quoted.start()].rstrip()
        if (before and before[-1] not in ".!?…") or _SAYING.match(text, quoted.end()):
            found.append(quoted.span())
    return found


_NUMBER = re.compile(rf"\b(?:\d+|one|dozen|half|pair|{NUMBER_WORD})\b", re.IGNORECASE)


def holds_number(text: str) -> bool:
    """Whether a text holds a number, in digits or as a word."""
    return bool(_NUMBER.search(text))
