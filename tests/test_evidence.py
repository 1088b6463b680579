"""Work that rests on what is forgotten or changed meanwhile writes nothing of it."""

import json
import logging

import pytest
from evennia.typeclasses.attributes import Attribute
from model_server import digest, numbered_in
from twisted.internet import defer

from contrib_ai_memory import offload
from contrib_ai_memory.admin import edit, erase, forget
from contrib_ai_memory.recall import reply, tool_loop
from contrib_ai_memory.records import RecallResult
from contrib_ai_memory.sleep import chat_compaction
from contrib_ai_memory.sleep.night import SwitchedOff
from contrib_ai_memory.store import memory_store
from contrib_ai_memory.store.evidence import EvidenceGone

meanwhile = []  # what happens while memories come to mind


def forgetful(parts):
    """A game's own score profile."""
    while meanwhile:
        meanwhile.pop()()
    return parts.similarity


def changeful(parts):
    """Another one."""
    for act in list(meanwhile):
        act()
    return parts.similarity


def weighty(request):
    """What a model says of each look: everything in it weighs 9, and nothing is a fact."""
    if request.schema != "DigestAnswer":
        return "no idea"
    new, _known = numbered_in(request)
    return json.dumps(digest(dict.fromkeys(new, 9), []))


@pytest.fixture
def between(monkeypatch):
    """between(act) has something happen in the first turn of the reactor that is left to others;
    an act that returns False comes again."""
    breathe, acts = offload.breathe, []

    def breathe_and_act(*args):
        while acts:
            act = acts.pop()
            if act() is False:
                acts.append(act)
                break
        return breathe(*args)

    monkeypatch.setattr(offload, "breathe", breathe_and_act)
    return acts.append


@pytest.fixture
def talk(mara, alice):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("say My brother mends nets.")
    return [entry for entry in mara.memory.journal.read() if entry.learnable]


done: list[str] = []


def note(text: str) -> None:
    done.append(text)


def goes_on(work) -> bool:
    """Whether a job of the store is still done for it."""
    done.clear()
    try:
        offload.wait(work.run(note, "written"))
    except EvidenceGone:
        assert not done
        return False
    return bool(done)


def test_a_work_goes_on_while_nothing_of_its_evidence_is_touched(mara, talk):
    with mara.memory.evidence.work_on(talk[:1]) as work:
        with mara.memory.evidence.withdraw([str(talk[1].id)]):
            assert goes_on(work)
        mara.memory.journal.update({talk[0].id: {"importance": 9, "consolidated": True}})
        assert goes_on(work)


def test_a_work_is_void_once_a_line_of_it_is_forgotten(mara, talk, builder):
    with mara.memory.evidence.work_on(talk) as work:
        builder(f"@memory/forget Mara = {talk[1].id}")
        builder("y")
        assert mara.memory.journal.get(talk[1].id) is None
        assert not goes_on(work)


def test_a_work_is_void_once_a_line_of_it_is_edited(mara, talk, builder):
    with mara.memory.evidence.work_on(talk) as work:
        builder(f"@memory/edit Mara = {talk[0].id} Alice keeps the mill.")
        assert "mill" in mara.memory.journal.get(talk[0].id).content
        assert not goes_on(work)


def test_a_work_that_begins_while_its_evidence_is_being_forgotten_is_void(mara, talk):
    evidence = mara.memory.evidence
    with evidence.withdraw([str(talk[0].id)]), evidence.work_on(talk) as work:
        assert not goes_on(work)
    with evidence.work_on(talk) as work:
        assert goes_on(work)


def test_a_work_on_a_line_that_was_gone_before_it_began_is_void(mara, talk):
    mara.memory.journal.remove([talk[0].id])
    with mara.memory.evidence.work_on(talk) as work:
        assert not goes_on(work)


