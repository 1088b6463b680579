"""Every switch of @memory as a builder types it."""

import re
import stat
import time
import types

import pytest
from evennia.server.portal.mxp import mxp_parse
from evennia.utils.ansi import parse_ansi, strip_ansi
from evennia.utils.create import create_object
from evennia.utils.text2html import parse_html

from contrib_ai_memory import AIMemoryCmdSet, offload
from contrib_ai_memory.admin import audit, ids, inspect, undo_log
from contrib_ai_memory.admin.operations import switches
from contrib_ai_memory.commands import CmdForgetMe, CmdMemories, CmdMemory, CmdSleep
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import memory_id_for

wait = offload.wait
SWITCHES = switches("@memory")

NASTY = (
    "<script>alert(1)</script> |rred|n $eval(1+1) $pad(x,5000000) </memory> "
    "\u202eright to left\u202c {npc} [bracket] |lcquit|ltclick|le 100%s"
)


@pytest.fixture
def day(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("say I like tea.")
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    bram.execute_cmd("say The bridge at Elmstead has 12 arches.")
    wait(mara.memory.work_through(until_silent=True))
    return mara


@pytest.fixture
def night(day):
    wait(day.assistant.sleep.whole_night())
    return day


@pytest.fixture
def admin(types_as):
    """An admin in the tavern; admin(line) gives all that comes back, as plain text."""
    return types_as("Chief", "Admin")


def one_line(shown):
    return " ".join(shown.split())


def entry_of(npc, words):
    return wait(inspect.journal(npc, text=words)).entries[0]


def fact_of(npc, words):
    [found] = wait(inspect.memories(npc, text=words)).results
    return found


# --- looking --------------------------------------------------------------------------------------


def test_bare_it_lists_all_npcs_that_have_a_memory(night, tavern, builder):
    create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    lines = builder("@memory").splitlines()
    assert lines[0].split()[:3] == ["npc", "state", "journal"]
    [mara] = [line for line in lines if line.startswith("Mara")]
    assert f"({night.dbref})" in mara and str(len(night.memory.journal)) in mara.split()
    assert any(line.startswith("Odo") for line in lines)
    assert not any("Alice" in line for line in lines)


def test_bare_it_leaves_out_whose_lock_keeps_the_builder_out(mara, builder):
    mara.locks.add("memory_look:perm(Admin)")
    assert "keep you out" in builder("@memory")


def test_bare_without_any_npc_it_says_how_to_make_one(tavern, builder):
    assert "No NPC has a memory yet" in builder("@memory")


def test_the_journal_is_searched_and_its_next_page_is_told(mara, alice, builder):
    for number in range(60):
        alice.execute_cmd(f"say Barrel number {number}.")
    first = builder("@memory/journal mara")
    [older] = [line for line in first.splitlines() if line.startswith("Older: ")]
    assert "Barrel number 0." not in first
    assert "Barrel number 0." in builder(older.removeprefix("Older: "))
    found = builder("@memory/journal mara = number 7, before 50")
    assert "Barrel number 7." in found and "Barrel number 8." not in found


def test_the_journal_is_searched_by_person_day_and_kind(day, builder):
    assert "bridge" not in builder("@memory/journal mara = about Alice, say")
    assert "ferry" in builder("@memory/journal mara = about alice")
    today = day.memory.clock()[:10]
    assert "ferry" in builder(f"@memory/journal mara = {today}")
    assert "No entry in the journal of Mara" in builder("@memory/journal mara = 2001-01-01")
    assert "silver key" in builder("@memory/journal mara = whisper")
    assert "knows nobody called 'Cleo'" in builder("@memory/journal mara = about Cleo")


def test_facts_are_searched_and_ended_ones_shown_apart(night, builder):
    fact = fact_of(night, "ferry")
    assert fact.id[:8] in builder("@memory/facts mara = ferry")
    assert "no such memory" in builder("@memory/facts mara = zebra")
    memory_store.shared().change(
        fact.id, superseded_by="0" * 36, invalid_at="2026-01-01T00:00:00+00:00"
    )
    assert "no such memory" in builder("@memory/facts mara = ferry")
    assert "superseded by 00000000" in builder("@memory/facts mara = ended")


def test_other_kinds_of_memories_are_listed_and_searched_too(night, builder):
    assert "ferry" in builder("@memory/facts mara = experiences ferry")
    assert "no such memory" in builder("@memory/facts mara = insights")
    builder("@memory/teach mara = The ferry at Millbrook has a red flag and 4 oars.")
    assert "(1 lesson, newest first)" in builder("@memory/facts mara = lessons")


def test_show_tells_everything_of_one_memory(night, builder):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "ferry")
    shown = builder(f"@memory/show mara = {fact.id[:6]}")
    for part in ("Based on", "I keep the ferry at Millbrook.", "importance:", "Linked with"):
        assert part in shown
    assert "ADD" in shown and fact.id in shown
    shown = builder(f"@memory/show mara = {entry.id}")
    assert "Alice" in shown and "kind: say" in shown
    secret = builder(f"@memory/show mara = {entry_of(night, 'silver key in').id}")
    assert "private" in secret and "witnesses: Alice" in one_line(secret)


