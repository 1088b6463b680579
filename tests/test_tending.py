"""Looking after a memory: ids, lists, traces, edits, forgetting, pinning, undo, the pause."""

from dataclasses import replace

import pytest

from contrib_ai_memory import offload
from contrib_ai_memory.admin import (
    access,
    edit,
    forget,
    ids,
    inspect,
    preview,
    provenance,
    undo_log,
)
from contrib_ai_memory.admin import stats as memory_stats
from contrib_ai_memory.embedding import embedder
from contrib_ai_memory.records import MemoryRecord, Percept
from contrib_ai_memory.sleep import pruning, reconciliation
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.links import Link
from contrib_ai_memory.store.payload import entry_memory_id, memory_id_for

wait = offload.wait


@pytest.fixture
def day(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("whisper Mara = I hide a silver key in Elmstead.")
    bram.execute_cmd("say The bridge at Elmstead has 12 arches.")
    wait(mara.memory.work_through(until_silent=True))
    return mara


@pytest.fixture
def night(day):
    """The day, slept over: facts with their evidence."""
    wait(day.assistant.sleep.whole_night())
    return day


def fact_of(npc, words):
    [found] = wait(inspect.memories(npc, text=words)).memories
    return found


def entry_of(npc, words):
    return wait(inspect.journal(npc, text=words)).entries[0]


def everything(npc):
    """All that the store holds of a mind and the whole journal, for comparing."""
    memory = npc.memory
    stored = memory_store.shared().list(memory.id, limit=None)
    return (
        {
            m.id: (m, [round(float(x), 4) for x in v])
            for m, v in zip(stored, memory_store.shared().vectors_of(stored), strict=True)
        },
        list(memory.journal.read()),
        {each: memory.links.of(each) for each in memory.links.ids_in(range(2048))},
        memory.links.count,
    )


# --- ids ------------------------------------------------------------------------------------------


def test_an_entry_is_found_by_its_number_and_a_fact_by_any_four_digits(night):
    fact = fact_of(night, "ferry")
    assert ids.short(fact) == fact.id[:8]
    for typed in (fact.id[:4], fact.id[:8].upper(), fact.id, f"#{fact.id[:9]}"):
        assert wait(ids.find(night, typed)).id == fact.id
    entry = entry_of(night, "ferry")
    found = wait(ids.find(night, str(entry.id)))
    assert (found.content, ids.short(found)) == (entry.content, str(entry.id))


def test_what_the_store_does_not_hold_is_found_in_the_journal(day):
    own = next(entry for entry in day.memory.journal.read() if entry.origin == "self")
    assert wait(ids.find(day, str(own.id))).content == own.content


@pytest.mark.parametrize("typed", ["", "999", "abc", "ferry", "12345678", "zzzz", "-1", "4" * 40])
def test_a_wrong_id_is_told_how_ids_look(day, typed):
    with pytest.raises(ids.UnknownMemory, match="An id is the number of a journal entry"):
        wait(ids.find(day, typed))


def test_an_id_that_fits_several_names_them(day):
    agent_id = day.memory.id
    same = [f"abcd{number:04}-0000-5000-8000-000000000000" for number in (1, 2)]
    memories = [MemoryRecord(id=each, content=f"Fact {each}.", record="fact") for each in same]
    store = memory_store.shared()
    store.put(agent_id, memories, store.vectors_of(store.list(agent_id, limit=1)).repeat(2, axis=0))
    with pytest.raises(ids.Ambiguous, match="abcd0001, abcd0002"):
        wait(ids.find(day, "abcd"))


def test_a_memory_of_another_mind_is_no_memory_of_this_one(night, tavern):
    from evennia.utils.create import create_object

    other = create_object("typeclasses.npcs.AssistantNPC", key="Odo", location=tavern)
    for memory in (fact_of(night, "ferry").id, entry_memory_id(night.memory.id, 1)):
        with pytest.raises(ids.UnknownMemory):
            wait(ids.find(other, memory))


def test_a_forgotten_entry_says_that_it_is_forgotten(day):
    day.memory.journal.remove([1])
    with pytest.raises(ids.UnknownMemory, match="has forgotten entry 1"):
        wait(ids.find(day, "1"))


def test_people_are_found_by_name_part_of_it_dbref_and_identity(day, alice):
    identity = day.get_memory_identity(alice)
    for typed in ("Alice", "alice", "lic", alice.dbref, identity):
        assert ids.person(day, typed) == identity
    with pytest.raises(ids.UnknownPerson, match="It knows Alice, Bram"):
        ids.person(day, "Cleo")


# --- looking --------------------------------------------------------------------------------------


def test_all_npcs_with_a_memory_are_listed_and_no_others(mara, alice, tavern):
    assert inspect.npcs() == [mara]


def test_the_overview_counts_what_there_is(night):
    seen = wait(inspect.overview(night))
    assert (seen.key, seen.dbref, seen.location) == ("Mara", night.dbref, "The Drowned Lantern")
    assert seen.state == "awake" and seen.pending == 0
    assert seen.entries == len(night.memory.journal)
    assert seen.counts["fact"] >= 2 and seen.links > 0 and seen.people == 2
    assert seen.last_night == night.assistant.sleep.records[-1]["ended"]


def test_the_journal_is_paged_backwards_and_ends(mara):
    for number in range(150):
        mara.memory.journal.append(lambda entry_id, n=number: _line(entry_id, f"line {n}"))
    seen, before = [], None
    while True:
        page = wait(inspect.journal(mara, before=before, limit=40))
        seen += [entry.id for entry in page.entries]
        before = page.older
        if before is None:
            break
    assert seen == list(range(150, 0, -1))


def test_a_search_of_the_journal_stops_after_so_many_entries_and_goes_on(mara, monkeypatch):
    monkeypatch.setattr(inspect, "READ_AT_MOST", 100)
    for number in range(300):
        words = "the heron" if number == 20 else "nothing"
        mara.memory.journal.append(lambda entry_id, w=words: _line(entry_id, w))
    first = wait(inspect.journal(mara, text="HERON"))
    assert (first.entries, first.older, first.searched_to) == ((), 201, 201)
    second = wait(inspect.journal(mara, text="heron", before=first.older))
    third = wait(inspect.journal(mara, text="heron", before=second.older))
    assert [entry.id for entry in third.entries] == [21]


def test_the_journal_is_searched_by_words_person_day_and_kind(day, alice):
    identity = day.get_memory_identity(alice)
    today = day.memory.clock()[:10]
    whispers = wait(inspect.journal(day, kind="whisper", text="silver key in")).entries
    assert [e.content for e in whispers] == ["I hide a silver key in Elmstead."]
    about = wait(inspect.journal(day, entity=identity)).entries
    assert about and all(identity in (e.source_entity, *e.entities) for e in about)
    assert len(wait(inspect.journal(day, day=today)).entries) == len(day.memory.journal)
    none = wait(inspect.journal(day, day="2001-01-01"))
    assert none.entries == () and none.older is None


def test_facts_are_listed_newest_first_by_text_and_by_whether_they_hold(night):
    page = wait(inspect.memories(night))
    assert [m.created_at for m in page.memories] == sorted(
        (m.created_at for m in page.memories), reverse=True
    )
    memory_store.shared().change(page.memories[0].id, superseded_by="x")
    held, ended = (wait(inspect.memories(night, ended=each)) for each in (False, True))
    assert held.total == page.total - 1
    assert [m.id for m in ended.memories] == [page.memories[0].id]
    assert wait(inspect.memories(night, limit=1)).total == held.total


def test_people_and_what_is_known_of_one(night, alice):
    names = {each.name for each in wait(inspect.people(night))}
    assert names == {"Alice", "Bram"}
    page = inspect.person(night, night.get_memory_identity(alice))
    assert page.person.name == "Alice" and page.person.interactions == 2
    assert any("ferry" in noted.text for noted in page.observations)


def test_show_tells_evidence_links_history_and_what_ended_what(night):
    fact = fact_of(night, "ferry")
    later = MemoryRecord(
        id=memory_id_for(night.memory.id, "later"), content="Alice sold the ferry.", record="fact"
    )
    store = memory_store.shared()
    store.add(night.memory.id, [later], store.vectors_of([fact]))
    store.change(fact.id, superseded_by=later.id)
    shown = wait(provenance.show(night, fact.id[:8]))
    assert [entry.content for entry in shown.evidence] == ["I keep the ferry at Millbrook."]
    assert shown.superseded_by.id == later.id
    assert [row.event for row in shown.history] == ["ADD"]
    assert [link.kind for link in shown.links if link.id == str(shown.evidence[0].id)]
    assert [m.id for m in wait(provenance.show(night, later.id)).superseded] == [fact.id]


def test_a_trace_goes_to_the_journal_and_to_all_that_came_of_it(night):
    entry = entry_of(night, "ferry")
    trace = wait(provenance.trace(night, str(entry.id)))
    kinds = {step.memory.record for step in trace.results}
    assert {"fact", "experience"} <= kinds and trace.sources == ()
    assert any("ferry" in drawn.text for drawn in trace.profiles)
    back = wait(provenance.trace(night, fact_of(night, "ferry").id))
    assert [step.id for step in back.sources] == [str(entry.id)]


def test_an_insight_is_traced_over_facts_to_entries(night):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "ferry")
    insight = _insight(night, fact.id)
    trace = wait(provenance.trace(night, str(insight.id)))
    assert [(step.id, step.depth) for step in trace.sources] == [
        (ids.short(fact), 1),
        (str(entry.id), 2),
    ]
    down = wait(provenance.trace(night, str(entry.id)))
    assert str(insight.id) in [step.id for step in down.results]


