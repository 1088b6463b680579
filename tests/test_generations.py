"""Store and database are of one moment, or it is said; what is lost or does not fit is found."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from twisted.internet import reactor

from contrib_ai_memory import conf, offload
from contrib_ai_memory.admin import doctor, erase
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.store import condition, generations, memory_store, metadata, snapshot
from contrib_ai_memory.store.condition import StoreDamaged, StoreUnpaired


@pytest.fixture
def talked(mara, alice, bram):
    for who, line in (
        (alice, "say I keep the ferry at Millbrook."),
        (bram, "say Wolves took two of my sheep near Harrow Hill."),
        (alice, "whisper Mara = I hide a silver key in Elmstead."),
    ):
        who.execute_cmd(line)
    offload.wait(mara.assistant.sleep.whole_night())
    mara.memory.flush()
    offload.wait(generations.mark_anew())
    return mara


def start_again():
    """What a start of the server does with the pair: open, compare, mark."""
    memory_store.close_shared(for_good=False)
    memory_store.shared()
    problem = generations.compare(generations.of_store())
    if not problem:
        offload.wait(generations.mark_anew())
    return problem


def run(*words):
    call_command("ai_memory", *words)


def told(npc, query):
    result = offload.wait(npc.memory.recall(query))
    return [item.memory.content for item in result.memories]


def test_each_start_begins_a_new_generation_in_both_halves(talked):
    before = generations.mark_of_database()
    assert start_again() == ""
    now = generations.mark_of_database()
    assert now[0] == before[0] + 1
    assert metadata.mark_of(generations.of_store()) == now
    assert "unsettled" not in generations.of_store()


@pytest.mark.parametrize("older", ["database", "store"])
def test_half_a_backup_is_told_of_by_log_builders_command_status_and_doctor(
    talked, store_folder, builder, capsys, older
):
    meta = store_folder / "store.json"
    kept = meta.read_text(), generations.mark_of_database()
    assert start_again() == ""
    if older == "store":
        meta.write_text(kept[0])
    else:
        generations._write_database(generations.id_of_database(), kept[1])
    assert f"the {older}" in start_again().replace("the game's ", "the ")
    assert "older than" in " ".join(builder("@memory mara").split())
    assert "older than" in " ".join(builder("@memory").split())
    run("status")
    assert "older than" in capsys.readouterr().out
    with pytest.raises(CommandError):
        run("doctor")
    assert "older than" in capsys.readouterr().out
    with pytest.raises(CommandError, match="older than"):
        run("erase", "Alice", "--yes")


def test_while_the_halves_do_not_match_the_journal_alone_goes_on(talked, alice):
    kept = generations.mark_of_database()
    assert start_again() == ""
    generations._write_database(generations.id_of_database(), kept)
    assert start_again()
    before, count = len(talked.memory.journal), memory_store.shared().count(talked.memory.id)
    alice.execute_cmd("say My boat is called Heron.")
    with pytest.raises(StoreUnpaired):
        offload.wait(talked.assistant.at_tick())
    assert len(talked.memory.journal) > before
    assert memory_store.shared().count(talked.memory.id) == count
    assert told(talked, "ferry"), "what is known is told all the same"
    offload.wait(doctor.check(mend=True))
    assert start_again() == ""
    offload.wait(talked.assistant.at_tick())
    assert any("Heron" in text for text in told(talked, "What is the boat called?"))
    assert offload.wait(doctor.check()) == []


def test_killed_between_the_two_marks_nothing_is_wrong(talked):
    generations._announce(generations.mark_of_database())
    assert start_again() == ""
    stored = generations._announce(generations.mark_of_database())
    generations._write_database(stored["store_id"], metadata.mark_of(stored))
    assert start_again() == ""


def test_two_times_that_count_alike_are_told_apart(talked, store_folder):
    meta = store_folder / "store.json"
    kept = meta.read_text(), generations.mark_of_database()
    offload.wait(generations.mark_anew())
    other = generations.mark_of_database()
    meta.write_text(kept[0])
    generations._write_database(generations.id_of_database(), kept[1])
    offload.wait(generations.mark_anew())
    assert generations.mark_of_database()[0] == other[0]
    generations._write_database(generations.id_of_database(), other)
    assert "went its own way" in start_again()


def test_a_store_that_opens_with_nothing_in_it_is_noticed_and_made_anew_from_the_journal(
    talked, store_folder, builder
):
    had = memory_store.shared().total()
    memory_store.close_shared(for_good=False)
    shutil.rmtree(store_folder / "qdrant_edge")
    assert start_again() == ""
    assert f"had {had} memories and was opened with 0" in " ".join(builder("@memory").split())
    assert start_again() == ""
    assert f"had {had} memories" in " ".join(builder("@memory mara").split())
    [first, *_more] = offload.wait(doctor.check())
    assert "doctor --mend" in first.what
    offload.wait(doctor.check(mend=True))
    assert any("ferry" in text for text in told(talked, "ferry"))
    assert offload.wait(doctor.check()) == []
    assert condition.troubles() == []


def _fact(npc, number, journal_ids, created_at):
    fact = MemoryRecord(
        id=f"11111111-2222-4333-8444-{number:012d}",
        content=f"Orrin guards gate {number}.",
        record="fact",
        journal_ids=journal_ids,
        created_at=created_at,
    )
    memory_store.shared().insert_new(
        npc.memory.id, [fact], np.eye(1, 384, k=number, dtype=np.float32)
    )
    return fact.id


def test_memories_that_rest_on_lines_which_are_not_there_are_found(talked):
    last, first = len(talked.memory.journal), talked.memory.journal.get(1)
    beyond = _fact(talked, 1, (last + 5,), "2031-01-01T00:00:00+00:00")
    partly = _fact(talked, 2, (1, last + 5), first.timestamp)
    earlier = _fact(talked, 3, (1, 2), "2020-01-01T00:00:00+00:00")
    found = {each.what: each.count for each in offload.wait(doctor.check())}
    assert found == {
        "memories rest on journal entries beyond the journal's end": 2,
        "memories rest on journal entries that are newer than they are": 1,
    }
    offload.wait(doctor.check(mend=True))
    assert offload.wait(doctor.check()) == []
    assert memory_store.shared().get([beyond, earlier]) == []
    [kept] = memory_store.shared().get([partly])
    assert kept.journal_ids == (1,)


def test_lines_of_another_time_under_the_same_numbers_are_found(talked):
    journal = talked.memory.journal
    journal.update({1: {"content": "The mill burns.", "timestamp": "2031-01-01T00:00:00+00:00"}})
    talked.memory.flush()
    found = [each.what for each in offload.wait(doctor.check())]
    assert any("differ from the lines that the store has" in what for what in found)
    offload.wait(doctor.check(mend=True))
    assert offload.wait(doctor.check()) == []
    assert "The mill burns." in told(talked, "mill")


def test_files_put_back_over_those_of_after_an_erasure_are_the_ones_that_count(
    talked, store_folder, alice, tmp_path
):
    count = memory_store.shared().count(talked.memory.id)
    memory_store.close_shared(for_good=False)
    shutil.copytree(store_folder, tmp_path / "kept")
    memory_store.shared()
    offload.wait(erase.erase_person(talked, talked.get_memory_identity(alice)))
    assert memory_store.shared().count(talked.memory.id) < count
    memory_store.close_shared(for_good=False)
    shutil.copytree(tmp_path / "kept", store_folder, dirs_exist_ok=True)  # as `tar x` does
    assert memory_store.shared().count(talked.memory.id) == count


def test_a_damaged_store_json_is_told_in_a_sentence(talked, store_folder):
    memory_store.close_shared(for_good=False)
    (store_folder / "store.json").write_text('{"embedding_mo')
    with pytest.raises(StoreDamaged, match="evennia ai_memory restore"):
        memory_store.shared()


def test_store_json_and_the_count_of_tokens_are_whole_where_a_write_breaks_off(
    talked, store_folder
):
    """A limit on the size of files stands for a disk that fills up in the midst of a write."""
    import resource
    import signal

    from contrib_ai_memory.llm.usage import Usage

    usage = Usage(store_folder / "llm_usage.json")
    usage.count("reply", None, 10, 10)
    files = [store_folder / "store.json", store_folder / "llm_usage.json"]
    before = [each.read_text() for each in files]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40, limits[1]))
    try:
        usage.count("reply", None, 10, 10)
        with pytest.raises(OSError):
            metadata.note(store_folder, memories=123_456)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [each.read_text() for each in files] == before
    assert json.loads(before[0])["store_id"]
    assert list(store_folder.glob("*.new")) == []


KILLED = """
import os, pathlib, signal, sys
import django
django.setup()
from contrib_ai_memory.store import snapshot
with snapshot.hold_still(pathlib.Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_backup_that_is_killed_holds_the_store_no_longer(mara):
    folder = conf.directory()
    folder.mkdir(parents=True, exist_ok=True)
    program = [sys.executable, "-c", KILLED, str(folder)]
    paths = os.pathsep.join(map(str, (settings.GAME_DIR, Path(__file__).parents[1])))
    environment = {"DJANGO_SETTINGS_MODULE": "server.conf.settings", "PYTHONPATH": paths}
    with subprocess.Popen(program, cwd=settings.GAME_DIR, env=os.environ | environment) as backup:
        while backup.poll() is None and not (folder / snapshot.REQUEST).exists():
            time.sleep(0.05)
        for left in reactor.getDelayedCalls():  # by other tests, whose NPCs are no more
            if left.active():  # cancelling one may have cancelled another
                left.cancel()
        game = threading.Thread(target=snapshot.answer, args=(lambda: None,))
        game.start()
        while backup.poll() is None:  # it is told that the store stands still, and dies
            reactor.iterate(0.01)
        game.join(snapshot.HOLD_SECONDS / 2)
        assert not game.is_alive() and not (folder / snapshot.STILL).exists()
