"""What a run of tests prints: the lines that say how it went.

Rule: failures and totals tell, and passed tests do not. Only what a test runner writes is read, and only where a
runner's own words show that there was one; a check mark alone proves nothing. Lines are read without the numbers,
times and colours that would hide their shape. A search is one pass of a pattern that begins with a line end, so
that a line costs its first characters, whatever its length.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

_END = r"(?=\n|\Z)"
_RUNNER = re.compile(
    r"\n[ \t=]{0,80}+(?:\d++ (?:passed|failed|passing|failing|pass|fail)\b|Tests?(?: Suites?| Files?)?:? ++\S"
    r"|test result: |running \d++ tests?|Ran \d++ tests?|Tests run: |=== RUN|--- (?:PASS|FAIL)|ok  \t|FAIL\t|PASS\b"
    r"|\?   \t|test session starts|\[(?:INFO|ERROR)\] (?:Tests run|BUILD)|BUILD (?:SUCCESS|FAIL)|TAP version"
    r"|1\.\.\d|(?:FAILED|ERROR) \S++(?:::| - )|(?:OK|FAILED)(?: \(|\n|\Z)|> Task :)"
)
_PASSED = (
    r"--- (?:PASS|SKIP)\b|ok[ \t]++\S++[ \t]++(?:\d|\(cached\))|\?[ \t]++\S++[ \t]++\[no test|[✓✔√]"
    r"|\(pass\)|\(skip\)|ok \d++ |PASS[ \t]++\S|\[INFO\] Tests run:[^\n]{1,200}?-{1,2} in "
    rf"|PASS{_END}|[.sxX]{{8,}}+(?=\n|\Z| )"
)
_PROGRESS = (
    rf"\S{{1,200}}+(?<=\.py) [.sxX]++(?: ++\[ *\d++%\])?+{_END}|> Task :\S++(?: UP-TO-DATE| NO-SOURCE)?+{_END}"
    r"|\[INFO\](?! (?:BUILD|Tests|Total|Reactor Summary|Results))"
)
_TOTAL = (
    r"=++ [^\n]{0,200}?\b(?:passed|failed|errors?|no tests ran)\b|\d++ (?:passed|failed|passing|failing)\b"
    rf"|\d++ (?:pass|fail){_END}|Tests?(?: Suites?| Files?)?:? ++\d|test result: |(?:\[\w++\] )?+Tests run: "
    r"|(?:\[\w++\] )?+BUILD (?:SUCCESS|FAIL)|Ran \d++ tests?|\d++ tests? (?:completed|passed|failed)"
    rf"|FAIL{_END}|(?:OK|FAILED)(?: \(|\n|\Z)"
)
_FAILED = r"--- FAIL\b|FAIL[ \t:]|(?:FAILED|ERROR) \S|[✗✕✘×✖]|not ok \d|\(fail\)|●|\[ERROR\] \S"
_DETAIL = (
    r"E {2,}+\S|> {2,}+\S|[\w./\-]{1,200}?\.(?:go|py|[jt]sx?|rs|java|kt|rb):\d"
    r"|(?:Expected|Received|expected|actual)\b"
)
_LINE = re.compile(
    rf"\n[ \t]{{0,16}}+(?:(?P<run>=== (?:RUN|PAUSE|CONT|NAME)\b)|(?P<passed>{_PASSED})|(?P<total>{_TOTAL})"
    rf"|(?P<failed>{_FAILED})|(?P<heading>_{{3,}}+ \S[^\n]{{0,200}}? _{{3,}})|(?P<progress>{_PROGRESS})"
    rf"|(?P<detail>{_DETAIL}))"
)
_REST = r"\b[ \t]{0,80}+(?:[\[(][^\n]{0,60}+)?+(?=\n|\Z)"
_PASSES = tuple(
    (word, re.compile(re.escape(word) + _REST))
    for word in (" PASSED", " SKIPPED", " XFAIL", " ... ok", " ... skipped", " ... ignored")
)
_FAILS = tuple(
    (word, re.compile(re.escape(word) + _REST)) for word in (" FAILED", " ERROR", " ... FAIL", " ... ERROR")
)
"""Words in which a line may end, each with a pattern that begins with it: such a search costs next to nothing."""

_OPENING = 24
"""Lines in which a prefix that runs through the text shows."""

_NUMBER = re.compile(r"[ \t]{0,8}(\d{1,7})(→|\t|:|\|| (?! {0,8}\|))")
_SURE = {"→": 1, "\t": 3, ":": 4, "|": 3, " ": 5}
"""How many numbers in a row make a listing, by the character after them."""

_STAMP = re.compile(
    r"(?:[^\t]{1,60}+\t[^\t]{1,80}+\t)?+\ufeff?+\[?+\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s\]]{0,20}+\]?+[ \t]?+"
)
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}+[A-Za-z]")


class RunnerLines(Struct, frozen=True, gc=False):
    """The bare lines of a run, and the numbers of those that tell, in order: `keys` are failures and totals, and
    `hints` what is left to go by where there are none."""

    lines: Sequence[str]
    keys: list[int]
    hints: list[int]


def runner_lines(lines: Sequence[str]) -> RunnerLines | None:
    """What a test runner printed among these lines; None where none did."""
    numbers_end = _numbers_end(lines[:_OPENING])
    bare = _without_numbers(lines, numbers_end) if numbers_end else _without_stamps(lines)
    text = "\n" + "\n".join(bare)
    if not _RUNNER.search(text):
        return None
    walk = _RunWalk()
    for line in _ended(text, _FAILS):
        walk.take(line, "failed")
    walk.passed += [line for line in _ended(text, _PASSES) if line not in walk.roles]
    for line, found in _hits(text, _LINE):
        if line not in walk.roles:
            walk.take(line, found.lastgroup or "")
    walk.close()
    by_role = [sorted(n for n, role in walk.roles.items() if role == wanted) for wanted in ("key", "hint")]
    return RunnerLines(bare, *by_role) if walk.roles else None


class _RunWalk:
    """One way through what a runner printed. The first role that a line is given stays. Details of a test are
    pending as long as nothing says how it ended; where nothing does, they are hints."""

    def __init__(self) -> None:
        self.roles: dict[int, str] = {}
        self.passed: list[int] = []
        self._pending: list[int] = []
        self._has_ended = False
        self._has_verdict = False

    def take(self, line: int, group: str) -> None:
        match group:
            case "run":
                self.passed.append(line)
                self._begin(has_ended=False)
            case "passed":
                self.passed.append(line)
                self._begin(has_ended=True)
            case "failed" | "heading":
                self.roles.setdefault(line, "key")
                self._begin(has_ended=True)
                self._has_verdict = True
            case "total":
                self.roles.setdefault(line, "key")
                self._has_verdict = True
            case "detail" if not self._has_ended:
                self._pending.append(line)
            case _:
                self.roles.setdefault(line, "")

    def _begin(self, *, has_ended: bool) -> None:
        """Another test, of which this line says how it ended, or that it began."""
        for line in self._pending:
            self.roles.setdefault(line, "" if has_ended else "hint")
        self._pending, self._has_ended = [], has_ended

    def close(self) -> None:
        self._begin(has_ended=False)
        if self.passed and not self._has_verdict:
            # Where nothing sums up, the last that passed is how it ended.
            self.roles.setdefault(max(self.passed), "hint")
        for line in self.passed:
            self.roles.setdefault(line, "")


def _ended(text: str, words: Sequence[tuple[str, re.Pattern[str]]]) -> Iterator[int]:
    """The lines that end in one of the words."""
    for word, pattern in words:
        if word in text:
            for line, _ in _hits(text, pattern):
                yield line


def _hits(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """Matches of a pattern, each with the number of the line in which it ends."""
    line, upto = -1, 0
    for found in pattern.finditer(text):
        end = found.end()
        line += text.count("\n", upto, end)
        upto = end
        yield line, found


def _numbers_end(lines: Sequence[str]) -> str:
    """The character after the line numbers of a numbered listing; empty where lines are not numbered."""
    run, expected, between = 0, -1, ""
    # A row of names above numbers is the head of a table, and the numbers are its first column.
    is_table = bool(lines) and "\t" in lines[0] and not _NUMBER.match(lines[0])
    for found in map(_NUMBER.match, lines):
        if found is None:
            run = 0
            continue
        number, separator = int(found[1]), found[2]
        run = run + 1 if number == expected and separator == between else 1
        expected, between = number + 1, separator
        if run >= _SURE[separator]:
            return "" if separator == "\t" and is_table else separator
    return ""


def _without_numbers(lines: Sequence[str], mark: str) -> list[str]:
    if mark == "→":
        # Nearly every file that is read, so the quick way; no arrow is in what a tool writes around a file.
        return [line.partition(mark)[2] or ("" if mark in line else line) for line in lines]
    found = map(_NUMBER.match, lines)
    return [line[n.end() :] if n and n[2] == mark else line for line, n in zip(lines, found, strict=True)]


def _without_stamps(lines: Sequence[str]) -> list[str]:
    """The lines without colours, and without the time that a log puts before each."""
    if "\x1b[" in "\n".join(lines):
        lines = [_COLOUR.sub("", line) for line in lines]
    if all(_STAMP.match(line) for line in lines[:2]):
        found = map(_STAMP.match, lines)
        return [line[stamp.end() :] if stamp else line for line, stamp in zip(lines, found, strict=True)]
    return lines if isinstance(lines, list) else list(lines)