def test_the_graph_holds_the_most_linked_memories_and_their_links(night):
    graph = wait(inspect.graph(night))
    ends = {end for edge in graph.edges for end in (edge.a, edge.b)}
    assert ends <= {node.linked for node in graph.nodes} and graph.total == len(graph.nodes)
    assert len(graph.edges) == night.memory.links.count
    assert len(wait(inspect.graph(night, limit=2)).nodes) == 2


def test_statistics_count_entries_by_importance_kind_and_day(night):
    stats = wait(memory_stats.stats(night))
    assert sum(stats.importance.values()) == stats.entries == len(night.memory.journal)
    assert stats.kinds["say"] == 2
    assert sum(number for _day, number in stats.growth) == stats.entries
    assert stats.emotions
    assert memory_stats.nights(night)[0].passes[0].name == "score_pending_entries"
    assert memory_stats.cost(night).game.tokens == 0


# --- the exact prompt -----------------------------------------------------------------------------


def test_a_preview_is_the_prompt_that_the_model_would_be_sent(day, alice, settings, monkeypatch):
    seen = wait(preview.preview(day, "Alice", "Who keeps the ferry?"))
    from contrib_ai_memory.llm import router

    sent = []

    def ask_model(operation, messages, *args, **kwargs):
        sent.append(messages)
        return offload.defer.succeed((False, None))

    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {
        "LLM": {"base_url": "http://127.0.0.1:1/v1", "model": "m"}
    }
    monkeypatch.setattr(router, "ask_model", ask_model)  # the network's edge
    alice.execute_cmd("say Mara, Who keeps the ferry?")
    again = wait(preview.preview(day, "Alice", "x"))
    assert again.model == "m"
    asked = [(m["role"], m["content"]) for m in sent[0]]
    assert seen.messages[-1] == ("user", "Alice says: Who keeps the ferry?")
    assert asked[-1] == ("user", "Alice says: Mara, Who keeps the ferry?")
    assert asked[0][1].split("<memory>")[0] == seen.messages[0][1].split("<memory>")[0]
    assert "I keep the ferry at Millbrook." in seen.messages[0][1]


