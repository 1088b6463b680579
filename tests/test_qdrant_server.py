"""A Qdrant server: few requests, several games, and errors that say what to do.

What it has in common with every store is in test_store_contract.py.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from datetime import UTC, datetime, timedelta

import grpc
import numpy as np
import pytest
from django.core.management import call_command
from qdrant_client import QdrantClient, models
from qdrant_http import QdrantHTTP

from contrib_ai_memory import offload
from contrib_ai_memory.admin import doctor, erase, reindex
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.store import generations, lanes, memory_store, metadata
from contrib_ai_memory.store.condition import (
    StoreMismatch,
    StoreRefused,
    StoreUnreachable,
    StoreUnusable,
)
from contrib_ai_memory.store.links import Link
from contrib_ai_memory.store.payload import memory_id_for

QUERY, PAYLOADS = "POST points/query/batch", "POST points"
AGENT = str(uuid.UUID(int=1))


@pytest.fixture
def qdrant():
    with QdrantHTTP() as server:
        yield server


@pytest.fixture
def use(settings, store_folder):
    """Opens the store of one game on a server: use(qdrant, "one", timeout=1)."""
    embedding = settings.CONTRIB_AI_MEMORY

    def opened(server, game="one", **config):
        memory_store.close_shared(for_good=False)
        url = server.url if isinstance(server, QdrantHTTP) else server
        settings.CONTRIB_AI_MEMORY = {
            **embedding,
            "DIR": str(store_folder / game),
            "VECTOR_STORE": {"provider": "qdrant", "config": {"url": url, **config}},
        }
        return memory_store.shared()

    return opened


@pytest.fixture
def store(use, qdrant):
    return use(qdrant)


def put(store, texts, agent_id=AGENT, **more):
    records = [
        MemoryRecord(
            memory_id_for(agent_id, text),
            text,
            record="fact",
            created_at="2026-01-01T00:00:00+00:00",
            **more,
        )
        for text in texts
    ]
    store.upsert(agent_id, records, embedder.shared().encode(texts))
    return [each.id for each in records]


def asked(server, work):
    """The requests that some work makes."""
    before = len(server.requests)
    work()
    return server.requests[before:]


# --- round trips ----------------------------------------------------------------------------------


@pytest.fixture
def talked(mara, alice, bram, store):
    for who, line in (
        (alice, "say I keep the ferry at Millbrook."),
        (bram, "say Wolves took two of my sheep near Harrow Hill."),
        (alice, "whisper Mara = I hide a silver key in Elmstead."),
        (bram, "say Who keeps the ferry?"),
    ):
        who.execute_cmd(line)
    offload.wait(mara.memory.index_pending())
    return mara


def recalls(npc, query="Who keeps the ferry?", **more):
    result = offload.wait(npc.memory.recall(query, **more))
    return [item.memory.content for item in result.memories]


def test_a_recall_is_one_request_to_rank_and_one_for_what_is_told(talked, qdrant, bram):
    his = talked.get_memory_identity(bram)
    assert asked(qdrant, lambda: recalls(talked)) == [QUERY, PAYLOADS]
    assert asked(qdrant, lambda: recalls(talked, speaker=his)) == [QUERY, PAYLOADS]
    assert recalls(talked, speaker=his)[0] == "I keep the ferry at Millbrook."


def test_secrets_that_crowd_out_the_rest_cost_no_further_request(talked, qdrant, bram):
    secrets = [f"The silver key lies under step {n}." for n in range(250)]
    put(memory_store.shared(), secrets, talked.memory.id, private=True, witnesses=("#9@z",))
    his, found = talked.get_memory_identity(bram), []
    query = "Where is the silver key of the ferry?"
    requests = asked(qdrant, lambda: found.extend(recalls(talked, query, speaker=his)))
    assert requests == [QUERY, PAYLOADS]
    assert "I keep the ferry at Millbrook." in found
    assert not any("silver key" in text for text in found)


def test_a_recall_brings_less_than_half_of_the_bytes_of_whole_payloads(talked, qdrant):
    tale = (
        "On market day {n} sacks of barley were carried past the ferry, and everybody {n} saw it."
    )
    texts = [tale.format(n=n) for n in range(250)]
    ids = put(memory_store.shared(), texts, talked.memory.id, key=f"Alice told it: {tale}")
    store, query = memory_store.shared(), "Who carried barley past the ferry on market day?"
    before = qdrant.sent
    found = offload.wait(talked.memory.recall(query)).memories
    brought = qdrant.sent - before
    search = store.prepare_search(talked.memory.id, embedder.shared().encode([query])[0], query)
    store.score(search, store.candidates(search, 200))
    assert brought < 0.5 * (qdrant.sent - before - brought)
    assert found and all(each.memory.key and each.memory.id in ids for each in found[:5])


def test_links_that_lead_beyond_the_candidates_are_one_more_request(talked, qdrant):
    put(
        memory_store.shared(),
        [f"Crate {n} is full of ferries." for n in range(250)],
        talked.memory.id,
    )
    [far] = put(memory_store.shared(), ["Ebba paints."], talked.memory.id)
    talked.memory.links.add([Link("1", far, 0.9, "similar", "")])
    assert asked(qdrant, lambda: recalls(talked)) == [QUERY, QUERY, PAYLOADS]


def test_writes_go_in_batches_and_accesses_in_one_request(store, qdrant):
    ids = []
    requests = asked(qdrant, lambda: ids.extend(put(store, [f"Crate {n}" for n in range(300)])))
    assert Counter(requests) == {"PUT points": 3}
    noted = asked(qdrant, lambda: memory_store.note_access(ids, "2026-02-01T00:00:00+00:00"))
    assert noted == ["POST points", *["POST points/batch"] * 5]
    assert {each.access_count for each in store.get(ids)} == {2}
    assert asked(qdrant, lambda: store.delete(ids)) == ["POST points/delete"]
    assert store.count(AGENT) == 0


def test_opened_again_a_store_reads_the_collection_and_makes_nothing(store, use, qdrant):
    assert asked(qdrant, lambda: use(qdrant)) == ["GET /", "GET exists", "GET"]


# --- the collection -------------------------------------------------------------------------------


def test_settings_of_a_cluster_reach_the_collection(use, qdrant):
    use(
        qdrant,
        collection_name="inn",
        shard_number=6,
        replication_factor=2,
        write_consistency_factor=1,
        on_disk=True,
        on_disk_payload=True,
    )
    made = qdrant.created["inn"]
    assert (made["shard_number"], made["replication_factor"]) == (6, 2)
    assert (made["write_consistency_factor"], made["on_disk_payload"]) == (1, True)
    assert {each["on_disk"] for each in made["vectors"].values()} == {True}
    assert {each["index"]["on_disk"] for each in made["sparse_vectors"].values()} == {True}
    assert [*made["vectors"], *made["sparse_vectors"]] == list(lanes.LANES)
    agent = qdrant.indexes["inn"]["agent_id"]
    assert (agent["type"], agent["is_tenant"]) == ("keyword", True)
    assert {"game_id", "audience", "created_at"} <= qdrant.indexes["inn"].keys()


def test_only_the_npcs_own_field_has_links_in_the_graph(use, qdrant):
    use(qdrant)
    made = qdrant.indexes["memories"]
    assert {name for name, of in made.items() if of.get("enable_hnsw") is not False} == {"agent_id"}
    qdrant.version = "1.16.3"  # which does not know that
    use(qdrant, collection_name="older")
    assert not any("enable_hnsw" in of for of in qdrant.indexes["older"].values())


def test_indexes_of_another_kind_are_made_anew_once_and_it_is_logged(use, qdrant, caplog):
    use(qdrant)
    wanted = dict(qdrant.indexes["memories"])
    other = {"agent_id": "keyword", "created_at": "keyword", "tells": {"type": "keyword"}}
    qdrant.indexes["memories"] = {**wanted, **other}
    assert asked(qdrant, lambda: use(qdrant)).count("PUT index") == 3
    assert qdrant.indexes["memories"] == wanted
    [said] = [each for each in caplog.messages if "another kind" in each]
    assert all(name in said for name in other)
    assert "PUT index" not in asked(qdrant, lambda: use(qdrant))


def test_an_old_server_is_refused_with_its_version(use, qdrant):
    qdrant.version = "1.11.5"
    with pytest.raises(StoreUnusable, match=r"1\.11\.5.*needs 1\.12.*Update"):
        use(qdrant)


def test_a_collection_of_another_program_is_refused_with_the_way_out(use, qdrant):
    one = models.VectorParams(size=384, distance=models.Distance.COSINE)
    qdrant.engine.create_collection("memories", one)
    qdrant.indexes["memories"] = {}
    with pytest.raises(StoreMismatch, match=r"other vectors.*another.*collection_name"):
        use(qdrant)


def test_its_lanes_score_as_those_of_edge_do(store, use, qdrant, settings, store_folder):
    texts = [
        f"{who} {does} the {what}"
        for who in "Ada Bo Cy".split()
        for does in "keeps sold burnt".split()
        for what in "ferry mill well inn".split()
    ]
    query = "Who sold the old mill?"
    vector = embedder.shared().encode([query])[0]

    def scored(some):
        around = [(abs(n - 3), text) for n, text in enumerate(texts[:8])]
        words = {name: lanes.bm25(around, lane) for name, lane in lanes.WORD_LANES.items()}
        talk = lanes.Keys(vector, embedder.shared().encode([texts[0]])[0], words)
        ids = put(some, texts)
        some.rekey({ids[3]: talk})
        search = some.prepare_search(AGENT, vector, query)
        found = some.score(search, some.candidates(search, len(texts)))
        return {each.id: each.lanes for each in found}

    of_server = scored(store)
    memory_store.close_shared(for_good=False)
    settings.CONTRIB_AI_MEMORY = {
        **settings.CONTRIB_AI_MEMORY,
        "DIR": str(store_folder / "edge"),
        "VECTOR_STORE": {"provider": "qdrant_edge"},
    }
    of_edge = scored(memory_store.shared())
    assert of_server.keys() == of_edge.keys()
    for each in of_edge:
        # Edge keeps vectors in eight bits
        assert of_server[each] == pytest.approx(of_edge[each], abs=0.01), each
    assert sum(near > 0 for _line, _window, near, _wide in of_server.values()) > 5


def test_what_was_written_by_mem0_is_found_by_its_words(store):
    put(store, [f"Crate {n} is full of turnips" for n in range(40)])
    [added] = store.mem0.add("Orrin guards the gate", agent_id=AGENT, infer=False)["results"]
    nothing = np.zeros(384, dtype=np.float32)
    search = store.prepare_search(AGENT, nothing, "Orrin")
    [best] = [each for each in store.score(search, store.candidates(search, 5)) if each.lanes[2]]
    assert (best.id, best.record) == (added["id"], "taught")


# --- several games --------------------------------------------------------------------------------


@pytest.fixture
def other_game(use, qdrant):
    """Memories of another game in the same collection."""
    agent_id = str(uuid.uuid4())
    put(use(qdrant, "other"), ["Orrin guards the gate.", "Alice keeps the ferry."], agent_id)
    return agent_id


def points(server):
    """How many points of each NPC there are, whoever asks."""
    found = server.engine.scroll("memories", limit=1000)[0]
    return Counter(each.payload["agent_id"] for each in found)


def findings(mend):
    return [each.what for each in offload.wait(doctor.check(mend=mend))]


def test_doctor_finds_the_orphans_of_its_own_game_alone(other_game, talked, qdrant):
    orphan = str(uuid.uuid4())
    put(memory_store.shared(), ["Gustav is gone."], orphan)
    [what] = findings(mend=True)
    assert orphan[:8] in what
    assert findings(mend=True) == []
    assert points(qdrant).keys() == {other_game, talked.memory.id}
    assert points(qdrant)[other_game] == 2


def test_each_game_knows_its_own_npcs_and_its_own_words(other_game, talked, use, qdrant):
    assert set(memory_store.shared().agents()) == {talked.memory.id}
    assert (
        dict(memory_store.shared().rows(None)[0])
        .keys()
        .isdisjoint(dict(use(qdrant, "other").rows(other_game)[0]))
    )
    assert memory_store.shared().agents() == {other_game: 2}
    words = memory_store.shared().prepare_search(talked.memory.id, np.zeros(384), "ferry").queries
    use(qdrant, "one")
    ours = memory_store.shared().prepare_search(talked.memory.id, np.zeros(384), "ferry").queries
    assert words["near"] != ours["near"], "words of an NPC are counted by its own game"


def test_erasing_and_uninstalling_leave_the_other_game_alone(
    other_game, talked, alice, qdrant, capsys
):
    offload.wait(erase.erase_person(talked, talked.get_memory_identity(alice), ["Alice"]))
    assert not any("Millbrook" in text for text in recalls(talked, "Millbrook"))
    put(memory_store.shared(), ["Gustav is gone."], str(uuid.uuid4()))
    call_command("ai_memory", "uninstall", "--yes")
    assert points(qdrant) == {other_game: 2}


def test_mem0s_reset_and_a_reindex_leave_the_other_game_alone(other_game, talked, qdrant):
    before = {each.id: each.payload for each in qdrant.engine.scroll("memories", limit=1000)[0]}
    assert offload.wait(reindex.reindex_all()) == points(qdrant)[talked.memory.id]
    after = {each.id: each.payload for each in qdrant.engine.scroll("memories", limit=1000)[0]}
    assert after == before
    memory_store.shared().mem0.reset()
    assert points(qdrant) == {other_game: 2}


def test_a_game_that_lost_its_folder_finds_its_memories_under_its_own_id(
    talked, use, qdrant, store_folder, monkeypatch
):
    monkeypatch.setattr(memory_store, "expected", None)
    generations.pair(generations.of_store())
    known = metadata.store_id(store_folder / "one")
    memory_store.close_shared(for_good=False)
    (store_folder / "one" / "store.json").unlink()
    generations.expect()
    assert set(use(qdrant, "one").agents()) == {talked.memory.id}
    assert metadata.store_id(store_folder / "one") == known


def test_the_games_id_is_no_part_of_a_memory(store):
    [each] = put(store, ["Orrin guards the gate."])
    store.change(each, importance=0.9)
    assert "game_id" not in store.payloads([each])[each]
    assert "game_id" not in dict(store.rows(AGENT)[0])[each]
    [found] = store.score(store.prepare_search(AGENT, np.ones(384), "gate"), [uuid.UUID(each)])
    assert "game_id" not in found.payload


# --- strict mode ----------------------------------------------------------------------------------


@pytest.fixture(params=["double", "server"])
def limited(request, use):
    """Opens a store under limits of strict mode: limited(max_query_limit=100)."""
    name, double = f"strict_{uuid.uuid4().hex[:12]}", QdrantHTTP()
    if request.param == "server" and not os.environ.get("QDRANT_URL"):
        pytest.skip("QDRANT_URL names no Qdrant server")
    with double:
        url = double.url if request.param == "double" else os.environ["QDRANT_URL"]
        client = QdrantClient(url, check_compatibility=False)

        def opened(**limits):
            use(url, collection_name=name)
            strict = models.StrictModeConfig(enabled=True, **limits)
            client.update_collection(name, strict_mode_config=strict)
            return lambda: use(url, collection_name=name)

        yield opened
        memory_store.close_shared(for_good=False)
        client.delete_collection(name)


def all_that_a_store_does(store):
    """What the verbs of a store bring, with more memories than a small limit holds."""
    ids = put(store, [f"{who} keeps crate {n}." for who in ("Ada", "Bo") for n in range(75)])
    memory_store.note_access(ids, "2026-02-01T00:00:00+00:00")
    [vector] = embedder.shared().encode(["Who keeps crate 7?"])
    store.rekey({ids[0]: lanes.keys_of_one(vector, "crate 7")})
    search = store.prepare_search(AGENT, vector, "Who keeps crate 7?")
    where = {"listener": "#1@z", "tells": "something", "memory_type": {"in": ["episodic"]}}
    found = store.find(search, 30, [uuid.UUID(each) for each in ids], **where)
    near = store.nearest_each(AGENT, [vector] * 5, 8)
    brought = (
        {each.id: tuple(round(score, 3) for score in each.lanes) for each in found},
        [[hit.memory.id for hit in hits] for hits in near],
        store.counts(AGENT),
        store.agents(),
        len(store.list(AGENT, None)),
        len(store.newest(AGENT, "fact", 140)),
        {each.access_count for each in store.get(ids)},
    )
    store.delete(ids[:140])
    assert store.count(AGENT) == 10
    store.reset()
    assert store.count(AGENT) == 0
    return brought


@pytest.mark.parametrize(
    "limits",
    [
        {"max_query_limit": 120},
        {"search_max_batchsize": 1},
        {"upsert_max_batchsize": 50},
        {"filter_max_conditions": 8},
        {"condition_max_size": 16},
        {"unindexed_filtering_retrieve": False, "unindexed_filtering_update": False},
    ],
    ids=lambda limits: "-".join(limits),
)
def test_a_store_keeps_within_the_limits_of_strict_mode(limits, limited, use, qdrant):
    assert all_that_a_store_does(limited(**limits)()) == all_that_a_store_does(use(qdrant))


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"max_query_limit": 50}, "max_query_limit = 50"),
        ({"search_allow_exact": False}, "search_allow_exact = False"),
        ({"filter_max_conditions": 3}, "filter_max_conditions = 3"),
        ({"condition_max_size": 4}, "condition_max_size = 4"),
        ({"max_payload_index_count": 5}, "max_payload_index_count = 5"),
        ({"sparse_config": {"near": {"max_length": 64}}}, r"sparse_config\.near\.max_length = 64"),
    ],
)
def test_a_limit_under_which_nothing_would_work_is_refused_at_the_start(limits, name, limited):
    with pytest.raises(StoreUnusable, match=f"{name}, and .* needs .* Raise that limit") as refused:
        limited(**limits)()
    assert "api_key" not in str(refused.value)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_query_limit": 10},
        {"search_max_batchsize": 1},
        {"upsert_max_batchsize": 10},
        {"search_allow_exact": False},
        {"filter_max_conditions": 1},
        {"condition_max_size": 1},
        {"max_points_count": 5},
    ],
    ids=lambda limits: "-".join(limits),
)
def test_a_limit_that_is_set_while_the_game_runs_is_told_as_the_server_says_it(limits, limited):
    limited(**limits)
    with pytest.raises(StoreRefused, match="strict mode: raise it") as refused:
        for _ in range(40):  # a server counts its points now and then
            all_that_a_store_does(memory_store.shared())
    assert "api_key" not in str(refused.value)


# --- a cluster ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replicas", "config", "consistency", "ordering"),
    [
        (1, {}, None, None),
        (2, {}, None, "medium"),
        (3, {}, "quorum", "medium"),
        (3, {"read_consistency": "all", "write_ordering": "strong"}, "all", "strong"),
        (1, {"read_consistency": 2, "write_ordering": "weak"}, "2", "weak"),
    ],
)
def test_reads_and_writes_are_as_safe_as_replicas_need(
    replicas, config, consistency, ordering, use, qdrant
):
    qdrant.replicas = replicas
    store = use(qdrant, **config)
    qdrant.asked.clear()
    ids = put(store, ["Orrin guards the gate."], private=True, witnesses=("#1@z",))
    store.delete(ids)
    assert {str(each.get("ordering", [None])[0]) for each, _ in qdrant.asked} == {str(ordering)}
    qdrant.asked.clear()
    store.score(store.prepare_search(AGENT, np.ones(384), "gate"), [uuid.UUID(int=2)])
    store.get(ids)
    assert {str(each.get("consistency", [None])[0]) for each, _ in qdrant.asked} == {
        str(consistency)
    }


def test_three_replicas_are_written_by_the_majority(use, qdrant):
    use(qdrant, replication_factor=3)
    assert qdrant.created["memories"]["write_consistency_factor"] == 2


def test_the_next_node_is_asked_where_one_does_not_answer(use, qdrant):
    with QdrantHTTP() as other:
        other.engine, other.indexes = qdrant.engine, qdrant.indexes
        store = use(["http://127.0.0.1:1", qdrant.url, other.url])
        [each] = put(store, ["Orrin guards the gate."])
        qdrant.__exit__()
        assert [memory.id for memory in store.get([each])] == [each]
        assert asked(other, lambda: store.count(AGENT)) == ["POST points/count"]
    with pytest.raises(StoreUnreachable):
        store.count(AGENT)


def test_a_busy_server_is_asked_again_when_it_says(store, use, qdrant):
    qdrant.busy = 1
    ids = put(store, ["Orrin guards the gate."])
    assert store.existing(ids) == {*ids}
    qdrant.failing = 1  # as where the leader of a shard has just gone
    store.delete(ids)
    assert store.count(AGENT) == 0
    store = use(qdrant, timeout=1)
    qdrant.busy = 9
    with pytest.raises(StoreUnreachable, match="Rate limiting"):
        store.count(AGENT)


def test_changes_go_in_small_requests_and_done_again_end_the_same(store, qdrant):
    ids = put(store, [f"Crate {n}" for n in range(100)])
    change = {each: {"importance": 0.9, "tags": ["locked"]} for each in ids}
    qdrant.asked.clear()
    store.change_each(change)
    assert max(len(body["operations"]) for _, body in qdrant.asked) <= 64
    before = store.payloads(ids)
    store.change_each(change | {str(uuid.uuid4()): {"importance": 0.1}})
    assert store.payloads(ids) == before


def test_a_backup_names_the_snapshot_that_it_does_not_replace(db, store, tmp_path, capsys):
    call_command("ai_memory", "backup", str(tmp_path / "backup.tar.gz"))
    assert "POST /collections/memories/snapshots" in capsys.readouterr().out


# --- while it is away -----------------------------------------------------------------------------

FOG = "My head is full of fog just now"


def said_by(npc, since):
    return [each.content for each in npc.memory.journal.read(since + 1) if each.origin == "self"]


@pytest.fixture
def away(talked, bram, qdrant):
    """Mara, who was asked by Bram while her store was down, and the journal's length before."""
    since = len(talked.memory.journal)
    qdrant.__exit__()
    bram.execute_cmd("say Mara, who keeps the ferry?")
    bram.execute_cmd("say Mara, who keeps the ferry at Millbrook?")
    assert [FOG in each for each in said_by(talked, since)] == [True]
    return talked, len(talked.memory.journal)


