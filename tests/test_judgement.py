"""With a language model, the model decides what is observed, repeated, changed and ended."""

import json

import pytest
from model_server import WELL_FORMED, digest, numbered_in

from contrib_ai_memory import conf, offload
from contrib_ai_memory.llm import openai_compatible
from contrib_ai_memory.llm.provider import Pair, ProviderError, Relation, Statement
from contrib_ai_memory.records import Percept
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import entry_memory_id


class Model:
    """What the model server says: by default, every line is one fact, and nothing is related."""

    def __init__(self):
        self.relation = None  # of each fact to all that are known: "same_as" or "ends"
        self.relations = None  # of every pair that is compared
        self.fact = {}  # more of every fact
        self.topics = {}  # fact → what the preference is about
        self.silent = False  # whether there are no facts
        self.raw = {}  # schema → an answer as it is
        self.asked = []

    def __call__(self, request):
        self.asked.append(request)
        if request.schema in self.raw:
            return self.raw[request.schema]
        if request.schema == "DigestAnswer":
            return json.dumps(self.digest(request))
        if request.schema == "AttributesAnswer":
            return json.dumps(self.attributes(*numbered_in(request)))
        lines = [json.loads(line) for line in request.last.splitlines() if line[:1] == "{"]
        return json.dumps(getattr(self, f"_{request.schema}", WELL_FORMED[request.schema])(lines))

    def digest(self, request):
        new, known = numbered_in(request)
        told = {number: line.partition(": ")[2] or line for number, line in new.items()}
        facts = [
            {"text": text, "lines": [number]}
            | ({"kind": "preference", "to": self.topics[text]} if text in self.topics else {})
            | ({"same_as": min(known)} if self.relation == "same_as" and known else {})
            | ({"ends": list(known)} if self.relation == "ends" else {})
            | self.fact
            for number, text in told.items()
        ]
        more = {"experience": told[max(told)], "weight": 0.6, "lesson": "Listen."}
        return digest(dict.fromkeys(new, 8), [] if self.silent else facts, **more)

    def _ComparisonAnswer(self, lines):
        numbers = [known["pair"] for line in lines for known in line["known"]]
        return {
            "relations": [
                {"pair": number, "relation": self.relations} for number in numbers if self.relations
            ]
        }

    def _QuestionsAnswer(self, lines):
        return {"questions": ["What is going on?"]}

    def attributes(self, seen, known):
        return {
            "attributes": [
                {
                    "type": "fact",
                    "value": text,
                    "evidence": [number],
                    "confidence": 0.6,
                    "replaces": [*known] if self.relation == "ends" else [],
                }
                for number, text in seen.items()
            ]
        }

    def of(self, schema):
        return [request for request in self.asked if request.schema == schema]


@pytest.fixture
def model(server, speaks_through):
    speaks_through(timeout=30)
    says = Model()
    server.behave(structured=says)
    return says


@pytest.fixture
def hear(mara):
    """hear(day, text): Alice says it aloud on that day, and a night follows."""

    def perceive(day, text):
        entry = mara.memory.perceive(
            Percept(
                content=text,
                kind="say",
                seen_as="Alice",
                source="#Alice",
                witnesses=("#Alice", "#Bram"),
                location="#1",
                timestamp=f"2026-03-{day:02d}T19:00:00+00:00",
            )
        )
        mara.memory.clock = lambda: f"2026-03-{day:02d}T23:00:00+00:00"
        offload.wait(mara.assistant.sleep.whole_night())
        return entry

    return perceive


def facts(mara):
    found = memory_store.shared().list(mara.memory.id, record="fact")
    return {fact.content: bool(fact.superseded_by) for fact in found}


def is_retired(mara, entry):
    [line] = memory_store.shared().get([entry_memory_id(mara.memory.id, entry.id)])
    return bool(line.superseded_by)


SEVEN, NINE = "The toll is seven crowns.", "The toll is nine crowns."


