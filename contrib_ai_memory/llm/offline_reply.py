"""What the offline provider says: courtesies, what is plain to see, and what it remembers.

A line is understood before anything is told (`english.intents`). What is plain to see, such as who
is here, comes from the situation; everything else from the memories that were recalled
(`answer_selection`). Where an answer may well be none, it begins with a doubt. A builder may choose
a TONE (`tones`) and single stock phrases (the names in `PHRASES`) in the settings of an NPC. No
phrase is said twice in a row where there is another.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from ..embedding.model import ModelAway
from ..english import agenda_questions, corrections, presence_questions
from ..english.addressing import forms, without_address
from ..english.answer_types import AnswerTypes
from ..english.commitments import commitment
from ..english.contradiction import are_apart
from ..english.intents import Intent, courtesy_of, intent_of, is_chatter
from ..english.questions import (
    asked,
    asks,
    asks_about,
    asks_of_a_life,
    asks_of_oneself,
    asks_of_you,
    asks_when,
    seems_to_ask,
    sentences_of,
    statements,
)
from ..english.reported_speech import capital
from ..english.time_words import tells_time
from ..english.tokens import FILLERS, content_words, without_quotations, words_of, zipf
from ..records import MOVE_KINDS, KnownPerson, MemoryRecord, OpenItem, Recalled, Reply, ReplyRequest
from .answer_selection import (
    PORTRAIT,
    SURE_FROM,
    AnswerCandidate,
    certainty,
    confidence,
    is_beside_the_point,
    names,
    select,
    told_of,
)
from .realisation import day_asked, day_told, ended, on_day, tell_all
from .self_description import introduction, told_of_itself
from .small_talk import are_noise, small_talk_in

# confidence in an answer, 0-1 (`python -m benchmarks.answers`)
NOTHING_BELOW = 0.1  # below it nothing is told
PLAINLY_SHARED = 0.5  # share of an event's words that name it without a doubt

LONG_ABSENT = timedelta(days=7)
VISITORS_TOLD = 6
ATTRIBUTES_TOLD = 2  # of a profile, beside memories of that person
NEWS_TOLD = 2  # lines of others
OPINION_TOLD = 2  # memories of somebody, beside what the NPC thinks of them
REPEATED = 0.7  # share of an attribute's words in what is told that makes it a repetition
LEFT_LATELY = timedelta(hours=12)  # somebody who left then may still be where they went
JUST_NOW = timedelta(minutes=15)
LATELY = timedelta(days=3)  # the visits told where no day is named
RARE = 5.0  # Zipf frequency below which a word is worth taking up
COURTESY_WORDS = 4  # "hello there, old friend": nothing to tell of it
NOUN_ENDS = re.compile(r"(?:ly|ing|ed|s)$")

PHRASES: Mapping[str, tuple[str, ...]] = {
    "greeting": ("Well met, {name}.", "Good to meet you, {name}."),
    "returning": ("Well met, {name}. Good to see you again.", "Ah, {name}. Welcome back."),
    "greeted again": ("Yes, {name}?", "I am listening, {name}."),
    "long absent": ("{name}! I have not seen you since {when}.",),
    "parting": ("Farewell, {name}.", "Safe travels, {name}."),
    "thanks": ("You are welcome, {name}.", "Gladly, {name}."),
    "gift": ("Thank you, {name}.",),
    "wellbeing": ("Well enough, {name}. And you?", "I cannot complain, {name}."),
    "heard": (
        "I will remember that, {name}.",
        "I will keep that in mind, {name}.",
        "I see. I will not forget it.",
    ),
    "taken up": ("{topic}, you say. I will remember that.", "{topic}. I will keep it in mind."),
    "promised": ("I will hold you to that, {name}.", "Good. I will look out for it, {name}."),
    "no such thing": ("No {topic}, then. I will remember that.",),
    "asks who": ("I will remember that. Who is {topic}?",),
    "chatter": ("Mm.", "Well, well.", "Indeed."),
    "apology": ("No harm done, {name}.", "Think nothing of it, {name}."),
    "riddle": ("Ha! I will tell that one to the next who asks.", "Ha! That is a good one, {name}."),
    "corrected": ("Then I had it wrong, {name}.", "I stand corrected, {name}."),
    "set right": (
        "{topic}, then. I had it otherwise.",
        "{topic}, then, {name}. So I will keep it.",
    ),
    "misheard": ("Then I misunderstood you, {name}. Ask me again in other words.",),
    "dropped": ("As you like, {name}.",),
    "compliment": ("You are kind, {name}.", "That is good to hear, {name}."),
    "no more": ("That is all I have for you, {name}.",),
    "tired": ("Sit down and rest a while, {name}.", "Then take your ease, {name}."),
    "so it is": ("So it does seem, {name}.", "It does, {name}."),
    "no news": ("I have heard nothing new, {name}.",),
    "of itself": ("If you say so, {name}.", "So I have been told, {name}."),
    "known": ("Of course, {name}.", "How could I forget you, {name}?"),
    "not known": ("I do not think that we have met, {name}.",),
    "not seen": ("I have not seen you here before today, {name}.",),
    "no tale": ("I am no teller of tales, {name}. Tell me one of yours.",),
    "secrecy": ("I can, {name}. What is told to me in confidence stays with me.",),
    "own life": ("I could not tell you, {name}.", "I do not think much about that, {name}."),
    "asks name": ("I will remember that. What is your {topic} called?",),
    "as it was told": ("So I heard it, {name}.", "That is how I remember it, {name}."),
    "not sure": ("No, {name}. It is only what comes to mind.",),
    "quite sure": ("As sure as I can be, {name}.",),
    "stays with me": ("What is told to me in confidence stays with me, {name}.",),
    "nothing given by": ("{whom} has given me nothing that I remember.",),
    "nothing given": ("You have given me nothing that I remember, {name}.",),
    "no word left": ("No word is waiting for you, {name}.",),
    "service": ("I will see what can be done, {name}.", "Let me see what there is, {name}."),
    "sorry": ("I am sorry to hear that, {name}.", "That is hard, {name}."),
    "asks what happened": ("What happened?",),
    "glad": ("I am glad to hear it, {name}.", "That is good news, {name}."),
    "asked asleep": ('{name}, you asked me something while I slept: "{question}"',),
    "doubt": (
        "I could not say for sure.",
        "I am not sure of it.",
        "I do not know for certain.",
    ),
    "nothing": ("I know nothing about that, {name}.",),
    "nothing open": ("Nothing is open that I know of, {name}.",),
    "ask them": ("I know nothing about that, {name}. {topic} might.",),
}

_FIELD = re.compile(r"\{\w+\}")
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
_WHERE = re.compile(r"\W*(?:and )?where(?:['’]?s| is)\b", re.IGNORECASE)
_BY_WHAT = re.compile(r"\W*(?:what|wat|wot|whit|who|when|which|how)\b", re.IGNORECASE)
_FOR_ANOTHER = re.compile(r"\bfor (?!me\b|us\b|my\b)[\w'’-]+\W*$", re.IGNORECASE)
_OF_MY_PLACE = re.compile(  # "where am i staying?"
    r"\b(?:am i (?!again\b)\w+in[g'’]?|do i (?:live|stay|work|sleep|lodge|come))(?!\w)",
    re.IGNORECASE,
)
_OF_ONESELF = re.compile(r"\b(?:know|heard?|think|tell me)\b.{0,6}\b(?:of|about) me\b", re.I)
_ASKS_OF_MOVES = re.compile(
    r"\b(?:where|when|who|way|com(?:e|es|ing)|came|arriv\w*|leav(?:e|es|ing)|left|go|goes|went|gone"
    r"|seen?|saw|visit\w*|here|there|around|still|been|depart\w*|return\w*|back|turn(?:ed|s)? up"
    r"|show(?:ed|n|s)? up|pass(?:ed|es)?|enter\w*|stop(?:ped)? by|drop(?:ped)? (?:in|by)|follow\w*"
    r"|fle(?:e|d)|ran|run|travel\w*|(?:dis)?appear\w*|vanish\w*)\b",
    re.IGNORECASE,
)
# "you're a stupid old goat", with nothing behind it; not "you are invited to my wedding"
_TO_ITS_FACE = re.compile(
    r"\W*(?:[Yy]ou|u)(?:['’]?re| are| r)(?: (?:an?|the|so|too|very|such|really|my))*"
    r"(?: (?!\w*(?:ing|ed)\b)[a-z'’-]{2,}){1,3}[.!]*$"
)
# whose words an answer tells: 'Bram said two days ago: "…"'
_TOLD_BY = re.compile(
    r"(?:^|[.!?\":] +)(?P<who>[^\W\d_][\w'’ -]{0,40}?) (?:told me|said)(?: (?P<when>"
    r"earlier today|yesterday|\w+ days ago|on [^:\"]{3,40}?))?(?=:| that )"
)
_OF_GIVING = content_words(
    "give gave given gives keep hold hand bring brought take lend left gift present pay paid sold"
)
_LETTER = re.compile(r"\b(?:messages?|letters?|notes?|word)\b", re.IGNORECASE)
_TITLES = frozenset("the old young mr mrs miss master mistress lady lord sir that our".split())
_GONE = re.compile(
    r"^\W*(?:(?:where|which way) (?:did|has|is|['’]?s)|when did .* (?:leave|go))\b", re.IGNORECASE
)


def reply(request: ReplyRequest) -> Reply:
    """Answer a line as the NPC; never empty."""
    if request.kind == "give":
        return Reply(phrase("gift", request), told=())
    if request.question:
        request = replace(request, utterance=request.question)
    said = _words_to_it(request)
    if _is_call(said, request):
        return Reply(phrase("greeted again", request), told=())
    meant = intent_of(said)
    if meant and (answer := _ANSWERS[meant[0]](request, meant[1])):
        return _greeted(answer, said, request)
    if there := _there(request, said):
        return there
    if request.now and agenda_questions.read(said, request.now) and request.situation.agenda:
        return _due(request.situation.agenda)
    if request.situation.nothing_open:
        return _nothing_open(said, request)
    small = small_talk_in(said)
    learned = "" if small else request.intent
    if learned and (answer := _as_learned(Intent[learned], said, request)):
        return _greeted(answer, said, request)
    known = _known_words(request)
    asking = asked(said) or asks_about(said, known) or seems_to_ask(said, known)
    if asking and small not in ("riddle", "no more", "so it is"):
        return _greeted(_from_memory(request), said, request)
    if courtesy_of(said) or is_chatter(said):
        return _acknowledge(said, request)
    return _greeted(_acknowledge(said, request), said, request)


def _as_learned(intent: Intent, said: str, request: ReplyRequest) -> Reply | None:
    """Answer a line by the intent that the classifier found; None if it cannot be so."""
    if intent is Intent.GREETING:
        return _greeting(request)
    if intent in (Intent.NAME, Intent.ROLE) and asks_of_oneself(said):
        return None  # "what is it i do for a living?"
    if intent is Intent.PLACE and _OF_MY_PLACE.search(said):
        return None
    if intent in (Intent.PARTING, Intent.THANKS):
        return Reply(phrase(intent.name.lower(), request), told=())
    others = [p for p in request.situation.people if p.identity != request.speaker_id]
    whom = others[0].name if others else "me" if asks_of_oneself(said) else ""
    if intent is Intent.ABOUT:
        asked_for = f"what do you know about {whom}?"
        return _from_memory(replace(request, utterance=asked_for)) if whom else None
    if intent in (Intent.LAST_SEEN, Intent.OPINION, Intent.WHISPERED) and not whom:
        return None
    if intent in (Intent.TALK, Intent.NEWS) and not request.situation.lines_asked_for:
        return None
    return _ANSWERS[intent](request, whom)


def _greeted(answer: Reply, said: str, request: ReplyRequest) -> Reply:
    """Put a greeting before an answer to a first line that greets: "Hello Mara, how is trade?"."""
    greets = Intent.GREETING in (courtesy_of(said), courtesy_of(request.utterance))
    if not greets or _has_spoken(request) or answer.text.startswith(_greet(request).rstrip(".!")):
        return answer
    rest = answer.text.replace(f", {request.speaker}", "", 1)  # who is greeted is named there
    return replace(answer, text=f"{_greet(request)} {rest}")


def _is_call(said: str, request: ReplyRequest) -> bool:
    """Whether a line is nothing but the name of the NPC."""
    return set(words_of(said)) <= set(
        words_of(" ".join(forms((request.npc_name, *request.npc_names))))
    )


def phrase(kind: str, request: ReplyRequest, **more: str) -> str:
    """Return a stock phrase of the NPC, the same for the same line, another than it said last."""
    choices = request.phrases.get(kind) or PHRASES[kind]
    first = zlib.crc32(request.utterance.encode()) % len(choices)
    turned = (*choices[first:], *choices[:first])
    last = _last_words(request)
    chosen = next((each for each in turned if not _said_in(each, last)), turned[0])
    return _filled(chosen, {"name": request.speaker, **more})


def asked_asleep(phrases: Mapping[str, tuple[str, ...]], name: str, question: str) -> str:
    """Return what an NPC says before it answers what it was asked asleep."""
    chosen = (phrases.get("asked asleep") or PHRASES["asked asleep"])[0]
    return _filled(chosen, {"name": name, "question": question})


def _filled(text: str, values: Mapping[str, str]) -> str:
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def _said_in(template: str, text: str) -> bool:
    """Whether a text holds a phrase, whatever it was filled with."""
    pattern = ".+?".join(map(re.escape, _FIELD.split(template)))
    return bool(re.search(rf"(?:^|[.!?\"] ){pattern}", text))


def _has_spoken(request: ReplyRequest) -> bool:
    """Whether the speaker said something before in this conversation."""
    return any(
        turn.role == "user" and turn.name == request.speaker for turn in request.conversation
    )


def _last_words(request: ReplyRequest) -> str:
    """Return what the NPC said last in this conversation."""
    own = (turn.content for turn in reversed(request.conversation) if turn.role == "assistant")
    return next(own, "")


def _worth_telling(request: ReplyRequest) -> list[Recalled]:
    """Return the recalled memories that may be told at all.

    Left out are experiences, questions, courtesies, and lines of talk that are worth nothing later.
    """
    own = forms((request.npc_name, *request.npc_names))
    known = _known_words(request)
    lines = [
        (each, without_address(each.memory.quote or each.memory.content, own))
        for each in request.recalled
        if each.memory.record != "experience" and not each.memory.question
    ]
    lines = [
        (each, said)
        for each, said in lines
        if not (asks(said) or asks_about(said, known) or _is_mere_courtesy(said))
        if not (_is_talk(each.memory) and _only_seems_to_ask(said, known))
    ]
    noise = are_noise([statements(said) or said for _each, said in lines])
    return [
        each
        for (each, _said), idle in zip(lines, noise, strict=True)
        if not (idle and _is_open_talk(each.memory))
    ]


def _only_seems_to_ask(said: str, known: set[str]) -> bool:
    """Whether a line is one question, in whatever order its words are."""
    return len(sentences_of(said)) == 1 and seems_to_ask(said, known)


def _is_open_talk(memory: MemoryRecord) -> bool:
    """Whether a memory is a line that somebody said aloud to whoever was there."""
    return _is_talk(memory) and not memory.private


def _is_talk(memory: MemoryRecord) -> bool:
    return memory.record == "entry" and memory.key != memory.content


def _known_words(request: ReplyRequest) -> set[str]:
    """Return the words that name people whom the NPC knows."""
    return {word for name in request.situation.known_names for word in names(name)}


def _is_mere_courtesy(said: str) -> bool:
    return is_chatter(said) or (
        len(said.split()) <= COURTESY_WORDS and courtesy_of(said) is not None
    )


def tellable(request: ReplyRequest) -> ReplyRequest:
    """Return a request with the memories alone that may be told in answer to a question.

    What only the agenda or a profile rests on was not recalled, nor were the lines of the last talk
    and the news: they answer nothing else.
    """
    beside = {each for item in request.situation.agenda for each in item.evidence}
    beside |= set(request.situation.lines_asked_for)
    beside |= {each.memory.id for each in _behind(request, request.situation.people)}
    recalled = tuple(
        each
        for each in _worth_telling(request)
        if not are_apart(request.utterance, each.memory.quote or each.memory.content)
        and (each.tokens or each.memory.id not in beside)
        and _may_answer(each.memory, request)
    )
    return replace(request, recalled=recalled)


def _may_answer(memory: MemoryRecord, request: ReplyRequest) -> bool:
    """Whether a memory is of a kind that may answer a question.

    That somebody came or went answers only what asks for such; so does what was said of the NPC.
    """
    if MOVE_KINDS.intersection(memory.tags):
        return bool(_ASKS_OF_MOVES.search(request.utterance))
    own = forms((request.npc_name, *request.npc_names))
    said = without_address(memory.quote or memory.content, own)
    return not _TO_ITS_FACE.match(said) or not _is_talk(memory) or asks_of_you(request.utterance)


# --- from memory ----------------------------------------------------------------------------------


def _from_memory(request: ReplyRequest) -> Reply:
    """Tell what answers best; say so where it may well not be the answer."""
    profile = _profile(request)
    own = _own_life(request)
    request = _of_whom_it_asks(tellable(request))
    try:
        chosen = told_of(request, select(request))
        told, sure = [each.memory for each in chosen], confidence(request, chosen)
        if is_beside_the_point(request, chosen, sure):
            told = []
    except ModelAway:  # the words alone found what was recalled
        told, sure = [each.memory for each in request.recalled[:1]], NOTHING_BELOW
    if own and sure < SURE_FROM:
        return own
    if not told or sure < NOTHING_BELOW:
        return Reply(_nothing(request), told=())
    said = tell_all(told, request, by_date=asks_when(request.utterance))
    if sure < SURE_FROM and not _OF_ONESELF.search(request.utterance):
        said = f"{phrase('doubt', request)} {said}"
    used = [each.id for each in told]
    if known := [each for each in profile.attributes if not _repeats(each, said)]:
        said = " ".join([said, *map(ended, known[:ATTRIBUTES_TOLD])])
        used += [each.memory.id for each in profile.evidence]
    return Reply(said, told=tuple(dict.fromkeys(used)))


def _of_whom_it_asks(request: ReplyRequest) -> ReplyRequest:
    """Return a request that asks what somebody is like with the memories alone that tell it.

    Those of others are none, nor is that they came or went.
    """
    person = _portrayed(request)
    if person is None:
        return request
    named = names(person.name)
    recalled = tuple(
        each
        for each in request.recalled
        if not MOVE_KINDS.intersection(each.memory.tags)
        and (
            person.identity in (each.memory.about, *each.memory.entities)
            or each.memory.speaker == person.name
            or named & {*words_of(each.memory.content)}
        )
    )
    return replace(request, recalled=recalled)


def _portrayed(request: ReplyRequest) -> KnownPerson | None:
    """Return the person whom a question asks about as a whole, None if it asks for none."""
    people = request.situation.people
    types = AnswerTypes.of(request.utterance.lower())
    if not people or not types.portrait:
        return None
    others = [each for each in people if each.identity != request.speaker_id]
    if others:
        return others[0]
    return people[0] if _OF_ONESELF.search(request.utterance) else None


def _own_life(request: ReplyRequest) -> Reply | None:
    """Answer a question about the NPC's own life and taste by its persona; None for any other."""
    said = _words_to_it(request)
    if not asks_of_a_life(said) or len(request.situation.people) > 1:
        return None
    told = told_of_itself(said, request.npc_name, request.persona)
    return Reply(told or phrase("own life", request), told=())


