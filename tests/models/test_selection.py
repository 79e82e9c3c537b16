"""Choosing a model: what a name means, which key goes where, and that it then answers, over real sockets."""

import asyncio
import subprocess
import sys
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.config import Config, parse_config
from holdfast.errors import ConfigError
from holdfast.messages import SystemMessage, Text, ToolDefinition, UserMessage
from holdfast.models.anthropic_api import AnthropicAdapter
from holdfast.models.availability import Availability, check_availability
from holdfast.models.catalogue import load_catalogue
from holdfast.models.errors import AuthFailed
from holdfast.models.model import Model, ModelReply, ModelRequest, ask
from holdfast.models.openai_chat_api import OpenAIChatAdapter
from holdfast.models.openai_responses_api import OpenAIResponsesAdapter
from holdfast.models.selection import (
    ResolvedModel,
    create_adapter,
    create_model,
    model_name,
    resolve_model,
)
from holdfast.models.text_protocol import TextProtocolModel
from support.list_server import listing
from support.provider_server import Failure, Script, serving

KEY = "sk-loopback-0123456789"
HELLO = ModelRequest(messages=(SystemMessage("Be brief."), UserMessage((Text("hello"),))), max_tokens=64)
READ = ToolDefinition("Read", "Reads a file.", {"type": "object"})


def resolved(name: str, env: Mapping[str, str] | None = None, config: Config | None = None) -> ResolvedModel:
    return resolve_model(name, load_catalogue(config), env or {})


