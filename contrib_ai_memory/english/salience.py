"""Salience of a text [C §1.5]: names, numbers, preferences, rare words, and what it is about.

`content_importance` is the part of an importance that comes from the words alone. Language models
that rate "poignancy" (Park et al. 2023, Generative Agents, §4.1: 1 for brushing teeth, 10 for a
break up) rate passing acts and the state of things low, ties between people and turning points of a
life high. The word fields below imitate that by rule.
"""

from __future__ import annotations

import re

from ..text.segmentation import WORD
from .due_dates import MONTHS, WEEKDAYS
from .stated_preferences import states_preference
from .tokens import AUXILIARIES, BASES, FILLERS, FUNCTION_WORDS, NUMBERS, THIRD, is_past, zipf

# --- salience [C §1.5] ----------------------------------------------------------------------------

NAMED_ENTITY, NUMBER_OR_DATE, PREFERENCE, RARE_TERMS = 0.3, 0.2, 0.4, 0.1  # [C §1.5]

RARE_BELOW = 4.4  # mean Zipf frequency of its longer words; an evening of role-play: 5.3, 5 % below
RARE_FROM = 3  # longer words; of fewer there is no average
COMMON_FROM = 5.4  # Zipf frequency of words that anybody says of anything: going, great, thing

# The first letter comes before what must stand before it: so the search skips from one to the next
_CAPITAL_INSIDE = re.compile(r"[A-Z](?<=\s[A-Z])(?<![.!?…:\"“]\s[A-Z])[\w'’-]+")
_OPENING = re.compile(r"(?:^|[.!?…:\"“]\s+)([A-Z][\w’-]+) ([a-z]+)\b")
_NO_NAME = frozenset(FUNCTION_WORDS | FILLERS | AUXILIARIES | BASES | {"everyone", "everybody"})
_MONTH = re.compile(  # "march" and "may" are verbs as well
    rf"\b(?i:{'|'.join(each for each in MONTHS if each not in ('March', 'May'))})\b"
    r"|(?<=[a-z,\d] )(?:March|May)\b"
)
_SIGNAL = re.compile(r"\b(?:I (?:prefer|always|hate)|my favou?rite)\b", re.IGNORECASE)  # [C §1.5]
_NOT_NAMES = frozenset("I I'm I'd I'll I've I’m I’d I’ll I’ve OK".split())
_DIGIT = re.compile(r"\d")
_NUMBERS = frozenset(
    form
    for word in (
        *NUMBERS,
        *WEEKDAYS,
        *"dozen first second third yesterday tomorrow tonight midnight noon dawn dusk".split(),
        *("week", "month", "year"),
    )
    for form in (word, word + "s", word + "'s")
)


def salience(text: str, known_names: tuple[str, ...] = (), *, taught: bool = False) -> float:
    """0-1: named entity 0.3, number or date 0.2, preference signal 0.4, rare terms 0.1 [C §1.5].

    For worker threads: the first look at rare terms loads a word list.

    Args:
        taught: Count what a text says to nobody in particular too: a name that begins a sentence, a
            month, "I always" of the past. Rules choose lines of talk no better by them.
    """
    rest = _MONTH.sub(" ", text) if taught else text
    score = 0.0
    if names_someone(rest, known_names) or (taught and _opens_with_name(rest)):
        score += NAMED_ENTITY
    if has_number(text) or rest != text:
        score += NUMBER_OR_DATE
    if states_preference(text) or (taught and _SIGNAL.search(text)):
        score += PREFERENCE
    if has_rare_terms(text):
        score += RARE_TERMS
    return min(score, 1.0)


def _opens_with_name(text: str) -> bool:
    """Whether a sentence begins with a name, as "Paris is beautiful": one word and its verb."""
    return any(
        name.lower() not in _NO_NAME and (verb in AUXILIARIES or verb in THIRD or is_past(verb))
        for name, verb in _OPENING.findall(text)
    )


def has_number(text: str) -> bool:
    """Whether a text has a number or a date, in digits or in words [C §1.5]."""
    return bool(_DIGIT.search(text)) or not _NUMBERS.isdisjoint(_words(text))


def names_someone(text: str, known_names: tuple[str, ...] = ()) -> bool:
    """A capital inside a sentence, or someone of the game by name however it is written."""
    if any(found not in _NOT_NAMES for found in _CAPITAL_INSIDE.findall(text)):
        return True
    lowered = text.lower()
    return any(
        name and re.search(rf"\b{re.escape(name.lower())}\b", lowered) for name in known_names
    )