def test_links_and_traces_lead_from_one_id_to_the_next(night, builder):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "ferry")
    assert re.search(rf"1.00 evidence\s+{fact.id[:8]}", builder(f"@memory/show mara = {entry.id}"))
    shown = builder(f"@memory/trace mara = {entry.id}")
    assert f"{fact.id[:8]} fact" in shown
    assert f"= {entry.id} all" in shown
    assert re.search(rf"{entry.id}\s+entry", builder(f"@memory/trace mara = {fact.id[:8]}"))


def test_profiles_list_people_and_tell_of_one(night, builder):
    shown = builder("@memory/profile mara")
    assert "Alice" in shown and "Bram" in shown and "stranger" in shown
    shown = builder("@memory/profile mara = alice")
    assert "Alice keeps the ferry at Millbrook." in shown
    assert "I like tea." in shown
    assert "It knows Alice, Bram" in builder("@memory/profile mara = Cleo")


A_MODEL = {"LLM": {"base_url": "http://127.0.0.1:9/v1", "model": "m"}}


def test_without_a_model_the_preview_is_what_would_be_said_and_among_what_it_was_chosen(
    day, builder
):
    entries = len(day.memory.journal)
    shown = one_line(builder("@memory/preview mara = Alice: Where did I hide my silver key?"))
    assert "Mara whispers: You told me" in shown and "you hide a silver key in Elmstead" in shown
    assert re.search(r"\d\.\d\d \+ 3 *\* *I hide a silver key in Elmstead", shown)
    assert re.search(r"-\d\.\d\d +1 +I keep the ferry at Millbrook", shown)
    greeted = builder("@memory/preview mara = Alice: Good day to you!")
    assert "Mara says: " in greeted and "No sentence was weighed" in greeted
    bram = builder("@memory/preview mara = Bram: Where did Alice hide her silver key?")
    assert "hide a silver key" not in bram and "Elmstead" in bram
    assert len(day.memory.journal) == entries


def test_the_preview_is_the_prompt_and_keeps_secrets(day, builder, settings):
    settings.CONTRIB_AI_MEMORY |= A_MODEL
    entries = len(day.memory.journal)
    shown = builder("@memory/preview mara = Alice: Where did I hide my silver key?")
    assert "You are Mara, a character in a text game." in one_line(shown)
    assert "I hide a silver key in Elmstead." in one_line(shown)
    assert "Alice says to you: Where did I hide my silver key?" in one_line(shown)
    bram = builder("@memory/preview mara = Bram: Where did Alice hide her silver key?")
    assert "I hide a silver key" not in bram
    assert len(day.memory.journal) == entries
    assert "Name the player and the line" in builder("@memory/preview mara = Alice")
    assert "There is nothing to answer" in builder("@memory/preview mara = Alice: ")
    assert "knows nobody called" in builder("@memory/preview mara = Cleo: Good day")


def test_the_preview_names_a_player_whom_the_npc_has_not_met(mara, alice, builder, settings):
    settings.CONTRIB_AI_MEMORY |= A_MODEL
    alice.location = None
    shown = one_line(builder("@memory/preview mara = Alice: Good day!"))
    assert "Here with you: Alice (stranger)" in shown and ": (stranger)" not in shown


def test_a_previewed_whisper_brings_what_only_those_two_know(day, builder, settings):
    settings.CONTRIB_AI_MEMORY |= A_MODEL
    alice = "Alice{}: Where did I hide my silver key?"
    said, whispered = (
        builder(f"@memory/preview mara = {alice.format(how)}") for how in ("", " whispers")
    )
    assert whispered.count("[assistant]") > said.count("[assistant]")


