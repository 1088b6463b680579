"""One look at lines of talk: what a model is shown at night, and what becomes of its answer."""

import json

import pytest
from model_server import digest, numbered_in

from contrib_ai_memory import offload
from contrib_ai_memory.admin import edit
from contrib_ai_memory.records import Percept
from contrib_ai_memory.store import memory_store


class Model:
    """Draws one fact from each line that `facts` has a word of, and finds all else unimportant.

    Attributes:
        facts: A word of the line → more of the fact; "ends" may be a word of the known fact.
        most: Lines of a request beyond which its answer is nonsense.
        asked: The requests for a digest.
    """

    def __init__(self, server):
        self.facts = {}
        self.most = 100
        self.asked = []
        server.behave(structured=self)

    def __call__(self, request):
        if request.schema != "DigestAnswer":
            return "no idea"
        self.asked.append(request)
        new, known = numbered_in(request)
        if len(new) > self.most:
            return "no idea"
        return json.dumps(digest(*self._drawn(new, known)))

    def _drawn(self, new, known):
        importance, facts = dict.fromkeys(new, 2), []
        for number, line in new.items():
            for word, fact in self.facts.items():
                if word in line:
                    importance[number] = 8
                    ends = [n for n, text in known.items() if fact.get("ends", "\n") in text]
                    who, says, words = line.partition(": ")
                    text = f'{who}: "{words}"' if says else line
                    facts.append({"text": text, "lines": [number]} | fact | {"ends": ends})
        return importance, facts

    def lines(self):
        """The new lines of each request, without those that were asked about again."""
        found = [list(numbered_in(request)[0].values()) for request in self.asked]
        return [lines for place, lines in enumerate(found) if lines not in found[:place]]


@pytest.fixture
def model(server, speaks_through):
    speaks_through(timeout=30)
    return Model(server)


@pytest.fixture
def says(mara):
    """says(text, day=1, who="Alice", **more): Mara hears it; nothing else happens."""
    minute = iter(range(1000))

    def perceive(text, day=1, who="Alice", **more):
        stamp = next(minute)
        percept = {"kind": "say", "seen_as": who, "source": f"#{who}", "location": "#1"}
        percept |= {"witnesses": ("#Alice", "#Bram"), "content": text}
        percept["timestamp"] = f"2026-05-{day:02d}T19:{stamp // 60:02d}:{stamp % 60:02d}+00:00"
        if more.get("kind") == "whisper":
            percept |= {"private": True, "witnesses": (f"#{who}",)}
        return mara.memory.perceive(Percept(**percept | more))

    return perceive


def sleep(mara, day=1):
    mara.memory.clock = lambda: f"2026-05-{day:02d}T23:00:00+00:00"
    return offload.wait(mara.assistant.sleep.whole_night())


def facts(mara):
    found = memory_store.shared().list(mara.memory.id, record="fact")
    return {fact.content: fact for fact in found}


def test_a_night_asks_once_for_the_lines_of_a_talk(mara, says, model):
    model.facts = {"ferry": {"kind": "occupation", "about": "Alice"}}
    lines = [says(f"So it is, {n}.") for n in range(28)] + [says("I keep the ferry.")]
    sleep(mara)
    [asked] = model.asked
    assert len(numbered_in(asked)[0]) == 29
    assert [fact.journal_ids for fact in facts(mara).values()] == [(lines[-1].id,)]
    assert [mara.memory.journal.get(each.id).importance for each in lines] == [2] * 28 + [8]
    assert all(mara.memory.journal.get(each.id).scoring_method == "llm" for each in lines)


def test_long_talk_is_cut_into_even_parts_and_each_is_shown_what_came_before(mara, says, model):
    for number in range(40):
        says(f"So it is, {number}.")
    sleep(mara)
    assert [len(lines) for lines in model.lines()] == [20, 20]
    assert "- Alice says: So it is, 19." in model.asked[1].last.splitlines()


