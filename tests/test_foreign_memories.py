"""What somebody's own Mem0 script wrote into the game's store: recalled, shown, and no orphan."""

import re
import uuid
from pathlib import Path

import pytest
from django.core.management import call_command

from contrib_ai_memory import offload
from contrib_ai_memory.admin import doctor
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.store import lanes, memory_store

FERRY = "The ferry at Millbrook is kept by Ottilie Brandt."
JONAS = "The ferry at Millbrook is kept by Jonas Weir."
KEY = "The silver key lies under the third step."


def script(npc, text, **more):
    """A Mem0 user's script: nothing but Mem0's own `add`. Returns the memory's id."""
    made = memory_store.shared().mem0.add(text, agent_id=npc.memory.id, infer=False, **more)
    return made["results"][0]["id"]


def plain_point(npc, text, **payload):
    """What a script of another process left on a store: Mem0's payload and nothing else."""
    store, memory_id = memory_store.shared(), str(uuid.uuid4())
    payload = {"data": text, "agent_id": npc.memory.id, "hash": "x", "role": "user"} | payload
    key = lanes.keys_of_one(embedder.shared().encode([text])[0], text)
    store.upsert_rows([(memory_id, payload)], [key])  # past all that completes it
    return memory_id


def asks(npc, who, hears, question):
    heard = hears(who)
    who.execute_cmd(f"say Mara, {question}")
    return next((line for line in heard if line.startswith(("Mara says", "Mara whispers"))), "")


@pytest.fixture(autouse=True)
def no_waiting(settings, store_folder):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"REPLY_COOLDOWN": 0}


def of_the_guide(npc):
    """Run what the guide for operators prints, and return its names."""
    page = Path(__file__).parents[1] / "docs" / "guides" / "operators.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S)
    names = {"npc": npc}
    exec(next(block for block in blocks if "mem0.get_all" in block), names)
    return names


def test_mem0_is_used_as_the_guide_prints_it_and_the_npc_answers_by_it(mara, alice, hears):
    alice.execute_cmd("say I keep the mill at Elmstead.")
    offload.wait(mara.assistant.sleep.whole_night())
    done = of_the_guide(mara)
    assert {"Alice keeps the mill at Elmstead."} <= {each["memory"] for each in done["told"]}
    assert "mill" in done["found"][0]["memory"]
    assert [each["event"] for each in done["versions"]] == ["ADD", "UPDATE"]
    [known] = memory_store.shared().get([done["memory_id"]])
    assert known.importance == 0.9
    answer = asks(mara, alice, hears, "who keeps the ferry at Millbrook?")
    assert "Ottilie Brandt" in answer and "Jonas" not in answer


def test_what_a_night_draws_is_added_by_mem0_and_its_end_is_no_other_version(mara, alice):
    mem0 = memory_store.shared().mem0
    for toll in ("seven", "nine"):
        alice.execute_cmd(f"say The ferry toll at Millbrook is {toll} crowns.")
        offload.wait(mara.assistant.sleep.whole_night())
    drawn = memory_store.shared().list(mara.memory.id, record="fact")
    assert sorted(bool(each.superseded_by) for each in drawn) == [False, True]
    for each in drawn:
        assert [row["new_memory"] for row in mem0.history(each.id)] == [each.content]


def test_a_fact_that_is_deleted_or_forgotten_leaves_none_of_its_versions(mara, alice, builder):
    for line in ("I keep the mill at Elmstead.", "My sister Dora sells rope at Wick."):
        alice.execute_cmd(f"say {line}")
    offload.wait(mara.assistant.sleep.whole_night())
    mem0 = memory_store.shared().mem0
    first, second = memory_store.shared().list(mara.memory.id, record="fact")
    mem0.update(first.id, text="Alice owned a mill once.")
    assert len(mem0.history(first.id)) == 2
    mem0.delete(first.id)
    builder(f"@memory/forget Mara = {second.id[:8]}")
    builder("yes")
    assert memory_store.shared().list(mara.memory.id, record="fact") == []
    rows = mem0.db.connection.execute("SELECT * FROM history").fetchall()
    assert not {first.id, second.id}.intersection(row[1] for row in rows)
    with pytest.raises(ValueError, match="not found"):
        mem0.delete(first.id)


def test_all_verbs_of_mem0_work_beside_a_living_npc(mara, alice, hears, builder):
    alice.execute_cmd("say I keep the mill at Elmstead.")
    offload.wait(mara.assistant.sleep.whole_night())
    mem0, mine = memory_store.shared().mem0, {"agent_id": mara.memory.id}
    question = "who keeps the ferry at Millbrook?"

    told = mem0.get_all(filters=mine)["results"]
    assert "I keep the mill at Elmstead." in {each["memory"] for each in told}
    [fact] = [each for each in told if each["metadata"]["record"] == "fact"]
    assert fact["memory"] == "Alice keeps the mill at Elmstead."
    found = mem0.search("Who keeps the mill?", filters=mine)["results"]
    assert fact["id"] in {each["id"] for each in found}

    [added] = mem0.add(FERRY, agent_id=mara.memory.id, infer=False)["results"]
    assert mem0.get(added["id"])["memory"] == FERRY
    assert "Ottilie Brandt" in asks(mara, alice, hears, question)

    mem0.update(added["id"], data=JONAS)
    mem0.update(fact["id"], data="Alice sold the mill at Elmstead.")
    answer = asks(mara, alice, hears, question)
    assert "Jonas Weir" in answer and "Ottilie" not in answer
    assert "Alice sold the mill" in builder("@memory/facts Mara")
    assert {each["event"] for each in mem0.history(added["id"])} == {"ADD", "UPDATE"}
    said = memory_store.shared().history.of(added["id"])
    assert [each[:3] for each in said] == [("", FERRY, "ADD"), (FERRY, JONAS, "UPDATE")]

    mem0.delete(added["id"])
    assert "Jonas Weir" not in asks(mara, alice, hears, question)
    assert mem0.get(added["id"]) is None
    offload.wait(mara.assistant.sleep.whole_night())
    errors = [p["errors"] for n in mara.assistant.sleep.records for p in n["passes"].values()]
    assert not any(errors)
    [kept] = memory_store.shared().get([fact["id"]])
    assert (kept.content, kept.journal_ids) == ("Alice sold the mill at Elmstead.", (1,))