def test_what_rules_end_ends_where_the_model_overlooks_it(mara, hear, model):
    first = hear(1, SEVEN)
    hear(2, NINE)
    assert facts(mara) == {SEVEN: True, NINE: False}
    assert is_retired(mara, first)
    _, asked = model.of("DigestAnswer")
    assert numbered_in(asked) == ({1: f"Alice says: {NINE}"}, {101: f"{SEVEN} (2026-03-01)"})


def test_what_no_rule_knows_ends_in_any_language_where_the_model_ends_it(mara, hear, model):
    before = hear(1, "Mein Bruder hütet die Fähre bei Millbrook.")
    model.relation = "ends"
    hear(2, "Mein Bruder ist fort, die Fähre hütet jetzt Bram.")
    assert facts(mara) == {
        "Mein Bruder hütet die Fähre bei Millbrook.": True,
        "Mein Bruder ist fort, die Fähre hütet jetzt Bram.": False,
    }
    assert is_retired(mara, before)
    assert not model.of("ComparisonAnswer")


def test_a_line_that_told_another_fact_is_not_retired(mara, hear, model, server):
    two = [{"text": text, "lines": [1]} for text in (SEVEN, "Alice says the ferry is slow.")]
    server.behave_once(structured=json.dumps(digest({1: 8}, two)))
    before = hear(1, "Seven crowns the toll, and the ferry crawls.")
    end = {"text": NINE, "lines": [1], "ends": [101]}
    server.behave_once(
        structured=lambda request: json.dumps(
            digest(
                {1: 8},
                [end | {"ends": [n for n, t in numbered_in(request)[1].items() if SEVEN in t]}],
            )
        )
    )
    hear(2, NINE)
    assert facts(mara)[SEVEN] is True
    assert not is_retired(mara, before)


def test_what_the_model_calls_the_same_is_one_fact(mara, hear, model):
    hear(1, "Die Brücke ist eingestürzt.")
    model.relation = "same_as"
    hear(2, "In der Nacht fiel die Brücke in den Fluss.")
    [fact] = memory_store.shared().list(mara.memory.id, record="fact")
    assert fact.content == "Die Brücke ist eingestürzt."
    assert len(fact.journal_ids) == 2


def test_where_the_server_is_gone_rules_judge_in_its_place(mara, hear, model, server):
    before = hear(1, SEVEN)
    server.behave(status=503)
    hear(2, NINE)
    assert [is_over for text, is_over in facts(mara).items() if "seven" in text] == [True]
    assert is_retired(mara, before)


def test_a_person_is_described_from_their_own_words(mara, hear, model):
    hear(1, "Ich hüte die Fähre.")
    model.silent = True
    hear(2, "I keep the ferry at Millbrook.")
    profile = mara.memory.profiles.get("#Alice")
    assert [seen.text for seen in profile.observations] == [
        "Alice: Ich hüte die Fähre.",
        "Alice: I keep the ferry at Millbrook.",
    ]
    assert profile.relationship.interactions == 2


def test_an_attribute_gives_way_where_the_model_says_so(mara, hear, model, settings):
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "MIN_OBSERVATIONS": 1}

    def values():
        return [known.value for known in mara.memory.profiles.get("#Alice").attributes]

    lines = [SEVEN, NINE, "Am Abend mehr."]
    free = ["Die Überfahrt ist frei.", "Für alle.", "Auch am Abend."]
    for number, line in enumerate([*lines, *free], start=1):
        hear(number, line)
        model.relation = "ends" if number >= len(lines) else None
        told = lines if number < len(lines + free) else free
        assert values() == ([f"Alice: {each}" for each in told] if number >= len(lines) else [])
    assert len(model.of("AttributesAnswer")) == 2


def test_a_preference_takes_the_slot_that_the_model_names(mara, hear, model):
    loved, hated = "Ich liebe Tee.", "Ich kann Tee nicht mehr sehen."
    model.topics = dict.fromkeys((loved, hated), "Tee")
    hear(1, loved)
    model.relation = "ends"
    hear(2, hated)
    [held] = mara.memory.preferences.of("#Alice")
    assert (held.slot, held.text) == ("tee", hated)
    assert [past.text for past in held.history] == [loved]
    assert facts(mara) == {loved: True, hated: False}


