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
from ..english.questions import (
    asked,
    asks,
    asks_of_oneself,
    score,
    sentences_of,
)
from ..english.reported_speech import claims
from ..english.small_talk import asks_a_favour, requests
from ..english.tokens import content_words, share_of_english
from ..language import Intent
from ..records import Reply, ReplyRequest, SpeechAct
from ..text.names import forms, names
from ..text.segmentation import words_of
from .courtesies import greeted, greeting
from .matter import ordered
from .memory_answers import from_memory
from .phrases import phrase, says
from .reactions import (
    ASKED,
    BEFORE_AN_ANSWER,
    OF_A_MATTER,
    TELLING,
    WEIGHTY,
    asks_leave,
    is_errand,
    is_order,
    parting_from,
    react,
    tells_riddle,
    thank_for_gift,
    with_answer,
    with_rules,
)
from .reported_lines import QUOTATION
from .sentence_answers import words_to_it
from .situation_answers import (
    ANSWERS,
    agenda_asked,
    agenda_told,
    last_seen,
    news,
    nothing_open,
    who_was_there,
)

NO_TIME = frozenset(
    "alarm feeling insult apology".split()
)  # acts after which nothing is brought up
DUE_AT_GREETING = 2  # items that are brought up unasked where nothing is answered, else one
_GOAL = re.compile(r"(?:to )?(?P<what>[^.;]+?)(?=, and |[.;]|$)", re.IGNORECASE)
_GREETING = re.compile(r"greet|return|long absent|called")  # rows
OF_THE_SHEET_LIKELY = 0.5  # the same, of what builders gave
FOREIGN_BELOW = 0.3  # share of English words; English lines of many names have more
LEAST_ASKED = 3  # words that ask by themselves
LEAST_OF_A_MATTER = 2  # content words of a sentence that asks by itself
AGENDA_AT_ONCE = 3  # items that are told before memory is asked
FEW_WORDS = 6
STATES_NOTHING_FROM = 4.0  # score from which words that state nothing are a question
STATES_BELOW = -5.0  # score of `questions`, below which a sentence that claims something asks not
ORDERS_FROM = 2.0  # score from which a line that has not the form of an order is one
LIKELY = 1.0  # score from which what others said answers a line that is not read as a question
STOCK = frozenset({Intent.SERVICE, Intent.TALE, Intent.SECRECY, Intent.PLACE})
COURTEOUS = frozenset("parting thanks praise apology".split())
MAY_ASK = frozenset("request order joke question insult".split())
OF_WHOM = frozenset({Intent.LAST_SEEN, Intent.OPINION, Intent.WHISPERED})
_US = re.compile(r"\b(?:we|us|me)\b", re.IGNORECASE)
_WHERE = re.compile(r"\W*(?:and )?where(?:['’]?s| is)\b", re.IGNORECASE)
# "did you hear? Alice is a grandmother!", "jossy is tansy's cousin, did you know that?"
_YOU_HEARD = r"(?:did|have|had) (?:you|u|ye|ya) (?:hear|heard|know)"
_NEWS = re.compile(
    rf"^\W*{_YOU_HEARD}(?: that| it| the news)?\s*\?\s*(?=\S)"
    rf"|[\s,.]*\b{_YOU_HEARD}(?: that| of it)?\W*$",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"\b(?:such|that|this|it|them|those|these|ones?|there)\b", re.IGNORECASE)
