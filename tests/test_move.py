"""`evennia ai_memory move`: every memory of a game comes into another store, and back."""

from __future__ import annotations

import json
import os

import pytest
import real_stores
from django.core.management import call_command
from django.core.management.base import CommandError
from test_moving import export, talked, told

from contrib_ai_memory import offload
from contrib_ai_memory.admin import move
from contrib_ai_memory.store import lanes, memory_store

__all__ = ["talked"]  # a fixture
EDGE = {"provider": "qdrant_edge"}
TARGETS = [each for each in real_stores.OFFERED if each != "qdrant_edge"]


@pytest.fixture(params=TARGETS)
def elsewhere(request, tmp_path):
    """VECTOR_STORE of each other store, empty."""
    with real_stores.config_of(request.param, tmp_path) as config:
        yield config
        memory_store.close_shared(for_good=False)


@pytest.fixture
def local(tmp_path):
    return {"provider": "qdrant", "config": {"path": str(tmp_path / "qdrant")}}


@pytest.fixture
def move_to(settings, capsys):
    """Moves by the command, changes the setting as it says, and returns what it printed."""

    def moved(store, *options, follow=True):
        call_command("ai_memory", "move", "--to", json.dumps(store), *options)
        if follow:
            use(settings, store)
        return capsys.readouterr().out

    return moved


def use(settings, store):
    memory_store.close_shared(for_good=False)
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "VECTOR_STORE": store}


def outcomes(npc, alice, bram):
    """What can be known of a memory: recall for each listener, and Mem0's verbs."""
    hers, his = (npc.get_memory_identity(who) for who in (alice, bram))
    questions = ["Where is the silver key?", "What of tea?", "Who took the sheep?", "Elmstead"]
    recalled = [told(npc, each, speaker=who) for each in questions for who in (hers, his, None)]
    store = memory_store.shared()
    memories = sorted(store.list(npc.memory.id, None), key=lambda memory: memory.id)
    verbs = store.mem0.get_all(filters={"agent_id": npc.memory.id}, top_k=1000)["results"]
    one = memories[0].id
    return {
        "recalled": recalled,
        "counts": store.counts(npc.memory.id),
        "memories": memories,
        "mem0": sorted(verbs, key=lambda each: each["id"]),
        "get": store.mem0.get(one),
        "history": {each.id: store.history.of(each.id) for each in memories},
        "mem0 history": store.mem0.history(one),
    }