@dataclass(frozen=True, slots=True)
class _Profile:
    """What a profile says of the person a question is about, and the memories behind it."""

    attributes: tuple[str, ...] = ()
    evidence: tuple[Recalled, ...] = ()


def _profile(request: ReplyRequest) -> _Profile:
    """Return the profile that a question asks for, empty if it asks for no person as a whole."""
    person = _portrayed(request)
    if person is None:
        return _Profile()
    evidence = _behind(request, [person])
    return _Profile(person.attributes, tuple(evidence)) if evidence else _Profile()


def _behind(request: ReplyRequest, people: Sequence[KnownPerson]) -> list[Recalled]:
    """Return the memories that the profiles of people rest on."""
    numbers = {number for person in people for number in person.evidence}
    return [
        each
        for each in request.recalled
        if each.memory.record == "entry" and numbers & {*each.memory.journal_ids}
    ]


def _repeats(attribute: str, said: str) -> bool:
    """Return whether most words of an attribute were said."""
    words = content_words(attribute)
    return len(words & content_words(said)) >= REPEATED * len(words)


def _nothing(request: ReplyRequest) -> str:
    """Admit to know nothing, and name who might know."""
    asked = set(words_of(request.utterance))
    for person in request.situation.people:
        if person.identity != request.speaker_id and names(person.name) & asked:
            if _WHERE.match(_words_to_it(request)) and (seen := _last_seen(request, person.name)):
                return seen.text
            return phrase("ask them", request, topic=person.name)
    return phrase("nothing", request)


