"""Reactions: what the offline provider says first, by what is done with the words of a line.

A line is read as acts (`offline.acts`). The most pressing one is answered in words of its matter:
an alarm before a debt, a debt before chatter. The wording is the NPC's own (`phrases`, the setting
PHRASES). Where the local model is not installed, only the acts that rules find are known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial

from ..english import commitments
from ..english.commitments import (
    closes,
    errand,
    in_a_case,
    keeps,
    owes,
    recipient,
    reminder,
    reminds,
)
from ..english.due_dates import dates, due
from ..english.questions import asks, asks_of_you, sentences_of
from ..english.reported_speech import capital, claims, second_person
from ..english.small_talk import (
    CRIES,
    collapses,
    courtesy_of,
    cries_out,
    exclaims,
    is_chatter,
    requests,
)
from ..language import Intent
from ..records import LineReading, Reply, ReplyRequest, SpeechAct
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
# phrases that name nothing of the line, by the kind of reaction (`acts.WANTED`) that it wants;
# greetings, alarms, messages and what is kept to itself are by the acts
WANTED: dict[str, str] = {
    "call": "called",
    "part": "parting",  # or "parting at night"
    "thanked": "thanks",
    "praised": "compliment",
    "wished": "touched",
    "gift": "gift",
    "kindness": "offered",
    "invite": "invited",
    "sorry": "apology",
    "retract": "made up",
    "insult": "insulted",
    "reproach": "reproached",
    "corrects": "corrected",
    "loss": "bereaved",
    "hardship": "sorry",
    "fear": "afraid",
    "low": "low",
    "weary": "weary",
    "anger": "angry",
    "glad": "glad",
    "boast": "boasted",
    "joke": "joked",
    "riddle": "riddle",
    "grim": "grim news",
    "news": "news",
    "relief": "relieved",
    "help": "helps",
    "order": "asked for",
    "do": "asked for",
    "favour": "favour",
    "perform": "no tale",
    "wager": "wager",
    "pledge": "promised",
    "owe": "heard",
    "pay": "settled",
    "plan": "good luck",
    "confess": "confessed",
    "self": "heard",
    "opinion": "agreed",
    "agree": "answered",
    "how": "wellbeing",
    "view": "own view",
    "press": "pressed",
    "show": "called",
}
# acts whose words hold what is said back, by the kind of reaction
OF_WHAT: dict[str, tuple[str, ...]] = {
    "pay": ("settle", "debt"),
    "owe": ("debt", "promise", "order", "request", "settle"),
    "pledge": ("promise", "plan", "debt"),
    "plan": ("plan", "promise"),
    "order": ("order", "request"),
    "do": ("order", "request"),
    "corrects": ("correction",),
}
ALARMS = frozenset({"fire", "wound", "danger"})
# kinds that are in place of rows alone that take nothing up, and never answer a deed
OF_NO_WEIGHT = frozenset("agree self opinion news".split())
# kinds that jar where they are wrong, with the share from which they are chosen
JARS = {"loss": 0.75, "insult": 0.75, "corrects": 0.75, "do": 0.75, "glad": 0.6}
TAKES_NOTHING_UP = frozenset("heard chatter service called".split())
# rows that say something of the line back, or keep it: nothing is in their place
SAID_BACK = frozenset(
    "settled of,owed,owed between others,promised of,asked for a day,planned,ordered,reminds,"
    "passes on,passes on word,to do,alarm,alarm of fire,alarm of a wound,confided,"
    "greeting".split(",")
)
# share from which a kind of reaction is in place of a row that takes nothing up, of one that does,
# and of a correction
WANTED_FROM, WANTED_MORE, SURELY_WANTED = 0.45, 0.6, 0.75
# kinds that a request, an order or an errand may be; where a line surely wants another, it is none
ASKS_FOR_SOMETHING = frozenset(
    "order do favour help message perform invite press call know view show other owe plan pledge "
    "pay corrects fire wound danger".split()
)
NO_REQUEST_FROM = 0.5
LEAST_KNOWN = 0.1  # share below which a kind is hardly wanted
GREETS_FROM = 0.4  # share from which a line of no other matter is a greeting or a farewell
GOOD_NEWS = frozenset({"glad", "boast", "relief", "praised"})
LOSSES = frozenset({"loss", "hardship", "low"})
TROUBLES = LOSSES | {"fear", "weary", "anger"}
# kinds that bear an act out, which is then done though it is read less surely; `LEAST_BORNE_OUT` of
# all reactions
BEARS_OUT: dict[str, frozenset[str]] = {
    "correction": frozenset({"corrects"}),
    "promise": frozenset({"pledge"}),
    "feeling": TROUBLES | GOOD_NEWS,
    "apology": frozenset({"sorry"}),
    "parting": frozenset({"part"}),
    "greeting": frozenset({"greet"}),
}
LEAST_BORNE_OUT = 0.15
GLAD_FROM = 0.25  # share of good news, at least, from which what is felt is good
# share of alarms from which a cry is one, and one that calls for help or haste
ALARMED_FROM, CALLED_FOR_FROM = 0.77, 0.6
# acts that small talk is made of
SOCIAL = frozenset(kind for kind, (_of, without) in REACTIONS.items() if without in SMALL_TALK)
# acts that tell or bind, which are not left to a small model
TELLING = frozenset(REACTIONS) - SOCIAL - frozenset("question request order joke".split())
# said before an answer too: who cries out or pays is not only told what a bunk costs
# no correction: what asks is often taken for one
BEFORE_AN_ANSWER = frozenset("alarm settle debt promise feeling plan".split())
# acts beside which a question is cut out of its line
NO_ERRAND = frozenset("greeting chatter aside move question".split())
RELIEVED_BY = frozenset("claim_self claim_other world settle".split())
WEIGHTY = frozenset(REACTIONS) - NO_ERRAND - {"thanks", "parting"}
OF_A_MATTER = frozenset("settle debt correction promise request order plan".split())
ASKED = frozenset({"request", "order"})
# acts that are reacted to though a line only does them rather than anything else
MAYBE = frozenset("correction request order question greeting parting thanks".split())
# how surely a line does an act before it is answered as that, where its words have not the form: a
# false alarm, or a promise to do what nobody asked for, jars more than "I see"
SURELY_FROM = {
    "alarm": 2.0,
    "parting": 2.0,
    "request": 1.2,
    "settle": 1.0,
    "debt": 1.0,
    "greeting": 1.0,
    **dict.fromkeys("correction promise feeling praise apology".split(), 0.5),
}
LONGEST_GREETING = 4  # words of one in other words than the usual
FELT_IN_A_QUESTION_FROM = 1.2  # "is it gona fall off im scared"; not "what is it that I fear?"
CORRECTS_FROM = 2.0  # by words that do not say what is wrong
SHORT = 12  # words of a line that has one matter
LONGEST_GIFT = 6  # words
MESSAGE = "message"  # the matter of what is to be told, remembered or kept
FAINTED = "Somebody has fainted or is badly hurt!"  # what a pose shows in which somebody collapses
_TELLS = re.compile(
    r"(?<!n['’]t )(?<!nt )(?<!not )(?<!never )"  # what is forbidden
    r"\b(?:tell|warn|inform|let|say to|message (?:for|to)|pass (?:it|this|that|word|a word))\b",
    re.I,
)
_GIFT_LOOKS = re.compile(r",| (?:with|shaped|stamped|wrapped|that|which|in an?|folded)\b")
_PAYS_IT = re.compile(  # "here's your six"; not "bram paid me back the six"
    r"\b(?:here|heres|you|u|ur|your|yours|ye|ya|yer|we|were)\b|^\W*(?:\d|counts|puts|lays|pays)",
    re.IGNORECASE,
)
_POLITELY = re.compile(
    r"(?:[^?]*, ?)?(?:and |so |please )?(?:can|could|will|would|won'?t|might) (?:you|u|ye)\b"
    r"|.*\b(?:can|could|will|would|won'?t) (?:you|u|ye|ya)\W*$",
    re.IGNORECASE,
)
_ONLY_DENIES = re.compile(
    r"\b(?:wrong|not (?:true|right|so)|untrue|false|a lie|mistaken)\b", re.IGNORECASE
)
_TELL_ME = re.compile(r"\b(?:tell|show) (?:me|us)\b(?! (?:a|an|to)\b)", re.IGNORECASE)
_HAVE = r"(?:please )?(?:have|get|buy|borrow|take|order|rent|hire)\b"
_MAY_I = re.compile(
    r"^(?!as\b|if\b)(?:[\w'’]+,? ){0,2}(?:can|may|might|could|shall|should) (?:i|we)\b"
    rf"(?! {_HAVE})",
    re.IGNORECASE,
)
_WOULD_HAVE = re.compile(  # "may I have a bowl of stew?", "I'd love a bath"
    r"(?:\W*(?:(?:and|so|then|please|\w+,) )*(?:can|may|might|could) (?:i|we) "
    rf"{_HAVE}|.*\bi(?:['’]?d| would| should) (?:like|love|fancy))"
    r" (?:an?|some|another|one|two|three|to|the|my)\b",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"\b(?:please|pls|plz|i(?:['’]?ll| shall| will) (?:have|take))\b"
    r"|\b(?:give me|gimme) (?:an?|some|one|two|three|\d+)\b",
    re.IGNORECASE,
)
_OFFERS = re.compile(  # "i'll mend your fence"; not "i'll have the soup", "i'll see you on friday"
    r"\W*(?:i['’]?ll?|i (?:will|shall))\b"
    r" (?!(?:have|take|need|want|try|buy|get|be|go|like|do|see|meet|join|tell|catch)\b)"
    r".*\b(?:you|u|ye|ya|your|ur|yer)\b",
    re.IGNORECASE,
)
_ALL_CLEAR = re.compile(  # "its out, fires out", "the worst is past"
    r"\b(?:it|fire|flame|smoke|danger|storm|worst|wolf|wolves)(?:['’]?s|(?: is| are| was| were))?"
    r" (?:all |now )?(?:out|over|past)(?=(?: now| then| at last)?\W*(?:$|[.,!;]|(?:and|we)\b))"
    r"|\ball clear\b|\bcaught (?:him|her|them|the)\b|\barrested\b|\bany ?more\b"
    r"|\bi(?:['’]?m| am) (?:all ?right|ok(?:ay)?|fine) now\b",
    re.IGNORECASE,
)
_OF_ANOTHER = re.compile(r"\b(?:s?he(?:['’]?s)?|him|his|her)\b", re.IGNORECASE)
_REMIND = re.compile(
    r"\bremind (?:me|us)\b(?! (?:what|who|whom|where|how|why|which|whether)(?:['’]?s)?\b)",
    re.IGNORECASE,
)
_GLAD = re.compile(
    r"(?<!not )(?<!not so )(?<!n't )\b(?:proud|chuffed|happy|glad|delighted|thrilled)\b",
    re.IGNORECASE,
)
_SORRY = re.compile(
    r"\b(?:sorry|sry|apologi[sz]e|apologies|pardon|forgive|my (?:bad|fault))\b"
    r"(?! (?:to hear|for your|about your)\b)",
    re.IGNORECASE,
)
_PITIES = re.compile(  # "I'm so sorry about your brother"; not "sorry about your mug"
    r"\bsorry (?:to hear|(?:for|about) (?:your|yer|ur) (?:loss|troubles?|late|poor"
    r"|(?:grand)?(?:mother|father|son|daughter)|mum|mam|dad|brother|sister|wife|husband|child))\b",
    re.IGNORECASE,
)
_PROPER = re.compile(r"(?<=[a-z] )[A-Z]\w+")
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
    done = {act.kind for act in acts}
    errands = [act for act in acts if _is_errand(act)]
    if "secret" in done:  # "keep it under your hat"; not "tell Bram, when we are alone, that …"
        errands = [act for act in errands if _TELLS.search(_sentence_of(act.text, said))]
        if share_of({"secret"}, request.wanted) >= NO_REQUEST_FROM:
            errands = []
    if errands and "alarm" not in done:
        made = _reaction(errands[0], said, request)
    else:
        made = _as_wanted(_said_first(acts, said, request), said, request)
    if made.row == "greeting":
        made = greeting(request)
    elif "parting" in done and "parting" not in made.row:
        farewell = parting_from(request).text
        named = request.speaker in farewell  # once is enough
        said_first = made.text.replace(f", {request.speaker}", "", 1) if named else made.text
        made = replace(made, text=f"{said_first} {farewell}")
    # what a line tells, asks or promises beside is not left to a small model
    return replace(made, small_talk=made.small_talk and done <= SOCIAL)


def with_answer(answer: Reply, said: str, request: ReplyRequest) -> Reply:
    """Put what is said first before the answer to a line that asks something too."""
    others = [act for act in _acts(said, request) if act.kind in BEFORE_AN_ANSWER]
    if not others:
        return answer
    first = _said_first(others, said, request)
    if first.row.endswith(": heard"):
        return answer
    return replace(answer, text=f"{first.text} {answer.text}", row=first.row)


def thank_for_gift(request: ReplyRequest) -> Reply:
    """Thank for what `utterance` says is given to the NPC: "Alice gives Mara a mug."."""
    what = request.utterance.partition(f" gives {request.npc_name} ")[2].rstrip(". ")
    if len(what.split()) > LONGEST_GIFT:
        what = _GIFT_LOOKS.split(what)[0]
    if what and len(what.split()) <= LONGEST_GIFT:
        return says("gift of", request, topic=with_article(what))
    return says("gift", request)


def parting_from(request: ReplyRequest) -> Reply:
    """Bid the speaker farewell, or good night where they do."""
    at_night = _AT_NIGHT.search(request.utterance)
    return says("parting at night" if at_night else "parting", request)


# --- what a line does -----------------------------------------------------------------------------


def with_rules(said: str, request: ReplyRequest) -> ReplyRequest:
    """Return a request with the acts too that rules find: courtesies, and what is asked to be done.

    They know the usual wordings, which a network that has read many others may miss.
    """
    paid = closes(said) == "done"
    acts = [replace(act, kind=_kind(act, said, paid=paid)) for act in request.acts]
    acts = [act for act in acts if not _is_ruled_out(act, said, request)]
    if request.acts and not acts:
        acts = [SpeechAct("question" if asks(said) else "claim_self", said)]
    known = {act.kind for act in acts}
    greets = courtesy_of(request.utterance) is Intent.GREETING  # "Good morning, Mara. I …"
    courtesy = courtesy_of(said) or (Intent.GREETING if greets else None)
    if courtesy and courtesy.name.lower() not in known:
        acts.append(SpeechAct(courtesy.name.lower(), said))
    if _SORRY.match(said) and "apology" not in known and not asks(said):
        acts.append(SpeechAct("apology", said))
    cried = cries_out(said) or (_is_cried(said, request.wanted) and not is_kept(said))
    if cried and "alarm" not in known and not _ALL_CLEAR.search(said):
        acts.append(SpeechAct("alarm", said))
    settles = paid and (sums_in(said) or commitments.pays(said))  # "we are square"
    if settles and known.isdisjoint(("settle", "debt")):
        acts.append(SpeechAct("settle", said))
    if known.isdisjoint(("promise", "debt", "insult", "alarm")) and _offers(said, request):
        acts.append(SpeechAct("promise", said))
    # "look after it, would you?" asks for no answer
    for sentence in sentences_of(said) if request.now else ():
        wants = not asks(sentence) or _POLITELY.match(sentence) or reminds(sentence)
        wants = wants or (in_a_case(sentence) and "?" not in sentence)  # "when Bram comes, say …"
        if wants and is_kept(sentence):
            acts = _with_errand(acts, sentence)
    return replace(request, acts=tuple(acts))


def _kind(act: SpeechAct, said: str, *, paid: bool) -> str:
    """Return the kind of an act, which its sentence may make another one."""
    words = _sentence_of(act.text, said)
    if act.kind == "debt" and paid:
        return "settle"
    if act.kind in ("question", "preference") and _WOULD_HAVE.match(words):
        return "request"
    asks_it = act.kind in ASKED and (_TELL_ME.search(words) or asks_leave(words))
    return "question" if asks_it else act.kind


def _with_errand(acts: Collection[SpeechAct], said: str) -> list[SpeechAct]:
    """Return acts with an errand in place of what they ask: in their words, else in `said`."""
    asked = [act for act in acts if act.kind in ("question", *ASKED)]
    errands = [replace(act, kind="request") for act in asked if is_kept(act.text)]
    return [each for each in acts if each not in asked] + (errands or [SpeechAct("request", said)])


def _offers(words: str, request: ReplyRequest) -> bool:
    """Whether words say what their speaker will do for the NPC on a day to come."""
    offers = _OFFERS.match(words) and not asks(words)
    return bool(offers and request.now and due(words, request.now))


def asks_leave(said: str) -> bool:
    """Whether a line asks whether its speaker may do something: "can i bring my dog in"."""
    return bool(_MAY_I.search(said))


def is_order(said: str) -> bool:
    """Whether a line has the form of an order: "I'd like a bath", "soup, please"."""
    return bool(_ORDERS.search(said) or _WOULD_HAVE.match(said))


def _asks_to(words: str) -> bool:
    return requests(words) or is_order(words) or is_kept(words)


def is_kept(said: str) -> bool:
    """Whether words ask for something that waits: an errand, or a thing to keep or watch."""
    dated = _REMIND.search(said) and any(days_in(said))
    return errand(said, dated=bool(dated)) or keeps(said)


def is_errand(request: ReplyRequest) -> bool:
    """Whether a line, however it asks, wants something done later: a message, a reminder."""
    return any(map(_is_errand, request.acts))


def _is_errand(act: SpeechAct) -> bool:
    return act.kind in ASKED and is_kept(act.text)


def is_alarm(said: str, read: LineReading) -> bool:
    """Whether a line is an alarm, by what was read of it."""
    alarmed = any(act.kind == "alarm" for act in read.acts) or _is_cried(said, read.wanted)
    return alarmed and not _ALL_CLEAR.search(said)


def _is_cried(said: str, wanted: Iterable[tuple[str, float]]) -> bool:
    shares = dict(wanted)
    alarmed = share_of(ALARMS, wanted)
    if alarmed > shares.get("help", 0.0):  # "Me arm! I'm bleeding!"; not "help me lift it!"
        alarmed += shares.get("help", 0.0)
    least = CALLED_FOR_FROM if CRIES.search(said) else ALARMED_FROM
    return exclaims(said) and alarmed >= least


def _acts(said: str, request: ReplyRequest) -> tuple[SpeechAct, ...]:
    """Return the acts of a line; a confidence is one if the line is kept as such."""
    acts = tuple(act for act in request.acts if _is_surely(act, said, request))
    if request.kind == "whisper":
        return acts or (SpeechAct("claim_self", said),)
    others = tuple(act for act in acts if act.kind != "secret") or (SpeechAct("claim_self", said),)
    return (*others, SpeechAct("secret", said)) if request.confided else others


def _is_surely(act: SpeechAct, said: str, request: ReplyRequest) -> bool:
    """Whether an act is answered as such: it is surely done, or its sentence has its form."""
    if (act.sure < 0 and act.kind not in MAYBE) or _is_ruled_out(act, said, request):
        return False
    words = _sentence_of(act.text, said)
    has_form = {
        "alarm": lambda: CRIES.search(said) or alarms.to_do(said, request),
        "settle": lambda: "done" in (closes(words), closes(said)),
        "debt": lambda: owes(words),
        "correction": lambda: sets_right(said) or _ONLY_DENIES.search(said),
        "promise": lambda: commitments.promises(words) or _offers(words, request),
        "request": lambda: asks(words) or _asks_to(words) or not claims(words),
        "apology": lambda: _SORRY.search(words),
        "praise": lambda: asks_of_you(words),
        "parting": lambda: courtesy_of(words) is Intent.PARTING or _AT_NIGHT.search(words),
        "greeting": lambda: courtesy_of(words) is Intent.GREETING,
    }.get(act.kind)
    sure = act.sure >= SURELY_FROM.get(act.kind, act.sure)
    borne_out = share_of(BEARS_OUT.get(act.kind, ()), request.wanted) >= LEAST_BORNE_OUT
    return sure or borne_out or bool(has_form and has_form())


def share_of(kinds: Collection[str], wanted: Iterable[tuple[str, float]]) -> float:
    """Return how likely a line wants one of some kinds of reaction."""
    return sum(share for kind, share in wanted if kind in kinds)


def _is_ruled_out(act: SpeechAct, said: str, request: ReplyRequest) -> bool:
    """Whether the form of a sentence tells that it does not do an act that was read in it."""
    words = _sentence_of(act.text, said)
    wanted = partial(share_of, wanted=request.wanted)
    if act.kind == "parting":
        greets = wanted({"greet"}) > wanted({"part"}) and courtesy_of(words) is not Intent.PARTING
        return greets or courtesy_of(words) is Intent.GREETING
    if act.kind == "thanks":  # "ta-ra, missus"
        return max(wanted({"part"}), wanted({"relief"})) > wanted({"thanked"})
    if act.kind == "greeting":  # "Mara, I keep the ferry at Millbrook."
        if wanted({"part"}) > wanted({"greet"}):
            return True
        greets = Intent.GREETING in (courtesy_of(said), courtesy_of(request.utterance))
        return not greets and len(said.split()) > LONGEST_GREETING
    if act.kind == "alarm":
        over = closes(words) == "done" or _is_of_another_day(said, request) or asks(words)
        calm = wanted({"relief"}) >= NO_REQUEST_FROM
        return bool(calm or _ALL_CLEAR.search(words) or (over and not CRIES.search(said)))
    if act.kind == "correction":
        surely = act.sure >= SURELY_FROM["correction"] or not request.wanted
        return not surely and wanted({"corrects"}) < LEAST_KNOWN
    if act.kind == "feeling":
        return asks(words) and act.sure < FELT_IN_A_QUESTION_FROM
    if act.kind in ("praise", "insult"):
        return bool(_OF_ANOTHER.search(words)) and not asks_of_you(words)
    return False


def _is_of_another_day(said: str, request: ReplyRequest) -> bool:
    """Whether a line names a day that is not today: "the flood took it on sunday"."""
    named = dates(said, request.now, past=True) if request.now else ()
    return any(each.day.isoformat() != request.now[:10] for each in named)


def _sentence_of(words: str, said: str) -> str:
    """Return the sentence of a line that some of its words begin in, which are cut anywhere."""
    end = 0
    for each in sentences_of(said):
        end = said.find(each, end) + len(each)
        if 0 <= said.find(words) < end:
            return each
    return words


# --- what is said ---------------------------------------------------------------------------------


def _as_wanted(by_acts: Reply, said: str, request: ReplyRequest) -> Reply:
    """Return the reaction that a line wants, that by its acts where this is not clear."""
    kind, share = next(iter(request.wanted), ("", 0.0))
    act, _, row = by_acts.row.rpartition(": ")
    if _PITIES.search(said) and kind in ("sorry", *TROUBLES):
        return replace(says("compliment", request), row="wished: compliment")
    short = act in ASKED and row == "asked for" and len(said.split()) <= LONGEST_GREETING
    if kind == "greet" and share >= GREETS_FROM and (row in TAKES_NOTHING_UP or short):
        return Reply("", row="greeting")
    if not _gives_way(by_acts, kind, share, said, request):
        return by_acts
    vague = row in TAKES_NOTHING_UP or (row == "sorry" and kind in TROUBLES)
    least = WANTED_FROM if vague else WANTED_MORE
    least = GREETS_FROM if vague and kind == "part" else least
    least = max(least, JARS.get(kind, 0.0), SURELY_WANTED if row == "set right" else 0.0)
    if share < least and kind in TROUBLES:  # which of them is not clear
        kind, share, least = "hardship", share_of(TROUBLES, request.wanted), SURELY_WANTED
    if share < least or kind not in WANTED:
        return by_acts
    if kind == "part":
        made = parting_from(request)
        return replace(made, row=f"part: {made.row}")
    if kind == "show":
        return poses.answer_to(said, request) if request.kind == "pose" else by_acts
    if act := next(iter(OF_WHAT.get(kind, ())), ""):
        words = next((each.text for each in request.acts if each.kind in OF_WHAT[kind]), said)
        made = _reaction(SpeechAct(act, words), said, request)
        if made.row.rpartition(": ")[2] in SAID_BACK:
            return made
    return replace(says(WANTED[kind], request), row=f"{kind}: {WANTED[kind]}")


def _gives_way(by_acts: Reply, kind: str, share: float, said: str, request: ReplyRequest) -> bool:
    """Whether a kind of reaction, if it is likely enough, is in place of that by a line's acts."""
    act, _, row = by_acts.row.rpartition(": ")
    taken_up, posed = row not in TAKES_NOTHING_UP, request.kind == "pose"
    if act in ASKED and kind not in ("greet", *ASKS_FOR_SOMETHING) and not is_kept(said):
        return share >= NO_REQUEST_FROM
    if row in (*SAID_BACK, WANTED.get(kind)) or (taken_up and act in OF_WHAT.get(kind, ())):
        return False
    if (kind, act) == ("praised", "insult") or (kind in LOSSES and row == "sorry for"):
        return False  # who mocks is read as praising; and what is lost is named
    if posed and kind in ("pay", "gift"):  # to the NPC, not to somebody else
        own = forms((request.npc_name, *request.npc_names))
        others = names(" ".join((*request.situation.known_names, *request.situation.present)))
        named = _PROPER.search(said) or others & {*words_of(said.lower())}
        return any(each in said.lower() for each in own) or not named
    return kind not in OF_NO_WEIGHT or not (taken_up or posed)


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
    words = _sentence_of(act.text, said)
    if act.kind == "move" and request.kind == "pose":
        if collapses(said):
            return alarms.to_do(FAINTED, request) or says("alarm of a wound", request)
        return poses.answer_to(said, request)
    if act.kind == "alarm":
        return alarms.to_do(said, request) or says(alarms.kind_of(request), request)
    if act.kind in RELIEVED_BY and _ALL_CLEAR.search(said) and not asks(words):
        return says("relieved", request)
    if act.kind == "parting":
        return parting_from(request)
    if act.kind == "correction" and (_ONLY_DENIES.search(said) or not sets_right(said)):
        surely = _ONLY_DENIES.search(said) or act.sure >= CORRECTS_FROM
        return says("corrected" if surely else "heard", request)
    if act.kind == "settle" and not (_PAYS_IT.search(words) and sums_in(words)):
        return says("settled" if _PAYS_IT.search(said) else "heard", request)
    if act.kind == "debt" and _is_between_others(words, request):
        with_matter = "owed between others"
    if act.kind in ASKED:
        if errand_taken := _errand(act, said, request):
            return errand_taken
        if is_order(words) and not keeps(act.text) and (what := ordered(words)):
            return says("ordered", request, topic=what)
    if act.kind == "feeling" and _is_glad(request):
        return says("glad", request)
    if act.kind == "feeling" and request.wanted and not _is_troubled(request):
        return says("heard", request)
    topic = _matter(act, said, request) if with_matter else ""
    return says(with_matter, request, topic=topic) if topic else says(without, request)


