"""The verbs of the Makefile that undo something."""

import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).resolve().parent.parent / "Makefile"


@pytest.mark.parametrize("verb", ["stop", "clean"])
def test_on_a_fresh_clone_nothing_is_built(verb, tmp_path):
    shutil.copy(MAKEFILE, tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    before = sorted(tmp_path.iterdir())
    run = subprocess.run(
        ["make", verb, "PYTHON=false"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert sorted(tmp_path.iterdir()) == before
