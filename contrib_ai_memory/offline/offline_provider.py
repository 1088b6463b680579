"""The offline provider: no language model, simple and deterministic.

Replies are built from recalled memories, the situation, the persona and stock phrases; nothing is
invented. Sentences are weighed by a classifier and by rules, put in the third person where the
rules reach and quoted where they do not. Summaries are made of a talk's own sentences, attributes
of what people say of themselves, insights of what is mentioned often.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from .. import conf, offload
from ..embedding import embedder
from ..english import reported_speech, sentence_classifier, themes
from ..english.addressing import hushes
from ..english.attribute_kinds import kind_of
from ..english.contradiction import contradicts, says_the_same
from ..english.own_words import own_sentences, pronoun_of
from ..english.questions import asks, asks_of_you, sentences_of
from ..english.salience import RARE_TERMS, has_number, has_rare_terms, names_someone, salience
from ..english.sentence_classifier import (
    AGENDA,
    AGENDA_KINDS,
    Judgement,
    Sentence,
    SentenceClassifier,
)
from ..english.small_talk import is_idle, tells
from ..english.stated_preferences import stated, states_preference
from ..english.tokens import FUNCTION_WORDS, content_words, stem, zipf
from ..ingest.corrected_lines import corrected
from ..llm.provider import (
    AttributeDraft,
    Digest,
    InsightDraft,
    Observation,
    Pair,
    Passage,
    Relation,
    Statement,
    combined_confidence,
)
from ..records import (
    BUILDER,
    INSIGHT,
    LOCKED,
    TALK_KINDS,
    Entry,
    ExperienceDraft,
    FactDraft,
    MemoryRecord,
    Reply,
    ReplyRequest,
)
from ..text.segmentation import words_of
from . import acts, model_checks, offline_reply, reader
from .realisation import ended, listed
from .reported_lines import quoted, reported, sentences_in, without_name

SUMMARY_SENTENCES = 3
ATTRIBUTES_AT_MOST = 20
QUESTIONS = 3  # about as many people

NEARLY_EQUAL = 0.8  # of the words of two attributes, in their order

WELL_SAID = 3  # mentions that make "often"

# confidence in something said once: kin and home last, a plain fact may not
_SAID_ONCE = {"relationship": 0.55, "place": 0.55, "occupation": 0.55, "preference": 0.55}
_PLAIN = 0.45
ACT_WORDS = 6  # at most, of a sentence whose act supports a preference
ACT_CONFIDENCE = 0.3

# The sentence classifier (`benchmarks.sentences`): probabilities of being worth knowing in a month
JUDGED_KINDS = ("say", "whisper", "pose", "give")
WORTH_KEEPING = 0.5  # of a line
WORTH_KEEPING_IF_TELLING = 0.2  # of a clear one that names somebody or has a number
CLEAR = 3  # content words of a line that is understood by itself
LEAST_CLEAR = 2  # content words of a sentence that is
SHORT = 12  # words of one that only counts
NAME_BELOW = 4.0  # Zipf frequency of a word that is a name where a sentence begins
BESIDE = 0.2  # of a sentence of a line that is kept

_GOES_ON = re.compile(r"\W*(?:he|she|it|they)\b", re.IGNORECASE)  # of the sentence before it
_UNCLEAR = re.compile(r"\W*(?:he|she|it|they(?! say\b)|that|this|those|these|let)\b", re.IGNORECASE)
_OF_BEFORE = re.compile(  # "I sold the true ones", "There were eleven of them."
    r"\b(?:he|him|his|she|her|hers|it|its|them|their|there(?! (?:is|are|was|were)\b)|ones)\b",
    re.IGNORECASE,
)
_OF_MINE = re.compile(r"\b(?:my|our)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\W*(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|\w+(?:teen|ty))\b", re.IGNORECASE
)
_SEVERAL = re.compile(r"[.!?]\s+\w")  # sentences
# what commits nobody, whatever it is about: "What of the thirty crowns?"
_ASKS_WHAT = re.compile(r"\W*(?:(?:and|so|but) )?(?:wh(?:at|en|ere|ich|o|om|ose|y)|how)\b", re.I)
_THEIRS = re.compile(r"\b(?:they|them|theirs?)\b", re.IGNORECASE)
_OF_ONESELF = re.compile(r"\b(?:I|[Mm]y|me|mine|[Ww]e|[Oo]ur)\b")


class OfflineProvider:
    """Every operation of `Provider` in an honest, deterministic version."""

    name = "offline"
    lane = offload.MEMORY
    timeout = 60.0

    def load(self, *, answers: bool) -> None:
        """Load what not every operation needs, before somebody waits for it. Worker threads.

        Args:
            answers: Whether it is likely to answer players.
        """
        zipf("word")  # the list of words
        acts.shared()
        if answers:
            reader.shared()

    # --- talk ---------------------------------------------------------------------------------

    def reply(self, request: ReplyRequest) -> Reply:
        return offline_reply.reply(request)

    # --- the background loop [B] --------------------------------------------------------------

    def extract_experience(self, passage: Passage) -> ExperienceDraft | None:
        told = [entry for entry in passage.entries if entry.learnable]
        sentences = [
            (_weight(sentence, entry, passage.known_names), entry, sentence)
            for entry in told
            for sentence in sentences_of(without_name(entry.content, passage.npc_name))
            if len(content_words(sentence)) >= 2
            and not (asks(sentence) or hushes(sentence) or _GOES_ON.match(sentence))
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
        """Score entries by the sentence classifier or by rules, whichever gives more.

        The classifier learned from lively talk and knows little of bare statements.
        """
        wanted = content_words(goals)
        by_rules = [_importance(entry, wanted) for entry in entries]
        judged = _judged([(entry, entry.words) for entry in entries])
        return [
            score if judgement is None else max(score, min(10, round(1 + 3 * judgement.worth)))
            for score, judgement in zip(by_rules, judged, strict=True)
        ]

    def extract_facts(
        self, entries: Sequence[Entry], npc_name: str, around: Sequence[Entry] = ()
    ) -> list[FactDraft]:
        """Draw facts from each line that the sentence classifier finds worth knowing.

        Args:
            around: Lines of the same talk, which it does not look at.
        """
        heard = [each for each in entries if each.learnable and not _tells_nobody(each, npc_name)]
        before: dict[int, Entry] = {}  # what each correction corrects
        meant = []
        for place, entry in enumerate(heard):
            found = corrected(entry, heard[:place], (npc_name,))
            if found:
                before[entry.id] = found[0]
            meant.append(replace(entry, content=found[1]) if found else entry)
        wrong = {old.id for old in before.values()}  # the correction tells all else of them too
        told = [each for each in meant if each.id not in wrong]
        texts = [without_name(each.content, npc_name) for each in told]
        judged = _judged([(each, text) for each, text in zip(told, texts, strict=True)])
        kept = [
            (entry, _worth_keeping(text, judgement, entry))
            for entry, text, judgement in zip(told, texts, judged, strict=True)
        ]
        parts = iter(_judged([(entry, each) for entry, said in kept for each in said]))
        worth = {
            (entry.id, each): _is_worth(each, next(parts), entry)
            for entry, said in kept
            for each in said
        }
        return [
            _fact_draft(group, entry, after=before.get(entry.id))
            for entry, said in kept
            for group in _together(
                _kept(said, [worth[entry.id, e] or bool(_GOES_ON.match(e)) for e in said])
            )
            if any(worth[entry.id, each] for each in group)
        ]

    def digest(self, passage: Passage) -> Digest:
        """Look at a passage by the three operations above; what is known is compared later."""
        scores = self.score_importance(passage.entries, passage.goals)
        scored = [
            replace(entry, importance=entry.importance if LOCKED in entry.tags else score)
            for entry, score in zip(passage.entries, scores, strict=True)
        ]
        worth = [entry for entry in scored if entry.importance >= passage.least_importance]
        experience = self.extract_experience(replace(passage, entries=tuple(scored)))
        return Digest(
            {entry.id: entry.importance for entry in scored},
            tuple(self.extract_facts(worth, passage.npc_name)),
            (experience,) if experience else (),
        )

    def checked(self, digest: Digest, passage: Passage) -> model_checks.CheckedDigest:
        """Hold what a language model says of a passage against its lines, and complete it.

        Args:
            digest: Without facts and importance where the model gave no answer.
        """
        own = self.digest(passage)
        facts = tuple(self._compared(fact, passage) for fact in own.facts)
        experiences = tuple(replace(each, by_rules=True) for each in own.experiences or ())
        own = replace(own, facts=facts, experiences=experiences)
        return model_checks.checked(digest, passage).completed_by(own)

    def _compared(self, fact: FactDraft, passage: Passage) -> FactDraft:
        """Return a fact with the known ones of its speaker that it repeats or changes."""
        speaker = {each.seen_as for each in passage.entries if each.id in fact.journal_ids}
        known = [each for each in passage.known if each.speaker in speaker]
        if not known:
            return replace(fact, ends=(), by_rules=True)
        new, *old = embedder.shared().encode([fact.text, *(e.content for e in known)])
        statement = Statement(fact.text, quote=fact.quote)
        pairs = [
            Pair(statement, Statement.of(each), float(new @ vector))
            for each, vector in zip(known, old, strict=True)
        ]
        relations = dict(zip((each.id for each in known), self.compare(pairs), strict=True))
        same = (each for each, relation in relations.items() if relation is Relation.SAME)
        ends = tuple(each for each, relation in relations.items() if relation.supersedes)
        return replace(fact, same_as=next(same, ""), ends=ends, by_rules=True)

    def summarise(self, lines: Sequence[str]) -> str:
        """Choose the three most salient sentences nearest to the centre of the talk.

        Args:
            lines: "Speaker: words", oldest first.
        """
        told = [sentence for line in lines for sentence in _told(line)]
        if not told:  # nothing but questions and small talk
            return max(lines, key=len, default="")
        if len(told) <= SUMMARY_SENTENCES:
            return " ".join(dict.fromkeys(told))
        vectors = embedder.shared().encode(told)  # most became facts
        centre = vectors.mean(axis=0)
        worth = vectors @ centre + [salience(sentence) for sentence in told]
        best = sorted(range(len(told)), key=lambda place: (-worth[place], place))
        chosen = sorted(best[:SUMMARY_SENTENCES])
        return " ".join(dict.fromkeys(told[place] for place in chosen))

    def describe(
        self, name: str, observations: Sequence[Observation], known: Sequence[str] = ()
    ) -> list[AttributeDraft]:
        """Collect what is told of somebody by name; the more often, the surer."""
        found: dict[frozenset[str], tuple[str, str, list[int]]] = {}
        for seen in observations:
            for sentence in sentences_of(seen.text):
                kind = kind_of(sentence, name)
                if kind:
                    key = frozenset(content_words(sentence))
                    found.setdefault(key, (kind, sentence, []))[2].append(seen.journal_id)
        drafts = [
            AttributeDraft(
                kind,
                value,
                tuple(dict.fromkeys(evidence)),
                min(0.9, _SAID_ONCE.get(kind, _PLAIN) + 0.1 * (len(evidence) - 1)),
            )
            for kind, value, evidence in list(found.values())[:ATTRIBUTES_AT_MOST]
        ]
        return _with_acts(drafts, name, observations)

    def ask_oneself(self, memories: Sequence[MemoryRecord], npc_name: str) -> list[str]:
        """Ask about the people heard most."""
        heard = Counter(memory.speaker for memory in memories if memory.speaker)
        often = sorted(heard, key=lambda name: (-heard[name], name))
        return [f"What have I learned about {name}?" for name in often[:QUESTIONS]]

    def reflect(
        self,
        questions: Sequence[tuple[str, Sequence[MemoryRecord]]],
        npc_name: str,
        known: Sequence[str] = (),
    ) -> list[InsightDraft]:
        """Name what recurs in the memories of the person asked about."""
        return [
            insight
            for question, memories in questions
            for insight in _insights(question, memories, npc_name)
        ]

    # --- comparisons --------------------------------------------------------------------------

    def compare(self, pairs: Sequence[Pair]) -> list[Relation]:
        """Relate by rules; what a newer line ends was settled before (`ingest.endings`)."""
        return [_RELATIONS.get(pair.new.record, _of_facts)(pair) for pair in pairs]


# --- sentences ------------------------------------------------------------------------------------


def _judged(given: Sequence[tuple[Entry, str]]) -> list[Judgement | None]:
    """Judge the texts of entries by the sentence classifier; None where rules must do."""
    talk = [(text, entry) for entry, text in given if entry.kind in JUDGED_KINDS]
    classifier = _classifier() if talk else None
    if classifier is None:
        return [None] * len(given)
    vectors = embedder.shared().encode([text for text, _ in talk])
    judgements = iter(classifier.judge(vectors, [Sentence(text, e.kind) for text, e in talk]))
    return [next(judgements) if entry.kind in JUDGED_KINDS else None for entry, _ in given]


def _classifier() -> SentenceClassifier | None:
    model = embedder.shared()
    return sentence_classifier.load(model.name, model.dimensions)


def _worth_keeping(text: str, judgement: Judgement | None, entry: Entry) -> list[str]:
    """Return the sentences of a line that are kept as a fact, none if it is not worth it.

    The classifier learned from lively talk and finds "I am a smith." worth nothing: what tells
    kin, home, trade or taste is kept too.
    """
    said = sentences_of(text)
    commits = judgement is not None and judgement.any_of(*AGENDA_KINDS) >= AGENDA
    if entry.kind in TALK_KINDS:
        told = [
            tells(each) or (commits and asks(each) and not _ASKS_WHAT.match(each)) for each in said
        ]
        said = _kept(said, told)
    words = content_words(" ".join(said))
    if judgement is None:
        return said if len(words) > 1 else []
    clear = len(words) >= CLEAR and not (_UNCLEAR.match(text) or asks_of_you(text))
    telling = clear and (names_someone(text) or has_number(text))
    least = WORTH_KEEPING_IF_TELLING if telling else WORTH_KEEPING
    worth = judgement.worth_keeping >= least or any(_lasts(each, entry) for each in said)
    return said if words and worth else []


def _is_worth(said: str, judgement: Judgement | None, entry: Entry) -> bool:
    """Whether a sentence of a line that is kept is kept with it."""
    return judgement is None or judgement.worth_keeping >= BESIDE or _lasts(said, entry)


def _kept(said: Sequence[str], wanted: Sequence[bool]) -> list[str]:
    """Return the sentences that are wanted, each with those before it that it leans on."""
    kept: list[str] = []
    leant_on = False
    for each, of in zip(reversed(said), reversed(wanted), strict=True):
        idle = is_idle(each)
        if of or (leant_on and not idle):
            kept.append(each)
        leant_on = (of or leant_on) and (_leans(each) or idle)
    return kept[::-1]


def _leans(said: str) -> bool:
    """Whether a sentence is understood only with the one before it: "She sold them." """
    words = len(said.split())
    if _UNCLEAR.match(said) or len(content_words(said)) < LEAST_CLEAR or words < CLEAR:
        return True
    if _COUNTED.match(said) and words <= SHORT:  # "Sixty shells, please."
        return True
    found = _OF_BEFORE.search(said)
    if found is None:
        return False
    first, _, rest = said[: found.start()].partition(" ")
    names = names_someone(f"so {first}") and zipf(first.lower()) < NAME_BELOW
    return not (names or names_someone(f"so {rest}") or _OF_MINE.search(said[: found.start()]))


def _together(said: Sequence[str]) -> list[list[str]]:
    """Join each sentence that leans on the one before it to that one."""
    groups: list[list[str]] = []
    for each in said:
        if groups and _leans(each):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _lasts(said: str, entry: Entry) -> bool:
    """Whether a statement tells its speaker's kin, home, trade or taste."""
    if entry.kind not in TALK_KINDS or not reported_speech.speaks_of_self(said):
        return False
    return kind_of(reported(said, entry), entry.seen_as) in _SAID_ONCE


