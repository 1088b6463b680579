"""An exported file that somebody changed: it is refused with nothing changed, or imported whole."""

from __future__ import annotations

import copy
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from evennia.utils.create import create_object
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from contrib_ai_memory import offload
from contrib_ai_memory.admin import archive, archive_format, erase
from contrib_ai_memory.records import Entry
from contrib_ai_memory.store import attributes, memory_store, pause
from contrib_ai_memory.store.journal import Journal
from contrib_ai_memory.store.payload import entry_memory_id

wait = offload.wait


@pytest.fixture
def talked(mara, alice, bram):
    """Mara has heard a little of everything, slept on it, and was taught."""
    for who, line in (
        (alice, "say I keep the ferry at Millbrook."),
        (alice, "say I love tea with honey."),
        (alice, "whisper Mara = I hide a silver key in Elmstead."),
        (bram, "say Wolves took two of my sheep near Harrow Hill."),
        (alice, "say I hate tea with honey."),
    ):
        who.execute_cmd(line)
    wait(mara.memory.ingest("Elmstead was founded by the monks of Tarn in 1204."))
    wait(mara.assistant.sleep.whole_night())
    mara.assistant.sleep.set_schedule(enabled=False, sleep_start_hour=3)
    mara.memory.flush()
    return mara


@pytest.fixture
def odo(tavern, talked):
    """Another NPC, with a memory of its own."""
    odo = create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    wait(odo.memory.add("The cellar floods in spring."))
    return odo


@pytest.fixture
def exports(store_folder):
    folder = store_folder / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def export(npc, path):
    wait(archive.export(npc, path))
    return read(path)


def read(path):
    # split at the newline alone: an exported text may hold what `splitlines` takes for another one
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def write(path, lines):
    """The lines with a last one that counts them."""
    body = [line for line in lines if set(line) != {"end"}]
    text = [json.dumps(line, ensure_ascii=False) for line in [*body, {"end": len(body) - 1}]]
    path.write_text("\n".join(text) + "\n")


def number_of(lines, kind, place=0):
    """The index of a line of that kind, and its number in the file."""
    found = [index for index, line in enumerate(lines) if line.get("kind") == kind]
    return found[place], found[place] + 1


def stored(npc):
    memories = memory_store.shared().list(npc.memory.id, limit=None)
    return {memory.id: memory for memory in memories}


def refused(npc, path, line, problem):
    """It is refused with the number of the line, and nothing is changed."""
    before = npc.memory.id, stored(npc), list(npc.memory.journal.read())
    with pytest.raises(archive.BadArchive) as told:
        wait(archive.import_(npc, path, replace=True))
    assert f"line {line} " in str(told.value), str(told.value)
    assert problem in str(told.value), str(told.value)
    assert (npc.memory.id, stored(npc), list(npc.memory.journal.read())) == before
    assert not pause.paused(npc)
    assert attributes.read_json(npc, erase.IMPORT_MARK) is None


def without(name):
    return lambda line: line.pop(name)


def with_(**changes):
    return lambda line: line.update(changes)


def inside(name, **changes):
    return lambda line: line[name].update(changes)


