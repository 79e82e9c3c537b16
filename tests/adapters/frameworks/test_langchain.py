"""The adapter for LangChain and LangGraph, with the real libraries and models that follow a script."""

import asyncio
import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import holdfast
from holdfast.adapters.langchain import HoldfastMiddleware, HoldfastTrimmer
from holdfast.adapters.langchain_messages import ChatTranslation
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
from holdfast.messages import AssistantMessage, Image, Text, Thinking, ToolCall, Usage
from holdfast.recall import RECALL_TOOL
from holdfast.tokenizers import counter_for_model
from holdfast.views import path

ROOT = Path(__file__).parents[3]
BUDGET = 16_000


class ScriptedModel(GenericFakeChatModel):
    """LangChain's own fake model, which also keeps what it was sent, and raises what is an exception."""

    script: Any = None
    sent: list[list[BaseMessage]] = []  # noqa: RUF012  pydantic copies it
    tools: list[Any] = []  # noqa: RUF012

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        self.tools[:] = tools
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.sent.append(list(messages))
        step = next(self.script)
        if isinstance(step, Exception):
            raise step
        self.messages = iter([step])
        return super()._generate(messages, *args, **kwargs)


def scripted(*steps: Any) -> ScriptedModel:
    return ScriptedModel(messages=iter(()), script=iter(steps), sent=[], tools=[])


def called(*calls: tuple[str, str, dict], text: str = "", usage: dict | None = None) -> AIMessage:
    made = [{"id": id_, "name": name, "args": arguments} for id_, name, arguments in calls]
    return AIMessage(text, tool_calls=made, usage_metadata=usage)


def reads(first: int, end: int) -> list[AIMessage]:
    return [called((f"call_{n}", "read_part", {"path": f"src/part_{n}.py"})) for n in range(first, end)]


def part(path: str) -> str:
    """Every other one is short enough to be sent whole."""
    number = int("".join(filter(str.isdigit, path)))
    return "\n".join(f"value_{number}_{row} = {row} * {number}" for row in range(20 if number % 2 else 150))


@tool
def read_part(path: str) -> str:
    """Read a part."""
    return part(path)


def agent_of(model: ScriptedModel, middleware: HoldfastMiddleware, saver: Any = None, **settings: Any) -> Any:
    return create_agent(
        model,
        [read_part],
        system_prompt="Be brief.",
        middleware=[middleware],
        checkpointer=saver,
        **settings,
    )


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}, "recursion_limit": 200}