_RUNS_ON = re.compile(  # "is the tub free i only got 20 min"
    r"(?P<asks>\W*(?:[\w'’]+,? )?(?:is|are|r|do|does|can|have|has|got|any|wh\w+|how|wot)\b"
    r"[^.!?;,]*\w),? (?P<tells>i(?:['’]?(?:m|ve|ll|d))? [^.!?;]+)$",
    re.IGNORECASE,
)
_RHETORICAL = re.compile(
    r"\W*(?:(?:can|could|would) (?:you|u|ye) (?:imagine|believe)|you know what|guess what)\b",
    re.IGNORECASE,
)
_OF_WHAT = re.compile(
    r"\W*(?:and |so )?(?:wh|wo?t\b|how|hw\b|remind|(?:(?:do|can) )?(?:you|u) )",
    re.IGNORECASE,
)
_PROMISE = re.compile(  # "promise?" asks whether what it has just said holds
    r"\W*(?:(?:do |you |u |ye |and )*(?:promise|swear)(?: me)?|pinky (?:promise|swear))\W*\?\W*",
    re.IGNORECASE,
)
_TOLD_NOBODY = re.compile(  # "you ain't told no one 'bout that, have yer?"
    r"\W*(?:(?:so|and|but|hey|oi),? )?(?:(?:you|u|ye|ya)(?: (?:have|did)(?:n['’]?t| not)?"
    r"| ain['’]?t| never|['’]?ve not)|(?:have|did)(?:n['’]?t)? (?:you|u|ye|ya)(?: ever)?)"
    r" (?:tell|told|sa(?:y|id)|breathed?|mention(?:ed)?|let on)\b",
    re.IGNORECASE,
)
_NOBODY = re.compile(r"\b(?:no ?-?(?:one|body|1)|any ?-?(?:one|body|1)|a (?:living )?soul)\b", re.I)
_WHAT = re.compile(r"\b(?:wh(?:at|o|ere|en|ich)|wot|wat|how)(?:['’]?s)?\b", re.IGNORECASE)
_DO_YOU = re.compile(r"\b(?:will|do|are|did|have) (?:you|u|ye)\b", re.IGNORECASE)
_YOU_ARE = re.compile(
    r"(?:\b(?:you|u|ye) must be|^(?:\w+[.,!] )?so,? (?:you(?:['’]?re| are)|ur)) (?:the )?"
    r"(?P<whom>[^.,!?]+)",
    re.IGNORECASE,
)
_REMEMBERS_WHAT = re.compile(
    r"\b(?:remember|recall|know|kno) (?:wh(?:at|o|ere|en|ich|y)|wot|wat|how|my)\b", re.IGNORECASE
)
_OF_ANOTHER_PLACE = re.compile(
    r"\b(?:after|before|next|last) (?:this|that|one|is|was|stop)\b", re.IGNORECASE
)
# "wots the prompters real name", "what is his sister's name"
_OF_ANOTHERS_NAME = re.compile(
    r"\b(?:the|an?|my|his|her|their|our|your|ur) (?:\w+ )?\w+['’]?s (?:\w+ )?name\b", re.IGNORECASE
)
_OF_MY_PLACE = re.compile(  # "where am i staying?"
    r"\b(?:am i (?!again\b)\w+in[g'’]?|do i (?:live|stay|work|sleep|lodge|come))(?!\w)",
    re.IGNORECASE,
)


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
    if _is_taken_for_itself(request):
        made = greeting(request)
        return replace(made, text=f"Yes, I am {request.npc_name}. {made.text}")
    if there := who_was_there(request, said):
        return there
    if _PROMISE.fullmatch(said):
        return says("quite sure", request)
    if _asks_of_silence(said, request):
        return says("confided", request)
    intent = Intent[request.intent] if request.intent else None
    ruled = with_rules(said, request)
    orders = _orders(said, ruled)
    if orders and intent is Intent.SERVICE:
        return greeted(react(said, ruled), said, request)
    told_to_another = passes_on(said)  # "would you tell Cole he is a good man?"
    if intent and (request.surely_meant or intent is Intent.GIVEN) and not told_to_another:
        if intent in STOCK and (known := _of_the_sheet(request)):
            return greeted(known, said, request)
        if answer := _as_meant(intent, _asked_beside(request), request):
            return greeted(with_answer(answer, said, request), said, request)
    request = ruled
    done = {act.kind for act in request.acts}
    if is_errand(request) or asks_a_favour(said):
        return greeted(react(said, request), said, request)
    sentences = sentences_of(said)
    claimed = any(map(claims, sentences))
    if "insult" in done and claimed and not ("?" in said or _WHAT.search(said)):
        others = tuple(each for each in request.acts if each.kind != "question")
        return greeted(react(said, replace(request, acts=others)), said, request)
    if tells_riddle(said) or not _asks(said, request):
        if _NEWS.search(said):
            acts = [each for each in request.acts if each.kind != "question"]
            request = replace(request, acts=tuple(acts) or (SpeechAct("claim_other", said),))
        insults = done == {"insult"} and claimed  # "your stew is water"
        may = done and done <= MAY_ASK and not (orders or insults)
        known = _known_anyway(request) if may else _surely_asked(said, request)
        known = None if tells_riddle(said) else known
        return greeted(known or react(said, request), said, request)
    asked_for = _as_asked(request)
    agenda = request.situation.agenda
    of_agenda = agenda_questions.read(said, request.now) if request.now and agenda else None
    about = bool(of_agenda and of_agenda.about)  # not "what have i promised?", "what in all?"
    due = (agenda_asked(said, agenda) if about else agenda) if of_agenda else ()
    found = from_memory(asked_for)
    asking = " ".join(filter(asks, sentences)) or said
    asks_what = _OF_WHAT.match(said) or _WHAT.search(asking)  # "bet u forgot, whats my frog called"
    may = done <= MAY_ASK and not (asks_leave(said) or requests(said))
    likely = found.own or found.secret or asks_what or (may and found.score >= LIKELY)
    surely = max((act.sure for act in request.acts), default=0.0) >= ORDERS_FROM
    told_so = (found.own and found.surely) or asks_what
    of_others = surely and done <= ASKED and not told_so  # "lend me 2 pence?"
    if (done and "question" not in done and not likely) or orders or of_others:
        found = replace(found, reply=None, score=0.0)  # what others said answers questions alone
    if found.reply and found.secret:  # "what did i ask you to keep to yourself?"
        return greeted(found.reply, said, request)
    of_a_matter = about and len(content_words(said)) >= LEAST_OF_A_MATTER
    told = {*(found.reply.told or ())} if found.reply and found.surely and of_a_matter else set()
    due = [item for item in due if not told.isdisjoint(item.evidence)] or due
    if 0 < len(due) <= AGENDA_AT_ONCE:
        return agenda_told(due)
    if request.situation.nothing_open:
        return nothing_open(said, request)
    if found.reply and found.surely:
        return greeted(with_answer(found.reply, said, request), said, request)
    if due:
        return agenda_told(due)
    # "can u do it by tonite??", "guess who just won? me!"; not "bet u forgot my snail's name"
    if done and "question" not in done and not (found.score > 0 or _OF_WHAT.match(said)):
        return greeted(react(said, request), said, request)
    if intent in STOCK | {Intent.ROLE} and found.reply and found.own:
        return greeted(with_answer(found.reply, said, request), said, request)
    if intent and (as_meant := _as_meant(intent, _asked_beside(request), request)):
        return greeted(with_answer(as_meant, said, request), said, request)
    if found.reply:
        return greeted(with_answer(found.reply, said, request), said, request)
    # "help, what is that?" and "you look like a fencepost" are not answered "I know nothing"
    asks_it = "question" in done or "?" in said
    to_do = done & (BEFORE_AN_ANSWER | ASKED) and not asks_what
    if to_do or (done and not (asks_it or asks_what)) or asks_leave(said):
        return greeted(react(said, request), said, request)
    return greeted(replace(_unknown(request), weighed=found.weighed), said, request)


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