# --- courtesies -----------------------------------------------------------------------------------


def _acknowledge(said: str, request: ReplyRequest) -> Reply:
    courtesy = courtesy_of(said)
    if courtesy is Intent.GREETING or _is_bare_greeting(said):
        return _greeting(request)
    if courtesy is not None:
        return Reply(phrase("thanks" if courtesy is Intent.THANKS else "parting", request), told=())
    if request.set_right:
        return Reply(phrase("set right", request, topic=capital(request.set_right)), told=())
    may_ask = not _last_words(request).endswith("?")  # nobody is questioned twice in a row
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


def _greeting(request: ReplyRequest) -> Reply:
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
    if _has_spoken(request):
        return phrase("greeted again", request)
    if not request.met_before:
        return phrase("greeting", request)
    before = speaker.seen_before if speaker else ""
    if before and request.now and _age(before, request.now) >= LONG_ABSENT:
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


# --- what is plain to see -------------------------------------------------------------------------


def _knows_speaker(request: ReplyRequest, _whom: str) -> Reply | None:
    known = request.met_before or _has_spoken(request)
    return Reply(phrase("known" if known else "not known", request), told=())


def _oneself(request: ReplyRequest, _whom: str) -> Reply:
    """Say who the speaker is, and what they are known for."""
    known = _from_memory(replace(request, utterance="what do you know about me?"))
    named = f"You are {request.speaker}."
    return Reply(f"{named} {known.text}" if known.told else named, told=known.told)


