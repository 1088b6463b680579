"""Whether a line is to be answered, and which kind of reaction it wants, by labelled lines.

    python -m benchmarks.wanted                     measures it on stays, company, taverns
    python -m benchmarks.wanted --train             trains it on all other lines, then measures
    python -m benchmarks.wanted --further           trains the shipped layers further
    python -m benchmarks.wanted --train --without w4 bank-c   without these authors, and on them too

benchmarks/data/wanted/README.md and benchmarks/data/company/README.md say what the lines are. The
upper layers begin as those of the network of acts (`benchmarks.acts`), over its lower ones, which
stay as they are; they learn the kinds of `acts.WANTED` that somebody wrote beside a line, the first
of two counting three times as much, and of lines in talks and company whether a good NPC answers.
The questions of scenes are questions ("know") too. Further training goes on with all talks and
company, and some of the wordings. The baseline of the kinds is the one that most lines have.
Training needs torch, transformers and onnx, and takes an hour of two cores, further training a
quarter.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from contrib_ai_memory.offline import acts as act_reader
from contrib_ai_memory.offline.acts import WANTED, as_read
from contrib_ai_memory.records import LineInTalk, TalkLine

from . import company, scenes, talks
from .acts import AT_ONCE, batches, optimized
from .harness import Bar, Report, arguments, configure_alone, progress

FOLDER = Path(__file__).parent / "data" / "wanted"
OF_STAYS, OF_TALKS = FOLDER / "stays.json", FOLDER / "talks.json"
HELD_OUT = "taverns"
SHARED = 2  # lower layers of the network of acts that are not trained
EPOCHS, EPOCHS_FURTHER = 4.0, 1.7
LR, HEAD_LR = 1e-4, 2e-3
LR_FURTHER, HEAD_LR_FURTHER = 6e-5, 5e-4
DROPOUT = 0.1
SMOOTH = 0.05  # of each label, spread over all kinds
SMOOTH_ANSWERS = 0.03
FIRST = 0.75  # what the first of two kinds counts
OF_BANK = 0.5  # what a line counts whose wordings were labelled together
OF_SCENES = 0.7
ANSWERS_COUNT = 1.5  # whether a line is answered, beside which reaction it wants
QUESTIONS = 2000  # of scenes
WORDINGS = 6000  # that are learned again in further training
ALONE = 0.3  # share of the lines with kinds alone that are learned without talk before
SILENT = 0.94  # share of the lines for others that are left alone
THREADS = 2
THRESHOLDS = (0.0, 0.4, 0.5, 0.7)
RIGHT = 0.75  # of what is chosen in taverns from a share of 0.4


@dataclass(frozen=True, slots=True)
class Labelled:
    """A line, and which reactions it wants, the first one first.

    Attributes:
        answered: Whether a good NPC answers; None where nobody said.
    """

    heard: LineInTalk
    wanted: tuple[str, ...]
    source: str
    counts: float = 1.0
    answered: bool | None = None


def of_talks() -> Iterator[Labelled]:
    """Yield the lines of talks; those that a good NPC answers, and no other says, with kinds."""
    labels = json.loads(OF_TALKS.read_text("utf-8"))
    for file in talks.files():
        lines = [*talks.read(file)]
        reacted_to = [each for each in lines if each.answers and not each.of_npc]
        yield from _labelled(lines, reacted_to, labels[file.stem].split(), file.stem)


def of_stays() -> Iterator[Labelled]:
    kinds = json.loads(OF_STAYS.read_text("utf-8")).split()
    lines = [*talks.of_stays()]
    yield from _labelled(lines, [each for each in lines if each.answers], kinds, "stays")


def _labelled(
    lines: Sequence[talks.Labelled],
    reacted_to: Sequence[talks.Labelled],
    kinds: Sequence[str],
    source: str,
) -> Iterator[Labelled]:
    wanted = {id(line): _kinds(each) for line, each in zip(reacted_to, kinds, strict=True)}
    for each in lines:
        yield Labelled(each.heard, wanted.get(id(each), ()), source, answered=each.answers)


def of_company(*, held_out: bool) -> Iterator[Labelled]:
    """Yield the lines of company by authors of whom nothing is learned (`company.HELD_OUT`), or by
    the others."""
    for file in company.files():
        if (file.stem in company.HELD_OUT) != held_out:
            continue
        for evening in company.read(file):
            for said, heard in company.heard(evening, replies=True):
                if said.wants == company.EITHER:
                    continue
                wanted = (said.wants,) if said.wants in WANTED else ()
                yield Labelled(heard, wanted, file.stem, answered=bool(said.wants))


def of_scenes() -> Iterator[Labelled]:
    """Yield what is asked in scenes."""
    for scene in (each for file in scenes.files() for each in scenes.read(file)):
        for number, asked in enumerate(scene.questions):
            here = (asked.asker, "Anna", "Bob")[: 1 + number % 3]
            line = LineInTalk(TalkLine(asked.asker, asked.text, "say"), (scene.npc,), here, ())
            yield Labelled(line, ("know",), "scenes", OF_SCENES)


def written(file: Path) -> Iterator[Labelled]:
    """Yield the lines of a file: "kind | what is said | what was said before it".

    Raises:
        ValueError: A kind is not known; says where.
    """
    counts = OF_BANK if file.stem.startswith("bank") else 1.0
    for number, row in enumerate(file.read_text("utf-8").splitlines(), 1):
        kinds, said, *before = (each.strip() for each in row.split(" | "))
        posed = re.fullmatch(r"\*(.+)\*", said)
        line = TalkLine("Tom", posed[1] if posed else said, "pose" if posed else "say")
        talk = tuple(TalkLine("Martha", each, "say") for each in before)
        others = ("Tom", "Anna", "Bob")[: 1 + number % 3]
        heard = LineInTalk(line, ("Martha",), others, talk)
        try:
            yield Labelled(heard, _kinds(kinds), file.stem, counts)
        except ValueError as problem:
            raise ValueError(f"{file.name}, line {number}: {problem}") from None


def _kinds(named: str) -> tuple[str, ...]:
    kinds = tuple(named.split("+"))
    if unknown := {*kinds} - {*WANTED}:
        raise ValueError(f"no kinds of reaction: {', '.join(unknown)}")
    return kinds


# --- training -------------------------------------------------------------------------------------


def train(known: Sequence[Labelled], *, further: bool = False) -> None:
    """Train the upper layers on lines, and write the network with them; `further` begins with those
    that are shipped."""
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    from contrib_ai_memory.embedding.model import bundled_path

    from . import minilm_graph

    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(THREADS)
    made = minilm_graph.tensors(act_reader.GRAPH)
    words = load_file(bundled_path() / "model.safetensors")
    state = {k: torch.tensor(v) for k, v in made.items()} | {
        k: v for k, v in words.items() if k.startswith("embeddings.") and k not in made
    }
    layers = 1 + max(int(k.split(".")[2]) for k in made if k.startswith("encoder."))
    config = BertConfig.from_pretrained(
        bundled_path(),
        num_hidden_layers=layers,
        hidden_dropout_prob=DROPOUT,
        attention_probs_dropout_prob=DROPOUT,
    )
    bert = BertModel(config)
    head = torch.nn.Linear(config.hidden_size, len(WANTED) + 1)
    own = {k.removeprefix("wanted."): v for k, v in state.items() if k.startswith("wanted.")}
    shipped_head = {name: own.pop(f"head.{name}") for name in ("weight", "bias")}
    state |= {k: v for k, v in own.items() if k.startswith("pooler.")}
    if further:
        head.load_state_dict(shipped_head)
        state |= {f"encoder.{k}": v for k, v in own.items() if k.startswith("layer.")}
    lacks = set(bert.load_state_dict(state, strict=False).missing_keys)
    if lacks - {"embeddings.position_ids"}:
        raise ValueError(f"{act_reader.GRAPH.name} lacks {', '.join(sorted(lacks))}.")
    fixed = ("embeddings.", *(f"encoder.layer.{each}." for each in range(SHARED)))
    for name, value in bert.named_parameters():
        value.requires_grad = not name.startswith(fixed)
    body = [each for each in bert.parameters() if each.requires_grad]
    rates = (LR_FURTHER, HEAD_LR_FURTHER) if further else (LR, HEAD_LR)
    groups = [
        {"params": each, "lr": rate}
        for each, rate in zip((body, [*head.parameters()]), rates, strict=True)
    ]
    steps = int((EPOCHS_FURTHER if further else EPOCHS) * len(known) / AT_ONCE)
    optimizer, schedule = optimized(torch, groups, steps)
    tokenizer = act_reader.tokenizer()
    tokenizer.enable_padding()
    bert.train()
    for some in progress([*batches(known, steps)], "training", "step"):
        texts = [as_read(_as_learned(each)) for each in some]
        pairs = tokenizer.encode_batch([(before, line.text) for before, line in texts])
        given = {
            "input_ids": torch.tensor([each.ids for each in pairs]),
            "attention_mask": torch.tensor([each.attention_mask for each in pairs]),
            "token_type_ids": torch.tensor([each.type_ids for each in pairs]),
        }
        with torch.autocast("cpu", torch.bfloat16):
            pooled = bert(**given).pooler_output
        scores = head(torch.nn.functional.dropout(pooled.float(), DROPOUT))
        (_loss_of_kinds(torch, scores, some) + _loss_of_answers(torch, scores, some)).backward()
        torch.nn.utils.clip_grad_norm_([*body, *head.parameters()], 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    tensors = {k: v for k, v in made.items() if not k.startswith("wanted.")}
    for name, value in bert.state_dict().items():
        if name.startswith("encoder.") and not name.startswith(fixed):
            tensors[name.replace("encoder.", "wanted.", 1)] = value.numpy()
        elif name.startswith("pooler."):
            tensors[f"wanted.{name}"] = value.numpy()
    tensors |= {f"wanted.head.{k}": v.detach().numpy() for k, v in head.state_dict().items()}
    minilm_graph.write(minilm_graph.act_reader, act_reader.GRAPH, tensors)


def _as_learned(line: Labelled) -> LineInTalk:
    alone = line.answered is None and random.random() < ALONE
    return replace(line.heard, before=()) if alone else line.heard


def _loss_of_kinds(torch: Any, scores: Any, some: Sequence[Labelled]) -> Any:
    counts = torch.tensor([each.counts if each.wanted else 0.0 for each in some])
    likely = torch.log_softmax(scores[:, : len(WANTED)], -1)
    loss = -(_shares(torch, some) * likely).sum(-1)
    return (loss * counts).sum() / counts.sum().clamp(1)


def _loss_of_answers(torch: Any, scores: Any, some: Sequence[Labelled]) -> Any:
    known = torch.tensor([float(each.answered is not None) for each in some])
    wanted = torch.tensor([float(bool(each.answered)) for each in some])
    smooth = SMOOTH_ANSWERS / 2 + (1 - SMOOTH_ANSWERS) * wanted
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    loss = entropy(scores[:, len(WANTED)], smooth, reduction="none")
    return ANSWERS_COUNT * (loss * known).sum() / known.sum().clamp(1)


def _shares(torch: Any, some: Sequence[Labelled]) -> Any:
    """Return what the network is to say of some lines, a tensor of shape (lines, kinds)."""
    shares = torch.full((len(some), len(WANTED)), SMOOTH / len(WANTED))
    for row, each in enumerate(some):
        parts = (FIRST, 1 - FIRST) if len(each.wanted) > 1 else (1.0,)
        for kind, part in zip(each.wanted, parts, strict=False):
            shares[row, WANTED.index(kind)] += (1 - SMOOTH) * part
    return shares


# --- measuring ------------------------------------------------------------------------------------


def measure(report: Report, name: str, lines: Sequence[Labelled]) -> dict[float, float]:
    """Tell how often the likeliest kind is one that was labelled, by its share at least, and which
    lines are answered."""
    reader = act_reader.ActReader()
    read = [reader.read(each.heard) for each in progress(lines, name, "line")]
    answers = np.array([each.answer for each in read])
    wanted = np.array([each.answered or False for each in lines])
    known = np.array([each.answered is not None for each in lines])
    both = zip(read, lines, strict=True)
    labelled = [(each.wanted[0], line) for each, line in both if line.wanted]
    right = np.array([kind in line.wanted for (kind, _), line in labelled])
    shares = np.array([share for (_, share), _ in labelled])
    most = Counter(line.wanted[0] for _, line in labelled).most_common(1)[0]
    report.note(f"{name}, {len(labelled)} lines, {most[1] / len(labelled):.0%} are {most[0]}:")
    rows = [
        {
            "share from": least,
            "chosen, %": 100 * float(np.mean(shares >= least)),
            "right of these, %": 100 * float(right[shares >= least].mean()),
        }
        for least in THRESHOLDS
    ]
    report.table(("share from", "chosen, %", "right of these, %"), rows)
    if known.any():
        least = np.quantile(answers[known & ~wanted], SILENT)
        found = float(np.mean(answers[known & wanted] > least))
        report.note(f"{found:.0%} of what is to be answered found with silence at {SILENT:.0%}.")
    return {least: row["right of these, %"] for least, row in zip(THRESHOLDS, rows, strict=True)}


def main() -> int:
    parser = arguments("Whether a line is answered, and which kind of reaction it wants.")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--train", action="store_true", help="train the network and write it")
    how.add_argument("--further", action="store_true", help="train the shipped layers further")
    parser.add_argument("--without", nargs="+", default=(), metavar="AUTHOR", help="left out")
    options = parser.parse_args()
    if options.further and options.without:
        parser.error("what is trained further has learned from all authors: use --train")
    configure_alone()
    wordings = [each for file in sorted(FOLDER.glob("*.txt")) for each in written(file)]
    held_out = [each for each in wordings if each.source == HELD_OUT]
    wordings = [each for each in wordings if each.source != HELD_OUT]
    some = random.Random(1).sample
    if options.further:
        wordings = some(wordings, WORDINGS)
    asked = some([*of_scenes()], QUESTIONS)
    known = [*of_talks(), *of_company(held_out=False), *wordings, *asked]
    left = [each for each in known if each.source in options.without]
    report = Report("benchmarks.wanted", f"{len(known)} lines")
    if options.train or options.further:
        learned = [each for each in known if each.source not in options.without]
        train(learned, further=options.further)
    if left:
        measure(report, "authors left out", left)
    measure(report, "stays", [*of_stays()])
    measure(report, "company", [*of_company(held_out=True)])
    chosen = measure(report, "taverns", held_out)
    report.bars.append(
        Bar("right in taverns, of those chosen", chosen[0.4] / 100, RIGHT, at_least=True)
    )
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
