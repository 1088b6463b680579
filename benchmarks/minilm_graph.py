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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from contrib_ai_memory.embedding.model import GRAPH, bundled_path

WEIGHTS = "model.safetensors"
MOST = 64  # of a weight multiplied in bytes: two products fit 16 bits, as some processors need
ANSWER_LAYERS = (8, 10)  # whose states say which words of a sentence answer
WANTED = "wanted.layer."  # the upper layers that say which reaction a line wants
OPSET, IR = 20, 9  # Gelu came with operator set 20


class Graph:
    """A graph over the weights of one safetensors file, and weights of its own.

    Args:
        weights: The file; the graph names it without its folder.
        own: Tensors by name that stand in the graph itself, in place of those of the file. A
            matrix of a linear layer is kept in a byte for each number, with a scale for each row.
        in_bytes: Whether these are multiplied in bytes too.
    """

    def __init__(
        self,
        weights: Path,
        own: Mapping[str, np.ndarray] | None = None,
        *,
        in_bytes: bool = False,
    ):
        self._file = weights.name
        with open(weights, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            self._tensors = json.loads(file.read(length))
        self._first = 8 + length
        self._own = own or {}
        self._in_bytes = in_bytes
        self._brought: set[str] = set()  # to bytes, of what is given to linear layers
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []

    def node(self, operator: str, *inputs: str, out: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, list(inputs), [out], **attributes))
        return out

    def constant(self, name: str, value: Any) -> str:
        self._initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, name: str) -> str:
        """Name a tensor: its own, else one of the file by its place there."""
        if name in self._own:
            return self.constant(name, self._own[name].astype(np.float32))
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
        if f"{name}.weight" not in self._own:
            weights = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
            return self.node("Gemm", given, *weights, out=out, transB=1)
        bias = self.weight(f"{name}.bias")
        value = self._own[f"{name}.weight"]
        scale = np.maximum(np.abs(value).max(axis=1, keepdims=True), 1e-12)
        scale /= MOST if self._in_bytes else 127
        whole = self.constant(f"{name}.weight.bytes", np.round(value / scale).astype(np.int8).T)
        by = self.constant(f"{name}.weight.scale", scale.astype(np.float32).T)
        if self._in_bytes:
            product = self._multiplied_in_bytes(given, whole, by, out)
        else:
            self.node("Cast", whole, out=f"{out}.weight", to=TensorProto.FLOAT)
            self.node("Mul", f"{out}.weight", by, out=f"{out}.scaled")
            product = self.node("MatMul", given, f"{out}.scaled", out=f"{out}.product")
        return self.node("Add", product, bias, out=out)

    def _multiplied_in_bytes(self, given: str, whole: str, by: str, out: str) -> str:
        """Multiply bytes: it takes a third of the time and a fourth of the memory.

        What is given is brought to bytes by its range in each run, once for all who use it.
        """
        parts = [f"{given}.{each}" for each in ("bytes", "by", "zero")]
        if given not in self._brought:
            self._brought.add(given)
            self._nodes.append(helper.make_node("DynamicQuantizeLinear", [given], parts))
        self.node("MatMulInteger", parts[0], whole, parts[2], out=f"{out}.whole")
        self.node("Cast", f"{out}.whole", out=f"{out}.float", to=TensorProto.FLOAT)
        self.node("Mul", parts[1], by, out=f"{out}.by")
        return self.node("Mul", f"{out}.float", f"{out}.by", out=f"{out}.product")

    def normed(self, given: str, name: str, epsilon: float, out: str) -> str:
        weights = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("LayerNormalization", given, *weights, out=out, epsilon=epsilon)

    def bytes(self, inputs: list[Any], outputs: list[Any]) -> bytes:
        made = helper.make_graph(self._nodes, "MiniLM", inputs, outputs, self._initializers)
        opset = [helper.make_opsetid("", OPSET)]
        model: Any = helper.make_model(made, opset_imports=opset, ir_version=IR)
        return model.SerializeToString(deterministic=True)


