"""What is told of a run: lines of JSON and OpenTelemetry spans."""

import asyncio
import json
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from holdfast.agents.coding.coding_session import open_coding_session
from holdfast.agents.coding.headless import RunResult
from holdfast.agents.coding.task import SUB_AGENT_PROMPT
from holdfast.agents.coding.traces import Trace, redact_line
from holdfast.agents.limits import TaskSettings
from holdfast.agents.notices import Replied, innermost
from holdfast.agents.options import AgentOptions
from holdfast.agents.otel import RunSpans
from holdfast.errors import ConfigError, InputError
from holdfast.messages import SystemMessage, ToolMessage
from holdfast.models.errors import NetworkFailed
from holdfast.models.scripted import ScriptedModel
from holdfast.models.telemetry import tracer_provider
from support.agent_runs import call, repository
from support.last_message import last_message

NOWHERE = {"XDG_CONFIG_HOME": "/nonexistent"}


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path)


def ran(root, model, watching, tasks=None):
    """Run one round; `watching` makes the watcher when the log is known."""

    async def work():
        options = AgentOptions(
            root=root, store=root.parent / "store.db", sandbox="off", mode="plan", budget=32_000
        )
        opened = await open_coding_session(options, model=model, env=NOWHERE, tasks=tasks)
        opened.coding.watch = watching(opened.coding)
        try:
            return await opened.coding.say("Go.")
        finally:
            await opened.close()

    return asyncio.run(work())


def spans_of(root, model, tasks=None):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    made = []

    def watching(coding):
        made.append(
            RunSpans(provider.get_tracer("test"), log=coding.session.log.id, model="anthropic/claude-x")
        )
        return made[0].watch

    end = ran(root, model, watching, tasks)
    made[0].end("done" if hasattr(end, "text") else end.reason)
    return {span.name: span for span in exporter.get_finished_spans()}, exporter.get_finished_spans()


def test_a_span_for_the_run_each_request_and_each_call(root):
    model = ScriptedModel(
        [call("Read", "r", path="main.py"), call("Write", "w", path="x", content="secret words")], "Done."
    )
    by_name, spans = spans_of(root, model)
    assert sorted(span.name for span in spans) == [
        "chat claude-x",
        "chat claude-x",
        "execute_tool Read",
        "execute_tool Write",
        "invoke_agent holdfast",
    ]
    whole = by_name["invoke_agent holdfast"]
    assert all(span.parent.span_id == whole.context.span_id for span in spans if span is not whole)
    assert whole.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert whole.attributes["gen_ai.provider.name"] == "anthropic"
    assert whole.attributes["gen_ai.conversation.id"].startswith("l")
    chats = [span for span in spans if span.name.startswith("chat")]
    sent = sum(span.attributes["gen_ai.usage.input_tokens"] for span in chats)
    assert whole.attributes["gen_ai.usage.input_tokens"] == sent > 0
    assert [span.attributes["gen_ai.response.finish_reasons"] for span in chats] == [
        ("tool_call",),
        ("stop",),
    ]
    assert by_name["execute_tool Read"].status.is_ok or by_name["execute_tool Read"].status.is_unset
    denied = by_name["execute_tool Write"]
    assert denied.attributes["error.type"] == "ACCESS_DENIED"
    assert denied.attributes["gen_ai.tool.call.id"] == "w"
    assert "secret words" not in "".join(span.to_json() for span in spans)


def test_what_is_cut_short_is_ended_as_an_error(root):
    by_name, _ = spans_of(root, ScriptedModel(NetworkFailed("gone")))
    assert by_name["chat claude-x"].attributes["error.type"] == "cut_short"
    assert by_name["invoke_agent holdfast"].attributes["error.type"] == "model"


def test_sub_agents_hang_below_the_call_they_work_for(root):
    def reply(request):
        first = request.messages[0]
        if isinstance(first, SystemMessage) and first.text.startswith(SUB_AGENT_PROMPT):
            return "Found."
        is_over = isinstance(last_message(request), ToolMessage)
        return "Done." if is_over else [call("Task", "t", description="look", prompt="Look.")]

    by_name, spans = spans_of(root, ScriptedModel(reply, repeat_last=True))
    sub = by_name["invoke_agent holdfast.task"]
    assert sub.parent.span_id == by_name["execute_tool Task"].context.span_id
    inner = [span for span in spans if span.parent and span.parent.span_id == sub.context.span_id]
    assert [span.name for span in inner] == ["chat claude-x"]