def test_no_rule_settles_a_preference_that_the_model_does_not_draw(mara, hear, model):
    first = hear(1, "I love tea.")
    hear(2, "I hate tea.")
    assert mara.memory.preferences.of("#Alice") == []
    assert not is_retired(mara, first)


def test_a_taught_preference_replaces_another_in_its_slot_whatever_the_model_says(mara, model):
    offload.wait(mara.memory.ingest("I love tea with honey.", user_id="#Alice"))
    model.relations = None
    offload.wait(mara.memory.ingest("I hate tea with honey.", user_id="#Alice"))
    taught = memory_store.shared().list(mara.memory.id, record="taught")
    assert {each.content: bool(each.superseded_by) for each in taught} == {
        "I love tea with honey.": True,
        "I hate tea with honey.": False,
    }


def test_only_what_the_model_weighed_is_pruned(mara, hear, model):
    model.raw["DigestAnswer"] = "no idea"
    entry = hear(1, "Ok.")
    assert mara.memory.journal.get(entry.id).scoring_method == "offline"
    mara.memory.clock = lambda: "2026-06-01T00:00:00+00:00"
    mara.memory.journal.update({entry.id: {"importance": 1}})
    offload.wait(mara.assistant.sleep.whole_night())
    assert mara.memory.journal.get(entry.id)
    mara.memory.journal.update({entry.id: {"scoring_method": "llm"}})
    mara.memory.journal.set_cursor("pruned", 0)
    offload.wait(mara.assistant.sleep.whole_night())
    assert not mara.memory.journal.get(entry.id)


# --- the answers themselves -----------------------------------------------------------------------

TEXTS = [Statement(text) for text in ("Anna lives in Wick.", "Anna lives in Harbour.", "It rains.")]
PAIRS = [Pair(TEXTS[0], TEXTS[1]), Pair(TEXTS[0], TEXTS[2])]


@pytest.fixture
def provider(speaks_through):
    speaks_through()
    return openai_compatible.OpenAIProvider(conf.get().LLM)


def test_a_pair_that_is_not_named_is_unrelated(server, provider):
    answer = [{"pair": 1, "relation": "changes"}, {"pair": 7, "relation": "same"}]
    server.behave(structured=json.dumps({"relations": answer}))
    assert provider.compare(PAIRS) == [Relation.CHANGES, Relation.UNRELATED]
    server.behave(structured='{"relations": []}')
    assert provider.compare(PAIRS) == [Relation.UNRELATED] * 2


def test_relations_of_invented_pairs_alone_are_an_error(server, provider):
    server.behave(structured='{"relations": [{"pair": 3, "relation": "same"}]}')
    with pytest.raises(ProviderError, match="cite nothing that was given"):
        provider.compare(PAIRS)


@pytest.mark.parametrize(
    ("owed", "ended"),
    [
        ({"text": "Alice owes Mara thirty crowns for the seed.", "to": "Mara"}, True),
        ({"text": "Alice owes Bram thirty crowns for the seed.", "to": "Bram"}, False),
    ],
)
def test_own_words_end_what_is_owed_to_the_npc_where_a_model_finds_it(
    mara, alice, bram, model, server, owed, ended
):
    debt = owed | {"lines": [1], "kind": "debt", "about": "Alice"}
    server.behave(text="So be it.")
    server.behave_once(structured=json.dumps(digest({1: 8}, [debt])))
    model.silent = True
    alice.execute_cmd(f"say I owe {owed['to']} thirty crowns for the seed.")
    offload.wait(mara.assistant.sleep.whole_night())
    assert facts(mara) == {owed["text"]: False}
    alice.execute_cmd("say What of the thirty crowns for the seed?")
    mara.execute_cmd("say Thirty crowns for the seed? You are even now, Alice.")
    server.behave(
        structured=lambda request: (
            json.dumps(digest(dict.fromkeys(numbered_in(request)[0], 2), over=[101]))
            if request.schema == "DigestAnswer"
            else model(request)
        )
    )
    offload.wait(mara.assistant.sleep.whole_night())
    assert facts(mara) == {owed["text"]: ended}
    assert [item.state for item in mara.memory.agenda] == ["done" if ended else "open"]
