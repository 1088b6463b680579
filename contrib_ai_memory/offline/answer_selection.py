"""Answer selection: which recalled memories answer a question, and how surely.

The offline provider tells memories in place of words of its own, so everything hangs on the choice.
Each memory gets a score from clues of the question and of the memory (answer-sentence selection,
Yu et al. 2014): similarity, shared words, who speaks and who is spoken of, the type of the answer.
A linear score, fitted listwise (Cao et al. 2007), ranks them: the softmax over the memories of a
question, and over 0 for "nothing", is the probability that each answers it. Rules add to it where a
trade or a taste is asked for, among others. The confidence in the result is logistic; rules limit
it where no answer of the kind asked for is told.

`python -m benchmarks.answers` measures on recorded evenings that are left out of each fit, and with
`--fit` writes the weights; docs/measured.md has the figures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import conf
from ..embedding import embedder
from ..english import answer_types, corrections, sentence_classifier, supersession
from ..english.addressing import forms, mentioned, names, without_address
from ..english.answer_types import AnswerTypes
from ..english.contradiction import changes, of_the_past, tells_change
from ..english.linear import Linear
from ..english.questions import asks
from ..english.stated_preferences import states_preference
from ..english.tokens import content_words, stem, words_of, zipf
from ..local_time import local
from ..records import MemoryRecord, Recalled, ReplyRequest

WEIGHTS = Path(__file__).with_name("answer_weights.json")
RAREST = 8.0  # Zipf frequency of the commonest word; rarer words weigh more by the difference
FAR_BELOW = -8.0  # score in place of that of a second memory, where there is none
WHOLE = 0.7  # share of a question's words from which the best answer needs little beside it
TOLD = 3  # memories that one reply tells, at most
NEARLY_AS_GOOD = 3.0  # less than the best score, for a second and a third
PORTRAIT = 5  # of a person as a whole
REPLACES = 0.35  # probability that a later memory ends one, from which it is told in its place
REPLACES_WITHIN = 4.0  # how much less the score of the later one may be
ON_ONE_MATTER = 0.3  # cosine of two memories from which a word of change ends the older
ANSWER_WORDS = frozenset(
    map(
        stem,
        "name called many much old again whats hows whos like love enjoy prefer"
        " live work job trade stay colour color".split(),
    )
)
COMPARED = 10  # the best answers, which may end one another
SURE_FROM = 0.76  # confidence below which an answer begins with a doubt
UNSURE = 0.4  # confidence below which what shares no word with the subject may not be told
UNSURE_WHETHER = 0.6  # the same, where a question asks whether something is so
NEAR = 0.45  # cosine from which it is told all the same
OF_WHAT_IS_SOUGHT = 2.0  # more for what tells somebody's trade or taste, if that is asked
OF_ONE_TASTE = 0.35  # cosine from which a taste is the one that is asked for: tea, "to drink"
LACKING = 0.5  # confidence at most, where no answer of the type asked for is told
MOST_WORDS = 0.8  # share of a question's words by which what holds them bears on it,
ALIKE = 0.3  # with this cosine

# the clues of `recall.rank.CLUES` that depend on the question
LANES = ("line", "window", "near", "wide", "speaker", "date", "when")


_KIN = {  # relatives by what players call them
    name: kin
    for kin, given in {
        "mother": "mother mothers mum mums mom moms mama mamas ma mam",
        "father": "father fathers dad dads papa papas da daddy pa",
        "brother": "brother brothers bro",
        "sister": "sister sisters sis",
        "wife": "wife missus",
        "husband": "husband",
        "son": "son sons boy lad",
        "daughter": "daughter daughters girl",
    }.items()
    for name in given.split()
}
_SAID_OF = re.compile(
    r"\b(?:say|said|says|tell|told|mention|think|thinks)\b.*\b(?:about|of)\b", re.I
)
_WHETHER = re.compile(
    r"^\W*(?:(?:so|and|but|well|ok|btw|hey)[, ]+)*"
    r"(?:is|are|was|were|does|do|did|has|have|had|can|will|could|would)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """A memory that may answer, with its score; larger is better."""

    memory: MemoryRecord
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class AnswerWeights:
    """The fitted scores: of a memory, and of the whole answer."""

    score: Linear
    confidence: Linear

    @classmethod
    @lru_cache(maxsize=1)
    def shipped(cls) -> AnswerWeights:
        stored = json.loads(WEIGHTS.read_text("utf-8"))
        return cls(*(Linear.read(stored[name]) for name in ("score", "confidence")))


def select(request: ReplyRequest, weights: AnswerWeights | None = None) -> list[AnswerCandidate]:
    """Rank the recalled memories by how well they answer the question, best first.

    Runs on a worker thread: it embeds the question.
    """
    if not request.recalled:
        return []
    scores = (weights or AnswerWeights.shipped()).score(features(request))
    question = _Question.of(request)
    sought = [
        _tells_what_is_sought(question, each.memory)
        or (question.types.portrait and _tells_own_trade(question, each.memory))
        or (bool(_SAID_OF.search(question.text)) and _tells_of_another(question, each.memory))
        for each in request.recalled
    ]
    return ranked(request, scores + OF_WHAT_IS_SOUGHT * np.array(sought, dtype=float))


def _tells_what_is_sought(question: _Question, memory: MemoryRecord) -> bool:
    """Whether a trade or a taste is asked for, and its owner tells it in a memory."""
    if question.types.trade:
        return _tells_own_trade(question, memory)
    own = question.types.taste and memory.speaker in question.whose
    return own and states_preference(memory.said)


def _tells_own_trade(question: _Question, memory: MemoryRecord) -> bool:
    """Whether somebody who is asked about says what they live by."""
    return memory.speaker in question.whose and answer_types.holds(memory.said)["trade"]


def _tells_of_another(question: _Question, memory: MemoryRecord) -> bool:
    """Whether one who is named in a question says something of another who is."""
    others = [names(each) for each in question.named if each != memory.speaker]
    said = set(words_of(memory.said))
    return memory.speaker in question.named and any(each & said for each in others)


def ranked(request: ReplyRequest, scores: np.ndarray) -> list[AnswerCandidate]:
    """Return the recalled memories with their scores, best first."""
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    return [
        AnswerCandidate(request.recalled[place].memory, float(scores[place])) for place in order
    ]


def told_of(
    request: ReplyRequest, answers: Sequence[AnswerCandidate], over: Linear | None = None
) -> list[AnswerCandidate]:
    """Choose what a reply tells: the best answers that nothing newer ends, each piece once.

    Beside a best one that holds most words of the question, what holds none of its subject is not
    told.

    Args:
        over: The score of supersession; the shipped one by default.
    """
    types = AnswerTypes.of(request.utterance.lower())
    most = PORTRAIT if types.portrait else TOLD
    least = answers[0].score - NEARLY_AS_GOOD if answers and not types.portrait else -np.inf
    past: set[str] = set()
    for each in _replacements(request, answers, over):
        past.add(each.past)
        if each.likely:
            answers = _in_its_place(answers, each)
    question = _Question.of(request)
    whole = False  # whether the best holds most words of the question
    chosen: list[AnswerCandidate] = []
    for answer in answers:
        evidence = set(answer.memory.journal_ids)
        known = any(evidence & set(other.memory.journal_ids) for other in chosen)
        if chosen and (len(chosen) == most or answer.score < least):
            break
        said = _stems(answer.memory.said)
        idle = whole and not (question.subject & said) and not types.portrait
        if chosen and _tells_what_is_sought(question, chosen[0].memory):
            idle = not _tells_what_is_sought(question, answer.memory)
        # a secret of the asker's is told if it is the answer, and not beside one
        secret = chosen and answer.memory.private > chosen[0].memory.private
        idle = idle or (bool(secret) and not question.whispered)
        if answer.memory.id not in past and not known and not idle:
            if not chosen:
                whole = question.share(said) >= WHOLE or _holds_the_subject(request, answer.memory)
            chosen.append(answer)
    return chosen


def confidence(
    request: ReplyRequest, told: Sequence[AnswerCandidate], weights: AnswerWeights | None = None
) -> float:
    """Return the probability, 0-1, that what is told bears on what was asked."""
    if not told:
        return 0.0
    weights = weights or AnswerWeights.shipped()
    most = LACKING if _lacks_the_answer(request, told) else 1.0
    best = certainty(request, told[:1])
    if best["shared"] >= MOST_WORDS and best["cosine"] >= ALIKE:
        return most
    question = _Question.of(request)
    of_it = question.types.trade or not question.subject or best["cosine"] >= OF_ONE_TASTE
    if of_it and _tells_what_is_sought(question, told[0].memory):
        return most
    if best["types_held"] and _holds_the_subject(request, told[0].memory):
        return most
    found = {name: np.array(value) for name, value in certainty(request, told).items()}
    return min(most, float(1 / (1 + np.exp(-weights.confidence(found)))))


def is_beside_the_point(
    request: ReplyRequest, told: Sequence[AnswerCandidate], sure: float
) -> bool:
    """Whether what would be told has nothing to do with what was asked.

    It is unsure, has no word of the question's subject, is far from it in meaning, and the question
    names nobody whose words it could be, or asks whether something is so of them.
    """
    question = _Question.of(request)
    whether = bool(_WHETHER.match(question.text))
    if question.types.name and sure < SURE_FROM and _tells_of_no_such_kin(question, told):
        return True
    said = set().union(*(_stems(each.memory.said) for each in told))
    if question.types.thing:
        return not question.subject & said and certainty(request, told)["cosine"] < ALIKE
    if (question.named and not whether) or question.types.portrait:
        return False
    if not (told and question.subject) or sure >= (UNSURE_WHETHER if whether else UNSURE):
        return False
    return not question.subject & said and certainty(request, told)["cosine"] < NEAR


def _tells_of_no_such_kin(question: _Question, told: Sequence[AnswerCandidate]) -> bool:
    """Whether the name of a relative is asked for, and nothing that would be told has such one."""
    kin = {_KIN[word] for word in words_of(question.text) if word in _KIN}
    said = {word for each in told for word in words_of(each.memory.said)}
    return bool(kin) and not kin & {_KIN[word] for word in said & _KIN.keys()}


def _lacks_the_answer(request: ReplyRequest, told: Sequence[AnswerCandidate]) -> bool:
    """Whether a year is asked for and none is told, or somebody, and the best answer names nobody.

    Who speaks is somebody, too, unless the question itself names them. Another taste than the one
    that is asked for is no answer either.
    """
    question = _Question.of(request)
    if question.types.taste and question.subject:
        shared = question.subject & _stems(told[0].memory.said)
        return not shared and certainty(request, told[:1])["cosine"] < OF_ONE_TASTE
    if question.types.year:
        return not any(answer_types.holds(each.memory.said)["year"] for each in told)
    if not question.types.person or question.types.portrait:
        return False
    best, asked = told[0].memory, set(words_of(question.text))
    people = {each.memory.speaker for each in request.recalled} - {""}
    known = {best.speaker, *mentioned(best.said, people)}
    named = answer_types.names_in(best.said).union(*map(names, known))
    return not named - asked


def _holds_the_subject(request: ReplyRequest, memory: MemoryRecord) -> bool:
    """Whether a memory of the asker's holds all words of a question but those for its answer.

    "What is my cat called?" is surely answered by "my cat is called Pickle", whose words it has all
    but "called".
    """
    question = _Question.of(request)
    own = question.types.of_oneself and memory.speaker == question.asker
    return own and bool(question.subject) and question.subject <= _stems(memory.said)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """An answer that a later one takes the place of; ids, and whether a learned score says so."""

    past: str
    by: str
    likely: bool


def _in_its_place(
    answers: Sequence[AnswerCandidate], replaced: _Replacement
) -> list[AnswerCandidate]:
    """Return the answers with the newer one where the older one was, if it was below."""
    scores = {each.memory.id: each.score for each in answers}
    if scores[replaced.by] >= scores[replaced.past]:
        return list(answers)
    raised = [
        replace(each, score=scores[replaced.past]) if each.memory.id == replaced.by else each
        for each in answers
    ]
    return sorted(raised, key=lambda each: -each.score)


def _replacements(
    request: ReplyRequest, answers: Sequence[AnswerCandidate], over: Linear | None
) -> list[_Replacement]:
    """Return which of the best answers a later one replaces, which answers nearly as well.

    What bears less on the question may end something else that the same words say. A question about
    the past is answered by what held then, unless that was taken back.
    """
    compared = sorted(answers[:COMPARED], key=lambda each: _told_at(each.memory))
    if not compared:
        return []
    question = _Question.of(request)
    past_asked = of_the_past(question.text)
    people = {each.memory.speaker for each in answers} - {""}
    vectors = embedder.shared().encode([each.memory.said for each in compared], known=True)
    model = embedder.shared()
    statements = supersession.classified(
        [_statement(each.memory, people, request.npc_name) for each in compared],
        [_line_kind(each.memory) for each in compared],
        vectors,
        sentence_classifier.load(model.name, model.dimensions),
    )
    looks = [supersession.Look.of(each) for each in statements]
    likely = supersession.ended(statements, vectors, over)
    cosine = vectors @ vectors.T
    found = []
    for new, (later, by) in enumerate(zip(looks, compared, strict=True)):
        if later.statement.own or (past_asked and not _takes_back(later)):
            continue
        for old, (known, past) in enumerate(zip(looks[:new], compared, strict=False)):
            if by.score < past.score - REPLACES_WITHIN or _same_evidence(past, by):
                continue
            since = later.statement.time[:10] > known.statement.time[:10]
            learned = since and not known.statement.own and likely[old, new] > REPLACES
            if learned or _changes(later, known, float(cosine[old, new]), question):
                found.append(_Replacement(past.memory.id, by.memory.id, bool(learned)))
    return found


def _same_evidence(a: AnswerCandidate, b: AnswerCandidate) -> bool:
    return bool(set(a.memory.journal_ids) & set(b.memory.journal_ids))


def _changes(
    new: supersession.Look, known: supersession.Look, cosine: float, question: _Question
) -> bool:
    """Whether a later answer surely replaces one, by rules.

    It contradicts it; it corrects what the question is about; or it says on a later day that a
    thing which the question names has changed.
    """
    later, sooner = new.statement, known.statement
    if corrections.completed(later.text, [sooner.text]) and later.speaker == sooner.speaker:
        asked_of = [question.subject & _stems(each.text) for each in (sooner, later)]
        return asked_of[0] <= asked_of[1]
    if changes(later.text, sooner.text, near=cosine >= conf.CHANGE_COSINE):
        return True
    if cosine < ON_ONE_MATTER or later.time[:10] <= sooner.time[:10]:
        return False
    return tells_change(later.text) and bool(new.words & known.words & set(question.words))


def _takes_back(line: supersession.Look) -> bool:
    kinds = line.statement.kinds or {}
    corrects = kinds.get("correction", 0.0) >= supersession.CORRECTION
    return corrects or line.flags["corrects"] or line.flags["admits"]


def _line_kind(memory: MemoryRecord) -> str:
    """Return the kind of line that a memory is of, as the sentence classifier knows them."""
    if memory.is_deed:
        return "give" if " gives " in memory.content else "pose"
    return "whisper" if memory.private else "say"


def _statement(
    memory: MemoryRecord, people: Collection[str], npc_name: str
) -> supersession.DatedStatement:
    text = memory.said
    deed = memory.is_deed
    return supersession.DatedStatement(
        text,
        memory.speaker,
        said=not deed,
        mentions=mentioned(text, people) - ({memory.speaker} if deed else set()),
        time=local(memory.created_at),
        own=memory.speaker == npc_name,
    )


def _told_at(memory: MemoryRecord) -> int:
    return max(memory.journal_ids, default=0)


# --- features -------------------------------------------------------------------------------------


def features(request: ReplyRequest) -> dict[str, np.ndarray]:
    """Return the features of each recalled memory, arrays of shape (memories,)."""
    memories = [each.memory for each in request.recalled]
    question = _Question.of(request)
    texts = [memory.said for memory in memories]
    vectors = embedder.shared().encode([question.text, *texts], known=True)
    cosine = vectors[1:] @ vectors[0]
    bags = [_stems(text) for text in texts]
    lanes = _lanes(request.recalled)
    found: dict[str, Any] = {name: lanes[:, place] for place, name in enumerate(LANES)}
    found["similarity"] = [each.score.similarity for each in request.recalled]
    found["cosine"] = cosine
    found["cosine_of_best"] = cosine / max(cosine.max(), 0.2)
    shared = np.array([question.share(bag) for bag in bags])
    found["shared"] = shared
    found["shared_of_best"] = shared / max(shared.max(), 0.1)
    found["shared_x_cosine"] = shared * cosine
    found["near_x_cosine"] = found["near"] * cosine
    rows = [
        _clues(question, memory, text, bag)
        for memory, text, bag in zip(memories, texts, bags, strict=True)
    ]
    for name in rows[0]:
        found[name] = [row[name] for row in rows]
    told = np.array([max(memory.journal_ids, default=0) for memory in memories], dtype=float)
    found["recent"] = told / max(told.max(), 1)
    same = vectors[1:] @ vectors[1:].T
    later, sooner = told[None, :] > told[:, None], told[None, :] < told[:, None]
    found["told_later"] = (same * later).max(axis=1)
    found["told_before"] = (same * sooner).max(axis=1)
    found = {name: np.asarray(value, dtype=float) for name, value in found.items()}
    for name, (first, second) in _PRODUCTS.items():
        found[name] = found[first] * found[second]
    for name, (first, kind) in _ASKED.items():
        found[name] = found[first] * getattr(question.types, kind)
    return found


def certainty(request: ReplyRequest, told: Sequence[AnswerCandidate]) -> dict[str, float]:
    """Return the features of the confidence in what is told, best first."""
    question = _Question.of(request)
    texts = [each.memory.said for each in told]
    bags = [_stems(text) for text in texts]
    vectors = embedder.shared().encode([question.text, *texts], known=True)
    holding = [answer_types.holds(text) for text in texts]
    types = question.types
    wanted = {"number": types.number, "place": types.place, "name": types.name}
    return {
        "best": told[0].score,
        "second": told[1].score if len(told) > 1 else FAR_BELOW,
        "spread": told[0].score - told[-1].score,
        "cosine": float((vectors[1:] @ vectors[0]).max()),
        "shared": question.share(set().union(*bags)),
        "rarest_shared": question.rarest_share(set().union(*bags)),
        "types_held": float(
            all(any(each[kind] for each in holding) for kind, asked in wanted.items() if asked)
        ),
        "types_asked": float(any(wanted.values())),
        "portrait": float(types.portrait),
        "of_oneself": float(types.of_oneself),
        "named": float(bool(question.named)),
        "length": min(len(question.words), 12) / 12,
    }


@dataclass(frozen=True, slots=True)
class _Question:
    """A question taken apart: its types, its words with their rarity, the names in it."""

    text: str
    types: AnswerTypes
    words: Mapping[str, float]
    named: Collection[str]
    asker: str
    npc: str
    whispered: bool

    @classmethod
    def of(cls, request: ReplyRequest) -> _Question:
        own = forms((request.npc_name, *request.npc_names))
        asked = without_address(request.utterance, own)
        text = asked.lower()
        known = {each.memory.speaker for each in request.recalled} | {request.speaker}
        known = {name for name in known if name and name != request.npc_name}
        named = {name for name in known if names(name) & set(words_of(text))}
        passed = set().union(own, *map(names, {*named, request.npc_name, request.speaker}))
        words = {
            stem(word): max(0.5, RAREST - zipf(word))
            for word in words_of(text)
            if word not in passed and content_words(word)
        }
        return cls(
            text=asked,
            types=AnswerTypes.of(text),
            words=words,
            named=named,
            asker=request.speaker,
            npc=request.npc_name,
            whispered=request.kind == "whisper",
        )

    @property
    def subject(self) -> set[str]:
        """The words that say what is asked about: "cat" in "what is my cat called?"."""
        return set(self.words) - ANSWER_WORDS

    @property
    def whose(self) -> Collection[str]:
        """The people whose trade or taste it may ask for: those it names, or the asker."""
        return self.named or ({self.asker} if self.types.of_oneself else ())

    def share(self, bag: Collection[str]) -> float:
        """Return the share of the question's words in a text, by their rarity."""
        total = sum(self.words.values())
        return sum(self.words[word] for word in self.words if word in bag) / total if total else 0.0

    def rarest_share(self, bag: Collection[str]) -> float:
        """Return whether the rarest word of the question is in a text."""
        return float(bool(self.words) and max(self.words, key=self.words.__getitem__) in bag)