def _known_anyway(request: ReplyRequest) -> Reply | None:
    """Return what answers a line that asks in no usual form: "hw much 4 a new hem"."""
    found = from_memory(request)
    return found.reply if found.own and found.score >= OF_THE_SHEET_LIKELY else None


def _surely_asked(said: str, request: ReplyRequest) -> Reply | None:
    """Return what answers a few words that state nothing: "priyas kids. names", "dead or not"."""
    does_else = {act.kind for act in request.acts} & (OF_A_MATTER | COURTEOUS)
    states = any(map(claims, sentences_of(said)))
    if does_else or states or len(said.split()) > FEW_WORDS:
        return None
    found = from_memory(request)
    return found.reply if found.score >= STATES_NOTHING_FROM else None


def _as_asked(request: ReplyRequest) -> ReplyRequest:
    """Return a request with the sentences alone that ask, of a line that does other things too."""
    if (runs_on := _RUNS_ON.match(request.utterance)) and not claims(runs_on["asks"]):
        told = [act for act in request.acts if act.kind == "claim_self"]
        if told and runs_on["tells"].lower().startswith(told[-1].text.strip().lower()):
            request = replace(request, utterance=runs_on["asks"])
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
    return sure > 0 and (is_order(said) or (sure >= ORDERS_FROM and not asked(said)))


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
    asking = (act.text for act in request.acts if act.kind == "question")
    return bool(asked(said)) or any(not _RHETORICAL.match(each) for each in asking)


def _as_meant(intent: Intent, said: str, request: ReplyRequest) -> Reply | None:
    """Answer a line by its intent; None if it cannot be so."""
    if intent is Intent.GREETING:
        return greeting(request)
    of_another = asks_of_oneself(said) or _OF_ANOTHERS_NAME.search(said)
    if intent in (Intent.NAME, Intent.ROLE) and of_another:
        return None  # "what is it i do for a living?"
    if intent is Intent.PLACE and (_OF_MY_PLACE.search(said) or _OF_ANOTHER_PLACE.search(said)):
        return None
    whole = words_to_it(request)
    if intent is Intent.KNOWN and _REMEMBERS_WHAT.search(whole):
        return None  # "do you remember where I come from?"
    if intent is Intent.SERVICE and is_order(whole) and ordered(whole):
        return None  # which is said back
    if intent is Intent.PARTING:
        return parting_from(request)
    if intent is Intent.THANKS:
        return says("thanks", request)
    others = [p for p in request.situation.people if p.identity != request.speaker_id]
    of_me = asks_of_oneself(said) or bool(_US.search(said))
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


def _asks_of_silence(said: str, request: ReplyRequest) -> bool:
    """Whether somebody who confided in it asks whether it told anybody."""
    told = _TOLD_NOBODY.match(said)
    if not (told and "?" in said and _NOBODY.search(said, told.end())):
        return False
    own = (each.memory for each in request.recalled if each.memory.about == request.speaker_id)
    return bool(request.speaker_id) and any(each.private for each in own)


def _is_call(said: str, request: ReplyRequest) -> bool:
    """Whether a line is nothing but the name of the NPC."""
    return set(words_of(said)) <= set(
        words_of(" ".join(forms((request.npc_name, *request.npc_names))))
    )


def _is_taken_for_itself(request: ReplyRequest) -> bool:
    """Whether a line guesses who the NPC is: "you must be Mara"."""
    found = _YOU_ARE.search(request.utterance)
    return found is not None and _is_call(found["whom"], request)


def _unknown(request: ReplyRequest) -> Reply:
    """Admit to know nothing, and name who might know."""
    said = set(words_of(request.utterance))
    for person in request.situation.people:
        if person.identity != request.speaker_id and names(person.name) & said:
            whom = _WHERE.match(words_to_it(request))
            if whom and (seen := last_seen(request, words_to_it(request)[whom.end() :])):
                return Reply(seen.text, told=())
            return says("ask them", request, topic=person.name)
    return says("nothing", request)
