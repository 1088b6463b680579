"""Search of all NPCs, searches as a listener, forgetting several memories, and the log."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from evennia.utils.create import create_object
from page_visits import logged_in, main_of, told, url, words

from contrib_ai_memory import offload
from contrib_ai_memory.admin import audit, edit, forget, game_search, inspect
from contrib_ai_memory.store import memory_store

SEARCH, LOG = "/memory/search/", "/memory/log/"


@pytest.fixture
def odo(tavern):
    return create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)


# --- lists ----------------------------------------------------------------------------------------


def test_the_list_of_facts_says_how_many_it_does_not_show(keeper, lived):
    first, *others = offload.wait(inspect.memories(lived, "fact")).results
    memory_store.shared().change(first.id, superseded_by=others[0].id)
    page = url("memories", lived, "fact")
    assert f"of {len(others)}, newest first; 1 superseded, not shown" in words(keeper.get(page))
    ended = words(keeper.get(page, {"ended": "on"}))
    assert "of 1, newest first" in ended and "not shown" not in ended
    for each in others:
        memory_store.shared().change(each.id, superseded_by=first.id)
    assert "All of them are superseded" in words(keeper.get(page))


# --- search ---------------------------------------------------------------------------------------


def test_all_npcs_are_searched_at_once(keeper, mara, odo, alice, log):
    told(mara, alice, "I keep the ferry at Millbrook.")
    told(odo, alice, "The ferry chain is rusty.", "I like tea.")
    text = words(keeper.get(SEARCH, {"q": "ferry"}))
    assert "2 NPCs searched" in text and "Secrets are included" in text
    assert re.search(r"Mara 1 Alice I keep the ferry", text), text
    assert re.search(r"Odo 1 Alice The ferry chain", text)
    looks = [line for line in log if "a search of all NPCs" in line]
    assert len(looks) == 2 and "ferry" not in " ".join(log)
    assert "Enter a question" in words(keeper.get(SEARCH))


def test_from_any_npcs_that_were_searched_a_link_leads_to_the_first(keeper, mara):
    assert "First NPCs" not in words(keeper.get(SEARCH, {"q": "ferry"}))
    later = main_of(keeper.get(SEARCH, {"q": "ferry", "from": "700"}))
    assert 'href="?q=ferry">← First NPCs' in later


def test_a_search_as_a_listener_leaves_out_what_they_may_not_know(keeper, mara, odo, alice, bram):
    told(mara, alice, "The silver key is under the step.", kind="whisper")
    told(mara, bram, "The key of the mill is lost.")
    told(odo, alice, "A key opens the gate.")
    asked = {"q": "Where is the key?"}
    everything = words(keeper.get(SEARCH, asked))
    assert "under the step" in everything
    for_bram = words(keeper.get(SEARCH, asked | {"who": "Bram"}))
    assert "may tell Bram" in for_bram and "under the step" not in for_bram
    assert "key of the mill" in for_bram and "under the step" in words(
        keeper.get(SEARCH, asked | {"who": alice.dbref})
    )
    page = url("search", mara)
    own = words(keeper.get(page, asked | {"who": mara.get_memory_identity(bram)}))
    assert "under the step" not in own and "key of the mill" in own and "may tell Bram" in own
    own = words(keeper.get(page, asked | {"who": mara.get_memory_identity(alice)}))
    assert "under the step" in own and "may tell Alice" in own


def test_a_listener_whom_nobody_knows_is_explained(keeper, mara):
    page = keeper.get(SEARCH, {"q": "ferry", "who": "Nobody"})
    assert page.status_code == 200 and "No character is called 'Nobody'" in words(page)
    assert keeper.get(url("search", mara), {"q": "x", "who": "Nobody"}).status_code == 404


def test_the_search_leaves_out_locked_npcs_and_goes_on_where_it_stopped(
    client, mara, odo, alice, monkeypatch
):
    told(mara, alice, "I keep the ferry.")
    told(odo, alice, "The ferry is old.")
    logged_in(client, "Builder", builder=True)
    monkeypatch.setattr(game_search, "SECONDS", -1.0)
    first = client.get(SEARCH, {"q": "ferry"})
    assert "NPCs 1 to 1 of 2" in words(first)
    link = re.search(r'rel="next" href="([^"]+)"', main_of(first))[1].replace("&amp;", "&")
    assert "Odo" in words(client.get(SEARCH + link))
    monkeypatch.undo()
    mara.locks.add("memory_look:false()")
    text = words(client.get(SEARCH, {"q": "ferry"}))
    assert "Mara" not in text and "1 NPC searched" in text


# --- forgetting several ---------------------------------------------------------------------------


@pytest.fixture
def lived(mara, alice):
    told(
        mara,
        alice,
        "Mara, I keep the ferry at Millbrook.",
        "Mara, my brother Tom bakes bread.",
        "Mara, I like tea.",
    )
    offload.wait(mara.assistant.sleep.whole_night())
    return mara


def left(npc):
    return [entry.id for entry in npc.memory.journal.read(1, 99)]


def test_several_memories_are_forgotten_after_a_preview_and_come_back_by_one_undo(
    keeper, lived, log
):
    for page in (url("journal", lived), url("facts", lived)):
        assert url("forget", lived) in main_of(keeper.get(page))
    chosen = {"id": ["1", "2"], "back": url("journal", lived)}
    asked = words(keeper.post(url("forget", lived), chosen))
    assert "Forget 2 memories?" in asked and "These alone 2 journal entries" in asked
    with_all = offload.wait(forget.select(lived, ["1", "2"], cascade=True))
    assert with_all.summary() in asked and len(with_all.memories) > 2
    assert left(lived) == [1, 2, 3], "a preview changes nothing"
    done = keeper.post(url("forget", lived), chosen | {"confirm": "alone"}, follow=True)
    assert done.redirect_chain[-1][0] == url("journal", lived)
    assert "has forgotten 2 journal entries" in done.content.decode()
    assert left(lived) == [3]
    assert offload.wait(inspect.memories(lived, "fact")).total
    assert any("forget Mara" in line and ": 1, 2" in line for line in log)
    keeper.post(url("do", lived, "undo"))
    assert left(lived) == [1, 2, 3]


def test_several_memories_are_forgotten_with_everything_derived_from_them(keeper, lived):
    chosen = {"id": ["1", "2", "3"], "confirm": "all", "back": url("facts", lived)}
    keeper.post(url("forget", lived), chosen)
    assert left(lived) == []
    assert offload.wait(inspect.memories(lived, "fact")).total == 0


def test_a_selection_that_is_empty_unknown_or_leads_elsewhere(keeper, lived):
    empty = keeper.post(url("forget", lived), {"back": "https://evil.example/"})
    assert empty.status_code == 302 and empty["Location"] == url("facts", lived)
    assert keeper.post(url("forget", lived), {"id": ["1", "77"]}).status_code == 404
    chosen = {"id": ["1"], "confirm": "alone", "back": "//evil.example/"}
    assert keeper.post(url("forget", lived), chosen)["Location"] == url("facts", lived)
    assert keeper.get(url("forget", lived))["Location"] == url("facts", lived)


def test_forgetting_several_is_for_those_who_may_edit(client, lived):
    lived.locks.add("memory_edit:false()")
    logged_in(client, "Builder", builder=True)
    assert url("forget", lived) not in main_of(client.get(url("journal", lived)))
    for sent in ({"id": ["1"]}, {"id": ["1"], "confirm": "alone"}, {}):
        assert client.post(url("forget", lived), sent).status_code == 403
    forged = logged_in(Client(enforce_csrf_checks=True), "Keeper", is_superuser=True)
    assert forged.post(url("forget", lived), {"id": ["1"], "confirm": "all"}).status_code == 403
    assert left(lived) == [1, 2, 3]


# --- log ------------------------------------------------------------------------------------------


def test_the_log_shows_who_changed_what_when_with_ids_only(keeper, mara, odo, builder, alice):
    assert "Nothing was changed by hand yet" in words(keeper.get(LOG))
    keeper.post(url("add", mara), {"text": "The cellar floods.", "importance": "5"})
    builder(f"@memory/add {odo.dbref} = The gate is shut.")
    keeper.get(url("journal", mara))
    text = words(keeper.get(LOG))
    assert re.search(
        r"\d{4}-\d\d-\d\d \d\d:\d\d Builder #\d+ add Odo 1 .* Keeper #\d+ add Mara 1", text
    )
    assert "cellar" not in text and "look with" not in text
    assert "Odo" not in words(keeper.get(LOG, {"npc": mara.id}))
    assert "Mara" not in words(keeper.get(LOG, {"text": "BUILDER"}))
    assert "No records match" in words(keeper.get(LOG, {"text": "nobody"}))
    name = odo.key
    odo.delete()
    assert f"{name} #" in words(keeper.get(LOG)) and "deleted" in words(keeper.get(LOG))


def test_the_log_names_no_npc_that_a_lock_hides(client, mara, alice):
    offload.wait(edit.add(mara, alice, "x"))
    offload.wait(edit.add(mara, None, "y"))
    mara.locks.add("memory_look:false()")
    logged_in(client, "Builder", builder=True)
    assert "Nothing was changed" in words(client.get(LOG))
    assert client.get(LOG, {"npc": mara.id}).status_code == 200


def test_players_leave_no_records_and_the_log_stays_bounded(mara, alice, monkeypatch):

    audit.record(alice, "ask to be forgotten by", None, mara.dbref)
    assert audit.records() == []
    monkeypatch.setattr(audit, "RECORDS_OF_PAGE", 3)
    monkeypatch.setattr(audit, "PAGES_KEPT", 2)
    for number in range(20):
        audit.record(None, "edit", mara, number)
    found = audit.records()
    assert [each.ids for each in found] == [(str(n),) for n in range(19, 13, -1)][: len(found)]
    assert 4 <= len(found) <= 6 and found[0].who == "the server"


# --- graph ----------------------------------------------------------------------------------------


def graph_of(page):
    data = re.search(r'id="graph-data"[^>]*>(.*?)</script>', main_of(page), re.S)
    return json.loads(data[1])["nodes"] if data else []


def test_the_graph_shows_facts_before_journal_lines_and_is_filtered_by_kind(keeper, lived):
    page = url("graph", lived)
    everything = [node["record"] for node in graph_of(keeper.get(page))]
    assert "entry" in everything and "fact" in everything
    assert everything == sorted(everything, key=lambda record: record == "entry")
    facts = keeper.get(page, {"kind": ["fact", "experience"]})
    assert {node["record"] for node in graph_of(facts)} == {"fact", "experience"}
    ticked = re.findall(r'name="kind" value="(\w+)"[^>]* checked', main_of(facts))
    assert ticked == ["fact", "experience"]
    none = keeper.get(page, {"kind": "taught"})
    assert "No memories of these kinds have links" in words(none)
    assert graph_of(keeper.get(page, {"kind": "nonsense"})) != []


def test_a_filtered_graph_looks_beyond_the_most_linked(lived, monkeypatch):
    every = offload.wait(inspect.graph(lived)).nodes
    entries = [node for node in every if node.record == "entry"]
    monkeypatch.setattr(inspect, "GRAPH_READ", 1)
    found = offload.wait(inspect.graph(lived, limit=1, records=["entry"])).nodes
    assert found == (entries[0],)