def test_a_preview_keeps_secrets_from_those_who_did_not_hear_them(day, alice, bram):
    question = "Where is the silver key?"
    told = {name: wait(preview.preview(day, name, question)).told() for name in ("Alice", "Bram")}
    assert "Elmstead" not in told["Bram"].split("Bram says: Where")[0].split("bridge")[0]
    assert "silver key in Elmstead" in told["Alice"]
    assert "silver key in" not in told["Bram"]


def test_a_preview_of_an_llmnpc_is_the_one_prompt_that_its_own_server_gets(tavern, alice):
    from evennia.utils.create import create_object

    odo = create_object("contrib_ai_memory.MemoryLLMNPC", key="Odo", location=tavern)
    wait(odo.memory.add("The cellar of the inn floods in spring."))
    alice.execute_cmd("say The weir is broken.")
    seen = wait(preview.preview(odo, "Alice", "When does the cellar flood?"))
    [(role, prompt)] = seen.messages
    assert role == "prompt" and seen.model == "LLMNPC"
    assert prompt.startswith("<memory>\n") and "floods in spring" in prompt
    assert "When does the cellar flood?" in prompt and "You are roleplaying as Odo" in prompt


def test_a_preview_leaves_no_trace(day):
    before = everything(day)
    wait(preview.preview(day, "Alice", "Who keeps the ferry?"))
    assert everything(day) == before
    assert (
        day.memory.conversations.going_on(f"room:#{day.location.id}", day.memory.clock())
        .messages[-1]
        .content
        != "Who keeps the ferry?"
    )


