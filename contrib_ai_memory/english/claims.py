"""Claims in talk: what a sentence states by itself.

`claim` strips openers and fillers from a sentence, `tells` returns whether a sentence is more than
a question, a greeting or filler, and `stands_alone` whether a stranger would understand it a year
later: it names its subject, has a verb, and is no order, cheer or mere "I agree".
"""

from __future__ import annotations

import re

from ..text.sanitising import oneline
from . import tokens
from .addressing import hushes
from .questions import asks
from .reported_speech import speaks_of_self
from .salience import names_someone
from .time_words import tells_time, times
from .tokens import FILLERS, FUNCTION_WORDS

LEAST_WORDS = 4
_INTRODUCTION = 60  # characters

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")

# --- openers and fillers --------------------------------------------------------------------------

_STAGE = r"\((?:[a-z' -]{2,40})\)|\[[^\]]{0,300}\]"  # (laughs), [shows a picture]
_STAGE_DIRECTION = re.compile(
    r"\s*\([^()]{0,24}\b(?:voice|laugh\w*|sigh\w*|cheer\w*|gasp\w*|groan\w*|growl\w*|chuckl\w*|"
    r"cough\w*|sings|singing|counting|whisper\w*|hiss\w*|applause)\b[^()]{0,24}\)\.?\s*"
)
_LEADING = re.compile(rf"^(?:{_STAGE}|\*[^*]{{1,40}}\*|[-–—…*.\s]+)+")
_TRAILING = re.compile(rf"(?:\s*(?:{_STAGE}))+(?P<end>[.!…]*)$")
_OPENERS = re.compile(
    r"^(?:"
    # with a comma or the like behind it
    r"(?:oh|ah|aw+|well|yeah|yea|yes|yep|yup|no|nope|nah|okay|ok|alright|all right|right|hey|hi|"
    r"hello|look|listen|see|man|dude|guys|everyone|wow|whoa|h+m+|u+h*m*|er|ha+|(?:ha)+|lol|thanks|"
    r"thank you|sure|indeed|honestly|actually|anyway|basically|frankly|of course|you know|i mean|"
    r"to be honest|in fact|by the way|at least|fine|great|cool|nice|good|awesome|absolutely|"
    r"definitely|totally|exactly|true|wait|oh my god|my god|gosh|so|now|then|also|plus|like|still|"
    r"sadly|luckily|fortunately|unfortunately|clearly|obviously|as i said|like i said)"
    r"\s*[,;:!.…–—-]+\s*"
    # or with nothing
    r"|(?:and|but|or|'?cause|because|oh|yeah|um+|uh+|well|so(?! (?:many|much|few|long|far)\b)|"
    r"(?:and )?then|plus|also|though|although)\s+(?=\S)"
    r")+",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"^(?!I\b)[A-Z][\w-]+,\s+(?=(?:I|my|we|that|this|these|those|it|he|she|they|let)\b)"
)
_TAG = re.compile(
    r",?\s+(?:you know|you see|i guess|i think|i mean|haha|lol|though|too,? haha)(?=[.!…]*$)",
    re.IGNORECASE,
)
_NO_ADDRESS = re.compile(r"^(?:\w+ly|\w+days?|Yesterday|Today|Tonight|Tomorrow|Once|Sometimes)\b")
_BROKEN_OFF = re.compile(r"(?:--|[–—])[\s.\"'”’]*$")

# --- sentences that need their context ------------------------------------------------------------

