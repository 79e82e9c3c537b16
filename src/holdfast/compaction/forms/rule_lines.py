"""The lines that the rule half writes: its facts in words, and how many of them a field has room for.

Rule: what the user or a tool said is in curly quotes, verbatim and whole; only what the agent said or ran may
be clipped. Every line names the entries it came from. Lines that are left out are counted in a line.
"""

import re
from collections.abc import Iterable, Iterator
from functools import partial

from holdfast.compaction.facts.fact import CommandFact, Fact, FileFact, LogFacts, TestState
from holdfast.compaction.forms.content import FormField, SummaryLines, clipped, one_line, tidy
from holdfast.events import SummaryLine

LONGEST_COMMAND, LONGEST_REMARK = 120, 400
CHANGES = ("created", "modified", "deleted")
MOST_RECENT = 6
"""Commands that are called recent."""
MOST_EACH = 60
"""Lines of one source that are considered at all; older ones are only counted."""
MOST_SOURCES = 20
"""Entries that a line about left-out lines names."""

_QUESTION = re.compile(r"[?？]\s*[\"'”’)）*_`]*\s*$")
_RATE = re.compile(r"(\d{1,9})/(\d{1,9}) \(\d{1,3}(?:\.\d{1,3})?%\)")
_COUNTED = re.compile(r"(\d+) (passed|failed|errors?)\b")
_GIVEN = re.compile(r"\bexecution_output_dir\b[\"'`\s:=]+([^\s\"'`“”,;，；]+)")
_OUTPUTS = re.compile(r"[^\s\"'`“”()=,;，；：]{0,200}\bexecution_outputs?(?![\w])(?:/iteration_\d+)?")
_ITERATION = re.compile(r"\biteration[_ -]?(\d{1,9})\b")
_REPORT = re.compile(r"[^\s\"'`“”()=,;，；：]{0,200}layer1[\w-]*problems?[\w.-]*")


def filled(field: FormField, facts: LogFacts) -> SummaryLines:
    """What the rule half has to say in a field."""
    always = tuple(line for source in field.always for line in source(facts))
    newest = [(noun, source(facts)) for noun, source in field.newest]
    behind = tuple(line for source in field.behind for line in source(facts))
    return (*_fitting(field, always, newest), *behind)


def _fitting(
    field: FormField, always: SummaryLines, newest: list[tuple[str, SummaryLines]]
) -> Iterator[SummaryLine]:
    """Lines within the field's limits. The oldest line of the longest source is left out first."""
    kept = [list(lines[-MOST_EACH:]) for _, lines in newest]
    count = len(always) + sum(map(len, kept))
    size = sum(_size(field, line) for line in (*always, *(line for lines in kept for line in lines)))
    # A field of a row or two has its lines side by side: only characters are scarce there.
    most_lines = field.most_lines if field.most_lines > 2 else 0
    while any(kept) and (
        (most_lines and count > most_lines) or (field.most_chars and size > field.most_chars)
    ):
        longest = max(kept, key=len)
        size -= _size(field, longest.pop(0))
        count -= 1
    yield from always
    for (noun, lines), shown in zip(newest, kept, strict=True):
        yield from shown
        if left := lines[: len(lines) - len(shown)]:
            sources = tuple(dict.fromkeys(source for line in left for source in line.sources))
            opening = f"… and {len(left)} more" if shown else f"{len(left)}"
            yield SummaryLine(f"{opening} {noun}", sources[-MOST_SOURCES:])


def _size(field: FormField, line: SummaryLine) -> int:
    return len(line.text) + len(field.separator)


# What the user and the agent said


def quoted(text: str) -> str:
    return f"“{tidy(text)}”"


def first_line(fact: Fact) -> SummaryLine:
    return SummaryLine(f"First request: {quoted(fact.text)}", fact.sources)


def latest_line(fact: Fact, *, archive: bool) -> SummaryLine:
    # An archive is never rewritten, and newer requests will follow.
    label = "A later request" if archive else "Latest request"
    return SummaryLine(f"{label}: {quoted(fact.text)}", fact.sources)


def goal_lines(facts: LogFacts) -> SummaryLines:
    """The first request and the latest, verbatim."""
    first = (first_line(facts.goal),) if facts.goal else ()
    return (*first, latest_line(facts.latest, archive=facts.is_archive)) if facts.latest else first


def directive_line(fact: Fact) -> SummaryLine:
    return SummaryLine(f"The user: {quoted(fact.text)}", fact.sources)