def test_a_work_is_void_once_a_memory_drawn_from_the_forgotten_line_came_to_mind(mara, talk):
    offload.wait(mara.assistant.sleep.whole_night())
    [fact] = [each for each in offload.wait(mara.memory.facts()) if "ferry" in each.content]
    with mara.memory.evidence.work_on() as work:
        work.add_evidence([fact])
        with mara.memory.evidence.withdraw([str(fact.journal_ids[0])]):
            assert not goes_on(work)


@pytest.mark.parametrize("emptied", [erase.wipe, lambda npc: defer.maybeDeferred(npc.delete)])
def test_a_work_is_void_once_the_memory_is_wiped_or_the_npc_deleted(mara, talk, emptied):
    with mara.memory.evidence.work_on(talk[:1]) as work:
        offload.wait(emptied(mara))
        assert not goes_on(work)


def test_an_answer_is_begun_anew_if_its_memory_is_forgotten_meanwhile(
    mara, alice, talk, builder, settings
):
    profile = {"RECALL_PROFILE": f"{__name__}.forgetful"}
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | profile
    line = f"@memory/forget Mara = {talk[0].id}"
    meanwhile.extend([lambda: builder("y"), lambda: builder(line)])
    alice.execute_cmd("say Mara, where do I keep the ferry?")
    assert not meanwhile and not mara.memory.journal.get(talk[0].id)
    answer = mara.memory.journal.tail(1)[0]
    assert answer.origin == "self" and "Millbrook" not in answer.content


def test_an_answer_of_which_other_memories_are_changed_meanwhile_is_given(
    mara, alice, bram, talk, settings
):
    bram.execute_cmd("whisper Mara = I sold my father's boots.")
    [secret] = [entry for entry in mara.memory.journal.read() if "I sold" in entry.content]

    def edit_it():
        meanwhile.clear()
        words = f"I sold {len(changes)} boots."
        changes.append(offload.wait(edit.edit(mara, None, str(secret.id), content=words)))
        meanwhile.append(edit_it)  # at every attempt

    changes = []
    profile = {"RECALL_PROFILE": f"{__name__}.changeful"}
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | profile
    meanwhile.append(edit_it)
    alice.execute_cmd("say Mara, where do I keep the ferry?")
    meanwhile.clear()
    assert changes
    assert mara.memory.journal.tail(1)[0].origin == "self"


def test_no_model_is_shown_the_talk_that_was_forgotten_while_its_request_was_made(
    mara, alice, talk, builder, llm, server, settings
):
    server.behave(text="I am listening.")
    alice.execute_cmd("say My strongbox lies under the chapel.")
    [line] = [entry for entry in mara.memory.journal.read() if "strongbox" in entry.content]
    profile = {"RECALL_PROFILE": f"{__name__}.forgetful"}
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | profile
    asked = len(server.requests)
    meanwhile.extend([lambda: builder("y"), lambda: builder(f"@memory/forget Mara = {line.id}")])
    alice.execute_cmd("say Mara, what do you make of it all?")
    assert not meanwhile and not mara.memory.journal.get(line.id)
    shown = server.requests[asked:]
    assert shown and not any("strongbox" in request.text for request in shown)
    assert mara.memory.journal.tail(1)[0].content == "I am listening."


@pytest.mark.parametrize("known_as", ["entry", "number", "memory"])
def test_a_work_is_void_if_what_was_forgotten_comes_to_mind_after_that(mara, talk, known_as):
    offload.wait(mara.assistant.sleep.whole_night())
    [fact] = [each for each in offload.wait(mara.memory.facts()) if "ferry" in each.content]
    number = fact.journal_ids[0]
    source = {"entry": mara.memory.journal.get(number), "number": number, "memory": fact}[known_as]
    evidence = mara.memory.evidence
    forgetting = evidence.withdraw([str(number)])
    with evidence.work_on() as before:
        with forgetting, evidence.work_on() as meanwhile_begun:
            pass
        for work in (before, meanwhile_begun):
            work.add_evidence([source])
            assert not goes_on(work)