class Bert:
    """The layers of BERT, written into a graph with the inputs `ids` and `mask`.

    Args:
        config: The model's `config.json`.
        kinds: An input that says for each token to which of two texts it belongs; "" for one text.
    """

    def __init__(self, graph: Graph, config: Mapping[str, Any], kinds: str = ""):
        self.graph, self.epsilon = graph, config["layer_norm_eps"]
        size, heads = config["hidden_size"], config["num_attention_heads"]
        node, constant = graph.node, graph.constant
        constant("flat", np.array([-1, size]))
        node("Shape", "ids", out="shape")
        constant("head_shape", [heads, size // heads])
        node("Concat", "shape", "head_shape", out="split", axis=0)
        node("Concat", "shape", constant("size", [size]), out="whole", axis=0)
        constant("scale", np.float32(1 / math.sqrt(size // heads)))
        # what masked tokens are worth to the others: nothing
        node("Cast", "mask", out="counted", to=TensorProto.FLOAT)
        node("Unsqueeze", "counted", constant("at_heads", [1, 2]), out="counted4")
        node("Sub", "counted4", constant("one", np.float32(1)), out="left_out")
        node("Mul", "left_out", constant("far", np.float32(1e9)), out="bias")

        node("Gather", graph.weight("embeddings.word_embeddings.weight"), "ids", out="words")
        node("Shape", "ids", out="width", start=1, end=2)
        places = graph.weight("embeddings.position_embeddings.weight")
        node("Slice", places, constant("begin", [0]), "width", out="places")
        of_kinds = graph.weight("embeddings.token_type_embeddings.weight")
        node("Gather", of_kinds, kinds or constant("first", 0), out="kind")
        node("Add", "words", "places", out="placed")
        node("Add", "placed", "kind", out="embedded")
        node("Reshape", "embedded", "flat", out="embedded_flat")
        self.hidden = graph.normed("embedded_flat", "embeddings.LayerNorm", self.epsilon, "hidden")

    def layer(self, name: str) -> None:
        self.hidden = self._layer(name, self.hidden, "split")

    def last_layer(self, name: str) -> str:
        """Write a layer of which only the first token of each text is wanted, and return that."""
        node, constant = self.graph.node, self.graph.constant
        node("Reshape", self.hidden, "whole", out="all_tokens")
        node("Gather", "all_tokens", constant("token", 0), out="first_tokens", axis=1)
        node("Shape", "ids", out="texts", start=0, end=1)
        node("Concat", "texts", constant("single", [1]), "head_shape", out="split_first", axis=0)
        return self._layer(name, "first_tokens", "split_first")

    def _layer(self, name: str, asking: str, split: str) -> str:
        """Write a layer: `asking` are the tokens that look at all the others."""
        graph, node = self.graph, self.graph.node

        def heads(given: str, part: str, split: str, order: list[int]) -> str:
            made = graph.linear(given, f"{name}.attention.self.{part}", f"{name}.{part}")
            node("Reshape", made, split, out=f"{made}.split")
            return node("Transpose", f"{made}.split", out=f"{made}.heads", perm=order)

        query = heads(asking, "query", split, [0, 2, 1, 3])
        key = heads(self.hidden, "key", "split", [0, 2, 3, 1])
        value = heads(self.hidden, "value", "split", [0, 2, 1, 3])
        node("MatMul", query, key, out=f"{name}.products")
        node("Mul", f"{name}.products", "scale", out=f"{name}.scaled")
        node("Add", f"{name}.scaled", "bias", out=f"{name}.masked")
        node("Softmax", f"{name}.masked", out=f"{name}.shares", axis=-1)
        node("MatMul", f"{name}.shares", value, out=f"{name}.mixed")
        node("Transpose", f"{name}.mixed", out=f"{name}.joined", perm=[0, 2, 1, 3])
        node("Reshape", f"{name}.joined", "flat", out=f"{name}.attended")
        attended = graph.linear(f"{name}.attended", f"{name}.attention.output.dense", f"{name}.out")
        node("Add", attended, asking, out=f"{name}.sum")
        hidden = graph.normed(
            f"{name}.sum", f"{name}.attention.output.LayerNorm", self.epsilon, f"{name}.normed"
        )
        wide = graph.linear(hidden, f"{name}.intermediate.dense", f"{name}.wide")
        node("Gelu", wide, out=f"{name}.active")
        narrow = graph.linear(f"{name}.active", f"{name}.output.dense", f"{name}.narrow")
        node("Add", narrow, hidden, out=f"{name}.sum2")
        return graph.normed(
            f"{name}.sum2", f"{name}.output.LayerNorm", self.epsilon, f"{name}.hidden"
        )


def given(*names: str) -> list[Any]:
    """Return the inputs of a graph: int64, shape (texts, tokens)."""
    return [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
        for name in names
    ]


def minilm(folder: Path) -> bytes:
    """Return the graph: `ids` and `mask`, int64 (texts, tokens), to unit vectors `vectors`."""
    config = json.loads((folder / "config.json").read_text())
    graph = Graph(folder / WEIGHTS)
    node = graph.node
    bert = Bert(graph, config)
    for layer in range(config["num_hidden_layers"]):
        bert.layer(f"encoder.layer.{layer}")
    node("Reshape", bert.hidden, "whole", out="tokens")
    node("Unsqueeze", "counted", graph.constant("second", [1]), out="counted3")
    node("MatMul", "counted3", "tokens", out="sum3")
    node("Squeeze", "sum3", "second", out="sum")
    node("ReduceL2", "sum", graph.constant("last", [-1]), out="length", keepdims=1)
    node("Div", "sum", "length", out="vectors")  # the mean has the direction of the sum
    output = helper.make_tensor_value_info(
        "vectors", TensorProto.FLOAT, ["texts", config["hidden_size"]]
    )
    return graph.bytes(given("ids", "mask"), [output])


def reader(folder: Path, trained: Mapping[str, np.ndarray]) -> bytes:
    """Return the graph of the reader: `ids`, `mask` and `kinds`, int64 (pairs, tokens), to
    `scores`, float32 (pairs,), how surely the second text answers the first, `changes`, float32
    (pairs, 2), whether the first ends and whether it repeats the second, and `answers`, float32
    (pairs, tokens), how surely a token is of the answer. The words' embeddings are the bundled
    model's.

    Args:
        folder: Of the bundled model.
        trained: The tensors of layers, pooler and heads, by the names that BERT's have.
    """
    config = json.loads((folder / "config.json").read_text())
    graph = Graph(folder / WEIGHTS, trained, in_bytes=True)
    bert = Bert(graph, config, "kinds")
    layers = _layers(trained)
    for layer in range(layers - 1):
        bert.layer(f"encoder.layer.{layer}")
    first = bert.last_layer(f"encoder.layer.{layers - 1}")
    graph.linear(first, "pooler.dense", "pooled")
    graph.node("Tanh", "pooled", out="active")
    graph.linear("active", "head", "scores2")
    graph.node("Squeeze", "scores2", graph.constant("second", [1]), out="scores")
    graph.linear("active", "pair", "changes")
    outputs = [
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["pairs"]),
        helper.make_tensor_value_info("changes", TensorProto.FLOAT, ["pairs", 2]),
    ]
    if "answers.bias" in trained:
        states = [f"encoder.layer.{each}.hidden" for each in ANSWER_LAYERS]
        graph.node("Concat", *states, out="states", axis=1)
        weights = graph.weight("answers.weight"), graph.weight("answers.bias")
        graph.node("Gemm", "states", *weights, out="answers_flat", transB=1)
        graph.node("Reshape", "answers_flat", "shape", out="answers")
        outputs.append(
            helper.make_tensor_value_info("answers", TensorProto.FLOAT, ["pairs", "tokens"])
        )
    return graph.bytes(given("ids", "mask", "kinds"), outputs)


def act_reader(folder: Path, trained: Mapping[str, np.ndarray]) -> bytes:
    """Return the graph of the acts: `ids`, `mask` and `kinds`, int64 (lines, tokens), to `acts`,
    float32 (lines, tokens, acts), and `wanted`, float32 (lines, kinds of reaction and whether it is
    answered), from upper layers of its own, logits each.

    Args:
        folder: Of the bundled model.
        trained: The tensors of layers, pooler and heads, by the names that BERT's have.
    """
    config = json.loads((folder / "config.json").read_text())
    graph = Graph(folder / WEIGHTS, trained)
    node, constant = graph.node, graph.constant
    bert = Bert(graph, config, "kinds")
    branch = sorted({int(each.split(".")[2]) for each in trained if each.startswith(WANTED)})
    shared = bert.hidden
    for layer in range(_layers(trained)):
        shared = bert.hidden if layer == branch[0] else shared
        bert.layer(f"encoder.layer.{layer}")
    kinds = len(trained["acts.bias"])
    graph.linear(bert.hidden, "acts", "acts_flat")
    node("Concat", "shape", constant("kinds_of_act", [kinds]), out="split_acts", axis=0)
    node("Reshape", "acts_flat", "split_acts", out="acts")
    bert.hidden = shared
    for layer in branch:
        bert.layer(f"{WANTED}{layer}")
    node("Reshape", bert.hidden, "whole", out="all_tokens")
    node("Gather", "all_tokens", constant("token", 0), out="first", axis=1)
    graph.linear("first", "wanted.pooler.dense", "pooled")
    node("Tanh", "pooled", out="active")
    graph.linear("active", "wanted.head", "wanted")
    float32 = TensorProto.FLOAT
    outputs = [
        helper.make_tensor_value_info("acts", float32, ["texts", "tokens", kinds]),
        helper.make_tensor_value_info(
            "wanted", float32, ["texts", len(trained["wanted.head.bias"])]
        ),
    ]
    return graph.bytes(given("ids", "mask", "kinds"), outputs)


def _layers(trained: Mapping[str, np.ndarray]) -> int:
    return 1 + max(int(each.split(".")[2]) for each in trained if each.startswith("encoder."))


def write(
    make: Callable[[Path, Mapping[str, np.ndarray]], bytes],
    file: Path,
    trained: Mapping[str, np.ndarray],
) -> None:
    """Write the graph of a network that was trained further."""
    made = make(bundled_path(), trained)
    onnx.load_model_from_string(made)  # it can be read again
    file.write_bytes(made)


def tensors(file: Path) -> dict[str, np.ndarray]:
    """Return the tensors that a graph has of its own, float32, by name."""
    graph = onnx.load(str(file), load_external_data=False).graph
    kept = [each for each in graph.initializer if each.data_location != TensorProto.EXTERNAL]
    stored = {each.name: numpy_helper.to_array(each) for each in kept}
    floats = (".bias", "LayerNorm.weight", "embeddings.weight", "answers.weight")
    found = {k: v.copy() for k, v in stored.items() if k.endswith(floats)}
    for name in (each.removesuffix(".bytes") for each in stored if each.endswith(".bytes")):
        found[name] = (stored[f"{name}.bytes"] * stored[f"{name}.scale"]).T
    return found


def main() -> int:
    made = minilm(bundled_path())
    onnx.load_model_from_string(made)  # it can be read again
    GRAPH.write_bytes(made)
    print(f"{GRAPH.name}: {len(made):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