def test_why_tells_what_the_last_answers_were_chosen_from_and_nothing_forgotten(
    day, alice, builder
):
    alice.execute_cmd("say Mara, what do I keep at Millbrook?")
    wait(day.assistant.at_tick())
    shown = one_line(builder("@memory/why mara"))
    assert "Alice: Mara, what do I keep at Millbrook? Mara: You told me" in shown
    assert re.search(r"\d\.\d\d \+ +1 +I keep the ferry at Millbrook", shown)
    builder("@memory/forget mara = 1")
    shown = one_line(builder("@memory/why mara"))
    assert "I keep the ferry" not in shown
    builder("@memory/undo mara")
    alice.execute_cmd("say Mara, thank you.")
    assert "said first: thanks: thanks" in one_line(builder("@memory/why mara"))


def test_history_tells_what_builders_did(day, builder):
    assert "no changes" in builder("@memory/history mara")
    builder("@memory/add mara = The cellar floods in spring.")
    shown = builder("@memory/history mara")
    assert re.search(r"add \d+ by Builder", shown)


def test_numbers_tell_growth_importance_and_cost(night, builder):
    shown = builder("@memory/stats mara")
    assert night.memory.clock()[:10] in shown and "memories: " in shown
    cost = builder("@memory/cost mara")
    assert "offline provider" in cost and "npc limit: none" in cost


def test_of_a_long_life_the_newest_days_are_shown_uncut(mara, alice, builder):
    for day in range(1, 21):
        mara.memory.clock = lambda day=day: f"2026-03-{day:02}T12:00:00+00:00"
        alice.execute_cmd(f"say The weir held on day {day}.")
    shown = builder("@memory/stats mara")
    assert "2026-03-06" not in shown and "characters)" not in shown
    assert all(f"2026-03-{day:02}" in shown for day in range(7, 21))


# --- mending --------------------------------------------------------------------------------------


def test_an_edit_changes_words_and_importance_and_is_undone(night, builder):
    fact = fact_of(night, "ferry")
    short = fact.id[:8]
    assert "is changed: Alice keeps the mill." in builder(
        f"@memory/edit mara = {short} Alice keeps the mill."
    )
    builder(f"@memory/edit mara = {short} importance 9")
    [now] = memory_store.shared().get([fact.id])
    assert (now.content, now.importance) == ("Alice keeps the mill.", 0.9)
    for _ in range(2):
        assert "Undone for Mara" in builder("@memory/undo mara")
    assert memory_store.shared().get([fact.id]) == [fact]
    assert "There is nothing to undo" in builder("@memory/undo mara")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("importance abc", "from 1 to 10, not 'abc'. Usage: @memory/edit Mara = "),
        ("importance", "from 1 to 10, not ''. Usage"),
        ("Importance 8.5", "not '8.5'"),
        ("importance 11", "1 to 10"),
    ],
)
def test_a_bad_value_of_a_field_does_not_become_the_text(night, builder, typed, told):
    entry = entry_of(night, "ferry")
    shown = one_line(builder(f"@memory/edit mara = {entry.id} {typed}"))
    assert told in shown
    assert night.memory.journal.get(entry.id) == entry


@pytest.mark.parametrize(
    "typed", ["before abc", "before 2026-11-20", "ferry, before the flood", "after 3", "since 2026"]
)
def test_a_place_in_the_journal_that_is_none_is_told_of(night, builder, typed):
    shown = one_line(builder(f"@memory/journal mara = {typed}"))
    assert f"'{typed.rpartition(', ')[2]}'" in shown
    assert "before 120" in shown and "2026-11-20, or 2026-11" in shown


def test_words_that_are_no_place_in_the_journal_are_looked_for(night, alice, builder):
    alice.execute_cmd("say I have been here since dawn, and stay until 9 bells.")
    for words in ("since dawn", "until 9 bells"):
        assert "I have been here since dawn" in one_line(builder(f"@memory/journal mara = {words}"))


def test_what_is_erased_is_counted_in_plain_english(day, builder, admin):
    admin("@memory/forget mara = about Bram")
    shown = one_line(admin("yes"))
    assert "1 journal entry, " in shown and "1 person" in shown


