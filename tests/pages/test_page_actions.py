"""What staff can do on the pages: edit, forget, pin, lock, sleep, pause, undo."""

from __future__ import annotations

import pytest
from django.contrib import messages
from django.test import Client
from page_visits import logged_in, raw_entry, told, url, words

from contrib_ai_memory import offload
from contrib_ai_memory.admin import inspect


def test_an_edited_memory_is_found_by_its_new_text_and_can_be_undone(keeper, mara, alice, log):
    [entry] = told(mara, alice, "I keep the ferry at Millbrook.")
    page = url("edit", mara, entry.id)
    assert "I keep the ferry" in words(keeper.get(page))
    done = keeper.post(page, {"content": "I keep a lighthouse.", "importance": "9"}, follow=True)
    assert "lighthouse" in words(done)
    changed = mara.memory.journal.get(entry.id)
    assert (changed.content, changed.importance) == ("I keep a lighthouse.", 9)
    found = words(keeper.get(url("search", mara), {"q": "Who keeps a lighthouse?"}))
    assert "I keep a lighthouse." in found
    assert any("Keeper" in line and "edit" in line and str(entry.id) in line for line in log)
    assert not any("lighthouse" in line for line in log), "the log holds no content"
    keeper.post(url("do", mara, "undo"))
    assert mara.memory.journal.get(entry.id).content == "I keep the ferry at Millbrook."


def test_what_the_page_corrects_is_what_is_said_next(keeper, mara, alice, bram, says):
    says(alice, "I keep the ferry at Millbrook.")
    offload.wait(mara.assistant.sleep.whole_night())
    [fact] = offload.wait(inspect.memories(mara, text="ferry")).results
    page = url("edit", mara, fact.id[:8])
    assert url("edit", mara, "1") in keeper.get(page).content.decode()
    done = keeper.post(page, {"content": "Alice keeps the mill at Millbrook."}, follow=True)
    assert "lines behind it" in " ".join(map(str, done.context["messages"]))
    alice.location, bram.location = None, alice.location
    said = says(bram, "what does Alice keep?")
    assert "Alice keeps the mill at Millbrook." in said and "ferry" not in said


def test_invalid_edits_are_explained_beside_the_form(keeper, mara, alice):
    [entry] = told(mara, alice, "I keep the ferry at Millbrook.")
    page = url("edit", mara, entry.id)
    refused = keeper.post(page, {"content": "", "importance": "99"})
    assert refused.status_code == 400
    assert "less than or equal to 10" in words(refused)
    assert mara.memory.journal.get(entry.id) == entry


def test_a_text_that_would_be_cut_off_is_refused_unless_it_is_unchanged(keeper, mara, alice):
    [entry] = told(mara, alice, "I keep the ferry at Millbrook.")
    page = url("edit", mara, entry.id)
    refused = keeper.post(page, {"content": "word " * 2000})
    assert refused.status_code == 400 and "one memory holds 4,000" in words(refused)
    long = raw_entry(mara, "one\ntwo " + "c" * 60_000)
    page = url("edit", mara, long.id)
    keeper.post(page, {"content": long.content.replace("\n", "\r\n"), "importance": "7"})
    kept = mara.memory.journal.get(long.id)
    assert (kept.content, kept.importance) == (long.content, 7)


def test_forgetting_is_confirmed_with_a_preview_and_done_by_post_only(keeper, mara, alice, log):
    [entry] = told(mara, alice, "Mara, I keep the ferry at Millbrook.")
    offload.wait(mara.assistant.sleep.whole_night())
    page = url("do_memory", mara, entry.id, "forget-all")
    asked = words(keeper.get(page))
    assert "1 journal entry" in asked and "1 fact" in asked
    assert mara.memory.journal.get(entry.id) is not None, "a GET changes nothing"
    done = keeper.post(page, follow=True)
    assert "Mara has forgotten 1 journal entry, 1 " in done.content.decode()
    assert mara.memory.journal.get(entry.id) is None
    assert offload.wait(inspect.memories(mara, "fact")).total == 0
    assert any("forget" in line for line in log)
    assert keeper.get(url("memory", mara, entry.id)).status_code == 404


