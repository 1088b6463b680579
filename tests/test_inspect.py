"""Looking into a memory: ids, overview, journal, facts, people, traces, the graph, the prompt."""

import pytest
from spent_day import add_insight, entry_of, everything, fact_of, line

from contrib_ai_memory import offload
from contrib_ai_memory.admin import game_npcs, ids, inspect, prompt_preview
from contrib_ai_memory.records import MemoryRecord
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.payload import entry_memory_id, memory_id_for

wait = offload.wait


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
    store.upsert(
        agent_id, memories, store.vectors_of(store.list(agent_id, limit=1)).repeat(2, axis=0)
    )
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
    assert game_npcs.npcs() == [mara]


def test_the_overview_counts_what_there_is(night):
    seen = wait(inspect.overview(night))
    assert (seen.key, seen.dbref, seen.location) == ("Mara", night.dbref, "The Drowned Lantern")
    assert seen.state == "awake" and seen.pending == 0
    assert seen.entries == len(night.memory.journal)
    assert seen.counts["fact"] >= 2 and seen.links > 0 and seen.people == 2
    assert seen.last_night == night.assistant.sleep.records[-1]["ended"]


def test_the_journal_is_paged_backwards_and_ends(mara):
    for number in range(150):
        mara.memory.journal.append(lambda entry_id, n=number: line(entry_id, f"line {n}"))
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
        mara.memory.journal.append(lambda entry_id, w=words: line(entry_id, w))
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
    assert [m.created_at for m in page.results] == sorted(
        (m.created_at for m in page.results), reverse=True
    )
    memory_store.shared().change(page.results[0].id, superseded_by="x")
    held, ended = (wait(inspect.memories(night, ended=each)) for each in (False, True))
    assert held.total == page.total - 1
    assert [m.id for m in ended.results] == [page.results[0].id]
    assert wait(inspect.memories(night, limit=1)).total == held.total


def test_people_and_what_is_known_of_one(night, alice):
    names = {each.name for each in wait(inspect.people(night)).results}
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
    store.insert_new(night.memory.id, [later], store.vectors_of([fact]))
    store.change(fact.id, superseded_by=later.id)
    shown = wait(inspect.show(night, fact.id[:8]))
    assert [entry.content for entry in shown.evidence] == ["I keep the ferry at Millbrook."]
    assert shown.superseded_by.id == later.id
    assert [row.event for row in shown.history] == ["ADD"]
    assert [link.kind for link in shown.links if link.id == str(shown.evidence[0].id)]
    assert [m.id for m in wait(inspect.show(night, later.id)).superseded] == [fact.id]


def test_a_trace_goes_to_the_journal_and_to_all_that_came_of_it(night):
    entry = entry_of(night, "ferry")
    trace = wait(inspect.trace(night, str(entry.id)))
    kinds = {step.memory.record for step in trace.results}
    assert {"fact", "experience"} <= kinds and trace.sources == ()
    assert any("ferry" in drawn.text for drawn in trace.profiles)
    back = wait(inspect.trace(night, fact_of(night, "ferry").id))
    assert [step.id for step in back.sources] == [str(entry.id)]


def test_an_insight_is_traced_over_facts_to_entries(night):
    fact, entry = fact_of(night, "ferry"), entry_of(night, "ferry")
    insight = add_insight(night, fact.id)
    trace = wait(inspect.trace(night, str(insight.id)))
    assert [(step.id, step.depth) for step in trace.sources] == [
        (ids.short(fact), 1),
        (str(entry.id), 2),
    ]
    down = wait(inspect.trace(night, str(entry.id)))
    assert str(insight.id) in [step.id for step in down.results]


def test_the_graph_holds_the_most_linked_memories_and_their_links(night):
    graph = wait(inspect.graph(night))
    ends = {end for edge in graph.edges for end in (edge.a, edge.b)}
    assert ends <= {node.linked for node in graph.nodes} and graph.total == len(graph.nodes)
    assert len(graph.edges) == night.memory.links.count
    assert len(wait(inspect.graph(night, limit=2)).nodes) == 2


def test_statistics_count_entries_by_importance_kind_and_day(night):
    stats = wait(inspect.stats(night))
    assert sum(stats.importance.values()) == stats.entries == len(night.memory.journal)
    assert stats.kinds["say"] == 2
    assert sum(number for _day, number in stats.growth) == stats.entries
    assert stats.emotions
    assert inspect.nights(night)[0].passes[0].name == "score_pending_entries"
    assert inspect.cost(night).game.tokens == 0


# --- the exact prompt -----------------------------------------------------------------------------


def test_a_preview_is_the_prompt_that_the_model_would_be_sent(day, alice, settings, monkeypatch):
    seen = wait(prompt_preview.preview(day, "Alice", "Who keeps the ferry?"))
    from contrib_ai_memory.llm import router

    sent = []

    asked = router.ask

    def ask(operation, *args, **options):
        if operation != "converse":
            return asked(operation, *args, **options)
        sent.append(args[0])
        return offload.defer.succeed(("", None))

    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {
        "LLM": {"base_url": "http://127.0.0.1:1/v1", "model": "m"}
    }
    monkeypatch.setattr(router, "ask", ask)  # the network's edge
    alice.execute_cmd("say Mara, Who keeps the ferry?")
    again = wait(prompt_preview.preview(day, "Alice", "x"))
    assert again.model == "m"
    asked = [(m["role"], m["content"]) for m in sent[0]]
    assert asked[0] == seen.messages[0]
    (role, previewed), (_same, sent_last) = seen.messages[-1], asked[-1]
    assert role == "user"
    assert previewed.endswith("\nAlice says to you: Who keeps the ferry?")
    assert sent_last.endswith("\nAlice says to you: Mara, Who keeps the ferry?")
    assert previewed.split("<memory>")[0] == sent_last.split("<memory>")[0]
    assert "I keep the ferry at Millbrook." in previewed


def test_a_preview_keeps_secrets_from_those_who_did_not_hear_them(day, alice, bram):
    question = "Where is the silver key?"
    told = {
        name: str(wait(prompt_preview.preview(day, name, question)).messages)
        for name in ("Alice", "Bram")
    }
    assert "Elmstead" not in told["Bram"].split("Bram says to you: Where")[0].split("bridge")[0]
    assert "silver key in Elmstead" in told["Alice"]
    assert "silver key in" not in told["Bram"]


def test_a_preview_of_an_llmnpc_is_the_one_prompt_that_its_own_server_gets(tavern, alice):
    from evennia.utils.create import create_object

    odo = create_object("contrib_ai_memory.MemoryLLMNPC", key="Odo", location=tavern)
    wait(odo.memory.add("The cellar of the inn floods in spring."))
    alice.execute_cmd("say The weir is broken.")
    seen = wait(prompt_preview.preview(odo, "Alice", "When does the cellar flood?"))
    [(role, prompt)] = seen.messages
    assert role == "prompt" and seen.model == "LLMNPC"
    assert prompt.startswith("<scene>\n") and "floods in spring" in prompt
    assert "When does the cellar flood?" in prompt and "You are roleplaying as Odo" in prompt


def test_a_preview_leaves_no_trace(day):
    before = everything(day)
    wait(prompt_preview.preview(day, "Alice", "Who keeps the ferry?"))
    assert everything(day) == before
    assert (
        day.memory.conversations.going_on(f"room:#{day.location.id}", day.memory.clock())
        .messages[-1]
        .content
        != "Who keeps the ferry?"
    )
