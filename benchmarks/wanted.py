"""Which kind of reaction a line wants, judged against labelled lines.

    python -m benchmarks.wanted                     measures it on stays, company, taverns
    python -m benchmarks.wanted --train             trains it on talks and wordings, then measures
    python -m benchmarks.wanted --train --without w4 bank-c   without these authors, and on them too

benchmarks/data/wanted/README.md says what the lines are. The upper layers begin as those of the
network of acts (`benchmarks.acts`), over its lower ones, which stay as they are; each learns the
kinds of `acts.WANTED` that somebody wrote beside a line, the first of two counting three times as
much. The baseline is the kind that most lines have. Training needs torch, transformers and onnx,
and takes half an hour of one core.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contrib_ai_memory.offline import acts as act_reader
from contrib_ai_memory.offline.acts import WANTED, as_read
from contrib_ai_memory.records import LineInTalk, TalkLine

from . import company, talks
from .acts import AT_ONCE, batches, optimized
from .harness import Bar, Report, arguments, configure_alone, progress

FOLDER = Path(__file__).parent / "data" / "wanted"
OF_STAYS, OF_TALKS = FOLDER / "stays.json", FOLDER / "talks.json"
HELD_OUT = "taverns"
SHARED = 2  # lower layers of the network of acts that are not trained
EPOCHS = 4
LR, HEAD_LR = 1e-4, 2e-3
DROPOUT = 0.1
SMOOTH = 0.05  # of each label, spread over all kinds
FIRST = 0.75  # what the first of two kinds counts
OF_BANK = 0.5  # what a line counts whose wordings were labelled together
THRESHOLDS = (0.0, 0.4, 0.5, 0.7)
RIGHT = 0.75  # of what is chosen in taverns from a share of 0.4


@dataclass(frozen=True, slots=True)
class Labelled:
    """A line, and which reactions it wants, the first one first."""

    heard: LineInTalk
    wanted: tuple[str, ...]
    source: str
    counts: float = 1.0


def of_talks() -> Iterator[Labelled]:
    """Yield the lines of talks that a good NPC answers."""
    labels = json.loads(OF_TALKS.read_text("utf-8"))
    for file in talks.files():
        lines = [each for each in talks.read(file) if each.answers and not each.of_npc]
        for each, kinds in zip(lines, labels[file.stem].split(), strict=True):
            yield Labelled(each.heard, _kinds(kinds), file.stem)


def of_stays() -> Iterator[Labelled]:
    lines = [each for each in talks.of_stays() if each.answers]
    for each, kinds in zip(lines, json.loads(OF_STAYS.read_text("utf-8")).split(), strict=True):
        yield Labelled(each.heard, _kinds(kinds), "stays")


def of_company() -> Iterator[Labelled]:
    """Yield the lines of company of which nothing is learned (`company.HELD_OUT`)."""
    held_out = [each for each in company.files() if each.stem in company.HELD_OUT]
    for evening in (each for file in held_out for each in company.read(file)):
        for said, heard in company.heard(evening):
            if said.wants in WANTED:
                yield Labelled(heard, (said.wants,), evening.id)


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


def train(known: Sequence[Labelled]) -> None:
    """Train the upper layers on lines, and write the network with them."""
    import torch
    from safetensors.torch import load_file
    from transformers import BertConfig, BertModel

    from contrib_ai_memory.embedding.model import bundled_path

    from . import minilm_graph

    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
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
    bert.load_state_dict(state, strict=False)
    head = torch.nn.Linear(config.hidden_size, len(WANTED))
    fixed = ("embeddings.", *(f"encoder.layer.{each}." for each in range(SHARED)))
    for name, value in bert.named_parameters():
        value.requires_grad = not name.startswith(fixed)
    body = [each for each in bert.parameters() if each.requires_grad]
    groups = [{"params": body, "lr": LR}, {"params": head.parameters(), "lr": HEAD_LR}]
    steps = EPOCHS * len(known) // AT_ONCE
    optimizer, schedule = optimized(torch, groups, steps)
    tokenizer = act_reader.tokenizer()
    tokenizer.enable_padding()
    bert.train()
    for some in progress([*batches(known, steps)], "training", "step"):
        texts = [as_read(each.heard) for each in some]
        pairs = tokenizer.encode_batch([(before, line.text) for before, line in texts])
        given = {
            "input_ids": torch.tensor([each.ids for each in pairs]),
            "attention_mask": torch.tensor([each.attention_mask for each in pairs]),
            "token_type_ids": torch.tensor([each.type_ids for each in pairs]),
        }
        with torch.autocast("cpu", torch.bfloat16):
            pooled = bert(**given).pooler_output
        scores = head(torch.nn.functional.dropout(pooled.float(), DROPOUT))
        loss = -(_shares(torch, some) * torch.log_softmax(scores, -1)).sum(-1)
        counts = torch.tensor([each.counts for each in some])
        ((loss * counts).sum() / counts.sum()).backward()
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
    """Tell how often the likeliest kind is one that was labelled, by its share at least."""
    reader = act_reader.ActReader()
    found = [reader.read(each.heard).wanted[0] for each in progress(lines, name, "line")]
    right = np.array([kind in each.wanted for (kind, _), each in zip(found, lines, strict=True)])
    shares = np.array([share for _, share in found])
    most = Counter(each.wanted[0] for each in lines).most_common(1)[0]
    report.note(f"{name}, {len(lines)} lines, {most[1] / len(lines):.0%} of which are {most[0]}:")
    rows = [
        {
            "share from": least,
            "chosen, %": 100 * float(np.mean(shares >= least)),
            "right of these, %": 100 * float(right[shares >= least].mean()),
        }
        for least in THRESHOLDS
    ]
    report.table(("share from", "chosen, %", "right of these, %"), rows)
    return {least: row["right of these, %"] for least, row in zip(THRESHOLDS, rows, strict=True)}


def main() -> int:
    parser = arguments("Which kind of reaction a line wants.")
    parser.add_argument("--train", action="store_true", help="train the network and write it")
    parser.add_argument("--without", nargs="+", default=(), metavar="AUTHOR", help="left out")
    options = parser.parse_args()
    configure_alone()
    files = sorted(FOLDER.glob("*.txt"))
    known = [*of_talks(), *(each for file in files for each in written(file))]
    held_out = [each for each in known if each.source == HELD_OUT]
    left = [each for each in known if each.source in options.without]
    report = Report("benchmarks.wanted", f"{len(known) - len(held_out)} lines")
    if options.train:
        train([each for each in known if each.source not in (HELD_OUT, *options.without)])
    if left:
        measure(report, "authors left out", left)
    measure(report, "stays", [*of_stays()])
    measure(report, "company", [*of_company()])
    chosen = measure(report, "taverns", held_out)
    report.bars.append(
        Bar("right in taverns, of those chosen", chosen[0.4] / 100, RIGHT, at_least=True)
    )
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
