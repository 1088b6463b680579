"""What the offline provider says to a line, and in which order its meanings are tried.

A line is understood before anything is told (`intents`). What its intent asks for, such as who is
here, comes from the situation (`situation_answers`), the answer to any other question from
memory (`memory_answers`); to what else is done with its words the NPC reacts (`reactions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ..english import agenda_questions
from ..english.addressing import confides
from ..english.commitments import passes_on
from ..english.own_words import own_wish, pronoun_of
from ..english.questions import asked, asks, asks_of_oneself, score, sentences_of
from ..english.reported_speech import claims
from ..english.small_talk import requests
from ..english.tokens import content_words, share_of_english
from ..language import Intent
from ..records import Reply, ReplyRequest, SpeechAct
from ..text.names import forms, names
from ..text.segmentation import words_of
from . import alarms
from .courtesies import greeted, greeting
from .matter import ordered
from .memory_answers import MemoryAnswer, from_memory
from .phrases import phrase, says
from .reactions import (
    ASKED,
    BEFORE_AN_ANSWER,
    TELLING,
    WANTED,
    WEIGHTY,
    asks_leave,
    is_errand,
    is_order,
    parting_from,
    react,
    share_of,
    thank_for_gift,
    with_answer,
    with_rules,
)
from .reported_lines import QUOTATION
from .sentence_answers import SURELY, words_to_it
from .situation_answers import (
    ANSWERS,
    agenda_asked,
    agenda_told,
    news,
    nothing_open,
    who_was_there,
)

# acts after which nothing is brought up
NO_TIME = frozenset("alarm feeling insult apology".split())
DUE_AT_GREETING = 2  # items that are brought up unasked where nothing is answered, else one
OTHERS_LIKELY = 1.0  # score from which what others said answers what is not read as a question
LIKELY = 0.5  # score from which what builders gave answers a line that may not ask
FOREIGN_BELOW = 0.3  # share of English words; English lines of many names have more
LEAST_ASKED = 3  # words that ask by themselves
LEAST_OF_A_MATTER = 2  # content words of a sentence that asks by itself
AGENDA_AT_ONCE = 3  # items that are told before memory is asked
STATES_BELOW = -5.0  # score of `questions`, below which a sentence that claims something asks not
ORDERS_FROM = 2.0  # score from which a line that has not the form of an order is one
STOCK = frozenset({Intent.SERVICE, Intent.TALE, Intent.SECRECY, Intent.PLACE})
MAY_ASK = frozenset("request order joke question".split())
ASKS_TO_KNOW = frozenset({"know"})  # kind of reaction (`acts.WANTED`)
KNOWS_FROM = 0.1  # share of it below which memory is not asked
# kinds to which a house rule or a price may be the answer
SHEET_MAY_ANSWER = frozenset("favour order do view how press".split())
OF_ITS_OWN_FROM = 0.4  # share from which a line asks for the NPC's feelings, which no memory tells
ASKED_IN_PLAY = frozenset({"riddle", "wager", "joke", "press"})  # kinds that are often questions
WORDS_IN_ALARM = 3  # content words, at most, of a question what is to be done
CLEARLY = 4.0  # score from which such a question asks for something else
PLAYED_FROM = 0.3  # share of one from which it is in place of "I do not know"
JOKES_FROM = 0.5  # how surely a line jokes beside its question, for the same
REACTED_FROM = 0.5  # share of a kind from which it is clear
OF_WHOM = frozenset({Intent.LAST_SEEN, Intent.OPINION, Intent.WHISPERED})
_GOAL = re.compile(r"(?:to )?(?P<what>[^.;]+?)(?=, and |[.;]|$)", re.IGNORECASE)
_GREETING = re.compile(r"greet|return|long absent|called")  # rows
# "did you hear? Alice is a grandmother!"
_NEWS = re.compile(
    r"^\W*(?:did|have) (?:you|u|ye) (?:hear|heard|know)(?: that| the news)?\s*\?\s*(?=\S)", re.I
)
_POINTS_BACK = re.compile(r"\b(?:such|that|this|it|them|those|these|ones?|there)\b", re.IGNORECASE)
_OF_WHAT = re.compile(
    r"\W*(?:and |so )?(?:wh|wo?t\b|how|hw\b|remind|(?:(?:do|can) )?(?:you|u) )", re.IGNORECASE
)
_DO_YOU = re.compile(r"\b(?:will|do|are|did|have) (?:you|u|ye)\b", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you|u|ye|ya|your|ur)\b", re.IGNORECASE)
_WHAT = re.compile(r"\b(?:wh(?:at|o|ere|en|ich)|wot|wat|how)(?:['’]?s)?\b", re.IGNORECASE)


def reply(request: ReplyRequest) -> Reply:
    """Answer a line as the NPC. What is due is brought up behind a greeting and where nothing was
    asked, once in a talk, and messages behind any answer. Never empty."""
    if request.kind == "silence":
        return _opening(request)
    made = _answer(request)
    if any(act.kind in NO_TIME for act in request.acts):
        return made
    told = {*(made.told or ())}
    for item in request.situation.agenda:  # a message, not the line that left it
        if item.pressing and item.message and told and told.issubset(item.evidence):
            made = agenda_told([item])
    in_the_way = request.has_spoken or _asks(words_to_it(request), request)
    due = [
        item
        for item in request.situation.agenda
        if item.pressing
        and (item.message or not in_the_way)
        and told.isdisjoint(item.evidence)
        and item.quoted not in made.text
    ]
    most = DUE_AT_GREETING if _GREETING.match(made.row) else 1
    brought = agenda_told(due[: most if told.isdisjoint(_evidence(request)) else 0])
    text = f"{made.text} {brought.text}".strip()
    if brought.text and made.row in ("nothing", "ask them"):
        text = brought.text
    told_now = (*(made.told or ()), *(brought.told or ()))
    foreign = share_of_english(request.utterance) < FOREIGN_BELOW
    open_to_a_model = made.small_talk or foreign
    tells = any(act.kind in TELLING and act.sure > 0 for act in request.acts)
    talk = open_to_a_model and not told_now and (foreign or not tells)
    return replace(made, text=text, told=told_now, small_talk=talk)


def _opening(request: ReplyRequest) -> Reply:
    """Say something unasked: what waits for the one it speaks to, news, or its own goals."""
    due = [item for item in request.situation.agenda if item.pressing][:1]
    if due:
        told = agenda_told(due)
        return replace(told, text=f"{phrase('has word', request)} {told.text}", row="has word")
    if request.situation.lines_asked_for:
        heard = news(request, "")
        return replace(heard, text=f"{phrase('has news', request)} {heard.text}", row="has news")
    if goal := _GOAL.match(request.goals):
        pronoun = pronoun_of((request.persona, request.description), request.goals)
        return says("own goal", request, topic=own_wish(goal["what"].strip(), pronoun))
    return Reply("", told=())


def _evidence(request: ReplyRequest) -> Iterator[str]:
    return (each for item in request.situation.agenda for each in item.evidence)


def _answer(request: ReplyRequest) -> Reply:
    if request.kind == "give":
        return thank_for_gift(request)
    if request.kind == "pose":
        return _to_pose(request)
    if request.question:
        request = replace(request, utterance=request.question)
    said = words_to_it(request)
    if _is_call(said, request):
        return says("called", request)
    ruled = with_rules(said, request)
    # "when Bram comes back, say to him …" does not ask where he is
    there = None if is_errand(ruled) else who_was_there(request, said)
    made = there or _surely_meant(said, ruled) or _to_line(said, ruled)
    return greeted(made, said, ruled)


def _surely_meant(said: str, request: ReplyRequest) -> Reply | None:
    """Answer a line that can hardly mean anything but its intent."""
    intent = Intent[request.intent] if request.intent else None
    surely = request.surely_meant or intent is Intent.GIVEN
    served = intent is Intent.SERVICE and _orders(said, request)
    if not (intent and surely) or served or passes_on(said):  # "would you tell Cole he is good?"
        return None
    known = _of_the_sheet(request) if intent in STOCK else None
    if known and (intent is not Intent.PLACE or _is_of_the_place(known, request)):
        return known
    answer = _as_meant(intent, _asked_beside(request), request)
    return with_answer(answer, said, request) if answer else None


def _to_line(said: str, request: ReplyRequest) -> Reply:
    """React to a line, or answer what it asks: of the agenda, from memory, by its intent."""
    done = {act.kind for act in request.acts}
    if is_errand(request):
        return react(said, request)
    if _NEWS.search(said) and not _asks(said, request):
        acts = [each for each in request.acts if each.kind != "question"]
        request = replace(request, acts=tuple(acts) or (SpeechAct("claim_other", said),))
    orders = _orders(said, request)
    if _only_reacted_to(said, request):
        may = bool(asked(said)) or _wants(request, 0.0) in SHEET_MAY_ANSWER
        return (_known_anyway(said, request, SURELY) if may else None) or react(said, request)
    if not _asks(said, request):
        may = bool(done) and done <= MAY_ASK and not orders
        return (_known_anyway(said, request, LIKELY) if may else None) or react(said, request)
    agenda = request.situation.agenda
    of_agenda = agenda_questions.read(said, request.now) if request.now and agenda else None
    about = bool(of_agenda and of_agenda.about)  # not "what have i promised?", "what in all?"
    due = (agenda_asked(said, agenda) if about else agenda) if of_agenda else ()
    found = from_memory(_as_asked(request))
    asking = " ".join(filter(asks, sentences_of(said))) or said
    asks_what = _OF_WHAT.match(said) or _WHAT.search(asking)  # "bet u forgot, whats my frog called"
    may = done <= MAY_ASK and not (asks_leave(said) or requests(said))
    likely = found.own or found.secret or asks_what or (may and found.score >= OTHERS_LIKELY)
    if not request.question and done and "question" not in done and _just_told(found, request):
        return react(said, request)
    if (done and "question" not in done and not likely) or orders:
        found = replace(found, reply=None, score=0.0)  # what others said answers questions alone
    short = len(content_words(said)) <= WORDS_IN_ALARM
    if short and found.score < CLEARLY and (order := alarms.ordered_again(request)):
        return order  # "what must we do?", "which way out"
    if found.reply and found.secret:  # "what did i ask you to keep to yourself?"
        return found.reply
    of_a_matter = about and len(content_words(said)) >= LEAST_OF_A_MATTER
    told = {*(found.reply.told or ())} if found.reply and found.surely and of_a_matter else set()
    due = [item for item in due if not told.isdisjoint(item.evidence)] or due
    if 0 < len(due) <= AGENDA_AT_ONCE:
        return agenda_told(due)
    if request.situation.nothing_open:
        return nothing_open(said, request)
    if found.reply and found.surely:
        return with_answer(found.reply, said, request)
    if due:
        return agenda_told(due)
    intent = Intent[request.intent] if request.intent else None
    if intent in STOCK | {Intent.ROLE} and found.reply and found.own:
        return with_answer(found.reply, said, request)
    meant = _as_meant(intent, _asked_beside(request), request) if intent else None
    if answer := meant or found.reply:
        return with_answer(answer, said, request)
    # "help, what is that?" and "you look like a fencepost" are not answered "I know nothing"
    asks_it = "question" in done or "?" in said
    to_do = done & (BEFORE_AN_ANSWER | ASKED) and not asks_what
    if to_do or (done and not (asks_it or asks_what)) or asks_leave(said):
        return react(said, request)
    return replace(_unknown(request), weighed=found.weighed)


def _only_reacted_to(said: str, request: ReplyRequest) -> bool:
    """Whether a line wants a reaction, and nothing of what the NPC knows."""
    asks_back = asked(said) and _wants(request, 0.0) == "secret"  # "what did I tell you, low?"
    done = {act.kind for act in request.acts}
    beside = done & (BEFORE_AN_ANSWER | ASKED) and _asked_beside(request) != request.utterance
    known = share_of(ASKS_TO_KNOW, request.wanted)
    clear = bool(_wants(request)) or not _asks(said, request)
    hardly = known < KNOWS_FROM or _wants(request) in ASKED_IN_PLAY
    return bool(request.wanted) and clear and hardly and not (asks_back or beside)


def _wants(request: ReplyRequest, least: float = REACTED_FROM) -> str:
    """Return the kind of reaction that a line wants from a share, "" where that is not clear."""
    kind, share = next(iter(request.wanted), ("", 0.0))
    return kind if share >= least else ""


def _to_pose(request: ReplyRequest) -> Reply:
    """Answer what is said in a pose (`turns to Mara and asks, "…"`), or what is done by it."""
    if said := [each.group()[1:-1] for each in QUOTATION.finditer(request.utterance)]:
        return _answer(replace(request, kind="say", utterance=" ".join(said), question=""))
    done = request.utterance.removeprefix(request.speaker).strip()
    acts = request.acts or (SpeechAct("move", done),)
    return react(done, with_rules(done, replace(request, acts=acts)))


def _of_the_sheet(request: ReplyRequest) -> Reply | None:
    """Return what the persona sheet answers, before any stock phrase."""
    found = from_memory(request)
    return found.reply if found.own else None


def _just_told(found: MemoryAnswer, request: ReplyRequest) -> bool:
    """Whether the NPC has just told what answers: "a third? that's robbery" asks not for it."""
    last = next((e.content for e in reversed(request.conversation) if e.role == "assistant"), "")
    return any(each.told and each.text in last for each in found.weighed)


def _is_of_the_place(known: Reply, request: ReplyRequest) -> bool:
    """Whether what answers names the place: "You are in the Gilded Eel, where the ferry lands"."""
    return not content_words(request.situation.place).isdisjoint(content_words(known.text))


def _known_anyway(said: str, request: ReplyRequest, least: float) -> Reply | None:
    """Return what answers a line that hardly asks to know something: a house rule where it asks for
    leave, a price where it orders, or asks in no usual form ("hw much 4 a hem").

    Args:
        least: The score that it needs.
    """
    found = from_memory(_as_asked(request))
    may = found.own or (least >= SURELY and bool(asked(said)))
    if not (found.reply and may and found.score >= least):
        return None
    if _orders(said, request):
        taken = react(said, request)
        if not found.reply.told:  # "I wipe the same mug", of its persona
            return taken
        return replace(found.reply, text=f"{taken.text} {found.reply.text}", row=taken.row)
    return with_answer(found.reply, said, request)


def _as_asked(request: ReplyRequest) -> ReplyRequest:
    """Return a request with the sentences alone that ask, of a line that does other things too."""
    others = {act.kind for act in request.acts} & WEIGHTY
    questions = [act.text for act in request.acts if act.kind == "question"]
    asking = " ".join(
        each
        for each in sentences_of(request.utterance)
        if any(text in each or each in text for text in questions)
    )
    whole = len(content_words(asking)) >= LEAST_OF_A_MATTER and not _POINTS_BACK.search(asking)
    if not (others and whole):  # "which one was it?", "who knows about such things?"
        return request
    return replace(request, utterance=asking)


def _orders(said: str, request: ReplyRequest) -> bool:
    """Whether a line wants something to be served or done, and nothing to be told."""
    done = {act.kind for act in request.acts}
    asks_it = _OF_WHAT.match(said) or _WHAT.search(said) or _DO_YOU.search(said)
    if asks_it or "question" in done or "?" in said:
        return False
    sure = max((act.sure for act in request.acts if act.kind in ASKED), default=0.0)
    wanted = share_of({"order"}, request.wanted) >= REACTED_FROM
    return (sure > 0 or wanted) and (is_order(said) or (sure >= ORDERS_FROM and not asked(said)))


def _asked_beside(request: ReplyRequest) -> str:
    """Return the words that ask of a line that does other things too: "…, and who are you?"."""
    others = {act.kind for act in request.acts} & WEIGHTY
    asking = " ".join(act.text for act in request.acts if act.kind == "question")
    return asking if others and len(asking.split()) >= LEAST_ASKED else request.utterance


def _asks(said: str, request: ReplyRequest) -> bool:
    """Whether a line asks something that memory may answer."""
    sentences = sentences_of(said)
    hushed = confides(said) and not _OF_WHAT.match(said)  # "what did i tell you in confidence"
    if hushed and not any(asks(each) and not confides(each) for each in sentences):
        return False  # "but dont tell any1 k??"
    if (news := _NEWS.sub("", said)) != said and len(news.split()) >= LEAST_ASKED:
        return bool(asked(news))
    if "?" not in said and all(claims(each) and score(each) < STATES_BELOW for each in sentences):
        return False  # "ur water is lukewarm and so is ur face"
    return bool(asked(said)) or any(act.kind == "question" for act in request.acts)


def _as_meant(intent: Intent, said: str, request: ReplyRequest) -> Reply | None:
    """Answer a line by its intent; None if it cannot be so."""
    if intent is Intent.GREETING:
        return greeting(request)
    of_me = asks_of_oneself(said)
    if intent in (Intent.NAME, Intent.ROLE) and of_me:
        return None  # "what is it i do for a living?"
    whole = words_to_it(request)
    if intent is Intent.SERVICE and is_order(whole) and ordered(whole):
        return None  # which is said back
    if intent is Intent.PARTING:
        return parting_from(request)
    if intent is Intent.THANKS:
        return says("thanks", request)
    others = [p for p in request.situation.people if p.identity != request.speaker_id]
    whom = others[0].name if others else "me" if of_me else ""
    if intent is Intent.ABOUT:
        asked_for = f"what do you know about {whom}?"
        return from_memory(replace(request, utterance=asked_for)).reply if whom else None
    of_theirs = bool(others) and f"{whom}'s ".lower() in said.lower().replace("’", "'")
    if intent in OF_WHOM and (not whom or of_theirs):
        return None  # nobody, or "have you seen Bram's boat"
    if intent is Intent.GIVEN and of_me:
        return ANSWERS[intent](request, "")  # "what did i give you? bram says it was nothing"
    if intent is Intent.GIVEN and not whom:
        return None  # by somebody whom it does not know
    told = request.situation.lines_asked_for
    if intent in (Intent.TALK, Intent.NEWS) and not (told or request.surely_meant):
        return None
    return ANSWERS[intent](request, whom)


def _is_call(said: str, request: ReplyRequest) -> bool:
    """Whether a line is nothing but the name of the NPC."""
    return set(words_of(said)) <= set(
        words_of(" ".join(forms((request.npc_name, *request.npc_names))))
    )


def _unknown(request: ReplyRequest) -> Reply:
    """Admit to know nothing, and name who might know."""
    said = set(words_of(request.utterance))
    for person in request.situation.people:
        if person.identity != request.speaker_id and names(person.name) & said:
            return says("ask them", request, topic=person.name)
    kind = _wants(request, OF_ITS_OWN_FROM)
    if kind == "how" or (kind == "view" and _YOU.search(request.utterance)):
        return says(WANTED[kind], request)
    played = [
        each for each, share in request.wanted if each in ASKED_IN_PLAY and share >= PLAYED_FROM
    ]
    if any(act.kind == "joke" and act.sure >= JOKES_FROM for act in request.acts):
        played.append("joke")  # "would you marry me? haha"
    return says(WANTED[played[0]] if played else "nothing", request)
