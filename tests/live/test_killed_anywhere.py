"""A night killed at its writes, one after the other, ends as one that nobody disturbed.

Every twentieth write here; `python tests/killed_night.py FOLDER` tries each of them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.live
def test_a_night_that_is_killed_at_any_write_ends_as_if_it_had_not_been(tmp_path):
    run = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "killed_night.py"), str(tmp_path), "--every", "20"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert " 0 differ" in run.stdout
