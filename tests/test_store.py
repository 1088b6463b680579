"""The store: Mem0 over the real Qdrant Edge."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.condition import StoreClosed, StoreInUse, StoreMismatch
from contrib_ai_memory.store.payload import memory_id_for

AGENT = str(uuid.UUID(int=1))
LINES = ["Alice: I keep the ferry", "Bram: wolves took my sheep", "Cora: the well is dry"]


def memory(number: int, text: str, **more) -> MemoryRecord:
    made = {"record": "entry", "key": text, "created_at": "2026-01-01T00:00:00+00:00"} | more
    return MemoryRecord(memory_id_for(AGENT, number), text.split(": ")[-1], **made)


@pytest.fixture
def store(store_folder):
    store = memory_store.shared()
    store.upsert(
        AGENT, [memory(i, t) for i, t in enumerate(LINES)], embedder.shared().encode(LINES)
    )
    return store


def nearest(store, text, **where):
    return [
        f.memory.content
        for f in store.nearest(AGENT, embedder.shared().encode([text])[0], 3, **where)
    ]


def test_a_memory_comes_back_as_it_was_put(store):
    record = memory(
        9,
        "A whisper",
        record="fact",
        private=True,
        witnesses=("#1@a", "#2@b"),
        journal_ids=(4, 7),
        importance=0.0,
        about="#1@a",
        session_id="s1",
        dominant_emotions=("joy", "trust", "fear"),
    )
    store.upsert(AGENT, [record], np.ones((1, 384), dtype=np.float32))
    assert store.get([record.id]) == [record]


def weighed(store, query, agent_id=AGENT, **where):
    vector = embedder.shared().encode([query])[0]
    search = store.prepare_search(agent_id, vector, query)
    ids = store.candidates(search, 3, **where)
    return {c.id: c for c in store.score(search, ids)}


def test_it_is_found_by_meaning_and_by_words(store):
    assert nearest(store, "who runs the boat?")[0] == "I keep the ferry"
    sheep = memory_id_for(AGENT, 1)
    found = weighed(store, "sheep")
    line, window, near, wide = found[sheep].lanes
    assert near > 0 and wide > 0
    assert line == pytest.approx(window)  # it stands alone
    assert [c.id for c in found.values() if c.lanes[2]] == [sheep]
    assert {c.lanes[2:] for c in weighed(store, "").values()} == {(0.0, 0.0)}


def test_what_recall_weighs_of_a_memory_is_what_it_holds(store):
    kept = memory(
        5,
        "Alice: Where were you last May?",
        about="#1@a",
        memory_type="semantic",
        private=True,
        witnesses=("#1@a",),
        journal_ids=(3,),
        importance=0.7,
        dominant_emotions=("joy", "trust", "fear"),
        access_count=4,
    )
    store.upsert(AGENT, [kept], embedder.shared().encode([kept.content]))
    seen = weighed(store, "last May")[kept.id]
    for name in ("about", "record", "memory_type", "private", "witnesses", "dominant_emotions"):
        expected = getattr(kept, name)
        assert getattr(seen, name) == (list(expected) if isinstance(expected, tuple) else expected)
    for name in ("importance", "access_count", "created_at", "compressed"):
        assert getattr(seen, name) == getattr(kept, name)
    assert (seen.asking, seen.tells_time) == (1.0, True)
    assert 0 < seen.length < 1


def test_a_memory_of_another_npc_is_never_weighed(store):
    ids = [memory_id_for(AGENT, number) for number in range(3)]
    vector = embedder.shared().encode(["ferry"])[0]
    assert store.score(store.prepare_search(str(uuid.uuid4()), vector, "ferry"), ids) == []
    known = store.score(store.prepare_search(AGENT, vector, "ferry"), [*ids, str(uuid.uuid4())])
    assert len(known) == 3


def test_another_npc_sees_nothing_of_it(store):
    other = str(uuid.uuid4())
    assert store.nearest(other, embedder.shared().encode(["ferry"])[0], 3) == []
    assert weighed(store, "ferry", other) == {}
    assert store.count(other) == 0


def test_a_listener_is_given_only_what_is_public_or_their_own(store):
    secret = memory(7, "Alice: the ferry hides gold", private=True, witnesses=("#1@a",))
    store.upsert(AGENT, [secret], embedder.shared().encode([secret.key]))
    assert secret.content in nearest(store, "ferry gold", listener="#1@a")
    assert secret.content not in nearest(store, "ferry gold", listener="#2@b")
    assert secret.id in weighed(store, "gold", listener="#1@a")
    assert secret.id not in weighed(store, "gold", listener="#2@b")


def test_putting_the_same_id_again_doubles_nothing(store):
    store.upsert(AGENT, [memory(0, LINES[0])], embedder.shared().encode(LINES[:1]))
    assert store.count(AGENT) == 3


def test_adding_tells_what_was_new_and_mem0_knows_its_birth(store):
    fact = memory(8, "Alice keeps the ferry", record="fact")
    vector = embedder.shared().encode([fact.key])
    assert store.insert_new(AGENT, [fact], vector) == [fact.id]
    assert store.insert_new(AGENT, [fact], vector) == []
    assert [h["event"] for h in store.mem0.history(fact.id)] == ["ADD"]


def test_mem0s_own_verbs_work_on_what_was_written(store):
    found = store.mem0.search("wolves", filters={"agent_id": AGENT})["results"]
    assert found[0]["memory"] == "wolves took my sheep"
    assert len(store.mem0.get_all(filters={"agent_id": AGENT})["results"]) == 3
    store.mem0.delete(found[0]["id"])
    assert store.count(AGENT) == 2


def test_changing_a_payload_keeps_the_rest_and_the_vector(store):
    first = memory(0, LINES[0])
    store.change(first.id, access_count=7)
    [changed] = store.get([first.id])
    assert (changed.access_count, changed.content) == (7, first.content)
    assert nearest(store, "ferry")[0] == first.content


def test_it_is_found_again_after_it_was_closed(store):
    memory_store.close_shared(for_good=False)
    assert memory_store.shared().count(AGENT) == 3
    assert nearest(memory_store.shared(), "ferry")[0] == "I keep the ferry"


def test_closed_for_good_it_takes_no_more_work(store):
    memory_store.close_shared()
    with pytest.raises(StoreClosed, match="stopping"):
        memory_store.shared()


def test_deleting_all_of_an_npc_leaves_the_others(store):
    other = str(uuid.uuid4())
    store.upsert(other, [memory(50, "Dora: mine")], embedder.shared().encode(["mine"]))
    assert store.delete_all(AGENT) == 3
    assert (store.count(AGENT), store.count(other)) == (0, 1)


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"record": "entry"}, 3),
        ({"record": {"ne": "entry"}}, 0),
        ({"record": ["entry", "fact"]}, 3),
        ({"record": {"in": ["fact"]}}, 0),
        ({"importance": {"gte": 0.4, "lt": 0.6}}, 3),
        ({"importance": {"gt": 0.5}}, 0),
        ({"created_at": {"gte": "2026-01-01T00:00:00+00:00"}}, 3),
        ({"OR": [{"record": "fact"}, {"memory_type": "episodic"}]}, 3),
        ({"NOT": [{"record": "entry"}]}, 0),
        ({"AND": [{"record": "entry"}, {"record": "fact"}]}, 0),
        ({"record": "*"}, 3),
    ],
)
def test_mem0s_filter_language_is_spoken(store, filters, count):
    assert len(store.mem0.vector_store.list(filters, top_k=None)[0]) == count


def test_a_filter_operator_that_does_not_exist_is_told(store):
    with pytest.raises(ValueError, match=r"'record'.*near"):
        store.mem0.vector_store.list({"record": {"near": "entry"}})


def test_a_store_of_another_model_is_refused_with_the_way_out(store, store_folder):
    memory_store.close_shared(for_good=False)
    meta = store_folder / "store.json"
    meta.write_text(json.dumps(json.loads(meta.read_text()) | {"embedding_model": "other"}))
    with pytest.raises(StoreMismatch, match=r"'other'.*EMBEDDING"):
        memory_store.shared()


SECOND_PROCESS = """
import sys
from contrib_ai_memory.store.condition import StoreInUse
from contrib_ai_memory.store.qdrant_edge import EdgeStore
try:
    EdgeStore(path=sys.argv[1], lock_wait=0.2)
