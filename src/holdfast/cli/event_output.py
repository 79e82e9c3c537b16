"""What happens in a run, told on the two streams: in words, as one object at the end, or as a line of JSON each.

Rule: none of them raises while the run goes on. Where nobody reads any more, the run is ended and its log is whole.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from holdfast.agents.coding.headless import RunResult
from holdfast.agents.coding.startup import OpenedSession
from holdfast.agents.coding.traces import (
    VERSION,
    JsonLine,
    Trace,
    notice_line,
    piece_line,
    redact_line,
    result_line,
)
from holdfast.agents.limits import Spent
from holdfast.agents.notices import FoldMade, Notice, SummaryBegan, SummaryMade
from holdfast.cli.streams import (
    format_count,
    format_number,
    hint,
    note,
    printable,
    say,
    say_error,
    warn,
    write,
    write_json,
)
from holdfast.errors import ConfigError, HoldfastError
from holdfast.messages import Json, ToolCall
from holdfast.models.model import RetryScheduled
from holdfast.tools.call import CallFinished

LONGEST_ABOUT = 80
LONGEST_SHOWN = 100
TELLING = ("path", "command", "pattern", "query", "id", "description", "prompt")
"""Arguments that say what a call is about, the first one that there is."""


class EventOutput(Protocol):
    def began(self, opened: OpenedSession) -> None: ...

    def watch(self, notice: Notice) -> None: ...

    def ended(self, result: RunResult) -> None: ...


class TextOutput:
    """A line on stderr for each call, the answer on stdout."""

    def began(self, opened: OpenedSession) -> None:
        for one in opened.notes:
            warn(one)

    def watch(self, notice: Notice) -> None:
        match notice:
            case CallFinished():
                say(_about_call(notice))
            case FoldMade(fold=fold):
                say(
                    f"folded {format_number(fold.tokens_before)} tokens to {format_number(fold.tokens_after)}"
                )
            case SummaryBegan(waits=True):
                say("summing up")
            case SummaryMade(compaction=made):
                say(
                    f"summed up {format_number(made.tokens_before)} tokens to {format_number(made.tokens_after)}"
                )
            case RetryScheduled(seconds=seconds, reason=reason):
                say(f"asking again in {seconds:.0f} s: {reason}")

    def ended(self, result: RunResult) -> None:
        self._say_end(result)
        if result.outcome == "done":
            answer = result.text if result.value is None else msgspec.json.encode(result.value).decode()
            write(answer.rstrip("\n") + "\n")

    def _say_end(self, result: RunResult) -> None:
        if result.outcome != "done":
            say_error(result.sentence)
            hint(result.hint)
        if result.log:
            say(format_spending(result.spent, result.log, is_priced=result.is_priced))


class JsonOutput(TextOutput):
    """The same words on stderr, one object on stdout."""

    def ended(self, result: RunResult) -> None:
        self._say_end(result)
        write_json(result_line(result))


class JsonStreamOutput:
    """A line of JSON on stdout for everything; with `partial` also for pieces of texts."""

    def __init__(self, *, partial: bool = False) -> None:
        self._partial = partial
        self._opened: OpenedSession | None = None
        self._trouble: Exception | None = None

    def began(self, opened: OpenedSession) -> None:
        self._opened = opened
        desk = opened.desk
        self._write(
            {
                "type": "start",
                "log": desk.session.log.id,
                "model": desk.agent.model.name,
                "mode": desk.gate.mode,
                "root": desk.workspace.roots[0],
                "tools": [tool.name for tool in desk.agent.toolbox],
                "notes": list(opened.notes),
            }
        )

    def watch(self, notice: Notice) -> None:
        if line := notice_line(notice):
            self._write(redact_line(line))
        elif self._partial and (piece := piece_line(notice)):
            self._write(piece)

    def ended(self, result: RunResult) -> None:
        self._write(result_line(result))
        if self._trouble:
            raise self._trouble

    def _write(self, line: JsonLine) -> None:
        if self._trouble:
            return
        try:
            write(msgspec.json.encode({"v": VERSION, **line}) + b"\n")
        except (OSError, HoldfastError) as error:
            self._trouble = error
            if self._opened:
                self._opened.desk.agent.interrupt()


def say_no_model(message: str, found: str, tip: str) -> None:
    """The three lines for somebody who has no model yet."""
    say_error(message)
    note(found)
    hint(tip)


def describe_arguments(call: ToolCall) -> str:
    """What a call is about, on one line."""
    said: Json = next((call.arguments[key] for key in TELLING if call.arguments.get(key)), "")
    line = printable(str(said))
    return line if len(line) <= LONGEST_ABOUT else f"{line[:LONGEST_ABOUT]}…"


def _about_call(news: CallFinished) -> str:
    shown = news.result.shown.strip().split("\n")
    # Of a diff, which is what a person sees of a change, the first line says nothing.
    first = shown[0] if not shown[0].startswith("--- ") else format_count(len(shown), "line") + " of diff"
    mark = "failed: " if news.result.is_error else ""
    head = " ".join(filter(None, (news.call.name, describe_arguments(news.call))))
    return f"{head} – {mark}{first[:LONGEST_SHOWN]} ({news.seconds:.1f} s)"


def format_spending(spent: Spent, log: str, *, is_priced: bool) -> str:
    """What a run took, and the log that it is in."""
    parts = [format_count(spent.steps, "step"), f"{format_number(spent.usage.total)} tokens"]
    if spent.usage.cache_read:
        parts[-1] += f" ({format_number(spent.usage.cache_read)} cached)"
    if is_priced:
        parts.append(f"${spent.dollars:.4f}")
    return ", ".join([*parts, f"log {log}"])


# Who follows a run besides the person: a trace in a file, and spans where the environment asks for them.
#
# Rule: telemetry is loaded only where `OTEL_TRACES_EXPORTER` names an exporter, and none of it holds a text.

OTEL_VARIABLE = "OTEL_TRACES_EXPORTER"


class Observers:
    def __init__(self, trace: Path | None, env: Mapping[str, str]) -> None:
        self._provider: Any = _provider(env) if env.get(OTEL_VARIABLE, "none") not in ("none", "") else None
        self._spans: Any = None
        self._trace = Trace(trace) if trace else None

    def began(self, opened: OpenedSession) -> None:
        if self._provider:
            # Loaded late, as below.
            from holdfast.agents.otel import RunSpans  # noqa: PLC0415

            desk = opened.desk
            tracer = self._provider.get_tracer("holdfast")
            self._spans = RunSpans(tracer, log=desk.session.log.id, model=desk.agent.model.name)

    def watch(self, notice: Notice) -> None:
        if self._trace:
            self._trace.watch(notice)
        if self._spans:
            self._spans.watch(notice)

    def ended(self, result: RunResult) -> None:
        """Raises what kept the trace from being written."""
        if self._spans:
            self._spans.end(result.outcome)
        if self._trace:
            self._trace.end(result)

    def close(self) -> None:
        if self._trace:
            self._trace.close()
        if self._provider:
            self._provider.shutdown()


def _provider(env: Mapping[str, str]) -> Any:
    try:
        # Loaded late: an extra that few have.
        from holdfast.agents.otel import tracer_provider  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("opentelemetry"):
            raise
        raise ConfigError(
            f"`{OTEL_VARIABLE}` is set, and OpenTelemetry is not installed",
            hint="`pip install 'holdfast[otel]'`, or unset it",
        ) from None
    return tracer_provider(env)
