"""Courtesies: greetings, thanks, small talk, and an acknowledgement of what somebody has said.

Apologies, compliments, teasing and riddles are known by their form. Whether any other line is small
talk is judged by the sentence classifier that the night uses, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from ..embedding import embedder
from ..embedding.model import ModelAway
from ..english import corrections, sentence_classifier
from ..english.addressing import forms, names
from ..english.commitments import commitment
from ..english.intents import Intent, courtesy_of, is_chatter, small_talk_in
from ..english.reported_speech import capital
from ..english.sentence_classifier import NOISE, Sentence
from ..english.time_words import tells_time
from ..english.tokens import FILLERS, words_of, zipf
from ..records import Reply, ReplyRequest
from .phrases import last_words, phrase
from .told_days import age, day_told

LONGEST = 10  # words of small talk
LONG_ABSENT = timedelta(days=7)
RARE = 5.0  # Zipf frequency below which a word is worth taking up
COURTESY_WORDS = 4  # "hello there, old friend": nothing to tell of it
NOUN_ENDS = re.compile(r"(?:ly|ing|ed|s)$")
_KIN = re.compile(
    r"\bmy (?:(?:little|big|elder|older|younger|twin|old|dear|own) )?"
    r"(?P<who>brother|sister|mother|father|son|daughter|wife|husband|uncle|aunt|cousin|friend"
    r"|dog|cat|horse|pony)\b(?!['’]s| (?:is |was )?(?:called|named)|,? [A-Z])"
)
# up to a word that cannot stand before a noun
_THING = re.compile(
    r"\b(?P<of>my|the|an?|our|her|his|their|your) (?P<thing>[a-z]{3,}(?: [a-z]{3,})?)"
    r"(?=[,.!?;:]|$| (?:of|from|to|at|in|on|by|with|for|and|or|but|is|was|has|had|that|who|which"
    r"|this|last|again|now|today|yesterday|tomorrow|near|under|before|after|until|when|if|[A-Z])\b"
    r"| [a-z]{1,2}\b)"
)
# before what a line is not about: "swears like a sailor", "the best bread in the valley"
_BESIDE_A_TOPIC = frozenset("like such as in at of from with under near by into through".split())
_VAGUE = frozenset(
    "moment bit lot truth rest whole kind sort pair couple while word thing way end bunch".split()
)
_I_AM = r"\b(?:i(?:['’]m| am| feel|['’]ve been| have been)|im) (?:(?:so|very|really|too|all) )?"
_I_WILL = re.compile(r"\b(?:i['’]?ll|i will|i shall)\b", re.IGNORECASE)
_SORRY = re.compile(
    rf"{_I_AM}(?:sad|unhappy|miserable|lonely|afraid|scared|frightened|worried|heartbroken|lost|ill"
    r"|sick|hurt|ashamed|desperate|ruined)\b"
    r"|\bi feel (?:so |very |really )?(?:awful|terrible|dreadful|bad|rotten|horrible|sick|ill)\b"
    r"|\bmy [\w ]{3,20} (?:hurts?|aches?)\b"
    r"|\b(?:wedding|marriage|engagement)(?:['’]?s| is| was) (?:called )?off\b"
    r"|\b(?:is|are|was|has been|have been|['’]s) (?:very |so |badly |still )?"
    r"(?:ill|sick|dying|missing|wounded|hurt|unwell)\b"
    r"|\b(?:scalded|crushed|drowned|broke(?:n)? (?:his|her|their|my)"
    r" (?:leg|arm|neck|back|hip|ankle|wrist|ribs?|foot|hand|nose|collarbone))\b"
    r"|\b(?:died|is dead|passed away|was killed|burned down"
    r"|was stolen)\b|\bi (?:miss|lost) (?:my|him|her|them)\b",
    re.IGNORECASE,
)
# "my dog died", "I am scared of the dark": what happened was said
_SAYS_WHY = re.compile(
    r"\b(?:died|dead|passed away|killed|burn(?:ed|t) down|stolen|because"
    r"|(?:afraid|scared|frightened|ashamed|sick) of)\b",
    re.IGNORECASE,
)
_GLAD = re.compile(
    rf"{_I_AM}(?:happy|glad|delighted|proud|overjoyed|thrilled|in love|engaged|married)\b"
    r"|\bi (?:won(?!['’])|passed)\b|\b(?:is|was) born\b|\bit['’]?s a (?:boy|girl)\b|\bgave birth\b"
    r"|\b(?:had|has had) (?:the|her|a|our|my) (?:baby|babby|bairn|child|twins)\b"
    r"|\bi(?:['’]?m| am) (?:getting|to be) (?:married|wed)\b"
    r"|\b(?:is|are|['’]s) (?:alive|safe(?: and sound)?|well again|cured|back home)\b"
    r"|\b(?:they|we|i)(?:['’]ve)? found (?:my|him|her|them)\b(?!.*\bdead\b)",
    re.IGNORECASE,
)
_NAMED = re.compile(r"(?<=[a-z,] )(?P<name>[A-Z][a-z]{2,}(?: [A-Z][a-z]+)?)")
# somebody whom the line leaves unexplained: "with Oswin", "Bram and Oswin"
_WITH = re.compile(
    r"\b(?:called|named|with|(?<!here )and|is|met|saw"
    r"|(?:spoke|speak|talked|talk|gave|give|sold|lent|married|engaged|betrothed|promised|wrote)"
    r"(?: [a-z]+){0,2} to) $"
)
# "Harrowgate market", "the Salt Lane bridge"
_OF_A_PLACE = re.compile(
    r" (?:market|town|village|road|street|lane|hill|bridge|inn|tavern|fair|square|gate|harbour|ford"
    r"|mill|farm|castle|abbey|wood|woods|forest|river|valley|moor|bay|island|isle)\b"
)
# "my brother Aldo", "my cat is called Pickle", "three daughters, Nell, Una and Bea"
_EXPLAINED_BEFORE = re.compile(
    r"\b(?:he|she|it|they)(?:['’]?s|['’]?re| is| are| was| were) (?:called|named) $"
    r"|\b(?:my|our|his|her|their|your|the|an?|\w+['’]s|\d+|two|three|four|five|six|seven)"
    r"(?: (?!(?:with|and|to|from|by|met|saw|for|of|at|in|near)\b)[a-z]+){1,3}"
    r",?(?::| is| are| was| were)?(?: called| named)?,? "
    r"(?:[A-Z][\w'’-]*(?:, and |, | and ))*$"
)
_EXPLAINED_AFTER = re.compile(
    r",? (?:is|was|,) (?:my|our|his|her|their|the|an?)\b|, (?:my|our|his|her|their|the|an?|who)\b"
)
_MY_NAME = re.compile(
    r"\b(?:my name(?:['’]?s| is)|(?:please |just )?call me) (?:actually |really |now )?"
    r"(?P<name>[\w'’-]{2,})(?=\W|$)",
    re.IGNORECASE,
)
_DISLIKED = re.compile(
    r"\bi (?:really )?(?:hate|loathe|detest|despise|can['’]?t (?:stand|abide|bear)|cannot (?:stand"
    r"|abide|bear)|don['’]?t (?:eat|drink)|never (?:eat|drink)|do not (?:eat|drink))"
    r" (?P<what>[a-z]{3,})(?= (?:btw|at all|any ?more|and|or|so|because|but|,)|\W*$|[,.;!])",
    re.IGNORECASE,
)
_VOWEL = re.compile(r"[aeiouy]")
_UNSPELLED = frozenset(
    "wont cant dont isnt wasnt didnt doesnt havent hasnt arent aint shant".split()
)
_OWNED_BY_ME = {"my": "your", "your": "my", "our": "your"}  # as the listener says it


def greeted(answer: Reply, said: str, request: ReplyRequest) -> Reply:
    """Put a greeting before an answer to a first line that greets: "Hello Mara, how is trade?"."""
    greets = Intent.GREETING in (courtesy_of(said), courtesy_of(request.utterance))
    if not greets or request.has_spoken or answer.text.startswith(_greet(request).rstrip(".!")):
        return answer
    rest = answer.text.replace(f", {request.speaker}", "", 1)  # who is greeted is named there
    return replace(answer, text=f"{_greet(request)} {rest}")


def is_mere_courtesy(said: str) -> bool:
    return is_chatter(said) or (
        len(said.split()) <= COURTESY_WORDS and courtesy_of(said) is not None
    )


def acknowledge(said: str, request: ReplyRequest) -> Reply:
    courtesy = courtesy_of(said)
    if courtesy is Intent.GREETING or _is_bare_greeting(said):
        return greeting(request)
    if courtesy is not None:
        return Reply(phrase("thanks" if courtesy is Intent.THANKS else "parting", request), told=())
    if request.set_right:
        return Reply(phrase("set right", request, topic=capital(request.set_right)), told=())
    may_ask = not last_words(request).endswith("?")  # nobody is questioned twice in a row
    kind = small_talk_in(said)
    if kind and (may_ask or kind != "corrected"):  # "no, I didn't" may be an answer
        return Reply(phrase(kind, request), told=())
    if is_chatter(said):
        return Reply(phrase("chatter", request), told=())
    if _SORRY.search(said):
        unsaid = may_ask and not _SAYS_WHY.search(said)
        asks_on = f" {phrase('asks what happened', request)}" if unsaid else ""
        return Reply(f"{phrase('sorry', request)}{asks_on}", told=())
    if _GLAD.search(said):
        return Reply(phrase("glad", request), told=())
    if request.kind == "say" and are_noise([said]) == [True]:
        return Reply(phrase("chatter", request), told=())
    if may_ask and (stranger := _stranger_in(said, request)):
        return Reply(phrase("asks who", request, topic=stranger), told=())
    if may_ask and (kin := _KIN.search(said)) and not _NAMED.search(said):
        return Reply(phrase("asks name", request, topic=kin["who"]), told=())
    if disliked := _DISLIKED.search(said):
        return Reply(phrase("no such thing", request, topic=disliked["what"]), told=())
    promises = request.now and commitment(said, request.now, to_listener=True) == "promise"
    if promises and _I_WILL.search(said):
        return Reply(phrase("promised", request), told=())
    own = set(forms((request.npc_name, *request.npc_names)))
    if topic := _topic(corrections.meant_in(said), own):
        return Reply(phrase("taken up", request, topic=capital(topic)), told=())
    return Reply(phrase("heard", request), told=())


def greeting(request: ReplyRequest) -> Reply:
    """Greet the speaker, and bring up once in a conversation what is due."""
    own = [turn.content for turn in request.conversation if turn.role == "assistant"]
    for item in request.situation.agenda:
        if item.pressing and not any(item.quoted in said for said in own):
            return Reply(f"{_greet(request)} {item.text}", told=item.evidence)
    return Reply(_greet(request), told=())


def _is_bare_greeting(said: str) -> bool:
    return bool(said.strip()) and courtesy_of(said + ".") is Intent.GREETING


def _greet(request: ReplyRequest) -> str:
    speaker = next((p for p in request.situation.people if p.identity == request.speaker_id), None)
    if request.has_spoken:
        return phrase("greeted again", request)
    if not request.met_before:
        return phrase("greeting", request)
    before = speaker.seen_before if speaker else ""
    if before and request.now and age(before, request.now) >= LONG_ABSENT:
        return phrase("long absent", request, when=day_told(before, request.now, by_date=True)[3:])
    return phrase("returning", request)


def _stranger_in(said: str, request: ReplyRequest) -> str:
    """Return a name in a line that the NPC does not know and the line does not explain, or ""."""
    known = {word for person in request.situation.people for word in names(person.name)}
    known |= {word for name in request.situation.known_names for word in names(name)}
    known |= names(request.speaker) | set(forms((request.npc_name, *request.npc_names)))
    for found in _NAMED.finditer(said):
        name = found["name"]
        before, after = said[: found.start()], said[found.end() :]
        if (
            _WITH.search(before)
            and not (_EXPLAINED_BEFORE.search(before) or _EXPLAINED_AFTER.match(after))
            and not _OF_A_PLACE.match(after)
            and not names(name) & known
            and not tells_time(name)
        ):
            return name
    return ""


def _topic(said: str, names: Collection[str]) -> str:
    """Return what a line is about, as far as it is worth taking up: "the green boat".

    Args:
        names: Words by which the NPC is called.
    """
    if called := _MY_NAME.search(said):
        return capital(called["name"])
    for found in _THING.finditer(said):
        words = found["thing"].split()
        while words and _is_no_noun(words[-1], names):
            words.pop()
        before = (words_of(said[: found.start()]) or [""])[-1]
        if before in _BESIDE_A_TOPIC:
            continue
        noun = words[-1] if words else ""
        if noun and noun not in _VAGUE and not NOUN_ENDS.search(noun) and zipf(noun) < RARE:
            whose = _OWNED_BY_ME.get(found["of"].lower(), found["of"].lower())
            return f"{whose} {' '.join(words)}"
    return ""


def _is_no_noun(word: str, names: Collection[str]) -> bool:
    """Whether a word ends no noun phrase, such as "btw", "wont", "sunday" and the NPC's name."""
    if word in FILLERS or not _VOWEL.search(word) or word in names:
        return True
    return word in _UNSPELLED or tells_time(word)


def are_noise(lines: Sequence[str]) -> list[bool]:
    """Judge which lines of talk to the NPC are worth nothing later (worker thread).

    Small talk is short: a longer line may hold what somebody asks for. Where no classifier fits the
    embedding model, or the model is away, none is judged so.
    """
    try:
        model = embedder.shared()
        classifier = sentence_classifier.load(model.name, model.dimensions)
        if classifier is None or not lines:
            return [False] * len(lines)
        vectors = model.encode(list(lines), known=True)
    except ModelAway:
        return [False] * len(lines)
    judged = classifier.judge(vectors, [Sentence(each, named=True) for each in lines])
    return [
        each.at_least[0] < NOISE and len(line.split()) <= LONGEST
        for line, each in zip(lines, judged, strict=True)
    ]
