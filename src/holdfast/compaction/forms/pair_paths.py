"""What the two agents of a pair hand to each other by path: where outputs lie, which iteration it is, the report.

Rule: what was handed over last stands, else the newest that the log names; nothing is put together that it does
not name.
"""

import re
from collections.abc import Iterator

from holdfast.compaction.facts.values import Fact, Facts
from holdfast.compaction.forms.content import Line

_GIVEN = re.compile(r"\bexecution_output_dir\b[\"'`\s:=]+([^\s\"'`“”,;，；]+)")
_OUTPUTS = re.compile(r"[^\s\"'`“”()=,;，；：]{0,200}\bexecution_outputs?(?![\w])(?:/iteration_\d+)?")
_ITERATION = re.compile(r"\biteration[_ -]?(\d{1,9})\b")
_REPORT = re.compile(r"[^\s\"'`“”()=,;，；：]{0,200}layer1[\w-]*problems?[\w.-]*")


def output_dir(facts: Facts) -> tuple[Line, ...]:
    if told := _told(facts.handed.output_dir):
        return told
    return _newest(facts, "execution_output", _GIVEN, 1) or _newest(facts, "execution_output", _OUTPUTS, 0)


def iteration(facts: Facts) -> tuple[Line, ...]:
    return _told(facts.handed.iteration) or _newest(facts, "iteration", _ITERATION, 1)


def report(facts: Facts) -> tuple[Line, ...]:
    """The path of the report on layer 1; a name without a folder or an ending is a key and no path."""
    return _told(facts.handed.report) or tuple(
        line for line in _newest(facts, "layer1", _REPORT, 0) if "/" in line.text or "." in line.text
    )


def _told(fact: Fact | None) -> tuple[Line, ...]:
    """What the newest handover says."""
    return (Line(fact.text, fact.sources, is_settled=True),) if fact else ()


def _newest(facts: Facts, word: str, pattern: re.Pattern[str], group: int) -> tuple[Line, ...]:
    """The newest that fits the pattern. Few texts have its `word`, and only those are searched for it."""
    for text, sources in _named(facts):
        found = [match[group] for match in pattern.finditer(text)] if word in text else []
        if found:
            return (Line(found[-1].rstrip("./"), sources),)
    return ()


def _named(facts: Facts) -> Iterator[tuple[str, tuple[str, ...]]]:
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
