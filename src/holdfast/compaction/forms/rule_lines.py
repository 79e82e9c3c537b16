"""How much of a long list a form shows: what must stand, then of each kind the newest that there is room for.

Rule: what must stand is never cut, even past the limit; whatever is left out is counted in a line.
"""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from holdfast.compaction.facts.fact import CommandFact, Fact, FileFact, LogFacts, TestState
from holdfast.compaction.forms.content import FormField, FormLine, clipped, one_line, tidy

MOST_EACH = 60
"""Lines of a kind that are considered at all; older ones are only counted."""
MOST_SOURCES = 20
"""Entries that a line about left-out lines names."""


class LineGroup(Struct, frozen=True):
    """Lines of one kind, oldest first, and what to call them when they are counted."""

    noun: str
    lines: tuple[FormLine, ...]


def fit_lines(field: FormField, must: tuple[FormLine, ...], *groups: LineGroup) -> tuple[FormLine, ...]:
    """The field's lines within its limits. The oldest line of the longest group is left out first."""
    kept = [list(group.lines[-MOST_EACH:]) for group in groups]
    count = len(must) + sum(map(len, kept))
    size = sum(_size(field, line) for line in (*must, *(line for lines in kept for line in lines)))
    # What has a row or two puts its lines side by side on them: there only characters are scarce.
    most_lines = field.most_lines if field.most_lines > 2 else 0
    while any(kept) and (
        (most_lines and count > most_lines) or (field.most_chars and size > field.most_chars)
    ):
        longest = max(kept, key=len)
        size -= _size(field, longest.pop(0))
        count -= 1
    shown = [*must]
    for group, lines in zip(groups, kept, strict=True):
        shown += lines
        left = group.lines[: len(group.lines) - len(lines)]
        if left:
            shown.append(_counted(left, group.noun, bool(lines)))
    return tuple(shown)


def _size(field: FormField, line: FormLine) -> int:
    return len(line.text) + len(field.separator)


def _counted(left: tuple[FormLine, ...], noun: str, has_more: bool) -> FormLine:
    sources = tuple(dict.fromkeys(source for line in left for source in line.sources))
    opening = f"… and {len(left)} more" if has_more else f"{len(left)}"
    return FormLine(f"{opening} {noun}", sources[-MOST_SOURCES:])


# How the rule half puts its facts into words.
#
# Rule: what the user or a tool said stands in curly quotes, verbatim and whole; only what the agent said or ran may
# be clipped. Every line names the entries it came from.

LONGEST_COMMAND, LONGEST_REMARK = 120, 400
_QUESTION = re.compile(r"[?？]\s*[\"'”’)）*_`]*\s*$")
_RATE = re.compile(r"(\d{1,9})/(\d{1,9}) \(\d{1,3}(?:\.\d{1,3})?%\)")
_COUNTED = re.compile(r"(\d+) (passed|failed|errors?)\b")
CHANGES = ("created", "modified", "deleted")


def quoted(text: str) -> str:
    return f"“{tidy(text)}”"


def first_line(fact: Fact) -> FormLine:
    return FormLine(f"First request: {quoted(fact.text)}", fact.sources)


def latest_line(fact: Fact) -> FormLine:
    return FormLine(f"Latest request: {quoted(fact.text)}", fact.sources)


def goal_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    """The first request and the latest, verbatim."""
    first = (first_line(facts.goal),) if facts.goal else ()
    return (*first, latest_line(facts.latest)) if facts.latest else first


def directive_line(fact: Fact) -> FormLine:
    return FormLine(f"The user: {quoted(fact.text)}", fact.sources)


def directive_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    """What the user demanded or forbade, each once; also what the first request says, where it is easily missed."""
    told: dict[str, FormLine] = {}
    for fact in facts.directives:
        told.setdefault(one_line(fact.text), directive_line(fact))
    return tuple(told.values())


def error_line(fact: Fact) -> FormLine:
    return FormLine(f"Open error: {quoted(fact.text)}", fact.sources)


