"""Linear scores over named features, read from the data files that benchmarks write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A linear score over named features; NaN, an unknown value, counts as the mean.

    Attributes:
        mean, scale, weights: Of each feature, shape (features,).
    """

    names: tuple[str, ...]
    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    bias: float

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Linear:
        """Make a score of {"bias": b, "features": {name: [mean, scale, weight]}}."""
        table = stored["features"]
        mean, scale, weights = np.array(list(table.values()), dtype=float).reshape(-1, 3).T
        return cls(tuple(table), mean, scale, weights, stored["bias"])

    def __call__(self, features: Mapping[str, np.ndarray]) -> np.ndarray:
        table = np.stack([features[name] for name in self.names], axis=-1)
        return np.nan_to_num((table - self.mean) / self.scale) @ self.weights + self.bias