def beat(npc):
    offload.wait(npc.assistant.at_tick())


def test_an_npc_whose_store_is_down_says_so_in_character_and_answers_later(away, qdrant):
    mara, since = away
    with pytest.raises(StoreUnreachable):
        beat(mara)
    assert said_by(mara, since) == []
    qdrant.__enter__()
    beat(mara)
    assert [("Millbrook" in each, FOG in each) for each in said_by(mara, since)] == [
        (True, False)
    ] * 2
    beat(mara)
    assert len(said_by(mara, since)) == 2


def test_what_was_asked_asleep_and_put_off_is_answered_as_that(talked, bram, qdrant):
    talked.assistant.sleep.begin()
    bram.execute_cmd("say Mara, who keeps the ferry?")
    qdrant.__exit__()
    since = len(talked.memory.journal)
    talked.assistant.sleep.interrupt()
    assert [FOG in each for each in said_by(talked, since)] == [True]
    qdrant.__enter__()
    beat(talked)
    assert "while I slept" in said_by(talked, since)[-1]


def test_what_was_put_off_is_answered_though_the_game_was_stopped_meanwhile(away, qdrant):
    mara, since = away
    mara.assistant.ndb.state = None
    qdrant.__enter__()
    mara.assistant.at_server_start()
    assert ["Millbrook" in each for each in said_by(mara, since)] == [True, True]


