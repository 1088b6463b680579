"""What does not fit together is found, and mended where that is asked for; reindexing."""

from __future__ import annotations

import itertools
import json
import uuid

import numpy as np
import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import archive, erase, game_npcs, reindex
from contrib_ai_memory.admin import doctor as memory_doctor
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.records import MemoryRecord, Percept
from contrib_ai_memory.store import attributes, generations, memory_store, metadata
from contrib_ai_memory.store.condition import StoreMismatch
from contrib_ai_memory.store.links import Link
from contrib_ai_memory.store.payload import entry_memory_id


@pytest.fixture
def talked(mara, alice, bram):
    for who, line in (
        (alice, "say I keep the ferry at Millbrook."),
        (bram, "say Wolves took two of my sheep near Harrow Hill."),
        (alice, "whisper Mara = I hide a silver key in Elmstead."),
        (bram, "say My sheep graze in the north field."),
    ):
        who.execute_cmd(line)
    offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.flush()
    return mara


def doctor(*npcs, mend=False):
    return offload.wait(memory_doctor.check(npcs or None, mend=mend))


def found(*npcs, mend=False):
    return [(each.count, each.what, each.mended) for each in doctor(*npcs, mend=mend)]


def mended(npc, count, part):
    """The finding is there, is mended, and is there no more."""
    [(n, what, done)] = found(npc)
    assert (n, done) == (count, False)
    assert part in what
    [(n, what, done)] = found(npc, mend=True)
    assert (n, done) == (count, True)
    assert found(npc) == []


def told(npc, query, **options):
    result = offload.wait(npc.memory.recall(query, **options))
    return [item.memory.content for item in result.memories]


def test_words_are_compared_whichever_process_read_them(talked, monkeypatch):
    """Each process of Python hashes texts in its own way."""
    hashes = itertools.count()
    monkeypatch.setattr(memory_doctor, "hash", lambda text: next(hashes), raising=False)
    assert found(talked) == []


def test_a_sound_memory_has_no_findings(talked):
    assert doctor() == []


def test_an_entry_that_the_store_lost_is_indexed_again(talked):
    memory_store.shared().delete([entry_memory_id(talked.memory.id, 1)])
    offload.wait(_drop_links(talked, "1"))
    mended(talked, 1, "missing in the store")
    assert any("ferry" in text for text in told(talked, "ferry"))
    assert memory_store.shared().get([entry_memory_id(talked.memory.id, 1)])


def _drop_links(npc, linked):
    npc.memory.links.remove([linked])
    return offload.breathe()


def test_entries_that_wait_to_be_indexed_are(mara, alice):
    hers = mara.get_memory_identity(alice)
    line = "I keep the ferry at Millbrook."
    mara.memory.perceive(Percept(content=line, kind="say", seen_as="Alice", source=hers))
    mended(mara, 1, "wait to be indexed")
    assert told(mara, "ferry") == [line]


def test_a_memory_of_an_entry_that_is_no_more_goes(mara, alice):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    offload.wait(mara.memory.index_pending())
    mara.memory.journal.remove([1])
    mended(mara, 1, "memories of removed journal entries")
    assert memory_store.shared().count(mara.memory.id) == 0


def test_links_to_what_is_no_more_go(talked):
    links = talked.memory.links
    before = links.count
    gone = "6a1f5c3e-0000-4000-8000-000000000000"
    links.add([Link("1", gone, 0.5, "similar", "")])
    mended(talked, 1, "linked memories do not exist")
    assert links.count == before
    assert gone not in links.of("1")


def test_cursors_behind_the_end_are_put_back(talked):
    talked.memory.journal.set_cursor("scored", 5000)
    mended(talked, 1, "scored")
    assert talked.memory.journal.cursors["scored"] == len(talked.memory.journal)


def test_memories_of_a_deleted_npc_go_from_the_disk_too(talked, store_folder, tavern):
    from evennia.objects.models import ObjectDB
    from evennia.utils.create import create_object

    gustav = create_object("typeclasses.npcs.AssistantNPC", key="Gustav", location=tavern)
    offload.wait(gustav.memory.add("The zeppelin is in the barn."))
    agent_id = gustav.memory.id
    ObjectDB.objects.filter(id=gustav.id).delete()  # as the admin's bulk deletion does
    [(count, what, done)] = found()
    assert (count, done) == (1, False)
    assert agent_id[:8] in what
    assert found(mend=True)[0][2]
    assert found() == []
    assert memory_store.shared().count(agent_id) == 0
    assert told(talked, "ferry")
    memory_store.close_shared(for_good=False)
    held = [p for p in store_folder.rglob("*") if p.is_file() and b"zeppelin" in p.read_bytes()]
    assert held == []