def test_forgetting_one_memory_keeps_those_derived_from_it(keeper, mara, alice):
    [entry] = told(mara, alice, "Mara, I keep the ferry at Millbrook.")
    offload.wait(mara.assistant.sleep.whole_night())
    keeper.post(url("do_memory", mara, entry.id, "forget"))
    assert mara.memory.journal.get(entry.id) is None
    assert offload.wait(inspect.memories(mara, "fact")).total == 1


def test_a_memory_is_pinned_locked_unlocked_and_unpinned(keeper, mara, alice):
    [entry] = told(mara, alice, "I keep the ferry at Millbrook.")

    def tags():
        return set(mara.memory.journal.get(entry.id).tags)

    for deed, expected in (
        ("pin", {"pinned"}),
        ("lock", {"pinned", "locked"}),
        ("unlock", {"pinned"}),
        ("unpin", set()),
    ):
        page = keeper.post(url("do_memory", mara, entry.id, deed), follow=True)
        assert page.status_code == 200
        assert tags() == expected, deed
    again = keeper.post(url("do_memory", mara, entry.id, "unpin"), follow=True)
    assert f"Entry {entry.id} of Mara is no longer pinned." in again.content.decode()


def test_sleeping_and_waking_are_logged(keeper, mara, alice, log):
    told(mara, alice, "Mara, I keep the ferry at Millbrook.")
    keeper.post(url("do", mara, "sleep"))
    assert mara.assistant.asleep
    assert "Asleep" in words(keeper.get(url("nights", mara)))
    keeper.post(url("do", mara, "wake"))
    assert mara.assistant.db.wake_requested, "while compacting, waking is deferred"
    keeper.post(url("do", mara, "sleep-now"))
    assert mara.assistant.sleep.records, "no reactor runs here: the night is over at once"
    assert [deed for line in log for deed in ("sleep now", "wake") if deed in line] != []


def test_an_npc_is_paused_and_resumed(keeper, mara):
    keeper.post(url("do", mara, "pause"))
    assert inspect.state_of(mara) == "paused"
    keeper.post(url("do", mara, "continue"))
    assert inspect.state_of(mara) == "awake"


def test_undo_without_changes_says_so(keeper, mara):
    page = keeper.post(url("do", mara, "undo"), follow=True)
    [message] = page.context["messages"]
    assert message.level == messages.ERROR and "undo" in str(message)


def test_a_post_without_a_csrf_token_is_refused(mara, alice):
    [entry] = told(mara, alice, "I keep the ferry at Millbrook.")
    client = logged_in(Client(enforce_csrf_checks=True), "Keeper", is_superuser=True)
    assert client.post(url("do_memory", mara, entry.id, "forget")).status_code == 403
    assert mara.memory.journal.get(entry.id) == entry


def test_an_unknown_action_is_not_found(keeper, mara):
    assert keeper.post(url("do", mara, "explode")).status_code == 404
    assert keeper.post(url("do_memory", mara, 1, "explode")).status_code == 404


def test_a_repeated_action_says_so_and_is_not_logged(keeper, mara, log):
    def do(name):
        page = keeper.post(url("do", mara, name), follow=True)
        return " ".join(map(str, page.context["messages"]))

    assert "is awake already" in do("wake") and "was not paused" in do("continue")
    assert "falls asleep" in do("sleep") and "already asleep" in do("sleep")
    do("wake")
    assert "Mara is paused" in do("pause") and "already paused" in do("pause")
    assert "hears and learns again" in do("continue")
    assert done_in(log, mara) == ["sleep", "wake", "pause", "resume"]


def done_in(log, npc):
    """What the security log says was done to the memory of an NPC, looks aside."""
    done = [line.partition("): ")[2] for line in log if ": look with " not in line]
    return [each.removesuffix(f" {npc.key} ({npc.dbref})") for each in done]


@pytest.mark.parametrize("turn", range(1, 7))
@pytest.mark.parametrize("action", ["forget", "forget-all"])
def test_an_npc_that_is_deleted_while_it_forgets_is_no_longer_there(
    keeper, mara, alice, at_turn, turn, action
):
    [entry] = told(mara, alice, "Mara, I keep the ferry at Millbrook.")
    page = url("do_memory", mara, entry.id, action)
    deleted = at_turn(turn, mara.delete)
    found = keeper.post(page, follow=True)
    assert found.status_code == (404 if deleted() else 200)
    if deleted():
        assert "deleted" in words(found) or "There is no NPC" in words(found)
