"""Secrets of the settings are shown nowhere: commands, pages, API, shell, log, tracebacks."""

import importlib.util
import logging
import re
import time
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.urls import reverse
from evennia.utils.create import create_account

from contrib_ai_memory import conf, offload
from contrib_ai_memory.llm import router
from contrib_ai_memory.log import logger
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.text import redaction

HUSH = "open-sesame"
NOBODY = "127.0.0.1:9"  # a port where nothing listens
psycopg_only = pytest.mark.skipif(
    not (importlib.util.find_spec("psycopg") and importlib.util.find_spec("psycopg_pool")),
    reason="psycopg[pool] is not installed",
)
STORES = [
    pytest.param(
        {"provider": "qdrant", "config": {"url": f"http://{NOBODY}", "api_key": f"{HUSH}-1"}},
        id="qdrant",
    ),
    pytest.param(
        {"provider": "qdrant", "config": {"url": f"http://me:{HUSH}-2@{NOBODY}"}},
        id="qdrant with a login in the URL",
    ),
    pytest.param(
        {
            "provider": "pgvector",
            "config": {"connection_string": f"postgresql://me:{HUSH}-3@{NOBODY}/memories"},
        },
        marks=psycopg_only,
        id="pgvector with a connection string",
    ),
    pytest.param(
        {
            "provider": "pgvector",
            "config": {"host": "127.0.0.1", "port": 9, "user": "me", "password": f"{HUSH}-4"},
        },
        marks=psycopg_only,
        id="pgvector with a password",
    ),
]


@pytest.fixture(params=STORES)
def store_out_of_reach(request, settings, store_folder):
    """The settings name a store that nothing answers for, with a secret in them."""
    memory_store.close_shared(for_good=False)
    settings.CONTRIB_AI_MEMORY |= {
        "VECTOR_STORE": request.param,
        "LLM": {
            "base_url": f"http://me:{HUSH}-5@{NOBODY}/v1",
            "model": "m",
            "api_key": f"{HUSH}-6",
            "timeout": 2,
            "retries": 0,
        },
        "REPLY_COOLDOWN": 0,
    }
    router.breaker.reset()
    yield request.param
    router.breaker.reset()
    memory_store.close_shared(for_good=False)


@pytest.fixture
def log_file():
    """The contrib's log file; `log_file()` gives what was added since."""
    logger()
    path = Path(django_settings.LOG_DIR) / "ai_memory.log"
    start = path.stat().st_size if path.exists() else 0

    def added():
        mark = f"end of what is looked at {time.monotonic_ns()}"
        logger().info(mark)
        for _ in range(100):
            text = path.read_bytes()[start:].decode() if path.exists() else ""
            if mark in text:
                return text
            time.sleep(0.05)
        raise AssertionError("the log was not written")

    return added


def test_a_builder_who_searches_sees_what_is_wrong_and_no_secret(
    mara, builder, store_out_of_reach, log_file
):
    for line in ("search Mara = ferry", "facts Mara", "stats Mara", "preview Mara = Mara: hello"):
        told = builder(f"@memory/{line}")
        assert HUSH not in told
    told = builder("@memory/search Mara = ferry")
    assert "127.0.0.1" in told and store_out_of_reach["provider"] in told
    assert HUSH not in log_file()


def test_talk_and_a_night_without_a_store_leave_no_secret_in_the_log(
    mara, alice, builder, store_out_of_reach, log_file, capfd
):
    alice.execute_cmd("say Mara, who keeps the ferry?")
    mara.assistant.at_tick().addErrback(offload.log_failure, "a tick")
    builder("@sleep Mara")
    for _ in range(4):
        mara.assistant.at_tick().addErrback(offload.log_failure, "a tick")
    told = log_file()
    assert store_out_of_reach["provider"] in told, "the log says nothing: this shows nothing"
    assert HUSH not in told
    assert HUSH not in builder("@sleep/log Mara")
    assert HUSH not in builder("@memory/cost Mara")
    assert HUSH not in "".join(capfd.readouterr())


def test_no_page_shows_a_secret(mara, client, store_out_of_reach):
    account = create_account("Keeper", email="", password="x-1!aBc2", is_superuser=True)
    client.force_login(account)
    names = ["overview", "journal", "facts", "people", "nights", "charts", "graph", "search"]
    pages = [reverse(f"ai_memory:{name}", args=[mara.id]) for name in names]
    pages += [reverse("ai_memory:settings"), reverse("ai_memory:npcs")]
    shown = {page: client.get(page, {"q": "ferry"}).content.decode() for page in pages}
    assert [page for page, text in shown.items() if HUSH in text] == []
    assert NOBODY.partition(":")[0] in shown[pages[2]]


