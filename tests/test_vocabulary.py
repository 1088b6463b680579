"""How rare a word is, is a matter of each NPC alone."""

import logging
import sqlite3
import uuid

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.store import lanes, memory_store
from contrib_ai_memory.store.lanes import FEW, FILE, Vocabulary
from contrib_ai_memory.store.payload import memory_id_for

MINE, THEIRS = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


@pytest.fixture
def words(tmp_path):
    return Vocabulary(tmp_path)


def test_a_word_that_many_memories_hold_is_less_rare(words):
    words.count(MINE, {f"m{n}": [1, 2] if n % 10 == 0 else [1] for n in range(400)})
    [rarity] = words.rarity(MINE, [1, 2, 3], [1.0])
    assert rarity[1] < rarity[2] < rarity[3]
    assert all(value > 0 for value in rarity.values())


def test_a_memory_counts_once_however_often_it_is_written(words):
    for _ in range(3):
        words.count(MINE, {"m": [1]})
    words.count(MINE, {f"other{n}": [2] for n in range(FEW)})
    assert words.rarity(MINE, [1], [1.0])[0][1] == pytest.approx(5.0, abs=0.5)


def test_another_npc_changes_nothing_and_can_be_forgotten(words):
    words.count(MINE, {f"m{n}": [n % 7] for n in range(300)})
    before = words.rarity(MINE, range(7), [5.0])
    words.count(THEIRS, {f"t{n}": [3] for n in range(900)})
    assert words.rarity(MINE, range(7), [5.0]) == before
    words.forget(THEIRS)
    assert words.rarity(THEIRS, [3], [5.0]) == words.rarity("nobody", [3], [5.0])
    assert words.rarity(MINE, range(7), [5.0]) == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    memories=st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=30),
    reach=st.floats(1, 20),
)
def test_a_rarity_is_never_negative_however_common_the_word(words, memories, reach):
    agent_id = str(uuid.uuid4())
    words.count(agent_id, {f"m{n}": terms for n, terms in enumerate(memories)})
    assert all(value > 0 for value in words.rarity(agent_id, range(10), [reach])[0].values())


def test_a_broken_file_is_begun_anew_with_one_warning(words, tmp_path, caplog):
    words.count(MINE, {"m": [1]})
    words.close()
    (tmp_path / FILE).write_bytes(b"not a database at all" * 100)
    again = Vocabulary(tmp_path)
    with caplog.at_level("WARNING", "contrib_ai_memory"):
        logging.getLogger("contrib_ai_memory").addHandler(caplog.handler)
        again.count(MINE, {f"m{n}": [1] for n in range(FEW)})
        again.count(MINE, {"other": [2]})
        logging.getLogger("contrib_ai_memory").removeHandler(caplog.handler)
    [rarity] = again.rarity(MINE, [1, 2], [1.0])
    assert rarity[1] < rarity[2]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "started again" in caplog.text


def test_a_file_that_another_process_holds_is_done_without(words, tmp_path, monkeypatch):
    monkeypatch.setattr(lanes, "LOCK_SECONDS", 0.05)
    words.count(MINE, {"m": [1]})
    words.close()
    other = sqlite3.connect(tmp_path / FILE)
    other.execute("BEGIN EXCLUSIVE")
    again = Vocabulary(tmp_path)
    again.count(MINE, {f"m{n}": [1] for n in range(FEW)})
    other.close()
    assert again.rarity(MINE, [1], [1.0]) == Vocabulary(tmp_path).rarity(MINE, [1], [1.0])
    assert again.rarity(MINE, [1], [1.0])[0][1] > 4.0, "nothing was counted meanwhile"


def test_the_talk_of_another_npc_does_not_move_a_score(store_folder):
    store = memory_store.shared()
    vector = embedder.shared().encode(["ferry"])

    def remember(agent_id, number, text):
        made = MemoryRecord(memory_id_for(agent_id, number), text, "entry", key=f"Alice: {text}")
        store.upsert(agent_id, [made], vector)

    for number in range(5):
        remember(MINE, number, f"The ferry leaves at {number}.")

    def scores():
        search = store.prepare_search(MINE, vector[0], "When does the ferry leave?")
        return {c.id: c.lanes for c in store.score(search, store.candidates(search, 10))}

    before = scores()
    for number in range(30):
        remember(THEIRS, number, f"Every ferry is late, ferry {number} too.")
    assert scores() == before


def test_what_the_night_retells_does_not_move_the_scores_of_what_was_said(store_folder):
    store = memory_store.shared()
    vector = embedder.shared().encode(["ferry"])
    line = MemoryRecord(
        memory_id_for(MINE, 0), "The ferry leaks.", "entry", key="A: The ferry leaks."
    )
    store.upsert(MINE, [line], vector)

    def scored():
        search = store.prepare_search(MINE, vector[0], "Does the ferry leak?")
        return {c.id: c.lanes for c in store.score(search, [line.id])}[line.id]

    before = scored()
    retold = [
        MemoryRecord(memory_id_for(MINE, n), f"The ferry leaks, {n}.", "fact")
        for n in range(1, 400)
    ]
    store.upsert(MINE, retold, np.repeat(vector, len(retold), axis=0))
    assert scored() == before
