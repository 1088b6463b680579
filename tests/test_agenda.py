"""The NPC's agenda: what is promised, owed, asked of it and planned, and what became of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from django.urls import reverse
from evennia.utils.create import create_object

from contrib_ai_memory import language, offload
from contrib_ai_memory.admin import archive, edit, erase, forget
from contrib_ai_memory.english import commitments
from contrib_ai_memory.english.agenda_changes import changes
from contrib_ai_memory.ingest.agenda_items import update
from contrib_ai_memory.language import Circle, Named
from contrib_ai_memory.offline import acts
from contrib_ai_memory.records import (
    EVIDENCE_KEPT,
    OF_NPC,
    RETOLD,
    TEXT_KEPT,
    AgendaItem,
    Entry,
    LineInTalk,
    LineReading,
    Percept,
    SpeechAct,
    TalkLine,
)
from contrib_ai_memory.store import attributes
from contrib_ai_memory.store.agenda import BROUGHT_UP, CATEGORY, ITEMS_KEPT
from contrib_ai_memory.store.removal import Removal
from contrib_ai_memory.text.names import forms

wait = offload.wait

SAID = "2026-03-04T19:00:00.000+00:00"  # a Wednesday
KINDS = "promise", "debt", "request", "plan"
NPC, ALICE, BRAM = "npc", "alice", "bram"


def item(number: int = 1, **fields) -> AgendaItem:
    made = AgendaItem(
        str(number),
        "promise",
        ALICE,
        f"I'll bring rope {number}.",
        evidence=(number,),
        created=SAID,
        updated=SAID,
    )
    return replace(made, **fields)


# --- the store ------------------------------------------------------------------------------------


def test_an_item_is_an_attribute_of_its_own_and_comes_back_as_it_was(mara):
    whole = item(
        7,
        kind="debt",
        to=BRAM,
        due="2026-03-06",
        state="done",
        evidence=(7, 9),
        closed_by=(12,),
        private=True,
        witnesses=(ALICE, BRAM),
    )
    mara.memory.agenda.put(whole)
    assert mara.memory.agenda.get("7") == whole
    assert list(mara.memory.agenda) == [whole]
    [row] = mara.db_attributes.filter(db_category=CATEGORY)
    assert row.db_lock_storage == attributes.LOCK
    mara.memory.agenda.remove("7")
    assert mara.memory.agenda.get("7") is None and len(mara.memory.agenda) == 0


def test_the_newest_due_date_comes_first_and_none_last(mara):
    for number, due in enumerate(("", "2026-03-06", "2026-04-01"), start=1):
        mara.memory.agenda.put(item(number, due=due))
    assert [each.id for each in mara.memory.agenda.items()] == ["3", "2", "1"]


def test_finished_items_go_first_when_there_are_too_many(mara):
    agenda = mara.memory.agenda
    agenda.put(item(1, state="done", updated="2027-01-01T00:00:00+00:00"))
    for number in range(2, ITEMS_KEPT + 3):
        agenda.put(item(number))
    assert len(agenda) == ITEMS_KEPT
    assert agenda.get("1") is None


def test_a_private_item_is_told_to_its_witnesses_alone(mara):
    agenda = mara.memory.agenda
    agenda.put(item(1, private=True, witnesses=(ALICE,)))
    assert agenda.items((ALICE,)) and agenda.items(None)
    assert not agenda.items((BRAM,)) and not agenda.items((ALICE, BRAM)) and not agenda.items(())
    assert agenda.due_for(ALICE, SAID) and not agenda.due_for(BRAM, SAID)


def test_due_for_brings_up_what_is_due_and_the_persons_own(mara):
    agenda = mara.memory.agenda
    for each in (
        item(1, due="2026-03-20"),  # Alice's own, not due yet
        item(2, who=BRAM, due="2026-03-03"),  # due since yesterday
        item(3, who=BRAM, due="2026-03-20"),  # neither hers nor due
        item(4, who=BRAM, due="2026-01-01"),  # due for too long to be news
        item(5, due="2026-01-01"),  # hers, overdue
        item(6, state="done"),
        item(7, who=BRAM, to=ALICE),  # owed to her
    ):
        agenda.put(each)
    assert [each.id for each in agenda.due_for(ALICE, SAID)] == ["5", "2", "1", "7"]
    for number in range(20, 20 + BROUGHT_UP):
        agenda.put(item(number))
    assert len(agenda.due_for(ALICE, SAID)) == BROUGHT_UP


def test_an_open_item_is_due_on_its_day_and_overdue_after_it():
    friday = item(due="2026-03-06")
    days = ("2026-03-05", "2026-03-06", "2026-03-07")
    states = [friday.state_at(f"{day}T08:00:00+00:00") for day in days]
    assert states == ["open", "due", "overdue"]
    assert replace(friday, state="done").state_at("2026-03-07T08:00:00+00:00") == "done"


def test_forgetting_the_line_that_closed_an_item_opens_it_again(mara):
    agenda = mara.memory.agenda
    agenda.put(item(1, state="done", closed_by=(5,)))
    assert wait(agenda.take_out(Removal({5}))) == 0
    assert agenda.get("1") == item(1)
    assert wait(agenda.take_out(Removal({1}))) == 1
    assert len(agenda) == 0


# --- from lines to items --------------------------------------------------------------------------


def line(number: int, content: str, speaker: str = ALICE, **fields) -> Entry:
    made = Entry(
        number,
        f"2026-03-04T19:{number:02}:00.000+00:00",
        content,
        "say",
        seen_as=speaker.title(),
        source_entity=speaker,
        witnesses=(ALICE, BRAM),
        session_id="s",
    )
    return replace(made, **fields)


def mentioned(text: str) -> list[str]:
    return [name for name in (ALICE, BRAM) if name in text.lower()]


def called(text: str) -> list[str]:
    return [
        name
        for name in mentioned(text)
        if language.get().named(text, forms([name])) is Named.CALLED
    ]


def drawn(*lines: Entry, known: list[AgendaItem] | None = None) -> list[AgendaItem]:
    agenda = {each.id: each for each in known or ()}
    circle = Circle(NPC, ("mara",), mentioned, called)
    for number, each in enumerate(lines):
        before = lines[:number]
        read = {each.id: acts.read(heard(each, before))}
        agenda |= {
            new.id: new for new in changes([each], agenda.values(), circle, read, before=before)
        }
    return list(agenda.values())


def heard(said: Entry, before: tuple[Entry, ...]) -> LineInTalk:
    """A line as the network reads it; one of the NPC's own as Alice hears it."""
    name, *others = (
        ("Alice", "Mara", "Bram") if said.origin == "self" else ("Mara", "Alice", "Bram")
    )
    names = {NPC: "Mara", ALICE: "Alice", BRAM: "Bram"}
    talk = [
        TalkLine(names[each.source_entity], each.content, each.kind) for each in (*before, said)
    ]
    return LineInTalk(talk[-1], (name,), tuple(others), tuple(talk[:-1]))