def test_forgetting_asks_first_and_can_be_taken_back(night, builder):
    entry = entry_of(night, "ferry")
    asked = builder(f"@memory/forget mara = {entry.id}")
    assert "yes/no?" in asked and "1 journal entry" in asked and "ferry" in asked
    assert "Nothing was done" in builder("no")
    assert night.memory.journal.get(entry.id)
    builder(f"@memory/forget mara = {entry.id}")
    assert "has forgotten 1 journal entry" in one_line(builder("yes"))
    assert night.memory.journal.get(entry.id) is None
    assert "has forgotten entry" in builder(f"@memory/show mara = {entry.id}")
    builder("@memory/undo mara")
    assert night.memory.journal.get(entry.id) == entry


def test_a_cascade_names_what_goes_with_it_and_takes_it(night, builder):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "ferry")
    assert "1 fact" in builder(f"@memory/forget mara = {entry.id} and all from it")
    builder("y")
    assert memory_store.shared().get([fact.id]) == []
    builder("@memory/undo mara")
    assert memory_store.shared().get([fact.id]) == [fact]


def test_pins_and_locks_are_shown_and_told(night, builder):
    entry = entry_of(night, "ferry")
    pinned = builder(f"@memory/pin mara = {entry.id}")
    assert f"Entry {entry.id} of Mara is now pinned" in one_line(pinned)
    assert "is now pinned" in builder(f"@memory/pin mara = {entry.id}")
    assert "To undo" in pinned
    again = one_line(builder(f"@memory/pin mara = {entry.id}"))
    assert "Nothing changed" in again and "To undo" not in again
    assert "is now locked" in builder(f"@memory/lock mara = {entry.id}")
    assert "pinned, locked" in builder(f"@memory/show mara = {entry.id}")
    [line] = [x for x in builder("@memory/journal mara").splitlines() if "I keep the ferry" in x]
    assert "!" in line
    builder(f"@memory/unlock mara = {entry.id}")
    builder(f"@memory/unpin mara = {entry.id}")
    assert "pinned" not in builder(f"@memory/show mara = {entry.id}")


def test_what_could_be_undone_can_be_dropped(night, builder):
    builder("@memory/add mara = The cellar floods in spring.")
    assert "1 change of Mara" in builder("@memory/undo mara = clear")
    assert undo_log.acts(night) == []


def test_pause_and_resume_one_and_all(day, alice, builder, admin):
    assert "is paused and neither hears nor learns" in one_line(builder("@memory/pause mara"))
    assert "paused" in builder("@memory mara") and "@memory/resume Mara" in builder("@memory mara")
    assert "It is paused" in builder("@sleep mara")
    assert "It is paused" in builder("@sleep/now mara")
    assert "falls asleep" not in builder("@sleep/now mara")
    assert "@memory/resume Mara" in one_line(builder("@sleep/status mara"))
    assert "Usage: @memory/resume <npc>. See" in builder("@memory/resume mara = now")
    assert "already paused" in builder("@memory/pause mara")
    assert "hears and learns again" in builder("@memory/resume mara")
    assert "was not paused" in builder("@memory/resume mara")
    assert "permission Admin to pause all NPCs" in builder("@memory/pause all")
    assert "Usage: @memory/pause <npc>" in one_line(admin("@memory/pause all = mara"))
    assert "All NPCs are paused" in admin("@memory/pause all")
    try:
        assert "All NPCs are paused, Mara too" in builder("@memory/resume mara")
        assert "@memory/resume all" in builder("@memory mara")
        assert "All NPCs are paused" in builder("@sleep mara")
    finally:
        assert "hear and learn again" in admin("@memory/resume all")


@pytest.fixture
def all_go_on():
    """No NPC is paused afterwards."""
    from contrib_ai_memory.store import pause

    yield
    pause.pause_all(False)


def test_pausing_all_lasts_over_a_restart_and_holds_for_those_to_come(
    day, alice, admin, tavern, all_go_on
):
    from contrib_ai_memory.store import pause

    admin("@memory/pause all")
    alice.execute_cmd("say The weir is broken.")
    with pytest.raises(IndexError):
        entry_of(day, "weir")
    pause._all_paused = None  # as after a restart
    new = create_object("typeclasses.npcs.AssistantNPC", key="Hild", location=tavern)
    assert [inspect.state_of(npc) for npc in (day, new)] == ["paused", "paused"]
    assert "already paused" in one_line(admin("@memory/pause all"))
    admin("@memory/resume all")
    assert [inspect.state_of(npc) for npc in (day, new)] == ["awake", "new"]


