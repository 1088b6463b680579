"""A real language model on a real server: an NPC with it is not worse off than without it.

Skipped where `AI_MEMORY_LLM` (benchmarks/llama_server.py) names no server and no folder. `make
test-llm` runs them: some ten minutes on two cores with a model of 1.5B.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import llama_server

ROOT = Path(__file__).resolve().parents[2]
PLACE = os.environ.get(llama_server.PLACE, "")
REPLIES = 20


def models():
    try:
        return llama_server.models(PLACE)
    except llama_server.NoServer as problem:
        return [pytest.param("", marks=pytest.mark.skip(reason=str(problem)))]


@pytest.fixture(scope="module", params=models())
def played(request, tmp_path_factory):
    """The first session of an evening, its night and its questions: what the benchmark says."""
    out = tmp_path_factory.mktemp("real_model") / "seen.json"
    run = [sys.executable, "-m", "benchmarks.real_model", "--sessions", "1", "--json", str(out)]
    run += ["--model", request.param, "--replies", str(REPLIES), "--talk", str(REPLIES)]
    subprocess.run(run, cwd=ROOT, check=False, stdout=sys.stderr)
    return json.loads(out.read_text())


def test_memory_and_answers_are_not_worse_than_without_the_model(played):
    missed = [bar["what"] for bar in played["bars"] if not bar["held"]]
    assert not missed


def test_every_line_gets_an_answer_that_can_be_spoken(played):
    [seen] = [told for name, told in played["seen"].items() if not name.endswith(", offline")]
    assert seen["replies"] and len(seen["talk"]) == REPLIES
    for each in (*seen["replies"], *seen["talk"]):
        assert each["reply"], each
        assert not set("<>{}[]|") & set(each["reply"]), each


def test_a_model_that_is_large_enough_makes_small_talk(played):
    [seen] = [told for name, told in played["seen"].items() if not name.endswith(", offline")]
    assert any(each["of_model"] for each in seen["talk"]) == seen["speaks"]