# --- editing and adding ---------------------------------------------------------------------------


def test_an_edited_entry_is_found_by_its_new_words_and_undone_exactly(day, builder, alice):
    before = everything(day)
    entry = entry_of(day, "ferry")
    wait(edit.edit(day, alice, str(entry.id), content="I keep the windmill at Millbrook."))
    assert day.memory.journal.get(entry.id).content == "I keep the windmill at Millbrook."
    found = wait(day.memory.recall("windmill")).memories[0].memory
    assert found.content == "I keep the windmill at Millbrook."
    told = [m.memory.content for m in wait(day.memory.recall("Who keeps the ferry?")).memories]
    assert "I keep the ferry at Millbrook." not in told
    shown = wait(provenance.show(day, str(entry.id)))
    assert [(row.old, row.event) for row in shown.history] == [(entry.content, "UPDATE")]
    wait(edit.undo(day, alice))
    assert everything(day) == before
    assert wait(provenance.show(day, str(entry.id))).history == ()


def test_a_fact_is_edited_weighed_and_felt(night, alice):
    before = everything(night)
    fact = fact_of(night, "ferry")
    wait(
        edit.edit(
            night, alice, fact.id, content="Alice owns |rthe mill.", importance=9, emotions=["joy"]
        )
    )
    [now] = memory_store.shared().get([fact.id])
    assert (now.content, now.importance) == ("Alice owns the mill.", 0.9)
    assert now.dominant_emotions == ("joy",) and now.journal_ids == fact.journal_ids
    shown = wait(provenance.show(night, fact.id))
    assert [row.new for row in shown.history] == [fact.content, "Alice owns the mill."]
    wait(edit.undo(night, alice))
    assert everything(night) == before
    assert [row.event for row in wait(provenance.show(night, fact.id)).history] == ["ADD"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "Say what to change"),
        ({"content": " |n "}, "To take a memory away, forget it"),
        ({"importance": 11}, "whole number from 1 to 10"),
        ({"content": "I keep the ferry at Millbrook."}, "Nothing to change"),
        ({"emotions": ["hunger"]}, "hunger"),
    ],
)
def test_an_edit_that_cannot_be_is_refused_with_a_sentence(day, alice, fields, why):
    before = everything(day)
    with pytest.raises(ValueError, match=why):
        wait(edit.edit(day, alice, str(entry_of(day, "ferry").id), **fields))
    assert everything(day) == before and undo_log.acts(day) == []


def test_what_is_added_is_undone(day, alice):
    before = everything(day)
    entry = wait(edit.add(day, alice, "The cellar floods in spring.", 7))
    assert entry.importance == 7 and "conscious" in entry.tags
    wait(edit.undo(day, alice))
    now = everything(day)
    assert now[0] == before[0] and now[1:] == before[1:]
    with pytest.raises(undo_log.NothingToUndo):
        wait(edit.undo(day, alice))


def test_what_is_taught_is_undone_with_the_preference_that_it_changed(mara, alice):
    wait(edit.teach(mara, alice, "I prefer tea to coffee."))
    before, held = everything(mara), list(mara.memory.preferences)
    learned = wait(edit.teach(mara, alice, "I prefer coffee to tea."))
    assert learned.new and list(mara.memory.preferences) != held
    assert wait(edit.undo(mara, alice)).deed == "teach"
    assert everything(mara) == before
    assert list(mara.memory.preferences) == held


def test_a_forgotten_lesson_takes_its_preference_with_it(mara, alice):
    [memory] = wait(edit.teach(mara, alice, "I like green tea.")).memories
    assert list(mara.memory.preferences)
    wait(forget.forget(mara, alice, memory.id))
    assert list(mara.memory.preferences) == []
    wait(edit.undo(mara, alice))
    assert [each.memory_id for each in mara.memory.preferences] == [memory.id]


# --- forgetting -----------------------------------------------------------------------------------


def test_a_forgotten_entry_is_nowhere_any_more_and_comes_back_exactly(night, alice):
    before = everything(night)
    entry = entry_of(night, "silver key")
    gone = wait(forget.forget(night, alice, str(entry.id)))
    assert gone.summary == "1 journal entry" and gone.undoable
    assert night.memory.journal.get(entry.id) is None
    assert memory_store.shared().get([entry_memory_id(night.memory.id, entry.id)]) == []
    assert night.memory.links.of(entry.id) == {}
    assert fact_of(night, "silver key")  # what was drawn from it stays
    wait(edit.undo(night, alice))
    assert everything(night) == before


