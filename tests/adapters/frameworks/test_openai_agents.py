"""The adapter for the OpenAI Agents SDK, under the SDK's own runner and with its own scripted model."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import httpx2
import openai
import pytest
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.usage import Usage
from openai.types.responses import ResponseFunctionWebSearch, ResponseReasoningItem
from openai.types.responses.response_usage import InputTokensDetails
from openai_server import TOO_LONG, openai_server

from agents import (
    Agent,
    ModelRetrySettings,
    ModelSettings,
    RunConfig,
    Runner,
    SessionSettings,
    function_tool,
    retry_policies,
    set_tracing_disabled,
)
from holdfast.adapters.openai_agents import HoldfastSession, recall_tool
from holdfast.errors import InputError
from holdfast.events import AssistantReplied, Folded, OverflowReported, Rewound, ToolReturned

set_tracing_disabled(True)
BUDGET = 16_000


def words(number: int) -> str:
    """Long enough to be shortened at once, where the number is even."""
    return "\n".join(
        f"value_{number}_{line} is {number * line} ." for line in range(45 if number % 2 else 150)
    )


@function_tool
def read(part: int) -> str:
    """Read a part."""
    return words(part)


def reasoning(number: int) -> ResponseReasoningItem:
    secret = f"gAAAAAB{number}opaque"
    return ResponseReasoningItem(id=f"rs_{number}", summary=[], type="reasoning", encrypted_content=secret)


def usage(tokens: int, cached: int = 0) -> Usage:
    details = InputTokensDetails(cached_tokens=cached, cache_write_tokens=0)
    return Usage(requests=1, input_tokens=tokens, output_tokens=7, input_tokens_details=details)


def reads(parts: range, *, calls: int = 1) -> list[ModelStep]:
    """Steps that read parts, some at a time, each with reasoning before it."""
    return [
        ModelStep(
            output=[
                reasoning(part),
                *(function_call("read", {"part": n}, call_id=f"c{n}") for n in range(part, part + calls)),
            ],
            usage=usage(1_000 + part, cached=part),
        )
        for part in parts[::calls]
    ]


def done(text: str = "Done.") -> ModelStep:
    return ModelStep(output=[assistant_message(text)], usage=usage(500))


def reader(model, *tools) -> Agent:
    return Agent(name="Reader", instructions="Be brief.", model=model, tools=[read, recall_tool, *tools])


def session_at(path: Path | None = None, name: str = "thread 1", **settings) -> HoldfastSession:
    store = path / "agent.db" if path else None
    return HoldfastSession(name, store=store, **{"budget": BUDGET, **settings})


async def run(session: HoldfastSession, agent: Agent, said: str = "Read every part.", **settings):
    config = session.run_config(settings.pop("config", None))
    return await Runner.run(agent, said, session=session, run_config=config, max_turns=60, **settings)


def events(session: HoldfastSession, kind: type) -> list:
    entries = session._conversation.session.log.entries()
    return [entry.event for entry in entries if not entry.chain and isinstance(entry.event, kind)]


def check_pairs(items: list[dict]) -> None:
    """Calls and outputs in pairs, and reasoning before the call it led to."""
    calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
    assert sorted(calls) == sorted(i["call_id"] for i in items if i.get("type") == "function_call_output")
    for item, following in zip(items, [*items[1:], {}], strict=True):
        if item.get("type") == "reasoning":
            assert following.get("type") in ("function_call", "message")


def tokens(items: list[dict]) -> float:
    return len(json.dumps(items)) / 3


@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_long_run_is_folded_and_its_items_stay_whole(tmp_path, calls, is_streamed) -> None:
    model = ScriptedModel([*reads(range(30), calls=calls), done()])
    session = session_at(tmp_path)

    async def play() -> None:
        if not is_streamed:
            await run(session, reader(model))
            return
        config = session.run_config()
        result = Runner.run_streamed(
            reader(model), "Read every part.", session=session, run_config=config, max_turns=60
        )
        async for _ in result.stream_events():
            pass

    asyncio.run(play())
    model.assert_complete()
    assert events(session, Folded)
    assert not events(session, Rewound)
    for call in model.calls:
        check_pairs(call.input)
        assert call.system_instructions.startswith("Be brief.")
        assert tokens(call.input) < BUDGET * 1.2
    kept = asyncio.run(session.get_items())
    assert len(kept) == 1 + 30 // calls + 60 + 1
    sent = [item for item in model.calls[-1].input if item.get("call_id") == "c29"]
    assert sent == [item for item in kept if item.get("call_id") == "c29"]
    assert [words(n) for n in range(30)] == [i["output"] for i in kept if "output" in i]
    replies = events(session, AssistantReplied)
    assert [reply.usage.prompt for reply in replies] == [*range(1_000, 1_030, calls), 500]
    assert replies[10 // calls].usage.cache_read == 10 // calls * calls
    assert asyncio.run(session_at(tmp_path).get_items()) == kept


def test_the_model_recalls_what_was_folded(tmp_path) -> None:
    asked = ModelStep(output=[function_call("Recall", {"query": "value_2_7"}, call_id="r1")])
    model = ScriptedModel([*reads(range(25)), asked, done()])
    session = session_at(tmp_path)
    asyncio.run(run(session, reader(model)))
    assert "value_2_7 " not in json.dumps(model.calls[-2].input)
    answer = next(i for i in model.calls[-1].input if i.get("call_id") == "r1" and "output" in i)
    assert "value_2_7 " in answer["output"]
    assert "Recall" in [tool.name for tool in model.calls[0].tools]


def test_without_the_tool_nothing_that_is_sent_names_recall() -> None:
    model = ScriptedModel([*reads(range(25)), done()])
    session = session_at()
    asyncio.run(run(session, Agent(name="Reader", instructions="Be brief.", model=model, tools=[read])))
    assert events(session, Folded)
    for call in model.calls:
        assert "Recall" not in json.dumps(call.input) + call.system_instructions
    assert "[holdfast: steps 1-" in json.dumps(model.calls[-1].input)


def too_long() -> openai.BadRequestError:
    request = httpx2.Request("POST", "http://127.0.0.1/v1/responses")
    body = {"message": "exceeds the context window", "code": "context_length_exceeded"}
    return openai.BadRequestError("too long", response=httpx2.Response(400, request=request), body=body)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_request_that_is_too_long_is_sent_once_more_and_smaller(is_streamed) -> None:
    model = ScriptedModel([*reads(range(8)), too_long(), done()])
    session = session_at()

    async def play() -> str:
        if not is_streamed:
            return (await run(session, reader(model))).final_output
        config = session.run_config()
        result = Runner.run_streamed(reader(model), "Read.", session=session, run_config=config, max_turns=60)
        async for _ in result.stream_events():
            pass
        return result.final_output

    assert asyncio.run(play()) == "Done."
    assert len(events(session, OverflowReported)) == 1
    assert tokens(model.calls[-1].input) < 0.8 * tokens(model.calls[-2].input)
    check_pairs(model.calls[-1].input)
    assert events(session, AssistantReplied)[-1].usage.prompt == 500


def test_a_second_refusal_and_other_errors_are_the_callers() -> None:
    mine = RunConfig(model_settings=ModelSettings(retry=ModelRetrySettings(max_retries=3)))
    model = ScriptedModel([*reads(range(8)), too_long(), too_long(), done()])
    with pytest.raises(openai.BadRequestError):
        asyncio.run(run(session_at(), reader(model), config=mine))
    assert model.remaining_steps == 1
    model = ScriptedModel([ValueError("no such model")])
    with pytest.raises(ValueError, match="no such model"):
        asyncio.run(run(session_at(), reader(model)))


def test_a_retry_policy_of_ones_own_stays() -> None:
    policy = retry_policies.network_error()
    retry = ModelRetrySettings(max_retries=2, policy=policy, backoff={"initial_delay": 0.0})
    mine = RunConfig(model_settings=ModelSettings(retry=retry))
    model = ScriptedModel([*reads(range(8)), too_long(), TimeoutError("slow"), done()])
    assert asyncio.run(run(session_at(), reader(model), config=mine)).final_output == "Done."


def test_another_process_sends_the_same_bytes_and_records_nothing_twice(tmp_path) -> None:
    first = session_at(tmp_path)
    asyncio.run(run(first, reader(ScriptedModel([*reads(range(20)), done()]))))
    first.close()
    again, model = session_at(tmp_path), ScriptedModel([done("More.")])
    before = len(events(again, ToolReturned))
    asyncio.run(run(again, reader(model), "And now?"))
    assert not events(again, Rewound)
    assert len(events(again, ToolReturned)) == before
    sent = model.calls[-1].input
    once_more, other = session_at(tmp_path), ScriptedModel([done("More.")])
    asyncio.run(once_more.pop_item())
    asyncio.run(once_more.pop_item())
    asyncio.run(run(once_more, reader(other), "And now?"))
    assert other.calls[-1].input == sent


def test_sessions_of_one_store_are_apart_and_run_at_the_same_time(tmp_path) -> None:
    names = ("one", "two", "thread/3 é")
    sessions = [session_at(tmp_path, name) for name in names]
    models = [
        ScriptedModel(
            [
                *reads(range(start, start + 15)),
                ModelStep(output=[function_call("Recall", {"query": "value_30_7"}, call_id="r1")]),
                done(),
            ]
        )
        for start in (0, 30, 60)
    ]

    async def play() -> None:
        await asyncio.gather(
            *(run(session, reader(model)) for session, model in zip(sessions, models, strict=True))
        )

    asyncio.run(play())
    answers = [json.dumps(model.calls[-1].input[-1]) for model in models]
    assert ["value_30_7 " in answer for answer in answers] == [False, True, False]
    assert all(len(events(session, ToolReturned)) == 16 for session in sessions)


def test_an_agent_that_is_a_tool_has_a_conversation_of_its_own(tmp_path) -> None:
    inner = ScriptedModel([*reads(range(100, 104)), done("The port is 8123.")])
    expert = reader(inner).as_tool("expert", "Ask the expert.", max_turns=60)
    asked = ModelStep(
        output=[function_call("expert", {"input": "Which port?"}, call_id="e1")], usage=usage(1_500)
    )
    model = ScriptedModel([*reads(range(3)), asked, *reads(range(3, 5)), done()])
    session = session_at(tmp_path)
    asyncio.run(run(session, reader(model, expert)))
    assert not events(session, Rewound)
    assert "value_100" not in json.dumps(model.calls[-1].input)
    assert [e.usage.prompt for e in events(session, AssistantReplied)] == [
        *(1_000, 1_001, 1_002, 1_500),
        *(1_003, 1_004, 500),
    ]


def test_items_of_every_kind_are_kept_and_sent() -> None:
    found = ResponseFunctionWebSearch.model_validate(
        {
            "id": "ws_1",
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": "q"},
        }
    )
    model = ScriptedModel(
        [ModelStep(output=[reasoning(1), found, reasoning(2), assistant_message("It is 8123.")]), done()]
    )
    session = session_at()
    given = [
        {"role": "user", "content": "Look at the screen."},
        {"type": "computer_call", "id": "cu", "call_id": "k1", "action": {"type": "screenshot"}},
        {
            "type": "computer_call_output",
            "call_id": "k1",
            "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"},
        },
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAAB"},
        {"type": "item_of_the_future", "id": "x", "text": "Hello."},
        {"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]},
    ]

    async def play() -> None:
        await session.add_items(given)
        assert await session.get_items() == given
        await run(session, reader(model), "Which port?")
        await run(session, reader(model), "Sure?")

    asyncio.run(play())
    assert model.calls[0].input[:6] == given
    kinds = [item.get("type") for item in model.calls[1].input]
    assert kinds[7:11] == ["reasoning", "web_search_call", "reasoning", "message"]
    assert asyncio.run(session.get_items(limit=2)) == asyncio.run(session.get_items())[-2:]


def test_a_handoff_goes_on_in_the_same_log() -> None:
    second = reader(ScriptedModel([*reads(range(5, 8)), done()]))
    second.name = "Second"
    first_model = ScriptedModel(
        [*reads(range(5)), ModelStep(output=[function_call("transfer_to_second", {}, call_id="h1")])]
    )
    first = reader(first_model)
    first.handoffs = [second]
    session = session_at()
    asyncio.run(run(session, first))
    assert not events(session, Rewound)
    assert len(events(session, ToolReturned)) == 9
    check_pairs(second.model.calls[-1].input)


def test_a_session_is_popped_limited_and_cleared(tmp_path) -> None:
    session = session_at(tmp_path, session_settings=SessionSettings(limit=3))
    asyncio.run(run(session, reader(ScriptedModel([*reads(range(3)), done("Bye.")]))))
    assert len(asyncio.run(session.get_items())) == 3
    assert asyncio.run(session.get_items(limit=0)) == []
    whole = asyncio.run(session.get_items(limit=1_000))
    assert asyncio.run(session.pop_item()) == whole[-1]
    assert asyncio.run(session_at(tmp_path).get_items()) == whole[:-1]
    asyncio.run(session.clear_session())
    assert asyncio.run(session.get_items()) == []
    assert asyncio.run(session.pop_item()) is None
    assert asyncio.run(session_at(tmp_path).get_items()) == []
    model = ScriptedModel(
        [ModelStep(output=[function_call("Recall", {"query": "value_1_7"}, call_id="r1")]), done()]
    )
    asyncio.run(run(session, reader(model), "Again."))
    assert "value_1_7 " not in json.dumps(model.calls[-1].input[-1])


def test_settings_of_ones_own_stay() -> None:
    seen = []

    def mine(data):
        seen.append(len(data.model_data.input))
        return data.model_data

    config = RunConfig(workflow_name="mine", call_model_input_filter=mine)
    model = ScriptedModel([*reads(range(2)), done()])
    asyncio.run(run(session_at(), reader(model), config=config))
    assert seen == [1, 4, 7]
    assert session_at().run_config(config).workflow_name == "mine"


@pytest.mark.parametrize("wrong", ["hello", None, {"text": "hello"}])
def test_what_is_no_item_is_named_by_its_place(wrong) -> None:
    with pytest.raises(InputError, match="message 1 is a"):
        asyncio.run(
            run(session_at(), reader(ScriptedModel([done()])), [{"role": "user", "content": "Hi."}, wrong])
        )


def test_bad_arguments_get_a_sentence() -> None:
    with pytest.raises(InputError, match="a session needs an id"):
        HoldfastSession("")
    with pytest.raises(InputError, match="profile"):
        HoldfastSession("a", profile="no such profile")
    with pytest.raises(InputError, match="JSON cannot"):
        asyncio.run(session_at().add_items([{"role": "user", "content": object()}]))


def test_a_model_behind_chat_completions() -> None:
    script = [*([("read", {"part": n})] for n in range(12)), [("read", {"part": 12}), ("read", {"part": 13})]]
    script += [TOO_LONG, [("Recall", {"query": "value_1_7"})], "It is 7."]
    session = session_at()
    with openai_server(script) as (address, asked):
        client = openai.AsyncOpenAI(base_url=address, api_key="a key for loopback")
        agent = reader(OpenAIChatCompletionsModel("model-1", client))
        assert asyncio.run(run(session, agent)).final_output == "It is 7."
    for request in asked:
        messages = request["messages"]
        calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        assert calls == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
        assert messages[0]["content"].startswith("Be brief.")
    assert events(session, Folded)
    assert len(json.dumps(asked[14])) < 0.8 * len(json.dumps(asked[13]))
    assert "value_1_7 is 7" in asked[-1]["messages"][-1]["content"]
    assert {(e.usage.prompt, e.usage.cache_read) for e in events(session, AssistantReplied)} == {(50, 40)}


def test_the_example_runs_as_it_stands(tmp_path) -> None:
    for number in range(4):
        rows = [f"row {row} of part {number}: nothing to be found here" for row in range(300)]
        (tmp_path / f"part{number}.txt").write_text("\n".join(["the port is 8123", *rows]))
    script = [[("read_file", {"path": f"part{number}.txt"})] for number in range(4)]
    script += [TOO_LONG, [("Recall", {"query": "port"})], "It is 8123."]
    example = Path(__file__).parents[3] / "examples" / "adapters" / "openai_agents_agent.py"
    with openai_server(script) as (address, asked):
        keys = {"OPENAI_API_KEY": "a key for loopback", "OPENAI_BASE_URL": address}
        environment = {**os.environ, **keys, "OPENAI_AGENTS_DISABLE_TRACING": "1", "NO_PROXY": "127.0.0.1"}
        done = subprocess.run(
            [sys.executable, str(example), "Which port?"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.stdout == "It is 8123.\n", done.stderr
    assert len(asked) == 7
    assert "the port is 8123" in json.dumps(asked[-1]["input"][-1])
    with HoldfastSession("thread-1", store=tmp_path / "agent.db") as session:
        assert len(events(session, OverflowReported)) == 1
        assert [reply.usage.prompt for reply in events(session, AssistantReplied)] == [50] * 6