def test_a_night_asks_once_for_all_audiences_and_each_fact_keeps_its_own(mara, says, model):
    model.facts = {"key": {}, "ferry": {}}
    says("I keep the ferry.")
    says("The key lies under the willow.", kind="whisper")
    says("And it rains.")
    says("The ferry is late.", day=2)
    sleep(mara)
    [asked] = model.asked
    assert "2 [A] Alice whispers: The key lies under the willow." in asked.last.splitlines()
    assert asked.last.count("willow") == asked.last.count("I keep the ferry.") == 1
    sleep(mara, 2)
    assert not any("willow" in text for text in numbered_in(model.asked[-1])[1].values())
    secret = facts(mara)['Alice whispers: "The key lies under the willow."']
    assert (secret.private, secret.witnesses) == (True, ("#Alice",))


def test_an_answer_that_cannot_be_used_costs_a_retry_and_then_a_smaller_batch(mara, says, model):
    model.facts = {"ferry": {}, "mill": {}}
    says("I keep the ferry.")
    for number in range(18):
        says(f"So it is, {number}.")
    says("My brother runs the mill.")
    model.most = 10
    sleep(mara)
    assert [len(numbered_in(asked)[0]) for asked in model.asked] == [20, 20, 10, 10]
    assert set(facts(mara)) == {
        'Alice says: "I keep the ferry."',
        'Alice says: "My brother runs the mill."',
    }


def test_lines_that_the_model_never_answers_about_are_left_to_the_offline_provider(
    mara, says, model
):
    model.most = 0
    entry = says("I keep the ferry at Millbrook.")
    sleep(mara)
    assert list(facts(mara)) == ["Alice keeps the ferry at Millbrook."]
    assert mara.memory.journal.get(entry.id).scoring_method == "offline"


def state(mara):
    return (
        facts(mara),
        memory_store.shared().list(mara.memory.id, record="experience"),
        list(mara.memory.agenda),
        list(mara.memory.journal.read()),
    )


def test_a_look_that_was_killed_before_it_marked_the_lines_does_the_same_again(mara, says, model):
    model.facts = {"owe": {"kind": "debt", "about": "Alice", "to": "Bram", "date": "2026-05-09"}}
    says("I owe Bram three marks.")
    sleep(mara)
    model.facts = {"paid": {"kind": "event", "ends": "three marks"}}
    model.facts["owe"] = {"kind": "debt", "about": "Alice", "to": "Bram"}
    new = [says("I paid Bram.", day=2), says("And I owe Bram a pig.", day=2)]
    sleep(mara, 2)
    before, asked = state(mara), model.asked[-1].last
    for entry in new:
        fresh = {"importance": 2, "scoring_method": "heuristic", "consolidated": False}
        mara.memory.journal.update({entry.id: fresh})
    mara.memory.journal.set_cursor("consolidated", new[0].id - 1)
    sleep(mara, 2)
    assert model.asked[-1].last == asked
    assert state(mara) == before


def test_promises_and_debts_fill_the_agenda_and_end_as_the_model_says(mara, says, model):
    says("Ich bin Bram.", who="Bram")
    model.facts = {
        "schulde": {"kind": "debt", "about": "Alice", "to": "Bram", "date": "2026-05-31"},
        "Wecke": {"kind": "request", "about": "Alice", "to": "Mara"},
    }
    says("Ich schulde Bram drei Mark, bis Monatsende.")
    says("Wecke mich, wenn das Fohlen kommt.")
    sleep(mara)
    own = mara.get_memory_identity(mara)
    items = {item.kind: item for item in mara.memory.agenda}
    assert {kind: (item.who, item.to, item.due) for kind, item in items.items()} == {
        "debt": ("#Alice", "#Bram", "2026-05-31"),
        "request": (own, "#Alice", ""),
    }
    model.facts = {"bezahlt": {"kind": "event", "ends": "drei Mark"}}
    says("Ich habe Bram bezahlt.", day=2)
    sleep(mara, 2)
    assert {item.kind: item.state for item in mara.memory.agenda} == {
        "debt": "done",
        "request": "open",
    }


def test_a_promise_that_is_moved_stays_one_item(mara, says, model):
    model.facts = {"roof": {"kind": "promise", "about": "Alice", "date": "2026-05-02"}}
    says("I promise to fix the roof on Saturday.")
    sleep(mara)
    model.facts = {"Sunday": {"kind": "promise", "date": "2026-05-03", "ends": "roof"}}
    says("I promise to fix the roof on Sunday instead.", day=2)
    sleep(mara, 2)
    [item] = mara.memory.agenda
    assert (item.due, item.state) == ("2026-05-03", "open")


