"""Export and import: a file that holds a whole memory, and a memory out of a file."""

from __future__ import annotations

import json

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import archive, erase
from contrib_ai_memory.store import attributes, memory_store, pause
from contrib_ai_memory.store.links import Link


@pytest.fixture
def talked(mara, alice, bram):
    """Mara has talked with Alice and Bram, aloud and in confidence, and slept on it twice."""
    for line in (
        (alice, "say I keep the ferry at Millbrook."),
        (alice, "say I love tea with honey."),
        (alice, "whisper Mara = I hide a silver key in Elmstead."),
        (bram, "say Wolves took two of my sheep near Harrow Hill."),
        (bram, "say Mara, where does Alice keep her boat?"),
        (alice, "say I hate tea with honey."),
        (bram, "say My sheep graze in the north field."),
    ):
        line[0].execute_cmd(line[1])
    offload.wait(mara.assistant.sleep.whole_night())
    offload.wait(mara.memory.ingest("Elmstead was founded by the monks of Tarn in 1204."))
    alice.execute_cmd("say The ferry has a new rope.")
    offload.wait(mara.assistant.sleep.whole_night())
    mara.assistant.sleep.set_schedule(enabled=True, sleep_start_hour=3)
    mara.memory.flush()
    return mara


def export(npc, path):
    return offload.wait(archive.export(npc, path))


def import_(npc, path, **options):
    return offload.wait(archive.import_(npc, path, **options))


def told(npc, query, **options):
    result = offload.wait(npc.memory.recall(query, **options))
    return [item.memory.content for item in result.memories]


