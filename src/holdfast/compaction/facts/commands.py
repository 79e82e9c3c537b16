"""Commands as they were run, and the last state of the tests.

Rule: only what a shell was given counts; a command that just looked around is no work.
"""

from collections.abc import Sequence

from holdfast.compaction.facts.calls import Call, known_as
from holdfast.compaction.facts.testing import is_test_command
from holdfast.compaction.facts.values import CommandFact, TestState
from holdfast.views.shell import simple_commands, without_documents

LONGEST_COMMAND = 400
"""Characters of a command that are shown; a longer one is a script."""


def command_facts(calls: Sequence[Call]) -> tuple[CommandFact, ...]:
    return tuple(_fact(call) for call in calls if _is_work(call))


def _is_work(call: Call) -> bool:
    return call.use.kind == "bash" and bool(call.command) and call.outcome.is_run and not call.is_looking


def _fact(call: Call) -> CommandFact:
    outcome = call.outcome
    told = call.tests.outcome if call.tests else outcome.line
    return CommandFact(
        shown(call.command), outcome.exit_code, outcome.is_failed, (call.entry,), call.step.number, told
    )


def shown(command: str) -> str:
    """A command as one reads it: without the texts of here-documents, and cut at its end if it is long."""
    lines = [line.rstrip() for line in without_documents(command).strip().split("\n") if line.strip()]
    text = "\n".join(lines)
    return text if len(text) <= LONGEST_COMMAND else f"{text[:LONGEST_COMMAND]}…"


def state_of_tests(calls: Sequence[Call]) -> TestState | None:
    """The last run of tests that says how it ended."""
    return next((state for call in reversed(calls) if (state := _state(call))), None)


def _state(call: Call) -> TestState | None:
    if not call.command or not call.outcome.is_run:
        return None
    verdict, outcome = call.tests, call.outcome
    if verdict is not None:
        passed, told = verdict.is_passed and (verdict.is_counted or not outcome.is_failed), verdict.outcome
    elif is_test_command(call.command) and len(simple_commands(known_as(call.command))) == 1:
        # Of several commands, another may have failed before the tests began.
        if not outcome.is_failed and outcome.exit_code is None:
            return None
        passed, told = not outcome.is_failed, outcome.line
    else:
        return None
    return TestState(shown(call.command), passed, told, (call.entry,), call.step.number)