def has_rare_terms(text: str) -> bool:
    """Whether the words of `text`, names left out, are rare on average [C §1.5].

    For worker threads: the first call takes about 0.1 s, a new word about 0.01 ms.
    """
    terms = [word for word in _words(_CAPITAL_INSIDE.sub(" ", text)) if len(word) > 3]
    if len(terms) < RARE_FROM:
        return False
    return sum(map(zipf, terms)) / len(terms) < RARE_BELOW


def telling_words(text: str) -> int:
    """How many different words of a text are not everyday words of talk.

    For worker threads, as `has_rare_terms` is.
    """
    longer = {word for word in _words(text) if len(word) > 3} - FILLERS
    return sum(zipf(word) < COMMON_FROM for word in longer)


# --- what it is about -----------------------------------------------------------------------------

LEAST, MOST = -1.0, 4.0
CHARACTERS_READ = 300  # characters of a text that are looked at: it is done on the reactor thread
SALIENCE_WEIGHT = 1.5  # what a salience of 1 adds


# words of one subject in their base form, and what their presence adds, once per text
FIELDS = {
    # Who belongs to whom lasts longest and is asked for most
    "ties": (
        1.2,
        "friend friendship brother sister sibling mother father mum mom dad parent son daughter "
        "child children wife wives husband spouse family uncle aunt cousin nephew niece "
        "grandmother grandfather grandma grandpa lover sweetheart bride groom fiancé betrothed "
        "engaged marry marriage divorce widow widower orphan heir kin relative relationship bond "
        "rival enemy ally mentor apprentice companion colleague neighbour neighbor",
    ),
    # The turns of a life: the far end of the scale of Park et al.
    "life and death": (
        1.5,
        "die dying death dead kill murder slay slain corpse bury funeral grave mourn suicide drown "
        "birth born newborn pregnant pregnancy ill illness sick disease plague fever wound "
        "bleed cripple heal cure resurrect",
    ),
    # Plutchik's wheel in everyday words; liking and hating of one's own is counted as preference
    "feelings": (
        0.8,
        "love hate afraid fear fright scare terror terrified dread worry anxious angry anger "
        "fury furious rage jealous envy envious happy happiness joy joyful glad sad sadness sorrow "
        "grief grieve weep wept cry ashamed shame guilt guilty proud pride lonely loneliness trust "
        "distrust regret hope hopeless despair desperate disgust surprise interested curious "
        "admire adore despise miss heartbroken passion forgive forgave forgiven",
    ),
    # What may hurt somebody, now or later
    "danger and conflict": (
        1.2,
        "danger dangerous threat threaten warn warning attack fight fought battle war raid siege "
        "murderer bandit assassin army invade invasion destroy destruction burn flood storm "
        "earthquake disaster accident injure hurt poison curse haunt demon monster trap "
        "prison prisoner jail arrest kidnap hostage captive escape flee fled rescue missing "
        "vanish disappear quarrel argue argument feud revenge avenge betray betrayal hunted "
        "emergency",
    ),
    # What is told to few, and what is hidden, taken or untrue
    "secrets and crimes": (
        1.2,
        "secret secretly hide hid hidden conceal confess confession steal stole stolen theft thief "
        "thieves rob robbery smuggle smuggler spy conspiracy conspire traitor treason "
        "blackmail bribe forgery lied liar cheat rumour rumor treasure prophecy crime criminal "
        "culprit",
    ),
    # Who owes whom is remembered
    "money": (
        0.8,
        "money gold silver coin pay paid payment debt owe loan lend lent borrow price cost "
        "expensive sell sold buy bought purchase reward fee rent tax taxes wage salary inherit "
        "inheritance rich poor fortune afford",
    ),
    # What is agreed or intended has a tomorrow in which it is needed
    "plans and promises": (
        0.8,
        "promise swear swore sworn vow oath pledge agree agreement plan intend intention decide "
        "decision remind remember forget forgot appointment deadline ambition mission "
        "task duty deal contract bargain invite invitation prepare preparation arrange hire seek "
        "sought search",
    ),
    # What gathers people happens once
    "events": (
        1.0,
        "party wedding festival feast banquet ceremony celebrate celebration anniversary birthday "
        "holiday election vote trial council tournament contest concert parade ritual coronation "
        "graduation exam interview meeting reunion harvest",
    ),
    # Thought, learning and real talk, beside what hands do
    "mind and talk": (
        1.0,
        "discuss discussion converse conversation talk confide debate negotiate advise advice "
        "persuade apologize apologise reflect reflection ponder consider contemplate learn study "
        "research discover discovery investigate explore teach taught explain idea theory dream "
        "journal diary write wrote written read invent solve realize realise understand "
        "understood believe",
    ),
}

