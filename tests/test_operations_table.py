"""The table of operations: one row makes a switch, an endpoint, a button and a form."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from api_client import APIClient, make_account
from django.urls import clear_url_caches
from page_visits import logged_in, main_of, url, words

from contrib_ai_memory import offload
from contrib_ai_memory.admin.operations import TABLE, switches
from contrib_ai_memory.commands.base import help_text

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "developers.md"


@pytest.fixture
def rumour(settings, store_folder):
    """The operation of the guide for developers, and URLs that were loaded after it."""
    from contrib_ai_memory.web import api, urls

    def load_urls():
        for module in (api, urls, importlib.import_module(settings.ROOT_URLCONF)):
            importlib.reload(module)
        clear_url_caches()

    section = GUIDE.read_text().split("### A new operation")[1]
    [block] = re.findall(r"(?:^    .*\n|^\n)+", section.split("`@memory/rumour`")[0], re.M)[-1:]
    exec(re.sub(r"^    ", "", block, flags=re.M), {})
    load_urls()
    yield
    del TABLE["rumour"]
    load_urls()


def test_a_row_makes_a_switch_an_endpoint_and_a_form(rumour, mara, builder):
    told = "Mara has heard it (entry 1)"
    assert told in builder("@memory/rumour mara = The mill is haunted.")
    assert "Usage: @memory/rumour <npc> = <text>" in builder("@memory/rumour mara")
    assert "let it hear a rumour" in help_text("@memory", "", "")
    ask = APIClient(make_account("teller", "Builder"))
    sent = {"text": "The well is deep.", "importance": 5}
    status, entry = ask("POST", f"/npcs/{mara.id}/rumours/", sent)
    assert (status, entry["content"], entry["importance"]) == (
        201,
        "People say: The well is deep.",
        5,
    )
    assert ask("POST", f"/npcs/{mara.id}/rumours/", {"text": "x", "importance": 11})[0] == 400
    schema = ask("GET", "/openapi.json")[1]["paths"]["/npcs/{npc_id}/rumours/"]["post"]
    assert schema["description"] == "Let it hear a rumour. It is remembered as what people say."


def test_its_page_is_a_form_behind_a_button(rumour, mara, client):
    logged_in(client, "Keeper", builder=True)
    overview = client.get(url("overview", mara))
    assert url("rumour", mara) in main_of(overview) and "Spread a rumour" in words(overview)
    assert "remembered as what people say" in words(client.get(url("rumour", mara)))
    done = client.post(url("rumour", mara), {"text": "The inn is sold."}, follow=True)
    assert "Mara has heard it (entry 1). You can undo this." in done.content.decode()
    assert mara.memory.journal.get(1).content == "People say: The inn is sold."
    mara.locks.add("memory_edit:false()")
    assert client.post(url("rumour", mara), {"text": "No."}).status_code == 403


def test_a_look_without_a_view_of_its_own_is_shown_field_by_field(mara, builder, monkeypatch):
    from contrib_ai_memory.commands.memory import CmdMemory

    monkeypatch.setattr(CmdMemory, "views", {})
    shown = builder("@memory/cost mara")
    assert "Mara: cost" in shown and "language: offline provider" in " ".join(shown.split())


def test_every_operation_says_what_it_does_and_what_it_takes():
    for operation in TABLE.values():
        assert re.match(r"[A-Z][^.]+\.", operation.about), operation.name
        if operation.api:
            in_url = set(re.findall(r"{(\w+)}", operation.api))
            assert in_url <= {each.name for each in operation.arguments}, operation.name
    for command in ("@memory", "@sleep"):
        assert len(switches(command)) > 5


def test_nobody_without_the_access_of_an_operation_runs_it(rumour, mara, alice):
    entries = len(mara.memory.journal)
    mara.locks.add("memory_edit:false()")
    ask = APIClient(make_account("teller", "Builder"))
    assert ask("POST", f"/npcs/{mara.id}/rumours/", {"text": "No."})[0] == 403
    assert len(mara.memory.journal) == entries
    assert offload.wait(TABLE["rumour"].run(mara, alice, text="Yes.")).id == entries + 1
