"""What the API shows and does: NPCs, journal, memories, people, nights."""

from __future__ import annotations

import json

from api_client import (
    fact_of,
    says,
)
from evennia.utils.create import create_object

from contrib_ai_memory import offload
from contrib_ai_memory.sleep.night import Sleep


def test_npcs_are_listed_filtered_and_paged(builder_api, mara, tavern):
    for name in ("Odo", "Una"):
        create_object("typeclasses.npcs.AssistantNPC", key=name, location=tavern)
    status, page = builder_api("GET", "/npcs/", limit=2)
    assert status == 200
    assert (page["count"], [each["key"] for each in page["results"]]) == (3, ["Mara", "Odo"])
    assert page["previous"] is None
    assert "offset=2" in page["next"]
    rest = builder_api("GET", "/npcs/", limit=2, offset=2)[1]
    assert ([each["key"] for each in rest["results"]], rest["next"]) == (["Una"], None)
    assert builder_api("GET", "/npcs/", text="od")[1]["results"][0]["key"] == "Odo"


def test_one_npc_is_shown_in_numbers(builder_api, lived):
    _, npc = builder_api("GET", f"/npcs/{lived.id}/")
    assert (npc["npc"], npc["key"], npc["state"]) == (lived.id, "Mara", "awake")
    assert npc["entries"] == len(lived.memory.journal)
    assert npc["counts"]["fact"] > 0


def test_the_journal_is_paged_to_its_beginning(builder_api, mara, alice):
    for number in range(1, 8):
        says(mara, alice, f"This is line {number}.")
    seen, older = [], {}
    while True:
        _, page = builder_api("GET", f"/npcs/{mara.id}/journal/", limit=3, **older)
        seen += [entry["id"] for entry in page["entries"]]
        if page["older"] is None:
            break
        assert f"before={page['older']}" in page["next"]
        older = {"before": page["older"]}
    assert seen == [7, 6, 5, 4, 3, 2, 1]


def test_the_journal_is_filtered(builder_api, lived, alice):
    def contents(**query):
        _, page = builder_api("GET", f"/npcs/{lived.id}/journal/", **query)
        return [entry["content"] for entry in page["entries"]]

    assert contents(text="MILL burned") == ["The mill burned down last winter."]
    assert contents(kind="note") == ["The cellar floods in spring."]
    assert len(contents(entity="Alice")) == 2
    assert contents(entity=lived.get_memory_identity(alice)) == contents(entity="Alice")
    assert contents(day="1999-01") == []


def test_memories_are_listed_shown_and_traced(builder_api, lived):
    fact = fact_of(builder_api, lived)
    status, shown = builder_api("GET", f"/npcs/{lived.id}/memories/{fact}/")
    assert status == 200
    assert shown["memory"]["record"] == "fact"
    assert shown["evidence"]
    short = builder_api("GET", f"/npcs/{lived.id}/memories/{fact[:8]}/")[1]
    assert short == shown
    _, trace = builder_api("GET", f"/npcs/{lived.id}/memories/{fact}/trace/")
    assert [step["memory"]["record"] for step in trace["sources"]] == ["entry"] * len(
        trace["sources"]
    )
    assert trace["sources"]


def test_a_search_shows_the_parts_of_each_score(builder_api, lived):
    _, found = builder_api("GET", f"/npcs/{lived.id}/search/", q="Who keeps the ferry?")
    best = found["memories"][0]
    assert "ferry" in best["memory"]["content"]
    assert best["score"]["total"] > 0
    assert {"dense", "speaker"} & set(best["score"]["clues"])
    assert found["prompt_block"].startswith("<memory>")


def test_a_search_for_a_speaker_hides_the_secrets_of_others(builder_api, lived, alice, bram):
    says(lived, alice, "My silver key lies under the third step.", private=True)

    def found(**speaker):
        query = {"q": "Where is the silver key?", **speaker}
        _, result = builder_api("GET", f"/npcs/{lived.id}/search/", **query)
        return any("third step" in each["memory"]["content"] for each in result["memories"])

    assert found()
    assert found(speaker="Alice")
    assert not found(speaker="Bram")