def error_lines(facts: LogFacts, *, archive: bool) -> tuple[FormLine, ...]:
    """Open errors. An archive has none: it is never rewritten, and would call them open for ever."""
    return () if archive else tuple(map(error_line, facts.errors))


def test_line(tests: TestState) -> FormLine:
    outcome = f": {quoted(tests.outcome)}" if tidy(tests.outcome) else ""
    verdict = "passed" if tests.is_passed else "failed"
    return FormLine(
        f"Last test run {verdict}: `{clipped(tests.command, LONGEST_COMMAND)}`{outcome}", tests.sources
    )


def test_lines(facts: LogFacts, *, archive: bool) -> tuple[FormLine, ...]:
    """The last test run; in an archive only one that passed."""
    if facts.tests is None or (archive and not facts.tests.is_passed):
        return ()
    return (test_line(facts.tests),)


def success_rate(facts: LogFacts) -> tuple[FormLine, ...]:
    """What passed of all: as it stands at the end of every pack, as it was handed over, or as the last test run
    counted it."""
    for fact in facts.standing:
        if found := _RATE.search(fact.text):
            return (FormLine(found[0], fact.sources),)
    if facts.tests is None:
        return (FormLine(facts.handed.rate.text, facts.handed.rate.sources),) if facts.handed.rate else ()
    counts = {kind.rstrip("s"): int(number) for number, kind in _COUNTED.findall(facts.tests.outcome)}
    passed, run = counts.get("passed", 0), sum(counts.values())
    return (FormLine(f"{passed}/{run} ({100 * passed // run}%)", facts.tests.sources),) if run else ()


def failure_count(facts: LogFacts) -> tuple[FormLine, ...]:
    """How many samples did not pass, as it was handed over, else as it was measured."""
    if (failed := facts.handed.failed) is not None:
        return (FormLine(failed.text, failed.sources, is_settled=True),)
    for line in success_rate(facts):
        if found := _RATE.search(line.text):
            return (FormLine(str(max(int(found[2]) - int(found[1]), 0)), line.sources),)
    return ()


def progress_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    """Of what stands at the end of every pack, the newest that was measured."""
    measured = (standing_line(fact) for fact in facts.standing if _RATE.search(fact.text))
    return tuple(measured)[:1]


def problem_lines(facts: LogFacts, layer: int) -> tuple[FormLine, ...]:
    """Problems of a layer that another agent handed over."""
    opening = f"layer {layer},"
    return tuple(
        FormLine(clipped(fact.text, LONGEST_REMARK), fact.sources)
        for fact in facts.handed.problems
        if fact.text.startswith(opening)
    )


def file_line(fact: FileFact) -> FormLine:
    lines = f" {fact.ranges}" if fact.ranges and fact.action == "read" else ""
    return FormLine(f"{one_line(fact.path)} ({fact.action}{lines})", fact.sources)


def changed_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    return tuple(file_line(fact) for fact in facts.files if fact.action in CHANGES)


def read_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    return tuple(file_line(fact) for fact in facts.files if fact.action == "read")


def command_line(fact: CommandFact) -> FormLine:
    code = f"exit {fact.exit_code}" if fact.exit_code is not None else "failed" if fact.is_failed else "ran"
    outcome = f", {quoted(clipped(fact.outcome, LONGEST_COMMAND))}" if tidy(fact.outcome) else ""
    return FormLine(f"`{clipped(fact.command, LONGEST_COMMAND)}` ({code}{outcome})", fact.sources)


def command_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    """Commands, each as it went the last time."""
    newest: dict[str, FormLine] = {}
    for fact in facts.commands:
        newest.pop(fact.command, None)
        newest[fact.command] = command_line(fact)
    return tuple(newest.values())


def worked_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    """Commands that did not fail: what is done."""
    failed = {fact.command: fact.is_failed for fact in facts.commands}
    return command_lines(replace(facts, commands=tuple(f for f in facts.commands if not failed[f.command])))


def attempt_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    """Quoted, since what a tool answered is part of it."""
    return tuple(
        FormLine(f"Tried and failed: {quoted(clipped(fact.text, LONGEST_REMARK))}", fact.sources)
        for fact in facts.attempts
    )


