"""What happens in a run, as lines of JSON: for programs that follow it, and for reading afterwards.

Rule: one object a line with a `type`; keys are only ever added within a version. Secrets are removed as in a log,
so only what is whole is told, except where a reader asks for the pieces of a text as they come.
"""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from holdfast.agents.headless import Result
from holdfast.agents.notices import (
    FoldMade,
    Notice,
    Reminded,
    Replied,
    StepBegan,
    SummaryBegan,
    SummaryMade,
    TaskNews,
)
from holdfast.errors import InputError
from holdfast.events import Noted
from holdfast.messages import Json, ToolCall
from holdfast.models.protocol import Retried, TextCame, ThinkingCame
from holdfast.store.cleaning import Redaction, cleaned
from holdfast.tools.calling import CallFinished, CallStarted

VERSION = 1

Line = dict[str, Json]


def line_of(notice: Notice) -> Line | None:
    """A notice as an object, still with its secrets; None for what others say better."""
    match notice:
        case StepBegan():
            return {"type": "step", **msgspec.to_builtins(notice)}
        case Replied(reply=reply, dollars=dollars):
            said: Line = {"type": "reply", "text": reply.text, "calls": [_call(c) for c in reply.calls]}
            usage = msgspec.to_builtins(reply.usage)
            return {**said, "stop": reply.stop, "model": reply.model, "usage": usage, "dollars": dollars}
        case CallStarted(call=call):
            return {"type": "call", **_call(call)}
        case CallFinished():
            return _finished(notice)
        case Retried(seconds=seconds, reason=reason):
            return {"type": "retry", "seconds": seconds, "reason": reason}
        case Reminded(text=text):
            return {"type": "reminder", "text": text}
    return _line_of_room(notice)


def _line_of_room(notice: Notice) -> Line | None:
    """What makes room in the window."""
    match notice:
        case FoldMade(fold=fold):
            sizes = {"tokens_before": fold.tokens_before, "tokens_after": fold.tokens_after}
            return {"type": "fold", "reason": fold.reason, **sizes}
        case SummaryBegan(waits=waits):
            return {"type": "summary_began", "waits": waits}
        case SummaryMade(compaction=made):
            sizes = {"tokens_before": made.tokens_before, "tokens_after": made.tokens_after}
            return {"type": "summary", "by": made.written.by, **sizes, "notes": list(made.notes)}
        case TaskNews(call=call, log=log, news=news) if inner := line_of(news):
            return {"type": "task", "call": call, "log": log, "news": inner}
    return None


def _finished(news: CallFinished) -> Line:
    envelope = news.result.envelope
    return {
        "type": "result",
        "id": news.call.id,
        "name": news.call.name,
        "status": envelope.status,
        "error": envelope.error.code if envelope.error else "",
        "text": envelope.text,
        "shown": news.result.shown,
        "seconds": round(news.seconds, 3),
    }


def piece_of(notice: Notice) -> Line | None:
    """A piece of a text as it comes, secrets and all: half of one is not known for what it is."""
    match notice:
        case TextCame(text=text):
            return {"type": "text", "text": text}
        case ThinkingCame(text=text):
            return {"type": "thinking", "text": text}
    return None


def end_of(result: Result) -> Line:
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
    }


def redacted(line: Line) -> Line:
    """The line without secrets, by the rules of the log."""
    event = cleaned(Noted("", "", line), Redaction.chosen(None, None))
    assert isinstance(event, Noted)
    return event.data


def _call(call: ToolCall) -> Line:
    return {"id": call.id, "name": call.name, "arguments": call.raw or call.arguments}


class Trace:
    """A file that follows a run, a line at a time. **Contract:** nothing is raised before `end`."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.trouble = ""
        self._clock = clock
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"the trace {path} cannot be written: {error.strerror}") from None

    def watch(self, notice: Notice) -> None:
        line = line_of(notice)
        if line is not None:
            self.write(line)

    def write(self, line: Line) -> None:
        if self.trouble:
            return
        stamped = {"v": VERSION, "at": round(self._clock(), 3), **redacted(line)}
        try:
            self._file.write(msgspec.json.encode(stamped) + b"\n")
        except OSError as error:
            self.trouble = f"the trace was not written to its end: {error.strerror}"

    def end(self, result: Result) -> None:
        """Write the end. Raises what kept a line from being written."""
        self.write(end_of(result))
        if self.trouble:
            raise InputError(self.trouble)

    def close(self) -> None:
        self._file.close()
