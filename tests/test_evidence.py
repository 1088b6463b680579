"""Work that rests on what is forgotten or changed meanwhile writes nothing of it."""

import pytest
from twisted.internet import defer

from contrib_ai_memory import offload
from contrib_ai_memory.admin import erase, forget
from contrib_ai_memory.store.evidence import EvidenceGone

meanwhile = []  # what happens while memories come to mind


def forgetful(parts):
    """A game's own score profile."""
    while meanwhile:
        meanwhile.pop()()
    return parts.similarity


@pytest.fixture
def talk(mara, alice):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("say My brother mends nets.")
    return [entry for entry in mara.memory.journal.read() if entry.learnable]


def goes_on(work) -> bool:
    """Whether a job of the store is still done for it."""
    done = []
    try:
        offload.wait(work.run(done.append, "written"))
    except EvidenceGone:
        assert not done
        return False
    return True


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
    assert "Millbrook" not in mara.memory.journal.tail(1)[0].content


def test_a_pass_whose_evidence_goes_is_tried_again_and_is_no_failure(mara, talk, monkeypatch):
    from contrib_ai_memory.llm import router

    extract, forgot = router.OFFLINE.extract_facts, []

    def forgetting(entries, npc_name, around=()):
        drafts = extract(entries, npc_name, around)
        if not forgot:
            forgot.append(talk[0].id)
            offload.wait(forget.forget(mara, None, str(talk[0].id)))
        return drafts

    monkeypatch.setattr(router.OFFLINE, "extract_facts", forgetting)
    done = offload.wait(mara.assistant.sleep.whole_night())
    assert forgot
    assert not done["run_sleep_consolidation"]["errors"]
    known = [fact.content for fact in offload.wait(mara.memory.facts())]
    assert not any("ferry" in fact for fact in known)
    assert any("nets" in fact for fact in known)
