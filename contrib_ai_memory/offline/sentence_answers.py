"""The sentences of memory and persona that answer a question, ranked, and how they are told.

Recalled memories are cut into sentences, and what the NPC knows of itself stands beside them. The
network of `reader` scores each: above 0 it is surer than that nothing answers. Without the network
they stand as the recall ranks them, and the first is told.
Worker threads only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ..embedding import embedder
from ..embedding.model import ModelAway
from ..english.addressing import confides, without_address
from ..english.contradiction import tells_change
from ..english.own_words import HE, SHE, THEY, own_sentences, own_wish, pronoun_of
from ..english.questions import (
    asks,
    asks_of_a_whole,
    asks_of_you,
    asks_when,
    sentences_of,
    statements,
)
from ..english.reported_speech import Clause, capital, claims, clauses, leans_on_a_name
from ..english.salience import names_someone
from ..english.spelling import put_right
from ..english.tokens import content_words, quotes
from ..local_time import date_of
from ..records import BUILDER, MOVE_KINDS, MemoryRecord, ReplyRequest, seconds_between
from ..text.names import forms, names
from ..text.sanitising import oneline
from ..text.segmentation import words_of
from . import reader
from .courtesies import is_mere_courtesy
from .realisation import ended, tell_all

# of scores, and of how far below the best of the recall a memory is (`python -m benchmarks.reader`)
UNSURE = 0.4  # of the network's score, which from then on is as sure as that nothing answers
NOTHING_BELOW = 0.0  # what scores less is not told
SURELY = 2.5  # from which an answer is told before anything else that a line may mean
RECALL_COUNTS = 1.5
ON_ONE_MATTER = 2  # content words that both have
READ_AGAIN_BELOW = 2.0  # score of the best, from which a question is not read a second time
LATELY = 2  # replies, of which nothing that a builder gave is told whole again
SURER_BY = 0.75  # more, that a second reading has to score
LATER_WITHIN = 1.0  # less than the best score, from which what was said later is told in its place
SURELY_CHANGES = 0.9  # of the reader, that what was taught later changes what was taught before
LONG = 160  # characters from which a memory is cut into sentences
READ = 32  # recalled sentences at most, the best ones
SHEET_READ = 16  # sentences of the persona sheet, beside those recalled
SEVERAL = 2  # sentences told where all of somebody or something is asked for
NEARLY_AS_GOOD = 3.0  # less than the best score, for the second
LACKS_NUMBER = 2.0  # less for what holds none of the numbers that the question holds
BY_THE_ASKER = 1.0  # surer of the asker's own words, where what is theirs is asked about
OF_COMING = 5.0  # more for a coming or going, where such is asked for
OF_THE_NPC = 3.0  # less for what the NPC is, where a question is not about it
OF_THIS_TALK = 2.5  # less for what was just said or done, where no word of the question is of it
THIS_TALK_SECONDS = 3600
OF_A_SECRET = 5.0  # more for what the asker said in confidence, where such is asked for
NAMES_SOMEBODY = 0.9  # more for what names somebody, where a person is asked for
REPEATED = 0.6  # share of words in what is told already that makes it a repetition
SOMEBODY = ("Bram", "Tom")  # who asks, where it is not to count that it is the asker
MOST_WORDS = 40  # of all that is told
APART = 4.0  # by which a part has to score more than the rest of the answer, to be told alone
AS_WELL = 0.5  # of that, by which it may score less than all of it
NOT_OF_IT = 1.5  # less than the surest word of the answer, of a part that may be left out

_HEADING = re.compile(r"(?m)^\s*#+[^\n]*$")
_OF_COMING = re.compile(  # not "where did he leave his axe"
    r"\b(?:com(?:e|es|ing)|came|arriv\w+|went|gone|get here|got here|(?:leav(?:e|es|ing)|left)"
    r"(?! (?:his|her|their|my|your|our|its|an?|some|it|me|us|behind)\b))\b",
    re.I,
)
# of a persona, what is for whoever plays it alone: "you must never reveal that …"
_FOR_THE_ACTOR = re.compile(
    r"\b(?:never|must|should|don['’]?t|do not|secret\w*|hid(?:e|es|den|ing)|reveal\w*|pretend\w*"
    r"|lies? (?:about|to)|(?:nobody|no ?one|none) (?:knows?|else)|unknown to|unless"
    r"|if (?:asked|a player|(?:any|some)(?:one|body) (?:asks?|wants?|tries|mentions?|says?))"
    r"|players?|npc|responds?|repl(?:y|ies)"
    r"|speaks?|talks?|answers?)\b",
    re.IGNORECASE,
)
_OF_BEFORE = re.compile(
    r"\b(?:at first|in the beginning|used to|before|originally|once|formerly|old)\b", re.I
)
_NAME_OF_KIN = re.compile(  # "what's my wife's name?" is read as "who is my wife?"
    r"\bwhat(?:['’]?s| is) (?P<whom>(?:my|your|his|her|their|[\w-]+['’]?s)"
    r" (?:brother|sister|mother|father|son|daughter|wife|husband|uncle|aunt|cousin))"
    r"(?:['’]?s name| called)\b",
    re.IGNORECASE,
)
_TOLD_AS_ASKED = re.compile(  # "did you know that …"
    r"^\W*(?:did|have) (?:you|u) (?:know|hear|heard)(?: that)?[,?]? (?=\S+ \S)", re.I
)
_OF_THE_ASKERS = re.compile(r"\b(?:my|mine|our|ours|about (?:me|us))\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_OF_WHAT_WAS_TOLD = re.compile(r"(?:s?he|it|they)\b", re.IGNORECASE)  # begins with it
_ASKS_FOR_ALL = re.compile(r"\bwhy\b|\bhow come\b", re.IGNORECASE)  # of a line, reasons too
_WHO = re.compile(r"\bwho(?:m|se|['’]?s)?\b", re.IGNORECASE)
_ME = re.compile(r"\b(?:i|me|we|us)\b", re.IGNORECASE)
_OF_A_SECRET = re.compile(
    r"\b(?:whisper\w*|secret\w*|confid\w+|on the quiet|keep\w* quiet|to yourself|no further"
    r"|between ourselves|swear|swore)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"(?<!\w)([*_]{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")  # *emphasis*
_GOAL = re.compile(
    r"^\W*(?:(?:\w+ ){1,3}?(?:wants?|hopes?|means?|wishes|wish|intends?|aims?|plans?) )?to (?=\w)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+\.)\s+")


@dataclass(frozen=True, slots=True)
class SentenceCandidate:
    """A sentence that may be told."""

    text: str  # the words as they stand in the memory
    memory: MemoryRecord | None  # what it is of; None for what the persona says
    read: str  # the sentence as the reader reads it
    recalled: float = 0.0  # how much less than the best the recall scored its memory, 0 or below
    score: float = 0.0  # how surely it answers; 0 is as sure as that nothing does
    before: str = ""  # the sentence without which it is not understood, told before it

    @property
    def rank(self) -> float:
        """By which it stands before others: what came to mind sooner is told sooner, not surer."""
        return self.score + RECALL_COUNTS * self.recalled


def ranked(request: ReplyRequest) -> list[SentenceCandidate]:
    """Return the sentences that may be told, the best answer first."""
    judged = _judged(sentences(request), request)
    if _surest(judged) < READ_AGAIN_BELOW:
        judged = _read_again(judged, request)
    best = sorted(judged, key=lambda each: -each.rank)
    if _OF_THE_ASKERS.search(request.utterance):  # surer, not sooner
        best = [
            replace(e, score=e.score + BY_THE_ASKER * _is_by_the_asker(e, request)) for e in best
        ]
    if _OF_BEFORE.search(request.utterance):
        return _earlier_first(best, request)
    # who somebody is holds, whatever came of the matter
    within = LATER_WITHIN if _WHO.search(request.utterance) else NEARLY_AS_GOOD
    return _latest_first(best, within)


def _judged(found: Sequence[SentenceCandidate], request: ReplyRequest) -> list[SentenceCandidate]:
    return [
        replace(each, score=score + _more(each, request))
        for each, score in zip(found, read_scores(request, found), strict=True)
    ]


def _surest(judged: Iterable[SentenceCandidate]) -> float:
    return max((each.score for each in judged), default=NOTHING_BELOW)


def _read_again(judged: list[SentenceCandidate], request: ReplyRequest) -> list[SentenceCandidate]:
    """Return sentences as they answer a question without its slips of spelling, if more surely."""
    known = {word for each in judged for word in words_of(each.text)}
    known |= {word for name in request.situation.known_names for word in names(name)}
    said = words_to_it(request)
    if (spelled := put_right(said, known)) == said:
        return judged
    again = _judged(judged, replace(request, utterance=spelled))
    return again if _surest(again) >= max(_surest(judged) + SURER_BY, NOTHING_BELOW) else judged


def read_scores(request: ReplyRequest, found: Sequence[SentenceCandidate]) -> list[float]:
    """Return the reader's score of each sentence; without it 0 for memories that share a word with
    the question, less for all else."""
    if network := reader.shared():
        said = _NAME_OF_KIN.sub(r"who is \g<whom>", words_to_it(request))
        of_them = bool(_ME.search(said) or _OF_THE_ASKERS.search(said))
        # nobody asks for what they said themselves but to see whether it is remembered
        tried = np.array([not of_them and _is_by_the_asker(each, request) for each in found], bool)
        scores = np.zeros(len(found))
        other = next(name for name in SOMEBODY if name != request.speaker)
        for asker, chosen in ((request.speaker, ~tried), (other, tried)):
            read = [each.read for each, wanted in zip(found, chosen, strict=True) if wanted]
            question = reader.question_read(asker, request.npc_name, said)
            scores[chosen] = network.scores(question, read)
        return [float(each) - UNSURE for each in scores]
    asked = content_words(words_to_it(request))
    return [0.0 if each.memory and asked & content_words(each.read) else -1.0 for each in found]


def _more(candidate: SentenceCandidate, request: ReplyRequest) -> float:
    """Return what the reader does not see: numbers, and what else is asked for."""
    numbers = set(_NUMBER.findall(request.utterance))
    lacks = bool(numbers) and numbers.isdisjoint(_NUMBER.findall(candidate.text))
    # "what do I keep?" is not answered with what the NPC keeps
    question = words_to_it(request)
    npcs = candidate.memory is None and not asks_of_you(question)
    secret = is_the_askers_secret(candidate, request) and asks_of_a_secret(request)
    known = tuple(each for each in request.situation.known_names if each != request.speaker)
    who = bool(_WHO.search(request.utterance)) and names_someone(candidate.text, known)
    moves = bool(candidate.memory and MOVE_KINDS.intersection(candidate.memory.tags))
    more = OF_COMING * moves + OF_A_SECRET * secret + NAMES_SOMEBODY * who
    of_the_asker = _ME.search(question) or _OF_THE_ASKERS.search(question)
    if not of_the_asker and _is_of_this_talk(candidate, request):
        more -= OF_THIS_TALK
    return more - LACKS_NUMBER * lacks - OF_THE_NPC * npcs


def _is_of_this_talk(candidate: SentenceCandidate, request: ReplyRequest) -> bool:
    """Whether a sentence was said or done a moment ago, by nobody whom the question names, and
    shares no word with it."""
    memory = candidate.memory
    if not (memory and request.now and memory.record == "entry") or of_builder(memory):
        return False
    asked = words_to_it(request)
    if content_words(asked) & content_words(candidate.text):
        return False
    if names(memory.speaker) & {*words_of(asked.lower())}:
        return False
    return 0 <= seconds_between(memory.created_at, request.now) <= THIS_TALK_SECONDS


def asks_of_a_secret(request: ReplyRequest) -> bool:
    """Whether the asker wants to hear what they said in confidence."""
    said = words_to_it(request)
    by_acts = any(act.kind == "secret" for act in request.acts)
    named = by_acts or confides(said) or bool(_OF_A_SECRET.search(said))
    return named and bool(_ME.search(said))


def is_the_askers_secret(candidate: SentenceCandidate, request: ReplyRequest) -> bool:
    """Whether a sentence is of what the asker said in confidence."""
    return _is_by_the_asker(candidate, request) and bool(
        candidate.memory and candidate.memory.private
    )


def _is_by_the_asker(candidate: SentenceCandidate, request: ReplyRequest) -> bool:
    memory = candidate.memory
    return bool(memory and request.speaker_id and memory.about == request.speaker_id)


def _latest_first(best: list[SentenceCandidate], within: float) -> list[SentenceCandidate]:
    """Put what was said last on the matter of the best sentence first, if it answers as well; what
    says that the best is over, if it answers and scores less by so much at most."""
    if not best or not (since := _told_at(best[0])):
        return _latest_taught(best)
    over = _says_over(best)
    later = [
        each
        for each in best
        if each.score >= NOTHING_BELOW
        and _told_at(each) > since
        and (
            (each in over and each.rank >= best[0].rank - within)
            or (
                each.rank >= best[0].rank - LATER_WITHIN - tells_change(each.text)
                and _is_on_one_matter(each, best[0])
            )
        )
    ]
    newest = max(later, key=_told_at, default=best[0])
    first = replace(newest, score=max(newest.score, best[0].score))
    return [first, *(each for each in best if each is not newest)]


def _latest_taught(best: list[SentenceCandidate]) -> list[SentenceCandidate]:
    """Put what a builder taught later before what it changes: "a jar of gale now costs three".

    What begins with a word that the other lacks is of something else: "a ship's bell costs".
    """
    network = reader.shared()
    first = best[0] if best else None
    if network is None or first is None or not _taught_at(first):
        return best
    known = content_words(first.text)
    later = [
        each
        for each in best
        if each.score >= NOTHING_BELOW
        and _taught_at(each) > _taught_at(first)
        and _begins_with(each.text) in known
        and _is_on_one_matter(each, first)
        and network.changes(each.read, [first.read])[0, 0] >= SURELY_CHANGES
    ]
    newest = max(later, key=_taught_at, default=first)
    return [newest, *(each for each in best if each is not newest)]


def _begins_with(text: str) -> str:
    """Return the stem of the first word that carries meaning, "" for none."""
    stems = (content_words(word) for word in words_of(text))
    return next((stem for each in stems for stem in each), "")


def _taught_at(candidate: SentenceCandidate) -> str:
    """Return when a builder gave what a sentence is of, "" for anything else."""
    memory = candidate.memory
    return memory.created_at if memory and of_builder(memory) else ""


def _earlier_first(best: list[SentenceCandidate], request: ReplyRequest) -> list[SentenceCandidate]:
    """Put what was told of the matter earlier before what says that it has changed."""
    if not best or not tells_change(best[0].text):
        return best
    asked, changed_at = content_words(words_to_it(request)), _told_at(best[0])
    earlier = [
        each
        for each in best
        if each.rank >= best[0].rank - NEARLY_AS_GOOD
        and _told_at(each) < changed_at
        and not tells_change(each.text)
        and not asked.isdisjoint(content_words(each.text))
    ][:1]
    return [*earlier, *(each for each in best if each not in earlier)]


def _is_on_one_matter(later: SentenceCandidate, first: SentenceCandidate) -> bool:
    return len(content_words(first.text) & content_words(later.text)) >= ON_ONE_MATTER


def _says_over(best: Sequence[SentenceCandidate]) -> list[SentenceCandidate]:
    """Return the sentences of the memory that ended the first one's, of what ended that, and so on,
    the last that hold."""
    of_memory: dict[str, list[SentenceCandidate]] = {}
    for each in best:
        if each.memory:
            of_memory.setdefault(each.memory.id, []).append(each)
    found: list[SentenceCandidate] = []
    by = best[0].memory.superseded_by if best[0].memory else None
    while by and (some := of_memory.pop(by, [])):  # each once: two may name one another
        found = some
        by = some[0].memory.superseded_by if some[0].memory else None
    return found


def _told_at(candidate: SentenceCandidate) -> int:
    """Return the journal id of the last line that it is of, 0 for what has no time."""
    memory = candidate.memory
    return 0 if memory is None or of_builder(memory) else max(memory.journal_ids, default=0)


def choose(
    found: Sequence[SentenceCandidate],
    *,
    several: bool = False,
    least: float = NOTHING_BELOW,
) -> list[SentenceCandidate]:
    """Return what is told of the sentences, the best of which stand first.

    Args:
        several: Whether all of somebody or something is asked for.
        least: The score below which nothing is told.
    """
    chosen: list[SentenceCandidate] = []
    for each in found[: SEVERAL if several else 1]:
        near = not chosen or each.rank >= chosen[0].rank - NEARLY_AS_GOOD
        words = sum(len(one.text.split()) for one in (*chosen, each))
        known = any(repeats(each.text, one.text) for one in chosen)
        fits = not chosen or words <= MOST_WORDS
        if each.score >= least and near and fits and not known:
            chosen.append(each)
    return chosen


def told(chosen: Iterable[SentenceCandidate], request: ReplyRequest) -> str:
    """Say sentences to the one who asks."""
    own, memories = [], []
    shorten = not asks_of_a_whole(request.utterance)
    for each in (to_the_question(one, request) if shorten else one for one in chosen):
        if each.memory is None or of_builder(each.memory):
            own += [capital(ended(text)) for text in (each.before, each.text) if text]
            continue
        if each.memory.quote:
            memories.append(replace(each.memory, quote=each.text))
        elif each.text == each.memory.content:
            memories.append(each.memory)
        else:
            memories.append(replace(each.memory, content=each.text))
    by_date = asks_when(request.utterance)
    said = " ".join(dict.fromkeys(own))
    return " ".join(filter(None, [said, tell_all(memories, request, by_date=by_date)]))


def to_the_question(candidate: SentenceCandidate, request: ReplyRequest) -> SentenceCandidate:
    """Return the part of a line whose words answer; what leans on another stays behind it."""
    memory, text, network = candidate.memory, candidate.text, reader.shared()
    again = memory is None or of_builder(memory)
    if again and asks(request.utterance) and _was_told(candidate, request):  # not whole again
        candidate = replace(candidate, before="")
    elif again or not (memory and memory.is_talk):
        return candidate
    if network is None:
        return candidate
    parts = clauses(text)
    if len(parts) < 2 or _ASKS_FOR_ALL.search(request.utterance):
        return candidate
    question = reader.question_read(request.speaker, request.npc_name, words_to_it(request))
    read = _as_read(candidate, text, request)
    words = network.answering(question, read)
    behind = len(read) - len(text)  # whose words they are stands before them
    surest = [
        max(
            (sure for a, b, sure in words if b > each.start + behind and a < each.end + behind),
            default=-np.inf,
        )
        for each in parts
    ]
    answer = [place for place, sure in enumerate(surest) if sure >= max(surest) - NOT_OF_IT]
    best = surest.index(max(surest))
    if again:  # what a pronoun stands for has just been said
        part = text[parts[best].start : parts[best].end]
        whole = not (parts[best].leans or request.question) and answer == [best]
        said_alone = claims(part) and (whole or _OF_WHAT_WAS_TOLD.match(part))
        return replace(candidate, text=part) if said_alone else candidate
    part, alone = (_part(text, parts, each) for each in (answer, [best]))
    if part != alone:  # it answers alone if nothing of the rest does nearly as well
        rest = [text[parts[each].start : parts[each].end] for each in answer if each != best]
        texts = (ended(each) for each in (part, alone, *rest))
        by_parts = [_as_read(candidate, each, request) for each in texts]
        whole, single, *others = network.scores(question, by_parts)
        apart = single - max(others)
        part = alone if apart >= APART and single >= whole - AS_WELL * apart else part
    return replace(candidate, text=part) if claims(part) else candidate


def _was_told(candidate: SentenceCandidate, request: ReplyRequest) -> bool:
    """Whether the asker has heard a sentence in one of the NPC's last replies."""
    own = [each.content for each in request.conversation if each.role == "assistant"]
    return any(candidate.text in each for each in own[-LATELY:])