@pytest.mark.parametrize(
    ("text", "kind", "who", "to", "due"),
    [
        ("bram i'll mend your wheel by friday", "promise", ALICE, BRAM, "2026-03-06"),
        ("mara, i will bring you a new pane tmrw", "promise", ALICE, NPC, "2026-03-05"),
        ("I owe Bram three marks, end of the month.", "debt", ALICE, BRAM, "2026-03-31"),
        ("bram you owe me nine copper", "debt", BRAM, ALICE, ""),
        ("mara i owe you nine copper", "debt", ALICE, NPC, ""),
        ("mara i owe you 12.50", "debt", ALICE, NPC, ""),
        ("you still owe me nine copper, mara", "debt", NPC, ALICE, ""),
        ("mara, bram owes me nine copper", "debt", BRAM, ALICE, ""),
        ("bram ill pay you the nine on friday", "debt", ALICE, BRAM, "2026-03-06"),
        ("Mara, keep this token for me, would you.", "request", NPC, ALICE, ""),
        ("mara if cleo comes tell her i took the north road", "request", NPC, ALICE, ""),
        ("would you bring me a rope on friday?", "request", NPC, ALICE, "2026-03-06"),
        ("mara, remind me friday about the money", "request", NPC, ALICE, "2026-03-06"),
        ("mara, set a place for me on friday", "request", NPC, ALICE, "2026-03-06"),
        ("mara remind me on sunday", "request", NPC, ALICE, "2026-03-08"),
        ("my ship sails on the ninth", "plan", ALICE, "", "2026-03-09"),
        ("bram leaves for the coast tomorrow", "plan", BRAM, "", "2026-03-05"),
    ],
)
def test_a_line_becomes_an_item(text, kind, who, to, due):
    [made] = drawn(line(1, text))
    assert (made.kind, made.who, made.to, made.due) == (kind, who, to, due)
    assert (made.id, made.text, made.evidence, made.state) == ("1", text, (1,), "open")