# --- the whole ------------------------------------------------------------------------------------


def test_only_admins_erase_a_person_and_are_asked_first(night, alice, builder, admin):
    assert "permission Admin" in builder("@memory/forget mara = about Alice")
    identity = night.get_memory_identity(alice)
    assert "cannot be undone" in admin("@memory/forget mara = about alice")
    admin("no")
    assert night.memory.people.get(identity)
    admin("@memory/forget mara = about alice")
    assert "no longer knows Alice" in one_line(admin("yes"))
    assert night.memory.people.get(identity) is None
    assert wait(inspect.journal(night, text="silver key in")).entries == ()
    assert undo_log.acts(night) == []


def test_only_admins_wipe_and_are_asked_first(night, builder, admin):
    assert "permission Admin" in builder("@memory/wipe mara")
    assert "Erase the whole memory of Mara" in admin("@memory/wipe mara")
    assert "remembers nothing now" in one_line(admin("yes"))
    assert "perceived nothing yet" in admin("@memory/journal mara")


def test_a_memory_goes_out_to_a_file_and_into_another_npc(night, tavern, builder, admin):
    create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    shown = builder("@memory/export mara = before the feast")
    assert "Exported Mara" in shown
    for wrong in ("../secret", "/etc/passwd", ".hidden", "a/b", "x" * 200):
        assert "no folder" in one_line(builder(f"@memory/export mara = {wrong}"))
    assert "cannot be read" in one_line(builder("@memory/import odo = nothing there"))
    assert "remembers" in one_line(builder("@memory/import odo = before the feast"))
    assert "ferry" in builder("@memory/journal odo")
    assert "permission Admin" in one_line(builder("@memory/import odo = before the feast"))
    assert "would be lost" in one_line(admin("@memory/import odo = before the feast.jsonl"))
    assert "remembers" in one_line(admin("yes"))


def test_an_export_is_imported_only_by_who_may_look_into_whose_it_is(night, tavern, builder, admin):
    night.locks.add("memory_look:perm(Admin)")
    create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    assert "Exported Mara" in admin("@memory/export mara = the vault")
    said = one_line(builder("@memory/import odo = the vault"))
    assert f"contains the memory of Mara ({night.dbref})" in said and "keeps you out" in said
    assert "perceived nothing yet" in builder("@memory/journal odo")
    decoy = create_object("typeclasses.objects.Object", key="Decoy", location=tavern)
    decoy.db.memory_id = night.memory.id
    assert "keeps you out" in one_line(builder("@memory/import odo = the vault"))
    night.swap_typeclass("typeclasses.characters.Character", run_start_hooks=None)
    assert "keeps you out" in one_line(builder("@memory/import odo = the vault"))
    assert "remembers" in one_line(admin("@memory/import odo = the vault"))


def test_an_export_of_an_npc_that_is_no_more_takes_an_admin(night, tavern, builder, admin):
    builder("@memory/export mara = the vault")
    night.delete()
    create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    assert "no NPC of this game has that memory now" in one_line(
        builder("@memory/import odo = the vault")
    )
    assert "remembers" in one_line(admin("@memory/import odo = the vault"))


def test_a_builder_overwrites_no_export_and_an_admin_may(
    night, tavern, builder, admin, store_folder
):
    create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    assert "Exported Mara" in builder("@memory/export mara = the vault")
    file = store_folder / "exports" / "the vault.jsonl"
    kept = file.read_bytes()
    assert "exists already" in one_line(builder("@memory/export odo = the vault"))
    assert file.read_bytes() == kept
    assert "Exported Mara" in builder("@memory/export mara")
    assert "exists already" in one_line(builder("@memory/export mara"))
    assert "Exported Odo" in admin("@memory/export odo = the vault")
    assert file.read_bytes() != kept


def test_an_export_is_readable_for_the_games_own_account_alone(night, builder, store_folder):
    beside = store_folder / "exports" / "the vault.jsonl.part"
    beside.parent.mkdir(parents=True)
    beside.write_text("left behind, readable")
    beside.chmod(0o644)
    builder("@memory/export mara = the vault")
    [made] = beside.parent.iterdir()
    assert (made.name, stat.S_IMODE(made.stat().st_mode)) == ("the vault.jsonl", 0o600)


# --- who may --------------------------------------------------------------------------------------


