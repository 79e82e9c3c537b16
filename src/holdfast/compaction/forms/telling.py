"""How the rule half puts its facts into words.

Rule: what the user or a tool said stands in curly quotes, verbatim and whole; only what the agent said or ran may
be clipped. Every line names the entries it came from.
"""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from holdfast.compaction.facts.values import CommandFact, Fact, Facts, FileFact, TestState
from holdfast.compaction.forms.content import Line
from holdfast.compaction.forms.text import clipped, one_line, tidy

LONGEST_COMMAND, LONGEST_REMARK = 120, 400
_QUESTION = re.compile(r"[?？]\s*[\"'”’)）*_`]*\s*$")
_RATE = re.compile(r"(\d{1,9})/(\d{1,9}) \(\d{1,3}(?:\.\d{1,3})?%\)")
_COUNTED = re.compile(r"(\d+) (passed|failed|errors?)\b")
CHANGES = ("created", "modified", "deleted")


def quoted(text: str) -> str:
    return f"“{tidy(text)}”"


def first_line(fact: Fact) -> Line:
    return Line(f"First request: {quoted(fact.text)}", fact.sources)


def latest_line(fact: Fact) -> Line:
    return Line(f"Latest request: {quoted(fact.text)}", fact.sources)


def goal_lines(facts: Facts) -> tuple[Line, ...]:
    """The first request and the latest, verbatim."""
    first = (first_line(facts.goal),) if facts.goal else ()
    return (*first, latest_line(facts.latest)) if facts.latest else first


def directive_line(fact: Fact) -> Line:
    return Line(f"The user: {quoted(fact.text)}", fact.sources)


def directive_lines(facts: Facts) -> tuple[Line, ...]:
    """What the user demanded or forbade, each once; also what the first request says, where it is easily missed."""
    told: dict[str, Line] = {}
    for fact in facts.directives:
        told.setdefault(one_line(fact.text), directive_line(fact))
    return tuple(told.values())


def error_line(fact: Fact) -> Line:
    return Line(f"Open error: {quoted(fact.text)}", fact.sources)


def error_lines(facts: Facts, *, archive: bool) -> tuple[Line, ...]:
    """Open errors. An archive has none: it is never rewritten, and would call them open for ever."""
    return () if archive else tuple(map(error_line, facts.errors))


def test_line(tests: TestState) -> Line:
    outcome = f": {quoted(tests.outcome)}" if tidy(tests.outcome) else ""
    verdict = "passed" if tests.is_passed else "failed"
    return Line(
        f"Last test run {verdict}: `{clipped(tests.command, LONGEST_COMMAND)}`{outcome}", tests.sources
    )


def test_lines(facts: Facts, *, archive: bool) -> tuple[Line, ...]:
    """The last test run; in an archive only one that passed."""
    if facts.tests is None or (archive and not facts.tests.is_passed):
        return ()
    return (test_line(facts.tests),)


def success_rate(facts: Facts) -> tuple[Line, ...]:
    """What passed of all: as it stands at the end of every pack, as it was handed over, or as the last test run
    counted it."""
    for fact in facts.standing:
        if found := _RATE.search(fact.text):
            return (Line(found[0], fact.sources),)
    if facts.tests is None:
        return (Line(facts.handed.rate.text, facts.handed.rate.sources),) if facts.handed.rate else ()
    counts = {kind.rstrip("s"): int(number) for number, kind in _COUNTED.findall(facts.tests.outcome)}
    passed, run = counts.get("passed", 0), sum(counts.values())
    return (Line(f"{passed}/{run} ({100 * passed // run}%)", facts.tests.sources),) if run else ()


def failure_count(facts: Facts) -> tuple[Line, ...]:
    """How many samples did not pass, as it was handed over, else as it was measured."""
    if (failed := facts.handed.failed) is not None:
        return (Line(failed.text, failed.sources, is_settled=True),)
    for line in success_rate(facts):
        if found := _RATE.search(line.text):
            return (Line(str(max(int(found[2]) - int(found[1]), 0)), line.sources),)
    return ()