@pytest.mark.parametrize(
    "text",
    [
        "mara, give me an ale",
        "mara tell me of the ferry",
        "mara, hold your tongue",
        "i'll have the stew",
        "i never promised you a thing",
        "i dont owe you a thing",
        "i never owed bram 5 silver",
        "wait, dont i owe you 3 coins?",
        "i saw him on tuesday",
        "fridays are slow",
        "((i'll be back tomorrow))",
        "what do i owe you?",
        "keep your hands off",
        "im gonna propose to Cleo at the fair, keep it to urself",
        "my landlord is a guy named Gorse, hes raising the rent to 9 silver a month",
        "good evening mara",
        "I am sorry to hear that the house is in debt. May your spring be a prosperous one.",
        "Here, Mara, six pennies for the room as I promised, count them if you like.",
        "Do I still owe you anything, Mara? I like to keep my accounts straight.",
        "Mara, I have good news: the salt merchants have raised my wages.",
    ],
)
def test_an_order_of_the_moment_a_question_and_small_talk_are_no_commitment(text):
    assert drawn(line(1, text)) == []


def test_a_case_told_to_somebody_else_asks_nothing_of_the_npc():
    asked = line(1, "whats the third one gonna be called", BRAM)
    assert drawn(asked, line(2, "if its a girl, Hesper. if a boy Cleo gets to choose")) == []


def test_what_is_asked_beside_a_parting_is_a_request():
    words = "night. wake me at six will you"
    done = SpeechAct("parting", "night. wake", 2.6), SpeechAct("request", words[7:], -0.4)
    circle, said = Circle(NPC, ("mara",), mentioned, called), line(1, words)
    [made] = changes([said], (), circle, {1: LineReading((), 1.0, done)})
    assert (made.kind, made.who) == ("request", NPC)


def test_a_parting_is_no_plan():
    circle, said = Circle(NPC, ("mara",), mentioned, called), line(1, "Goodbye, see you on Friday!")
    read = (
        SpeechAct("parting", "see you on Friday", 4.1),
        SpeechAct("plan", "Goodbye, see you on Friday", 2.1),
    )
    assert changes([said], (), circle, {1: LineReading((), 4.0, read)}) == []


def test_a_question_in_a_case_asks_for_nothing_to_be_done():
    words = "if i bring bak a jar wot do i get"
    reading = LineReading((), 3.0, (SpeechAct("request", words, 1.9),))
    assert (
        changes([line(1, words)], (), Circle(NPC, ("mara",), mentioned, called), {1: reading}) == []
    )


def test_what_somebody_is_to_pay_is_no_debt_of_who_tells_it():
    words = "tobb gets out in 3 days if some1 pays the fine. 12 silver. i aint got it"
    done = SpeechAct("promise", words[:-11], -0.2), SpeechAct("debt", words[24:], -0.6)
    circle, said = Circle(NPC, ("mara",), mentioned, called), line(1, words)
    assert changes([said], (), circle, {1: LineReading((), 3.0, done)}) == []


def test_of_the_npcs_own_words_only_what_it_does_on_a_date_is_an_item():
    stock = line(1, "I will remember that.", NPC, origin="self")
    retold = line(2, "Alice owes you three marks, due on Friday.", NPC, origin="self")
    assert drawn(stock, retold) == []
    [own] = drawn(line(3, "I'll bring you the key on Friday.", NPC, origin="self"))
    assert (own.who, own.kind, own.due) == (NPC, "promise", "2026-03-06")


def test_what_the_npc_says_again_moves_nothing():
    first = line(1, "I'll bring you the key on Friday.", NPC, origin="self")
    later = {"origin": "self", "timestamp": "2026-03-06T19:00:00.000+00:00"}
    told = line(2, "As I said, I'll bring you the key on Friday the thirteenth.", NPC, **later)
    instead = line(3, "I'll bring the key on Saturday instead, not on Friday.", NPC, **later)
    assert drawn(first, told) == drawn(first)
    assert drawn(first, instead) == drawn(first)


