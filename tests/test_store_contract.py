"""The contract of `MemoryStore`: nothing is lost, nothing doubles, nothing leaks.

Every store that is offered (tests/real_stores.py) passes it over its real engine.
"""

import uuid
from types import SimpleNamespace

import numpy as np
import pytest
import real_stores
from evennia.utils.create import create_object

from contrib_ai_memory import conf, offload
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.store import lanes, memory_store
from contrib_ai_memory.store.condition import StoreMismatch
from contrib_ai_memory.store.payload import RECORDS, memory_id_for

AGENT, OTHER = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
LINES = ["I keep the ferry at Millbrook", "Wolves took my sheep", "The well is dry"]


@pytest.fixture(params=real_stores.OFFERED)
def any_store(request, settings, store_folder, tmp_path):
    """The settings name each of the stores in turn, empty."""
    with real_stores.config_of(request.param, tmp_path) as config:
        settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "VECTOR_STORE": config}
        yield request.param
        memory_store.close_shared(for_good=False)


@pytest.fixture
def store(any_store):
    return memory_store.shared()


def memory(number, text, agent_id=AGENT, **more):
    made = {"record": "fact", "created_at": "2026-01-01T00:00:00+00:00"} | more
    return MemoryRecord(memory_id_for(agent_id, number), text, **made)


def put(store, *memories, agent_id=AGENT):
    store.upsert(agent_id, memories, embedder.shared().encode([each.content for each in memories]))
    return [each.id for each in memories]


def some(store, agent_id=AGENT):
    return put(
        store, *(memory(n, text, agent_id) for n, text in enumerate(LINES)), agent_id=agent_id
    )


def everything(number=9, **more):
    """A memory with something in every field."""
    given = {
        "private": True,
        "witnesses": ("#1@a", 'he said "no" \\ # ünï'),
        "journal_ids": (4, 7),
        "importance": 0.0,
        "memory_weight": 1 / 3,
        "about": "#1@a",
        "speaker": "Alice",
        "session_id": "s1",
        "dominant_emotions": ("joy", "trust", "fear"),
        "the_lesson": "Be kind.",
        "entities": ("#3@c",),
        "question": True,
        "access_count": 3,
        "valid_from": "2026-01-01T00:00:00+00:00",
        "expires_at": "2027-01-01T00:00:00+00:00",
        "tags": ("pinned",),
        "provider": "offline",
        "quote": "a 'quote'; DROP TABLE memories; --",
    }
    return memory(number, "A whisper at the ferry", **(given | more))


def nearest(store, text, agent_id=AGENT, limit=3, **where):
    vector = embedder.shared().encode([text])[0]
    return [found.memory.content for found in store.nearest(agent_id, vector, limit, **where)]


def found(store, query, agent_id=AGENT, limit=3, **where):
    vector = embedder.shared().encode([query])[0]
    search = store.prepare_search(agent_id, vector, query)
    return {c.id: c for c in store.score(search, store.candidates(search, limit, **where))}


# --- writing --------------------------------------------------------------------------------------


def test_a_memory_comes_back_as_it_was_put(store):
    put(store, everything())
    assert store.get([everything().id]) == [everything()]


def test_putting_a_known_id_overwrites_its_words_its_payload_and_its_vector(store):
    [each] = put(store, everything())
    put(store, memory(9, "The mayor raised the toll"))
    assert store.get([each]) == [memory(9, "The mayor raised the toll")]
    assert store.count(AGENT) == 1
    own = embedder.shared().encode(["The mayor raised the toll"])
    assert float(store.vectors_of(store.get([each]))[0] @ own[0]) == pytest.approx(1, abs=0.01)
    assert nearest(store, "toll", limit=1) == ["The mayor raised the toll"]


def test_known_and_new_ids_in_one_put_are_all_there(store):
    some(store)
    ids = put(store, *(memory(n, f"New words {n}") for n in range(2, 6)))
    assert [each.content for each in store.get(ids)] == [f"New words {n}" for n in range(2, 6)]
    assert store.count(AGENT) == 6


def test_those_that_exist_are_named_by_their_ids(store):
    ids = some(store)
    assert store.existing([*ids[:2], memory(99, "never put").id]) == set(ids[:2])
    assert store.existing([]) == set()


def test_adding_what_is_known_changes_nothing(store):
    ids = some(store)
    again = [memory(0, "other words"), memory(7, "new ones")]
    vectors = embedder.shared().encode([each.content for each in again])
    assert store.insert_new(AGENT, again, vectors) == [again[1].id]
    assert store.get(ids[:1])[0].content == LINES[0]


