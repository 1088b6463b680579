"""Erasing a person from the pages, players' requests to be forgotten, and the page of a task."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from evennia.utils.create import create_object
from page_visits import logged_in, main_of, told, url, words
from twisted.internet import defer

from contrib_ai_memory import offload
from contrib_ai_memory.admin import erase, inspect, requests
from contrib_ai_memory.errors import InputError
from contrib_ai_memory.web import tasks

REQUESTS = "/memory/requests/"


@pytest.fixture
def known(mara, alice, bram):
    """Mara after a night, and Alice's identity."""
    told(mara, alice, "Mara, I keep the ferry at Millbrook.", "My brother bakes bread.")
    told(mara, bram, "The mill burned down last winter.")
    offload.wait(mara.assistant.sleep.whole_night())
    return mara.get_memory_identity(alice)


def asks(player, *npcs):
    remembered = offload.wait(requests.who_remembers(player))
    return requests.submit(player, [each for each in remembered if each.npc in npcs])


def request_of(identity):
    return reverse("ai_memory:request", args=[identity])


def test_a_person_is_erased_after_a_preview_and_their_name(keeper, mara, alice, known, log):
    assert url("erase", mara, known) in main_of(keeper.get(url("person", mara, known)))
    page = url("erase", mara, known)
    before = offload.wait(erase.preview_person(mara, known))
    shown = words(keeper.get(page))
    assert before.summary() in shown and "To confirm, type: Alice" in shown
    assert before.entries >= 2 and before.memories > before.entries
    refused = keeper.post(page, {"typed": "Bram"})
    assert refused.status_code == 400 and "Nothing was done" in words(refused)
    assert mara.memory.journal.get(1) is not None
    done = keeper.post(page, {"typed": " alice "}, follow=True)
    text = words(done)
    assert f"Erased from Mara: {plural_entries(before)}" in text and "exports and backups" in text
    assert mara.memory.people.get(known) is None
    assert [each.content for each in mara.memory.journal.read(1, 99)] == [
        "The mill burned down last winter."
    ]
    assert any("erase a person Mara" in line and known in line for line in log)
    assert keeper.get(page).status_code == 404


def plural_entries(counts):
    return f"{counts.entries} journal entries, {counts.memories} memories"


def test_a_preview_of_an_erasure_changes_nothing(mara, alice, known):
    def state():
        facts = offload.wait(inspect.memories(mara, "fact")).results
        return (
            list(mara.memory.journal.read(1, 99)),
            facts,
            mara.memory.links.count,
            erase.unfinished(mara),
        )

    mara.memory.flush()
    before = state()
    counts = offload.wait(erase.preview_person(mara, known))
    assert state() == before and before[-1] == []
    erased = offload.wait(erase.erase_person(mara, known))
    for name in ("entries", "memories", "links", "people", "elsewhere"):
        assert getattr(counts, name) == getattr(erased, name), name


def test_erasing_takes_the_permission_admin(client, mara, known):
    logged_in(client, "Builder", builder=True)
    assert url("erase", mara, known) not in main_of(client.get(url("person", mara, known)))
    for refused in (
        client.get(url("erase", mara, known)),
        client.post(url("erase", mara, known), {"typed": "Alice"}),
    ):
        assert refused.status_code == 403 and "Admin permission" in words(refused)
    assert mara.memory.people.get(known)


def test_an_npc_cannot_be_erased_from_itself(keeper, mara, known):
    own = mara.get_memory_identity(mara)
    mara.memory.people.meet(own, "Mara", "2026-03-02T10:00:00+00:00", talk=True)
    assert keeper.get(url("erase", mara, own)).status_code == 400


def test_a_request_is_listed_previewed_and_granted(keeper, mara, alice, known, tavern, log):
    odo = create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    told(odo, alice, "Odo, the toll is three silver.")
    assert "No player has asked" in words(keeper.get(REQUESTS))
    assert asks(alice, mara, odo) == 2
    listed = keeper.get(REQUESTS)
    assert re.search(r"Alice .* Mara , Odo", words(listed)), words(listed)
    page = request_of(known)
    assert page in main_of(listed)
    shown = words(keeper.get(page))
    assert "Mara" in shown and "Odo 1 journal entry" in shown
    chosen = {"npc": [mara.id, odo.id], "grant": "1"}
    refused = keeper.post(page, chosen | {"typed": "somebody"})
    assert refused.status_code == 400 and odo.memory.people.get(known)
    done = keeper.post(page, chosen | {"typed": "Alice"}, follow=True)
    assert "Erased from Mara" in words(done) and "Erased from Odo" in words(done)
    assert mara.memory.people.get(known) is None and odo.memory.people.get(known) is None
    assert "No player has asked" in words(keeper.get(REQUESTS))
    assert keeper.get(page).status_code == 404
    assert sum("erase a person" in line for line in log) == 2


