"""The context provider for Microsoft Agent Framework, with its real agents and a client that plays a script."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FileHistoryProvider,
    FunctionInvocationLayer,
    InMemoryHistoryProvider,
    Message,
    ResponseStream,
)
from agent_framework.exceptions import ChatClientException
from hypothesis import given
from hypothesis import strategies as st

import holdfast
from holdfast.adapters.agent_framework import HoldfastContextProvider
from holdfast.adapters.agent_framework_messages import FrameworkMessageList, FrameworkTranslation
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
from holdfast.log import Log
from holdfast.messages import AssistantMessage, Text, Thinking, ToolCall, ToolMessage, Usage
from holdfast.recall import RECALL_TOOL
from holdfast.store import SqliteStore
from holdfast.tokenizers import counter_for_model
from library.test_loops import environment, provider

EXAMPLE = Path(__file__).parents[3] / "examples" / "adapters" / "agent_framework_agent.py"
ONE_PIXEL = b"\x89PNG\r\n\x1a\n" + b"\0" * 30


class Script(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """A client whose service gives one reply after the other, and keeps what it was sent."""

    def __init__(self, *replies: Message | Exception, usage: dict | None = None) -> None:
        super().__init__()
        self.replies = [*replies]
        self.usage = usage
        self.requests: list[list[Message]] = []
        self.tools: list[list[str]] = []

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Any, **_: Any
    ) -> Any:
        if stream:
            return ResponseStream(self._updates(messages, options), finalizer=ChatResponse.from_updates)
        return self._response(messages, options)

    async def _response(self, messages: Sequence[Message], options: Any) -> ChatResponse:
        self.requests.append([*messages])
        self.tools.append([tool.name for tool in options.get("tools") or []])
        reply = self.replies[len(self.requests) - 1]
        if isinstance(reply, Exception):
            raise ChatClientException("the service failed") from reply
        return ChatResponse(messages=[reply], model="model-1", usage_details=self.usage)

    async def _updates(self, messages: Sequence[Message], options: Any) -> AsyncIterator[ChatResponseUpdate]:
        response = await self._response(messages, options)
        for content in response.messages[0].contents:
            yield ChatResponseUpdate(role="assistant", contents=[content])


class TooLong(Exception):
    """As the SDK of a provider raises it."""

    status_code = 400
    body = {"error": {"message": "maximum context length is 9000 tokens", "code": "context_length_exceeded"}}  # noqa: RUF012


def reads(*numbers: int) -> Message:
    """A reply that reads these parts, all at once."""
    calls = [Content.from_function_call(f"call_{n}", "read", arguments={"number": n}) for n in numbers]
    return Message("assistant", calls)


def says(text: str) -> Message:
    return Message("assistant", [text])


def recalls(**arguments: str) -> Message:
    call = Content.from_function_call("recall_1", RECALL_TOOL.name, arguments=json.dumps(arguments))
    return Message("assistant", [call])


def text_of(number: int) -> str:
    return "\n".join(f"row {row} of part {number}: value_{number}_{row}" for row in range(60))


def read(number: int) -> str:
    return text_of(number)


def agent_of(script: Script, context: HoldfastContextProvider, *before: Any, **settings: Any) -> Agent:
    return Agent(script, "Be brief.", tools=[read], context_providers=[*before, context], **settings)


def run_agent(agent: Agent, prompt: Any, session: AgentSession | None = None) -> Any:
    return asyncio.run(agent.run(prompt, session=session))


async def streamed(agent: Agent, prompt: str, session: AgentSession) -> Any:
    stream = agent.run(prompt, session=session, stream=True)
    async for _ in stream:
        pass
    return await stream.get_final_response()


def events(context: HoldfastContextProvider, agent: Agent, session: AgentSession, kind: type) -> list:
    entries = context.conversation(agent, session).session.log.entries()
    return [entry.event for entry in entries if isinstance(entry.event, kind)]


def contents_of(messages: Sequence[Message], kind: str) -> list[Content]:
    return [content for message in messages for content in message.contents if content.type == kind]


def stored(session: AgentSession) -> list[Message]:
    return session.state["in_memory"]["messages"]


def wire(messages: Sequence[Message]) -> list:
    """Messages without what no model reads."""
    return [
        (m.role, [(c.type, c.text, c.call_id, str(c.arguments or ""), c.result) for c in m.contents])
        for m in messages
    ]


def pairs_are_whole(messages: Sequence[Message]) -> bool:
    calls = [content.call_id for content in contents_of(messages, "function_call")]
    return calls == [content.call_id for content in contents_of(messages, "function_result")]


def tokens(messages: Sequence[Message]) -> int:
    return counter_for_model("").text(str(wire(messages)))


def test_a_long_run_is_folded_and_the_history_stays_whole() -> None:
    script = Script(*(reads(number) for number in range(30)), says("Done."))
    context = HoldfastContextProvider("16k")
    agent = agent_of(script, context)
    session = agent.create_session()
    assert run_agent(agent, "Read every part.", session).text == "Done."
    assert events(context, agent, session, Folded)
    assert not events(context, agent, session, Rewound)
    for request in script.requests:
        assert tokens(request) < 16_000
        assert pairs_are_whole(request)
    results = contents_of(stored(session), "function_result")
    assert [content.result for content in results] == [text_of(number) for number in range(30)]
    assert len(script.requests[-1]) < len(stored(session)) / 2
    own = {id(content) for message in stored(session) for content in message.contents}
    changed = [c for message in script.requests[-1] for c in message.contents if id(c) not in own]
    assert changed
    assert all((content.text or content.result).startswith("[holdfast: ") for content in changed)
    assert all(tools == ["read", RECALL_TOOL.name] for tools in script.tools)


def test_instructions_system_messages_and_tools_are_counted() -> None:
    script, context = Script(says("Hello."), says("Yes.")), HoldfastContextProvider("16k")
    agent = agent_of(script, context)
    session = agent.create_session()
    run_agent(agent, [Message("system", ["You read."]), Message("user", ["Hello."])], session)
    (system,) = events(context, agent, session, SystemSet)
    assert system.text == "Be brief.\n\nYou read."
    (tools,) = events(context, agent, session, ToolsSet)
    assert [tool.name for tool in tools.tools] == ["read", RECALL_TOOL.name]
    assert [message.text for message in script.requests[0]] == ["You read.", "Hello."]
    run_agent(agent, "Really?", session)
    assert [message.text for message in script.requests[1]] == ["You read.", "Hello.", "Hello.", "Really?"]
    assert not events(context, agent, session, Rewound)


def test_the_model_recalls_what_was_folded() -> None:
    script = Script(*(reads(number) for number in range(25)), recalls(query="value_3_7"), says("Done."))
    run_agent(agent_of(script, HoldfastContextProvider("16k")), "Read every part.")
    assert text_of(3) not in str(wire(script.requests[-2]))
    answer = contents_of(script.requests[-1], "function_result")[-1]
    assert answer.call_id == "recall_1"
    assert "value_3_7" in answer.result


@pytest.mark.parametrize("is_streamed", [False, True])
def test_usage_is_recorded_with_its_reply(is_streamed) -> None:
    counted = {
        "input_token_count": 1_234,
        "output_token_count": 5,
        "cache_read_input_token_count": 1_000,
        "cache_creation_input_token_count": 30,
    }
    script, context = Script(says("Hello."), usage=counted), HoldfastContextProvider("16k")
    if is_streamed:
        script.replies = [Message("assistant", ["Hello.", Content.from_usage(counted)])]
    agent = agent_of(script, context)
    session = agent.create_session()
    asyncio.run(streamed(agent, "Hello.", session) if is_streamed else agent.run("Hello.", session=session))
    (reply,) = events(context, agent, session, AssistantReplied)
    assert reply.usage == Usage(1_234, 5, 1_000, 30)


def test_tokens_that_a_client_counts_apart_are_added() -> None:
    counted = {
        "input_token_count": 200,
        "cache_read_input_token_count": 1_000,
        "anthropic.cache_read_input_tokens": 1_000,
    }
    script, context = Script(says("Hello."), usage=counted), HoldfastContextProvider("16k")
    agent = agent_of(script, context)
    run_agent(agent, "Hello.", session := agent.create_session())
    (reply,) = events(context, agent, session, AssistantReplied)
    assert reply.usage == Usage(1_200, 0, 1_000, 0)


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("is_persisted_per_call", [False, True])
def test_an_overflow_is_answered_by_one_smaller_request(is_streamed, is_persisted_per_call) -> None:
    script = Script(*(reads(number) for number in range(6)), TooLong(), says("Done."))
    context = HoldfastContextProvider("32k")
    agent = agent_of(
        script,
        context,
        InMemoryHistoryProvider(),
        require_per_service_call_history_persistence=is_persisted_per_call,
    )
    session = agent.create_session()
    run = streamed(agent, "Read.", session) if is_streamed else agent.run("Read.", session=session)
    assert asyncio.run(run).text == "Done."
    assert len(events(context, agent, session, OverflowReported)) == 1
    assert tokens(script.requests[7]) < tokens(script.requests[6])
    assert pairs_are_whole(script.requests[7])
    results = contents_of(stored(session), "function_result")
    assert [content.result for content in results] == [text_of(number) for number in range(6)]
    assert len(stored(session)) == 14
    assert not events(context, agent, session, Rewound)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_second_overflow_and_other_errors_are_raised(is_streamed) -> None:
    for errors, requests in (((TooLong(), TooLong()), 3), ((ValueError("no"),), 2)):
        script = Script(reads(1), *errors, says("never"))
        agent = agent_of(script, HoldfastContextProvider("32k"))
        session = agent.create_session()
        with pytest.raises(ChatClientException):
            asyncio.run(
                streamed(agent, "Read.", session) if is_streamed else agent.run("Read.", session=session)
            )
        assert len(script.requests) == requests


def test_a_stream_that_has_begun_is_not_begun_again() -> None:
    class Broken(Script):
        async def _updates(
            self, messages: Sequence[Message], options: Any
        ) -> AsyncIterator[ChatResponseUpdate]:
            async for update in super()._updates(messages, options):
                yield update
            raise TooLong

    script = Broken(says("Hello."), says("never"))
    agent = agent_of(script, HoldfastContextProvider("32k"))
    with pytest.raises(TooLong):
        asyncio.run(streamed(agent, "Hello.", agent.create_session()))
    assert len(script.requests) == 1


def test_a_restored_session_sends_the_same_and_records_nothing_twice(tmp_path) -> None:
    def script_of_two_runs() -> Script:
        return Script(*(reads(number) for number in range(25)), says("Done."), says("Yes."))

    whole, parted = script_of_two_runs(), script_of_two_runs()
    agent = agent_of(whole, HoldfastContextProvider("16k"))
    session = agent.create_session()
    run_agent(agent, "Read every part.", session)
    run_agent(agent, "Are you sure?", session)

    first = HoldfastContextProvider("16k", store=tmp_path / "agent.db")
    agent = agent_of(parted, first)
    run_agent(agent, "Read every part.", session := agent.create_session())
    before = len(first.conversation(agent, session).session.log.entries())
    saved = json.dumps(session.to_dict())
    first.close()
    second = HoldfastContextProvider("16k", store=str(tmp_path / "agent.db"))
    agent = agent_of(parted, second)
    session = AgentSession.from_dict(json.loads(saved))
    run_agent(agent, "Are you sure?", session)
    log = second.conversation(agent, session).session.log.entries()
    assert [type(entry.event) for entry in log[before:]] == [UserSaid, AssistantReplied]
    assert [wire(request) for request in parted.requests] == [wire(request) for request in whole.requests]


@pytest.mark.filterwarnings("ignore:.*experimental")
def test_a_history_in_files_is_resumed(tmp_path) -> None:
    script = Script(reads(1, 2), says("Done."), says("Yes."))
    for prompt in ("Read.", "Are you sure?"):
        context = HoldfastContextProvider("16k", store=tmp_path / "agent.db")
        agent = agent_of(script, context, FileHistoryProvider(tmp_path / "history"))
        session = agent.create_session(session_id="s1")
        run_agent(agent, prompt, session)
        assert not events(context, agent, session, Rewound)
    assert len(events(context, agent, session, UserSaid)) == 2
    assert len(events(context, agent, session, ToolReturned)) == 2


def test_conversations_at_the_same_time_are_kept_apart(tmp_path) -> None:
    context = HoldfastContextProvider("16k", store=tmp_path / "agent.db")
    names = {"apple", "pear", "plum"}

    async def work(name: str) -> tuple[str, Script, Agent, AgentSession]:
        script = Script(*(reads(number) for number in range(12)), recalls(query="secret word"), says(name))
        agent = agent_of(script, context)
        session = agent.create_session(session_id=name)
        await agent.run(f"The secret word is {name}.", session=session)
        return name, script, agent, session

    async def together() -> list:
        return await asyncio.gather(*map(work, names))

    for name, script, agent, session in asyncio.run(together()):
        answer = contents_of(script.requests[-1], "function_result")[-1].result
        assert f"The secret word is {name}." in answer
        assert not any(f"is {other}." in answer for other in names - {name})
        assert len(events(context, agent, session, ToolReturned)) == 13
        assert not events(context, agent, session, Rewound)


def test_an_agent_that_is_a_tool_has_a_conversation_of_its_own() -> None:
    context = HoldfastContextProvider("16k")
    helper = agent_of(Script(says("It is 8123.")), context, name="helper")
    ask = Message(
        "assistant", [Content.from_function_call("c1", "helper", arguments={"task": "Which port?"})]
    )
    script = Script(ask, says("8123."))
    tool = helper.as_tool(propagate_session=True)
    agent = Agent(script, tools=[tool], context_providers=[context], name="main")
    session = agent.create_session()
    assert run_agent(agent, "Ask.", session).text == "8123."
    assert len(events(context, agent, session, AssistantReplied)) == 2
    assert len(events(context, helper, session, AssistantReplied)) == 1


@pytest.mark.parametrize("is_persisted_per_call", [False, True])
def test_parallel_calls_keep_their_results(is_persisted_per_call) -> None:
    script = Script(*(reads(n, n + 1, n + 2) for n in range(0, 30, 3)), says("Done."))
    context = HoldfastContextProvider("16k")
    agent = agent_of(
        script,
        context,
        InMemoryHistoryProvider(),
        require_per_service_call_history_persistence=is_persisted_per_call,
    )
    session = agent.create_session()
    run_agent(agent, "Read every part.", session)
    assert events(context, agent, session, Folded)
    assert not events(context, agent, session, Rewound)
    assert all(map(pairs_are_whole, script.requests))
    assert len(contents_of(stored(session), "function_result")) == 30
    assert len(script.requests[-1]) < len(stored(session))


def test_a_streamed_run_is_recorded_once() -> None:
    script, context = Script(reads(1), says("Done.")), HoldfastContextProvider("16k")
    agent = agent_of(script, context)
    session = agent.create_session()
    assert asyncio.run(streamed(agent, "Read.", session)).text == "Done."
    assert len(events(context, agent, session, AssistantReplied)) == 2
    assert not events(context, agent, session, Rewound)


EVERYTHING = [
    Message("system", ["You see."]),
    Message(
        "user",
        [
            "Look:",
            Content.from_data(ONE_PIXEL, "image/png"),
            Content.from_uri("https://example.com/a.png", media_type="image/png"),
            Content.from_uri("https://example.com/a.pdf", media_type="application/pdf"),
        ],
        author_name="ann",
    ),
    Message("assistant", [Content.from_text_reasoning(id="rs_1", text="hm", protected_data="c2ln")]),
    Message(
        "assistant",
        [
            "I look.",
            "",
            Content.from_function_call("c1", "read", arguments='{"number": 1}', raw_representation=object()),
            Content.from_function_call("c2", "read", arguments={"number": 2}),
        ],
    ),
    Message(
        "tool",
        [
            Content.from_function_result("c1", result="one"),
            Content.from_function_result(
                "c2",
                result=[Content.from_text("two"), Content.from_data(ONE_PIXEL, "image/png")],
                exception="no",
            ),
        ],
    ),
    Message("assistant", [Content.from_hosted_file("file_1"), "Seen."]),
    Message("system", ["Hurry."]),
    Message("user", ["Well?"]),
]


def test_messages_of_every_kind_are_sent_with_the_contents_they_have() -> None:
    script, context = Script(says("Yes.")), HoldfastContextProvider("16k")
    run_agent(agent_of(script, context), EVERYTHING)
    for sent, own in zip(script.requests[0], EVERYTHING, strict=True):
        assert (sent.role, sent.author_name) == (own.role, own.author_name)
        assert all(one is other for one, other in zip(sent.contents, own.contents, strict=True))
    taken = FrameworkMessageList(EVERYTHING)
    whole = taken.joined(taken.messages)
    assert all(one is other for one, other in zip(whole, EVERYTHING, strict=True))


@given(st.data())
def test_whatever_is_left_out_contents_are_the_given_ones(data) -> None:
    taken = FrameworkMessageList(EVERYTHING)
    sent = [message for message in taken.messages if data.draw(st.booleans())]
    contents = [content for message in taken.joined(sent) for content in message.contents]
    given_ = [content for message in EVERYTHING for content in message.contents]
    places = [next(at for at, own in enumerate(given_) if own is content) for content in contents]
    assert places == sorted(set(places))
    assert len(contents) == 1 + sum(len(message.contents) for message in sent)


def test_a_shortened_reply_keeps_the_contents_that_are_whole() -> None:
    taken = FrameworkMessageList(EVERYTHING)
    parts = (Thinking("hm", "c2ln"), Text("I l…"), ToolCall("c1", "read", {"number": 1}))
    short = FrameworkTranslation().write(AssistantMessage(parts))
    result = FrameworkTranslation().write(ToolMessage("c2", "read", (Text("t…"),), error=True))
    opening, reply, one, two = taken.joined([*short, taken.messages[3], *result])
    assert opening is EVERYTHING[0]
    assert reply.contents[1].text == "I l…"
    assert reply.contents[2] is EVERYTHING[3].contents[2]
    assert one.contents[0] is EVERYTHING[4].contents[0]
    assert (two.contents[0].result, two.contents[0].exception) == ("t…", "the tool failed")


@pytest.mark.parametrize("wrong", [{"role": "user"}, "hello", None])
def test_what_is_no_message_is_named_by_its_place(wrong) -> None:
    with pytest.raises(InputError, match="message 1 is a"):
        FrameworkMessageList([EVERYTHING[0], wrong])


def test_a_history_that_the_service_keeps_is_refused_in_a_sentence() -> None:
    class Storing(Script):
        STORES_BY_DEFAULT = True

    context = HoldfastContextProvider("16k")
    with pytest.raises(InputError, match="the service keeps this agent's history"):
        run_agent(agent_of(Storing(says("no")), context), "Hello.")
    kept = agent_of(Storing(says("Yes.")), context, default_options={"store": False})
    assert run_agent(kept, "Hello.").text == "Yes."
    with pytest.raises(InputError, match="the service keeps this agent's history"):
        run_agent(agent_of(Script(), context), "Hello.", AgentSession(service_session_id="conv_1"))


@pytest.mark.parametrize("settings", [{"budget": "much"}, {"profile": "none"}])
def test_bad_settings_are_refused_in_a_sentence(settings) -> None:
    with pytest.raises(HoldfastError):
        HoldfastContextProvider(**settings)


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
    with SqliteStore(tmp_path / "agent.db") as store:
        (log,) = store.logs()
        recorded = [entry.event for entry in Log.open(store, log.head.id).entries()]
    assert sum(isinstance(event, ToolsSet) for event in recorded) == 1, "the tools did not change"
    assert "the port is 8123" in json.dumps(asked[-1])
    assert '"Recall"' in json.dumps(asked[0]["tools"])
    with holdfast.Session.resume(tmp_path / "agent.db") as session:
        recorded = [entry.event for entry in session.log.entries()]
        assert [e.usage.prompt for e in recorded if isinstance(e, AssistantReplied)] == [50] * 6
        assert sum(isinstance(e, OverflowReported) for e in recorded) == 1
        assert not any(isinstance(e, Rewound) for e in recorded)