def _tells_nobody(entry: Entry, npc_name: str) -> bool:
    """Whether a builder writes that the NPC tells nobody of it."""
    if entry.origin != BUILDER:
        return False
    said = sentences_of(entry.content)
    return bool(said) and not own_sentences(said, (npc_name,), pronoun_of(said))


def _fact_draft(said: Sequence[str], entry: Entry, after: Entry | None = None) -> FactDraft:
    """Make a fact of sentences of an entry; a correction also rests on the line before it."""
    whole = " ".join(said if len(said) == 1 else map(ended, said))
    of_others = not all(map(reported_speech.speaks_of_self, said))
    if entry.kind not in TALK_KINDS:
        text = " ".join(reported(each, entry) for each in said)
    else:
        text = quoted(whole, entry) if of_others else reported(whole, entry)
        if _SEVERAL.search(whole) and _THEIRS.search(text) and not _THEIRS.search(whole):
            text = quoted(whole, entry)  # "the nights … They are owl" might be anybody
    return FactDraft(
        text=text,
        journal_ids=(after.id, entry.id) if after else (entry.id,),
        about=entry.source_entity,
        memory_type="procedural" if any(map(states_preference, said)) else "semantic",
        quote=whole if entry.kind in TALK_KINDS else "",
    )


def _importance(entry: Entry, wanted: set[str]) -> int:
    # The heuristic importance includes `content_importance`, which is not counted twice. What takes
    # too long for the heuristic is added here.
    score = entry.importance + 4 * RARE_TERMS * has_rare_terms(entry.content)
    score += 2 * bool(wanted & content_words(entry.content))
    score += bool(_OF_ONESELF.search(entry.content))
    score += entry.private - 2 * entry.is_question
    says_nothing = len(content_words(entry.content)) < 2
    score -= 2 * says_nothing
    # at 1 it would never be recalled again [C §2.4], and rules judge that badly
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
    if reported_speech.speaks_of_self(sentence):
        return f"Ask {name} how this went on."
    return f"Bear in mind what {name} said about this."


