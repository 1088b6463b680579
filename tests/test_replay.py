"""A log fed into a memory: in its own time, in order, once."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from contrib_ai_memory import offload
from contrib_ai_memory.ingest.replay import BadLine, Replay, read_log
from contrib_ai_memory.store import memory_store

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def line(number, text, speaker="Alice", session="one", kind="say", to=None, minute=None):
    return {
        "id": f"log:{number}",
        "time": f"2015-03-12T19:{number if minute is None else minute:02d}:00+00:00",
        "session": session,
        "speaker": speaker,
        "kind": kind,
        "to": to,
        "text": text,
    }


EVENING = [
    line(1, "I keep the ferry at Millbrook."),
    line(2, "Wolves took two of my sheep in Elmstead.", "Bram"),
    line(3, "I hide a silver key in Elmstead.", kind="whisper", to="Mara"),
    line(4, "This is not for Mara.", kind="whisper", to="Bram"),
    line(5, "The beer is fresh.", "Mara"),
    line(6, "My brother Tom is missing since Monday.", session="two"),
]


def write(path, lines):
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return path


@pytest.fixture
def log(tmp_path):
    return write(tmp_path / "log.jsonl", EVENING)


def replay(file, **options):
    out = StringIO()
    call_command("ai_memory", "replay", str(file), npc="Mara", stdout=out, **options)
    return out.getvalue()


def state(mara):
    del mara.__dict__["memory"]
    store = memory_store.shared()
    memories = sorted(store.list(mara.memory.id, limit=None), key=lambda m: m.id)
    return [e.to_dict() for e in mara.memory.journal.read()], memories


def test_the_lines_are_in_the_journal_with_the_logs_time(mara, log):
    assert "5 new, 0 already known, 0 skipped, 1 not heard by Mara" in replay(log)
    entries = list(mara.memory.journal.read())
    assert [entry.ref for entry in entries] == ["log:1", "log:2", "log:3", "log:5", "log:6"]
    assert entries[0].timestamp == "2015-03-12T19:01:00.000+00:00"
    assert entries[2].private
    assert entries[3].origin == "self"
    assert entries[4].session_id == "two"
    assert memory_store.shared().count(mara.memory.id, record="entry") == 5


def test_run_again_it_doubles_nothing(mara, log):
    replay(log, sleep=True)
    before = state(mara)
    assert "0 new, 5 already known" in replay(log, sleep=True)
    assert state(mara) == before


@pytest.mark.parametrize("stop_after", [1, 3, 5])
def test_interrupted_and_run_again_it_ends_as_if_it_never_was(mara, log, stop_after):
    with Replay(mara) as interrupted:
        for each in list(read_log(log))[:stop_after]:
            interrupted.feed(each)
    replay(log)
    refs = [entry.ref for entry in mara.memory.journal.read()]
    assert refs == ["log:1", "log:2", "log:3", "log:5", "log:6"]


def test_with_sleep_each_session_is_slept_on(mara, log):
    replay(log, sleep=True)
    texts = {fact.content for fact in memory_store.shared().list(mara.memory.id, record="fact")}
    assert "Alice keeps the ferry at Millbrook." in texts
    assert not mara.assistant.asleep


def test_a_bad_line_is_reported_by_its_number_and_skipped(mara, tmp_path):
    file = tmp_path / "log.jsonl"
    good = json.dumps(EVENING[0])
    bad = [
        "not json",
        "{}",
        json.dumps(EVENING[1] | {"time": "yesterday"}),
        json.dumps(EVENING[1] | {"time": "2015-03-12T19:00:00"}),
        json.dumps(EVENING[1] | {"kind": "sing"}),
        json.dumps(EVENING[1] | {"text": ""}),
        '["a list"]',
    ]
    file.write_bytes("\n".join([*bad, good]).encode() + b"\n\xff\xfe\n\n")
    read = list(read_log(file))
    assert [each.number for each in read if isinstance(each, BadLine)] == [1, 2, 3, 4, 5, 6, 7, 9]
    assert "1 new, 0 already known, 8 skipped" in replay(file)


def test_people_of_the_log_whom_the_game_knows_are_themselves(mara, alice, log):
    replay(log)
    entry = mara.memory.journal.get(1)
    assert entry.source_entity == mara.get_memory_identity(alice)
    assert mara.memory.journal.get(2).source_entity == "log:Bram"


@pytest.mark.parametrize(
    ("name", "said"), [("Nobody", "No object is called 'Nobody'"), ("Alice", "has no memory")]
)
def test_an_npc_that_is_none_is_told(alice, store_folder, log, name, said):
    with pytest.raises(CommandError, match=said):
        call_command("ai_memory", "replay", str(log), npc=name)


def test_a_file_that_is_not_there_is_told(mara, tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        replay(tmp_path / "none.jsonl")


def test_it_refuses_while_the_server_runs(mara, log, settings):
    import os

    pid = Path(settings.GAME_DIR) / "server" / "server.pid"
    pid.write_text(str(os.getpid()))
    try:
        with pytest.raises(CommandError, match="evennia stop"):
            replay(log)
    finally:
        pid.unlink()


@pytest.mark.skipif(not DATA.exists(), reason="the development data is not beside the checkout")
def test_a_real_evening_goes_through(mara, tmp_path):
    evening = (DATA / "crd3_c1e001.jsonl").read_text().splitlines()[:300]
    file = tmp_path / "evening.jsonl"
    file.write_text("\n".join(evening))
    assert "300 lines: 300 new" in replay(file, sleep=True)
    found = offload.wait(mara.memory.recall("Who is the Dungeon Master?", top_k=10))
    assert any("Dungeon Master" in item.memory.content for item in found.memories)


# --- arrivals, gifts, people ----------------------------------------------------------------------


def by_id(mara):
    return {entry.ref: entry for entry in mara.memory.journal.read()}


def test_who_is_present_follows_from_arrivals_and_departures(mara, tmp_path):
    lines = [
        line(1, "Alice arrives from the pier.", kind="arrive"),
        line(2, "Bram arrives from the pier.", "Bram", kind="arrive"),
        line(3, "Wolves took two sheep.", "Bram"),
        line(4, "Alice leaves for the pier.", kind="leave"),
        line(5, "She owes me a boat.", "Bram"),
    ]
    replay(write(tmp_path / "log.jsonl", lines))
    entries = by_id(mara)
    assert entries["log:1"].kind == "arrive"
    assert entries["log:1"].source_type == "environmental"
    assert set(entries["log:3"].witnesses) == {"log:Alice", "log:Bram"}
    assert set(entries["log:4"].witnesses) == {"log:Alice", "log:Bram"}
    assert entries["log:5"].witnesses == ("log:Bram",)


def test_a_gift_is_a_gift_to_the_npc_and_an_act_among_others(mara, tmp_path):
    lines = [
        line(1, "Alice gives Mara a bone ring.", kind="give", to="Mara"),
        line(2, "Alice gives Bram five crowns.", kind="give", to="Bram"),
        line(3, "Mara gives Bram a loaf.", "Mara", kind="give", to="Bram"),
        line(4, "Bram picks up a coil of rope.", "Bram", kind="get"),
        line(5, "Bram drops a coil of rope.", "Bram", kind="drop"),
    ]
    replay(write(tmp_path / "log.jsonl", lines))
    entries = by_id(mara)
    assert [entry.kind for entry in entries.values()] == ["give", "pose", "pose", "event", "event"]
    assert entries["log:2"].source_type == "observation"
    assert entries["log:3"].origin == "self"


def test_a_gift_may_be_told_by_the_thing_alone(mara, tmp_path):
    lines = [
        line(1, "an egg, still warm", kind="give", to="Mara"),
        line(2, "gives Mara a jar of limes", "Bram", kind="give", to="Mara"),
    ]
    replay(write(tmp_path / "log.jsonl", lines))
    told = [entry.content for entry in by_id(mara).values()]
    assert told == ["Alice gives Mara an egg, still warm.", "Bram gives Mara a jar of limes"]


PEOPLE = [
    {"kind": "person", "name": "Mara", "aliases": ["innkeeper"], "persona": "Warm.", "goals": "x"},
    {"kind": "person", "name": "Rosalba", "aliases": ["Rosie"]},
    {"kind": "person", "name": "Wat", "npc": True},
]
TALK = [
    line(1, "I keep the ferry.", "rosie"),
    line(2, "This is for you.", "Rosalba", kind="whisper", to="innkeeper"),
    line(3, "I groom the horses.", "Wat"),
]


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_people_are_known_by_their_aliases(mara, tmp_path, form):
    file = tmp_path / f"log.{form}"
    if form == "jsonl":
        write(file, [*PEOPLE, *TALK])
    else:
        file.write_text(json.dumps({"npc": PEOPLE[0], "people": PEOPLE[1:], "lines": TALK}))
    assert "3 lines: 3 new" in replay(file)
    entries = by_id(mara)
    assert entries["log:1"].source_entity == entries["log:2"].source_entity == "log:Rosalba"
    assert entries["log:1"].seen_as == "Rosalba"
    assert entries["log:2"].private
    assert "npc" in entries["log:3"].tags
    assert "innkeeper" in mara.aliases.all()
    assert (mara.get_persona(), mara.memory.goals) == ("Warm.", "x")


def test_the_npcs_own_persona_stays(mara, tmp_path):
    mara.db.persona = "Grim."
    replay(write(tmp_path / "log.jsonl", [*PEOPLE, *TALK]))
    assert mara.get_persona() == "Grim."


def test_a_document_that_is_no_log_is_reported(mara, tmp_path):
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"people": []}))
    assert "1 lines: 0 new, 0 already known, 1 skipped" in replay(file)
    file.write_text(json.dumps({"lines": [TALK[0], "nothing", TALK[2]]}))
    assert [each.number for each in read_log(file) if isinstance(each, BadLine)] == [2]