def test_people_are_listed_and_shown_by_name_or_identity(builder_api, lived, alice):
    _, page = builder_api("GET", f"/npcs/{lived.id}/people/")
    assert {each["name"] for each in page["results"]} == {"Alice", "Bram"}
    assert page["count"] == 2
    by_name = builder_api("GET", f"/npcs/{lived.id}/people/Alice/")
    identity = lived.get_memory_identity(alice).replace("#", "%23")
    assert builder_api("GET", f"/npcs/{lived.id}/people/{identity}/") == by_name
    assert by_name[1]["person"]["interactions"] == 2


def test_links_nights_cost_and_stats_are_shown(builder_api, lived):
    _, graph = builder_api("GET", f"/npcs/{lived.id}/links/")
    ids = {node["linked"] for node in graph["nodes"]}
    assert graph["edges"] and all({edge["a"], edge["b"]} <= ids for edge in graph["edges"])
    _, nights = builder_api("GET", f"/npcs/{lived.id}/nights/")
    assert {"name", "read", "changed"} <= set(nights[0]["passes"][0])
    _, status = builder_api("GET", f"/npcs/{lived.id}/status/")
    assert status == {"state": "awake", "night": None}
    assert builder_api("GET", f"/npcs/{lived.id}/cost/")[1]["game"]["calls"] == 0
    _, stats = builder_api("GET", f"/npcs/{lived.id}/stats/")
    assert stats["entries"] == len(lived.memory.journal)


def test_a_preview_sends_and_remembers_nothing(builder_api, lived):
    before = len(lived.memory.journal)
    body = {"player": "Alice", "text": "What do I keep?"}
    status, shown = builder_api("POST", f"/npcs/{lived.id}/preview/", body)
    assert status == 200
    assert "ferry" in json.dumps(shown["messages"])
    assert len(lived.memory.journal) == before


def test_an_added_memory_is_recalled_at_once(builder_api, mara):
    status, entry = builder_api(
        "POST", f"/npcs/{mara.id}/memories/", {"text": "The bridge is closed.", "importance": 9}
    )
    assert (status, entry["importance"], entry["origin"]) == (201, 9, "builder")
    _, found = builder_api("GET", f"/npcs/{mara.id}/search/", q="Is the bridge open?")
    assert found["memories"][0]["memory"]["content"] == "The bridge is closed."


def test_a_memory_is_edited_and_the_edit_undone(builder_api, lived):
    fact = fact_of(builder_api, lived)
    address = f"/npcs/{lived.id}/memories/{fact}/"
    before = builder_api("GET", address)[1]["memory"]["content"]
    status, memory = builder_api("PATCH", address, {"content": "The ferry is gone."})
    assert (status, memory["content"]) == (200, "The ferry is gone.")
    assert builder_api("GET", address)[1]["memory"]["content"] == "The ferry is gone."
    acts = builder_api("GET", f"/npcs/{lived.id}/acts/")[1]
    assert acts[0]["deed"] == "edit"
    assert builder_api("POST", f"/npcs/{lived.id}/undo/")[0] == 200
    assert builder_api("GET", address)[1]["memory"]["content"] == before


def test_what_the_api_corrects_is_what_is_said_next(builder_api, mara, alice, bram, says):
    says(alice, "I keep the ferry at Millbrook.")
    offload.wait(mara.assistant.sleep.whole_night())
    address = f"/npcs/{mara.id}/memories/{fact_of(builder_api, mara)}/"
    changes = {"content": "Alice keeps the mill at Millbrook."}
    status, memory = builder_api("PATCH", address, changes)
    assert (status, memory["provider"], memory["journal_ids"]) == (200, "builder", [1])
    superseded = builder_api("GET", address)[1]["superseded"]
    assert "mara, I keep the ferry at Millbrook." in [each["content"] for each in superseded]
    alice.location, bram.location = None, alice.location
    said = says(bram, "what does Alice keep?")
    assert "Alice keeps the mill at Millbrook." in said and "ferry" not in said