def _clues(
    question: _Question, memory: MemoryRecord, text: str, bag: Collection[str]
) -> dict[str, float]:
    """Return the clues of one memory, mostly 0 or 1."""
    types, holding = question.types, answer_types.holds(text)
    said = set(words_of(text))
    own = memory.speaker == question.npc
    asker = memory.speaker == question.asker
    talk = memory.is_talk
    deed = memory.record == "entry" and not talk
    mentions = any(names(name) & said for name in question.named)
    gives = deed and bool(re.match(r"\S+(?: \S+)? gives ", memory.content))
    return {
        "speaks": memory.speaker in question.named,
        "mentions": mentions,
        "askers_own": asker and types.of_oneself,
        "of_asker": types.of_oneself and bool(names(question.asker) & said),
        "own": own,
        "own_and_asked": own and types.of_you,
        "asks": memory.question or asks(text),
        "length": min(len(text), 150) / 150,
        "words": float(np.log1p(len(bag))),
        "empty": not bag,
        "time_asked": types.time and holding["time"],
        "number_asked": types.number and holding["number"],
        "place_asked": types.place and holding["place"],
        "reason_asked": types.reason and holding["reason"],
        "person_asked": types.person and holding["name"],
        "name_asked": types.name and holding["name"],
        "deed": deed,
        "gift": gives,
        "gift_asked": gives and types.handover,
        "change": holding["change"],
        "private": memory.private,
        "private_and_whispered": memory.private and question.whispered,
        "fact": memory.record == "fact",
        "preference": memory.memory_type == "procedural",
        "insight": memory.record in ("insight", "summary"),
        "importance": memory.importance,
        "weight": memory.memory_weight,
    }