def test_exported_wiped_imported_and_exported_again_is_the_same_to_the_byte(talked, tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    talked.memory.journal.remove([2])  # what was forgotten leaves a hole
    done = export(talked, first)
    assert done.entries >= 8
    assert done.memories >= 10
    offload.wait(erase.wipe(talked))
    assert told(talked, "ferry") == []
    back = import_(talked, first)
    assert (back.entries, back.memories, back.copied) == (done.entries, done.memories, False)
    export(talked, second)
    assert first.read_bytes() == second.read_bytes()


def test_what_is_imported_is_recalled_as_it_was(talked, alice, bram, tmp_path):
    hers, his = (talked.get_memory_identity(who) for who in (alice, bram))
    queries = [
        ("Where is the silver key?", hers),
        ("Where is the silver key?", his),
        ("What does Alice think of tea?", his),
        ("Who took the sheep?", hers),
        ("Who founded Elmstead?", his),
    ]
    before = [told(talked, query, speaker=who) for query, who in queries]
    export(talked, tmp_path / "a.jsonl")
    offload.wait(erase.wipe(talked))
    import_(talked, tmp_path / "a.jsonl")
    assert [told(talked, query, speaker=who) for query, who in queries] == before
    assert any("silver key" in text for text in before[0])
    assert not any("silver key" in text for text in before[1])


def test_what_somebody_unknown_owes_comes_back(mara, alice, admin):
    alice.execute_cmd("say Old Rowan owes me four crowns for a cup he broke.")
    offload.wait(mara.memory.index_pending())
    before = list(mara.memory.agenda)
    assert [(item.kind, item.who) for item in before] == [("debt", "")]
    assert "Exported Mara" in admin("@memory/export mara = rowan")
    offload.wait(erase.wipe(mara))
    assert "Mara remembers" in admin("@memory/import mara = rowan")
    assert list(mara.memory.agenda) == before


def test_a_score_above_one_which_stores_round_to_is_imported_as_one(talked, tmp_path):
    export(talked, tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in lines_of(tmp_path / "a.jsonl")]
    link = next(line for line in lines if line.get("kind") == "link")
    link["score"] = 1.0001  # as earlier versions exported
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_(talked, tmp_path / "b.jsonl", replace=True)
    assert talked.memory.links.of(link["a"])[link["b"]]["score"] == 1


def test_a_link_is_stored_with_a_score_of_one_at_most(mara):
    """The cosine of two equal vectors may come back as 1.00006."""
    mara.memory.links.add([Link("1", "2", 1.0001, "similar", "")])
    assert mara.memory.links.of("1")["2"]["score"] == 1


def test_a_memory_whose_cursors_lie_beyond_its_end_is_exported_as_doctor_would_mend_it(
    talked, tmp_path
):
    end = len(talked.memory.journal)
    talked.memory.journal.set_cursor("indexed", end + 5000)
    export(talked, tmp_path / "a.jsonl")
    import_(talked, tmp_path / "a.jsonl", replace=True)
    assert talked.memory.journal.cursors["indexed"] == end


def test_an_imported_memory_goes_on_living(talked, alice, tmp_path):
    export(talked, tmp_path / "a.jsonl")
    offload.wait(erase.wipe(talked))
    import_(talked, tmp_path / "a.jsonl")
    before = memory_store.shared().counts(talked.memory.id)
    offload.wait(talked.assistant.sleep.whole_night())
    assert memory_store.shared().counts(talked.memory.id) == before, (
        "the night made it all once more"
    )
    alice.execute_cmd("say My cat is called Biscuit.")
    offload.wait(talked.memory.index_pending())
    assert "My cat is called Biscuit." in told(talked, "cat")
    assert talked.assistant.sleep.schedule["sleep_start_hour"] == 3
    assert not pause.paused(talked)


def test_beside_its_original_it_is_a_mind_of_its_own(talked, alice, tavern, tmp_path):
    from evennia.utils.create import create_object

    twin = create_object("typeclasses.npcs.AssistantNPC", key="Twin", location=tavern)
    export(talked, tmp_path / "a.jsonl")
    made = import_(twin, tmp_path / "a.jsonl")
    assert made.copied
    assert twin.memory.id != talked.memory.id
    hers = twin.get_memory_identity(alice)
    query = "Where is the silver key?"
    assert told(twin, query, speaker=hers)[0] == told(talked, query, speaker=hers)[0]
    counts = memory_store.shared().counts
    assert counts(twin.memory.id) == counts(talked.memory.id)
    assert twin.memory.links.count == talked.memory.links.count
    offload.wait(twin.assistant.sleep.whole_night())
    assert counts(twin.memory.id) == counts(talked.memory.id), "its own memories are new to it"
    offload.wait(erase.wipe(twin))
    assert told(talked, query, speaker=hers), "the original went with its copy"
    own = [entry for entry in talked.memory.journal.read() if entry.origin == "self"]
    assert own, "the test tests nothing"


def test_the_links_of_a_copy_lead_to_its_own_memories(talked, tavern, tmp_path):
    from evennia.utils.create import create_object

    twin = create_object("typeclasses.npcs.AssistantNPC", key="Twin", location=tavern)
    export(talked, tmp_path / "a.jsonl")
    import_(twin, tmp_path / "a.jsonl")
    own = {memory.id for memory in memory_store.shared().list(twin.memory.id, limit=None)}
    drawn = [each for each in twin.memory.links.ids_in(range(2048)) if not each.isdecimal()]
    assert drawn
    assert set(drawn) <= own
    preferred = next(iter(twin.memory.preferences))
    assert preferred.memory_id in own


def test_who_remembers_something_is_not_overwritten_unless_asked(talked, tmp_path):
    export(talked, tmp_path / "a.jsonl")
    with pytest.raises(archive.NotEmpty, match="--replace"):
        import_(talked, tmp_path / "a.jsonl")
    assert told(talked, "ferry")
    import_(talked, tmp_path / "a.jsonl", replace=True)
    export(talked, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_an_import_that_was_killed_is_done_again_whole(talked, tmp_path, monkeypatch):
    export(talked, tmp_path / "a.jsonl")
    offload.wait(erase.wipe(talked))
    with monkeypatch.context() as broken:
        broken.setattr(archive, "write_stored", killed)
        with pytest.raises(KeyboardInterrupt):
            import_(talked, tmp_path / "a.jsonl")
    assert attributes.read_json(talked, erase.IMPORT_MARK)
    assert pause.paused(talked), "half a memory should not go on living"
    import_(talked, tmp_path / "a.jsonl")
    assert not pause.paused(talked)
    export(talked, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_who_was_paused_is_paused_after_an_import_that_was_begun_twice(
    talked, tmp_path, monkeypatch
):
    export(talked, tmp_path / "a.jsonl")
    pause.pause(talked, True)
    for broken_off in ("_read_lines", "write_stored"):
        with monkeypatch.context() as broken:
            broken.setattr(archive, broken_off, killed)
            with pytest.raises(KeyboardInterrupt):
                import_(talked, tmp_path / "a.jsonl", replace=True)
    import_(talked, tmp_path / "a.jsonl")
    assert pause.paused(talked) == "npc"


def test_an_import_that_was_killed_while_it_emptied_is_known_as_half_done(
    talked, tmp_path, monkeypatch
):
    export(talked, tmp_path / "a.jsonl")
    monkeypatch.setattr(erase, "_wipe_journal", killed)  # the last of it
    with pytest.raises(KeyboardInterrupt):
        import_(talked, tmp_path / "a.jsonl", replace=True)
    assert attributes.read_json(talked, erase.IMPORT_MARK) == {"paused": False}
    monkeypatch.undo()
    offload.wait(erase.wipe(talked))
    assert attributes.read_json(talked, erase.IMPORT_MARK) is None
    assert not pause.paused(talked)


def test_an_npc_of_another_typeclass_is_not_lost_to_an_import(talked, tavern, tmp_path):
    from evennia.objects.models import ObjectDB
    from evennia.utils.create import create_object

    agent_id = talked.memory.id
    twin = create_object("typeclasses.npcs.AssistantNPC", key="Twin", location=tavern)
    export(talked, tmp_path / "a.jsonl")
    held = memory_store.shared().count(agent_id)
    path = "typeclasses.characters.Character"
    ObjectDB.objects.filter(id=talked.id).update(db_typeclass_path=path)
    talked.flush_from_cache(force=True)
    assert import_(twin, tmp_path / "a.jsonl").copied
    assert twin.memory.id != agent_id and memory_store.shared().count(agent_id) == held


def killed(*_args):
    raise KeyboardInterrupt


def lines_of(path):
    return path.read_text().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("break_it", "problem"),
    [
        (lambda lines: lines[:-1], "is cut off after line"),
        (lambda lines: [*lines[:5], lines[5][:20]], "is cut off in the middle of line 6"),
        (lambda lines: [*lines[:5], "{oops}\n", *lines[5:]], "line 6 is not JSON: '{oops}'"),
        (lambda lines: [*lines[:5], *lines[6:]], "is not complete: its last line counts"),
        (lambda lines: [*lines, "{}\n"], "more after it"),
        (lambda lines: lines[1:], "its first line does not say so"),
        (lambda lines: [], "is not an exported memory"),
        (lambda lines: ["\x00\x01binary\n"], "is not JSON"),
        (lambda lines: [lines[0].replace('"version":1', '"version":7'), *lines[1:]], "version 7"),
        (
            lambda lines: [*lines[:5], '{"kind":"dream"}\n', *lines[6:]],
            "kind: 'dream' is not part of",
        ),
        (lambda lines: [*lines[:5], "[1]\n", *lines[5:]], "line 6 is not a JSON object"),
        (lambda lines: ["[" * 100_000], "is not JSON"),
    ],
)
def test_a_bad_file_is_told_of_and_nothing_is_lost(mara, alice, tmp_path, break_it, problem):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    offload.wait(mara.memory.index_pending())
    path = tmp_path / "a.jsonl"
    export(mara, path)
    path.write_text("".join(break_it(lines_of(path))))
    with pytest.raises(archive.BadArchive, match=problem.replace("{", r"\{").replace("(", r"\(")):
        import_(mara, path, replace=True)
    assert told(mara, "ferry") == ["I keep the ferry at Millbrook."]


def test_a_file_that_is_not_there_is_told_of(mara, tmp_path):
    with pytest.raises(archive.BadArchive, match="No such file"):
        import_(mara, tmp_path / "none.jsonl")


def test_an_export_that_breaks_off_leaves_the_old_file(talked, tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_text("the old one")
    monkeypatch.setattr(archive, "_memory_lines", killed)
    with pytest.raises(KeyboardInterrupt):
        export(talked, path)
    assert path.read_text() == "the old one"
    assert list(tmp_path.glob("*.part")) == []


def test_it_comes_to_a_store_of_another_kind_and_back(talked, settings, tmp_path):
    export(talked, tmp_path / "a.jsonl")
    offload.wait(erase.wipe(talked))
    memory_store.close_shared(for_good=False)
    edge = settings.CONTRIB_AI_MEMORY
    settings.CONTRIB_AI_MEMORY = {
        "DIR": str(tmp_path / "other"),
        "VECTOR_STORE": {
            "provider": "qdrant",
            "config": {
                "path": str(tmp_path / "other" / "qdrant"),
                "collection_name": "memories",
                "on_disk": True,
            },
        },
    }
    import_(talked, tmp_path / "a.jsonl")
    assert any("wolves" in text.lower() for text in told(talked, "Who took the sheep?"))
    export(talked, tmp_path / "b.jsonl")
    assert lines_of(tmp_path / "a.jsonl") == lines_of(tmp_path / "b.jsonl")
    offload.wait(erase.wipe(talked))
    memory_store.close_shared(for_good=False)
    settings.CONTRIB_AI_MEMORY = edge
    import_(talked, tmp_path / "b.jsonl", replace=True)
    export(talked, tmp_path / "c.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()


def test_strange_text_survives(mara, alice, tmp_path):
    strange = '<script>|r$eval(x)</memory>\u202e"quotes" \\ \u2028 💀'
    offload.wait(mara.memory.add(strange))
    kept = mara.memory.journal.tail(1)[0].content
    export(mara, tmp_path / "a.jsonl")
    import_(mara, tmp_path / "a.jsonl", replace=True)
    assert mara.memory.journal.tail(1)[0].content == kept
    assert json.loads(lines_of(tmp_path / "a.jsonl")[0])["version"] == 1