def _sureness(request: ReplyRequest, _whom: str) -> Reply:
    """Say how sure the NPC is of what it has said last."""
    last = _last_words(request)
    doubts = request.phrases.get("doubt") or PHRASES["doubt"]
    if any(_said_in(each, last) for each in doubts):
        return Reply(phrase("not sure", request), told=())
    told = _TOLD_BY.search(without_quotations(last))
    return Reply(phrase("as it was told" if told else "quite sure", request), told=())


def _says(kind: str) -> Callable[[ReplyRequest, str], Reply | None]:
    return lambda request, _whom: Reply(phrase(kind, request), told=())


def _name(request: ReplyRequest, _whom: str) -> Reply | None:
    return Reply(introduction(request.npc_name, request.persona), told=())


def _role(request: ReplyRequest, _whom: str) -> Reply | None:
    return _name(request, _whom)


def _place(request: ReplyRequest, _whom: str) -> Reply | None:
    place = request.situation.place
    return Reply(f"This is {place}.", told=()) if place else None


def _time(request: ReplyRequest, _whom: str) -> Reply | None:
    moment = request.situation.moment
    return Reply(f"It is {moment}.", told=()) if moment else None


def _present(request: ReplyRequest, _whom: str) -> Reply | None:
    here = request.situation.present
    who = f"{listed(here)} {'is' if len(here) == 1 else 'are'} here with us" if here else ""
    return Reply(f"{who}." if who else f"Nobody but you and me, {request.speaker}.", told=())


