"""The forms of the pages: add a memory, teach a text, set the sleep schedule."""

from __future__ import annotations

import html
import re

from django.test import Client
from page_visits import logged_in, main_of, url, words

from contrib_ai_memory import offload
from contrib_ai_memory.admin import inspect

FERRY = """# The ferry

The ferry at Millbrook crosses the Harrow at dawn and at dusk. It costs 3 copper a head.

The ferryman Corin keeps the chain. In 1204 the old ferry sank with forty sheep on board."""


def test_an_added_memory_is_recalled_at_once_and_can_be_undone(keeper, mara, log):
    assert "Add a memory" in words(keeper.get(url("overview", mara)))
    page = url("add", mara)
    assert "word for word" in words(keeper.get(page))
    sent = {"text": "The cellar floods in spring.", "importance": "9"}
    done = keeper.post(page, sent, follow=True)
    assert "will remember that (entry 1)" in done.content.decode()
    entry = mara.memory.journal.get(1)
    assert (entry.content, entry.importance, entry.origin) == (sent["text"], 9, "builder")
    found = words(keeper.get(url("search", mara), {"q": "When does the cellar flood?"}))
    assert sent["text"] in found
    assert any(": add Mara" in line for line in log)
    assert not any("cellar" in line for line in log), "the log holds no content"
    keeper.post(url("do", mara, "undo"))
    assert mara.memory.journal.get(1) is None


def test_a_memory_that_cannot_be_added_is_explained_beside_the_form(keeper, mara):
    page = url("add", mara)
    for text, importance, told in (
        ("", "8", "This field is required"),
        ("\u200b", "8", "nothing to remember"),
        ("word " * 2000, "8", "let it be learned in pieces"),
        ("The cellar floods.", "11", "less than or equal to 10"),
    ):
        refused = keeper.post(page, {"text": text, "importance": importance})
        assert refused.status_code == 400 and told in words(refused), told
        assert html.escape(text[:40]) in main_of(refused), "what was typed is not lost"
    assert len(mara.memory.journal) == 0


def test_a_taught_text_is_listed_and_can_be_undone(keeper, mara, log):
    lessons = url("memories", mara, "taught")
    assert url("teach", mara) in main_of(keeper.get(lessons))
    assert lessons.endswith("/lessons/"), "as builders call them"
    assert keeper.get(lessons.replace("lessons", "taught")).status_code == 200, "an old bookmark"
    done = keeper.post(url("teach", mara), {"text": FERRY}, follow=True)
    told = " ".join(map(str, done.context["messages"]))
    assert re.search(r"Mara was taught \d pieces?: [1-9]\d* kept", told), told
    assert "sank with forty sheep" in words(done)
    assert any(": teach Mara" in line for line in log)
    keeper.post(url("do", mara, "undo"))
    assert offload.wait(inspect.memories(mara, "taught")).total == 0
    refused = keeper.post(url("teach", mara), {"text": "x" * 20_001})
    assert refused.status_code == 400 and "at most 20000 characters" in words(refused)


def test_the_sleep_schedule_is_set_removed_and_left_to_the_settings(keeper, mara, log):
    page = url("schedule", mara)
    assert "That of its settings: none" in words(keeper.get(page))
    sent = {"plan": "own", "hour": "22", "hours": "8", "clock": "game"}
    done = keeper.post(page, sent, follow=True)
    assert "every day at 22:00 (game time), for 8 hours at most" in done.content.decode()
    assert mara.assistant.sleep.schedule["enabled"]
    assert "every day at 22:00" in words(keeper.get(url("overview", mara)))
    assert 'value="22"' in main_of(keeper.get(page))
    keeper.post(page, {"plan": "off"})
    assert not mara.assistant.sleep.schedule["enabled"] and mara.assistant.sleep.own_schedule
    keeper.post(page, {"plan": "default"})
    assert mara.assistant.sleep.own_schedule == {}
    assert sum("schedule the sleep of" in line for line in log) == 3


def test_a_schedule_without_hours_is_refused(keeper, mara):
    refused = keeper.post(url("schedule", mara), {"plan": "own", "hour": "25"})
    assert refused.status_code == 400
    assert "less than or equal to 23" in words(refused) and "Enter a number" in words(refused)
    assert not mara.assistant.sleep.own_schedule


def test_the_forms_are_for_those_who_may_edit_and_need_a_csrf_token(client, mara):
    sent = {"text": "x", "importance": "5", "plan": "off"}
    mara.locks.add("memory_edit:false()")
    logged_in(client, "Builder", builder=True)
    for page in ("add", "teach", "schedule"):
        assert client.get(url(page, mara)).status_code == 403
        assert client.post(url(page, mara), sent).status_code == 403
    assert url("schedule", mara) not in main_of(client.get(url("overview", mara)))
    forged = logged_in(Client(enforce_csrf_checks=True), "Keeper", is_superuser=True)
    assert forged.post(url("add", mara), sent).status_code == 403
    assert len(mara.memory.journal) == 0


def test_the_persona_sheet_shows_what_is_written_and_changes_only_what_was_changed(keeper, mara):
    mara.attributes.add("persona", "Mara was born in Corrow.")
    mara.attributes.add("desc", "A woman of sixty.")
    page = url("persona", mara)
    shown = keeper.get(page).content.decode()
    assert "Mara was born in Corrow." in shown and "A woman of sixty." in shown
    sent = {"description": "A woman of sixty.", "persona": "", "voice": "Dry."}
    done = keeper.post(page, sent, follow=True).content.decode()
    assert "The voice of Mara is now: Dry." in done
    assert "The persona of Mara is removed." in done
    assert "description of Mara" not in done
    assert mara.db.desc == "A woman of sixty."
    assert mara.attributes.get("voice") == "Dry." and not mara.attributes.has("persona")
    assert "Nothing changed." in keeper.post(page, sent, follow=True).content.decode()
