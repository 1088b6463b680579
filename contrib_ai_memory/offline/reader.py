"""The reader: how surely a sentence answers a question, or a statement ends an older one.

Twelve layers of attention over question and sentence together (a cross-encoder, Nogueira & Cho
2019), multiplied in bytes: ms-marco-MiniLM-L-12-v2, trained further on scenes of games and on what
came to mind in plays (`python -m benchmarks.reader`); the words' embeddings are those of the
bundled embedding model, so only its installation is needed. Worker threads only.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..embedding import runtime
from ..embedding.model import ModelError, bundled_path, not_installed
from ..log import logger

GRAPH = Path(__file__).with_name("reader.onnx")
MAX_TOKENS = 96  # of a question and a sentence together
_BATCH = 32

_opening = threading.Lock()
_reader: AnswerReader | None = None
_unusable = False


class AnswerReader:
    """The network. 0 is as sure as that nothing answers."""

    def __init__(self, graph: Path):
        from tokenizers import Tokenizer

        folder = bundled_path()
        self.session = runtime.open_session(graph, weights=folder)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")

    def scores(self, question: str, sentences: Sequence[str]) -> np.ndarray:
        """Return a score for each sentence, float32, shape (sentences,); larger is surer.

        Args:
            question: As `question_read` writes it.
            sentences: As `sentence_read` writes them.
        """
        return self._read(question, sentences, "scores")

    def changes(self, newer: str, older: Sequence[str]) -> np.ndarray:
        """Return how surely a statement ends, and how surely it repeats, each of some older ones,
        0-1, float32, shape (older, 2).

        Args:
            newer, older: As `sentence_read` writes them.
        """
        return 1 / (1 + np.exp(-self._read(newer, older, "changes", 2)))

    def answering(self, question: str, sentence: str) -> list[tuple[int, int, float]]:
        """Return the words of a sentence, or pieces of them: where each begins and ends, and how
        surely it is of the answer.

        Args:
            question, sentence: As `question_read` and `sentence_read` write them.
        """
        pair = self.tokenizer.encode(question, sentence)
        [found] = self.session.run(["answers"], inputs(pair))[0]
        return [
            (*offsets, float(score))
            for offsets, kind, score in zip(pair.offsets, pair.type_ids, found, strict=True)
            if kind and offsets[1] > offsets[0]
        ]

    def _read(self, first: str, others: Sequence[str], output: str, *shape: int) -> np.ndarray:
        found = np.empty((len(others), *shape), dtype=np.float32)
        pairs = self.tokenizer.encode_batch([(first, each) for each in others])
        for places in runtime.batches([len(each.ids) for each in pairs], _BATCH):
            ids, mask = runtime.padded([pairs[place].ids for place in places])
            kinds, _ = runtime.padded([pairs[place].type_ids for place in places])
            given = {"ids": ids, "mask": mask, "kinds": kinds}
            found[places] = self.session.run([output], given)[0]
        return found


def inputs(pair: Any) -> dict[str, np.ndarray]:
    """Return what the network is given of one tokenized pair of texts."""
    given = {"ids": pair.ids, "mask": pair.attention_mask, "kinds": pair.type_ids}
    return {name: np.array([each]) for name, each in given.items()}


def shared() -> AnswerReader | None:
    """Return the reader of this process, opened when it is first asked for (0.2 s).

    None where the bundled embedding model, whose words it reads, is not installed or damaged.
    """
    global _reader, _unusable
    with _opening:
        if _reader is None and not _unusable and not not_installed():
            try:
                _reader = AnswerReader(GRAPH)
            except ModelError as problem:
                _unusable = True
                logger().error("Answers are the first memory that comes to mind: %s", problem)
        return _reader


def question_read(asker: str, npc: str, question: str) -> str:
    """Write a question as the reader was trained to read it."""
    return f"{asker} asks {npc}: {question}"


def sentence_read(speaker: str, days: int | None, text: str) -> str:
    """Write a sentence as the reader was trained to read it.

    Args:
        speaker: Whose words they are, the NPC's own for what it was taught; "" for a note.
        days: How long ago they were said, None for what has no day.

    >>> sentence_read("Bram", 1, "The ferry sinks.")
    'Bram yesterday: The ferry sinks.'
    """
    when = "" if days is None else " today" if days <= 0 else " yesterday"
    if days is not None and days > 1:
        when = f" {days} days ago"
    return f"{speaker}{when}: {text}" if speaker else text
