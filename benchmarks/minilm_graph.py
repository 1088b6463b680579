"""Write the graph of the bundled embedding model for ONNX Runtime, without its weights.

    python -m benchmarks.minilm_graph

all-MiniLM-L6-v2 is always the same network: six layers of BERT (Devlin et al. 2019), the mean of
the tokens, unit length (Reimers & Gurevych 2019). The graph names each tensor by its place in the
package's `model.safetensors`, which ONNX Runtime maps into memory, so the file is small. Needs the
package `onnx`, which a game does not.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from contrib_ai_memory.embedding.model import GRAPH, bundled_path

WEIGHTS = "model.safetensors"
OPSET, IR = 20, 9  # Gelu came with operator set 20


class Graph:
    """A graph over the weights of one safetensors file.

    Args:
        weights: The file; the graph names it without its folder.
    """

    def __init__(self, weights: Path):
        self._file = weights.name
        with open(weights, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            self._tensors = json.loads(file.read(length))
        self._first = 8 + length
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []

    def node(self, operator: str, *inputs: str, out: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, list(inputs), [out], **attributes))
        return out

    def constant(self, name: str, value: Any) -> str:
        self._initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, name: str) -> str:
        """Name a tensor of the file by its place there."""
        begin, end = self._tensors[name]["data_offsets"]
        tensor = TensorProto(
            name=name,
            data_type=TensorProto.FLOAT,
            dims=self._tensors[name]["shape"],
            data_location=TensorProto.EXTERNAL,
        )
        place = {"location": self._file, "offset": self._first + begin, "length": end - begin}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self._initializers.append(tensor)
        return name

    def linear(self, given: str, name: str, out: str) -> str:
        weights = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("Gemm", given, *weights, out=out, transB=1)

    def normed(self, given: str, name: str, epsilon: float, out: str) -> str:
        weights = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("LayerNormalization", given, *weights, out=out, epsilon=epsilon)

    def bytes(self, inputs: list[Any], outputs: list[Any]) -> bytes:
        made = helper.make_graph(self._nodes, "MiniLM", inputs, outputs, self._initializers)
        opset = [helper.make_opsetid("", OPSET)]
        model: Any = helper.make_model(made, opset_imports=opset, ir_version=IR)
        return model.SerializeToString(deterministic=True)


def minilm(folder: Path) -> bytes:
    """Return the graph: `ids` and `mask`, int64 (texts, tokens), to unit vectors `vectors`."""
    config = json.loads((folder / "config.json").read_text())
    size, heads = config["hidden_size"], config["num_attention_heads"]
    epsilon = config["layer_norm_eps"]
    graph = Graph(folder / WEIGHTS)
    node, constant = graph.node, graph.constant
    flat = constant("flat", np.array([-1, size]))
    node("Shape", "ids", out="shape")
    node("Concat", "shape", constant("head_shape", [heads, size // heads]), out="split", axis=0)
    node("Concat", "shape", constant("size", [size]), out="whole", axis=0)
    # what masked tokens are worth to the others: nothing
    node("Cast", "mask", out="counted", to=TensorProto.FLOAT)
    node("Unsqueeze", "counted", constant("at_heads", [1, 2]), out="counted4")
    node("Sub", "counted4", constant("one", np.float32(1)), out="left_out")
    node("Mul", "left_out", constant("far", np.float32(1e9)), out="bias")

    node("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids", out="words")
    node("Shape", "ids", out="width", start=1, end=2)
    places = graph.weight("embeddings.position_embeddings.weight")
    node("Slice", places, constant("begin", [0]), "width", out="places")
    kinds = graph.weight("embeddings.token_type_embeddings.weight")
    node("Gather", kinds, constant("first", 0), out="kind")
    node("Add", "words", "places", out="placed")
    node("Add", "placed", "kind", out="embedded")
    node("Reshape", "embedded", flat, out="embedded_flat")
    hidden = graph.normed("embedded_flat", "embeddings.LayerNorm", epsilon, "hidden")
    scale = constant("scale", np.float32(1 / math.sqrt(size // heads)))
    for layer in range(config["num_hidden_layers"]):
        hidden = _layer(graph, f"encoder.layer.{layer}", hidden, scale, epsilon)

    node("Reshape", hidden, "whole", out="tokens")
    node("Unsqueeze", "counted", constant("second", [1]), out="counted3")
    node("MatMul", "counted3", "tokens", out="sum3")
    node("Squeeze", "sum3", "second", out="sum")
    node("ReduceL2", "sum", constant("last", [-1]), out="length", keepdims=1)
    node("Div", "sum", "length", out="vectors")  # the mean has the direction of the sum
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
        for name in ("ids", "mask")
    ]
    output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", size])
    return graph.bytes(inputs, [output])


def _layer(graph: Graph, name: str, hidden: str, scale: str, epsilon: float) -> str:
    node = graph.node

    def heads(part: str, order: list[int]) -> str:
        made = graph.linear(hidden, f"{name}.attention.self.{part}", f"{name}.{part}")
        node("Reshape", made, "split", out=f"{made}.split")
        return node("Transpose", f"{made}.split", out=f"{made}.heads", perm=order)

    query, key = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1])
    value = heads("value", [0, 2, 1, 3])
    node("MatMul", query, key, out=f"{name}.products")
    node("Mul", f"{name}.products", scale, out=f"{name}.scaled")
    node("Add", f"{name}.scaled", "bias", out=f"{name}.masked")
    node("Softmax", f"{name}.masked", out=f"{name}.shares", axis=-1)
    node("MatMul", f"{name}.shares", value, out=f"{name}.mixed")
    node("Transpose", f"{name}.mixed", out=f"{name}.joined", perm=[0, 2, 1, 3])
    node("Reshape", f"{name}.joined", "flat", out=f"{name}.attended")
    attended = graph.linear(f"{name}.attended", f"{name}.attention.output.dense", f"{name}.out")
    node("Add", attended, hidden, out=f"{name}.sum")
    hidden = graph.normed(
        f"{name}.sum", f"{name}.attention.output.LayerNorm", epsilon, f"{name}.normed"
    )
    wide = graph.linear(hidden, f"{name}.intermediate.dense", f"{name}.wide")
    node("Gelu", wide, out=f"{name}.active")
    narrow = graph.linear(f"{name}.active", f"{name}.output.dense", f"{name}.narrow")
    node("Add", narrow, hidden, out=f"{name}.sum2")
    return graph.normed(f"{name}.sum2", f"{name}.output.LayerNorm", epsilon, f"{name}.hidden")


def main() -> int:
    made = minilm(bundled_path())
    onnx.load_model_from_string(made)  # it can be read again
    GRAPH.write_bytes(made)
    print(f"{GRAPH.name}: {len(made):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
