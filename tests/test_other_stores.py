"""A store of somebody else through Mem0: fewer lanes, the same privacy and the same nights."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.store import memory_store


@pytest.fixture
def local_qdrant(settings, tmp_path):
    """Mem0's own local Qdrant, pure Python."""
    config = {
        "path": str(tmp_path / "qdrant"),
        "collection_name": "memories",
        "embedding_model_dims": 384,
        "on_disk": True,
    }
    settings.CONTRIB_AI_MEMORY = {
        "DIR": str(tmp_path / "store"),
        "VECTOR_STORE": {"provider": "qdrant", "config": config},
    }
    yield
    memory_store.close_shared(for_good=False)


def recalled(npc, query, **more):
    found = offload.wait(npc.memory.recall(query, **more))
    return [item.memory.content for item in found.memories]


def test_mem0s_own_qdrant_remembers_recalls_and_keeps_secrets(mara, alice, bram, local_qdrant):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
    bram.execute_cmd("say Wolves came down from Harrow Hill.")
    hers, his = mara.get_memory_identity(alice), mara.get_memory_identity(bram)
    assert recalled(mara, "who keeps the ferry?", top_k=1) == ["I keep the ferry at Millbrook."]
    assert recalled(mara, "where is my key?", speaker=hers, top_k=1)[0].startswith("I hide")
    assert not any("silver key" in text for text in recalled(mara, "silver key", speaker=his))
    assert recalled(mara, "wolves", memory_types=["semantic"]) == []


def test_a_night_over_mem0s_own_qdrant_makes_facts_and_links(mara, alice, bram, local_qdrant):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    offload.wait(mara.assistant.sleep.whole_night())
    assert [fact.content for fact in memory_store.shared().list(mara.memory.id, record="fact")] == [
        "Alice keeps the ferry at Millbrook."
    ]
    assert mara.memory.links.count >= 1
    assert recalled(mara, "ferry")


def test_every_lane_of_a_store_without_lanes_is_its_own_search(mara, alice, local_qdrant):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    offload.wait(mara.memory.index_pending())
    vector = embedder.shared().encode(["I keep the ferry at Millbrook."])[0]
    store = memory_store.shared()
    search = store.prepare_search(mara.memory.id, vector, "ferry")
    [candidate] = store.score(search, store.candidates(search, 5))
    line, window, *_ = candidate.lanes
    assert line == window == pytest.approx(1.0, abs=1e-5)
    assert candidate.length > 0