def nested(request):
    """A session whose sub-agent has one of its own."""
    first = request.messages[0]
    tools = {tool.name for tool in request.tools}
    is_sub = isinstance(first, SystemMessage) and first.text.startswith(SUB_AGENT_PROMPT)
    if isinstance(last_message(request), ToolMessage) or (is_sub and "Task" not in tools):
        return "Done."
    id_ = "inner" if is_sub else "outer"
    return [call("Task", id_, description=id_, prompt="Look.")]


def test_sub_agents_of_sub_agents_hang_below_theirs(root, tmp_path):
    depth = TaskSettings(depth=2)
    _, spans = spans_of(root, ScriptedModel(nested, repeat_last=True), tasks=depth)
    by_id = {span.context.span_id: span for span in spans}

    def way(span):
        return [
            *(way(by_id[span.parent.span_id]) if span.parent else []),
            span.name.removeprefix("invoke_agent "),
        ]

    deepest = max((way(span) for span in spans), key=len)
    task = ["execute_tool Task", "holdfast.task"]
    assert deepest == ["holdfast", *task, *task, "chat claude-x"]
    file = tmp_path / "trace.jsonl"
    trace = Trace(file)
    ran(root, ScriptedModel(nested, repeat_last=True), lambda _: trace.watch, tasks=depth)
    trace.close()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    inner = [line["news"] for line in lines if line["type"] == "task" and line["news"]["type"] == "task"]
    assert {(line["call"], line["news"]["type"]) for line in inner} >= {("inner", "step"), ("inner", "reply")}
    assert {line["call"] for line in lines if line["type"] == "task"} == {"outer"}


def test_what_deeper_ones_spend_is_spent_by_all_above(root):
    sessions, replies = [], []

    def watching(coding):
        sessions.append(coding)
        return lambda notice: replies.append(innermost(notice))

    ran(root, ScriptedModel(nested, repeat_last=True), watching, tasks=TaskSettings(depth=2))
    usages = [notice.reply.usage.total for notice in replies if isinstance(notice, Replied)]
    assert len(usages) == 5
    assert sessions[0].agent.budget.spent.usage.total == sum(usages)


def test_exporters_are_chosen_by_the_environment(capsys):
    provider = tracer_provider({"OTEL_TRACES_EXPORTER": "console"})
    RunSpans(provider.get_tracer("test"), log="l1", model="a/b").end()
    provider.shutdown()
    shown = capsys.readouterr()
    assert shown.out == ""
    assert json.loads(shown.err)["name"] == "invoke_agent holdfast"
    with pytest.raises(ConfigError, match="the exporter `otlp_proto_http`, which is not installed"):
        tracer_provider({"OTEL_TRACES_EXPORTER": "otlp"})


def test_a_trace_is_a_line_for_each_notice(root, tmp_path):
    file = tmp_path / "trace.jsonl"
    trace = Trace(file, clock=lambda: 12.3456)
    ran(root, ScriptedModel([call("Read", "r", path="main.py")], "Done."), lambda _: trace.watch)
    trace.close()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["step", "reply", "call", "result", "step", "reply"]
    assert {(line["v"], line["at"]) for line in lines} == {(1, 12.346)}


def test_a_trace_that_cannot_be_written_is_said_at_the_end(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        Trace(tmp_path / "none" / "trace.jsonl")
    if (full := Path("/dev/full")).exists():
        trace = Trace(full)
        with pytest.raises(InputError, match="No space left"):
            trace.end(RunResult(outcome="done", text=""))
        trace.close()


def test_lines_have_no_secrets():
    line = {"type": "reply", "text": "key AKIA" + "ABCDEFGHIJKLMNOP", "calls": [{"password": "tiny"}]}
    cleaned = str(redact_line(line))
    assert "ABCDEFGH" not in cleaned
    assert "tiny" not in cleaned
