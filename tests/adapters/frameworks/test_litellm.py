"""The adapter for LiteLLM: its callback, under LiteLLM's own functions and router, with a server on loopback."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import litellm
import pytest
from openai_server import TOO_LONG, openai_server

from holdfast.adapters.litellm import HoldfastHandler
from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Folded, OverflowReported, Rewound, ToolReturned

# Pydantic warns of LiteLLM's own types.
pytestmark = pytest.mark.filterwarnings("default")
BUDGET = 16_000
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read",
            "description": "Read a part.",
            "parameters": {"type": "object", "properties": {"part": {"type": "integer"}}},
        },
    }
]
SYSTEM = {
    "role": "system",
    "content": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
}
ASK = {"role": "user", "content": "Read every part."}


LOOP = asyncio.new_event_loop()
"""One for all: LiteLLM tells its callbacks of success in the loop it first ran in."""


def run(coroutine):
    return LOOP.run_until_complete(coroutine)


def words(number: int) -> str:
    """Long enough to be shortened at once, where the number is even."""
    return "\n".join(
        f"value_{number}_{line} is {number * line} ." for line in range(45 if number % 2 else 150)
    )


def reads(*parts: int) -> list[tuple[str, dict]]:
    return [("read", {"part": part}) for part in parts]


@pytest.fixture(autouse=True)
def _no_callbacks():
    yield
    litellm.logging_callback_manager._reset_all_callbacks()


def handler_at(path: Path | None = None, **settings) -> HoldfastHandler:
    store = path / "agent.db" if path else None
    return HoldfastHandler(store=store, **{"budget": BUDGET, **settings})


async def loop(ask, address: str, messages: list, **settings) -> str:
    """An agent's loop, as a program has it: the list only grows, with LiteLLM's own objects in it."""
    while True:
        response = await ask(
            model="openai/model-1",
            messages=messages,
            tools=TOOLS,
            api_base=address,
            api_key="a key for loopback",
            **settings,
        )
        message = response.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            text = words(json.loads(call.function.arguments)["part"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def in_thread(function):
    async def ask(**request):
        return await asyncio.to_thread(function, **request)

    return ask


def conversation(handler: HoldfastHandler, name: str = "thread 1"):
    return handler._conversations.get(name)


def events(handler: HoldfastHandler, kind: type, name: str = "thread 1") -> list:
    entries = conversation(handler, name).session.log.entries()
    return [entry.event for entry in entries if isinstance(entry.event, kind)]


def check_pairs(messages: list[dict]) -> None:
    calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    assert calls == [message["tool_call_id"] for message in messages if message["role"] == "tool"]


WAYS = ["callback", "router", "acompletion", "completion"]


def way_to_ask(way: str, handler: HoldfastHandler, address: str):
    if way == "completion":
        return in_thread(handler.completion)
    litellm.callbacks = [handler]
    if way == "acompletion":
        return handler.acompletion
    if way == "callback":
        return litellm.acompletion
    params = {"model": "openai/model-1", "api_base": address, "api_key": "a key for loopback"}
    router = litellm.Router([{"model_name": "openai/model-1", "litellm_params": params}])
    return router.acompletion


@pytest.mark.parametrize("way", WAYS)
def test_a_long_conversation_is_folded_and_the_model_recalls(tmp_path, way) -> None:
    script = [*(reads(n) for n in range(27)), reads(27, 28, 29)]
    script += [[("Recall", {"query": "value_2_7"})], "It is 14."]
    handler = handler_at(tmp_path)
    messages = [SYSTEM, ASK]
    with openai_server(script) as (address, asked):
        ask = way_to_ask(way, handler, address)
        said = run(loop(ask, address, messages, litellm_session_id="thread 1"))
        assert said == "It is 14."
    assert len(asked) == len(script)
    assert events(handler, Folded)
    assert not events(handler, Rewound)
    for request in asked:
        check_pairs(request["messages"])
        assert request["messages"][0]["role"] == "system"
        assert len(json.dumps(request["messages"])) / 3 < BUDGET * 1.2
        assert [tool["function"]["name"] for tool in request["tools"]] == ["read", "Recall"]
        assert request.keys() == {"messages", "model", "tools"}
    assert "value_2_7 is 14" not in json.dumps(asked[-2]["messages"])
    assert "value_2_7 is 14" in asked[-1]["messages"][-1]["content"]
    assert "Recall" not in json.dumps([m if isinstance(m, dict) else m.model_dump() for m in messages])
    assert {(e.usage.prompt, e.usage.cache_read) for e in events(handler, AssistantReplied)} == {(50, 40)}
    assert events(handler, AssistantReplied)[0].model


@pytest.mark.parametrize("way", ["acompletion", "completion"])
def test_a_request_that_is_too_long_is_sent_once_more_and_smaller(way) -> None:
    script = [*(reads(n) for n in range(8)), TOO_LONG, "Done."]
    handler = handler_at()
    with openai_server(script) as (address, asked):
        ask = way_to_ask(way, handler, address)
        assert run(loop(ask, address, [ASK], litellm_session_id="thread 1")) == "Done."
    assert len(events(handler, OverflowReported)) == 1
    assert len(json.dumps(asked[-1])) < 0.8 * len(json.dumps(asked[-2]))
    with openai_server([*(reads(n) for n in range(8)), TOO_LONG, TOO_LONG, "Done."]) as (address, asked):
        ask = way_to_ask(way, handler_at(), address)
        with pytest.raises(litellm.ContextWindowExceededError):
            run(loop(ask, address, [ASK]))
    assert len(asked) == 10


@pytest.mark.parametrize("way", ["callback", "router"])
def test_after_a_request_that_was_too_long_the_next_is_smaller(way) -> None:
    """A callback cannot send it again: the caller does, or a fallback of the router."""
    handler = handler_at()
    messages = [ASK]
    with openai_server([*(reads(n) for n in range(8)), TOO_LONG, "Done."]) as (address, asked):
        ask = way_to_ask(way, handler, address)
        with pytest.raises(litellm.ContextWindowExceededError):
            run(loop(ask, address, messages, litellm_session_id="thread 1"))
        assert run(loop(ask, address, messages, litellm_session_id="thread 1")) == "Done."
    assert len(events(handler, OverflowReported)) == 1
    assert len(json.dumps(asked[-1])) < 0.8 * len(json.dumps(asked[-2]))


def test_a_fallback_of_the_router_is_packed_smaller() -> None:
    handler = handler_at()
    litellm.callbacks = [handler]
    with openai_server([*(reads(n) for n in range(8)), TOO_LONG, "Done."]) as (address, asked):
        params = {"api_base": address, "api_key": "a key for loopback"}
        names = ("openai/model-1", "openai/model-2")
        models = [{"model_name": name, "litellm_params": {"model": name, **params}} for name in names]
        router = litellm.Router(models, context_window_fallbacks=[{names[0]: [names[1]]}])

        async def ask(api_base, api_key, **request):
            return await router.acompletion(**request)

        assert run(loop(ask, address, [ASK], litellm_session_id="thread 1")) == "Done."
    assert asked[-1]["model"] == "model-2"
    assert len(json.dumps(asked[-1])) < 0.8 * len(json.dumps(asked[-2]))


@pytest.mark.parametrize("way", ["callback", "completion"])
def test_recall_beside_another_call_comes_first(way) -> None:
    script = [
        *(reads(n) for n in range(3)),
        [*reads(3), ("Recall", {"query": "value_0_7"})],
        reads(4),
        "Done.",
    ]
    handler = handler_at()
    messages = [ASK]
    with openai_server(script) as (address, asked):
        run(loop(way_to_ask(way, handler, address), address, messages))
    last = asked[4]["messages"]
    check_pairs(last)
    assert [call["function"]["name"] for call in last[-2]["tool_calls"]] == ["Recall"]
    assert sum(1 for message in messages if not isinstance(message, dict)) == 5


@pytest.mark.parametrize("way", ["callback", "completion"])
def test_recall_has_an_end(way) -> None:
    """The last request offers it no more."""
    recalls = [[("Recall", {"query": f"value_0_{n}"})] for n in range(3)]
    handler = handler_at()
    with openai_server([reads(0), *recalls, "Done."]) as (address, asked):
        assert run(loop(way_to_ask(way, handler, address), address, [ASK])) == "Done."
    offered = ["Recall" in json.dumps(request["tools"]) for request in asked]
    assert offered == [True, True, True, True, False]


def test_conversations_without_a_name_are_known_by_their_lists() -> None:
    handler = handler_at()
    litellm.callbacks = [handler]

    async def play(address: str) -> None:
        lists = [[{"role": "user", "content": f"Read {name}."}] for name in ("one", "two")]
        await asyncio.gather(*(loop(litellm.acompletion, address, messages) for messages in lists))

    with openai_server([*[reads(1)] * 2, *[reads(3)] * 2, "Done.", "Done."]) as (address, _):
        run(play(address))
    names = set(handler._names._names.values())
    assert len(names) == 2
    for name in names:
        assert len(events(handler, ToolReturned, name)) == 2
        assert not events(handler, Rewound, name)


def test_sessions_of_other_keys_and_users_are_apart() -> None:
    handler = handler_at()
    names = {
        handler._name({"messages": [ASK], "litellm_session_id": "s", **more})
        for more in (
            {},
            {"user": "ada"},
            {"metadata": {"user_api_key_hash": "k1"}},
            {"litellm_metadata": {"user_api_key_hash": "k2"}},
        )
    }
    assert len(names) == 4
    assert handler._name({"messages": [ASK], "metadata": {"session_id": "s"}}) in names


def test_another_process_sends_the_same_bytes_and_records_nothing_twice(tmp_path) -> None:
    messages = [SYSTEM, ASK]
    with openai_server([*(reads(n) for n in range(20)), "Done.", "More.", "More."]) as (address, asked):
        first = handler_at(tmp_path)
        run(loop(first.acompletion, address, messages, litellm_session_id="thread 1"))
        first.close()
        messages.append({"role": "user", "content": "And now?"})
        for _ in range(2):
            again = handler_at(tmp_path)
            run(loop(again.acompletion, address, messages[:], litellm_session_id="thread 1"))
            assert not events(again, Rewound)
            assert len(events(again, ToolReturned)) == 20
            again.close()
    assert asked[-1]["messages"] == asked[-2]["messages"]


async def streamed(address: str, messages: list, ask=litellm) -> str:
    stream = await ask.acompletion(
        model="openai/model-1",
        messages=messages,
        api_base=address,
        api_key="a key for loopback",
        stream=True,
        stream_options={"include_usage": True},
        litellm_session_id="thread 1",
    )
    text = ""
    async for chunk in stream:
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
    # LiteLLM tells its callbacks in the background.
    for _ in range(100):
        await asyncio.sleep(0.02)
        if any(
            call.is_streamed and call.conversation._usage for call in litellm.callbacks[0]._calls.values()
        ):
            break
    return text


@pytest.mark.parametrize("asks_handler", [False, True])
def test_a_stream_is_packed_without_recall_and_its_usage_is_told(asks_handler) -> None:
    handler = handler_at()
    litellm.callbacks = [handler]
    with openai_server(["One.", "Two."]) as (address, asked):

        async def play() -> None:
            messages = [ASK]
            for said in ("One.", "Two."):
                assert await streamed(address, messages, handler if asks_handler else litellm) == said
                messages += [{"role": "assistant", "content": said}, ASK]

        run(play())
    assert asked[0]["stream"]
    assert "tools" not in asked[0]
    (reply,) = events(handler, AssistantReplied)
    assert reply.usage.prompt == 50


def test_a_stream_that_is_held_can_recall() -> None:
    litellm.callbacks = [handler_at(holds_streams=True)]
    with openai_server([[("Recall", {"query": "part"})], "Done."]) as (address, asked):
        assert run(streamed(address, [ASK])) == "Done."
    assert len(asked) == 2
    assert asked[1]["messages"][-1]["role"] == "tool"


@pytest.mark.parametrize(
    ("way", "wrong"), [*((way, "hello") for way in WAYS), ("callback", {"text": "hello"})]
)
def test_what_is_no_message_is_named_by_its_place(way, wrong) -> None:
    ask = way_to_ask(way, handler_at(), "http://127.0.0.1:9/v1")
    with pytest.raises(InputError, match=r"message 1 (is of type|has no)") as refused:
        run(loop(ask, "http://127.0.0.1:9/v1", [ASK, wrong]))
    if way in ("callback", "router"):
        # Nobody tries it again, and the proxy says whose mistake it is.
        assert refused.value.status_code == 400


def test_bad_arguments_get_a_sentence() -> None:
    with pytest.raises(InputError, match="needs a list of messages"):
        handler_at().completion(model="openai/model-1", messages="hello")
    with pytest.raises(InputError, match="profile"):
        HoldfastHandler(profile="no such profile")


def test_the_example_runs_as_it_stands(tmp_path) -> None:
    for number in range(4):
        rows = [f"row {row} of part {number}: nothing to be found here" for row in range(300)]
        (tmp_path / f"part{number}.txt").write_text("\n".join(["the port is 8123", *rows]))
    script = [[("read_file", {"path": f"part{number}.txt"})] for number in range(4)]
    script += [TOO_LONG, [("Recall", {"query": "port"})], "It is 8123."]
    example = Path(__file__).parents[3] / "examples" / "adapters" / "litellm_agent.py"
    with openai_server(script) as (address, asked):
        keys = {"OPENAI_API_KEY": "a key for loopback", "OPENAI_BASE_URL": address, "NO_PROXY": "127.0.0.1"}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(example), "Which port?"],
            cwd=tmp_path,
            env={**os.environ, **keys},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    # After an error LiteLLM prints where to get help.
    assert done.stdout.endswith("\nIt is 8123.\n"), done.stderr
    assert len(asked) == 7
    assert "the port is 8123" in json.dumps(asked[-1]["messages"][-1])
    handler = handler_at(tmp_path)
    assert len(events(handler, OverflowReported, "thread-1")) == 1
    assert [e.usage.prompt for e in events(handler, AssistantReplied, "thread-1")] == [50] * 4