def test_a_request_made_after_the_page_was_shown_waits(keeper, mara, alice, known, tavern):
    odo = create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    told(odo, alice, "Odo, the toll is three silver.")
    asks(alice, mara)
    keeper.get(request_of(known))
    asks(alice, odo)
    keeper.post(request_of(known), {"npc": [mara.id], "typed": "Alice", "grant": "1"})
    assert mara.memory.people.get(known) is None and odo.memory.people.get(known)
    assert "Odo" in words(keeper.get(REQUESTS))


def test_a_request_is_dropped_and_nothing_erased(keeper, mara, alice, known, log):
    asks(alice, mara)
    done = keeper.post(request_of(known), {"npc": [mara.id], "drop": "1"}, follow=True)
    assert "1 request dropped" in done.content.decode()
    assert "No player has asked" in words(done) and mara.memory.people.get(known)
    assert any("drop a request of" in line and mara.dbref in line for line in log)


def test_a_builder_sees_the_requests_of_visible_npcs_and_decides_none(client, mara, alice, known):
    asks(alice, mara)
    logged_in(client, "Builder", builder=True)
    listed = words(client.get(REQUESTS))
    assert "Alice" in listed and "by an Admin" in listed
    sent = {"npc": [mara.id], "typed": "Alice"}
    for answer in (
        client.get(request_of(known)),
        client.post(request_of(known), sent),
        client.post(request_of(known), sent | {"drop": "1"}),
    ):
        assert answer.status_code == 403 and "Admin" in words(answer)
    assert len(offload.wait(requests.waiting())) == 1
    mara.locks.add("memory_look:false()")
    assert "Alice" not in words(client.get(REQUESTS))
    assert client.get(request_of(known)).status_code == 404


# --- tasks ----------------------------------------------------------------------------------------


@pytest.fixture
def who(keeper, mara):
    from evennia.accounts.models import AccountDB

    return AccountDB.objects.get(username="Keeper")


def page_of(client, task):
    return client.get(reverse("ai_memory:task", args=[task]))


def test_the_page_of_a_running_task_reloads_until_it_is_over(keeper, who):
    works = defer.Deferred()
    notes = []

    def work(note):
        notes.append(note)
        return works

    task = tasks.start(who, "Erase Alice", "/memory/", work)
    notes[0](told="1 of 2 NPCs done.")
    page = page_of(keeper, task)
    assert page["Refresh"] == "2" and "1 of 2 NPCs done." in words(page)
    works.callback("All is erased.")
    page = page_of(keeper, task)
    assert "Refresh" not in page.headers and "All is erased." in words(page)


def test_a_task_that_fails_says_why_and_reveals_no_details(keeper, who, logged):
    expected = defer.fail(InputError("It is Mara itself."))
    assert "It is Mara itself." in words(
        page_of(keeper, tasks.start(who, "x", "/", lambda note: expected))
    )
    broken = tasks.start(who, "x", "/", lambda note: defer.fail(KeyError("a secret")))
    text = words(page_of(keeper, broken))
    assert "ai_memory.log" in text and "a secret" not in text
    assert any("x" in line for line in logged())


def test_a_task_is_seen_by_the_account_that_started_it(client, keeper, who, mara):
    task = tasks.start(who, "Erase Alice", "/memory/", lambda note: "Done.")
    other = logged_in(type(client)(), "Other", is_superuser=True)
    missing = page_of(other, task)
    assert missing.status_code == 404 and "Alice" not in words(missing)
    assert "reloaded" in words(page_of(keeper, "0" * 16))


def test_tasks_are_bounded(keeper, who):
    kept = [tasks.start(who, "x", "/", lambda note: "Done.") for _ in range(tasks.KEPT + 5)]
    assert len(tasks._tasks) <= tasks.KEPT + 1
    assert page_of(keeper, kept[0]).status_code == 404
    assert page_of(keeper, kept[-1]).status_code == 200
    running = [defer.Deferred() for _ in range(tasks.RUNNING)]
    for each in running:
        tasks.start(who, "x", "/", lambda note, each=each: each)
    with pytest.raises(offload.Busy):
        tasks.start(who, "x", "/", lambda note: "Done.")
    for each in running:
        each.callback("Done.")