def test_a_cascade_takes_all_that_rests_on_an_entry_and_undo_brings_it_back(night, alice):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "ferry")
    insight = _insight(night, fact.id)
    before = everything(night)
    identity = night.get_memory_identity(alice)
    known = night.memory.profiles.get(identity)
    going = wait(forget.select(night, str(entry.id), cascade=True))
    assert {"1 journal entry", "1 fact", "1 insight"} <= set(going.summary().split(", "))
    wait(forget.forget(night, alice, str(entry.id), cascade=True))
    assert memory_store.shared().get([fact.id]) == []
    assert night.memory.journal.get(insight.id) is None
    left = memory_store.shared().list(night.memory.id, limit=None)
    assert not [m for m in left if "ferry" in m.content and m.record != "entry"]
    profile = night.memory.profiles.get(identity)
    assert not any("ferry" in noted.text for noted in profile.observations)
    wait(edit.undo(night, alice))
    assert everything(night) == before
    assert night.memory.profiles.get(identity).observations == known.observations


def test_the_lines_around_a_forgotten_one_are_not_found_by_its_words(day, alice):
    entry = entry_of(day, "ferry")
    wait(forget.forget(day, alice, str(entry.id)))
    found = wait(day.memory.recall("Who keeps the ferry?")).memories
    by = [m for m in found if m.memory.record == "entry" and m.score.clues[2:4] != (0.0, 0.0)]
    assert by == []


def test_what_a_forgotten_fact_had_ended_holds_again(night, alice):
    fact = fact_of(night, "ferry")
    later = MemoryRecord(
        id=memory_id_for(night.memory.id, "later"), content="Alice sold the ferry.", record="fact"
    )
    store = memory_store.shared()
    store.add(night.memory.id, [later], embedder.shared().encode([later.content]))
    store.change(fact.id, superseded_by=later.id, invalid_at="2026-01-01T00:00:00+00:00")
    before = everything(night)
    wait(forget.forget(night, alice, later.id))
    [again] = store.get([fact.id])
    assert again.superseded_by is None and again.invalid_at is None
    wait(edit.undo(night, alice))
    assert everything(night) == before


def test_a_forgotten_preference_gives_way_to_the_one_before(mara, alice, tavern):
    for line in ("I like tea.", "I like coffee."):
        alice.execute_cmd(f"say {line}")
    wait(mara.memory.work_through(until_silent=True))
    identity = mara.get_memory_identity(alice)
    held = mara.memory.preferences.of(identity)
    entry = entry_of(mara, "coffee")
    wait(forget.forget(mara, alice, str(entry.id)))
    assert not any("coffee" in each.text for each in mara.memory.preferences.of(identity))
    wait(edit.undo(mara, alice))
    assert mara.memory.preferences.of(identity) == held


def test_forgetting_twice_says_that_it_is_forgotten(day, alice):
    entry = entry_of(day, "ferry")
    wait(forget.forget(day, alice, str(entry.id)))
    with pytest.raises(ids.UnknownMemory, match="has forgotten"):
        wait(forget.forget(day, alice, str(entry.id)))


# --- undo -----------------------------------------------------------------------------------------


def test_ten_acts_are_kept_within_64_kilobytes_and_can_be_forgotten(mara, alice):
    for number in range(12):
        wait(edit.add(mara, alice, f"Fact number {number}. " + "x" * 900))
    assert [act.ids for act in undo_log.acts(mara)] == [(str(n),) for n in range(3, 13)]
    for entry_id in range(1, 13):
        wait(edit.edit(mara, alice, str(entry_id), content="y" * 3900))
        wait(edit.edit(mara, alice, str(entry_id), content="z" * 3900))
    row = mara.attributes.get("undo", category="ai_memory", return_obj=True, strattr=True)
    assert 0 < len(row.encode() if isinstance(row, str) else row.strvalue.encode()) <= 64_000
    assert 1 <= len(undo_log.acts(mara)) <= 10
    assert undo_log.clear(mara) >= 1
    assert undo_log.acts(mara) == []


