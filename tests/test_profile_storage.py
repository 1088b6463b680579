"""Storage of profiles: read back as written, bounded, one Attribute per identity."""

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrib_ai_memory.store import profiles as stored
from contrib_ai_memory.store.attributes import from_plain
from contrib_ai_memory.store.profiles import (
    Profile,
    ProfileAttribute,
    ProfileObservation,
    Profiles,
    Relationship,
)

quick = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def on_disk(mara):
    """Every profile as a server that starts anew would find it."""
    fresh = Profiles(mara)
    return {identity: fresh.get(identity) for identity in fresh.identities()}


identities = st.text(
    st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=300
)
words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=40)
circles = st.lists(st.sampled_from(["#1@a", "#2@b", "#3@c"]), max_size=3, unique=True).map(tuple)
noted = st.builds(
    ProfileObservation,
    text=words,
    journal_id=st.integers(1, 500),
    timestamp=words,
    private=st.booleans(),
    witnesses=circles,
    sentence=st.integers(0, 3),
    consolidated=st.booleans(),
)
known = st.builds(
    ProfileAttribute,
    type=st.sampled_from(["fact", "preference"]),
    value=words,
    evidence=st.lists(st.integers(1, 500), max_size=4).map(tuple),
    confidence=st.floats(0, 1),
    updated=words,
    private=st.booleans(),
    witnesses=circles,
)
profiles = st.builds(
    Profile,
    entity_id=identities,
    entity_type=st.sampled_from(["player", "npc", "object"]),
    name=words,
    observations=st.lists(noted, max_size=5).map(tuple),
    attributes=st.lists(known, max_size=5).map(tuple),
    relationship=st.builds(
        Relationship,
        favorability=st.floats(0, 1),
        interactions=st.integers(0, 9),
        last_seen=words,
    ),
    through=st.integers(0, 500),
    settling=st.integers(0, 500),
)


@quick
@given(st.lists(profiles, max_size=5))
def test_every_profile_is_read_back_as_it_was_written(mara, made):
    kept = mara.memory.profiles
    kept.clear()
    for profile in made:
        kept.put(profile)
    expected = {profile.entity_id: profile for profile in made}
    assert on_disk(mara) == expected
    assert set(kept.identities()) == set(expected)


def test_identities_that_differ_in_capitals_alone_are_two(mara):
    kept = mara.memory.profiles
    for identity in ("log:Bram", "log:bram", "log:bram/x"):
        kept.put(Profile(identity, name=identity))
    assert {key: found.name for key, found in on_disk(mara).items()} == {
        key: key for key in ("log:Bram", "log:bram", "log:bram/x")
    }
    assert kept.forget("log:Bram") is True
    assert kept.forget("log:Bram") is False
    assert set(on_disk(mara)) == {"log:bram", "log:bram/x"}


@quick
@given(st.lists(noted, max_size=12), st.lists(noted, max_size=12))
def test_an_observation_added_again_changes_nothing(first, second):
    once = Profile("#1@a").with_observations(first).with_observations(second)
    assert once.with_observations(first).with_observations(second) == once
    keys = [each.key for each in once.observations]
    assert keys == sorted(set(keys))


def many(count, consolidated=0):
    return [
        ProfileObservation(f"Number {n}.", n, consolidated=n <= consolidated)
        for n in range(1, count + 1)
    ]


def test_observations_are_bounded_and_those_go_first_that_became_attributes():
    profile = Profile("#1@a", observations=tuple(many(200, consolidated=5)))
    more = profile.with_observations(
        [ProfileObservation("New.", number) for number in range(1000, 1008)]
    )
    ids = [each.journal_id for each in more.observations]
    assert len(ids) == stored.OBSERVATIONS_KEPT
    assert ids[0] == 9  # five that had become attributes, then the three oldest
    assert ids[-1] == 1007


def test_after_consolidation_old_observations_are_pruned_and_attributes_bounded():
    profile = Profile("#1@a", observations=tuple(many(120)))
    attributes = [ProfileAttribute("fact", f"F{n}", (n,), n / 100) for n in range(80)]
    done = profile.consolidated({each.key for each in profile.observations}, attributes, 120)
    assert [each.journal_id for each in done.observations] == list(range(71, 121))
    assert len(done.attributes) == stored.ATTRIBUTES_KEPT
    assert done.attributes[0].value == "F30"


def test_few_profiles_are_held_in_memory(mara):
    kept = mara.memory.profiles
    for number in range(stored.PROFILES_IN_MEMORY + 20):
        kept.put(Profile(f"#{number}@a", name=str(number)))
    assert len(kept._read) == stored.PROFILES_IN_MEMORY
    assert kept.get("#0@a").name == "0"
    assert len(kept) == stored.PROFILES_IN_MEMORY + 20


def test_a_profile_that_a_newer_version_wrote_is_read(mara):
    plain = stored.to_plain(Profile("#1@a", observations=(ProfileObservation("Sings.", 3),)))
    plain["observations"][0]["mood"] = plain["colour"] = "blue"
    assert from_plain(Profile, plain).observations == (ProfileObservation("Sings.", 3),)
    assert plain["relationship"]["state"] == "stranger"
    assert replace(from_plain(Profile, plain), observations=()) == Profile("#1@a")
