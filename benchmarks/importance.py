"""How well the heuristic importance agrees with a language model's, beside the model with itself.

The file holds observations that a language model rated 1-10, one a line, tab-separated: owner, node
type, text, the ratings given on different occasions with commas between. Lines that begin with `#`
say where it is from.

Each observation is rated as the NPC's own, addressed by nobody: what [A] counts is then the same
for all, and what was said decides alone. The figure is Spearman's rank correlation with the mean of
the model's ratings; its interval comes from drawing the observations anew, with replacement.
Nothing is fitted, so that each owner's part by itself is a figure on unseen lines of the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from contrib_ai_memory.english.salience import LEAST, MOST, signals_of
from contrib_ai_memory.ingest.importance import BASE, clamp, heuristic_importance
from contrib_ai_memory.records import Percept

from .harness import Bar, Report, arguments, configure_alone

BAR = 0.68  # DESIGN §9
RESAMPLES = 10_000
SEED = 0
KEYWORDS = ("goal", "quest", "name")  # [A], the default of the settings

COLUMNS = ("rated by", "observations", "Spearman", "95 % from", "to")
SIGNAL_COLUMNS = ("signal", "found in", "adds", "Spearman without it")


@dataclass(frozen=True, slots=True)
class Observation:
    """One line of the file. `ratings` are 1-10, one for each time that the model was asked."""

    owner: str
    text: str
    ratings: tuple[int, ...]

    @property
    def mean(self) -> float:
        return sum(self.ratings) / len(self.ratings)


def read(file: Path) -> list[Observation]:
    """The observations of `file`.

    Raises:
        SystemExit: It cannot be read, or a line is not of the format; says which.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{file} cannot be read: {error}") from error
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            owner, _type, text, ratings = line.split("\t")
            found.append(Observation(owner, text, tuple(int(r) for r in ratings.split(","))))
        except ValueError as error:
            raise SystemExit(
                f"{file}, line {number}: expected owner, type, text and ratings with tabs between."
            ) from error
    if len(found) < 3:
        raise SystemExit(f"{file} holds {len(found)} observations: too few to rank.")
    return found


# --- those who rate -------------------------------------------------------------------------------


def heuristic(observation: Observation) -> int:
    percept = Percept(observation.text, "note", source_type="observation")
    return heuristic_importance(percept, KEYWORDS, sender_bonus=0)


def without(signal: str) -> Callable[[Observation], int]:
    """The heuristic, blind to one signal."""

    def rate(observation: Observation) -> int:
        found = signals_of(observation.text)
        content = sum(adds for name, adds in found.items() if name != signal)
        return clamp(BASE + max(LEAST, min(MOST, content)))

    return rate


def length(observation: Observation) -> int:
    return len(observation.text.split())


# --- agreement ------------------------------------------------------------------------------------


def spearman(a: Any, b: Any) -> Any:
    """Rank correlation along the last axis; 0 where one side gives everything the same rank."""
    ranks = [rankdata(values, axis=-1) for values in (a, b)]
    x, y = (each - each.mean(axis=-1, keepdims=True) for each in ranks)
    size = np.sqrt((x * x).sum(axis=-1) * (y * y).sum(axis=-1))
    return np.where(size > 0, (x * y).sum(axis=-1) / np.where(size > 0, size, 1), 0.0)


def agreement(
    who: str, rate: Callable[[Observation], float], observations: Sequence[Observation]
) -> dict[str, Any]:
    """One row: how `rate` ranks the observations, beside the mean of the model's ratings."""
    ours = np.array([rate(observation) for observation in observations], dtype=float)
    theirs = np.array([observation.mean for observation in observations])
    draws = np.random.default_rng(SEED).integers(len(ours), size=(RESAMPLES, len(ours)))
    return _row(who, len(ours), float(spearman(ours, theirs)), spearman(ours[draws], theirs[draws]))


def with_itself(observations: Sequence[Observation]) -> dict[str, Any]:
    """The model with itself: two of an observation's ratings at random, one beside the other."""
    rng = np.random.default_rng(SEED)
    pairs = np.array(
        [
            [rng.choice(each.ratings, 2, replace=False) for _ in range(RESAMPLES)]
            for each in observations
        ],
        dtype=float,
    )  # observation, draw, one or the other
    first, second = pairs[..., 0].T, pairs[..., 1].T
    draws = rng.integers(len(observations), size=first.shape)
    spread = spearman(
        np.take_along_axis(first, draws, axis=1), np.take_along_axis(second, draws, axis=1)
    )
    value = float(spearman(first, second).mean())
    return _row("the language model, asked again", len(observations), value, spread)


def _row(who: str, count: int, value: float, spread: Any) -> dict[str, Any]:
    low, high = np.percentile(spread, [2.5, 97.5])
    return {
        "rated by": who,
        "observations": count,
        "Spearman": value,
        "95 % from": float(low),
        "to": float(high),
    }


# --- the run --------------------------------------------------------------------------------------


def measure(report: Report, observations: list[Observation]) -> None:
    whole = agreement("heuristic", heuristic, observations)
    rows = [whole]
    for owner in sorted({observation.owner for observation in observations}):
        part = [observation for observation in observations if observation.owner == owner]
        rows.append(agreement(f"heuristic, {owner}'s alone", heuristic, part))
    again = [observation for observation in observations if len(observation.ratings) > 1]
    if len(again) > 2:
        rows.append(agreement("heuristic, those rated more than once", heuristic, again))
        rows.append(with_itself(again))
    rows.append(agreement("length in words", length, observations))
    rows.append(agreement("constant (the rules of [A] alone)", lambda _: BASE, observations))
    report.table(COLUMNS, rows)

    found = [signals_of(observation.text) for observation in observations]
    theirs = [observation.mean for observation in observations]
    signals = sorted({name for each in found for name in each})
    report.table(
        SIGNAL_COLUMNS,
        [
            {
                "signal": name,
                "found in": sum(name in each for each in found),
                "adds": next(each[name] for each in found if name in each),
                "Spearman without it": float(spearman([*map(without(name), observations)], theirs)),
            }
            for name in signals
        ],
    )
    report.note(
        f"Intervals: {RESAMPLES:,} resamples, seed {SEED}. A rating of everything alike ranks "
        "nothing: it is counted as 0."
    )
    what = "Spearman of the heuristic importance with the language model's"
    report.bars.append(Bar(what, whole["Spearman"], BAR, at_least=True))


def main() -> int:
    parser = arguments("The heuristic importance beside ratings that a language model gave.")
    parser.add_argument("file", type=Path, help="observations with their recorded ratings")
    options = parser.parse_args()
    configure_alone()
    observations = read(options.file)
    report = Report("importance", f"{len(observations)} observations of {options.file.name}")
    measure(report, observations)
    return report.finish(options.json)


if __name__ == "__main__":
    sys.exit(main())