def refused(name: str, config: Config | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        create_model(name, config, {})
    return caught.value


def asked(model: Model, request: ModelRequest = HELLO) -> ModelReply:
    async def run() -> ModelReply:
        try:
            return await ask(model, request)
        finally:
            await model.aclose()

    return asyncio.run(run())


# What a name means


@pytest.mark.parametrize(
    ("name", "model", "url"),
    [
        ("anthropic/claude-opus-5-5", "claude-opus-5-5", "https://api.anthropic.com"),
        ("anthropic/claude-next@http://127.0.0.1:9/v1/", "claude-next", "http://127.0.0.1:9"),
        ("anthropic/claude-next@http://127.0.0.1:9", "claude-next", "http://127.0.0.1:9"),
        ("openai/gpt-6-luna", "gpt-6-luna", "https://api.openai.com/v1"),
        ("openrouter/z-ai/glm-5.2", "z-ai/glm-5.2", "https://openrouter.ai/api/v1"),
        ("vllm/Qwen/Qwen3-8B@https://host/v1/", "Qwen/Qwen3-8B", "https://host/v1"),
        ("ollama/qwen3:8b", "qwen3:8b", "http://127.0.0.1:11434/v1"),
        ("compatible/a@b@http://h:1/v1", "a@b", "http://h:1/v1"),
    ],
)
def test_a_name_says_provider_model_and_address(name: str, model: str, url: str) -> None:
    chosen = resolved(name)
    assert (chosen.entry.model, chosen.url) == (model, url)
    assert chosen.name == name.partition("@http")[0] == chosen.entry.name


@pytest.mark.parametrize(
    ("name", "sentence", "hint"),
    [
        ("", "no model is chosen", "HOLDFAST_MODEL"),
        ("antropic/claude-opus-5-5", "there is no provider `antropic`", "did you mean `anthropic`?"),
        ("claude-opus-5.5", "`claude-opus-5.5` should be `provider/name`", "`anthropic/claude-opus-5-5`"),
        ("openai", "should be `provider/name`", "`openai/NAME`"),
        ("openai/", "should be `provider/name`", "`openai/NAME`"),
        ("compatible/x", "`compatible/x` has no address", "`compatible/x@http://127.0.0.1:8000/v1`"),
        ("compatible/x@http://", "the address of `compatible/x` is not a web address", "x@http://127.0.0.1"),
        (
            "openai/gpt-6-luna",
            "`openai/gpt-6-luna` needs a key, and `OPENAI_API_KEY` is not set",
            "export OPENAI_API_KEY",
        ),
        ("google/gemini-3.8-flash", "`GEMINI_API_KEY` is not set", "holdfast models"),
    ],
)
def test_what_cannot_be_chosen_is_said_with_what_to_do(name: str, sentence: str, hint: str) -> None:
    error = refused(name)
    assert sentence in error.message
    assert hint in error.hint


@given(st.text())
def test_any_name_is_a_model_or_a_sentence(name: str) -> None:
    try:
        found = resolved(name).url
    except ConfigError as error:
        found = f"http: {error.message}" if error.message and error.hint else ""
    assert found.startswith("http")


def test_an_empty_key_is_none() -> None:
    assert resolved("openai/x").missing({"OPENAI_API_KEY": " \n"}) == "OPENAI_API_KEY"
    assert resolved("openai/x").missing({"OPENAI_API_KEY": "k"}) == ""
    assert resolved("ollama/x").missing({}) == ""


def test_the_name_is_what_was_given_then_the_variable_then_the_file() -> None:
    config = parse_config('default_model = "ollama/file"\n', "holdfast.toml")
    env = {"HOLDFAST_MODEL": "ollama/variable"}
    assert model_name("ollama/given", config, env) == "ollama/given"
    assert model_name("", config, env) == "ollama/variable"
    assert model_name("", config, {}) == "ollama/file"
    assert model_name("", Config(), {}) == ""


def test_a_variable_may_say_where_a_provider_is() -> None:
    env = {
        "ANTHROPIC_BASE_URL": "https://gateway.example/v1",
        "OPENAI_BASE_URL": "https://gateway.example/v1",
    }
    assert resolved("anthropic/x", env).url == "https://gateway.example"
    assert resolved("openai/x", env).url == "https://gateway.example/v1"
    assert resolved("openai/x@http://other/v1", env).url == "http://other/v1"
    assert resolved("openai/x", env).key == "OPENAI_API_KEY"
    with pytest.raises(ConfigError, match="is not a web address: `nowhere`"):
        resolved("openai/x", {"OPENAI_BASE_URL": "nowhere"})


# Which key goes where


def test_a_key_is_needed_at_the_providers_own_address_only() -> None:
    assert resolved("openai/x").is_key_needed
    assert not resolved("openai/x@http://127.0.0.1:1/v1").is_key_needed
    assert resolved("openai/x@http://127.0.0.1:1/v1").key == "OPENAI_API_KEY"
    assert not resolved("ollama/x").is_key_needed
    assert resolved("vllm/x").key == "VLLM_API_KEY"


@pytest.mark.parametrize("name", ["anthropic/claude-opus-5-5", "openai/any", "gemini/any", "dashscope/x"])
def test_an_address_in_a_file_gets_no_key_of_a_known_provider(name: str) -> None:
    config = parse_config(f'[models."{name}"]\nurl = "http://elsewhere.example/v1"\n', "holdfast.toml")
    chosen = resolved(name, {}, config)
    assert chosen.url.startswith("http://elsewhere.example")
    assert chosen.key == ""
    assert not chosen.is_key_needed
    sent_there = resolved(f"{name}@http://elsewhere.example/v1", {}, config)
    assert sent_there.key.endswith("_API_KEY")


def test_a_provider_of_a_file_has_a_key_of_its_own() -> None:
    text = '[models."house/big"]\nurl = "https://llm.house.example/v1"\n'
    chosen = resolved("house/big", {}, parse_config(text, "holdfast.toml"))
    assert (chosen.key, chosen.is_key_needed) == ("HOUSE_API_KEY", False)


# How it is spoken to


def test_entries_become_wires() -> None:
    opus, haiku = (
        create_adapter(resolved(f"anthropic/{m}")) for m in ("claude-opus-5-5", "claude-haiku-4-5")
    )
    assert isinstance(opus, AnthropicAdapter)
    assert isinstance(haiku, AnthropicAdapter)
    assert (opus.thinking, opus.takes_temperature, opus.cache) == ("adaptive", False, "5m")
    assert (haiku.thinking, haiku.takes_temperature) == ("budget", True)
    assert "`ANTHROPIC_API_KEY`" in opus.auth_hint
    sol = create_adapter(resolved("openai/gpt-6.1-sol"))
    assert isinstance(sol, OpenAIResponsesAdapter)
    assert (sol.keeps_reasoning, sol.takes_temperature) == (True, False)
    flash, kimi, local = (
        create_adapter(resolved(name))
        for name in ("deepseek/deepseek-flash", "moonshot/kimi-k3.1-pro", "ollama/x")
    )
    assert isinstance(flash, OpenAIChatAdapter)
    assert (flash.thinking, flash.reasoning_field, flash.limit_field) == (
        "switch and effort",
        "reasoning_content",
        "max_tokens",
    )
    assert isinstance(kimi, OpenAIChatAdapter)
    assert (kimi.thinking, kimi.takes_temperature, kimi.limit_field) == (
        "effort",
        False,
        "max_completion_tokens",
    )
    assert isinstance(local, OpenAIChatAdapter)
    assert (local.system, local.thinking, local.reasoning_field) == ("merged", "", "")


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("anthropic/claude-fable-5-2", {"output_config": {"effort": "low"}}),
        ("anthropic/claude-opus-5-5", {"output_config": {"effort": "low"}}),
        ("anthropic/claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}),
        ("anthropic/claude-haiku-5-5", {"thinking": {"type": "disabled"}}),
        ("anthropic/claude-opus-5", {"thinking": {"type": "disabled"}}),
        ("anthropic/claude-haiku-4-5", {"thinking": None}),
        ("anthropic/claude-next", {"thinking": None, "output_config": None}),
        ("openai/gpt-6-astra", {"reasoning": {"effort": "low"}}),
        ("openai/gpt-6.1-sol", {"reasoning": {"effort": "low"}}),
        ("openai/gpt-6.1-terra", {"reasoning": {"effort": "none"}}),
        ("openai/gpt-6-luna", {"reasoning": {"effort": "none"}}),
        ("openai/gpt-next", {"reasoning": None}),
        ("moonshot/kimi-k3.1-pro", {"reasoning_effort": "low"}),
        ("google/gemini-4-argon", {"reasoning_effort": "low"}),
        ("ollama/x", {"reasoning_effort": None, "thinking": None}),
    ],
)
def test_where_no_thinking_is_asked_for_a_model_is_told_so_in_its_own_words(
    name: str, fields: dict[str, object]
) -> None:
    body = create_adapter(resolved(name)).body("x", HELLO)
    assert {key: body.get(key) for key in fields} == fields