def progress_lines(facts: Facts) -> tuple[Line, ...]:
    """Of what stands at the end of every pack, the newest that was measured."""
    measured = (standing_line(fact) for fact in facts.standing if _RATE.search(fact.text))
    return tuple(measured)[:1]


def problem_lines(facts: Facts, layer: int) -> tuple[Line, ...]:
    """Problems of a layer that another agent handed over."""
    opening = f"layer {layer},"
    return tuple(
        Line(clipped(fact.text, LONGEST_REMARK), fact.sources)
        for fact in facts.handed.problems
        if fact.text.startswith(opening)
    )


def file_line(fact: FileFact) -> Line:
    lines = f" {fact.ranges}" if fact.ranges and fact.action == "read" else ""
    return Line(f"{one_line(fact.path)} ({fact.action}{lines})", fact.sources)


def changed_lines(facts: Facts) -> tuple[Line, ...]:
    return tuple(file_line(fact) for fact in facts.files if fact.action in CHANGES)


def read_lines(facts: Facts) -> tuple[Line, ...]:
    return tuple(file_line(fact) for fact in facts.files if fact.action == "read")


def command_line(fact: CommandFact) -> Line:
    code = f"exit {fact.exit_code}" if fact.exit_code is not None else "failed" if fact.is_failed else "ran"
    outcome = f", {quoted(clipped(fact.outcome, LONGEST_COMMAND))}" if tidy(fact.outcome) else ""
    return Line(f"`{clipped(fact.command, LONGEST_COMMAND)}` ({code}{outcome})", fact.sources)


def command_lines(facts: Facts) -> tuple[Line, ...]:
    """Commands, each as it went the last time."""
    newest: dict[str, Line] = {}
    for fact in facts.commands:
        newest.pop(fact.command, None)
        newest[fact.command] = command_line(fact)
    return tuple(newest.values())


def worked_lines(facts: Facts) -> tuple[Line, ...]:
    """Commands that did not fail: what is done."""
    failed = {fact.command: fact.is_failed for fact in facts.commands}
    return command_lines(replace(facts, commands=tuple(f for f in facts.commands if not failed[f.command])))


def attempt_lines(facts: Facts) -> tuple[Line, ...]:
    """Quoted, since what a tool answered is part of it."""
    return tuple(
        Line(f"Tried and failed: {quoted(clipped(fact.text, LONGEST_REMARK))}", fact.sources)
        for fact in facts.attempts
    )


def decision_lines(facts: Facts) -> tuple[Line, ...]:
    return _remarks("Decided: ", facts.decisions)


def todo_lines(facts: Facts) -> tuple[Line, ...]:
    return _remarks("Todo, ", facts.todos)


def standing_line(fact: Fact) -> Line:
    """What stands at the end of every pack, as it stands there."""
    return Line(clipped(fact.text, LONGEST_REMARK), fact.sources)


def standing_lines(facts: Facts) -> tuple[Line, ...]:
    return tuple(map(standing_line, facts.standing))


def key_lines(facts: Facts) -> tuple[Line, ...]:
    return tuple(Line(one_line(fact.text), fact.sources) for fact in facts.keys)


def left_off_lines(facts: Facts) -> tuple[Line, ...]:
    """The last thing the agent said; a question waits for a person."""
    said = facts.last_said
    if said is None or not tidy(said.text):
        return ()
    label = "Awaits a decision of the user" if _QUESTION.search(said.text) else "Left off"
    return (Line(f"{label}: {clipped(said.text, LONGEST_REMARK)}", said.sources),)


def done_lines(facts: Facts) -> tuple[Line, ...]:
    """How much was done, counted."""
    changed = [fact for fact in facts.files if fact.action in CHANGES]
    if not changed:
        return ()
    actions = [(action, sum(f.action == action for f in changed)) for action in CHANGES]
    counted = ", ".join(f"{count} {action}" for action, count in actions if count)
    sources = tuple(dict.fromkeys(fact.sources[-1] for fact in changed if fact.sources))
    return (Line(f"Files: {counted}", sources),)


def _remarks(label: str, facts: Iterable[Fact]) -> tuple[Line, ...]:
    return tuple(Line(label + clipped(fact.text, LONGEST_REMARK), fact.sources) for fact in facts)
