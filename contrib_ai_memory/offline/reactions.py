"""Reactions: what the offline provider says first, by what is done with the words of a line.

A line is read as acts (`offline.acts`). The most pressing one is answered in words of its matter:
an alarm before a debt, a debt before chatter. The wording is the NPC's own (`phrases`, the setting
PHRASES). Where the local model is not installed, only the acts that rules find are known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ..embedding import emotions
from ..embedding.model import ModelAway
from ..english import commitments
from ..english.commitments import closes, errand, keeps, owes, recipient, reminder, reminds
from ..english.due_dates import dates, due
from ..english.questions import asks, asks_of_you, sentences_of
from ..english.reported_speech import capital, second_person
from ..english.small_talk import (
    CRIES,
    asks_a_favour,
    collapses,
    courtesy_of,
    cries_out,
    exclaims,
    is_chatter,
    requests,
)
from ..english.tokens import FINITE, QUESTION_WORDS, is_past
from ..language import Intent
from ..records import LineInTalk, MemoryRecord, Reply, ReplyRequest, SpeechAct
from ..text.names import forms, names
from ..text.segmentation import words_of
from . import alarms, poses
from .courtesies import greeting
from .matter import days_in, matter_of, ordered, sets_right, sums_in
from .phrases import SMALL_TALK, says
from .realisation import with_article

# the most pressing first; each with its kinds of phrases, with a matter and without
REACTIONS: dict[str, tuple[str, str]] = {
    "alarm": ("", "alarm"),
    "secret": ("", "confided"),
    "settle": ("settled of", "settled"),
    "debt": ("owed", "heard"),
    "correction": ("set right", "corrected"),
    "promise": ("promised of", "promised"),
    "request": ("asked for a day", "asked for"),
    "order": ("asked for a day", "asked for"),
    "feeling": ("sorry for", "sorry"),
    "apology": ("", "apology"),
    "insult": ("", "insulted"),
    "praise": ("", "compliment"),
    "plan": ("planned", "heard"),
    "thanks": ("", "thanks"),
    "preference": ("", "heard"),
    "boast": ("", "heard"),
    "joke": ("", "heard"),
    "claim_self": ("", "heard"),
    "claim_other": ("", "heard"),
    "world": ("", "heard"),
    "parting": ("", "parting"),
    "greeting": ("", "greeted again"),
    "chatter": ("", "chatter"),
    "aside": ("", "chatter"),
    "move": ("", "chatter"),
    "question": ("", "service"),
}
# acts that small talk is made of
SOCIAL = frozenset(kind for kind, (_of, without) in REACTIONS.items() if without in SMALL_TALK)
# acts that tell or bind, which are not left to a small model
TELLING = frozenset(REACTIONS) - SOCIAL - frozenset("question request order joke".split())
# said before an answer too: who cries out or pays is not only told what a bunk costs
# no correction: what asks is often taken for one
BEFORE_AN_ANSWER = frozenset("alarm settle debt promise feeling plan".split())
BEFORE_AN_ERRAND = frozenset("alarm secret".split())
# acts beside which a question is cut out of its line
NO_ERRAND = frozenset("greeting chatter aside move question".split())
OF_NO_MOMENT = frozenset("claim_self claim_other world chatter aside boast preference".split())
CLAIMS = frozenset("claim_self claim_other world feeling".split())
RELIEVED_BY = CLAIMS - {"feeling"} | {"settle"}
FELT_FOR_IT = frozenset("feeling insult claim_self claim_other world".split())
WEIGHTY = frozenset(REACTIONS) - NO_ERRAND - {"thanks", "parting"}
JOY = frozenset(emotions.FAMILIES[0])
LONGEST_GIFT = 6  # words
ASKED = frozenset({"request", "order"})
FAINTED = "Somebody has fainted or is badly hurt!"  # what a pose shows in which somebody collapses
# acts that are reacted to though a line only does them rather than anything else
MAYBE = frozenset("correction request order question greeting parting thanks".split())
# how surely a line does an act before it is answered as that, where its words have not the form: a
# false alarm, or a promise to do what nobody asked for, jars more than "I see"
SURELY_FROM = dict.fromkeys("settle debt greeting".split(), 1.0)
SURELY_FROM |= {
    "parting": 2.0,
    "alarm": 2.0,
}  # of those of the stays none is lost that 1.0 would keep
SURELY_FROM |= dict.fromkeys("correction promise feeling praise apology".split(), 0.5)
ASKED_BY_A_STATEMENT_FROM = 1.2  # the same of a request in a clause that tells something
CLAUSE_FROM = 0.5  # from which its clause is one by itself: "i killed nineteen, put that in a poem"
FELT_IN_A_QUESTION_FROM = 1.2  # "is it gona fall off im scared"; not "what is it that I fear?"
FAINTER_BY = 2.0  # than what else a line does: "i will buy his boat. ninety gold he wants"
OUTDONE_BY = 1.5  # by thanks, beside which a feeling or praise is no more than them
PRAISES_FROM = 2.0  # beside thanks
CURSES_FROM = 2.0  # though it wishes something
CORRECTS_FROM = 2.0  # by words that do not say what is wrong
OF_A_MATTER = frozenset("settle debt correction promise request order plan".split())
SHORT = 12  # words of a line that has one matter
LONGEST_GREETING = 4  # words of one in other words than the usual
MESSAGE = "message"  # the matter of what is to be told, remembered or kept
_TELLS = re.compile(
    r"\b(?:tell|warn|inform|let|say to|message (?:for|to)|pass (?:it|this|that|word|a word))\b",
    re.I,
)
_GIFT_LOOKS = re.compile(r",| (?:with|shaped|stamped|wrapped|that|which|in an?|folded)\b")
_FORBIDS = re.compile(r"^\W*(?:\w+ ){0,2}(?:don['’]?t|do not|never|no more)\b", re.IGNORECASE)
_PAYS_IT = re.compile(  # "here's your six"; not "bram paid me back the six"
    r"\b(?:here|heres|you|u|ur|your|yours|ye|ya|yer|we|were)\b|^\W*(?:\d|counts|puts|lays|pays)",
    re.IGNORECASE,
)
_DONT = re.compile(
    r"\W*(?:(?:oh|no|please|pls)\W+){0,2}(?:don['’]?t|do not)\b"
    r"(?! (?:i|we|you|u|ye|they|s?he|it)\b)",
    re.IGNORECASE,
)
_POLITELY = re.compile(
    r"(?:[^?]*, ?)?(?:and |so |please )?(?:can|could|will|would|won'?t|might) (?:you|u|ye)\b"
    r"|.*\b(?:can|could|will|would|won'?t) (?:you|u|ye|ya)\W*$",
    re.IGNORECASE,
)
_ONLY_DENIES = re.compile(
    r"\b(?:wrong|not (?:true|right|so)|untrue|false|a lie|mistaken)\b",
    re.IGNORECASE,
)
_TELL_ME = re.compile(r"\b(?:tell|show) (?:me|us)\b(?! (?:a|an|to)\b)", re.IGNORECASE)
_MAY_I = re.compile(
    r"^(?!as\b|if\b)(?:[\w'’]+,? ){0,2}(?:can|may|might|could|shall|should) (?:i|we)\b"
    r"(?! (?:please )?(?:have|get|buy|borrow|take|order|rent|hire|try|trouble|ask"
    r"|leave (?:a|word))\b)",
    re.IGNORECASE,
)
_OWN_ANSWER = re.compile(
    r"^\W*(?:why|how come)\b[^?]*\?\W+(?:be)?(?:cause|cos|coz|cuz)\b(?! (?:i|we|my)\b)", re.I
)
# "the pipe is a present for you", "I brought you some honey"
_GIVES = re.compile(
    r"\b(?:present|gift) for (?:you|u|ye)\b|\bi(?:['’]?ve| have)? (?:just )?(?:brought|made|got"
    r"|baked|bought|picked|knitted) (?:you|u|ye) (?:an?|some|this|these|the)\b"
    r"(?! (?:\w+ )?(?:news|offer|promise|word|message|deal|sack)\b)",
    re.IGNORECASE,
)
_MAY_I_HAVE = re.compile(  # "may I have a bowl of stew?"
    r"\W*(?:(?:and|so|then|please|\w+,) )*(?:can|may|might|could) (?:i|we) (?:please )?"
    r"(?:have|get|buy|borrow|take|order|rent|hire) (?:a|an|one|two|three|some|another|the|my)\b",
    re.IGNORECASE,
)
_I_WOULD_LIKE = re.compile(
    r"\bi(?:['’]?d| would) (?:like|love|fancy) (?:a|an|some|another|one|two|three|to)\b", re.I
)
_ORDERS = re.compile(
    r"\b(?:please|pls|plz|i(?:['’]?ll| shall| will) (?:have|take)|give me|gimme)\b"
    r"(?!.*\b(?:price|cost|name|chance|break|kiss|reason|moment|minute|hand|idea|answer)\b)",
    re.I,
)
_ALL_CLEAR = re.compile(  # "its out, fires out", "the worst is past", "good news! they found him"
    r"\b(?:it|fire|flame|smoke|danger|storm|worst|wolf|wolves)(?:['’]?s|(?: is| are| was| were))?"
    r" (?:all |now )?(?:out|over|past)"
    r"(?=(?: now| then| at last)?\W*(?:$|[.,!;]|(?:thank|phew|and|we)\b))"
    r"|\ball clear\b|\bgood news\b|\bi(?:['’]?m| am) (?:all ?right|ok(?:ay)?|fine) now\b",
    re.IGNORECASE,
)
_AT_A_PLACE = re.compile(  # "in the Crow Cells"; not "on Friday", "in Bram's room"
    r"\b(?:at|in|near|beneath|under|outside) (?:the (?=[A-Z]\S* [A-Z])|(?!the ))"
    r"(?P<place>[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*)(?<!['’]s)"
)
_OF_WHAT_IS_HERE = re.compile(r"\b(?:you\w*|u|ur|ye|ya|yer|this|that|thats)\b", re.IGNORECASE)
_FEELS_WELL = re.compile(  # not "I am in great pain", "better off dead", "well rid of him"
    r"^(?!.*(?:\b(?:not|never|cannot)\b|n['’]?t\b)).*\b(?:slee?pt?|feel\w*|am|i['’]?m|are|is"
    r"|doing)(?: (?!in\b)\w+)? (?:well|fine|better|lucky|great)\b(?! (?:off|rid|a|with)\b)",
    re.IGNORECASE,
)
_OFFERS = re.compile(  # "i'll help Jory with the mules"; not "i'll have the soup"
    r"\W*(?:i['’]?ll?|i (?:will|shall))\b (?!(?:have|take|need|want|try|buy|get|be|go|like|do)\b)",
    re.IGNORECASE,
)
_FOR_YOU = re.compile(  # "i'll mend your fence"; not "i'll see you on friday"
    r"(?<!see )(?<!meet )(?<!join )(?<!tell )(?<!catch )\b(?:you|u|ye|ya|your|ur|yer)\b",
    re.IGNORECASE,
)
_OF_MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_NEVER_MIND = re.compile(r"\b(?:don['’]?t|do not|never)(?: you)? (?:mind|worry|bother)\b", re.I)
_OF_ANOTHER = re.compile(r"\b(?:s?he(?:['’]?s)?|him|his|her)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\W*(?:(?:i|we|s?he|they|it|there|that|this)(?:['’]?(?:m|s|re|ve|ll|d))?|my|our|his|her|their)\b",
    re.IGNORECASE,
)
_REMIND = re.compile(
    r"\bremind (?:me|us)\b(?! (?:what|who|whom|where|how|why|which|whether)(?:['’]?s)?\b)",
    re.IGNORECASE,
)
_WILL_YOU = re.compile(r",?\s*\b(?:will|would|can|could|won['’]?t) (?:you|u|ye|ya)\W*$", re.I)
_GLAD = re.compile(
    r"(?<!not )(?<!not so )(?<!n't )\b(?:proud|chuffed|happy|glad|delighted|thrilled)\b",
    re.IGNORECASE,
)
_SORRY = re.compile(
    r"\b(?:sorry|sry|apologi[sz]e|apologies|pardon|forgive|my (?:bad|fault))\b", re.I
)
_SAYS_SORRY = re.compile(
    r"^\W*(?:(?:oh|ok|well|and|no|i['’]?m|so|very) ){0,3}"
    r"(?:sorry|sry|apologies|forgive me|my bad|beg pardon)\b|\b(?:sorry|sry|my bad)\W*$",
    re.IGNORECASE,
)
# "you poor thing, that must have hurt", "I trust you slept well"
_WISHES_WELL = re.compile(
    r"\b(?:you|u|ye) poor\b|\bi (?:do )?(?:hope|trust|wish) (?:you|u|ye|your|ur)\b"
    r"|\bmay (?:you|your|ur)\b|\bbless (?:you|your|ur)\b",
    re.IGNORECASE,
)
# read as an apology; it is taken with thanks
_CONDOLES = re.compile(r"\bsorry (?:to hear|for your|about your)\b", re.IGNORECASE)
_PREFERS = re.compile(
    r"\bgi(?:ve|mme)\b[^.!?]* (?:any ?(?:day|time)|every time|over)\b", re.IGNORECASE
)
_AT_NIGHT = re.compile(r"\b(?:good ?)?ni(?:ght|te)\b|\bbed\b|\bsleep\b", re.IGNORECASE)


def react(said: str, request: ReplyRequest) -> Reply:
    """Answer a line that asks nothing which memory could answer.

    Args:
        said: Its words without the NPC's name.
    """
    if request.set_right:
        return says("set right", request, topic=request.set_right)
    if not request.acts:
        return says("chatter" if is_chatter(said) else "heard", request)
    acts = _acts(said, request)
    first = next(filter(_is_errand, acts), None)
    before = {act.kind for act in acts} & BEFORE_AN_ERRAND
    if first and before == {"secret"} and _TELLS.search(_sentence_of(first.text, said)):
        before = set()  # "tell Bram, when we are alone, that …"
    if first is None or before:
        made = _said_first(acts, said, request)
    else:
        made = _reaction(first, said, request)
    parts = Intent.PARTING in (courtesy_of(said), courtesy_of(request.utterance)) or any(
        act.kind == "parting" and act.sure >= SURELY_FROM["parting"] for act in acts
    )
    if made.row == "greeting":
        made = greeting(request)
    elif request.has_spoken and _greets_beside(acts, request):
        made = replace(
            made, text=f"{says('greeted again', request).text} {_unnamed(made, request)}"
        )
    elif parts and "parting" not in made.row:
        farewell = parting_from(request).text
        once = _unnamed(made, request)
        said_first = once if request.speaker in farewell else made.text
        made = replace(made, text=f"{said_first} {farewell}")
    # what a line tells, asks or promises beside is not left to a small model
    is_social = all(act.kind in SOCIAL for act in acts)
    return replace(made, small_talk=made.small_talk and is_social)


def _greets_beside(acts: Collection[SpeechAct], request: ReplyRequest) -> bool:
    """Whether a line greets and is courteous besides: "Good morning, Mara, what a lovely bed!"."""
    greets = courtesy_of(request.utterance) is Intent.GREETING
    return greets and {act.kind for act in acts} <= {"greeting", "praise", "thanks", "claim_self"}


def _unnamed(made: Reply, request: ReplyRequest) -> str:
    return made.text.replace(f", {request.speaker}", "", 1)


def with_rules(said: str, request: ReplyRequest) -> ReplyRequest:
    """Return a request with the acts too that rules find: courtesies, and what is asked to be done.

    They know the usual wordings, which a network that has read many others may miss.
    """
    paid = closes(said) == "done"
    acts = [replace(act, kind=_kind(act, said, paid=paid)) for act in request.acts]
    if tells_riddle(said):
        acts = [SpeechAct("chatter", said)]
    acts = [
        act for act in acts if not _is_ruled_out(act, _sentence_of(act.text, said), said, request)
    ]
    if request.acts and not acts:
        acts = [SpeechAct("question" if asks(said) else "claim_self", said)]
    known = {act.kind for act in acts}
    greets = courtesy_of(request.utterance) is Intent.GREETING  # "Good morning, Mara. I …"
    if asks_a_favour(said):
        acts = [SpeechAct("request", said, ASKED_BY_A_STATEMENT_FROM)]
    courtesy = courtesy_of(said) or (Intent.GREETING if greets else None)
    if known == {"greeting"} and not courtesy and len(said.split()) > LONGEST_GREETING:
        acts = [SpeechAct("claim_self", said)]
    if courtesy and courtesy.name.lower() not in known:
        acts.append(SpeechAct(courtesy.name.lower(), said))
    if "apology" not in known and not asks(said) and _apologises(request.utterance):
        acts.append(SpeechAct("apology", said))
    glad = _ALL_CLEAR.search(said)
    if not glad and "alarm" not in known and (cries_out(said) or _is_cried(acts, said, request)):
        acts.append(SpeechAct("alarm", said))
    if paid and known.isdisjoint(("settle", "debt")) and sums_in(said):
        acts.append(SpeechAct("settle", said))
    if known and known <= OF_NO_MOMENT and not glad and _tells_of_a_loss(said):
        acts.append(SpeechAct("feeling", said))
    if known.isdisjoint(("promise", "debt", "insult", "alarm")) and _offers(said, request):
        acts.append(SpeechAct("promise", said))
    # "look after it, would you?" asks for no answer
    for sentence in sentences_of(said) if request.now else ():
        wants = not asks(sentence) or _POLITELY.match(sentence) or reminds(sentence)
        if wants and is_kept(sentence):
            acts = _with_errand(acts, sentence)
    return replace(request, acts=tuple(acts))


def is_alarm(heard: LineInTalk, acts: tuple[SpeechAct, ...], given: Sequence[MemoryRecord]) -> bool:
    """Whether a line is an alarm, by its acts and what a builder `given` the NPC to go by."""
    said = heard.line.text
    if _ALL_CLEAR.search(said):
        return False
    if any(act.kind == "alarm" for act in acts):
        return True
    if not exclaims(said) or len(said.split()) < 2:
        return False
    request = ReplyRequest(
        npc_name=heard.npc[0],
        persona="",
        speaker=heard.line.speaker,
        speaker_id="",
        utterance=said,
        now="",
        npc_names=heard.npc,
        given=tuple(given),
        acts=acts,
    )
    return _is_cried(acts, said, request)


def _offers(words: str, request: ReplyRequest) -> bool:
    """Whether words say what their speaker will do for the NPC on a day to come."""
    offers = _OFFERS.match(words) and _FOR_YOU.search(words) and not asks(words)
    return bool(offers and request.now and due(words, request.now))


def _apologises(said: str) -> bool:
    """Whether a line begins or ends with an apology: "sry mara wont happen again"."""
    return bool(_SAYS_SORRY.search(said)) and not _CONDOLES.search(said)


def _is_cried(acts: Collection[SpeechAct], said: str, request: ReplyRequest) -> bool:
    """Whether a line that only tells, or asks for help, is an alarm: "Tibs has fainted!"."""
    kinds = CLAIMS | ASKED if CRIES.search(said) else CLAIMS
    tells = bool(acts) and all(act.kind in kinds for act in acts) and not asks(said)
    return tells and alarms.is_cried(said, request)


def _tells_of_a_loss(said: str) -> bool:
    """Whether a line without a word of feeling tells of a loss: "my other mule died"."""
    if not _OF_MINE.search(said):
        return False
    try:
        felt = emotions.classify([said])[0]
    except ModelAway:
        return False
    return felt[0] in ("grief", "sadness") and JOY.isdisjoint(felt)


def _kind(act: SpeechAct, said: str, *, paid: bool) -> str:
    """Return the kind of an act, which its sentence may make another one."""
    if act.kind == "debt" and paid:
        return "settle"
    words = _sentence_of(act.text, said)
    if act.kind == "apology" and _CONDOLES.search(words):
        return "praise"
    curses = act.kind == "insult" and act.sure >= CURSES_FROM  # "I hope you rot"
    if act.kind in FELT_FOR_IT and not curses and _WISHES_WELL.search(words) and not asks(words):
        return "praise"
    if act.kind == "debt" and commitments.owes_words(words):
        return "apology"
    if act.kind in ASKED and _PREFERS.search(words):
        return "preference"
    if act.kind in ASKED and _OFFERS.match(words) and not requests(words):
        return "promise"
    if act.kind == "plan" and _OFFERS.match(words) and commitments.promises(words):
        return "promise"
    if act.kind == "question" and (_DONT.match(words) or _MAY_I_HAVE.match(words)):
        return "request"  # "dont hurt him tho??"
    if act.kind == "preference" and _I_WOULD_LIKE.search(words):
        return "request"
    asks_it = act.kind in ASKED and (_TELL_ME.search(words) or asks_leave(words))
    return "question" if asks_it else act.kind


def _with_errand(acts: Collection[SpeechAct], said: str) -> list[SpeechAct]:
    """Return acts with an errand in place of what they ask: in their words, else in `said`."""
    asked = [act for act in acts if act.kind in ("question", *ASKED)]
    errands = [replace(act, kind="request") for act in asked if is_kept(act.text)]
    return [each for each in acts if each not in asked] + (errands or [SpeechAct("request", said)])


def asks_leave(said: str) -> bool:
    """Whether a line asks whether its speaker may do something: "can i bring my dog in"."""
    return bool(_MAY_I.search(said))


def tells_riddle(said: str) -> bool:
    """Whether a line answers its own question: "Why is it bald? Because it lost its hair."."""
    return bool(_OWN_ANSWER.search(said))


def is_order(said: str) -> bool:
    """Whether a line has the form of an order: "I'd like a bath", "soup, please"."""
    return bool(_ORDERS.search(said) or _MAY_I_HAVE.match(said) or _I_WOULD_LIKE.search(said))


def wants_errand(said: str) -> bool:
    """Whether words ask to be reminded, or to tell or give somebody something."""
    if errand(said):
        return True
    # not "what were you to remind me of tomorrow?"
    asks_back = QUESTION_WORDS & {*words_of(said)[:2]}
    return bool(not asks_back and _REMIND.search(said) and any(days_in(said)))


def is_kept(said: str) -> bool:
    """Whether words ask for something that waits: an errand, or a thing to keep or watch."""
    return wants_errand(said) or keeps(said)


def with_answer(answer: Reply, said: str, request: ReplyRequest) -> Reply:
    """Put what is said first before the answer to a line that asks something too."""
    others = [act for act in _acts(said, request) if act.kind in BEFORE_AN_ANSWER]
    if not others:
        return answer
    first = _said_first(others, said, request)
    if first.row.endswith(": heard"):
        return answer
    return replace(answer, text=f"{first.text} {answer.text}", row=first.row)


def is_errand(request: ReplyRequest) -> bool:
    """Whether a line, however it asks, wants something done later: a message, a reminder."""
    return any(map(_is_errand, request.acts))


def _is_errand(act: SpeechAct) -> bool:
    return act.kind in ASKED and is_kept(act.text)


def thank_for_gift(request: ReplyRequest) -> Reply:
    """Thank for what `utterance` says is given to the NPC: "Alice gives Mara a mug."."""
    what = request.utterance.partition(f" gives {request.npc_name} ")[2].rstrip(". ")
    if len(what.split()) > LONGEST_GIFT:
        what = _GIFT_LOOKS.split(what)[0]
    if what and len(what.split()) <= LONGEST_GIFT:
        return says("gift of", request, topic=with_article(what))
    return says("gift", request)


def _acts(said: str, request: ReplyRequest) -> tuple[SpeechAct, ...]:
    """Return the acts of a line; a confidence is one if the line is kept as such."""
    acts = tuple(act for act in request.acts if _is_surely(act, said, request))
    if request.kind == "whisper":
        return acts or (SpeechAct("claim_self", said),)
    others = tuple(act for act in acts if act.kind != "secret") or (SpeechAct("claim_self", said),)
    return (*others, SpeechAct("secret", said)) if request.confided else others


def _said_first(acts: Collection[SpeechAct], said: str, request: ReplyRequest) -> Reply:
    """React to the most pressing act, of what is owed, done or asked for to one with a matter."""
    order = list(REACTIONS)
    pressing = sorted(acts, key=lambda act: (order.index(act.kind), -act.sure))
    made = [_reaction(act, said, request) for act in pressing]
    asked = [act for act in pressing if act.kind in ("question", *ASKED)]
    for act, one in zip(pressing, made, strict=True):
        nothing = ["heard", *([REACTIONS[act.kind][1]] if act.kind in OF_A_MATTER else [])]
        if one.row in [f"{act.kind}: {each}" for each in nothing]:
            continue
        if not (asked and act.kind in NO_ERRAND):
            return one
    return made[pressing.index(asked[0])] if asked else made[0]


def _reaction(act: SpeechAct, said: str, request: ReplyRequest) -> Reply:
    if act.kind == "greeting":
        return Reply("", row=act.kind)
    made = _wording(act, said, request)
    return replace(made, row=f"{act.kind}: {made.row}")


def _wording(act: SpeechAct, said: str, request: ReplyRequest) -> Reply:
    with_matter, without = REACTIONS[act.kind]
    called = _called(request)
    words = _sentence_of(act.text, said)
    if act.kind == "move" and request.kind == "pose":
        if collapses(said):
            return alarms.to_do(FAINTED, request) or says("alarm of a wound", request)
        return poses.answer_to(said, request)
    if act.kind == "alarm":
        return alarms.to_do(said, request) or says(alarms.kind_of(said, request), request)
    if act.kind in CLAIMS and _GIVES.search(said):
        return says("gift", request)
    if act.kind in RELIEVED_BY and _ALL_CLEAR.search(said) and not asks(words):
        return says("relieved", request)
    if act.kind == "parting":
        return parting_from(request)
    if act.kind == "correction" and _ONLY_DENIES.search(said):
        return says("corrected", request)
    if act.kind == "correction" and not sets_right(said):
        return says("corrected" if act.sure >= CORRECTS_FROM else "heard", request)
    if act.kind == "settle" and not _PAYS_IT.search(words):
        with_matter, without = "", "heard"
    if act.kind == "settle" and not sums_in(words):  # "here is the drawing I promised you"
        with_matter = "gift of" if matter_of(words, act.kind, called).startswith("the ") else ""
    own = forms((request.npc_name, *request.npc_names))
    if act.kind == "debt" and commitments.between_others(words, own) and not keeps(said):
        with_matter = "owed between others"
    if act.kind in ASKED and (errand := _errand(act, said, request)):
        return errand
    if act.kind in ASKED and is_order(words) and not keeps(act.text) and (what := ordered(words)):
        return says("ordered", request, topic=what)
    if act.kind == "feeling" and _GLAD.search(said):
        with_matter, without = "glad of", "glad"
    tries = [words, said] if act.kind == "correction" else [words]
    if act.kind == "feeling":  # what a long line names beside it is seldom what is felt
        tries = [act.text, *([said] if len(said.split()) <= SHORT else [])]
    kinds = [act.kind, MESSAGE] if act.kind in ASKED and keeps(act.text) else [act.kind]
    if without == "glad":
        kinds = [without]
    topics = (matter_of(each, kind, called) for kind in kinds for each in tries if with_matter)
    topic = next(filter(None, topics), "")
    return says(with_matter, request, topic=topic) if topic else says(without, request)


def _is_surely(act: SpeechAct, said: str, request: ReplyRequest) -> bool:
    """Whether an act is answered as such: it is surely done, or its sentence has its form."""
    if act.sure < 0 and act.kind not in MAYBE:
        return False
    words = _sentence_of(act.text, said)
    if _is_ruled_out(act, words, said, request):
        return False
    if act.kind == "request":
        if asks(words) or requests(words) or is_kept(words):
            return True
        others = (each.sure for each in request.acts if each.kind in WEIGHTY - ASKED)
        if act.sure < CLAUSE_FROM and max(others, default=0.0) > act.sure + FAINTER_BY:
            return False
        tells = _states(_clause_of(act, words) if act.sure >= CLAUSE_FROM else words)
        return not tells or act.sure >= ASKED_BY_A_STATEMENT_FROM
    forms_of = {
        "alarm": CRIES.search(said) or (act.kind == "alarm" and alarms.to_do(said, request)),
        "debt": owes(words),
        "settle": closes(words) == "done",
        "parting": courtesy_of(words) is Intent.PARTING or _AT_NIGHT.search(words),
        "greeting": courtesy_of(words) is Intent.GREETING,
        "feeling": _GLAD.search(words),
        "promise": commitments.promises(words) or _offers(words, request),
        "praise": asks_of_you(words),
        "apology": _SORRY.search(words),
        "correction": sets_right(said) or _ONLY_DENIES.search(said),
    }
    return bool(forms_of.get(act.kind)) or act.sure >= SURELY_FROM.get(act.kind, act.sure)


def _is_ruled_out(act: SpeechAct, words: str, said: str, request: ReplyRequest) -> bool:
    """Whether the form of a sentence tells that it does not do an act that was read in it."""
    if act.kind == "parting":  # "hey, I am Dagg, I fish off the point"
        courtesy = courtesy_of(words)
        greets = (each.sure for each in request.acts if each.kind == "greeting")
        fainter = max(greets, default=act.sure) > act.sure
        return courtesy is Intent.GREETING or (fainter and courtesy is not Intent.PARTING)
    if act.kind == "greeting" and courtesy_of(said) is not Intent.GREETING:
        own = forms((request.npc_name, *request.npc_names))  # "Mara, I'll mend your fence"
        return act.text.lower().strip(" ,.!") in own and len(request.acts) > 1
    if act.kind == "alarm":
        over = (
            closes(words) == "done"
            or _is_of_another_day(said, request)
            or _is_elsewhere(words, request)
        )
        if _ALL_CLEAR.search(words):
            return True
        return not CRIES.search(said) and (over or asks(words))
    sure = {each.kind: each.sure for each in sorted(request.acts, key=lambda each: each.sure)}
    if act.kind == "correction" and sure.get("apology", 0.0) > act.sure + FAINTER_BY:
        return True  # "It was the ale speaking. Forgive me."
    outdone = sure.get("thanks", 0.0) > act.sure + OUTDONE_BY
    if outdone and (act.kind == "feeling" or (act.kind == "praise" and act.sure < PRAISES_FROM)):
        return True  # "Thank you. I should forget my head if it were not fastened."
    if act.kind == "feeling":
        faint = asks(words) and act.sure < FELT_IN_A_QUESTION_FROM
        return faint or bool(_FEELS_WELL.search(words))
    if act.kind == "insult" and _states(words) and not _OF_WHAT_IS_HERE.search(words):
        return True  # "my mule is lame"; not "old goat"
    if act.kind in ("praise", "insult"):  # in a long sentence, of somebody of whom it tells
        of_another = _OF_ANOTHER.search(words) or len(words.split()) > SHORT
        return bool(of_another) and not asks_of_you(words)
    asks_nothing = _NEVER_MIND.search(_clause_of(act, words)) or courtesy_of(act.text)
    return act.kind == "request" and bool(asks_nothing) and not requests(act.text)


def _clause_of(act: SpeechAct, words: str) -> str:
    return _piece_of(act.text, re.split("[,.;!?]", words), words)


def _states(clause: str) -> bool:
    """Whether a clause begins with a subject, or has a verb in the indicative, as orders lack.

    >>> [_states(said) for said in ("bram lent me his mule", "fetch me the mule", "two ales")]
    [True, False, False]
    """
    further = words_of(clause)[1:]
    return bool(_SUBJECT.match(clause)) or any(each in FINITE or is_past(each) for each in further)


def _is_of_another_day(said: str, request: ReplyRequest) -> bool:
    """Whether a line names a day that is not today: "the flood took it on sunday"."""
    named = dates(said, request.now, past=True) if request.now else ()
    return any(each.day.isoformat() != request.now[:10] for each in named)


def _is_elsewhere(words: str, request: ReplyRequest) -> bool:
    """Whether a sentence names a place that is not the NPC's: "the mast at Cold Anchor broke"."""
    situation = request.situation
    here = (request.npc_name, *request.npc_names, *situation.known_names, situation.place)
    known = {word for name in here for word in words_of(name)}
    places = (each["place"] for each in _AT_A_PLACE.finditer(words) if "!" not in words)
    return any(known.isdisjoint(words_of(each)) for each in places)


