"""What programs print when they run: results of tests, progress and repetitions.

Rule: passed tests go first, failures and totals stay. Only what a test runner writes is read, and only where a
runner's own words show that there was one; a check mark alone proves nothing. Of noise, the first few lines of a
kind stay as they are, and only a line that no structure claims is noise.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from string import digits

from holdfast.packing.structure.findings import (
    DULL,
    HINT,
    KEY,
    LONGEST,
    NOISE,
    NOWHERE,
    PASSED,
    REPEATED,
    TELLING,
    BareText,
    LineFindings,
)

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
_BAD = re.compile(
    r"[1-9]\d*+ (?:fail|error)|(?i:failures|errors|failed)[:=] ?[1-9]|^\s*FAIL|FAILED|BUILD FAIL"
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
FEW_PASSED = 4
"""So many passed tests say what was run; of more, the names say nothing that the total does not."""


def mark_outcomes(bare_text: BareText, findings: LineFindings) -> None:
    if not _RUNNER.search(bare_text.text):
        return
    walk = _Walk(findings)
    for line in _ended(bare_text, _FAILS):
        walk.take(line, "failed")
    walk.passed += [line for line in _ended(bare_text, _PASSES) if not findings.taken[line]]
    for line, found in bare_text.hits(_LINE):
        if not findings.taken[line]:
            walk.take(line, found.lastgroup or "")
    walk.close()
    if walk.totals and not any(_BAD.search(bare_text.lines[line][:LONGEST]) for line in walk.totals):
        # All went well: the traces between are of errors that were expected.
        findings.calm("trace", "tests")


class _Walk:
    """One way through what a runner printed. A detail belongs to `block`, the test above it; details are pending as
    long as nothing says how that test ended."""

    def __init__(self, findings: LineFindings) -> None:
        self.findings = findings
        self.passed: list[int] = []
        self.block = NOWHERE
        self.bonus: float | None = None
        self.pending: list[int] = []
        self.has_verdict = False
        self.totals: list[int] = []

    def take(self, line: int, group: str) -> None:
        match group:
            case "run":
                self.passed.append(line)
                self._open(line, HINT, None)
            case "passed":
                self.passed.append(line)
                self._open(line, DULL, DULL)
            case "failed" | "heading":
                self.findings.claim("tests", line, KEY)
                self._open(line, TELLING, TELLING)
                self.has_verdict = True
            case "total":
                self.findings.claim("tests", line, KEY)
                self.has_verdict = True
                self.totals.append(line)
            case "progress":
                self.findings.claim("tests", line, NOISE)
            case _ if self.bonus is None:
                self.pending.append(line)
            case _:
                self.findings.claim("tests", line, self.bonus, self.block)

    def _open(self, block: int, before: float, after: float | None) -> None:
        """A new block. `before` is for the details that waited for it, `after` for those that follow."""
        for line in self.pending:
            self.findings.claim("tests", line, before, self.block)
        self.block, self.bonus, self.pending = block, after, []

    def close(self) -> None:
        self._open(NOWHERE, HINT, None)
        passed = self.passed
        if passed and not self.has_verdict:
            # Where nothing sums up, the last that passed is how it ended.
            self.findings.claim("tests", max(passed), HINT)
        for line in passed:
            self.findings.claim("tests", line, PASSED if len(passed) > FEW_PASSED else DULL)


def _ended(bare_text: BareText, words: Iterable[tuple[str, re.Pattern[str]]]) -> Iterator[int]:
    """The lines that end in one of the words."""
    for word, pattern in words:
        if word in bare_text.text:
            for line, _ in bare_text.hits(pattern):
                yield line


_CHATTER = re.compile(
    r"\n[ \t]{0,8}+(?:"
    r"(?:Collecting|Downloading|Downloaded|Using cached|Requirement already|Installing (?:collected|build)) "
    r"|Preparing (?:metadata|to unpack)|Building (?:wheel|dependency)|Created wheel|Stored in directory"
    r"|Getting requirements|go: (?:downloading|finding|extracting) |npm (?:warn|WARN|notice|http) "
    r"|added \d++ packages|\d++ packages are looking|run `npm (?:fund|audit)|\[\d/\d\] "
    r"|(?:Compiling|Checking|Fresh|Updating|Locking|Adding) \S++ v?\d|(?:Get|Hit|Ign):\d++ |Selecting previously"
    r"|(?:Unpacking|Setting up) \S|Processing triggers|\(?Reading (?:package|state|database)"
    r"|(?:\[INFO\] )?+Download(?:ing|ed)(?: from \S++)?+: |Progress \(\d"
    r"|(?:remote: )?+(?:Receiving|Unpacking|Resolving|Counting|Compressing|Writing|Enumerating) (?:objects|deltas)"
    r"|[0-9a-f]{12}: (?:Pull|Wait|Verif|Down|Extract|Already)"
    r"|#\d++ (?:sha256|\d|DONE|CACHED|transferring|extracting)|[\d. ]{1,6}+%|\d++ ++\d++ ++\d++ ++\d++ ++\d++ ++\d)"
)
_BARS = tuple((sign, re.compile(re.escape(sign))) for sign in ("███", "░░░", "[===", "[###", "%|"))
"""Signs of a bar, wherever in a line it is drawn."""
FEWEST = 30
"""Lines below which noise does not matter."""
_PLACE = re.compile(r"[\w)]:\d++[:,)]|\(\d++,\d++\)|\b[Ll]ine \d|^[ \t>]*+\d++ ?[│|]")
"""A place in a file: a line that names one says something new, however much it looks like the one before."""
FEW_REPEATS = 3
"""So many lines of one kind are shown as what they are."""
SHORTEST = 8
"""Characters beside digits that a line must have to be known again."""
_WITHOUT_DIGITS = str.maketrans("", "", digits)
_TELLING_WORDS = ("rror", "ail", "warn", "WARN", "FAIL", "ERR")


def mark_noise(bare_text: BareText, findings: LineFindings) -> None:
    """Noise runs on: what does not show in a sample of the text is not looked for in all of it."""
    if bare_text.count < FEWEST:
        return
    if _CHATTER.search("\n" + "\n".join(bare_text.sample)):
        for seen, (line, found) in enumerate(bare_text.hits(_CHATTER)):
            if seen >= FEW_REPEATS and not any(word in found[0] for word in _TELLING_WORDS):
                findings.adjust(line, NOISE)
    for sign, pattern in _BARS:
        if sign in bare_text.text:
            for line in {line for line, _ in bare_text.hits(pattern)}:
                findings.adjust(line, NOISE)
    if "\r" in bare_text.text:
        for line, text in enumerate(bare_text.lines):
            if "\r" in text.rstrip("\r"):
                findings.adjust(line, DULL)
    if _repeated(_shapes(bare_text.sample)):
        _mark_repeats(bare_text, findings)


def _mark_repeats(bare_text: BareText, findings: LineFindings) -> None:
    shapes = _shapes(bare_text.lines)
    seen = dict.fromkeys(_repeated(shapes), 0)
    for number, shape in enumerate(shapes):
        if shape in seen:
            seen[shape] += 1
            line = bare_text.lines[number]
            if seen[shape] > FEW_REPEATS and not _PLACE.search(line[:LONGEST]):
                # The same to the letter may be code; the same but for a number is a log.
                findings.adjust(number, REPEATED if len(shape) != len(line) else DULL)


def _repeated(shapes: list[str]) -> list[str]:
    return [
        shape for shape, times in Counter(shapes).items() if times > FEW_REPEATS and len(shape) >= SHORTEST
    ]


def _shapes(lines: list[str]) -> list[str]:
    """The lines without their digits."""
    text = "\n".join(lines)
    if text.isascii():
        text = text.translate(_WITHOUT_DIGITS)
    else:
        for digit in digits:
            text = text.replace(digit, "")
    return text.split("\n")