@pytest.mark.parametrize(
    "said",
    [
        "Five silver, on Friday the thirteenth, and I'll hold the pair of you to it.",
        "You owe me five silver by Friday, I keep you to that.",
    ],
)
def test_what_the_npc_holds_others_to_is_no_promise_of_its_own(said):
    assert drawn(line(1, said, NPC, origin="self")) == []


def test_what_the_npc_only_retells_makes_no_item():
    retold = line(1, "I'll bring you the key on Friday.", NPC, origin="self", tags=(RETOLD,))
    assert drawn(retold) == []


def test_what_another_npc_says_makes_no_item():
    assert drawn(line(2, "I'll bring the rope on Friday.", BRAM, tags=(OF_NPC,))) == []


def test_the_same_line_never_makes_two_items():
    promise = line(1, "bram i'll mend your wheel by friday")
    once = drawn(promise)
    assert drawn(promise, known=once) == once
    assert drawn(promise, promise) == once


def test_a_promise_said_again_is_one_item_with_the_later_date():
    first = line(1, "bram i'll mend your wheel by friday")
    [moved] = drawn(first, line(9, "bram ill mend the wheel monday i swear"))
    assert moved.evidence == (1, 9) and moved.due == "2026-03-09" and moved.id == "1"


def test_a_line_repeated_for_ever_and_an_endless_one_stay_small():
    promise = [line(n, "bram i'll mend your wheel by friday") for n in range(1, EVIDENCE_KEPT + 9)]
    hour = "2026-03-04T19:00:00+00:00"
    [made] = drawn(*(replace(each, timestamp=hour) for each in promise))
    assert len(made.evidence) == EVIDENCE_KEPT
    assert (made.evidence[0], made.evidence[-1]) == (1, EVIDENCE_KEPT + 8)
    [long] = drawn(line(1, "bram i'll mend your wheel by friday " + "and so on " * 500))
    assert len(long.text) == TEXT_KEPT


def test_two_dates_in_one_line_are_two_items():
    said = line(1, "My ship sails on the ninth. On Sunday I'll cook for you all.")
    assert sorted((each.id, each.due) for each in drawn(said)) == [
        ("1.0", "2026-03-09"),
        ("1.1", "2026-03-08"),
    ]


def test_what_is_whispered_is_as_private_as_the_whisper():
    secret = line(1, "I sail on the ninth.", kind="whisper", private=True, witnesses=(ALICE,))
    [made] = drawn(secret)
    assert made.private and made.witnesses == (ALICE,)
    whispered = line(
        2, "I paid Bram, all square.", kind="whisper", private=True, witnesses=(ALICE,)
    )
    [debt] = drawn(line(1, "I owe Bram three marks."), whispered)
    assert debt.state == "open", "what is known to all must not show what was whispered"


@pytest.mark.parametrize(
    ("stated", "ended", "state"),
    [
        ("bram i owe you three marks", "bram i paid you the three marks", "done"),
        ("bram i owe you three marks", "here are your three marks, bram", "done"),
        ("bram i owe you nine marks", "heres four of the nine marks", "open"),
        ("bram i'll mend your wheel by friday", "the wheel is mended, bram", "done"),
        ("mara i'll pay you five silver on friday", "mara, here's the five silver", "done"),
        ("mara i owe you three marks", "that's us square, mara", "done"),
        ("mara i owe you three marks", "and we're quits", "done"),
        ("mara i owe you three marks", "3 marks, all there, count em, we r SQUARE", "done"),
        ("mara i owe you three marks", "so thats three marks i owe ya", "open"),
        ("mara i owe you three marks", "I'll count them tomorrow.", "open"),
        ("mara i owe you three marks", "You can count it yourself.", "open"),
        ("mara i owe you three marks", "We're straight folk.", "open"),
        ("mara i owe you three marks", "paid, mara!", "done"),
        ("mara i owe you 2 pennies", "thats the 2 pennies i borrowed", "done"),
        ("mara, i'll bring you a jar of plums on friday", "mara, i brought you the plums", "done"),
        ("mara, keep my token for me", "mara i no longer need the token kept", "done"),
        ("bram i'll mend your wheel by friday", "bram i can't mend that wheel", "broken"),
        ("mara, keep my token for me", "never mind", "done"),
        ("bram i'll mend your wheel by friday", "the soup is done", "open"),
        ("bram i'll mend your wheel by friday", "is the wheel mended?", "open"),
        ("bram i'll mend your wheel by friday", "and dont u forget it", "open"),
        ("bram i'll mend your wheel by friday", "and never you forget it!", "open"),
        ("bram i'll mend your wheel by friday", "no, forget it", "done"),
        (
            "mara i'm going to the hiring fair at Wick on sunday",
            "mara, i'm not going to that fair in Wick after all",
            "done",
        ),
    ],
)
def test_words_close_an_item_or_leave_it_open(stated, ended, state):
    [made] = drawn(line(1, stated), line(2, ended))
    assert made.state == state
    assert made.closed_by == (() if state == "open" else (2,))


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("bram i owe you four pennies", "Bram, here is my hand. We are friends, are we not?"),
        ("bram i owe you four pennies", "mara heres 4 pennies 4 the stool"),
        ("mara wake me b4 dawn tmrw ok? gotta check my traps", "mara heres 4 pennies 4 the stool"),
    ],
)
def test_a_debt_is_closed_by_money_for_whom_it_is_owed_and_a_request_by_none(stated, said):
    assert drawn(line(1, stated), line(2, said))[0].state == "open"