def _is_glad(request: ReplyRequest) -> bool:
    """Whether what is felt is good."""
    good = share_of(GOOD_NEWS, request.wanted)
    surely = good > max(GLAD_FROM, share_of(TROUBLES | ALARMS, request.wanted))
    return surely or bool(_GLAD.search(request.utterance))


def _is_troubled(request: ReplyRequest) -> bool:
    """Whether what is felt may be bad."""
    return share_of(TROUBLES | ALARMS, request.wanted) >= LEAST_BORNE_OUT


def _is_between_others(words: str, request: ReplyRequest) -> bool:
    own = forms((request.npc_name, *request.npc_names))
    return commitments.between_others(words, own) and not keeps(words)


def _matter(act: SpeechAct, said: str, request: ReplyRequest) -> str:
    """Return what is said back of an act, "" where nothing is."""
    called, words = _called(request), _sentence_of(act.text, said)
    if act.kind == "feeling":  # what a long line names beside it is seldom what is felt
        short = matter_of(said, act.kind, called) if len(said.split()) <= SHORT else ""
        what = matter_of(act.text, act.kind, called) or short
        # an arm, "scared of the flood"; not "the train" of "so old I remember when this train …"
        felt = re.search(rf"\b(?:about|over|of|for) {re.escape(what)}", said, re.IGNORECASE)
        return what if what.startswith("your ") or felt else ""
    if act.kind == "correction":  # "I'll not manage Monday. Wednesday it is."
        whole = matter_of(said, act.kind, called)
        several = len({*days_in(said)}) > 1
        return whole if several else matter_of(words, act.kind, called) or whole
    kept = matter_of(words, MESSAGE, called) if act.kind in ASKED and keeps(act.text) else ""
    return matter_of(words, act.kind, called) or kept


def _errand(act: SpeechAct, said: str, request: ReplyRequest) -> Reply | None:
    """Return what is said to a reminder or a message, None to any other request."""
    words = _sentence_of(act.text, said)
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


def _called(request: ReplyRequest) -> set[str]:
    """Return the words by which the NPC and the speaker are called."""
    own = forms((request.npc_name, *request.npc_names))
    return {word for name in own for word in name.split()} | names(request.speaker)
