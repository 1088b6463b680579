"""The library sentence-transformers: the bundled model has its vectors, other models go by it."""

import numpy as np
import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.embedding.model import (
    SentenceTransformerModel,
    bundled_path,
    open_model,
)
from contrib_ai_memory.recall import reranker
from contrib_ai_memory.store import memory_store

pytest.importorskip(
    "sentence_transformers", reason="make test-sentence-transformers installs that library"
)

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


def test_a_cross_encoder_of_the_library_reads_question_and_memory(cross_encoder):
    verdicts = reranker.scores(cross_encoder, "who keeps the ferry?", TALK)
    assert verdicts is not None and len(verdicts) == 3
    assert all(0 <= verdict <= 1 for verdict in verdicts)