def test_acts_are_undone_last_first(day, alice):
    entry = entry_of(day, "ferry")
    wait(edit.pin(day, alice, str(entry.id)))
    wait(edit.edit(day, alice, str(entry.id), content="I keep the weir at Millbrook."))
    assert wait(edit.undo(day, alice)).deed == "edit"
    assert "pinned" in day.memory.journal.get(entry.id).tags
    assert wait(edit.undo(day, alice)).deed == "pin"
    assert day.memory.journal.get(entry.id) == entry


def test_only_the_act_that_was_taken_back_is_kept_no_longer(day, alice, monkeypatch):
    entry = entry_of(day, "ferry")
    wait(edit.edit(day, alice, str(entry.id), importance=9))
    step = edit.put_back

    def meanwhile(*args):
        undo_log.add(day, alice, "another", [], undo_log.Before())
        return step(*args)

    monkeypatch.setattr(edit, "put_back", meanwhile)
    assert wait(edit.undo(day, alice)).deed == "edit"
    assert [act.deed for act in undo_log.acts(day)] == ["another"]


def test_what_a_night_ended_stays_ended_when_an_edit_is_undone(night, alice):
    fact = fact_of(night, "ferry")
    wait(edit.edit(night, alice, fact.id, content="Alice owns the mill."))
    since = {"superseded_by": "later", "invalid_at": "2026-01-01T00:00:00+00:00"}
    memory_store.shared().change(fact.id, **since, access_count=7, compressed=True)
    memory_store.shared().history.note(fact.id, "a night", "noted this")
    wait(edit.undo(night, alice))
    [now] = memory_store.shared().get([fact.id])
    assert now == replace(fact, **since, access_count=7, compressed=True)
    said = [row[1] for row in memory_store.shared().history.of(fact.id)]
    assert "noted this" in said and "Alice owns the mill." not in said


def test_what_a_night_did_to_an_entry_stays_when_its_pin_is_undone(day, alice):
    entry = entry_of(day, "ferry")
    wait(edit.pin(day, alice, str(entry.id)))
    since = {"consolidated": True, "importance": 8, "scoring_method": "model"}
    day.memory.journal.update({entry.id: since})
    wait(edit.undo(day, alice))
    assert day.memory.journal.get(entry.id) == replace(entry, **since)


def test_an_edit_writes_over_nothing_that_came_meanwhile(night, alice, monkeypatch):
    fact = fact_of(night, "ferry")
    since = {"superseded_by": "later", "invalid_at": "2026-01-01T00:00:00+00:00"}
    step = undo_log.add

    def meanwhile(*args):
        memory_store.shared().change(fact.id, **since, access_count=7)
        return step(*args)

    monkeypatch.setattr(undo_log, "keep", meanwhile)
    wait(edit.edit(night, alice, fact.id, content="Alice owns the mill.", importance=9))
    [now] = memory_store.shared().get([fact.id])
    assert (now.content, now.importance) == ("Alice owns the mill.", 0.9)
    assert (now.superseded_by, now.access_count) == ("later", 7)


def test_what_was_deleted_since_is_not_made_again_by_an_undone_edit(night, alice):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "arches")
    wait(edit.edit(night, alice, fact.id, content="Alice owns the mill."))
    wait(edit.edit(night, alice, str(entry.id), content="The bridge has fallen."))
    own = entry_memory_id(night.memory.id, entry.id)
    memory_store.shared().delete([fact.id, own])  # as a night prunes
    night.memory.journal.remove([entry.id])
    before = everything(night)
    for _ in range(2):
        wait(edit.undo(night, alice))
    assert everything(night) == before


def test_an_entry_that_is_not_indexed_yet_is_edited_and_undone(mara, alice):
    line = "I keep the ferry at Millbrook."
    hers = mara.get_memory_identity(alice)
    mara.memory.perceive(Percept(content=line, kind="say", seen_as="Alice", source=hers))
    wait(edit.edit(mara, alice, "1", content="I keep the windmill."))
    wait(mara.memory.index_pending())
    [stored] = memory_store.shared().list(mara.memory.id)
    assert stored.content == "I keep the windmill."
    wait(edit.undo(mara, alice))
    [stored] = memory_store.shared().list(mara.memory.id)
    assert (stored.content, mara.memory.journal.get(1).content) == (line, line)


def test_a_preference_keeps_what_came_since_when_its_edit_is_undone(mara, alice):
    alice.execute_cmd("say I like tea.")
    wait(mara.memory.work_through(until_silent=True))
    wait(edit.edit(mara, alice, str(entry_of(mara, "tea").id), content="I like green tea."))
    assert [each.text for each in mara.memory.preferences] == ["I like green tea."]
    [now] = mara.memory.preferences
    mara.memory.preferences.put(replace(now, seen="2027-01-01"))
    wait(edit.undo(mara, alice))
    assert list(mara.memory.preferences) == [replace(now, text="I like tea.", seen="2027-01-01")]


