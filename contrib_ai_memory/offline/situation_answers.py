"""Answers to recognised intents: who is or was here, where and when, gifts, news, opinions.

`recall.situation` looks up what each intent needs. A function of `ANSWERS` returns None where it
cannot answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta

from ..embedding import embedder
from ..embedding.model import ModelAway
from ..english import agenda_questions, presence_questions
from ..english.addressing import without_address
from ..english.own_words import own_sentences, pronoun_of
from ..english.questions import asks_when, sentences_of
from ..english.reported_speech import capital
from ..english.tokens import content_words, without_quotations
from ..language import Intent
from ..local_time import date_of
from ..records import KnownPerson, MemoryRecord, OpenItem, Reply, ReplyRequest
from ..text.names import forms, names
from ..text.sanitising import oneline
from ..text.segmentation import words_of
from .memory_answers import from_memory, portrait, worth_telling
from .phrases import last_words, phrase, says
from .realisation import ended, listed, tell_all
from .sentence_answers import ranked
from .told_days import age, day_asked, day_told, on_day

SAME_EVENT = 0.35  # cosine of an event and a memory of it
LONG_PERSONA = 14  # words of a first sentence
TALK_TOLD = 5  # lines of the last talk
VISITORS_TOLD = 6
NEWS_TOLD = 2  # lines of others
LEFT_LATELY = timedelta(hours=12)  # somebody who left then may still be where they went
JUST_NOW = timedelta(minutes=15)
LATELY = timedelta(days=3)  # the visits told where no day is named
# whose words an answer tells: 'Bram said two days ago: "…"', "It sank, so Bram says."
_WHEN = r"(?P<when>earlier today|yesterday|\w+ days ago|on [^:.\"]{3,40}?)"
_NAMED = r"(?P<who>[^\W\d_][\w'’ -]{0,40}?)"
_TOLD_BY = (
    re.compile(rf"(?:^|[.!?\":] +){_NAMED} (?:told me|said)(?: {_WHEN})?(?=:| that )"),
    re.compile(rf", so (?!I heard){_NAMED} (?:says|said)(?: {_WHEN})?\."),
)
# "Bram keeps hens.", which Bram told; not "Bram is right here", "Bram owes you four"
_TOLD_OF_ONESELF = (
    r"(?:^|[.!?] +)(?P<who>{})(?:['’]s)? (?!(?:(?:is|was) (?:right )?here|and|left|came|went"
    rf"|gave me|owes|promised|asked)\b)(?:[^.!?]*?, so I heard {_WHEN}\.)?"
)
_OF_GIVING = content_words(
    "give gave given gives keep hold hand bring brought take lend left gift present pay paid sold"
)
_WAS_HERE = re.compile(r"\b(?:was|were) [^.?!]*\b(?:here|in|around)\b[^.?!]*", re.IGNORECASE)
_I_AM = re.compile(  # "I am the miller", "you are Mara, a witch"
    r"^(?:I|you)(?: am| are|['’]m|['’]re) (?:me, )?(?=(?:the|an?)\b|[^,]+, )", re.IGNORECASE
)
_FINITE = re.compile(r"\b(?:is|are|was|were|am|has|have|had|does|do|did|will|can)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?)\s", re.IGNORECASE)


def _knows_speaker(request: ReplyRequest, _whom: str) -> Reply | None:
    known = request.met_before or request.has_spoken
    return says("known" if known else "not known", request)


def _oneself(request: ReplyRequest, _whom: str) -> Reply:
    """Say who the speaker is, and what they are known for."""
    known = from_memory(replace(request, utterance="what do you know about me?")).reply
    named = f"You are {request.speaker}."
    if known is None or not known.told:
        return Reply(named, told=())
    return replace(known, text=f"{named} {known.text}")


def _sureness(request: ReplyRequest, _whom: str) -> Reply:
    """Say how sure the NPC is of what it has said last."""
    return says("as it was told" if _told_by(request) else "quite sure", request)


def _says(kind: str) -> Callable[[ReplyRequest, str], Reply | None]:
    return lambda request, _whom: says(kind, request)


def _name(request: ReplyRequest, _whom: str) -> Reply:
    """Introduce the NPC by its name and the first sentence of its persona, in the first person.

    Who asks for the name alone hears the beginning of it.
    """
    named = f"I am {request.npc_name}"
    called, pronoun = (request.npc_name, *request.npc_names), pronoun_of([request.persona])
    first = next(iter(sentences_of(oneline(request.persona))), "").rstrip(".!")
    own = own_sentences([first], called, pronoun, persona=True)
    told = [each for each in own if each.own and not each.text.startswith("I,")]
    said = told[0].text.rstrip(".!") if told else first
    role = without_address(_I_AM.sub("", said), forms(called))
    long = len(first.split()) > LONG_PERSONA and request.intent == Intent.NAME.name
    short = long or not _ARTICLE.match(first)
    is_role = _ARTICLE.match(role) or not (told or _FINITE.search(role))
    if role and is_role and (short or not told):  # "ferrywoman at Reedy Crossing, dry"
        role = role.partition(",")[0] if short else role
        return Reply(f"{named}, {role[0].lower()}{role[1:]}.", told=())
    text = " ".join([f"{named}.", *(ended(each.text) for each in told)])
    return Reply(text, told=())


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
    today = date_of(request.now)
    day = day_asked(request.utterance, request.now)
    first, last = (day, day) if day else (today - LATELY, today)
    when = on_day(day, today) if day else "lately"
    visits = [each for each in request.situation.visits if first <= date_of(each.when) <= last]
    seen = list(dict.fromkeys(each.name for each in visits))
    who = [each for each in seen if each != request.speaker][:VISITORS_TOLD]
    if not who:
        but = f", apart from you, {request.speaker}" if seen else ""
        return Reply(f"Nobody that I saw {when}{but}.", told=())
    return Reply(f"{listed(who)} {'was' if len(who) == 1 else 'were'} here {when}.", told=())


def who_was_there(request: ReplyRequest, said: str) -> Reply | None:
    """Say who was there when something happened, or before or after the speaker came in."""
    asked = presence_questions.read(said)
    if asked is None:
        return None
    if asked.relation != "at":
        return _beside_coming(request, asked.relation)
    memory = _memory_of(asked.event, request)
    if memory is None:
        return None
    told = tell_all([memory], replace(request, utterance=asked.event), by_date=True)
    return Reply(f"{_witnesses_told(memory, asked.whom, request)} {told}", told=(memory.id,))


def _memory_of(event: str, request: ReplyRequest) -> MemoryRecord | None:
    """Return the memory that is nearest to an event, None if none is near or the model is away."""
    seen = [each for each in worth_telling(request) if each.record == "entry"]
    try:
        asked = embedder.shared().encode([event])
        near = embedder.shared().encode([each.said for each in seen]) @ asked[0]
    except ModelAway:
        return None
    return seen[int(near.argmax())] if near.max(initial=0.0) >= SAME_EVENT else None


def _witnesses_told(memory: MemoryRecord, whom: str, request: ReplyRequest) -> str:
    """Say who perceived something besides the one who did it, or whether somebody did."""
    people = request.situation.witnesses
    there = [who for who in memory.witnesses if people.get(who) != memory.speaker]
    others = [people[who] for who in there if who in people and who != request.speaker_id]
    if not people.keys() >= {*there}:
        others.append("somebody whom I do not know")
    if request.speaker_id in there:
        others.append("you")
    person = _known(request, whom) if whom else None
    if person is None:
        return f"{capital(_were(others))} here then." if others else "Nobody else was here."
    name = "you" if person.identity == request.speaker_id else person.name
    if person.identity in memory.witnesses:
        return f"Yes, {_were([name])} here then."
    besides = f"; {_were(others)}" if others else ""
    return f"No, {_were([name])} not here then{besides}."


def _were(who: Sequence[str]) -> str:
    return f"{listed(who)} {'were' if len(who) > 1 or who == ['you'] else 'was'}"


def _beside_coming(request: ReplyRequest, relation: str) -> Reply | None:
    """Say who was there before the speaker came in, or who came next."""
    coming = request.situation.coming
    if coming is None:
        return None
    today = date_of(request.now)
    when = on_day(date_of(coming.when), today)
    if relation == "after":
        who = f"{coming.next} came" if coming.next else "Nobody came"
        return Reply(f"{who} after you {when}.", told=())
    if not coming.present:
        return Reply(f"Nobody was here before you came {when}.", told=())
    return Reply(f"{capital(_were(coming.present))} here before you came {when}.", told=())


def last_seen(request: ReplyRequest, whom: str) -> Reply | None:
    person = _known(request, whom)
    if person is None or set(words_of(whom)) - names(person.name) - {"i", "me"}:
        return None  # nobody, or "bram's boat"
    if person.identity == request.speaker_id:
        return _last_here(person, request)
    asked = _WAS_HERE.search(request.utterance)  # not "where was Bram on Saturday?"
    day = day_asked(asked[0], request.now) if asked else None
    if day and day < date_of(request.now):
        return _visit_on(day, person, request)
    if person.here:
        other = asks_when(request.utterance)  # "when'd bram get here?"
        return None if other else Reply(f"{person.name} is right here.", told=())
    if left := _departure(request, person):
        return Reply(left, told=())
    when = day_told(person.last_seen, request.now) if person.last_seen else ""
    return Reply(f"I last saw {person.name} {when}.", told=()) if when else None


def _visit_on(day: date, person: KnownPerson, request: ReplyRequest) -> Reply | None:
    """Say whether somebody was here on a past day; None if that was too long ago to say."""
    situation = request.situation
    days = {date_of(each.when) for each in situation.visits if each.name == person.name}
    days |= {date_of(each) for each in (person.last_seen, person.seen_before) if each}
    if day in days:
        was = "was here"
    elif situation.visits_since and day <= date_of(situation.visits_since):
        return None
    else:
        was = "was not here that I saw"
    return Reply(f"{person.name} {was} {on_day(day, date_of(request.now))}.", told=())


def _last_here(speaker: KnownPerson, request: ReplyRequest) -> Reply:
    """Say when the speaker was here before now."""
    when = day_told(speaker.seen_before, request.now) if speaker.seen_before else ""
    said = f"You were last here {when}, {request.speaker}." if when else phrase("not seen", request)
    return Reply(said, told=())


def _departure(request: ReplyRequest, person: KnownPerson) -> str:
    """Say where somebody went who was seen to leave within the last hours, "" if nobody saw it."""
    seen = next((each for each in request.situation.visits if each.name == person.name), None)
    if seen is None or not seen.left_for or age(seen.when, request.now) > LEFT_LATELY:
        return ""
    just = age(seen.when, request.now) < JUST_NOW
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
    who = replace(request, utterance=f"who is {person.name}?")
    known = portrait(person, about, ranked(who))
    return replace(known, text=f"{standing} {known.text}") if known else Reply(standing, told=())


def _talk(request: ReplyRequest, _whom: str) -> Reply | None:
    """Recall what the speaker said when they last talked."""
    talk = set(request.situation.lines_asked_for)
    lines = [each for each in worth_telling(request) if each.id in talk][:TALK_TOLD]
    day = day_asked(request.utterance, request.now)
    when = on_day(day, date_of(request.now)) if day else ""
    if not lines:
        said = "We talked of nothing much" if talk else "We did not talk"
        return Reply(f"{said} {when or 'before'}, {request.speaker}.", told=())
    when = when or day_told(lines[0].created_at, request.now)
    text = tell_all(lines, replace(request, now=""))
    return Reply(f"We talked {when}. {text}", told=tuple(each.id for each in lines))


def news(request: ReplyRequest, _whom: str) -> Reply:
    """Tell what others have told lately."""
    heard = set(request.situation.lines_asked_for)
    lines = [each for each in worth_telling(request) if each.id in heard]
    lines = sorted(lines, key=lambda each: (-each.importance, each.id))[:NEWS_TOLD]
    if not lines:
        return says("no news", request)
    return Reply(tell_all(lines, request), told=tuple(each.id for each in lines))


def _word_left(request: ReplyRequest, _whom: str) -> Reply | None:
    left = [item for item in request.situation.agenda if item.message]
    return agenda_told(left) if left else says("no word left", request)


def _teller(request: ReplyRequest, _whom: str) -> Reply | None:
    """Say whose words it told last: "Bram told me yesterday."."""
    found = _told_by(request)
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


def _told_by(request: ReplyRequest) -> list[re.Match[str]]:
    """Return where the NPC's last words name whose words they tell."""
    said = without_quotations(last_words(request))
    some = "|".join(map(re.escape, request.situation.known_names)) or r"(?!)"
    found = [each for pattern in _TOLD_BY for each in pattern.finditer(said)]
    return found or [*re.finditer(_TOLD_OF_ONESELF.replace("{}", some, 1), said)]