def test_an_npc_with_another_typeclass_keeps_its_memories(talked):
    from evennia.objects.models import ObjectDB

    path = "typeclasses.characters.Character"
    ObjectDB.objects.filter(id=talked.id).update(db_typeclass_path=path)
    assert found(mend=True) == []
    assert memory_store.shared().count(talked.memory.id) > 0


@pytest.fixture
def shared_server(settings, tmp_path, store_folder):
    """A store that this game shares with another one, and a memory of that other game in it."""
    config = {"path": str(tmp_path / "shared"), "collection_name": "m"}
    ours = {
        **settings.CONTRIB_AI_MEMORY,
        "VECTOR_STORE": {"provider": "qdrant", "config": config},
    }
    settings.CONTRIB_AI_MEMORY = ours | {"DIR": str(tmp_path / "other game")}
    foreign = MemoryRecord(id=str(uuid.uuid4()), content="Orrin guards the gate.", record="fact")
    agent_id = str(uuid.uuid4())
    memory_store.shared().upsert(agent_id, [foreign], np.eye(1, 384, dtype=np.float32))
    memory_store.close_shared(for_good=False)
    settings.CONTRIB_AI_MEMORY = ours
    return agent_id, foreign.id


def _vector_of(memory_id):
    client = memory_store.shared().client
    [point] = client.retrieve("m", [memory_id], with_vectors=True)
    return point.vector["line"]


def test_on_a_server_the_memories_of_other_games_are_left_alone(shared_server, mara):
    agent_id, _memory_id = shared_server
    offload.wait(mara.memory.add("The cellar floods in spring."))
    offload.wait(mara.memory.index_pending())
    assert found(mend=True) == []
    assert memory_store.shared().count(agent_id) == 1


def test_on_a_server_only_the_minds_of_this_game_are_embedded_anew(shared_server, mara):
    _mind, memory_id = shared_server
    offload.wait(mara.memory.add("The cellar floods in spring."))
    [own] = memory_store.shared().list(mara.memory.id)
    memory_store.shared().mem0.vector_store.update(own.id, vector=[1.0] + [0.0] * 383)
    assert offload.wait(reindex.reindex_all()) == 1
    assert _vector_of(memory_id)[0] == 1.0, "the vector of another game was made anew"
    assert _vector_of(own.id)[0] != 1.0


def test_on_a_server_an_import_leaves_the_mind_to_the_game_that_has_it(
    shared_server, mara, tmp_path
):
    agent_id, _memory_id = shared_server
    offload.wait(mara.memory.add("The cellar floods in spring."))
    path = tmp_path / "a.jsonl"
    offload.wait(archive.export(mara, path))
    theirs = path.read_text().replace(mara.memory.id, agent_id)
    own, [entry] = entry_memory_id(mara.memory.id, 1), mara.memory.journal.read()
    path.write_text(theirs.replace(own, entry_memory_id(agent_id, entry.id)))
    offload.wait(archive.import_(mara, path, replace=True))
    assert mara.memory.id != agent_id
    assert memory_store.shared().count(agent_id) == 1, "the mind of another game was deleted"
    assert told(mara, "cellar") == ["The cellar floods in spring."]
    assert len(game_npcs.known_agent_ids()) == 1


def test_half_an_import_is_told_of(talked):
    attributes.write_json(talked, erase.IMPORT_MARK, {"paused": False})
    [(_count, what, done)] = found(talked, mend=True)
    assert "Import the file again" in what
    assert not done


def test_half_an_erasure_is_finished(talked, alice, monkeypatch):
    identity = talked.get_memory_identity(alice)
    with monkeypatch.context() as broken:
        broken.setattr(erase, "_erase_from_journal", killed)
        with pytest.raises(KeyboardInterrupt):
            offload.wait(erase.erase_person(talked, identity))
    assert any("broke off" in what for _count, what, _done in found(talked))
    assert any(done for _count, _what, done in found(talked, mend=True))
    assert found(talked) == []
    assert not any("ferry" in entry.content for entry in talked.memory.journal.read())


def killed(*_args):
    raise KeyboardInterrupt


