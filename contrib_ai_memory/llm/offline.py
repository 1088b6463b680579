"""The offline provider: no language model, simple and deterministic.

Sentences are weighed by rules, told in the third person where the rules reach and quoted where they
do not; replies are built from recalled memories alone.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np

from .. import offload
from ..embedding import embedder
from ..records import (
    TALK_KINDS,
    Entry,
    ExperienceDraft,
    FactDraft,
    MemoryRecord,
    Reply,
    ReplyRequest,
    Snippet,
)
from ..text import person
from ..text.clean import oneline
from ..text.questions import asked, asks, statements
from ..text.signals import RARE_TERMS, has_rare_terms, salience, states_preference
from ..text.testimony import claimed
from .offline_night import OfflineNight
from .persona import about_itself
from .telling import claim, of_oneself, stands_alone
from .words import WORD, content_words, lowered, sentences_of

ANSWERS_FROM = 0.33  # cosine of question and memory, names left out, that makes it an answer
ANSWERS_WITHWORDS = 0.6  # or this share of the question's own words found in the memory
TOLD_AT_ONCE = 2  # memories that one reply may tell
NEARLY_AS_GOOD = 0.85  # a second memory is told if it is this near to the first

_GREETS = re.compile(
    r"^\W*(?:hello|hi|hey|greetings|good (?:morning|day|evening|afternoon)|well met|hail)\b",
    re.IGNORECASE,
)
# all of a line, the name of the NPC left out: "evening, Mara"
_GREETING_ALONE = re.compile(
    r"\W*(?:h[aeu]llo|hi+|hey|(?:good )?(?:morning|evening|afternoon|day))\W*", re.IGNORECASE
)
_LEAVES = re.compile(r"\b(?:(?:good ?)?bye|farewell|good night|see you)\b", re.IGNORECASE)
_THANKS = re.compile(r"\b(?:thanks|thank you|cheers)\b", re.IGNORECASE)
_OF_ONESELF = re.compile(r"\b(?:I|[Mm]y|me|mine|[Ww]e|[Oo]ur)\b")
_END = re.compile(r"[.!?…][\"”'’)\]]*$")
_TO_THE_NPC = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)


class OfflineProvider(OfflineNight):
    """Every operation in an honest, deterministic version."""

    name = "offline"
    lane = offload.MEMORY
    timeout = 60.0

    # --- talk -------------------------------------------------------------------------------

    def reply(self, request: ReplyRequest) -> Reply:
        if request.kind == "give":
            return Reply(f"Thank you, {request.speaker}.", told=())
        said = without_address(request.utterance, request.npc_name)
        if asked(said):
            return self._answer(request)
        return Reply(self._acknowledge(said, request), told=())

    def _acknowledge(self, said: str, request: ReplyRequest) -> str:
        rest = re.sub(rf"\b{re.escape(request.npc_name)}\b", "", request.utterance, flags=re.I)
        if _GREETS.search(said) or _GREETING_ALONE.fullmatch(rest):
            again = " Good to see you again." if request.met_before else ""
            return f"Well met, {request.speaker}.{again}"
        if _THANKS.search(said):
            return f"You are welcome, {request.speaker}."
        if _LEAVES.search(said):
            return f"Farewell, {request.speaker}."
        return _vary(
            said,
            f"I will remember that, {request.speaker}.",
            f"I will keep that in mind, {request.speaker}.",
            "Is that so? I will not forget it.",
        )

    def _answer(self, request: ReplyRequest) -> Reply:
        told = [
            recalled.memory
            for recalled in request.recalled
            if recalled.memory.record != "experience" and not _asked(recalled.memory)
        ]
        relevance = _relevance(request, told)
        ranked = sorted(zip(relevance, told, strict=True), key=lambda pair: -pair[0])
        best = [memory for value, memory in ranked if value >= 1.0][:TOLD_AT_ONCE]
        if not best:
            return Reply(f"I know nothing about that, {request.speaker}.", told=())
        near = [m for value, m in ranked if m in best and value >= NEARLY_AS_GOOD * ranked[0][0]]
        near = _told_once(near)
        said = " ".join(dict.fromkeys(_tell(memory, request) for memory in near))
        return Reply(said, told=tuple(memory.id for memory in near))

    # --- the background loop [B] --------------------------------------------------------------

    def extract_experience(self, snippet: Snippet) -> ExperienceDraft | None:
        told = [entry for entry in snippet.new if entry.learnable]
        sentences = [
            (_weight(sentence, entry, snippet.known_names), entry, sentence)
            for entry in told
            for sentence in sentences_of(without_address(entry.content, snippet.npc_name))
            if len(content_words(sentence)) >= 2 and not asks(sentence)
        ]
        if not sentences:
            return None
        best = sorted(sentences, key=lambda found: -found[0])[:2]
        best.sort(key=lambda found: found[1].id)
        weight, entry, sentence = max(best, key=lambda found: found[0])
        return ExperienceDraft(
            essence=" ".join(reported(text, source) for _, source, text in best),
            memory_weight=round(weight, 3),
            the_lesson=_lesson(sentence, entry),
            journal_ids=tuple(dict.fromkeys(source.id for _, source, _ in best)),
        )

    # --- the night [A] ------------------------------------------------------------------------

    def score_importance(self, entries: Sequence[Entry], goals: str) -> list[int]:
        wanted = content_words(goals)
        return [_importance(entry, wanted) for entry in entries]

    def extract_facts(self, entries: Sequence[Entry], npc_name: str) -> list[FactDraft]:
        return [
            FactDraft(
                text=reported(said, entry),
                journal_ids=(entry.id,),
                about=entry.source_entity,
                memory_type=("procedural" if states_preference(said) else "semantic"),
                quote=said if entry.kind in TALK_KINDS else "",
            )
            for entry in entries
            if entry.learnable
            for said in map(claim, sentences_of(without_address(entry.content, npc_name)))
            if stands_alone(said) and not about_itself(reported(said, entry), npc_name)
        ]


_QUESTION_WORD = r"(?:who(?:m|se)?|what|which|where|when|why|how)(?:['’]?(?:s|re|d|ll))?\b"


def without_address(text: str, name: str) -> str:
    """Talk without the name it is addressed to: "Mara, wolves came" is about wolves.

    >>> without_address("Mara, wolves took my sheep.", "Mara")
    'Wolves took my sheep.'
    >>> without_address("mara what is the bridge", "Mara")
    'What is the bridge'
    """
    name = re.escape(name)
    text = re.sub(
        rf"^\W*(?:(?:hey|hello|hi|oh|say|listen|well)\W+)?@?{name}\b"
        rf"(?:\s*[,:;!.-]+\s*|\s+(?={_QUESTION_WORD}))",
        "",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(rf"\s*,\s*@?{name}\b(?=\W*$)", "", text, flags=re.IGNORECASE)
    return person.capital(text)


def reported(sentence: str, entry: Entry) -> str:
    """A sentence as a claim of whoever said or posed it: in the third person, or quoted.

    Who speaks to somebody is quoted: "I am proud of you" is not told in the third person.
    """
    sentence = _ended(sentence)
    if entry.kind == "pose":
        return claimed(sentence, entry.seen_as)
    if entry.kind not in TALK_KINDS or not entry.seen_as:
        return sentence
    if of_oneself(sentence) and not _TO_THE_NPC.search(sentence):
        return person.third_person(sentence, entry.seen_as)
    within = sentence.replace('"', "'").replace("“", "'").replace("”", "'")
    return f'{entry.seen_as} says: "{within}"'


def _importance(entry: Entry, wanted: set[str]) -> int:
    # The importance given in passing holds `content_importance`; to count it twice would lift all
    # talk alike. What it leaves out, for the time it takes, is made good here.
    score = entry.importance + 4 * RARE_TERMS * has_rare_terms(entry.content)
    score += 2 * bool(wanted & content_words(entry.content))
    score += bool(_OF_ONESELF.search(entry.content))
    score += entry.private - 2 * entry.is_question
    says_nothing = len(content_words(entry.content)) < 2
    score -= 2 * says_nothing
    # at 1 it would never be recalled again [C §2.4], and rules are no good judges of that
    return max(1 if says_nothing else 2, min(10, round(score)))


def _weight(sentence: str, entry: Entry, known_names: tuple[str, ...]) -> float:
    length = min(len(content_words(sentence)) / 8, 1.0)
    value = (
        0.35 * entry.importance / 10
        + 0.4 * salience(sentence, known_names)
        + 0.15 * length
        + 0.1 * entry.private
    )
    return min(value, 1.0)


def _lesson(sentence: str, entry: Entry) -> str:
    name = entry.seen_as
    if not name:
        return "Bear this in mind."
    if entry.private:
        return f"Keep what {name} said in private between the two of you."
    if states_preference(sentence):
        return f"Think of what {name} likes and dislikes."
    if person.speaks_of_self(sentence):
        return f"Ask {name} how this went on."
    return f"Bear in mind what {name} said about this."


# --- telling --------------------------------------------------------------------------------------


def _asked(memory: MemoryRecord) -> bool:
    """What somebody wanted to know is nothing to tell."""
    return memory.question or asks(memory.quote or memory.content)


def _told_once(memories: list[MemoryRecord]) -> list[MemoryRecord]:
    """Without those that rest on what one before them rests on: an entry beside its own fact."""
    kept: list[MemoryRecord] = []
    for memory in memories:
        evidence = set(memory.journal_ids)
        if not any(evidence & set(other.journal_ids) for other in kept):
            kept.append(memory)
    return kept


def _tell(memory: MemoryRecord, request: ReplyRequest) -> str:
    said = memory.record == "entry" and memory.key != memory.content  # a pose is nobody's words
    words = memory.quote or (memory.content if said else "")
    words = _ended(oneline(statements(words) or words)) if words else ""
    if words and memory.about and memory.about == request.speaker_id:
        if person.speaks_of_self(words) and len(sentences_of(words)) == 1:
            return f"You told me that {person.second_person(words)}"
        return f'You told me: "{words}"'
    if said and memory.speaker:
        return f'{memory.speaker} said: "{words}"'
    return _ended(oneline(memory.content))


def _ended(text: str) -> str:
    return text if _END.search(text) else text + "."


def _relevance(request: ReplyRequest, told: list[MemoryRecord]) -> list[float]:
    """For each memory how well it answers; from 1.0 on it is an answer.

    Names of people are left out: everything that Alice said resembles a question about Alice.
    """
    if not told:
        return []
    names = {w.lower() for m in told for w in WORD.findall(m.speaker)}
    names |= {word.lower() for word in WORD.findall(f"{request.speaker} {request.npc_name}")}
    question = " ".join(
        word for word in request.utterance.split() if not set(lowered(word)) & names
    )
    asked = content_words(question) - names
    vectors = embedder.shared().encode([question, *(m.quote or m.content for m in told)])
    cosines = vectors[1:] @ vectors[0]
    shares = [
        len(asked & content_words(memory.content)) / len(asked) if asked else 0.0 for memory in told
    ]
    return np.maximum(cosines / ANSWERS_FROM, np.array(shares) / ANSWERS_WITHWORDS).tolist()


def _vary(seed: str, *choices: str) -> str:
    return choices[zlib.crc32(seed.encode()) % len(choices)]
