"""The benchmark of a player's lag: what it makes of runs, and that it runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import lag
from benchmarks.harness import Report

ROOT = Path(__file__).parent.parent


def run(trip=0.01, late=0.001, share=0.1):
    looks = {"late": [late] * 100, "idle late": [0.0] * 100}
    trips = {"say": [trip] * 10, "look": [trip] * 10}
    shares = {"idle share": share, "share": 0.5, "command": 8.0, "answer": 12.0}
    return {**looks, **trips, **shares, "steps": 3, "over": 0}


def missed(ours, *baselines):
    report = Report("lag", "a test")
    lag.tell(report, [(lag.WITHOUT, each) for each in baselines] + [(lag.WITH, ours)])
    return [bar.what for bar in report.bars if not bar.held]


def test_a_server_as_quick_as_the_one_without_the_contrib_holds_every_bar():
    assert missed(run(), run(), run()) == []


def test_a_slower_round_trip_is_missed_beside_both_runs_without_the_contrib():
    assert missed(run(trip=0.016), run(trip=0.01), run(trip=0.014))
    assert not missed(run(trip=0.016), run(trip=0.015), run(trip=0.014))


def test_a_stall_counts_beyond_those_of_the_server_without_the_contrib():
    assert "the longest stall, beyond that without" in missed(run(late=0.080), run())
    assert not missed(run(late=0.080), run(late=0.079))


def test_npcs_that_wait_may_cost_a_hundredth_of_a_processor():
    [what] = missed(run(share=0.12), run(share=0.1))
    assert what.startswith("NPCs that wait")


@pytest.mark.live
def test_it_runs_over_two_small_games(tmp_path):
    out = tmp_path / "lag.json"
    small = "--sleepers 1 --entries 20 --idle-npcs 10 --warm 5 --idle 2 --busy 5 --others 0"
    command = [sys.executable, "-m", "benchmarks.lag", *small.split(), "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert out.exists(), done.stdout + done.stderr
    rows = json.loads(out.read_text())["rows"]
    assert {row["what"] for row in rows if row["server"] == "with" and "what" in row} >= {"say"}