def directive_lines(facts: LogFacts) -> SummaryLines:
    """What the user demanded or forbade, each once; also what the first request says, where it is easily missed."""
    told: dict[str, SummaryLine] = {}
    for fact in facts.directives:
        told.setdefault(one_line(fact.text), directive_line(fact))
    if not facts.is_archive:
        for fact in facts.withdrawn:
            line = SummaryLine(f"The user took back: {quoted(fact.text)}", fact.sources)
            told.setdefault(one_line(fact.text), line)
    return tuple(told.values())


def decision_lines(facts: LogFacts) -> SummaryLines:
    return _remarks("Decided: ", facts.decisions)


def todo_lines(facts: LogFacts) -> SummaryLines:
    return () if facts.is_archive else _remarks("Todo, ", facts.todos)


def _remarks(label: str, facts: Iterable[Fact]) -> SummaryLines:
    return tuple(SummaryLine(label + clipped(fact.text, LONGEST_REMARK), fact.sources) for fact in facts)


def left_off_lines(facts: LogFacts) -> SummaryLines:
    """The last thing the agent said; a question waits for a person."""
    said = facts.last_said
    if facts.is_archive or said is None or not tidy(said.text):
        return ()
    label = "Awaits a decision of the user" if _QUESTION.search(said.text) else "Left off"
    return (SummaryLine(f"{label}: {clipped(said.text, LONGEST_REMARK)}", said.sources),)


def recap_line(fact: Fact) -> SummaryLine:
    """A line of the recap, as it is at the end of every pack."""
    return SummaryLine(clipped(fact.text, LONGEST_REMARK), fact.sources)


def recap_lines(facts: LogFacts) -> SummaryLines:
    return () if facts.is_archive else tuple(map(recap_line, facts.recap))


# What was run, and how it went


def error_line(fact: Fact) -> SummaryLine:
    return SummaryLine(f"Open error: {quoted(fact.text)}", fact.sources)


def error_lines(facts: LogFacts) -> SummaryLines:
    """Open errors. An archive has none: it is never rewritten, and would call them open for ever."""
    return () if facts.is_archive else tuple(map(error_line, facts.errors))


def attempt_lines(facts: LogFacts) -> SummaryLines:
    """Quoted, since what a tool answered is part of it."""
    return tuple(
        SummaryLine(f"Tried and failed: {quoted(clipped(fact.text, LONGEST_REMARK))}", fact.sources)
        for fact in facts.attempts
    )


def test_line(tests: TestState) -> SummaryLine:
    outcome = f": {quoted(tests.outcome)}" if tidy(tests.outcome) else ""
    verdict = "passed" if tests.is_passed else "failed"
    return SummaryLine(
        f"Last test run {verdict}: `{clipped(tests.command, LONGEST_COMMAND)}`{outcome}", tests.sources
    )


def test_lines(facts: LogFacts) -> SummaryLines:
    """The last test run; in an archive only one that passed."""
    return (*passed_test_lines(facts), *failed_test_lines(facts))


def passed_test_lines(facts: LogFacts) -> SummaryLines:
    return (test_line(facts.tests),) if facts.tests and facts.tests.is_passed else ()


def failed_test_lines(facts: LogFacts) -> SummaryLines:
    return (
        (test_line(facts.tests),)
        if facts.tests and not facts.tests.is_passed and not facts.is_archive
        else ()
    )


def command_lines(facts: LogFacts) -> SummaryLines:
    """Commands, each as it went the last time; in an archive only those that did not fail."""
    newest: dict[str, CommandFact] = {}
    for fact in facts.commands:
        newest.pop(fact.command, None)
        newest[fact.command] = fact
    return tuple(_command_line(fact) for fact in newest.values() if not (facts.is_archive and fact.is_failed))


def recent_command_lines(facts: LogFacts) -> SummaryLines:
    return command_lines(facts)[-MOST_RECENT:]


def _command_line(fact: CommandFact) -> SummaryLine:
    code = f"exit {fact.exit_code}" if fact.exit_code is not None else "failed" if fact.is_failed else "ran"
    outcome = f", {quoted(clipped(fact.outcome, LONGEST_COMMAND))}" if tidy(fact.outcome) else ""
    return SummaryLine(f"`{clipped(fact.command, LONGEST_COMMAND)}` ({code}{outcome})", fact.sources)


# Files, and what leads back to large content


def file_line(fact: FileFact) -> SummaryLine:
    lines = f" {fact.ranges}" if fact.ranges and fact.action == "read" else ""
    return SummaryLine(f"{one_line(fact.path)} ({fact.action}{lines})", fact.sources)


def changed_lines(facts: LogFacts) -> SummaryLines:
    return tuple(file_line(fact) for fact in facts.files if fact.action in CHANGES)