def test_a_promise_that_is_put_off_by_what_is_no_longer_so_stays_open_with_the_new_day():
    promised = line(1, "mara, i'll bring you a sack of barley on thursday, promise")
    moved = line(2, "mara, about that barley. it's not thursday any more, it's friday")
    [made] = drawn(promised, moved, line(3, "sorry mara, i told you wrong, my lad's nine now"))
    assert (made.state, made.due, made.evidence) == ("open", "2026-03-06", (1, 2))


def test_a_day_of_paying_is_of_what_is_owed_and_not_of_what_the_npc_keeps():
    kept, owed = drawn(
        line(1, "mara, could you keep this horn behind the counter till i come again?", BRAM),
        line(2, "mara, bram owes me six coppers for the crossing"),
        line(3, "aye aye, i'll pay her saturday", BRAM),
    )
    assert (kept.kind, kept.due) == ("request", "")
    assert (owed.kind, owed.who, owed.to, owed.due) == ("debt", BRAM, ALICE, "2026-03-07")


def test_a_gift_of_the_thing_closes_an_item():
    promised = line(1, "bram i'll bring you a rope of hemp on friday")
    gift = line(2, "Alice gives Bram a rope of hemp.", kind="give")
    [made] = drawn(promised, gift)
    assert made.state == "done" and made.closed_by == (2,)
    [owed] = drawn(
        line(1, "I owe Bram nine marks"), replace(gift, content="Alice gives Bram 4 marks.")
    )
    assert owed.state == "open", "only a part was paid"
    [kept] = drawn(
        line(1, "mara keep this silver token for bram, will you"),
        line(2, "Mara gives Bram a silver token.", NPC, kind="give", origin="self"),
    )
    assert kept.state == "done"


def test_an_item_past_its_date_stays_open():
    [made] = drawn(
        line(1, "bram i'll mend your wheel by friday"),
        line(2, "mild tonight", timestamp="2026-06-01T10:00:00+00:00"),
    )
    assert made.state == "open"


def test_what_is_done_with_the_words_decides():
    circle = Circle(NPC, ("mara",), mentioned, called)
    said = [line(1, "so be it")]
    promises = LineReading((), 0.0, (SpeechAct("promise", "so be it", 3.0),))
    [made] = changes(said, [], circle, {1: promises})
    assert made.kind == "promise"
    assert changes(said, [], circle, {1: LineReading((), 0.0)}) == []


# --- in the game ----------------------------------------------------------------------------------


@pytest.fixture
def talked(mara, alice, bram):
    """Mara has heard a promise, a debt, a request, and a plan that was whispered to her."""
    for who, typed in (
        (alice, "say Bram, I'll mend your wheel by the end of the month."),
        (bram, "say I owe Alice three marks."),
        (alice, "say Mara, keep this silver token for me until I come back."),
        (bram, "whisper Mara = My ship sails tomorrow, before sunrise."),
    ):
        who.execute_cmd(typed)
    wait(mara.memory.index_pending())
    return mara


