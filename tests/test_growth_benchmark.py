"""The benchmark of growth: its made-up past, and that it runs."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.growth import Past

ROOT = Path(__file__).parent.parent


@pytest.fixture
def past(tmp_path):
    rows = np.random.default_rng(1).standard_normal((20, 384)).astype(np.float32)
    np.save(tmp_path / "vectors.npy", rows / np.linalg.norm(rows, axis=1, keepdims=True))
    return Past(tmp_path / "vectors.npy", 20)


def test_a_text_beyond_the_embedded_ones_is_near_one_of_them_and_not_the_same(past):
    first, later = past.vectors([3, 23])
    assert np.linalg.norm(later) == pytest.approx(1, abs=1e-5)
    assert 0.9 < first @ later < 0.99
    texts = past.texts(3)
    near = [next(texts) for _ in range(21)]
    assert near[20].startswith(near[0])
    assert near[20] != near[0]


def test_every_process_makes_the_same_past(past):
    assert np.array_equal(past.vectors([23, 43]), past.vectors(range(23, 44, 20)))
    assert next(past.texts(23)) == next(past.texts(23))


@pytest.mark.live
def test_it_runs_over_a_few_memories(tmp_path):
    out = tmp_path / "growth.json"
    small = "--sizes 100 --store-size 0 --queries 2 --day 20 --no-mem0"
    command = [sys.executable, "-m", "benchmarks.growth", *small.split(), "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert out.exists(), done.stdout + done.stderr
    row = json.loads(out.read_text())["rows"][0]
    assert row["memories"] == 100
    assert min(row["start s"], row["index ms"], row["recall ms"], row["night ms a line"]) > 0
