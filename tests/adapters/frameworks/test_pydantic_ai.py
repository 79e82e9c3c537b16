"""The capability for Pydantic AI, with agents of the real library and its function model."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelSettingsDeltaPart,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage, UsageLimits

import holdfast
from holdfast.adapters.pydantic_ai import Holdfast, PackingModel
from holdfast.adapters.pydantic_ai_messages import PieceList, PieceTranslation
from holdfast.errors import HoldfastError, InputError
from holdfast.events import (
    AssistantReplied,
    Folded,
    OverflowReported,
    Rewound,
    SystemSet,
    ToolReturned,
    ToolsSet,
    UserSaid,
)
from holdfast.messages import (
    AssistantMessage,
    Image,
    Text,
    Thinking,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from holdfast.recall import RECALL_TOOL
from holdfast.tokenizers import counter_for_model
from library.test_loops import environment, provider

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "pydantic_ai_agent.py"
ONE_PIXEL = BinaryContent(b"\x89PNG\r\n\x1a\n" + b"\0" * 30, media_type="image/png")
Reply = ModelResponse | Exception


class Script:
    """A model that gives one reply after the other, and keeps what it was sent."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = [*replies]
        self.requests: list[list[ModelMessage]] = []
        self.tools: list[list[str]] = []
        self.model = FunctionModel(self._reply, stream_function=self._stream)

    def _reply(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        self.requests.append([*messages])
        self.tools.append([tool.name for tool in info.function_tools])
        reply = self.replies[len(self.requests) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def _stream(self, messages: list[ModelMessage], info: Any):
        for at, part in enumerate(self._reply(messages, info).parts):
            if isinstance(part, ToolCallPart):
                arguments = json.dumps(part.args)
                yield {at: DeltaToolCall(part.tool_name, arguments, tool_call_id=part.tool_call_id)}
            else:
                yield part.content


def reads(*numbers: int) -> ModelResponse:
    """A reply that reads these parts, all at once."""
    return ModelResponse([ToolCallPart("read", {"number": n}, tool_call_id=f"call_{n}") for n in numbers])


def says(text: str) -> ModelResponse:
    return ModelResponse([TextPart(text)])


def recalls(**arguments: str) -> ModelResponse:
    return ModelResponse([ToolCallPart(RECALL_TOOL.name, arguments, tool_call_id="recall_1")])


def text_of(number: int) -> str:
    return "\n".join(f"row {row} of part {number}: value_{number}_{row}" for row in range(60))


def agent_of(script: Script, capability: Holdfast, **settings: Any) -> Agent:
    agent = Agent(script.model, capabilities=[capability], instructions="Be brief.", **settings)

    @agent.tool_plain
    def read(number: int) -> str:
        return text_of(number)

    return agent


def run_agent(agent: Agent, prompt: str, **settings: Any) -> Any:
    # Not `run_sync`, which leaves its event loop open.
    return asyncio.run(agent.run(prompt, **settings))


def events(capability: Holdfast, conversation_id: str, kind: type) -> list:
    log = capability.conversation(conversation_id).session.log
    return [entry.event for entry in log.entries() if isinstance(entry.event, kind)]


def parts_of(messages: Sequence[ModelMessage], kind: type) -> list:
    return [part for message in messages for part in message.parts if isinstance(part, kind)]


def wire(messages: Sequence[ModelMessage]) -> list:
    """Messages without what no model reads."""
    return [
        [
            (part.part_kind, getattr(part, "content", None), getattr(part, "args", None))
            for part in message.parts
        ]
        for message in messages
    ]


def pairs_are_whole(messages: Sequence[ModelMessage]) -> bool:
    calls = [part.tool_call_id for part in parts_of(messages, ToolCallPart)]
    return calls == [part.tool_call_id for part in parts_of(messages, ToolReturnPart)]


def tokens(messages: Sequence[ModelMessage]) -> int:
    return counter_for_model("").text(str(wire(messages)))


def test_a_long_run_is_folded_and_its_history_stays_whole() -> None:
    script = Script(*(reads(number) for number in range(30)), says("Done."))
    capability = Holdfast("16k")
    result = run_agent(agent_of(script, capability, system_prompt="You read."), "Read every part.")
    assert result.output == "Done."
    assert events(capability, result.conversation_id, Folded)
    assert not events(capability, result.conversation_id, Rewound)
    for request in script.requests:
        assert tokens(request) < 16_000
        assert pairs_are_whole(request)
        assert parts_of(request[:1], SystemPromptPart)[0].content == "You read."
    history = result.all_messages()
    assert [part.content for part in parts_of(history, ToolReturnPart)] == [text_of(n) for n in range(30)]
    assert len(script.requests[-1]) < len(history) / 2
    own = {id(part) for message in history for part in message.parts}
    changed = [part for message in script.requests[-1] for part in message.parts if id(part) not in own]
    assert changed
    assert all(part.content.startswith("[holdfast: ") for part in changed)
    assert all(RECALL_TOOL.name in tools for tools in script.tools)


def test_system_prompt_and_tools_are_counted() -> None:
    script, capability = Script(says("Hello.")), Holdfast("16k")
    result = run_agent(agent_of(script, capability, system_prompt="You read."), "Hello.")
    (system,) = events(capability, result.conversation_id, SystemSet)
    assert system.text == "Be brief.\n\nYou read."
    (tools,) = events(capability, result.conversation_id, ToolsSet)
    assert [tool.name for tool in tools.tools] == ["read", RECALL_TOOL.name]


def test_the_model_recalls_what_was_folded() -> None:
    replies = [*(reads(number) for number in range(25)), recalls(query="value_3_7"), says("Done.")]
    script, capability = Script(*replies), Holdfast("16k")
    run_agent(agent_of(script, capability), "Read every part.")
    assert text_of(3) not in str(wire(script.requests[-2]))
    answer = parts_of(script.requests[-1], ToolReturnPart)[-1]
    assert answer.tool_name == RECALL_TOOL.name
    assert "value_3_7" in answer.content


def test_usage_is_recorded_with_its_reply() -> None:
    reply = says("Hello.")
    reply.usage = RequestUsage(
        input_tokens=1_234, output_tokens=5, cache_read_tokens=1_000, cache_write_tokens=30
    )
    reply.model_name = "model-1"
    script, capability = Script(reply), Holdfast("16k")
    result = run_agent(agent_of(script, capability), "Hello.")
    (recorded,) = events(capability, result.conversation_id, AssistantReplied)
    assert recorded.usage == Usage(1_234, 5, 1_000, 30)


BODY = {"error": {"message": "maximum context length is 9000 tokens", "code": "context_length_exceeded"}}


@pytest.mark.parametrize(
    "error",
    [ModelHTTPError(400, "model-1", BODY), ModelContextWindowExceededError("model-1", "the window is full")],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_an_overflow_is_answered_by_one_smaller_request(error, is_streamed) -> None:
    script = Script(*(reads(number) for number in range(6)), error, says("Done."))
    capability = Holdfast("32k")
    agent = agent_of(script, capability)

    async def run() -> Any:
        if not is_streamed:
            return await agent.run("Read every part.")
        async with agent.run_stream("Read every part.") as stream:
            await stream.get_output()
            return stream

    result = asyncio.run(run())
    assert len(events(capability, result.conversation_id, OverflowReported)) == 1
    assert tokens(script.requests[7]) < tokens(script.requests[6])
    assert [part.content for part in parts_of(result.all_messages(), ToolReturnPart)] == [
        text_of(n) for n in range(6)
    ]


def test_a_second_overflow_and_other_errors_are_raised() -> None:
    too_long = ModelContextWindowExceededError("model-1", "the window is full")
    script = Script(reads(1), too_long, too_long, says("never"))
    with pytest.raises(ModelContextWindowExceededError):
        run_agent(agent_of(script, Holdfast("32k")), "Read.")
    assert len(script.requests) == 3
    script = Script(ModelHTTPError(500, "model-1"), says("never"))
    with pytest.raises(ModelHTTPError):
        run_agent(agent_of(script, Holdfast("32k")), "Read.")
    assert len(script.requests) == 1


def test_a_resumed_conversation_records_nothing_twice(tmp_path) -> None:
    script = Script(*(reads(number) for number in range(25)), says("Done."), says("Yes."))
    first = Holdfast("16k", store=tmp_path / "agent.db")
    run = run_agent(agent_of(script, first), "Read every part.")
    before = len(first.conversation(run.conversation_id).session.log.entries())
    first.close()
    second = Holdfast("16k", store=str(tmp_path / "agent.db"))
    loaded = ModelMessagesTypeAdapter.validate_json(run.all_messages_json())
    again = run_agent(agent_of(script, second), "Are you sure?", message_history=loaded)
    assert again.conversation_id == run.conversation_id
    log = second.conversation(run.conversation_id).session.log.entries()
    assert [type(entry.event) for entry in log[before:]] == [UserSaid, AssistantReplied]


def test_the_same_bytes_are_sent_by_another_process(tmp_path) -> None:
    def script_of_two_runs() -> Script:
        return Script(*(reads(number) for number in range(25)), says("Done."), says("Yes."))

    script = script_of_two_runs()
    agent = agent_of(script, Holdfast("16k"))
    run = run_agent(agent, "Read every part.")
    run_agent(agent, "Are you sure?", message_history=run.all_messages())
    parted = script_of_two_runs()
    store = tmp_path / "agent.db"
    run = run_agent(agent_of(parted, Holdfast("16k", store=store)), "Read every part.")
    loaded = ModelMessagesTypeAdapter.validate_json(run.all_messages_json())
    run_agent(agent_of(parted, Holdfast("16k", store=store)), "Are you sure?", message_history=loaded)
    assert [wire(request) for request in parted.requests] == [wire(request) for request in script.requests]


def test_conversations_at_the_same_time_are_kept_apart(tmp_path) -> None:
    capability = Holdfast("16k", store=tmp_path / "agent.db")

    async def work(name: str) -> Any:
        replies = [*(reads(number) for number in range(12)), recalls(query="secret word"), says(name)]
        script = Script(*replies)
        result = await agent_of(script, capability).run(f"The secret word is {name}.", conversation_id=name)
        return result, script

    async def together() -> list:
        return await asyncio.gather(*(work(name) for name in ("apple", "pear", "plum")))

    for result, script in asyncio.run(together()):
        name = result.output
        assert result.conversation_id == name
        answer = parts_of(script.requests[-1], ToolReturnPart)[-1].content
        assert f"The secret word is {name}." in answer
        assert not any(f"is {other}." in answer for other in {"apple", "pear", "plum"} - {name})
        assert len(events(capability, name, ToolReturned)) == 13
        assert not events(capability, name, Rewound)


def test_parallel_calls_keep_their_results_in_one_request() -> None:
    script = Script(*(reads(n, n + 1, n + 2) for n in range(0, 30, 3)), says("Done."))
    capability = Holdfast("16k")
    result = run_agent(agent_of(script, capability), "Read every part.")
    assert events(capability, result.conversation_id, Folded)
    for request in script.requests:
        assert pairs_are_whole(request)
        assert all(
            isinstance(m, kind) for m, kind in zip(request, (ModelRequest, ModelResponse) * 30, strict=False)
        )
        assert [len(parts_of([m], ToolReturnPart)) for m in request[2::2]] == [3] * (len(request) // 2)


def test_a_streamed_run_is_recorded_once() -> None:
    script, capability = Script(reads(1), says("Done.")), Holdfast("16k")
    agent = agent_of(script, capability)

    async def run() -> Any:
        async with agent.run_stream("Read.") as stream:
            return await stream.get_output(), stream.conversation_id

    output, name = asyncio.run(run())
    assert output == "Done."
    assert len(events(capability, name, AssistantReplied)) == 2
    assert not events(capability, name, Rewound)


def test_structured_output_with_a_retry() -> None:
    def output(value: Any) -> ModelResponse:
        return ModelResponse([ToolCallPart("final_result", {"response": value}, tool_call_id=f"out_{value}")])

    script, capability = Script(output("many"), output(3)), Holdfast("16k")
    agent = agent_of(script, capability, output_type=int)
    run = run_agent(agent, "How many?")
    assert run.output == 3
    assert pairs_are_whole(script.requests[-1])
    (returned,) = events(capability, run.conversation_id, ToolReturned)
    assert returned.error
    script.replies.append(output(4))
    assert run_agent(agent, "And now?", message_history=run.all_messages()).output == 4
    assert not events(capability, run.conversation_id, Rewound)


def test_a_run_with_instructions_alone() -> None:
    script, capability = Script(reads(1), says("Done.")), Holdfast("16k")
    result = asyncio.run(agent_of(script, capability).run())
    assert [len(request) for request in script.requests] == [1, 3]
    assert len(events(capability, result.conversation_id, AssistantReplied)) == 2


def test_tokens_are_counted_of_what_is_sent() -> None:
    counted: list[int] = []

    class Counting(FunctionModel):
        async def count_tokens(self, messages, *_: Any) -> RequestUsage:
            counted.append(tokens(messages))
            return RequestUsage(input_tokens=counted[-1])

    script = Script(*(reads(number) for number in range(25)), says("Done."))
    script.model = Counting(script._reply)
    limits = UsageLimits(per_request_input_tokens_limit=16_000, count_tokens_before_request=True)
    run_agent(agent_of(script, Holdfast("16k")), "Read every part.", usage_limits=limits)
    assert counted == [tokens(request) for request in script.requests]


def test_the_models_own_test_double_calls_every_tool() -> None:
    agent = Agent(TestModel(), capabilities=[Holdfast("16k")])
    assert RECALL_TOOL.name in run_agent(agent, "Hello.").output


EVERYTHING: list[ModelMessage] = [
    ModelRequest(
        [
            SystemPromptPart("You see."),
            UserPromptPart(
                ["Look:", ONE_PIXEL, CachePoint(), ImageUrl("https://example.com/a.png")],
            ),
        ]
    ),
    ModelResponse(
        [
            ThinkingPart("hm", signature="c2ln", provider_name="anthropic"),
            NativeToolCallPart("web_search", {"query": "a"}, tool_call_id="n1", provider_name="anthropic"),
            NativeToolReturnPart("web_search", ["found"], tool_call_id="n1", provider_name="anthropic"),
            TextPart("I look."),
            ToolCallPart("read", '{"number": 1}', tool_call_id="c1", provider_details={"signature": "x"}),
            ToolCallPart("read", "not JSON", tool_call_id="c2"),
            TextPart(""),
        ],
        provider_name="anthropic",
    ),
    ModelRequest(
        [
            ToolReturnPart("read", {"rows": [1, 2]}, tool_call_id="c1"),
            ToolReturnPart("read", [ONE_PIXEL, "a picture"], tool_call_id="c2", outcome="failed"),
            ModelSettingsDeltaPart(settings={"thinking": "high"}),
        ]
    ),
    ModelResponse([TextPart("No."), ThinkingPart("hm again")]),
    ModelRequest(
        [
            RetryFeedbackPart(content="Wrong.", retry=RetryInfo(cause="model_retry")),
            SystemPromptPart("Hurry."),
            UserPromptPart("Well?"),
        ]
    ),
]


def packed(capability: Holdfast, messages: list[Any], reply: Reply | None = None) -> list[ModelMessage]:
    script = Script(reply or says("Yes."))
    model = PackingModel(script.model, capability.conversations, "a")
    asyncio.run(model.request(messages, None, ModelRequestParameters()))
    return script.requests[-1]


def test_messages_of_every_kind_are_sent_as_the_objects_they_are() -> None:
    # Without those that an agent writes anew for each model.
    messages = [*EVERYTHING[:2], ModelRequest(EVERYTHING[2].parts[:2])]
    sent = packed(Holdfast("16k"), messages)
    assert all(one is other for one, other in zip(sent, messages, strict=True))
    taken = PieceList(EVERYTHING)
    assert all(one is other for one, other in zip(taken.messages(taken.pieces), EVERYTHING, strict=True))


@given(st.lists(st.sampled_from(EVERYTHING), max_size=8), st.data())
def test_whatever_is_left_out_nothing_is_said_twice_and_settings_stay(messages, data) -> None:
    """Any pieces may be left out; what nobody said moves to a later request."""
    taken = PieceList(messages)
    kept = [piece for piece in taken.pieces if data.draw(st.booleans())]
    put = taken.messages(kept)
    parts = [part for message in put for part in message.parts]
    original = [part for message in messages for part in message.parts]
    assert {id(part) for part in parts} <= {id(part) for part in original}
    assert len(parts) <= len(original)
    settings = [part for part in original if isinstance(part, ModelSettingsDeltaPart)]
    assert len(parts_of(put, ModelSettingsDeltaPart)) == len(settings)
    opening = messages and isinstance(messages[0], ModelRequest) and messages[0].parts[0]
    if isinstance(opening, SystemPromptPart):
        assert put[0].parts[0] is opening
    assert not any(
        isinstance(one, ModelRequest) and isinstance(two, ModelRequest) for one, two in pairwise(put)
    )


def test_a_shortened_reply_keeps_the_parts_that_are_whole() -> None:
    """Thinking with its signature goes back to its provider only as the part that came from there."""
    reply = EVERYTHING[1]
    taken = PieceList(EVERYTHING)
    parts = (Thinking("hm", "c2ln"), Text("I l…"), ToolCall("c1", "read", {"number": 1}))
    note, short = (
        piece
        for message in (UserMessage((Text("Steps 1-3 folded."),)), AssistantMessage(parts))
        for piece in PieceTranslation().write(message)
    )
    opening, written, results = taken.messages([note, short, taken.pieces[2]])
    assert [part.content for part in opening.parts] == ["You see.", "Steps 1-3 folded."]
    assert (written.provider_name, len(written.parts)) == ("anthropic", 3)
    assert written.parts[0] is reply.parts[0]
    assert written.parts[1].content == "I l…"
    assert written.parts[2] is reply.parts[4]
    assert results.parts[0] is EVERYTHING[2].parts[0]
    assert isinstance(results.parts[1], ModelSettingsDeltaPart)


def test_a_shortened_result_stays_beside_the_whole_one() -> None:
    taken = PieceList(EVERYTHING)
    shown = (Text("a picture, and"), Image("image/png", data="iVBORw=="))
    (short,) = PieceTranslation().write(ToolMessage("c2", "read", shown, error=True))
    results = taken.messages([*taken.pieces[:3], short])[-1]
    assert results.parts[0] is EVERYTHING[2].parts[0]
    assert (results.parts[1].tool_call_id, results.parts[1].outcome) == ("c2", "failed")
    assert results.parts[1].content == ["a picture, and", BinaryContent(b"\x89PNG", media_type="image/png")]


def test_a_suspended_reply_is_sent_back_as_it_is() -> None:
    paused = ModelResponse([TextPart("I search")], state="suspended")
    capability = Holdfast("16k")
    sent = packed(capability, [*EVERYTHING[:2], ModelRequest(EVERYTHING[2].parts[:2]), paused])
    assert sent[-1] is paused
    assert len(events(capability, "a", AssistantReplied)) == 1


def test_a_model_of_no_run_takes_the_conversation_from_the_messages() -> None:
    """A durable engine asks the agent's own capability for its model, and not the one that a run has."""
    capability = Holdfast("16k")
    model = capability.get_wrapper_model(Script(says("Yes.")).model)
    request = ModelRequest([UserPromptPart("Well?")], conversation_id="b")
    asyncio.run(model.request([request], None, ModelRequestParameters()))
    assert len(events(capability, "b", AssistantReplied)) == 1


def test_a_secret_is_not_sent() -> None:
    key = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"
    script = Script(says("Yes."))
    agent = Agent(script.model, system_prompt=f"Use {key}.", capabilities=[Holdfast("16k")])
    run_agent(agent, f"It is {key}.")
    assert key not in str(wire(script.requests[0]))


@pytest.mark.parametrize("wrong", [{"role": "user"}, "hello", None])
def test_what_is_no_message_is_named_by_its_place(wrong) -> None:
    with pytest.raises(InputError, match="message 1 is a"):
        packed(Holdfast("16k"), [EVERYTHING[0], wrong, EVERYTHING[0]])


@pytest.mark.parametrize("settings", [{"budget": "much"}, {"profile": "none"}])
def test_bad_settings_are_refused_in_a_sentence(settings) -> None:
    with pytest.raises(HoldfastError):
        Holdfast(**settings)


def test_the_example_runs(tmp_path) -> None:
    for number in range(4):
        (tmp_path / f"part{number}.txt").write_text(f"the port is 8123\n{text_of(number) * 4}")
    script = [
        *(("read_file", {"path": f"part{number}.txt"}) for number in range(4)),
        "too long",
        ("Recall", {"query": "port"}),
        "It is 8123.",
    ]
    with provider(script) as (address, asked):
        done = subprocess.run(
            [sys.executable, str(EXAMPLE), "Which port?"],
            cwd=tmp_path,
            env=environment(address),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "It is 8123.\n"
    assert len(json.dumps(asked[5])) < 0.7 * len(json.dumps(asked[4])), "smaller after the overflow"
    assert "the port is 8123" in json.dumps(asked[-1])
    assert '"Recall"' in json.dumps(asked[0]["tools"])
    with holdfast.Session.resume(tmp_path / "agent.db") as session:
        recorded = [entry.event for entry in session.log.entries()]
        assert [e.usage.prompt for e in recorded if isinstance(e, AssistantReplied)] == [50] * 6
        assert sum(isinstance(e, OverflowReported) for e in recorded) == 1
