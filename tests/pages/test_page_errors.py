"""Settings without secrets, error pages, and pages without a language model."""

from __future__ import annotations

import logging
import re
import socket

import pytest
from django.urls import reverse
from page_visits import PAGES, told, url, words

from contrib_ai_memory.admin import inspect
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.condition import StoreInUse
from contrib_ai_memory.web import gate


def test_the_settings_page_shows_current_values_and_no_secret(keeper, mara, settings):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {
        "TICK_RATE": 7,
        "LLM": {
            "base_url": "http://me:open-sesame-1@127.0.0.1:9/v1",
            "model": "m",
            "api_key": "open-sesame-2",
        },
        "VECTOR_STORE": {
            "provider": "pgvector",
            "config": {
                "connection_string": "postgresql://u:open-sesame-3@db/x",
                "nested": {"Authorization": "open-sesame-4"},
                "url": "https://db.example/x?password=open-sesame-5",
            },
        },
    }
    page = keeper.get(reverse("ai_memory:settings"))
    text = words(page)
    assert "open-sesame" not in page.content.decode()
    assert re.search(r"TICK_RATE 7 changed 5", text), text
    assert re.search(r"LLM.max_tokens \d+", text), "a number of tokens is no secret"
    assert "127.0.0.1:9/v1" in text and "db.example" in text


def test_the_settings_page_shows_keywords_which_are_no_keys(keeper, mara, settings):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"KEYWORDS": ("ferry", "toll")}
    text = words(keeper.get(reverse("ai_memory:settings")))
    assert "KEYWORDS ferry, toll changed" in text


def test_a_store_locked_by_another_process_gives_an_error_page(keeper, mara, monkeypatch):
    def held(**options):
        raise StoreInUse("Another process holds the memory store. Stop it first.")

    monkeypatch.setattr(memory_store, "open_store", held)
    memory_store.close_shared(for_good=False)
    page = keeper.get(url("facts", mara))
    assert page.status_code == 503
    assert "Another process holds the memory store" in words(page)


def test_a_busy_memory_gives_an_error_page_with_a_reload_button(keeper, mara, monkeypatch):
    def late(*args, **kwargs):
        raise gate.TooSlow("No answer within 10 s.")

    monkeypatch.setattr(gate, "on_reactor", late)
    page = keeper.get(url("facts", mara))
    assert page.status_code == 503
    assert "Reload" in words(page)


def test_an_internal_error_is_logged_and_not_shown(keeper, mara, monkeypatch, caplog):
    def broken(npc):
        raise KeyError("what nobody expected")

    monkeypatch.setattr(inspect, "overview", broken)
    monkeypatch.setattr(logging.getLogger("contrib_ai_memory"), "propagate", True)
    page = keeper.get(url("overview", mara))
    assert page.status_code == 500
    assert "ai_memory.log" in words(page)
    assert "what nobody expected" not in words(page)


def test_no_page_calls_a_language_model(keeper, mara, alice, settings):
    [entry] = told(mara, alice, "Mara, I keep the ferry at Millbrook.")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        port = server.getsockname()[1]
        llm = {"base_url": f"http://127.0.0.1:{port}/v1", "model": "m", "timeout": 5}
        settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"LLM": llm}
        for page in (*(url(page, mara) for page in PAGES), reverse("ai_memory:npcs")):
            assert keeper.get(page).status_code == 200
        who = mara.get_memory_identity(alice)
        keeper.get(url("prompt", mara), {"who": who, "text": "What do I keep?"})
        keeper.get(url("search", mara), {"q": "ferry"})
        keeper.post(url("edit", mara, entry.id), {"content": "I keep a lighthouse."})
        with pytest.raises(TimeoutError):
            server.accept()