@pytest.mark.parametrize("why", ["left", "late"])
def test_it_answers_nobody_who_has_left_or_after_five_minutes(why, away, bram, qdrant):
    mara, since = away
    if why == "left":
        bram.location = None
    else:
        late = datetime.now(UTC) + timedelta(minutes=6)
        mara.memory.clock = late.isoformat
    qdrant.__enter__()
    beat(mara)
    assert said_by(mara, since) == []


# --- errors ---------------------------------------------------------------------------------------


def test_a_server_that_is_gone_is_unreachable(store, qdrant):
    put(store, ["Orrin guards the gate."])
    qdrant.__exit__()
    with pytest.raises(StoreUnreachable, match="does not answer"):
        store.count(AGENT)


def test_a_wrong_key_is_refused_and_not_shown(use, qdrant):
    qdrant.api_key = "right"
    with pytest.raises(StoreRefused, match="api_key") as refused:
        use(qdrant, api_key="wrong-key-123")
    assert "wrong-key-123" not in str(refused.value)
    put(use(qdrant, api_key="right"), ["Orrin guards the gate."])


def test_over_grpc_a_refusal_and_a_silence_are_told_apart(use):
    from concurrent.futures import ThreadPoolExecutor

    nothing = grpc.server(ThreadPoolExecutor(1))  # it knows no method
    port = nothing.add_insecure_port("127.0.0.1:0")
    nothing.start()
    with pytest.raises(StoreRefused):
        use(f"http://127.0.0.1:{port}", prefer_grpc=True, grpc_port=port, timeout=2)
    nothing.stop(0).wait()
    with pytest.raises(StoreUnreachable):
        use(f"http://127.0.0.1:{port}", prefer_grpc=True, grpc_port=port, timeout=2)