def _told(line: str) -> list[str]:
    """The sentences of a line that state something, with their speaker."""
    speaker, colon, words = line.partition(": ")
    said = (words, speaker) if colon else (line, "")
    entry = Entry(0, "", said[0], "say", seen_as=said[1])
    return [told for _sentence, told in sentences_in(entry, "") if told]


# --- preferences and what bears them out ----------------------------------------------------------


def _with_acts(
    drafts: Iterable[AttributeDraft], name: str, seen: Sequence[Observation]
) -> list[AttributeDraft]:
    """Join the acts that bear out a preference to it.

    That Alice prefers tea over coffee, orders tea and refuses coffee is one preference with three
    pieces of evidence, as in the source's example.
    """
    acts = [each for each in seen if each.text.startswith(name)]
    return [_borne_out(each, acts) if each.type == "preference" else each for each in drafts]


def _borne_out(liking: AttributeDraft, acts: Iterable[Observation]) -> AttributeDraft:
    said = stated(liking.value)
    object_of = content_words(" ".join((said.slot, *said.mentions))) if said else set()
    for act in acts:
        words = content_words(act.text)
        if act.journal_id in liking.evidence or len(words) > ACT_WORDS or not words & object_of:
            continue
        liking = replace(
            liking,
            evidence=(*liking.evidence, act.journal_id),
            confidence=combined_confidence(liking.confidence, ACT_CONFIDENCE),
        )
    return liking


