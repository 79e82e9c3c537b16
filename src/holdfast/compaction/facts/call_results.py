"""What a tool's result says of itself: exit code, failure, refusal, verdict of a test run, most telling line.

Rule: agents say it in many ways, and seldom with a flag. Only the ends of a result are read for it, since the
middle is what a program printed about others. A result that says nothing has not failed; a test run is judged by
its counts where it has any, and one without a verdict says nothing.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from holdfast.compaction.facts.fact import clip_line
from holdfast.compaction.facts.run_output import RunnerLines, runner_lines
from holdfast.messages import ToolMessage
from holdfast.packing.rendering.shorter_json import decode_json
from holdfast.tool_use import ToolUse
from holdfast.tool_use.output import HEAD, TAIL, exit_code
from holdfast.views.shell import only_reads

LONGEST_TEXT = 60_000
"""Characters of a result of which lines are looked at; of a longer one its two ends."""

_WRAPPED = re.compile(r"\"(?:output|stdout)\": ?\"")
_REFUSED = re.compile(
    r"\s*(?:The user doesn't want to (?:proceed|take)|\[Request interrupted by user|Tool call was rejected"
    r"|(?:The user|User) (?:rejected|declined|denied)|Permission (?:to use|denied by user))"
)
_REASON = re.compile(r"the user (?:said|provided the following reason)[^:\n]{0,60}:\s*(.+)", re.DOTALL)
_NOT_RUN = re.compile(
    r"<tool_use_error>(?:Sibling tool call errored|Cancelled:)|\[no result recorded\]|\[holdfast: no result"
)
_FAILED_CALL = re.compile(
    r"\s*(?:<tool_use_error>|(?:\w+ ){0,3}(?:Error|ERROR)\b[^\n]{0,4}[: ]|error: |fatal: |InputValidationError"
    r"|Script failed\n|Could not find the exact text|No replacement was performed|Argument Validation Error"
    r"|Your proposed edit has introduced new syntax error"
    r"|\{\"(?:is_?error|error)\": ?(?:true|\"|\{)|\{\"status\": ?\"error\")"
)
_SAID_WRONG = re.compile(
    r"(?:command not found|No such file or directory|Permission denied|not a git repository)\s*$"
    r"|^(?:fatal|error|npm error|npm ERR!|panic|make(?:\[\d\])?: \*\*\*|bash|zsh(?::\d+)?|sh(?:: \d+)?):? \S",
    re.MULTILINE,
)
_COMPILER = re.compile(
    r"^[^\s:][^\n:]{0,200}(?::\d+|\(\d+)(?:[:,]\d+)?\)?: (?:fatal )?error\b[^\n]*"
    r"|^error(?:\[E\d+\]| TS\d+|:)[^\n]*|^[^\n]{0,200} error TS\d+:[^\n]*|^\[ERROR\] [^\n]*"
    r"|^[\w./-]{1,200}\.go:\d+:\d+: [^\n]*",
    re.MULTILINE,
)
_PLACED = re.compile(r"^[\w./-]{1,200}\.\w{1,5}:\d+:\d+:? [^\n]*", re.MULTILINE)
"""What a linter writes: a place, and what is wrong there, be it an error or a warning."""
_RAISED = re.compile(r"[\w.]{1,100}(?:Error|Exception|Interrupt|Exit)\b")
_SAYS_ERROR = re.compile(
    r"\W{0,8}(?:[Ee]rror|ERROR|[Ff]atal|panic|npm err(?:or|!)|npm ERR!|make(?:\[\d+\])?: \*\*\*"
    r"|[\w.]{0,80}(?:Error|Exception)|\S{1,80}: (?:error|fatal|command not found|[Nn]o such file))\b"
)
_ERROR_LINE = re.compile(
    r"(?i)\b(?:\w*error|\w*exception|fatal|failed|failure|panic|denied|not found|no such|cannot)\b"
)
_NO_TALK = re.compile(
    r"\s*(?:Exit code:? \d|Chunk ID: |Wall time|Process exited with|Original token count|Output:|Script completed"
    r"|<?/?\w{0,20}>?\s*$|\[\w[\w:-]{0,30}\] \$ |\$ |> |>?\s*\d+ ?[│|])"
)
"""Lines of a wrapper around the output, echoes of the command, and lines of source with their numbers."""
_CODE = re.compile(r"[;{}(,]\s*$|\)\s*;?\s*$")


_TRACE_ERROR = re.compile(
    r"^Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+(\S[^\n]*)"
    r"|^(Caused by: [^\n]+)\n[ \t]+at "
    r"|^thread '[^'\n]*' panicked at (?:[^\n]*:\n)?([^\n]+)",
    re.MULTILINE,
)
"""What a stack trace of Python, Java or Rust ends in or comes from."""


class CallOutcome(Struct, frozen=True, gc=False):
    """How a call ended. `line` is the line of its result that tells most of a failure, empty where it went well."""

    exit_code: int | None = None
    is_failed: bool = False
    is_refused: bool = False
    """A person refused it; `line` is what they said, if anything."""
    is_run: bool = True
    line: str = ""


NOT_RUN = CallOutcome(is_run=False)


def outcome_of(use: ToolUse, result: ToolMessage | None, text: str) -> CallOutcome:
    """What a result says about how its call went."""
    if result is None or _NOT_RUN.match(text):
        return NOT_RUN
    if _REFUSED.match(text):
        reason = _REASON.search(text)
        return CallOutcome(is_refused=True, is_run=False, line=reason[1].strip() if reason else "")
    code = exit_code(text)
    # What a read or a search shows may begin with the word for an error, but is longer than a failure.
    shows = use.kind in ("read", "grep", "ls", "glob") and len(text) >= HEAD
    says_so = _FAILED_CALL.match(text, 0, HEAD) and (not shows or text.startswith("<tool_use_error>"))
    failed = bool(code) if code is not None else result.error or bool(says_so)
    return CallOutcome(code, failed, line=most_telling_line(text) if failed else "")


def printed(text: str) -> str:
    """What a program printed, out of the JSON that some tools wrap it in, below what they say about it."""
    start = text.find("{", 0, HEAD)
    if start < 0 or not _WRAPPED.search(text, start, start + HEAD):
        return text
    value = decode_json(text[start:])
    if not isinstance(value, dict):
        return text
    said = [value[key] for key in ("output", "stdout", "stderr") if isinstance(value.get(key), str)]
    codes = [value[key] for key in ("exit_code", "exitCode", "returncode") if isinstance(value.get(key), int)]
    head = f"Exit code: {codes[0]}\n" if codes else text[:start]
    return head + "\n".join(said) if said else text


def ends_in_error(text: str) -> bool:
    """Whether what a program printed ends in an error, where nothing else says how it ended."""
    ends = bounded(text)
    if _COMPILER.search(ends) or _SAID_WRONG.search(ends[-TAIL * 4 :]):
        return True
    last = ends.rstrip().rsplit("\n", 1)[-1]
    return "Traceback (most recent call last)" in ends and bool(_RAISED.match(last))


def bounded(text: str) -> str:
    """A text, or its two ends."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[: LONGEST_TEXT // 2]}\n{text[-LONGEST_TEXT // 2 :]}"


