"""The recall of memories for a request [B §3, C §2].

`recall` runs on the reactor thread: it knows the people, preferences and links of the NPC. The work
on the store is done on the memory worker in two steps, over plain data: `begin` ranks the
candidates (`find`), and `finish` adds what the best are linked with and fills the token budget
(`choose`).
"""

from __future__ import annotations

import re
import uuid
from collections import OrderedDict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from twisted.internet import defer

from .. import conf, language, offload
from ..embedding import embedder, emotions
from ..embedding.model import ModelAway
from ..ingest import index
from ..ingest.endings import SAME_CONTENT, as_over
from ..privacy import may_hear
from ..records import NO_EVIDENCE, Recalled, RecallRequest, RecallResult
from ..store import memory_store
from ..store.condition import HELD
from ..store.evidence import EvidenceGone
from ..store.links import link_id, linked_memory_id
from ..store.npc_memory import Memory
from ..store.payload import RANKED_BY, WEIGHED_BY, Candidate, entry_memory_id, summary_id
from ..store.protocol import LaneSearch
from ..text.names import folded, forms
from ..text.sanitising import sanitise
from . import budget, rank, reranker
from .rank import Ranked

LANE_DEPTH = 30  # the best of each lane that become candidates, at least
LINKED_FROM = 5  # the best candidates whose links are followed, one hop
LINKS_FOLLOWED = 20  # the strongest of all their links
RANKINGS_KEPT = 16  # of recalls that wait for their links
PREFERENCES = 40  # newest preferences of the one who asks that become candidates
# a preference bears on a question, and comes first, if its rank and its score are so high
BEARS_AMONG = 20  # of the best
BEARS_FROM = 0.5  # of the best score
SPARE = 1.25  # of what the budget takes, loaded at once


@defer.inlineCallbacks
def recall(
    memory: Memory, request: RecallRequest, priority: int = offload.REPLY
) -> Generator[Any, Any, RecallResult]:
    """Recall memories, as a Deferred `RecallResult`.

    Raises (in the Deferred):
        StoreInUse, StoreMismatch: The store cannot be opened; the message says what to do.
        BudgetExceeded: There are memories, and not even the smallest fits.
    """
    # if new entries were forgotten meanwhile or the store is read-only, recall what is indexed
    with suppress(EvidenceGone, *HELD):
        yield index.index_newest(memory, priority)
    request = completed(memory, request)
    number, best = yield offload.read(begin, request, priority=priority)
    linked = _linked(memory, best)  # Attributes: the reactor thread reads them
    return (yield offload.read(finish, number, request, linked, priority=priority))


def emotion_request(labels: Sequence[str], query: str = "") -> RecallRequest:
    """Make a request for memories that felt like `labels`, scored by [B], which counts emotions.

    Without a query, the labels are searched. UnknownEmotion if one is not in the taxonomy.
    """
    felt = emotions.known(labels)
    return RecallRequest(
        query or ", ".join(felt), emotions=felt, only_emotions=True, score_profile="salience"
    )


def completed(memory: Memory, request: RecallRequest) -> RecallRequest:
    """Fill in what a request leaves empty, from the settings and from what the NPC knows."""
    settings = memory.settings
    spoken = language.get()
    line = sanitise(request.query, conf.MAX_LINE)
    query = spoken.without_address(line, forms(memory.names))
    asks_for = rank.asked_for(query, memory.clock())
    listeners = request.listeners or ()
    named = tuple(
        (identity, memory.people.name_of(identity)) for identity in memory.people.mentioned(query)
    )
    who = spoken_of(query, named)
    if not who and asks_for.of_oneself:
        who = listeners[:1]
    if not who and asks_for.of_you:
        who = (memory.identity,)
    preferences = memory.preferences.of(listeners[0], listeners) if listeners else ()
    return replace(
        request,
        query=query,
        agent_id=memory.id,
        now=memory.clock(),
        by_sources=settings.by_sources,
        top_k=request.top_k or settings.RECALL_TOP_K,
        token_budget=request.token_budget or settings.RECALL_TOKENS,
        score_profile=request.score_profile or settings.RECALL_PROFILE,
        reranker=request.reranker or settings.RERANKER,
        named=named,
        who=who,
        preferences=tuple(each.memory_id for each in preferences[:PREFERENCES] if each.memory_id),
        of_the_past=not request.as_evidence and asks_for.of_the_past,
    )