def test_a_model_of_another_protocol_is_not_told_words_it_does_not_know() -> None:
    text = (
        '[models."openai/gpt-6-luna"]\nprotocol = "messages"\n'
        '[models."anthropic/claude-haiku-5-5"]\nprotocol = "chat"\nthinking = "effort"\n'
        '[models."anthropic/claude-opus-5-5"]\nthinking_off = "default"\n'
    )
    config = parse_config(text, "holdfast.toml")
    for name in config.models:
        body = create_adapter(resolved(name, {}, config)).body("x", HELLO)
        assert not {"thinking", "output_config", "reasoning_effort"} & set(body)


def test_a_file_changes_how_a_model_is_spoken_to() -> None:
    text = (
        '[models."openai/gpt-6-luna"]\nprotocol = "chat"\nlimit_field = "max_completion_tokens"\n'
        '[models."llamacpp/x"]\nprotocol = "messages"\n[models."openai/old"]\nthinking = "no"\n'
        '[models."ollama/x"]\nsystem = "mock_pair"\n'
    )
    config = parse_config(text, "holdfast.toml")
    luna, local, old, pair = (
        create_adapter(resolved(n, {}, config))
        for n in ("openai/gpt-6-luna", "llamacpp/x", "openai/old", "ollama/x")
    )
    assert isinstance(luna, OpenAIChatAdapter)
    assert luna.limit_field == "max_completion_tokens"
    assert isinstance(local, AnthropicAdapter)
    assert local.cache == ""
    assert isinstance(old, OpenAIResponsesAdapter)
    assert not old.keeps_reasoning
    assert isinstance(pair, OpenAIChatAdapter)
    assert pair.system == "mock_pair"


