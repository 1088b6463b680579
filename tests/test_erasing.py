"""Erasing a person, and a mind whole: what goes, what stays, and what is left on the disk."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import doctor, edit, erase, forget, ids, reindex, undo_log
from contrib_ai_memory.admin.jobs import link_pages
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.errors import InputError
from contrib_ai_memory.records import MemoryRecord, Percept
from contrib_ai_memory.sleep.night import Sleep
from contrib_ai_memory.store import attributes, memory_store
from contrib_ai_memory.store.journal import Journal
from contrib_ai_memory.store.lanes import keys_of_one
from contrib_ai_memory.store.links import Link
from contrib_ai_memory.store.payload import completed, entry_memory_id
from contrib_ai_memory.store.preferences import Preference
from contrib_ai_memory.store.removal import DataSubject, Removal

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def talked(mara, alice, bram):
    """Mara has talked with Alice and Bram, aloud and in confidence, and slept on it."""
    says = [
        (alice, "say I keep the ferry at Millbrook."),
        (alice, "say I love tea with honey."),
        (bram, "say Wolves took two of my sheep near Harrow Hill."),
        (alice, "whisper Mara = I hide a silver key in Elmstead."),
        (bram, "whisper Mara = I owe the miller nine crowns."),
        (bram, "say I hate porridge."),
        (bram, "say Mara, where does Alice keep her boat?"),
        (alice, "say My brother Tomas lives in Harrowgate."),
        (bram, "say My sheep graze in the north field."),
    ]
    for who, line in says:
        who.execute_cmd(line)
    offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.flush()
    return mara


def identity_of(npc, who):
    return npc.get_memory_identity(who)


def erase_all_of(npc, who):
    return offload.wait(erase.erase_person(npc, identity_of(npc, who)))


def everything(npc) -> str:
    """All that is kept of a mind, as one text."""
    rows = npc.db_attributes.values_list("db_key", "db_value", "db_strvalue")
    script = npc.assistant.db_attributes.values_list("db_key", "db_value", "db_strvalue")
    memories = [
        memory.to_dict() for memory in memory_store.shared().list(npc.memory.id, limit=None)
    ]
    history = memory_store.shared().mem0.db.connection.execute("SELECT * FROM history").fetchall()
    return "\n".join(map(str, [*rows, *script, *memories, *history]))


def told(npc, query, **options):
    result = offload.wait(npc.memory.recall(query, **options))
    return [item.memory.content for item in result.memories]


@pytest.mark.parametrize("place", [57, 64, 65, 72])
def test_the_lines_around_are_no_longer_found_by_erased_words(mara, alice, bram, place):
    """Keys of a line hold the words around it: those on the next page of the journal as well."""
    hour = datetime(2026, 3, 2, 12, tzinfo=UTC)
    for number in range(1, 111):
        who = alice if number == place else bram
        mara.memory.perceive(
            Percept(
                content="I sailed to Zanzibar." if who is alice else f"Sheep number {number}.",
                kind="say",
                seen_as=who.key,
                source=identity_of(mara, who),
                witnesses=tuple(identity_of(mara, each) for each in (alice, bram)),
                location="#1",
                timestamp=(hour + timedelta(seconds=20 * number)).isoformat(),
            )
        )
    while not offload.wait(mara.memory.index_pending()):
        pass

    def found_by_the_word():
        store = memory_store.shared()
        vector = embedder.shared().encode(["Zanzibar"])[0]
        search = store.prepare_search(mara.memory.id, vector, "Zanzibar")
        every = [entry_memory_id(mara.memory.id, number) for number in range(1, 111)]
        return [each.journal_ids[0] for each in store.score(search, every) if any(each.lanes[2:])]

    assert {place - 1, place + 1} <= set(found_by_the_word())
    erase_all_of(mara, alice)
    assert found_by_the_word() == []


def test_nothing_of_the_person_is_left_and_the_counts_tell_of_it(talked, alice):
    before = everything(talked)
    assert "ferry at Millbrook" in before
    erased = erase_all_of(talked, alice)
    after = everything(talked)
    for word in ("Alice", "ferry", "honey", "silver key", "Tomas", identity_of(talked, alice)):
        assert word in before, word
        assert word not in after, word
    assert erased.entries >= 5
    assert erased.memories >= 6
    assert erased.people == 1
    assert erased.preferences == 1
    assert erased.links > 0
    assert erased.messages > 0
    assert erased.observations > 0


def test_a_memory_whose_last_link_goes_is_not_left_among_the_links(mara):
    links, now = mara.memory.links, mara.memory.clock()
    links.add([Link("1", "fact", 1.0, "evidence", now), Link("2", "fact", 1.0, "evidence", now)])
    links.remove(["1"])
    assert links.of("fact").keys() == {"2"}
    offload.wait(links.take_out(Removal({2}, {"fact"})))
    assert [each for page in link_pages(links) for each in page] == []


def test_what_the_other_said_is_recalled_as_before(talked, alice, bram):
    erase_all_of(talked, alice)
    assert any("sheep" in text for text in told(talked, "Where are the sheep?"))
    his = identity_of(talked, bram)
    assert any("nine crowns" in text for text in told(talked, "Whom do you owe?", speaker=his))
    assert talked.memory.people.name_of(his) == "Bram"
    assert talked.memory.profiles.get(his) is not None
    assert [each.text for each in talked.memory.preferences.of(his)] == ["I hate porridge."]


def test_what_was_drawn_from_both_goes_too(talked, alice, bram):
    memory = talked.memory
    [hers] = [e for e in memory.journal.read() if e.content == "I keep the ferry at Millbrook."]
    [his] = [e for e in memory.journal.read() if e.content == "I hate porridge."]
    from contrib_ai_memory.embedding import embedder
    from contrib_ai_memory.records import MemoryRecord
    from contrib_ai_memory.store.payload import memory_id_for

    both = MemoryRecord(
        id=memory_id_for(memory.id, "summary", "both"),
        content="They spoke of boats and of breakfast.",
        record="summary",
        journal_ids=(hers.id, his.id),
    )
    memory_store.shared().insert_new(memory.id, [both], embedder.shared().encode([both.content]))
    insight = memory.perceive(
        Percept(content="Breakfast matters.", kind="insight", origin="sleep", evidence=(both.id,))
    )
    memory.flush()
    erase_all_of(talked, alice)
    assert memory_store.shared().get([both.id]) == []
    assert memory.journal.get(insight.id) is None
    assert memory.journal.get(his.id) is not None


def test_an_answer_to_the_person_goes_and_one_to_another_stays(mara, alice, bram):
    memory = mara.memory
    hers, his = identity_of(mara, alice), identity_of(mara, bram)

    def hear(text, source, session, origin="perceived"):
        return memory.perceive(
            Percept(
                content=text,
                kind="say",
                seen_as="Mara" if origin == "self" else "someone",
                source=source,
                session_id=session,
                origin=origin,
            )
        )

    own = mara.get_memory_identity(mara)
    hear("Where is the boat?", hers, "a")
    to_her = hear("Down by the willow.", own, "a", "self")
    hear("Where is the mill?", his, "b")
    to_him = hear("Up on the hill.", own, "b", "self")
    erase_all_of(mara, alice)
    assert memory.journal.get(to_her.id) is None
    assert memory.journal.get(to_him.id).content == "Up on the hill."


def test_lines_of_others_are_found_no_more_by_the_words_around_them(mara, alice, bram):
    bram.execute_cmd("say Good evening to you.")
    alice.execute_cmd("say The zeppelin lands at the lighthouse.")
    bram.execute_cmd("say How splendid that is.")
    offload.wait(mara.memory.index_pending())
    assert lanes_of(mara, "zeppelin lighthouse")["Good evening to you."] > 0
    erase_all_of(mara, alice)
    assert set(lanes_of(mara, "zeppelin lighthouse").values()) == {0.0}


def lanes_of(npc, query):
    """By content: what the words of the lines around a memory say of a query."""
    from contrib_ai_memory.embedding import embedder

    store = memory_store.shared()
    search = store.prepare_search(npc.memory.id, embedder.shared().encode([query])[0], query)
    found = store.score(search, {m.id for m in store.list(npc.memory.id, limit=None)})
    names = {memory.id: memory.content for memory in store.get([each.id for each in found])}
    return {names[each.id]: each.lanes[3] for each in found}


def test_what_is_edited_or_taken_back_meanwhile_waits_and_brings_nothing_back(
    talked, alice, bram, monkeypatch
):
    ferry, key = (
        str(next(e.id for e in talked.memory.journal.read() if words in e.content))
        for words in ("ferry", "silver key")
    )
    offload.wait(forget.forget(talked, bram, ferry))
    begun = []
    step = erase._clear_references

    def meanwhile(*args):
        begun.append(edit.undo(talked, bram))
        begun.append(edit.edit(talked, bram, key, content="I hide a silver key in the mill."))
        assert not any(each.called for each in begun)
        return step(*args)

    monkeypatch.setattr(erase, "_clear_references", meanwhile)
    erase_all_of(talked, alice)
    for each, problem in zip(begun, (undo_log.NothingToUndo, ids.UnknownMemory), strict=True):
        with pytest.raises(problem):
            offload.wait(each)
    after = everything(talked)
    for word in ("Alice", "ferry", "silver key"):
        assert word not in after, word


def test_what_can_be_undone_goes_before_all_else(talked, alice, bram, monkeypatch):
    ferry = next(e.id for e in talked.memory.journal.read() if "ferry" in e.content)
    for begin in (lambda: erase_all_of(talked, alice), lambda: offload.wait(erase.wipe(talked))):
        offload.wait(edit.pin(talked, bram, str(ferry)))
        with monkeypatch.context() as broken:
            broken.setattr(erase, "plan_person", killed)
            broken.setattr(erase, "_wipe_store", killed)
            with pytest.raises(KeyboardInterrupt):
                begin()
        assert undo_log.acts(talked) == []
        offload.wait(edit.unpin(talked, bram, str(ferry)))
        undo_log.clear(talked)


def test_the_memory_has_one_holder_at_a_time(talked):
    script = talked.assistant
    first, second = script.hold_still(), script.hold_still()
    assert first.called and not second.called
    script.let_go()
    assert second.called
    assert script.state.busy_since == math.inf, "it is held still by the second"
    script.let_go()
    assert script.state.busy_since is None and not script.state.answering


def test_a_secret_preference_is_kept_once_for_those_who_heard_it(talked, alice, bram):
    hers, his = (identity_of(talked, who) for who in (alice, bram))
    kept = Preference(his, "like:rain", "I like rain.", "2026-01-01", "2026-01-01", private=True)
    talked.memory.preferences.put(replace(kept, witnesses=(hers, his)))
    erase_all_of(talked, alice)
    assert [p for p in talked.memory.preferences if p.slot == "like:rain"] == [
        replace(kept, witnesses=(his,))
    ]
    assert hers not in everything(talked)


def test_of_a_preference_that_rests_on_their_line_the_one_before_holds_again(talked, alice, bram):
    [hers] = [e for e in talked.memory.journal.read() if e.content.startswith("I keep the ferry")]
    his, preferences = identity_of(talked, bram), talked.memory.preferences
    preferences.set(his, "drink", "I like cider.", "2026-01-01T00:00:00+00:00")
    preferences.set(his, "drink", "I like what she has.", "2026-01-02T00:00:00+00:00", hers.id)
    erase_all_of(talked, alice)
    kept = preferences.get(his, "drink")
    assert (kept.text, kept.since, kept.history) == (
        "I like cider.",
        "2026-01-01T00:00:00+00:00",
        (),
    )


def test_names_go_out_of_the_whole_history_of_a_memory(talked, alice):
    own = MemoryRecord(id=str(uuid.uuid4()), content="The mill grinds rye.", record="fact")
    memory_store.shared().upsert(talked.memory.id, [own], embedder.shared().encode([own.content]))
    versions = [("Alice grinds rye.", "It grinds rye.", "UPDATE", "2020-01-01")]
    versions += [
        ("old", f"new {number}", "UPDATE", f"2021-01-01T00:00:{number}") for number in range(60)
    ]
    memory_store.shared().history.replace({own.id: versions})
    erase_all_of(talked, alice)
    assert memory_store.shared().get([own.id])
    said = memory_store.shared().history.of(own.id, newest=None)
    assert len(said) == 60 and "Alice" not in str(said)


def test_a_history_is_replaced_whole_or_not_at_all(talked):
    memory = memory_store.shared().list(talked.memory.id, record="fact")[0]
    before = memory_store.shared().history.of(memory.id)
    with pytest.raises(KeyboardInterrupt):
        memory_store.shared().history.replace({memory.id: map(killed, before)})
    assert before and memory_store.shared().history.of(memory.id) == before


def test_a_deletion_that_was_killed_leaves_no_history_behind(talked, monkeypatch):
    store, agent_id = memory_store.shared(), talked.memory.id
    ids_ = [memory.id for memory in store.list(agent_id, limit=None)]
    monkeypatch.setattr(store, "delete_points", killed)
    for delete in (lambda: store.delete(ids_[:1]), lambda: store.delete_all(agent_id)):
        with pytest.raises(KeyboardInterrupt):
            delete()
    assert not any(map(memory_store.shared().history.of, ids_))


def test_an_erasure_that_was_killed_ends_the_same_when_it_is_run_again(talked, alice, monkeypatch):
    """At each step in turn: what was not reached is done by the next one, nothing is forgotten."""
    steps = (
        (erase, "_clear_references"),
        *((type(part), "take_out") for part in talked.memory.parts),
        (erase, "_erase_from_journal"),
        (reindex, "rekey"),
    )
    for module, step in steps:
        with monkeypatch.context() as broken:
            broken.setattr(module, step, killed)
            with pytest.raises(KeyboardInterrupt):
                erase_all_of(talked, alice)
        assert erase.unfinished(talked)
    erase_all_of(talked, alice)
    assert erase.unfinished(talked) == []
    after = everything(talked)
    for word in ("Alice", "ferry", "honey", "silver key", "Tomas", identity_of(talked, alice)):
        assert word not in after, word
    assert not erase_all_of(talked, alice).anything


def killed(*_args, **_options):
    raise KeyboardInterrupt


def test_everywhere_is_every_npc(talked, alice, tavern):
    from evennia.utils.create import create_object

    gustav = create_object("typeclasses.npcs.AssistantNPC", key="Gustav", location=tavern)
    quiet = create_object("typeclasses.npcs.AssistantNPC", key="Quiet")
    gustav.memory  # noqa: B018
    alice.execute_cmd("say I dug a well at Thornby.")
    gustav.memory.flush()
    found = offload.wait(erase.erase_everywhere(identity_of(talked, alice)))
    assert set(found) == {talked.dbref, gustav.dbref}
    assert quiet.dbref not in found
    assert "Thornby" not in everything(gustav) + everything(talked)


def test_an_npc_cannot_be_erased_from_itself(talked):
    with pytest.raises(InputError, match="wipe it"):
        erase_all_of(talked, talked)


def test_a_wiped_mind_is_empty_and_learns_anew(talked, bram):
    mind_id = talked.memory.id
    erased = offload.wait(erase.wipe(talked))
    assert erased.entries >= 9
    assert erased.memories >= 7
    after = everything(talked)
    for word in ("Alice", "Bram", "ferry", "crowns", "sheep", "porridge"):
        assert word not in after, word
    assert talked.memory.id == mind_id
    assert len(talked.memory.journal) == 0
    assert talked.memory.links.count == 0
    assert talked.assistant.sleep.records == []
    bram.execute_cmd("say I planted barley today.")
    offload.wait(talked.memory.index_pending())
    assert told(talked, "barley") == ["I planted barley today."]


def test_a_mind_is_wiped_whose_attributes_were_all_looked_at(talked):
    talked.attributes.all()  # as `examine` does, and whoever copies the NPC
    assert talked.attributes.get("not there") is None
    talked.memory.agenda.clear()
    assert not len(talked.memory.agenda)


@pytest.mark.parametrize("wiped", [True, False])
def test_whoever_asks_meanwhile_brings_nothing_back(talked, alice, bram, monkeypatch, wiped):
    breathe, asked = offload.breathe, []

    def ask_and_breathe(*args):
        begun = wiped or attributes.keys_of(talked, erase.PLAN)
        if begun and not asking and len(asked) < 40:
            asking.append(True)
            asked.append(told(talked, "Where is the strongbox?"))
            asking.clear()
        return breathe(*args)

    asking = []
    alice.execute_cmd("say My strongbox lies under the chapel, and I love mead.")
    bram.execute_cmd("say The bell rang twice.")
    monkeypatch.setattr(offload, "breathe", ask_and_breathe)
    if wiped:
        offload.wait(erase.wipe(talked))
    else:
        erase_all_of(talked, alice)
    monkeypatch.setattr(offload, "breathe", breathe)
    assert len(asked) > 4
    assert not any("strongbox" in line for line in told(talked, "Where is the strongbox?"))
    assert "mead" not in everything(talked)
    rung = told(talked, "bell")
    assert ("The bell rang twice." in rung) is not wiped


@pytest.mark.parametrize("number", [1, 9, 18])
def test_what_is_said_while_a_mind_is_wiped_stays_and_is_answered(
    talked, bram, hears, at_turn, number
):
    heard = hears(bram)

    def talk():
        bram.execute_cmd("say I planted barley today.")
        for _ in range(40):  # more than a page of the journal
            bram.execute_cmd("pose digs on.")
        bram.execute_cmd("say Mara, what did I plant today?")

    happened = at_turn(number, talk)
    offload.wait(erase.wipe(talked))
    assert happened()
    talked.memory.flush()
    after = everything(talked)
    for word in ("Alice", "ferry", "crowns", "sheep", "porridge"):
        assert word not in after, word
    assert any("barley" in line and "Mara says" in line for line in heard), heard
    lines = Journal(talked).read()
    assert [each.content for each in lines if each.origin != "self"] == [
        "I planted barley today.",
        *["Bram digs on."] * 40,
        "Mara, what did I plant today?",
    ]
    assert [each.name for each in talked.memory.people] == ["Bram"]
    offload.wait(talked.memory.index_pending())
    assert "I planted barley today." in told(talked, "barley")
    assert offload.wait(doctor.check([talked])) == []


@pytest.mark.parametrize("step", ["_wipe_store", "_wipe_rows", "_wipe_journal"])
def test_a_wipe_that_broke_off_is_known_and_finished_and_what_was_said_since_stays(
    talked, bram, monkeypatch, step
):
    with monkeypatch.context() as broken:
        broken.setattr(erase, step, killed)
        with pytest.raises(KeyboardInterrupt):
            offload.wait(erase.wipe(talked))
    bram.execute_cmd("say I planted barley today.")
    [found] = [each.what for each in offload.wait(doctor.check([talked])) if "wipe" in each.what]
    assert "broke off half way" in found
    offload.wait(doctor.check([talked], mend=True))
    after = everything(talked)
    for word in ("Alice", "ferry", "crowns", "sheep", "porridge"):
        assert word not in after, word
    assert "I planted barley today." in told(talked, "barley")
    assert offload.wait(doctor.check([talked])) == []


def test_what_is_said_after_a_wipe_killed_at_its_very_end_stays(talked, bram, monkeypatch):
    remove = attributes.remove_json

    def killed_at_the_mark(npc, key, *category):
        return killed() if key == erase.WIPE_MARK else remove(npc, key, *category)

    with monkeypatch.context() as broken:
        broken.setattr(attributes, "remove_json", killed_at_the_mark)
        with pytest.raises(KeyboardInterrupt):
            offload.wait(erase.wipe(talked))
    del talked.__dict__["memory"]  # as at the next start
    attributes.reload_after_rollback(talked)
    bram.execute_cmd("say I planted barley today.")
    offload.wait(doctor.check([talked], mend=True))
    heard = [each.content for each in talked.memory.journal.read() if each.origin != "self"]
    assert heard == ["I planted barley today."]
    assert "ferry" not in everything(talked)


@pytest.mark.parametrize("number", [1, 5, 20, 30])
def test_a_night_during_which_its_mind_is_wiped_ends_and_leaves_nothing(
    talked, bram, at_turn, number
):
    bram.execute_cmd("say My barn at Thornwick burned down.")
    wiped = []
    happened = at_turn(number, lambda: wiped.append(erase.wipe(talked)))
    passes = offload.wait(talked.assistant.sleep.whole_night())
    assert happened() and wiped[0].called
    assert all(done["errors"] == [] for done in passes.values())
    assert not talked.assistant.asleep
    talked.memory.flush()
    after = everything(talked)
    for word in ("Alice", "ferry", "Thornwick"):
        assert word not in after, word


def test_a_wipe_right_at_the_end_of_a_night_costs_no_error(talked, builder, monkeypatch):
    end = Sleep._end

    def end_and_wipe(self, night):
        end(self, night)
        offload.wait(erase.wipe(talked))

    monkeypatch.setattr(Sleep, "_end", end_and_wipe)
    assert "wiped meanwhile" in builder("@sleep/now mara")


def test_other_npcs_keep_their_memory_when_one_is_wiped(talked, tavern, bram):
    from evennia.utils.create import create_object

    gustav = create_object("typeclasses.npcs.AssistantNPC", key="Gustav", location=tavern)
    gustav.memory  # noqa: B018
    bram.execute_cmd("say I planted barley today.")
    offload.wait(gustav.memory.index_pending())
    offload.wait(erase.wipe(talked))
    assert "I planted barley today." in told(gustav, "barley")


def test_error_texts_of_nights_go_and_their_kind_stays(talked, alice):
    night = {
        "started": "2026-01-01T00:00:00+00:00",
        "ended": "2026-01-01T01:00:00+00:00",
        "whole": True,
        "passes": {"run_reflection": {"read": 1, "errors": ["ValueError: the ferry is mine"]}},
    }
    attributes.write(talked.assistant, "night_records", [night])
    erase_all_of(talked, alice)
    [kept] = talked.assistant.sleep.records
    assert kept["passes"]["run_reflection"]["errors"] == ["ValueError"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("alice was here", True),
        ("Ask ALICE's brother", True),
        ("malice and Alicent", False),
        ("the tall man waved", True),
        ("#7@abc left", True),
    ],
)
def test_names_are_whole_words_in_any_case(text, named):
    assert DataSubject("#7@abc", ("Alice", "the tall man", "I")).named_in(text) is named


# --- on the disk ----------------------------------------------------------------------------------


@pytest.fixture
def shard(store_folder):
    """A store of the engine alone, and a look for a word in its files."""
    memory_store.prepare_environment(_made(store_folder))
    from contrib_ai_memory.store.qdrant_edge import EdgeStore

    return EdgeStore(path=str(store_folder), embedding_model_dims=4), store_folder


def _made(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def written(store, *texts):
    ids = [str(uuid.uuid5(uuid.NAMESPACE_OID, text)) for text in texts]
    payloads = [{"data": text, "agent_id": "a", "user_id": f"by {text}"} for text in texts]
    rows = zip(ids, map(dict, map(completed, payloads)), strict=True)
    vectors = np.array([[1, 0, 0, n] for n in range(len(texts))], dtype=np.float32)
    store.upsert_rows(list(rows), list(map(keys_of_one, vectors, texts)))
    return ids


def texts_in(store):
    return {each: payload["data"] for each, payload in store.every_row(None)}


def holding(folder, word):
    return [p.name for p in folder.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]


def rewritten(store, points=64):
    store.begin_rewriting()
    while not store.rewrite_some(points):
        pass


def test_what_is_deleted_stays_on_the_disk_until_the_shard_is_written_anew(shard):
    store, folder = shard
    hers, _his = written(store, "zanzibar", "porridge")
    store.delete_points([hers])
    assert holding(folder, "zanzibar"), "deleting is enough by now: rewriting can go"
    rewritten(store)
    assert holding(folder, "zanzibar") == []
    assert holding(folder, "porridge")
    assert [*texts_in(store).values()] == ["porridge"]
    store.disconnect()


def test_what_changes_while_it_is_written_anew_is_not_lost(shard):
    store, _folder = shard
    first, second, third = written(store, "one", "two", "three")
    store.begin_rewriting()
    assert not store.rewrite_some(2)
    store.change_each({first: {"data": "changed"}})
    store.delete_points([second])
    [fourth] = written(store, "four")
    while not store.rewrite_some(1):
        pass
    assert texts_in(store) == {first: "changed", third: "three", fourth: "four"}
    store.disconnect()


def test_a_rewriting_that_broke_off_is_done_at_the_next_opening(shard):
    store, folder = shard
    hers, *_others = written(store, "zanzibar", *map(str, range(20)))
    store.delete_points([hers])
    store.begin_rewriting()
    store.rewrite_some(3)
    store.disconnect()
    assert holding(folder, "zanzibar")
    again = type(store)(path=str(folder), embedding_model_dims=4)
    assert holding(folder, "zanzibar") == []
    assert again.total() == 20
    again.disconnect()


KILLED = """
import os, signal, sys, uuid
import numpy as np
from contrib_ai_memory.store.lanes import keys_of_one
from contrib_ai_memory.store.qdrant_edge import EdgeStore
store = EdgeStore(path=sys.argv[1], embedding_model_dims=4)
def write(texts):
    ours = {"agent_id": "a", "audience": ["*"], "record": "fact"}
    rows = [(str(uuid.uuid4()), ours | {"data": text}) for text in texts]
    vectors = np.array([[1, 0, 0, n] for n in range(len(texts))], dtype=np.float32)
    store.upsert_rows(rows, list(map(keys_of_one, vectors, texts)))
write([str(n) for n in range(50)])
store.begin_rewriting()
while not store.rewrite_some(10):
    pass
write(["after"])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_written_anew_survives_a_kill(shard):
    store, folder = shard
    store.disconnect()
    subprocess.run(
        [sys.executable, "-c", KILLED, str(folder / "other")],
        check=False,
        cwd=ROOT,
    )
    again = type(store)(path=str(folder / "other"), embedding_model_dims=4)
    assert again.path.name == "memories.1"
    assert again.total() == 51
    again.disconnect()


def test_every_connection_to_the_game_database_overwrites_what_it_frees(db):
    from django.db import connection

    if connection.vendor != "sqlite":
        pytest.skip("SQLite's own")
    from django.db.backends.signals import connection_created

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete = OFF")
        connection_created.send(type(connection), connection=connection)
        assert cursor.execute("PRAGMA secure_delete").fetchone() == (1,)


@pytest.mark.slow
def test_on_the_disk_is_nothing_left(tmp_path):
    """A game with a database in a file: every byte below its folder is looked at."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "erased_game.py"), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["before"], "the words were never on the disk: the test tests nothing"
    assert seen["after"] == {}
    assert seen["recalled"] == ["Wolves took two of my sheep near Harrow Hill."]
