"""Every call of a transcript with how it went: what the other facts are drawn from.

Rule: one walk, oldest first; a call is looked at once, however many facts it gives.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from holdfast.compaction.facts.results import NOT_RUN, Outcome, outcome_of, printed, telling_line, went_wrong
from holdfast.compaction.facts.testing import Verdict, is_test_command, verdict_of
from holdfast.messages import ToolCall
from holdfast.packing.renditions.marks import one_line
from holdfast.tool_use import ToolUse
from holdfast.views.shell import is_looking
from holdfast.views.transcript import Item, Step

_INNER = re.compile(r"exec_command\(\{.{0,40}?cmd\"?: ?\"((?:\\.|[^\"\\])*)\"", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_STARTED = re.compile(r"running in (?:the )?background with ID: (\w{1,40})")
_RUNNING = re.compile(r"<status>running</status>")


class Call(Struct, frozen=True, gc=False):
    """A call with its result. `command` is what a shell was given, also where a later call fetches its output."""

    step: Step
    call: ToolCall
    use: ToolUse
    entry: str
    """Of the result; of the step where there is none."""
    text: str
    outcome: Outcome
    command: str = ""
    tests: Verdict | None = None
    is_looking: bool = False
    """Whether it is a command that changes nothing: when one fails, the agent looks elsewhere."""


def calls_of(items: Sequence[Item]) -> Iterator[Call]:
    """The calls of all steps among the items, in order."""
    started: dict[str, str] = {}
    for item in items:
        if isinstance(item, Step):
            for call_id in item.calls:
                call = _call(item, call_id, started)
                if found := _STARTED.search(call.text, 0, 300):
                    started[found[1]] = call.command
                yield call


def _call(step: Step, call_id: str, started: dict[str, str]) -> Call:
    use, result, made = step.uses[call_id], step.results.get(call_id), step.calls[call_id]
    text = printed(result.text) if result else ""
    entry = step.result_entries.get(call_id, step.entry)
    outcome = outcome_of(use, result, text)
    if not use.command and use.kind != "bash":
        return Call(step, made, use, entry, text, outcome)
    command = spelled(use.command) or started.get(_task(made), "")
    if not outcome.is_run or _STARTED.search(text, 0, 300) or _RUNNING.search(text, 0, 300):
        return Call(step, made, use, entry, text, NOT_RUN if outcome.is_run else outcome, command)
    if use.kind != "bash" or is_looking(command):
        return Call(step, made, use, entry, text, outcome, command, is_looking=True)
    tests = verdict_of(command, text)
    return Call(step, made, use, entry, text, _judged(text, outcome, tests), command, tests)


def _judged(text: str, outcome: Outcome, tests: Verdict | None) -> Outcome:
    """A pipe hides an exit code, and some tools give none: then what was printed says how it went."""
    failed = outcome.is_failed
    if tests is not None and not outcome.exit_code:
        failed = failed or not tests.is_passed
    elif outcome.exit_code is None:
        failed = failed or went_wrong(text)
    if not failed:
        return outcome
    line = tests.outcome if tests and not tests.is_passed else outcome.line or telling_line(text)
    return Outcome(outcome.exit_code, True, line=line)


def _task(call: ToolCall) -> str:
    """The id of the background command that a call asks about."""
    values = (call.arguments.get(key) for key in ("task_id", "bash_id", "shell_id", "id"))
    return next((value for value in values if isinstance(value, str)), "")


def spelled(command: str) -> str:
    """A command as a shell gets it: out of a program that runs it, if it stands in one."""
    if "exec_command(" not in command:
        return command
    inner = [
        _ESCAPED.sub(lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), found)
        for found in _INNER.findall(command)
    ]
    return "\n".join(inner) or command


_FOLDER = re.compile(r"^(?:cd [^&;\n]+(?:&&|;)\s*)+")
_PIPE = re.compile(
    r"(?: 2>&1)?+(?: ?\| ?(?:tail|head|grep|tee|cat|less|rg|awk|sed)\b(?:'[^']*+'|\"[^\"]*+\"|[^|;&'\"])*+)*+$"
)


def known_as(command: str) -> str:
    """A command without where it was run and what its output went through: the same work has the same name."""
    return _PIPE.sub("", _FOLDER.sub("", one_line(command[:4_000]))).strip()


def is_test(call: Call) -> bool:
    return call.tests is not None or is_test_command(call.command)