def test_a_change_keeps_every_other_field_and_the_vector(store):
    [each] = put(store, everything())
    before = store.vectors_of(store.get([each]))
    store.change(each, importance=0.9, superseded_by="x")
    store.change(each, tags=["pinned", "locked"])
    wanted = everything(importance=0.9, superseded_by="x", tags=("pinned", "locked"))
    assert store.get([each]) == [wanted]
    payload = dict(store.rows(AGENT)[0])[each]
    assert payload["agent_id"] == AGENT and payload["audience"] == list(wanted.witnesses)
    assert np.allclose(store.vectors_of(store.get([each])), before, atol=0.01)


def test_several_are_changed_at_once_and_what_is_not_there_stays_so(store):
    ids = some(store)
    store.change_each(
        {ids[0]: {"importance": 0.9}, ids[1]: {"importance": 0.1}, str(uuid.uuid4()): {"x": 1}}
    )
    assert [each.importance for each in store.get(ids)] == [0.9, 0.1, 0.5]
    assert store.count(AGENT) == len(LINES)


def test_a_change_to_nothing_takes_a_value_back(store):
    [each] = put(store, everything(invalid_at="2026-01-02T00:00:00+00:00"))
    store.change(each, invalid_at=None)
    assert store.get([each])[0].invalid_at is None


def test_a_change_of_what_is_not_there_makes_nothing(store):
    some(store)
    store.change(memory_id_for(AGENT, "nobody"), importance=0.9)
    assert store.count(AGENT) == len(LINES)


def test_an_access_is_counted_and_nothing_else_changes(store):
    [each] = put(store, everything())
    memory_store.note_access([each, memory_id_for(AGENT, "nobody")], "2026-02-01T00:00:00+00:00")
    assert store.get([each]) == [
        everything(access_count=4, last_accessed="2026-02-01T00:00:00+00:00")
    ]


def test_rows_that_are_written_again_are_the_same_memories(store):
    ids = [*some(store), *put(store, everything())]
    kept, (rows, _offset) = store.get(ids), store.rows(AGENT)
    memories = [each for row in rows for each in store.get([row[0]])]
    vectors, words = store.vectors_of(memories), [each.words for each in memories]
    store.delete_all(AGENT)
    store.upsert_rows(rows, list(map(lanes.keys_of_one, vectors, words)))
    assert store.get(ids) == kept
    assert nearest(store, LINES[0], limit=1) == LINES[:1]


# --- deleting -------------------------------------------------------------------------------------


def test_what_is_deleted_is_gone_and_the_rest_is_there(store):
    ids = some(store)
    store.delete(ids[:2])
    store.delete([ids[0], memory_id_for(AGENT, "nobody")])
    assert [each.id for each in store.list(AGENT)] == ids[2:]
    assert nearest(store, LINES[0]) == [LINES[2]]


def test_all_of_an_npc_is_deleted_and_nothing_of_another(store):
    some(store)
    some(store, OTHER)
    assert store.delete_all(AGENT) == len(LINES)
    assert (store.count(AGENT), store.count(OTHER)) == (0, len(LINES))


# --- reading --------------------------------------------------------------------------------------


def test_memories_of_two_npcs_never_mix(store):
    some(store)
    put(store, memory(0, "Only Bram knows", OTHER), agent_id=OTHER)
    assert "Only Bram knows" not in nearest(store, "Bram", limit=10)
    assert nearest(store, "ferry", OTHER, limit=10) == ["Only Bram knows"]
    ids = [memory_id_for(OTHER, 0)]
    search = store.prepare_search(AGENT, embedder.shared().encode(["Bram"])[0], "Bram")
    assert store.score(search, ids) == []
    assert set(store.agents()) == {AGENT, OTHER}
    assert store.owners([*ids, str(uuid.uuid4())]) == {ids[0]: OTHER}


def test_several_searches_at_once_find_what_each_finds_alone(store):
    some(store)
    put(store, memory(7, "I keep the ferry at Millbrook", OTHER), agent_id=OTHER)
    vectors = embedder.shared().encode([*LINES, "who runs the boat?"])
    found = store.nearest_each(AGENT, vectors, 2, record="fact")
    assert [near[0].memory.content for near in found] == [*LINES, LINES[0]]
    assert list(map(len, found)) == [2, 2, 2, 2]
    alone = [store.nearest(AGENT, vector, 2, record="fact") for vector in vectors]
    assert [[hit.memory.id for hit in near] for near in found] == [
        [hit.memory.id for hit in near] for near in alone
    ]
    assert store.nearest_each(AGENT, [], 2) == []