_GREETS = re.compile(
    r"^\W*(?:hello|hi|hey|greetings|good (?:morning|day|evening|afternoon|night|luck|job|for you)|"
    r"well met|hail|thanks|thank you|welcome|congrat\w*|cheers|sorry|farewell|good ?bye|see you|"
    r"way to go|well done|have (?:a|fun))\b",
    re.IGNORECASE,
)
_YOU = re.compile(
    r"\b(?:you|your|yours|yourself|yourselves|y['’]?all|ya|thou|thy)\b", re.IGNORECASE
)
# a pronoun as the subject
_PRONOUN = (
    r"(?:he|she|it|they|that|this|those|these|him|her|his|their|its|them|both|same|such|which"
    r"|one(?! (?:of|night|day|evening|morning|year|summer|winter)\b))"
)
_SOMEBODY = re.compile(r"\b(?:he|she|they|his|her|their|him|them)\b", re.IGNORECASE)
_BEGINS_WITH_PRONOUN = re.compile(rf"^{_PRONOUN}\b", re.IGNORECASE)
# "they say that"
_RUMOUR = re.compile(r"^they (?:say|tell|claim|whisper)\b", re.IGNORECASE)
# "it was Bram who"
_CLEFT = re.compile(r"^it (?:is|was) .+ (?:that|who)\b", re.IGNORECASE)
# "after the flood, …": the subject comes behind the comma
_INTRODUCED = re.compile(
    rf"^(?:on|in|at|after|before|when|whenever|if|for|with|without|instead|as|while|since|over|by|"
    rf"from|during|once|until|despite|through)\b[^,]{{1,{_INTRODUCTION}}},\s+(?P<rest>.+)",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^(?:let['’]?s|let (?:me|us|him|her|them)|please|don['’]t|do not|be|come on|go (?:on|ahead)|"
    r"here(?:['’]s| is| are| we)|check|hold on|hang on|keep (?:up|it|on|the|an?|going)|"
    r"no need|never mind|shut)\b",
    re.IGNORECASE,
)
# "I am so glad", "I agree", "me too": about what was said before
_REACTS = re.compile(
    r"^(?:"
    r"I(?:['’]m| am| was|['’]d be| feel)\s+(?:\w+ly |so |just |very |super |also |pretty |quite )*"
    r"(?:glad|happy|proud|sorry|sure|thankful|grateful|serious|kidding|saying|telling|thinking|here|"
    r"good|fine|okay|ok|done|stoked|honou?red|in awe|in|all for|all ears|on board|game|down|there|"
    r"the same|like that|not sure|touched|impressed|jealous|intrigued|curious|confused)\b"
    r"|I(?:['’]m| am) (?:so |very |really |super )+\w+(?: (?:to|for|about|of) \w+)?\W*$"
    r"|I (?:\w+ly |do |also |just |don['’]t |do not |can |could |would |did |didn['’]t |had )*"
    r"(?:agree|understand|appreciate|see|get (?:it|that|what)|hear (?:that|what)|bet|guess|suppose|"
    r"doubt|wonder|wish|mean|swear|care|mind|think so|hope so|know (?:that|what|how|it|why|right)|"
    r"say|said|say so|feel (?:the same|like|that|it)|relate|imagine|"
    r"(?:love|like|enjoy|hate|want|need|do|did|have|got|saw|feel|thought|think|remember|believe) "
    r"(?:it|that|this|them|those|these|how|what|him|her)\b(?:\W*$| (?:so|too|when|is|was)\b))\b"
    r"|I hope (?!to\b)|I (?:can|could)(?:['’]t|not|n['’]t| not) "
    r"(?:wait|believe|imagine|stop|help|remember|tell|agree|say|thank)\b"
    r"|I (?:do not|don['’]t|didn['’]t|did not) (?:know|remember|think|understand|care|want to)\b"
    r"|(?:can|could)(?:['’]t|not|n['’]t) (?:wait|believe|imagine|agree|say|thank)\b"
    r"|me (?:too|neither|either)\b|my (?:bad|god|gosh|goodness|pleasure|point|turn)\b"
    r")",
    re.IGNORECASE,
)
# "that is amazing"
_VERDICT = re.compile(
    r"(?:\b(?:is|are|was|were|be|been|feels?|felt|looks?|looked|sounds?|seems?)|['’](?:s|re))\s+"
    r"(?:so |very |really |truly |super |always |just |such |too |a |an |quite |all |\w+ly )*"
    r"(?:amazing|awesome|great|good|nice|cool|fun|incredible|inspiring|important|special|tough|hard|"
    r"beautiful|fancy|lovely|crazy|wonderful|fantastic|epic|exciting|cute|impressive|rewarding|bad|"
    r"frustrating|taxing|terrible|calming|electric|powerful|perfect|interesting|weird|insane|"
    r"intense|contagious|priceless|worth it|huge|big deal|the best|blast|treat|much fun|"
    r"source of)\b"
    r"(?!\s+(?:[a-z]+(?:er|or|ist|man|woman|cook|friend|smith))\b)",
    re.IGNORECASE,
)
# "I made it to relax", "We love them", "Something happened": the object is not named
_OBJECT_IS_PRONOUN = re.compile(
    r"^(?:I|we)(?:['’]\w+)? (?:(?!and\b|but\b|so\b)[\w'’]+ ){1,3}"
    r"(?:it|this|that|them|these|those)\b"
    r"|^(?:some|any|every|no)(?:thing|one|body)\b",
    re.IGNORECASE,
)
# "I think that …"
_ATTITUDE = re.compile(
    r"^I(?:['’]ve)? (?:\w+ly )?(?:think|believe|heard|hear|know|knew|thought|reckon|figure|fear|"
    r"feel like|dreamt|dreamed|learned|found out|noticed|realized|realised)(?: that)? (?P<rest>.+)",
    re.IGNORECASE,
)
# words that stand for something which another sentence names
_UNRESOLVED_WORD = re.compile(
    r"\b(?:he|she|it|they|him|her|them|that|this|these|those|one|ones|there|here|someone|something|"
    r"stuff|things?|anything|everything|nothing)\b",
    re.IGNORECASE,
)
# what is done the next moment, or pointed at: it means nothing a year later
_AT_ONCE = re.compile(
    r"\b(?:gonna|(?:will|am) just|would (?:like|love) to (?:do|go|try|use|make))\b"
    r"|['’](?:ll|m) just\b|['’]d (?:like|love) to (?:do|go|try|use|make)\b",
    re.IGNORECASE,
)
_GESTURE = re.compile(r"\b(?:(?:over|right) (?:here|there)|(?:this|that) way)\b", re.IGNORECASE)
# "…, which is nice": its verb is not that of the sentence
_RELATIVE_CLAUSE = re.compile(r",? which (?:is|are|was|were)(?: [^ ,]+){1,4}$", re.IGNORECASE)
# "helps her brother", "luckily did not"
_SUBJECT_OMITTED = re.compile(
    r"^(?:[a-z]+s (?:his|her|their|its|him)"
    r"|(?:(?:un)?fortunately|luckily|sadly|hopefully|actually|probably|apparently|definitely) "
    r"(?:does|did|is|was|has|had|will|can)(?:n['’]t)?)\b",
    re.IGNORECASE,
)
# "got a new boat", "went hiking": said of oneself without "I"
_I_OMITTED = re.compile(
    r"^(?:(?:just|finally|recently|already)\s+)?(?:got|went|had|finished|started|lost|found|made|"
    r"took|saw|met|bought|sold|came|tried|joined|spent|won|signed|passed|moved|visited|attended|"
    r"gave|caught|heard|quit|wrote|painted|read)\s+(?:a|an|the|my|our|some|two|three|\d+|up|to|back|"
    r"through|with|in|from|for|out|into|off|it|something|hiking|fishing|camping|swimming)\b",
    re.IGNORECASE,
)
# "last week I …"
_FRONTED = re.compile(
    r"^(?:(?:in|on|at|after|before|during|since|for|when|while|last|next|this|every|yesterday|today|"
    r"tonight|tomorrow|once|recently|lately|sometimes|usually|soon|later|two|three|four|five|a few|"
    r"the other|one|as|now|\d+)\b[^.!?,;]{0,40},?\s+)(?=I\b)",
    re.IGNORECASE,
)

# words that say little of what a sentence is about
_WEAK = frozenset(
    "after all also always back been before being better best down each even get go goes going "
    "gone got great he'd he's i'd i'll i've lot lots made make makes many more most much never "
    "off one ones only out own pretty quite she'd still then they're they've thing things think "
    "too under up way we'd we'll we're we've went you're".split()
)
_BEFORE_A_NOUN = frozenset(
    "of in on at to for with by from and or but the a an as than if so not into over under "
    "through my your his her its our their this these those i we you they two three four five six "
    "seven eight nine ten twelve dozen some any no all more many few".split()
)
_BEFORE_A_VERB = frozenset("really just still also always never maybe definitely even".split())
_NOUNS_TOO = frozenset("might must will can".split()) | frozenset(
    "plants works tests turns plays loads waves guards guides farms ships fights "
    "shares trades roles records reports signs points rings rides stops tracks tears leaves".split()
)


def claim(sentence: str) -> str:
    """A sentence without what only opens or dresses it; what it says is kept to the letter.

    >>> claim("Oh, well, (laughs) but the bridge at Elmstead fell, you know.")
    'The bridge at Elmstead fell.'
    """
    text = oneline(sentence)
    if text.count('"') % 2 or (text[:1] == '"' and text.rstrip(".!?…")[-1:] == '"'):
        text = text.strip('"').strip()
    text = _STAGE_DIRECTION.sub(" ", text).strip()
    before = None
    while text != before:
        before = text
        text = _TRAILING.sub(r"\g<end>", _LEADING.sub("", text))
        text = _OPENERS.sub("", text)
        if not _NO_ADDRESS.match(text):
            text = _ADDRESS.sub("", text)
        text = _TAG.sub("", text)
    if _I_OMITTED.match(text):
        text = f"I {text[:1].lower()}{text[1:]}"
    return text[:1].upper() + text[1:]


def of_oneself(text: str) -> bool:
    """Whether the speaker is the subject, also behind a phrase: "Last week I sold two oxen"."""
    return speaks_of_self(text) or bool(_FRONTED.match(text))


def tells(sentence: str) -> bool:
    """Whether a sentence is more than a question, a greeting, filler or a plea to keep quiet."""
    if asks(sentence) or hushes(sentence) or _GREETS.match(claim(sentence)):
        return False
    words = [word.lower().replace("’", "'") for word in _WORD.findall(sentence)]
    telling = sum(word not in FILLERS for word in words)
    return telling >= 2 or (telling > 0 and speaks_of_self(sentence) and len(words) >= 3)


def breaks_off(text: str) -> bool:
    """Whether a sentence is broken off: "The gate to the --"."""
    return bool(_BROKEN_OFF.search(text))


def names_before_pronouns(text: str) -> bool:
    """Whether "he", "she" and "they" stand for somebody whom a statement has named before.

    >>> told = "Bram sold his mill.", "He sold Bram the mill.", "The mill is sold."
    >>> [names_before_pronouns(each) for each in told]
    [True, False, True]
    """
    text = _RUMOUR.sub("", text)
    pronoun = _SOMEBODY.search(text)
    before = text[: pronoun.start()] if pronoun else ""
    return pronoun is None or names_someone(before) or _begins_with_noun(before)


def _begins_with_noun(text: str) -> bool:
    """Whether a verb follows the first word: "Bram sold", not "Always the keen observer"."""
    first, second, *_ = [*_words(text.lower()), "", ""]
    verb = second in tokens.AUXILIARIES or second in tokens.THIRD or tokens.is_past(second)
    return verb and first not in FUNCTION_WORDS


def stands_alone(text: str) -> bool:
    """Whether a claim is understood without its context.

    >>> [stands_alone(said) for said in ("Wolves took two of my sheep.", "It's more of an oval.")]
    [True, False]
    """
    if not tells(text) or _YOU.search(text) or _has_no_subject(text) or _REACTS.match(text):
        return False
    words = _words(text)
    if _GESTURE.search(text) or (_AT_ONCE.search(text) and not times(text)):
        return False
    if len(words) < LEAST_WORDS or _subject_is_unresolved(text):
        return False
    if not _has_verb(_words(_RELATIVE_CLAUSE.sub("", text))):
        return False
    thought = _ATTITUDE.match(text)
    if thought and _has_verb(_words(thought["rest"])) and _subject_is_unresolved(thought["rest"]):
        return False
    particular = names_someone(text) or re.search(r"\d", text)
    if _VERDICT.search(text) and not (particular or of_oneself(text)):
        return False
    if _OBJECT_IS_PRONOUN.match(text) and not (particular or tells_time(text)):
        return False
    own = {word.lower() for word in words} - FUNCTION_WORDS - FILLERS - _WEAK
    unresolved = bool(_UNRESOLVED_WORD.search(text))
    return len(own) >= (3 if unresolved and not names_someone(text) else 2)


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text)]