@pytest.mark.parametrize("write", [script, plain_point])
def test_an_npc_answers_from_what_a_script_told_it(mara, alice, hears, builder, write):
    alice.execute_cmd("say Wolves came down from Harrow Hill.")
    memory_id = write(mara, FERRY)
    assert "Ottilie Brandt" in asks(mara, alice, hears, "who keeps the ferry at Millbrook?")
    assert "Harrow Hill" in asks(mara, alice, hears, "where did the wolves come down from?")
    assert f"{memory_id[:8]} [taught" in builder("@memory/search Mara = who keeps the ferry?")
    if write is script:  # which completes it, so that it can be found by its id
        assert "Ottilie Brandt" in builder(f"@memory/show Mara = {memory_id[:8]}")
        assert "Ottilie Brandt" in builder("@memory/facts Mara = lessons")


def test_a_night_a_day_and_the_doctor_leave_it_as_it_is(mara, alice, hears, builder):
    memory_id = script(mara, FERRY)
    for line in ("I keep the mill.", "I love tea.", "Wolves came down from Harrow Hill."):
        alice.execute_cmd(f"say {line}")
    offload.wait(mara.assistant.sleep.whole_night())
    errors = [p["errors"] for n in mara.assistant.sleep.records for p in n["passes"].values()]
    assert not any(errors)
    assert offload.wait(doctor.check(mend=True)) == []
    assert memory_store.shared().get([memory_id])[0].content == FERRY
    assert "Ottilie Brandt" in asks(mara, alice, hears, "who keeps the ferry at Millbrook?")
    for line in ("stats Mara", "Mara", f"trace Mara = {memory_id[:8]}", "journal Mara"):
        assert "went wrong" not in builder(f"@memory/{line}")


def test_it_counts_and_can_be_forgotten(mara, builder):
    memory_id = script(mara, FERRY)
    store = memory_store.shared()
    assert sum(store.counts(mara.memory.id).values()) == store.count(mara.memory.id) == 1
    told = builder(f"@memory/forget Mara = {memory_id[:8]}") + builder("yes")
    assert "1 lesson" in told, told
    assert store.count(mara.memory.id) == 0


def test_what_a_script_noted_of_one_user_is_told_to_nobody_else(mara, alice, bram, hears):
    hers = mara.get_memory_identity(alice)
    script(mara, KEY, user_id=hers)
    question = "where does the silver key lie?"
    assert "third step" not in asks(mara, bram, hears, question)
    bram.location = None
    assert "third step" in asks(mara, alice, hears, question)


@pytest.mark.parametrize("scope", [{"user_id": "alice"}, {"run_id": "session-7"}])
def test_what_a_script_noted_of_somebody_unknown_is_told_to_nobody(
    mara, alice, hears, builder, scope
):
    script(mara, KEY, **scope)
    assert "third step" not in asks(mara, alice, hears, "where does the silver key lie?")
    assert "third step" in builder("@memory/search Mara = silver key")


@pytest.mark.parametrize(
    "metadata",
    [
        {"importance": "high", "tags": "quest", "entities": {"a": 1}, "journal_ids": "x"},
        {"record": "note", "memory_type": 7, "created_at": "yesterday", "access_count": "often"},
        {"record": "entry", "private": "yes", "witnesses": "Alice", "dominant_emotions": 3},
        {"expiration_date": "2001-01-01"},
    ],
)
def test_odd_metadata_of_a_script_does_not_silence_the_npc(mara, alice, hears, builder, metadata):
    alice.execute_cmd("say Wolves came down from Harrow Hill.")
    plain_point(mara, KEY, **metadata)
    assert "Harrow Hill" in asks(mara, alice, hears, "where did the wolves come down from?")
    offload.wait(mara.assistant.sleep.whole_night())
    assert "went wrong" not in builder("@memory/search Mara = silver key")
    assert "went wrong" not in builder("@memory/stats Mara")


def test_a_script_goes_through_export_and_import(mara, alice, hears, builder, tmp_path):
    script(mara, FERRY)
    call_command("ai_memory", "export", "Mara", str(tmp_path / "mara.jsonl"))
    call_command("ai_memory", "import", str(tmp_path / "mara.jsonl"), "--npc", "Mara", "--replace")
    assert "Ottilie Brandt" in asks(mara, alice, hears, "who keeps the ferry at Millbrook?")