def _as_read(candidate: SentenceCandidate, text: str, request: ReplyRequest) -> str:
    """Return a part of a sentence as the reader reads it."""
    memory = candidate.memory
    if memory is None or of_builder(memory):
        return reader.sentence_read(request.npc_name, None, text)
    return _read(memory, text, request)


def _part(text: str, parts: Sequence[Clause], places: Sequence[int]) -> str:
    """Return the stretch of a text from the first of some parts to the last, with what the first
    leans on."""
    first = max(place for place in range(places[0] + 1) if not parts[place].leans)
    return text[parts[first].start : parts[places[-1]].end]


def is_for_the_actor(sentence: str) -> bool:
    """Whether a sentence is for whoever plays the NPC alone: "never reveal that …"."""
    return bool(_FOR_THE_ACTOR.search(sentence))


def of_builder(memory: MemoryRecord) -> bool:
    """Whether a memory is knowledge that a builder gave the NPC, which tells it as its own."""
    return memory.record == "taught" or memory.provider == BUILDER or BUILDER in memory.tags


# --- sentences ------------------------------------------------------------------------------------


def sentences(request: ReplyRequest) -> list[SentenceCandidate]:
    """Return the best recalled sentences, then those of the persona sheet nearest to the question.

    What only asks is none, nor is what an experience is about: its lines are there. What tells an
    actor how to play the NPC is left out.
    """
    recalled = [*islice(_recalled(request), READ)]
    known = {each.text.lower() for each in recalled}
    once = {each.text.lower(): each for each in _sheet(request)}  # the persona may say it again
    sheet = [each for text, each in once.items() if text not in known]
    least = min((each.recalled for each in recalled), default=0.0)
    return [*recalled, *(replace(each, recalled=least) for each in _nearest(request, sheet))]