def spoken_of(query: str, named: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return whose words a query asks for, of the people it names: its subject, or all of them.

    "What did Bram say of Alice?" and "What does Bram owe Alice?" are answered by what Bram says:
    the subject is named first behind the question word. "What do Bram and Alice both like?" is
    answered by either, and so may be whatever is asked in another order.
    """
    spans = {identity: _spans(query, name) for identity, name in named}
    places = sorted((found[0], identity) for identity, found in spans.items() if found)
    if len(places) < 2:
        return tuple(spans)
    (span, first), (other, _) = places[:2]
    return (first,) if language.get().asks_of_first(query, span, other) else tuple(spans)


def _linked(memory: Memory, starts: list[str]) -> list[str]:
    """Return the store's ids of what `starts` are linked with, strongest links first."""
    if not memory.links.count:
        return []
    strength: dict[str, float] = {}
    for linked in memory.links.of_each(starts).values():
        for other, note in linked.items():
            strength[other] = max(strength.get(other, 0.0), note["score"])
    strongest = sorted(strength, key=lambda other: (-strength[other], other))
    return [linked_memory_id(memory.id, other) for other in strongest[:LINKS_FOLLOWED]]


# --- on the worker thread -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The candidates of a request, best first, and the lanes of the store that found them."""

    request: RecallRequest
    lanes: LaneSearch
    ranked: list[Ranked]
    best: np.ndarray | None  # score in each lane; None without a candidate
    over: Mapping[int, str]  # by the journal id of its line, the id of a fact that is over


_begun: OrderedDict[str, Ranking] = OrderedDict()  # by number, newest last


def begin(request: RecallRequest) -> tuple[str, list[str]]:
    """Rank candidates and keep them for `finish`, since hundreds of them come to a megabyte.
    Returns the number of the ranking, and the link ids of the best."""
    number = uuid.uuid4().hex
    _begun[number] = ranking = find(request)
    while len(_begun) > RANKINGS_KEPT:
        _begun.popitem(last=False)
    return number, [link_id(each.candidate) for each in ranking.ranked[:LINKED_FROM]]


def finish(number: str, request: RecallRequest, linked: Collection[str]) -> RecallResult:
    """`choose` from what `begin` has ranked; ranked anew if it was dropped meanwhile."""
    ranking = _begun.pop(number, None)
    return choose(find(request) if ranking is None else ranking, linked)


def find(request: RecallRequest) -> Ranking:
    """Rank candidates from every lane of the store."""
    store = memory_store.shared()
    words = searched_words(request)
    fields = _fields(request) if store.remote and not request.by_sources else ()
    lanes = store.prepare_search(request.agent_id, _vector_of(words), words, fields)
    where: dict[str, Any] = {}  # filters that the store applies itself
    if request.only_emotions:
        where["dominant_emotions"] = {"in": list(request.emotions)}
    if request.memory_types:
        where["memory_type"] = {"in": list(request.memory_types)}
    heard: dict[str, Any] = {}  # filters that leave out secrets of others and earlier questions
    if request.listeners:
        heard["listener"] = request.listeners[0]
        if not _asks_of_asking(request):
            heard["tells"] = "something"
    if store.remote:
        where |= heard
    depth = max(LANE_DEPTH, request.top_k * conf.CANDIDATES_PER_RESULT)
    found = store.find(lanes, depth, [*map(uuid.UUID, request.preferences)], **where)
    over = {
        number: each.id
        for each in found
        if each.record == "fact"
        and (each.invalid_at or each.superseded_by)
        and may_hear(each.private, each.witnesses, request.listeners)
        for number in each.journal_ids
    }
    candidates = _permitted(found, request)
    if heard and not store.remote and len(candidates) < depth <= len(found):
        # secrets of others and earlier questions took the places of the rest. A search without
        # them takes three times as long, so it is made only now; over a network it is the first
        known = [uuid.UUID(each.id) for each in found]
        found = store.find(lanes, depth, known, **where, **heard)
        candidates = _permitted(found, request)
    best = rank.best_of_lanes(candidates) if candidates else None
    return Ranking(request, lanes, rank.score(candidates, request, best), best, over)


def _fields(request: RecallRequest) -> Sequence[str]:
    """Return the fields of payloads that a request is ranked by."""
    asked = rank.asked_for(request.query, request.now)
    weighed = request.score_profile != "relevance" or request.emotions or request.memory_types
    return (
        *RANKED_BY,
        *("created_at",) * bool(asked.dates or weighed),
        *("tells_time",) * asked.when,
        *WEIGHED_BY * bool(weighed),
    )


def _vector_of(words: str) -> np.ndarray:
    """Embed a query; without the model's server the words alone find what is recalled."""
    model = embedder.shared()
    try:
        return model.encode([words])[0]
    except ModelAway:
        return np.zeros(model.dimensions, dtype=np.float32)


def choose(ranking: Ranking, linked: Collection[str] = ()) -> RecallResult:
    """Fill the token budget with the best of the candidates and of what they are linked with."""
    request, ranked = ranking.request, ranking.ranked
    if more := set(linked) - {each.candidate.id for each in ranked}:
        linked_with = _permitted(memory_store.shared().score(ranking.lanes, more), request)
        ranked = [*ranked, *rank.score(linked_with, request, ranking.best)]
    ranked = rank.arranged(ranked, request)
    if request.reranker:
        best = ranked[: max(reranker.RERANKED, request.top_k)]
        ranked = reranker.rerank(request, _with_payloads(ranked, best, request))
    if ranking.lanes.fields:
        ranked = _with_payloads(ranked, _fitting(ranked, request), request)
    first = _preferences(ranked, request)
    chosen = budget.fill(_loaded(request, first), _loaded(request, ranked), request)
    if not (request.by_sources or request.as_evidence):
        chosen = [*_with_ends(chosen, ranking)]
    tokens = sum(recalled.tokens for recalled in chosen)
    return RecallResult(
        memories=tuple(chosen),
        total_tokens=tokens,
        budget_used=tokens / request.token_budget,
        prompt_block=budget.prompt_block(
            [recalled.memory for recalled in chosen], by_sources=request.by_sources
        ),
    )


def _with_ends(chosen: Iterable[Recalled], ranking: Ranking) -> Iterator[Recalled]:
    """Mark lines of which a fact is over by the line that says so, since a fact ends sooner than
    the line that told it; as over, where they tell nothing else."""
    store, words_of = memory_store.shared(), language.get().content_words
    for each in chosen:
        memory = each.memory
        over = {ranking.over.get(number, "") for number in memory.journal_ids} - {""}
        facts = store.get(over) if memory.record == "entry" and not memory.superseded_by else ()
        for fact in facts[:1]:
            words, by = words_of(memory.said), fact.superseded_by
            newer = next(iter(store.get([by] if by else ())), None)
            if newer and not may_hear(newer.private, newer.witnesses, ranking.request.listeners):
                continue
            if newer and newer.record == "fact" and newer.journal_ids:  # which rests on a line
                by = entry_memory_id(ranking.request.agent_id, max(newer.journal_ids))
            if by != memory.id:
                whole = len(words & words_of(fact.said)) >= SAME_CONTENT * len(words)
                since = fact.invalid_at if whole else None
                each = replace(each, memory=as_over(memory, by, since))
        yield each


def _preferences(ranked: Sequence[Ranked], request: RecallRequest) -> list[Ranked]:
    """Return the preferences that come first: those that bear on the query, or all [C §2.6]."""
    if request.by_sources:
        return [
            each
            for each in ranked
            if each.candidate.memory_type == "procedural"
            and (not request.listeners or each.candidate.id in request.preferences)
        ]
    least = BEARS_FROM * ranked[0].total if ranked else 0.0
    return [
        each
        for each in ranked[:BEARS_AMONG]
        if each.candidate.id in request.preferences and each.total >= least
    ]


def searched_words(request: RecallRequest) -> str:
    """Return the query without the name of the one person it names, whose words are favoured.

    A query that names nobody or several people stays whole.
    """
    if len({identity for identity, _name in request.named}) != 1:
        return request.query
    rest = request.query
    for start, end in reversed(_spans(rest, request.named[0][1])):
        rest = rest[:start] + rest[end:]
    rest = re.sub(r"\s+([?.,!])", r"\1", " ".join(rest.split()))
    return rest if re.search(r"\w", rest) else request.query


def _spans(query: str, name: str) -> list[tuple[int, int]]:
    """Return where a name stands, in whatever form it is written: "Old Tom Tanner", "tom's"."""
    text = folded(query)
    if len(text) != len(query):
        text = query.lower()
    some = "|".join(map(re.escape, forms([name]))) or r"(?!)"
    found = re.finditer(rf"(?<!\w)(?:{some})(?!\w)(?:['’]s\b)?", text)
    return [each.span() for each in found]


def _asks_of_asking(request: RecallRequest) -> bool:
    return rank.asked_for(request.query, request.now).of_asking


def is_permitted(memory: Candidate, request: RecallRequest) -> bool:
    """Apply the filters of DESIGN §5.3, privacy first."""
    if not may_hear(memory.private, memory.witnesses, request.listeners):
        return False
    if memory.importance < conf.FORGOTTEN_BELOW:
        return False
    if memory.invalid_at and not request.of_the_past:
        return False
    if memory.superseded_by and not memory.invalid_at:  # it never held
        return False
    if memory.expires_at and memory.expires_at <= request.now:
        return False
    # players ask the same again and again: earlier questions would crowd out their answers
    only_asks = memory.tells == "nothing" and request.listeners is not None
    if only_asks and not _asks_of_asking(request):
        return False
    if request.only_emotions and not set(request.emotions) & set(memory.dominant_emotions):
        return False
    if request.as_evidence and not NO_EVIDENCE.isdisjoint(memory.tags):
        return False
    if request.memory_types and memory.memory_type not in request.memory_types:
        return False
    return not (memory.journal_ids and set(memory.journal_ids) <= request.without_entries)


def _fitting(ranked: Sequence[Ranked], request: RecallRequest) -> list[Ranked]:
    """Return the best that the budget takes, and a few more in place of copies among them."""
    found: dict[str, Ranked] = {}
    for share in (1.0, SPARE):
        left, places = request.token_budget * share, request.top_k * share
        for each in ranked:
            if each.candidate.tokens <= left and places >= 1:
                found[each.candidate.id] = each
                left, places = left - each.candidate.tokens, places - 1
    return [*found.values()]


def _permitted(found: Iterable[Candidate], request: RecallRequest) -> list[Candidate]:
    permitted = [each for each in found if is_permitted(each, request)]
    if not request.by_sources or request.include_compressed:
        return permitted
    # compressed and a summary exists [C §2.4]
    summaries = {}
    for each in permitted:
        if each.compressed:
            audience = tuple(sorted(each.witnesses)) if each.private else None
            session = each.payload.get("run_id")
            summaries[each.id] = summary_id(request.agent_id, session, audience)
    existing = memory_store.shared().existing(set(summaries.values()))
    return [each for each in permitted if summaries.get(each.id) not in existing]


def _with_payloads(
    ranked: list[Ranked], wanted: Sequence[Ranked], request: RecallRequest
) -> list[Ranked]:
    """Return `ranked` with the whole payloads of those `wanted`, in one request.

    Without those of them that are gone, or may not be recalled any more.
    """
    thin = [each.candidate for each in wanted if not each.candidate.is_whole]
    if not thin:
        return ranked
    found: dict[str, Candidate | None] = dict.fromkeys(each.id for each in thin)
    complete = memory_store.shared().complete(thin).items()
    found |= {each: known for each, known in complete if is_permitted(known, request)}
    return [
        replace(each, candidate=known)
        for each in ranked
        if (known := found.get(each.candidate.id, each.candidate))
    ]


def _loaded(request: RecallRequest, ranked: Sequence[Ranked]) -> Iterator[budget.Scored]:
    """Return what loads each memory, since most are never looked at."""
    for each in ranked:
        tokens = each.candidate.tokens
        if not tokens:
            tokens = embedder.shared().count_tokens(each.candidate.whole().content)
        yield tokens, partial(_load, each, request)


def _load(each: Ranked, request: RecallRequest) -> budget.Loaded | None:
    known = _with_payloads([each], [each], request)
    return (known[0].candidate.whole(), known[0].parts(request)) if known else None