def test_the_emotions_of_an_entry_can_be_taken_away(day, alice):
    entry = entry_of(day, "ferry")
    day.memory.journal.update({entry.id: {"emotions": ("joy",)}})
    wait(edit.edit(day, alice, str(entry.id), emotions=[]))
    assert day.memory.journal.get(entry.id).emotions == ()
    wait(edit.undo(day, alice))
    assert day.memory.journal.get(entry.id).emotions == ("joy",)


# --- pin, lock, pause -----------------------------------------------------------------------------


def test_a_pinned_entry_is_never_pruned(day, alice, monkeypatch):
    entry = entry_of(day, "ferry")
    wait(edit.pin(day, alice, str(entry.id)))
    assert not pruning._forgettable(day.memory.journal.get(entry.id), 10)
    assert "pinned" in memory_store.shared().get([entry_memory_id(day.memory.id, entry.id)])[0].tags
    wait(edit.unpin(day, alice, str(entry.id)))
    assert pruning._forgettable(day.memory.journal.get(entry.id), 10)
    with pytest.raises(edit.CannotEdit, match="is not pinned"):
        wait(edit.unpin(day, alice, str(entry.id)))


def test_a_pinned_entry_is_not_hidden_behind_a_summary(day, alice):
    from contrib_ai_memory.sleep import compression

    entry = entry_of(day, "ferry")
    other = entry_of(day, "bridge")
    wait(edit.pin(day, alice, str(entry.id)))
    session = compression.Session(entry.session_id, (day.memory.journal.get(entry.id), other))
    compression.store_summary(day.memory.id, session, "They talked.", "offline")
    pinned, plain = memory_store.shared().get(
        [entry_memory_id(day.memory.id, each.id) for each in (entry, other)]
    )
    assert plain.compressed and not pinned.compressed


def test_a_locked_fact_is_neither_ended_nor_joined_by_what_a_night_finds(night, alice):
    agent_id, store = night.memory.id, memory_store.shared()
    entry = entry_of(night, "bridge")
    fact = fact_of(night, "bridge")
    wait(edit.lock(night, alice, fact.id))
    [locked] = store.get([fact.id])
    assert set(locked.tags) >= {"pinned", "locked"}
    again = replace(locked, id=memory_id_for(agent_id, "again"), journal_ids=(99,), tags=())
    vector = store.vectors_of([locked])[0]
    assert reconciliation.reconcile(agent_id, again, vector).fact_id == fact.id
    assert store.get([fact.id]) == [locked]
    text, quote = (each.replace("12", "14") for each in (locked.content, locked.quote))
    changed = replace(again, id=memory_id_for(agent_id, "changed"), content=text, quote=quote)
    reconciliation.reconcile(agent_id, changed, embedder.shared().encode([text])[0])
    assert store.get([fact.id]) == [locked]
    assert store.get([changed.id])[0].superseded_by == fact.id
    assert entry.id in locked.journal_ids


def test_a_locked_entry_is_not_weighed_again_by_the_night(day, alice):
    entry = entry_of(day, "ferry")
    wait(edit.lock(day, alice, str(entry.id)))
    before = day.memory.journal.get(entry.id)
    wait(day.assistant.sleep.whole_night())
    after = day.memory.journal.get(entry.id)
    assert (after.importance, after.scoring_method) == (before.importance, "heuristic")
    assert entry_of(day, "bridge").scoring_method == "offline"


def test_a_locked_experience_is_not_reinforced(day, alice):
    from contrib_ai_memory.ingest import experiences

    page = wait(inspect.memories(day, "experience", text="ferry"))
    [known] = page.memories
    wait(edit.lock(day, alice, known.id))
    [locked] = memory_store.shared().get([known.id])
    again = replace(known, id=memory_id_for(day.memory.id, "again"), journal_ids=(50,))
    assert experiences.remember_or_reinforce(day.memory.id, again) == known.id
    assert memory_store.shared().get([known.id]) == [locked]