def _sheet(request: ReplyRequest) -> Iterator[SentenceCandidate]:
    """Yield what the NPC can say of itself, and what builders gave it."""
    for text in (request.persona, request.description):
        said = [each for each in sentences_of(oneline(text)) if not is_for_the_actor(each)]
        yield from _in_own_words(said, None, request, _pronoun(request), persona=True)
    called = _written(request)
    for goal in sentences_of(oneline(request.goals)):
        first = goal.split()[0].lower()
        if first in (HE, SHE, THEY, *called):  # "She wants to see the sea."
            pronoun = _pronoun(request) if first in called else first
            yield from _in_own_words([goal], None, request, pronoun, persona=True)
        elif wants := _GOAL.sub("", goal):
            wish = own_wish(wants, _pronoun(request, request.goals))
            yield _own(f"I want to {wish}", None, request)
    for memory in request.given:
        yield from of_what_was_given(memory, request)


def of_what_was_given(memory: MemoryRecord, request: ReplyRequest) -> Iterator[SentenceCandidate]:
    """Yield the sentences of what a builder gave, a note as one."""
    pronoun, taught = _pronoun(request, memory.said), memory.record == "taught"
    note = sentences_of(oneline(memory.said))
    if not (taught or own_sentences(note, _written(request), pronoun)):
        return  # it tells nobody of it
    for line in lines_of(memory.said):
        said = sentences_of(line)
        if taught or len(line) > LONG:
            yield from _in_own_words(said, memory, request, pronoun)
        elif whole := own_sentences(said, _written(request), pronoun):
            yield _own(" ".join(each.text for each in whole), memory, request)