def _visitors(request: ReplyRequest, _whom: str) -> Reply | None:
    """Tell who was here, on the day that is named or lately."""
    if not request.now:
        return None
    today = datetime.fromisoformat(request.now).date()
    day = day_asked(request.utterance, request.now)
    first, last = (day, day) if day else (today - LATELY, today)
    when = on_day(day, today) if day else "lately"
    seen: dict[str, date] = {}
    for visit in request.situation.visits:
        then = datetime.fromisoformat(visit.when).date()
        if first <= then <= last:
            seen.setdefault(visit.name, then)
    asker = seen.pop(request.speaker, None)
    if not seen:
        but = f", apart from you, {request.speaker}" if asker else ""
        return Reply(f"Nobody that I saw {when}{but}.", told=())
    who = list(seen)[:VISITORS_TOLD]
    return Reply(f"{listed(who)} {'was' if len(who) == 1 else 'were'} here {when}.", told=())


def _there(request: ReplyRequest, said: str) -> Reply | None:
    """Say who was there when something happened, or before or after the speaker came in."""
    asked = presence_questions.read(said)
    if asked is None:
        return None
    if asked.relation != "at":
        return _beside_coming(request, asked.relation) if request.situation.coming else None
    event = tellable(replace(request, utterance=asked.event))
    seen = tuple(each for each in event.recalled if each.memory.record == "entry")
    event = replace(event, recalled=seen)
    try:
        best = select(event)[:1]
    except ModelAway:
        return None
    sure = confidence(event, best)
    if not best or sure < NOTHING_BELOW:
        return None
    text = f"{_witnesses_told(best[0].memory, asked.whom, request)} {_events_told(best, event)}"
    if sure < SURE_FROM and certainty(event, best)["shared"] < PLAINLY_SHARED:
        text = f"{phrase('doubt', request)} {text}"
    return Reply(text, told=(best[0].memory.id,))