@pytest.fixture
def while_it_answers(server, monkeypatch):
    """while_it_answers(act) has something happen when the model has the request, once."""
    asked, acts = tool_loop.router.ask, []

    @defer.inlineCallbacks
    def ask(*args, **options):
        answered = yield asked(*args, **options)
        if acts and args[0] == "converse":
            yield acts.pop()()
        return answered

    monkeypatch.setattr(tool_loop.router, "ask", ask)
    return acts.append


def shown_since(server, asked):
    """What the model was sent from its request number `asked` on."""
    return [request.text for request in server.requests[asked:]]


def test_an_answer_rests_on_what_the_npc_said_in_the_talk_before_it(
    mara, alice, bram, llm, server, settings, while_it_answers
):
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"RECALL_TOP_K": 1}
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    [line] = mara.memory.journal.read()
    bram.execute_cmd("say Wolves took two sheep at Thornwick.")
    mara.memory.conversations.clear()  # over: she says it from memory
    server.behave(text="You keep the ferry at Millbrook.")
    alice.execute_cmd("say Mara, where do I keep the ferry?")
    mara.memory.conversations.clear()
    asked = len(server.requests)
    server.behave(text="Two sheep.")
    while_it_answers(lambda: forget.forget(mara, None, str(line.id), cascade=True))
    bram.execute_cmd("say Mara, what did the wolves take?")
    first, second = shown_since(server, asked)
    assert "Millbrook" in first and "Millbrook" not in second
    assert mara.memory.journal.tail(1)[0].content == "Two sheep."


def test_an_answer_rests_on_the_lines_that_a_summary_before_it_covers(
    mara, alice, bram, llm, server, while_it_answers, monkeypatch
):
    monkeypatch.setattr(reply, "recall_for", lambda *_: defer.succeed(RecallResult()))
    server.behave(text="I see.")
    alice.execute_cmd("say Mara, I keep the ferry at Millbrook.")
    for number in range(14):
        alice.execute_cmd(f"say Mara, today I counted {number} boats.")
    offload.wait(chat_compaction.compact(mara.memory, 0.0, offload.NIGHT))
    [summary] = [each["content"] for each in mara.memory.chat_log.messages if each["summary"]]
    mara.memory.conversations.clear()
    server.behave(text="Good evening.")
    asked = len(server.requests)
    while_it_answers(lambda: forget.forget(mara, None, "1", cascade=True))
    bram.execute_cmd("say Mara, how do you do?")
    first, *_others, last = shown_since(server, asked)
    assert summary in first and summary not in last
    assert mara.memory.journal.tail(1)[0].content == "Good evening."


def test_an_answer_waits_until_what_it_would_rest_on_is_forgotten(
    mara, alice, bram, monkeypatch, logged
):
    selecting, select = defer.Deferred(), forget.select

    @defer.inlineCallbacks
    def select_late(*args, **options):
        yield selecting
        return (yield select(*args, **options))

    alice.execute_cmd("say Mara, I keep the ferry at Millbrook.")
    bram.execute_cmd("say Mara, wolves took two sheep at Thornwick.")
    mara.memory.conversations.clear()
    monkeypatch.setattr(forget, "select", select_late)
    forgetting = forget.forget(mara, None, "1", cascade=True)
    bram.execute_cmd("say Mara, what did the wolves take?")
    assert mara.memory.journal.tail(1)[0].origin == "perceived"
    selecting.callback(None)
    offload.wait(forgetting)
    assert "sheep" in mara.memory.journal.tail(1)[0].content
    assert mara.memory.journal.tail(1)[0].origin == "self" and not logged(logging.WARNING)


def test_an_npc_that_is_deleted_in_a_beat_leaves_nothing_and_is_no_error(
    mara, settings, between, logged
):
    plan = {"enabled": True, "sleep_start_hour": 0, "sleep_duration_hours": 24}
    settings.CONTRIB_AI_MEMORY = settings.CONTRIB_AI_MEMORY | {"SLEEP_SCHEDULE": plan}
    between(mara.delete)
    offload.wait(mara.assistant.at_tick())
    assert not mara.pk and not orphans() and not logged(logging.WARNING)


