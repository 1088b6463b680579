"""`evennia ai_memory model`: tries the configured server over HTTP, and says what to set."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from contrib_ai_memory import conf, preflight

PASSWORD = "heron"


def reads_all(request):
    return f"It is {PASSWORD}." if PASSWORD in request.text else "Good evening, Alice."


def reads_the_end(request):
    """Ollama with a short num_ctx: the beginning is cut off without a word."""
    return reads_all(request) if len(request.text) < 4000 else "What password?"


@pytest.fixture
def tried(server, llm):
    def run(*arguments):
        out = StringIO()
        problem = ""
        try:
            call_command("ai_memory", "model", *arguments, stdout=out)
        except CommandError as error:
            problem = str(error)
        return out.getvalue(), problem

    return run


RECALL = [("recall", {"query": "the ferry"})]

PERSONALITIES = {
    "a good server": (
        {"text": reads_all, "calls": RECALL},
        ["ok   streaming", "ok   JSON: by json_schema", "ok   tools: the model called recall",
         "ok   context: 6300 tokens were read", "The model can be used."],
        "",
    ),
    "no JSON Schema, no tools": (
        {"text": reads_all, "refuses": ("json_schema", "tools")},
        ["poor JSON: by json_object", "poor tools: the server refuses them", "--jinja"],
        "",
    ),
    "llama.cpp without --jinja": (
        {
            "text": reads_all,
            "forbids": {"tools": "tools param requires --jinja flag"},
            "forbids_with": 500,
        },
        ["poor tools: the server refuses them", "--jinja", "The model can be used."],
        "",
    ),
    "no streaming": (
        {"text": reads_all, "streams": False},
        ["poor streaming: the answer came in one piece"],
        "",
    ),
    "a reasoning model of OpenAI": (
        {
            "text": reads_all,
            "forbids": {
                "max_tokens": "Unsupported parameter: 'max_tokens'.",
                "temperature": "Unsupported value: 'temperature' does not support 0.7.",
            },
        },
        ["takes no max_tokens, but max_completion_tokens; that is done", "takes no temperature"],
        "",
    ),
    "a short context that is not told": (
        {"text": reads_the_end},
        ["bad  context: the beginning of a long prompt was not read", "num_ctx"],
        "cannot be used as it is set",
    ),
    "vLLM with a short context": (
        {
            "text": reads_all,
            "get": {"/v1/models": {"data": [{"id": "m", "max_model_len": 4096}]}},
        },
        ["bad  context: the server says 4096 tokens", "CONTEXT_TOKENS to 4096"],
        "cannot be used as it is set",
    ),
    "Ollama that tells its context": (
        {
            "text": reads_all,
            "get": {"/api/ps": {"models": [{"name": "m:latest", "context_length": 2048}]}},
        },
        ["bad  context: the server says 2048 tokens"],
        "cannot be used as it is set",
    ),
    "a model that writes no JSON": (
        {"text": reads_all, "structured": "Certainly! It is important."},
        ["poor JSON", "Rules keep the memory from now on"],
        "",
    ),
    "a small model, whose context window holds small talk alone": (
        {
            "text": reads_all,
            "get": {
                "/v1/models": {
                    "data": [{"id": "m", "max_model_len": 1024, "meta": {"n_params": 1.8e9}}]
                }
            },
        },
        ["It is small", "ok   context: 806 tokens were read", "The model can be used."],
        "",
    ),
    "a small model, whose context window is too short for small talk": (
        {
            "text": reads_all,
            "get": {
                "/v1/models": {
                    "data": [{"id": "m", "max_model_len": 512, "meta": {"n_params": 1.8e9}}]
                }
            },
        },
        ["bad  context: the server says 512 tokens", "-c. It needs 1024."],
        "cannot be used as it is set",
    ),
    "a model that is too small to talk": (
        {
            "text": reads_all,
            "get": {"/v1/models": {"data": [{"id": "m", "meta": {"n_params": 134_515_008}}]}},
        },
        ["bad  size: 0.13B parameters. It is too small to talk.", "take a model of 1B or more"],
        "cannot be used as it is set",
    ),
    "an unknown model": (
        {"status": 404, "get": {"/v1/models": {"data": [{"id": "qwen3:8b"}]}}},
        ["bad  a reply", "The server has the models qwen3:8b."],
        "cannot be used as it is set",
    ),
    "nonsense": (
        {"body": b"<html>", "get": {"/v1/models": [1], "/props": 3}},
        ["bad  a reply", "Check LLM.base_url."],
        "cannot be used as it is set",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", PERSONALITIES)
def test_a_server_is_tried_and_it_is_said_what_to_set(server, tried, kind):
    behaviour, told, failing = PERSONALITIES[kind]
    server.behave(**behaviour)
    shown, problem = tried()
    for line in told:
        assert line in shown
    assert failing in problem
    assert bool(problem) == bool(failing)


def test_the_server_of_the_night_is_tried_with_its_own_settings(server, tried, settings):
    chosen = settings.CONTRIB_AI_MEMORY | {"LLM_NIGHT": {"model": "large"}}
    settings.CONTRIB_AI_MEMORY = chosen
    server.behave(text=reads_all)
    tried("--night")
    assert {request.body["model"] for request in server.requests} == {"large"}


def test_a_slow_server_is_told_from_one_that_cannot_do_it(server, tried, llm):
    llm(timeout=0.2)
    server.behave(text=reads_all, delay=0.4)
    shown, problem = tried()
    assert not problem
    for what in ("Raise LLM.timeout", "set LLM_NIGHT.timeout", "Set LLM.timeout"):
        assert what in shown
    assert not conf.found_of(conf.get().LLM)["nights"]


def test_a_server_that_fails_says_nothing_of_what_the_model_can_do(server, tried):
    server.behave(text=reads_all, structured=lambda request: [][0])  # hangs up
    shown, problem = tried()
    assert "Whether it can keep the memory was not found out" in shown and not problem
    assert "nights" not in conf.found_of(conf.get().LLM)


# --- servers on this machine ----------------------------------------------------------------------


@pytest.fixture
def without_model(settings, store_folder):
    chosen = {**settings.CONTRIB_AI_MEMORY}
    chosen.pop("LLM", None)
    settings.CONTRIB_AI_MEMORY = chosen


def port_of(server):
    return server.url.rpartition(":")[2].removesuffix("/v1")


def listing(*names):
    return {"/v1/models": {"data": [{"id": name} for name in names]}}


def test_without_a_model_one_is_looked_for_on_this_machine(server, tried, without_model, settings):
    port = port_of(server)
    server.behave(text=reads_all, get=listing("nomic-embed-text", "qwen2.5:1.5b", "llama3:8b"))
    shown, problem = tried("--ports", "1", port)
    assert not problem
    assert f"qwen2.5:1.5b at http://127.0.0.1:{port}/v1" in shown
    assert "It has other models too: llama3:8b." in shown
    written = shown.rpartition("CONTRIB_AI_MEMORY = {..., ")[2].strip()
    settings.CONTRIB_AI_MEMORY = eval("{" + written)
    assert conf.get().LLM.model == "qwen2.5:1.5b" and conf.get().CONTEXT_TOKENS == 8000


def test_settings_are_offered_that_fit_what_was_found(server, tried, without_model):
    known = {"data": [{"id": "m", "max_model_len": 4096}]}
    server.behave(text=reads_all, get={"/v1/models": known})
    shown, problem = tried("--ports", port_of(server))
    assert not problem and "'model': 'm'}, 'CONTEXT_TOKENS': 4096}" in shown


def test_a_server_here_that_cannot_be_used_is_not_offered(server, tried, without_model):
    server.behave(status=500, get=listing("m"))
    shown, problem = tried("--ports", port_of(server))
    assert "CONTRIB_AI_MEMORY" not in shown and "No model on this machine can be used" in problem


def test_without_any_server_it_is_said_what_to_start(tried, without_model):
    assert "Start Ollama, LM Studio or llama.cpp" in tried("--ports", "1")[1]


def test_no_key_is_shown(server, tried, llm):
    llm(api_key="sk-very-secret")
    server.behave(status=401, body=json.dumps({"error": "sk-very-secret"}).encode())
    shown, problem = tried()
    assert "sk-very-secret" not in shown + problem


@pytest.mark.parametrize("length", [2048, 32_768])
def test_the_start_reports_a_context_that_is_too_short(server, llm, length):
    server.behave(get={"/v1/models": {"data": [{"id": "m", "max_model_len": length}]}})
    told = [doubt for doubt in preflight.doubts() if "CONTEXT_TOKENS" in doubt]
    assert bool(told) == (length < 8000)
    assert all("reads 2048 tokens at most" in doubt for doubt in told)