def _in_own_words(
    said: Iterable[str],
    memory: MemoryRecord | None,
    request: ReplyRequest,
    pronoun: str,
    *,
    persona: bool = False,
) -> Iterator[SentenceCandidate]:
    before = ""
    for each in own_sentences(said, _written(request), pronoun, persona=persona):
        yield _own(each.text, memory, request, before if each.leans else "")
        before = f"{before} {each.text}" if each.leans and before else each.text


def _own(
    text: str, memory: MemoryRecord | None, request: ReplyRequest, before: str = ""
) -> SentenceCandidate:
    whole = f"{before} {text}".strip()
    read = reader.sentence_read(request.npc_name, None, whole)
    return SentenceCandidate(text, memory, read, before=before if len(whole) <= LONG else "")


def _written(request: ReplyRequest) -> tuple[str, ...]:
    return forms((request.npc_name, *request.npc_names))


def _pronoun(request: ReplyRequest, given: str = "") -> str:
    return pronoun_of((request.persona, request.description), given)


def _nearest(request: ReplyRequest, found: list[SentenceCandidate]) -> Iterable[SentenceCandidate]:
    """Return the `SHEET_READ` sentences of the sheet that are nearest to the question."""
    if len(found) <= SHEET_READ:
        return found
    try:
        model = embedder.shared()
        asked = model.encode([words_to_it(request)])[0]
        near = model.encode([f"{each.before} {each.text}".strip() for each in found]) @ asked
    except ModelAway:
        return found[:SHEET_READ]
    return [found[place] for place in (-near).argsort()[:SHEET_READ]]