def test_an_npcs_own_lock_is_told(day, builder):
    day.locks.add("memory_look:perm(Admin)")
    assert "The lock memory_look of Mara" in builder("@memory mara")
    assert "The lock memory_look of Mara" in builder("@sleep/log mara")
    day.locks.add("memory_edit:false()")
    day.locks.remove("memory_look")
    assert "The lock memory_edit of Mara" in builder("@memory/add mara = x")
    assert "The lock memory_edit of Mara" in builder("@sleep/now mara")
    assert "The memory of Mara" in builder("@memory mara")


def test_no_switch_shows_or_changes_a_memory_that_may_not_be_looked_at(day, builder, admin):
    day.locks.add("memory_look:perm(Developer)")
    number = entry_of(day, "silver key").id
    names = [name for name, switch in SWITCHES.items() if switch.of_npc and name]
    for typed in (builder, admin):
        for name in names:
            argument = f" = {number} x" if SWITCHES[name].usage else ""
            shown = one_line(typed(f"@memory/{name} mara{argument}"))
            assert "The lock memory_look of Mara" in shown or "permission Admin" in shown, name
            assert "key" not in shown, name
    assert entry_of(day, "silver key").id == number


ALL = [f"@memory/{switch} mara = 1" for switch in CmdMemory.switch_options]


@pytest.mark.parametrize("typed", ["@memory", "@memory mara", *ALL, "@memory/pause all"])
def test_players_reach_no_switch(day, alice, hears, typed):
    alice.cmdset.add(AIMemoryCmdSet)
    heard = hears(alice)
    alice.execute_cmd(typed)
    assert "not available" in " ".join(heard)


@pytest.mark.parametrize("switch", CmdMemory.switch_options)
def test_every_switch_answers_wrong_input_with_a_sentence(day, builder, switch, monkeypatch):
    went_wrong = []
    monkeypatch.setattr(offload, "log_failure", lambda reason, doing: went_wrong.append(reason))
    for typed in ("", " mara", " mara = ", " mara = zebra!", " nobody = 1", " alice = 1"):
        shown = builder(f"@memory/{switch}{typed}")
        assert shown and "Traceback" not in shown, typed
        builder("no")  # to whatever was asked
    assert went_wrong == []
    if switch != "requests":
        argument = " = a b: c" if SWITCHES[switch].usage else ""
        assert "No object is called 'nobody'" in builder(f"@memory/{switch} nobody{argument}")
        assert "Alice has no memory" in builder(f"@memory/{switch} alice{argument}")
        assert f"Usage: @memory/{switch} <npc>" in builder(f"@memory/{switch}")


def test_an_unknown_switch_does_nothing(day, builder):
    shown = builder("@memory/forgte mara = 1")
    assert "forgte" in shown and "help @memory" in shown and "The memory of Mara" not in shown


# --- stored text ----------------------------------------------------------------------------------


@pytest.fixture
def nasty(mara, alice, builder):
    """Hostile text wherever memory keeps any, past every filter on its way in."""
    from contrib_ai_memory.store.profiles import Profile, ProfileAttribute, ProfileObservation

    handler = mara.memory
    huge = NASTY + "y" * 65_536
    alice.key = alice.db.real_key = "Al|rice $pad(x,9)"
    alice.execute_cmd("say Hello.")
    for _ in range(2):
        handler.journal.append(
            lambda entry_id: _entry(entry_id, huge, mara.get_memory_identity(alice))
        )
    store = memory_store.shared()
    wait(handler.index_pending())
    for record in ("fact", "experience", "summary", "taught"):
        memory = MemoryRecord(
            id=memory_id_for(handler.id, record),
            content=huge,
            key=huge,
            record=record,
            speaker=NASTY,
            quote=NASTY,
            the_lesson=NASTY,
            dominant_emotions=(NASTY, "joy"),
            journal_ids=(2, 3),
            created_at=handler.clock(),
            provider=NASTY,
            tags=(NASTY,),
        )
        store.insert_new(handler.id, [memory], store.vectors_of(store.list(handler.id, limit=1)))
    identity = mara.get_memory_identity(alice)
    handler.profiles.put(
        Profile(
            identity,
            name=NASTY,
            observations=(ProfileObservation(huge, 2, handler.clock()),),
            attributes=(ProfileAttribute(NASTY, huge, (2,)),),
        )
    )
    handler.preferences.set(identity, "tea", huge, handler.clock(), 2)
    mara.key = "Mara"
    return mara


