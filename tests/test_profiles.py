"""Entity profiles: what is seen of people, what it comes to, how the NPC stands with them."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrib_ai_memory import offload
from contrib_ai_memory.english.attribute_kinds import kind_of
from contrib_ai_memory.llm import router
from contrib_ai_memory.llm.provider import AttributeDraft, Pair, Relation, Statement
from contrib_ai_memory.records import Percept
from contrib_ai_memory.sleep import consolidation, entity_consolidation
from contrib_ai_memory.sleep import entity_consolidation as learning
from contrib_ai_memory.store import attributes
from contrib_ai_memory.store import profiles as stored
from contrib_ai_memory.store.profiles import (
    Profile,
    ProfileAttribute,
    ProfileObservation,
    Profiles,
    Relationship,
    state_of,
)
from contrib_ai_memory.store.removal import Removal

quick = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def night(mara):
    return offload.wait(mara.assistant.sleep.whole_night())


def run_pass(mara):
    """The whole pass over all that the journal holds."""
    memory = mara.memory
    memory.journal.advance_cursor(consolidation.CURSOR, len(memory.journal))
    while not offload.wait(learning.run_entity_consolidation_batch(memory)).done:
        pass


def profile_of(mara, someone):
    return mara.memory.profiles.get(mara.get_memory_identity(someone))


def on_disk(mara):
    """Every profile as a server that starts anew would find it."""
    fresh = Profiles(mara)
    return {identity: fresh.get(identity) for identity in fresh.identities()}


def texts(profile):
    return [noted.text for noted in profile.observations]


def hears(mara, who, text, kind="say", **more):
    """Mara perceives one thing, said in private where it is whispered."""
    identity = mara.get_memory_identity(who)
    private = kind == "whisper"
    return mara.memory.perceive(
        Percept(
            content=text,
            kind=kind,
            seen_as=who.key,
            source=identity,
            entities=(identity,),
            witnesses=(identity,),
            private=private,
            **more,
        )
    )


# --- the example of the source --------------------------------------------------------------------


def test_three_observations_of_tea_become_a_preference_with_evidence(mara, alice, bram, settings):
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 3}
    alice.execute_cmd("say I prefer tea over coffee.")
    alice.execute_cmd("pose orders tea at the tavern.")
    alice.execute_cmd("pose refuses the coffee that Mara offers.")
    report = night(mara)["run_entity_consolidation_batch"]
    profile = profile_of(mara, alice)
    [liking] = [known for known in profile.attributes if known.type == "preference"]
    assert liking.value == "Alice prefers tea over coffee."
    assert liking.evidence == (1, 2, 3)
    assert liking.confidence > 0.5
    assert not liking.private
    assert profile.new == ()
    assert profile.name == "Alice"
    assert report["read"] >= 3
    assert report["changed"] >= 1


def test_fewer_observations_than_needed_wait(mara, alice, bram, settings):
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 3}
    alice.execute_cmd("say I prefer tea over coffee.")
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    night(mara)
    assert profile_of(mara, alice).attributes == ()
    assert len(profile_of(mara, alice).new) == 2
    alice.execute_cmd("say My brother Tom has been missing since the flood.")
    night(mara)
    assert profile_of(mara, alice).new == ()
    values = {known.value for known in profile_of(mara, alice).attributes}
    assert "Alice keeps the ferry at Millbrook." in values


def test_what_is_said_again_another_day_gains_evidence_and_is_surer(mara, alice, bram, settings):
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 1}
    alice.execute_cmd("say I prefer tea over coffee.")
    night(mara)
    [before] = profile_of(mara, alice).attributes
    alice.execute_cmd("say I still prefer tea over coffee!")
    night(mara)
    [after] = profile_of(mara, alice).attributes
    assert after.evidence == (1, 2)
    assert after.confidence > before.confidence
    assert after.updated > before.updated


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Alice prefers tea over coffee.", "Alice still prefers tea over coffee!", True),
        ("Prefers tea, dislikes coffee.", "Prefers coffee, dislikes tea.", False),
        ("Prefers tea to coffee.", "Prefers coffee to tea.", False),
        ("Alice likes tea a lot.", "Alice does not like tea a lot.", False),
        ("Alice has 2 brothers in Elmstead.", "Alice has 3 brothers in Elmstead.", False),
        ("Alice keeps the ferry.", "Alice sells boats.", False),
    ],
)
def test_attributes_are_joined_where_they_say_the_same_only(a, b, same):
    [relation] = router.without_model().compare(
        [Pair(*(Statement(text, "attribute") for text in (b, a)))]
    )
    assert (relation is Relation.SAME) is same


def test_what_a_provider_rests_on_nothing_that_it_was_shown_is_left_out(mara):
    seen = (ProfileObservation("Alice keeps the ferry.", 1), ProfileObservation("Alice sings.", 2))
    profile = Profile("#1@a", name="Alice", observations=seen)
    drafts = [
        AttributeDraft("occupation", "Keeps the ferry.", (1, 99), 0.8),
        AttributeDraft("trait", "Is a spy.", (99,), 0.9),
        AttributeDraft("omen", "Sings at night.", (2,), 7.0),
    ]
    new = entity_consolidation.attributes_of(seen, drafts)
    known = entity_consolidation.attributes_with(mara.memory.id, profile, new, {})
    assert [(one.type, one.evidence) for one in known] == [("occupation", (1,)), ("fact", (2,))]
    assert known[1].confidence <= 1


# --- what is observed, and of whom ----------------------------------------------------------------


def test_the_npcs_own_words_make_no_observation(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    mara.execute_cmd("say I was born in Elmstead. Alice is a fine ferrywoman.")
    run_pass(mara)
    assert texts(profile_of(mara, alice)) == ["Alice keeps the ferry at Millbrook."]
    assert profile_of(mara, mara) is None


def test_the_npc_has_no_profile_of_itself_even_where_it_is_named(mara, alice, bram):
    me = mara.get_memory_identity(mara)
    hears(mara, alice, "Mara is the best cook in Millbrook.", addressed=True)
    entry = mara.memory.journal.get(1)
    mara.memory.journal.update({1: {"entities": [*entry.entities, me]}})
    run_pass(mara)
    assert mara.memory.profiles.identities() == (mara.get_memory_identity(alice),)


def test_a_question_makes_no_observation_and_counts_as_talk(mara, alice, bram):
    alice.execute_cmd("say Mara, where is the old mayor of Millbrook?")
    alice.execute_cmd("say Mara, tell me about the old ferry of Elmstead.")
    run_pass(mara)
    assert texts(profile_of(mara, alice)) == []
    assert profile_of(mara, alice).relationship.interactions == 2


def test_of_an_entry_that_tells_and_asks_only_what_it_tells_is_observed(mara, alice, bram):
    alice.execute_cmd("say I keep the ferry at Millbrook. Do you know the old mayor?")
    run_pass(mara)
    assert texts(profile_of(mara, alice)) == ["Alice keeps the ferry at Millbrook."]


def test_somebody_named_in_talk_is_observed_by_hearsay(mara, alice, bram):
    bram.execute_cmd("say Good morning to you all.")
    alice.execute_cmd("say The wolves are back. Bram lost two of his sheep.")
    run_pass(mara)
    assert texts(profile_of(mara, bram)) == ['Alice says: "Bram lost two of his sheep."']
    assert len(texts(profile_of(mara, alice))) == 2


def test_somebody_who_is_only_talked_about_has_a_profile_too(mara, alice, bram):
    identity = "#77@far"
    mara.memory.people.meet(identity, "Cora", "2026-03-01T10:00:00+00:00")
    mara.memory.people.set_type(identity, "npc")
    alice.execute_cmd("say I sold my boat to Cora.")
    run_pass(mara)
    cora = mara.memory.profiles.get(identity)
    assert (cora.name, cora.entity_type) == ("Cora", "npc")
    assert texts(cora) == ["Alice sold their boat to Cora."]
    assert cora.relationship == Relationship()


def test_a_note_of_a_builder_is_an_observation_of_whom_it_names(mara, alice):
    alice.execute_cmd("say Good day to you.")
    offload.wait(mara.memory.add("Alice is wanted in Elmstead for smuggling."))
    run_pass(mara)
    profile = profile_of(mara, alice)
    assert "Alice is wanted in Elmstead for smuggling." in texts(profile)
    assert profile.relationship.interactions == 1


def test_nothing_is_observed_before_it_is_consolidated(mara, alice):
    hears(mara, alice, "I keep the ferry at Millbrook.")
    assert offload.wait(learning.run_entity_consolidation_batch(mara.memory)).done
    assert mara.memory.profiles.identities() == ()


# --- privacy --------------------------------------------------------------------------------------


def test_a_whispered_observation_and_what_is_drawn_from_it_stay_with_their_witness(
    mara, alice, bram, settings
):
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 2}
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    alice.execute_cmd("whisper Mara = I hide a silver key under the third step in Elmstead.")
    night(mara)
    profile = profile_of(mara, alice)
    who = {each: mara.get_memory_identity(each) for each in (alice, bram)}
    assert profile.new == ()
    [secret] = [known for known in profile.attributes if "key" in known.value]
    assert (secret.private, secret.witnesses) == (True, (who[alice],))
    for listeners in ((who[bram],), (who[alice], who[bram]), ()):
        told = profile.for_listeners(listeners)
        assert texts(told) == ["Alice keeps the ferry at Millbrook."]
        assert not any("key" in known.value for known in told.attributes)
    assert profile.for_listeners((who[alice],)) == profile
    assert profile.for_listeners(None) == profile


def test_what_is_whispered_of_another_is_kept_from_that_other(mara, alice, bram):
    bram.execute_cmd("say I keep sheep on the hill.")
    alice.execute_cmd("whisper Mara = Bram steals silver from the chapel.")
    run_pass(mara)
    profile = profile_of(mara, bram)
    assert len(profile.observations) == 2
    told = profile.for_listeners((mara.get_memory_identity(bram),))
    assert texts(told) == ["Bram keeps sheep on the hill."]


def test_one_question_to_a_provider_never_mixes_two_circles(
    mara, alice, bram, settings, monkeypatch
):
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 4}
    bram.execute_cmd("say I keep sheep on the hill.")
    bram.execute_cmd("whisper Mara = I owe money to the miller.")
    alice.execute_cmd("whisper Mara = Bram steals silver from the chapel.")
    alice.execute_cmd("say Bram lost two of his sheep.")
    asked = []
    describe = type(router.without_model()).describe

    def listening(self, name, observations, known=()):
        asked.append((name, {stored.audience_of(noted) for noted in observations}))
        return describe(self, name, observations)

    monkeypatch.setattr(type(router.without_model()), "describe", listening)
    run_pass(mara)
    assert [name for name, _ in asked] == ["Bram"] * 3
    assert all(len(circles) == 1 for _, circles in asked)
    assert profile_of(mara, bram).new == ()


def test_the_same_said_openly_and_in_private_stays_two_attributes(mara, alice, bram, settings):
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 1}
    alice.execute_cmd("whisper Mara = I prefer tea over coffee.")
    alice.execute_cmd("say I prefer tea over coffee.")
    night(mara)
    open_one, private_one = sorted(
        profile_of(mara, alice).attributes, key=lambda each: each.private
    )
    assert open_one.value == private_one.value
    assert private_one.private and not open_one.private
    assert private_one.evidence == (1,)
    assert set(open_one.evidence).isdisjoint(private_one.evidence)


# --- the relationship -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("favorability", "state"),
    [
        (0.0, "stranger"),
        (0.2499, "stranger"),
        (0.25, "acquaintance"),
        (0.4999, "acquaintance"),
        (0.5, "friend"),
        (0.7499, "friend"),
        (0.75, "close"),
        (1.0, "close"),
    ],
)
def test_states_by_favorability(favorability, state):
    assert state_of(favorability) == state
    assert Relationship(favorability).state == state


@pytest.mark.parametrize(
    ("kind", "text", "favorability", "interactions"),
    [
        ("say", "The ferry leaves at noon.", 0.11, 1),
        ("whisper", "The silver key lies in the ferry.", 0.13, 1),
        ("whisper", "Where is the silver key?", 0.11, 1),
        ("give", "Alice gives Mara a rose.", 0.15, 0),
        ("pose", "Alice sits by the fire.", 0.1, 0),
        ("say", "Thank you, Mara, you are so kind.", 0.13, 1),
        ("say", "You lying old hag, I hate you!", 0.06, 1),
        ("say", "Bandits burned my farm, I hate them!", 0.11, 1),
    ],
)
def test_each_step_of_favorability(mara, alice, kind, text, favorability, interactions):
    entry = hears(mara, alice, text, kind)
    run_pass(mara)
    relationship = profile_of(mara, alice).relationship
    assert relationship.favorability == pytest.approx(favorability)
    assert relationship.interactions == interactions
    assert relationship.last_seen == entry.timestamp


@pytest.mark.parametrize(
    ("labels", "step"),
    [
        (("joy", "trust", "boredom"), entity_consolidation.KIND),
        (("anticipation", "admiration", "ecstasy"), entity_consolidation.KIND),
        (("anger", "disgust", "fear"), entity_consolidation.HARSH),
        (("joy", "rage", "anger"), 0.0),
        (("loathing", "joy", "trust"), 0.0),
        (("joy", "fear", "grief"), 0.0),
    ],
)
def test_feelings_move_favorability_where_two_of_three_agree_and_the_nearest_is_not_against(
    labels, step
):
    assert entity_consolidation.warmth_of(labels) == step


def test_what_is_said_to_somebody_else_in_the_room_is_not_taken_for_the_npc(mara, alice, bram):
    both = (mara.get_memory_identity(alice), mara.get_memory_identity(bram))
    mara.memory.perceive(
        Percept(
            "You lying old dog, I hate you!", "say", seen_as="Alice", source=both[0], witnesses=both
        )
    )
    run_pass(mara)
    assert profile_of(mara, alice).relationship.favorability == pytest.approx(0.11)


@quick
@given(st.lists(st.sampled_from(["say", "whisper", "give", "pose"]), max_size=60), st.booleans())
def test_favorability_stays_within_its_bounds(kinds, cold):
    from contrib_ai_memory.records import Entry

    standing = Relationship()
    for number, kind in enumerate(kinds, start=1):
        entry = Entry(number, "2026-03-01T10:00:00+00:00", "x", kind, private=kind == "whisper")
        standing = entity_consolidation.moved(standing, entry, -0.3 if cold else 0.3)
        assert 0 <= standing.favorability <= 1


@pytest.mark.parametrize(
    ("favorability", "talks", "bonus"),
    [(0.1, 0, 0), (0.1, 10, 1), (0.5, 0, 1), (0.8, 0, 2), (0.5, 50, 2), (0.3, 0, 0)],
)
def test_what_friends_say_weighs_more(mara, alice, favorability, talks, bonus):
    memory, identity = mara.memory, mara.get_memory_identity(alice)
    for _ in range(talks):
        memory.people.meet(identity, "Alice", "2026-03-01T10:00:00+00:00", talk=True)
    plain = hears(mara, alice, "The ferry leaves at noon.").importance
    memory.profiles.put(Profile(identity, relationship=Relationship(favorability)))
    expected = plain - memory.people.sender_bonus(identity) + bonus
    assert hears(mara, alice, "The ferry leaves at noon.").importance == expected


def talked(sessions, lines, kind="say", warmth=0.0, standing=None):
    """How it stands with somebody after so many conversations of so many lines."""
    from contrib_ai_memory.records import Entry

    standing, private = standing or Relationship(), kind == "whisper"
    for session in range(sessions):
        for line in range(lines):
            when = f"2026-03-{session % 28 + 1:02d}T10:{line % 60:02d}:00+00:00"
            entry = Entry(1, when, "x", kind, private=private, session_id=f"s{session}")
            standing = entity_consolidation.moved(standing, entry, warmth)
    return standing


def test_an_evening_of_mere_talk_moves_little_and_a_year_of_it_makes_an_acquaintance():
    assert talked(1, 400).favorability == pytest.approx(0.15)
    assert talked(1, 400).interactions == 400
    assert talked(2, 400).favorability == pytest.approx(0.2)
    assert talked(365, 400).state == "acquaintance"


def test_what_is_confided_makes_a_friend_and_no_more():
    assert talked(1, 50, "whisper").favorability == pytest.approx(0.15)
    assert talked(365, 50, "whisper").state == "friend"


def test_kindness_goes_further_than_talk_and_flattery_has_an_end():
    assert talked(1, 2, warmth=entity_consolidation.KIND).favorability == pytest.approx(0.16)
    assert talked(1, 90, warmth=entity_consolidation.KIND).favorability == pytest.approx(0.2)
    assert talked(30, 9, warmth=entity_consolidation.KIND).state == "close"


def test_to_go_to_and_fro_between_two_conversations_gains_nothing_more():
    from contrib_ai_memory.records import Entry

    standing = Relationship()
    for number in range(200):
        entry = Entry(1, "2026-03-01T10:00:00+00:00", "x", "say", session_id=f"s{number % 2}")
        standing = entity_consolidation.moved(standing, entry, 0.0)
    assert standing.favorability == pytest.approx(0.2)


def test_every_insult_counts():
    dear = Relationship(favorability=0.9)
    assert talked(1, 10, warmth=entity_consolidation.HARSH, standing=dear).state in (
        "acquaintance",
        "friend",
    )
    assert talked(1, 40, warmth=entity_consolidation.HARSH, standing=dear).favorability == 0


def test_nobody_is_close_after_an_evening_of_talk_in_the_room(mara, alice, bram):
    for number in range(95):
        hears(mara, alice, f"I have {number} boats in Elmstead.")
    run_pass(mara)
    assert profile_of(mara, alice).relationship.state == "stranger"
    assert on_disk(mara)[mara.get_memory_identity(alice)] == profile_of(mara, alice)


# --- what people are ------------------------------------------------------------------------------


def test_who_is_played_is_a_player_who_is_not_an_npc_and_what_speaks_an_object(
    mara, alice, bram, tavern
):
    from evennia.utils.create import create_object

    npc = create_object("typeclasses.npcs.AssistantNPC", key="Cora", location=tavern, home=tavern)
    sword = create_object("typeclasses.objects.Object", key="sword", location=tavern, home=tavern)
    alice.attributes.add("prelogout_location", tavern)  # as Evennia does when somebody plays her
    for who in (alice, bram, npc):
        who.execute_cmd("say I keep the ferry at Millbrook.")
    tavern.msg_contents(('The sword says, "I was forged."', {"type": "say"}), from_obj=sword)
    run_pass(mara)
    kinds = {who.key: profile_of(mara, who).entity_type for who in (alice, bram, sword)}
    assert kinds == {"Alice": "player", "Bram": "npc", "sword": "object"}
    assert profile_of(mara, npc) is None  # the talk of an NPC that nobody plays describes nobody
    assert mara.memory.people.get(mara.get_memory_identity(npc)).entity_type == "npc"


# --- what lasts of what is told -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Alice keeps the ferry at Millbrook.", "occupation"),
        ("Alice is the midwife of Elmstead.", "occupation"),
        ("Alice lives in a mill near Thornwick.", "place"),
        ("Alice was born in Elmstead.", "place"),
        ("Alice's brother Jory guards the north gate.", "relationship"),
        ("Alice has two sisters in Thornwick.", "relationship"),
        ("Alice prefers tea over coffee.", "preference"),
        ("Alice can't stand the smell of fish.", "preference"),
        ("Alice hides a silver key under the third step.", "fact"),
        ("Alice has a wooden leg since the war.", "fact"),
        ("Alice lost her farm in the great flood.", "fact"),
        ("Alice's name is Alice Thorn of Greyfen.", "fact"),
    ],
)
def test_what_lasts_is_an_attribute(sentence, kind):
    assert kind_of(sentence, "Alice") == kind


@pytest.mark.parametrize(
    "sentence",
    [
        "Alice is going to poke the bear.",
        "Alice would love to see the painting.",
        "Alice wants to head in that direction.",
        "Alice is tired.",
        "Alice is very tired.",
        "Alice never came back to me.",
        "Alice is so proud of you.",
        "Alice loves it!",
        "Alice loves how it looks.",
        "Alice missed it but it was a powerful reminder.",
        "Alice feels like they were not welcome.",
        "Alice rolled a 20 for stealth!",
        "Alice runs down to the ferry with Grog.",
        "Alice has no idea what to do.",
        "Alice had a blast at the fair last month.",
        "Alice totally agrees.",
        "Alice won't give up on the mill.",
        'Alice says: "Bram lost two of his sheep."',
        "Bram keeps sheep on the hill.",
    ],
)
def test_what_passes_or_is_not_about_somebody_is_none(sentence):
    assert kind_of(sentence, "Alice") is None


def attribute(value, updated="2026-03-01", **more):
    return ProfileAttribute(**{"type": "fact", "value": value, "updated": updated} | more)


def joined(*attributes):
    known = []
    for each in attributes:
        pairs = entity_consolidation.pairs_of([each], known)
        found = dict(zip(pairs, router.without_model().compare(list(pairs.values())), strict=True))
        entity_consolidation._join(known, each, found, lambda old: False)
    return [each.value for each in known]


def test_an_attribute_that_is_contradicted_gives_way_to_the_newer_whichever_comes_first():
    before = attribute("Alice keeps the ferry at Millbrook.")
    after = attribute("Alice no longer keeps the ferry at Millbrook.", "2026-03-05")
    assert joined(before, after) == joined(after, before) == [after.value]
    other = attribute("Alice keeps the inn at Millbrook.")
    assert joined(other, after) == [other.value, after.value]


def test_a_liking_takes_the_place_of_the_one_before_it():
    before = attribute("Cerys loves cider.", type="preference")
    after = attribute("Cerys hates cider.", "2026-03-05", type="preference")
    tea = attribute("Cerys loves tea.", type="preference")
    assert joined(before, tea, after) == [tea.value, after.value]


def test_what_is_whispered_ends_no_attribute_that_all_may_know():
    aloud = attribute("Alice keeps the ferry at Millbrook.")
    secret = attribute(
        "Alice no longer keeps the ferry at Millbrook.",
        "2026-03-05",
        private=True,
        witnesses=("#1",),
    )
    assert joined(aloud, secret) == [aloud.value, secret.value]


def test_an_attribute_of_a_night_long_ago_ends_with_its_fact(mara, alice, bram, settings):
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 1}
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    night(mara)
    assert [a.value for a in profile_of(mara, alice).attributes] == [
        "Alice keeps the ferry at Millbrook."
    ]
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 99}  # nothing is drawn together tonight
    alice.execute_cmd("say I no longer keep the ferry at Millbrook.")
    night(mara)
    assert profile_of(mara, alice).attributes == ()
    assert on_disk(mara)[mara.get_memory_identity(alice)].attributes == ()


# --- run again, killed, reset ---------------------------------------------------------------------


@pytest.fixture
def days(mara, alice, bram, settings):
    """Talk enough for two batches of the journal and attributes of two people."""
    settings.CONTRIB_AI_MEMORY |= {"MIN_OBSERVATIONS": 3}
    bram.execute_cmd("say I keep sheep on the hill.")
    for number in range(6):
        alice.execute_cmd(f"say I sold {number + 2} boats to Bram. I prefer tea over coffee.")
        alice.execute_cmd(f"whisper Mara = I hid {number + 2} keys in Elmstead.")
        bram.execute_cmd(f"say Mara, you are kind. Alice owes me {number + 2} silver pieces.")
    return mara


def test_the_pass_run_twice_changes_nothing(days):
    run_pass(days)
    before = on_disk(days)
    assert len(before) == 2
    run_pass(days)
    assert on_disk(days) == before
    assert days.memory.journal.cursors[learning.CURSOR] == len(days.memory.journal)


@pytest.mark.parametrize("back_to", [0, 1, 7, 16])
def test_a_pass_that_lost_its_place_counts_nothing_twice(days, back_to):
    run_pass(days)
    before = on_disk(days)
    days.memory.journal.set_cursor(learning.CURSOR, back_to)
    days.memory.profiles = Profiles(days)
    run_pass(days)
    assert on_disk(days) == before


class Killed(Exception):
    """The server is gone."""


@pytest.mark.parametrize("at", range(12))
def test_killed_at_any_write_and_run_again_it_ends_in_the_same_state(days, monkeypatch, at):
    """Killed after the `at`-th profile was written: the cursor is what it was before the step."""
    written = []
    put = Profiles.put

    def dying(self, profile):
        put(self, profile)
        written.append(profile)
        if len(written) == at + 1:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(Profiles, "put", dying)
        try:
            run_pass(days)
        except Killed:
            days.memory.profiles = Profiles(days)
    run_pass(days)
    interrupted = on_disk(days)
    days.memory.profiles.clear()
    days.memory.journal.set_cursor(learning.CURSOR, 0)
    run_pass(days)
    assert on_disk(days) == interrupted


def test_what_is_erased_while_a_provider_thinks_does_not_come_back(days, monkeypatch):
    describe = type(router.without_model()).describe
    identity = days.get_memory_identity(days.search("Alice"))
    memory, asked = days.memory, []

    def erasing(self, name, observations, known=()):
        asked.append(name)
        if name == "Alice":
            memory.profiles.forget(identity)
            memory.journal.remove(range(1, len(memory.journal) + 1))
        return describe(self, name, observations)

    monkeypatch.setattr(type(router.without_model()), "describe", erasing)
    run_pass(days)
    assert "Alice" in asked
    assert memory.profiles.get(identity) is None
    assert identity not in on_disk(days)


def test_an_entry_erased_while_a_provider_thinks_leaves_no_attribute(days, monkeypatch):
    describe = type(router.without_model()).describe
    gone = []

    def erasing(self, name, observations, known=()):
        drafts = describe(self, name, observations)
        if name == "Alice" and not gone:
            gone.append(drafts[0].evidence[0])
            days.memory.journal.remove(gone)
            offload.wait(days.memory.profiles.take_out(Removal({*gone})))
        return drafts

    monkeypatch.setattr(type(router.without_model()), "describe", erasing)
    run_pass(days)
    assert gone
    for profile in on_disk(days).values():
        assert not any(noted.journal_id in gone for noted in profile.observations)
        assert all(set(gone).isdisjoint(known.evidence) for known in profile.attributes)


def test_entries_that_are_forgotten_leave_no_observation_and_no_attribute(days):
    run_pass(days)
    gone = {e.id for e in days.memory.journal.read() if "boats" in e.content}
    assert offload.wait(days.memory.profiles.take_out(Removal(gone))) > 0
    for profile in on_disk(days).values():
        assert not any(noted.journal_id in gone for noted in profile.observations)
        assert all(gone.isdisjoint(known.evidence) for known in profile.attributes)
        assert not any("boats" in text for text in texts(profile))


# --- bounds ---------------------------------------------------------------------------------------


def test_however_talkative_somebody_is_no_new_observation_is_lost(mara, alice, monkeypatch):
    lost = []
    last = stored._last

    def watching(notes, most, worth):
        left = last(notes, most, worth)
        seen = [n for n in notes if isinstance(n, stored.ProfileObservation)]
        lost.extend(n for n in seen if n not in left and not n.consolidated)
        return left

    monkeypatch.setattr(stored, "_last", watching)
    for number in range(60):
        hears(mara, alice, " ".join(f"I have {number} boats in {n} ports." for n in range(20)))
    run_pass(mara)
    assert lost == []
    profile = profile_of(mara, alice)
    assert profile.relationship.interactions == 60
    assert len(profile.observations) <= stored.OBSERVATIONS_KEPT
    assert len(profile.attributes) <= stored.ATTRIBUTES_KEPT


def test_a_long_sentence_is_cut(mara, alice):
    hears(mara, alice, "I sail " + "on and on " * 300)
    run_pass(mara)
    [text] = texts(profile_of(mara, alice))
    assert len(text) <= entity_consolidation.TEXT_LENGTH
    assert text.endswith("…")


def test_a_copied_npc_knows_nobody(mara, alice):
    hears(mara, alice, "I keep the ferry at Millbrook.")
    run_pass(mara)
    attributes.delete_all(mara)
    assert on_disk(mara) == {}