def _recalled(request: ReplyRequest) -> Iterator[SentenceCandidate]:
    may = [each for each in request.recalled if _may_answer(each.memory, request)]
    seen: set[str] = set()
    best: float | None = None
    for each in sorted(may, key=lambda each: -each.score.total):
        for one in _of_memory(each.memory, request):
            low = one.text.lower()
            if low not in seen and not asks(one.text) and not is_mere_courtesy(one.text):
                seen.add(low)
                best = each.score.total if best is None else best
                yield replace(one, recalled=each.score.total - best)


def _of_memory(memory: MemoryRecord, request: ReplyRequest) -> Iterator[SentenceCandidate]:
    if of_builder(memory):
        yield from of_what_was_given(memory, request)
        return
    said = without_address(memory.said, _written(request)) if memory.is_talk else memory.said
    for text in cut(statements(said) if memory.question else said):
        yield SentenceCandidate(text, memory, _read(memory, text, request))


def _may_answer(memory: MemoryRecord, request: ReplyRequest) -> bool:
    """Whether a memory has words of its own, of a coming or going only where that is asked for."""
    if memory.record == "experience":
        return False
    if memory.speaker == request.npc_name and quotes(memory.content):
        return False  # it told what another had said
    if not MOVE_KINDS.intersection(memory.tags):
        return True
    whose = names(memory.speaker) or {*words_of(memory.content)[:1]}
    asked = {*words_of(request.utterance)}
    return bool(_OF_COMING.search(request.utterance)) and not whose.isdisjoint(asked)


