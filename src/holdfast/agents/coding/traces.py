"""Traces: what happens in a run as lines of JSON, for programs that follow it and for reading afterwards.

Rule: one object a line, with a `type`; within a version keys are only added. Secrets are removed as in a log, so
only complete texts are written, unless a reader asks for the pieces of a text as they arrive.
"""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from holdfast.agents.coding.headless import RunResult
from holdfast.agents.notices import (
    FoldMade,
    HookReported,
    Notice,
    Reminded,
    Replied,
    StepBegan,
    SubAgentNotice,
    SummaryBegan,
    SummaryMade,
)
from holdfast.errors import InputError
from holdfast.events import Noted
from holdfast.messages import Json, ToolCall
from holdfast.models.model import RetryScheduled, TextDelta, ThinkingDelta
from holdfast.store.event_redaction import Redactor, redact_event
from holdfast.tools.call import CallFinished, CallReported, CallStarted, JobEnded, LiveOutput

VERSION = 1

MOST_LIVE = 4_000
"""Characters of the output of a running command in a line, the last ones."""

JsonLine = dict[str, Json]


def notice_line(notice: Notice) -> JsonLine | None:
    """A notice as an object, not yet redacted; None if another line covers it."""
    match notice:
        case StepBegan():
            return {"type": "step", **msgspec.to_builtins(notice)}
        case Replied(reply=reply, dollars=dollars):
            said: JsonLine = {"type": "reply", "text": reply.text, "calls": [_call(c) for c in reply.calls]}
            usage = msgspec.to_builtins(reply.usage)
            return {**said, "stop": reply.stop, "model": reply.model, "usage": usage, "dollars": dollars}
        case CallStarted(call=call):
            return {"type": "call", **_call(call)}
        case CallReported(call=call, news=JobEnded() as ended):
            return {"type": "job_ended", "call": call.id, **msgspec.to_builtins(ended)}
        case CallFinished():
            return _finished(notice)
        case RetryScheduled(seconds=seconds, reason=reason):
            return {"type": "retry", "seconds": seconds, "reason": reason}
        case Reminded(text=text):
            return {"type": "reminder", "text": text}
        case HookReported(text=text, is_failure=is_failure):
            return {"type": "hook", "text": text, "is_failure": is_failure}
    return _context_line(notice)


def _context_line(notice: Notice) -> JsonLine | None:
    """Notices about folds, summaries and sub-agents."""
    match notice:
        case FoldMade(fold=fold):
            sizes = {"tokens_before": fold.tokens_before, "tokens_after": fold.tokens_after}
            return {"type": "fold", "reason": fold.reason, **sizes}
        case SummaryBegan(waits=waits):
            return {"type": "summary_began", "waits": waits}
        case SummaryMade(compaction=made):
            sizes = {"tokens_before": made.tokens_before, "tokens_after": made.tokens_after}
            return {"type": "summary", "by": made.written.by, **sizes, "notes": list(made.notes)}
        case SubAgentNotice(call=call, log=log, notice=told) if inner := notice_line(told):
            return {"type": "task", "call": call, "log": log, "news": inner}
    return None


def _finished(news: CallFinished) -> JsonLine:
    envelope = news.result.envelope
    exit_code = envelope.data.get("exit_code")
    return {
        "type": "result",
        "id": news.call.id,
        "name": news.call.name,
        # A command that ran and failed is no failure of its tool, but a reader of this line should see it.
        "status": "error" if exit_code else envelope.status,
        **({"exit_code": exit_code} if isinstance(exit_code, int) else {}),
        "error": envelope.error.code if envelope.error else "",
        "text": envelope.text,
        "shown": news.result.shown,
        "seconds": round(news.seconds, 3),
    }


def piece_line(notice: Notice) -> JsonLine | None:
    """A piece of a text as it arrives. It is not redacted: half a secret cannot be recognized."""
    match notice:
        case TextDelta(text=text):
            return {"type": "text", "text": text}
        case ThinkingDelta(text=text):
            return {"type": "thinking", "text": text}
        case CallReported(call=call, news=LiveOutput(text=text, lines=lines, size=size)):
            return {"type": "output", "id": call.id, "text": text[-MOST_LIVE:], "lines": lines, "bytes": size}
    return None


def result_line(result: RunResult) -> JsonLine:
    """The last object of a stream, and the only one of `--json`."""
    spent = result.spent
    return {
        "v": VERSION,
        "type": "end",
        "outcome": result.outcome,
        "text": result.text,
        "value": result.value,
        "sentence": result.sentence,
        "hint": result.hint,
        "steps": spent.steps,
        "usage": msgspec.to_builtins(spent.usage),
        "dollars": round(spent.dollars, 6) if result.is_priced else None,
        "unpriced": spent.unpriced,
        "seconds": round(result.seconds, 3),
        "model": result.model,
        "log": result.log,
        "files": list(result.files),
        "notes": list(result.notes),
    }


def redact_line(line: JsonLine) -> JsonLine:
    """The line without secrets, redacted as in a log."""
    event = redact_event(Noted("", "", line), Redactor.chosen(None, None))
    assert isinstance(event, Noted)
    return event.data


def _call(call: ToolCall) -> JsonLine:
    return {"id": call.id, "name": call.name, "arguments": call.raw or call.arguments}


class Trace:
    """A file with a line for each notice. **Contract:** nothing is raised before `end`."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.trouble = ""
        self._clock = clock
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"the trace {path} cannot be written: {error.strerror}") from None

    def watch(self, notice: Notice) -> None:
        line = notice_line(notice)
        if line is not None:
            self.write(line)

    def write(self, line: JsonLine) -> None:
        if self.trouble:
            return
        stamped = {"v": VERSION, "at": round(self._clock(), 3), **redact_line(line)}
        try:
            self._file.write(msgspec.json.encode(stamped) + b"\n")
        except OSError as error:
            self.trouble = f"the trace was not written to its end: {error.strerror}"

    def end(self, result: RunResult) -> None:
        """Write the last line. Raises the error that kept a line from being written."""
        self.write(result_line(result))
        if self.trouble:
            raise InputError(self.trouble)

    def close(self) -> None:
        self._file.close()
