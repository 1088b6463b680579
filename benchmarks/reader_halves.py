"""Two readers, each of which has learned from one half of the evenings and stays alone.

The reader that is shipped has learned from all of them, so what it answers there is no measure.
`python -m benchmarks.reader --train` writes these two beside it.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from .evenings_data import files, stay_files

LEARNED = "The reader has learned from these files; `--halves DIR` reads each as one who has not."
PLACE = "AI_MEMORY_READERS"  # variable of the environment: the folder of the two


def half_of(file: str) -> int:
    """Return in which half an evening or stay is, by its name: 0 or 1."""
    for each in (stay_files(), files()):
        names = sorted(one.stem for one in each)
        if file in names:
            return names.index(file) % 2
    return 0


def graph_of(half: int, folder: Path) -> Path:
    """Return the file of the reader that has not seen a half."""
    return folder / f"without-half-{half}.onnx"


def add_option(parser: ArgumentParser) -> None:
    """Let a benchmark that plays be given the two readers (`use`)."""
    parser.add_argument("--halves", type=Path, metavar="DIR", help="read as `benchmarks.reader`")


def use(folder: Path | None) -> None:
    """Have everything played from now on be read by who has not seen it."""
    if folder:
        os.environ[PLACE] = str(folder.resolve())


@contextmanager
def unseen(file: Path) -> Iterator[None]:
    """Read as the reader that has not learned from an evening or stay, where there is one."""
    from contrib_ai_memory.offline import reader

    folder = os.environ.get(PLACE)
    if not folder:
        yield
        return
    graph = graph_of(half_of(file.stem), Path(folder))
    with patch.multiple(reader, GRAPH=graph, _reader=None):
        yield
