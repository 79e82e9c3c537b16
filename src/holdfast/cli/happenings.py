"""What happens in a run, told on the two streams: in words, as one object at the end, or as a line of JSON each.

Rule: none of them raises while the run goes on. Where nobody reads any more, the run is ended and its log is whole.
"""

from typing import Protocol

import msgspec

from holdfast.agents.coding.setup import Opened
from holdfast.agents.headless import Result
from holdfast.agents.limits import Spent
from holdfast.agents.notices import FoldMade, Notice, SummaryBegan, SummaryMade
from holdfast.agents.traces import VERSION, Line, end_of, line_of, piece_of, redacted
from holdfast.cli.output import (
    complain,
    counted,
    grouped,
    hint,
    note,
    printable,
    say,
    warn,
    write,
    write_json,
)
from holdfast.errors import HoldfastError
from holdfast.messages import Json, ToolCall
from holdfast.models.protocol import Retried
from holdfast.tools.calling import CallFinished

LONGEST_ABOUT = 80
LONGEST_SHOWN = 100
TELLING = ("path", "command", "pattern", "query", "id", "description", "prompt")
"""Arguments that say what a call is about, the first one that there is."""


class Teller(Protocol):
    def began(self, opened: Opened) -> None: ...

    def watch(self, notice: Notice) -> None: ...

    def ended(self, result: Result) -> None: ...


class Words:
    """A line on stderr for each call, the answer on stdout."""

    def began(self, opened: Opened) -> None:
        for one in opened.notes:
            warn(one)

    def watch(self, notice: Notice) -> None:
        match notice:
            case CallFinished():
                say(_about_call(notice))
            case FoldMade(fold=fold):
                say(f"folded {grouped(fold.tokens_before)} tokens to {grouped(fold.tokens_after)}")
            case SummaryBegan(waits=True):
                say("summing up")
            case SummaryMade(compaction=made):
                say(f"summed up {grouped(made.tokens_before)} tokens to {grouped(made.tokens_after)}")
            case Retried(seconds=seconds, reason=reason):
                say(f"asking again in {seconds:.0f} s: {reason}")

    def ended(self, result: Result) -> None:
        self._say_end(result)
        if result.outcome == "done":
            answer = result.text if result.value is None else msgspec.json.encode(result.value).decode()
            write(answer.rstrip("\n") + "\n")

    def _say_end(self, result: Result) -> None:
        if result.outcome != "done":
            complain(result.sentence)
            hint(result.hint)
        if result.log:
            say(account(result.spent, result.log, is_priced=result.is_priced))


class OneObject(Words):
    """The same words on stderr, one object on stdout."""

    def ended(self, result: Result) -> None:
        self._say_end(result)
        write_json(end_of(result))


class Stream:
    """A line of JSON on stdout for everything; with `partial` also for pieces of texts."""

    def __init__(self, *, partial: bool = False) -> None:
        self._partial = partial
        self._opened: Opened | None = None
        self._trouble: Exception | None = None

    def began(self, opened: Opened) -> None:
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
        if line := line_of(notice):
            self._write(redacted(line))
        elif self._partial and (piece := piece_of(notice)):
            self._write(piece)

    def ended(self, result: Result) -> None:
        self._write(end_of(result))
        if self._trouble:
            raise self._trouble

    def _write(self, line: Line) -> None:
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
    complain(message)
    note(found)
    hint(tip)


def about(call: ToolCall) -> str:
    """What a call is about, on one line."""
    said: Json = next((call.arguments[key] for key in TELLING if call.arguments.get(key)), "")
    line = printable(str(said))
    return line if len(line) <= LONGEST_ABOUT else f"{line[:LONGEST_ABOUT]}…"


def _about_call(news: CallFinished) -> str:
    shown = news.result.shown.strip().split("\n")
    # Of a diff, which is what a person sees of a change, the first line says nothing.
    first = shown[0] if not shown[0].startswith("--- ") else counted(len(shown), "line") + " of diff"
    mark = "failed: " if news.result.is_error else ""
    head = " ".join(filter(None, (news.call.name, about(news.call))))
    return f"{head} – {mark}{first[:LONGEST_SHOWN]} ({news.seconds:.1f} s)"


def account(spent: Spent, log: str, *, is_priced: bool) -> str:
    """What a run took, and the log that it is in."""
    parts = [counted(spent.steps, "step"), f"{grouped(spent.usage.total)} tokens"]
    if spent.usage.cache_read:
        parts[-1] += f" ({grouped(spent.usage.cache_read)} cached)"
    if is_priced:
        parts.append(f"${spent.dollars:.4f}")
    return ", ".join([*parts, f"log {log}"])
