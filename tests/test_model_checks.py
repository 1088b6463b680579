"""What a small model drew from an evening (recorded of Qwen2.5-Coder 1.5B), against its lines."""

from dataclasses import replace

import pytest

from contrib_ai_memory.llm.provider import Digest, Passage
from contrib_ai_memory.offline import model_checks
from contrib_ai_memory.offline.offline_provider import OfflineProvider
from contrib_ai_memory.records import Entry, FactDraft, MemoryRecord

SAID = """Rurik: gates heavy tonight
Rurik: knee. the left. cant do stairs when its wet
Rurik: eleven. two mounted, rest on foot and starving
Rurek: ELEVEN? only eleven??
Rurek: i killed FIVE raiders at that ford last month. me. alone
Rurik: who saw
Rurek: the raiders did
Rurik: bracken smelled them first. my grey mare. better nose than any dog
Amabel: Good evening. Captain, the ledger, when you can bear it.
Rurek: is that PAY
Amabel: It is not. The pay chest is delayed: the bridge at Cold Wath is under flood water.
Rurek: boooo
Amabel: Do not hiss at me, I only keep the paymaster's books.
Rurek: then rurik waits for his boot money. three marks i owe you. end of the month?
Rurik: end of the month. i dont forget
Alice: My brother Tom has been missing since the flood."""

REFUSED = [
    (2, "Rurik counts 11 people at Ash Ford.", model_checks.UNKNOWN_NAME),
    (2, "Rurik has eleven people in his house.", model_checks.UNTOLD),
    (5, "Rurik says he killed five raiders last month.", model_checks.OF_ANOTHER),
    (7, "Rurik says he saw the raiders.", model_checks.OF_ANOTHER),
    (8, "Rurik says the raiders were killed by his grey mare.", model_checks.UNTOLD),
    (10, "Haldane says the ledger is on the pile.", model_checks.UNTOLD),
    (11, "Rurik says the pay chest is delayed.", model_checks.OF_ANOTHER),
    (10, "Rurek says that pay is that.", model_checks.ASKED),
    (13, "Ottoline keeps the paymaster's books.", model_checks.UNKNOWN_NAME),
    (13, "Rurik keeps the paymaster's books.", model_checks.OF_ANOTHER),
    (14, "Rurek owes Rurik seven marks of boot money.", model_checks.UNKNOWN_NUMBER),
    (14, "Rurek owes Rurik 30 marks of boot money.", model_checks.UNKNOWN_NUMBER),
    (14, "Rurek owes Rurik three marks, due on 25 June.", model_checks.UNKNOWN_NUMBER),
]
KEPT = [
    (11, (11,), "Amabel says the bridge at Cold Wath is under flood water."),
    (12, (11,), "Amabel says the bridge at Cold Wath is under flood water."),  # a line too low
    (13, (13,), "Amabel keeps the paymaster's books."),
    (14, (14,), "Rurek owes Rurik three marks of boot money."),
    (14, (14,), "Rurek owes Rurik 3 marks of boot money, due on 31 May 2026."),
    (5, (5,), "Rurek claims to have killed five raiders alone at the ford last month."),
    (8, (8,), "Rurik has a grey mare, Bracken, with a better nose than any dog."),
    (9, (16,), "Alice's brother Tom has been missing since the flood."),
]


def spoken(said):
    for number, line in enumerate(said.splitlines(), start=1):
        who, words = line.split(": ", 1)
        yield Entry(number, f"2026-05-09T19:{number:02d}:00+00:00", words, kind="say", seen_as=who)


def passage(known=()):
    return Passage("Haldane", tuple(spoken(SAID)), known=tuple(known))


def checked(*drafts, known=()):
    return model_checks.checked(Digest({}, drafts), passage(known))


@pytest.mark.parametrize(("line", "text", "why"), REFUSED)
def test_what_no_line_tells_is_refused_with_its_reason(store_folder, line, text, why):
    found = checked(FactDraft(text, (line,)))
    assert (found.digest.facts, dict(found.refused)) == ((), {why: 1})


@pytest.mark.parametrize(("line", "lines", "text"), KEPT)
def test_what_a_line_tells_is_kept_and_cites_that_line(store_folder, line, lines, text):
    found = checked(FactDraft(text, (line,)))
    assert [(fact.text, fact.journal_ids) for fact in found.digest.facts] == [(text, lines)]
    assert not found.refused


