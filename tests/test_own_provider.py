"""PROVIDER: the setting that chooses who answers, a class of the game's own among them."""

import textwrap

import pytest
from django.core.exceptions import ImproperlyConfigured

from contrib_ai_memory import conf, offload, preflight
from contrib_ai_memory.llm import router
from contrib_ai_memory.store import memory_store

ORACLE = """
    from contrib_ai_memory.offline.offline_provider import OfflineProvider
    from contrib_ai_memory.llm.provider import ProviderError
    from contrib_ai_memory.records import FactDraft, Reply


    class Oracle(OfflineProvider):
        name = "oracle"

        def reply(self, request):
            if "future" in request.utterance:
                raise ProviderError("the stars are silent")
            return Reply(f"The stars know you, {request.speaker}.")

        def extract_facts(self, entries, npc_name, around=()):
            return [FactDraft("The moon is full.", (entries[0].id,))]


    class Mute:
        name = "mute"
"""


@pytest.fixture
def chosen(settings, store_folder, tmp_path, monkeypatch):
    """chosen(provider, **more) puts PROVIDER into the settings of a game that has world/oracle."""
    (tmp_path / "oracle_of_the_tests.py").write_text(textwrap.dedent(ORACLE))
    monkeypatch.syspath_prepend(tmp_path)

    def choose(provider, **more):
        more = {"PROVIDER": provider} | more
        settings.CONTRIB_AI_MEMORY = {**settings.CONTRIB_AI_MEMORY, **more}

    yield choose
    router.breaker.reset()


def test_a_class_of_the_game_answers_and_sleeps(chosen, mara, alice, hears):
    chosen("oracle_of_the_tests.Oracle")
    heard = hears(alice)
    alice.execute_cmd("say Mara, who keeps the ferry at Millbrook?")
    assert any("The stars know you, Alice." in line for line in heard)
    alice.execute_cmd("say I keep the ferry at Millbrook.")
    offload.wait(mara.assistant.sleep.whole_night())
    [fact] = memory_store.shared().list(mara.memory.id, record="fact")
    assert (fact.content, fact.provider) == ("The moon is full.", "oracle")
    assert "oracle_of_the_tests.Oracle" in router.status()


def test_what_it_cannot_do_the_offline_provider_does(chosen, mara, alice, hears):
    chosen("oracle_of_the_tests.Oracle")
    heard = hears(alice)
    alice.execute_cmd("say Mara, what is my future?")
    assert any("I know nothing about that, Alice." in line for line in heard)
    assert router.breaker.unusable == {"reply": "the stars are silent"}


def test_offline_leaves_a_configured_server_alone(chosen, server, mara, alice):
    llm = {"base_url": server.url, "model": "m"}
    chosen("offline", LLM=llm)
    alice.execute_cmd("say Mara, good day.")
    assert server.requests == []
    chosen("openai", LLM=llm)
    alice.execute_cmd("say Mara, good day again.")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("world.no_such_module.Oracle", "ModuleNotFoundError: No module named"),
        ("oracle_of_the_tests.Nobody", 'does not define a "Nobody"'),
        ("oracle_of_the_tests.Mute", "it is no provider: it needs the methods"),
        ("openai", "it needs the settings of a server, CONTRIB_AI_MEMORY['LLM']"),
    ],
)
def test_one_that_cannot_be_used_is_told_at_the_start_in_one_sentence(chosen, provider, said):
    chosen(provider)
    [problem] = preflight.faults()
    assert problem.startswith(f"settings.CONTRIB_AI_MEMORY['PROVIDER'] = {provider!r}: ")
    assert said in problem


def test_what_is_neither_a_name_nor_a_path_is_refused(chosen):
    chosen("gpt")
    with pytest.raises(ImproperlyConfigured, match=r"'gpt': must be openai, offline, or the path"):
        conf.get()