def test_a_paused_npc_perceives_learns_and_sleeps_not_until_it_goes_on(day, alice):
    from contrib_ai_memory.sleep.night import SwitchedOff

    heard = len(day.memory.journal)
    assert edit.pause(day, alice)
    alice.execute_cmd("say The weir is broken.")
    assert len(day.memory.journal) == heard
    assert inspect.state_of(day) == "paused"
    with pytest.raises(SwitchedOff, match="@memory/resume Mara"):
        day.assistant.sleep.begin()
    assert not edit.pause(day, alice)
    assert edit.pause(day, alice, on=False)
    alice.execute_cmd("say The weir is broken.")
    assert entry_of(day, "weir").id == heard + 1


def test_all_npcs_are_paused_at_once_and_it_lasts(day, alice):
    from contrib_ai_memory.store import pause

    assert edit.pause_all(alice)
    try:
        pause._all_paused = None  # as after a restart
        heard = len(day.memory.journal)
        alice.execute_cmd("say The weir is broken.")
        assert len(day.memory.journal) == heard
        assert inspect.state_of(day) == "paused"
    finally:
        edit.pause_all(alice, on=False)
    assert inspect.state_of(day) == "awake"


# --- permission and audit -------------------------------------------------------------------------


@pytest.fixture
def as_perm(tavern):
    from evennia.utils.create import create_object

    def make(perm):
        made = create_object("typeclasses.characters.Character", key=perm or "Player")
        if perm:
            made.permissions.add(perm)
        return made

    return make


@pytest.mark.parametrize(
    ("perm", "deeds"),
    [
        ("", ()),
        ("Helper", ()),
        ("Builder", ("look", "edit")),
        ("Admin", ("look", "edit", "erase")),
        ("Developer", ("look", "edit", "erase")),
    ],
)
def test_builders_look_and_edit_and_admins_erase(mara, as_perm, perm, deeds):
    who = as_perm(perm)
    assert tuple(d for d in ("look", "edit", "erase") if access.may(who, mara, d)) == deeds
    assert not access.may(None, mara, "look")


def test_an_npcs_own_lock_keeps_builders_out(mara, as_perm):
    who = as_perm("Builder")
    mara.locks.add("memory_edit:perm(Admin)")
    assert access.may(who, mara, "look") and not access.may(who, mara, "edit")
    assert access.may(as_perm("Admin"), mara, "edit")


def test_each_act_is_in_the_audit_log_without_what_it_says(day, alice, monkeypatch):
    from evennia.utils import logger

    lines = []
    monkeypatch.setattr(logger, "log_sec", lines.append)
    entry = entry_of(day, "silver key")
    wait(edit.edit(day, alice, str(entry.id), content="I hide a golden key."))
    wait(forget.forget(day, alice, str(entry.id)))
    wait(edit.undo(day, alice))
    edit.pause(day, alice)
    assert len(lines) == 4
    assert f"Alice (#{alice.id}): edit Mara (#{day.id}): {entry.id}" in lines[0]
    assert not any("key" in line for line in lines)


def _line(entry_id, content):
    from contrib_ai_memory.records import Entry

    return Entry(
        entry_id,
        f"2026-01-01T{entry_id // 60:02}:{entry_id % 60:02}:00+00:00",
        content,
        "say",
        "Alice",
    )


def _insight(npc, *cited):
    """An insight in the journal, linked and indexed, as a reflection leaves it."""
    from contrib_ai_memory.records import Percept

    memory = npc.memory
    entry = memory.perceive(
        Percept(
            content="Alice is bound to the river.",
            kind="insight",
            origin="sleep",
            source_type="inference",
            evidence=cited,
        )
    )
    memory.links.add(
        [Link(str(entry.id), each, 1.0, "evidence", entry.timestamp) for each in cited]
    )
    wait(memory.index_pending())
    return entry


def test_the_weight_of_a_line_follows_its_importance_there_and_back(day, alice):
    def weight():
        return memory_store.shared().get([entry_memory_id(day.memory.id, 1)])[0].memory_weight

    before = weight()
    wait(edit.edit(day, alice, "1", importance=10))
    assert weight() > before
    wait(edit.undo(day, alice))
    assert weight() == before


def test_undone_an_added_memory_is_not_known_by_what_was_drawn_from_it_either(day, alice):
    wait(edit.add(day, alice, "Alice owns nine boats at Harrow."))
    wait(day.assistant.sleep.whole_night())
    assert wait(inspect.memories(day, text="nine boats")).total
    wait(edit.undo(day, alice))
    assert wait(inspect.memories(day, text="nine boats")).total == 0
    assert wait(inspect.memories(day, text="keeps the ferry")).total