def test_everything_is_there_and_back_as_it_was(talked, alice, bram, elsewhere, move_to, tmp_path):
    before = outcomes(talked, alice, bram)
    assert any("silver key" in text for text in before["recalled"][0])
    export(talked, tmp_path / "a.jsonl")
    printed = move_to(elsewhere)
    assert f"{sum(before['counts'].values())} memories are in {elsewhere['provider']} " in printed
    assert outcomes(talked, alice, bram) == before
    export(talked, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    with pytest.raises(CommandError, match="--replace"):
        move_to(EDGE)
    move_to(EDGE, "--replace")
    assert outcomes(talked, alice, bram) == before
    offload.wait(talked.assistant.sleep.whole_night())
    assert memory_store.shared().counts(talked.memory.id) == before["counts"]


def test_nothing_is_embedded_and_words_are_counted_as_before(talked, local, move_to, monkeypatch):
    from contrib_ai_memory.embedding.embedder import Embedder

    agent_id = talked.memory.id
    ids = [memory.id for memory in memory_store.shared().list(agent_id, None)]
    terms = lanes.terms_of("ferry key wolves")
    rarity = memory_store.shared().vocabulary.rarity(agent_id, terms, [1.0])
    monkeypatch.setattr(Embedder, "encode", lambda *_args, **_more: pytest.fail("embedded"))
    move_to(local)
    store = memory_store.shared()
    assert store.lane_vectors(ids).keys() == set(ids)
    assert store.vocabulary.rarity(agent_id, terms, [1.0]) == rarity


@pytest.mark.parametrize("place", ["_copy_page", "_prune_page", "_check_page"])
def test_broken_off_anywhere_it_ends_the_same(
    talked, alice, bram, local, move_to, settings, monkeypatch, place
):
    before = outcomes(talked, alice, bram)
    monkeypatch.setattr(move, "AT_ONCE", 3)
    done, job = [], getattr(move, place)

    def broken(*args):
        done.append(args)
        if len(done) == 2:
            raise KeyboardInterrupt
        return job(*args)

    with monkeypatch.context() as during:
        during.setattr(move, place, broken)
        with pytest.raises(CommandError, match="run the same command again"):
            move_to(local, follow=False)
    memory_store.close_shared(for_good=False)
    assert outcomes(talked, alice, bram) == before, "the old store was touched"
    edge = settings.CONTRIB_AI_MEMORY.get("VECTOR_STORE", EDGE)
    use(settings, local)
    with pytest.raises(memory_store.StoreUnusable, match="was interrupted"):
        memory_store.shared()
    use(settings, edge)
    move_to(local)
    assert outcomes(talked, alice, bram) == before


def test_what_was_remembered_and_forgotten_between_two_runs_is_moved_too(
    talked, alice, bram, local, move_to, monkeypatch
):
    def broken(*_args):
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(move, "_check_page", broken)
        with pytest.raises(CommandError):
            move_to(local, follow=False)
    memory_store.close_shared(for_good=False)
    alice.execute_cmd("say My cat is called Biscuit.")
    offload.wait(talked.memory.index_pending())
    gone = next(iter(memory_store.shared().list(talked.memory.id, None, record="fact")))
    memory_store.shared().delete([gone.id])
    talked.memory.flush()
    before = outcomes(talked, alice, bram)
    move_to(local)
    assert outcomes(talked, alice, bram) == before
    assert gone.id not in memory_store.shared().payloads([gone.id])


def test_run_twice_it_ends_the_same(talked, alice, bram, local, move_to):
    before = outcomes(talked, alice, bram)
    move_to(local, follow=False)
    move_to(local, "--replace")
    assert outcomes(talked, alice, bram) == before


@pytest.mark.parametrize(
    ("store", "problem"),
    [
        ("qdrant_edge", "in that store already"),
        ("chroma", "does not name a supported store"),
        ('{"provider": "qdrant"', "is not JSON"),
        ('{"provider": "qdrant", "config": {"urll": "x"}}', "urll"),
        ('{"provider": "qdrant", "config": {"url": "http://127.0.0.1:9"}}', "does not answer"),
        ('{"provider": "pgvector", "conf": {}}', "conf"),
    ],
)
def test_a_store_that_cannot_be_moved_to_is_said_and_nothing_changes(talked, store, problem):
    held = memory_store.shared().counts(talked.memory.id)
    with pytest.raises(CommandError, match=problem):
        call_command("ai_memory", "move", "--to", store)
    assert memory_store.shared().counts(talked.memory.id) == held


def test_a_password_is_neither_shown_nor_needed_on_the_command_line(
    talked, move_to, capsys, monkeypatch, tmp_path
):
    import io

    with real_stores.config_of("pgvector", tmp_path) as table:
        url = table["config"]["connection_string"].replace("postgres:@", "postgres:s3cret-word@")
        store = {"provider": "pgvector", "config": {**table["config"], "connection_string": url}}
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(store)))
        call_command("ai_memory", "move", "--to", "-")
        printed = capsys.readouterr().out
        assert 'CONTRIB_AI_MEMORY["VECTOR_STORE"] = ' in printed and "pgvector" in printed
        assert "s3cret" not in printed
        assert "rm -r" in printed


def test_beside_a_running_game_it_refuses(talked, local, settings):
    from pathlib import Path

    pid_file = Path(settings.GAME_DIR) / "server" / "server.pid"
    pid_file.write_text(str(os.getpid()))
    try:
        with pytest.raises(CommandError, match="evennia stop"):
            call_command("ai_memory", "move", "--to", json.dumps(local))
    finally:
        pid_file.unlink()