def test_a_plan_that_its_line_states_anew_takes_the_place_of_the_old_one(mara, says, model):
    model.facts = {"on Sunday": {"kind": "plan", "about": "Alice", "date": "2026-05-03"}}
    says("I leave for Wick with the ferry on Sunday.")
    sleep(mara)
    model.facts = {"cracked": {"kind": "plan", "date": "2026-05-04", "ends": "on Sunday"}}
    says("The mast cracked. I will sail on Monday instead, if the carpenter is done.", day=2)
    sleep(mara, 2)
    assert [item.due for item in mara.memory.agenda if item.state == "open"] == ["2026-05-04"]


def test_rules_fill_the_agenda_beside_a_model_which_words_it(mara, says, model):
    told = {"text": "Alice promised to bring Mara three marks on Friday.", "about": "Alice"}
    model.facts = {"three marks": {"kind": "promise"} | told}
    says("I promise to bring you three marks on Friday.")
    sleep(mara)
    [item] = mara.memory.agenda
    assert (item.kind, item.who, item.told) == ("debt", "#Alice", told["text"])


def test_what_was_said_aloud_does_not_end_a_secret_and_a_locked_fact_stands(
    mara, says, model, builder
):
    model.facts = {"ferry": {}, "Zoll": {}}
    says("Bram keeps the ferry.")
    says("Der Zoll ist gestohlen.", kind="whisper")
    sleep(mara)
    offload.wait(edit.lock(mara, None, facts(mara)['Alice says: "Bram keeps the ferry."'].id))
    model.facts = {"Ann keeps": {"ends": "ferry"}, "Zoll ist sicher": {"ends": "Zoll"}}
    says("Ann keeps it now.", day=2)
    says("Der Zoll ist sicher.", day=2)
    sleep(mara, 2)
    found = facts(mara)
    assert not found['Alice says: "Bram keeps the ferry."'].superseded_by
    assert not found['Alice whispers: "Der Zoll ist gestohlen."'].superseded_by
    assert found['Alice says: "Ann keeps it now."'].superseded_by


def test_a_payment_is_recalled_when_the_debt_is_over(mara, says, model):
    model.facts = {"gives": {"kind": "event"}, "three": {"kind": "debt", "about": "Alice"}}
    says("I owe Bram three marks.")
    given = says("Alice gives Bram two marks.", kind="give")
    sleep(mara)
    model.facts = {"even": {"kind": "event", "ends": "marks"}}
    says("We are even, Alice and I.", day=2, who="Bram")
    sleep(mara, 2)
    over = {fact.content: bool(fact.invalid_at) for fact in facts(mara).values()}
    assert sum(over.values()) == 2
    for question in ("How many marks has Alice given Bram?", "what about the two marks?"):
        found = offload.wait(mara.memory.recall(question, speaker="#Bram", top_k=20)).memories
        assert given.content in [each.memory.content for each in found]
    owed = offload.wait(mara.memory.recall("What did Alice owe Bram?", speaker="#Bram", top_k=20))
    assert "I owe Bram three marks. (until 2026-05-02)" in owed.prompt_block


# --- awake ----------------------------------------------------------------------------------------


def awake(mara, **more):
    mara.memory.clock = lambda: "2026-05-01T20:00:00+00:00"
    while not offload.wait(mara.memory.work_through(**more)):
        pass


def test_weighty_talk_is_looked_at_once_it_falls_silent_and_not_again_at_night(mara, says, model):
    model.facts = {"murdered": {}}
    for number in range(20):
        entry = says(f"So it is, {number}.")
    says("Bram murdered the miller of Harrow Hill.")
    mara.memory.journal.update({entry.id: {"importance": 7}})
    awake(mara)
    assert list(facts(mara)) == ['Alice says: "Bram murdered the miller of Harrow Hill."']
    sleep(mara)
    assert len(model.asked) == 1


def test_talk_of_no_weight_is_left_to_the_night(mara, says, model):
    for number in range(20):
        says(f"So it is, {number}.")
    awake(mara, until_silent=True)
    assert not model.asked
    sleep(mara)
    assert len(model.asked) == 1
