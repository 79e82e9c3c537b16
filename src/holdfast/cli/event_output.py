"""Output of a run's events: for people, as JSON, to a trace file, and as telemetry.

Rule: no output raises while the run goes on. If nobody reads stdout any more, the run ends with its log complete.
Telemetry is loaded only where `OTEL_TRACES_EXPORTER` names an exporter, and contains no texts.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from holdfast.agents.coding import traces
from holdfast.agents.coding.coding_session import OpenedSession
from holdfast.agents.coding.headless import RunResult
from holdfast.agents.limits import Spent
from holdfast.agents.notices import FoldMade, HookReported, Notice, SubAgentNotice, SummaryBegan, SummaryMade
from holdfast.cli.streams import hint, note, printable, say, say_error, warn, write, write_json
from holdfast.cli.telemetry import requested_provider
from holdfast.errors import HoldfastError
from holdfast.models.model import RetryScheduled
from holdfast.numbers import counted
from holdfast.tools.call import CallFinished

LONGEST_ABOUT = 80
LONGEST_SHOWN = 100
TELLING = ("path", "command", "pattern", "query", "id", "description", "prompt")
"""Arguments that describe a call; the first one that is given is shown."""


class TextOutput:
    """A line on stderr for each call, the answer on stdout."""

    def began(self, opened: OpenedSession) -> None:
        for one in opened.notes:
            warn(one)

    def watch(self, notice: Notice) -> None:
        if line := describe_notice(notice):
            say(line)

    def ended(self, result: RunResult) -> None:
        for one in result.notes:
            warn(one)
        if result.outcome != "done":
            say_error(result.sentence)
            hint(result.hint)
        if result.log:
            self.say_spending(result)
        self.write(result)

    def say_spending(self, result: RunResult) -> None:
        say(format_spending(result.spent, result.log, is_priced=result.is_priced))

    def write(self, result: RunResult) -> None:
        if result.outcome == "done":
            answer = result.text if result.value is None else msgspec.json.encode(result.value).decode()
            write(answer.rstrip("\n") + "\n")


class JsonOutput(TextOutput):
    """The same lines on stderr, one object on stdout."""

    def write(self, result: RunResult) -> None:
        write_json(traces.result_line(result))


class JsonStreamOutput(TextOutput):
    """A line of JSON on stdout for each event; with `partial` also for texts as they arrive."""

    def __init__(self, *, partial: bool = False) -> None:
        self._partial = partial
        self._opened: OpenedSession | None = None
        self._error: Exception | None = None

    def began(self, opened: OpenedSession) -> None:
        self._opened = opened
        coding = opened.coding
        self._write(
            {
                "type": "start",
                "log": coding.session.log.id,
                "model": coding.agent.model.name,
                "mode": coding.gate.mode,
                "root": coding.workspace.roots[0],
                "tools": [tool.name for tool in coding.agent.toolbox],
                "notes": list(opened.notes),
            }
        )

    def watch(self, notice: Notice) -> None:
        if line := traces.notice_line(notice):
            self._write(traces.redact_line(line))
        elif self._partial and (piece := traces.piece_line(notice)):
            self._write(piece)

    def ended(self, result: RunResult) -> None:
        self._write(traces.result_line(result))
        if self._error:
            raise self._error

    def _write(self, line: traces.JsonLine) -> None:
        if self._error:
            return
        try:
            write(msgspec.json.encode({"v": traces.VERSION, **line}) + b"\n")
        except (OSError, HoldfastError) as error:
            self._error = error
            if self._opened:
                self._opened.coding.agent.interrupt()


def say_no_model(message: str, found: str, tip: str) -> None:
    """Three lines for somebody who has not chosen a model yet."""
    say_error(message)
    note(found)
    hint(tip)


def describe_notice(notice: Notice) -> str:
    """A line for a person; empty for a notice that needs none."""
    match notice:
        case CallFinished():
            return _describe_call(notice)
        case FoldMade(fold=fold):
            return f"folded {fold.tokens_before:,} tokens to {fold.tokens_after:,}"
        case SummaryBegan(waits=True):
            return "summarizing"
        case SummaryMade(compaction=made):
            return f"summarized {made.tokens_before:,} tokens to {made.tokens_after:,}"
        case RetryScheduled():
            return notice.sentence
        case HookReported(text=text):
            return printable(text)
        case SubAgentNotice(notice=HookReported(text=text)):
            return printable(f"sub-agent: {text}")
    return ""


def _describe_call(news: CallFinished) -> str:
    shown = news.result.shown.strip().split("\n")
    # The first line of a diff says nothing about the change.
    first = shown[0] if not shown[0].startswith("--- ") else counted(len(shown), "line") + " of diff"
    mark = "failed: " if news.result.is_error else ""
    arguments = news.call.arguments
    about = printable(str(next((arguments[key] for key in TELLING if arguments.get(key)), "")))
    about = about if len(about) <= LONGEST_ABOUT else f"{about[:LONGEST_ABOUT]}…"
    head = " ".join(filter(None, (news.call.name, about)))
    return f"{head} – {mark}{first[:LONGEST_SHOWN]} ({news.seconds:.1f} s)"


def format_spending(spent: Spent, log: str = "", *, is_priced: bool) -> str:
    cached = f" ({spent.usage.cache_read:,} cached)" if spent.usage.cache_read else ""
    dollars = [f"${spent.dollars:.4f}"] if is_priced else []
    tokens = f"{spent.usage.total:,} tokens{cached}"
    return ", ".join([counted(spent.steps, "step"), tokens, *dollars, *([f"log {log}"] if log else [])])


class Observers:
    """A trace in a file, and OpenTelemetry spans where the environment asks for them."""

    def __init__(self, trace: Path | None, env: Mapping[str, str]) -> None:
        self._provider: Any = requested_provider(env)
        self._spans: Any = None
        self._trace = traces.Trace(trace) if trace else None

    def began(self, opened: OpenedSession) -> None:
        if self._provider:
            # Imported late: an extra that few have installed.
            from holdfast.agents.otel import RunSpans  # noqa: PLC0415

            coding = opened.coding
            tracer = self._provider.get_tracer("holdfast")
            self._spans = RunSpans(tracer, log=coding.session.log.id, model=coding.agent.model.name)

    def watch(self, notice: Notice) -> None:
        if self._trace:
            self._trace.watch(notice)
        if self._spans:
            self._spans.watch(notice)

    def ended(self, result: RunResult) -> None:
        """Raise what kept the trace from being written."""
        if self._spans:
            self._spans.end(result.outcome)
        if self._trace:
            self._trace.end(result)

    def close(self) -> None:
        if self._trace:
            self._trace.close()
        if self._provider:
            self._provider.shutdown()