def _events_told(best: Sequence[AnswerCandidate], request: ReplyRequest) -> str:
    return tell_all((each.memory for each in best), request, by_date=True)


def _witnesses_told(memory: MemoryRecord, whom: str, request: ReplyRequest) -> str:
    """Say who perceived something besides the one who did it, or whether somebody did."""
    people = request.situation.witnesses
    there = [who for who in memory.witnesses if people.get(who) != memory.speaker]
    others = [people[who] for who in there if who in people and who != request.speaker_id]
    if not people.keys() >= {*there}:
        others.append("somebody whom I do not know")
    you = request.speaker_id in there
    person = _known(request, whom) if whom else None
    if person is None:
        everybody = [*others, *(["you"] if you else [])]
        return f"{capital(_were(everybody))} here then." if everybody else "Nobody else was here."
    oneself = person.identity == request.speaker_id
    name = "you" if oneself else person.name
    if person.identity in memory.witnesses:
        return f"Yes, {_were([name])} here then."
    besides = _were([*others, *(["you"] if you else [])]) if others or you else ""
    no = f"No, {_were([name])} not here then"
    return f"{no}; {besides}." if besides else f"{no}."


def _were(who: Sequence[str]) -> str:
    return f"{listed(who)} {'were' if len(who) > 1 or who == ['you'] else 'was'}"


def _beside_coming(request: ReplyRequest, relation: str) -> Reply | None:
    """Say who was there before the speaker came in, or who came next."""
    coming = request.situation.coming
    if coming is None:
        return None
    today = datetime.fromisoformat(request.now).date()
    when = on_day(datetime.fromisoformat(coming.when).date(), today)
    if relation == "after":
        who = f"{coming.next} came" if coming.next else "Nobody came"
        return Reply(f"{who} after you {when}.", told=())
    if not coming.present:
        return Reply(f"Nobody was here before you came {when}.", told=())
    return Reply(f"{capital(_were(coming.present))} here before you came {when}.", told=())