def asked(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def log_of(made: HoldfastMiddleware | HoldfastTrimmer, name: str) -> list[Any]:
    conversation = made.conversations.get(thread(name), [])
    return [entry.event for entry in conversation.session.log.entries()]


def found(events: list[Any], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def tokens(messages: list[BaseMessage]) -> int:
    count = counter_for_model("").text
    return sum(count(m.text) + count(json.dumps(getattr(m, "tool_calls", []))) for m in messages)


def check_pairs(messages: list[BaseMessage]) -> None:
    """Each call has its result right after the reply that made it."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in waiting
            waiting.remove(message.tool_call_id)
        else:
            assert not waiting
        if isinstance(message, AIMessage):
            waiting = [call["id"] for call in message.tool_calls]
    assert not waiting


def test_a_long_run_stays_within_its_budget_and_its_state_stays_whole() -> None:
    model, middleware = scripted(*reads(0, 30), AIMessage("Done.")), HoldfastMiddleware(budget=BUDGET)
    state = agent_of(model, middleware, InMemorySaver()).invoke(asked("Read every part."), thread("a"))
    results = [m.text for m in state["messages"] if isinstance(m, ToolMessage)]
    assert results == [part(f"src/part_{n}.py") for n in range(30)]
    by_id = {message.id: message for message in state["messages"]}
    for sent in model.sent:
        assert tokens(sent) < BUDGET
        assert sent[0] == SystemMessage("Be brief.")
        check_pairs(sent)
        # What is sent as it was has its id: only notes and shortened messages have none.
        assert all(message == by_id[message.id] for message in sent[1:] if message.id)
        assert all(message.id for message in sent[-4:] if isinstance(message, AIMessage))
    assert model.sent[-1][-1] == state["messages"][-2]
    assert len(model.sent[-1]) < 50
    assert RECALL_TOOL.name in [offered.name for offered in model.tools]
    events = log_of(middleware, "a")
    assert found(events, Folded)
    assert not found(events, Rewound)
    assert len(found(events, ToolReturned)) == 30
    assert found(events, AssistantReplied)[-1].parts == (Text("Done."),)


def test_the_model_calls_recall_and_reads_an_old_text_again() -> None:
    recalled = called(("call_r", "Recall", {"query": "value_4_97"}))
    model = scripted(*reads(0, 25), recalled, AIMessage("Found."))
    middleware = HoldfastMiddleware(budget=BUDGET)
    state = agent_of(model, middleware, InMemorySaver()).invoke(asked("Read."), thread("a"))
    assert "value_4_97 " not in " ".join(message.text for message in model.sent[-2])
    answer = state["messages"][-2]
    assert (answer.tool_call_id, answer.status) == ("call_r", "success")
    assert "value_4_97 " in answer.text
    assert answer == model.sent[-1][-1]


def test_recall_with_arguments_that_make_no_sense_answers_the_model() -> None:
    calls = [
        ("r1", "Recall", {"id": "a0000000"}),
        ("r2", "Recall", {"lines": {}, "page": 2}),
        ("r3", "Recall", {}),
    ]
    model = scripted(called(*calls), AIMessage("Well."))
    state = agent_of(model, HoldfastMiddleware(budget=BUDGET)).invoke(asked("Read."))
    assert [bool(m.text) for m in state["messages"] if isinstance(m, ToolMessage)] == [True] * 3
    assert state["messages"][-1].text == "Well."


def test_usage_with_cached_tokens_reaches_the_log() -> None:
    plain = {"input_tokens": 1_200, "output_tokens": 30, "total_tokens": 1_230}
    cached = {**plain, "input_token_details": {"cache_read": 900, "cache_creation": 100}}
    lasting = {**plain, "input_token_details": {"cache_creation": 0, "ephemeral_1h_input_tokens": 250}}
    steps = [
        called((f"call_{n}", "read_part", {"path": "src/part_1.py"}), usage=u)
        for n, u in enumerate([cached, lasting])
    ]
    last = AIMessage("Done.", usage_metadata=plain, response_metadata={"model_name": "model-1"})
    middleware = HoldfastMiddleware(budget=BUDGET)
    agent_of(scripted(*steps, last), middleware, InMemorySaver()).invoke(asked("Read."), thread("a"))
    replies = found(log_of(middleware, "a"), AssistantReplied)
    assert [reply.usage for reply in replies] == [
        Usage(1_200, 30, cache_read=900, cache_write=100),
        Usage(1_200, 30, cache_write=250),
        Usage(1_200, 30),
    ]
    assert replies[-1].model == "model-1"


class ProviderError(Exception):
    """As an SDK raises it, for an integration that does not know LangChain's own error."""

    status_code = 400


@pytest.mark.parametrize(
    "error",
    [
        ContextOverflowError("the window is full"),
        ProviderError("prompt is too long: 90001 tokens > 90000 maximum"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_request_that_was_too_long_is_sent_again_once_and_smaller(error, is_async) -> None:
    model = scripted(*reads(0, 8), error, AIMessage("Done."))
    middleware = HoldfastMiddleware(budget=BUDGET)
    agent = agent_of(model, middleware, InMemorySaver())
    if is_async:
        state = asyncio.run(agent.ainvoke(asked("Read."), thread("a")))
    else:
        state = agent.invoke(asked("Read."), thread("a"))
    assert state["messages"][-1].text == "Done."
    assert len(state["messages"]) == 18
    assert tokens(model.sent[-1]) < 0.8 * tokens(model.sent[-2])
    assert len(found(log_of(middleware, "a"), OverflowReported)) == 1


@pytest.mark.parametrize(
    "errors", [[ContextOverflowError("full"), ContextOverflowError("full")], [KeyError("x")]]
)
def test_what_a_second_request_cannot_mend_is_raised(errors) -> None:
    model = scripted(*reads(0, 8), *errors, AIMessage("Never."))
    with pytest.raises(type(errors[0])):
        agent_of(model, HoldfastMiddleware(budget=BUDGET)).invoke(asked("Read."))
    assert len(model.sent) == 8 + len(errors)


CONTINUE = """
import sys
from pathlib import Path
from test_langchain import *
serializer = JsonPlusSerializer()
loaded = serializer.loads_typed(("msgpack", Path("messages.bin").read_bytes()))
model = scripted(AIMessage("Again."))
middleware = HoldfastMiddleware(budget=BUDGET, store="agent.db")
agent_of(model, middleware).invoke({"messages": [*loaded, HumanMessage("And?")]}, thread("thread 1/é"))
Path("sent.bin").write_bytes(serializer.dumps_typed(model.sent[0])[1])
"""


def test_a_thread_is_continued_by_another_process_from_its_checkpoint_and_its_log(tmp_path) -> None:
    """The checkpoint goes through a file, as LangGraph's own serializer writes it."""
    serializer, store = JsonPlusSerializer(), str(tmp_path / "agent.db")
    steps = [*reads(0, 40), AIMessage("Done.")]
    model = scripted(*steps, *steps, AIMessage("Again."))
    middleware = HoldfastMiddleware(budget=BUDGET, store=store)
    agent = agent_of(model, middleware, InMemorySaver())
    agent.invoke(asked("Read every part."), thread("thread 1/é"))
    before = log_of(middleware, "thread 1/é")
    assert found(before, Folded)
    saved = agent.get_state(thread("thread 1/é")).values["messages"]
    (tmp_path / "messages.bin").write_bytes(serializer.dumps_typed(saved)[1])
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run([sys.executable, "-c", CONTINUE], cwd=tmp_path, env=environment, check=True)
    after = log_of(HoldfastMiddleware(budget=BUDGET, store=store), "thread 1/é")
    assert after[: len(before)] == before
    assert [type(event) for event in after[len(before) :]] == [UserSaid, AssistantReplied]

    # Without a break the same is sent.
    agent = agent_of(model, HoldfastMiddleware(budget=BUDGET), InMemorySaver())
    for text in ("Read every part.", "And?"):
        agent.invoke(asked(text), thread("thread 1/é"))
    sent = serializer.loads_typed(("msgpack", (tmp_path / "sent.bin").read_bytes()))
    assert [m.model_dump(exclude={"id"}) for m in model.sent[-1]] == [
        m.model_dump(exclude={"id"}) for m in sent
    ]


def test_threads_are_kept_apart(tmp_path) -> None:
    middleware = HoldfastMiddleware(budget=BUDGET, store=str(tmp_path / "agent.db"))
    asks = called(("call_r", "Recall", {"query": "port"}))
    for name, text in [("a", "The port is 8123."), ("b", "Which port?")]:
        agent = agent_of(scripted(asks, AIMessage("Well.")), middleware, InMemorySaver())
        state = agent.invoke(asked(text), thread(name))
    assert "8123" not in state["messages"][-2].text
    assert "8123" in str(log_of(middleware, "a"))
    assert "8123" not in str(log_of(middleware, "b"))


def test_runs_without_a_thread_are_conversations_of_their_own() -> None:
    middleware = HoldfastMiddleware(budget=BUDGET)
    secret = scripted(*reads(0, 3), AIMessage("Done."))
    agent_of(secret, middleware).invoke(asked("The port is 8123."))
    asks = called(("r1", "Recall", {"query": "port"}), ("r2", "Recall", {"query": "value_2_9"}))
    model = scripted(*reads(2, 25), asks, AIMessage("Well."))
    state = agent_of(model, middleware).invoke(asked("Which port?"))
    port, value = state["messages"][-3:-1]
    assert "8123" not in port.text
    assert "value_2_9 " in value.text
    assert tokens(model.sent[-1]) < BUDGET


def test_an_agent_in_a_tool_of_another_has_a_conversation_of_its_own(tmp_path) -> None:
    """Both share the thread, and here the middleware too."""
    middleware = HoldfastMiddleware(budget=BUDGET, store=str(tmp_path / "agent.db"))
    inner = scripted(*reads(0, 3), AIMessage("Inner is done."), *reads(0, 2), AIMessage("Inner again."))
    helper = agent_of(inner, middleware)

    @tool
    def ask_helper(task: str) -> str:
        """Ask a helper."""
        return helper.invoke(asked(task))["messages"][-1].text

    outer = scripted(
        called(("h1", "ask_helper", {"task": "one"})),
        called(("h2", "ask_helper", {"task": "two"})),
        AIMessage("Done."),
    )
    agent = create_agent(outer, [ask_helper], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke(asked("Begin."), thread("a"))
    assert [len(sent) for sent in outer.sent] == [1, 3, 5]
    assert not found(log_of(middleware, "a"), Rewound)
    assert len(found(log_of(middleware, "a"), AssistantReplied)) == 3
    with holdfast.store.SqliteStore(str(tmp_path / "agent.db")) as store:
        assert len(store.logs()) == 3


def test_an_agent_as_a_node_keeps_its_conversation_from_turn_to_turn(tmp_path) -> None:
    middleware = HoldfastMiddleware(budget=BUDGET, store=str(tmp_path / "agent.db"))
    recalled = called(("r", "Recall", {"query": "value_1_3"}))
    model = scripted(*reads(0, 3), AIMessage("One."), *reads(3, 5), recalled, AIMessage("Two."))
    graph = StateGraph(MessagesState)
    graph.add_node("worker", agent_of(model, middleware))
    graph.add_edge(START, "worker")
    graph.add_edge("worker", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    compiled.invoke(asked("Begin."), thread("a"))
    state = compiled.invoke(asked("Go on."), thread("a"))
    assert "value_1_3 " in state["messages"][-2].text
    with holdfast.store.SqliteStore(str(tmp_path / "agent.db")) as store:
        (log,) = store.logs()
        session = holdfast.Session.resume(store, log.head.id)
        events = [entry.event for entry in session.log.entries()]
    assert not found(events, Rewound)
    assert len(found(events, AssistantReplied)) == 8


def test_many_threads_at_once() -> None:
    middleware = HoldfastMiddleware(budget=BUDGET)

    runs: dict[int, tuple[ScriptedModel, list[BaseMessage]]] = {}

    async def run(number: int) -> None:
        recalled = called(("r", "Recall", {"query": f"secret_{number}"}))
        model = scripted(*reads(number, number + 20), recalled, AIMessage(f"Done {number}."))
        agent = agent_of(model, middleware, InMemorySaver())
        state = await agent.ainvoke(asked(f"This is secret_{number}."), thread(f"thread-{number}"))
        runs[number] = model, state["messages"]

    async def run_all() -> None:
        await asyncio.gather(*map(run, range(6)))

    asyncio.run(run_all())
    assert len(runs) == 6
    for number, (model, messages) in runs.items():
        assert messages[-1].text == f"Done {number}."
        assert f"secret_{number}" in messages[-2].text
        assert all(tokens(sent) < BUDGET for sent in model.sent)
        assert not found(log_of(middleware, f"thread-{number}"), Rewound)
        said = " ".join(message.text for sent in model.sent for message in sent)
        assert not any(f"secret_{other}" in said for other in range(6) if other != number)


def test_parallel_calls_stay_with_their_results() -> None:
    steps = [
        called(
            *((f"call_{n}_{m}", "read_part", {"path": f"src/part_{n}{m}.py"}) for m in range(3)),
            text="Three.",
        )
        for n in range(1, 10)
    ]
    model = scripted(*steps, AIMessage("Done."))
    middleware = HoldfastMiddleware(budget=BUDGET)
    agent_of(model, middleware, InMemorySaver()).invoke(asked("Read."), thread("a"))
    for sent in model.sent:
        check_pairs(sent)
        assert tokens(sent) < BUDGET
    assert found(log_of(middleware, "a"), Folded)
    assert [call["id"] for call in model.sent[-1][-4].tool_calls] == ["call_9_0", "call_9_1", "call_9_2"]


def test_what_only_langchain_knows_of_a_message_is_sent_as_it_was() -> None:
    thought = {"type": "thinking", "thinking": "A port?", "signature": "c2ln"}
    opaque = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"}
    use = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": [1, 2]}}
    picture = {"type": "image", "base64": "aGVsbG8=", "mime_type": "image/png"}
    given = [
        HumanMessage(
            [{"type": "text", "text": "What is it?", "cache_control": {"type": "ephemeral"}}, picture]
        ),
        AIMessage(
            [thought, {"type": "text", "text": "Let me see."}, use],
            tool_calls=[{"id": "call_1", "name": "look", "args": {"at": [1, 2]}}],
            response_metadata={"stop_reason": "tool_use"},
        ),
        ToolMessage(
            [{"type": "text", "text": "A file."}, picture], tool_call_id="call_1", artifact={"raw": object()}
        ),
        AIMessage([opaque, {"type": "text", "text": "It is a file."}], additional_kwargs={"own": 1}),
        HumanMessage([{"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"}], name="ann"),
        AIMessage([{"type": "web_search_call", "id": "ws_1"}, {"type": "text", "text": "Searched."}]),
        SystemMessage("Mind the time."),
        HumanMessage("Go on."),
    ]
    sent = HoldfastTrimmer(budget=BUDGET).invoke(given)
    assert all(one is other for one, other in zip(sent, given, strict=True))


def test_a_log_has_what_a_reader_of_it_needs() -> None:
    use = {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": [1, 2]}}
    picture = {"type": "image", "base64": "aGVsbG8=", "mime_type": "image/jpeg"}
    sounds = [{"type": "audio", "base64": data, "mime_type": "audio/wav"} for data in ("AAAA", "BBBB")]
    given = [
        HumanMessage(["What is it?", picture]),
        AIMessage(
            ["Let me see.", use], tool_calls=[{"id": "call_1", "name": "look", "args": {"at": (1, 2)}}]
        ),
        *(HumanMessage([sound]) for sound in sounds),
    ]
    asks, reply, *said = [event for _, (event,) in ChatTranslation().read(given)]
    assert asks.parts == (Text("What is it?"), Image("image/jpeg", "aGVsbG8="))
    assert reply.parts == (Text("Let me see."), ToolCall("call_1", "look", {"at": [1, 2]}))
    # Else one could be sent in place of the other, once the other is left out.
    assert said[0].parts[0].text.startswith("[audio ")
    assert said[0].parts != said[1].parts


def test_written_messages_are_those_that_were_read() -> None:
    translation = ChatTranslation()
    calls = (ToolCall("c1", "look", {"at": 1}), ToolCall("c2", "look", {}, raw='{"at": '))
    thoughts = (Thinking("A port?", signature="c2ln"), Thinking(redacted="b3BhcXVl"))
    given = AssistantMessage((*thoughts, Text("Let me see."), *calls))
    (written,) = translation.write(given)
    assert (written.tool_calls[0]["args"], written.invalid_tool_calls[0]["args"]) == ({"at": 1}, '{"at": ')
    ((_, (event,)),) = translation.read([written])
    assert event.parts == given.parts
    shortened = ToolMessage("no such file", tool_call_id="c1", name="look", status="error")
    ((_, (event,)),) = translation.read([shortened])
    assert event.error
    assert translation.write(holdfast.messages.ToolMessage("c1", "look", event.parts, error=True)) == [
        shortened
    ]


def test_a_call_that_langchain_could_not_read_gets_an_answer() -> None:
    invalid = {"id": "c1", "name": "look", "args": '{"at": ', "error": "no JSON"}
    given = [HumanMessage("Look."), AIMessage("", invalid_tool_calls=[invalid]), HumanMessage("Try again.")]
    sent = HoldfastTrimmer(budget=BUDGET).invoke(given)
    assert [type(message) for message in sent] == [HumanMessage, AIMessage, ToolMessage, HumanMessage]
    assert sent[2].tool_call_id == "c1"


def test_a_middleware_before_ours_may_set_the_system_message() -> None:
    prompt = SystemMessage([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
    model, middleware = scripted(AIMessage("Yes.")), HoldfastMiddleware(budget=BUDGET)
    agent = create_agent(model, system_prompt=prompt, middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke({"messages": [SystemMessage("Be kind."), HumanMessage("Ready?")]}, thread("a"))
    assert [m.text for m in model.sent[0]] == ["Be brief.\n\nBe kind.", "Ready?"]
    assert [event.text for event in found(log_of(middleware, "a"), SystemSet)] == ["Be brief.\n\nBe kind."]
    other = scripted(AIMessage("Yes."))
    create_agent(other, system_prompt=prompt, middleware=[HoldfastMiddleware(budget=BUDGET)]).invoke(
        asked("Ready?")
    )
    assert other.sent[0][0] == prompt


class Edits(AgentMiddleware):
    """Hides a number in each request, and in each reply, as one for personal data does."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        hidden = [
            m.model_copy(update={"content": m.content.replace("8123", "****")}) for m in request.messages
        ]
        return handler(request.override(messages=hidden))

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ARG002
        reply = state["messages"][-1]
        return {"messages": [reply.model_copy(update={"content": f"{reply.content} (checked)"})]}


def test_other_middleware_may_edit_requests_and_replies() -> None:
    steps = [*reads(0, 40), AIMessage("Done."), AIMessage("Yes.")]
    model, middleware = scripted(*steps), HoldfastMiddleware(budget=BUDGET)
    agent = create_agent(model, [read_part], middleware=[Edits(), middleware], checkpointer=InMemorySaver())
    agent.invoke(asked("The port is 8123."), thread("a"))
    agent.invoke(asked("Was it 8123?"), thread("a"))
    assert model.sent[-1][0].text == "The port is ****."
    assert [message.text for message in model.sent[-1][-2:]] == ["Done. (checked)", "Was it ****?"]
    assert all(tokens(sent) < BUDGET for sent in model.sent)
    # The reply that was edited after it was recorded is taken back, and nothing else: folds stay.
    conversation = middleware.conversations.get(thread("a"), [])
    events = [entry.event for entry in path(conversation.session.log.entries())]
    assert found(events, Folded) == found(log_of(middleware, "a"), Folded) != []
    assert len(found(log_of(middleware, "a"), Rewound)) == 1


def test_a_trimmer_in_a_chain() -> None:
    prompt = ChatPromptTemplate.from_messages([("system", "Be brief."), ("placeholder", "{history}")])
    trimmer, model = HoldfastTrimmer(budget=BUDGET), scripted(AIMessage("One."), AIMessage("Two."))
    chain = prompt | trimmer | model
    history: list[BaseMessage] = [HumanMessage("Read.")]
    for number, reply in enumerate(reads(0, 25)):
        history += [reply, ToolMessage(part(f"src/part_{number}.py"), tool_call_id=f"call_{number}")]
    assert chain.invoke({"history": history}).text == "One."
    assert asyncio.run(chain.ainvoke({"history": history}, thread("a"))).text == "Two."
    for sent in model.sent:
        assert sent[0].text == "Be brief."
        assert tokens(sent) < BUDGET
        check_pairs(sent)
    assert len(found(log_of(trimmer, "a"), ToolReturned)) == 25
    recalled = trimmer.recall.invoke({"query": "value_4_97"}, thread("a"))
    assert "value_4_97 " in recalled
    assert "value_4_97 " not in trimmer.recall.invoke({"query": "value_4_97"}, thread("b"))
    assert "`thread_id`" in trimmer.recall.invoke({"query": "value_4_97"})


def test_a_trimmer_in_a_node_with_recall_among_its_tools() -> None:
    model = scripted(*reads(0, 35), called(("r", "Recall", {"query": "value_4_97"})), AIMessage("Done."))
    trimmer = HoldfastTrimmer(budget=BUDGET, tools=[read_part])

    def call_model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(trimmer.invoke(state["messages"]))]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", ToolNode([read_part, trimmer.recall]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    state = graph.compile(checkpointer=InMemorySaver()).invoke(asked("Read."), thread("a"))
    assert "value_4_97 " in state["messages"][-2].text
    assert len(state["messages"]) == 74
    assert all(tokens(sent) < BUDGET for sent in model.sent)
    events = log_of(trimmer, "a")
    (offered,) = found(events, ToolsSet)
    assert [definition.name for definition in offered.tools] == ["read_part", "Recall"]
    assert found(events, Folded)
    assert not found(events, Rewound)


def test_a_trimmer_takes_what_a_chat_model_takes() -> None:
    trimmer = HoldfastTrimmer(budget=BUDGET)
    given = [("system", "Be brief."), {"role": "user", "content": "Ready?"}]
    assert trimmer.invoke(given) == [SystemMessage("Be brief."), HumanMessage("Ready?")]
    assert trimmer.invoke([]) == []
    key = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-AbCdEfGA"
    secret = trimmer.invoke([("system", f"The key is {key}."), *given])
    assert [message.text for message in secret] == ["The key is <REDACTED>.\n\nBe brief.", "Ready?"]
    assert (RunnableLambda(lambda text: [("user", text)]) | trimmer).invoke("Ready?") == [
        HumanMessage("Ready?")
    ]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([HumanMessage("Hello."), None], "message 1 is a `NoneType`"),
        ([HumanMessage("Hello."), {"text": "x"}], "message 1 is a `dict`"),
        ([RemoveMessage(id="1")], "message 0 is a `RemoveMessage`"),
        ({"messages": [HumanMessage("Hello.")]}, "of type `dict`, not a list"),
        ([HumanMessage("")], "nothing to pack"),
        ([AIMessage("", tool_calls=[{"id": "1", "name": "f", "args": {"x": object()}}])], "message 0 holds"),
        ([HumanMessage("Half a character: \ud83d")], "message 0 holds"),
    ],
)
def test_what_cannot_be_packed_is_said_in_a_sentence(given, sentence) -> None:
    with pytest.raises(HoldfastError, match=sentence) as raised:
        HoldfastTrimmer(budget=BUDGET).invoke(given)
    assert raised.value.hint


def test_a_budget_that_is_none_is_refused() -> None:
    with pytest.raises(InputError):
        HoldfastMiddleware(budget="many")


def chat_completion(step: AIMessage) -> dict[str, Any]:
    calls = [
        {
            "id": c["id"],
            "type": "function",
            "function": {"name": c["name"], "arguments": json.dumps(c["args"])},
        }
        for c in step.tool_calls
    ]
    message = {"role": "assistant", "content": step.text or None, **({"tool_calls": calls} if calls else {})}
    usage = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    head = {"id": "r", "object": "chat.completion", "created": 0, "model": "model-1"}
    return {**head, "choices": [choice], "usage": usage}


def serve(steps: list[AIMessage | str], requests: list[dict[str, Any]]) -> ThreadingHTTPServer:
    """A server on loopback that plays OpenAI: a reply for each request, or an overflow where a step is a text."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            step = steps[len(requests) - 1]
            failed = isinstance(step, str)
            error = {
                "error": {"message": step, "code": "context_length_exceeded", "type": "invalid_request_error"}
            }
            body = json.dumps(error if failed else chat_completion(step)).encode()
            self.send_response(400 if failed else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_the_example_runs_as_it_is(tmp_path) -> None:
    (tmp_path / "notes.txt").write_text("\n".join(["the port is 8123", *(f"row {n}" for n in range(3_000))]))
    steps = [
        called(("c1", "read_file", {"path": "notes.txt"})),
        "maximum context length is 9000 tokens",
        called(("c2", "Recall", {"query": "port"})),
        AIMessage("It listens on 8123."),
    ]
    requests: list[dict[str, Any]] = []
    server = serve(steps, requests)
    environment = {
        **os.environ,
        "OPENAI_API_KEY": "a key for loopback",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        "NO_PROXY": "127.0.0.1",
    }
    example = ROOT / "examples" / "adapters" / "langchain_agent.py"
    try:
        done = subprocess.run(
            [sys.executable, str(example), "Which port?"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        server.shutdown()
        server.server_close()
    assert (done.returncode, done.stdout) == (0, "It listens on 8123.\n"), done.stderr
    assert "[recall search query" in json.dumps(requests[-1])
    assert {offered["function"]["name"] for offered in requests[0]["tools"]} == {"read_file", "Recall"}
    with holdfast.Session.resume(tmp_path / "agent.db") as session:
        events = [entry.event for entry in session.log.entries()]
    assert [reply.usage.prompt for reply in found(events, AssistantReplied)] == [50] * 3
    assert len(found(events, OverflowReported)) == 1