def _sentence_of(words: str, said: str) -> str:
    """Return the sentence of a line that some of its words begin in, which are cut anywhere."""
    return _piece_of(words, sentences_of(said), said)


def _piece_of(words: str, pieces: Iterable[str], said: str) -> str:
    end = 0
    for each in pieces:
        end = said.find(each, end) + len(each)
        if 0 <= said.find(words) < end:
            return each
    return words


def _errand(act: SpeechAct, said: str, request: ReplyRequest) -> Reply | None:
    """Return what is said to a prohibition, a reminder or a message, None to any other request."""
    words = _WILL_YOU.sub("", _sentence_of(act.text, said))
    if _FORBIDS.search(words):
        return says("forbidden", request)
    if _REMIND.search(words):
        named = due(words, request.now) if request.now else None
        day = rf"(?:\s*\b(?:on|by|at|this|next|come))?\s*{re.escape(named.said)}" if named else "$^"
        what = second_person(reminder(re.sub(day, "", words)))
        what = what.strip(" ,.;?!").removeprefix("to ")
        what = what or matter_of(words, MESSAGE, _called(request))
        days = [each for each in days_in(said) if each.lower() not in what.lower()]
        what = ", ".join(filter(None, [what, *days[:1]]))
        return says("reminds" if what else "asked for", request, topic=what)
    whom = recipient(words) if _TELLS.search(words) else ""
    if not whom:
        return None
    as_said = re.search(rf"(?:\b(?:the|my|our) )?{re.escape(whom)}", words, re.IGNORECASE)
    known = _known(whom, request) or second_person(as_said[0] if as_said else whom)
    message = commitments.message(words)
    told = capital(second_person(message.strip(" .!")))
    if message == words or len(told.split()) > SHORT:
        told = matter_of(message, MESSAGE, {*_called(request), *names(whom)})
        told = "" if _OF_ANOTHER.match(told) else told  # "his mother"
    return says("passes on" if told else "passes on word", request, topic=told, whom=known)


def _known(whom: str, request: ReplyRequest) -> str:
    """Return the name of whom a message is for, "" for nobody whom the NPC knows."""
    situation = request.situation
    known = (*(each.name for each in situation.people), *situation.known_names)
    return next((each for each in known if names(each) & names(whom)), "")


def parting_from(request: ReplyRequest) -> Reply:
    """Bid the speaker farewell, or good night where they do."""
    at_night = _AT_NIGHT.search(request.utterance)
    return says("parting at night" if at_night else "parting", request)


def _called(request: ReplyRequest) -> set[str]:
    """Return the words by which the NPC and the speaker are called."""
    own = forms((request.npc_name, *request.npc_names))
    return {word for name in own for word in name.split()} | names(request.speaker)