def texts(npc, listeners=None):
    return {each.text for each in npc.memory.agenda.items(listeners)}


def test_what_is_heard_is_on_the_agenda_with_its_people(talked, alice, bram):
    hers, his = map(talked.get_memory_identity, (alice, bram))
    own = talked.get_memory_identity(talked)
    found = {each.kind: each for each in talked.memory.agenda}
    assert (found["promise"].who, found["promise"].to) == (hers, his)
    assert (found["debt"].who, found["debt"].to) == (his, hers)
    assert (found["request"].who, found["request"].to) == (own, hers)
    assert found["plan"].private and found["plan"].due > talked.memory.clock()[:10]
    assert len(talked.memory.agenda.due_for(his, talked.memory.clock())) == 3
    assert not any(
        each.private for each in talked.memory.agenda.due_for(hers, talked.memory.clock())
    )


def test_reading_the_journal_again_changes_nothing(talked):
    before = list(talked.memory.agenda)
    entries = list(talked.memory.journal.read())
    with talked.memory.evidence.work_on(entries) as work:
        assert wait(update(talked.memory, entries, work)) == 0
    assert list(talked.memory.agenda) == before


def test_erasing_a_person_takes_their_items_and_those_owed_to_them(talked, alice, bram):
    hers = talked.get_memory_identity(alice)
    erased = wait(erase.erase_person(talked, hers))
    assert texts(talked) == {"My ship sails tomorrow, before sunrise."}
    assert erased.agenda == 3
    assert "3 agenda items" in erased.summary()
    rows = talked.db_attributes.filter(db_category=CATEGORY).values_list("db_strvalue", flat=True)
    assert not any(hers in row or "Alice" in row for row in rows)


def test_an_erased_witness_is_taken_out_of_what_stays(mara, alice, bram):
    hers, his = map(mara.get_memory_identity, (alice, bram))
    mara.memory.agenda.put(item(900, who=his, witnesses=(hers, his)))
    wait(erase.erase_person(mara, hers))
    assert mara.memory.agenda.get("900").witnesses == (his,)


def test_a_wipe_leaves_no_item(talked):
    erased = wait(erase.wipe(talked))
    assert erased.agenda == 4
    assert len(talked.memory.agenda) == 0
    assert not talked.db_attributes.filter(db_category=CATEGORY).exists()


def test_forgetting_a_line_takes_its_item_and_an_undo_brings_it_back(talked, builder):
    before = {each.id: each for each in talked.memory.agenda}
    selected = wait(forget.select(talked, ["2"]))
    assert "1 agenda item" in selected.summary()
    wait(forget.forget(talked, None, "2"))
    assert set(before) - {each.id for each in talked.memory.agenda} == {"2"}
    wait(edit.undo(talked, None))
    assert {each.id: each for each in talked.memory.agenda} == before


def test_forgetting_that_it_was_paid_makes_a_debt_open_again_until_undone(talked, bram):
    bram.execute_cmd("say Alice, I paid you the three marks.")
    wait(talked.memory.index_pending())
    paid = talked.memory.agenda.get("2")
    assert paid.state == "done"
    wait(forget.forget(talked, None, str(paid.closed_by[0])))
    assert talked.memory.agenda.get("2").state == "open"
    wait(edit.undo(talked, None))
    assert talked.memory.agenda.get("2") == paid


def test_an_edited_line_is_read_again_and_an_undo_restores_the_item(talked):
    before = {each.id: each for each in talked.memory.agenda}
    wait(edit.edit(talked, None, "2", content="I owe Alice seven marks."))
    assert talked.memory.agenda.get("2").text == "I owe Alice seven marks."
    wait(edit.edit(talked, None, "2", content="The soup is hot."))
    assert talked.memory.agenda.get("2") is None
    wait(edit.undo(talked, None))
    wait(edit.undo(talked, None))
    assert {each.id: each for each in talked.memory.agenda} == before


def test_a_copy_begins_with_an_empty_agenda(talked):
    twin = talked.copy("Twin")
    assert len(twin.memory.agenda) == 0
    assert not twin.db_attributes.filter(db_category=CATEGORY).exists()
    assert len(talked.memory.agenda) == 4