def test_a_store_of_another_time_is_told_of_and_nothing_is_thrown_away(talked, store_folder):
    doctor()  # the pair is noted
    memory_store.close_shared(for_good=False)
    meta = store_folder / "store.json"
    plain = json.loads(meta.read_text())
    meta.write_text(json.dumps(plain | {"store_id": "another"}))
    generations.adopt(plain)
    talked.attributes.add("memory_id", "11111111-2222-4333-8444-555555555555")
    [(_count, what, done)] = found()[:1]
    assert "restored without" in what
    assert not done
    before = memory_store.shared().total()
    found(mend=True)
    assert memory_store.shared().total() >= before, "whose they are was not known"
    assert not any("restored without" in what for _count, what, _done in found())


# --- reindexing -----------------------------------------------------------------------------------


def spoil(npc):
    """Vectors and words that have nothing to do with what the memories say."""
    from contrib_ai_memory.store import lanes

    store = memory_store.shared()
    wrong = lanes.keys_of_one(np.eye(1, 384, dtype=np.float32)[0], "nonsense")
    store.rekey({memory.id: wrong for memory in store.list(npc.memory.id, limit=None)})


def test_reindexed_it_is_found_again_as_before(talked, alice):
    queries = ("Where is the ferry?", "wolves", "silver key")
    hers = talked.get_memory_identity(alice)
    before = [told(talked, query, speaker=hers) for query in queries]
    spoil(talked)
    assert [told(talked, query, speaker=hers) for query in queries] != before
    count = offload.wait(reindex.reindex_all())
    assert count == memory_store.shared().count(talked.memory.id)
    assert [told(talked, query, speaker=hers) for query in queries] == before


@pytest.fixture
def other_model(monkeypatch):
    """Another embedding model, of other dimensions: a real one's vectors, cut off."""

    class Shorter:
        name = "shorter"
        dimensions = 128

        def __init__(self):
            self._model = embedder.shared().model

        def encode(self, texts):
            vectors = self._model.encode(texts)[:, :128]
            return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

        def count_tokens(self, text):
            return self._model.count_tokens(text)

    def take():
        memory_store.close_shared(for_good=False)
        monkeypatch.setattr(embedder, "_shared", embedder.Embedder(Shorter()))

    return take


def test_a_store_of_another_model_is_told_of_and_reindexed(talked, alice, other_model):
    hers = talked.get_memory_identity(alice)
    payloads = {m.id: m for m in memory_store.shared().list(talked.memory.id, limit=None)}
    other_model()
    [(_count, what, _done)] = found()
    assert "evennia ai_memory reindex" in what
    with pytest.raises(StoreMismatch):
        told(talked, "ferry")
    offload.wait(reindex.reindex_all())
    assert any("ferry" in text for text in told(talked, "Where is the ferry?"))
    assert any("silver key" in text for text in told(talked, "key", speaker=hers))
    assert {m.id: m for m in memory_store.shared().list(talked.memory.id, limit=None)} == payloads
    [vector] = memory_store.shared().vectors_of(list(payloads.values())[:1])
    assert len(vector) == 128
    memory_store.close_shared(for_good=False)
    memory_store.shared()


def test_a_reindex_that_was_killed_leaves_the_store_as_it_was(talked, other_model, monkeypatch):
    before = memory_store.shared().count(talked.memory.id)
    own, kind = embedder.shared(), type(memory_store.shared())
    other_model()
    with monkeypatch.context() as broken:
        broken.setattr(kind, "rewrite_some", killed)
        with pytest.raises(KeyboardInterrupt):
            offload.wait(reindex.reindex_all())
    memory_store.close_shared(for_good=False)
    with monkeypatch.context() as as_it_was:
        as_it_was.setattr(embedder, "_shared", own)
        assert memory_store.shared().count(talked.memory.id) == before
        assert told(talked, "ferry")
        memory_store.close_shared(for_good=False)
    offload.wait(reindex.reindex_all())
    assert memory_store.shared().count(talked.memory.id) == before


def test_an_export_comes_to_another_model(talked, other_model, tmp_path, store_folder):
    offload.wait(archive.export(talked, tmp_path / "a.jsonl"))
    offload.wait(erase.wipe(talked))
    other_model()
    (store_folder / "store.json").unlink()
    import shutil

    shutil.rmtree(store_folder / "qdrant_edge")
    offload.wait(archive.import_(talked, tmp_path / "a.jsonl"))
    assert any("ferry" in text for text in told(talked, "Where is the ferry?"))
    assert metadata.read(store_folder)["dimensions"] == 128
    offload.wait(archive.export(talked, tmp_path / "b.jsonl"))
    kept = [(tmp_path / name).read_text() for name in ("a.jsonl", "b.jsonl")]
    assert kept[0] == kept[1]