def decision_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    return _remarks("Decided: ", facts.decisions)


def todo_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    return _remarks("Todo, ", facts.todos)


def standing_line(fact: Fact) -> FormLine:
    """What stands at the end of every pack, as it stands there."""
    return FormLine(clipped(fact.text, LONGEST_REMARK), fact.sources)


def standing_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    return tuple(map(standing_line, facts.standing))


def key_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    return tuple(FormLine(one_line(fact.text), fact.sources) for fact in facts.keys)


def left_off_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    """The last thing the agent said; a question waits for a person."""
    said = facts.last_said
    if said is None or not tidy(said.text):
        return ()
    label = "Awaits a decision of the user" if _QUESTION.search(said.text) else "Left off"
    return (FormLine(f"{label}: {clipped(said.text, LONGEST_REMARK)}", said.sources),)


def done_lines(facts: LogFacts) -> tuple[FormLine, ...]:
    """How much was done, counted."""
    changed = [fact for fact in facts.files if fact.action in CHANGES]
    if not changed:
        return ()
    actions = [(action, sum(f.action == action for f in changed)) for action in CHANGES]
    counted = ", ".join(f"{count} {action}" for action, count in actions if count)
    sources = tuple(dict.fromkeys(fact.sources[-1] for fact in changed if fact.sources))
    return (FormLine(f"Files: {counted}", sources),)


def _remarks(label: str, facts: Iterable[Fact]) -> tuple[FormLine, ...]:
    return tuple(FormLine(label + clipped(fact.text, LONGEST_REMARK), fact.sources) for fact in facts)


# What the two agents of a pair hand to each other by path: where outputs lie, which iteration it is, the report.
#
# Rule: what was handed over last stands, else the newest that the log names; nothing is put together that it does
# not name.

_GIVEN = re.compile(r"\bexecution_output_dir\b[\"'`\s:=]+([^\s\"'`“”,;，；]+)")
_OUTPUTS = re.compile(r"[^\s\"'`“”()=,;，；：]{0,200}\bexecution_outputs?(?![\w])(?:/iteration_\d+)?")
_ITERATION = re.compile(r"\biteration[_ -]?(\d{1,9})\b")
_REPORT = re.compile(r"[^\s\"'`“”()=,;，；：]{0,200}layer1[\w-]*problems?[\w.-]*")


def output_dir(facts: LogFacts) -> tuple[FormLine, ...]:
    if told := _told(facts.handed.output_dir):
        return told
    return _newest(facts, "execution_output", _GIVEN, 1) or _newest(facts, "execution_output", _OUTPUTS, 0)


def iteration(facts: LogFacts) -> tuple[FormLine, ...]:
    return _told(facts.handed.iteration) or _newest(facts, "iteration", _ITERATION, 1)


def report(facts: LogFacts) -> tuple[FormLine, ...]:
    """The path of the report on layer 1; a name without a folder or an ending is a key and no path."""
    return _told(facts.handed.report) or tuple(
        line for line in _newest(facts, "layer1", _REPORT, 0) if "/" in line.text or "." in line.text
    )


def _told(fact: Fact | None) -> tuple[FormLine, ...]:
    """What the newest handover says."""
    return (FormLine(fact.text, fact.sources, is_settled=True),) if fact else ()


def _newest(facts: LogFacts, word: str, pattern: re.Pattern[str], group: int) -> tuple[FormLine, ...]:
    """The newest that fits the pattern. Few texts have its `word`, and only those are searched for it."""
    for text, sources in _named(facts):
        found = [match[group] for match in pattern.finditer(text)] if word in text else []
        if found:
            return (FormLine(found[-1].rstrip("./"), sources),)
    return ()


def _named(facts: LogFacts) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Texts that may name a path, the likeliest and newest first."""
    for fact in reversed(facts.keys):
        yield fact.text, fact.sources
    for file in reversed(facts.files):
        yield file.path, file.sources
    for command in reversed(facts.commands):
        yield command.command, command.sources
    for said in (facts.latest, facts.goal):
        if said is not None:
            yield said.text, said.sources