def test_the_api_shows_no_secret(mara, client, store_out_of_reach):
    account = create_account("Keeper", email="", password="x-1!aBc2", is_superuser=True)
    client.force_login(account)
    for path in ("memories/", "stats/", "recall/?query=ferry", ""):
        answer = client.get(f"/api/memory/npcs/{mara.id}/{path}")
        assert HUSH not in answer.content.decode()


def test_the_shell_shows_no_secret(mara, store_out_of_reach, capsys):
    (conf.directory()).mkdir(parents=True, exist_ok=True)
    from contrib_ai_memory.store import metadata

    metadata.note(conf.directory(), embedding_model="all-MiniLM-L6-v2", dimensions=384)
    call_command("ai_memory", "status")
    printed = "".join(capsys.readouterr())
    assert "problem" in printed and "127.0.0.1" in printed
    assert HUSH not in printed


def test_the_settings_themselves_show_no_secret(store_out_of_reach):
    in_force = conf.get()
    for text in (repr(in_force), str(in_force), repr(in_force.model_dump()), f"{in_force.LLM}"):
        assert HUSH not in text
    assert HUSH in str(in_force.VECTOR_STORE.revealed())


@pytest.mark.parametrize(
    "broken",
    [
        {"LLM": {"base_url": "http://h/v1", "model": "m", "api_key": 12345678}},
        {"LLM": {"base_url": "http://h/v1", "model": "m", "api_key": ["12345678"]}},
        {"LLM": {"base_url": "http://h/v1", "model": "m", "apikey": "12345678"}},
        {"LLM": {"base_url": "http://h/v1", "model": "m", "bearer": "12345678"}},
        {"LLM": {"base_url": "me:12345678@h/v1", "model": "m"}},
        {"LLM": {"base_url": "ftp://me:12345678@h/v1", "model": "m"}},
        {"LLM": "12345678"},
        {"OPENAI_API_KEY": "12345678"},
        {"LLM_ACCESS": "12345678"},
        {"EMBEDDING": {"model": "m", "hf_token": "12345678"}},
        {"VECTOR_STORE": {"provider": "qdrant", "config": [{"api_key": "12345678"}]}},
        {"VECTOR_STORE": {"provider": "qdrant", "api_key": "12345678"}},
        {"VECTOR_STORE": "postgresql://me:12345678@h/x"},
        {"VECTOR_STORE": {"provider": "https://me:12345678@h"}},
        [{"LLM": {"api_key": "12345678"}}],
    ],
)
def test_a_refused_setting_is_named_without_its_secret(settings, broken):
    settings.CONTRIB_AI_MEMORY = broken
    with pytest.raises(ImproperlyConfigured) as refused:
        conf.get()
    assert "12345678" not in str(refused.value)
    assert "settings.CONTRIB_AI_MEMORY" in str(refused.value)


def test_a_changed_key_is_used_at_once_though_no_key_is_shown(settings):
    settings.CONTRIB_AI_MEMORY = {
        "LLM": {"base_url": "http://h/v1", "model": "m", "api_key": "aaaa"}
    }
    first = router.model_server()
    settings.CONTRIB_AI_MEMORY = {
        "LLM": {"base_url": "http://h/v1", "model": "m", "api_key": "bbbb"}
    }
    assert router.model_server() is not first
    assert router.model_server().settings.api_key.get_secret_value() == "bbbb"


@pytest.mark.parametrize(
    "text",
    [
        "cannot reach https://me:12345678@host/x",
        "connection failed: host=h password=12345678 dbname=x",
        "{'api_key': '12345678', 'url': 'x'}",
        "Authorization: Bearer 12345678",
        "api-key: 12345678",
        "redis://:12345678@h/0",
    ],
)
def test_an_error_of_a_client_is_freed_of_secrets_that_no_setting_holds(text, log_file):
    assert "12345678" not in redaction.redact(text)
    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger("contrib_ai_memory").exception("a client failed: %s", text)
    assert "12345678" not in re.sub(r"\d{9,}", "", log_file())