def cut(text: str) -> list[str]:
    """Cut a memory into sentences, each with those on which it leans; a short line stays whole."""
    cut: list[str] = []
    for line in lines_of(text):
        before = ""
        for each in [line] if len(line) <= LONG else sentences_of(line):
            before = f"{before} {each}" if before and leans_on_a_name(each) else each
            cut.append(before)
    return [each for each in cut if any(map(str.isalnum, each))]


def lines_of(text: str) -> list[str]:
    """Return the lines of a Markdown text without its marks; a heading is none."""
    lines = (_BULLET.sub("", oneline(line)).strip() for line in _HEADING.sub("", text).splitlines())
    return [_MARKED.sub(r"\2", line) for line in lines if line]


def _read(memory: MemoryRecord, text: str, request: ReplyRequest) -> str:
    days = None
    if memory.record == "entry" and memory.created_at and request.now:
        days = (date_of(request.now) - date_of(memory.created_at)).days
    return reader.sentence_read(memory.speaker, days, _TOLD_AS_ASKED.sub("", text))


def repeats(text: str, said: str) -> bool:
    """Return whether most words of a text were said."""
    words = content_words(text)
    return len(words & content_words(said)) >= REPEATED * len(words)


def words_to_it(request: ReplyRequest) -> str:
    return without_address(request.utterance, forms((request.npc_name, *request.npc_names)))
