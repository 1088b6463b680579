"""A store with one vector for each memory: fewer lanes, the same privacy and the same nights."""

import pytest
import real_stores

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.store import memory_store


@pytest.fixture(autouse=True)
def pgvector(settings, store_folder, tmp_path):
    with real_stores.config_of("pgvector", tmp_path) as config:
        settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "VECTOR_STORE": config}
        yield
        memory_store.close_shared(for_good=False)


def recalled(npc, query, **more):
    found = offload.wait(npc.memory.recall(query, **more))
    return [item.memory.content for item in found.memories]


def test_it_remembers_recalls_and_keeps_secrets(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step.")
    bram.execute_cmd("say Wolves came down from Harrow Hill.")
    hers, his = mara.get_memory_identity(alice), mara.get_memory_identity(bram)
    assert recalled(mara, "who keeps the ferry?", top_k=1) == ["I keep the ferry at Millbrook."]
    assert recalled(mara, "where is my key?", speaker=hers, top_k=1)[0].startswith("I hide")
    assert not any("silver key" in text for text in recalled(mara, "silver key", speaker=his))
    assert recalled(mara, "wolves", memory_types=["semantic"]) == []


def test_every_lane_is_its_own_search(mara, alice):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    offload.wait(mara.memory.index_pending())
    vector = embedder.shared().encode(["I keep the ferry at Millbrook."])[0]
    store = memory_store.shared()
    search = store.prepare_search(mara.memory.id, vector, "ferry")
    [candidate] = store.score(search, store.candidates(search, 5))
    line, window, near, wide = candidate.lanes
    assert line == pytest.approx(1.0, abs=1e-5)
    assert window == pytest.approx(1.0, abs=1e-5)
    assert near > 0 and wide > 0
    assert candidate.length > 0
