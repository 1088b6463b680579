"""The memory of a whole evening, exported, imported and exported again.

One evening here; AI_MEMORY_EVENINGS=1 for all of them, those of a recorded language model too.
"""

from __future__ import annotations

import os

import pytest
from played_evening import live_through

from benchmarks.evenings_data import FOLDER
from benchmarks.recorded_model import RECORDED, RecordedModel
from contrib_ai_memory import offload
from contrib_ai_memory.admin import archive, erase

pytestmark = pytest.mark.slow

ALL = "AI_MEMORY_EVENINGS" in os.environ
EVENINGS = sorted(file.stem for file in FOLDER.glob("*.json")) if ALL else ["harbour-1"]
MODELS = sorted(file.name.partition(".")[0] for file in RECORDED.glob("*.replies.json"))


def comes_back_whole(npc, folder):
    first, second = folder / "a.jsonl", folder / "b.jsonl"
    offload.wait(archive.export(npc, first))
    offload.wait(erase.wipe(npc))
    offload.wait(archive.import_(npc, first))
    offload.wait(archive.export(npc, second))
    return second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize("name", EVENINGS)
def test_the_memory_of_an_evening_comes_back_whole(name, tavern, tmp_path):
    assert comes_back_whole(live_through(name, tavern), tmp_path)


@pytest.mark.skipif(not ALL, reason="only with AI_MEMORY_EVENINGS=1")
@pytest.mark.parametrize("name", MODELS)
def test_what_a_model_made_of_an_evening_comes_back_whole(
    name, tavern, tmp_path, server, speaks_through
):
    speaks_through(timeout=60)
    model = RecordedModel(name)
    server.behave(structured=lambda request: (model.answer(request.body) or {}).get("content"))
    assert comes_back_whole(live_through(name, tavern), tmp_path)
