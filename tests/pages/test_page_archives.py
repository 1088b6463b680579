"""Export and import of a memory on the pages: download, upload, and what is refused."""

from __future__ import annotations

import os
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from evennia.utils.create import create_object
from page_visits import logged_in, main_of, told, url, words

from contrib_ai_memory import offload
from contrib_ai_memory.admin import archive
from contrib_ai_memory.web import forms


@pytest.fixture
def lived(mara, alice):
    told(mara, alice, "Mara, I keep the ferry at Millbrook.", "The key is under the step.")
    offload.wait(mara.assistant.sleep.whole_night())
    return mara


@pytest.fixture
def odo(tavern):
    return create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)


def exported(client, npc):
    """The page of the task, and the downloaded file."""
    page = client.post(url("export", npc), follow=True)
    link = re.search(r'href="(/memory/tasks/\w+/file/)"', main_of(page))
    return page, client.get(link[1])


def upload(client, npc, content, name="mara.jsonl", **typed):
    file = SimpleUploadedFile(name, content)
    return client.post(url("import", npc), {"file": file, **typed}, follow=True)


def body(response):
    return b"".join(response.streaming_content)


def left(store_folder):
    folder = store_folder / archive.TRANSFERS
    return list(folder.iterdir()) if folder.is_dir() else []


def test_an_exported_memory_is_downloaded_and_imported_into_another_npc(keeper, lived, odo, log):
    assert "secrets in plain text" in words(keeper.get(url("export", lived)))
    page, file = exported(keeper, lived)
    assert re.search(r"Exported: 2 journal entries, \d memories", words(page)), words(page)
    assert "attachment" in file["Content-Disposition"] and "Mara-" in file["Content-Disposition"]
    assert file["X-Content-Type-Options"] == "nosniff" and "no-store" in file["Cache-Control"]
    content = body(file)
    assert content.startswith(b'{"format":"contrib_ai_memory"')
    assert "wiped" not in words(keeper.get(url("import", odo)))
    done = upload(keeper, odo, content)
    text = words(done)
    assert "Odo remembers 2 journal entries" in text and "a copy with an id of its own" in text
    assert "under the step" in odo.memory.journal.get(2).content
    lines = [line for line in log if ": look with" not in line]
    assert [line.partition("): ")[2] for line in lines] == [
        f"export Mara ({lived.dbref})",
        f"import Odo ({odo.dbref})",
    ]


def test_an_import_replaces_memories_after_the_name_of_the_npc(keeper, lived, odo, alice):
    content = body(exported(keeper, lived)[1])
    told(odo, alice, "Odo, the toll is three silver.")
    assert "would be wiped" in words(keeper.get(url("import", odo)))
    for typed in ("", "Mara"):
        refused = upload(keeper, odo, content, typed=typed)
        assert refused.status_code == 400
    assert "toll" in odo.memory.journal.get(1).content
    assert "Odo remembers" in words(upload(keeper, odo, content, typed="odo"))
    assert "ferry" in odo.memory.journal.get(1).content


def test_a_file_that_is_no_archive_changes_nothing_and_shows_no_path(
    keeper, lived, odo, store_folder
):
    content = body(exported(keeper, lived)[1])
    for bad, told_ in (
        (b"not a memory", "mara.jsonl"),
        (content[: len(content) // 2], "is cut off"),
        (content.replace(b'"version":1', b'"version":99', 1), "version 99"),
    ):
        text = words(upload(keeper, odo, bad))
        assert told_ in text and str(store_folder) not in text, text
        assert len(odo.memory.journal) == 0
    assert [each.name for each in left(store_folder) if each.stat().st_size < 1000] == []
    empty = upload(keeper, odo, b"")
    assert empty.status_code == 400 and "empty" in words(empty)


def test_a_file_that_is_too_large_is_refused(keeper, odo, monkeypatch, store_folder):
    monkeypatch.setattr(forms, "LARGEST_UPLOAD", 10)
    refused = upload(keeper, odo, b"x" * 11)
    assert refused.status_code == 400 and "evennia ai_memory import" in words(refused)
    assert left(store_folder) == []


def test_a_builder_may_import_what_they_may_read_and_replace_nothing(keeper, lived, odo, alice):
    content = body(exported(keeper, lived)[1])
    builder = logged_in(Client(), "Builder", builder=True)
    lived.locks.add("memory_look:perm(Admin)")
    assert "whose lock memory_look keeps you out" in words(upload(builder, odo, content))
    assert len(odo.memory.journal) == 0
    lived.locks.add("memory_look:true()")
    assert "Odo remembers" in words(upload(builder, odo, content))
    assert "takes the permission Admin" in words(builder.get(url("import", odo)))
    refused = upload(builder, odo, content, typed="Odo")
    assert refused.status_code == 403 and "Admin" in words(refused)


def test_an_export_is_for_the_account_that_made_it_and_for_an_hour(keeper, lived, store_folder):
    page, file = exported(keeper, lived)
    link = re.search(r'href="(/memory/tasks/\w+/file/)"', main_of(page))[1]
    body(file)  # reads to the end, which closes it
    other = logged_in(Client(), "Other", is_superuser=True)
    assert other.get(link).status_code == 404
    [path] = left(store_folder)
    assert path.stat().st_mode & 0o077 == 0
    os.utime(path, (1, 1))
    _page, second = exported(keeper, lived)
    body(second)
    assert path not in left(store_folder)
    gone = keeper.get(link)
    assert gone.status_code == 404 and "export the memory again" in words(gone)


def test_files_are_for_those_who_may_look_or_edit_and_need_a_csrf_token(client, lived):
    logged_in(client, "Player")
    assert client.post(url("export", lived)).status_code == 403
    assert client.get(reverse("ai_memory:file", args=["0" * 16])).status_code == 403
    lived.locks.add("memory_edit:false()")
    builder = logged_in(Client(), "Builder", builder=True)
    assert upload(builder, lived, b"x").status_code == 403
    assert url("import", lived) not in main_of(builder.get(url("overview", lived)))
    forged = logged_in(Client(enforce_csrf_checks=True), "Keeper", is_superuser=True)
    assert forged.post(url("export", lived)).status_code == 403