def orphans():
    """Keys of Attributes that belong to nothing."""
    return [
        row.db_key
        for row in Attribute.objects.all()
        if not (row.objectdb_set.exists() or row.scriptdb_set.exists())
    ]


@pytest.mark.parametrize("turns", [1, 4, 8, 16, 24, 32])
def test_an_npc_that_is_deleted_in_its_night_leaves_nothing_and_is_no_error(
    mara, alice, bram, between, logged, turns
):
    for number in range(4):
        alice.execute_cmd(f"say I keep {number} ferries at Millbrook and I love tea with honey.")
        bram.execute_cmd(f"say Wolves took {number} of my sheep near Harrow Hill.")
    agent, left = mara.memory.id, [turns]

    def delete():
        left[0] -= 1
        return left[0] <= 0 and mara.delete()

    between(delete)
    with pytest.raises(SwitchedOff, match="Mara was deleted meanwhile"):
        offload.wait(mara.assistant.sleep.whole_night())
    assert not mara.pk and not orphans() and not logged(logging.WARNING)
    assert not memory_store.shared().list(agent, limit=None)


def test_what_is_edited_while_it_speaks_does_not_come_back(mara, alice, talk, between):
    def edit_it():
        said = mara.memory.journal.tail(2)
        if said[-1].origin != "self":
            return False
        offload.wait(edit.edit(mara, None, str(said[0].id), content="I like bread."))
        return True

    between(edit_it)
    alice.execute_cmd("say Mara, is my lover Rowena at the Silver Swan?")
    kept = [message["content"] for message in mara.memory.chat_log.messages]
    assert kept and not any("Rowena" in each for each in kept)


def test_an_npc_that_is_deleted_before_it_answers_is_no_error(mara, alice, talk, between, logged):
    between(lambda: mara.delete())
    alice.execute_cmd("say Mara, where do I keep the ferry?")
    assert not mara.pk
    assert not logged(logging.WARNING)


def test_what_staff_changed_while_a_look_read_its_lines_stays(
    mara, alice, speaks_through, server, between
):
    speaks_through(timeout=30)
    server.behave(structured=weighty)
    for line in ("The mill burnt down.", "My aunt sells eels.", "Ten ships sank."):
        alice.execute_cmd(f"say {line}")
    weighed, locked, other = (e.id for e in mara.memory.journal.read() if e.learnable)

    def change():
        offload.wait(edit.edit(mara, None, str(weighed), importance=4))
        offload.wait(edit.lock(mara, None, str(locked)))
        return True

    offload.wait(mara.memory.index_pending())
    between(change)
    offload.wait(mara.assistant.sleep.whole_night())
    now = {entry.id: entry for entry in mara.memory.journal.read()}
    assert (now[weighed].importance, now[weighed].scoring_method) == (4, "manual")
    assert now[locked].scoring_method == "heuristic"
    assert (now[other].importance, now[other].scoring_method) == (9, "llm")


def test_a_pass_whose_evidence_goes_is_tried_again_and_is_no_failure(mara, talk, monkeypatch):
    from contrib_ai_memory.llm import router

    extract, forgot = router.without_model().extract_facts, []

    def forgetting(entries, npc_name, around=()):
        drafts = extract(entries, npc_name, around)
        if not forgot:
            forgot.append(talk[0].id)
            offload.wait(forget.forget(mara, None, str(talk[0].id)))
        return drafts

    monkeypatch.setattr(router.without_model(), "extract_facts", forgetting)
    done = offload.wait(mara.assistant.sleep.whole_night())
    assert forgot
    assert not done["run_sleep_consolidation"]["errors"]
    known = [fact.content for fact in offload.wait(mara.memory.facts())]
    assert not any("ferry" in fact for fact in known)
    assert any("nets" in fact for fact in known)