def _subject_is_unresolved(text: str) -> bool:
    """Whether the subject of a text is a pronoun that it does not resolve."""
    introduced = _INTRODUCED.match(text)
    if introduced and not names_someone(text[: introduced.start("rest")]):
        text = introduced["rest"]
    if not _BEGINS_WITH_PRONOUN.match(text) or _RUMOUR.match(text):
        return False
    return not (_CLEFT.match(text) and names_someone(text))


def _has_no_subject(text: str) -> bool:
    """Whether a text is an order, or leaves its subject out."""
    if _ORDER.match(text) or _SUBJECT_OMITTED.match(text):
        return True
    if of_oneself(text):
        return False
    first, *rest = _words(text.lower()) or [""]
    if _omits_subject([first, *rest]):
        return True
    if first not in tokens.BASES or not rest:
        return False
    then = rest[0]
    if then in ("of", "and", "or") or then in tokens.AUXILIARIES:
        return False
    return not (then in tokens.THIRD or tokens.is_past(then))


def _omits_subject(words: list[str]) -> bool:
    """Whether words begin with a finite verb: "looks like rain", "been a while"."""
    first = next((word for word in words if word not in _BEFORE_A_VERB), "")
    begins = first in tokens.AUXILIARIES or first.endswith("n't") or first in tokens.THIRD
    return begins and first not in _NOUNS_TOO


def has_verb(text: str) -> bool:
    """Return whether a text has a verb."""
    return _has_verb(_words(text))


def _has_verb(words: list[str]) -> bool:
    """Whether one of the words is a finite verb behind a subject."""
    lowered = [word.lower() for word in words]
    for place, word in enumerate(lowered):
        if word in tokens.AUXILIARIES or re.search(r"'(?:s|re|ve|ll|d|m)$|n't$", word):
            return True
        if place == 0:
            continue
        before = lowered[place - 1]
        if tokens.is_past(word) or word in tokens.SAME_IN_THE_PAST:
            return True
        if word in tokens.THIRD and not (before[:1].isdigit() or before in _BEFORE_A_NOUN):
            return True
        if before in ("i", "we", "they", "who", "you") and word.isalpha():
            return True
        plural = before.endswith("s") and not before.endswith("ss") and not before[:1].isdigit()
        several = plural or before in ("people", "men", "women", "folk", "children", "sheep")
        if several and word in tokens.BASES:
            return True
    return False
