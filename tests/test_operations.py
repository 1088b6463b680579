"""`evennia ai_memory`, as an operator types it; every example of the operators' guide is run."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError
from evennia.scripts.models import ScriptDB

from contrib_ai_memory import offload
from contrib_ai_memory.admin import archive, erase
from contrib_ai_memory.management.commands import ai_memory
from contrib_ai_memory.store import attributes, game_database, memory_store, pause

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs" / "guides" / "operators.md"


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
    return mara


@pytest.fixture
def run(capsys):
    """run("status") gives what the command prints, bars left out."""

    def run(*words: object) -> str:
        call_command("ai_memory", *map(str, words))
        return capsys.readouterr().out

    return run


def examples() -> list[str]:
    """Every command line of the guide's console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def test_every_command_of_the_guide_runs(talked, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ours = [line for line in examples() if line.startswith("evennia ai_memory ")]
    assert {line.split()[2] for line in ours} == set(ai_memory.ACTIONS) - {"replay", "teach"}
    for line in ours:
        if line.startswith("evennia ai_memory model"):
            continue  # it tries a server: test_model_verb
        words = shlex.split(line.removeprefix("evennia ai_memory "))
        assert run(*words).strip(), line
    (tmp_path / "server" / "ai_memory").mkdir(parents=True)
    (tmp_path / "server" / "evennia.db3").touch()
    others = [line for line in examples() if not line.startswith("evennia ")]
    assert others
    for line in others:
        assert subprocess.run(shlex.split(line), check=False).returncode == 0, line


def test_every_action_is_in_the_commands_own_help():
    told = ai_memory.Command().create_parser("evennia", "ai_memory").format_help()
    assert set(re.findall(r"^    (\w+) +\w", told, re.M)) == set(ai_memory.ACTIONS)


def test_status_tells_of_every_npc_and_makes_nothing(talked, run, tavern):
    from evennia.utils.create import create_object

    create_object("typeclasses.npcs.AssistantNPC", key="Gustav", location=tavern)
    scripts = ScriptDB.objects.count()
    told = run("status")
    assert ScriptDB.objects.count() == scripts
    [line] = [line for line in told.splitlines() if line.startswith("Mara")]
    entries = len(talked.memory.journal)
    stored = memory_store.shared().count(talked.memory.id)
    links = talked.memory.links.count
    assert re.search(rf"{talked.dbref} +awake +{entries} +{stored} +{links} +2 ", line)
    [line] = [line for line in told.splitlines() if line.startswith("Gustav")]
    assert re.search(r" new +0 +0 +0 +0 +none yet", line)
    assert "all-MiniLM-L6-v2, 384 dimensions" in told
    assert "offline provider" in told


def test_status_while_the_server_runs_leaves_the_store_alone(talked, run, monkeypatch):
    memory_store.close_shared(for_good=False)
    monkeypatch.setattr(ai_memory, "server_runs", lambda: True)
    monkeypatch.setattr(memory_store, "shared", interrupted)
    told = run("status")
    assert re.search(r"Mara +#\d+ +awake +\d+ +\? ", told)
    assert "the server is running and holds the store" in told


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda npc: pause.pause(npc, True), "paused"),
        (lambda npc: npc.tags.add("memory_off", category="ai_memory"), "off"),
        (lambda npc: npc.assistant.sleep.begin(), "compacting"),
        (
            lambda npc: attributes.write_json(npc, erase.IMPORT_MARK, {"paused": False}),
            "half imported",
        ),
        (lambda npc: attributes.write_json(npc, erase.PLAN + "x", {"a": 1}), "half erased"),
    ],
)
def test_status_tells_what_an_npc_does(talked, run, change, state):
    change(talked)
    assert re.search(rf"Mara +#\d+ +{state} ", run("status"))


