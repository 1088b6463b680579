"""How much of a line is told: the whole line against the part that answers the question.

    python -m benchmarks.spans            measures it
    python -m benchmarks.spans --fit      fits the reader's head of words, then measures it

Lines of the stays, and of the evenings of which the reader has learned nothing, that answer a
question and have several clauses, as the reader has chosen them; nothing is played. "Lost" are
answers that the line holds and its part does not. The head says of each word how surely it is of
the answer: a logistic regression over the states of two layers, fitted on the words that the
answers to questions of plays and of the other evenings must hold. Fitting needs onnx and
scikit-learn, and takes some minutes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean

import numpy as np

from .evenings_data import (
    NOT_ANSWERABLE,
    Question,
    learned_files,
    load,
    stay_files,
    unseen_files,
)
from .harness import Bar, Report, arguments, configure_alone, progress
from .served import holds, plain, stem

LOST = 4.0  # percent
WIDTH = 384  # of a layer's states
WEAK = 0.003  # inverse strength of regularisation


def evidence(files: Iterable[Path]) -> Iterator[tuple[Question, str, str, str]]:
    """Yield questions with the NPC's name, a sentence that has something of the answer, and whose
    words it is."""
    from contrib_ai_memory.english.addressing import without_address
    from contrib_ai_memory.offline.sentence_answers import cut
    from contrib_ai_memory.text.names import forms

    for file in progress([*files], "read", "file"):
        evening = load(file)
        called = forms((evening.npc.name, *evening.npc.aliases))
        lines = {each.id: each for each in evening.lines}
        for question in evening.every_question:
            if question.kind in NOT_ANSWERABLE:
                continue
            for key in question.evidence:
                line, text = lines.get(key), evening.texts.get(key, "")
                said = without_address(text, called) if line else text
                for sentence in cut(said):
                    if any(_places(sentence, question)):
                        speaker = line.speaker if line else evening.npc.name
                        yield question, evening.npc.name, sentence, speaker


def _places(sentence: str, question: Question) -> Iterator[tuple[int, int]]:
    """Yield where a sentence holds what the answer must hold."""
    for group in question.expect:
        for each in group:
            yield from (found.span() for found in stem(each).finditer(plain(sentence)))


def told(files: Iterable[Path]) -> Iterator[tuple[Question, str, str]]:
    """Yield questions with the line that answers and the part of it that is told."""
    from contrib_ai_memory.english.questions import asks_of_a_whole
    from contrib_ai_memory.english.reported_speech import clauses
    from contrib_ai_memory.offline import reader, sentence_answers
    from contrib_ai_memory.records import MemoryRecord, ReplyRequest

    network = reader.shared()
    assert network, "the bundled embedding model is not installed"
    for question, npc, text, speaker in evidence(files):
        if speaker == npc or asks_of_a_whole(question.text) or len(clauses(text)) < 2:
            continue
        read = reader.question_read(question.asked_by, npc, question.text)
        [score] = network.scores(read, [reader.sentence_read(speaker, None, text)])
        if holds(text, question.expect) and score >= sentence_answers.UNSURE:
            asks = ReplyRequest(npc, "", question.asked_by, None, question.text)
            memory = MemoryRecord("line", text, "entry", "said", speaker=speaker)
            whole = sentence_answers.SentenceCandidate(text, memory, "")
            yield question, text, sentence_answers.to_the_question(whole, asks).text


def fit() -> None:
    """Fit the head of words, and write it into the reader."""
    import onnx
    from sklearn.linear_model import LogisticRegression

    from contrib_ai_memory.offline import reader

    from . import minilm_graph

    graph = onnx.load(str(reader.GRAPH), load_external_data=False)
    states = [f"encoder.layer.{each}.hidden" for each in minilm_graph.ANSWER_LAYERS]
    for name in states:
        graph.graph.output.append(
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["tokens", WIDTH])
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "reader.onnx"
        file.write_bytes(graph.SerializeToString())
        network = reader.AnswerReader(file)
    given, answers = [], []
    for question, npc, text, speaker in evidence(learned_files()):
        before = reader.sentence_read(speaker, None, "")
        pair = network.tokenizer.encode(
            reader.question_read(question.asked_by, npc, question.text), before + text
        )
        found = network.session.run(states, reader.inputs(pair))
        places = [(a + len(before), b + len(before)) for a, b in _places(text, question)]
        for place, (start, end) in enumerate(pair.offsets):
            if pair.type_ids[place] and start >= len(before):
                given.append(np.concatenate([each[place] for each in found]))
                answers.append(any(start < b and end > a for a, b in places))
    states_read = np.array(given)
    middle, spread = states_read.mean(axis=0), states_read.std(axis=0) + 1e-6
    model = LogisticRegression(C=WEAK, max_iter=500)
    model.fit((states_read - middle) / spread, answers)
    weights = model.coef_ / spread
    trained = minilm_graph.tensors(reader.GRAPH)
    trained["answers.weight"] = weights
    trained["answers.bias"] = model.intercept_ - weights @ middle
    minilm_graph.write(minilm_graph.reader, reader.GRAPH, trained)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--fit", action="store_true", help="fit the head of words first")
    given = parser.parse_args()
    configure_alone()
    if given.fit:
        fit()
    found = list(told([*stay_files(), *unseen_files()]))
    report = Report("benchmarks.spans", "the lines that answer, and what is told of them")
    lost = 100 * fmean(not holds(part, question.expect) for question, _line, part in found)
    row = {
        "lines": len(found),
        "told in part": 100 * fmean(part != line for _question, line, part in found),
        "words of a line": fmean(len(line.split()) for _question, line, _part in found),
        "words told": fmean(len(part.split()) for _question, _line, part in found),
        "lost": lost,
    }
    report.table([*row], [row])
    report.bars.append(Bar("answers lost", lost, LOST, "%"))
    return report.finish(given.json)


if __name__ == "__main__":
    sys.exit(main())
