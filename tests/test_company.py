"""Evenings in company: their files, and how they are read."""

import pytest

from benchmarks import company, wanted
from benchmarks.evenings_data import Stay
from contrib_ai_memory.offline.acts import WANTED

EVENING = """EVENING x-01 | Perrin Sallow, apothecary of Millbrook, vain
1 b: Mint tea costs one copper.
2 Cora 3d: my cat is called Button
3 Cora: can i get a mint tea pls -> order
4 self: One mint tea, Cora.
5 Cora whispers: i love bram -> secret
6 Bram comes
7 Bram does: spits on the floor.
8 Cora: how mutch is that -> know 1
9 Cora goes
10 Bram: Who does she love? -> know -
11 Bram: Quiet here. -> ?
"""


@pytest.fixture
def evening(tmp_path):
    file = tmp_path / "x.txt"
    file.write_text(EVENING)
    [found] = company.read(file)
    return found


@pytest.mark.parametrize("file", company.files(), ids=lambda each: each.stem)
def test_a_file_holds_evenings_whose_answers_were_given_before(file):
    for evening in company.read(file):
        numbers = [each.number for each in evening.said]
        assert len({*numbers}) == len(numbers)
        for place, each in enumerate(evening.said):
            assert each.wants in ("", company.EITHER, "refuse", *WANTED)
            assert each.answers <= {*numbers[:place]}
        assert Stay.model_validate(company.as_stay(evening)).builder


def test_a_line_is_heard_with_who_is_there_and_what_was_said_aloud(evening):
    heard = {said.number: line for said, line in company.heard(evening)}
    assert [*heard] == [3, 5, 7, 8, 10, 11]
    before = [each.text for each in heard[8].before]
    assert before == ["can i get a mint tea pls", "One mint tea, Cora.", "spits on the floor."]
    assert heard[8].others == ("Cora", "Bram")
    assert heard[10].others == ("Bram",)


def test_what_is_wanted_of_a_line_stands_behind_it(evening):
    wanted = {each.number: (each.wants, each.answers) for each in evening.said if each.wants}
    assert wanted == {
        3: ("order", frozenset()),
        5: ("secret", frozenset()),
        8: ("know", frozenset({1})),
        10: ("know", frozenset()),
        11: (company.EITHER, frozenset()),
    }


def test_what_was_said_days_before_is_a_session_of_its_own(evening):
    stay = Stay.model_validate(company.as_stay(evening))
    first, *others = stay.lines
    assert (first.text, first.npc_answers) == ("my cat is called Button", None)
    assert {first.session}.isdisjoint(each.session for each in others)
    answered = {each.id: each.npc_answers for each in others}
    assert (answered["x-01.3"], answered["x-01.7"], answered["x-01.4"]) == (True, False, None)


def test_a_line_that_is_not_understood_is_named(tmp_path):
    file = tmp_path / "x.txt"
    file.write_text("EVENING x-01 | Mags\n1 Tom runs away\n")
    with pytest.raises(ValueError, match="line 2: '1 Tom runs away' is not understood"):
        list(company.read(file))


def test_the_talk_before_a_line_may_hold_a_reply_to_all_that_wants_one(evening):
    heard = {said.number: line for said, line in company.heard(evening, replies=True)}
    before = [(each.speaker, each.text) for each in heard[10].before]
    npc = "Perrin Sallow"
    assert before == [
        (npc, "One mint tea, Cora."),  # its own words, and no other reply beside them
        ("Bram", "spits on the floor."),
        ("Cora", "how mutch is that"),
        (npc, "Mint tea costs one copper."),
    ]
    after = [(each.speaker, each.text) for each in heard[11].before]
    assert after[-1] == (npc, "I know nothing about that, Bram.")


def test_nothing_is_learned_from_the_authors_who_are_measured():
    learned, measured = (
        {each.source for each in wanted.of_company(held_out=held_out)} for held_out in (False, True)
    )
    assert measured == {*company.HELD_OUT} and not learned & measured