def _whispered(request: ReplyRequest, whom: str) -> Reply | None:
    person = _known(request, whom)
    if person is None or person.identity == request.speaker_id:
        return None
    return says("stays with me", request)


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
        return says("nothing given by", request, whom=person.name)
    return says("nothing given", request)


def agenda_told(items: Sequence[OpenItem]) -> Reply:
    """Tell items of the agenda."""
    told = dict.fromkeys(each for item in items for each in item.evidence)
    return Reply(" ".join(dict.fromkeys(item.text for item in items)), told=tuple(told))


def agenda_asked(said: str, items: Sequence[OpenItem]) -> Sequence[OpenItem]:
    """Return the items that have most words of a question, all of them if none has one."""
    asked = content_words(said)
    shared = [len(asked & content_words(item.text)) for item in items]
    return [item for item, words in zip(items, shared, strict=True) if words == max(shared)]


def nothing_open(said: str, request: ReplyRequest) -> Reply:
    """Say that nothing is owed or promised; yes to "am I paid up?", no to "do I owe you?"."""
    asked_for = agenda_questions.read(said, request.now) if request.now else None
    told = phrase("nothing open", request)
    if asked_for is None or not asked_for.whether:
        return Reply(told, told=())
    return Reply(f"{'Yes' if asked_for.settled else 'No'}. {told}", told=())


ANSWERS: Mapping[Intent, Callable[[ReplyRequest, str], Reply | None]] = {
    Intent.WELLBEING: _says("wellbeing"),
    Intent.NAME: _name,
    Intent.ROLE: _name,
    Intent.PLACE: _place,
    Intent.TIME: _time,
    Intent.PRESENT: _present,
    Intent.VISITORS: _visitors,
    Intent.LAST_SEEN: last_seen,
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
    Intent.NEWS: news,
}


def _known(request: ReplyRequest, whom: str) -> KnownPerson | None:
    """Find whom a line means among the people whom the NPC knows."""
    people = request.situation.people
    if whom.lower() in ("i", "me", "us", "myself"):
        return next((p for p in people if p.identity == request.speaker_id), None)
    wanted = set(words_of(whom))
    return next((p for p in people if names(p.name) & wanted), None)
