"""ONNX Runtime, in which every network of the contrib runs: embedding model and cross-encoders.

Worker threads only; `run` of a session releases the interpreter's lock. Importing this module is
cheap: the launcher does it, to check the settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

TOKENS_AT_ONCE = 2048  # of one run, padding included: attention takes memory by rows x width²


def open_session(graph: Path, *, weights: Path | None = None) -> Any:
    """Open a network: an ONNX file, and the folder of its weights if that is another one.

    The memory arena is off, so that a long text does not raise the process's memory for good, and
    idle threads do not spin.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # only builds for Windows have any
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the game needs the other cores
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False  # it is for inputs of one shape
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if weights is None:
        source: Any = str(graph)
    else:
        source = graph.read_bytes()
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", str(weights)
        )
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def batches(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Group texts of similar length: places, at most `size` and `TOKENS_AT_ONCE` in a batch."""
    made: list[list[int]] = []
    room = 0
    for place in sorted(range(len(lengths)), key=lambda each: -lengths[each]):
        if not room:
            made.append([])
            room = max(1, min(size, TOKENS_AT_ONCE // max(1, lengths[place])))
        made[-1].append(place)
        room -= 1
    return made


def padded(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of token ids as one array and its mask, both int64, shape (rows, longest)."""
    import numpy as np

    width = max(map(len, rows))
    ids = np.zeros((len(rows), width), dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return ids, mask