def read_lines(facts: LogFacts) -> SummaryLines:
    return tuple(file_line(fact) for fact in facts.files if fact.action == "read")


def key_lines(facts: LogFacts) -> SummaryLines:
    return tuple(SummaryLine(one_line(fact.text), fact.sources) for fact in facts.keys)


def done_lines(facts: LogFacts) -> SummaryLines:
    """How many files were changed."""
    changed = [fact for fact in facts.files if fact.action in CHANGES]
    if not changed:
        return ()
    actions = [(action, sum(f.action == action for f in changed)) for action in CHANGES]
    counted = ", ".join(f"{count} {action}" for action, count in actions if count)
    sources = tuple(dict.fromkeys(fact.sources[-1] for fact in changed if fact.sources))
    return (SummaryLine(f"Files: {counted}", sources),)


def todo_or_done_lines(facts: LogFacts) -> SummaryLines:
    return done_lines(facts) if facts.is_archive else todo_lines(facts)


# What a pair of agents measures and hands over


def success_rate(facts: LogFacts) -> SummaryLines:
    """How many samples passed: as the recap has it, as it was handed over, or as the last test run counted it."""
    for fact in facts.recap:
        if found := _RATE.search(fact.text):
            return (SummaryLine(found[0], fact.sources),)
    if facts.tests is None:
        return _given(facts.handover.rate)
    counts = {kind.rstrip("s"): int(number) for number, kind in _COUNTED.findall(facts.tests.outcome)}
    passed, run = counts.get("passed", 0), sum(counts.values())
    return (SummaryLine(f"{passed}/{run} ({100 * passed // run}%)", facts.tests.sources),) if run else ()


def failure_count(facts: LogFacts) -> SummaryLines:
    """How many samples did not pass: as it was handed over, else as it was measured."""
    if facts.handover.failed is not None:
        return _given(facts.handover.failed)
    for line in success_rate(facts):
        if found := _RATE.search(line.text):
            return (SummaryLine(str(max(int(found[2]) - int(found[1]), 0)), line.sources),)
    return ()


def progress_lines(facts: LogFacts) -> SummaryLines:
    """The newest line of the recap that has a success rate."""
    return tuple(recap_line(fact) for fact in facts.recap if _RATE.search(fact.text))[:1]


def _problem_lines(layer: int, facts: LogFacts) -> SummaryLines:
    """Problems of a layer that were handed over, and open errors; those of tools and of checkers apart."""
    given = [fact for fact in facts.handover.problems if fact.text.startswith(f"layer {layer},")]
    errors = [
        line for line in error_lines(facts) if layer == 1 or ("checker" in line.text.lower()) == (layer == 3)
    ]
    return (*_remarks("", given), *errors)


design_problem_lines = partial(_problem_lines, 1)
tool_problem_lines = partial(_problem_lines, 2)
checker_problem_lines = partial(_problem_lines, 3)


def _component_lines(component: str, facts: LogFacts) -> SummaryLines:
    """Changed files that are such a component, as far as their paths tell."""
    paths = [(line, line.text.rsplit(" (", 1)[0].lower()) for line in changed_lines(facts)]
    return tuple(
        line
        for line, path in paths
        if component == next((known for known in ("checker", "sample") if known in path), "tool")
    )


changed_tool_lines = partial(_component_lines, "tool")
changed_checker_lines = partial(_component_lines, "checker")
changed_sample_lines = partial(_component_lines, "sample")


def output_dir(facts: LogFacts) -> SummaryLines:
    if given := _given(facts.handover.output_dir):
        return given
    return _newest(facts, "execution_output", _GIVEN, 1) or _newest(facts, "execution_output", _OUTPUTS, 0)


def iteration(facts: LogFacts) -> SummaryLines:
    return _given(facts.handover.iteration) or _newest(facts, "iteration", _ITERATION, 1)


def report(facts: LogFacts) -> SummaryLines:
    """The path of the report on layer 1; a name without a folder or an ending is a key and no path."""
    return _given(facts.handover.report) or tuple(
        line for line in _newest(facts, "layer1", _REPORT, 0) if "/" in line.text or "." in line.text
    )


def _given(fact: Fact | None) -> SummaryLines:
    return (SummaryLine(fact.text, fact.sources),) if fact else ()


def _newest(facts: LogFacts, word: str, pattern: re.Pattern[str], group: int) -> SummaryLines:
    """The newest that fits the pattern. Few texts have its `word`, and only those are searched for it."""
    for text, sources in _named(facts):
        found = [match[group] for match in pattern.finditer(text)] if word in text else []
        if found:
            return (SummaryLine(found[-1].rstrip("./"), sources),)
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