def _last_seen(request: ReplyRequest, whom: str) -> Reply | None:
    person = _known(request, whom)
    if person is None or set(words_of(whom)) - _TITLES - names(person.name) - {"i", "me"}:
        return None  # nobody, or "bram's boat"
    if person.identity == request.speaker_id:
        return _last_here(person, request)
    if person.here:
        return _visit_before(person, request)
    if left := _departure(request, person):
        return Reply(left, told=())
    if _GONE.search(request.utterance):  # it may have been told of
        return None
    when = day_told(person.last_seen, request.now) if person.last_seen else ""
    return Reply(f"I last saw {person.name} {when}.", told=()) if when else None


def _visit_before(person: KnownPerson, request: ReplyRequest) -> Reply:
    """Say that somebody is here, or whether they were on the past day that is asked for."""
    day = day_asked(request.utterance, request.now)
    today = datetime.fromisoformat(request.now).date() if request.now else None
    if day is None or today is None or day >= today:
        return Reply(f"{person.name} is right here.", told=())
    days = {
        datetime.fromisoformat(each.when).date()
        for each in request.situation.visits
        if each.name == person.name
    }
    was = "was here" if day in days else "was not here that I saw"
    return Reply(f"{person.name} {was} {on_day(day, today)}.", told=())


def _last_here(speaker: KnownPerson, request: ReplyRequest) -> Reply:
    """Say when the speaker was here before now."""
    when = day_told(speaker.seen_before, request.now) if speaker.seen_before else ""
    said = f"You were last here {when}, {request.speaker}." if when else phrase("not seen", request)
    return Reply(said, told=())


def _departure(request: ReplyRequest, person: KnownPerson) -> str:
    """Say where somebody went who was seen to leave within the last hours, "" if nobody saw it."""
    seen = next((each for each in request.situation.visits if each.name == person.name), None)
    if seen is None or not seen.left_for or _age(seen.when, request.now) > LEFT_LATELY:
        return ""
    just = _age(seen.when, request.now) < JUST_NOW
    when = "just now" if just else day_told(seen.when, request.now)
    return f"{person.name} left for {seen.left_for} {when}."


_STANDINGS = {
    "close": "{name} is very dear to me.",
    "friend": "I count {name} among my friends.",
    "acquaintance": "{name} and I get along.",
    "stranger": "I hardly know {name}.",
}


def _opinion(request: ReplyRequest, whom: str) -> Reply | None:
    """Say how the NPC stands with somebody, and what it knows of them."""
    person = _known(request, whom or "me")
    if person is None:
        return None
    oneself = person.identity == request.speaker_id
    standing = _STANDINGS[person.standing].format(name="you" if oneself else person.name)
    if oneself:
        standing = standing.replace("you is", "you are").replace("you and I", "we")
        return Reply(capital(standing), told=())
    about = replace(request, utterance=f"tell me about {person.name}")
    about = _of_whom_it_asks(tellable(about))
    try:
        told = [each.memory for each in told_of(about, select(about))[:OPINION_TOLD]]
    except ModelAway:
        told = []
    text = " ".join([standing, *([tell_all(told, request)] if told else [])])
    return Reply(text, told=tuple(each.id for each in told))


def _talk(request: ReplyRequest, _whom: str) -> Reply | None:
    """Recall what the speaker said when they last talked."""
    talk = set(request.situation.lines_asked_for)
    lines = [each.memory for each in _worth_telling(request) if each.memory.id in talk][:PORTRAIT]
    day = day_asked(request.utterance, request.now)
    when = on_day(day, datetime.fromisoformat(request.now).date()) if day else ""
    if not lines:
        said = "We talked of nothing much" if talk else "We did not talk"
        return Reply(f"{said} {when or 'before'}, {request.speaker}.", told=())
    when = when or day_told(lines[0].created_at, request.now)
    text = tell_all(lines, replace(request, now=""))
    return Reply(f"We talked {when}. {text}", told=tuple(each.id for each in lines))


def _news(request: ReplyRequest, _whom: str) -> Reply:
    """Tell what others have told lately."""
    heard = set(request.situation.lines_asked_for)
    lines = [each.memory for each in _worth_telling(request) if each.memory.id in heard]
    lines = sorted(lines, key=lambda each: (-each.importance, each.id))[:NEWS_TOLD]
    if not lines:
        return Reply(phrase("no news", request), told=())
    return Reply(tell_all(lines, request), told=tuple(each.id for each in lines))