def test_an_archive_holds_the_agenda_and_gives_it_back_to_the_byte(talked, tavern, tmp_path):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    wait(archive.export(talked, first))
    before = list(talked.memory.agenda)
    wait(erase.wipe(talked))
    wait(archive.import_(talked, first))
    assert list(talked.memory.agenda) == before
    wait(archive.export(talked, second))
    assert first.read_bytes() == second.read_bytes()
    twin = create_object("typeclasses.npcs.AssistantNPC", key="Twin", location=tavern)
    wait(archive.import_(twin, first))
    [asked] = [each for each in twin.memory.agenda if each.kind == "request"]
    assert asked.who == twin.get_memory_identity(twin), "it is the new NPC's to do"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"due": "soon"}, "due: 'soon' should be a date"),
        ({"due": "20260306"}, "should be a date"),
        ({"state": "lost"}, "state"),
        ({"evidence": [99999]}, "evidence"),
        ({"created": "yesterday"}, "created"),
        ({"id": "../2"}, "id"),
        ({"more": 1}, "no such field"),
    ],
)
def test_an_archive_with_a_wrong_item_is_refused(talked, tmp_path, changed, why):
    path = tmp_path / "a.jsonl"
    wait(archive.export(talked, path))
    lines = [json.loads(each) for each in path.read_text().splitlines()]
    row = next(each for each in lines if each.get("category") == CATEGORY)
    row["value"] |= changed
    row["key"] = row["value"]["id"]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    with pytest.raises(archive.BadArchive, match=why):
        wait(archive.import_(talked, path, replace=True))
    assert len(talked.memory.agenda) == 4


def test_percepts_with_markup_are_shown_as_text(mara, alice, builder):
    who = mara.get_memory_identity(alice)
    mara.memory.perceive(
        Percept(
            content="Mara, keep |rthis|n $eval(1) <b>token</b> for me.",
            kind="say",
            seen_as="Alice",
            source=who,
            witnesses=(who,),
        )
    )
    wait(mara.memory.index_pending())
    shown = " ".join(builder("@memory/agenda mara").split())
    assert "keep |rthis|n $eval(1) <b>token</b> for me." in shown


# --- the command and the page ---------------------------------------------------------------------


def test_the_command_shows_the_agenda(talked, builder):
    shown = builder("@memory/agenda mara")
    assert shown.startswith("Agenda of Mara")
    rows = [row for row in shown.splitlines() if row[2:3].isdigit()]
    found = {kind: row for kind in KINDS for row in rows if f" {kind} " in row}
    assert "open" in found["promise"] and "Alice to Bram" in found["promise"]
    assert "Mara to Alice" in found["request"]
    assert "*" in found["plan"] and "*" not in found["debt"], "a whisper is marked"
    assert "from 2" in shown
    items = {each.id: each for each in talked.memory.agenda}
    dates = [items[row.split()[0]].due for row in rows]
    assert len(rows) == 4 and dates == sorted(dates, reverse=True)


def test_the_command_says_where_the_agenda_is_empty_and_takes_no_argument(mara, builder):
    assert "nothing on the agenda of Mara" in " ".join(builder("@memory/agenda mara").split())
    assert builder("@memory/agenda mara = x").startswith("Usage: @memory/agenda <npc>")


def test_the_staff_page_shows_the_agenda_escaped(talked, client, django_user_model):
    keeper = django_user_model.objects.create_superuser("keeper", "k@example.com", "pw")
    client.force_login(keeper)
    due = replace(item(3, text="<script>alert(1)</script> by friday"), due="2026-03-06")
    talked.memory.agenda.put(due)
    page = client.get(reverse("ai_memory:overview", args=[talked.id])).content.decode()
    assert "Promises, debts, requests and plans" in page
    assert "overdue" in page and "2026-03-06" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page and "<script>alert(1)" not in page


@pytest.mark.parametrize(
    "said",
    [
        "mara, I will pay you the six pennies once and for all on Friday.",
        "mara, I owe you 4 this week.",
        "mara, here is how it is: I owe you 5 pennies.",
    ],
)
def test_what_is_owed_is_kept_whatever_stands_beside_it(said):
    assert [item.state for item in drawn(line(1, said))] == ["open"]


def test_what_somebody_else_promised_pays_nothing():
    assert commitments.closes("Those are the marks you promised me.") is None
    assert commitments.errand("ask yourself whether it is worth it") is False