def test_a_memory_is_forgotten_with_everything_derived_from_it_and_restored(builder_api, lived):
    fact = fact_of(builder_api, lived)
    source = builder_api("GET", f"/npcs/{lived.id}/memories/{fact}/")[1]["evidence"][0]["id"]
    address = f"/npcs/{lived.id}/memories/{source}/"
    status, gone = builder_api("DELETE", address, cascade="true")
    assert status == 200
    assert len(gone["ids"]) > 1 and gone["undoable"]
    assert builder_api("GET", address)[0] == 404
    assert builder_api("GET", f"/npcs/{lived.id}/memories/{fact}/")[0] == 404
    assert builder_api("POST", f"/npcs/{lived.id}/undo/")[0] == 200
    assert builder_api("GET", address)[0] == 200


def test_a_memory_is_locked_unlocked_and_unpinned(builder_api, lived):
    fact = fact_of(builder_api, lived)
    address = f"/npcs/{lived.id}/memories/{fact}/"
    assert "pinned" in builder_api("POST", address + "lock/")[1]["tags"]
    assert "locked" in builder_api("GET", address)[1]["tags"]
    assert "locked" not in builder_api("POST", address + "unlock/")[1]["tags"]
    assert "pinned" not in builder_api("POST", address + "unpin/")[1]["tags"]


def test_a_night_tells_who_made_each_pass_and_why(builder_api, server, llm, lived, alice):
    server.behave(status=500)
    says(lived, alice, "My cousin Wilm keeps the ferry now.")
    offload.wait(lived.assistant.sleep.whole_night())
    _, nights = builder_api("GET", f"/npcs/{lived.id}/nights/")
    newest, first = nights
    facts = {each["name"]: each for each in newest["passes"]}["run_sleep_consolidation"]
    assert facts["made_by"] == {"offline": 1} and facts["calls"] == 1
    [reason] = facts["unanswered"]
    assert "HTTP 500" in reason and "drawing facts" in newest["trouble"]
    assert first["trouble"] == ""


def test_a_night_is_started_polled_and_ended(builder_api, lived, alice):
    address = f"/npcs/{lived.id}/nights/"
    status, told = builder_api("POST", address)
    assert (status, told["state"]) == (202, "compacting")
    assert told["night"]["position"] == 1
    status, answer = builder_api("POST", address)
    assert (status, answer["detail"]) == (
        409,
        "Mara is already asleep (compacting). Wake it first, or wait until it wakes up.",
    )
    status, told = builder_api("POST", f"/npcs/{lived.id}/wake/")
    assert status == 202
    assert told["night"]["waking"], "in compacting, waking waits for the end of the phase"
    while lived.assistant.asleep:
        lived.assistant.sleep.make_due()
        offload.wait(lived.assistant.at_tick())
    assert builder_api("GET", f"/npcs/{lived.id}/status/")[1] == {"state": "awake", "night": None}
    assert len(builder_api("GET", address)[1]) == 2
    assert builder_api("POST", f"/npcs/{lived.id}/wake/")[0] == 409


def test_starting_a_whole_night_does_not_wait_for_its_end(builder_api, lived, monkeypatch):
    from twisted.internet import defer

    begun = []

    def never_ends(self):
        begun.append(self)
        return defer.Deferred()

    monkeypatch.setattr(Sleep, "whole_night", never_ends)
    status, told = builder_api("POST", f"/npcs/{lived.id}/nights/", {"at_once": True})
    assert (status, told["state"], len(begun)) == (202, "compacting", 1)


def test_a_paused_npc_cannot_sleep_until_resumed(builder_api, mara):
    assert builder_api("POST", f"/npcs/{mara.id}/pause/")[1]["state"] == "paused"
    status, answer = builder_api("POST", f"/npcs/{mara.id}/nights/")
    assert (status, "paused" in answer["detail"]) == (409, True)
    assert builder_api("POST", f"/npcs/{mara.id}/resume/")[1]["state"] == "awake"
    assert builder_api("POST", f"/npcs/{mara.id}/nights/")[0] == 202


def test_the_settings_of_an_npc_are_shown_with_their_source(builder_api, tavern):
    guard = create_object("typeclasses.npcs.GuardNPC", key="Rook", location=tavern)
    guard.db.memory_settings = {"RECALL_TOP_K": 7, "TICK_RATE": "often"}
    status, shown = builder_api("GET", f"/npcs/{guard.id}/settings/")
    found = {each["name"]: (each["value"], each["source"]) for each in shown["settings"]}
    assert status == 200
    assert found["RECALL_TOKENS"] == ("150", "typeclass GuardNPC")
    assert found["RECALL_TOP_K"] == ("7", "this NPC")
    assert found["TICK_RATE"] == ("5", "default")
    assert "TICK_RATE = 'often'" in shown["problems"][0]
    _, npc = builder_api("GET", f"/npcs/{guard.id}/")
    assert "RECALL_TOP_K" in [each["name"] for each in npc["settings"]]
    assert builder_api("POST", f"/npcs/{guard.id}/settings/")[0] == 405


