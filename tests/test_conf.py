"""settings.CONTRIB_AI_MEMORY: defaults, and errors that say what to do."""

import socket
import sys
import time

import pytest
from django.core.exceptions import ImproperlyConfigured

from contrib_ai_memory import conf, preflight
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.embedding.model import ModelError


def test_nothing_has_to_be_set(settings):
    del settings.CONTRIB_AI_MEMORY
    assert conf.get().TICK_RATE == 5
    assert conf.get().LLM is None


def test_a_changed_setting_is_in_force_at_once(settings):
    settings.CONTRIB_AI_MEMORY = {"TICK_RATE": 7}
    assert conf.get().TICK_RATE == 7
    settings.CONTRIB_AI_MEMORY = {"TICK_RATE": 9}
    assert conf.get().TICK_RATE == 9


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"TICK_RATE": "fast"}, ["['TICK_RATE'] = 'fast'", "a valid integer"]),
        ({"TICK_RATE": -1}, ["['TICK_RATE'] = -1", "greater than or equal to 1"]),
        ({"TICKRATE": 5}, ["['TICKRATE'] = 5", "no such key", "TICK_RATE"]),
        ({"ENABLED": "perhaps"}, ["['ENABLED'] = 'perhaps'", "boolean"]),
        ({"LLM": {"base_url": "nonsense", "model": "m"}}, ["['LLM']['base_url'] = 'nonsense'"]),
        ({"LLM": {"model": "m"}}, ["['LLM']['base_url']", "missing"]),
        ({"LLM": {"url": "http://x"}}, ["['LLM']['url']", "the keys are base_url"]),
        ({"VECTOR_STORE": "qdrant"}, ["['VECTOR_STORE'] = 'qdrant'"]),
        (
            {"VECTOR_STORE": {"provider": "milvus"}},
            ["['VECTOR_STORE']['provider'] = 'milvus'", "qdrant_edge, qdrant, pgvector"],
        ),
        ([], ["must be a dict"]),
    ],
)
def test_a_broken_setting_is_told_with_its_key_its_value_and_what_is_allowed(
    settings, broken, said
):
    settings.CONTRIB_AI_MEMORY = broken
    with pytest.raises(ImproperlyConfigured) as error:
        conf.get()
    for words in said:
        assert words in str(error.value)


def test_every_broken_key_is_told_not_only_the_first(settings):
    settings.CONTRIB_AI_MEMORY = {"TICK_RATE": "fast", "RECALL_TOP_K": 0}
    with pytest.raises(ImproperlyConfigured, match=r"TICK_RATE(.|\n)*RECALL_TOP_K"):
        conf.get()


def test_a_setting_that_has_become_a_constant_is_ignored_with_a_sentence(settings):
    settings.CONTRIB_AI_MEMORY = {
        "MAX_LINE": 300,
        "TICK_RATE": 7,
        "EMBEDDING": {"retries": 1},
        "LLM_NIGHT": {"style": "plain"},
    }
    assert conf.get().TICK_RATE == 7
    told = [each for each in preflight.doubts() if "is no setting any more" in each]
    gone = ["['MAX_LINE']", "['EMBEDDING']['retries']", "['LLM_NIGHT']['style']"]
    assert [each in sentence for each, sentence in zip(gone, told, strict=True)] == [True] * 3


# --- what is allowed and cannot work --------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"DIR": "{file}/memories"}, ["['DIR']", "is not a folder"]),
        ({"DIR": "/proc/memories"}, ["['DIR']", "/proc"]),
        ({"EMBEDDING": {"model": "{file}"}}, ["['EMBEDDING']['model']", "name the folder"]),
        ({"EMBEDDING": {"model": "/no/such/model"}}, ["/no/such/model", "no such folder"]),
        ({"EMBEDDING": {"model": "no such model"}}, ["no such folder"]),
        ({"EMBEDDING": {"model": "{folder}"}}, ["there is no model in that folder"]),
        ({"VECTOR_STORE": {"provider": "qdrant"}}, ["where the store is", "url; or host"]),
        (
            {"VECTOR_STORE": {"provider": "qdrant", "config": {"path": "{file}/x"}}},
            ["['path']", "is not a folder"],
        ),
        (
            {"VECTOR_STORE": {"config": {"url": "http://h"}}},
            ["['url']", "no such key of qdrant_edge", "lock_wait"],
        ),
        (
            {"VECTOR_STORE": {"provider": "qdrant", "config": {"url": "http://h", "shards": 6}}},
            ["['shards']", "no such key of qdrant", "shard_number"],
        ),
        (
            {
                "VECTOR_STORE": {
                    "provider": "qdrant",
                    "config": {"url": "http://h", "timeout": "soon"},
                }
            },
            ["['timeout']", "valid integer"],
        ),
    ],
)
def test_a_setting_that_cannot_work_is_named_when_the_game_starts(
    settings, tmp_path, broken, said, capsys, monkeypatch
):
    from django.apps import apps

    monkeypatch.setattr(sys, "argv", ["evennia", "start"])
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    text = repr(broken).replace("{file}", str(tmp_path / "file"))
    settings.CONTRIB_AI_MEMORY = eval(text.replace("{folder}", str(tmp_path / "folder")))
    with pytest.raises(SystemExit):
        apps.get_app_config("contrib_ai_memory").ready()
    printed = capsys.readouterr().err
    for words in (*said, "does not start"):
        assert words in printed


@pytest.mark.parametrize(
    ("doubtful", "said"),
    [
        (
            {
                "VECTOR_STORE": {
                    "provider": "qdrant",
                    "config": {"url": "http://k:pw12@127.0.0.1:9"},
                }
            },
            ["['VECTOR_STORE']", "127.0.0.1:9"],
        ),
        ({"EMBEDDING": {"model": "somebody/some-model"}}, ["somebody/some-model", "hub"]),
        ({"RERANKER": "somebody/some-reranker"}, ["['RERANKER']", "hub"]),
    ],
)
def test_a_server_or_hub_that_gives_no_answer_is_named_within_seconds_and_the_game_starts(
    settings, doubtful, said, capsys, monkeypatch
):
    from django.apps import apps

    if "EMBEDDING" in doubtful:
        pytest.importorskip("sentence_transformers")  # without it the game does not start
    monkeypatch.setattr(sys, "argv", ["evennia", "start"])
    settings.CONTRIB_AI_MEMORY = doubtful
    started = time.monotonic()
    apps.get_app_config("contrib_ai_memory").ready()
    assert time.monotonic() - started < 5
    printed = capsys.readouterr().err
    for words in said:
        assert words in printed
    assert "pw12" not in printed


def test_a_hub_model_that_was_not_downloaded_is_refused_and_no_hub_asked(settings, monkeypatch):
    pytest.importorskip("sentence_transformers")
    monkeypatch.setattr(embedder, "_shared", None)
    settings.CONTRIB_AI_MEMORY = {"EMBEDDING": {"model": "somebody/another-model"}}
    with socket.create_server(("127.0.0.1", 0)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{hub.getsockname()[1]}")
        with pytest.raises(ModelError, match="hf download somebody/another-model"):
            embedder.shared()
        hub.setblocking(False)
        with pytest.raises(BlockingIOError):
            hub.accept()
