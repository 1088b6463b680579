"""settings.CONTRIB_AI_MEMORY: defaults, and errors that say what to do."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from contrib_ai_memory import conf


def test_nothing_has_to_be_set(settings):
    del settings.CONTRIB_AI_MEMORY
    assert conf.get().TICK_RATE == 5
    assert conf.get().LLM is None


def test_a_changed_setting_is_in_force_at_once(settings):
    settings.CONTRIB_AI_MEMORY = {"TICK_RATE": 7}
    assert conf.get().TICK_RATE == 7
    settings.CONTRIB_AI_MEMORY = {"TICK_RATE": 9}
    assert conf.get().TICK_RATE == 9


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"TICK_RATE": "fast"}, ["['TICK_RATE'] = 'fast'", "a valid integer"]),
        ({"TICK_RATE": -1}, ["['TICK_RATE'] = -1", "greater than or equal to 1"]),
        ({"TICKRATE": 5}, ["['TICKRATE'] = 5", "no such key", "TICK_RATE"]),
        ({"ENABLED": "perhaps"}, ["['ENABLED'] = 'perhaps'", "boolean"]),
        ({"LLM": {"base_url": "nonsense", "model": "m"}}, ["['LLM']['base_url'] = 'nonsense'"]),
        ({"LLM": {"model": "m"}}, ["['LLM']['base_url']", "missing"]),
        ({"LLM": {"url": "http://x"}}, ["['LLM']['url']", "known are base_url"]),
        ({"VECTOR_STORE": "qdrant"}, ["['VECTOR_STORE'] = 'qdrant'"]),
        ([], ["must be a dict"]),
    ],
)
def test_a_broken_setting_is_told_with_its_key_its_value_and_what_is_allowed(
    settings, broken, said
):
    settings.CONTRIB_AI_MEMORY = broken
    with pytest.raises(ImproperlyConfigured) as error:
        conf.get()
    for words in said:
        assert words in str(error.value)


def test_every_broken_key_is_told_not_only_the_first(settings):
    settings.CONTRIB_AI_MEMORY = {"TICK_RATE": "fast", "MAX_LINE": 1}
    with pytest.raises(ImproperlyConfigured, match=r"TICK_RATE(.|\n)*MAX_LINE"):
        conf.get()