@pytest.mark.parametrize(
    ("name", "path", "header"),
    [
        ("anthropic/claude-opus-5-5", "/v1/messages", "x-api-key"),
        ("openai/gpt-6-luna", "/v1/responses", "authorization"),
        ("deepseek/deepseek-flash", "/v1/chat/completions", "authorization"),
        ("moonshot/kimi-k3.1-pro", "/v1/chat/completions", "authorization"),
        ("google/gemini-3.8-flash", "/v1/chat/completions", "authorization"),
        ("ollama/qwen3", "/v1/chat/completions", "authorization"),
    ],
)
def test_a_chosen_model_answers(name: str, path: str, header: str) -> None:
    key = resolved(name).key
    with serving(Script(parts=(Text("hi there"),))) as server:
        model = create_model(f"{name}@{server.openai_url}", None, {key: f" {KEY}\n"})
        reply = asked(model)
    assert (reply.text, reply.stop, model.name) == ("hi there", "end", name)
    assert [seen.path for seen in server.requests] == [path]
    assert server.requests[0].headers[header].removeprefix("Bearer ") == KEY
    assert server.requests[0].json["model"] == name.partition("/")[2]


def test_no_key_no_header() -> None:
    with serving(Script()) as server:
        asked(create_model(f"ollama/x@{server.openai_url}", None, {}))
        asked(create_model(f"anthropic/x@{server.url}", None, {}))
    assert not any({"authorization", "x-api-key"} & set(seen.headers) for seen in server.requests)


def test_a_refused_key_says_which_variable() -> None:
    with serving(Failure(kind="auth")) as server, pytest.raises(AuthFailed) as caught:
        asked(create_model(f"openai/x@{server.openai_url}", None, {"OPENAI_API_KEY": KEY}))
    assert "`OPENAI_API_KEY`" in caught.value.hint
    assert KEY not in str(caught.value) + caught.value.hint


def test_a_model_without_tools_speaks_the_text_protocol() -> None:
    config = parse_config('[models."ollama/tiny"]\ntools = false\n', "holdfast.toml")
    with serving(Script(parts=(Text("Thought: look\nAction: Read[{}]"),))) as server:
        model = create_model(f"ollama/tiny@{server.openai_url}", config, {})
        reply = asked(model, ModelRequest(messages=HELLO.messages, tools=(READ,)))
    assert isinstance(model, TextProtocolModel)
    assert [call.name for call in reply.calls] == ["Read"]
    sent = server.requests[0].json
    assert "tools" not in sent
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["messages"][0]["content"].startswith("Be brief.\n\nYou can use tools")


def test_without_an_environment_the_process_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert create_model("openai/gpt-6-luna").name == "openai/gpt-6-luna"
    assert KEY not in repr(create_model("openai/gpt-6-luna"))


