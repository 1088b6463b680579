"""Store files that a crash or a disk has damaged: doctor sets them aside and rebuilds the store."""

import re

import pytest
from django.core.management import CommandError, call_command

from contrib_ai_memory import offload
from contrib_ai_memory.admin import archive, doctor
from contrib_ai_memory.records import Percept
from contrib_ai_memory.store import generations, memory_store, metadata


@pytest.fixture
def ai_memory(capsys):
    """`ai_memory("doctor", "--mend")`: what the command prints, its error too."""

    def run(*arguments):
        capsys.readouterr()
        memory_store.close_shared(for_good=False)  # as in a process of its own
        try:
            call_command("ai_memory", *arguments)
        except CommandError as problem:
            return capsys.readouterr().out + str(problem)
        return capsys.readouterr().out

    return run


@pytest.fixture
def files(night, alice, store_folder):
    """Returns the store's files of a name. Payloads are on their pages, not only in the log."""
    lines = (f"The cooper sold {number} barrels to the miller." for number in range(40))
    for line in lines:
        alice.execute_cmd(f"say {line}")
    offload.wait(night.memory.index_pending())
    night.memory.flush()
    memory_store.shared()._shard.flush()

    def named(name):
        memory_store.close_shared(for_good=False)  # which writes
        return [each for each in store_folder.rglob(name) if each.is_file()]

    return named


def halve(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def damage_a_page(files):
    """Flip the bits of a part of the payloads."""
    for log in files("open-*"):  # what it holds would be written once more
        log.unlink()
    for file in files("page_0.dat"):
        if file.parent.name == "payload_storage":
            with file.open("r+b") as page:
                page.seek(2048)
                flipped = bytes(each ^ 0xFF for each in page.read(2048))
                page.seek(2048)
                page.write(flipped)


def everything(npc):
    stored, offset = [], None
    while True:
        memories, offset = memory_store.shared().page(npc.memory.id, offset)
        stored += [(each.record, each.content) for each in memories]
        if offset is None:
            return sorted(stored)


def test_a_damaged_store_json_is_set_aside_and_written_anew(night, files, ai_memory, store_folder):
    offload.wait(generations.mark_anew())  # as each start does: the database knows the store
    before = everything(night)
    known = metadata.read(store_folder)
    memory_store.close_shared(for_good=False)
    halve(store_folder / metadata.FILE)
    printed = ai_memory("doctor")
    assert "store.json is damaged" in printed and "doctor --mend" in printed
    assert "set aside" in ai_memory("doctor", "--mend")
    assert (store_folder / "store.json.damaged_1").exists()
    assert "No problems found." in ai_memory("doctor")
    again = metadata.read(store_folder)
    assert again["store_id"] == known["store_id"] and everything(night) == before


@pytest.mark.parametrize("name", ["segment.json", "edge_config.json"])
def test_a_store_that_cannot_be_opened_is_rebuilt_from_the_journal(
    night, files, ai_memory, store_folder, name
):
    lines = [each for each in everything(night) if each[0] == "entry"]
    facts = [each for each in everything(night) if each[0] == "fact"]
    halve(files(name)[0])
    assert "is damaged" in ai_memory("reindex") and "doctor --mend" in ai_memory("reindex")
    assert "is damaged" in ai_memory("doctor")
    printed = ai_memory("doctor", "--mend")
    assert "set aside" in printed and "could not be recovered" in printed
    assert files(name)[0] and (store_folder / "qdrant_edge.damaged_1").is_dir()
    assert "No problems found." in ai_memory("doctor")
    assert [each for each in everything(night) if each[0] == "entry"] == lines
    offload.wait(night.assistant.sleep.whole_night())
    # what was said since the first night has been slept on too
    again = [each for each in everything(night) if each[0] == "fact" and "cooper" not in each[1]]
    assert again == facts


def test_what_the_journal_does_not_hold_comes_back_from_an_export(night, files, ai_memory):
    before = everything(night)
    exported(night)
    night.memory.perceive(Percept(content="Alice waves.", kind="pose"))
    night.memory.flush()
    halve(files("segment.json")[0])
    printed = ai_memory("doctor", "--mend")
    assert re.search(r"[1-9]\d* memories were restored from exports", printed)
    assert "could not be recovered" not in printed
    assert set(before) <= set(everything(night))


def test_a_store_that_was_emptied_is_filled_from_an_export_too(night, files, ai_memory):
    before = everything(night)
    exported(night)
    offload.wait(generations.mark_anew())  # as each start does; it notes how many there are
    for each in (*files("open-*"), *files("*.mappings"), *files("segment.json")):
        each.unlink()
    printed = ai_memory("doctor", "--mend")
    assert "were restored from exports" in printed
    assert set(before) <= set(everything(night))


def test_what_was_forgotten_since_an_export_does_not_come_back(night, alice, files, ai_memory):
    from contrib_ai_memory.admin import forget

    [fact] = [each for each in _facts(night) if "ferry" in each.content]
    exported(night)
    offload.wait(forget.forget(night, alice, fact.id))
    halve(files("segment.json")[0])
    assert "were restored from exports" in ai_memory("doctor", "--mend")
    assert ("fact", "Alice hides a silver key in Elmstead.") in everything(night)
    assert ("fact", fact.content) not in everything(night)


def test_a_page_of_payloads_that_cannot_be_read_costs_only_what_is_on_it(night, files, ai_memory):
    before = everything(night)
    damage_a_page(files)
    assert "is damaged" in ai_memory("doctor")
    printed = ai_memory("doctor", "--mend")
    told = re.search(r"(\d+) of its memories could be read, (\d+) could not", printed)
    assert told and int(told[1]) > 0 and int(told[2]) > 0
    assert "No problems found." in ai_memory("doctor")
    lines = [each for each in before if each[0] == "entry"]
    assert [each for each in everything(night) if each[0] == "entry"] == lines


def test_a_rebuilding_that_was_killed_is_begun_anew(night, files, ai_memory, monkeypatch):
    before = everything(night)
    damage_a_page(files)

    def killed(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(doctor, "_restore_lost", killed)
        assert "Interrupted" in ai_memory("doctor", "--mend")
    assert "not rebuilt yet" in ai_memory("doctor")
    assert "of its memories could be read" in ai_memory("doctor", "--mend")
    assert "No problems found." in ai_memory("doctor")
    lines = [each for each in before if each[0] == "entry"]
    assert [each for each in everything(night) if each[0] == "entry"] == lines


def exported(npc):
    offload.wait(archive.export(npc))  # as @memory/export does


def _facts(npc):
    return memory_store.shared().newest(npc.memory.id, "fact", 100)