def _word_left(request: ReplyRequest, _whom: str) -> Reply | None:
    if _FOR_ANOTHER.search(_words_to_it(request)):
        return None
    left = [item for item in request.situation.agenda if item.message]
    if left:
        return _due(left)
    said = [each.memory.content for each in tellable(request).recalled]
    if any(_LETTER.search(each) and names(request.speaker) & {*words_of(each)} for each in said):
        return None  # there may be a letter that somebody spoke of
    return Reply(phrase("no word left", request), told=())


def _teller(request: ReplyRequest, _whom: str) -> Reply | None:
    """Say whose words it told last: "Bram told me yesterday."."""
    found = [*_TOLD_BY.finditer(without_quotations(_last_words(request)))]
    if not found:
        return None
    who = list(dict.fromkeys(each["who"] for each in found))
    when = f" {found[0]['when']}" if len(found) == 1 and found[0]["when"] else ""
    if who in (["I"], ["You"], [request.speaker]):
        oneself = "I said it" if who == ["I"] else "You told me yourself"
        return Reply(f"{oneself}{when}.", told=())
    who = [each for each in who if each != "You"]
    others = [each if each != "I" else "I myself" for each in who]
    return Reply(f"{capital(listed(others))} told me{when}.", told=())


def _whispered(request: ReplyRequest, whom: str) -> Reply | None:
    person = _known(request, whom)
    if person is None or person.identity == request.speaker_id:
        return None
    return Reply(phrase("stays with me", request), told=())


def _given(request: ReplyRequest, whom: str) -> Reply | None:
    """Tell the gifts of the speaker, or of whom the question names.

    That they gave nothing is said only if no words of a gift come to mind either.
    """
    given = set(request.situation.lines_asked_for)
    gifts = [each.memory for each in request.recalled if each.memory.id in given]
    if gifts:
        return Reply(tell_all(gifts, request), told=tuple(each.id for each in gifts))
    person = _known(request, whom) if whom else None
    if whom and person is None:
        return None
    giver = person.identity if person else request.speaker_id
    theirs = [each.memory for each in request.recalled if each.memory.about == giver]
    if any(_OF_GIVING & content_words(memory.content) for memory in theirs):
        return None
    if person and giver != request.speaker_id:
        return Reply(phrase("nothing given by", request, whom=person.name), told=())
    return Reply(phrase("nothing given", request), told=())


def _due(items: Sequence[OpenItem]) -> Reply:
    """Tell what is asked for of the agenda."""
    told = dict.fromkeys(each for item in items for each in item.evidence)
    return Reply(" ".join(dict.fromkeys(item.text for item in items)), told=tuple(told))


def _nothing_open(said: str, request: ReplyRequest) -> Reply:
    """Say that nothing is owed or promised; yes to "am I paid up?", no to "do I owe you?"."""
    asked_for = agenda_questions.read(said, request.now) if request.now else None
    told = phrase("nothing open", request)
    if asked_for is None or not asked_for.whether or _BY_WHAT.match(said):
        return Reply(told, told=())
    return Reply(f"{'Yes' if asked_for.settled else 'No'}. {told}", told=())


_ANSWERS: Mapping[Intent, Callable[[ReplyRequest, str], Reply | None]] = {
    Intent.WELLBEING: _says("wellbeing"),
    Intent.NAME: _name,
    Intent.ROLE: _role,
    Intent.PLACE: _place,
    Intent.TIME: _time,
    Intent.PRESENT: _present,
    Intent.VISITORS: _visitors,
    Intent.LAST_SEEN: _last_seen,
    Intent.OPINION: _opinion,
    Intent.TALK: _talk,
    Intent.KNOWN: _knows_speaker,
    Intent.TALE: _says("no tale"),
    Intent.SECRECY: _says("secrecy"),
    Intent.SERVICE: _says("service"),
    Intent.MESSAGES: _word_left,
    Intent.TELLER: _teller,
    Intent.WHISPERED: _whispered,
    Intent.GIVEN: _given,
    Intent.ONESELF: _oneself,
    Intent.SURE: _sureness,
    Intent.NEWS: _news,
}


def _known(request: ReplyRequest, whom: str) -> KnownPerson | None:
    """Find whom a line means among the people whom the NPC knows."""
    people = request.situation.people
    if whom.lower() in ("i", "me", "us", "myself"):
        return next((p for p in people if p.identity == request.speaker_id), None)
    wanted = set(words_of(whom))
    return next((p for p in people if names(p.name) & wanted), None)


def _words_to_it(request: ReplyRequest) -> str:
    return without_address(request.utterance, forms((request.npc_name, *request.npc_names)))


def _age(then: str, now: str) -> timedelta:
    return datetime.fromisoformat(now) - datetime.fromisoformat(then)


def listed(said: Sequence[str]) -> str:
    """Join names: "Alice, Bram and Liora"."""
    return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