def test_choosing_loads_no_provider() -> None:
    code = (
        "import sys; from holdfast.models.selection import resolve_model, load_catalogue\n"
        "resolve_model('openai/x', load_catalogue(), {}); print({'httpx2', 'asyncio', 'ssl'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Who answers


def test_servers_say_which_models_they_have() -> None:
    with serving(models=("qwen3", "glm")) as server, serving(models=("claude-opus-5-5",)) as other:
        chosen = [resolved(f"ollama/{name}@{server.openai_url}") for name in ("qwen3", "gone")] + [
            resolved(f"anthropic/x@{other.url}/v1")
        ]
        found = check_availability(chosen, {"ANTHROPIC_API_KEY": KEY})
    assert [found[one.url, one.key].served for one in chosen] == [
        {"qwen3": 0, "glm": 0},
        {"qwen3": 0, "glm": 0},
        {"claude-opus-5-5": 0},
    ]
    assert all(one.is_available for one in found.values())
    # Two names of one address are one question, and each question is a GET with the provider's own header.
    assert [(seen.method, seen.path.partition("?")[0]) for seen in server.requests] == [("GET", "/v1/models")]
    assert "authorization" not in server.requests[0].headers
    assert other.requests[0].headers["x-api-key"] == KEY
    assert "anthropic-version" in other.requests[0].headers


def reached(name: str, env: Mapping[str, str] | None = None, seconds: float = 5.0) -> Availability:
    (found,) = check_availability([resolved(name)], env or {}, seconds).values()
    return found


def test_windows_are_read_where_a_server_says_them() -> None:
    rows = [
        {"id": "by-vllm", "max_model_len": 32_768},
        {"id": "by-openrouter", "context_length": 200_000},
        {"id": "by-llamacpp", "meta": {"n_ctx": 8_192, "n_ctx_train": 131_072}},
        {"id": "models/by-google"},
        {"id": "nonsense", "max_model_len": "many", "context_length": True, "meta": 3},
        "no object",
    ]
    with listing({"data": rows}) as server:
        assert reached(f"vllm/x@{server.url}").served == {
            "by-vllm": 32_768,
            "by-openrouter": 200_000,
            "by-llamacpp": 8_192,
            "by-google": 0,
            "nonsense": 0,
        }
        assert server.seen[0][0] == "/v1/models"


@pytest.mark.parametrize(
    ("answer", "status", "problem"),
    [
        ({"error": "no"}, 401, "the key in `OPENAI_API_KEY` was refused"),
        ({"error": "no"}, 403, "the key in `OPENAI_API_KEY` was refused"),
        ({"error": "no"}, 500, "it answered with status 500"),
        (b"<html>hello</html>", 200, "its answer is not a list of models"),
        (b"\xff\xfe", 200, "its answer is not a list of models"),
        ({"error": "no such path"}, 404, ""),
        ({"data": None}, 200, ""),
        ([{"id": "x"}], 200, ""),
        (3, 200, ""),
    ],
)
def test_any_answer_is_at_most_a_sentence(answer: object, status: int, problem: str) -> None:
    with listing(answer, status=status) as server:
        found = reached(f"openai/x@{server.url}", {"OPENAI_API_KEY": KEY})
    assert found.problem == problem
    assert found.is_available is not bool(problem)


def test_a_key_that_is_not_there_is_not_called_refused() -> None:
    config = parse_config('[models."openai/x"]\nurl = "http://h/v1"\n', "holdfast.toml")
    with listing(status=401) as server:
        assert reached(f"openai/x@{server.url}").problem == "it needs a key: set `OPENAI_API_KEY`"
        chosen = replace(resolved("openai/x", {}, config), url=server.url)
        assert [one.problem for one in check_availability([chosen], {}).values()] == ["it needs a key"]


def test_silence_and_closed_ports_differ_and_end_soon() -> None:
    with listing(silent=True) as server:
        assert "did not answer within 0.2 s" in reached(f"vllm/x@{server.url}", seconds=0.2).problem
    assert "cannot be reached" in reached(f"vllm/x@{server.url}").problem
    assert "name or password" in reached("vllm/x@http://me:secret@127.0.0.1:1/v1").problem
    assert "line break" in reached(f"vllm/x@{server.url}", {"VLLM_API_KEY": "a\nb"}).problem