# products of two features
_PRODUCTS = {
    "speaks_x_cosine": ("speaks", "cosine"),
    "mentions_x_cosine": ("mentions", "cosine"),
    "importance_x_cosine": ("importance", "cosine"),
    "importance_x_shared": ("importance", "shared"),
    "own_x_cosine": ("own", "cosine"),
    "recent_x_told_before": ("recent", "told_before"),
    "speaks_x_importance": ("speaks", "importance"),
    "mentions_x_importance": ("mentions", "importance"),
}
# features that count where something is asked for
_ASKED = {
    "portrait_x_speaks": ("speaks", "portrait"),
    "portrait_x_mentions": ("mentions", "portrait"),
    "portrait_x_importance": ("importance", "portrait"),
    "portrait_x_their_importance": ("speaks_x_importance", "portrait"),
    "newest_x_recent": ("recent", "newest"),
    "newest_x_change": ("change", "newest"),
    "newest_x_told_later": ("told_later", "newest"),
}


def _stems(text: str) -> set[str]:
    return content_words(text) | set(re.findall(r"\d+", text))


def _lanes(recalled: Sequence[Recalled]) -> np.ndarray:
    """Return the clues of the search, shape (memories, len(LANES)); NaN without them."""
    table = np.full((len(recalled), len(LANES)), np.nan)
    for place, each in enumerate(recalled):
        clues = each.score.clues[: len(LANES)]
        table[place, : len(clues)] = clues
    return table
