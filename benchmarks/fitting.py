"""Weights of the clues of recall, fitted on some conversations to be measured on another.

Maximum likelihood: each piece of evidence against everything that is none, by a softmax over the
candidates of its question, with a little L2. Questions whose answer is nowhere (category 5) teach
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

L2 = 1e-4
ITERATIONS = 200


@dataclass(frozen=True, eq=False)
class Case:
    """One question: the clues of its candidates, shape (n, clues), and which are evidence."""

    clues: np.ndarray
    evidence: np.ndarray


def fitted(cases: Sequence[Case], start: Any) -> Any:
    """The best weights for `cases`, scaled so that the four lanes add up to what they do now.

    Args:
        start: `rank.Weights` to begin with.
    """
    from dataclasses import astuple

    found = listwise(cases, 10 * np.array(astuple(start)), L2)
    scale = sum(astuple(start)[:4]) / found[:4].sum()
    return type(start)(*(float(weight) for weight in found * scale))


def listwise(cases: Sequence[Case], begin: np.ndarray, l2: float) -> np.ndarray:
    """The most likely weights of the clues, shape (clues,), to begin with `begin`."""
    from scipy.optimize import minimize

    useful = [case for case in cases if case.evidence.any() and not case.evidence.all()]
    clues = np.concatenate([case.clues for case in useful])
    evidence = np.concatenate([case.evidence for case in useful]).astype(float)
    sizes = [len(case.evidence) for case in useful]
    question = np.repeat(np.arange(len(useful)), sizes)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    share = evidence / np.add.reduceat(evidence, first)[question]

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = clues @ weights
        exps = np.exp(scores - np.maximum.reduceat(scores, first)[question])
        others = exps * (1 - evidence)
        below = np.add.reduceat(others, first)[question] + exps
        value = -(share * np.log(exps / below + 1e-300)).sum() / len(useful)
        pull = share * (1 - exps / below)
        pull -= others * np.add.reduceat(share / below, first)[question]
        return value + l2 * weights @ weights, -clues.T @ pull / len(useful) + 2 * l2 * weights

    options = {"maxiter": ITERATIONS}
    return minimize(loss, begin, jac=True, method="L-BFGS-B", options=options).x