def test_it_is_found_by_meaning_and_by_fields(store):
    some(store)
    put(store, memory(7, "Alice asked of the ferry", record="entry", about="#1@a"))
    assert nearest(store, "who runs the boat?", limit=1, record="fact") == [LINES[0]]
    assert nearest(store, "ferry", record="entry") == ["Alice asked of the ferry"]
    both = {"in": ["entry", "experience"]}
    assert nearest(store, "ferry", record=both) == ["Alice asked of the ferry"]
    assert nearest(store, "ferry", record="summary") == []
    best = found(store, "who keeps the ferry?")[memory_id_for(AGENT, 0)]
    assert best.lanes[0] > 0.5


def searched(store, query, vector_of, agent_id=AGENT, limit=3):
    """Candidates by words that have nothing to do with the vector."""
    vector = embedder.shared().encode([vector_of])[0]
    search = store.prepare_search(agent_id, vector, query)
    return {c.content: c for c in _told(store.score(search, store.candidates(search, limit)))}


def _told(candidates):
    return [SimpleNamespace(content=c.whole().content, near=c.lanes[2]) for c in candidates]


def test_a_word_finds_what_no_vector_does(store):
    put(store, *(memory(n, f"Crate {n} is full of turnips") for n in range(40)))
    put(store, memory(50, "Orrin guards the gate"))
    best = searched(store, "Orrin", "Crate 1 is full of turnips")
    assert best["Orrin guards the gate"].near > 0
    assert all(each.near == 0 for text, each in best.items() if "Orrin" not in text)
    assert "Orrin guards the gate" not in searched(store, "is the", "Crate 1 is full of turnips")


def test_how_rare_a_word_is_depends_on_the_npc(store):
    texts = ["Orrin guards the gate", *(f"Crate {n} is full of turnips" for n in range(300))]
    for agent_id, word in ((AGENT, "turnips"), (OTHER, "Orrin")):
        lines = enumerate(f"{word} and {text}" for text in texts)
        talk = [memory(n, text, agent_id, record="entry") for n, text in lines]
        put(store, *talk, agent_id=agent_id)
    here = searched(store, "Orrin", texts[0])["turnips and Orrin guards the gate"]
    there = searched(store, "Orrin", texts[0], OTHER)["Orrin and Orrin guards the gate"]
    assert here.near > 5 * there.near


def test_a_line_is_found_by_the_talk_around_it(store):
    texts = ["Who keeps the ferry?", "Eleven winters."]
    asked, answer = [memory(n, text, record="entry") for n, text in enumerate(texts)]
    put(store, asked, answer, *(memory(n, f"Crate {n}") for n in range(2, 40)))
    vectors = embedder.shared().encode(texts)
    of_talk = lanes.keys_of_talk([1, 2], texts, vectors)
    store.rekey({answer.id: of_talk[1], memory_id_for(AGENT, "nobody"): of_talk[0]})
    line, window, near, wide = found(store, "ferry")[answer.id].lanes
    assert window > line + 0.1
    assert near > 0 and wide > 0
    assert store.count(AGENT) == 40, "keys of nothing make no memory"
    store.change(answer.id, importance=0.9)
    assert found(store, "ferry")[answer.id].lanes[2] == near, "a change keeps the keys"


def test_a_secret_is_among_the_candidates_of_those_alone_who_heard_it(store):
    open_ids = some(store)
    [secret] = put(store, everything(importance=0.5, question=False))
    for witness in everything().witnesses:
        assert secret in found(store, "whisper at the ferry", listener=witness)
    for stranger in ("#1", "#1@", "1@a", "#2@b", "*", "%", "a"):
        assert secret not in found(store, "whisper at the ferry", listener=stranger)
        assert open_ids[0] in found(store, "whisper at the ferry", listener=stranger)


def test_secrets_of_others_do_not_crowd_out_what_all_may_hear(store):
    hidden = [
        memory(n, f"The silver key lies under step {n}", private=True, witnesses=("#2@b",))
        for n in range(100, 140)
    ]
    put(store, *hidden)
    [known] = put(store, memory(1, "A key is made by the smith"))
    assert set(found(store, "silver key under the step", limit=5, listener="#1@a")) == {known}


