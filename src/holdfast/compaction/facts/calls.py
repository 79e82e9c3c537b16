"""Every call of a transcript with how it went; commands as they were run, and the last state of the tests.

Rule: one walk, oldest first; a call is looked at once, however many facts it gives. A command that only looked
around is no work.
"""

import re
import threading
from collections.abc import Sequence

from msgspec import Struct

from holdfast.compaction.facts.call_results import (
    NOT_RUN,
    CallOutcome,
    TestVerdict,
    ends_in_error,
    is_test_command,
    most_telling_line,
    outcome_of,
    printed,
    verdict_of,
)
from holdfast.compaction.facts.fact import CommandFact, TestState
from holdfast.messages import ToolCall
from holdfast.packing.rendering.marks import one_line
from holdfast.tool_use import CHANGING, ToolUse
from holdfast.tool_use.shell_commands import simple_commands, without_heredocs
from holdfast.views.shell import only_reads
from holdfast.views.transcript import Item, Step

_RUNNING = re.compile(r"<status>running</status>")
_STARTED = re.compile(r"running in (?:the )?background with ID: (\w{1,40})")


class CallRecord(Struct, frozen=True, gc=False):
    """A call with its result. `command` is what a shell was given, also where a later call fetches its output."""

    step: Step
    call: ToolCall
    use: ToolUse
    entry: str
    """The result's entry, or the step's where there is no result."""
    text: str
    outcome: CallOutcome
    command: str = ""
    tests: TestVerdict | None = None
    is_looking: bool = False
    """Whether it is a command that changes nothing: when one fails, the agent looks elsewhere."""


class KnownCalls:
    """The calls of a transcript that may grow: a step that is still the same is not read again.

    **Contract:** asked for beginnings of one transcript only; from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: list[Step] = []
        self._calls: list[list[CallRecord]] = []
        """Those of each step."""
        self._started: list[tuple[int, str, str]] = []
        """Background commands with their ids, and after which step each is known."""

    def of(self, items: Sequence[Item]) -> list[CallRecord]:
        """The calls of all steps among the items, in order."""
        steps = [item for item in items if isinstance(item, Step)]
        with self._lock:
            pairs = enumerate(zip(self._steps, steps, strict=False))
            same = next((at for at, (old, new) in pairs if old is not new), min(len(self._steps), len(steps)))
            calls, started = self._calls[:same], [one for one in self._started if one[0] < same]
            commands = {id_: command for _, id_, command in started}
            for at, step in enumerate(steps[same:], same):
                calls.append([])
                for call_id in step.calls:
                    call = _call(step, call_id, commands)
                    calls[-1].append(call)
                    if found := _STARTED.search(call.text, 0, 300):
                        commands[found[1]] = call.command
                        started.append((at, found[1], call.command))
            if len(steps) > len(self._steps):
                self._steps, self._calls, self._started = steps, calls, started
        return [call for each in calls for call in each]


def _call(step: Step, call_id: str, started: dict[str, str]) -> CallRecord:
    use, result, made = step.uses[call_id], step.results.get(call_id), step.calls[call_id]
    text = printed(result.text) if result else ""
    entry = step.result_entries.get(call_id, step.entry)
    outcome = outcome_of(use, result, text)
    if not use.command and use.kind != "bash":
        return CallRecord(step, made, use, entry, text, outcome)
    command = use.command or started.get(_task(made), "")
    if not outcome.is_run or _STARTED.search(text, 0, 300) or _RUNNING.search(text, 0, 300):
        return CallRecord(step, made, use, entry, text, NOT_RUN if outcome.is_run else outcome, command)
    if use.kind != "bash" or only_reads(command):
        is_looking = use.kind not in CHANGING
        return CallRecord(step, made, use, entry, text, outcome, command, is_looking=is_looking)
    tests = verdict_of(command, text)
    return CallRecord(step, made, use, entry, text, _judged(text, outcome, tests), command, tests)


def _judged(text: str, outcome: CallOutcome, tests: TestVerdict | None) -> CallOutcome:
    """A pipe hides an exit code, and some tools give none: then what was printed says how it went."""
    failed = outcome.is_failed
    if tests is not None and not outcome.exit_code:
        failed = failed or not tests.is_passed
    elif outcome.exit_code is None:
        failed = failed or ends_in_error(text)
    if not failed:
        return outcome
    line = tests.outcome if tests and not tests.is_passed else outcome.line or most_telling_line(text)
    return CallOutcome(outcome.exit_code, True, line=line)


def _task(call: ToolCall) -> str:
    """The id of the background command that a call asks about."""
    values = (call.arguments.get(key) for key in ("task_id", "bash_id", "shell_id", "id"))
    return next((value for value in values if isinstance(value, str)), "")


_PIPE = re.compile(
    r"(?: 2>&1)?+(?: ?\| ?(?:tail|head|grep|tee|cat|less|rg|awk|sed)\b(?:'[^']*+'|\"[^\"]*+\"|[^|;&'\"])*+)*+$"
)


def command_key(command: str) -> str:
    """A command without what its output went through: the same work has the same name."""
    return _PIPE.sub("", one_line(command[:4_000])).strip()


def is_test(call: CallRecord) -> bool:
    return call.tests is not None or is_test_command(call.command)


LONGEST_COMMAND = 400
"""Characters of a command that are shown; a longer one is a script."""


def command_facts(calls: Sequence[CallRecord]) -> tuple[CommandFact, ...]:
    return tuple(
        CommandFact(
            shorten_command(call.command),
            call.outcome.exit_code,
            call.outcome.is_failed,
            (call.entry,),
            call.step.number,
            call.tests.outcome if call.tests else call.outcome.line,
        )
        for call in calls
        if call.use.kind == "bash" and call.command and call.outcome.is_run and not call.is_looking
    )


def shorten_command(command: str) -> str:
    """A command as people read it: without the texts of here-documents, and cut at its end if it is long."""
    lines = [line.rstrip() for line in without_heredocs(command).strip().split("\n") if line.strip()]
    text = "\n".join(lines)
    return text if len(text) <= LONGEST_COMMAND else f"{text[:LONGEST_COMMAND]}…"


def test_state(calls: Sequence[CallRecord]) -> TestState | None:
    """The last run of tests that says how it ended."""
    return next((state for call in reversed(calls) if (state := _state(call))), None)


def _state(call: CallRecord) -> TestState | None:
    if not call.command or not call.outcome.is_run:
        return None
    verdict, outcome = call.tests, call.outcome
    if verdict is not None:
        passed, told = verdict.is_passed and (verdict.is_counted or not outcome.is_failed), verdict.outcome
    elif is_test_command(call.command) and len(simple_commands(command_key(call.command))) == 1:
        # Of several commands, another may have failed before the tests began.
        if not outcome.is_failed and outcome.exit_code is None:
            return None
        passed, told = not outcome.is_failed, outcome.line
    else:
        return None
    return TestState(shorten_command(call.command), passed, told, (call.entry,), call.step.number)