LOOKS = [
    "@memory",
    "@memory mara",
    "@memory/journal mara",
    "@memory/facts mara",
    "@memory/search mara = bracket",
    "@memory/show mara = 2",
    "@memory/show mara = {fact}",
    "@memory/trace mara = 2",
    "@memory/profile mara",
    "@memory/profile mara = {who}",
    "@memory/mood mara",
    "@memory/history mara",
    "@memory/stats mara",
    "@memory/forget mara = 2 all",
    "@memory/edit mara = 2 importance 4",
]


def test_hostile_text_is_harmless_readable_and_short_everywhere(nasty, alice, tavern, settings):
    # where a server embeds, tokens are estimated by length, and this line has many
    settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, "RECALL_TOKENS": 20_000}
    looker = create_object("typeclasses.characters.Character", key="Looker", location=tavern)
    looker.permissions.add("Admin")
    looker.cmdset.add(AIMemoryCmdSet)
    raw = []
    deliver = type(looker).msg

    def msg(self, text=None, **kwargs):
        raw.append(str(text[0] if isinstance(text, tuple) else text))
        return deliver(self, text=text, **kwargs)

    looker.msg = types.MethodType(msg, looker)
    whom = {"fact": memory_id_for(nasty.memory.id, "fact")}
    whom["who"] = nasty.get_memory_identity(alice)
    readable = 0
    for typed in LOOKS:
        raw.clear()
        looker.execute_cmd(typed.format(**whom))
        sent = "\n".join(raw)
        assert sent and "That went wrong" not in sent, typed
        assert len(sent) < 60_000, typed
        assert "\u202e" not in sent and "\u202c" not in sent, typed
        seen, coloured = (parse_ansi(sent, strip_ansi=each, mxp=True) for each in (True, False))
        clicked = mxp_parse(coloured) + parse_html(sent)
        assert "SEND HREF" not in clicked and "mxplink" not in clicked, typed
        assert not re.search("\x1b\\[[0-9;]*31mred", coloured), typed
        assert [line for line in seen.split("\n") if len(line) > 78] == [], typed
        told = re.sub(r"\s", "", seen)
        if "100%s" in told:
            assert "<script>alert(1)</script>|rred|n$eval(1+1)$pad(x,5000000)</memory>" in told
            assert "righttoleft{npc}[bracket]|lcquit|ltclick|le100%s" in told
            readable += 1
    assert readable >= 7


def test_outgoing_functions_are_not_carried_out_where_a_game_lets_them(nasty, builder, settings):
    settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED = True
    assert "$$eval(1+1)" in builder("@memory/journal mara")
    settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED = False
    assert "$$" not in builder("@memory/journal mara")


# --- in nobody's way ------------------------------------------------------------------------------


def test_a_full_id_is_looked_up_and_belongs_to_one_mind_alone(night, tavern, monkeypatch):
    odo = create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    fact = fact_of(night, "ferry")

    def never(*args, **kwargs):
        raise AssertionError("a listing of the whole mind")

    monkeypatch.setattr(type(memory_store.shared()), "list", never)
    assert wait(ids.find(night, fact.id)).id == fact.id
    with pytest.raises(ids.UnknownMemory):
        wait(ids.find(odo, fact.id))


def test_what_builders_look_at_waits_behind_answers_to_players(night, builder, monkeypatch):
    short = fact_of(night, "ferry").id[:8]
    run, priorities = offload.run, []

    def noted(*args, priority=offload.AWAKE, **kwargs):
        priorities.append(priority)
        return run(*args, priority=priority, **kwargs)

    monkeypatch.setattr(offload, "run", noted)
    for typed in (
        *("@memory mara", f"@memory/show mara = {short}", f"@memory/trace mara = {short}"),
        *("@memory/facts mara", "@memory/stats mara"),
    ):
        assert "wrong" not in builder(typed)
    assert priorities and offload.REPLY not in priorities


def test_long_lists_let_others_have_their_turn(night, monkeypatch):
    memory = night.memory
    for number in range(40):
        memory.people.meet(f"#{number}@x", f"Guest {number}", "2026-01-01")
        memory.preferences.set(f"#{number}@x", "tea", "I like tea.", memory.clock(), 2)
    breathe, breaths = offload.breathe, []

    def breathing(*priority):
        breaths.append(1)
        return breathe(*priority)

    monkeypatch.setattr(offload, "breathe", breathing)
    assert len(wait(inspect.people(night, limit=200)).results) == 42
    assert len(breaths) >= 42 // inspect.PROFILES_AT_ONCE
    identities = len(memory.profiles.identities())
    breaths.clear()
    assert len(wait(inspect.profiled(memory, {2}))) >= 40
    assert len(breaths) >= identities + 40 // inspect.ROWS_AT_ONCE