PATTERNS = {
    # "Tom is a smith", "she was in prison", "I grew up", "Anna has two sons": what stays true
    "lasting": (
        1.2,
        re.compile(
            r"\b(?!(?:It|This|That|There|Here|What|Who|Where|How|When|Why|Which|Everything|Nothing|"
            r"One|All|Now|The)\b)[A-Z][\w’'-]+ (?:is|was|has been|has|had) "
            r"(?!(?:being|been|in use|here|there|right|not|gonna|to)\b|(?:\w+ly )?\w+ing\b)"
            r"|\band [A-Z][\w’'-]+(?: [A-Z][\w’'-]+)? (?:are|were|have) (?!\w+ing\b)"
            r"|\b(?:I am|I['’]m|I was|[Hh]e(?: is|['’]s| was)|[Ss]he(?: is|['’]s| was)|[Tt]hey are|"
            r"[Ww]e are) (?:\w+ly )?(?:an?|from|my|his|her|their|your) "
            r"|\b(?:used to|grew up|grown up|was born|live[sd]? (?:in|at|with|near)|"
            r"work(?:s|ed)? (?:as|for|at)|belongs? to|known as|every (?:day|night|week|year))\b"
        ),
    ),
    # "Tom is crossing the yard": over when it is told
    "in passing": (
        -0.5,
        re.compile(
            r"(?:\b(?:is|are|was|were)|['’](?:s|re)) (?:\w+ly )?"
            r"(?!(?:\w*thing|king|going|missing|dying|interesting|amazing)\b)[a-z]+ing\b"
        ),
    ),
    # "the oven is being used", "the door is open": a thing, and how it happens to be
    "a thing's state": (
        -0.8,
        re.compile(
            r"\b(?:is|are|was|were) (?:partly |now |still )?(?:being \w+(?:ed|pt|en)|in use|idle|"
            r"empty|occupied|unoccupied|vacant|open|closed|clean|dirty|tidy|on|off)\b"
        ),
    ),
}

FIRST_PERSON = 0.2  # the speaker tells of themselves
_FIRST_PERSON = frozenset("i i'm i'd i'll i've my me mine we we're we'll we've our us".split())

NOTHING_SAID = -1.0  # a line of nothing but these


def content_importance(text: str) -> float:
    """What the words alone add to an importance of 1-10: -1 (filler, what passes) to 4.

    The salience of [C §1.5] without its rare terms, and the word fields above, each once. It is
    cheap enough for the reactor thread, and knows nothing of who spoke to whom.

    >>> content_importance("The oven is being used.") < 0 < content_importance("My wife is ill.")
    True
    """
    return max(LEAST, min(MOST, sum(signals_of(text).values())))


def signals_of(text: str) -> dict[str, float]:
    """Each signal found in the beginning of `text`, and what it adds."""
    text = text[:CHARACTERS_READ]
    words = _words(text)
    present = set(words)
    digit = _DIGIT.search(text)
    if present <= FILLERS and not digit:
        return {"nothing said": NOTHING_SAID} if words else {}
    found = {name: FIELDS[name][0] for name in map(_FIELD_OF.get, present) if name}
    for name, (adds, pattern) in PATTERNS.items():
        if pattern.search(text):
            found[name] = adds
    of_oneself = not _FIRST_PERSON.isdisjoint(present)
    if of_oneself:  # what passes is worth little when seen, not when told of
        found = {name: adds for name, adds in found.items() if adds > 0}
    if of_oneself:
        found["first person"] = FIRST_PERSON
        if states_preference(text):
            found["preference"] = SALIENCE_WEIGHT * PREFERENCE
    if names_someone(text):
        found["named entity"] = SALIENCE_WEIGHT * NAMED_ENTITY
    if digit or not _NUMBERS.isdisjoint(present):
        found["number or date"] = SALIENCE_WEIGHT * NUMBER_OR_DATE
    return found


def _words(text: str) -> list[str]:
    return WORD.findall(text.lower().replace("’", "'"))


def _forms(word: str) -> set[str]:
    """A base form with its regular endings; some are no words, which does no harm."""
    plural = "es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s"
    forms = {word, word + plural, word + "'s"}
    if word.endswith("e"):
        return forms | {word + "d", word[:-1] + "ing", word + "ing"}  # hiding, fleeing
    if word.endswith("y") and word[-2] not in "aeiou":
        return forms | {word[:-1] + "ies", word[:-1] + "ied", word + "ing"}
    doubles = word[-1] in "bdgmnpt" and word[-2] in "aeiou" and word[-3] not in "aeiou"
    if doubles:
        forms |= {word + word[-1] + "ed", word + word[-1] + "ing"}
    if not doubles or len(word) > 4:
        forms |= {word + "ed", word + "ing"}
    return forms


_FIELD_OF = {
    form: name
    for name, (_adds, words) in FIELDS.items()
    for word in words.split()
    for form in _forms(word)
}