def most_telling_line(text: str) -> str:
    """The line of a failed result that says most: a compiler's error, the exception that was raised last, or the
    first line that names an error."""
    body = bounded(text).replace("<tool_use_error>", "").replace("</tool_use_error>", "")
    if found := _COMPILER.search(body) or _PLACED.search(body):
        return clip_line(found[0])
    if raised := [found[found.lastindex or 0] for found in _TRACE_ERROR.finditer(body)]:
        return clip_line(raised[-1])
    lines = [line for line in body.split("\n") if not _NO_TALK.match(line)] or [""]
    says = next((line for line in lines if _SAYS_ERROR.match(line)), "")
    hints = (line for line in lines if _ERROR_LINE.search(line[:2_000]) and not _CODE.search(line[-80:]))
    return clip_line(says or next(hints, "") or next((line for line in lines if line.strip()), ""))


MOST_NAMES = 200
"""Failing tests of a run that are kept by name."""
MOST_TOTALS = 4
"""Lines of totals that belong together."""

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


class TestVerdict(Struct, frozen=True, gc=False):
    """What a run of tests says. `failing` are the names of the tests that failed, as far as it gives them."""

    is_passed: bool
    outcome: str
    failing: tuple[str, ...] = ()
    is_counted: bool = False
    """Whether it counts its tests; else another failure of the same command may be theirs."""


def is_test_command(command: str) -> bool:
    """Whether a command runs tests, not only reads about them."""
    return bool(_TESTS.search(command, 0, 2_000)) and not only_reads(command)


def verdict_of(command: str, text: str) -> TestVerdict | None:
    """The verdict in what a command printed, one that does more than look; None where it prints none."""
    # Rules of equals signs around a line make it longer than a runner's words are looked for.
    rows = [line.strip("= ") if line.startswith("===") else line for line in bounded(text).split("\n")]
    run = runner_lines(rows)
    if run is None:
        return None
    counts = [n for n in run.keys if _COUNT.search(run.lines[n])]
    if not counts and not is_test_command(command):
        return None
    if not counts:
        return _uncounted(run)
    found = [int(n) for at in counts for pair in _COUNT.findall(run.lines[at]) for n in pair if n]
    failing = _failing(run.lines, run.keys) if any(found) else ()
    return TestVerdict(not any(found), _totals(run.lines, run.keys, counts), failing, True)


def _uncounted(run: RunnerLines) -> TestVerdict | None:
    """The verdict of a runner that does not count."""
    if bad := [n for n in run.keys if _BAD.search(run.lines[n])]:
        return TestVerdict(False, clip_line(run.lines[bad[-1]]), _failing(run.lines, bad))
    told = run.keys or run.hints
    return TestVerdict(True, clip_line(run.lines[told[-1]])) if told else None


def _totals(lines: Sequence[str], keys: Sequence[int], counts: Sequence[int]) -> str:
    """The last count, with the totals around it."""
    group = [counts[-1]]
    for key in reversed(keys[: keys.index(counts[-1])]):
        if group[0] - key > 1 or len(group) == MOST_TOTALS or _NAMES.match(lines[key]):
            break
        group.insert(0, key)
    for key in keys[keys.index(counts[-1]) + 1 :]:
        if key - group[-1] > 2 or len(group) == MOST_TOTALS:
            break
        group.append(key)
    return clip_line(", ".join(clip_line(lines[n]) for n in group))


def _failing(lines: Sequence[str], numbers: Sequence[int]) -> tuple[str, ...]:
    """Names of tests in lines that say that they failed."""
    names: dict[str, None] = {}
    for number in numbers:
        if found := _NAMES.match(lines[number]):
            name = next(group for group in found.groups() if group)
            names[_TIMING.sub("", name).strip()] = None
    return tuple(names)[:MOST_NAMES]