except StoreInUse as problem:
    print(problem)
"""


def test_a_second_process_gets_a_sentence(store, store_folder):
    done = subprocess.run(
        [sys.executable, "-c", SECOND_PROCESS, str(store_folder / "qdrant_edge")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Another process holds the memory store" in done.stdout
    assert "evennia stop" in done.stdout
    assert StoreInUse.__name__ not in done.stderr


KILLED = """
import os, sys, uuid
import numpy as np
from contrib_ai_memory.store.lanes import keys_of_one
from contrib_ai_memory.store.qdrant_edge import EdgeStore
store = EdgeStore(path=sys.argv[1], embedding_model_dims=4)
for number in range(500):
    ours = {"agent_id": "a", "audience": ["*"], "record": "fact"}
    row = (str(uuid.uuid4()), ours | {"data": str(number)})
    vector = np.array([1, 0, 0, number], dtype=np.float32)
    store.upsert_rows([row], [keys_of_one(vector, str(number))])
    print(number, flush=True)
os.kill(os.getpid(), 9)
"""


def test_what_was_acknowledged_survives_kill_9(tmp_path):
    from contrib_ai_memory.store.qdrant_edge import EdgeStore

    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -9
    store = EdgeStore(path=str(tmp_path), embedding_model_dims=4)
    kept = {payload["data"] for _id, payload in store.every_row(None)}
    assert kept == set(done.stdout.split())
    store.disconnect()


def test_nothing_is_sent_home_and_nothing_lands_in_the_home_folder(store, store_folder):
    from mem0.memory import setup, telemetry

    assert telemetry.MEM0_TELEMETRY is False
    assert not Path(setup.mem0_dir).is_relative_to(Path.home() / ".mem0")
    assert Path(setup.mem0_dir).name == "mem0"
    assert (store_folder / "mem0" / "history.db").exists()


def test_mem0_can_be_imported_before_any_store_is_opened():
    from mem0.memory import setup

    assert Path(setup.mem0_dir).name == "mem0"


AT_HOME = {
    "a file": lambda at: at.write_text("somebody else's"),
    "a folder with an odd configuration": lambda at: (
        at.mkdir(),
        (at / "config.json").write_text("[{ no JSON"),
        (at / "history.db").mkdir(),
        (at / "migrations_qdrant").write_text(""),
    ),
}


@pytest.mark.parametrize("there", AT_HOME)
def test_a_mem0_folder_of_somebody_else_is_neither_read_nor_changed(there, tmp_path):
    AT_HOME[there](tmp_path / ".mem0")

    def found():
        return {str(each): each.is_file() and each.read_bytes() for each in at.rglob("*")} | {
            "itself": at.is_file() and at.read_bytes()
        }

    at = tmp_path / ".mem0"
    before, existed = found(), at.exists()
    alone = "test_mem0_can_be_imported_before_any_store_is_opened"
    left_out = ("MEM0_DIR", "DJANGO_SETTINGS_MODULE")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", alone],
        env={k: v for k, v in os.environ.items() if k not in left_out} | {"HOME": str(tmp_path)},
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (found(), at.exists()) == (before, existed)


def test_mem0_is_never_asked_to_infer(store):
    with pytest.raises(NotImplementedError, match="infer=False"):
        store.mem0.llm.generate_response([])


def test_a_boolean_filter_is_refused_because_it_would_match_nothing(store):
    with pytest.raises(ValueError, match="no booleans"):
        store.mem0.vector_store.list({"private": True})


def test_what_was_looked_at_and_then_changed_or_deleted_is_seen_so_at_once(store):
    def seen():
        return {c.id: c.importance for c in weighed(store, "ferry").values()}

    first = memory_id_for(AGENT, 0)
    assert first in seen()
    store.change(first, importance=0.9)
    assert seen()[first] == 0.9
    store.upsert(AGENT, [memory(0, LINES[0], importance=0.2)], embedder.shared().encode(LINES[:1]))
    assert seen()[first] == 0.2
    store.delete([first])
    assert first not in seen()


def test_what_was_just_written_is_known_without_reading_it_and_as_it_would_be_read(store):
    record = memory(
        9,
        "A whisper at the ferry",
        record="experience",
        private=True,
        witnesses=("#1@a", "#2@b"),
        journal_ids=(4, 7),
        importance=1.0,
        memory_weight=1 / 3,
        about="#1@a",
        dominant_emotions=("joy", "trust", "fear"),
        expires_at="2027-01-01T00:00:00+00:00",
    )
    store.upsert(AGENT, [record], np.ones((1, 384), dtype=np.float32))
    written = store._recent.of([record.id])
    store._recent.clear()
    assert store._recent.of([record.id]) == written
    [candidate] = written.values()
    candidate.payload["data"] = "changed by whoever reads it"
    assert store.get([record.id]) == [record]