def test_a_line_tells_a_fact_together_with_what_it_answers(store_folder):
    said = """Haldane: Sing for the house two nights a week and the blue room costs you nothing.
Alice: You would take a song for rent? Then done, and gladly.
Haldane: Somebody put a rock through my window on Wednesday night.
Bram: what?? who
Bram: listen!! odile said YES. sunday we walk on the mole, she and me"""
    lines = []
    for number, line in enumerate(said.splitlines(), start=1):
        who, words = line.split(": ", 1)
        stamp = f"2026-05-09T19:{number:02d}:00+00:00"
        lines.append(Entry(number, stamp, words, kind="say", seen_as=who))
    own = tuple(line for line in lines if line.seen_as == "Haldane")
    drafts = [
        FactDraft("Alice sings for the house two nights a week and has the blue room free.", (2,)),
        FactDraft("Somebody put a rock through the window on Wednesday night.", (4,)),
        FactDraft("Odile said yes to Bram; they walk on the mole on Sunday.", (5,)),
    ]
    asked = Passage("Haldane", tuple(line for line in lines if line not in own), own)
    found = model_checks.checked(Digest({}, tuple(drafts)), asked)
    assert [fact.text for fact in found.digest.facts] == [drafts[0].text, drafts[2].text]


def test_a_line_does_not_tell_that_its_speaker_had_come(store_folder):
    came = Entry(
        *(1, "2026-05-09T19:00:00+00:00", "Rollo arrives from the lot.", "arrive"),
        seen_as="Rollo",
    )
    said = "not like dunmarrow fair though. lifted a LIVE OX there. over my head"
    line = Entry(2, "2026-05-09T19:01:00+00:00", said, "say", seen_as="Rollo")
    draft = FactDraft("Rollo arrives from the lot.", (2,))
    found = model_checks.checked(Digest({}, (draft,)), Passage("Fenella", (line,), (came,)))
    assert (found.digest.facts, dict(found.refused)) == ((), {model_checks.UNTOLD: 1})


STRONG = [
    (
        "Priya: four hundred and twelve metres down. bedrock by the first of december if it holds",
        "Priya's drill is 412 metres down; she means to reach bedrock by 1 December.",
    ),
    (
        "T'sala: one horse stands in the yard of the Gull since yesterday",
        "A horse of T'sala's has stood in the yard of the Gull since 8 May 2026.",
    ),
    (
        "Nerida: four people behind my ballast panel. the mine at Gorse wants them back",
        "Nerida hides 4 people behind her ballast panel, and the mine at Gorse wants them back.",
    ),
]


@pytest.mark.parametrize(("line", "text"), STRONG)
def test_a_fact_in_other_words_than_its_line_is_kept_as_it_is(store_folder, line, text):
    who, words = line.split(": ", 1)
    said = Entry(1, "2026-05-09T19:00:00+00:00", words, kind="say", seen_as=who)
    found = model_checks.checked(Digest({}, (FactDraft(text, (1,)),)), Passage("Mara", (said,)))
    assert [fact.text for fact in found.digest.facts] == [text]


def test_a_fact_of_two_lines_may_cite_the_answer_alone(store_folder):
    said = """Amabel: Forty marks for the six ponies, T'sala. Half of it now.
T'sala: Is good. In ten days the six are in yard."""
    lines = []
    for number, line in enumerate(said.splitlines(), start=1):
        who, words = line.split(": ", 1)
        stamp = f"2026-05-09T19:{number:02d}:00+00:00"
        lines.append(Entry(number, stamp, words, kind="say", seen_as=who))
    draft = FactDraft("T'sala agreed to forty marks for six ponies, in the yard by 19 May.", (2,))
    found = model_checks.checked(Digest({}, (draft,)), Passage("Haldane", tuple(lines)))
    assert found.digest.facts == (draft,)


def test_a_speakers_i_is_put_into_the_third_person(store_folder):
    [fact] = checked(FactDraft("My brother Tom has been missing.", (16,))).digest.facts
    assert fact.text == "Alice's brother Tom has been missing since the flood."


def test_a_fact_ends_and_repeats_only_what_it_has_to_do_with(store_folder):
    known = [
        MemoryRecord(id="bridge", record="fact", content="The bridge at Cold Wath can be crossed."),
        MemoryRecord(id="bread", record="fact", content="Nell bakes rye bread."),
    ]
    draft = FactDraft(
        "The bridge at Cold Wath is under flood water.",
        (11,),
        same_as="bread",
        ends=("bridge", "bread"),
    )
    [fact] = checked(draft, known=known).digest.facts
    assert (fact.same_as, fact.ends) == ("", ("bridge",))