def test_an_emotion_is_found_inside_the_list_of_a_memory(store):
    some(store)
    [felt] = put(store, everything())
    wanted = {"in": ["awe", "trust"]}
    assert list(found(store, "ferry", dominant_emotions=wanted)) == [felt]
    assert list(found(store, "ferry", dominant_emotions=wanted, listener="#1@a")) == [felt]
    assert found(store, "ferry", dominant_emotions={"in": ["rage"]}) == {}


def test_counts_and_lists_agree(store):
    some(store)
    put(store, *(memory(n, f"Entry {n}", record="entry") for n in range(20, 27)))
    some(store, OTHER)
    counts = store.counts(AGENT)
    assert (counts["fact"], counts["entry"], counts["insight"]) == (3, 7, 0)
    assert store.count(AGENT) == 10
    assert len(store.list(AGENT, limit=4)) == 4
    assert len(store.list(AGENT, limit=None, record="entry")) == 7
    assert store.agents() == {AGENT: 10, OTHER: 3}


@pytest.mark.parametrize("limit", [2, 3, 20])
def test_the_newest_come_first(store, limit):
    put(store, *(memory(n, f"Fact {n}", created_at=f"2026-01-0{n}T00:00:00") for n in (2, 1, 3)))
    put(store, memory(4, "Entry", record="entry", created_at="2026-02-01T00:00:00"))
    put(store, memory(5, "Another's", OTHER, created_at="2026-02-01T00:00:00"), agent_id=OTHER)
    newest = [each.content for each in store.newest(AGENT, "fact", limit)]
    assert newest == ["Fact 3", "Fact 2", "Fact 1"][:limit]


def test_what_has_no_time_is_the_oldest(store):
    put(store, memory(1, "Undated", created_at=""), memory(2, "Dated"))
    assert [each.content for each in store.newest(AGENT, "fact", 2)] == ["Dated", "Undated"]


@pytest.mark.parametrize("size", [1, 4, 7, 100])
def test_pages_bring_each_memory_once(store, size):
    ids = put(store, *(memory(n, f"Fact {n}") for n in range(8)))
    some(store, OTHER)
    seen, offset, pages = [], None, 0
    while True:
        page, offset = store.page(AGENT, offset, size)
        seen += [each.id for each in page]
        pages += 1
        if offset is None:
            break
    assert sorted(seen) == sorted(ids)
    assert pages >= 8 / size


def test_a_rewriting_ends_and_leaves_every_memory(store):
    ids = some(store)
    store.delete(ids[:1])
    rewrites = store.begin_rewriting()
    assert rewrites == (store.total() is not None), "only files of our own are written anew"
    while not store.rewrite_some():
        pass
    assert {each.id for each in store.list(AGENT)} == set(ids[1:])
    assert nearest(store, LINES[1], limit=1) == LINES[1:2]


def test_what_was_written_is_there_when_the_store_is_opened_again(store):
    ids = some(store)
    memory_store.close_shared(for_good=False)
    assert {each.id for each in memory_store.shared().list(AGENT)} == set(ids)


def test_vectors_of_another_length_are_refused_when_the_store_is_opened(
    any_store, store, settings, wide_embedder
):
    some(store)
    memory_store.close_shared(for_good=False)
    (conf.directory() / "store.json").unlink()
    wide_embedder()
    with pytest.raises(StoreMismatch, match=r"384.*EMBEDDING"):
        memory_store.shared()


@pytest.fixture
def wide_embedder(any_store, monkeypatch):
    """Makes the embedder one of 768 dimensions."""
    if any_store == "qdrant_edge":
        pytest.skip("its files lie beside the note that names the model, and are checked by that")

    class Wide:
        name, dimensions = "wide", 768

        def encode(self, texts):
            return np.ones((len(texts), 768), dtype=np.float32) / 768**0.5

        def count_tokens(self, text):
            return len(text.split())

    def widen():
        monkeypatch.setattr(embedder, "_shared", embedder.Embedder(Wide()))

    return widen


