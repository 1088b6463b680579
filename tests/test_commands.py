"""@memory and @sleep as a builder types them."""

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.commands import AIMemoryCmdSet


@pytest.fixture
def day(mara, alice, bram, builder):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    return mara


def test_the_overview_tells_what_is_there(day, builder):
    shown = builder("@memory mara")
    assert "3 entries" in shown
    assert "people met:   1" in shown
    assert "offline provider (no language model is set)" in shown


def test_a_search_of_the_journal_leaves_out_what_the_npc_only_repeated(mara, alice, builder):
    alice.execute_cmd("say Mara, I keep the ferry at Millbrook.")
    alice.execute_cmd("say Mara, where do I keep the ferry?")
    assert "Mara: " in builder("@memory/journal mara")
    found = builder("@memory/journal mara = ferry")
    assert "2 entries" in found
    assert "Mara: " not in found


def test_the_journal_marks_what_is_private(day, builder):
    lines = builder("@memory/journal mara").splitlines()
    assert any("Alice: I keep the ferry at Millbrook." in line for line in lines)
    [secret] = [line for line in lines if "silver key" in line]
    assert "*whisper" in secret


def test_facts_come_with_the_night(day, builder):
    assert "@sleep/now Mara" in builder("@memory/facts mara")
    assert "wakes up rested" in builder("@sleep/now mara")
    assert "Alice keeps the ferry at Millbrook." in builder("@memory/facts mara")


def test_a_search_shows_the_parts_of_each_score(day, builder):
    shown = builder("@memory/search mara = ferry")
    assert "I keep the ferry at Millbrook." in shown
    for part in ("similarity", "line", "near", "weight", "recency", "frequency", "tokens"):
        assert part in shown


def test_an_added_memory_is_recalled_at_once_and_marked_as_conscious(day, builder):
    assert "will remember" in builder("@memory/add mara = The cellar floods in spring.")
    entry = day.memory.journal.tail(1)[0]
    assert entry.tags == ("conscious", "builder")
    assert (entry.importance, entry.scoring_method) == (8, "manual")
    assert "The cellar floods in spring." in builder("@memory/search mara = cellar")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("@memory/journal", "Usage: @memory/journal <npc>"),
        ("@sleep", "Usage: @sleep[/<switch>] <npc>. See help @sleep."),
        ("@sleep/log", "Usage: @sleep/log <npc>. See help @sleep."),
        ("@memory nobody", "No object is called 'nobody'"),
        ("@memory alice", "Alice has no memory. Give it a typeclass with MemoryMixin"),
        ("@memory/search mara", "Usage: @memory/search <npc> = <question>. See help @memory."),
        ("@memory/mood mara = now", "Usage: @memory/mood <npc>. See help @memory."),
        ("@memory/profile", "Usage: @memory/profile <npc> [= <name>]. See help @memory."),
        ("@memory/add mara = ", "Usage: @memory/add <npc> = <text>"),
        ("@memory/add mara = |n", "There is nothing to remember"),
        ("@memory/journal mara", "perceived nothing yet"),
        ("@memory/search mara = gold", "Mara recalls nothing for that"),
        ("@sleep/wake mara", "Mara is awake"),
        ("@npcsleep mara", "Mara falls asleep"),
    ],
)
def test_wrong_or_empty_input_is_answered_with_what_to_do(mara, alice, builder, typed, said):
    assert said in builder(typed)


def test_a_sleeper_is_not_sent_to_sleep_twice_and_a_wake_is_deferred(day, builder):
    builder("@sleep mara")
    assert "already asleep (compacting)" in builder("@sleep mara")
    assert "will wake as soon as that is safe" in builder("@sleep/wake mara")
    assert "asleep (compacting)" in builder("@memory mara")


@pytest.mark.parametrize("command", ["@memory mara", "@memory/add mara = x", "@sleep/now mara"])
def test_players_have_no_access(day, alice, hears, command):
    alice.cmdset.add(AIMemoryCmdSet)
    heard = hears(alice)
    alice.execute_cmd(command)
    assert "not available" in " ".join(heard)
    assert len(day.memory.journal) == 3


def test_stored_markup_is_shown_not_carried_out(mara, alice, bram, hears, tavern, builder):
    offload.wait(mara.memory.add("Price: 5||r crowns |rred $pad(x,9)"))
    alice.execute_cmd("say A line with $pad(x,99) {npc} for the ferry.")
    shown = builder("@memory/journal mara")
    assert "$pad(x,99) {npc}" in shown


def test_braces_of_a_player_come_through_whole(mara, alice, bram, hears, builder):
    from evennia.utils.ansi import parse_ansi, strip_ansi

    rune = "the rune of Elmstead reads {{ x }} and {y} and {{{z}}}."
    alice.execute_cmd(f"say {rune}")
    assert mara.memory.journal.tail(1)[0].content == rune
    assert rune in " ".join(builder("@memory/journal mara").split())
    heard = hears(alice)
    alice.execute_cmd("whisper Mara = what does the rune of Elmstead read?")
    [answer] = [line for line in heard if line.startswith("Mara whispers")]
    assert rune in strip_ansi(parse_ansi(answer, strip_ansi=True).replace("{", "{{"))