@pytest.mark.parametrize(
    ("line", "text", "kind", "made"),
    [
        (14, "Rurek owes Rurik three marks of boot money.", "debt", "debt"),
        (11, "Amabel says the bridge at Cold Wath is under flood water.", "plan", "other"),
        (8, "Rurik has a grey mare, Bracken, with a better nose than any dog.", "debt", "other"),
    ],
)
def test_a_fact_is_a_commitment_where_its_line_makes_one(store_folder, line, text, kind, made):
    found = checked(FactDraft(text, (line,), kind=kind))
    assert [fact.kind for fact in found.digest.facts] == [made]
    assert dict(found.refused) == ({} if made == kind else {model_checks.NO_COMMITMENT: 1})


def test_the_offline_provider_does_what_is_refused_and_what_is_missing(store_folder):
    right = FactDraft("Amabel keeps the paymaster's books.", (13,), ends=())
    wrong = FactDraft("Rurik says the pay chest is delayed.", (11,), ends=())
    asked = passage()
    importance = {entry.id: 7 for entry in asked.entries}
    found = OfflineProvider().checked(Digest(importance, (right, right, wrong)), asked)
    assert found.digest.importance == importance
    facts = {fact.journal_ids: fact for fact in found.digest.facts}
    assert {(13,), (11,), (16,)} <= facts.keys()
    assert "bridge at Cold Wath" in facts[11,].text
    assert [facts[line,].by_rules for line in (13, 11, 16)] == [False, True, True]
    found = OfflineProvider().checked(Digest(importance, (right, wrong, wrong)), asked)
    assert found.digest.importance != importance
    assert {(13,), (11,), (16,)} <= {fact.journal_ids for fact in found.digest.facts}


def test_what_is_asked_of_the_npc_may_be_a_question(store_folder):
    line = Entry(
        *(1, "2026-01-01T00:00:00+00:00", "Could you keep the blue wool for me?", "say"),
        seen_as="Ada",
    )
    request = FactDraft("Ada asked Mara to keep the blue wool for her.", (1,), kind="request")
    passage = Passage("Mara", (line,))
    assert model_checks.checked(Digest({}, (request,)), passage).digest.facts == (request,)
    told = replace(request, kind="event")
    assert not model_checks.checked(Digest({}, (told,)), passage).digest.facts


LONG_AGO = """Pipkin: An egg! Gone from my nest last night, while I was at choir!
Brindle: Madam, I spent the night in Nettlecombe.
Zoe: one paw??
Bramble: one paw
Zoe: i was being a detective
Bramble: hm
Zoe: i minded it
Tuck: it was me.. the egg was cold and she was gone so long.. i keep it warm
Bramble: she turns"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Tuck took Pipkin's egg, because it was cold, and keeps it warm.", {}),
        ("Tuck took Brindle's egg, because it was cold.", {model_checks.OF_ANOTHER: 1}),
        ("Pipkin took an egg, because it was cold.", {model_checks.OF_ANOTHER: 1}),
    ],
)
def test_a_line_may_mean_somebody_who_spoke_of_the_same_long_before(store_folder, text, why):
    asked = Passage("Hobbin", tuple(spoken(LONG_AGO)))
    found = model_checks.checked(Digest({}, (FactDraft(text, (8,)),)), asked)
    assert dict(found.refused) == why


def test_what_is_known_helps_to_understand_a_short_line(store_folder):
    draft = FactDraft("Bramble has mended the mill wheel, and it turns again.", (9,))
    entries = tuple(spoken(LONG_AGO))
    found = model_checks.checked(Digest({}, (draft,)), Passage("Hobbin", entries))
    assert dict(found.refused) == {model_checks.UNTOLD: 1}
    known = MemoryRecord("1", "Bramble promised to mend Hobbin's mill wheel.", "fact")
    asked = Passage("Hobbin", entries, known=(known,))
    assert model_checks.checked(Digest({}, (draft,)), asked).digest.facts == (draft,)


def test_own_words_end_only_what_they_speak_of(store_folder):
    heard, own = spoken("Posy: what do i owe you now?\nDilys: For the seed? We are even, Posy.")
    own = replace(own, origin="self")
    debt = MemoryRecord("debt", "Posy owes Dilys thirty gold for seed.", "fact", journal_ids=(0,))
    cat = MemoryRecord("cat", "Rosy keeps a lame cat in the hive shed.", "fact", journal_ids=(0,))
    asked = Passage("Dilys", (heard,), (own,), known=(debt, cat))
    found = model_checks.checked(Digest({}, over={"debt": 0, "cat": 0}), asked)
    assert found.digest.over == {"debt": own.id}
    assert dict(found.refused) == {model_checks.UNRELATED: 1}
