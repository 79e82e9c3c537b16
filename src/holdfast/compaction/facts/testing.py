"""Test runs: whether a command is one, and what its output says of how it ended.

Rule: what a runner writes is recognised where packing does it; here only the verdict is read. Counts decide where
there are any. A file that quotes a run is none, and a run without a verdict says nothing.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from holdfast.compaction.facts.quoting import line_of
from holdfast.compaction.facts.results import bounded
from holdfast.packing.structure.outcomes import mark_outcomes
from holdfast.packing.structure.sight import Sight
from holdfast.packing.structure.value import HINT, KEY, Findings
from holdfast.views.shell import is_looking

MOST_NAMES = 200
"""Failing tests of a run that are told apart."""
MOST_TOTALS = 4
"""Lines of totals that stand together."""

_RUNNERS = (
    r"py\.?test|unittest|nosetests?|tox|nox|ctest|rspec|phpunit|jest|vitest|mocha|karma|playwright|cypress"
    r"|busted"
)
_BUILDERS = (
    r"go|cargo|bun|deno|npm|pnpm|yarn|make|just|mise|task|mix|swift|dotnet|flutter|dart|zig|bazel|rake|rails|sbt"
    r"|lein|stack|cabal|gradlew?|mvnw?|ant|invoke|hatch|uv|poetry|turbo|nx|rtk"
)
"""Programs that run tests when they are told to."""
_TESTS = re.compile(
    rf"(?i)\b(?:{_RUNNERS})\b|\b(?:{_BUILDERS})\b[^\n|;&]{{0,80}}?[ :](?:tests?|spec|verify|nextest)(?=[ :]|$)"
    r"|(?:^|[ /])(?:run[_-]?)?tests?\.(?:sh|py|js|ts)\b"
)
_BAD = re.compile(
    r"^\s*(?:FAIL|--- FAIL|not ok\b|✗|✕|✘|×|✖|●|\(fail\))|\bFAILED\b|\bBUILD FAIL|\.\.\. (?:FAIL|ERROR)"
    r"|^ERROR \S|^_{3,} \S"
)
_COUNT = re.compile(
    r"\b(\d+) (?:failed|failing|failures?|fail|errors?)\b|(?i:\b(?:failures|errors|failed|fail)[:=] ?(\d+))"
    r"|\b\d+ (?:passed|passing|pass)\b|\bTests run: \d"
)
_NAMES = re.compile(
    r"\s*(?:--- FAIL: (\S{1,200})|(?:FAILED|ERROR) (\S{1,300})|\(fail\) ([^\n]{1,200})"
    r"|(?:✗|✕|✘|×|✖|●) ([^\n]{1,200})|(?:FAIL|ERROR): (test\S{0,200})|test (\S{1,200}) \.\.\. FAILED"
    r"|not ok \d+ -? ?([^\n]{1,200}))"
)
_TIMING = re.compile(r" ?[(\[][\d.]+ ?m?s[)\]]\s*$")


class Verdict(Struct, frozen=True, gc=False):
    """What a run of tests says. `failing` are the names of the tests that failed, as far as it gives them."""

    is_passed: bool
    outcome: str
    failing: tuple[str, ...] = ()
    is_counted: bool = False
    """Whether it counts its tests; else another failure of the same command may be theirs."""


def is_test_command(command: str) -> bool:
    """Whether a command runs tests, not only reads about them."""
    return bool(_TESTS.search(command, 0, 2_000)) and not is_looking(command)


def verdict_of(command: str, text: str) -> Verdict | None:
    """The verdict in what a command printed, one that does more than look; None where it prints none."""
    # Rules of equals signs around a line make it longer than a runner's words are looked for.
    sight = Sight(
        [line.strip("= ") if line.startswith("===") else line for line in bounded(text).split("\n")]
    )
    findings = Findings(sight.count)
    mark_outcomes(sight, findings)
    if not findings.sizes:
        return None
    keys = [n for n, bonus in enumerate(findings.bonus) if bonus == KEY and findings.taken[n]]
    counts = [n for n in keys if _COUNT.search(sight.lines[n])]
    if not counts and not is_test_command(command):
        return None
    return _counted(sight.lines, keys, counts) if counts else _told(sight.lines, keys, findings)


def _counted(lines: Sequence[str], keys: Sequence[int], counts: Sequence[int]) -> Verdict:
    found = [int(count) for n in counts for pair in _COUNT.findall(lines[n]) for count in pair if count]
    failed = any(found)
    return Verdict(not failed, _totals(lines, keys, counts), _failing(lines, keys) if failed else (), True)


def _told(lines: Sequence[str], keys: Sequence[int], findings: Findings) -> Verdict | None:
    """The verdict of a runner that does not count."""
    if bad := [n for n in keys if _BAD.search(lines[n])]:
        return Verdict(False, line_of(lines[bad[-1]]), _failing(lines, bad))
    told = keys or [n for n, bonus in enumerate(findings.bonus) if bonus == HINT and findings.taken[n]]
    return Verdict(True, line_of(lines[told[-1]])) if told else None


def _totals(lines: Sequence[str], keys: Sequence[int], counts: Sequence[int]) -> str:
    """The last count, with the totals that stand around it."""
    group = [counts[-1]]
    for key in reversed(keys[: keys.index(counts[-1])]):
        if group[0] - key > 1 or len(group) == MOST_TOTALS or _NAMES.match(lines[key]):
            break
        group.insert(0, key)
    for key in keys[keys.index(counts[-1]) + 1 :]:
        if key - group[-1] > 2 or len(group) == MOST_TOTALS:
            break
        group.append(key)
    return line_of(", ".join(line_of(lines[n]) for n in group))


def _failing(lines: Sequence[str], numbers: Sequence[int]) -> tuple[str, ...]:
    """Names of tests in lines that say that they failed."""
    names: dict[str, None] = {}
    for number in numbers:
        if found := _NAMES.match(lines[number]):
            name = next(group for group in found.groups() if group)
            names[_TIMING.sub("", name).strip()] = None
    return tuple(names)[:MOST_NAMES]