def test_mem0s_own_verbs_work_on_it_and_what_they_did_is_honoured(store):
    ids, mem0, mine = some(store), store.mem0, {"agent_id": AGENT}
    mem0.update(ids[0], data="The ferry was sold")
    [changed] = store.get(ids[:1])
    assert (changed.content, changed.record) == ("The ferry was sold", "fact")
    assert mem0.get(ids[0])["memory"] == "The ferry was sold"
    assert [each[:3] for each in store.history.of(ids[0])] == [
        (LINES[0], "The ferry was sold", "UPDATE")
    ]
    mem0.delete(ids[1])
    assert store.get(ids[1:2]) == []
    [added] = mem0.add("Orrin guards the gate", agent_id=AGENT, infer=False)["results"]
    [taught] = store.list(AGENT, record="taught")
    assert (taught.id, taught.content) == (added["id"], "Orrin guards the gate")
    assert [each["event"] for each in mem0.history(added["id"])] == ["ADD"]
    told = mem0.get_all(filters=mine)["results"]
    assert {each["memory"] for each in told} == {
        "The ferry was sold",
        LINES[2],
        "Orrin guards the gate",
    }
    assert mem0.search("ferry", filters=mine)["results"][0]["memory"] == "The ferry was sold"


def test_a_field_that_mem0_changes_leaves_vector_and_history_and_other_words_are_read_anew(store):
    [each] = put(store, everything())
    before, mem0 = store.line_vectors([each])[each], store.mem0
    mem0.update(each, metadata={"importance": 0.9, "agent_id": "another"})
    assert store.get([each]) == [everything(importance=0.9)]
    assert (list(store.line_vectors([each])[each]), mem0.history(each)) == (list(before), [])
    mem0.update(each, text="Where is the ferry?")
    payload = store.payloads([each])[each]
    assert (payload["asking"], payload["agent_id"]) == (1.0, AGENT)
    assert payload["tokens"] == embedder.shared().count_tokens("Where is the ferry?")
    [asked] = store.get([each])
    assert (asked.journal_ids, asked.importance) == (everything().journal_ids, 0.9)
    assert nearest(store, "Where is the ferry?", limit=1) == ["Where is the ferry?"]
    with pytest.raises(ValueError, match="not found"):
        mem0.update(str(uuid.uuid4()), metadata={"importance": 0.9})


def test_after_mem0s_reset_it_is_empty_and_goes_on(store):
    ids = some(store)
    store.mem0.reset()
    assert (store.get(ids), store.agents()) == ([], {})
    again = memory(0, LINES[0])
    assert store.insert_new(AGENT, [again], embedder.shared().encode(LINES[:1])) == ids[:1]
    assert [event for *_, event, _when in store.history.of(ids[0])] == ["ADD"]
    assert nearest(store, "ferry") == LINES[:1]


# --- a game over it -------------------------------------------------------------------------------


@pytest.fixture
def inn(any_store, db):
    """An NPC and two players in a room of a game over that store."""
    room = create_object("typeclasses.rooms.Room", key="The Drowned Lantern")
    made = [("npcs.AssistantNPC", "Mara"), ("characters.Character", "Alice")]
    made.append(("characters.Character", "Bram"))
    return [
        create_object(f"typeclasses.{kind}", key=key, location=room, home=room)
        for kind, key in made
    ]


def test_days_and_nights_leave_whole_memories_and_no_secret_reaches_another(inn, hears):
    mara, alice, bram = inn
    for night in range(2):
        alice.execute_cmd("say I keep the ferry at Millbrook.")
        alice.execute_cmd("say I love tea.")
        bram.execute_cmd("say Wolves came down from Harrow Hill.")
        alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
        alice.execute_cmd(f"say The mayor raised the toll to {night + 8} crowns.")
        offload.wait(mara.assistant.sleep.whole_night())
    store, agent_id = memory_store.shared(), mara.memory.id
    rows = [row for record in RECORDS for row in store.list(agent_id, None, record=record)]
    assert len(rows) == store.count(agent_id) > 10
    for _id, payload in store.rows(agent_id)[0]:
        assert {"data", "record", "agent_id", "audience", "hash"} <= set(payload)
    told = [each.content for each in store.list(agent_id, None, record="fact")]
    assert "Alice keeps the ferry at Millbrook." in told
    assert len(told) == len(set(told))
    errors = [p["errors"] for n in mara.assistant.sleep.records for p in n["passes"].values()]
    assert not any(errors)
    assert mara.memory.links.count >= 1
    heard = hears(bram)
    bram.execute_cmd("say Mara, who keeps the ferry?")
    assert "ferry" in next(line for line in heard if line.startswith("Mara says"))
    bram.execute_cmd("say Mara, where is the silver key?")
    assert not any("third step" in line for line in heard)
    his = mara.get_memory_identity(bram)
    recalled = offload.wait(mara.memory.recall("silver key", speaker=his, top_k=50))
    assert not any("silver key" in item.memory.content for item in recalled.memories)