def test_a_text_is_taught_and_can_be_undone(builder_api, mara):
    text = {"text": "The Duke of Harrow raised the toll to 3 silver in October."}
    status, learned = builder_api("POST", f"/npcs/{mara.id}/texts/", text)
    assert (status, learned["new"]) == (200, 1)
    _, taught = builder_api("GET", f"/npcs/{mara.id}/memories/", record="taught")
    assert "Harrow" in taught["results"][0]["content"]
    assert builder_api("POST", f"/npcs/{mara.id}/undo/")[1]["deed"] == "teach"
    assert builder_api("GET", f"/npcs/{mara.id}/memories/", record="taught")[1]["count"] == 0


def test_the_agenda_tells_who_owes_what_to_whom(builder_api, mara, alice):
    says(mara, alice, "Mara, I owe you nine crowns for the stew.")
    while not offload.wait(mara.memory.work_through(until_silent=True)):
        pass
    status, (item,) = builder_api("GET", f"/npcs/{mara.id}/agenda/")
    assert status == 200
    assert (item["kind"], item["who"], item["to"], item["state"]) == (
        "debt",
        "Alice",
        "Mara",
        "open",
    )
    assert "nine crowns" in item["text"]
    assert item["evidence"] == [1]


def test_a_schedule_is_set_and_shown(builder_api, mara):
    address = f"/npcs/{mara.id}/schedule/"
    assert builder_api("GET", address)[1]["plan"] == "default"
    status, plan = builder_api("PUT", address, {"plan": "own", "hour": 3, "hours": 2})
    assert (status, plan["plan"], plan["hour"], plan["hours"]) == (200, "own", 3, 2)
    assert mara.assistant.sleep.schedule["sleep_start_hour"] == 3
    assert builder_api("PUT", address, {"plan": "own", "hour": 24})[0] == 400
    assert builder_api("PUT", address, {"plan": "off"})[1]["plan"] == "off"


def test_the_log_lists_what_staff_changed(builder_api, admin_api, mara):
    builder_api("POST", f"/npcs/{mara.id}/memories/", {"text": "The bridge is closed."})
    builder_api("POST", f"/npcs/{mara.id}/pause/")
    _, log = builder_api("GET", "/log/", limit=1)
    assert (log["count"], log["results"][0]["action"]) == (2, "pause")
    _, log = admin_api("GET", "/log/", text="add", npc=mara.id)
    assert [each["ids"] for each in log["results"]] == [["1"]]
    mara.locks.add("memory_look:perm(Admin)")
    assert builder_api("GET", "/log/")[1]["count"] == 0


def test_requests_to_be_forgotten_are_listed(builder_api, admin_api, mara, alice):
    from contrib_ai_memory.admin import requests

    says(mara, alice, "I keep the ferry at Millbrook.")
    requests.submit(alice, offload.wait(requests.who_remembers(alice)))
    status, (asked,) = admin_api("GET", "/requests/")
    assert (status, asked["name"]) == (200, "Alice")
    assert asked["npcs"] == [{"npc": mara.id, "name": "Mara", "may_erase": True}]
    assert builder_api("GET", "/requests/")[1][0]["npcs"][0]["may_erase"] is False
    admin_api("DELETE", f"/npcs/{mara.id}/people/Alice/")
    assert admin_api("GET", "/requests/")[1] == []


def test_an_npc_that_is_deleted_while_it_forgets_is_not_found(admin_api, mara, alice, at_turn):
    says(mara, alice, "Mara, I keep the ferry at Millbrook.")
    at_turn(1, mara.delete)
    status, problem = admin_api("DELETE", f"/npcs/{mara.id}/memories/1/")
    assert (status, problem["detail"]) == (404, "The NPC was deleted meanwhile.")