TIMELESS = {"last_activity": None}
CHANGES = {
    "no id": ("memory", without("id"), "has no id"),
    "no payload": ("memory", without("payload"), "has no payload"),
    "no history": ("memory", without("history"), "has no history"),
    "no value": ("entry", without("value"), "has no value"),
    "no last id": ("journal", without("last_id"), "has no last_id"),
    "no cursors": ("journal", without("cursors"), "has no cursors"),
    "no end of a link": ("link", without("b"), "has no b"),
    "no category": ("row", without("category"), "category: None is not part"),
    "more": ("entry", with_(more=1), "more: an export writes no such field"),
    "an Attribute": (
        "row",
        with_(category="ai_memory", key="undo"),
        "category: 'ai_memory' is not part",
    ),
    "another Attribute": ("row", with_(category=None, key="desc"), "category: None is not part"),
    "another key": ("row", with_(key="desc"), "does not fit its value"),
    "a script's key": (
        "script",
        with_(key="operating_mode", value="sleep"),
        "key: 'operating_mode' is not part",
    ),
    "a schedule": (
        "script",
        with_(key="sleep_schedule", value={"tick_rate_sleep": -1}),
        "value.tick_rate_sleep: -1 should be greater than 0",
    ),
    "no object": ("people", with_(value=[]), "value: [] should be an object"),
    "a person": (
        "people",
        with_(value={"#7": {"name": 7}}),
        "value.#7.name: 7 should be a valid string",
    ),
    "talk": (
        "conversations",
        with_(value=[["a", {"messages": "x"}]]),
        "messages: 'x' should be a valid array",
    ),
    "no time of talk": (
        "conversations",
        lambda line: line["value"][0][1].update(TIMELESS),
        "last_activity: None should be",
    ),
    "a huge journal": ("journal", with_(last_id=10**12), "last_id"),
    "a cursor": ("journal", with_(cursors={"indexed": "x"}), "cursors.indexed"),
    "a cursor beyond the end": (
        "journal",
        inside("cursors", indexed=90_000_000),
        "cursors.indexed: 90000000 is beyond the journal's end",
    ),
    "importance": ("entry", inside("value", importance=99), "importance: 99"),
    "no time": ("entry", inside("value", timestamp="soon"), "timestamp: 'soon' should be a time"),
    "no zone": ("entry", inside("value", timestamp="2026-01-01T00:00:00"), "time zone"),
    "content": (
        "entry",
        inside("value", content=None),
        "value.content: None should be a valid string",
    ),
    "an unknown field": (
        "entry",
        inside("value", locks="x"),
        "value.locks: an export writes no such field",
    ),
    "an entry behind the end": ("entry", inside("value", id=9999), "beyond the journal's end"),
    "a score": ("link", with_(score=7), "score: 7"),
    "an end": ("link", with_(b="x"), "b: 'x' should be a memory id"),
    "weight": ("memory", inside("payload", memory_weight="heavy"), "memory_weight"),
    "an empty weight": ("memory", inside("payload", importance=""), "importance"),
    "record": ("memory", inside("payload", record="dream"), "record: 'dream'"),
    "another mind": ("memory", inside("payload", agent_id="0" * 36), "another memory"),
    "audience": ("memory", inside("payload", audience=["#99"]), "audience"),
    "evidence": (
        "memory",
        inside("payload", journal_ids=[9999]),
        "payload.journal_ids: 9999 is beyond",
    ),
    "history": ("memory", with_(history=[[1]]), "history"),
    "a mark": (
        "memory",
        with_(history=[[None, "x", "ADD", None, None, True]]),
        "history.0.5: True",
    ),
    "a huge mark": (
        "memory",
        with_(history=[[None, "x", "ADD", None, None, 1 << 70]]),
        "history.0.5: ",
    ),
    "half a letter": ("entry", inside("value", content="\ud800"), "half a character"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_does_not_fit_is_refused_by_its_line(talked, tmp_path, name):
    kind, change, problem = CHANGES[name]
    lines = export(talked, tmp_path / "a.jsonl")
    place, number = number_of(lines, kind)
    change(lines[place])
    path = tmp_path / "b.jsonl"
    write_ascii(path, lines)
    refused(talked, path, number, problem)


def write_ascii(path, lines):
    body = [line for line in lines if set(line) != {"end"}]
    text = [json.dumps(line) for line in [*body, {"end": len(body) - 1}]]
    path.write_text("\n".join(text) + "\n")


def test_a_missing_field_is_told_where_a_builder_types_it(talked, admin, exports):
    lines = export(talked, exports / "mara.jsonl")
    place, number = number_of(lines, "memory", 2)
    del lines[place]["payload"]["data"], lines[place]["id"]
    write(exports / "mara.jsonl", lines)
    before = stored(talked), list(talked.memory.journal.read())
    admin("@memory/import mara = mara")
    told = admin("yes")
    assert f"line {number} (memory): it has no id" in " ".join(told.split())
    assert (stored(talked), list(talked.memory.journal.read())) == before
    assert "awake" in admin("@memory mara")


def test_a_missing_field_is_told_where_an_operator_types_it(talked, tmp_path, capsys):
    lines = export(talked, tmp_path / "a.jsonl")
    place, number = number_of(lines, "row")
    del lines[place]["value"]
    write(tmp_path / "a.jsonl", lines)
    with pytest.raises(CommandError, match=rf"line {number} \(row\): it has no value"):
        call_command(
            "ai_memory", "import", str(tmp_path / "a.jsonl"), "--npc", talked.dbref, "--replace"
        )
    assert stored(talked)


@pytest.mark.parametrize("whose", ["an entry", "a note of another kind"])
def test_a_memory_of_another_npc_is_not_taken(talked, odo, tmp_path, whose):
    hers = export(talked, tmp_path / "a.jsonl")
    wait(odo.memory.ingest("The mill of Tarn grinds 40 sacks of barley a day."))
    his = export(odo, tmp_path / "odo.jsonl")
    memories = [line for line in his if line.get("kind") == "memory"]
    [taken] = [
        line for line in memories if (line["payload"]["record"] == "entry") == (whose == "an entry")
    ][:1]
    place, number = number_of(hers, "memory", 1)
    forged = copy.deepcopy(hers[place])
    forged["id"] = taken["id"]
    if whose != "an entry":
        forged["payload"]["record"] = "fact"
    hers[place] = forged
    write(tmp_path / "b.jsonl", hers)
    before = stored(odo)
    problem = "not that of entry" if forged["payload"]["record"] == "entry" else "another NPC"
    refused(talked, tmp_path / "b.jsonl", number, problem)
    assert stored(odo) == before


@pytest.mark.parametrize("kind", ["entry", "memory", "link", "row", "script", "people"])
def test_what_is_there_twice_is_refused(talked, tmp_path, kind):
    lines = export(talked, tmp_path / "a.jsonl")
    place, _number = number_of(lines, kind)
    lines.insert(place + 1, copy.deepcopy(lines[place]))
    write(tmp_path / "b.jsonl", lines)
    refused(talked, tmp_path / "b.jsonl", place + 2, "twice")


def test_lines_of_earlier_exports_that_are_no_part_of_a_memory_now_are_left_out(talked, tmp_path):
    lines = export(talked, tmp_path / "a.jsonl")
    former = [
        {"kind": "centroid", "person": "", "model": "m", "count": 1, "memories": []},
        {"kind": "script", "key": "night_records", "value": []},
    ]
    write(tmp_path / "b.jsonl", [*lines[:-1], *former])
    wait(archive.import_(talked, tmp_path / "b.jsonl", replace=True))
    assert spelled(export(talked, tmp_path / "c.jsonl")) == spelled(lines)


@pytest.mark.parametrize("what", ["people", "conversations", *archive_format.SCRIPT])
def test_a_lost_line_that_every_memory_has_is_missed(talked, tmp_path, what):
    lines = export(talked, tmp_path / "a.jsonl")
    kept = [line for line in lines if what not in (line.get("kind"), line.get("key"))]
    write(tmp_path / "b.jsonl", kept)
    assert len(kept) == len(lines) - 1
    refused(talked, tmp_path / "b.jsonl", len(kept), f"the line of its {what} is missing")


def test_a_file_without_a_schedule_leaves_none(talked, tmp_path):
    lines = export(talked, tmp_path / "a.jsonl")
    [schedule] = [line for line in lines if line.get("key") == "sleep_schedule"]
    schedule["value"] = None
    write(tmp_path / "b.jsonl", lines)
    wait(archive.import_(talked, tmp_path / "b.jsonl", replace=True))
    assert spelled(export(talked, tmp_path / "c.jsonl")) == spelled(lines)
    assert talked.assistant.sleep.own_schedule == {}


@pytest.mark.parametrize("name", ["content", "kind", "origin", "source_type", "scoring_method"])
def test_an_empty_text_of_an_entry_stays_empty(talked, tmp_path, name):
    lines = export(talked, tmp_path / "a.jsonl")
    place, _number = number_of(lines, "entry")
    lines[place]["value"][name] = ""
    write(tmp_path / "b.jsonl", lines)
    wait(archive.import_(talked, tmp_path / "b.jsonl", replace=True))
    assert spelled(export(talked, tmp_path / "c.jsonl")) == spelled(lines)
    assert not Journal(talked).damaged_pages()


def test_a_line_of_no_end_does_not_fill_the_memory(talked, tmp_path, monkeypatch):
    monkeypatch.setattr(archive_format, "LONGEST_LINE", 100_000)
    lines = export(talked, tmp_path / "a.jsonl")
    place, number = number_of(lines, "entry")
    lines[place]["value"]["content"] = "x" * 200_000
    write(tmp_path / "b.jsonl", lines)
    refused(talked, tmp_path / "b.jsonl", number, "is too long")


def test_a_file_that_is_written_while_it_is_read_is_refused(talked, tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    export(talked, path)
    hold_still = type(talked.assistant).hold_still

    def meanwhile(script):
        path.write_text(path.read_text() + "\n")
        return hold_still(script)

    before = stored(talked)
    monkeypatch.setattr(type(talked.assistant), "hold_still", meanwhile)
    with pytest.raises(archive.BadArchive, match="while it was read"):
        wait(archive.import_(talked, path, replace=True))
    assert stored(talked) == before
    assert not pause.paused(talked)


def test_a_copy_of_a_long_journal_renames_no_more_than_the_file_holds(talked, tavern, tmp_path):
    lines = export(talked, tmp_path / "a.jsonl")
    lines[1]["last_id"] = 90_000_000
    write(tmp_path / "b.jsonl", lines)
    twin = create_object("typeclasses.npcs.AssistantNPC", key="Twin", location=tavern)
    done = wait(archive.import_(twin, tmp_path / "b.jsonl"))
    assert done.copied
    own = {entry_memory_id(twin.memory.id, e.id) for e in twin.memory.journal.read(1, 20)}
    assert {m.id for m in stored(twin).values() if m.record == "entry"} <= own


# --- any change at all ----------------------------------------------------------------------------

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**18),
    st.sampled_from([0, 1, 2, 0.5, -1, 1e308, "", "*", "#1", "x", "soon", "\x00", [], {}, [[]]]),
    st.sampled_from(
        ["2026-01-01T00:00:00+00:00", "0" * 36, "6a1f5c3e-0000-4000-8000-000000000000"]
    ),
    st.text(max_size=8),
    st.lists(st.integers(0, 9), max_size=3),
    st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
)
DEEDS = st.sampled_from(["set", "drop", "add", "double", "lose", "swap", "move"])
MUTATIONS = st.lists(
    st.tuples(DEEDS, st.integers(0, 10**6), st.integers(0, 10**6), VALUES), min_size=1, max_size=3
)


def places(value, path=()):
    """Every place in plain data, as (container, key)."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in items:
        yield value, key
        if isinstance(each, (dict, list)):
            yield from places(each)


def mutate(lines, deed, a, b, value):
    place = 1 + a % (len(lines) - 2)  # not the header, not the end
    line = lines[place]
    found = list(places(line))
    assume(found)  # else nothing is left of it
    container, key = found[b % len(found)]
    if deed == "set":
        container[key] = value
    elif deed == "drop":
        del container[key]
    elif deed == "add":
        line["x" if b % 2 else "value"] = value
    elif deed == "double":
        lines.insert(place, copy.deepcopy(line))
    elif deed == "lose":
        del lines[place]
    elif deed == "swap":
        other = 1 + b % (len(lines) - 2)
        lines[place], lines[other] = lines[other], lines[place]
    else:
        other = lines[1 + b % (len(lines) - 2)]
        container[key] = copy.deepcopy(list(other.values())[-1])


DEFAULTS = Entry(0, "", "", "").to_dict()


def spelled(lines):
    """The lines as text, in one spelling: what is empty or has its default may be missing."""
    return sorted(json.dumps(one_spelling(line), sort_keys=True) for line in lines)


def one_spelling(line):
    if line.get("kind") == "entry":
        known = {
            name: value
            for name, value in line["value"].items()
            if name in DEFAULTS or not (value in ("", []) or value is None or value is False)
        }
        return line | {"value": DEFAULTS | known}
    return line | {"value": line["value"] or None} if line.get("kind") == "script" else line


@settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # to shrink takes as long again for each step
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(mutations=MUTATIONS)
@pytest.mark.slow
def test_whatever_is_changed_it_is_refused_or_imported_whole(talked, odo, tmp_path, mutations):
    start = tmp_path / "start.jsonl"
    if not start.exists():
        export(talked, start)
    lines = read(start)
    for mutation in mutations:
        assume(len(lines) > 3)
        mutate(lines, *mutation)
    changed, after = tmp_path / "changed.jsonl", tmp_path / "after.jsonl"
    write_ascii(changed, lines)
    his = stored(odo)
    try:
        wait(archive.import_(talked, changed, replace=True))
    except archive.BadArchive as refusal:
        assert "changed.jsonl, line " in str(refusal)
        expected = read(start)
    else:
        expected = read(changed)
    assert not pause.paused(talked)
    assert attributes.read_json(talked, erase.IMPORT_MARK) is None
    assert stored(odo) == his
    found = export(talked, after)
    assert spelled(found) == spelled(expected)
    wait(talked.assistant.at_tick())
    if found != read(start):
        wait(archive.import_(talked, start, replace=True))