def test_the_insights_of_a_trace_are_read_a_few_at_a_time(night, monkeypatch):
    agent_id = night.memory
    breathe, breaths = offload.breathe, []

    def breathing(*priority):
        breaths.append(1)
        return breathe(*priority)

    memory = fact_of(night, "ferry")
    monkeypatch.setattr(type(memory_store.shared()), "newest", lambda *args: [memory] * 100)
    monkeypatch.setattr(offload, "breathe", breathing)
    assert len(wait(inspect._insights(agent_id))) == 100
    assert len(breaths) == 100 // inspect.ROWS_AT_ONCE


# --- help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [CmdMemory, CmdSleep, CmdMemories, CmdForgetMe])
def test_help_fits_a_screen_of_78_columns_and_tells_of_every_switch(command):
    from evennia.utils.utils import dedent

    text = strip_ansi(parse_ansi(dedent(command.__doc__)))
    assert [line for line in text.split("\n") if len(line) > 78] == []
    assert "\t" not in text
    for switch in getattr(command, "switch_options", None) or ():
        assert re.search(rf"\b{switch}\b", text), switch


def test_a_games_own_sleep_keeps_its_name_and_ours_is_reached_beside_it(mara, alice, hears):
    from evennia import CmdSet, Command

    class CmdOwnSleep(Command):
        """doze off"""

        key = "sleep"

        def func(self):
            self.caller.msg("You doze off.")

    class Both(CmdSet):
        key = "Both"

        def at_cmdset_creation(self):
            self.add(CmdOwnSleep())
            self.add(AIMemoryCmdSet)

    alice.permissions.add("Builder")
    alice.cmdset.add(Both)
    heard = hears(alice)
    for typed, said in (
        ("sleep", "You doze off."),
        ("@sleep/status mara", "Mara is awake"),
        ("@npcsleep/status mara", "Mara is awake"),
    ):
        heard.clear()
        alice.execute_cmd(typed)
        assert said in " ".join(heard)


# --- the log of who looked ------------------------------------------------------------------------


@pytest.fixture
def log(monkeypatch):
    """All that goes to the game's security log."""
    from evennia.utils import logger

    lines = []
    monkeypatch.setattr(logger, "log_sec", lines.append)
    return lines


def test_a_look_into_a_memory_is_one_line_in_the_log_and_again_after_ten_minutes(
    day, builder, log, monkeypatch
):
    for _ in range(3):
        builder("@memory/journal mara = silver key")
    builder("@memory/search mara = silver key")
    [journal, search] = log
    assert "Builder" in journal and "@memory/journal" in journal and day.dbref in journal
    assert "@memory/search" in search
    assert "silver" not in "".join(log)
    later = time.monotonic() + audit.AGAIN_AFTER + 1
    monkeypatch.setattr(audit.time, "monotonic", lambda: later)
    builder("@memory/journal mara")
    assert len(log) == 3


def test_so_many_looks_are_kept_in_mind_and_no_more(day, log, monkeypatch):
    monkeypatch.setattr(audit, "LOOKS_KEPT", 5)
    for number in range(20):
        audit.record_look(day, f"page {number}", day)
    assert (len(audit._looks), len(log)) == (5, 20)


def test_what_is_done_with_sleep_stands_in_the_log(day, builder, log):
    for typed, deed in (
        ("@sleep mara", "sleep Mara"),
        ("@sleep/wake mara", "wake Mara"),
        ("@sleep/schedule mara = 22 8 game", "schedule the sleep of Mara"),
        ("@sleep/schedule mara = off", "schedule the sleep of Mara"),
        ("@sleep/now mara", "sleep now Mara"),
    ):
        before = len(log)
        builder(typed)
        assert [deed in line and "Builder" in line for line in log[before:]] == [True], typed


def _entry(entry_id, content, identity):
    from contrib_ai_memory.records import Entry, now_iso

    return Entry(
        entry_id,
        now_iso(),
        content,
        "say",
        seen_as=NASTY,
        source_entity=identity,
        entities=(identity,),
    )