# --- reflection -----------------------------------------------------------------------------------


def _once(memories: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Keep the first of memories that rest on the same lines, such as an entry and its fact."""
    seen: set[int] = set()
    kept = []
    for memory in memories:
        if not memory.journal_ids or not seen.issuperset(memory.journal_ids):
            kept.append(memory)
            seen.update(memory.journal_ids)
    return kept


def _insights(question: str, memories: Sequence[MemoryRecord], npc_name: str) -> list[InsightDraft]:
    """Draw an insight into what somebody often speaks of."""
    spoken = [memory for memory in _once(memories) if memory.speaker]
    speakers = sorted({memory.speaker for memory in spoken})
    name = next((each for each in speakers if re.search(rf"\b{re.escape(each)}\b", question)), "")
    of_them = [memory for memory in spoken if memory.speaker == name]
    called = {word.lower() for each in (*speakers, npc_name) for word in each.split()}
    found = themes.themes_of([memory.content for memory in of_them], called)
    if sum(len(theme.places) for theme in found) < WELL_SAID:
        return []
    cited = dict.fromkeys(of_them[place].id for theme in found for place in theme.places)
    text = f"{name} often speaks of {listed([theme.said for theme in found])}."
    return [InsightDraft(text, tuple(cited))]


# --- comparisons ----------------------------------------------------------------------------------


def _of_facts(pair: Pair) -> Relation:
    """Relate two facts: numbers, negations and names decide, which vectors hardly show."""
    new, known = pair.new, pair.known
    if pair.similarity >= conf.DEDUP_COSINE and says_the_same(new.text, known.text):
        return Relation.SAME
    own_words = bool(new.quote and known.quote)
    said = (new.quote, known.quote) if own_words else (new.text, known.text)
    return Relation.CHANGES if contradicts(*said) else Relation.UNRELATED


def _of_attributes(pair: Pair) -> Relation:
    """Relate two attributes; a preference replaces the one that fills the same slot."""
    new, known = pair.new, pair.known
    if _nearly_equal(new.text, known.text):
        return Relation.SAME
    if new.type == known.type == "preference":
        before, now = stated(known.text), stated(new.text)
        if before and now and (before.subject, before.slot) == (now.subject, now.slot):
            return Relation.CHANGES
    return Relation.CHANGES if contradicts(new.text, known.text) else Relation.UNRELATED


def _of_insights(pair: Pair) -> Relation:
    """Relate two insights: their words count, in any order."""
    new, known = pair.new.text, pair.known.text
    same = new == known or content_words(new) == content_words(known) != set()
    return Relation.SAME if same else Relation.UNRELATED


_RELATIONS = {"attribute": _of_attributes, INSIGHT: _of_insights}


def _nearly_equal(a: str, b: str) -> bool:
    """Whether two texts have nearly the same words, in nearly the same order."""
    if not says_the_same(a, b):
        return False
    one, other = (
        [stem(word) for word in words_of(text) if word not in FUNCTION_WORDS] for text in (a, b)
    )
    return SequenceMatcher(None, one, other).ratio() >= NEARLY_EQUAL