def test_status_without_an_npc_says_what_is_missing(db, store_folder, run):
    assert "No object of this game has a memory" in run("status")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("export", "Nobody", "x.jsonl"), "No object is called 'Nobody'"),
        (("export", "Bram", "x.jsonl"), "Bram has no memory"),
        (("export", "Mara", "/"), "is a folder"),
        (("export", "Mara", "no/such/folder/x.jsonl"), "There is no folder"),
        (("import", "none.jsonl", "--npc", "Mara"), "No such file"),
        (("erase", "Zorro", "--yes"), "Nobody is called 'Zorro'"),
        (("erase", "Alice"), "add --yes"),
        (("erase", "Alice", "--npc", "Nobody", "--yes"), "No object is called 'Nobody'"),
        (("doctor", "Bram"), "Bram has no memory"),
        (("uninstall",), "add --yes"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(mara, alice, bram, run, words, problem):
    with pytest.raises(CommandError, match=re.escape(problem)):
        run(*words)


@pytest.mark.parametrize("action", sorted(set(ai_memory.ACTIONS) - {"status", "backup", "model"}))
def test_nothing_is_done_while_the_server_runs(mara, run, action, monkeypatch):
    monkeypatch.setattr(ai_memory, "server_runs", lambda: True)
    words = {
        "replay": ("x", "--npc", "Mara"),
        "teach": ("Mara", "x"),
        "export": ("Mara", "x"),
        "import": ("x", "--npc", "Mara"),
        "erase": ("Alice",),
        "restore": ("x",),
        "move": ("--to", "pgvector"),
    }
    with pytest.raises(CommandError, match="evennia stop"):
        run(action, *words.get(action, ()))


@pytest.mark.parametrize(
    ("words", "broken", "advice"),
    [
        (("export", "Mara", "x.jsonl"), (archive, "_pages_of_game"), "No file was written"),
        (("erase", "Alice", "--yes"), (erase, "_clear_disk"), "To complete it"),
        (("uninstall", "--yes"), (attributes, "delete_all"), "for the rest"),
    ],
)
def test_interrupted_it_says_what_to_do_next(
    talked, run, words, broken, advice, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(*broken, interrupted)
    with pytest.raises(CommandError, match=advice) as told:
        run(*words)
    assert told.value.returncode == 130
    assert list(tmp_path.glob("x.jsonl*")) == []


def interrupted(*_args):
    raise KeyboardInterrupt


# --- erasing --------------------------------------------------------------------------------------


def test_a_person_is_erased_by_name_from_every_npc(talked, run, alice):
    told = run("erase", "alice", "--yes")
    assert re.search(r"Mara \(#\d+\): \d+ journal entries, \d+ memories", told)
    assert not any("ferry" in entry.content for entry in talked.memory.journal.read())
    assert "No NPC remembered anything of" in run("erase", "Alice", "--yes")


def test_somebody_who_was_deleted_is_erased_by_name_or_identity(talked, run, alice, bram):
    his = talked.get_memory_identity(bram)
    alice.delete()
    bram.delete()
    assert "Mara" in run("erase", "Alice", "--yes")
    assert "Mara" in run("erase", his, "--yes")
    assert len(talked.memory.people) == 0


def test_two_of_one_name_are_told_apart(talked, run, alice, tavern):
    from evennia.utils.create import create_object

    other = create_object("typeclasses.characters.Character", key="Alice", location=tavern)
    with pytest.raises(CommandError, match="Several people match") as told:
        run("erase", "Alice", "--yes")
    assert talked.get_memory_identity(other) in str(told.value)
    run("erase", talked.get_memory_identity(alice), "--yes")
    assert not any("ferry" in entry.content for entry in talked.memory.journal.read())


def test_without_a_yes_nothing_is_erased(talked, run, monkeypatch):
    monkeypatch.setattr(ai_memory.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "no")
    with pytest.raises(CommandError, match="Nothing was changed"):
        run("erase", "Alice")
    assert any("ferry" in entry.content for entry in talked.memory.journal.read())


def test_exports_that_still_hold_the_words_are_told_of(talked, run):
    offload.wait(archive.export(talked))
    assert f"Mara-{talked.memory.id[:8]}.jsonl" in run("erase", "Alice", "--yes")


# --- uninstalling ---------------------------------------------------------------------------------


def test_uninstalling_goes_on_where_the_database_cannot_be_vacuumed(talked, run, monkeypatch):
    def full():
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(game_database, "vacuum", full)
    told = run("uninstall", "--yes")
    assert "That failed (database or disk is full)" in told
    assert "pip uninstall contrib_ai_memory" in told


def test_uninstalled_nothing_is_left_behind(talked, alice, run, store_folder):
    from django.db import connection

    pause.pause_all(True)
    pause.pause(talked, True)
    alice.tags.add("memory_off", category="ai_memory")
    talked.locks.add("memory_look:perm(Admin);memory_talk:all()")
    attributes.write(talked, "memory_keywords", ["crown"])
    talked.memory.own_settings.set("RECALL_TOKENS", 300)
    before = talked.locks.get()
    assert "memory_look" in before
    assert "pip uninstall contrib_ai_memory" in run("uninstall", "--yes")
    assert not store_folder.exists()
    pause.pause_all(False)
    left = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            for row in cursor.execute(f"SELECT * FROM {table}"):
                text = " ".join(map(str, row))
                ours = re.search(r"ai_memory|memory_|journal|ferry|entity_profiles", text)
                if ours and table != "django_migrations":
                    left.append((table, text[:200]))
    assert left == []
    assert "get" in before  # Evennia's own locks stay
    assert "get" in talked.locks.get()