def test_a_store_in_use_is_a_sentence_not_a_trace(day, builder, monkeypatch):
    from contrib_ai_memory.store import memory_store

    memory_store.close_shared()
    assert "The server is stopping" in builder("@memory mara")


# --- the mood -------------------------------------------------------------------------------------


@pytest.fixture
def lived(day):
    """The day, made into experiences: a line for all, and a whisper."""
    offload.wait(day.memory.work_through(until_silent=True))
    return day


def test_a_mood_shows_what_is_felt_and_the_experiences_that_it_comes_from(lived, builder):
    mood = offload.wait(lived.memory.mood())
    lines = builder("@memory/mood mara").splitlines()
    assert lines[0] == "The mood of Mara"
    label, share = mood.shares[0]
    assert lines[1].split()[:2] == [label, f"{share:.0%}"]
    [told] = [number for number, line in enumerate(lines) if "ferry at Millbrook" in line]
    [of_it] = [one for one in mood.experiences if "ferry" in one.content]
    assert ", ".join(of_it.dominant_emotions) in lines[told + 1]
    assert f"Lesson: {of_it.the_lesson}" in " ".join(" ".join(lines[told + 1 :]).split())


def test_the_lesson_of_a_memory_that_nobody_said_is_a_sentence(mara, builder):
    builder("@memory/add mara = The cellar of the Drowned Lantern floods in spring.")
    offload.wait(mara.memory.work_through(until_silent=True))
    shown = " ".join(builder("@memory/mood mara").split())
    assert "Lesson: Bear this in mind." in shown
    assert "what them" not in shown


def test_a_mood_marks_what_is_private(lived, builder):
    lines = builder("@memory/mood mara").splitlines()
    [secret] = [line for line in lines if "silver key" in line]
    [known] = [line for line in lines if "ferry" in line]
    assert "*" in secret
    assert "*" not in known


def test_an_npc_without_experiences_has_no_mood_and_it_is_said_why(mara, builder):
    shown = " ".join(builder("@memory/mood mara").split())
    assert "Mara feels nothing in particular" in shown
    assert "a mood comes from experiences, and Mara has none yet" in shown


def test_a_mood_shows_stored_markup_and_does_not_carry_it_out(mara, builder):
    from contrib_ai_memory.ingest import experiences
    from contrib_ai_memory.records import Entry, ExperienceDraft

    entry = Entry(1, "2026-01-01T20:00:00+00:00", "x", "say")
    draft = ExperienceDraft(
        "Alice sells |rred $pad(x,9) paint.", 0.5, "Ask |gBram.", ("joy", "trust", "fear")
    )
    experiences.keep(mara.memory.id, draft, (entry,), "offline")
    shown = builder("@memory/mood mara")
    assert "Alice sells |rred $pad(x,9) paint." in shown
    assert "Ask |gBram." in shown


def test_the_log_of_nights_tells_what_each_pass_did(day, builder):
    assert "has not slept yet" in builder("@sleep/log mara")
    builder("@sleep/now mara")
    shown = builder("@sleep/log mara")
    assert "Nights of Mara" in shown
    assert "drawing facts" in shown and "changed" in shown


def test_a_night_at_once_tells_its_passes_as_they_begin(day, builder):
    shown = builder("@sleep/now mara")
    assert shown.index("weighing the day ...") < shown.index("wakes up rested")


def test_the_state_and_the_schedule_of_sleep_can_be_seen_and_set(day, builder):
    assert "is awake" in builder("@sleep/status mara")
    assert "no sleep schedule" in builder("@sleep/schedule mara")
    assert "every day at 22:00 (game time), for 8 hours" in builder(
        "@sleep/schedule mara = 22 8 game"
    )
    assert "every day at 22:00" in builder("@sleep/status mara")
    for wrong in ("25 4", "2", "2 0", "noon", "2 4 moon"):
        assert "Give the hour (0-23)" in builder(f"@sleep/schedule mara = {wrong}")
    assert "no sleep schedule" in builder("@sleep/schedule mara = off")
    builder("@sleep mara")
    assert "asleep (compacting): pass 1 of 10, weighing the day" in builder("@sleep/status mara")


def test_a_slip_of_the_finger_in_a_switch_does_nothing(mara, builder):
    assert "Nothing was done" in builder("@sleep/stauts mara")
    assert not mara.assistant.asleep
    assert "Use one switch at a time" in builder("@sleep/now/wake mara")
    assert "Nothing was done" in builder("@memory/fatcs mara")


def test_a_text_too_long_for_one_memory_is_refused_and_not_cut(mara, builder):
    shown = " ".join(builder(f"@memory/add mara = {'The old well is deep. ' * 200}").split())
    assert "one memory holds 4,000" in shown and "@memory/teach" in shown
    assert len(mara.memory.journal) == 0


@pytest.mark.parametrize("switch", ["", "/now", "/wake", "/status", "/log"])
def test_sleep_takes_nothing_after_the_npc(mara, builder, switch):
    assert "Usage: @sleep" in builder(f"@sleep{switch} mara = x")
    assert not mara.assistant.asleep
    assert mara.assistant.sleep.records == []
